"""Published values with sds and flags: those of Friedler et al., and what `compare` makes of them."""

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import plain, plain_cell, run_plan, two_lines

from fairbench_cli.base.errors import UserError
from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.papers import friedler2019
from fairbench_cli.papers.compare import Reproduction, compare, facts_of, match_cells, z_scores
from fairbench_cli.papers.pages import comma_separated, comparison_document
from fairbench_cli.papers.registry import PAPERS, read_published

FRIEDLER = PAPERS["friedler2019"]
REFERENCE = Path(__file__).parents[1] / "reference" / "friedler"
SERIES = ["dataset", "attribute", "representation", "algorithm"]
JOINT = "sensitive-*Diff/Ratio constant 1 (joint attribute)"


# The published values


@pytest.fixture(scope="module")
def values() -> pd.DataFrame:
    return read_published(FRIEDLER)


def test_it_has_all_its_values(values):
    assert not values.duplicated([*SERIES, "metric"]).any()
    assert values[["value", "sd"]].notna().all(axis=None)
    assert Counter(values["dataset"]) == {
        "adult": 93 * 15, "propublica-recidivism": 91 * 15, "ricci": 31 * 15,
        "german": 16 * 11, "propublica-violent-recidivism": 16 * 11,
    }  # fmt: skip
    assert set(values["algorithm"]) == set(friedler2019.ALGORITHMS)
    assert set(values["runs"]) == {"10", "8", "6"}
    assert (values.loc[values["runs"] != "10", "flags"] != "").all()
    found = values.set_index([*SERIES, "metric"])[["value", "sd"]]
    assert found.loc["adult", "race", "numerical", "SVM", "accuracy"].tolist() == [0.8596, 0.0027]
    assert found.loc["german", "age", "numerical-binary", "LR", "DIbinary"].tolist() == [0.860, 0.065]


def test_a_flag_is_of_the_values_it_speaks_of(values):
    joint = values[values["flags"].str.contains(JOINT, regex=False)]
    assert set(joint["metric"]) == {f"sensitive-{rate}Diff" for rate in ("accuracy", "TPR", "TNR")}
    assert set(joint["attribute"]) == {"race-sex", "sex-race"}
    assert (joint["value"] == 1).all()
    constant = values[values["flags"].str.startswith("partly constant")]
    assert set(constant[SERIES].itertuples(index=False, name=None)) == {
        ("german", "age", "numerical-binary", "Feldman-SVM"),
        ("propublica-violent-recidivism", "race", "numerical-binary", "Feldman-SVM"),
        ("propublica-violent-recidivism", "sex", "numerical-binary", "Feldman-SVM"),
    }
    free = values[(values["flags"] == "") & (values["metric"] == "CV")]
    counts = Counter(free["algorithm"])
    assert {counts[name] for name in friedler2019.CLASSIFIERS} == {18}
    assert "Calders" not in counts
    assert not {name for name in counts if name.endswith(("-accuracy", "-DIavgall"))}
    assert len(free) == 137


def test_a_mean_may_be_two_sd_off_or_the_floor():
    row = {"dataset": "adult", "metric": "accuracy", "sd": 0.002}
    assert FRIEDLER.tolerance(row) == 0.01
    assert FRIEDLER.tolerance(row | {"sd": 0.006}) == 0.012
    assert FRIEDLER.tolerance(row | {"metric": "TPR"}) == FRIEDLER.tolerance(row | {"metric": "CV"}) == 0.02
    assert FRIEDLER.tolerance(row | {"dataset": "german", "metric": "BCR"}) == 0.05
    assert FRIEDLER.tolerance(row | {"dataset": "ricci"}) == 0.08
    assert np.isnan(PAPERS["cardoso2019"].tolerance(row))


def test_all_names_of_measures_are_known_here(values):
    assert set(friedler2019.MEASURES) == set(values["metric"])
    for names in (friedler2019.PUBLISHED, friedler2019.PUBLISHED_BINARY):
        assert set(names) == set(friedler2019.MEASURES)
        assert all(METRICS[ours].needs == "counts" for ours in names.values())


# Which cell answers

AT = {"dataset": "adult-friedler", "attribute": "race", "representation": "numerical-binary"}
CELL = plain_cell(**AT, classifier="logistic-regression")
ZAFAR = {"intervention": "zafar-di", "include_protected": True}
TUNE = {"for": "accuracy", "over": {"level": [0.0, 1.0]}, "on": "test"}
N = np.array([[[80.0, 10], [4, 6]], [[50, 10], [10, 30]]])  # of the deprived and the favoured


RACE = {"name": "race", "levels": PAIR, "deprived": PAIR[:1], "favoured": PAIR[1:]}


def run_of(cells: list[dict], counts: np.ndarray = N, attributes: tuple[dict, ...] = (RACE,)):
    """A run on real rows of one repeat, and its records; cells without a key have one of their own."""
    listed = [CELL | {"key": str(i)} | cell for i, cell in enumerate(cells)]
    keys = {"repeats": 1, "metrics": ("accuracy",), "tables": (), "figures": (), "test": "holdout"}
    plan = run_plan(listed, [], "data", **keys)
    (one, *_) = plan.datasets
    pairs = dict.fromkeys((cell["dataset"], cell["attribute"]) for cell in listed)
    made = [one | {"dataset": d, "attribute": a, "protected": list(attributes)} for d, a in pairs]
    plan = replace(plan, datasets=made)
    found = Counts(plan.protected(*next(iter(pairs))).groups, counts)
    return plan, {(one["key"], 0): Repeat(one["key"], 0, "ok", "", found) for one in listed}


def published(*rows: dict) -> pd.DataFrame:
    """Published values: those of CELL with an sd of 0.001, changed."""
    usual = {
        "table": "1", "dataset": "adult", "attribute": "race", "representation": "numerical-binary",
        "algorithm": "LR", "metric": "accuracy", "value": 0.83, "sd": 0.001, "runs": "10", "flags": "",
    }  # fmt: skip
    return pd.DataFrame([usual | row for row in rows])


def compared(cells: list[dict], *rows: dict, **run: object) -> Reproduction:
    plan, records = run_of(cells, **run)
    return compare(FRIEDLER, published(*rows), plan, records, run="small")


@pytest.mark.parametrize(
    ("algorithm", "cell", "parameters"),
    [
        ("SVM", {"classifier": "svm"}, {}),
        ("GaussianNB", {"classifier": "naive-bayes"}, {}),
        ("DecisionTree", {"classifier": "tree"}, {}),
        ("Feldman-LR", {"intervention": "auditor"}, {"level": 1.0, "test_repair": "own"}),
        (
            "Feldman-SVM-accuracy",
            {"intervention": "auditor", "classifier": "svm"},
            {"test_repair": "own", "tune": TUNE},
        ),
        (
            "Feldman-GaussianNB-DIavgall",
            {"intervention": "auditor", "classifier": "naive-bayes"},
            {"tune": TUNE | {"for": "impact-ratio"}},
        ),
        ("Kamishima", {"intervention": "prejudice-remover"}, {"eta": 1}),
        ("Kamishima-accuracy", {"intervention": "prejudice-remover"}, {"tune": TUNE}),
        ("Calders", {"intervention": "two-naive-bayes"}, {}),
        ("ZafarBaseline", ZAFAR, {"mode": "none", "l2": 0}),
        ("ZafarFairness", ZAFAR, {"mode": "fairness", "c": 0.001, "l2": 0.0}),
        ("ZafarAccuracy", ZAFAR, {"mode": "accuracy", "gamma": 0.5, "l2": 0.0}),
    ],
)
def test_algorithms_are_techniques_with_parameters(algorithm, cell, parameters):
    plan, records = run_of([cell | {"parameters": json.dumps(parameters)}])
    found = compare(FRIEDLER, read_published(FRIEDLER), plan, records, run="small").covered
    assert set(found[SERIES].itertuples(index=False, name=None)) == {
        ("adult", "race", "numerical-binary", algorithm)
    }


def test_tuned_on_validation_rows_and_other_representations_are_not_in_the_paper():
    nested = {"tune": TUNE | {"on": "validation"}, "test_repair": "own"}
    cells = [
        {"intervention": "auditor", "classifier": "svm", "parameters": json.dumps(nested)},
        {"intervention": "auditor", "parameters": json.dumps({"level": 0.5, "test_repair": "own"})},
        {"representation": "original"},
        {"include_protected": True},
        ZAFAR | {"parameters": json.dumps({"mode": "fairness", "c": 0.001, "l2": 1.0})},
    ]
    plan, records = run_of(cells)
    assert compare(FRIEDLER, read_published(FRIEDLER), plan, records, run="small").covered.empty


def test_cells_that_share_a_key_are_one_and_others_are_a_choice():
    remover = {"intervention": "prejudice-remover", "parameters": '{"eta": 1.0}'}
    several = [remover | {"key": "one", "classifier": name} for name in ("svm", "tree")]
    found = compared(several, {"algorithm": "Kamishima"})
    assert found.values["ours"].tolist() == pytest.approx([0.83])
    own = [remover | {"key": name, "classifier": name} for name in ("svm", "tree")]
    with pytest.raises(UserError, match=r"they differ in classifier \(svm, tree\)"):
        compared(own, {"algorithm": "Kamishima"})


def test_a_cell_counted_for_several_attributes_has_the_numbers_of_each():
    cells = [{"key": "one"}, {"key": "one", "attribute": "sex"}]
    rows = [{"attribute": attribute, "metric": "CV"} for attribute in ("race", "sex")]
    both = np.array([[[6.0, 4], [0, 0]], [[8, 2], [0, 0]], [[4, 6], [0, 0]], [[9, 1], [0, 0]]])
    found = compared(cells, *rows, counts=both, attributes=(RACE, RACE | {"name": "sex"}))
    assert found.values["ours"].tolist() == pytest.approx([1 - (7 / 20 - 6 / 20), 1 - (3 / 20 - 10 / 20)])


def test_numerical_is_over_all_levels_and_binary_over_the_pair():
    n = np.array([[[8.0, 2], [0, 0]], [[6, 0], [2, 2]], [[4, 4], [2, 10]]])  # accuracy .8, .8, .7
    rows = [{"metric": "sensitive-accuracy"}, {"metric": "sensitive-TPR"}, {"metric": "DIavgall"}]
    cells = [{"representation": how} for how in ("numerical", "numerical-binary")]
    rows = [row | {"representation": cell["representation"]} for cell in cells for row in rows]
    race = RACE | {"levels": ("a", "b", "r"), "deprived": ("a", "b"), "favoured": ("r",)}
    found = compared(cells, *rows, counts=n, attributes=(race,)).values["ours"]
    of_r = 14 / 20
    # No positives in a: TPR 0, as the original has it, 2/4 over the pair.
    levels = [(0.8 + 0.8 + 0.7) / 3, (0 + 1 / 2 + 10 / 12) / 3, (0.2 / of_r + 0.2 / of_r) / 2]
    assert found.tolist() == pytest.approx([*levels, (0.8 + 0.7) / 2, (1 / 2 + 10 / 12) / 2, 0.2 / of_r])


def test_the_config_has_every_series_that_is_not_tuned(data_folder, values, tmp_path):
    config = Path(__file__).parents[2] / "configs" / "friedler2019.yaml"
    ricci = read_config(config, ("datasets=[ricci]", "tables=[]", "figures=[]"))
    plan = prepare(ricci, folder=tmp_path, data_dir=data_folder).plan
    facts = [facts_of(cell) | {"sample": "data"} for cell in plan.cells]
    fits = match_cells(FRIEDLER, values, facts, [cell["key"] for cell in plan.cells], "ricci")
    without = values[[fit is None for fit in fits]].query("dataset == 'ricci'")
    assert without["algorithm"].str.endswith(("-accuracy", "-DIavgall")).all()


# What is made of it: 166 of 200 are right, TPR .72, TNR .8667, CV .84 + .0

ROWS = (
    {"value": 0.84},  # .01 off, at the floor
    {"metric": "TPR", "value": 0.75},  # .03 off
    {"metric": "TNR", "value": 0.80, "sd": 0.04},  # .067 off, within two sd
    {"metric": "CV", "value": 0.50},
    {"metric": "BCR", "value": 0.10, "flags": "constant"},
    {"metric": "accuracy", "representation": "numerical", "value": 0.83, "flags": "collapse; other splits"},
    {"metric": "sensitive-accuracy", "value": 0.10},
    {"metric": "accuracy", "attribute": "sex", "value": 0.83},
)  # fmt: skip


def test_only_scored_values_without_a_flag_count():
    found = compared([{}, {"representation": "numerical"}], *ROWS)
    assert found.values["tolerance"].tolist() == pytest.approx(
        [0.01, 0.02, 0.08, *[0.02] * 2, 0.01, 0.01, 0.01]
    )
    verdicts = found.values.set_index(["metric", "flags"])["verdict"]
    assert verdicts.tolist() == [
        *("within tolerance", "off", "within tolerance", "off", "off", "within tolerance", "off", "not run")
    ]
    assert found.scored["metric"].tolist() == ["accuracy", "TPR", "TNR", "CV"]
    assert found.unflagged["metric"].tolist() == ["accuracy", "TPR", "TNR", "CV", "sensitive-accuracy"]
    assert found.flagged["metric"].tolist() == ["BCR", "accuracy"]
    tables = [section.tables[0] for section in comparison_document(found, 0.05).sections[:5]]
    assert tables[0].heads == ("measure", "adult", "all")
    within, rules, further, off, flagged = (
        [[cell.text for cell in row] for row in one.rows] for one in tables
    )
    assert within == [
        ["accuracy", "1/1", "1/1"], ["TPR", "0/1", "0/1"], ["TNR", "1/1", "1/1"], ["CV", "0/1", "0/1"],
        ["all", "2/4", "2/4"],
    ]  # fmt: skip
    assert rules == [[name, "4", "2", "1", "0", "0"] for name in ("adult", "all")]  # no z of one repeat
    assert further == [["sensitive-accuracy", "0/1", "0/1"]]
    assert [row[0].split(", ")[-1] for row in off] == ["CV", "TPR"]
    assert off[1][1:] == ["0.720", "0.750", "-0.030", "0.020"]
    assert [row[-2:] for row in flagged] == [
        ["constant", "0/1"], ["collapse; other splits", "1/1"],
    ]  # fmt: skip


def test_the_page_and_the_csv_have_all_of_it():
    found = compared([{}, {"representation": "numerical"}], *ROWS)
    page = markdown(comparison_document(found, 0.05))
    heads = ["Within the tolerance", "Further measures", "Off, ", "Flagged, ", "adult, race: ours / theirs"]
    places = [page.index(f"## {head}") for head in heads]
    assert places == sorted(places)
    assert "Within two published sd or the floor: 2 of 4 = 0.500." in page
    assert "0.720 / 0.750 ✗" in page
    assert "0.796 / 0.100 †" not in page  # BCR is (.72 + .8667) / 2
    assert "0.793 / 0.100 †" in page
    assert "0.01 accuracy" in page
    rows = list(csv.DictReader(io.StringIO(comma_separated(found))))
    assert len(rows) == len(ROWS)
    assert list(rows[0])[5:17] == [
        *("metric", "theirs", "sd", "runs", "flags", "ours", "difference", "tolerance", "floor", "z"),
        *("ours_sd", "low"),
    ]


def test_z_is_the_difference_over_the_standard_error_of_two_means():
    """By hand: sd .03 over 9 runs and .04 over 16 are standard errors of .01 each."""
    columns = {"sd": [0.03, 0.0, 0.0], "runs": "9", "ours_sd": [0.04, 0.0, 0.0], "n_ok": 16}
    found = z_scores(pd.DataFrame(columns | {"difference": [-0.02, 0.0, 0.01]}))
    assert found.tolist() == pytest.approx([-np.sqrt(2), 0, np.inf])


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder whose results are those of the cells above."""
    plan, records = run_of([{}, {"representation": "numerical"}])
    read = type("Reading", (), {"records": records, "damages": ()})
    base = "fairbench_cli.papers.compare."
    monkeypatch.setattr(base + "read_results", lambda _: (plan, read))
    monkeypatch.setattr(base + "read_published", lambda *_: published(*ROWS))
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_the_command_prints_what_counts_and_what_is_flagged(say, folder):
    done = say("compare", folder, "--paper", "friedler2019")
    assert done.code == 0, done.err
    plain(done.out)
    assert max(map(len, done.out.splitlines())) <= 80
    text = " ".join(done.out.split())
    assert "(1) adult" in text
    assert "run, within two published sd or the floor: 2 of 4 unflagged values of accuracy" in text
    assert "constant 0/1" in text
    assert "2 within tolerance, 2 off" in text
    assert {path.name for path in (folder / "compare").iterdir()} == {"friedler2019.csv", "friedler2019.md"}


def test_the_gate_counts_what_counts(say, folder):
    base = ("compare", folder, "--paper", "friedler2019", "--fail-under")
    assert say(*base, "0.5").code == 0
    short = say(*base, "0.51")
    assert (short.code, "less than the 0.51 of all asked for" in " ".join(short.out.split())) == (1, True)
    two_lines(say(*base, "0.5", "--tolerance", "0.05"), "has a tolerance of its own", "leave --tolerance out")


def test_nothing_without_a_flag_is_not_enough(say, folder, monkeypatch):
    rows = [row | {"flags": "constant"} for row in ROWS]
    monkeypatch.setattr("fairbench_cli.papers.compare.read_published", lambda *_: published(*rows))
    assert say("compare", folder, "--paper", "friedler2019").code == 0
    assert say("compare", folder, "--paper", "friedler2019", "--fail-under", "0").code == 1


def test_runs_side_by_side(say, folder, tmp_path):
    (tmp_path / "two").mkdir()
    done = say("compare", folder, tmp_path / "two", "--paper", "friedler2019", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    last = next(line for line in done.out.splitlines() if line.startswith("all"))
    assert last.split()[1:] == ["0.500", "of", "4", "0.500", "of", "4"]
    page = (tmp_path / "out/friedler2019.md").read_text(encoding="utf-8")
    assert "the share within two published sd or the floor of its mean" in page
