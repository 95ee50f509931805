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
from fairbench_cli.report.ledger.inference import PairedTest, RowVariance, bound, paired_test, slopes
from fairbench_cli.report.ledger.journal_arrays import (
    TECHNIQUE,
    DatasetRepeats,
    is_baseline,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import adjusted, verdicts
from fairbench_cli.report.ledger.population_tests import FRESH, FROM_COUNTS, SPLITS, of_two_models
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

Corners = tuple[GroupPoints, GroupPoints]


@dataclass(frozen=True, eq=False)
class Decisions:
    """What thresholds decide, next to what the baseline itself decides.

    Parameters
    ----------
    counts : Counts
        Of the deprived and the favoured group, shape (cells, repeats, 2, 2, 2), in expectation.
    both : float array, shape (cells, repeats, 2, 2)
        Of each group and label the rows that both accept: the fewer, as both cut the same score.
    """

    counts: Counts
    both: Floats


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
    held : Held
        Which rates are held alike.
    accuracy, gap : float array, shape (cells, repeats, tolerances)
        The best accuracy of the cell's own model at each of `TOLERANCES`, and the gap it is reached at.
    technique_accuracy, technique_gap : float array, shape (cells, repeats)
        Of the technique as it decides.
    baseline : list of (int or None)
        For each cell the place of ``none`` with the same β, classifier and ``include_protected``.
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
    held: Held
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
        return measure(GAP_METRICS[self.held], self.chosen.counts)

    @property
    def unprocessed(self) -> Floats:
        """The best accuracy of the cell's own model without any constraint, shape (cells, repeats)."""
        return self.accuracy[..., -1]


@lru_cache(maxsize=2)  # files, figures and page are of one run
def moved_thresholds_of_run(run: RunResults) -> list[MovedThresholds]:
    """Return the moved thresholds by data set, groups compared and constraint. Empty without a sweep."""
    return [
        moved
        for data in (run.datasets if run.plan.config.sweep else ())
        for compared in data.asked(run.attributes)
        for moved in moved_thresholds_by_constraint(data, compared)
    ]


def moved_thresholds_by_constraint(data: DatasetRepeats, compared: str) -> Iterator[MovedThresholds]:
    """Yield what thresholds reach under each of the constraints in `GAP_METRICS`."""
    shape = data.status.shape
    counts = data.pair(data.counts, compared)
    decisions = [_decisions(data, counts, cell, compared) for cell in range(len(data.cells))]
    corners = [{repeat: _corners(n) for repeat, n in own.items()} for own in decisions]
    baseline = data.untouched(same=True)
    technique_accuracy = measure("accuracy", counts)
    for held, metric in GAP_METRICS.items():
        technique_gap = measure(metric, counts)
        accuracy, gap = np.full((2, *shape, len(TOLERANCES)), np.nan)
        frontier_accuracy, price = np.full((2, *shape), np.nan)
        best, chosen = np.full((2, *shape, 2, 2, 3), np.nan)
        for cell, own in enumerate(corners):
            followers = np.flatnonzero([base == cell for base in baseline])
            for repeat, pair in own.items():
                gaps = technique_gap[followers, repeat]
                found = frontier_of_hulls(pair, held, np.concatenate([TOLERANCES, gaps, gaps + GAP_STEP]))
                ends = [len(TOLERANCES), len(TOLERANCES) + len(gaps)]
                accuracy[cell, repeat], at_gap, further = np.split(found.accuracy, ends)
                frontier_accuracy[followers, repeat] = at_gap
                price[followers, repeat] = (further - at_gap) / GAP_STEP
                gap[cell, repeat] = found.gap[: len(TOLERANCES)]
                if held == "equalised-odds" or not len(followers):
                    continue
                n = decisions[cell][repeat]
                rng = np.random.default_rng(derive_seed(data.cells[cell]["key"], compared, repeat, "halves"))
                one, other = split_in_halves(n, rng)
                best[followers, repeat] = _apply(frontier_of_hulls(pair, held, gaps), n)
                chosen[followers, repeat] = sum(
                    _apply(frontier_of_hulls(_corners(choice), held, gaps), rows)
                    for choice, rows in ((one, other), (other, one))
                )
        decided = (Decisions(Counts(PAIR, each[..., :2]), each[..., 2]) for each in (best, chosen))
        of_technique = technique_accuracy, technique_gap, baseline
        yield MovedThresholds(
            data, compared, held, accuracy, gap, *of_technique, frontier_accuracy, price, *decided
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
    >>> one, other = split_in_halves(n, np.random.default_rng(1))
    >>> bool((one + other == n).all()), one.sum((2, 3)).ravel().tolist()
    (True, [7.0, 7.0, 7.0])
    """
    accepted = n[..., 1]
    order = np.argsort(accepted, axis=0, kind="stable")
    between = np.diff(np.take_along_axis(accepted, order, axis=0), axis=0, prepend=0.0).clip(0.0)
    rows = np.floor(between)
    taken = rng.binomial(rows.astype(np.int64), 0.5) + (between - rows) * rng.integers(0, 2, rows.shape)
    one = np.empty_like(n)
    np.put_along_axis(one[..., 1], order, np.cumsum(taken, axis=0), axis=0)
    one[..., 0] = one[..., 1].max(axis=0) - one[..., 1]
    return one, n - one


def _decisions(data: DatasetRepeats, counts: Counts, cell: int, compared: str) -> dict[int, Floats]:
    """Return counts of two groups by repeat: at every acceptance rate, and as the model itself decides."""
    repeats, swept = data.swept(cell, compared)
    n = np.concatenate([swept.pair.n, counts.n[cell, repeats, np.newaxis]], axis=1) if len(repeats) else ()
    return dict(zip(repeats.tolist(), n, strict=True))


def _corners(n: Floats) -> Corners:
    deprived, favoured = points_of_counts(Counts(PAIR, n))
    return convex_hull(deprived), convex_hull(favoured)


def _apply(chosen: Frontier, n: Floats) -> Floats:
    """Return of drawn decisions who is refused, accepted, and accepted by the model itself too.

    Shape (tolerances, 2, 2, 3): by group, label and these. `n` is as in `_decisions`: the last of the
    decisions is the model's own.
    """
    if not chosen.draws:  # a group has no row with a label
        return np.full((len(chosen.gap), 2, 2, 3), np.nan)
    both = np.minimum(n[..., 1], n[-1, ..., 1])
    values = np.concatenate([n, both[..., None]], axis=-1)
    groups = []
    for group, draw in enumerate(chosen.draws):
        known = ~np.isnan(draw.share)
        first, second = (
            values[np.where(known, index, 0).astype(np.intp), group] for index in (draw.first, draw.second)
        )
        share = draw.share[:, None, None]
        groups.append((1 - share) * first + share * second)
    return np.stack(groups, axis=1)


def frontier_frame(run: RunResults) -> pd.DataFrame:
    """Return frontier.csv: the best accuracy of every model at every tolerance of every constraint.

    ``accuracy`` is the mean over the repeats, with sd and 95 % t-interval; ``gap`` is the mean difference
    between the groups that the best thresholds have, at most the tolerance. Models without scores are left
    out.
    """
    parts = []
    for moved in moved_thresholds_of_run(run):
        numbers = mean_and_interval(np.moveaxis(moved.accuracy, 1, -1))  # (cells, tolerances)
        known = np.flatnonzero(numbers["n_ok"].any(axis=1))
        frame = _cells(moved).iloc[np.repeat(known, len(TOLERANCES))]
        columns = {"accuracy": numbers.pop("mean")} | numbers
        columns["gap"] = mean_and_interval(np.moveaxis(moved.gap, 1, -1))["mean"]
        parts.append(
            frame.assign(
                tolerance=np.tile(TOLERANCES, len(known)),
                **{name: values[known].ravel() for name, values in columns.items()},
                n=run.plan.config.repeats,
            )[FRONTIER_COLUMNS]
        )
    return _together(parts, FRONTIER_COLUMNS)


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
    parts = []
    for moved in moved_thresholds_of_run(run):
        excess = moved.technique_accuracy - moved.frontier_accuracy
        shortfall = moved.technique_accuracy - moved.chosen_accuracy
        of_frontier = paired_test(excess)
        of_chosen = paired_test(shortfall)
        shortfall = shortfall - moved.price * (moved.technique_gap - moved.chosen_gap)
        both = np.where(
            np.isnan(moved.frontier_accuracy), np.nan, 1.0
        )  # means over the repeats that are compared
        means = {
            "accuracy": moved.technique_accuracy * both,
            "gap": moved.technique_gap * both,
            "frontier_accuracy": moved.frontier_accuracy * both,
            "chosen_accuracy": moved.chosen_accuracy,
            "chosen_gap": moved.chosen_gap,
            "unprocessed_accuracy": moved.unprocessed,
        }
        frame = _cells(moved)
        tested = np.array(
            [not is_baseline(*own[:2]) for own in frame[TECHNIQUE].itertuples(index=False)], dtype=bool
        )
        above = _over_population(moved, excess, moved.best)
        below = _over_population(moved, shortfall, moved.chosen)
        side = np.where(above.mean > 0, 1, np.where(below.mean < 0, -1, 0))
        p = np.select([side > 0, side < 0, ~np.isnan(above.p)], [above.p, below.p, 1.0], np.nan)
        kind = moved.data.design.kind
        basis = {"drawn": FRESH, "split": SPLITS}.get(kind, FROM_COUNTS)
        frame = frame.assign(
            n=of_frontier.n.astype(int),
            **{name: mean_and_interval(values)["mean"] for name, values in means.items()},
            difference=of_frontier.mean,
            low=of_frontier.low,
            high=of_frontier.high,
            p=np.where(tested, p, np.nan),
            side=side,
            basis=np.where(
                ~tested, "", np.where(np.isnan(p), THRESHOLDS_UNKNOWN if kind == "shared" else "", basis)
            ),
            chosen_difference=of_chosen.mean,
            chosen_low=of_chosen.low,
            chosen_high=of_chosen.high,
        )
        parts.append(frame[frame["n"] > 0])
    frame = _together(parts, [*FRONTIER_DISTANCE_COLUMNS, "side"])
    tests = adjusted(frame, frame["p"].to_numpy(dtype=float), [*BLOCK, "constraint"])
    words = verdicts(frame["side"].to_numpy(dtype=float), tests["p_holm"], ABOVE, BELOW, NOT_DISTINGUISHABLE)
    return frame.assign(**tests, verdict=words)[FRONTIER_DISTANCE_COLUMNS]


def _over_population(moved: MovedThresholds, differences: Floats, thresholds: Decisions) -> PairedTest:
    """Test for every cell whether its mean difference to thresholds is 0 in the population."""
    data = moved.data
    if data.design.kind != "shared":
        return paired_test(differences, data.design.ratio)
    bases = np.array([i if base is None else base for i, base in enumerate(moved.baseline)])
    known = np.isfinite(differences) & ~np.isnan(thresholds.both).any(axis=(-1, -2))
    known &= (bases != np.arange(len(bases)))[:, None]
    pairs = data.pair(data.counts, moved.compared)
    nones = Counts(PAIR, pairs.n[bases])
    price = moved.price[..., None, None, None]
    own, none, cut = (
        slopes("accuracy", counts) - price * slopes(GAP_METRICS[moved.held], counts)
        for counts in (pairs, nones, thresholds.counts)
    )
    cells = list(enumerate(bases.tolist()))
    to_none, _ = of_two_models(data, moved.compared, cells, known, own[None], none[None])
    found = np.full((2, len(differences)), np.nan)
    for cell in np.flatnonzero(known.any(axis=1)):
        at = cell, np.flatnonzero(known[cell])
        before, after, move, turn = (
            n[at].reshape(-1, 4, 2) for n in (nones.n, thresholds.counts.n, none, cut)
        )
        move = move[None] / len(move)
        turn = turn[None] / len(turn)
        to_cut = bound(before, after, move, turn, thresholds.both[at].reshape(-1, 4))
        most = (np.sqrt(to_none.variance[:, cell]) + np.sqrt(to_cut.variance)) ** 2
        found[:, cell] = np.concatenate([most, np.minimum(to_none.freedom[:, cell], to_cut.freedom)])
    return paired_test(differences, data.design.ratio, RowVariance(*found))


def _cells(moved: MovedThresholds) -> pd.DataFrame:
    return moved.data.frame.assign(compared=moved.compared, constraint=moved.held)


def _together(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    some = [part for part in parts if len(part)]
    if some:
        return pd.concat(some, ignore_index=True)
    return pd.DataFrame(columns=columns)
