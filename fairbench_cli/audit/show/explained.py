"""What is behind a difference of selection rates, by strata and among people alike."""

import math
from collections.abc import Callable

from fairbench_cli.audit.judge.report import Explanation, Report, Stratified, Stratum
from fairbench_cli.audit.show.format import DASH, number, percent, with_interval
from fairbench_cli.audit.show.layout import count_cell, interval_cell, number_cell, p_cell
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of

CMH = (
    "CMH p: how often groups that are selected alike within strata would differ as much (test of Cochran, "
    "Mantel and Haenszel)."
)
FEW_COMPARED = 0.9  # rows in strata with both groups: fewer is said first


def explanation_sections(report: Report, shown: int | None = None) -> tuple[Section, ...]:
    """Return a section for each explanation; at most `shown` strata a table."""
    return tuple(_explanation(each, report, shown) for each in report.explanations)


def _explanation(each: Explanation, report: Report, shown: int | None) -> Section:
    sentences = [_overall(each)]
    if each.features:
        sentences.append(f"A person is described by {', '.join(each.features)}.")
    few = [part for part in each.parts if part.compared < FEW_COMPARED]
    some = [part for part in each.parts if FEW_COMPARED <= part.compared < 1]
    tables = [_parts(each), _belift(each, report)] if each.parts else []
    tables += [_row_metrics(each, report)] if each.metrics else []
    tables += [_strata(part, shown) for part in each.parts]
    compared = f"{each.group} ({each.rows} rows) and {each.reference} ({each.reference_rows})"
    return Section(
        f"{each.attribute}: what is behind the difference of {compared}",
        (*sentences, *([_alone(few)] if few else [])),
        tuple(tables),
        (*each.notes, *([_alone(some)] if some else []), *([CMH] if each.parts else [])),
    )


def _overall(each: Explanation) -> str:
    """Return who is selected more often."""
    value = number(abs(each.difference.value))
    if value == DASH:
        return "The difference is not defined."
    said = with_interval(each.difference)
    if value == number(0.0):
        return f"{each.group} is selected as often as {each.reference}: the difference is {said}."
    often = "less" if each.difference.value < 0 else "more"
    return f"{each.group} is selected {often} often than {each.reference}: the difference is {said}."


def _alone(parts: list[Stratified]) -> str:
    """Return for which part of the rows there is nobody to compare them with."""
    shares = ", ".join(f"{percent(1 - part.compared)} ({part.by})" for part in parts)
    return (
        "Not all can be compared: rows in strata of one group, whose difference counts as explained, are "
        f"{shares} of all."
    )


def _parts(each: Explanation) -> TextTable:
    columns: dict[str, Callable[[Stratified], TableCell]] = {
        "explained by": lambda part: TableCell(part.by),
        "explained": lambda part: interval_cell(part.explained),
        "unexplained": lambda part: interval_cell(part.unexplained),
        "compared": lambda part: TableCell(percent(part.compared), "", part.compared),
        "CMH p": lambda part: p_cell(part.cmh_p),
    }
    title = "What is explained, and what is left; compared: rows in strata with both groups"
    return table_of(title, columns, each.parts)


def _belift(each: Explanation, report: Report) -> TextTable:
    def least(part: Stratified) -> Stratum | None:
        return None if part.least_belift is None else part.strata[part.least_belift]

    columns: dict[str, Callable[[tuple[str, Stratum | None]], TableCell]] = {
        "explained by": lambda line: TableCell(line[0]),
        "stratum": lambda line: TableCell(line[1].name if line[1] else DASH),
        "rows": lambda line: count_cell(line[1].rows if line[1] else math.nan),
        "belift": lambda line: number_cell(line[1].belift if line[1] else math.nan),
    }
    return table_of(
        f"Least belift, rate of {each.group} in a stratum / rate of all; strata with fewer than "
        f"{report.config.min_group} left out",
        columns,
        [(part.by, least(part)) for part in each.parts],
    )


def _row_metrics(each: Explanation, report: Report) -> TextTable:
    k, margin = report.config.neighbours, f"{report.config.margin:g}"
    group, reference = each.group, each.reference
    meaning = {
        "situation-testing": f"share of {group} whose {k} most alike of {reference} are selected more often "
        f"than their {k} most alike of {group}, by {margin} or more",
        "situation-testing-reverse": "the same, selected less often",
        "consistency": f"agreement of each row with the {k} most alike; 1 at best",
        "redlining-potential": f"error of predicting {group} or {reference} from everything else; 0.5: no "
        "better than chance",
    }
    lines = [
        (TableCell(name), TableCell(meaning[name]), interval_cell(of)) for name, of in each.metrics.items()
    ]
    return TextTable("Among people alike", ("metric", "what it says", "value"), tuple(lines))


def _strata(part: Stratified, shown: int | None) -> TextTable:
    size = sorted((-(one.rows + one.reference_rows), i) for i, one in enumerate(part.strata))
    kept = [part.strata[i] for i in sorted(i for _, i in size[:shown])]
    left_out = len(part.strata) - len(kept)
    columns: dict[str, Callable[[Stratum], TableCell]] = {
        "stratum": lambda one: TableCell(one.name),
        "rows": lambda one: count_cell(one.rows),
        "rate": lambda one: number_cell(one.rate),
        "ref. rows": lambda one: count_cell(one.reference_rows),
        "ref. rate": lambda one: number_cell(one.reference_rate),
        "difference": lambda one: interval_cell(one.difference),
    }
    more = f"and {left_out} smaller: see --all" if left_out else ""
    return table_of(f"Strata of {part.by}", columns, kept, more)
