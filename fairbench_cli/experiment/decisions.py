"""Decisions on test rows that all repeats share, row by row, in a short text.

Counts do not know how far two models agree row by row, and whether a difference between them would be there
on other rows hangs on that. Rows are put in the order of `order_of_rows`, in which rows that look alike stand
together: one bit a row, compressed, is then about 3 kB for the 48,842 rows of Adult.
"""

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.data.table import Labels, Table

BITS, BYTES = b"\x01", b"\x08"  # a row takes: the first byte of what is compressed
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


def packed(accepted: ArrayLike) -> str:
    """Return decisions as text: a bit each, or a byte where some are chances of being accepted.

    A chance is rounded to the nearest of 255 steps.

    >>> unpacked(packed([0, 1, 1]), 3).tolist(), unpacked(packed([0.0, 0.6, 1.0]), 3).tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.6000000238418579, 1.0])
    """
    chance = np.asarray(accepted, dtype=np.float64)
    whole = bool(((chance == 0) | (chance == 1)).all())
    rows = np.packbits(chance.astype(np.uint8)) if whole else np.rint(STEPS * chance).astype(np.uint8)
    body = (BITS if whole else BYTES) + rows.tobytes()
    return base64.b64encode(zlib.compress(body, 9)).decode("ascii")


def unpacked(text: str, rows: int) -> NDArray[np.float32]:
    """Return the chance with which each of so many rows is accepted, shape (rows,).

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
    kept = np.frombuffer(body, np.uint8, offset=min(1, len(body)))
    if unpacking.eof and body[:1] == BITS and len(kept) == -(-rows // 8):
        return np.unpackbits(kept, count=rows).astype(np.float32)
    if unpacking.eof and body[:1] == BYTES and len(kept) == rows:
        return (kept / np.float32(STEPS)).astype(np.float32)
    raise ValueError(f"no decisions of {rows} rows")
