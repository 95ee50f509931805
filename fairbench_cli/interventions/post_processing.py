"""Post-processing: thresholds by group, equalised odds, and the reject option, and what they share."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from fairbench_cli.base.parameters import UNWRITTEN
from fairbench_cli.classifiers.encode import training_weights
from fairbench_cli.classifiers.fit import Classifier, FittedClassifier, FittedModel, Model
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions import cells
from fairbench_cli.interventions.cells import NotNegative, Proportion, Share
from fairbench_cli.interventions.fitted import Fitted, Infeasible, drawn, settled
from fairbench_cli.measures import thresholds
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.measures.thresholds import BestThresholds, best_thresholds


def fit_and_hold_out(
    train: Sample, classifier: Classifier | FittedClassifier, validation: float
) -> tuple[Model | FittedModel, Sample]:
    """Return the classifier fitted to a part of the rows, and the validation rows, the other part.

    Of a classifier that is fitted already all rows are validation rows.

    Raises
    ------
    Infeasible
        When a group has no validation row with one of the labels, or no row is left to fit to.
    """
    if isinstance(classifier, FittedClassifier):
        rows = held_out = train
    else:
        rows, held_out = cells.divide_rows(train, validation)
    empty = cells.empty_cells(cells.weight_sums(held_out), np.ones((2, 2)))
    if empty:
        raise Infeasible(f"{empty} among the validation rows")
    if not len(rows):
        raise Infeasible("all rows are validation rows, and none is left to fit to")
    return classifier.fit(rows), held_out


def scores_of(model: Any, sample: Sample) -> Floats:
    """Return a model's scores, shape (rows,); `Infeasible` if it has none."""
    scores = Fitted(model).scores(sample)
    if scores is None:
        raise Infeasible("the classifier gives no scores")
    return scores


def points_of(sample: Sample, scores: Floats) -> list[thresholds.GroupPoints]:
    """Return the points of the deprived and of the favoured: what each threshold on the scores accepts."""
    of_group = [np.flatnonzero(sample.s == group) for group in (0, 1)]
    weights = sample.row_weights
    return [thresholds.group_points(scores[rows], sample.y[rows], weights[rows]) for rows in of_group]


@dataclass(frozen=True, eq=False)
class GroupThresholdModel:
    """Decides by thresholds on the score of a model, those of the group that a row is of.

    Parameters
    ----------
    model : Model, FittedModel or LabelScorer
        Gives the scores.
    mixtures : tuple of thresholds.Mixture
        The thresholds of the deprived and of the favoured group.
    seed : int
        Of the draws; the same rows get the same predictions.
    """

    model: "Model | FittedModel | LabelScorer"
    mixtures: tuple[thresholds.Mixture, ...]
    seed: int

    def decision_probability(self, sample: Sample) -> Floats:
        """Return the probability with which each row is accepted, shape (rows,)."""
        scores = scores_of(self.model, sample)
        deprived, favoured = (mixture.chance(scores) for mixture in self.mixtures)
        return np.where(sample.s == 1, favoured, deprived)

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return drawn(self.decision_probability(sample), self.seed)


def decided_by(
    model: "Model | FittedModel | LabelScorer",
    solution: BestThresholds,
    facts: dict[str, float],
    rng: np.random.Generator,
) -> Fitted:
    """Return a model with the thresholds of a solution; ``degraded`` where decisions ignore the score.

    Its facts are what the solution promises on the validation rows, and those given.
    """
    promised: dict[str, float] = {
        "accuracy_validation": solution.accuracy,
        "cost_validation": solution.cost,
        "gap_validation": solution.violation,
    }
    fitted = GroupThresholdModel(model, solution.mixtures, int(rng.integers(2**63)))
    constant = all(np.isinf(mixture.thresholds).all() for mixture in solution.mixtures)
    reason = ""
    if constant:
        reason = "the decisions do not depend on the score"
    return settled(fitted, promised | facts, degraded=reason)


def drawn_thresholds(solution: BestThresholds) -> dict[str, float]:
    """Return the thresholds of a solution, as facts.

    A group's thresholds are numbered from its highest; `share` is how often one is drawn. Those that accept
    nobody or everybody are infinite, which `Fitted` leaves out, so these have a share alone.
    """
    facts: dict[str, float] = {}
    for group, mixture in zip(PAIR, solution.mixtures, strict=True):
        for k, (threshold, share) in enumerate(zip(mixture.thresholds, mixture.weights, strict=True), 1):
            facts |= {f"threshold_{group}_{k}": float(threshold), f"share_{group}_{k}": float(share)}
    return facts


Objective = Literal["accuracy", "youden"]


@dataclass(frozen=True)
class EqualisedOdds:
    """Draw decisions so that TPR and FPR are the same in both groups, on the validation rows in expectation.

    Hardt, Price & Srebro (2016). From scores, rows are accepted by thresholds of their group, some of them
    drawn at random; this is `group-thresholds` without a tolerance. From labels, only the decision ŷ of the
    classifier and the group count: P(ỹ=1 | ŷ, group) are the four numbers of the paper's linear programme.
    Scores reach more. A group whose decisions are worse than chance may have
    them reversed, as in the paper; its scores are not reversed. Needs the group of the rows to predict.

    Parameters
    ----------
    based_on : {"scores", "labels"}
        What is post-processed.
    objective : {"accuracy", "youden"}
        What to maximise: accuracy, or TPR − FPR, as AIF360's EqOddsPostprocessing does.
    validation : float in (0, 1)
        Share of validation rows.
    """

    takes_prefit: ClassVar[bool] = True

    based_on: Literal["scores", "labels"] = "scores"
    objective: Objective = "accuracy"
    validation: Share = 0.3

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier and the probabilities of its decisions.

        ``degraded`` when the best decisions are one coin for everybody, whatever the classifier says.

        Raises
        ------
        Infeasible
            When a group has no validation row with one of the labels, or the classifier gives no scores
            where they are asked for.
        """
        model, rows = fit_and_hold_out(train, classifier, self.validation)
        scorer = model if self.based_on == "scores" else as_scorer(model, rows)
        solution = equal_odds(points_of(rows, scores_of(scorer, rows)), self.objective)
        if isinstance(scorer, LabelScorer):
            facts = chances(scorer, solution)
        else:
            facts = drawn_thresholds(solution)
        return decided_by(scorer, solution, facts, rng)


def equal_odds(points: list[thresholds.GroupPoints], objective: Objective) -> BestThresholds:
    """Return the best mixtures with equal TPR and FPR, for accuracy or for Youden's J = TPR − FPR.

    Where the groups' rates are the same, 1 − J is the cost of errors that cost n/N on each of N unfavourable
    labels and n/P on each of P favourable ones, n = N + P.
    """
    if objective == "accuracy":
        return best_thresholds(points, "equalised-odds")
    negatives = sum(g.negatives for g in points)
    positives = sum(g.positives for g in points)
    n = negatives + positives
    return best_thresholds(points, "equalised-odds", costs=(n / negatives, n / positives))


@dataclass(frozen=True, eq=False)
class LabelScorer:
    """A model whose score is its own decision, or the reverse of it in groups where it is worse than chance.

    Parameters
    ----------
    model : Model
        Decides.
    reversed : tuple of bool
        Whether the decisions on the deprived and on the favoured group are reversed.
    """

    model: Model | FittedModel
    reversed: tuple[bool, bool]

    def predict(self, sample: Sample) -> Labels:
        """Return each row's decision, reversed in the groups named: int8, shape (rows,)."""
        return self.model.predict(sample) ^ np.array(self.reversed, dtype=np.int8)[sample.s]

    def predict_proba(self, sample: Sample) -> Floats:
        """Return the same as a score of 0 or 1, shape (rows,)."""
        return self.predict(sample).astype(np.float64)


def as_scorer(model: Model | FittedModel, rows: Sample) -> LabelScorer:
    """Return a model's decisions as scores, reversed in the groups where TPR < FPR on the rows given."""
    points = points_of(rows, LabelScorer(model, (False, False)).predict_proba(rows))
    # The middle point of three accepts ŷ = 1; with one decision only, there are no more than the two ends.
    deprived, favoured = (g.tp[-2] * g.negatives < g.fp[-2] * g.positives for g in points)
    return LabelScorer(model, (bool(deprived), bool(favoured)))


def chances(scorer: LabelScorer, solution: BestThresholds) -> dict[str, float]:
    """Return the four probabilities P(ỹ=1 | ŷ, group), as facts: `q1_deprived` is that of ŷ = 1."""
    facts: dict[str, float] = {}
    for group, mixture, turned in zip(PAIR, solution.mixtures, scorer.reversed, strict=True):
        refused, accepted = mixture.chance([0.0, 1.0])[:: -1 if turned else 1]
        facts |= {f"q0_{group}": float(refused), f"q1_{group}": float(accepted)}
    return facts


@dataclass(frozen=True)
class GroupThresholds:
    """Give each group the thresholds that cost least while its rates differ by no more than a tolerance.

    Hardt, Price & Srebro (2016), relaxed as by Cruz & Hardt (2024). The classifier is fitted to a part of
    the rows; on its scores of the others, the validation rows, a linear programme over the hulls of the
    groups' ROC points finds the optimum exactly. A group may get two thresholds or more, one of which is
    drawn for each row; runs count such a model in expectation. Without a constraint each group gets its
    cheapest threshold: "unprocessing", which undoes what was done to a classifier for fairness. Needs the
    group of the rows to predict, whether or not the classifier sees it.

    Parameters
    ----------
    constraint : {"demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds", "none"}
        Which rates to hold: the selection rate, TPR (equal opportunity), FPR, or both of these.
    tolerance : float, at least 0
        Largest difference between the groups on the validation rows, in expectation.
    norm : {"max", "sum"}
        Of equalised odds: whether each of the differences in FPR and TPR is held, or their sum.
    cost_fp, cost_fn : float, at least 0
        Cost of a false positive and of a false negative. With one each, accuracy is maximised.
    validation : float in (0, 1)
        Share of validation rows.
    randomised : bool
        Whether thresholds may be drawn. False: each group has one threshold, and people of one group and
        score are decided alike; of a constraint on one rate, with a tolerance above 0, as hardly any two
        thresholds have equal rates.
    """

    takes_prefit: ClassVar[bool] = True

    constraint: thresholds.Constraint = "demographic-parity"
    tolerance: NotNegative = 0.0
    norm: thresholds.Norm = "max"
    cost_fp: NotNegative = 1.0
    cost_fn: NotNegative = 1.0
    validation: Share = 0.3
    randomised: bool = field(default=True, metadata={UNWRITTEN: True})

    def __post_init__(self) -> None:
        if not self.randomised and self.constraint == "equalised-odds":
            raise ValueError("equalised odds need draws: set randomised, or hold one rate")
        if not self.randomised and self.constraint != "none" and self.tolerance == 0:
            raise ValueError("without draws hardly any two rates are equal: give a tolerance, such as 0.01")
        if self.cost_fp == self.cost_fn == 0:
            raise ValueError("cost_fp and cost_fn are both 0, so that all decisions are equally good")
        if self.constraint == "none" and self.tolerance > 0:
            raise ValueError("a tolerance is of a constraint, and there is none")
        if self.norm == "sum" and self.constraint != "equalised-odds":
            raise ValueError("norm: sum is about the two rates of equalised-odds alone")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier and the thresholds.

        ``degraded`` when the best thresholds accept everybody or nobody, so that scores decide nothing.

        Raises
        ------
        Infeasible
            When the classifier gives no scores, or a group has no validation row with one of the labels.
        """
        model, rows = fit_and_hold_out(train, classifier, self.validation)
        costs = (self.cost_fp, self.cost_fn)
        points = points_of(rows, scores_of(model, rows))
        solution = best_thresholds(
            points, self.constraint, self.tolerance, costs, self.norm, randomised=self.randomised
        )
        return decided_by(model, solution, drawn_thresholds(solution), rng)


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

    takes_prefit: ClassVar[bool] = True

    theta: Annotated[float, Field(ge=0.5, lt=1)] | None = None
    target: Proportion = 0.0
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
        model: Model | FittedModel
        if self.theta is not None:
            model = classifier.fit(train)
            probabilities_of(model, train)
            theta = self.theta
            facts = {}
            reached = True
        else:
            model, rows = fit_and_hold_out(train, classifier, self.validation)
            theta, accuracy, d = choose(rows, probabilities_of(model, rows), self.target)
            facts = {"accuracy_validation": accuracy, "discrimination_validation": d}
            reached = self.target == 0 or abs(d) <= self.target + TIED
        missed = f"no theta leaves a difference of at most {self.target} on the validation rows"
        noop = ""
        if theta == 0.5:
            noop = "with theta 0.5 no row is critical"
        fitted = RejectOptionModel(model, theta)
        return settled(fitted, facts | {"theta": theta}, degraded="" if reached else missed, noop=noop)


@dataclass(frozen=True, eq=False)
class RejectOptionModel:
    """Decides as its model does, except on critical rows."""

    model: Model | FittedModel
    theta: float

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return decide(probabilities_of(self.model, sample), sample.s, self.theta)


def probabilities_of(model: Model | FittedModel, sample: Sample) -> Floats:
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
    weights = training_weights(rows)
    deprived = rows.s == 0
    decision = p > 0.5
    change = deprived * 1.0 - decision  # of the decision, if the row is critical
    # Rounded, as 1 − 0.42 is not exactly 0.58.
    sure, level = np.unique(np.maximum(p, 1 - p).round(12), return_inverse=True)

    def shares(start: ArrayLike, by_row: Floats, selected: NDArray[np.bool_]) -> Floats:
        steps = np.bincount(level[selected], (weights * by_row)[selected], len(sure))
        sums = np.cumsum([(weights * np.asarray(start))[selected].sum(), *steps])
        return np.asarray(sums / weights[selected].sum(), dtype=np.float64)

    accuracy = shares(decision == rows.y, change * (2 * rows.y - 1), np.ones(len(rows), dtype=bool))
    d = shares(decision, change, ~deprived) - shares(decision, change, deprived)
    above = np.append(sure[1:], 1.0)
    middle = (sure + above) / 2
    thetas = np.concatenate([[0.5], np.where(middle > sure, middle, above)])
    possible = np.flatnonzero(thetas < 1)
    size = np.abs(d[possible]).round(12)
    best = possible[size <= max(target, size.min())]
    k = best[np.lexsort((thetas[best], -accuracy[best].round(12)))[0]]
    return float(thetas[k]), float(accuracy[k]), float(d[k])
