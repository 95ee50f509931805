"""Columns that give the label away.

What separates a column that gives the label away, and so was probably not known before it, from honest ones
was measured on the shipped data sets. The strongest honest column is Dutch ``edu_level``, which explains 27 %
of the label's entropy (Adult: ``relationship``, 21 %; COMPAS: ``decile_score``, 9 %); the weakest column of
COMPAS that simply restates the outcome is ``event``, 51 %.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairbench_cli.data.checks.rows import Finding, Mask, RawRows, drop
from fairbench_cli.data.table import Floats, Rows

EXPLAINED = 0.40  # of the label's entropy
BINS = 50  # numbers with more values than this are cut into as many quantiles,
ROWS = 20  # or into fewer, so that each has this many rows
SURE_LEAK = 0.75  # of the errors of guessing that are gone where a column has a value, or has none
EXPECTED = 15  # errors that guessing must make there; fewer may be gone by chance


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away.

    Parameters
    ----------
    column : str
        Its name.
    how : str
        In what way.
    accuracy : float
        Share of rows whose label is predicted correctly from this column alone.
    explained : float
        Share of the label's entropy that it explains, at most 1 (below 0 when it misleads).
    """

    column: str
    how: str
    accuracy: float
    explained: float


def leaks(rows: RawRows) -> list[Leak]:
    """Return the columns that give the label away, whether the card uses them or not; the worst first.

    A column does so in one of three ways:

    * by its values: they explain at least 40 % of the label's entropy (`explained_by`);
    * by its gaps: where it has a value, or where it has none, at least 75 % of the errors are gone that
      guessing the label of that side would make (Loevinger's H), as when only those who offended again
      have the number of a new case. In Adult, the rows without ``occupation`` have .61;
    * as a copy: it has two values, and they say just whether such a column is filled in.

    Columns that explain less go unnamed: no threshold parts COMPAS' ``out_custody`` (6 %), which is
    partly from after the outcome, from Dutch ``edu_level``.
    """
    y = rows.favourable[rows.complete]
    found: list[Leak] = []
    patterns: dict[bytes, str] = {}
    quiet: list[tuple[str, Rows]] = []
    for name in rows.cells.columns:
        if name == rows.card.label.column:
            continue
        cells = rows.cells[name][rows.complete]
        gap = rows.is_gap(name)[rows.complete]
        by_value = codes_of(cells, rows.gaps)
        if gives_away(gap, y):
            patterns.setdefault(_pattern(gap), name)
            found.append(_leak(name, "filled in for one label only", gap.astype(np.intp), y))
        elif explained_by(by_value, y) >= EXPLAINED:
            found.append(_leak(name, "its values", by_value, y))
        else:
            quiet.append((name, by_value))
    for name, by_value in quiet:
        if by_value.max() == 1 and (like := patterns.get(_pattern(by_value == 1))):
            found.append(_leak(name, f"the gaps of {like}", by_value, y))
    return sorted(found, key=lambda leak: -leak.explained)


def guessing(rows: RawRows) -> float:
    """Return the accuracy of always predicting the commoner label."""
    rate = float(rows.favourable[rows.complete].mean())
    return max(rate, 1 - rate)


def leak_words(rows: RawRows, leak: Leak) -> str:
    """Return what a leak is, in words."""
    right = f"alone right on {leak.accuracy:.0%} of rows, guessing on {guessing(rows):.0%}"
    return f"gives {rows.card.label.column} away ({leak.how}): {right}"


def codes_of(cells: "pd.Series[str]", gaps: tuple[str, ...] = ("",)) -> Rows:
    """Return the values of a column as codes: gaps are one value, many numbers are cut into quantiles.

    >>> codes_of(pd.Series(["b", "a", "", "?"]), ("", "?")).tolist()
    [0, 1, 2, 2]
    """
    codes, distinct = pd.factorize(cells.to_numpy(dtype=object))
    gap = np.isin(distinct.astype(str), gaps)
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=np.float64)
    bins = min(BINS, max(2, len(cells) // ROWS))
    if (~gap).sum() > bins and np.isfinite(numbers[~gap]).all():
        here = numbers[codes][~gap[codes]]
        edges = np.unique(np.quantile(here, np.linspace(0, 1, bins + 1)[1:-1]))
        of_value = np.where(gap, len(edges) + 1, np.searchsorted(edges, numbers))
    else:
        of_value = np.where(gap, len(distinct), np.arange(len(distinct)))
    return np.unique(of_value[codes], return_inverse=True)[1].astype(np.intp)


def explained_by(codes: Rows, y: Mask) -> float:
    """Return the share of the label's entropy that a column explains, each row judged without itself.

    A row's favourable label is expected at the rate of the other rows of its value, drawn a little (by one
    row) to the rate of all: so an identifier explains nothing. At most 1; below 0 for a column that misleads.

    >>> y = np.array([True, False] * 50)
    >>> round(explained_by(np.arange(100), y), 3), round(explained_by(np.array([0, 1] * 50), y), 2)
    (0.0, 0.99)
    """
    n, k, high, low = _expected(codes, y)
    rate = float(y.mean())
    entropy = -(rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
    log_high = np.log(high, where=k > 0, out=np.zeros_like(high))
    log_low = np.log(1 - low, where=n > k, out=np.zeros_like(low))
    return 1 + float((k * log_high + (n - k) * log_low).sum()) / len(y) / entropy


def accuracy_by(codes: Rows, y: Mask) -> float:
    """Return the share of rows whose label is predicted correctly, each row judged without itself."""
    n, k, high, low = _expected(codes, y)
    return float((k * (high > 0.5) + (n - k) * (low <= 0.5)).sum()) / len(y)


def _expected(codes: Rows, y: Mask) -> tuple[Floats, ...]:
    """Return per value: rows, favourable rows, and the rates expected for favourable and other rows."""
    n: Floats = np.bincount(codes).astype(np.float64)
    k: Floats = np.bincount(codes, weights=y).astype(np.float64)
    rate = float(y.mean())
    return n, k, (k - 1 + rate) / n, (k + rate) / n


def gives_away(gap: Mask, y: Mask) -> bool:
    """Return whether having a value, or having none, all but settles the label.

    >>> y = np.arange(200) < 100
    >>> gives_away(np.arange(200) >= 60, y), gives_away(np.arange(200) % 3 == 0, y)
    (True, False)
    """
    return any(_errors_gone(side, labels) >= SURE_LEAK for side in (gap, ~gap) for labels in (y, ~y))


def _errors_gone(side: Mask, label: Mask) -> float:
    """Return Loevinger's H of "on this side, always this label"; 0 where few errors are expected."""
    expected = side.sum() * (1 - label.mean())
    return 0.0 if side.all() or expected < EXPECTED else 1 - float((side & ~label).sum() / expected)


def _pattern(marks: Mask) -> bytes:
    """Return a key of which rows are on the first one's side."""
    return bytes(np.packbits(marks ^ marks[0]).tobytes())


def _leak(name: str, how: str, codes: Rows, y: Mask) -> Leak:
    return Leak(name, how, accuracy_by(codes, y), explained_by(codes, y))


def leak_finding(rows: RawRows, leak: Leak) -> Finding:
    """Return a leak as a finding: what to do about it, and whether the card uses the column."""
    fix = f"{drop(leak.column)}, unless it is known before the outcome"
    where, used = rows.card.where("columns", leak.column), not rows.card.drops(leak.column)
    return Finding("leak", leak.column, leak_words(rows, leak), fix, where, used)
