"""What moving the thresholds of two groups reaches with every model, and whether a technique beats it.

Nothing is trained: the counts at every acceptance rate are the operating points of each group. They are the
test rows' own, so the best thresholds are chosen in hindsight; others are chosen on one half of the test rows
and judged on the other. Cruz & Hardt (2024): models are compared at the same fairness, after "unprocessing".
frontier.csv and frontier_distance.csv.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import (
    Frontier,
    GroupPoints,
    Held,
    convex_hull,
    frontier_of_hulls,
    points_of_counts,
)
from fairbench_cli.report.ledger.cell_labels import BLOCK
from fairbench_cli.report.ledger.inference import (
    PairedTest,
    RowVariance,
    bound_variance,
    compute_slopes,
    paired_test,
)
from fairbench_cli.report.ledger.journal_arrays import (
    TECHNIQUE,
    DatasetRepeats,
    is_baseline,
    join_frames,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import adjust_by_family, verdict_words
from fairbench_cli.report.ledger.population_tests import FRESH, FROM_COUNTS, SPLITS, two_model_variance
from fairbench_cli.report.ledger.results import COMPARED, RunResults

ABOVE = "above"
BELOW = "below"
NOT_DISTINGUISHABLE = "not distinguishable"
THRESHOLDS_UNKNOWN = "none: thresholds not known row by row"

FRONTIER_COLUMNS = [
    *COMPARED, "constraint", "tolerance", "accuracy", "sd", "low", "high", "gap", "n_ok", "n",
]  # fmt: skip
FRONTIER_DISTANCE_COLUMNS = [
    *COMPARED, "constraint", "n", "accuracy", "gap", "frontier_accuracy", "difference", "low", "high", "p",
    "p_holm", "tests", "verdict", "basis", "chosen_accuracy", "chosen_gap", "chosen_difference", "chosen_low",
    "chosen_high", "unprocessed_accuracy",
]  # fmt: skip

TOLERANCES = (*(k / 100 for k in range(7)), 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
GAP_STEP = 0.01  # of gap, to see what it gives

GAP_METRICS: dict[Held, str] = {
    "demographic-parity": "demographic-parity-difference",
    "tpr-parity": "equal-opportunity",
    "equalised-odds": "equalised-odds",
}
"""The metric that a constraint bounds; of two groups it is the absolute difference."""

GroupHulls = tuple[GroupPoints, GroupPoints]
"""The hulls of the operating points of the deprived and of the favoured group."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What thresholds decide, next to what the baseline itself decides.

    Parameters
    ----------
    counts : Counts
        Of the deprived and the favoured group, shape (cells, repeats, 2, 2, 2), in expectation.
    both_accept : float array, shape (cells, repeats, 2, 2)
        Of each group and label the rows that both accept: the fewer, as both cut the same score.
    """

    counts: Counts
    both_accept: Floats


@dataclass(frozen=True, eq=False)
class MovedThresholds:
    """The cells of one data set, and what thresholds for its groups reach under one constraint.

    Every array has leading axes (cells, repeats) and is NaN where a repeat has no value.

    Parameters
    ----------
    data : DatasetRepeats
        The cells.
    compared : str
        The attribute or intersection whose deprived and favoured group get thresholds.
    constraint : Held
        Which rates are held alike.
    accuracy, gap : float array, shape (cells, repeats, tolerances)
        The best accuracy of the cell's own model at each of `TOLERANCES`, and the gap it is reached at.
    technique_accuracy, technique_gap : float array, shape (cells, repeats)
        Of the technique as it decides.
    baseline : list of (int or None)
        For each cell the index of ``none`` with the same β, classifier and ``include_protected``.
    frontier_accuracy : float array, shape (cells, repeats)
        The best accuracy of the baseline's model, of the same repeat, at the technique's own gap.
    price : float array, shape (cells, repeats)
        How much of that accuracy the next bit of gap gives: the slope of the frontier at the technique's gap.
    best, chosen : Decisions
        Of the baseline's model at the technique's own gap: with the best thresholds, and with those that are
        the best on one half of the rows, on the other half. NaN for equalised odds.
    """

    data: DatasetRepeats
    compared: str
    constraint: Held
    accuracy: Floats
    gap: Floats
    technique_accuracy: Floats
    technique_gap: Floats
    baseline: list[int | None]
    frontier_accuracy: Floats
    price: Floats
    best: Decisions
    chosen: Decisions

    @property
    def chosen_accuracy(self) -> Floats:
        """The accuracy of the thresholds that were chosen on other rows, shape (cells, repeats)."""
        return measure("accuracy", self.chosen.counts)

    @property
    def chosen_gap(self) -> Floats:
        """Their gap, shape (cells, repeats)."""
        return measure(GAP_METRICS[self.constraint], self.chosen.counts)

    @property
    def unprocessed_accuracy(self) -> Floats:
        """The best accuracy of the cell's own model without any constraint, shape (cells, repeats)."""
        return self.accuracy[..., -1]

    @property
    def frame(self) -> pd.DataFrame:
        """The cells, a row each, with the groups compared and the constraint."""
        return self.data.frame.assign(compared=self.compared, constraint=self.constraint)


@lru_cache(maxsize=2)  # files, figures and page are of one run
def moved_thresholds_of_run(run: RunResults) -> list[MovedThresholds]:
    """Return the moved thresholds by data set, groups compared and constraint. Empty without a sweep."""
    if not run.plan.config.sweep:
        return []
    moved_thresholds: list[MovedThresholds] = []
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            moved_thresholds.extend(moved_thresholds_by_constraint(data, compared))
    return moved_thresholds


def moved_thresholds_by_constraint(data: DatasetRepeats, compared: str) -> Iterator[MovedThresholds]:
    """Yield what thresholds reach under each of the constraints in `GAP_METRICS`."""
    # 1. Of each cell and repeat the counts at every acceptance rate, and the hulls of the two groups.
    counts = data.pair(data.counts, compared)
    decisions = [_decisions(data, counts, cell, compared) for cell in range(len(data.cells))]
    hulls = []
    for n_by_repeat in decisions:
        hulls.append({repeat: _group_hulls(n) for repeat, n in n_by_repeat.items()})
    baseline = data.baseline_indices(sees_same=True)
    shape = data.status.shape
    n_tolerances = len(TOLERANCES)
    technique_accuracy = measure("accuracy", counts)
    for constraint, metric in GAP_METRICS.items():
        technique_gap = measure(metric, counts)
        accuracy = np.full(shape + (n_tolerances,), np.nan)
        gap = np.full(shape + (n_tolerances,), np.nan)
        frontier_accuracy = np.full(shape, np.nan)
        price = np.full(shape, np.nan)
        # By group, label and who is refused, accepted, and accepted by the model itself too.
        best = np.full(shape + (2, 2, 3), np.nan)
        chosen = np.full(shape + (2, 2, 3), np.nan)
        for cell, hulls_by_repeat in enumerate(hulls):
            followers = np.flatnonzero([index == cell for index in baseline])
            for repeat, pair in hulls_by_repeat.items():
                # 2. The best accuracy at each tolerance, at the gaps of the cells that are compared with this
                # one, and a step further, which says what gap is worth there.
                gaps = technique_gap[followers, repeat]
                frontier = frontier_of_hulls(
                    pair, constraint, np.concatenate([TOLERANCES, gaps, gaps + GAP_STEP])
                )
                accuracy[cell, repeat], at_gaps, beyond_gaps = np.split(
                    frontier.accuracy, [n_tolerances, n_tolerances + len(gaps)]
                )
                gap[cell, repeat] = frontier.gap[:n_tolerances]
                frontier_accuracy[followers, repeat] = at_gaps
                price[followers, repeat] = (beyond_gaps - at_gaps) / GAP_STEP
                if constraint == "equalised-odds" or not len(followers):
                    continue
                # 3. What thresholds decide at these gaps: the best of all, and those of the other half.
                n = decisions[cell][repeat]
                best[followers, repeat] = _expected_decisions(frontier_of_hulls(pair, constraint, gaps), n)
                rng = np.random.default_rng(derive_seed(data.cells[cell]["key"], compared, repeat, "halves"))
                one_half, other_half = split_in_halves(n, rng)
                of_one = frontier_of_hulls(_group_hulls(one_half), constraint, gaps)
                of_other = frontier_of_hulls(_group_hulls(other_half), constraint, gaps)
                chosen[followers, repeat] = _expected_decisions(of_one, other_half) + _expected_decisions(
                    of_other, one_half
                )
        yield MovedThresholds(
            data=data,
            compared=compared,
            constraint=constraint,
            accuracy=accuracy,
            gap=gap,
            technique_accuracy=technique_accuracy,
            technique_gap=technique_gap,
            baseline=baseline,
            frontier_accuracy=frontier_accuracy,
            price=price,
            best=Decisions(Counts(PAIR, best[..., :2]), best[..., 2]),
            chosen=Decisions(Counts(PAIR, chosen[..., :2]), chosen[..., 2]),
        )


def split_in_halves(n: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Divide rows at random into two halves, and return the counts of several decisions on each.

    The decisions cut one score, so that of each group and label the rows that one accepts are among those of
    any that accepts more: counts alone say how many rows lie between two of them. What ties leave as a part
    of a row falls into one half.

    Parameters
    ----------
    n : float array, shape (decisions, groups, 2, 2)

    Examples
    --------
    >>> n = np.array([[[[8.0, 0], [4, 0]]], [[[6, 2], [1, 3]]], [[[0, 8], [0, 4]]]])
    >>> half, remainder = split_in_halves(n, np.random.default_rng(1))
    >>> bool((half + remainder == n).all()), half.sum((2, 3)).ravel().tolist()
    (True, [7.0, 7.0, 7.0])
    """
    accepted = n[..., 1]
    order = np.argsort(accepted, axis=0, kind="stable")
    between = np.diff(np.take_along_axis(accepted, order, axis=0), axis=0, prepend=0.0).clip(0.0)
    n_rows = np.floor(between)
    n_drawn = rng.binomial(n_rows.astype(np.int64), 0.5)
    n_drawn = n_drawn + (between - n_rows) * rng.integers(0, 2, n_rows.shape)
    half = np.empty_like(n)
    np.put_along_axis(half[..., 1], order, np.cumsum(n_drawn, axis=0), axis=0)
    # The rows of a half are those that the decision accepts which accepts all.
    half[..., 0] = half[..., 1].max(axis=0) - half[..., 1]
    return half, n - half


def _decisions(data: DatasetRepeats, counts: Counts, cell: int, compared: str) -> dict[int, Floats]:
    """Return counts of two groups by repeat: at every acceptance rate, and as the model itself decides."""
    repeats, swept = data.sweep_counts(cell, compared)
    if not len(repeats):
        return {}
    n = np.concatenate([swept.pair.n, counts.n[cell, repeats, np.newaxis]], axis=1)
    return dict(zip(repeats.tolist(), n, strict=True))


def _group_hulls(n: Floats) -> GroupHulls:
    deprived, favoured = points_of_counts(Counts(PAIR, n))
    return convex_hull(deprived), convex_hull(favoured)


def _expected_decisions(frontier: Frontier, n: Floats) -> Floats:
    """Return of drawn decisions who is refused, accepted, and accepted by the model itself too.

    Shape (tolerances, 2, 2, 3): by group, label and these. `n` is as in `_decisions`: the last of the
    decisions is the model's own. NaN where a group has no row with a label, and so no threshold.
    """
    if not frontier.draws:
        return np.full((len(frontier.gap), 2, 2, 3), np.nan)
    both_accept = np.minimum(n[..., 1], n[-1, ..., 1])
    outcomes = np.concatenate([n, both_accept[..., None]], axis=-1)
    groups = []
    for group, draw in enumerate(frontier.draws):
        # Where there is no draw any index will do: its share is NaN.
        has_draw = ~np.isnan(draw.share)
        first_outcome = outcomes[np.where(has_draw, draw.first, 0).astype(np.intp), group]
        second_outcome = outcomes[np.where(has_draw, draw.second, 0).astype(np.intp), group]
        share = draw.share[:, None, None]
        groups.append((1 - share) * first_outcome + share * second_outcome)
    return np.stack(groups, axis=1)


def frontier_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier.csv: the best accuracy of every model at every tolerance of every constraint.

    ``accuracy`` is the mean over the repeats, with sd and 95 % t-interval; ``gap`` is the mean difference
    between the groups that the best thresholds have, at most the tolerance. Models without scores are left
    out.
    """
    frames = []
    for moved in moved_thresholds_of_run(run):
        numbers = mean_and_interval(np.moveaxis(moved.accuracy, 1, -1))  # (cells, tolerances)
        numbers["accuracy"] = numbers.pop("mean")
        numbers["gap"] = mean_and_interval(np.moveaxis(moved.gap, 1, -1))["mean"]
        with_scores = np.flatnonzero(numbers["n_ok"].any(axis=1))
        frame = moved.frame.iloc[np.repeat(with_scores, len(TOLERANCES))]
        frame = frame.assign(
            tolerance=np.tile(TOLERANCES, len(with_scores)),
            **{name: values[with_scores].ravel() for name, values in numbers.items()},
            n=run.plan.config.repeats,
        )
        frames.append(frame[FRONTIER_COLUMNS])
    return join_frames(frames, FRONTIER_COLUMNS)


@lru_cache(maxsize=2)  # the CSV and the table are of one run
def frontier_distance_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier_distance.csv: each technique against the moved thresholds of ``none`` at its own gap.

    One row per cell, groups compared and constraint, where the run has ``none`` with the same β, classifier
    and ``include_protected``, and scores of it. In every repeat the technique's accuracy is compared with two
    kinds of thresholds of the model of ``none`` that was learned from the same training set:

    * ``difference``: with the best at the gap that the technique has in that repeat. They are chosen with
      the labels of the test rows, which no technique sees: the most that moving thresholds can reach.
    * ``chosen_difference``: with thresholds that are the best at that gap on one half of the test rows,
      divided at random, and are judged on the other half, both ways. ``chosen_accuracy`` and ``chosen_gap``
      are theirs; this is what moving thresholds reaches without hindsight. Not for equalised odds.

    A technique is ``above`` where it is more accurate than the best of all, and ``below`` where it is less
    accurate than thresholds chosen on other rows, at the same gap: a gap of theirs that is larger or smaller
    than the technique's counts at the price that gap has on the frontier. Both are about the population
    (`over_population`), by ``p``, of the one of the two that the means are on the side of, or 1; ``p_holm``
    adjusts it over all techniques and β of a data set, attribute, groups compared, classifier and constraint.
    ``basis`` says what p rests on. Where all repeats share their test rows, the variance between test rows
    is a bound: how a technique differs from ``none`` row by row is known, and how the thresholds do, as both
    cut the same score; the standard deviations are added. ``low`` to ``high`` and ``chosen_low`` to
    ``chosen_high`` are 95 % t-intervals over the repeats, on these test rows.

    ``none`` is not tested. ``unprocessed_accuracy`` is the best that thresholds of the technique's own model
    reach without any constraint.
    """
    frames = []
    for moved in moved_thresholds_of_run(run):
        # 1. The differences in accuracy: to the best thresholds, and to those that were chosen on other rows.
        excess = moved.technique_accuracy - moved.frontier_accuracy
        shortfall = moved.technique_accuracy - moved.chosen_accuracy
        to_best = paired_test(excess)
        to_chosen = paired_test(shortfall)
        # A gap of theirs that is another than the technique's counts at its price.
        shortfall = shortfall - moved.price * (moved.technique_gap - moved.chosen_gap)
        # 2. The test: of the difference that the means are on the side of.
        above = _test_in_population(moved, excess, moved.best)
        below = _test_in_population(moved, shortfall, moved.chosen)
        side = np.where(above.mean > 0, 1, np.where(below.mean < 0, -1, 0))
        p = np.select([side > 0, side < 0, ~np.isnan(above.p)], [above.p, below.p, 1.0], np.nan)
        kind = moved.data.design.kind
        basis = {"drawn": FRESH, "split": SPLITS}.get(kind, FROM_COUNTS)
        no_basis = THRESHOLDS_UNKNOWN if kind == "shared" else ""
        frame = moved.frame
        is_tested = np.array(
            [not is_baseline(*technique[:2]) for technique in frame[TECHNIQUE].itertuples(index=False)],
            dtype=bool,
        )
        # 3. Means, over the repeats that are compared.
        is_compared = np.where(np.isnan(moved.frontier_accuracy), np.nan, 1.0)
        values_by_column = {
            "accuracy": moved.technique_accuracy * is_compared,
            "gap": moved.technique_gap * is_compared,
            "frontier_accuracy": moved.frontier_accuracy * is_compared,
            "chosen_accuracy": moved.chosen_accuracy,
            "chosen_gap": moved.chosen_gap,
            "unprocessed_accuracy": moved.unprocessed_accuracy,
        }
        frame = frame.assign(
            n=to_best.n.astype(int),
            **{name: mean_and_interval(values)["mean"] for name, values in values_by_column.items()},
            difference=to_best.mean,
            low=to_best.low,
            high=to_best.high,
            p=np.where(is_tested, p, np.nan),
            side=side,
            basis=np.where(~is_tested, "", np.where(np.isnan(p), no_basis, basis)),
            chosen_difference=to_chosen.mean,
            chosen_low=to_chosen.low,
            chosen_high=to_chosen.high,
        )
        frames.append(frame[frame["n"] > 0])
    frame = join_frames(frames, FRONTIER_DISTANCE_COLUMNS + ["side"])
    family = run.plan.config.family
    p_holm = adjust_by_family(frame, frame["p"].to_numpy(dtype=float), BLOCK + ["constraint"], family)
    verdict = verdict_words(
        frame["side"].to_numpy(dtype=float), p_holm["p_holm"], ABOVE, BELOW, NOT_DISTINGUISHABLE
    )
    return frame.assign(**p_holm, verdict=verdict)[FRONTIER_DISTANCE_COLUMNS]


def _test_in_population(moved: MovedThresholds, differences: Floats, thresholds: Decisions) -> PairedTest:
    """Return for every cell the test whether its mean difference to thresholds is 0 in the population."""
    data = moved.data
    if data.design.kind != "shared":
        return paired_test(differences, data.design.ratio)
    # 1. How the difference, at the price of the gap, changes with each of the three models' counts.
    baselines = np.array([cell if base is None else base for cell, base in enumerate(moved.baseline)])
    is_tested = np.isfinite(differences) & ~np.isnan(thresholds.both_accept).any(axis=(-1, -2))
    is_tested &= (baselines != np.arange(len(baselines)))[:, None]
    technique = data.pair(data.counts, moved.compared)
    none = Counts(PAIR, technique.n[baselines])
    price = moved.price[..., None, None, None]
    gap_metric = GAP_METRICS[moved.constraint]
    technique_slopes = compute_slopes("accuracy", technique) - price * compute_slopes(gap_metric, technique)
    none_slopes = compute_slopes("accuracy", none) - price * compute_slopes(gap_metric, none)
    threshold_slopes = compute_slopes("accuracy", thresholds.counts) - price * compute_slopes(
        gap_metric, thresholds.counts
    )
    # 2. From the technique to none, row by row where decisions were kept.
    pairs = list(enumerate(baselines.tolist()))
    to_none, _ = two_model_variance(
        data, moved.compared, pairs, is_tested, technique_slopes[None], none_slopes[None]
    )
    # 3. From none to the thresholds, which cut the same score: a bound. The standard deviations are added.
    variance = np.full(len(differences), np.nan)
    freedom = np.full(len(differences), np.nan)
    for cell in np.flatnonzero(is_tested.any(axis=1)):
        repeats = np.flatnonzero(is_tested[cell])
        to_thresholds = bound_variance(
            none.n[cell, repeats].reshape(-1, 4, 2),
            thresholds.counts.n[cell, repeats].reshape(-1, 4, 2),
            none_slopes[cell, repeats].reshape(-1, 4, 2)[None] / len(repeats),
            threshold_slopes[cell, repeats].reshape(-1, 4, 2)[None] / len(repeats),
            thresholds.both_accept[cell, repeats].reshape(-1, 4),
        )
        deviation = np.sqrt(to_none.variance[0, cell]) + np.sqrt(to_thresholds.variance[0])
        variance[cell] = np.square(deviation)
        freedom[cell] = np.minimum(to_none.freedom[0, cell], to_thresholds.freedom[0])
    return paired_test(differences, data.design.ratio, RowVariance(variance, freedom))
