"""What slices that have an order show, looked at after each of them, in words and as a table."""

import math
from collections.abc import Callable, Iterable, Sequence

from fairbench_cli.audit.compare.report import Disparity, NumberLook, Report, StreamLook
from fairbench_cli.audit.compare.slice_order import FittedTrend, NoTrend, TrendWord
from fairbench_cli.audit.config import PERIODS
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import has_margin, name_gaps
from fairbench_cli.audit.parts.part import Row, View
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import TableCell, TextTable
from fairbench_cli.measures.month_effects import FEWEST_ALIKE
from fairbench_cli.measures.rates import RATES

LARGEST = 1e6  # evidence beyond is written as this
MOVES: tuple[TrendWord, ...] = ("rises", "falls")
NO_TREND: dict[NoTrend, str] = {
    "few": "too few rows",
    "clusters": "too few clusters, or too many to test",
    "chance": "could be chance",
    "": "",
}


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
    sentence = describe_level(report)
    if not deciding:
        return sentence
    look, row = max(
        deciding, key=lambda pair: (pair[1].verdict == "fail", -pair[0].p_holm, pair[0].most_evidence)
    )
    return f"{sentence} {describe_look(look, row, report, in_full=True)}"


def describe_level(report: Report) -> str:
    """Return how many false alarms there are, however often one looks."""
    when = f"As if looked at after each {report.config.slice_name}"
    return f"{when}: at most {100 * report.config.alpha:.3g} % false alarms, however many looks."


def describe_trend_level(report: Report) -> str:
    """Return how a trend over slices in an order stands to these false alarms."""
    return f"Trend, of this look alone and not covered by the {100 * report.config.alpha:.3g} %"


def name_slices(names: Sequence[str], report: Report) -> str:
    """Return the name of slices together: "all 8 slices by quarter"."""
    if len(names) == 2:
        return f"both slices by {report.config.slice_name}"
    return f"all {len(names)} slices by {report.config.slice_name}"


def summarise_words(trends: Sequence[FittedTrend], moving: Sequence[str]) -> str:
    """Return trends in words: the clauses on those that move, and how many of the others are steady, open."""
    clauses = list(moving) or ["none is shown"]
    for word, adjective in (("steady", "steady"), ("undecided", "open")):
        n = sum(row.word == word for row in trends)
        if n:
            clauses.append(f"{n:,} of {len(trends):,} {'is' if n == 1 else 'are'} {adjective}")
    return "; ".join(clauses)


def describe_fitted(row: FittedTrend, span: str, line: str, most: str) -> str:
    """Return a trend in a sentence.

    Parameters
    ----------
    row : FittedTrend
    span, line : str
        What is compared from when to when; and from where to where it goes.
    most : str
        By how much it changes at most where it is steady; empty where it cannot be.
    """
    if math.isnan(row.p):
        return f"{span} has {NO_TREND[row.reason]} for a trend."
    if row.word in MOVES:
        return f"{span} {row.word}: it {line}, more than chance would do."
    if row.word == "steady":
        return f"{span} is steady: it {line}, by less than {most} at most."
    chance = f"{span} {line}, which could be chance (p {formatting.p_value(row.p)})"
    return f"{chance}; whether it is steady is open." if most else f"{chance}."


def trend_notes(gap: str, limit: str, change: str, n_trends: int) -> tuple[str, str]:
    """Return how a table of trends of a gap is to be read."""
    return (
        f"rises, falls: the {gap} is not the same in all slices, by more than chance. steady: it changes by "
        f"no more than {limit}, for every value that fits the data.",
        f"change: {change}. p (Holm): alone, and adjusted for {format_count(n_trends, 'trend')}, by which it "
        "is decided.",
    )


def describe_look(look: StreamLook, row: Disparity, report: Report, *, in_full: bool = False) -> str:
    """Return the evidence on a comparison in sentences; `in_full` with its rate and its groups."""
    subject = "the ratio"
    if has_margin(row.margin):
        subject = "the difference"
    if in_full:
        subject = (
            f"the {RATES[look.metric].label} of {formatting.format_group(look.group)} ({look.attribute})"
        )
    spread = ""
    if look.month_spread:
        spread = f"{100 * look.month_spread:.2g} points"
    gap = f"is {_describe_gap_since(look, row, in_full=in_full)}"
    differs = "rates differ"
    if in_full:
        differs = f"{subject} is not that of {formatting.format_group(look.reference)}"
    texts = (subject, gap, spread, differs)
    return describe_evidence(look, look.alarm_at, texts, report, in_full=in_full)


def describe_evidence(
    look: StreamLook | NumberLook,
    alarm_at: float,
    texts: tuple[str, str, str, str],
    report: Report,
    *,
    in_full: bool,
) -> str:
    """Return the evidence of a look in sentences.

    Parameters
    ----------
    look : StreamLook or NumberLook
    alarm_at : float
    texts : four str
        What is compared; what it is since the look's `since`, empty where that is told already; how far the
        gap scatters; and that groups differ.
    report : Report
    in_full : bool
        Whether what is compared is named where there is no alarm.
    """
    subject, gap, spread, differs = texts
    alarm = format_evidence(alarm_at)
    slices = _name_slices(report)
    most, last = look.most_evidence, look.evidence
    scatter = ""
    if look.by_months:
        most, last = look.most_months_evidence, look.months_evidence
        scatter = _describe_scatter(look, spread, report)
    evidence = format_evidence(most)
    as_if = f", as if {slices} had no effect of their own"
    if not math.isnan(look.p_same):
        as_if += f" (p of that {formatting.p_value(look.p_same)})"
    if most >= alarm_at:
        by_now = f"{evidence}"
        if last < alarm_at:
            by_now += f", by now {format_evidence(last)}"
        if look.by_months:
            as_if = (
                f", more than independent {slices} differ; causes that last for {slices} would look the same"
            )
        opening = "Evidence"
        if gap:
            opening = f"Since {look.since} {subject} {gap}; evidence"
        return f"{scatter}{opening} {by_now} (alarm at {alarm}){as_if}."
    if look.by_months and look.most_evidence >= alarm_at:
        in_some = f"In some {slices} {differs} (evidence {format_evidence(look.most_evidence)})"
        on_average = f"on average over {slices} that is not shown (evidence {evidence} of {alarm})"
        return f"{scatter}{in_some}; {on_average}."
    if look.by_months:
        as_if = f", beyond what single {slices} do"
    if in_full:
        return f"{scatter}Most evidence, on {subject}: {evidence} of {alarm}{as_if}."
    return f"{scatter}Evidence {evidence} of {alarm}{as_if}."


def _describe_scatter(look: StreamLook | NumberLook, spread: str, report: Report) -> str:
    """Return whether slices differ, with a blank behind: "Months may differ (p 0.13). "."""
    slices = _name_slices(report)
    p_text = f"p {formatting.p_value(look.p_same)}"
    if look.p_same < report.config.alpha:
        if spread:
            p_text += f"; about ± {spread}"
        return f"{slices.capitalize()} differ by more than chance ({p_text}). "
    if look.looks <= FEWEST_ALIKE:
        return f"What single {slices} do is not known before the seventh. "
    return f"{slices.capitalize()} may differ ({p_text}). "


def _name_slices(report: Report) -> str:
    """Return the name of slices in sentences: "months"."""
    name = report.config.slice_name
    if name in PERIODS:
        return f"{name}s"
    return "slices"


def _describe_gap_since(look: StreamLook, row: Disparity, *, in_full: bool) -> str:
    """Return the gap since evidence is largest: "0.71 times that of m", without `in_full` "0.71"."""
    reference = formatting.format_group(look.reference)
    if has_margin(row.margin) and look.difference_since is not None:
        gap = f"{formatting.points(look.difference_since, row.margin)} points"
        if not in_full:
            return gap
        return f"{gap[1:]} {'below' if look.difference_since < 0 else 'above'} that of {reference}"
    gap = formatting.ratio(look.ratio_since, row.tau, 2)
    if in_full:
        return f"{gap} times that of {reference}"
    return gap


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

    def evidence_cell(value: float, look: StreamLook, *, decides: bool) -> TableCell:
        if math.isnan(value):  # of clusters none says what is beyond single slices
            return TableCell(formatting.DASH)
        alarm = f"of {format_evidence(look.alarm_at)}" if decides else ""
        return TableCell(format_evidence(value), alarm, value)

    columns: dict[str, Callable[[StreamLook], TableCell]] = {
        "group": lambda look: TableCell(formatting.format_group(look.group), look.attribute),
        "metric": lambda look: TableCell(look.metric),
        "evidence": lambda look: evidence_cell(look.most_evidence, look, decides=not look.by_months),
        "p, alike": lambda look: formatting.p_cell(look.p_same),
        "beyond": lambda look: evidence_cell(look.most_months_evidence, look, decides=look.by_months),
        f"{gap} since": gap_since,
        f"{gap}, all": gap_of_all,
    }
    return view.table("", columns, looks)


def looks_notes(report: Report) -> tuple[str, ...]:
    """Return how evidence is to be read."""
    n_tests = format_count(report.family, "comparison")
    gap = name_gaps(row for row in report.judged_comparisons if row.deciding)
    slices = _name_slices(report)
    return (
        "evidence: 1 on average where both rates are the same in each slice, whenever one looks or stops; "
        "after it what rejects equal rates, 20 for one comparison and more for several "
        f"(Holm, {n_tests}). The largest so far counts.",
        f"p, alike: of the same {gap} in all {slices}. Before the seventh, and from the first look with p "
        f"below 0.2 on, evidence beyond counts: 1 on average at most where {slices} have independent effects "
        f"around 0, however large. Who knows that they have none says --months alike.",
        f"since: the slice from which on the evidence is largest. {gap}, all: with limits that hold at all "
        f"looks at once; where {slices} scatter, with those of this look. It fails where the {gap} since "
        "then is outside what is allowed, too.",
        f"In the tables of all slices p is 1 / the largest evidence, and the limits of a {gap} are these.",
    )
