"""Counting a family: how often each level of a node occurs with each configuration of its parents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Floats, Table

DENSE_CELLS = 2**20
"""A family table of more cells than this (8 MB) is counted by sorting the configurations that occur."""

Keys = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FamilyCounts:
    """The cells of a family table that occur, in the order of the table.

    Parameters
    ----------
    cells : float64 array, shape (cells that occur,)
        Rows with this parent configuration and level.
    totals : float64 array, shape (cells that occur,)
        Rows with this cell's parent configuration.
    configurations : float64 array, shape (configurations that occur,)
        Rows with each parent configuration.
    """

    cells: Floats
    totals: Floats
    configurations: Floats


def wide_columns(table: Table) -> tuple[Keys, ...]:
    """Return the columns as int64 arrays, so that products of level counts do not overflow."""
    return tuple(np.ascontiguousarray(table.codes[:, j], dtype=np.int64) for j in range(len(table.columns)))


def family_counts(
    columns: Sequence[Keys], levels: Sequence[int], node: int, parents: Sequence[int]
) -> FamilyCounts:
    """Count the family of `node`.

    Parameters
    ----------
    columns : sequence of int64 array, shape (rows,)
        Level codes, one array per column (`wide_columns`).
    levels : sequence of int
        Declared number of levels of each column.
    node, parents : int, sequence of int
        Column indices.

    Notes
    -----
    A row's cell is numbered by mixed radix, the node itself running fastest. A family too large for a dense
    array is counted from the cells that occur; the counts and their order are the same.
    """
    keys, size = parent_keys(columns, levels, parents)
    r = levels[node]
    if size * r > DENSE_CELLS:
        keys, size = _renumber(keys)
        return _count_sparse(keys * r + columns[node], r)
    return _count_dense(keys * r + columns[node], size, r)


def parent_keys(columns: Sequence[Keys], levels: Sequence[int], parents: Sequence[int]) -> tuple[Keys, int]:
    """Return the number of every row's parent configuration, and how many numbers there are at most."""
    keys: Keys = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for parent in parents:
        if size * levels[parent] > DENSE_CELLS:
            keys, size = _renumber(keys)
        keys = keys * levels[parent] + columns[parent]
        size *= levels[parent]
    return keys, size


def _renumber(keys: Keys) -> tuple[Keys, int]:
    found, position = np.unique(keys, return_inverse=True)
    return position.astype(np.int64, copy=False), len(found)


def _count_dense(keys: Keys, configurations: int, r: int) -> FamilyCounts:
    table = np.bincount(keys, minlength=configurations * r)
    occurs = np.flatnonzero(table)
    totals: Keys = table.reshape(configurations, r).sum(axis=1)
    return FamilyCounts(
        np.asarray(table[occurs], dtype=np.float64),
        np.asarray(totals[occurs // r], dtype=np.float64),
        np.asarray(totals[totals > 0], dtype=np.float64),
    )


def _count_sparse(keys: Keys, r: int) -> FamilyCounts:
    occurs, cells = np.unique(keys, return_counts=True)
    _, configuration = np.unique(occurs // r, return_inverse=True)
    totals: Floats = np.bincount(configuration, weights=cells).astype(np.float64, copy=False)
    return FamilyCounts(np.asarray(cells, dtype=np.float64), totals[configuration], totals)
