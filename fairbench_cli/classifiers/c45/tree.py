"""Rows as a tree takes them, and a grown tree as flat arrays: its errors, predictions, and text as Weka's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.encode import NUMBER, distinct_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows as level codes and numbers.

    Parameters
    ----------
    levels : tuple of int
        Declared levels of each nominal column, `NUMBER` for a number.
    codes : int32 array, shape (rows, columns)
        Level codes; -1 is missing. Unused in numeric columns.
    numbers : float64 array, shape (rows, columns), or None
        Numbers; NaN is missing. Unused in nominal columns; None when all are nominal.
    """

    levels: tuple[int, ...]
    codes: NDArray[np.int32]
    numbers: Floats | None

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @cached_property
    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first of each group of equal rows of codes, and which group each row is of: `distinct_rows`."""
        return distinct_rows(self.codes)

    def take(self, rows: Ints) -> "TreeRows":
        """Return the given rows."""
        numbers = None
        if self.numbers is not None:
            numbers = self.numbers[rows]
        return TreeRows(self.levels, self.codes[rows], numbers)

    def values(self, feature: int) -> Floats:
        """Return the numbers of a numeric column."""
        assert self.numbers is not None  # noqa: S101 - a numeric column has numbers
        return self.numbers[:, feature]

    @cached_property
    def distinct_numbers(self) -> tuple[Floats, ...]:
        """The different numbers of each column, rising; of a nominal one none."""
        distinct = []
        for feature, n_levels in enumerate(self.levels):
            numbers = self.values(feature) if n_levels == NUMBER else np.empty(0)
            distinct.append(np.unique(numbers[~np.isnan(numbers)]))
        return tuple(distinct)

    @property
    def all_nominal_and_known(self) -> bool:
        """Return whether the fast path applies: nothing numeric, nothing missing."""
        return self.numbers is None and not bool((self.codes < 0).any())

    def branch(self, row: Ints, feature: Ints, threshold: Floats) -> Ints:
        """Return the branch that each row takes at a split of its own; -1 where the value is missing."""
        code = self.codes[row, feature].astype(np.int64)
        if self.numbers is None:
            return code
        numeric = np.array(self.levels, dtype=np.int64)[feature] == NUMBER
        if numeric.any():
            number = self.numbers[row[numeric], feature[numeric]]
            side = (number > threshold[numeric]).astype(np.int64)
            code[numeric] = np.where(np.isnan(number), -1, side)
        return code


@dataclass(frozen=True)
class Levels:
    """What each column was when the tree was fitted: its name, and its levels (None: a number)."""

    names: tuple[str, ...]
    levels: tuple[tuple[object, ...] | None, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of levels per column, `NUMBER` for numbers."""
        return tuple(NUMBER if levels is None else len(levels) for levels in self.levels)


def from_codes(
    array: NDArray[Any], declared_levels: Levels | Sequence[int] | None
) -> tuple[TreeRows, Levels]:
    """Return an array's rows: columns with a level count hold codes from 0, others numbers; NaN is missing.

    Raises
    ------
    ValueError
        A wrong number of level counts, or a value that is no code below its column's level count.
    """
    if isinstance(declared_levels, Levels):
        counts = declared_levels.counts
        names = declared_levels.names
    else:
        if declared_levels is None:
            counts = (NUMBER,) * array.shape[1]
        else:
            counts = tuple(int(n) for n in declared_levels)
        names = tuple(f"x{j}" for j in range(array.shape[1]))
    if len(counts) != array.shape[1]:
        raise ValueError(f"levels has {len(counts)} entries, but X has {array.shape[1]} columns.")
    nominal = np.array(counts) != NUMBER
    codes_of_columns = tuple(None if n == NUMBER else tuple(range(n)) for n in counts)
    if isinstance(declared_levels, Levels):
        levels = declared_levels
    else:
        levels = Levels(names, codes_of_columns)
    if array.dtype.kind in "iu" and nominal.all() and ((array >= 0) & (array < np.array(counts))).all():
        return TreeRows(levels.counts, array.astype(np.int32, order="C"), None), levels
    numbers = np.asarray(array, dtype=np.float64)
    codes = np.where(np.isnan(numbers), -1.0, numbers)
    wrong = nominal & ((codes != np.floor(codes)) | (codes >= np.array(counts)) | (codes < -1.0))
    wrong |= nominal & (numbers == -1.0)
    if wrong.any():
        row, j = (int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f'Row {row} of column "{names[j]}" has {numbers[row, j]:g}, which is not a declared level: '
            f"codes go from 0 to {counts[j] - 1}."
        )
    kept_numbers = None
    if not nominal.all():
        kept_numbers = numbers
    return TreeRows(
        levels.counts, np.where(nominal, codes, 0).astype(np.int32, order="C"), kept_numbers
    ), levels


EPS = 1e-6  # every comparison of weights and gains: a > b means a - b > EPS


def normal_quantile(confidence: float) -> float:
    """Return z with P(Z > z) = confidence for a standard normal Z.

    >>> round(normal_quantile(0.25), 12)
    0.674489750196
    """
    return NormalDist().inv_cdf(1.0 - confidence)  # importing scipy.special takes a quarter of a second


def added_errors(weight: Any, errors: Any, confidence: float) -> Floats:
    """Return how many errors to add to those seen in leaves: the upper confidence limit less `errors`.

    Parameters
    ----------
    weight, errors : array_like, same shape
        Weight of a leaf's rows, and of those not of its majority class.
    confidence : float
        In (0, 0.5]; smaller prunes more.

    Notes
    -----
    Quinlan (1993), *C4.5: Programs for Machine Learning*, §4.2, with the normal approximation (and its
    continuity correction) that Weka's J48 uses. No errors: the exact binomial limit. Less than one: linear
    between the limits for 0 and 1. Nearly all: the rest.
    """
    n = np.asarray(weight, dtype=float)
    e = np.asarray(errors, dtype=float)
    safe = np.where(n > 0, n, 1.0)
    z = normal_quantile(confidence)
    none = safe * (1.0 - confidence ** (1.0 / safe))
    fewer = np.minimum(e, 1.0)
    between = none + fewer * (_limit(safe, np.ones_like(e), z) - none)
    added = np.where(e < 1.0, between, _limit(safe, e, z))
    return np.where(n > 0, added, 0.0)


def _limit(n: Floats, e: Floats, z: float) -> Floats:
    """Return the upper limit for at least one error, less the errors."""
    f = np.minimum((e + 0.5) / n, 1.0)
    root = np.sqrt(np.maximum(f / n - f * f / n + z * z / (4.0 * n * n), 0.0))
    upper = (f + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n)
    return np.where(e + 0.5 >= n, np.maximum(n - e, 0.0), upper * n - e)


def estimated_errors(counts: Floats, confidence: float) -> Floats:
    """Return the estimated errors of leaves with class weights `counts`, shape (..., classes)."""
    weight = counts.sum(axis=-1)
    errors = weight - counts.max(axis=-1)
    return np.asarray(errors + added_errors(weight, errors, confidence))


@dataclass(frozen=True)
class Rules:
    """All settings that decide the tree and what it predicts; see `C45` for the meanings."""

    confidence: float
    min_leaf: float
    prune: bool
    raise_subtrees: bool
    collapse: bool
    laplace: bool


def rules_of(options: Any) -> Rules:
    """Return the rules that the attributes of an object say, such as a `C45` or `C45Settings`."""
    rule_values = {field.name: getattr(options, field.name) for field in fields(Rules)}
    # Weka keeps the confidence in 32 bits, which decides a few close calls.
    numbers = {"confidence": float(np.float32(options.confidence)), "min_leaf": float(options.min_leaf)}
    return Rules(**rule_values | numbers)


LEAF = -1


@dataclass(frozen=True, eq=False)
class FlatTree:
    """Nodes in breadth-first order: node 0 is the root, the children of a node follow each other.

    Parameters
    ----------
    feature : int array, shape (nodes,)
        Column that a node splits on, or `LEAF`.
    threshold : float array, shape (nodes,)
        A numeric split sends values up to it to its first child, others to its second; NaN elsewhere.
    kids : int array, shape (nodes,)
        Number of children: child v of a nominal split is for level v.
    counts : float array, shape (nodes, classes)
        Class weights of the training rows; all zero in an empty leaf, which predicts like its parent.
    """

    feature: Ints
    threshold: Floats
    kids: Ints
    counts: Floats

    @cached_property
    def first_child(self) -> Ints:
        """First child of each node that has any, shape (nodes,)."""
        return 1 + np.cumsum(self.kids) - self.kids

    @cached_property
    def parent(self) -> Ints:
        """Parent of each node, shape (nodes,); -1 at the root."""
        return np.append(-1, np.repeat(np.arange(self.size), self.kids))

    @property
    def n_leaves(self) -> int:
        """Number of leaves, empty ones included, as Weka counts."""
        return int((self.feature == LEAF).sum())

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.feature)


def leaf_probabilities(tree: FlatTree, laplace: bool) -> Floats:
    """Return the probabilities that each node would predict as a leaf, shape (nodes, classes)."""
    empty = (tree.counts.sum(axis=1) <= 0) & (tree.parent >= 0)
    counts = tree.counts[np.where(empty, tree.parent, np.arange(tree.size))] + (1.0 if laplace else 0.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def predict_probabilities(tree: FlatTree, columns: TreeRows, laplace: bool) -> Floats:
    """Return class probabilities, shape (rows, classes).

    A row with a missing value goes down every non-empty branch, weighted by the branches' weights.
    """
    leaf = leaf_probabilities(tree, laplace)
    probabilities = np.zeros((len(columns), tree.counts.shape[1]))
    row = np.arange(len(columns))
    node = np.zeros_like(row)
    weight = np.ones(len(row))
    while len(row):
        is_leaf = tree.feature[node] == LEAF
        # Rows that were spread come back in parts, so the parts are added up, not assigned.
        np.add.at(probabilities, row[is_leaf], weight[is_leaf, None] * leaf[node[is_leaf]])
        node = node[~is_leaf]
        row = row[~is_leaf]
        weight = weight[~is_leaf]
        branch = columns.branch(row, tree.feature[node], tree.threshold[node])
        is_known = branch >= 0
        if is_known.all():
            node = tree.first_child[node] + branch
            continue
        spread = _spread(tree, node[~is_known], row[~is_known], weight[~is_known])
        node = np.concatenate([tree.first_child[node[is_known]] + branch[is_known], spread[0]])
        row = np.concatenate([row[is_known], spread[1]])
        weight = np.concatenate([weight[is_known], spread[2]])
    return probabilities


def leaf_of(tree: FlatTree, columns: TreeRows) -> Ints:
    """Return the node in which each row ends, shape (rows,).

    Raises
    ------
    ValueError
        When a row has a missing value where the tree splits, and so ends in several leaves.
    """
    node = np.zeros(len(columns), dtype=np.int64)
    row = np.flatnonzero(tree.feature[node] != LEAF)
    while len(row):
        branch = columns.branch(row, tree.feature[node[row]], tree.threshold[node[row]])
        if (branch < 0).any():
            raise ValueError("a row with a missing value ends in several leaves")
        node[row] = tree.first_child[node[row]] + branch
        row = row[tree.feature[node[row]] != LEAF]
    return node


def _spread(tree: FlatTree, node: Ints, row: Ints, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """Return rows with a missing value, sent down every non-empty branch by the branches' weights."""
    kids = tree.kids[node]
    copies = np.repeat(np.arange(len(node)), kids)
    offset = np.arange(len(copies)) - np.repeat(np.cumsum(kids) - kids, kids)
    child = tree.first_child[node[copies]] + offset
    share = tree.counts[child].sum(axis=1)
    total = np.bincount(copies, share, minlength=len(node))
    goes = share > 0
    return child[goes], row[copies[goes]], (weight[copies] * share / total[copies])[goes]


def first_best(probabilities: Floats) -> Ints:
    """Return the class of each row; ties within `EPS` go to the first declared class."""
    best = np.zeros(len(probabilities), dtype=np.int64)
    top = np.zeros(len(probabilities))
    for k in range(probabilities.shape[1]):
        better = probabilities[:, k] > top + EPS
        best[better] = k
        top[better] = probabilities[better, k]
    return best


def export_text(tree: FlatTree, columns: Levels, classes: Sequence[str]) -> str:
    """Return one line per branch; a leaf shows its class and (weight/weight of other classes)."""
    if tree.feature[0] == LEAF:
        return f": {_leaf(tree, 0, classes)}"
    return "\n".join(_lines(tree, 0, "", columns, classes))


def _lines(tree: FlatTree, node: int, indent: str, columns: Levels, classes: Sequence[str]) -> Iterator[str]:
    feature = int(tree.feature[node])
    levels = columns.levels[feature]
    for v in range(int(tree.kids[node])):
        kid = int(tree.first_child[node]) + v
        if levels is None:
            test = f"{'<=' if v == 0 else '>'} {_number(float(tree.threshold[node]))}"
        else:
            test = f"= {levels[v]}"
        head = f"{indent}{columns.names[feature]} {test}"
        if tree.feature[kid] == LEAF:
            yield f"{head}: {_leaf(tree, kid, classes)}"
        else:
            yield head
            yield from _lines(tree, kid, indent + "|   ", columns, classes)


def _leaf(tree: FlatTree, node: int, classes: Sequence[str]) -> str:
    counts = tree.counts[node]
    weight = float(counts.sum())
    if weight > 0 or tree.parent[node] < 0:
        source = counts
    else:
        source = tree.counts[tree.parent[node]]
    wrong = weight - float(counts.max())
    errors = ""
    if wrong > EPS:
        errors = f"/{_weight(wrong)}"
    return f"{classes[int(source.argmax())]} ({_weight(weight)}{errors})"


def _weight(value: float) -> str:
    """Write a weight with one or two decimals: 12.0, 3.25."""
    return f"{value:.2f}".removesuffix("0")


def _number(value: float) -> str:
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text
