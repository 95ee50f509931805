"""C4.5 on rows of level codes and numbers, as a run has them: it loads neither scikit-learn nor pandas."""

from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.c45 import tree
from fairbench_cli.classifiers.c45.tree import FlatTree, Floats, Ints, Rules, TreeRows
from fairbench_cli.data.table import SharedArray

Rows = NDArray[np.int16] | Floats


def tree_of(rows: TreeRows, y: Ints, weight: Floats, classes: int, rules: Rules) -> FlatTree:
    """Return the tree of some rows; those of weight 0 are left out.

    Parameters
    ----------
    y : int array, shape (rows,)
        Classes, 0 to `classes` - 1.
    weight : float64 array, shape (rows,)
        Finite, and not negative.

    Raises
    ------
    ValueError
        When no row has a positive weight.
    """
    if not (weight > 0).all():
        positive = np.flatnonzero(weight > 0)
        rows = rows.take(positive)
        y = y[positive]
        weight = weight[positive]
    if not len(rows):
        raise ValueError("no row has a positive weight")
    if rows.all_nominal_and_known:
        from fairbench_cli.classifiers.c45 import fast

        return fast.build(rows, y, weight, classes, rules)
    from fairbench_cli.classifiers.c45 import reference

    return reference.build(rows, y, weight, classes, rules)


def rows_of(X: Rows, levels: tuple[int, ...]) -> TreeRows:
    """Return the rows of an array; of one that cannot be written, what was found the last time.

    The techniques of a repeat share their training and test rows, and the groups of equal rows in them.

    Raises
    ------
    ValueError
        A code that is not declared.
    """
    if X.flags.writeable:
        return tree.from_codes(X, levels)[0]
    return _rows_of_shared(SharedArray(X), levels)


@lru_cache(maxsize=4)
def _rows_of_shared(shared: SharedArray, levels: tuple[int, ...]) -> TreeRows:
    return tree.from_codes(shared.array, levels)[0]


class CodedC45:
    """The tree of `C45` for the outcomes 0 and 1.

    Parameters
    ----------
    rules : Rules
        What decides the tree.
    levels : tuple of int
        Declared levels of each column, `NUMBER` for a number.

    Attributes
    ----------
    classes_ : array, shape (2,)
        The outcomes in declared order: ties go to the first.
    tree_ : FlatTree
        The tree as arrays.
    """

    def __init__(self, rules: Rules, levels: tuple[int, ...]) -> None:
        self.rules = rules
        self.levels = levels
        self.classes_ = np.array([0, 1])

    def fit(self, X: Rows, y: NDArray[np.int8], sample_weight: Floats | None = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array, shape (rows, columns)
            Level codes and numbers.
        y : int8 array, shape (rows,)
            Outcomes.
        sample_weight : float64 array, shape (rows,), or None
            Weights; rows of weight 0 are left out.

        Raises
        ------
        ValueError
            A code that is not declared, a weight that is negative or no number, or none that is positive.
        """
        if sample_weight is None:
            weight = np.ones(len(y))
        else:
            weight = np.asarray(sample_weight, dtype=np.float64)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError("a weight is negative or not a number")
        rows = rows_of(X, self.levels)
        class_codes = (y != self.classes_[0]).astype(np.int64)
        self.tree_ = tree_of(rows, class_codes, weight, 2, self.rules)
        return self

    def predict_proba(self, X: Rows) -> Floats:
        """Return class probabilities, shape (rows, 2), in the order of `classes_`; raises as `fit`."""
        rows = rows_of(X, self.levels)
        if rows.all_nominal_and_known:
            return np.asarray(tree.leaf_probabilities(self.tree_, self.rules.laplace)[self._ends(rows)])
        return tree.predict_probabilities(self.tree_, rows, self.rules.laplace)

    def predict(self, X: Rows) -> NDArray[np.int64]:
        """Return the outcome of each row; ties go to the first declared one; raises as `fit`."""
        return np.asarray(self.classes_[tree.first_best(self.predict_proba(X))])

    def apply(self, X: Rows) -> Ints:
        """Return the node of `tree_` in which each row ends, shape (rows,); raises as `fit`."""
        rows = rows_of(X, self.levels)
        if rows.all_nominal_and_known:
            return self._ends(rows)
        return tree.leaf_of(self.tree_, rows)

    def _ends(self, rows: TreeRows) -> Ints:
        from fairbench_cli.classifiers.c45 import fast

        return fast.ends(self.tree_.feature, self.tree_.first_child, rows.codes)
