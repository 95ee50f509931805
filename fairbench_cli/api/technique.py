"""Techniques as scikit-learn classifiers: `fit` and `predict` with groups, cloned and searched as any."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from fairbench_cli.api.frames import fitted, is_number_column, is_one_of, learned, texts_of, to_pandas
from fairbench_cli.api.objects import component_of, in_lists, is_plain, parameters_given, plain_value
from fairbench_cli.api.prefit import (
    compute_outputs,
    is_prefit,
    refuse_training,
    refuse_unfitted,
    select_columns,
)
from fairbench_cli.base.errors import ArgumentError, Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.base.plugins import NamedObject, short_name
from fairbench_cli.base.registry import Registry
from fairbench_cli.base.row_arrays import is_array, join_columns, one_column, refuse_other_rows
from fairbench_cli.base.validation import WRITE_LIST, to_findings
from fairbench_cli.classifiers.fit import Classifier, FittedClassifier
from fairbench_cli.classifiers.foreign import Choice, ForeignEstimator
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import VALUES, Column, Floats, ModelOutputs, Sample, Table, make_table
from fairbench_cli.experiment.config.components import ComponentSpec, ReadContext, read_entries, split_name
from fairbench_cli.experiment.plan import component_seed
from fairbench_cli.interventions.adapters import is_technique
from fairbench_cli.interventions.fitted import Infeasible, check_fitted
from fairbench_cli.interventions.registry import INTERVENTIONS

GROUP = "sensitive_features"
"""What the protected attribute is called where nobody names it."""
UNREAD = Column("row", ("",))
"""In the place of a column that a fitted model alone reads."""
MARKS = ({"0", "1"}, {"0.0", "1.0"}, {"False", "True"})


class GroupsMissingError(ArgumentError):
    """A technique decides by the group of the rows, and it is not given."""


class RowsWithoutGroups(Sample):
    """Rows whose groups are not known: who asks for them is told so."""

    def __getattribute__(self, name: str) -> Any:
        if name == "s":
            problem = "this technique decides by the group of each row, and no groups are given"
            raise GroupsMissingError(Problem(problem, "call predict(X, sensitive_features=s)"))
        return super().__getattribute__(name)


def _has_output(output: str) -> Callable[["TechniqueClassifier"], bool]:
    """Return whether a model has scores or chances; before it is fitted it may."""
    return lambda classifier: getattr(classifier, f"has_{output}_", True)


class TechniqueClassifier(ClassifierMixin, BaseEstimator):
    """A technique as a scikit-learn classifier, to be cloned, searched and validated as any.

    Parameters
    ----------
    technique : str, class, function or object
        One of ``fairbench list interventions``, by default none, or what a config may name:
        ``"./mine.py:Promoting"``, ``"fairlearn.preprocessing:CorrelationRemover"``; or the class, function or
        object itself.
    estimator : str, mapping or scikit-learn estimator
        What is trained: one of ``fairbench list classifiers``, with parameters ``{"tree": {"min_leaf": 5}}``,
        or any estimator, which is cloned. Techniques with a model of their own do without.
    sensitive_features : str or int, optional
        The protected attribute's column in X, by its name, or of an array by its place. Otherwise it is given
        to `fit`. The estimator does not see it, unless `include_protected` says so.
    deprived : value, list of values, or function; optional
        The deprived group; all others are favoured. Of groups 0 and 1 it is 0. A function takes the groups as
        an array and returns where they are deprived, such as ``lambda age: age < 25``.
    favourable : value, optional
        The favourable label; by default the greater of the two.
    include_protected : bool
        Whether the estimator sees the protected attribute.
    encoding : {"one-hot", "codes", "frame"}
        What `estimator` is given, if it is an object: see docs/extending.md. Others know it themselves.
    prefit : bool
        Whether `estimator` is a fitted model that is used as it is: nothing is trained, and all rows of `fit`
        are validation rows. Of ``group-thresholds``, ``equalised-odds`` and ``reject-option``. It is given
        the columns that it was fitted to, as they stand in X. A ``FrozenEstimator(model)`` of scikit-learn,
        which stays fitted in copies (those of ``cross_val_score``), needs no `prefit`.
    random_state : int, RandomState or None
        The same number gives the same model; that of a `TrainTestSplit` gives the run's.
    **parameters
        Of the technique.

    Attributes
    ----------
    classes_ : array, shape (2,)
        The labels, in rising order.
    fitted_ : Fitted
        The model with its status and facts.
    status_, reason_ : str
        "ok"; "noop", there was nothing to do; or "degraded", done without its full effect; and why.
    facts_ : dict
        Numbers that say what was done.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Raises
    ------
    UserError
        When there is no such technique or classifier, or it does not take such parameters; at `fit`.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": ["f", "m"] * 10})
    >>> y = ["no", "yes", "no", "yes", "yes"] * 4
    >>> fair = technique("reweighing", estimator="naive-bayes", sensitive_features="sex", deprived="f")
    >>> fair.fit(X, y).predict(X[:2]).tolist()
    ['yes', 'yes']
    """

    def __init__(
        self,
        technique: Any = "none",
        *,
        estimator: Any = "c45",
        sensitive_features: str | int | None = None,
        deprived: Any = None,
        favourable: Any = None,
        include_protected: bool = False,
        encoding: Choice = "one-hot",
        prefit: bool = False,
        random_state: Any = 0,
        **parameters: Any,
    ) -> None:
        self.technique = technique
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.deprived = deprived
        self.favourable = favourable
        self.include_protected = include_protected
        self.encoding = encoding
        self.prefit = prefit
        self.random_state = random_state
        self.parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, those of the technique that are given too."""
        parameters: dict[str, Any] = super().get_params(deep)
        return parameters | self.parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of the technique and, as ``estimator__C``, of the estimator.

        Raises
        ------
        ValueError
            When neither has such a parameter.
        """
        names = super().get_params(deep=False)
        own_parameters = {key: value for key, value in params.items() if key.partition("__")[0] not in names}
        settable = self._takes()
        for name in own_parameters:
            if settable is not None and name not in settable and name not in self.parameters:
                fix = suggest(name, list(names) + list(settable))
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}: {fix}")
        super().set_params(**{key: value for key, value in params.items() if key not in own_parameters})
        self.parameters = self.parameters | own_parameters
        return self

    def fit(self, X: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Fit the technique.

        Parameters
        ----------
        X : DataFrame or array, shape (rows, columns)
            Categories and text are levels, numbers are numbers.
        y : array, shape (rows,)
            Two labels.
        sensitive_features : array, shape (rows,), optional
            The group of each row, if it is no column of X; of ``X["sex"]`` it is that column.
        sample_weight : array, shape (rows,), optional
            Of rows.

        Raises
        ------
        Infeasible
            When the technique cannot run on these rows.
        UserError, ValueError
            When parameters, rows, labels and groups do not fit together.
        """
        refuse_other_rows({"X": X, "y": y, GROUP: sensitive_features, "sample_weight": sample_weight})
        frame = self._frame(X, reset=True, y=y)
        labels = self._labels(y, len(frame))
        technique, spec = self._technique()
        self.prefit_ = is_prefit(self.estimator, self.prefit)
        if self.prefit_:
            refuse_training(spec.name, technique, validation_given="validation" in self.parameters)
            refuse_unfitted(self.estimator)
        group_index = self.group_ = self._group_place(frame, sensitive_features, spec)
        frame = self._with_groups(frame, sensitive_features)
        _refuse_empty(frame.shape[1], "feature", frame.shape)
        self.columns_ = self._learned_columns(frame)
        self.deprived_ = ()
        if group_index is not None:
            self.deprived_ = self._deprived_levels(self.columns_[group_index], frame.iloc[:, group_index])
        train = replace(
            self._sample(frame),
            outputs=self._outputs(X),
            y=labels,
            weights=self._weights(sample_weight, len(frame)),
            favourable_first=bool(self.outcomes_[0] == self.favourable_),
            outcomes=tuple(map(str, self.outcomes_)),
        )
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        rng = np.random.default_rng(component_seed(int(seed), spec))
        model: Classifier | FittedClassifier = FittedClassifier()
        if not self.prefit_:
            try:
                classifier, classifier_spec = self._classifier()
            except ArgumentError as error:
                raise ArgumentError(*error.problems, surface="python") from None
            classifier_seed = component_seed(int(seed), classifier_spec) % 2**32
            model = Classifier(classifier, self.include_protected, classifier_seed)
        self.fitted_ = check_fitted(technique.fit(train, model, rng))
        self.status_, self.reason_ = self.fitted_.status, self.fitted_.reason
        self.facts_ = dict(self.fitted_.facts)
        example_rows = train.take(np.arange(min(2, len(train))))
        self.has_scores_ = self._scores(example_rows) is not None
        self.has_chances_ = self.fitted_.decision_probability(example_rows) is not None
        return self

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """Return each row's label, shape (rows,).

        `sensitive_features` are needed by techniques that decide by the group, if it is no column of X.

        Raises
        ------
        UserError, ValueError
            When groups are missing, or a column is, or has values that do not fit those of training.
        """
        rows = self._rows(X, sensitive_features)
        favourable = int(self.classes_[-1] == self.favourable_)
        codes = self._call(self.fitted_.predict, rows) == favourable
        return np.asarray(self.classes_[codes.astype(int) if len(self.classes_) > 1 else 0 * codes])

    @available_if(_has_output("scores"))
    def predict_proba(self, X: Any, sensitive_features: Any = None) -> Floats:
        """Return the score of each label, shape (rows, 2), by the columns of `classes_`; raises as `predict`.

        Techniques that decide by other thresholds than 0.5 decide otherwise than their scores.
        """
        return self._both_probabilities(self._call(self._scores, self._rows(X, sensitive_features)))

    @available_if(_has_output("chances"))
    def decision_probability(self, X: Any, sensitive_features: Any = None) -> Floats:
        """Return the chance that each row gets each label, shape (rows, 2); raises as `predict`.

        Of techniques that draw their decisions, which `predict` does with one seed; a run counts the chances.
        """
        return self._both_probabilities(
            self._call(self.fitted_.decision_probability, self._rows(X, sensitive_features))
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None) -> float:
        """Return the accuracy of `predict`."""
        refuse_other_rows({"X": X, "y": y, "sample_weight": sample_weight})
        is_right = np.asarray(y) == self.predict(X, sensitive_features)
        return float(np.average(is_right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _both_probabilities(self, favourable: Floats) -> Floats:
        if len(self.classes_) == 1:
            return np.ones((len(favourable), 1))
        probabilities = np.column_stack([1 - favourable, favourable])
        if self.classes_[-1] == self.favourable_:
            return probabilities
        return probabilities[:, ::-1]

    def _scores(self, rows: Sample) -> Floats | None:
        """Return the probability of the favourable label by the model, if it has any."""
        try:
            return self.fitted_.probabilities(rows)
        except Infeasible:  # of an estimator without probabilities
            return None

    def _call(self, method: Callable[[Sample], Any], rows: Sample) -> Any:
        try:
            return method(rows)
        except ValueError as error:
            if "other levels than in training" not in str(error):
                raise
            problem = f"this technique takes numbers as levels, and {error}"
            raise user_error(
                problem, "cut it into bins, as in pd.cut(X[column], edges), or round it"
            ) from None
        except KeyError:  # of the column of the groups
            if not isinstance(rows, RowsWithoutGroups):
                raise
            return rows.s  # which says that they are missing

    def _frame(self, X: Any, *, reset: bool, y: Any = None) -> pd.DataFrame:
        """Return rows as a data frame, checked as scikit-learn does it."""
        label_argument = {"y": y} if reset else {}
        has_names = hasattr(X, "columns") or hasattr(X, "column_names")
        if has_names:
            frame = to_pandas(X)
            validate_data(self, frame, reset=reset, skip_check_array=True, **label_argument)
        elif getattr(getattr(X, "dtype", None), "kind", "") == "O" and any(
            isinstance(value, str) for value in np.ravel(X)[:1000]
        ):
            frame = pd.DataFrame(X).infer_objects()
            validate_data(self, np.asarray(X), reset=reset, skip_check_array=True, **label_argument)
        elif reset:
            frame = pd.DataFrame(validate_data(self, X, y, reset=True)[0])
        else:
            frame = pd.DataFrame(validate_data(self, X, reset=False))
        if not has_names:
            frame.columns = [f"x{j}" for j in range(frame.shape[1])]
        _refuse_empty(len(frame), "sample", frame.shape)
        if is_prefit(self.estimator, self.prefit):
            return frame  # a fitted model knows what to do with missing cells
        for name in frame.columns:
            if is_number_column(frame[name]):
                assert_all_finite(
                    frame[name].to_numpy(dtype=np.float64, na_value=np.nan),
                    estimator_name=type(self).__name__,
                    input_name=f"X[{name!r}]",
                )
        return frame

    def _labels(self, y: Any, rows: int) -> NDArray[np.int8]:
        """Return labels as 1, favourable, and 0; they become `classes_`."""
        outcomes = None
        if hasattr(y, "cat"):
            outcomes = tuple(y.cat.categories)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        check_consistent_length(np.empty(rows), labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(self.classes_)} labels."
            )
        self.outcomes_ = self.classes_ if outcomes is None else np.asarray(outcomes)
        self.favourable_ = self.classes_[-1] if self.favourable is None else self.favourable
        if self.favourable_ not in self.outcomes_:
            classes = ", ".join(map(str, self.classes_))
            raise user_error(f"favourable is {self.favourable!r}, and no label is", f"use one of: {classes}")
        return np.asarray(labels == self.favourable_, dtype=np.int8)

    def _weights(self, weights_given: Any, rows: int) -> Floats | None:
        if weights_given is None:
            return None
        weights = np.asarray(weights_given, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(rows, weights)
        if weights.ndim != 1:
            raise ValueError("Sample weights must be 1D array or scalar")
        check_consistent_length(np.empty(rows), weights)
        assert_all_finite(weights, input_name="sample_weight")
        if (weights < 0).any() or not weights.any():
            raise ValueError("sample_weight has negative weights, or all weights are zero")
        return weights

    def _group_place(self, frame: pd.DataFrame, groups_given: Any, spec: ComponentSpec) -> int | None:
        """Return which column the protected attribute is; of groups that are given next to X, one more."""
        group_column = self.sensitive_features
        if is_array(group_column):
            problem = "sensitive_features of technique() names a column of X, and is an array"
            raise ArgumentError(Problem(problem, "give it to fit: fit(X, y, sensitive_features=s)"))
        if isinstance(group_column, list | tuple):
            name = " × ".join(map(str, group_column))
            joined = f"X[{list(group_column)!r}].astype(str).agg(' × '.join, axis=1)"
            fix = f"join them: X[{name!r}] = {joined}, and sensitive_features={name!r}"
            raise ArgumentError(Problem(f"sensitive_features names {len(group_column)} columns", fix))
        if group_column is not None and groups_given is not None:
            problem = f"the groups are the column {group_column!r} of X, and are given to fit too"
            raise ArgumentError(Problem(problem, "leave one of the two out"))
        if group_column is None and groups_given is None:
            if not spec.uses("groups", INTERVENTIONS):
                return None
            problem = f"{spec.name} needs the group of each row"
            fix = 'give fit(X, y, sensitive_features=s), or technique(…, sensitive_features="COLUMN") of X'
            raise ArgumentError(Problem(problem, fix))
        if group_column is None:
            group_column = getattr(groups_given, "name", None)
            if group_column not in frame.columns or hasattr(group_column, "__index__"):
                return frame.shape[1]
        names = [str(name) for name in frame.columns]
        if not isinstance(group_column, int) and str(group_column) not in names:
            raise ArgumentError(
                Problem(f'X has no column "{group_column}"', suggest(str(group_column), names))
            )
        if isinstance(group_column, int):
            index = group_column
        else:
            index = names.index(str(group_column))
        if not 0 <= index < frame.shape[1]:
            problem = f"sensitive_features is column {group_column}, and X has {frame.shape[1]}"
            raise ArgumentError(Problem(problem, "count from 0"))
        return index

    def _with_groups(self, frame: pd.DataFrame, groups_given: Any) -> pd.DataFrame:
        """Return rows with groups that are given next to them as the last column."""
        if groups_given is None or self.group_ is None:
            return frame
        groups = _series(groups_given)
        if self.group_ == frame.shape[1]:
            if len(groups) != len(frame):
                problem = f"sensitive_features are {len(groups)}, and X has {len(frame)} rows"
                raise ArgumentError(Problem(problem, "give the group of each row"))
            if isinstance(groups.name, str):
                name = groups.name
            else:
                name = GROUP
            joined = pd.concat([frame.reset_index(drop=True), groups.rename(name)], axis=1)
            joined.attrs[VALUES] = {**groups.attrs.get(VALUES, {}), **frame.attrs.get(VALUES, {})}
            return joined
        cells = frame.iloc[:, self.group_]
        if texts_of(cells).tolist() != texts_of(groups).tolist():
            problem = f'sensitive_features are the column "{cells.name}" of X, and are given as other values'
            raise ArgumentError(Problem(problem, "leave them out, or give them another name"))
        return frame

    def _deprived_levels(self, column: Column, groups: "pd.Series[Any]") -> Any:
        """Return the deprived levels as texts, or the function that tells them."""
        if callable(self.deprived):
            return self.deprived
        levels = set(column.levels)
        if self.deprived is None:
            if not any(levels <= marks for marks in MARKS):
                problem = f'which group of "{column.name}" is deprived is not said'
                raise ArgumentError(Problem(problem, f"name it or them: deprived={min(levels)!r}"))
            return ("0", "0.0", "False")
        names_one_level = isinstance(self.deprived, str) or not np.iterable(self.deprived)
        if names_one_level:
            values = [self.deprived]
        else:
            values = list(self.deprived)
        if not values:
            raise ArgumentError(Problem("deprived names no group", f"name it or them: {min(levels)!r}"))
        for value in values:
            if str(value) not in levels and not is_one_of(groups, [value]).any():
                fix = suggest(str(value), levels)
                raise user_error(f'"{column.name}" has no group {format_value(value)}', fix, "deprived")
        return tuple(map(str, values))

    def _rows(self, X: Any, sensitive_features: Any) -> Sample:
        check_is_fitted(self, "fitted_")
        refuse_other_rows({"X": X, GROUP: sensitive_features})
        rows = self._sample(self._with_groups(self._frame(X, reset=False), sensitive_features))
        if self.prefit_:
            return replace(rows, outputs=self._outputs(X))
        return rows

    def _learned_columns(self, frame: pd.DataFrame) -> tuple[Column, ...]:
        """Return the columns of training rows; for a fitted model that of the groups alone is looked at."""
        if not self.prefit_:
            return learned(frame)
        columns = [UNREAD] * frame.shape[1]
        if self.group_ is not None:
            (columns[self.group_],) = learned(frame.iloc[:, [self.group_]])
        return tuple(columns)

    def _outputs(self, X: Any) -> ModelOutputs | None:
        """Return the outputs of a fitted model; None where the technique fits one."""
        if not self.prefit_:
            return None
        group_column = self.sensitive_features
        if self.include_protected:
            group_column = None
        rows = select_columns(self.estimator, X, group_column)
        return compute_outputs(self.estimator, rows, self.favourable_, self.classes_)

    def _sample(self, frame: pd.DataFrame) -> Sample:
        """Return rows as a sample; labels that are not known are 0."""
        columns = self.columns_[: frame.shape[1]]
        if self.prefit_:
            table = Table((UNREAD,), np.zeros((len(frame), 1), dtype=np.int16))
        else:
            table = make_table([fitted(column, frame.iloc[:, j]) for j, column in enumerate(columns)])
        none = np.zeros(len(frame), np.int8)
        index = self.group_
        if index is None:
            return Sample(table, "", none, none + np.int8(1))
        name = self.columns_[index].name
        tell = self.deprived_
        if index == frame.shape[1]:
            return RowsWithoutGroups(table, name, none, none)
        groups = frame.iloc[:, index]
        if callable(tell):
            deprived = np.asarray(tell(groups.to_numpy()), dtype=bool)
        else:
            if groups.isna().any():
                problem = f'"{name}" is missing in some rows, which are of no group'
                raise user_error(problem, 'leave them out, or name them, as in X["sex"].fillna("unknown")')
            deprived = is_one_of(groups, tell)
        return Sample(table, name, none, (~deprived).astype(np.int8))

    def _technique(self) -> tuple[Any, ComponentSpec]:
        """Return the technique, and its name and parameters, of which seeds are made."""
        technique, spec = _component(INTERVENTIONS, self.technique, self.parameters)
        if getattr(technique, "uses_test_labels", False):
            problem = f"{spec.name} looks at the labels of the rows that it is to predict"
            raise ArgumentError(Problem(problem, "it is a bound for runs, not a model"))
        return technique, spec

    def _takes(self) -> Mapping[str, Any] | None:
        """Return the parameters of the technique by name; None where that is not known."""
        if isinstance(self.technique, str):
            if self.technique in INTERVENTIONS:
                return inspect_parameters(INTERVENTIONS[self.technique].load()).types
            return None
        component = self.technique if callable(self.technique) else type(self.technique)
        parameters = inspect_parameters(component)
        if parameters.open:
            return None
        return {**parameters.types, **INTERVENTIONS.foreign.options_of(self.technique)}

    def _classifier(self) -> tuple[Any, ComponentSpec]:
        """Return the classifier, and its name and parameters, of which seeds are made."""
        estimator = self.estimator
        encoding = {} if self.encoding == "one-hot" else {"encoding": self.encoding}
        if isinstance(estimator, str | Mapping):
            if encoding:
                problem = f"encoding is {self.encoding!r}, and the estimator has one of its own"
                raise ArgumentError(
                    Problem(problem, 'leave it out, or write estimator={NAME: {"encoding": …}}')
                )
            if isinstance(estimator, Mapping):
                estimator = dict(estimator)
            name, parameters = split_name(estimator)
            return _component(CLASSIFIERS, name, parameters)
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            return _component(CLASSIFIERS, estimator, encoding)
        try:
            name, parameters = component_of(estimator, CLASSIFIERS, for_workers=False)
        except UserError:  # such as a pipeline
            name = type(estimator).__name__
            parameters = {}
        spec = ComponentSpec(short_name(name), tuple(sorted((parameters | encoding).items())))
        return ForeignEstimator(partial(clone, estimator, safe=False), {}, self.encoding), spec


technique = TechniqueClassifier


def _refuse_empty(number: int, noun: str, shape: tuple[int, int]) -> None:
    """Raise the `ValueError` of scikit-learn for data without rows or columns, which frames do not raise."""
    if not number:
        least = f"while a minimum of 1 is required by {TechniqueClassifier.__name__}."
        raise ValueError(f"Found array with 0 {noun}(s) (shape={shape}) {least}")


def _component(kind: Registry, thing: Any, parameters: Mapping[str, Any]) -> tuple[Any, ComponentSpec]:
    """Return a technique or a classifier, and its name and parameters as a config has them.

    Raises
    ------
    UserError
        When there is none of that name, or it does not take such parameters.
    """
    if isinstance(thing, str):
        given_parameters = in_lists({key: plain_value(value) for key, value in parameters.items()})
        try:
            spec, extra = read_entries(kind, [{thing: given_parameters}], {}, ReadContext(Path()))[0]
        except ValidationError as error:
            problems = []
            for _, problem in to_findings(error):
                numbers = str(problem.fix).removeprefix(WRITE_LIST)
                if numbers != problem.fix:
                    problem = replace(problem, fix=f"give one number; GridSearchCV tries each of {numbers}")
                problems.append(problem)
            raise UserError(*problems, surface="python") from None
        if extra:
            raise ArgumentError(Problem("tune is a key of configs", "search with GridSearchCV"))
        return spec.build(kind), spec
    if isinstance(thing, type) or not hasattr(thing, "fit"):
        component = thing
    else:
        component = type(thing)
    given_parameters = dict(parameters)
    name, _ = component_of(component, kind, for_workers=False)
    fault = None if name in kind else kind.foreign.fault(component)
    if fault is not None:
        raise ArgumentError(Problem(f"{short_name(name)} {fault[0]}", fault[1]))
    if component is not thing:
        given_parameters = parameters_given(thing) | given_parameters
    if name in kind:
        return _component(kind, name, given_parameters)
    takes = inspect_parameters(component)
    all_parameters = dict(takes.defaults) | given_parameters
    for key in set(takes.required) - set(all_parameters) - kind.foreign.filled(component):
        example = f"{component.__name__}({key}=…)"
        raise ArgumentError(Problem(f'{short_name(name)} needs the parameter "{key}"', f"give {example}"))
    plain_parameters = {key: value for key, value in all_parameters.items() if is_plain(value)}
    spec = ComponentSpec(short_name(name), tuple(sorted(plain_parameters.items())))
    if component is not thing and not parameters:
        return thing if is_technique(thing) else kind.foreign.make(NamedObject(thing), {}), spec
    return kind.foreign.make(component, given_parameters), spec


def _series(groups_given: Any) -> "pd.Series[Any]":
    """Return groups as a series without the index of their rows."""
    groups = one_column(GROUP, groups_given, join_columns(GROUP))
    return groups.reset_index(drop=True) if hasattr(groups, "iloc") else pd.Series(list(groups))
