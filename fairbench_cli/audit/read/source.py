"""The file of an audit: where its bytes are, and how to scan it."""

import gzip
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast

from fairbench_cli.errors import user_error

BLANKS = " \t\r\n\v\f\u00a0\ufeff"
SNIFF = 1 << 18
SAMPLE = 10_000
Format = Literal["csv", "ndjson", "parquet"]
NOT_UTF8 = "save it as UTF-8, for instance `iconv -f latin1 -t utf-8 FILE > NEW`"


@dataclass(frozen=True)
class Source:
    """A file that can be scanned.

    Parameters
    ----------
    name : str
        As the user gave it; "-" for standard input.
    path : Path
        Where the bytes are.
    format : {"csv", "ndjson", "parquet"}
        How they are written.
    zipped : bool
        Whether they are compressed with gzip.
    separator : str
        Between the cells of a text table.
    columns : tuple of str
        Trimmed names; empty for a column without a name.
    relation : str
        What to write after FROM: columns c0, c1, … as text, and n0, n1, … for columns stored as numbers.
    numbers : frozenset of int
        Columns that are stored as numbers.
    notes : tuple of str
        What a reader should know.
    """

    name: str
    path: Path
    format: Format
    zipped: bool
    separator: str
    columns: tuple[str, ...]
    relation: str
    numbers: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


def quoted(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """Write a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def opened(source: Source) -> Iterator[TextIO]:
    """Open a text format as text, line ends kept."""
    with (
        _unzipped(source.path, source.zipped) as binary,
        io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text,
    ):
        yield text


def on_disk(source: str, stdin: BinaryIO | None, folder: Path) -> Path:
    """Return a path that may be read more than once and that DuckDB takes literally."""
    try:
        if source == "-":
            if stdin is None:
                import sys

                stdin = sys.stdin.buffer
            return _spool(stdin, folder)
        path = Path(source)
        if path.is_dir():
            raise user_error("it is a folder", "name a file of predictions", source)
        if not path.exists():
            raise user_error("no such file", "check the path", source)
        with path.open("rb") as file:
            if not path.is_file():  # a pipe
                return _spool(cast("BinaryIO", file), folder)
        path = path.absolute()
        if set("*?[]{}") & set(str(path)):  # DuckDB would look for many files
            link = folder / "input"
            link.symlink_to(path)
            return link
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise user_error(f"cannot be read: {reason}", "check the path and its permissions", source) from None
    return path


def _spool(stream: BinaryIO, folder: Path) -> Path:
    path = folder / "input"
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def _unzipped(path: Path, zipped: bool) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path) if zipped else path.open("rb"))


def first_bytes(path: Path, name: str) -> tuple[bool, bytes]:
    """Tell whether the file is gzip, and return its first bytes without the compression."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    try:
        with _unzipped(path, zipped) as file:
            return zipped, file.read(SNIFF)
    except (OSError, EOFError, gzip.zlib.error):  # type: ignore[attr-defined]
        raise user_error("the gzip data are damaged", "compress the file again", name) from None
