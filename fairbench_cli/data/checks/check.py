"""What a card overlooks beside the traps it names, and what another version of the data set has lost."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.card import Card, Trap
from fairbench_cli.data.checks.columns import code_findings, column_findings, file_findings, value_findings
from fairbench_cli.data.checks.groups import (
    FEW,
    SURE,
    Side,
    direction_findings,
    group_findings,
    unknown_findings,
)
from fairbench_cli.data.checks.leaks import (
    Leak,
    deterministic_findings,
    guessing,
    hidden_leaks,
    leak_finding,
    leak_words,
    leaks,
    score_findings,
)
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows, raw_rows
from fairbench_cli.data.columns import MISSING
from fairbench_cli.data.load import filling
from fairbench_cli.data.locate import LocatedFiles

HALF = 5.001e-4  # of the third digit of a rate


@dataclass(frozen=True)
class MissingCells:
    """The missing cells of a column that the card uses.

    Parameters
    ----------
    column : str
        Its name.
    cells : int
        How many cells are missing, of the rows that `keep` leaves.
    share : float
        Of these rows.
    becomes : str
        What becomes of them.
    groups : dict
        The shares by protected attribute, but itself and joint ones, and side.
    """

    column: str
    cells: int
    share: float
    becomes: str
    groups: dict[str, dict[Side, float]]


def missing_cells(rows: RawRows) -> Iterator[MissingCells]:
    """Yield the columns with missing cells, in the file's order, and what becomes of those."""
    sides = {roles.attribute: rows.sides(roles) for roles in rows.roles.values() if not roles.of}
    for name in rows.cells.columns:
        gap = rows.is_gap(name)
        if rows.card.drops(name) or not gap.any():
            continue
        listed = rows.cells[name].isin(rows.card.missing)
        how = rows.card.column(name).if_missing
        if not listed.any():
            becomes = "a level, the empty cell"
        elif how == "level":
            becomes = f'level "{MISSING}"'
        elif how is not None:
            becomes = f"{how} of all rows: {filling(rows.card, rows.cells[name][rows.complete], how)}"
        else:
            if rows.card.missing_rows == "drop":
                becomes = "row left out"
            else:
                becomes = "levels as they are"
        shares: dict[str, dict[Side, float]] = {
            attribute: {"deprived": float(gap[deprived].mean()), "favoured": float(gap[favoured].mean())}
            for attribute, (deprived, favoured) in sides.items()
            if attribute != name
        }
        yield MissingCells(name, int(gap.sum()), float(gap.mean()), becomes, shares)


@dataclass(frozen=True)
class Checked:
    """What the checks of a card say.

    Parameters
    ----------
    rows, used, left_out : int
        How many rows, columns that the card uses (the label among them), and columns that it leaves out.
    guessing : float
        Accuracy of always predicting the commoner label.
    warnings : tuple of Finding
        Problems of what the card uses and does not name among its traps; traps that it names and that are
        not found; rows that are not as it expects.
    known : dict of Trap to tuple of Finding
        The traps that the card names and that were found, in its order, and what shows each.
    noted : tuple of Finding
        What was found in columns that the card leaves out, beside leaks and named traps.
    left_out_leaks : tuple of Leak
        Columns that give the label away and that the card leaves out.
    kept : int
        Rows before those with missing values were left out.
    missing : tuple of MissingCells
        The columns with missing cells.
    """

    rows: int = 0
    used: int = 0
    left_out: int = 0
    guessing: float = math.nan
    warnings: tuple[Finding, ...] = ()
    known: dict[Trap, tuple[Finding, ...]] = field(default_factory=dict)
    noted: tuple[Finding, ...] = ()
    left_out_leaks: tuple[Leak, ...] = ()
    kept: int = 0
    missing: tuple[MissingCells, ...] = ()


def check(card: Card, found: LocatedFiles) -> Checked:
    """Return the findings of the checks of every column of a card's files.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    return check_rows(raw_rows(card, found))


def check_rows(rows: RawRows) -> Checked:
    """Return the findings of the checks of every column in the rows of a card."""
    card = rows.card
    leaking = leaks(rows)
    by_column = {leak.column: leak for leak in leaking}
    findings = [
        *(leak_finding(rows, leak.column, leak_words(rows, leak)) for leak in leaking),
        *value_findings(rows),
        *column_findings(rows),
        *group_findings(rows),
        *hidden_leaks(rows, by_column),
        *score_findings(rows),
        *deterministic_findings(rows, by_column),
        *direction_findings(rows),
        *unknown_findings(rows),
        *file_findings(rows),
        *code_findings(rows),
    ]
    shown = {trap: tuple(one for one in findings if covers(trap, one)) for trap in card.traps}
    new = [one for one in findings if not any(covers(trap, one) for trap in card.traps)]
    used = len(rows.features) + 1
    return Checked(
        rows=int(rows.complete.sum()),
        used=used,
        left_out=rows.cells.shape[1] - used,
        guessing=guessing(rows),
        warnings=(
            *(one for one in new if one.used),
            *(
                _stale(rows, place)
                for place, trap in enumerate(card.traps)
                if not shown[trap] and trap.kind != "lost-group"  # two versions show it
            ),
            *expectation_findings(rows),
        ),
        known={trap: found for trap, found in shown.items() if found},
        noted=tuple(
            one for one in new if not one.used and not (one.kind == "leak" and one.column in by_column)
        ),
        left_out_leaks=tuple(leak for leak in leaking if card.drops(leak.column)),
        kept=len(rows.cells),
        missing=tuple(missing_cells(rows)),
    )


def covers(trap: Trap, finding: Finding) -> bool:
    """Return whether a finding is of a trap: of its kind, and of its column where it names one."""
    return trap.kind == finding.kind and trap.column in (None, finding.column)


def _stale(rows: RawRows, place: int) -> Finding:
    trap = rows.card.traps[place]
    what = f"is no {trap.kind} trap in these rows, though the card names one"
    fix = "remove the trap from the card, or look what has become of the data"
    return rows.finding(trap.kind, trap.column or "", what, fix, "traps", place)


def expectation_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield what the rows are not that the card expects: rows, columns, rates to three digits."""
    dataset = rows.dataset
    expected = rows.card.expected
    if dataset is None or expected is None:
        return
    facts: list[tuple[str, str, tuple[str, ...], float, float | None]] = [
        ("", "rows", ("rows",), expected.rows, len(dataset)),
        ("", "columns", ("columns",), expected.columns, len(dataset.table.columns)),
        ("", "favourable", ("favourable",), expected.favourable, float(dataset.sample().y.mean())),
    ]
    for name, levels in expected.groups.items():
        rates = dataset.base_rates(name)
        for level, share in levels.items():
            facts.append((name, f"favourable of {level}", ("groups", name), share, rates.get(level)))
    for column, what, place, wanted, is_now in facts:
        whole = isinstance(wanted, int)
        if is_now is None or abs(is_now - wanted) > (0 if whole else HALF):
            if is_now is None:
                now = "nobody"
            elif whole:
                now = f"{is_now:,}"
            else:
                now = f"{is_now:.4f}"
            said = f"has {what}: {now}; the card expects {wanted:,}"
            fix = "if the card is right, the file is another one: see `fairbench data verify`"
            yield rows.finding("expected", column, said, fix, "expected", *place)


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
        if self.before:
            return self.after / self.before
        return math.nan


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
    """Return the changes to the rows of a data set in another version of it.

    Rows of the first are all that its card keeps, those whose label is unknown or that lack a value among
    them; of the second those that an experiment sees.

    Raises
    ------
    UserError
        When the two cards have no protected attribute in common.
    """
    names = [name for name in first.roles if name in second.roles]
    if not names:
        what = f"{first.card.name} and {second.card.name} have no protected attribute in common"
        raise user_error(what, "call their attributes alike in the cards")
    everybody = (np.ones(len(rows.cells), dtype=bool) for rows in (first, second))
    groups = [_group("", "all", first, second, *everybody)]
    for name in names:
        sides = zip(*(rows.sides(rows.roles[name]) for rows in (first, second)), strict=True)
        for group, both in zip(get_args(Side), sides, strict=True):
            groups.append(_group(name, group, first, second, *both))
    same = _same_rows(first, second)
    warnings = (*_lost(first, second, groups), *_gone(first, second, names), *_changed(first, second, same))
    return TwoVersions(tuple(groups), same, warnings)


def _group(
    attribute: str, group: str, first: RawRows, second: RawRows, side: Mask, there: Mask
) -> VersionGroup:
    before = side & first.complete
    after = there & second.complete
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
                f"is kept unevenly: {second.card.name} has {format_percent(shares[0])} of the deprived and"
                f" {format_percent(shares[1])} of the favoured"
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
