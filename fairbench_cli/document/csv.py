"""The tables of a document as one CSV."""

import csv
import io
from collections.abc import Iterator
from itertools import chain

from fairbench_cli.document.model import Document, Section


def comma_separated(document: Document) -> str:
    """Return one row per row of each table: `block` names its section, and a table's keys its columns."""
    rows = list(chain.from_iterable(map(_rows, document.sections)))
    heads = list(dict.fromkeys(chain.from_iterable(rows)))
    file = io.StringIO()
    writer = csv.DictWriter(file, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _rows(section: Section) -> Iterator[dict[str, str]]:
    for table in section.tables:
        names = ("block", *(table.keys or table.heads))
        for row in table.rows:
            texts = [section.title] + [cell.full_text for cell in row]
            lines = (text.replace("\r", "\n") for text in texts)  # a "\r" would not be quoted
            yield dict(zip(names, lines, strict=True))
    for within in section.sections:
        yield from _rows(within)
