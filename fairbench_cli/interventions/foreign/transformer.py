"""Pre-processors with ``fit`` and ``transform``, before the cell's classifier."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign.construct import accepts, fits
from fairbench_cli.interventions.foreign.draws import seeded
from fairbench_cli.interventions.foreign.job import Job, weights_for
from fairbench_cli.interventions.foreign.model import favourable
from fairbench_cli.interventions.foreign.outcome import fitted
from fairbench_cli.interventions.foreign.rows import LibraryRows, known_groups, require_known


def fit_transformer(job: Job) -> Fitted:
    """Fit a pre-processor to the training rows, and the classifier to what it makes of them.

    One with ``sensitive_feature_ids`` is given the group as further columns, which it drops: the classifier
    sees them, where it is to see the protected attribute, as they were.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none.
    """
    from fairbench_cli.interventions.foreign.estimator import MatrixClassifier

    train, drops = job.train, "sensitive_feature_ids" in accepts(job.thing)
    rows = replace(job, classifier=replace(job.classifier, include_protected=False)) if drops else job
    encoded = rows.rows("one-hot")
    width = encoded.matrix(train.take(np.arange(1))).shape[1]
    ids = list(range(width, width + encoded.indicators(train).shape[1]))
    thing = job.construct(encoded, sensitive_feature_ids=ids)
    weights = weights_for(thing.fit, train.weights)
    needs_group = drops or "sensitive_features" in accepts(thing.transform)
    known = known_groups(encoded, train) if needs_group else None
    protected = train.features.columns[train.features.index(train.attribute)]
    seen = protected if drops and job.classifier.include_protected else None
    # Centred, as fairlearn before 0.15 takes one mean of all these columns away.
    means = encoded.indicators(train).mean(axis=0) if drops else None
    transforms = Transforms(thing, encoded, means, seen, known)
    with seeded(job.seed):
        X = transforms.fitted(train, weights)
        numbers = MatrixClassifier(job.classifier, None, train.favourable_first)
        estimator = numbers.fit(X, train.y, train.weights)
    return fitted(TransformedModel(transforms, estimator, job.seed), thing)


@dataclass(frozen=True, eq=False)
class Transforms:
    """Makes the classifier's matrix of samples.

    Parameters
    ----------
    thing : object
        The pre-processor.
    rows : LibraryRows
        How samples become what it takes.
    means : float64 array, shape (columns,), or None
        Of the columns of the group that it is given less these; None: it is given none.
    seen : Column or None
        The protected attribute, where the classifier sees what the pre-processor drops.
    known : frozenset of int, or None
        Groups with training rows, if it needs the group of every row.
    """

    thing: Any
    rows: LibraryRows
    means: Floats | None
    seen: Column | None
    known: frozenset[int] | None

    def fitted(self, train: Sample, weights: dict[str, Floats]) -> Floats:
        """Fit the pre-processor, and return what it makes of the training rows, shape (rows, width)."""
        X = self._given(train)
        group = {"sensitive_features": self.rows.group(train)}
        more = fits(self.thing.fit, {"y": train.y.astype(np.int64)} | group) | weights
        if hasattr(self.thing, "fit_transform"):
            return self._matrix(train, self.thing.fit_transform(X, **more))
        self.thing.fit(X, **more)
        return self.of(train)

    def of(self, sample: Sample) -> Floats:
        """Return what the pre-processor makes of a sample's rows, shape (rows, width).

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and it needs the group.
        """
        if self.known is not None:
            require_known(self.rows, sample, self.known)
        more = fits(self.thing.transform, {"sensitive_features": self.rows.group(sample)})
        return self._matrix(sample, self.thing.transform(self._given(sample), **more))

    def _given(self, sample: Sample) -> Any:
        X = self.rows.matrix(sample)
        return X if self.means is None else np.column_stack([X, self.rows.indicators(sample) - self.means])

    def _matrix(self, sample: Sample, made: Any) -> Floats:
        X = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
        if X.shape[:1] != (len(sample),) or X.ndim != 2 or not np.isfinite(X).all():
            raise ValueError("a pre-processor must return a finite number for each row and column it leaves")
        return X if self.seen is None else np.column_stack([X, self.rows.indicators(sample)])


@dataclass(frozen=True, eq=False)
class TransformedModel:
    """A classifier of what a pre-processor makes of a sample."""

    transforms: Transforms
    estimator: Any
    seed: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that the classifier sees, as the pre-processor leaves them."""
        seen = self.transforms.seen
        return self.transforms.rows.columns + (() if seen is None else (seen,))

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and the pre-processor needs the group.
        """
        with seeded(self.seed):
            return np.asarray(self.estimator.predict(self.transforms.of(sample)), np.int8)

    def predict_proba(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None without one; raises as `predict`."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        with seeded(self.seed):
            return favourable(self.estimator.predict_proba(self.transforms.of(sample)))

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None, as `Model.scores` does; raises as `predict`."""
        estimator = self.estimator.estimator_
        if not hasattr(estimator, "scores"):
            return self.predict_proba(sample)
        with seeded(self.seed):
            scores: Floats | None = estimator.scores(self.transforms.of(sample))
        return scores
