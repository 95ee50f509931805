"""Checks of a card: columns that give the label away, useless and duplicate ones, gaps and few rows by group.

What separates a column that gives the label away, and so was probably not known before it, from honest ones
was measured on the shipped data sets. The strongest honest column is Dutch ``edu_level``, which explains 27 %
of the label's entropy (Adult: ``relationship``, 21 %; COMPAS: ``decile_score``, 9 %); the weakest column of
COMPAS that simply restates the outcome is ``event``, 51 %.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.base.twins import twins_among
from fairbench_cli.data.card import Card, Trap, TrapKind
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.columns import MISSING
from fairbench_cli.data.doubts import counted, recoding
from fairbench_cli.data.load import Dataset, complete_rows, filling, level_texts, load, read_parts
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Floats, Roles, Rows

Mask = NDArray[np.bool_]

EXPLAINED = 0.40  # of the label's entropy
BINS = 50  # numbers with more values than this are cut into as many quantiles,
ROWS = 20  # or into fewer, so that each has this many rows
SURE_LEAK = 0.75  # of the errors of guessing that are gone where a column has a value, or has none
EXPECTED = 15  # errors that guessing must make there; fewer may be gone by chance
GAP = 0.05  # difference of the shares of missing values; the largest in Adult is .032
SURE = 3.0  # standard errors of that difference
HALF = 5.001e-4  # of the third digit of a rate
FEW = 30  # rows; a rate among fewer has a 95 % interval of some ±.18


@dataclass(frozen=True)
class Finding:
    """Something about one column.

    Parameters
    ----------
    kind : str
        What kind of trap it is (`TrapKind`), or ``"expected"``: the rows are not as the card says.
    column : str
        Its name; "" of all rows.
    what : str
        What is wrong, with the number that shows it.
    fix : str
        What to do about it.
    where : str
        ``file:line`` of the card.
    used : bool
        Whether it is about what the card uses.
    """

    kind: TrapKind | Literal["expected"]
    column: str
    what: str
    fix: str
    where: str
    used: bool = True

    def __str__(self) -> str:
        return f'column "{self.column}" {self.what}' if self.column else f"the data set {self.what}"


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away.

    Parameters
    ----------
    column : str
        Its name.
    how : str
        In what way.
    accuracy : float
        Share of rows whose label is predicted correctly from this column alone.
    explained : float
        Share of the label's entropy that it explains, at most 1 (below 0 when it misleads).
    """

    column: str
    how: str
    accuracy: float
    explained: float


@dataclass(frozen=True, eq=False)
class RawRows:
    """Text cells and what the card says about them.

    Parameters
    ----------
    card : Card
        Their card.
    cells : DataFrame
        Every column of the files, recoded, in the rows that `keep` leaves. The label, the protected
        attributes and columns made of others are levels, where they are cut numbers.
    complete : bool array, shape (rows,)
        Rows that an experiment sees: all, or with ``missing_rows: drop`` those without a missing value.
    roles : tuple of Roles
        The groups, one per protected attribute.
    """

    card: Card
    cells: pd.DataFrame
    complete: Mask
    roles: tuple[Roles, ...]

    @property
    def features(self) -> list[str]:
        """The columns that the card uses, less the label."""
        label = self.card.label.column
        return [name for name in self.cells.columns if name != label and not self.card.drops(name)]

    @property
    def gaps(self) -> tuple[str, ...]:
        """Cells that are no value: empty ones and those that the card lists as missing."""
        return ("", *self.card.missing)

    @property
    def favourable(self) -> Mask:
        """Whether each row's label is the favourable one."""
        return (self.cells[self.card.label.column] == self.card.label.favourable).to_numpy(dtype=bool)

    def sides(self, roles: Roles) -> tuple[Mask, Mask]:
        """Return who is deprived and who is favoured, each of shape (rows,)."""
        first, *others = roles.of or (roles.attribute,)
        levels = self.cells[first]
        for name in others:
            levels = levels + "-" + self.cells[name]
        deprived, favoured = (
            levels.isin(group).to_numpy(dtype=bool) for group in (roles.deprived, roles.favoured)
        )
        return deprived, favoured

    def is_gap(self, name: str) -> Mask:
        """Return in which rows a column has no value."""
        return self.cells[name].isin(self.gaps).to_numpy(dtype=bool)


def raw_rows(dataset: Dataset, found: LocatedFiles) -> RawRows:
    """Return the rows of the files that a data set was loaded from, as text cells.

    Raises
    ------
    UserError
        When a group of the card is not in the data.
    """
    card = dataset.card
    roles = tuple(dataset.roles(attribute) for attribute in card.protected)
    cells = read_parts(card, found)[1].reset_index(drop=True)
    single = (name for name, own in card.protected.items() if own.of is None)
    named = dict.fromkeys([card.label.column, *single, *card.made])
    cells = cells.assign(**{name: level_texts(card, cells, name) for name in named})
    return RawRows(card, cells, complete_rows(card, cells), roles)


def leaks(rows: RawRows) -> list[Leak]:
    """Return the columns that give the label away, whether the card uses them or not; the worst first.

    A column does so in one of three ways:

    * by its values: they explain at least 40 % of the label's entropy (`explained_by`);
    * by its gaps: where it has a value, or where it has none, at least 75 % of the errors are gone that
      guessing the label of that side would make (Loevinger's H), as when only those who offended again
      have the number of a new case. In Adult, the rows without ``occupation`` have .61;
    * as a copy: it has two values, and they say just whether such a column is filled in.

    Columns that explain less go unnamed: no threshold parts COMPAS' ``out_custody`` (6 %), which is
    partly from after the outcome, from Dutch ``edu_level``.
    """
    y = rows.favourable[rows.complete]
    found: list[Leak] = []
    patterns: dict[bytes, str] = {}
    quiet: list[tuple[str, Rows]] = []
    for name in rows.cells.columns:
        if name == rows.card.label.column:
            continue
        cells = rows.cells[name][rows.complete]
        gap = rows.is_gap(name)[rows.complete]
        by_value = codes_of(cells, rows.gaps)
        if gives_away(gap, y):
            patterns.setdefault(_pattern(gap), name)
            found.append(_leak(name, "filled in for one label only", gap.astype(np.intp), y))
        elif explained_by(by_value, y) >= EXPLAINED:
            found.append(_leak(name, "its values", by_value, y))
        else:
            quiet.append((name, by_value))
    for name, by_value in quiet:
        if by_value.max() == 1 and (like := patterns.get(_pattern(by_value == 1))):
            found.append(_leak(name, f"the gaps of {like}", by_value, y))
    return sorted(found, key=lambda leak: -leak.explained)


def _guessing(rows: RawRows) -> float:
    """Return the accuracy of always predicting the commoner label."""
    rate = float(rows.favourable[rows.complete].mean())
    return max(rate, 1 - rate)


def leak_words(rows: RawRows, leak: Leak) -> str:
    """Return what a leak is, in words."""
    right = f"alone right on {leak.accuracy:.0%} of rows, guessing on {_guessing(rows):.0%}"
    return f"gives {rows.card.label.column} away ({leak.how}): {right}"


def codes_of(cells: "pd.Series[str]", gaps: tuple[str, ...] = ("",)) -> Rows:
    """Return the values of a column as codes: gaps are one value, many numbers are cut into quantiles.

    >>> codes_of(pd.Series(["b", "a", "", "?"]), ("", "?")).tolist()
    [0, 1, 2, 2]
    """
    codes, distinct = pd.factorize(cells.to_numpy(dtype=object))
    gap = np.isin(distinct.astype(str), gaps)
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=np.float64)
    bins = min(BINS, max(2, len(cells) // ROWS))
    if (~gap).sum() > bins and np.isfinite(numbers[~gap]).all():
        here = numbers[codes][~gap[codes]]
        edges = np.unique(np.quantile(here, np.linspace(0, 1, bins + 1)[1:-1]))
        of_value = np.where(gap, len(edges) + 1, np.searchsorted(edges, numbers))
    else:
        of_value = np.where(gap, len(distinct), np.arange(len(distinct)))
    return np.unique(of_value[codes], return_inverse=True)[1].astype(np.intp)


def explained_by(codes: Rows, y: Mask) -> float:
    """Return the share of the label's entropy that a column explains, each row judged without itself.

    A row's favourable label is expected at the rate of the other rows of its value, drawn a little (by one
    row) to the rate of all: so an identifier explains nothing. At most 1; below 0 for a column that misleads.

    >>> y = np.array([True, False] * 50)
    >>> round(explained_by(np.arange(100), y), 3), round(explained_by(np.array([0, 1] * 50), y), 2)
    (0.0, 0.99)
    """
    n, k, high, low = _expected(codes, y)
    rate = float(y.mean())
    entropy = -(rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
    log_high = np.log(high, where=k > 0, out=np.zeros_like(high))
    log_low = np.log(1 - low, where=n > k, out=np.zeros_like(low))
    return 1 + float((k * log_high + (n - k) * log_low).sum()) / len(y) / entropy


def accuracy_by(codes: Rows, y: Mask) -> float:
    """Return the share of rows whose label is predicted correctly, each row judged without itself."""
    n, k, high, low = _expected(codes, y)
    return float((k * (high > 0.5) + (n - k) * (low <= 0.5)).sum()) / len(y)


def _expected(codes: Rows, y: Mask) -> tuple[Floats, ...]:
    """Return per value: rows, favourable rows, and the rates expected for favourable and other rows."""
    n: Floats = np.bincount(codes).astype(np.float64)
    k: Floats = np.bincount(codes, weights=y).astype(np.float64)
    rate = float(y.mean())
    return n, k, (k - 1 + rate) / n, (k + rate) / n


def gives_away(gap: Mask, y: Mask) -> bool:
    """Return whether having a value, or having none, all but settles the label.

    >>> y = np.arange(200) < 100
    >>> gives_away(np.arange(200) >= 60, y), gives_away(np.arange(200) % 3 == 0, y)
    (True, False)
    """
    return any(_errors_gone(side, labels) >= SURE_LEAK for side in (gap, ~gap) for labels in (y, ~y))


def _errors_gone(side: Mask, label: Mask) -> float:
    """Return Loevinger's H of "on this side, always this label"; 0 where few errors are expected."""
    expected = side.sum() * (1 - label.mean())
    return 0.0 if side.all() or expected < EXPECTED else 1 - float((side & ~label).sum() / expected)


def _pattern(marks: Mask) -> bytes:
    """Return a key of which rows are on the first one's side."""
    return bytes(np.packbits(marks ^ marks[0]).tobytes())


def _leak(name: str, how: str, codes: Rows, y: Mask) -> Leak:
    return Leak(name, how, accuracy_by(codes, y), explained_by(codes, y))


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
            yield Finding(
                "constant",
                name,
                f'has one value in all {len(cells):,} rows: "{values[0]}"',
                _drop(name),
                where,
            )
            continue
        own = rows.card.columns.get(name, ColumnCard())
        most = len(cells) / 2 if own.kind == "nominal" else len(cells) - 1
        if name not in protected and own.kind in ("nominal", "integer") and len(values) > most:
            what = f"has {len(values):,} different values in {len(cells):,} rows"
            other = "merge values with recode" if own.kind == "nominal" else "cut it into bins"
            yield Finding(
                "identifier", name, what, f"{_drop(name)} if it only names the row; otherwise {other}", where
            )
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        key = codes.tobytes() if len(values) < len(cells) else repr(_plain(values.tolist())).encode()
        like = first.setdefault(key, name)
        if like in protected and like != name:
            fix = f"{_drop(name)}: a classifier that must not see {like} sees it here"
            yield Finding("duplicate", name, f"is one to one with the protected {like}", fix, where)
        elif like != name:
            yield Finding(
                "duplicate", name, f"is one to one with {like}", f"drop one of the two: {_drop(name)}", where
            )


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
            yield Finding("twins", name, what, recoding(name, others, kept), where)
        rest = [value for value in counts if value != label.favourable]
        if name == label.column and len(rest) > 1:
            what = f"has more than two values; as unfavourable count {counted(rest, counts)}"
            fix = "leave rows out with `keep` in the card where a value is no outcome"
            yield Finding("many-outcomes", name, what, fix, rows.card.where("label", "favourable"))


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
        yield Finding("gaps-by-group", name, f"is missing in {shares} ({roles.attribute})", fix, where)


def _small(rows: RawRows, roles: Roles, sides: tuple[Mask, Mask]) -> Iterator[Finding]:
    for group, side in zip(("deprived", "favoured"), sides, strict=True):
        for outcome, having in (("favourable", rows.favourable), ("unfavourable", ~rows.favourable)):
            count = int((side & having & rows.complete).sum())
            if count < FEW:
                what = f"has {count} {group} row{'' if count == 1 else 's'} with {outcome} {roles.label}"
                fix = f"below {FEW}, error rates of a group are guesses: merge levels or get more rows"
                yield Finding(
                    "few-rows", roles.attribute, what, fix, rows.card.where("protected", roles.attribute)
                )


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
    dataset = load(card, found)
    rows = raw_rows(dataset, found)
    leaking = leaks(rows)
    findings = [
        *(_leak_finding(rows, leak) for leak in leaking),
        *value_findings(rows),
        *column_findings(rows),
        *group_findings(rows),
    ]
    known = [KnownTrap(trap, tuple(one for one in findings if covers(trap, one))) for trap in card.traps]
    new = [one for one in findings if not any(covers(trap, one) for trap in card.traps)]
    used = len(rows.features) + 1
    return Checked(
        rows=int(rows.complete.sum()),
        used=used,
        left_out=rows.cells.shape[1] - used,
        guessing=_guessing(rows),
        warnings=(
            *(one for one in new if one.used),
            *(_stale(card, place) for place, one in enumerate(known) if not one.found),
            *expectation_findings(dataset),
        ),
        known=tuple(one for one in known if one.found),
        noted=tuple(one for one in new if not one.used and one.kind != "leak"),
        left_out_leaks=tuple(leak for leak in leaking if card.drops(leak.column)),
        kept=len(rows.cells),
        missing=tuple(missing_cells(rows)),
    )


def _leak_finding(rows: RawRows, leak: Leak) -> Finding:
    fix = f"{_drop(leak.column)}, unless it is known before the outcome"
    where, used = rows.card.where("columns", leak.column), not rows.card.drops(leak.column)
    return Finding("leak", leak.column, leak_words(rows, leak), fix, where, used)


def covers(trap: Trap, finding: Finding) -> bool:
    """Return whether a finding is of a trap: of its kind, and of its column where it names one."""
    return trap.kind == finding.kind and trap.column in (None, finding.column)


def _stale(card: Card, place: int) -> Finding:
    trap = card.traps[place]
    what = f"is no {trap.kind} trap in these rows, though the card names one"
    fix = "remove the trap from the card, or look what has become of the data"
    return Finding(trap.kind, trap.column or "", what, fix, card.where("traps", place))


def expectation_findings(dataset: Dataset) -> Iterator[Finding]:
    """Yield what the rows are not that the card expects: rows, columns, rates to three digits."""
    card, table = dataset.card, dataset.table
    expected = card.expected
    if expected is None:
        return
    rate = float(dataset.sample().y.mean())
    facts: list[tuple[str, str, tuple[str, ...], float, float | None]] = [
        ("", "rows", ("rows",), expected.rows, len(table)),
        ("", "columns", ("columns",), expected.columns, len(table.columns)),
        ("", "favourable", ("favourable",), expected.favourable, rate),
    ]
    for attribute, levels in expected.groups.items():
        rates = dataset.base_rates(card.attribute(attribute))
        for level, share in levels.items():
            facts.append(
                (attribute, f"favourable of {level}", ("groups", attribute), share, rates.get(level))
            )
    for column, what, place, wanted, is_now in facts:
        whole = isinstance(wanted, int)
        if is_now is None or abs(is_now - wanted) > (0 if whole else HALF):
            now = "nobody" if is_now is None else f"{is_now:,}" if whole else f"{is_now:.4f}"
            said = f"has {what}: {now}; the card expects {wanted:,}"
            fix = "if the card is right, the file is another one: see `fairbench data verify`"
            yield Finding("expected", column, said, fix, card.where("expected", *place))
