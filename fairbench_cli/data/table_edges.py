"""Where a table begins and ends in a sheet or a text: what stands above its names, and below its rows."""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import format_value, user_error
from fairbench_cli.base.safe_text import printable, shorten
from fairbench_cli.data.number_writing import GAP_WORDS, is_written_number

MOST_ABOVE = 100  # rows, in which the names are looked for
MOST_BELOW = 40  # lines at the end of a text that are looked at
MOST_ROWS = 300  # of a text, that are looked at where its first line is no row of names
FEW = 60  # rows of a text, that are looked at in any case
TAIL = 1 << 14  # bytes
LEAST = 3  # of so many rows of a text one is as wide as the table
SENTENCE = 12  # letters of a remark at least
SHOWN = 60  # characters of what is left out
TOTALS = frozenset(
    "total totals sum subtotal mean average totaal gemiddelde summe gesamt mittelwert somme totale".split()  # noqa: SIM905
)
"""What the row below all others is called that sums them up, in small letters."""
UNITS = frozenset(
    "% percent share rate 0/1 1/0 yes/no y/n m/f f/m text string str number num numeric int integer float "  # noqa: SIM905
    "bool boolean category date years year yrs yr y jahre jahr ans années años anni days day d tage jours "
    "months month monate mois weeks hours hour hrs h stunden heures minutes min eur euro euros usd gbp chf "
    "$ € £ k€ kg g cm m km points pts punkte count n code id anzahl persons people personen".split()
)
"""What may stand below a name to say what its cells are, in small letters."""
REMARK = re.compile(
    r"""\s*(?:[*#†‡©]|\(c\)|(?:--|==)|\(?[\d,.]+\s+(?:rows?|records?)\b
    |(?:data\s+)?(?:sources?|notes?|remarks?|footnotes?|legend|quellen?|hinweise?|anmerkung(?:en)?|stand|fuentes?|notas?
       |fonte|nb|n\.b|confidential|prepared\s+by|author|page)\s*[:.]
    |(?:generated|exported|created|printed|produced|downloaded|extracted|report(?:ed)?|run|updated|as|erstellt|exportiert
       |généré|exporté|généree?|generado|exportado)\s+(?:on|at|by|from|of|with|am|von|le|par|el|por)\b
    |page\s+\d|end\s+of\b|seite\s+\d)""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a line begins that says something of the table."""

Row = Sequence[Any]
Note = str


def count_filled(row: Row) -> int:
    """Return how many cells of a row hold something."""
    return sum(cell not in ("", None) for cell in row)


def find_header(rows: Sequence[Row]) -> int | None:
    """Return which row has the names: the first of mostly words that differ, without a gap, as wide as half.

    Without such a row it is the first that is not blank.

    >>> find_header([["Staff of 2024", "", ""], ["", "", ""], ["sex", "age", "hired"], ["f", 30.0, "yes"]])
    2
    """
    first_filled = None
    for number, row in enumerate(islice(rows, MOST_ABOVE)):
        filled = [column for column, cell in enumerate(row) if cell not in ("", None)]
        if not filled:
            continue
        if first_filled is None:
            first_filled = number
        cells = row[filled[0] : filled[-1] + 1]
        texts = [cell for cell in cells if isinstance(cell, str) and cell != ""]
        is_whole = len(cells) == len(filled) and len(set(texts)) == len(texts)
        if is_whole and 2 * len(texts) >= len(row) and 2 * len(texts) >= len(cells):
            return number
    return first_filled


def find_end(rows: Sequence[Row], fill_of_row: Sequence[int], start: int) -> int:
    """Return where the rows of people end: above totals, and above remarks.

    `fill_of_row` is how many cells each row has of its own.

    >>> rows = [["f", 30.0, 10.0], ["Total", "", 10.0], ["", "", ""], ["* a year", "", ""]]
    >>> find_end(rows, [3, 2, 0, 1], 0)
    1
    """
    end = len(rows)
    width = max(map(len, rows), default=0)
    while end > start and width > 1:
        fill = fill_of_row[end - 1]
        apart = end - 1 > start and fill_of_row[end - 2] == 0
        is_remark = fill == 1 and _is_remark(str(rows[end - 1][0] or ""), apart=apart)
        if fill and not is_remark and not (fill < width and _sums_up(rows, end - 1, start)):
            break
        end -= 1
    return end


def _is_remark(text: str, *, apart: bool) -> bool:
    """Return whether the only cell of a row is no value: by how it begins, or as a sentence apart."""
    return bool(REMARK.match(text)) or (apart and len(text) >= SENTENCE and " " in text.strip())


def _sums_up(rows: Sequence[Row], bottom: int, start: int) -> bool:
    """Return whether a row is called a total as no other is, and has numbers alone beside that."""
    cells = [cell for cell in rows[bottom] if cell not in ("", None)]
    title = str(cells[0]).strip(" :").casefold()
    column = list(rows[bottom]).index(cells[0])
    is_number = [not isinstance(cell, str) or is_written_number(cell) for cell in cells[1:]]
    titles = [str(row[column]).strip(" :").casefold() for row in rows[start:bottom] if column < len(row)]
    return title in TOTALS and title not in titles and bool(titles and is_number) and all(is_number)


def is_units(row: Row, names: Row, rows_below: Sequence[Row]) -> bool:
    """Return whether a row below the names says in which units the cells are, of numbers at least one.

    >>> is_units(["0/1", "", "years"], ["score", "sex", "age"], [["1", "f", "31"], ["0", "m", "45"]])
    True
    >>> is_units(["1", "f", "years"], ["score", "sex", "age"], [["1", "f", "31"], ["0", "m", "45"]])
    False
    """
    units = 0
    for column in range(len(names)):
        cell = str(row[column] or "").strip() if column < len(row) else ""
        cells = [str(row_below[column] or "").strip() for row_below in rows_below if column < len(row_below)]
        if not cell:
            continue
        bare = cell.strip("()[]")
        if cell in cells or cell.lower() in GAP_WORDS or not (bare != cell or bare.lower() in UNITS):
            return False
        units += sum(map(is_written_number, cells)) * 2 > len(cells)
    return units > 0 and len(rows_below) > 1


def describe_above(line: int, titles: Sequence[str], called: str = "row") -> list[Note]:
    """Return a note on which row has the names, where something stands above; `titles` are its texts."""
    if line <= 1:
        return []
    title = f" ({shorten(printable(titles[0]), SHOWN)})" if titles else ""
    return [f"The names of columns are in {called} {line}; what stands above is left out{title}."]


def describe_below(texts: Sequence[str]) -> list[Note]:
    """Return a note on what stands below the rows of people, if something does."""
    if not texts:
        return []
    return [f"What stands below the table is left out ({shorten(printable(texts[0]), SHOWN)})."]


def describe_units(row: Row) -> Note:
    """Return a note on a row of units that is left out."""
    listed = ", ".join(str(cell) for cell in row if cell not in ("", None))
    return f"The row of units below the names is left out ({shorten(printable(listed), SHOWN)})."


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns.

    It does if none of its cells is a number and a number stands below one; or if they are different texts,
    most of which never occur again in their column.

    >>> has_header([["sex", "age"], ["f", "30"]]), has_header([["f"], ["m"], ["f"], ["m"]])
    (True, False)
    """
    from fairbench_cli.data.columns import is_number  # pandas

    first_row, *other_rows = rows
    filled = [cell for cell in first_row if cell]
    if any(map(is_number, filled)) or len(filled) < len(first_row) - 1:
        return False
    columns = list(zip(*other_rows, strict=False))
    if any(map(is_number, chain.from_iterable(column[:5] for column in columns))):
        return True
    if len(set(filled)) < len(filled):
        return False
    n_unique = sum(cell not in column for cell, column in zip(first_row, columns, strict=False))
    return n_unique > len(first_row) / 2


@dataclass(frozen=True)
class TableInText:
    """Where the table of a text file is.

    Parameters
    ----------
    separator : str
    names : list of str
        Of its columns.
    names_line : int
        Where they stand.
    lines_above : int
        How many lines of the file stand above the first person's.
    notes : tuple of str
        What is left out.
    """

    separator: str
    names: list[str]
    names_line: int
    lines_above: int
    notes: tuple[Note, ...]


def find_table(text: str, header: Sequence[str], separator: str, name: str) -> TableInText | None:
    r"""Return where a table begins in a text; None where its first line has the names, and rows follow.

    Parameters
    ----------
    text : str
        How the file begins.
    header, separator : sequence of str, str
        What its first line would be, and what would stand between cells.
    name : str
        Of the file, in messages.

    Raises
    ------
    UserError
        Where something stands above the table, and it is not certain which line has the names.

    >>> table = find_table("Staff of 2024\n\nsex;hired\nf;1\nm;0\n", ["Staff of 2024"], ",", "x.csv")
    >>> table.names, table.separator, table.lines_above
    (['sex', 'hired'], ';', 3)
    """
    declared = re.match(r"sep=(.)\s*$", text.split("\n", 1)[0].strip('"\r'), re.IGNORECASE)
    is_plain = not declared and _is_plain(text, header, separator)
    marks = [declared[1]] if declared else list(dict.fromkeys((separator, *";\t|,")))
    if is_plain and len(header) > 1:
        marks = [separator]
    records_of = {mark: _records(text, mark, FEW) for mark in marks}
    mark = max(marks, key=lambda mark: _fit(records_of[mark]))
    if is_plain and mark == separator:
        table = _table_at(separator, records_of[separator], 0)
        return table if table.lines_above > table.names_line else None
    records = _records(text, mark)
    rows = [row for _, row in records]
    _, width = _fit(records)
    if width < 2 and not declared:
        return None
    likely = []
    for number, row in enumerate(rows[:MOST_ABOVE]):
        if number and len(row) == width:
            rows_below = [other for other in rows[number:] if len(other) == width]
            if has_header([list(map(str.strip, other)) for other in rows_below]):
                likely.append(number)
        if not _may_stand_above(rows, number, width):
            break
    # Of two the one with no # is meant, and below a blank line.
    chosen = [number for number in likely if not _is_comment(rows[number])] or likely
    if chosen:
        return _table_at(mark, records, chosen[-1])
    if declared and len(records) > 1:
        return _table_at(mark, records, 1)
    above = rows[: next(number for number, row in enumerate(rows) if len(row) == width)]
    if all(map(any, above)) and not (above and _is_comment(above[0])):
        return None
    title = next(filter(str.strip, chain.from_iterable(rows)), "")
    problem = f"{format_value(title)} is no row of names, and it is not certain which line below has them"
    fix = "write the names of columns in one line, and delete what stands above it"
    raise user_error(problem, fix, f"{name}:1")


def _table_at(mark: str, records: Sequence[tuple[int, list[str]]], number: int) -> TableInText:
    """Return the table whose names are in a record, and notes on what is left out."""
    names_line, names = records[number]
    titles = [mark.join(row).rstrip(mark).strip() for _, row in records[:number] if any(row)]
    if titles and titles[0].lower() in ("sep=", f"sep={mark}"):
        titles[0] = f"sep={mark}"
    notes = describe_above(names_line, titles, "line")
    rows_below = [record for record in records[number + 1 :] if any(record[1])]
    lines_above = names_line
    if rows_below and is_units(rows_below[0][1], names, [row for _, row in rows_below[1:]]):
        lines_above = rows_below[0][0]
        notes.append(describe_units(rows_below[0][1]))
    return TableInText(mark, names, names_line, lines_above, tuple(notes))


def _is_plain(text: str, header: Sequence[str], separator: str) -> bool:
    """Return whether the first line may have the names: as many cells as others, half filled."""
    rows = [list(map(str.strip, row)) for _, row in _records(text, separator, FEW)]
    if not rows or not any(rows[0]):
        return False
    rows_below = [row for row in rows[1:] if any(row)]
    names = rows[0]
    is_used = [bool(name or any(cells)) for name, *cells in zip_longest(names, *rows_below, fillvalue="")]
    is_wide = 2 * sum(map(bool, names)) >= sum(is_used)
    if sum(is_used) == 2 and names[0] and not any(names[1:]):
        is_wide = False
    return is_wide and all(len(row) == len(header) for row in rows_below)


def _records(text: str, mark: str, most: int = MOST_ROWS) -> list[tuple[int, list[str]]]:
    """Return the first records of a text, blank ones too, each with its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        return [(reader.line_num, row) for row in islice(reader, most)]
    except csv.Error:
        return []


def _fit(records: Sequence[tuple[int, Row]]) -> tuple[int, int]:
    """Return how many rows are as wide as most are that have several cells, and how wide; 0 of few."""
    rows = [row for _, row in records if count_filled(row)]
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width = max(widths, key=lambda width: (widths[width], width), default=0)
    return (widths[width], width) if LEAST * widths[width] >= len(rows) else (0, 0)


def _is_comment(row: Row) -> bool:
    return bool(row) and row[0].lstrip().startswith("#")


def _may_stand_above(rows: Sequence[Row], number: int, width: int) -> bool:
    """Return whether a row may be no person's and no names: a title, a remark, or one above a blank row."""
    row = rows[number]
    filled = count_filled(row)
    is_narrow = filled <= 1 or 2 * filled < width or len(row) < width - 1
    if is_narrow or _is_comment(row):
        return True
    following = [any(other) for other in rows[number + 1 : MOST_ABOVE]]
    return not all(following) and (filled < width or not following[0])


def find_cut(path: Path, separator: str, width: int) -> tuple[int, tuple[Note, ...]] | None:
    """Return the byte at which what stands below a table begins, and notes; None where nothing does."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - TAIL)
        file.seek(start)
        tail = file.read()
    if start:
        start += tail.find(b"\n") + 1
        tail = tail[tail.find(b"\n") + 1 :]
    lines = list(_lines_with_offsets(tail, start))[-MOST_BELOW:]
    try:
        rows = [next(csv.reader([line.decode()], delimiter=separator, strict=True), []) for _, line in lines]
    except (csv.Error, UnicodeDecodeError, StopIteration):
        return None
    start_row = 1 if not lines or lines[0][0] == 0 else 0
    for number, (_, line) in enumerate(lines):
        if len(rows[number]) != width and REMARK.match(line.decode()):
            rows[number] = [line.decode().strip()]
    fills = [count_filled(list(map(str.strip, row))) for row in rows]
    padded = [row + [""] * (width - len(row)) for row in rows]
    end = find_end(padded, fills, min(start_row, len(rows)))
    texts = list(filter(None, map(str.strip, chain.from_iterable(rows[end:]))))
    return (lines[end][0], tuple(describe_below(texts))) if texts else None


def _lines_with_offsets(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    for line in data.splitlines(keepends=True):
        yield start, line
        start += len(line)
