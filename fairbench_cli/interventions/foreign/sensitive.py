"""Estimators with ``fit(X, y, sensitive_features=)``, the shape of fairlearn's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.foreign.construct import accepts, fits
from fairbench_cli.interventions.foreign.draws import seeded
from fairbench_cli.interventions.foreign.job import Job, takes_classifier, weights_for
from fairbench_cli.interventions.foreign.model import ForeignModel, favourable
from fairbench_cli.interventions.foreign.outcome import DRAWN, fitted
from fairbench_cli.interventions.foreign.rows import (
    LibraryRows,
    each_group_first,
    known_groups,
    require_both_labels,
)
from fairbench_cli.interventions.validation import divide_rows


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
