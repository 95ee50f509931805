"""An audit as a document: what it says in words, what its parts show, and how that is to be read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePath

from fairbench_cli.audit.compare.family import NAMED_SHARE
from fairbench_cli.audit.compare.gate import describe_undecided, names_of_worse
from fairbench_cli.audit.compare.report import WHOLE_DECISION, Disparity, GroupRow, Pair, Report
from fairbench_cli.audit.config import find_verdict_names
from fairbench_cli.audit.metrics import ROLL_UPS, WHOLE_TABLE
from fairbench_cli.audit.parts import find_all_rows, formatting, parts_of, rates
from fairbench_cli.audit.parts.allowed import (
    allowed_rates,
    describe_gap_briefly,
    format_allowed,
    format_margin,
    has_margin,
    name_gaps,
)
from fairbench_cli.audit.parts.findings import QUESTION, describe_gap, differs
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.scan.roles import NO_LABELS
from fairbench_cli.audit.show.answer_model import Sentence
from fairbench_cli.audit.show.headline import headline, rate_meaning, spoken_verdict, without_choice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, format_path, format_percent, join_names
from fairbench_cli.document.charts import Axis, ChartRow, box, dot, row_chart, rule, whisker
from fairbench_cli.document.model import Answer, Chart, Document, Section, Statement
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.rates import EVENTS, RATES

NAME = 20  # characters of a reference's name below a chart
HEIGHT = 18  # of the band and of the reference's line in a row
ASKED = (NO_LABELS, formatting.MARKED)  # the beginnings of notes that are among what to ask next
SHOWN = 12  # rows of a table, unless all are asked for
MOST_NAMED = 6  # attributes named with their references
REFERENCES = {
    "given": "the groups given, or the largest",
    "majority": "the largest group",
    "minimum": "the group with the lowest value of each metric",
    "maximum": "the group with the highest value of each metric",
    "rest": "everybody else",
}


def audit_document(report: Report, *, everything: bool = True, brief: bool = False) -> Document:
    """Return an audit in words, tables and figures.

    Parameters
    ----------
    report : Report
        What was found.
    everything : bool
        Whether tables and the answer are shown whole; else `SHOWN` rows of each.
    brief : bool
        Whether to leave out the tables of groups, and columns that a narrow page has no room for.
    """
    view = View(None if everything else SHOWN, brief)
    return Document(
        report.config.title or f"Audit of {source_name(report)}",
        _answer(report, everything=everything),
        (f"{describe_audit(report)}.",),
        tuple(_sections(report, view)),
        tested=report.config.rule != "point",
    )


def audit_page(report: Report) -> Document:
    """Return all of an audit, under a short answer."""
    return replace(audit_document(report), answer=_answer(report, everything=False, charts=True))


def to_html(report: Report) -> str:
    """Return the page; the same audit gives the same bytes."""
    from fairbench_cli.document import html

    return html.html(audit_page(report))


def write_pdf(report: Report, path: Path) -> None:
    """Write the page as PDF."""
    from fairbench_cli.document import html

    html.write_pdf(audit_page(report), path)


def to_markdown(report: Report) -> str:
    """Return Markdown; the same audit gives the same bytes."""
    from fairbench_cli.document import markdown

    return markdown.markdown(audit_document(report))


def to_notebook(report: Report) -> str:
    """Return the answer, a chart, and the worst comparisons of every attribute; `to_html` has everything."""
    from fairbench_cli.document import notebook

    document = audit_document(report, everything=False, brief=True)
    return notebook.notebook(replace(document, answer=_answer(report, everything=False, charts=True)))


def attribute_charts(report: Report) -> dict[str, Chart]:
    """Return the chart of each attribute that the answer speaks of, in its order."""
    charts: dict[str, Chart] = {}
    for sentence in headline(report).sentences:
        charts.setdefault(sentence.attribute, _plot_sentence(sentence, report))
    return charts


def _answer(report: Report, *, everything: bool, charts: bool = False) -> Answer:
    answer = headline(report)
    gate = describe_gate(report)
    sentences, still = answer.lines(everything=everything)
    charts_of_sentences = []
    if charts:
        drawn = answer.sentences[: len(sentences)]
        charts_of_sentences = [_plot_sentence(sentence, report) for sentence in drawn]
    gate_statement = None
    if gate:
        gate_statement = Statement(gate, "fail" if report.gate.stops else None)
    statements = []
    for (verdict, text), chart in zip_longest(sentences, charts_of_sentences):
        statements.append(Statement(text, verdict, chart))
    if charts:
        lines = (audit_part.line(findings, report) for audit_part, findings in parts_of(report))
        statements += [Statement(line) for line in lines if line]
    audited = f"Audited: {source_name(report)}, {formatting.thousands(report.rows)} rows."
    detail = answer.detail
    if charts:
        detail = without_choice(detail, report)
    detail = f"{detail} {audited}".lstrip()
    headline_statement = Statement(answer.message, spoken_verdict(answer, report), detail=detail)
    return Answer(headline_statement, tuple(statements), tuple(still), gate_statement)


def _plot_sentence(sentence: Sentence, report: Report) -> Chart:
    """Return the chart of a sentence: of slices over these, else by group."""
    if sentence.metric in NUMBER_MEASURES:
        from fairbench_cli.audit.parts.numbers import plot_numbers
        from fairbench_cli.audit.show.number_headline import judged_slices

        part = next(part for part in judged_slices(report) if part.place == sentence.place)
        return plot_numbers(part, report)
    all_slices = find_all_rows(report)
    if all_slices:
        return all_slices.plot(sentence, sentence.metric)
    table = report.whole_table_at(sentence)
    if table is not None:
        from fairbench_cli.audit.parts.whole_table import plot_table

        return plot_table(table, report)
    return plot_rate(sentence, report)


def _sections(report: Report, view: View) -> Iterator[Section]:
    """Yield a summary, what the parts show, what a reader should know of the data, and how to read it."""
    if view.max_rows is None:
        from fairbench_cli.audit.show.next_questions import ask_next

        if questions := ask_next(report):
            yield Section("What to ask next", notes=questions)
    has_verdicts = bool(report.verdicts and report.overall) and not report.without_verdict
    if has_verdicts and not view.brief and not report.config.sliced_by:
        heads = {name: RATES[name].label for name in report.deciding}
        table = rates.verdict_table(
            "Is a gap too large? By attribute and rate", report, report.deciding, heads, decides=True
        )
        yield Section("Summary", tables=(table,), notes=rate_legend(report))
    for part, findings in parts_of(report):
        sections = part.sections(findings, report, view)
        yield from sections
        if part is rates.RATES_OF_GROUPS and sections and has_verdicts and view.brief:
            notes = (*rate_legend(report), *verdict_legend(report), _describe_numbers(report))
            yield Section("In these tables", notes=notes)
    asked = ASKED if view.max_rows is None else ()
    if notes := tuple(note for note in report.notes if not note.startswith(asked)):
        yield Section("Notes", notes=notes)
    if has_verdicts and not view.brief:
        yield _reading_section(report)


def describe_gate(report: Report) -> str:
    """Return the sentences on what the gate does, and why; empty where there is none."""
    clauses = []
    if report.config.has_gate:
        clauses.append(f"Gate: {_describe_stop(report)}.")
    if report.config.warning_metrics:
        warns = f"warns: {report.gate.warning}" if report.gate.warning else "does not warn"
        clauses.append(f"Gate: {warns}.")
    return " ".join(clauses)


def _describe_stop(report: Report) -> str:
    """Return whether the gate stops; in brackets what is accepted, and what it lets pass undecided."""
    config = report.config
    gate = report.gate
    remarks = []
    if gate.accepted and report.baseline:
        verb = "is" if gate.accepted == 1 else "are"
        accepted = format_count(gate.accepted, "failing comparison")
        remarks.append(f"{accepted} {verb} accepted by {report.baseline.file}")
    changed = names_of_worse(report)
    text = f"stops, exit code 1: {gate.reason}"
    if not gate.stops:
        if gate.undecided:
            remarks.append(f"{describe_undecided(gate.undecided)}; --fail-on undecided would stop")
        text = "does not stop"
        # Where what fails is not what the gate looks at.
        names = find_verdict_names(config.failing_metrics)
        if report.verdict == "fail" and names and not (config.fail or gate.accepted or gate.undecided):
            verb = "does" if len(names) == 1 else "do"
            text += f": {', '.join(names)} {verb} not fail"
        if changed:
            text += f": nothing is called worse in {join_names(changed, MOST_NAMED)}"
    elif changed and not report.baseline:
        remarks.append(
            "to stop only for what fails and has grown: audit the former with -o accepted/, then use "
            "--fail --baseline accepted/ci.json"
        )
    return f"{text} ({'; '.join(remarks)})" if remarks else text


def source_name(report: Report) -> str:
    """Name the file without its folders."""
    if report.source == "-":
        return "standard input"
    return format_path(PurePath(report.source).name)


def describe_audit(report: Report) -> str:
    """Return in a line what was audited and how, after the name of the file."""
    n_rows = formatting.thousands(report.rows)
    weighted = ""
    if report.weighted:
        weighted = ", weighted"
    names = (_rate_label(name) for name in report.decided_by)
    decided_by = ""
    if not report.without_verdict:
        decided_by = f"decided by {', '.join(names)}; "
    rows = f"{source_name(report)}: {n_rows} rows{weighted}"
    if report.config.adjusted:
        intervals = f"{format_level(report)} intervals, of all comparisons together"
    else:
        intervals = f"{format_level(report)} intervals, each of one comparison alone"
    return f"{rows}; {describe_references(report)}; {decided_by}{intervals}"


def format_level(report: Report) -> str:
    """Return the level of intervals: "95 %"."""
    return f"{100 * report.config.confidence:g} %"


def describe_references(report: Report) -> str:
    """Return whom groups are compared with: "race against Caucasian, sex against Male (largest)"."""
    config = report.config
    compared: tuple[Pair, ...] = report.disparities + report.judged_numbers
    by_attribute = group_by(compared, lambda row: row.attribute)
    if not by_attribute:
        return "nobody to compare"
    if config.ref_method in ("minimum", "maximum", "rest") or len(by_attribute) > MOST_NAMED:
        if len(by_attribute) <= MOST_NAMED:
            who = ", ".join(by_attribute)
        else:
            who = f"{len(by_attribute)} attributes"
        return f"{who} against {REFERENCES[config.ref_method]}"
    clauses = []
    for attribute, rows in by_attribute.items():
        has_named_reference = attribute in config.references or set(attribute.split(CROSS)) <= set(
            config.references
        )
        names = " or ".join(map(formatting.format_group, dict.fromkeys(row.reference for row in rows)))
        clause = f"{attribute} against {names}"
        if not has_named_reference:
            clause += " (largest)"
        clauses.append(clause)
    return ", ".join(clauses)


def rate_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the rates that decide."""
    meanings = [_legend(name) for name in report.deciding]
    meanings += [
        f"{name}: {', '.join(ROLL_UPS[name])} together." for name in report.decided_by if name in ROLL_UPS
    ]
    labelled = any(RATES[name].needs_labels for name in report.deciding)
    should = ""
    if labelled:
        should = f"; who should be selected: {report.ones.label or 'label is 1'}"
    return (*meanings, f"selected: {report.ones.selected or 'decision is 1'}{should}.")


def _legend(name: str) -> str:
    """Return a rate with its label, where that is another word, and what it means."""
    label = RATES[name].label
    synonym = ""
    if label.replace(" ", "-") != name:
        synonym = f", {label}"
    return f"{name}{synonym}: {rate_meaning(name)}."


def group_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the columns of the tables of groups that `rate_legend` does not say."""
    row = report.overall[0]
    meanings = ["pp, pn: rows selected, and not selected."]
    if "tp" in row.counts:
        meanings = [
            "tp, fp: rows selected rightly and wrongly (true and false positives); fn, tn: rows not selected "
            "wrongly and rightly (false and true negatives)."
        ]
    meanings += [_legend(name) for name in row.metrics if name in EVENTS and name not in report.deciding]
    if "base-rate" in row.metrics:
        meanings.append("base-rate: the share of the group with a label of 1.")
    if "group-share" in row.metrics:
        meanings.append("group-share: the share of the group among all rows.")
    return tuple(meanings)


def verdict_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the verdicts in this report, those that occur."""
    rows: list[Disparity] = []
    for verdict in report.verdicts:
        rows += rates.deciding_rows(verdict, report)
    limit_open = formatting.LIMIT_OPEN
    wide = formatting.REASONS["wide"]
    verdicts = {row.verdict for row in rows}
    reasons = {row.reason for row in rows}
    reasons_text = {rates.describe_reason(row, report) for row in rows}
    if report.config.rule == "point":
        gap = name_gaps(rows)
        return (f"A verdict is of the measured {gap} alone: chance was not looked at (--rule point).",)
    explanations = {
        "fails (yes): the measured gap is larger than allowed, and the rates differ by more than chance; "
        "clearly: the true gap, too, is shown to be larger than allowed.": "fail" in verdicts,
        "passes (no): every value that fits the data lies within the limits.": "pass" in verdicts,
        "could be chance: the measured gap is larger than allowed, and equal rates would give such numbers "
        "often enough.": "chance" in reasons,
        f"could be chance among {report.family:,}: taken alone the rates differ, as the interval shows; of "
        "so many comparisons some look so by chance.": any(" among " in text for text in reasons_text),
        f"{limit_open}: the rates differ by more than chance, and the measured gap is small enough; the true "
        "one may be larger than allowed.": limit_open in reasons_text,
        f"{wide}: the measured gap is small enough, and a larger one fits, too.": wide in reasons_text,
        "too few rows: weights leave too few to test.": "few" in reasons,
        f"{formatting.REASONS['months']}: each may move the gap by itself, and more of them, not more rows, "
        "tell that from a gap that lasts.": "months" in reasons,
        f"{formatting.REASONS['clusters']}: in the group or in its reference fewer than two values of "
        f"{' or '.join(report.config.cluster or ())} have rows, or selected rows, or others.": "clusters"
        in reasons,
    }
    return tuple(text for text, occurs in explanations.items() if occurs)


def _describe_numbers(report: Report) -> str:
    """Return the note on what intervals and p-values belong to."""
    decides = ""
    if report.config.rule != "point":
        decides = f", by which it fails{_describe_family(report)}"
    if report.config.adjusted:
        brackets = (
            f"the {format_level(report)} interval, widened so that all of them hold together (Bonferroni); "
            "a difference may be shown where the widened interval just holds none"
        )
    else:
        brackets = f"the {format_level(report)} interval of this comparison alone"
    return (
        f"Square brackets: {brackets}. p: how often rates that are equal would give numbers like these; "
        f"p (Holm): adjusted for {format_count(report.family, 'comparison')}{decides}."
    )


def _describe_family(report: Report) -> str:
    """Return how the comparisons share the level; empty where they are all alike."""
    if not report.n_named:
        return ""
    level = 100 * report.config.alpha
    return (
        f": {level:.3g} % for all of them together, of which {level * NAMED_SHARE:.3g} for the "
        f"{report.n_named:,} that the gate names"
    )


def _describe_what_is_compared(report: Report) -> Iterator[str]:
    """Yield what is made of two rates, and what is allowed of it."""
    rows = [row for row in report.disparities if not row.is_reference]
    if name_gaps(rows) != "difference":
        yield (
            "Each rate of a group is divided by that of its reference group. Ratios from τ to 1/τ are "
            "allowed: the shaded band in the figures."
        )
    texts: dict[str, None] = {}
    for row in rows:
        if has_margin(row.margin):
            texts[f"{RATES[row.metric].label} {format_margin(row.margin)}"] = None
    if not texts:
        return
    yield (
        "Where there is a margin, the rate of the reference group is taken from that of a group, and "
        f"differences up to the margin are allowed, either way: {'; '.join(texts)}. A point is a hundredth: "
        "from 20 % to 25 % are 5 points."
    )


def _describe_largest(report: Report) -> str:
    """Return which gap is the largest."""
    if report.config.margin:
        return "that which is farthest from equal rates at least, by how much is allowed"
    return "the ratio that is farthest from 1 at least"


def _reading_section(report: Report) -> Section:
    """Return the section of what a reader has to know."""
    config = report.config
    behind = next((row.behind for row in report.disparities if row.deciding), None)
    example = f"{formatting.fraction(behind)} are the rows behind a rate. " if behind else ""
    notes = (
        *_describe_what_is_compared(report),
        *verdict_legend(report),
        *group_legend(report),
        "An attribute fails if one of its groups does on one of the rates that decide, and passes if all "
        "pass. The first sentences are of the largest gap of each attribute: "
        f"{_describe_largest(report)}; first the attribute where that concerns most people.",
        _describe_numbers(report),
        f"{example}A difference is group − reference. Thin lines are intervals. "
        f"* marks groups of fewer than {config.min_group} rows.",
        "In the figures a diamond fails, a disc passes or is not decided, a ring is the reference"
        f"{'; hollow marks were not tested' if config.rule == 'point' else ''}; the dashed line is the "
        "reference's value. The axis of ratios is logarithmic: half and twice are equally far from 1.",
    )
    return Section("How to read it", notes=notes)


def plot_rate(sentence: Sentence, report: Report) -> Chart:
    """Return the rate that a sentence is about, by group: worst first, then the reference and minor groups.

    Groups on which nothing is shown are folded behind their count.
    """
    rows, groups = rates.rows_of_attribute(sentence, report)
    minor = rates.minor_groups(groups)
    of_group = {row.group: row for row in groups}
    metric_rows = rates.worst_first([row for row in rows if row.metric == sentence.metric], minor)
    open_rows = [
        row
        for row in metric_rows
        if not (row.is_reference or row.group == sentence.group) and _is_open(row, report)
    ]
    drawn_rows = [row for row in metric_rows if row not in open_rows]
    place = rates.bracketed_place(sentence, report)
    title = f"{sentence.attribute}{place}: {rate_meaning(sentence.metric)}"
    folded: tuple[Chart, ...] = ()
    if open_rows:
        names = join_names([formatting.format_group(row.group) for row in open_rows])
        head = f"{format_count(len(open_rows), 'group')} not decided: {names}"
        folded = (Chart(head, _plot_rates(f"{title}: {head}", open_rows, of_group, minor, report)),)
    n_more = len(drawn_rows) - rates.MOST_BARS
    caption = ""
    if n_more > 0:
        caption = f"and {format_count(n_more, 'more group')} in the table"
    return Chart(title, _plot_rates(title, drawn_rows, of_group, minor, report), caption, folded=folded)


def _is_open(row: Disparity, report: Report) -> bool:
    """Return whether neither a difference nor a verdict is shown."""
    return row.verdict == "undecided" and differs(row, report.config.confidence) != "shown"


def _plot_rates(
    title: str,
    rows: Sequence[Disparity],
    of_group: dict[str, GroupRow],
    minor: frozenset[str],
    report: Report,
) -> str:
    """Return the picture of some groups."""
    most_extreme = rows[: rates.MOST_BARS - 1]
    drawn_rows = rows
    if len(rows) > rates.MOST_BARS:
        drawn_rows = [row for row in rows if row in most_extreme or row.is_reference]
    estimates = (of_group[row.group].metrics[row.metric] for row in drawn_rows)
    axis = rates.rate_axis(estimates, (row.reference_value for row in drawn_rows), percent=True)
    chart_rows = [
        _chart_row(axis, row, of_group[row.group], report, muted=row.group in minor) for row in drawn_rows
    ]
    rates_text = "; ".join(f"{row.name}: {row.value_text}" for row in chart_rows)
    references = {(row.reference, row.reference_value) for row in rows}
    reference = "the reference's rate"
    if len(references) == 1:
        ((name, value),) = references
        reference = f"{name if len(name) <= NAME else 'reference'} {format_percent(value)}"
    allowed = f"{format_allowed(rows[0].tau, rows[0].margin)}"
    if has_margin(rows[0].margin):
        allowed += " either way"
    else:
        allowed += " times"
    key = f"line: {reference}; shaded: {allowed}, allowed"
    return row_chart(f"{title}. {rates_text}", axis, chart_rows, key)


def _chart_row(axis: Axis, row: Disparity, group_row: GroupRow, report: Report, *, muted: bool) -> ChartRow:
    """Return a group: the band that its reference allows, its rate with the interval, and both in words."""
    estimate = group_row.metrics[row.metric]
    rate = format_percent(row.value)
    rate_text = f"{rate}, reference"
    look, symbol = rates.mark_of(row, report)
    if not row.is_reference:
        rate_text = ", ".join(filter(None, (rate, describe_gap_briefly(row))))
    ends = f", {format_percent(estimate.low)} to {format_percent(estimate.high)}"
    title = f"{row.group}: {RATES[row.metric].label} {rate} ({formatting.fraction(row.behind)}){ends}"
    if not row.is_reference:
        title += f"; {QUESTION} {describe_gap(row, report)}"
    marks = []
    reference = row.reference_value
    if math.isfinite(reference) and not row.is_reference:
        low, high = allowed_rates(row)
        limits_text = f"allowed: {format_percent(low)} to {format_percent(high)}"
        marks.append(box("band", axis, low, high, HEIGHT, limits_text))
        marks.append(rule("ref", axis, reference, HEIGHT, f"{row.reference}: {format_percent(reference)}"))
    if math.isfinite(row.value):
        marks.append(whisker(axis, estimate.low, estimate.high, title))
        marks.append(dot(axis, row.value, look, title))
    name = f"{symbol} {row.group}".strip()
    if group_row.small:
        name += "*"
    return ChartRow(name, rate_text, marks, muted)


def _rate_label(name: str) -> str:
    """Return the label of a rate, or of a measure of numbers; roll-ups have none but their names."""
    if name in RATES:
        return RATES[name].label
    if name in NUMBER_MEASURES:
        return NUMBER_MEASURES[name].label
    if name == WHOLE_TABLE:
        return WHOLE_DECISION
    return name
