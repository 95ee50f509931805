"""The whole table of groups and classes as it is shown: how far shares differ, by attribute and class."""

import math
from collections.abc import Callable, Iterator, Sequence

from fairbench_cli.audit.compare.report import Report, WholeTable
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.findings import describe_verdict, differs
from fairbench_cli.audit.parts.part import SHORT, Part, Row, View
from fairbench_cli.audit.parts.rates import mark_of
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.charts import Axis, ChartRow, box, dot, row_chart, whisker
from fairbench_cli.document.model import VERDICTS, Chart, Section, TableCell

KEY = "classes"
HEIGHT = 18  # of the band in a chart
LEAST_AXIS = 0.2  # of w
MOST_NAMED = 6  # classes in a sentence


def describe_table(table: WholeTable, report: Report) -> str:
    """Return how far the shares of classes differ between groups, and the verdict, as a clause."""
    names = join_names([formatting.format_group(name) for name in table.classes], MOST_NAMED)
    shares = f"shares of {names}"
    if table.reason == "no rows":
        return f"{shares}; there are not two groups and two classes: {VERDICTS[table.verdict]}"
    w = formatting.number(table.w.value)
    low = formatting.number(table.w.low)
    high = formatting.number(table.w.high)
    limits = "" if math.isnan(table.w.low) else f" ({low} to {high})"
    clause = f"{shares} differ by Cohen's w {w}{limits}, Cramér's V {formatting.number(table.cramers_v)}"
    return f"{clause}{_describe_chance(table, report)}: {describe_verdict(table, report)}"


def describe_table_briefly(table: WholeTable) -> str:
    """Return how far the shares of classes differ between groups, in a few words."""
    w = formatting.number(table.w.value)
    return f"shares of {len(table.classes)} classes differ by {table.attribute} (Cohen's w {w})"


def _describe_chance(table: WholeTable, report: Report) -> str:
    """Return whether shares differ by more than chance, and by more than is allowed."""
    allowed = f"the {table.margin:g} allowed"
    if report.config.rule == "point":
        side = "more than" if table.verdict == "fail" else "within"
        return f", {side} {allowed}, chance not looked at"
    if table.reason == "clusters":
        names = " and ".join(report.config.cluster or ())
        return f", from too few values of {names} to test"
    chance = ", more than chance would do"
    if differs(table, report.config.confidence) != "shown":
        chance = f", which could be chance (p {formatting.p_value(table.p)})"
        if table.p < report.config.alpha:
            adjusted = formatting.p_value(table.p_holm)
            alone = formatting.p_value(table.p)
            chance = (
                f", which could be chance among {report.family:,} comparisons (p {adjusted}; alone {alone})"
            )
    if table.verdict == "fail":
        return f"{chance}, and more than {allowed}"
    if table.verdict == "pass":
        return f"{chance}, and within {allowed}"
    return f"{chance}; whether it is more than {allowed} is open"


def plot_table(table: WholeTable, report: Report) -> Chart:
    """Return Cohen's w of a table with its interval, on the band of what is allowed."""
    estimate = table.w
    ends = [value for value in (estimate.value, estimate.high, LEAST_AXIS) if math.isfinite(value)]
    axis = Axis(0.0, max(ends) * 1.05)
    look, symbol = mark_of(table, report)
    title = f"{table.attribute}: {describe_table_briefly(table)}"
    marks = [box("band", axis, 0.0, table.margin, HEIGHT, f"allowed: up to {table.margin:g}")]
    if math.isfinite(estimate.value):
        marks.append(whisker(axis, estimate.low, estimate.high, title))
        marks.append(dot(axis, estimate.value, look, title))
    text = formatting.with_interval(estimate)
    row = ChartRow(f"{symbol} Cohen's w".strip(), text, marks)
    key = f"0: the same shares in all groups; shaded: up to {table.margin:g}, allowed"
    return Chart(f"{table.attribute}: the whole table", row_chart(f"{title}. {text}", axis, [row], key))


def table_sections(tables: Sequence[WholeTable], report: Report, view: View) -> Iterator[Section]:
    """Yield the shares of classes by group."""
    for i, table in enumerate(tables, start=len(report.verdicts) - len(tables) + 1):
        columns: dict[str, Callable[[int], TableCell]] = {
            "group": lambda g, table=table: TableCell(table.groups[g]),  # type: ignore[misc]
            "rows": lambda g, table=table: formatting.count_cell(table.counts[g].sum()),  # type: ignore[misc]
        }
        for j, name in enumerate(table.classes):
            columns[name] = lambda g, j=j, table=table: _share_cell(table, g, j)  # type: ignore[misc]
        title = f"{table.attribute}: the whole table"
        model_name = formatting.format_place(table.model, "", report.config.slice_name)
        if model_name:
            title += f" ({model_name})"
        shown = view.table("Shares of classes by group", columns, range(len(table.groups)))
        sentence = describe_table(table, report)
        charts = () if view.brief else (plot_table(table, report),)
        yield Section(
            title,
            (f"{sentence[0].upper()}{sentence[1:]}.",),
            (shown,),
            _notes(table, report),
            table.verdict,
            charts=charts,
            anchor="" if view.brief else f"a{i}",
        )


def short_sections(tables: Sequence[WholeTable], report: Report) -> Iterator[Section]:
    """Yield how far the shares of all classes differ, by attribute."""
    if not tables:
        return
    columns: dict[str, Callable[[WholeTable], TableCell]] = {
        "attribute": lambda table: TableCell(
            table.attribute, formatting.format_place(table.model, "", report.config.slice_name)
        ),
        "Cramér's V": lambda table: formatting.number_cell(table.cramers_v),
        "Cohen's w": lambda table: TableCell(
            formatting.number(table.w.value),
            formatting.interval(table.w),
            table.w.value,
        ),
        "p (Holm)": lambda table: formatting.p_cell(table.p_holm),
        "verdict": lambda table: TableCell(describe_verdict(table, report), verdict=table.verdict),
    }
    title = "The whole table: do all groups have the same shares of all classes?"
    yield Section(title, tables=(SHORT.table("", columns, tables),), notes=_rule_notes(tables[0]))


def _share_cell(table: WholeTable, group: int, column: int) -> TableCell:
    total = float(table.counts[group].sum())
    if total == 0:
        return TableCell(formatting.DASH)
    share = float(table.counts[group, column]) / total
    return TableCell(formatting.percent(share), "", share)


def _notes(table: WholeTable, report: Report) -> tuple[str, ...]:
    p = formatting.p_value(table.p)
    test = f"χ² {formatting.number(table.statistic)} with {table.degrees} degrees of freedom, p {p}"
    if table.is_permuted:
        test += " by permutations, as few rows are expected somewhere"
    test += (
        f"; {formatting.p_value(table.p_holm)} by Holm over the {report.family:,} comparisons that decide."
    )
    return (test, *_rule_notes(table))


def _rule_notes(table: WholeTable) -> tuple[str, ...]:
    margin = f"{table.margin:g}"
    rule = (
        f"It passes where the upper limit of w is below {margin}, and fails where w is above {margin} and "
        "equal shares are rejected."
    )
    if table.deciding:
        return (rule,)
    return (rule, "It decides nothing here, as other metrics are named.")


def table_rows(tables: Sequence[WholeTable], _: Report) -> Iterator[Row]:
    """Yield each table's test; an interval takes three columns."""
    for table in tables:
        yield formatting.flatten(table, "classes", "groups", "counts", "group", "reference")


def table_data(tables: Sequence[WholeTable]) -> dict[str, object]:
    """Return the tables as JSON has them."""
    if not tables:
        return {}
    rows = [vars(table) | {"counts": table.counts.tolist()} for table in tables]
    return {KEY: rows}


WHOLE_TABLE_OF_CLASSES = Part[tuple[()], tuple[WholeTable, ...]](
    KEY,
    judge=lambda _seen, base: base.whole_tables,
    found_type=tuple[WholeTable, ...],
    tables={"classes": table_rows},
    sections=lambda tables, report, view: tuple(table_sections(tables, report, view)),
    short=lambda tables, report: tuple(short_sections(tables, report)),
    data=table_data,
)
