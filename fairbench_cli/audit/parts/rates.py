"""Rates of groups and their comparisons, as they are shown: each attribute under a model and a decision."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairbench_cli.audit.compare.report import (
    ALL,
    UNDEFINED,
    AttributeVerdict,
    Disparity,
    GroupRow,
    Interval,
    Place,
    Report,
    WholeTable,
)
from fairbench_cli.audit.config import EXCLUDING, MISSING
from fairbench_cli.audit.metrics import RIGHT, WHOLE_TABLE
from fairbench_cli.audit.parts import allowed, findings, formatting
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.scan.slices import ALL_CLASSES
from fairbench_cli.base.grouping import keep_together
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.charts import Axis, ChartRow, Look, box, dot, row_chart, rule, whisker
from fairbench_cli.document.model import (
    SYMBOLS,
    UNTESTED,
    VERDICT_VERBS,
    Chart,
    Section,
    TableCell,
    TextTable,
    Verdict,
    table_of,
)
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import RATES

LEAST_LOG = 1e-9  # of a τ: one of 1 allows nothing
MOST_BARS = 20  # groups in a figure; the tables have all
# How a verdict looks where chance was not looked at.
CELLS = ("tp", "fp", "fn", "tn"), ("pp", "pn"), ("right", "wrong")
"""The counts that a table of groups has: the first that there are."""
LOOKS: dict[Verdict, Look] = {"pass": "inside", "fail": "outside", "undecided": "undecided"}


def group_table_rows(_: None, report: Report) -> Iterable[Row]:
    """Yield counts and metrics of every group, the overall rows first; counts have no interval."""
    for row in report.overall + report.groups:
        key_cells = formatting.flatten(row)
        for name, value in row.counts.items():
            yield {**key_cells, "metric": name, **vars(UNDEFINED), "value": value}
        for name, estimate in row.metrics.items():
            yield {**key_cells, "metric": name, **vars(estimate)}


def disparity_rows(_: None, report: Report) -> Iterable[Row]:
    """Yield every comparison; an interval takes three columns."""
    if report.without_verdict:
        return ()
    return map(formatting.flatten, report.disparities)


def verdict_rows(_: None, report: Report) -> Iterable[Row]:
    """Yield the verdict of every attribute by metric and roll-up, then the one over all.

    ``deciding`` says whether the verdict on the attribute depends on it.
    """
    if report.without_verdict:
        return
    for row in report.verdicts:
        for metric, verdict in row.by_metric.items():
            decides = metric in report.deciding or metric in report.decided_by
            yield {
                **formatting.flatten(row, "verdict"),
                "metric": metric,
                "verdict": verdict,
                "deciding": decides,
            }
    over_all = {"model": "", "decision": "", "attribute": ALL, "metric": ALL, "verdict": report.verdict}
    yield over_all | {"deciding": True}


def rate_sections(_: None, report: Report, view: View) -> Sequence[Section]:
    """Return a section an attribute; one of metrics that do not decide, and one of everybody."""
    if not report.overall or report.without_verdict or (view.brief and report.config.preset in EXCLUDING):
        return ()  # other tables have what decides
    sliced = report.config.sliced_by is not None
    if sliced and view.brief and view.max_rows is not None:
        return ()  # all slices together are shown, and the verdict on each
    sections = attribute_sections(report, view, "a")
    if view.brief:
        return sections
    if sliced:
        sections = [replace(section, folded=True) for section in sections]
    metrics: dict[str, None] = {}
    for row in report.verdicts:
        metrics |= dict.fromkeys(row.by_metric)
    other_metrics = [name for name in metrics if name not in (*report.deciding, WHOLE_TABLE)]
    if other_metrics:
        title = "Is a gap too large? By attribute, of what does not decide"
        table = verdict_table(title, report, other_metrics, {name: name for name in other_metrics})
        title = "Other metrics and roll-ups, which do not decide"
        sections.append(Section(title, tables=(table,), folded=sliced))
    everybody = group_table("All rows", report.overall)
    return (*sections, Section("All rows", tables=(everybody,), folded=sliced))


def attribute_sections(report: Report, view: View, anchor: str) -> list[Section]:
    """Return a section an attribute; those of a page have an anchor, with their number."""
    if view.brief:
        of_rates = [row for row in report.verdicts if report.whole_table_at(row) is None]
        return [_brief_section(verdict, report, view) for verdict in of_rates]
    numbered = enumerate(report.verdicts, start=1)
    return [
        _full_section(f"{anchor}{i}", verdict, report)
        for i, verdict in numbered
        if report.whole_table_at(verdict) is None
    ]


def verdict_table(
    title: str,
    report: Report,
    names: Sequence[str],
    heads: dict[str, str],
    *,
    decides: bool = False,
    anchor: str = "a",
) -> TextTable:
    """Return a table of whether a gap is too large, attributes down and metrics across.

    Where these decide, the verdict over all of them comes first. An attribute links to its section, whose
    anchor has its number.
    """
    columns: dict[str, Callable[[tuple[int, AttributeVerdict]], TableCell]] = {
        "attribute": lambda line: TableCell(line[1].attribute, link=f"{anchor}{line[0]}")
    }
    if report.several:
        columns["model, decision"] = lambda line: TableCell(place_name(line[1], report))
    if decides:
        columns["verdict"] = lambda line: TableCell(
            attribute_verdict(line[1], report), verdict=line[1].verdict
        )
    columns |= {
        heads[name]: (lambda line, name=name: _gap_cell(line[1], name, report))  # type: ignore[misc]
        for name in names
    }
    lines = list(enumerate(report.verdicts, start=1))
    if not decides:
        lines = [(i, row) for i, row in lines if report.whole_table_at(row) is None]
    return table_of(title, columns, lines)


def attribute_verdict(row: AttributeVerdict, report: Report) -> str:
    """Return the verdict on an attribute: it fails clearly where one of its comparisons does."""
    return findings.format_verdict(
        row.verdict, clearly=findings.fails_clearly(comparisons_behind(row, report), report)
    )


def _gap_cell(attribute: AttributeVerdict, metric: str, report: Report) -> TableCell:
    """Return whether a gap of an attribute by a metric, or a roll-up of several, is too large."""
    verdict = attribute.by_metric.get(metric)
    if verdict is None:
        return TableCell("")
    rows, _ = rows_of_attribute(attribute, report)
    metric_rows = [row for row in rows if row.metric == metric and not row.is_reference]
    if findings.fails_clearly(metric_rows, report):
        return TableCell(findings.CLEARLY, verdict=verdict)
    return TableCell(findings.TOO_LARGE[verdict], verdict=verdict)


def place_name(place: Place, report: Report) -> str:
    """Name the model, or slice, and the decision of an attribute."""
    decision = "" if report.of_strata else place.decision  # the same in all slices
    return formatting.format_place(place.model, decision, report.config.slice_name)


def bracketed_place(place: Place, report: Report) -> str:
    """Name them in brackets after a blank, where there are several."""
    name = place_name(place, report)
    if report.several and name:
        return f" ({name})"
    return ""


def _brief_section(verdict: AttributeVerdict, report: Report, view: View) -> Section:
    """Return the comparisons of an attribute."""
    table = _brief_table(deciding_rows(verdict, report), rows_of_attribute(verdict, report)[1], report, view)
    return judged_section(verdict, report, (table,))


def judged_section(
    verdict: AttributeVerdict, report: Report, tables: tuple[TextTable, ...], notes: tuple[str, ...] = ()
) -> Section:
    """Return a section under the verdict on an attribute, with how many of its comparisons fail."""
    rows = deciding_rows(verdict, report)
    all_rows, _ = rows_of_attribute(verdict, report)
    references = list(dict.fromkeys(row.reference for row in all_rows if row.metric in report.deciding))
    against = ""
    if len(references) == 1:
        against = f", against {references[0]}"
    place_of_section = bracketed_place(verdict, report)
    title = f"{verdict.attribute}: {attribute_verdict(verdict, report)}{against}{place_of_section}"
    return Section(title, (summarise_failures(rows),) if rows else (), tables, notes, verdict.verdict)


def _full_section(anchor: str, verdict: AttributeVerdict, report: Report) -> Section:
    """Return the comparisons and the groups of an attribute, with figures."""
    rows, groups = rows_of_attribute(verdict, report)
    compared = deciding_rows(verdict, report)
    other_rows = [row for row in rows if row not in compared and not row.is_reference]
    if report.several:
        name = f"{verdict.attribute}, {place_name(verdict, report)}"
    else:
        name = verdict.attribute
    tables = (
        _comparison_table(f"{name}: comparisons, worst group first", compared, groups, report),
        _comparison_table(f"{name}: other metrics, which do not decide", other_rows, groups, report),
        group_table(f"{name}: groups", groups),
    )
    panels = []
    for metric in report.deciding:
        metric_rows = [row for row in rows if row.metric == metric]
        if metric_rows:
            panels.append(_plot_panel(metric, metric_rows, groups, report))
    sections = []
    if panels:
        sections = [
            Section("Group metrics", charts=tuple(values for values, _ in panels)),
            Section(
                f"Disparities: {allowed.describe_against(rows)}", charts=tuple(gaps for _, gaps in panels)
            ),
        ]
    sections.append(Section("Tables", tables=tuple(table for table in tables if table.rows)))
    sentence = "There is nothing to compare."
    if compared:
        sentence = summarise_failures(compared)
    return Section(name, (sentence,), verdict=verdict.verdict, sections=tuple(sections), anchor=anchor)


def _plot_panel(
    metric: str, rows: list[Disparity], groups: list[GroupRow], report: Report
) -> tuple[Chart, Chart]:
    """Return the two figures of one metric."""
    of_group = {row.group: row for row in groups}
    minor = minor_groups(groups)
    ordered = worst_first(rows, minor)  # references, which are always shown, and minor groups come last
    drawn_rows = [row for i, row in enumerate(ordered) if i < MOST_BARS or row.is_reference]
    values = []
    gaps = []
    for row in drawn_rows:
        group_row = of_group[row.group]
        name = row.group
        if group_row.small:
            name += "*"
        look, symbol = mark_of(row, report)
        value_text = f"{formatting.number(row.value)} ({formatting.fraction(row.behind)})"
        values.append(Bar(name, value_text, group_row.metrics[metric], look, symbol))
        gaps.append(Bar(name, _gap_with_interval(row), allowed.gap_of(row), look, symbol))
    references = {row.reference_value for row in drawn_rows if not math.isnan(row.reference_value)}
    if len(references) == 1:
        line = references.pop()
    else:
        line = math.nan
    label = RATES[metric].label
    left_out = len(rows) - len(drawn_rows)
    caption = ""
    if label != metric:
        caption = label
    if left_out:
        caption += f" ({left_out} more groups in the table)"
    against = allowed.describe_against(rows)
    return (
        Chart(metric, plot_values(f"{label} by group", values, line), caption.strip()),
        Chart(metric, plot_gaps(f"{label}, {against}", gaps, rows[0].tau, rows[0].margin), caption.strip()),
    )


def mark_of(row: Disparity | WholeTable, report: Report) -> tuple[Look, str]:
    """Return how a comparison looks in a figure, and the symbol of its verdict; a reference has none."""
    if isinstance(row, Disparity) and row.is_reference:
        return "reference", ""
    return mark_verdict(row.verdict, report)


def mark_verdict(verdict: Verdict | None, report: Report) -> tuple[Look, str]:
    """Return how a verdict looks in a figure, and its symbol; without one as a reference."""
    if verdict is None:
        return "reference", ""
    if report.config.rule == "point":
        return LOOKS[verdict], UNTESTED[verdict]
    return verdict, SYMBOLS[verdict]


@dataclass(frozen=True)
class Bar:
    """One group in a panel.

    Parameters
    ----------
    name, said : str
        The group; and what is written at its right end.
    known : Interval
        Value and interval.
    look : {"pass", "fail", "undecided", "outside", "inside", "reference"}
        Picks colour and mark; the reference, and what chance was not looked at for, is hollow.
    symbol : str
        Before the name.
    """

    name: str
    value_text: str
    estimate: Interval
    look: Look
    symbol: str = ""

    @property
    def title(self) -> str:
        """Group and value in words."""
        return f"{self.name}: {self.value_text}"


def plot_values(title: str, bars: Sequence[Bar], reference: float) -> str:
    """Draw values from 0 on, with a dashed line at the reference's."""
    axis = rate_axis([bar.estimate for bar in bars], [reference])
    rows = []
    for bar in bars:
        marks = [box("track", axis, axis.low, axis.high, 8, bar.title)]
        if math.isfinite(bar.estimate.value):
            marks.append(box(f"bar {bar.look}", axis, 0, bar.estimate.value, 8, bar.title))
            marks.append(whisker(axis, bar.estimate.low, bar.estimate.high, bar.title))
        if math.isfinite(reference):
            marks.append(rule("ref", axis, reference, 16, f"reference: {reference:.3f}", "3 2"))
        rows.append(ChartRow(f"{bar.symbol} {bar.name}".strip(), bar.value_text, marks))
    return row_chart(_describe_bars(title, bars), axis, rows)


def rate_axis(estimates: Iterable[Interval], references: Iterable[float], *, percent: bool = False) -> Axis:
    """Return an axis from 0 with room for rates, their intervals and those of references."""
    highest = 0.0
    for estimate in estimates:
        highest = max(
            [highest] + [value for value in (estimate.value, estimate.high) if math.isfinite(value)]
        )
    highest = max([highest] + [value for value in references if math.isfinite(value)])
    return Axis(0.0, _round_up(highest), percent=percent)


def plot_gaps(title: str, bars: Sequence[Bar], tau: float, margin: float | None) -> str:
    """Draw gaps from that of equal rates on, with the band of what is allowed."""
    axis = allowed.gap_axis([bar.estimate for bar in bars], tau, margin)
    rows = []
    for bar in bars:
        marks = allowed.draw_allowed(axis, tau, margin, 16)
        if not math.isnan(bar.estimate.value):
            marks.append(
                box(f"bar {bar.look}", axis, allowed.equal_gap(margin), bar.estimate.value, 8, bar.title)
            )
            marks.append(whisker(axis, bar.estimate.low, bar.estimate.high, bar.title))
            marks.append(dot(axis, bar.estimate.value, bar.look, bar.title))
        rows.append(ChartRow(f"{bar.symbol} {bar.name}".strip(), bar.value_text, marks))
    return row_chart(_describe_bars(title, bars), axis, rows)


def _describe_bars(title: str, bars: Sequence[Bar]) -> str:
    return f"{title}: {'; '.join(f'{bar.name} {bar.value_text}' for bar in bars)}"


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 6, 8 or 10 tenths of a power of ten.

    >>> _round_up(0.31), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))
    return float(f"{step * power:g}")


def _gap_with_interval(row: Disparity) -> str:
    if row.is_reference:
        return "reference"
    if math.isnan(allowed.gap_of(row).value):
        if row.verdict == "undecided":
            return "not decided"
        return "both 0"
    cell = allowed.gap_cell(row, 2)
    return f"{cell.text} {cell.fine}".strip()


def summarise_failures(rows: Sequence[Disparity | WholeTable]) -> str:
    """Return how many comparisons fail: "7 of 25 comparisons fail, 3 pass, 15 are not decided."."""
    if len(rows) == 1:
        return f"The only comparison {VERDICT_VERBS[rows[0].verdict][0]}."
    clauses = []
    ends: dict[Verdict, str] = {"fail": f" of {len(rows)} comparisons", "pass": "", "undecided": ""}
    for kind, of_all in ends.items():
        n = sum(row.verdict == kind for row in rows)
        if n or of_all:
            clauses.append(f"{n}{of_all} {VERDICT_VERBS[kind][n != 1]}")
    return ", ".join(clauses) + "."


def _gap_text(row: Disparity, report: Report) -> str:
    """Return whether a gap is too large, or why that is open: "clearly", "could be chance among 25"."""
    if row.is_reference:
        return "reference"
    return describe_reason(row, report) or findings.describe_gap(row, report)


def describe_reason(row: Disparity, report: Report) -> str:
    """Return why a comparison is not decided; of chance, whether it alone would be."""
    among = ""
    if row.deciding:
        among = formatting.among_text(row.p, report.family, report.config.confidence)
    why = formatting.describe_reason(row.reason, row.p_holm, report.config.confidence)
    if row.reason == "chance":
        return why + among
    return why


def rank(row: Disparity | WholeTable) -> int:
    """Return the rank of a row: clear failures, other failures, undecided, passes, references."""
    if isinstance(row, Disparity) and row.is_reference:
        return 4
    if row.verdict == "fail":
        if row.shown_outside:
            return 0
        return 1
    if row.verdict == "undecided":
        return 2
    return 3


def minor_groups(groups: Iterable[GroupRow]) -> frozenset[str]:
    """Return the groups that come last and lead nothing: small ones, and those of a missing value."""
    return frozenset(row.group for row in groups if row.small or MISSING in row.group.split(CROSS))


def describe_minor(groups: Iterable[str], report: Report) -> str:
    """Return the reason why groups are minor: "of fewer than 30 rows", "without a value", or either."""
    missing = [MISSING in group.split(CROSS) for group in groups]
    small_text = f"of fewer than {report.config.min_group:,} rows"
    missing_text = "without a value"
    if all(missing):
        return missing_text
    if any(missing):
        return f"{small_text} or {missing_text}"
    return small_text


def worst_first(rows: Iterable[Disparity], minor: Collection[str] = ()) -> list[Disparity]:
    """Sort by `rank`, then by how large the gap is, by the evidence at hand; `minor` groups last.

    A failure goes by the limit of the interval that is nearest to equal rates: how large the gap is at least.
    A pass goes by the other limit; what is not decided by its p-value, for a wild ratio of few rows says
    little. A ratio is as large as it is far from 1; with margins, as large as it is for what is allowed.
    """

    def key(row: Disparity) -> tuple[float, ...]:
        is_minor = not row.is_reference and row.group in minor
        gap = allowed.gap_of(row)
        low, high = (_size_of_gap(limit, row) for limit in (gap.low, gap.high))
        point = _size_of_gap(gap.value, row)
        if row.verdict == "undecided":
            return is_minor, rank(row), 2.0 if math.isnan(row.p) else row.p, -point
        surely = _size_of_gap(formatting.nearest_to(allowed.equal_gap(row.margin), gap), row)
        return is_minor, rank(row), -(surely if row.verdict == "fail" else max(low, high)), -point

    return sorted(rows, key=key)


def worst_groups_first(rows: Iterable[Disparity], minor: Collection[str] = ()) -> list[Disparity]:
    """Sort as `worst_first`, with all rows of a group where its worst is."""
    return keep_together(worst_first(rows, minor), lambda row: row.group)


def _size_of_gap(gap: float, row: Disparity) -> float:
    """Return how large a gap is, for an order; in an audit with margins by how much is allowed."""
    if row.margin is None:
        return abs(_log(gap))
    if not allowed.has_margin(row.margin):
        return abs(_log(gap)) / max(-math.log(row.tau), LEAST_LOG)
    if math.isnan(gap):
        return 0.0
    return abs(gap) / row.margin


def _log(value: float) -> float:
    """Return the logarithm; 0 where there is no number."""
    if math.isnan(value):
        return 0.0
    if value <= 0:
        return -math.inf
    if math.isinf(value):
        return math.inf
    return math.log(value)


def rows_of_attribute(place: Place, report: Report) -> tuple[list[Disparity], list[GroupRow]]:
    """Return the comparisons and the groups of an attribute under a model and a decision."""
    return report.by_audit.get(place.place, ([], []))  # a whole table is of all classes


def deciding_rows(place: Place, report: Report) -> list[Disparity]:
    """Return the comparisons that decide on an attribute under a model and a decision.

    Those of all classes together are given whether the verdict depends on them or not.
    """
    rows, _ = rows_of_attribute(place, report)
    may_decide = (RIGHT,) if place.decision == ALL_CLASSES else report.deciding
    return [row for row in rows if row.metric in may_decide and not row.is_reference]


def comparisons_behind(place: Place, report: Report) -> list[Disparity | WholeTable]:
    """Return the comparisons that decide on an attribute, or the whole table of its classes."""
    table = report.whole_table_at(place)
    if table is not None:
        return [table]
    return list(deciding_rows(place, report))


def _comparison_table(
    title: str, rows: Sequence[Disparity], groups: Sequence[GroupRow], report: Report
) -> TextTable:
    """Return comparisons with all their numbers, the worst group first; what does not decide has no sign."""
    small = {row.group for row in groups if row.small}
    minor = minor_groups(groups)

    def gap(row: Disparity) -> TableCell:
        decides = row.deciding or row.is_reference
        gap_text = _gap_text(row, report)
        if decides:
            return TableCell(gap_text, verdict=row.verdict)
        return TableCell(f"({gap_text})")

    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: formatting.group_cell(row.group, row.group in small, muted=row.group in minor),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: formatting.number_cell(row.value, formatting.fraction(row.behind)),
        "reference": lambda row: TableCell(row.reference),
        "reference value": lambda row: formatting.number_cell(
            row.reference_value, formatting.fraction(row.reference_behind)
        ),
        "ratio": lambda row: formatting.ratio_cell(row.ratio, row.tau),
        "difference": lambda row: formatting.fine_cell(row.difference),
        "p": formatting.clustered_p_cell,
        "p (Holm)": lambda row: formatting.p_cell(row.p_holm),
        findings.QUESTION: gap,
    }
    return table_of(title, columns, worst_groups_first(rows, minor))


def _brief_table(
    rows: Sequence[Disparity], groups: Sequence[GroupRow], report: Report, view: View
) -> TextTable:
    """Return comparisons as they fit 80 columns, the worst group first; a symbol says what is not decided."""
    of_group = {row.group: row for row in groups}
    minor = minor_groups(groups)
    ordered = worst_groups_first(rows, minor)
    several = len({row.reference for row in rows}) > 1

    def reference(row: Disparity) -> TableCell:
        return formatting.number_cell(
            row.reference_value, row.reference if several else formatting.fraction(row.reference_behind)
        )

    columns: dict[str, Callable[[Disparity], TableCell]] = {
        "group": lambda row: formatting.group_cell(
            row.group,
            of_group[row.group].small,
            format_count(of_group[row.group].rows, "row"),
            muted=row.group in minor,
        ),
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: formatting.number_cell(row.value, formatting.fraction(row.behind)),
        "reference": reference,
        allowed.name_gaps(rows): lambda row: allowed.gap_cell(row, 2),
        "p (Holm)": lambda row: formatting.both_p_cell(row.p, row.p_holm),
        findings.QUESTION: lambda row: TableCell(_gap_text(row, report), verdict=row.verdict),
    }
    shown_rows, remark = view.cut(ordered, count_verdicts)
    return table_of("", columns, shown_rows, remark if rows else "nothing to compare")


def count_verdicts(rows: Sequence[Disparity]) -> str:
    """Return how many comparisons pass, fail and are not decided: "2 pass, 11 not decided"."""
    verdict_texts = {"pass": "pass", "fail": "fail", "undecided": "not decided"}
    clauses = []
    for kind, verdict_text in verdict_texts.items():
        n = sum(row.verdict == kind for row in rows)
        if n:
            clauses.append(f"{n} {verdict_text}")
    return ", ".join(clauses)


def _cell(values: Mapping[str, Any], name: str, write: Callable[[Any], TableCell]) -> TableCell:
    """Return a value as a cell; an empty one where rows of all classes together have no such value."""
    return write(values[name]) if name in values else TableCell("")


def group_table(title: str, rows: Sequence[GroupRow]) -> TextTable:
    """Return counts and rates of groups; with model and decision when there are several."""
    cells = next(names for names in CELLS if names[0] in rows[0].counts)
    minor = minor_groups(rows)
    columns: dict[str, Callable[[GroupRow], TableCell]] = {
        "group": lambda row: formatting.group_cell(row.group, row.small, muted=row.group in minor)
    }
    if len({(row.model, row.decision) for row in rows}) > 1:
        columns["model, decision"] = lambda row: TableCell(formatting.format_place(row.model, row.decision))
    columns["rows"] = lambda row: formatting.count_cell(row.rows)
    columns |= {
        name: (lambda row, name=name: _cell(row.counts, name, formatting.count_cell))  # type: ignore[misc]
        for name in cells
    }
    columns |= {
        name: (lambda row, name=name: _cell(row.metrics, name, formatting.fine_cell))  # type: ignore[misc]
        for name in rows[0].metrics
    }
    return table_of(title, columns, sorted(rows, key=lambda row: row.group in minor))


RATES_OF_GROUPS = Part[tuple[()], None](
    "rates",
    judge=lambda _seen, _base: None,
    found_type=None,
    tables={"groups": group_table_rows, "disparities": disparity_rows, "verdicts": verdict_rows},
    sections=rate_sections,
    data=lambda _: {},
)
