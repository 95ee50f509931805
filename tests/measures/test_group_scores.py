"""Sums of scores by group: what they give, and that those of a union of groups are those of its rows."""

from dataclasses import replace

import numpy as np
import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from fairbench_cli.experiment.journal.packed_scores import pack_scores, unpack_scores
from fairbench_cli.measures import group_scores, scores
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.group_scores import BINS, GroupScores, sum_scores
from fairbench_cli.measures.registry import SCORE_METRICS, find_metric, measure
from fairbench_cli.measures.rows import Rows

GROUPS = ("a", "b", "c", "d")
ARRAYS = ("rows", "wins", "errors", "bins")


def table(seed, n=400, distinct=0, groups=4):
    """Rows with scores that say something of the labels; of few distinct scores where that is asked for."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    y = rng.integers(0, 2, n)
    score = np.clip(rng.beta(2, 3, n) + 0.15 * y, 0, 1)
    if distinct:
        score = np.round(score * distinct) / distinct
    return group, y, score


def summed(seed, **options):
    return sum_scores(*table(seed, **options), GROUPS)


tables = st.builds(
    table, st.integers(0, 10**6), n=st.integers(1, 60), distinct=st.sampled_from([0, 1, 4, 30])
)


@pytest.mark.gate
@for_each("seed", range(20))
@pytest.mark.parametrize("distinct", [0, 3, 40])
def test_each_group_has_the_values_of_scikit_learn(seed, distinct):
    group, y, score = table(seed, distinct=distinct)
    sums = sum_scores(group, y, score, GROUPS)
    for g in range(len(GROUPS)):
        rows = group == g
        for compute, theirs in (
            (group_scores.compute_auc, roc_auc_score),
            (group_scores.compute_brier, brier_score_loss),
            (group_scores.compute_log_loss, log_loss),
        ):
            assert compute(sums)[g] == pytest.approx(theirs(y[rows], score[rows]), abs=1e-12)


@given(tables, arrays(np.bool_, (4, 3)))
def test_sums_of_a_union_of_groups_are_those_of_its_rows(rows, members):
    group, y, score = rows
    merged = sum_scores(group, y, score, GROUPS).merge(members, ("x", "y", "z"))
    for union in range(3):
        inside = members[group, union]
        alone = sum_scores(np.zeros(inside.sum(), dtype=int), y[inside], score[inside], ("x",))
        index = np.arange(3) == union
        again = merged.merge(index[:, None], ("x",))
        for name in ARRAYS:
            np.testing.assert_allclose(getattr(again, name), getattr(alone, name), rtol=1e-12, atol=1e-12)
        assert again.wins.tolist() == alone.wins.tolist()  # whole and half numbers: exactly


@given(tables)
def test_the_auc_of_reversed_scores_and_of_reversed_labels_is_the_complement(rows):
    group, y, score = rows
    auc = group_scores.compute_auc(sum_scores(group, y, score, GROUPS))
    for other in (sum_scores(group, y, 1 - score, GROUPS), sum_scores(group, 1 - y, score, GROUPS)):
        np.testing.assert_allclose(group_scores.compute_auc(other), 1 - auc, atol=1e-12)


@given(tables)
def test_an_auc_minds_the_order_of_scores_alone(rows):
    group, y, score = rows
    wins = sum_scores(group, y, score, GROUPS).wins
    assert sum_scores(group, y, np.exp(5 * score) - 30, GROUPS).wins.tolist() == wins.tolist()


def test_more_scores_than_are_counted_at_a_time(monkeypatch):
    whole = summed(3, n=500)
    monkeypatch.setattr(group_scores, "CELLS_AT_ONCE", 9)
    for name in ARRAYS:
        assert getattr(summed(3, n=500), name).tolist() == getattr(whole, name).tolist()


def test_an_audit_and_a_run_have_the_same_auc_and_brier_score():
    group, y, score = table(5, distinct=50)
    order = np.lexsort((y, group, score))
    ones = np.ones(len(y))
    cells = scores.ScoreCells(score[order], group[order], y[order], ones, ones)
    rows = np.bincount(2 * group + y, minlength=8).reshape(4, 2).astype(float)
    totals = scores.ScoreTotals(rows, rows, rows)
    audited = scores.add_cells(scores.empty_sums(4), cells, totals, np.arange(4))
    sums = sum_scores(group, y, score, GROUPS)
    np.testing.assert_allclose(scores.auc(audited, totals)[0], group_scores.compute_auc(sums), atol=1e-14)
    np.testing.assert_allclose(
        scores.brier_score(audited, totals)[0], group_scores.compute_brier(sums), atol=1e-14
    )


def test_the_calibration_gap_by_hand():
    # Scores .2 and .25 share a range with one label 1 of two; .9 and 1 each with label 1.
    sums = sum_scores([0, 0, 0, 0], [1, 0, 1, 1], [0.2, 0.25, 0.95, 1.0], ("a",))
    assert measure("calibration-gap", sums) == pytest.approx((abs(0.45 - 1) + abs(1.95 - 2)) / 4)
    assert measure("mean-residual", sums) == pytest.approx((0.45 + 1.95) / 4 - 3 / 4)
    assert sums.bins[0, :, 0].tolist() == [0, 0, 2, 0, 0, 0, 0, 0, 0, 2]


@given(tables)
def test_the_calibration_gap_is_no_less_than_the_mean_residual(rows):
    sums = sum_scores(*rows, GROUPS)
    gap = group_scores.compute_calibration_gap(sums)
    residual = group_scores.compute_mean_residual(sums)
    assert (np.isnan(gap) | (gap >= np.abs(residual) - 1e-12)).all()


def test_a_score_of_0_or_1_that_is_wrong_costs_what_scikit_learn_says():
    sums = sum_scores([0, 0], [1, 0], [0.0, 0.5], ("a",))
    assert measure("log-loss", sums) == pytest.approx(log_loss([1, 0], [0.0, 0.5]))


def test_weights_are_as_many_equal_rows():
    group, y, score = table(9, distinct=10)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = sum_scores(group, y, score, GROUPS, weights)
    repeated = sum_scores(*(np.repeat(column, weights) for column in (group, y, score)), GROUPS)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12)


def test_no_scores_and_scores_that_are_no_probabilities():
    group, y, score = table(1)
    none = sum_scores(group, y, None, GROUPS)
    margins = sum_scores(group, y, 4 * score - 2, GROUPS)
    for name in SCORE_METRICS:
        metric = find_metric(name)
        assert np.isnan(measure(metric, replace(none, reference=("a",)))), name
    assert measure("auc", margins) == pytest.approx(roc_auc_score(y, score))
    for name in ("brier", "log-loss", "calibration-gap", "mean-residual"):
        assert np.isnan(measure(name, margins))


def test_nobody_has_no_value_and_no_warning():
    empty = sum_scores([], [], [], GROUPS)
    for name in ("auc", "brier", "log-loss", "calibration-gap", "mean-residual", "auc-spread"):
        assert np.isnan(measure(name, empty))


@given(tables)
def test_comparisons_have_the_signs_of_those_of_rates_and_stay_in_range(rows):
    two = replace(sum_scores(*rows, GROUPS), reference=("b", "c"))
    for base in group_scores.SCORE_MEASURES:
        of_group, of_reference = (measure(f"{base}-{side}", two) for side in ("of-group", "of-reference"))
        difference = measure(f"{base}-difference", two)
        assert difference == pytest.approx(of_group - of_reference, nan_ok=True)
    for name, metric in SCORE_METRICS.items():
        value = measure(name, two)
        assert np.isnan(value) or metric.low - 1e-12 <= value <= metric.high + 1e-12, name


def test_leading_axes_are_a_loop():
    three = [replace(summed(seed), reference=("a",)) for seed in range(3)]
    arrays_of_all = [np.stack([getattr(sums, name) for sums in three]) for name in ARRAYS]
    stacked = GroupScores(GROUPS, *arrays_of_all, ("a",))
    for name in SCORE_METRICS:
        loop = [measure(name, sums) for sums in three]
        np.testing.assert_allclose(measure(name, stacked), loop, rtol=1e-12, err_msg=name)


def test_rows_are_summed_and_counts_do_not_suffice():
    group, y, score = table(2, groups=2)
    assert measure("auc", Rows(group, y, y, score=score)) == pytest.approx(roc_auc_score(y, score))
    assert np.isnan(measure("auc-difference", Rows(group, y, y)))
    with pytest.raises(ValueError, match="auc needs scores, not counts"):
        measure("auc", Counts(("g", "f"), np.ones((2, 2, 2))))
    with pytest.raises(ValueError, match="accuracy is no measure of scores"):
        measure("accuracy", summed(0))
    with pytest.raises(ValueError, match="needs two groups"):
        measure("auc-difference", summed(0))


def test_entries_are_complete():
    for name, metric in SCORE_METRICS.items():
        assert name == metric.name
        assert metric.needs == "score-sums"
        assert metric.low < metric.high
        assert metric.low <= metric.ideal <= metric.high
        assert metric.formula
        assert metric.undefined.startswith("NaN when the model gives no scores")
        assert not metric.needs_rows
    assert "mean-residual-ratio" not in SCORE_METRICS


@given(tables, st.sampled_from(["probabilities", "margins", "none"]))
def test_a_journal_gives_back_what_it_was_given(rows, kind):
    group, y, score = rows
    scores_of_kind = {"probabilities": score, "margins": 3 * score - 5, "none": None}[kind]
    sums = sum_scores(group, y, scores_of_kind, GROUPS)
    again = unpack_scores(pack_scores(sums), 4)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(sums, name))


def test_other_texts_are_no_sums():
    text = pack_scores(summed(0))
    for wrong, groups in ((text, 3), (text, 5), (text[:-8], 4), ("", 4), ("§", 4), ("eJw=", 4)):
        with pytest.raises(ValueError, match="no sums of scores"):
            unpack_scores(wrong, groups)
    with pytest.raises(ValueError, match="cannot have shape"):
        GroupScores(GROUPS, *(np.zeros((3, 2)) for _ in range(3)), np.zeros((4, BINS, 3)))
