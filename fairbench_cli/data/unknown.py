"""What unknown outcomes may hide: counts and gaps under each policy, and at the worst."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairbench_cli.data.card import UNKNOWN, Card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Rows, joint_column

Group = tuple[int, int]
"""Favourable outcomes of some people, and how many people they are."""


@dataclass(frozen=True)
class PolicyCounts:
    """Favourable outcomes under one reading of the unknown ones.

    Parameters
    ----------
    policy : str
        ``leave-out``, ``level`` or ``unfavourable``, as cards have them; or a bound: ``favourable`` (all
        unknown outcomes are), ``lowest`` (those of the favoured group alone are) or ``highest`` (those of
        the deprived group alone).
    levels : dict
        The counts by level of the protected attribute.
    deprived, favoured : (int, int)
        Those of the two groups.
    """

    policy: str
    levels: Mapping[str, Group]
    deprived: Group
    favoured: Group

    @property
    def rows(self) -> int:
        """How many rows count."""
        return sum(n for _, n in self.levels.values())

    @property
    def rates(self) -> list[float]:
        """The rates of the deprived group and of the favoured one; NaN where one has no row."""
        return [k / n if n else float("nan") for k, n in (self.deprived, self.favoured)]


@dataclass(frozen=True)
class UnknownOutcomes:
    """The unknown outcomes by level of a protected attribute, and what each reading makes of them.

    Parameters
    ----------
    attribute : str
        The protected attribute.
    unknown : dict
        By level, how many outcomes are not known, and how many people these are of.
    policies : tuple of PolicyCounts
        The three policies, then the bounds. As a level of its own an unknown outcome is not favourable, so
        ``level`` and ``unfavourable`` have equal counts; they differ in what a network or classifier learns.
        Whatever the unknown outcomes were, the gap is not below ``lowest`` and not above ``highest``.
    """

    attribute: str
    unknown: Mapping[str, Group]
    policies: tuple[PolicyCounts, ...]


def unknown_policies(card: Card, found: LocatedFiles) -> tuple[UnknownOutcomes, ...]:
    """Return what the unknown outcomes of a card's files may hide, one item a protected attribute.

    There is none of a card that knows of no unknown outcomes. Its own policy does not matter.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    if not card.label.unknown:
        return ()
    dataset = load(card.with_unknown_as("level"), found)
    return tuple(_by(name, dataset) for name in card.protected)


def _by(name: str, dataset: Dataset) -> UnknownOutcomes:
    """Return the unknown outcomes by a protected attribute, of rows that have them as a level."""
    roles, table = dataset.roles(name), dataset.table
    column, codes = (
        joint_column(table, name, roles.of) if roles.of else (table.columns[table.index(name)], table[name])
    )
    outcomes = table.columns[table.index(roles.label)].levels
    kind = np.array([{roles.favourable: 1, UNKNOWN: 2}.get(level, 0) for level in outcomes])
    flat = np.bincount(codes.astype(np.intp) * 3 + kind[table[roles.label]], minlength=3 * len(column.levels))
    bad, good, unknown = flat.reshape(-1, 3).T
    people = bad + good + unknown
    deprived, favoured = (
        np.isin(column.levels, group).astype(np.intp) for group in (roles.deprived, roles.favoured)
    )

    def counts(policy: str, k: Rows, n: Rows = people) -> PolicyCounts:
        levels = dict(zip(column.levels, zip(k.tolist(), n.tolist(), strict=True), strict=True))
        groups = [(int(k @ side), int(n @ side)) for side in (deprived, favoured)]
        return PolicyCounts(policy, levels, *groups)

    policies = (
        counts("leave-out", good, bad + good),
        counts("level", good),
        counts("unfavourable", good),
        counts("favourable", good + unknown),
        counts("lowest", good + unknown * favoured),
        counts("highest", good + unknown * deprived),
    )
    return UnknownOutcomes(name, counts("", unknown).levels, policies)
