"""Group noise: the recorded group is sometimes the other one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairbench_cli.base.errors import Problem
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.people import (
    Group,
    Strength,
    check_somebody,
    group_problems,
    in_words,
    percent,
)
from fairbench_cli.network.world import World


@dataclass(frozen=True)
class GroupNoise:
    """Record the other group: S' = S with 1 − noise, else a level of the other group.

    Of several levels each is recorded in proportion to how often the record has it, of a joint attribute of
    all columns together. For decisions and outcomes that do not look at S', the gap between the recorded
    groups is (1 − a − b) times the true one, a = P(S = favoured | S' = deprived) and b = P(S = deprived |
    S' = favoured): Lamy et al. (2019), "Noise-tolerant fair classification", after Scott, Blanchard & Handy
    (2013), "Classification with asymmetric label noise".

    Parameters
    ----------
    noise : float
        The share whose group is recorded wrongly, in [0, 1].
    of : {"everybody", "deprived", "favoured"}
        Whose group: that of both, or of one.
    """

    strength: ClassVar[str | None] = "noise"
    neutral: ClassVar[bool] = True
    features: ClassVar[bool] = True

    noise: Strength
    of: Group = "everybody"

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"{percent(self.noise)} of {in_words(self.of)} are recorded as of the other group"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        yield from group_problems(groups, columns, ("deprived", "favoured"))

    def apply(self, world: World) -> World:
        """Return the world in which the columns of the groups are recorded once more."""
        columns = [*world.groups]
        recorded = world.joint(columns)
        table = np.eye(recorded.size).reshape(*recorded.shape, *recorded.shape)
        for own, other in (("deprived", "favoured"), ("favoured", "deprived")):
            if self.of in (own, "everybody"):
                mask, goal = world.of_group(own), np.where(world.of_group(other), recorded, 0)
                check_somebody(world, columns, mask, f"who is {own}")
                check_somebody(world, columns, goal > 0, f"who is {other}")
                table[mask] = (1 - self.noise) * table[mask] + self.noise * goal / goal.sum()
        return world.recording(columns, (), table)
