"""What columns explain of the differences of groups' means, and what is left.

Three answers: within strata of the columns; by Oaxaca and Blinder, whose explained part is what the other
values of the columns are worth among the reference; and the difference that least squares leave where the
columns are the same. Explained is not justified, and columns that are not there may explain more.
"""

import math
from dataclasses import dataclass
from itertools import compress

import numpy as np

from fairbench_cli.audit.compare.references import REST, Bools, name_reference
from fairbench_cli.audit.compare.report import UNDEFINED, Interval
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.explained_numbers import ExplainedRows, RowStrata, names_of_columns
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.decomposition import Decomposition, adjusted_difference, decompose_difference
from fairbench_cli.measures.means import MeanInterval, add_split_limits
from fairbench_cli.measures.moments import sum_powers
from fairbench_cli.measures.regression import EstimateWithLimits
from fairbench_cli.measures.splits import draw_enough, evaluate_splits, needs_splits
from fairbench_cli.measures.stratified_means import StratifiedMeans, stratify_means


@dataclass(frozen=True)
class NumberStratum:
    """Both groups within one stratum; weights summed."""

    name: str
    rows: float
    reference_rows: float
    mean: float
    reference_mean: float
    difference: float


@dataclass(frozen=True)
class StratifiedNumbers:
    """A difference of means, taken apart by strata.

    Parameters
    ----------
    columns : str
        "rank", "rank × discipline".
    explained, unexplained : Interval
        By the strata, and what is left within those that both groups have.
    unexplained_p : float
        Of "nothing is left".
    compared : float
        The share of the group's rows in strata that its reference has, too.
    strata : tuple of NumberStratum
    """

    columns: str
    explained: Interval
    unexplained: Interval
    unexplained_p: float
    compared: float
    strata: tuple[NumberStratum, ...]


@dataclass(frozen=True)
class ColumnPart:
    """What one column has to do with a difference: its explained part, and its share of the unexplained one.

    The latter depends on which level is left out, or where the 0 of a number is.
    """

    column: str
    explained: Interval
    unexplained: float


@dataclass(frozen=True)
class NumberExplanation:
    """What is behind the difference of means between one group and its reference.

    Parameters
    ----------
    attribute, group, reference : str
    rows, reference_rows : int
    difference : Interval
        Of the means, group − reference.
    strata : tuple of StratifiedNumbers
        By each set of columns to explain by.
    columns : tuple of str
        All columns to explain by.
    explained, unexplained : Interval
        Oaxaca and Blinder's parts by all columns, which add up to the difference.
    unexplained_p : float
        Of "nothing is unexplained".
    contributions : tuple of ColumnPart
    constant : float
        What the constants have of the unexplained part.
    adjusted : Interval
        The difference where the columns are the same, by least squares.
    adjusted_p : float
    notes : tuple of str
    """

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int
    difference: Interval
    strata: tuple[StratifiedNumbers, ...] = ()
    columns: tuple[str, ...] = ()
    explained: Interval = UNDEFINED
    unexplained: Interval = UNDEFINED
    unexplained_p: float = math.nan
    contributions: tuple[ColumnPart, ...] = ()
    constant: float = math.nan
    adjusted: Interval = UNDEFINED
    adjusted_p: float = math.nan
    notes: tuple[str, ...] = ()


def explain_pair(
    rows: ExplainedRows,
    group_counts: Slice,
    pair: tuple[int, int],
    n_rows: tuple[int, int],
    config: AuditConfig,
) -> NumberExplanation:
    """Return the explanation of the difference of a group from its reference, by their places."""
    g, reference = pair
    groups = group_counts.counts.groups
    names = rows.groups[group_counts.attribute]
    is_group = names == groups[g]
    is_reference = ~is_group if reference == REST else names == groups[reference]
    for name in groups:
        if config.leaves_out(group_counts.attribute, name):
            is_reference = is_reference & (names != name)
    is_counted = is_group | is_reference
    outcome = rows.outcome[is_counted]
    mask = is_group[is_counted]
    weights = None if rows.weights is None else rows.weights[is_counted]
    clusters = None if rows.clusters is None else rows.clusters[is_counted]
    level = config.confidence
    strata = []
    for row_strata in rows.strata:
        codes = row_strata.codes[is_counted]
        stratified = stratify_means(outcome, mask, codes, len(row_strata.names), weights, clusters, level)
        strata.append(_to_strata(row_strata, stratified))
    difference = stratified.difference
    if clusters is None:
        difference = _add_splits(difference, outcome, mask, weights, level)
    columns = [column.select(is_counted) for column in rows.columns]
    decomposition = decompose_difference(outcome, mask, columns, weights, clusters, level)
    adjusted = adjusted_difference(outcome, mask, columns, weights, clusters, level)
    return NumberExplanation(
        attribute=group_counts.attribute,
        group=groups[g],
        reference=name_reference(reference, groups),
        rows=n_rows[0],
        reference_rows=n_rows[1],
        difference=_mean_limits(difference),
        strata=tuple(strata),
        columns=names_of_columns(rows),
        explained=_limits(decomposition.explained),
        unexplained=_limits(decomposition.unexplained),
        unexplained_p=decomposition.unexplained.p,
        contributions=tuple(
            ColumnPart(contribution.name, _limits(contribution.explained), contribution.unexplained)
            for contribution in decomposition.contributions
        ),
        constant=decomposition.constant,
        adjusted=_limits(adjusted),
        adjusted_p=adjusted.p,
        notes=rows.notes + tuple(_describe_parts(decomposition, adjusted, groups[g])),
    )


def _add_splits(
    difference: MeanInterval, outcome: Floats, mask: Bools, weights: Floats | None, level: float
) -> MeanInterval:
    """Return a difference of means with the limits by splits, where the audit's own has them."""
    sides = sum_powers(outcome, mask, 2, weights, shift=float(outcome.mean()))
    if not needs_splits(sides[1], sides[0]) or not difference.error > 0:
        return difference
    side_weights = None
    if weights is not None:
        side_weights = (weights[mask], weights[~mask])
    splits = draw_enough(outcome[mask], outcome[~mask], side_weights)
    tests = evaluate_splits(splits, float(difference.error), math.nan, ((0.0, 1.0), (0.0, 1.0)), level)
    low, high = np.array(tests.limits)
    return add_split_limits(difference, np.asarray(tests.p), low, high, level)


def _to_strata(row_strata: RowStrata, stratified: StratifiedMeans) -> StratifiedNumbers:
    has_rows = stratified.rows + stratified.reference_rows > 0
    strata = []
    for i in compress(range(len(row_strata.names)), has_rows.tolist()):
        mean = float(stratified.means[i])
        reference_mean = float(stratified.reference_means[i])
        strata.append(
            NumberStratum(
                row_strata.names[i],
                float(stratified.rows[i]),
                float(stratified.reference_rows[i]),
                mean,
                reference_mean,
                mean - reference_mean,
            )
        )
    return StratifiedNumbers(
        row_strata.columns,
        _mean_limits(stratified.explained),
        _mean_limits(stratified.unexplained),
        float(stratified.unexplained.p),
        stratified.compared,
        tuple(strata),
    )


def _limits(estimate: EstimateWithLimits) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def _mean_limits(estimate: MeanInterval) -> Interval:
    return Interval(float(estimate.value), float(estimate.low), float(estimate.high))


def _describe_parts(decomposition: Decomposition, adjusted: EstimateWithLimits, group: str) -> list[str]:
    """Return notes on columns that say nothing, and on what could not be computed."""
    notes = []
    if decomposition.dropped:
        dropped = ", ".join(decomposition.dropped)
        notes.append(f"{dropped}: left out of the parts of columns, as rows do not tell what they are worth.")
    if decomposition.too_few:
        notes.append("Too few rows for so many columns: no parts of columns.")
    if np.isnan(adjusted.value):
        notes.append(f"The columns tell {group} from its reference: there is no adjusted difference.")
    return notes
