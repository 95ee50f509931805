"""β: change the outcome's table against the deprived group.

Equation (4) of Cardoso, Meira, Almeida & Zaki (2019), "A framework for benchmarking discrimination-aware
models in machine learning": P'(+ | s = deprived, rest) = P(+ | s = deprived, rest) (1 - β).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.model import BayesNet

Groups = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Deprived and favoured levels, by column: of a protected attribute, or of a proxy of it."""

BiasKind = Literal["label bias", "prior shift", "mixture"]


def bias_kind(
    names: Sequence[str], parents: Sequence[Collection[int]], outcome: str, edited: Collection[str]
) -> BiasKind:
    """Return the kind of bias that equation (4) makes, which the arcs of the outcome decide.

    An outcome without children is flipped, whatever the features: *label bias*, p' = (1 - β) p. The children
    of an outcome are drawn after it, so that P(children | outcome) stays and P(outcome) moves: *prior shift*,
    odds' = c · odds, where all parents of the outcome are edited columns. An outcome that has both children
    and other parents gives a *mixture*: given the parents alone p' = (1 - β) p, then a prior shift of the
    children.

    Parameters
    ----------
    names : sequence of str
        Columns of the network.
    parents : sequence of collections of int
        Indices of each column's parents.
    outcome : str
        The outcome's column.
    edited : collection of str
        Columns whose levels decide whom β acts on.

    Raises
    ------
    KeyError
        When there is no such outcome.

    >>> bias_kind(["s", "y"], [(), (0,)], "y", ["s"])
    'label bias'
    >>> bias_kind(["s", "y", "x"], [(), (0,), (1,)], "y", ["s"])
    'prior shift'
    >>> bias_kind(["s", "y", "x", "z"], [(), (0, 3), (1,), ()], "y", ["s"])
    'mixture'
    """
    index_of = {name: j for j, name in enumerate(names)}
    outcome_index = index_of[outcome]
    if not any(outcome_index in nodes for nodes in parents):
        return "label bias"
    if {names[i] for i in parents[outcome_index]} <= set(edited):
        return "prior shift"
    return "mixture"


def shift(
    net: BayesNet, outcome: str, favourable: str, groups: Groups, beta: float, tilt_favoured: bool = False
) -> BayesNet:
    """Return the network with the outcome tilted by `beta`; 0 changes nothing, 1 is the most.

    Equation (4) for one column or, of a joint attribute, for its parts together: deprived is who is so by any
    of the columns, favoured who is so by all of them.

    Parameters
    ----------
    net : BayesNet
        The columns of `groups` must be parents of `outcome`.
    outcome, favourable : str
        The outcome's column and its favourable level.
    groups : mapping of str to (deprived, favoured)
        Where a level of any column is deprived, P(+) is multiplied by 1 - β. What is lost goes to the other
        outcomes in proportion to their probabilities (evenly when all of these are 0). Where the levels of
        all columns are favoured, P(-) is multiplied by 1 - β if `tilt_favoured` is true; what is lost goes to
        the favourable outcome.
    beta : float
        In [0, 1].
    tilt_favoured : bool
        False is equation (4). True tilts the rows of the favoured too.

    Raises
    ------
    UserError
        Unknown names or levels, a level both deprived and favoured, none where one is needed, `beta` outside
        [0, 1], an outcome with a single level, or a column that is no parent of the outcome.

    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.63, 0.37]])),
    ... )
    >>> shift(net, "y", "yes", {"s": (["f"], ["m"])}, beta=0.5).cpt("y")[:, 1].tolist()
    [0.1, 0.37]
    """
    if not 0 <= beta <= 1:
        raise user_error(f"beta is {beta}", "give a beta from 0 to 1")
    outcome_column = _find_column(net, outcome)
    plus = _find_levels(outcome_column, (favourable,))
    if len(outcome_column.levels) < 2:
        raise user_error(f'the outcome "{outcome}" has one level only', "give data with both outcomes")
    parents = net.parents_of(outcome)
    # Both grow to the shape of the parents' levels
    deprived_rows = np.zeros((), bool)
    favoured_rows = np.ones((), bool)
    for name, (deprived, favoured) in groups.items():
        source = _find_column(net, name)
        is_deprived = _find_levels(source, deprived)
        is_favoured = _find_levels(source, favoured)
        if not is_deprived.any() or (tilt_favoured and not is_favoured.any()):
            group = "deprived"
            if is_deprived.any():
                group = "favoured"
            raise user_error(f'no level of "{name}" is named as {group}', f"name at least one {group} level")
        if np.any(is_deprived & is_favoured):
            raise user_error(f'a level of "{name}" is both deprived and favoured', "name it once")
        if name not in parents:
            raise user_error(
                f'"{name}" is not a parent of "{outcome}" (its parents: {", ".join(parents) or "none"}), '
                "so beta has nothing to change",
                f"set `require_arc: true` (which adds the arc {name} -> {outcome} to the whitelist; learn "
                f"again) or `outcome_sink: true` (let {outcome} have no children, so that arcs point at it)",
            )
        shape = [len(source.levels) if parent == name else 1 for parent in parents]
        deprived_rows = deprived_rows | is_deprived.reshape(shape)
        favoured_rows = favoured_rows & is_favoured.reshape(shape)
    if beta == 0:
        return net
    cpt = net.cpt(outcome).copy()
    tilts = [(deprived_rows, plus)]
    if tilt_favoured:
        tilts.append((favoured_rows, ~plus))
    for rows, giving in tilts:
        tilted = np.broadcast_to(rows, cpt.shape[:-1])
        cpt[tilted] = _move_probability(cpt[tilted], giving, beta)
    cpts = list(net.cpts)
    cpts[net.index(outcome)] = cpt
    return replace(net, cpts=tuple(cpts))


def _move_probability(rows: Floats, giving: NDArray[np.bool_], beta: float) -> Floats:
    """Return rows in which a share `beta` of the giving levels' probability is spread over the others."""
    moved = rows.copy()
    moved[..., giving] = rows[..., giving] * (1 - beta)
    lost = (rows[..., giving] * beta).sum(axis=-1, keepdims=True)
    receiving = rows[..., ~giving]
    total = receiving.sum(axis=-1, keepdims=True)
    share = np.divide(receiving, total, out=np.full_like(receiving, 1 / receiving.shape[-1]), where=total > 0)
    moved[..., ~giving] = receiving + lost * share
    return moved


def _find_column(net: BayesNet, name: str) -> Column:
    if name not in net.names:
        raise user_error(f'the network has no column "{name}"', suggest(name, net.names))
    return net.columns[net.index(name)]


def _find_levels(column: Column, chosen: Sequence[str]) -> NDArray[np.bool_]:
    for level in chosen:
        if level not in column.levels:
            raise user_error(f'column "{column.name}" has no level "{level}"', suggest(level, column.levels))
    return np.array([level in chosen for level in column.levels])
