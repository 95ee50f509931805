"""Discrimination-aware trees: splits that look at the group, and leaves relabelled until groups are equal."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from fairbench_cli.classifiers.builders import C45Settings
from fairbench_cli.classifiers.encode import fit_encoder, pick, training_weights
from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Floats, Labels, Rows, Sample, Table
from fairbench_cli.interventions.cells import NotNegative, Positive, require_both_groups
from fairbench_cli.interventions.fitted import Fitted, Infeasible, settled
from fairbench_cli.measures.counts import divide

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


def grow(train: Sample, criterion: SplitCriterion, min_leaf: float, *, include_protected: bool) -> Model:
    """Return a tree grown by a criterion, not pruned; ties go to the unfavourable outcome.

    A nominal column splits into a branch per declared level, a number into two. A node is split as long as a
    split is worth more than 0 and has two branches that weigh `min_leaf`; of equal splits the first column's,
    and the lowest cut's, is taken.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    from fairbench_cli.classifiers.c45.tree import FlatTree

    weights = training_weights(train)
    encoder = fit_encoder(train, "levels", include_protected=include_protected)
    table = pick(train.features, encoder.columns)
    cell = train.s.astype(np.intp) * 2 + train.y
    splits = []
    counts = []
    queue: list[Rows] = [np.flatnonzero(weights > 0)]
    for rows in queue:  # grows while it is gone through: the tree is in breadth-first order
        inside = np.bincount(cell[rows], weights[rows], 4).reshape(2, 2)
        best = _Split()
        if inside.sum() >= 2 * min_leaf and np.count_nonzero(inside) > 1:
            best = _best_split(table, rows, cell, weights, criterion, min_leaf)
        splits.append((best.feature, best.threshold, best.kids))
        counts.append(inside.sum(axis=0))
        if best.feature != LEAF:
            code = table.codes[rows, best.feature]
            if best.kids == 2 and best.cut >= 0:
                branch = code > best.cut
            else:
                branch = code
            queue.extend(rows[branch == v] for v in range(best.kids))
    feature, threshold, kids = map(np.array, zip(*splits, strict=True))
    estimator: Any = C45Settings().build(encoder.level_counts, 0)
    estimator.tree_ = FlatTree(feature, threshold, kids, np.array(counts))
    return Model(encoder, estimator, float(weights @ train.y / weights.sum()))


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
        codes = table.codes[rows, j].astype(np.intp) * 4 + cell[rows]
        counts = np.bincount(codes, weights[rows], levels * 4).reshape(levels, 2, 2)
        cuts = np.array([-1])
        if column.kind == "number":
            cuts = np.flatnonzero(counts.sum(axis=(1, 2)) > 0)[:-1]
            left_counts = counts.cumsum(axis=0)[cuts]
            branches = np.stack([left_counts, counts.sum(axis=0) - left_counts], axis=1)
        else:
            branches = counts[np.newaxis]
        value = split_values(branches, criterion)
        allowed = (branches.sum(axis=(2, 3)) >= min_leaf).sum(axis=1) >= 2
        if criterion == "IGC/IGS":
            allowed &= information_gains(branches)[0] >= LEAST_OF_RATIO
        value = np.where(allowed & (value > LEAST), value, 0.0)
        best_index = -1
        if len(value):
            best_index = int(value.argmax())
        if best_index >= 0 and value[best_index] > best.value + LEAST:
            cut = int(cuts[best_index])
            threshold = np.nan
            if cut >= 0:
                threshold = column.values[cut]
            best = _Split(float(value[best_index]), j, branches.shape[1], cut, threshold)
    return best


MOST_CELLS = 100_000_000  # of the optimal solver's table, one byte each


@dataclass(frozen=True)
class Leaves:
    """The training rows of a tree's leaves, in whole numbers or fractions, so that nothing is rounded.

    All of discrimination is counted in n_0 n_1 rows² and all of accuracy in rows: `gain` and `cost` are the
    integers (fractions, if the rows have weights) by which a relabelled leaf lowers each.

    Parameters
    ----------
    gain : tuple of Fraction
        By how much relabelling a leaf lowers discrimination.
    cost : tuple of Fraction
        By how many rows it lowers accuracy; below 0 where the label was the minority's.
    discrimination : Fraction
        Of the tree as it is.
    correct : Fraction
        Rows that it predicts rightly.
    n : tuple of Fraction
        Rows of the deprived and of the favoured group.
    """

    gain: tuple[Fraction, ...]
    cost: tuple[Fraction, ...]
    discrimination: Fraction
    correct: Fraction
    n: tuple[Fraction, Fraction]

    def allowed(self, epsilon: float) -> Fraction:
        """Return the discrimination that may remain: `epsilon` as it is written, 0.1 being a tenth."""
        return Fraction(repr(epsilon)) * self.n[0] * self.n[1]

    def outcome(self, relabelled: Sequence[int]) -> tuple[float, float]:
        """Return accuracy and discrimination with some leaves relabelled."""
        correct = self.correct - sum(self.cost[leaf] for leaf in relabelled)
        discrimination = self.discrimination - sum(self.gain[leaf] for leaf in relabelled)
        return float(correct / sum(self.n)), float(discrimination / (self.n[0] * self.n[1]))


def leaves_of(counts: NDArray[Any], labels: Sequence[int]) -> Leaves:
    """Return the effects of relabelling each leaf.

    With share(ℓ) = n_1(ℓ)/n_1 − n_0(ℓ)/n_0, discrimination is the sum of the shares of the favourable leaves.
    Relabelling a favourable leaf lowers it by the leaf's share; relabelling another raises it by that.

    Parameters
    ----------
    counts : array, shape (leaves, 2, 2)
        Rows of each leaf by group and label, or their weights; both groups have some.
    labels : sequence of int, shape (leaves,)
        What each leaf predicts.
    """
    cells: NDArray[Any] = np.frompyfunc(Fraction, 1, 1)(counts)  # sums of them stay exact
    n0, n1 = cells.sum(axis=(0, 2))
    shares = cells[:, 1].sum(axis=1) * n0 - cells[:, 0].sum(axis=1) * n1
    of_label = cells.sum(axis=1)
    leaf = np.arange(len(cells))
    label = np.array(labels, dtype=np.intp)
    n_right = of_label[leaf, label]
    wrong = of_label[leaf, 1 - label]
    return Leaves(
        tuple(np.where(label == 1, shares, -shares)),
        tuple(n_right - wrong),
        sum(shares[label == 1], Fraction(0)),
        sum(n_right, Fraction(0)),
        (n0, n1),
    )


def greedy(leaves: Leaves, epsilon: float) -> list[int]:
    """Return the leaves to relabel in the order in which they are chosen.

    Kamiran, Calders & Pechenizkiy (2010), algorithm 1: of the leaves whose relabelling lowers discrimination,
    always the one that lowers it most per row of accuracy, until at most `epsilon` remains. Leaves that cost
    nothing come first. Of equals, the one that lowers it more, then the first.
    """

    def preference(leaf: int) -> tuple[bool, Fraction, Fraction, int]:
        gain = leaves.gain[leaf]
        cost = leaves.cost[leaf]
        return cost > 0, -gain / cost if cost > 0 else Fraction(0), -gain, leaf

    chosen = []
    remaining = leaves.discrimination
    allowed = leaves.allowed(epsilon)
    for leaf in sorted((leaf for leaf, gain in enumerate(leaves.gain) if gain > 0), key=preference):
        if remaining <= allowed:
            break
        chosen.append(leaf)
        remaining -= leaves.gain[leaf]
    return chosen


def without_needless(leaves: Leaves, chosen: Sequence[int], epsilon: float) -> list[int]:
    """Return the chosen leaves less those that are not needed, the dearest dropped first.

    Leaves whose relabelling adds accuracy stay.
    """
    remaining_leaves = list(chosen)
    remaining = leaves.discrimination - sum(leaves.gain[leaf] for leaf in chosen)
    for leaf in sorted(chosen, key=lambda leaf: (-leaves.cost[leaf], leaf)):
        if leaves.cost[leaf] >= 0 and remaining + leaves.gain[leaf] <= leaves.allowed(epsilon):
            remaining_leaves.remove(leaf)
            remaining += leaves.gain[leaf]
    return remaining_leaves


def optimal(leaves: Leaves, epsilon: float) -> list[int]:
    """Return the leaves whose relabelling costs least accuracy while at most `epsilon` remains, ascending.

    A knapsack, solved by dynamic programming over the rows lost: the most that any set lowers discrimination
    at each cost, up to the cost of the greedy choice. Leaves that cost nothing are relabelled where needed.

    Raises
    ------
    ValueError
        When costs are no whole numbers (rows with weights), or the table would be too large.
    """
    if any(value.denominator != 1 for value in (*leaves.cost, *leaves.n)):
        raise ValueError("solver optimal counts whole rows, and the training rows have fractional weights")
    need = leaves.discrimination - leaves.allowed(epsilon)
    if need <= 0:
        return []
    free = [leaf for leaf, gain in enumerate(leaves.gain) if gain > 0 and leaves.cost[leaf] <= 0]
    need -= sum(leaves.gain[leaf] for leaf in free)
    dear = [leaf for leaf, gain in enumerate(leaves.gain) if gain > 0 and leaves.cost[leaf] > 0]
    greedy_leaves = without_needless(leaves, greedy(leaves, epsilon), epsilon)
    size = 1 + int(sum(max(leaves.cost[leaf], Fraction(0)) for leaf in greedy_leaves))
    if len(dear) * size > MOST_CELLS:
        raise ValueError(
            f"solver optimal would need a table of {len(dear)} leaves × {size} rows: take solver greedy, "
            "or a larger min_leaf"
        )
    most = np.zeros(size, dtype=np.int64)  # discrimination lowered at each cost, at most
    is_relabelled = np.zeros((len(dear), size), dtype=bool)
    for j, leaf in enumerate(dear):
        cost = int(leaves.cost[leaf])
        gain = int(leaves.gain[leaf])
        if cost < size:
            better = most[: size - cost] + gain
            is_relabelled[j, cost:] = better > most[cost:]
            most[cost:] = np.maximum(most[cost:], better)
    cost = int(np.argmax(np.array([Fraction(int(value)) >= need for value in most])))
    chosen = free
    for j in reversed(range(len(dear))):
        if is_relabelled[j, cost]:
            chosen.append(dear[j])
            cost -= int(leaves.cost[dear[j]])
    return sorted(without_needless(leaves, chosen, epsilon))


@dataclass(frozen=True)
class LeafRelabelling:
    """Relabel leaves of a decision tree, those first that cost least accuracy.

    Kamiran, Calders & Pechenizkiy (2010), "Discrimination aware decision tree learning", section IV. Works on
    the experiment's classifier, which must be one tree (`c45`, `tree`), or grows a tree of its own by
    the information gain of a split on the outcome (IGC) and on the group (IGS). All counts are of training
    rows. A relabelled leaf's score is mirrored about a half.

    Parameters
    ----------
    criterion : {"classifier", "IGC", "IGC-IGS", "IGC/IGS", "IGC+IGS"}
        ``classifier``: take the experiment's tree. The others grow one, which is not pruned: of the
        experiment's classifier only `include_protected` counts then. The paper found IGC+IGS best.
    min_leaf : float above 0, or None
        At least two branches of every split weigh this much, if the tree is grown here; None is 20.
    solver : {"greedy", "optimal"}
        ``greedy``: the paper's, most discrimination per row of accuracy first. ``optimal``: the set of
        leaves of least cost, in whole numbers; for rows without fractional weights.
    epsilon : float, at least 0
        Discrimination of the training predictions that may remain.

    Raises
    ------
    ValueError
        When `min_leaf` is given and the tree is the classifier's.
    """

    criterion: Literal["classifier"] | SplitCriterion = "classifier"
    min_leaf: Positive | None = None
    solver: Literal["greedy", "optimal"] = "greedy"
    epsilon: NotNegative = 0.0

    def __post_init__(self) -> None:
        if self.min_leaf is not None and self.criterion == "classifier":
            raise ValueError("min_leaf has no effect with criterion classifier: the tree is the classifier's")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the tree and relabel its leaves; `rng` is not used.

        ``noop`` when no more than `epsilon` is there to begin with. ``degraded`` when all leaves have one
        label afterwards.

        Raises
        ------
        Infeasible
            When a group has no rows, the classifier is not one tree, or the optimum is out of reach.
        """
        require_both_groups(train)
        if self.criterion == "classifier":
            model = classifier.fit(train)
        else:
            protected = classifier.include_protected
            min_leaf = self.min_leaf or 20.0
            model = grow(train, self.criterion, min_leaf, include_protected=protected)
        nodes, leaf = np.unique(nodes_of(model, train), return_inverse=True)
        codes = leaf * 4 + train.s * 2 + train.y
        counts = np.bincount(codes, train.weights, 4 * len(nodes)).reshape(-1, 2, 2)
        labels = np.zeros(len(nodes), dtype=np.int8)
        labels[leaf] = model.predict(train)
        leaves = leaves_of(counts, labels.tolist())
        try:
            chosen = (greedy if self.solver == "greedy" else optimal)(leaves, self.epsilon)
        except ValueError as refused:
            raise Infeasible(str(refused)) from None
        before = leaves.outcome([])
        after = leaves.outcome(chosen)
        facts = {
            "leaves": len(nodes),
            "relabelled": len(chosen),
            "predicted_accuracy_before": before[0],
            "predicted_accuracy_after": after[0],
            "predicted_discrimination_before": before[1],
            "predicted_discrimination_after": after[1],
        }
        relabelled = Relabelled(model, nodes[chosen])
        labels[chosen] = 1 - labels[chosen]
        noop = ""
        if not chosen:
            noop = "the tree discriminates no more than epsilon allows"
        alike = ""
        if chosen and len(set(labels.tolist())) == 1:
            alike = "all leaves have one label"
        return settled(relabelled, facts, degraded=alike, noop=noop)


def nodes_of(model: Model, sample: Sample) -> NDArray[np.int64]:
    """Return the leaf of each row, shape (rows,); one leaf for a constant model.

    Raises
    ------
    Infeasible
        When the classifier is not one tree.
    """
    if model.estimator is None:
        return np.zeros(len(sample), dtype=np.int64)
    apply: Any = getattr(model.estimator, "apply", None)
    leaves = None
    if apply is not None:
        leaves = np.asarray(apply(model.encoder.transform(sample.features)))
    if leaves is None or leaves.shape != (len(sample),):
        raise Infeasible("the classifier is not one tree: take c45 or tree")
    return leaves.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Relabelled:
    """A tree with some of its leaves relabelled.

    Parameters
    ----------
    model : Model
        The tree.
    nodes : int array, shape (relabelled,)
        The leaves that predict the other outcome.
    """

    model: Model
    nodes: NDArray[np.int64]

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for the favourable one; raises as the model."""
        return np.asarray(self.model.predict(sample) ^ self._changed(sample), dtype=np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's score, shape (rows,): P(y=+|leaf), or 1 less it where the leaf is relabelled."""
        p = self.model.predict_proba(sample)
        return np.asarray(np.where(self._changed(sample), 1 - p, p))

    def _changed(self, sample: Sample) -> NDArray[np.bool_]:
        return np.isin(nodes_of(self.model, sample), self.nodes)
