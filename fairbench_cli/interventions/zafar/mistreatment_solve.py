"""A local minimum of a mistreatment problem, whatever the solvers do on the way."""

from dataclasses import dataclass

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.mistreatment import Problem, constant
from fairbench_cli.interventions.zafar.mistreatment_ccp import ccp
from fairbench_cli.interventions.zafar.mistreatment_kkt import kkt
from fairbench_cli.interventions.zafar.mistreatment_polish import polish, restored
from fairbench_cli.interventions.zafar.mistreatment_slsqp import slsqp

OPTIMAL = 1e-6


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients within the threshold, how they were come by, and what is wrong with them if anything is.

    Parameters
    ----------
    w : float64 array, shape (width,)
        The coefficients.
    kkt : float
        Residual of the optimality conditions of the mean loss.
    steps : int
        Steps of SLSQP, or rounds of the convex-concave procedure.
    polishing : int
        Steps that followed, to the very optimum; the convex-concave procedure has none.
    trouble : str
        What went wrong; else empty.
    """

    w: Floats
    kkt: float
    steps: int
    polishing: int
    trouble: str


def direct(problem: Problem, start: Floats, threshold: float) -> Solution:
    """Minimise by SLSQP from the unconstrained optimum, and go on from where it stops to a local minimum.

    If none is reached, or one above the constant model, which is fair too, the steps start again from there.
    """
    stop, steps = slsqp(problem, start, threshold)
    near = restored(problem, stop, threshold)
    flat = constant(problem)
    w, further = polish(problem, flat if near is None else near, threshold)
    residual = kkt(problem, w, threshold)
    if residual > OPTIMAL or _loss(problem, w) > _loss(problem, flat):
        w, more = polish(problem, flat, threshold)
        residual, further = kkt(problem, w, threshold), further + more
    trouble = "" if residual <= OPTIMAL else "no local minimum was reached"
    return Solution(w, residual, steps, further, trouble)


def procedure(problem: Problem, start: Floats, threshold: float) -> Solution:
    """Run the convex-concave procedure from the unconstrained optimum, and mend what its slacks left over."""
    end = ccp(problem, start, threshold)
    near = restored(problem, end.w, threshold)
    trouble = "" if end.converged else "the convex-concave procedure did not converge"
    if near is None:
        near, trouble = constant(problem), "the convex-concave procedure kept no constraint: a constant model"
    return Solution(near, kkt(problem, near, threshold), end.rounds, 0, trouble)


def _loss(problem: Problem, w: Floats) -> float:
    return problem.loss(w, problem.x @ w)
