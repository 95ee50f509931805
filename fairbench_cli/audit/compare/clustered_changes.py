"""The variances of changes between two models, or two slices of the rows, where rows share clusters.

What each row adds to a change is known (`paired_change.row_influences`); it is summed by cluster, over both
models or slices, and `measures.clusters` makes variances and degrees of freedom of the sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.scan.slices import BeforeAfter, Clusters
from fairbench_cli.measures.clusters import (
    LEAST_CLUSTERS,
    ClusterSums,
    gradient_sums,
    linear_variance,
    t_quantile,
    t_test_p,
)
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.paired_change import KINDS, RowInfluences, row_influences
from fairbench_cli.measures.significance import normal_p, normal_quantile

OF_CHANGES = ("change", "total", "points")


@dataclass(frozen=True, eq=False)
class ChangeVariances:
    """Variances and degrees of freedom by name of `RowInfluences`; arrays of shape (groups, rates).

    NaN where a rate has no rows, or too few clusters have rows that differ. Without clusters there are no
    degrees: what is made of them is normal.
    """

    variance: Mapping[str, Floats]
    degrees: Mapping[str, Floats] | None = None

    def degrees_of(self, change: str, total: str) -> tuple[Floats, Floats] | None:
        """Return the degrees of freedom of both tests of a size."""
        if self.degrees is None:
            return None
        return self.degrees[change], self.degrees[total]

    def p(self, name: str, change: Floats) -> Floats:
        """Return p-values of "there is no change"."""
        z = divide(change, np.sqrt(self.variance[name]))
        if self.degrees is None:
            return normal_p(z)
        return t_test_p(z, self.degrees[name])

    def limits(self, name: str, change: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return the limits of changes; a variance of 0, of nothing that moved, says nothing."""
        reach: Floats | float = normal_quantile(confidence)
        if self.degrees is not None:
            reach = t_quantile(self.degrees[name], confidence)
        variance = self.variance[name]
        half = reach * np.sqrt(np.where(variance > 0, variance, np.nan))
        return change - half, change + half


def rate_variances(joint: BeforeAfter, names: Sequence[str]) -> ChangeVariances:
    """Return the variances of after − before of each group's rates, as `points`."""
    influences = row_influences(joint.sides, names)
    lines = []
    for g in range(len(joint.groups)):
        ways = [_dense_kinds(clusters, [g]) for clusters in joint.clusters]
        lines.append([ways] * len(names))
    return _variances({"points": influences.points[:, None]}, lines, influences, joint)


def ratio_variances(joint: BeforeAfter, names: Sequence[str], reference_indices: Ints) -> ChangeVariances:
    """Return the variances of changes of each group's ratio to its reference, and of their difference."""
    influences = row_influences(joint.sides, names)
    n_groups = len(joint.groups)
    of_rest = bool((reference_indices == REST).all())
    if of_rest:
        of_others = row_influences(joint.sides.merge_groups(1 - np.eye(n_groups)), names)
    gradients = {}
    columns = np.arange(len(names))
    for name in OF_CHANGES:
        of_groups = getattr(influences, name)
        if of_rest:
            of_references = getattr(of_others, name)
        else:
            chosen = of_groups[reference_indices, :, columns].T
            of_references = np.broadcast_to(chosen, of_groups.shape)
        gradients[name] = np.stack([of_groups, -of_references], axis=1)
    # A reference may differ from rate to rate: the counts of a pair are those of the rate's own.
    lines = []
    for g in range(n_groups):
        by_reference = {}
        for reference in set(reference_indices.tolist()):
            by_reference[reference] = [_dense_kinds(clusters, [g, reference]) for clusters in joint.clusters]
        lines.append([by_reference[reference] for reference in reference_indices.tolist()])
    return _variances(gradients, lines, influences, joint)


Cells = tuple[Floats, Floats]  # weights and squared weights, of shape (clusters, groups, kinds)


def _dense_kinds(clusters: Clusters, groups: Sequence[int]) -> Cells:
    """Return the weights of each cluster in some groups; `REST` is all but the first of these."""
    n_clusters = int(clusters.person.max(initial=-1)) + 1
    cells = np.zeros((2, n_clusters, len(groups), KINDS))
    for i, group in enumerate(groups):
        inside = clusters.group != groups[0] if group == REST else clusters.group == group
        for sums, values in zip(cells, (clusters.n, clusters.squares), strict=True):
            np.add.at(sums[:, i], clusters.person[inside], values[inside])
    has_rows = cells[0].any(axis=(1, 2))
    return cells[0, has_rows], cells[1, has_rows]


def _variances(
    gradients: dict[str, Floats],
    lines: Sequence[Sequence[Sequence[Cells]]],
    influences: RowInfluences,
    joint: BeforeAfter,
) -> ChangeVariances:
    """Return the variances of sums with gradients of shape (groups, sides, kinds, rates).

    `lines` has the counts by each column of clusters, of each group and rate.
    """
    variance = {}
    degrees = {}
    for name, gradient in gradients.items():
        shape = (gradient.shape[0], gradient.shape[3])
        variance[name] = np.full(shape, np.nan)
        degrees[name] = np.full(shape, np.nan)
        for g, m in np.ndindex(shape):
            ways = lines[g][m]
            of_pair = gradient[g, :, :, m]
            are_enough = all(_are_enough(cells, influences.moved[:, m], joint) for cells, _ in ways)
            if not (are_enough and np.isfinite(of_pair).all()):
                continue
            counted = np.broadcast_to(influences.counted[:, m], of_pair.shape)
            sums, signs = _cluster_sums(ways, of_pair, counted, joint)
            variance[name][g, m], degrees[name][g, m] = linear_variance(sums, signs)
    return ChangeVariances(variance, degrees)


def _are_enough(cells: Floats, moved: Bools, joint: BeforeAfter) -> bool:
    """Return whether enough clusters have rows that differ; of other rows before and after, rows of each."""
    if joint.sides.paired:
        return int((cells @ moved > 0).any(1).sum()) >= LEAST_CLUSTERS
    by_half = cells.reshape(len(cells), -1, 4).sum(-1)
    return bool(((by_half > 0).sum(0) >= LEAST_CLUSTERS).all())


def _cluster_sums(
    ways: Sequence[Cells], gradient: Floats, counted: Bools, joint: BeforeAfter
) -> tuple[list[ClusterSums], Floats]:
    """Return the sums of clusters, by each column, and the signs of the sides.

    Of two slices the rows before and after are sides of their own.
    """
    n_cells = KINDS if joint.sides.paired else KINDS // 2
    sums = []
    signs = np.ones(1)
    for n, squares in ways:
        weights, squared = (values.reshape(len(values), -1, n_cells) for values in (n, squares))
        way, signs = gradient_sums(
            weights, squared, gradient.reshape(-1, n_cells), counted.reshape(-1, n_cells)
        )
        sums.append(way)
    return sums, signs
