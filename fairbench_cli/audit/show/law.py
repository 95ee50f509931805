"""Impact ratios as a reader is shown them: tables in the layout of a law, and statistics apart from these."""

import math
from collections.abc import Sequence

from fairbench_cli.audit.config import ABOVE_MEDIAN
from fairbench_cli.audit.judge.report import AttributeVerdict, Chance, ImpactRow, ImpactTable, Report
from fairbench_cli.audit.scan.open import LOOK_MISSING
from fairbench_cli.audit.show.format import DASH, interval, number, p_value, percent
from fairbench_cli.audit.show.layout import place
from fairbench_cli.base.errors import shown
from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.measures.groups import CROSS

TITLES = {
    "ll144": "What New York City's Local Law 144 asks for",
    "eeoc": "Adverse impact, by the Uniform Guidelines (29 CFR 1607.4 D)",
}
NO_LIMIT = "The law sets no limit to these ratios and asks for no test: read them as they are."
MOST_NAMED = 6  # tables in the headline
TESTED = ("std. dev.", "p (Holm)")
TO_PUBLISH = (
    "the source of the data, and what they are: ____",
    "the date of the most recent bias audit, not older than a year: ____",
    "the date from which this version of the tool is in use: ____",
)


def headline(report: Report) -> str:
    """Return in a sentence what the tables of a rule without a pass mark show."""
    tables = [table for table in report.impact if any(not math.isnan(row.ratio) for row in table.rows)]
    parts = []
    for table in tables:
        low = min((row for row in table.rows if not math.isnan(row.ratio)), key=lambda row: row.ratio)
        where = f" ({place(table.model, table.decision)})" if report.several else ""
        parts.append(f"{table.attribute}{where} {number(low.ratio)} ({low.group}, against {table.highest})")
    more = len(parts) - MOST_NAMED
    said = "; ".join(parts[:MOST_NAMED]) + (f"; and {more} more tables" if more > 0 else "")
    return f"Lowest impact ratios: {said}." if parts else "There are no impact ratios to show."


def impact_sections(report: Report, shown: int | None = None) -> tuple[Section, ...]:
    """Return the sections of a report under ``--preset ll144``: the law's tables, then statistics.

    None of them says that something passes or fails.
    """
    first = Section(TITLES["ll144"], (_what_is_counted(report.impact), NO_LIMIT))
    found = [first]
    for table in report.impact:
        title = f"Impact ratios by {_title(table, report)}"
        rates = _rates(table, title, shown)
        found.append(Section(title, tables=(rates,), notes=_notes(table, report)))
    tested = [table for table in report.impact if any(row.chance for row in table.rows)]
    pairs = _pairs(report)
    statistics = Section(
        "Statistics of ours, which the law does not ask for",
        (
            "Std. dev.: the difference from the highest rate in standard deviations. p: how likely chance "
            f"alone makes such a difference, two-sided and adjusted for {pairs} of categories (Holm). "
            f"Brackets: {100 * report.config.confidence:g} % intervals of the ratio.",
        ),
        tuple(_statistics(table, _title(table, report), shown) for table in tested),
    )
    publish = Section("To be published with the tables; fill in", notes=TO_PUBLISH)
    return (*found, *([statistics] if tested else []), publish)


def guideline_tables(verdict: AttributeVerdict, report: Report) -> tuple[TextTable, ...]:
    """Return the tables of an attribute under ``--preset eeoc``: four fifths, and chance."""
    table = _of(verdict, report)
    return _two_answers(table, report), _how_far(table)


def guideline_notes(verdict: AttributeVerdict, report: Report) -> tuple[str, ...]:
    """Return what is not in these tables."""
    return _notes(_of(verdict, report), report)


def guideline_sections(report: Report) -> tuple[Section, ...]:
    """Return how the tables of ``--preset eeoc`` are to be read; nothing where there are none."""
    if not report.impact:
        return ()
    pairs = _pairs(report)
    sentences = (
        "Each group is compared with the one that is selected most. A rate below four fifths (80 %) of that "
        "is taken for evidence of adverse impact, unless numbers are too small to be relied on; a smaller "
        "difference may count where it is significant. So there are two answers: below 4/5, and significant. "
        "The verdict needs both.",
        "Std. dev.: the difference of the rates in standard deviations; courts look for two or three. p: "
        f"two-sided, adjusted for {pairs} of groups (Holm). Shortfall: how many more of the group "
        "would be selected at the rate of both groups together. To reach 4/5: how many more it takes. "
        "One person: whether one more of the group, and one fewer of the other, turns the difference round.",
    )
    return (Section(TITLES["eeoc"], sentences),)


def _pairs(report: Report) -> str:
    family = report.impact[0].family
    return f"{family} {'pair' if family == 1 else 'pairs'}"


def _of(verdict: AttributeVerdict, report: Report) -> ImpactTable:
    key = (verdict.model, verdict.decision, verdict.attribute)
    return next(one for one in report.impact if (one.model, one.decision, one.attribute) == key)


def _title(table: ImpactTable, report: Report) -> str:
    return table.attribute + (f" ({place(table.model, table.decision)})" if report.several else "")


def _scored(table: ImpactTable) -> bool:
    return table.decision.startswith(ABOVE_MEDIAN)


def _what_is_counted(tables: Sequence[ImpactTable]) -> str:
    ratio = "Impact ratio: that rate over the highest in the table."
    if not _scored(tables[0]):
        return f"Selection rate: the share of a category that is selected. {ratio}"
    decisions = "; ".join(dict.fromkeys(place(table.model, table.decision) for table in tables))
    return (
        "Scoring rate: the share of a category with a score above the median of all rows, those of unknown "
        f"category among them; scores at the median are not above it. Here: {decisions}. {ratio}"
    )


def _notes(table: ImpactTable, report: Report) -> tuple[str, ...]:
    """Return who is not in a table, and which categories have no ratio."""
    known = sum(row.rows for row in table.rows)
    notes = [f"Not included, because the category is not known: {table.unknown} of {known + table.unknown}."]
    unclear = [row.group for row in table.rows if LOOK_MISSING & {*row.group.lower().split(CROSS)}]
    if unclear:
        advice = "if that means that the category is not known, leave it out with --exclude"
        notes.append(f"Included as a category: {', '.join(map(shown, unclear))}; {advice}.")
    small = sum(row.left_out for row in table.rows)
    if small:
        least = percent(report.config.min_share)
        what = f"{small} with fewer than {least} of the {known} rows in the table"
        notes.append(f"Marked *: {what}; not compared, and not taken for the highest.")
    return tuple(notes)


def _name(row: ImpactRow) -> TableCell:
    return TableCell(f"{row.group}*" if row.left_out else row.group)


def _yes(value: bool | None) -> TableCell:
    return TableCell(DASH if value is None else "yes" if value else "no")


def _number(value: float, text: str = "", fine: str = "") -> TableCell:
    return TableCell(text or number(value), fine, value)


def _share(value: float) -> TableCell:
    return TableCell(DASH if math.isnan(value) else f"{100 * value:.1f} %", "", value)


def _cut(rows: tuple[ImpactRow, ...], shown: int | None) -> tuple[tuple[ImpactRow, ...], str]:
    more = len(rows) - len(rows[:shown])
    return rows[:shown], f"and {more} more: see --all" if more else ""


def _rates(table: ImpactTable, title: str, shown: int | None) -> TextTable:
    """Return the law's table."""
    scored = _scored(table)
    heads = (
        "category",
        "applicants",
        *(("above the median", "scoring rate") if scored else ("selected", "selection rate")),
    )
    rows, more = _cut(table.rows, shown)
    cells = tuple(
        (
            _name(row),
            _number(row.rows, str(row.rows)),
            _number(row.selected, str(row.selected)),
            _share(row.rate),
            _number(row.ratio),
        )
        for row in rows
    )
    return TextTable(title, (*heads, "impact ratio"), cells, more)


def _two_answers(table: ImpactTable, report: Report) -> TextTable:
    """Return what the rule of four fifths and a test say, next to each other."""
    alpha = 1 - report.config.confidence
    cells = tuple(
        (
            _name(row),
            _number(row.rows, str(row.rows)),
            _number(row.selected, str(row.selected)),
            _share(row.rate),
            _number(row.ratio, "highest" if row.highest else "", _interval(row)),
            _yes(row.four_fifths.below if row.four_fifths else None),
            _yes(row.chance.p_holm < alpha if row.chance else None),
        )
        for row in table.rows
    )
    heads = ("group", "applicants", "selected", "rate", "ratio", "below 4/5", "significant")
    return TextTable(f"Against {table.highest}" if table.highest else "", heads, cells)


def _how_far(table: ImpactTable) -> TextTable:
    """Return by how much, and how surely, groups are below the highest."""
    cells = tuple(
        (
            *_tested(row, row.chance),
            _number(row.four_fifths.shortfall, number(row.four_fifths.shortfall, 1)),
            _number(row.four_fifths.to_reach, str(row.four_fifths.to_reach)),
            _yes(row.four_fifths.one_person),
        )
        for row in table.rows
        if row.chance is not None and row.four_fifths is not None
    )
    heads = ("group", *TESTED, "shortfall", "to reach 4/5", "one person")
    return TextTable("How far, and how surely", heads, cells)


def _statistics(table: ImpactTable, title: str, shown: int | None) -> TextTable:
    rows, more = _cut(tuple(row for row in table.rows if row.chance is not None), shown)
    cells = tuple(
        (*_tested(row, row.chance), _number(row.ratio, "", _interval(row)))
        for row in rows
        if row.chance is not None
    )
    return TextTable(title, ("category", *TESTED, "impact ratio"), cells, more)


def _tested(row: ImpactRow, of: Chance) -> tuple[TableCell, ...]:
    return _name(row), _number(of.z, number(of.z, 1)), _number(of.p_holm, p_value(of.p_holm))


def _interval(row: ImpactRow) -> str:
    return interval(row.chance.ratio, 2) if row.chance else ""
