"""An audit as a document: what it says in words, in tables, and in figures for a page."""

import math

from fairbench_cli.audit.judge.report import AttributeVerdict, Disparity, GroupRow, Report
from fairbench_cli.audit.show import law, layout
from fairbench_cli.audit.show.bars import UNTESTED, Bar, ratio_panel, value_panel
from fairbench_cli.audit.show.changes import change_sections
from fairbench_cli.audit.show.format import fraction, interval, number, ratio, symbols
from fairbench_cli.audit.show.layout import worst_first
from fairbench_cli.audit.show.sections import (
    group_legend,
    more_sections,
    notes_section,
    rate_legend,
    sections,
    verdict_legend,
)
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.document.charts import Look
from fairbench_cli.document.model import (
    VERDICTS,
    Answer,
    Chart,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    Verdict,
)
from fairbench_cli.measures.rates import RATES

MOST_BARS = 20  # groups in a figure; the tables have all


def audit_document(report: Report, *, everything: bool = True, brief: bool = False) -> Document:
    """Return an audit in words and tables."""
    return _document(report, sections(report, everything=everything, brief=brief), everything)


def audit_page(report: Report) -> Document:
    """Return an audit with its figures, too."""
    verdicts = () if report.without_verdict else report.verdicts
    metrics = dict.fromkeys(name for row in verdicts for name in row.by_metric)
    others = [name for name in metrics if name not in report.deciding]
    found = [] if report.without_verdict else [_summary(report), *law.guideline_sections(report)]
    found += change_sections(report)
    found += [_part(f"a{i}", row, report) for i, row in enumerate(verdicts, start=1)]
    if others:
        found.append(
            Section("Other metrics and roll-ups, which do not decide", tables=(_by_metric(report, others),))
        )
    if verdicts:
        found.append(Section("All rows", tables=(layout.group_table("All rows", report.overall),)))
    found += law.impact_sections(report) if report.without_verdict else ()
    found += [*more_sections(report), *notes_section(report)]
    return _document(report, (*found, *([_reading(report)] if verdicts else [])), everything=False)


def _document(report: Report, found: tuple[Section, ...], everything: bool) -> Document:
    said = headline(report)
    sentences, still = said.lines(everything=everything)
    gate = gate_words(report)
    answer = Answer(
        Statement(said.sentence, said.verdict),
        tuple(Statement(text, verdict) for verdict, text in sentences),
        tuple(still),
        Statement(gate, "fail" if report.gate.stops else None) if gate else None,
    )
    title = f"Audit of {layout.source_name(report)}"
    return Document(title, answer, (f"{layout.facts(report)}.",), found, tested=report.config.rule != "point")


def _summary(report: Report) -> Section:
    return Section(
        "Summary", tables=(_by_metric(report, report.deciding, decides=True),), notes=rate_legend(report)
    )


def _by_metric(report: Report, names: "tuple[str, ...] | list[str]", *, decides: bool = False) -> TextTable:
    """Return a table of verdicts, attributes down and metrics across."""
    rows = []
    for i, row in enumerate(report.verdicts, start=1):
        own = [TableCell(row.attribute, link=f"a{i}")]
        own += [TableCell(_where(row, report))] if report.several else []
        own += [_verdict(row.verdict)] if decides else []
        rows.append((*own, *(_verdict(row.by_metric.get(name)) for name in names)))
    heads = ["attribute", *["model, decision"] * report.several, *["verdict"] * decides]
    title = "Verdicts by attribute and rate" if decides else "Verdicts by attribute on what does not decide"
    labels = [RATES[name].label if decides else name for name in names]
    return TextTable(title, (*heads, *labels), tuple(rows))


def _verdict(verdict: Verdict | None) -> TableCell:
    return TableCell(VERDICTS[verdict], verdict=verdict) if verdict else TableCell("")


def _where(verdict: AttributeVerdict, report: Report) -> str:
    return layout.place(verdict.model, verdict.decision, report.config.sliced_by)


def _reading(report: Report) -> Section:
    """Return what a reader has to know."""
    config = report.config
    notes = (
        "Each rate of a group is divided by that of its reference group. Ratios from τ to 1/τ are allowed: "
        "the shaded band in the figures.",
        *verdict_legend(report),
        *group_legend(report),
        "An attribute fails if one of its groups does on one of the rates that decide, and passes if all "
        "pass. The first sentences are of the largest gap of each attribute: the ratio that is farthest from "
        "1 at least; first the attribute where that concerns most people.",
        "p (Holm): how often rates that are equal would give numbers like these, adjusted for "
        f"{report.family} comparisons. Brackets and thin lines are {100 * config.confidence:g} % intervals; "
        "805/1795 are the rows behind a rate. A difference is group − reference. * marks groups of fewer "
        f"than {config.min_group} rows.",
        "In the figures a diamond fails, a disc passes or is not decided, a ring is the reference"
        f"{'; hollow marks were not tested' if config.rule == 'point' else ''}; the dashed line is the "
        "reference's value. The axis of ratios is logarithmic: half and twice are equally far from 1.",
        "Which rates matter is a question of what a decision does to people: when it punishes, look at those "
        "who are wrongly selected (fdr, fpr); when it helps, at those who are missed (for, fnr).",
    )
    return Section("How to read it", notes=notes)


def look(verdict: Verdict, report: Report) -> Look:
    """Return how a verdict looks in a report."""
    return UNTESTED[verdict] if report.config.rule == "point" else verdict


def _part(anchor: str, verdict: AttributeVerdict, report: Report) -> Section:
    """Return an attribute under one model and decision."""
    rows, groups = layout.of_attribute(verdict, report)
    compared = layout.compared(verdict, report)
    others = [row for row in rows if row.metric not in report.deciding and not row.is_reference]
    name = f"{verdict.attribute}, {_where(verdict, report)}" if report.several else verdict.attribute
    tables = [*(law.guideline_tables(verdict, report) if report.impact else ())]
    tables += [
        layout.comparison_table(f"{name}: comparisons, worst first", compared, groups),
        layout.comparison_table(f"{name}: other metrics, which do not decide", others, groups),
        layout.group_table(f"{name}: groups", groups),
    ]
    panels = [
        _panel(metric, each, groups, report)
        for metric in report.deciding
        if (each := [row for row in rows if row.metric == metric])
    ]
    sentence = layout.failures(compared) if compared else "There is nothing to compare."
    within = [
        Section("Group metrics", charts=tuple(values for values, _ in panels)),
        Section("Disparities: ratio to the reference", charts=tuple(ratios for _, ratios in panels)),
    ]
    return Section(
        name,
        (sentence, *(law.guideline_notes(verdict, report) if report.impact else ())),
        verdict=verdict.verdict,
        sections=(
            *(within if panels else ()),
            Section("Tables", tables=tuple(table for table in tables if table.rows)),
        ),
        anchor=anchor,
    )


def _panel(metric: str, rows: list[Disparity], groups: list[GroupRow], report: Report) -> tuple[Chart, Chart]:
    """Return the two figures of one metric."""
    of_group = {row.group: row for row in groups}
    ordered = worst_first(rows)  # references come last, and are always shown
    shown = [row for i, row in enumerate(ordered) if i < MOST_BARS or row.is_reference]
    values, ratios = [], []
    for row in shown:
        own = of_group[row.group]
        name = row.group + ("*" if own.small else "")
        value = f"{number(row.value)} ({fraction(row.behind)})"
        of: Look = "reference" if row.is_reference else look(row.verdict, report)
        mark = "" if row.is_reference else symbols(report.config.rule)[row.verdict]
        values.append(Bar(name, value, own.metrics[metric], of, mark))
        ratios.append(Bar(name, _ratio_text(row), row.ratio, of, mark))
    references = {row.reference_value for row in shown if not math.isnan(row.reference_value)}
    line = references.pop() if len(references) == 1 else math.nan
    label = RATES[metric].label
    left_out = len(rows) - len(shown)
    said = [
        *([label] if label != metric else []),
        *([f"({left_out} more groups in the table)"] if left_out else []),
    ]
    return (
        Chart(metric, value_panel(f"{label} by group", values, line), " ".join(said)),
        Chart(metric, ratio_panel(f"{label}, ratio to the reference", ratios, rows[0].tau), " ".join(said)),
    )


def _ratio_text(row: Disparity) -> str:
    if row.is_reference:
        return "reference"
    if math.isnan(row.ratio.value):
        return "not decided" if row.verdict == "undecided" else "both 0"
    return f"{ratio(row.ratio.value, row.tau)} {interval(row.ratio, 2)}".strip()
