"""Files as they are stored: known by their first bytes, kept where they can be read again, unpacked."""

import bz2
import gzip
import json
import lzma
import os
import re
import select
import shlex
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from fairbench_cli.base.errors import UserError, format_value, user_error
from fairbench_cli.base.safe_text import format_path, join_names

ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, and what has a password
ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SNIFF = 1 << 18  # bytes
CHUNK = 1 << 20  # bytes that are copied at once
MOST_WRAPPED = 3  # archives within each other
MOST_NAMED = 3  # files in an archive
UNSEEN = ("__MACOSX/", ".")  # how the names of files begin that systems put into archives
PARQUET = b"PAR1"
READ = ("read_stata", "read_sas", "read_spss", "read_feather")
HEAD = 4096  # bytes that show what a file is
AGAIN = "open it in the program that it is from, and save the table as CSV"


@dataclass(frozen=True)
class KnownFile:
    """A kind of file.

    Parameters
    ----------
    called : str
        What it is, with an article.
    magic : tuple of bytes
        What it begins with.
    fix : str
        What to do; ``{path}`` and ``{csv}`` are quoted for a shell.
    reader : str
        The function of pandas that reads it.
    needs : str
        What pandas needs for that, where that is more than fairbench needs.
    start : int
        Where the magic bytes stand.
    """

    called: str
    magic: tuple[bytes, ...]
    fix: str = AGAIN
    reader: str = ""
    needs: str = ""
    start: int = 0

    @property
    def is_read(self) -> bool:
        """Whether audits read it: pandas does, and runs no code of the file's."""
        return self.reader in READ

    def refusal(self, name: str) -> UserError:
        """Return the error for a file of this kind, by its name, where it is not read."""
        csv = csv_name(name)
        fix = self.fix.format(path=shlex.quote(name), csv=shlex.quote(csv))
        if self.reader:
            saved = save_as_csv(f"pandas.{self.reader}({json.dumps(name)})", name)
            needed = f"where {self.needs} is installed" if self.needs else self.fix
            fix = f"{needed}, {saved}" if needed != AGAIN else saved
        return user_error(f"this is {self.called}", fix, name)


OLD_STATA = tuple(
    bytes((version, order, 1, 0)) for version, order in product((108, 110, 111, 113, 114, 115), (1, 2))
)
BEGINS_ARFF = re.compile(rb"(?:\s*%[^\n]*\n|\s*\n)*\s*@relation\b", re.IGNORECASE)
KINDS = (
    KnownFile("a Stata file", (b"<stata_dta>", *OLD_STATA), reader="read_stata"),
    KnownFile(
        "a SAS file",
        (bytes(12) + b"\xc2\xea\x81\x60", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!"),
        reader="read_sas",
    ),
    KnownFile("an SPSS file", (b"$FL2@(#)", b"$FL3@(#)"), reader="read_spss", needs="pyreadstat"),
    KnownFile("an Arrow or Feather file", (b"ARROW1\0\0", b"FEA1\0"), reader="read_feather", needs="pyarrow"),
    KnownFile("an HDF5 file", (b"\x89HDF\r\n\x1a\n",), reader="read_hdf", needs="tables"),
    KnownFile(
        "a pickle, which may run any code when it is read",
        tuple(bytes((0x80, protocol)) for protocol in (2, 3, 4, 5)),
        "only if you know who made it",
        reader="read_pickle",
    ),
    KnownFile(
        "an R data set (.rds)",
        (b"X\n\0\0\0\2", b"X\n\0\0\0\3"),
        "save it as CSV: Rscript -e 'f <- commandArgs(TRUE); write.csv(readRDS(f[1]), f[2], row.names = "
        "FALSE)' {path} {csv}",
    ),
    KnownFile(
        "an R workspace (.RData)",
        (b"RDX2\nX\n", b"RDX3\nX\n"),
        "save it as CSV: Rscript -e 'f <- commandArgs(TRUE); write.csv(get(load(f[1])[1]), f[2], "
        "row.names = FALSE)' {path} {csv}",
    ),
    KnownFile(
        "NumPy's data", (b"\x93NUMPY",), "save it as CSV with numpy.savetxt, and the names of columns above"
    ),
    KnownFile(
        "a PDF", (b"%PDF",), "ask for the table that it was made from, or copy it to a sheet and save that"
    ),
    KnownFile("rich text (.rtf)", (b"{\\rtf",)),
    KnownFile(
        "a picture",
        (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"),
        "give the table that it shows, as CSV",
    ),
    KnownFile("a Microsoft Access file", (b"\0\1\0\0Standard Jet DB", b"\0\1\0\0Standard ACE DB")),
    KnownFile(
        "a DuckDB file",
        tuple(b"DUCK" + bytes((version, 0, 0, 0)) for version in range(39, 100)),
        "export the table: duckdb {path} -c \"COPY TABLE TO 'table.csv'\"",
        start=8,
    ),
    KnownFile("an Avro file", (b"Obj\1",)),
    KnownFile("zstd data", (b"\x28\xb5\x2f\xfd",), "unpack it: zstd -d {path}"),
    KnownFile("lz4 data", (b"\x04\x22\x4d\x18",), "unpack it: lz4 -d {path}"),
    KnownFile("gzip data", (b"\x1f\x8b",), "unpack it: gunzip -k {path}"),
    KnownFile("xz data", (b"\xfd7zXZ\0",), "unpack it: xz -dk {path}"),
    KnownFile("bzip2 data", (b"BZh",), "unpack it: bunzip2 -k {path}"),
    KnownFile(
        "a zip archive or a workbook",
        (b"PK\3\4", b"PK\5\6"),
        "save its sheet as CSV, or unpack it: unzip {path}",
    ),
    KnownFile("an older workbook", (OLE,), "open it, and save the sheet as CSV"),
    KnownFile("a 7z archive", (b"7z\xbc\xaf\x27\x1c",), "unpack it: 7z x {path}"),
    KnownFile("a RAR archive", (b"Rar!\x1a\7",), "unpack it: unrar x {path}"),
    KnownFile("a tar archive", (b"ustar\0", b"ustar  "), "unpack it: tar -xf {path}", start=257),
    KnownFile(
        "an SQLite file",
        (b"SQLite format 3\0",),
        "export a table: sqlite3 -csv -header {path} 'SELECT * FROM …'",
    ),
    KnownFile("a Parquet file", (PARQUET,), "give it the ending .parquet; in a card, write format: parquet"),
)


def csv_name(name: str) -> str:
    """Return the name of a file that is saved as CSV.

    >>> csv_name("in/people.dta"), csv_name("-")
    ('people.csv', 'table.csv')
    """
    return PurePath(name).with_suffix(".csv").name if PurePath(name).suffix else "table.csv"


def save_as_csv(frame: str, name: str, modules: str = "pandas") -> str:
    """Return how a frame, as code, becomes a CSV file in the place of the one called `name`."""
    code = f"import {modules}; {frame}.to_csv({json.dumps(csv_name(name))}, index=False)"
    return f"save it as CSV: python -c {shlex.quote(code)}"


def find_kind(head: bytes) -> KnownFile | None:
    r"""Return the kind of a file by its first bytes; None where that is not known, as of every text.

    >>> find_kind(b"\xfd7zXZ\0").called, find_kind(b"score,sex\n1,f\n")
    ('xz data', None)
    """
    for kind in KINDS:
        if head.startswith(kind.magic, kind.start):
            return kind
    return None


def refuse_kind(head: bytes, name: str) -> None:
    """Refuse a file that its first bytes show to be no text."""
    kind = find_kind(head)
    if kind is not None:
        raise kind.refusal(name)


def is_arff(head: bytes) -> bool:
    r"""Return whether a text begins as ARFF does.

    >>> is_arff(b"% made by Weka\n@RELATION people\n"), is_arff(b"score,sex\n")
    (True, False)
    """
    return BEGINS_ARFF.match(head) is not None


def is_workbook(path: Path, head: bytes) -> bool:
    """Return whether a file is a workbook by what is in it, whatever it is called."""
    if head.startswith(OLE):
        return True
    if not head.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            entries = set(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return path.suffix.lower() in ENDINGS
    return "[Content_Types].xml" in entries or "content.xml" in entries


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise as a `UserError` that bytes cannot be read, or not be unpacked."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise user_error("the gzip data are damaged", "compress the file again", name) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise user_error(f"cannot be read: {reason}", "check the path and its permissions", name) from None


def path_on_disk(source: str, folder: Path) -> Path:
    """Return a path that may be read more than once and that DuckDB takes literally."""
    if source == "-":
        return spool_stream(sys.stdin.buffer, folder / "input", source)
    path = Path(source)
    if path.is_dir():
        raise user_error("it is a folder", "name a file", source)
    if not path.exists():
        raise user_error("no such file", "check the path", source)
    with path.open("rb") as file:
        if not path.is_file():  # a pipe
            return spool_stream(cast("BinaryIO", file), folder / "input", source)
    path = path.absolute()
    if set("*?[]{}") & set(str(path)) or format_path(path) != str(path):
        # DuckDB would look for many files, or takes no name that is not UTF-8
        link = folder / "input"
        link.symlink_to(path)
        return link
    return path


def spool_stream(stream: BinaryIO, path: Path, name: str) -> Path:
    """Keep what can be read only once; refuse a device, and what takes over half of the free space."""
    with path.open("wb") as file:
        while chunk := _read_available(stream):
            if _is_device(stream):
                raise user_error("it is a device", "name a file, or give the rows through a pipe", name)
            file.write(chunk)
            if file.tell() > shutil.disk_usage(path.parent).free:
                size = f"{file.tell() / 1e9:.1f} GB"
                temporary = tempfile.gettempdir()
                problem = f"it goes on after {size}, half of the free space in {temporary}"
                fix = "write it to a file and name that, or set TMPDIR to a larger disk"
                raise user_error(problem, fix, name)
    return path


def _read_available(stream: BinaryIO) -> bytes:
    """Read what is there; wait for it, and for signals.

    A signal that comes just before a read that blocks is heard only when that read ends, so none blocks.
    """
    with suppress(OSError, ValueError):  # in memory, or not a pipe of POSIX
        while not select.select([stream], [], [], 0.5)[0]:
            pass
    chunk: bytes = getattr(stream, "read1", stream.read)(CHUNK)
    return chunk


def _is_device(stream: BinaryIO) -> bool:
    """Return whether a stream is a device other than a terminal, such as /dev/zero."""
    with suppress(OSError):  # of one in memory
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty()
    return False


def open_bytes(path: Path, zipped: bool) -> BinaryIO:
    """Open a file without its compression with gzip, where it is `zipped`."""
    return cast("BinaryIO", gzip.open(path) if zipped else path.open("rb"))


def read_first_bytes(path: Path) -> tuple[bool, bytes]:
    """Return whether the file is gzip, and its first bytes without the compression."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with open_bytes(path, zipped) as file:
        return zipped, file.read(SNIFF)


def unpack(path: Path, folder: Path, name: str) -> Path:
    """Return where a file is as it was before it was packed with xz, bzip2 or, alone, zip.

    gzip stays, unless what is in it is no text.

    Raises
    ------
    UserError
        Where it cannot be unpacked, or holds several files.
    """
    for wrapped in range(MOST_WRAPPED):
        packed = _open_packed(path, name)
        if packed is None:
            break
        path = folder / f"unpacked{wrapped}"
        try:
            with packed:
                spool_stream(packed, path, name)
        except (lzma.LZMAError, EOFError, zlib.error, zipfile.BadZipFile, ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise user_error("the packed data are damaged", "pack the file again", name) from None
    return path


def _open_packed(path: Path, name: str) -> BinaryIO | None:
    """Open what is in an archive; None where a file is none, or one that is read as it is."""
    zipped, head = read_first_bytes(path)
    if zipped:
        return open_bytes(path, zipped) if find_kind(head) else None
    if head.startswith(b"\xfd7zXZ\0"):
        return cast("BinaryIO", lzma.open(path))
    if head.startswith(b"BZh"):
        return cast("BinaryIO", bz2.open(path))
    if not head.startswith(b"PK\3\4") or is_workbook(path, head):
        return None
    unpacked = f"unzip {shlex.quote(name)}, and name a file of it"
    try:
        archive = zipfile.ZipFile(path)
        files = [
            entry
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.startswith(UNSEEN)
        ]
        if len(files) == 1:
            return cast("BinaryIO", archive.open(files[0]))
    except (zipfile.BadZipFile, NotImplementedError):
        raise user_error(
            "the zip archive is damaged, or of a kind that is not read", f"unpack it: {unpacked}", name
        ) from None
    except RuntimeError:
        raise user_error("the zip archive has a password", f"unpack it: {unpacked}", name) from None
    listed = join_names([format_value(entry.filename) for entry in files], MOST_NAMED)
    problem = f"the zip archive holds {listed}" if files else "the zip archive is empty"
    raise user_error(problem, f"unpack it: {unpacked}", name)
