"""The comparisons of an audit where rows share a person, a school or the like: from counts to tests.

`measures.clusters` has the statistics. Here the counts by cluster and group become the sums of each rate, of
a group and of its reference; everybody else is what a group leaves of all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.audit.compare.effective_sizes import EQUAL, is_share
from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.scan.slices import Clusters, Slice
from fairbench_cli.measures.clusters import ClusteredComparison, RateSums, compare_rates, t_test_p
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import numerators_and_denominators

MASKS = ("has_clusters", "is_tested")
NUMBERS = tuple(field.name for field in fields(ClusteredComparison) if field.name not in MASKS)
SUMS = tuple(field.name for field in fields(RateSums))
NUMBERS_AT_ONCE = 20_000  # of an array of sums; more are no faster


@dataclass(frozen=True, eq=False)
class _GroupedEntries:
    """The sums of each cluster and group, the groups one after the other.

    Parameters
    ----------
    cluster : int array, shape (entries,)
        Codes of clusters.
    starts : int array, shape (groups + 1,)
        Where the entries of each group begin.
    sums : array, shape (4, rates, entries)
        Weights and their squares below the bar of each rate, then those above it.
    everybody : array, shape (4, rates, clusters)
        The same of all groups.
    """

    cluster: Ints
    starts: Ints
    sums: Floats
    everybody: Floats

    def of_group(self, g: int) -> tuple[Ints, Floats]:
        """Return the clusters of a group and its sums."""
        inside = slice(int(self.starts[g]), int(self.starts[g + 1]))
        return self.cluster[inside], self.sums[:, :, inside]

    def select(self, columns: Bools, reference: int, group: int) -> RateSums:
        """Return some rates of a group and its reference; `REST` is everybody else."""
        cluster, sums = self.of_group(group)
        if reference == REST:
            codes = np.arange(self.everybody.shape[-1])
            group_sums = _spread_out(sums[:, columns], cluster, codes)
            rest_sums = self.everybody[:, columns] - group_sums
            # Weights that are subtracted leave rounding errors.
            rest_sums = np.where(rest_sums > EQUAL * self.everybody[:, columns], rest_sums, 0.0)
            return RateSums(*np.stack([rest_sums, group_sums], axis=-2))
        reference_cluster, reference_sums = self.of_group(reference)
        codes = np.unique(np.concatenate([reference_cluster, cluster]))
        spread_sums = _spread_out(reference_sums[:, columns], reference_cluster, codes)
        return RateSums(*np.stack([spread_sums, _spread_out(sums[:, columns], cluster, codes)], axis=-2))

    def select_shares(self, columns: Bools, reference: int, group: int) -> RateSums:
        """Return the same of shares of a list: below the bar is the list."""
        codes = np.arange(self.everybody.shape[-1])
        listed = self.everybody[2:, columns]
        cluster, sums = self.of_group(group)
        group_sums = _spread_out(sums[2:, columns], cluster, codes)
        if reference == REST:
            rest_sums = listed - group_sums
            against = np.where(rest_sums > EQUAL * listed, rest_sums, 0.0)
        else:
            reference_cluster, reference_sums = self.of_group(reference)
            against = _spread_out(reference_sums[2:, columns], reference_cluster, codes)
        above = np.stack([against, group_sums], axis=-2)
        below = np.stack([listed, listed], axis=-2)
        return RateSums(*below, *above)


def _spread_out(sums: Floats, cluster: Ints, codes: Ints) -> Floats:
    """Return sums of some clusters at their places among rising `codes`, and 0 at the others."""
    spread = np.zeros((*sums.shape[:-1], len(codes)))
    spread[..., np.searchsorted(codes, cluster)] = sums
    return spread


def _group_entries(clusters: Clusters, names: Sequence[str], n_groups: int) -> _GroupedEntries:
    """Return the entries of each group, with the sums of some rates."""
    order = np.argsort(clusters.group, kind="stable")
    numerator, denominator = numerators_and_denominators(clusters.n[order], names)
    square_above, square = numerators_and_denominators(clusters.squares[order], names)
    sums = np.stack([denominator, square, numerator, square_above]).swapaxes(-1, -2)
    cluster = clusters.person[order]
    n_clusters = int(cluster.max(initial=-1)) + 1
    everybody = np.zeros((*sums.shape[:-1], n_clusters))
    for index in np.ndindex(sums.shape[:-1]):
        everybody[index] = np.bincount(cluster, sums[index], minlength=n_clusters)
    starts = np.searchsorted(clusters.group[order], np.arange(n_groups + 1))
    return _GroupedEntries(cluster, starts, sums, everybody)


def pair_cells(group_counts: Slice, group: int, reference: int) -> list[tuple[Floats, Floats]]:
    """Return the weights and squared weights of each cluster of a group and its reference, by each column.

    Two arrays of shape (clusters, 2, 4) a column: the group first, then the reference, which may be `REST`.
    """
    ways = []
    for clusters in group_counts.cluster_ways:
        if reference == REST:
            side = (clusters.group != group).astype(np.int64)
            inside = np.ones(len(side), dtype=bool)
        else:
            side = (clusters.group == reference).astype(np.int64)
            inside = (clusters.group == group) | (clusters.group == reference)
        codes, code = np.unique(clusters.person[inside], return_inverse=True)
        sums = np.zeros((2, len(codes), 2, 4))
        for cells, values in zip(sums, (clusters.n, clusters.squares), strict=True):
            np.add.at(cells, (code, side[inside]), values[inside].reshape(-1, 4))
        ways.append((sums[0], sums[1]))
    return ways


def compare_groups(
    group_counts: Slice, names: Sequence[str], reference_indices: Ints, taus: Floats, confidence: ArrayLike
) -> ClusteredComparison | None:
    """Compare each group's rates with those of its references by clusters; None if no cluster has two rows.

    Parameters
    ----------
    group_counts : Slice
        Of G groups.
    names : sequence of str
        Rates.
    reference_indices : array of int, shape (rates,)
        Their reference groups, or `REST`.
    taus : array, shape (rates,)
    confidence : float, or array of shape (groups, rates)

    Returns
    -------
    ClusteredComparison or None
        Of arrays of shape (groups, rates); of a group with itself nothing is tested.
    """
    if not group_counts.shares_clusters:
        return None
    n_groups = len(group_counts.counts.groups)
    groups = np.arange(n_groups)
    pairs = []
    for reference in np.unique(reference_indices).tolist():
        columns = reference_indices == reference
        pairs += [(g, reference, g, columns) for g in groups[groups != reference].tolist()]
    return _compare(group_counts, names, pairs, n_groups, taus, confidence)


def compare_pairs(
    group_counts: Slice,
    names: Sequence[str],
    references: Ints,
    groups: Ints,
    taus: Floats,
    confidence: float,
) -> ClusteredComparison:
    """Compare pairs of groups by clusters: arrays of shape (pairs, rates)."""
    every_rate = np.ones(len(names), dtype=bool)
    pairs = []
    for i, (reference, group) in enumerate(zip(references.tolist(), groups.tolist(), strict=True)):
        pairs.append((i, reference, group, every_rate))
    return _compare(group_counts, names, pairs, len(pairs), taus, confidence)


def is_within(clustered: ClusteredComparison, margins: Floats) -> Bools:
    """Return whether whole intervals of differences lie within margins; NaN is no margin."""
    within: Bools = (clustered.difference_low > -margins) & (clustered.difference_high < margins)
    return within


def outside_margin_p(clustered: ClusteredComparison, margins: Floats) -> Floats:
    """Return two-sided p-values of "the difference is no larger than its margin, either way".

    By the t of the intervals of differences, so that both agree; NaN where nothing is tested.
    """
    difference = np.abs(clustered.difference_low + clustered.difference_high) / 2
    beyond = np.maximum(difference - margins, 0.0)
    return t_test_p(divide(beyond, np.sqrt(clustered.variance)), clustered.degrees)


def _compare(
    group_counts: Slice,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int, int, Bools]],
    n_lines: int,
    taus: Floats,
    confidence: ArrayLike,
) -> ClusteredComparison:
    """Compare pairs of groups: each has a line of the result, a reference, a group, and which rates."""
    confidences = np.broadcast_to(np.asarray(confidence, dtype=np.float64), (n_lines, len(names)))
    lines = {name: np.full((n_lines, len(names)), np.nan) for name in NUMBERS}
    masks = {name: np.zeros((n_lines, len(names)), dtype=bool) for name in MASKS}
    for batch in _batch_pairs(group_counts, names, pairs):
        inside = np.ix_(batch.lines, batch.columns)
        comparison = vars(
            compare_rates(batch.ways, taus[batch.columns], confidences[inside], of_list=batch.of_list)
        )
        for name, values in lines.items():
            values[inside] = comparison[name]
        for name, mask in masks.items():
            mask[inside] = comparison[name]
    return ClusteredComparison(**lines, **masks)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Pairs of groups that are compared at once: the same rates, and as many clusters.

    Parameters
    ----------
    lines : int array, shape (pairs,)
        Of the result.
    columns : bool array, shape (rates,)
        Which rates; all of them are shares of a list, or none is.
    of_list : bool
    ways : list of RateSums
        Of arrays of shape (pairs, rates, 2, clusters), by each column of clusters.
    """

    lines: Ints
    columns: Bools
    of_list: bool
    ways: list[RateSums]


def _batch_pairs(
    group_counts: Slice, names: Sequence[str], pairs: Sequence[tuple[int, int, int, Bools]]
) -> Iterator[_Batch]:
    """Yield pairs of groups in batches: one call for each pair takes half a minute for 6,000 of them.

    Only pairs with the same number of clusters share a batch, so that no number depends on other pairs.
    """
    n_groups = len(group_counts.counts.groups)
    ways = [_group_entries(clusters, names, n_groups) for clusters in group_counts.cluster_ways]
    shares = is_share(names)
    waiting: dict[tuple[bool, bytes, tuple[int, ...]], list[tuple[int, list[RateSums]]]] = {}
    for line, reference, group, columns in pairs:
        for of_list in (False, True):
            of_kind = columns & (shares == of_list)
            if not of_kind.any():
                continue
            if of_list:
                sums = [way.select_shares(of_kind, reference, group) for way in ways]
            else:
                sums = [way.select(of_kind, reference, group) for way in ways]
            key = of_list, of_kind.tobytes(), tuple(way.weight.shape[-1] for way in sums)
            alike = waiting.setdefault(key, [])
            alike.append((line, sums))
            if len(alike) * sum(way.weight.size for way in sums) >= NUMBERS_AT_ONCE:
                yield _stack_pairs(of_kind, of_list, waiting.pop(key))
    for (of_list, mask, _), alike in waiting.items():
        yield _stack_pairs(np.frombuffer(mask, dtype=bool), of_list, alike)


def _stack_pairs(columns: Bools, of_list: bool, pairs: Sequence[tuple[int, list[RateSums]]]) -> _Batch:
    """Return a batch of pairs, given the line and the sums of each."""
    lines = np.array([line for line, _ in pairs], dtype=np.intp)
    ways = []
    for of_way in zip(*(sums for _, sums in pairs), strict=True):
        stacked = {name: np.stack([getattr(sums, name) for sums in of_way]) for name in SUMS}
        ways.append(RateSums(**stacked))
    return _Batch(lines, columns, of_list, ways)
