"""Maximum-likelihood tables: rows counted family by family."""

from collections.abc import Sequence
from math import prod

import numpy as np

from fairbench_cli.data.table import Floats, Table
from fairbench_cli.network.model import BayesNet, cpt_shape
from fairbench_cli.network.scores import Keys, parent_keys, wide_columns


def fit(table: Table, parents: Sequence[Sequence[int]]) -> BayesNet:
    """Return the network of a given structure, its CPTs fitted by maximum likelihood.

    pomegranate's `from_summaries` gives the same tables to the last bit; it takes seconds to import.

    Parameters
    ----------
    table : Table
        At least one row. The CPTs have the declared levels, whether they occur or not.
    parents : sequence, one sequence of column indices per column
        Their order is the order of the axes of the CPTs.

    Returns
    -------
    BayesNet
        P(level | configuration) = rows with both / rows with the configuration, in double precision; uniform
        for a configuration that never occurs.

    Raises
    ------
    ValueError
        No rows, or parents that are no acyclic structure over the columns.

    >>> from fairbench_cli.data.table import Column
    >>> codes = np.array([[0, 0], [0, 0], [0, 1], [0, 1]], dtype=np.int16)
    >>> net = fit(Table((Column("a", ("x", "y")), Column("b", ("u", "v"))), codes), [(), (0,)])
    >>> net.cpt("b").tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if len(table) == 0:
        raise ValueError("the table has no rows to fit to")
    structure, columns = tuple(tuple(own) for own in parents), wide_columns(table)
    cpts = tuple(
        _shares(columns, (*own, j), cpt_shape(table.columns, own, j)) for j, own in enumerate(structure)
    )
    return BayesNet(table.columns, structure, cpts)


def unseen(table: Table, parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return for each column the number of parent configurations without a row (uniform CPT rows).

    >>> from fairbench_cli.data.table import Column
    >>> pair = Table((Column("a", ("x", "y")), Column("b", ("u", "v"))), np.zeros((3, 2), dtype=np.int16))
    >>> unseen(pair, [(), (0,)])
    (0, 1)
    """
    columns, levels = wide_columns(table), table.level_counts
    missing = []
    for own in parents:
        keys, _ = parent_keys(columns, levels, own)
        missing.append(prod(levels[i] for i in own) - len(np.unique(keys)))
    return tuple(missing)


def _shares(columns: Sequence[Keys], family: Sequence[int], shape: tuple[int, ...]) -> Floats:
    """Return the share of each level of the last column under each configuration of the others."""
    cells = np.ravel_multi_index([columns[i] for i in family], shape)
    counts = np.bincount(cells, minlength=prod(shape)).reshape(shape).astype(np.float64)
    totals = counts.sum(axis=-1, keepdims=True)
    uniform = np.full(shape, 1 / shape[-1])
    return np.asarray(np.divide(counts, totals, out=uniform, where=totals > 0))
