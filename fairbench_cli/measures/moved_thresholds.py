"""One threshold for each group, the best with which a rate is alike: chosen, and tried on other rows.

A group's threshold is one of the scores, or none of its rows is selected. Given the reference's threshold
each group takes, of those with which its rate is near enough to the reference's, the one with most correct
decisions; over all thresholds of the reference that is the exact optimum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rates import numerators_and_denominators
from fairbench_cli.measures.significance import normal_quantile

Ints = NDArray[np.int64]

FOLDS = 20
ROUNDING = 1e-9  # of ratios and differences at a limit


@dataclass(frozen=True)
class RateLimit:
    """How far the rate of a group may be from that of its reference.

    Parameters
    ----------
    rate : str
        Of `RATES`, one of a group alone.
    tau : float
        Ratios from tau to 1/tau are allowed; NaN with a margin.
    margin : float
        Differences within it are; NaN with a tau.
    """

    rate: str
    tau: float
    margin: float

    def allows(self, rates: Floats, reference_rates: Floats) -> NDArray[np.bool_]:
        """Return where rates are near enough to those of the reference; ratios to 0 are not.

        >>> RateLimit("fpr", 0.8, np.nan).allows(np.array([0.4, 0.39]), np.array([0.5, 0.5])).tolist()
        [True, False]
        """
        if not np.isnan(self.margin):
            near: NDArray[np.bool_] = np.abs(rates - reference_rates) <= self.margin + ROUNDING
            return near
        low = self.tau * reference_rates - ROUNDING
        high = reference_rates / self.tau + ROUNDING
        return (rates >= low) & (rates <= high) & (reference_rates > 0)

    def of_counts(self, n: Floats) -> Floats:
        """Return the rate of counts of shape (..., 2, 2), NaN where it has no rows."""
        over, under = numerators_and_denominators(n, (self.rate,))
        with np.errstate(divide="ignore", invalid="ignore"):
            rates: Floats = np.where(under > 0, over / under, np.nan)[..., 0]
        return rates


@dataclass(frozen=True, eq=False)
class TriedThresholds:
    """What thresholds by group do to rows that did not choose them.

    Parameters
    ----------
    chosen : int array, shape (groups,)
        The place of each group's threshold, chosen by all rows.
    n : float array, shape (groups, 2, 2)
        Rows by label and decision; each was decided by thresholds that the rows of other folds chose.
    better, worse : float
        Rows that are decided rightly where they were not, and the other way round.
    spread : float
        The variance of the accuracy of what the folds choose, each on all rows: thresholds that other rows
        would choose are others.
    """

    chosen: Ints
    n: Floats
    better: float
    worse: float
    spread: float

    def accuracy_change(self, confidence: float) -> tuple[float, float, float]:
        """Return how much the share of correct decisions changes, with its interval.

        >>> tried = TriedThresholds(np.array([0]), np.full((1, 2, 2), 25.0), 10, 20, 0.0)
        >>> [round(limit, 3) for limit in tried.accuracy_change(0.95)]
        [-0.1, -0.206, 0.006]
        """
        rows = float(self.n.sum())
        change = (self.better - self.worse) / rows
        variance = ((self.better + self.worse) / rows - change**2) / rows + self.spread
        half = normal_quantile(confidence) * float(np.sqrt(variance))
        return change, change - half, change + half


def decided_counts(n: Floats) -> Floats:
    """Return rows by label and decision at each threshold: the scores, and one that selects nobody.

    Parameters
    ----------
    n : array, shape (groups, 2, scores)
        Rows by label and score, rising.

    Returns
    -------
    array, shape (groups, scores + 1, 2, 2)

    Examples
    --------
    >>> decided_counts(np.array([[[3.0, 1.0], [0.0, 2.0]]]))[0, :, :, 1].tolist()
    [[4.0, 2.0], [1.0, 2.0], [0.0, 0.0]]
    """
    selected = np.cumsum(n[..., ::-1], axis=-1)[..., ::-1]
    selected = np.concatenate([selected, np.zeros((*n.shape[:2], 1))], axis=-1)
    rejected = n.sum(axis=-1, keepdims=True) - selected
    return np.stack([rejected, selected], axis=-1).transpose(0, 2, 1, 3)


def choose_thresholds(n: Floats, reference: int, limit: RateLimit, present: int) -> Ints | None:
    """Return the places of the thresholds with most correct decisions that keep to a limit.

    Of equally good ones those nearest to the `present` threshold, in scores between. None: there are none.

    >>> rows = np.array([[[4.0, 1, 0], [0, 1, 4]], [[1.0, 3, 1], [0, 1, 4]]])
    >>> choose_thresholds(rows, 0, RateLimit("selection-rate", 0.8, np.nan), 1).tolist()
    [1, 2]
    """
    counts = decided_counts(n)
    places = np.arange(counts.shape[1])
    rates = limit.of_counts(counts)
    correct = counts[..., 0, 0] + counts[..., 1, 1]
    # Correct decisions come first, and how far a threshold moves decides among equal ones.
    worth = correct * (counts.shape[0] * counts.shape[1] + 1) - np.abs(places - present)
    total = worth[reference].copy()
    total[np.isnan(rates[reference])] = -np.inf
    best_places = np.tile(places, (counts.shape[0], 1))
    for group in range(counts.shape[0]):
        if group == reference:
            continue
        near = limit.allows(rates[group][None, :], rates[reference][:, None])
        worth_of_near = np.where(near, worth[group][None, :], -np.inf)
        best_places[group] = worth_of_near.argmax(axis=1)
        total += worth_of_near.max(axis=1)
    best = int(total.argmax())
    if not np.isfinite(total[best]):
        return None
    return best_places[:, best].astype(np.int64)


def try_thresholds(
    n: Floats, reference: int, limit: RateLimit, present: int, rng: np.random.Generator
) -> TriedThresholds | None:
    """Return the best thresholds, and what such a choice does to rows that had no part in it.

    Each row falls into one of `FOLDS` folds at random; the rows of a fold are decided by the thresholds that
    all others choose. Which rows these are depends on `rng` and the counts, never on the order of a file.

    Parameters
    ----------
    n : array, shape (groups, 2, scores)
        Rows by label and score, rising; whole numbers.
    reference : int
        The group that others are compared with.
    limit : RateLimit
    present : int
        The place of the threshold that all groups have.
    rng : Generator

    Returns
    -------
    TriedThresholds or None
        None where no thresholds keep to the limit, on all rows or on those of some folds.
    """
    chosen = choose_thresholds(n, reference, limit, present)
    if chosen is None:
        return None
    folds = rng.multinomial(n.astype(np.int64), np.full(FOLDS, 1 / FOLDS)).astype(np.float64)
    groups = np.arange(len(n))
    counts_of_all = decided_counts(n)
    accuracies = []
    decided = np.zeros((len(n), 2, 2))
    better = 0.0
    worse = 0.0
    for fold in range(FOLDS):
        rows = folds[..., fold]
        thresholds = choose_thresholds(n - rows, reference, limit, present)
        if thresholds is None:
            return None
        decided += decided_counts(rows)[groups, thresholds]
        of_all = counts_of_all[groups, thresholds]
        accuracies.append((of_all[:, 0, 0] + of_all[:, 1, 1]).sum() / n.sum())
        for group, threshold in enumerate(thresholds.tolist()):
            between = slice(min(threshold, present), max(threshold, present))
            of_label_0, of_label_1 = rows[group, :, between].sum(axis=1)
            if threshold > present:  # fewer are selected
                better += of_label_0
                worse += of_label_1
            else:
                better += of_label_1
                worse += of_label_0
    return TriedThresholds(chosen, decided, float(better), float(worse), float(np.var(accuracies)))
