"""Text cells to levels and codes: categories, equal-width bins, capped counts, numbers."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import Problem, UserError
from fairbench_cli.data.column_card import BinsCard
from fairbench_cli.data.number_writing import find_obstacle
from fairbench_cli.data.table import Coded, Codes, Column, Floats

if TYPE_CHECKING:  # workers that repair columns do not need it
    import pandas as pd

Cells: TypeAlias = "pd.Series[Any]"
"""Text cells, as categories or objects."""

MOST_LEVELS = int(np.iinfo(np.int16).max) + 1

_WHOLE = re.compile(r"[-+]?[0-9]+(\.0*)?")
_REAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class Misfit(UserError):  # noqa: N818 - the mistake is the card's or the file's
    """A column that does not fit what is said about it; `reported_at` says it of the file and line.

    Parameters
    ----------
    column : str
        Its name.
    problem, fix : str
        What is wrong with it, and what to do.
    cell : str or None
        The cell that shows it.
    *more_cells : str
        Those that show it together with this one.
    """

    def __init__(
        self, column: str, problem: str, fix: str, cell: str | None = None, *more_cells: str
    ) -> None:
        super().__init__(Problem(f'column "{column}" {problem}', fix))
        self.column = column
        self.cell = cell
        self.cells = () if cell is None else (cell, *more_cells)


def sort_by_bytes(cells: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct values sorted by their UTF-8 bytes, as R sorts in the C locale.

    >>> sort_by_bytes(["b", "é", "Z", "b", "10", "9"])
    ('10', '9', 'Z', 'b', 'é')
    """
    return tuple(sorted(set(cells), key=str.encode))


def encode_levels(name: str, cells: Cells, levels: tuple[str, ...] | None = None) -> Coded:
    """Return cells as codes of the given levels, or of those that occur, by byte value.

    Raises
    ------
    Misfit
        A cell that is no level, or too many levels.

    >>> import pandas as pd
    >>> column, codes = encode_levels("sex", pd.Series(["m", "f", "m"]))
    >>> column.levels, codes.tolist()
    (('f', 'm'), [1, 0, 1])
    """
    first_seen, distinct = _factorise_cells(cells)
    if levels is None:
        levels = sort_by_bytes(distinct)
    if len(levels) > MOST_LEVELS:
        problem = f"has {len(levels)} levels, more than {MOST_LEVELS}"
        raise Misfit(name, problem, "drop it (an identifier?) or cut its values into bins")
    code = {level: k for k, level in enumerate(levels)}
    for value in distinct:
        if value not in code:
            fix = f"add it to `levels`, or `recode` it to one of: {format_levels(levels)}"
            raise Misfit(name, f'has "{value}", which is not one of its levels', fix, str(value))
    codes: Codes = np.array([code[value] for value in distinct], dtype=np.int16)[first_seen]
    return Column(name, levels), codes


def format_levels(levels: Sequence[str]) -> str:
    """Return levels for a message, ten at most."""
    return ", ".join(levels[:10]) + (", …" if len(levels) > 10 else "")


def to_categories(texts: Sequence[str] | NDArray[Any]) -> Cells:
    r"""Return texts as categories, in the order in which they occur; where most come once, as objects.

    >>> to_categories(["b", "a", "b", "b"]).cat.categories.tolist(), to_categories(["b", "a", "b"]).dtype
    (['b', 'a'], dtype('O'))
    """
    import pandas as pd

    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    codes, distinct = _factorise(array)
    if len(distinct) > len(array) / 2 or "\0" in "".join(distinct):  # pandas' categories end at a NUL
        return pd.Series(array, dtype=object)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(distinct, dtype=object)))


def _factorise(texts: NDArray[Any]) -> tuple[NDArray[np.intp], list[str]]:
    r"""Return the number of each text and the texts, in the order in which they occur.

    >>> _factorise(np.array(["b", "a", "b", "b\0"], dtype=object))
    (array([0, 1, 0, 2]), ['b', 'a', 'b\x00'])
    """
    import pandas as pd

    if "\0" not in "".join(texts):
        codes, distinct = pd.factorize(texts)
        return codes, list(distinct)
    order: dict[str, int] = {}  # pandas before 3.1 compares texts up to a NUL character
    return np.array([order.setdefault(text, len(order)) for text in texts], dtype=np.intp), list(order)


def relabel_cells(cells: Cells, text: Callable[[str], str]) -> Cells:
    """Return the texts that a function makes of cells; it is asked once a category.

    >>> relabel_cells(to_categories(["b", "a", "B", "a", "b", "b"]), str.lower).cat.categories.tolist()
    ['b', 'a']
    """
    import pandas as pd

    if cells.dtype == object:
        return pd.Series(list(map(text, cells)), cells.index, dtype=object, name=cells.name)
    before = list(cells.cat.categories)
    after = [text(cell) for cell in before]
    if after == before:
        return cells
    codes, distinct = _factorise(np.array(after, dtype=object))
    codes = codes[cells.cat.codes.to_numpy()]
    index = pd.Index(distinct, dtype=object)
    if "\0" in "".join(distinct):
        return pd.Series(index.to_numpy()[codes], cells.index, dtype=object, name=cells.name)
    return pd.Series(pd.Categorical.from_codes(codes, index), cells.index, name=cells.name)


def replace_cells(cells: Cells, where: "pd.Series[bool]", text: str) -> Cells:
    """Return cells with another text where a mask says so.

    >>> import pandas as pd
    >>> replace_cells(to_categories(["b", "a"]), pd.Series([True, False]), "c").tolist()
    ['c', 'a']
    """
    if cells.dtype != object and text not in cells.cat.categories:
        cells = cells.cat.add_categories([text])
    return cells.mask(where, text)


def join_cells(columns: Sequence[Cells]) -> Cells:
    """Return the cells of several files, one file below the other.

    >>> two = join_cells([to_categories(["b", "b"]), to_categories(["a", "a"])])
    >>> join_cells([two, to_categories(["a", "a"])]).cat.categories.tolist()
    ['b', 'a']
    """
    import pandas as pd

    if any(column.dtype == object for column in columns):
        return pd.concat([column.astype(object) for column in columns], ignore_index=True)
    # pandas makes strings of categories here and there, which it does not join with objects.
    alike = [
        column.cat.set_categories(pd.Index(column.cat.categories, dtype=object)).array for column in columns
    ]
    return pd.Series(pd.api.types.union_categoricals(alike))


def _factorise_cells(cells: Cells) -> tuple[NDArray[np.intp], Sequence[str]]:
    """Return `_factorise` of a column's cells, be they categories or objects.

    >>> codes, distinct = _factorise_cells(to_categories(["c", "b", "a", "b", "b", "b"])[1:4])
    >>> codes.tolist(), list(distinct)
    ([0, 1, 0], ['b', 'a'])
    """
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        codes, present = pd.factorize(cells.cat.codes.to_numpy())
        return codes, [str(text) for text in cells.cat.categories[present]]
    return _factorise(cells.to_numpy(dtype=object))


def drop_empty_levels(column: Column, codes: Codes, n_decisive: int | None = None) -> Coded:
    """Return a column less the levels without a row: bins that nobody is in, what an ARFF file only declares.

    An empty level would only weigh on a network's score, whose penalty counts levels. With `n_decisive` that
    many rows, the first, decide; the others are then at the nearest level that is left, of two the lower.

    >>> rows = np.array([3, 0, 3, 1, 2], dtype=np.int16)
    >>> column, codes = drop_empty_levels(Column("x", ("a", "b", "c", "d")), rows, 3)
    >>> column.levels, codes.tolist()
    (('a', 'd'), [1, 0, 1, 0, 1])
    """
    present = np.unique(codes[:n_decisive])
    levels = tuple(column.levels[code] for code in present)
    values = tuple(column.values[code] for code in present) if column.values else ()
    midway = (present[:-1].astype(np.intp) + present[1:]) / 2
    nearest = np.searchsorted(midway, np.arange(len(column.levels))).astype(np.int16)
    return Column(column.name, levels, column.kind, values), nearest[codes]


def parse_numbers(name: str, cells: Cells, *, whole: bool) -> Floats:
    """Return cells as numbers; whole ones may end in ``.0``.

    Raises
    ------
    Misfit
        A cell that is no (whole) number.

    >>> import pandas as pd
    >>> parse_numbers("age", pd.Series(["17", "90.0"]), whole=True).tolist()
    [17.0, 90.0]
    """
    pattern, kind = (_WHOLE, "whole numbers") if whole else (_REAL, "numbers")
    seen, distinct = (slice(None), cells.tolist()) if cells.dtype == object else _factorise_cells(cells)
    if all(map(pattern.fullmatch, distinct)):
        numbers = np.fromiter(map(float, distinct), np.float64, len(distinct))
        if np.isfinite(numbers).all():
            return numbers[seen]
    cell = next(text for text in distinct if not pattern.fullmatch(text) or not math.isfinite(float(text)))
    raise Misfit(name, f'should hold {kind} but has "{cell}"', _fix_for_text(cell), str(cell))


def is_number(cell: str, *, whole: bool = False) -> bool:
    """Return whether a cell is a number, or a whole one.

    >>> is_number("-1.5e3"), is_number("1.5", whole=True), is_number("nan")
    (True, False, False)
    """
    match = (_WHOLE if whole else _REAL).fullmatch(cell)
    return match is not None and math.isfinite(float(cell))


def find_kind(cells: Iterable[str]) -> Literal["nominal", "integer", "real"]:
    """Return the kind of column that cells make: (whole) numbers, or categories, as no cells do.

    >>> find_kind(["1", "2.0"]), find_kind(["1", "2.5"]), find_kind(["1", "-"])
    ('integer', 'real', 'nominal')
    """
    distinct = set(cells)
    if not distinct or not all(map(is_number, distinct)):
        return "nominal"
    if all(is_number(cell, whole=True) for cell in distinct):
        return "integer"
    return "real"


def _fix_for_text(cell: str) -> str:
    """Return the fix for a cell that should be a (whole) number and is not."""
    if is_number(cell):
        return "write `kind: real`: it has decimals"
    if obstacle := find_obstacle(cell):
        return f"{obstacle[1]}: {obstacle[0]}"
    return "`recode` it to a number; if it means a missing value, list it under `missing`; or write nominal"


MISSING = "missing"  # the level of missing cells


def add_missing_level(column: Column, codes: Codes, gap: NDArray[np.bool_], called: str = MISSING) -> Coded:
    """Return a column with one more level, "missing", in the rows of a gap; it is then nominal.

    Parameters
    ----------
    codes : int16 array, shape (rows without a gap,)
        Codes of the other rows.
    gap : bool array, shape (rows,)
        Where the value is missing.

    >>> column, codes = add_missing_level(Column("x", ("a",)), np.zeros(1, np.int16), np.array([True, False]))
    >>> column.levels, codes.tolist()
    (('a', 'missing'), [1, 0])
    """
    all_codes = np.full(len(gap), len(column.levels), dtype=np.int16)
    all_codes[~gap] = codes
    return Column(column.name, column.levels + (called,)), all_codes


def bin_numbers(
    name: str, numbers: Floats, bins: BinsCard, *, whole: bool, n_decisive: int | None = None
) -> Coded:
    """Return numbers cut into bins.

    Whole numbers get labels such as ``25-31``, others such as ``(24.3, 31.6]``; the end bins of given edges
    are called ``<=25`` and ``>60`` (closed on the left: ``<25`` and ``>=60``), whatever the data are; a card
    may name the bins of given edges, and say that they are categories. The edges of quantiles are numbers of
    the data, and numbers that come often make for fewer bins. With `n_decisive` the bins are those of that
    many numbers, the first, and the end bins take what is beyond.

    Raises
    ------
    Misfit
        When there is nothing to cut, or bins are so narrow that some hold no number.

    >>> ages = np.array([17.0, 24, 25, 90])
    >>> column, codes = bin_numbers("age", ages, BinsCard(count=10, low=17, high=90), whole=True)
    >>> [column.levels[code] for code in codes]
    ['17-24', '17-24', '25-31', '83-90']
    >>> bin_numbers("age", ages, BinsCard(quantiles=2), whole=True)[0].levels
    ('17-24', '25-90')
    >>> bin_numbers("age", ages, BinsCard(edges=(25, 60), closed="left"), whole=True)[0].levels
    ('<25', '25-59', '>=60')
    """
    decisive = numbers[:n_decisive]
    if bins.edges is not None:
        labels = _edge_labels(np.array(bins.edges), whole=whole, closed_left=bins.closed == "left")
        ends = min(bins.edges[0], decisive.min()), max(bins.edges[-1], decisive.max())
        edges = np.concatenate([ends[:1], bins.edges, ends[1:]])
        problem = "has edges with no number between them"
        fix = "use fewer edges"
    else:
        if bins.low is None:
            low = float(decisive.min())
        else:
            low = bins.low
        if bins.high is None:
            high = float(decisive.max())
        else:
            high = bins.high
        if low >= high:
            problem = f"cannot be cut into bins: from {low:g} to {high:g} there is no room"
            raise Misfit(name, problem, "drop it, make it nominal, or correct `low` and `high`")
        if bins.quantiles is not None:
            edges = _quantile_edges(decisive, bins.quantiles)
        else:
            edges = np.linspace(low, high, (bins.count or 0) + 1)
        firsts = np.concatenate([np.ceil(edges[:1]), np.floor(edges[1:]) + 1])
        if whole:
            labels = _whole_labels(firsts, short=bins.quantiles is not None)
        else:
            labels = _real_labels(edges)
        problem = f"is cut too finely: {len(edges) - 1} bins from {low:g} to {high:g} are too narrow"
        fix = "use fewer bins"
    if labels is None or len(set(labels)) < len(labels):
        raise Misfit(name, problem, fix)
    side: Literal["left", "right"] = "right" if bins.closed == "left" else "left"
    codes: Codes = np.searchsorted(edges[1:-1], numbers, side).astype(np.int16)
    levels = bins.levels or tuple(labels)
    if not bins.ordered:
        return Column(name, levels), codes
    middles = tuple(((edges[:-1] + edges[1:]) / 2).tolist())
    return Column(name, levels, "bins", middles), codes


def _quantile_edges(numbers: Floats, count: int) -> Floats:
    """Return the edges of quantiles, among the numbers themselves, each once.

    Where the highest number fills more than a quantile, it has a bin of its own.
    """
    ordered = np.sort(numbers)
    positions = [
        -(-k * len(ordered) // count) - 1 for k in range(1, count)
    ]  # the least of k/count of the rows
    below = ordered[ordered < ordered[-1]][-1]
    inner = np.minimum(ordered[np.maximum(positions, 0)], below)
    edges: Floats = np.unique(np.concatenate([ordered[:1], inner, ordered[-1:]]))
    if inner[0] == ordered[0]:  # the lowest number fills a quantile: its bin is that number alone
        edges = np.concatenate([edges[:1], edges])
    return edges


def _edge_labels(inner: Floats, *, whole: bool, closed_left: bool) -> list[str] | None:
    """Return the labels of the bins that given edges make; None where no whole number is between two."""
    first_edge = format_edge(inner[0])
    last_edge = format_edge(inner[-1])
    if whole:
        between = _whole_labels(np.ceil(inner) if closed_left else np.floor(inner) + 1, short=True)
    else:
        pairs = (f"{format_edge(a)}, {format_edge(b)}" for a, b in pairwise(inner))
        between = [f"[{pair})" if closed_left else f"({pair}]" for pair in pairs]
    ends = (f"<={first_edge}", f">{last_edge}")
    if closed_left:
        ends = (f"<{first_edge}", f">={last_edge}")
    if between is None:
        return None
    return [ends[0], *between, ends[1]]


def format_edge(edge: float) -> str:
    """Return an edge as text, without a needless ``.0``."""
    if float(edge).is_integer() and abs(edge) < 1e15:
        return str(int(edge))
    return repr(float(edge))


def cap_numbers(name: str, numbers: Floats, cap: int) -> Coded:
    """Return whole numbers as levels, with everything from `cap` on in one.

    Raises
    ------
    Misfit
        For a number below 0.

    >>> column, codes = cap_numbers("priors", np.array([0.0, 2, 7]), 3)
    >>> column.levels, codes.tolist()
    (('0', '1', '2', '3+'), [0, 2, 3])
    """
    if numbers.min() < 0:
        problem = f"has {numbers.min():g}, but cap needs numbers from 0 on"
        raise Misfit(name, problem, "in place of cap write bins: {quantiles: 5}")
    levels = (*map(str, range(cap)), f"{cap}+")
    values = tuple(map(float, range(cap + 1)))
    return Column(name, levels, "bins", values), np.minimum(numbers, cap).astype(np.int16)


def keep_numbers(name: str, numbers: Floats) -> Coded:
    """Return numbers as they are, every distinct one a level.

    Of more than `MOST_LEVELS` distinct numbers neighbours become one level, with the middle one of them as
    its number: each level has as many distinct numbers, or one more.

    >>> column, codes = keep_numbers("hours", np.array([40.0, 37.5, 40]))
    >>> column.levels, column.values, codes.tolist()
    (('37.5', '40'), (37.5, 40.0), [1, 0, 1])
    """
    values, codes = np.unique(numbers, return_inverse=True)
    if len(values) > MOST_LEVELS:
        level = np.arange(len(values)) * MOST_LEVELS // len(values)
        first, after = np.searchsorted(level, [np.arange(MOST_LEVELS), np.arange(1, MOST_LEVELS + 1)])
        values = values[(first + after - 1) // 2]
        codes = level[codes]
    levels = tuple(str(int(x)) if x.is_integer() else repr(x) for x in values.tolist())
    return Column(name, levels, "number", tuple(values.tolist())), codes.astype(np.int16)


def _whole_labels(firsts: Floats, *, short: bool) -> list[str] | None:
    """Return the labels of ranges of whole numbers, of which the first are given, and of what comes next.

    None where a range is empty; with `short` a range of one number is called by it.
    """
    ranges = [(int(low), int(after) - 1) for low, after in pairwise(firsts)]
    if any(low > high for low, high in ranges):
        return None
    return [str(low) if short and low == high else f"{low}-{high}" for low, high in ranges]


def _real_labels(edges: Floats) -> list[str]:
    """Return the labels of ranges, with six digits or as many more as keep them distinct."""
    labels: list[str] = []
    for digits in (6, 9, 12, 15):
        written = [f"{edge:.{digits}g}" for edge in edges]
        if edges[0] < edges[1]:
            first_label = f"[{written[0]}, {written[1]}]"
        else:
            first_label = written[0]
        labels = [first_label]
        labels += [f"({low}, {high}]" for low, high in pairwise(written[1:])]
        if len(set(written[1:])) == len(edges) - 1:
            break
    return labels
