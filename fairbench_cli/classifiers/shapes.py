"""What anybody's estimator is by its methods, and what to do about one that cannot be used as it stands."""

import re
from typing import Any

from fairbench_cli.base.errors import ArgumentError, Flag, Problem
from fairbench_cli.base.parameters import signature_parameters

RESAMPLER = "fit_resample"  # of imbalanced-learn
MOST_LEVELS = 3  # of a column in a message
NO_COLUMN = re.compile(r"column|not in index|not found in axis", re.IGNORECASE)
DECIDED = {  # by which method, where there is no predict
    "decision_function": "self.decision_function(X) > 0",
    "predict_proba": "self.predict_proba(X)[:, 1] > 0.5",
}
COLUMNS = "its columns are"  # begins what is said of them
TEXT = "could not convert string to float"
UNWEIGHTED = re.compile(r"support|unexpected keyword|takes no|not take|accept|implement", re.IGNORECASE)


def foreign_api(thing: Any) -> tuple[str, str] | None:
    """Return why a class or object of another library fits nowhere here, and the way; None where it may.

    >>> class Reweighing:
    ...     def fit(self, dataset): ...
    ...     def transform(self, dataset): ...
    >>> foreign_api(Reweighing)[0]
    'takes and gives a dataset, as AIF360 does, and is given an array of features'
    """
    kind: Any = thing if isinstance(thing, type) else type(thing)
    if callable(getattr(kind, RESAMPLER, None)) and not callable(getattr(kind, "predict", None)):
        model = f"imblearn.pipeline.make_pipeline({kind.__name__}(), LogisticRegression())"
        problem = "changes the number of rows, and is no technique or classifier"
        return problem, f"name a function under `classifiers` that returns {model}"
    parameters = list(signature_parameters(getattr(kind, "fit", None)).values())[1:]
    required = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if required and all(name.startswith("dataset") for name in required):
        problem = "takes and gives a dataset, as AIF360 does, and is given an array of features"
        fix = "wrap it in a technique with fit(train, classifier, rng), see `fairbench docs extending`"
        return problem, f"{fix}; or name its class in aif360.sklearn"
    return None


def refuse_class(returned: Any) -> None:
    """Raise an error for a function that returned a class in the place of an object."""
    if isinstance(returned, type):
        problem = f"returned the class {returned.__name__}"
        raise ArgumentError(Problem(problem, f"return an object of it: {returned.__name__}()"))


def no_classifier(thing: Any) -> tuple[str, str] | None:
    """Return why a class or object is no classifier, and what to do; None where it is one."""
    api = foreign_api(thing)
    kind: Any = thing if isinstance(thing, type) else type(thing)
    groups = signature_parameters(getattr(kind, "fit", None)).get("sensitive_features")
    reduces = kind.__module__.startswith(("fairlearn.reductions", "fairlearn.postprocessing"))
    if reduces or (groups is not None and groups.default is groups.empty):
        fix = "name it under `interventions`; in Python write fb.technique(it, estimator=MODEL)"
        return "takes the groups of the rows, so it is a technique", fix
    if api is None and _regresses(thing):
        problem = "predicts numbers, as a regressor does, and a classifier decides"
        return problem, "name a classifier, such as logistic-regression"
    if api is not None or (callable(getattr(thing, "fit", None)) and _predicts(thing)):
        return api
    if "classifier" in signature_parameters(getattr(thing, "fit", None)):
        return "is a technique, not a classifier", "name it under `interventions`"
    if hasattr(kind, "fit") and hasattr(kind, "transform"):
        model = f"make_pipeline({kind.__name__}(), LogisticRegression())"
        fix = f"name it under `interventions`, where it goes before the classifier, or return {model}"
        return "is a transformer, not a classifier: it has no predict(X)", fix
    for method, decided in DECIDED.items():
        if hasattr(kind, "fit") and callable(getattr(kind, method, None)):
            fix = f"add it: def predict(self, X): return ({decided}).astype(int)"
            return "is not a classifier: it has no predict(X)", fix
    return "is not a classifier: it has no fit(X, y) and predict(X)", "name a class that has them"


def _regresses(thing: Any) -> bool:
    """Return whether an estimator of scikit-learn's kind predicts numbers."""
    if getattr(thing, "steps", None):
        return _regresses(thing.steps[-1][1])
    kind: Any = thing if isinstance(thing, type) else type(thing)
    if kind.__module__.startswith("sklearn.model_selection"):  # anybody else's may cut what its own gives
        return _regresses(getattr(thing, "estimator", None))
    names = {base.__name__ for base in kind.__mro__}
    return "RegressorMixin" in names and "ClassifierMixin" not in names


def _predicts(thing: Any) -> bool:
    """Return whether there is a method `predict`; a stack of estimators shows its own only when fitted."""
    steps = getattr(thing, "steps", None)
    if steps:
        return _predicts(steps[-1][1])
    return callable(getattr(thing, "predict", None)) or callable(getattr(type(thing), "predict", None))


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline; of an estimator around another one those of that; else itself alone.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> steps_of(CalibratedClassifierCV(make_pipeline("passthrough", LogisticRegression())))
    ['passthrough', LogisticRegression()]
    """
    inner = getattr(estimator, "estimator", None)
    if hasattr(inner, "fit"):
        return steps_of(inner)
    steps = getattr(estimator, "steps", None)
    return [step for _, step in steps] if steps else [estimator]


def refuse_matrix(estimator: Any) -> None:
    """Raise an error for an estimator that picks columns by their names, of which a matrix has none."""
    for _, _, columns in getattr(steps_of(estimator)[0], "transformers", ()):
        names = [columns] if isinstance(columns, str) else columns
        by_name = isinstance(names, list | tuple) and any(isinstance(name, str) for name in names)
        if by_name or type(columns).__name__ == "make_column_selector":
            chosen = f" ({', '.join(map(str, names))})" if by_name else ""
            frame = Flag("encoding", "frame")
            fix = ("give it a frame: ", frame)
            problem = f"picks columns by name{chosen}, and a matrix has no names"
            raise ArgumentError(Problem(problem, fix, remedy=(frame,)))


def reason_without_weights(estimator: Any) -> str:
    """Return why an estimator cannot be fitted to rows with weights; empty where it may."""
    for step in steps_of(estimator):
        if hasattr(step, RESAMPLER):
            name = type(step).__name__
            return f"{name} changes the number of rows, and weights are of the rows as they were"
    return ""


def refuses_weights(error: Exception) -> bool:
    """Return whether an error of `fit` says that weights are not taken.

    >>> refuses_weights(ValueError("sample_weight is not supported")), refuses_weights(ValueError("x"))
    (True, False)
    """
    return "weight" in str(error) and UNWEIGHTED.search(str(error)) is not None


def explained(error: Exception, X: Any) -> Exception:
    """Return an error of an estimator about the columns of a frame with what these are; another as it is."""
    message = str(error)
    if not hasattr(X, "columns") or not (TEXT in message or NO_COLUMN.search(message)):
        return error
    columns = []
    for name, cells in X.items():
        levels = list(getattr(cells.dtype, "categories", ()))
        listed = ", ".join(map(str, levels[:MOST_LEVELS])) + (" …" if len(levels) > MOST_LEVELS else "")
        columns.append(f"{name} (levels {listed})" if levels else f"{name} (numbers)")
    way = "encode levels, as OneHotEncoder does"
    if TEXT not in message:
        way = "bins and levels stand for numbers that are cut, and a protected column needs include_protected"
    return ValueError(f"{message}; {COLUMNS} {', '.join(columns)}: {way}")
