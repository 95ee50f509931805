"""Least covariance without misclassifying the favoured group's positives: the misclassification mode."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, vstack

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.covariance import Tradeoff
from fairbench_cli.interventions.zafar.interior import Limited, minimise_limited

MARGIN = 1e-6  # by which w* itself is within every limit
LEEWAY = 1e-5  # of the covariance, so that there is something left to choose
MOST_ITERATIONS = 200_000


@dataclass(frozen=True, eq=False)
class Separated:
    """What the misclassification mode found.

    Parameters
    ----------
    w : float64 array, shape (width,)
        The coefficients.
    least : float
        The least covariance that the limits leave.
    residual : float
        How far the conditions of optimality are from met, per unit of weight.
    steps : int
        Newton steps.
    trouble : str
        Why it is not the optimum; else empty.
    """

    w: Floats
    least: float
    residual: float
    steps: int
    trouble: str = ""


def limits(trade: Tradeoff, gamma: float) -> tuple[Floats, Floats]:
    """Turn the limits on losses into bounds of decisions.

    A favoured row that w* accepts keeps dᵢ > 0 (by 1e-6); any other keeps its loss ℓᵢ ≤ (1 + γ) ℓᵢ*, which is
    yᵢ dᵢ ≥ −log(exp((1 + γ) ℓᵢ*) − 1), y in {−1, 1}. A bound that w* meets by less than 1e-6 gives way to
    that.

    Returns
    -------
    turned, bounds : float64 array, shape (rows,)
        turned ∘ d ≥ bounds.
    """
    rows, signs = trade.problem.rows, trade.problem.signs
    d = rows.times(trade.free.w)
    kept = (d > 0) & (rows.s == 1)
    turned = np.where(kept, 1.0, signs)
    z = np.maximum((1 + gamma) * np.logaddexp(0, -signs * d), 1e-300)
    # log(exp(z) − 1) is z + log(1 − exp(−z)): no overflow.
    bounds = np.where(kept, MARGIN, -(z + np.log(-np.expm1(-z))))
    return turned, np.minimum(bounds, turned * d - MARGIN)


def separate(trade: Tradeoff, gamma: float) -> Separated:
    """Minimise |a·w| within the limits, and among those w the loss.

    The first is a linear programme. Its optimum, 0 for any large γ, belongs to many w; of those within 1e-5
    (or a thousandth) of it, that of least f is taken, by an interior-point method that starts at w*.
    """
    free, covariance = trade.free, abs(trade.covariance)
    turned, bounds = limits(trade, gamma)
    least = least_covariance(trade, turned, bounds)
    if least is None:
        return Separated(free.w, covariance, free.residual, free.steps, "the linear programme has no answer")
    level = least + max(LEEWAY, 1e-3 * least)
    if covariance <= level:
        return Separated(free.w, least, free.residual, free.steps)
    limited = Limited(trade.problem, turned, bounds, trade.a, float(np.copysign(level, trade.covariance)))
    reached = minimise_limited(limited, free.w)
    trouble = "" if reached.converged else "the optimum was not reached"
    return Separated(reached.w, least, reached.residual, free.steps + reached.steps, trouble)


def least_covariance(trade: Tradeoff, turned: Floats, bounds: Floats) -> float | None:
    """Least |a·w| subject to turned ∘ (X w) ≥ bounds; None if the solver gives up.

    w* is within the bounds, so that only its side of a·w = 0 need be searched.
    """
    side = trade.a * np.sign(trade.covariance)
    within = diags_array(turned) @ trade.problem.rows.matrix()
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        side,
        A_ub=-vstack([within, csr_array(side[np.newaxis])]),
        b_ub=-np.append(bounds, 0.0),
        bounds=(None, None),
        method="highs-ds",
        options={"maxiter": MOST_ITERATIONS},
    )
    return max(float(found.fun), 0.0) if found.status == 0 else None
