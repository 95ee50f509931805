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
from fairbench_cli.audit.scan.scan import Scan, alike_rows, group_finder, models_of
from fairbench_cli.audit.scan.slices import Scores, Slice
from fairbench_cli.audit.scan.source import in_batches
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.group_scores import sum_at
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.scores import ScoreCells, ScoreTotals, add_cells, empty_sums, fit_calibration

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

    start_row: int
    end_row: int
    thresholds: Floats
    bottoms: Floats
    tops: Floats
    distinct: int
    ends: tuple[float, float]


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
    name_it = ("name a column of scores with ", Flag("score"), ", and a ", Flag("threshold"))
    fix = (*name_it, "; or leave ", Flag("curves"), " out")
    if scan.binary:
        raise user_error("the scores are decisions of 0 and 1, which make no curve", fix, Flag("curves"))
    models = models_of(scan)
    first_decision: dict[tuple[str, str], Slice] = {}
    for group_counts in scan.tally.slices:
        first_decision.setdefault((group_counts.model, group_counts.attribute), group_counts)
    decisions: dict[str, dict[float, str]] = {}
    for model in models:
        cuts = scan.cuts_of(model)
        decisions[model] = {cut.score: cut.text for cut in cuts if cut.tied == "all"}
    scores: dict[tuple[str, str], Scores] = {}
    for some_audited in in_batches(scan.roles.audited, TOGETHER):
        names = list(dict.fromkeys(chain.from_iterable(some_audited)))
        _make_table(scan, names)
        with scan.source.engine(memory=FOR_PASSES):
            spans = {model: _find_span(scan, i, sorted(decisions[model])) for i, model in enumerate(models)}
            if all(span.distinct <= 2 for span in spans.values()):
                problem = "the scores have two values or one, which make no curve"
                raise user_error(problem, fix, Flag("curves"))
            for model, audited in product(models, some_audited):
                group_counts = first_decision[model, CROSS.join(audited)]
                codes = {name: f"of_{names.index(name)}" for name in audited}
                among = _reference_sets(len(group_counts.counts.groups), reference(group_counts))
                sums = _sum_scores(scan, spans[model], group_counts, codes, among, decisions[model])
                scores[model, group_counts.attribute] = sums
    scan.source.execute("DROP TABLE scored")
    return tuple(scores[model_and_attribute] for model_and_attribute in first_decision)


def _make_table(scan: Scan, names: Sequence[str]) -> None:
    """Make the table ``scored``: model, score, label, codes of groups; rows, weights and squares summed."""
    where = "weight > 0" if scan.weighted else ""  # a row of weight 0 says nothing, and is no row
    sql = alike_rows(scan, names, ["label"], ["label::TINYINT AS label"], powers=2, where=where)
    with scan.source.engine(ordered=True):
        # Sums have one order.
        scan.source.execute(f"CREATE OR REPLACE TEMP TABLE scored AS {sql} ORDER BY ALL")


def _read_blocks(scan: Scan, start_row: int, end_row: int, codes: Sequence[str] = ()) -> Iterator[Block]:
    """Yield rows of the table, `AT_ONCE` or so at a time, those of one score together."""
    numbers = ["score", "n"]
    if scan.weighted:
        numbers += ["weight", "square"]
    codes_read = ["label", *codes]
    carried: Block | None = None
    for begin in range(start_row, end_row, AT_ONCE):
        end = min(begin + AT_ONCE, end_row)
        where = f"rowid >= {begin} AND rowid < {end}"
        sql = f"SELECT {', '.join(numbers + codes_read)} FROM scored WHERE {where}"
        columns = scan.source.execute(sql).fetchnumpy()
        block: Block = {name: np.asarray(columns[name], dtype=np.float64) for name in numbers}
        block |= {name: np.asarray(columns[name], dtype=np.int64) for name in codes_read}
        if carried is not None:
            block = {name: np.concatenate([carried[name], values]) for name, values in block.items()}
        score = block["score"]
        if end < end_row:
            n_complete = int(np.searchsorted(score, score[-1]))
        else:
            n_complete = len(score)
        carried = None
        if n_complete < len(score):
            carried = {name: values[n_complete:] for name, values in block.items()}
        if n_complete:
            complete = {name: values[:n_complete] for name, values in block.items()}
            yield complete if scan.weighted else complete | {"weight": complete["n"], "square": complete["n"]}


def _reference_sets(groups: int, reference: int) -> Ints:
    """Return the reference of each set of rows."""
    if reference != REST:
        return np.full(groups, reference, dtype=np.int64)
    rests = 0
    if 1 < groups <= MOST_RESTS:
        rests = groups
    sets = np.arange(groups + rests)
    if rests:
        return np.concatenate([sets[groups:], sets[groups:]])
    return sets


def _find_span(scan: Scan, model: int, fixed: Sequence[float]) -> _Span:
    """Find the rows of a model, and where its scores are cut: thresholds and bins of equal counts."""
    where = f"model = {model}"
    first_row, last_row, rows = scan.source.row(
        f"SELECT min(rowid), max(rowid), sum(n) FROM scored WHERE {where}"
    )
    rows_below = np.floor(np.arange(1, MOST_THRESHOLDS + 1) * rows / (MOST_THRESHOLDS + 1))
    quantiles = np.full(MOST_THRESHOLDS, np.nan)
    tops = np.full(MOST_BINS, -np.inf)
    bottoms = np.full(MOST_BINS, np.inf)
    values: list[Floats] = []
    distinct = 0
    before = 0.0
    for block in _read_blocks(scan, first_row, last_row + 1):
        score, begin = np.unique(block["score"], return_index=True)
        rows_of_score = np.add.reduceat(block["n"], begin)
        below = before + np.cumsum(rows_of_score) - rows_of_score
        before += float(rows_of_score.sum())
        position = np.searchsorted(below, rows_below, side="right") - 1
        is_found = (position >= 0) & (rows_below < before) & np.isnan(quantiles)
        quantiles[is_found] = score[position[is_found]]
        bins = np.minimum(below * MOST_BINS // rows, MOST_BINS - 1).astype(np.intp)
        np.maximum.at(tops, bins, score)
        np.minimum.at(bottoms, bins, score)
        if distinct <= MOST_THRESHOLDS + 1:
            values.append(score[: MOST_THRESHOLDS + 2])
        distinct += len(score)
    scores = np.concatenate(values)
    if distinct <= MOST_THRESHOLDS + 1:
        quantiles = scores[1:]
    if distinct <= MOST_BINS:
        tops = bottoms = scores
    has_rows = np.isfinite(tops)
    lowest = float(scores[0])
    highest = float(tops[has_rows].max())
    thresholds = np.unique([*quantiles[quantiles > lowest].tolist(), *fixed])
    return _Span(
        first_row, last_row + 1, thresholds, bottoms[has_rows], tops[has_rows], distinct, (lowest, highest)
    )


def _sum_scores(
    scan: Scan,
    span: _Span,
    group_counts: Slice,
    codes: dict[str, str],
    reference: Ints,
    decisions: dict[float, str],
) -> Scores:
    """Pass over the rows of an attribute: once, and once more for every step of the calibration.

    `codes` are the columns of the table with the codes of each attribute; `reference` has a place for each
    set of rows: of each group, and of everybody else where these are the references.
    """
    find = group_finder(scan, group_counts, list(codes))
    groups = len(group_counts.counts.groups)

    def cells() -> Iterator[tuple[ScoreCells, Floats]]:
        """Yield the cells of the groups with the rows behind them, lowest scores first."""
        for block in _read_blocks(scan, span.start_row, span.end_row, tuple(codes.values())):
            group = find([block[code] for code in codes.values()])
            alike = ScoreCells(block["score"], group, block["label"], block["weight"], block["square"])
            yield alike, block["n"]

    def of_sets(alike: ScoreCells) -> ScoreCells:
        if len(reference) > groups:
            rows_of_sets, sets = _rows_of_sets(alike.group, groups)
            return replace(alike.select(rows_of_sets), group=sets)
        return alike

    weight, rows, square = group_counts.cells.sum(-1)
    if len(reference) > groups:  # the rest of a group is everybody but the group
        weight, rows, square = (np.concatenate([sums, sums.sum(0) - sums]) for sums in (weight, rows, square))
    totals = ScoreTotals(rows, weight, square)
    sums = empty_sums(len(reference))
    n_cells = 0
    stored: list[ScoreCells] = []
    bins = np.zeros((4, len(span.tops), groups, 2))
    cuts = np.zeros((4, len(span.thresholds) + 1, groups, 2))
    for alike, behind in cells():
        with_rests = of_sets(alike)
        sums = add_cells(sums, with_rests, totals, reference)
        bins += _sum_by_range(np.searchsorted(span.tops, alike.score), alike, behind, bins.shape)
        range_of = np.searchsorted(span.thresholds, alike.score, side="right")
        cuts += _sum_by_range(range_of, alike, behind, cuts.shape)
        n_cells += len(with_rests.score)
        stored = [*stored, with_rests] if n_cells <= KEPT else []
    fit = None
    if group_counts.labelled and span.ends[0] >= 0 and span.ends[1] <= 1:

        def again() -> Iterator[ScoreCells]:
            if stored:
                return iter(stored)
            return (of_sets(alike) for alike, _ in cells())

        fit = fit_calibration(again, len(reference))
    ends = span.bottoms, span.tops
    return Scores(group_counts, reference, totals, sums, fit, ends, bins, cuts, span.thresholds, decisions)


def _rows_of_sets(group: Ints, n_groups: int) -> tuple[Ints, Ints]:
    """Return the rows of all sets in their order, and the set of each.

    A row is in its group, and in the rest of all other groups; the sets of rests come after the groups.
    """
    row, other_group = np.nonzero(group[:, None] != np.arange(n_groups))
    rows = np.concatenate([np.arange(len(group)), row])
    order = np.argsort(rows, kind="stable")
    sets = np.concatenate([group, n_groups + other_group])
    return rows[order], sets[order]


def _sum_by_range(range_of: Ints, cells: ScoreCells, rows: Floats, shape: tuple[int, ...]) -> Floats:
    """Return weights, rows, squares and scores summed by range, group and label."""
    _, ranges, groups, labels = shape
    slot = (range_of * groups + cells.group) * labels + cells.label
    columns = (cells.weight, rows, cells.square, cells.weight * cells.score)
    return np.stack([sum_at(slot, column, ranges * groups * labels) for column in columns]).reshape(shape)
