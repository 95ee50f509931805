"""Metrics asked for by name: values, intervals, tests and verdicts of each group against its reference.

A difference or ratio of one rate has the interval and the test of that rate. Other metrics are bootstrapped:
rows are drawn again, as many as weighted rows are worth, and the distance from the ideal is tested by their
spread. All that can decide are adjusted together by Holm, apart from the rates of every audit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.effective import rows_per_weight
from fairbench_cli.audit.judge.evidence import find_tests
from fairbench_cli.audit.judge.references import (
    REST,
    REST_NAME,
    both_parts,
    chosen_by_rate,
    comparable,
    references,
)
from fairbench_cli.audit.judge.report import Interval, RequestedRow
from fairbench_cli.audit.judge.uncertainty import (
    ENOUGH,
    MOST_GROUPS,
    percentiles,
    stream,
    uncertainty,
    with_limits,
)
from fairbench_cli.audit.judge.verdict import decide_metric, tau_of
from fairbench_cli.audit.metrics import bounds, needs_labels
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import find, measure
from fairbench_cli.measures.significance import holm, normal_p


@dataclass(frozen=True)
class _Tested:
    """A value with its interval, and the p-value of "it is ideal"; NaN where there is none."""

    of: Interval
    p: float


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The groups of a slice and their references: weights summed, and what a unit of these is worth in rows.

    `n` has the shape (pairs, 2, 2, 2): group and reference, labels, predictions; `worth` (pairs, 2).
    """

    groups: tuple[int, ...]
    at: int
    n: Floats
    worth: Floats
    everybody: float


def requested_rows(
    slices: Sequence[Slice], names: Sequence[str], config: AuditConfig
) -> list[list[RequestedRow]]:
    """Return metrics of every group of each slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Tests are of the rows that
    weights are worth. There is no interval of a test, where one of the counts behind a metric is below
    `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    if not names:
        return [[] for _ in slices]
    pairs = [_pairs(part, config) for part in slices]
    found = [
        {name: _tested(part, each, name, config) for name in names}
        for part, each in zip(slices, pairs, strict=True)
    ]
    deciding = [name for name in names if bounds(find(name), tau_of(name, config), config.confidence)]
    p = [
        math.nan if math.isnan(one.of.value) else 1.0 if math.isnan(one.p) else one.p
        for of_slice in found
        for name in deciding
        for one in of_slice[name]
    ]
    # A reference that the data chose is the extreme one of all pairs: the others count as tests, too.
    more = [len(each.groups) * (len(each.groups) - 1) // 2 for each in pairs]
    others = sum(
        many * len(deciding) for many, part in zip(more, slices, strict=True) if chosen_by_rate(part, config)
    )
    adjusted = iter(holm([*p, *[1.0] * others]).tolist())
    p_holm = [{name: [next(adjusted) for _ in each.groups] for name in deciding} for each in pairs]
    return [
        [_row(part, each, i, values, by_name, config) for i in range(len(each.groups))]
        for part, each, values, by_name in zip(slices, pairs, found, p_holm, strict=True)
    ]


def _row(
    part: Slice,
    pairs: _Pairs,
    i: int,
    values: dict[str, list[_Tested]],
    p_holm: dict[str, list[float]],
    config: AuditConfig,
) -> RequestedRow:
    groups = part.counts.groups
    verdicts: dict[str, Verdict] = {}
    for name, adjusted in p_holm.items():
        known = decide_metric(find(name), values[name][i].of, tau_of(name, config), config, adjusted[i])
        if known is not None:
            verdicts[name] = known
    reference = REST_NAME if pairs.at == REST else groups[pairs.at]
    row = {name: of_pairs[i].of for name, of_pairs in values.items()}
    return RequestedRow(*part.place, groups[pairs.groups[i]], reference, row, verdicts)


def _pairs(part: Slice, config: AuditConfig) -> _Pairs:
    n, worth = part.counts.n, rows_per_weight(part)
    at = int(references(part, ("selection-rate",), config)[0])
    others = [g for g in np.flatnonzero(comparable(part, config)).tolist() if g != at]
    favoured = n.sum(0) - n[others] if at == REST else np.broadcast_to(n[at], n[others].shape)
    ref_worth = np.full(len(others), 1.0 if at == REST else worth[at])
    if at == REST:
        every = range(len(n))
        ref_worth = np.array([float(rows_per_weight(part, [h for h in every if h != g])) for g in others])
    both = np.stack([n[others], favoured], axis=1)
    each_worth = np.stack([worth[others], ref_worth], axis=1)
    everybody = float((n * worth[:, None, None]).sum())
    return _Pairs(tuple(others), at, both, each_worth, everybody)


def _tested(part: Slice, pairs: _Pairs, name: str, config: AuditConfig) -> list[_Tested]:
    """Return a metric of each pair."""
    entry, closed = find(name), closed_form(name)
    rows = pairs.n * pairs.worth[:, :, None, None]
    named = ("group", "reference")
    values = measure(name, Counts(named, rows if entry.is_test else pairs.n))
    if closed and not (rows.sum((2, 3)) <= 0).any():
        return _of_rate(part, pairs, *closed, config)
    drawing = config.draws > 0 and pairs.everybody > 0 and len(part.counts.groups) <= MOST_GROUPS
    found = []
    for i, g in enumerate(pairs.groups):
        value = float(values[i])
        plain = _Tested(Interval(value, math.nan, math.nan), value if entry.p_value else math.nan)
        if drawing and _enough(entry, rows[i]):
            drawn = _draw(rows[i], pairs.everybody, config, (*part.place, part.counts.groups[g]))
            drawn = drawn / np.where(pairs.worth[i] > 0, pairs.worth[i], 1.0)[:, None, None]
            plain = _of_draws(entry, value, measure(name, Counts(named, drawn)), config.confidence)
        found.append(plain)
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


def _of_rate(part: Slice, pairs: _Pairs, rate: str, comparison: str, config: AuditConfig) -> list[_Tested]:
    """Return the difference or ratio of one rate, with its interval and test."""
    at = np.array([pairs.at], dtype=np.intp)
    tests = find_tests(part, (rate,), at, np.array([config.tau]), config)
    found = uncertainty((rate,), tests.rows, tests.ref, config.confidence)
    limits = found.difference if comparison == "difference" else found.ratio
    above, below, ref_above, ref_below = both_parts(part.counts.n, (rate,), at)
    own, other = divide(above, below), divide(ref_above, ref_below)
    of = own - other if comparison == "difference" else divide(own, other)
    p = np.where(tests.few, np.nan, tests.p)[:, 0]
    return [_Tested(with_limits(of, limits, g, 0, False), float(p[g])) for g in pairs.groups]


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
    return _Tested(Interval(value, float(low), float(high)), p)
