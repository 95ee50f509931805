"""The cells of a sample, by group and label: sizes, those without discrimination, rows for validation."""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.data.table import Floats, Rows, Sample
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.measures.counts import PAIR, count, divide
from fairbench_cli.measures.functions import discrimination

# In the order in which every technique goes through them, so that a seed reproduces.
CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))

# The names of Kamiran & Calders (2012).
NAMES = {
    (0, 0): "DN (deprived, unfavourable label)",
    (0, 1): "DP (deprived, favourable label)",
    (1, 0): "FN (favoured, unfavourable label)",
    (1, 1): "FP (favoured, favourable label)",
}


def rows_of(sample: Sample, cell: tuple[int, int]) -> Rows:
    """Return the row indices of a cell, ascending."""
    s, y = cell
    return np.flatnonzero((sample.s == s) & (sample.y == y))


def sizes(sample: Sample) -> NDArray[np.int64]:
    """Return the number of rows in each cell, shape (2, 2), by group and label."""
    return np.bincount(sample.s.astype(np.intp) * 2 + sample.y, minlength=4).reshape(2, 2)


def balanced_rows(sample: Sample, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
    """Return `n` of some rows, drawn with replacement, as many of each cell, shape (n,).

    Where `n` is no multiple of four, the first cells get one row more.

    Raises
    ------
    Infeasible
        When a cell has none of the rows.
    """
    drawn = []
    for i, cell in enumerate(CELLS):
        cell_rows = rows[(sample.s[rows] == cell[0]) & (sample.y[rows] == cell[1])]
        if not len(cell_rows):
            raise Infeasible(f"empty cell {NAMES[cell]}: nothing to draw balanced rows from")
        drawn.append(rng.choice(cell_rows, n // len(CELLS) + (i < n % len(CELLS))))
    return np.concatenate(drawn)


def weight_sums(sample: Sample) -> Floats:
    """Return the weight of each cell's rows, shape (2, 2), by group and label."""
    return count(sample.s, sample.y, sample.y, PAIR, sample.weights).labelled


def expected(cells: Floats) -> Floats:
    """Return n_s n_y / n, what each cell would hold were the label independent of the group, shape (2, 2)."""
    return divide(cells.sum(1, keepdims=True) * cells.sum(0, keepdims=True), cells.sum())


def targets(n: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return n_s n_y / n rounded to the nearest integer (halves up), shape (2, 2).

    >>> targets(np.array([[13026, 1669], [20988, 9539]])).tolist()
    [[11053, 3642], [22961, 7566]]
    """
    total = max(int(n.sum()), 1)
    return np.asarray((2 * n.sum(1, keepdims=True) * n.sum(0, keepdims=True) + total) // (2 * total))


def empty_cells(n: NDArray[np.int64] | Floats, target: NDArray[np.int64] | Floats) -> str:
    """Return a message that names the cells with rows to come and none to draw from; else nothing."""
    empty = [NAMES[cell] for cell in CELLS if n[cell] == 0 and target[cell] > 0]
    if empty:
        return f"empty cell {', '.join(empty)}"
    return ""


def label_discrimination(sample: Sample) -> float:
    """Return P(y=+|ḡ) − P(y=+|g) by weight; NaN when a group has none."""
    return float(discrimination(count(sample.s, sample.y, sample.y, PAIR, sample.weights)))


def discriminations(before: Sample, after: Sample) -> dict[str, float | int]:
    """Return the discrimination in the labels before and after an intervention, as facts."""
    return {
        "discrimination_before": label_discrimination(before),
        "discrimination_after": label_discrimination(after),
    }


def require_no_weights(sample: Sample) -> None:
    """Raise `Infeasible` if rows are weighted: a technique that moves whole rows cannot honour that."""
    if sample.weights is not None:
        raise Infeasible("the training rows have weights, and this technique moves whole rows")


def require_both_groups(sample: Sample) -> None:
    """Raise `Infeasible` if a group has no rows, or none with a weight."""
    mass = weight_sums(sample).sum(axis=1)
    for name, weight in zip(("deprived", "favoured"), mass, strict=True):
        if not weight > 0:
            raise Infeasible(f"the {name} group has no training rows")


Groups = Literal["pair", "levels"]  # the deprived and the favoured, or each level of the attribute
Share = Annotated[float, Field(gt=0, lt=1)]
Proportion = Annotated[float, Field(ge=0, le=1)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

SEED = 0  # training rows are drawn at random: any fixed places among them are too


def groups_of(sample: Sample, groups: Groups) -> tuple[NDArray[np.int8] | NDArray[np.int16], tuple[str, ...]]:
    """Return each row's group as a number, shape (rows,), and the names of all groups, with rows or not."""
    if groups == "pair":
        return sample.s, PAIR
    column = sample.features.column(sample.attribute)
    return sample.features[sample.attribute], column.levels


def divide_rows(train: Sample, fraction: float) -> tuple[Sample, Sample]:
    """Return the rows to fit to and the validation rows, each in the order of `train`.

    Stratified: `fraction` of each cell of group and label, rounded to the nearest whole number of rows (half
    to even), is taken for validation. Which ones depends on the training rows alone, so that techniques and
    their parameters are compared on the same validation rows.

    Parameters
    ----------
    train : Sample
        The training rows.
    fraction : float in (0, 1)
        Share of validation rows.
    """
    order = np.random.default_rng(SEED).permutation(len(train))
    chosen = np.zeros(len(train), dtype=bool)
    for cell in CELLS:
        rows = rows_of(train, cell)
        chosen[rows[np.argsort(order[rows])][: round(fraction * len(rows))]] = True
    return train.take(np.flatnonzero(~chosen)), train.take(np.flatnonzero(chosen))
