"""Impact ratios: the selection rate of each category over that of the category that is selected most.

Sources: New York City, Local Law 144 of 2021 and 6 RCNY § 5-300 to 5-304 (rates and ratios, categories under
2 %, unknown categories); Uniform Guidelines on Employee Selection Procedures, 29 CFR 1607.4 D (four fifths),
Questions and Answers of 1979, 20 and 21 (one person more). The tests are ours.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from fairbench_cli.audit.compare.family import adjust_family
from fairbench_cli.audit.compare.references import Bools, comparable, excluded
from fairbench_cli.audit.compare.report import UNDEFINED, Interval, Place, Report, Test
from fairbench_cli.audit.compare.verdict import decide
from fairbench_cli.audit.config import ABOVE_MEDIAN, FOUR_FIFTHS, AuditConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import SHORT, Part, Row, View
from fairbench_cli.audit.parts.rates import judged_section
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Slice
from fairbench_cli.base.errors import format_value
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.data.number_writing import GAP_WORDS
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.score_test import equal_rates, ratio_interval
from fairbench_cli.measures.significance import two_proportions

TITLES = {
    "ll144": "What New York City's Local Law 144 asks for",
    "eeoc": "Adverse impact, by the Uniform Guidelines (29 CFR 1607.4 D)",
}
NO_LIMIT = "The law sets no limit to these ratios and asks for no test: read them as they are."
MOST_NAMED = 6  # tables in the headline
# By whether a group is below four fifths, and whether its rate differs taken alone.
ALONE = {
    (True, True): "below and significant",
    (True, False): "below, not significant",
    (False, True): "not below, but significant",
}
SMALL_OUT = (
    "why categories under {least} of the rows have no impact ratio ({names}); the rule wants a justification "
    "for each: ____"
)
TO_PUBLISH = (
    "the source of the data, and what they are: ____",
    "the date of the most recent bias audit, not older than a year: ____",
    "the date from which this version of the tool is in use: ____",
)


@dataclass(frozen=True)
class Chance:
    """What a test says of the selection rate of a group against the highest.

    Parameters
    ----------
    ratio : Interval
        Miettinen and Nurminen's.
    z : float
        The difference in standard deviations (pooled); below 0 for the lower rate.
    p, p_holm : float
        Two-sided p-value, and adjusted over all pairs of all categories of the audit.
    test : {"score", "fisher"}
    """

    ratio: Interval
    z: float
    p: float
    p_holm: float
    test: Test


@dataclass(frozen=True)
class FourFifths:
    """What the rule of four fifths makes of a group.

    Parameters
    ----------
    below : bool
        Whether its rate is below 4/5 of the highest, exactly.
    to_reach : int
        How many more of the group would have to be selected for 4/5.
    one_person : bool
        Whether one more of the group, and one fewer of the other, would turn the difference round.
    shortfall : float
        How many more of the group would be selected at the rate of both groups together; below 0: fewer.
    """

    below: bool
    to_reach: int
    one_person: bool
    shortfall: float


@dataclass(frozen=True)
class ImpactRow:
    """A category, by the rules of a preset.

    Parameters
    ----------
    group : str
    rows, selected : int
        People, and those of them who were selected.
    share : float
        Of the rows whose category is known.
    rate : float
        selected / rows.
    ratio : float
        The rate over the highest; NaN where there is none, and for a category that is left out.
    left_out : bool
        Whether the category is smaller than `min_share`: neither compared nor the one compared with.
    highest : bool
        Whether its rate is the highest.
    chance : Chance, or None
        None for the highest, and where nothing is compared.
    four_fifths : FourFifths, or None
        The same, and of the preset eeoc alone.
    """

    group: str
    rows: int
    selected: int
    share: float
    rate: float
    ratio: float
    left_out: bool
    highest: bool
    chance: Chance | None = None
    four_fifths: FourFifths | None = None


@dataclass(frozen=True)
class ImpactTable(Place):
    """The categories of one attribute, or of two crossed.

    Parameters
    ----------
    highest : str
        The category with the highest rate; empty where there is none.
    unknown : int
        Rows that are not in it, because their category is not known.
    family : int
        How many pairs of categories p-values are adjusted for, in the whole audit.
    rows : tuple of ImpactRow
    """

    highest: str
    unknown: int
    family: int
    rows: tuple[ImpactRow, ...]


UNTESTED = Chance(UNDEFINED, math.nan, math.nan, math.nan, "")


def compute_impact(_: tuple[()], base: Report) -> tuple[ImpactTable, ...]:
    """Return the impact ratios of each attribute and intersection."""
    config = base.config
    slices = [group_counts for group_counts in base.slices if group_counts.decision != ALL_CLASSES]
    pairs = [_compare_pairs(group_counts, config) for group_counts in slices]
    adjusted = adjust_family([p for _, p, _ in pairs]).adjusted
    family = sum(len(p) for _, p, _ in pairs)
    impact_tables = []
    for group_counts, (pair, p, exact), p_holm in zip(slices, pairs, adjusted, strict=True):
        pair_tests = zip(p.tolist(), p_holm.tolist(), exact.tolist(), strict=True)
        tests = dict(zip(map(tuple, pair), pair_tests, strict=True))
        impact_tables.append(_impact_table(group_counts, tests, family, config))
    return tuple(impact_tables)


def _compare_pairs(group_counts: Slice, config: AuditConfig) -> tuple[Floats, Floats, Bools]:
    """Return all pairs of categories that are compared, their p-values, and which are of Fisher's test."""
    compared = np.flatnonzero(comparable(group_counts, config))
    first_groups, second_groups = (compared[indices] for indices in np.triu_indices(len(compared), 1))
    selected = group_counts.counts.predicted[:, 1]
    rows = group_counts.rows.astype(np.float64)
    p, exact = equal_rates(
        selected[first_groups], rows[first_groups], selected[second_groups], rows[second_groups]
    )
    return np.stack([first_groups, second_groups], axis=1), p, exact


def _impact_table(
    group_counts: Slice,
    tests: dict[tuple[int, int], tuple[float, float, bool]],
    family: int,
    config: AuditConfig,
) -> ImpactTable:
    rows = group_counts.rows
    selected = np.rint(group_counts.counts.predicted[:, 1]).astype(np.int64)
    is_known = ~excluded(group_counts, config)
    may = comparable(group_counts, config)
    with np.errstate(invalid="ignore"):
        rates = selected / rows
    top = -1
    if may.any():
        top = int(np.argmax(np.where(may & (rows > 0), rates, -1.0)))
    all_known = int(rows[is_known].sum())
    impact_rows = []
    for g in np.flatnonzero(is_known).tolist():
        against = may[g] and g != top
        counted = (int(selected[g]), int(rows[g]), int(selected[top]), int(rows[top]))
        chance = None
        if against:
            chance = _compute_chance(counted, tests[min(g, top), max(g, top)], config)
        rule = None
        if against and config.preset == "eeoc":
            rule = _apply_four_fifths(*counted)
        if may[g] and rates[top] > 0:
            ratio = float(rates[g] / rates[top])
        else:
            ratio = math.nan
        impact_rows.append(
            ImpactRow(
                group=group_counts.counts.groups[g],
                rows=int(rows[g]),
                selected=int(selected[g]),
                share=int(rows[g]) / all_known,
                rate=float(rates[g]),
                ratio=ratio,
                left_out=not may[g],
                highest=g == top,
                chance=chance,
                four_fifths=rule,
            )
        )
    highest = ""
    if top >= 0:
        highest = group_counts.counts.groups[top]
    return ImpactTable(*group_counts.place, highest, int(rows[~is_known].sum()), family, tuple(impact_rows))


def _compute_chance(counted: Sequence[int], test: tuple[float, float, bool], config: AuditConfig) -> Chance:
    above, below, ref_above, ref_below = counted
    if ref_above:
        value = above * ref_below / (ref_above * below)
    else:
        value = math.nan
    low, high = ratio_interval(above, below, ref_above, ref_below, config.confidence)
    z, _ = two_proportions(*counted)
    p, p_holm, exact = test
    return Chance(
        Interval(value, float(low), float(high)), float(z), p, p_holm, "fisher" if exact else "score"
    )


def _apply_four_fifths(above: int, below: int, ref_above: int, ref_below: int) -> FourFifths:
    """Return the result of the rule for a group against that with the highest rate.

    >>> _apply_four_fifths(6, 12, 9, 12)
    FourFifths(below=True, to_reach=2, one_person=False, shortfall=1.5)
    """
    enough = math.ceil(Fraction(str(FOUR_FIFTHS)) * ref_above * below / ref_below)
    return FourFifths(
        below=decide(above, below, ref_above, ref_below, FOUR_FIFTHS) == "fail",
        to_reach=max(0, enough - above),
        one_person=(above + 1) * ref_below > (ref_above - 1) * below,
        shortfall=below * (above + ref_above) / (below + ref_below) - above,
    )


def summarise_impact(tables: Sequence[ImpactTable], report: Report) -> str:
    """Return in a sentence the lowest ratios, where a rule has no pass mark; else who is below four fifths.

    Significance is that of each pair alone there, as practice has it; the verdict, after Holm, comes before.
    """
    if not report.without_verdict:
        return _summarise_four_fifths(tables, report)
    clauses = []
    for table in tables:
        defined_rows = [row for row in table.rows if not math.isnan(row.ratio)]
        if defined_rows:
            low = min(defined_rows, key=lambda row: row.ratio)
            ratio = formatting.number(low.ratio)
            clauses.append(f"{_title(table, report)} {ratio} ({low.group}, against {table.highest})")
    n_more = len(clauses) - MOST_NAMED
    ratios_text = "; ".join(clauses[:MOST_NAMED])
    if n_more > 0:
        ratios_text += f"; and {n_more} more tables"
    if clauses:
        return f"Lowest impact ratios: {ratios_text}."
    return "There are no impact ratios to show."


def _summarise_four_fifths(tables: Sequence[ImpactTable], report: Report) -> str:
    """Return who is below four fifths, those first whose rate differs significantly taken alone."""
    alpha = report.config.alpha
    names: dict[tuple[bool, bool], list[str]] = {}
    for table in tables:
        for row in _against_the_highest(table):
            if row.chance and row.four_fifths:
                p = f"{row.group} (p {formatting.p_value(row.chance.p)})"
                names.setdefault((row.four_fifths.below, row.chance.p < alpha), []).append(p)
    clauses = [f"{answer}: {join_names(names[kind])}" for kind, answer in ALONE.items() if kind in names]
    alone = "Four fifths and significance, each pair tested alone as practice has it: "
    return f"{alone}{'; '.join(clauses) or 'nobody is below, and no difference is significant'}."


def impact_sections(tables: Sequence[ImpactTable], report: Report, view: View) -> tuple[Section, ...]:
    """Return the tables of the rule, and how they are to be read."""
    pairs = format_count(tables[0].family, "pair")
    make = _guideline_sections
    if report.without_verdict:
        make = _law_sections
    return tuple(make(tables, pairs, report, view))


def _law_sections(tables: Sequence[ImpactTable], pairs: str, report: Report, view: View) -> Iterable[Section]:
    """Yield the sections of ``--preset ll144``: the law's tables, then statistics.

    None of them says that something passes or fails.
    """
    yield Section(TITLES["ll144"], (_describe_rate(tables), NO_LIMIT))
    for table in tables:
        title = f"Impact ratios by {_title(table, report)}"
        yield Section(
            title, tables=(_law_table(table, title, view),), notes=_describe_left_out(table, report)
        )
    tested = [table for table in tables if _against_the_highest(table)]
    statistics = (
        "Std. dev.: the difference from the highest rate in standard deviations. p: how likely chance "
        f"alone makes such a difference, two-sided; p (Holm): adjusted for {pairs} of categories. "
        f"Brackets: the {100 * report.config.confidence:g} % interval of a ratio, taken alone."
    )
    if tested:
        yield Section(
            "Statistics of ours, which the law does not ask for",
            (statistics,),
            tuple(_statistics_table(table, _title(table, report), view) for table in tested),
        )
    out: dict[str, None] = {}
    for table in tables:
        out |= dict.fromkeys(row.group for row in table.rows if row.left_out)
    least = formatting.percent(report.config.min_share)
    to_fill_in = list(TO_PUBLISH)
    if out:
        to_fill_in.append(SMALL_OUT.format(least=least, names=", ".join(out)))
    yield Section("To be published with the tables; fill in", notes=tuple(to_fill_in))


def short_impact(tables: Sequence[ImpactTable], report: Report) -> Sequence[Section]:
    """Return the lowest impact ratio of each attribute, where the rates of groups are not shown."""
    if not report.without_verdict:
        return ()
    rows = []
    for table in tables:
        by_group = {row.group: row for row in table.rows}
        defined_rows = [row for row in table.rows if not math.isnan(row.ratio)]
        if defined_rows:
            lowest = min(defined_rows, key=lambda row: row.ratio)
            rows.append((table, lowest, by_group[table.highest]))
    columns: dict[str, Callable[[tuple[ImpactTable, ImpactRow, ImpactRow]], TableCell]] = {
        "attribute": lambda row: TableCell(_title(row[0], report)),
        "category": lambda row: TableCell(row[1].group),
        "rate": lambda row: _percent_cell(row[1].rate),
        "highest": lambda row: TableCell(row[2].group),
        "highest rate": lambda row: _percent_cell(row[2].rate),
        "impact ratio": lambda row: formatting.number_cell(row[1].ratio),
    }
    return (Section("", tables=(SHORT.table("", columns, rows),), notes=(NO_LIMIT,)),)


def _guideline_sections(
    tables: Sequence[ImpactTable], pairs: str, report: Report, view: View
) -> Iterable[Section]:
    """Yield the sections of ``--preset eeoc``: how to read its tables, then four fifths and chance."""
    level = f"{100 * report.config.confidence:g} %"
    yield Section(
        TITLES["eeoc"],
        (
            "Each group is compared with the one that is selected most. A rate below four fifths (80 %) of "
            "that is taken for evidence of adverse impact, unless numbers are too small to be relied on; a "
            "smaller difference may count where it is significant. So there are two answers: below 4/5, and "
            "significant, by the test of a pair alone, as agencies and courts have it. Whoever tests many "
            f"pairs finds some so by chance: the verdict asks for both after Holm, adjusted for {pairs} of "
            "groups.",
            "Std. dev.: the difference of the rates in standard deviations; courts look for two or three. p: "
            f"two-sided. Brackets: the {level} interval of a ratio, taken alone. "
            "Shortfall: how many more of the group would be selected at the rate of both groups together. "
            "To reach 4/5: how many more it takes. "
            "One person: whether one more of the group, and one fewer of the other, turns the difference "
            "round.",
        ),
    )
    judged = {verdict.place: verdict for verdict in report.verdicts}
    for table in tables:
        answers = (_four_fifths_table(table, report), _distance_table(table))
        notes = _describe_left_out(table, report)
        if view.brief:  # no other section has its verdict
            yield judged_section(judged[table.place], report, answers, notes)
        else:
            yield Section(f"Four fifths: {_title(table, report)}", tables=answers, notes=notes)


def _title(table: ImpactTable, report: Report) -> str:
    if report.several:
        return f"{table.attribute} ({formatting.format_place(table.model, table.decision)})"
    return table.attribute


def _is_scored(table: ImpactTable) -> bool:
    return table.decision.startswith(ABOVE_MEDIAN)


def _describe_rate(tables: Sequence[ImpactTable]) -> str:
    ratio = "Impact ratio: that rate over the highest in the table."
    if not _is_scored(tables[0]):
        return f"Selection rate: the share of a category that is selected. {ratio}"
    decisions = "; ".join(
        dict.fromkeys(formatting.format_place(table.model, table.decision) for table in tables)
    )
    return (
        "Scoring rate: the share of a category with a score above the median of all rows, those of unknown "
        f"category among them; scores at the median are not above it. Here: {decisions}. {ratio}"
    )


def _describe_left_out(table: ImpactTable, report: Report) -> tuple[str, ...]:
    """Return who is not in a table, and which categories have no ratio."""
    n_known = sum(row.rows for row in table.rows)
    notes = [
        f"Not included, because the category is not known: {table.unknown} of {n_known + table.unknown}."
    ]
    unclear = [row.group for row in table.rows if GAP_WORDS & set(row.group.lower().split(CROSS))]
    if unclear:
        advice = "if that means that the category is not known, leave it out with --exclude"
        notes.append(f"Included as a category: {', '.join(map(format_value, unclear))}; {advice}.")
    small = sum(row.left_out for row in table.rows)
    if small:
        least = formatting.percent(report.config.min_share)
        subject = f"{small} with fewer than {least} of the {n_known} rows in the table"
        notes.append(f"Marked *: {subject}; not compared, and not taken for the highest.")
    return tuple(notes)


Columns = dict[str, Callable[[ImpactRow], TableCell]]


def _rate_columns(category: str, people: str, selected: str, rate: str) -> Columns:
    """Return the columns that all tables of rates have."""
    return {
        category: lambda row: formatting.group_cell(row.group, row.left_out),
        people: lambda row: TableCell(str(row.rows), "", row.rows),
        selected: lambda row: TableCell(str(row.selected), "", row.selected),
        rate: lambda row: _percent_cell(row.rate),
    }


def _percent_cell(rate: float) -> TableCell:
    return TableCell(formatting.DASH if math.isnan(rate) else f"{100 * rate:.1f} %", "", rate)


def _law_table(table: ImpactTable, title: str, view: View) -> TextTable:
    """Return the law's table."""
    heads = ("selected", "selection rate")
    if _is_scored(table):
        heads = ("above the median", "scoring rate")
    columns = _rate_columns("category", "applicants", heads[0], heads[1])
    columns["impact ratio"] = lambda row: formatting.number_cell(row.ratio)
    return view.table(title, columns, table.rows)


def _four_fifths_table(table: ImpactTable, report: Report) -> TextTable:
    """Return the table of the rule of four fifths and a test, next to each other."""
    alpha = report.config.alpha
    columns = _rate_columns("group", "applicants", "selected", "rate") | {
        "ratio": lambda row: TableCell(
            "highest" if row.highest else formatting.number(row.ratio), _limits_text(row), row.ratio
        ),
        "below 4/5": lambda row: _yes_cell(row.four_fifths.below if row.four_fifths else None),
        "significant": lambda row: _yes_cell(row.chance.p < alpha if row.chance else None),
        "after Holm": lambda row: _yes_cell(row.chance.p_holm < alpha if row.chance else None),
    }
    return table_of(f"Against {table.highest}" if table.highest else "", columns, table.rows)


def _distance_table(table: ImpactTable) -> TextTable:
    """Return by how much, and how surely, groups are below the highest."""

    def rule(row: ImpactRow) -> FourFifths:
        return row.four_fifths or FourFifths(below=False, to_reach=0, one_person=False, shortfall=math.nan)

    columns = _columns_of_tests("group") | {
        "shortfall": lambda row: TableCell(
            formatting.number(rule(row).shortfall, 1), "", rule(row).shortfall
        ),
        "to reach 4/5": lambda row: TableCell(str(rule(row).to_reach), "", rule(row).to_reach),
        "one person": lambda row: _yes_cell(rule(row).one_person),
    }
    return table_of("How far, and how surely", columns, _against_the_highest(table))


def _statistics_table(table: ImpactTable, title: str, view: View) -> TextTable:
    columns = _columns_of_tests("category")
    columns["impact ratio"] = lambda row: formatting.number_cell(row.ratio, _limits_text(row))
    return view.table(title, columns, _against_the_highest(table))


def _against_the_highest(table: ImpactTable) -> list[ImpactRow]:
    return [row for row in table.rows if row.chance is not None]


def _columns_of_tests(category: str) -> Columns:
    """Return the columns that all tables of tests have."""

    def z(row: ImpactRow) -> TableCell:
        value = (row.chance or UNTESTED).z
        return TableCell(formatting.number(value, 1), "", value)

    return {
        category: lambda row: formatting.group_cell(row.group, row.left_out),
        "std. dev.": z,
        "p": lambda row: formatting.p_cell((row.chance or UNTESTED).p),
        "p (Holm)": lambda row: formatting.p_cell((row.chance or UNTESTED).p_holm),
    }


def _yes_cell(value: bool | None) -> TableCell:
    if value is None:
        return TableCell(formatting.DASH)
    return TableCell("yes" if value else "no")


def _limits_text(row: ImpactRow) -> str:
    if row.chance:
        return formatting.interval(row.chance.ratio, 2)
    return ""


def impact_rows(tables: Sequence[ImpactTable], report: Report) -> Iterable[Row]:
    """Yield the impact ratio of every category, statistics, and what the rule of four fifths says."""
    for table in tables:
        for row in table.rows:
            chance = row.chance or UNTESTED
            rule = row.four_fifths
            cells: Row = {**formatting.flatten(table, "highest", "unknown", "family"), "category": row.group}
            cells |= {"rows": row.rows, "selected": row.selected, "rate": row.rate}
            cells |= {"impact_ratio": row.ratio, "highest": row.highest, "share": row.share}
            cells |= {"left_out": row.left_out, "unknown": table.unknown}
            cells |= {"ratio_low": chance.ratio.low, "ratio_high": chance.ratio.high}
            cells |= formatting.flatten(chance, "ratio")
            if report.config.preset == "eeoc":
                cells |= {
                    rule_field.name: getattr(rule, rule_field.name, None) for rule_field in fields(FourFifths)
                }
            yield cells


GUIDELINES = Part[tuple[()], tuple[ImpactTable, ...]](
    "impact",
    judge=compute_impact,
    found_type=tuple[ImpactTable, ...],
    tables={"impact": impact_rows},
    sections=impact_sections,
    short=short_impact,
    summary=summarise_impact,
)
