"""What a comparison shows, as two questions of three answers each, and both in words.

*Do the rates differ?* Shown (equal rates are rejected after Holm), open, or untested. *Is their ratio, or
their difference, beyond the limits?* Shown to be, shown to be within (its whole interval is), or open. A
verdict follows from both and from where the measured gap lies: what is measured outside and shown to differ
fails, what is within passes. What is shown to be beyond the limits fails clearly.
"""

import math
from collections.abc import Iterable
from typing import Literal

from fairbench_cli.audit.compare.report import Disparity, Report, WholeTable
from fairbench_cli.audit.parts import allowed, formatting
from fairbench_cli.document.model import VERDICTS, Verdict
from fairbench_cli.measures.significance import alpha_level

Differs = Literal["shown", "open", "untested"]
Beyond = Literal["shown", "within", "open"]

# Whether a gap is too large, as a table says it below that question; of a failure in two degrees.
TOO_LARGE: dict[Verdict, str] = {"pass": "no", "fail": "yes", "undecided": "open"}
CLEARLY = "clearly"
QUESTION = "too large?"


def differs(row: Disparity | WholeTable, confidence: float) -> Differs:
    """Return whether the rates are shown to differ, over all comparisons that decide."""
    if math.isnan(row.p) or row.reason in ("few", "clusters"):
        return "untested"
    if row.p_holm < alpha_level(confidence):
        return "shown"
    return "open"


def beyond(row: Disparity) -> Beyond:
    """Return whether the ratio is shown to be beyond the limits, or within.

    That it is beyond is over all comparisons; that it is within needs no correction, as all have to be.
    """
    if row.shown_outside:
        return "shown"
    if row.verdict == "pass":
        return "within"
    return "open"


def describe_side(row: Disparity) -> str:
    """Return on which side of the limits the gap is, or may be: "less than the 0.8 allowed"."""
    if allowed.has_margin(row.margin):
        return f"more than the {allowed.format_margin(row.margin)} allowed"
    low, high = row.ratio.low, row.ratio.high
    if row.point == "fail":
        low = high = row.ratio.value
    is_below = low < row.tau
    is_above = high > 1 / row.tau
    if is_below == is_above:
        return f"less than {row.tau:g} or more than the {1 / row.tau:.3g} allowed"
    if is_below:
        return f"less than the {row.tau:g} allowed"
    return f"more than the {1 / row.tau:.3g} allowed"


def is_clear(row: Disparity | WholeTable, report: Report) -> bool:
    """Return whether a comparison fails clearly: its ratio is shown to be beyond the limits.

    Where chance was not looked at nothing is clear.
    """
    return row.shown_outside and report.config.rule != "point"


def fails_clearly(rows: Iterable[Disparity | WholeTable], report: Report) -> bool:
    """Return whether one of some comparisons fails clearly."""
    return any(is_clear(row, report) for row in rows)


def format_verdict(verdict: Verdict, *, clearly: bool) -> str:
    """Return a verdict in words, a failure in its two degrees.

    >>> format_verdict("fail", clearly=True), format_verdict("fail", clearly=False)
    ('fails clearly', 'fails')
    """
    if clearly and verdict == "fail":
        return f"{VERDICTS[verdict]} clearly"
    return VERDICTS[verdict]


def describe_verdict(row: Disparity | WholeTable, report: Report) -> str:
    """Return the verdict on a comparison: "fails clearly"."""
    return format_verdict(row.verdict, clearly=is_clear(row, report))


def describe_gap(row: Disparity, report: Report) -> str:
    """Return whether a gap is too large, as a cell under that question: "clearly", "yes", "no", "open"."""
    if is_clear(row, report):
        return CLEARLY
    return TOO_LARGE[row.verdict]


def describe_finding(row: Disparity, report: Report) -> str:
    """Return the answers to both questions and the verdict, as the end of a sentence on the ratio.

    The interval before it is of this comparison alone, what is shown is over all that decide: where they seem
    to contradict each other, both p-values are given.
    """
    if report.config.rule == "point" and row.verdict != "undecided":
        within = "within what" if row.verdict == "pass" else "more than"
        return f", {within} is allowed: {VERDICTS[row.verdict]}, chance not looked at"
    if row.reason == "no rows":
        return f"; {formatting.REASONS['no rows']}: {VERDICTS['undecided']}"
    return f"{_describe_difference(row, report)}{_describe_limit(row)}: {describe_verdict(row, report)}"


def _describe_difference(row: Disparity, report: Report) -> str:
    """Return whether the rates differ: ", more than chance would do"; nothing where they do not at hand."""
    answer = differs(row, report.config.confidence)
    alone = formatting.p_value(row.p)
    if row.value == row.reference_value:
        return ""
    if answer == "shown":
        return ", more than chance would do"
    if answer == "untested" and row.reason == "clusters":
        return f", from too few values of {' and '.join(report.config.cluster or ())} to test"
    if answer == "untested":
        return ", from rows that are worth too few to test"
    if row.p < report.config.alpha:
        adjusted = formatting.p_value(row.p_holm)
        among = f"of {report.family:,} comparisons some look so"
        return f", which could be chance: {among} (p {adjusted}; alone {alone})"
    if row.test != "fisher":
        return f", which could be chance (p {alone})"
    surer = "" if _holds_equal_rates(row) else ", which few rows mislead less than the interval"
    return f", which could be chance (p {alone} by Fisher's exact test{surer})"


def _holds_equal_rates(row: Disparity) -> bool:
    """Return whether equal rates are within the interval that is shown, or there is none."""
    gap = allowed.gap_of(row)
    equal = allowed.equal_gap(row.margin)
    return not (gap.low > equal or gap.high < equal)


def _describe_limit(row: Disparity) -> str:
    """Return whether the gap is beyond the limits: ", and less than the 0.8 allowed"."""
    if beyond(row) == "within":
        joint = ", and"
        if row.value == row.reference_value:
            joint = ","
        return f"{joint} within the {allowed.format_allowed(row.tau, row.margin)} allowed"
    if row.verdict == "fail" and allowed.is_measured_within(row):
        return ""  # of slices in an order: what the latest of them show is said after it
    if row.verdict == "fail":
        return f", and {describe_side(row)}"
    return f"; whether it is {describe_side(row)} is open"
