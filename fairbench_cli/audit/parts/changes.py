"""What became of each disparity from one model, or slice of the rows, to the next.

A disparity is smaller when its ratio is closer to 1 on a log scale: 0.5 and 2 are equally far; of a rate that
goes by a margin, when its difference is closer to 0. It is better, or worse, where "the ratios are equally
far from 1" (the differences from 0) is rejected after Holm over all changes that decide. With enough rows any
change is beyond chance: it hardly changed where the distance of the rates moved by less than `least-change`.
`measures.paired_change` has the variances, docs/audit.md how often this is wrong.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from fairbench_cli.audit.compare.clustered_changes import (
    OF_CHANGES,
    ClusteredVariances,
    rate_variances,
    ratio_variances,
)
from fairbench_cli.audit.compare.compare_rates import Compared
from fairbench_cli.audit.compare.family import decide_changes
from fairbench_cli.audit.compare.number_changes import NumberChange, NumberChanges, is_nearer
from fairbench_cli.audit.compare.references import (
    REST,
    Ints,
    common_references,
    find_references,
    without_excluded_groups,
)
from fairbench_cli.audit.compare.report import ALL, Interval, Report, intervals
from fairbench_cli.audit.compare.slice_order import are_strata
from fairbench_cli.audit.compare.verdict import TOLERANCE, margin_of, tau_of
from fairbench_cli.audit.config import DEFAULT, AuditConfig
from fairbench_cli.audit.metrics import COMPARED, defined
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import draw_allowed, format_allowed, gap_axis, has_margin, name_gaps
from fairbench_cli.audit.parts.part import SHORT, Part, View
from fairbench_cli.audit.scan.pairing import read_sides
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.slices import BeforeAfter, Slice
from fairbench_cli.base.grouping import group_by, keep_together
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.charts import ChartRow, arrow, dot, row_chart, whisker
from fairbench_cli.document.model import SYMBOLS, Chart, Section, TableCell, TextTable, Verdict, table_of
from fairbench_cli.measures.clusters import t_quantile, t_test_p
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.paired_change import RateChanges, TwoSides, rate_changes, same_size_p
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.significance import normal_p

# What became of a disparity; hardly: it changed by more than chance, and by less than counts.
Word = Literal["better", "worse", "hardly", "undecided"]
# Why it is not decided: a rate has no rows, or is 0; few rows are counted differently; not a single one is;
# the ratio was turned around 1; chance may be why.
NoWord = Literal["no rows", "few", "same", "turned", "chance", ""]

PAIR = 2  # slices, of which one is compared with the other whatever their order
FEW_OVER = 5  # rows over the bar of a rate: with fewer the normal approximation is not to be relied on
FEW_MOVED = 10  # rows of the group and its reference that are counted differently
UNTESTED: tuple[NoWord, ...] = ("no rows", "few", "same")


@dataclass(frozen=True)
class Change:
    """One disparity of one group under two models, or in two slices of the rows.

    Parameters
    ----------
    before, after : str
        The baseline, and the model or slice that is compared with it, as in `Disparity.model`.
    attribute, group, reference, metric : str
        What is compared; the reference is the same before and after.
    value_before, value_after : float
        The group's rate.
    value_change : Interval
        value_after − value_before.
    ratio_before, ratio_after : Interval
        To the reference.
    ratio_change : Interval
        ratio_after / ratio_before.
    difference_before, difference_after : Interval
        From the reference.
    difference_change : Interval
        difference_after − difference_before.
    p, p_holm : float
        Of the hypothesis that the ratios are equally far from 1, see `measures.change.same_size_p`, or of a
        rate with a margin that the differences are equally far from 0; and adjusted over all changes that
        decide. NaN where nothing is tested.
    change_p, change_p_holm : float
        Of the hypothesis that the ratios, or of a rate with a margin the differences, are the same: that of
        the interval of the change.
    moved : bool
        Whether that is rejected where nothing is decided: neither nearer nor farther is shown.
    tau : float
        NaN of a rate that goes by a margin.
    margin : float or None
        NaN of a rate that goes by tau; None in an audit without margins.
    word : {"better", "worse", "hardly", "undecided"}
        Whether the ratio is closer to 1 (or the difference to 0) than before, by more than chance, or farther
        away; hardly, where the distance of the rates, as measured, changed by less than the least change.
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
    ratio_before: Interval
    ratio_after: Interval
    ratio_change: Interval
    difference_before: Interval
    difference_after: Interval
    difference_change: Interval
    p: float
    p_holm: float
    change_p: float
    change_p_holm: float
    moved: bool
    tau: float
    margin: float | None
    word: Word
    reason: NoWord
    deciding: bool


@dataclass(frozen=True)
class RateChange:
    """A rate of everybody, or of one group that may be the reference, before and after."""

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
    """What became of each disparity; and of the rates of everybody and of each group."""

    changes: tuple[Change, ...] = ()
    rate_changes: tuple[RateChange, ...] = ()

    @property
    def family(self) -> int:
        """How many changes decide, for which p-values are adjusted."""
        return sum(row.deciding for row in self.changes)


def find_changes(joints: Sequence[BeforeAfter], base: Report) -> Changes:
    """Return the change of each disparity, and of the rates of everybody and of each group.

    Parameters
    ----------
    joints : sequence of BeforeAfter
        What is compared with each other.
    base : Report
        Groups without a disparity are left out; disparities say which metrics decide.
    """
    config = common_references(
        [without_excluded_groups(group_counts, base.config) for group_counts in base.slices], base.config
    )
    groups = {(row.model, row.attribute, row.group) for row in base.disparities}
    deciding = {(row.attribute, row.metric) for row in base.disparities if row.deciding}
    joints = [_select_groups(joint, groups) for joint in joints]
    rates: list[RateChange] = []
    for of_pair in group_by(joints, lambda joint: (joint.before, joint.after)).values():
        for joint in (_merge_groups(of_pair[0]), *of_pair):
            rates += _rate_changes(joint, config)
    changes: list[Change] = []
    for joint in joints:
        changes += _compute_changes(joint, deciding, config)
    least_change = lambda row: config.least_change(row.metric) - TOLERANCE  # noqa: E731
    return Changes(tuple(decide_changes(changes, _is_more_equal, least_change, config.alpha)), tuple(rates))


def read_pairs(scan: Scan) -> tuple[BeforeAfter, ...]:
    """Return the pairs of models or slices; of more than two slices without an order there are none."""
    n_slices = len({group_counts.model for group_counts in scan.tally.slices})
    if n_slices > PAIR and are_strata(scan.tally.slices, scan.config):
        return ()
    return read_sides(scan)


def _select_groups(joint: BeforeAfter, groups: set[tuple[str, str, str]]) -> BeforeAfter:
    """Return a joint with those of its groups that are among `groups`, before or after."""
    kept_indices = []
    for g, group in enumerate(joint.groups):
        before = (joint.before, joint.attribute, group)
        after = (joint.after, joint.attribute, group)
        if before in groups or after in groups:
            kept_indices.append(g)
    sides = joint.sides.merge_groups(np.eye(len(joint.groups))[kept_indices])
    new_indices = np.full(len(joint.groups), -1)
    new_indices[kept_indices] = np.arange(len(kept_indices))
    clusters = tuple(kinds.map_groups(new_indices) for kinds in joint.clusters)
    return replace(joint, groups=tuple(joint.groups[g] for g in kept_indices), sides=sides, clusters=clusters)


def _merge_groups(joint: BeforeAfter) -> BeforeAfter:
    """Return everybody as one group."""
    sides = joint.sides.merge_groups(np.ones((1, len(joint.groups))))
    one_group = np.zeros(len(joint.groups), dtype=np.int64)
    clusters = tuple(kinds.map_groups(one_group) for kinds in joint.clusters)
    return replace(joint, attribute=ALL, groups=(ALL,), sides=sides, clusters=clusters)


def _slices(joint: BeforeAfter) -> list[Slice]:
    """Return the groups before, after, and both together."""
    sides = joint.sides
    cells = (sides.halves(group_cells) for group_cells in (sides.n, sides.rows, sides.squares))
    before, after = map(np.stack, zip(*cells, strict=True))
    n, rows, squares = before
    group_counts = Slice(
        model="",
        decision="",
        attribute=joint.attribute,
        counts=Counts(joint.groups, n),
        cell_rows=rows,
        squares=squares,
        labelled=joint.labelled,
        intersection=joint.intersection,
    )
    ways = []
    for is_after in (False, True):
        ways.append([kinds.side(after=is_after, paired=sides.paired) for kinds in joint.clusters])
    return [
        group_counts.with_cells(before).with_clusters(ways[0]),
        group_counts.with_cells(after).with_clusters(ways[1]),
        group_counts.with_cells(before + after),
    ]


def _compute_changes(
    joint: BeforeAfter, deciding: set[tuple[str, str]], config: AuditConfig
) -> Iterator[Change]:
    """Yield the changes of each group and rate, each tested alone: nothing is decided yet."""
    before_counts, after_counts, together = _slices(joint)
    names = defined(COMPARED, joint.labelled)
    reference_indices = find_references(together, names, config)
    sides = [Compared(counts, names, reference_indices, config) for counts in (before_counts, after_counts)]
    group_changes = rate_changes(joint.sides, names)
    ref = _reference_changes(joint.sides, names, reference_indices)
    values = divide(group_changes.before, ref.before), divide(group_changes.after, ref.after)
    ratios = []
    for rates, side in zip(values, sides, strict=True):
        low, high = side.ratio_limits
        ratios.append(intervals(rates, low, high))
    apart = group_changes.before - ref.before, group_changes.after - ref.after
    differences = []
    for gaps, side in zip(apart, sides, strict=True):
        low, high = side.difference_limits
        differences.append(intervals(gaps, low, high))
    spread = group_changes.change + ref.change
    total_spread = group_changes.total + ref.total
    points = group_changes.points + ref.points
    clustered = None
    if joint.shares_clusters:
        clustered = ratio_variances(joint, names, reference_indices)
        spread, total_spread, points = (clustered.variance[name] for name in OF_CHANGES)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_before, log_after = map(np.log, values)
        change = log_after - log_before
        total = log_after + log_before
    p = same_size_p(change, spread, total, total_spread, _degrees_of_ratios(clustered))
    by_margin = sides[0].allowed.by_margin
    if by_margin.any():
        p = np.where(by_margin, _same_difference_p(sides, apart, points, clustered), p)
    moved = group_changes.moved + ref.moved
    fewest = np.minimum(group_changes.fewest, ref.fewest)
    undefined = ~np.isfinite(np.where(by_margin, apart[1] - apart[0], change))
    is_few = (fewest < FEW_OVER) | (moved < FEW_MOVED)
    change_p = _changed_p(change, spread, clustered, "change")
    if clustered is not None:
        is_few = is_few | ~np.isfinite(spread)
    if by_margin.any():
        change_p = np.where(by_margin, _changed_p(apart[1] - apart[0], points, clustered, "points"), change_p)
        is_few = is_few | (by_margin & ~np.isfinite(points))
    kinds = [undefined, moved == 0, is_few, p < config.alpha, change_p < config.alpha]
    reasons = np.select(kinds, ["no rows", "same", "few", "", "turned"], "chance").tolist()
    of_rates = _variances_of_rates(joint, names)
    for g, m in np.argwhere(~sides[0].itself).tolist():
        pair = sides[0].pair(g, m)
        name = names[m]
        reason = reasons[g][m]
        ratio_before, ratio_after = (side_ratios[g, m] for side_ratios in ratios)
        difference_before, difference_after = (side_differences[g, m] for side_differences in differences)
        if reason == "no rows" or not np.isfinite(change[g, m]):
            times = math.nan
        else:
            times = math.log(ratio_after.value / ratio_before.value)
        log = _interval(times, float(spread[g, m]), _reach(clustered, "change", g, m, config.confidence))
        moved_by = difference_after.value - difference_before.value
        yield Change(
            before=joint.before,
            after=joint.after,
            attribute=joint.attribute,
            group=pair.group,
            reference=pair.reference,
            metric=name,
            value_before=float(group_changes.before[g, m]),
            value_after=float(group_changes.after[g, m]),
            value_change=_rate_interval(group_changes, of_rates, g, m, config.confidence),
            ratio_before=ratio_before,
            ratio_after=ratio_after,
            ratio_change=Interval(*(math.exp(end) for end in (log.value, log.low, log.high))),
            difference_before=difference_before,
            difference_after=difference_after,
            difference_change=_interval(
                moved_by, float(points[g, m]), _reach(clustered, "points", g, m, config.confidence)
            ),
            p=math.nan if reason in UNTESTED else float(p[g, m]),
            p_holm=math.nan,
            change_p=math.nan if reason in UNTESTED else float(change_p[g, m]),
            change_p_holm=math.nan,
            moved=False,
            tau=tau_of(name, config),
            margin=margin_of(name, config) if config.margin else None,
            word="undecided",
            reason=reason,
            deciding=(joint.attribute, name) in deciding,
        )


def _same_difference_p(
    sides: Sequence[Compared],
    apart: tuple[Floats, Floats],
    variance: Floats,
    clustered: ClusteredVariances | None,
) -> Floats:
    """Return p-values of "the differences before and after are equally far from 0".

    As `same_size_p` has it of ratios. The variance of after + before is what twice those of both leave of
    that of after − before.
    """
    before, after = (_variance_of_difference(side) for side in sides)
    total_variance = np.maximum(2 * before + 2 * after - variance, 0.0)
    degrees = None
    if clustered is not None:
        degrees = (clustered.degrees["points"], clustered.degrees["points"])
    return same_size_p(apart[1] - apart[0], variance, apart[1] + apart[0], total_variance, degrees)


def _changed_p(
    change: Floats, variance: Floats, clustered: ClusteredVariances | None, name: Literal["change", "points"]
) -> Floats:
    """Return p-values of "the ratios, or the differences, before and after are the same"."""
    z = divide(change, np.sqrt(variance))
    if clustered is None:
        return normal_p(z)
    return t_test_p(z, clustered.degrees[name])


def _variance_of_difference(side: Compared) -> Floats:
    """Return the variances of differences from the references' rates; by clusters where rows share some."""
    variance = np.zeros(side.value.shape)
    for rows in side.rows:
        rate = divide(rows.numerator, rows.denominator)
        variance = variance + divide(rate * (1 - rate), rows.denominator)
    if side.clustered is None:
        return variance
    return np.where(side.clustered.is_tested, side.clustered.variance, variance)


def _reference_changes(sides: TwoSides, names: Sequence[str], reference_indices: Ints) -> RateChanges:
    """Return the same of each group's reference."""
    members = np.eye(len(sides.n))
    if (reference_indices == REST).all():
        return rate_changes(sides.merge_groups(1 - members), names)
    group_changes = rate_changes(sides, names)
    columns = np.arange(len(names))
    of_references = {}
    for name, array in vars(group_changes).items():
        of_references[name] = np.broadcast_to(array[reference_indices, columns], array.shape)
    return RateChanges(**of_references)


def _is_more_equal(row: Change) -> bool:
    """Return whether the measured gap is nearer to equal rates than before: 0.5 and 2 are equally near."""
    if has_margin(row.margin):
        return abs(row.difference_after.value) < abs(row.difference_before.value)
    size_before, size_after = (abs(math.log(ratio.value)) for ratio in (row.ratio_before, row.ratio_after))
    return size_after < size_before


def _variances_of_rates(joint: BeforeAfter, names: Sequence[str]) -> ClusteredVariances | None:
    """Return the variances of changes of each group's rates by clusters, where rows share some."""
    if joint.shares_clusters:
        return rate_variances(joint, names)
    return None


def _degrees_of_ratios(clustered: ClusteredVariances | None) -> tuple[Floats, Floats] | None:
    """Return the degrees of freedom of both tests of a change of the ratio; None of normal ones."""
    if clustered is None:
        return None
    return clustered.degrees["change"], clustered.degrees["total"]


def _reach(clustered: ClusteredVariances | None, name: str, g: int, m: int, confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    if clustered is None:
        return NormalDist().inv_cdf((1 + confidence) / 2)
    return float(t_quantile(clustered.degrees[name][g, m], confidence))


def _interval(value: float, variance: float, reach: float) -> Interval:
    """Return a value with its interval; a variance of 0, of nothing that moved, says nothing."""
    if variance > 0:
        half = reach * math.sqrt(variance)
    else:
        half = math.nan
    return Interval(value, value - half, value + half)


def _rate_interval(
    changes: RateChanges, clustered: ClusteredVariances | None, g: int, m: int, confidence: float
) -> Interval:
    variance = changes.points[g, m] if clustered is None else clustered.variance["points"][g, m]
    reach = _reach(clustered, "points", g, m, confidence)
    return _interval(float(changes.after[g, m] - changes.before[g, m]), float(variance), reach)


def _rate_changes(joint: BeforeAfter, config: AuditConfig) -> Iterator[RateChange]:
    """Yield how each rate of each group changed."""
    names = defined(COMPARED, joint.labelled)
    changes = rate_changes(joint.sides, names)
    clustered = _variances_of_rates(joint, names)
    for g, group in enumerate(joint.groups):
        for m, name in enumerate(names):
            change = _rate_interval(changes, clustered, g, m, config.confidence)
            variance = changes.points[g, m] if clustered is None else clustered.variance["points"][g, m]
            p = math.nan
            if changes.moved[g, m] >= FEW_MOVED and variance > 0:
                z = np.asarray(change.value / math.sqrt(variance))
                p = float(normal_p(z))
                if clustered is not None:
                    p = float(t_test_p(z, clustered.degrees["points"][g, m]))
            values = float(changes.before[g, m]), float(changes.after[g, m])
            yield RateChange(joint.before, joint.after, joint.attribute, group, name, *values, change, p)


def _gap_before(row: Change) -> Interval:
    """Return the number that was judged before: the ratio, or the difference."""
    if has_margin(row.margin):
        return row.difference_before
    return row.ratio_before


def _gap_after(row: Change) -> Interval:
    """Return the same after."""
    if has_margin(row.margin):
        return row.difference_after
    return row.ratio_after


def _gap_change(row: Change) -> Interval:
    """Return how it changed: the ratio after over that before, or the difference of the differences."""
    if has_margin(row.margin):
        return row.difference_change
    return row.ratio_change


def _name_gaps_of_changes(rows: Iterable[Change]) -> str:
    """Return the name of these numbers, in the plural."""
    return name_gaps(rows).replace("ratio", "ratios").replace("difference", "differences")


MOST_SENTENCES = 6  # unless all are asked for
MOST_GROUPS = 20  # in a figure; the tables have all
DROP = 5.0  # what is before lies so much above the middle of its row, what is after below
WORDS: dict[Word, str] = {
    "better": "better",
    "worse": "worse",
    "hardly": "hardly changed",
    "undecided": "not decided",
}
LOOKS: dict[Word, Verdict | None] = {
    "better": "pass",
    "worse": "fail",
    "hardly": None,
    "undecided": "undecided",
}
REASONS = {
    "no rows": "a rate is 0 or has no rows",
    "few": "too few rows",
    "same": "nothing moved",
    "turned": "could be chance",
    "chance": "could be chance",
    "": "",
}
MOVED = "moved"
OVERALL = ("accuracy", "selection-rate")  # of all rows, in a sentence


def word_of(row: Change | NumberChange) -> str:
    """Return the word on a disparity: "better", "hardly worse", "moved", "not decided"."""
    if row.moved:
        return MOVED
    if row.word != "hardly":
        return WORDS[row.word]
    if (isinstance(row, Change) and _is_more_equal(row)) or (
        isinstance(row, NumberChange) and is_nearer(row)
    ):
        return "hardly better"
    return "hardly worse"


def look_of(row: Change | NumberChange) -> Verdict | None:
    """Return the verdict that its cell is marked with."""
    return None if row.moved else LOOKS[row.word]


def order_of(row: Change | NumberChange) -> tuple[float, float]:
    """Return where a change stands: the worse first, then by p."""
    place = ("worse", "better", "hardly", "undecided").index(row.word) - 0.5 * row.moved
    return place, 2.0 if math.isnan(row.p) else row.p


def change_sections(changes: Changes, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section for each pair of models, or slices, that are compared; none where none are.

    A brief view has no columns that 80 characters have no room for, and no rates of groups.
    """
    pairs = dict.fromkeys((row.before, row.after) for row in changes.changes)
    if not pairs or (report.config.sliced_by and view.brief and view.max_rows is not None):
        return ()
    sections = [_pair_section(before, after, changes, report, view) for before, after in pairs]
    if report.config.sliced_by:
        sections = [replace(section, folded=True) for section in sections]
    family = format_count(changes.family, "comparison")
    percent = f"{100 * report.config.confidence:g} %"
    closer = "the ratio is closer to 1"
    equally = " (0.5 and 2 are equally far)"
    change = "the ratio after over the ratio before"
    gaps = _name_gaps_of_changes(changes.changes)
    if gaps == "differences":
        closer = "the difference is closer to 0"
        equally = ""
        change = "the difference after less that before"
    notes = [
        f"better: {closer} than before{equally}, by more than chance. "
        "worse: it is farther away. moved: it is another one by more than chance, and neither is shown.",
        f"change: {change}, with the {percent} interval of this change alone"
        + (", rows paired." if not report.config.sliced_by else "; the rows of two slices are independent.")
        + f" p (Holm): of no change, alone, and adjusted for {family}; better and worse go by p of size.",
        f"too few rows: fewer than {FEW_OVER} behind a rate, or fewer than {FEW_MOVED} counted differently.",
    ]
    if gaps == "ratios or differences":
        notes.append(
            "Of a rate with a margin better is: the difference is closer to 0 than before; and change is the "
            "difference after less that before."
        )
    if any(row.word == "hardly" for row in changes.changes):
        notes.append(_describe_hardly(report))
    if any(row.reason == "same" for row in changes.changes):
        notes.append("nothing moved: each row is counted as before.")
    if report.config.has_gate:
        notes.append(f"--fail and --fail-on go by {model_name(changes.changes[-1].after, report)}.")
    return (*sections, Section("In the tables of changes", notes=tuple(notes)))


def short_changes(changes: Changes, report: Report) -> Sequence[Section]:
    """Return the ratios that became better or worse, and how rates of everybody changed.

    Of slices the summary says it.
    """
    if report.config.sliced_by:
        return ()
    sections = []
    for before, after in dict.fromkeys((row.before, row.after) for row in changes.changes):
        rows = [row for row in changes.changes if row.deciding and (row.before, row.after) == (before, after)]
        decided = _worst_groups_first([row for row in rows if row.word != "undecided" or row.moved])
        overall = [
            row
            for row in changes.rate_changes
            if row.attribute == ALL and (row.before, row.after) == (before, after)
        ]
        several = len({row.attribute for row in decided}) > 1
        columns: dict[str, Callable[[Change], TableCell]] = {}
        if several:
            columns["attribute"] = lambda row: TableCell(row.attribute)
        columns |= {
            "group": lambda row: formatting.group_cell(row.group, small=False),
            "metric": lambda row: TableCell(row.metric),
            "before": lambda row: formatting.number_cell(_gap_before(row).value, digits=2),
            "after": lambda row: formatting.number_cell(_gap_after(row).value, digits=2),
            "change": lambda row: formatting.fine_cell(_gap_change(row), 2),
            "disparity": lambda row: TableCell(word_of(row), verdict=look_of(row)),
        }
        title = f"From {model_name(before, report)} to {model_name(after, report)}"
        overall_sentences = _describe_overall(overall)
        if decided:
            table = SHORT.table("", columns, decided)
            gaps = _name_gaps_of_changes(decided)
            sections.append(Section(f"{title}, {gaps}", overall_sentences, (table,)))
        else:
            sections.append(Section(title, (summarise_counts(rows), *overall_sentences)))
    return sections


def _describe_hardly(report: Report) -> str:
    """Return the meaning of "hardly"."""
    by_metric = dict(report.config.least_change_by_metric)
    least = f"{by_metric.pop(DEFAULT):g}"
    others = [f"{name} {change:g}" for name, change in by_metric.items()]
    if others:
        least += f" ({', '.join(others)})"
    return (
        "hardly better, hardly worse: by more than chance, and the measured distance of the two rates by "
        f"less than {least} (--least-change); counted as neither."
    )


def _pair_section(before: str, after: str, changes: Changes, report: Report, view: View) -> Section:
    """Return the section of one pair."""
    pair_changes = [row for row in changes.changes if (row.before, row.after) == (before, after)]
    rows = [row for row in pair_changes if row.deciding]
    not_deciding = [row for row in pair_changes if not row.deciding]
    rates = [row for row in changes.rate_changes if (row.before, row.after) == (before, after)]
    overall = [row for row in rates if row.attribute == ALL]
    decided = _worst_first([row for row in rows if row.word != "undecided" or row.moved])
    sentences = [
        _describe_change(row, report) for row in decided[: None if view.max_rows is None else MOST_SENTENCES]
    ]
    n_more = len(decided) - len(sentences)
    if n_more:
        sentences.append(f"And {n_more} more: see the table.")
    tables = []
    make = _brief_table if view.brief else _table
    for attribute, of_attribute in group_by(rows, lambda row: row.attribute).items():
        ordered = _worst_groups_first(of_attribute)
        preposition = "to" if _name_gaps_of_changes(ordered) == "ratios" else "from"
        title = f"{attribute}: {_name_gaps_of_changes(ordered)} {preposition} {_reference_name(ordered)}"
        tables.append(make(title, ordered, changes, report, view))
    if not view.brief:
        title = "Other metrics, which do not decide"
        if not_deciding:
            tables += [_table(title, _worst_groups_first(not_deciding), changes, report, view)]
        of_groups = [row for row in rates if row.attribute != ALL]
        tables += [
            _rate_table("All rows", overall, ()),
            _rate_table("Rates of each group", of_groups, ("attribute", "group")),
        ]
    ordered = sorted(rows, key=lambda row: (row.attribute, COMPARED.index(row.metric)))
    by_rate = group_by(ordered, lambda row: (row.attribute, row.metric))
    figures = []
    for (attribute, metric), rate_rows in by_rate.items():
        title = f"{attribute}: {RATES[metric].label}, {name_gaps(rate_rows[:1])} before and after"
        figures.append(Chart(title, _plot_changes(rate_rows)))
    title = f"From {model_name(before, report)} to {model_name(after, report)}: {describe_outcome(rows)}"
    return Section(
        title,
        (summarise_counts(rows), *sentences, *_describe_overall(overall)),
        tuple(tables),
        charts=tuple(figures),
    )


def model_name(model: str, report: Report) -> str:
    """Name a model, or a slice: "model new.csv", "month 2"."""
    return f"{report.config.slice_name or 'model'} {model}"


def summarise_changes(changes: Changes | NumberChanges, report: Report) -> str:
    """Return how many disparities became better or worse, in a sentence; empty where nothing is compared."""
    pairs = list(dict.fromkeys((row.before, row.after) for row in changes.changes))
    if not pairs:
        return ""
    (before, after), sliced = pairs[0], report.config.slice_name
    if len(pairs) == 1:
        where = f"From {model_name(before, report)} to {model_name(after, report)}"
    elif sliced:
        where = f"From one {sliced} to the next"
    else:
        where = f"Compared with {model_name(before, report)}"
    return f"{where}: {describe_outcome([row for row in changes.changes if row.deciding])}."


def describe_outcome(rows: Sequence[Change | NumberChange]) -> str:
    """Return how many changes are worse, better, and hardly any: "1 worse, 2 better"."""
    outcomes = Counter(MOVED if row.moved else WORDS[row.word] for row in rows)
    named = (WORDS["worse"], WORDS["better"], WORDS["hardly"], MOVED)
    return ", ".join(f"{outcomes[word]} {word}" for word in named if outcomes[word]) or "nothing decided"


def summarise_counts(rows: Sequence[Change | NumberChange]) -> str:
    """Return how many disparities became better, worse, or are not decided."""
    outcomes = Counter(MOVED if row.moved else row.word for row in rows)
    better, worse, hardly, still = (outcomes[word] for word in WORDS)
    verb = "are"
    if still == 1:
        verb = "is"
    if still == len(rows):
        return f"No disparity became larger or smaller by more than chance: {still} {verb} not decided."
    remaining_text = ""
    if hardly:
        remaining_text = f"; {hardly} hardly changed"
    if outcomes[MOVED]:
        remaining_text += f"; {outcomes[MOVED]} moved, and larger or smaller is not shown"
    if still:
        remaining_text += f"; {still} {verb} not decided"
    count_text = f"{len(rows)} {'disparity' if len(rows) == 1 else 'disparities'}"
    return f"Of {count_text} {worse} became larger and {better} smaller by more than chance{remaining_text}."


def _describe_change(row: Change, report: Report) -> str:
    """Return the sentence on a disparity's change: who is treated more, or less, equally, and by how much."""
    how = f"{'more' if _is_more_equal(row) else 'less'} equally"
    if row.word == "hardly":
        how = f"hardly {how}"
    elif row.moved:
        how = "otherwise"
    who = f"{formatting.format_group(row.group)} ({row.attribute})"
    if report.config.sliced_by:
        subject = f"In {model_name(row.after, report)} {who} is treated {how} than in {row.before}"
    else:
        subject = f"Model {row.after} treats {who} {how} than {row.before}"
    word = word_of(row)
    if row.moved:
        word += "; nearer or farther is not shown"
    if has_margin(row.margin):
        return f"{subject}: {_describe_difference_change(row, row.margin)}: {word}."
    low, high = (formatting.number(end, 2) for end in (row.ratio_change.low, row.ratio_change.high))
    before, after = (
        formatting.ratio(ratio.value, row.tau, 2) for ratio in (row.ratio_before, row.ratio_after)
    )
    return (
        f"{subject}: {RATES[row.metric].label} ratio to {formatting.format_group(row.reference)} {before} → "
        f"{after} ({formatting.number(row.ratio_change.value, 2)} times, {low} to {high}): {word}."
    )


def _describe_difference_change(row: Change, margin: float) -> str:
    """Return a difference before and after: "false positive rate −9.1 → −2.3 points from white (6.8, …)"."""
    before, after = (
        formatting.points(gap.value, margin) for gap in (row.difference_before, row.difference_after)
    )
    change, low, high = (f"{100 * number:+.1f}" for number in vars(row.difference_change).values())
    reference = formatting.format_group(row.reference)
    return (
        f"{RATES[row.metric].label} {before} → {after} points from that of {reference} "
        f"({change}, {low} to {high})"
    )


def _describe_overall(rows: Sequence[RateChange]) -> tuple[str, ...]:
    """Return how the overall rates changed."""
    row_by_metric = {row.metric: row for row in rows}
    clauses = []
    for row in (row_by_metric[name] for name in OVERALL if name in row_by_metric):
        change = f"{row.change.value:+.3f}, {row.change.low:+.3f} to {row.change.high:+.3f}"
        moved = "no row moved"
        if math.isfinite(row.change.low):
            moved = change
        before, after = (formatting.number(value) for value in (row.value_before, row.value_after))
        clauses.append(f"{RATES[row.metric].label} {before} → {after} ({moved})")
    if clauses:
        return (f"All rows: {', '.join(clauses)}.",)
    return ()


def _reference_name(rows: Sequence[Change]) -> str:
    names = list(dict.fromkeys(formatting.format_group(row.reference) for row in rows))
    if len(names) == 1:
        return names[0]
    return "the reference of each"


def _worst_first(rows: Sequence[Change]) -> list[Change]:
    return sorted(rows, key=order_of)


def _worst_groups_first(rows: Sequence[Change]) -> list[Change]:
    return keep_together(_worst_first(rows), lambda row: (row.attribute, row.group))


def _describe_reason(row: Change, changes: Changes, report: Report) -> str:
    """Return why a change is not decided; of chance, whether it alone would be."""
    if row.moved:
        return ""
    among = ""
    if row.deciding and row.reason in ("chance", "turned"):
        among = formatting.among_text(row.change_p, changes.family, report.config.confidence)
    return REASONS[row.reason] + among


def _brief_table(
    title: str, rows: Sequence[Change], changes: Changes, report: Report, view: View
) -> TextTable:
    """Return the changes as they fit 80 columns."""
    columns: dict[str, Callable[[Change], TableCell]] = {
        "group": lambda row: formatting.group_cell(row.group, small=False),
        "metric": lambda row: TableCell(row.metric),
        "before": lambda row: formatting.number_cell(_gap_before(row).value),
        "after": lambda row: formatting.number_cell(_gap_after(row).value),
        "change": lambda row: formatting.fine_cell(_gap_change(row), 2),
        "p (Holm)": lambda row: formatting.both_p_cell(row.change_p, row.change_p_holm),
        "disparity": lambda row: TableCell(
            _describe_reason(row, changes, report) or word_of(row), verdict=look_of(row)
        ),
    }
    return view.table(title, columns, rows)


def _table(title: str, rows: Sequence[Change], changes: Changes, report: Report, _: View) -> TextTable:
    """Return the changes with all their numbers."""

    def word(row: Change) -> TableCell:
        reason = _describe_reason(row, changes, report)
        return TableCell(word_of(row) + (reason and f": {reason}"), verdict=look_of(row))

    columns: dict[str, Callable[[Change], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "reference": lambda row: TableCell(row.reference),
        "metric": lambda row: TableCell(row.metric),
        "ratio before": lambda row: formatting.ratio_cell(row.ratio_before, row.tau),
        "ratio after": lambda row: formatting.ratio_cell(row.ratio_after, row.tau),
        "change (times)": lambda row: formatting.fine_cell(row.ratio_change),
        "difference before": lambda row: formatting.fine_cell(row.difference_before),
        "difference after": lambda row: formatting.fine_cell(row.difference_after),
        "change": lambda row: formatting.fine_cell(row.difference_change),
        "p": lambda row: formatting.p_cell(row.change_p),
        "p (Holm)": lambda row: formatting.p_cell(row.change_p_holm),
        "p of size (Holm)": lambda row: formatting.p_cell(row.p_holm),
        "disparity": word,
    }
    return table_of(title, columns, rows)


def _rate_table(title: str, rows: Sequence[RateChange], key_columns: Sequence[str]) -> TextTable:
    """Return how rates changed; `key_columns` say whose they are."""
    columns: dict[str, Callable[[RateChange], TableCell]] = {
        name: (lambda row, name=name: TableCell(getattr(row, name)))  # type: ignore[misc]
        for name in key_columns
    }
    columns |= {
        "metric": lambda row: TableCell(row.metric),
        "before": lambda row: formatting.number_cell(row.value_before),
        "after": lambda row: formatting.number_cell(row.value_after),
        "change": lambda row: formatting.fine_cell(row.change),
        "p": lambda row: formatting.p_cell(row.p),
    }
    return table_of(title, columns, rows)


def _plot_changes(rows: Sequence[Change]) -> str:
    """Draw the changes of one rate: a ring before, a mark after, an arrow between them, intervals thin."""
    rows = rows[:MOST_GROUPS]
    gaps = [_gap_before(row) for row in rows] + [_gap_after(row) for row in rows]
    axis = gap_axis(gaps, rows[0].tau, rows[0].margin)
    drawn = []
    for row in rows:
        look = LOOKS[row.word] or "undecided"
        word = word_of(row) if look_of(row) is None else SYMBOLS[look]
        if row.word in ("better", "worse"):
            word += f" {row.word}"
        before = _gap_before(row)
        after = _gap_after(row)
        moved = f"{formatting.number(before.value, 2)} → {formatting.number(after.value, 2)}"
        tooltip = f"{row.group}: {moved} {row.word}"
        marks = draw_allowed(axis, row.tau, row.margin, 18)
        if not (math.isnan(before.value) or math.isnan(after.value)):
            before_label, after_label = (f"{row.group}, {when}" for when in ("before", "after"))
            marks += [
                arrow(axis, before.value, after.value, look, tooltip, DROP),
                whisker(axis, before.low, before.high, tooltip, -DROP),
                whisker(axis, after.low, after.high, tooltip, DROP),
                dot(
                    axis,
                    before.value,
                    "reference",
                    f"{before_label}: {formatting.number(before.value)}",
                    -DROP,
                ),
                dot(axis, after.value, look, f"{after_label}: {formatting.number(after.value)}", DROP),
            ]
        drawn.append(ChartRow(row.group, f"{moved} {word}", marks))
    title = "; ".join(f"{row.name} {row.value_text}" for row in drawn)
    allowed = "from τ to 1/τ"
    if has_margin(rows[0].margin):
        allowed = f"{format_allowed(rows[0].tau, rows[0].margin)} either way"
    return row_chart(title, axis, drawn, f"ring: before; mark: after; shaded: {allowed}")


CHANGES = Part[Sequence[BeforeAfter], Changes](
    "changes",
    read=read_pairs,
    judge=find_changes,
    found_type=Changes,
    tables={"changes": lambda changes, _: map(formatting.flatten, changes.changes)},
    sections=change_sections,
    short=short_changes,
    data=lambda changes: vars(changes) if changes.changes else {},
    summary=summarise_changes,
    changes=lambda changes: changes.changes,
)
