"""fairlearn's techniques by name. They need the extra ``fairbench-cli[fairlearn]``."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.adapters import ADAPTER_OPTIONS, Adapted
from fairbench_cli.interventions.cells import NAMES, Groups, Positive, Proportion, Share, rows_of
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign import fits

REQUIRES = ("fairlearn", "0.13")  # since when thresholds have a tolerance

Constraint = Literal["demographic-parity", "equalised-odds", "tpr-parity", "fpr-parity", "error-rate-parity"]
RateConstraint = Literal["demographic-parity", "equalised-odds", "tpr-parity", "fpr-parity"]
Objective = Literal["accuracy", "balanced-accuracy", "selection-rate", "tpr", "tnr"]
Count = Annotated[int, Field(ge=1)]

# Constraints in fairlearn's words, of which it makes names of classes and of settings.
_WORDS: dict[Constraint, str] = {
    "demographic-parity": "demographic parity",
    "equalised-odds": "equalized odds",
    "tpr-parity": "true positive rate parity",
    "fpr-parity": "false positive rate parity",
    "error-rate-parity": "error rate parity",
}
_OBJECTIVES: dict[Objective, str] = {
    "accuracy": "accuracy_score",
    "balanced-accuracy": "balanced_accuracy_score",
    "selection-rate": "selection_rate",
    "tpr": "true_positive_rate",
    "tnr": "true_negative_rate",
}
# Labels whose rows a constraint compares, by cell of group and label.
_COMPARED: dict[Constraint, tuple[int, ...]] = {
    "equalised-odds": (0, 1),
    "tpr-parity": (1,),
    "fpr-parity": (0,),
}


@dataclass(frozen=True)
class ExponentiatedGradient:
    """Mix refits of the classifier until a constraint holds (fairlearn); decides without the group.

    Agarwal, Beygelzimer, Dudík, Langford & Wallach (2018). Each refit sees other labels and weights, so the
    classifier must take weights. The model draws a refit for each row; it is counted in expectation.

    Parameters
    ----------
    constraint : {"demographic-parity", "equalised-odds", "tpr-parity", "fpr-parity", "error-rate-parity"}
        The rate that is to be alike; for equalised odds both TPR and FPR.
    bound : float in [0, 1]
        Largest distance of a group's rate from *everybody's*, on the training rows: two groups may differ by
        up to twice as much.
    eps : float, above 0
        1/eps bounds the multipliers. It is not the tolerance, which is `bound`.
    max_iter : int, at least 1
        Most iterations; ``degraded`` when they do not suffice.
    nu : float, above 0, or None
        Gap at which it stops; None is fairlearn's estimate from the first model.
    eta0 : float, above 0
        First step.
    run_linprog_step : bool
        Whether each step also looks for the best mixture of the models so far.
    groups : {"pair", "levels"}
        Compare the deprived with the favoured group, or all levels of the protected attribute.
    """

    requires: ClassVar[tuple[str, str]] = REQUIRES

    constraint: Constraint = "demographic-parity"
    bound: Proportion = 0.01
    eps: Positive = 0.01
    max_iter: Count = 50
    nu: Positive | None = None
    eta0: Positive = 2.0
    run_linprog_step: bool = True
    groups: Groups = "pair"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the mixture; raises as `Adapted.fit`."""
        from fairlearn import reductions

        moment = {_moment(self.constraint): {"difference_bound": self.bound}}
        technique = _adapted(self, reductions.ExponentiatedGradient, constraints=moment)
        return _unbounded(self.constraint, train, technique.fit(train, classifier, rng))


@dataclass(frozen=True)
class GridSearch:
    """Refit the classifier at a grid of trade-offs and take the best (fairlearn); decides without the group.

    Agarwal et al. (2018), Section 3.4. Of all refits, the one of least
    (1 − `constraint_weight`) · error + `constraint_weight` · largest violation, on the training rows.
    The grid has events × (groups − 1) dimensions: with equalised odds or several groups it takes far more
    points than ten to reach anything.

    Parameters
    ----------
    constraint : {"demographic-parity", "equalised-odds", "tpr-parity", "fpr-parity", "error-rate-parity"}
        The rate that is to be alike.
    constraint_weight : float in [0, 1]
        Weight of the violation against the error.
    grid_size : int, at least 1
        Number of refits, about.
    grid_limit : float, above 0
        Largest multiplier.
    groups : {"pair", "levels"}
        Compare the deprived with the favoured group, or all levels of the protected attribute.
    """

    requires: ClassVar[tuple[str, str]] = REQUIRES

    constraint: Constraint = "demographic-parity"
    constraint_weight: Proportion = 0.5
    grid_size: Count = 10
    grid_limit: Positive = 2.0
    groups: Groups = "pair"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit all models and choose one; raises as `Adapted.fit`."""
        from fairlearn import reductions

        technique = _adapted(self, reductions.GridSearch, constraints=_moment(self.constraint))
        return _unbounded(self.constraint, train, technique.fit(train, classifier, rng))


@dataclass(frozen=True)
class ThresholdOptimizer:
    """Threshold the classifier's scores by group, at random where needed (fairlearn); decides by the group.

    As Hardt, Price & Srebro (2016). Thresholds are fitted to validation rows, and randomised: the model is
    counted in expectation. The rates are searched on a grid, and a score must be *above* a threshold.

    Parameters
    ----------
    constraint : {"demographic-parity", "equalised-odds", "tpr-parity", "fpr-parity"}
        The rate that is to be alike; for equalised odds both TPR and FPR.
    objective : {"accuracy", "balanced-accuracy", "selection-rate", "tpr", "tnr"}
        What is maximised: its mean over the groups, by their shares of rows. Equalised odds take the first
        two.
    grid_size : int, at least 1
        Number of steps of the rate between 0 and 1.
    flip : bool
        Whether a threshold may accept the lower scores.
    tol : float in [0, 1], or None
        How far the groups' rates may lie apart; None and 0 are not at all. Not for equalised odds. fairlearn
        loses most pairs of rates that are exactly this far apart to rounding.
    validation : float in (0, 1)
        Share of the training rows that the thresholds are fitted to; the classifier sees the others.
    groups : {"pair", "levels"}
        Thresholds for the deprived and the favoured group, or for each level of the protected attribute.

    Raises
    ------
    ValueError
        When equalised odds are asked for with a tolerance or another objective.
    """

    requires: ClassVar[tuple[str, str]] = REQUIRES

    constraint: RateConstraint = "demographic-parity"
    objective: Objective = "accuracy"
    grid_size: Count = 1000
    flip: bool = False
    tol: Proportion | None = None
    validation: Share = 0.3
    groups: Groups = "pair"

    def __post_init__(self) -> None:
        if self.constraint == "equalised-odds":
            if self.tol is not None:
                raise ValueError("tol has no effect on equalised-odds")
            if self.objective not in ("accuracy", "balanced-accuracy"):
                raise ValueError("equalised-odds takes the objectives accuracy and balanced-accuracy")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier and its thresholds; raises as `Adapted.fit`."""
        from fairlearn import postprocessing

        constraints = _WORDS[self.constraint].replace(" ", "_")
        objective = _OBJECTIVES[self.objective]
        technique = _adapted(
            self, postprocessing.ThresholdOptimizer, constraints=constraints, objective=objective
        )
        return technique.fit(train, classifier, rng)


@dataclass(frozen=True)
class CorrelationRemover:
    """Remove the features' linear correlation with the group (fairlearn); decides by the group.

    Each feature, one-hot or standardised, is replaced by what a regression on the group leaves of it. The
    classifier is fitted to these numbers: naive Bayes takes them as normal, C4.5 as numeric. Anything but
    their mean may still depend on the group.

    Parameters
    ----------
    alpha : float in [0, 1]
        Share of the correlation that is removed.
    groups : {"pair", "levels"}
        Regress on being favoured, or on each level of the protected attribute.
    """

    requires: ClassVar[tuple[str, str]] = REQUIRES

    alpha: Proportion = 1.0
    groups: Groups = "pair"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Transform the features and fit the classifier; raises as `Adapted.fit`."""
        from fairlearn import preprocessing

        return _adapted(self, preprocessing.CorrelationRemover).fit(train, classifier, rng)


def _adapted(technique: Any, thing: type, **parameters: Any) -> Adapted:
    """Return a technique of a class of fairlearn: with the parameters named, and those of the same name."""
    options = {name: value for name, value in vars(technique).items() if name in ADAPTER_OPTIONS}
    return Adapted(thing, fits(thing, vars(technique)) | parameters, options)


def _moment(constraint: Constraint) -> str:
    """Return the class of a constraint on reductions."""
    return _WORDS[constraint].title().replace(" ", "")


def _unbounded(constraint: Constraint, train: Sample, fitted: Fitted) -> Fitted:
    """Return a result, ``degraded`` where a group has no rows with a label whose rate is constrained."""
    empty = [
        name
        for (s, y), name in NAMES.items()
        if y in _COMPARED.get(constraint, ()) and not len(rows_of(train, (s, y)))
    ]
    if not empty or fitted.status == "noop":
        return fitted
    reason = f"no constraint on the empty cell {', '.join(empty)}"
    return replace(fitted, status="degraded", reason="; ".join(filter(None, (fitted.reason, reason))))
