"""Find out the format and the columns of an audited file, and how DuckDB is to read it, all as text."""

import codecs
import csv
import io
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fairbench_cli.audit.read.source import (
    BLANKS,
    NOT_UTF8,
    SAMPLE,
    SNIFF,
    Format,
    Source,
    first_bytes,
    named,
    on_disk,
    opened,
    quoted,
)
from fairbench_cli.errors import user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def open_source(engine: "DuckDBPyConnection", source: str, stdin: BinaryIO | None, folder: Path) -> Source:
    """Find out what the file is and which columns it has; raises `UserError` when it cannot be read."""
    path = on_disk(source, stdin, folder)
    zipped, head = first_bytes(path, source)
    form = _format(source, zipped, head)
    if form == "parquet":
        return _parquet(engine, source, path)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise user_error("the file is empty", "write a header line and one row per person", source)
    if form == "ndjson":
        return _ndjson(source, path, zipped)
    return _csv(source, path, zipped, head)


def _format(name: str, zipped: bool, head: bytes) -> Format:
    if head.startswith(b"PAR1"):
        if zipped:
            raise user_error(
                "Parquet inside gzip is not read", "decompress it first: Parquet is packed", name
            )
        return "parquet"
    kinds = {
        b"PK\x03\x04": "a zip archive or Excel workbook",
        b"\x28\xb5\x2f\xfd": "zstd data",
        b"BZh": "bzip2 data",
    }
    for magic, kind in kinds.items():
        if head.startswith(magic):
            raise user_error(f"this is {kind}", "unpack it, or save it as CSV", name)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in head[:200]:
        raise user_error("this is UTF-16 or binary, not UTF-8 text", "save it as UTF-8", name)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"[{", b"[\n", b"[\r", b"[ ")):
        raise user_error("this is a JSON array", "write one JSON object per line (.ndjson)", name)
    if name.lower().removesuffix(".gz").endswith((".parquet", ".pq")) and head:
        raise user_error("this is not a Parquet file", "name it after what it is, for instance .csv", name)
    by_name = name.lower().removesuffix(".gz").endswith((".ndjson", ".jsonl"))
    return "ndjson" if by_name or start.startswith(b"{") else "csv"


def _parquet(engine: "DuckDBPyConnection", name: str, path: Path) -> Source:
    import duckdb

    table = f"read_parquet({quoted(str(path))}, hive_partitioning=false, binary_as_string=true)"
    try:
        found = engine.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()  # noqa: S608
    except duckdb.Error:
        raise user_error("the Parquet data are damaged", "write the file again", name) from None
    parts, numbers = [], set()
    for i, (column, kind, *_) in enumerate(found):
        value = named(column)
        if kind in ("DOUBLE", "FLOAT"):
            value = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        parts.append(f"CAST({value} AS VARCHAR) AS c{i}")
        if kind == "DOUBLE" or kind.endswith(("INT", "INTEGER")):
            parts.append(f"CAST({value} AS DOUBLE) AS n{i}")
            numbers.add(i)
    relation = f"(SELECT {', '.join(parts)} FROM {table})"  # noqa: S608
    columns, notes = _names([column for column, *_ in found], name)
    return Source(name, path, "parquet", False, "", columns, relation, frozenset(numbers), notes)


def _ndjson(name: str, path: Path, zipped: bool) -> Source:
    source = Source(name, path, "ndjson", zipped, "", (), "")
    keys: dict[str, None] = {}
    try:
        with opened(source) as text:
            for at, line in enumerate(islice(text, SAMPLE), 1):
                if line.strip():
                    record = json.loads(line)
                    if not isinstance(record, dict):
                        raise user_error(
                            "a line is not a JSON object", 'write {"score": 1, …}', f"{name}:{at}"
                        )
                    keys.update(dict.fromkeys(record))
    except UnicodeError:
        raise user_error("the text is not UTF-8", NOT_UTF8, name) from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise user_error(f"not JSON: {error}", "write one JSON object per line", f"{name}:{at}") from None
    if len({key.lower() for key in keys}) < len(keys):
        raise user_error("two keys differ only in capitals", "rename one of them", name)
    if any("\x00" in key for key in keys):
        raise user_error("a key holds a NUL character", "rename it", name)
    kinds = ", ".join(f"{quoted(key)}: 'VARCHAR'" for key in keys)
    options = f"format='newline_delimited', columns={{{kinds}}}, hive_partitioning=false"
    table = f"read_json({quoted(str(path))}, {options}, compression='{'gzip' if zipped else 'none'}')"
    parts = ", ".join(f"{named(key)} AS c{i}" for i, key in enumerate(keys))
    columns, notes = _names(list(keys), name)
    return Source(name, path, "ndjson", zipped, "", columns, f"(SELECT {parts} FROM {table})", notes=notes)  # noqa: S608


def _csv(name: str, path: Path, zipped: bool, head: bytes) -> Source:
    try:
        first = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < SNIFF)
    except UnicodeDecodeError:
        raise user_error("the text is not UTF-8", NOT_UTF8, name) from None
    if len(head) == SNIFF and len(first.splitlines()) == 1:
        raise user_error(
            "the first line is longer than any header", "check that this is a CSV file", f"{name}:1"
        )
    if not first[0].strip() and first.splitlines()[0].strip(BLANKS) == "":
        raise user_error("the first line is blank", "start with the header", f"{name}:1")
    notes: list[str] = []
    tabs = name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    separator = "\t" if tabs else ","
    header = _header(first, separator, name)
    if len(header) == 1:
        other = max(";\t|,", key=lambda mark: len(_header(first, mark, name)))
        if len(_header(first, other, name)) > 1:
            separator, header = other, _header(first, other, name)
            shown = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}[other]
            notes.append(f"Columns are separated by {shown}.")
    columns, more = _names(header, name)
    kinds = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(columns)))
    mark = "chr(9)" if separator == "\t" else quoted(separator)
    options = (
        f"auto_detect=false, header=true, delim={mark}, quote='\"', escape='\"', strict_mode=true, "
        f"hive_partitioning=false, buffer_size=8000000, max_line_size=2000000, columns={{{kinds}}}"
    )
    relation = f"read_csv({quoted(str(path))}, {options}, compression='{'gzip' if zipped else 'none'}')"
    return Source(name, path, "csv", zipped, separator, columns, relation, notes=(*notes, *more))


def _header(text: str, separator: str, name: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        raise user_error("the header cannot be read", "check its quotes", f"{name}:1") from None


def _names(names: list[str], name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    trimmed = tuple(text.strip(BLANKS) for text in names)
    given = [text for text in trimmed if text]
    twice = sorted({text for text in given if given.count(text) > 1})
    if twice:
        raise user_error(f'column "{twice[0]}" appears twice', "rename or remove one of them", f"{name}:1")
    notes = []
    if any(text != plain for text, plain in zip(names, trimmed, strict=True) if plain):
        notes.append("Blanks around column names were trimmed.")
    unnamed = [i for i, text in enumerate(trimmed, 1) if not text]
    if unnamed:
        notes.append(f"Columns without a name are left out: {', '.join(map(str, unnamed))}.")
    return trimmed, tuple(notes)
