"""A fitted object of a library as one of our models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.fitted import drawn
from fairbench_cli.interventions.foreign.draws import seeded
from fairbench_cli.interventions.foreign.rows import LibraryRows, require_known

OfSample = Callable[[Sample], Any]


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A fitted object of a library.

    Parameters
    ----------
    rows : LibraryRows
        How samples become what it takes.
    labels : function
        Returns each row's predicted label of a sample.
    chance, score : function or None
        Returns the probability with which each row is accepted, and its score; None if there are none.
    seed : int
        Seed of what it draws, 0 to 2³² − 1.
    known : frozenset of int, or None
        Groups with training rows, if it needs the group to decide.
    """

    rows: LibraryRows
    labels: OfSample
    chance: OfSample | None
    score: OfSample | None
    seed: int
    known: frozenset[int] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.rows.columns

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and it needs the group to decide.
        ValueError
            When it predicts other labels than 0 and 1.
        """
        chance = self.decision_probability(sample)
        if chance is not None:
            return drawn(chance, self.seed)
        labels = self._call(self.labels, sample)
        if not np.isin(labels, (0, 1)).all():
            raise ValueError("it was trained on the labels 0 and 1, and predicts others")
        return np.asarray(labels, dtype=np.int8)

    def decision_probability(self, sample: Sample) -> Floats | None:
        """Return each row's probability of being accepted, or None if nothing is drawn; see `predict`."""
        if self.chance is None:
            return None
        return np.clip(np.asarray(self._call(self.chance, sample), np.float64), 0.0, 1.0)

    def predict_proba(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None if it has none; see `predict`."""
        return None if self.score is None else np.asarray(self._call(self.score, sample), np.float64)

    def _call(self, function: OfSample, sample: Sample) -> Any:
        if self.known is not None:
            require_known(self.rows, sample, self.known)
        with seeded(self.seed):
            return np.asarray(function(sample)).reshape(-1)


def favourable(both: Any) -> Floats:
    """Return the probability of the label 1 from those of 0 and 1, shape (rows, 2), or from itself alone.

    >>> favourable([[0.25, 0.75]]).tolist()
    [0.75]
    """
    values = np.asarray(both, dtype=np.float64)
    return values if values.ndim == 1 else values[:, -1]
