"""What became of each gap of rates, or of numbers, from one model or slice of the rows to the next.

A gap is the ratio of a group's rate to its reference's, which is smaller when it is closer to 1 on a log
scale: 0.5 and 2 are equally far; of a rate that goes by a margin, and of numbers, it is the difference,
which is smaller when it is closer to 0. It is better, or worse, where "the gaps are equally large" is
rejected after Holm over all changes that decide. With enough rows any change is beyond chance: it hardly
changed where the size of the difference moved by less than counts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fairbench_cli.audit.compare.family import adjust_family
from fairbench_cli.audit.compare.references import Bools
from fairbench_cli.audit.compare.report import Interval, Intervals
from fairbench_cli.measures.counts import Floats

# What became of a gap; hardly: it changed by more than chance, and by less than counts.
Word = Literal["better", "worse", "hardly", "undecided"]
# Why it is not decided: a rate is 0 or there are no rows, or no spread; few rows are there, or counted
# differently; not a single one is; the gap was turned around; chance may be why.
NoWord = Literal["no rows", "few", "same", "turned", "chance", ""]

UNTESTED: tuple[NoWord, ...] = ("no rows", "few", "same")
# What a change has before it is decided, and what one of numbers has not.
OPEN: dict[str, Any] = {"p_holm": math.nan, "change_p_holm": math.nan, "moved": False, "word": "undecided"}
NO_RATIOS: dict[str, Any] = dict.fromkeys(("ratio_before", "ratio_after", "ratio_change", "tau"))


@dataclass(frozen=True)
class Change:
    """One gap of one group under two models, or in two slices of the rows.

    What rates alone have is None of numbers: ratios and tau; and least_change is None of rates.

    Parameters
    ----------
    before, after : str
        The baseline, and the model or slice that is compared with it, as in `Disparity.model`.
    attribute, group, reference, metric : str
        What is compared; the reference is the same before and after.
    value_before, value_after : float
        The group's rate, or its mean.
    value_change : Interval
        value_after − value_before, of models rows paired.
    ratio_before, ratio_after : Interval
        To the reference.
    ratio_change : Interval
        ratio_after / ratio_before.
    difference_before, difference_after : Interval
        From the reference.
    difference_change : Interval
        difference_after − difference_before.
    p, p_holm : float
        Of the hypothesis that the gaps are equally large, see `measures.paired_change.same_size_p`; and
        adjusted over all changes that decide. NaN where nothing is tested.
    change_p, change_p_holm : float
        Of the hypothesis that the gaps are the same: that of the interval of the change.
    moved : bool
        Whether that is rejected where nothing is decided: neither nearer nor farther is shown.
    tau : float
        NaN of a rate that goes by a margin.
    margin : float or None
        How large a difference may be: NaN of a rate that goes by tau; None in an audit without margins.
    least_change : float
        By how much the size of a difference of numbers has to move to count.
    word : {"better", "worse", "hardly", "undecided"}
        Whether the gap is smaller than before, by more than chance, or larger; hardly, where the size of the
        difference, as measured, changed by less than the least change.
    reason : {"no rows", "few", "same", "turned", "chance", ""}
        Why it is not decided.
    deciding : bool
        Whether the metric is one that decides verdicts.
    """

    before: str
    after: str
    attribute: str
    group: str
    reference: str
    metric: str
    value_before: float
    value_after: float
    value_change: Interval
    ratio_before: Interval | None
    ratio_after: Interval | None
    ratio_change: Interval | None
    difference_before: Interval
    difference_after: Interval
    difference_change: Interval
    p: float
    p_holm: float
    change_p: float
    change_p_holm: float
    moved: bool
    tau: float | None
    margin: float | None
    least_change: float | None
    word: Word
    reason: NoWord
    deciding: bool

    @property
    def gaps(self) -> tuple[Interval, Interval, Interval]:
        """The number that is judged before, after, and how it changed: the ratios, or the differences."""
        if self.goes_by_ratio and self.ratio_before and self.ratio_after and self.ratio_change:
            return self.ratio_before, self.ratio_after, self.ratio_change
        return self.difference_before, self.difference_after, self.difference_change

    @property
    def goes_by_ratio(self) -> bool:
        """Whether the ratio is judged, and not the difference."""
        return self.tau is not None and not math.isnan(self.tau)

    @property
    def is_nearer(self) -> bool:
        """Whether the measured gap is smaller than before."""
        before, after, _ = (gap.value for gap in self.gaps)
        if self.goes_by_ratio:
            return abs(math.log(after)) < abs(math.log(before))
        return abs(after) < abs(before)


@dataclass(frozen=True)
class ValueChange:
    """A rate or a mean of everybody, or of one group that may be the reference, before and after."""

    before: str
    after: str
    attribute: str
    group: str
    metric: str
    value_before: float
    value_after: float
    change: Interval  # value_after − value_before
    p: float  # of "no change", not adjusted; NaN where too few rows are counted differently


@dataclass(frozen=True)
class Changes:
    """What became of each gap; and of the rates, or else the means, of everybody and of each group."""

    changes: tuple[Change, ...] = ()
    rate_changes: tuple[ValueChange, ...] | None = None
    mean_changes: tuple[ValueChange, ...] | None = None

    @property
    def value_changes(self) -> tuple[ValueChange, ...]:
        """How rates or means changed."""
        return self.rate_changes or self.mean_changes or ()

    @property
    def family(self) -> int:
        """How many changes decide, for which p-values are adjusted."""
        return sum(row.deciding for row in self.changes)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is compared with each other: before and after."""
        return tuple(dict.fromkeys((row.before, row.after) for row in self.changes))


def value_changes(
    place: tuple[str, str, str],
    groups: Sequence[str],
    metrics: Sequence[str],
    before: Floats,
    after: Floats,
    changes: Intervals,
    p: Floats,
) -> Iterator[ValueChange]:
    """Yield how values changed, arrays of shape (groups, metrics); a place is before, after and attribute."""
    for g, group in enumerate(groups):
        for m, metric in enumerate(metrics):
            values = (float(before[g, m]), float(after[g, m]))
            yield ValueChange(*place, group, metric, *values, changes[g, m], float(p[g, m]))


def find_reasons(
    undefined: Bools, nothing_moved: Bools, is_few: Bools, p: Floats, change_p: Floats, alpha: float
) -> list[Any]:
    """Return why changes are not decided, each tested alone: `NoWord`s in lists as the arrays are."""
    kinds = [undefined, nothing_moved, is_few, np.isnan(p), p < alpha, change_p < alpha]
    reasons: tuple[NoWord, ...] = ("no rows", "same", "few", "no rows", "", "turned")
    return list(np.select(kinds, reasons, "chance").tolist())


def decide_changes(
    changes: Sequence[Change], least_change: Callable[[Change], float], alpha: float
) -> Iterator[Change]:
    """Yield changes with their words, by Holm over all that decide, and of the others over all.

    One that cannot be tested counts with a p-value of 1. `least_change` is by how much the size of a
    difference has to change to count.
    """
    is_deciding = np.array([row.deciding for row in changes], dtype=bool)
    adjusted = []
    for name in ("p", "change_p"):
        p = np.array([getattr(row, name) for row in changes], dtype=float)
        adjusted += adjust_family([np.where(np.isnan(p), 1.0, p)], [is_deciding]).adjusted
    for change, p_holm, change_p_holm in zip(changes, *(p.tolist() for p in adjusted), strict=True):
        row = replace(change, p_holm=p_holm, change_p_holm=change_p_holm)
        if np.isnan(row.p):
            yield change
        elif p_holm < alpha:
            word: Word = "better" if row.is_nearer else "worse"
            if abs(abs(row.difference_after.value) - abs(row.difference_before.value)) < least_change(row):
                word = "hardly"
            yield replace(row, word=word, reason="")
        else:
            yield replace(row, moved=change_p_holm < alpha, reason=row.reason or "chance")
