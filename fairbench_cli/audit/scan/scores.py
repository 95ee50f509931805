"""Sum up the scores of every attribute's groups: how they rank and predict, and counts at every threshold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from fairbench_cli.audit.read.cells import CountedCells, CountingPlan, cells_with, group_name
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.audit.read.score_table import Codes, Levels, levels_of, make_table, names_of, read_blocks
from fairbench_cli.audit.read.tally import ScoreRanges, Scores, Slice
from fairbench_cli.base.errors import user_error
from fairbench_cli.measures.calibration import fit_calibration
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.scores import ScoreCells, ScoreTotals, extend, start, summed

Reference = Callable[[Slice], int]

REST = -1  # as a reference: everybody else
MOST_RESTS = 20  # groups of which each is compared with everybody else; with more, none is
TOGETHER = 6  # attributes and intersections in a table; of more, several tables are made one by one
FOR_PASSES = "64MB"  # of DuckDB's memory: passes over the table need no more, and numpy needs some
MOST_THRESHOLDS = 99
MOST_BINS = 10
KEPT = 250_000  # cells that are kept from pass to pass instead of being read again


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


@dataclass(frozen=True, eq=False)
class _Sets:
    """The rows of an attribute's groups: where they are, and which codes make which group.

    `reference` has a place for each set of rows: of each group, and of everybody else where these are the
    references.
    """

    source: Predictions
    span: _Span
    places: tuple[int, ...]
    known: "_GroupCodes"
    groups: int
    reference: Codes
    weighted: bool

    def cells(self) -> Iterator[tuple[ScoreCells, Floats]]:
        """Yield the cells of all sets with the rows behind them, lowest scores first."""
        for block in read_blocks(
            self.source, self.span.first, self.span.last, self.places, weighted=self.weighted
        ):
            code = self.known.of(block.codes)
            cells = ScoreCells(block.score, code, block.label, block.weight, block.square)
            known = code >= 0
            yield (cells, block.rows) if known.all() else (cells.select(known), block.rows[known])

    def with_rests(self, cells: ScoreCells) -> ScoreCells:
        """Return the cells with those of the rests added: each row is in the rest of all other groups."""
        if len(self.reference) == self.groups:
            return cells
        row, other = np.nonzero(cells.group[:, None] != np.arange(self.groups))
        each = np.concatenate([np.arange(len(cells.group)), row])
        found = cells.select(each)
        group = np.concatenate([cells.group, self.groups + other])
        order = np.argsort(each, kind="stable")
        return ScoreCells(
            found.score[order], group[order], found.label[order], found.weight[order], found.square[order]
        )


def read_scores(
    source: Predictions,
    plan: CountingPlan,
    cells: dict[tuple[str, ...], CountedCells],
    slices: Sequence[Slice],
    reference: Reference,
) -> tuple[Scores, ...]:
    """Return the scores of every attribute under every model, summed up.

    Parameters
    ----------
    source, plan, cells
        The rows, how they were counted, and what was counted.
    slices : sequence of Slice
        Made of these.
    reference : callable
        The place of the group that a slice's groups are compared with, or `REST`.

    Raises
    ------
    UserError
        When the scores are 0 and 1, or two numbers only.
    """
    fix = "name a column of scores with --score, and a --threshold; or leave --curves out"
    if plan.binary:
        raise user_error("the scores are decisions of 0 and 1, which make no curve", fix, "--curves")
    models = list(dict.fromkeys(part.model for part in slices))
    parts = {(part.model, part.attribute): part for part in reversed(slices)}  # of the first decision
    cuts = {model: plan.cuts[model if model in plan.cuts else None] for model in models}
    decisions = {
        model: {cut.score: cut.text for cut in each if cut.tied == "all"} for model, each in cuts.items()
    }
    found: dict[tuple[str, tuple[str, ...]], Scores] = {}
    (memory,) = source.one("SELECT current_setting('memory_limit')")
    for first in range(0, len(plan.roles.audited), TOGETHER):
        some = plan.roles.audited[first : first + TOGETHER]
        names = list(dict.fromkeys(chain.from_iterable(some)))
        levels = levels_of(plan, cells, names)
        source.engine.execute(f"SET memory_limit='{memory}'")
        make_table(source, plan, levels, models)
        source.engine.execute(f"SET memory_limit='{FOR_PASSES}'")
        spans = {model: _look(source, i, sorted(decisions[model])) for i, model in enumerate(models)}
        if all(span.distinct <= 2 for span in spans.values()):
            raise user_error("the scores have two values or one, which make no curve", fix, "--curves")
        for model, audited in product(models, some):
            part = parts[model, CROSS.join(audited)]
            sets = _Sets(
                source,
                spans[model],
                tuple(names.index(name) for name in audited),
                _groups(part, audited, levels, cells_with(audited, cells)),
                len(part.counts.groups),
                _references(len(part.counts.groups), reference(part)),
                plan.roles.weight is not None,
            )
            found[model, audited] = _summed(sets, part, decisions[model])
    source.engine.execute(f"DROP TABLE scored; SET memory_limit='{memory}'")
    return tuple(found[each] for each in product(models, plan.roles.audited))


@dataclass(frozen=True, eq=False)
class _GroupCodes:
    """The place of a slice's group by the codes of its attributes.

    `keys` are these codes as one number each, sorted, with the `group` of each; `sizes` how many levels each
    attribute has.
    """

    keys: Codes
    group: Codes
    sizes: tuple[int, ...]

    def of(self, codes: Sequence[Codes]) -> Codes:
        """Return the groups of rows, -1 where there is none."""
        key = np.zeros(len(codes[0]), dtype=np.int64)
        known = np.ones(len(key), dtype=np.bool_)
        for code, size in zip(codes, self.sizes, strict=True):
            key, known = key * size + code, known & (code >= 0)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(known & (self.keys[at] == key), self.group[at], -1)


def _groups(part: Slice, names: Sequence[str], levels: Levels, cells: CountedCells) -> _GroupCodes:
    """Return where the groups of a slice are found; a group that is not in the slice has no rows."""
    index = {name: i for i, name in enumerate(part.counts.groups)}
    found: dict[int, int] = {}
    each = [{name: i for i, name in enumerate(names_of(levels[attribute]))} for attribute in names]
    for values in set(zip(*(cells.values[name] for name in names), strict=True)):
        own = [group_name(value) for value in values]
        key = 0
        for place, name in zip(each, own, strict=True):
            key = key * len(place) + place[name]
        found[key] = index.get(CROSS.join(own), -1)
    keys = np.array(sorted(found), dtype=np.int64)
    group = np.array([found[key] for key in keys.tolist()], dtype=np.int64)
    return _GroupCodes(keys, group, tuple(map(len, each)))


def _references(groups: int, at: int) -> Codes:
    """Return the reference of each set of rows."""
    if at != REST:
        return np.full(groups, at, dtype=np.int64)
    rests = groups if 1 < groups <= MOST_RESTS else 0
    own = np.arange(groups + rests)
    return np.concatenate([own[groups:], own[groups:]]) if rests else own


def largest_group(part: Slice) -> int:
    """Return the place of the group with the most rows."""
    return int(np.argmax(part.rows))


def _look(source: Predictions, model: int, fixed: Sequence[float]) -> _Span:
    """Find the rows of a model, and where its scores are cut: thresholds and bins of equal counts."""
    first, last, rows = source.one("SELECT min(rowid), max(rowid), sum(n) FROM scored WHERE m = ?", [model])
    wanted = np.floor(np.arange(1, MOST_THRESHOLDS + 1) * rows / (MOST_THRESHOLDS + 1))
    quantiles = np.full(MOST_THRESHOLDS, np.nan)
    tops, bottoms = np.full(MOST_BINS, -np.inf), np.full(MOST_BINS, np.inf)
    values: list[Floats] = []
    distinct, before = 0, 0.0
    for block in read_blocks(source, first, last + 1, (), weighted=False):
        score, begin = np.unique(block.score, return_index=True)
        many = np.add.reduceat(block.rows, begin)
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
    lowest, highest = float(every[0]), float(tops[some].max())
    thresholds = np.unique([*quantiles[quantiles > lowest].tolist(), *fixed])
    return _Span(first, last + 1, thresholds, bottoms[some], tops[some], distinct, (lowest, highest))


def _summed(sets: _Sets, part: Slice, decisions: dict[float, str]) -> Scores:
    """Pass over the rows of an attribute: once, and once more for every step of the calibration."""
    span, groups = sets.span, sets.groups
    by_label = [each.sum(-1).astype(np.float64) for each in (part.cell_rows, part.counts.n, part.squares)]
    if len(sets.reference) > groups:
        by_label = [np.concatenate([each, each.sum(0) - each]) for each in by_label]
    totals = ScoreTotals(*by_label)
    sums, many = start(len(sets.reference)), 0
    kept: list[ScoreCells] = []
    bins = np.zeros((len(span.tops), groups, 2, 4))
    cuts = np.zeros((len(span.thresholds) + 1, groups, 2, 4))
    for cells, rows in sets.cells():
        both = sets.with_rests(cells)
        sums = extend(sums, both, totals, sets.reference)
        bins += _counted(np.searchsorted(span.tops, cells.score), cells, rows, bins.shape)
        cuts += _counted(np.searchsorted(span.thresholds, cells.score, side="right"), cells, rows, cuts.shape)
        many += len(both.score)
        kept = [*kept, both] if many <= KEPT else []
    fit = None
    if part.labelled and span.whole[0] >= 0 and span.whole[1] <= 1:

        def again() -> Iterator[ScoreCells]:
            return iter(kept) if kept else (sets.with_rests(cells) for cells, _ in sets.cells())

        fit = fit_calibration(again, len(sets.reference))
    edges = (np.r_[-np.inf, span.thresholds], np.r_[span.thresholds, np.inf])
    return Scores(
        part,
        sets.reference,
        totals,
        sums,
        fit,
        _ranges(span.bottoms, span.tops, bins),
        _ranges(*edges, cuts),
        span.thresholds,
        decisions,
    )


def _counted(place: Codes, cells: ScoreCells, rows: Floats, shape: tuple[int, ...]) -> Floats:
    """Return rows, weights, squares and scores summed by range, group and label."""
    ranges, groups, labels, _ = shape
    slot = (place * groups + cells.group) * labels + cells.label
    parts = (rows, cells.weight, cells.square, cells.weight * cells.score)
    sums = [summed(slot, each, ranges * groups * labels) for each in parts]
    return np.stack(sums, -1).reshape(shape)


def _ranges(low: Floats, high: Floats, sums: Floats) -> ScoreRanges:
    rows, weight, square, scored = np.moveaxis(sums, -1, 0)
    return ScoreRanges(low, high, rows, weight, square, scored.sum(-1))
