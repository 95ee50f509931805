"""Two versions of a data set: whose rows one of them has lost, and whose labels it has changed."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.text import percent_words
from fairbench_cli.data.checks.groups import FEW, SURE
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows

LOST = 0.02  # difference of the shares that were kept
MOST = 50  # levels
TELLING = 0.5  # of the rows of the smaller version that no other row of it equals; of these, that both have


@dataclass(frozen=True)
class VersionGroup:
    """The rows of a group in two versions.

    Parameters
    ----------
    attribute, group : str
        The protected attribute, and "deprived" or "favoured"; "" and "all" of all rows.
    before, after : int
        Rows.
    rate_before, rate_after : float
        The share of favourable labels of those whose label is known; NaN of nobody.
    """

    attribute: str
    group: str
    before: int
    after: int
    rate_before: float
    rate_after: float

    @property
    def kept(self) -> float:
        """The rows of the second version per row of the first."""
        return self.after / self.before if self.before else math.nan


@dataclass(frozen=True)
class SameRows:
    """The rows that were found in both versions, by the columns that both have.

    Parameters
    ----------
    by : tuple of str
        Those columns.
    matched, changed : int
        Rows that occur once in each, and how many of them have another label.
    """

    by: tuple[str, ...]
    matched: int
    changed: int


@dataclass(frozen=True)
class TwoVersions:
    """What became of the rows of a data set in another version of it.

    Parameters
    ----------
    groups : tuple of VersionGroup
        All rows, then the two groups of each protected attribute that both have.
    same : SameRows or None
        The rows that are in both; None where no columns tell rows apart.
    warnings : tuple of Finding
        Groups of which more was lost, levels that are gone, labels that have changed.
    """

    groups: tuple[VersionGroup, ...]
    same: SameRows | None
    warnings: tuple[Finding, ...]


def compare_versions(first: RawRows, second: RawRows) -> TwoVersions:
    """Return what became of the rows of a data set in another version of it.

    Rows of the first are all that its card keeps, those whose label is unknown or that lack a value among
    them; of the second those that an experiment sees.

    Raises
    ------
    UserError
        When the two cards have no protected attribute in common.
    """
    names = [roles.attribute for roles in first.roles if roles.attribute in second.card.protected]
    if not names:
        what = f"{first.card.name} and {second.card.name} have no protected attribute in common"
        raise user_error(what, "call their attributes alike in the cards")
    whole = tuple(np.ones(len(rows.cells), dtype=bool) for rows in (first, second))
    groups = [_group("", "all", first, second, *whole)]
    for name in names:
        one, other = (
            next(roles for roles in rows.roles if roles.attribute == name) for rows in (first, second)
        )
        for group, side, there in zip(
            ("deprived", "favoured"), first.sides(one), second.sides(other), strict=True
        ):
            groups.append(_group(name, group, first, second, side, there))
    same = _same_rows(first, second)
    warnings = (*_lost(first, second, groups), *_gone(first, second, names), *_changed(first, second, same))
    return TwoVersions(tuple(groups), same, warnings)


def _group(
    attribute: str, group: str, first: RawRows, second: RawRows, side: Mask, there: Mask
) -> VersionGroup:
    before, after = side & first.complete, there & second.complete
    rates = [
        float(rows.favourable[known].mean()) if known.any() else math.nan
        for rows, known in ((first, before), (second, after))
    ]
    return VersionGroup(attribute, group, int(side.sum()), int(after.sum()), rates[0], rates[1])


def _lost(first: RawRows, second: RawRows, groups: list[VersionGroup]) -> Iterator[Finding]:
    """Yield the attributes of whose deprived another share was kept: by 2 points and 3 standard errors."""
    for deprived, favoured in zip(groups[1::2], groups[2::2], strict=True):
        shares = [group.kept for group in (deprived, favoured)]
        if not all(share <= 1 for share in shares):
            continue  # other people are called so
        error = math.sqrt(
            sum(p * (1 - p) / group.before for p, group in zip(shares, (deprived, favoured), strict=True))
        )
        if abs(shares[0] - shares[1]) >= max(LOST, SURE * error):
            what = (
                f"is kept unevenly: {second.card.name} has {percent_words(shares[0])} of the deprived and"
                f" {percent_words(shares[1])} of the favoured"
            )
            name = deprived.attribute
            fix = f"start from {first.card.name}, or say who was left out and why (`left_out`)"
            yield second.finding("lost-group", name, what, fix, "protected", name)


def _gone(first: RawRows, second: RawRows, names: list[str]) -> Iterator[Finding]:
    """Yield the levels of 30 rows or more that no row of the second version has."""
    columns = [name for name in first.cells.columns if name in second.cells.columns and name not in names]
    for name in [*names, *columns]:
        if name not in first.cells or name not in second.cells or first.card.drops(name):
            continue  # a joint attribute
        before, after = (_level_counts(rows.cells[name]) for rows in (first, second))
        gone = {
            level: count
            for level, count in before.items()
            if count >= FEW and level not in after and level not in first.gaps
        }
        numbers = any(isinstance(level, float) for level in before)
        merged = 2 * sum(gone.values()) > sum(before.values())  # or recoded: other words for the same
        if gone and not (numbers or merged) and len(before) <= MOST and name != first.card.label.column:
            listed = ", ".join(f'"{level}" ({count:,} rows)' for level, count in gone.items())
            what = f"has lost {listed}"
            fix = f"start from {first.card.name}, or say for whom it matters (`left_out`)"
            yield second.finding("lost-group", str(name), what, fix, "columns", str(name))


def _changed(first: RawRows, second: RawRows, same: SameRows | None) -> Iterator[Finding]:
    if same and same.changed:
        what = f"differs from {first.card.name} in {same.changed:,} of {same.matched:,} rows that both have"
        fix = "find out which of the two is the outcome"
        if same.changed == same.matched:
            fix = "the two cards call opposite outcomes favourable: let them agree"
        yield second.finding("contradiction", second.card.label.column, what, fix, "label")


def _same_rows(first: RawRows, second: RawRows) -> SameRows | None:
    """Return the rows that occur once in each, told by the columns of the files that both have."""
    skipped = {rows.card.label.column for rows in (first, second)} | {
        rows.label_source for rows in (first, second)
    }
    both_have = [name for name in first.cells.columns if name in second.cells.columns and name not in skipped]
    cells = [rows.cells[both_have][rows.complete].apply(_comparable) for rows in (first, second)]
    cells = [table.astype(dict.fromkeys(table.select_dtypes("number"), float)) for table in cells]
    # Words in one of them that are codes in the other tell no rows.
    by = [str(name) for name in both_have if cells[0][name].dtype == cells[1][name].dtype]
    tables = [
        table[by].assign(_favourable=rows.favourable[rows.complete])
        for table, rows in zip(cells, (first, second), strict=True)
    ]
    if not by:
        return None
    once = [table.drop_duplicates(by, keep=False) for table in tables]
    if len(once[1]) < TELLING * min(map(len, tables)):
        return None
    both = once[0].merge(once[1], on=by)
    if len(both) < max(1, TELLING * min(map(len, once))):
        return None  # other people, of whom some are alike by chance
    changed = both["_favourable_x"] != both["_favourable_y"]
    return SameRows(tuple(by), len(both), int(changed.sum()))


def _level_counts(cells: "pd.Series[str]") -> dict[Hashable, int]:
    return {level: int(count) for level, count in _comparable(cells).value_counts().items() if count}


def _comparable(cells: "pd.Series[str]") -> "pd.Series":
    """Return numbers as numbers, so that 1 and 1.0 are equal, and text as it is."""
    codes, values = pd.factorize(cells)
    distinct = pd.Series(np.asarray(values, dtype=object))
    numbers = pd.to_numeric(distinct, errors="coerce").round(6)
    return pd.Series((numbers if numbers.notna().any() else distinct).to_numpy()[codes], index=cells.index)
