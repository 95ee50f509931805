"""What moving the thresholds of two groups reaches with every model of a run, repeat by repeat.

Nothing is trained: the counts at every acceptance rate are the operating points of each group. They are the
test rows' own, so the best thresholds are chosen in hindsight; others are chosen on one half of the test rows
and judged on the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairbench_cli.base.checksums import seed_of
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import (
    Frontier,
    GroupPoints,
    Held,
    frontier_of_hulls,
    hull,
    points_of_counts,
)
from fairbench_cli.report.repeats import DatasetRepeats

TOLERANCES = (*(k / 100 for k in range(7)), 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
MORE = 0.01  # of gap, to see what it gives

GAPS: dict[Held, str] = {
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
    own_accuracy, own_gap : float array, shape (cells, repeats)
        Of the technique as it decides.
    baseline : list of (int or None)
        For each cell the place of ``none`` with the same β, classifier and ``include_protected``.
    reached : float array, shape (cells, repeats)
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
    own_accuracy: Floats
    own_gap: Floats
    baseline: list[int | None]
    reached: Floats
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
        return measure(GAPS[self.held], self.chosen.counts)

    @property
    def unprocessed(self) -> Floats:
        """The best accuracy of the cell's own model without any constraint, shape (cells, repeats)."""
        return self.accuracy[..., -1]


def moved_thresholds(data: DatasetRepeats, compared: str) -> Iterator[MovedThresholds]:
    """Yield what thresholds reach under each of the constraints in `GAPS`."""
    shape = data.status.shape
    counts = data.pair(data.counts, compared)
    decisions = [_decisions(data, counts, cell, compared) for cell in range(len(data.cells))]
    corners = [{repeat: _corners(n) for repeat, n in own.items()} for own in decisions]
    baseline = data.untouched(same=True)
    own_accuracy = measure("accuracy", counts)
    for held, metric in GAPS.items():
        own_gap = measure(metric, counts)
        accuracy, gap = np.full((2, *shape, len(TOLERANCES)), np.nan)
        reached, price = np.full((2, *shape), np.nan)
        best, chosen = (
            (np.full((*shape, 2, 2, 2), np.nan), np.full((*shape, 2, 2), np.nan)) for _ in range(2)
        )
        for cell, own in enumerate(corners):
            followers = np.flatnonzero([base == cell for base in baseline])
            for repeat, pair in own.items():
                gaps = own_gap[followers, repeat]
                found = frontier_of_hulls(pair, held, np.concatenate([TOLERANCES, gaps, gaps + MORE]))
                ends = [len(TOLERANCES), len(TOLERANCES) + len(gaps)]
                accuracy[cell, repeat], at_gap, further = np.split(found.accuracy, ends)
                reached[followers, repeat], price[followers, repeat] = at_gap, (further - at_gap) / MORE
                gap[cell, repeat] = found.gap[: len(TOLERANCES)]
                if held == "equalised-odds" or not len(followers):
                    continue
                n = decisions[cell][repeat]
                rng = np.random.default_rng(seed_of(data.cells[cell]["key"], compared, repeat, "halves"))
                one, other = halves(n, rng)
                for into, on in (
                    (best, [(pair, n)]),
                    (chosen, [(_corners(one), other), (_corners(other), one)]),
                ):
                    parts = [_apply(frontier_of_hulls(choice, held, gaps), rows) for choice, rows in on]
                    for values, summed in zip(into, zip(*parts, strict=True), strict=True):
                        values[followers, repeat] = sum(summed)
        own_values = own_accuracy, own_gap
        yield MovedThresholds(
            data, compared, held, accuracy, gap, *own_values, baseline, reached, price,
            *(Decisions(Counts(PAIR, n), both) for n, both in (best, chosen)),
        )  # fmt: skip


def halves(n: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
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
    >>> one, other = halves(n, np.random.default_rng(1))
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
    swept = data.swept[cell]
    if not len(swept.n):
        return {}
    swept = data.pair(swept, compared)
    repeats = data.swept_repeats[cell]
    n = np.concatenate([swept.n, counts.n[cell, repeats, np.newaxis]], axis=1)
    return dict(zip(repeats.tolist(), n, strict=True))


def _corners(n: Floats) -> Corners:
    deprived, favoured = points_of_counts(Counts(PAIR, n))
    return hull(deprived), hull(favoured)


def _apply(chosen: Frontier, n: Floats) -> tuple[Floats, Floats]:
    """Return the counts of drawn decisions, shape (tolerances, 2, 2, 2), and `Decisions.both`.

    `n` is as in `_decisions`: the last of the decisions is the model's own.
    """
    if not chosen.draws:  # a group has no row with a label
        shape = len(chosen.gap), *n.shape[1:]
        return np.full(shape, np.nan), np.full(shape[:-1], np.nan)
    both = np.minimum(n[..., 1], n[-1, ..., 1])
    found = []
    for values in n, both:
        groups = []
        for group, draw in enumerate(chosen.draws):
            known = ~np.isnan(draw.share)
            first, second = (
                values[np.where(known, index, 0).astype(np.intp), group]
                for index in (draw.first, draw.second)
            )
            share = draw.share.reshape(-1, *[1] * (values.ndim - 2))
            groups.append((1 - share) * first + share * second)
        found.append(np.stack(groups, axis=1))
    return found[0], found[1]
