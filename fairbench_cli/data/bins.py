"""Numbers to levels: equal-width bins and capped counts."""

from itertools import pairwise

import numpy as np

from fairbench_cli.data.descriptor import Bins
from fairbench_cli.data.levels import MOST_LEVELS, Misfit
from fairbench_cli.data.table import Codes, Column, Floats


def bin_numbers(name: str, numbers: Floats, bins: Bins, *, whole: bool) -> tuple[Column, Codes]:
    """Cut numbers into equal-width bins, closed on the right.

    Whole numbers get labels such as ``25-31``, others such as ``(24.3, 31.6]``.

    Raises
    ------
    Misfit
        When there is nothing to cut, or bins are so narrow that some hold no number.

    >>> ages = np.array([17.0, 24, 25, 90])
    >>> column, codes = bin_numbers("age", ages, Bins(count=10, low=17, high=90), whole=True)
    >>> [column.levels[code] for code in codes]
    ['17-24', '17-24', '25-31', '83-90']
    """
    low = float(numbers.min()) if bins.low is None else bins.low
    high = float(numbers.max()) if bins.high is None else bins.high
    if low >= high:
        raise Misfit(
            f'column "{name}" cannot be cut into bins: from {low:g} to {high:g} there is no room',
            "drop it, make it nominal, or correct `low` and `high`",
        )
    edges = np.linspace(low, high, bins.count + 1)
    labels = _whole_labels(edges) if whole else _real_labels(edges)
    if labels is None or len(set(labels)) < len(labels):
        raise Misfit(
            f'column "{name}": {bins.count} bins from {low:g} to {high:g} are too narrow', "use fewer bins"
        )
    codes: Codes = np.searchsorted(edges[1:-1], numbers, side="left").astype(np.int16)
    middles = tuple(((edges[:-1] + edges[1:]) / 2).tolist())
    return Column(name, tuple(labels), "bins", middles), codes


def cap_numbers(name: str, numbers: Floats, cap: int) -> tuple[Column, Codes]:
    """Make whole numbers levels, with everything from `cap` on in one.

    Raises
    ------
    Misfit
        For a number below 0.

    >>> column, codes = cap_numbers("priors", np.array([0.0, 2, 7]), 3)
    >>> column.levels, codes.tolist()
    (('0', '1', '2', '3+'), [0, 2, 3])
    """
    if numbers.min() < 0:
        raise Misfit(f'column "{name}" has {numbers.min():g}, but cap needs numbers from 0 on', "use bins")
    levels = (*(str(i) for i in range(cap)), f"{cap}+")
    values = tuple(map(float, range(cap + 1)))
    return Column(name, levels, "bins", values), np.minimum(numbers, cap).astype(np.int16)


def keep_numbers(name: str, numbers: Floats) -> tuple[Column, Codes]:
    """Keep numbers as they are, every distinct one a level.

    Raises
    ------
    Misfit
        When there are more distinct numbers than codes.

    >>> column, codes = keep_numbers("hours", np.array([40.0, 37.5, 40]))
    >>> column.levels, column.values, codes.tolist()
    (('37.5', '40'), (37.5, 40.0), [1, 0, 1])
    """
    values, codes = np.unique(numbers, return_inverse=True)
    if len(values) > MOST_LEVELS:
        raise Misfit(
            f'column "{name}" has {len(values)} different numbers, more than {MOST_LEVELS}',
            "put them into bins, or round them",
        )
    levels = tuple(_written(value) for value in values.tolist())
    return Column(name, levels, "number", tuple(values.tolist())), codes.astype(np.int16)


def _written(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _whole_labels(edges: Floats) -> list[str] | None:
    starts = [int(np.ceil(edges[0])), *(int(np.floor(edge)) + 1 for edge in edges[1:-1])]
    ends = [int(np.floor(edge)) for edge in edges[1:]]
    if any(start > end for start, end in zip(starts, ends, strict=True)):
        return None
    return [f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]


def _real_labels(edges: Floats) -> list[str]:
    written = [f"{edge:.6g}" for edge in edges]
    first = f"[{written[0]}, {written[1]}]"
    return [first, *(f"({a}, {b}]" for a, b in pairwise(written[1:]))]
