"""What a technique does over several data sets: a mean of theirs, and what to expect of the next one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.ledger.inference import EQUAL
from fairbench_cli.studies.judge import StudyComparisons, compare_by_design, mean_over_cells

MIN_DATA_SETS = 3
GRID = 400  # values of the spread between data sets


@dataclass(frozen=True)
class MeanOverDataSets:
    """The posterior of a mean over data sets.

    Parameters
    ----------
    mean, low, high : float
        Of the data sets' common mean; 95 % of its posterior.
    below, within, above : float
        The chance that in the next data set the technique is lower by more than the margin, within it, and
        higher by more.
    """

    mean: float
    low: float
    high: float
    below: float
    within: float
    above: float


def mean_over_data_sets(means: Floats, errors: Floats, margin: float) -> MeanOverDataSets:
    """Return the posterior of the mean of several data sets that differ.

    Each data set's mean is normal round its own true one with its standard error, and true ones are normal
    round a common mean with a spread. Both have flat priors: Gelman et al. (2013), "Bayesian data analysis",
    eq. (5.21). The interval holds in 95 % of simulated studies or more: .98 to 1 of 3 or 4 data sets, .95 to
    .98 of 12. The region of the margin is that of practical equivalence of Benavoli et al. (2017), "Time for
    a change".

    Parameters
    ----------
    means, errors : float arrays, shape (data sets,)
        At least three, errors above 0.

    >>> posterior = mean_over_data_sets(np.array([0.02, 0.03, 0.04]), np.full(3, 0.01), 0.01)
    >>> round(posterior.mean, 3), posterior.low < 0.03 < posterior.high, posterior.above > 0.7
    (0.03, True, True)
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    # 1. The spread from 0 to several hundred times that of the means: the farther, the longer the steps.
    scale = max(float(np.std(means, ddof=1)), float(errors.min()) / 10)
    spread = scale * np.tan((np.arange(GRID) + 0.5) / GRID * np.pi / 2)
    # 2. Given the spread, the common mean is normal; how well each spread fits is its weight.
    variances = errors[:, None] ** 2 + spread**2
    precision = (1 / variances).sum(axis=0)
    centre = (means[:, None] / variances).sum(axis=0) / precision
    log_weight = np.log1p((spread / scale) ** 2)  # the length of a step
    log_weight -= 0.5 * (np.log(precision) + np.log(variances).sum(axis=0))
    log_weight -= 0.5 * ((means[:, None] - centre) ** 2 / variances).sum(axis=0)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    deviation = np.sqrt(1 / precision)
    # 3. The mixture of these, and that of the next data set.
    next_deviation = np.sqrt(1 / precision + spread**2)

    def quantile(share: float) -> float:
        reach = 50 * float(np.max(np.abs(means)) + errors.max() + scale)

        def excess(value: float) -> float:
            return float(weight @ ndtr((value - centre) / deviation)) - share

        return float(brentq(excess, -reach, reach))

    below = float(weight @ ndtr((-margin - centre) / next_deviation))
    above = float(weight @ ndtr((centre - margin) / next_deviation))
    return MeanOverDataSets(
        float(weight @ centre), quantile(0.025), quantile(0.975), below, 1 - below - above, above
    )


def frame_over_data_sets(comparisons: StudyComparisons) -> pd.DataFrame:
    """Return the change of each metric by each technique over all data sets.

    ``wins``, ``losses`` and ``comparisons`` count verdicts after Holm's adjustment. Within each of the
    ``data_sets`` distances are averaged over its other cells, repeat by repeat, and tested as the design
    says; ``change``, ``low`` and ``high`` are those of their common mean (negative is better),
    ``better_next``, ``same_next`` and ``worse_next`` chances of a change of more than the margin, or less, in
    the next one. Empty with fewer than `MIN_DATA_SETS`, where nothing varies, without an ideal, and of one
    test set with other seeds, which speaks of no other data set.
    """
    rows = []
    data_sets = None
    if "data" in comparisons.frame:
        data_sets = comparisons.frame["data"].to_numpy(dtype=object)
    for (technique, metric), index in comparisons.rows_by("technique", "metric").items():
        verdict_counts = comparisons.count("holm", index)
        row: dict[str, Any] = {"technique": technique, "metric": metric, "comparisons": len(index)}
        row |= {"wins": verdict_counts["better"], "losses": verdict_counts["worse"]}
        if data_sets is not None:
            row |= _common_change(comparisons, index, data_sets[index])
        rows.append(row)
    return pd.DataFrame(rows)


def _common_change(
    comparisons: StudyComparisons, index: Rows, data_sets: NDArray[np.object_]
) -> dict[str, float]:
    """Return the columns of `frame_over_data_sets` that are about the data sets of some comparisons."""
    ours = []
    theirs = []
    for data in dict.fromkeys(data_sets.tolist()):
        rows = index[data_sets == data]
        means, baseline_means = mean_over_cells(
            comparisons.distances[rows], comparisons.baseline_distances[rows], comparisons.design
        )
        ours.append(means)
        theirs.append(baseline_means)
    test = compare_by_design(np.array(ours), np.array(theirs), comparisons.design)
    is_tested = ~np.isnan(test.p)
    n_data_sets = int(is_tested.sum())
    columns: dict[str, float] = {"data_sets": n_data_sets}
    if comparisons.design.kind == "seeds":
        return columns
    margin = comparisons.margins[index[0]]
    errors = test.error[is_tested]
    if n_data_sets < MIN_DATA_SETS or (errors <= EQUAL).any() or np.isnan(margin):
        return columns
    posterior = mean_over_data_sets(test.mean[is_tested], errors, margin)
    return columns | {
        "change": posterior.mean,
        "low": posterior.low,
        "high": posterior.high,
        "better_next": posterior.below,
        "same_next": posterior.within,
        "worse_next": posterior.above,
    }
