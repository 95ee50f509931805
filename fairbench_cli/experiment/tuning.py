"""Choose the parameters that a config leaves to tuning, within one repeat."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Sample
from fairbench_cli.experiment.config.components import classifier_parameters, own_parameters
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.interventions.cells import divide_rows
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.measures.registry import distance, measure

Attempt = Callable[[Cell], Counts]
"""Fits an untuned cell; returns the counts of its decisions by joint level of all protected attributes."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What each candidate reached on the rows that the best one was chosen on.

    Parameters
    ----------
    chosen : int
        The place of the best candidate.
    values : tuple of float
        The metric that was tuned for, by candidate; NaN where it is undefined, or the candidate infeasible.
    counts : Counts
        By joint level of all protected attributes, shape (candidates, groups, 2, 2); NaN where infeasible.
    """

    chosen: int
    values: tuple[float, ...]
    counts: Counts


def candidates_of(cell: Cell) -> list[Cell]:
    """Return the untuned cells that a tuned one chooses from, under its own key.

    Their seeds are those of the cells that a config would list with these parameters.
    """
    technique, tuning = cell.technique, cell.technique.tune
    return [
        replace(
            cell,
            technique=replace(
                technique, spec=technique.spec.having(own_parameters(values), INTERVENTIONS), tune=None
            ),
            classifier=cell.classifier.having(classifier_parameters(values), CLASSIFIERS),
        )
        for values in (tuning.candidates if tuning else [{}])
    ]


def tune(
    cell: Cell,
    protected: ProtectedAttributes,
    train: Sample,
    test: Sample,
    attempts: Callable[[Sample, Sample], Attempt],
) -> tuple[Cell, Curve | None]:
    """Return the cell with the best of its candidates' parameters, and what each of them reached.

    The candidates are fitted to a part of the training rows and measured on the others; or, where the config
    says ``on: test``, fitted to all of them and measured on the test rows, as Friedler et al. (2019) did. The
    best is nearest to the ideal of the metric, ratios on a log scale; of equal ones the first.

    Parameters
    ----------
    attempts : callable
        Takes rows to fit to and rows to decide on; returns the `Attempt` on these, which may raise
        `Infeasible`.

    Raises
    ------
    Infeasible
        When no candidate has a value.
    """
    tuning = cell.technique.tune
    if tuning is None:
        return cell, None
    fit_to, others = (train, test) if tuning.fraction is None else divide_rows(train, tuning.fraction)
    if not (len(fit_to) and len(others)):
        part = "to fit to" if len(others) else "to choose on"
        raise Infeasible(f"{tuning}: of {len(train)} training rows none are left {part}")
    attempt, candidates, reasons = attempts(fit_to, others), candidates_of(cell), []
    n = np.full((len(candidates), len(protected.groups), 2, 2), np.nan)
    values = np.full(len(candidates), np.nan)
    for i, candidate in enumerate(candidates):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of models that are not kept
                counts = attempt(candidate)
        except Infeasible as reason:
            reasons.append(str(reason))
            continue
        n[i] = counts.n
        values[i] = measure(tuning.entry, protected.levels(counts, (cell.attribute,)))
        if np.isnan(values[i]):
            reasons.append(f"{tuning.metric} is undefined")
    if np.isnan(values).all():
        raise Infeasible(f"{tuning}: no candidate has a value ({reasons[0]})")
    far = distance(tuning.entry, values)
    chosen = int(np.nanargmin(far))
    return candidates[chosen], Curve(chosen, tuple(values.tolist()), Counts(protected.groups, n))
