"""What became of each disparity from one model, or slice of the rows, to the next, as it is shown."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from fairbench_cli.audit.compare.report import ALL, Report
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.parts.bars import band
from fairbench_cli.audit.parts.changes.judge import (
    FEW_MOVED,
    FEW_OVER,
    Change,
    Changes,
    RateChange,
    Word,
    find_changes,
    worse,
)
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.parts.writing import (
    counted_words,
    fine_cell,
    flat,
    group_cell,
    named,
    number,
    number_cell,
    p_cell,
    ratio,
    ratio_cell,
)
from fairbench_cli.audit.scan.pairs import read_sides
from fairbench_cli.audit.scan.tally import BeforeAfter
from fairbench_cli.document.charts import ChartRow, arrow, dot, ratio_axis, row_chart, rule, whisker
from fairbench_cli.document.model import SYMBOLS, Chart, Section, TableCell, TextTable, Verdict, table_of
from fairbench_cli.measures.rates import RATES

MOST_SENTENCES = 6  # unless all are asked for
MOST_GROUPS = 20  # in a figure; the tables have all
DROP = 5.0  # what is before lies so much above the middle of its row, what is after below
WORDS: dict[Word, str] = {"better": "better", "worse": "worse", "undecided": "not decided"}
LOOKS: dict[Word, Verdict] = {"better": "pass", "worse": "fail", "undecided": "undecided"}
REASONS = {
    "no rows": "a rate is 0 or has no rows",
    "few": "too few rows",
    "same": "nothing moved",
    "turned": "turned around",
    "chance": "could be chance",
    "": "",
}
OVERALL = ("accuracy", "selection-rate")  # of all rows, in a sentence


def change_sections(found: Changes, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section for each pair of models, or slices, that are compared; none where none are.

    A brief view has no columns that 80 characters have no room for, and no rates of groups.
    """
    pairs = dict.fromkeys((row.before, row.after) for row in found.changes)
    sections = [_pair(before, after, found, report, view) for before, after in pairs]
    if not sections:
        return ()
    family = sum(row.deciding for row in found.changes)
    percent = f"{100 * report.config.confidence:g} %"
    notes = [
        "better: the ratio is closer to 1 than before (0.5 and 2 are equally far), by more than chance. "
        f"worse: it is farther away. p-values are adjusted for {counted_words(family, 'comparison')} (Holm).",
        f"change: the ratio after over the ratio before, with its {percent} interval"
        + (", rows paired." if not report.config.sliced_by else "; the rows of two slices are independent."),
        f"too few rows: fewer than {FEW_OVER} behind a rate, or fewer than {FEW_MOVED} counted differently. "
        "turned around: the ratio was on the other side of 1, and about as far.",
    ]
    if any(row.reason == "same" for row in found.changes):
        notes.append("nothing moved: each row is counted as before.")
    if report.config.fail or report.config.failing_metrics:
        notes.append(f"--fail and --fail-on go by {_called(found.changes[-1].after, report)}.")
    return (*sections, Section("In the tables of changes", notes=tuple(notes)))


def _pair(before: str, after: str, found: Changes, report: Report, view: View) -> Section:
    """Return the section of one pair."""
    every = [row for row in found.changes if (row.before, row.after) == (before, after)]
    rows, others = [row for row in every if row.deciding], [row for row in every if not row.deciding]
    rates = [row for row in found.rate_changes if (row.before, row.after) == (before, after)]
    decided = _worst_first([row for row in rows if row.word != "undecided"])
    said = [_sentence(row, report) for row in decided[: None if view.shown is None else MOST_SENTENCES]]
    more = len(decided) - len(said)
    if more:
        said.append(f"And {more} more: see the table.")
    overall = [row for row in rates if row.attribute == ALL]
    tables: list[TextTable] = []
    for attribute, own in groupby(rows, key=lambda row: row.attribute):
        ordered = _worst_first(list(own))
        title = f"{attribute}: ratios to {_references(ordered)}"
        tables.append(_brief_table(title, ordered, view) if view.brief else _table(title, ordered))
    if not view.brief:
        tables += [_table("Other metrics, which do not decide", _worst_first(others))] if others else []
        tables += [_rate_table("All rows", overall, ())]
        of_groups = [row for row in rates if row.attribute != ALL]
        tables += [_rate_table("Rates of each group", of_groups, ("attribute", "group"))]
    figures = tuple(
        Chart(f"{attribute}: {RATES[metric].label}, ratio before and after", _figure(list(own)))
        for (attribute, metric), own in groupby(
            sorted(rows, key=lambda row: (row.attribute, COMPARED.index(row.metric))),
            key=lambda row: (row.attribute, row.metric),
        )
    )
    title = f"From {_called(before, report)} to {_called(after, report)}: {_title(rows)}"
    return Section(title, (_counted(rows), *said, *_everybody(overall)), tuple(tables), charts=figures)


def _called(model: str, report: Report) -> str:
    return f"{report.config.sliced_by or 'model'} {model}"


def in_short(found: Changes, report: Report) -> str:
    """Return how many disparities became better or worse, in a sentence; empty where nothing is compared."""
    pairs = list(dict.fromkeys((row.before, row.after) for row in found.changes))
    if not pairs:
        return ""
    (before, after), sliced = pairs[0], report.config.sliced_by
    if len(pairs) == 1:
        where = f"From {_called(before, report)} to {_called(after, report)}"
    else:
        where = f"From one {sliced} to the next" if sliced else f"Compared with {_called(before, report)}"
    return f"{where}: {_title([row for row in found.changes if row.deciding])}."


def _title(rows: Sequence[Change]) -> str:
    words = [row.word for row in rows]
    parts = [f"{words.count(word)} {WORDS[word]}" for word in ("worse", "better") if word in words]
    return ", ".join(parts) or "nothing decided"


def _counted(rows: Sequence[Change]) -> str:
    """Return how many disparities became better, worse, or are not decided."""
    words = [row.word for row in rows]
    better, worse, still = (words.count(word) for word in WORDS)
    verb = "is" if still == 1 else "are"
    if not better + worse:
        return f"No disparity became larger or smaller by more than chance: {still} {verb} not decided."
    rest = f"; {still} {verb} not decided" if still else ""
    many = f"{len(rows)} {'disparity' if len(rows) == 1 else 'disparities'}"
    return f"Of {many} {worse} became larger and {better} smaller by more than chance{rest}."


def _sentence(row: Change, report: Report) -> str:
    """Return what became of a disparity: who is treated more, or less, equally, and by how much."""
    more = "more" if row.word == "better" else "less"
    who = f"{named(row.group)} ({row.attribute})"
    if report.config.sliced_by:
        first = f"In {_called(row.after, report)} {who} is treated {more} equally than in {row.before}"
    else:
        first = f"Model {row.after} treats {who} {more} equally than {row.before}"
    low, high = (number(end, 2) for end in (row.ratio_change.low, row.ratio_change.high))
    ratios = f"{ratio(row.ratio_before.value, row.tau, 2)} → {ratio(row.ratio_after.value, row.tau, 2)}"
    return (
        f"{first}: {RATES[row.metric].label} ratio to {named(row.reference)} {ratios} "
        f"({number(row.ratio_change.value, 2)} times, {low} to {high}): {WORDS[row.word]}."
    )


def _everybody(rows: Sequence[RateChange]) -> tuple[str, ...]:
    """Return how the overall rates changed."""
    parts = []
    for name in OVERALL:
        for row in rows:
            if row.metric == name:
                change = f"{row.change.value:+.3f}, {row.change.low:+.3f} to {row.change.high:+.3f}"
                moved = change if math.isfinite(row.change.low) else "no row moved"
                parts.append(
                    f"{RATES[name].label} {number(row.value_before)} → {number(row.value_after)} ({moved})"
                )
    return (f"All rows: {', '.join(parts)}.",) if parts else ()


def _references(rows: Sequence[Change]) -> str:
    names = list(dict.fromkeys(named(row.reference) for row in rows))
    return names[0] if len(names) == 1 else "the reference of each"


def _worst_first(rows: Sequence[Change]) -> list[Change]:
    order = {"worse": 0, "better": 1, "undecided": 2}
    return sorted(rows, key=lambda row: (order[row.word], 2.0 if math.isnan(row.p) else row.p))


def _word(row: Change) -> TableCell:
    reason = f": {REASONS[row.reason]}" if row.reason else ""
    return TableCell(WORDS[row.word] + reason, verdict=LOOKS[row.word])


def _brief_table(title: str, rows: Sequence[Change], view: View) -> TextTable:
    """Return the changes as they fit 80 columns."""
    columns: dict[str, Callable[[Change], TableCell]] = {
        "group": lambda row: group_cell(row.group, small=False),
        "metric": lambda row: TableCell(row.metric),
        "before": lambda row: number_cell(row.ratio_before.value),
        "after": lambda row: number_cell(row.ratio_after.value),
        "change": lambda row: fine_cell(row.ratio_change, 2),
        "disparity": lambda row: TableCell(
            WORDS[row.word] if row.word != "undecided" else REASONS[row.reason], verdict=LOOKS[row.word]
        ),
    }
    return table_of(title, columns, *view.cut(rows))


def _table(title: str, rows: Sequence[Change]) -> TextTable:
    """Return the changes with all their numbers."""
    columns: dict[str, Callable[[Change], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "reference": lambda row: TableCell(row.reference),
        "metric": lambda row: TableCell(row.metric),
        "ratio before": lambda row: ratio_cell(row.ratio_before, row.tau),
        "ratio after": lambda row: ratio_cell(row.ratio_after, row.tau),
        "change (times)": lambda row: fine_cell(row.ratio_change),
        "difference before": lambda row: fine_cell(row.difference_before),
        "difference after": lambda row: fine_cell(row.difference_after),
        "change": lambda row: fine_cell(row.difference_change),
        "p (Holm)": lambda row: p_cell(row.p_holm),
        "disparity": _word,
    }
    return table_of(title, columns, rows)


def _rate_table(title: str, rows: Sequence[RateChange], places: Sequence[str]) -> TextTable:
    """Return how rates changed; `places` are columns that say whose they are."""
    columns: dict[str, Callable[[RateChange], TableCell]] = {
        name: (lambda row, name=name: TableCell(getattr(row, name)))  # type: ignore[misc]
        for name in places
    }
    columns |= {
        "metric": lambda row: TableCell(row.metric),
        "before": lambda row: number_cell(row.value_before),
        "after": lambda row: number_cell(row.value_after),
        "change": lambda row: fine_cell(row.change),
        "p": lambda row: p_cell(row.p),
    }
    return table_of(title, columns, rows)


def _figure(rows: Sequence[Change]) -> str:
    """Draw the changes of one rate: a ring before, a mark after, an arrow between them, intervals thin."""
    rows = rows[:MOST_GROUPS]
    ratios = [one for row in rows for one in (row.ratio_before, row.ratio_after)]
    axis = ratio_axis(
        [one.value for one in ratios], [end for one in ratios for end in (one.low, one.high)], rows[0].tau
    )
    drawn = []
    for row in rows:
        look = LOOKS[row.word]
        word = f"{SYMBOLS[look]} {'' if row.word == 'undecided' else row.word}".rstrip()
        before, after = row.ratio_before, row.ratio_after
        moved = f"{number(before.value, 2)} → {number(after.value, 2)}"
        said = f"{row.group}: {moved} {row.word}"
        marks = [band(axis, row.tau), rule("one", axis, 1.0, 18, "equal to the reference")]
        if not (math.isnan(before.value) or math.isnan(after.value)):
            marks += [
                arrow(axis, before.value, after.value, look, said, DROP),
                whisker(axis, before.low, before.high, said, -DROP),
                whisker(axis, after.low, after.high, said, DROP),
                dot(axis, before.value, "reference", f"{row.group}, before: {number(before.value)}", -DROP),
                dot(axis, after.value, look, f"{row.group}, after: {number(after.value)}", DROP),
            ]
        drawn.append(ChartRow(row.group, f"{moved} {word}", marks))
    title = "; ".join(f"{row.name} {row.said}" for row in drawn)
    return row_chart(title, axis, drawn, "ring: before; mark: after; shaded: from τ to 1/τ")


def change_rows(found: Changes, _: Report) -> Iterable[Row]:
    """Yield what became of every disparity; an interval takes three columns."""
    return map(flat, found.changes)


CHANGES = Part[Sequence[BeforeAfter], Changes](
    "changes",
    wanted=lambda config: config.compares,
    read=read_sides,
    judge=find_changes,
    tables={"changes": change_rows},
    sections=change_sections,
    data=lambda found: vars(found) if found.changes else {},
    summary=in_short,
    worse=worse,
)
