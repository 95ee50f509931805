"""The numbers in the pages that a run gave, taken from what is stored of it: results/found, docs/reference.

usage: python docs/quoted.py [--check]

Each line of docs/quoted.csv is a place in a page. `words` are those around the numbers, `{}` for each number
and `#` for any other, as they stand in one place of the page but for the breaks of lines. The numbers are
`value`, or several after `;`, in the order of the `rows` of `source`; these are expressions of pandas, and
`count` is how many rows there are. `written` is a format of Python's, `bare` without the 0 before the point.
Without `--check` the pages are rewritten; with it, as when the site is built, a number that is not the stored
one is an error.
"""

import csv
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
TABLE = "docs/quoted.csv"
NUMBER = r"[-+−]?(?:\d[\d,]*)?\.?\d+"


@dataclass(frozen=True)
class Quote:
    """A place of a page, and where its numbers are from; the columns of the table."""

    page: str
    words: str
    source: str
    rows: str
    value: str
    written: str


@cache
def table(path: Path) -> pd.DataFrame:
    """Return a table of results."""
    return pd.read_csv(path, comment="#")


@cache
def selected(path: Path, rows: str) -> pd.DataFrame:
    """Return some rows of a table of results, or all."""
    if not rows:
        return table(path)
    return table(path).query(rows)


def numbers(quote: Quote, root: Path = ROOT) -> list[str]:
    """Return the numbers of a place as they are to be written."""
    rows = selected(root / quote.source, quote.rows)
    values: list[float] = []
    for expression in map(str.strip, quote.value.split(";")):
        if expression == "count":
            values.append(len(rows))
        elif expression in rows:
            values += rows[expression].astype(float).tolist()
        else:
            values += np.atleast_1d(np.asarray(rows.eval(expression), dtype=float)).tolist()
    return [as_written(value, quote.written) for value in values]


def as_written(value: float, written: str) -> str:
    """Return a number as pages write it.

    >>> as_written(-0.9166, ".2f bare"), as_written(6480, ",.0f"), as_written(-0.004, "+.1f")
    ('−.92', '6,480', '+0.0')
    """
    form, _, bare = written.partition(" ")
    text = format(value, re.sub("^[-+]?", r"\g<0>z", form))  # z: nothing is −0
    if bare:
        text = re.sub(r"^([-+]?)0\.", r"\1.", text)
    return text.replace("-", "−")


def renewed(page: str, quote: Quote, values: list[str]) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the text of a page with the numbers of a place, and those that stood there: line, old, new.

    Raises
    ------
    ValueError
        The words stand nowhere or more than once, or have more or fewer numbers than the rows.
    """
    words = [
        re.escape(word).replace(r"\{\}", f"({NUMBER})").replace(r"\#", NUMBER) for word in quote.words.split()
    ]
    found = list(re.finditer(r"\s+".join(words), page))
    if len(found) != 1:
        raise ValueError(f'{quote.page} has "{quote.words}" {len(found)} times, not once')
    (place,) = found
    if len(values) != len(place.groups()):
        raise ValueError(f'"{quote.words}" has {len(place.groups())} numbers, its rows have {len(values)}')
    moved = []
    for at in reversed(range(len(values))):
        start, end = place.span(at + 1)
        if page[start:end] != values[at]:
            moved.append((page.count("\n", 0, start) + 1, page[start:end], values[at]))
            page = page[:start] + values[at] + page[end:]
    return page, moved[::-1]


def renew(root: Path = ROOT, *, write: bool, only: str = "") -> list[str]:
    """Return what is not as stored, a message each; write what is into the pages, or `only` one, if asked."""
    wrong = []
    with (root / TABLE).open(encoding="utf-8", newline="") as stream:
        quotes = [Quote(**row) for row in csv.DictReader(stream)]
    for line, quote in enumerate(quotes, start=2):
        if only and quote.page != only:
            continue
        path = root / quote.page
        page = path.read_text(encoding="utf-8")
        try:
            page, moved = renewed(page, quote, numbers(quote, root))
        except (ValueError, OSError, pd.errors.UndefinedVariableError) as error:
            wrong.append(
                f"{TABLE}:{line}: {error}\nfix: write there how the page and {quote.source} have it now"
            )
            continue
        if write:
            path.write_text(page, encoding="utf-8")
        wrong += [
            f"{quote.page}:{at}: says {old}, {quote.source} says {new}\nfix: python docs/quoted.py"
            for at, old, new in moved
        ]
    return wrong


if __name__ == "__main__":
    check = "--check" in sys.argv[1:]
    found = renew(write=not check)
    sys.stdout.write("".join(f"{message}\n" for message in found))
    sys.exit(1 if found and check else 0)
