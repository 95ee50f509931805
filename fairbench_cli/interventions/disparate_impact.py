"""Zafar et al.: logistic regression whose decisions have little covariance with the group, for some loss.

An interior-point method where bounds are many.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import scipy
from scipy.sparse import csr_array, diags_array, vstack

from fairbench_cli.base.parameters import UNWRITTEN
from fairbench_cli.classifiers.encode import BinEncoding
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions import logistic
from fairbench_cli.interventions.cells import NotNegative
from fairbench_cli.interventions.fitted import Fitted, settled
from fairbench_cli.interventions.logistic import FREE, LinearModel, Logistic, Solution, minimise

TOLERANCE = 1e-9  # of the conditions of optimality, per unit of weight
ENOUGH = 1e-7
PATIENCE = 5  # steps without halving what is missed
LEAST_SLACK = 1e-2  # at the start
MOST_STEPS = 150


@dataclass(frozen=True, eq=False)
class Limited:
    """min f(w) subject to turned ∘ (X w) ≥ limits and a·w = level.

    Parameters
    ----------
    problem : Logistic
        f and X.
    turned : float64 array, shape (rows,)
        1 where the decision is bounded from below, −1 where from above.
    limits : float64 array, shape (rows,)
        The bounds.
    a : float64 array, shape (width,)
        The equality's coefficients, not all 0.
    level : float
        Its right-hand side.
    """

    problem: Logistic
    turned: Floats
    limits: Floats
    a: Floats
    level: float


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, slacks of the limits, multipliers z of those and of the equality; or a step of them."""

    w: Floats
    slack: Floats
    z: Floats
    multiplier: float

    def plus(self, size: float, step: "_Point") -> "_Point":
        return _Point(
            self.w + size * step.w,
            self.slack + size * step.slack,
            self.z + size * step.z,
            self.multiplier + size * step.multiplier,
        )


def minimise_limited(limited: Limited, start: Solution) -> Solution:
    """Return the minimum, from any start.

    The residual is the largest breach of the conditions of optimality (gradient of the Lagrangian, limits,
    equality, duality gap), divided by f(w) where that is above 1.

    Mehrotra's predictor-corrector method (Nocedal & Wright, *Numerical Optimization*, 2006, chapters 16 and
    19) with slacks of their own: neither limits nor equality need be met on the way.
    """
    problem = limited.problem
    rows = limited.problem.rows
    d = rows.times(start.w)
    slack = np.maximum(limited.turned * d - limited.limits, LEAST_SLACK)
    point = _Point(start.w, slack, problem.value(start.w, d) / len(d) / slack, 0.0)
    best = point
    lowest = np.inf
    steps = 0
    since = 0
    while True:
        missed = _missed(limited, point)
        gap = float(point.slack @ point.z)
        size = max(1.0, problem.value(point.w, rows.times(point.w)))  # more if far-out rows or weights rule
        residual = max(*(float(np.abs(residuals).max()) for residuals in missed), gap) / size
        since += 1
        if residual < 0.5 * lowest:
            since = 0
        if residual < lowest:
            best = point
            lowest = residual
        stuck = since >= PATIENCE and lowest <= ENOUGH  # all that rounding allows
        if residual <= TOLERANCE or stuck or steps == MOST_STEPS or not np.isfinite(residual):
            trouble = "the optimum was not reached"
            if lowest <= ENOUGH:
                trouble = ""
            return Solution(best.w, lowest, start.steps + steps, trouble)
        point = _moved(limited, point, missed, gap)
        steps += 1


def _missed(limited: Limited, point: _Point) -> tuple[Floats, Floats, Floats]:
    """Return by how much gradient, limits and equality are missed; optimal if slack × z = 0 too."""
    problem = limited.problem
    rows = limited.problem.rows
    d = rows.times(point.w)
    pull = rows.transposed_times(limited.turned * point.z)
    gradient = problem.gradient(point.w, d) - pull + point.multiplier * limited.a
    equality = np.array([float(limited.a @ point.w) - limited.level])
    return gradient, limited.turned * d - point.slack - limited.limits, equality


def _moved(limited: Limited, point: _Point, missed: tuple[Floats, Floats, Floats], gap: float) -> _Point:
    """Return the next point: how far Newton's own step gets decides the slack × z to aim at."""
    problem = limited.problem
    rows = limited.problem.rows
    a = limited.a
    off_gradient = missed[0]
    off_limits = missed[1]
    off_equality = float(missed[2][0])
    ratio = np.minimum(point.z / point.slack, 1e30)
    h = rows.gram(problem.curvature(rows.times(point.w)) + ratio) + np.diag(problem.stiffness)
    weight = float(h.diagonal().max() / (a @ a))
    solve = logistic.solver(h + weight * np.outer(a, a))
    toward = solve(a)

    def newton(product: Floats) -> _Point:
        """Return the step whose slack × z falls by `product`."""
        aim = limited.turned * (-product / point.slack - ratio * off_limits)
        step = solve(rows.transposed_times(aim) - off_gradient)
        multiplier = float((a @ step + off_equality) / (a @ toward))
        step = step - multiplier * toward
        slack = limited.turned * rows.times(step) + off_limits
        z = (-product - point.z * slack) / point.slack
        return _Point(step, slack, z, multiplier - weight * off_equality)

    product = point.slack * point.z
    affine = newton(product)
    tried = point.plus(_longest(point, affine), affine)
    mean = gap / len(product)
    centre = mean * (float(tried.slack @ tried.z) / max(gap, 1e-300)) ** 3
    step = newton(product - centre + affine.slack * affine.z)
    return point.plus(0.99 * _longest(point, step), step)


def _longest(point: _Point, step: _Point) -> float:
    """Return how far slack and z can go along a step, at most 1, before an entry is 0."""
    longest = 1.0
    for value, change in ((point.slack, step.slack), (point.z, step.z)):
        falling = change < 0
        longest = float((value[falling] / -change[falling]).min(initial=longest))
    return longest


# pulls towards a start: f is its least, or the start's
SLACKEST = 1e-9
STIFFEST = 1e3
MOST_SOLUTIONS = 60
MARGIN = 1e-6  # by which w* itself is within every limit
LEEWAY = 1e-5  # of the covariance, so that there is something left to choose
MOST_ITERATIONS = 200_000


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Logistic regression, and the covariance that its decisions are to lose.

    Parameters
    ----------
    problem : Logistic
        f.
    a : float64 array, shape (width,)
        Σ rᵢ (sᵢ − s̄) xᵢ: a·w is the covariance of group and decision.
    free : Solution
        The minimum w* of f without constraint.
    """

    problem: Logistic
    a: Floats
    free: Solution

    @property
    def covariance(self) -> float:
        """a·w*, signed."""
        return float(self.a @ self.free.w)

    @property
    def negligible(self) -> float:
        """What rounding alone can make of a covariance that is 0."""
        return 1e-13 * float(np.abs(self.a) @ np.abs(self.free.w)) + 1e-13 * float(np.abs(self.free.w).max())


def tradeoff(rows: logistic.TrainingRows, l2: float, relative: Floats | None = None) -> Tradeoff:
    """Return the logistic regression fitted without constraint, and a; the rows must have both outcomes."""
    problem = Logistic(rows, l2, relative)
    start = np.zeros(rows.width)
    mean = float(rows.share @ rows.y)
    start[-1] = np.log(mean / (1 - mean))
    return Tradeoff(problem, covariances(rows), minimise(problem, start))


def covariances(rows: logistic.TrainingRows) -> Floats:
    """Return a, the covariance of the group s and each column of X, shape (width,).

    For w, a·w = α (1 − α) (mean decision of the favoured − mean decision of the deprived), α the favoured
    group's share.
    """
    a = rows.transposed_times(rows.share * (rows.s - rows.share @ rows.s))
    a[-1] = 0
    return a


def least_loss(trade: Tradeoff, c: float) -> Solution:
    """Return the minimum of f subject to |a·w| ≤ c.

    f is convex, hence either w* does, or the bound is met with the sign of a·w*.
    """
    if abs(trade.covariance) <= c + trade.negligible:
        return trade.free
    level = float(np.copysign(c, trade.covariance))
    return minimise(trade.problem, trade.free.w, trade.a, level, trade.free.steps)


def least_covariance(trade: Tradeoff, gamma: float, *, relative: bool) -> tuple[Solution, float, float]:
    """Return the least |a·w| subject to f(w) ≤ (1 + γ) f(w*).

    V(c) = min {f(w): |a·w| ≤ c} is convex, falls from f(w₀), w₀ the w of least f with a·w = 0, to f(w*), and
    has V′(c) = −|λ|; what is sought is the c with V(c) = (1 + γ) f(w*). As V is nearly a parabola, Newton's
    method is run on √(V(c) − f(w*)), which is nearly a line, and bisects when that leaves the bracket. Where
    (1 + γ) f(w*) ≥ f(w₀), many w have no covariance, and w₀, the one of least loss, is the answer.

    Parameters
    ----------
    trade : Tradeoff
        f, a and w*.
    gamma : float
        γ, or its share of f(w₀) / f(w*) − 1.
    relative : bool
        Whether it is that share.

    Returns
    -------
    solution : Solution
        The minimum.
    c : float
        Its |a·w|.
    gamma : float
        γ.
    """
    least = trade.free.value
    highest = abs(trade.covariance)
    solution = least_loss(trade, 0.0)
    c = 0.0
    if relative:
        gamma *= solution.value / max(least, 1e-300) - 1
    target = (1 + gamma) * least
    if gamma == 0 or solution is trade.free:
        return trade.free, highest, gamma
    if target >= solution.value:
        return solution, c, gamma
    low = 0.0
    high = highest
    for _ in range(MOST_SOLUTIONS):
        root = np.sqrt(max(solution.value - least, 0.0))
        slope = 0.0
        if root:
            slope = abs(solution.multiplier) / (2 * root)
        if slope:
            guess = c + (root - np.sqrt(target - least)) / slope
        else:
            guess = high
        if not low < guess < high:
            guess = (low + high) / 2
        c = float(guess)
        solution = minimise(
            trade.problem, solution.w, trade.a, float(np.copysign(c, trade.covariance)), solution.steps
        )
        low, high = (c, high) if solution.value > target else (low, c)
        if abs(solution.value - target) <= 1e-10 * target or high - low <= 1e-12 * highest:
            break
    return solution, c, gamma


def nearest_without_covariance(trade: Tradeoff, gamma: float, start: Floats) -> Solution:
    """Return the w nearest to `start` with a·w = 0 and f(w) ≤ (1 + γ) f(w*), where there is more than one.

    It minimises f(w) + μ/2 ‖w − start‖² subject to a·w = 0, for the μ with f(w) = (1 + γ) f(w*): as μ grows f
    rises from its least without covariance to that of the projection of `start`.

    Parameters
    ----------
    trade : Tradeoff
        f, a and w*.
    gamma : float
        γ; f must be below (1 + γ) f(w*) for some w without covariance.
    start : float64 array, shape (width,)
        The weights to stay near.
    """
    problem = trade.problem
    target = (1 + gamma) * trade.free.value
    projected = start - trade.a * (float(trade.a @ start) / float(trade.a @ trade.a))
    if problem.value(projected, problem.rows.times(projected)) <= target:
        return Solution(projected, 0.0, trade.free.steps)
    nearest = least_loss(trade, 0.0)

    def above(log_pull: float) -> float:
        nonlocal nearest
        pulled = replace(problem, towards=start, pull=float(np.exp(log_pull)))
        nearest = minimise(pulled, nearest.w, trade.a, 0.0, nearest.steps)
        return problem.value(nearest.w, problem.rows.times(nearest.w)) - target

    low = np.log(SLACKEST)
    high = np.log(STIFFEST)
    if above(low) < 0 < above(high):
        above(float(scipy.optimize.brentq(above, low, high, xtol=1e-8)))
    return nearest


def limits(trade: Tradeoff, gamma: float) -> tuple[Floats, Floats]:
    """Return the bounds of decisions that the limits on losses amount to.

    A favoured row that w* accepts keeps dᵢ > 0 (by 1e-6); any other keeps its loss ℓᵢ ≤ (1 + γ) ℓᵢ*, which is
    yᵢ dᵢ ≥ −log(exp((1 + γ) ℓᵢ*) − 1), y in {−1, 1}. A bound that w* meets by less than 1e-6 gives way to
    that.

    Returns
    -------
    turned, bounds : float64 array, shape (rows,)
        turned ∘ d ≥ bounds.
    """
    rows = trade.problem.rows
    signs = trade.problem.signs
    d = rows.times(trade.free.w)
    is_kept = (d > 0) & (rows.s == 1)
    turned = np.where(is_kept, 1.0, signs)
    z = np.maximum((1 + gamma) * np.logaddexp(0, -signs * d), 1e-300)
    # log(exp(z) − 1) is z + log(1 − exp(−z)): no overflow.
    bounds = np.where(is_kept, MARGIN, -(z + np.log(-np.expm1(-z))))
    return turned, np.minimum(bounds, turned * d - MARGIN)


def separate(trade: Tradeoff, gamma: float, start: Floats | None = None) -> tuple[Solution, float]:
    """Return the least loss among the w of least |a·w| within the limits, and that |a·w|.

    The first is a linear programme. Its optimum, 0 for any large γ, belongs to many w; of those within 1e-5
    (or a thousandth) of it, that of least f is taken, by an interior-point method that starts at w*. With a
    `start`, shape (width,), the nearest to it is taken instead.
    """
    free = trade.free
    covariance = abs(trade.covariance)
    turned, bounds = limits(trade, gamma)
    least = covariance_within(trade, turned, bounds)
    if least is None:
        return replace(free, trouble="the linear programme has no answer"), covariance
    level = least + max(LEEWAY, 1e-3 * least)
    if covariance <= level:
        return free, least
    sought = trade.problem
    if start is not None:
        rows = replace(sought.rows, share=np.zeros_like(sought.rows.share))
        sought = Logistic(rows, 0.0, towards=start, pull=1.0)
    limited = Limited(sought, turned, bounds, trade.a, float(np.copysign(level, trade.covariance)))
    return minimise_limited(limited, free), least


def covariance_within(trade: Tradeoff, turned: Floats, bounds: Floats) -> float | None:
    """Return the least |a·w| subject to turned ∘ (X w) ≥ bounds; None if the solver gives up.

    w* is within the bounds, so that only its side of a·w = 0 need be searched.
    """
    side = trade.a * np.sign(trade.covariance)
    within = diags_array(turned) @ trade.problem.rows.matrix()
    optimum = scipy.optimize.linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        side,
        A_ub=-vstack([within, csr_array(side[np.newaxis])]),
        b_ub=-np.append(bounds, 0.0),
        bounds=(None, None),
        method="highs-ds",
        options={"maxiter": MOST_ITERATIONS},
    )
    if optimum.status == 0:
        return max(float(optimum.fun), 0.0)
    return None


Mode = Literal["none", "fairness", "accuracy", "misclassification"]
Optimum = Literal["least-loss", "nearest"]


@dataclass(frozen=True)
class ZafarDI:
    """Limit the covariance between group and signed distance from the border.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2017), arXiv:1507.05259. The model is a logistic regression of
    its own, d = w·x: of the experiment's classifier only `include_protected` counts. Let L(w) be the sum of
    its losses and the penalty l2/2 Σ wⱼ² (intercept free), w* its minimum, and cov(w) the covariance of s and
    d over the training rows.

    * ``none``: w* itself.
    * ``fairness``: min L(w) subject to |cov(w)| ≤ c.
    * ``accuracy``: min |cov(w)| subject to L(w) ≤ (1 + γ) L(w*). Among all w without covariance, the one of
      least loss.
    * ``misclassification``: min |cov(w)| such that no favoured row that w* accepts is rejected and any other
      row's loss ℓᵢ(w) ≤ (1 + γ) ℓᵢ(w*). Among the w that come within 1e-5 (or a thousandth) of the least
      covariance, the one of least L.

    The original minimises by SLSQP, without penalty and from random starts; here each is solved to
    optimality.

    Parameters
    ----------
    mode : {"none", "fairness", "accuracy", "misclassification"}
        What is minimised, and what is bounded.
    c : float, at least 0, or None
        Bound on the covariance, mode ``fairness``; None is 0.
    gamma : float, at least 0, or None
        Loss that may be added, as a share; None is 0.5 in mode ``accuracy``, 1000 in ``misclassification``.
    relative : bool
        Count `c` in |cov(w*)|, and `gamma` of mode ``accuracy`` in what no covariance at all costs: both then
        do all that they can between 0 and 1.
    l2 : float, at least 0
        Weight of the penalty. Without one, the weight of a rare level can run off and meet the bound on the
        covariance by a few rows.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    scale : bool
        Whether the penalty is on the weights of standardised numbers, or of numbers as they are. Nothing
        else depends on it.
    optimum : {"least-loss", "nearest"}
        Where many w are optimal, which is taken: that of least loss, the default; or the one nearest to
        weights drawn from U(0, 1), where the original starts. Modes ``accuracy`` and ``misclassification``.

    Raises
    ------
    ValueError
        When a parameter is given that the mode does not have.
    """

    uses_classifier: ClassVar[bool] = False

    mode: Mode = "fairness"
    c: NotNegative | None = None
    gamma: NotNegative | None = None
    relative: bool = False
    l2: NotNegative = 1.0
    bins: BinEncoding = "one-hot"
    scale: bool = True
    optimum: Optimum = field(default="least-loss", metadata={UNWRITTEN: "least-loss"})

    def __post_init__(self) -> None:
        if self.optimum == "nearest" and self.mode in ("none", "fairness"):
            raise ValueError(f"optimum has no effect in mode {self.mode}: there is one alone")
        if self.c is not None and self.mode != "fairness":
            raise ValueError(f"c has no effect in mode {self.mode}")
        if self.gamma is not None and self.mode in ("none", "fairness"):
            raise ValueError(f"gamma has no effect in mode {self.mode}")
        if self.relative and self.mode in ("none", "misclassification"):
            raise ValueError(f"relative has no effect in mode {self.mode}")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the constrained logistic regression.

        ``noop`` when there is one outcome or one group only, or w* itself is the answer. ``degraded`` when a
        row is further out than 50 (quasi-separation), or the optimum was not reached.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        design, rows, constant = logistic.prepared(train, classifier, self.bins)
        if constant is not None:
            return constant
        trade = tradeoff(rows, self.l2, None if self.scale else logistic.as_unscaled(design))
        if len(set(rows.s.tolist())) == 1:
            facts = _di_facts(trade, trade.free.w) | trade.free.facts
            return Fitted(LinearModel(design, trade.free.w), "noop", "only one group has rows", facts)
        solution, solver_facts = self._solve(trade, rng)
        facts = _di_facts(trade, solution.w) | solver_facts
        trouble = logistic.quasi_separation(facts["largest_decision"]) or solution.trouble
        if not trouble and solution.residual > logistic.OPTIMAL:
            trouble = "the optimum was not reached"
        noop = ""
        if self.mode != "none" and solution.w is trade.free.w:
            noop = FREE
        return settled(LinearModel(design, solution.w), facts, degraded=trouble, noop=noop)

    def _solve(self, trade: Tradeoff, rng: np.random.Generator) -> tuple[Solution, dict[str, float | int]]:
        """Return the solution and the numbers of this mode."""
        if self.mode == "none":
            return trade.free, trade.free.facts
        if self.mode == "fairness":
            c = (self.c or 0.0) * (abs(trade.covariance) if self.relative else 1.0)
            solution = least_loss(trade, c)
            return solution, {"c": c, **solution.facts}
        if self.gamma is not None:
            gamma = self.gamma
        elif self.mode == "accuracy":
            gamma = 0.5
        else:
            gamma = 1000.0
        start = None
        if self.optimum == "nearest":
            start = rng.uniform(size=trade.problem.rows.width)
        if self.mode == "accuracy":
            solution, c, gamma = least_covariance(trade, gamma, relative=self.relative)
            if start is not None and c == 0 and solution is not trade.free:
                solution = nearest_without_covariance(trade, gamma, start)
            return solution, {"gamma": gamma, "c": c, **solution.facts}
        solution, least = separate(trade, gamma, start)
        before, after = (trade.problem.rows.times(w) > 0 for w in (trade.free.w, solution.w))
        mass = trade.problem.rows.share * trade.problem.rows.s * trade.problem.rows.total
        facts = {
            "gamma": gamma,
            "least_covariance": least,
            **solution.facts,
            "favoured_accepted_before": float(mass @ before),
            "favoured_accepted": float(mass @ after),
            "favoured_newly_rejected": float(mass @ (before & ~after)),
        }
        return solution, facts


def _di_facts(trade: Tradeoff, w: Floats) -> dict[str, float | int]:
    """Return loss and covariance without and with the constraint, and how far out the furthest row is."""
    problem = trade.problem
    total = trade.problem.rows.total
    before = problem.rows.times(trade.free.w)
    decisions = problem.rows.times(w)
    return {
        "loss_unconstrained": problem.value(trade.free.w, before) * total,
        "loss": problem.value(w, decisions) * total,
        "covariance_unconstrained": trade.covariance,
        "covariance": float(trade.a @ w),
        "largest_decision": float(np.abs(decisions).max()),
    }
