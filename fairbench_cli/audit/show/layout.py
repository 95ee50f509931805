"""What a reader is shown, whatever the output: facts, tables of comparisons and groups, and their parts."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import TypeVar

from fairbench_cli.audit.judge.references import REST_NAME
from fairbench_cli.audit.judge.report import (
    AttributeVerdict,
    Disparity,
    GroupRow,
    Interval,
    Report,
)
from fairbench_cli.audit.show.format import (
    DASH,
    REASONS,
    VERDICTS,
    count,
    fraction,
    interval,
    nearest_to,
    number,
    p_value,
    ratio,
    thousands,
    with_interval,
)
from fairbench_cli.base.text import shown_path
from fairbench_cli.document.model import TableCell, TextTable, table_of
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import RATES

Line = TypeVar("Line")

MOST_NAME = 60  # characters of a group's name in a sentence
MOST_NAMED = 6  # attributes named with their references
REFERENCES = {
    "given": "the groups given, or the largest",
    "majority": "the largest group",
    "minimum": "the group with the lowest value of each metric",
    "maximum": "the group with the highest value of each metric",
    "rest": "everybody else",
}


def source_name(report: Report) -> str:
    """Name the file without its folders."""
    return "standard input" if report.source == "-" else shown_path(PurePath(report.source).name)


def place(model: str, decision: str, kind: str | None = None) -> str:
    """Name a model, or what it is (kind), and a decision: "model a, top 100"; "month 2, top 100"."""
    return ", ".join(part for part in (f"{kind or 'model'} {model}" if model else "", decision) if part)


def failures(rows: Sequence[Disparity]) -> str:
    """Return how many comparisons fail: "7 of 25 comparisons fail, 3 pass, 15 are not decided."."""
    if len(rows) == 1:
        only = rows[0].verdict
        return f"The only comparison {'is ' if only == 'undecided' else ''}{VERDICTS[only]}."
    kinds = [row.verdict for row in rows]
    failing, passing, still = (kinds.count(kind) for kind in ("fail", "pass", "undecided"))
    parts = [f"{failing} of {len(rows)} comparisons {'fails' if failing == 1 else 'fail'}"]
    parts += [f"{passing} {'passes' if passing == 1 else 'pass'}"] if passing else []
    parts += [f"{still} {'is' if still == 1 else 'are'} not decided"] if still else []
    return ", ".join(parts) + "."


def facts(report: Report, *, name: bool = True) -> str:
    """Return in a line what was audited and how, after the name of the file."""
    source = f"{source_name(report)}: " if name else ""
    rows = f"{source}{thousands(report.rows)} rows{', weighted' if report.weighted else ''}"
    names = (RATES[name].label if name in RATES else name for name in report.decided_by)
    by = "" if report.without_verdict else f"decided by {', '.join(names)}; "
    return f"{rows}; {against(report)}; {by}{100 * report.config.confidence:g} % intervals"


def against(report: Report) -> str:
    """Return whom groups are compared with: "race against Caucasian, sex against Male (largest)"."""
    config = report.config
    found: dict[str, dict[str, None]] = {}
    for row in report.disparities:
        found.setdefault(row.attribute, {})[row.reference] = None
    if config.ref_method in ("minimum", "maximum", "rest") or len(found) > MOST_NAMED:
        who = ", ".join(found) if len(found) <= MOST_NAMED else f"{len(found)} attributes"
        return f"{who} against {REFERENCES[config.ref_method]}"
    parts = []
    for attribute, references in found.items():
        given = attribute in config.references or set(attribute.split(CROSS)) <= set(config.references)
        parts.append(
            f"{attribute} against {' or '.join(map(named, references))}{'' if given else ' (largest)'}"
        )
    return ", ".join(parts)


def in_words(row: Disparity) -> str:
    """Return the verdict on a comparison: "fails, shown outside", "not decided: could be chance"."""
    if row.is_reference:
        return "reference"
    outside = ", shown outside" if row.shown_outside else ""
    return VERDICTS[row.verdict] + outside + (f": {REASONS[row.reason]}" if row.reason else "")


def named(group: str) -> str:
    """Return what a sentence calls a group; a long name is cut."""
    short = group if len(group) <= MOST_NAME else f"{group[: MOST_NAME - 1]}…"
    return "everybody else" if group == REST_NAME else short


def rank(row: Disparity) -> int:
    """Return what comes first: failures shown outside τ, others, what is not decided, passes, references."""
    if row.is_reference:
        return 4
    if row.verdict == "fail":
        return 0 if row.shown_outside else 1
    return 2 if row.verdict == "undecided" else 3


def worst_first(rows: Iterable[Disparity]) -> list[Disparity]:
    """Sort by `rank`, then by how far the ratio is from 1, by the evidence at hand.

    A failure goes by the limit of the interval that is nearest to 1: how large the gap is at least. A pass
    goes by the other limit; what is not decided by its p-value, for a wild ratio of few rows says little.
    """

    def key(row: Disparity) -> tuple[float, ...]:
        low, high = (abs(_log(limit)) for limit in (row.ratio.low, row.ratio.high))
        point = abs(_log(row.ratio.value))
        if row.verdict == "undecided":
            return rank(row), 2.0 if math.isnan(row.p) else row.p, -point
        surely = abs(_log(nearest_to(1.0, row.ratio)))
        return rank(row), -(surely if row.verdict == "fail" else max(low, high)), -point

    return sorted(rows, key=key)


def _log(value: float) -> float:
    """Return the logarithm; 0 where there is no number."""
    if math.isnan(value):
        return 0.0
    return -math.inf if value <= 0 else math.inf if math.isinf(value) else math.log(value)


def of_attribute(verdict: AttributeVerdict, report: Report) -> tuple[list[Disparity], list[GroupRow]]:
    """Return the comparisons and the groups of an attribute under a model and a decision."""
    return report.by_audit[verdict.model, verdict.decision, verdict.attribute]


def compared(verdict: AttributeVerdict, report: Report) -> list[Disparity]:
    """Return the comparisons that decide on an attribute under a model and a decision."""
    rows, _ = of_attribute(verdict, report)
    return [row for row in rows if row.metric in report.deciding and not row.is_reference]


def attribute_title(verdict: AttributeVerdict, report: Report) -> str:
    """Return a title with the verdict: "race: fails, against Caucasian (model a, binary)"."""
    rows, _ = of_attribute(verdict, report)
    references = list(dict.fromkeys(row.reference for row in rows if row.metric in report.deciding))
    against = f", against {references[0]}" if len(references) == 1 else ""
    where = f" ({place(verdict.model, verdict.decision, report.config.sliced_by)})" if report.several else ""
    return f"{verdict.attribute}: {VERDICTS[verdict.verdict]}{against}{where}"


def comparison_table(title: str, rows: Sequence[Disparity], groups: Sequence[GroupRow]) -> TextTable:
    """Return comparisons with all their numbers, the worst first; what does not decide has no sign."""
    small = {row.group for row in groups if row.small}

    def verdict(row: Disparity) -> TableCell:
        decides = row.deciding or row.is_reference
        return TableCell(in_words(row), verdict=row.verdict) if decides else TableCell(f"({in_words(row)})")

    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: group_cell(row.group, row.group in small),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: number_cell(row.value, fraction(row.behind)),
        "reference": lambda row: TableCell(row.reference),
        "reference value": lambda row: number_cell(row.reference_value, fraction(row.reference_behind)),
        "ratio": lambda row: TableCell(ratio(row.ratio.value, row.tau), interval(row.ratio), row.ratio.value),
        "difference": lambda row: number_cell(row.difference.value, interval(row.difference)),
        "p (Holm)": lambda row: p_cell(row.p_holm),
        "verdict": verdict,
    }
    return table_of(title, columns, worst_first(rows))


def brief_table(rows: Sequence[Disparity], groups: Sequence[GroupRow], shown: int | None) -> TextTable:
    """Return comparisons as they fit 80 columns, the worst first."""
    of_group = {row.group: row for row in groups}
    ordered = worst_first(rows)
    several = len({row.reference for row in rows}) > 1
    left_out = ordered[shown:] if shown else []
    kinds = [(sum(row.verdict == parity for row in left_out), parity) for parity in VERDICTS]
    said = {"pass": "pass", "fail": "fail", "undecided": "not decided"}
    more = ", ".join(f"{n} {said[parity]}" for n, parity in kinds if n)

    def reference(row: Disparity) -> TableCell:
        return number_cell(row.reference_value, row.reference if several else fraction(row.reference_behind))

    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: group_cell(
            row.group, of_group[row.group].small, f"{of_group[row.group].rows} rows"
        ),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: number_cell(row.value, fraction(row.behind)),
        "reference": reference,
        "ratio": lambda row: TableCell(
            ratio(row.ratio.value, row.tau), interval(row.ratio, 2), row.ratio.value
        ),
        "verdict": lambda row: TableCell(in_words(row), verdict=row.verdict),
    }
    text = f"and {len(left_out)} more ({more}): see --all" if left_out else ""
    return table_of("", columns, ordered[:shown], text)


def group_table(title: str, rows: Sequence[GroupRow]) -> TextTable:
    """Return counts and rates of groups; with model and decision when there are several."""
    several = ("model, decision",) * (len({(row.model, row.decision) for row in rows}) > 1)
    cells = ("tp", "fp", "fn", "tn") if "tp" in rows[0].counts else ("pp", "pn")
    return TextTable(
        title,
        ("group", *several, "rows", *cells, *rows[0].metrics),
        tuple(
            (
                group_cell(row.group, row.small),
                *(TableCell(place(row.model, row.decision)) for _ in several),
                count_cell(row.rows),
                *(count_cell(row.counts[name]) for name in cells),
                *(number_cell(of.value, interval(of)) for of in row.metrics.values()),
            )
            for row in rows
        ),
    )


def group_cell(name: str, small: bool, fine: str = "") -> TableCell:
    """Return a group's name, marked when it has few rows."""
    return TableCell(f"{name}*" if small else name, fine)


def number_cell(value: float, fine: str = "") -> TableCell:
    """Return a number, to sort by."""
    return TableCell(number(value), fine, value)


def interval_cell(of: Interval) -> TableCell:
    """Return a number with its interval."""
    return TableCell(with_interval(of), "", of.value)


def count_cell(value: float) -> TableCell:
    """Return a count; a dash where there is none."""
    return TableCell(DASH if math.isnan(value) else count(value), "", value)


def p_cell(value: float) -> TableCell:
    """Return a p-value."""
    return TableCell(p_value(value), "", value)
