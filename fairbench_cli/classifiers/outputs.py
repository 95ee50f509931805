"""Check what a model returns: a number for each row, of the kind and in the range that its method promises.

Every decision, score and probability of a technique or classifier passes here, whoever wrote it: in a run,
in `fairbench check` and in `fb.technique`. NumPy would broadcast a column, cut 0.7 to 0 and read text as
numbers.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Floats, Labels

LARGEST_WHOLE = 2**53  # from here on neighbouring whole numbers may be one float
ROUNDING = 1e-6  # by which a probability that was computed with 32 bits may leave [0, 1]


class WrongOutput(ValueError):  # noqa: N818 - what a model returned, in a sentence that says what to return
    """A model returned something else than a number of the right kind for each row."""


def as_decisions(method: str, values: Any, shape: tuple[int, ...]) -> Labels:
    """Return decisions as int8, 1 for the favourable outcome; `WrongOutput` where they are none.

    >>> as_decisions("predict", [True, False], (2,)).tolist()
    [1, 0]
    >>> as_decisions("predict", [0.7, 0.2], (2,))
    Traceback (most recent call last):
    fairbench_cli.classifiers.outputs.WrongOutput: predict returns other values than 0 and 1, such as 0.7; ...
    """
    decisions = _as_numbers(method, values, shape, "0 or 1, the labels that fit is given")
    is_decision = (decisions == 0) | (decisions == 1)
    if not is_decision.all():
        problem = f"{method} returns other values than 0 and 1, such as {decisions[~is_decision][0]}"
        raise WrongOutput(f"{problem}; 1 is the favourable outcome")
    return decisions.astype(np.int8)


def as_scores(method: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Return scores as float64; `WrongOutput` where they are not finite numbers.

    >>> as_scores("scores", [[0.2, 0.8], [0.5, 0.5]], (2,))
    Traceback (most recent call last):
    fairbench_cli.classifiers.outputs.WrongOutput: scores returns shape (2, 2) for 2 rows; return (2,)
    """
    scores: Floats = _as_numbers(method, values, shape).astype(np.float64, copy=False)
    if not np.isfinite(scores).all():
        raise WrongOutput(f"{method} returns values that are missing or infinite; return numbers")
    if _loses_digits(np.asarray(values)):
        raise WrongOutput(f"{method} returns whole numbers of 2^53 or more, which lose digits; return ranks")
    return scores


def as_probabilities(method: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Return probabilities as float64, without what rounding adds; `WrongOutput` where they leave [0, 1].

    >>> as_probabilities("predict_proba", [0.2, 1.5], (2,))
    Traceback (most recent call last):
    fairbench_cli.classifiers.outputs.WrongOutput: predict_proba leaves [0, 1]; return probabilities, ...
    """
    probabilities = as_scores(method, values, shape)
    if not ((probabilities >= -ROUNDING) & (probabilities <= 1 + ROUNDING)).all():
        other_name = ""
        if method == "predict_proba":
            other_name = ", or call the method scores"
        raise WrongOutput(f"{method} leaves [0, 1]; return probabilities{other_name}")
    return np.clip(probabilities, 0.0, 1.0)


def _loses_digits(array: NDArray[Any]) -> bool:
    """Return whether there are whole numbers among which a float does not tell neighbours apart."""
    if array.dtype.kind in "iu":
        return bool(((array >= LARGEST_WHOLE) | (array <= -LARGEST_WHOLE)).any())
    if array.dtype.kind == "O":
        return any(isinstance(value, Integral) and abs(int(value)) >= LARGEST_WHOLE for value in array.flat)
    return False


def _as_numbers(
    method: str, values: Any, shape: tuple[int, ...], kind_wanted: str = "numbers"
) -> NDArray[Any]:
    """Return values as an array of numbers or truth values; `WrongOutput` for another kind or shape."""
    refuse_masked(method, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and all(isinstance(value, Real | np.bool_) for value in array.flat):
            array = array.astype(np.float64)
    except (ValueError, OverflowError):  # lists of different lengths, numbers of hundreds of digits
        raise WrongOutput(f"{method} returns no array of numbers; return a number for each row") from None
    if array.dtype.kind not in "biuf":
        if array.dtype.kind in "US":
            kind = "text"
        else:
            kind = f"values of type {array.dtype}"
        raise WrongOutput(f"{method} returns {kind}; return {kind_wanted}")
    refuse_shape(method, array, shape)
    return array


def refuse_masked(method: str, values: Any) -> None:
    """Raise `WrongOutput` where some values are masked, which `np.asarray` would unmask."""
    if np.ma.is_masked(values):
        raise WrongOutput(f"{method} returns values that are masked; return a number for each row")


def refuse_shape(method: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Raise `WrongOutput` where an array has another shape, which NumPy might broadcast."""
    if array.shape != shape:
        raise WrongOutput(f"{method} returns shape {array.shape} for {shape[0]} rows; return {shape}")
