"""A document as a part of a notebook: HTML without a style sheet, so that nothing around it changes."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape

from fairbench_cli.base.text import printable
from fairbench_cli.document.model import Document, Section, TableCell, TextTable, Verdict, marked

COLOURS: dict[Verdict, str] = {"pass": "#0072b2", "fail": "#c44e00", "undecided": "#767676"}

Marks = Mapping[Verdict | None, str]  # by verdict, a symbol in its colour


def notebook(document: Document) -> str:
    """Return the answer in words, the facts and all tables; charts are for pages."""
    colours = COLOURS if document.tested else dict.fromkeys(COLOURS, COLOURS["undecided"])
    marks = {
        verdict: f'<strong style="color: {colours[verdict]}">{mark}</strong>' if verdict else ""
        for verdict, mark in document.marks.items()
    }
    parts = []
    if answer := document.answer:
        first = f"<strong>{escape(answer.headline.text)}</strong>"
        parts.append(_lines([marked(first, marks[answer.headline.verdict])]))
        parts.append(_lines(marked(escape(one.text), marks[one.verdict]) for one in answer.statements))
        still = [marked(escape(text), marks["undecided"]) for text in answer.open]
        parts.append(_lines(["Not decided:", *still] if still else []))
        parts.append(_small([answer.consequence.text] if answer.consequence else []))
    parts.append(_small(document.facts))
    parts += [_section(section, marks) for section in document.sections]
    parts.append(_list(document.notes))
    return printable(f"<div>{''.join(parts)}</div>", keep="\n")


def _lines(texts: Iterable[str]) -> str:
    joined = "<br>".join(texts)
    return f"<p>{joined}</p>" if joined else ""


def _small(texts: Iterable[str]) -> str:
    return "".join(f"<p><small>{escape(text)}</small></p>" for text in texts if text)


def _list(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>" if items else ""


def _section(section: Section, marks: Marks) -> str:
    title = marked(f"<strong>{escape(section.title)}</strong>", marks[section.verdict])
    parts = [f"<p>{title}</p>"] if section.title else []
    parts += [f"<p>{escape(sentence)}</p>" for sentence in section.sentences]
    parts += [_table(table, marks, section.title) for table in section.tables]
    parts += [_list(section.notes), *(_section(one, marks) for one in section.sections)]
    return "".join(parts)


def _table(table: TextTable, marks: Marks, above: str) -> str:
    below = _small([table.below.replace("see --all", "see to_html()")])
    if not table.rows:
        return below
    sides = ["right" if number else "left" for number in table.numeric]
    heads = "".join(
        f'<th style="text-align: {side}">{escape(head)}</th>'
        for head, side in zip(table.heads, sides, strict=True)
    )
    rows = "".join(f"<tr>{''.join(_cells(row, sides, marks))}</tr>" for row in table.rows)
    title = f"<caption>{escape(table.title)}</caption>" if table.title not in ("", above) else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}"


def _cells(row: Iterable[TableCell], sides: Iterable[str], marks: Marks) -> Iterator[str]:
    for cell, side in zip(row, sides, strict=True):
        fine = f" <small>{escape(cell.fine)}</small>" if cell.fine else ""
        text = marked(f"{escape(cell.text)}{fine}", marks[cell.verdict])
        yield f'<td style="text-align: {side}">{text}</td>'
