"""Whether the representation of the features matters, repeat by repeat; as Friedler et al. (2019) ask."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.report.paired import EQUAL, paired_test
from fairbench_cli.report.repeats import CELL_COLUMNS, DatasetRepeats
from fairbench_cli.report.results import RunResults

COLUMNS = [
    *(name for name in CELL_COLUMNS if name != "representation"), "first", "second", "metric", "n",
    "mean_first", "mean_second", "difference", "low", "high", "higher", "equal",
]  # fmt: skip


def pairs_of(data: DatasetRepeats, *, same: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the places of cells that differ in the representation alone, in the plan's order of these.

    Of cells of one representation that share a model the first counts.

    Parameters
    ----------
    same : bool
        Whether to yield those whose model is the same in both representations, or all others.
    """
    order = list(dict.fromkeys(cell["representation"] for cell in data.cells))
    places: dict[Any, dict[str, int]] = {}
    for i in np.flatnonzero(data.distinct):
        cell = data.cells[i]
        rest = tuple(cell[name] for name in CELL_COLUMNS if name != "representation")
        places.setdefault(rest, {})[cell["representation"]] = int(i)
    for own in places.values():
        for one, other in combinations([own[how] for how in order if how in own], 2):
            if (data.cells[one]["key"] == data.cells[other]["key"]) == same:
                yield one, other


def representations_frame(run: RunResults) -> pd.DataFrame:
    """Return representations.csv: every metric of every cell in two representations, over paired repeats.

    ``difference`` is second − first, the mean over the ``n`` repeats in which both have a finite value, with
    its 95 % t-interval; ``higher`` is the share of these in which the second is higher, ``equal`` in which
    the two are equal. Which cells: see `pairs_of`.
    """
    parts = [pd.DataFrame(columns=COLUMNS)]
    for data in run.datasets:
        found = list(pairs_of(data))
        if not found:
            continue
        one, other = np.array(found).T
        for metric in run.plan.config.at_hand:
            values = run.own_values(data, metric)
            x, y = values[one], values[other]
            with np.errstate(invalid="ignore"):  # infinite ratios are no pairs
                apart = y - x
            both = np.isfinite(apart)
            test = paired_test(apart)
            n = np.where(test.n > 0, test.n, np.nan)
            columns = {
                "first": [data.cells[i]["representation"] for i in one],
                "second": [data.cells[i]["representation"] for i in other],
                "metric": metric,
                "n": test.n.astype(int),
                "mean_first": np.where(both, x, 0).sum(axis=1) / n,
                "mean_second": np.where(both, y, 0).sum(axis=1) / n,
                "difference": test.mean,
                "low": test.low,
                "high": test.high,
                "higher": (both & (apart > EQUAL)).sum(axis=1) / n,
                "equal": (both & (np.abs(apart) <= EQUAL)).sum(axis=1) / n,
            }
            parts.append(data.frame.iloc[one].assign(**columns)[COLUMNS])
    return pd.concat(parts[1:] or parts, ignore_index=True)
