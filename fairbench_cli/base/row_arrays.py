"""Arrays with a value per row, given side by side: whether their rows are the same, and in one order.

Every function that takes several asks here. Rows are taken by position; labels, where there are some (an
index of pandas), must not contradict that.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairbench_cli.base.errors import ArgumentError, Problem


def join_columns(name: str) -> str:
    """Return how the columns of an argument become one.

    >>> join_columns("groups")
    "join them: groups=pd.DataFrame(groups).astype(str).agg(' × '.join, axis=1)"
    """
    return f"join them: {name}=pd.DataFrame({name}).astype(str).agg(' × '.join, axis=1)"


def is_array(values: Any) -> bool:
    """Return whether an argument is an array, series or frame; a list may be one of names.

    >>> is_array(np.ones(2)), is_array(["a"]), is_array("a")
    (True, False, False)
    """
    return hasattr(values, "__array__") or hasattr(values, "__arrow_c_stream__")


def columns_of(frame: Any) -> list[Any] | None:
    """Return the names of the columns of a frame or table of pandas, Polars or Arrow; None of anything else.

    >>> columns_of([1, 2]) is None
    True
    """
    if not hasattr(frame, "columns"):
        return None
    return list(getattr(frame, "column_names", frame.columns))  # of Arrow the columns are elsewhere


def refuse_other_rows(arguments: Mapping[str, Any]) -> None:
    """Raise an error where row labels of pandas say that arguments of one length do not belong together.

    Labels that count from 0 say nothing of others, unless these are the same in another order: which of the
    two was sorted is then not known.

    Raises
    ------
    ArgumentError
        Naming the ways on: by label, and by position.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series([1, 0])
    >>> refuse_other_rows({"y_true": y, "y_pred": pd.Series([1, 0], index=[7, 5])})
    >>> refuse_other_rows({"y_true": y, "y_pred": y[::-1]})
    Traceback (most recent call last):
    fairbench_cli.base.errors.ArgumentError: error: y_pred has the row labels of y_true in another order: ...
      fix: pair by label, y_pred.reindex(y_true.index), or take them as they stand, y_pred.to_numpy()
    """
    indices = {name: values.index for name, values in arguments.items() if hasattr(values, "iloc")}
    order = list(indices)
    anchor = next((name for name in order if not _counts_from_0(indices[name])), "")
    for name in order if anchor else ():
        index, labelled = indices[name], indices[anchor]
        if len(index) != len(labelled) or index.equals(labelled):
            continue
        alike = set(index) == set(labelled)
        if _counts_from_0(index) and not alike:
            continue
        earlier, later = sorted((anchor, name), key=order.index)
        pairs = zip(indices[earlier], indices[later], strict=True)
        label, later_label = next(pair for pair in pairs if pair[0] != pair[1])
        as_they_stand = f"take them as they stand, {later}.to_numpy()"
        problem = f"the row labels of {earlier} and {later} differ, as in {label!r} and {later_label!r}"
        fix = f"give both of the same rows, or {as_they_stand}"
        if alike:
            problem = f"{later} has the row labels of {earlier} in another order"
            problem += f": {later_label!r} where that has {label!r}"
            fix = f"pair by label, {later}.reindex({earlier}.index), or {as_they_stand}"
        if alike and not index.is_unique:
            fix = f"bring both into one order, and {as_they_stand}"
        raise ArgumentError(Problem(problem, fix))


def _counts_from_0(index: Any) -> bool:
    return index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))


def one_column(name: str, values: Any, several: str = "") -> Any:
    """Return values with one per row: those of a frame or matrix of one column as that.

    Parameters
    ----------
    name : str
        Of the argument.
    several : str
        What to do with several columns, if not to take one.

    Raises
    ------
    ArgumentError
        For several columns.

    Examples
    --------
    >>> one_column("y_true", np.ones((2, 1))).shape
    (2,)
    >>> one_column("y_pred", np.ones((2, 2)))
    Traceback (most recent call last):
    fairbench_cli.base.errors.ArgumentError: error: y_pred has 2 columns
      fix: give one; of predict_proba that of the favourable class: y_pred[:, 1]
    """
    if isinstance(values, list | tuple) and values and isinstance(values[0], list):
        values = np.array(values, dtype=object)
    shape = tuple(getattr(values, "shape", ()))
    names = columns_of(values)
    if len(shape) == 2 and shape[1] == 1:
        return np.asarray(values)[:, 0] if names is None else values[names[0]]
    if len(shape) > 2:
        raise ArgumentError(Problem(f"{name} has the shape {shape}", "give one value per row"))
    if len(shape) == 2:
        second = ".iloc[:, 1]" if hasattr(values, "iloc") else "[:, 1]"
        fix = several or f"give one; of predict_proba that of the favourable class: {name}{second}"
        raise ArgumentError(Problem(f"{name} has {shape[1]} columns", fix))
    return values


def side_by_side(
    arguments: Mapping[str, Any], several: Mapping[str, str] | None = None, frame: Any = None
) -> dict[str, Any]:
    """Return arguments with a value per row, without labels: what stands at one place is of one row.

    Parameters
    ----------
    arguments : mapping
        By the name of the argument; those that are None are left out.
    several : mapping
        What `one_column` says of several columns, by argument.
    frame : frame, optional
        What has the same rows, and is not returned.

    Raises
    ------
    ArgumentError
        For several columns, other labels and other lengths.

    Examples
    --------
    >>> side_by_side({"y_true": [1, 0], "y_pred": [1]})
    Traceback (most recent call last):
    fairbench_cli.base.errors.ArgumentError: error: the lengths differ: y_true 2, y_pred 1
      fix: give one value per row in each
    """
    arrays = {
        name: one_column(name, values, (several or {}).get(name, ""))
        for name, values in arguments.items()
        if values is not None
    }
    for name, values in arrays.items():
        if (
            isinstance(values, str | Mapping)
            or not hasattr(values, "__len__")
            or getattr(values, "shape", 1) == ()
        ):
            problem = f"{name} is {type(values).__name__}, and not one value per row"
            raise ArgumentError(
                Problem(problem, "give a list or an array; name columns of a frame by options")
            )
    together = arrays if frame is None else {"frame": frame, **arrays}
    lengths = {name: len(values) for name, values in together.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ArgumentError(Problem(f"the lengths differ: {listed}", "give one value per row in each"))
    refuse_other_rows(together)
    return {name: _without_labels(values) for name, values in arrays.items()}


def _without_labels(values: Any) -> Any:
    if hasattr(values, "iloc"):
        return values.array
    if isinstance(values, list | tuple):
        return values
    return np.asarray(values)
