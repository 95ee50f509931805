"""Classifiers that are not registered: anybody's builder, and any scikit-learn estimator as it is."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import ArgumentError, Problem
from fairbench_cli.base.parameters import inspect_parameters, signature_parameters
from fairbench_cli.classifiers import shapes
from fairbench_cli.classifiers.encode import Encoding
from fairbench_cli.classifiers.fit import Infeasible, Spec
from fairbench_cli.classifiers.outputs import as_decisions, as_probabilities, as_scores
from fairbench_cli.data.table import Floats, Labels

Choice = Literal["one-hot", "codes", "frame"]
OPTIONS: dict[str, tuple[Any, Any]] = {"encoding": (Choice, "one-hot")}

_ENCODINGS: dict[str, Encoding] = {"one-hot": "dense", "codes": "codes", "frame": "frame"}
_LARGEST_SEED = 2**31 - 1  # of libraries that keep it in a C int


def options_of(thing: Any) -> Mapping[str, tuple[Any, Any]]:
    """Return the parameters that are ours and not the class's or function's: type and default by name."""
    if _is_builder(thing):
        return {}
    return OPTIONS


def filled(thing: Any) -> frozenset[str]:
    """Return the parameters that are given when it is built, if a config does not give them."""
    if _is_builder(thing):
        return frozenset()
    return frozenset({"random_state", "n_jobs"})


def fault(thing: Any) -> tuple[str, str] | None:
    """Return why a class cannot be a classifier, and what to do; None where it can, or is a function."""
    if not isinstance(thing, type) or _is_builder(thing):
        return None
    return shapes.no_classifier(thing)


def make(thing: Any, parameters: Mapping[str, Any]) -> Spec:
    """Return the classifier.

    Raises
    ------
    Exception
        Whatever the class or function raises, and `ValueError` for parameters that an estimator refuses.
    """
    if _is_builder(thing):
        spec: Spec = thing(**parameters)
        return spec
    estimator_parameters = {name: value for name, value in parameters.items() if name not in OPTIONS}
    return ForeignEstimator(thing, estimator_parameters, parameters.get("encoding", "one-hot"))


def _is_builder(thing: Any) -> bool:
    """Return whether it is made as ours are, with `encoding` and `build(level_counts, seed)`."""
    return isinstance(thing, type) and hasattr(thing, "encoding") and callable(getattr(thing, "build", None))


@dataclass(frozen=True, eq=False)
class ForeignEstimator:
    """A scikit-learn estimator, by its class or by a function that returns one.

    Parameters
    ----------
    thing : class or function
        Called with the parameters, once for every fit.
    parameters : dict
        Those that are given; others stay at the defaults of `thing`.
    choice : {"one-hot", "codes", "frame"}
        What `fit` is given: an array with a 0/1 column per level, one with a column of codes per column, or
        a pandas DataFrame. Numbers are numbers in each, standardised for ``one-hot``.

    Raises
    ------
    ArgumentError, ValueError
        When `thing` returns no estimator, or one that needs a frame, or an estimator refuses the parameters.
    """

    thing: Callable[..., Any]
    parameters: dict[str, Any]
    choice: Choice = "one-hot"
    encoding: Encoding = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", _ENCODINGS[self.choice])
        estimator = self._new(0)
        if self.choice != "frame":
            shapes.refuse_matrix(estimator)
        if hasattr(estimator, "_parameter_constraints"):
            estimator._validate_params()

    def build(self, level_counts: tuple[int, ...], seed: int) -> "WrappedEstimator":  # noqa: ARG002
        """Return an unfitted estimator with one job; the seed is that of all its random choices."""
        return WrappedEstimator(self._new(seed % _LARGEST_SEED))

    def _new(self, seed: int) -> Any:
        takes = inspect_parameters(self.thing).types
        ours = {"random_state": seed, "n_jobs": 1}
        keywords = {name: value for name, value in ours.items() if name in takes and _heeds(self.thing, name)}
        # A copy: a function may return one object again and again.
        estimator = deepcopy(self.thing(**keywords | deepcopy(self.parameters)))
        shapes.refuse_class(estimator)
        reason = shapes.no_classifier(estimator)
        if reason is not None:
            raise ArgumentError(Problem(f"returned {type(estimator).__name__}, which {reason[0]}", reason[1]))
        if hasattr(estimator, "get_params"):  # with those of the steps of a pipeline
            default_parameters = estimator.get_params()
            keywords = {}
            for name in (name for name, value in default_parameters.items() if value is None):
                owner, _, parameter = name.rpartition("__")
                if parameter in ours and _heeds(type(default_parameters.get(owner, estimator)), parameter):
                    keywords[name] = ours[parameter]
            estimator.set_params(**keywords)
        return estimator


def _heeds(thing: Any, name: str) -> bool:
    """Return whether a parameter is to be given: scikit-learn has one job by default, and may warn of it."""
    return name != "n_jobs" or not str(thing.__module__).startswith("sklearn.")


@dataclass(eq=False)
class WrappedEstimator:
    """An estimator that takes weights or says that it cannot, and whose predictions are checked."""

    estimator: Any
    classes_: tuple[int, int] = (0, 1)

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> "WrappedEstimator":
        """Fit to rows and labels 0 and 1, with one thread.

        Raises
        ------
        Infeasible
            When there are weights and the estimator takes none.
        """
        from threadpoolctl import threadpool_limits

        weights = {}
        if sample_weight is not None:
            name = weight_name(self.estimator)
            refusing = unweighted(self.estimator)
            reason = shapes.reason_without_weights(self.estimator)
            if reason or name is None or refusing is not None:
                raise Infeasible(reason or f"{refusing} takes no sample weights")
            weights[name] = sample_weight
        try:
            with threadpool_limits(1):  # of libraries that were loaded just now
                self.estimator.fit(X, np.asarray(y, dtype=np.int64), **weights)
        except Exception as error:
            if weights and shapes.refuses_weights(error):
                raise Infeasible(
                    f"{type(self.estimator).__name__} takes no sample weights: {error}"
                ) from None
            with_columns = shapes.explained(error, X)
            if with_columns is error:
                raise
            raise with_columns from error
        return self

    def predict(self, X: Any) -> Labels:
        """Return each row's class, int8, shape (rows,); `WrongOutput` where the estimator returns others."""
        return as_decisions("predict", self.estimator.predict(X), X.shape[:1])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (rows, 2); `Infeasible` if there is none.

        Raises `WrongOutput` where the estimator returns something else.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise Infeasible(f"{type(_last_step(self.estimator)).__name__} gives no probabilities")
        probabilities = as_probabilities("predict_proba", self.estimator.predict_proba(X), (X.shape[0], 2))
        order = [list(getattr(self.estimator, "classes_", self.classes_)).index(label) for label in (0, 1)]
        return probabilities[:, order]

    def scores(self, X: Any) -> Floats | None:
        """Return the probability of class 1, otherwise the decision function, shape (rows,), or None."""
        if hasattr(self.estimator, "predict_proba"):
            return np.ascontiguousarray(self.predict_proba(X)[:, 1])
        if hasattr(self.estimator, "decision_function"):
            return as_scores("decision_function", self.estimator.decision_function(X), X.shape[:1])
        return None


def _last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    steps = getattr(estimator, "steps", None)
    if steps:
        return _last_step(steps[-1][1])
    return estimator


def weight_name(estimator: Any) -> str | None:
    """Return the parameter of `fit` by which an estimator takes weights, or None.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import Pipeline
    >>> weight_name(Pipeline([("model", LogisticRegression())]))
    'model__sample_weight'
    """
    steps = getattr(estimator, "steps", None)
    if steps:
        name = weight_name(steps[-1][1])
        if name is None:
            return None
        return f"{steps[-1][0]}__{name}"
    if "sample_weight" in signature_parameters(getattr(estimator, "fit", None)) or _members(estimator):
        return "sample_weight"
    return None


def unweighted(estimator: Any) -> str | None:
    """Return the class that a fit with weights would fit without them; None where there is none.

    That of an estimator in a pipeline or in another estimator, which may go on without a word.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> unweighted(CalibratedClassifierCV(KNeighborsClassifier()))
    'KNeighborsClassifier'
    """
    model = _last_step(estimator)
    if weight_name(model) is None:
        return type(model).__name__
    inner = getattr(model, "estimator", None)
    if callable(getattr(inner, "fit", None)) and not _draws_by_weight(model):
        within = [inner]
    else:
        within = _members(model)
    for member in within:
        if weight_name(member) != "sample_weight":  # that of a pipeline's step does not get there
            return type(member).__name__
    return next((class_name for class_name in map(unweighted, within) if class_name is not None), None)


def _members(estimator: Any) -> list[Any]:
    """Return the estimators of a vote or a stack, to which its `fit` hands the weights on."""
    from sklearn.ensemble import StackingClassifier, VotingClassifier

    if not isinstance(estimator, StackingClassifier | VotingClassifier):
        return []
    final = getattr(estimator, "final_estimator", None)
    members = [member for _, member in estimator.estimators] + ([] if final is None else [final])
    return [member for member in members if member not in ("drop", "prefit")]


def _draws_by_weight(estimator: Any) -> bool:
    """Return whether weights are the chances of rows to be drawn, so that the estimators within need none."""
    from sklearn.ensemble import BaggingClassifier

    return isinstance(estimator, BaggingClassifier) and bool(estimator.bootstrap)
