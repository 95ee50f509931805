"""The rows in DuckDB: the format and the columns of what holds them, all read as text; its settings.

A file, a frame or an Arrow stream becomes a `Source`, whose queries name its columns as ``text_3``,
``number_3`` and so on. Only `Source.engine` and `progress_of` change the settings of DuckDB.
"""

import codecs
import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO, TypeVar, runtime_checkable

from fairbench_cli.audit.scan import sql
from fairbench_cli.base import encodings, stored_files
from fairbench_cli.base.errors import Flag, MessageText, UserError, format_value, user_error
from fairbench_cli.base.progress_callbacks import PercentDone, ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import format_path, join_names
from fairbench_cli.data.table_edges import find_cut, find_table

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that gives its rows as an Arrow stream: Polars frames, Arrow tables and readers and more."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule that holds an ArrowArrayStream."""


if TYPE_CHECKING:
    Frame = pd.DataFrame | ArrowStream


LEFT_OUT = "Left out, as"  # how the notes begin on columns that cannot be read
JSON_LAYOUTS = {"ndjson": "newline_delimited", "json": "array"}
"""How DuckDB calls the layouts of JSON, by format."""
MOST_FIELDS = 100  # of a cell; one with more is a text
LARGEST_DOCUMENT = 50_000_000  # characters of JSON that are read to say what it is
WIDE = ("utf-16-le", "utf-16-be")
BUFFER = 8_000_000  # bytes of a text table that DuckDB reads at once
LONGEST = 2_000_000  # bytes of a row of a text table
SHOWN_BEFORE = 20  # characters before a byte that is no text
SAMPLE = 10_000  # rows
SAMPLE_CELLS = 8_000_000
MEMORY = 190  # MiB
MEMORY_OF_COLUMN = 0.5  # MiB, of tables with more than `FEW_COLUMNS`
FEW_COLUMNS = 100
MOST_THREADS = 4  # each has buffers of its own
TABLES = 24  # of groups at once, over all threads: each takes some 4 MB at least
NAMES = re.compile(r"\b(text|trimmed|number|code|group)_(\d+)\b")  # of columns in a query
FRAME = "data frame"  # in messages, instead of a file

Value = TypeVar("Value")
KeyPath = tuple[str, ...]
MAGIC = b"SQLite format 3\0"  # how such a file begins
ADDRESS = "sqlite:///"  # how its address does
Format = Literal["csv", "ndjson", "json", "parquet", "sqlite", "workbook", "frame"]


@dataclass(frozen=True)
class Source:
    """Rows that can be scanned.

    Queries may name the view ``predictions``, which has for column 3 of the file ``text_3`` (NULL if there is
    none), ``trimmed_3`` (without the blanks around it), ``number_3`` (NULL when it is none), ``code_3`` (0 or
    1, NULL when it is neither) and ``group_3`` (what rows of one text share: the text, or the code of a
    category). So has ``sample``, for the first `first_rows` rows.

    Parameters
    ----------
    database : DuckDBPyConnection
        What scans them.
    name : str
        As the user gave it; "-" for standard input.
    columns : tuple of str
        Trimmed names; empty for a column without a name, or with that of another one.
    doubled : tuple of str
        The names that several columns have that differ: nobody can say which is meant.
    copies : tuple of (str, int)
        These names with each column that has them.
    format : {"csv", "ndjson", "json", "parquet", "sqlite", "workbook", "frame"}
        How the rows are written.
    path : Path
        Where the bytes are.
    zipped : bool
        Whether they are compressed with gzip.
    separator : str
        Between the cells of a text table.
    notes : tuple of str
        What a reader should know.
    table, first_table : str
        What to read all rows and the first ones from, in SQL.
    in_sql : tuple of sql.ColumnSql
        How each column is read from there.
    once : str
        What to read each row of the file once from, in SQL, where a row stands for several people or rows are
        left out.
    alone : Source, or None
        These rows without the last column, where that holds the scores of another file.
    dropped : tuple of (str, str)
        Why rows are left out, and what to read these from, in SQL.
    kept : str
        The condition in SQL, by the names of columns in queries, of the rows that options keep.
    rows_above : int or None
        How many rows of a sheet, or lines of a text, stand above the first person's; None where that is not
        known.
    other_sheets : tuple of str
        Sheets of the workbook that are not read, and could be.
    lists : tuple of str
        Columns that are not read, as a cell of theirs is a list.
    """

    database: "DuckDBPyConnection"
    name: str
    columns: tuple[str, ...]
    format: Format
    path: Path = Path()
    zipped: bool = False
    separator: str = ""
    notes: tuple[str, ...] = ()
    table: str = ""
    first_table: str = "first"
    in_sql: tuple[sql.ColumnSql, ...] = ()
    once: str = ""
    alone: "Source | None" = None
    doubled: tuple[str, ...] = ()
    copies: tuple[tuple[str, int], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    kept: str = "true"
    rows_above: int | None = None
    other_sheets: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()

    @property
    def column_index(self) -> dict[str, int]:
        """Where each column that has a name is."""
        return {name: i for i, name in enumerate(self.columns) if name}

    @property
    def bytes_sql(self) -> str:
        """Where the bytes are and how they are compressed, in SQL."""
        return f"{sql.quoted(str(self.path))}, compression='{'gzip' if self.zipped else 'uncompressed'}'"

    @property
    def first_rows(self) -> int:
        """How many rows ``sample`` has at most: fewer of a wide table."""
        return max(1000, min(SAMPLE, SAMPLE_CELLS // max(1, len(self.columns))))

    @property
    def memory(self) -> float:
        """How many MiB a scan may use: more of a wide table."""
        if len(self.columns) > FEW_COLUMNS:
            return MEMORY + MEMORY_OF_COLUMN * len(self.columns)
        return MEMORY

    def in_batches(self, values: Sequence[Value]) -> Iterator[Sequence[Value]]:
        """Yield columns, or sets of them, in parts that one query may group by within the memory."""
        size = TABLES // MOST_THREADS
        if len(values) > size:
            (threads,) = self.row("SELECT current_setting('threads')")
            size = max(1, TABLES // int(threads))
        return in_batches(values, size)

    def with_first_rows(self) -> "Source":
        """Keep the first rows of a file for ``sample``; these are read from then on where they are all."""
        if self.format == "frame":
            return self
        limit = f"CREATE TEMP TABLE {self.first_table} AS SELECT * FROM {self.table} LIMIT {self.first_rows}"
        self.database.execute(limit)
        (rows,) = self.database.execute(f"SELECT count(*) FROM {self.first_table}").fetchone() or (0,)
        if rows < self.first_rows:
            return replace(self, table=self.first_table)
        return self

    def with_people(self, column: int) -> "Source":
        """Return a row for each person, where a column says how many people a row stands for."""
        times = f"range(CAST({self.in_sql[column].number} AS BIGINT))"
        all_people, first_people = (
            f"(SELECT once.* FROM {table} AS once, {times})" for table in (self.table, self.first_table)
        )
        names = tuple("" if i == column else name for i, name in enumerate(self.columns))
        people = replace(self, table=all_people, columns=names, once=self.table)
        if self.format == "frame":
            return replace(people, first_table=first_people)
        return people

    def with_equal_copies(self) -> "Source":
        """Return these rows with each name whose columns hold the same in every row for the first of them."""
        columns_of: dict[str, list[int]] = {}
        for name, column in self.copies:
            columns_of.setdefault(name, []).append(column)
        pairs: list[tuple[str, int, int]] = []
        for name, (column, *copies) in columns_of.items():
            pairs += [(name, column, copy) for copy in copies]
        equal = set(columns_of)
        for some_pairs in self.in_batches(pairs):
            compared = [
                f"coalesce(bool_and(trimmed_{column} IS NOT DISTINCT FROM trimmed_{copy}), true)"
                for _, column, copy in some_pairs
            ]
            answers = self.row(f"SELECT {', '.join(compared)} FROM predictions")
            for (name, _, _), is_equal in zip(some_pairs, answers, strict=True):
                if not is_equal:
                    equal.discard(name)
        if not equal:
            return self
        names = list(self.columns)
        for name in equal:
            names[columns_of[name][0]] = name
        doubled = tuple(name for name in self.doubled if name not in equal)
        other_notes = tuple(note for note in self.notes if note not in _note_doubled(self.doubled))
        listed = join_names([format_value(name) for name in sorted(equal)])
        note = f"Read once, as the columns of that name hold the same: {listed}."
        return replace(
            self,
            columns=tuple(names),
            doubled=doubled,
            copies=tuple((name, column) for name, column in self.copies if name in doubled),
            notes=(*other_notes, *_note_doubled(doubled), note),
        )

    def with_first_copies(self) -> "Source":
        """Return these rows with each name that several columns have for the first of them."""
        names = list(self.columns)
        for name, column in self.copies:
            if name not in names:
                names[column] = name
        return replace(self, columns=tuple(names), doubled=())

    def with_scores_of_1(self) -> "Source":
        """Return these rows with a column of scores that are all 1, in the place of one that there may be."""
        ones = sql.ColumnSql("'1'", "1.0", "1", "'1'")
        column = self.column_index.get("score")
        if column is None:
            return replace(self, columns=self.columns + ("score",), in_sql=self.in_sql + (ones,))
        return replace(self, in_sql=(*self.in_sql[:column], ones, *self.in_sql[column + 1 :]))

    @contextmanager
    def engine(
        self, *, ordered: bool | None = None, threads: int | None = None, memory: float | None = None
    ) -> Iterator[None]:
        """Change the settings of DuckDB within a block, and set them back.

        Parameters
        ----------
        ordered : bool, optional
            Whether rows keep the order of the file.
        threads : int, optional
            How many there are; one sums up in one order, hence with the same last digit each time.
        memory : float, optional
            MiB, beyond which it uses the disk.
        """
        import duckdb

        settings: dict[str, object] = {"preserve_insertion_order": ordered, "threads": threads}
        if memory is not None:
            settings["memory_limit"] = f"'{memory:.0f}MiB'"  # whole ones can be set back
        changed = {name: value for name, value in settings.items() if value is not None}
        before = {name: self.row(f"SELECT current_setting('{name}')")[0] for name in changed}
        try:
            for name, value in changed.items():
                self.database.execute(f"SET {name}={value}")
            yield
        finally:
            for name, value in before.items():
                with suppress(duckdb.OutOfMemoryException):  # a limit that is below what is in use
                    self.database.execute(f"SET {name}='{value}'")

    def execute(self, query: str, parameters: Sequence[object] = ()) -> "DuckDBPyConnection":
        """Run a query, for which the views have the columns that it names and no others."""
        # A query names columns of the file as `number_3`, of the view `predictions` or `sample`. Before it
        # runs, the views are made again with just the names that are found in its text: `number_3` is the
        # expression of column 3 as a number. One view with all names of all columns would be planned anew by
        # each query, which takes longer than the query where there are thousands. A table of typed rows, made
        # once, would take longer than the whole audit: so rows stream by instead.
        names = sorted({(int(column), kind) for kind, column in NAMES.findall(query)})
        expressions = [
            f"{self.in_sql[column].expression(kind)} AS {kind}_{column}"
            for column, kind in names
            if column < len(self.in_sql)
        ]
        columns = ", ".join(expressions) or "1 AS one"
        tables = {"predictions": self.table, "sample": f"{self.first_table} LIMIT {self.first_rows}"}
        for view, table in tables.items():
            if view in query:
                self.database.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM {table}")
        return self.database.execute(query, parameters)

    def texts_of(self, columns: Sequence[int]) -> list[int]:
        """Return which of the columns are texts, of which numbers and codes follow as of all texts.

        None where there are few columns: a query of each is no slower.
        """
        if len(columns) <= FEW_COLUMNS:
            return []
        return [i for i in columns if self.in_sql[i] == sql.text_column(self.in_sql[i].text)]

    def cells_of(self, texts: Sequence[int], view: str) -> str:
        """Return in SQL the cells of columns of texts, a row each: place, text, trimmed, number and code.

        `place` is the column. One query of all cells is planned in a moment; an expression for each of
        thousands of columns takes longer to plan than to compute.
        """
        cell = sql.text_column("text")
        kinds = ", ".join(f"{cell.expression(kind)} AS {kind}" for kind in ("trimmed", "number", "code"))
        all_texts = ", ".join(f"text_{i}" for i in texts)
        column_numbers = ", ".join(map(str, texts))
        cells = f"SELECT unnest([{all_texts}]) AS text, unnest([{column_numbers}]) AS place FROM {view}"
        return f"(SELECT place, text, {kinds} FROM ({cells}))"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return every row of a query."""
        return self.execute(query).fetchall()

    def row(self, query: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """Return the first row of a query; empty when there is none."""
        return self.execute(query, parameters).fetchone() or ()

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open a text format as text, line ends kept."""
        with (
            stored_files.open_bytes(self.path, self.zipped) as binary,
            io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text,
        ):
            yield text


def start_database(folder: Path) -> "DuckDBPyConnection":
    """Return DuckDB with bounded memory, what outgrows it in a folder; no downloads, no progress bar."""
    import duckdb

    database = duckdb.connect(
        config={
            "memory_limit": f"{MEMORY}MiB",
            "threads": str(min(MOST_THREADS, os.cpu_count() or 1)),
            "temp_directory": str(folder / "spill"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "pandas_analyze_sample": "0",  # a column of objects is one of texts
        }
    )
    with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets, which has no bars
        database.execute("SET enable_progress_bar=false")
    return database


def progress_of(database: "DuckDBPyConnection") -> PercentDone:
    """Return the function that says how far a query is, in per cent."""
    for setting in ("enable_progress_bar=true", "enable_progress_bar_print=false"):
        database.execute(f"SET {setting}")
    return database.query_progress


def in_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Yield a sequence in parts of a size."""
    yield from (values[start : start + size] for start in range(0, len(values), size))


def open_file(
    database: "DuckDBPyConnection",
    source: str,
    folder: Path,
    sql_table: str | None = None,
    encoding: str | None = None,
    tell: ProgressCallback = ignore_progress,
) -> Source:
    """Return the predictions in a file.

    Parameters
    ----------
    database : DuckDBPyConnection
        What scans it.
    source : str
        A path, also as ``sqlite:///path``; "-" for standard input.
    folder : Path
        Where what can be read only once is kept.
    sql_table : str, optional
        Which table of an SQLite file, or sheet of a workbook, is meant.
    encoding : str, optional
        Of a text file; one that is not UTF-8 is copied in UTF-8 to the folder.
    tell : callable
        Called with what is being done.

    Raises
    ------
    UserError
        When it cannot be read.
    """
    name = format_path(source)
    with stored_files.readable(name):
        path = stored_files.unpack(stored_files.path_on_disk(path_of(source), folder), folder, name)
        zipped, head = stored_files.read_first_bytes(path)
        notes: tuple[str, ...] = ()
        if encoding is not None and not encodings.is_utf8(encoding):
            if (packed := stored_files.find_kind(head)) is not None:
                problem = f"encoding has no effect: this is {packed.called}"
                raise user_error(problem, ("leave out ", Flag("encoding")), name)
            tell(f"copying {name} in UTF-8", None)
            path = _copy_in_utf8(path, zipped, folder, encoding, name)
            zipped, head = stored_files.read_first_bytes(path)
            notes = (f"Read as {encoding}.",)
        if head.startswith(MAGIC):
            from fairbench_cli.audit.scan.sqlite import copy_table

            table, names = copy_table(database, path, name, sql_table, tell)
            columns = [sql.text_column(f"x{i}") for i in range(len(names))]
            return _with_table(Source(database, name, (), "sqlite", path), table, names, columns)
        if stored_files.is_workbook(path, head):
            from fairbench_cli.audit.scan.spreadsheets import copy_sheet

            sheet = copy_sheet(database, path, name, sql_table, tell)
            workbook = Source(database, name, (), "workbook", path, notes=sheet.notes)
            workbook = replace(workbook, rows_above=sheet.rows_above, other_sheets=sheet.unread)
            columns = [sql.text_column(f"x{i}") for i in range(len(sheet.names))]
            return _with_table(workbook, sheet.table, sheet.names, columns)
        if sql_table is not None or source.startswith(ADDRESS):
            fix: MessageText = ("leave out ", f'"{ADDRESS}"' if sql_table is None else Flag("table"))
            raise user_error("it is no SQLite file and no workbook", fix, name)
        kind = _detect_format(name, head)
        source_file = Source(database, name, (), kind, path, zipped, notes=notes)
        if kind == "frame":
            from fairbench_cli.audit.scan.other_programs import read_frame

            if stored_files.find_kind(head) is None and (error := not_utf8_error(source_file)):
                raise error
            return replace(open_frame(database, read_frame(path, head, name)), name=name, notes=notes)
        if kind == "parquet":
            return _open_parquet(source_file)
        if not head.strip(b"\xef\xbb\xbf \t\r\n"):
            raise user_error("the file is empty", "write a header line, and rows below it", name)
        if kind != "csv" and head.startswith(codecs.BOM_UTF8):  # which DuckDB takes in CSV alone
            with stored_files.open_bytes(path, zipped) as file:
                file.seek(len(codecs.BOM_UTF8))
                source_file = replace(
                    source_file, path=stored_files.spool_stream(file, folder / "plain", name), zipped=False
                )
        if kind in JSON_LAYOUTS:
            return _open_json(source_file)
        return _open_csv(source_file, head, folder)


def open_frame(database: "DuckDBPyConnection", frame: "Frame") -> Source:
    """Return the predictions in a data frame, read where it is; the index of a pandas frame is not looked at.

    A stream that is no pandas or Polars frame and no Arrow table may give its rows only once: it is copied.

    Raises
    ------
    UserError
        When it has no columns, or is no frame at all.
    """
    names, table = _readable_frame(frame)
    if names is None:
        _register_frame(database, "frame", table)
        database.execute("CREATE TEMP TABLE copied AS SELECT * FROM frame")
        where = first_table = "copied"
    else:
        _check_names(names, FRAME)  # DuckDB takes no frame without columns
        _register_frame(database, "frame", table)
        _register_frame(
            database, "head", table.slice(0, SAMPLE) if hasattr(table, "slice") else table.head(SAMPLE)
        )
        where = "frame"
        first_table = "head"
    head = database.sql(f"SELECT * FROM {first_table} LIMIT 0")
    frame_source = Source(database, FRAME, (), "frame")
    return _with_typed_columns(
        frame_source, where, head.columns if names is None else names, head, first_table
    )


def path_of(source: str) -> str:
    """Return the path that ``sqlite:///path`` names, and any other as it is.

    Raises
    ------
    UserError
        For the address of a database that cannot be read.

    >>> path_of("sqlite:///preds.db"), path_of("preds.db")
    ('preds.db', 'preds.db')
    """
    if source.startswith(ADDRESS):
        return source.removeprefix(ADDRESS).partition("?")[0]
    if re.match(r"(postgres|mysql|mariadb|mssql|oracle|duckdb)[a-z0-9+]*://", source):
        problem = "databases other than SQLite files are not read"
        raise user_error(problem, "export the table as CSV or Parquet, and name that", format_path(source))
    return source


def _register_frame(database: "DuckDBPyConnection", name: str, table: Any) -> None:
    """Let DuckDB know a frame; of pandas frames and Arrow tables it reads what a query needs alone."""
    is_readable = type(table).__module__.partition(".")[0] in ("pandas", "pyarrow")
    database.register(name, table if is_readable else _Streamed(table))


@dataclass(frozen=True)
class _Streamed:
    """A frame as its Arrow stream alone: DuckDB would want pyarrow for a Polars frame."""

    frame: ArrowStream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


SPANS = ("period", "interval")
LIBRARIES = ("pandas", "polars", "pyarrow")
"""Whose tables can be read more than once."""


def _readable_frame(frame: Any) -> tuple[list[str] | None, Any]:
    """Return the names of a frame's columns and what DuckDB can read of it, again and again.

    Its columns are renamed, as DuckDB ignores the case of names. The names are None where it may be readable
    once only.
    """
    library = type(frame).__module__.partition(".")[0]
    kind = type(frame).__name__
    if (library, kind) == ("polars", "LazyFrame"):
        return _readable_frame(frame.collect())
    if (library, kind) in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        names = list(map(str, frame.column_names if library == "pyarrow" else frame.columns))
        new = [f"v{i}" for i in range(len(names))]
        if library == "pandas":
            renamed = frame.set_axis(new, axis=1)
            # Quarters and what `pd.cut` makes, which DuckDB does not know, are what they are called.
            type_of = {name: getattr(kind, "categories", kind) for name, kind in renamed.dtypes.items()}
            spans = [
                name for name, kind in type_of.items() if str(getattr(kind, "dtype", kind)).startswith(SPANS)
            ]
            return names, renamed.astype(dict.fromkeys(spans, "string")) if spans else renamed
        new_names = new if library == "pyarrow" else dict(zip(names, new, strict=True))
        return names, frame.rename_columns(new_names) if library == "pyarrow" else frame.rename(new_names)
    if isinstance(frame, ArrowStream):
        return None, frame
    problem = f"an object of type {type(frame).__name__} is no table"
    raise user_error(problem, "give a path, or a pandas, Polars or Arrow table")


def _copy_in_utf8(path: Path, zipped: bool, folder: Path, encoding: str, name: str) -> Path:
    """Write a text file in UTF-8 into a folder; return where it is."""
    copy = folder / "utf8"
    try:
        with stored_files.open_bytes(path, zipped) as text, copy.open("wb") as file:
            encodings.recode(text, file, encoding)
    except encodings.UndecodableError as error:
        problem = f"byte {error.byte:02X} is not {encoding}"
        fix = ("name the encoding that the file is written in, ", Flag("encoding"), f": {encodings.ADVICE}")
        raise user_error(problem, fix, f"{name}:{error.line}") from None
    return copy


def not_utf8(source: Source) -> UserError:
    """Return the error for a text that is not UTF-8, with the place of the first byte that is not."""
    error = not_utf8_error(source)
    if error is None:
        return user_error("the text is not UTF-8", ("name its encoding, ", Flag("encoding")), source.name)
    return error


def not_utf8_error(source: Source) -> UserError | None:
    """Return the error for the first byte of a text that is not UTF-8; None where all are."""
    with stored_files.open_bytes(source.path, source.zipped) as text:
        error = encodings.find_undecodable(text)
    _, head = stored_files.read_first_bytes(source.path)
    if error is None:
        return None
    encoding = encodings.likely_encoding(head, error)
    problem = f"byte {error.byte:02X}{_column_of_byte(error, head, source)} is not UTF-8"
    if encoding is None:
        also = "; letters above it are UTF-8: some rows may come from another file"
        fix: MessageText = ("mend it, or name the encoding of the whole file, ", Flag("encoding"), also)
        return user_error(problem, fix, f"{source.name}:{error.line}")
    likely = Flag("encoding", encoding)
    fix = ("name the encoding, likely ", likely, f"; else {encodings.ADVICE}")
    return user_error(problem, fix, f"{source.name}:{error.line}", remedy=(likely,))


def _column_of_byte(error: encodings.UndecodableError, head: bytes, source: Source) -> str:
    """Return the clause on the column of a byte, by the header, and what its cell begins with."""
    if source.format != "csv" or error.line == 1:
        return f", after {format_value(error.before[-SHOWN_BEFORE:])},"
    first_line = head.splitlines()[0].decode("latin-1").removeprefix("ï»¿")
    marks = (source.separator,) if source.separator else (",", ";", "\t", "|")
    mark = max(marks, key=lambda character: len(_parse_header(first_line, character)))
    header = _parse_header(first_line, mark)
    cells = next(csv.reader([error.before], delimiter=mark), None) or [""]
    clause = ""
    if len(cells) <= len(header):
        clause = f" in column {format_value(header[len(cells) - 1].strip(sql.BLANKS))}"
    if cells[-1]:
        clause += f", after {format_value(cells[-1][-SHOWN_BEFORE:])},"
    return clause


def _detect_format(name: str, head: bytes) -> Format:
    if head.startswith(stored_files.PARQUET):
        return "parquet"
    other = stored_files.find_kind(head)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if other is not None and not other.is_read:
        raise other.refusal(name)
    if other is not None or stored_files.is_arff(start):
        return "frame"
    _refuse_binary(name, head)
    if start[:15].lower().startswith((b"<html", b"<!doctype", b"<table", b"<?xml")):
        problem = "this is a web page or XML, whatever its name says"
        raise user_error(problem, "open it in the program that it is from, and save it as .xlsx or CSV", name)
    if re.match(rb"\[\s*\{", start):
        return "json"
    if start.startswith((b"[[", b"[\n", b"[\r", b"[ ")):
        raise user_error("this is a JSON array, not one of objects", "write one object per person", name)
    if name.lower().removesuffix(".gz").endswith((".parquet", ".pq")) and head:
        raise user_error("this is not a Parquet file", "name it after what it is, for instance .csv", name)
    by_name = name.lower().removesuffix(".gz").endswith((".ndjson", ".jsonl"))
    if by_name or start.startswith(b"{"):
        return "ndjson"
    return "csv"


def _refuse_binary(name: str, head: bytes) -> None:
    """Refuse bytes that are no text in UTF-8: UTF-16 as such, and what nobody knows."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        likely = "utf-16"
    elif b"\x00" in head[:200]:
        likely = next((name for name in WIDE if _reads_as(head[:200], name)), "")
    else:
        return
    if likely:
        flag = Flag("encoding", likely)
        problem = f"this is {likely.upper()}, not UTF-8 text"
        raise user_error(
            problem, ("name its encoding, ", flag, ", or save it as UTF-8"), name, remedy=(flag,)
        )
    raise user_error(
        "this is no text, and no kind of file that is known by its first bytes", stored_files.AGAIN, name
    )


def _reads_as(head: bytes, encoding: str) -> bool:
    """Return whether bytes are Western text in an encoding of two bytes a letter."""
    text = head[: len(head) // 2 * 2].decode(encoding, "replace")
    return all(letter.isprintable() or letter in "\t\r\n" for letter in text) and text[:20].isascii()


def _open_parquet(source: Source) -> Source:
    import duckdb

    table = f"read_parquet({sql.quoted(str(source.path))}, hive_partitioning=false)"
    try:
        head = source.database.sql(f"SELECT * FROM {table} LIMIT 0")
        schema = f"SELECT name, num_children FROM parquet_schema({sql.quoted(str(source.path))})"
        _, *fields = source.rows(schema)
    except duckdb.Error:
        raise user_error("the Parquet data are damaged", "write the file again", source.name) from None
    names = head.columns
    if len(fields) == len(names) and not any(n_children for _, n_children in fields):
        names = [name for name, _ in fields]  # DuckDB gives columns of one name others of its own
    return _with_typed_columns(source, table, names, head)


def _with_typed_columns(
    source: Source, table: str, names: Sequence[str], head: "DuckDBPyRelation", first_table: str = "first"
) -> Source:
    """Return a table of columns of any type; fields of structs have dotted names, lists are left out."""
    columns: list[tuple[str, sql.ColumnSql]] = []
    lists: list[str] = []

    def add(name: str, value: str, kind: Any) -> None:
        if kind.id == "struct" and str(kind).count(",") < MOST_FIELDS:
            for field, field_kind in kind.children:
                add(f"{name}.{field}", f"struct_extract({value}, {sql.quoted(field)})", field_kind)
        elif kind.id in ("list", "array", "map", "union"):
            lists.append(name)
        else:
            columns.append((name, sql.typed_column(value, str(kind))))

    for name, column, kind in zip(names, head.columns, head.types, strict=True):
        add(name, sql.identifier(column), kind)
    opened = _without_lists(source, lists)
    return _with_table(
        opened, table, [name for name, _ in columns], [column for _, column in columns], first_table
    )


def _without_lists(source: Source, lists: Sequence[str]) -> Source:
    """Return a source with a note on the columns that are left out, as a cell of theirs is a list."""
    if not lists:
        return source
    note = f"{LEFT_OUT} a cell holds a list: {join_names([format_value(name) for name in lists])}."
    return replace(source, lists=tuple(lists), notes=source.notes + (note,))


def _open_json(source: Source) -> Source:
    """Return JSON objects, one per line or in an array, with a column for each key."""
    name = source.name
    number = 0
    kinds: dict[KeyPath, set[str]] = {}
    n_objects = 0
    try:
        for number, line in enumerate(_json_texts(source), 1):
            if line.strip():
                record = json.loads(line)
                if not isinstance(record, dict):
                    problem = "a line is not a JSON object"
                    raise user_error(problem, 'write {"score": 1, …}', f"{name}:{number}")
                n_objects += 1
                _note_kinds(record, (), kinds)
    except UnicodeError:
        raise not_utf8(source) from None
    except (json.JSONDecodeError, RecursionError) as error:
        _refuse_document(source)
        raise user_error(f"not JSON: {error}", "write one JSON object per line", f"{name}:{number}") from None
    if n_objects == 1 and all(kind & {"list", "fields"} for path, kind in kinds.items() if len(path) == 1):
        _refuse_document(source)
    if number == SAMPLE:
        for key in _read_all_keys(source):
            kinds.setdefault((key,), {"value"})
    return _with_keys(source, kinds)


def _json_texts(source: Source) -> Iterator[str]:
    """Yield the texts of the first objects."""
    if source.format == "ndjson":
        with source.text() as text:
            yield from islice(text, SAMPLE)
        return
    import duckdb

    objects = f"SELECT json::VARCHAR FROM {_json_objects(source)} LIMIT {SAMPLE}"
    try:
        texts = source.database.execute(objects).fetchall()
    except duckdb.Error as error:
        problem = f"not an array of JSON objects: {str(error).splitlines()[0]}"
        raise user_error(problem, "write one JSON object per line (.ndjson)", source.name) from None
    yield from (text for (text,) in texts)


def _json_objects(source: Source) -> str:
    return f"read_json_objects({source.bytes_sql}, format='{JSON_LAYOUTS[source.format]}')"


def _note_kinds(record: dict[str, Any], above: KeyPath, kinds: dict[KeyPath, set[str]]) -> None:
    """Note of each key of an object whether it has values, lists, or fields of its own."""
    for key, value in record.items():
        kind = kinds.setdefault(above + (key,), set())
        if isinstance(value, dict):
            kind.add("fields")
            _note_kinds(value, above + (key,), kinds)
        elif isinstance(value, list):
            kind.add("list")
        elif value is not None:
            kind.add("value")


def _refuse_document(source: Source) -> None:
    """Refuse a file that is one JSON object with a whole table in it."""
    from fairbench_cli.audit.scan.other_programs import describe_document

    with source.text() as text:
        error = describe_document(text.read(LARGEST_DOCUMENT), source.name)
    if error is not None:
        raise error


def _with_keys(source: Source, kinds: dict[KeyPath, set[str]]) -> Source:
    """Return JSON objects with a column for each key, and for each field of what is an object in its turn."""
    name = source.name
    notes = source.notes
    keys = [path[0] for path in kinds if len(path) == 1]
    if "" in keys:  # which DuckDB does not know
        notes += ("A key without a name is left out.",)
    keys = [key for key in keys if key]
    if len({key.lower() for key in keys}) < len(keys):
        raise user_error("two keys differ only in capitals", "rename one of them", name)
    all_keys = "".join(chain.from_iterable(kinds))
    if "\x00" in all_keys:
        raise user_error("a key holds a NUL character", "rename it", name)
    if any("\ud800" <= letter <= "\udfff" for letter in all_keys):
        raise user_error("a key holds half of a character", "rename it", name)
    columns: dict[str, sql.ColumnSql] = {}
    lists: list[str] = []
    n_fields = Counter(path[0] for path in kinds)
    for path, kind in kinds.items():
        dotted = ".".join(path)
        if path[0] and n_fields[path[0]] > MOST_FIELDS:  # numbers of a model's rather than facts
            if len(path) == 1:
                columns[dotted] = sql.text_column(sql.identifier(dotted))
            continue
        if not path[0] or kind == {"fields"} or (len(path) > 1 and (dotted in keys or dotted in columns)):
            continue
        if kind == {"list"}:
            lists.append(dotted)
            continue
        value = sql.identifier(path[0])
        if len(path) > 1:
            place = "$" + "".join("." + json.dumps(key, ensure_ascii=False) for key in path[1:])
            value = (
                f"CASE WHEN json_valid({value}) THEN json_extract_string({value}, {sql.quoted(place)}) END"
            )
        columns[dotted] = sql.text_column(value)
    types = ", ".join(f"{sql.quoted(key)}: 'VARCHAR'" for key in keys)
    options = f"format='{JSON_LAYOUTS[source.format]}', columns={{{types}}}, hive_partitioning=false"
    table = f"read_json({source.bytes_sql}, {options})"
    opened = _without_lists(replace(source, notes=notes), lists)
    return _with_table(opened, table, list(columns), list(columns.values()))


def _read_all_keys(source: Source) -> list[str]:
    """Return the keys of all objects, sorted; none where a line is no JSON, which is refused later."""
    import duckdb

    keys_sql = f"SELECT DISTINCT json_keys(json) AS keys FROM {_json_objects(source)}"
    with suppress(duckdb.Error):
        key_rows = source.database.execute(f"SELECT DISTINCT unnest(keys) AS k FROM ({keys_sql}) ORDER BY k")
        return [key for (key,) in key_rows.fetchall()]
    return []


def _open_csv(source: Source, head: bytes, folder: Path) -> Source:
    name = source.name
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < stored_files.SNIFF)
    except UnicodeDecodeError:
        raise not_utf8(source) from None
    if len(head) == stored_files.SNIFF and len(text.splitlines()) == 1:
        problem = "the first line is longer than any header"
        raise user_error(problem, "check that this is a CSV file", f"{name}:1")
    tabs = name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    usual = "\t" if tabs else ","
    separator = usual
    headers = {mark: _parse_header(text, mark) for mark in dict.fromkeys((separator, *";\t|,"))}
    if len(headers[separator]) < 2:
        mark_of_most = max(headers, key=lambda mark: len(headers[mark]))
        if len(headers[mark_of_most]) > 1:
            separator = mark_of_most
    header = headers[separator]
    lines_above = 1
    notes: tuple[str, ...] = ()
    table = find_table(text, header, separator, name)
    if table is not None:
        header = table.names
        separator = table.separator
        lines_above = table.lines_above
        notes = table.notes
    elif not text.splitlines()[0].strip(sql.BLANKS):
        raise user_error("the first line is blank", "start with the header", f"{name}:1")
    if not header:
        raise user_error("the header cannot be read", "check its quotes", f"{name}:1")
    if separator != usual:
        called = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}.get(separator, separator)
        notes = (f"Columns are separated by {called}.", *notes)
    if len(header) > 1 and not source.zipped and (cut := find_cut(source.path, separator, len(header))):
        end, notes_below = cut
        notes += notes_below
        with source.path.open("rb") as file:
            source = replace(source, path=stored_files.spool_stream(file, folder / "table", name))
        os.truncate(source.path, end)
    source = replace(source, notes=source.notes + notes, rows_above=lines_above)
    kinds = ", ".join(f"'x{i}': 'VARCHAR'" for i in range(len(header)))
    mark = sql.quoted(separator)
    names_in = f"header=false, skip={lines_above}" if table is not None else "header=true"
    options = (
        f"auto_detect=false, {names_in}, delim={mark}, quote='\"', escape='\"', strict_mode=true, "
        f"hive_partitioning=false, buffer_size={BUFFER}, max_line_size={LONGEST}, columns={{{kinds}}}"
    )
    if source.zipped:
        options += ", parallel=false"  # in parallel, a last row longer than the buffer would be lost
    elif _ends_with_long_row(source.path):
        raise too_long(name)
    separated = replace(source, separator=separator)
    columns = [sql.text_column(f"x{i}") for i in range(len(header))]
    return _with_table(separated, f"read_csv({source.bytes_sql}, {options})", header, columns)


def _ends_with_long_row(path: Path) -> bool:
    """Return whether the last row of a file is longer than `LONGEST`, which DuckDB may pass over."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size <= BUFFER:
            return False
        file.seek(-LONGEST - 2, os.SEEK_END)  # with its line end
        return not set(b"\r\n") & set(file.read().rstrip(b"\r\n"))


def too_long(where: str) -> UserError:
    """Return the error for a row of very many bytes."""
    return user_error(f"the row is longer than {LONGEST} bytes", "leave out columns of long texts", where)


def _parse_header(text: str, separator: str) -> list[str]:
    """Return the cells of the first line; none where its quotes do not go with the separator."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        return []


def _check_names(names: list[str], name: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the trimmed names of columns, those that several have, and what a reader should know of them.

    Of a name that several columns have, none keeps it.
    """
    if not names:
        raise user_error("there are no columns", "give a table that has some", name)
    trimmed = tuple(map(_trim, names))
    columns_of = Counter(text for text in trimmed if text)
    doubled = tuple(sorted(text for text, n_columns in columns_of.items() if n_columns > 1))
    notes = _note_doubled(doubled)
    if any(text != stripped for text, stripped in zip(names, trimmed, strict=True) if stripped):
        notes.append("Blanks around column names were trimmed.")
    unnamed = [i for i, text in enumerate(trimmed, 1) if not text]
    if unnamed:
        notes.append(f"Columns without a name are left out: {', '.join(map(str, unnamed))}.")
    unambiguous = tuple("" if text in doubled else text for text in trimmed)
    return unambiguous, doubled, tuple(notes)


def _note_doubled(doubled: Sequence[str]) -> list[str]:
    """Return a note of the names that several columns have, where there are such."""
    if not doubled:
        return []
    return [
        f"{LEFT_OUT} several columns have one name: {join_names([format_value(text) for text in doubled])}."
    ]


def _trim(name: str) -> str:
    return name.strip(sql.BLANKS)


def _with_table(
    source: Source, table: str, names: list[str], columns: list[sql.ColumnSql], first_table: str = "first"
) -> Source:
    """Return the predictions in a table, given names and each column in SQL.

    `first_table` has its first rows.
    """
    unambiguous, doubled, notes = _check_names(names, source.name)
    return replace(
        source,
        columns=unambiguous,
        doubled=doubled,
        copies=tuple((text, i) for i, text in enumerate(map(_trim, names)) if text in doubled),
        notes=source.notes + notes,
        table=table,
        first_table=first_table,
        in_sql=tuple(columns),
    )
