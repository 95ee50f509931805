"""From a card and its files, or a bare CSV, to a coded table."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import ArgumentError, Problem, UserError, shown, suggest, user_error
from fairbench_cli.base.strict_yaml import Place, yaml_word
from fairbench_cli.base.twins import NO_VALUE
from fairbench_cli.data.card import UNKNOWN, Card
from fairbench_cli.data.columns import (
    GAPS,
    MISSING,
    Cells,
    Misfit,
    as_numbers,
    bin_numbers,
    cap_numbers,
    coded,
    imputed,
    is_number,
    joined,
    keep_numbers,
    occurring,
    relabelled,
    replaced,
    some_of,
    with_missing,
)
from fairbench_cli.data.files import TextCells, read_cells, separator_of
from fairbench_cli.data.locate import LocatedFiles, file_sha256
from fairbench_cli.data.roles import absent, checked_roles, doubtful_values, joint_as_column
from fairbench_cli.data.split import TrainTestSplit, divided_rows, split_seed, training_size
from fairbench_cli.data.table import (
    VALUES,
    Coded,
    Column,
    Floats,
    Roles,
    Sample,
    Table,
    joint_column,
    table_of,
    to_sample,
    with_joint,
)

FilePart = tuple[Path, TextCells]
ReadFiles = tuple[list[FilePart], pd.DataFrame]
MOST_PEOPLE = 20_000_000  # that the rows of a file may stand for
MANY = 50  # levels; a column of more, all numbers, is a number


def read_parts(card: Card, found: LocatedFiles, *, every: bool = True) -> ReadFiles:
    """Return the files of a card one by one, and joined: the columns, recoded, of the rows that are kept.

    Parameters
    ----------
    every : bool
        Whether to read the columns too that the card does not use.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    mentioned = {name for name, _ in card.mentions()}

    def wanted(name: str) -> bool:
        return every or not card.header or name in mentioned or not card.drops(name)

    parts = []
    form: dict[str, Any] = {"header": card.header, "separator": card.separator, "comment": card.comment}
    for path in found.paths:
        cells = read_cells(path, card.format, **form, wanted=wanted)
        parts.append((path, _named(card, path, cells)))
    return parts, _counted(card, _with_unknown(card, _kept(card, _joined(card, parts), parts)), parts)


def _named(card: Card, path: Path, cells: TextCells) -> TextCells:
    """Return the cells with their columns named; every column that is used must have a name of its own."""
    frame, names = cells.frame, cells.names
    if not card.header and card.format == "csv":
        own = [name for name in card.columns if name not in card.made]
        if len(frame.columns) != len(own):
            what = f"the file has {len(frame.columns)} columns, but the card names {len(own)}"
            fix = "without a header, the card must name every column in file order"
            raise user_error(what, fix, str(path))
        frame, names = frame.set_axis(own, axis=1), tuple(own)
    repeated = frame.columns.duplicated()
    used = {name for name in frame.columns if not card.drops(name)}
    used |= {*card.keep, *card.keep_between, *card.made.values()}
    if "" in used:
        number = names.index("") + 1
        fix = "name it in the first line, or write other_columns: drop in the card"
        raise user_error(f"column {number} has no name", fix, f"{path}:1")
    for name in sorted(set(frame.columns[repeated]) & used):
        # COMPAS gives two columns twice; as long as they say the same, the name is clear.
        same = frame.loc[:, frame.columns == name]
        if not all(same.iloc[:, 0].equals(same.iloc[:, j]) for j in range(1, same.shape[1])):
            fix = "give every column a name of its own, or drop it in the card"
            raise user_error(f'two different columns are called "{name}"', fix, f"{path}:1")
    return _with_made(card, path, replace(cells, frame=frame.loc[:, ~repeated], names=names))


def _with_made(card: Card, path: Path, cells: TextCells) -> TextCells:
    """Return the cells with the columns that the card makes of others, at the end."""
    frame, declared = cells.frame, dict(cells.declared)
    for name, source in card.made.items():
        if name in cells.names:
            what, where = f'{path.name} has a column "{name}" itself', card.where("columns", name)
            raise user_error(what, "give the one that is made another name", where)
        if source in cells.frame.columns:  # otherwise `_joined` says that it is missing
            frame = frame.assign(**{name: cells.frame[source]})
        if source in cells.declared:
            declared[name] = cells.declared[source]
    return replace(cells, frame=frame, declared=declared)


def _joined(card: Card, parts: list[FilePart]) -> pd.DataFrame:
    """Return the files joined row by row, recoded; they must have every column that the card names."""
    (first_path, first), *others = parts
    for path, part in others:
        differing = set(part.names) ^ set(first.names)
        if differing:
            what = f'column "{min(differing)}" is in one of {first_path.name} and {path.name} only'
            raise user_error(what, "give files with the same columns", str(path))
    frame = first.frame
    if others:
        names = list(frame.columns)
        frame = pd.DataFrame({name: joined([part.frame[name] for _, part in parts]) for name in names})
    missing: dict[str, Place] = {}
    for name, place in card.mentions():
        if name not in frame.columns and name not in card.made:
            missing.setdefault(name, place)
    if missing:
        files = " and ".join(path.name for path, _ in parts)
        known = list(first.names)
        problems = []
        for name, place in missing.items():
            single = "check `separator`: every row of the file is a single cell"
            found_in = separator_of([known[0], *frame[known[0]][:100]]) if len(known) == 1 else card.separator
            if found_in != card.separator:
                single += f"; separator: {shown(found_in)} would fit"
            fix = suggest(name, known) if len(known) > 1 else single
            problems.append(Problem(f'{files} has no column "{name}"', fix, card.where(*place)))
        raise UserError(*problems)
    numbers = [name for name, column in card.columns.items() if column.is_number]
    numbers += [name for name in card.keep_between if name not in numbers]
    if card.decimal == ",":
        _refuse_points(card, frame[numbers], parts)
    for name, column in card.columns.items():
        if column.recode:
            frame = frame.assign(**{name: relabelled(frame[name], partial(_recoded, column.recode))})
    if card.decimal == ",":
        frame = frame.assign(**{name: relabelled(frame[name], _with_point) for name in numbers})
    return frame


def _recoded(table: dict[str, str], cell: str) -> str:
    return table.get(cell, cell)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".")


def _refuse_points(card: Card, numbers: pd.DataFrame, parts: list[FilePart]) -> None:
    """Refuse points among numbers with a decimal comma: 1.234 may be 1234 or 1,234."""
    for name, cells in numbers.items():
        recode = card.column(str(name)).recode
        points = cells[cells.str.contains(".", regex=False) & ~cells.isin({*GAPS, *card.missing, *recode})]
        if not points.empty:
            cell = str(points.iloc[0])
            what = f'column "{name}" has {shown(cell)}, and the card says decimal: ","'
            fix = "write thousands without a point in the file, or recode the cell in the card"
            raise user_error(what, fix, _spot(card, parts, str(name), cell))


def _kept(card: Card, frame: pd.DataFrame, parts: list[FilePart]) -> pd.DataFrame:
    """Return the rows that the card keeps."""
    problems: list[Problem] = []
    for name, values in card.keep.items():
        problems += absent(card, name, values, set(frame[name].unique()), ("keep", name))
    if problems:
        raise UserError(*problems)
    for name, values in card.keep.items():
        frame = frame[frame[name].isin(values)]
    for name, between in card.keep_between.items():
        frame = frame[~frame[name].isin({*GAPS, *card.missing})]
        try:
            numbers = as_numbers(name, frame[name], whole=False)
        except Misfit as misfit:
            raise user_error(misfit.what, misfit.fix, _spot(card, parts, name, misfit.cell)) from None
        low, high = (limit if limit is not None else np.nan for limit in (between.low, between.high))
        frame = frame[~((numbers < low) | (numbers > high))]  # nothing is below or above NaN
    return frame


def _with_unknown(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with their unknown outcomes called so, or made the unfavourable one."""
    label = card.label
    if not label.unknown:
        return frame
    cells = frame[label.column]
    unknown = cells.isin([*label.unknown, UNKNOWN])
    called = UNKNOWN
    if label.unknown_as == "unfavourable" and unknown.any():
        others = [cell for cell in cells[~unknown].unique() if cell != label.favourable]
        if len(others) != 1:
            what = f'unknown_as: unfavourable needs one other value of "{label.column}", which has '
            fix = "recode the unfavourable values to one, or write another unknown_as"
            where = card.where("label", "unknown_as")
            raise user_error(what + (" and ".join(map(shown, others)) or "none"), fix, where)
        called = others[0]
    return frame.assign(**{label.column: replaced(cells, unknown, called)})


def _counted(card: Card, frame: pd.DataFrame, parts: list[FilePart]) -> pd.DataFrame:
    """Return each row as often as the card's column counts people, less that column."""
    if card.counts is None:
        return frame
    name, cells = card.counts, frame[card.counts]
    fix = "give whole numbers from 0"
    try:
        people = as_numbers(name, cells, whole=True)
    except Misfit as misfit:
        raise user_error(misfit.what, fix, _spot(card, parts, name, misfit.cell)) from None
    for cell in cells[people < 0]:
        raise user_error(f'column "{name}" counts {cell} people', fix, _spot(card, parts, name, cell))
    if people.sum() > MOST_PEOPLE:
        what = f'column "{name}" counts {people.sum():,.0f} people, more than {MOST_PEOPLE:,}'
        raise user_error(what, "give a file with fewer, or remove `counts`", card.where("counts"))
    rows = np.repeat(np.arange(len(frame)), people.astype(np.intp))
    return frame.drop(columns=card.counts).iloc[rows].reset_index(drop=True)


def _warnings(card: Card, frame: pd.DataFrame) -> Iterator[Problem]:
    """Yield a problem per unlisted column of very many levels, and for rows without a label.

    A column that the card lists as nominal is left alone.
    """
    for name in frame.columns:
        if name in card.columns or name == card.label.column or (levels := frame[name].nunique()) <= MANY:
            continue
        gap = frame[name].isin(["", *card.missing])
        known, word = frame[name][~gap].unique(), yaml_word(name)
        odd = [cell for cell in known if cell.lower() in NO_VALUE]
        numbers = [cell for cell in known if cell not in odd]
        if numbers and all(is_number(cell) for cell in numbers):
            some = "".join(f" and {shown(cell)}" for cell in odd)
            what = (
                f'column "{name}" has {len(numbers)} different numbers{some}, each of which would be a level'
            )
            gap |= frame[name].isin(odd)
            kind = "integer" if all(is_number(cell, whole=True) for cell in numbers) else "real"
            level = ", if_missing: level" if gap.any() else ""
            fix = f"list it under `columns`: {word}: {{kind: {kind}, bins: {{quantiles: 5}}{level}}}"
            empty = [""] if level and (frame[name] == "").any() and "" not in card.missing else []
            if empty or odd:
                fix += f", with missing: {shown([*empty, *odd, *card.missing])} in the card"
            yield Problem(what, f"{fix}; or as nominal or drop", card.where("columns"))
        elif levels > len(frame) / 2:
            what = f'column "{name}" has {levels} different values in {len(frame)} rows'
            fix = f"list it under `columns`: {word}: drop, or as nominal if it is meant so"
            yield Problem(what, fix, card.where("columns"))
    label = frame[card.label.column]
    missing = int(label.isin(["", *card.missing]).sum())
    if missing:
        what = f'{missing} rows have no label in column "{card.label.column}"'
        listed = shown(list(dict.fromkeys([*label[label.isin(["", *card.missing])], *card.missing])))
        fix = (
            f"leave them out with missing: {listed} and missing_rows: drop, or give them a value with recode"
        )
        yield Problem(what, fix, card.where("label", "column"))


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A loaded data set: its card, its rows, the sha256 of each file, and where the files are.

    `test` are rows of other files, in the columns and levels of `table`, that are tested on; None without.
    """

    card: Card
    table: Table
    sha256: dict[str, str]
    files: LocatedFiles | None = None
    test: Table | None = None
    test_sha256: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows with their levels as text, one pandas categorical per column."""
        return self.table.to_pandas()

    @cached_property
    def raw(self) -> pd.DataFrame:
        """The same rows and columns as the files have them: ages are numbers such as 39, and no bins.

        Values are recoded and missing ones are missing, as the card says; all else is text.

        Raises
        ------
        UserError
            When the rows are no file's, or the files are not there any more, or others.
        """
        if self.files is None:
            what = f"the rows of {self.card.name} were drawn from a network, which has no other values"
            raise user_error(what, "use to_pandas()")
        for path, digest in zip(self.files.paths, self.files.sha256.values(), strict=True):
            if not path.is_file() or file_sha256(path) != digest:
                raise user_error("the file has changed since it was read", "load the data again", str(path))
        frame = _rows(self.card, read_parts(self.card, self.files, every=False))[1].reset_index(drop=True)
        return pd.DataFrame({name: _raw(self.card, frame[name]) for name in frame.columns})

    def split(
        self,
        repeat: int = 0,
        *,
        train_fraction: float = 0.5,
        seed: int = 0,
        attribute: str | None = None,
        raw: bool = False,
        name: str = "",
    ) -> TrainTestSplit:
        """Return the training and test rows of a repeat, as a run with ``sample: {from: data}`` divides them.

        Parameters
        ----------
        repeat : int
            Its number, from 0.
        train_fraction, seed : float, int
            Those of the config.
        attribute : str, optional
            The protected attribute; by default the card's first.
        raw : bool
            Whether columns are those of `raw`. By default they are what techniques and classifiers get:
            levels and bins are categories, and numbers floats.
        name : str
            What the run calls the data set, if its config has it ``as`` another than the card.

        Examples
        --------
        >>> train, test = fb.load("adult").split(repeat=3)  # doctest: +SKIP

        Raises
        ------
        ArgumentError
            When `repeat` or `seed` is no whole number from 0, or the fraction leaves nothing.
        UserError
            As `sample` and `raw`.
        """
        for key, value in (("repeat", repeat), ("seed", seed)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
                raise ArgumentError(Problem(f"{key} is {value!r}", "give a whole number from 0"))
        rows = len(self)
        size = training_size(rows, train_fraction) if 0 < train_fraction < 1 else 0
        if not 0 < size < rows:
            what = f"a train_fraction of {train_fraction!r} of {rows} rows leaves nothing"
            raise ArgumentError(Problem(what, "give one between 0 and 1"))
        roles = self.roles(self.card.attribute(attribute))
        drawn = split_seed(int(seed), name or self.card.name, int(repeat))
        parts = divided_rows(rows, size, np.random.default_rng(drawn))
        table = with_joint(self.table, roles.attribute, roles.of)
        frame = self.raw if raw else table.to_frame(typed=True)
        if raw and roles.of:
            frame = frame.assign(**{roles.attribute: table.to_frame()[roles.attribute].astype(str)})
        frame.attrs[VALUES] = {} if raw else {c.name: list(c.values) for c in table.columns if c.values}
        train, test = (frame.iloc[part].reset_index(drop=True) for part in parts)
        return TrainTestSplit(train, test, roles, drawn)

    def sample(self, attribute: str | None = None) -> Sample:
        """Return the rows as techniques take them: features, outcome and the groups of an attribute.

        Parameters
        ----------
        attribute : str, optional
            A protected attribute; by default the card's first.

        Raises
        ------
        UserError
            When the card has no such attribute, and as `roles`.
        """
        return to_sample(self.table, self.roles(self.card.attribute(attribute)))

    def base_rates(self, attribute: str | None = None) -> "pd.Series[float]":
        """Return the share of favourable outcomes by level of a protected attribute; raises as `sample`."""
        name, label = self.card.attribute(attribute), self.card.label
        frame = with_joint(self.table, name, self.card.protected[name].of or ()).to_pandas()
        favourable = (frame[label.column] == label.favourable).astype(float).rename("base rate")
        return favourable.groupby(frame[name], observed=True).mean()

    def __repr__(self) -> str:
        label, levels = self.card.label, {column.name: column.levels for column in self.table.columns}
        lines = [
            f"<{self.card.name}: {len(self)} rows, {len(self.table.columns)} columns",
            f"  {label.column} = {label.favourable} is favourable",
        ]
        for name, protected in self.card.protected.items():
            if set(protected.of or (name,)) <= set(self.table.names):
                deprived = self.card.roles(name, levels).deprived
                groups = ", ".join(
                    f"{level}{' (deprived)' if level in deprived else ''} {rate:.3f}"
                    for level, rate in self.base_rates(name).items()
                )
                lines.append(f"  by {name}: {groups}")
        return "\n".join(lines) + ">"

    def roles(self, attribute: str) -> Roles:
        """Return label and groups, checked against the data.

        Raises
        ------
        UserError
            When a named value is not in the data, a level is in neither group or in both, a group is empty,
            or the label has one value only.
        """
        roles = checked_roles(self.card, attribute, self.table.columns, self._occurring, "data")
        if not roles.of:
            return roles
        there = joint_column(self.table, attribute, roles.of)[0].levels
        deprived, favoured = (
            tuple(level for level in group if level in there) for group in (roles.deprived, roles.favoured)
        )
        if not (deprived and favoured):
            what = f"nobody is {'favoured' if deprived else 'deprived'} by all of {', '.join(roles.of)}"
            raise user_error(what, "give rows of both groups", self.card.where("protected", attribute))
        return replace(roles, deprived=deprived, favoured=favoured)

    def _occurring(self, column: str) -> set[str]:
        levels = self.table.column(column).levels
        return {levels[code] for code in np.unique(self.table[column])}


def load(
    card: Card, found: LocatedFiles, test: LocatedFiles | None = None, *, read: ReadFiles | None = None
) -> Dataset:
    """Return the files that were found for a card as a coded table.

    Test rows, of other files with the same columns, are coded as these are: by their levels and bins, and
    what stands for a missing cell comes from them. Of the same files they are the card's `test_rows`. What
    `read_parts` has returned of the files need not be read again.

    Raises
    ------
    UserError
        When the files do not fit the card; the messages name file, line, column and value.
    """
    read = read or read_parts(card, found, every=False)
    parts, frame = _rows(card, read)
    if frame.empty:
        raise user_error("no rows are left", *_takers(card))
    problems = [*joint_as_column(card, list(frame.columns)), *_warnings(card, frame)]
    problems += [
        Problem(doubt.what, doubt.fix, _spot(card, parts, doubt.column, doubt.value))
        for doubt in doubtful_values(card, frame)
    ]
    columns = []
    for name in frame.columns:
        try:
            columns.append(_encode(card, frame[name], _declared(parts, name)))
        except Misfit as misfit:
            problems.append(Problem(misfit.what, misfit.fix, _spot(card, parts, name, misfit.cell)))
    if problems:
        raise UserError(*problems)
    if test is None:
        return Dataset(card, table_of(columns), found.sha256, found)
    test_read = read if test == found else read_parts(card, test, every=False)
    columns, tested = _with_test_rows(card, frame, columns, test_read, test, same=test == found)
    return Dataset(card, table_of(columns), found.sha256, found, table_of(tested), test.sha256)


def _takers(card: Card) -> tuple[str, str]:
    """Return what to check where no rows are left, and where the card says the first of it."""
    says = {
        "keep": card.keep,
        "keep_between": card.keep_between,
        "test_rows": card.test_rows,
        "label": card.label.unknown and card.label.unknown_as == "leave-out",
        "missing_rows": card.missing_rows == "drop",
        "counts": card.counts,
    }
    keys = [key for key, value in says.items() if value] or ["files"]
    return f"check {', '.join(f'`{key}`' for key in keys)} of the card", card.where(keys[0])


def _with_test_rows(
    card: Card, frame: pd.DataFrame, columns: list[Coded], read: ReadFiles, test: LocatedFiles, *, same: bool
) -> tuple[list[Coded], list[Coded]]:
    """Return the columns and those of the test rows, with the same levels.

    Numbers that stay numbers have those of both as levels. Test rows of the `same` files are the card's.
    """
    parts, rows = read
    names = ", ".join(path.name for path in test.paths)
    lacking = [column.name for column, _ in columns if column.name not in rows]
    if lacking:
        what = f'{names} has no column "{lacking[0]}", which the data set has'
        raise user_error(what, suggest(lacking[0], map(str, rows.columns)), f"{test.paths[0]}:1")
    rows = rows[complete_rows(card, rows, tested=same)]
    rows = rows[[column.name for column, _ in columns]]
    if rows.empty:
        raise user_error("no test rows are left", _takers(card)[0], str(test.paths[0]))
    both, tested, problems = [], [], []
    for column, codes in columns:
        cells, test_cells = frame[column.name], rows[column.name]
        try:
            if column.kind == "number":
                joint, every = keep_numbers(column.name, _tested_numbers(card, cells, test_cells))
                both.append((joint, every[: len(frame)]))
                tested.append((joint, every[len(frame) :]))
            else:
                both.append((column, codes))
                tested.append(_encode_like(card, column, cells, test_cells))
        except Misfit as misfit:
            where = _spot(card, parts, column.name, misfit.cell)
            problems.append(Problem(misfit.what, misfit.fix, where))
    if problems:
        raise UserError(*problems)
    return both, tested


def _numbers(card: Card, cells: Cells) -> Floats:
    """Return the cells of a column as numbers, whole ones where the card says so."""
    name = str(cells.name)
    return as_numbers(name, cells, whole=card.column(name).kind == "integer")


def _tested_numbers(card: Card, cells: Cells, test: Cells) -> Floats:
    """Return a column of numbers: of all rows, then of the test rows."""
    filled = [_filled(card, part, cells) for part in (cells, test)]
    for part in filled:
        _refuse_gaps(card, part)
    return np.concatenate([_numbers(card, part) for part in filled])


def _filled(card: Card, cells: Cells, known: Cells) -> Cells:
    """Return cells with what the known ones give for the missing, where the card asks for that."""
    how = card.column(str(cells.name)).if_missing
    if how not in ("median", "mode"):
        return cells
    gap = cells.isin(card.missing)
    return replaced(cells, gap, filling(card, known, how)) if gap.any() else cells


def _refuse_gaps(card: Card, cells: Cells) -> "pd.Series[bool]":
    """Return which cells of a column of numbers are missing, and a level; refuse others that are missing."""
    if (level := _gap_level(card, cells)) == UNKNOWN:
        return cells == level
    name = str(cells.name)
    column, gap = card.column(name), cells.isin(card.missing)
    homeless = cells.isin(GAPS) & ~gap if column.if_missing == "level" else cells.isin(GAPS) | gap
    if not homeless.any():
        return gap
    cell = str(cells[homeless].iloc[0])
    kind = "whole numbers" if column.kind == "integer" else "numbers"
    ways = "if_missing: level (or median)" if column.is_cut else "if_missing: median"
    fix = f"give column {name} {ways}, or leave its rows out with missing_rows: drop"
    if cell not in card.missing:
        fix = f"write missing: {shown([*card.missing, cell])} in the card, and {fix}"
    raise Misfit(f'column "{name}" should hold {kind} but has "{cell}"', fix, cell)


def _gap_level(card: Card, cells: Cells) -> str:
    """Return what the level of a column's missing cells is called."""
    return UNKNOWN if cells.name == card.label.column and card.label.unknown else MISSING


def _encode_like(card: Card, column: Column, cells: Cells, test: Cells) -> Coded:
    """Return test rows as codes of a column's levels, given the cells that the column was made of."""
    said = card.column(column.name)
    texts = test = _filled(card, test, cells)
    if said.is_number:
        gap = _refuse_gaps(card, test)
        known = _numbers(card, cells[~cells.isin(card.missing)])
        texts = pd.Series(_gap_level(card, test), index=test.index, dtype=object, name=column.name)
        if not gap.all():
            like, codes = _levels_of_numbers(card, test[~gap], known)
            # A bin that nobody else is in is the nearest that somebody is in, of two the lower.
            there = np.array([place for place, level in enumerate(like.levels) if level in column.levels])
            nearest = there[np.abs(there[:, None] - codes).argmin(axis=0)]
            texts[~gap] = np.array(like.levels, dtype=object)[nearest]
    elif said.if_missing == "level":
        texts = replaced(test, test.isin(card.missing), MISSING)
    try:
        return column, coded(column.name, texts, column.levels)[1]
    except Misfit as misfit:
        level = misfit.cell
        cell = next((str(cell) for cell, text in zip(test, texts, strict=True) if text == level), level)
        what = f'column "{column.name}" has "{cell}" in the test rows, and no other row has that level'
        listed = some_of(column.levels)
        fix = f"`recode` it in the card to one of: {listed}; or leave its rows out of the file"
        raise Misfit(what, fix, cell) from None


def _rows(card: Card, read: ReadFiles) -> ReadFiles:
    """Return the files of a card, and the cells of the rows and columns that are kept."""
    parts, frame = read
    problems: list[Problem] = []
    for name, values in card.test_rows.items():
        problems += absent(card, name, values, set(frame[name].unique()), ("test_rows", name))
    if problems:
        raise UserError(*problems)
    # In the card's order where it lists all columns that are wanted, else in the file's.
    order = card.columns if card.other_columns == "drop" else frame.columns
    return parts, frame.loc[complete_rows(card, frame), [name for name in order if not card.drops(name)]]


def _raw(card: Card, cells: Cells) -> "pd.Series":
    """Return the cells of a column as numbers or text; missing ones are missing."""
    column, gap = card.column(str(cells.name)), cells.isin(card.missing)
    if not column.is_number:
        return cells.astype(object).mask(gap).infer_objects()
    if _gap_level(card, cells) == UNKNOWN:
        gap = cells == UNKNOWN
    numbers = np.full(len(cells), np.nan)
    numbers[~gap] = _numbers(card, cells[~gap])
    whole = column.kind == "integer" and not gap.any()
    return pd.Series(numbers.astype(np.int64) if whole else numbers, name=cells.name)


def complete_rows(card: Card, frame: pd.DataFrame, *, tested: bool = False) -> NDArray[np.bool_]:
    """Return which rows stay: all, or with ``missing_rows: drop`` those that no missing cell takes away.

    A missing cell takes its row away unless its column is dropped or says what becomes of it (`if_missing`).
    Rows with an unknown outcome go too, unless the card has another use for them; and the card's `test_rows`,
    or, where rows are to be tested on, all others.
    """
    stays = np.ones(len(frame), dtype=bool)
    for name, values in card.test_rows.items():
        stays &= frame[name].isin(values).to_numpy(dtype=bool)
    if card.test_rows and not tested:
        stays = ~stays
    if card.label.unknown and card.label.unknown_as == "leave-out":
        stays &= (frame[card.label.column] != UNKNOWN).to_numpy(dtype=bool)
    for name in frame.columns if card.missing_rows == "drop" else ():
        if not card.drops(name) and card.column(name).if_missing is None:
            stays &= ~frame[name].isin(card.missing).to_numpy(dtype=bool)
    return stays


def filling(card: Card, cells: Cells, how: Literal["median", "mode"]) -> str:
    """Return the cell that stands for the missing ones of a column, computed from all its other rows.

    Raises
    ------
    Misfit
        When no cell is left, or one is no number where the median is asked for.
    """
    there = cells[~cells.isin(card.missing)]
    if there.empty:
        raise Misfit(f'column "{cells.name}" has no value in any row', "drop it")
    if how == "median":
        as_numbers(str(cells.name), there, whole=False)
    return imputed(there, how)


def _encode(card: Card, cells: Cells, declared: tuple[str, ...] | None) -> Coded:
    """Return a column of all rows and its codes; `declared` are the levels that the files name."""
    name = str(cells.name)
    said, cells = card.column(name), _filled(card, cells, cells)
    if said.is_number:
        gap = _refuse_gaps(card, cells)
        if gap.all():
            raise Misfit(f'column "{name}" has no number in any row', "drop it")
        column, codes = _levels_of_numbers(card, cells[~gap])
        level = _gap_level(card, cells)
        return with_missing(column, codes, gap.to_numpy(dtype=bool), level) if gap.any() else (column, codes)
    levels = said.levels
    if said.if_missing == "level":
        gap = cells.isin(card.missing)
        cells = replaced(cells, gap, MISSING)
        levels = (*levels, MISSING) if levels and gap.any() and MISSING not in levels else levels
    unknown = card.label.unknown if name == card.label.column else ()
    more = (UNKNOWN,) if unknown and card.label.unknown_as == "level" else ()
    if levels and unknown:
        levels = (*(level for level in levels if level not in (*unknown, UNKNOWN)), *more)
    if levels is None and declared is not None:
        named = tuple(dict.fromkeys((*(said.recode.get(level, level) for level in declared), *more)))
        if said.if_missing == "level":
            named = (*(level for level in named if level not in card.missing), MISSING)
        return occurring(*coded(name, cells, named))
    return coded(name, cells, levels)


def _levels_of_numbers(card: Card, cells: Cells, like: Floats | None = None) -> Coded:
    """Return the column of cells that are numbers; with `like` in the bins of these, empty ones too."""
    name, numbers = str(cells.name), _numbers(card, cells)
    said = card.column(name)
    if said.bins is not None:
        cut = bin_numbers(name, numbers, said.bins, whole=said.kind == "integer", like=like)
        return cut if like is not None else occurring(*cut)
    if said.cap is not None:
        return occurring(*cap_numbers(name, numbers, said.cap))
    return keep_numbers(name, numbers)


def level_texts(card: Card, cells: pd.DataFrame, name: str) -> Cells:
    """Return the levels of a column of all rows, those left out too; a missing number is ``""``."""
    said = card.column(name)
    if not said.is_number:
        return cells[name]
    unknown = {UNKNOWN} if name == card.label.column and card.label.unknown else set()
    there = ~cells[name].isin({"", *card.missing} | unknown)
    if said.bins is not None and said.bins.edges is None:
        there &= complete_rows(card, cells)  # bins are made from these rows
    column, codes = _levels_of_numbers(card, cells[name][there])
    texts = np.full(len(cells), "", dtype=object)
    texts[there.to_numpy(dtype=bool)] = np.array(column.levels, dtype=object)[codes]
    return pd.Series(texts, index=cells.index, name=name)


def _declared(parts: list[FilePart], name: str) -> tuple[str, ...] | None:
    """Return the levels that the files declare for a column, the first file's first."""
    declared = [part.declared[name] for _, part in parts if name in part.declared]
    return tuple(dict.fromkeys(level for levels in declared for level in levels)) if declared else None


def _spot(card: Card, parts: list[FilePart], name: str, cell: str | None) -> str:
    """Return ``file:line`` of the first cell that shows a problem, or the card's line for the column."""
    recode = card.column(name).recode
    for path, part in parts if cell is not None else []:
        for line, value in zip(part.lines, part.frame[name], strict=True):
            if recode.get(value, value) == cell:
                return f"{path}:{line}"
    return card.where("columns", name)


def table_from_csv(path: str | Path) -> Table:
    """Return a CSV whose first line names the columns, as `load` would by a card that says no more.

    Nothing is a missing value: ``?``, ``NA`` and the empty cell are levels like any other. Blanks around a
    cell are no part of it. The levels of a column are those that occur, ordered by their UTF-8 bytes; columns
    keep the order of the file.

    Parameters
    ----------
    path : str or Path
        Comma-separated UTF-8 text, with or without a byte order mark.

    Raises
    ------
    UserError
        No such file, not UTF-8, no rows, a row of another length than the header, a column name that is empty
        or comes twice, or a column with more than 32,768 levels.
    """
    frame = read_cells(Path(path)).frame
    where = f"{path}:1"
    for j, name in enumerate(frame.columns):
        if name == "":
            raise user_error(f"column {j + 1} has no name", "name every column in the first line", where)
        if name in frame.columns[:j]:
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
    try:
        return table_of([coded(name, frame[name]) for name in frame.columns])
    except Misfit as misfit:
        raise user_error(misfit.what, misfit.fix, str(path)) from None
