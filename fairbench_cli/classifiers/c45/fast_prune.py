"""Collapsing and pruning, compiled (numba, cached on disk after the first use)."""

import math

import numba
import numpy as np

from fairbench_cli.classifiers.c45.estimates import EPS
from fairbench_cli.classifiers.c45.fast_grow import sort_segment


@numba.njit(cache=True)
def collapse(nodes, counts):
    """Make a leaf of every node whose subtree makes no fewer training errors; top-down."""
    n, classes = counts.shape
    leaf, below = np.zeros(n), np.zeros(n)
    for i in range(n - 1, -1, -1):  # children stand behind their parents
        total, top = 0.0, 0.0
        for k in range(classes):
            total += counts[i, k]
            top = max(top, counts[i, k])
        leaf[i] = total - top
        if nodes[i].feature < 0:
            below[i] = leaf[i]
        for v in range(nodes[i].kids):
            below[i] += below[nodes[i].first + v]
    for i in range(n):
        if nodes[i].feature >= 0 and below[i] >= leaf[i] - 1e-3:
            nodes[i].feature, nodes[i].kids = -1, 0


@numba.njit(cache=True)
def _estimate(counts, confidence, z):
    """Return the estimated errors of a leaf; see `estimates.added_errors`."""
    n, top = 0.0, 0.0
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


@numba.njit(cache=True)
def _limit(n, e, z):
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    f = (e + 0.5) / n
    root = math.sqrt(f / n - f * f / n + z * z / (4.0 * n * n))
    return n * (f + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n) - e


@numba.njit(cache=True)
def prune(i, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees):
    """Prune the subtree of node `i`; `below[i]` is then its estimated errors."""
    leaf = _estimate(counts[i], confidence, z)
    below[i] = leaf
    if nodes[i].feature < 0:
        return
    tree, largest, size = 0.0, 0, -np.inf
    for v in range(nodes[i].kids):
        kid = nodes[i].first + v
        prune(kid, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees)
        tree += below[kid]
        total = counts[kid].sum()
        if total >= size - EPS:
            largest, size = kid, total
    branch = np.inf
    if raise_subtrees:
        branch = _if_sent(
            largest, nodes[i].start, nodes[i].stop, nodes, scratch, order, codes, weights, confidence, z
        )
    if leaf <= tree + 0.1 + EPS and leaf <= branch + 0.1 + EPS:
        nodes[i].feature, nodes[i].kids = -1, 0
    elif branch <= tree + 0.1 + EPS:
        nodes[i].feature, nodes[i].first, nodes[i].kids = (
            nodes[largest].feature,
            nodes[largest].first,
            nodes[largest].kids,
        )
        _refill(i, nodes, counts, order, codes, weights)
        prune(i, nodes, counts, below, scratch, order, codes, weights, confidence, z, raise_subtrees)
    else:
        below[i] = tree


@numba.njit(cache=True)
def _if_sent(node, start, stop, nodes, scratch, order, codes, weights, confidence, z):
    """Return the estimated errors of a subtree if a segment's rows were sent through it."""
    classes = weights.shape[1]
    touched = np.empty(stop - start, np.int64)
    n = 0
    for p in range(start, stop):
        r, at = order[p], node
        while nodes[at].feature >= 0:
            at = nodes[at].first + codes[r, nodes[at].feature]
        fresh = True
        for k in range(classes):
            fresh = fresh and scratch[at, k] == 0.0
        if fresh:
            touched[n] = at
            n += 1
        for k in range(classes):
            scratch[at, k] += weights[r, k]
    errors = 0.0
    for t in range(n):
        # A row of zero weight leaves its leaf looking fresh, so a leaf may be listed twice; the second time
        # its weights are zero and add nothing.
        errors += _estimate(scratch[touched[t]], confidence, z)
        scratch[touched[t]] = 0.0
    return errors


@numba.njit(cache=True)
def _refill(i, nodes, counts, order, codes, weights):
    """Send the rows of node `i` through the subtree that it has taken over."""
    if nodes[i].feature < 0:
        return
    start, stop, first, kids = nodes[i].start, nodes[i].stop, nodes[i].first, nodes[i].kids
    buffer = np.empty(stop, np.int64)
    place = np.empty(kids, np.int64)
    sort_segment(order, buffer, place, codes, nodes[i].feature, kids, start, stop)
    for v in range(kids):
        kid = first + v
        nodes[kid].start = start if v == 0 else nodes[kid - 1].stop
        nodes[kid].stop = place[v]
        counts[kid] = 0.0
        for p in range(nodes[kid].start, nodes[kid].stop):
            counts[kid] += weights[order[p]]
        _refill(kid, nodes, counts, order, codes, weights)
