"""An audit as a document: what it says in words, what its parts show, and how that is to be read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePath

from fairbench_cli.audit.compare.report import Disparity, GroupRow, Report
from fairbench_cli.audit.config import UNDECIDED, WORSE
from fairbench_cli.audit.metrics import ROLL_UPS
from fairbench_cli.audit.parts import parts_of, rates, whole_of, writing
from fairbench_cli.audit.parts.findings import allowed, differs, verdict_words
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.show.headline import Sentence, headline, meaning
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, format_path, format_percent, join_names
from fairbench_cli.document import html, markdown, notebook
from fairbench_cli.document.charts import Axis, ChartRow, Look, box, dot, row_chart, rule, whisker
from fairbench_cli.document.model import SYMBOLS, UNTESTED, Answer, Chart, Document, Section, Statement
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import EVENTS, RATES

NAME = 20  # characters of a reference's name below a chart
HEIGHT = 18  # of the band and of the reference's line in a row
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
    return Document(
        report.config.title or f"Audit of {source_name(report)}",
        _answer(report, everything=everything),
        (f"{facts(report)}.",),
        tuple(_sections(report, View(None if everything else SHOWN, brief))),
        tested=report.config.rule != "point",
    )


def audit_page(report: Report) -> Document:
    """Return all of an audit, under a short answer."""
    return replace(audit_document(report), answer=_answer(report, everything=False, charts=True))


def to_html(report: Report) -> str:
    """Return the page; the same audit gives the same bytes."""
    return html.html(audit_page(report))


def write_pdf(report: Report, path: Path) -> None:
    """Write the page as PDF."""
    html.write_pdf(audit_page(report), path)


def to_markdown(report: Report) -> str:
    """Return Markdown; the same audit gives the same bytes."""
    return markdown.markdown(audit_document(report))


def to_notebook(report: Report) -> str:
    """Return the answer, a chart, and the worst comparisons of every attribute; `to_html` has everything."""
    document = audit_document(report, everything=False, brief=True)
    return notebook.notebook(replace(document, answer=_answer(report, everything=False, charts=True)))


def charts_of(report: Report) -> dict[str, Chart]:
    """Return the chart of each attribute that the answer speaks of, in its order."""
    charts: dict[str, Chart] = {}
    for one in headline(report).sentences:
        charts.setdefault(one.attribute, _chart(one, report))
    return charts


def _answer(report: Report, *, everything: bool, charts: bool = False) -> Answer:
    said = headline(report)
    gate = gate_words(report)
    sentences, still = said.lines(everything=everything)
    drawn = [_chart(one, report) for one in said.sentences[: len(sentences)]] if charts else []
    return Answer(
        Statement(said.sentence, said.verdict),
        tuple(Statement(text, verdict, chart) for (verdict, text), chart in zip_longest(sentences, drawn)),
        tuple(still),
        Statement(gate, "fail" if report.gate.stops else None) if gate else None,
    )


def _chart(said: Sentence, report: Report) -> Chart:
    """Return the chart of a sentence: of slices over these, else by group."""
    whole = whole_of(report)
    if whole:
        return whole.drawn(said, said.metric)
    return rate_chart(said, report)


def _sections(report: Report, view: View) -> Iterator[Section]:
    """Yield a summary, what the parts show, what a reader should know of the data, and how to read it."""
    judged = bool(report.verdicts) and not report.without_verdict
    if judged and not view.brief and not report.config.sliced_by:
        heads = {name: RATES[name].label for name in report.deciding}
        table = rates.verdict_table(
            "Verdicts by attribute and rate", report, report.deciding, heads, decides=True
        )
        yield Section("Summary", tables=(table,), notes=rate_legend(report))
    for part, found in parts_of(report):
        sections = part.sections(found, report, view)
        yield from sections
        if part is rates.RATES_OF_GROUPS and sections and judged and view.brief:
            notes = (*rate_legend(report), *verdict_legend(report), _of_numbers(report))
            yield Section("In these tables", notes=notes)
    if report.notes:
        yield Section("Notes", notes=report.notes)
    if judged and not view.brief:
        yield _reading(report)


def gate_words(report: Report) -> str:
    """Return the sentence on what the gate does, and why; empty where there is none."""
    if not (report.config.fail or report.config.failing_metrics):
        return ""
    if report.gate.stops:
        return f"Gate: stops, exit code 1: {report.gate.reason}."
    asked = report.config.failing_metrics
    if report.verdict != "fail" or report.config.fail or {UNDECIDED, WORSE} & {*asked}:
        return "Gate: does not stop."
    return f"Gate: does not stop: {', '.join(asked)} {'does' if len(asked) == 1 else 'do'} not fail."


def source_name(report: Report) -> str:
    """Name the file without its folders."""
    if report.source == "-":
        return "standard input"
    return format_path(PurePath(report.source).name)


def facts(report: Report) -> str:
    """Return in a line what was audited and how, after the name of the file."""
    many = writing.thousands(report.rows)
    if report.weighted:
        weighted = ", weighted"
    else:
        weighted = ""
    names = (RATES[name].label if name in RATES else name for name in report.decided_by)
    if report.without_verdict:
        by = ""
    else:
        by = f"decided by {', '.join(names)}; "
    rows = f"{source_name(report)}: {many} rows{weighted}"
    return f"{rows}; {against(report)}; {by}{level(report)} intervals, each of one comparison alone"


def level(report: Report) -> str:
    """Return the level of intervals: "95 %"."""
    return f"{100 * report.config.confidence:g} %"


def against(report: Report) -> str:
    """Return whom groups are compared with: "race against Caucasian, sex against Male (largest)"."""
    config = report.config
    found = group_by(report.disparities, lambda row: row.attribute)
    if not found:
        return "nobody to compare"
    if config.ref_method in ("minimum", "maximum", "rest") or len(found) > MOST_NAMED:
        if len(found) <= MOST_NAMED:
            who = ", ".join(found)
        else:
            who = f"{len(found)} attributes"
        return f"{who} against {REFERENCES[config.ref_method]}"
    parts = []
    for attribute, rows in found.items():
        given = attribute in config.references or set(attribute.split(CROSS)) <= set(config.references)
        names = " or ".join(map(writing.named, dict.fromkeys(row.reference for row in rows)))
        parts.append(f"{attribute} against {names}{'' if given else ' (largest)'}")
    return ", ".join(parts)


def rate_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the rates that decide."""
    found = [_legend(name) for name in report.deciding]
    found += [
        f"{name}: {', '.join(ROLL_UPS[name])} together." for name in report.decided_by if name in ROLL_UPS
    ]
    labelled = any(RATES[name].needs_labels for name in report.deciding)
    values = " or ".join(("1", *report.config.favourable))
    if labelled:
        should = f"; who should be selected: a label of {values}"
    else:
        should = ""
    return (*found, f"selected: a decision of {values}{should}.")


def _legend(name: str) -> str:
    """Return a rate with its label, where that is another word, and what it means."""
    label = RATES[name].label
    if label.replace(" ", "-") == name:
        more = ""
    else:
        more = f", {label}"
    return f"{name}{more}: {meaning(name)}."


def group_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the columns of the tables of groups that `rate_legend` does not say."""
    row = report.overall[0]
    found = ["pp, pn: rows selected, and not selected."]
    if "tp" in row.counts:
        found = [
            "tp, fp: rows selected rightly and wrongly (true and false positives); fn, tn: rows not selected "
            "wrongly and rightly (false and true negatives)."
        ]
    found += [_legend(name) for name in row.metrics if name in EVENTS and name not in report.deciding]
    if "base-rate" in row.metrics:
        found.append("base-rate: the share of the group with a label of 1.")
    if "group-share" in row.metrics:
        found.append("group-share: the share of the group among all rows.")
    return tuple(found)


def verdict_legend(report: Report) -> tuple[str, ...]:
    """Return the meanings of the verdicts in this report, those that occur."""
    rows = [row for verdict in report.verdicts for row in rates.decisive(verdict, report)]
    limit_open = writing.LIMIT_OPEN
    wide = writing.REASONS["wide"]
    reasons = {row.reason for row in rows}
    words = {rates.reason_words(row, report) for row in rows}
    outside = (
        "shown outside: beyond chance the rates do not only differ, their ratio is outside the limits, too."
    )
    if report.config.rule == "point":
        alone = "A verdict is of the measured ratio alone: chance was not looked at (--rule point)."
        if any(row.shown_outside for row in rows):
            return (alone, outside)
        return (alone,)
    found = {
        "fails: the rates differ by more than chance, and the measured gap is larger than allowed; the true "
        "one may not be.": any(row.verdict == "fail" for row in rows),
        outside: any(row.shown_outside for row in rows),
        "passes: every value that fits the data lies within the limits.": any(
            row.verdict == "pass" for row in rows
        ),
        "could be chance: the measured gap is larger than allowed, and equal rates would give such numbers "
        "often enough.": "chance" in reasons,
        f"could be chance among {report.family:,}: taken alone the rates differ, as the interval shows; of "
        "so many comparisons some look so by chance.": any(" among " in text for text in words),
        f"{limit_open}: the rates differ by more than chance, and the measured gap is small enough; whether "
        "the true one is larger than allowed is open.": limit_open in words,
        f"{wide}: the measured gap is small enough, and a larger one fits, too.": wide in words,
        "too few rows: weights leave too few to test.": "few" in reasons,
    }
    return tuple(text for text, occurs in found.items() if occurs)


def _of_numbers(report: Report) -> str:
    """Return the note on what intervals and p-values belong to."""
    if report.config.rule == "point":
        decides = ""
    else:
        decides = ", by which it fails"
    return (
        f"Square brackets: the {level(report)} interval of this comparison alone. p: how often rates that "
        "are equal would give numbers like these; p (Holm): adjusted for "
        f"{format_count(report.family, 'comparison')}{decides}."
    )


def _reading(report: Report) -> Section:
    """Return the section of what a reader has to know."""
    config = report.config
    notes = (
        "Each rate of a group is divided by that of its reference group. Ratios from τ to 1/τ are allowed: "
        "the shaded band in the figures.",
        *verdict_legend(report),
        *group_legend(report),
        "An attribute fails if one of its groups does on one of the rates that decide, and passes if all "
        "pass. The first sentences are of the largest gap of each attribute: the ratio that is farthest from "
        "1 at least; first the attribute where that concerns most people.",
        _of_numbers(report),
        "805/1,795 are the rows behind a rate. A difference is group − reference. Thin lines are intervals. "
        f"* marks groups of fewer than {config.min_group} rows.",
        "In the figures a diamond fails, a disc passes or is not decided, a ring is the reference"
        f"{'; hollow marks were not tested' if config.rule == 'point' else ''}; the dashed line is the "
        "reference's value. The axis of ratios is logarithmic: half and twice are equally far from 1.",
        "Which rates matter is a question of what a decision does to people: when it punishes, look at those "
        "who are wrongly selected (fdr, fpr); when it helps, at those who are missed (for, fnr).",
    )
    return Section("How to read it", notes=notes)


def rate_chart(said: Sentence, report: Report) -> Chart:
    """Return the rate that a sentence is about, by group: worst first, then the reference and minor groups.

    Groups on which nothing is shown are folded behind their count.
    """
    rows, groups = rates.of_attribute(said, report)
    minor = rates.minor_groups(groups)
    of_group = {row.group: row for row in groups}
    own = rates.worst_first([row for row in rows if row.metric == said.metric], minor)
    still = [
        row for row in own if not (row.is_reference or row.group == said.group) and _is_open(row, report)
    ]
    shown = [row for row in own if row not in still]
    title = f"{said.attribute}: {meaning(said.metric)}"
    folded: tuple[Chart, ...] = ()
    if still:
        names = join_names([writing.named(row.group) for row in still])
        head = f"{format_count(len(still), 'group')} not decided: {names}"
        folded = (Chart(head, _drawn(f"{title}: {head}", still, of_group, minor, report)),)
    more = len(shown) - rates.MOST_BARS
    if more > 0:
        caption = f"and {format_count(more, 'more group')} in the table"
    else:
        caption = ""
    return Chart(title, _drawn(title, shown, of_group, minor, report), caption, folded=folded)


def _is_open(row: Disparity, report: Report) -> bool:
    """Return whether neither a difference nor a verdict is shown."""
    return row.verdict == "undecided" and differs(row, report.config.confidence) != "shown"


def _drawn(
    title: str,
    rows: Sequence[Disparity],
    of_group: dict[str, GroupRow],
    minor: frozenset[str],
    report: Report,
) -> str:
    """Return the picture of some groups."""
    first = rows[: rates.MOST_BARS - 1]
    kept = [row for row in rows if row in first or row.is_reference] if len(rows) > rates.MOST_BARS else rows
    known = (of_group[row.group].metrics[row.metric] for row in kept)
    axis = rates.rate_axis(known, (row.reference_value for row in kept), percent=True)
    drawn = [_row(axis, row, of_group[row.group], report, muted=row.group in minor) for row in kept]
    words = "; ".join(f"{row.name}: {row.value_text}" for row in drawn)
    references = {(row.reference, row.reference_value) for row in rows}
    reference = "the reference's rate"
    if len(references) == 1:
        ((name, value),) = references
        reference = f"{name if len(name) <= NAME else 'reference'} {format_percent(value)}"
    key = f"line: {reference}; shaded: {allowed(rows[0].tau)} times, allowed"
    return row_chart(f"{title}. {words}", axis, drawn, key)


def _row(axis: Axis, row: Disparity, own: GroupRow, report: Report, *, muted: bool) -> ChartRow:
    """Return a group: the band that its reference allows, its rate with the interval, and both in words."""
    known = own.metrics[row.metric]
    untested = report.config.rule == "point"
    rate = format_percent(row.value)
    if row.is_reference:
        said = f"{rate}, reference"
    else:
        said = _beside(rate, row)
    look: Look = "reference" if row.is_reference else rates.LOOKS[row.verdict] if untested else row.verdict
    if row.is_reference:
        symbol = ""
    else:
        symbol = (UNTESTED if untested else SYMBOLS)[row.verdict]
    ends = f", {format_percent(known.low)} to {format_percent(known.high)}"
    title = f"{row.group}: {RATES[row.metric].label} {rate} ({writing.fraction(row.behind)}){ends}"
    if row.is_reference:
        title += ""
    else:
        title += f"; {verdict_words(row)}"
    marks = []
    reference = row.reference_value
    if math.isfinite(reference) and not row.is_reference:
        low = row.tau * reference
        high = min(1.0, reference / row.tau)
        words = f"allowed: {format_percent(low)} to {format_percent(high)}"
        marks.append(box("band", axis, low, high, HEIGHT, words))
        marks.append(rule("ref", axis, reference, HEIGHT, f"{row.reference}: {format_percent(reference)}"))
    if math.isfinite(row.value):
        marks.append(whisker(axis, known.low, known.high, title))
        marks.append(dot(axis, row.value, look, title))
    name = f"{symbol} {row.group}{'*' if own.small else ''}".strip()
    return ChartRow(name, said, marks, muted)


def _beside(rate: str, row: Disparity) -> str:
    """Return a rate with its ratio: "42.3 %, 1.92 times"."""
    times = writing.ratio(row.ratio.value, row.tau, 2)
    if math.isnan(row.ratio.value):
        return rate
    return f"{rate}, {times} times"
