"""What a card overlooks beside the traps it names, and what another version of the data set has lost."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.card import Trap
from fairbench_cli.data.checks import leaks
from fairbench_cli.data.checks.columns import (
    check_code_book,
    check_columns,
    check_copies,
    check_files,
    check_values,
)
from fairbench_cli.data.checks.copies import find_copies, find_later_rows
from fairbench_cli.data.checks.groups import (
    FEW,
    SURE,
    Side,
    check_directions,
    check_groups,
    check_unknown_outcomes,
)
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows
from fairbench_cli.data.columns import MISSING
from fairbench_cli.data.load import compute_filling

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


def find_missing_cells(rows: RawRows) -> Iterator[MissingCells]:
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
            becomes = f"{how} of all rows: {compute_filling(rows.card, rows.cells[name][rows.complete], how)}"
        elif rows.card.missing_rows == "drop":
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
class CardCheck:
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
    found_traps : dict of Trap to tuple of Finding
        The traps that the card names and that were found, in its order, and what shows each.
    noted : tuple of Finding
        What was found in columns that the card leaves out, beside leaks and named traps.
    left_out_leaks : tuple of Leak
        Columns that give the label away and that the card leaves out.
    rows_before : int
        Rows before those with missing values were left out.
    missing : tuple of MissingCells
        The columns with missing cells.
    """

    rows: int = 0
    used: int = 0
    left_out: int = 0
    guessing: float = math.nan
    warnings: tuple[Finding, ...] = ()
    found_traps: dict[Trap, tuple[Finding, ...]] = field(default_factory=dict)
    noted: tuple[Finding, ...] = ()
    left_out_leaks: tuple[leaks.Leak, ...] = ()
    rows_before: int = 0
    missing: tuple[MissingCells, ...] = ()


def check_rows(rows: RawRows) -> CardCheck:
    """Return the findings of the checks of every column in the rows of a card."""
    card = rows.card
    looked_at = [str(name) for name in rows.cells if name not in card.sources]
    if card.counts:
        looked_at = [name for name in looked_at if not card.drops(name)]
    again = find_copies(rows.cells.loc[rows.complete, looked_at])
    distinct = rows.without(again | find_later_rows(rows.cells[rows.complete], rows.gaps))
    leaking = leaks.find_leaks(distinct)
    by_column = {leak.column: leak for leak in leaking}
    findings = [
        leaks.make_leak_finding(rows, leak.column, leaks.describe_leak(rows, leak)) for leak in leaking
    ]
    findings += chain(
        check_copies(rows, again),
        check_values(rows),
        check_columns(rows.without(again)),
        check_groups(rows),
        leaks.check_hidden_leaks(distinct, by_column),
        leaks.check_scores(rows),
        leaks.check_deterministic_label(distinct, by_column),
        check_directions(rows),
        check_unknown_outcomes(rows),
        check_files(rows),
        check_code_book(rows),
    )
    # Which trap of the card each of them shows, and which of them the card does not name.
    found_traps: dict[Trap, tuple[Finding, ...]] = {}
    stale: list[Finding] = []
    for index, trap in enumerate(card.traps):
        shown_by = tuple(finding for finding in findings if covers(trap, finding))
        if shown_by:
            found_traps[trap] = shown_by
        elif trap.kind != "lost-group":  # two versions show it
            stale.append(_make_stale_trap(rows, index))
    new = [finding for finding in findings if not any(covers(trap, finding) for trap in card.traps)]
    warnings = [finding for finding in new if finding.used]
    n_used = len(rows.features) + 1
    return CardCheck(
        rows=int(rows.complete.sum()),
        used=n_used,
        left_out=rows.cells.shape[1] - n_used,
        guessing=leaks.guessing_accuracy(rows),
        warnings=tuple(chain(warnings, stale, check_expectations(rows))),
        found_traps=found_traps,
        noted=tuple(
            finding
            for finding in new
            if not finding.used and not (finding.kind == "leak" and finding.column in by_column)
        ),
        left_out_leaks=tuple(leak for leak in leaking if card.drops(leak.column)),
        rows_before=len(rows.cells),
        missing=tuple(find_missing_cells(rows)),
    )


def covers(trap: Trap, finding: Finding) -> bool:
    """Return whether a finding is of a trap: of its kind, and of its column where it names one."""
    return trap.kind == finding.kind and trap.column in (None, finding.column)


def _make_stale_trap(rows: RawRows, index: int) -> Finding:
    trap = rows.card.traps[index]
    problem = f"is no {trap.kind} trap in these rows, though the card names one"
    fix = "remove the trap from the card, or look what has become of the data"
    return rows.finding(trap.kind, trap.column or "", problem, fix, "traps", index)


def check_expectations(rows: RawRows) -> Iterator[Finding]:
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
    for column, what, key_path, expected_value, is_now in facts:
        is_count = isinstance(expected_value, int)
        if is_now is None or abs(is_now - expected_value) > (0 if is_count else HALF):
            if is_now is None:
                now = "nobody"
            elif is_count:
                now = f"{is_now:,}"
            else:
                now = f"{is_now:.4f}"
            problem = f"has {what}: {now}; the card expects {expected_value:,}"
            fix = "if the card is right, the file is another one: see `fairbench data verify`"
            yield rows.finding("expected", column, problem, fix, "expected", *key_path)


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
    def kept_share(self) -> float:
        """The rows of the second version per row of the first."""
        if self.before:
            return self.after / self.before
        return math.nan


@dataclass(frozen=True)
class SameRows:
    """The rows that were found in both versions, by the columns that both have.

    Parameters
    ----------
    key_columns : tuple of str
        Those columns.
    matched, changed : int
        Rows that occur once in each, and how many of them have another label.
    """

    key_columns: tuple[str, ...]
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


def compare_versions(first_version: RawRows, second_version: RawRows) -> TwoVersions:
    """Return the changes to the rows of a data set in another version of it.

    Rows of the first are all that its card keeps, those whose label is unknown or that lack a value among
    them; of the second those that an experiment sees.

    Raises
    ------
    UserError
        When the two cards have no protected attribute in common.
    """
    names = [name for name in first_version.roles if name in second_version.roles]
    if not names:
        problem = (
            f"{first_version.card.name} and {second_version.card.name} have no protected attribute in common"
        )
        raise user_error(problem, "call their attributes alike in the cards")
    everybody_first = np.ones(len(first_version.cells), dtype=bool)
    everybody_second = np.ones(len(second_version.cells), dtype=bool)
    groups = [_compare_group("", "all", first_version, second_version, everybody_first, everybody_second)]
    for name in names:
        first_sides = first_version.sides(first_version.roles[name])
        second_sides = second_version.sides(second_version.roles[name])
        for group, first_side, second_side in zip(get_args(Side), first_sides, second_sides, strict=True):
            groups.append(_compare_group(name, group, first_version, second_version, first_side, second_side))
    same_rows = _match_rows(first_version, second_version)
    warnings = chain(
        _check_lost_groups(first_version, second_version, groups),
        _check_lost_levels(first_version, second_version, names),
        _check_changed_labels(first_version, second_version, same_rows),
    )
    return TwoVersions(tuple(groups), same_rows, tuple(warnings))


def _compare_group(
    attribute: str, group: str, first_version: RawRows, second_version: RawRows, side: Mask, second_side: Mask
) -> VersionGroup:
    before = side & first_version.complete
    after = second_side & second_version.complete
    rates = [
        float(rows.favourable[mask].mean()) if mask.any() else math.nan
        for rows, mask in ((first_version, before), (second_version, after))
    ]
    return VersionGroup(attribute, group, int(side.sum()), int(after.sum()), rates[0], rates[1])


def _check_lost_groups(
    first_version: RawRows, second_version: RawRows, groups: list[VersionGroup]
) -> Iterator[Finding]:
    """Yield the attributes of whose deprived another share was kept: by 2 points and 3 standard errors."""
    for deprived, favoured in zip(groups[1::2], groups[2::2], strict=True):
        shares = [group.kept_share for group in (deprived, favoured)]
        if not all(share <= 1 for share in shares):
            continue  # other people are called so
        error = math.sqrt(
            sum(p * (1 - p) / group.before for p, group in zip(shares, (deprived, favoured), strict=True))
        )
        if abs(shares[0] - shares[1]) >= max(LOST, SURE * error):
            problem = f"is kept unevenly: {second_version.card.name} has {format_percent(shares[0])} of the "
            problem += f"deprived and {format_percent(shares[1])} of the favoured"
            name = deprived.attribute
            fix = f"start from {first_version.card.name}, or say who was left out and why (`left_out`)"
            yield second_version.finding("lost-group", name, problem, fix, "protected", name)


def _check_lost_levels(first: RawRows, second_version: RawRows, names: list[str]) -> Iterator[Finding]:
    """Yield the levels of 30 rows or more that no row of the second version has."""
    columns = [
        name for name in first.cells.columns if name in second_version.cells.columns and name not in names
    ]
    for name in names + columns:
        if name not in first.cells or name not in second_version.cells or first.card.drops(name):
            continue  # a joint attribute
        before, after = (_count_levels(rows.cells[name]) for rows in (first, second_version))
        gone = {
            level: count
            for level, count in before.items()
            if count >= FEW and level not in after and level not in first.gaps
        }
        numbers = any(isinstance(level, float) for level in before)
        merged = 2 * sum(gone.values()) > sum(before.values())  # or recoded: other words for the same
        if gone and not (numbers or merged) and len(before) <= MOST and name != first.card.label.column:
            listed = ", ".join(f'"{level}" ({count:,} rows)' for level, count in gone.items())
            problem = f"has lost {listed}"
            fix = f"start from {first.card.name}, or say for whom it matters (`left_out`)"
            yield second_version.finding("lost-group", str(name), problem, fix, "columns", str(name))


def _check_changed_labels(
    first_version: RawRows, second_version: RawRows, same_rows: SameRows | None
) -> Iterator[Finding]:
    if same_rows and same_rows.changed:
        problem = (
            f"differs from {first_version.card.name} in {same_rows.changed:,} of {same_rows.matched:,} rows"
        )
        problem += " that both have"
        fix = "find out which of the two is the outcome"
        if same_rows.changed == same_rows.matched:
            fix = "the two cards call opposite outcomes favourable: let them agree"
        yield second_version.finding("contradiction", second_version.card.label.column, problem, fix, "label")


def _match_rows(first_version: RawRows, second_version: RawRows) -> SameRows | None:
    """Return the rows that occur once in each, told by the columns of the files that both have."""
    skipped = {rows.card.label.column for rows in (first_version, second_version)} | {
        rows.label_source for rows in (first_version, second_version)
    }
    both_have = [
        name
        for name in first_version.cells.columns
        if name in second_version.cells.columns and name not in skipped
    ]
    cells = [
        rows.cells[both_have][rows.complete].apply(_to_comparable) for rows in (first_version, second_version)
    ]
    cells = [table.astype(dict.fromkeys(table.select_dtypes("number"), float)) for table in cells]
    # Words in one of them that are codes in the other tell no rows.
    key_columns = [str(name) for name in both_have if cells[0][name].dtype == cells[1][name].dtype]
    tables = [
        table[key_columns].assign(_favourable=rows.favourable[rows.complete])
        for table, rows in zip(cells, (first_version, second_version), strict=True)
    ]
    if not key_columns:
        return None
    once = [table.drop_duplicates(key_columns, keep=False) for table in tables]
    if len(once[1]) < TELLING * min(map(len, tables)):
        return None
    joined = once[0].merge(once[1], on=key_columns)
    if len(joined) < max(1, TELLING * min(map(len, once))):
        return None  # other people, of whom some are alike by chance
    changed = joined["_favourable_x"] != joined["_favourable_y"]
    return SameRows(tuple(key_columns), len(joined), int(changed.sum()))


def _count_levels(cells: "pd.Series[str]") -> dict[Hashable, int]:
    return {level: int(count) for level, count in _to_comparable(cells).value_counts().items() if count}


def _to_comparable(cells: "pd.Series[str]") -> "pd.Series":
    """Return numbers as numbers, so that 1 and 1.0 are equal, and text as it is."""
    codes, values = pd.factorize(cells)
    distinct = pd.Series(np.asarray(values, dtype=object))
    numbers = pd.to_numeric(distinct, errors="coerce").round(6)
    return pd.Series((numbers if numbers.notna().any() else distinct).to_numpy()[codes], index=cells.index)
