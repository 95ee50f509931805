"""A fitted linear model."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.design import Design
from fairbench_cli.data.table import Floats, Labels, Sample


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Predicts the favourable outcome where X w > 0.

    Parameters
    ----------
    design : Design
        Makes X, the intercept last.
    w : float64 array, shape (width,)
        The coefficients.
    """

    design: Design
    w: Floats

    def decisions(self, sample: Sample) -> Floats:
        """X w, shape (rows,): the signed distances from the border, times the norm of w.

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        return np.asarray(np.einsum("ij,j->i", self.design.transform(sample.features), self.w))

    def predict(self, sample: Sample) -> Labels:
        """Predict outcomes: int8, shape (rows,), 1 for the favourable one; raises as `decisions`."""
        return (self.decisions(sample) > 0).astype(np.int8)


def constant_model(design: Design, *, favourable: bool) -> LinearModel:
    """Return the model that predicts one outcome for every row."""
    w = np.zeros(design.width)
    w[-1] = 1.0 if favourable else -1.0
    return LinearModel(design, w)
