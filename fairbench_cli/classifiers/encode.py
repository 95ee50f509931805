"""From level codes to the arrays that learners take."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbench_cli.data.table import Codes


def ordinal(codes: Codes) -> NDArray[np.float32]:
    """Return the codes as numbers, shape (rows, columns), in the layout that scikit-learn's trees want."""
    return np.ascontiguousarray(codes, dtype=np.float32)


def one_hot(codes: Codes, level_counts: tuple[int, ...]) -> csr_array[np.float64]:
    """Return one 0/1 column per declared level, seen or not, as a sparse matrix of shape (rows, levels).

    Sparse, because a row has one 1 per attribute, and because its products are summed in one order whatever
    the number of threads.

    >>> one_hot(np.array([[1, 0], [0, 2]], dtype=np.int16), (2, 3)).toarray().tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
    """
    rows, columns = codes.shape
    starts = np.concatenate([[0], np.cumsum(level_counts)]).astype(np.int32)
    indices = (codes + starts[:-1]).ravel()
    steps = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    return csr_array((np.ones(rows * columns), indices, steps), shape=(rows, int(starts[-1])))
