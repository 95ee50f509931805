import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import law, scaled
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from measures.swaps import MIRRORS, SWAPS
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, recall_score

from fairbench_cli.measures.counts import Counts, count, divide
from fairbench_cli.measures.metric import OF_LABELS
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import COUNT_METRICS, DEFAULT_METRICS, ROW_METRICS, find_metric, measure
from fairbench_cli.measures.rows import Rows

GROUPS = ("deprived", "favoured")
cells = arrays(np.float64, (2, 2, 2), elements=st.integers(0, 30))
ANY_NUMBER = [name for name, metric in COUNT_METRICS.items() if metric.groups == "any"]
COMPARED = [name for name, metric in COUNT_METRICS.items() if metric.groups != "any"]


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


@law(80)
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


@given(cells)
def test_kappa_is_normalised_accuracy(n):
    counts = Counts(GROUPS, n)
    assume(n.sum() > 0)
    pi, pi0 = measure("acceptance-rate", counts), measure("acceptance-rate", counts.of_labels())
    r = pi0 * pi + (1 - pi0) * (1 - pi)
    assume(r < 1 - 1e-9)
    assert measure("kappa", counts) == pytest.approx((measure("accuracy", counts) - r) / (1 - r), abs=1e-9)


@law(60)
@given(cells)
def test_every_measure_stays_in_its_range(n):
    for name, entry in COUNT_METRICS.items():
        value = measure(name, Counts(GROUPS, n))
        assert np.isnan(value) or entry.low - 1e-12 <= value <= entry.high + 1e-12, name


@given(cells)
def test_bounds_of_normalised_discrimination_and_auc(n):
    d, delta = (measure(name, Counts(GROUPS, n)) for name in ("discrimination", "normalised-discrimination"))
    assert measure("auc-between-groups", Counts(GROUPS, n)) == pytest.approx((d + 1) / 2, nan_ok=True)
    assert np.isnan(delta) or (abs(delta) >= abs(d) - 1e-12 and np.sign(delta) == np.sign(d))


@given(st.integers(1, 50), st.integers(1, 50), st.data())
def test_normalised_discrimination_attains_both_ends_at_any_acceptance_rate(deprived, favoured, data):
    accepted = data.draw(st.integers(1, deprived + favoured - 1))
    top = min(accepted, favoured)  # the favoured first
    most = of_labels(deprived - (accepted - top), accepted - top, favoured - top, top)
    top = min(accepted, deprived)  # the deprived first
    least = of_labels(deprived - top, top, favoured - (accepted - top), accepted - top)
    assert measure("normalised-discrimination", most) == pytest.approx(1)
    assert measure("normalised-discrimination", least) == pytest.approx(-1)


def number_of(n, name):
    return measure(name, Counts(GROUPS, n))


def changed(metric, swap, n):
    """The value that a metric has to have after a swap, of the counts before it."""
    value = number_of(n, swap.other or metric.name)
    if swap.change == "mirrored":
        return -value if math.isinf(metric.low) else metric.low + metric.high - value
    return divide(1.0, value) if swap.change == "inverted" else value


@pytest.mark.gate
@law(60)
@given(cells)
def test_swapping_groups_or_outcomes_does_to_each_metric_what_is_known_of_it(n):
    for name, metric in COUNT_METRICS.items():
        for swap, swapped in zip(SWAPS[name], (n[::-1], n[:, ::-1, ::-1]), strict=True):
            if swap:
                expected = changed(metric, swap, n)
                assert number_of(swapped, name) == pytest.approx(expected, nan_ok=True, abs=1e-9), name


def test_few_metrics_have_no_simple_answer_to_a_swap():
    def silent(swap):
        known = [name for name, m in COUNT_METRICS.items() if m.section != "legacy"]
        return {name.removesuffix(OF_LABELS) for name in known if SWAPS[name][swap] is None}

    assert silent(0) == {"mann-whitney-u"}
    mirrored = [name for name in RATES if name not in MIRRORS]  # they become one minus themselves
    for name in silent(1):
        composed = any(name.startswith(f"{rate}-") for rate in mirrored) or name.endswith("ratio")
        functions = ("elift", "elift-as-printed", "f1", "mann-whitney-u", "selected-share")
        base = name.removesuffix("-weighted")
        assert composed or find_metric(base).alias_of or base in functions, name


@given(cells)
def test_mann_whitneys_u_of_both_groups_makes_all_pairs(n):
    u, other = number_of(n, "mann-whitney-u"), number_of(n[::-1], "mann-whitney-u")
    pairs = n[0].sum() * n[1].sum()
    assert u + other == pytest.approx(pairs or math.nan, nan_ok=True)
    assert number_of(n[:, :, ::-1], "mann-whitney-u") == pytest.approx(other, nan_ok=True)


@pytest.mark.gate
@law(20)
@given(arrays(np.float64, (2, 3, 2, 2, 2), elements=st.integers(0, 9)))
def test_leading_axes_are_a_loop(many):
    counts = Counts(GROUPS, many)
    for name in COUNT_METRICS:
        loop = [[number_of(n, name) for n in row] for row in many]
        together = measure(name, counts)
        assert together.shape == (2, 3)
        assert together.dtype == np.float64
        np.testing.assert_array_equal(together, loop, err_msg=name)


def test_no_rows_give_nan_without_a_warning():
    for name in COUNT_METRICS:
        assert np.isnan(measure(name, Counts(GROUPS, np.zeros((2, 2, 2))))), name


def test_a_ratio_to_nothing_is_infinite():
    n = np.array([[[3.0, 1], [1, 3]], [[4.0, 0], [0, 4]]])  # the favoured are predicted without error
    for name in ("fpr-ratio", "fnr-ratio", "fdr-ratio", "for-ratio"):
        assert measure(name, Counts(GROUPS, n)) == math.inf
        assert measure(name, Counts(GROUPS, n[::-1])) == 0


def test_groups_of_one_class_each_differ_infinitely():
    apart = of_labels(5, 0, 0, 5)
    assert measure("difference-of-means-t", apart) == math.inf
    assert measure("difference-of-means-p", apart) == 0


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
        ("mcc", [[[2, 1], [0, 0]], [[3, 1], [0, 0]]]),
        ("mcc", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("precision", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("f1", [[[2, 0], [0, 0]], [[3, 0], [0, 0]]]),
        ("eta-neutrality", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("eta-neutrality", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("balanced-residuals", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("cv", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("equalised-odds", [[[1, 1], [1, 1]], [[1, 1], [0, 0]]]),
        ("equalised-odds", [[[1, 1], [1, 1]], [[0, 0], [1, 1]]]),
        ("fdr-difference", [[[1, 0], [1, 0]], [[1, 1], [1, 1]]]),
        ("for-ratio", [[[0, 1], [0, 1]], [[1, 1], [1, 1]]]),
        ("ppv-ratio", [[[1, 1], [1, 0]], [[1, 1], [1, 0]]]),
        ("accuracy-ratio", [[[0, 2], [2, 0]], [[0, 3], [1, 0]]]),
        ("difference-of-means-t", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("difference-of-means-t", [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]),
        ("difference-of-means-p", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("two-proportions-z", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("two-proportions-p", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("chi-squared", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("chi-squared-p", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
        ("mann-whitney-u", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]),
        ("mann-whitney-p", [[[2, 0], [1, 0]], [[3, 0], [1, 0]]]),
    ],
)
def test_undefined_gives_nan_without_a_warning(name, n):
    assert np.isnan(measure(name, Counts(GROUPS, np.array(n, dtype=np.float64))))


def test_comparisons_need_two_groups_or_a_reference():
    n = np.random.default_rng(5).integers(1, 20, (3, 2, 2)).astype(float)
    three = Counts(("a", "b", "c"), n)
    for name in COMPARED:
        with pytest.raises(ValueError, match="needs two groups"):
            measure(name, three)
        assert np.isfinite(measure(name, replace(three, reference=("c",)))), name
        with pytest.raises(ValueError, match="needs two groups"):
            measure(name, three.only("a"))


def test_metrics_of_any_number_of_groups_do_not_mind_their_order():
    n = np.random.default_rng(5).integers(1, 20, (3, 2, 2)).astype(float)
    for name in ANY_NUMBER:
        value = measure(name, Counts(("a", "b", "c"), n))
        assert np.isfinite(value), name
        assert value == pytest.approx(measure(name, Counts(("c", "a", "b"), n[[2, 0, 1]]))), name


def test_the_mean_of_three_groups_is_that_of_their_rates():
    n = np.random.default_rng(6).integers(1, 20, (3, 2, 2)).astype(float)
    three = Counts(("a", "b", "c"), n)
    each = [measure("bcr", three.only(group)) for group in three.groups]
    assert measure("bcr-mean-of-groups", three) == pytest.approx(np.mean(each))
    each = [measure("precision", three.only(group)) for group in three.groups]
    assert measure("calibration-positive", three) == pytest.approx(np.mean(each))


def test_one_group_only():
    one = Counts(("all",), np.array([[[3.0, 1], [2, 4]]]))
    for name in ANY_NUMBER:
        pairs = name.removesuffix(OF_LABELS).endswith(("-spread", "-worst-ratio", "chi-squared-p"))
        between = pairs or name.startswith(("demographic", "equal"))
        assert np.isnan(measure(name, one)) == between, name
    assert measure("eta-neutrality", one) == measure("chi-squared", one) == 0


def test_entries_are_complete():
    for name, entry in (COUNT_METRICS | ROW_METRICS).items():
        assert name == entry.name
        assert entry.low < entry.high
        assert entry.ideal is None or entry.low <= entry.ideal <= entry.high
        assert entry.formula
        assert entry.source
        assert entry.section
        assert entry.undefined.startswith("NaN when")
    assert {entry.needs for entry in ROW_METRICS.values()} == {"rows", "scores", "strata", "twins"}
    assert not COUNT_METRICS.keys() & ROW_METRICS.keys()
    assert COUNT_METRICS["accuracy"].direction == "higher"
    assert COUNT_METRICS["equalised-odds"].direction == "lower"
    assert COUNT_METRICS["discrimination"].direction == "nearer"
    assert COUNT_METRICS["acceptance-rate"].direction == "none"
    assert COUNT_METRICS["impact-ratio"].ratio
    assert not COUNT_METRICS["eta-neutrality"].ratio


def test_a_measure_of_both_has_a_twin_of_labels():
    n = np.random.default_rng(1).integers(1, 9, (2, 2, 2)).astype(float)
    counts = Counts(GROUPS, n)
    for name, entry in COUNT_METRICS.items():
        if entry.on == "both" and entry.section not in ("rate", "comparison"):
            twin = COUNT_METRICS[f"{name}-of-labels"]
            assert twin.on == "labels"
            assert "ŷ" not in twin.formula
            assert "prediction" not in twin.undefined
            assert measure(twin.name, counts) == measure(name, counts.of_labels())
            # It is of the labels alone: other predictions of the same rows change nothing.
            assert measure(twin.name, Counts(GROUPS, n[..., ::-1])) == measure(twin.name, counts)
        elif entry.on == "predictions":
            assert f"{name}-of-labels" not in COUNT_METRICS


def test_the_default_is_a_short_list_of_known_measures():
    assert len(set(DEFAULT_METRICS)) == 18
    assert set(DEFAULT_METRICS) <= COUNT_METRICS.keys()


def test_a_measure_of_counts_takes_rows_too():
    s, y, predicted = np.random.default_rng(0).integers(0, 2, (3, 40))
    rows = Rows(s, y, predicted)
    for name in COUNT_METRICS:
        assert measure(name, rows) == pytest.approx(
            measure(name, count(s, y, predicted, GROUPS)), nan_ok=True
        )
    with pytest.raises(ValueError, match="needs rows"):
        measure("slope-t", rows.counts())


def test_unknown_measure():
    with pytest.raises(KeyError):
        measure("fairness", of_labels(1, 1, 1, 1))


def test_mutual_information_of_one_class_or_group_is_nan_whatever_the_weights():
    rng = np.random.default_rng(0)
    for _ in range(scaled(200)):
        size = rng.integers(3, 12)
        s, weights = rng.integers(0, 2, size), rng.random(size).round(1) + 0.1
        one_class = count(s, np.ones(size), np.ones(size), GROUPS, weights)
        one_group = count(np.zeros(size), s, s, GROUPS, weights)
        for counts in (one_class, one_group):
            assert np.isnan(measure("mutual-information", counts))
        same = count(s, s, s, GROUPS, weights)
        if 0 < s.sum() < size:
            assert measure("mutual-information", same) == pytest.approx(1)
            assert measure("mutual-information", same) <= 1
