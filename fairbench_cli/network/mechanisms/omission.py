"""Omission: a feature is not recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from fairbench_cli.base.errors import Problem, user_error
from fairbench_cli.data.column_card import Text
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.mechanisms.people import column_problems
from fairbench_cli.network.world import World


@dataclass(frozen=True)
class OmittedColumn:
    """Leave a feature out of the record: nobody sees X, and p(x) is what the other features tell.

    Whatever is left of X in the others stays there; a measure that conditions on X cannot be computed. The
    omitted variable bias of Mehrabi et al. (2021), "A survey on bias and fairness in machine learning", and
    of Baumann et al. (2023), "Bias on demand".

    Parameters
    ----------
    column : str
        The feature. Later mechanisms may look at it: what decides need not be recorded.
    """

    strength: ClassVar[str | None] = None
    neutral: ClassVar[bool] = False
    features: ClassVar[bool] = False

    column: Text

    @property
    def words(self) -> str:
        """What it does, as a phrase without a full stop."""
        return f"{self.column} is not recorded"

    def check(
        self, columns: Sequence[Column], label: str, favourable: str, groups: Groups
    ) -> Iterator[Problem]:
        """Yield what is wrong with it for a table of such columns."""
        yield from column_problems(self.column, columns, label, groups)

    def apply(self, world: World) -> World:
        """Return the world in which the column is not recorded."""
        if self.column in world.omitted:
            raise user_error(f'"{self.column}" is omitted twice', "omit it once")
        found = replace(world, omitted=(*world.omitted, self.column))
        if set(found.recorded) <= {world.label, *world.groups}:
            what = f'without "{self.column}" the record has no feature'
            raise user_error(what, "omit fewer columns")
        return found
