"""Naive Bayes on levels and numbers together, from scikit-learn's two kinds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.encode import NUMBER
from fairbench_cli.data.table import Floats


class MixedNaiveBayes:
    """Categorical naive Bayes on levels, Gaussian on numbers, multiplied.

    Parameters
    ----------
    level_counts : tuple of int
        Levels of each column of X, `NUMBER` for a number.
    laplace : float, above 0
        What is added to the count of each level.
    """

    def __init__(self, level_counts: tuple[int, ...], laplace: float) -> None:
        from sklearn.naive_bayes import CategoricalNB, GaussianNB

        self.level_counts, self.laplace = level_counts, laplace
        self.number = np.array(level_counts) == NUMBER
        levels = [count for count in level_counts if count != NUMBER]
        self.on_levels = CategoricalNB(alpha=laplace, min_categories=levels) if levels else None
        self.on_numbers = GaussianNB()

    def fit(self, X: Floats, y: NDArray[Any], sample_weight: Floats | None = None) -> "MixedNaiveBayes":
        """Fit to rows of codes and numbers, shape (rows, columns)."""
        self.on_numbers.fit(X[:, self.number], y, sample_weight)
        if self.on_levels is not None:
            self.on_levels.fit(X[:, ~self.number], y, sample_weight)
        self.classes_ = self.on_numbers.classes_
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return the likelier class of each row."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probability of each class, shape (rows, classes)."""
        joint = self.on_numbers.predict_joint_log_proba(X[:, self.number])
        if self.on_levels is not None:
            joint = joint + self.on_levels.predict_joint_log_proba(X[:, ~self.number])
            joint = joint - np.log(self.on_numbers.class_prior_)  # both counted it
        likely = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))
