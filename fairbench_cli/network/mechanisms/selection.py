"""Selection bias: some people are left out of the record, by their outcome or by an old policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairbench_cli.base.errors import Problem
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.people import (
    Given,
    Group,
    Strength,
    check_somebody,
    concerned,
    given_problems,
    group_problems,
    in_words,
    label_problems,
    levels_in_words,
    percent,
)
from fairbench_cli.network.world import World

Outcomes = Literal["favourable", "unfavourable", "any"]


@dataclass(frozen=True)
class SelectionBias:
    """Leave a share of some people out of the record: P(included | Y = +, deprived) = 1 − drop.

    With odds = p / (1 − p), p = P(+ | x, s), and shares σ₊ of those with the favourable outcome and σ₋ of
    the others left out, the record of the group has odds' = odds (1 − σ₊) / (1 − σ₋): the ranking within
    the group and its AUC are kept. The under-representation bias of Blum & Stangl (2020), "Recovering
    from biased data: can fairness constraints improve accuracy?", and the selection bias of Wick, Panda &
    Tristan (2019), "Unlocking fairness: a trade-off revisited".

    With `by` an old policy decides instead: P(included | X, S). Labels are then known of those alone whom the
    policy let in (selective labels; Lakkaraju et al. 2017, "The selective labels problem").

    Parameters
    ----------
    drop : float
        The share that is left out, in [0, 1].
    label : {"favourable", "unfavourable", "any"}, optional
        The recorded outcome of those who are left out; by default the favourable one, or any with `by`.
    of : {"deprived", "favoured", "everybody"}, optional
        Their group; by default the deprived, or everybody with `by`.
    given : mapping of str to levels, optional
        Only those who have one of these levels in every such column.
    by : mapping of str to levels, optional
        Who has one of these levels in every such column is let in by the policy, and not left out.
    """

    strength: ClassVar[str | None] = "drop"
    neutral: ClassVar[bool] = True
    features: ClassVar[bool] = False

    drop: Strength
    label: Outcomes | None = None
    of: Group | None = None
    given: Given | None = None
    by: Given | None = None

    @property
    def whose(self) -> Group:
        """The group that is left out of."""
        return self.of or ("everybody" if self.by else "deprived")

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of those who are left out."""
        return self.label or ("any" if self.by else "favourable")

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        who = in_words(self.whose, self.given, self.outcomes)
        policy = f", unless their {levels_in_words(self.by)}" if self.by else ""
        return f"{percent(self.drop)} of {who} are left out of the record{policy}"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        yield from label_problems(columns, label, favourable)
        yield from group_problems(groups, columns, (self.whose,))
        yield from given_problems(self.given, columns, label)
        yield from given_problems(self.by, columns, label, "by")
        levels = {column.name: column.levels for column in columns}
        if self.by and all(set(levels.get(name, ("",))) <= set(let_in) for name, let_in in self.by.items()):
            yield Problem("by: the policy lets everybody in", "name fewer levels")
        if self.outcomes == "any" and self.whose == "everybody" and not self.given and not self.by:
            what = "selection: a share of everybody, whatever the outcome, is left out, which is no bias"
            yield Problem(what, "say whose (`of`, `given`, `by`) or which outcomes (`label`) are left out")

    def apply(self, world: World) -> World:
        """Return the world with one node of inclusion more."""
        columns, mask = concerned(world, self.whose, self.given, self.by or ())
        if self.by:
            mask = mask & ~world.having(columns, self.by)
        if self.outcomes != "any":
            levels = world.levels(world.label)
            wanted = self.outcomes == "favourable"
            outcomes = np.array([(level == world.favourable) == wanted for level in levels])
            columns, mask = (*columns, world.label), mask[..., None] & outcomes
        check_somebody(world, columns, mask, "to be left out")
        return world.including(columns, np.where(mask, 1 - self.drop, 1.0))
