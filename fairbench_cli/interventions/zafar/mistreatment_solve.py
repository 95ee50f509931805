"""A local minimum of a mistreatment problem, whatever the solvers do on the way."""

from dataclasses import dataclass

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.mistreatment import Problem, constant
from fairbench_cli.interventions.zafar.mistreatment_ccp import ccp
from fairbench_cli.interventions.zafar.mistreatment_kkt import kkt
from fairbench_cli.interventions.zafar.mistreatment_polish import polish, restored
from fairbench_cli.interventions.zafar.mistreatment_smooth import ROUNDINGS, smooth
from fairbench_cli.interventions.zafar.model import OPTIMAL

FEW = 8  # steps after which rounding once more is the better bet
FAR = 0.02  # first trust region when the start is not known to be near a minimum


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
        Newton steps on rounded kinks, or rounds of the convex-concave procedure.
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
    """Minimise with rounded kinks from the unconstrained optimum, and go on from there to a local minimum.

    Where many kinks meet, the last steps can miss it: then kinks are rounded once more, from where they
    ended. The constant model is fair too: where it is better, the steps start again from there.
    """
    flat = constant(problem)
    stop, steps = smooth(problem, start, threshold)
    w, further = _polished(problem, stop, threshold)
    residual = kkt(problem, w, threshold)
    if residual > OPTIMAL:
        stop, more = smooth(problem, w, threshold, ROUNDINGS[1:])
        again, yet_further = _polished(problem, stop, threshold)
        left, steps, further = kkt(problem, again, threshold), steps + more, further + yet_further
        if left < residual:
            w, residual = again, left
    if _loss(problem, w) > _loss(problem, flat):
        w, more = polish(problem, flat, threshold, FAR)
        residual, further = kkt(problem, w, threshold), further + more
    trouble = "" if residual <= OPTIMAL else "no local minimum was reached"
    return Solution(w, residual, steps, further, trouble)


def _polished(problem: Problem, near: Floats, threshold: float) -> tuple[Floats, int]:
    """Go on from weights near a local minimum, or from the constant model where F cannot be mended."""
    w = restored(problem, near, threshold)
    if w is None:
        return polish(problem, constant(problem), threshold, FAR)
    return polish(problem, w, threshold, most=FEW)


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
