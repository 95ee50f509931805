"""Thin builders for the classifiers: the parameters that a config may set, and nothing else."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.classifiers.encode import NUMBER, Encoding
from fairbench_cli.data.table import Floats


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
        from fairbench_cli.classifiers import c45

        return c45.C45(**asdict(self), levels=level_counts)


@dataclass(frozen=True)
class Tree:
    """Decision tree (CART) grown by entropy on level codes.

    Parameters
    ----------
    min_leaf : int, at least 1
        Fewest rows (not weights) in a leaf.
    max_depth : int, at least 1, or None
        Deepest level; None means no limit.
    pruning : float, at least 0
        Complexity α of cost-complexity pruning; 0 prunes nothing.
    """

    encoding: ClassVar[Encoding] = "codes"

    min_leaf: Annotated[int, Field(ge=1)] = 20
    max_depth: Annotated[int, Field(ge=1)] | None = None
    pruning: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; the seed orders equally good splits."""
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(
            criterion="entropy",
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
class LogisticRegression:
    """Logistic regression with a ridge penalty, one 0/1 column per level, numbers standardised.

    Parameters
    ----------
    C : float, above 0
        Inverse strength of the penalty ‖w‖²/2.
    """

    encoding: ClassVar[Encoding] = "one-hot"

    C: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    def build(self, level_counts: tuple[int, ...], seed: int) -> Any:  # noqa: ARG002 - the shape of all builders
        """Return an unfitted estimator; nothing in it is random."""
        from sklearn import linear_model

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
        from sklearn.naive_bayes import CategoricalNB

        if NUMBER in level_counts:
            return MixedNaiveBayes(level_counts, self.laplace)
        return CategoricalNB(alpha=self.laplace, min_categories=list(level_counts))


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
        from sklearn.naive_bayes import CategoricalNB, GaussianNB

        self.number = np.array(level_counts) == NUMBER
        levels = [count for count in level_counts if count != NUMBER]
        self.on_levels = CategoricalNB(alpha=laplace, min_categories=levels) if levels else None
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
