"""A discrete Bayesian network: columns, parents and conditional probability tables (CPTs)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from fairbench_cli.data.table import Column, Floats

SUM_TOLERANCE = 1e-9
"""How far the sum of a CPT row may be from 1."""


def topological_order(parents: Sequence[Collection[int]]) -> tuple[int, ...] | None:
    """Return the nodes ordered so that parents come before children, and else by number.

    Parameters
    ----------
    parents : sequence, one collection of node indices per node
        ``parents[j]`` are the nodes with an arc into node j.

    Returns
    -------
    tuple of int, or None
        None when the graph has a cycle.

    >>> topological_order([(1,), (), (0, 1)])
    (1, 0, 2)
    >>> topological_order([(1,), (0,)]) is None
    True
    """
    order: list[int] = []
    placed: set[int] = set()
    waiting = list(range(len(parents)))
    while waiting:
        ready = next((j for j in waiting if placed.issuperset(parents[j])), None)
        if ready is None:
            return None
        order.append(ready)
        placed.add(ready)
        waiting.remove(ready)
    return tuple(order)


def is_ancestor(parents: Sequence[Collection[int]], older: int, younger: int) -> bool:
    """Return whether a directed path leads from node `older` to node `younger`.

    >>> is_ancestor([(), (0,), (1,)], older=0, younger=2)
    True
    >>> is_ancestor([(), (0,), (1,)], older=2, younger=0)
    False
    """
    seen: set[int] = set()
    frontier = [younger]
    while frontier:
        for parent in parents[frontier.pop()]:
            if parent == older:
                return True
            if parent not in seen:
                seen.add(parent)
                frontier.append(parent)
    return False


def named_arcs(names: Sequence[str], parents: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    """Return the arcs as (from, to) pairs of names: children in column order, then their parents in order.

    >>> named_arcs(["sex", "job", "pay"], [(), (0,), (0, 1)])
    [('sex', 'job'), ('sex', 'pay'), ('job', 'pay')]
    """
    arcs = []
    for j, child in enumerate(names):
        arcs += [(names[i], child) for i in parents[j]]
    return arcs


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A network over nominal columns; the tables are copied and made read-only.

    Parameters
    ----------
    columns : tuple of Column
        Nodes with their levels; names and levels are unique.
    parents : tuple of tuple of int
        ``parents[j]`` are indices of columns; their order is the order of the axes of ``cpts[j]``.
    cpts : tuple of float64 array
        ``cpts[j]`` has shape (r of parent 1, ..., r of parent k, r of j) and holds P(j | parents).

    Raises
    ------
    ValueError
        Wrong shapes, a negative or non-finite probability, a row that does not sum to 1 within 1e-9, a cycle.

    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.4, 0.6]), np.array([[0.8, 0.2], [0.7, 0.3]])),
    ... )
    >>> net.arcs, net.order, net.parameters
    ([('s', 'y')], (0, 1), 3)
    """

    columns: tuple[Column, ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[Floats, ...]

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        _check_parents(self.names, self.parents)
        if len(self.cpts) != len(self.columns):
            raise ValueError(f"{len(self.columns)} columns but {len(self.cpts)} tables")
        cpts = []
        for j, table in enumerate(self.cpts):
            cpt = np.array(table, dtype=np.float64, order="C")
            _check_cpt(self.names[j], cpt, cpt_shape(self.columns, self.parents[j], j))
            cpt.flags.writeable = False
            cpts.append(cpt)
        object.__setattr__(self, "cpts", tuple(cpts))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """Arcs as (from, to): children in column order, then their parents in the order of the CPT's axes."""
        return named_arcs(self.names, self.parents)

    @property
    def order(self) -> tuple[int, ...]:
        """Column indices, parents before children; of those that are ready the first column goes next."""
        order = topological_order(self.parents)
        assert order is not None  # noqa: S101 - `_check_parents` has looked
        return order

    @property
    def parameters(self) -> int:
        """Number of free parameters: over all columns the sum of (r - 1) q."""
        return sum((cpt.shape[-1] - 1) * prod(cpt.shape[:-1]) for cpt in self.cpts)

    def index(self, name: str) -> int:
        """Return the position of the column called `name`; `KeyError` when there is none."""
        index_of = {column: j for j, column in enumerate(self.names)}
        return index_of[name]

    def cpt(self, name: str) -> Floats:
        """Return the CPT of the column called `name`; `KeyError` when there is none."""
        return self.cpts[self.index(name)]

    def levels_of(self, name: str) -> tuple[str, ...]:
        """Return the levels of the column called `name`; `KeyError` when there is none."""
        return self.columns[self.index(name)].levels

    def parents_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the parents of the column called `name`, in the order of the CPT's axes."""
        return tuple(self.names[i] for i in self.parents[self.index(name)])


def cpt_shape(columns: Sequence[Column], parents: Sequence[int], node: int) -> tuple[int, ...]:
    """Return the shape of the CPT of a node: the level counts of its parents, then its own."""
    return tuple(len(columns[i].levels) for i in [*parents, node])


def _check_columns(columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise ValueError("two columns have the same name")
    for column in columns:
        if not column.levels or len(set(column.levels)) != len(column.levels):
            raise ValueError(f'column "{column.name}" has no levels, or one level twice')


def _check_parents(names: Sequence[str], parents: Sequence[Sequence[int]]) -> None:
    if len(parents) != len(names):
        raise ValueError(f"{len(names)} columns but {len(parents)} lists of parents")
    for name, node_parents in zip(names, parents, strict=True):
        if len(set(node_parents)) != len(node_parents) or not all(0 <= i < len(names) for i in node_parents):
            raise ValueError(
                f'the parents of "{name}" are not distinct column indices: {tuple(node_parents)}'
            )
    if topological_order(parents) is None:
        raise ValueError("the arcs form a cycle")


def _check_cpt(name: str, cpt: Floats, shape: tuple[int, ...]) -> None:
    if cpt.shape != shape:
        raise ValueError(f'the table of "{name}" has shape {cpt.shape}, not {shape}')
    if not np.all(np.isfinite(cpt)) or np.any(cpt < 0):
        raise ValueError(f'the table of "{name}" has a probability that is negative or not a number')
    sums = cpt.sum(axis=-1)
    wrong = np.flatnonzero(np.abs(sums - 1).ravel() > SUM_TOLERANCE)
    if wrong.size:
        raise ValueError(
            f'row {wrong[0] + 1} of the table of "{name}" sums to {sums.ravel()[wrong[0]]}, not 1'
        )
