"""Estimators that read the group from a frame's index, the shape of AIF360's scikit-learn classes."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.classifiers.fit import Model
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.cells import empty_cells, expected, weight_sums
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign.construct import accepts, fits
from fairbench_cli.interventions.foreign.draws import seeded
from fairbench_cli.interventions.foreign.job import Job, takes_classifier, weights_for
from fairbench_cli.interventions.foreign.model import ForeignModel, favourable
from fairbench_cli.interventions.foreign.outcome import fitted
from fairbench_cli.interventions.foreign.rows import LibraryRows, known_groups, require_both_labels
from fairbench_cli.interventions.validation import divide_rows

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
