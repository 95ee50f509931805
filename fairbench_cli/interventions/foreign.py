"""What other libraries' estimators are fitted with, by their shape, and the models that come of it."""

import copy
import inspect
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.errors import find_nearest
from fairbench_cli.base.parameters import signature_parameters
from fairbench_cli.classifiers.encode import Encoder, Encoding, fit_encoder
from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.classifiers.outputs import as_decisions
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions import cells
from fairbench_cli.interventions.fitted import Fitted, Infeasible, Predictor, drawn, settled

if TYPE_CHECKING:
    import pandas as pd

    from fairbench_cli.interventions.matrix_classifier import MatrixClassifier

Asked = Literal["classifier", "one-hot", "codes", "frame"]


@dataclass(frozen=True, eq=False)
class LibraryRows:
    """How samples become what a library takes, as fixed on the training rows.

    Parameters
    ----------
    encoder : Encoder
        The features and how they are encoded.
    groups : {"pair", "levels"}
        Whether the groups are ``deprived`` and ``favoured``, or the protected attribute's own levels.
    known : frozenset of int
        Codes of the groups that have training rows.
    """

    encoder: Encoder
    groups: cells.Groups
    trained_groups: frozenset[int]

    def matrix(self, sample: Sample) -> Any:
        """Return the features, dense, shape (rows, width)."""
        X = self.encoder.transform(sample.features)
        if hasattr(X, "toarray"):
            return X.toarray()
        # a library may write into what it is given
        if isinstance(X, np.ndarray) and not X.flags.writeable:
            return X.copy()
        return X

    def group(self, sample: Sample) -> NDArray[np.str_]:
        """Return the name of each row's group, shape (rows,)."""
        codes, names = cells.groups_of(sample, self.groups)
        return np.asarray(np.array(names)[codes])

    def indicators(self, sample: Sample) -> Floats:
        """Return the groups as 0/1 columns: one for a pair, else one per level; shape (rows, columns)."""
        codes, names = cells.groups_of(sample, self.groups)
        if self.groups == "levels":
            return np.eye(len(names))[codes]
        return codes[:, np.newaxis].astype(np.float64)

    def require_known(self, sample: Sample) -> None:
        """Raise `Infeasible` if there are rows of a group that had none in training."""
        codes, names = cells.groups_of(sample, self.groups)
        new = sorted(set(np.unique(codes).tolist()) - self.trained_groups)
        if new:
            listed = ", ".join(names[g] for g in new)
            raise Infeasible(f"no training rows of {listed}, which it is to decide on")

    def require_both_labels(self, validation: Sample) -> None:
        """Raise `Infeasible` unless every group with training rows has validation rows with either label."""
        codes, names = cells.groups_of(validation, self.groups)
        one_label = [
            names[g] for g in sorted(self.trained_groups) if len(np.unique(validation.y[codes == g])) < 2
        ]
        if one_label:
            raise Infeasible(f"the validation rows of {', '.join(one_label)} have fewer than two labels")


def each_group_first(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Return an order of the rows that starts with one row of each group, the highest code first.

    fairlearn's GridSearch leaves the group that appears last out of its grid: with this order it is always
    the same one, of a pair the deprived, whatever the order of the rows was.

    >>> each_group_first(np.array([1, 1, 0, 1, 0])).tolist()
    [0, 2, 1, 3, 4]
    """
    firsts = np.unique(codes, return_index=True)[1][::-1]
    return np.concatenate([firsts, np.delete(np.arange(len(codes)), firsts)])


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


def fits(function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that a function has a parameter for.

    >>> fits(lambda X, y, labels=None: None, {"labels": [0, 1], "pos_label": 1})
    {'labels': [0, 1]}
    """
    return {name: value for name, value in values.items() if name in signature_parameters(function)}


def weights_for(method: Any, weights: Floats | None) -> dict[str, Floats]:
    """Return rows' weights as an argument of a method.

    Raises
    ------
    Infeasible
        When there are weights and it has no parameter for them.
    """
    if weights is None:
        return {}
    keywords = fits(method, {"sample_weight": weights})
    if not keywords:
        raise Infeasible("the training rows have weights, and this technique takes none")
    return keywords


def favourable(probabilities: Any) -> Floats:
    """Return the probability of the label 1 from those of 0 and 1, shape (rows, 2), or from itself alone.

    >>> favourable([[0.25, 0.75]]).tolist()
    [0.75]
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.ndim == 1:
        return values
    return values[:, -1]


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
    near = find_nearest(name, classes)
    if near is not None:
        public = thing.__module__.partition("._")[0]
        raise ValueError(f'no class "{name}" in {public}; did you mean "{near}"?')
    return value


def _classes(thing: type) -> Iterator[tuple[str, type]]:
    """Yield the public classes of a class's module and of the packages around it, its own the last."""
    packages = thing.__module__.split(".")
    for end in range(1, len(packages) + 1):
        module = sys.modules.get(".".join(packages[:end]))
        for name, value in list(vars(module).items()) if module is not None else []:
            if inspect.isclass(value) and not name.startswith("_"):
                yield name, value


@dataclass(frozen=True)
class Job:
    """A library's class, or a function that returns an object, and what it is to be fitted to.

    Parameters
    ----------
    thing : type or function
        What makes the object.
    parameters : mapping
        The user's, as a config writes them; those of a class may name classes of its library (`resolved`).
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
    groups: cells.Groups
    validation: float
    train: Sample
    classifier: Classifier
    seed: int

    def rows(self, *, one_hot: bool = False, include_protected: bool | None = None) -> LibraryRows:
        """Return how samples become what it takes: what the user asked for, else as the classifier has it.

        `one_hot` takes the place of the classifier's encoding, `include_protected` of its own.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        usual: Encoding = "one-hot" if one_hot else self.classifier.spec.encoding
        if self.encoding == "classifier":
            encoding = usual
        else:
            encoding = self.encoding
        if include_protected is None:
            include_protected = self.classifier.include_protected
        encoder = fit_encoder(self.train, encoding, include_protected=include_protected)
        codes, _ = cells.groups_of(self.train, self.groups)
        return LibraryRows(encoder, self.groups, frozenset(np.unique(codes).tolist()))

    def construct(self, rows: LibraryRows, **keywords: Any) -> Any:
        """Return a new object: given the classifier, seed and attribute, and `more`, where it takes them.

        The user's parameters go before these.
        """
        from fairbench_cli.interventions.matrix_classifier import MatrixClassifier

        encoded_so = rows.encoder.encoding == self.classifier.spec.encoding
        level_counts = None
        if encoded_so:
            level_counts = rows.encoder.level_counts
        estimator = MatrixClassifier(self.classifier, level_counts, self.train.favourable_first)
        defaults = {"estimator": estimator, "base_estimator": estimator, "prot_attr": self.train.attribute}
        defaults |= {"random_state": self.seed} | keywords
        parameters = {
            name: resolved(self.thing, copy.deepcopy(value)) for name, value in self.parameters.items()
        }
        return self.thing(**(fits(self.thing, defaults) | parameters))

    @property
    def takes_classifier(self) -> bool:
        """Whether the class or function has a parameter for a classifier."""
        return bool({"estimator", "base_estimator"} & set(signature_parameters(self.thing)))


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A fitted object of a library.

    Parameters
    ----------
    thing : object
        The object.
    rows : LibraryRows
        How samples become what it takes.
    seed : int
        Seed of what it draws, 0 to 2³² − 1.
    indexed : bool
        Whether it is given data frames with the group in the index, as AIF360's are; else matrices, and the
        groups and the seed where it takes them.
    classifier : Model or None
        Whose probabilities it is given in the place of the features.
    chance, score : str
        The method that gives the probability with which each row is accepted, and each row's score; empty if
        there is none.
    needs_group : bool
        Whether it needs the group to decide.
    """

    thing: Any
    rows: LibraryRows
    seed: int
    indexed: bool = False
    classifier: Model | None = None
    chance: str = ""
    score: str = ""
    needs_group: bool = False

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and it needs the group to decide.
        WrongOutput
            When it predicts other labels than 0 and 1.
        """
        chance = self.decision_probability(sample)
        if chance is not None:
            return drawn(chance, self.seed)
        labels = np.asarray(self._call("predict", sample)).reshape(-1)
        return as_decisions("predict", labels, (len(sample),))

    def decision_probability(self, sample: Sample) -> Floats | None:
        """Return each row's probability of being accepted, or None if nothing is drawn; see `predict`."""
        if self.chance:
            return np.clip(self.favourable(self.chance, sample), 0.0, 1.0)
        return None

    def predict_proba(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None if it has none; see `predict`."""
        if self.score:
            return self.favourable(self.score, sample)
        return None

    def favourable(self, method: str, sample: Sample) -> Floats:
        """Return the output of a method of the object for the favourable label, shape (rows,)."""
        return favourable(self._call(method, sample)).reshape(-1)

    def gives(self, method: str, example_rows: Sample) -> bool:
        """Return whether a method gives numbers from 0 to 1, as asked for a few training rows."""
        try:
            values = self.favourable(method, example_rows)
        except (AttributeError, TypeError, ValueError, KeyError, IndexError, Infeasible):
            return False
        return values.shape == (len(example_rows),) and bool(((values > -1e-9) & (values < 1 + 1e-9)).all())

    def input_of(self, sample: Sample) -> Any:
        """Return the features, or the probabilities of its classifier, as the object takes them."""
        if self.classifier is not None:
            p = self.classifier.predict_proba(sample)
            return indexed_frame(sample, np.column_stack([1 - p, p])).set_axis([0, 1], axis=1)
        X = self.rows.matrix(sample)
        if not self.indexed:
            return X
        frame = indexed_frame(sample, X)
        # Some read the group from a column, and drop it.
        if hasattr(self.thing, "drop_prot_attr"):
            return frame.assign(**{sample.attribute: sample.s})
        return frame

    def _call(self, name: str, sample: Sample) -> Any:
        if self.needs_group:
            self.rows.require_known(sample)
        method = getattr(self.thing, name)
        keywords = (
            {} if self.indexed else {"sensitive_features": self.rows.group(sample), "random_state": self.seed}
        )
        with seeded(self.seed):
            return method(self.input_of(sample), **fits(method, keywords))


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
    facts_as_stored = {name: getattr(thing, key) for name, key in FACTS.items() if hasattr(thing, key)}
    facts = {name: np.asarray(value).item() for name, value in facts_as_stored.items()}
    if hasattr(thing, "predictors_"):
        weights = getattr(thing, "weights_", None)
        facts["models"] = len(thing.predictors_) if weights is None else int((np.asarray(weights) > 0).sum())
    return settled(model, facts, degraded=reasons)


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


def fit_sensitive(job: Job) -> Fitted:
    """Fit an object to the training rows; with ``prefit`` its classifier to some, and it to the others.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none, or it is fitted to validation rows in which a group has
        one label only.
    """
    rows = job.rows(one_hot=not job.takes_classifier)
    train = job.train
    thing = job.construct(rows, prefit=True, predict_method="predict_proba")
    weights_for(thing.fit, train.weights)
    if getattr(thing, "prefit", False):
        fit_rows, train = cells.divide_rows(train, job.validation)
        rows.require_both_labels(train)
        with seeded(job.seed):
            thing.estimator.fit(rows.matrix(fit_rows), fit_rows.y.astype(np.int64))
    train = train.take(each_group_first(cells.groups_of(train, job.groups)[0]))
    keywords = weights_for(thing.fit, train.weights) | {"sensitive_features": rows.group(train)}
    with seeded(job.seed):
        thing.fit(rows.matrix(train), train.y.astype(np.int64), **keywords)
    model = ForeignModel(thing, rows, job.seed)
    example_rows = train.take(np.arange(min(2, len(train))))
    chance, score = (
        name if model.gives(name, example_rows) else "" for name in ("_pmf_predict", "predict_proba")
    )
    parameters = signature_parameters(thing.predict)
    trouble = ""
    if not chance and "random_state" in parameters:
        trouble = DRAWN
    needs_group = "sensitive_features" in parameters
    return fitted(replace(model, chance=chance, score=score, needs_group=needs_group), thing, trouble)


# The group in the index is 1 for the favoured and the label 1 for the favourable: AIF360's own defaults.
CODING = {"labels": [0, 1], "pos_label": 1, "priv_group": 1}


def group_index(sample: Sample) -> "pd.Index[Any]":
    """Return the groups of the rows as AIF360 reads them: an index named after the attribute."""
    import pandas as pd

    return pd.Index(sample.s.astype(np.int64), name=sample.attribute)


def indexed_frame(sample: Sample, X: Any) -> "pd.DataFrame":
    """Return a matrix of a sample's rows as a data frame with the group in its index."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X.set_axis(group_index(sample), axis=0)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], index=group_index(sample))


def indexed_labels(sample: Sample) -> "pd.Series[int]":
    """Return the labels with the group in their index."""
    import pandas as pd

    return pd.Series(sample.y.tolist(), index=group_index(sample))


def fit_indexed(job: Job) -> Fitted:
    """Fit a pre-processor that weights rows, a post-processor of probabilities, or a model.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none, or it has no solution.
    """
    rows = job.rows(one_hot=not job.takes_classifier)
    thing = job.construct(rows)
    if not hasattr(type(thing), "predict"):  # of an object, some hide it until it is fitted
        return _weighted(job, thing, rows)
    if post_processes(thing):
        return _post(job, thing, rows)
    return _model(job, thing, rows)


def post_processes(thing: Any) -> bool:
    """Return whether a class or object takes probabilities: by its tags, or a `pos_label` in `fit`."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    try:
        tags = kind._more_tags(thing)  # of scikit-learn before 1.6
    except (AttributeError, TypeError):
        tags = {}
    return bool(tags.get("requires_proba")) or "pos_label" in signature_parameters(kind.fit)


def _weighted(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Weight the training rows as an object does, and fit the classifier to them."""
    train = job.train
    keywords = weights_for(thing.fit_transform, train.weights)
    frame = indexed_frame(train, rows.matrix(train))
    with seeded(job.seed):
        _, weights = thing.fit_transform(frame, indexed_labels(train), **keywords)
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("it gives weights that are negative or not finite")
    before = cells.weight_sums(train)
    empty = cells.empty_cells(before, cells.expected(before))
    return fitted(job.classifier.fit(replace(train, weights=weights)), thing, empty)


def _post(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Fit the classifier to some of the training rows, and the object to its probabilities of the others."""
    weights_for(thing.fit, job.train.weights)
    fit_rows, validation = cells.divide_rows(job.train, job.validation)
    rows.require_both_labels(validation)
    classifier = job.classifier.fit(fit_rows)
    model = ForeignModel(thing, rows, job.seed, indexed=True, classifier=classifier, needs_group=True)
    keywords = fits(thing.fit, CODING) or {key: CODING[key] for key in ("pos_label", "priv_group")}
    keywords |= weights_for(thing.fit, validation.weights)
    with seeded(job.seed):
        thing.fit(model.input_of(validation), indexed_labels(validation), **keywords)
    return fitted(model, thing)


def _model(job: Job, thing: Any, rows: LibraryRows) -> Fitted:
    """Fit an object that trains a model."""
    train = job.train
    keywords = fits(thing.fit, {"priv_group": 1}) | weights_for(thing.fit, train.weights)
    model = ForeignModel(thing, rows, job.seed, indexed=True)
    with seeded(job.seed):
        thing.fit(model.input_of(train), indexed_labels(train), **keywords)
    if hasattr(getattr(thing, "model_", None), "_pmf_predict"):
        model = replace(model, chance="predict_proba")
    elif hasattr(thing, "predict_proba"):
        model = replace(model, score="predict_proba")
    return fitted(model, thing)


def fit_transformer(job: Job) -> Fitted:
    """Fit a pre-processor to the training rows, and the classifier to what it makes of them.

    One with ``sensitive_feature_ids`` is given the group as further columns, which it drops: the classifier
    sees them, where it is to see the protected attribute, as they were.

    Raises
    ------
    Infeasible
        When the rows have weights and it takes none.
    """
    from fairbench_cli.interventions.matrix_classifier import MatrixClassifier

    train = job.train
    drops = "sensitive_feature_ids" in signature_parameters(job.thing)
    rows = job.rows(one_hot=True, include_protected=False if drops else None)
    indicators = rows.indicators(train)
    width = rows.matrix(train.take(np.arange(1))).shape[1]
    thing = job.construct(rows, sensitive_feature_ids=list(range(width, width + indicators.shape[1])))
    weights = weights_for(thing.fit, train.weights)
    model = TransformedModel(
        thing,
        MatrixClassifier(job.classifier, None, train.favourable_first),
        rows,
        # Centred, as fairlearn before 0.15 takes one mean of all these columns away.
        means=indicators.mean(axis=0) if drops else None,
        seen=drops and job.classifier.include_protected,
        needs_group=drops or "sensitive_features" in signature_parameters(thing.transform),
        seed=job.seed,
    )
    label_and_group = {"y": train.y.astype(np.int64), "sensitive_features": rows.group(train)}
    keywords = fits(thing.fit, label_and_group) | weights
    with seeded(job.seed):
        if hasattr(thing, "fit_transform"):
            X = model.matrix(train, thing.fit_transform(model.input_of(train), **keywords))
        else:
            thing.fit(model.input_of(train), **keywords)
            X = model.transformed(train)
        model.estimator.fit(X, train.y, train.weights)
    return fitted(model, thing)


@dataclass(frozen=True, eq=False)
class TransformedModel:
    """A classifier of what a pre-processor makes of a sample.

    Parameters
    ----------
    thing : object
        The pre-processor.
    estimator : MatrixClassifier
        The classifier.
    rows : LibraryRows
        How samples become what the pre-processor takes.
    means : float64 array, shape (columns,), or None
        Of the columns of the group that it is given less these; None: it is given none.
    seen : bool
        Whether the classifier sees the group, which the pre-processor drops.
    needs_group : bool
        Whether it needs the group of every row.
    seed : int
        Seed of what they draw, 0 to 2³² − 1.
    """

    thing: Any
    estimator: "MatrixClassifier"
    rows: LibraryRows
    means: Floats | None
    seen: bool
    needs_group: bool
    seed: int

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one.

        Raises
        ------
        Infeasible
            When a row's group had no training rows, and the pre-processor needs the group.
        """
        with seeded(self.seed):
            return np.asarray(self.estimator.predict(self.transformed(sample)), np.int8)

    def scores(self, sample: Sample) -> Floats | None:
        """Return each row's score, shape (rows,), or None, as `Model.scores` does; raises as `predict`."""
        fitted: Any = self.estimator.estimator_
        with seeded(self.seed):
            if hasattr(fitted, "scores"):
                scores: Floats | None = fitted.scores(self.transformed(sample))
                return scores
            if not hasattr(self.estimator, "predict_proba"):
                return None
            return favourable(self.estimator.predict_proba(self.transformed(sample)))

    def changes(self, sample: Sample) -> bool:
        """Return whether the features come out otherwise than they went in; raises as `predict`."""
        features = self.matrix(sample, self.rows.matrix(sample))
        return not np.array_equal(self.transformed(sample), features)

    def transformed(self, sample: Sample) -> Floats:
        """Return the transformed rows of a sample, shape (rows, width); raises as `predict`."""
        if self.needs_group:
            self.rows.require_known(sample)
        keywords = fits(self.thing.transform, {"sensitive_features": self.rows.group(sample)})
        return self.matrix(sample, self.thing.transform(self.input_of(sample), **keywords))

    def input_of(self, sample: Sample) -> Any:
        """Return the input of the pre-processor: the features, and the group where it drops that."""
        X = self.rows.matrix(sample)
        if self.means is None:
            return X
        return np.column_stack([X, self.rows.indicators(sample) - self.means])

    def matrix(self, sample: Sample, transformed: Any) -> Floats:
        """Return the classifier's matrix, from what the pre-processor made of a sample's rows."""
        X = np.asarray(
            transformed.toarray() if hasattr(transformed, "toarray") else transformed, dtype=np.float64
        )
        if X.shape[:1] != (len(sample),) or X.ndim != 2 or not np.isfinite(X).all():
            raise ValueError("a pre-processor must return a finite number for each row and column it leaves")
        if self.seen:
            return np.column_stack([X, self.rows.indicators(sample)])
        return X
