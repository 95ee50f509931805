"""What slices that have an order show, looked at after each of them, in words and as a table."""

from collections.abc import Callable, Iterable

from fairbench_cli.audit.compare.report import Disparity, Report, StreamLook
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import has_margin, name_gaps
from fairbench_cli.audit.parts.part import Row, View
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import TableCell, TextTable
from fairbench_cli.measures.rates import RATES

LARGEST = 1e6  # evidence beyond is written as this


def last_looks(report: Report) -> dict[tuple[str, str, str], StreamLook]:
    """Return the last look at each comparison, by attribute, group and rate; none without an order."""
    if report.streams is None:
        return {}
    looks = (look for look in report.streams.looks if look.model == report.last)
    return {(look.attribute, look.group, look.metric): look for look in looks}


def summarise_looks(report: Report) -> str:
    """Return as if when was looked, what that means for errors, and the comparison with most evidence."""
    looks = last_looks(report)
    rows = {(row.attribute, row.group, row.metric): row for row in report.judged_comparisons if row.deciding}
    deciding = [(look, rows[key]) for key, look in looks.items() if key in rows]
    level = f"{100 * report.config.alpha:.3g} %"
    when = f"As if looked at after each {report.config.slice_name}"
    sentence = f"{when}: no number of looks makes this say more than {level} false alarms."
    if not deciding:
        return sentence
    look, row = max(
        deciding, key=lambda pair: (pair[1].verdict == "fail", pair[0].most_evidence / pair[0].alarm_at)
    )
    return f"{sentence} {describe_look(look, row, in_full=True)}"


def describe_look(look: StreamLook, row: Disparity, *, in_full: bool = False) -> str:
    """Return the evidence on a comparison in a sentence; `in_full` with its rate and its groups."""
    most = format_evidence(look.most_evidence)
    alarm = format_evidence(look.alarm_at)
    subject = "the ratio"
    if has_margin(row.margin):
        subject = "the difference"
    if in_full:
        subject = (
            f"the {RATES[look.metric].label} of {formatting.format_group(look.group)} ({look.attribute})"
        )
    if look.most_evidence < look.alarm_at:
        if in_full:
            return f"Most evidence, on {subject}: {most} of {alarm}."
        return f"Evidence {most} of {alarm}."
    gap = formatting.ratio(look.ratio_since, row.tau, 2)
    if in_full:
        gap += " times that of " + formatting.format_group(look.reference)
    if has_margin(row.margin) and look.difference_since is not None:
        gap = f"{formatting.points(look.difference_since, row.margin)} points"
        if in_full:
            side = "below" if look.difference_since < 0 else "above"
            gap = f"{gap[1:]} {side} that of {formatting.format_group(look.reference)}"
    by_now = ""
    if look.evidence < look.alarm_at:
        by_now = f", by now {format_evidence(look.evidence)}"
    return f"Since {look.since} {subject} is {gap}; evidence {most}{by_now} (alarm at {alarm})."


def format_evidence(value: float) -> str:
    """Write evidence with two digits or as a whole number.

    >>> [format_evidence(value) for value in (0.314, 3.14, 83.7, 4711.0, 1e40)]
    ['0.31', '3.1', '84', '4,711', 'over 1,000,000']
    """
    if value > LARGEST:
        return f"over {formatting.thousands(LARGEST)}"
    if value < 10:
        return f"{value:.2g}"
    return formatting.thousands(round(value))


def look_rows(report: Report) -> Iterable[Row]:
    """Yield what each look shows of each comparison; an interval takes three columns."""
    if report.streams is None:
        return ()
    return map(formatting.flatten, report.streams.looks)


def looks_table(report: Report, view: View) -> TextTable:
    """Return the evidence of the last look on each comparison that decides, most first."""
    rows = {(row.attribute, row.group, row.metric): row for row in report.judged_comparisons if row.deciding}
    looks = [look for key, look in last_looks(report).items() if key in rows]
    looks.sort(key=lambda look: -look.most_evidence / look.alarm_at)

    gap = name_gaps(rows.values())

    def margin(look: StreamLook) -> float | None:
        return rows[look.attribute, look.group, look.metric].margin

    def gap_since(look: StreamLook) -> TableCell:
        since = f"since {look.since}"
        limit = margin(look)
        if has_margin(limit) and look.difference_since is not None:
            return TableCell(
                formatting.difference(look.difference_since, limit), since, look.difference_since
            )
        return TableCell(formatting.number(look.ratio_since, 2), since, look.ratio_since)

    def gap_of_all(look: StreamLook) -> TableCell:
        limit = margin(look)
        if has_margin(limit) and look.difference is not None:
            text = formatting.difference(look.difference.value, limit)
            return TableCell(text, formatting.interval(look.difference), look.difference.value)
        return formatting.fine_cell(look.ratio, 2)

    columns: dict[str, Callable[[StreamLook], TableCell]] = {
        "group": lambda look: TableCell(formatting.format_group(look.group), look.attribute),
        "metric": lambda look: TableCell(look.metric),
        "evidence": lambda look: TableCell(
            format_evidence(look.most_evidence), f"of {format_evidence(look.alarm_at)}", look.most_evidence
        ),
        f"{gap} since": gap_since,
        f"{gap}, all": gap_of_all,
    }
    return view.table("", columns, looks)


def looks_notes(report: Report) -> tuple[str, ...]:
    """Return how evidence is to be read."""
    n_tests = format_count(report.family, "comparison")
    gap = name_gaps(row for row in report.judged_comparisons if row.deciding)
    return (
        "evidence: 1 on average where both rates are the same in each slice, whenever one looks or stops; "
        "after it what rejects equal rates, 20 for one comparison and more for several "
        f"(Holm, {n_tests}). The largest so far counts.",
        f"since: the slice from which on the evidence is largest. {gap}, all: with limits that hold at all "
        f"looks at once. It fails where the {gap} since then is outside what is allowed, too.",
        f"In the tables of all slices p is 1 / the largest evidence, and the limits of a {gap} are these.",
    )
