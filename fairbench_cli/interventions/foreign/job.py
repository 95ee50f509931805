"""What foreign techniques are fitted with: rows as a library takes them, and the model that comes of it."""

import copy
import inspect
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import nearest
from fairbench_cli.classifiers.encode import Encoder, Encoding, fit_encoder
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted, Infeasible, Predictor, drawn
from fairbench_cli.measures.counts import PAIR

Groups = Literal["pair", "levels"]


@dataclass(frozen=True, eq=False)
class LibraryRows:
    """How samples become what a library takes, as fixed on the training rows.

    Parameters
    ----------
    encoder : Encoder
        The features and how they are encoded.
    attribute : str
        The protected attribute.
    groups : {"pair", "levels"}
        Whether the groups are ``deprived`` and ``favoured``, or the protected attribute's own levels.
    """

    encoder: Encoder
    attribute: str
    groups: Groups

    def matrix(self, sample: Sample) -> Any:
        """Return the features, dense, shape (rows, width)."""
        X = self.encoder.transform(sample.features)
        if hasattr(X, "toarray"):
            return X.toarray()
        shared = isinstance(X, np.ndarray) and not X.flags.writeable
        return X.copy() if shared else X  # a library may write into what it is given

    def names(self, sample: Sample) -> tuple[str, ...]:
        """Return the names of all groups, with rows or without."""
        if self.groups == "pair":
            return PAIR
        return sample.features.columns[sample.features.index(self.attribute)].levels

    def codes(self, sample: Sample) -> NDArray[Any]:
        """Return each row's group as an index into `names`, shape (rows,)."""
        return sample.s if self.groups == "pair" else sample.features[self.attribute]

    def group(self, sample: Sample) -> NDArray[np.str_]:
        """Return the name of each row's group, shape (rows,)."""
        return np.asarray(np.array(self.names(sample))[self.codes(sample)])

    def indicators(self, sample: Sample) -> Floats:
        """Return the groups as 0/1 columns: one for a pair, else one per level; shape (rows, columns)."""
        if self.groups == "pair":
            return sample.s[:, np.newaxis].astype(np.float64)
        return np.asarray(np.eye(len(self.names(sample)))[self.codes(sample)])


def fit_rows(train: Sample, classifier: Classifier, encoding: Encoding, groups: Groups) -> LibraryRows:
    """Return how samples become what a library takes.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    encoder = fit_encoder(train, encoding, include_protected=classifier.include_protected)
    return LibraryRows(encoder, train.attribute, groups)


def each_group_first(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Return an order of the rows that starts with one row of each group, the highest code first.

    fairlearn's GridSearch leaves the group that appears last out of its grid: with this order it is always
    the same one, of a pair the deprived, whatever the order of the rows was.

    >>> each_group_first(np.array([1, 1, 0, 1, 0])).tolist()
    [0, 2, 1, 3, 4]
    """
    firsts = np.unique(codes, return_index=True)[1][::-1]
    return np.concatenate([firsts, np.delete(np.arange(len(codes)), firsts)])


def require_both_labels(rows: LibraryRows, train: Sample, validation: Sample) -> None:
    """Raise `Infeasible` unless every group with training rows has validation rows with either label."""
    codes, names = rows.codes(validation), rows.names(train)
    groups = sorted(known_groups(rows, train))
    few = [names[g] for g in groups if len(np.unique(validation.y[codes == g])) < 2]
    if few:
        raise Infeasible(f"the validation rows of {', '.join(few)} have fewer than two labels")


def known_groups(rows: LibraryRows, train: Sample) -> frozenset[int]:
    """Return the codes of the groups that have training rows."""
    return frozenset(np.unique(rows.codes(train)).tolist())


def require_known(rows: LibraryRows, sample: Sample, known: frozenset[int]) -> None:
    """Raise `Infeasible` if there are rows of a group that had none in training."""
    new = sorted(set(np.unique(rows.codes(sample)).tolist()) - known)
    if new:
        names = rows.names(sample)
        raise Infeasible(f"no training rows of {', '.join(names[g] for g in new)}, which it is to decide on")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python and numpy, 0 to 2³² − 1, and set them back on leaving.

    fairbench does not use them. Some libraries do, and would not give the same numbers twice. Warnings of
    deprecated calls are dropped: they are for a library's authors.

    >>> with seeded(1): one = random.random()
    >>> with seeded(1): print(random.random() == one)
    True
    """
    before = random.getstate(), np.random.get_state()  # noqa: NPY002 - that of the library
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            for kind in (DeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", kind)
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def accepts(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor, a method or a function; none if it has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def fits(function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that a function has a parameter for.

    >>> fits(lambda X, y, labels=None: None, {"labels": [0, 1], "pos_label": 1})
    {'labels': [0, 1]}
    """
    return {name: value for name, value in values.items() if name in accepts(function)}


def construct(thing: Callable[..., Any], parameters: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Return a new object: with the user's parameters, and what we know of its other parameters.

    Parameters
    ----------
    thing : type or function
        A class, or a function that returns an object.
    parameters : mapping
        As a config writes them; those of a class may name classes of its library (`resolved`).
    known : mapping
        What a parameter of some name is given unless the user gave it: ``estimator``, ``random_state`` …
    """
    given = {name: resolved(thing, copy.deepcopy(value)) for name, value in parameters.items()}
    return thing(**(fits(thing, known) | given))


def resolved(thing: Any, value: Any) -> Any:
    """Return the object that a value names: ``Name`` or ``{Name: {parameter: value}}`` of a class's library.

    Anything else is returned as it is.

    Raises
    ------
    ValueError
        When the library has no such class but one of a similar name.
    """
    name: Any = value
    arguments: Any = {}
    if isinstance(value, Mapping) and len(value) == 1:
        name, arguments = next(iter(value.items()))
    capital = isinstance(name, str) and name.isidentifier() and name[0].isupper()
    if not (inspect.isclass(thing) and capital and isinstance(arguments or {}, Mapping)):
        return value
    classes = dict(_classes(thing))
    if name in classes:
        return classes[name](**(arguments or {}))
    near = nearest(name, classes)
    if near is not None:
        public = thing.__module__.partition("._")[0]
        raise ValueError(f'no class "{name}" in {public}; did you mean "{near}"?')
    return value


def _classes(thing: type) -> Iterator[tuple[str, type]]:
    """Yield the public classes of a class's module and of the packages around it, its own the last."""
    parts = thing.__module__.split(".")
    for end in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:end]))
        for name, value in list(vars(module).items()) if module is not None else []:
            if inspect.isclass(value) and not name.startswith("_"):
                yield name, value


DRAWN = "its decisions are counted as drawn: it gives no probability of them"

# Numbers worth keeping, by the attributes under which fairlearn has them.
FACTS = {"best_gap": "best_gap_", "oracle_calls": "n_oracle_calls_", "chosen": "best_idx_"}


def fitted(model: Predictor, thing: Any, trouble: str = "") -> Fitted:
    """Return a model with what its object says; ``degraded`` where it did not converge, or for `trouble`.

    Raises
    ------
    Infeasible
        When the object has no solution; see `require_solution`.
    """
    require_solution(thing)
    reasons = "; ".join(filter(None, (not_converged(thing), trouble)))
    return Fitted(model, "degraded" if reasons else "ok", reasons, facts_of(thing))


def facts_of(thing: Any) -> dict[str, float | int]:
    """Return the numbers that say what a fairlearn object did."""
    found = {name: getattr(thing, key) for name, key in FACTS.items() if hasattr(thing, key)}
    facts = {name: np.asarray(value).item() for name, value in found.items()}
    if hasattr(thing, "predictors_"):
        weights = getattr(thing, "weights_", None)
        facts["models"] = len(thing.predictors_) if weights is None else int((np.asarray(weights) > 0).sum())
    return facts


def not_converged(thing: Any) -> str:
    """Return a message if an exponentiated gradient did not converge in its iterations; otherwise ""."""
    iterations = getattr(thing, "last_iter_", -1) + 1
    if not iterations or iterations < thing.max_iter or thing.best_gap_ < thing.nu:
        return ""
    gap = f"the gap is {thing.best_gap_:.2g}, not below {thing.nu:.2g}"
    return f"not converged in {iterations} iterations: {gap}"


def require_solution(thing: Any) -> None:
    """Raise `Infeasible` where an AIF360 object goes on without a solution.

    Calibrated equalised odds mixes at rates that may be none (above 1, infinite), and the search for a reject
    option takes its first setting where no setting is fair enough.
    """
    rates = getattr(thing, "mix_rates_", None)
    if rates is not None and not all(0 <= rate <= 1 for rate in rates):
        listed = ", ".join(f"{rate:.3g}" for rate in rates)
        raise Infeasible(f"no mixture of decisions equalises the groups' costs (its rates would be {listed})")
    metric = getattr(thing, "scorer_name_", None)
    if metric in ("statistical_parity", "average_odds", "equal_opportunity", "disparate_impact"):
        scores = np.asarray(thing.cv_results_[f"mean_test_{metric}"])
        if not (scores >= (0.8 if metric == "disparate_impact" else -0.1)).any():
            raise Infeasible(f"no setting that was tried comes within its bound on {metric}")


OfSample = Callable[[Sample], Any]


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A fitted object of a library.

    Parameters
    ----------
    rows : LibraryRows
        How samples become what it takes.
    labels : function
        Returns each row's predicted label of a sample.
    chance, score : function or None
        Returns the probability with which each row is accepted, and its score; None if there are none.
    seed : int
        Seed of what it draws, 0 to 2³² − 1.
    known : frozenset of int, or None
        Groups with training rows, if it needs the group to decide.
    """

    rows: LibraryRows
    labels: OfSample
    chance: OfSample | None
    score: OfSample | None
    seed: int
    known: frozenset[int] | None = None

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and it needs the group to decide.
        ValueError
            When it predicts other labels than 0 and 1.
        """
        chance = self.decision_probability(sample)
        if chance is not None:
            return drawn(chance, self.seed)
        labels = self._call(self.labels, sample)
        if not np.isin(labels, (0, 1)).all():
            raise ValueError("it was trained on the labels 0 and 1, and predicts others")
        return np.asarray(labels, dtype=np.int8)

    def decision_probability(self, sample: Sample) -> Floats | None:
        """Return each row's probability of being accepted, or None if nothing is drawn; see `predict`."""
        if self.chance is None:
            return None
        return np.clip(np.asarray(self._call(self.chance, sample), np.float64), 0.0, 1.0)

    def predict_proba(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None if it has none; see `predict`."""
        return None if self.score is None else np.asarray(self._call(self.score, sample), np.float64)

    def _call(self, function: OfSample, sample: Sample) -> Any:
        if self.known is not None:
            require_known(self.rows, sample, self.known)
        with seeded(self.seed):
            return np.asarray(function(sample)).reshape(-1)


def favourable(both: Any) -> Floats:
    """Return the probability of the label 1 from those of 0 and 1, shape (rows, 2), or from itself alone.

    >>> favourable([[0.25, 0.75]]).tolist()
    [0.75]
    """
    values = np.asarray(both, dtype=np.float64)
    return values if values.ndim == 1 else values[:, -1]


Asked = Literal["classifier", "one-hot", "codes", "frame"]


@dataclass(frozen=True)
class Job:
    """A library's class, or a function that returns an object, and what it is to be fitted to.

    Parameters
    ----------
    thing : type or function
        What makes the object.
    parameters : mapping
        The user's, as a config writes them.
    encoding : {"classifier", "one-hot", "codes", "frame"}
        How the features are encoded; ``classifier``: as the cell's classifier takes them, or one-hot where
        the object has no use for one.
    groups : {"pair", "levels"}
        Which groups it is given.
    validation : float in (0, 1)
        Share of the training rows on which a post-processor is fitted.
    train : Sample
        The training rows.
    classifier : Classifier
        The cell's.
    seed : int
        Seed of what the object draws, 0 to 2³² − 1.
    """

    thing: Callable[..., Any]
    parameters: Mapping[str, Any]
    encoding: Asked
    groups: Groups
    validation: float
    train: Sample
    classifier: Classifier
    seed: int

    def rows(self, default: Encoding | None = None) -> LibraryRows:
        """Return how samples become what it takes, by `default` where the user asked for no encoding."""
        own = self.classifier.spec.encoding if default is None else default
        encoding = own if self.encoding == "classifier" else self.encoding
        return fit_rows(self.train, self.classifier, encoding, self.groups)

    def estimator(self, rows: LibraryRows) -> Any:
        """Return the classifier as a scikit-learn estimator of a matrix; it is not fitted."""
        from fairbench_cli.interventions.foreign.estimator import MatrixClassifier

        own = rows.encoder.encoding == self.classifier.spec.encoding
        level_counts = rows.encoder.level_counts if own else None
        return MatrixClassifier(self.classifier, level_counts, self.train.favourable_first)

    def construct(self, rows: LibraryRows, **more: Any) -> Any:
        """Return a new object: given the classifier, seed and attribute, and `more`, where it takes them."""
        estimator = self.estimator(rows)
        known = {"estimator": estimator, "base_estimator": estimator, "prot_attr": self.train.attribute}
        return construct(self.thing, self.parameters, known | {"random_state": self.seed} | more)


def takes_classifier(thing: Any) -> bool:
    """Return whether a class or function has a parameter for a classifier."""
    return bool({"estimator", "base_estimator"} & set(accepts(thing)))


def weights_for(method: Any, weights: Floats | None) -> dict[str, Floats]:
    """Return rows' weights as an argument of a method.

    Raises
    ------
    Infeasible
        When there are weights and it has no parameter for them.
    """
    if weights is None:
        return {}
    given = fits(method, {"sample_weight": weights})
    if not given:
        raise Infeasible("the training rows have weights, and this technique takes none")
    return given
