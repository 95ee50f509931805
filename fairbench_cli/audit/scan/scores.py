"""Sum up the scores of every attribute's groups: how they rank and predict, and counts at every threshold.

The rows are scanned once, into a temporary table of score, label, codes of groups and sums of weights, which
DuckDB keeps sorted, and on disk where it outgrows its memory. Passes over the table take `AT_ONCE` of its
rows at a time and keep the rows of one score together, so memory does not depend on how many there are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.audit.scan.scan import Scan, coded_rows, group_by, group_finder, models_of
from fairbench_cli.audit.scan.source import in_parts
from fairbench_cli.audit.scan.tally import Scores, Slice
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.scores import (
    ScoreCells,
    ScoreTotals,
    add_cells,
    empty_sums,
    fit_calibration,
    sum_at,
)

Reference = Callable[[Slice], int]

REST = -1  # as a reference: everybody else
MOST_RESTS = 20  # groups of which each is compared with everybody else; with more, none is
TOGETHER = 6  # attributes and intersections in a table; of more, several tables are made one by one
AT_ONCE = 122_880  # rows of the table: DuckDB stores them in groups of as many
FOR_PASSES = 61  # MiB for DuckDB: passes over the table need no more, and numpy needs some
MOST_THRESHOLDS = 99
MOST_BINS = 10
KEPT = 250_000  # cells that are kept from pass to pass instead of being read again


Block = dict[str, NDArray[Any]]
"""Rows of the table by score, as arrays of shape (rows,) by column."""


@dataclass(frozen=True, eq=False)
class _Span:
    """The scores of a model: its rows in the table, where they are cut, and how many are different."""

    first: int
    last: int
    thresholds: Floats
    bottoms: Floats
    tops: Floats
    distinct: int
    whole: tuple[float, float]


def read_scores(scan: Scan, reference: Reference) -> tuple[Scores, ...]:
    """Return the scores of every attribute under every model, summed up.

    Parameters
    ----------
    scan : Scan
        The rows, counted.
    reference : callable
        The place of the group that a slice's groups are compared with, or `REST`.

    Raises
    ------
    UserError
        When the scores are 0 and 1, or two numbers only.
    """
    named = ("name a column of scores with ", Flag("score"), ", and a ", Flag("threshold"))
    fix = (*named, "; or leave ", Flag("curves"), " out")
    if scan.binary:
        raise user_error("the scores are decisions of 0 and 1, which make no curve", fix, Flag("curves"))
    models = models_of(scan)
    slices = {(part.model, part.attribute): part for part in scan.tally.slices}
    first = {(part.model, part.attribute): part for part in reversed(scan.tally.slices)}  # decision of each
    decisions = {
        model: {cut.score: cut.text for cut in scan.cuts_of(model) if cut.tied == "all"} for model in models
    }
    found: dict[tuple[str, str], Scores] = {}
    for some in in_parts(scan.roles.audited, TOGETHER):
        names = list(dict.fromkeys(chain.from_iterable(some)))
        _make_table(scan, names)
        with scan.source.engine(memory=FOR_PASSES):
            spans = {model: _look(scan, i, sorted(decisions[model])) for i, model in enumerate(models)}
            if all(span.distinct <= 2 for span in spans.values()):
                what = "the scores have two values or one, which make no curve"
                raise user_error(what, fix, Flag("curves"))
            for model, audited in product(models, some):
                part = first[model, CROSS.join(audited)]
                codes = {name: f"of_{names.index(name)}" for name in audited}
                among = _references(len(part.counts.groups), reference(part))
                sums = _summed(scan, spans[model], part, codes, among, decisions[model])
                found[model, part.attribute] = sums
    scan.source.execute("DROP TABLE scored")
    return tuple(found[place] for place in slices)


def _make_table(scan: Scan, names: Sequence[str]) -> None:
    """Make the table ``scored``: model, score, label, codes of groups; rows, weights and squares summed."""
    keys = ["model", "score", "label", *(f"of_{i}" for i in range(len(names)))]
    weight = ["weight"] if scan.weighted else []
    columns = ["score_0 AS score", "label::TINYINT AS label", *weight]
    rows = coded_rows(scan, scan.keys(names), names, columns)
    named = ["model", "score_0", "label", *(f"attribute_{i}" for i in range(len(names)))]
    counts = f"count(*), count(DISTINCT ({', '.join(named)}))"
    many, different = scan.source.one(f"SELECT {counts} FROM ({scan.keys(names, 'sample')})")
    if 2 * different > many:  # nearly every row would be a cell of its own
        each = ["1::DOUBLE AS n", *(["weight", "weight * weight AS square"] if weight else [])]
        sql = f"SELECT {', '.join([*keys, *each])} FROM ({rows})"
    else:
        sums = ["sum(weight) AS weight", "sum(weight * weight) AS square"] if weight else []
        sql = group_by(rows, keys, ["count(*)::DOUBLE AS n", *sums])
    with scan.source.engine(ordered=True):
        # Sums have one order.
        scan.source.execute(f"CREATE OR REPLACE TEMP TABLE scored AS {sql} ORDER BY ALL")


def _blocks(scan: Scan, first: int, last: int, codes: Sequence[str] = ()) -> Iterator[Block]:
    """Yield rows of the table, `AT_ONCE` or so at a time, those of one score together."""
    numbers = ["score", "n", *(["weight", "square"] if scan.weighted else [])]
    places = ["label", *codes]
    kept: Block | None = None
    for begin in range(first, last, AT_ONCE):
        end = min(begin + AT_ONCE, last)
        where = f"rowid >= {begin} AND rowid < {end}"
        sql = f"SELECT {', '.join(numbers + places)} FROM scored WHERE {where}"
        found = scan.source.execute(sql).fetchnumpy()
        block: Block = {name: np.asarray(found[name], dtype=np.float64) for name in numbers}
        block |= {name: np.asarray(found[name], dtype=np.int64) for name in places}
        if kept is not None:
            block = {name: np.concatenate([kept[name], values]) for name, values in block.items()}
        score = block["score"]
        if end < last:
            whole = int(np.searchsorted(score, score[-1]))
        else:
            whole = len(score)
        if whole < len(score):
            kept = {name: values[whole:] for name, values in block.items()}
        else:
            kept = None
        if whole:
            part = {name: values[:whole] for name, values in block.items()}
            yield part if scan.weighted else part | {"weight": part["n"], "square": part["n"]}


def _references(groups: int, at: int) -> Ints:
    """Return the reference of each set of rows."""
    if at != REST:
        return np.full(groups, at, dtype=np.int64)
    if 1 < groups <= MOST_RESTS:
        rests = groups
    else:
        rests = 0
    own = np.arange(groups + rests)
    if rests:
        return np.concatenate([own[groups:], own[groups:]])
    return own


def _look(scan: Scan, model: int, fixed: Sequence[float]) -> _Span:
    """Find the rows of a model, and where its scores are cut: thresholds and bins of equal counts."""
    where = f"model = {model}"
    first, last, rows = scan.source.one(f"SELECT min(rowid), max(rowid), sum(n) FROM scored WHERE {where}")
    wanted = np.floor(np.arange(1, MOST_THRESHOLDS + 1) * rows / (MOST_THRESHOLDS + 1))
    quantiles = np.full(MOST_THRESHOLDS, np.nan)
    tops = np.full(MOST_BINS, -np.inf)
    bottoms = np.full(MOST_BINS, np.inf)
    values: list[Floats] = []
    distinct = 0
    before = 0.0
    for block in _blocks(scan, first, last + 1):
        score, begin = np.unique(block["score"], return_index=True)
        many = np.add.reduceat(block["n"], begin)
        below = before + np.cumsum(many) - many
        before += float(many.sum())
        at = np.searchsorted(below, wanted, side="right") - 1
        here = (at >= 0) & (wanted < before) & np.isnan(quantiles)
        quantiles[here] = score[at[here]]
        bins = np.minimum(below * MOST_BINS // rows, MOST_BINS - 1).astype(np.intp)
        np.maximum.at(tops, bins, score)
        np.minimum.at(bottoms, bins, score)
        if distinct <= MOST_THRESHOLDS + 1:
            values.append(score[: MOST_THRESHOLDS + 2])
        distinct += len(score)
    every = np.concatenate(values)
    if distinct <= MOST_THRESHOLDS + 1:
        quantiles = every[1:]
    if distinct <= MOST_BINS:
        tops = bottoms = every
    some = np.isfinite(tops)
    lowest = float(every[0])
    highest = float(tops[some].max())
    thresholds = np.unique([*quantiles[quantiles > lowest].tolist(), *fixed])
    return _Span(first, last + 1, thresholds, bottoms[some], tops[some], distinct, (lowest, highest))


def _summed(
    scan: Scan, span: _Span, part: Slice, codes: dict[str, str], reference: Ints, decisions: dict[float, str]
) -> Scores:
    """Pass over the rows of an attribute: once, and once more for every step of the calibration.

    `codes` are the columns of the table with the codes of each attribute; `reference` has a place for each
    set of rows: of each group, and of everybody else where these are the references.
    """
    find = group_finder(scan, part, list(codes))
    groups = len(part.counts.groups)

    def cells() -> Iterator[tuple[ScoreCells, Floats]]:
        """Yield the cells of the groups with the rows behind them, lowest scores first."""
        for block in _blocks(scan, span.first, span.last, tuple(codes.values())):
            group = find([block[code] for code in codes.values()])
            alike = ScoreCells(block["score"], group, block["label"], block["weight"], block["square"])
            yield alike, block["n"]

    def of_sets(alike: ScoreCells) -> ScoreCells:
        if len(reference) > groups:
            return _with_rests(alike, groups)
        return alike

    weight, rows, square = part.cells.sum(-1)
    by_label = [rows, weight, square]
    if len(reference) > groups:
        by_label = [np.concatenate([each, each.sum(0) - each]) for each in by_label]
    totals = ScoreTotals(*by_label)
    sums = empty_sums(len(reference))
    many = 0
    kept: list[ScoreCells] = []
    bins = np.zeros((4, len(span.tops), groups, 2))
    cuts = np.zeros((4, len(span.thresholds) + 1, groups, 2))
    for alike, behind in cells():
        both = of_sets(alike)
        sums = add_cells(sums, both, totals, reference)
        bins += _counted(np.searchsorted(span.tops, alike.score), alike, behind, bins.shape)
        place = np.searchsorted(span.thresholds, alike.score, side="right")
        cuts += _counted(place, alike, behind, cuts.shape)
        many += len(both.score)
        kept = [*kept, both] if many <= KEPT else []
    fit = None
    if part.labelled and span.whole[0] >= 0 and span.whole[1] <= 1:

        def again() -> Iterator[ScoreCells]:
            if kept:
                return iter(kept)
            return (of_sets(alike) for alike, _ in cells())

        fit = fit_calibration(again, len(reference))
    ends = span.bottoms, span.tops
    return Scores(part, reference, totals, sums, fit, ends, bins, cuts, span.thresholds, decisions)


def _with_rests(cells: ScoreCells, groups: int) -> ScoreCells:
    """Return the cells with those of the rests added: each row is in the rest of all other groups."""
    row, other = np.nonzero(cells.group[:, None] != np.arange(groups))
    each = np.concatenate([np.arange(len(cells.group)), row])
    order = np.argsort(each, kind="stable")
    group = np.concatenate([cells.group, groups + other])
    return replace(cells.select(each[order]), group=group[order])


def _counted(place: Ints, cells: ScoreCells, rows: Floats, shape: tuple[int, ...]) -> Floats:
    """Return weights, rows, squares and scores summed by range, group and label."""
    _, ranges, groups, labels = shape
    slot = (place * groups + cells.group) * labels + cells.label
    parts = (cells.weight, rows, cells.square, cells.weight * cells.score)
    return np.stack([sum_at(slot, each, ranges * groups * labels) for each in parts]).reshape(shape)
