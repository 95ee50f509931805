"""A grown tree as flat arrays: its size, its predictions, and its text as Weka prints it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbench_cli.classifiers.c45.columns import Floats, Ints, Levels, TreeRows
from fairbench_cli.classifiers.c45.estimates import EPS

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
    def first(self) -> Ints:
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
    """Return what each node would predict as a leaf, shape (nodes, classes)."""
    empty = (tree.counts.sum(axis=1) <= 0) & (tree.parent >= 0)
    counts = tree.counts[np.where(empty, tree.parent, np.arange(tree.size))] + (1.0 if laplace else 0.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def predict_probabilities(tree: FlatTree, columns: TreeRows, laplace: bool) -> Floats:
    """Return class probabilities, shape (rows, classes).

    A row with a missing value goes down every non-empty branch, weighted by the branches' weights.
    """
    leaf = leaf_probabilities(tree, laplace)
    found = np.zeros((len(columns), tree.counts.shape[1]))
    row = np.arange(len(columns))
    at, weight = np.zeros_like(row), np.ones(len(row))
    while len(row):
        done = tree.feature[at] == LEAF
        # Rows that were spread come back in parts, so the parts are added up, not assigned.
        np.add.at(found, row[done], weight[done, None] * leaf[at[done]])
        at, row, weight = at[~done], row[~done], weight[~done]
        branch = columns.branch(row, tree.feature[at], tree.threshold[at])
        known = branch >= 0
        if known.all():
            at = tree.first[at] + branch
            continue
        spread = _spread(tree, at[~known], row[~known], weight[~known])
        at = np.concatenate([tree.first[at[known]] + branch[known], spread[0]])
        row = np.concatenate([row[known], spread[1]])
        weight = np.concatenate([weight[known], spread[2]])
    return found


def leaf_of(tree: FlatTree, columns: TreeRows) -> Ints:
    """Return the node in which each row ends, shape (rows,).

    Raises
    ------
    ValueError
        When a row has a missing value where the tree splits, and so ends in several leaves.
    """
    at = np.zeros(len(columns), dtype=np.int64)
    row = np.flatnonzero(tree.feature[at] != LEAF)
    while len(row):
        branch = columns.branch(row, tree.feature[at[row]], tree.threshold[at[row]])
        if (branch < 0).any():
            raise ValueError("a row with a missing value ends in several leaves")
        at[row] = tree.first[at[row]] + branch
        row = row[tree.feature[at[row]] != LEAF]
    return at


def _spread(tree: FlatTree, at: Ints, row: Ints, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """Return rows with a missing value, sent down every non-empty branch by the branches' weights."""
    kids = tree.kids[at]
    parts = np.repeat(np.arange(len(at)), kids)
    offset = np.arange(len(parts)) - np.repeat(np.cumsum(kids) - kids, kids)
    child = tree.first[at[parts]] + offset
    share = tree.counts[child].sum(axis=1)
    total = np.bincount(parts, share, minlength=len(at))
    goes = share > 0
    return child[goes], row[parts[goes]], (weight[parts] * share / total[parts])[goes]


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
        kid = int(tree.first[node]) + v
        if levels is None:
            test = f"{'<=' if v == 0 else '>'} {_number(float(tree.threshold[node]), 6)}"
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
    source = counts if weight > 0 or tree.parent[node] < 0 else tree.counts[tree.parent[node]]
    wrong = weight - float(counts.max())
    errors = f"/{_weight(wrong)}" if wrong > EPS else ""
    return f"{classes[int(source.argmax())]} ({_weight(weight)}{errors})"


def _weight(value: float) -> str:
    """Write a weight with one or two decimals: 12.0, 3.25."""
    text = f"{value:.2f}"
    return text.removesuffix("0")


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
