"""What moving the thresholds of two groups reaches with every model of a run, repeat by repeat.

Nothing is trained: the counts at every acceptance rate are the operating points of each group. They are the
test rows' own, so thresholds are chosen in hindsight.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
from fairbench_cli.report.repeats import DatasetRepeats, is_baseline, mean_and_interval

TOLERANCES = (*(k / 100 for k in range(7)), 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)

GAPS: dict[Held, str] = {
    "demographic-parity": "demographic-parity-difference",
    "tpr-parity": "equal-opportunity",
    "equalised-odds": "equalised-odds",
}
"""The metric that a constraint bounds; of two groups it is the absolute difference."""

Corners = tuple[GroupPoints, GroupPoints]


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
    chosen_accuracy, chosen_gap : float array, shape (cells, repeats)
        Of the baseline's model with thresholds chosen on all other repeats, as acceptance rates, at the
        technique's mean gap there. NaN for equalised odds.
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
    chosen_accuracy: Floats
    chosen_gap: Floats

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
    others = {
        cell: {repeat: _corners(_mean_of_others(own, repeat)) for repeat in own if len(own) > 1}
        for cell, own in enumerate(decisions)
        if is_baseline(data.cells[cell]["intervention"], data.cells[cell]["parameters"])
    }
    baseline = _baselines(data)
    own_accuracy = measure("accuracy", counts)
    for held, metric in GAPS.items():
        own_gap = measure(metric, counts)
        accuracy, gap = np.full((2, *shape, len(TOLERANCES)), np.nan)
        reached, *chosen = np.full((3, *shape), np.nan)
        for cell, own in enumerate(corners):
            followers = np.flatnonzero([base == cell for base in baseline])
            for repeat, pair in own.items():
                at = np.concatenate([TOLERANCES, own_gap[followers, repeat]])
                found = frontier_of_hulls(pair, held, at)
                accuracy[cell, repeat], reached[followers, repeat] = np.split(
                    found.accuracy, [len(TOLERANCES)]
                )
                gap[cell, repeat] = found.gap[: len(TOLERANCES)]
            if held == "equalised-odds":
                continue
            for repeat, pair in others.get(cell, {}).items():
                rest = np.delete(own_gap[followers], repeat, axis=1)
                found = frontier_of_hulls(pair, held, mean_and_interval(rest)["mean"])
                applied = _apply(found, decisions[cell][repeat])
                known = ~np.isnan(own_gap[followers, repeat])
                for into, name in zip(chosen, ("accuracy", metric), strict=True):
                    into[followers, repeat] = np.where(known, measure(name, applied), np.nan)
        own_values = own_accuracy, own_gap
        yield MovedThresholds(data, compared, held, accuracy, gap, *own_values, baseline, reached, *chosen)


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


def _mean_of_others(decisions: dict[int, Floats], repeat: int) -> Floats:
    mean: Floats = np.mean([n for other, n in decisions.items() if other != repeat], axis=0)
    return mean


def _baselines(data: DatasetRepeats) -> list[int | None]:
    names = ("beta", "include_protected", "classifier", "classifier_parameters")
    keys = [tuple(cell[name] for name in names) for cell in data.cells]
    known = {
        key: place
        for place, (key, cell) in enumerate(zip(keys, data.cells, strict=True))
        if is_baseline(cell["intervention"], cell["parameters"])
    }
    return [known.get(key) for key in keys]


def _apply(chosen: Frontier, n: Floats) -> Counts:
    """Return the counts of drawn decisions, shape (tolerances, 2, 2, 2); `n` as in `_decisions`."""
    if not chosen.draws:  # a group has no row with a label
        return Counts(PAIR, np.full((len(chosen.gap), *n.shape[1:]), np.nan))
    groups = []
    for group, draw in enumerate(chosen.draws):
        known = ~np.isnan(draw.share)
        first, second = (
            n[np.where(known, index, 0).astype(np.intp), group] for index in (draw.first, draw.second)
        )
        share = draw.share[:, np.newaxis, np.newaxis]
        groups.append((1 - share) * first + share * second)
    return Counts(PAIR, np.stack(groups, axis=1))
