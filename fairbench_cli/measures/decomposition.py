"""How much of a difference of means other columns explain: Oaxaca–Blinder (Oaxaca 1973; Blinder 1973).

Least squares in the group and in its reference. Explained is what the reference's coefficients make of the
other values that the group's columns have, unexplained what is left: that the same values are worth more or
less in the group. Explained is not justified, and columns that were left out may explain more.

Numbers are differences of the group less its reference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures import regression
from fairbench_cli.measures.counts import Floats, row_masses
from fairbench_cli.measures.means import Contrast

SIDES = ("group", "reference")
SPARE_ROWS = 2  # more than coefficients
LEAST_OF_LEVEL = 2  # rows with a level, and as many without it, in the group and in the reference
MEAN = (1.0,)


@dataclass(frozen=True, eq=False)
class ExplainingColumn:
    """A column that may explain a difference.

    Parameters
    ----------
    name : str
    values : array, shape (rows,)
        Numbers, or codes of levels from 0.
    levels : tuple of str
        What the codes mean; empty where values are numbers.
    """

    name: str
    values: NDArray[np.generic]
    levels: tuple[str, ...] = ()

    def select(self, mask: NDArray[np.bool_]) -> "ExplainingColumn":
        """Return some rows of the column, with the levels that they have."""
        values = self.values[mask]
        if not self.levels:
            return ExplainingColumn(self.name, values)
        codes, values = np.unique(values, return_inverse=True)
        return ExplainingColumn(self.name, values, tuple(self.levels[code] for code in codes.tolist()))


@dataclass(frozen=True, eq=False)
class Contribution:
    """What a column has to do with a difference.

    Parameters
    ----------
    name : str
    explained : EstimateWithLimits
        Does not depend on which level of a column is left out.
    unexplained : float
        Of a column of levels it depends on the level that is left out, of numbers on where their 0 is.
    """

    name: str
    explained: regression.EstimateWithLimits
    unexplained: float


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The parts of a difference of means, of a group less its reference.

    Parameters
    ----------
    difference : float
        Of the weighted means.
    explained, unexplained : EstimateWithLimits
        By the reference's coefficients; they add up to the difference.
    contributions : tuple of Contribution
        Of each column; with `constant` the unexplained ones add up to the unexplained part.
    constant : float
        The difference of the constants.
    dropped : tuple of str
        Columns that say nothing beyond those before them in the group or in the reference, and levels
        (``column=level``) that fewer than two rows of either have, or do not have. Rows of such a level
        count as of the first.
    too_few : tuple of str
        "group", "reference": which have too few rows for so many columns. All numbers but the difference are
        then NaN.
    rows : tuple of two floats
        Kish's number of rows of the group and of the reference.
    """

    difference: float
    explained: regression.EstimateWithLimits = regression.NO_ESTIMATE
    unexplained: regression.EstimateWithLimits = regression.NO_ESTIMATE
    contributions: tuple[Contribution, ...] = ()
    constant: float = math.nan
    dropped: tuple[str, ...] = ()
    too_few: tuple[str, ...] = ()
    rows: tuple[float, float] = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class _Design:
    """Columns of numbers and the predictors that they come from.

    Parameters
    ----------
    matrix : array, shape (rows, columns)
    predictor : array of int, shape (columns,)
        The place of each column's predictor.
    names : tuple of str
    is_level : array of bool, shape (columns,)
    """

    matrix: Floats
    predictor: NDArray[np.intp]
    names: tuple[str, ...]
    is_level: NDArray[np.bool_]

    def select(self, mask: NDArray[np.bool_]) -> "_Design":
        """Return the design with some of its columns."""
        names = tuple(np.array(self.names, dtype=object)[mask])
        return _Design(self.matrix[:, mask], self.predictor[mask], names, self.is_level[mask])


def decompose_difference(
    outcome: ArrayLike,
    is_group: ArrayLike,
    predictors: Sequence[ExplainingColumn],
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Decomposition:
    """Return the parts of the difference of two means that columns explain, and do not.

    Errors are HC3 of the coefficients, with those of the columns' means (Jann 2008); t has the fewer of both
    groups' rows − columns degrees of freedom. With clusters both are CR2, and the degrees of freedom
    Satterthwaite's.

    Parameters
    ----------
    outcome : array of float, shape (rows,)
        Of the rows of both.
    is_group : array of bool, shape (rows,)
        Whether a row is of the group; else of its reference.
    predictors : sequence of ExplainingColumn
        Of the same rows.
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
        A cluster may have rows of both.
    confidence : float
        Of the limits.

    Examples
    --------
    Pay is 2 for each year, for all alike, and the group has fewer years:

    >>> years = np.array([1, 2, 3, 4, 3, 4, 5, 6])
    >>> noise = np.array([0.1, -0.1, -0.1, 0.1] * 2)
    >>> is_group = [True] * 4 + [False] * 4
    >>> parts = decompose_difference(2 * years + noise, is_group, [ExplainingColumn("years", years)])
    >>> round(parts.explained.value, 6), round(abs(parts.unexplained.value), 6)
    (-4.0, 0.0)
    """
    target = np.asarray(outcome, dtype=np.float64)
    mask = np.asarray(is_group, dtype=bool)
    mass = row_masses(weights, len(target))
    sides = [mask & (mass > 0), ~mask & (mass > 0)]
    outcome_means = [_weighted_mean(target[side], mass[side]) for side in sides]
    difference = outcome_means[0] - outcome_means[1]
    # 1. The columns that both groups have rows for.
    design = _drop_columns(_to_columns(predictors), sides, mass)
    dropped = _dropped_names(predictors, design)
    most = design.matrix.shape[1] + 1 + SPARE_ROWS
    too_few = tuple(name for name, side in zip(SIDES, sides, strict=True) if side.sum() < most)
    if too_few:
        return Decomposition(difference, dropped=dropped, too_few=too_few)
    # 2. Their coefficients in each.
    fits = []
    for side in sides:
        fits.append(
            regression.fit_linear(
                design.matrix[side], target[side], mass[side], regression.select_rows(clusters, side)
            )
        )
    group, reference = fits
    gap = group.means - reference.means
    change = group.coefficients - reference.coefficients
    degrees = None
    if clusters is None:
        degrees = min(group.degrees, reference.degrees)
    # 3. The parts.
    means = _ColumnMeans(design.matrix, sides, mass, clusters)
    explained = regression.estimate_contrast(
        [reference],
        [gap],
        confidence,
        of_factors=means.of_gap(reference.coefficients),
        degrees=degrees,
    )
    unexplained = regression.estimate_contrast(
        [group, reference],
        [group.means, -group.means],
        confidence,
        of_factors=means.of_group(change),
        degrees=degrees,
    )
    contributions = []
    for i, predictor in enumerate(predictors):
        in_predictor = np.concatenate([[False], design.predictor == i])
        if not in_predictor.any():
            continue
        explained_by_column = regression.estimate_contrast(
            [reference],
            [np.where(in_predictor, gap, 0.0)],
            confidence,
            of_factors=means.of_gap(np.where(in_predictor, reference.coefficients, 0.0)),
            degrees=degrees,
        )
        left = float((group.means * change)[in_predictor].sum())
        contributions.append(Contribution(predictor.name, explained_by_column, left))
    return Decomposition(
        difference=difference,
        explained=explained,
        unexplained=unexplained,
        contributions=tuple(contributions),
        constant=float(change[0]),
        dropped=dropped,
        rows=(group.effective_rows, reference.effective_rows),
    )


def adjusted_difference(
    outcome: ArrayLike,
    is_group: ArrayLike,
    predictors: Sequence[ExplainingColumn],
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> regression.EstimateWithLimits:
    """Return how far a group is from its reference where the columns are the same: its coefficient.

    Of least squares in the rows of both, with the columns and whether a row is of the group. What a column is
    worth counts as the same in both; parameters are those of `decompose_difference`.

    Returns
    -------
    EstimateWithLimits
        NaN where the columns tell the group from its reference, and with too few rows.

    Examples
    --------
    >>> years = np.array([1, 2, 3, 4, 3, 4, 5, 6])
    >>> pay = 2 * years + np.array([0.1, -0.1, -0.1, 0.1, 1.1, 0.9, 0.9, 1.1])
    >>> round(adjusted_difference(pay, [True] * 4 + [False] * 4, [ExplainingColumn("years", years)]).value, 6)
    -1.0
    """
    target = np.asarray(outcome, dtype=np.float64)
    mask = np.asarray(is_group, dtype=bool)
    mass = row_masses(weights, len(target))
    columns = [mask.astype(np.float64)[:, None]]
    if predictors:
        columns.insert(0, _to_columns(predictors).matrix)
    matrix = np.concatenate(columns, axis=1)
    is_used = regression.independent_columns(matrix, mass)
    n_coefficients = 1 + int(is_used.sum())
    if not is_used[-1] or (mass > 0).sum() < n_coefficients + SPARE_ROWS:
        return regression.NO_ESTIMATE
    fit = regression.fit_linear(matrix[:, is_used], target, mass, clusters)
    coefficient = np.zeros(n_coefficients)
    coefficient[-1] = 1.0
    return regression.estimate_contrast([fit], [coefficient], confidence)


def _weighted_mean(numbers: Floats, mass: Floats) -> float:
    """Return a mean; NaN of no rows."""
    if not len(numbers):
        return math.nan
    return float(mass @ numbers / mass.sum())


def _to_columns(predictors: Sequence[ExplainingColumn]) -> _Design:
    """Return predictors as columns of numbers: a 0/1 column for each level but the first."""
    columns: list[Floats] = []
    origins: list[int] = []
    names: list[str] = []
    is_level: list[bool] = []
    for i, predictor in enumerate(predictors):
        values = np.asarray(predictor.values)
        if not predictor.levels:
            columns.append(values.astype(np.float64))
            names.append(predictor.name)
        for code, level in enumerate(predictor.levels[1:], start=1):
            columns.append((values == code).astype(np.float64))
            names.append(f"{predictor.name}={level}")
        n_new = len(columns) - len(origins)
        origins += [i] * n_new
        is_level += [bool(predictor.levels)] * n_new
    matrix = np.column_stack(columns)
    return _Design(matrix, np.array(origins, dtype=np.intp), tuple(names), np.array(is_level, dtype=bool))


def _drop_columns(design: _Design, sides: Sequence[NDArray[np.bool_]], mass: Floats) -> _Design:
    """Return the columns that are no sum of those before them in either group, nor of a level too rare."""
    for side in sides:
        n_ones = design.matrix[side].sum(axis=0)
        n_other = side.sum() - n_ones
        is_rare = design.is_level & (np.minimum(n_ones, n_other) < LEAST_OF_LEVEL)
        design = design.select(~is_rare)
    for side in sides:
        design = design.select(regression.independent_columns(design.matrix[side], mass[side]))
    return design


def _dropped_names(predictors: Sequence[ExplainingColumn], design: _Design) -> tuple[str, ...]:
    """Return the columns and the levels that are not in a design; a column alone where none of its are."""
    dropped = []
    for i, predictor in enumerate(predictors):
        if not (design.predictor == i).any():
            dropped.append(predictor.name)
            continue
        names = [f"{predictor.name}={level}" for level in predictor.levels[1:]]
        dropped += [name for name in names if name not in design.names]
    return tuple(dropped)


@dataclass(frozen=True, eq=False)
class _ColumnMeans:
    """The columns' means times some coefficients, with their variances."""

    matrix: Floats
    sides: Sequence[NDArray[np.bool_]]
    mass: Floats
    clusters: ArrayLike | None

    def of_gap(self, coefficients: Floats) -> Contrast:
        """Return the difference of both groups' means."""
        fits = [self._fit(side, coefficients) for side in self.sides]
        return regression.sum_coefficients(fits, [MEAN, -np.array(MEAN)])

    def of_group(self, coefficients: Floats) -> Contrast:
        """Return the group's mean."""
        return regression.sum_coefficients([self._fit(self.sides[0], coefficients)], [MEAN])

    def _fit(self, side: NDArray[np.bool_], coefficients: Floats) -> regression.LinearFit:
        numbers = self.matrix[side] @ coefficients[1:]
        clusters = regression.select_rows(self.clusters, side)
        return regression.fit_linear(np.empty((len(numbers), 0)), numbers, self.mass[side], clusters)
