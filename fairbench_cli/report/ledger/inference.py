"""Is a difference over paired repeats more than chance? On these test rows, and in the population.

Two questions, two answers. *On these test rows*: training sets vary, test rows are what they are; a paired
t-test over the repeats. *In the population*: test rows are a sample too. Where each repeat draws its own, the
same test answers that. Where repeats are random splits of the same rows, variances are corrected (Nadeau and
Bengio 2003). Where all repeats share their test rows, the variance between test rows is added: by the delta
method, from how a metric changes with each count and from what was decided on each row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.decisions import STEPS, unpacked_steps
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure

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

    `error` and `freedom` are the standard error and the degrees of freedom of the interval. Where nothing
    varies, the error is 0 and `unseen` says by how much a row that nobody happened to see would move the mean
    (`with_unseen_rows`); infinite where that is not known.
    """

    n: Floats
    mean: Floats
    low: Floats
    high: Floats
    p: Floats
    error: Floats
    freedom: Floats
    unseen: Floats

    def p_within(self, margin: float) -> Floats:
        """Return p of the test whether the mean is a margin or more from 0: small where it is not.

        Two one-sided t-tests; p is the larger of theirs (Schuirmann 1987, "A comparison of the two one-sided
        tests procedure"). Where nothing varies, the chance that no row is seen to change though so many do
        that the mean is at the margin: the rule of three has p = .05. NaN where `p` is.

        >>> test = paired_test(np.array([[0.001, -0.001, 0.002], [0.001, -0.03, 0.02], [0.0, 0.0, 0.0]]))
        >>> test.p_within(0.01).round(3).tolist()
        [0.004, 0.339, 1.0]
        """
        inside = margin - np.abs(self.mean)
        exact = self.error <= EQUAL
        t = inside / np.where(exact, 1.0, self.error)
        unseen = np.exp(-np.maximum(inside, 0.0) / np.where(exact, self.unseen, 1.0))
        p: Floats = np.where(exact, unseen, stdtr(self.freedom, -t))
        return np.where(np.isnan(self.p), np.nan, p)


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


def paired_test(differences: Floats, ratio: float = 0.0, rows: RowVariance | None = None) -> PairedTest:
    """Test along the last axis whether paired differences have mean 0 (Student's t).

    NaN and infinite differences are no pairs. With fewer than two pairs, interval and p are NaN. Where
    all differences are equal and no other variance is given the t-statistic has no value: p is 1 if they are
    0, else that of the sign test, the least that so many pairs can have; see `with_unseen_rows`.

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
    n, mean, variance, is_constant = _moments(differences)
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
    n, mean, variance, is_constant = _moments(ours)
    their_n, their_mean, their_variance, is_their_constant = _moments(theirs)
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


def _moments(values: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
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
    unseen = np.where(error <= EQUAL, np.inf, 0.0)
    return PairedTest(n, mean, mean - margin, mean + margin, p, error, freedom, unseen)


def with_unseen_rows(test: PairedTest, effects: Floats, changed: Floats, share: Floats) -> PairedTest:
    """Return tests of mean differences of which nothing varies, with what rows that were not seen may do.

    Nothing is seen to vary where no row is decided otherwise, or where all repeats differ by the same. Then
    the number of rows that change is taken for a Poisson number: of none that were seen up to −log α may be
    (the rule of three, for α = .05), in either group, added in squares as by Zou and Donner (2008,
    "Construction of confidence limits"); of k that were seen the variance is k, and one more.

    Parameters
    ----------
    test : PairedTest
        Of entries of which nothing varies.
    effects : float array, shape (entries, groups)
        By how much one row of a group that is decided otherwise moves the metric of a repeat.
    changed : float array, shape (entries, groups)
        The net number of rows that are decided otherwise, in the mean over the repeats.
    share : float array, shape (entries,)
        In which share of the repeats a row is tested: 1 where all have the same rows.
    """
    moved = effects * share[:, None]  # by one row, in the mean over the repeats
    unseen = np.sqrt((moved**2).sum(axis=1))
    seen = np.sqrt((moved**2 * changed / share[:, None]).sum(axis=1) + moved.max(axis=1) ** 2)
    is_zero = np.abs(test.mean) <= EQUAL
    p = np.where(is_zero, 1.0, 2 * ndtr(-np.abs(test.mean) / seen))
    margin = np.where(is_zero, -np.log(0.025) * unseen, ndtri(0.975) * seen)  # half of the interval
    has_no_test = np.isnan(test.p)
    p = np.where(has_no_test, np.nan, p)
    margin = np.where(has_no_test, np.nan, margin)
    return replace(test, low=test.mean - margin, high=test.mean + margin, p=p, unseen=unseen)


def row_effects(metric: Metric | str, counts: Counts) -> Floats:
    """Return by how much one row that is decided otherwise moves a metric: by group, the label with most.

    0 where a group has no rows, or where the metric is not defined then.

    Parameters
    ----------
    counts : Counts
        Of shape (..., groups, 2, 2).

    Returns
    -------
    float array, shape (..., groups)

    >>> n = np.array([[[30.0, 10], [5, 5]], [[60, 30], [10, 0]]])
    >>> row_effects("discrimination", Counts(("g", "f"), n)).round(9).tolist()
    [0.02, 0.01]
    """
    values = measure(metric, counts)
    effects = np.zeros(counts.n.shape[:-2])
    for group, label, decision in np.ndindex(counts.n.shape[-3:]):
        rows = np.minimum(counts.n[..., group, label, decision], 1.0)
        moved = counts.n.copy()
        moved[..., group, label, decision] -= rows
        moved[..., group, label, 1 - decision] += rows
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(measure(metric, Counts(counts.groups, moved, counts.reference)) - values) / rows
        change = np.where(rows > 0, np.nan_to_num(change, nan=0.0, posinf=np.inf), 0.0)
        effects[..., group] = np.maximum(effects[..., group], change)
    return effects


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


def row_variance(
    ours: ModelDecisions, theirs: ModelDecisions, slope: Floats, their_slope: Floats
) -> RowVariance:
    """Return the variance that the choice of the rows gives to mean differences of metrics.

    A row of stratum s moves the mean difference by its influence: the mean over the repeats of the slope of
    its count in one model less that in the other. The sum of the squared influences is the variance of the
    mean over samples of rows (delta method). What rows do to single repeats is in the variance between the
    repeats too, as in a two-way table of repeats and rows; so the sum of both is a little too large (1 % with
    3,000 rows and 30 repeats, 10 % with 500 and 5, in the simulations of benchmarks/paired.py).

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
    if ours.rows is None or theirs.rows is None:
        return bound_variance(ours.n, theirs.n, slope, their_slope)
    # 1. Rows that look alike stand together: runs of equal decisions, of both models, are taken at once.
    sizes = ours.n[0].sum(-1)
    ends = np.cumsum(sizes)
    starts = np.sort(np.concatenate([ours.starts, theirs.starts]), kind="stable")  # faster than union1d
    starts = starts[np.diff(starts, prepend=-1) > 0]
    lengths = np.diff(starts, append=ends[-1])
    # 2. The chances of being accepted, shape (runs, repeats of both models).
    n_repeats = slope.shape[1]
    chances_in_steps = np.empty((len(starts), 2 * n_repeats), dtype=np.float32)
    our_runs = np.searchsorted(ours.starts, starts, side="right") - 1
    their_runs = np.searchsorted(theirs.starts, starts, side="right") - 1
    chances_in_steps[:, :n_repeats] = ours.rows.take(our_runs, axis=0)
    chances_in_steps[:, n_repeats:] = theirs.rows.take(their_runs, axis=0)
    chances_in_steps /= STEPS  # as single numbers, like `unpacked`
    chances = chances_in_steps.astype(np.float64)
    # 3. The influence of a row on each metric: of its chances in all repeats, and of being in its stratum.
    chance_slopes = np.concatenate([np.diff(slope)[..., 0], -np.diff(their_slope)[..., 0]], axis=1)
    row_slopes = slope[..., 0] - their_slope[..., 0]  # (metrics, repeats, strata)
    influence = np.empty((len(slope), len(starts)))
    for stratum, (low, high) in enumerate(pairwise(np.searchsorted(starts, np.append(0, ends)))):
        decision_influence = chance_slopes[:, :, stratum] @ chances[low:high].T
        influence[:, low:high] = decision_influence + row_slopes[:, :, stratum].sum(1)[:, None]
    # 4. Its second and fourth moments are the variance, and how well that is known.
    n = sizes.sum()
    influence -= (influence @ lengths)[:, None] / n
    squares = influence**2
    second_moment = squares @ lengths
    fourth_moment = squares**2 @ lengths
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
