"""Network scores: BIC, AIC, BDe and K2, node by node.

All are in natural logs and the larger the better. A network's score is the sum over its nodes.
"""

from collections.abc import Callable
from functools import cache
from math import log, prod
from typing import Literal, get_args

import numpy as np

from fairbench_cli.data.table import Table
from fairbench_cli.errors import suggest, user_error
from fairbench_cli.network.counts import FamilyCounts, family_counts, wide_columns

ScoreName = Literal["bic", "aic", "bde", "k2"]
LocalScore = Callable[[int, tuple[int, ...]], float]

EQUIVALENT: frozenset[ScoreName] = frozenset({"bic", "aic", "bde"})
"""Scores that are the same for networks with the same independences: an arc and its reverse score alike."""


def local_scores(table: Table, score: ScoreName = "bic", iss: float = 1.0) -> LocalScore:
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
    columns, levels = wide_columns(table), table.level_counts
    penalty = log(len(table)) / 2 if score == "bic" else 1.0

    @cache
    def local(node: int, parents: tuple[int, ...]) -> float:
        counts = family_counts(columns, levels, node, parents)
        r, q = levels[node], prod(levels[i] for i in parents)
        if score == "k2":
            return _dirichlet(counts, cell=1.0, configuration=float(r))
        if score == "bde":
            return _dirichlet(counts, cell=iss / (r * q), configuration=iss / q)
        return _log_likelihood(counts) - penalty * (r - 1) * q

    return local


def network_score(local: LocalScore, parents: tuple[tuple[int, ...], ...]) -> float:
    """Sum the local scores over the nodes; `parents` are sorted."""
    return sum(local(node, parents[node]) for node in range(len(parents)))


def _log_likelihood(counts: FamilyCounts) -> float:
    return float(np.sum(counts.cells * np.log(counts.cells / counts.totals)))


def _dirichlet(counts: FamilyCounts, cell: float, configuration: float) -> float:
    # Cells and configurations that do not occur add nothing.
    from scipy.special import gammaln

    cells = gammaln(counts.cells + cell) - gammaln(cell)
    rows = gammaln(counts.configurations + configuration) - gammaln(configuration)
    return float(np.sum(cells) - np.sum(rows))
