"""Labels, constants and Fairea's line: against a simulation, plain pandas, SciPy and limiting cases."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import plain_cell, run_plan
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.baselines import (
    OPEN,
    REGIONS,
    SHARES,
    LineComparison,
    baseline_distance_frame,
    baselines_by_situation,
    baselines_frame,
    classify_region,
    find_shortfalls,
    mutate_predictions,
)
from fairbench_cli.report.ledger.inference import paired_test
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.show.answer_text import describe_shortfall

REPEATS, ROWS = 6, 400
TECHNIQUES = ("none", "copy", "refuser", "accepter", "coin", "fairer", "unfairer")


def decided(name: str, plain: np.ndarray, s: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    """What a technique makes of the plain model's decisions, given group, label and chance."""
    return {
        "none": plain,
        "copy": plain,
        "refuser": 0 * plain,
        "accepter": 0 * plain + 1,
        "coin": (u < 0.5).astype(int),
        "fairer": np.where(u < 0.8, y, plain),
        "unfairer": np.where(u < 0.8, s, plain),
    }[name]


def cell_of(name: str, beta: float = 0.0, seen: bool = False) -> dict:
    key = f"{name}{beta:g}{'s' * seen}"
    return plain_cell(key=key, beta=beta, intervention=name, include_protected=seen)


@cache
def rows_of(repeat: int, fresh: bool) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(repeat if fresh else 99)
    s = rng.integers(0, 2, ROWS)
    y = (rng.random(ROWS) < 0.3 + 0.05 * s).astype(int)
    rng = np.random.default_rng([repeat, 5])
    plain = (rng.random(ROWS) < 0.1 + 0.5 * y + 0.25 * s).astype(int)
    return s, y, plain, rng.random(ROWS)


def record(cell: dict, repeat: int, fresh: bool) -> Repeat:
    s, y, plain, u = rows_of(repeat, fresh)
    own = decided(cell["intervention"], plain, s, y, u)
    return Repeat(cell["key"], repeat, "ok", "", count(s, y, own, PAIR))


def run_of(cells: list[dict], test: str = "network", without: tuple = (), **more: object) -> RunResults:
    plan = run_plan(
        cells,
        [],
        repeats=REPEATS,
        metrics=("accuracy", "discrimination", "tpr"),
        tables=(),
        test=test,
        **more,
    )
    found = {
        (cell["key"], repeat): record(cell, repeat, test == "network")
        for cell in cells
        for repeat in range(REPEATS)
        if (cell["key"], repeat) not in without
    }
    return run_results(Path(), plan, found, ("discrimination", "accuracy", "tpr"))


CELLS = [cell_of(name) for name in TECHNIQUES]
RUN = run_of(CELLS)
NONE = [record(CELLS[0], repeat, fresh=True).counts for repeat in range(REPEATS)]


@pytest.mark.parametrize("favourable", [False, True])
def test_fairea_is_what_drawing_gives_on_average(favourable):
    """A share of the rows, drawn without replacement as in the paper, is decided alike: all ways to draw."""
    s, y, plain = (column[:10] for column in rows_of(3, fresh=True)[:3])
    for n_alike in (1, 5, 9):
        found = []
        for alike in combinations(range(10), n_alike):
            drawn = plain.copy()
            drawn[list(alike)] = favourable
            found.append(count(s, y, drawn, PAIR).n)
        expected = mutate_predictions(count(s, y, plain, PAIR), n_alike / 10, favourable).n
        assert np.mean(found, axis=0) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.booleans())
def test_differences_of_rates_fall_in_proportion_and_accuracy_is_on_a_line(seed, share, favourable):
    n = np.random.default_rng(seed).integers(1, 50, (3, 2, 2, 2)).astype(float)
    plain = Counts(PAIR, n)
    found, constant = mutate_predictions(plain, share, favourable), plain.of_constant(favourable)
    assert found.labelled == pytest.approx(plain.labelled)
    for metric in ("discrimination", "tpr-difference", "fpr-difference"):
        assert measure(metric, found) == pytest.approx((1 - share) * measure(metric, plain), abs=1e-12)
    ends = measure("accuracy", plain), measure("accuracy", constant)
    assert measure("accuracy", found) == pytest.approx((1 - share) * ends[0] + share * ends[1])


def test_the_ends_of_the_line_are_the_model_and_the_constant():
    (own,) = baselines_by_situation(RUN).values()
    assert own.mutated(0.0).n == pytest.approx(np.array([one.n for one in NONE]))
    assert own.mutated(1.0).n == pytest.approx(own.constants[own.constant].n)
    assert own.constant == "refuse all"  # most labels are unfavourable
    turned = [replace(one, counts=Counts(PAIR, one.counts.n[:, ::-1, ::-1])) for one in (
        record(CELLS[0], repeat, fresh=True) for repeat in range(REPEATS)
    )]  # fmt: skip
    other = run_results(Path(), RUN.plan, {(one.key, one.repeat): one for one in turned}, ("accuracy",))
    assert next(iter(baselines_by_situation(other).values())).constant == "accept all"


def test_the_file_is_what_plain_pandas_makes_of_the_rows():
    frame = baselines_frame(RUN)
    assert frame.index.tolist() == [*range(len(frame))]
    assert len(frame) == (3 + len(SHARES)) * 3
    assert not frame.drop(columns=["share"]).isna().any(axis=None)
    rows = [pd.DataFrame(dict(zip("sy", rows_of(i, True), strict=False))) for i in range(REPEATS)]
    rates = [one.groupby("s")["y"].mean() for one in rows]
    share, zeros = pd.Series([one["y"].mean() for one in rows]), pd.Series([0.0] * REPEATS)
    for names, each in {
        ("labels", "accuracy"): zeros + 1,
        ("labels", "discrimination"): pd.Series([one[1] - one[0] for one in rates]),
        ("accept all", "accuracy"): share,
        ("accept all", "tpr"): zeros + 1,
        ("refuse all", "accuracy"): 1 - share,
        ("refuse all", "discrimination"): zeros,
    }.items():
        (row,) = frame[frame[["baseline", "metric"]].eq(list(names)).all(axis=1)].to_dict("records")
        assert (row["mean"], row["sd"]) == pytest.approx((each.mean(), each.std()), abs=1e-12)
        low, high = (
            stats.t.interval(0.95, REPEATS - 1, each.mean(), each.sem()) if each.std() else [each[0]] * 2
        )
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-12)
        assert (row["n_ok"], row["n"], row["constant"]) == (REPEATS, REPEATS, "")
    line = frame.query("baseline == 'mutated' and metric == 'discrimination'")
    plain = np.mean([measure("discrimination", counts) for counts in NONE])
    assert line["share"].tolist() == list(SHARES)
    assert line["mean"].to_numpy() == pytest.approx(plain * (1 - np.array(SHARES)))
    assert set(line["constant"]) == {"refuse all"}
    assert set(line["include_protected"]) == {False}


def test_labels_need_no_technique_and_no_none():
    one, seen = cell_of("coin"), cell_of("none", seen=True)
    frame = baselines_frame(run_of([one], without=(("coin0", 1),)))
    assert set(frame["baseline"]) == {"labels", "accept all", "refuse all"}
    assert set(frame["n_ok"]) == {REPEATS - 1}
    assert len(baseline_distance_frame(run_of([one]))) == 0
    both = baseline_distance_frame(run_of([one, seen]))  # the other none stands in, as in paired.csv
    assert both["baseline_include_protected"].tolist() == [True]


def brute_force(name: str) -> pd.DataFrame:
    """Compute the comparison of a technique with the line row by row, repeat by repeat."""
    found = []
    for repeat in range(REPEATS):
        s, y, plain, u = rows_of(repeat, True)
        own = decided(name, plain, s, y, u)
        gap, plain_gap = (abs(d[s == 1].mean() - d[s == 0].mean()) for d in (own, plain))
        found.append(((own == y).mean(), gap, plain_gap, (plain == y).mean(), (y == 0).mean()))
    each = pd.DataFrame(found, columns=["accuracy", "gap", "plain_gap", "plain", "refusing"])
    means = each.mean()
    kept = min(1.0, means["gap"] / means["plain_gap"])
    price = (means["plain"] - means["refusing"]) / means["plain_gap"] if kept < 1 else 0.0
    line = kept * each["plain"] + (1 - kept) * each["refusing"]
    line += price * (each["gap"] - kept * each["plain_gap"])
    return each.assign(
        share=1 - kept,
        mutated_accuracy=line,
        difference=each["accuracy"] - line,
        constant=each["accuracy"] - each["refusing"],
    )[["accuracy", "gap", "share", "mutated_accuracy", "difference", "constant"]]


def test_techniques_are_compared_with_the_line_at_their_own_gap():
    frame = baseline_distance_frame(RUN).set_index("intervention")
    assert frame.index.tolist() == list(TECHNIQUES[1:])
    p = {}
    for name in frame.index:
        each, row = brute_force(name), frame.loc[name]
        for column in each.columns.drop("constant"):
            assert row[column] == pytest.approx(each[column].mean(), abs=1e-12)
        assert row["constant_difference"] == pytest.approx(each["constant"].mean(), abs=1e-12)
        if each["difference"].std() > 1e-9:
            test = stats.ttest_1samp(each["difference"], 0)
            assert (row["low"], row["high"]) == pytest.approx(tuple(test.confidence_interval()))
            assert row["p"] == pytest.approx(test.pvalue)
        p[name] = row["p"]
    assert frame["p_holm"].tolist() == pytest.approx(holm(np.array(list(p.values()))).tolist())
    assert set(frame["tests"]) == {len(p)}
    assert set(frame["basis"]) == {"fresh test rows"}


@pytest.mark.parametrize("test", ["network", "original"])
def test_limiting_cases_have_their_verdicts(test):
    frame = baseline_distance_frame(run_of(CELLS, test)).set_index("intervention")
    words = frame[["verdict", "constant_verdict", "region"]].apply(tuple, axis=1)
    assert words["copy"][0] == "not distinguishable"
    assert words["copy"][2] == OPEN
    # The constant itself is the end of the line, and nobody is refused where all are accepted.
    assert words["refuser"][:2] == ("not distinguishable", "not distinguishable")
    assert frame.loc["refuser", ["share", "gap", "difference"]].tolist() == [1, 0, 0]
    assert (frame.loc["refuser", "refuses_all"], frame.loc["refuser", "accepts_all"]) == (REPEATS, 0)
    assert words["accepter"][:2] == ("below", "below")
    assert frame.loc["accepter", "accepts_all"] == REPEATS
    assert words["fairer"][:2] == ("above", "above")
    assert words["unfairer"][:2] == ("below", "below")
    if test == "network":  # what counts alone allow is less
        assert (words["fairer"][2], words["unfairer"][2]) == ("win-win", "lose-lose")
    assert words["coin"][:2] == ("below", "below")
    if test == "original":
        assert set(frame["basis"]) == {"bound from counts"}


def test_what_is_below_is_said_in_words_with_its_numbers():
    run = run_of(CELLS)
    shortfalls = find_shortfalls(run)
    techniques = run.results.rows["intervention"][list(shortfalls)].tolist()
    assert techniques == ["accepter", "coin", "unfairer"]
    assert set(run.results.rows["metric"][list(shortfalls)]) == {"discrimination"}
    for name, below in zip(techniques, shortfalls.values(), strict=True):
        points = -100 * brute_force(name)["constant"].mean()
        clauses = [describe_shortfall(shortfall) for shortfall in below]
        assert clauses == [f"refusing everybody is {points:.1f} points more accurate and has no gap"]


def test_regions_are_those_that_the_verdicts_leave():
    for name, found in REGIONS.items():
        assert classify_region(*found) == name
    assert classify_region("no difference", "no difference", "not distinguishable") == OPEN
    assert classify_region("", "", "") == OPEN
    # Where refusing all is better than the model, the line rises, and more accuracy can be below it.
    assert classify_region("better", "better", "below") == "win-win"


def test_what_is_on_the_line_is_rarely_above_or_below():
    """The plain model with half of its predictions replaced: p is below 5 % in no more than 5 % of runs."""
    runs, repeats = 2000, 5
    rng = np.random.default_rng(17)
    chances = 0.1 + 0.5 * np.array([[0, 1], [0, 1]]) + 0.25 * np.array([[0, 0], [1, 1]])  # group, label
    rows = rng.multinomial(ROWS, [0.35, 0.15, 0.3, 0.2], (runs, repeats)).reshape(runs, repeats, 2, 2)
    plain = rng.binomial(rows, chances)
    half = rng.binomial(plain, 0.5)
    own, none = (
        Counts(PAIR, np.stack([rows - accepted, accepted], axis=-1).astype(float))
        for accepted in (half, plain)
    )
    p = paired_test(LineComparison(own, none, constant_accepts=False).excess).p
    assert (p < 0.05).sum() <= stats.binom.ppf(0.999, runs, 0.05)
    # A model as good as the plain one is not above the line either, though half of its gaps are smaller.
    runs, repeats = 500, 30
    rows = rng.multinomial(ROWS, [0.35, 0.15, 0.3, 0.2], (runs, repeats)).reshape(runs, repeats, 2, 2)
    own, none = (
        Counts(PAIR, np.stack([rows - accepted, accepted], axis=-1).astype(float))
        for accepted in rng.binomial(rows, chances, (2, *rows.shape))
    )
    p = paired_test(LineComparison(own, none, constant_accepts=False).excess).p
    assert (p < 0.05).sum() <= stats.binom.ppf(0.999, runs, 0.05)
