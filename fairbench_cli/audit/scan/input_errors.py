"""Refuse what cannot be read or counted, with the row and what to do."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.source import FRAME, LONGEST, Source, not_utf8, too_long
from fairbench_cli.base.errors import Flag, MessageText, Problem, UserError, format_value, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.base.spelling_variants import find_spelling_variants
from fairbench_cli.base.stored_files import readable
from fairbench_cli.data import number_writing
from fairbench_cli.data.recognise import find_good_value, named_like_harm, tell_whole_numbers

MOST_CLASSES = 20  # a column of more different numbers holds a quantity
MOST_NAMED = 6
NEARLY = 0.9  # of the rows, where others are likely slips
MOST_WHOLE = 12  # different whole numbers that may be codes or levels
MOST_CELLS = 200_000  # different ones of a column, whose numbers are looked at
MOST_PEOPLE = 10_000_000  # in rows that stand for several: each is read again
CUT = (
    "say how scores become decisions: ",
    *(Flag("threshold", 0.5), ", ", Flag("top-k", 100), " or ", Flag("top-share", 0.1)),
    *("; or compare them as they are: ", Flag("outcome", "number")),
)


@contextmanager
def reading_rows(source: Source) -> Iterator[None]:
    """Raise what DuckDB cannot read of a file as a `UserError` that names it."""
    import duckdb

    try:
        yield
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
        raise  # a fault of ours, not of the rows
    except duckdb.Error as error:
        raise reading_error(source, error) from None


def reading_error(source: Source, error: Exception) -> UserError:
    """Return the error that DuckDB's refusal to read on means, with a line number where there is one."""
    if source.format == "csv":
        with readable(source.name):
            error_in_text = _find_error_in_text(source)
        if error_in_text is not None:
            return error_in_text
    text = str(error)
    if "unicode" in text.lower() and source.format in ("csv", "ndjson"):
        with readable(source.name):
            return not_utf8(source)
    if "Out of Memory" in text or "space" in text:
        problem = "too many different values to count"
        return user_error(problem, ("name fewer attributes with ", Flag("attribute")), source.name)
    for sign, problem in (
        ("state machine", "the line ends are mixed or the quotes are wrong"),
        ("gzip", "the gzip data are damaged"),
    ):
        if sign in text.lower():
            return user_error(problem, "save the file again as plain UTF-8 CSV", source.name)
    first_line = text.splitlines()[0][:200]
    called = {"csv": "CSV", "ndjson": "NDJSON", "json": "JSON", "parquet": "Parquet", "sqlite": "SQLite"}
    kind = (called | {"frame": FRAME}).get(source.format, source.format)
    return user_error(f"cannot be read as {kind}: {first_line}", "write the file again", source.name)


def _find_error_in_text(source: Source) -> UserError | None:
    """Read a text table the slow way until something is wrong with it."""
    above = _lines_before_names(source)
    start = 1 + above
    try:
        with _records(source) as reader:
            for record in reader:
                if sum(map(len, record)) > LONGEST:
                    return too_long(f"{source.name}:{start}")
                if record and len(record) != len(source.columns):
                    cells = format_count(len(record), "cell")
                    problem = f"the row has {cells}, the header {len(source.columns)}"
                    fix = "give every row the same cells, and quote cells that hold the separator"
                    return user_error(problem, fix, f"{source.name}:{start}")
                start = reader.line_num + 1 + above
    except UnicodeDecodeError:
        return not_utf8(source)
    except csv.Error:
        where = f"{source.name}:{start}"
        if reader.line_num + above == start:  # all in one line
            with source.text() as text:
                if len(next(islice(text, start - 1, None))) > LONGEST:
                    return too_long(where)
        problem = "a quoted cell that begins here is not closed, or is followed by other text"
        return user_error(problem, "close the quotes; write a quote inside quotes twice", where)
    return None


@contextmanager
def _records(source: Source) -> Iterator[Any]:
    """Open a text table for the module csv, which takes cells as long as a row may be."""
    before = csv.field_size_limit(LONGEST)
    try:
        with source.text() as text:
            below = islice(text, _lines_before_names(source), None)
            yield csv.reader(below, delimiter=source.separator, strict=True)
    finally:
        csv.field_size_limit(before)


def _lines_before_names(source: Source) -> int:
    """Return how many lines of a text table stand above its names, or units."""
    return (source.rows_above or 1) - 1


def refuse_if(
    source: Source,
    column: int,
    bad: str,
    problem: str,
    fix: MessageText,
    *,
    remedy: tuple[Flag, ...] = (),
    assumed: tuple[Flag, ...] = (),
) -> None:
    """Refuse the rows when `bad` (SQL) holds for one, naming the column, a value, its row and how many.

    `problem` may use ``{column}``, ``{value}`` and ``{count}``.
    """
    source = _each_row_once(source)
    numbered = "SELECT row_number() OVER () AS line, * FROM predictions"
    first_row = f"count(*), min(line), arg_min(coalesce(text_{column}, ''), line)"
    with source.engine(ordered=True, threads=1):
        count, row, value = source.row(
            f"SELECT {first_row} FROM ({numbered}) WHERE ({bad}) AND {source.kept}"
        )
    if count:
        name = format_value(source.columns[column])
        text = problem.format(column=name, value=format_value(value), count=format_count(count, "row"))
        raise user_error(text, fix, position_of_row(source, row), remedy=remedy, assumed=assumed)


class OtherWritingError(UserError):
    """All rows of a column write numbers in a way that its first rows did not show."""

    def __init__(self, source: Source, column: int, writing: number_writing.NumberWriting) -> None:
        name = source.columns[column]
        flag = Flag("notation", (name, writing.notation))
        problem = f"{format_value(name)} has {format_value(writing.example)} below the first rows"
        super().__init__(Problem(problem, ("say how it writes numbers: ", flag), remedy=(flag,)))
        self.column = column
        self.writing = writing


def refuse_no_numbers(source: Source, column: int, bad: str, problem: str, fix: MessageText) -> None:
    """Refuse the rows where `bad` (SQL) holds for a cell that is no number; see `refuse_if`.

    Where it can be seen, it is said why: cells that are written in two ways, or what stands by a number.

    Raises
    ------
    OtherWritingError
        Where all rows show how the numbers are written, and the first did not.
    """
    rows = _each_row_once(source)
    word = f"({bad}) AND {sql.word(column)} AND {rows.kept}"
    with rows.engine(ordered=True, threads=1):
        word_row = rows.row(f"SELECT trimmed_{column} FROM predictions WHERE {word} LIMIT 1")
    if word_row:
        refuse_unclear_numbers(rows, column)
        obstacle = number_writing.find_obstacle(word_row[0])
        if obstacle is not None:
            hindrance, advice = obstacle
            fix = advice
            if advice == number_writing.SECOND:
                fix = (f"{advice}: ", Flag("notation", (source.columns[column], "second")))
            bad = word
            problem = f"{{column}} has {{value}}, in {{count}}: {hindrance}"
    refuse_if(source, column, bad, problem, fix)


def refuse_unclear_numbers(rows: Source, column: int) -> None:
    """Refuse numbers that all cells of a column, in their order, do not show how to read; see above."""
    before = rows.in_sql[column].writing or number_writing.PLAIN
    if before.is_stated:
        return
    numbered = f"SELECT row_number() OVER () AS line, trimmed_{column} AS cell FROM predictions"
    firsts = f"SELECT cell, min(line) FROM ({numbered}) WHERE cell <> '' GROUP BY cell ORDER BY 2"
    with rows.engine(ordered=True, threads=1):
        row_of = dict(rows.rows(f"{firsts} LIMIT {MOST_CELLS}"))
    writing = number_writing.find_writing(row_of)
    if isinstance(writing, number_writing.NumberDoubt):
        name = rows.columns[column]
        flags = {way: Flag("notation", (name, way)) for way in writing.ways}
        fix: list[str | Flag] = []
        for way, meaning in writing.ways.items():
            fix += [f"{'; ' if fix else ''}{meaning}: ", flags[way]]
        where = " and ".join(position_of_row(rows, row_of[cell]) for cell in writing.cells)
        options = tuple(flags.values())
        raise user_error(
            f"{format_value(name)} has {writing}",
            tuple(fix) or "write all amounts in one currency",
            where,
            remedy=options if len(options) == 1 else (),
        )
    is_plain = before == number_writing.PLAIN
    if writing is not None and (
        writing.notation != before.notation or (is_plain and writing != number_writing.PLAIN)
    ):
        raise OtherWritingError(rows, column, writing)


def _each_row_once(source: Source) -> Source:
    """Return the rows as they stand in the file."""
    source = source.alone or source
    return replace(source, table=source.once or source.table)


def refuse_scores(source: Source, column: int) -> None:
    """Refuse scores that are not finite numbers up to `LARGEST`, whole ones below `WHOLE`."""
    bad = sql.no_number(column)
    advice = "write numbers with a decimal point (0.5, not 0,5), ranks in the place of whole ones that large"
    problem = f"not a finite number up to {sql.LARGEST} (a whole one below 2^53), in {{count}}"
    fix: MessageText = f"{advice}, or leave those rows out"
    rows = _each_row_once(source)
    numbers = (
        f"floor(min(number_{column})), coalesce(bool_or(({bad}) AND number_{column} IS NOT NULL), false)"
    )
    least, has_large = rows.row(f"SELECT {numbers} FROM predictions WHERE {rows.kept}")
    if least is not None and not has_large:
        fix = (
            f"{advice}, or leave those rows out: ",
            Flag("keep", f"{source.columns[column]}>={min(least, 0):g}"),
        )
    refuse_no_numbers(source, column, bad, f"{{column}} has {{value}}, {problem}", fix)
    _refuse_missing(source, column)


def refuse_codes(source: Source, column: int, flag: str) -> None:
    """Refuse scores or labels (`flag` says which) that are not 0 or 1, or a class."""
    alone = _each_row_once(source)
    value_rows = alone.rows(
        f"SELECT trimmed_{column}, code_{column} IS NULL, count(*) FROM predictions "
        f"WHERE trimmed_{column} <> '' AND {alone.kept} "
        f"GROUP BY ALL ORDER BY 3 DESC, 1 LIMIT {MOST_CLASSES + 1}"
    )
    rows = {value: n for value, _, n in value_rows}
    bad_rows = {value: n for value, bad, n in value_rows if bad}
    has_many = len(value_rows) > MOST_CLASSES and any(_parse_number(value) is not None for value in bad_rows)
    bad = f"NOT ({sql.blank(column)}) AND code_{column} IS NULL"
    if has_many and flag == "score" and tell_whole_numbers(source.columns[column]) == "codes":
        good = ("name the good one, ", Flag("favourable", "VALUE"))
        refuse_if(source, column, bad, "{column} has {value}, and more that is not 0 or 1, in {count}", good)
    if has_many and flag == "score":
        refuse_no_numbers(
            source, column, bad, "{column} has {value}, and more that is not 0 or 1, in {count}", CUT
        )
    elif has_many:
        problem = f"{{column}} has {{value}}, and over {MOST_CLASSES} different values, in {{count}}"
        fix = "audit decisions: make a column of 0 and 1 of what counts, such as income above 50000"
        refuse_no_numbers(source, column, bad, f"{problem}: this looks like regression", fix)
    elif bad_rows:
        listed = _list_values(bad_rows).replace("{", "{{").replace("}", "}}")
        if len(value_rows) > MOST_CLASSES:
            listed += ", …"
        seen = f"{{column}} has {listed}, not 0 or 1"
        if len(bad_rows) == 1:
            seen = "{column} has {value}, not 0 or 1, in {count}"
        codes = [value for value in rows if value not in bad_rows]
        if len(codes) > 1 and sum(map(rows.__getitem__, codes)) >= NEARLY * sum(rows.values()):
            kept = Flag("keep", (source.columns[column], ",".join(codes)))
            refuse_if(source, column, bad, seen, ("write 0 or 1, or leave those rows out: ", kept))
        fix_of_words, remedy, assumed = _advise(flag, source.columns[column], rows)
        if len(value_rows) > MOST_CLASSES or any("," in value for value in bad_rows):
            refuse_no_numbers(source, column, bad, seen, fix_of_words)
        refuse_if(source, column, bad, seen, fix_of_words, remedy=remedy, assumed=assumed)
    _refuse_missing(source, column)


def _list_values(rows: Mapping[str, int]) -> str:
    """Return values with how many rows have each, as a clause.

    >>> _list_values({"Low": 4121, "High": 1})
    '"Low" in 4,121 rows, "High" in 1 row'
    """
    counted = [f"{format_value(value)} in {format_count(n, 'row')}" for value, n in rows.items()]
    return join_names(counted, MOST_NAMED)


def refuse_weights(source: Source, column: int) -> None:
    """Refuse weights that are not 0, or a number from `LIGHTEST` to `LARGEST`."""
    refuse_no_numbers(
        source,
        column,
        sql.not_weight(f"number_{column}"),
        "{column} has {value}, not a weight, in {count}",
        f"weights must be 0, or numbers from {sql.LIGHTEST} to {sql.LARGEST}; only their proportions count",
    )


def refuse_counts(source: Source, column: int) -> None:
    """Refuse numbers of people that are not whole, all 0, or more than `MOST_PEOPLE` together."""
    number = f"number_{column}"
    refuse_no_numbers(
        source,
        column,
        f"({sql.not_finite(number)} OR {number} < 0 OR {number} > {MOST_PEOPLE}"
        f" OR {number} <> floor({number}))",
        f"{{column}} has {{value}}, not a whole number from 0 to {MOST_PEOPLE:,}, in {{count}}",
        (
            "counts say how many people a row stands for; of weights give ",
            *(Flag("weight", source.columns[column]), " in the place of ", Flag("counts")),
        ),
    )
    (people,) = source.row(f"SELECT coalesce(sum({number}), 0) FROM predictions")
    if not 0 < people <= MOST_PEOPLE:
        problem = f"{format_value(source.columns[column])} adds up to {people:,.0f} people"
        fix = f"name a column that adds up to 1 to {MOST_PEOPLE:,} people"
        raise user_error(problem, fix, Flag("counts"))


def _refuse_missing(source: Source, column: int) -> None:
    drop = Flag("drop-missing", python="drop_missing=True")
    problem = "{column} is missing in {count}, first here"
    fix = ("fill it in, or leave those rows out: ", drop)
    refuse_if(source, column, sql.blank(column), problem, fix, remedy=(drop,))


def position_of_row(source: Source, row: int) -> str:
    """Write a data row (from 1) as ``file:line``; Parquet and frames have rows only."""
    if source.format == "workbook":
        if source.rows_above is None:
            return f"{source.name}:row {row} of the data"
        return f"{source.name}:row {source.rows_above + row}"
    if source.format in ("json", "parquet", "sqlite", "frame"):
        return f"{source.name}:row {row}"
    if source.format == "ndjson":
        with suppress(UnicodeError), source.text() as text:
            full = (number for number, line in enumerate(text, 1) if line.strip())
            return f"{source.name}:{next(islice(full, row - 1, None), row)}"
    with suppress(csv.Error, UnicodeError), _records(source) as reader:
        above = _lines_before_names(source)
        start = 1 + above
        remaining = row
        for record in reader:
            remaining -= bool(record) or len(source.columns) == 1
            if remaining < 0:
                return f"{source.name}:{start}"
            start = reader.line_num + 1 + above
    return f"{source.name}:{row + 1}"


def _advise(
    flag: str, name: str, rows: Mapping[str, int]
) -> tuple[MessageText, tuple[Flag, ...], tuple[Flag, ...]]:
    """Return how to make 0 and 1 of the values of a column, with the remedy and what to go on with."""
    values = sorted(rows)
    numbers = {_parse_number(value) for value in values}
    if flag == "score" and any(value.endswith("%") for value in values):
        return CUT, (), ()
    key = "favourable" if flag == "score" else "favourable-label"
    if numbers == {-1.0, 1.0} and not named_like_harm(name):
        good = max(values, key=float)
        return ("say which value is the good one, likely ", Flag(key, good)), (), ()
    if any(_parse_number(value) is None for value in values) and len(values) <= MOST_CLASSES:
        fix, remedy, assumed = advise_value(rows, name)
        if flag == "score" and numbers == {None} and len(values) > 2 and not find_spelling_variants(rows):
            fix = (*fix, "; or ", TAKEN_FOR["class"], Flag("outcome", "class"))
        return fix, remedy, assumed
    offers = offer_for_whole_numbers(name, rows)
    if flag == "score" and offers:
        return _spell_offers(offers, rows), (), ()
    if flag == "score":
        return CUT, (), ()
    value = (Flag(key, "VALUE"), f": one of {_list_in_order(rows)}")
    return ("labels must be 0 or 1 (1: it happened); recode them, or name the good one, ", *value), (), ()


def offer_for_whole_numbers(name: str, rows: Mapping[str, int]) -> tuple[Flag, ...]:
    """Return the options that read few whole numbers, the likeliest by the column's name first.

    Codes are no amounts, whatever their name; amounts and levels may be cut. Empty where the values are many,
    or not all whole.

    >>> names = ("action", "stars", "visits")
    >>> offers = [offer_for_whole_numbers(name, dict.fromkeys("123", 1)) for name in names]
    >>> [offer.spell() for offer in offers[0]]
    ['--favourable VALUE', '--outcome class', '--outcome ordinal']
    >>> [offer.spell() for offer in offers[1]]
    ['--outcome ordinal', '--threshold 3', '--favourable VALUE', '--outcome number']
    >>> offers[2][0].spell(), offer_for_whole_numbers("x", {"0.5": 1, "2": 1})
    ('--outcome number', ())
    """
    numbers = {value: _parse_number(value) for value in rows}
    is_whole = all(number is not None and number.is_integer() for number in numbers.values())
    kind = tell_whole_numbers(name)
    most = MOST_CLASSES if kind == "codes" else MOST_WHOLE
    if not is_whole or not 1 < len(rows) <= most:
        return ()
    value = Flag("favourable", "VALUE")
    if len(rows) == 2:
        return (value,)
    number_rows = sorted((number or 0.0, rows[text]) for text, number in numbers.items())
    n_below = accumulate(n for _, n in number_rows)
    half = sum(rows.values()) / 2
    cut = next((i for i, n in enumerate(n_below) if n >= half), 0) + 1
    threshold = Flag("threshold", f"{number_rows[min(cut, len(number_rows) - 1)][0]:g}")
    classes, levels, amounts = (Flag("outcome", outcome) for outcome in ("class", "ordinal", "number"))
    if kind == "codes":
        return value, classes, levels
    if kind == "levels":
        return levels, threshold, value, amounts
    if kind == "amounts":
        return amounts, threshold, value
    return value, classes, levels, threshold, amounts


TAKEN_FOR = {
    "favourable": "name the good one, ",
    "threshold": "cut them, ",
    "class": "compare each with the others, ",
    "ordinal": "take them for levels in an order, ",
    "number": "take them for amounts, ",
}


def _spell_offers(offers: Sequence[Flag], rows: Mapping[str, int]) -> MessageText:
    """Return offers in words: "name the good one, --favourable VALUE: one of 1, 2; or …"."""
    pieces: list[str | Flag] = []
    for offer in offers:
        pieces += [
            "; or " if pieces else "",
            TAKEN_FOR.get(str(offer.value), TAKEN_FOR.get(offer.key, "")),
            offer,
        ]
        if offer.key == "favourable":
            pieces.append(f" (one of {_list_in_order(rows)})")
    return tuple(pieces)


def _list_in_order(rows: Mapping[str, int]) -> str:
    values = sorted(rows, key=lambda value: (_parse_number(value) or 0.0, value))
    return join_names([sql.quoted(value) if " " in value else value for value in values], MOST_WHOLE)


def advise_value(
    rows: Mapping[str, int], name: str = ""
) -> tuple[tuple[str | Flag, ...], tuple[Flag, ...], tuple[Flag, ...]]:
    """Return how to say which word is good, with the remedy and what to go on with.

    A word that says that something good was decided is likely the one, in a column of something bad no; else
    one that is written in several ways is gone on with, so that these are spoken of, too.
    """
    good = find_good_value(rows, name)
    if good is not None:
        likely = Flag("favourable", good)
        return ("say which value is the good one, likely ", likely), (likely,), ()
    variants = find_spelling_variants(rows)
    assumed = next(iter(rows))
    if variants:
        assumed = variants[0].values[0]
    open_value = Flag("favourable", "VALUE")
    listed = join_names([sql.quoted(value) for value in rows], MOST_NAMED)
    fix = ("say which value is the good one, ", open_value, f": one of {listed}")
    return fix, (open_value,), (Flag("favourable", assumed),)


def _parse_number(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None
