"""What pomegranate does with networks of ours: the only file that loads it, and torch with it."""

from collections.abc import Mapping, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from fairbench_cli.base.errors import user_error
from fairbench_cli.data.table import Floats, Table
from fairbench_cli.network.model import BayesNet

Parents = tuple[tuple[int, ...], ...]

NOTHING = 1e-12
"""The weight of a row that is there for its levels alone, and what is added to every count.

pomegranate takes the logarithm of every cell: a cell without a row makes its sums NaN, and a column that has
fewer levels than another makes them infinite.
"""

MOST_CELLS = 2**24
"""Of the largest table that is made: half a gigabyte with all that is made of it."""

MOST_COLUMNS = 10
"""Of an exact search: it takes 12 s with 10 columns, and minutes and gigabytes with 13."""


def to_pomegranate(net: BayesNet) -> Any:
    """Return the network as pomegranate's `BayesianNetwork`, with double-precision tables.

    Its nodes are in the order of the columns, its values the level codes. pomegranate reads the axes of a
    table in the order in which the edges into its node are listed, so edges are listed child by child in the
    order of the parents.

    Raises
    ------
    UserError
        When pomegranate is not installed.
    """
    network = _network_class()
    from pomegranate.distributions import Categorical, ConditionalCategorical

    nodes = []
    for node_parents, cpt in zip(net.parents, net.cpts, strict=True):
        probabilities = np.minimum(cpt, 1.0)  # pomegranate refuses 1 + 2e-16
        if node_parents:
            nodes.append(ConditionalCategorical([probabilities]))
        else:
            nodes.append(Categorical(probabilities[None, :]))
    edges = []
    for child, node_parents in zip(nodes, net.parents, strict=True):
        edges += [(nodes[i], child) for i in node_parents]
    return network(nodes, edges)


def loopy_posterior(net: BayesNet, node: int, evidence: Mapping[int, int]) -> Floats:
    """Return P(node | evidence) by messages passed on a factor graph; NaN for levels that cannot go together.

    It is exact where no two paths join two columns, and approximate in any other network.
    """
    model = to_pomegranate(net)
    import torch

    values = torch.zeros(1, len(net.columns), dtype=torch.int64)
    mask = torch.zeros_like(values, dtype=torch.bool)
    for column, level in evidence.items():
        values[0, column] = level
        mask[0, column] = True
    with catch_warnings():
        simplefilter("ignore")  # torch calls its masked tensors a prototype
        probabilities = model.predict_proba(torch.masked.MaskedTensor(values, mask))
    return np.asarray(probabilities[node][0].numpy(), dtype=np.float64)


def chow_liu(table: Table) -> Parents:
    """Return the tree of the largest mutual information, rooted at the first column (Chow & Liu 1968).

    Raises
    ------
    UserError
        When pomegranate is not installed, or the table is too large for it.
    """
    most = max(table.level_counts)
    _refuse_large(table, most**2 * len(table.columns))
    all_levels = np.repeat(np.arange(most)[:, None], len(table.columns), axis=1)
    return _learn(table, all_levels, algorithm="chow-liu")


def exact_search(table: Table, excluded: Sequence[Sequence[int]], max_parents: int) -> Parents:
    """Return the network of the best BIC of all; equally good ones differ in the direction of arcs.

    Parameters
    ----------
    excluded : one sequence of column indices per column
        The columns that may not be its parents.

    Raises
    ------
    UserError
        When pomegranate is not installed, or the table is too large for it.
    """
    columns = len(table.columns)
    if columns > MOST_COLUMNS:
        problem = f"the exact search takes up to {MOST_COLUMNS} columns, and there are {columns}"
        raise user_error(problem, "drop columns, or use the learner hill-climbing or tabu")
    _refuse_large(table, max(table.level_counts) ** columns)
    last_levels = np.array([table.level_counts]) - 1
    return _learn(table, last_levels, algorithm="exact", exclude_parents=excluded, max_parents=max_parents)


def _learn(table: Table, levels: Any, **settings: Any) -> Parents:
    """Return the structure that pomegranate learns of the rows, and of others that weigh nothing."""
    model = _network_class()(**settings, pseudocount=NOTHING)
    import torch

    rows = np.concatenate([table.codes.astype(np.int64), levels])
    weights = np.where(np.arange(len(rows)) < len(table), 1.0, NOTHING)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so that sums, and with them ties, do not depend on the machine's cores
    try:
        model.fit(torch.from_numpy(rows), sample_weight=torch.from_numpy(weights))
    finally:
        torch.set_num_threads(threads)
    return tuple(tuple(sorted(parents)) for parents in model.structure)


def _refuse_large(table: Table, cells: int) -> None:
    if cells > MOST_CELLS:
        widest = max(table.columns, key=lambda column: len(column.levels))
        problem = f"pomegranate would make a table of {cells:,} numbers, and {MOST_CELLS:,} are the most"
        fix = f"drop columns or cut the {len(widest.levels)} levels of {widest.name}"
        raise user_error(problem, f"{fix}, or use the learner hill-climbing or tabu")


def _network_class() -> Any:
    try:
        from pomegranate.bayesian_network import BayesianNetwork
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in ("pomegranate", "torch"):
            raise
        fix = "pip install 'fairbench-cli[pomegranate]'"
        raise user_error(f"this needs {package}, which is not installed", fix) from None
    return BayesianNetwork
