"""What an intervention returns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Protocol, get_args

import numpy as np

from fairbench_cli.classifiers.fit import Infeasible as Infeasible
from fairbench_cli.classifiers.outputs import WrongOutput, as_decisions, as_probabilities, as_scores
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

    Raises
    ------
    WrongOutput
        When a fact is no number.

    >>> Fitted(model=None, facts={"M": 3, "discrimination_before": math.nan}).facts
    {'M': 3}
    """

    model: Predictor
    status: Status = "ok"
    reason: str = ""
    facts: Mapping[str, float | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", _finite_facts(self.facts))

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        WrongOutput
            When the model returns something else than 0 or 1 for each row.
        """
        return as_decisions("predict", self.model.predict(sample), (len(sample),))

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), higher for the favourable outcome, or None.

        The model's `scores`, otherwise its `predict_proba`.

        Raises
        ------
        WrongOutput
            When these are not a finite number for each row, or `predict_proba` leaves [0, 1].
        """
        try:
            if hasattr(self.model, "scores"):
                scores = self.model.scores(sample)
                if scores is None:
                    return None
                return as_scores("scores", scores, (len(sample),))
            return self.probabilities(sample)
        except Infeasible:  # a classifier without probabilities
            return None

    def probabilities(self, sample: Sample) -> Floats | None:
        """Return the model's `predict_proba` of each row, shape (rows,), or None if it has none.

        Raises
        ------
        Infeasible
            When the model is a classifier without probabilities.
        WrongOutput
            When it returns something else than a probability for each row.
        """
        return self._ask_for_probabilities("predict_proba", sample)

    def decision_probability(self, sample: Sample) -> Floats | None:
        """Return the probability with which a randomised model accepts each row, shape (rows,), or None.

        A model that draws its decisions (`predict`) has a method of this name; it is counted in expectation,
        so that its counts hold no noise of the draws. Raises as `probabilities`.
        """
        return self._ask_for_probabilities("decision_probability", sample)

    def _ask_for_probabilities(self, method_name: str, sample: Sample) -> Floats | None:
        method = getattr(self.model, method_name, None)
        values = None
        if method is not None:
            values = method(sample)
        if values is None:
            return None
        return as_probabilities(method_name, values, (len(sample),))


def _finite_facts(facts: Any) -> dict[str, float | int]:
    """Return facts as plain numbers, without those that are not finite; `WrongOutput` where one is no number.

    >>> _finite_facts({"rows": np.int64(3), "share": np.float32(0.5), "gap": math.inf})
    {'rows': 3, 'share': 0.5}
    """
    if not isinstance(facts, Mapping):
        raise WrongOutput(f"facts are {type(facts).__name__}; return numbers by their names")
    numbers: dict[str, float | int] = {}
    for key, value in facts.items():
        name = str(key)
        if not name.isprintable():
            raise WrongOutput(f"a fact is called {name!a}; return a name that can be printed")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Real | np.bool_):
            raise WrongOutput(f"the fact {name} is {type(value).__name__}; return a number")
        try:
            is_finite = math.isfinite(value)
        except OverflowError:  # a whole number of hundreds of digits
            raise WrongOutput(f"the fact {name} is larger than any float; return a number") from None
        if isinstance(value, Integral | np.bool_):
            numbers[name] = int(value)
        elif is_finite:
            numbers[name] = float(value)
    return numbers


def check_fitted(returned: Any) -> Fitted:
    """Return the result of a technique's `fit`; `WrongOutput` where it is no `Fitted` of a known status.

    Its facts are checked when it is made, and what its model says whenever that is asked for.

    >>> check_fitted(None)
    Traceback (most recent call last):
    fairbench_cli.classifiers.outputs.WrongOutput: fit returns NoneType; return Fitted(model)
    """
    if not isinstance(returned, Fitted):
        raise WrongOutput(f"fit returns {type(returned).__name__}; return Fitted(model)")
    if not callable(getattr(returned.model, "predict", None)):
        kind = type(returned.model).__name__
        raise WrongOutput(f"fit returns Fitted({kind}), which has no predict(sample); return Fitted(model)")
    if returned.status not in get_args(Status):
        statuses = ", ".join(get_args(Status))
        raise WrongOutput(f"fit returns the unknown status {returned.status!r}; use one of {statuses}")
    if not isinstance(returned.reason, str):
        kind = type(returned.reason).__name__
        raise WrongOutput(f"fit returns {kind} as the reason of its status; return text")
    return returned


def settled(
    model: Predictor, facts: Mapping[str, float | int], *, degraded: str = "", noop: str = ""
) -> Fitted:
    """Return a fitted model: ``degraded`` or ``noop`` for the reason given, if any; the former goes first.

    >>> settled(model=None, facts={}, degraded="", noop="nothing to do").status
    'noop'
    """
    return Fitted(model, "degraded" if degraded else "noop" if noop else "ok", degraded or noop, facts)


def drawn(chance: Floats, seed: int) -> Labels:
    """Return decisions drawn row by row with the given chances; the same rows get the same decisions.

    >>> drawn(np.array([0.0, 1.0, 0.0, 1.0]), 3).tolist()
    [0, 1, 0, 1]
    """
    return (np.random.default_rng(seed).random(len(chance)) < chance).astype(np.int8)
