"""One chart for each attribute of an answer: the rate of its groups, and what their reference allows."""

import math
from collections.abc import Sequence

from fairbench_cli.audit.compare.report import Disparity, GroupRow, Report
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.findings import allowed, differs, verdict_words
from fairbench_cli.audit.parts.rates import (
    LOOKS,
    MOST_BARS,
    minor_groups,
    of_attribute,
    rate_axis,
    worst_first,
)
from fairbench_cli.audit.show.headline import Sentence, meaning
from fairbench_cli.base.text import percent_words
from fairbench_cli.document.charts import Axis, ChartRow, Look, box, dot, row_chart, rule, whisker
from fairbench_cli.document.model import SYMBOLS, UNTESTED, Chart
from fairbench_cli.measures.rates import RATES

SHORT = 20  # characters of a reference's name below a chart
HEIGHT = 18  # of the band and of the reference's line in a row


def rate_chart(said: Sentence, report: Report) -> Chart:
    """Return the rate that a sentence is about, by group: worst first, then the reference and minor groups.

    Groups on which nothing is shown are folded behind their count.
    """
    rows, groups = of_attribute(said, report)
    minor, of_group = minor_groups(groups), {row.group: row for row in groups}
    own = worst_first([row for row in rows if row.metric == said.metric], minor)
    still = [
        row for row in own if not (row.is_reference or row.group == said.group) and _is_open(row, report)
    ]
    shown = [row for row in own if row not in still]
    title = f"{said.attribute}: {meaning(said.metric)}"
    folded: tuple[Chart, ...] = ()
    if still:
        names = writing.listed([writing.named(row.group) for row in still])
        head = f"{writing.counted_words(len(still), 'group')} not decided: {names}"
        folded = (Chart(head, _drawn(f"{title}: {head}", still, of_group, minor, report)),)
    more = len(shown) - MOST_BARS
    caption = f"and {writing.counted_words(more, 'more group')} in the table" if more > 0 else ""
    return Chart(title, _drawn(title, shown, of_group, minor, report), caption, folded=folded)


def _is_open(row: Disparity, report: Report) -> bool:
    """Return whether neither a difference nor a verdict is shown."""
    return row.verdict == "undecided" and differs(row, report.config.confidence) != "shown"


def _drawn(
    title: str,
    rows: Sequence[Disparity],
    of_group: dict[str, GroupRow],
    minor: frozenset[str],
    report: Report,
) -> str:
    """Return the picture of some groups."""
    first = rows[: MOST_BARS - 1]
    kept = [row for row in rows if row in first or row.is_reference] if len(rows) > MOST_BARS else rows
    known = (of_group[row.group].metrics[row.metric] for row in kept)
    axis = rate_axis(known, (row.reference_value for row in kept), percent=True)
    drawn = [_row(axis, row, of_group[row.group], report, muted=row.group in minor) for row in kept]
    words = "; ".join(f"{row.name}: {row.said}" for row in drawn)
    references = {(row.reference, row.reference_value) for row in rows}
    reference = "the reference's rate"
    if len(references) == 1:
        ((name, value),) = references
        reference = f"{name if len(name) <= SHORT else 'reference'} {percent_words(value)}"
    key = f"line: {reference}; shaded: {allowed(rows[0].tau)} times, allowed"
    return row_chart(f"{title}. {words}", axis, drawn, key)


def _row(axis: Axis, row: Disparity, own: GroupRow, report: Report, *, muted: bool) -> ChartRow:
    """Return a group: the band that its reference allows, its rate with the interval, and both in words."""
    known, untested = own.metrics[row.metric], report.config.rule == "point"
    rate = percent_words(row.value)
    said = f"{rate}, reference" if row.is_reference else _beside(rate, row)
    look: Look = "reference" if row.is_reference else LOOKS[row.verdict] if untested else row.verdict
    symbol = "" if row.is_reference else (UNTESTED if untested else SYMBOLS)[row.verdict]
    ends = f", {percent_words(known.low)} to {percent_words(known.high)}"
    title = f"{row.group}: {RATES[row.metric].label} {rate} ({writing.fraction(row.behind)}){ends}"
    title += "" if row.is_reference else f"; {verdict_words(row)}"
    marks, reference = [], row.reference_value
    if math.isfinite(reference) and not row.is_reference:
        low, high = row.tau * reference, min(1.0, reference / row.tau)
        words = f"allowed: {percent_words(low)} to {percent_words(high)}"
        marks.append(box("band", axis, low, high, HEIGHT, words))
        marks.append(rule("ref", axis, reference, HEIGHT, f"{row.reference}: {percent_words(reference)}"))
    if math.isfinite(row.value):
        marks.append(whisker(axis, known.low, known.high, title))
        marks.append(dot(axis, row.value, look, title))
    name = f"{symbol} {row.group}{'*' if own.small else ''}".strip()
    return ChartRow(name, said, marks, muted)


def _beside(rate: str, row: Disparity) -> str:
    """Return a rate with its ratio: "42.3 %, 1.92 times"."""
    times = writing.ratio(row.ratio.value, row.tau, 2)
    return rate if math.isnan(row.ratio.value) else f"{rate}, {times} times"
