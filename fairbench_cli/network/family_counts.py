"""Counts of families, a column and its parents, and what is made of them: scores, and the fitted tables.

Scores (BIC, AIC, BDe and K2) are in natural logs and the larger the better. A network's is the sum over its
nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log, prod
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Floats, Table
from fairbench_cli.network.model import BayesNet, cpt_shape

DENSE_CELLS = 2**20
"""A family table of more cells than this (8 MB) is counted by sorting the configurations that occur."""

Keys = NDArray[np.int64]
ScoreName = Literal["bic", "aic", "bde", "k2"]
LocalScore = Callable[[int, tuple[int, ...]], float]
EQUIVALENT: frozenset[ScoreName] = frozenset({"bic", "aic", "bde"})
"""Scores that are the same for networks with the same independences: so do an arc and its reverse."""


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


def count_family(
    columns: Sequence[Keys], levels: Sequence[int], node: int, parents: Sequence[int]
) -> FamilyCounts:
    """Return the counts of the family of `node`.

    Parameters
    ----------
    columns : sequence of int64 array, shape (rows,)
        Level codes, one array per column; wide, so that products of level counts do not overflow.
    levels : sequence of int
        Declared number of levels of each column.
    node, parents : int, sequence of int
        Column indices.

    Notes
    -----
    A row's cell is numbered by mixed radix, the node itself running fastest. A family too large for a dense
    array is counted from the cells that occur; the counts and their order are the same.
    """
    first_column, *remaining_columns = [*parents, node]
    keys = columns[first_column].copy()
    size = levels[first_column]
    dense = True
    for j in remaining_columns:
        dense = size * levels[j] <= DENSE_CELLS
        if not dense:
            keys, size = _renumber_keys(keys)
        keys *= levels[j]
        keys += columns[j]
        size *= levels[j]
    r = levels[node]
    if dense:
        return _count_dense(keys, size // r, r)
    return _count_sparse(keys, r)


def _renumber_keys(keys: Keys) -> tuple[Keys, int]:
    distinct, position = np.unique(keys, return_inverse=True)
    return position.astype(np.int64, copy=False), len(distinct)


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


def make_local_score(table: Table, score: ScoreName = "bic", iss: float = 1.0) -> LocalScore:
    """Return a function (node, sorted parents) -> score of the node, which remembers what it has computed.

    Parameters
    ----------
    table : Table
        At least one row.
    score : {"bic", "aic", "bde", "k2"}
        BIC = L - (log N)/2 (r-1) q and AIC = L - (r-1) q with L the maximised log-likelihood, r the declared
        levels of the node and q the product of its parents' (Schwarz 1978, Akaike 1974). BDe: Dirichlet prior
        with iss/(r q) in each cell (Heckerman, Geiger & Chickering 1995). K2: 1 in each cell (Cooper &
        Herskovits 1992).
    iss : float
        Imaginary sample size of BDe.

    Raises
    ------
    UserError
        Unknown score, a table without rows, or an imaginary sample size that is not positive.
    """
    if score not in get_args(ScoreName):
        raise user_error(f'unknown score "{score}"', suggest(score, get_args(ScoreName)))
    if len(table) == 0:
        raise user_error("the table has no rows to learn from", "give data with at least one row")
    if not 0 < iss < float("inf"):
        raise user_error(f"iss is {iss}, not a positive number", "give an imaginary sample size above 0")
    columns = [np.ascontiguousarray(codes, np.int64) for codes in table.codes.T]
    levels = table.level_counts
    penalty = 1.0
    if score == "bic":
        penalty = log(len(table)) / 2

    @cache
    def local(node: int, parents: tuple[int, ...]) -> float:
        counts = count_family(columns, levels, node, parents)
        r = levels[node]
        q = prod(levels[i] for i in parents)
        if score == "k2":
            return _score_dirichlet(counts, cell=1.0, configuration=float(r))
        if score == "bde":
            return _score_dirichlet(counts, cell=iss / (r * q), configuration=iss / q)
        likelihood = float(np.sum(counts.cells * np.log(counts.cells / counts.totals)))
        return likelihood - penalty * (r - 1) * q

    return local


def compute_network_score(local: LocalScore, parents: tuple[tuple[int, ...], ...]) -> float:
    """Return the sum of the local scores over the nodes; `parents` are sorted."""
    return sum(local(node, parents[node]) for node in range(len(parents)))


def _score_dirichlet(counts: FamilyCounts, cell: float, configuration: float) -> float:
    # Cells and configurations that do not occur add nothing.
    from scipy.special import gammaln

    cells = gammaln(counts.cells + cell) - gammaln(cell)
    rows = gammaln(counts.configurations + configuration) - gammaln(configuration)
    return float(np.sum(cells) - np.sum(rows))


def fit_network(table: Table, parents: Sequence[Sequence[int]]) -> BayesNet:
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
    >>> net = fit_network(Table((Column("a", ("x", "y")), Column("b", ("u", "v"))), codes), [(), (0,)])
    >>> net.cpt("b").tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if len(table) == 0:
        raise ValueError("the table has no rows to fit to")
    structure = tuple(map(tuple, parents))
    cpts = []
    for j, node_parents in enumerate(structure):
        shape = cpt_shape(table.columns, node_parents, j)
        cells = np.ravel_multi_index([table.codes[:, i] for i in (*node_parents, j)], shape)
        counts = np.bincount(cells, minlength=prod(shape)).reshape(shape).astype(np.float64)
        totals = counts.sum(axis=-1, keepdims=True)
        uniform = np.full(shape, 1 / shape[-1])
        cpts.append(np.divide(counts, totals, out=uniform, where=totals > 0))
    return BayesNet(table.columns, structure, tuple(cpts))
