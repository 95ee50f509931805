"""Metrics asked for by name: values, intervals, tests and verdicts of each group against its reference.

What is tested goes by `Metric.tested`. A difference or ratio of one rate has the interval and the test of
that rate. A largest or absolute value is off its ideal whatever chance does, so that its distance from it
tests nothing: each difference that it is the largest of is tested. It fails where one of these is itself too
large and beyond chance, and passes where all pass. A p-value has the test of its rate. What is best at an end
of its range, such as an accuracy, is never ideal: it fails where it is beyond chance worse than its limit.
Where rows share clusters, other metrics are linearised and have the variance between clusters. Else they are
bootstrapped: rows are drawn again, as many as weighted rows are worth, and the distance
from the ideal is tested by their spread. The multinomial bootstrap of the counts is the bootstrap of the
rows: a drawn table is what counting resampled rows would give. Percentile intervals are too narrow where few
rows are on one side of a rate (at 0 or n their width is zero), so metrics with fewer than `ENOUGH` there have
none. All tests are adjusted together by Holm, apart from the rates of every audit.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from fairbench_cli.audit.compare import clustered_rates, references
from fairbench_cli.audit.compare.compare_rates import Compared, Limits
from fairbench_cli.audit.compare.effective_sizes import rows_per_weight
from fairbench_cli.audit.compare.family import adjust_family
from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.references import REST, REST_NAME, Bools
from fairbench_cli.audit.compare.report import Interval, Pair, Place, Reason, Report
from fairbench_cli.audit.compare.verdict import combine_verdicts, decide_metric, requested_names, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import RIGHT, bounds, canonical, needs_labels
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import SHORT, Part, View
from fairbench_cli.audit.parts.rates import minor_groups
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import VERDICTS, Section, TableCell, TextTable, Verdict
from fairbench_cli.measures import clusters
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import find_metric, measure
from fairbench_cli.measures.significance import normal_p

STEP = 1e-4  # of counts, by which it is seen how a metric changes with them
ENOUGH = 10  # rows in each count behind a metric that is bootstrapped
MOST_GROUPS = 200  # of one slice are bootstrapped; with more, none is
NAMED = ("group", "reference")
POINT = AuditConfig(rule="point")
TESTED: dict[str, str] = {  # what is tested, in words, where it is not the metric itself
    "parts": "A largest or absolute value fails where one of its parts fails, and passes where all pass.",
    "rate": "A p-value fails where the rates differ by the test of an audit, too.",
    "limit": "What is best at an end of its range fails where it is beyond chance worse than its limit.",
}


@dataclass(frozen=True)
class RequestedRow(Pair):
    """The metrics asked for by name, of one group, taken for the deprived one, against its reference."""

    values: dict[str, Interval]
    verdicts: dict[str, Verdict]  # of those that can decide


@dataclass(frozen=True)
class RequestedTest(Pair):
    """What was tested for a metric asked for by name that can decide: the metric, or a part of it.

    Parameters
    ----------
    metric, tested : str
        The metric, and what its test is of; several tests for one that is the largest of several.
    value : Interval
        Of what is tested.
    p, p_holm : float
        Of the hypothesis that it is ideal (or of the limit, see `Metric.tested`), two-sided, and adjusted
        over all tests of metrics asked for by name. NaN where there is no test.
    verdict : {"pass", "fail", "undecided"}
        The metric fails where one of its tests does, and passes where all do.
    reason : {"no rows", "chance", "few", "wide", "constant", ""}
        Why it is not decided.
    """

    metric: str
    tested: str
    value: Interval
    p: float
    p_holm: float
    verdict: Verdict
    reason: Reason


@dataclass(frozen=True)
class Requested:
    """The metrics asked for by name, and how their intervals were made: in closed form, or drawn."""

    rows: tuple[RequestedRow, ...]
    tests: tuple[RequestedTest, ...] = ()
    closed: bool = False
    drawn: bool = False


@dataclass(frozen=True)
class _Tested:
    """A value with its interval, and the p-value of "it is ideal"; NaN where there is none."""

    interval: Interval
    p: float = math.nan
    drawn: bool = False

    @property
    def member(self) -> float:
        """The p-value in its family: 1 where there is no test, NaN where there is no value."""
        if math.isnan(self.interval.value):
            return math.nan
        if math.isnan(self.p):
            return 1.0
        return self.p


def compute_requested(_: tuple[()], base: Report) -> Requested:
    """Return metrics of every group of each slice but the reference, which is that of the selection rate.

    The group is taken for the deprived one and decision 1 for the favourable one. Tests are of the rows that
    weights are worth. There is no interval of a test, where one of the counts behind a metric is below
    `ENOUGH`, and beyond `MOST_GROUPS` groups.
    """
    config = base.config
    names = requested_names(base.config)
    deciding = [name for name in names if bounds(find_metric(name), tau_of(name, config), config.confidence)]
    tests = {name: parts_to_test(find_metric(name)) for name in deciding}
    columns = list(dict.fromkeys(chain.from_iterable(tests.values())))
    tested_pairs = []
    n_other_pairs = 0
    alike = set()
    for group_counts in (
        references.without_excluded_groups(compared_slice, config) for compared_slice in base.slices
    ):
        if group_counts.decided_alike:
            alike.add(group_counts.place)
        slice_pairs = _tested_pairs(group_counts, _names_for(group_counts, (*columns, *names)), config)
        tested_pairs += slice_pairs
        # A reference that the data chose is the extreme one of all pairs: the others count as tests, too.
        if references.is_chosen_by_rate(group_counts, config):
            n_other_pairs += math.comb(len(slice_pairs), 2)
    none = _Tested(Interval(math.nan, math.nan, math.nan))
    members = [[values.get(name, none).member for name in columns] for _, values in tested_pairs]
    p = np.array(members).reshape(len(tested_pairs), len(columns))
    other_pairs = np.ones((n_other_pairs, len(columns)))
    is_named = [_are_named_tests(pair, columns, tests, config) for pair, _ in tested_pairs]
    family = adjust_family([p], pairs=[other_pairs], named=[_mark_pairs(is_named, other_pairs)])
    (adjusted,) = family.adjusted
    rows = []
    decided = []
    for (pair, values), p_values in zip(tested_pairs, adjusted.tolist(), strict=True):
        p_holm = dict(zip(columns, p_values, strict=True))
        verdicts = {}
        for name in filter(values.__contains__, deciding):
            metric_tests = [
                _decide_test(pair, name, test, values, p_holm[test], config) for test in tests[name]
            ]
            if pair.place in alike and find_metric(name).on != "labels":
                metric_tests = list(map(_without_pass, metric_tests))
            verdicts[name] = combine_verdicts(test.verdict for test in metric_tests)
            decided += metric_tests
        intervals = {name: values[name].interval for name in names if name in values}
        if intervals:
            rows.append(RequestedRow(**vars(pair), values=intervals, verdicts=verdicts))
    bounded: set[bool] = set()
    for _pair, tested_by_name in tested_pairs:
        for name in filter(tested_by_name.__contains__, names):
            if not math.isnan(tested_by_name[name].interval.low):
                bounded.add(tested_by_name[name].drawn)
    return Requested(tuple(rows), tuple(decided), closed=False in bounded, drawn=True in bounded)


def _is_of_accuracy(name: str) -> bool:
    """Return whether a metric compares accuracies.

    >>> [_is_of_accuracy(name) for name in ("accuracy-ratio", "accuracy-p", "bcr-difference")]
    [True, True, False]
    """
    entry = find_metric(name)
    return (entry.alias_of or entry.name).startswith(f"{RIGHT}-")


def _names_for(group_counts: Slice, names: Iterable[str]) -> list[str]:
    """Return the metrics that are of a slice: those of accuracy of all classes together."""
    own_names = list(dict.fromkeys(names))
    if group_counts.decision == ALL_CLASSES:
        return [name for name in own_names if _is_of_accuracy(name)]
    if group_counts.class_name is None:
        return own_names
    return [name for name in own_names if not _is_of_accuracy(name)]


def _are_named_tests(
    pair: Pair, columns: Sequence[str], tests: Mapping[str, Sequence[str]], config: AuditConfig
) -> list[bool]:
    """Return which tests of a pair are of a metric that a gate names."""
    watched: set[str] = set()
    for attribute, name in config.watched_metrics:
        if attribute in ("", pair.attribute):
            watched.update(tests.get(canonical(name), ()))
    return [column in watched for column in columns]


def _mark_pairs(is_named: Sequence[Sequence[bool]], other_pairs: Floats) -> Bools:
    """Return the marks of tests with those of other pairs, of which none is named."""
    marks = np.array(is_named, dtype=bool).reshape(len(is_named), other_pairs.shape[1])
    return np.concatenate([marks, np.zeros(other_pairs.shape, dtype=bool)])


def parts_to_test(entry: Metric) -> tuple[str, ...]:
    """Return the names of what is tested for a metric: its parts, its rate, or the metric itself.

    >>> [parts_to_test(find_metric(name)) for name in ("equalised-odds", "chi-squared-p", "phi")]
    [('tpr-difference', 'fpr-difference'), ('selection-rate-difference',), ('phi',)]
    """
    names_by_kind = {"parts": entry.farthest_of, "rate": (f"{entry.equal}-difference",)}
    return names_by_kind.get(entry.tested, (entry.name,))


def _decide_test(
    pair: Pair, name: str, test: str, values: dict[str, _Tested], p_holm: float, config: AuditConfig
) -> RequestedTest:
    """Return the decision of one test on a metric."""
    entry = find_metric(name)
    tau = tau_of(name, config)
    tested = values[test]
    if entry.tested == "parts":
        judged = find_metric(test)
        interval = tested.interval
    else:
        judged = entry
        interval = values[name].interval
    verdict = decide_metric(judged, interval, tau, config, p_holm) or "undecided"
    reason: Reason = ""
    if verdict == "undecided" and math.isnan(interval.value):
        reason = "no rows"
    elif verdict == "undecided" and decide_metric(judged, interval, tau, POINT) == "fail":
        reason = "chance"
        if math.isnan(tested.p):
            reason = "few"
    elif verdict == "undecided":
        if judged.p_value:
            reason = "chance"
        elif math.isnan(interval.low):
            reason = "few"
        else:
            reason = "wide"
    if math.isnan(tested.p):
        p_holm = math.nan
    return RequestedTest(
        **vars(pair),
        metric=name,
        tested=test,
        value=tested.interval,
        p=tested.p,
        p_holm=p_holm,
        verdict=verdict,
        reason=reason,
    )


def _without_pass(test: RequestedTest) -> RequestedTest:
    """Return a test of decisions that are all alike: what passes says nothing of them."""
    if test.verdict == "pass":
        return replace(test, verdict="undecided", reason="constant")
    return test


def _tested_pairs(
    group_counts: Slice, names: Iterable[str], config: AuditConfig
) -> list[tuple[Pair, dict[str, _Tested]]]:
    """Return each group of a slice with its reference, and metrics of the two by name, tested.

    In `names` a metric that is the farthest of several parts comes after these.
    """
    groups = group_counts.counts.groups
    reference_indices = references.find_references(group_counts, ("selection-rate",), config)
    reference = int(reference_indices[0])
    against = REST_NAME
    if reference != REST:
        against = groups[reference]
    other_groups = [
        g for g in np.flatnonzero(references.comparable(group_counts, config)).tolist() if g != reference
    ]
    n, rows_per_unit = _count_pairs(group_counts, other_groups, reference)
    rows = n * rows_per_unit[..., None, None]
    entries = {name: find_metric(name) for name in names}
    forms = {
        name: form for name in entries if (form := find_closed_form(name)) and (rows.sum((2, 3)) > 0).all()
    }
    tables = {
        name: Compared(group_counts, (rate,), reference_indices, config) for name, (rate, _) in forms.items()
    }
    # What is said is of the weights; a test is of the rows that they are worth.
    values = {
        name: measure(entry, Counts(NAMED, rows if entry.is_test else n)).tolist()
        for name, entry in entries.items()
        if name not in forms
    }
    # What moves with the square of a gap has no linear part at no gap: it is always bootstrapped.
    clustered = group_counts.shares_clusters
    plain_rows = _pair_with_reference(group_counts.cell_rows.astype(np.float64), other_groups, reference)
    everybody = float((group_counts.counts.n * rows_per_weight(group_counts)[:, None, None]).sum())
    drawing = config.draws > 0 and everybody > 0 and len(groups) <= MOST_GROUPS
    pairs = []
    for i, g in enumerate(other_groups):
        tested: dict[str, _Tested] = {}
        draws: Counts | None = None  # those of the pair, which all its metrics share
        for name, entry in entries.items():
            if name in forms:
                tested[name] = _rate_test(tables[name], forms[name][1], g)
            elif entry.tested == "parts":
                tested_parts = [tested[test] for test in entry.farthest_of]
                tested[name] = _farthest(entry, values[name][i], tested_parts)
            elif clustered and entry.tested != "rate" and _has_enough_rows(entry, plain_rows[i]):
                cells = clustered_rates.pair_cells(group_counts, g, reference)
                tau = tau_of(name, config)
                tested[name] = _test_by_clusters(entry, values[name][i], n[i], cells, tau, config.confidence)
            elif drawing and not (clustered and entry.tested != "rate") and _has_enough_rows(entry, rows[i]):
                if draws is None:
                    drawn = _draw_pairs(rows[i], everybody, config, (*group_counts.place, groups[g]))
                    draws = Counts(
                        NAMED, drawn / np.where(rows_per_unit[i] > 0, rows_per_unit[i], 1.0)[:, None, None]
                    )
                tau = tau_of(name, config)
                tested[name] = _test_by_draws(
                    entry, values[name][i], measure(name, draws), tau, config.confidence
                )
            else:
                tested[name] = _Tested(Interval(values[name][i], math.nan, math.nan))
        pairs.append((Pair(*group_counts.place, groups[g], against), tested))
    return pairs


def _count_pairs(group_counts: Slice, other_groups: Sequence[int], reference: int) -> tuple[Floats, Floats]:
    """Return the counts of groups and their reference, and how many rows a unit of each is worth.

    Shapes (groups, 2, 2, 2), the last axes labels and predictions, and (groups, 2).
    """
    n = group_counts.counts.n
    rows_per_unit = rows_per_weight(group_counts)
    if reference == REST:
        worth_of_rest = []
        for g in other_groups:
            remaining_groups = [h for h in range(len(n)) if h != g]
            worth_of_rest.append(float(rows_per_weight(group_counts, remaining_groups)))
        of_reference = np.array(worth_of_rest)
    else:
        of_reference = np.full(len(other_groups), rows_per_unit[reference])
    pairs = _pair_with_reference(n, other_groups, reference)
    return pairs, np.stack([rows_per_unit[other_groups], of_reference], axis=1)


def _pair_with_reference(n: Floats, other_groups: Sequence[int], reference: int) -> Floats:
    """Return the counts of groups, each with those of the reference, shape (groups, 2, 2, 2)."""
    favoured = np.broadcast_to(n[reference], n[other_groups].shape)
    if reference == REST:
        favoured = n.sum(0) - n[other_groups]
    return np.stack([n[other_groups], favoured], axis=1)


def _farthest(entry: Metric, value: float, tested_parts: Sequence[_Tested]) -> _Tested:
    """Return a largest value with its interval: from the nearest all parts may be to the farthest of one.

    >>> both = [_Tested(Interval(0.1, -0.3, 0.2)), _Tested(Interval(-0.3, -0.5, -0.1), drawn=True)]
    >>> _farthest(find_metric("equalised-odds"), 0.3, both).interval
    Interval(value=0.3, low=0.1, high=0.5)
    >>> _farthest(find_metric("tpr-worst-ratio"), 0.5, [_Tested(Interval(2.0, 0.8, 4.0))]).interval
    Interval(value=0.5, low=0.25, high=1.0)
    """
    ideal = float(entry.ideal or 0)
    ends = np.array([(tested_part.interval.low, tested_part.interval.high) for tested_part in tested_parts])
    if np.isnan(ends).any():
        return _Tested(Interval(value, math.nan, math.nan))
    within = (ends[:, 0] <= ideal) & (ideal <= ends[:, 1])
    if ideal:
        folded = np.minimum(ends, divide(1.0, ends))
    else:
        folded = np.abs(ends)
    pick = (np.max, np.min)
    if ideal:
        pick = (np.min, np.max)
    far = pick[0](folded, axis=1)
    near = np.where(within, ideal, pick[1](folded, axis=1))
    interval = Interval(value, *sorted((float(pick[0](near)), float(pick[0](far)))))
    return _Tested(interval, drawn=any(tested_part.drawn for tested_part in tested_parts))


def find_closed_form(name: str) -> tuple[str, str] | None:
    """Return the rate and the comparison, where a metric is a difference or ratio of one rate.

    >>> [find_closed_form(name) for name in ("fpr-ratio", "demographic_parity_difference", "phi")]
    [('fpr', 'ratio'), None, None]
    """
    for spelled in (name, find_metric(name).alias_of):
        rate, _, comparison = spelled.rpartition("-")
        rate_definition = RATES.get(rate)
        if (
            rate_definition
            and comparison in ("difference", "ratio")
            and not (rate_definition.of_all or rate_definition.mean_of)
        ):
            return rate, comparison
    return None


def _rate_test(table: Compared, comparison: str, g: int) -> _Tested:
    """Return the difference or ratio of the only rate of a table, with its interval and test."""
    if comparison == "difference":
        interval = table.difference[g, 0]
    else:
        interval = table.ratio[g, 0]
    p = math.nan
    if not table.tests.too_few[g, 0]:
        p = float(table.tests.p[g, 0])
    return _Tested(interval, p)


def _has_enough_rows(entry: Metric, rows: Floats) -> bool:
    """Return whether each of the counts behind a metric of a pair has rows enough, and it is no test."""
    is_test = entry.is_test or math.isinf(entry.low)  # t is without end
    return bool(_counts_behind(entry, rows).min() >= ENOUGH) and not is_test


def _counts_behind(entry: Metric, n: Floats) -> Floats:
    """Return the counts behind a metric of pairs, shape (..., 2, 2, 2)."""
    if entry.on == "labels":
        behind: Floats = n.sum(-1)
    elif needs_labels(entry.name):
        behind = n
    else:
        behind = n.sum(-2)
    return behind


def _test_by_clusters(
    entry: Metric,
    value: float,
    pair: Floats,
    ways: Sequence[tuple[Floats, Floats]],
    tau: float,
    confidence: float,
) -> _Tested:
    """Return a smooth metric of a pair with interval and test by clusters; of ratios, on a logarithm."""
    untested = _Tested(Interval(value, math.nan, math.nan))
    for cells, _ in ways:
        behind = _counts_behind(entry, cells.reshape(-1, 2, 2, 2))
        if (behind > 0).sum(0).min() < clusters.LEAST_CLUSTERS:
            return untested
    scale = np.log if entry.ratio else np.asarray
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = float(scale(np.float64(value)))
        gradient = _gradient(entry, pair, scale)
    if not (math.isfinite(scaled) and np.isfinite(gradient).all()):
        return untested
    sums = []
    for cells, squares in ways:
        way, signs = clusters.gradient_sums(cells, squares, gradient)
        sums.append(way)
    variance, degrees = clusters.linear_variance(sums, signs)
    if not variance > 0:
        return untested
    error = math.sqrt(variance)
    half = float(clusters.t_quantile(degrees, confidence)) * error
    ends = np.array([scaled - half, scaled + half])
    low, high = np.clip(np.exp(ends) if entry.ratio else ends, entry.low, entry.high).tolist()
    p = math.nan
    target = _find_target(entry, value, tau, confidence)
    if target is not None:
        p = float(clusters.t_test_p(np.asarray((scaled - float(scale(np.float64(target)))) / error), degrees))
    return _Tested(Interval(value, low, high), p)


def _gradient(entry: Metric, pair: Floats, scale: Callable[[Any], Any]) -> Floats:
    """Return how a metric of a pair changes with each of its counts, shape (2, 4), by central differences."""
    step = STEP * np.maximum(pair.ravel(), STEP * pair.sum())
    moves = np.diag(step).reshape(-1, 2, 2, 2)
    above, below = (scale(measure(entry, Counts(NAMED, pair + sign * moves))) for sign in (1, -1))
    gradient: Floats = ((above - below) / (2 * step)).reshape(2, 4)
    # Of a count that does nothing, but for rounding.
    return np.where(np.abs(gradient) * pair.reshape(2, 4) > STEP**2, gradient, 0.0)


def _find_target(entry: Metric, value: float, tau: float, confidence: float) -> float | None:
    """Return the value that a metric is tested against: its ideal; or of `limit` the nearest good one."""
    limits = bounds(entry, tau, confidence)
    if entry.tested == "limit" and limits:
        return min(max(value, limits[0]), limits[1])  # the value itself where it is good enough
    return entry.ideal


def _draw_pairs(pair: Floats, everybody: float, config: AuditConfig, stream_key: tuple[str, ...]) -> Floats:
    """Resample all rows, and count those of the pair: a multinomial with the other groups in one cell."""
    cells = np.append(pair.ravel(), max(everybody - pair.sum(), 0.0))
    rng = stream(config.seed, "by name", *stream_key)
    drawn = rng.multinomial(round(cells.sum()), cells / cells.sum(), size=config.draws)[:, :-1]
    return drawn.reshape(-1, *pair.shape).astype(np.float64)


def _test_by_draws(entry: Metric, value: float, drawn: Floats, tau: float, confidence: float) -> _Tested:
    """Return percentiles of draws, and a normal test by their spread; of ratios, on a logarithm."""
    low, high = percentiles(drawn, (1 - confidence) / 2)
    p = math.nan
    target = _find_target(entry, value, tau, confidence)
    if target is not None and not math.isnan(value):
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.log if entry.ratio else np.asarray
            spread = 0.0
            if np.isfinite(drawn).any():
                scaled = scale(drawn)
                spread = float(np.nanstd(scaled[np.isfinite(scaled)]))
            away = float(scale(np.float64(value)) - scale(np.float64(target)))
        if spread > 0 and math.isfinite(away):
            p = float(normal_p(away / spread))
        else:
            p = math.nan
    return _Tested(Interval(value, float(low), float(high)), p, drawn=True)


def percentiles(values: Floats, tail: float) -> Limits:
    """Return order statistics at both tails of the defined draws, outward: (..., draws) becomes (...)."""
    ordered = np.sort(values, axis=-1)  # NaN last
    last_index = np.maximum((~np.isnan(ordered)).sum(-1) - 1, 0)
    ends = np.stack([np.floor(tail * last_index), np.ceil((1 - tail) * last_index)], axis=-1).astype(np.intp)
    low, high = np.moveaxis(np.take_along_axis(ordered, ends, axis=-1), -1, 0)
    return low, high


def requested_sections(requested: Requested, report: Report, view: View) -> tuple[Section, ...]:
    """Return a section of the metrics asked for by name, if any: a table for each attribute."""
    if not requested.rows:
        return ()
    kinds = {find_metric(test.metric).tested for test in requested.tests}
    how = "".join(f" {TESTED[kind]}" for kind in TESTED if kind in kinds)
    level = f"{100 * report.config.confidence:g} %"
    sentences = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"{_describe_intervals(requested, level)}Tests have no interval, and a metric "
        "that is no difference or ratio of one rate has none where one of the counts behind it is below "
        f"{ENOUGH}.{how} These verdicts count with --fail-on alone; p (Holm) is adjusted for all that is "
        f"tested here.{_describe_limits(requested, report.config)}",
    )
    tests = group_by(requested.tests, lambda test: (*test.place, test.group, test.metric))
    slices = group_by(requested.rows, lambda row: (*row.place, row.reference))
    tables = tuple(_table(rows, tests, report, view) for rows in slices.values())
    return (Section("Metrics asked for by name", sentences, tables),)


def short_requested(requested: Requested, report: Report) -> Sequence[Section]:
    """Return each metric asked for by name of the group for which it is worst, an attribute in a line.

    As elsewhere small groups, and those without a value, lead nothing where there is another one.
    """
    small = {(*row.place, row.group) for row in report.groups if row.small}
    minor_by_attribute: dict[str, frozenset[str]] = {}
    for name, rows in group_by(report.groups, lambda row: row.attribute).items():
        minor_by_attribute[name] = minor_groups(rows)

    def is_small(row: RequestedRow) -> bool:
        return (*row.place, row.group) in small

    def is_minor(row: RequestedRow) -> bool:
        return row.group in minor_by_attribute.get(row.attribute, ())

    by_metric = group_by(
        [(row, name) for row in requested.rows for name in row.values],
        lambda entry: (*entry[0].place, entry[1]),
    )
    worst = [
        min(entries, key=lambda entry: (is_minor(entry[0]), *_order_of_value(entry)))
        for entries in by_metric.values()
    ]
    columns: dict[str, Callable[[tuple[RequestedRow, str]], TableCell]] = {
        "attribute": lambda entry: TableCell(entry[0].attribute),
        "metric": lambda entry: TableCell(entry[1]),
        "worst group": lambda entry: formatting.group_cell(entry[0].group, is_small(entry[0])),
        "value": lambda entry: formatting.fine_cell(entry[0].values[entry[1]]),
        "verdict": lambda entry: _verdict(entry[0].verdicts.get(entry[1]), "", math.nan, report),
    }
    table = SHORT.table("", columns, worst)
    return (Section("Metrics asked for by name", tables=(table,)),)


def _order_of_value(entry: tuple[RequestedRow, str]) -> tuple[int, float]:
    """Return the sort key: what fails, what is not decided, what passes; each the farthest from its ideal."""
    row, name = entry
    value = row.values[name].value
    metric = find_metric(name)
    order = {"fail": 0, "undecided": 1, "pass": 2, None: 3}
    if math.isnan(value) or metric.ideal is None:
        return order[row.verdicts.get(name)], 0.0
    if metric.ratio:
        return order[row.verdicts.get(name)], -abs(math.log(value)) if value > 0 else -math.inf
    return order[row.verdicts.get(name)], -abs(value - metric.ideal)


def _describe_limits(requested: Requested, config: AuditConfig) -> str:
    """Return within which limits what is tested passes."""
    names_by_limits: dict[str, list[str]] = {}
    for metric, tested in dict.fromkeys((test.metric, test.tested) for test in requested.tests):
        entry = find_metric(tested if find_metric(metric).tested == "parts" else metric)
        limits = bounds(entry, tau_of(metric, config), config.confidence)
        if limits:
            low = max(limits[0], entry.low)
            high = min(limits[1], entry.high)
            names_by_limits.setdefault(f"from {low:.3g} to {high:.3g}", []).append(entry.name)
    clauses = "; ".join(
        f"{join_names(list(dict.fromkeys(names)))} {limits}" for limits, names in names_by_limits.items()
    )
    if clauses:
        return f" Allowed: {clauses}."
    return ""


def _describe_intervals(requested: Requested, level: str) -> str:
    """Return how the intervals were made, if there are any."""
    how = INTERVALS.get((requested.closed, requested.drawn))
    if how:
        return f"Brackets hold {level} {how}. "
    return ""


INTERVALS = {  # by whether some are in closed form, and some drawn
    (True, True): "intervals, each for itself: in closed form for a difference or ratio of one rate and the "
    "largest of such, else bootstrapped",
    (True, False): "intervals in closed form, each for itself",
    (False, True): "bootstrap intervals, each for itself",
}


def _table(
    rows: list[RequestedRow], tests: Mapping[Any, list[RequestedTest]], report: Report, view: View
) -> TextTable:
    """Return the metrics of each group, each followed by the differences that it is the largest of."""
    first_row = rows[0]
    small = {row.group for row in report.groups if row.small and row.attribute == first_row.attribute}
    lines = []
    for row in rows:
        group = formatting.group_cell(row.group, row.group in small)
        for name, interval in row.values.items():
            entry = find_metric(name)
            tested = tests.get((*row.place, row.group, name), [])
            verdict = row.verdicts.get(name)
            if verdict == "undecided":
                reasons = {test.reason for test in tested}
            else:
                reasons = set()
            reason: Reason = next(
                (possible_reason for possible_reason in formatting.REASONS if possible_reason in reasons), ""
            )
            least_p = min((test.p_holm for test in tested if not math.isnan(test.p_holm)), default=math.nan)
            if entry.p_value:
                value = formatting.p_cell(interval.value)
            else:
                value = formatting.fine_cell(interval)
            best = NOTHING
            if entry.ideal is not None:
                best = TableCell(f"{entry.ideal:g}", "", entry.ideal)
            part_tests = []
            p_cells = _p_cells(None)
            if entry.tested == "parts":
                part_tests = tested
            elif tested:
                p_cells = _p_cells(tested[0])
            verdict_cell = _verdict(verdict, reason, least_p, report)
            lines.append((group, TableCell(name), value, best, *p_cells, verdict_cell))
            for test in part_tests:
                part_cell = TableCell(f"of which {test.tested}")
                value = formatting.fine_cell(test.value)
                decided = _verdict(test.verdict, test.reason, test.p_holm, report)
                lines.append((group, part_cell, value, NOTHING, *_p_cells(test), decided))
    heads = ("group", "metric", "value", "at best", "p", "p (Holm)", "verdict")
    if view.brief:
        heads = _without_best(heads)
        lines = [_without_best(line) for line in lines]
    where = ""
    if report.several:
        where = f" ({formatting.format_place(first_row.model, first_row.decision)})"
    title = f"{first_row.attribute}, against {first_row.reference}{where}"
    shown_lines, remark = view.cut(lines)
    return TextTable(title, heads, tuple(shown_lines), remark)


NOTHING = TableCell("", "", math.nan)


def _without_best(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    return cells[:3] + cells[4:]


def _p_cells(test: RequestedTest | None) -> tuple[TableCell, TableCell]:
    if test is None:
        return formatting.p_cell(math.nan), formatting.p_cell(math.nan)
    return formatting.p_cell(test.p), formatting.p_cell(test.p_holm)


def _verdict(verdict: Verdict | None, reason: Reason, p_holm: float, report: Report) -> TableCell:
    why = formatting.describe_reason(reason, p_holm, report.config.confidence)
    if verdict:
        verdict_text = VERDICTS[verdict] + (f": {why}" if why else "")
    else:
        verdict_text = formatting.DASH
    return TableCell(verdict_text, verdict=verdict)


def verdicts(requested: Requested) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdicts, by place and metric."""
    for row in requested.rows:
        for name, verdict in row.verdicts.items():
            yield Place(*row.place), name, verdict


def _select_json(requested: Requested) -> dict[str, object]:
    """Return the rows and tests for JSON, without those that are empty."""
    rows_by_key = {"requested": requested.rows, "requested_tests": requested.tests}
    return {key: rows for key, rows in rows_by_key.items() if rows}


BY_NAME = Part[tuple[()], Requested](
    "requested",
    judge=compute_requested,
    found_type=Requested,
    sections=requested_sections,
    short=short_requested,
    data=_select_json,
    verdicts=verdicts,
)
