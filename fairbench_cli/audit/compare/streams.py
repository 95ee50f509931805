"""Slices that have an order, such as months: one stream of rows, which is looked at after each slice.

An audit of a file that grows is read again and again. Were each slice tested, or all rows at each look, a
fair world would fail sooner or later. So each comparison has evidence that may be read at every look
(`measures.sequential`), its p-value takes the place of the test in the family of a look, and the comparison

* **fails** where that p-value, after Holm, is below 5 % and the ratio since the slice from which the evidence
  is largest is outside the limits: a long fair past does not hide what came after it;
* **passes** where the limits of the ratio which hold at all looks are within those that are allowed.

Slices may each move the gap for themselves. Before the seventh, and once they scatter, it fails by evidence
beyond their scatter (`measures.month_effects`) and passes by the limits of a mean of slices, which are shown
once they scatter.

Of a rate that has a margin it is the difference, and its limits.

What a slice shows by itself is kept as a description.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.compare.clustered_streams import SliceSums, compare_pair
from fairbench_cli.audit.compare.compare_rates import (
    Allowed,
    Compared,
    Evidence,
    Limits,
    Look,
    Tests,
    adjust_tests,
    compare_slice,
    decide_point,
    make_report,
)
from fairbench_cli.audit.compare.effective_sizes import group_rate_rows, is_share, rate_rows
from fairbench_cli.audit.compare.family import family_rates, find_copies, named_rates
from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.compare.report import Interval, Report, StreamLook, Streams
from fairbench_cli.audit.compare.slice_order import are_strata, cumulate_slices
from fairbench_cli.audit.compare.verdict import combine_verdicts, decide_attributes
from fairbench_cli.audit.config import AuditConfig, Months
from fairbench_cli.audit.metrics import COMPARED, defined
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures import month_effects, sequential
from fairbench_cli.measures.counts import Floats, divide

LOOK_NUMBERS = tuple(
    field.name for field in fields(sequential.RatioLooks) if field.name not in ("tuning", "start_look")
)
MOST_LOG_EVIDENCE = 500.0  # that is written out: more is no larger in words


@dataclass(frozen=True, eq=False)
class WeightSums:
    """Sums behind weighted rates, slice by slice: arrays of shape (groups, rates, slices).

    Squared weights of the selected and of all, and how many rows these are; `is_share` marks shares of a
    list.
    """

    selected_square: Floats
    square: Floats
    n_selected: Floats
    n_rows: Floats
    is_share: Bools


@dataclass(frozen=True, eq=False)
class SliceRows:
    """Rows behind rates, slice by slice: arrays of shape (groups, rates, slices).

    `numerator` and `denominator` are what the rows are worth, `selected` and `total` sums of their weights;
    `scaled` says where rows are worth less than they are; `weights` has the sums for these.
    """

    numerator: Floats
    denominator: Floats
    selected: Floats
    total: Floats
    scaled: Bools
    weights: WeightSums | None = None

    def take(self, groups: Ints) -> "SliceRows":
        """Return the rows of other groups: one for each place, or for each place and rate."""
        columns = np.arange(self.numerator.shape[1])
        if groups.ndim == 1:
            groups = groups[:, None]
        weights = None
        if self.weights is not None:
            weights = WeightSums(*(values[groups, columns] for values in vars(self.weights).values()))
        return SliceRows(
            self.numerator[groups, columns],
            self.denominator[groups, columns],
            self.selected[groups, columns],
            self.total[groups, columns],
            self.scaled[groups, columns],
            weights,
        )


@dataclass(frozen=True, eq=False)
class RatioCounts:
    """Weights selected and in all, of groups and of their references; arrays of one shape."""

    selected: Floats
    total: Floats
    ref_selected: Floats
    ref_total: Floats

    @property
    def ratio(self) -> Floats:
        """The ratios of the rates."""
        return divide(divide(self.selected, self.total), divide(self.ref_selected, self.ref_total))

    @property
    def difference(self) -> Floats:
        """The differences of the rates."""
        return divide(self.selected, self.total) - divide(self.ref_selected, self.ref_total)

    def decide(self, index: tuple[int, int, int], allowed: Allowed) -> Verdict:
        """Return whether the gap of a group, rate and look is allowed."""
        selected, total, ref_selected, ref_total = (float(values[index]) for values in vars(self).values())
        return decide_point((selected, total, ref_selected, ref_total), allowed, index[1])


@dataclass(frozen=True, eq=False)
class StreamTests:
    """Groups and their references over all slices: arrays of shape (groups, rates, looks).

    Parameters
    ----------
    evidence : MonthsEvidence
        Against equal rates in each slice; `p` and `start` are those by which it is judged.
    months : MonthsTests
        What single slices do.
    outside : float array
        P-values of "the ratio lies within τ", or the difference within its margin, which hold at all looks.
    within : bool array
        Whether the limits of the ratio lie within τ, or those of the difference within its margin.
    limits, difference_limits : two float arrays
        Of the ratio and of the difference.
    so_far, since : RatioCounts
        Of all slices so far, and of those since the start from which the evidence is largest.
    """

    evidence: sequential.MonthsEvidence
    months: "MonthsTests"
    outside: Floats
    within: Bools
    limits: Limits
    difference_limits: Limits
    so_far: RatioCounts
    since: RatioCounts


@dataclass(frozen=True, eq=False)
class MonthsTests:
    """What single slices do to a gap: arrays of shape (groups, rates, looks).

    Parameters
    ----------
    p_same : float array
        P-values of "the gap is the same in all slices"; NaN where rows share clusters.
    log_e : float array
        ln of the evidence beyond the scatter of slices; NaN likewise.
    decides : bool array
        Where that is what a comparison is judged by.
    spread : float array
        The standard deviation of differences from slice to slice; NaN where limits are of rows.
    """

    p_same: Floats
    log_e: Floats
    decides: Bools
    spread: Floats


@dataclass(frozen=True, eq=False)
class AttributeStream:
    """An attribute over all slices.

    Parameters
    ----------
    groups, names : tuples of str
        The groups of all slices, and the rates.
    slices, so_far : tuples of Slice
        In their order; and at each look the slices until then as one.
    rows, rows_of_rest : SliceRows
        Of each group, and of everybody else.
    """

    groups: tuple[str, ...]
    names: tuple[str, ...]
    slices: tuple[Slice, ...]
    so_far: tuple[Slice, ...]
    rows: SliceRows
    rows_of_rest: SliceRows


def are_stream(slices: Sequence[Slice], config: AuditConfig) -> bool:
    """Return whether slices are looks at a stream: they have an order, and chance is looked at."""
    if config.sliced_by is None or config.rule == "point":
        return False
    return not are_strata(slices, config)


def compare_stream(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig, common: AuditConfig, **extra: Any
) -> Report:
    """Return the comparisons of slices that are looks at a stream, each judged by all slices up to it.

    The parameters are those of `compare_rates.compare_slices`.
    """
    inside = [references.without_excluded_groups(group_counts, config) for group_counts in slices]
    by_attribute = group_by(inside, lambda group_counts: group_counts.attribute)
    streams = [_read_attribute(of_attribute) for of_attribute in by_attribute.values()]
    looks = tuple(dict.fromkeys(group_counts.model for group_counts in slices))
    tests_by_references: dict[tuple[str, bytes], StreamTests] = {}
    tests_by_pairs: dict[tuple[str, bytes], StreamTests] = {}

    tables: list[Compared] = []
    evidence: list[Evidence] = []
    seen: list[StreamLook] = []
    for look in range(len(looks)):
        tables_so_far = []
        tests_so_far = []
        of_streams = []
        for stream in streams:
            table = compare_slice(stream.so_far[look], stream.names, common)
            reference_indices = _indices_in_stream(table, stream)
            key = stream.slices[0].attribute, reference_indices.tobytes()
            if key not in tests_by_references:
                tests_by_references[key] = _test_groups(stream, reference_indices, table.allowed, config)
            of_stream = tests_by_references[key]
            table, tests = _look_at(table, stream, of_stream, tests_by_pairs, look)
            tables_so_far.append(table)
            tests_so_far.append(tests)
            of_streams.append(of_stream)
        evidence_so_far = adjust_tests(
            tests_so_far,
            [family_rates(table.group_counts, table.names, deciding, common) for table in tables_so_far],
            common,
            [named_rates(table.group_counts, table.names, deciding, common) for table in tables_so_far],
            _find_copies(tables_so_far, streams, look),
        )
        for i, stream in enumerate(streams):
            table = tables_so_far[i]
            table_evidence = evidence_so_far[i]
            seen += _list_looks(table, table_evidence, stream, of_streams[i], looks, look)
            table, table_evidence = _as_slice(table, table_evidence, stream.slices[look])
            tables.append(table)
            evidence.append(table_evidence)

    report = make_report(slices, tables, evidence, deciding, config, common, **extra)
    without_slices = config.model_copy(update={"sliced_by": None})
    together = make_report(
        [table.group_counts for table in tables_so_far],
        tables_so_far,
        evidence_so_far,
        deciding,
        without_slices,
        common,
        source=report.source,
        rows=report.rows,
        weighted=report.weighted,
        ones=report.ones,
        found={"rates": None},
    )
    verdicts = decide_attributes(together, {})
    verdict = combine_verdicts(row.verdict for row in verdicts)
    together = replace(together, verdicts=verdicts, verdict=verdict)
    return replace(report, streams=Streams(together, tuple(seen)))


def _read_attribute(slices: Sequence[Slice]) -> AttributeStream:
    """Return an attribute over slices, given those of its slices."""
    names = defined(COMPARED, slices[0].labelled)
    decision = _decision_of(slices)
    so_far = cumulate_slices(slices, decision)
    groups = so_far[-1].counts.groups
    index_of_group = {group: g for g, group in enumerate(groups)}
    shape = (len(groups), len(names), len(slices))
    rows = _make_rows(shape)
    rows_of_rest = _make_rows(shape)
    everybody_else = np.full(len(names), REST)
    for i, group_counts in enumerate(slices):
        indices = [index_of_group[group] for group in group_counts.counts.groups]
        weights, n_rows, squares = (
            references.rates_and_references(cells, names, everybody_else) for cells in group_counts.cells
        )
        sides = (
            (rows, group_rate_rows(group_counts, names), slice(0, 2)),
            (rows_of_rest, rate_rows(group_counts, names, everybody_else)[1], slice(2, 4)),
        )
        for side, worth, columns in sides:
            selected, total = weights[columns]
            side.numerator[indices, :, i] = np.nan_to_num(worth.numerator)
            side.denominator[indices, :, i] = np.nan_to_num(worth.denominator)
            side.selected[indices, :, i] = np.nan_to_num(selected)
            side.total[indices, :, i] = np.nan_to_num(total)
            side.scaled[indices, :, i] = worth.scaled
            if side.weights is not None:
                side.weights.selected_square[indices, :, i] = np.nan_to_num(squares[columns][0])
                side.weights.square[indices, :, i] = np.nan_to_num(squares[columns][1])
                side.weights.n_selected[indices, :, i] = np.nan_to_num(n_rows[columns][0])
                side.weights.n_rows[indices, :, i] = np.nan_to_num(n_rows[columns][1])
                side.weights.is_share[indices, :, i] = is_share(names)
    return AttributeStream(groups, names, tuple(slices), tuple(so_far), rows, rows_of_rest)


def _make_rows(shape: tuple[int, ...]) -> SliceRows:
    """Return rows to be filled in: none in any slice."""
    numerator, denominator, selected, total = np.zeros((4, *shape))
    none = np.zeros(shape, dtype=bool)
    selected_square, square, n_selected, n_rows = np.zeros((4, *shape))
    weights = WeightSums(selected_square, square, n_selected, n_rows, none.copy())
    return SliceRows(numerator, denominator, selected, total, none, weights)


def _decision_of(slices: Sequence[Slice]) -> str:
    """Return the decision of slices as one: a top list has other ties in each."""
    decisions = {group_counts.decision for group_counts in slices}
    if len(decisions) == 1:
        return decisions.pop()
    return min(decisions, key=len).partition(" (")[0]


def _indices_in_stream(table: Compared, stream: AttributeStream) -> Ints:
    """Return the references of a table, as indices of the groups of the stream."""
    groups = table.group_counts.counts.groups
    indices = [g if g == REST else stream.groups.index(groups[g]) for g in table.reference_indices.tolist()]
    return np.array(indices, dtype=np.intp)


def _test_groups(
    stream: AttributeStream, reference_indices: Ints, allowed: Allowed, config: AuditConfig
) -> StreamTests:
    """Return the tests of each group against references."""
    if stream.so_far[-1].shares_clusters:
        shape = stream.rows.numerator.shape[:2]
        all_groups = np.arange(len(stream.groups))
        indices = np.broadcast_to(reference_indices, shape)
        return _clustered_tests(stream, all_groups, indices, allowed, config.alpha)
    if (reference_indices == REST).all():
        ref = stream.rows_of_rest
    else:
        ref = stream.rows.take(np.broadcast_to(reference_indices, stream.rows.numerator.shape[:2]))
    list_totals = _list_totals(stream, stream.rows.numerator)
    return stream_tests(stream.rows, ref, allowed, config.alpha, list_totals, config.months)


def _list_totals(stream: AttributeStream, selected: Floats) -> Floats:
    """Return how long the list is of which rates are shares, (rates, slices); NaN of other rates."""
    return np.where(is_share(stream.names)[:, None], selected.sum(0), np.nan)


def stream_tests(
    rows: SliceRows,
    ref: SliceRows,
    allowed: Allowed,
    alpha: float,
    list_totals: ArrayLike = np.nan,
    months: Months | None = None,
) -> StreamTests:
    """Return the tests of rates against those of references, at each look.

    `list_totals` is how long the list is of which rates are shares, NaN of other rates; `months` is what is
    said of slices.
    """
    counts = (rows.numerator, rows.denominator, ref.numerator, ref.denominator)
    looks = rows.numerator.shape[-1]
    is_exact = ~(rows.scaled.any(-1) | ref.scaled.any(-1))
    log_e = np.empty((*rows.numerator.shape, looks))
    log_e[is_exact] = sequential.exact_log_evidence(
        sequential.conditional_log_likelihood(*(side[is_exact] for side in counts))
    )
    score, variance = sequential.score_and_variance(*counts)
    ratios = sequential.ratio_looks(*counts)
    if rows.weights is not None and ref.weights is not None:
        score, variance = _weighted_scores(rows, rows.weights, ref, ref.weights)
        if not is_exact.all():
            is_share_of_list = (rows.weights.is_share | ref.weights.is_share).any(-1)
            by_worth = np.asarray(is_exact | is_share_of_list)
            by_weights = sequential.weighted_ratio_looks(
                ratios, _weighted_rows(rows, rows.weights), _weighted_rows(ref, ref.weights)
            )
            ratios = _choose_looks(by_worth, ratios, by_weights)
    log_e[~is_exact] = sequential.normal_log_evidence(score[~is_exact], variance[~is_exact])
    ratios = _weigh_shares(ratios, list_totals)
    evidence = sequential.mix_starts(log_e)
    estimate = divide(score, variance)
    same = month_effects.compare_months(estimate, divide(1, variance))
    beyond = sequential.mix_starts(month_effects.log_evidence_beyond_months(estimate, divide(1, variance)))
    scatter = np.full(same.p.shape, months == "differ")
    decides = scatter
    if months is None:
        scatter = same.differ
        decides = same.may_differ
    p = np.where(decides, beyond.p, evidence.p)
    start = np.where(decides, beyond.start, evidence.start)
    of_months = MonthsTests(same.p, beyond.log_e, decides, np.full(same.p.shape, np.nan))
    tests = _make_tests(
        sequential.MonthsEvidence(evidence.log_e, p, start), of_months, ratios, rows, ref, allowed, alpha
    )
    if not decides.any():
        return tests
    return _bound_by_months(tests, scatter & ratios.has_limits, rows, ref, allowed, alpha, list_totals)


def _bound_by_months(
    tests: StreamTests,
    scatter: Bools,
    rows: SliceRows,
    ref: SliceRows,
    allowed: Allowed,
    alpha: float,
    list_totals: ArrayLike,
) -> StreamTests:
    """Return tests that go by limits of a mean of slices where these decide; shown where slices `scatter`.

    At look t these have the level α / (t (t + 1)), so that they hold at all looks; those that are shown are
    of this look, wide enough to hold the gap of all rows.
    """
    decides = tests.months.decides
    lengths = np.broadcast_to(list_totals, scatter.shape)
    shares = ~np.isnan(lengths)
    n_rows = [np.where(shares, lengths, side.denominator) for side in (rows, ref)]
    ratio, difference = month_effects.pool_gaps((rows.numerator, n_rows[0], ref.numerator, n_rows[1]), shares)
    looks = np.arange(1.0, scatter.shape[-1] + 1)
    n_levels = looks * (looks + 1)
    by_margin = np.broadcast_to(allowed.by_margin[:, None], scatter.shape)
    edges = np.where(by_margin, allowed.margins[:, None], -np.log(allowed.ratio_limits)[:, None])
    judged = month_effects.MonthsMean(
        *(np.where(by_margin, getattr(difference, name), value) for name, value in vars(ratio).items())
    )
    lowest, highest = judged.limits(alpha / n_levels)
    p = np.where(np.abs(judged.mean) > edges, judged.p_at(np.copysign(edges, judged.mean)), 1.0)
    low, high = (np.clip(limit, -sequential.EDGE, sequential.EDGE) for limit in ratio.limits(alpha))
    ratio_limits = (
        np.where(low > -sequential.EDGE, np.exp(low), 0.0),
        np.where(high < sequential.EDGE, np.exp(high), np.inf),
    )
    difference_limits = (np.clip(limit, -1.0, 1.0) for limit in difference.limits(alpha))
    return replace(
        tests,
        months=replace(tests.months, spread=np.where(scatter, difference.spread, np.nan)),
        outside=np.where(decides, np.minimum(p * n_levels, 1.0), tests.outside),
        within=np.where(decides, (lowest >= -edges) & (highest <= edges), tests.within),
        limits=_replace_limits(scatter, ratio_limits, tests.limits, tests.so_far.ratio),
        difference_limits=_replace_limits(
            scatter, difference_limits, tests.difference_limits, tests.so_far.difference
        ),
    )


def _replace_limits(chosen: Bools, limits: Iterable[Floats], others: Limits, inside: Floats) -> Limits:
    """Return limits, wide enough to hold a value, where they are `chosen`, else the others."""
    low, high = limits
    return (
        np.where(chosen, np.fmin(low, inside), others[0]),
        np.where(chosen, np.fmax(high, inside), others[1]),
    )


def _weigh_shares(ratios: sequential.RatioLooks, list_totals: ArrayLike) -> sequential.RatioLooks:
    """Return looks in which differences of shares are of their list, as h x/n of one is x/2."""
    halves = np.cumsum(np.broadcast_to(list_totals, ratios.weight_sum.shape) / 2, axis=-1)
    return replace(ratios, weight_sum=np.where(np.isnan(halves), ratios.weight_sum, halves))


def _weighted_rows(rows: SliceRows, weights: WeightSums) -> sequential.WeightedRows:
    """Return the sums of weighted rows behind the limits of a ratio."""
    return sequential.WeightedRows(
        rows.selected,
        rows.total,
        weights.selected_square,
        weights.square,
        weights.n_selected,
        weights.n_rows,
    )


def _choose_looks(
    are_first: Bools, first: sequential.RatioLooks, second: sequential.RatioLooks
) -> sequential.RatioLooks:
    """Return the looks of the first where `are_first`, of shape (groups, rates), and else of the second."""
    chosen = {}
    for name in LOOK_NUMBERS:
        chosen[name] = np.where(are_first[..., None], getattr(first, name), getattr(second, name))
    return replace(first, **chosen)


def _weighted_scores(
    rows: SliceRows, weights: WeightSums, ref: SliceRows, ref_weights: WeightSums
) -> tuple[Floats, Floats]:
    """Return the scores of weighted rows and their variances; of a list who of the selected is whose."""
    shares = weights.is_share | ref_weights.is_share
    selected = rows.selected + ref.selected
    total = rows.total + ref.total
    n_selected = weights.n_selected + ref_weights.n_selected
    n_rows = np.where(shares, n_selected, weights.n_rows + ref_weights.n_rows)
    p = np.where(shares, 0.0, np.nan_to_num(divide(selected, total)))
    selected_square = weights.selected_square + ref_weights.selected_square
    square = np.where(shares, selected_square, weights.square + ref_weights.square)
    squares = (1 - p) ** 2 * selected_square + p**2 * (square - selected_square)
    beyond = np.where(shares, (rows.selected - ref.selected) / 2, rows.selected - p * rows.total)
    weight = divide(np.where(shares, selected, total), n_rows)
    pairs = divide(weights.n_rows * ref_weights.n_rows, n_rows * (n_rows - 1))
    _, plain_variance = sequential.score_and_variance(
        weights.n_selected, weights.n_rows, ref_weights.n_selected, ref_weights.n_rows
    )
    plain_variance = np.where(shares, n_selected / 4, plain_variance)
    pairs = np.where(shares, 0.25, pairs)
    return sequential.weighted_score(beyond, squares, weight, plain_variance, pairs)


def _clustered_tests(
    stream: AttributeStream, groups: Ints, reference_indices: Ints, allowed: Allowed, alpha: float
) -> StreamTests:
    """Return the tests of groups against references, (groups, rates), where rows share clusters."""
    shape = (*reference_indices.shape, len(stream.slices))
    log_e = np.zeros(shape)
    by_look = {name: np.zeros(shape) for name in LOOK_NUMBERS}
    tuning = np.ones(shape[:-1])
    start_look = np.zeros(shape[:-1], dtype=np.intp)
    for i, g in enumerate(groups.tolist()):
        mine = SliceSums(stream.rows.selected[g], stream.rows.total[g])
        for reference in dict.fromkeys(reference_indices[i].tolist()):
            if reference == g:
                continue
            if reference == REST:
                name = None
                theirs = SliceSums(stream.rows_of_rest.selected[g], stream.rows_of_rest.total[g])
            else:
                name = stream.groups[reference]
                theirs = SliceSums(stream.rows.selected[reference], stream.rows.total[reference])
            pair = compare_pair(stream.slices, stream.names, stream.groups[g], name, (mine, theirs))
            columns = reference_indices[i] == reference
            log_e[i, columns] = pair.log_e[columns]
            tuning[i, columns] = pair.ratios.tuning[columns]
            start_look[i, columns] = pair.ratios.start_look[columns]
            for field, values in by_look.items():
                values[i, columns] = getattr(pair.ratios, field)[columns]
    ratios = sequential.RatioLooks(**by_look, tuning=tuning, start_look=start_look)
    ratios = _weigh_shares(ratios, _list_totals(stream, stream.rows.selected))
    if (reference_indices == REST).all():
        ref = stream.rows_of_rest.take(groups)
    else:
        ref = stream.rows.take(reference_indices)
    none = np.full(shape, np.nan)
    of_months = MonthsTests(none, none, np.zeros(shape, dtype=bool), none)
    evidence = sequential.start_at_first(log_e)
    return _make_tests(evidence, of_months, ratios, stream.rows.take(groups), ref, allowed, alpha)


def _make_tests(
    evidence: sequential.MonthsEvidence,
    months: MonthsTests,
    ratios: sequential.RatioLooks,
    rows: SliceRows,
    ref: SliceRows,
    allowed: Allowed,
    alpha: float,
) -> StreamTests:
    """Return the tests, given the evidence and what is known of ratios."""
    taus = allowed.ratio_limits[:, None]
    margins = allowed.margins[:, None]
    by_margin = allowed.by_margin[:, None]
    at_low = ratios.log_evidence(taus, alpha)
    at_high = ratios.log_evidence(1 / taus, alpha)
    if allowed.by_margin.any():
        at_low = np.where(by_margin, ratios.log_difference_evidence(-margins, alpha), at_low)
        at_high = np.where(by_margin, ratios.log_difference_evidence(margins, alpha), at_high)
    limit = math.log(1 / alpha)
    sums = [np.cumsum(side, axis=-1) for side in (rows.selected, rows.total, ref.selected, ref.total)]
    # What was summed up before the start is taken off.
    before = [np.concatenate([np.zeros((*side.shape[:-1], 1)), side], axis=-1) for side in sums]
    since = [
        side - np.take_along_axis(earlier, evidence.start, axis=-1)
        for side, earlier in zip(sums, before, strict=True)
    ]
    return StreamTests(
        evidence,
        months,
        outside=np.exp(-np.maximum(np.maximum(-at_low, at_high), 0.0)),
        within=(at_low > limit) & (at_high < -limit),
        limits=ratios.limits(alpha),
        difference_limits=ratios.difference_limits(alpha),
        so_far=RatioCounts(*sums),
        since=RatioCounts(*since),
    )


def _look_at(
    table: Compared,
    stream: AttributeStream,
    of_stream: StreamTests,
    tests_by_pairs: dict[tuple[str, bytes], StreamTests],
    look: int,
) -> tuple[Compared, Tests]:
    """Return the comparisons of the slices so far, judged by their evidence, and their tests.

    `tests_by_pairs` keeps those of other pairs of groups: they are of all looks, and the same at each.
    """
    indices = np.array([stream.groups.index(group) for group in table.group_counts.counts.groups])
    is_comparable = references.comparable(table.group_counts, table.config)
    compared = is_comparable[:, None] & ~table.itself
    points = np.full(compared.shape, "undecided", dtype=object)
    points_since = points.copy()
    for g, m in np.argwhere(compared).tolist():
        index = int(indices[g]), m, look
        points[g, m] = of_stream.so_far.decide(index, table.allowed)
        points_since[g, m] = of_stream.since.decide(index, table.allowed)
    has_rows = (of_stream.so_far.total[..., look] > 0) & (of_stream.so_far.ref_total[..., look] > 0)
    is_tested = compared & has_rows[indices]
    p = np.where(is_tested, of_stream.evidence.p[indices, :, look], np.nan)
    outside = np.where(is_tested, of_stream.outside[indices, :, look], np.nan)
    within = of_stream.within[indices, :, look]
    low, high = (limit[indices, :, look] for limit in of_stream.limits)
    difference_limits = None
    if table.config.margin:
        lowest, highest = (limit[indices, :, look] for limit in of_stream.difference_limits)
        difference_limits = lowest, highest
    nothing = np.zeros_like(compared)
    no_pairs = np.empty((0, len(table.names)))
    tests = Tests(
        *(table.names, table.reference_indices, *table.rows, compared, p, outside),
        exact=nothing,
        too_few=nothing,
        within=within,
        pairs=no_pairs,
        pairs_outside=no_pairs,
    )
    if references.is_chosen_by_rate(table.group_counts, table.config):
        pairs, pairs_outside = _test_other_pairs(table, stream, indices, is_comparable, tests_by_pairs, look)
        tests = replace(tests, pairs=pairs, pairs_outside=pairs_outside)
    by_months = of_stream.months.decides[indices, :, look]
    judged = Look(points, points_since, within, by_months, p, (low, high), difference_limits)
    return replace(table, look=judged), tests


def _find_copies(
    tables: Sequence[Compared], streams: Sequence[AttributeStream], look: int
) -> list[dict[int, tuple[int, int]]]:
    """Return the copies among attributes, see `family.find_copies`: in each slice so far."""
    copies = find_copies(
        [table.group_counts for table in tables], [table.reference_indices for table in tables]
    )
    confirmed = []
    for i, copied in enumerate(copies):
        are_copies = True
        for g, (original, original_group) in copied.items():
            mine = _rows_so_far(tables[i], streams[i], g, look)
            theirs = _rows_so_far(tables[original], streams[original], original_group, look)
            are_copies &= np.array_equal(mine, theirs)
        confirmed.append(copied if are_copies else {})
    return confirmed


def _rows_so_far(table: Compared, stream: AttributeStream, g: int, look: int) -> Floats:
    """Return the weights and rows of a group of a table, slice by slice."""
    group = stream.groups.index(table.group_counts.counts.groups[g])
    columns = (stream.rows.selected, stream.rows.total, stream.rows.numerator, stream.rows.denominator)
    return np.stack([column[group, :, : look + 1] for column in columns])


def _test_other_pairs(
    table: Compared,
    stream: AttributeStream,
    indices: Ints,
    is_comparable: Bools,
    tests_by_pairs: dict[tuple[str, bytes], StreamTests],
    look: int,
) -> tuple[Floats, Floats]:
    """Return the p-values of the pairs of groups without a reference, which the data chose."""
    first_groups, second_groups = np.triu_indices(len(indices), 1)
    is_pair = is_comparable[first_groups] & is_comparable[second_groups]
    first_groups = first_groups[is_pair]
    second_groups = second_groups[is_pair]
    pairs = np.stack([indices[first_groups], indices[second_groups]])
    key = stream.slices[0].attribute, pairs.tobytes()
    if key not in tests_by_pairs:
        tests_by_pairs[key] = _test_pairs(stream, pairs[0], pairs[1], table.allowed, table.config)
    of_pairs = tests_by_pairs[key]
    has_reference = (first_groups[:, None] == table.reference_indices) | (
        second_groups[:, None] == table.reference_indices
    )
    p = np.where(has_reference, np.nan, of_pairs.evidence.p[..., look])
    return p, np.where(has_reference, np.nan, of_pairs.outside[..., look])


def _test_pairs(
    stream: AttributeStream, first_groups: Ints, second_groups: Ints, allowed: Allowed, config: AuditConfig
) -> StreamTests:
    """Return the tests of pairs of groups of a stream: arrays of shape (pairs, rates, looks)."""
    if stream.so_far[-1].shares_clusters:
        references_of_pairs = np.repeat(second_groups[:, None], len(stream.names), axis=1)
        return _clustered_tests(stream, first_groups, references_of_pairs, allowed, config.alpha)
    return stream_tests(
        stream.rows.take(first_groups),
        stream.rows.take(second_groups),
        allowed,
        config.alpha,
        _list_totals(stream, stream.rows.numerator),
        config.months,
    )


def _as_slice(table: Compared, evidence: Evidence, group_counts: Slice) -> tuple[Compared, Evidence]:
    """Return the comparisons of a slice alone, judged by what the slices up to it show."""
    groups = table.group_counts.counts.groups
    slice_groups = group_counts.counts.groups
    references_of_slice = references.find_references(group_counts, table.names, table.config)
    is_alike = np.ones(len(table.names), dtype=bool)
    for m, g in enumerate(table.reference_indices.tolist()):
        if g == REST:
            continue
        is_alike[m] = groups[g] in slice_groups
        if is_alike[m]:
            references_of_slice[m] = slice_groups.index(groups[g])
    indices = [groups.index(group) for group in slice_groups]
    look = None
    if table.look is not None:
        point, since = (
            np.where(is_alike, points[indices], "undecided").astype(object)
            for points in (table.look.point, table.look.point_since)
        )
        look = Look(point, since, table.look.within[indices], table.look.by_months[indices])
    of_slice = replace(table, group_counts=group_counts, reference_indices=references_of_slice, look=look)
    evidence_of_slice = replace(
        evidence,
        p_holm=evidence.p_holm[indices],
        differs=evidence.differs[indices],
        outside=evidence.outside[indices],
        shares=evidence.shares[indices],
    )
    return of_slice, evidence_of_slice


def _list_looks(
    table: Compared,
    evidence: Evidence,
    stream: AttributeStream,
    of_stream: StreamTests,
    looks: Sequence[str],
    look: int,
) -> Iterator[StreamLook]:
    """Yield what is shown of each comparison by the slices up to a look."""
    low, high = of_stream.limits
    lowest, highest = of_stream.difference_limits
    for g, m in np.argwhere(~np.isnan(evidence.p_holm)).tolist():
        index = stream.groups.index(table.group_counts.counts.groups[g]), m, look
        p = float(of_stream.evidence.p[index])
        p_holm = float(evidence.p_holm[g, m])
        log_e, log_e_months = (
            np.minimum(each[index[:2]][: look + 1], MOST_LOG_EVIDENCE)
            for each in (of_stream.evidence.log_e, of_stream.months.log_e)
        )
        # As many tests as p is taken for by Holm.
        n_tests = 1 / float(evidence.shares[g, m])
        if p > 0 and p_holm < 1:
            n_tests = max(1.0, p_holm / p)
        yield StreamLook(
            **vars(table.pair(g, m)) | {"model": looks[look]},
            metric=table.names[m],
            looks=look + 1,
            evidence=math.exp(log_e[-1]),
            most_evidence=math.exp(log_e.max()),
            alarm_at=n_tests / table.config.alpha,
            p=p,
            p_holm=p_holm,
            p_same=float(of_stream.months.p_same[index]),
            months_evidence=math.exp(log_e_months[-1]),
            most_months_evidence=math.exp(log_e_months.max()),
            by_months=bool(of_stream.months.decides[index]),
            month_spread=None if np.isnan(spread := of_stream.months.spread[index]) else float(spread),
            since=looks[int(of_stream.evidence.start[index])],
            ratio_since=float(of_stream.since.ratio[index]),
            ratio=Interval(float(of_stream.so_far.ratio[index]), float(low[index]), float(high[index])),
            difference_since=float(of_stream.since.difference[index]) if table.config.margin else None,
            difference=Interval(
                float(of_stream.so_far.difference[index]), float(lowest[index]), float(highest[index])
            )
            if table.config.margin
            else None,
        )
