"""Two naive Bayes: a model per group, whose class counts are moved until both are accepted equally often."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.special import expit

from fairbench_cli.classifiers.encode import pick
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Codes, Column, Floats, Labels, Rows, Sample
from fairbench_cli.interventions.cells import Positive, require_both_groups, weight_sums
from fairbench_cli.interventions.fitted import Fitted, settled

Move = Literal["promote", "demote", "stop"]


@dataclass(frozen=True)
class TwoNaiveBayes:
    """Fit a naive Bayes per group and move its class counts.

    Calders & Verwer (2010), "Three naive Bayes approaches for discrimination-free classification", section 4.
    The model is its own: of the experiment's classifier only `include_protected` counts. P(x|y,s) stays as
    fitted; only the joint counts N(y,s) move. While the favoured group is accepted more often, as predicted
    on the training rows: if fewer rows are accepted than have the favourable label, `delta` N(−,ḡ) goes from
    N(−,g) to N(+,g), else `delta` N(+,g) goes from N(+,ḡ) to N(−,ḡ). Every value of a number is a level of
    its own, as in Friedler et al. (2019); use a card with bins for others.

    Parameters
    ----------
    delta : float in (0, 1]
        Share of the other group's count that one step moves.
    alpha : float above 0
        Half of it is added to each N(y,s).
    beta : float above 0
        Shared among the levels of a column, added to their counts within each y and s.
    """

    uses_classifier: ClassVar[bool] = False

    delta: Annotated[float, Field(gt=0, le=1)] = 0.01
    alpha: Positive = 1.0
    beta: Positive = 1.0

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit both models and move the counts; `rng` is not used.

        ``noop`` when the first predictions do not favour the favoured group. ``degraded`` when the counts
        cannot move any further before the groups are accepted equally often.

        Raises
        ------
        Infeasible
            When a group has no rows.
        """
        require_both_groups(train)
        features = train.visible(include_protected=classifier.include_protected)
        tables = log_ratios(replace(train, features=features), self.beta)
        ratio = sum_of_ratios(tables, features.codes, train.s)
        states = moves(train, ratio, self.delta, self.alpha)
        first_state = last_state = next(states)
        steps = 0
        for state in states:  # there may be many: but these two, none is kept
            steps = steps + 1
            last_state = state
        facts = {
            "steps": steps,
            "predicted_discrimination_before": first_state.discrimination,
            "predicted_discrimination_after": last_state.discrimination,
            "accepted_before": sum(first_state.accepted_by_group),
            "accepted_after": sum(last_state.accepted_by_group),
        }
        prior = np.array([log_odds(*counts, self.alpha) for counts in last_state.n])
        model = TwoModels(features.columns, tables, prior)
        used_up = "a count of rows is used up before the groups are accepted equally often"
        noop = ""
        if steps == 0:
            noop = "the first predictions do not favour the favoured group"
        return settled(model, facts, degraded=used_up if last_state.discrimination > 0 else "", noop=noop)


@dataclass(frozen=True, eq=False)
class State:
    """The counts before a move, what they predict on the training rows, and the move.

    Parameters
    ----------
    n : 2 × 2 nested tuples of float
        ``n[s][y]``: the counts N(y,s).
    accepted_by_group : pair of float
        Weight of the rows that are accepted, of the deprived and of the favoured.
    discrimination : float
        P(ŷ=+|ḡ) − P(ŷ=+|g).
    move : {"promote", "demote", "stop"}
        What comes next.
    amount : float
        How much of a count it moves.
    """

    n: tuple[tuple[float, float], tuple[float, float]]
    accepted_by_group: tuple[float, float]
    discrimination: float
    move: Move
    amount: float


def log_odds(refused: float, accepted: float, alpha: float) -> float:
    """Return log((accepted + α/2) / (refused + α/2)).

    >>> round(log_odds(33, 22, 1.0), 5)
    -0.39803
    """
    return float(np.log((accepted + alpha / 2) / (refused + alpha / 2)))


def moves(train: Sample, ratio: Floats, delta: float, alpha: float) -> Iterator[State]:
    """Yield the state before each move, and the last one, after which nothing moves.

    Parameters
    ----------
    train : Sample
        The training rows; both groups have some.
    ratio : float64 array, shape (rows,)
        log P(x|+,s)/P(x|−,s) of each row.
    delta, alpha : float
        See `TwoNaiveBayes`.
    """
    weights = train.row_weights
    mass = weight_sums(train)
    positives = float(mass[:, 1].sum())
    totals = mass.sum(axis=1).tolist()
    groups = [sorted_groups(ratio[train.s == s], weights[train.s == s]) for s in (0, 1)]
    (n00, n01), (n10, n11) = mass.tolist()  # first s, then y
    while True:
        # A row is accepted if its ratio and the log-odds of the counts sum to more than 0.
        accepted = [
            above[bisect_right(ratios, -log_odds(refused, favourable, alpha))]
            for (ratios, above), refused, favourable in zip(groups, (n00, n10), (n01, n11), strict=True)
        ]
        discrimination = accepted[1] / totals[1] - accepted[0] / totals[0]
        promote = sum(accepted) < positives
        amount = delta * (n10 if promote else n01)
        if promote:
            source = n00
        else:
            source = n11
        move: Move = "promote" if promote else "demote"
        if discrimination <= 0 or amount <= 0 or source - amount < 0:
            move = "stop"
            amount = 0.0
        yield State(((n00, n01), (n10, n11)), (accepted[0], accepted[1]), discrimination, move, amount)
        if move == "stop":
            return
        if promote:
            n01 = n01 + amount
            n00 = n00 - amount
        else:
            n10 = n10 + amount
            n11 = n11 - amount


def sorted_groups(ratio: Floats, weights: Floats) -> tuple[list[float], list[float]]:
    """Return ratios rising, and the weight of all rows from each of them on, one entry more for none.

    >>> sorted_groups(np.array([0.5, -1.0, 0.5]), np.array([1.0, 2.0, 4.0]))
    ([-1.0, 0.5, 0.5], [7.0, 5.0, 4.0, 0.0])
    """
    order: Rows = np.lexsort((weights, ratio))
    above = np.cumsum(weights[order][::-1])[::-1]
    return ratio[order].tolist(), above.tolist() + [0.0]


def log_ratios(train: Sample, beta: float) -> tuple[Floats, ...]:
    """Return log P(level|+,s)/P(level|−,s) of every feature, each of shape (2, levels), by group first.

    P(level|y,s) = (N(level,y,s) + β/levels) / (N(y,s) + β), by weight; levels are those declared.
    """
    cell = train.s.astype(np.intp) * 2 + train.y
    tables = []
    for j, column in enumerate(train.features.columns):
        levels = len(column.levels)
        indices = cell * levels + train.features.codes[:, j]
        n = np.bincount(indices, train.weights, 4 * levels).reshape(2, 2, levels)
        p = np.log((n + beta / levels) / (n.sum(axis=2, keepdims=True) + beta))
        tables.append(p[:, 1] - p[:, 0])
    return tuple(tables)


def sum_of_ratios(tables: tuple[Floats, ...], codes: Codes, s: Labels) -> Floats:
    """Return log P(x|+,s)/P(x|−,s) of each row, shape (rows,)."""
    total = np.zeros(len(s))
    for j, table in enumerate(tables):
        total += table[s, codes[:, j]]
    return total


@dataclass(frozen=True, eq=False)
class TwoModels:
    """A naive Bayes of each group.

    Parameters
    ----------
    columns : tuple of Column
        The features.
    tables : tuple of float64 array, each of shape (2, levels)
        What each level of a feature adds to the log-odds, by group.
    prior : float64 array, shape (2,)
        The log-odds of each group before any feature.
    """

    columns: tuple[Column, ...]
    tables: tuple[Floats, ...]
    prior: Floats

    def decisions(self, sample: Sample) -> Floats:
        """Return each row's log-odds of the favourable outcome, shape (rows,).

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        codes = pick(sample.features, self.columns).codes
        return np.asarray(sum_of_ratios(self.tables, codes, sample.s) + self.prior[sample.s])

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for log-odds above 0; raises as `decisions`."""
        return (self.decisions(sample) > 0).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,); raises as `decisions`."""
        return np.asarray(expit(self.decisions(sample)))
