"""A datasheet as a document, and as JSON."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from fairbench_cli.api.datasheet import AttributeRates, Datasheet, GroupRate, MissingByGroup
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.explained import CMH, strata_tables
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.show.tables import json_text
from fairbench_cli.data.croissant import croissant
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

MOST_LEVELS = 50  # of a column, in a table
MOST_BARS = 12  # groups in a chart


def datasheet_document(sheet: Datasheet, view: View | None = None) -> Document:
    """Return a page on a data set; the same data give the same page.

    Parameters
    ----------
    sheet : Datasheet
    view : View, optional
        How many rows of a table are shown; by default all.
    """
    card = sheet.card
    sections = [
        section
        for section in _sections(sheet, view or View())
        if section.sentences or section.tables or section.notes or section.sections
    ]
    return Document(
        f"{card.name}: {card.title}" if card.title else card.name,
        _answer(sheet),
        _facts(sheet),
        tuple(sections),
    )


def _outcome(sheet: Datasheet) -> str:
    return f"{sheet.card.label.column} = {sheet.card.label.favourable}"


def _answer(sheet: Datasheet) -> Answer:
    """Return how many rows there are and how many have the favourable outcome, and the gap by attribute."""
    share = writing.percent_words(sheet.everybody.rate.value)
    headline = f"{sheet.card.name}: {sheet.rows:,} rows, {share} with {_outcome(sheet)}"
    return Answer(Statement(headline), tuple(_gap(one, sheet) for one in sheet.attributes))


def _gap(one: AttributeRates, sheet: Datasheet) -> Statement:
    shares = [writing.percent_words(each.rate.value) for each in (one.deprived, one.favoured)]
    limits = writing.interval(one.gap)
    text = (
        f"{one.attribute}: {shares[0]} of {one.deprived.group}, {shares[1]} of {one.favoured.group}; "
        f"a gap of {writing.number(one.gap.value)}{f' {limits}' if limits else ''}"
    )
    return Statement(text, None, _chart(one, sheet) if one.levels else None)


def _chart(one: AttributeRates, sheet: Datasheet) -> Chart:
    """Return the rate of each level, the lowest first, with its interval."""
    ranked = sorted(one.levels, key=lambda each: each.rate.value)
    shown = ranked if len(ranked) <= MOST_BARS else sorted(ranked, key=lambda each: -each.rows)[:MOST_BARS]
    shown = [each for each in ranked if each in shown]
    highest = max(max(each.rate.value, each.rate.high) if each.rows else 0 for each in shown)
    axis = Axis(0.0, min(1.0, 1.05 * highest) or 1.0, percent=True)
    rows = []
    for each in shown:
        rate = writing.percent_words(each.rate.value)
        said = f"{each.group}, {each.side}: {rate} of {writing.thousands(each.rows)} rows"
        look = dot(axis, each.rate.value, "reference" if each.side == "favoured" else "undecided", said)
        rows.append(ChartRow(each.group, rate, [whisker(axis, each.rate.low, each.rate.high, said), look]))
    title = f"{one.attribute}: share with {_outcome(sheet)}"
    words = "; ".join(f"{row.name}: {row.said}" for row in rows)
    more = len(ranked) - len(shown)
    caption = f"the {MOST_BARS} largest groups; {more} more in the table" if more else ""
    return Chart(title, row_chart(f"{title}. {words}", axis, rows, "disc: deprived, ring: favoured"), caption)


def _facts(sheet: Datasheet) -> tuple[str, ...]:
    card = sheet.card
    if not sheet.of_network:
        return ("Square brackets: 95 % intervals (Wilson; Newcombe of gaps, deprived − favoured).",)
    files = " and ".join(file.name for file in card.files)
    get = (
        f"; `fairbench data fetch {card.reference}` gets the data"
        if any(file.url for file in card.files)
        else ""
    )
    verb = "is" if len(card.files) == 1 else "are"
    there = f"{files} {verb} not here{get}. " if files else ""
    return (f"{there}Rates and columns are those of the shipped network, learned from {sheet.rows:,} rows.",)


def _sections(sheet: Datasheet, view: View) -> Iterator[Section]:
    card, about = sheet.card, sheet.card.about
    told = {"Who": about.who, "When": about.when, "What for": about.purpose} if about else {}
    whys = [f"{_outcome(sheet)} is called favourable. {card.label.why}".strip()]
    whys += [
        f"{name}: {', '.join(own.deprived)} called deprived. {own.why}".strip()
        for name, own in card.protected.items()
        if own.of is None
    ]
    about_it = [*(f"{key}: {text}" for key, text in told.items()), *filter(None, [card.note])]
    yield Section("What it is", tuple(about_it), notes=tuple(whys))
    tables = tuple(
        _rates_table(one.attribute, one.levels, sheet, View()) for one in sheet.attributes if one.levels
    )
    yield Section("Outcomes by group", tables=tables)
    names = [one.attribute for one in sheet.attributes if one.levels]
    if sheet.intersections:
        crossed = _rates_table(" × ".join(names), sheet.intersections, sheet, view)
        yield Section("Outcomes by intersection", tables=(crossed,))
    if sheet.explanations:
        yield Section("What explains the gaps", sections=tuple(_explained(sheet, view)))
    if sheet.missing:
        yield Section("Missing values by group", tables=(_missing_table(sheet),))
    yield from _traps(sheet)
    left = [(what, whom) for what, whom in card.left_out.items()]
    if left:
        heads = ("left out", "for whom it matters")
        yield Section("What is left out", tables=(plain_table("", heads, left, 2),))
    yield Section("Columns", tables=(_columns_table(sheet),))
    yield _source(sheet)


def _rates_table(title: str, groups: Iterable[GroupRate], sheet: Datasheet, view: View) -> TextTable:
    """Return rows and rates of groups."""
    columns: dict[str, Callable[[GroupRate], TableCell]] = {
        "level": lambda one: TableCell(one.group),
        "group": lambda one: TableCell(one.side or ""),
        f"P({_outcome(sheet)})": lambda one: writing.fine_cell(one.rate),
        "rows": lambda one: TableCell(writing.thousands(one.rows), "", one.rows),
        "of rows": lambda one: _percent(one.rows / sheet.everybody.rows),
    }
    shown, more = view.cut(list(groups))
    if not any(one.side for one in shown):
        del columns["group"]
    return table_of(title, columns, shown, more)


def _percent(share: float) -> TableCell:
    return TableCell(writing.percent(share), "", share)


def _explained(sheet: Datasheet, view: View) -> Iterator[Section]:
    """Yield what strata explain of each gap."""
    for each in sheet.explanations:
        tables = strata_tables(each, AuditConfig(), view)
        said = (
            f"P({_outcome(sheet)}) of {each.group} less that of {each.reference} is "
            f"{writing.with_interval(each.difference)}."
        )
        yield Section(f"{each.attribute}: {each.group} and {each.reference}", (said,), tuple(tables), (CMH,))


def _missing_table(sheet: Datasheet) -> TextTable:
    def share(attribute: str, side: str) -> Callable[[MissingByGroup], TableCell]:
        return lambda one: (
            _percent(one.groups[attribute][side]) if attribute in one.groups else TableCell(writing.DASH)  # type: ignore[index]
        )

    columns: dict[str, Callable[[MissingByGroup], TableCell]] = {
        "column": lambda one: TableCell(one.column),
        "missing become": lambda one: TableCell(one.becomes),
        "cells": lambda one: TableCell(f"{one.cells:,}", "", one.cells),
        "of rows": lambda one: _percent(one.share),
    }
    attributes = dict.fromkeys(name for one in sheet.missing for name in one.groups)
    words = {one.attribute: one for one in sheet.attributes}
    for name in attributes:
        if name in words:
            columns[f"of {words[name].deprived.group}"] = share(name, "deprived")
            columns[f"of {words[name].favoured.group}"] = share(name, "favoured")
    return table_of("", columns, sheet.missing)


def _traps(sheet: Datasheet) -> Iterator[Section]:
    """Yield what the card warns of, and what checks find in the files."""
    known = [(trap.kind, trap.column or "", trap.note) for trap in sheet.card.traps]
    tables = [plain_table("The card names", ("kind", "column", "what to know"), known, 3)] if known else []
    if sheet.checked is not None:
        found = [(one.column, one.what, one.fix) for one in sheet.checked.warnings]
        tables += (
            [plain_table("`data check` warns", ("column", "what", "what to do"), found, 3)] if found else []
        )
        leaks = [
            (one.column, one.how, TableCell(f"{one.accuracy:.0%}", "", one.accuracy))
            for one in sheet.checked.left_out_leaks
        ]
        heads = ("column", "by", "right alone")
        title = f"Left out, as they give {sheet.card.label.column} away"
        tables += [plain_table(title, heads, leaks, 2)] if leaks else []
    nothing = () if tables or sheet.checked is None else ("`data check` finds nothing.",)
    yield Section("What leads astray", nothing, tuple(tables))


def _columns_table(sheet: Datasheet) -> TextTable:
    columns: dict[str, Callable[[Column], TableCell]] = {
        "column": lambda column: TableCell(column.name),
        "is": lambda column: TableCell(_role(sheet, column)),
        "levels": lambda column: TableCell(f"{len(column.levels):,}", "", len(column.levels)),
        "in declared order": lambda column: TableCell(_some(column)),
    }
    return table_of("", columns, sheet.columns)


def _role(sheet: Datasheet, column: Column) -> str:
    if column.name == sheet.card.label.column:
        return "the outcome"
    kind = {"nominal": "", "bins": "number, in bins", "number": "number"}[column.kind]
    return ", ".join(filter(None, ["protected" if column.name in sheet.card.protected else "", kind]))


def _some(column: Column) -> str:
    """Return levels as text: an empty one as "", of very many the first ones; of numbers their range."""
    if column.kind == "number":
        return f"{column.levels[0]} to {column.levels[-1]}"
    shown = ", ".join(level or '""' for level in column.levels[:MOST_LEVELS])
    more = len(column.levels) - MOST_LEVELS
    return f"{shown}, … {more} more" if more > 0 else shown


def _source(sheet: Datasheet) -> Section:
    card = sheet.card
    told = {"Source": card.source, "Licence": card.licence, "Citation": card.citation}
    files = [
        (file.name, file.sha256 or sheet.sha256.get(file.name, writing.DASH), file.url or writing.DASH)
        for file in (*card.files, *card.test_files)
    ]
    table = plain_table("", ("file", "sha256", "address"), files, 3)
    lines = tuple(f"{key}: {text}" for key, text in told.items() if text)
    return Section("Source", lines, (table,) if files else ())


def as_json(sheet: Datasheet) -> str:
    """Return all of a datasheet as JSON; the same data give the same bytes."""
    card = sheet.card
    prose = ("name", "title", "source", "licence", "citation", "note", "about", "label", "left_out", "traps")
    checked = sheet.checked
    found: dict[str, Any] = {
        "format": "fairbench-datasheet/1",
        **card.model_dump(mode="json", include={*prose}),
        "from": "network" if sheet.of_network else "files",
        "rows": sheet.rows,
        "columns": [
            {"name": one.name, "kind": one.kind, "levels": list(one.levels)} for one in sheet.columns
        ],
        "everybody": sheet.everybody,
        "attributes": sheet.attributes,
        "intersections": sheet.intersections,
        "explanations": sheet.explanations,
        "missing": sheet.missing,
        "warnings": [] if checked is None else [_without_place(one) for one in checked.warnings],
        "left_out_leaks": [] if checked is None else checked.left_out_leaks,
        "sha256": sheet.sha256,
    }
    return json_text(found)


def _without_place(finding: Any) -> dict[str, Any]:
    """Return a finding without the line of the card, which names a folder."""
    return {key: value for key, value in asdict(finding).items() if key != "where"}


FORMATS: dict[str, Callable[[Datasheet], str]] = {
    "markdown": lambda sheet: markdown(datasheet_document(sheet)),
    "html": lambda sheet: html(datasheet_document(sheet)),
    "json": as_json,
    "croissant": lambda sheet: json_text(croissant(sheet.card, sheet.columns, sheet.sha256)),
}
ENDINGS = {".md": "markdown", ".html": "html", ".json": "json"}
