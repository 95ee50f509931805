"""Printed rows that no confusion matrix of the test rows has.

With p the favoured share of the test rows, b and c the favourable shares of the favoured and the deprived, T
and F the true and false positive rates of the favoured, t and f those of the deprived:

    discrimination  = b T + (1 - b) F - c t - (1 - c) f
    accuracy        = p (b T + (1 - b) (1 - F)) + (1 - p) (c t + (1 - c) (1 - f))
    overestimation  = F - f
    underestimation = T - t

All four are linear in the rates. So what holds of one model holds of the means over models that are tested on
the same rows, which papers print: they meet the equations with the means of the rates.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.measures.counts import Floats

MEASURES = ("discrimination", "accuracy", "overestimation", "underestimation")
_SLACK = 1e-7  # of what solves a linear programme


@dataclass(frozen=True)
class PrintedRows:
    """The rows of a paper, from whichever of its tables, that have all four numbers.

    Parameters
    ----------
    n : int
        How many there are.
    impossible : dict
        Of those that cannot be one confusion matrix, the farthest off first, the labels, and the indices of
        the four numbers in the frame of published values.
    """

    n: int = 0
    impossible: dict[tuple[Hashable, ...], list[int]] = field(default_factory=dict)


NO_ROWS = PrintedRows()


def find_printed_rows(
    published: pd.DataFrame, axes: Sequence[str], label_counts: Sequence[Floats], rounding: float
) -> PrintedRows:
    """Find the printed rows, and which of them are impossible.

    Parameters
    ----------
    published : DataFrame
        As `read_published` gives it.
    axes : sequence of str
        The columns whose labels the four numbers of a row share.
    label_counts : sequence
        Per published value the labels of the test rows, as `least_error` takes them; a 0 where not known.
    rounding : float
        How far off each number may be.
    """
    numbers = published[published["metric"].isin(MEASURES) & published["value"].notna()]
    errors: dict[tuple[Hashable, ...], float] = {}
    indices: dict[tuple[Hashable, ...], list[int]] = {}
    for labels, row in numbers.groupby(list(axes), sort=False):
        of_row = label_counts[row.index[0]]
        if len(row) == len(MEASURES) and np.all(of_row):
            printed = row.set_index("metric").loc[list(MEASURES), "value"]
            errors[labels] = least_error(printed.to_numpy(), of_row)
            indices[labels] = list(row.index)
    impossible = [labels for labels, error in errors.items() if error > rounding + _SLACK]
    impossible.sort(key=lambda labels: -errors[labels])
    return PrintedRows(len(errors), {labels: indices[labels] for labels in impossible})


def least_error(printed: Floats, label_counts: Floats) -> float:
    """Return how far off one of the four numbers must be at least, if all are of one confusion matrix.

    Parameters
    ----------
    printed : float array, shape (4,)
        In the order of `MEASURES`.
    label_counts : float array, shape (2, 2)
        Test rows of the deprived and of the favoured group, with the unfavourable and the favourable label;
        none is 0.

    Examples
    --------
    >>> label_counts = np.array([[60.0, 40.0], [50.0, 50.0]])
    >>> least_error(np.array([0.1, 1.0, 0.0, 0.0]), label_counts)  # a perfect model's
    0.0
    >>> round(least_error(np.array([0.2, 1.0, 0.0, 0.0]), label_counts), 4)
    0.0526
    """
    from scipy.optimize import linprog

    # Of the rates f, t, F, T.
    shares = label_counts / label_counts.sum(axis=1, keepdims=True)
    weights = label_counts / label_counts.sum()
    equations = np.array(
        [
            [*-shares[0], *shares[1]],
            [-weights[0, 0], weights[0, 1], -weights[1, 0], weights[1, 1]],
            [-1, 0, 1, 0],
            [0, -1, 0, 1],
        ]
    )
    targets = printed - [0, weights[:, 0].sum(), 0, 0]
    # The least e with -e <= equations @ rates - targets <= e.
    allowed = -np.ones((4, 1))
    optimum: Any = linprog(
        [0, 0, 0, 0, 1],
        A_ub=np.block([[equations, allowed], [-equations, allowed]]),
        b_ub=np.concatenate([targets, -targets]),
        bounds=[(0, 1)] * 4 + [(0, None)],
    )
    return float(optimum.fun)
