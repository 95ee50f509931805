import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbench_cli.measures.counts import Counts, count, divide

GROUPS = ("deprived", "favoured")
rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.integers(0, 9)), max_size=40
)


def counted(some):
    s, y, predicted, weights = np.array(some, dtype=int).reshape(-1, 4).T
    return count(s, y, predicted, GROUPS, weights)


def test_counts_every_kind_of_row():
    s, y, predicted = (a.ravel() for a in np.meshgrid([0, 1, 2], [0, 1], [0, 1], indexing="ij"))
    counts = count(s, y, predicted, ("a", "b", "c"), np.arange(12))
    assert counts.n.dtype == np.float64
    assert counts.n.tolist() == np.arange(12.0).reshape(3, 2, 2).tolist()


def test_int8_input_does_not_overflow():
    groups = tuple(map(str, range(100)))
    s = np.arange(100, dtype=np.int8)
    assert (count(s, s % 2, s % 2, groups).group_total == 1).all()


@given(rows, rows)
def test_counts_of_a_concatenation_are_the_sum(first, second):
    assert (counted(first + second).n == (counted(first) + counted(second)).n).all()


@given(rows)
def test_weight_is_repetition(some):
    repeated = [(s, y, p, 1) for s, y, p, weight in some for _ in range(weight)]
    assert (counted(some).n == counted(repeated).n).all()


@given(arrays(np.float64, (3, 2, 2, 2), elements=st.integers(0, 50)))
def test_margins(n):
    counts = Counts(GROUPS, n)
    assert (counts.total == n.sum((1, 2, 3))).all()
    assert (counts.labelled.sum(-1) == counts.group_total).all()
    assert (counts.predicted.sum(-1) == counts.group_total).all()
    assert (counts.overall == n[:, 0] + n[:, 1]).all()
    labels = counts.of_labels()
    assert (labels.labelled == counts.labelled).all()
    assert (labels.predicted == counts.labelled).all()


def test_only_picks_groups_in_the_order_given():
    counts = Counts(("a", "b", "c"), np.arange(12.0).reshape(3, 2, 2))
    assert counts.only("c", "a").groups == ("c", "a")
    assert counts.only("c", "a").n[:, 0, 0].tolist() == [8, 0]
    with pytest.raises(ValueError, match="not in"):
        counts.only("d")


@pytest.mark.parametrize(
    ("s", "y", "predicted"),
    [([0, 1], [0], [0, 1]), ([2], [0], [0]), ([-1], [0], [0]), ([0], [2], [0]), ([0], [0], [-1])],
)
def test_rejects_bad_rows(s, y, predicted):
    with pytest.raises(ValueError, match=r"length|out of bounds|invalid entry"):
        count(s, y, predicted, GROUPS)


def test_rejects_bad_shapes_and_other_groups():
    with pytest.raises(ValueError, match="cannot have shape"):
        Counts(GROUPS, np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="cannot be added"):
        Counts(GROUPS, np.zeros((2, 2, 2))) + Counts(("a", "b"), np.zeros((2, 2, 2)))


def test_divide_never_warns():
    assert np.isnan(divide(0, 0))
    assert divide(1, 0) == np.inf
    assert np.isnan(divide(np.nan, 1))


def test_cells_lie_together_in_memory_and_mean_what_they_meant():
    n = np.arange(5 * 3 * 8.0).reshape(5, 3, 2, 2, 2)
    counts = Counts(GROUPS, n)
    assert (counts.n == n).all()
    assert counts.n[..., 1, 0, 1].flags.c_contiguous
    assert Counts(GROUPS, counts.n).n.base is not None
    assert np.shares_memory(Counts(GROUPS, counts.n).n, counts.n)  # in order already: nothing is copied


def test_margins_are_computed_once_and_cannot_be_written_to():
    counts = Counts(GROUPS, np.ones((3, 2, 2, 2)))
    for name in ("total", "overall", "group_total", "labelled", "predicted"):
        margin = getattr(counts, name)
        assert getattr(counts, name) is margin
        with pytest.raises(ValueError, match="read-only"):
            margin[...] = 0
    assert counts.of_labels() is counts.of_labels()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0.0, np.nan]}, "a label is missing"),
        ({"predicted": [np.nan, 1.0]}, "a prediction is missing"),
        ({"s": [np.nan, 1.0]}, "a group is missing"),
        ({"y": [None, 1]}, "a label is missing"),
        ({"y": [0.5, 1.0]}, "a label is missing or is not a whole number"),
        ({"predicted": [np.inf, 1.0]}, "a prediction is missing"),
        ({"weights": [1.0, np.nan]}, "a weight"),
        ({"weights": [1.0, -1.0]}, "a weight"),
        ({"weights": [1.0, np.inf]}, "a weight"),
    ],
)
def test_what_is_missing_is_refused(change, message):
    parts = {"s": [0, 1], "y": [0, 1], "predicted": [1, 1], "weights": None} | change
    with pytest.raises(ValueError, match=message):
        count(parts["s"], parts["y"], parts["predicted"], GROUPS, parts["weights"])


def test_whole_floats_and_truths_are_counted():
    expected = count([0, 1], [0, 1], [1, 1], GROUPS).n
    assert (count([0.0, 1.0], [0.0, 1.0], [1.0, 1.0], GROUPS).n == expected).all()
    assert (count([0, 1], [False, True], [True, True], GROUPS).n == expected).all()
