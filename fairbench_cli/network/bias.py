"""β: change a table of the network against the deprived group.

Equation (4) of Cardoso, Meira, Almeida & Zaki (2019), "A framework for benchmarking discrimination-aware
models in machine learning": P'(+ | s = deprived, rest) = P(+ | s = deprived, rest) (1 - β). They add that any
node's table may be modified so. Where the outcome is a parent of the protected column, that column's is:
P'(s = deprived | +, rest) = P(s = deprived | +, rest) (1 - β).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.model import BayesNet

Groups = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Deprived and favoured levels, by column: of a protected attribute, or of a proxy of it."""

Parents = Sequence[Collection[int]]
"""Indices of the parents of each column of a network."""

Edit = tuple[Groups, float]
"""Groups against which β works, and the share of β."""

BetaEdit = Literal["outcome", "group", "as-learned"]
"""Which table β edits: the outcome's, that of the group's column, or the one that their arc leads to."""

RELATIVES: dict[BetaEdit, tuple[str, str]] = {
    "outcome": ("parent", "parents"),
    "group": ("child", "children"),
    "as-learned": ("parent or child", "parents or children"),
}
"""What the columns that β acts on are of the outcome: one of them, and several."""

BiasKind = Literal["label bias", "prior shift", "mixture", "wrong group"]


def edited_tables(
    names: Sequence[str], parents: Parents, outcome: str, columns: Collection[str], edit: BetaEdit = "outcome"
) -> dict[str, str]:
    """Return by column the node whose table β edits; a column without such an arc is left out.

    Parameters
    ----------
    names : sequence of str
        Columns of the network.
    parents : sequence of collections of int
        Indices of each column's parents.
    outcome : str
        The outcome's column.
    columns : collection of str
        Columns whose levels decide whom β acts on.
    edit : {"outcome", "group", "as-learned"}
        "outcome": its table, along the arc from the column. "group": the column's, along the arc from the
        outcome. "as-learned": of whichever of the two arcs there is.

    >>> net = ["s", "y", "t"], [(), (0,), (1,)], "y", ["s", "t"]
    >>> edited_tables(*net), edited_tables(*net, "group"), edited_tables(*net, "as-learned")
    ({'s': 'y'}, {'t': 't'}, {'s': 'y', 't': 't'})
    """
    index_of = {name: j for j, name in enumerate(names)}
    tables = {}
    for column in columns:
        if edit != "group" and index_of[column] in parents[index_of[outcome]]:
            tables[column] = outcome
        elif edit != "outcome" and index_of[outcome] in parents[index_of[column]]:
            tables[column] = column
    return tables


def bias_kind(
    names: Sequence[str], parents: Parents, outcome: str, edited: Collection[str], edit: BetaEdit = "outcome"
) -> BiasKind:
    """Return the kind of bias that β makes, which the arcs of what is edited decide.

    An outcome without children is flipped, whatever the features: *label bias*, p' = (1 - β) p. The children
    of an outcome are drawn after it, so that P(children | outcome) stays and P(outcome) moves: *prior shift*,
    odds' = c · odds, where all parents of the outcome are edited columns. An outcome that has both children
    and other parents gives a *mixture*: given the parents alone p' = (1 - β) p, then a prior shift of the
    children.

    Where the edited tables are those of groups' columns without children, people stay who they are and a
    *wrong group* is recorded of some. Children of these columns are drawn by the changed group, and some
    groups may act through the outcome's table: that is a *mixture* too.

    Parameters
    ----------
    names, parents, outcome, edited, edit
        As `edited_tables` has them; all edited columns have an arc.

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
    >>> bias_kind(["s", "y"], [(1,), ()], "y", ["s"], "group")
    'wrong group'
    """
    tables = edited_tables(names, parents, outcome, edited, edit)
    if any(table != outcome for table in tables.values()):
        parent_names = {names[i] for i in chain.from_iterable(parents)}
        return "wrong group" if parent_names.isdisjoint(tables.values()) else "mixture"
    outcome_index = names.index(outcome)
    if not any(outcome_index in nodes for nodes in parents):
        return "label bias"
    if {names[i] for i in parents[outcome_index]} <= set(edited):
        return "prior shift"
    return "mixture"


def shift(
    net: BayesNet,
    outcome: str,
    favourable: str,
    groups: Groups,
    beta: float,
    tilt_favoured: bool = False,
    edit: BetaEdit = "outcome",
) -> BayesNet:
    """Return the network tilted against the deprived by `beta`; 0 changes nothing, 1 is the most.

    Of a joint attribute the columns that are parents of the outcome act together, in one edit of its table:
    deprived is who is so by any of them, favoured who is so by all. A column whose parent the outcome is has
    its own table edited.

    Parameters
    ----------
    net : BayesNet
        Between `outcome` and each column of `groups` it has an arc that `edit` may use.
    outcome, favourable : str
        The outcome's column and its favourable level.
    groups : mapping of str to (deprived, favoured)
        In the outcome's table P(+) is multiplied by 1 - β where a level of any column is deprived. In a
        column's own table P(deprived) is, given +. What is lost goes to the other levels in proportion to
        their probabilities (evenly when all of these are 0).
    beta : float
        In [0, 1].
    tilt_favoured : bool
        False is equation (4). True also multiplies by 1 - β, in the outcome's table P(-) where the levels of
        all columns are favoured, and in a column's own P(favoured) given any other outcome.
    edit : {"outcome", "group", "as-learned"}
        See `edited_tables`.

    Raises
    ------
    UserError
        Unknown names or levels, a level both deprived and favoured, none where one is needed, `beta` outside
        [0, 1], an outcome with a single level, or a column without the arc.

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
    tilts = {}  # by node the rows of its table, and the levels that give, against the deprived and for others
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
        tables = edited_tables(net.names, net.parents, outcome, [name], edit)
        if not tables:
            raise user_error(
                f'"{name}" is not a {RELATIVES[edit][0]} of "{outcome}" (its parents: '
                f"{', '.join(parents) or 'none'}), so beta has nothing to change",
                f"set `require_arc: true` (which adds the arc {name} -> {outcome} to the whitelist; learn "
                f"again) or `outcome_sink: true` (let {outcome} have no children, so that arcs point at it)",
            )
        if tables[name] == name:
            if is_deprived.all():
                raise user_error(f'every level of "{name}" is named as deprived', "leave one out")
            shape = [-1 if parent == outcome else 1 for parent in net.parents_of(name)]
            tilts[name] = [(plus.reshape(shape), is_deprived), (~plus.reshape(shape), is_favoured)]
            continue
        shape = [len(source.levels) if parent == name else 1 for parent in parents]
        deprived_rows = deprived_rows | is_deprived.reshape(shape)
        favoured_rows = favoured_rows & is_favoured.reshape(shape)
        tilts[outcome] = [(deprived_rows, plus), (favoured_rows, ~plus)]
    if beta == 0:
        return net
    cpts = list(net.cpts)
    for name, (against_deprived, for_favoured) in tilts.items():
        cpt = net.cpt(name).copy()
        for rows, giving in (against_deprived, for_favoured)[: 1 + tilt_favoured]:
            tilted = np.broadcast_to(rows, cpt.shape[:-1])
            cpt[tilted] = _move_probability(cpt[tilted], giving, beta)
        cpts[net.index(name)] = cpt
    return replace(net, cpts=tuple(cpts))


@dataclass(frozen=True)
class BetaBias:
    """Against whom β works, and how.

    Parameters
    ----------
    edits : tuple of (Groups, float)
        Groups, one after another, each with the share of β; see `shift`.
    tilt_favoured : bool
        Whether the favoured are tilted too.
    edit : {"outcome", "group", "as-learned"}
        Which table is tilted.
    """

    edits: tuple[Edit, ...] = ()
    tilt_favoured: bool = False
    edit: BetaEdit = "outcome"

    def tilt(self, net: BayesNet, outcome: str, favourable: str, beta: float) -> BayesNet:
        """Return a network at β; raises as `shift`."""
        for groups, share in self.edits:
            net = shift(net, outcome, favourable, groups, beta * share, self.tilt_favoured, self.edit)
        return net


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
