"""Logistic regression by Newton's method, free or with a linear equality: its rows, and the fitted model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

from fairbench_cli.classifiers.encode import BinEncoding, Design, distinct_rows, fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted

FREE = "the model without constraint is the answer"
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
        if len(self.number_places) <= FEW:
            square = np.einsum("ji,ik->jk", scaled, self.numbers)
        else:
            square = scaled @ self.numbers
        product[np.ix_(self.number_places, self.number_places)] = square
        for j, (codes, start, size) in enumerate(self.blocks):
            block = slice(start, start + size)
            for position, weighted in zip(self.number_places, scaled, strict=True):
                product[position, block] = product[block, position] = np.bincount(codes, weighted, size)
            product[range(start, start + size), range(start, start + size)] = np.bincount(codes, v, size)
            for other_codes, other_start, other_size in self.blocks[j + 1 :]:
                joint = np.bincount(codes * other_size + other_codes, v, size * other_size)
                other_block = slice(other_start, other_start + other_size)
                product[block, other_block] = joint.reshape(size, other_size)
                product[other_block, block] = product[block, other_block].T
        return product

    def matrix(self) -> csr_array[np.float64]:
        """Return X itself, shape (rows, width)."""
        rows = np.arange(len(self.y))
        i = np.concatenate([np.repeat(rows, self.numbers.shape[1]), *(rows for _ in self.blocks)])
        columns = (codes + start for codes, start, _ in self.blocks)
        j = np.concatenate([np.tile(self.number_places, len(rows)), *columns])
        entries = np.concatenate([self.numbers.ravel(), np.ones(len(rows) * len(self.blocks))])
        return csr_array((entries, (i, j)), shape=(len(rows), self.width))


def training_rows(sample: Sample, design: Design) -> TrainingRows:
    """Return the rows of a sample, equal ones merged; rows without weight are left out."""
    weights = sample.row_weights
    weighted_rows = np.flatnonzero(weights > 0)
    codes = sample.features.codes[:, [sample.features.index(column.name) for column in design.columns]]
    first_rows, group = distinct_rows(
        codes[weighted_rows], sample.s[weighted_rows] * 2 + sample.y[weighted_rows]
    )
    rows = weighted_rows[first_rows]
    numbers = []
    number_places = []
    blocks = []
    start = 0
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
        np.bincount(group, weights[weighted_rows]) / total,
        total,
    )


TOLERANCE = 1e-10  # of the residual of the optimality conditions, per unit of weight
MOST_STEPS = 200
OPTIMAL = 1e-6  # how far a fit may miss the conditions of optimality, per unit of weight
FAR_OUT = 50.0  # decisions beyond this have probabilities that are 0 or 1 to 20 decimals


@dataclass(frozen=True, eq=False)
class Logistic:
    """f(w) = Σ rᵢ log(1 + exp(−yᵢ dᵢ)) + λ/2 Σ_{j not intercept} wⱼ², d = X w, y in {−1, 1}, Σ rᵢ = 1.

    Parameters
    ----------
    rows : TrainingRows
        X with the intercept as its last column, y and r.
    l2 : float
        λ times the total weight: the penalty's weight on the *sum* of losses.
    relative : float64 array, shape (width,), or None
        What λ is multiplied by for each column; None is 1 for all.
    towards : float64 array, shape (width,), or None
        Where a second penalty, pull/2 Σ (wⱼ − towardsⱼ)² over all columns, is 0; None is no such penalty.
    pull : float
        Weight of that penalty, at least 0.
    """

    rows: TrainingRows
    l2: float
    relative: Floats | None = None
    towards: Floats | None = None
    pull: float = 0.0

    @property
    def signs(self) -> Floats:
        """The outcomes as −1 and 1, shape (rows,)."""
        return np.asarray(2.0 * self.rows.y - 1.0, dtype=np.float64)

    @property
    def penalty(self) -> Floats:
        """λ for each column, 0 for the intercept, shape (width,)."""
        penalty: Floats = np.full(self.rows.width, self.l2 / self.rows.total)
        if self.relative is not None:
            penalty *= self.relative
        penalty[-1] = 0
        return penalty

    @property
    def stiffness(self) -> Floats:
        """The second derivative of both penalties by each coefficient, shape (width,)."""
        if self.towards is None:
            return self.penalty
        return self.penalty + self.pull

    def value(self, w: Floats, d: Floats) -> float:
        """Return f(w)."""
        losses = np.logaddexp(0, -self.signs * d)
        value = float(self.rows.share @ losses + 0.5 * self.penalty @ w**2)
        if self.towards is not None:
            value += 0.5 * self.pull * float(np.sum((w - self.towards) ** 2))
        return value

    def gradient(self, w: Floats, d: Floats) -> Floats:
        """Return ∇f(w), shape (width,)."""
        slopes = self.rows.share * (expit(d) - self.rows.y)
        gradient: Floats = self.rows.transposed_times(slopes) + self.penalty * w
        if self.towards is None:
            return gradient
        return gradient + self.pull * (w - self.towards)

    def curvature(self, d: Floats) -> Floats:
        """Return the second derivative of the loss by each row's d, shape (rows,)."""
        return np.asarray(self.rows.share * expit(d) * expit(-d))


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a minimisation ended.

    Parameters
    ----------
    w : float64 array, shape (width,)
        The coefficients.
    residual : float
        By how much the conditions of optimality are missed, per unit of weight.
    steps : int
        Newton steps, those of earlier solutions it started from included; rounds of the convex-concave
        procedure.
    trouble : str
        Why it is not the optimum; else empty.
    value : float
        f(w), from `minimise`.
    multiplier : float
        λ of the equality of `minimise`: ∇f(w) + λ a = 0. 0 without one.
    polishing : int
        Steps that followed along the kinks of a mistreatment problem.
    """

    w: Floats
    residual: float
    steps: int
    trouble: str = ""
    value: float = 0.0
    multiplier: float = 0.0
    polishing: int = 0

    @property
    def facts(self) -> dict[str, float | int]:
        """How optimal the solution is, and the work that it took."""
        return {"kkt": self.residual, "steps": self.steps}


def minimise(
    problem: Logistic, start: Floats, a: Floats | None = None, level: float = 0.0, steps: int = 0
) -> Solution:
    """Return the minimum of f(w), subject to a·w = level if there is an `a`.

    Newton's method: the step solves [H aᵀ; a 0] [p; λ] = [−∇f; level − a·w] by the Schur complement in the
    Cholesky factor of H + ρ a aᵀ, and is halved until f falls enough (Armijo). That ρ leaves step and λ as
    they are; without it a direction in which f is a line (a rare level's rows, far out) would divide by 0.

    Parameters
    ----------
    problem : Logistic
        f.
    start : float64 array, shape (width,)
        Where to start.
    a : float64 array, shape (width,), or None
        The equality's coefficients, not all 0.
    level : float
        Its right-hand side.
    steps : int
        Steps already taken, to count on from.
    """
    if a is None:
        w = start
    else:
        w = _onto(problem, start, a, level)
    d = problem.rows.times(w)
    value = problem.value(w, d)
    n_steps = 0
    multiplier = 0.0
    while True:
        gradient = problem.gradient(w, d)
        solve = solver(_hessian(problem, d, a))
        step = -solve(gradient)
        if a is not None:
            toward = solve(a)
            multiplier = float((a @ step - (level - a @ w)) / (a @ toward))
            step = step - multiplier * toward
            residual = float(np.abs(gradient + multiplier * a).max())
        else:
            residual = float(np.abs(gradient).max())
        if residual <= TOLERANCE or n_steps == MOST_STEPS:
            break
        along = problem.rows.times(step)
        fall = float(gradient @ step)
        # Near the minimum the fall is smaller than what rounding does to f: a full step is right there.
        moved = armijo(problem.value, (w, d), (step, along), value, fall, 1e-15 * abs(value))
        if moved is None:
            break
        ((w, d), value) = moved
        n_steps = n_steps + 1
    return Solution(w, residual, steps + n_steps, value=value, multiplier=multiplier)


def armijo(
    f: Callable[..., float],
    point: Sequence[Floats],
    step: Sequence[Floats],
    value: float,
    fall: float,
    hair: float,
) -> tuple[tuple[Floats, ...], float] | None:
    """Return where a step leads, halved until f falls enough, and f there; None where no part of it does.

    Parameters
    ----------
    f : callable
        Takes as many arrays as `point` and `step` have.
    value, fall : float
        f at the start, and its derivative along the step.
    hair : float
        By how much rounding may lift f.
    """
    size = 1.0
    while size > 1e-12:
        moved = tuple(start + size * along for start, along in zip(point, step, strict=True))
        trial = f(*moved)
        if trial <= value + 1e-4 * size * fall + hair:
            return moved, trial
        size /= 2
    return None


def _hessian(problem: Logistic, d: Floats, a: Floats | None) -> Floats:
    """Return H, or H + ρ a aᵀ with its two terms of one size."""
    h = problem.rows.gram(problem.curvature(d)) + np.diag(problem.stiffness)
    return h if a is None else h + h.diagonal().max() / (a @ a) * np.outer(a, a)


def _onto(problem: Logistic, start: Floats, a: Floats, level: float) -> Floats:
    """Return the start moved onto a·w = level: by Newton or by shrinking, whichever has the lower f."""
    gap = level - float(a @ start)
    if gap == 0:
        return start
    d = problem.rows.times(start)
    toward = solver(_hessian(problem, d, a))(a)
    stepped = start + toward * (gap / float(a @ toward))
    if a @ start:
        shrunk = start * (level / float(a @ start))
    else:
        shrunk = stepped
    return min((stepped, shrunk), key=lambda w: problem.value(w, problem.rows.times(w)))


def solver(h: Floats) -> Callable[[Floats], Floats]:
    """Return the solver of h p = v for p, h symmetric and positive semidefinite, shape (width, width).

    The diagonal is raised by a hair, and by more until Cholesky's factorisation exists: full one-hot blocks
    next to an intercept leave h singular without a penalty.
    """
    raised = 1e-13 * float(h.diagonal().max()) + 1e-100
    while True:
        try:
            factor = cho_factor(h + raised * np.eye(len(h)))
        except LinAlgError:
            raised *= 100
        else:
            return lambda v: np.asarray(cho_solve(factor, v))


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Predicts the favourable outcome where X w > border.

    Parameters
    ----------
    design : Design
        Makes X, the intercept last.
    w : float64 array, shape (width,) or (2, width)
        The coefficients, of all rows or by group.
    border : float
        0, or a hair less where rows on 0 are to count as favourable whatever the rounding.
    """

    design: Design
    w: Floats
    border: float = 0.0

    def decisions(self, sample: Sample) -> Floats:
        """Return X w, shape (rows,): the signed distances from the border, times the norm of w.

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        x = self.design.transform(sample.features)
        if self.w.ndim > 1:
            return np.asarray(np.einsum("ij,ij->i", x, self.w[sample.s]))
        return np.asarray(np.einsum("ij,j->i", x, self.w))

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for the favourable one; raises as `decisions`."""
        return (self.decisions(sample) > self.border).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,); raises as `decisions`."""
        return np.asarray(expit(self.decisions(sample)))


def prepared(
    train: Sample, classifier: Classifier, bins: BinEncoding
) -> tuple[Design, TrainingRows, Fitted | None]:
    """Return the design of a sample, its distinct rows, and the constant model if they have one outcome.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    design = fit_design(train, include_protected=classifier.include_protected, bins=bins)
    rows = training_rows(train, design)
    if len(set(rows.y.tolist())) > 1:
        return design, rows, None
    w = np.zeros(design.width)
    w[-1] = 1.0 if rows.y[0] else -1.0
    return design, rows, Fitted(LinearModel(design, w), "noop", "every training row has the same outcome")


def as_unscaled(design: Design) -> Floats:
    """Return 1/σ² for each standardised column of X, else 1, shape (width,).

    With the penalty multiplied by it, standardised numbers have the solution of those as they are, without
    the rounding errors of columns of very different sizes.
    """
    factors = np.ones(design.width)
    start = 0
    for column, table in zip(design.columns, design.tables, strict=True):
        if table.shape[1] == 1 and len(column.values) > 1 and np.ptp(table) > 0:
            factors[start] = (float(np.ptp(table)) / (column.values[-1] - column.values[0])) ** 2
        start += table.shape[1]
    return factors


def quasi_separation(largest: float) -> str:
    """Return a warning if the largest |d| of a training row is beyond 50; else nothing.

    >>> quasi_separation(49.0), quasi_separation(60.0)
    ('', "quasi-separation: a training row's decision value is 60, beyond 50")
    """
    if largest <= FAR_OUT:
        return ""
    return f"quasi-separation: a training row's decision value is {largest:.0f}, beyond {FAR_OUT:.0f}"
