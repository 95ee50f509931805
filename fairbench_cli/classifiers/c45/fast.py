"""The fast path for complete nominal data: equal rows put together, then compiled loops.

Same rules and same trees as `reference`; only the bookkeeping differs. The rows of a node are a segment of
`order`, and those of its children are segments of that segment, so sending rows through a split is a counting
sort in place.
"""

import numpy as np

from fairbench_cli.classifiers.c45.columns import Columns, Floats, Ints
from fairbench_cli.classifiers.c45.estimates import EPS
from fairbench_cli.classifiers.c45.fast_grow import grow
from fairbench_cli.classifiers.c45.fast_prune import collapse, prune
from fairbench_cli.classifiers.c45.rules import Rules
from fairbench_cli.classifiers.c45.tree import Tree

_LARGEST_KEY = 2**62


def build(columns: Columns, y: Ints, weight: Floats, classes: int, rules: Rules) -> Tree:
    """Grow, collapse and prune a tree; as `reference.build`, for nominal columns without missing values."""
    codes, weights = merge_equal_rows(columns, y, weight, classes)
    levels = np.array(columns.levels, dtype=np.int64)
    few = levels < 0.3 * rules.rows - EPS
    if not few.any():
        few[:] = True
    nodes, counts, order = grow(codes, weights, levels, few, float(rules.min_leaf))
    if rules.collapse:
        collapse(nodes, counts)
    if rules.prune:
        scratch = np.zeros_like(counts)
        below = np.zeros(len(nodes))
        prune(
            0, nodes, counts, below, scratch, order, codes, weights,
            rules.confidence, rules.z, rules.raise_subtrees,
        )  # fmt: skip
    return _compact(nodes, counts)


def merge_equal_rows(columns: Columns, y: Ints, weight: Floats, classes: int) -> tuple[np.ndarray, Floats]:
    """Return the distinct rows and their class weights, shape (distinct rows, classes)."""
    codes = columns.codes
    size = 1.0
    for n in columns.levels:
        size *= n
    if size > _LARGEST_KEY:
        distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
        inverse = inverse.ravel()
    else:
        key = np.zeros(len(codes), dtype=np.int64)
        for j, n in enumerate(columns.levels):
            key *= n
            key += codes[:, j]
        _, index, inverse = np.unique(key, return_index=True, return_inverse=True)
        distinct = codes[index]
    weights = np.bincount(inverse * classes + y, weight, minlength=len(distinct) * classes)
    return np.ascontiguousarray(distinct), np.asarray(weights, dtype=np.float64).reshape(-1, classes)


def _compact(nodes: np.ndarray, counts: Floats) -> Tree:
    """Keep the nodes that are still reached, numbered breadth-first."""
    old, parent, first = [0], [-1], []
    for i, node in enumerate(old):  # grows while it is walked
        start, kids = int(nodes["first"][node]), int(nodes["kids"][node])
        first.append(len(old) if kids else 0)
        old.extend(range(start, start + kids))
        parent.extend([i] * kids)
    kept = nodes[old]
    return Tree(
        feature=kept["feature"].copy(),
        threshold=np.full(len(old), np.nan),
        first=np.array(first, dtype=np.int64),
        kids=kept["kids"].copy(),
        parent=np.array(parent, dtype=np.int64),
        counts=counts[old],
    )
