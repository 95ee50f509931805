"""Say what is wrong with a file, and in which row."""

import csv
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.read.source import NOT_UTF8, Source, opened, quoted
from fairbench_cli.errors import UserError, shown, user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def broken(source: Source, error: Exception) -> UserError:
    """Turn DuckDB's refusal to read on into a line number and advice."""
    found = _scan_text(source) if source.format == "csv" else None
    if found is not None:
        return found
    text = str(error)
    if "Out of Memory" in text or "space" in text:
        return user_error(
            "too many different values to count", "name fewer attributes with --attribute", source.name
        )
    for sign, what in (
        ("state machine", "the line ends are mixed or the quotes are wrong"),
        ("unicode", "the text is not UTF-8"),
        ("nicode", "the text is not UTF-8"),
        ("gzip", "the gzip data are damaged"),
        ("GZIP", "the gzip data are damaged"),
    ):
        if sign in text:
            return user_error(what, "save the file again as plain UTF-8 CSV", source.name)
    first = text.splitlines()[0][:200]
    kind = {"csv": "CSV", "ndjson": "NDJSON", "parquet": "Parquet"}[source.format]
    return user_error(f"cannot be read as {kind}: {first}", "write the file again", source.name)


def _scan_text(source: Source) -> UserError | None:
    """Read a text table the slow way until something is wrong with it."""
    start = 1
    try:
        with opened(source) as text:
            reader = csv.reader(text, delimiter=source.separator, strict=True)
            for record in reader:
                if record and len(record) != len(source.columns):
                    cells = f"{len(record)} cell{'s' * (len(record) != 1)}"
                    what = f"the row has {cells}, the header {len(source.columns)}"
                    fix = "give every row the same cells, and quote cells that hold the separator"
                    return user_error(what, fix, f"{source.name}:{start}")
                start = reader.line_num + 1
    except UnicodeDecodeError:
        return user_error("the text is not UTF-8, here or soon after", NOT_UTF8, f"{source.name}:{start}")
    except csv.Error:
        what = "a quoted cell that begins here is not closed, or is followed by other text"
        return user_error(
            what, "close the quotes; write a quote inside quotes twice", f"{source.name}:{start}"
        )
    except (OSError, EOFError):
        return user_error("the gzip data are damaged", "compress the file again", source.name)
    return None


def refuse_if(
    engine: "DuckDBPyConnection", source: Source, column: int, bad: str, what: str, fix: str
) -> None:
    """Refuse the file when `bad` (SQL) holds for a row, naming the column, a value, its row and how many.

    `what` may use ``{column}``, ``{value}`` and ``{count}``.
    """
    engine.execute("SET threads=1; SET preserve_insertion_order=true")
    numbered = f"SELECT row_number() OVER () AS line, * FROM {source.relation}"  # noqa: S608
    count, row, value = _one(
        engine,
        f"SELECT count(*), min(line), arg_min(coalesce(c{column}, ''), line) FROM ({numbered}) WHERE {bad}",  # noqa: S608
    )
    if count:
        text = what.format(
            column=shown(source.columns[column]), value=shown(value), count=f"{count} row{'s' * (count != 1)}"
        )
        raise user_error(text, fix, place(source, row))


def place(source: Source, row: int) -> str:
    """Write a data row (from 1) as ``file:line``; Parquet has rows only."""
    if source.format == "parquet":
        return f"{source.name}:row {row}"
    with suppress(csv.Error, UnicodeError), opened(source) as text:
        if source.format == "ndjson":
            full = (at for at, line in enumerate(text, 1) if line.strip())
            return f"{source.name}:{next(islice(full, row - 1, None), row)}"
        reader = csv.reader(text, delimiter=source.separator)
        start, left = 1, row
        for record in reader:
            left -= bool(record) or len(source.columns) == 1
            if left < 0:
                return f"{source.name}:{start}"
            start = reader.line_num + 1
    return f"{source.name}:{row + 1}"


def examples(engine: "DuckDBPyConnection", source: Source, column: int, most: int = 4) -> list[str]:
    """Return up to `most` different values of a column, sorted."""
    sql = f"SELECT DISTINCT trim(c{column}) AS v FROM {source.relation} WHERE v <> '' LIMIT {most}"  # noqa: S608
    return sorted(row[0] for row in engine.execute(sql).fetchall())


def binary_advice(flag: str, values: list[str]) -> str:
    """Say how to make 0/1 of these values."""
    lower = {value.lower() for value in values}
    if any("," in value for value in values):
        return "write decimal points, not commas"
    if len(lower) == 2 and all(_number(value) is None for value in lower):
        return f"recode {quoted(values[0])} and {quoted(values[-1])} as 0 and 1"
    if {_number(value) for value in lower} in ({1.0, 2.0}, {-1.0, 1.0}):
        return f"recode {' and '.join(values)} as 0 and 1 (1 is what --{flag} speaks of)"
    if flag == "score":
        return "say how scores become decisions: --threshold 0.5, --top-k 100 or --top-share 0.1"
    return "labels must be 0 or 1 (1: it happened); recode them"


def _number(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None


def _one(engine: "DuckDBPyConnection", sql: str) -> tuple[Any, ...]:
    row = engine.execute(sql).fetchone()
    return row if row is not None else ()
