"""Read the rows of numbers: each group's values, lowest first, with their labels, weights and clusters.

The rows are scanned once, into a table of score, label, codes of groups and sums of weights. Rows that are
alike are one cell of it, so that grades, deciles and amounts in tens take little room. `MOST_CELLS` are held
in memory; where there are more, values are rounded to `BITS` significant bits, and that is said.

Rows that have nothing but a number and a group, and are hardly alike, need no such table: they are sorted as
whole numbers of 64 bits that hold both, which takes a sixth of the time that sorting their places does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.audit.scan.scan import (
    SUMS_OF_WEIGHTS,
    Scan,
    alike_rows,
    are_different_rows,
    coded_rows,
    group_finder,
    models_of,
    person_columns,
)
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS

MOST_CELLS = 10_000_000
MOST_WEIGHTED = 2_000_000  # weighted rows that stay apart, as splits of them need their own weights
BITS = 20  # significant ones of values that are rounded: six decimal digits


@dataclass(frozen=True, eq=False)
class NumberCells:
    """Rows that are alike, the lowest values first; arrays of shape (cells,).

    Parameters
    ----------
    value : array
        The outcome, or the prediction of it.
    truth : array or None
        What it should have been.
    group : int array
        Places among the groups of a slice.
    rows, weight, square, cube : arrays
        How many rows there are, and sums of their weights, squared and cubed; without weights all the same.
    persons : tuple of int arrays
        The cluster of each, by each column of clusters, and by both together.
    values_by_group : tuple of arrays
        The values of each group in order, where each cell is a row without a weight; empty where that is not
        known.
    """

    value: Floats
    truth: Floats | None
    group: Ints
    rows: Floats
    weight: Floats
    square: Floats
    cube: Floats
    persons: tuple[Ints, ...] = ()
    values_by_group: tuple[Floats, ...] = ()

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not self.rows

    def select_groups(self, stays: NDArray[np.bool_]) -> "NumberCells":
        """Return the cells of the groups that stay, which are counted anew."""
        if stays.all():
            return self
        inside = stays[self.group]
        rows = self.rows[inside]
        weight = square = cube = rows
        if self.is_weighted:
            weight, square, cube = (column[inside] for column in (self.weight, self.square, self.cube))
        return NumberCells(
            self.value[inside],
            None if self.truth is None else self.truth[inside],
            (np.cumsum(stays) - 1)[self.group[inside]],
            rows,
            weight,
            square,
            cube,
            tuple(person[inside] for person in self.persons),
            tuple(values for values, is_kept in zip(self.values_by_group, stays, strict=False) if is_kept),
        )


@dataclass(frozen=True, eq=False)
class SliceNumbers:
    """The rows of a slice as cells.

    Parameters
    ----------
    part : Slice
        Its groups; of several decisions under the first.
    cells : NumberCells
    rounded : bool
        Whether values are rounded, as there are too many.
    """

    part: Slice
    cells: NumberCells
    rounded: bool


@dataclass(frozen=True, eq=False)
class PairedNumbers:
    """The rows of an attribute under two columns of scores, cell by cell; in order of the second."""

    before: SliceNumbers
    after: SliceNumbers


def read_numbers(scan: Scan) -> Iterator[SliceNumbers]:
    """Yield the rows of each slice of a scan, those of a model or column of scores together."""
    names = _attribute_names(scan)
    if _are_plain_rows(scan, names):
        yield from _read_plain_rows(scan, names)
        return
    rounded = _make_table(scan, names)
    models = models_of(scan)
    for i, (model, model_slices) in enumerate(_slices_by_model(scan).items()):
        side = 0
        code = 0
        if len(scan.roles.scores) > 1:  # what a slice is called by is the column of scores
            side = i
        else:
            code = models.index(model)
        columns = _read_columns(scan, code, side)
        for group_counts in model_slices:
            yield SliceNumbers(group_counts, _select_cells(scan, names, columns, side, group_counts), rounded)
    scan.source.execute("DROP TABLE numbers")


def read_pairs(scan: Scan) -> Iterator[PairedNumbers]:
    """Yield the rows of each attribute under the first column of scores and under each of the others."""
    names = _attribute_names(scan)
    rounded = _make_table(scan, names)
    baseline_slices, *compared_slices = _slices_by_model(scan).values()
    for side, slices in enumerate(compared_slices, start=1):
        columns = _read_columns(scan, 0, side)
        for before, after in zip(baseline_slices, slices, strict=True):
            cells_before = _select_cells(scan, names, columns, 0, before)
            cells_after = _select_cells(scan, names, columns, side, after)
            yield PairedNumbers(
                SliceNumbers(before, cells_before, rounded), SliceNumbers(after, cells_after, rounded)
            )
    scan.source.execute("DROP TABLE numbers")


def _are_plain_rows(scan: Scan, names: Sequence[str]) -> bool:
    """Return whether rows have a number and groups and nothing more, and are few enough and hardly alike."""
    roles = scan.roles
    has_more = scan.weighted or roles.truth is not None or roles.clusters or roles.model is not None
    if has_more or len(roles.scores) > 1 or scan.tally.rows > MOST_CELLS:
        return False
    return are_different_rows(scan, names, [])


def _read_plain_rows(scan: Scan, names: Sequence[str]) -> Iterator[SliceNumbers]:
    """Yield the rows of each slice, where they have a number and groups and nothing more."""
    codes = [f"of_{i}" for i in range(len(names))]
    rows = coded_rows(scan, scan.keys(names), names, ["score_0 AS score"])
    fetched = scan.source.execute(f"SELECT score, {', '.join(codes)} FROM ({rows})").fetchnumpy()
    columns = {name: np.asarray(values) for name, values in fetched.items()}
    value = columns.pop("score")
    del fetched
    slices = list(chain.from_iterable(_slices_by_model(scan).values()))
    for group_counts in slices:
        group = _find_groups(scan, names, columns, group_counts, np.int16)
        if group_counts is not slices[-1]:
            cells = _sort_rows(value.copy(), group, len(group_counts.counts.groups))
        else:
            columns.clear()
            cells = _sort_rows(value, group, len(group_counts.counts.groups))
        yield SliceNumbers(group_counts, cells, rounded=False)


def _sort_rows(value: Floats, group: Ints, n_groups: int) -> NumberCells:
    """Return the cells of rows, each of which is one; `value` is sorted itself."""
    group_in_order = _groups_in_order(value, group, n_groups)
    values_by_group = []
    for g in range(n_groups):
        values = value[group == g]
        values.sort()
        values_by_group.append(values)
    for g, values in enumerate(values_by_group):
        value[group_in_order == g] = values
    if (value[1:] < value[:-1]).any():  # two values of two groups differ in those bits alone
        value = np.concatenate(values_by_group)
        sizes = [len(values) for values in values_by_group]
        order = np.argsort(value)
        value = value[order]
        group_in_order = np.repeat(np.arange(n_groups), sizes)[order]
    rows = np.broadcast_to(np.ones(1), value.shape)  # takes no room
    return NumberCells(
        value, None, group_in_order, rows, rows, rows, rows, values_by_group=tuple(values_by_group)
    )


def _groups_in_order(value: Floats, group: Ints, n_groups: int) -> Ints:
    """Return the groups of rows in the order of their values without the last bits, which hold the group."""
    n_bits = (n_groups - 1).bit_length()
    smallest = np.min_scalar_type(-n_groups)
    keys = np.array(value).view(np.int64)
    if value.min(initial=0.0) < 0:  # the bits of numbers below 0 rise as these fall
        keys ^= (keys >> 63) & np.int64(2**63 - 1)
    keys &= np.int64(-(1 << n_bits))
    keys |= group
    keys.sort()
    groups = np.empty(len(keys), dtype=smallest)
    np.bitwise_and(keys, (1 << n_bits) - 1, out=groups, casting="unsafe")
    return groups


def _slices_by_model(scan: Scan) -> dict[str, list[Slice]]:
    """Return the slices of each model, or column of scores; of several decisions under the first."""
    slices: dict[tuple[str, str], Slice] = {}
    for group_counts in scan.tally.slices:
        slices.setdefault((group_counts.model, group_counts.attribute), group_counts)
    return group_by(slices.values(), lambda part: part.model)


def _attribute_names(scan: Scan) -> list[str]:
    """Return the attributes that are audited, or are a part of what is."""
    return list(dict.fromkeys(chain.from_iterable(scan.roles.audited)))


def score_names(scan: Scan) -> list[str]:
    """Return the names of the columns of scores in the table."""
    return ["score", *(f"score_{side}" for side in range(1, len(scan.roles.scores)))]


def _make_table(scan: Scan, names: Sequence[str]) -> bool:
    """Make the table ``numbers``; return whether values are rounded in it."""
    labels: list[str] = []
    more_keys: list[str] = []
    if scan.roles.truth is not None:
        labels.append("truth")
        more_keys.append(f"number_{scan.roles.truth} AS truth")
    labels += score_names(scan)[1:]
    powers = len(SUMS_OF_WEIGHTS)
    where = "weight > 0" if scan.weighted else ""  # a row of weight 0 says nothing, and is no row
    is_apart = scan.weighted and scan.tally.rows <= MOST_WEIGHTED
    sql = alike_rows(
        scan,
        names,
        labels,
        labels,
        powers=powers,
        more_keys=more_keys,
        where=where,
        is_apart=is_apart,
    )
    scan.source.execute(f"CREATE OR REPLACE TEMP TABLE numbers AS {sql}")
    (n_cells,) = scan.source.row("SELECT count(*) FROM numbers")
    if n_cells <= MOST_CELLS:
        return False
    # Dekker's splitting, as for ranges of scores: what is kept are `BITS` bits of each value.
    factor = f"{2 ** (53 - BITS) + 1}::DOUBLE"
    splits = (f"({name} * {factor} - ({name} * {factor} - {name})) AS {name}" for name in ["score", *labels])
    sums = ["n", *SUMS_OF_WEIGHTS] if scan.weighted else ["n"]
    summed = ", ".join(f"sum({name}) AS {name}" for name in sums)
    rows = f"SELECT * REPLACE ({', '.join(splits)}) FROM numbers"
    rounded = f"SELECT * EXCLUDE ({', '.join(sums)}), {summed} FROM ({rows}) GROUP BY ALL"
    scan.source.execute(f"CREATE OR REPLACE TEMP TABLE numbers AS {rounded}")
    return True


def _read_columns(scan: Scan, model: int, side: int) -> dict[str, NDArray[Any]]:
    """Return the columns of the table for one model, the lowest values of one column of scores first."""
    query = f"SELECT * EXCLUDE (model) FROM numbers WHERE model = {model}"
    columns = scan.source.execute(query).fetchnumpy()
    # Not a stable order, which takes five times as long: equal values are alike wherever they stand.
    order = np.argsort(np.asarray(columns[score_names(scan)[side]]))
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        arrays[name] = np.asarray(values)
        if name != "n" or (arrays[name] != 1).any():
            arrays[name] = arrays[name][order]
    return arrays


def _select_cells(
    scan: Scan, names: Sequence[str], columns: dict[str, NDArray[Any]], side: int, group_counts: Slice
) -> NumberCells:
    """Return the rows of the groups of a slice."""
    rows = columns["n"]
    weight, square, cube = (columns.get(name, rows) for name in SUMS_OF_WEIGHTS)
    persons = tuple(columns[person].astype(np.int64) for person in person_columns(scan))
    value = columns[score_names(scan)[side]]
    group = _find_groups(scan, names, columns, group_counts)
    return NumberCells(value, columns.get("truth"), group, rows, weight, square, cube, persons)


def _find_groups(
    scan: Scan,
    names: Sequence[str],
    columns: dict[str, NDArray[Any]],
    group_counts: Slice,
    kind: type[np.signedinteger[Any]] = np.int64,
) -> Ints:
    """Return the group of each row among those of a slice."""
    attributes = (
        group_counts.attribute.split(CROSS) if group_counts.intersection else [group_counts.attribute]
    )
    codes = [np.asarray(columns[f"of_{names.index(name)}"]) for name in attributes]
    if len(scan.roles.scores) > 1:  # a slice is called by its column of scores, and its rows have no model
        group_counts = replace(group_counts, model="")
    return group_finder(scan, group_counts, attributes, kind)(codes)
