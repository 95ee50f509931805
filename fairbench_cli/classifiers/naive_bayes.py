"""Naive Bayes on level codes: scikit-learn's, whose import would cost each run 2 s and each worker 100 MB."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Floats


class LevelsNaiveBayes:
    """Naive Bayes whose features are all levels, with Laplace's correction.

    Parameters
    ----------
    level_counts : tuple of int
        Declared levels of each column.
    laplace : float, above 0
        Added to the count of each level.

    Attributes
    ----------
    classes_ : array, shape (classes,)
        In rising order.

    Examples
    --------
    >>> X, y = np.array([[0, 1], [1, 1], [1, 0]]), np.array([0, 1, 1])
    >>> LevelsNaiveBayes((2, 2), 1.0).fit(X, y).predict_proba(X).round(3).tolist()
    [[0.64, 0.36], [0.229, 0.771], [0.129, 0.871]]
    """

    def __init__(self, level_counts: tuple[int, ...], laplace: float) -> None:
        self.level_counts, self.laplace = level_counts, laplace

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        """Count the levels of each class, by weight, in rows of codes, shape (rows, columns)."""
        self.classes_, place = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        sizes = np.bincount(place, sample_weight, k)
        with np.errstate(divide="ignore"):  # a class whose rows all weigh 0 is never predicted
            self._log_prior = np.log(sizes) - np.log(sizes.sum())
        self._log_likelihood = []
        for codes, levels in zip(X.astype(np.intp).T, self.level_counts, strict=True):
            counts = np.bincount(place * levels + codes, sample_weight, k * levels)
            smoothed = counts.reshape(k, levels) + self.laplace
            self._log_likelihood.append(np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)))
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the likelier class of each row."""
        return np.asarray(self.classes_[self._joint(X).argmax(axis=0)])

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return the probability of each class, shape (rows, classes)."""
        joint = self._joint(X)
        top = joint.max(axis=0)
        at_top = joint == top
        ties = at_top.sum(axis=0)
        others = np.where(at_top, 0.0, np.exp(joint - top)).sum(axis=0) / ties
        # The log of the sum, as scikit-learn and SciPy take it: exact where one class is all but certain.
        return np.asarray(np.exp(joint - (np.log1p(others) + np.log(ties) + top)).T)

    def predict_joint_log_proba(self, X: NDArray[Any]) -> Floats:
        """Return log P(x, y) of each class, shape (rows, classes)."""
        return np.asarray(self._joint(X).T)

    def _joint(self, X: NDArray[Any]) -> Floats:
        joint = np.zeros((len(self.classes_), len(X)))
        for codes, table in zip(X.astype(np.intp).T, self._log_likelihood, strict=True):
            joint += table[:, codes]
        return np.asarray(joint + self._log_prior[:, np.newaxis])
