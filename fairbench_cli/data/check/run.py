"""All checks of a card: leaks, useless and duplicate columns, gaps by group, small groups."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.base.twins import twins_among
from fairbench_cli.data.card import Card
from fairbench_cli.data.check.leaks import leaks
from fairbench_cli.data.check.rows import Finding, Leak, Mask, RawRows, raw_rows
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.columns import MISSING
from fairbench_cli.data.doubts import counted, recoding
from fairbench_cli.data.load import filling
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Roles

GAP = 0.05  # difference of the shares of missing values; the largest in Adult is .032
SURE = 3.0  # standard errors of that difference
FEW = 30  # rows; a rate among fewer has a 95 % interval of some ±.18


def column_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the constant, near-unique and duplicate columns among those that the card uses.

    Near-unique is a nominal column with more values than half of the rows, or whole numbers of which
    every row has one of its own. Duplicates are columns whose values map one to one, and, where no value
    comes twice, those with equal cells.
    """
    first: dict[bytes, str] = {}
    protected = set(rows.card.protected)
    for name in sorted(rows.features, key=lambda name: name not in protected):
        cells = rows.cells[name][rows.complete]
        codes, values = pd.factorize(cells.to_numpy(dtype=object))
        where = rows.card.where("columns", name)
        if len(values) == 1:
            yield Finding(name, f'has one value in all {len(cells)} rows: "{values[0]}"', _drop(name), where)
            continue
        own = rows.card.columns.get(name, ColumnCard())
        most = len(cells) / 2 if own.kind == "nominal" else len(cells) - 1
        if name not in protected and own.kind in ("nominal", "integer") and len(values) > most:
            what = f"has {len(values)} different values in {len(cells)} rows"
            other = "merge values with recode" if own.kind == "nominal" else "cut it into bins"
            yield Finding(name, what, f"{_drop(name)} if it only names the row; otherwise {other}", where)
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        key = codes.tobytes() if len(values) < len(cells) else repr(_plain(values.tolist())).encode()
        like = first.setdefault(key, name)
        if like in protected and like != name:
            fix = f"{_drop(name)}: a classifier that must not see {like} sees it here"
            yield Finding(name, f"is one to one with the protected {like}", fix, where)
        elif like != name:
            yield Finding(name, f"is one to one with {like}", f"drop one of the two: {_drop(name)}", where)


def value_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the nominal columns with values that are likely one, and a label of more than two values."""
    label = rows.card.label
    for name in [label.column, *rows.features]:
        if rows.card.columns.get(name, ColumnCard()).kind != "nominal":
            continue
        found = rows.cells[name][rows.complete].value_counts()
        counts = {str(value): int(n) for value, n in found.items()}
        where = rows.card.where("columns", name)
        for twins in twins_among(counts):
            kept, *others = twins.values
            what = f"has {counted(twins.values, counts)}, which {twins.how}"
            yield Finding(name, what, recoding(name, others, kept), where)
        rest = [value for value in counts if value != label.favourable]
        if name == label.column and len(rest) > 1:
            what = f"has more than two values; as unfavourable count {counted(rest, counts)}"
            fix = "leave rows out with `keep` in the card where a value is no outcome"
            yield Finding(name, what, fix, rows.card.where("label", "favourable"))


def _drop(name: str) -> str:
    return f"write `{yaml_word(name)}: drop` under `columns`"


def _plain(cells: list[str]) -> list[str | float]:
    """Return numbers as numbers, so that 1 and 1.0 are equal."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return list(cells)


def group_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns whose values are missing by group, and the groups with few rows of a label.

    Missing is compared before rows are dropped for it (``missing_rows: drop``): dropping them takes more of
    one group than of the other. It must differ by 5 points and by 3 standard errors.
    """
    gaps = {name: rows.is_gap(name) for name in rows.features}
    for roles in rows.roles:
        sides = rows.sides(roles)
        for name, gap in gaps.items():
            if name not in (roles.attribute, *roles.of) and gap.any():
                yield from _missing(rows, name, gap, roles, sides)
        yield from _small(rows, roles, sides)


def _missing(
    rows: RawRows, name: str, gap: Mask, roles: Roles, sides: tuple[Mask, Mask]
) -> Iterator[Finding]:
    deprived, favoured = (float(gap[side].mean()) for side in sides)
    total = [int(side.sum()) for side in sides]
    pooled = float((gap[sides[0]].sum() + gap[sides[1]].sum()) / sum(total))
    error = math.sqrt(pooled * (1 - pooled) * (1 / total[0] + 1 / total[1]))
    if abs(deprived - favoured) >= max(GAP, SURE * error):
        shares = f"{deprived:.1%} of the deprived and {favoured:.1%} of the favoured"
        fix = "find out why: gaps reveal the group, and dropping their rows takes more of one group"
        where = rows.card.where("columns", name)
        yield Finding(name, f"is missing in {shares} ({roles.attribute})", fix, where)


def _small(rows: RawRows, roles: Roles, sides: tuple[Mask, Mask]) -> Iterator[Finding]:
    for group, side in zip(("deprived", "favoured"), sides, strict=True):
        for outcome, having in (("favourable", rows.favourable), ("unfavourable", ~rows.favourable)):
            count = int((side & having & rows.complete).sum())
            if count < FEW:
                what = f"has {count} {group} row{'' if count == 1 else 's'} with {outcome} {roles.label}"
                fix = f"below {FEW}, error rates of a group are guesses: merge levels or get more rows"
                yield Finding(roles.attribute, what, fix, rows.card.where("protected", roles.attribute))


@dataclass(frozen=True)
class MissingCells:
    """The missing cells of a column that the card uses.

    Parameters
    ----------
    column : str
        Its name.
    count : int
        How many cells are missing, of the rows that `keep` leaves.
    becomes : str
        What becomes of them.
    """

    column: str
    count: int
    becomes: str


def missing_cells(rows: RawRows) -> Iterator[MissingCells]:
    """Yield the columns with missing cells, in the file's order, and what becomes of those."""
    for name in rows.cells.columns:
        gap = rows.is_gap(name)
        if rows.card.drops(name) or not gap.any():
            continue
        listed = rows.cells[name].isin(rows.card.missing)
        how = rows.card.columns.get(name, ColumnCard()).if_missing
        if not listed.any():
            becomes = "a level, the empty cell"
        elif how == "level":
            becomes = f'level "{MISSING}"'
        elif how is not None:
            becomes = f"{how} of all rows: {filling(rows.card, rows.cells[name][rows.complete], how)}"
        else:
            becomes = "row left out" if rows.card.missing_rows == "drop" else "levels as they are"
        yield MissingCells(name, int(gap.sum()), becomes)


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
        Problems of columns that the card uses.
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
    rows = raw_rows(card, found)
    rate = float(rows.favourable[rows.complete].mean())
    guessing = max(rate, 1 - rate)
    leaking = leaks(rows)
    used = len(rows.features) + 1
    return Checked(
        rows=int(rows.complete.sum()),
        used=used,
        left_out=rows.cells.shape[1] - used,
        guessing=guessing,
        warnings=(
            *(_warning(rows, leak, guessing) for leak in leaking if not card.drops(leak.column)),
            *value_findings(rows),
            *column_findings(rows),
            *group_findings(rows),
        ),
        left_out_leaks=tuple(leak for leak in leaking if card.drops(leak.column)),
        kept=len(rows.cells),
        missing=tuple(missing_cells(rows)),
    )


def _warning(rows: RawRows, leak: Leak, guessing: float) -> Finding:
    right = f"alone right on {leak.accuracy:.0%} of rows, guessing on {guessing:.0%}"
    what = f"gives {rows.card.label.column} away ({leak.how}): {right}"
    fix = f"{_drop(leak.column)}, unless it is known before the outcome"
    return Finding(leak.column, what, fix, rows.card.where("columns", leak.column))
