"""Numbers to levels: equal-width bins and capped counts."""

import numpy as np
import pandas as pd

from fairbench_cli.data.card import Bins


def bin_numbers(numbers: "pd.Series[float]", bins: Bins, *, whole: bool) -> "pd.Series[str]":
    """Cut numbers into equal-width bins, closed on the right.

    Whole numbers get labels such as ``25-31``, others such as ``(24.3, 31.6]``.

    >>> list(bin_numbers(pd.Series([17, 24, 25, 90]), Bins(count=10, low=17, high=90), whole=True))
    ['17-24', '17-24', '25-31', '83-90']
    """
    low = float(numbers.min()) if bins.low is None else bins.low
    high = float(numbers.max()) if bins.high is None else bins.high
    if low >= high:
        raise ValueError(f'column "{numbers.name}" has one value only and cannot be cut into bins')
    edges = np.linspace(low, high, bins.count + 1)
    codes = np.searchsorted(edges[1:-1], numbers.to_numpy(dtype=float), side="left")
    labels = _whole_labels(edges) if whole else _real_labels(edges)
    if len(set(labels)) < len(labels):
        raise ValueError(f'column "{numbers.name}": {bins.count} bins are too narrow; use fewer')
    return pd.Series(pd.Categorical.from_codes(codes, labels), index=numbers.index, name=numbers.name)


def cap_numbers(numbers: "pd.Series[float]", cap: int) -> "pd.Series[str]":
    """Make whole numbers levels, with everything from `cap` on in one.

    >>> list(cap_numbers(pd.Series([0, 2, 7]), 3))
    ['0', '2', '3+']
    """
    if (numbers < 0).any() or (numbers % 1 != 0).any():
        raise ValueError(f'column "{numbers.name}": cap needs whole numbers from 0 on')
    labels = [*(str(i) for i in range(cap)), f"{cap}+"]
    codes = numbers.clip(upper=cap).astype(int)
    return pd.Series(pd.Categorical.from_codes(codes, labels), index=numbers.index, name=numbers.name)


def _whole_labels(edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    starts = [int(np.ceil(edges[0])), *(int(np.floor(edge)) + 1 for edge in edges[1:-1])]
    ends = [int(np.floor(edge)) for edge in edges[1:]]
    return [f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]


def _real_labels(edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    shown = [f"{edge:.6g}" for edge in edges]
    first = f"[{shown[0]}, {shown[1]}]"
    return [first, *(f"({a}, {b}]" for a, b in zip(shown[1:-1], shown[2:], strict=True))]
