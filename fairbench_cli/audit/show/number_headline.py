"""An audit of numbers in words: the largest difference of each attribute, the margin, what is not decided."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fairbench_cli.audit.compare.numbers import NumberSlice
from fairbench_cli.audit.compare.report import Interval, NumberComparison, NumberLook, Report
from fairbench_cli.audit.compare.verdict import combine_verdicts
from fairbench_cli.audit.parts import formatting, parts_of
from fairbench_cli.audit.parts.findings import format_verdict
from fairbench_cli.audit.parts.looks import format_evidence
from fairbench_cli.audit.parts.number_trends import KEY as SLICES_KEY
from fairbench_cli.audit.parts.numbers import (
    ERRORS,
    KEY,
    SEVERITY,
    describe_kind,
    describe_margin,
    format_measure,
    verdict_of,
)
from fairbench_cli.audit.parts.rates import bracketed_place
from fairbench_cli.audit.show.answer_model import Headline, OpenAttribute, OpenGroup, Sentence
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount, join_names
from fairbench_cli.document.model import VERDICTS
from fairbench_cli.measures.power import round_up_count

MORE = "more"
ALARM = 20.0  # evidence that one comparison fails by, at a level of 5 %


def number_headline(report: Report) -> Headline:
    """Return the answer of an audit of numbers."""
    slices = judged_slices(report)
    ordered = sorted(slices, key=lambda numbers: _rank(numbers, report))
    sentences = []
    open_attributes = []
    for numbers in ordered:
        rows = worst_first_numbers(numbers.comparisons)
        if rows:
            sentences.append(_describe_slice(numbers, rows, report))
        still_open = _open_attribute(numbers, rows)
        if still_open is not None:
            open_attributes.append(still_open)
    if not sentences:
        message = "Nothing is compared: no attribute has two groups that may be compared."
        return Headline(report.verdict, message, message)
    message = sentences[0].text
    part_summaries = (audit_part.summary(findings, report) for audit_part, findings in parts_of(report))
    details = " ".join(filter(None, (_describe_details(ordered, report), *part_summaries)))
    verdict = combine_verdicts(verdict_of(numbers, report) for numbers in slices)
    return Headline(
        verdict, message, f"{message} {details}".rstrip(), tuple(sentences), tuple(open_attributes)
    )


def judged_slices(report: Report) -> list[NumberSlice]:
    """Return the numbers that the answer is of: of models compared the last, of slices all together."""
    if SLICES_KEY in report.found:
        return list(report.found[SLICES_KEY].together)
    return [numbers for numbers in report.found[KEY] if report.last in ("", numbers.model)]


def worst_first_numbers(comparisons: Iterable[NumberComparison]) -> list[NumberComparison]:
    """Return the comparisons that decide: failures first, the largest differences for their margins first."""
    rows = [row for row in comparisons if row.deciding and row.verdict is not None]
    return sorted(rows, key=lambda row: (SEVERITY[row.verdict or "pass"], -_size(row)))


def _size(row: NumberComparison) -> float:
    """Return how many margins the difference is at least, by its limit nearest to none."""
    none = 0.5 if row.metric == MORE else 0.0
    nearest = formatting.nearest_to(none, row.difference)
    if math.isnan(nearest) or not row.margin > 0:
        return 0.0
    return abs(nearest - none) / row.margin


def _rank(numbers: NumberSlice, report: Report) -> tuple[int, float]:
    rows = worst_first_numbers(numbers.comparisons)
    return SEVERITY[verdict_of(numbers, report)], -max(map(_size, rows), default=0.0)


def _describe_slice(numbers: NumberSlice, rows: Sequence[NumberComparison], report: Report) -> Sentence:
    """Return the sentence on an attribute: its worst comparison, and how many more fail."""
    worst = rows[0]
    text = describe_number(worst, numbers)
    n_more = sum(row.verdict == "fail" for row in rows[1:])
    if n_more:
        text += f" {formatting.count_failing(n_more)}."
    if len(judged_slices(report)) > 1:
        text = f"{numbers.attribute}{bracketed_place(numbers, report)}: {text}"
    return Sentence(
        *numbers.place,
        worst.group,
        worst.reference,
        worst.metric,
        worst.verdict or "undecided",
        worst.shown_outside,
        "",
        text,
    )


def describe_number(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a comparison in words, with its verdict; of a stream that fails since when it differs."""
    since = ""
    began_late = row.look is not None and row.look.difference_since != row.difference.value
    if row.look is not None and row.verdict == "fail" and began_late:
        since = row.look.since
        row = _since_then(row, row.look)
    clause = _describe_comparison(row, numbers)
    if since:
        clause = f"Since {since} {clause[0].lower()}{clause[1:]}"
    verdict = format_verdict(row.verdict or "undecided", clearly=row.shown_outside)
    remarks = filter(None, (*_describe_evidence(row), _describe_limit(row, numbers)))
    return f"{clause}: {verdict} ({'; '.join(remarks)})."


def _since_then(row: NumberComparison, look: NumberLook) -> NumberComparison:
    """Return a comparison of the slices since the evidence is largest, which has no limits."""
    ratio = row.ratio
    if not math.isnan(ratio.value):
        ratio = replace(ratio, value=look.value_since / look.reference_value_since)
    return replace(
        row,
        value=look.value_since,
        reference_value=look.reference_value_since,
        difference=Interval(look.difference_since, math.nan, math.nan),
        ratio=ratio,
    )


def _describe_evidence(row: NumberComparison) -> Iterator[str]:
    """Yield why a comparison is not decided, and the evidence of slices in an order."""
    if row.look is None:
        yield formatting.REASONS[row.reason]
        return
    alike, evidence = (format_evidence(e) for e in (row.look.evidence_alike, row.look.most_evidence))
    if row.reason == "chance" and row.look.evidence_alike > ALARM > row.look.most_evidence:
        yield f"in some slices they differ, evidence {alike}; on average over slices it is {evidence}"
    else:
        yield formatting.REASONS[row.reason]
        yield f"evidence {evidence}"


def _describe_comparison(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a comparison in words."""
    if row.metric == MORE:
        return _describe_more(row, numbers)
    if row.metric in ERRORS:
        return _describe_error(row, numbers)
    return _describe_mean(row, numbers)


def _describe_limit(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return the margin of a comparison: "allowed: 5 %"."""
    if row.metric == MORE:
        return f"allowed: {100 * (0.5 - row.margin):.3g} to {100 * (0.5 + row.margin):.3g} %"
    if row.metric == "mean" and numbers.margin.stated.unit == "percent":
        return f"allowed: {numbers.margin.stated}"
    return f"allowed: {format_amount(row.margin, numbers.digits)}"


def _describe_mean(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return two means: "The mean of salary is 101,002 for Female, 115,090 for Male: 14,088 less (…)"."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    if math.isnan(row.difference.value):
        return f"{numbers.column} of {group} and {reference} cannot be compared"
    mean = format_measure(row.metric, row.value, numbers.digits)
    reference_mean = format_measure(row.metric, row.reference_value, numbers.digits)
    side = "less" if row.difference.value < 0 else "more"
    size = format_measure(row.metric, abs(row.difference.value), numbers.digits)
    share = ""
    if not math.isnan(row.ratio.value):
        share = f", or {format_amount(100 * abs(row.ratio.value - 1), 1)} %"
    means = f"The mean of {numbers.column} is {mean} for {group}, {reference_mean} for {reference}"
    return f"{means}: {size} {side}{_limits_text(row, numbers, 'less', 'more')}{share}"


def _describe_error(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a difference of errors: by how much more a group is over- or underestimated."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    value = row.difference.value
    if math.isnan(value):
        return f"errors of {numbers.column} of {group} and {reference} cannot be compared"
    size = format_measure(row.metric, abs(value), numbers.digits)
    if row.metric == "mae":
        side = "more" if value > 0 else "less"
        text = f"{numbers.column} is off by {size} {side} for {group} than for {reference}"
        return f"{text}{_limits_text(row, numbers, 'less', 'more')}"
    side = "higher" if value > 0 else "lower"
    limits = _limits_text(row, numbers, "lower", "higher")
    return f"The mean error of {numbers.column} is {size}{limits} {side} for {group} than for {reference}"


def _describe_more(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return how likely one of the group is at a higher level than one of the reference."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    if math.isnan(row.difference.value):
        return f"{numbers.column} of {group} and {reference} cannot be compared"
    limits = "ties count half"
    if not math.isnan(row.difference.low):
        limits = f"{100 * row.difference.low:.1f} to {100 * row.difference.high:.1f} %; {limits}"
    share = f"{100 * row.difference.value:.1f} %"
    pairs = f"In pairs of {group} and {reference}"
    return f"{pairs}, {group} has the higher {numbers.column} in {share} ({limits})"


def _limits_text(row: NumberComparison, numbers: NumberSlice, low_word: str, high_word: str) -> str:
    """Return the interval of a difference in brackets: " (5,138 to 23,038)", or with its sides."""
    low = row.difference.low
    high = row.difference.high
    if math.isnan(low) or math.isnan(high):
        return ""
    if low >= 0 or high <= 0:
        nearest, farthest = sorted((abs(low), abs(high)))
        return f" ({format_amount(nearest, numbers.digits)} to {format_amount(farthest, numbers.digits)})"
    low_text = format_amount(-low, numbers.digits)
    return f" ({low_text} {low_word} to {format_amount(high, numbers.digits)} {high_word})"


def _describe_details(slices: Sequence[NumberSlice], report: Report) -> str:
    """Return how many attributes fail, what the margin is, and what the column is taken for."""
    sentences = []
    if len(slices) > 1:
        by_verdict = group_by(slices, lambda numbers: verdict_of(numbers, report))
        clauses = []
        for verdict in ("fail", "undecided", "pass"):
            parts = by_verdict.get(verdict, [])
            names = [f"{numbers.attribute}{bracketed_place(numbers, report)}" for numbers in parts]
            if names:
                clauses.append(f"{join_names(names, 4)} {_conjugate(VERDICTS[verdict], len(names))}")
        sentences.append(f"{'; '.join(clauses)}.")
    numbers = slices[0]
    if numbers.comparisons and report.config.outcome != "ordinal":
        by_default = ", by default" if numbers.margin.is_default else ""
        sentences.append(f"Allowed{by_default}: {describe_margin(numbers)}.")
    sentences.append(describe_kind(numbers, report))
    sentences += numbers.remarks
    return " ".join(sentences)


def _conjugate(verdict: str, n: int) -> str:
    """Return a verdict on one or several attributes.

    >>> _conjugate("fails", 2), _conjugate("not decided", 1)
    ('fail', 'is not decided')
    """
    if verdict.startswith("not"):
        return f"{'is' if n == 1 else 'are'} {verdict}"
    if n > 1:
        return (
            verdict.removesuffix("es").removesuffix("s")
            if verdict.endswith("ses")
            else verdict.removesuffix("s")
        )
    return verdict


def _open_attribute(numbers: NumberSlice, rows: Sequence[NumberComparison]) -> OpenAttribute | None:
    """Return the groups of an attribute that are not decided, in words, too."""
    sizes = {group.group: group.rows for group in numbers.groups}
    groups = []
    for group, group_rows in group_by(rows, lambda row: row.group).items():
        still = [row for row in group_rows if row.verdict == "undecided"]
        if not still:
            continue
        share = sizes[group] / (sizes[group] + sizes.get(numbers.reference, 0))
        needed = [_round_rows(row.rows_needed * share) for row in still]
        finite = [n for n in needed if not math.isnan(n)]
        most = math.nan if len(finite) < len(needed) else max(finite)
        names = tuple(row.metric for row in still)
        least = min(finite, default=math.nan)
        groups.append(OpenGroup(group, sizes[group], names, len(group_rows), least, most))
    if not groups:
        return None
    clauses = []
    for open_group in groups:
        rows_text = f"{formatting.thousands(open_group.rows)} rows"
        if open_group.needed:
            rows_text += f"; {open_group.needed} would decide"
        clauses.append(f"{formatting.format_group(open_group.group)} ({rows_text})")
    return OpenAttribute(*numbers.place, tuple(groups), f"{numbers.attribute}: {join_names(clauses, 6)}.")


def _round_rows(rows: float) -> float:
    return round_up_count(rows) if math.isfinite(rows) else math.nan
