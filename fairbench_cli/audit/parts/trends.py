"""All slices of the rows together, and whether ratios rise or fall from the first slice to the last.

The slices are pooled as if there were none: the verdict is that of an audit of all rows. A trend is tested
where the slices are numbers or dates in their order (`measures.trend`), Holm over all trends. It rises or
falls where "the ratio is the same in all slices" is rejected; it is steady where the whole interval of the
change from the first slice to the last is one that τ allows; else it is open.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from fairbench_cli.audit.compare.effective import rate_rows
from fairbench_cli.audit.compare.kernel import report_of
from fairbench_cli.audit.compare.references import REST, REST_NAME, common_references, kept
from fairbench_cli.audit.compare.report import Disparity, Interval, Pair, Place, Report, intervals
from fairbench_cli.audit.compare.verdict import all_of, verdicts_of
from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.parts import rates, writing
from fairbench_cli.audit.parts.findings import allowed, differs
from fairbench_cli.audit.parts.part import Part, Row, View, Whole
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartLine
from fairbench_cli.document.model import VERDICTS, Chart, Section, TableCell, TextTable, table_of
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.significance import holm
from fairbench_cli.measures.trend import ratio_trend

Word = Literal["rises", "falls", "steady", "undecided"]
NoWord = Literal["few", "chance", ""]
REASONS: dict[NoWord, str] = {"few": "too few rows", "chance": "could be chance", "": ""}
LEAST = 3  # slices of a trend; of two the change from one to the other says all
FEW_OVER = 5  # rows over the bar, of a group or its reference: with fewer no trend is tested
PERIODS = (  # year and part of it, and how many parts a year has
    (re.compile(r"(\d{4})[ _-]?[QqKk]([1-4])"), 4),
    (re.compile(r"(\d{4})[_/-]?(0[1-9]|1[0-2])"), 12),
    (re.compile(r"(\d{4})[ _-]?[Ww](\d{2})"), 53),
)
MOST_LINES = 5  # groups in a chart
# of a chart; what names at the ends of lines have, and their letters
HIGH = 150
ROOM = 110
SHORT = 17


@dataclass(frozen=True)
class Trend(Pair):
    """What becomes of one ratio over the slices.

    Parameters
    ----------
    metric : str
    ratio_first, ratio_last : float
        In the first and in the last slice, on the fitted line.
    change : Interval
        ratio_last / ratio_first.
    p, p_holm : float
        Of "the ratio is the same in all slices", two-sided; and adjusted over all trends. NaN without test.
    tau : float
    word : {"rises", "falls", "steady", "undecided"}
        Steady: a change from τ to 1/τ is all that fits the data.
    reason : {"few", "chance", ""}
        Why it is not decided.
    """

    metric: str
    ratio_first: float
    ratio_last: float
    change: Interval
    p: float
    p_holm: float
    tau: float
    word: Word
    reason: NoWord


@dataclass(frozen=True, eq=False)
class Over:
    """The audit of all slices together, their names, and the trends; none where they have no order."""

    report: Report
    slices: tuple[str, ...]
    trends: tuple[Trend, ...]
    ordered: bool


def times(names: Sequence[str]) -> list[float] | None:
    """Return when slices are: numbers, years, quarters, months, weeks or days; None where that is not known.

    >>> times(["2013Q4", "2014Q1", "2014Q3"]), times(["2013-11", "2014-02"]), times(["3", "4", "10"])
    ([8055.0, 8056.0, 8058.0], [24166.0, 24169.0], [3.0, 4.0, 10.0])
    >>> times(["north", "south"]) is None
    True
    """
    found = _numbers(names) or _days(names)
    for form, many in () if found else PERIODS:
        each = [form.fullmatch(name) for name in names]
        if all(each):
            found = [many * float(one[1]) + float(one[2]) - 1 for one in each if one]
            break
    rising = found is not None and all(a < b for a, b in pairwise(found))
    if rising:
        return found
    return None


def _numbers(names: Sequence[str]) -> list[float] | None:
    try:
        found = [float(name) for name in names]
    except ValueError:
        return None
    if all(map(math.isfinite, found)):
        return found
    return None


def _days(names: Sequence[str]) -> list[float] | None:
    from datetime import date

    try:
        return [float(date.fromisoformat(name[:10]).toordinal()) for name in names]
    except ValueError:
        return None


def look_over(_: tuple[()], base: Report) -> Over:
    """Return the audit of all slices together, and the trends of the rates that decide."""
    whole = _whole(base)
    names = tuple(dict.fromkeys(part.model for part in base.slices))
    if len(names) >= LEAST:
        when = times(names)
    else:
        when = None
    trends = tuple(_trends(whole, base, when)) if when else ()
    return Over(whole, names, trends, when is not None)


def _whole(base: Report) -> Report:
    """Return the audit of all rows: of the slices of each attribute as one."""
    config = base.config.model_copy(update={"sliced_by": None})
    slices = [
        _together(parts, config) for parts in group_by(base.slices, lambda part: part.attribute).values()
    ]
    compared_by = common_references([kept(part, config) for part in base.slices], config)
    report = report_of(
        slices,
        base.decided_by,
        config,
        compared_by,
        source=base.source,
        rows=base.rows,
        weighted=base.weighted,
        found={"rates": None},
    )
    verdicts = verdicts_of(report, {})
    return replace(report, verdicts=verdicts, verdict=all_of(row.verdict for row in verdicts))


def _together(parts: Sequence[Slice], config: AuditConfig) -> Slice:
    """Return slices of an attribute as one."""
    known = {group for part in parts for group in part.counts.groups}
    groups = sorted(known, key=lambda group: (group == MISSING, group))
    cells = np.zeros((3, len(groups), 2, 2))
    for part in parts:
        cells[:, [groups.index(group) for group in part.counts.groups]] += part.cells
    return parts[0].with_cells(cells, tuple(groups), model="", decision=str(config.decisions[0]))


def _trends(whole: Report, base: Report, when: Sequence[float]) -> Iterator[Trend]:
    """Yield the trends of the comparisons that decide, adjusted for each other."""
    config = base.config
    rows = [row for row in whole.disparities if row.metric in base.deciding and not row.is_reference]
    counted = _counted([kept(part, config) for part in base.slices], rows)
    above, below, ref_above, ref_below = counted
    fit = ratio_trend(above, below, ref_above, ref_below, when, config.confidence)
    changes = intervals(fit.change, fit.low, fit.high)
    few = counted.sum(-1)[[0, 2]].min(0) < FEW_OVER
    p = np.where(few, np.nan, fit.p)
    adjusted = holm(np.where(np.isnan(p), 1.0, p))
    for i, row in enumerate(rows):
        tested = not math.isnan(p[i])
        change = changes[i]
        steady = tested and row.tau <= change.low and change.high <= 1 / row.tau
        word: Word = "steady" if steady else "undecided"
        if tested and adjusted[i] < config.alpha:
            if change.value > 1:
                word = "rises"
            else:
                word = "falls"
        yield Trend(
            *(*row.place, row.group, row.reference),
            metric=row.metric,
            ratio_first=float(fit.first_ratio[i]),
            ratio_last=float(fit.last_ratio[i]),
            change=change,
            p=float(p[i]),
            p_holm=float(adjusted[i]) if tested else math.nan,
            tau=row.tau,
            word=word,
            reason="" if word != "undecided" else "chance" if tested else "few",
        )


def _counted(parts: Sequence[Slice], rows: Sequence[Disparity]) -> Floats:
    """Return the numerators and denominators of rates and their references, (4, comparisons, slices)."""
    names = tuple(dict.fromkeys(row.metric for row in rows))
    slices = list(dict.fromkeys(part.model for part in parts))
    found = np.zeros((4, len(rows), len(slices)))
    for part in parts:
        t = slices.index(part.model)
        places = {group: g for g, group in enumerate(part.counts.groups)}
        own, rest = rate_rows(part, names, np.full(len(names), REST))
        for i, row in enumerate(rows):
            if row.attribute != part.attribute:
                continue
            m = names.index(row.metric)
            at = places.get(row.group)
            if row.reference == REST_NAME:
                against = (rest, at)
            else:
                against = (own, places.get(row.reference))
            for side, (counted, g) in zip((slice(2), slice(2, 4)), ((own, at), against), strict=True):
                if g is not None:
                    found[side, i, t] = counted.above[g, m], counted.below[g, m]
    return np.nan_to_num(found)


def about(found: Over, report: Report) -> str:
    """Return the name of the slices together: "all 8 slices by quarter"."""
    many = len(found.slices)
    return f"{'both' if many == 2 else f'all {many}'} slices by {report.config.sliced_by}"


def in_short(found: Over, report: Report) -> str:
    """Return how many trends are shown, and the verdict on the last slice."""
    last = [row for verdict in report.judged for row in rates.decisive(verdict, report)]
    if report.config.fail or report.config.failing_metrics:
        by = "by which the gate goes, "
    else:
        by = ""
    if last:
        said = rates.failures(last)
    else:
        said = "there is nothing to compare."
    if report.verdict == "undecided":
        verdict = "is not decided"
    else:
        verdict = VERDICTS[report.verdict]
    end = f" The last, {report.last}, {by}{verdict}: {said[0].lower()}{said[1:]}"
    if not found.ordered:
        return f"No trend is tested: {_why_not(found, report)}.{end}"
    parts = [] if any(row.word in MOVES for row in found.trends) else ["none is shown"]
    for word, (one, many) in VERBS.items():
        rows = [row for row in found.trends if row.word == word]
        if rows:
            if word in MOVES:
                which = _those(rows)
            else:
                which = f"{len(rows):,} of {len(found.trends):,}"
            parts.append(f"{which} {one if len(rows) == 1 else many}")
    return f"Trend over the slices: {'; '.join(parts)}.{end}"


MOVES = ("rises", "falls")
VERBS: dict[Word, tuple[str, str]] = {
    "rises": ("rises", "rise"),
    "falls": ("falls", "fall"),
    "steady": ("is steady", "are steady"),
    "undecided": ("is open", "are open"),
}
MOST_NAMED = 3


def _those(rows: Sequence[Trend]) -> str:
    """Return which ratios: "selection rate of African-American (race)"; the last of many are counted."""
    named = [f"{RATES[row.metric].label} of {writing.named(row.group)} ({row.attribute})" for row in rows]
    return join_names(named, MOST_NAMED)


def _why_not(found: Over, report: Report) -> str:
    if len(found.slices) < LEAST:
        return f"{len(found.slices)} slices are too few for one"
    return f"the values of {report.config.sliced_by} are no numbers or dates in their order"


def trend_words(found: Over, row: Pair, metric: str) -> str:
    """Return the trend of a comparison in a sentence; empty where none is tested."""
    place = row.attribute, row.group, metric
    one = next((one for one in found.trends if (one.attribute, one.group, one.metric) == place), None)
    if one is None:
        return ""
    first, last = (writing.ratio(value, one.tau, 2) for value in (one.ratio_first, one.ratio_last))
    span = f"From {found.slices[0]} to {found.slices[-1]} the ratio"
    if one.reason == "few":
        return f"{span} has too few rows for a trend."
    change, low, high = (writing.number(value, 2) for value in vars(one.change).values())
    line = f"goes from {first} to {last} on the fitted line ({change} times, {low} to {high})"
    if one.word in ("rises", "falls"):
        return f"{span} {one.word}: it {line}, more than chance would do."
    if one.word == "steady":
        return f"{span} is steady: it {line}, {allowed(one.tau)} times at most for every value that fits."
    chance = f"which could be chance (p {writing.p_value(one.p)})"
    return f"{span} {line}, {chance}; whether it is steady is open."


def slice_chart(found: Over, report: Report, row: Pair, metric: str, *, rest: bool = True) -> Chart:
    """Return the ratios of an attribute's groups slice by slice, that of `row` first.

    Groups of which nothing is shown over all slices, and those that are too many, are folded; without `rest`
    they are named below it.
    """
    rows, groups = rates.of_attribute(Place("", row.decision, row.attribute), found.report)
    minor = rates.minor_groups(groups)
    own = [one for one in rates.worst_first(rows, minor) if one.metric == metric and not one.is_reference]
    confidence = found.report.config.confidence
    clear = [one for one in own if one.verdict != "undecided" or differs(one, confidence) == "shown"]
    main = [one for one in own if one in clear or one.group == row.group][:MOST_LINES]
    others = [one for one in own if one not in main]
    label = RATES[metric].label
    against = {writing.named(one.reference) for one in own}
    if len(against) == 1:
        to = against.pop()
    else:
        to = "the reference"
    title = f"{row.attribute}: {label}, ratio to {to} by {report.config.sliced_by}"
    folded: tuple[Chart, ...] = ()
    head = f"{format_count(len(others), 'more group')}: "
    head += join_names([writing.named(one.group) for one in others])
    if others and rest:
        folded = (Chart(head, _lines(f"{title}; {head}", found, report, others[:MOST_LINES])),)
    if others and not rest:
        caption = f"not drawn, {head}"
    else:
        caption = ""
    return Chart(title, _lines(title, found, report, main), caption, folded=folded)


def _lines(title: str, found: Over, report: Report, rows: Sequence[Disparity]) -> str:
    """Draw the ratios of comparisons in each slice, their intervals as bands, on a log axis."""
    places = {name: float(i) for i, name in enumerate(found.slices)}
    lines = []
    seen = []
    for row in rows:
        points = []
        limits = []
        for one in report.disparities:
            known = one.ratio
            at = places[one.model]
            same = (one.attribute, one.group, one.metric) == (row.attribute, row.group, row.metric)
            if not same or one.is_reference or math.isnan(known.value):
                continue
            seen.append(known)
            value = writing.ratio(known.value, one.tau, 2)
            words = f"{writing.fraction(one.behind)} against {writing.fraction(one.reference_behind)}"
            said = f"{one.model}, {row.group}: {value} times {writing.interval(known, 2)} ({words})"
            points.append((at, known.value, said))
            if not math.isnan(known.low):
                limits.append((at, known.low, known.high))
        if len(row.group) <= SHORT:
            name = row.group
        else:
            name = f"{row.group[: SHORT - 1]}…"
        lines.append(ChartLine(name, points, limits))
    tau = rows[0].tau
    y = charts.ratio_axis([one.value for one in seen if 0 < one.value < math.inf], [], tau)
    y = replace(y, start=HIGH, end=charts.SIDE)  # what is beyond stands at its ends
    x = Axis(0.0, max(1.0, len(places) - 1.0), 44.0, charts.WIDTH - ROOM, names=tuple(found.slices))
    band = charts.element(
        *("rect", "band", f"allowed: {allowed(tau)}"),
        x=x.start,
        y=y.position(1 / tau),
        width=x.end - x.start,
        height=y.position(tau) - y.position(1 / tau),
        fill=charts.COLOURS["band"],
    )
    level_one = charts.stroke("one", f"M{x.start} {y.position(1.0)}H{x.end}", "equal to the reference")
    level = f"{100 * report.config.confidence:g} %"
    key = f"band: {allowed(tau)} is allowed; shaded: {level} intervals"
    return charts.plot_lines(title, x, y, lines, "", key, band + level_one, names_beside=True)


def trend_sections(found: Over, report: Report, view: View) -> Sequence[Section]:
    """Return all slices together, the trends, and the verdicts on the slices; these follow, each apart."""
    whole = found.report
    sliced = report.config.sliced_by
    shown = () if view.brief else report.deciding
    heads = {name: RATES[name].label for name in shown}
    of_each = rates.verdict_table("", report, shown, heads, decides=True)
    tables = []
    sections = rates.attribute_sections(whole, view, "w")
    if not view.brief:
        tables = [rates.verdict_table("", whole, shown, heads, decides=True, anchor="w")]
        sections = [replace(section, folded=True) for section in sections]
    if view.shown is None:
        place = "below"
    else:
        place = "see --all"
    return (
        Section(
            f"{about(found, report).capitalize()} together", tables=tuple(tables), sections=tuple(sections)
        ),
        _trend_section(found, report, view),
        Section(
            f"Each {sliced}",
            tables=(of_each,),
            notes=(f"The comparisons of each, and what changed from one to the next: {place}.",),
        ),
    )


def _trend_section(found: Over, report: Report, view: View) -> Section:
    """Return the ratios slice by slice, as charts for a page, and their trends."""
    sentences = []
    notes = []
    if found.ordered:
        many = format_count(len(found.trends), "trend")
        level = f"{100 * report.config.confidence:g} %"
        first = found.slices[0]
        last = found.slices[-1]
        notes = [
            "rises, falls: the ratio is not the same in all slices, by more than chance. steady: it changes "
            "by no more than is allowed, for every value that fits the data.",
            f"change: the ratio in {last} over that in {first} on the fitted line, with its {level} "
            f"interval. p (Holm): alone, and adjusted for {many}, by which it is decided.",
        ]
    else:
        sentences = [f"No trend is tested: {_why_not(found, report)}."]
    by_attribute = group_by(found.trends, lambda row: row.attribute)
    tables = tuple(_trend_table(rows, found, view) for rows in by_attribute.values())
    drawn = () if view.brief else tuple(_charts(found, report))
    title = f"Trends by {report.config.sliced_by}"
    return Section(title, tuple(sentences), tables, tuple(notes), charts=drawn)


def _charts(found: Over, report: Report) -> Iterator[Chart]:
    """Yield a chart of each attribute and rate."""
    for verdict in found.report.verdicts:
        rows = rates.decisive(verdict, found.report)
        minor = rates.minor_groups(rates.of_attribute(verdict, found.report)[1])
        for metric in dict.fromkeys(row.metric for row in rows):
            first = rates.worst_first([row for row in rows if row.metric == metric], minor)[0]
            yield slice_chart(found, report, first, metric, rest=False)


def _trend_table(rows: Sequence[Trend], found: Over, view: View) -> TextTable:
    """Return trends, those that are shown first, minor groups last."""
    groups = found.report.by_audit["", rows[0].decision, rows[0].attribute][1]
    minor = rates.minor_groups(groups)
    small = {row.group for row in groups if row.small}
    order = {"rises": 0, "falls": 0, "undecided": 1, "steady": 2}

    def key(row: Trend) -> tuple[float, ...]:
        return row.group in minor, order[row.word], 2.0 if math.isnan(row.p) else row.p

    def word(row: Trend) -> TableCell:
        why = REASONS[row.reason]
        if row.word == "undecided":
            words = VERDICTS["undecided"]
        else:
            words = row.word
        if why:
            if view.brief:
                words = why
            else:
                words = f"{words}: {why}"
        return TableCell(words, verdict="undecided" if row.reason else None)

    columns: dict[str, Callable[[Trend], TableCell]] = {
        "group": lambda row: writing.group_cell(row.group, row.group in small, muted=row.group in minor),
        "metric": lambda row: TableCell(row.metric),
        found.slices[0]: lambda row: writing.number_cell(row.ratio_first),
        found.slices[-1]: lambda row: writing.number_cell(row.ratio_last),
        "change": lambda row: writing.fine_cell(row.change, 2),
        "p (Holm)": lambda row: writing.both_p_cell(row.p, row.p_holm),
        "trend": word,
    }
    ordered = sorted(rows, key=key)
    title = f"{rows[0].attribute}: ratio on the fitted line"
    return table_of(title, columns, *view.cut(ordered))


def trend_rows(found: Over, _: Report) -> Iterable[Row]:
    """Yield the trends; an interval takes three columns."""
    return map(writing.flat, found.trends)


def _data(found: Over) -> dict[str, object]:
    whole = found.report
    parts = {name: getattr(whole, name) for name in ("verdict", "verdicts", "family", "disparities")}
    return {"slices": {**parts, "trends": found.trends}}


def whole_of(found: Over, report: Report) -> Whole:
    """Return the audit of all slices, with what is said and drawn of its comparisons over them."""
    return Whole(
        found.report,
        about(found, report),
        lambda row, metric: trend_words(found, row, metric),
        lambda row, metric: slice_chart(found, report, row, metric),
    )


TRENDS = Part[tuple[()], Over](
    "slices",
    wanted=lambda config: config.sliced_by is not None,
    judge=look_over,
    tables={"trends": trend_rows},
    sections=trend_sections,
    data=_data,
    summary=in_short,
    whole=whole_of,
)
