"""What of groups and labels misleads: gaps, few rows, rates in the wrong direction, unknown labels."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairbench_cli.base.safe_text import format_count, format_percent
from fairbench_cli.data.card import UNKNOWN, Card
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.recognise import named_like_harm
from fairbench_cli.data.table import Roles, Rows, add_joint_column

Side = Literal["deprived", "favoured"]

GAP = 0.05  # difference of the shares of missing values; the largest in Adult is .032
SURE = 3.0  # standard errors of that difference
SMALL = 0.02  # difference of the rates of two groups
WITHIN = 0.03  # of 0, with its 95 % interval: hardly a gap
ONE_SIDED = 1.645  # standard errors by which a rate must be higher
FOUR_FIFTHS = 0.8  # of the other rate, of either outcome
NORMAL = 1.96  # standard errors of a 95 % interval
MANY_UNKNOWN = 0.01  # of the rows; of New York's stops .1 % have no outcome, of law students 16 %
AFFIRMED = ("1", "yes", "y", "true", "t")
SMALL_GROUP = 400  # rows; a rate among fewer has a 95 % interval of some ±.05
FEW = 30  # rows; a rate among fewer has a 95 % interval of some ±.18


def check_groups(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns whose values are missing by group, and the groups with few rows of a label.

    Missing is compared before rows are dropped for it (``missing_rows: drop``): dropping them takes more of
    one group than of the other. It must differ by 5 points and by 3 standard errors.
    """
    names = [name for name in rows.cells.columns if name != rows.card.label.column]
    gaps = {name: rows.is_gap(name) for name in names}
    for roles in rows.roles.values():
        sides = rows.sides(roles)
        for name, gap in gaps.items():
            if name != roles.attribute and name not in roles.of and gap.any():
                yield from _check_missing(rows, name, gap, roles, sides)
        yield from _check_few_rows(rows, roles, sides)


def _check_missing(
    rows: RawRows, name: str, gap: Mask, roles: Roles, sides: tuple[Mask, Mask]
) -> Iterator[Finding]:
    deprived, favoured = (float(gap[side].mean()) for side in sides)
    total = [int(side.sum()) for side in sides]
    pooled = float((gap[sides[0]].sum() + gap[sides[1]].sum()) / sum(total))
    error = math.sqrt(pooled * (1 - pooled) * (1 / total[0] + 1 / total[1]))
    if abs(deprived - favoured) >= max(GAP, SURE * error):
        shares = f"{format_percent(deprived)} of the deprived and {format_percent(favoured)} of the favoured"
        fix = "find out why: gaps reveal the group, and dropping their rows takes more of one group"
        yield rows.finding("gaps-by-group", name, f"is missing in {shares} ({roles.attribute})", fix)


def _check_few_rows(rows: RawRows, roles: Roles, sides: tuple[Mask, Mask]) -> Iterator[Finding]:
    name = roles.attribute
    key_path = ("protected", roles.attribute)
    for group, side in zip(("deprived", "favoured"), sides, strict=True):
        rates = rows.favourable[side & rows.complete]
        wide = NORMAL * float(rates.std()) / math.sqrt(max(len(rates), 1))
        if FEW < len(rates) < SMALL_GROUP and not roles.of:
            problem = f"has {len(rates):,} {group} rows: their rate is known to ±{100 * wide:.0f} points"
            yield rows.finding(
                "few-rows", name, problem, "give intervals with every rate", *key_path, used=False
            )
        for outcome, having in (("favourable", rows.favourable), ("unfavourable", ~rows.favourable)):
            count = int((side & having & rows.complete).sum())
            if count < FEW:
                problem = f"has {format_count(count, f'{group} row')} with {outcome} {roles.label}"
                fix = f"below {FEW}, error rates of a group are guesses: merge levels or get more rows"
                yield rows.finding("few-rows", name, problem, fix, *key_path)


def check_directions(rows: RawRows) -> Iterator[Finding]:
    """Yield the attributes whose deprived group fares better or surely no worse, and a bad label called good.

    Better is a rate of favourable labels that is higher by 2 points and by 1.645 standard errors. Surely no
    worse is a difference whose 95 % interval is within ±3 points, while neither outcome is a fifth rarer in
    one group, as rare outcomes may be. A label is bad by words such as default or arrest, in its name or in
    what the code book says of the favourable value.
    """
    label = rows.card.label
    good = f"{label.column} {label.favourable}"
    for roles in (roles for roles in rows.roles.values() if not roles.of):
        groups = [rows.favourable[side & rows.complete] for side in rows.sides(roles)]
        if not all(map(len, groups)):
            continue
        deprived, favoured = (float(group.mean()) for group in groups)
        error = math.sqrt(sum(float(group.var()) / len(group) for group in groups))
        shares = f"{format_percent(deprived)} of the deprived and {format_percent(favoured)} of the favoured"
        rates = f"{shares} have it"
        name = roles.attribute
        key_path = ("protected", roles.attribute)
        if deprived - favoured >= max(SMALL, ONE_SIDED * error):
            problem = f"favours those called deprived ({good}): {rates}"
            fix = "say why they are called deprived all the same (`why`), or name the others"
            yield rows.finding("direction", name, problem, fix, *key_path)
        elif abs(deprived - favoured) + NORMAL * error < WITHIN and all(
            min(pair) >= FOUR_FIFTHS * max(pair)
            for pair in ((deprived, favoured), (1 - deprived, 1 - favoured))
        ):
            fix = "inject a known bias (`betas`, `sample.bias`), or take another attribute"
            yield rows.finding("small-gap", name, f"has hardly a gap ({good}): {rates}", fix, *key_path)
    entry = rows.card.column(label.column)
    meaning = entry.codes.get(label.favourable, label.favourable)
    texts = (label.column, entry.source or "") if meaning.casefold() in AFFIRMED else (meaning,)
    if bad := next(filter(named_like_harm, texts), None):
        problem = f'is called favourable where it is "{label.favourable}", which seems bad: "{bad}"'
        fix = "turn it round, or say why (`label.why`): every measure is read the other way"
        yield rows.finding("direction", label.column, problem, fix, "label", "favourable")


def check_unknown_outcomes(rows: RawRows) -> Iterator[Finding]:
    """Yield a label that is unknown in 1 % of the file's rows or more, and by group."""
    unknown = rows.unknown
    label = rows.card.label
    if unknown.mean() < MANY_UNKNOWN:
        return
    by_group = []
    for roles in rows.roles.values():
        if not roles.of and rows.card.column(roles.attribute).kind == "nominal":
            levels = rows.recoded(roles.attribute)
            shares = [
                f"{format_percent(unknown[levels.isin(group).to_numpy(dtype=bool)].mean())} of the {word}"
                for word, group in (("deprived", roles.deprived), ("favoured", roles.favoured))
            ]
            by_group.append(f"{' and '.join(shares)} ({roles.attribute})")
    problem = f"is unknown in {unknown.sum():,} of {len(unknown):,} rows ({format_percent(unknown.mean())})"
    if by_group:
        problem = ": ".join([problem, ", ".join(by_group)])
    fix = "leaving them out selects people: say what becomes of them with `label.unknown` and `unknown_as`"
    if label.unknown:
        fix = "see with `fairbench data show` what they may hide, and name them among the card's `traps`"
    yield rows.finding("unknown-outcomes", label.column, problem, fix, "label", "column")


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


def count_unknown_outcomes(card: Card, located: LocatedFiles) -> tuple[UnknownOutcomes, ...]:
    """Return the unknown outcomes of a card's files and what they may hide, one item a protected attribute.

    There is none of a card that knows of no unknown outcomes. Its own policy does not matter.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    if not card.label.unknown:
        return ()
    dataset = load(card.with_unknown_as("level"), located)
    return tuple(_count_by_attribute(name, dataset) for name in card.protected)


def _count_by_attribute(name: str, dataset: Dataset) -> UnknownOutcomes:
    """Return the unknown outcomes by a protected attribute, of rows that have them as a level."""
    roles = dataset.roles(name)
    table = add_joint_column(dataset.table, name, roles.of)
    column = table.column(name)
    codes = table[name]
    outcomes = table.column(roles.label).levels
    kind = np.array([{roles.favourable: 1, UNKNOWN: 2}.get(level, 0) for level in outcomes])
    flat = np.bincount(codes.astype(np.intp) * 3 + kind[table[roles.label]], minlength=3 * len(column.levels))
    bad, good, unknown = flat.reshape(-1, 3).T
    people = bad + good + unknown
    deprived, favoured = (
        np.isin(column.levels, group).astype(np.intp) for group in (roles.deprived, roles.favoured)
    )

    def counts(policy: str, k: Rows, n: Rows = people) -> PolicyCounts:
        levels = dict(zip(column.levels, zip(k.tolist(), n.tolist(), strict=True), strict=True))
        deprived_counts = (int(k @ deprived), int(n @ deprived))
        favoured_counts = (int(k @ favoured), int(n @ favoured))
        return PolicyCounts(policy, levels, deprived_counts, favoured_counts)

    policies = (
        counts("leave-out", good, bad + good),
        counts("level", good),
        counts("unfavourable", good),
        counts("favourable", good + unknown),
        counts("lowest", good + unknown * favoured),
        counts("highest", good + unknown * deprived),
    )
    return UnknownOutcomes(name, counts("", unknown).levels, policies)
