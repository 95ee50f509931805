"""Trees grown by the information gain of a split on the outcome and on the group."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import xlogy

from fairbench_cli.classifiers.encode import NUMBER, Encoder, fit_encoder, pick, with_numbers
from fairbench_cli.data.table import Column, Floats, Labels, Rows, Sample, Table
from fairbench_cli.measures.counts import divide

if TYPE_CHECKING:  # its package loads scikit-learn, which `fairbench list` can do without
    from fairbench_cli.classifiers.c45.columns import TreeRows
    from fairbench_cli.classifiers.c45.tree import FlatTree

SplitCriterion = Literal["IGC", "IGC-IGS", "IGC/IGS", "IGC+IGS"]

LEAF = -1  # in place of a column, as in `FlatTree`
LEAST = 1e-12  # what rounding leaves of a gain that is 0
# Bits of IGC that IGC/IGS asks for. Without it, splits that inform about neither outcome nor group win.
LEAST_OF_RATIO = 1e-3


def information_gains(counts: Floats) -> tuple[Floats, Floats]:
    """Return the information gain on the outcome (IGC) and on the group (IGS) of splits, in bits.

    Parameters
    ----------
    counts : float64 array, shape (..., branches, 2, 2)
        Weight of each branch's rows by group and outcome; empty branches count nothing.

    Returns
    -------
    igc, igs : float64 array, shape (...)
        At least 0.

    >>> pure = np.array([[[5.0, 0.0], [5.0, 0.0]], [[0.0, 5.0], [0.0, 5.0]]])
    >>> [float(gain) for gain in information_gains(pure)]
    [1.0, 0.0]
    """
    return _gain(counts.sum(axis=-2)), _gain(counts.sum(axis=-1))


def _gain(counts: Floats) -> Floats:
    """Return the gain from counts by branch and class, shape (..., branches, 2)."""
    mass = counts.sum(axis=-1)
    inside = np.nan_to_num(divide((_bits(counts) * mass).sum(axis=-1), mass.sum(axis=-1)))
    return np.asarray(np.maximum(_bits(counts.sum(axis=-2)) - inside, 0))


def _bits(counts: Floats) -> Floats:
    """Return the entropy of counts by class in bits, shape (...); 0 of none."""
    share = np.nan_to_num(divide(counts, counts.sum(axis=-1, keepdims=True)))
    return np.asarray(-xlogy(share, share).sum(axis=-1) / np.log(2))


def split_values(counts: Floats, criterion: SplitCriterion) -> Floats:
    """Return how good splits are, shape (...); NaN for the ratio of two gains of 0, infinite for IGS = 0.

    Parameters
    ----------
    counts : float64 array, shape (..., branches, 2, 2)
        See `information_gains`.
    criterion : {"IGC", "IGC-IGS", "IGC/IGS", "IGC+IGS"}
        Kamiran, Calders & Pechenizkiy (2010), section III.
    """
    igc, igs = information_gains(counts)
    if criterion == "IGC":
        return igc
    if criterion == "IGC-IGS":
        return igc - igs
    if criterion == "IGC+IGS":
        return igc + igs
    igc, igs = (np.where(gain > LEAST, gain, 0.0) for gain in (igc, igs))
    none = np.where(igc > 0, np.inf, np.nan)
    return np.divide(igc, igs, out=none, where=igs > 0)


def grow(
    train: Sample, criterion: SplitCriterion, min_leaf: float, *, include_protected: bool
) -> "GrownTree":
    """Return a tree grown by a criterion, not pruned.

    A nominal column splits into a branch per declared level, a number into two. A node is split as long as a
    split is worth more than 0 and has two branches that weigh `min_leaf`; of equal splits the first column's,
    and the lowest cut's, is taken.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    from fairbench_cli.classifiers.c45.tree import FlatTree

    encoder = fit_encoder(train, "levels", include_protected=include_protected)
    table = pick(train.features, encoder.columns)
    cell = train.s.astype(np.intp) * 2 + train.y
    weights = np.ones(len(train)) if train.weights is None else train.weights
    feature, threshold, kids, counts = [], [], [], []
    queue: list[Rows] = [np.flatnonzero(weights > 0)]
    for rows in queue:  # grows while it is gone through: the tree is in breadth-first order
        inside = np.bincount(cell[rows], weights[rows], 4).reshape(2, 2)
        best = _Split()
        if inside.sum() >= 2 * min_leaf and np.count_nonzero(inside) > 1:
            best = _best_split(table, rows, cell, weights, criterion, min_leaf)
        feature.append(best.feature)
        threshold.append(best.threshold)
        kids.append(best.kids)
        counts.append(inside.sum(axis=0))
        if best.feature == LEAF:
            continue
        code = table.codes[rows, best.feature]
        branch = code > best.cut if best.kids == 2 and best.cut >= 0 else code
        queue.extend(rows[branch == v] for v in range(best.kids))
    tree = FlatTree(np.array(feature), np.array(threshold), np.array(kids), np.array(counts))
    return GrownTree(encoder, tree)


@dataclass(frozen=True)
class _Split:
    """A split of a node, or none: its value, column and branches; of a number, the last code on the left."""

    value: float = 0.0
    feature: int = LEAF
    kids: int = 0
    cut: int = -1
    threshold: float = np.nan


def _best_split(
    table: Table, rows: Rows, cell: Rows, weights: Floats, criterion: SplitCriterion, min_leaf: float
) -> _Split:
    best = _Split()
    for j, column in enumerate(table.columns):
        levels = len(column.levels)
        place = table.codes[rows, j].astype(np.intp) * 4 + cell[rows]
        counts = np.bincount(place, weights[rows], levels * 4).reshape(levels, 2, 2)
        cuts = np.array([-1])
        if column.kind == "number":
            cuts = np.flatnonzero(counts.sum(axis=(1, 2)) > 0)[:-1]
            left = counts.cumsum(axis=0)[cuts]
            branches = np.stack([left, counts.sum(axis=0) - left], axis=1)
        else:
            branches = counts[np.newaxis]
        value = split_values(branches, criterion)
        allowed = (branches.sum(axis=(2, 3)) >= min_leaf).sum(axis=1) >= 2
        if criterion == "IGC/IGS":
            allowed &= information_gains(branches)[0] >= LEAST_OF_RATIO
        value = np.where(allowed & (value > LEAST), value, 0.0)
        at = int(value.argmax()) if len(value) else -1
        if at >= 0 and value[at] > best.value + LEAST:
            cut = int(cuts[at])
            threshold = column.values[cut] if cut >= 0 else np.nan
            best = _Split(float(value[at]), j, branches.shape[1], cut, threshold)
    return best


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree grown by `grow`.

    Parameters
    ----------
    encoder : Encoder
        The features it was trained on.
    tree : FlatTree
        The tree; ties go to the unfavourable outcome.
    """

    encoder: Encoder
    tree: "FlatTree"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.encoder.columns

    def leaf_of(self, sample: Sample) -> Rows:
        """Return the node in which each row ends, shape (rows,).

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        from fairbench_cli.classifiers.c45.tree import leaf_of

        return leaf_of(self.tree, self._rows(sample))

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for the favourable one; raises as `leaf_of`."""
        from fairbench_cli.classifiers.c45.tree import first_best, predict_probabilities

        both = predict_probabilities(self.tree, self._rows(sample), laplace=False)
        return first_best(both).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each leaf's share of favourable outcomes, shape (rows,); raises as `leaf_of`."""
        from fairbench_cli.classifiers.c45.tree import predict_probabilities

        return predict_probabilities(self.tree, self._rows(sample), laplace=False)[:, 1]

    def _rows(self, sample: Sample) -> "TreeRows":
        from fairbench_cli.classifiers.c45.columns import TreeRows

        table, levels = pick(sample.features, self.encoder.columns), self.encoder.level_counts
        numbers = with_numbers(table) if NUMBER in levels else None
        return TreeRows(levels, table.codes.astype(np.int32), numbers)
