"""Variances of AUC, Brier score and calibration where rows share clusters: sums of what rows add, by cluster.

A row adds to the AUC the share of the other label on the right side of it (DeLong, DeLong & Clarke-Pearson
1988), to the Brier score its error, and to the calibration its score vector times the inverse information
(Huber 1967). `clusters.linear_variance` makes variances of the sums by cluster. Intervals keep the forms that
they have without clusters (`measures.scores`), on as many rows as the variance is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.measures.clusters import LEAST_CLUSTERS, ClusterSums, linear_variance, t_quantile
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.group_scores import sum_at
from fairbench_cli.measures.scores import (
    CalibrationFit,
    Ints,
    ScoreCells,
    ScoreSums,
    ScoreTotals,
    logit,
    lost_shares,
)
from fairbench_cli.measures.significance import normal_quantile

N_SUMS = 18
# Where `row_terms` has each sum: by label weights, squares and shares on the wrong side; errors; calibration.
WEIGHT = (0, 5)
SQUARE = (1, 6)
LOST = (2, 7)
SQUARE_LOST = (3, 8)
SQUARE_LOST2 = (4, 9)
ERROR, SQUARE_ERROR, SQUARE_ERROR2 = 10, 11, 12
SCORE_VECTOR = (13, 14)
MEAT = (15, 16, 17)
MEASURES = ("auc", "brier", "calibration-slope", "calibration-intercept")


@dataclass(frozen=True, eq=False)
class ScoreClusters:
    """What rows add to measures of scores, by cluster and set of rows.

    Parameters
    ----------
    cluster, of_set : int arrays, shape (entries,)
        Codes of clusters, and places among the sets.
    n_sets : int
    sums : array, shape (entries, N_SUMS)
    """

    cluster: Ints
    of_set: Ints
    n_sets: int
    sums: Floats

    def add(
        self, cells: ScoreCells, cluster: Ints, lost: Floats, fit: CalibrationFit | None
    ) -> "ScoreClusters":
        """Return the sums with those of more rows, each of a cluster."""
        key = cluster * self.n_sets + cells.group
        entry = np.searchsorted(self.cluster * self.n_sets + self.of_set, key)
        sums = self.sums.copy()
        for column, term in enumerate(row_terms(cells, lost, fit)):
            sums[:, column] += sum_at(entry, term, len(sums))
        return replace(self, sums=sums)


def empty_clusters(cluster: Ints, of_set: Ints, n_sets: int) -> ScoreClusters:
    """Return the sums over no rows of clusters and sets."""
    keys = np.unique(cluster * n_sets + of_set)
    return ScoreClusters(keys // n_sets, keys % n_sets, n_sets, np.zeros((len(keys), N_SUMS)))


def row_terms(cells: ScoreCells, lost: Floats, fit: CalibrationFit | None) -> list[Floats]:
    """Return the `N_SUMS` terms of each row, which are added up by cluster."""
    terms = []
    for label in (0, 1):
        mask = cells.label == label
        share = np.where(mask, lost, 0.0)
        weight = np.where(mask, cells.weight, 0.0)
        square = np.where(mask, cells.square, 0.0)
        terms += [weight, square, weight * share, square * share, square * share**2]
    error = (cells.score - cells.label) ** 2
    terms += [cells.weight * error, cells.square * error, cells.square * error**2]
    if fit is None:
        return terms + [np.zeros(len(error))] * 5
    x = logit(cells.score)
    eta = fit.beta[cells.group, 0] + fit.beta[cells.group, 1] * x
    residual = np.nan_to_num(cells.label - 1 / (1 + np.exp(-eta)))
    pull = cells.weight * residual
    meat = cells.square * residual**2
    return [*terms, pull, pull * x, meat, meat * x, meat * x * x]


def read_cells(
    ways: Sequence[ScoreClusters],
    running: ScoreSums,
    cells: ScoreCells,
    clusters: Sequence[Ints],
    totals: ScoreTotals,
    fit: CalibrationFit | None,
) -> list[ScoreClusters]:
    """Return the sums by each column of clusters with those of more rows; `running` are of lower scores."""
    lost = lost_shares(running, cells, totals)
    return [way.add(cells, cluster, lost, fit) for way, cluster in zip(ways, clusters, strict=True)]


@dataclass(frozen=True, eq=False)
class ScoreVariances:
    """The variance of a measure in each set of rows, with t's reach over the normal's, and correlations.

    Parameters
    ----------
    variance, degrees : array, shape (sets,)
        NaN where too few clusters have rows.
    correlation : array, shape (sets,)
        Of the estimates of each set and of its reference.
    """

    variance: Floats
    degrees: Floats
    correlation: Floats

    def widened(self, confidence: float) -> Floats:
        """Return the variance with which a normal interval is as wide as Student's."""
        quantile = t_quantile(self.degrees, confidence)
        return self.variance * (quantile / normal_quantile(confidence)) ** 2


def score_variances(
    ways: Sequence[ScoreClusters],
    sums: ScoreSums,
    totals: ScoreTotals,
    fit: CalibrationFit | None,
    reference: Ints,
) -> dict[str, ScoreVariances]:
    """Return the variances of each measure, of sets and of their differences from the references'."""
    n_sets = len(reference)
    variances = {}
    for measure in MEASURES if fit is not None else MEASURES[:1]:
        variance = np.full(n_sets, np.nan)
        degrees = np.full(n_sets, np.nan)
        apart = np.full(n_sets, np.nan)
        for g in range(n_sets):
            variance[g], degrees[g] = _variance(measure, ways, sums, totals, fit, [g])
            if reference[g] != g:
                pair = [g, int(reference[g])]
                apart[g], _ = _variance(measure, ways, sums, totals, fit, pair)
        theirs = variance[reference]
        correlation = divide(variance + theirs - apart, 2 * np.sqrt(variance * theirs))
        variances[measure] = ScoreVariances(variance, degrees, np.nan_to_num(np.clip(correlation, -1, 1)))
    return variances


def _variance(
    measure: str,
    ways: Sequence[ScoreClusters],
    sums: ScoreSums,
    totals: ScoreTotals,
    fit: CalibrationFit | None,
    sets: Sequence[int],
) -> tuple[float, float]:
    """Return the variance of a measure of one set, or of its difference between two, and its degrees."""
    of_ways = []
    signs = np.ones(1)
    for way in ways:
        inside = np.isin(way.of_set, sets)
        codes, position = np.unique(way.cluster[inside], return_inverse=True)
        sides: list[tuple[Floats, ...]] = []
        side_signs = []
        for i, of_set in enumerate(sets):
            by_cluster = np.zeros((len(codes), N_SUMS))
            of_entries = way.of_set[inside] == of_set
            by_cluster[position[of_entries]] = way.sums[inside][of_entries]
            new_sides = _sides(measure, by_cluster.T, of_set, sums, totals, fit)
            sides += new_sides
            side_signs += [1.0 - 2.0 * i] * len(new_sides)
        cluster_sums = ClusterSums(*np.stack(sides, axis=1))
        enough = ((cluster_sums.square > 0).sum(-1) >= LEAST_CLUSTERS).all()
        if not (enough and np.isfinite(cluster_sums.residual).all()):
            return np.nan, np.nan
        of_ways.append(cluster_sums)
        signs = np.array(side_signs)
    variance, degrees = linear_variance(of_ways, signs)
    return float(variance), float(degrees)


def _sides(
    measure: str,
    columns: Floats,
    g: int,
    sums: ScoreSums,
    totals: ScoreTotals,
    fit: CalibrationFit | None,
) -> list[tuple[Floats, ...]]:
    """Return weight, square, residual and squared residual by cluster of each side of a measure in a set."""
    weight = columns[WEIGHT[0]] + columns[WEIGHT[1]]
    square = columns[SQUARE[0]] + columns[SQUARE[1]]
    if measure == "auc":
        sides: list[tuple[Floats, ...]] = []
        loss = divide(sums.losses[g, :, 0], totals.weight[g])  # of both labels the same, but for rounding
        for label in (0, 1):
            residual = loss[label] * columns[WEIGHT[label]] - columns[LOST[label]]
            residual_square = columns[SQUARE_LOST2[label]] - 2 * loss[label] * columns[SQUARE_LOST[label]]
            residual_square = residual_square + loss[label] ** 2 * columns[SQUARE[label]]
            sides.append((columns[WEIGHT[label]], columns[SQUARE[label]], residual, residual_square))
        return sides
    if measure == "brier":
        mean = divide(sums.errors[g, 0], totals.weight[g].sum())
        residual_square = columns[SQUARE_ERROR2] - 2 * mean * columns[SQUARE_ERROR] + mean**2 * square
        return [(weight, square, columns[ERROR] - mean * weight, residual_square)]
    total = totals.weight[g].sum()
    row = np.full(2, np.nan)
    if fit is not None and np.isfinite(fit.information[g]).all():
        inverse = np.linalg.inv(fit.information[g])
        row = inverse[int(measure == "calibration-slope")]
    residual = total * (row[0] * columns[SCORE_VECTOR[0]] + row[1] * columns[SCORE_VECTOR[1]])
    meat = row[0] ** 2 * columns[MEAT[0]] + 2 * row[0] * row[1] * columns[MEAT[1]]
    meat = meat + row[1] ** 2 * columns[MEAT[2]]
    return [(weight, square, residual, total**2 * meat)]
