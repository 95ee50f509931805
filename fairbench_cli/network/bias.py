"""β: change the outcome's table against the deprived group.

Equation (4) of Cardoso, Meira, Almeida & Zaki (2019), "A framework for benchmarking discrimination-aware
models in machine learning": P'(+ | s = deprived, rest) = P(+ | s = deprived, rest) (1 - β).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.model import BayesNet


def shift(
    net: BayesNet,
    outcome: str,
    favourable: str,
    column: str,
    deprived: Sequence[str],
    favoured: Sequence[str],
    beta: float,
    both: bool = False,
) -> BayesNet:
    """Return the network with the outcome tilted by `beta`; 0 changes nothing, 1 is the most.

    Parameters
    ----------
    net : BayesNet
        `column` must be a parent of `outcome`.
    outcome, favourable : str
        The outcome's column and its favourable level.
    column : str
        The column whose levels are named: the protected attribute, or a proxy of it.
    deprived : sequence of str
        Levels whose P(+) is multiplied by 1 - β. What they lose goes to the other outcomes in proportion to
        their probabilities (evenly when all of these are 0).
    favoured : sequence of str
        Levels whose P(-) is multiplied by 1 - β when `both` is true; what it loses goes to the favourable
        outcome.
    beta : float
        In [0, 1].
    both : bool
        False is equation (4). True tilts the favoured levels too.

    Raises
    ------
    UserError
        Unknown names or levels, a level both deprived and favoured, none where one is needed, `beta` outside
        [0, 1], an outcome with a single level, or a `column` that is no parent of the outcome.

    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.63, 0.37]])),
    ... )
    >>> shift(net, "y", "yes", "s", ["f"], ["m"], beta=0.5).cpt("y")[:, 1].tolist()
    [0.1, 0.37]
    """
    if not 0 <= beta <= 1:
        raise user_error(f"beta is {beta}", "give a beta from 0 to 1")
    own = _column(net, outcome)
    plus = _levels(own, (favourable,))
    if len(own.levels) < 2:
        raise user_error(f'the outcome "{outcome}" has one level only', "give data with both outcomes")
    source = _column(net, column)
    lower, raise_ = _levels(source, deprived), _levels(source, favoured)
    if not lower.any() or (both and not raise_.any()):
        group = "favoured" if lower.any() else "deprived"
        raise user_error(f'no level of "{column}" is named as {group}', f"name at least one {group} level")
    if np.any(lower & raise_):
        raise user_error(f'a level of "{column}" is both deprived and favoured', "name it once")
    if column not in net.parents_of(outcome):
        parents = ", ".join(net.parents_of(outcome)) or "none"
        raise user_error(
            f'"{column}" is not a parent of "{outcome}" (its parents: {parents}), '
            "so beta has nothing to change",
            f"set `require_arc: true` (which adds the arc {column} -> {outcome} to the whitelist; learn "
            f"again) or `outcome_sink: true` (let {outcome} have no children, so that arcs point at it)",
        )
    if beta == 0:
        return net
    axis = net.parents_of(outcome).index(column)
    cpt = np.moveaxis(
        net.cpt(outcome).copy(), axis, 0
    )  # a view: the rows of one level of `column` come first
    cpt[lower] = _move(cpt[lower], plus, beta)
    if both:
        cpt[raise_] = _move(cpt[raise_], ~plus, beta)
    cpts = list(net.cpts)
    cpts[net.index(outcome)] = np.moveaxis(cpt, 0, axis)
    return replace(net, cpts=tuple(cpts))


def _move(rows: Floats, giving: NDArray[np.bool_], beta: float) -> Floats:
    """Return rows in which a share `beta` of the giving levels' probability is spread over the others."""
    moved = rows.copy()
    moved[..., giving] = rows[..., giving] * (1 - beta)
    taken = (rows[..., giving] * beta).sum(axis=-1, keepdims=True)
    others = rows[..., ~giving]
    total = others.sum(axis=-1, keepdims=True)
    share = np.divide(others, total, out=np.full_like(others, 1 / others.shape[-1]), where=total > 0)
    moved[..., ~giving] = others + taken * share
    return moved


def _column(net: BayesNet, name: str) -> Column:
    if name not in net.names:
        raise user_error(f'the network has no column "{name}"', suggest(name, net.names))
    return net.columns[net.index(name)]


def _levels(column: Column, wanted: Sequence[str]) -> NDArray[np.bool_]:
    for level in wanted:
        if level not in column.levels:
            raise user_error(f'column "{column.name}" has no level "{level}"', suggest(level, column.levels))
    return np.array([level in wanted for level in column.levels])
