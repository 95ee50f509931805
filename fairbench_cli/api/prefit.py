"""What a model that is fitted already says of rows: the input of techniques that leave models as they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.api.frames import to_pandas
from fairbench_cli.base.errors import ArgumentError, Problem
from fairbench_cli.classifiers.outputs import as_probabilities, as_scores, refuse_masked, refuse_shape
from fairbench_cli.data.table import Floats, ModelOutputs
from fairbench_cli.interventions.registry import INTERVENTIONS


def is_prefit(estimator: Any, prefit: bool) -> bool:
    """Return whether an estimator is used as it is: because that is said, or it is frozen."""
    from sklearn.frozen import FrozenEstimator

    return prefit or isinstance(estimator, FrozenEstimator)


def refuse_unfitted(estimator: Any) -> None:
    """Raise an error for what is no fitted model."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
        problem = f"prefit is about a fitted model, and estimator is {estimator!r}"
        raise ArgumentError(Problem(problem, "give the model itself: estimator=model"))
    try:
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
    except NotFittedError:
        problem = f"{type(estimator).__name__} is not fitted, and prefit says that it is"
        fix = "fit it first; copies by scikit-learn keep it in sklearn.frozen.FrozenEstimator(model)"
        raise ArgumentError(Problem(problem, fix)) from None


def refuse_training(name: str, technique: Any, *, validation_given: bool) -> None:
    """Raise an error for a technique that trains the model, and for validation rows that are all rows."""
    if not getattr(technique, "takes_prefit", False):
        usable = [key for key, entry in INTERVENTIONS.items() if _takes_prefit(entry.load())]
        fix = f"leave prefit out, or use one of: {', '.join(usable)}"
        raise ArgumentError(Problem(f"{name} trains the model, and it is fitted already", fix))
    if validation_given:
        problem = "validation has no effect with a fitted model: all rows of fit() are validation rows"
        raise ArgumentError(Problem(problem, "leave it out"))


def _takes_prefit(component: Any) -> bool:
    return bool(getattr(component, "takes_prefit", False))


def select_columns(model: Any, X: Any, group_column: Any) -> Any:
    """Return the rows as a model takes them: the columns that it was fitted to, where it names them.

    Parameters
    ----------
    group_column : str, int or None
        What a model that does not is not given.
    """
    names = getattr(model, "feature_names_in_", None)
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        frame = to_pandas(X)
        if names is None:
            return frame.drop(columns=[] if group_column is None else [group_column])
        missing = [name for name in names if name not in frame.columns]
        if missing:
            problem = f'X has no column "{missing[0]}", to which the model was fitted'
            raise ArgumentError(Problem(problem, f"its columns are: {', '.join(map(str, names))}"))
        return frame[list(names)]
    if group_column is None:
        return X
    return np.delete(np.asarray(X), int(group_column), axis=1)


def compute_outputs(model: Any, rows: Any, favourable: Any, classes: NDArray[Any]) -> ModelOutputs:
    """Return a fitted model's decisions, and its scores or None.

    Parameters
    ----------
    favourable : value
        The favourable label.
    classes : array, shape (2,)
        The labels, in rising order; a model that has `classes_` names its own.

    Raises
    ------
    ArgumentError
        When it predicts other labels.
    WrongOutput
        When it predicts no label for each row, or scores are not a number for each.
    """
    model_classes = list(getattr(model, "classes_", classes))
    unknown = [label for label in model_classes if label not in classes]
    if unknown or favourable not in model_classes:
        labels, expected = (", ".join(map(str, values)) for values in (model_classes, classes))
        problem = f"the model was fitted to the labels {labels}, and y has {expected}"
        raise ArgumentError(Problem(problem, "give labels as the model knows them"))
    returned = model.predict(rows)
    refuse_masked("predict", returned)
    predicted = np.asarray(returned)
    refuse_shape("predict", predicted, np.shape(rows)[:1])
    known = set(classes.tolist())
    for label in dict.fromkeys(predicted.tolist()):
        if label not in known:
            problem = f"the model predicts other values than the labels, such as {label!r}"
            raise ArgumentError(Problem(problem, "give a classifier of these labels"))
    decisions = np.asarray(predicted == favourable, dtype=np.int8)
    index = model_classes.index(favourable)
    scores = _scores_of(model, rows, len(decisions), index, len(model_classes))
    return ModelOutputs(decisions, scores)


def _scores_of(model: Any, rows: Any, n_rows: int, index: int, n_classes: int) -> Floats | None:
    """Return the scores of the favourable label: probabilities, else the decision function, else None."""
    if hasattr(model, "predict_proba"):
        probabilities = as_probabilities("predict_proba", model.predict_proba(rows), (n_rows, n_classes))
        return np.ascontiguousarray(probabilities[:, index])
    if not hasattr(model, "decision_function"):
        return None
    scores = as_scores("decision_function", model.decision_function(rows), (n_rows,))
    if index == 0:  # it speaks of the other label
        return -scores
    return scores
