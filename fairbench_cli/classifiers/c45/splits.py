"""Which column a node splits on: gain ratio among the columns of at least average gain."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.c45.columns import NUMERIC, Columns, Floats, Ints
from fairbench_cli.classifiers.c45.estimates import EPS
from fairbench_cli.classifiers.c45.rules import Rules


@dataclass(frozen=True)
class Split:
    """A column, its gain and gain ratio, and where a numeric one is cut."""

    feature: int
    gain: float
    ratio: float
    threshold: float = np.nan


def best_split(
    columns: Columns, y: Ints, rows: Ints, weight: Floats, counts: Floats, rules: Rules
) -> Split | None:
    """Return the split of a node with class weights `counts`, or None for a leaf."""
    total = counts.sum()
    if total < 2 * rules.min_leaf - EPS or total - counts.max() <= EPS:
        return None
    valid = [
        split
        for feature in range(len(columns.levels))
        if (split := _split(columns, feature, y, rows, weight, len(counts), rules)) is not None
    ]
    # A nominal column with very many levels does not count for the average, unless all are like that.
    few = [n == NUMERIC or n < 0.3 * rules.rows - EPS for n in columns.levels]
    averaged = [split.gain for split in valid if not any(few) or few[split.feature]]
    if not averaged:
        return None
    least = sum(averaged) / len(averaged) - 1e-3
    best: Split | None = None
    for split in valid:
        if split.gain >= least and split.ratio > (best.ratio if best else 0.0) + EPS:
            best = split
    if best is None or best.ratio <= EPS:
        return None
    return best


def _split(
    columns: Columns, feature: int, y: Ints, rows: Ints, weight: Floats, classes: int, rules: Rules
) -> Split | None:
    if columns.levels[feature] == NUMERIC:
        return _numeric(columns, feature, y, rows, weight, classes, rules)
    codes = columns.codes[rows, feature]
    known = codes >= 0
    n = columns.levels[feature]
    weights = np.bincount(codes[known] * classes + y[rows[known]], weight[known], minlength=n * classes)
    bags = np.asarray(weights, dtype=np.float64).reshape(n, classes)
    if (bags.sum(axis=1) >= rules.min_leaf - EPS).sum() < 2:
        return None
    gain = _gain(bags, weight.sum())
    return Split(feature, gain, _ratio(gain, bags, weight.sum()))


def _numeric(
    columns: Columns, feature: int, y: Ints, rows: Ints, weight: Floats, classes: int, rules: Rules
) -> Split | None:
    """Cut at the threshold of the highest gain, less what choosing among so many costs."""
    values = columns.values(feature)[rows]
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    values, w, labels = values[known][order], weight[known][order], y[rows[known]][order]
    least = max(rules.min_leaf, min(25.0, 0.1 * w.sum() / classes))
    if len(values) < 2 * least - EPS:
        return None
    table = np.zeros((len(values), classes))
    table[np.arange(len(values)), labels] = w
    below = table.cumsum(axis=0)
    at = np.flatnonzero(values[:-1] + 1e-5 < values[1:])
    left, right = below[at], below[-1] - below[at]
    admissible = (left.sum(axis=1) >= least - EPS) & (right.sum(axis=1) >= least - EPS)
    at, bags = at[admissible], np.stack([left[admissible], right[admissible]], axis=1)
    if not len(at):
        return None
    total = weight.sum()
    gains = _gains(bags, total)
    best, chosen = 0.0, -1
    for i in np.flatnonzero(gains > np.concatenate([[0.0], np.maximum.accumulate(gains)[:-1]])):
        if gains[i] > best + EPS:
            best, chosen = float(gains[i]), int(i)
    gain = best - np.log2(len(at)) / total
    if chosen < 0 or gain <= EPS:
        return None
    i = at[chosen]
    middle = (values[i] + values[i + 1]) / 2.0
    everywhere = columns.values(feature)
    threshold = float(everywhere[everywhere <= middle].max())
    return Split(feature, gain, _ratio(gain, bags[chosen], total), threshold)


def _entropy(weights: Floats, axis: int = -1) -> Floats:
    """Return total times entropy in bits."""
    bits: Floats = _xlogx(weights.sum(axis=axis)) - _xlogx(weights).sum(axis=axis)
    return bits


def _xlogx(x: Floats) -> Floats:
    bits: Floats = np.where(x < 1e-6, 0.0, x * np.log2(np.maximum(x, 1e-6)))
    return bits


def _gain(bags: Floats, total: float) -> float:
    return float(_gains(bags[None], total)[0])


def _gains(bags: Floats, total: float) -> Floats:
    """Return the gain of splits, bags of shape (splits, branches, classes); missing rows weigh it down."""
    known = bags.sum(axis=(1, 2))
    saved = _entropy(bags.sum(axis=1)) - _entropy(bags).sum(axis=1)
    saved = saved * (known / total)
    return np.where(np.abs(saved) <= EPS, 0.0, saved / np.maximum(known, EPS))


def _ratio(gain: float, bags: Floats, total: float) -> float:
    """Return gain over split information; rows with a missing value are one more branch of it."""
    sizes = bags.sum(axis=1)
    parts = np.append(sizes, max(total - sizes.sum(), 0.0))
    information = float(_xlogx(np.asarray(total)) - _xlogx(parts).sum())
    return 0.0 if abs(information) <= EPS else gain / (information / total)
