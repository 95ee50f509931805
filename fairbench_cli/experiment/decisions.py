"""Decisions on test rows: those that all repeats share in a short text, and whole rows where they are kept.

Counts do not know how far two models agree row by row, and whether a difference between them would be there
on other rows hangs on that. Rows are put in the order of `order_of_rows`, in which rows that look alike stand
together: one bit a row, compressed, is then about 3 kB for the 48,842 rows of Adult.

With `predictions: true` a repeat also has its rows as they come: what each is, and its score.
"""

import base64
import binascii
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field

from fairbench_cli.data.table import Labels, Table

ROWS = ".rows"  # the ending of a file of packed rows
# a row takes: the first byte of what is compressed
BITS = b"\x01"
BYTES = b"\x08"
STEPS = 255  # of a chance that takes a byte


def order_of_rows(group: NDArray[np.intp], y: Labels, features: Table) -> NDArray[np.intp]:
    """Return rows by group, then label, then features, the first column first; equal rows as they come.

    Groups and labels are then blocks whose sizes the counts know.

    Parameters
    ----------
    group : int array, shape (rows,)
        Joint level of all protected attributes.
    y : int array, shape (rows,)
        Label.
    features : Table
        Of the same rows.
    """
    return np.lexsort((*features.codes.T[::-1], y, group))


def packed(accepted: ArrayLike, level: int = 9) -> str:
    """Return decisions as text: a bit each, or a byte where some are chances of being accepted.

    A chance is rounded to the nearest of 255 steps. With `level` 0 nothing is compressed, which is quick.

    >>> unpacked(packed([0, 1, 1]), 3).tolist(), unpacked(packed([0.0, 0.6, 1.0]), 3).tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.6000000238418579, 1.0])
    """
    chance = np.asarray(accepted, dtype=np.float64)
    is_certain = bool(((chance == 0) | (chance == 1)).all())
    if is_certain:
        rows = np.packbits(chance.astype(np.uint8))
    else:
        rows = np.rint(STEPS * chance).astype(np.uint8)
    body = (BITS if is_certain else BYTES) + rows.tobytes()
    return base64.b64encode(zlib.compress(body, level)).decode("ascii")


def unpacked(text: str, rows: int) -> NDArray[np.float32]:
    """Return the chance with which each of so many rows is accepted, shape (rows,).

    Raises
    ------
    ValueError
        When the text is not one of `packed`, or of another number of rows.
    """
    return (unpacked_steps(text, rows) / np.float32(STEPS)).astype(np.float32)


def unpacked_steps(text: str, rows: int) -> NDArray[np.uint8]:
    """Return the chance with which each of so many rows is accepted, in steps of 1/255, shape (rows,).

    Raises
    ------
    ValueError
        When the text is not one of `packed`, or of another number of rows.
    """
    unpacking = zlib.decompressobj()
    try:
        body = unpacking.decompress(base64.b64decode(text, validate=True), rows + 2)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"no decisions: {error}") from None
    stored = np.frombuffer(body, np.uint8, offset=min(1, len(body)))
    if unpacking.eof and body[:1] == BITS and len(stored) == -(-rows // 8):
        return np.unpackbits(stored, count=rows) * np.uint8(STEPS)
    if unpacking.eof and body[:1] == BYTES and len(stored) == rows:
        return stored
    raise ValueError(f"no decisions of {rows} rows")


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Test rows and what was decided on them; all arrays have the shape (rows,).

    Parameters
    ----------
    row : int array
        Which of the data set's rows each is, from 0; of rows that a network drew, which of the repeat's.
    group : int array
        Joint level of all protected attributes.
    label, decision : int arrays
        1 for the favourable outcome.
    score : float array or None
        None where the model has none.
    """

    row: NDArray[Any]
    group: NDArray[Any]
    label: NDArray[Any]
    decision: NDArray[Any]
    score: NDArray[Any] | None


@dataclass(frozen=True)
class RowsPlace:
    """Where the packed rows of a repeat stand: which bytes of which file next to the journals.

    Parameters
    ----------
    crc : str
        CRC-32 of what is packed, in hexadecimal.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    file: Annotated[str, Field(pattern=rf"^[A-Za-z0-9][A-Za-z0-9-]*\{ROWS}$")]
    at: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=1)]
    crc: Annotated[str, Field(pattern="^[0-9a-f]{8}$")]


_KEPT = ("row", "<i4"), ("group", "<i4"), ("label", "u1"), ("decision", "u1")
_SCORE = "<f8"


def pack_rows(rows: PredictedRows) -> bytes:
    """Return rows as bytes, compressed; the numbers of rows and groups as steps from one to the next.

    >>> one = np.array([3, 4]), np.array([0, 1]), np.array([1, 0]), np.array([1, 1]), np.array([0.5, 0.25])
    >>> again = unpack_rows(pack_rows(PredictedRows(*one)), 2)
    >>> again.row.tolist(), again.group.tolist(), again.label.tolist(), again.score.tolist()
    ([3, 4], [0, 1], [1, 0], [0.5, 0.25])
    """
    chunks = []
    for name, kind in _KEPT:
        column = np.asarray(getattr(rows, name))
        chunks.append((np.diff(column, prepend=0) if kind == "<i4" else column).astype(kind).tobytes())
    if rows.score is not None:
        chunks.append(np.asarray(rows.score).astype(_SCORE).tobytes())
    return zlib.compress(b"".join(chunks), 6)


def read_rows(journals: Path, position: RowsPlace, rows: int) -> PredictedRows:
    """Return so many rows from where they stand, next to the journals.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When what stands there is something else.
    """
    with (journals / position.file).open("rb") as file:
        file.seek(position.at)
        packed = file.read(position.bytes)
    rows_read = unpack_rows(packed, rows)
    if crc_of_rows(packed) != position.crc:
        raise ValueError("its checksum is another")
    return rows_read


def unpack_rows(packed: bytes, rows: int) -> PredictedRows:
    """Return so many rows that were packed.

    Raises
    ------
    ValueError
        When the bytes are none of `pack_rows`, or of another number of rows.
    """
    least = rows * sum(np.dtype(kind).itemsize for _, kind in _KEPT)
    most = least + rows * np.dtype(_SCORE).itemsize
    unpacking = zlib.decompressobj()
    try:
        body = unpacking.decompress(packed, most + 1)
    except zlib.error as error:
        raise ValueError(f"no rows: {error}") from None
    if not unpacking.eof or len(body) not in (least, most):
        raise ValueError(f"no {rows} rows")
    columns: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, kind in _KEPT:
        columns[name] = np.frombuffer(body, kind, rows, offset)
        offset += columns[name].nbytes
        if kind == "<i4":
            columns[name] = np.cumsum(columns[name])
    score = None
    if len(body) > offset:
        score = np.frombuffer(body, _SCORE, rows, offset)
    return PredictedRows(**columns, score=score)


def crc_of_rows(packed: bytes) -> str:
    """Return the CRC-32 of what is packed: the same however it was compressed."""
    return f"{zlib.crc32(zlib.decompress(packed)):08x}"
