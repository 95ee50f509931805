"""From a card and its files, or a bare CSV, to a coded table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import ArgumentError, Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.spelling_variants import NO_VALUE
from fairbench_cli.base.strict_yaml import KeyPath, yaml_word
from fairbench_cli.data.card import UNKNOWN, Card
from fairbench_cli.data.columns import (
    GAPS,
    MISSING,
    Cells,
    Misfit,
    as_numbers,
    bin_numbers,
    by_byte_value,
    cap_numbers,
    coded,
    is_number,
    joined,
    keep_numbers,
    kind_of,
    occurring,
    relabelled,
    replaced,
    some_of,
    with_missing,
)
from fairbench_cli.data.files import TextCells, differ, read_cells, separator_of
from fairbench_cli.data.locate import LocatedFiles, file_sha256
from fairbench_cli.data.roles import absent, checked_roles, doubtful_values, joint_as_column
from fairbench_cli.data.table import (
    VALUES,
    Coded,
    Codes,
    Column,
    Floats,
    Roles,
    Sample,
    Table,
    divided_rows,
    joint_column,
    split_seed,
    table_of,
    to_sample,
    training_size,
    with_joint,
)

MOST_PEOPLE = 20_000_000  # that the rows of a file may stand for
MANY = 50  # levels; a column of more, all numbers, is a number


@dataclass(frozen=True, eq=False)
class ReadFiles:
    """The files of a card as text.

    Parameters
    ----------
    card : Card
        What they should be like.
    files : tuple of TextCells
        One by one.
    cells : DataFrame
        All of their rows and columns, joined.
    frame : DataFrame
        The columns, recoded, of the rows that are kept.
    """

    card: Card
    files: tuple[TextCells, ...]
    cells: pd.DataFrame
    frame: pd.DataFrame

    def placed(self, misfit: Misfit) -> list[Problem]:
        """Return the problems of a misfit, at the line of its first cell or at the card's of the column."""
        recode = self.card.column(misfit.column).recode
        for file in self.files if misfit.cell is not None else ():
            for line, value in zip(file.lines, file.frame[misfit.column], strict=True):
                if recode.get(value, value) == misfit.cell:
                    return misfit.reported_at(f"{file.path}:{line}")
        return misfit.reported_at(self.card.where("columns", misfit.column))


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

    form: dict[str, Any] = {"header": card.header, "separator": card.separator, "comment": card.comment}
    files = tuple(_named(card, read_cells(path, card.format, **form, wanted=wanted)) for path in found.paths)
    cells = _joined(card, files)
    read = ReadFiles(card, files, cells, cells)
    try:
        return replace(read, frame=_counted(card, _with_unknown(card, _kept(card, _recoded(card, cells)))))
    except Misfit as misfit:
        raise UserError(*read.placed(misfit)) from None


def _named(card: Card, cells: TextCells) -> TextCells:
    """Return the cells with their columns named; every column that is used must have a name of its own."""
    path = cells.path
    frame = cells.frame
    names = cells.names
    if not card.header and card.format == "csv":
        own = [name for name in card.columns if name not in card.made]
        if len(frame.columns) != len(own):
            what = f"the file has {len(frame.columns)} columns, but the card names {len(own)}"
            fix = "without a header, the card must name every column in file order"
            raise user_error(what, fix, str(path))
        frame = frame.set_axis(own, axis=1)
        names = tuple(own)
    repeated = frame.columns.duplicated()
    used = {name for name in frame.columns if not card.drops(name)}
    used |= {*card.keep, *card.keep_between, *card.made.values()}
    if "" in used:
        number = names.index("") + 1
        fix = "name it in the first line, or write other_columns: drop in the card"
        raise user_error(f"column {number} has no name", fix, f"{path}:1")
    for name in sorted(set(frame.columns[repeated]) & used):
        if differ(frame, name):  # COMPAS gives two columns twice, which say the same
            fix = "give every column a name of its own, or drop it in the card"
            raise user_error(f'two different columns are called "{name}"', fix, f"{path}:1")
    return _with_made(card, replace(cells, frame=frame.loc[:, ~repeated], names=names))


def _with_made(card: Card, cells: TextCells) -> TextCells:
    """Return the cells with the columns that the card makes of others, at the end."""
    frame = cells.frame
    declared = dict(cells.declared)
    for name, source in card.made.items():
        if name in cells.names:
            what = f'{cells.path.name} has a column "{name}" itself'
            where = card.where("columns", name)
            raise user_error(what, "give the one that is made another name", where)
        if source in cells.frame.columns:  # otherwise `_joined` says that it is missing
            frame = frame.assign(**{name: cells.frame[source]})
        if source in cells.declared:
            declared[name] = cells.declared[source]
    return replace(cells, frame=frame, declared=declared)


def _joined(card: Card, files: Sequence[TextCells]) -> pd.DataFrame:
    """Return the files joined row by row; they must have every column that the card names."""
    first, *others = files
    for file in others:
        differing = set(file.names) ^ set(first.names)
        if differing:
            what = f'column "{min(differing)}" is in one of {first.path.name} and {file.path.name} only'
            raise user_error(what, "give files with the same columns", str(file.path))
    frame = first.frame
    if others:
        frame = pd.DataFrame({name: joined([file.frame[name] for file in files]) for name in frame.columns})
    missing: dict[str, KeyPath] = {}
    for name, place in card.mentions():
        if name not in frame.columns and name not in card.made:
            missing.setdefault(name, place)
    if missing:
        where = " and ".join(file.path.name for file in files)
        known = list(first.names)
        problems = []
        for name, place in missing.items():
            single = "check `separator`: every row of the file is a single cell"
            if len(known) == 1:
                found_in = separator_of([known[0], *frame[known[0]][:100]])
            else:
                found_in = card.separator
            if found_in != card.separator:
                single += f"; separator: {format_value(found_in)} would fit"
            if len(known) > 1:
                fix = suggest(name, known)
            else:
                fix = single
            problems.append(Problem(f'{where} has no column "{name}"', fix, card.where(*place)))
        raise UserError(*problems)
    return frame


def _recoded(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells recoded, with points in numbers that are written with a decimal comma."""
    for name in dict.fromkeys([*card.columns, *card.keep_between]):
        said = card.column(name)
        comma = card.decimal == "," and (said.is_number or name in card.keep_between)
        if comma:
            _refuse_points(card, frame[name])
        if said.recode or comma:
            text = partial(_as_said, said.recode, comma)
            frame = frame.assign(**{name: relabelled(frame[name], text)})
    return frame


def _as_said(recode: dict[str, str], comma: bool, cell: str) -> str:
    cell = recode.get(cell, cell)
    if comma:
        return cell.replace(",", ".")
    return cell


def _refuse_points(card: Card, cells: Cells) -> None:
    """Refuse points among numbers with a decimal comma: 1.234 may be 1234 or 1,234."""
    name = str(cells.name)
    known = {*GAPS, *card.missing, *card.column(name).recode}
    for cell in cells.unique():
        if "." in cell and cell not in known:
            fix = "write thousands without a point in the file, or recode the cell in the card"
            raise Misfit(name, f'has {format_value(cell)}, and the card says decimal: ","', fix, cell)


def _kept(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
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
        numbers = as_numbers(name, frame[name], whole=False)
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
            raise user_error(what + (" and ".join(map(format_value, others)) or "none"), fix, where)
        called = others[0]
    return frame.assign(**{label.column: replaced(cells, unknown, called)})


def _counted(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return each row as often as the card's column counts people, less that column."""
    if card.counts is None:
        return frame
    name = card.counts
    cells = frame[card.counts]
    for cell in cells.unique():
        whole = is_number(cell, whole=True)
        if not whole or float(cell) < 0:
            if whole:
                what = f"counts {cell} people"
            else:
                what = f'should hold whole numbers but has "{cell}"'
            raise Misfit(name, what, "give whole numbers from 0", cell)
    people = as_numbers(name, cells, whole=True)
    if people.sum() > MOST_PEOPLE:
        what = f'column "{name}" counts {people.sum():,.0f} people, more than {MOST_PEOPLE:,}'
        raise user_error(what, "give a file with fewer, or remove `counts`", card.where("counts"))
    rows = np.repeat(np.arange(len(frame)), people.astype(np.intp))
    return frame.drop(columns=card.counts).iloc[rows].reset_index(drop=True)


def _warnings(card: Card, frame: pd.DataFrame) -> Iterator[Problem]:
    """Yield a problem per unlisted column of very many levels, and for rows without a label.

    A column that the card lists as nominal is left alone.
    """
    gaps = ["", *card.missing]
    for name in frame.columns:
        if name in card.columns or name == card.label.column or (levels := frame[name].nunique()) <= MANY:
            continue
        there = frame[name].unique()
        word = yaml_word(name)
        odd = [cell for cell in there if cell.lower() in NO_VALUE and cell not in gaps]
        numbers = [cell for cell in there if cell not in odd and cell not in gaps]
        if (kind := kind_of(numbers)) != "nominal":
            some = "".join(f" and {format_value(cell)}" for cell in odd)
            what = (
                f'column "{name}" has {len(numbers)} different numbers{some}, each of which would be a level'
            )
            if len(there) > len(numbers):
                level = ", if_missing: level"
            else:
                level = ""
            fix = f"list it under `columns`: {word}: {{kind: {kind}, bins: {{quantiles: 5}}{level}}}"
            empty = [""] if "" in there and "" not in card.missing else []
            if empty or odd:
                fix += f", with missing: {format_value([*empty, *odd, *card.missing])} in the card"
            yield Problem(what, f"{fix}; or as nominal or drop", card.where("columns"))
        elif levels > len(frame) / 2:
            what = f'column "{name}" has {levels} different values in {len(frame)} rows'
            fix = f"list it under `columns`: {word}: drop, or as nominal if it is meant so"
            yield Problem(what, fix, card.where("columns"))
    label = frame[card.label.column]
    unlabelled = label[label.isin(gaps)]
    if len(unlabelled):
        what = f'{len(unlabelled)} rows have no label in column "{card.label.column}"'
        listed = format_value(list(dict.fromkeys([*unlabelled, *card.missing])))
        fix = (
            f"leave them out with missing: {listed} and missing_rows: drop, or give them a value with recode"
        )
        yield Problem(what, fix, card.where("label", "column"))


@dataclass(frozen=True, eq=False, repr=False)
class TrainTestSplit:
    """Training and test rows of one repeat, and what their columns are.

    Parameters
    ----------
    train, test : DataFrame
        All columns, the label and the protected attribute too.
    roles : Roles
        Which column is what.
    seed : int
        What the run draws all random choices of the repeat from: the `random_state` of a `technique`.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    roles: Roles
    seed: int

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        train = len(self.train)
        test = len(self.test)
        return f"<Split: {train} rows to train on, {test} to test on; label {self.roles.label}>"

    @property
    def X_train(self) -> pd.DataFrame:  # noqa: N802 - as scikit-learn's users write it
        """The training rows without the label."""
        return self.train.drop(columns=self.roles.label)

    @property
    def X_test(self) -> pd.DataFrame:  # noqa: N802
        """The test rows without the label."""
        return self.test.drop(columns=self.roles.label)

    @property
    def y_train(self) -> "pd.Series[Any]":
        """The labels of the training rows."""
        return self.train[self.roles.label]

    @property
    def y_test(self) -> "pd.Series[Any]":
        """The labels of the test rows."""
        return self.test[self.roles.label]


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
        frame = _rows(read_parts(self.card, self.files, every=False)).reset_index(drop=True)
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
        if 0 < train_fraction < 1:
            size = training_size(rows, train_fraction)
        else:
            size = 0
        if not 0 < size < rows:
            what = f"a train_fraction of {train_fraction!r} of {rows} rows leaves nothing"
            raise ArgumentError(Problem(what, "give one between 0 and 1"))
        roles = self.roles(self.card.attribute(attribute))
        drawn = split_seed(int(seed), name or self.card.name, int(repeat))
        parts = divided_rows(rows, size, np.random.default_rng(drawn))
        table = with_joint(self.table, roles.attribute, roles.of)
        if raw:
            frame = self.raw
        else:
            frame = table.to_frame(typed=True)
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
        name = self.card.attribute(attribute)
        label = self.card.label
        frame = with_joint(self.table, name, self.card.protected[name].of or ()).to_pandas()
        favourable = (frame[label.column] == label.favourable).astype(float).rename("base rate")
        return favourable.groupby(frame[name], observed=True).mean()

    def __repr__(self) -> str:
        label = self.card.label
        levels = {column.name: column.levels for column in self.table.columns}
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
    frame = cells = _rows(read)
    if frame.empty:
        raise user_error("no rows are left", *_takers(card))
    problems = [*joint_as_column(card, list(frame.columns)), *_warnings(card, frame)]
    problems += [problem for doubt in doubtful_values(card, frame) for problem in read.placed(doubt)]
    tested = read
    if test is not None and not problems:
        if test == found:
            tested = read
        else:
            tested = read_parts(card, test, every=False)
        cells = _with_test_rows(frame, tested, same=test == found)
    columns = []
    for name in frame.columns:
        declared = [level for file in read.files for level in file.declared.get(name, ())]
        try:
            columns.append(_encode(card, cells[name], len(frame), declared))
        except Misfit as misfit:
            own = misfit.cell is None or (frame[name] == misfit.cell).any()
            problems += (read if own else tested).placed(misfit)
    if problems:
        raise UserError(*problems)
    table = table_of(columns)
    if test is None:
        return Dataset(card, table, found.sha256, found)
    known, others = (table.take(rows) for rows in np.split(np.arange(len(cells)), [len(frame)]))
    return Dataset(card, known, found.sha256, found, others, test.sha256)


def _takers(card: Card) -> tuple[str, str]:
    """Return the card's keys to check where no rows are left, as text, and where the first of them is."""
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


def _with_test_rows(frame: pd.DataFrame, read: ReadFiles, *, same: bool) -> pd.DataFrame:
    """Return rows and, below them, test rows of other files, or of the `same`."""
    rows = read.frame
    paths = [file.path for file in read.files]
    for name in frame.columns:
        if name not in rows:
            what = f'{", ".join(path.name for path in paths)} has no column "{name}", which the data set has'
            raise user_error(what, suggest(name, map(str, rows.columns)), f"{paths[0]}:1")
    rows = rows[complete_rows(read.card, rows, tested=same)]
    if rows.empty:
        raise user_error("no test rows are left", _takers(read.card)[0], str(paths[0]))
    return pd.DataFrame({name: joined([frame[name], rows[name]]) for name in frame.columns})


def _numbers(card: Card, cells: Cells) -> Floats:
    """Return the cells of a column as numbers, whole ones where the card says so."""
    name = str(cells.name)
    return as_numbers(name, cells, whole=card.column(name).kind == "integer")


def _refuse_gaps(card: Card, cells: Cells) -> "pd.Series[bool]":
    """Return which cells of a column of numbers are missing, and a level; refuse others that are missing."""
    if (level := _gap_level(card, cells)) == UNKNOWN:
        return cells == level
    name = str(cells.name)
    column = card.column(name)
    gap = cells.isin(card.missing)
    if column.if_missing == "level":
        homeless = cells.isin(GAPS) & ~gap
    else:
        homeless = cells.isin(GAPS) | gap
    if not homeless.any():
        return gap
    cell = str(cells[homeless].iloc[0])
    if column.kind == "integer":
        kind = "whole numbers"
    else:
        kind = "numbers"
    if column.is_cut:
        ways = "if_missing: level (or median)"
    else:
        ways = "if_missing: median"
    fix = f"give column {name} {ways}, or leave its rows out with missing_rows: drop"
    if cell not in card.missing:
        fix = f"write missing: {format_value([*card.missing, cell])} in the card, and {fix}"
    raise Misfit(name, f'should hold {kind} but has "{cell}"', fix, cell)


def _gap_level(card: Card, cells: Cells) -> str:
    """Return the name of the level of a column's missing cells."""
    if cells.name == card.label.column and card.label.unknown:
        return UNKNOWN
    return MISSING


def _rows(read: ReadFiles) -> pd.DataFrame:
    """Return the cells of the rows and columns that are kept."""
    card = read.card
    frame = read.frame
    problems: list[Problem] = []
    for name, values in card.test_rows.items():
        problems += absent(card, name, values, set(frame[name].unique()), ("test_rows", name))
    if problems:
        raise UserError(*problems)
    # In the card's order where it lists all columns that are wanted, else in the file's.
    order = card.columns if card.other_columns == "drop" else frame.columns
    return frame.loc[complete_rows(card, frame), [name for name in order if not card.drops(name)]]


def _raw(card: Card, cells: Cells) -> "pd.Series":
    """Return the cells of a column as numbers or text; missing ones are missing."""
    column = card.column(str(cells.name))
    gap = cells.isin(card.missing)
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
    name = str(cells.name)
    there = cells[~cells.isin(card.missing)]
    if there.empty:
        raise Misfit(name, "has no value in any row", "drop it")
    if how == "median":
        numbers = as_numbers(name, there, whole=False)
        return str(there.iloc[np.argsort(numbers)[(len(there) - 1) // 2]])
    counts = there.value_counts()
    return by_byte_value(counts.index[counts == counts.iloc[0]])[0]


def _encode(card: Card, cells: Cells, known: int, declared: Sequence[str]) -> Coded:
    """Return a column and its codes; the first `known` rows decide its levels, all others are test rows.

    Parameters
    ----------
    declared : sequence of str
        The levels that the files name, if they do.
    """
    name = str(cells.name)
    said = card.column(name)
    gap = cells.isin(card.missing)
    if said.if_missing in ("median", "mode") and gap.any():
        cells = replaced(cells, gap, filling(card, cells.iloc[:known], said.if_missing))
    if said.is_number:
        gap = _refuse_gaps(card, cells)
        if gap.iloc[:known].all():
            raise Misfit(name, "has no number in any row", "drop it")
        column, codes = _levels_of_numbers(card, cells[~gap], known - int(gap.iloc[:known].sum()))
        if gap.any():
            column, codes = with_missing(column, codes, gap.to_numpy(dtype=bool), _gap_level(card, cells))
    else:
        if said.if_missing == "level":
            texts = replaced(cells, gap, MISSING)
        else:
            texts = cells
        column, codes = coded(name, texts, _named_levels(card, name, declared, gap=bool(gap.any())))
    if known < len(cells) and column.kind != "number":
        _refuse_new(column, codes, cells, known, (*said.levels, UNKNOWN) if said.levels else ())
    declares = bool(declared) and not said.levels and column.kind == "nominal"
    if declares:
        return occurring(column, codes, known)
    return (column, codes)


def _named_levels(card: Card, name: str, declared: Sequence[str], *, gap: bool) -> tuple[str, ...] | None:
    """Return the levels of categories, if the card or the files name them; with a `gap` cells are missing."""
    said = card.column(name)
    label = card.label
    levels = said.levels or [said.recode.get(level, level) for level in declared]
    if not levels:
        return None
    more = [MISSING] if said.if_missing == "level" and gap else []
    if said.if_missing == "level" and not said.levels:
        gone = {*card.missing}
    else:
        gone = set()
    if name == label.column and label.unknown:
        gone = {*label.unknown, UNKNOWN}
        more = [UNKNOWN] if label.unknown_as == "level" else []
    return tuple(dict.fromkeys([*(level for level in levels if level not in gone), *more]))


def _refuse_new(column: Column, codes: Codes, cells: Cells, known: int, fixed: Collection[str]) -> None:
    """Refuse a level that only test rows have, those after the first `known`, unless it is among `fixed`."""
    there = np.isin(np.arange(len(column.levels)), codes[:known])
    there |= [level in fixed for level in column.levels]
    new = ~there[codes[known:]]
    if new.any():
        cell = str(cells.iloc[known + int(new.argmax())])
        what = f'has "{cell}" in the test rows, and no other row has that level'
        listed = some_of([level for level, is_there in zip(column.levels, there, strict=True) if is_there])
        fix = f"`recode` it in the card to one of: {listed}; or leave its rows out of the file"
        raise Misfit(column.name, what, fix, cell)


def _levels_of_numbers(card: Card, cells: Cells, known: int) -> Coded:
    """Return the column of cells that are numbers, in the levels of the first `known` rows."""
    name = str(cells.name)
    numbers = _numbers(card, cells)
    said = card.column(name)
    if said.bins is not None:
        whole = said.kind == "integer"
        return occurring(*bin_numbers(name, numbers, said.bins, whole=whole, known=known), known)
    if said.cap is not None:
        return occurring(*cap_numbers(name, numbers, said.cap), known)
    return keep_numbers(name, numbers)


def level_texts(card: Card, cells: pd.DataFrame, name: str) -> Cells:
    """Return the levels of a column of all rows, those left out too; a missing number is ``""``."""
    said = card.column(name)
    if not said.is_number:
        return cells[name]
    if name == card.label.column and card.label.unknown:
        unknown = {UNKNOWN}
    else:
        unknown = set()
    there = ~cells[name].isin({"", *card.missing} | unknown)
    if said.bins is not None and said.bins.edges is None:
        there &= complete_rows(card, cells)  # bins are made from these rows
    column, codes = _levels_of_numbers(card, cells[name][there], int(there.sum()))
    texts = np.full(len(cells), "", dtype=object)
    texts[there.to_numpy(dtype=bool)] = np.array(column.levels, dtype=object)[codes]
    return pd.Series(texts, index=cells.index, name=name)


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
        raise UserError(*misfit.reported_at(str(path))) from None
