"""The cell's classifier as a scikit-learn estimator, for libraries that train one themselves."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fairbench_cli.classifiers.encode import NUMBER
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.outputs import as_decisions, as_probabilities
from fairbench_cli.data.table import Floats


def _gives_probabilities(estimator: "MatrixClassifier") -> bool:
    spec = estimator.classifier.spec
    return hasattr(spec.build(estimator.level_counts or (NUMBER,), 0), "predict_proba")


class MatrixClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted to a matrix; scikit-learn may clone it.

    Parameters
    ----------
    classifier : Classifier
        With its parameters and seed.
    level_counts : tuple of int, or None
        Levels of the matrix's columns; None: all are numbers.
    favourable_first : bool
        Whether the label declares its favourable value before the other one.
    """

    def __init__(
        self,
        classifier: Classifier,
        level_counts: tuple[int, ...] | None = None,
        favourable_first: bool = False,
    ) -> None:
        self.classifier = classifier
        self.level_counts = level_counts
        self.favourable_first = favourable_first

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labels 0 and 1; raises `Infeasible` where the classifier takes no weights."""
        X = self._array(X)
        weights = None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
        labels = np.asarray(y, dtype=np.int8).reshape(-1)
        self.estimator_ = self.classifier.fit_matrix(
            X, labels, weights, self.level_counts, self.favourable_first
        )
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return each row's label, shape (rows,)."""
        returned = self.estimator_.predict(self._array(X))
        return as_decisions("predict", returned, np.shape(X)[:1]).astype(np.int64)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the labels 0 and 1, shape (rows, 2)."""
        returned = self.estimator_.predict_proba(self._array(X))
        probabilities = as_probabilities("predict_proba", returned, (np.shape(X)[0], 2))
        order = [list(self.estimator_.classes_).index(label) for label in (0, 1)]
        return np.ascontiguousarray(probabilities[:, order], dtype=np.float64)

    def _array(self, X: Any) -> Any:
        """Return the values of a data frame, unless frames are what the classifier takes."""
        frames = self.classifier.spec.encoding == "frame"
        if hasattr(X, "to_numpy") and not frames:
            return X.to_numpy()
        return X
