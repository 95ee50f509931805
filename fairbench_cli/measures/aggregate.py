"""Measures of more than two groups: pairs of groups are compared, and their values aggregated.

The survey advises the maximum (Žliobaitė 2017); Friedler et al. (2019) merge all but the favoured group
("binary") or take the mean over them ("average").
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.registry import Measure, find, measure

Scheme = Literal["pairwise", "one-against-rest", "reference", "binary"]
How = Literal["maximum", "weighted-mean", "mean"]

REST = "rest"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Groups set side by side.

    Parameters
    ----------
    names : tuple of (str, str)
        The one taken for deprived and the one taken for favoured of every pair.
    counts : Counts
        ``n`` has shape (..., pairs, 2, 2, 2).
    weights : array, shape (..., pairs)
        What a pair counts in the weighted mean: the rows of the one taken for deprived; pairwise, of both.
    """

    names: tuple[tuple[str, str], ...]
    counts: Counts
    weights: Floats


def pairs_of(counts: Counts, scheme: Scheme = "pairwise", reference: str | None = None) -> Pairs:
    """Set groups side by side.

    Parameters
    ----------
    counts : Counts
        Of two or more groups.
    scheme : {"pairwise", "one-against-rest", "reference", "binary"}
        Every two groups once, in the order of the groups; every group beside all others; every other group
        beside the reference; all others, merged, beside the reference.
    reference : str, optional
        The favoured group of the last two schemes.

    Raises
    ------
    ValueError
        When there are fewer than two groups, or the reference is missing, unknown or not asked for.
    """
    groups, n = counts.groups, counts.n
    if len(groups) < 2:
        raise ValueError(f"needs two groups or more; got {groups}")
    if (scheme in ("reference", "binary")) != (reference is not None):
        raise ValueError("the schemes reference and binary need a reference group, the others none")
    if reference is not None and reference not in groups:
        raise ValueError(f'no group "{reference}" in {groups}')
    one = {name: n[..., g, :, :] for g, name in enumerate(groups)}
    rest = {name: np.delete(n, g, axis=-3).sum(-3) for g, name in enumerate(groups)}
    if scheme == "pairwise":
        pairs = [(a, b, one[a], one[b]) for a, b in combinations(groups, 2)]
    elif scheme == "one-against-rest":
        pairs = [(name, REST, one[name], rest[name]) for name in groups]
    elif scheme == "reference":
        pairs = [
            (name, str(reference), one[name], one[str(reference)]) for name in groups if name != reference
        ]
    else:
        pairs = [(REST, str(reference), rest[str(reference)], one[str(reference)])]
    two = Counts(("deprived", "favoured"), np.stack([np.stack([a, b], -3) for _, _, a, b in pairs], -4))
    weights = two.total if scheme == "pairwise" else two.group_total[..., 0]
    return Pairs(tuple((a, b) for a, b, _, _ in pairs), two, weights)


def aggregate(
    name: str,
    counts: Counts,
    scheme: Scheme = "pairwise",
    how: How = "maximum",
    reference: str | None = None,
) -> Floats:
    """Compute a measure of two groups on more: one value per leading axis.

    Parameters
    ----------
    name : str
        Of the measure.
    counts, scheme, reference
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
        As `pairs_of`, and for the maximum of a measure that has no ideal value.

    Examples
    --------
    >>> three = Counts(("a", "b", "c"), np.array([[[3.0, 0], [0, 1]], [[2, 0], [0, 2]], [[0, 0], [0, 4]]]))
    >>> [float(aggregate("discrimination", three, how=how)) for how in ("maximum", "weighted-mean")]
    [0.75, 0.5]
    >>> float(aggregate("impact-ratio", three, "reference", "mean", reference="c"))
    0.375
    """
    pairs = pairs_of(counts, scheme, reference)
    values = measure(name, pairs.counts)
    known = ~np.isnan(values)
    if how == "maximum":
        away = np.where(known, _distance(find(name), values), -1.0)
        worst = np.argmax(away, axis=-1)[..., None]
        return np.asarray(np.take_along_axis(values, worst, axis=-1)[..., 0])
    weights = np.where(known, pairs.weights if how == "weighted-mean" else 1.0, 0.0)
    # Not 0 × ∞: a pair that counts nothing must not undo the mean.
    return divide((np.where(weights > 0, values, 0.0) * weights).sum(-1), weights.sum(-1))


def _distance(entry: Measure, values: Floats) -> Floats:
    """How far values are from the ideal one."""
    if entry.ideal is None:
        raise ValueError(f"{entry.name} has no ideal value to be farthest from; take a mean")
    if entry.ratio:
        with np.errstate(divide="ignore"):
            return np.abs(np.log(values))
    return np.abs(values - entry.ideal)
