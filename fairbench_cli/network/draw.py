"""Draw rows from a network: forward sampling by inverse CDF, one random stream per column."""

from collections.abc import Callable, Collection, Mapping
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Codes, Floats, Table
from fairbench_cli.network.model import BayesNet

BLOCK = 2**16
"""Rows drawn at a time, so that what a draw needs stays in the processor's cache; it decides no row."""


def sample(net: BayesNet, n: int, seed: int) -> Table:
    """Return `n` independent rows.

    The random numbers of a column come from the seed and the column's name alone. Two networks that differ in
    one table (the same network under two β) therefore agree in every column but that one and its descendants,
    and a column more, or another order, leaves the others' rows as they were.

    Parameters
    ----------
    net : BayesNet
        The network.
    n : int
        Number of rows, 0 or more.
    seed : int
        0 or more, of any size.

    Returns
    -------
    Table
        Columns in the network's order. A level of probability 0 is never drawn.

    Raises
    ------
    ValueError
        `n` or `seed` is negative.
    """
    if n < 0 or seed < 0:
        raise ValueError(f"n and seed must be 0 or more, not {n} and {seed}")
    codes: Codes = np.zeros((n, len(net.columns)), dtype=np.int16, order="F")
    fill = make_row_drawer(net, seed)
    for start in range(0, n, BLOCK):
        fill(codes[start : start + BLOCK])
    return Table(net.columns, codes)


def make_row_drawer(
    net: BayesNet, seed: int, streams: Mapping[str, str] | None = None, skip: Collection[str] = ()
) -> Callable[[Codes], None]:
    """Return a function that draws the next rows of a sample into an array, as many as it has.

    Rows do not depend on how many of them are drawn at a time.

    Parameters
    ----------
    net : BayesNet
        The network.
    seed : int
        0 or more, of any size.
    streams : mapping of str to str, optional
        The names of columns' random streams; a column that is not listed has its own name.
    skip : collection of str
        Columns that are not drawn: their levels stand in the array.

    Returns
    -------
    callable
        Takes an int16 array, shape (rows, columns of the network).

    >>> from fairbench_cli.data.table import Column
    >>> half = BayesNet((Column("s", ("f", "m")),), ((),), (np.array([0.5, 0.5]),))
    >>> fill, rows = make_row_drawer(half, seed=1), np.zeros((6, 1), np.int16)
    >>> fill(rows[:2])
    >>> fill(rows[2:])
    >>> bool(np.array_equal(rows, sample(half, 6, seed=1).codes))
    True
    """
    stream_names = streams or {}
    steps = []
    for j in net.order:
        name = net.names[j]
        if name not in skip:
            steps.append((j, _cdf(net.cpts[j]), _stream(seed, stream_names.get(name, name))))

    def fill(rows: Codes) -> None:
        for j, cdf, stream in steps:
            row = np.zeros(len(rows), dtype=np.intp)
            for parent, levels in zip(net.parents[j], net.cpts[j].shape, strict=False):
                row *= levels
                row += rows[:, parent]
            rows[:, j] = _invert(cdf, row, stream.random(len(rows)))

    return fill


def _stream(seed: int, name: str) -> np.random.Generator:
    key = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))


def _cdf(cpt: Floats) -> Floats:
    """Return the cumulated rows, shape (configurations, levels), 1 from the last positive level on."""
    rows = cpt.reshape(-1, cpt.shape[-1])
    cdf = np.minimum(np.cumsum(rows, axis=1), 1.0)
    last_positive = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    cdf[np.arange(rows.shape[1]) >= last_positive[:, None]] = 1.0
    return cdf


def _invert(cdf: Floats, row: NDArray[np.intp], u: Floats) -> NDArray[np.intp]:
    """Return for each u in [0, 1) the first level whose cumulated probability exceeds it.

    A binary search over all rows at once: log2(levels) steps of one gather each.
    """
    width = 1 << (cdf.shape[1] - 1).bit_length()
    flat = np.ones((len(cdf), width))
    flat[:, : cdf.shape[1]] = cdf
    table = flat.ravel()
    row_start = row * width
    position: NDArray[np.intp] = row_start.copy()
    step = width // 2
    while step:
        position += step * (u >= table[position + (step - 1)])
        step //= 2
    position -= row_start
    return position
