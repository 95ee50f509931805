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
from fairbench_cli.measures.counts import Floats

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

    >>> unpacked(packed([0, 1, 1])).tolist(), unpacked(packed([0.0, 0.2, 1.0])).tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.2, 1.0])
    """
    chance = np.asarray(accepted, dtype=np.float64)
    whole = bool(((chance == 0) | (chance == 1)).all())
    rows = np.packbits(chance.astype(np.uint8)) if whole else np.rint(STEPS * chance).astype(np.uint8)
    left = -len(chance) % 8 if whole else 0
    head = (BITS if whole else BYTES) + bytes([left])
    return base64.b64encode(zlib.compress(head + rows.tobytes(), 9)).decode("ascii")


def unpacked(text: str) -> Floats:
    """Return the chance with which each row is accepted, shape (rows,), as float32.

    Raises
    ------
    ValueError
        When the text is not one of `packed`.
    """
    try:
        body = zlib.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"no decisions: {error}") from None
    rows = np.frombuffer(body, np.uint8, offset=min(2, len(body)))
    if body[:1] == BITS and body[1] < 8:
        return np.unpackbits(rows)[: 8 * len(rows) - body[1]].astype(np.float32)
    if body[:2] == BYTES + b"\x00":
        return (rows / np.float32(STEPS)).astype(np.float32)
    raise ValueError("no decisions: an unknown form")
