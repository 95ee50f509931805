"""What an intervention gives back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from fairbench_cli.data.table import Floats, Labels, Sample

Status = Literal["ok", "noop", "degraded"]


class Predictor(Protocol):
    """Whatever predicts outcomes."""

    def predict(self, sample: Sample) -> Labels:
        """Predict each row's outcome: int8, shape (rows,), 1 for the favourable one."""
        ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that an intervention made, and how that went.

    Parameters
    ----------
    model : Predictor
        Predicts outcomes.
    status : {"ok", "noop", "degraded"}
        ``noop``: there was nothing to do. ``degraded``: done, but without its full effect.
    reason : str
        Why it is not ``ok``; else empty.
    facts : dict of str to float or int
        Numbers that say what was done, all finite: a number that is undefined is left out.
    """

    model: Predictor
    status: Status = "ok"
    reason: str = ""
    facts: Mapping[str, float | int] = field(default_factory=dict)

    def predict(self, sample: Sample) -> Labels:
        """Predict each row's outcome: int8, shape (rows,), 1 for the favourable one."""
        return self.model.predict(sample)

    def scores(self, sample: Sample) -> Floats | None:
        """Score each row, shape (rows,), higher for the favourable outcome; None if the model cannot."""
        predict_proba = getattr(self.model, "predict_proba", None)
        return None if predict_proba is None else np.asarray(predict_proba(sample), dtype=np.float64)


class Infeasible(Exception):  # noqa: N818 - a result, not an error: the papers print "-"
    """The technique cannot run on this sample; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def defined(facts: Mapping[str, float | int]) -> dict[str, float | int]:
    """Leave out the numbers that are undefined.

    >>> defined({"M": 3, "discrimination_before": math.nan})
    {'M': 3}
    """
    return {name: value for name, value in facts.items() if math.isfinite(value)}
