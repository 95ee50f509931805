"""A user's own metrics: a function of `Counts`, or of `Rows`, as an entry of the registry."""

import math
from collections.abc import Callable
from dataclasses import replace
from inspect import cleandoc, signature
from typing import Any, get_type_hints

import numpy as np

from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rows import Rows

_COUNTS = Counts(PAIR, np.arange(24.0).reshape(3, 2, 2, 2) + 1)
_ROWS = Rows(
    np.array([0, 0, 0, 0, 1, 1, 1, 1]),
    np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    np.array([0, 1, 0, 1, 0, 1, 0, 1]),
    score=np.linspace(0.1, 0.9, 8),
    features=np.arange(16.0).reshape(8, 2),
    nominal=(False, True),
)


def own_metric(name: str, function: Callable[[Any], Any]) -> Metric:
    """Return the entry of a function; tried out on a few counts or rows.

    It takes `Counts` of the deprived and the favoured group, shape (..., 2, 2, 2), and returns one value per
    leading axis; or, where its argument is annotated with `Rows`, it takes rows and returns one value. The
    first line of its docstring is the formula. Its attributes ``low``, ``high`` and ``ideal``, if it has
    them, are its range and its best value.

    Raises
    ------
    ValueError
        When it takes other arguments, fails, or returns something else.

    >>> def gap(counts: Counts) -> object: return counts.group_total[..., 1] - counts.group_total[..., 0]
    >>> own_metric("gap", gap).needs
    'counts'
    >>> own_metric("gap", lambda counts: 0.5)
    Traceback (most recent call last):
    ValueError: returned shape () for counts of shape (3, 2, 2, 2), not (3,)
    """
    of_rows = _takes_rows(function)
    metric = Metric(
        name=name,
        function=function,
        low=float(getattr(function, "low", -math.inf)),
        high=float(getattr(function, "high", math.inf)),
        ideal=getattr(function, "ideal", None),
        formula=cleandoc(function.__doc__ or name).splitlines()[0].removesuffix("."),
        source=name,
        undefined="",
        section="absolute",
        needs="rows" if of_rows else "counts",
    )
    given: Counts | Rows = _ROWS if of_rows else replace(_COUNTS)
    try:
        value = np.asarray(function(given), dtype=np.float64)
    except Exception as error:
        raise ValueError(f"{type(error).__name__} on a few {metric.needs}: {error}") from None
    shape = () if of_rows else (3,)
    if value.shape != shape:
        what = "rows" if of_rows else f"counts of shape {_COUNTS.n.shape}"
        raise ValueError(f"returned shape {value.shape} for {what}, not {shape}")
    return metric


def _takes_rows(function: Callable[[Any], Any]) -> bool:
    try:
        names = list(signature(function).parameters)
        return bool(names) and get_type_hints(function).get(names[0]) is Rows
    except (NameError, TypeError, ValueError):
        return False
