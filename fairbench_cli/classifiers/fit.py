"""Fit a classifier to a sample, with or without the protected attribute, and predict."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairbench_cli.classifiers.encode import NUMBER, Encoder, Encoding, fit_encoder, pick, training_weights
from fairbench_cli.classifiers.outputs import as_decisions, as_probabilities, as_scores
from fairbench_cli.data.table import Column, Floats, Labels, ModelOutputs, Sample


class Infeasible(Exception):  # noqa: N818 - a result, not an error: the papers print "-"
    """The technique cannot run on this sample; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Spec(Protocol):
    """Parameters of a classifier, and how to build it."""

    @property
    def encoding(self) -> Encoding:
        """What the estimator takes; see `Encoder`."""
        ...

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:
        """Return an unfitted scikit-learn estimator for columns with so many levels (`NUMBER`: a number)."""
        ...


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier.

    Parameters
    ----------
    encoder : Encoder
        The features it was trained on, and how its estimator takes them.
    estimator : scikit-learn estimator, or None
        None for a constant model.
    share : float
        Share of favourable outcomes in the training sample, by weight. A constant model predicts from it.
    """

    encoder: Encoder
    estimator: Any
    share: float

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.encoder.columns

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome.

        Returns
        -------
        int8 array, shape (rows,)
            1 for the favourable outcome, else 0.

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training; `WrongOutput` when the estimator
            returns something else than 0 or 1 for each row.
        """
        features = pick(sample.features, self.columns, numbers=True)
        if self.estimator is None:
            return np.full(len(sample), self.share > 0.5, dtype=np.int8)
        returned = self.estimator.predict(self.encoder.transform(features))
        return as_decisions("predict", returned, (len(sample),))

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,).

        Raises as `predict`, and `Infeasible` when the estimator gives no probabilities.
        """
        features = pick(sample.features, self.columns, numbers=True)
        if self.estimator is None:
            return np.full(len(sample), self.share)
        returned = self.estimator.predict_proba(self.encoder.transform(features))
        probabilities = as_probabilities("predict_proba", returned, (len(sample), 2))
        favourable = list(self.estimator.classes_).index(1)
        return np.ascontiguousarray(probabilities[:, favourable], dtype=np.float64)

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), higher for the favourable outcome; None if it gives none.

        The probability of the favourable outcome, or for an estimator without probabilities the value of its
        decision function. Raises as `predict`.
        """
        if not hasattr(self.estimator, "scores"):
            return self.predict_proba(sample)
        scores = self.estimator.scores(self.encoder.transform(sample.features))
        if scores is None:
            return None
        return as_scores("scores", scores, (len(sample),))


@dataclass(frozen=True)
class Classifier:
    """A classifier to be fitted.

    Parameters
    ----------
    spec : Spec
        An instance of one of the registered dataclasses.
    include_protected : bool
        Whether the protected attribute is one of the features.
    seed : int
        Seed of the estimator, 0 to 2³² − 1.
    """

    spec: Spec
    include_protected: bool
    seed: int

    def fit(self, sample: Sample) -> Model:
        """Return the classifier fitted to a sample, by its weights if it has any.

        With one outcome only, or no features at all, the model is constant.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        weights = training_weights(sample)
        share = float(weights @ sample.y) / float(weights.sum())
        encoder = fit_encoder(sample, self.spec.encoding, include_protected=self.include_protected)
        estimator = None
        if encoder.columns and 0 < share < 1:
            X = encoder.transform(sample.features)
            favourable_first = sample.favourable_first
            estimator = self.fit_matrix(X, sample.y, sample.weights, encoder.level_counts, favourable_first)
        return Model(encoder, estimator, share)

    def fit_matrix(
        self,
        X: Any,
        y: Labels,
        weights: Floats | None = None,
        level_counts: tuple[int, ...] | None = None,
        favourable_first: bool = False,
    ) -> Any:
        """Return the estimator fitted to rows that are encoded already.

        Parameters
        ----------
        X : array, shape (rows, columns)
            As the estimator takes them.
        y : int8 array, shape (rows,)
            Both outcomes.
        weights : float64 array, shape (rows,), or None
            Row weights.
        level_counts : tuple of int, or None
            Of `Encoder.level_counts`; None where every column of `X` is a number.
        favourable_first : bool
            As in `Sample`.
        """
        if self.spec.encoding == "frame" and not hasattr(X, "iloc"):
            raise Infeasible("the classifier takes a data frame, and the technique makes a matrix")
        if level_counts is None:
            counts = (NUMBER,) * X.shape[1]
        else:
            counts = level_counts
        estimator = self.spec.build(counts, self.seed)
        if self.spec.encoding == "levels" and favourable_first:
            estimator.classes_ = np.array([1, 0])  # C4.5's ties go to the first class
        estimator.fit(X, y, sample_weight=weights)
        return estimator


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model that somebody else has fitted: rows bring what it says of them (`Sample.outputs`)."""

    def predict(self, sample: Sample) -> Labels:
        """Return each row's decision: int8, shape (rows,)."""
        return _outputs_of(sample).decisions

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,); `Infeasible` without."""
        scores = _outputs_of(sample).scores
        if scores is None or not ((scores >= 0) & (scores <= 1)).all():
            raise Infeasible("the fitted model gives no probabilities")
        return scores

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), higher for the favourable outcome, or None."""
        return _outputs_of(sample).scores


@dataclass(frozen=True)
class FittedClassifier:
    """A classifier that is fitted already, so that no rows need be held back from its training."""

    def fit(self, sample: Sample) -> FittedModel:  # noqa: ARG002 - nothing is trained
        """Return the model as it is."""
        return FittedModel()


def _outputs_of(sample: Sample) -> ModelOutputs:
    if sample.outputs is None:
        raise ValueError("the rows have nothing of the model that is fitted already")
    return sample.outputs
