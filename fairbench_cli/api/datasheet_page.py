"""A datasheet as a document, and as JSON."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from fairbench_cli.api.datasheet import AttributeRates, Datasheet, GroupRate, gap_of
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.explained import explanation_section
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.show.tables import json_text
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_percent, join_names
from fairbench_cli.data.card import Trap
from fairbench_cli.data.checks.check import MissingCells
from fairbench_cli.data.checks.groups import Side
from fairbench_cli.data.checks.rows import Finding
from fairbench_cli.data.table import Column
from fairbench_cli.document.charts import Axis, ChartRow, dot, row_chart, whisker
from fairbench_cli.document.html import html
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import (
    Answer,
    Chart,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    plain_table,
    table_of,
)
from fairbench_cli.network.standin import standin_section

MOST_LEVELS = 50  # of a column, in a table
MOST_CROSSED = 1000  # groups in a table
MOST_BARS = 12  # groups in a chart
READINGS = {
    "leave-out": "left out with their rows",
    "level": "a level of their own",
    "unfavourable": "unfavourable",
    "favourable": "favourable, all of them",
    "lowest": "favourable for the favoured alone",
    "highest": "favourable for the deprived alone",
}
"""What is done with unknown outcomes, and what they may be, in words."""


def datasheet_document(sheet: Datasheet, view: View | None = None) -> Document:
    """Return a page on a data set; the same data give the same page.

    Parameters
    ----------
    sheet : Datasheet
    view : View, optional
        How many rows of a table are shown; by default all.
    """
    found = _sections(sheet, view or View())
    sections = tuple(one for one in found if one.sentences or one.tables or one.notes or one.sections)
    title = ": ".join(filter(None, (sheet.card.name, sheet.card.title)))
    return Document(title, _answer(sheet), _facts(sheet), sections)


def _answer(sheet: Datasheet) -> Answer:
    """Return how many rows there are and how many have the favourable outcome, and the gap by attribute."""
    if sheet.everybody is None:
        return Answer(Statement(f"{sheet.card.name}: from its card alone; nothing is measured"))
    share = format_percent(sheet.everybody.rate.value)
    if sheet.of == "network":
        of = "its network, learned from "
    else:
        of = ""
    headline = f"{sheet.card.name}: {of}{sheet.rows:,} rows, {share} with {sheet.card.outcome}"
    return Answer(Statement(headline), tuple(_gap(one, sheet) for one in sheet.attributes))


def _gap(one: AttributeRates, sheet: Datasheet) -> Statement:
    shares = [format_percent(each.rate.value) for each in (one.deprived, one.favoured)]
    gap = one.gap
    word = "more"
    if gap.value < 0:
        gap = Interval(-gap.value, -gap.high, -gap.low)
        word = "less"
    points = writing.interval(Interval(100 * gap.value, 100 * gap.low, 100 * gap.high), 1)
    far = f"{writing.number(100 * gap.value, 1)} points {points}".rstrip()
    groups = one.deprived.group, one.favoured.group
    text = f"{one.attribute}: {shares[0]} of {groups[0]}, {far} {word} than of {groups[1]} ({shares[1]})"
    return Statement(text, None, _chart(one, sheet) if one.levels else None)


def _chart(one: AttributeRates, sheet: Datasheet) -> Chart:
    """Return the rate of each level, the lowest first, with its interval."""
    ranked = sorted(one.levels, key=lambda each: each.rate.value)
    largest = sorted(ranked, key=lambda each: -each.rows)[:MOST_BARS]
    shown = [each for each in ranked if each in largest]
    highest = max(max(each.rate.value, each.rate.high) if each.rows else 0 for each in shown)
    axis = Axis(0.0, min(1.0, 1.05 * highest) or 1.0, percent=True)
    rows = []
    for each in shown:
        rate = format_percent(each.rate.value)
        said = f"{each.group}, {each.side}: {rate} of {writing.thousands(each.rows)} rows"
        look = dot(axis, each.rate.value, "reference" if each.side == "favoured" else "undecided", said)
        rows.append(ChartRow(each.group, rate, [whisker(axis, each.rate.low, each.rate.high, said), look]))
    title = f"{one.attribute}: share with {sheet.card.outcome}"
    words = "; ".join(f"{row.name}: {row.value_text}" for row in rows)
    more = len(ranked) - len(shown)
    if more:
        caption = f"the {MOST_BARS} largest groups; {more} more in the table"
    else:
        caption = ""
    return Chart(title, row_chart(f"{title}. {words}", axis, rows, "disc: deprived, ring: favoured"), caption)


def _facts(sheet: Datasheet) -> tuple[str, ...]:
    """Return the facts to know first: the traps in a line, the licence, and where the numbers are from."""
    card = sheet.card
    kinds = []
    for kind, own in group_by(card.traps, lambda trap: trap.kind).items():
        names = ", ".join(trap.column for trap in own if trap.column)
        kinds.append(f"{kind} ({names})" if names else kind)
    traps = [f"Known traps: {', '.join(kinds)}."] if kinds else []
    if sheet.checked.warnings:
        traps.append(f"`data check` warns of {len(sheet.checked.warnings):,} more.")
    first = (" ".join(traps), f"Licence: {card.licence}" if card.licence else "")
    return (*filter(None, first), *_provenance(sheet))


def _provenance(sheet: Datasheet) -> tuple[str, ...]:
    card = sheet.card
    if sheet.of == "files":
        how = "Wilson's for a share, Newcombe's for a difference; rows are taken as independent"
        repeated = [trap.column or "" for trap in card.traps if trap.kind == "repeated-people"]
        if any(repeated):
            clusters = f", but those with the same {' and '.join(repeated)} are not"
        else:
            clusters = ""
        tested = " and ".join(file.name for file in card.test_files)
        if tested:
            more = f" Rows of {tested}, the test set, are not counted."
        else:
            more = ""
        return (f"Square brackets: 95 % intervals, {how}{clusters}.{more}",)
    files = " and ".join(file.name for file in card.files)
    if all(one.url for one in card.files):
        does = "gets the data"
    else:
        does = "says where to get it"
    get = f"`fairbench data fetch {card.reference}` {does}"
    if files:
        here = f"{files} {'is' if len(card.files) == 1 else 'are'} not here; {get}."
    else:
        here = ""
    from_network = f"Rates and columns are those of the shipped network, learned from {sheet.rows:,} rows."
    return tuple(filter(None, (here, from_network if sheet.of == "network" else "")))


def _sections(sheet: Datasheet, view: View) -> Iterator[Section]:
    card = sheet.card
    about = sheet.card.about
    told = [f"Who: {about.who}", f"When: {about.when}", f"What for: {about.purpose}"] if about else []
    if card.note:
        told += [card.note]
    yield Section("What it is", tuple(told), notes=(card.outcome_words, *card.group_words))
    yield Section("Outcomes by group", tables=tuple(_group_tables(sheet, view)))
    yield from _traps(sheet, view)
    if card.left_out:
        heads = ("left out", "for whom it matters")
        yield Section("What is left out", tables=(plain_table("", heads, card.left_out.items()),))
    if sheet.intersections:
        names = " × ".join(one.attribute for one in sheet.attributes if one.levels)
        crossed = _rates_table(names, sheet.intersections[:MOST_CROSSED], sheet, view)
        if len(sheet.intersections) > MOST_CROSSED:
            fine = f"the {MOST_CROSSED:,} largest"
        else:
            fine = ""
        yield Section("Outcomes by intersection", tables=(crossed,), fine=fine)
    if sheet.unknown:
        yield Section("Unknown outcomes", sections=tuple(_unknown(sheet)))
    if sheet.explanations:
        words = f"have {sheet.card.outcome}"
        config = AuditConfig()
        each = (explanation_section(one, config, view, words) for one in sheet.explanations)
        yield Section("What explains the gaps", sections=tuple(each))
    if sheet.checked.missing:
        yield Section("Missing values by group", tables=(_missing_table(sheet.checked.missing, view),))
    if sheet.network is not None and sheet.network.stand_in is not None:
        yield standin_section(sheet.network.stand_in)
    yield Section("Columns", tables=(_columns_table(sheet, view),))
    yield _source(sheet)


def _group_tables(sheet: Datasheet, view: View) -> Iterator[TextTable]:
    """Yield the rates by attribute; where nothing was measured, those on the card."""
    known = sheet.card.expected.groups if sheet.card.expected else {}
    for one in sheet.attributes:
        if one.levels:
            own = known.get(one.attribute, {}) if sheet.of == "network" else {}
            yield _rates_table(one.attribute, one.levels, sheet, view, own)
    for attribute, rates in {} if sheet.attributes else known.items():
        heads = ("level", f"P({sheet.card.outcome}), by the card")
        cells = ((level, writing.number_cell(rate)) for level, rate in rates.items())
        yield plain_table(attribute, heads, cells, 1)


def _rates_table(
    title: str,
    groups: Sequence[GroupRate],
    sheet: Datasheet,
    view: View,
    known: Mapping[str, float] | None = None,
) -> TextTable:
    """Return rows and rates of groups, with those that are known of the data."""
    if sheet.everybody:
        everybody = sheet.everybody.rows
    else:
        everybody = math.nan
    columns: dict[str, Callable[[GroupRate], TableCell]] = {
        "level": lambda one: TableCell(one.group),
        "group": lambda one: TableCell(one.side or ""),
        f"P({sheet.card.outcome})": lambda one: writing.fine_cell(one.rate),
        "rows": lambda one: TableCell(writing.thousands(one.rows), "", one.rows),
        "of rows": lambda one: _percent(one.rows / everybody),
    }
    if known:
        columns["in the data"] = lambda one: writing.number_cell(known.get(one.group, math.nan))
    shown, more = view.cut(groups)
    if not any(one.side for one in shown):
        del columns["group"]
    return table_of(title, columns, shown, more)


def _percent(share: float) -> TableCell:
    return TableCell(format_percent(share), "", share)


def _missing_table(missing: Sequence[MissingCells], view: View) -> TextTable:
    def share(attribute: str, side: Side) -> Callable[[MissingCells], TableCell]:
        return lambda one: (
            _percent(one.groups[attribute][side]) if attribute in one.groups else TableCell(writing.DASH)
        )

    columns: dict[str, Callable[[MissingCells], TableCell]] = {
        "column": lambda one: TableCell(one.column),
        "missing become": lambda one: TableCell(one.becomes),
        "cells": lambda one: writing.count_cell(one.cells),
        "of rows": lambda one: _percent(one.share),
    }
    for name in dict.fromkeys(name for one in missing for name in one.groups):
        columns |= {f"{name}: {side}": share(name, side) for side in get_args(Side)}
    return table_of("", columns, *view.cut(missing))


def _unknown(sheet: Datasheet) -> Iterator[Section]:
    """Yield by attribute who has an unknown outcome, and what each way to read them makes of the gap."""
    groups = {each.attribute: each for each in sheet.attributes if each.levels}
    for one in (one for one in sheet.unknown if one.attribute in groups):
        shares = [
            (level, writing.count_cell(k), _percent(k / n if n else math.nan))
            for level, (k, n) in one.unknown.items()
        ]
        readings: list[tuple[str | TableCell, ...]] = []
        for each in one.policies:
            own = each.policy == sheet.card.label.unknown_as
            gap = writing.fine_cell(gap_of(each.deprived, each.favoured))
            said = f"{READINGS[each.policy]}{'; this card' if own else ''}"
            readings.append((said, writing.count_cell(each.rows), *map(writing.number_cell, each.rates), gap))
        deprived = groups[one.attribute].deprived.group
        favoured = groups[one.attribute].favoured.group
        of = f"P({sheet.card.outcome}) of {deprived} (deprived) and {favoured} (favoured)"
        heads = ("unknown outcomes are", "rows", "deprived", "favoured", "deprived − favoured")
        tables = (
            plain_table("Outcomes that are not known", ("level", "unknown", "of the level"), shares, 1),
            plain_table(of, heads, readings, 1),
        )
        yield Section(one.attribute, tables=tables)


def _traps(sheet: Datasheet, view: View) -> Iterator[Section]:
    """Yield what the card warns of, with what shows it in the files, and what else checks find."""
    checked = sheet.checked
    card = sheet.card
    shown = {trap: _evidence(trap, found) for trap, found in checked.known.items()}
    heads = ("kind", "column", "what to know", *(["in the files"] if shown else []))
    known = [(one.kind, one.column or "", one.note, shown.get(one, "")) for one in card.traps]
    warned = [(one.kind, one.column, one.what, one.fix) for one in checked.warnings]
    said = {one.column for one in card.traps if one.kind == "leak"}
    leaks = [one for one in checked.left_out_leaks if one.column not in said]
    out = [("leak", f"gives {card.label.column} away ({one.how})", one.column) for one in leaks]
    out += [(str(one.kind), one.what, one.column) for one in checked.noted]
    noted, more = view.cut([(kind, columns, what) for (kind, what), columns in _together(out).items()])
    tables = (
        plain_table("Known", heads, [row[: len(heads)] for row in known]),
        plain_table("What data check warns of", ("kind", "column", "what", "what to do"), warned),
        plain_table("Also noted", ("kind", "column", "what"), noted, omitted=more),
    )
    some = tuple(table for table in tables if table.rows)
    yield Section("Traps", () if some else ("No trap is known, and none was found.",), some)


def _together(found: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """Return the columns, which come last, of what is said alike of several.

    >>> _together([("leak", "tells", "a"), ("leak", "tells", "b"), ("weight", "counts", "c")])
    {('leak', 'tells'): 'a, b', ('weight', 'counts'): 'c'}
    """
    alike = group_by(found, lambda one: one[:2])
    return {said: join_names([column for *_, column in own]) for said, own in alike.items()}


def _evidence(trap: Trap, found: Iterable[Finding]) -> str:
    """Return the findings that show a trap in the files, as text, with columns where it names none."""
    said = _together((one.kind, one.what, one.column) for one in found)
    named = trap.column is not None
    return "; ".join(what if named or not names else f"{names}: {what}" for (_, what), names in said.items())


def _columns_table(sheet: Datasheet, view: View) -> TextTable:
    columns: dict[str, Callable[[Column], TableCell]] = {
        "column": lambda column: TableCell(column.name),
        "is": lambda column: TableCell(_role(sheet, column)),
        "levels": lambda column: writing.count_cell(len(column.levels)),
        "in declared order": lambda column: TableCell(_some(column, view.shown or MOST_LEVELS)),
    }
    if sheet.of == "card":
        del columns["levels"], columns["in declared order"]
    return table_of("", columns, *view.cut(sheet.columns))


def _role(sheet: Datasheet, column: Column) -> str:
    if column.name == sheet.card.label.column:
        return "the outcome"
    kind = {"nominal": "", "bins": "number, in bins", "number": "number"}[column.kind]
    return ", ".join(filter(None, ["protected" if column.name in sheet.card.protected else "", kind]))


def _some(column: Column, most: int) -> str:
    """Return levels as text: an empty one as "", of very many the first ones; of numbers their range."""
    if column.kind == "number":
        return f"{column.levels[0]} to {column.levels[-1]}"
    shown = ", ".join(level or '""' for level in column.levels[:most])
    more = len(column.levels) - most
    if more > 0:
        return f"{shown}, … {more} more"
    return shown


def _source(sheet: Datasheet) -> Section:
    card = sheet.card
    told = {"Source": card.source, "Licence": card.licence, "Citation": card.citation}
    lines = [f"{key}: {text}" for key, text in told.items() if text]
    for file in card.every_file:
        sha256 = file.sha256 or sheet.sha256.get(file.name)
        lines.append(f"File: {file.name}{f', sha256 {sha256}' if sha256 else ''}")
        if file.url:
            lines += [file.url]
    return Section("Source", tuple(lines))


def as_json(sheet: Datasheet) -> str:
    """Return all of a datasheet as JSON; the same data give the same bytes."""
    card = sheet.card
    prose = {"name", "title", "source", "licence", "citation", "note", "about", "label", "protected"}
    prose |= {"left_out", "traps"}
    checked = sheet.checked
    if sheet.network:
        stand_in = sheet.network.stand_in
    else:
        stand_in = None
    found: dict[str, Any] = {
        "format": "fairbench-datasheet/1",
        **card.model_dump(mode="json", include=prose),
        "from": sheet.of,
        "rows": sheet.rows,
        "columns": [
            {"name": one.name, "kind": one.kind, "levels": list(one.levels)} for one in sheet.columns
        ],
        "everybody": sheet.everybody,
        "attributes": sheet.attributes,
        "intersections": sheet.intersections,
        "unknown": sheet.unknown,
        "explanations": sheet.explanations,
        "missing": checked.missing,
        "known": [
            {"trap": trap.model_dump(), "found": _plain(found)} for trap, found in checked.known.items()
        ],
        "warnings": _plain(checked.warnings),
        "noted": _plain(checked.noted),
        "left_out_leaks": checked.left_out_leaks,
        "stand_in": stand_in.model_dump(mode="json") if stand_in else None,
        "sha256": sheet.sha256,
    }
    return json_text(found)


def _plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings without the lines of the card, which name a folder."""
    return [{key: value for key, value in asdict(one).items() if key != "where"} for one in findings]


FORMATS: dict[str, Callable[[Datasheet], str]] = {
    "markdown": lambda sheet: markdown(datasheet_document(sheet)),
    "html": lambda sheet: html(datasheet_document(sheet)),
    "json": as_json,
}
ENDINGS = {".md": "markdown", ".html": "html", ".json": "json"}
