"""The settings of a tree, and C4.5's pessimistic estimate of the errors of a leaf on unseen rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from fairbench_cli.classifiers.c45.columns import Floats

EPS = 1e-6  # every comparison of weights and gains: a > b means a - b > EPS


def normal_quantile(confidence: float) -> float:
    """Return z with P(Z > z) = confidence for a standard normal Z.

    >>> round(normal_quantile(0.25), 12)
    0.674489750196
    """
    return float(ndtri(1.0 - confidence))


def added_errors(weight: Any, errors: Any, confidence: float, z: float) -> Floats:
    """Return how many errors to add to those seen in leaves: the upper confidence limit less `errors`.

    Parameters
    ----------
    weight, errors : array_like, same shape
        Weight of a leaf's rows, and of those not of its majority class.
    confidence : float
        In (0, 0.5]; smaller prunes more.
    z : float
        `normal_quantile` of it.

    Notes
    -----
    Quinlan (1993), *C4.5: Programs for Machine Learning*, §4.2, with the normal approximation (and its
    continuity correction) that Weka's J48 uses. No errors: the exact binomial limit. Less than one: linear
    between the limits for 0 and 1. Nearly all: the rest.
    """
    n, e = np.asarray(weight, dtype=float), np.asarray(errors, dtype=float)
    safe = np.where(n > 0, n, 1.0)
    none = safe * (1.0 - confidence ** (1.0 / safe))
    fewer = np.minimum(e, 1.0)
    added = np.where(
        e < 1.0,
        none + fewer * (_limit(safe, np.ones_like(e), z) - none),
        _limit(safe, e, z),
    )
    return np.where(n > 0, added, 0.0)


def _limit(n: Floats, e: Floats, z: float) -> Floats:
    """Return the upper limit for at least one error, less the errors."""
    f = np.minimum((e + 0.5) / n, 1.0)
    root = np.sqrt(np.maximum(f / n - f * f / n + z * z / (4.0 * n * n), 0.0))
    upper = (f + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n)
    return np.where(e + 0.5 >= n, np.maximum(n - e, 0.0), upper * n - e)


def estimated_errors(counts: Floats, confidence: float, z: float) -> Floats:
    """Return the estimated errors of leaves with class weights `counts`, shape (..., classes)."""
    weight = counts.sum(axis=-1)
    errors = weight - counts.max(axis=-1)
    return np.asarray(errors + added_errors(weight, errors, confidence, z))


@dataclass(frozen=True)
class Rules:
    """All settings that decide the tree; see `C45` for the meanings.

    `rows` is the number of training rows as given, before equal rows are merged; `z` the normal
    quantile of `confidence`.
    """

    confidence: float
    z: float
    min_leaf: float
    prune: bool
    raise_subtrees: bool
    collapse: bool
    rows: int
