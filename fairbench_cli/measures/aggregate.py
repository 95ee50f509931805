"""Metrics of two groups over more: pairs of groups are compared, and their values aggregated.

The survey advises the maximum (Žliobaitė 2017). For rates, the comparisons `spread`, `worst-ratio`,
`mean-ratio` and others do this by name.
"""

from itertools import combinations
from typing import Literal

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import find, measure

Against = Literal["pairs", "rest", "reference"]
How = Literal["maximum", "weighted-mean", "mean"]


def pairs_of(counts: Counts, against: Against = "pairs") -> tuple[Counts, Floats]:
    """Return the counts of pairs of groups, and what each counts in a weighted mean.

    Parameters
    ----------
    counts : Counts
        Of two or more groups.
    against : {"pairs", "rest", "reference"}
        Every two groups once, in their order; every group against all others; every other group against the
        reference of the counts.

    Returns
    -------
    Counts
        ``n`` has shape (..., pairs, 2, 2, 2), the one taken for deprived first.
    array, shape (..., pairs)
        The rows of the one taken for deprived; for ``pairs`` of both.

    Raises
    ------
    ValueError
        When there are fewer than two groups, or no reference is named.
    """
    n, many = counts.n, range(len(counts.groups))
    if len(many) < 2:
        raise ValueError(f"needs two groups or more; got {counts.groups}")
    one = [n[..., g, :, :] for g in many]
    if against == "pairs":
        chosen = [(one[a], one[b]) for a, b in combinations(many, 2)]
    elif against == "rest":
        chosen = [(one[g], np.delete(n, g, axis=-3).sum(-3)) for g in many]
    else:
        reference = counts.pair.n[..., 1, :, :]
        names = counts.reference or counts.groups[1:]
        chosen = [(one[g], reference) for g in many if counts.groups[g] not in names]
    two = Counts(("deprived", "favoured"), np.stack([np.stack(pair, -3) for pair in chosen], -4))
    return two, two.total if against == "pairs" else two.group_total[..., 0]


def aggregate(name: str, counts: Counts, against: Against = "pairs", how: How = "maximum") -> Floats:
    """Return a metric of two groups over more: one value per leading axis.

    Parameters
    ----------
    name : str
        Of the metric.
    counts, against
        As for `pairs_of`.
    how : {"maximum", "weighted-mean", "mean"}
        The value farthest from the ideal one (ratios on a log scale; the first of equals), with its sign; the
        mean weighted by the rows of the groups; the plain mean.

    Returns
    -------
    array, shape (...)
        Pairs without a value, such as those of an empty group, are left out. NaN when none has one.

    Raises
    ------
    ValueError
        As `pairs_of`, and for the maximum of a metric that has no ideal value.

    Examples
    --------
    >>> three = Counts(("a", "b", "c"), np.array([[[3.0, 0], [0, 1]], [[2, 0], [0, 2]], [[0, 0], [0, 4]]]))
    >>> [float(aggregate("discrimination", three, how=how)) for how in ("maximum", "weighted-mean")]
    [0.75, 0.5]
    """
    pairs, rows = pairs_of(counts, against)
    values = measure(name, pairs)
    known = ~np.isnan(values)
    if how == "maximum":
        if find(name).ideal is None:
            raise ValueError(f"{name} has no ideal value to be farthest from; take a mean")
        away = np.where(known, distance(find(name), values), -1.0)
        return np.asarray(np.take_along_axis(values, away.argmax(-1)[..., None], axis=-1)[..., 0])
    weights = np.where(known, rows if how == "weighted-mean" else 1.0, 0.0)
    # Not 0 × ∞: a pair that counts nothing must not undo the mean.
    return divide((np.where(weights > 0, values, 0.0) * weights).sum(-1), weights.sum(-1))


def distance(metric: Metric, values: Floats) -> Floats:
    """Return how far values are from the ideal of a metric, ratios on a log scale; NaN without one.

    >>> distance(find("impact-ratio"), np.array([0.5, 1, 2, 0, np.nan])).round(3).tolist()
    [0.693, 0.0, 0.693, inf, nan]
    >>> distance(find("accuracy"), np.array([0.75, 1])).tolist()
    [0.25, 0.0]
    """
    if metric.ideal is None:
        return np.full_like(values, np.nan)
    if metric.ratio:
        with np.errstate(divide="ignore"):
            return np.abs(np.log(values))
    return np.abs(values - metric.ideal)
