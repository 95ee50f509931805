"""Tables of level codes: the one shape in which rows travel through fairbench."""

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.base.errors import user_error

if TYPE_CHECKING:  # `fairbench list` and the audit need no pandas
    import pandas as pd

Codes = NDArray[np.int16]
Labels = NDArray[np.int8]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


ColumnKind = Literal["nominal", "bins", "number"]


VALUES = "fairbench values"
"""In the `attrs` of a frame: by column, the numbers that bins stand for, or all that the data have."""


@dataclass(frozen=True)
class Column:
    """A column: its name and its levels in declared order.

    Parameters
    ----------
    name : str
        Its name.
    levels : tuple of str
        What its codes mean.
    kind : {"nominal", "bins", "number"}
        ``bins``: ranges of a number, which networks and trees take as levels. ``number``: a number itself,
        every distinct value a level.
    values : tuple of float
        The number that each level stands for, rising: a bin's middle, or the number itself. Empty if nominal.
    """

    name: str
    levels: tuple[str, ...]
    kind: ColumnKind = "nominal"
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.values) != (0 if self.kind == "nominal" else len(self.levels)):
            raise ValueError(f'column "{self.name}": {len(self.values)} values, {len(self.levels)} levels')


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows as level codes.

    Parameters
    ----------
    columns : tuple of Column
        Column order is part of the data: structure learning breaks ties by it.
    codes : int16 array, shape (rows, columns)
        ``codes[i, j]`` is an index into ``columns[j].levels``; column-major, so that a column is contiguous.
    """

    columns: tuple[Column, ...]
    codes: Codes

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column called `name`; `KeyError` when there is none."""
        return self.columns[self.index(name)]

    @property
    def level_counts(self) -> tuple[int, ...]:
        """Number of declared levels of each column."""
        return tuple(len(column.levels) for column in self.columns)

    def index(self, name: str) -> int:
        """Return the position of the column called `name`; `KeyError` when there is none."""
        return {column: j for j, column in enumerate(self.names)}[name]

    def __getitem__(self, name: str) -> Codes:
        return self.codes[:, self.index(name)]

    def take(self, rows: Rows | NDArray[np.bool_]) -> "Table":
        """Return the given rows, in the order given; a row may be taken several times."""
        return Table(self.columns, np.asfortranarray(self.codes[rows]))

    def without(self, *names: str) -> "Table":
        """Return the table less the columns called `names`."""
        keep = [j for j, name in enumerate(self.names) if name not in names]
        return Table(tuple(self.columns[j] for j in keep), np.asfortranarray(self.codes[:, keep]))

    def to_frame(self, *, typed: bool = False) -> "pd.DataFrame":
        """Return the rows with their levels as text, one pandas categorical per column.

        A column has the categories that its data declare, whether or not the rows at hand have them all.

        Parameters
        ----------
        typed : bool
            Whether bins are ordered categories, and numbers floats.

        >>> hours = Column("hours", ("20", "40"), "number", (20.0, 40.0))
        >>> sex = Column("sex", ("f", "m"))
        >>> frame = Table((hours, sex), np.array([[1, 0], [0, 0]], dtype=np.int16)).to_frame(typed=True)
        >>> frame["hours"].tolist(), frame["sex"].tolist(), frame["sex"].cat.categories.tolist()
        ([40.0, 20.0], ['f', 'f'], ['f', 'm'])
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        for j, column in enumerate(self.columns):
            codes = self.codes[:, j]
            if typed and column.kind == "number":
                columns[column.name] = np.asarray(column.values, dtype=np.float64)[codes]
            else:
                if typed:
                    levels = pd.Index(column.levels, dtype=object)
                else:
                    levels = pd.Index(column.levels)
                ordered = typed and column.kind == "bins"
                columns[column.name] = pd.Categorical.from_codes(codes, levels, ordered=ordered)
        return pd.DataFrame(columns)

    to_pandas = to_frame  # as pandas, Polars and Arrow objects call it

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows, {len(self.columns)} columns: {', '.join(self.names)}>"


Coded = tuple[Column, Codes]
"""A column and the codes of its rows."""


def make_table(columns: Sequence[Coded]) -> Table:
    """Return the table of some columns and their codes."""
    declared = tuple(column for column, _ in columns)
    codes = [codes for _, codes in columns]
    return Table(declared, np.asfortranarray(np.column_stack(codes)))


@dataclass(frozen=True)
class Roles:
    """Which column is what.

    `deprived` and `favoured` are levels of the protected `attribute`; together they are all of its levels.
    `of` names the parts of a joint attribute, columns whose levels its own are made of: ``White-Male``.
    """

    label: str
    favourable: str
    attribute: str
    deprived: tuple[str, ...]
    favoured: tuple[str, ...]
    of: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Rows ready for a technique: features, outcome and group.

    Parameters
    ----------
    features : Table
        Every column but the label; the protected attribute is one of them.
    attribute : str
        Name of the protected attribute's column in `features`.
    y : int8 array, shape (rows,)
        1 for the favourable outcome, else 0.
    s : int8 array, shape (rows,)
        0 for the deprived group, 1 for the favoured one.
    weights : float64 array, shape (rows,), or None
        Row weights; None means one each.
    favourable_first : bool
        Whether the label declares its favourable value before the other one.
    outcomes : tuple of str
        The label's levels as the data write them.
    protected : tuple of str
        The columns of `features` that a classifier without protected columns does not see; by default the
        attribute alone.
    outputs : ModelOutputs or None
        What a model says of the rows that is fitted already; None where a technique is to fit one.
    """

    features: Table
    attribute: str
    y: Labels
    s: Labels
    weights: Floats | None = None
    favourable_first: bool = False
    outcomes: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    outputs: "ModelOutputs | None" = None

    def __post_init__(self) -> None:
        if not self.protected:
            object.__setattr__(self, "protected", (self.attribute,))

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        rates = ", ".join(
            f"{name} {self.y[self.s == s].mean() if (self.s == s).any() else np.nan:.3f}"
            for s, name in enumerate(("deprived", "favoured"))
        )
        weighted = ""
        if self.weights is not None:
            weighted = ", weighted"
        return (
            f"<Sample: {len(self)} rows, {len(self.features.columns)} features{weighted}; "
            f"favourable by {self.attribute}: {rates}>"
        )

    @property
    def row_weights(self) -> Floats:
        """The weight of each row: 1 where they have none."""
        if self.weights is None:
            return np.ones(len(self))
        return self.weights

    def visible(self, *, include_protected: bool) -> Table:
        """Return the features that a classifier sees."""
        if include_protected:
            return self.features
        return self.features.without(*self.protected)

    def take(self, rows: Rows) -> "Sample":
        """Return the given rows, in the order given; a row may be taken several times."""
        weights = None
        if self.weights is not None:
            weights = self.weights[rows]
        outputs = self.outputs
        if outputs is not None:
            outputs = outputs.take(rows)
        return replace(
            self,
            features=self.features.take(rows),
            y=self.y[rows],
            s=self.s[rows],
            weights=weights,
            outputs=outputs,
        )


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """What a fitted model says of rows.

    Parameters
    ----------
    decisions : int8 array, shape (rows,)
        1 for the favourable outcome, else 0.
    scores : float64 array, shape (rows,), or None
        Higher for the favourable outcome; None of a model without scores.
    """

    decisions: Labels
    scores: Floats | None

    def take(self, rows: Rows) -> "ModelOutputs":
        """Return those of the given rows, in the order given."""
        if self.scores is None:
            return ModelOutputs(self.decisions[rows], None)
        return ModelOutputs(self.decisions[rows], self.scores[rows])


def to_sample(table: Table, roles: Roles) -> Sample:
    """Return a table split into features, outcome and group.

    A joint attribute becomes one more column, the last, with the levels that `roles` names. It and its parts
    are then the protected columns.

    Raises
    ------
    ValueError
        When a row has a joint level that `roles` does not name.
    """
    if roles.of:
        joint = make_joint_column(table, roles.attribute, roles.of, roles.deprived + roles.favoured)
        table = add_columns(table, [joint])
    y = _is_any_of(table, roles.label, (roles.favourable,))
    s = _is_any_of(table, roles.attribute, roles.favoured)
    outcomes = table.column(roles.label).levels
    favourable_first = outcomes[0] == roles.favourable
    features = table.without(roles.label)
    return Sample(
        features,
        roles.attribute,
        y,
        s,
        favourable_first=favourable_first,
        outcomes=outcomes,
        protected=(roles.attribute, *roles.of),
    )


def move_to_other_group(sample: Sample, part_columns: Sequence[str] = ()) -> Sample | None:
    """Return the rows with everybody put into the other group; None where a group has no rows.

    The attribute, and the columns that a joint one is made of, take the commonest level of the other group,
    the first of equals. All else stays, proxies of the attribute too.

    Parameters
    ----------
    part_columns : sequence of str
        The columns that a joint attribute is made of.

    >>> rows = Table((Column("s", ("f", "m")), Column("x", ("0", "1"))), np.array([[0, 1], [1, 0]], np.int16))
    >>> marks = np.array([0, 1], np.int8)
    >>> twins = move_to_other_group(Sample(rows, "s", marks, marks))
    >>> twins.features.codes.tolist(), twins.s.tolist()
    ([[1, 1], [0, 0]], [1, 0])
    """
    table = sample.features
    codes = sample.features.codes.copy()
    columns = [table.index(name) for name in chain([sample.attribute], part_columns)]
    for group in (0, 1):
        other_rows = np.flatnonzero(sample.s != group)
        if not len(other_rows):
            return None
        levels = table.codes[other_rows, columns[0]]
        example = other_rows[np.argmax(levels == np.bincount(levels).argmax())]
        codes[np.ix_(sample.s == group, columns)] = table.codes[example, columns]
    return replace(sample, features=Table(table.columns, codes), s=(1 - sample.s).astype(np.int8))


def make_read_only(sample: Sample) -> Sample:
    """Return the same rows in arrays that cannot be written: all techniques of a repeat share them.

    >>> rows = Table((Column("s", ("f", "m")),), np.zeros((2, 1), dtype=np.int16))
    >>> marks = np.zeros(2, dtype=np.int8)
    >>> make_read_only(Sample(rows, "s", marks, marks)).y[0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    features = Table(sample.features.columns, lock_array(sample.features.codes))
    weights = None
    if sample.weights is not None:
        weights = lock_array(sample.weights)
    return replace(sample, features=features, y=lock_array(sample.y), s=lock_array(sample.s), weights=weights)


def lock_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same values over bytes, which nobody can make writable again.

    >>> lock_array(np.zeros(2)).flags.writeable = True
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, bytes):
        return array
    order: Literal["C", "F"] = "C" if array.flags.c_contiguous else "F"
    return np.ndarray(array.shape, array.dtype, array.tobytes(order), order=order)


def copy_shell(sample: Sample) -> Sample:
    """Return the same arrays in objects of their own: what somebody sets on these is set on no other's.

    Frozen dataclasses refuse `rows.y = …`, and not `object.__setattr__(rows, "y", …)`.

    >>> rows = Table((Column("s", ("f", "m")),), np.zeros((2, 1), dtype=np.int16))
    >>> sample = Sample(rows, "s", np.array([0, 1], np.int8), np.array([0, 1], np.int8))
    >>> shell = copy_shell(sample)
    >>> object.__setattr__(shell.features.columns[0], "levels", ("?", "?"))
    >>> sample.features.columns[0].levels, shell.y is sample.y
    (('f', 'm'), True)
    """
    columns = tuple(copy(column) for column in sample.features.columns)
    shell = copy(sample)
    object.__setattr__(shell, "features", Table(columns, sample.features.codes))
    return shell


@dataclass(frozen=True, eq=False)
class SharedArray:
    """An array that nobody can write, as a key of a cache: it is equal to itself alone."""

    array: NDArray[Any]

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedArray) and self.array is other.array


@dataclass(frozen=True)
class SharedRows:
    """Rows in arrays that nobody can write, as a key of a cache: equal to any other shell of these arrays."""

    columns: tuple[Column, ...]
    codes: SharedArray
    attribute: str
    y: SharedArray
    s: SharedArray
    weights: SharedArray | None
    favourable_first: bool
    protected: tuple[str, ...]

    def to_sample(self) -> Sample:
        """Return the rows."""
        features = Table(self.columns, self.codes.array)
        weights = None
        if self.weights is not None:
            weights = self.weights.array
        return Sample(
            features,
            self.attribute,
            self.y.array,
            self.s.array,
            weights,
            self.favourable_first,
            protected=self.protected,
        )


def shared_rows(sample: Sample) -> SharedRows | None:
    """Return rows that techniques share as a key; None where an array of theirs can be written."""
    weights = None
    arrays: list[NDArray[Any]] = [sample.features.codes, sample.y, sample.s]
    if sample.weights is not None:
        arrays.append(sample.weights)
        weights = SharedArray(sample.weights)
    if any(array.flags.writeable for array in arrays):
        return None
    return SharedRows(
        sample.features.columns,
        SharedArray(sample.features.codes),
        sample.attribute,
        SharedArray(sample.y),
        SharedArray(sample.s),
        weights,
        sample.favourable_first,
        sample.protected,
    )


def joint_levels(levels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return every combination of some columns' levels, the last column changing fastest.

    >>> joint_levels([("Black", "White"), ("Female", "Male")])
    ('Black-Female', 'Black-Male', 'White-Female', 'White-Male')
    """
    return tuple("-".join(combination) for combination in product(*levels))


def make_joint_column(
    table: Table, name: str, attributes: Sequence[str], levels: Collection[str] | None = None
) -> Coded:
    """Return the column of the joint levels of some columns.

    Parameters
    ----------
    attributes : sequence of str
        Names of the columns.
    levels : collection of str, optional
        The levels to declare; by default those that occur. Their order is that of `joint_levels`.

    Raises
    ------
    ValueError
        When a row has a level that is not among `levels`.

    >>> sex, race = Column("sex", ("f", "m")), Column("race", ("b", "w"))
    >>> rows = Table((sex, race), np.array([[1, 1], [0, 1], [1, 1]], dtype=np.int16))
    >>> column, codes = make_joint_column(rows, "race-sex", ("race", "sex"))
    >>> column.levels, codes.tolist()
    (('w-f', 'w-m'), [1, 0, 1])
    """
    attribute_levels = [table.column(attribute).levels for attribute in attributes]
    all_levels = joint_levels(attribute_levels)
    flat = np.ravel_multi_index(
        [table[attribute] for attribute in attributes], [len(attribute) for attribute in attribute_levels]
    )
    present = {all_levels[code] for code in np.unique(flat)}
    if levels is None:
        declared = present
    else:
        declared = set(levels)
    if present - declared:
        raise ValueError(f'"{min(present - declared)}" is no level of {name}')
    is_declared = np.array([level in declared for level in all_levels])
    codes: Codes = (np.cumsum(is_declared) - 1).astype(np.int16)[flat]
    return Column(name, tuple(level for level in all_levels if level in declared)), codes


def add_columns(table: Table, extra: Sequence[Coded]) -> Table:
    """Return a table with more columns at its end."""
    columns = tuple(column for column, _ in extra)
    codes = np.column_stack([codes for _, codes in extra])
    return Table(table.columns + columns, np.asfortranarray(np.hstack([table.codes, codes])))


def add_joint_column(table: Table, name: str, attributes: Sequence[str]) -> Table:
    """Return a table with the column of a joint attribute, made of `attributes`; without these as it is."""
    if attributes:
        return add_columns(table, [make_joint_column(table, name, attributes)])
    return table


def split_seed(seed: int, dataset: str, repeat: int) -> int:
    """Return the seed of a repeat's split: the same for every technique, classifier and attribute."""
    return derive_seed(seed, dataset, repeat, "split")


def training_size(rows: int, fraction: float) -> int:
    """Return how many of some rows are trained on, rounded down.

    >>> training_size(30, 2 / 3), training_size(31, 0.5)
    (20, 15)
    """
    return math.floor(fraction * rows + 1e-9)


def mark_copies(groups: Rows) -> NDArray[np.bool_]:
    """Return which rows are copies, given the number of each different one: all but one of equal rows.

    Where every different row comes twice, or a multiple of that, half of them are; of three times two thirds.

    >>> [mark_copies(np.array(groups)).astype(int).tolist() for groups in ([0, 1, 0], [0, 0, 1, 0, 1, 0])]
    [[0, 0, 1], [0, 0, 0, 1, 1, 1]]
    """
    times = np.bincount(groups)
    order = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups), dtype=np.intp)
    rank[order] = np.arange(len(groups)) - np.repeat(times.cumsum() - times, times)
    common = np.gcd.reduce(times)
    originals = times // common if common > 1 else np.ones_like(times)
    return np.asarray(rank >= originals[groups])


def split_rows(
    rows: int, size: int, rng: np.random.Generator, together: Rows | None = None
) -> tuple[Rows, Rows]:
    """Return the numbers of the rows to train on, `size` drawn at random, and of the others, ascending.

    With the number of a group for each row, those of a group stay `together`: groups are drawn as long as
    they fit in, one at least.

    >>> train, test = split_rows(6, 4, np.random.default_rng(1), np.array([0, 0, 1, 1, 2, 2]))
    >>> train.tolist(), test.tolist()
    ([0, 1, 2, 3], [4, 5])
    """
    if together is not None:
        groups = rng.permutation(together.max() + 1)
        sizes = np.bincount(together)[groups].cumsum()
        is_drawn = np.isin(together, groups[: max(1, np.searchsorted(sizes, size, "right"))])
        return np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
    shuffled = rng.permutation(rows)
    train, test = (np.sort(rows_part) for rows_part in np.split(shuffled, [size]))
    return train, test


def _is_any_of(table: Table, name: str, levels: Sequence[str]) -> Labels:
    column_levels = table.column(name).levels
    member = np.array([level in levels for level in column_levels], dtype=np.int8)
    return member[table[name]]


Representation = Literal["original", "numerical", "numerical-binary"]


def represent(sample: Sample, how: Representation, favoured: Mapping[str, Collection[str]]) -> Sample:
    """Return a sample with its features in another representation; outcome, groups and weights stay.

    ``original`` changes nothing. ``numerical`` makes of every level of a column one column, ``column_level``,
    that is 1 where a row has the level, else 0; numbers stay, and so do protected columns.
    ``numerical-binary`` also makes a number of each protected column: 1 for the favoured, else 0. Columns
    depend on the declared levels alone, so those of training and test rows are the same.

    Source: Friedler et al. (2019), section 3.1.

    Parameters
    ----------
    favoured : mapping
        For each protected attribute, joint ones too, its favoured levels.

    Raises
    ------
    KeyError
        When the sample's attribute is not in `favoured`.
    UserError
        When two columns would have the same name.

    >>> sex, job = Column("sex", ("f", "m")), Column("job", ("a", "b", "c"))
    >>> rows = make_table([(sex, np.array([0, 1], np.int16)), (job, np.array([2, 0], np.int16))])
    >>> sample = Sample(rows, "sex", np.array([0, 1], np.int8), np.array([0, 1], np.int8))
    >>> represent(sample, "numerical", {"sex": ("m",)}).features.names
    ('sex', 'job_a', 'job_b', 'job_c')
    >>> represent(sample, "numerical-binary", {"sex": ("m",)}).features.codes.tolist()
    [[0, 0, 0, 1], [1, 1, 0, 0]]
    """
    if how == "original":
        return sample
    if sample.attribute not in favoured:
        raise KeyError(sample.attribute)
    columns: list[Coded] = []
    for column in sample.features.columns:
        name = column.name
        codes = sample.features[column.name]
        if name in favoured and how == "numerical-binary":
            columns.append(_indicator(name, column, codes, favoured[name]))
        elif name in favoured or column.kind == "number":
            columns.append((column, codes))
        else:
            columns += [_indicator(f"{name}_{level}", column, codes, (level,)) for level in column.levels]
    names = [column.name for column, _ in columns]
    for i, name in enumerate(names):
        if name in names[:i]:
            problem = f'two columns of numbers would be called "{name}"'
            raise user_error(problem, "recode a level in the card, or rename a column")
    return replace(sample, features=make_table(columns))


def _indicator(name: str, column: Column, codes: Codes, levels: Collection[str]) -> Coded:
    """Return the column that is 1 where a row has one of some levels, else 0."""
    member = np.array([level in levels for level in column.levels], dtype=np.int16)
    return Column(name, ("0", "1"), "number", (0.0, 1.0)), member[codes]
