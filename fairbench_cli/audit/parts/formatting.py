"""How numbers, counts, verdicts and names of an audit are written, the same in every output."""

import math
from dataclasses import fields
from typing import Any, get_origin

from fairbench_cli.audit.compare.references import REST_NAME
from fairbench_cli.audit.compare.report import ClusteredDisparity, Disparity, Interval, Reason, shown_fields
from fairbench_cli.audit.parts.part import Row
from fairbench_cli.base.safe_text import format_count, shorten
from fairbench_cli.document.model import TableCell
from fairbench_cli.measures.significance import alpha_level

DASH = "–"
MOST_DIGITS = 16  # of the counts behind a rate; in a table of 80 columns more break in two
# sums of weights beyond: digits that are none, or 0.0
LARGE = 1e16
SMALL = 0.05
MARKED = "Marked *"  # how the note on small groups begins
FEW_CLUSTERS = 10  # as if of fewer is said
MANY_ROWS = 1e5  # so many and more are not written
MOST_NAME = 60  # characters of a group's name in a sentence
LIMIT_OPEN = "differs, size near the limit"  # a difference is shown, and not whether it is too large
REASONS: dict[Reason, str] = {
    "no rows": "nobody to compute it from",
    "chance": "could be chance",
    "few": "too few rows",
    "clusters": "too few clusters",
    "wide": "too few rows to tell",
    "months": "too few slices to tell",
    "near": LIMIT_OPEN,
    "constant": "every value is the same",
    "one value": "all rows of a group have one value",
    "few values": "too few rows with another value than the commonest",
    "persons": "several rows a person",
    "": "",
}


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed decimals; a dash where there is none.

    >>> number(0.44847), number(float("inf")), number(float("nan"))
    ('0.448', '∞', '–')
    """
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        if value > 0:
            return "∞"
        return "-∞"
    return f"{value + 0.0:.{digits}f}"


def ratio(value: float, tau: float, least: int = 3) -> str:
    """Write a ratio with as many decimals as it takes to see on which side of a limit it is.

    >>> ratio(0.79996, 0.8), ratio(0.8, 0.8), ratio(1.91209, 0.8), ratio(1.91209, 0.8, 2)
    ('0.79996', '0.800', '1.912', '1.91')
    """
    for digits in range(least, 9):
        text = number(value, digits)
        if not math.isfinite(value) or all(
            (value < limit) == (float(text) < limit) and (value > limit) == (float(text) > limit)
            for limit in (tau, 1 / tau)
        ):
            return text
    return number(value, least)


def difference(value: float, margin: float, least: int = 3) -> str:
    """Write a difference with its sign and as many decimals as it takes to see whether it is within a margin.

    >>> difference(0.05003, 0.05), difference(-0.05, 0.05), difference(0.2136, 0.05)
    ('+0.05003', '-0.050', '+0.214')
    """
    if math.isnan(value):
        return DASH
    text = ""
    for digits in range(least, 9):
        text = f"{value:+.{digits}f}"
        written = abs(float(text))
        # What is at the margin within rounding is written so.
        if (abs(value) > margin * (1 + 1e-9)) == (written > margin * (1 + 1e-9)):
            return text
    return text


def points(value: float, margin: float) -> str:
    """Write a difference of rates in points, likewise.

    >>> points(0.2136, 0.05), points(-0.0504, 0.05)
    ('+21.4', '-5.04')
    """
    return difference(100 * value, 100 * margin, 1)


def interval(estimate: Interval, digits: int = 3) -> str:
    """Write the interval alone; empty where there is none."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"[{number(estimate.low, digits)}, {number(estimate.high, digits)}]"


def with_interval(estimate: Interval) -> str:
    """Write a value with its interval, if it has one.

    >>> with_interval(Interval(0.5, 0.25, 0.75)), with_interval(Interval(0.5, math.nan, math.nan))
    ('0.500 [0.250, 0.750]', '0.500')
    """
    return f"{number(estimate.value)} {interval(estimate)}".rstrip()


def count(value: float) -> str:
    """Write a count; a sum of weights below 100 has a decimal, where it has one to show.

    >>> count(1805.0), count(805.25), count(8.25), count(0.0125), count(1.93e101)
    ('1,805', '805', '8.2', '0.013', '1.93e101')
    """
    if value >= LARGE or 0 < value < SMALL:
        digits = 3 if value >= LARGE else 2
        return f"{value:.{digits}g}".replace("e+", "e")
    if float(value).is_integer() or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}"


def thousands(value: float) -> str:
    """Write a whole number with commas.

    >>> thousands(61720), thousands(999.6), thousands(1e99)
    ('61,720', '1,000', '1e99')
    """
    if value >= LARGE:
        return count(value)
    return f"{value:,.0f}"


def nearest_to(best: float, estimate: Interval) -> float:
    """Return the value of an interval that is nearest to another: `best` itself where it is inside.

    >>> nearest_to(1.0, Interval(0.5, 0.4, 0.6)), nearest_to(1.0, Interval(0.9, 0.7, 1.2))
    (0.6, 1.0)
    """
    low = estimate.low
    high = estimate.high
    if math.isnan(low) or math.isnan(high):
        low = estimate.value
        high = estimate.value
    return min(max(best, low), high)


def fraction(behind: tuple[float, float]) -> str:
    """Write the counts behind a rate; where they are long, as sums of weights may be, in millions.

    >>> fraction((805.0, 1795.0)), fraction((216567452.0, 2000673518.0)), fraction((12.0, 534206567893123.0))
    ('805/1,795', '217M/2,001M', '12/534,206,568M')
    """
    texts = [count(value) for value in behind]
    n_digits = sum(len(text) - text.count(",") for text in texts)
    if n_digits > MOST_DIGITS:
        texts = [_millions(value) if 1e6 <= value < LARGE else count(value) for value in behind]
    return "/".join(texts)


def _millions(value: float) -> str:
    digits = 0 if value >= 1e8 else 1
    return f"{value / 1e6:,.{digits}f}M"


def p_value(value: float) -> str:
    """Write a p-value.

    >>> p_value(2.1e-37), p_value(0.0504), p_value(0.0), p_value(float("nan"))
    ('2e-37', '0.050', '<1e-300', '–')
    """
    if math.isnan(value):
        return DASH
    if value < 1e-300:  # what is smaller still may be 0 by the limits of numbers
        return "<1e-300"
    if value >= 0.001:
        return f"{value:.3f}"
    return f"{value:.0e}"


def describe_rows_needed(least: float, most: float, if_equal: float = math.nan) -> str:
    """Write how many rows would decide the first and the last of several rates; empty where no number would.

    From `MANY_ROWS` on a gap lies near its limit by luck, and a number would say more than is known. There
    `if_equal` stands in its place: the rows that would decide were the rates equal.

    >>> [describe_rows_needed(least, most) for least, most in ((150, 1400), (220, 220), (150, math.nan))]
    ['about 150 to 1,400', 'about 220', '150 or more']
    >>> describe_rows_needed(1600.0, 4.3e7), describe_rows_needed(2e6, 3e6)
    ('1,600 or more', '')
    >>> describe_rows_needed(1600.0, 4.3e7, 2100.0), describe_rows_needed(2e6, 3e6, 2100.0)
    ('about 1,600 for the first rate, were rates equal 2,100 for the last', 'were rates equal, about 2,100')
    """
    far = not most < MANY_ROWS  # also where it is not known
    equal_text = "" if math.isnan(if_equal) else thousands(if_equal)
    if not least < MANY_ROWS:
        return equal_text and f"were rates equal, about {equal_text}"
    if far and equal_text:
        return f"about {thousands(least)} for the first rate, were rates equal {equal_text} for the last"
    if far:
        return f"{thousands(least)} or more"
    if thousands(least) == thousands(most):
        return f"about {thousands(least)}"
    return f"about {thousands(least)} to {thousands(most)}"


def describe_reason(reason: Reason, p_holm: float, confidence: float) -> str:
    """Return why something is not decided; where a difference is shown that only the limit is open.

    >>> describe_reason("wide", 0.3, 0.95), describe_reason("wide", 0.01, 0.95)
    ('too few rows to tell', 'differs, size near the limit')
    """
    if reason == "wide" and p_holm < alpha_level(confidence):
        return LIMIT_OPEN
    return REASONS[reason]


def among_text(p: float, family: int, confidence: float) -> str:
    """Return the addition to "could be chance" where a comparison alone would not be: that it is one of many.

    >>> among_text(0.02, 1500, 0.95), among_text(0.2, 15, 0.95)
    (' among 1,500', '')
    """
    if p < alpha_level(confidence):
        return f" among {family:,}"
    return ""


def percent(share: float) -> str:
    """Write a share in percent."""
    if math.isnan(share):
        return DASH
    return f"{100 * share:.3g} %"


def format_place(model: str, decision: str, kind: str | None = None) -> str:
    """Name a model, or what it is (kind), and a decision: "model a, top 100"; "month 2, top 100"."""
    clauses = []
    if model:
        clauses.append(f"{kind or 'model'} {model}")
    if decision:
        clauses.append(decision)
    return ", ".join(clauses)


def format_group(group: str) -> str:
    """Return the name of a group in a sentence; a long name is cut."""
    if group == REST_NAME:
        return "everybody else"
    return shorten(group, MOST_NAME)


def count_failing(n: int, noun: str = "more comparison") -> str:
    """Return how many fail.

    >>> count_failing(1), count_failing(2, "comparison")
    ('1 more comparison fails', '2 comparisons fail')
    """
    verb = "fails" if n == 1 else "fail"
    return f"{format_count(n, noun)} {verb}"


def group_cell(name: str, small: bool, fine: str = "", *, muted: bool = False) -> TableCell:
    """Return a group's name, marked when it has few rows; the row of one that leads nothing is `muted`."""
    return TableCell(f"{name}*" if small else name, fine, muted=muted)


def number_cell(value: float, fine: str = "", digits: int = 3) -> TableCell:
    """Return a number, to sort by."""
    return TableCell(number(value, digits), fine, value)


def fine_cell(estimate: Interval, digits: int = 3) -> TableCell:
    """Return a number with its interval in small print."""
    return TableCell(number(estimate.value, digits), interval(estimate, digits), estimate.value)


def ratio_cell(estimate: Interval, tau: float, digits: int = 3) -> TableCell:
    """Return a ratio, by which one sees on which side of τ it is, with its interval in small print."""
    return TableCell(ratio(estimate.value, tau), interval(estimate, digits), estimate.value)


def count_cell(value: float) -> TableCell:
    """Return a count; a dash where there is none."""
    return TableCell(DASH if math.isnan(value) else count(value), "", value)


def p_cell(value: float) -> TableCell:
    """Return a p-value."""
    return TableCell(p_value(value), "", value)


def format_degrees(degrees: float) -> str:
    """Return of how many independent clusters a test is, as if.

    >>> format_degrees(6.51), format_degrees(1.0)
    ('7', '1')
    """
    return f"{degrees:.0f}"


def clustered_p_cell(row: Disparity) -> TableCell:
    """Return a p-value; in small print, of how few independent clusters it is as if."""
    fine = ""
    if isinstance(row, ClusteredDisparity) and row.degrees < FEW_CLUSTERS:
        fine = f"as if of {format_degrees(row.degrees)}"
    return TableCell(p_value(row.p), fine, row.p)


def both_p_cell(p: float, p_holm: float) -> TableCell:
    """Return a p-value with the adjusted one in brackets."""
    return TableCell(p_value(p), "" if math.isnan(p_holm) else f"({p_value(p_holm)})", p)


def flatten(row: Any, *left_out: str) -> Row:
    """Return the fields of a row of a report for a table: three of an interval, none of what holds several.

    >>> flatten(Interval(0.5, 0.25, 0.75), "low")
    {'value': 0.5, 'high': 0.75}
    """
    cells: Row = {}
    shown = shown_fields(row)
    for name in (row_field.name for row_field in fields(row) if row_field.name in shown):
        if name in left_out:
            continue
        value = shown[name]
        if isinstance(value, Interval):
            cells |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif not isinstance(value, tuple | dict):
            cells[name] = value
    return cells


def flat_columns(kind: type) -> tuple[str, ...]:
    """Return the columns that `flatten` gives rows of a kind, without those that may be None.

    >>> flat_columns(Interval)
    ('value', 'low', 'high')
    """
    columns: list[str] = []
    for row_field in fields(kind):
        if row_field.type in (float | None, Interval | None) or row_field.default is None:
            continue
        if row_field.type is Interval:
            columns += [row_field.name, f"{row_field.name}_low", f"{row_field.name}_high"]
        elif get_origin(row_field.type) not in (tuple, dict):
            columns.append(row_field.name)
    return tuple(columns)
