"""Choose what is audited when nothing is named: columns of groups, not quantities, dates or identifiers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fairbench_cli.audit.read.predictions import Predictions, in_parts
from fairbench_cli.audit.read.score_names import named_like_scores

RESERVED = frozenset(
    "id entity_id model_id score label label_value as_of_date rank_abs rank_pct".split()  # noqa: SIM905
)
MOST_CODES = 20  # a column of numbers with more different ones is a quantity, not a code
MOST_VALUES = 100  # a text column with more different ones is audited when it is named alone
WORDS_AT_ONCE = 50  # columns that are looked through for words in one scan
MOST_CHECKED = 20  # quantities that the counting pass looks at for words; more take scans of their own
IDENTIFIER = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|hash|ssn|email|e-mail)$|[a-z]I[dD]$", re.ASCII)
MOST_LISTED = 10
# Why columns are not audited: of one column, and of several.
SCORES = ("it is called like a score", "they are called like scores")
IDENTIFIERS = ("it looks like an identifier", "they look like identifiers")
NUMBERS = ("it is numeric", "they are numeric")
DATES = ("it holds dates", "they hold dates")
OWN_VALUES = ("it has a value of its own in most rows", "they have a value of their own in most rows")
MANY_VALUES = ("it has many different values", "they have many different values")
BYTES = ("it holds bytes that are no text", "they hold bytes that are no text")
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[aApP][mM]|[+-]\d{2}:?\d{2}|UTC)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = "|".join(
    (
        r"\d{4}([-/.])\d{1,2}[-/.]\d{1,2}",
        r"\d{4}-(0[1-9]|1[0-2])",
        r"\d{1,2}([-/.])\d{1,2}[-/.](\d{2}|\d{4})",
        rf"\d{{1,2}}[ -]{_MONTH}[ -](\d{{2}}|\d{{4}})",
        rf"{_MONTH} \d{{1,2}},? \d{{4}}",
    )
)
DATE = rf"(?i)(({_DAY})([T ]\s*{_TIME})?|{_TIME})"


@dataclass(frozen=True)
class Defaults:
    """What is audited when no attribute is named.

    Parameters
    ----------
    attributes : dict of name to column
    quantities : tuple of int
        Columns left out because they hold many numbers, as far as the first rows show.
    notes : tuple of str
        What was left out, and why.
    """

    attributes: dict[str, int]
    quantities: tuple[int, ...]
    notes: tuple[str, ...]


def is_date(text: str) -> bool:
    """Return whether a text is a date, a time, or both.

    >>> [is_date(text) for text in ("2024-01-05", "05/01/2024", "2024-01-05T10:00:00Z", "5 Jan 2024", "9:30")]
    [True, True, True, True, True]
    >>> [is_date(text) for text in ("25-45", "1990-1995", "2020", "1.5", "May")]
    [False, False, False, False, False]
    """
    return re.fullmatch(DATE, text) is not None


def default_attributes(
    source: Predictions,
    free: list[int],
    binned: frozenset[str],
    texts: frozenset[int] = frozenset(),
    many: frozenset[int] = frozenset(),
) -> Defaults:
    """Return which of the columns `free` are audited, judged by the first rows.

    Parameters
    ----------
    source : Predictions
    free : list of int
        Columns without another role.
    binned : set of str
        Those to be cut into bins.
    texts, many : set of int
        Columns now known to hold more than numbers, or too many groups.
    """
    (rows,) = source.one("SELECT count(*) FROM sample")
    whole = rows < source.first_rows
    attributes: dict[str, int] = {}
    left_out: dict[tuple[str, str], list[str]] = {}
    quantities = []
    for i, distinct, words, example in _first_values(source, free):
        name = source.columns[i]
        if name in binned:
            attributes[name] = i
            continue
        if named_like_scores(name):
            why = SCORES
        elif distinct > MOST_CODES and IDENTIFIER.search(name):
            why = IDENTIFIERS
        elif distinct > MOST_CODES and words == 0 and i not in texts:
            quantities.append(i)
            why = NUMBERS
        elif is_date(example) and _all_dates(source, i):
            why = DATES
        elif i in many or distinct > MOST_VALUES or (whole and distinct > MOST_CODES and 2 * distinct > rows):
            why = OWN_VALUES if 2 * distinct > rows else MANY_VALUES
        elif source.sql[i].binary and source.one(f"SELECT 1 FROM sample WHERE contains(t{i}, '\\x') LIMIT 1"):
            why = BYTES
        else:
            attributes[name] = i
            continue
        left_out.setdefault(why, []).append(name)
    notes = tuple(_left_out(why, names) for why, names in left_out.items())
    return Defaults(attributes, tuple(quantities), notes)


def _left_out(why: tuple[str, str], names: list[str]) -> str:
    """Write why columns are not audited."""
    listed = ", ".join(names[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        listed += f" and {len(names) - MOST_LISTED} more"
    how = f"--attribute {names[0]}" + (f", or cut it: --bins {names[0]}=4" if why == NUMBERS else "")
    return f"Not audited, as {why[len(names) > 1]}: {listed} (unless named: {how})."


def words_below(source: Predictions, quantities: tuple[int, ...]) -> frozenset[int]:
    """Return which of many quantities hold words below the first rows."""
    found: set[int] = set()
    for some in in_parts(quantities, WORDS_AT_ONCE):
        counts = source.one(f"SELECT {', '.join(_words(i) for i in some)} FROM predictions")
        found |= {i for i, words in zip(some, counts, strict=True) if words}
    return frozenset(found)


def _first_values(source: Predictions, columns: list[int]) -> Iterator[tuple[int, int, int, str]]:
    """Yield each column with how many values and how many words the first rows have, and one value."""
    for some in in_parts(columns, source.at_once):
        parts = [f"count(DISTINCT t{i}), {_words(i)}, coalesce(max(t{i}), '')" for i in some]
        found = source.one(f"SELECT {', '.join(parts)} FROM sample")
        yield from zip(some, found[::3], found[1::3], found[2::3], strict=True)


def _words(column: int) -> str:
    return f"count(*) FILTER (t{column} <> '' AND n{column} IS NULL)"


def _all_dates(source: Predictions, column: int) -> bool:
    values = source.all(f"SELECT DISTINCT t{column} FROM sample WHERE t{column} <> ''")
    return all(is_date(value) for (value,) in values)
