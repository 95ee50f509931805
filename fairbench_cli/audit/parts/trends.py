"""All slices of the rows together, and whether ratios rise or fall from the first slice to the last.

The slices are pooled as if there were none: the verdict is that of an audit of all rows. A trend is tested
where the slices are numbers or dates in their order (`measures.trend`), Holm over all trends. It rises or
falls where "the ratio is the same in all slices" is rejected; it is steady where the whole interval of the
change from the first slice to the last is one that τ allows; else it is open. Of a rate that goes by a margin
it is a trend of the ratio, too, and never steady.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.audit.compare import slice_order
from fairbench_cli.audit.compare.compare_rates import compare_slices
from fairbench_cli.audit.compare.effective_sizes import rate_rows
from fairbench_cli.audit.compare.references import REST, REST_NAME, common_references, without_excluded_groups
from fairbench_cli.audit.compare.report import (
    AttributeVerdict,
    Disparity,
    Interval,
    Pair,
    Place,
    Report,
    StreamLook,
    intervals,
)
from fairbench_cli.audit.compare.verdict import combine_verdicts, decide_attributes
from fairbench_cli.audit.parts import formatting, rates
from fairbench_cli.audit.parts.allowed import (
    describe_gap_briefly,
    equal_gap,
    format_allowed,
    gap_axis,
    gap_of,
    has_margin,
    name_gaps,
)
from fairbench_cli.audit.parts.findings import differs
from fairbench_cli.audit.parts.looks import (
    MOVES,
    NO_TREND,
    describe_fitted,
    describe_look,
    describe_trend_level,
    last_looks,
    look_rows,
    looks_notes,
    looks_table,
    name_slices,
    summarise_looks,
    summarise_words,
    trend_notes,
)
from fairbench_cli.audit.parts.part import SHORT, AllRows, Part, View
from fairbench_cli.audit.parts.slice_grid import slice_grid
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.grouping import group_by, keep_together
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartLine
from fairbench_cli.document.model import (
    SYMBOLS,
    UNTESTED,
    VERDICT_VERBS,
    VERDICTS,
    Chart,
    Section,
    TableCell,
    TextTable,
)
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.trend import ratio_trend

FEW_OVER = 5  # rows over the bar, of a group or its reference: with fewer no trend is tested
MOST_LINES = 5  # groups in a chart
# of a chart; what names at the ends of lines have, and their letters
HIGH = 150
ROOM = 110
LONGEST_NAME = 17


@dataclass(frozen=True)
class Trend(slice_order.FittedTrend):
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
    word: slice_order.TrendWord
    reason: slice_order.NoTrend


@dataclass(frozen=True, eq=False)
class SliceTrends:
    """The audit of all slices together, their names, and the trends; none where they have no order.

    `looks` is what the last look shows, where they are looks at a stream.
    """

    report: Report
    slices: tuple[str, ...]
    trends: tuple[Trend, ...]
    ordered: bool
    looks: tuple[StreamLook, ...] = ()


def find_trends(_: tuple[()], base: Report) -> SliceTrends:
    """Return the audit of all slices together, and the trends of the rates that decide."""
    all_rows = base.streams.together if base.streams else _audit_all_rows(base)
    names = tuple(dict.fromkeys(group_counts.model for group_counts in base.slices))
    when = None
    if len(names) >= slice_order.LEAST:
        when = slice_order.parse_times(names)
    fitted = tuple(_compute_trends(all_rows, base, when)) if when else ()
    trends = tuple(
        slice_order.add_trend_words(fitted, base.config.alpha, lambda row: (1.0, row.tau, 1 / row.tau))
    )
    looks = tuple(last_looks(base).values())
    return SliceTrends(all_rows, names, trends, when is not None, looks)


def _audit_all_rows(base: Report) -> Report:
    """Return the audit of all rows: of the slices of each attribute as one."""
    config = base.config.model_copy(update={"sliced_by": None})
    slices = [
        slice_order.merge_slices(attribute_slices, str(config.decisions[0]))
        for attribute_slices in group_by(base.slices, lambda group_counts: group_counts.attribute).values()
    ]
    compared_by = common_references(
        [without_excluded_groups(group_counts, config) for group_counts in base.slices], config
    )
    report = compare_slices(
        slices,
        base.decided_by,
        config,
        compared_by,
        source=base.source,
        rows=base.rows,
        weighted=base.weighted,
        ones=base.ones,
        found={"rates": None},
    )
    verdicts = decide_attributes(report, {})
    return replace(report, verdicts=verdicts, verdict=combine_verdicts(row.verdict for row in verdicts))


def _compute_trends(all_rows: Report, base: Report, when: Sequence[float]) -> Iterator[Trend]:
    """Yield the trends of the comparisons that decide, none of them adjusted."""
    config = base.config
    rows = [row for row in all_rows.disparities if row.metric in base.deciding and not row.is_reference]
    counted = _count_rates(
        [without_excluded_groups(group_counts, config) for group_counts in base.slices], rows
    )
    numerator, denominator, ref_numerator, ref_denominator = counted
    fit = ratio_trend(numerator, denominator, ref_numerator, ref_denominator, when, config.confidence)
    changes = intervals(fit.change, fit.low, fit.high)
    has_few = counted.sum(-1)[[0, 2]].min(0) < FEW_OVER
    p = np.where(has_few, np.nan, fit.p)
    for i, row in enumerate(rows):
        yield Trend(
            *(*row.place, row.group, row.reference),
            metric=row.metric,
            ratio_first=float(fit.first_ratio[i]),
            ratio_last=float(fit.last_ratio[i]),
            change=changes[i],
            p=float(p[i]),
            p_holm=math.nan,
            tau=row.tau,
            word="undecided",
            reason="few",
        )


def _count_rates(group_counts: Sequence[Slice], rows: Sequence[Disparity]) -> Floats:
    """Return the numerators and denominators of rates and their references, (4, comparisons, slices)."""
    names = tuple(dict.fromkeys(row.metric for row in rows))
    slices = list(dict.fromkeys(counts.model for counts in group_counts))
    found = np.zeros((4, len(rows), len(slices)))
    for counts in group_counts:
        t = slices.index(counts.model)
        index_of_group = {group: g for g, group in enumerate(counts.counts.groups)}
        group_rows, remaining_rows = rate_rows(counts, names, np.full(len(names), REST))
        for i, row in enumerate(rows):
            if row.attribute != counts.attribute:
                continue
            m = names.index(row.metric)
            group_index = index_of_group.get(row.group)
            if row.reference == REST_NAME:
                against = (remaining_rows, group_index)
            else:
                against = (group_rows, index_of_group.get(row.reference))
            for side, (counted, g) in zip(
                (slice(2), slice(2, 4)), ((group_rows, group_index), against), strict=True
            ):
                if g is not None:
                    found[side, i, t] = counted.numerator[g, m], counted.denominator[g, m]
    return np.nan_to_num(found)


def summarise_trends(trends: SliceTrends, report: Report) -> str:
    """Return which trends are shown, and the verdict on the last slice, or what all looks show."""
    if report.of_strata:
        judged = f"Each {report.config.slice_name} is judged, all in one family."
        return f"{judged} {_describe_whole(trends)}".rstrip()
    gate_text = ""
    if report.config.fail or report.config.failing_metrics:
        gate_text = "by which the gate goes, "
    verdict = VERDICT_VERBS[report.verdict][0]
    if not any(rates.deciding_rows(row, report) for row in report.judged):
        verdict += ": there is nothing to compare"
    end = f" The last, {report.last}, {gate_text}{verdict}."
    about = "Trend over the slices"
    if report.streams is not None:
        about = describe_trend_level(report)
        end = f" {summarise_looks(report)}"
    if not trends.ordered:
        return f"{_describe_no_trend(trends)}{end}"
    moving = []
    for word in MOVES:
        rows = [row for row in trends.trends if row.word == word]
        if rows:
            moving.append(f"{_name_ratios(rows)} {word if len(rows) == 1 else word.removesuffix('s')}")
    sentence = f"{about}: {summarise_words(trends.trends, moving)}."
    if report.streams is not None:
        return f"{end.strip()} {sentence}"
    return f"{sentence}{end}"


MOST_NAMED = 3
MOST_SHORT_NAMES = 6  # slices without an order, in a cell


def _name_ratios(rows: Sequence[Trend]) -> str:
    """Return which ratios: "selection rate of African-American (race)"; the last of many are counted."""
    ratio_names = [
        f"{RATES[row.metric].label} of {formatting.format_group(row.group)} ({row.attribute})" for row in rows
    ]
    return join_names(ratio_names, MOST_NAMED)


def _describe_no_trend(trends: SliceTrends) -> str:
    return f"No trend is tested: {len(trends.slices)} slices are too few for one."


def _describe_whole(trends: SliceTrends) -> str:
    """Return the worst gap of slices without an order together, which is not judged, in a sentence."""
    rows = [row for row in trends.report.disparities if row.deciding and not row.is_reference]
    for row in rates.worst_first(rows, rates.minor_groups(trends.report.groups))[:1]:
        group, reference = (formatting.format_group(name) for name in (row.group, row.reference))
        return (
            f"All together, which is not judged: {RATES[row.metric].label} of {group} ({row.attribute}) "
            f"against {reference} {describe_gap_briefly(row)}."
        )
    return ""


def describe_trend(trends: SliceTrends, row: Pair, metric: str) -> str:
    """Return the trend of a comparison in a sentence; empty where none is tested."""
    key = row.attribute, row.group, metric
    trend = next(
        (trend for trend in trends.trends if (trend.attribute, trend.group, trend.metric) == key), None
    )
    if trend is None:
        return ""
    first_ratio, last_ratio = (
        formatting.ratio(value, trend.tau, 2) for value in (trend.ratio_first, trend.ratio_last)
    )
    span = f"From {trends.slices[0]} to {trends.slices[-1]} the ratio"
    change, low, high = (formatting.number(value, 2) for value in vars(trend.change).values())
    line = f"goes from {first_ratio} to {last_ratio} on the fitted line ({change} times, {low} to {high})"
    most = "" if math.isnan(trend.tau) else f"{100 * (1 / trend.tau - 1):.3g} %"
    return describe_fitted(trend, span, line, most)


def plot_slices(
    trends: SliceTrends, report: Report, row: Pair, metric: str, *, fold_rest: bool = True
) -> Chart:
    """Return the ratios of an attribute's groups slice by slice, that of `row` first.

    Groups of which nothing is shown over all slices, and those that are too many, are folded; without
    `fold_rest` they are named below it.
    """
    rows, groups = rates.rows_of_attribute(Place("", row.decision, row.attribute), trends.report)
    minor = rates.minor_groups(groups)
    ordered = [
        row_of_group
        for row_of_group in rates.worst_first(rows, minor)
        if row_of_group.metric == metric and not row_of_group.is_reference
    ]
    confidence = trends.report.config.confidence
    clear = [
        row_of_group
        for row_of_group in ordered
        if row_of_group.verdict != "undecided" or differs(row_of_group, confidence) == "shown"
    ]
    main = [
        row_of_group for row_of_group in ordered if row_of_group in clear or row_of_group.group == row.group
    ][:MOST_LINES]
    not_drawn = [row_of_group for row_of_group in ordered if row_of_group not in main]
    label = RATES[metric].label
    against = {formatting.format_group(row_of_group.reference) for row_of_group in ordered}
    reference_text = "the reference"
    if len(against) == 1:
        reference_text = against.pop()
    gap_text = f"ratio to {reference_text}"
    if name_gaps(ordered) == "difference":
        gap_text = f"difference from {reference_text}"
    title = f"{row.attribute}: {label}, {gap_text} by {report.config.slice_name}"
    folded: tuple[Chart, ...] = ()
    head = f"{format_count(len(not_drawn), 'more group')}: "
    head += join_names([formatting.format_group(row_of_group.group) for row_of_group in not_drawn])
    if not_drawn and fold_rest:
        folded = (Chart(head, _plot_lines(f"{title}; {head}", trends, report, not_drawn[:MOST_LINES])),)
    caption = ""
    if not_drawn and not fold_rest:
        caption = f"not drawn, {head}"
    return Chart(title, _plot_lines(title, trends, report, main), caption, folded=folded)


def _plot_lines(title: str, trends: SliceTrends, report: Report, rows: Sequence[Disparity]) -> str:
    """Draw the gaps of comparisons in each slice, their intervals as bands; ratios on a log axis."""
    index_of_slice = {name: float(i) for i, name in enumerate(trends.slices)}
    lines = []
    seen = []
    for row in rows:
        points = []
        limits = []
        for slice_row in report.disparities:
            estimate = gap_of(slice_row)
            slice_index = index_of_slice[slice_row.model]
            is_same = (slice_row.attribute, slice_row.group, slice_row.metric) == (
                row.attribute,
                row.group,
                row.metric,
            )
            if not is_same or slice_row.is_reference or math.isnan(estimate.value):
                continue
            seen.append(estimate)
            value = describe_gap_briefly(slice_row)
            reference_counts = formatting.fraction(slice_row.reference_behind)
            counts_text = f"{formatting.fraction(slice_row.behind)} against {reference_counts}"
            limits_text = formatting.interval(estimate, 2)
            tooltip = f"{slice_row.model}, {row.group}: {value} {limits_text} ({counts_text})"
            points.append((slice_index, estimate.value, tooltip))
            if not math.isnan(estimate.low):
                limits.append((slice_index, estimate.low, estimate.high))
        if len(row.group) <= LONGEST_NAME:
            name = row.group
        else:
            name = f"{row.group[: LONGEST_NAME - 1]}…"
        lines.append(ChartLine(name, points, limits))
    tau = rows[0].tau
    margin = rows[0].margin
    if has_margin(margin):
        drawn = [estimate.value for estimate in seen]
        lowest, highest = -margin, margin
    else:
        drawn = [estimate.value for estimate in seen if 0 < estimate.value < math.inf]
        lowest, highest = tau, 1 / tau
    allowed = format_allowed(tau, margin)
    equal = equal_gap(margin)
    y = gap_axis([Interval(value, math.nan, math.nan) for value in drawn], tau, margin)
    y = replace(y, start=HIGH, end=charts.SIDE)  # what is beyond stands at its ends
    x = Axis(0.0, max(1.0, len(index_of_slice) - 1.0), 44.0, charts.WIDTH - ROOM, names=tuple(trends.slices))
    band = charts.element(
        *("rect", "band", f"allowed: {allowed}"),
        x=x.start,
        y=y.position(highest),
        width=x.end - x.start,
        height=y.position(lowest) - y.position(highest),
        fill=charts.COLOURS["band"],
    )
    level_one = charts.stroke("one", f"M{x.start} {y.position(equal)}H{x.end}", "equal to the reference")
    level = f"{100 * report.config.confidence:g} %"
    verb = "are" if has_margin(margin) else "is"
    key = f"band: {allowed} {verb} allowed; shaded: {level} intervals"
    return charts.plot_lines(title, x, y, lines, "", key, band + level_one, names_beside=True)


def trend_sections(trends: SliceTrends, report: Report, view: View) -> Sequence[Section]:
    """Return all slices together, the trends, and the verdicts on the slices; these follow, each apart."""
    all_rows = trends.report
    sliced = report.config.slice_name
    metrics = () if view.brief else report.deciding
    heads = {name: RATES[name].label for name in metrics}
    grid, grid_note = slice_grid(all_rows, report)
    tables_of_each = [grid]
    tables = []
    sections = rates.attribute_sections(all_rows, view, "w")
    if not view.brief:
        tables_of_each.append(rates.verdict_table("", report, metrics, heads, decides=True))
        tables = [rates.verdict_table("", all_rows, metrics, heads, decides=True, anchor="w")]
        sections = [replace(section, folded=True) for section in sections]
    hint = "see --all"
    if view.max_rows is None:
        hint = "below"
    looks: tuple[Section, ...] = ()
    notes_on_each = [grid_note]
    if report.streams is not None:
        looks_title = f"Evidence after {format_count(len(trends.slices), 'look')}"
        looks = (Section(looks_title, tables=(looks_table(report, view),), notes=looks_notes(report)),)
        notes_on_each.append(
            "Signs, verdicts and p (Holm) are of all slices until then; rates, ratios, intervals and p of "
            "each alone."
        )
    together = f"{name_slices(trends.slices, report).capitalize()} together"
    over_time = (*looks, _trend_section(trends, report, view))
    if report.of_strata:
        together += f", which is not judged: each {sliced} is"
        over_time = ()
    return (
        Section(
            together,
            tables=tuple(tables),
            sections=tuple(sections),
        ),
        *over_time,
        Section(
            f"Each {sliced}",
            tables=tuple(tables_of_each),
            notes=(
                *notes_on_each,
                f"The comparisons of each, and what changed from one to the next: {hint}.",
            ),
        ),
    )


def short_trends(trends: SliceTrends, report: Report) -> Sequence[Section]:
    """Return the verdicts on all slices as symbols, an attribute in a line."""
    symbols = UNTESTED if report.config.rule == "point" else SYMBOLS
    by_attribute = group_by(report.verdicts, lambda verdict: verdict.attribute)
    if report.of_strata:
        return (_list_strata(by_attribute, report),)
    head = f"{trends.slices[0]} to {trends.slices[-1]}"
    columns: dict[str, Callable[[tuple[str, str]], TableCell]] = {
        "attribute": lambda row: TableCell(row[0]),
        head: lambda row: TableCell(row[1]),
    }
    rows = []
    for attribute, verdicts in by_attribute.items():
        rows.append((attribute, " ".join(symbols[verdict.verdict] for verdict in verdicts)))
    key = ", ".join(f"{symbols[verdict]} {text}" for verdict, text in VERDICTS.items())
    title = f"{'Each' if report.streams is None else 'After each'} {report.config.slice_name}: {key}"
    return (Section(title, tables=(SHORT.table("", columns, rows),)),)


def _list_strata(by_attribute: Mapping[str, Sequence[AttributeVerdict]], report: Report) -> Section:
    """Return the slices without an order that fail, are not decided and pass, an attribute in a line."""
    columns: dict[str, Callable[[str], TableCell]] = {"attribute": TableCell}
    for verdict, text in VERDICTS.items():
        columns[text] = lambda attribute, verdict=verdict: TableCell(  # type: ignore[misc]
            join_names(
                [row.model for row in by_attribute[attribute] if row.verdict == verdict], MOST_SHORT_NAMES
            )
            or formatting.DASH
        )
    return Section(f"Each {report.config.slice_name}", tables=(SHORT.table("", columns, list(by_attribute)),))


def _trend_section(trends: SliceTrends, report: Report, view: View) -> Section:
    """Return the ratios slice by slice, as charts for a page, and their trends."""
    sentences = []
    notes = []
    if trends.ordered:
        level = f"{100 * report.config.confidence:g} %"
        first_slice = trends.slices[0]
        last_slice = trends.slices[-1]
        change = f"the ratio in {last_slice} over that in {first_slice} on the fitted line, with its {level} "
        notes = [*trend_notes("ratio", "is allowed", f"{change}interval", len(trends.trends))]
    else:
        sentences = [_describe_no_trend(trends)]
    by_attribute = group_by(trends.trends, lambda row: row.attribute)
    tables = tuple(_trend_table(rows, trends, view) for rows in by_attribute.values())
    drawn = () if view.brief else tuple(_charts(trends, report))
    title = f"Trends by {report.config.slice_name}"
    return Section(title, tuple(sentences), tables, tuple(notes), charts=drawn)


def _charts(trends: SliceTrends, report: Report) -> Iterator[Chart]:
    """Yield a chart of each attribute and rate."""
    for verdict in trends.report.verdicts:
        rows = rates.deciding_rows(verdict, trends.report)
        minor = rates.minor_groups(rates.rows_of_attribute(verdict, trends.report)[1])
        for metric in dict.fromkeys(row.metric for row in rows):
            worst_row = rates.worst_first([row for row in rows if row.metric == metric], minor)[0]
            yield plot_slices(trends, report, worst_row, metric, fold_rest=False)


def _trend_table(rows: Sequence[Trend], trends: SliceTrends, view: View) -> TextTable:
    """Return trends, groups of which one is shown first, minor groups last."""
    groups = trends.report.by_audit["", rows[0].decision, rows[0].attribute][1]
    minor = rates.minor_groups(groups)
    small = {row.group for row in groups if row.small}
    order = {"rises": 0, "falls": 0, "undecided": 1, "steady": 2}

    def key(row: Trend) -> tuple[float, ...]:
        return row.group in minor, order[row.word], 2.0 if math.isnan(row.p) else row.p

    def word(row: Trend) -> TableCell:
        why = NO_TREND[row.reason]
        if row.word == "undecided":
            trend_text = VERDICTS["undecided"]
        else:
            trend_text = row.word
        if why:
            if view.brief:
                trend_text = why
            else:
                trend_text = f"{trend_text}: {why}"
        return TableCell(trend_text, verdict="undecided" if row.reason else None)

    columns: dict[str, Callable[[Trend], TableCell]] = {
        "group": lambda row: formatting.group_cell(row.group, row.group in small, muted=row.group in minor),
        "metric": lambda row: TableCell(row.metric),
        trends.slices[0]: lambda row: formatting.number_cell(row.ratio_first),
        trends.slices[-1]: lambda row: formatting.number_cell(row.ratio_last),
        "change": lambda row: formatting.fine_cell(row.change, 2),
        "p (Holm)": lambda row: formatting.both_p_cell(row.p, row.p_holm),
        "trend": word,
    }
    ordered = keep_together(sorted(rows, key=key), lambda row: row.group)
    title = f"{rows[0].attribute}: ratio on the fitted line"
    return view.table(title, columns, ordered)


def _select_json(trends: SliceTrends) -> dict[str, object]:
    all_rows = trends.report
    cells = {name: getattr(all_rows, name) for name in ("verdict", "verdicts", "family", "disparities")}
    if trends.looks:
        cells["looks"] = trends.looks
    return {"slices": {**cells, "trends": trends.trends}}


def _describe_over_slices(trends: SliceTrends, report: Report, pair: Pair, metric: str) -> str:
    """Return the evidence and the trend of a comparison in sentences; empty where there is neither."""
    trend = describe_trend(trends, pair, metric)
    look = last_looks(report).get((pair.attribute, pair.group, metric))
    for row in trends.report.disparities:
        if look and (row.attribute, row.group, row.metric) == (pair.attribute, pair.group, metric):
            return f"{describe_look(look, row, report)} {trend}".rstrip()
    return trend


def to_all_rows(trends: SliceTrends, report: Report) -> AllRows | None:
    """Return the audit of all slices, with what is said and drawn of its comparisons over them.

    None where slices have no order: the answer is of each.
    """
    if report.of_strata:
        return None
    return AllRows(
        trends.report,
        name_slices(trends.slices, report),
        lambda row, metric: _describe_over_slices(trends, report, row, metric),
        lambda row, metric: plot_slices(trends, report, row, metric),
    )


TRENDS = Part[tuple[()], SliceTrends](
    "slices",
    judge=find_trends,
    found_type=SliceTrends,
    tables={
        "trends": lambda trends, _: map(formatting.flatten, trends.trends),
        "looks": lambda _, report: look_rows(report),
    },
    sections=trend_sections,
    short=short_trends,
    data=_select_json,
    summary=summarise_trends,
    all_rows=to_all_rows,
)
