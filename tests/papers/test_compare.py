"""`fairbench compare`: published values, verdicts, which cell answers, the files and the exit code."""

import csv
import io
import json
import math
import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import (
    HEAVY,
    Finished,
    fairbench,
    modules_after,
    plain,
    plain_cell,
    run_plan,
    two_lines,
    write_config,
)
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.plan import select
from fairbench_cli.measures.counts import PAIR as GROUPS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import COUNT_METRICS
from fairbench_cli.papers.compare import (
    IMPOSSIBLE,
    Reproduction,
    compare,
    count_agreement,
    judge,
    select_worst,
)
from fairbench_cli.papers.pages import comma_separated, comparison_document
from fairbench_cli.papers.registry import PAPERS, read_published

CARDOSO = PAPERS["cardoso2019"]
NAN = math.nan


# The published values


def test_cardoso2019_has_all_its_values():
    values = read_published(CARDOSO)
    counts = {"2": 30, "3": 120, "4": 90, "5": 30, "6": 120, "7": 90, "10": 90, "11": 90}
    assert Counter(values["table"]) == counts
    assert list(dict.fromkeys(values["table"])) == list(counts)
    assert (len(values), values["value"].count()) == (660, 652)
    keys = [name for name in values if name != "value"]
    assert not values.duplicated(keys).any()
    assert set(values["beta"]) == {"0", "0.25", "0.5", "0.75", "1"}
    dashes = values[values["value"].isna()]
    assert set(dashes["intervention"]) == {"uniform-sampling", "preferential-sampling"}
    assert (set(dashes["dataset"]), set(dashes["beta"])) == ({"dutch"}, {"1"})


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_a_paper_speaks_of_its_own_csv_and_of_our_measures(paper):
    values = read_published(paper)
    assert {*paper.blocks, paper.across, *paper.labels} <= set(values)
    for column, labels in paper.labels.items():
        assert set(labels) <= set(values[column])
    for name in values["metric"].unique():
        entry = COUNT_METRICS[paper.metrics.get(name, name)]
        printed = values.loc[values["metric"] == name, "value"].dropna()
        assert printed.between(entry.low, entry.high).all()


# Verdicts


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        (0.0, "within 0.02"),
        (0.02, "within 0.02"),
        (0.0205, "within 0.02"),
        (0.0206, "within 0.05"),
        (0.0505, "within 0.05"),
        (0.0506, "off"),
        (1.0, "off"),
    ],
)
def test_verdicts_change_at_their_limits(gap, verdict):
    for theirs, sign in product([0.0, 0.3, -0.1, 0.581], [1, -1]):
        ours = theirs + sign * gap
        assert judge(theirs, ours, NAN, NAN, f"{ours:.3f}") == (verdict, "")


def test_inside_allows_for_printed_digits_and_a_wide_interval_excuses_nothing():
    assert judge(0.3, 0.32, 0.3005, 0.3395, "0.320")[0] == "inside interval"
    assert judge(0.3, 0.32, 0.3006, 0.3394, "0.320")[0] == "within 0.02"
    assert judge(0.3, 0.28, 0.2605, 0.2995, "0.280")[0] == "inside interval"
    assert judge(0.3, 0.4, -0.9, 1.7, "0.400") == ("off", "")


@pytest.mark.parametrize(
    ("theirs", "shown", "verdict"),
    [
        (NAN, "-", ('both "-"', "")),
        (NAN, "0.300", ("off", 'theirs is "-"')),
        (NAN, "0.300 (2/30)", ("off", 'theirs is "-"')),
        (NAN, "failed", ("off", 'theirs is "-"')),
        (0.3, "-", ("off", 'ours is "-"')),
        (0.3, "failed", ("off", 'ours is "failed"')),
        (0.3, "n/a", ("off", 'ours is "n/a"')),
        (0.3, "…", ("not run", "")),
        (NAN, "…", ("not run", "")),
    ],
)
def test_dashes(theirs, shown, verdict):
    ours = 0.3 if shown.startswith("0") else NAN
    assert judge(theirs, ours, NAN, NAN, shown) == verdict


numbers = st.floats(-1, 1)


@given(st.lists(st.tuples(st.one_of(st.just(NAN), numbers), st.one_of(st.just(NAN), numbers)), min_size=1))
def test_shares_are_nested_and_off_is_what_is_left(pairs):
    rows = []
    for theirs, ours in pairs:
        shown = "-" if math.isnan(ours) else f"{ours:.3f}"
        verdict, note = judge(theirs, ours, ours - 0.03, ours + 0.03, shown)
        rows.append((theirs, ours, ours - theirs, verdict, note))
    values = pd.DataFrame(rows, columns=["theirs", "ours", "difference", "verdict", "note"])
    found = count_agreement(values, (0.02, 0.05, 1.0))
    assert found.n == len(pairs)
    assert found.within[0] <= found.within[1] <= found.within[2]
    assert found.inside <= found.within[1] == found.n - found.off
    gaps = select_worst(values, 3)["difference"].abs().fillna(math.inf).tolist()
    assert gaps == sorted(gaps, reverse=True)


# Which cell answers

CELL = plain_cell(dataset="adult", attribute="sex", classifier="c45")


def compared(*cells: dict, statuses=(), filters=(), tables=(), paper=CARDOSO) -> Reproduction:
    """Compare a run of one repeat per cell, all with the same counts."""
    listed = [CELL | cell | {"key": str(i)} for i, cell in enumerate(cells)]
    source = "data" if paper.name == "zliobaite2015" else "network"
    study = run_plan(listed, [], source, repeats=1, metrics=("accuracy",), tables=(), figures=())
    n = Counts(GROUPS, np.array([[[50.0, 10], [20, 20]], [[30, 20], [10, 40]]]))
    records = {}
    for i, cell in enumerate(listed):
        status = dict(enumerate(statuses)).get(i, "ok")
        records[cell["key"], 0] = Repeat(cell["key"], 0, status, "", n if status == "ok" else None)
    published = read_published(paper, tables)
    return compare(paper, published, study, records, run="small", filters=filters)


def covered(comparison: Reproduction) -> set[tuple[str, str]]:
    return set(comparison.covered[["dataset", "intervention"]].itertuples(index=False, name=None))


def test_measures_come_from_the_counts_whatever_the_config_lists():
    found = compared({}).covered.set_index("metric")
    by_hand = {
        "discrimination": 0.6 - 0.3,
        "accuracy": 140 / 200,
        "overestimation": 20 / 50 - 10 / 60,
        "underestimation": 20 / 40 - 10 / 50,
    }
    assert found["ours"].to_dict() == pytest.approx(by_hand)
    printed = {"discrimination": 0.162, "accuracy": 0.845}
    assert found["theirs"][list(printed)].to_dict() == printed
    assert (found["difference"] == found["ours"] - found["theirs"]).all()


def test_variants_of_a_data_set_count_as_it_and_other_attributes_do_not():
    assert covered(compared({"dataset": "adult-train"})) == {("adult", "none")}
    assert covered(compared({"dataset": "compas-leaky", "attribute": "race"})) == {("compas", "none")}
    for other in ({"dataset": "adults"}, {"attribute": "race"}, {"beta": 0.1}, {"intervention": "other"}):
        assert covered(compared(other)) == set()


@pytest.mark.parametrize(
    ("intervention", "parameters", "label"),
    [
        ("repair", {"level": 0.25, "test_repair": "none"}, "repair@0.25"),
        ("repair", {"level": 0.5}, "repair@0.50"),
        ("auditor", {"level": 0.75}, "repair@0.75"),
        # The columns are named for what is optimised: "Acc. cons." is the least loss, covariance bounded.
        ("zafar-di", {"mode": "fairness", "l2": 1.0}, "zafar-di@accuracy"),
        ("zafar-di", {"mode": "accuracy"}, "zafar-di@fairness"),
        ("zafar-di", {"mode": "misclassification"}, "zafar-di@misclassification"),
        ("zafar-dm", {"constraint": "fpr"}, "zafar-dm@fpr"),
        ("zafar-dm", {"constraint": "fnr"}, "zafar-dm@fnr"),
        ("zafar-dm", {"constraint": "both"}, "zafar-dm@both"),
        ("massaging", {"ranker": "logistic"}, "massaging"),
    ],
)
def test_published_labels_name_techniques_with_parameters(intervention, parameters, label):
    cell = {"intervention": intervention, "parameters": json.dumps(parameters)}
    assert covered(compared(cell)) == {("adult", label)}


def test_other_levels_and_modes_are_not_in_the_paper():
    for name, parameters in (("repair", {"level": 1.0}), ("zafar-di", {"mode": "none"}), ("zafar-dm", {})):
        assert covered(compared({"intervention": name, "parameters": json.dumps(parameters)})) == set()


def test_several_fitting_cells_are_refused_and_filters_choose():
    own = {"intervention": "massaging", "parameters": '{"ranker":"naive-bayes"}'}
    cells = [{}, own, own | {"parameters": '{"ranker":"logistic"}'}, own | {"classifier": "tree"}]
    with pytest.raises(UserError) as caught:
        compared(*cells)
    text = str(caught.value)
    assert "3 cells of the run fit adult, β = 0, massaging" in text
    assert "they differ in classifier (c45, tree) and ranker (naive-bayes, logistic)" in text
    filters = text.partition("--only ")[2]
    assert filters == "classifier=c45,ranker=naive-bayes"
    found = compared(*cells, filters=(filters,))
    assert covered(found) == {("adult", "none"), ("adult", "massaging")}
    cell = found.covered.query("intervention == 'massaging'")["cell"].iloc[0]
    assert cell == "adult, sex, β = 0, massaging, c45"


def test_the_way_out_of_two_interventions_keeps_all_others():
    level = json.dumps({"level": 0.5})
    cells = [
        {},
        {"intervention": "repair", "parameters": level},
        {"intervention": "auditor", "parameters": level},
    ]
    with pytest.raises(UserError, match="--only intervention!=auditor"):
        compared(*cells)
    found = compared(*cells, filters=("intervention!=auditor",))
    assert covered(found) == {("adult", "none"), ("adult", "repair@0.50")}


def test_with_and_without_the_protected_attribute_is_a_choice():
    cells = [{"include_protected": seen} for seen in (False, True)]
    with pytest.raises(UserError, match=r"include_protected \(false, true\)"):
        compared(*cells)
    found = compared(*cells, filters=("include_protected=true",))
    assert found.covered["cell"].str.contains("none + s", regex=False).all()


def test_filters_on_numbers_and_on_both_ways():
    cells = [{"beta": beta, "classifier.min_leaf": leaf} for beta in (0.0, 0.5) for leaf in (2, 5.0)]
    assert select(cells, ("beta=0.50", "classifier.min_leaf=5")) == [False, False, False, True]
    assert select(cells, ("beta=0,beta=.5",)) == [True] * 4
    assert select(cells, ("beta!=0,classifier.min_leaf!=2",)) == [False, False, False, True]
    assert select(cells, ()) == [True] * 4
    for wrong in ("beta", "bta=0", "beta=2", "beta=zero", "beta!=0,beta!=0.5"):
        with pytest.raises(UserError, match="--only"):
            select(cells, (wrong,))


def test_zliobaite2015_goes_by_classifier_and_strategy():
    own = {"include_protected": False}
    cells = [
        own,
        own | {"include_protected": True},
        own | {"classifier": "logistic-regression"},
        own | {"classifier": "naive-bayes", "intervention": "massaging"},
        own | {"classifier": "tree"},
        own | {"classifier": "naive-bayes", "beta": 0.5},
    ]
    found = compared(*cells, paper=PAPERS["zliobaite2015"])
    answered = found.covered[["classifier", "strategy"]].drop_duplicates().to_numpy().tolist()
    assert answered == [
        ["logistic", "no-s"],
        ["naive-bayes", "massaging"],
        ["c45", "with-s"],
        ["c45", "no-s"],
    ]
    assert (len(found.covered), len(found.values)) == (20, 50)
    theirs = found.covered.query("classifier == 'logistic' and metric == 'normalized_discrimination'")[
        "theirs"
    ]
    assert theirs.tolist() == [0.596]
    assert "| strategy  | acceptance_rate |" in markdown(comparison_document(found, 0.05))


# Dashes, failures and what was not run, in the files


def dutch(statuses: list[str]) -> Reproduction:
    names = ["none", "massaging", "uniform-sampling", "preferential-sampling"]
    cells = [{"dataset": "dutch", "beta": 1.0, "intervention": name} for name in names]
    return compared(*cells, statuses=statuses, tables=("2", "3"))


def test_dashes_and_failures_in_a_comparison():
    found = dutch(["ok", "failed", "infeasible", "ok"])
    rows = found.covered.query("metric == 'accuracy'").set_index("intervention")
    assert rows["verdict"].to_dict() == {
        "none": "within 0.05",
        "massaging": "off",
        "uniform-sampling": 'both "-"',
        "preferential-sampling": "off",
    }
    assert rows["note"].to_dict() == {
        "none": "", "massaging": 'ours is "failed"', "uniform-sampling": "",
        "preferential-sampling": 'theirs is "-"',
    }  # fmt: skip
    shares = count_agreement(found.values, (0.02, 0.05))
    # Two "-" against "-" agree in every way; one repeat has no interval for any other value to be inside of.
    assert (shares.n, shares.inside, shares.off) == (8, 2, 5)
    assert set(select_worst(found.values, 3)["intervention"]) <= {"massaging", "preferential-sampling"}


def test_markdown_shows_every_value_and_marks_what_is_off():
    page = markdown(comparison_document(dutch(["ok", "failed", "infeasible", "ok"]), 0.05))
    assert page.index("## Summary") < page.index("## Furthest off") < page.index("## Table 2, adult")
    assert (
        "8 of 150 published values covered; not run: Table 2 (28), Table 3 (114); trained on samples of"
        in page
    )
    part = page.partition("## Table 3, dutch")[2]
    rows = {
        tuple(cell.strip() for cell in line.split("|")[1:3]): line.split("|")[-2].strip()
        for line in part.splitlines()
        if line.startswith("| ")
    }
    assert rows["massaging", "accuracy"].startswith("failed / ")
    assert rows["massaging", "accuracy"].endswith(" ✗")
    assert rows["uniform-sampling", "accuracy"] == "- / -"
    assert rows["preferential-sampling", "accuracy"] == "0.700 / - ✗"
    assert rows["reweighing", "accuracy"].startswith("… / 0.")
    assert "## Table 2, adult: ours / theirs\n\nNot in the run.\n" in page
    for block in page.split("\n\n"):
        if block.startswith("|"):
            assert len({len(line) for line in block.splitlines()}) == 1, block


def test_printed_rows_that_no_confusion_matrix_has_are_named():
    """Where 100 rows of either group have 40 and 50 favourable labels, Adult's numbers are impossible."""
    found = compared({}, {"intervention": "reweighing", "beta": 0.5})
    assert found.printed_rows.n == 2
    assert set(found.printed_rows.impossible) == {("adult", "0", "none"), ("adult", "0.5", "reweighing")}
    assert set(found.values.loc[found.printed_rows.impossible["adult", "0", "none"], "table"]) == {"2", "5"}
    rows = csv.DictReader(io.StringIO(comma_separated(found)))
    assert Counter(row["intervention"] for row in rows if row["note"] == IMPOSSIBLE) == {
        "none": 4, "reweighing": 4,
    }  # fmt: skip
    sentence = (
        "2 of 2 printed rows cannot be one confusion matrix of the test rows, the farthest off first: "
        "adult, β = 0.5, reweighing; adult, β = 0, none"
    )
    for brief in (True, False):
        assert sentence in markdown(comparison_document(found, 0.05, brief=brief))
    # A random part of the data is not what the paper tested on, and one table has not all four numbers.
    assert "confusion" not in markdown(comparison_document(compared({}, tables=("2",)), 0.05))
    assert compared({"classifier": "logistic-regression"}, paper=PAPERS["zliobaite2015"]).printed_rows.n == 0


def test_csv_has_every_published_value_once():
    found = dutch(["ok", "failed", "infeasible", "ok"])
    rows = list(csv.DictReader(io.StringIO(comma_separated(found))))
    assert len(rows) == 150
    assert list(rows[0]) == [
        "table", "dataset", "beta", "intervention", "metric", "theirs", "ours", "difference", "low", "high",
        "n_ok", "n", "cell", "verdict", "note",
    ]  # fmt: skip
    assert Counter(row["verdict"] == "not run" for row in rows) == {True: 142, False: 8}
    number = next(row for row in rows if row["ours"])
    assert float(number["difference"]) == pytest.approx(float(number["ours"]) - float(number["theirs"]))
    assert (number["n_ok"], number["n"]) == ("1", "1")


def test_a_run_that_was_stopped_early_is_compared_as_far_as_it_came():
    study_only = dutch([])
    assert len(study_only.covered) == 8
    nothing = compared({"dataset": "dutch"}, {"dataset": "dutch", "beta": 1.0}, statuses=["ok", "killed"])
    assert set(nothing.covered["beta"]) == {"0", "1"}


# The command


@pytest.fixture(scope="session")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run on two β of Adult, whose config does not list the paper's measures."""
    base = tmp_path_factory.mktemp("adult")
    config = write_config(
        base / "small.yaml",
        datasets=["adult"],
        metrics=["tpr"],
        interventions=["none", "massaging", {"reweighing": {"include_protected": [False, True]}}],
    )
    done = fairbench("run", config, "-o", base / "one", "--jobs", "1", "--quiet")
    assert done.returncode == 0, done.stderr
    return base / "one"


CHOICE = ("--only", "include_protected=false")


def test_compare_prints_a_summary_and_writes_both_files(adult, tmp_path, say):
    folder = tmp_path / "copy"
    shutil.copytree(adult, folder)
    done = say("compare", folder, "--paper", "cardoso2019", *CHOICE)
    assert done.code == 0, done.err
    plain(done.out)
    assert "24 of 660 published values covered" in done.out.replace("\n", " ")
    text = (folder / "compare/cardoso2019.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 660
    verdicts = Counter(row["verdict"] for row in rows)
    assert verdicts["not run"] == 636
    for verdict, n in verdicts.items():
        assert f"{n} {verdict}" in done.out or verdict == "not run"
    near = sum(abs(float(row["difference"])) <= 0.0505 for row in rows if row["difference"])
    assert f"copy, within 0.05: {near} of 24 values = {near / 24:.3f}" in done.out
    page = (folder / "compare/cardoso2019.md").read_text(encoding="utf-8")
    assert page.startswith("# cardoso2019 against copy\n\nR. L. Cardoso")
    assert {path.name for path in (folder / "compare").iterdir()} == {"cardoso2019.csv", "cardoso2019.md"}
    summary = pd.read_csv(folder / "results.csv")
    assert set(summary["metric"]) == {"tpr"}


def test_fail_under_sets_the_exit_code_at_the_very_share(say, adult, tmp_path):
    base = ("compare", adult, "--paper", "cardoso2019", *CHOICE, "-o", tmp_path / "out")
    first = say(*base)
    k, n = map(int, first.out.partition("within 0.05: ")[2].split(" values")[0].split(" of "))
    assert 0 < k < n
    enough = say(*base, "--fail-under", str(k / n))
    assert (enough.code, "at least the" in enough.out) == (0, True)
    short = say(*base, "--fail-under", str((k + 0.5) / n))
    assert (short.code, "less than the" in short.out, short.err != "") == (1, True, True)
    assert say(*base, "--fail-under", "1", "--tolerance", "1").code == 0
    counts = [say(*base, "--fail-under", str(count)) for count in (k, k + 1)]
    assert k > 1
    assert [done.code for done in counts] == [0, 1]
    assert f"less than the {k + 1} values asked for" in counts[1].out
    half = say(*base, "--fail-under", "1.5")
    assert (half.code, "1.5 is neither a share nor a number of values" in half.err) == (2, True)
    wide = say(*base, "--tolerance", "0.2")
    assert "within 0.02  within 0.05  within 0.2 " in wide.out


def test_tables_can_be_chosen(say, adult, tmp_path):
    base = ("compare", adult, "--paper", "cardoso2019", *CHOICE, "-o", tmp_path)
    done = say(*base, "--table", "2,5")
    assert "8 of 60 published values covered; not run: Table 2 (26), Table 5 (26)" in done.out.replace(
        "\n", " "
    )
    assert say(*base, "--table", "2", "--table", "5").out == done.out


def test_several_runs_stand_side_by_side(say, adult, tmp_path):
    shutil.copytree(adult, tmp_path / "two")
    base = ("compare", adult, tmp_path / "two", "--paper", "cardoso2019", *CHOICE)
    done = say(*base, "-o", tmp_path / "out", "--fail-under", "1")
    assert done.code == 1
    plain(done.out)
    last = [line for line in done.out.splitlines() if line.startswith("all")]
    shares = last[0].split()[1:]
    assert shares[:3] == shares[3:]
    assert shares[1:3] == ["of", "24"]
    names = {
        "cardoso2019.md",
        *(f"cardoso2019-{run}.{kind}" for run in ("one", "two") for kind in ("csv", "md")),
    }
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert "| table | dataset |" in (tmp_path / "out/cardoso2019.md").read_text(encoding="utf-8")
    one, two = ((tmp_path / f"out/cardoso2019-{run}.csv").read_text() for run in ("one", "two"))
    assert one == two


def test_mistakes_are_two_lines(say, adult, finished: Finished, tmp_path):
    paper = ("--paper", "cardoso2019")
    for arguments, words in [
        ((adult, "--paper", "cardoso2018"), 'did you mean "cardoso2019"?'),
        ((adult, *paper), "include_protected (false, true)"),
        ((adult, *paper, "--table", "9"), 'no values of table "9"'),
        ((adult, *paper, "--table", "10"), "has none of the values of cardoso2019 (table 10)"),
        ((adult, *paper, "--only", "clasifier=tree"), 'did you mean "classifier"?'),
        ((adult, *paper, "--fail-under", "nan"), "--fail-under"),
        ((adult, *paper, "--tolerance", "nan"), "--tolerance"),
        ((adult, adult, *paper), "two folders are called"),
        ((tmp_path, *paper), "holds no results"),
        ((finished.folder, "--paper", "zliobaite2015"), "has none of the values"),
    ]:
        two_lines(say("compare", *arguments), words)
    assert not (adult / "compare").exists()


def test_compare_is_light(adult, tmp_path):
    base = ["compare", str(adult), "--paper", "cardoso2019", *CHOICE, "-o", str(tmp_path)]
    helped, compared = modules_after(["compare", "--help"], base, cwd=tmp_path)
    assert not {"numpy", "pandas"} & helped
    assert "numpy" in compared
    assert not {*HEAVY, "scipy.stats", "matplotlib", "statsmodels"} & compared
