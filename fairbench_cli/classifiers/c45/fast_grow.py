"""Growing, compiled (numba, cached on disk after the first use)."""

import math

import numba
import numpy as np

from fairbench_cli.classifiers.c45.estimates import EPS

NODE = np.dtype(
    [("feature", np.int64), ("first", np.int64), ("kids", np.int64), ("start", np.int64), ("stop", np.int64)]
)


@numba.njit(cache=True)
def _xlogx(x):
    return 0.0 if x < 1e-6 else x * math.log2(x)


@numba.njit(cache=True)
def grow(codes, weights, levels, few, min_leaf):
    """Return nodes (dtype `NODE`, breadth-first), their class weights, and the rows in segment order."""
    rows, m = codes.shape
    classes = weights.shape[1]
    offset = np.zeros(m + 1, np.int64)
    for j in range(m):
        offset[j + 1] = offset[j] + levels[j]
    table = np.zeros((offset[m], classes))
    order = np.arange(rows)
    buffer = np.empty(rows, np.int64)
    place = np.empty(levels.max() + 1, np.int64)
    gains, ratios, valid = np.empty(m), np.empty(m), np.empty(m, np.bool_)
    nodes = np.zeros(1024, NODE)
    counts = np.zeros((1024, classes))
    used = np.zeros((1024, m), np.bool_)
    nodes[0].feature, nodes[0].stop = -1, rows
    for r in range(rows):
        for k in range(classes):
            counts[0, k] += weights[r, k]
    n, i = 1, 0
    while i < n:
        start, stop = nodes[i].start, nodes[i].stop
        total, top, entropy = 0.0, 0.0, 0.0
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
                if not used[i, j]:
                    t = offset[j] + codes[r, j]
                    for k in range(classes):
                        table[t, k] += weights[r, k]
        best = _choose(table, offset, used[i], few, min_leaf, total, entropy, gains, ratios, valid)
        if best < 0:
            i += 1
            continue
        kids = levels[best]
        while n + kids > len(nodes):
            nodes = np.concatenate((nodes, np.zeros(len(nodes), NODE)))
            counts = np.concatenate((counts, np.zeros(counts.shape)))
            used = np.concatenate((used, np.zeros(used.shape, np.bool_)))
        nodes[i].feature, nodes[i].first, nodes[i].kids = best, n, kids
        sort_segment(order, buffer, place, codes, best, kids, start, stop)
        for v in range(kids):
            kid = n + v
            nodes[kid].feature = -1
            nodes[kid].start = start if v == 0 else nodes[kid - 1].stop
            nodes[kid].stop = place[v]
            counts[kid] = table[offset[best] + v]
            used[kid] = used[i]
            used[kid, best] = True
        n += kids
        i += 1
    return nodes[:n].copy(), counts[:n].copy(), order


@numba.njit(cache=True)
def _choose(table, offset, used, few, min_leaf, total, entropy, gains, ratios, valid):
    """Return the column with the best gain ratio among those of at least average gain, or -1."""
    classes = table.shape[1]
    average, averaged = 0.0, 0
    for j in range(len(used)):
        valid[j] = False
        if used[j]:
            continue
        large, inside, information = 0, 0.0, _xlogx(total)
        for t in range(offset[j], offset[j + 1]):
            size = 0.0
            for k in range(classes):
                size += table[t, k]
            if size >= min_leaf - EPS:
                large += 1
            if size > 0.0:
                part = _xlogx(size)
                information -= part
                inside += part
                for k in range(classes):
                    inside -= _xlogx(table[t, k])
        if large < 2:
            continue
        valid[j] = True
        saved = entropy - inside
        gains[j] = 0.0 if abs(saved) <= EPS else saved / total
        ratios[j] = 0.0 if abs(information) <= EPS else gains[j] / (information / total)
        if few[j]:
            average += gains[j]
            averaged += 1
    if averaged == 0:
        return -1
    least = average / averaged - 1e-3
    best, ratio = -1, 0.0
    for j in range(len(used)):
        if valid[j] and gains[j] >= least and ratios[j] > ratio + EPS:
            best, ratio = j, ratios[j]
    return best


@numba.njit(cache=True)
def sort_segment(order, buffer, place, codes, feature, kids, start, stop):
    """Sort a segment of rows by a column; `place` then holds where each branch ends."""
    for v in range(kids):
        place[v] = 0
    for p in range(start, stop):
        place[codes[order[p], feature]] += 1
    before = start
    for v in range(kids):
        size = place[v]
        place[v] = before
        before += size
    for p in range(start, stop):
        v = codes[order[p], feature]
        buffer[place[v]] = order[p]
        place[v] += 1
    for p in range(start, stop):
        order[p] = buffer[p]
