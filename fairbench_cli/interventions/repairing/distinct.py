"""The numeric repair of the original Auditor tool, whose quantiles are over a group's distinct values."""

import numpy as np

from fairbench_cli.data.table import Codes, Floats, Labels


def repair_by_distinct_values(codes: Codes, s: Labels, values: Floats, level: float) -> Codes:
    """Repair a column as the original tool repairs numbers; both groups have rows.

    Each group's distinct values are cut into as many runs as the group with the fewer of them has values.
    The q-th runs of both groups move towards the smaller of their lower medians, a part `level` of the way
    in steps from one occurring value to the next. How many rows have a value does not matter, so a column
    whose values all occur in both groups stays as it is.

    Parameters
    ----------
    codes : int16 array, shape (rows,)
    s : int8 array, shape (rows,)
    values : float array, shape (levels,)
        The number that each code stands for, in any order.
    level : float
        0 to 1.

    >>> codes = np.array([0, 1, 1, 1, 1, 2, 2], dtype=np.int16)
    >>> s = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int8)
    >>> repair_by_distinct_values(codes, s, np.array([10.0, 20.0, 30.0]), 1.0).tolist()
    [0, 1, 1, 1, 0, 1, 1]
    """
    place = np.argsort(np.argsort(values, kind="stable"), kind="stable")[codes]
    seen, places = np.unique(place, return_inverse=True)
    own = [np.unique(places[s == group]) for group in (0, 1)]
    runs = min(map(len, own))
    # The original adds 1/runs up; where a run ends by rounding depends on it.
    ends = np.concatenate([[0.0], np.cumsum(np.full(runs, 1 / runs))])
    cuts = [np.rint(ends * len(some)).astype(np.intp) for some in own]
    medians = [some[(cut[:-1] + cut[1:] - 1) // 2] for some, cut in zip(own, cuts, strict=True)]
    goal = np.minimum(*medians)
    moved = np.empty((2, len(seen)), dtype=np.intp)
    for group, (some, cut) in enumerate(zip(own, cuts, strict=True)):
        goals = np.repeat(goal, np.diff(cut))
        moved[group, some] = some + np.rint(level * (goals - some)).astype(np.intp)
    code_at = np.argsort(values, kind="stable")
    return code_at[seen[moved[s, places]]].astype(np.int16)
