"""Historical bias: the true feature of a group is another than it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import Problem, user_error
from fairbench_cli.data.column_card import Text
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.measures.counts import divide
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.levels import goal, moves, towards_problems
from fairbench_cli.network.mechanisms.people import (
    Group,
    Strength,
    column_problems,
    group_problems,
    in_words,
    percent,
)
from fairbench_cli.network.model import BayesNet, is_ancestor
from fairbench_cli.network.query import posterior
from fairbench_cli.network.world import World

FAVOURED = "favoured"


@dataclass(frozen=True)
class HistoricalBias:
    """Change a true feature: P'(X | deprived, parents) = (1 − shift) P(X | deprived, parents) + shift · Q.

    What follows from X in the network, the outcome too, follows from the changed X; what is recorded is true.
    The world is another than the fitted network's: differences between the groups are then "explained" by X,
    and a measure that conditions on X does not see them. The historical bias of Suresh & Guttag (2021), "A
    framework for understanding sources of harm throughout the machine learning life cycle", and of Baumann et
    al. (2023), "Bias on demand".

    Parameters
    ----------
    column : str
        The feature X.
    shift : float
        How far, in [0, 1].
    towards : str
        What Q is. ``favoured``: P(X | favoured, other parents), the CPT rows of the favoured. ``lower``: the
        next lower level, of a column whose levels have an order. ``marginal``: P(X). Else a level.
    of : {"deprived", "favoured", "everybody"}
        Whose feature.
    """

    strength: ClassVar[str | None] = "shift"
    neutral: ClassVar[bool] = True
    features: ClassVar[bool] = False

    column: Text
    shift: Strength
    towards: Text
    of: Group = "deprived"

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        new = "as of the favoured" if self.towards == FAVOURED else goal(self.towards)
        return f"the true {self.column} of {percent(self.shift)} of {in_words(self.of)} is {new}"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        found = [*column_problems(self.column, columns, label, groups)]
        yield from found or towards_problems(self.towards, self.column, columns, (FAVOURED,))
        yield from group_problems(groups, columns, ("deprived", "favoured"))
        if self.of == self.towards == FAVOURED:
            yield Problem("towards: the favoured are as the favoured already", "write of: deprived")

    def apply(self, world: World) -> World:
        """Return the world in which the true column has another CPT."""
        network, truth = world.network, world.true_name(self.column)
        j, groups = network.index(truth), [network.index(world.true_name(name)) for name in world.groups]
        if self.of == "everybody" and self.towards != FAVOURED:
            groups = []
        if any(is_ancestor(network.parents, j, i) for i in groups):
            what = f'the group follows from "{self.column}" in the network, so it cannot decide on it'
            more = " and something else after `towards`" * (self.towards == FAVOURED)
            raise user_error(what, f"name another column, or write of: everybody{more}")
        if self.towards == FAVOURED and not set(groups) & set(network.parents[j]):
            what = f'"{self.column}" does not depend on the group given its parents in the network'
            raise user_error(what, "name a child of the group, or something else after `towards`")
        rest = [i for i in network.parents[j] if i not in groups]
        cpt = _by_groups(network, j, groups, rest)
        if self.towards == FAVOURED:
            new = _of_favoured(network, groups, rest, cpt, world.of_group(FAVOURED))
        else:
            new = cpt @ moves(network.columns[j], self.towards, posterior(network, [truth]).table)
        everybody = np.ones(cpt.shape[: len(groups)], bool)
        mask = everybody if self.of == "everybody" else world.of_group(self.of)
        who = mask.reshape(*mask.shape, *(1 for _ in range(cpt.ndim - mask.ndim)))
        mixed = np.where(who, (1 - self.shift) * cpt + self.shift * new, cpt)
        if np.allclose(mixed, cpt, rtol=0, atol=1e-12):
            raise user_error(f'"{self.column}" stays as it is', "change whom it concerns, or `towards`")
        parents, cpts = list(network.parents), list(network.cpts)
        parents[j], cpts[j] = (*groups, *rest), mixed
        return replace(world, network=BayesNet(network.columns, tuple(parents), tuple(cpts)))


def _by_groups(network: BayesNet, j: int, groups: Sequence[int], rest: Sequence[int]) -> Floats:
    """Return the CPT of node j with an axis for each column of the groups, then the other parents."""
    own = network.parents[j]
    ahead = [i for i in groups if i in own]
    found = network.cpts[j].transpose([*(own.index(i) for i in (*ahead, *rest)), len(own)])
    found = found.reshape(
        [found.shape[ahead.index(i)] if i in ahead else 1 for i in groups] + [*found.shape[len(ahead) :]]
    )
    sizes = [len(network.columns[i].levels) for i in groups]
    return np.broadcast_to(found, (*sizes, *found.shape[len(groups) :]))


def _of_favoured(
    network: BayesNet, groups: Sequence[int], rest: Sequence[int], cpt: Floats, mask: NDArray[np.bool_]
) -> Floats:
    """Return P(X | favoured, other parents) for every level of the groups' columns."""
    names = [network.names[i] for i in (*groups, *rest)]
    axes = tuple(range(len(groups)))
    own = mask.reshape(*mask.shape, *(1 for _ in rest))
    weight = np.where(own, posterior(network, names).table, 0)
    total = weight.sum(axis=axes, keepdims=True)
    weight = np.where(total > 0, divide(weight, total), own / mask.sum())
    return np.asarray((weight[..., None] * cpt).sum(axis=axes, keepdims=True))
