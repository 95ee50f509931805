"""Measurement error: a feature is recorded wrongly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairbench_cli.base.errors import Problem, user_error
from fairbench_cli.data.column_card import Text
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.levels import MARGINAL, goal, moves, towards_problems
from fairbench_cli.network.mechanisms.people import (
    Group,
    Strength,
    check_somebody,
    column_problems,
    concerned,
    group_problems,
    in_words,
    percent,
)
from fairbench_cli.network.world import World


@dataclass(frozen=True)
class MeasurementError:
    """Record a feature wrongly: X' = X with 1 − noise, else a draw from its marginal or another level.

    The errors differ by group, and so does what X' says of a person: the ranking within the group is lost,
    and with it accuracy that no threshold or weight gives back. The measurement bias on features of Baumann
    et al. (2023), "Bias on demand", and of Akpinar et al. (2022), "A sandbox tool to bias(stress)-test
    fairness algorithms".

    Parameters
    ----------
    column : str
        The feature.
    noise : float
        The share that is recorded wrongly, in [0, 1]; of these a draw from the marginal may be right.
    of : {"deprived", "favoured", "everybody"}
        Whose feature.
    towards : str
        ``marginal``: a draw from the column's marginal in the record. ``lower``: the next lower level of a
        column whose levels have an order. Else a level.
    """

    strength: ClassVar[str | None] = "noise"
    neutral: ClassVar[bool] = True
    features: ClassVar[bool] = True

    column: Text
    noise: Strength
    of: Group = "deprived"
    towards: Text = MARGINAL

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        who, what = f"{percent(self.noise)} of {in_words(self.of)}", goal(self.towards)
        return f"the {self.column} of {who} is recorded as {what}"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        found = [*column_problems(self.column, columns, label, groups, ("label", "group"))]
        yield from found or towards_problems(self.towards, self.column, columns)
        yield from group_problems(groups, columns, (self.of,))

    def apply(self, world: World) -> World:
        """Return the world in which the column is recorded once more."""
        if self.column in world.omitted:
            what = f'"{self.column}" is omitted before it is measured, so nothing is changed'
            raise user_error(what, "leave one of the two out")
        columns, mask = concerned(world, self.of)
        column, marginal = world.base.columns[world.base.index(self.column)], world.joint([self.column])
        same, moved = np.eye(len(column.levels)), moves(column, self.towards, marginal)
        changed = mask[..., None] & (np.diag(moved) < 1)
        who = f'{self.of} whose "{self.column}" could be recorded otherwise'
        check_somebody(world, (*columns, self.column), changed, who)
        noisy = (1 - self.noise) * same + self.noise * moved
        return world.recording([self.column], columns, np.where(mask[..., None, None], noisy, same))
