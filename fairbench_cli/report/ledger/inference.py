"""Is a difference over paired repeats more than chance? On these test rows, and in the population.

Two questions, two answers. *On these test rows*: training sets vary, test rows are what they are; a paired
t-test over the repeats. *In the population*: test rows are a sample too. Where each repeat draws its own, the
same test answers that. Where repeats are random splits of the same rows, variances are corrected (Nadeau and
Bengio 2003). Where all repeats share their test rows, the variance between test rows is added: by the delta
method, from how a metric changes with each count and from what was decided on each row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.decisions import STEPS, unpacked_steps
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger.distributions import stdtr, stdtrit

EQUAL = 1e-12  # differences below this are rounding
STEP = 1e-4  # by which share a count is moved to see what a metric makes of it
CHANCE_STEP = 0.5 / 255 + 1e-6  # what a kept chance may be off


@dataclass(frozen=True)
class RowDesign:
    """How the test rows of the repeats hang together.

    Parameters
    ----------
    kind : {"drawn", "split", "shared", "apart"}
        Each repeat draws its own; each divides the same rows anew; all have the same; of two runs, those of
        the one are not those of the other.
    ratio : float
        Of real rows to train on: those left out over those trained on. Training sets overlap by that much.
    """

    kind: Literal["drawn", "split", "shared", "apart"] = "drawn"
    ratio: float = 0.0


def row_design(config: ExperimentConfig) -> RowDesign:
    """Return how the test rows of a run's repeats hang together."""
    if config.sample.source == "data":
        left_out = 1 / config.sample.train_fraction - 1
        return RowDesign("split" if config.tested == "holdout" else "shared", left_out)
    return RowDesign("drawn" if config.test == "network" else "shared")


@dataclass(frozen=True)
class PairedTest:
    """Paired t-tests, one an entry: pairs, mean difference, its 95 % interval and the two-sided p-value.

    `error` and `freedom` are the standard error and the degrees of freedom of the interval.
    """

    n: Floats
    mean: Floats
    low: Floats
    high: Floats
    p: Floats
    error: Floats
    freedom: Floats

    def copy(self) -> "PairedTest":
        """Return the same in arrays of its own."""
        return PairedTest(**{name: numbers.copy() for name, numbers in vars(self).items()})

    def select(self, entries: Rows) -> "PairedTest":
        """Return some of the tests."""
        return PairedTest(**{name: numbers[entries] for name, numbers in vars(self).items()})

    def put(self, entries: Rows, tests: "PairedTest") -> None:
        """Write tests into the places of some of these."""
        for name, numbers in vars(tests).items():
            getattr(self, name)[entries] = numbers

    def p_within(self, margin: Floats | float) -> Floats:
        """Return p of the test whether the mean is a margin or more from 0: small where it is not.

        Two one-sided t-tests; p is the larger of theirs (Schuirmann 1987, "A comparison of the two one-sided
        tests procedure"). 1 where nothing varies, for then there is no t-test; NaN where `p` is, or the
        margin.

        >>> test = paired_test(np.array([[0.001, -0.001, 0.002], [0.001, -0.03, 0.02], [0.0, 0.0, 0.0]]))
        >>> test.p_within(0.01).round(3).tolist()
        [0.004, 0.339, 1.0]
        """
        is_exact = self.error <= EQUAL
        t = (margin - np.abs(self.mean)) / np.where(is_exact, 1.0, self.error)
        p = np.where(is_exact, 1.0, stdtr(self.freedom, -t))
        return np.where(np.isnan(self.p) | np.isnan(margin), np.nan, p)


@dataclass(frozen=True)
class RowVariance:
    """What the choice of the test rows adds to the variance of mean differences, one an entry.

    Parameters
    ----------
    variance : array
        Of the mean over the repeats, over samples of test rows.
    freedom : array
        Its degrees of freedom.
    """

    variance: Floats
    freedom: Floats

    @classmethod
    def unknown(cls, n_entries: int) -> "RowVariance":
        """Return entries of which nothing can be said."""
        return cls(np.full(n_entries, np.nan), np.full(n_entries, np.nan))

    def select(self, entries: Rows) -> "RowVariance":
        """Return those of some entries."""
        return RowVariance(self.variance[entries], self.freedom[entries])

    def put(self, entries: Rows, rows: "RowVariance") -> None:
        """Write variances into the places of some of these."""
        self.variance[entries] = rows.variance
        self.freedom[entries] = rows.freedom


def paired_test(differences: Floats, ratio: float = 0.0, rows: RowVariance | None = None) -> PairedTest:
    """Test along the last axis whether paired differences have mean 0 (Student's t).

    NaN and infinite differences are no pairs. With fewer than two pairs, interval and p are NaN. Where
    all differences are equal and no other variance is given the t-statistic has no value: p is 1 if they are
    0, else that of the sign test, the least that so many pairs can have.

    Parameters
    ----------
    differences : float array, shape (..., repeats)
    ratio : float
        Of random splits, test rows over training rows: the variance of the mean is s² (1/n + ratio), as in
        Nadeau and Bengio (2003), "Inference for the generalization error", eq. (9).
    rows : RowVariance, shape (...)
        Is added; degrees of freedom by Satterthwaite. What holds for other rows holds for these, so p and the
        interval are never the smaller for it.

    >>> test = paired_test(np.array([[0.1, 0.3, np.nan], [0.2, 0.2, 0.2], [0.0, 0.0, 0.0]]))
    >>> test.n.tolist(), test.mean.round(3).tolist(), test.p.round(3).tolist()
    ([2.0, 3.0, 3.0], [0.2, 0.2, 0.0], [0.295, 0.25, 1.0])
    """
    n, mean, variance, is_constant = finite_moments(differences)
    mean_variance = variance / np.maximum(n, 1) + ratio * variance
    error = np.where(is_constant, 0.0, np.sqrt(mean_variance))
    return _t_tests(n, mean, error, np.maximum(n - 1, 1), is_constant, rows)


def welch_test(
    ours: Floats, theirs: Floats, ratio: float = 0.0, rows: RowVariance | None = None
) -> PairedTest:
    """Test along the last axis whether two independent series of repeats have the same mean (Welch's t).

    As `paired_test`, but nothing ties a repeat of the one to a repeat of the other; their numbers may differ.
    ``n`` is the smaller of both. With a ratio, both means have the variance of random splits; degrees of
    freedom are then those without it, if these are fewer.

    >>> test = welch_test(np.array([[0.1, 0.3, 0.2]]), np.array([[0.5, 0.4, np.nan]]))
    >>> test.n.tolist(), test.mean.round(3).tolist(), test.p.round(4).tolist()
    ([2.0], [-0.25], [0.0494])
    """
    n, mean, variance, is_constant = finite_moments(ours)
    their_n, their_mean, their_variance, is_their_constant = finite_moments(theirs)
    variance = np.where(is_constant, 0.0, variance)
    their_variance = np.where(is_their_constant, 0.0, their_variance)
    no_variance = variance + their_variance == 0
    freedom = np.full(np.shape(no_variance), np.inf)
    total = np.zeros(np.shape(no_variance))
    for overlap in (0.0, ratio):
        # Variances of both means, with the degrees of freedom of Satterthwaite.
        mean_variance = variance * (1 / np.maximum(n, 1) + overlap)
        their_mean_variance = their_variance * (1 / np.maximum(their_n, 1) + overlap)
        total = mean_variance + their_mean_variance
        spread = mean_variance**2 / np.maximum(n - 1, 1) + their_mean_variance**2 / np.maximum(their_n - 1, 1)
        satterthwaite = total**2 / np.where(no_variance, 1.0, spread)
        freedom = np.minimum(freedom, np.where(no_variance, 1.0, satterthwaite))
    return _t_tests(np.minimum(n, their_n), mean - their_mean, np.sqrt(total), freedom, no_variance, rows)


def finite_moments(values: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return the number, mean and variance of the finite values on the last axis, and whether all are equal.

    The mean is NaN without a finite value.
    """
    is_finite = np.isfinite(values)
    finite = np.where(is_finite, values, 0.0)
    n = is_finite.sum(axis=-1).astype(np.float64)
    mean = np.where(n > 0, finite.sum(axis=-1) / np.maximum(n, 1), np.nan)
    deviations = np.where(is_finite, finite - mean[..., None], 0.0)
    variance = (deviations**2).sum(axis=-1) / np.maximum(n - 1, 1)
    return n, mean, variance, np.abs(deviations).max(axis=-1, initial=0.0) <= EQUAL


def _t_tests(
    n: Floats,
    mean: Floats,
    error: Floats,
    freedom: Floats,
    is_constant: NDArray[np.bool_],
    rows: RowVariance | None,
) -> PairedTest:
    """Return t-tests of means with standard errors, which are 0 where differences are constant."""
    # 1. Over the repeats alone: where nothing varies, by the signs.
    t = mean / np.where(is_constant, 1.0, error)
    sign_test_p = np.where(np.abs(mean) <= EQUAL, 1.0, 2.0 ** (1 - n))
    p = np.where(is_constant, sign_test_p, 2 * stdtr(freedom, -np.abs(t)))
    margin = stdtrit(freedom, 0.975) * error  # half of the interval
    # 2. With the variance between rows, where that makes p or the interval larger.
    if rows is not None:
        total_variance = error**2 + rows.variance
        total_error = np.sqrt(total_variance)
        is_exact = total_error <= EQUAL
        spread = error**4 / freedom + rows.variance**2 / rows.freedom
        total_freedom = np.where(is_exact, freedom, total_variance**2 / np.where(is_exact, 1.0, spread))
        t = mean / np.where(is_exact, 1.0, total_error)
        # Next to a variance the p-value of the signs does not count.
        p = np.where(is_exact, p, np.maximum(p * ~is_constant, 2 * stdtr(total_freedom, -np.abs(t))))
        total_margin = np.maximum(margin, stdtrit(total_freedom, 0.975) * total_error)
        is_wider = total_margin > margin
        error = np.where(is_wider, total_error, error)
        freedom = np.where(is_wider, total_freedom, freedom)
        margin = total_margin
        p = np.where(np.isnan(rows.variance), np.nan, p)
    # 3. One pair says nothing of what varies.
    margin = np.where(n >= 2, margin, np.nan)
    p = np.where(n >= 2, p, np.nan)
    return PairedTest(n, mean, mean - margin, mean + margin, p, error, freedom)


def compute_slopes(metric: Metric | str | Callable[[Counts], Floats], counts: Counts) -> Floats:
    """Return how a metric changes with each count: its derivatives, in the shape of ``counts.n``.

    By small steps to both sides; of a metric with a kink there, such as an absolute value at 0, the steeper
    side. 0 where a count is 0: no row is there to tell.

    >>> n = np.array([[[3.0, 1], [0, 0]], [[1, 1], [0, 0]]])
    >>> compute_slopes("selection-rate-difference", Counts(("g", "f"), n))[:, 0].round(2).tolist()
    [[-0.06, 0.19], [0.25, -0.25]]
    """
    if callable(metric):
        compute = metric
    else:
        compute = partial(measure, metric)
    values = compute(counts)
    slopes = np.zeros_like(counts.n)
    for group, label, decision in np.ndindex(counts.n.shape[-3:]):
        step = STEP * counts.n[..., group, label, decision]
        one_sided = []
        for sign in (1, -1):
            moved = counts.n.copy()
            moved[..., group, label, decision] += sign * step
            moved_values = compute(Counts(counts.groups, moved, counts.reference))
            with np.errstate(divide="ignore", invalid="ignore"):
                one_sided.append(np.where(step > 0, (moved_values - values) / (sign * step), 0.0))
        upward, downward = one_sided
        is_steeper = np.abs(upward) > np.abs(downward)
        slopes[..., group, label, decision] = np.where(is_steeper, upward, downward)
    return slopes


@dataclass(frozen=True, eq=False)
class ModelDecisions:
    """What the models of some repeats decided on the same rows.

    Parameters
    ----------
    n : float array, shape (repeats, strata, 2)
        Counts of rows by group and label, which are strata, and by decision.
    rows : uint8 array, shape (runs, repeats), or None
        The chance with which rows were accepted, in steps of 1/255, stratum by stratum; rows that follow each
        other and are alike in every repeat stand there once. None where it was not kept.
    starts : int array, shape (runs,)
        The first row of each run.
    """

    n: Floats
    rows: NDArray[np.uint8] | None = None
    starts: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def select(self, repeats: NDArray[Any]) -> "ModelDecisions":
        """Return the decisions in some of the repeats, by a mask or by their indices."""
        n = self.n[repeats]
        if self.rows is None:
            return ModelDecisions(n)
        return _merge_runs(n, self.rows[:, repeats], self.starts)


def unpack_decisions(n: Floats, packed: Sequence[str | None]) -> ModelDecisions:
    """Return the decisions, row by row only where every repeat has them and they agree with the counts.

    Parameters
    ----------
    n : float array, shape (repeats, groups, 2, 2)
    packed : sequence of (str or None)
        Of each repeat, as `decisions.packed` makes them.
    """
    # 1. Groups and labels are the strata; rows stand stratum by stratum.
    by_stratum = n.reshape(len(n), -1, 2)
    sizes = by_stratum[0].sum(-1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    has_rows = np.diff(starts) > 0
    rows = np.zeros((len(by_stratum), starts[-1]), dtype=np.uint8)
    # 2. The rows of each repeat, as far as they can be read and add up to its counts.
    for counts, text, row in zip(by_stratum, packed, rows, strict=True):
        try:
            row[:] = unpacked_steps(text or "", len(row))
        except ValueError:
            return ModelDecisions(by_stratum)
        n_accepted = np.zeros(len(sizes))
        if len(row):
            steps = np.add.reduceat(row, starts[:-1][has_rows], dtype=np.int64)
            n_accepted[has_rows] = steps / STEPS
        is_off = np.abs(n_accepted - counts[:, 1]) > CHANCE_STEP * sizes + EQUAL
        if (is_off | (counts.sum(-1) != sizes)).any():
            return ModelDecisions(by_stratum)
    return _merge_runs(by_stratum, rows.T, np.arange(rows.shape[1]))


def _merge_runs(n: Floats, rows: NDArray[np.uint8], starts: Rows) -> ModelDecisions:
    """Return the decisions, where neighbours of a stratum that are alike in all repeats stand once."""
    is_break = (rows[1:] != rows[:-1]).any(axis=1)
    is_break |= np.isin(starts[1:], np.cumsum(n[0].sum(-1)))
    run_indices = np.flatnonzero(np.append(True, is_break))
    return ModelDecisions(n, rows[run_indices], starts[run_indices])


@dataclass(frozen=True, eq=False)
class PairedDecisions:
    """What the models of two techniques decided on the same rows, neighbours that are alike together.

    Parameters
    ----------
    ours, theirs : float arrays, shape (runs, repeats)
        The chance with which the rows of a run were accepted.
    lengths : int array, shape (runs,)
        How many rows each run has.
    strata : int array, shape (strata + 1,)
        The first run of each stratum, and the number of runs.
    """

    ours: Floats
    theirs: Floats
    lengths: Rows
    strata: Rows


def pair_decisions(ours: ModelDecisions, theirs: ModelDecisions) -> PairedDecisions | None:
    """Return the decisions of two models on the same rows; None where those of one were not kept."""
    if ours.rows is None or theirs.rows is None:
        return None
    ends = np.cumsum(ours.n[0].sum(-1))
    starts = np.sort(np.concatenate([ours.starts, theirs.starts]), kind="stable")  # faster than union1d
    starts = starts[np.diff(starts, prepend=-1) > 0]
    our_runs = np.searchsorted(ours.starts, starts, side="right") - 1
    their_runs = np.searchsorted(theirs.starts, starts, side="right") - 1
    return PairedDecisions(
        ours=_chances(ours.rows.take(our_runs, axis=0)),
        theirs=_chances(theirs.rows.take(their_runs, axis=0)),
        lengths=np.diff(starts, append=ends[-1]),
        strata=np.searchsorted(starts, np.append(0, ends)),
    )


def _chances(steps: NDArray[np.uint8]) -> Floats:
    """Return chances that were kept in steps, as single numbers like those of `unpacked`."""
    chances = steps.astype(np.float32)
    chances /= STEPS
    return chances.astype(np.float64)


def row_variance(
    ours: ModelDecisions, theirs: ModelDecisions, slope: Floats, their_slope: Floats
) -> RowVariance:
    """Return the variance that the choice of the rows gives to mean differences of metrics.

    A row of stratum s moves the mean difference by its influence: the mean over the repeats of the slope of
    its count in one model less that in the other. The sum of the squared influences is the variance of the
    mean over samples of rows (delta method). What rows do to single repeats is in the variance between the
    repeats too, as in a two-way table of repeats and rows; so the sum of both is a little too large (1 % with
    3,000 rows and 30 repeats, 10 % with 500 and 5, in simulations).

    Where the decisions on rows were not kept, counts leave open how far two models agree within a stratum. Of
    all ways that the counts allow the one with the largest variance is taken, repeat by repeat, and repeats
    are taken to go together: the variance is then an upper bound.

    Parameters
    ----------
    ours, theirs : ModelDecisions
        Of the same repeats.
    slope, their_slope : float array, shape (metrics, repeats, strata, 2)
        0 for repeats that are no pairs of a metric; other repeats divided by how many there are.
    """
    rows = pair_decisions(ours, theirs)
    if rows is None:
        return bound_variance(ours.n, theirs.n, slope, their_slope)
    return variance_of_rows(rows, slope, their_slope)


def variance_of_rows(rows: PairedDecisions, slope: Floats, their_slope: Floats) -> RowVariance:
    """Return the variance of `row_variance`, from decisions that were kept."""
    # 1. The influence of a row on each metric: of its chances in all repeats, and of being in its stratum.
    chances = np.concatenate([rows.ours, rows.theirs], axis=1)
    chance_slopes = np.concatenate([np.diff(slope)[..., 0], -np.diff(their_slope)[..., 0]], axis=1)
    row_slopes = slope[..., 0] - their_slope[..., 0]  # (metrics, repeats, strata)
    influence = np.empty((len(slope), len(chances)))
    for stratum, (low, high) in enumerate(pairwise(rows.strata)):
        decision_influence = chance_slopes[:, :, stratum] @ chances[low:high].T
        influence[:, low:high] = decision_influence + row_slopes[:, :, stratum].sum(1)[:, None]
    # 2. Its second and fourth moments are the variance, and how well that is known.
    n = rows.lengths.sum()
    influence -= (influence @ rows.lengths)[:, None] / n
    squares = influence**2
    second_moment = squares @ rows.lengths
    fourth_moment = squares**2 @ rows.lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.nan_to_num(2 * second_moment**2 / (fourth_moment - second_moment**2 / n), nan=1.0)
    return RowVariance(second_moment * n / max(n - 1, 1), np.clip(freedom, 1, max(n - 1, 1)))


def bound_variance(
    n: Floats, their_n: Floats, slope: Floats, their_slope: Floats, accepted_by_both: Floats | None = None
) -> RowVariance:
    """Return the largest variance that counts of decisions allow, whatever was decided on which row.

    Parameters are those of `row_variance`, with counts alone; `accepted_by_both`, shape (repeats, strata),
    are the rows that both models accept, where these are known.
    """
    # 1. What a stratum's rows move the metrics by in the mean: p and q are the chances of being accepted,
    # a and b the slopes of one row that is accepted instead of rejected.
    sizes = n.sum(-1)
    n_rows = n[0].sum()
    with np.errstate(invalid="ignore"):
        p = np.nan_to_num(n[..., 1] / n.sum(-1))
        q = np.nan_to_num(their_n[..., 1] / their_n.sum(-1))
    a = np.diff(slope)[..., 0]
    b = np.diff(their_slope)[..., 0]
    stratum_means = slope[..., 0] - their_slope[..., 0] + a * p - b * q  # (metrics, repeats, strata)
    # 2. The covariance of the two decisions in a stratum: as counted, else the one with the most variance.
    if accepted_by_both is None:
        least = np.maximum(0.0, p + q - 1) - p * q
        most = np.minimum(p, q) - p * q
        covariance = np.where(a * b > 0, least, most)
    else:
        with np.errstate(invalid="ignore"):
            covariance = np.nan_to_num(accepted_by_both / sizes) - p * q
    # 3. The variance between strata and within them; repeats go together.
    within_variance = a**2 * p * (1 - p) + b**2 * q * (1 - q) - 2 * a * b * covariance
    within_deviation = np.sqrt(np.maximum(within_variance, 0.0))
    mean = (stratum_means.sum(1) @ sizes[0]) / n_rows
    squares = ((stratum_means.sum(1) - mean[:, None]) ** 2 + within_deviation.sum(1) ** 2) @ sizes[0]
    return RowVariance(squares * n_rows / max(n_rows - 1, 1), np.full(len(squares), max(n_rows - 1, 1.0)))
