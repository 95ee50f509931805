"""A datasheet as a document, and as JSON."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from fairbench_cli.api.datasheet import AttributeRates, Datasheet, GroupRate, gap_of
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.parts import formatting
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
from fairbench_cli.network.fit_quality import describe_fit_quality

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
    all_sections = _sections(sheet, view or View())
    sections = tuple(
        section
        for section in all_sections
        if section.sentences or section.tables or section.notes or section.sections
    )
    title = ": ".join(filter(None, (sheet.card.name, sheet.card.title)))
    return Document(title, _answer(sheet), _facts(sheet), sections)


def _answer(sheet: Datasheet) -> Answer:
    """Return how many rows there are and how many have the favourable outcome, and the gap by attribute."""
    if sheet.everybody is None:
        return Answer(Statement(f"{sheet.card.name}: from its card alone; nothing is measured"))
    share = format_percent(sheet.everybody.rate.value)
    source = ""
    if sheet.origin == "network":
        source = "its network, learned from "
    headline = f"{sheet.card.name}: {source}{sheet.rows:,} rows, {share} with {sheet.card.outcome}"
    return Answer(Statement(headline), tuple(_gap(rates, sheet) for rates in sheet.attributes))


def _gap(rates: AttributeRates, sheet: Datasheet) -> Statement:
    shares = [format_percent(group.rate.value) for group in (rates.deprived, rates.favoured)]
    gap = rates.gap
    word = "more"
    if gap.value < 0:
        gap = Interval(-gap.value, -gap.high, -gap.low)
        word = "less"
    points = formatting.interval(Interval(100 * gap.value, 100 * gap.low, 100 * gap.high), 1)
    far = f"{formatting.number(100 * gap.value, 1)} points {points}".rstrip()
    groups = rates.deprived.group, rates.favoured.group
    text = f"{rates.attribute}: {shares[0]} of {groups[0]}, {far} {word} than of {groups[1]} ({shares[1]})"
    chart = _chart(rates, sheet) if rates.levels else None
    return Statement(text, None, chart)


def _chart(rates: AttributeRates, sheet: Datasheet) -> Chart:
    """Return the rate of each level, the lowest first, with its interval."""
    ranked = sorted(rates.levels, key=lambda level: level.rate.value)
    largest = sorted(ranked, key=lambda level: -level.rows)[:MOST_BARS]
    drawn = [level for level in ranked if level in largest]
    highest = max(max(level.rate.value, level.rate.high) if level.rows else 0 for level in drawn)
    axis = Axis(0.0, min(1.0, 1.05 * highest) or 1.0, percent=True)
    rows = []
    for level in drawn:
        rate = format_percent(level.rate.value)
        tooltip = f"{level.group}, {level.side}: {rate} of {formatting.thousands(level.rows)} rows"
        mark = dot(axis, level.rate.value, "reference" if level.side == "favoured" else "undecided", tooltip)
        rows.append(
            ChartRow(level.group, rate, [whisker(axis, level.rate.low, level.rate.high, tooltip), mark])
        )
    title = f"{rates.attribute}: share with {sheet.card.outcome}"
    spoken = "; ".join(f"{row.name}: {row.value_text}" for row in rows)
    caption = ""
    n_more = len(ranked) - len(drawn)
    if n_more:
        caption = f"the {MOST_BARS} largest groups; {n_more} more in the table"
    return Chart(
        title, row_chart(f"{title}. {spoken}", axis, rows, "disc: deprived, ring: favoured"), caption
    )


def _facts(sheet: Datasheet) -> tuple[str, ...]:
    """Return the facts to know first: the traps in a line, the licence, and where the numbers are from."""
    card = sheet.card
    kinds = []
    for kind, traps_of_kind in group_by(card.traps, lambda trap: trap.kind).items():
        names = ", ".join(trap.column for trap in traps_of_kind if trap.column)
        kinds.append(f"{kind} ({names})" if names else kind)
    traps = []
    if kinds:
        traps.append(f"Known traps: {', '.join(kinds)}.")
    if sheet.checked.warnings:
        traps.append(f"`data check` warns of {len(sheet.checked.warnings):,} more.")
    facts = []
    if traps:
        facts.append(" ".join(traps))
    if card.licence:
        facts.append(f"Licence: {card.licence}")
    return tuple(facts) + _provenance(sheet)


def _provenance(sheet: Datasheet) -> tuple[str, ...]:
    card = sheet.card
    if sheet.origin == "files":
        how = "Wilson's for a share, Newcombe's for a difference; rows are taken as independent"
        fact = f"Square brackets: 95 % intervals, {how}"
        repeated = [trap.column or "" for trap in card.traps if trap.kind == "repeated-people"]
        if any(repeated):
            fact += f", but those with the same {' and '.join(repeated)} are not"
        fact += "."
        test_files = " and ".join(file.name for file in card.test_files)
        if test_files:
            fact += f" Rows of {test_files}, the test set, are not counted."
        return (fact,)
    facts = []
    if card.files:
        files = " and ".join(file.name for file in card.files)
        are = "is" if len(card.files) == 1 else "are"
        has_addresses = all(file.url for file in card.files)
        effect = "gets the data" if has_addresses else "says where to get it"
        facts.append(f"{files} {are} not here; `fairbench data fetch {card.reference}` {effect}.")
    if sheet.origin == "network":
        facts.append(f"Rates and columns are those of the shipped network, learned from {sheet.rows:,} rows.")
    return tuple(facts)


def _sections(sheet: Datasheet, view: View) -> Iterator[Section]:
    card = sheet.card
    lines = []
    if card.about:
        lines += [f"Who: {card.about.who}", f"When: {card.about.when}", f"What for: {card.about.purpose}"]
    if card.note:
        lines.append(card.note)
    yield Section("What it is", tuple(lines), notes=(card.outcome_words, *card.group_words))
    yield Section("Outcomes by group", tables=tuple(_group_tables(sheet, view)))
    yield from _traps(sheet, view)
    if card.left_out:
        heads = ("left out", "for whom it matters")
        yield Section("What is left out", tables=(plain_table("", heads, card.left_out.items()),))
    if sheet.intersections:
        names = " × ".join(rates.attribute for rates in sheet.attributes if rates.levels)
        crossed = _rates_table(names, sheet.intersections[:MOST_CROSSED], sheet, view)
        fine = ""
        if len(sheet.intersections) > MOST_CROSSED:
            fine = f"the {MOST_CROSSED:,} largest"
        yield Section("Outcomes by intersection", tables=(crossed,), fine=fine)
    if sheet.unknown:
        yield Section("Unknown outcomes", sections=tuple(_unknown(sheet)))
    if sheet.checked.missing:
        yield Section("Missing values by group", tables=(_missing_table(sheet.checked.missing, view),))
    if sheet.network is not None and sheet.network.stand_in is not None:
        yield describe_fit_quality(sheet.card.name, sheet.network.stand_in)
    if sheet.beta_tables:
        yield Section("What β edits in the shipped network", tuple(_beta_lines(sheet)))
    yield Section("Columns", tables=(_columns_table(sheet, view),))
    yield _source(sheet)


def _beta_lines(sheet: Datasheet) -> Iterator[str]:
    """Yield by protected attribute the table that β edits, and along which arc."""
    outcome = sheet.card.label.column
    for attribute, tables in sheet.beta_tables.items():
        if not tables:
            yield f"{attribute}: nothing, as no arc joins it with {outcome}"
        for column, table in tables.items():
            arc, edit = f"{outcome} → {column}", "group"
            if table == outcome:
                arc, edit = f"{column} → {outcome}", "outcome"
            yield f"{attribute}: the table of {table}, along the arc {arc} (edit: {edit})"


def _group_tables(sheet: Datasheet, view: View) -> Iterator[TextTable]:
    """Yield the rates by attribute; where nothing was measured, those on the card."""
    expected = sheet.card.expected.groups if sheet.card.expected else {}
    for attribute_rates in sheet.attributes:
        if attribute_rates.levels:
            expected_rates = expected.get(attribute_rates.attribute, {}) if sheet.origin == "network" else {}
            yield _rates_table(attribute_rates.attribute, attribute_rates.levels, sheet, view, expected_rates)
    if sheet.attributes:
        return
    for attribute, rates in expected.items():
        heads = ("level", f"P({sheet.card.outcome}), by the card")
        cells = ((level, formatting.number_cell(rate)) for level, rate in rates.items())
        yield plain_table(attribute, heads, cells, 1)


def _rates_table(
    title: str,
    groups: Sequence[GroupRate],
    sheet: Datasheet,
    view: View,
    expected: Mapping[str, float] | None = None,
) -> TextTable:
    """Return rows and rates of groups, with those that are known of the data."""
    everybody = math.nan
    if sheet.everybody:
        everybody = sheet.everybody.rows
    columns: dict[str, Callable[[GroupRate], TableCell]] = {
        "level": lambda group: TableCell(group.group),
        "group": lambda group: TableCell(group.side or ""),
        f"P({sheet.card.outcome})": lambda group: formatting.fine_cell(group.rate),
        "rows": lambda group: TableCell(formatting.thousands(group.rows), "", group.rows),
        "of rows": lambda group: _percent(group.rows / everybody),
    }
    if expected:
        columns["in the data"] = lambda group: formatting.number_cell(expected.get(group.group, math.nan))
    drawn, n_more = view.cut(groups)
    if not any(group.side for group in drawn):
        del columns["group"]
    return table_of(title, columns, drawn, n_more)


def _percent(share: float) -> TableCell:
    return TableCell(format_percent(share), "", share)


def _missing_table(missing: Sequence[MissingCells], view: View) -> TextTable:
    def share(attribute: str, side: Side) -> Callable[[MissingCells], TableCell]:
        return lambda column: (
            _percent(column.groups[attribute][side])
            if attribute in column.groups
            else TableCell(formatting.DASH)
        )

    columns: dict[str, Callable[[MissingCells], TableCell]] = {
        "column": lambda column: TableCell(column.column),
        "missing become": lambda column: TableCell(column.becomes),
        "cells": lambda column: formatting.count_cell(column.cells),
        "of rows": lambda column: _percent(column.share),
    }
    attributes: dict[str, None] = {}
    for column in missing:
        attributes |= dict.fromkeys(column.groups)
    for attribute in attributes:
        for side in get_args(Side):
            columns[f"{attribute}: {side}"] = share(attribute, side)
    return table_of("", columns, *view.cut(missing))


def _unknown(sheet: Datasheet) -> Iterator[Section]:
    """Yield by attribute who has an unknown outcome, and what each way to read them makes of the gap."""
    groups = {rates.attribute: rates for rates in sheet.attributes if rates.levels}
    for unknown in (unknown for unknown in sheet.unknown if unknown.attribute in groups):
        shares = []
        for level, (k, n) in unknown.unknown.items():
            share = k / n if n else math.nan
            shares.append((level, formatting.count_cell(k), _percent(share)))
        readings: list[tuple[str | TableCell, ...]] = []
        for policy in unknown.policies:
            is_of_card = policy.policy == sheet.card.label.unknown_as
            gap = formatting.fine_cell(gap_of(policy.deprived, policy.favoured))
            reading = READINGS[policy.policy]
            if is_of_card:
                reading += "; this card"
            rates = map(formatting.number_cell, policy.rates)
            readings.append((reading, formatting.count_cell(policy.rows), *rates, gap))
        deprived = groups[unknown.attribute].deprived.group
        favoured = groups[unknown.attribute].favoured.group
        title = f"P({sheet.card.outcome}) of {deprived} (deprived) and {favoured} (favoured)"
        heads = ("unknown outcomes are", "rows", "deprived", "favoured", "deprived − favoured")
        tables = (
            plain_table("Outcomes that are not known", ("level", "unknown", "of the level"), shares, 1),
            plain_table(title, heads, readings, 1),
        )
        yield Section(unknown.attribute, tables=tables)


def _traps(sheet: Datasheet, view: View) -> Iterator[Section]:
    """Yield what the card warns of, with what shows it in the files, and what else checks find."""
    checked = sheet.checked
    card = sheet.card
    evidence = {trap: _evidence(trap, findings) for trap, findings in checked.found_traps.items()}
    heads = ["kind", "column", "what to know"]
    if evidence:
        heads.append("in the files")
    trap_rows = [(trap.kind, trap.column or "", trap.note, evidence.get(trap, "")) for trap in card.traps]
    warning_rows = [(warning.kind, warning.column, warning.what, warning.fix) for warning in checked.warnings]
    named_leaks = {trap.column for trap in card.traps if trap.kind == "leak"}
    leaks = [leak for leak in checked.left_out_leaks if leak.column not in named_leaks]
    noted_columns = [("leak", f"gives {card.label.column} away ({leak.how})", leak.column) for leak in leaks]
    noted_columns += [(str(note.kind), note.what, note.column) for note in checked.noted]
    noted, n_more = view.cut(
        [(kind, columns, problem) for (kind, problem), columns in _together(noted_columns).items()]
    )
    tables = (
        plain_table("Known", heads, [row[: len(heads)] for row in trap_rows]),
        plain_table("What data check warns of", ("kind", "column", "what", "what to do"), warning_rows),
        plain_table("Also noted", ("kind", "column", "what"), noted, omitted=n_more),
    )
    filled_tables = tuple(table for table in tables if table.rows)
    if filled_tables:
        yield Section("Traps", tables=filled_tables)
    else:
        yield Section("Traps", ("No trap is known, and none was found.",))


def _together(findings: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """Return the columns, which come last, of what is said alike of several.

    >>> _together([("leak", "tells", "a"), ("leak", "tells", "b"), ("weight", "counts", "c")])
    {('leak', 'tells'): 'a, b', ('weight', 'counts'): 'c'}
    """
    alike = group_by(findings, lambda finding: finding[:2])
    columns_by_finding = {}
    for key, alike_findings in alike.items():
        columns_by_finding[key] = join_names([column for *_, column in alike_findings])
    return columns_by_finding


def _evidence(trap: Trap, findings: Iterable[Finding]) -> str:
    """Return the findings that show a trap in the files, as text, with columns where it names none."""
    columns_by_finding = _together((finding.kind, finding.what, finding.column) for finding in findings)
    names_a_column = trap.column is not None
    clauses = []
    for (_, problem), names in columns_by_finding.items():
        if names_a_column or not names:
            clauses.append(problem)
        else:
            clauses.append(f"{names}: {problem}")
    return "; ".join(clauses)


def _columns_table(sheet: Datasheet, view: View) -> TextTable:
    columns: dict[str, Callable[[Column], TableCell]] = {
        "column": lambda column: TableCell(column.name),
        "is": lambda column: TableCell(_role(sheet, column)),
        "levels": lambda column: formatting.count_cell(len(column.levels)),
        "in declared order": lambda column: TableCell(_format_levels(column, view.max_rows or MOST_LEVELS)),
    }
    if sheet.origin == "card":
        del columns["levels"], columns["in declared order"]
    return table_of("", columns, *view.cut(sheet.columns))


def _role(sheet: Datasheet, column: Column) -> str:
    if column.name == sheet.card.label.column:
        return "the outcome"
    roles = []
    if column.name in sheet.card.protected:
        roles.append("protected")
    if column.kind == "bins":
        roles.append("number, in bins")
    elif column.kind == "number":
        roles.append("number")
    return ", ".join(roles)


def _format_levels(column: Column, most: int) -> str:
    """Return levels as text: an empty one as "", of very many the first ones; of numbers their range."""
    if column.kind == "number":
        return f"{column.levels[0]} to {column.levels[-1]}"
    listed_levels = ", ".join(level or '""' for level in column.levels[:most])
    n_more = len(column.levels) - most
    if n_more > 0:
        return f"{listed_levels}, … {n_more} more"
    return listed_levels


def _source(sheet: Datasheet) -> Section:
    card = sheet.card
    facts = {"Source": card.source, "Licence": card.licence, "Citation": card.citation}
    lines = [f"{key}: {text}" for key, text in facts.items() if text]
    for file in card.every_file:
        sha256 = file.sha256 or sheet.sha256.get(file.name)
        checksum = f", sha256 {sha256}" if sha256 else ""
        lines.append(f"File: {file.name}{checksum}")
        if file.url:
            lines.append(file.url)
    return Section("Source", tuple(lines))


def as_json(sheet: Datasheet) -> str:
    """Return all of a datasheet as JSON; the same data give the same bytes."""
    card = sheet.card
    prose = {"name", "title", "source", "licence", "citation", "note", "about", "label", "protected"}
    prose |= {"left_out", "traps"}
    checked = sheet.checked
    stand_in = None
    if sheet.network and sheet.network.stand_in:
        stand_in = sheet.network.stand_in.model_dump(mode="json")
    sheet_json: dict[str, Any] = {
        "format": "fairbench-datasheet/2",
        **card.model_dump(mode="json", include=prose),
        "from": sheet.origin,
        "rows": sheet.rows,
        "columns": [
            {"name": column.name, "kind": column.kind, "levels": list(column.levels)}
            for column in sheet.columns
        ],
        "everybody": sheet.everybody,
        "attributes": sheet.attributes,
        "intersections": sheet.intersections,
        "unknown": sheet.unknown,
        "missing": checked.missing,
        "known": [
            {"trap": trap.model_dump(), "found": _findings_json(findings)}
            for trap, findings in checked.found_traps.items()
        ],
        "warnings": _findings_json(checked.warnings),
        "noted": _findings_json(checked.noted),
        "left_out_leaks": checked.left_out_leaks,
        "stand_in": stand_in,
        "beta_tables": sheet.beta_tables,
        "sha256": sheet.sha256,
    }
    return json_text(sheet_json)


def _findings_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings without the lines of the card, which name a folder."""
    without_lines = []
    for finding in findings:
        as_mapping = asdict(finding)
        del as_mapping["where"]
        without_lines.append(as_mapping)
    return without_lines


FORMATS: dict[str, Callable[[Datasheet], str]] = {
    "markdown": lambda sheet: markdown(datasheet_document(sheet)),
    "html": lambda sheet: html(datasheet_document(sheet)),
    "json": as_json,
}
ENDINGS = {".md": "markdown", ".html": "html", ".json": "json"}
