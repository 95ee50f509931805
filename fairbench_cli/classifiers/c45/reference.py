"""C4.5 as plain recursion over rows: the reference path, and the one for numbers and missing values.

The rules are those of Weka's J48 (C4.5 release 8): Quinlan (1993), *C4.5: Programs for Machine Learning*.
"""

from dataclasses import dataclass, field

import numpy as np

from fairbench_cli.classifiers.c45.columns import Columns, Floats, Ints
from fairbench_cli.classifiers.c45.estimates import EPS, estimated_errors
from fairbench_cli.classifiers.c45.rules import Rules
from fairbench_cli.classifiers.c45.splits import best_split
from fairbench_cli.classifiers.c45.tree import LEAF, Tree


@dataclass(eq=False)
class Node:
    """A node while the tree is being made."""

    counts: Floats
    feature: int = LEAF
    threshold: float = np.nan
    kids: list["Node"] = field(default_factory=list)

    def become(self, other: "Node") -> None:
        """Take over the split of another node."""
        self.feature, self.threshold, self.kids = other.feature, other.threshold, other.kids

    def become_leaf(self) -> None:
        """Drop everything below."""
        self.feature, self.threshold, self.kids = LEAF, np.nan, []


def build(columns: Columns, y: Ints, weight: Floats, classes: int, rules: Rules) -> Tree:
    """Grow, collapse and prune a tree."""
    maker = _Maker(columns, y, classes, rules)
    rows = np.arange(len(columns))
    root = maker.grow(rows, weight)
    if rules.collapse:
        _collapse(root)
    if rules.prune:
        maker.prune(root, rows, weight)
    return flatten(root)


@dataclass(frozen=True, eq=False)
class _Maker:
    columns: Columns
    y: Ints
    classes: int
    rules: Rules

    def counts(self, rows: Ints, weight: Floats) -> Floats:
        return np.asarray(np.bincount(self.y[rows], weight, minlength=self.classes), dtype=np.float64)

    def grow(self, rows: Ints, weight: Floats) -> Node:
        node = Node(self.counts(rows, weight))
        split = best_split(self.columns, self.y, rows, weight, node.counts, self.rules)
        if split is None:
            return node
        node.feature, node.threshold = split.feature, split.threshold
        node.kids = [self.grow(*part) for part in self.parts(node, rows, weight)]
        return node

    def parts(self, node: Node, rows: Ints, weight: Floats) -> list[tuple[Ints, Floats]]:
        """Send rows through a split; a missing value goes down every branch that is not empty."""
        feature = np.full(len(rows), node.feature)
        branch = self.columns.branch(rows, feature, np.full(len(rows), node.threshold))
        n = self.columns.levels[node.feature] or 2
        known = branch >= 0
        totals = np.bincount(branch[known], weight[known], minlength=n)
        found = []
        for v in range(n):
            mine = branch == v
            part = np.where(mine, weight, 0.0)
            if totals[v] > 0 and not known.all():
                part[~known] = weight[~known] * (totals[v] / totals.sum())
            goes = part > 0
            found.append((rows[goes], part[goes]))
        return found

    def prune(self, node: Node, rows: Ints, weight: Floats) -> None:
        """Replace by a leaf, raise the largest branch, or keep; children first."""
        if node.feature == LEAF:
            return
        parts = self.parts(node, rows, weight)
        for kid, part in zip(node.kids, parts, strict=True):
            self.prune(kid, *part)
        rules = self.rules
        leaf = self.errors(node.counts)
        tree = self.subtree_errors(node)
        largest = node.kids[_last_largest(np.array([kid.counts.sum() for kid in node.kids]))]
        branch = self.errors_if_sent(largest, rows, weight) if rules.raise_subtrees else np.inf
        if leaf <= tree + 0.1 + EPS and leaf <= branch + 0.1 + EPS:
            node.become_leaf()
        elif branch <= tree + 0.1 + EPS:
            node.become(largest)
            self.refill(node, rows, weight)
            self.prune(node, rows, weight)

    def errors(self, counts: Floats) -> float:
        return float(estimated_errors(counts, self.rules.confidence, self.rules.z))

    def subtree_errors(self, node: Node) -> float:
        if node.feature == LEAF:
            return self.errors(node.counts)
        return sum(self.subtree_errors(kid) for kid in node.kids)

    def errors_if_sent(self, node: Node, rows: Ints, weight: Floats) -> float:
        """Return the estimated errors of a subtree if all these rows were sent through it."""
        if node.feature == LEAF:
            return self.errors(self.counts(rows, weight))
        parts = self.parts(node, rows, weight)
        return sum(self.errors_if_sent(kid, *part) for kid, part in zip(node.kids, parts, strict=True))

    def refill(self, node: Node, rows: Ints, weight: Floats) -> None:
        """Rebuild the counts of a subtree from the rows that now reach it."""
        node.counts = self.counts(rows, weight)
        if node.feature != LEAF:
            for kid, part in zip(node.kids, self.parts(node, rows, weight), strict=True):
                self.refill(kid, *part)


def _last_largest(totals: Floats) -> int:
    """Return the largest, the last of those equal within the tolerance, by a scan in order."""
    best, index = -np.inf, 0
    for i, total in enumerate(totals):
        if total >= best - EPS:
            best, index = total, i
    return index


def _collapse(node: Node) -> None:
    """Make a leaf of every node whose subtree makes no fewer training errors; top-down."""
    if node.feature == LEAF:
        return
    if _training_errors(node) >= _leaf_errors(node) - 1e-3:
        node.become_leaf()
    for kid in node.kids:
        _collapse(kid)


def _leaf_errors(node: Node) -> float:
    return float(node.counts.sum() - node.counts.max())


def _training_errors(node: Node) -> float:
    return sum(map(_training_errors, node.kids)) if node.kids else _leaf_errors(node)


def flatten(root: Node) -> Tree:
    """Put the nodes into arrays, numbered breadth-first."""
    nodes, parent, first = [root], [-1], []
    for i, node in enumerate(nodes):  # grows while it is walked
        first.append(len(nodes) if node.kids else 0)
        nodes.extend(node.kids)
        parent.extend([i] * len(node.kids))
    return Tree(
        feature=np.array([node.feature for node in nodes], dtype=np.int64),
        threshold=np.array([node.threshold for node in nodes]),
        first=np.array(first, dtype=np.int64),
        kids=np.array([len(node.kids) for node in nodes], dtype=np.int64),
        parent=np.array(parent, dtype=np.int64),
        counts=np.array([node.counts for node in nodes]),
    )
