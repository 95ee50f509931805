"""The fast path for complete nominal data: equal rows merged, then compiled loops.

Same rules and same trees as `reference`; only the bookkeeping differs. The rows of a node are a segment of
`order`, and those of its children are segments of that segment, so sending rows through a split is a counting
sort in place.
"""

import math

import numpy as np

from fairbench_cli.base.compiled_files import compiled, kept_whole
from fairbench_cli.classifiers.c45.tree import EPS, FlatTree, Floats, Ints, Rules, TreeRows, normal_quantile

NODE = np.dtype(
    [("feature", np.int64), ("first", np.int64), ("kids", np.int64), ("start", np.int64), ("stop", np.int64)]
)


def build(columns: TreeRows, y: Ints, weight: Floats, classes: int, rules: Rules) -> FlatTree:
    """Return a tree as `reference.build` does, for nominal columns without missing values."""
    codes, weights = merge_equal_rows(columns, y, weight, classes)
    levels = np.array(columns.levels, dtype=np.int64)
    has_few_levels = levels < 0.3 * len(columns) - EPS
    if not has_few_levels.any():
        has_few_levels[:] = True
    with kept_whole(grow, collapse, prune, _ends):
        nodes, counts, order = grow(codes, weights, levels, has_few_levels, rules.min_leaf)
        if rules.collapse:
            collapse(nodes, counts)
        if rules.prune:
            scratch = np.zeros_like(counts)
            below = np.zeros(len(nodes))
            arrays = (nodes, counts, below, scratch, order, codes, weights)
            z = normal_quantile(rules.confidence)
            prune(0, *arrays, rules.confidence, z, rules.raise_subtrees)
    return _compact(nodes, counts)


def ends(feature: Ints, first_child: Ints, codes: np.ndarray) -> Ints:
    """Return the node in which each row ends, shape (rows,), where no value is missing."""
    with kept_whole(grow, collapse, prune, _ends):
        return np.asarray(_ends(feature, first_child, codes))


def merge_equal_rows(rows: TreeRows, y: Ints, weight: Floats, classes: int) -> tuple[np.ndarray, Floats]:
    """Return the distinct rows and their class weights, shape (distinct rows, classes)."""
    first_rows, group = rows.distinct
    weights = np.bincount(group * classes + y, weight, minlength=len(first_rows) * classes)
    return np.ascontiguousarray(rows.codes[first_rows]), np.asarray(weights, dtype=np.float64).reshape(
        -1, classes
    )


def _compact(nodes: np.ndarray, counts: Floats) -> FlatTree:
    """Return the nodes that are still reached, numbered breadth-first."""
    old = [0]
    for node in old:  # grows while it is walked
        start = int(nodes["first"][node])
        old.extend(range(start, start + int(nodes["kids"][node])))
    reached = nodes[old]
    return FlatTree(reached["feature"].copy(), np.full(len(old), np.nan), reached["kids"].copy(), counts[old])


@compiled
def _ends(feature, first_child, codes):
    leaf = np.zeros(len(codes), np.int64)
    for row in range(len(codes)):
        node = 0
        while feature[node] >= 0:
            node = first_child[node] + codes[row, feature[node]]
        leaf[row] = node
    return leaf


@compiled
def _xlogx(x):
    if x < 1e-6:
        return 0.0
    return x * math.log2(x)


@compiled
def grow(codes, weights, levels, has_few_levels, min_leaf):
    """Return nodes (dtype `NODE`, breadth-first), their class weights, and the rows in segment order."""
    rows, m = codes.shape
    classes = weights.shape[1]
    offset = np.zeros(m + 1, np.int64)
    for j in range(m):
        offset[j + 1] = offset[j] + levels[j]
    table = np.zeros((offset[m], classes))
    order = np.arange(rows)
    buffer = np.empty(rows, np.int64)
    branch_ends = np.empty(levels.max() + 1, np.int64)
    gains = np.empty(m)
    ratios = np.empty(m)
    valid = np.empty(m, np.bool_)
    nodes = np.zeros(1024, NODE)
    counts = np.zeros((1024, classes))
    is_used = np.zeros((1024, m), np.bool_)
    nodes[0]["feature"] = -1
    nodes[0]["stop"] = rows
    for r in range(rows):
        for k in range(classes):
            counts[0, k] += weights[r, k]
    n = 1
    i = 0
    while i < n:
        start = nodes[i]["start"]
        stop = nodes[i]["stop"]
        total = 0.0
        top = 0.0
        entropy = 0.0
        for k in range(classes):
            total += counts[i, k]
            top = max(top, counts[i, k])
            entropy -= _xlogx(counts[i, k])
        entropy += _xlogx(total)
        if total < 2 * min_leaf - EPS or total - top <= EPS:
            i += 1
            continue
        table[:] = 0.0
        for p in range(start, stop):
            r = order[p]
            for j in range(m):
                if not is_used[i, j]:
                    t = offset[j] + codes[r, j]
                    for k in range(classes):
                        table[t, k] += weights[r, k]
        best = _choose(
            table, offset, is_used[i], has_few_levels, min_leaf, total, entropy, gains, ratios, valid
        )
        if best < 0:
            i += 1
            continue
        kids = levels[best]
        while n + kids > len(nodes):
            nodes = np.concatenate((nodes, np.zeros(len(nodes), NODE)))
            counts = np.concatenate((counts, np.zeros(counts.shape)))
            is_used = np.concatenate((is_used, np.zeros(is_used.shape, np.bool_)))
        nodes[i]["feature"] = best
        nodes[i]["first"] = n
        nodes[i]["kids"] = kids
        sort_segment(order, buffer, branch_ends, codes, best, kids, start, stop)
        for v in range(kids):
            kid = n + v
            nodes[kid]["feature"] = -1
            nodes[kid]["start"] = start if v == 0 else nodes[kid - 1]["stop"]
            nodes[kid]["stop"] = branch_ends[v]
            counts[kid] = table[offset[best] + v]
            is_used[kid] = is_used[i]
            is_used[kid, best] = True
        n += kids
        i += 1
    return nodes[:n].copy(), counts[:n].copy(), order


@compiled
def _choose(table, offset, is_used, has_few_levels, min_leaf, total, entropy, gains, ratios, valid):
    """Return the column with the best gain ratio among those of at least average gain, or -1."""
    classes = table.shape[1]
    average = 0.0
    averaged = 0
    for j in range(len(is_used)):
        valid[j] = False
        if is_used[j]:
            continue
        large = 0
        inside = 0.0
        information = _xlogx(total)
        for t in range(offset[j], offset[j + 1]):
            size = 0.0
            for k in range(classes):
                size += table[t, k]
            if size >= min_leaf - EPS:
                large += 1
            if size > 0.0:
                size_xlogx = _xlogx(size)
                information -= size_xlogx
                inside += size_xlogx
                for k in range(classes):
                    inside -= _xlogx(table[t, k])
        if large < 2:
            continue
        valid[j] = True
        saved = entropy - inside
        gains[j] = 0.0 if abs(saved) <= EPS else saved / total
        ratios[j] = 0.0 if abs(information) <= EPS else gains[j] / (information / total)
        if has_few_levels[j]:
            average += gains[j]
            averaged += 1
    if averaged == 0:
        return -1
    least = average / averaged - 1e-3
    best = -1
    ratio = 0.0
    for j in range(len(is_used)):
        if valid[j] and gains[j] >= least and ratios[j] > ratio + EPS:
            best = j
            ratio = ratios[j]
    return best


@compiled
def sort_segment(order, buffer, branch_ends, codes, feature, kids, start, stop):
    """Sort a segment of rows by a column; `branch_ends` then holds where each branch ends."""
    for v in range(kids):
        branch_ends[v] = 0
    for p in range(start, stop):
        branch_ends[codes[order[p], feature]] += 1
    before = start
    for v in range(kids):
        size = branch_ends[v]
        branch_ends[v] = before
        before += size
    for p in range(start, stop):
        v = codes[order[p], feature]
        buffer[branch_ends[v]] = order[p]
        branch_ends[v] += 1
    for p in range(start, stop):
        order[p] = buffer[p]


@compiled
def collapse(nodes, counts):
    """Make a leaf of every node whose subtree makes no fewer training errors; top-down."""
    n, classes = counts.shape
    leaf = np.zeros(n)
    below = np.zeros(n)
    for i in range(n - 1, -1, -1):  # children stand behind their parents
        total = 0.0
        top = 0.0
        for k in range(classes):
            total += counts[i, k]
            top = max(top, counts[i, k])
        leaf[i] = total - top
        if nodes[i]["feature"] < 0:
            below[i] = leaf[i]
        for v in range(nodes[i]["kids"]):
            below[i] += below[nodes[i]["first"] + v]
    for i in range(n):
        if nodes[i]["feature"] >= 0 and below[i] >= leaf[i] - 1e-3:
            nodes[i]["feature"] = -1
            nodes[i]["kids"] = 0


@compiled
def _estimate(counts, confidence, z):
    """Return the estimated errors of a leaf; see `tree.added_errors`."""
    n = 0.0
    top = 0.0
    for k in range(len(counts)):
        n += counts[k]
        top = max(top, counts[k])
    if n <= 0.0:
        return 0.0
    e = n - top
    if e < 1.0:
        none = n * (1.0 - confidence ** (1.0 / n))
        return e + none + e * (_limit(n, 1.0, z) - none)
    return e + _limit(n, e, z)


@compiled
def _limit(n, e, z):
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    f = (e + 0.5) / n
    root = math.sqrt(f / n - f * f / n + z * z / (4.0 * n * n))
    return n * (f + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n) - e


@compiled
def prune(i, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees):
    """Prune the subtree of node `i`; `below[i]` is then its estimated errors."""
    leaf = _estimate(counts[i], confidence, z)
    below[i] = leaf
    if nodes[i]["feature"] < 0:
        return
    tree = 0.0
    largest = 0
    size = -np.inf
    for v in range(nodes[i]["kids"]):
        kid = nodes[i]["first"] + v
        prune(kid, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees)
        tree += below[kid]
        total = counts[kid].sum()
        if total >= size - EPS:
            largest = kid
            size = total
    branch = np.inf
    if raise_subtrees:
        branch = _if_sent(
            largest, nodes[i]["start"], nodes[i]["stop"], nodes, scratch, order, codes, weights, confidence, z
        )
    if leaf <= tree + 0.1 + EPS and leaf <= branch + 0.1 + EPS:
        nodes[i]["feature"] = -1
        nodes[i]["kids"] = 0
    elif branch <= tree + 0.1 + EPS:
        nodes[i]["feature"], nodes[i]["kids"] = nodes[largest]["feature"], nodes[largest]["kids"]
        nodes[i]["first"] = nodes[largest]["first"]
        _refill(i, nodes, counts, order, codes, weights)
        prune(i, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees)
    else:
        below[i] = tree


@compiled
def _if_sent(node, start, stop, nodes, scratch, order, codes, weights, confidence, z):
    """Return the estimated errors of a subtree if a segment's rows were sent through it."""
    classes = weights.shape[1]
    touched = np.empty(stop - start, np.int64)
    n = 0
    for p in range(start, stop):
        r = order[p]
        child = node
        while nodes[child]["feature"] >= 0:
            child = nodes[child]["first"] + codes[r, nodes[child]["feature"]]
        fresh = True
        for k in range(classes):
            fresh = fresh and scratch[child, k] == 0.0
        if fresh:
            touched[n] = child
            n += 1
        for k in range(classes):
            scratch[child, k] += weights[r, k]
    errors = 0.0
    for t in range(n):
        # A row of zero weight leaves its leaf looking fresh, so a leaf may be listed twice; the second time
        # its weights are zero and add nothing.
        errors += _estimate(scratch[touched[t]], confidence, z)
        scratch[touched[t]] = 0.0
    return errors


@compiled
def _refill(i, nodes, counts, order, codes, weights):
    """Send the rows of node `i` through the subtree that it has taken over."""
    if nodes[i]["feature"] < 0:
        return
    start = nodes[i]["start"]
    stop = nodes[i]["stop"]
    first_child = nodes[i]["first"]
    kids = nodes[i]["kids"]
    buffer = np.empty(stop, np.int64)
    branch_ends = np.empty(kids, np.int64)
    sort_segment(order, buffer, branch_ends, codes, nodes[i]["feature"], kids, start, stop)
    for v in range(kids):
        kid = first_child + v
        nodes[kid]["start"] = start if v == 0 else nodes[kid - 1]["stop"]
        nodes[kid]["stop"] = branch_ends[v]
        counts[kid] = 0.0
        for p in range(nodes[kid]["start"], nodes[kid]["stop"]):
            counts[kid] += weights[order[p]]
        _refill(kid, nodes, counts, order, codes, weights)
