"""The order of slices, slices as one, and the words of trends over them."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from fairbench_cli.audit.compare.report import Interval, Pair
from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan.slices import Slice, merge_entries
from fairbench_cli.measures.significance import holm

TrendWord = Literal["rises", "falls", "steady", "undecided"]
NoTrend = Literal["few", "clusters", "chance", ""]
LEAST = 3  # slices of a trend; of two the change from one to the other says all

PERIODS = (  # year and part of it, and how many parts a year has
    (re.compile(r"(\d{4})[ _-]?[QqKk]([1-4])"), 4),
    (re.compile(r"(\d{4})[_/-]?(0[1-9]|1[0-2])"), 12),
    (re.compile(r"(\d{4})[ _-]?[Ww](\d{2})"), 53),
)


def are_strata(slices: Sequence[Slice], config: AuditConfig) -> bool:
    """Return whether slices have no order, as regions and categories have none: any of them decides."""
    names = list(dict.fromkeys(group_counts.model for group_counts in slices))
    return config.sliced_by is not None and parse_times(names) is None


def parse_times(names: Sequence[str]) -> list[float] | None:
    """Return when slices are: numbers, years, quarters, months, weeks or days; None where that is not known.

    >>> parse_times(["2013Q4", "2014Q1", "2014Q3"]), parse_times(["2013-11", "2014-02"])
    ([8055.0, 8056.0, 8058.0], [24166.0, 24169.0])
    >>> parse_times(["3", "4", "10"])
    [3.0, 4.0, 10.0]
    >>> parse_times(["north", "south"]) is None
    True
    """
    slice_times = _parse_numbers(names) or _parse_days(names)
    for form, periods_a_year in () if slice_times else PERIODS:
        matches = [form.fullmatch(name) for name in names]
        if all(matches):
            slice_times = [
                periods_a_year * float(match[1]) + float(match[2]) - 1 for match in matches if match
            ]
            break
    rising = slice_times is not None and all(a < b for a, b in pairwise(slice_times))
    if rising:
        return slice_times
    return None


def _parse_numbers(names: Sequence[str]) -> list[float] | None:
    try:
        values = [float(name) for name in names]
    except ValueError:
        return None
    if all(map(math.isfinite, values)):
        return values
    return None


def _parse_days(names: Sequence[str]) -> list[float] | None:
    from datetime import date

    try:
        return [float(date.fromisoformat(name[:10]).toordinal()) for name in names]
    except ValueError:
        return None


def merge_slices(slices: Sequence[Slice], decision: str) -> Slice:
    """Return slices of an attribute as one."""
    names: set[str] = set()
    for group_counts in slices:
        names.update(group_counts.counts.groups)
    groups = sorted(names, key=lambda group: (group == MISSING, group))
    index_of_group = {group: g for g, group in enumerate(groups)}
    indices_by_slice = []
    for group_counts in slices:
        slice_indices = [index_of_group[group] for group in group_counts.counts.groups]
        indices_by_slice.append(np.array(slice_indices, dtype=np.intp))
    cells = np.zeros((3, len(groups), 2, 2))
    for group_counts, indices in zip(slices, indices_by_slice, strict=True):
        cells[:, indices] += group_counts.cells
    merged = slices[0].with_cells(cells, tuple(groups), model="", decision=decision)
    ways = []
    for clusters_of_slices in zip(*(group_counts.cluster_ways for group_counts in slices), strict=True):
        by_slice = []
        for indices, clusters in zip(indices_by_slice, clusters_of_slices, strict=True):
            by_slice.append(replace(clusters, group=indices[clusters.group]))
        ways.append(merge_entries(by_slice))
    return merged.with_clusters(ways)


def cumulate_slices(slices: Sequence[Slice], decision: str) -> list[Slice]:
    """Return the slices of an attribute up to each of them as one: the first, the first two, and so on."""
    merged = [merge_slices(slices[:1], decision)]
    for group_counts in slices[1:]:
        merged.append(merge_slices([merged[-1], group_counts], decision))
    return merged


class FittedTrend(Pair):
    """What trends of rates and of numbers have in common; p is NaN where it is not tested."""

    change: Interval
    p: float
    p_holm: float
    word: TrendWord
    reason: NoTrend


Trend = TypeVar("Trend", bound=FittedTrend)


def add_trend_words(
    trends: Sequence[Trend], alpha: float, allow: Callable[[Trend], tuple[float, float, float]]
) -> Iterator[Trend]:
    """Yield trends adjusted for each other (Holm), and what they are; those without test as they are.

    They rise or fall where "no change" is rejected; they are steady where the whole interval is one that
    `allow` does: it returns no change, the lowest and the highest.
    """
    p = np.array([row.p for row in trends])
    adjusted = holm(np.where(np.isnan(p), 1.0, p)) if trends else p
    for row, p_holm in zip(trends, adjusted.tolist(), strict=True):
        if np.isnan(row.p):
            yield row
            continue
        none, lowest, highest = allow(row)
        word: TrendWord = "undecided"
        if p_holm < alpha:
            word = "rises" if row.change.value > none else "falls"
        elif lowest <= row.change.low and row.change.high <= highest:
            word = "steady"
        reason = "chance" if word == "undecided" else ""
        yield replace(row, p_holm=p_holm, word=word, reason=reason)  # type: ignore[call-arg]
