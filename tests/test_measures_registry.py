import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, recall_score

from fairbench_cli.measures.counts import Counts, count, divide, stack
from fairbench_cli.measures.registry import MEASURES, measure

GROUPS = ("deprived", "favoured")
cells = arrays(np.float64, (2, 2, 2), elements=st.integers(0, 30))
TWO_GROUP = {
    "discrimination",
    "normalised-discrimination",
    "impact-ratio",
    "likelihood-ratio",
    "elift",
    "elift-as-printed",
    "odds-ratio",
    "mutual-information",
    "phi",
    "auc-between-groups",
    "overestimation",
    "underestimation",
}


def of_labels(n00, n01, n10, n11):
    """Counts of labels alone, by group and label."""
    return Counts(GROUPS, np.array([[[n00, 0], [0, n01]], [[n10, 0], [0, n11]]], dtype=np.float64))


@pytest.mark.parametrize(
    ("counts", "d", "delta", "ratio"),
    [
        (of_labels(40, 0, 0, 10), 1, 1, 0),
        (of_labels(40, 0, 5, 5), 0.5, 1, 0),
        (of_labels(30, 10, 0, 10), 0.75, 1, 0.25),
        (of_labels(20, 20, 5, 5), 0, 0, 1),
        (of_labels(0, 40, 10, 0), -1, -1, math.inf),
        (of_labels(30, 10, 10, 0), -0.25, -1, math.inf),
    ],
)
def test_limits_of_maximum_no_and_reverse_discrimination(counts, d, delta, ratio):
    assert measure("discrimination", counts) == pytest.approx(d)
    assert measure("normalised-discrimination", counts) == pytest.approx(delta)
    assert measure("impact-ratio", counts) == ratio


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # maximum, no and reverse discrimination (the survey's Table 4)
        (of_labels(10, 0, 0, 10), {"mutual-information": 1, "phi": 1, "elift": 0, "odds-ratio": 0, "auc": 1}),
        (of_labels(6, 4, 6, 4), {"mutual-information": 0, "phi": 0, "elift": 1, "odds-ratio": 1, "auc": 0.5}),
        (
            of_labels(0, 10, 10, 0),
            {"mutual-information": 1, "phi": -1, "elift": 2, "odds-ratio": math.inf, "auc": 0},
        ),
    ],
)
def test_limits_of_the_associations(counts, expected):
    for name, value in expected.items():
        found = measure({"auc": "auc-between-groups"}.get(name, name), counts)
        assert found == pytest.approx(value, abs=1e-12)


@settings(deadline=None, max_examples=200)
@given(cells)
def test_associations_are_those_of_others(n):
    """scikit-learn has mutual information, phi (as MCC) and AUC; scipy has the odds ratio."""
    from scipy.stats.contingency import odds_ratio
    from sklearn.metrics import matthews_corrcoef, mutual_info_score, roc_auc_score

    counts = Counts(GROUPS, n)
    table = counts.predicted
    assume((table.sum(0) > 0).all() and (table.sum(1) > 0).all())
    whole = table.astype(int)
    s = np.repeat([0, 0, 1, 1], whole.ravel())
    y = np.repeat([0, 1, 0, 1], whole.ravel())

    def entropy(part):
        shares = part / part.sum()
        return -(shares * np.log2(shares)).sum()

    information = mutual_info_score(s, y) / math.log(2)
    scale = math.sqrt(entropy(table.sum(0)) * entropy(table.sum(1)))
    assert measure("mutual-information", counts) == pytest.approx(information / scale, abs=1e-9)
    assert measure("phi", counts) == pytest.approx(matthews_corrcoef(s, y), abs=1e-9)
    assert measure("auc-between-groups", counts) == pytest.approx(roc_auc_score(s, y), abs=1e-9)
    assert measure("odds-ratio", counts) == pytest.approx(
        odds_ratio(whole[:, ::-1], kind="sample").statistic, nan_ok=True
    )
    ratio = measure("impact-ratio", counts)
    if 0 < ratio < math.inf:
        assert measure("likelihood-ratio", counts) == pytest.approx(1 / ratio)
        assert measure("elift", counts) / measure("elift-as-printed", counts) == pytest.approx(ratio)


def test_limits_of_the_error_rates():
    worst = Counts(GROUPS, np.array([[[5.0, 0], [7, 0]], [[0, 3], [0, 2]]]))
    assert measure("overestimation", worst) == 1
    assert measure("underestimation", worst) == 1
    swapped = Counts(GROUPS, worst.n[::-1])
    assert measure("overestimation", swapped) == -1
    assert measure("underestimation", swapped) == -1
    right = of_labels(1, 2, 3, 4)
    assert measure("overestimation", right) == measure("underestimation", right) == 0


@pytest.mark.parametrize(
    ("labels", "d", "delta", "pi", "alpha"),
    [
        ((13026, 1669, 20988, 9539), 0.198901, 0.541744, 0.247844, 0.675048),
        ((14423, 1769, 22732, 9918), 0.194516, 0.543419, 0.239282, 0.668482),
        ((8670, 1112, 13984, 6396), 0.200159, 0.543319, 0.248922, 0.675685),
        ((4356, 557, 7004, 3143), 0.196374, 0.538543, 0.245684, 0.673772),
        ((1661, 1514, 822, 1281), 0.132279, 0.169145, 0.529557, 0.398446),
        ((20370, 9903, 11287, 18860), 0.298478, 0.312840, 0.476051, 0.498957),
    ],
    ids=["adult", "adult-with-missing", "adult-train", "adult-test", "compas", "dutch"],
)
def test_labels_of_the_real_data_sets(labels, d, delta, pi, alpha):
    counts = of_labels(*labels)
    assert measure("discrimination", counts) == pytest.approx(d, abs=5e-7)
    assert measure("normalised-discrimination", counts) == pytest.approx(delta, abs=5e-7)
    assert measure("acceptance-rate", counts) == pytest.approx(pi, abs=5e-7)
    assert counts.group_total[1] / counts.total == pytest.approx(alpha, abs=5e-7)
    # The formula as printed.
    assert delta == pytest.approx(d / min(pi / alpha, (1 - pi) / (1 - alpha)), abs=1e-5)
    assert measure("accuracy", counts) == measure("kappa", counts) == 1


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    s, y, predicted = (rng.integers(0, 2, 50) for _ in range(3))
    weights = rng.random(50)
    assume(0 < y.sum() < 50)
    counts = count(s, y, predicted, GROUPS, weights)
    for name, theirs in (
        ("accuracy", accuracy_score(y, predicted, sample_weight=weights)),
        ("tpr", recall_score(y, predicted, sample_weight=weights)),
        ("tnr", recall_score(y, predicted, pos_label=0, sample_weight=weights)),
        ("bcr", balanced_accuracy_score(y, predicted, sample_weight=weights)),
        ("kappa", cohen_kappa_score(y, predicted, sample_weight=weights)),
    ):
        assert measure(name, counts) == pytest.approx(theirs, abs=1e-12)


@settings(deadline=None)
@given(cells)
def test_kappa_is_normalised_accuracy(n):
    counts = Counts(GROUPS, n)
    assume(n.sum() > 0)
    pi, pi0 = measure("acceptance-rate", counts), measure("acceptance-rate", counts.of_labels())
    r = pi0 * pi + (1 - pi0) * (1 - pi)
    assume(r < 1 - 1e-9)
    assert measure("kappa", counts) == pytest.approx((measure("accuracy", counts) - r) / (1 - r), abs=1e-9)


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None)
@given(n=cells)
def test_stays_in_its_range(name, n):
    value = measure(name, Counts(GROUPS, n))
    entry = MEASURES[name]
    assert np.isnan(value) or entry.low - 1e-12 <= value <= entry.high + 1e-12


# What swapping the groups does to the measures that it does not negate.
SWAPPED = {
    "impact-ratio": lambda n: measure("likelihood-ratio", n),
    "likelihood-ratio": lambda n: measure("impact-ratio", n),
    "elift": lambda n: measure("elift-as-printed", n),
    "elift-as-printed": lambda n: measure("elift", n),
    "odds-ratio": lambda n: divide(1.0, measure("odds-ratio", n)),
    "mutual-information": lambda n: measure("mutual-information", n),
    "auc-between-groups": lambda n: 1.0 - measure("auc-between-groups", n),
}


@pytest.mark.parametrize("name", SWAPPED)
@settings(deadline=None)
@given(n=cells)
def test_swapping_the_groups_turns_the_others_round(name, n):
    swapped = measure(name, Counts(GROUPS, n[::-1]))
    assert swapped == pytest.approx(SWAPPED[name](Counts(GROUPS, n)), nan_ok=True, abs=1e-12)


@pytest.mark.parametrize("name", sorted(TWO_GROUP - SWAPPED.keys()))
@settings(deadline=None)
@given(n=cells)
def test_swapping_the_groups_negates(name, n):
    value, swapped = measure(name, Counts(GROUPS, n)), measure(name, Counts(GROUPS, n[::-1]))
    assert value == pytest.approx(-swapped, nan_ok=True, abs=1e-12)


@pytest.mark.parametrize("name", sorted(MEASURES.keys() - TWO_GROUP))
@settings(deadline=None)
@given(n=cells)
def test_swapping_the_groups_leaves_accuracy(name, n):
    value, swapped = measure(name, Counts(GROUPS, n)), measure(name, Counts(GROUPS, n[::-1]))
    assert value == pytest.approx(swapped, nan_ok=True, abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None)
@given(many=arrays(np.float64, (2, 3, 2, 2, 2), elements=st.integers(0, 9)))
def test_leading_axes_are_a_loop(name, many):
    loop = [[measure(name, Counts(GROUPS, n)) for n in row] for row in many]
    together = measure(name, Counts(GROUPS, many))
    assert together.shape == (2, 3)
    assert together.dtype == np.float64
    np.testing.assert_array_equal(together, loop)


@pytest.mark.parametrize("name", MEASURES)
def test_no_rows_give_nan_without_a_warning(name):
    assert np.isnan(measure(name, Counts(GROUPS, np.zeros((2, 2, 2)))))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("tpr", [[[1, 1], [0, 0]], [[1, 1], [0, 0]]]),
        ("tnr", [[[0, 0], [1, 1]], [[0, 0], [1, 1]]]),
        ("bcr", [[[0, 0], [1, 1]], [[0, 0], [1, 1]]]),
        ("kappa", [[[2, 0], [0, 0]], [[3, 0], [0, 0]]]),
        ("discrimination", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("normalised-discrimination", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("normalised-discrimination", [[[0, 2], [0, 1]], [[0, 3], [0, 1]]]),
        ("impact-ratio", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("impact-ratio", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("overestimation", [[[0, 0], [1, 1]], [[1, 1], [1, 1]]]),
        ("underestimation", [[[1, 1], [0, 0]], [[1, 1], [1, 1]]]),
    ],
)
def test_zero_denominator_gives_nan_without_a_warning(name, n):
    assert np.isnan(measure(name, Counts(GROUPS, np.array(n, dtype=np.float64))))


@pytest.mark.parametrize("name", sorted(TWO_GROUP))
def test_needs_exactly_two_groups(name):
    with pytest.raises(ValueError, match="needs two groups"):
        measure(name, Counts(("a", "b", "c"), np.ones((3, 2, 2))))


@pytest.mark.parametrize("name", sorted(MEASURES.keys() - TWO_GROUP))
def test_accuracy_takes_any_number_of_groups(name):
    two, three = np.ones((2, 2, 2)), np.ones((3, 2, 2))
    assert measure(name, Counts(GROUPS, two)) == measure(name, Counts(("a", "b", "c"), three))


def test_entries_are_complete():
    for name, entry in MEASURES.items():
        assert name == entry.name
        assert entry.low < entry.high
        assert entry.formula
        assert entry.source
        assert entry.zero_denominator.startswith("NaN when")
    assert MEASURES["accuracy"].direction == "higher"
    assert MEASURES["discrimination"].direction == "nearer"
    assert MEASURES["acceptance-rate"].direction == "none"


def test_unknown_measure():
    with pytest.raises(KeyError):
        measure("fairness", stack([of_labels(1, 1, 1, 1)]))
