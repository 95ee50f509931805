"""Label bias: recorded outcomes are flipped."""

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
    percent,
)
from fairbench_cli.network.world import World


@dataclass(frozen=True)
class LabelBias:
    """Flip a share of the recorded outcomes: P(Y' = − | Y = +, deprived) = flip.

    Flips do not look at the features, unless `given` says so. With p = P(+ | x, s), the record has
    p' = (1 − flip) p for those concerned, so that the ranking within the group is kept, and the gap between
    groups in TPR measured on Y' is that on Y for every rule that does not see Y'. The labelling bias of
    Blum & Stangl (2020), "Recovering from biased data: can fairness constraints improve accuracy?", and the
    label bias of Wick, Panda & Tristan (2019), "Unlocking fairness: a trade-off revisited". Where the outcome
    has no children, equation (4) of Cardoso et al. (2019) is this mechanism.

    Parameters
    ----------
    flip : float
        The share that is flipped, in [0, 1].
    to : {"unfavourable", "favourable"}
        What it is flipped to. Of several unfavourable levels, each in proportion to how often it is recorded.
    of : {"deprived", "favoured", "everybody"}, optional
        Whose outcomes; by default those of the deprived, or of the favoured where `to` is "favourable".
    given : mapping of str to levels, optional
        Only of those who have one of these levels in every such column. The ranking is not kept then:
        p' = (1 − flip · g(x)) p.
    """

    strength: ClassVar[str | None] = "flip"
    neutral: ClassVar[bool] = True
    features: ClassVar[bool] = False

    flip: Strength
    to: Literal["unfavourable", "favourable"] = "unfavourable"
    of: Group | None = None
    given: Given | None = None

    @property
    def whose(self) -> Group:
        """The group whose outcomes are flipped."""
        return self.of or ("deprived" if self.to == "unfavourable" else "favoured")

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        old, new = ("favourable", "unfavourable")[:: 1 if self.to == "unfavourable" else -1]
        who = in_words(self.whose, self.given, old)
        return f"{percent(self.flip)} of {who} are recorded with the {new} one"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        yield from label_problems(columns, label, favourable)
        yield from group_problems(groups, columns, (self.whose,))
        yield from given_problems(self.given, columns, label)

    def apply(self, world: World) -> World:
        """Return the world whose outcomes are recorded once more, some of them flipped."""
        columns, mask = concerned(world, self.whose, self.given)
        levels = world.levels(world.label)
        plus = np.array([level == world.favourable for level in levels])
        taken, goal = (plus, ~plus) if self.to == "unfavourable" else (~plus, plus)
        other = "favourable" if self.to == "unfavourable" else "unfavourable"
        who = f"concerned with the {other} outcome"
        check_somebody(world, (*columns, world.label), mask[..., None] & taken, who)
        shares = world.joint([world.label]) * goal
        shares = shares / shares.sum() if shares.sum() > 0 else goal / goal.sum()
        same = np.eye(len(levels))
        flips = np.where(taken[:, None], (1 - self.flip) * same + self.flip * shares, same)
        return world.recording([world.label], columns, np.where(mask[..., None, None], flips, same))
