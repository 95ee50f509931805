"""Thin builders for the classifiers: the parameters that a config may set; and naive Bayes over levels."""

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.base.idle_packages import idle_packages
from fairbench_cli.classifiers.encode import NUMBER, Encoding, short_csr
from fairbench_cli.data.table import Floats


class LevelsNaiveBayes:
    """Naive Bayes whose features are all levels, with Laplace's correction.

    Parameters
    ----------
    level_counts : tuple of int
        Declared levels of each column.
    laplace : float, above 0
        Added to the count of each level.

    Attributes
    ----------
    classes_ : array, shape (classes,)
        In rising order.

    Examples
    --------
    >>> X, y = np.array([[0, 1], [1, 1], [1, 0]]), np.array([0, 1, 1])
    >>> LevelsNaiveBayes((2, 2), 1.0).fit(X, y).predict_proba(X).round(3).tolist()
    [[0.64, 0.36], [0.229, 0.771], [0.129, 0.871]]
    """

    def __init__(self, level_counts: tuple[int, ...], laplace: float) -> None:
        self.level_counts = level_counts
        self.laplace = laplace

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        """Count the levels of each class, by weight, in rows of codes, shape (rows, columns)."""
        self.classes_, class_codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        sizes = np.bincount(class_codes, sample_weight, k)
        with np.errstate(divide="ignore"):  # a class whose rows all weigh 0 is never predicted
            self._log_prior = np.log(sizes) - np.log(sizes.sum())
        self._log_likelihood = []
        for codes, levels in zip(X.astype(np.intp).T, self.level_counts, strict=True):
            counts = np.bincount(class_codes * levels + codes, sample_weight, k * levels)
            smoothed = counts.reshape(k, levels) + self.laplace
            self._log_likelihood.append(np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)))
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the likelier class of each row."""
        return np.asarray(self.classes_[self.predict_joint_log_proba(X).argmax(axis=1)])

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return the probability of each class, shape (rows, classes)."""
        joint = self.predict_joint_log_proba(X).T
        top = joint.max(axis=0)
        at_top = joint == top
        ties = at_top.sum(axis=0)
        other_classes = np.where(at_top, 0.0, np.exp(joint - top)).sum(axis=0) / ties
        # The log of the sum, as scikit-learn and SciPy take it: exact where one class is all but certain.
        return np.asarray(np.exp(joint - (np.log1p(other_classes) + np.log(ties) + top)).T)

    def predict_joint_log_proba(self, X: NDArray[Any]) -> Floats:
        """Return log P(x, y) of each class, shape (rows, classes)."""
        joint = np.zeros((len(self.classes_), len(X)))
        for codes, table in zip(X.astype(np.intp).T, self._log_likelihood, strict=True):
            joint += table[:, codes]
        return np.asarray((joint + self._log_prior[:, np.newaxis]).T)


MOST_CATEGORIES = 255  # of a column, in scikit-learn's histograms


@dataclass(frozen=True)
class C45Settings:
    """C4.5 as Weka's J48: multiway splits by gain ratio, pruned by estimated errors.

    Parameters
    ----------
    confidence : float in (0, 0.5]
        Smaller prunes more.
    min_leaf : float above 0
        At least two branches of every split weigh this much.
    prune, raise_subtrees, collapse : bool
        Whether to prune, to let pruning raise subtrees, and to take back splits that save no training error.
    laplace : bool
        Whether leaf probabilities count one more row of each class.
    """

    encoding: ClassVar[Encoding] = "levels"

    confidence: Annotated[float, Field(gt=0, le=0.5)] = 0.25
    min_leaf: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0
    prune: bool = True
    raise_subtrees: bool = True
    collapse: bool = True
    laplace: bool = False

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - nothing in it is random
        """Return an unfitted estimator."""
        from fairbench_cli.classifiers.c45.coded import CodedC45
        from fairbench_cli.classifiers.c45.tree import rules_of

        return CodedC45(rules_of(self), level_counts)


@dataclass(frozen=True)
class Tree:
    """Decision tree (CART) on level codes; numbers are numbers.

    Parameters
    ----------
    criterion : {"entropy", "gini"}
        The impurity that splits lower.
    min_leaf : int, at least 1
        Fewest rows (not weights) in a leaf.
    max_depth : int, at least 1, or None
        Deepest level; None means no limit.
    pruning : float, at least 0
        Complexity α of cost-complexity pruning; 0 prunes nothing.
    """

    encoding: ClassVar[Encoding] = "codes"

    criterion: Literal["entropy", "gini"] = "entropy"
    min_leaf: Annotated[int, Field(ge=1)] = 20
    max_depth: Annotated[int, Field(ge=1)] | None = None
    pruning: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; the seed orders equally good splits."""
        if "sklearn.tree" not in sys.modules:
            with idle_packages("asyncio", "numpy.f2py", "numpy.testing", "scipy.stats", "sklearn.neighbors"):
                import_module("sklearn.tree")
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(
            criterion=self.criterion,
            min_samples_leaf=self.min_leaf,
            max_depth=self.max_depth,
            ccp_alpha=self.pruning,
            random_state=seed,
        )


@dataclass(frozen=True)
class RandomForest:
    """Random forest of entropy trees on level codes.

    Parameters
    ----------
    trees : int, at least 1
        Number of trees.
    min_leaf : int, at least 1
        Fewest rows (not weights) in a leaf.
    """

    encoding: ClassVar[Encoding] = "codes"

    trees: Annotated[int, Field(ge=1)] = 100
    min_leaf: Annotated[int, Field(ge=1)] = 5

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; the seed draws rows and attributes."""
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            n_estimators=self.trees,
            criterion="entropy",
            min_samples_leaf=self.min_leaf,
            random_state=seed,
            n_jobs=1,
        )


@dataclass(frozen=True)
class HistGradientBoosting:
    """Gradient boosting of trees on histograms; levels are categories, numbers are numbers.

    Every tree sees all rows: nothing is drawn, and no rows are kept aside to stop early. A column of more
    than 255 levels counts as a number, in the order of its levels.

    Parameters
    ----------
    iterations : int, at least 1
        Number of trees.
    learning_rate : float above 0
        What each tree's contribution is multiplied by.
    max_leaves : int, at least 2
        Most leaves of a tree.
    min_leaf : int, at least 1
        Fewest rows (not weights) in a leaf.
    """

    encoding: ClassVar[Encoding] = "codes"

    iterations: Annotated[int, Field(ge=1)] = 100
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1
    max_leaves: Annotated[int, Field(ge=2)] = 31
    min_leaf: Annotated[int, Field(ge=1)] = 20

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:
        """Return an unfitted estimator; the seed draws the rows from which bins of numbers are made."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=self.iterations,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaves,
            min_samples_leaf=self.min_leaf,
            categorical_features=[count != NUMBER and count <= MOST_CATEGORIES for count in level_counts],
            early_stopping=False,
            random_state=seed,
        )


@dataclass(frozen=True)
class Svm:
    """Support vector machine with a Gaussian kernel, one 0/1 column per level.

    Its time grows with the square of the rows: minutes on tens of thousands. The score is the logistic
    function of the distance from the border, which ranks rows as the distance does and is no probability.

    Parameters
    ----------
    C : float above 0
        Cost of a row on the wrong side.
    gamma : float above 0, "scale" or "auto"
        Of the kernel exp(−gamma ‖x − z‖²); ``scale`` is 1 / (columns · variance of all entries), ``auto``
        1 / columns.
    scale : bool
        Whether numbers are standardised.
    """

    C: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] | Literal["scale", "auto"] = "scale"
    scale: bool = True

    @property
    def encoding(self) -> Encoding:
        """One 0/1 column per level, and numbers standardised or not."""
        if self.scale:
            return "one-hot"
        return "unscaled"

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; nothing in it is random."""
        return SupportVectors(self.C, self.gamma)


@dataclass(frozen=True)
class LogisticRegression:
    """Logistic regression with a ridge penalty, one 0/1 column per level.

    Parameters
    ----------
    C : float, above 0
        Inverse strength of the penalty ‖w‖²/2.
    solver : {"newton", "liblinear"}
        ``liblinear`` penalises the intercept too, and stops after 100 steps at most, which may be short of
        the optimum.
    scale : bool
        Whether numbers are standardised.
    """

    C: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    solver: Literal["newton", "liblinear"] = "newton"
    scale: bool = True

    @property
    def encoding(self) -> Encoding:
        """One 0/1 column per level, and numbers standardised or not."""
        if self.scale:
            return "one-hot"
        return "unscaled"

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; nothing in it is random."""
        from sklearn import linear_model

        if self.solver == "liblinear":
            return linear_model.LogisticRegression(C=self.C, solver="liblinear", max_iter=100)
        # Newton steps reach the optimum in a few iterations. On rare levels lbfgs stops well short of it.
        return linear_model.LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-6, max_iter=1000)


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes with Laplace's correction; numbers are normal within each class.

    Parameters
    ----------
    laplace : float, above 0
        Added to the count of each level.
    """

    encoding: ClassVar[Encoding] = "codes"

    laplace: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; nothing in it is random."""
        if NUMBER in level_counts:
            return MixedNaiveBayes(level_counts, self.laplace)
        return LevelsNaiveBayes(level_counts, self.laplace)


class MixedNaiveBayes:
    """Categorical naive Bayes on levels, Gaussian on numbers, multiplied.

    Parameters
    ----------
    level_counts : tuple of int
        Levels of each column of X, `NUMBER` for a number.
    laplace : float, above 0
        Added to the count of each level.
    """

    def __init__(self, level_counts: tuple[int, ...], laplace: float) -> None:
        from sklearn.naive_bayes import GaussianNB

        self.number = np.array(level_counts) == NUMBER
        levels = tuple(count for count in level_counts if count != NUMBER)
        self.on_levels = LevelsNaiveBayes(levels, laplace) if levels else None
        self.on_numbers = GaussianNB()

    def fit(self, X: Floats, y: NDArray[Any], sample_weight: Floats | None = None) -> "MixedNaiveBayes":
        """Fit to rows of codes and numbers, shape (rows, columns)."""
        self.on_numbers.fit(X[:, self.number], y, sample_weight)
        if self.on_levels is not None:
            self.on_levels.fit(X[:, ~self.number], y, sample_weight)
        self.classes_ = self.on_numbers.classes_
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return the likelier class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probability of each class, shape (rows, classes)."""
        joint = self.on_numbers.predict_joint_log_proba(X[:, self.number])
        if self.on_levels is not None:
            joint = joint + self.on_levels.predict_joint_log_proba(X[:, ~self.number])
            joint = joint - np.log(self.on_numbers.class_prior_)  # both counted it
        likely = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))


class SupportVectors:
    """A support vector machine whose score is the logistic function of its decision function.

    scikit-learn's own probabilities are drawn by cross-validation, cost five fits, and may disagree with its
    decisions.

    Parameters
    ----------
    C : float, above 0
        Cost of a row on the wrong side.
    gamma : float, "scale" or "auto"
        Of the Gaussian kernel.
    """

    def __init__(self, C: float, gamma: float | Literal["scale", "auto"]) -> None:
        from sklearn.svm import SVC

        self.machine = SVC(C=C, gamma=gamma)

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> "SupportVectors":
        """Fit to rows of numbers, shape (rows, columns); those of weight 0 are left out."""
        rows = slice(None) if sample_weight is None else np.flatnonzero(sample_weight > 0)
        weights = None
        if sample_weight is not None:
            weights = sample_weight[rows]
        self.machine.fit(with_short_indices(X)[rows], y[rows], weights)
        self.classes_ = self.machine.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.classes_[(self._distance(X) > 0).astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Return 1 less the score, and the score, shape (rows, 2)."""
        score = scipy.special.expit(self._distance(X))
        return np.stack([1 - score, score], axis=1)

    def _distance(self, X: Any) -> Floats:
        return np.asarray(self.machine.decision_function(with_short_indices(X)))


def with_short_indices(X: Any) -> Any:
    """Return a sparse array with indices of 32 bits, which is all that libsvm takes; another as it is."""
    if isinstance(X, scipy.sparse.csr_array):
        return short_csr(X)
    return X
