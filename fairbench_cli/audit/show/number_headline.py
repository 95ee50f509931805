"""An audit of numbers in words: the largest difference of each attribute, the margin, what is not decided."""

import math
from collections.abc import Sequence
from dataclasses import replace

from fairbench_cli.audit.compare.numbers import NumberSlice
from fairbench_cli.audit.compare.report import Interval, NumberComparison, NumberLook, Report
from fairbench_cli.audit.compare.verdict import combine_verdicts
from fairbench_cli.audit.parts import formatting, parts_of
from fairbench_cli.audit.parts.findings import format_verdict
from fairbench_cli.audit.parts.looks import format_evidence
from fairbench_cli.audit.parts.number_strata import count_strata
from fairbench_cli.audit.parts.number_trends import KEY as SLICES_KEY
from fairbench_cli.audit.parts.numbers import (
    KEY,
    POINTS,
    SEVERITY,
    count_margins,
    describe_allowed,
    describe_choice,
    describe_kind,
    format_measure,
    format_size,
    verdict_of,
    worst_first_numbers,
)
from fairbench_cli.audit.parts.rates import bracketed_place
from fairbench_cli.audit.show.answer_model import Headline, OpenAttribute, OpenGroup, Sentence
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount, format_percent, join_names
from fairbench_cli.document.model import VERDICT_VERBS
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE
from fairbench_cli.measures.power import round_up_count

MORE = "more"


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
    if report.of_strata and report.verdict == "fail":
        message += f" {count_strata(report, ordered[0])}"
    elif report.of_strata:
        message = f"{count_strata(report)} {message}"
    part_summaries = (audit_part.summary(findings, report) for audit_part, findings in parts_of(report))
    details = " ".join(filter(None, (_describe_details(ordered, report), *part_summaries)))
    verdict = combine_verdicts(verdict_of(numbers, report) for numbers in slices)
    return Headline(
        verdict, message, f"{message} {details}".rstrip(), tuple(sentences), tuple(open_attributes)
    )


def judged_slices(report: Report) -> list[NumberSlice]:
    """Return the numbers that the answer is of: of models the last, of slices in an order all together."""
    if SLICES_KEY in report.found and not report.of_strata:
        return list(report.found[SLICES_KEY].together)
    return [numbers for numbers in report.found[KEY] if report.last in ("", numbers.model)]


def _rank(numbers: NumberSlice, report: Report) -> tuple[int, float]:
    rows = worst_first_numbers(numbers.comparisons)
    return SEVERITY[verdict_of(numbers, report)], -max(map(count_margins, rows), default=0.0)


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
    began_late = row.look is not None and not math.isclose(row.look.difference_since, row.difference.value)
    if row.look is not None and row.verdict == "fail" and began_late:
        since = row.look.since
        row = _since_then(row, row.look)
    row, is_turned = _worse_first(row, numbers)
    clause = _describe_comparison(row, numbers) + _describe_per_cent(row, is_turned=is_turned)
    beginning = ""
    if since:
        beginning = f"Since {since} "
    if row.verdict == "fail" and numbers.better and not NUMBER_MEASURES[row.metric].needs_truth:
        who = f"{formatting.format_group(row.group)} are worse off"
        beginning = f"{who}: "
        if since:
            beginning = f"{who} since {since}: "
    if beginning and clause.startswith(("The ", "In ")):
        clause = clause[0].lower() + clause[1:]
    clause = beginning + clause
    verdict = format_verdict(row.verdict or "undecided", clearly=row.shown_outside)
    remarks = [formatting.REASONS[row.reason], *row.cautions, _describe_limit(row, numbers)]
    if row.look is not None and row.verdict == "fail":
        remarks.insert(0, f"evidence {format_evidence(row.look.largest_evidence)}")
    remarks = list(filter(None, remarks))
    return f"{clause}: {verdict} ({'; '.join(remarks)})."


def _worse_first(row: NumberComparison, numbers: NumberSlice) -> tuple[NumberComparison, bool]:
    """Return a comparison as who is worse off sees it, where that is known; and whether that turned it."""
    better = numbers.better
    none = 0.0
    if row.metric == "mae":
        better = "lower"
    elif row.metric == MORE:
        none = 0.5
    is_worse = (row.difference.value < none) == (better == "higher")
    if better is None or row.metric == "mean-residual" or is_worse:
        return row, False
    value, low, high = (2 * none - limit for limit in vars(row.difference).values())
    turned = replace(
        row,
        group=row.reference,
        reference=row.group,
        value=row.reference_value,
        reference_value=row.value,
        difference=Interval(value, high, low),
    )
    return turned, True


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


def _describe_comparison(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a comparison in words."""
    if row.metric == MORE:
        return _describe_more(row, numbers)
    if row.metric == SHARE_ABOVE:
        return _describe_share(row, numbers)
    if NUMBER_MEASURES[row.metric].needs_truth:
        return _describe_error(row, numbers)
    return _describe_mean(row, numbers)


def _describe_limit(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return the margin of a comparison: "allowed: 5 %"."""
    if row.metric == MORE:
        return f"allowed: {100 * (0.5 - row.margin):.3g} to {100 * (0.5 + row.margin):.3g} %"
    stated = numbers.stated[row.metric]
    if stated.unit == "percent":
        return f"allowed: {stated}"
    return f"allowed: {format_size(row.metric, row.margin, numbers)}"


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
    means = f"The mean of {numbers.column} is {mean} for {group}, {reference_mean} for {reference}"
    return f"{means}: {size} {side}{_limits_text(row, numbers, 'less', 'more')}"


def _describe_error(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a difference of errors: by how much more a group is over- or underestimated."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    value = row.difference.value
    if math.isnan(value):
        return f"errors of {numbers.column} of {group} and {reference} cannot be compared"
    size = format_size(row.metric, abs(value), numbers)
    if row.metric == "mae":
        limits = _limits_text(row, numbers, "less", "more")
        return f"{numbers.column} is off by {size} more for {group} than for {reference}{limits}"
    errors = (_describe_bias(error, row, numbers) for error in (row.value, row.reference_value))
    sides = ("lower", "higher")
    limits = _limits_text(row, numbers, "lower", "higher")
    clauses = ", ".join(map("{} for {}".format, errors, (group, reference)))
    return f"{numbers.column} is {clauses}: {size} {sides[value > 0]}{limits}"


def _describe_bias(error: float, row: NumberComparison, numbers: NumberSlice) -> str:
    """Return a mean error in words: "2.1 too low"."""
    return f"{format_size(row.metric, abs(error), numbers)} too {('low', 'high')[error > 0]}"


def _describe_per_cent(row: NumberComparison, *, is_turned: bool) -> str:
    """Return a difference in per cent of the reference's mean, which is said where it is spoken of first."""
    if math.isnan(row.ratio.value):
        return ""
    share = f", or {format_amount(100 * abs(row.ratio.value - 1), 1)} %"
    if is_turned:
        return f"{share} of {formatting.format_group(row.group)}'s"
    return share


def _describe_share(row: NumberComparison, numbers: NumberSlice) -> str:
    """Return two shares: "5 % of A have more than 40 in lsat, 20 % of B: 15 points less (…)"."""
    shares = f"{format_percent(row.value)} of {formatting.format_group(row.group)} have more than "
    shares += f"{numbers.above:,.15g} in {numbers.column}, {format_percent(row.reference_value)} of "
    shares += formatting.format_group(row.reference)
    size = format_size(row.metric, abs(row.difference.value), numbers)
    side = ("more", "less")[row.difference.value < 0]
    return f"{shares}: {size} {side}{_limits_text(row, numbers, 'less', 'more')}"


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
        return f" ({_bare_size(row, nearest, numbers)} to {_bare_size(row, farthest, numbers)})"
    low_text = _bare_size(row, -low, numbers)
    return f" ({low_text} {low_word} to {_bare_size(row, high, numbers)} {high_word})"


def _bare_size(row: NumberComparison, value: float, numbers: NumberSlice) -> str:
    return format_size(row.metric, value, numbers).removesuffix(POINTS)


def _describe_details(slices: Sequence[NumberSlice], report: Report) -> str:
    """Return how many attributes fail, what the margin is, and what the column is taken for."""
    sentences = []
    if len(slices) > 1 and not report.of_strata:
        by_verdict = group_by(slices, lambda numbers: verdict_of(numbers, report))
        clauses = []
        for verdict, verbs in VERDICT_VERBS.items():
            parts = by_verdict.get(verdict, [])
            names = [f"{numbers.attribute}{bracketed_place(numbers, report)}" for numbers in parts]
            if names:
                clauses.append(f"{join_names(names, 4)} {verbs[len(names) > 1]}")
        sentences.append(f"{'; '.join(clauses)}.")
    numbers = slices[0]
    if numbers.comparisons and report.config.outcome != "ordinal":
        sentences.append(describe_allowed(numbers, report))
    sentences.append(describe_kind(numbers, report))
    if report.config.rule == "point":
        sentences.append("Chance was not looked at.")
    sentences += describe_choice(numbers)
    described = slices
    if report.of_strata:  # the others have their lines in the table of slices
        described = slices[:1]
    for numbers in described:
        of_slice = list(numbers.remarks)
        for row in [row for row in numbers.comparisons if row.metric == SHARE_ABOVE and not row.deciding]:
            of_slice.append(f"{_describe_share(row, numbers)}, p {formatting.p_value(row.p)}.")
        if report.of_strata:
            place = bracketed_place(numbers, report)
            # What ends with an option holds everywhere, and is pasted.
            of_slice = [text if "--" in text else f"{text.removesuffix('.')}{place}." for text in of_slice]
        sentences += of_slice
    return " ".join(dict.fromkeys(sentences))


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
