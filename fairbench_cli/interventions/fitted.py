"""What an intervention returns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from fairbench_cli.data.table import Floats, Labels, Sample

Status = Literal["ok", "noop", "degraded"]


class Predictor(Protocol):
    """A model that predicts outcomes."""

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that an intervention made, with a status and facts.

    Parameters
    ----------
    model : Predictor
        Predicts outcomes.
    status : {"ok", "noop", "degraded"}
        ``noop``: there was nothing to do. ``degraded``: done, but without its full effect.
    reason : str
        Why it is not ``ok``; else empty.
    facts : dict of str to float or int
        Numbers that say what was done; those given that are not finite are left out.

    >>> Fitted(model=None, facts={"M": 3, "discrimination_before": math.nan}).facts
    {'M': 3}
    """

    model: Predictor
    status: Status = "ok"
    reason: str = ""
    facts: Mapping[str, float | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        finite = {name: value for name, value in self.facts.items() if math.isfinite(value)}
        object.__setattr__(self, "facts", finite)

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return self.model.predict(sample)

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), higher for the favourable outcome, or None."""
        predict_proba = getattr(self.model, "predict_proba", None)
        return None if predict_proba is None else np.asarray(predict_proba(sample), dtype=np.float64)


class Infeasible(Exception):  # noqa: N818 - a result, not an error: the papers print "-"
    """The technique cannot run on this sample; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
