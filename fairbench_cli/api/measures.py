"""Any metric of the registry, of arrays or of counts."""

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.base.errors import ArgumentError, Problem, suggest, user_error
from fairbench_cli.base.row_arrays import join_columns, side_by_side
from fairbench_cli.measures.counts import Counts, Floats, count
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.measures.registry import measure as of_data
from fairbench_cli.measures.rows import Rows


@overload
def measure(
    names: str,
    y_true: Counts | Rows | ArrayLike,
    y_pred: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    reference: Any = None,
    favourable: Any = None,
    weights: ArrayLike | None = None,
) -> float: ...


@overload
def measure(
    names: list[str] | tuple[str, ...],
    y_true: Counts | Rows | ArrayLike,
    y_pred: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    reference: Any = None,
    favourable: Any = None,
    weights: ArrayLike | None = None,
) -> dict[str, float]: ...


def measure(
    names: Any,
    y_true: Any,
    y_pred: Any = None,
    groups: Any = None,
    *,
    reference: Any = None,
    favourable: Any = None,
    weights: Any = None,
) -> Any:
    """Return one metric as a number, or several by name.

    Parameters
    ----------
    names : str or list of str
        Of ``fairbench list metrics``; aliases such as "demographic_parity_difference" are understood.
    y_true : array of 0 and 1, or of any two labels, shape (rows,); or Counts or Rows
        Labels, 1 or `favourable` the favourable outcome. Counts and rows stand for all arrays; counts with
        leading axes give arrays of that shape.
    y_pred : array of the same, shape (rows,)
        Predictions.
    groups : array, shape (rows,)
        The group of each row.
    reference : value or list of values of `groups`
        The favoured: all others are compared with them. Metrics that compare no groups need none.
    favourable : value, optional
        The favourable label of `y_true` and `y_pred`, where they are not 0 and 1: ``favourable="yes"``.
    weights : array, shape (rows,), optional

    Raises
    ------
    UserError
        When there is no such metric, or it needs more than is given.
    ArgumentError
        When arrays are missing or do not fit together.

    Examples
    --------
    >>> y_true, y_pred, sex = [1, 0, 1, 0], [1, 0, 1, 1], ["f", "f", "m", "m"]
    >>> measure("discrimination", y_true, y_pred, sex, reference="m")
    0.5
    >>> measure(["accuracy", "impact-ratio"], y_true, y_pred, sex, reference="m")
    {'accuracy': 0.75, 'impact-ratio': 0.5}
    >>> measure("tpr", ["yes", "no", "yes"], ["yes", "no", "no"], ["f", "m", "m"], favourable="yes")
    0.5
    """
    single = isinstance(names, str)
    metric_names = [names] if isinstance(names, str) else names
    metrics = {name: _find_metric(name) for name in metric_names}
    group_arguments = (y_pred, groups, reference, favourable, weights)
    if isinstance(y_true, Counts | Rows):
        data = y_true
    else:
        data = _counted(y_true, *group_arguments)
    if data is y_true and not all(value is None for value in group_arguments):
        problem = (
            f"y_pred=, groups=, reference=, favourable= and weights= are part of the {type(data).__name__}"
        )
        raise ArgumentError(Problem(problem, "leave them out"))
    comparing = [name for name, metric in metrics.items() if metric.groups != "any"]
    if comparing and data is not y_true and reference is None and isinstance(data, Counts):
        problem = f'"{comparing[0]}" compares groups, and no reference group is given'
        raise ArgumentError(Problem(problem, f"name the favoured group: reference={data.groups[-1]!r}"))
    values = {name: _value(name, metric, data) for name, metric in metrics.items()}
    if single:
        return values[names]
    return values


def _find_metric(name: Any) -> Metric:
    try:
        return find_metric(name)
    except (KeyError, AttributeError):
        from fairbench_cli.experiment.config.metrics import suggest_metric

        raise user_error(f'no metric is called "{name}"', suggest_metric(str(name))) from None


def _value(name: str, metric: Metric, data: Counts | Rows) -> float | Floats:
    if metric.needs != "counts" and isinstance(data, Counts):
        problem = f'"{name}" needs the rows themselves, not arrays of labels and predictions'
        raise user_error(
            problem, "name it in the `metrics` of a run, or give fairbench_cli.measures.rows.Rows"
        )
    try:
        value = of_data(name, data)
    except ValueError as error:
        raise user_error(f"{name}: {error}", "give counts of two groups, or with a reference") from None
    if value.ndim == 0:
        return float(value)
    return value


def _counted(y_true: Any, y_pred: Any, groups: Any, reference: Any, favourable: Any, weights: Any) -> Counts:
    missing = [name for name, value in (("y_pred", y_pred), ("groups", groups)) if value is None]
    if missing:
        problem = f"{missing[0]} is missing"
        raise ArgumentError(Problem(problem, "call measure(name, y_true, y_pred, groups, reference=…)"))
    arguments = {"y_true": y_true, "y_pred": y_pred, "groups": groups, "weights": weights}
    arrays = {
        name: _as_given(array)
        for name, array in side_by_side(arguments, {"groups": join_columns("groups")}).items()
    }
    labels = arrays["groups"]
    from pandas import isna

    if isna(labels).any():
        raise user_error("a group is missing", "name it, or leave those rows out")
    text = np.array([str(value) for value in labels.tolist()], dtype=object)
    group_levels, codes = np.unique(text, return_inverse=True)
    levels = tuple(map(str, group_levels))
    favoured: tuple[str, ...] = ()
    if isinstance(reference, Iterable) and not isinstance(reference, str):
        favoured = tuple(map(str, reference))
    elif reference is not None:
        favoured = (str(reference),)
    for level in favoured:
        if level not in levels:
            raise user_error(f'no row is of the group "{level}"', suggest(level, levels), "reference")
    if favoured and len(set(favoured)) == len(levels):
        raise user_error("everybody is in the reference", "name fewer groups", "reference")
    outcomes = {name: arrays[name] for name in ("y_true", "y_pred")}
    for name, array in outcomes.items():
        if isna(array).any():
            raise user_error(f"{name} has missing values", "leave those rows out")
    if favourable is not None:
        outcomes = _marked(outcomes, favourable)
    for name, array in outcomes.items():
        odd = [value for value in array.tolist() if value not in (0, 1)]
        if odd:
            fix = f"name the favourable label, as in favourable={odd[0]!r}"
            raise user_error(f"{name} has values that are not 0 or 1", fix)
    try:
        y, predicted = (array.astype(np.int8) for array in outcomes.values())
        counts = count(codes, y, predicted, levels, arrays.get("weights"))
    except ValueError as error:
        raise ArgumentError(Problem(str(error), "give a weight from 0 for each row", "weights")) from None
    return Counts(levels, counts.n, favoured)


def _as_given(values: Any) -> NDArray[Any]:
    """Return values as an array; a list is not made one of texts, in which a missing value is "nan"."""
    return np.asarray(values, dtype=None if hasattr(values, "dtype") else object)


def _marked(outcomes: dict[str, NDArray[Any]], favourable: Any) -> dict[str, NDArray[Any]]:
    """Return labels and predictions as 1, the favourable one, and 0.

    Raises
    ------
    UserError
        When there are more than two labels, or none is the favourable one.
    """
    labels: dict[Any, None] = {}
    for array in outcomes.values():
        labels |= dict.fromkeys(array.tolist())
    if favourable not in list(labels):  # which may be no key
        fix = suggest(str(favourable), map(str, labels))
        raise user_error(f"no label is {favourable!r}", fix, "favourable")
    if len(labels) > 2:
        listed = ", ".join(repr(label) for label in list(labels)[:5])
        raise user_error(f"there are {len(labels)} labels ({listed})", "recode them as two", "favourable")
    return {name: array == favourable for name, array in outcomes.items()}
