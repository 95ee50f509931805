"""Techniques that are not registered: anybody's own, fairlearn's, AIF360's, and pre-processors of a matrix.

A technique has ``fit(train, classifier, rng)``. Another library's class is known by its shape:

* ``fit(X, y, sensitive_features=)`` and ``predict``, as in fairlearn;
* ``prot_attr`` in its constructor, as in AIF360's scikit-learn classes: the group in the index;
* ``fit`` and ``transform`` without ``predict``: a pre-processor, before the cell's classifier.

A parameter ``estimator`` is the cell's classifier. A function may return an object of either shape.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

from fairbench_cli.base.errors import ArgumentError, Problem, suggest
from fairbench_cli.base.parameters import signature_parameters
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.shapes import DECIDED, foreign_api, no_classifier, refuse_class
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions import foreign
from fairbench_cli.interventions.cells import Groups, Share
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign import resolved

Shape = Literal["sensitive-features", "group-index", "transformer"]

# Parameters of a thing that need not be given: `Job.construct` knows what they are.
FILLED = frozenset(
    [
        "estimator",
        "base_estimator",
        "prot_attr",
        "random_state",
        "sensitive_feature_ids",
        "prefit",
        "predict_method",
    ]
)

# Parameters that a config may give in addition to the thing's own: type and default.
ADAPTER_OPTIONS: dict[str, tuple[Any, Any]] = {
    "encoding": (foreign.Asked, "classifier"),
    "groups": (Groups, "pair"),
    "validation": (Share, 0.3),
}

_FIT: dict[Shape, Callable[[foreign.Job], Fitted]] = {
    "sensitive-features": foreign.fit_sensitive,
    "group-index": foreign.fit_indexed,
    "transformer": foreign.fit_transformer,
}

UNKNOWN = (
    "it has none of the known shapes: fit(X, y, sensitive_features=) with predict, "
    "prot_attr in its constructor, fit with transform"
)


def is_technique(thing: Any) -> bool:
    """Return whether a class or an object has our ``fit(train, classifier, rng)``."""
    return {"classifier", "rng"} <= set(signature_parameters(getattr(thing, "fit", None)))


def fault(thing: Any) -> tuple[str, str] | None:
    """Return why a class cannot be an intervention, and what to do; None where it can, or is a function."""
    missing = missing_requirement(thing)
    if missing is not None:
        return missing
    if not isinstance(thing, type) or is_technique(thing):
        return None
    return _fault_of_shape(thing)


def _fault_of_shape(thing: Any) -> tuple[str, str] | None:
    """Return why a class or object without our fit cannot be an intervention; None where it can."""
    api = foreign_api(thing)
    if api is not None or shape_of(thing) is not None:
        return api
    methods = [name for name in ("build", "predict", *DECIDED) if callable(getattr(thing, name, None))]
    if methods:
        reason = None if "build" in methods else no_classifier(thing)
        return reason or ("is a classifier, not a technique", "name it under `classifiers`")
    problem = "is neither a technique, with fit(train, classifier, rng), nor of a library that is known"
    return problem, "see `fairbench docs extending`"


def filled(thing: Any) -> frozenset[str]:
    """Return the parameters that an adapter gives, such as the cell's classifier, if a config does not."""
    if takes(thing) and not is_technique(thing):
        return FILLED
    return frozenset()


def make(thing: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the technique.

    Raises
    ------
    Exception
        Whatever the class or function raises, and `ArgumentError` for a function that returns no technique.
    """
    if is_technique(thing):
        return thing(**parameters)
    options = {name: value for name, value in parameters.items() if name in options_of(thing)}
    constructor_parameters = {name: value for name, value in parameters.items() if name not in options}
    # A function without a parameter that an adapter gives may return a technique.
    needs_more = FILLED & set(signature_parameters(thing)) - set(constructor_parameters)
    if not isinstance(thing, type) and not options and not needs_more:
        instance = thing(**constructor_parameters)
        refuse_class(instance)
        if is_technique(instance):
            return instance
        reason = missing_requirement(type(instance)) or _fault_of_shape(instance)
        if reason is not None:
            raise ArgumentError(Problem(f"returned {type(instance).__name__}, which {reason[0]}", reason[1]))
    return adapt(thing, constructor_parameters, options)


def shape_of(thing: Any) -> Shape | None:
    """Return the shape of a class or an object, or None if it is not known."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    roots = {base.__module__.partition(".")[0] for base in kind.__mro__}
    fit = getattr(kind, "fit", None)
    predicts = hasattr(kind, "predict")
    attributes = [] if isinstance(thing, type) else list(getattr(thing, "__dict__", {}).values())
    if (
        "prot_attr" in signature_parameters(kind)
        or "aif360" in roots
        or any(hasattr(attribute, "prot_attr") for attribute in attributes)
    ):
        if predicts or hasattr(kind, "fit_transform"):
            return "group-index"
        return None
    parameters = signature_parameters(fit)
    passes_on = (
        any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        and "fairlearn" in roots
    )
    if predicts and ("sensitive_features" in parameters or passes_on):
        return "sensitive-features"
    if fit is not None and hasattr(kind, "transform") and not predicts:
        return "transformer"
    return None


def takes(thing: Any) -> bool:
    """Return whether a class is of a known shape; True for a function, whose result is not known yet."""
    if isinstance(thing, type):
        return shape_of(thing) is not None
    return callable(thing)


def options_of(thing: Any) -> dict[str, tuple[Any, Any]]:
    """Return those of `ADAPTER_OPTIONS` that have an effect on a thing; all of them for a function.

    A technique has none.

    >>> class Remover:
    ...     def fit(self, X): ...
    ...     def transform(self, X): ...
    >>> list(options_of(Remover))
    ['encoding']
    """
    if is_technique(thing) or not takes(thing):
        return {}
    constructor = signature_parameters(thing)
    if not isinstance(thing, type):
        return {name: option for name, option in ADAPTER_OPTIONS.items() if name not in constructor}
    shape = shape_of(thing)
    with_group = shape == "sensitive-features" or "sensitive_feature_ids" in constructor
    with_group |= "sensitive_features" in signature_parameters(getattr(thing, "transform", None))
    with_group |= shape == "transformer" and "sensitive_features" in signature_parameters(
        getattr(thing, "fit", None)
    )
    post = "prefit" in constructor
    if shape == "group-index" and hasattr(thing, "predict"):
        post = foreign.post_processes(thing)
    effective = {"encoding": True, "groups": with_group, "validation": post}
    return {name: option for name, option in ADAPTER_OPTIONS.items() if effective[name]}


@dataclass(frozen=True)
class Adapted:
    """A technique made of another library's class, or of a function that returns an object.

    Parameters
    ----------
    thing : type or function
        What makes the object, anew for every fit.
    parameters : mapping
        Of its constructor, as a config writes them.
    options : mapping
        Of `ADAPTER_OPTIONS`, those that are not as by default.
    """

    thing: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the object, with the classifier if it takes one; ``noop`` with one outcome or group alone.

        Raises
        ------
        Infeasible
            When it cannot run on these rows.
        ValueError
            When a function returns an object of no known shape.
        """
        for column, values in (("outcome", train.y), ("group", train.s)):
            if len(np.unique(values)) == 1:
                return Fitted(classifier.fit(train), "noop", f"only one {column} has rows")
        options = {name: default for name, (_, default) in ADAPTER_OPTIONS.items()} | dict(self.options)
        seed = int(rng.integers(2**32))
        job = foreign.Job(
            self.thing, self.parameters, **options, train=train, classifier=classifier, seed=seed
        )
        shape = shape_of(self.thing if isinstance(self.thing, type) else job.construct(job.rows()))
        if shape is None:
            raise ValueError(UNKNOWN)
        return _FIT[shape](job)


def adapt(
    thing: type | Callable[..., Any], parameters: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> Adapted:
    """Return a technique made of another library's class, or of a function that returns an object.

    Parameters
    ----------
    thing : type or function
        The class or function.
    parameters : mapping
        Of its constructor, as a config writes them: a class of its library may be named, as in
        ``constraints: DemographicParity`` or ``constraints: {DemographicParity: {difference_bound: 0.02}}``.
    options : mapping
        Of `ADAPTER_OPTIONS`.

    Raises
    ------
    ValueError
        When a parameter is unknown, the frame has no place for the group's column, or a class that a
        parameter names is not in its library.
    """
    accepted = signature_parameters(thing)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    for name in () if open_ended else set(parameters) - set(accepted):
        raise ValueError(f'it has no parameter "{name}": {suggest(name, accepted)}')
    if "sensitive_feature_ids" in accepted and (options or {}).get("encoding") == "frame":
        raise ValueError("it finds the group by the position of a column, and a frame has names")
    for value in parameters.values():
        resolved(thing, value)
    return Adapted(thing, dict(parameters), dict(options or {}))


def missing_requirement(component: Any) -> tuple[str, str] | None:
    """Return the requirement that a registered component lacks to run and how to get it, or None.

    >>> missing_requirement(Adapted) is None
    True
    """
    package, least = getattr(component, "requires", ("", ""))
    if not package:
        return None
    try:
        installed = version(package)
    except PackageNotFoundError:
        return f"needs {package}", f'pip install "fairbench-cli[{package}]"'
    if _release(installed) < _release(least):
        return f"needs {package} {least}, this is {installed}", f'pip install -U "fairbench-cli[{package}]"'
    return None


def _release(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version.

    >>> _release("0.15.0"), _release("0.13")
    ((0, 15), (0, 13))
    """
    return tuple(int(number) for number in text.split(".")[:2])
