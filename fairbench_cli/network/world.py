"""Worlds: a network of true people, and of what is recorded of them.

A world is itself a Bayesian network. Next to each true column that is recorded wrongly stands what is
recorded of it, and whether a person is included in the record is a node too. All that holds for a network
therefore holds for a world: rows can be drawn, and probabilities are exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import Problem, refuse, user_error
from fairbench_cli.data.table import Codes, Column, Floats, Table
from fairbench_cli.network.bias import BetaBias, Groups
from fairbench_cli.network.draw import BLOCK, make_row_drawer
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior

NO = "no"
YES = "yes"
"""The levels of an inclusion node."""

FEWEST_INCLUDED = 1e-4
"""The smallest share of people that may be included: all others are drawn in vain."""

WEAKER = "lower the strength of the bias, or change whom it concerns"


@dataclass(frozen=True, eq=False)
class World:
    """True people, what is recorded of them, and who is included, as one network.

    Parameters
    ----------
    network : BayesNet
        What is recorded has the column's own name. Where it may differ from the truth, the true column is
        ``NAME.true``; of a column that is recorded several times, one after another, ``NAME.1`` and so on are
        what was recorded before the last.
    base : BayesNet
        The network that the world was made of: the truth P, whose columns the record has in that order.
    label, favourable : str
        The outcome's column and its favourable level.
    groups : mapping of str to (deprived, favoured)
        Levels of the protected attribute; of a joint one, deprived is who is so by any of the columns.
    included : tuple of str
        Nodes with the levels "no" and "yes": a person is recorded whose levels are all "yes".
    omitted : tuple of str
        Columns that are not recorded.
    """

    network: BayesNet
    base: BayesNet
    label: str
    favourable: str
    groups: Groups
    included: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    def true_name(self, column: str) -> str:
        """Return the node that is a column's truth; `KeyError` when there is no such column."""
        return self.chain(column)[0]

    @property
    def altered(self) -> tuple[str, ...]:
        """Columns whose record may differ from the truth, in the order of the base."""
        return tuple(name for name in self.base.names if self.true_name(name) != name)

    @property
    def recorded(self) -> tuple[str, ...]:
        """Columns of the record, in the order of the base."""
        return tuple(name for name in self.base.names if name not in self.omitted)

    @property
    def streams(self) -> dict[str, str]:
        """The names of the random streams of those nodes that do not have their own name's.

        A true column has the stream of the column's plain name, so that the same people are drawn in every
        world; what is recorded, first, second and so on, and inclusion have others.
        """
        streams = {name: f"{name}\nincluded" for name in self.included}
        for column in self.altered:
            for i, name in enumerate(self.chain(column)):
                if i == 0:
                    streams[name] = column
                else:
                    streams[name] = f"{column}\nrecorded {i}"
        return streams

    def chain(self, column: str) -> list[str]:
        """Return the nodes of a column, its truth first and what is recorded last."""
        nodes = set(self.network.names) - set(self.base.names)
        if f"{column}.true" not in nodes:
            return [self.base.names[self.base.index(column)]]
        chain = [f"{column}.true"]
        while f"{column}.{len(chain)}" in nodes:
            chain.append(f"{column}.{len(chain)}")
        return chain + [column]

    def joint(self, columns: Sequence[str]) -> Floats:
        """Return the joint distribution of some nodes among the included, with an axis for each."""
        return compute_posterior(self.network, columns, dict.fromkeys(self.included, YES)).table

    def recording(self, columns: Sequence[str], conditions: Sequence[str], table: Floats) -> "World":
        """Return the world in which some columns are recorded once more.

        What is recorded of them so far becomes ``NAME.true`` or, where the column was recorded wrongly
        before, ``NAME.1`` and so on.

        Parameters
        ----------
        columns : sequence of str
            Columns of the record.
        conditions : sequence of str
            Other nodes that decide what is recorded.
        table : float64 array
            P(new | conditions, old): axes for the nodes of `conditions`, the columns as recorded so far, and
            the columns as they are recorded now.

        Raises
        ------
        UserError
            When the network has a column of such a name.
        """
        network = self.network
        n_nodes = len(network.columns)
        n_conditions = table.ndim - len(columns)
        old_nodes = [network.index(name) for name in columns]
        condition_nodes = [network.index(name) for name in conditions] + old_nodes
        nodes = list(network.columns)
        parents = list(network.parents)
        cpts = list(network.cpts)
        for i, old_node in enumerate(old_nodes):
            column = network.columns[old_node]
            times_recorded = len(self.chain(column.name)) - 1
            if times_recorded:
                old_name = f"{column.name}.{times_recorded}"
            else:
                old_name = f"{column.name}.true"
            _check_free(old_name, network)
            nodes[old_node] = replace(column, name=old_name)
            # By the chain rule: P(new i | conditions, old, new 0 … i − 1) is the table summed over the new
            # columns after i, divided by its sum over column i.
            joint = table.sum(axis=tuple(range(n_conditions + i + 1, table.ndim)))
            total = joint.sum(axis=-1, keepdims=True)
            uniform = np.full_like(joint, 1 / joint.shape[-1])  # where the conditions cannot be
            cpts.append(np.divide(joint, total, out=uniform, where=total > 0))
            parents.append(tuple(condition_nodes) + tuple(range(n_nodes, n_nodes + i)))
            nodes.append(column)
        return replace(self, network=BayesNet(tuple(nodes), tuple(parents), tuple(cpts)))

    def including(self, conditions: Sequence[str], chance: Floats) -> "World":
        """Return the world in which fewer people are included.

        Parameters
        ----------
        conditions : sequence of str
            Nodes that decide on it.
        chance : float64 array
            P(included | conditions), an axis for each of these nodes.

        Raises
        ------
        UserError
            When next to nobody is left, or the network has a column of such a name.
        """
        network = self.network
        node_name = "included"
        if self.included:
            node_name = f"included.{len(self.included) + 1}"
        _check_free(node_name, network)
        node = Column(node_name, (NO, YES))
        parents = tuple(network.index(name) for name in conditions)
        cpt = np.stack([1 - chance, chance], axis=-1)
        network_after = BayesNet((*network.columns, node), (*network.parents, parents), (*network.cpts, cpt))
        narrower = replace(self, network=network_after, included=self.included + (node_name,))
        share = narrower.share_included
        if share < FEWEST_INCLUDED:
            problem = "nobody is included in the record"
            if share:
                problem = f"{share:.2g} of all people are included"
            raise user_error(problem, WEAKER)
        return narrower

    @property
    def share_included(self) -> float:
        """P(included): the share of the people who are recorded at all."""
        if not self.included:
            return 1.0
        return float(compute_posterior(self.network, self.included).table[(1,) * len(self.included)])

    def of_group(self, group: str) -> NDArray[np.bool_]:
        """Return which levels are a group's, with an axis for each column of `groups`.

        Parameters
        ----------
        group : {"deprived", "favoured"}
            Deprived is who is so by any column, favoured who is so by all of them.
        """
        columns = list(self.groups)
        if group == "favoured":
            return self.having(columns, {name: favoured for name, (_, favoured) in self.groups.items()})
        other_levels = {}
        for name, (deprived, _) in self.groups.items():
            other_levels[name] = [level for level in self.levels(name) if level not in deprived]
        return ~self.having(columns, other_levels)

    def having(self, columns: Sequence[str], required: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        """Return at which levels of some columns a person has one of the required levels in every one.

        Parameters
        ----------
        columns : sequence of str
            The axes of the result.
        required : mapping of str to levels
            For some of these columns.
        """
        mask = np.ones([len(self.levels(name)) for name in columns], bool)
        for axis, name in enumerate(columns):
            if name in required:
                is_required = np.array([level in required[name] for level in self.levels(name)])
                # One axis for each column: all of length 1 but this one's.
                shape = np.ones(len(columns), int)
                shape[axis] = -1
                mask &= is_required.reshape(shape)
        return mask

    def levels(self, column: str) -> tuple[str, ...]:
        """Return the levels of a column, true and recorded."""
        return self.base.levels_of(column)


def _check_free(name: str, network: BayesNet) -> None:
    if name in network.names:
        raise user_error(f'the data have a column "{name}", which a world has too', "rename the column")


@dataclass(frozen=True)
class DataRoles:
    """The columns of data, and which of them are the outcome and the groups.

    Parameters
    ----------
    columns : sequence of Column
        All of them.
    label, favourable : str
        The outcome's column and its favourable level.
    groups : mapping of str to (deprived, favoured)
        Levels of the protected attribute, by column.
    """

    columns: Sequence[Column]
    label: str
    favourable: str
    groups: Groups

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of each column."""
        return {column.name: column.levels for column in self.columns}


class Mechanism(Protocol):
    """One bias: a frozen dataclass whose fields are its keys in a config; see `network/mechanisms`."""

    strength: ClassVar[str | None] = None
    """The field that is its strength, in [0, 1]; None where it has none."""
    neutral: ClassVar[bool] = True
    """Whether strength 0 changes nothing."""
    features: ClassVar[bool] = False
    """Whether recorded features may differ from the true ones."""

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""

    def check(self, data: DataRoles) -> Iterator[Problem]:
        """Yield what is wrong with it for data of such columns."""

    def apply(self, world: World) -> World:
        """Return the world with one bias more; `UserError` for what only the CPTs tell."""


def make_world(
    net: BayesNet, label: str, favourable: str, groups: Groups, mechanisms: Sequence[Mechanism] = ()
) -> World:
    """Return the world that some biases make of a network, one after another.

    Each bias acts on the record as those before it leave it: a label that is flipped after a selection is
    flipped among all people, but a selection after the flips looks at flipped labels.

    Parameters
    ----------
    net : BayesNet
        The truth.
    label, favourable : str
        The outcome's column and its favourable level.
    groups : mapping of str to (deprived, favoured)
        Levels of the protected attribute, by column; of a joint one of all its parts.
    mechanisms : sequence of Mechanism
        None of them: what is recorded is the truth.

    Raises
    ------
    UserError
        For a mechanism that does not fit the columns or changes nothing, and for a world whose record has
        nobody of a group.

    >>> from fairbench_cli.network.mechanisms.biases import LabelBias
    >>> net = BayesNet(
    ...     (Column("s", ("f", "m")), Column("y", ("no", "yes"))),
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.25, 0.75]])),
    ... )
    >>> world = make_world(net, "y", "yes", {"s": (["f"], ["m"])}, [LabelBias(flip=0.5)])
    >>> world.network.names, world.network.parents_of("y")
    (('s', 'y.true', 'y'), ('s', 'y.true'))
    >>> world.joint(["s", "y"]).tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """
    data = DataRoles(net.columns, label, favourable, groups)
    problems = list[Problem]()
    for mechanism in mechanisms:
        name = mechanism.strength
        strength = _find_strength(mechanism)
        if not 0 <= strength <= 1:
            problems.append(Problem(f"{name} is {strength}", f"give a {name} from 0 to 1"))
        problems += mechanism.check(data)
    refuse(dict.fromkeys(problems))
    world = World(net, net, label, favourable, groups)
    for mechanism in mechanisms:
        if not mechanism.neutral or _find_strength(mechanism):
            world = mechanism.apply(world)
    if mechanisms:
        _check_possible(world)
    return world


def _find_strength(mechanism: Mechanism) -> float:
    """Return the strength of a mechanism, 1 where it has none."""
    if mechanism.strength is None:
        return 1.0
    strength: float = getattr(mechanism, mechanism.strength)
    return strength


def _check_possible(world: World) -> None:
    """Check that the record has people of both groups; one outcome alone is a result, as under β = 1."""
    recorded = world.joint(list(world.groups))
    for group in ("deprived", "favoured"):
        if not recorded[world.of_group(group)].sum() > 0:
            raise user_error(f"in this world nobody who is recorded is {group}", WEAKER)


def make_beta_world(
    net: BayesNet, label: str, favourable: str, groups: Groups, bias: BetaBias, beta: float
) -> World:
    """Return β as a world: tables of the network are tilted, and all is recorded as it is then.

    Parameters
    ----------
    net, label, favourable, groups
        As for `make_world`.
    bias : BetaBias
        Against whom β works, and how.
    beta : float
        In [0, 1].

    Raises
    ------
    UserError
        As `shift`.
    """
    return World(bias.tilt(net, label, favourable, beta), net, label, favourable, groups)


@dataclass(frozen=True, eq=False)
class WorldRows:
    """Rows of a world.

    Parameters
    ----------
    recorded : Table
        What is recorded, under the columns' own names; those that are omitted are not there.
    true : Table
        The truth about the same people: every column of the base.
    included : bool array, shape (rows,)
        Who is included in the record.
    """

    recorded: Table
    true: Table
    included: NDArray[np.bool_]


def draw_people(world: World, n: int, seed: int) -> WorldRows:
    """Return `n` people of the record: rows of the world are drawn until so many are included.

    A smaller `n` gives the first of the same people. The true columns of all people are those of every other
    world of the same base and seed, before some are left out; without bias the rows are those of `sample`.

    Parameters
    ----------
    world : World
        The world.
    n : int
        Number of included people, 0 or more.
    seed : int
        0 or more, of any size.

    Raises
    ------
    ValueError
        `n` or `seed` is negative.
    """
    if n < 0 or seed < 0:
        raise ValueError(f"n and seed must be 0 or more, not {n} and {seed}")
    names = world.network.names
    fill = make_row_drawer(world.network, seed, world.streams)
    rows: Codes = np.zeros((n, len(names)), dtype=np.int16, order="F")
    inclusion_nodes = [world.network.index(name) for name in world.included]
    n_found = 0
    tried = 0
    while n_found < n:
        if inclusion_nodes:
            most = ceil((n - n_found) * (tried + 1) / (n_found + 1))
        else:
            most = n - n_found
        block: Codes = np.zeros((min(most, BLOCK), len(names)), dtype=np.int16, order="F")
        fill(block)
        tried += len(block)
        if inclusion_nodes:
            block = block[block[:, inclusion_nodes].all(axis=1)]
        block = block[: n - n_found]
        rows[n_found : n_found + len(block)] = block
        n_found += len(block)
    return _to_world_rows(world, rows, np.ones(n, bool))


def record_people(world: World, true: Table, seed: int) -> WorldRows:
    """Return the record of given people, included or not.

    Parameters
    ----------
    world : World
        The world.
    true : Table
        The truth about them, with the columns of the base.
    seed : int
        0 or more, of any size.

    Raises
    ------
    ValueError
        When the columns are not those of the base, or `seed` is negative.
    """
    if true.columns != world.base.columns:
        raise ValueError("the columns of the people are not those of the world's network")
    if seed < 0:
        raise ValueError(f"the seed must be 0 or more, not {seed}")
    network = world.network
    true_nodes = [world.true_name(name) for name in world.base.names]
    rows: Codes = np.zeros((len(true), len(network.columns)), dtype=np.int16, order="F")
    rows[:, [network.index(name) for name in true_nodes]] = true.codes
    fill = make_row_drawer(network, seed, world.streams, true_nodes)
    for start in range(0, len(rows), BLOCK):
        fill(rows[start : start + BLOCK])
    inclusion_nodes = [network.index(name) for name in world.included]
    return _to_world_rows(world, rows, np.asarray(rows[:, inclusion_nodes].all(axis=1)))


def _to_world_rows(world: World, rows: Codes, included: NDArray[np.bool_]) -> WorldRows:
    """Return the record and the truth of rows of all nodes."""
    network = world.network
    base = world.base
    true_nodes = [network.index(world.true_name(name)) for name in base.names]
    true = Table(base.columns, np.asfortranarray(rows[:, true_nodes]))
    if not world.altered and not world.omitted:
        return WorldRows(true, true, included)
    recorded_nodes = [network.index(name) for name in world.recorded]
    columns = tuple(network.columns[j] for j in recorded_nodes)
    return WorldRows(Table(columns, np.asfortranarray(rows[:, recorded_nodes])), true, included)
