"""Every measure of counts against the same thing added up row by row, and against scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score

from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.measures.registry import COUNT_METRICS, measure

GROUPS = ("deprived", "favoured")
G, F = 0, 1

some_rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.integers(1, 5)),
    min_size=1,
    max_size=40,
)


def counted(rows):
    s, y, predicted, weights = np.array(rows).T
    return count(s, y, predicted, GROUPS, weights)


def over(above, below):
    if below:
        return Fraction(above) / below if isinstance(below, int) else above / below
    return math.inf if above and not math.isnan(above) else math.nan


def by_hand(rows):
    """All measures but the tests, of predictions, from rows (s, y, ŷ, weight)."""

    def weigh(event):
        return sum(row[3] for row in rows if event(*row[:3]))

    def p(event, given=lambda _s, _y, _p: True):
        return over(weigh(lambda *row: event(*row) and given(*row)), weigh(given))

    def plus(_s, _y, predicted):
        return predicted == 1

    def in_group(group, given=lambda _s, _y, _p: True):
        return lambda s, y, predicted: s == group and given(s, y, predicted)

    rate_of = {
        "accuracy": lambda g: p(lambda _s, y, z: y == z, in_group(g)),
        "tpr": lambda g: p(plus, in_group(g, lambda _s, y, _z: y == 1)),
        "tnr": lambda g: p(lambda _s, _y, z: z == 0, in_group(g, lambda _s, y, _z: y == 0)),
        "fpr": lambda g: p(plus, in_group(g, lambda _s, y, _z: y == 0)),
        "fnr": lambda g: p(lambda _s, _y, z: z == 0, in_group(g, lambda _s, y, _z: y == 1)),
        "fdr": lambda g: p(lambda _s, y, _z: y == 0, in_group(g, plus)),
        "for": lambda g: p(lambda _s, y, _z: y == 1, in_group(g, lambda _s, _y, z: z == 0)),
        "ppv": lambda g: p(lambda _s, y, _z: y == 1, in_group(g, plus)),
        "npv": lambda g: p(lambda _s, y, _z: y == 0, in_group(g, lambda _s, _y, z: z == 0)),
    }
    rate_of["bcr"] = lambda g: (rate_of["tpr"](g) + rate_of["tnr"](g)) / 2
    rate_of["selection-rate"] = lambda g: p(plus, in_group(g))
    rate_of["base-rate"] = lambda g: p(lambda _s, y, _z: y == 1, in_group(g))
    rate_of["selected-share"] = lambda g: p(in_group(g), plus)
    rate_of["group-share"] = lambda g: p(in_group(g))
    found = {"selected-share": over(weigh(plus), weigh(plus)), "group-share": 1}
    for name, rate in rate_of.items():
        g, f = rate(G), rate(F)
        known = [rate for rate in (g, f) if not math.isnan(rate)]
        for kind in ("difference", "mean-difference", "farthest-difference"):
            found[f"{name}-{kind}"] = g - f
        for kind in ("ratio", "mean-ratio", "farthest-ratio"):
            found[f"{name}-{kind}"] = over(g, f)
        found[f"{name}-of-group"], found[f"{name}-of-reference"] = g, f
        found[f"{name}-spread"] = abs(g - f)
        found[f"{name}-worst-ratio"] = over(min(g, f), max(g, f)) if len(known) == 2 else math.nan
        found[f"{name}-mean-of-groups"] = sum(known) / len(known) if known else math.nan

    pi, g, f = p(plus), p(plus, in_group(G)), p(plus, in_group(F))
    alpha = p(in_group(F))
    d = f - g
    found |= {"selection-rate": pi, "base-rate": p(lambda _s, y, _z: y == 1)}
    # The most that |d| can be: accept whom it takes, one group before the other.
    first = alpha if d >= 0 else 1 - alpha
    most = over(min(pi, first), first) - over(max(pi - first, 0), 1 - first)
    found["normalised-discrimination"] = over(d, most)
    found |= {"elift": over(g, pi), "elift-as-printed": over(f, pi)}
    found |= {"discrimination": d, "impact-ratio": over(g, f)}
    odds = [weigh(lambda s, _y, z, c=cell: (s, z) == c) for cell in ((G, 1), (G, 0), (F, 1), (F, 0))]
    found["odds-ratio"] = over(odds[0] * odds[3], odds[1] * odds[2])
    cells = [(s, z) for s in (G, F) for z in (0, 1)]
    joint = {cell: p(lambda s, _y, z, c=cell: (s, z) == c) for cell in cells}
    expected = {(s, z): (alpha if s == F else 1 - alpha) * (pi if z else 1 - pi) for s, z in cells}
    information = sum(joint[c] * math.log2(joint[c] / expected[c]) for c in cells if joint[c])
    entropies = [-sum(q * math.log2(q) for q in (x, 1 - x) if q) for x in (pi, alpha)]
    found["mutual-information"] = over(information, math.sqrt(entropies[0] * entropies[1]))
    spread = math.sqrt(pi * (1 - pi) * alpha * (1 - alpha))
    found["phi"] = over(joint[F, 1] - alpha * pi, spread)
    found["eta-neutrality"] = max(abs(over(joint[c], expected[c]) - 1) for c in cells) if spread else math.nan
    pairs = [
        (weight * other, 1.0 if z > w else 0.5 if z == w else 0.0)
        for s, _, z, weight in rows
        for t, _, w, other in rows
        if (s, t) == (F, G)
    ]
    found["auc-between-groups"] = over(sum(n * won for n, won in pairs), sum(n for n, _ in pairs))
    usual = {g: int(weigh(lambda s, _y, w, g=g: s == g and w) * 2 > weigh(in_group(g))) for g in (G, F)}
    found["one-class-accuracy"] = p(lambda s, _y, z: usual[s] == z)
    found["balanced-residuals"] = d - (
        p(lambda _s, y, _z: y == 1, in_group(F)) - p(lambda _s, y, _z: y == 1, in_group(G))
    )

    tp, fp, fn, tn = (
        weigh(lambda _s, y, z, c=cell: (y, z) == c) for cell in ((1, 1), (0, 1), (1, 0), (0, 0))
    )
    right, base = over(tp + tn, tp + fp + fn + tn), p(lambda _s, y, _z: y == 1)
    chance = base * pi + (1 - base) * (1 - pi)
    found |= {"accuracy": right, "tpr": over(tp, tp + fn), "tnr": over(tn, tn + fp)}
    found["bcr"] = (found["tpr"] + found["tnr"]) / 2
    found["kappa"] = over(right - chance, 1 - chance)
    found |= {"ppv": over(tp, tp + fp), "fdr": over(fp, tp + fp), "npv": over(tn, tn + fn)}
    found |= {"for": over(fn, tn + fn), "fpr": over(fp, fp + tn), "fnr": over(fn, fn + tp)}
    found["f1"] = over(2 * tp, 2 * tp + fp + fn)
    found["mcc"] = over(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))
    return found


@law(60)
@given(some_rows)
def test_every_measure_is_what_rows_add_up_to(rows):
    counts = counted(rows)
    of_predictions = by_hand(rows)
    of_labels = by_hand([(s, y, y, weight) for s, y, _, weight in rows])
    compared = set()
    for name, entry in COUNT_METRICS.items():
        if entry.is_test or entry.alias_of:  # tests against scipy, aliases against their definitions
            continue
        base = name.removesuffix("-of-labels").removesuffix("-weighted")  # of two groups: one other
        expected = (of_labels if name.endswith("-of-labels") else of_predictions)[base]
        assert measure(name, counts) == pytest.approx(float(expected), nan_ok=True, abs=1e-9), name
        compared.add(base)
    assert compared == of_predictions.keys()


@given(some_rows)
def test_accuracies_are_those_of_scikit_learn(rows):
    s, y, predicted, weights = np.array(rows).T
    counts = count(s, y, predicted, GROUPS, weights)
    for name, theirs in (
        ("precision", precision_score(y, predicted, sample_weight=weights, zero_division=np.nan)),
        ("f1", f1_score(y, predicted, sample_weight=weights, zero_division=np.nan)),
    ):
        assert measure(name, counts) == pytest.approx(theirs, nan_ok=True, abs=1e-12)
    if 0 < y.mean() < 1 and 0 < predicted.mean() < 1:
        theirs = matthews_corrcoef(y, predicted, sample_weight=weights)
        assert measure("mcc", counts) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.gate
@given(some_rows, some_rows)
def test_measures_of_added_counts_are_those_of_all_rows(first, second):
    together, added = counted(first + second), counted(first) + counted(second)
    for name in COUNT_METRICS:
        np.testing.assert_array_equal(measure(name, together), measure(name, added))


@pytest.mark.gate
@given(some_rows, st.integers(2, 5))
def test_measures_but_tests_do_not_mind_the_unit_of_the_weights(rows, times):
    s, y, predicted, weights = np.array(rows).T
    one, many = (count(s, y, predicted, GROUPS, weights * k) for k in (1.0, float(times)))
    for name, entry in COUNT_METRICS.items():
        if not entry.is_test:
            assert measure(name, many) == pytest.approx(measure(name, one), nan_ok=True, abs=1e-9), name


def test_published_means_hang_together_as_the_formulas_say():
    """Friedler et al.'s CV and DI of one table: P(+|ḡ) = .4, P(+|g) = .3."""
    counts = Counts(GROUPS, np.array([[[70.0, 0], [0, 30]], [[60, 0], [0, 40]]]))
    assert measure("cv", counts) == pytest.approx(0.9)
    assert measure("impact-ratio", counts) == pytest.approx(0.75)
