"""Maximum-likelihood tables through pomegranate; the only module that loads it, and torch with it."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from fairbench_cli.data.table import Table
from fairbench_cli.network.model import BayesNet, cpt_shape
from fairbench_cli.network.scores import parent_keys, wide_columns

BATCH = 2**20
"""Rows summarised at a time: pomegranate counts root columns in single precision, exact up to 2**24."""


def fit(table: Table, parents: Sequence[Sequence[int]]) -> BayesNet:
    """Return the network of a given structure, its CPTs fitted by maximum likelihood.

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
    """
    if len(table) == 0:
        raise ValueError("the table has no rows to fit to")
    structure = tuple(tuple(own) for own in parents)
    uniform = tuple(
        np.full(shape, 1 / shape[-1])
        for shape in (cpt_shape(table.columns, own, j) for j, own in enumerate(structure))
    )
    model = to_pomegranate(BayesNet(table.columns, structure, uniform))
    for j, distribution in enumerate(model.distributions):
        _summarize(distribution, table, (*structure[j], j))
    model.from_summaries()
    # A root's probs are one tensor of shape (1, r); a conditional node's a list of one tensor.
    cpts = tuple(np.asarray(fitted.probs[0].detach().numpy()) for fitted in model.distributions)
    return BayesNet(table.columns, structure, cpts)


def to_pomegranate(net: BayesNet) -> Any:
    """Return the network as pomegranate's `BayesianNetwork`, with double-precision tables.

    pomegranate reads the axes of a table in the order in which the edges into its node are listed, so edges
    are listed child by child in the order of the parents.
    """
    from pomegranate.bayesian_network import BayesianNetwork
    from pomegranate.distributions import Categorical, ConditionalCategorical

    nodes = []
    for own, cpt in zip(net.parents, net.cpts, strict=True):
        probabilities = np.minimum(cpt, 1.0)  # pomegranate refuses 1 + 2e-16
        nodes.append(ConditionalCategorical([probabilities]) if own else Categorical(probabilities[None, :]))
    edges = [(nodes[i], nodes[j]) for j, own in enumerate(net.parents) for i in own]
    return BayesianNetwork(nodes, edges)


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


def _summarize(distribution: Any, table: Table, family: tuple[int, ...]) -> None:
    """Add the rows of a family to its distribution.

    Node by node, because `BayesianNetwork.summarize` forces single-precision weights on double-precision
    tables, which torch refuses. A root keeps its sums in single precision whatever its table has, so it is
    widened first.
    """
    import torch

    if len(family) == 1:
        distribution.double()
    for start in range(0, len(table), BATCH):
        rows = table.codes[start : start + BATCH, list(family)].astype(np.int64, order="C")
        batch = torch.from_numpy(rows)
        distribution.summarize(batch if len(family) == 1 else batch.unsqueeze(-1))
