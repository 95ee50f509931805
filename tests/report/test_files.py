"""The derived files: tidy, recomputable by hand, equal to scipy's intervals, and redone without data."""

import csv
import io
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Finished, derived, plain_cell, run_plan, two_lines
from scipy import stats

from fairbench_cli.document.csv import comma_separated
from fairbench_cli.document.latex import HEAD, latex
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.outputs import DEFAULT_TABLES
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import PAIR as GROUPS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.report.ledger.cell_labels import technique_label
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, groups_frame
from fairbench_cli.report.ledger.results import (
    COMPARED,
    RunResults,
    results_frame,
    run_results,
    summary_frame,
)
from fairbench_cli.report.show.paper_table import paper_table


def study(repeats: int, *cells: dict) -> RunPlan:
    source = {"dataset": "d", "arc_to_outcome": True, "edited_column": "s"}
    tables = ("discrimination-accuracy",)
    planned = [plain_cell(**cell) for cell in cells or [{}]]
    return run_plan(planned, [source], repeats=repeats, metrics=("accuracy",), tables=tables)


def record(i: int, status: str = "ok", key: str = "k", n: object = None) -> Repeat:
    given = np.random.default_rng(i).integers(1, 100, (2, 2, 2)).astype(float) if n is None else np.array(n)
    counts = Counts(GROUPS, given) if status in ("ok", "noop") else None
    return Repeat(key, i, status, "", counts)


def run_of(
    plan: RunPlan, *found: Repeat, metrics=("discrimination", "accuracy"), attributes=()
) -> RunResults:
    records = {(one.key, one.repeat): one for one in found}
    return run_results(Path(), plan, records, metrics, attributes)


def frames(plan: RunPlan, *found: Repeat):
    run = run_of(plan, *found)
    summary = summary_frame(run.results, plan.config.repeats)
    return groups_frame(run.datasets), results_frame(run.results), summary


def test_recorded_labels_need_worlds(finished: Finished, say):
    done = say("report", finished.folder, "--labels", "recorded")
    two_lines(done, "this run records true labels", "--labels")


def test_results_are_tidy_and_follow_from_groups_by_hand(finished: Finished):
    groups = pd.read_csv(finished.folder / "groups.csv", keep_default_na=False)
    results = pd.read_csv(finished.folder / "results.csv", keep_default_na=False)
    columns = [*COMPARED, "repeat", "status", "metric", "value"]
    assert list(results.columns) == [name for name in columns if name != "world"]
    assert (results["compared"] == results["attribute"]).all()
    keys = [name for name in (*CELL_COLUMNS, "repeat") if name != "world"]
    assert len(results) == len(groups.drop_duplicates(keys)) * 4
    assert not results.duplicated([*keys, "metric"]).any()
    some = 0
    race = groups["protected"].iloc[0].split(" × ").index("race")
    deprived = groups["group"].str.split(" × ").str[race] == "African-American"
    for key, levels in groups.groupby(keys):
        part = results[(results[keys] == list(key)).all(axis=1)].set_index("metric")["value"]
        if (levels["status"] == "infeasible").all():
            assert set(part) == {""}
            continue
        numbers = levels[["tn", "fp", "fn", "tp"]].astype(float)
        g, f = numbers[deprived[levels.index]].sum(), numbers[~deprived[levels.index]].sum()
        assert g.sum() + f.sum() == 500
        by_hand = {
            "discrimination": (f.fp + f.tp) / f.sum() - (g.fp + g.tp) / g.sum(),
            "accuracy": (g.tn + g.tp + f.tn + f.tp) / 500,
            "overestimation": f.fp / (f.tn + f.fp) - g.fp / (g.tn + g.fp),
            "underestimation": g.fn / (g.fn + g.tp) - f.fn / (f.fn + f.tp),
        }
        for name, value in by_hand.items():
            assert float(part[name]) == pytest.approx(value, abs=1e-12)
        some += 1
    assert some >= 6


@pytest.mark.parametrize("n", [2, 3, 30])
def test_intervals_are_scipys(n):
    _, results, summary = frames(study(n), *(record(i) for i in range(n)))
    for name in ("discrimination", "accuracy"):
        values = results.loc[results["metric"] == name, "value"]
        row = summary[summary["metric"] == name].iloc[0]
        low, high = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-12)
        assert row["mean"] == pytest.approx(np.mean(values))
        assert row["sd"] == pytest.approx(np.std(values, ddof=1))
        assert (row["n_ok"], row["n"]) == (n, n)


def test_a_single_repeat_has_a_mean_and_no_interval():
    _, _, summary = frames(study(1), record(0))
    assert summary["mean"].notna().all()
    assert summary[["sd", "low", "high"]].isna().all(axis=None)


def test_only_repeats_with_a_value_count():
    found = [record(i, "infeasible" if i % 3 == 0 else "ok") for i in range(6)]
    _, results, summary = frames(study(9), *found)
    assert set(summary["n_ok"]) == {4}
    assert set(summary["n"]) == {9}
    ok = results[(results["metric"] == "accuracy") & (results["status"] == "ok")]["value"]
    assert summary.set_index("metric").loc["accuracy", "mean"] == pytest.approx(ok.mean())
    _, _, none = frames(study(2), record(0, "infeasible"), record(1, "infeasible"))
    assert set(none["n_ok"]) == {0}
    assert none[["mean", "sd", "low", "high"]].isna().all(axis=None)


def test_whole_counts_are_written_without_a_point():
    groups, _, _ = frames(study(2), record(0), record(1, "failed"))
    text = groups.to_csv(index=False)
    assert not re.search(r"\d\.0(,|\n)", text.replace(",0.0,none", ""))
    assert text.splitlines()[-1].endswith("failed,,s,favoured,,,,")


def shown(repeats: int, *found: Repeat) -> list[str]:
    table = paper_table("discrimination-accuracy", run_of(study(repeats), *found))
    return [row[2].text for row in table.sections[0].tables[0].rows[2:]]  # after the labels


def test_what_stands_in_a_cell():
    ok = [record(i) for i in range(3)]
    assert all(re.fullmatch(r"-?\d\.\d{3}", cell) for cell in shown(3, *ok))
    assert all(re.fullmatch(r"-?\d\.\d{3} \(3/5\)", cell) for cell in shown(5, *ok))
    assert all(cell.endswith("(2/3)") for cell in shown(3, *ok[:2], record(2, "failed")))
    assert shown(2, record(0, "infeasible"), record(1, "infeasible")) == ["-", "-"]
    assert shown(2, record(0, "infeasible")) == ["-", "-"]
    assert all("*" in cell for cell in shown(2, record(0), record(1, "degraded")))
    assert shown(2) == ["…", "…"]
    assert shown(2, record(0, "failed"), record(1, "killed")) == ["failed", "failed"]
    assert shown(2, record(0, "infeasible"), record(1, "killed")) == ["failed", "failed"]
    nobody = [[[0, 0], [0, 0]], [[1, 2], [3, 4]]]
    assert shown(1, record(0, n=nobody)) == ["n/a", "0.500"]
    fair = [[[10_000, 10_000], [0, 0]], [[10_001, 10_000], [0, 0]]]  # -0.00002…
    assert shown(1, record(0, n=fair))[0] == "0.000"


def test_the_caption_explains_the_marks_that_occur():
    text = " ".join(paper_table("discrimination-accuracy", run_of(study(2), record(0))).facts)
    assert "Means of 1 of 2 repeats" in text
    assert "Test set: the original data." in text
    assert "(a/b)" in text
    assert "not run yet" not in text


def test_labels_name_what_differs_from_the_defaults():
    assert technique_label("massaging", '{"ranker":"logistic"}', False) == "massaging (ranker=logistic)"
    assert technique_label("massaging", '{"ranker":"naive-bayes"}', True) == "massaging + s"
    assert technique_label("mine", '{"a":null,"b":true}', False) == "mine (a=null, b=true)"


HEADS = ("technique", "metric", "β = 0", "β = 1")
KEYS = ("technique", "metric", "beta=0", "beta=1")
ODD = ("a_b (c=50%, {d} | \\e)", "accuracy", "-0.125 (2/3)", "-")
NASTY_ROWS = (ODD, ("b", "accuracy", "…", "failed"))
NASTY = Document(
    "discrimination-accuracy",
    facts=('50 % of A&B_C #1 {x} $5 ~ ^ \\ "quoted" < > |', "β …"),
    sections=(
        Section(
            "da_ta|set, s&x, tree (a={b})",
            tables=(plain_table("", HEADS, NASTY_ROWS, 2, keys=KEYS, grouped=True),),
        ),
    ),
)


def test_latex_is_balanced_and_escaped():
    text = latex(NASTY)
    bare = re.sub(r"\\[\\{}$&%#_]|\\label\{.*", "", text.removeprefix(HEAD))
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not set(bare) & set('%#_~^…β"')
    for name in re.findall(r"\\begin\{(\w+)\}", text):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}") == 1
    rows = [line for line in text.splitlines() if line.endswith("\\\\")]
    assert len(rows) == 4  # the head, that of the metric, and a row per technique
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 0, 2, 2]
    assert "\\multicolumn{3}{@{}l}{\\emph{accuracy}}" in text
    assert "\\label{tab:discrimination-accuracy-da_ta-set-s-x-tree-a-b}" in text
    assert "$-0.125$ (2/3)" in text
    assert "``quoted''" in text


def test_markdown_columns_align():
    lines = [line for line in markdown(NASTY).splitlines() if line.startswith("|")]
    bars = [[m.start() for m in re.finditer(r"(?<!\\)\|", line)] for line in lines]
    assert len(lines) == 4
    assert all(places == bars[0] for places in bars)
    assert set(lines[1]) <= set("|-: ")


def test_csv_tables_parse(finished: Finished):
    rows = list(csv.reader(io.StringIO(comma_separated(NASTY))))
    assert rows[0] == ["block", "technique", "metric", "beta=0", "beta=1"]
    assert rows[1] == [
        "da_ta|set, s&x, tree (a={b})",
        "a_b (c=50%, {d} | \\e)",
        "accuracy",
        "-0.125 (2/3)",
        "-",
    ]
    summary = pd.read_csv(finished.folder / "summary.csv")
    for path in ((finished.folder / "tables" / f"{name}.csv") for name in DEFAULT_TABLES):
        table = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        assert len(table) == (1 + 3) * 2
        assert {row["technique"] for row in table[:2]} == {"labels"}
        for row in table[2:]:
            for beta in (0, 1):
                own = summary[
                    (summary["intervention"] == row["technique"])
                    & (summary["metric"] == row["metric"])
                    & (summary["beta"] == beta)
                ]
                mean = own["mean"].iloc[0]
                assert row[f"beta={beta}"] == ("-" if math.isnan(mean) else f"{mean:.3f}")


def test_report_redoes_the_same_bytes_without_data(finished: Finished, say, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRBENCH_DATA", str(tmp_path / "nowhere"))
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder, copy)
    for name in ("groups.csv", "results.csv", "summary.csv"):
        (copy / name).unlink()
    shutil.rmtree(copy / "tables")
    done = say("report", copy)
    assert done.code == 0
    assert done.err == f"{copy}/report.html: the page; next to it answer.md, 10 CSV files, tables/\n"
    assert derived(copy) == derived(finished.folder)
    assert done.out == finished.process.stdout


def spoil(plan: dict, how: str) -> object:
    match how:
        case "metric":
            return plan | {"config": plan["config"] | {"metrics": ["acuracy"]}}
        case "table":
            return plan | {"config": plan["config"] | {"tables": ["none-such"]}}
        case "cell":
            return plan | {"cells": [{"key": 1}]}
        case "no cells":
            return plan | {"cells": []}
        case "parameters":
            return plan | {"cells": [plan["cells"][0] | {"parameters": "{"}]}
        case "repeats":
            return plan | {"config": plan["config"] | {"repeats": "2"}}
        case "more":
            return plan | {"extra": 1}
        case "less":
            return {key: value for key, value in plan.items() if key != "datasets"}
    return how


@pytest.mark.parametrize(
    "how",
    ["metric", "table", "cell", "no cells", "parameters", "repeats", "more", "less", "text", 5, None, []],
)
def test_a_corrupt_plan_is_two_lines(finished: Finished, say, tmp_path, how):
    plan = json.loads((finished.folder / "plan.json").read_text())
    del plan["sha256"]
    (tmp_path / "plan.json").write_text(json.dumps(spoil(plan, how) if isinstance(how, str) else how))
    done = say("report", tmp_path)
    assert done.code == 2
    assert re.fullmatch(r".*plan.json: error: .*\n  fix: .*\n", done.err)
    assert {path.name for path in tmp_path.iterdir()} == {"plan.json", ".lock"}


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe", b"{", b"[" * 100_000])
def test_a_plan_that_is_no_json_is_two_lines(say, tmp_path, junk):
    (tmp_path / "plan.json").write_bytes(junk)
    done = say("report", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 2)


def test_a_folder_without_results_is_two_lines(say, tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        done = say("report", place)
        assert done.code == 2
        assert done.err == (
            f"error: {place} holds no results (plan.json is missing)\n"
            "  fix: give the folder that `fairbench run` wrote\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_table_that_is_no_longer_asked_for_goes(finished: Finished, say, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder, copy)
    plan = json.loads((copy / "plan.json").read_text())
    del plan["sha256"]
    (copy / "plan.json").write_text(json.dumps(plan | {"config": plan["config"] | {"tables": []}}))
    assert say("report", copy).code == 0
    assert {path.stem for path in (copy / "tables").iterdir()} == {"difference-to-none", "pareto"}
