"""Limits of a change of a metric, from the rows that two models decide otherwise.

Few rows change, often none, so a normal variance says too little: where none is seen to change up to three
may (the rule of three). Numbers of changed rows are taken for Poisson numbers with the limits of Garwood
(1936, "Fiducial limits for the Poisson distribution"), rows that become accepted and rows that become refused
apart; the limits are put together by adding squares (Zou and Donner 2008, "Construction of confidence limits
about effect measures: a general approach").
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger.distributions import gammainccinv, gammaincinv, ndtr, ndtri, stdtrit
from fairbench_cli.report.ledger.inference import PairedDecisions

LEAST_P = 1e-12  # smaller p-values of `RowChanges.p_within` are given as this
BISECTIONS = 30
EQUAL_EFFECTS = 1e-9  # rows whose effects differ by less, relative to the largest, are of one kind
POWER_QUANTILE = float(ndtri(0.95) + ndtri(0.9))
"""Standard errors within a margin, at no change, of which two one-sided tests at 5 % show it in 80 %."""
SMALL_GROUP = 2000  # below so many rows of a group, Poisson limits take some more than normal ones
SMALL_GROUP_FACTOR = 1.2
RULE_OF_THREE = -float(np.log(0.05))


@dataclass(frozen=True)
class RowChanges:
    """The rows that two models decide otherwise, an entry for each pair of models and metric.

    A row counts by the mean over the repeats: 1 where one model accepts and the other refuses it in all.

    Parameters
    ----------
    effects : float array, shape (entries, kinds)
        By how much the mean difference rises when one row of a kind is accepted instead of refused, in all
        repeats; 0 where there is no such kind. Of an entry without any nothing is known.
    accepted, refused : float arrays, shape (entries, kinds)
        How many rows become accepted, and refused.
    accepted_squares, refused_squares : float arrays, shape (entries, kinds)
        The sums of the squares of the same, which are the variances of their numbers.
    error, freedom : float arrays, shape (entries,)
        The standard error between the repeats, with its degrees of freedom; 0 where it is no part of the
        limits.
    other_variance : float array, shape (entries,)
        Variance over samples of rows that is not of rows which change, as of the denominator of a ratio.
    """

    effects: Floats
    accepted: Floats
    refused: Floats
    accepted_squares: Floats
    refused_squares: Floats
    error: Floats
    freedom: Floats
    other_variance: Floats

    @classmethod
    def unknown(cls, n_entries: int, n_kinds: int) -> "RowChanges":
        """Return entries of which nothing is known."""
        effects, accepted, refused, accepted_squares, refused_squares = np.zeros((5, n_entries, n_kinds))
        return cls.from_rows(effects, accepted, refused, accepted_squares, refused_squares)

    @classmethod
    def from_rows(
        cls,
        effects: Floats,
        accepted: Floats,
        refused: Floats,
        accepted_squares: Floats,
        refused_squares: Floats,
    ) -> "RowChanges":
        """Return the changes of rows alone, without what varies between repeats."""
        return cls(
            effects=effects,
            accepted=accepted,
            refused=refused,
            accepted_squares=accepted_squares,
            refused_squares=refused_squares,
            error=np.zeros(len(effects)),
            freedom=np.ones(len(effects)),
            other_variance=np.zeros(len(effects)),
        )

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Of which entries there are limits, shape (entries,)."""
        has_effects: NDArray[np.bool_] = (self.effects != 0).any(axis=1)
        return has_effects

    @property
    def variance(self) -> Floats:
        """The variance of the mean difference, shape (entries,)."""
        squares = self.accepted_squares + self.refused_squares
        variance: Floats = (self.effects**2 * squares).sum(axis=1) + self.error**2 + self.other_variance
        return variance

    def select(self, entries: Rows) -> "RowChanges":
        """Return those of some entries."""
        return RowChanges(**{name: numbers[entries] for name, numbers in vars(self).items()})

    def put(self, entries: Rows, changes: "RowChanges") -> None:
        """Write changes into the places of some of these, which have as many kinds or more."""
        for name, numbers in vars(changes).items():
            if numbers.ndim == 1:
                getattr(self, name)[entries] = numbers
            else:
                getattr(self, name)[entries, : numbers.shape[1]] = numbers

    def where(self, is_chosen: NDArray[np.bool_], replacements: "RowChanges") -> "RowChanges":
        """Return these where a mask says so, and the replacements elsewhere."""
        chosen = replacements.select(np.arange(len(is_chosen)))
        chosen.put(np.flatnonzero(is_chosen), self.select(np.flatnonzero(is_chosen)))
        return chosen

    def opposite(self) -> "RowChanges":
        """Return those from the second model to the first."""
        return replace(
            self,
            accepted=self.refused,
            refused=self.accepted,
            accepted_squares=self.refused_squares,
            refused_squares=self.accepted_squares,
        )

    def merge_kinds(self) -> "RowChanges":
        """Return the same with kinds of rows that have one effect together, in the place of the first.

        Sums of Poisson numbers are Poisson numbers, and the fewer there are, the narrower are the limits.
        """
        # 1. The first kind with about the same effect.
        largest = np.abs(self.effects).max(axis=1, initial=0.0)
        apart = np.abs(self.effects[:, :, None] - self.effects[:, None, :])
        first_kind = (apart <= EQUAL_EFFECTS * largest[:, None, None]).argmax(axis=2)
        kinds = np.arange(self.effects.shape[1])
        # Of shape (entries, kinds, the kind that it goes to).
        is_member = (first_kind[:, :, None] == kinds).astype(np.float64)
        # 2. The sums over those that go there.
        sums = {}
        for name in ("accepted", "refused", "accepted_squares", "refused_squares"):
            sums[name] = np.einsum("esk,es->ek", is_member, getattr(self, name))
        return replace(self, effects=np.where(first_kind == kinds, self.effects, 0.0), **sums)

    def half_widths(self, alpha: Floats | float) -> tuple[Floats, Floats]:
        """Return how far the one-sided limits at a level are below the mean difference, and how far above.

        Parameters
        ----------
        alpha : float array, shape (entries,), or float
        """
        level = np.broadcast_to(alpha, self.error.shape)[:, None]
        over_accepted, under_accepted = _poisson_limits(self.accepted, self.accepted_squares, level)
        over_refused, under_refused = _poisson_limits(self.refused, self.refused_squares, level)
        rises = self.effects > 0
        # The mean may be higher: more rows than were seen that raise it, or fewer that lower it.
        over_raising = np.where(rises, over_accepted, over_refused)
        over_lowering = np.where(rises, over_refused, over_accepted)
        under_raising = np.where(rises, under_accepted, under_refused)
        under_lowering = np.where(rises, under_refused, under_accepted)
        squared = self.effects**2
        above = (squared * (over_raising**2 + under_lowering**2)).sum(axis=1)
        below = (squared * (over_lowering**2 + under_raising**2)).sum(axis=1)
        # Above a level of one half these quantiles are on the other side.
        t = np.maximum(stdtrit(self.freedom, 1 - level[:, 0]), 0.0)
        z = np.maximum(-ndtri(level[:, 0]), 0.0)
        common = (t * self.error) ** 2 + z**2 * self.other_variance
        return np.sqrt(below + common), np.sqrt(above + common)

    def p_within(self, mean: Floats, margin: Floats) -> Floats:
        """Return p of the test whether a mean difference is a margin or more from 0: small where it is not.

        The smallest level whose two one-sided limits are both within the margin. NaN where nothing is known,
        or the margin is NaN.

        Parameters
        ----------
        mean, margin : float arrays, shape (entries,)
        """
        p = np.where(self.is_known & ~np.isnan(mean) & ~np.isnan(margin), 1.0, np.nan)
        with np.errstate(invalid="ignore"):
            entries = np.flatnonzero((p == 1) & (np.abs(mean) < margin))
        changes = self.select(entries)
        inside = margin[entries] - mean[entries]
        outside = margin[entries] + mean[entries]
        high = np.zeros(len(entries))  # logarithms of levels: at this one the limits are within
        low = np.full(len(entries), np.log(LEAST_P))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below, above = changes.half_widths(np.exp(middle))
            is_within = (below < outside) & (above < inside)
            high = np.where(is_within, middle, high)
            low = np.where(is_within, low, middle)
        p[entries] = np.exp(high)
        return p

    def p_of_changed_rows(self, mean: Floats) -> Floats:
        """Return the least p-value that a test whether a mean difference is 0 may have.

        The variance is at least that of the rows that are seen to change, and of one more. Where all repeats
        differ by the same, there is no other one. NaN where nothing is known; 1 of a mean of 0.
        """
        squared = self.effects**2
        squares = self.accepted_squares + self.refused_squares
        variance = (squared * squares).sum(axis=1) + squared.max(axis=1, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = np.where(self.is_known, 2 * ndtr(-np.abs(mean) / np.sqrt(variance)), np.nan)
        return p

    def rows_to_show_same(self, n_rows: Floats, variance: Floats, margin: Floats) -> Floats:
        """Return with how many rows, about, a change of 0 is shown to be within a margin in 80 % of runs.

        Parameters
        ----------
        n_rows : float array, shape (entries,)
            How many test rows there are.
        variance : float array, shape (entries,)
            Of the mean difference with these rows; it is taken to fall as their number rises.
        margin : float array, shape (entries,)
        """
        # 1. The share of rows that change is as it was seen; or none is, by the rule of three.
        times = (POWER_QUANTILE / margin) ** 2 * variance
        unseen = np.sqrt((self.effects**2).sum(axis=1))
        times_of_three = RULE_OF_THREE * unseen / margin
        # 2. Of a small group it takes some more; the largest effect is that of a row of the smallest group.
        largest = np.abs(self.effects).max(axis=1, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            is_small = times / largest < SMALL_GROUP
        times = np.maximum(np.where(is_small, SMALL_GROUP_FACTOR * times, times), times_of_three)
        return np.where(self.is_known, np.ceil(n_rows * times), np.nan)


def _poisson_limits(number: Floats, squares: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Return how far the one-sided limits of numbers of rows are above them, and how far below.

    The variance of the number is the sum of squares; no limit of a number is below 0.
    """
    # Of none that were seen the limit is a logarithm, which is quick.
    excess = np.broadcast_to(-np.log(alpha), squares.shape).copy()
    shortfall = np.zeros(squares.shape)
    is_seen = squares > 0
    shape = squares[is_seen]
    level = np.broadcast_to(alpha, squares.shape)[is_seen]
    excess[is_seen] = np.maximum(gammainccinv(shape + 1, level) - shape, 0.0)
    shortfall[is_seen] = np.clip(shape - gammaincinv(shape, level), 0.0, number[is_seen])
    return excess, shortfall


def decision_effects(metric: Metric | str, counts: Counts) -> Floats:
    """Return by how much a metric rises when one row is accepted instead of refused, by group and label.

    Of a metric with a kink there, the larger of the changes to both sides. 0 where there is no such row, NaN
    where the metric is not defined then.

    Parameters
    ----------
    counts : Counts
        Of shape (..., groups, 2, 2).

    Returns
    -------
    float array, shape (..., groups, 2)

    >>> n = np.array([[[30.0, 10], [5, 5]], [[60, 30], [10, 0]]])
    >>> decision_effects("discrimination", Counts(("g", "f"), n)).round(9).tolist()
    [[-0.02, -0.02], [0.01, 0.01]]
    """
    values = measure(metric, counts)
    effects = np.zeros(counts.n.shape[:-1])
    for group, label in np.ndindex(counts.n.shape[-3:-1]):
        by_direction = []
        for decision, sign in ((0, 1), (1, -1)):
            rows = np.minimum(counts.n[..., group, label, decision], 1.0)
            moved = counts.n.copy()
            moved[..., group, label, decision] -= rows
            moved[..., group, label, 1 - decision] += rows
            moved_values = measure(metric, Counts(counts.groups, moved, counts.reference))
            with np.errstate(divide="ignore", invalid="ignore"):
                change = sign * (moved_values - values) / rows
            by_direction.append(np.where(rows > 0, change, 0.0))
        upward, downward = by_direction
        is_steeper = ~(np.abs(upward) < np.abs(downward))
        effects[..., group, label] = np.where(is_steeper, upward, downward)
    return effects


def count_net_changes(weights: Floats, net_accepted: Floats, share: Floats) -> RowChanges:
    """Return the fewest rows of each stratum that change, from how many more one model accepts.

    Parameters
    ----------
    weights : float array, shape (entries, repeats, strata)
        By how much a row that is accepted in a repeat raises the mean difference over the repeats.
    net_accepted : float array, shape (entries, repeats, strata)
        How many more rows the first model accepts.
    share : float array, shape (entries,)
        In which share of the repeats a row is tested: 1 where all have the same rows.
    """
    effects = _stratum_effects(weights) * share[:, None]
    n_changed = _divide((weights * net_accepted).sum(axis=1), effects)
    accepted = np.maximum(n_changed, 0.0)
    refused = np.maximum(-n_changed, 0.0)
    return RowChanges.from_rows(effects, accepted, refused, accepted, refused)


def count_row_changes(weights: Floats, decisions: PairedDecisions) -> RowChanges:
    """Return the rows of each stratum that change, from the decisions on each.

    Parameters
    ----------
    weights : float array, shape (entries, repeats, strata)
        As of `count_net_changes`.
    """
    effects = _stratum_effects(weights)
    numbers = np.zeros((4,) + effects.shape)
    changes = decisions.ours - decisions.theirs
    for stratum, (start, stop) in enumerate(pairwise(decisions.strata)):
        moved = weights[:, :, stratum] @ changes[start:stop].T  # the mean difference, by one row
        change = _divide(moved, effects[:, stratum, None])
        accepted = np.maximum(change, 0.0)
        refused = np.maximum(-change, 0.0)
        lengths = decisions.lengths[start:stop]
        numbers[0, :, stratum] = accepted @ lengths
        numbers[1, :, stratum] = refused @ lengths
        numbers[2, :, stratum] = accepted**2 @ lengths
        numbers[3, :, stratum] = refused**2 @ lengths
    return RowChanges.from_rows(effects, *numbers)


def _stratum_effects(weights: Floats) -> Floats:
    """Return by how much a row that is decided otherwise in all repeats moves the mean difference."""
    sign = np.where(weights.sum(axis=1) < 0, -1.0, 1.0)
    effects: Floats = sign * np.abs(weights).sum(axis=1)
    return effects


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return quotients; 0 where the denominator is."""
    is_zero = denominator == 0
    quotient: Floats = np.where(is_zero, 0.0, numerator / np.where(is_zero, 1.0, denominator))
    return quotient
