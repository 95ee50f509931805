"""A fitted linear model, and what may be wrong with it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fairbench_cli.classifiers.design import Design
from fairbench_cli.data.table import Column, Floats, Labels, Sample

OPTIMAL = 1e-6  # how far a fit may miss the conditions of optimality, per unit of weight
FAR_OUT = 50.0  # decisions beyond this have probabilities that are 0 or 1 to 20 decimals


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Predicts the favourable outcome where X w > border.

    Parameters
    ----------
    design : Design
        Makes X, the intercept last.
    w : float64 array, shape (width,)
        The coefficients.
    border : float
        0, or a hair less where rows on 0 are to count as favourable whatever the rounding.
    """

    design: Design
    w: Floats
    border: float = 0.0

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.design.columns

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
        return (self.decisions(sample) > self.border).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Predict each row's probability of the favourable outcome, shape (rows,); raises as `decisions`."""
        return np.asarray(expit(self.decisions(sample)))


def constant_model(design: Design, *, favourable: bool) -> LinearModel:
    """Return the model that predicts one outcome for every row."""
    w = np.zeros(design.width)
    w[-1] = 1.0 if favourable else -1.0
    return LinearModel(design, w)


def quasi_separation(largest: float) -> str:
    """Say so if the largest |d| of a training row is beyond 50; else nothing.

    >>> quasi_separation(49.0), quasi_separation(60.0)
    ('', "quasi-separation: a training row's decision value is 60, beyond 50")
    """
    if largest <= FAR_OUT:
        return ""
    return f"quasi-separation: a training row's decision value is {largest:.0f}, beyond {FAR_OUT:.0f}"
