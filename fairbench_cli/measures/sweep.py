"""Counts at every acceptance rate: what the threshold on a score decides."""

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Counts, Floats, count

RATES: Floats = np.linspace(0, 1, 51)


def swept_counts(
    s: ArrayLike,
    y: ArrayLike,
    score: ArrayLike,
    groups: tuple[str, ...],
    rates: Floats = RATES,
) -> Counts:
    """Count rows when the share r with the highest scores is accepted, for every r.

    Rows that tie at the border are accepted in proportion, so counts need not be whole. A constant score is
    the random classifier of Žliobaitė (2015), and its counts are the expected ones.

    Parameters
    ----------
    s : array of int, shape (rows,)
        Index of each row's group in `groups`.
    y : array of int, shape (rows,)
        Label, 1 for the favourable outcome, else 0.
    score : array of float, shape (rows,)
        Higher is accepted earlier.
    groups : tuple of str
        Names of the groups.
    rates : array of float in [0, 1], shape (points,)
        Acceptance rates.

    Returns
    -------
    Counts
        Its ``n`` has shape (points, groups, 2, 2).

    Raises
    ------
    ValueError
        When a score is NaN, or groups and labels do not fit (see `count`).

    Examples
    --------
    >>> swept = swept_counts([0, 0, 1, 1], [0, 1, 0, 1], [0.1, 0.5, 0.5, 0.9], ("g", "f"), np.array([0.5]))
    >>> swept.n[0, :, :, 1].tolist()
    [[0.0, 0.5], [0.5, 1.0]]
    """
    score = np.asarray(score, dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError("a score is not a number")
    # Rounded, so that accepted and refused add up to the labels and records stay short; late enough for
    # sums over many groups.
    everybody = count(s, y, np.ones(len(score), dtype=np.int8), groups).labelled
    cell = np.asarray(s, dtype=np.intp) * 2 + np.asarray(y, dtype=np.intp)
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1) + 1  # of blocks of equal scores
    accepted = np.zeros((len(rates), 2 * len(groups)))
    for k in range(accepted.shape[1]):
        upto = np.concatenate([[0], np.cumsum(cell[order] == k)])
        accepted[:, k] = np.interp(rates * len(score), [0, *ends], upto[[0, *ends]])
    by_group = accepted.round(9).reshape(len(rates), len(groups), 2)
    return Counts(groups, np.stack([everybody - by_group, by_group], axis=-1))
