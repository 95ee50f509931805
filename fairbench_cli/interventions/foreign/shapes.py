"""The shapes of foreign techniques: sensitive features, the group in an index, transformers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.classifiers.fit import Model
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.cells import divide_rows, empty_cells, expected, weight_sums
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.foreign.job import (
    DRAWN,
    ForeignModel,
    Job,
    LibraryRows,
    accepts,
    each_group_first,
    favourable,
    fits,
    fitted,
    known_groups,
    require_both_labels,
    require_known,
    seeded,
    takes_classifier,
    weights_for,
)


def fit_sensitive(job: Job) -> Fitted:
    """Fit an object to the training rows; with ``prefit`` its classifier to some, and it to the others.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none, or it is fitted to validation rows in which a group has
        one label only.
    """
    rows = job.rows(None if takes_classifier(job.thing) else "one-hot")
    thing = job.construct(rows, prefit=True, predict_method="predict_proba")
    train = job.train
    weights_for(thing.fit, train.weights)
    if getattr(thing, "prefit", False):
        others, train = divide_rows(train, job.validation)
        require_both_labels(rows, job.train, train)
        with seeded(job.seed):
            thing.estimator.fit(rows.matrix(others), others.y.astype(np.int64))
    train = train.take(each_group_first(rows.codes(train)))
    more = weights_for(thing.fit, train.weights) | {"sensitive_features": rows.group(train)}
    with seeded(job.seed):
        thing.fit(rows.matrix(train), train.y.astype(np.int64), **more)
    decides = Decides(thing, rows, job.seed)
    chance = decides.chance if decides.gives(decides.chance, train) else None
    score = decides.score if decides.gives(decides.score, train) else None
    parameters = accepts(thing.predict)
    known = known_groups(rows, train) if "sensitive_features" in parameters else None
    model = ForeignModel(rows, decides.labels, chance, score, job.seed, known)
    return fitted(model, thing, DRAWN if chance is None and "random_state" in parameters else "")


@dataclass(frozen=True, eq=False)
class Decides:
    """Calls a fitted object with the rows of a sample, and with their groups where it takes them."""

    thing: Any
    rows: LibraryRows
    seed: int

    def labels(self, sample: Sample) -> Any:
        """Return each row's label."""
        return self._call(self.thing.predict, sample)

    def score(self, sample: Sample) -> Floats:
        """Return each row's score of the favourable outcome."""
        return favourable(self._call(self.thing.predict_proba, sample))

    def chance(self, sample: Sample) -> Floats:
        """Return the probability with which each row is accepted: fairlearn's `_pmf_predict`."""
        return favourable(self._call(self.thing._pmf_predict, sample))

    def gives(self, function: Callable[[Sample], Floats], train: Sample) -> bool:
        """Return whether a function gives numbers from 0 to 1, as asked for the first training rows."""
        few = train.take(np.arange(min(2, len(train))))
        try:
            values = function(few)
        except (AttributeError, TypeError, ValueError, KeyError, IndexError, Infeasible):
            return False
        return values.shape == (len(few),) and bool(((values > -1e-9) & (values < 1 + 1e-9)).all())

    def _call(self, method: Any, sample: Sample) -> Any:
        given = {"sensitive_features": self.rows.group(sample), "random_state": self.seed}
        return method(self.rows.matrix(sample), **fits(method, given))


if TYPE_CHECKING:
    import pandas as pd

# The group in the index is 1 for the favoured and the label 1 for the favourable: AIF360's own defaults.
CODING = {"labels": [0, 1], "pos_label": 1, "priv_group": 1}


def fit_indexed(job: Job) -> Fitted:
    """Fit a pre-processor that weights rows, a post-processor of probabilities, or a model.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none, or it has no solution.
    """
    rows = job.rows(None if takes_classifier(job.thing) else "one-hot")
    thing = job.construct(rows)
    if not hasattr(type(thing), "predict"):  # of an object, some hide it until it is fitted
        return _weighted(job, thing, rows)
    return _post(job, thing, rows) if post_processes(thing) else _model(job, thing, rows)


def post_processes(thing: Any) -> bool:
    """Return whether a class or object takes probabilities: by its tags, or a `pos_label` in `fit`."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    try:
        tags = kind._more_tags(thing)  # of scikit-learn before 1.6
    except (AttributeError, TypeError):
        tags = {}
    return bool(tags.get("requires_proba")) or "pos_label" in accepts(kind.fit)


def _weighted(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Weight the training rows as an object does, and fit the classifier to them."""
    train = job.train
    given = weights_for(thing.fit_transform, train.weights)
    with seeded(job.seed):
        _, weights = thing.fit_transform(_frame(rows, train, rows.matrix(train)), _series(train), **given)
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("it gives weights that are negative or not finite")
    before = weight_sums(train)
    empty = empty_cells(before, expected(before))
    return fitted(job.classifier.fit(replace(train, weights=weights)), thing, empty)


def _post(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Fit the classifier to some of the training rows, and the object to its probabilities of the others."""
    weights_for(thing.fit, job.train.weights)
    others, validation = divide_rows(job.train, job.validation)
    require_both_labels(rows, job.train, validation)
    model = job.classifier.fit(others)
    more = fits(thing.fit, CODING) or {key: CODING[key] for key in ("pos_label", "priv_group")}
    more |= weights_for(thing.fit, validation.weights)
    with seeded(job.seed):
        thing.fit(_probabilities(rows, validation, model), _series(validation), **more)
    decides = Adjusted(thing, rows, model)
    known = known_groups(rows, validation)
    return fitted(ForeignModel(rows, decides.labels, None, None, job.seed, known), thing)


def _model(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Fit an object that trains a model."""
    train = job.train
    more = fits(thing.fit, {"priv_group": 1}) | weights_for(thing.fit, train.weights)
    # Some read the group from a column, and drop it.
    column = hasattr(thing, "drop_prot_attr")
    decides = Trained(thing, rows, column)
    with seeded(job.seed):
        thing.fit(decides.frame(train), _series(train), **more)
    chance = decides.score if hasattr(getattr(thing, "model_", None), "_pmf_predict") else None
    score = decides.score if chance is None and hasattr(thing, "predict_proba") else None
    return fitted(ForeignModel(rows, decides.labels, chance, score, job.seed), thing)


def _frame(rows: LibraryRows, sample: Sample, X: Any) -> "pd.DataFrame":
    """Return a matrix as a data frame with the group in its index."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X.set_axis(pd.Index(sample.s.astype(np.int64), name=rows.attribute), axis=0)
    names = [f"x{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names, index=pd.Index(sample.s.astype(np.int64), name=rows.attribute))


def _series(sample: Sample) -> "pd.Series[int]":
    """Return the labels with the group in their index."""
    import pandas as pd

    index = pd.Index(sample.s.astype(np.int64), name=sample.attribute)
    return pd.Series(sample.y.tolist(), index=index)


def _probabilities(rows: LibraryRows, sample: Sample, model: Model) -> "pd.DataFrame":
    """Return a model's probabilities of the labels 0 and 1, with the group in their index."""
    favourable_one = model.predict_proba(sample)
    frame = _frame(rows, sample, np.column_stack([1 - favourable_one, favourable_one]))
    return frame.set_axis([0, 1], axis=1)


@dataclass(frozen=True, eq=False)
class Adjusted:
    """A classifier whose probabilities an object turns into labels."""

    thing: Any
    rows: LibraryRows
    model: Model

    def labels(self, sample: Sample) -> Any:
        """Return each row's label."""
        return self.thing.predict(_probabilities(self.rows, sample, self.model))


@dataclass(frozen=True, eq=False)
class Trained:
    """A model of an object.

    Parameters
    ----------
    thing : object
        The fitted object.
    rows : LibraryRows
        How samples become what it takes.
    column : bool
        Whether it reads the group from a column, and not from the index alone.
    """

    thing: Any
    rows: LibraryRows
    column: bool

    def frame(self, sample: Sample) -> "pd.DataFrame":
        """Return the features with the group in the index, and as a column if it reads one."""
        frame = _frame(self.rows, sample, self.rows.matrix(sample))
        return frame.assign(**{self.rows.attribute: sample.s}) if self.column else frame

    def labels(self, sample: Sample) -> Any:
        """Return each row's label."""
        return self.thing.predict(self.frame(sample))

    def score(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable label."""
        return favourable(self.thing.predict_proba(self.frame(sample)))


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
    # Centred, as fairlearn before 0.15 takes one mean of all these columns away.
    means = encoded.indicators(train).mean(axis=0) if drops else None
    transforms = Transforms(thing, encoded, means, drops and job.classifier.include_protected, known)
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
    seen : bool
        Whether the classifier sees the group, which the pre-processor drops.
    known : frozenset of int, or None
        Groups with training rows, if it needs the group of every row.
    """

    thing: Any
    rows: LibraryRows
    means: Floats | None
    seen: bool
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
        return np.column_stack([X, self.rows.indicators(sample)]) if self.seen else X


@dataclass(frozen=True, eq=False)
class TransformedModel:
    """A classifier of what a pre-processor makes of a sample."""

    transforms: Transforms
    estimator: Any
    seed: int

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
