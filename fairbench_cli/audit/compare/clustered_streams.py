"""Streams whose rows share clusters: people, schools or shops, of one month or of several.

Each month a cluster adds h (its distance from the rate of both groups together) / (the weight of its group)
to the score of equal rates, its reference's the same with the other sign. A cluster that comes again adds to
itself, so the variance is that of the sums over all months, whatever its rows have in common.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.audit.compare.effective_sizes import is_share
from fairbench_cli.audit.compare.references import Bools, Ints
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.measures import sequential
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import numerators_and_denominators

LEAST_CLUSTERS = 20  # so far, before there is evidence: by fewer a variance is not known
SCORE, GROUP, GROUP_ALL, REFERENCE, REFERENCE_ALL = range(5)
"""What a cluster adds: to the score; and to Σ h x/n of a group with Σ h n_c/n, and of its reference."""


@dataclass(frozen=True, eq=False)
class SliceSums:
    """The sums of a group in each slice; arrays of shape (rates, slices)."""

    selected: Floats
    total: Floats


@dataclass(frozen=True, eq=False)
class PairLooks:
    """A group and its reference at each look; arrays of shape (rates, looks)."""

    log_e: Floats
    ratios: sequential.RatioLooks


def compare_pair(
    slices: Sequence[Slice],
    names: Sequence[str],
    group: str,
    reference: str | None,
    rows: tuple[SliceSums, SliceSums],
) -> PairLooks:
    """Return the evidence and the limits of the ratio of a group and its reference.

    Parameters
    ----------
    slices : sequence of Slice
        In their order, with clusters by one column.
    names : sequence of str
        Rates.
    group, reference : str
        Their names; None: everybody else.
    rows : two SliceSums
        Their weights.
    """
    pair = _weigh_sides(names, *rows)
    steps = _steps_of_clusters(slices, names, (group, reference), (pair.factor, pair.ref_factor), pair.pooled)
    moments, n_clusters = _cumulate(steps, len(names))
    plain_variance = np.cumsum(_plain_variance(slices, names, group, reference), axis=-1)
    is_enough = n_clusters >= LEAST_CLUSTERS
    log_e = np.where(is_enough, _score_evidence(pair, moments, plain_variance), 0.0)
    return PairLooks(log_e, _bound_ratios(pair, moments, n_clusters))


@dataclass(frozen=True, eq=False)
class _Pair:
    """A group and its reference in each slice; arrays of shape (rates, slices).

    Parameters
    ----------
    shares : bool array, shape (rates, 1)
        Which rates are shares of a list, whose total has no limit.
    mine, theirs : SliceSums
    pooled : array
        The rates of both together.
    factor, ref_factor : array
        h over the weight of each side; of a share of a list one half.
    """

    shares: Bools
    mine: SliceSums
    theirs: SliceSums
    pooled: Floats
    factor: Floats
    ref_factor: Floats


def _weigh_sides(names: Sequence[str], mine: SliceSums, theirs: SliceSums) -> _Pair:
    """Return a group and its reference with what their distances from the pooled rate count."""
    shares = is_share(names)[:, None]
    total = mine.total + theirs.total
    has_rows = (mine.total > 0) & (theirs.total > 0)
    pooled = np.where(shares, 0.0, divide(mine.selected + theirs.selected, total))
    factor = np.where(shares, 0.5, np.where(has_rows, divide(theirs.total, total), 0.0))
    ref_factor = np.where(shares, 0.5, np.where(has_rows, divide(mine.total, total), 0.0))
    return _Pair(shares, mine, theirs, np.nan_to_num(pooled), factor, ref_factor)


def _score_evidence(pair: _Pair, moments: Floats, plain_variance: Floats) -> Floats:
    """Return the evidence against equal rates at each look, by the score of all rows so far."""
    beyond = pair.mine.selected - np.where(pair.shares, 0.0, pair.mine.total * pair.pooled)
    ref_beyond = pair.theirs.selected - np.where(pair.shares, 0.0, pair.theirs.total * pair.pooled)
    score = np.cumsum(pair.factor * beyond - pair.ref_factor * ref_beyond, axis=-1)
    return sequential.clustered_log_evidence(score, moments[:, SCORE, SCORE], plain_variance)


def _bound_ratios(pair: _Pair, moments: Floats, n_clusters: Floats) -> sequential.RatioLooks:
    """Return the looks at the ratio, with the variances between clusters."""
    rate, ref_rate = (_rate_so_far(side, pair.shares) for side in (pair.mine, pair.theirs))
    correction = divide(n_clusters, n_clusters - 1)
    # `ratio_looks` takes a limitless total for rows; h x/n is x/2 there as well.
    total, ref_total = (np.where(pair.shares, 1e12, side.total) for side in (pair.mine, pair.theirs))
    looks = sequential.ratio_looks(pair.mine.selected, total, pair.theirs.selected, ref_total)
    is_enough = n_clusters >= LEAST_CLUSTERS
    first_look = np.argmax(is_enough) if is_enough.any() else len(n_clusters)
    return replace(
        looks,
        group_variance=correction * _product(moments, GROUP, rate, GROUP, rate),
        reference_variance=correction * _product(moments, REFERENCE, ref_rate, REFERENCE, ref_rate),
        covariance=correction * _product(moments, GROUP, rate, REFERENCE, ref_rate),
        start_look=np.maximum(looks.start_look, first_look),
    )


def _rate_so_far(side: SliceSums, shares: Bools) -> Floats:
    """Return the rate of a side at each look; 0 where it has no rows, and of shares of a list."""
    total = np.where(shares, np.inf, side.total)
    return np.nan_to_num(divide(np.cumsum(side.selected, axis=-1), np.cumsum(total, axis=-1)))


def _steps_of_clusters(
    slices: Sequence[Slice],
    names: Sequence[str],
    pair: tuple[str, str | None],
    factors: tuple[Floats, Floats],
    pooled: Floats,
) -> Iterator[tuple[Ints, Floats]]:
    """Yield what the clusters of each slice add: their codes, and an array of shape (clusters, rates, 5)."""
    group, reference = pair
    shares = is_share(names)
    for i, group_counts in enumerate(slices):
        (clusters,) = group_counts.cluster_ways
        groups = group_counts.counts.groups
        mine = clusters.group == (groups.index(group) if group in groups else -1)
        if reference is None:
            theirs = ~mine
        else:
            theirs = clusters.group == (groups.index(reference) if reference in groups else -1)
        sides = ((mine, factors[0][:, i], 1.0, GROUP), (theirs, factors[1][:, i], -1.0, REFERENCE))
        codes, entry = np.unique(clusters.person[mine | theirs], return_inverse=True)
        position = np.full(len(clusters.person), -1)
        position[mine | theirs] = entry
        added = np.zeros((len(codes), len(names), 5))
        for side, factor, sign, column in sides:
            selected, total = numerators_and_denominators(clusters.n[side], names)
            total = np.where(shares, 0.0, total)
            np.add.at(added[..., SCORE], position[side], sign * factor * (selected - total * pooled[:, i]))
            np.add.at(added[..., column], position[side], factor * selected)
            np.add.at(added[..., column + 1], position[side], factor * total)
        yield codes, added


def _cumulate(steps: Iterator[tuple[Ints, Floats]], n_rates: int) -> tuple[Floats, Floats]:
    """Return Σ over clusters of the products of their sums so far, and how many clusters there are.

    The first has the shape (rates, 5, 5, looks).
    """
    all_steps = list(steps)
    n_codes = max((int(codes.max(initial=-1)) + 1 for codes, _ in all_steps), default=0)
    sums = np.zeros((n_codes, n_rates, 5))
    is_seen = np.zeros(n_codes, dtype=bool)
    products = np.zeros((n_rates, 5, 5))
    at_looks = []
    n_clusters = []
    for codes, added in all_steps:
        before = sums[codes]
        after = before + added
        sums[codes] = after
        # Those of other clusters stay as they are.
        products = products + np.einsum("cri,crj->rij", after, after)
        products = products - np.einsum("cri,crj->rij", before, before)
        is_seen[codes] = True
        at_looks.append(products)
        n_clusters.append(is_seen.sum())
    return np.stack(at_looks, axis=-1), np.array(n_clusters, dtype=np.float64)


def _product(moments: Floats, column: int, rate: Floats, other_column: int, other_rate: Floats) -> Floats:
    """Return Σ of the products of the distances of clusters from rates."""
    return np.asarray(
        moments[:, column, other_column]
        - other_rate * moments[:, column, other_column + 1]
        - rate * moments[:, column + 1, other_column]
        + rate * other_rate * moments[:, column + 1, other_column + 1]
    )


def _plain_variance(
    slices: Sequence[Slice], names: Sequence[str], group: str, reference: str | None
) -> Floats:
    """Return the variance of the score of as many independent rows, (rates, slices)."""
    shares = is_share(names)
    variances = []
    for group_counts in slices:
        groups = group_counts.counts.groups
        cells = group_counts.cell_rows.astype(np.float64)
        nobody = np.zeros((2, 2))
        mine = cells[groups.index(group)] if group in groups else nobody
        if reference is None:
            theirs = cells.sum(0) - mine
        else:
            theirs = cells[groups.index(reference)] if reference in groups else nobody
        selected, total = numerators_and_denominators(np.stack([mine, theirs]), names)
        _, variance = sequential.score_and_variance(selected[0], total[0], selected[1], total[1])
        variances.append(np.where(shares, selected.sum(0) / 4, variance))
    return np.stack(variances, axis=-1)
