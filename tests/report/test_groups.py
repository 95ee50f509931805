"""Groups are joint levels of all protected attributes: the files compare any attribute or intersection."""

import csv
import io
import itertools
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import plain_cell, run_plan
from tiers import uses

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.journal_arrays import COUNT_COLUMNS
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.write import write_report

PROTECTED = [
    {"name": "sex", "levels": ["Female", "Male"], "deprived": ["Female"], "favoured": ["Male"]},
    {
        "name": "race",
        "levels": ["Black", "Other", "White"],
        "deprived": ["Black", "Other"],
        "favoured": ["White"],
    },
]
ADULT = ProtectedAttributes(
    tuple(
        ProtectedAttribute(one["name"], *(tuple(one[key]) for key in ("levels", "deprived", "favoured")))
        for one in PROTECTED
    )
)
METRICS = ("discrimination", "accuracy", "impact-ratio")
REPEATS = 4


def made_up(**more) -> tuple[RunPlan, dict[tuple[str, int], Repeat]]:
    """A run on Adult, by sex, with a sweep and one repeat of massaging infeasible."""
    rng = np.random.default_rng(0)
    cells, records = [], {}
    for beta, name in itertools.product((0.0, 0.5), ("none", "massaging")):
        key = f"{name}-{beta}"
        cells.append(plain_cell(key=key, dataset="adult", attribute="sex", beta=beta, intervention=name))
        for repeat in range(REPEATS):
            n = rng.integers(1, 60, (6, 2, 2)).astype(float)
            accepted = np.round(n.sum(-1) * np.linspace(0, 1, len(RATES))[:, None, None])
            swept = np.stack([n.sum(-1) - accepted, accepted], axis=-1)
            refused = (name, repeat) == ("massaging", 1)
            status, counts = ("infeasible", None) if refused else ("ok", Counts(ADULT.groups, n))
            values = {"consistency": float(rng.random())}
            records[key, repeat] = Repeat(
                key, repeat, status, "", counts, values=values, swept=Counts(ADULT.groups, swept)
            )
    source = {
        "dataset": "adult", "attribute": "sex", "edited_column": "relationship", "arc_to_outcome": True,
        "protected": PROTECTED,
    }  # fmt: skip
    given = {"repeats": REPEATS, "metrics": (*METRICS, "consistency"), "tables": ("discrimination-accuracy",)}
    return run_plan(cells, [source], "shipped", **given | {"sweep": "acceptance-rate"} | more), records


def frames(folder: Path) -> dict[str, pd.DataFrame]:
    return {
        path.stem: pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in folder.glob("*.csv")
    }


@pytest.fixture(scope="module")
@uses("a dear fixture")
def written(tmp_path_factory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("report")
    write_report(folder, *made_up(), attributes=("sex", "race", "sex×race"))
    return frames(folder)


@pytest.mark.gate
def test_groups_csv_has_every_joint_level(written):
    _, records = made_up()
    groups = written["groups"]
    assert len(groups) == 4 * REPEATS * 6
    assert set(groups["protected"]) == {"sex × race"}
    assert groups["group"].tolist() == [*ADULT.groups] * (4 * REPEATS)
    for i, (repeat, cell) in enumerate((r, c) for c in range(4) for r in range(REPEATS)):
        record = list(records.values())[cell * REPEATS + repeat]
        rows = groups.iloc[6 * i : 6 * i + 6]
        assert set(rows["status"]) == {record.status}
        n = rows[COUNT_COLUMNS].to_numpy()
        assert np.isnan(n).all() if record.counts is None else (n.reshape(6, 2, 2) == record.counts.n).all()


def test_results_compare_each_attribute_and_intersection(written):
    _, records = made_up()
    results = written["results"]
    own = results[results["metric"].isin(METRICS)]
    assert len(own) == 4 * REPEATS * 3 * len(METRICS)
    assert set(results.loc[results["metric"] == "consistency", "compared"]) == {
        "sex"
    }  # it knows one attribute
    for row in own.itertuples():
        record = records[f"{row.intervention}-{row.beta}", row.repeat]
        if record.counts is None:
            assert np.isnan(row.value)
        else:
            pair = ADULT.pair(record.counts, row.compared.split(" × "))
            assert row.value == measure(row.metric, pair)
    by_race = ADULT.levels(records["none-0.0", 0].counts, ("race",))
    rates = by_race.predicted[:, 1] / by_race.group_total
    counts = by_race.group_total
    first = own.query("compared == 'race' and metric == 'discrimination'").iloc[0]
    assert first.value == pytest.approx(rates[2] - (rates[:2] * counts[:2]).sum() / counts[:2].sum())


def test_every_file_has_what_is_compared_after_the_attribute(written):
    for name in ("results", "summary", "paired", "pareto", "sweep"):
        frame = written[name]
        assert list(frame)[:3] == ["dataset", "attribute", "compared"], name
        assert list(frame["compared"].unique()) == ["sex", "race", "sex × race"], name
    summary = written["summary"].query("compared == 'sex × race' and metric == 'accuracy'")
    values = written["results"].query("compared == 'sex × race' and metric == 'accuracy'")
    means = values.groupby(["beta", "intervention"], sort=False)["value"].mean()
    assert summary["mean"].tolist() == pytest.approx(means.tolist())
    assert len(written["sweep"]) == 4 * 3 * len(METRICS) * len(RATES)


@pytest.mark.gate
def test_a_family_of_tests_is_of_one_comparison(written, tmp_path):
    write_report(tmp_path, *made_up(), attributes=("race",))
    alone = frames(tmp_path)["paired"]
    pd.testing.assert_frame_equal(
        alone[alone["metric"].isin(METRICS)].reset_index(drop=True),
        written["paired"].query("compared == 'race'").reset_index(drop=True),
    )


@pytest.mark.gate
def test_the_papers_tables_keep_the_attribute_that_the_run_works_on(tmp_path):
    for name, attributes in (("plain", ()), ("race", ("race",))):
        (tmp_path / name).mkdir()
        write_report(tmp_path / name, *made_up(), attributes=attributes)
    plain, race = (tmp_path / name / "tables" / "discrimination-accuracy.md" for name in ("plain", "race"))
    assert plain.read_text() == race.read_text()
    assert not (tmp_path / "plain/tables/group-rates.md").exists()
    assert "## adult, sex, tree: groups of race\n" in (tmp_path / "race/tables/pareto.md").read_text()


@pytest.mark.gate
def test_group_rates_are_means_over_the_repeats(tmp_path):
    plan, records = made_up()
    *_, table = write_report(tmp_path, plan, records, attributes=("sex×race", "race")).tables
    assert table.sections[0].tables[0].heads[:3] == ("technique", "group", "metric")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "tables/group-rates.csv").read_text())))
    assert len(rows) == (1 + 2) * (6 + 3) * 3  # labels and two techniques
    found = {(row["block"], row["technique"], row["group"], row["metric"]): row["beta=0.5"] for row in rows}
    n = np.stack([records["none-0.5", repeat].counts.n for repeat in range(REPEATS)])[:, 1]
    block = "adult, sex, tree: groups of sex × race"
    own = {
        measure: found[block, "none", "Female × Other", measure]
        for measure in ("rows", "selection-rate", "tpr")
    }
    rate, tpr = n[..., 1].sum(-1) / n.sum((-2, -1)), n[:, 1, 1] / n[:, 1].sum(-1)
    assert own == {
        "rows": f"{n.sum((-2, -1)).mean():.6g}",
        "selection-rate": f"{rate.mean():.3f}",
        "tpr": f"{tpr.mean():.3f}",
    }
    first = np.stack([records["none-0.0", repeat].counts.n for repeat in range(REPEATS)])[:, 1]
    favourable = (first[:, 1].sum(-1) / first.sum((-2, -1))).mean()
    assert found[block, "labels", "Female × Other", "selection-rate"] == f"{favourable:.3f}"
    assert found[block, "labels", "Female × Other", "tpr"] == "1.000"
    assert found["adult, sex, tree: groups of race", "massaging", "White", "tpr"].endswith(" (3/4)")
    floats = (tmp_path / "tables/group-rates.tex").read_text().split("\\begin{table}")[1:]
    assert len(floats) >= 2
    assert all(one.count("lrr@{}}") == 1 for one in floats)  # a name that wraps, a group, two β


@pytest.mark.gate
def test_a_table_of_group_rates_is_of_the_runs_own_attribute_unless_others_are_asked_for(tmp_path):
    (table,) = write_report(tmp_path, *made_up(tables=("group-rates",))).tables
    (block,) = table.sections
    assert block.title == "adult, sex, tree"
    assert {row[1].text for row in block.tables[0].rows} == {"Female", "Male"}


def test_attributes_that_no_data_set_has_are_refused(tmp_path):
    with pytest.raises(UserError, match='no protected attribute "rac" in this run'):
        write_report(tmp_path, *made_up(), attributes=("sex×rac",))


def test_report_takes_attributes(finished, say, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "copy")
    done = say("report", tmp_path / "copy", "-a", "race", "--all")
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    assert "selection-rate" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    refused = say("report", tmp_path / "copy", "--attribute", "height")
    assert refused.code == 2
    assert refused.err.splitlines()[0] == '--attribute: error: no protected attribute "height" in this run'


ASKED = ("attributes, metric", [(("sex", "race"), "propensity-difference"), (("race",), "discrimination")])


@pytest.mark.gate
@pytest.mark.parametrize(*ASKED)
def test_an_answer_is_about_a_metric_that_its_groups_have(tmp_path, attributes, metric):
    """A metric of rows is known of a cell's own attribute alone."""
    plan, records = made_up(metrics=("propensity-difference",))
    rng = np.random.default_rng(1)
    records = {
        key: replace(one, values={"propensity-difference": float(rng.random())})
        for key, one in records.items()
    }
    write_report(tmp_path, plan, records, attributes=attributes)
    metrics = ("propensity-difference", "accuracy", "discrimination", "impact-ratio")
    answer = answer_of(run_results(tmp_path, plan, records, metrics, attributes))
    assert answer.metric.name == metric
    assert {one.compared for one in answer.settings} == {name.replace("×", " × ") for name in attributes}
    page = (tmp_path / "report.html").read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data
    assert json.loads(data[1])["first_choices"]["metric"] == metric


def test_an_answer_is_about_the_metric_of_the_config_before_anything_has_run(tmp_path):
    plan, _ = made_up(metrics=("equal-opportunity",))
    answer = answer_of(run_results(tmp_path, plan, {}, ("equal-opportunity", "accuracy", "discrimination")))
    assert answer.metric.name == "equal-opportunity"
    assert {setting.outcome for setting in answer.settings} == {"no value"}
