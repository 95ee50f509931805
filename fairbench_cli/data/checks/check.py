"""What a card overlooks beside the traps it names: leaks, useless columns, gaps and few rows by group."""

from collections.abc import Iterator
from dataclasses import dataclass

from fairbench_cli.data.card import Card, Trap
from fairbench_cli.data.checks.columns import code_findings, column_findings, file_findings, value_findings
from fairbench_cli.data.checks.groups import Side, direction_findings, group_findings, unknown_findings
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
from fairbench_cli.data.checks.rows import Finding, RawRows, raw_rows
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
    sides = {roles.attribute: rows.sides(roles) for roles in rows.roles if not roles.of}
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
            becomes = "row left out" if rows.card.missing_rows == "drop" else "levels as they are"
        shares: dict[str, dict[Side, float]] = {
            attribute: {"deprived": float(gap[deprived].mean()), "favoured": float(gap[favoured].mean())}
            for attribute, (deprived, favoured) in sides.items()
            if attribute != name
        }
        yield MissingCells(name, int(gap.sum()), float(gap.mean()), becomes, shares)


@dataclass(frozen=True)
class KnownTrap:
    """A trap that the card names, and what shows it.

    Parameters
    ----------
    trap : Trap
        The card's words.
    found : tuple of Finding
        What the checks found of it, one or more.
    """

    trap: Trap
    found: tuple[Finding, ...]


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
    known : tuple of KnownTrap
        The traps that the card names and that were found, in its order.
    noted : tuple of Finding
        What was found in columns that the card leaves out, beside leaks and named traps.
    left_out_leaks : tuple of Leak
        Columns that give the label away and that the card leaves out.
    kept : int
        Rows before those with missing values were left out.
    missing : tuple of MissingCells
        The columns with missing cells.
    """

    rows: int
    used: int
    left_out: int
    guessing: float
    warnings: tuple[Finding, ...]
    known: tuple[KnownTrap, ...]
    noted: tuple[Finding, ...]
    left_out_leaks: tuple[Leak, ...]
    kept: int
    missing: tuple[MissingCells, ...]


def check(card: Card, found: LocatedFiles) -> Checked:
    """Return what the checks of every column of a card's files found.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    return check_rows(raw_rows(card, found))


def check_rows(rows: RawRows) -> Checked:
    """Return what the checks of every column found in the rows of a card."""
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
    known = [KnownTrap(trap, tuple(one for one in findings if covers(trap, one))) for trap in card.traps]
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
                for place, one in enumerate(known)
                if not one.found and one.trap.kind != "lost-group"  # two versions show it
            ),
            *expectation_findings(rows),
        ),
        known=tuple(one for one in known if one.found),
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
    dataset, expected = rows.dataset, rows.card.expected
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
            now = "nobody" if is_now is None else f"{is_now:,}" if whole else f"{is_now:.4f}"
            said = f"has {what}: {now}; the card expects {wanted:,}"
            fix = "if the card is right, the file is another one: see `fairbench data verify`"
            yield rows.finding("expected", column, said, fix, "expected", *place)
