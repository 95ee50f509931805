"""What became of the differences of groups' numbers from one model to the next."""

import math
from collections.abc import Callable, Sequence

from fairbench_cli.audit.compare.number_changes import (
    LEAST_SHARE,
    NumberChange,
    NumberChanges,
    decide_changes,
    estimate_changes,
    is_nearer,
)
from fairbench_cli.audit.compare.report import ALL, Interval, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.changes import REASONS as OF_RATES
from fairbench_cli.audit.parts.changes import (
    describe_outcome,
    look_of,
    model_name,
    order_of,
    summarise_changes,
    summarise_counts,
    word_of,
)
from fairbench_cli.audit.parts.numbers import KEY as NUMBERS_KEY
from fairbench_cli.audit.parts.numbers import compared_by, format_interval, format_measure
from fairbench_cli.audit.parts.part import BY_ESTIMATE, SHORT, Part, View
from fairbench_cli.audit.scan.numbers import read_pairs
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.base.grouping import group_by, keep_together
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.measures.number_measures import NUMBER_MEASURES

KEY = "number_changes"
MOST_SENTENCES = 6  # unless all are asked for
REASONS = OF_RATES | {"no rows": "no rows, or no spread"}
PAIRED_MEASURES = ("mae", "mean")  # of everybody, in a sentence


def read_changes(scan: Scan) -> tuple[NumberChanges, ...]:
    """Return the changes of each attribute under each pair of models, by its rows."""
    config = compared_by(scan)
    return tuple(estimate_changes(pair, config) for pair in read_pairs(scan))


def describe_change(row: NumberChange, report: Report) -> str:
    """Return the sentence on a change: who is farther from whom, in what, by how much."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    label = NUMBER_MEASURES[row.metric].label
    moved = "widens"
    if is_nearer(row):
        moved = "narrows"
    if row.word == "hardly":
        moved = f"hardly {moved}"
    differences = [row.difference_before.value, row.difference_after.value]
    if row.moved:
        moved = "moves"
    else:
        differences = list(map(abs, differences))
    digits = _digits_after(row.after, report)
    before, after = (format_measure(row.metric, difference, digits) for difference in differences)
    change = format_measure(row.metric, row.difference_change.value, digits)
    limits = _limits_text(row.metric, row.difference_change, digits)
    return (
        f"From {row.before} to {model_name(row.after, report)} the gap in {label} between {group} and "
        f"{reference} ({row.attribute}) {moved} from {before} to {after}; the difference changes by "
        f"{change}{limits}: {word_of(row)}{'; nearer or farther is not shown' if row.moved else ''}."
    )


def _digits_after(model: str, report: Report) -> int:
    """Return the decimals in which the numbers of a model are written."""
    digits: int = next(numbers.digits for numbers in report.found[NUMBERS_KEY] if numbers.model == model)
    return digits


def _limits_text(metric: str, estimate: Interval, digits: int) -> str:
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    low = format_measure(metric, estimate.low, digits)
    return f" ({low} to {format_measure(metric, estimate.high, digits)})"


def _describe_all(changes: NumberChanges, before: str, after: str, digits: int) -> tuple[str, ...]:
    """Return how means of all rows changed, in a sentence."""
    of_all = {
        row.metric: row
        for row in changes.mean_changes
        if row.attribute == ALL and (row.before, row.after) == (before, after)
    }
    clauses = []
    for name in PAIRED_MEASURES:
        if name in of_all:
            row = of_all[name]
            before_text = format_measure(name, row.value_before, digits)
            after_text = format_measure(name, row.value_after, digits)
            change = f"a change of {format_measure(name, row.change.value, digits)}"
            change += _limits_text(name, row.change, digits)
            if row.change.value == 0 and math.isnan(row.change.low):
                change = "no row moved"
            clauses.append(f"{NUMBER_MEASURES[name].label} {before_text} → {after_text}, {change}")
    if clauses:
        return (f"All rows: {'; '.join(clauses)}.",)
    return ()


def describe_first(changes: NumberChanges, report: Report) -> str:
    """Return the sentence on the change that is worse, else better, most surely; empty where none is."""
    rows = [row for row in changes.changes if row.deciding and row.word in ("worse", "better")]
    if not rows:
        return ""
    return describe_change(min(rows, key=order_of), report)


def change_sections(changes: NumberChanges, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section for each pair of models."""
    pairs = dict.fromkeys((row.before, row.after) for row in changes.changes)
    if not pairs:
        return ()
    sections = [_pair_section(before, after, changes, report, view) for before, after in pairs]
    percent = f"{100 * report.config.confidence:g} %"
    notes = [
        "better: the difference of the group's mean from its reference's is nearer to 0 than before, by more "
        "than chance. worse: it is farther. moved: it is another one, and neither is shown.",
        f"change: the difference after less that before, with its {percent} interval, rows paired. p (Holm): "
        f"of no change, alone, and adjusted for {format_count(changes.family, 'comparison')}.",
        "hardly better, hardly worse: by more than chance, and the size of the difference by less than "
        f"{LEAST_SHARE:g} of the margin; counted as neither.",
    ]
    reasons = {row.reason for row in changes.changes}
    if "few" in reasons:
        notes.append("too few rows: those of the group, or of its reference, are worth fewer than 30.")
    if report.config.has_gate:
        notes.append(f"--fail and --fail-on go by {model_name(changes.changes[-1].after, report)}.")
    return (*sections, Section("In the tables of changes", notes=tuple(notes)))


def _pair_section(before: str, after: str, changes: NumberChanges, report: Report, view: View) -> Section:
    """Return the section of one pair."""
    rows = [row for row in changes.changes if (row.before, row.after) == (before, after)]
    deciding = [row for row in rows if row.deciding]
    digits = _digits_after(after, report)
    decided = sorted((row for row in deciding if row.word != "undecided" or row.moved), key=order_of)
    most = None if view.max_rows is None else MOST_SENTENCES
    sentences = [describe_change(row, report) for row in decided[:most]]
    n_more = len(decided) - len(sentences)
    if n_more:
        sentences.append(f"And {n_more} more: see the table.")
    tables = []
    for attribute, of_attribute in group_by(rows, lambda row: row.attribute).items():
        title = f"{attribute}: differences from {formatting.format_group(of_attribute[0].reference)}"
        tables.append(_table(title, of_attribute, digits, view))
    if not view.brief:
        tables.append(_means_table(before, after, changes, digits, view))
    title = f"From {model_name(before, report)} to {model_name(after, report)}: {describe_outcome(deciding)}"
    return Section(
        title,
        (summarise_counts(deciding), *sentences, *_describe_all(changes, before, after, digits)),
        tuple(tables),
    )


def _cell(metric: str, estimate: Interval, digits: int) -> TableCell:
    text = format_measure(metric, estimate.value, digits)
    return TableCell(text, format_interval(metric, estimate, digits), estimate.value)


def _number_cell(metric: str, value: float, digits: int) -> TableCell:
    return TableCell(format_measure(metric, value, digits), "", value)


def _word_cell(row: NumberChange) -> TableCell:
    return TableCell(word_of(row), "" if row.moved else REASONS[row.reason], verdict=look_of(row))


def _table(title: str, rows: Sequence[NumberChange], digits: int, view: View) -> TextTable:
    columns: dict[str, Callable[[NumberChange], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "measure": lambda row: TableCell(NUMBER_MEASURES[row.metric].label),
        "before": lambda row: _cell(row.metric, row.difference_before, digits),
        "after": lambda row: _cell(row.metric, row.difference_after, digits),
        "change": lambda row: _cell(row.metric, row.difference_change, digits),
        "p (Holm)": lambda row: formatting.both_p_cell(row.change_p, row.change_p_holm),
        "gap": _word_cell,
    }
    if view.brief:
        columns["before"] = lambda row: _number_cell(row.metric, row.difference_before.value, digits)
        columns["after"] = lambda row: _number_cell(row.metric, row.difference_after.value, digits)
    ordered = keep_together(sorted(rows, key=order_of), lambda row: row.group)
    return view.table(title, columns, ordered)


def _means_table(before: str, after: str, changes: NumberChanges, digits: int, view: View) -> TextTable:
    """Return how the means of everybody and of each group changed."""
    rows = [row for row in changes.mean_changes if (row.before, row.after) == (before, after)]
    return view.table(
        "Means of all rows and of each group",
        {
            "attribute": lambda row: TableCell(row.attribute),
            "group": lambda row: TableCell(row.group),
            "measure": lambda row: TableCell(NUMBER_MEASURES[row.metric].label),
            "before": lambda row: _number_cell(row.metric, row.value_before, digits),
            "after": lambda row: _number_cell(row.metric, row.value_after, digits),
            "change": lambda row: _cell(row.metric, row.change, digits),
            "p": lambda row: formatting.p_cell(row.p),
        },
        rows,
    )


def short_changes(changes: NumberChanges, report: Report) -> Sequence[Section]:
    """Return the gaps that became wider or narrower, and how errors of everybody changed."""
    sections = []
    for before, after in dict.fromkeys((row.before, row.after) for row in changes.changes):
        rows = [row for row in changes.changes if row.deciding and (row.before, row.after) == (before, after)]
        digits = _digits_after(after, report)
        title = f"From {model_name(before, report)} to {model_name(after, report)}, differences"
        overall = _describe_all(changes, before, after, digits)
        sections.append(Section(title, overall, (_short_table(rows, digits),)))
    return sections


def _short_table(rows: Sequence[NumberChange], digits: int) -> TextTable:
    columns: dict[str, Callable[[NumberChange], TableCell]] = {}
    if len({row.attribute for row in rows}) > 1:
        columns["attribute"] = lambda row: TableCell(row.attribute)
    columns |= {
        "group": lambda row: formatting.group_cell(row.group, small=False),
        "gap in": lambda row: TableCell(NUMBER_MEASURES[row.metric].label),
        "before": lambda row: _number_cell(row.metric, row.difference_before.value, digits),
        "after": lambda row: _number_cell(row.metric, row.difference_after.value, digits),
        "change": lambda row: _cell(row.metric, row.difference_change, digits),
        "gap": _word_cell,
    }
    ordered = keep_together(sorted(rows, key=order_of), lambda row: (row.attribute, row.group))
    return SHORT.table("", columns, ordered)


NUMBER_CHANGES = Part[Sequence[NumberChanges], NumberChanges](
    KEY,
    read=read_changes,
    read_by=BY_ESTIMATE,
    judge=lambda estimates, base: decide_changes(estimates, base.decided_by, base.config),
    found_type=NumberChanges,
    tables={
        "number_changes": lambda changes, _: map(formatting.flatten, changes.changes),
        "number_mean_changes": lambda changes, _: map(formatting.flatten, changes.mean_changes),
    },
    sections=change_sections,
    short=short_changes,
    data=lambda changes: vars(changes) if changes.changes else {},
    line=describe_first,
    summary=summarise_changes,
    changes=lambda changes: changes.changes,
)
