"""Metrics asked for by name: values, intervals, tests and verdicts of each group against its reference.

A difference or ratio of one rate has the interval and the test of that rate. Other metrics are bootstrapped:
rows are drawn again, as many as weighted rows are worth, and the distance from the ideal is tested by their
spread. The multinomial bootstrap of the counts is the bootstrap of the rows: a drawn table is what counting
resampled rows would give. Percentile intervals are too narrow where few rows are on one side of a rate (at 0
or n their width is zero), so metrics with fewer than `ENOUGH` there have none. All that can decide are
adjusted together by Holm, apart from the rates of every audit.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbench_cli.audit.compare.effective import rows_per_weight
from fairbench_cli.audit.compare.family import Family
from fairbench_cli.audit.compare.kernel import Compared, Limits
from fairbench_cli.audit.compare.references import (
    REST,
    REST_NAME,
    Ints,
    chosen_by_rate,
    comparable,
    kept,
    references,
)
from fairbench_cli.audit.compare.report import Interval, Pair, Place, Report
from fairbench_cli.audit.compare.verdict import decide_metric, requested_names, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import bounds, needs_labels
from fairbench_cli.audit.parts.part import Part, View
from fairbench_cli.audit.parts.writing import DASH, fine_cell, group_cell, p_cell, place
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.document.model import VERDICTS, Section, TableCell, TextTable, Verdict, table_of
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import find, measure
from fairbench_cli.measures.significance import normal_p

ENOUGH = 10  # rows in each count behind a metric that is bootstrapped
MOST_GROUPS = 200  # of one slice are bootstrapped; with more, none is


@dataclass(frozen=True)
class RequestedRow(Pair):
    """The metrics asked for by name, of one group, taken for the deprived one, against its reference."""

    values: dict[str, Interval]
    verdicts: dict[str, Verdict]  # of those that can decide


@dataclass(frozen=True)
class Requested:
    """The metrics asked for by name, and how their intervals were made: in closed form, or drawn."""

    rows: tuple[RequestedRow, ...]
    closed: bool = False
    drawn: bool = False


@dataclass(frozen=True)
class _Tested:
    """A value with its interval, and the p-value of "it is ideal"; NaN where there is none."""

    known: Interval
    p: float = math.nan
    drawn: bool = False

    @property
    def member(self) -> float:
        """The p-value in its family: 1 where there is no test, NaN where there is no value."""
        return math.nan if math.isnan(self.known.value) else 1.0 if math.isnan(self.p) else self.p


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The groups of a slice and their references: weights summed, and what a unit of these is worth in rows.

    `n` has the shape (pairs, 2, 2, 2): group and reference, labels, predictions; `worth` (pairs, 2).
    """

    part: Slice
    groups: tuple[int, ...]
    at: Ints
    n: Floats
    worth: Floats
    everybody: float

    @cached_property
    def rows(self) -> Floats:
        """What the weights are worth."""
        return self.n * self.worth[:, :, None, None]


def requested(_: tuple[()], base: Report) -> Requested:
    """Return metrics of every group of each slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Tests are of the rows that
    weights are worth. There is no interval of a test, where one of the counts behind a metric is below
    `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    config, names = base.config, requested_names(base.config)
    slices = [_pairs(kept(part, config), config) for part in base.slices]
    found = [{name: _tested(pairs, name, config) for name in names} for pairs in slices]
    deciding = [name for name in names if bounds(find(name), tau_of(name, config), config.confidence)]
    tables, others = [], []
    for pairs, metrics in zip(slices, found, strict=True):
        many = len(pairs.groups)
        p = [[metrics[name][i].member for name in deciding] for i in range(many)]
        tables.append(np.array(p, dtype=np.float64).reshape(many, len(deciding)))
        # A reference that the data chose is the extreme one of all pairs: the others count as tests, too.
        more = many * (many - 1) // 2 if chosen_by_rate(pairs.part, config) else 0
        others.append(np.ones((more, len(deciding))))
    adjusted = Family(tables, pairs=others).adjusted()
    rows = [
        _row(pairs, i, {name: tested[i] for name, tested in metrics.items()}, p_holm, config)
        for pairs, metrics, table in zip(slices, found, adjusted, strict=True)
        for i, p_holm in enumerate(dict(zip(deciding, line, strict=True)) for line in table.tolist())
    ]
    bounded = [
        tested.drawn
        for metrics in found
        for each in metrics.values()
        for tested in each
        if not math.isnan(tested.known.low)
    ]
    return Requested(tuple(rows), closed=False in bounded, drawn=True in bounded)


def _row(
    pairs: _Pairs, i: int, metrics: dict[str, _Tested], p_holm: dict[str, float], config: AuditConfig
) -> RequestedRow:
    groups, at = pairs.part.counts.groups, int(pairs.at[0])
    verdicts: dict[str, Verdict] = {}
    for name, adjusted in p_holm.items():
        known = decide_metric(find(name), metrics[name].known, tau_of(name, config), config, adjusted)
        if known is not None:
            verdicts[name] = known
    values = {name: tested.known for name, tested in metrics.items()}
    reference = REST_NAME if at == REST else groups[at]
    return RequestedRow(*pairs.part.place, groups[pairs.groups[i]], reference, values, verdicts)


def _pairs(part: Slice, config: AuditConfig) -> _Pairs:
    n, worth = part.counts.n, rows_per_weight(part)
    places = references(part, ("selection-rate",), config)
    at = int(places[0])
    others = [g for g in np.flatnonzero(comparable(part, config)).tolist() if g != at]
    if at == REST:
        favoured, every = n.sum(0) - n[others], range(len(n))
        rest = [float(rows_per_weight(part, [h for h in every if h != g])) for g in others]
        ref_worth = np.array(rest, dtype=np.float64)
    else:
        favoured, ref_worth = np.broadcast_to(n[at], n[others].shape), np.full(len(others), worth[at])
    both = np.stack([n[others], favoured], axis=1)
    each_worth = np.stack([worth[others], ref_worth], axis=1)
    everybody = float((n * worth[:, None, None]).sum())
    return _Pairs(part, tuple(others), places, both, each_worth, everybody)


def _tested(pairs: _Pairs, name: str, config: AuditConfig) -> list[_Tested]:
    """Return a metric of each pair."""
    entry, closed, rows = find(name), closed_form(name), pairs.rows
    if closed and not (rows.sum((2, 3)) <= 0).any():
        return _of_rate(pairs, *closed, config)
    named, groups = ("group", "reference"), pairs.part.counts.groups
    values = measure(name, Counts(named, rows if entry.is_test else pairs.n))
    drawing = config.draws > 0 and pairs.everybody > 0 and len(groups) <= MOST_GROUPS
    found = []
    for i, g in enumerate(pairs.groups):
        value = float(values[i])
        tested = _Tested(Interval(value, math.nan, math.nan), value if entry.p_value else math.nan)
        if drawing and _enough(entry, rows[i]):
            drawn = _draw(rows[i], pairs.everybody, config, (*pairs.part.place, groups[g]))
            drawn = drawn / np.where(pairs.worth[i] > 0, pairs.worth[i], 1.0)[:, None, None]
            tested = _of_draws(entry, value, measure(name, Counts(named, drawn)), config.confidence)
        found.append(tested)
    return found


def closed_form(name: str) -> tuple[str, str] | None:
    """Return the rate and the comparison, where a metric is a difference or ratio of one rate.

    >>> closed_form("fpr-ratio"), closed_form("demographic_parity_difference"), closed_form("phi")
    (('fpr', 'ratio'), None, None)
    """
    for spelled in (name, find(name).alias_of):
        rate, _, comparison = spelled.rpartition("-")
        known = RATES.get(rate)
        if known and comparison in ("difference", "ratio") and not (known.of_all or known.mean_of):
            return rate, comparison
    return None


def _of_rate(pairs: _Pairs, rate: str, comparison: str, config: AuditConfig) -> list[_Tested]:
    """Return the difference or ratio of one rate, with its interval and test."""
    table = Compared(pairs.part, (rate,), pairs.at, config)
    value = table.difference if comparison == "difference" else table.ratio
    p = np.where(table.tests.few, np.nan, table.tests.p)[:, 0]
    return [_Tested(value(g, 0), float(p[g])) for g in pairs.groups]


def _enough(entry: Metric, rows: Floats) -> bool:
    """Return whether each of the counts behind a metric of a pair has rows enough, and it is no test."""
    behind = rows.sum(-1) if entry.on == "labels" else rows if needs_labels(entry.name) else rows.sum(-2)
    is_test = entry.is_test or math.isinf(entry.low)  # t is without end
    return bool(behind.min() >= ENOUGH) and not is_test


def _draw(pair: Floats, everybody: float, config: AuditConfig, place: tuple[str, ...]) -> Floats:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    rng = stream(config.seed, "by name", *place)
    drawn = rng.multinomial(round(cells.sum()), cells / cells.sum(), size=config.draws)[:, :-1]
    return drawn.reshape(-1, *pair.shape).astype(np.float64)


def _of_draws(entry: Metric, value: float, drawn: Floats, confidence: float) -> _Tested:
    """Return percentiles of draws, and a normal test by their spread; of ratios, on a logarithm."""
    low, high = percentiles(drawn, (1 - confidence) / 2)
    p = math.nan
    if entry.ideal is not None and not math.isnan(value):
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.log if entry.ratio else np.asarray
            spread = np.nanstd(scale(drawn)[np.isfinite(scale(drawn))]) if np.isfinite(drawn).any() else 0.0
            away = float(scale(np.float64(value)) - scale(np.float64(entry.ideal)))
        p = float(normal_p(away / spread)) if spread > 0 and math.isfinite(away) else math.nan
    return _Tested(Interval(value, float(low), float(high)), p, drawn=True)


def percentiles(values: Floats, tail: float) -> Limits:
    """Return order statistics at both tails of the defined draws, outward: (..., draws) becomes (...)."""
    ordered = np.sort(values, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(-1) - 1, 0)
    ends = np.stack([np.floor(tail * last), np.ceil((1 - tail) * last)], axis=-1).astype(np.intp)
    low, high = np.moveaxis(np.take_along_axis(ordered, ends, axis=-1), -1, 0)
    return low, high


def stream(seed: int, *place: str) -> np.random.Generator:
    """Return random numbers of a place's own: one more attribute changes no other's intervals."""
    key = "\x1f".join([str(seed), *place])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))


def requested_sections(found: Requested, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section of the metrics asked for by name, if any: a table for each attribute."""
    slices: dict[tuple[str, ...], list[RequestedRow]] = {}
    for row in found.rows:
        slices.setdefault((row.model, row.decision, row.attribute, row.reference), []).append(row)
    if not slices:
        return ()
    sentences = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"{_intervals(found, f'{100 * report.config.confidence:g} %')}Tests have no interval, and a metric "
        "that is no difference or ratio of one rate has none where one of the counts behind it is below "
        f"{ENOUGH}. These verdicts count with --fail-on alone.",
    )
    tables = tuple(_table(rows, report, view) for rows in slices.values())
    return (Section("Metrics asked for by name", sentences, tables),)


def _intervals(found: Requested, level: str) -> str:
    """Return how the intervals were made, if there are any."""
    if found.closed and found.drawn:
        how = "intervals: in closed form for a difference or ratio of one rate, else bootstrapped"
    elif found.closed:
        how = "intervals in closed form"
    else:
        how = "bootstrap intervals"
    return f"Brackets hold {level} {how}. " if found.closed or found.drawn else ""


def _table(rows: list[RequestedRow], report: Report, view: View) -> TextTable:
    first = rows[0]
    where = f" ({place(first.model, first.decision)})" if report.several else ""
    small = {row.group for row in report.groups if row.small and row.attribute == first.attribute}

    def value(row: RequestedRow, name: str) -> TableCell:
        known = row.values[name]
        return p_cell(known.value) if find(name).p_value else fine_cell(known)

    def ideal(name: str) -> TableCell:
        best = find(name).ideal
        return TableCell("" if best is None else f"{best:g}", "", math.nan if best is None else best)

    def verdict(known: Verdict | None) -> TableCell:
        return TableCell(VERDICTS[known] if known else DASH, verdict=known)

    columns: dict[str, Callable[[tuple[RequestedRow, str]], TableCell]] = {
        "group": lambda line: group_cell(line[0].group, line[0].group in small),
        "metric": lambda line: TableCell(line[1]),
        "value": lambda line: value(*line),
        "at best": lambda line: ideal(line[1]),
        "verdict": lambda line: verdict(line[0].verdicts.get(line[1])),
    }
    lines = [(row, name) for row in rows for name in row.values]
    return table_of(f"{first.attribute}, against {first.reference}{where}", columns, *view.cut(lines))


def verdicts(found: Requested) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdicts, by place and metric."""
    for row in found.rows:
        for name, verdict in row.verdicts.items():
            yield Place(row.model, row.decision, row.attribute), name, verdict


BY_NAME = Part[tuple[()], Requested](
    "requested",
    wanted=lambda config: bool(requested_names(config)),
    judge=requested,
    sections=requested_sections,
    data=lambda found: {"requested": found.rows} if found.rows else {},
    verdicts=verdicts,
)
