"""What became of each gap from one model, or slice of the rows, to the next: sentences, tables, pictures.

Rates and numbers are said alike.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from fairbench_cli.audit.compare import number_changes, rate_changes
from fairbench_cli.audit.compare.changes import Change, Changes, ValueChange, Word
from fairbench_cli.audit.compare.number_changes import LEAST_SHARE
from fairbench_cli.audit.compare.rate_changes import FEW_MOVED, FEW_OVER
from fairbench_cli.audit.compare.report import ALL, UNDEFINED, Interval, Report, shown_fields
from fairbench_cli.audit.config import DEFAULT
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import draw_allowed, format_allowed, gap_axis, has_margin, name_gaps
from fairbench_cli.audit.parts.numbers import KEY as NUMBERS_KEY
from fairbench_cli.audit.parts.numbers import compared_by, format_interval, format_measure
from fairbench_cli.audit.parts.part import BY_ESTIMATE, SHORT, Part, View
from fairbench_cli.audit.scan.numbers import read_pairs
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.slices import BeforeAfter
from fairbench_cli.base.grouping import group_by, keep_together
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.charts import ChartRow, arrow, dot, row_chart, whisker
from fairbench_cli.document.model import SYMBOLS, Chart, Section, TableCell, TextTable, Verdict
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.rates import RATES

MOST_SENTENCES = 6  # unless all are asked for
MOST_GROUPS = 20  # in a figure; the tables have all
DROP = 5.0  # what is before lies so much above the middle of its row, what is after below
LOOKS: dict[Word, Verdict] = {"better": "pass", "worse": "fail", "undecided": "undecided"}
WORDS = {"better": "better", "worse": "worse", "hardly": "hardly changed", "undecided": "not decided"}
REASONS = {
    "no rows": "a rate is 0 or has no rows",
    "few": "too few rows",
    "same": "nothing moved",
    "turned": "could be chance",
    "chance": "could be chance",
    "": "",
}
REASONS_OF_NUMBERS = REASONS | {"no rows": "no rows, or no spread"}
MOVED = "moved"
OVERALL = ("accuracy", "selection-rate", "mae", "mean")  # of all rows, in a sentence

Columns = dict[str, Callable[[Change], TableCell]]


def word_of(row: Change) -> str:
    """Return the word on a gap: "better", "hardly worse", "moved", "not decided"."""
    if row.moved:
        return MOVED
    if row.word != "hardly":
        return WORDS[row.word]
    return "hardly better" if row.is_nearer else "hardly worse"


def look_of(row: Change) -> Verdict | None:
    """Return the verdict that its cell is marked with."""
    return None if row.moved else LOOKS.get(row.word)


def order_of(row: Change) -> tuple[float, float]:
    """Return where a change stands: the worse first, then by p."""
    place = ("worse", "better", "hardly", "undecided").index(row.word) - 0.5 * row.moved
    return place, 2.0 if math.isnan(row.p) else row.p


def worst_groups_first(rows: Iterable[Change]) -> list[Change]:
    """Return changes by group, the group with the worst first."""
    return keep_together(sorted(rows, key=order_of), lambda row: (row.attribute, row.group))


def _decided(rows: Iterable[Change]) -> list[Change]:
    """Return those of which something is shown, worst first."""
    return sorted((row for row in rows if row.word != "undecided" or row.moved), key=order_of)


def _of_pair(changes: Changes, before: str, after: str) -> Changes:
    """Return the changes between two models or slices."""
    values = (row for row in changes.value_changes if (row.before, row.after) == (before, after))
    rows = (row for row in changes.changes if (row.before, row.after) == (before, after))
    return Changes(tuple(rows), tuple(values))


def _name_gaps(rows: Iterable[Change]) -> str:
    """Return the name of the numbers that are judged, in the plural."""
    return name_gaps(rows).replace("ratio", "ratios").replace("difference", "differences")


def _name_pair(before: str, after: str, report: Report) -> str:
    return f"From {model_name(before, report)} to {model_name(after, report)}"


# -- in words


def model_name(model: str, report: Report) -> str:
    """Name a model, or a slice: "model new.csv", "month 2"."""
    return f"{report.config.slice_name or 'model'} {model}"


def summarise_changes(changes: Changes, report: Report) -> str:
    """Return how many disparities became better or worse, in a sentence; empty where nothing is compared."""
    if not changes.pairs:
        return ""
    (before, after), sliced = changes.pairs[0], report.config.slice_name
    if len(changes.pairs) == 1:
        where = _name_pair(before, after, report)
    elif sliced:
        where = f"From one {sliced} to the next"
    else:
        where = f"Compared with {model_name(before, report)}"
    return f"{where}: {describe_outcome([row for row in changes.changes if row.deciding])}."


def describe_outcome(rows: Sequence[Change]) -> str:
    """Return how many changes are worse, better, and hardly any: "1 worse, 2 better"."""
    outcomes = Counter(MOVED if row.moved else WORDS[row.word] for row in rows)
    named = (WORDS["worse"], WORDS["better"], WORDS["hardly"], MOVED)
    return ", ".join(f"{outcomes[word]} {word}" for word in named if outcomes[word]) or "nothing decided"


def summarise_counts(rows: Sequence[Change]) -> str:
    """Return how many disparities became better, worse, or are not decided."""
    outcomes = Counter(MOVED if row.moved else row.word for row in rows)
    better, worse, hardly, still = (outcomes[word] for word in WORDS)
    verb = "are"
    if still == 1:
        verb = "is"
    if still == len(rows):
        return f"No disparity became larger or smaller by more than chance: {still} {verb} not decided."
    remaining_text = ""
    if hardly:
        remaining_text = f"; {hardly} hardly changed"
    if outcomes[MOVED]:
        remaining_text += f"; {outcomes[MOVED]} moved, and larger or smaller is not shown"
    if still:
        remaining_text += f"; {still} {verb} not decided"
    count_text = f"{len(rows)} {'disparity' if len(rows) == 1 else 'disparities'}"
    return f"Of {count_text} {worse} became larger and {better} smaller by more than chance{remaining_text}."


def _format_value(row: Change | ValueChange, value: float, report: Report) -> str:
    """Write a rate, or a mean in the decimals of the model after."""
    if not report.config.of_numbers:
        return formatting.number(value)
    return format_measure(row.metric, value, _digits_after(row, report))


def _digits_after(row: Change | ValueChange, report: Report) -> int:
    """Return the decimals in which the numbers of the model after are written."""
    slices = report.found[NUMBERS_KEY]
    return int(next(numbers.digits for numbers in slices if numbers.model == row.after))


def _label(metric: str) -> str:
    """Return the name of a rate or a measure in a sentence."""
    return RATES[metric].label if metric in RATES else NUMBER_MEASURES[metric].label


def _with_limits(change: Interval, write: Callable[[float], str], unit: str = "") -> str:
    """Return a change and its limits in brackets; of nothing that moved that."""
    text = f"{write(change.value)}{unit}"
    if not math.isnan(change.low):
        text += f", {write(change.low)} to {write(change.high)}"
    elif change.value == 0:
        text = "no row moved"
    return f"({text})"


def _describe_gaps(row: Change, report: Report) -> str:
    """Return a gap before and after: "ratio 0.50 → 0.90 (1.80 times, 1.50 to 2.10)"."""
    before, after, change = row.gaps
    if report.config.of_numbers:
        texts = [_format_value(row, gap.value, report) for gap in (before, after)]
        limits = _with_limits(change, lambda value: _format_value(row, value, report))
    elif has_margin(row.margin):
        margin = row.margin
        texts = [formatting.points(gap.value, margin) for gap in (before, after)]
        limits = f"points {_with_limits(change, lambda value: f'{100 * value:+.1f}')}"
    else:
        texts = [formatting.ratio(gap.value, row.tau or math.nan, 2) for gap in (before, after)]
        limits = _with_limits(change, lambda value: formatting.number(value, 2), " times")
    return f"{name_gaps([row])} {' → '.join(texts)} {limits}"


def _describe_change(row: Change, report: Report) -> str:
    """Return the sentence on a change: whose gap in what became smaller or larger, by how much."""
    group = formatting.format_group(row.group)
    reference = formatting.format_group(row.reference)
    verb = "narrows" if row.is_nearer else "widens"
    word = word_of(row)
    if row.word == "hardly":
        verb = f"hardly {verb}"
    elif row.moved:
        verb = "moves"
        word += "; nearer or farther is not shown"
    return (
        f"From {row.before} to {model_name(row.after, report)} the gap in {_label(row.metric)} between "
        f"{group} and {reference} ({row.attribute}) {verb}: {_describe_gaps(row, report)}: {word}."
    )


def describe_first(changes: Changes, report: Report) -> str:
    """Return the sentence on the change that is worse, else better, most surely; empty where none is."""
    rows = (row for row in changes.changes if row.deciding and row.word in ("worse", "better"))
    return next((_describe_change(row, report) for row in sorted(rows, key=order_of)), "")


def _describe_overall(changes: Changes, report: Report) -> tuple[str, ...]:
    """Return how the values of everybody changed, in a sentence."""
    row_by_metric = {row.metric: row for row in changes.value_changes if row.attribute == ALL}
    clauses = []
    for row in (row_by_metric[name] for name in OVERALL if name in row_by_metric):

        def write_change(value: float, row: ValueChange = row) -> str:
            return _format_value(row, value, report) if report.config.of_numbers else f"{value:+.3f}"

        texts = [_format_value(row, value, report) for value in (row.value_before, row.value_after)]
        clauses.append(f"{_label(row.metric)} {' → '.join(texts)} {_with_limits(row.change, write_change)}")
    if clauses:
        return (f"All rows: {'; '.join(clauses)}.",)
    return ()


def _describe_reason(row: Change, changes: Changes, report: Report) -> str:
    """Return why a change is not decided; of chance, whether it alone would be."""
    if row.moved:
        return ""
    among = ""
    if row.deciding and row.reason in ("chance", "turned"):
        among = formatting.among_text(row.change_p, changes.family, report.config.confidence)
    reasons = REASONS_OF_NUMBERS if report.config.of_numbers else REASONS
    return reasons[row.reason] + among


def _describe_hardly(report: Report) -> str:
    """Return the meaning of "hardly"."""
    by_metric = dict(report.config.least_change_by_metric)
    least = f"{by_metric.pop(DEFAULT):g}"
    others = [f"{name} {change:g}" for name, change in by_metric.items()]
    if others:
        least += f" ({', '.join(others)})"
    amount = f"measured distance of the two rates by less than {least} (--least-change)"
    if report.config.of_numbers:
        amount = f"size of the difference by less than {LEAST_SHARE:g} of the margin"
    return f"hardly better, hardly worse: by more than chance, and the {amount}; counted as neither."


def _describe_columns(changes: Changes, report: Report) -> Iterator[str]:
    """Yield the notes on the tables of changes."""
    closer = "the ratio is closer to 1"
    equally = " (0.5 and 2 are equally far)"
    change = "the ratio after over the ratio before"
    gaps = _name_gaps(changes.changes)
    if gaps == "differences":
        closer = "the difference is closer to 0"
        equally = ""
        change = "the difference after less that before"
    rows = "; the rows of two slices are independent" if report.config.sliced_by else ", rows paired"
    yield (
        f"better: {closer} than before{equally}, by more than chance. "
        "worse: it is farther away. moved: it is another one by more than chance, and neither is shown."
    )
    family = format_count(changes.family, "comparison")
    yield (
        f"change: {change}, with the {100 * report.config.confidence:g} % interval of this change alone"
        f"{rows}. p (Holm): of no change, alone, and adjusted for {family}; better and worse go by p of size."
    )
    reasons = {row.reason for row in changes.changes}
    few = f"fewer than {FEW_OVER} behind a rate, or fewer than {FEW_MOVED} counted differently"
    if report.config.of_numbers:
        few = "those of the group, or of its reference, are worth fewer than 30"
    if "few" in reasons:
        yield f"too few rows: {few}."
    if gaps == "ratios or differences":
        yield (
            "Of a rate with a margin better is: the difference is closer to 0 than before; and change is the "
            "difference after less that before."
        )
    if any(row.word == "hardly" for row in changes.changes):
        yield _describe_hardly(report)
    if "same" in reasons:
        yield "nothing moved: each row is counted as before."
    if report.config.has_gate:
        yield f"--fail and --fail-on go by {model_name(changes.changes[-1].after, report)}."


# -- sections and tables


def change_sections(changes: Changes, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section for each pair of models, or slices, that are compared; none where none are.

    A brief view has no columns that 80 characters have no room for, and no rates or means of groups.
    """
    is_sliced = bool(report.config.sliced_by)
    if not changes.pairs or (is_sliced and view.brief and view.max_rows is not None):
        return ()
    sections = []
    for before, after in changes.pairs:
        sections.append(replace(_pair_section(before, after, changes, report, view), folded=is_sliced))
    notes = tuple(_describe_columns(changes, report))
    return (*sections, Section("In the tables of changes", notes=notes))


def short_changes(changes: Changes, report: Report) -> Sequence[Section]:
    """Return the gaps that became better or worse, and how rates or means of everybody changed.

    Of slices the summary says it.
    """
    if report.config.sliced_by:
        return ()
    sections = []
    for before, after in changes.pairs:
        of_pair = _of_pair(changes, before, after)
        rows = [row for row in of_pair.changes if row.deciding]
        decided = worst_groups_first(_decided(rows))
        overall = _describe_overall(of_pair, report)
        title = _name_pair(before, after, report)
        if decided:
            columns = _columns(changes, report, SHORT)
            if len({row.attribute for row in decided}) == 1:
                del columns["attribute"]
            table = SHORT.table("", columns, decided)
            sections.append(Section(f"{title}, {_name_gaps(decided)}", overall, (table,)))
        else:
            sections.append(Section(title, (summarise_counts(rows), *overall)))
    return sections


def _pair_section(before: str, after: str, changes: Changes, report: Report, view: View) -> Section:
    """Return the section of one pair."""
    of_pair = _of_pair(changes, before, after)
    rows = [row for row in of_pair.changes if row.deciding]
    decided = _decided(rows)
    most = None if view.max_rows is None else MOST_SENTENCES
    sentences = [_describe_change(row, report) for row in decided[:most]]
    if len(decided) > len(sentences):
        sentences.append(f"And {len(decided) - len(sentences)} more: see the table.")
    columns = _columns(changes, report, view)
    del columns["attribute"]
    tables = []
    for attribute, of_attribute in group_by(rows, lambda row: row.attribute).items():
        gaps = _name_gaps(of_attribute)
        title = f"{attribute}: {gaps} {'to' if gaps == 'ratios' else 'from'} {_name_references(of_attribute)}"
        tables.append(view.table(title, columns, worst_groups_first(of_attribute)))
    if not view.brief:
        others = worst_groups_first(row for row in of_pair.changes if not row.deciding)
        if others:
            tables.append(view.table("Other metrics, which do not decide", columns, others))
        tables.append(_value_table(of_pair, report, view))
    return Section(
        f"{_name_pair(before, after, report)}: {describe_outcome(rows)}",
        (summarise_counts(rows), *sentences, *_describe_overall(of_pair, report)),
        tuple(tables),
        charts=() if report.config.of_numbers else tuple(_plot_rates(rows)),
    )


def _name_references(rows: Sequence[Change]) -> str:
    names = {formatting.format_group(row.reference) for row in rows}
    return names.pop() if len(names) == 1 else "the reference of each"


def _cell(row: Change | ValueChange, estimate: Interval, report: Report, digits: int = 3) -> TableCell:
    """Return a rate or a mean, or a difference of these, with its interval in small print."""
    if not report.config.of_numbers:
        return formatting.fine_cell(estimate, digits)
    fine = format_interval(row.metric, estimate, _digits_after(row, report))
    return TableCell(_format_value(row, estimate.value, report), fine, estimate.value)


def _bare_cell(row: Change | ValueChange, value: float, report: Report) -> TableCell:
    return TableCell(_format_value(row, value, report), "", value)


def _name_metric(row: Change | ValueChange) -> str:
    return row.metric if row.metric in RATES else NUMBER_MEASURES[row.metric].label


def _columns(changes: Changes, report: Report, view: View) -> Columns:
    """Return the columns of changes: fewer in a brief view, and fewest in a short answer."""

    def ratio(row: Change, estimate: Interval | None) -> TableCell:
        return formatting.ratio_cell(estimate or UNDEFINED, row.tau or math.nan)

    def outcome(row: Change) -> TableCell:
        word = word_of(row)
        reason = _describe_reason(row, changes, report)
        if reason and view is not SHORT:
            word = reason if view.brief else f"{word}: {reason}"
        return TableCell(word, verdict=look_of(row))

    columns: Columns = {
        "attribute": lambda row: TableCell(row.attribute),
        "group": lambda row: formatting.group_cell(row.group, small=False),
        "reference": lambda row: TableCell(row.reference),
        "metric": lambda row: TableCell(_name_metric(row)),
    }
    if view.brief:
        del columns["reference"]
        columns["before"] = lambda row: _bare_cell(row, row.gaps[0].value, report)
        columns["after"] = lambda row: _bare_cell(row, row.gaps[1].value, report)
        columns["change"] = lambda row: _cell(row, row.gaps[2], report, 2)
        if view is not SHORT:
            columns["p (Holm)"] = lambda row: formatting.both_p_cell(row.change_p, row.change_p_holm)
        return columns | {"disparity": outcome}
    if not report.config.of_numbers:
        columns["ratio before"] = lambda row: ratio(row, row.ratio_before)
        columns["ratio after"] = lambda row: ratio(row, row.ratio_after)
        columns["change (times)"] = lambda row: formatting.fine_cell(row.ratio_change or UNDEFINED)
    return columns | {
        "difference before": lambda row: _cell(row, row.difference_before, report),
        "difference after": lambda row: _cell(row, row.difference_after, report),
        "change": lambda row: _cell(row, row.difference_change, report),
        "p": lambda row: formatting.p_cell(row.change_p),
        "p (Holm)": lambda row: formatting.p_cell(row.change_p_holm),
        "p of size (Holm)": lambda row: formatting.p_cell(row.p_holm),
        "disparity": outcome,
    }


def _value_table(changes: Changes, report: Report, view: View) -> TextTable:
    """Return how the rates or means of everybody and of each group changed."""
    columns: dict[str, Callable[[ValueChange], TableCell]] = {
        "attribute": lambda row: TableCell(row.attribute),
        "group": lambda row: TableCell(row.group),
        "metric": lambda row: TableCell(_name_metric(row)),
        "before": lambda row: _bare_cell(row, row.value_before, report),
        "after": lambda row: _bare_cell(row, row.value_after, report),
        "change": lambda row: _cell(row, row.change, report),
        "p": lambda row: formatting.p_cell(row.p),
    }
    return view.table("All rows, and each group", columns, changes.value_changes)


def _plot_rates(rows: Sequence[Change]) -> Iterator[Chart]:
    """Yield a picture of each rate of each attribute."""
    ordered = sorted(rows, key=lambda row: (row.attribute, COMPARED.index(row.metric)))
    by_rate = group_by(ordered, lambda row: (row.attribute, row.metric))
    for (attribute, metric), rate_rows in by_rate.items():
        title = f"{attribute}: {RATES[metric].label}, {name_gaps(rate_rows[:1])} before and after"
        yield Chart(title, _plot_changes(rate_rows))


def _plot_changes(rows: Sequence[Change]) -> str:
    """Draw the changes of one rate: a ring before, a mark after, an arrow between them, intervals thin."""
    rows = rows[:MOST_GROUPS]
    tau = rows[0].tau or math.nan
    margin = rows[0].margin
    axis = gap_axis([row.gaps[0] for row in rows] + [row.gaps[1] for row in rows], tau, margin)
    drawn = []
    for row in rows:
        look = LOOKS.get(row.word, "undecided")
        word = word_of(row) if look_of(row) is None else SYMBOLS[look]
        if row.word in ("better", "worse"):
            word += f" {row.word}"
        before, after, _ = row.gaps
        moved = f"{formatting.number(before.value, 2)} → {formatting.number(after.value, 2)}"
        tooltip = f"{row.group}: {moved} {row.word}"
        marks = draw_allowed(axis, tau, margin, 18)
        if not (math.isnan(before.value) or math.isnan(after.value)):
            before_label = f"{row.group}, before: {formatting.number(before.value)}"
            after_label = f"{row.group}, after: {formatting.number(after.value)}"
            marks += [
                arrow(axis, before.value, after.value, look, tooltip, DROP),
                whisker(axis, before.low, before.high, tooltip, -DROP),
                whisker(axis, after.low, after.high, tooltip, DROP),
                dot(axis, before.value, "reference", before_label, -DROP),
                dot(axis, after.value, look, after_label, DROP),
            ]
        drawn.append(ChartRow(row.group, f"{moved} {word}", marks))
    title = "; ".join(f"{row.name} {row.value_text}" for row in drawn)
    allowed = "from τ to 1/τ"
    if has_margin(margin):
        allowed = f"{format_allowed(tau, margin)} either way"
    return row_chart(title, axis, drawn, f"ring: before; mark: after; shaded: {allowed}")


def _read_number_pairs(scan: Scan) -> tuple[Changes, ...]:
    """Return the changes of each attribute under each pair of models, by its rows."""
    config = compared_by(scan)
    return tuple(number_changes.estimate_changes(pair, config) for pair in read_pairs(scan))


def _shown(changes: Changes) -> dict[str, object]:
    return shown_fields(changes) if changes.changes else {}


CHANGES = Part[Sequence[BeforeAfter], Changes](
    "changes",
    read=rate_changes.read_pairs,
    judge=rate_changes.find_changes,
    found_type=Changes,
    tables={"changes": lambda changes, _: map(formatting.flatten, changes.changes)},
    sections=change_sections,
    short=short_changes,
    data=_shown,
    summary=summarise_changes,
    changes=lambda changes: changes.changes,
)
NUMBER_CHANGES = Part[Sequence[Changes], Changes](
    "number_changes",
    read=_read_number_pairs,
    read_by=BY_ESTIMATE,
    judge=lambda estimates, base: number_changes.find_changes(estimates, base.decided_by, base.config),
    found_type=Changes,
    tables={
        "number_changes": lambda changes, _: map(formatting.flatten, changes.changes),
        "number_mean_changes": lambda changes, _: map(formatting.flatten, changes.value_changes),
    },
    sections=change_sections,
    short=short_changes,
    line=describe_first,
    data=_shown,
    summary=summarise_changes,
    changes=lambda changes: changes.changes,
)
