"""Reject option classification: uncertain decisions go in favour of the deprived group."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from fairbench_cli.classifiers.encode import training_weights
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.post_processing import Scorer, fit_and_hold_out, scores_of
from fairbench_cli.interventions.validation import Share

TIED = 1e-12  # what sums of floats may be off


@dataclass(frozen=True)
class RejectOption:
    """Accept the deprived and refuse the favoured where the classifier is not sure.

    Kamiran, Karim & Zhang (2012). With p = P(y=+|x), rows with max(p, 1 − p) < θ are critical: of these the
    deprived are accepted and the favoured refused. The others are accepted if p > 1/2. So the deprived are
    accepted from p > 1 − θ and the favoured from p ≥ θ. Needs the group of the rows to predict.

    θ is given, or chosen on validation rows, which the classifier is not fitted to: of all θ that decide
    differently, the most accurate that leaves a difference in selection rates of no more than `target`, or,
    if there is none, the one that leaves the smallest; of ties, the more accurate, then the smaller θ.

    Parameters
    ----------
    theta : float in [0.5, 1), or None
        θ; 0.5 changes nothing. None: chosen.
    target : float, at least 0
        Largest |d| wanted on the validation rows, if θ is chosen. With 0, d comes as near to 0 as it can.
    validation : float in (0, 1)
        Share of validation rows, if θ is chosen.
    """

    theta: Annotated[float, Field(ge=0.5, lt=1)] | None = None
    target: Annotated[float, Field(ge=0, le=1)] = 0.0
    validation: Share = 0.3

    def __post_init__(self) -> None:
        if self.theta is not None and (self.target, self.validation) != (0.0, 0.3):
            raise ValueError("target and validation choose theta, which is given")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the classifier, and choose θ if it is not given; `rng` is not used.

        ``noop`` when θ = 0.5. ``degraded`` when no θ reaches a target above 0.

        Raises
        ------
        Infeasible
            When the classifier gives no probabilities, or a group has no validation row with one of the
            labels.
        """
        if self.theta is not None:
            model = classifier.fit(train)
            probabilities_of(model, train)
            theta, facts, reached = self.theta, {}, True
        else:
            model, rows = fit_and_hold_out(train, classifier, self.validation)
            theta, accuracy, d = choose(rows, probabilities_of(model, rows), self.target)
            facts = {"accuracy_validation": accuracy, "discrimination_validation": d}
            reached = self.target == 0 or abs(d) <= self.target + TIED
        fitted = RejectOptionModel(model, theta)
        facts |= {"theta": theta}
        if not reached:
            reason = f"no theta leaves a difference of at most {self.target} on the validation rows"
            return Fitted(fitted, "degraded", reason, facts)
        if theta == 0.5:
            return Fitted(fitted, "noop", "with theta 0.5 no row is critical", facts)
        return Fitted(fitted, facts=facts)


@dataclass(frozen=True, eq=False)
class RejectOptionModel:
    """Decides as its model does, except on critical rows."""

    model: Scorer
    theta: float

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that its model was trained on."""
        return self.model.columns

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return decide(probabilities_of(self.model, sample), sample.s, self.theta)


def probabilities_of(model: Scorer, sample: Sample) -> Floats:
    """Return P(y=+|x) of each row, shape (rows,); `Infeasible` if a model has none."""
    p = scores_of(model, sample)
    if not ((p >= 0) & (p <= 1)).all():
        raise Infeasible("the classifier's scores are not probabilities")
    return p


def decide(p: Floats, s: Labels, theta: float) -> Labels:
    """Return the decision of each row: int8, shape (rows,).

    Parameters
    ----------
    p : float64 array in [0, 1], shape (rows,)
        P(y=+|x).
    s : int8 array, shape (rows,)
        0 for the deprived group, 1 for the favoured one.
    theta : float in [0.5, 1)
        Rows with max(p, 1 − p) below it are critical.

    >>> decide(np.array([0.3, 0.45, 0.55, 0.7]), np.array([0, 0, 1, 1], np.int8), 0.6).tolist()
    [0, 1, 0, 1]
    """
    return np.where(np.maximum(p, 1 - p) < theta, s == 0, p > 0.5).astype(np.int8)


def choose(rows: Sample, p: Floats, target: float) -> tuple[float, float, float]:
    """Return θ, and its accuracy and discrimination P(ŷ=+|favoured) − P(ŷ=+|deprived) on the rows.

    Every set of critical rows is tried: θ is 0.5, or half-way between two neighbouring values of max(p, 1−p).

    Parameters
    ----------
    rows : Sample
        Validation rows with both groups.
    p : float64 array in [0, 1], shape (rows,)
        Their P(y=+|x).
    target : float, at least 0
        Largest |d| wanted; see `RejectOption`.
    """
    weights, deprived = training_weights(rows), rows.s == 0
    plain = p > 0.5
    change = deprived * 1.0 - plain  # of the decision, if the row is critical
    # Rounded, as 1 − 0.42 is not exactly 0.58.
    sure, level = np.unique(np.maximum(p, 1 - p).round(12), return_inverse=True)

    def shares(start: ArrayLike, by_row: Floats, of: NDArray[np.bool_]) -> Floats:
        steps = np.bincount(level[of], (weights * by_row)[of], len(sure))
        sums = np.cumsum([(weights * np.asarray(start))[of].sum(), *steps])
        return np.asarray(sums / weights[of].sum(), dtype=np.float64)

    accuracy = shares(plain == rows.y, change * (2 * rows.y - 1), np.ones(len(rows), dtype=bool))
    d = shares(plain, change, ~deprived) - shares(plain, change, deprived)
    above = np.append(sure[1:], 1.0)
    middle = (sure + above) / 2
    thetas = np.concatenate([[0.5], np.where(middle > sure, middle, above)])
    possible = np.flatnonzero(thetas < 1)
    size = np.abs(d[possible]).round(12)
    best = possible[size <= max(target, size.min())]
    k = best[np.lexsort((thetas[best], -accuracy[best].round(12)))[0]]
    return float(thetas[k]), float(accuracy[k]), float(d[k])
