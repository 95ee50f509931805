"""Rows sorted by group and level, and their counts."""

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Codes, Labels, Rows

Cells = NDArray[np.uint16]
Counts = NDArray[np.int64]


def cells_of(codes: Codes | Labels, s: Labels, levels: int) -> Cells:
    """Return the number of each row's cell, ``s * levels + code``, shape (rows,).

    A column has at most 2¹⁵ levels, so 16 bits are enough, and numpy sorts those by radix.
    """
    return s.astype(np.uint16) * np.uint16(levels) + codes.astype(np.uint16)


def counts_of(cells: Cells, levels: int) -> Counts:
    """Rows of each group at each level, shape (2, levels)."""
    return np.bincount(cells, minlength=2 * levels).reshape(2, levels).astype(np.int64)


def shuffled_order(cells: Cells, rng: np.random.Generator) -> Rows:
    """Order rows by their cell, those of one cell at random."""
    shuffled = rng.permutation(len(cells))
    return shuffled[np.argsort(cells[shuffled], kind="stable")]
