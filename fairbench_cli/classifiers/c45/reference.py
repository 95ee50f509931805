"""C4.5 as plain recursion over rows: the reference path, and the one for numbers and missing values.

The rules are those of Weka's J48 (C4.5 release 8): Quinlan (1993), *C4.5: Programs for Machine Learning*.
A node splits on the column of highest gain ratio among those of at least average gain.
"""

from dataclasses import dataclass, field

import numpy as np

from fairbench_cli.classifiers.c45 import tree
from fairbench_cli.classifiers.c45.tree import EPS, LEAF, FlatTree, Floats, Ints, Rules, TreeRows
from fairbench_cli.classifiers.encode import NUMBER


@dataclass(frozen=True)
class Split:
    """A column, its gain and gain ratio, and where a numeric one is cut."""

    feature: int
    gain: float
    ratio: float
    threshold: float = np.nan


def best_split(
    columns: TreeRows, y: Ints, rows: Ints, weight: Floats, counts: Floats, rules: Rules
) -> Split | None:
    """Return the split of a node with class weights `counts`, or None for a leaf."""
    total = counts.sum()
    if total < 2 * rules.min_leaf - EPS or total - counts.max() <= EPS:
        return None
    valid = [
        split
        for feature in range(len(columns.levels))
        if (split := _split(columns, feature, y, rows, weight, len(counts), rules)) is not None
    ]
    # A nominal column with very many levels does not count for the average, unless all are like that.
    has_few_levels = [n == NUMBER or n < 0.3 * len(columns) - EPS for n in columns.levels]
    averaged = [split.gain for split in valid if not any(has_few_levels) or has_few_levels[split.feature]]
    if not averaged:
        return None
    least = sum(averaged) / len(averaged) - 1e-3
    best: Split | None = None
    for split in valid:
        if split.gain >= least and split.ratio > (best.ratio if best else 0.0) + EPS:
            best = split
    return best


def _split(
    columns: TreeRows, feature: int, y: Ints, rows: Ints, weight: Floats, classes: int, rules: Rules
) -> Split | None:
    if columns.levels[feature] == NUMBER:
        return _numeric(columns, feature, y, rows, weight, classes, rules)
    codes = columns.codes[rows, feature]
    is_known = codes >= 0
    n = columns.levels[feature]
    weights = np.bincount(
        codes[is_known] * classes + y[rows[is_known]], weight[is_known], minlength=n * classes
    )
    bags = np.asarray(weights, dtype=np.float64).reshape(n, classes)
    if (bags.sum(axis=1) >= rules.min_leaf - EPS).sum() < 2:
        return None
    gain = float(_gains(bags[None], weight.sum())[0])
    return Split(feature, gain, _ratio(gain, bags, weight.sum()))


def _numeric(
    columns: TreeRows, feature: int, y: Ints, rows: Ints, weight: Floats, classes: int, rules: Rules
) -> Split | None:
    """Return the split at the threshold of the highest gain, less the cost of choosing among so many."""
    values = columns.values(feature)[rows]
    is_known = ~np.isnan(values)
    order = np.argsort(values[is_known], kind="stable")
    values = values[is_known][order]
    w = weight[is_known][order]
    labels = y[rows[is_known]][order]
    least = max(rules.min_leaf, min(25.0, 0.1 * w.sum() / classes))
    if len(values) < 2 * least - EPS:
        return None
    table = np.zeros((len(values), classes))
    table[np.arange(len(values)), labels] = w
    below = table.cumsum(axis=0)
    cuts = np.flatnonzero(values[:-1] + 1e-5 < values[1:])
    left_weights = below[cuts]
    right_weights = below[-1] - below[cuts]
    admissible = (left_weights.sum(axis=1) >= least - EPS) & (right_weights.sum(axis=1) >= least - EPS)
    cuts = cuts[admissible]
    bags = np.stack([left_weights[admissible], right_weights[admissible]], axis=1)
    if not len(cuts):
        return None
    total = weight.sum()
    gains = _gains(bags, total)
    best = 0.0
    chosen = -1
    for i in np.flatnonzero(gains > np.concatenate([[0.0], np.maximum.accumulate(gains)[:-1]])):
        if gains[i] > best + EPS:
            best = float(gains[i])
            chosen = int(i)
    gain = best - np.log2(len(cuts)) / total
    if chosen < 0 or gain <= EPS:
        return None
    i = cuts[chosen]
    middle = (values[i] + values[i + 1]) / 2.0
    everywhere = columns.distinct_numbers[feature]
    threshold = float(everywhere[np.searchsorted(everywhere, middle, side="right") - 1])
    return Split(feature, gain, _ratio(gain, bags[chosen], total), threshold)


def _entropy(weights: Floats) -> Floats:
    """Return total times entropy in bits."""
    return np.asarray(_xlogx(weights.sum(axis=-1)) - _xlogx(weights).sum(axis=-1))


def _xlogx(x: Floats) -> Floats:
    return np.where(x < 1e-6, 0.0, x * np.log2(np.maximum(x, 1e-6)))


def _gains(bags: Floats, total: float) -> Floats:
    """Return the gain of splits, bags of shape (splits, branches, classes); missing rows weigh it down."""
    known_weight = bags.sum(axis=(1, 2))
    saved = _entropy(bags.sum(axis=1)) - _entropy(bags).sum(axis=1)
    saved = saved * (known_weight / total)
    return np.where(np.abs(saved) <= EPS, 0.0, saved / np.maximum(known_weight, EPS))


def _ratio(gain: float, bags: Floats, total: float) -> float:
    """Return gain over split information; rows with a missing value are one more branch of it."""
    sizes = bags.sum(axis=1)
    branch_sizes = np.append(sizes, max(total - sizes.sum(), 0.0))
    information = float(_xlogx(np.asarray(total)) - _xlogx(branch_sizes).sum())
    if abs(information) <= EPS:
        return 0.0
    return gain / (information / total)


@dataclass(eq=False)
class Node:
    """A node while the tree is being made."""

    counts: Floats
    feature: int = LEAF
    threshold: float = np.nan
    kids: list["Node"] = field(default_factory=list)

    def become_leaf(self) -> None:
        """Drop everything below."""
        self.feature, self.threshold, self.kids = LEAF, np.nan, []


def build(columns: TreeRows, y: Ints, weight: Floats, classes: int, rules: Rules) -> FlatTree:
    """Return a tree that was grown, collapsed and pruned."""
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
    columns: TreeRows
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
        node.kids = [self.grow(*branch) for branch in self.split_rows(node, rows, weight)]
        return node

    def split_rows(self, node: Node, rows: Ints, weight: Floats) -> list[tuple[Ints, Floats]]:
        """Return the rows of each branch of a split; missing values go down every non-empty branch."""
        feature = np.full(len(rows), node.feature)
        branch = self.columns.branch(rows, feature, np.full(len(rows), node.threshold))
        n = self.columns.levels[node.feature] or 2
        is_known = branch >= 0
        totals = np.bincount(branch[is_known], weight[is_known], minlength=n)
        branches = []
        for v in range(n):
            mine = branch == v
            branch_weight = np.where(mine, weight, 0.0)
            if totals[v] > 0 and not is_known.all():
                branch_weight[~is_known] = weight[~is_known] * (totals[v] / totals.sum())
            goes = branch_weight > 0
            branches.append((rows[goes], branch_weight[goes]))
        return branches

    def prune(self, node: Node, rows: Ints, weight: Floats) -> None:
        """Replace by a leaf, raise the largest branch, or keep; children first."""
        if node.feature == LEAF:
            return
        branches = self.split_rows(node, rows, weight)
        for kid, kid_rows in zip(node.kids, branches, strict=True):
            self.prune(kid, *kid_rows)
        rules = self.rules
        leaf = self.errors(node.counts)
        below = self.subtree_errors(node)
        largest = node.kids[_last_largest(np.array([kid.counts.sum() for kid in node.kids]))]
        if rules.raise_subtrees:
            branch = self.errors_if_sent(largest, rows, weight)
        else:
            branch = np.inf
        if leaf <= below + 0.1 + EPS and leaf <= branch + 0.1 + EPS:
            node.become_leaf()
        elif branch <= below + 0.1 + EPS:
            node.feature, node.threshold, node.kids = largest.feature, largest.threshold, largest.kids
            self.refill(node, rows, weight)
            self.prune(node, rows, weight)

    def errors(self, counts: Floats) -> float:
        return float(tree.estimated_errors(counts, self.rules.confidence))

    def subtree_errors(self, node: Node) -> float:
        if node.feature == LEAF:
            return self.errors(node.counts)
        return sum(self.subtree_errors(kid) for kid in node.kids)

    def errors_if_sent(self, node: Node, rows: Ints, weight: Floats) -> float:
        """Return the estimated errors of a subtree if all these rows were sent through it."""
        if node.feature == LEAF:
            return self.errors(self.counts(rows, weight))
        branches = self.split_rows(node, rows, weight)
        return sum(
            self.errors_if_sent(kid, *kid_rows) for kid, kid_rows in zip(node.kids, branches, strict=True)
        )

    def refill(self, node: Node, rows: Ints, weight: Floats) -> None:
        """Rebuild the counts of a subtree from the rows that now reach it."""
        node.counts = self.counts(rows, weight)
        if node.feature != LEAF:
            for kid, kid_rows in zip(node.kids, self.split_rows(node, rows, weight), strict=True):
                self.refill(kid, *kid_rows)


def _last_largest(totals: Floats) -> int:
    """Return the largest, the last of those equal within the tolerance, by a scan in order."""
    best = -np.inf
    index = 0
    for i, total in enumerate(totals):
        if total >= best - EPS:
            best = total
            index = i
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
    if node.kids:
        return sum(map(_training_errors, node.kids))
    return _leaf_errors(node)


def flatten(root: Node) -> FlatTree:
    """Return the nodes as arrays, numbered breadth-first."""
    nodes = [root]
    for node in nodes:  # grows while it is walked
        nodes.extend(node.kids)
    return FlatTree(
        feature=np.array([node.feature for node in nodes], dtype=np.int64),
        threshold=np.array([node.threshold for node in nodes]),
        kids=np.array([len(node.kids) for node in nodes], dtype=np.int64),
        counts=np.array([node.counts for node in nodes]),
    )
