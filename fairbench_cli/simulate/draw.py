"""Decisions with a known degree of discrimination (Žliobaitė 2017, §4), and what the metrics make of them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.checksums import seed_of
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.repeats import mean_and_interval
from fairbench_cli.simulate.config import Simulation

COLUMNS = ["deprived", "accepted", "truth", "metric", "mean", "sd", "low", "high", "n_ok", "n", "pooled"]


@dataclass(frozen=True)
class Setting:
    """What decides how a run is distributed.

    Parameters
    ----------
    rows : int
        Individuals.
    deprived : float
        P(s=g): share of the rows that is deprived, to the nearest row.
    accepted : float
        P(+): share of the rows that is accepted, to the nearest row.
    truth : float
        Degree of discrimination d in [−1, 1]: the share |d| of the rows is sorted by group.
    """

    rows: int
    deprived: float
    accepted: float
    truth: float


def draw_decisions(setting: Setting, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one run: the numbers of refused and accepted rows of the deprived and of the favoured.

    Row by row, this is what happens. Scores are uniform, and who is deprived is drawn independently of
    them. A share |d| of the rows is chosen at random, and *their* scores are dealt among them again: the
    highest go to the favoured among them (to the deprived if d < 0), the rest to the others. The other rows
    keep their scores. Then the rows with the highest scores, a share P(+), are accepted.

    At d = 1 every favoured row is above every deprived one; at d = 0 scores and groups are independent. In
    between, chosen rows are discriminated against as much as can be and the others not at all, so that the
    mean difference is |d| times the largest that P(+) and P(s=g) allow, and δ is d. Lifting the chosen above
    all others, another way to read "get the top scores", would not do: as soon as P(+) of the rows are
    favoured and chosen, only they are accepted, and δ is 1 long before d is.

    Of all this, three numbers decide who is accepted, and these are drawn instead of the rows. All three are
    hypergeometric:

    * favoured among the chosen, for the choice does not know the groups;
    * accepted among the chosen, for dealing their scores again leaves them their scores, and the choice does
      not know the scores. Who of the chosen is accepted then follows from their order;
    * favoured among the accepted others, for the scores of the others do not know the groups.

    ``tests/simulate`` holds this against rows that are sorted one by one.

    Parameters
    ----------
    setting : Setting
        The distribution.
    rng : numpy Generator
        Three numbers are drawn from it.

    Returns
    -------
    int64 array, shape (2, 2)
        By group (deprived, favoured) and decision (refused, accepted).

    Examples
    --------
    >>> draw_decisions(Setting(10_000, 0.5, 0.3, 1.0), np.random.default_rng(0))[0].tolist()
    [5000, 0]
    """
    n, chosen = setting.rows, round(abs(setting.truth) * setting.rows)
    accepted = round(setting.accepted * n)
    favoured = n - round(setting.deprived * n)
    favoured_chosen = int(rng.hypergeometric(favoured, n - favoured, chosen))
    accepted_chosen = int(rng.hypergeometric(chosen, n - chosen, accepted))
    favoured_others = favoured - favoured_chosen
    from_others = int(
        rng.hypergeometric(favoured_others, n - chosen - favoured_others, accepted - accepted_chosen)
    )
    deprived_chosen = chosen - favoured_chosen
    if setting.truth >= 0:
        from_chosen = min(favoured_chosen, accepted_chosen)
    else:
        from_chosen = max(0, accepted_chosen - deprived_chosen)
    above = from_chosen + from_others
    return np.array([[n - favoured - accepted + above, accepted - above], [favoured - above, above]])


def counts_of(decisions: NDArray[np.int64]) -> Counts:
    """Return decisions of shape (..., group, decision) as counts for the measures.

    Nothing but the decision is known of a simulated row, so its label is its decision.
    """
    n: Floats = np.zeros((*decisions.shape, 2))
    for decision in (0, 1):
        n[..., decision, decision] = decisions[..., decision]
    return Counts(PAIR, n)


def simulate(simulation: Simulation, listen: Callable[[int, int], None]) -> pd.DataFrame:
    """Run a simulation.

    Parameters
    ----------
    simulation : Simulation
        What to run.
    listen : callable
        Called after every setting of P(s=g) and P(+) with how many are done, and of how many.

    Returns
    -------
    DataFrame
        `COLUMNS`, one row per P(s=g), P(+), truth and metric: mean, sd and 95 % t-interval over the runs, how
        many runs
        gave a value and how many there are, and `pooled`, the measure of the rows of all runs together. A
        mean is infinite as soon as one run is.
    """
    settings = list(product(simulation.deprived, simulation.accepted))
    parts = []
    for done, (deprived, accepted) in enumerate(settings, start=1):
        parts.append(_frame(simulation, deprived, accepted))
        listen(done, len(settings))
    return pd.concat(parts, ignore_index=True)


def decisions_of(simulation: Simulation, setting: Setting) -> NDArray[np.int64]:
    """Draw all runs of a setting: shape (runs, group, decision).

    The seed of a run is a hash of base seed, setting and run, so that more runs keep the first ones.
    """
    head = (simulation.seed, "simulate", setting.rows, setting.deprived, setting.accepted, setting.truth)
    seeds = (seed_of(*head, run) for run in range(simulation.runs))
    return np.stack([draw_decisions(setting, np.random.default_rng(seed)) for seed in seeds])


def _frame(simulation: Simulation, deprived: float, accepted: float) -> pd.DataFrame:
    settings = (Setting(simulation.rows, deprived, accepted, truth) for truth in simulation.truth)
    decisions = np.stack([decisions_of(simulation, setting) for setting in settings])
    each, together = counts_of(decisions), counts_of(decisions.sum(1))
    frames = []
    for metric in simulation.metrics:
        numbers = mean_and_interval(measure(metric, each)) | {"pooled": measure(metric, together)}
        frames.append(pd.DataFrame({"truth": simulation.truth, "metric": metric} | numbers))
    tidy = pd.concat(frames).sort_values("truth", kind="stable")
    return tidy.assign(deprived=deprived, accepted=accepted, n=simulation.runs)[COLUMNS]
