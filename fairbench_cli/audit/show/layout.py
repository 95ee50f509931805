"""What a reader is shown, whatever the output: a headline, and sections of sentences, tables and notes."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from fairbench_cli.audit.judge.report import (
    AttributeVerdict,
    Disparity,
    Explanation,
    GroupRow,
    Interval,
    Report,
    RequestedRow,
    Stratified,
    Stratum,
    Verdict,
)
from fairbench_cli.audit.judge.uncertainty import ENOUGH
from fairbench_cli.audit.show.format import (
    DASH,
    REASONS,
    VERDICTS,
    count,
    fraction,
    interval,
    number,
    p_value,
    percent,
    ratio,
    with_interval,
)
from fairbench_cli.measures.registry import find
from fairbench_cli.text import shown_path

Line = TypeVar("Line")

SHOWN = 12  # rows of a table, unless all are asked for
FEW_COMPARED = 0.9  # rows in strata with both groups: fewer is said first
REFERENCES = {
    "given": "the given reference groups",
    "majority": "the largest group",
    "minimum": "the group with the lowest value of each metric",
    "maximum": "the group with the highest value of each metric",
    "rest": "everybody else",
}


@dataclass(frozen=True)
class TableCell:
    """A cell of a table.

    Parameters
    ----------
    text, fine : str
        Its text, and what is in small print next to it or below.
    value : float or None
        The number that it shows, to sort by; None for words.
    verdict : {"pass", "fail", "undecided"} or None
        What a verdict says.
    """

    text: str
    fine: str = ""
    value: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class TextTable:
    """A table of text; `more` says what is left out, and is empty when nothing is."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    more: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(any(row[j].value is not None for row in self.rows) for j in range(len(self.heads)))


@dataclass(frozen=True)
class Figure:
    """An SVG with its title."""

    title: str
    svg: str


@dataclass(frozen=True)
class ReportSection:
    """A title, sentences, tables and notes; with the verdict on what it is about, if there is one.

    `figures` are for the page alone: all that they show is in the tables, too.
    """

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    figures: tuple[Figure, ...] = ()


def source_name(report: Report) -> str:
    """Name the file without its folders."""
    return "standard input" if report.source == "-" else shown_path(PurePath(report.source).name)


def place(model: str, decision: str) -> str:
    """Name a model and a decision: "model a, top 100"."""
    return ", ".join(part for part in (f"model {model}" if model else "", decision) if part)


def limits(report: Report) -> str:
    """Write τ with its exceptions: "τ = 0.8 (fpr 0.9)"."""
    more = ", ".join(f"{metric} {tau:g}" for metric, tau in report.config.taus.items())
    return f"τ = {report.config.tau:g}" + (f" ({more})" if more else "")


def headline(report: Report) -> str:
    """Return the verdict in one sentence."""
    if report.without_verdict:
        from fairbench_cli.audit.show import law

        return law.headline(report)
    per = [row.verdict for row in report.verdicts]
    rows = [row for row in report.disparities if row.metric in report.deciding and not row.is_reference]
    same = per.count(report.verdict)
    verb = {"pass": "pass", "fail": "fail", "undecided": "is not decided"}[report.verdict]
    if same == 1 and report.verdict != "undecided":
        verb += "es" if verb == "pass" else "s"
    what = "audits of an attribute" if report.several else "attributes" if len(per) != 1 else "attribute"
    by = f"{limits(report)} by {', '.join(report.decided_by)}"
    sentence = f"{VERDICTS[report.verdict]}: {same} of {len(per)} {what} {verb} at {by}"
    failing = failures(rows)
    return f"{sentence}; {failing}." if failing else f"{sentence}."


def failures(rows: Sequence[Disparity]) -> str:
    """Return how many comparisons fail; empty when none does."""
    fails = [row for row in rows if row.verdict == "fail"]
    return f"{len(fails)} of {len(rows)} comparisons fail" if fails else ""


def facts(report: Report) -> str:
    """Return in a line what was audited and how."""
    config = report.config
    return (
        f"{source_name(report)}: {report.rows} rows; groups against {REFERENCES[config.ref_method]}; "
        f"{100 * config.confidence:g} % intervals, {config.draws} draws, seed {config.seed}"
    )


def in_words(row: Disparity) -> str:
    """Return the verdict on a comparison: "fails"; "passes"; "not decided: could be chance"."""
    if row.is_reference:
        return "reference"
    return VERDICTS[row.verdict] + (f": {REASONS[row.reason]}" if row.reason else "")


def worst_first(rows: Iterable[Disparity]) -> list[Disparity]:
    """Sort: fails shown outside τ, other fails, not decided, passes, references; then by distance from 1."""

    def rank(row: Disparity) -> int:
        if row.is_reference:
            return 4
        if row.verdict == "fail":
            return 0 if row.shown_outside else 1
        return 2 if row.verdict == "undecided" else 3

    def distance(value: float) -> float:
        if math.isnan(value):
            return 0.0
        return math.inf if value <= 0 or math.isinf(value) else abs(math.log(value))

    return sorted(rows, key=lambda row: (rank(row), -distance(row.ratio.value)))


def of_attribute(verdict: AttributeVerdict, report: Report) -> tuple[list[Disparity], list[GroupRow]]:
    """Return the comparisons and the groups of an attribute under a model and a decision."""
    key = (verdict.model, verdict.decision, verdict.attribute)
    return (
        [row for row in report.disparities if (row.model, row.decision, row.attribute) == key],
        [row for row in report.groups if (row.model, row.decision, row.attribute) == key],
    )


def attribute_title(verdict: AttributeVerdict, report: Report) -> str:
    """Return a title with the verdict: "race: fails, against Caucasian (model a, binary)"."""
    rows, _ = of_attribute(verdict, report)
    references = list(dict.fromkeys(row.reference for row in rows if row.metric in report.deciding))
    against = f", against {references[0]}" if len(references) == 1 else ""
    where = f" ({place(verdict.model, verdict.decision)})" if report.several else ""
    return f"{verdict.attribute}: {VERDICTS[verdict.verdict]}{against}{where}"


def sections(report: Report, *, everything: bool = True, brief: bool = False) -> tuple[ReportSection, ...]:
    """Return all that is shown under the headline and the facts.

    Parameters
    ----------
    report : Report
        What was found.
    everything : bool
        Whether tables are shown whole; else `SHOWN` rows of each.
    brief : bool
        Whether to leave out the tables of groups, and columns that a narrow page has no room for.
    """
    from fairbench_cli.audit.show import law

    shown = None if everything else SHOWN
    notes = (ReportSection("Notes", notes=report.notes),) if report.notes else ()
    if report.without_verdict:
        return (*law.impact_sections(report, shown), *notes)
    found = [law.guideline_section(report)] if report.impact else []
    for verdict in report.verdicts:
        rows, groups = of_attribute(verdict, report)
        deciding = [row for row in rows if row.metric in report.deciding and not row.is_reference]
        title = attribute_title(verdict, report)
        more: tuple[str, ...] = ()
        if report.impact:
            tables: tuple[TextTable, ...] = law.guideline_tables(verdict, report)
            more = law.guideline_notes(verdict, report)
        elif brief:
            tables = (brief_table(deciding, groups, shown),)
        else:
            tables = (
                comparison_table("Comparisons, worst first", deciding, groups),
                group_table("Groups", groups),
            )
        found.append(ReportSection(title, tables=tables, notes=more, verdict=verdict.verdict))
    if not brief:
        found.append(ReportSection("All rows", tables=(group_table("All rows", report.overall),)))
    from fairbench_cli.audit.show.curves import curve_sections

    found += [
        *curve_sections(report, shown),
        *requested_sections(report, shown),
        *explanation_sections(report, shown),
    ]
    return (*found, *notes)


def comparison_table(title: str, rows: Sequence[Disparity], groups: Sequence[GroupRow]) -> TextTable:
    """Return comparisons with all their numbers, the worst first."""
    small = {row.group for row in groups if row.small}
    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: _group(row.group, row.group in small),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: _number(row.value, fraction(row.behind)),
        "reference": lambda row: TableCell(row.reference),
        "reference value": lambda row: _number(row.reference_value, fraction(row.reference_behind)),
        "ratio": lambda row: TableCell(ratio(row.ratio.value, row.tau), interval(row.ratio), row.ratio.value),
        "difference": lambda row: _number(row.difference.value, interval(row.difference)),
        "p (Holm)": lambda row: _p_value(row.p_holm),
        "verdict": lambda row: TableCell(in_words(row), verdict=row.verdict),
    }
    return _table(title, columns, worst_first(rows))


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
        return _number(row.reference_value, row.reference if several else fraction(row.reference_behind))

    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: _group(row.group, of_group[row.group].small, f"{of_group[row.group].rows} rows"),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: _number(row.value, fraction(row.behind)),
        "reference": reference,
        "ratio": lambda row: TableCell(
            ratio(row.ratio.value, row.tau), interval(row.ratio, 2), row.ratio.value
        ),
        "verdict": lambda row: TableCell(in_words(row), verdict=row.verdict),
    }
    text = f"and {len(left_out)} more ({more}): see --all" if left_out else ""
    return _table("", columns, ordered[:shown], text)


def group_table(title: str, rows: Sequence[GroupRow]) -> TextTable:
    """Return counts and rates of groups; with model and decision when there are several."""
    several = ("model, decision",) * (len({(row.model, row.decision) for row in rows}) > 1)
    cells = ("tp", "fp", "fn", "tn") if "tp" in rows[0].counts else ("pp", "pn")
    return TextTable(
        title,
        ("group", *several, "rows", *cells, *rows[0].metrics),
        tuple(
            (
                _group(row.group, row.small),
                *(TableCell(place(row.model, row.decision)) for _ in several),
                _count(row.rows),
                *(_count(row.counts[name]) for name in cells),
                *(_number(of.value, interval(of)) for of in row.metrics.values()),
            )
            for row in rows
        ),
    )


def requested_sections(report: Report, shown: int | None = None) -> tuple[ReportSection, ...]:
    """Return a section of the metrics asked for by name, if any: a table for each attribute."""
    slices: dict[tuple[str, str, str, str], list[RequestedRow]] = {}
    for row in report.requested:
        slices.setdefault((row.model, row.decision, row.attribute, row.reference), []).append(row)
    if not slices:
        return ()
    sentences = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"Brackets hold {100 * report.config.confidence:g} % bootstrap intervals. Tests have none, and a "
        f"metric has none when one of the counts behind it is below {ENOUGH}. These verdicts count with "
        "--fail-on alone.",
    )
    tables = tuple(_requested_table(key, rows, report, shown) for key, rows in slices.items())
    return (ReportSection("Metrics asked for by name", sentences, tables),)


def _requested_table(
    key: tuple[str, str, str, str], rows: list[RequestedRow], report: Report, shown: int | None
) -> TextTable:
    model, decision, attribute, reference = key
    where = f" ({place(model, decision)})" if report.several else ""
    small = {row.group for row in report.groups if row.small and row.attribute == attribute}
    lines = [(row, name) for row in rows for name in row.values]

    def value(row: RequestedRow, name: str) -> TableCell:
        of = row.values[name]
        return _p_value(of.value) if find(name).p_value else _with_interval(of)

    def ideal(name: str) -> TableCell:
        best = find(name).ideal
        return TableCell("" if best is None else f"{best:g}", "", math.nan if best is None else best)

    def verdict(found: Verdict | None) -> TableCell:
        return TableCell(VERDICTS[found] if found else DASH, verdict=found)

    columns: dict[str, Callable[[tuple[RequestedRow, str]], TableCell]] = {
        "group": lambda line: _group(line[0].group, line[0].group in small),
        "metric": lambda line: TableCell(line[1]),
        "value": lambda line: value(*line),
        "at best": lambda line: ideal(line[1]),
        "verdict": lambda line: verdict(line[0].verdicts.get(line[1])),
    }
    more = len(lines) - len(lines[:shown])
    left_out = f"and {more} more: see --all" if more else ""
    return _table(f"{attribute}, against {reference}{where}", columns, lines[:shown], left_out)


def explanation_sections(report: Report, shown: int | None = None) -> tuple[ReportSection, ...]:
    """Return a section for each explanation; at most `shown` strata a table."""
    return tuple(_explanation(each, report, shown) for each in report.explanations)


def _explanation(each: Explanation, report: Report, shown: int | None) -> ReportSection:
    sentences = [_overall(each)]
    if each.features:
        sentences.append(f"A person is described by {', '.join(each.features)}.")
    few = [part for part in each.parts if part.compared < FEW_COMPARED]
    some = [part for part in each.parts if FEW_COMPARED <= part.compared < 1]
    tables = [_parts(each), _belift(each, report)] if each.parts else []
    tables += [_row_metrics(each, report)] if each.metrics else []
    tables += [_strata(part, shown) for part in each.parts]
    compared = f"{each.group} ({each.rows} rows) and {each.reference} ({each.reference_rows})"
    return ReportSection(
        f"{each.attribute}: what is behind the difference of {compared}",
        (*sentences, *([_alone(few)] if few else [])),
        tuple(tables),
        (*each.notes, *([_alone(some)] if some else [])),
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
        "explained": lambda part: _with_interval(part.explained),
        "unexplained": lambda part: _with_interval(part.unexplained),
        "compared": lambda part: TableCell(percent(part.compared), "", part.compared),
        "CMH p": lambda part: _p_value(part.cmh_p),
    }
    title = "What is explained, and what is left; compared: rows in strata with both groups"
    return _table(title, columns, each.parts)


def _belift(each: Explanation, report: Report) -> TextTable:
    def least(part: Stratified) -> Stratum | None:
        return None if part.least_belift is None else part.strata[part.least_belift]

    columns: dict[str, Callable[[tuple[str, Stratum | None]], TableCell]] = {
        "explained by": lambda line: TableCell(line[0]),
        "stratum": lambda line: TableCell(line[1].name if line[1] else DASH),
        "rows": lambda line: _count(line[1].rows if line[1] else math.nan),
        "belift": lambda line: _number(line[1].belift if line[1] else math.nan),
    }
    return _table(
        f"Least belift, rate of {each.group} in a stratum / rate of all; strata with fewer than "
        f"{report.config.min_group} left out",
        columns,
        [(part.by, least(part)) for part in each.parts],
    )


def _row_metrics(each: Explanation, report: Report) -> TextTable:
    k, margin = report.config.neighbours, f"{report.config.margin:g}"
    group, reference = each.group, each.reference
    meaning = {
        "situation-testing": f"share of {group} worse off by {margin} or more than the {k} most alike of "
        f"{reference}",
        "situation-testing-reverse": f"share of {group} better off by {margin} or more",
        "consistency": f"agreement of each row with the {k} most alike; 1 at best",
        "redlining-potential": f"error of predicting {group} or {reference} from everything else; 0.5: no "
        "better than chance",
    }
    lines = [
        (TableCell(name), TableCell(meaning[name]), _with_interval(of)) for name, of in each.metrics.items()
    ]
    return TextTable("Among people alike", ("metric", "what it says", "value"), tuple(lines))


def _strata(part: Stratified, shown: int | None) -> TextTable:
    size = sorted((-(one.rows + one.reference_rows), i) for i, one in enumerate(part.strata))
    kept = [part.strata[i] for i in sorted(i for _, i in size[:shown])]
    left_out = len(part.strata) - len(kept)
    columns: dict[str, Callable[[Stratum], TableCell]] = {
        "stratum": lambda one: TableCell(one.name),
        "rows": lambda one: _count(one.rows),
        "rate": lambda one: _number(one.rate),
        "ref. rows": lambda one: _count(one.reference_rows),
        "ref. rate": lambda one: _number(one.reference_rate),
        "difference": lambda one: _with_interval(one.difference),
    }
    more = f"and {left_out} smaller: see --all" if left_out else ""
    return _table(f"Strata of {part.by}", columns, kept, more)


def _table(
    title: str, columns: dict[str, Callable[[Line], TableCell]], lines: Sequence[Line], more: str = ""
) -> TextTable:
    """Return a table of lines, given how to write the cell of each column."""
    cells = tuple(tuple(write(line) for write in columns.values()) for line in lines)
    return TextTable(title, tuple(columns), cells, more)


def _group(name: str, small: bool, fine: str = "") -> TableCell:
    return TableCell(f"{name}*" if small else name, fine)


def _number(value: float, fine: str = "") -> TableCell:
    return TableCell(number(value), fine, value)


def _with_interval(of: Interval) -> TableCell:
    return TableCell(with_interval(of), "", of.value)


def _count(value: float) -> TableCell:
    return TableCell(DASH if math.isnan(value) else count(value), "", value)


def _p_value(value: float) -> TableCell:
    return TableCell(p_value(value), "", value)
