"""An audit on a console where not everything is asked for: its answer, what is open, and where more is.

All in some twenty lines: the message, a line or two an attribute, what each option that was given asked for,
what is not decided and with how many rows it would be, the first notes, the gate.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from fairbench_cli.audit.compare.report import Disparity, Interval, Report
from fairbench_cli.audit.parts import find_all_rows, formatting, parts_of
from fairbench_cli.audit.parts.allowed import has_margin, name_gaps
from fairbench_cli.audit.parts.part import SHORT
from fairbench_cli.audit.parts.rates import attribute_verdict, bracketed_place, place_name, rows_of_attribute
from fairbench_cli.audit.scan.roles import NOT_AUDITED, SHORT_FOR
from fairbench_cli.audit.scan.row_checks import LIKELY_MISTAKES
from fairbench_cli.audit.scan.slices import ALL_CLASSES
from fairbench_cli.audit.scan.source import LEFT_OUT
from fairbench_cli.audit.show import headline
from fairbench_cli.audit.show.answer_model import OpenGroup
from fairbench_cli.audit.show.document import describe_gate, format_level, source_name
from fairbench_cli.base.safe_text import format_count, format_percent, shorten
from fairbench_cli.document.model import Answer, Document, Section, Statement, TableCell, TextTable

MOST_OPEN = 2  # attributes that are not decided, and groups of each, in words
MOST_NOTES = 2
LONGEST_NOTE = 240  # characters
LONGEST_NAME = 24  # of a group, in the table
MORE = "All comparisons: --all. A page and files: -o FOLDER."


def _note_order(note: str) -> int:
    """Return the place of a note: what may be a mistake first; what was read before what was not."""
    if any(text in note for text in (SHORT_FOR, *LIKELY_MISTAKES)):
        return 0
    if note.startswith((NOT_AUDITED, LEFT_OUT)):
        return 2
    return 1


def short_document(report: Report) -> Document:
    """Return the answer of an audit as it fits a console."""
    answer = headline.headline(report)
    sections = []
    if not report.without_verdict:
        sections += list(_attributes_section(report))
    for part, findings in parts_of(report):
        sections += list(part.short(findings, report))
    notes = sorted((note for note in report.notes if not note.startswith(formatting.MARKED)), key=_note_order)
    shown_notes = notes[:MOST_NOTES]
    open_sentences = _describe_open(report)
    if open_sentences or shown_notes:
        sections.append(
            Section("", open_sentences, notes=tuple(shorten(note, LONGEST_NOTE) for note in shown_notes))
        )
    n_more = len(notes) - len(shown_notes)
    more = MORE
    if n_more:
        more = f"{format_count(n_more, 'more note')}, {MORE[0].lower()}{MORE[1:]}"
    endings = tuple(filter(None, (describe_gate(report), more)))
    statement = Statement(answer.message, headline.spoken_verdict(answer, report), detail=answer.detail)
    return Document(
        "", Answer(statement), sections=tuple(sections), notes=endings, tested=report.config.rule != "point"
    )


def _attributes_section(report: Report) -> Iterator[Section]:
    """Yield the table of attributes: the worst gap of each, of all slices where there are some."""
    all_slices = find_all_rows(report)
    if all_slices:
        judged_report = all_slices.report
        place = f", {all_slices.name} together"
    else:
        judged_report = report
        place = f", {formatting.format_place(report.last, '')}" if report.last else ""
    worst = [
        row
        for row in headline.worst_comparisons(judged_report)
        if row.attribute in judged_report.judged or row.attribute.decision == ALL_CLASSES
    ]
    if not worst:
        return
    title = f"{source_name(report)}, {formatting.thousands(report.rows)} rows{place}: the largest gaps"
    table = _attributes_table(worst, judged_report)
    metrics = dict.fromkeys(comparisons.rows[0].metric for comparisons in worst)
    meanings = "; ".join(f"{name}: {headline.rate_meaning(name)}" for name in metrics)
    together = " of all comparisons together" if report.config.adjusted else ""
    gap = name_gaps(comparisons.rows[0] for comparisons in worst)
    notes = [f"{meanings}. Brackets: the {format_level(report)} interval of the {gap}{together}."]
    if any(row[1].text.endswith("*") for row in table.rows):
        notes.append(f"{formatting.MARKED}: fewer than {report.config.min_group} rows, read with care.")
    for comparisons in worst:
        row = comparisons.rows[0]
        harmed = headline.harmed_group(row, judged_report)
        if row.verdict == "fail" and harmed == row.reference:
            notes.append(f"{row.attribute}: to the disadvantage of {formatting.format_group(harmed)}.")
    yield Section(title, tables=(table,), notes=tuple(notes))


def _attributes_table(worst: Sequence[headline.AttributeComparisons], report: Report) -> TextTable:
    """Return the worst comparison of each attribute."""
    has_several_places = len({comparisons.attribute.place[:2] for comparisons in worst}) > 1

    def attribute(comparisons: headline.AttributeComparisons) -> TableCell:
        place = place_name(comparisons.attribute, report) if has_several_places else ""
        return TableCell(comparisons.attribute.attribute, place)

    def group(comparisons: headline.AttributeComparisons) -> TableCell:
        row = comparisons.rows[0]
        name = shorten(formatting.format_group(row.group), LONGEST_NAME)
        _, groups = rows_of_attribute(comparisons.attribute, report)
        is_small = any(group_row.small for group_row in groups if group_row.group == row.group)
        return formatting.group_cell(name, is_small, row.metric)

    def verdict(comparisons: headline.AttributeComparisons) -> TableCell:
        decided = attribute_verdict(comparisons.attribute, report)
        remark = _count_comparisons(comparisons)
        return TableCell(decided, remark, verdict=comparisons.attribute.verdict)

    columns: dict[str, Callable[[headline.AttributeComparisons], TableCell]] = {
        "attribute": attribute,
        "group": group,
        "share": lambda comparisons: _share_cell(comparisons.rows[0].value),
        "reference": lambda comparisons: _share_cell(
            comparisons.rows[0].reference_value,
            shorten(formatting.format_group(comparisons.rows[0].reference), LONGEST_NAME),
        ),
        _name_short_gaps(worst): lambda comparisons: _gap_cell(comparisons.rows[0]),
        "verdict": verdict,
    }
    return SHORT.table("", columns, worst)


def _share_cell(share: float, fine: str = "") -> TableCell:
    text = formatting.DASH if math.isnan(share) else format_percent(share)
    return TableCell(text, fine, share)


def _name_short_gaps(worst: Sequence[headline.AttributeComparisons]) -> str:
    """Return the head of the column of gaps: shares are in percent here, so differences are in points."""
    return name_gaps(comparisons.rows[0] for comparisons in worst).replace("difference", "points")


def _gap_cell(row: Disparity) -> TableCell:
    if has_margin(row.margin):
        value, low, high = (100 * number for number in vars(row.difference).values())
        text = formatting.points(row.difference.value, row.margin)
        return TableCell(text, formatting.interval(Interval(value, low, high), 1), value)
    text = formatting.ratio(row.ratio.value, row.tau, 2)
    return TableCell(text, formatting.interval(row.ratio, 2), row.ratio.value)


def _count_comparisons(comparisons: headline.AttributeComparisons) -> str:
    """Return how many of several comparisons have the verdict that the attribute has: "5 of 25"."""
    verdict = comparisons.attribute.verdict
    if len(comparisons.rows) == 1 or verdict == "pass":
        return ""
    n = sum(row.verdict == verdict for row in comparisons.rows)
    return f"{n} of {len(comparisons.rows)}"


def _describe_open(report: Report) -> tuple[str, ...]:
    """Return the groups that are not decided, with the rows it would take, in a sentence; else nothing."""
    open_attributes = headline.headline(report).open
    if report.last and not find_all_rows(report):
        open_attributes = tuple(row for row in open_attributes if row.model == report.last)
    n_places = len({open_rates.place[:2] for open_rates in open_attributes})
    has_several_places = n_places > 1 or report.of_strata
    clauses: list[str] = []
    for open_rates in open_attributes[:MOST_OPEN]:
        first_group, *other_groups = open_rates.groups
        groups = [_describe_group(first_group, in_full=not clauses)]
        groups += [_describe_group(group) for group in other_groups[: MOST_OPEN - 1]]
        n_more = len(open_rates.groups) - len(groups)
        more = f" and {format_count(n_more, 'more group')}" if n_more else ""
        place = bracketed_place(open_rates, report) if has_several_places else ""
        clauses.append(f"{open_rates.attribute}{place}: {', '.join(groups)}{more}")
    if not clauses:
        return ()
    n_more = len(open_attributes) - len(clauses)
    kind = "more attribute"
    if report.of_strata:
        kind = "more slice"
    more = f"; and {format_count(n_more, kind)}" if n_more else ""
    return (f"Not decided: {'; '.join(clauses)}{more}.",)


def _describe_group(group: OpenGroup, *, in_full: bool = False) -> str:
    """Return a group that is open: "Asian (32 rows; about 160 to 700 would decide)"; else the numbers."""
    name = formatting.format_group(group.group)
    rows = formatting.thousands(group.rows)
    needed = group.needed
    if in_full:
        rows = format_count(group.rows, "row")
    if not needed:
        return f"{name} ({rows})"
    if in_full:
        needed += " would decide"
    return f"{name} ({rows}; {needed})"
