"""Training rows for linear models: equal rows are merged, products go by their level codes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbench_cli.classifiers.encode import Design, distinct_rows
from fairbench_cli.data.table import Floats, Labels, Sample

FEW = 32  # columns of numbers; einsum takes seconds for hundreds


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The distinct training rows (x, s, y), sorted, and the design matrix X over them.

    X is never formed: a one-hot block is a column of codes. Sums run over the rows in their order, so that a
    result depends neither on the order of the sample nor on the number of threads; but the product of more
    than `FEW` columns of numbers is left to BLAS, of which workers have one thread.

    Parameters
    ----------
    numbers : float64 array, shape (rows, numbers)
        The columns of X that are no one-hot blocks, the intercept included.
    number_places : int array, shape (numbers,)
        Which columns of X those are.
    blocks : tuple of (codes, start, size)
        The level codes of each one-hot block, shape (rows,), its first column of X and its number of columns.
    y, s : int8 array, shape (rows,)
        Outcome and group.
    share : float64 array, shape (rows,)
        Each row's share of the total weight, all positive.
    total : float
        Total weight of the sample.
    """

    numbers: Floats
    number_places: NDArray[np.intp]
    blocks: tuple[tuple[NDArray[np.intp], int, int], ...]
    y: Labels
    s: Labels
    share: Floats
    total: float

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return len(self.number_places) + sum(size for _, _, size in self.blocks)

    def times(self, w: Floats) -> Floats:
        """Return X w, shape (rows,)."""
        product: Floats = np.einsum("ij,j->i", self.numbers, w[self.number_places])
        for codes, start, size in self.blocks:
            product += w[start : start + size][codes]
        return product

    def transposed_times(self, v: Floats) -> Floats:
        """Return Xᵀ v, shape (width,)."""
        product = np.empty(self.width)
        product[self.number_places] = np.einsum("ij,i->j", self.numbers, v)
        for codes, start, size in self.blocks:
            product[start : start + size] = np.bincount(codes, v, size)
        return product

    def gram(self, v: Floats) -> Floats:
        """Return Xᵀ diag(v) X, shape (width, width)."""
        product = np.zeros((self.width, self.width))
        scaled = np.ascontiguousarray((self.numbers * v[:, np.newaxis]).T)
        by_hand = len(self.number_places) <= FEW
        square = np.einsum("ji,ik->jk", scaled, self.numbers) if by_hand else scaled @ self.numbers
        product[np.ix_(self.number_places, self.number_places)] = square
        for j, (codes, start, size) in enumerate(self.blocks):
            block = slice(start, start + size)
            for place, weighted in zip(self.number_places, scaled, strict=True):
                product[place, block] = product[block, place] = np.bincount(codes, weighted, size)
            product[range(start, start + size), range(start, start + size)] = np.bincount(codes, v, size)
            for others, other_start, other_size in self.blocks[j + 1 :]:
                joint = np.bincount(codes * other_size + others, v, size * other_size)
                other = slice(other_start, other_start + other_size)
                product[block, other] = joint.reshape(size, other_size)
                product[other, block] = product[block, other].T
        return product

    def matrix(self) -> csr_array[np.float64]:
        """Return X itself, shape (rows, width)."""
        each = np.arange(len(self.y))
        i = np.concatenate([np.repeat(each, self.numbers.shape[1]), *(each for _ in self.blocks)])
        places = (codes + start for codes, start, _ in self.blocks)
        j = np.concatenate([np.tile(self.number_places, len(each)), *places])
        entries = np.concatenate([self.numbers.ravel(), np.ones(len(each) * len(self.blocks))])
        return csr_array((entries, (i, j)), shape=(len(each), self.width))


def training_rows(sample: Sample, design: Design) -> TrainingRows:
    """Return the rows of a sample, equal ones merged; rows without weight are left out."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    kept = np.flatnonzero(weights > 0)
    codes = sample.features.codes[:, [sample.features.index(column.name) for column in design.columns]]
    first, group = distinct_rows(codes[kept], sample.s[kept] * 2 + sample.y[kept])
    rows = kept[first]
    numbers, number_places, blocks, start = [], [], [], 0
    for j, table in enumerate(design.tables):
        if table.shape[1] == 1:
            numbers.append(table[codes[rows, j], 0])
            number_places.append(start)
        else:
            blocks.append((codes[rows, j].astype(np.intp), start, table.shape[1]))
        start += table.shape[1]
    if design.intercept:
        numbers.append(np.ones(len(rows)))
        number_places.append(start)
    total = float(weights.sum())
    return TrainingRows(
        np.stack(numbers, axis=1) if numbers else np.empty((len(rows), 0)),
        np.array(number_places, dtype=np.intp),
        tuple(blocks),
        sample.y[rows],
        sample.s[rows],
        np.bincount(group, weights[kept]) / total,
        total,
    )
