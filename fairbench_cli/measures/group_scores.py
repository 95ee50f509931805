"""What scores of groups are worth, from sums that can be added: of any union of groups, without the rows.

Of each group are kept its rows by label, the sums of two errors of its scores and, by ranges of the score,
rows, labels and scores. An AUC is no mean of those of parts: of two groups together it compares also the
positives of one with the negatives of the other. So what is kept is how many pairs the positives of a group
win against the negatives of another, for every two groups: the AUC of any union is the share of its pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import PAIR, Counts, Floats, divide, is_outside, row_masses

BINS = 10
"""Ranges of the score, equally wide, in which scores and labels are compared for the calibration gap."""
SUREST = float(np.finfo(np.float64).eps)
"""A score this near to 0 or 1, or nearer, counts as this near: the logarithm of 0 is infinite."""


CELLS_AT_ONCE = 2**16
"""Numbers of rows by score and group that are counted at a time: half a MB for each label."""


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Sums of the scores of groups; of a union of groups they are sums of these.

    Parameters
    ----------
    groups : tuple of str
        Names of the groups.
    rows : array, shape (..., groups, 2)
        Weight of the rows by label. NaN where nothing was kept.
    wins : array, shape (..., groups, groups)
        ``wins[..., g, h]`` is the weight of the pairs of a positive of group g and a negative of group h in
        which the positive has the higher score; ties half. NaN where the model gives no scores.
    errors : array, shape (..., groups, 2)
        Σ (score − label)², and Σ −log of the probability that the score gives the label. NaN where some score
        of the rows is not from 0 to 1, so that scores are no probabilities.
    bins : array, shape (..., groups, BINS, 3)
        By range of the score: rows, those of label 1, and the sum of scores. NaN as `errors`.
    reference : tuple of str
        The groups that together are the reference. Empty: of two groups the second.

    Raises
    ------
    ValueError
        When the shapes do not fit.
    """

    groups: tuple[str, ...]
    rows: Floats
    wins: Floats
    errors: Floats
    bins: Floats
    reference: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.groups)
        shapes = {"rows": (n, 2), "wins": (n, n), "errors": (n, 2), "bins": (n, BINS, 3)}
        for name, shape in shapes.items():
            values = getattr(self, name)
            if values.shape[values.ndim - len(shape) :] != shape:
                raise ValueError(f"{name} of {n} groups cannot have shape {values.shape}")

    def merge(
        self, members: NDArray[np.bool_], groups: tuple[str, ...], reference: tuple[str, ...] = ()
    ) -> "GroupScores":
        """Return the sums of unions of groups.

        Parameters
        ----------
        members : bool array, shape (groups, unions)
            Which groups each union is made of.
        groups, reference : tuple of str
            Of the unions.
        """
        matrix = members.astype(np.float64)
        return GroupScores(
            groups,
            np.einsum("...gl,gu->...ul", self.rows, matrix),
            matrix.T @ self.wins @ matrix,
            np.einsum("...ge,gu->...ue", self.errors, matrix),
            np.einsum("...gbs,gu->...ubs", self.bins, matrix),
            reference,
        )

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Which groups are no part of the reference, shape (groups,)."""
        return is_outside(self.groups, self.reference)

    @cached_property
    def pair(self) -> "GroupScores":
        """Sums of two groups: everybody who is not in the reference, and the reference.

        Raises
        ------
        ValueError
            When there are not two groups, and none is named as the reference.
        """
        if not self.reference:
            if len(self.groups) != 2:
                raise ValueError(f"needs two groups, or the name of the reference group; got {self.groups}")
            return self
        return self.merge(np.stack([self.outside, ~self.outside], axis=1), PAIR)

    @cached_property
    def all_rows(self) -> "GroupScores":
        """Sums of one group: everybody."""
        return self.merge(np.ones((len(self.groups), 1), dtype=bool), ("all",))


def sum_scores(
    group: ArrayLike,
    label: ArrayLike,
    score: ArrayLike | None,
    groups: Sequence[str],
    weights: ArrayLike | None = None,
) -> GroupScores:
    """Return the sums of the scores of rows.

    Parameters
    ----------
    group : array of int, shape (rows,)
        Index of each row's group in `groups`.
    label : array of int, shape (rows,)
        1 for the favourable outcome, else 0.
    score : array of float, shape (rows,), or None
        How strongly the favourable outcome is predicted; None where the model does not say.
    groups : sequence of str
        Names of the groups.
    weights : array of float, shape (rows,), optional
        Row weights; one each if left out.

    Examples
    --------
    >>> scores = sum_scores([0, 0, 1, 1], [0, 1, 0, 1], [0.25, 0.75, 0.5, 0.5], ("women", "men"))
    >>> scores.wins.tolist(), compute_auc(scores).tolist(), compute_auc(scores.all_rows).tolist()
    ([[1.0, 1.0], [1.0, 0.5]], [1.0, 0.5], [0.875])
    """
    codes = np.asarray(group, dtype=np.intp)
    labels = np.asarray(label, dtype=np.intp)
    n_groups = len(groups)
    mass = row_masses(weights, len(codes))
    by_label = 2 * codes + labels
    rows = sum_at(by_label, mass, 2 * n_groups).reshape(n_groups, 2)
    wins = np.full((n_groups, n_groups), np.nan)
    errors = np.full((n_groups, 2), np.nan)
    bins = np.full((n_groups, BINS, 3), np.nan)
    if score is not None:
        values = np.asarray(score, dtype=np.float64)
        wins = _count_wins(codes, labels, values, mass, n_groups)
        if ((values >= 0) & (values <= 1)).all():
            errors = _sum_errors(codes, labels, values, mass, n_groups)
            bins = _sum_bins(codes, labels, values, mass, n_groups)
    return GroupScores(tuple(groups), rows, wins, errors, bins)


def _count_wins(
    group: NDArray[np.intp], label: NDArray[np.intp], score: Floats, mass: Floats, n_groups: int
) -> Floats:
    """Return `GroupScores.wins`, from the lowest scores to the highest, some of them at a time."""
    order = np.argsort(score)
    sorted_score = score[order]
    rank = np.cumsum(np.diff(sorted_score, prepend=sorted_score[:1]) > 0)
    is_positive = label[order] == 1
    cell = rank * n_groups + group[order]
    sorted_mass = mass[order]
    n_scores = int(rank[-1]) + 1 if len(rank) else 0
    n_at_once = max(CELLS_AT_ONCE // n_groups, 1)
    wins = np.zeros((n_groups, n_groups))
    n_below = np.zeros(n_groups)
    for lowest in range(0, n_scores, n_at_once):
        shape = (min(n_at_once, n_scores - lowest), n_groups)
        rows = slice(*np.searchsorted(rank, [lowest, lowest + n_at_once]))
        # Of each score the weight of each group's rows of one label.
        index = cell[rows] - lowest * n_groups
        by_label = []
        for is_of_label in (~is_positive[rows], is_positive[rows]):
            weights = sum_at(index[is_of_label], sorted_mass[rows][is_of_label], shape[0] * n_groups)
            by_label.append(weights.reshape(shape))
        negatives, positives = by_label
        below = n_below + np.cumsum(negatives, axis=0)
        n_below = below[-1]
        wins += positives.T @ (below - negatives / 2)
    return wins


def _sum_errors(
    group: NDArray[np.intp], label: NDArray[np.intp], score: Floats, mass: Floats, n_groups: int
) -> Floats:
    """Return `GroupScores.errors` of scores from 0 to 1."""
    of_label = np.where(label == 1, score, 1.0 - score)
    surprise = -np.log(np.clip(of_label, SUREST, 1.0 - SUREST))
    squares = sum_at(group, mass * (score - label) ** 2, n_groups)
    surprises = sum_at(group, mass * surprise, n_groups)
    return np.stack([squares, surprises], axis=-1)


def _sum_bins(
    group: NDArray[np.intp], label: NDArray[np.intp], score: Floats, mass: Floats, n_groups: int
) -> Floats:
    """Return `GroupScores.bins` of scores from 0 to 1; a score of 1 is in the highest range."""
    score_range = np.minimum((score * BINS).astype(np.intp), BINS - 1)
    cell = group * BINS + score_range
    sums = [sum_at(cell, values, n_groups * BINS) for values in (mass, mass * label, mass * score)]
    return np.stack(sums, axis=-1).reshape(n_groups, BINS, 3)


def sum_at(index: NDArray[np.intp], values: Floats, n_sums: int) -> Floats:
    """Return the sums of values by index, shape (n_sums,)."""
    return np.asarray(np.bincount(index, values, n_sums), dtype=np.float64)


def no_scores(groups: Sequence[str], shape: tuple[int, ...]) -> GroupScores:
    """Return the sums of repeats of which nothing was kept, with leading axes of a shape: all NaN."""
    n = len(groups)
    return GroupScores(
        tuple(groups),
        np.full((*shape, n, 2), np.nan),
        np.full((*shape, n, n), np.nan),
        np.full((*shape, n, 2), np.nan),
        np.full((*shape, n, BINS, 3), np.nan),
    )


def share_of_pairs(wins: Floats, negatives: Floats, positives: Floats) -> Floats:
    """Return an AUC: the share of pairs of a positive and a negative that the positive wins; 0/0 is NaN."""
    return divide(wins, negatives * positives)


def compute_auc(scores: GroupScores) -> Floats:
    """Return the area under the ROC curve of each group, shape (..., groups)."""
    wins = np.diagonal(scores.wins, axis1=-2, axis2=-1)
    return share_of_pairs(wins, scores.rows[..., 0], scores.rows[..., 1])


def compute_brier(scores: GroupScores) -> Floats:
    """Return the mean of (score − label)² of each group, shape (..., groups)."""
    return divide(scores.errors[..., 0], scores.rows.sum(-1))


def compute_log_loss(scores: GroupScores) -> Floats:
    """Return the mean of −log of the probability that the score gives the label, shape (..., groups)."""
    return divide(scores.errors[..., 1], scores.rows.sum(-1))


def compute_calibration_gap(scores: GroupScores) -> Floats:
    """Return the mean over ranges of |mean score − share of label 1|, by their rows, shape (..., groups)."""
    _, positives, scored = np.moveaxis(scores.bins, -1, 0)
    return divide(np.abs(scored - positives).sum(-1), scores.rows.sum(-1))


def compute_mean_residual(scores: GroupScores) -> Floats:
    """Return the mean score less the share of label 1 of each group, shape (..., groups)."""
    _, positives, scored = np.moveaxis(scores.bins, -1, 0)
    return divide((scored - positives).sum(-1), scores.rows.sum(-1))


@dataclass(frozen=True)
class ScoreMeasure:
    """A measure of the scores of one group.

    Parameters
    ----------
    name, label : str
        As written in commands, as read by people.
    compute : callable
        Returns it of each group.
    low, high, ideal : float
        Range and best value.
    formula : str
        What is computed of the group s.
    source : str
        Who defined it.
    undefined_in_group, undefined_in_all : str
        When a group has no value, and when all rows together have none.
    """

    name: str
    label: str
    compute: Callable[[GroupScores], Floats]
    low: float
    high: float
    ideal: float
    formula: str
    source: str
    undefined_in_group: str
    undefined_in_all: str

    @property
    def overall_formula(self) -> str:
        """What is computed over all groups."""
        return self.formula.removesuffix(OF_GROUP)

    @property
    def is_signed(self) -> bool:
        """Whether it is a difference itself, of which no ratio is taken."""
        return self.low < 0

    def undefined(self, who: str) -> str:
        """Return when it is NaN, for "a group" or for everybody ("")."""
        if who:
            reason = f"{who} {self.undefined_in_group}"
        else:
            reason = self.undefined_in_all
        return f"NaN when the model gives no scores, or {reason}"


OF_GROUP = ", of the group s"
_OF_PROBABILITIES = ("is empty or some score is not from 0 to 1", "some score is not from 0 to 1")

SCORE_MEASURES: dict[str, ScoreMeasure] = {
    measure.name: measure
    for measure in (
        ScoreMeasure(
            "auc",
            "area under the ROC curve",
            compute_auc,
            0,
            1,
            1,
            f"P(score of a y=+ > score of a y=−) + ½ P(the same score){OF_GROUP}",
            "Hanley & McNeil 1982",
            "has labels of one kind only",
            "all labels are of one kind",
        ),
        ScoreMeasure(
            "brier",
            "Brier score",
            compute_brier,
            0,
            1,
            0,
            f"Mean of (score − y)²{OF_GROUP}",
            "Brier 1950",
            *_OF_PROBABILITIES,
        ),
        ScoreMeasure(
            "log-loss",
            "log-loss",
            compute_log_loss,
            0,
            np.inf,
            0,
            f"Mean of −log(score) where y=+ and of −log(1 − score) where y=−{OF_GROUP}",
            "Good 1952",
            *_OF_PROBABILITIES,
        ),
        ScoreMeasure(
            "calibration-gap",
            "calibration gap",
            compute_calibration_gap,
            0,
            1,
            0,
            f"Mean of |mean score − share of y=+| in {BINS} equal ranges of scores, by their rows{OF_GROUP}",
            "expected calibration error in Naeini, Cooper & Hauskrecht 2015",
            *_OF_PROBABILITIES,
        ),
        ScoreMeasure(
            "mean-residual",
            "mean residual",
            compute_mean_residual,
            -1,
            1,
            0,
            f"Mean score − share of y=+{OF_GROUP}",
            "common",
            *_OF_PROBABILITIES,
        ),
    )
}

Grouped = Counts | GroupScores
"""What groups are compared on: counts for rates, sums of scores for measures of these."""
