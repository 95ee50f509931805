"""C4.5 as a scikit-learn classifier."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import validation
from sklearn.utils.multiclass import check_classification_targets

from fairbench_cli.classifiers.c45 import tree
from fairbench_cli.classifiers.c45.coded import tree_of
from fairbench_cli.classifiers.c45.tree import FlatTree, Floats, Ints, Levels, TreeRows


class C45(ClassifierMixin, BaseEstimator):
    """C4.5 decision tree, row for row the tree of Weka's J48.

    A nominal column splits into one branch per *declared* level; a numeric one into two. Splits are chosen by
    gain ratio among the columns of at least average gain; the tree is then pruned by estimated errors, with
    subtree raising.

    Parameters
    ----------
    confidence : float, default 0.25
        In (0, 0.5]. Smaller prunes more (J48's -C).
    min_leaf : float, default 2
        At least two branches of every split weigh this much (-M).
    prune : bool, default True
        False leaves the tree as grown (-U).
    raise_subtrees : bool, default True
        Whether pruning may replace a node by its largest branch (False: -S).
    collapse : bool, default True
        Whether splits that save no training error are taken back before pruning (False: -O).
    laplace : bool, default False
        Whether leaf probabilities count one more row of each class (-A).
    levels : sequence of int, or None
        For an array `X`: the number of declared levels of each column, whose values are then codes 0, 1, …; 0
        stands for a numeric column. None: all columns of an array are numeric. A data frame does not need it:
        its categorical columns are nominal, with their categories declared, and its other columns numbers.

    Attributes
    ----------
    classes_ : array, shape (classes,)
        Classes in declared order: the categories of a categorical `y`, else sorted. Ties go to the first.
    n_leaves_, size_ : int
        Leaves and nodes, empty leaves included, as Weka counts them.
    tree_ : FlatTree
        The tree as arrays.

    Notes
    -----
    A missing value (NaN) is sent down every branch by weight, in training and in prediction. Weights keep
    their absolute scale: pruning depends on it. Quinlan (1993), *C4.5: Programs for Machine Learning*; agrees
    with Weka 3.6.14 and 3.9.7.

    Examples
    --------
    >>> import pandas as pd
    >>> outlook = pd.Categorical(["sunny", "rain", "rain", "sunny", "sunny", "rain"])
    >>> tree = C45().fit(pd.DataFrame({"outlook": outlook}), ["no", "yes", "yes", "no", "no", "yes"])
    >>> print(tree.export_text())
    outlook = rain: yes (3.0)
    outlook = sunny: no (3.0)
    """

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        min_leaf: float = 2,
        prune: bool = True,
        raise_subtrees: bool = True,
        collapse: bool = True,
        laplace: bool = False,
        levels: Sequence[int] | None = None,
    ) -> None:
        self.confidence = confidence
        self.min_leaf = min_leaf
        self.prune = prune
        self.raise_subtrees = raise_subtrees
        self.collapse = collapse
        self.laplace = laplace
        self.levels = levels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : data frame or array, shape (rows, columns)
            See `levels`.
        y : array_like, shape (rows,)
            Classes; a categorical declares their order.
        sample_weight : array_like, shape (rows,), or None
            Not negative. Rows of weight 0 are left out.

        Raises
        ------
        ValueError
            A parameter out of range, a code that is not declared, a class or weight that is missing, a
            negative weight, or no row with a positive weight.
        """
        if not 0 < self.confidence <= 0.5:
            raise ValueError(f"confidence must be in (0, 0.5], not {self.confidence!r}.")
        if not self.min_leaf > 0:
            raise ValueError(f"min_leaf must be positive, not {self.min_leaf!r}.")
        columns, self._levels = self._read(X, None)
        codes = self._read_classes(y, len(columns))
        weight = validation._check_sample_weight(
            sample_weight, columns.codes, dtype=np.float64, ensure_non_negative=True
        )
        self.tree_: FlatTree = tree_of(columns, codes, weight, len(self.classes_), tree.rules_of(self))
        self.n_leaves_ = self.tree_.n_leaves
        self.size_ = self.tree_.size
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (rows, classes), columns in the order of `classes_`.

        Raises
        ------
        ValueError
            A level that was not declared when the tree was fitted.
        """
        validation.check_is_fitted(self)
        columns, _ = self._read(X, self._levels)
        return tree.predict_probabilities(self.tree_, columns, self.laplace)

    def predict(self, X: Any) -> Any:
        """Return the class of each row; ties go to the first declared class."""
        validation.check_is_fitted(self)
        return self.classes_[tree.first_best(self.predict_proba(X))]

    def apply(self, X: Any) -> Ints:
        """Return the node of `tree_` in which each row ends, shape (rows,).

        Raises
        ------
        ValueError
            A level that was not declared when the tree was fitted, or a missing value where the tree splits.
        """
        validation.check_is_fitted(self)
        columns, _ = self._read(X, self._levels)
        return tree.leaf_of(self.tree_, columns)

    def export_text(self) -> str:
        """Return the tree as Weka prints it: weight that reaches a leaf / weight of other classes there."""
        validation.check_is_fitted(self)
        return tree.export_text(self.tree_, self._levels, [str(label) for label in self.classes_])

    def __sklearn_tags__(self) -> Any:
        """Return tags that allow NaN, as a missing value."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, declared_levels: Levels | None) -> tuple[TreeRows, Levels]:
        if isinstance(X, pd.DataFrame):
            validation.validate_data(self, X, skip_check_array=True, reset=declared_levels is None)
            return from_frame(X, declared_levels)
        array = validation.validate_data(
            self, X, dtype="numeric", ensure_all_finite="allow-nan", reset=declared_levels is None
        )
        return tree.from_codes(array, declared_levels if declared_levels is not None else self.levels)

    def _read_classes(self, y: Any, rows: int) -> Ints:
        if isinstance(y, pd.Series) and isinstance(y.dtype, pd.CategoricalDtype):
            y = y.array
        if isinstance(y, pd.Categorical):
            codes = np.asarray(y.codes, dtype=np.int64)
            self.classes_ = np.asarray(y.categories)
            if (codes < 0).any():
                raise ValueError("y has a missing class.")
        else:
            if y is None:
                raise ValueError("C45 requires y to be passed, but the target y is None.")
            y = validation.column_or_1d(y, warn=True)
            validation.assert_all_finite(y, input_name="y")
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
        if len(codes) != rows:
            raise ValueError(f"X has {rows} rows and y has {len(codes)}.")
        return codes.astype(np.int64)


def from_frame(frame: pd.DataFrame, declared_levels: Levels | None) -> tuple[TreeRows, Levels]:
    """Return a data frame's rows: categorical columns are nominal, others must be numbers.

    Raises
    ------
    ValueError
        A text column that is not categorical, or a level or kind of column that is not declared.
    """
    names = tuple(str(name) for name in frame.columns)
    if not names or not len(frame):
        raise ValueError(
            f"Found array with shape={frame.shape} while a minimum of 1 row and 1 column is required."
        )
    codes = np.zeros(frame.shape, dtype=np.int32)
    numbers = np.zeros(frame.shape)
    level_lists: list[tuple[object, ...] | None] = []
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        declared = None
        if declared_levels is not None:
            declared = declared_levels.levels[j]
        nominal = isinstance(column.dtype, pd.CategoricalDtype)
        if declared_levels is not None and nominal != (declared is not None):
            was, now = ("numeric", "categorical") if nominal else ("categorical", "numeric")
            raise ValueError(f'Column "{name}" was {was} when the tree was fitted and is {now} now.')
        if nominal:
            if declared is None:
                levels = tuple(column.cat.categories)
            else:
                levels = declared
            codes[:, j] = _codes(name, column, levels)
            level_lists.append(levels)
        else:
            numbers[:, j] = _numbers(name, column)
            level_lists.append(None)
    levels_found = Levels(names, tuple(level_lists))
    return TreeRows(levels_found.counts, codes, numbers if None in level_lists else None), levels_found


def _codes(name: str, column: "pd.Series[str]", levels: tuple[object, ...]) -> NDArray[np.int32]:
    """Return codes into `levels`, whatever the order of the column's own categories; -1 is missing."""
    positions = pd.Index(levels).get_indexer(column.cat.categories)
    codes = np.append(positions, -1)[column.cat.codes]
    unknown = (codes < 0) & (column.cat.codes.to_numpy() >= 0)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f'Row {row} of column "{name}" has "{column.iloc[row]}", a level that was not declared '
            "when the tree was fitted."
        )
    return codes.astype(np.int32)


def _numbers(name: str, column: "pd.Series[float]") -> Floats:
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise ValueError(
            f'Column "{name}" is neither categorical nor a number; '
            'declare its levels with astype("category").'
        )
    numbers: Floats = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(numbers).any():
        raise ValueError(f'Column "{name}" contains infinity.')
    return numbers
