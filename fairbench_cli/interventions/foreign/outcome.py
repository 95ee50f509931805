"""What a library's fitted object says about how its fit went."""

from typing import Any

import numpy as np

from fairbench_cli.interventions.fitted import Fitted, Infeasible, Predictor

DRAWN = "its decisions are counted as drawn: it gives no probability of them"

# Numbers worth keeping, by the attributes under which fairlearn has them.
FACTS = {"best_gap": "best_gap_", "oracle_calls": "n_oracle_calls_", "chosen": "best_idx_"}


def fitted(model: Predictor, thing: Any, trouble: str = "") -> Fitted:
    """Return a model with what its object says; ``degraded`` where it did not converge, or for `trouble`.

    Raises
    ------
    Infeasible
        When the object has no solution; see `require_solution`.
    """
    require_solution(thing)
    reasons = "; ".join(filter(None, (not_converged(thing), trouble)))
    return Fitted(model, "degraded" if reasons else "ok", reasons, facts_of(thing))


def facts_of(thing: Any) -> dict[str, float | int]:
    """Return the numbers that say what a fairlearn object did."""
    found = {name: getattr(thing, key) for name, key in FACTS.items() if hasattr(thing, key)}
    facts = {name: np.asarray(value).item() for name, value in found.items()}
    if hasattr(thing, "predictors_"):
        weights = getattr(thing, "weights_", None)
        facts["models"] = len(thing.predictors_) if weights is None else int((np.asarray(weights) > 0).sum())
    return facts


def not_converged(thing: Any) -> str:
    """Return a message if an exponentiated gradient did not converge in its iterations; otherwise ""."""
    iterations = getattr(thing, "last_iter_", -1) + 1
    if not iterations or iterations < thing.max_iter or thing.best_gap_ < thing.nu:
        return ""
    gap = f"the gap is {thing.best_gap_:.2g}, not below {thing.nu:.2g}"
    return f"not converged in {iterations} iterations: {gap}"


def require_solution(thing: Any) -> None:
    """Raise `Infeasible` where an AIF360 object goes on without a solution.

    Calibrated equalised odds mixes at rates that may be none (above 1, infinite), and the search for a reject
    option takes its first setting where no setting is fair enough.
    """
    rates = getattr(thing, "mix_rates_", None)
    if rates is not None and not all(0 <= rate <= 1 for rate in rates):
        listed = ", ".join(f"{rate:.3g}" for rate in rates)
        raise Infeasible(f"no mixture of decisions equalises the groups' costs (its rates would be {listed})")
    metric = getattr(thing, "scorer_name_", None)
    if metric in ("statistical_parity", "average_odds", "equal_opportunity", "disparate_impact"):
        scores = np.asarray(thing.cv_results_[f"mean_test_{metric}"])
        if not (scores >= (0.8 if metric == "disparate_impact" else -0.1)).any():
            raise Infeasible(f"no setting that was tried comes within its bound on {metric}")
