"""Representation: a group has another share of the record than of the people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairbench_cli.base.errors import Problem
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.people import check_somebody, group_problems, percent
from fairbench_cli.network.world import World


@dataclass(frozen=True)
class GroupShare:
    """Set a group's share of the record: P(S = deprived | included) = share; all else given S stays.

    People of the group that is then too large are left out at random, so that what is lost is rows: base
    rates, p(x, s) and the ranking stay. The representation bias of Suresh & Guttag (2021), "A framework for
    understanding sources of harm throughout the machine learning life cycle"; the undersampling of Akpinar et
    al. (2022), "A sandbox tool to bias(stress)-test fairness algorithms".

    Parameters
    ----------
    share : float
        The share, above 0 and below 1.
    of : {"deprived", "favoured"}
        The group.
    """

    strength: ClassVar[str | None] = "share"
    neutral: ClassVar[bool] = False
    features: ClassVar[bool] = False

    share: Annotated[float, Field(gt=0, lt=1)]
    of: Literal["deprived", "favoured"] = "deprived"

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"the {self.of} are {percent(self.share)} of the record"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        yield from group_problems(groups, columns, ("deprived", "favoured"))
        if self.share in (0, 1):
            what = f"a share of {self.share:g} leaves one group empty"
            yield Problem(what, "give a share above 0 and below 1")

    def apply(self, world: World) -> World:
        """Return the world with one node of inclusion more, which looks at the group alone."""
        columns, mask = [*world.groups], world.of_group(self.of)
        check_somebody(world, columns, mask, f"who is {self.of}")
        check_somebody(world, columns, ~mask, f"who is not {self.of}")
        now = world.joint(columns)[mask].sum()
        kept = self.share * (1 - now) / (now * (1 - self.share))  # of the group, for each of the others
        return world.including(columns, np.where(mask, min(kept, 1), min(1 / kept, 1)))
