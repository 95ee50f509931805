"""The comparison: every rate of each group against its reference; values, tests, limits and what they decide.

* **Fails**: the measured ratio lies outside τ, and equal rates are rejected after Holm over the family.
* **Passes**: Miettinen and Nurminen's interval of the ratio lies within τ.
* **Not decided**: anything else.

A rate that has a margin goes by its difference instead: by whether that is larger than the margin, and by
Newcombe's interval.

The `family` is all comparisons that the verdict, or a gate, depends on, in the whole audit; what cannot be
tested counts with a p-value of 1. Where the reference was chosen by its rate, all pairs of groups are in it.
Rates that add up to 1 share one test where they have the same reference. How often each verdict is wrong is
simulated in docs/verdicts.md.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.compare.effective_sizes import RateRows, group_rate_rows, is_share, rate_rows
from fairbench_cli.audit.compare.family import (
    Family,
    adjust_family,
    are_named,
    family_rates,
    find_copies,
    named_rates,
)
from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.compare.report import (
    ALL,
    ClusteredDisparity,
    Disparity,
    GroupRow,
    Intervals,
    Pair,
    Reason,
    Report,
    Test,
    intervals,
)
from fairbench_cli.audit.compare.verdict import decide, decide_difference, margin_of, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED, RIGHT, SHOWN, defined
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Slice, are_classes
from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures import score_test
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.power import Criterion, rows_needed
from fairbench_cli.measures.rates import RATES, numerators_and_denominators

if TYPE_CHECKING:  # of few audits
    from fairbench_cli.audit.compare.whole_table import TableEvidence, TestedTable
    from fairbench_cli.measures.clusters import ClusteredComparison

Limits = tuple[Floats, Floats]
CAN_DECIDE: tuple[Reason, ...] = ("chance", "few", "wide")  # what more rows would end


@dataclass(frozen=True, eq=False)
class Allowed:
    """What is allowed of rates, arrays of shape (rates,): each has a τ or a margin, and NaN for the other.

    Parameters
    ----------
    taus : float array
        Ratios from τ to 1/τ are allowed.
    margins : float array
        Differences from −margin to margin are allowed.
    """

    taus: Floats
    margins: Floats

    @property
    def by_margin(self) -> Bools:
        """Which rates go by their differences."""
        return ~np.isnan(self.margins)

    @property
    def ratio_limits(self) -> Floats:
        """The taus, and 1 where a margin takes their place: what is computed with it is not used."""
        return np.where(self.by_margin, 1.0, self.taus)


@dataclass(frozen=True, eq=False)
class Tests:
    """What is tested on a slice; arrays of shape (groups, rates) where not said otherwise.

    Parameters
    ----------
    names : tuple of str
        The rates.
    at : int array, shape (rates,)
        Their reference groups, or `REST`.
    rows, ref : RateRows
        Those of each group, and of its references.
    compared : bool array
        False for the reference itself, and for groups that are not compared.
    p, outside : arrays
        P-values of "the rates are equal" and of "the ratio lies within τ", or the difference within its
        margin; NaN where nothing is compared, and where there are no rows.
    exact : bool array
        Which p are of Fisher's test.
    few : bool array
        Where weights leave too few rows to reject anything.
    within : bool array
        Whether the interval of the ratio lies within τ, or that of the difference within its margin.
    pairs, pairs_outside : arrays, shape (pairs, rates)
        The p-values of other pairs of groups, where the reference was chosen by its rate; else no pairs.
    clustered : ClusteredComparison or None
        Where rows share a person, a school or the like, what the tests and `within` are of.
    """

    names: tuple[str, ...]
    reference_indices: Ints
    rows: RateRows
    ref: RateRows
    compared: Bools
    p: Floats
    outside: Floats
    exact: Bools
    too_few: Bools
    within: Bools
    pairs: Floats
    pairs_outside: Floats
    clustered: "ClusteredComparison | None" = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is beyond chance on a slice, arrays of shape (groups, rates).

    Parameters
    ----------
    p_holm : float array
        Adjusted p-values of "the rates are equal"; NaN where there is no test.
    differs, outside : bool arrays
        Whether the rates differ, and whether by more than is allowed.
    shares : float array
        The share of the level of the family that each test has.
    size, n_named : int
        How many tests of the family decide, and how many of these were named beforehand; see `Family`.
    """

    p_holm: Floats
    differs: Bools
    outside: Bools
    shares: Floats
    size: int
    n_named: int


@dataclass(frozen=True, eq=False)
class Look:
    """What the slices of a stream say up to one of them (`streams`); arrays of shape (groups, rates).

    Parameters
    ----------
    point, point_since : object arrays of {"pass", "fail", "undecided"}
        Whether the ratio of all slices so far lies within τ (or the difference within its margin), and that
        since the slice from which the evidence is largest, by which it fails.
    within : bool array
        Whether the limits that hold at all looks do.
    by_months : bool array
        Whether the evidence is that beyond the scatter of slices.
    p : array, or None
        P-values that hold at all looks; None where those of the rows of a slice stay, as a description.
    limits : two arrays, or None
        The limits of the ratio that hold at all looks; None likewise.
    difference_limits : two arrays, or None
        Those of the difference; used of rates that go by a margin.
    """

    point: NDArray[np.object_]
    point_since: NDArray[np.object_]
    within: Bools
    by_months: Bools
    p: Floats | None = None
    limits: Limits | None = None
    difference_limits: Limits | None = None


@dataclass(frozen=True, eq=False)
class Compared:
    """The rates of a slice against their references: arrays of shape (groups, rates), computed when used.

    Parameters
    ----------
    group_counts : Slice
        Its groups.
    names : tuple of str
        Rates.
    reference_indices : int array, shape (rates,)
        Their reference groups, or `REST`.
    config : AuditConfig
        Its taus, confidence and rule, and how references are chosen.
    look : Look, or None
        Where the slice is a look at a stream, by which it is judged.
    wider : float array, shape (groups, rates), or None
        The confidence of each interval, where it is not that of the configuration.
    """

    group_counts: Slice
    names: tuple[str, ...]
    reference_indices: Ints
    config: AuditConfig
    look: Look | None = None
    wider: Floats | None = None

    @cached_property
    def numerators_and_denominators(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What is over and under the bar of the rates, then of the references'."""
        return references.rates_and_references(self.group_counts.counts.n, self.names, self.reference_indices)

    @cached_property
    def value(self) -> Floats:
        """The rates."""
        numerator, denominator, _, _ = self.numerators_and_denominators
        return divide(numerator, denominator)

    @cached_property
    def reference_value(self) -> Floats:
        """The references' rates."""
        _, _, numerator, denominator = self.numerators_and_denominators
        return divide(numerator, denominator)

    @cached_property
    def rows(self) -> tuple[RateRows, RateRows]:
        """The rows behind the rates, and behind the references'."""
        # A reference that its rate has chosen is compared by all pairs of groups.
        matched = not references.is_chosen_by_rate(self.group_counts, self.config)
        return rate_rows(self.group_counts, self.names, self.reference_indices, matched=matched)

    @cached_property
    def clustered(self) -> "ClusteredComparison | None":
        """What clusters say, where some cluster has two rows."""
        if self.group_counts.clusters is None:
            return None
        from fairbench_cli.audit.compare import clustered_rates

        return clustered_rates.compare_groups(
            self.group_counts,
            self.names,
            self.reference_indices,
            self.allowed.ratio_limits,
            self.confidence,
        )

    @property
    def confidence(self) -> ArrayLike:
        """Of the intervals: that of the configuration, or one for each."""
        if self.wider is None:
            return self.config.confidence
        return self.wider

    @cached_property
    def ratio_limits(self) -> Limits:
        """Miettinen and Nurminen's intervals of the ratios; where rows share clusters, Fieller's.

        Of slices in an order they are the limits that hold at all looks.
        """
        if self.look is not None and self.look.limits is not None:
            return self.look.limits
        rows, ref = self.rows
        limits = score_test.ratio_interval(
            rows.numerator, rows.denominator, ref.numerator, ref.denominator, self.confidence
        )
        if self.clustered is None:
            return limits
        of_clusters = (self.clustered.ratio_low, self.clustered.ratio_high)
        return _choose_limits(self.clustered.is_tested, of_clusters, limits)

    @cached_property
    def difference_limits(self) -> Limits:
        """Newcombe's intervals of the differences; where rows share clusters, Student's.

        Of slices in an order those of a rate with a margin are the limits that hold at all looks.
        """
        rows, ref = self.rows
        limits = difference_limits(self.names, rows, ref, self.confidence)
        if self.clustered is not None:
            of_clusters = (self.clustered.difference_low, self.clustered.difference_high)
            limits = _choose_limits(self.clustered.is_tested, of_clusters, limits)
        if self.look is None or self.look.difference_limits is None:
            return limits
        is_chosen = np.broadcast_to(self.allowed.by_margin, limits[0].shape)
        return _choose_limits(is_chosen, self.look.difference_limits, limits)

    @cached_property
    def tests(self) -> Tests:
        """The tests of each group's rates against its reference's."""
        is_comparable = references.comparable(self.group_counts, self.config)
        config = self.config
        compared = is_comparable[:, None] & ~self.itself
        tests = compute_tests(
            self.names, self.reference_indices, *self.rows, compared, self.allowed, config.confidence
        )
        if references.is_chosen_by_rate(self.group_counts, config):
            tests = with_pairs(tests, is_comparable, self.allowed)
        if self.clustered is not None:
            return self._with_clusters(tests, self.clustered)
        return tests

    def _with_clusters(self, tests: Tests, clustered: "ClusteredComparison") -> Tests:
        """Return tests with those by clusters in their place; what these cannot test is not tested."""
        from fairbench_cli.audit.compare import clustered_rates

        p = np.where(tests.compared, clustered.p, np.nan)
        within = (clustered.ratio_low > self.allowed.taus) & (clustered.ratio_high < 1 / self.allowed.taus)
        within |= clustered_rates.is_within(clustered, self.allowed.margins)
        # Without a width of their own, intervals are those of the rows that clusters are worth.
        within = np.where(clustered.is_tested, within, tests.within & clustered.has_clusters)
        tests = replace(
            tests,
            p=p[:, find_shared_tests(self.names, self.reference_indices)],
            outside=np.where(tests.compared, self._outside_by_clusters(clustered), np.nan),
            exact=np.zeros_like(tests.exact),
            too_few=~clustered.is_tested,
            within=within,
            clustered=clustered,
        )
        if not len(tests.pairs):
            return tests
        first_groups, second_groups = np.triu_indices(len(tests.compared), 1)
        pairs = clustered_rates.compare_pairs(
            self.group_counts,
            self.names,
            first_groups,
            second_groups,
            self.allowed.ratio_limits,
            self.config.confidence,
        )
        is_pair = ~np.isnan(tests.pairs)
        pairs_outside = _p_or_one(self._outside_by_clusters(pairs), ~pairs.is_tested)
        return replace(
            tests,
            pairs=np.where(is_pair, _p_or_one(pairs.p, ~pairs.is_tested), np.nan),
            pairs_outside=np.where(is_pair, pairs_outside, np.nan),
        )

    def _outside_by_clusters(self, clustered: "ClusteredComparison") -> Floats:
        """Return the p-values by clusters of what is allowed."""
        from fairbench_cli.audit.compare import clustered_rates

        of_margins = clustered_rates.outside_margin_p(clustered, self.allowed.margins)
        return np.where(self.allowed.by_margin, of_margins, clustered.outside_p)

    @cached_property
    def allowed(self) -> Allowed:
        """Their taus and margins."""
        return Allowed(
            np.array([tau_of(name, self.config) for name in self.names]),
            np.array([margin_of(name, self.config) for name in self.names]),
        )

    @cached_property
    def itself(self) -> Bools:
        """Which groups are the references themselves."""
        is_reference: Bools = (
            np.arange(len(self.group_counts.counts.groups))[:, None] == self.reference_indices
        )
        return is_reference

    @cached_property
    def ratio(self) -> Intervals:
        """Each rate over its reference's."""
        return self._estimates(divide(self.value, self.reference_value), self.ratio_limits)

    @cached_property
    def difference(self) -> Intervals:
        """Each rate less its reference's."""
        return self._estimates(self.value - self.reference_value, self.difference_limits)

    def _estimates(self, values: Floats, limits: Limits) -> Intervals:
        """Return values with their limits; that of a reference against itself is no estimate."""
        low, high = (np.where(self.itself, values, limit) for limit in limits)
        return intervals(values, low, high)

    def pair(self, g: int, m: int) -> Pair:
        """Return the names of a group and of its reference."""
        groups = self.group_counts.counts.groups
        reference_index = int(self.reference_indices[m])
        return Pair(
            *self.group_counts.place,
            groups[g],
            references.name_reference(reference_index, groups),
        )

    def behind(self, g: int, m: int) -> tuple[float, float, float, float]:
        """Return the numerator and denominator of a group's rate, then of its reference's."""
        numerator, denominator, ref_numerator, ref_denominator = (
            float(side[g, m]) for side in self.numerators_and_denominators
        )
        return numerator, denominator, ref_numerator, ref_denominator

    def decide(self, evidence: Evidence, g: int, m: int) -> tuple[Verdict, Verdict, Reason]:
        """Return whether the gap itself is allowed, the verdict, and why it is not decided."""
        point = decide_point(self.behind(g, m), self.allowed, m)
        if point == "pass" and not self.itself[g, m] and self.group_counts.decided_alike:
            return "undecided", "undecided", "constant"
        tests = self.tests
        if self.look is not None and not self.itself[g, m]:
            points = self.look.point_since if evidence.differs[g, m] else self.look.point
            point = points[g, m]
            tests = replace(tests, within=self.look.within, too_few=np.zeros_like(tests.too_few))
        verdict, reason = decide_by_evidence(point, tests, evidence, g, m, self.config)
        if reason in CAN_DECIDE and self.look is not None and self.look.by_months[g, m]:
            return point, verdict, "months"
        return point, verdict, reason


def compared_names(group_counts: Slice) -> tuple[str, ...]:
    """Return the rates that the groups of a slice are compared on.

    Accuracy is that of all classes where there are several: of a class against the rest it would count most
    rows of other classes as right, whichever these were taken for.
    """
    if group_counts.decision == ALL_CLASSES:
        return (RIGHT,)
    names = defined(COMPARED, group_counts.labelled)
    if group_counts.class_name is None:
        return names
    return tuple(name for name in names if name != RIGHT)


def decide_point(counts: tuple[float, float, float, float], allowed: Allowed, m: int) -> Verdict:
    """Return whether the measured gap of a rate is allowed.

    `counts` are the numerator and denominator of the group, then of its reference.
    """
    if allowed.by_margin[m]:
        return decide_difference(*counts, float(allowed.margins[m]))
    return decide(*counts, float(allowed.taus[m]))


def _choose_limits(is_tested: Bools, of_clusters: Limits, of_rows: Limits) -> Limits:
    """Return the limits by clusters where these are enough, else those by rows."""
    low, high = (np.where(is_tested, *limits) for limits in zip(of_clusters, of_rows, strict=True))
    return low, high


def compare_slice(group_counts: Slice, names: Sequence[str], config: AuditConfig) -> Compared:
    """Return the comparisons of some rates of a slice with the references that are given or chosen."""
    return Compared(
        group_counts, tuple(names), references.find_references(group_counts, names, config), config
    )


def rate_limits(names: Sequence[str], rows: RateRows, confidence: float) -> Limits:
    """Return Wilson's intervals of the rates of each group."""
    return score_test.wilson_interval(
        rows.numerator, _denominator(names, rows, rows.numerator.sum(0)), confidence
    )


def difference_limits(names: Sequence[str], rows: RateRows, ref: RateRows, confidence: ArrayLike) -> Limits:
    """Return Newcombe's interval of each difference.

    Parameters
    ----------
    names : sequence of str
        Rates.
    rows, ref : RateRows
        Their numerators and denominators, and those of the references.
    confidence : float, or array of one for each
        In (0, 1).
    """
    counts, rho = _difference_counts(names, rows, ref, rows.numerator.sum(0))
    return score_test.difference_interval(*counts, confidence, rho)


def _difference_counts(
    names: Sequence[str], rows: RateRows, ref: RateRows, total: Floats
) -> tuple[tuple[Floats, Floats, Floats, Floats], Floats]:
    """Return the counts that a difference is of, and the correlation of both rates.

    A share of a list is a proportion of the list, `total`; of two shares, what one group gets, another does
    not.
    """
    denominator = _denominator(names, rows, total)
    ref_denominator = _denominator(names, ref, total)
    p = divide(rows.numerator, denominator)
    q = divide(ref.numerator, ref_denominator)
    rho = np.where(is_share(names), -np.sqrt(np.minimum(divide(p * q, (1 - p) * (1 - q)), 1)), 0.0)
    rho = np.where(np.isnan(rho), 0.0, rho)
    return (rows.numerator, denominator, ref.numerator, ref_denominator), rho


def _denominator(names: Sequence[str], rows: RateRows, total: Floats) -> Floats:
    """Return the denominator of each rate; of a share of a list, the list."""
    return np.where(is_share(names) & (rows.denominator > 0), total, rows.denominator)


def compute_tests(
    names: Sequence[str],
    reference_indices: Ints,
    rows: RateRows,
    ref: RateRows,
    compared: Bools,
    allowed: Allowed,
    confidence: float,
) -> Tests:
    """Return the tests of rates, given the rows behind them and behind their references."""
    total = rows.numerator.sum(0)
    p, outside, exact, too_few = _compute_p_values(names, rows, ref, total, allowed)
    taus = allowed.ratio_limits
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    counts = (rows.numerator, rows.denominator, ref.numerator, ref.denominator)
    with np.errstate(invalid="ignore"):
        z_low = score_test.score_z(*counts, taus)
        z_high = score_test.score_z(*counts, 1 / taus)
        within = (z_low > z) & (z_high < -z)
    if allowed.by_margin.any():
        low, high = difference_limits(names, rows, ref, confidence)
        is_near = (low > -allowed.margins) & (high < allowed.margins)
        within = np.where(allowed.by_margin, is_near, within)
    p, outside = (np.where(compared, values, np.nan) for values in (p, outside))
    none = np.empty((0, len(names)))
    p = p[:, find_shared_tests(names, reference_indices)]
    return Tests(
        tuple(names), reference_indices, rows, ref, compared, p, outside, exact, too_few, within, none, none
    )


def with_pairs(tests: Tests, is_comparable: Bools, allowed: Allowed) -> Tests:
    """Return tests with those of all other pairs of the groups where `is_comparable`.

    A reference that the data chose, as it has the highest rate, is the most extreme of all pairs.
    """
    first_groups, second_groups = np.triu_indices(len(is_comparable), 1)
    is_other_pair = (is_comparable[first_groups] & is_comparable[second_groups])[:, None]
    is_other_pair = (
        is_other_pair
        & (first_groups[:, None] != tests.reference_indices)
        & (second_groups[:, None] != tests.reference_indices)
    )
    p, outside, _, too_few = _compute_p_values(
        tests.names,
        tests.rows.take(first_groups),
        tests.rows.take(second_groups),
        tests.rows.numerator.sum(0),
        allowed,
    )
    pairs, pairs_outside = (
        np.where(is_other_pair, _p_or_one(values, too_few), np.nan) for values in (p, outside)
    )
    return replace(tests, pairs=pairs, pairs_outside=pairs_outside)


def _compute_p_values(
    names: Sequence[str], rows: RateRows, ref: RateRows, total: Floats, allowed: Allowed
) -> tuple[Floats, Floats, Bools, Bools]:
    """Return p-values of equal rates and of what is allowed, which are exact, and where rows are too few.

    `total` is the sum of the numerators of all groups.
    """
    counts = (rows.numerator, rows.denominator, ref.numerator, ref.denominator)
    p, exact = score_test.equal_rates(*counts)
    outside = score_test.outside_band_p(*counts, allowed.ratio_limits)
    if allowed.by_margin.any():
        margin_counts, rho = _difference_counts(names, rows, ref, total)
        of_margins = score_test.difference_outside_p(*margin_counts, allowed.margins, rho)
        outside = np.where(allowed.by_margin, of_margins, outside)
    # Weights leave too few rows to test where so few are expected, of the rows or of what they are worth.
    expected = np.fmin(
        score_test.smallest_expected_count(*counts),
        score_test.smallest_expected_count(
            rows.plain_numerator, rows.plain_denominator, ref.plain_numerator, ref.plain_denominator
        ),
    )
    too_few = (rows.scaled | ref.scaled) & ~(expected >= score_test.FEW_EXPECTED)
    return p, outside, exact, too_few


def adjust_tests(
    slices: Sequence[Tests],
    deciding: Sequence[Collection[str]],
    config: AuditConfig,
    named: Sequence[Collection[str]] = (),
    copies: Sequence[Mapping[int, tuple[int, int]]] = (),
    whole_tables: "Sequence[TestedTable]" = (),
) -> list[Evidence]:
    """Return the evidence of what is beyond chance on each slice of a family.

    Parameters
    ----------
    slices : sequence of Tests
    deciding : sequence of sets of str
        The rates that the verdict or a gate depends on, by slice. Other rates are adjusted for these and for
        each other.
    config : AuditConfig
        Its confidence.
    named : sequence of sets of str
        The rates that were named beforehand, by slice; none where it is not said.
    copies : sequence of mappings
        Of each slice the groups that are those of an earlier one (`family.find_copies`), whose tests they
        share.
    whole_tables : sequence of TestedTable
        Of classes, each one test more; their evidence comes last, arrays of shape (1, 1).
    """
    equal: list[Floats] = []
    equal_decides: list[Bools] = []
    equal_pairs: list[Floats] = []
    equal_named: list[Bools] = []
    far: list[Floats] = []
    far_decides: list[Bools] = []
    far_pairs: list[Floats] = []
    far_named: list[Bools] = []
    columns = [find_shared_tests(tests.names, tests.reference_indices) for tests in slices]
    for i, (tests, column) in enumerate(zip(slices, columns, strict=True)):
        decides = are_named(tests.names, deciding[i])
        is_named = are_named(tests.names, named[i] if named else ())
        indices = np.arange(len(column))
        has_own_test = column == indices  # the others share its test
        p, outside = (
            np.where(tests.compared, _p_or_one(values, tests.too_few), np.nan)
            for values in (tests.p, tests.outside)
        )
        equal_pairs.append(np.where(has_own_test, tests.pairs, np.nan))
        equal.append(np.where(has_own_test, p, np.nan))
        equal_decides.append(np.isin(indices, column[decides]))
        equal_named.append(np.isin(indices, column[is_named]))
        far.append(outside)
        far_decides.append(decides)
        far_pairs.append(tests.pairs_outside)
        far_named.append(is_named)
    originals = list(copies) or [{} for _ in slices]
    for table in whole_tables:
        equal.append(np.array([[table.p]]))
        far.append(np.array([[table.outside_p]]))
        for marks in (equal_decides, far_decides):
            marks.append(np.array([table.decides]))
        for marks in (equal_named, far_named):
            marks.append(np.array([table.is_named]))
        for other_pairs in (equal_pairs, far_pairs):
            other_pairs.append(np.empty((0, 1)))
    if whole_tables:
        from fairbench_cli.audit.compare.whole_table import find_table_copies

        for original in find_table_copies(whole_tables, originals):
            originals.append({} if original is None else {0: (len(slices) + original, 0)})
    of_equal = _adjust_without_copies(equal, equal_decides, equal_pairs, equal_named, originals)
    of_far = _adjust_without_copies(far, far_decides, far_pairs, far_named, originals)
    all_evidence = []
    alpha = config.alpha
    for i, (tests, column) in enumerate(zip(slices, columns, strict=True)):
        p_holm = np.where(np.isnan(tests.p), np.nan, of_equal.adjusted[i][:, column])
        with np.errstate(invalid="ignore"):
            differs = p_holm < alpha
            outside = differs & (of_far.adjusted[i] < alpha)
        shares = of_equal.shares[i][:, column]
        all_evidence.append(Evidence(p_holm, differs, outside, shares, of_equal.size, of_equal.n_named))
    for i in range(len(slices), len(slices) + len(whole_tables)):
        p_holm = of_equal.adjusted[i]
        with np.errstate(invalid="ignore"):
            differs = p_holm < alpha
            outside = differs & (of_far.adjusted[i] < alpha)
        all_evidence.append(
            Evidence(p_holm, differs, outside, of_equal.shares[i], of_equal.size, of_equal.n_named)
        )
    return all_evidence


def _adjust_without_copies(
    tables: Sequence[Floats],
    decides: Sequence[Bools],
    pairs: Sequence[Floats],
    named: Sequence[Bools],
    originals: Sequence[Mapping[int, tuple[int, int]]],
) -> Family:
    """Return tables adjusted as one family; the groups of a copied column share the original's tests."""
    own_tables = [table.copy() for table in tables]
    own_pairs = list(pairs)
    for i, groups in enumerate(originals):
        if not groups:
            continue
        original, _ = next(iter(groups.values()))
        decides[original][:] |= decides[i]
        named[original][:] |= named[i]
        own_tables[i][list(groups)] = np.nan
        own_pairs[i] = np.full_like(pairs[i], np.nan)
    family = adjust_family(own_tables, decides, own_pairs, named)
    for i, groups in enumerate(originals):
        for group, (original, original_group) in groups.items():
            family.adjusted[i][group] = family.adjusted[original][original_group]
            family.shares[i][group] = family.shares[original][original_group]
    return family


def find_shared_tests(names: Sequence[str], reference_indices: Ints) -> Ints:
    """Which column holds each rate's test: complements with the same reference share one.

    >>> find_shared_tests(["fpr", "tpr", "tnr"], np.array([0, 0, 0])).tolist()
    [0, 1, 0]
    """
    columns = np.arange(len(names))
    for m, name in enumerate(names):
        complement = RATES[name].complement
        if complement in names[:m] and reference_indices[names.index(complement)] == reference_indices[m]:
            columns[m] = names.index(complement)
    return columns


def decide_by_evidence(
    point: Verdict, tests: Tests, evidence: Evidence, g: int, m: int, config: AuditConfig
) -> tuple[Verdict, Reason]:
    """Return the verdict, and why it is not decided."""
    if point == "undecided":
        return "undecided", "no rows"
    if config.rule == "point" or g == tests.reference_indices[m]:
        return point, ""
    clustered = tests.clustered
    if clustered is not None and not clustered.has_clusters[g, m]:
        return "undecided", "clusters"
    if point == "pass":
        if tests.within[g, m]:
            return ("pass", "")
        return ("undecided", "wide")
    if evidence.differs[g, m]:
        return "fail", ""
    if not tests.too_few[g, m]:
        return "undecided", "chance"
    return "undecided", "few" if clustered is None else "clusters"


def _p_or_one(p: Floats, too_few: Bools) -> Floats:
    """Return p-values, 1 where there is no test or too little to reject anything."""
    return np.where(np.isnan(p) | too_few, 1.0, p)


def compare_slices(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig, common: AuditConfig, **extra: Any
) -> Report:
    """Return the groups of slices and their comparisons as a report, before anything is judged.

    Parameters
    ----------
    slices : sequence of Slice
        Of the whole audit, with the groups that are left out.
    deciding : sequence of str
        The rates and roll-ups that the verdict depends on; what the gate names is added.
    config : AuditConfig
        References, taus, confidence, rule.
    common : AuditConfig
        The configuration with the references that all slices have in common.
    extra
        What else the report says.
    """
    inside = [references.without_excluded_groups(group_counts, config) for group_counts in slices]
    tables = [compare_slice(group_counts, compared_names(group_counts), common) for group_counts in inside]
    if not are_classes(inside):
        evidence = _find_evidence(tables, deciding, common)
        return make_report(slices, tables, evidence, deciding, config, common, **extra)
    from fairbench_cli.audit.compare.whole_table import compare_tables, judge_tables

    whole_tables = compare_tables(inside, deciding, config)
    evidence = _find_evidence(tables, deciding, common, whole_tables)
    report = make_report(slices, tables, evidence[: len(tables)], deciding, config, common, **extra)
    of_tables = [_table_evidence(row) for row in evidence[len(tables) :]]
    judged = judge_tables(whole_tables, of_tables, config)
    return replace(report, whole_tables=tuple(judged))


def _table_evidence(evidence: Evidence) -> "TableEvidence":
    """Return the evidence on a whole table: its arrays have one number."""
    from fairbench_cli.audit.compare.whole_table import TableEvidence

    return TableEvidence(
        float(evidence.p_holm[0, 0]),
        bool(evidence.differs[0, 0]),
        bool(evidence.outside[0, 0]),
        float(evidence.shares[0, 0]),
    )


def make_report(
    slices: Sequence[Slice],
    tables: Sequence[Compared],
    evidence: Sequence[Evidence],
    deciding: Sequence[str],
    config: AuditConfig,
    common: AuditConfig,
    **extra: Any,
) -> Report:
    """Return the groups and comparisons of slices, given what is beyond chance; else see `compare_slices`."""
    groups: list[GroupRow] = []
    for table in tables:
        groups += group_rows(table.group_counts, config)
    disparities: list[Disparity] = []
    by_clusters = any(table.clustered is not None for table in tables)
    for table, table_evidence in zip(tables, evidence, strict=True):
        rates = family_rates(table.group_counts, table.names, deciding, common)
        disparities += _disparities(table, table_evidence, rates, by_clusters=by_clusters)
    return Report(
        config=config,
        slices=tuple(slices),
        decided_by=tuple(deciding),
        overall=tuple(overall_rows(slices, config)),
        groups=tuple(groups),
        disparities=tuple(disparities),
        family=evidence[-1].size if evidence else 0,
        n_named=evidence[-1].n_named if evidence else 0,
        **extra,
    )


def _find_evidence(
    tables: Sequence[Compared],
    deciding: Sequence[str],
    config: AuditConfig,
    whole_tables: "Sequence[TestedTable]" = (),
) -> list[Evidence]:
    """Return the evidence on each slice, then on each whole table of classes.

    Those of one model are a family where models are compared, which classes are not; slices of the rows one.
    """
    evidence: dict[int, Evidence] = {}
    places = list(enumerate(tables))
    models = group_by(places, lambda place: place[1].group_counts.model if config.compares_models else "")
    for of_model in models.values():
        indices = [i for i, _ in of_model]
        compared = [table for _, table in of_model]
        family = adjust_tests(
            [table.tests for table in compared],
            [family_rates(table.group_counts, table.names, deciding, config) for table in compared],
            config,
            [named_rates(table.group_counts, table.names, deciding, config) for table in compared],
            find_copies(
                [table.group_counts for table in compared], [table.reference_indices for table in compared]
            ),
            whole_tables,
        )
        indices += range(len(tables), len(tables) + len(whole_tables))
        evidence.update(zip(indices, family, strict=True))
    return [evidence[i] for i in range(len(evidence))]


def _disparities(
    table: Compared, evidence: Evidence, deciding_names: frozenset[str], *, by_clusters: bool
) -> Iterator[Disparity]:
    """Yield the comparisons of a slice; `by_clusters` is whether the audit has a comparison tested so."""
    tests = table.tests
    indices = np.argwhere(table.itself | tests.compared).tolist()
    rulings = [table.decide(evidence, g, m) for g, m in indices]
    still = np.zeros(tests.compared.shape, dtype=bool)
    for (g, m), (_, _, reason) in zip(indices, rulings, strict=True):
        still[g, m] = reason in CAN_DECIDE and table.look is None
    is_deciding = are_named(table.names, deciding_names)
    # What decides has its share of the level; other rates are taken for one more of what decides.
    divisors = np.full(still.shape, float(max(1, evidence.size)))
    has_share = is_deciding & ~np.isnan(evidence.shares)
    divisors[has_share] = (1 / evidence.shares[has_share]).round(9)
    n_needed = estimate_rows_needed(table, still, divisors)
    if table.config.adjusted:
        # Bonferroni with the weights of the tests: Holm's has no intervals.
        shares = np.where(np.isnan(evidence.shares), 1.0, evidence.shares)
        table = replace(table, wider=1 - table.config.alpha * shares)
    make: Callable[..., Disparity] = Disparity
    if by_clusters:
        make = ClusteredDisparity
    p_values = tests.p
    is_tested = ~np.isnan(p_values)
    if table.look is not None and table.look.p is not None:
        p_values = np.where(tests.compared, table.look.p, np.nan)
        is_tested = np.zeros_like(is_tested)  # by none of these tests
    for (g, m), (point, verdict, reason) in zip(indices, rulings, strict=True):
        name = table.names[m]
        itself = bool(table.itself[g, m])
        behind = table.behind(g, m)
        cluster_fields: dict[str, float] = {}
        if by_clusters:
            cluster_fields["degrees"] = _degrees(tests, g, m)
        yield make(
            **cluster_fields,
            **vars(table.pair(g, m)),
            metric=name,
            value=float(table.value[g, m]),
            reference_value=float(table.reference_value[g, m]),
            ratio=table.ratio[g, m],
            difference=table.difference[g, m],
            p=float(p_values[g, m]),
            p_holm=float(evidence.p_holm[g, m]),
            test=_name_test(tests, g, m) if is_tested[g, m] else "",
            tau=float(table.allowed.taus[m]),
            margin=float(table.allowed.margins[m]) if table.config.margin else None,
            point=point,
            verdict=verdict,
            shown_outside=verdict == "fail" and bool(evidence.outside[g, m]),
            reason=reason,
            rows_needed=float(n_needed[g, m]),
            is_reference=itself,
            deciding=name in deciding_names and not itself,
            behind=behind[:2],
            reference_behind=behind[2:],
        )


def _name_test(tests: Tests, g: int, m: int) -> Test:
    """Return which test a comparison has, if any."""
    if math.isnan(tests.p[g, m]):
        return ""
    if tests.clustered is not None:
        return "clusters"
    if tests.exact[g, m]:
        return "fisher"
    return "score"


def _degrees(tests: Tests, g: int, m: int) -> float:
    """Return the degrees of freedom of a test by clusters; NaN of another."""
    if tests.clustered is None:
        return math.nan
    return float(tests.clustered.degrees[g, m])


def estimate_rows_needed(table: Compared, still: Bools, divisors: Floats) -> Floats:
    """Return about how many rows of both groups would decide, were the rates as measured, where known.

    `divisors` are what the level of each test is divided by.
    """
    rows = table.group_counts.rows
    totals = np.full(still.shape, np.nan)
    still = still & ~is_share(table.names)
    taus = table.allowed.ratio_limits
    margins = np.nan_to_num(table.allowed.margins)  # 0 where there is none
    columns = (np.broadcast_to(taus, still.shape), np.broadcast_to(margins, still.shape), divisors)
    rules = np.stack([column[still] for column in columns], axis=-1)
    for tau, margin, divisor in dict.fromkeys(map(tuple, rules.tolist())):
        # All of them at once.
        g, m = np.nonzero(still & (taus == tau) & (margins == margin) & (divisors == divisor))
        reference_indices = table.reference_indices[m]
        x, n, y, k = (side[g, m] for side in _rows_behind(table))
        rule = Criterion(tau, divisor, table.config.confidence, margin or None)
        n_counted = rows_needed(divide(y, k), divide(x * k, n * y), divide(n, n + k), rule)
        n_both = np.where(reference_indices == REST, rows.sum(), rows[g] + rows[reference_indices])
        # As many times the rows at hand as the rate needs of those that it counts.
        total = divide(n_counted, n + k) * n_both
        totals[g, m] = np.where(total > n_both, total, np.nan)
    return totals


def _rows_behind(table: Compared) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the numerators and denominators of groups and references in independent rows.

    Where rows share clusters: the rows with which a difference of independent rows would have the variance
    that it has.
    """
    group_rows, ref = table.rows
    sides = (group_rows.numerator, group_rows.denominator, ref.numerator, ref.denominator)
    if table.clustered is None:
        return sides
    plain_rows = (
        group_rows.plain_numerator,
        group_rows.plain_denominator,
        ref.plain_numerator,
        ref.plain_denominator,
    )
    rate = divide(plain_rows[0], plain_rows[1])
    reference_rate = divide(plain_rows[2], plain_rows[3])
    variance = divide(rate * (1 - rate), plain_rows[1]) + divide(
        reference_rate * (1 - reference_rate), plain_rows[3]
    )
    worth = divide(variance, table.clustered.variance)
    is_tested = table.clustered.is_tested
    group_above, group_below, ref_above, ref_below = (
        np.where(is_tested, worth * counted, side) for counted, side in zip(plain_rows, sides, strict=True)
    )
    return group_above, group_below, ref_above, ref_below


def group_rows(group_counts: Slice, config: AuditConfig) -> list[GroupRow]:
    """Return counts and rates of each group."""
    of_all_classes = group_counts.decision == ALL_CLASSES
    names = (RIGHT,) if of_all_classes else defined(SHOWN, group_counts.labelled)
    numerator, denominator = numerators_and_denominators(group_counts.counts.n, names)
    rates = divide(numerator, denominator)
    limits = rate_limits(names, group_rate_rows(group_counts, names), config.confidence)
    # The share of all rows that the only group has is 1, and no estimate.
    is_whole = is_share(names) & (len(rates) == 1)
    low, high = (np.where(is_whole, rates, limit) for limit in limits)
    metrics = intervals(rates, low, high)
    rows = []
    for g, group in enumerate(group_counts.counts.groups):
        n_rows = int(group_counts.rows[g])
        behind = {name: (float(numerator[g, m]), float(denominator[g, m])) for m, name in enumerate(names)}
        rows.append(
            GroupRow(
                *group_counts.place,
                group,
                rows=n_rows,
                small=n_rows < config.min_group,
                counts=_counts(group_counts, g),
                metrics=dict(zip(names, metrics[g], strict=True)),
                behind=behind,
            )
        )
    return rows


def _counts(group_counts: Slice, group: int) -> dict[str, float]:
    """Return the cells of a group, if there are labels, and their sums."""
    tn, fp, fn, tp = map(float, group_counts.counts.n[group].ravel())
    if group_counts.decision == ALL_CLASSES:
        return {"right": tp, "wrong": fn, "size": tp + fn}
    sums = {"pp": tp + fp, "pn": tn + fn, "size": tp + fp + fn + tn}
    if not group_counts.labelled:
        return sums
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, **sums, "label_pos": tp + fn, "label_neg": tn + fp}


def overall_rows(slices: Sequence[Slice], config: AuditConfig) -> list[GroupRow]:
    """Return one row for everybody per model and decision."""
    first_slices: dict[tuple[str, str], Slice] = {}
    for group_counts in slices:
        first_slices.setdefault(group_counts.place[:2], group_counts)
    rows: list[GroupRow] = []
    for group_counts in first_slices.values():
        changes = {"attribute": ALL, "intersection": False}
        everybody = group_counts.with_cells(group_counts.cells.sum(1, keepdims=True), (ALL,), **changes)
        ways = [clusters.merge_groups() for clusters in group_counts.cluster_ways]
        rows += group_rows(everybody.with_clusters(ways), config)
    return rows
