"""From a card and its files, or a bare CSV, to a coded table."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import (
    ArgumentError,
    Problem,
    UserError,
    format_value,
    refuse,
    suggest,
    user_error,
)
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.base.yaml_document import KeyPath
from fairbench_cli.data import number_writing
from fairbench_cli.data.card import UNKNOWN, Card
from fairbench_cli.data.columns import (
    MISSING,
    Cells,
    Misfit,
    add_missing_level,
    bin_numbers,
    cap_numbers,
    drop_empty_levels,
    encode_levels,
    find_kind,
    format_levels,
    is_number,
    join_cells,
    keep_numbers,
    parse_numbers,
    relabel_cells,
    replace_cells,
    sort_by_bytes,
)
from fairbench_cli.data.files import TextCells, guess_separator, has_different_cells, read_cells
from fairbench_cli.data.locate import LocatedFiles, file_sha256
from fairbench_cli.data.roles import (
    check_joint_names,
    check_named_values,
    find_doubtful_values,
    format_recode,
    list_named_values,
    resolve_roles,
)
from fairbench_cli.data.table import (
    VALUES,
    Coded,
    Codes,
    Column,
    Floats,
    Roles,
    Rows,
    Sample,
    Table,
    add_joint_column,
    make_joint_column,
    make_table,
    mark_copies,
    split_rows,
    split_seed,
    to_sample,
    training_size,
)

MOST_PEOPLE = 20_000_000  # that the rows of a file may stand for
STATED: dict[str, number_writing.Notation] = {".": "point", ",": "comma"}
"""How numbers are written, by what a card says of decimals."""
MANY_LEVELS = 50  # levels; a column of more, all numbers, is a number


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

    def to_problems(self, misfit: Misfit) -> list[Problem]:
        """Return the problems of a misfit, at the line of its first cell or at the card's of the column."""
        recode = self.card.column(misfit.column).recode
        line_of: dict[str, str] = {}
        for file in self.files if misfit.cells else ():
            for line, value in zip(file.lines, file.frame[misfit.column], strict=True):
                cell = recode.get(value, value)
                if cell in misfit.cells:
                    line_of.setdefault(cell, f"{file.path}:{line}")
                if len(line_of) == len(misfit.cells):
                    return misfit.reported_at(" and ".join(line_of.values()))
        return misfit.reported_at(self.card.where("columns", misfit.column))


def read_card_files(card: Card, located: LocatedFiles, *, all_columns: bool = True) -> ReadFiles:
    """Return the files of a card one by one, and joined: the columns, recoded, of the rows that are kept.

    Parameters
    ----------
    all_columns : bool
        Whether to read the columns too that the card does not use.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    mentioned = {name for name, _ in card.mentions()}

    def is_wanted(name: str) -> bool:
        return all_columns or not card.header or name in mentioned or not card.drops(name)

    form: dict[str, Any] = {"header": card.header, "separator": card.separator, "comment": card.comment}
    if card.encoding is not None:
        form["encoding"] = card.encoding
    files = tuple(
        _name_columns(card, read_cells(path, card.format, **form, is_wanted=is_wanted))
        for path in located.paths
    )
    cells = _join_files(card, files)
    read = ReadFiles(card, files, cells, cells)
    try:
        kept = _recode_unknown(card, _select_kept_rows(card, _recode(card, cells)))
        return replace(read, frame=_repeat_by_count(card, _drop_copies(card, kept)))
    except Misfit as misfit:
        raise UserError(*read.to_problems(misfit)) from None


def _name_columns(card: Card, cells: TextCells) -> TextCells:
    """Return the cells with their columns named; every column that is used must have a name of its own."""
    path = cells.path
    frame = cells.frame
    names = cells.names
    if not card.header and card.format == "csv":
        names_in_order = [name for name in card.columns if name not in card.sources]
        if len(frame.columns) != len(names_in_order):
            problem = f"the file has {len(frame.columns)} columns, but the card names {len(names_in_order)}"
            fix = "without a header, the card must name every column in file order"
            raise user_error(problem, fix, str(path))
        frame = frame.set_axis(names_in_order, axis=1)
        names = tuple(names_in_order)
    repeated = frame.columns.duplicated()
    used_names = {name for name in frame.columns if not card.drops(name)}
    used_names |= set(chain(card.keep, card.keep_between, card.sources.values()))
    if "" in used_names:
        number = names.index("") + 1
        fix = "name it in the first line, or write other_columns: drop in the card"
        raise user_error(f"column {number} has no name", fix, f"{path}:1")
    for name in sorted(set(frame.columns[repeated]) & used_names):
        if has_different_cells(frame, name):  # COMPAS gives two columns twice, which say the same
            fix = "give every column a name of its own, or drop it in the card"
            raise user_error(f'two different columns are called "{name}"', fix, f"{path}:1")
    return _add_made_columns(card, replace(cells, frame=frame.loc[:, ~repeated], names=names))


def _add_made_columns(card: Card, cells: TextCells) -> TextCells:
    """Return the cells with the columns that the card makes of others, at the end."""
    frame = cells.frame
    declared = dict(cells.declared)
    for name, source in card.sources.items():
        if name in cells.names:
            problem = f'{cells.path.name} has a column "{name}" itself'
            where = card.where("columns", name)
            raise user_error(problem, "give the one that is made another name", where)
        if source in cells.frame.columns:  # otherwise `_join_files` says that it is missing
            frame = frame.assign(**{name: cells.frame[source]})
        if source in cells.declared:
            declared[name] = cells.declared[source]
    return replace(cells, frame=frame, declared=declared)


def _join_files(card: Card, files: Sequence[TextCells]) -> pd.DataFrame:
    """Return the files joined row by row; they must have every column that the card names."""
    first_file, *other_files = files
    for file in other_files:
        differing = set(file.names) ^ set(first_file.names)
        if differing:
            problem = (
                f'column "{min(differing)}" is in one of {first_file.path.name} and {file.path.name} only'
            )
            raise user_error(problem, "give files with the same columns", str(file.path))
    frame = first_file.frame
    if other_files:
        columns = {}
        for name in frame.columns:
            columns[name] = join_cells([file.frame[name] for file in files])
        frame = pd.DataFrame(columns)
    missing: dict[str, KeyPath] = {}
    for name, key_path in card.mentions():
        if name not in frame.columns and name not in card.sources:
            missing.setdefault(name, key_path)
    if missing:
        where = " and ".join(file.path.name for file in files)
        file_columns = list(first_file.names)
        fix = ""
        if len(file_columns) == 1:
            fix = "check `separator`: every row of the file is a single cell"
            separator = guess_separator(file_columns + list(frame[file_columns[0]][:100]))
            if separator != card.separator:
                fix += f"; separator: {format_value(separator)} would fit"
        problems = []
        for name, key_path in missing.items():
            problem = f'{where} has no column "{name}"'
            problems.append(Problem(problem, fix or suggest(name, file_columns), card.where(*key_path)))
        raise UserError(*problems)
    return frame


def _recode(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells recoded, and numbers as plain ones."""
    values_of = list_named_values(card)
    for name, values in chain(card.keep.items(), card.test_rows.items()):
        values_of[name] |= set(values)
    names = chain(card.columns, values_of, card.keep_between, filter(None, [card.counts]))
    for name in dict.fromkeys(names):
        if name not in frame.columns:
            continue
        entry = card.column(name)
        values_of[name] |= set(chain(entry.recode, entry.levels or ()))
        recode = _spelled_as_in_card(frame[name], values_of[name])
        recode = {cell: entry.recode.get(value, value) for cell, value in recode.items()} | entry.recode
        if recode:
            frame = frame.assign(**{name: relabel_cells(frame[name], partial(_recode_cell, recode))})
        if entry.is_number or name in card.keep_between or name == card.counts:
            frame = frame.assign(**{name: _with_plain_numbers(card, frame[name])})
    return frame


def _spelled_as_in_card(cells: Cells, values: set[str]) -> dict[str, str]:
    """Return the value that a card names by each cell that writes the same whole number, 1 as 1.0."""
    numbers = [value for value in values if value[-1:].isdigit()]
    present = set(cells.unique()) if numbers else set()
    by_cell = {
        number_writing.find_named_value(value, present): value for value in numbers if value not in present
    }
    return {cell: value for cell, value in by_cell.items() if cell != value}


def _recode_cell(recode: dict[str, str], cell: str) -> str:
    return recode.get(cell, cell)


def _with_plain_numbers(card: Card, cells: Cells) -> Cells:
    """Return the cells of a column of numbers with these as plain ones; refuse those that show no one way."""
    name = str(cells.name)
    values = [cell for cell in cells.unique() if cell not in card.missing]
    writing = number_writing.find_writing(values)
    if isinstance(writing, number_writing.NumberDoubt):
        if card.decimal and STATED[card.decimal] in writing.ways:
            return relabel_cells(cells, number_writing.NumberWriting(STATED[card.decimal]).to_plain)
        raise Misfit(name, f"has {writing}", _ways_out(name, writing), *writing.cells)
    if writing is None or writing == number_writing.PLAIN:
        if card.decimal == ",":
            _refuse_points(name, values)
        return cells
    return relabel_cells(cells, writing.to_plain)


def _ways_out(name: str, doubt: number_writing.NumberDoubt) -> str:
    """Return the lines to write in a card, by what numbers may mean."""
    ways = []
    for notation, meaning in doubt.ways.items():
        if notation == "either":
            by_comma = next(cell for cell in doubt.cells if "," in cell)
            way = format_recode(name, [by_comma], by_comma.replace(",", "."))
        else:
            way = f'write `decimal: "{"," if notation == "comma" else "."}"` in the card'
        ways.append(f"{meaning}: {way}")
    return "; ".join(ways) or "write all amounts in one currency"


def _refuse_points(name: str, values: Sequence[str]) -> None:
    """Refuse points in a column without commas, where a card says that these stand before decimals."""
    for cell in values:
        if "." in cell and is_number(cell):
            fix = 'write it with a comma, recode it, or leave `decimal: ","` out of the card'
            raise Misfit(name, f'has {format_value(cell)}, and the card says decimal: ","', fix, cell)


def _select_kept_rows(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the card keeps."""
    problems: list[Problem] = []
    for name, values in card.keep.items():
        problems += check_named_values(card, name, values, set(frame[name].unique()), ("keep", name))
    refuse(problems)
    for name, values in card.keep.items():
        frame = frame[frame[name].isin(values)]
    for name, between in card.keep_between.items():
        frame = frame[~frame[name].isin(set(number_writing.GAPS) | set(card.missing))]
        numbers = parse_numbers(name, frame[name], whole=False)
        low, high = (limit if limit is not None else np.nan for limit in (between.low, between.high))
        frame = frame[~((numbers < low) | (numbers > high))]  # nothing is below or above NaN
    return frame


def _recode_unknown(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with their unknown outcomes called so, or made the unfavourable one."""
    label = card.label
    if not label.unknown:
        return frame
    cells = frame[label.column]
    unknown = cells.isin(set(label.unknown) | {UNKNOWN})
    called = UNKNOWN
    if label.unknown_as == "unfavourable" and unknown.any():
        unfavourable = [cell for cell in cells[~unknown].unique() if cell != label.favourable]
        if len(unfavourable) != 1:
            problem = f'unknown_as: unfavourable needs one other value of "{label.column}", which has '
            fix = "recode the unfavourable values to one, or write another unknown_as"
            where = card.where("label", "unknown_as")
            raise user_error(problem + (" and ".join(map(format_value, unfavourable)) or "none"), fix, where)
        called = unfavourable[0]
    return frame.assign(**{label.column: replace_cells(cells, unknown, called)})


def _drop_copies(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows less the copies, in all columns that the card uses."""
    if card.copies == "keep" or frame.empty:
        return frame
    used_names = [name for name in frame.columns if not card.drops(name)]
    groups = frame.groupby(used_names, sort=False, observed=True, dropna=False).ngroup()
    return frame[~mark_copies(groups.to_numpy().astype(np.intp))]


def _repeat_by_count(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return each row as often as the card's column counts people, less that column."""
    if card.counts is None:
        return frame
    name = card.counts
    cells = frame[card.counts]
    for cell in cells.unique():
        is_whole = is_number(cell, whole=True)
        if not is_whole or float(cell) < 0:
            if is_whole:
                problem = f"counts {cell} people"
            else:
                problem = f'should hold whole numbers but has "{cell}"'
            raise Misfit(name, problem, "give whole numbers from 0", cell)
    people = parse_numbers(name, cells, whole=True)
    if people.sum() > MOST_PEOPLE:
        problem = f'column "{name}" counts {people.sum():,.0f} people, more than {MOST_PEOPLE:,}'
        raise user_error(problem, "give a file with fewer, or remove `counts`", card.where("counts"))
    rows = np.repeat(np.arange(len(frame)), people.astype(np.intp))
    return frame.drop(columns=card.counts).iloc[rows].reset_index(drop=True)


def _check_levels_and_label(card: Card, frame: pd.DataFrame) -> Iterator[Problem]:
    """Yield a problem per unlisted column of very many levels, and for rows without a label.

    A column that the card lists as nominal is left alone.
    """
    gaps = ["", *card.missing]
    for name in frame.columns:
        if (
            name in card.columns
            or name == card.label.column
            or (levels := frame[name].nunique()) <= MANY_LEVELS
        ):
            continue
        present = frame[name].unique()
        word = yaml_word(name)
        odd = [cell for cell in present if cell.lower() in number_writing.NO_VALUE and cell not in gaps]
        numbers = [cell for cell in present if cell not in odd and cell not in gaps]
        if (kind := find_kind(numbers)) != "nominal":
            odd_text = "".join(f" and {format_value(cell)}" for cell in odd)
            problem = f'column "{name}" has {len(numbers)} different numbers{odd_text}, '
            problem += "each of which would be a level"
            level = ""
            if len(present) > len(numbers):
                level = ", if_missing: level"
            fix = f"list it under `columns`: {word}: {{kind: {kind}, bins: {{quantiles: 5}}{level}}}"
            empty = [""] if "" in present and "" not in card.missing else []
            if empty or odd:
                fix += f", with missing: {format_value(empty + odd + list(card.missing))} in the card"
            yield Problem(problem, f"{fix}; or as nominal or drop", card.where("columns"))
        elif levels > len(frame) / 2:
            problem = f'column "{name}" has {levels} different values in {len(frame)} rows'
            fix = f"list it under `columns`: {word}: drop, or as nominal if it is meant so"
            yield Problem(problem, fix, card.where("columns"))
    label = frame[card.label.column]
    unlabelled = label[label.isin(gaps)]
    if len(unlabelled):
        problem = f'{len(unlabelled)} rows have no label in column "{card.label.column}"'
        listed = format_value(list(dict.fromkeys(chain(unlabelled, card.missing))))
        fix = (
            f"leave them out with missing: {listed} and missing_rows: drop, or give them a value with recode"
        )
        yield Problem(problem, fix, card.where("label", "column"))


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
            problem = f"the rows of {self.card.name} were drawn from a network, which has no other values"
            raise user_error(problem, "use to_pandas()")
        for path, digest in zip(self.files.paths, self.files.sha256.values(), strict=True):
            if not path.is_file() or file_sha256(path) != digest:
                raise user_error("the file has changed since it was read", "load the data again", str(path))
        frame = _select_used_cells(read_card_files(self.card, self.files, all_columns=False)).reset_index(
            drop=True
        )
        return pd.DataFrame({name: _to_raw(self.card, frame[name]) for name in frame.columns})

    def read_rows(self) -> pd.DataFrame:
        """Return the cells of the same rows, recoded, in all columns of the files."""
        if self.files is None:
            raise user_error(f"the rows of {self.card.name} are no file's", "give a card with data files")
        frame = read_card_files(self.card, self.files).frame
        return frame[find_complete_rows(self.card, frame)]

    def number_groups(self, column: str) -> Rows:
        """Return a number for each row by its value of a column of the file; without one it has its own.

        Raises
        ------
        UserError
            When the rows are no file's, or it has no such column, or one value alone.
        """
        rows = self.read_rows()
        if column not in rows:
            raise user_error(f'{self.card.name} has no column "{column}"', suggest(column, rows.columns))
        cells = rows[column].astype(object).to_numpy()
        gap = np.isin(cells.astype(str), ["", *self.card.missing])
        codes = pd.factorize(cells)[0].astype(np.intp)
        codes[gap] = codes.max(initial=0) + 1 + np.arange(gap.sum())
        numbers = np.unique(codes, return_inverse=True)[1].astype(np.intp)
        if numbers.max() == 0:
            raise user_error(f'column "{column}" has one value alone', "split by another column, or by none")
        return numbers

    def split(
        self,
        repeat: int = 0,
        *,
        train_fraction: float = 0.5,
        split_by: str | None = None,
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
        train_fraction, split_by, seed : float, str, int
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
        size = 0
        if 0 < train_fraction < 1:
            size = training_size(rows, train_fraction)
        if not 0 < size < rows:
            problem = f"a train_fraction of {train_fraction!r} of {rows} rows leaves nothing"
            raise ArgumentError(Problem(problem, "give one between 0 and 1"))
        roles = self.roles(self.card.attribute(attribute))
        drawn = split_seed(int(seed), name or self.card.name, int(repeat))
        together = self.number_groups(split_by) if split_by else None
        split_rows_of = split_rows(rows, size, np.random.default_rng(drawn), together)
        table = add_joint_column(self.table, roles.attribute, roles.of)
        if raw:
            frame = self.raw
        else:
            frame = table.to_frame(typed=True)
        if raw and roles.of:
            frame = frame.assign(**{roles.attribute: table.to_frame()[roles.attribute].astype(str)})
        frame.attrs[VALUES] = {} if raw else {c.name: list(c.values) for c in table.columns if c.values}
        train, test = (frame.iloc[rows_part].reset_index(drop=True) for rows_part in split_rows_of)
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
        frame = add_joint_column(self.table, name, self.card.protected[name].of or ()).to_pandas()
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
        roles = resolve_roles(self.card, attribute, self.table.columns, self._occurring, "data")
        if not roles.of:
            return roles
        present_levels = make_joint_column(self.table, attribute, roles.of)[0].levels
        deprived = tuple(level for level in roles.deprived if level in present_levels)
        favoured = tuple(level for level in roles.favoured if level in present_levels)
        if not (deprived and favoured):
            problem = f"nobody is {'favoured' if deprived else 'deprived'} by all of {', '.join(roles.of)}"
            raise user_error(problem, "give rows of both groups", self.card.where("protected", attribute))
        return replace(roles, deprived=deprived, favoured=favoured)

    def _occurring(self, column: str) -> set[str]:
        levels = self.table.column(column).levels
        return {levels[code] for code in np.unique(self.table[column])}


def load(
    card: Card, located: LocatedFiles, test: LocatedFiles | None = None, *, read: ReadFiles | None = None
) -> Dataset:
    """Return the files that were found for a card as a coded table.

    Test rows, of other files with the same columns, are coded as these are: by their levels and bins, and
    what stands for a missing cell comes from them. Of the same files they are the card's `test_rows`. What
    `read_card_files` has returned of the files need not be read again.

    Raises
    ------
    UserError
        When the files do not fit the card; the messages name file, line, column and value.
    """
    read = read or read_card_files(card, located, all_columns=False)
    frame = cells = _select_used_cells(read)
    if frame.empty:
        raise user_error("no rows are left", *_keys_that_drop_rows(card))
    problems = list(check_joint_names(card, list(frame.columns)))
    problems += _check_levels_and_label(card, frame)
    for doubt in find_doubtful_values(card, frame):
        problems += read.to_problems(doubt)
    # Test rows stand below the others, so that both have the same levels.
    tested = read
    if test is not None and not problems:
        if test != located:
            tested = read_card_files(card, test, all_columns=False)
        cells = _with_test_rows(frame, tested, same_files=test == located)
    columns = []
    for name in frame.columns:
        declared: list[str] = []
        for file in read.files:
            declared += file.declared.get(name, ())
        try:
            columns.append(_encode(card, cells[name], len(frame), declared))
        except Misfit as misfit:
            in_training = misfit.cell is None or (frame[name] == misfit.cell).any()
            if in_training:
                problems += read.to_problems(misfit)
            else:
                problems += tested.to_problems(misfit)
    refuse(problems)
    table = make_table(columns)
    if test is None:
        return Dataset(card, table, located.sha256, located)
    training, others = (table.take(rows) for rows in np.split(np.arange(len(cells)), [len(frame)]))
    return Dataset(card, training, located.sha256, located, others, test.sha256)


def _keys_that_drop_rows(card: Card) -> tuple[str, str]:
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


def _with_test_rows(frame: pd.DataFrame, read: ReadFiles, *, same_files: bool) -> pd.DataFrame:
    """Return rows and, below them, test rows of other files, or (`same_files`) of the same."""
    rows = read.frame
    paths = [file.path for file in read.files]
    for name in frame.columns:
        if name not in rows:
            problem = (
                f'{", ".join(path.name for path in paths)} has no column "{name}", which the data set has'
            )
            raise user_error(problem, suggest(name, map(str, rows.columns)), f"{paths[0]}:1")
    rows = rows[find_complete_rows(read.card, rows, tested=same_files)]
    if rows.empty:
        raise user_error("no test rows are left", _keys_that_drop_rows(read.card)[0], str(paths[0]))
    return pd.DataFrame({name: join_cells([frame[name], rows[name]]) for name in frame.columns})


def _parse_column(card: Card, cells: Cells) -> Floats:
    """Return the cells of a column as numbers, whole ones where the card says so."""
    name = str(cells.name)
    return parse_numbers(name, cells, whole=card.column(name).kind == "integer")


def _refuse_gaps(card: Card, cells: Cells) -> "pd.Series[bool]":
    """Return which cells of a column of numbers are missing, and a level; refuse others that are missing."""
    if (level := _name_gap_level(card, cells)) == UNKNOWN:
        return cells == level
    name = str(cells.name)
    column = card.column(name)
    gap = cells.isin(card.missing)
    if column.if_missing == "level":
        homeless = cells.isin(number_writing.GAPS) & ~gap
    else:
        homeless = cells.isin(number_writing.GAPS) | gap
    if not homeless.any():
        return gap
    cell = str(cells[homeless].iloc[0])
    kind = "numbers"
    if column.kind == "integer":
        kind = "whole numbers"
    ways = "if_missing: median"
    if column.is_cut:
        ways = "if_missing: level (or median)"
    fix = f"give column {name} {ways}, or leave its rows out with missing_rows: drop"
    if cell not in card.missing:
        fix = f"write missing: {format_value([*card.missing, cell])} in the card, and {fix}"
    raise Misfit(name, f'should hold {kind} but has "{cell}"', fix, cell)


def _name_gap_level(card: Card, cells: Cells) -> str:
    """Return the name of the level of a column's missing cells."""
    if cells.name == card.label.column and card.label.unknown:
        return UNKNOWN
    return MISSING


def _select_used_cells(read: ReadFiles) -> pd.DataFrame:
    """Return the cells of the rows and columns that are kept."""
    card = read.card
    frame = read.frame
    problems: list[Problem] = []
    for name, values in card.test_rows.items():
        problems += check_named_values(card, name, values, set(frame[name].unique()), ("test_rows", name))
    refuse(problems)
    # In the card's order where it lists all columns that are wanted, else in the file's.
    order = card.columns if card.other_columns == "drop" else frame.columns
    return frame.loc[find_complete_rows(card, frame), [name for name in order if not card.drops(name)]]


def _to_raw(card: Card, cells: Cells) -> "pd.Series":
    """Return the cells of a column as numbers or text; missing ones are missing."""
    column = card.column(str(cells.name))
    gap = cells.isin(card.missing)
    if not column.is_number:
        return cells.astype(object).mask(gap).infer_objects()
    if _name_gap_level(card, cells) == UNKNOWN:
        gap = cells == UNKNOWN
    numbers = np.full(len(cells), np.nan)
    numbers[~gap] = _parse_column(card, cells[~gap])
    is_whole = column.kind == "integer" and not gap.any()
    return pd.Series(numbers.astype(np.int64) if is_whole else numbers, name=cells.name)


def find_complete_rows(card: Card, frame: pd.DataFrame, *, tested: bool = False) -> NDArray[np.bool_]:
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


def compute_filling(card: Card, cells: Cells, how: Literal["median", "mode"]) -> str:
    """Return the cell that stands for the missing ones of a column, computed from all its other rows.

    Raises
    ------
    Misfit
        When no cell is left, or one is no number where the median is asked for.
    """
    name = str(cells.name)
    present = cells[~cells.isin(card.missing)]
    if present.empty:
        raise Misfit(name, "has no value in any row", "drop it")
    if how == "median":
        numbers = parse_numbers(name, present, whole=False)
        return str(present.iloc[np.argsort(numbers)[(len(present) - 1) // 2]])
    counts = present.value_counts()
    return sort_by_bytes(counts.index[counts == counts.iloc[0]])[0]


def _encode(card: Card, cells: Cells, n_training: int, declared: Sequence[str]) -> Coded:
    """Return a column and its codes; the first `n_training` rows decide its levels, all others are test rows.

    Parameters
    ----------
    declared : sequence of str
        The levels that the files name, if they do.
    """
    name = str(cells.name)
    entry = card.column(name)
    gap = cells.isin(card.missing)
    if entry.if_missing in ("median", "mode") and gap.any():
        cells = replace_cells(cells, gap, compute_filling(card, cells.iloc[:n_training], entry.if_missing))
    if entry.is_number:
        gap = _refuse_gaps(card, cells)
        if gap.iloc[:n_training].all():
            raise Misfit(name, "has no number in any row", "drop it")
        column, codes = _encode_numbers(card, cells[~gap], n_training - int(gap.iloc[:n_training].sum()))
        if gap.any():
            column, codes = add_missing_level(
                column, codes, gap.to_numpy(dtype=bool), _name_gap_level(card, cells)
            )
    else:
        if entry.if_missing == "level":
            texts = replace_cells(cells, gap, MISSING)
        else:
            texts = cells
        column, codes = encode_levels(
            name, texts, _list_declared_levels(card, name, declared, gap=bool(gap.any()))
        )
    if n_training < len(cells) and column.kind != "number":
        allowed: set[str] = set()
        if entry.levels:
            allowed = set(entry.levels) | {UNKNOWN}
        _refuse_new(column, codes, cells, n_training, allowed)
    declares = bool(declared) and not entry.levels and column.kind == "nominal"
    if declares:
        return drop_empty_levels(column, codes, n_training)
    return (column, codes)


def _list_declared_levels(
    card: Card, name: str, declared: Sequence[str], *, gap: bool
) -> tuple[str, ...] | None:
    """Return the levels of categories, if the card or the files name them; with a `gap` cells are missing."""
    entry = card.column(name)
    label = card.label
    levels = entry.levels or [entry.recode.get(level, level) for level in declared]
    if not levels:
        return None
    extra_levels = [MISSING] if entry.if_missing == "level" and gap else []
    if entry.if_missing == "level" and not entry.levels:
        gone = set(card.missing)
    else:
        gone = set()
    if name == label.column and label.unknown:
        gone = set(label.unknown) | {UNKNOWN}
        extra_levels = [UNKNOWN] if label.unknown_as == "level" else []
    remaining = [level for level in levels if level not in gone]
    return tuple(dict.fromkeys(remaining + extra_levels))


def _refuse_new(column: Column, codes: Codes, cells: Cells, n_training: int, fixed: Collection[str]) -> None:
    """Refuse a level that only test rows have, those after the first `n_training`, unless it is `fixed`."""
    is_known = np.isin(np.arange(len(column.levels)), codes[:n_training])
    is_known |= [level in fixed for level in column.levels]
    new = ~is_known[codes[n_training:]]
    if new.any():
        cell = str(cells.iloc[n_training + int(new.argmax())])
        problem = f'has "{cell}" in the test rows, and no other row has that level'
        listed = format_levels(
            [level for level, is_there in zip(column.levels, is_known, strict=True) if is_there]
        )
        fix = f"`recode` it in the card to one of: {listed}; or leave its rows out of the file"
        raise Misfit(column.name, problem, fix, cell)


def _encode_numbers(card: Card, cells: Cells, n_training: int) -> Coded:
    """Return the column of cells that are numbers, in the levels of the first `n_training` rows."""
    name = str(cells.name)
    numbers = _parse_column(card, cells)
    entry = card.column(name)
    if entry.bins is not None:
        is_whole = entry.kind == "integer"
        column, codes = bin_numbers(name, numbers, entry.bins, whole=is_whole, n_decisive=n_training)
        return drop_empty_levels(column, codes, n_training)
    if entry.cap is not None:
        column, codes = cap_numbers(name, numbers, entry.cap)
        return drop_empty_levels(column, codes, n_training)
    return keep_numbers(name, numbers)


def to_level_texts(card: Card, cells: pd.DataFrame, name: str) -> Cells:
    """Return the levels of a column of all rows, those left out too; a missing number is ``""``."""
    entry = card.column(name)
    if not entry.is_number:
        return cells[name]
    if name == card.label.column and card.label.unknown:
        unknown = {UNKNOWN}
    else:
        unknown = set()
    present = ~cells[name].isin({""} | set(card.missing) | unknown)
    if entry.bins is not None and entry.bins.edges is None:
        present &= find_complete_rows(card, cells)  # bins are made from these rows
    column, codes = _encode_numbers(card, cells[name][present], int(present.sum()))
    texts = np.full(len(cells), "", dtype=object)
    texts[present.to_numpy(dtype=bool)] = np.array(column.levels, dtype=object)[codes]
    return pd.Series(texts, index=cells.index, name=name)


def table_from_csv(path: str | Path) -> Table:
    """Return a CSV whose first line names the columns, as `load` would by a card that says no more.

    A missing value is a level like any other: the empty cell ``missing``, ``?`` and ``NA`` as they stand.
    Blanks around a cell are no part of it. The levels of a column are those that occur, ordered by their
    UTF-8 bytes; columns keep the order of the file.

    Parameters
    ----------
    path : str or Path
        Comma-separated UTF-8 text, with or without a byte order mark.

    Raises
    ------
    UserError
        No such file, not UTF-8, no rows, a row of another length than the header, a column name that is empty
        or comes twice, a column with more than 50 different numbers, or more than 32,768 levels.
    """
    frame = read_cells(Path(path)).frame
    where = f"{path}:1"
    for j, name in enumerate(frame.columns):
        if name == "":
            raise user_error(f"column {j + 1} has no name", "name every column in the first line", where)
        if name in frame.columns[:j]:
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
    for name in frame.columns:
        n_levels = frame[name].nunique()
        if (
            n_levels > MANY_LEVELS
            and find_kind(set(frame[name]).difference(number_writing.GAPS)) != "nominal"
        ):
            problem = f'column "{name}" has {n_levels} different numbers, each of which would be a level'
            card = shlex.quote(str(Path(path).with_suffix(".yaml")))
            init = f"`fairbench init {shlex.quote(str(path))}`"
            fix = f"let {init} write a card that cuts it, and learn from {card}"
            raise user_error(problem, fix, where)
    levels = {name: replace_cells(frame[name], frame[name] == "", MISSING) for name in frame.columns}
    try:
        return make_table([encode_levels(name, cells) for name, cells in levels.items()])
    except Misfit as misfit:
        raise UserError(*misfit.reported_at(str(path))) from None
