"""Compiled: rows of two groups called anew by chance, and the sums of each such split; see `splits`."""

import numpy as np

from fairbench_cli.base.compiled_files import compiled, kept_whole
from fairbench_cli.measures.counts import Floats

TERMS = 5  # w, wy, w², w²y, w²y²
STEP = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64 of Steele, Lea and Flood (2014)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFTS = np.array([30, 27, 31, 11], dtype=np.uint64)
FRACTION = 2.0**-53


def sum_drawn(
    values: Floats, weights: Floats, n_group: int, n_drawn: int, n_splits: int, seed: int
) -> Floats:
    """Return the sums of the drawn rows, apart for rows of the group and of the reference.

    Parameters
    ----------
    values : array, shape (rows,)
        The group's first.
    weights : array, shape (rows,) or (0,)
        None: each row's is 1.
    n_group, n_drawn, n_splits, seed : int

    Returns
    -------
    array, shape (2, 5, splits)
    """
    with kept_whole(_sum_drawn, draw_word):
        return np.asarray(_sum_drawn(values, weights, n_group, n_drawn, n_splits, np.uint64(seed)))


@compiled
def draw_word(state):
    """Return the state that follows, and its random word."""
    state = state + STEP
    word = (state ^ (state >> SHIFTS[0])) * FIRST_FACTOR
    word = (word ^ (word >> SHIFTS[1])) * SECOND_FACTOR
    return state, word ^ (word >> SHIFTS[2])


@compiled
def _sum_drawn(values, weights, n_group, n_drawn, n_splits, seed):
    n_rows = len(values)
    has_weights = len(weights) > 0
    sums = np.zeros((2, TERMS, n_splits))
    order = np.arange(n_rows)
    state = seed
    for split in range(n_splits):
        for i in range(n_drawn):  # a shuffle of the first places alone: of any order it is as good
            state, word = draw_word(state)
            j = i + int(float(word >> SHIFTS[3]) * FRACTION * (n_rows - i))
            row = order[j]
            order[j] = order[i]
            order[i] = row
            side = int(row >= n_group)
            weight = weights[row] if has_weights else 1.0
            value = values[row]
            sums[side, 0, split] += weight
            sums[side, 1, split] += weight * value
            sums[side, 2, split] += weight * weight
            sums[side, 3, split] += weight * weight * value
            sums[side, 4, split] += weight * weight * value * value
    return sums
