"""All runs of a simulation, and the tidy frame of what the measures make of them."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.experiment.seeds import seed_of
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.results import mean_and_interval
from fairbench_cli.simulate.config import Simulation
from fairbench_cli.simulate.draw import Setting, counts_of, draw_decisions

AXES = ["deprived", "accepted", "truth", "metric"]
COLUMNS = [*AXES, "mean", "sd", "low", "high", "n_ok", "n", "pooled"]


def simulate(simulation: Simulation, listen: Callable[[int, int], None]) -> pd.DataFrame:
    """Run a simulation.

    Parameters
    ----------
    simulation : Simulation
        What to run.
    listen : callable
        Is told after every setting of P(s=g) and P(+) how many are done, and of how many.

    Returns
    -------
    DataFrame
        One row per P(s=g), P(+), truth and metric: mean, sd and 95 % t-interval over the runs, how many runs
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
    s = setting
    head = (simulation.seed, "simulate", s.rows, s.deprived, s.accepted, s.truth)
    return np.stack(
        [draw_decisions(s, np.random.default_rng(seed_of(*head, run))) for run in range(simulation.runs)]
    )


def _frame(simulation: Simulation, deprived: float, accepted: float) -> pd.DataFrame:
    decisions = np.stack(
        [
            decisions_of(simulation, Setting(simulation.rows, deprived, accepted, truth))
            for truth in simulation.truths
        ]
    )
    each, together = counts_of(decisions), counts_of(decisions.sum(1))
    frames = []
    for rank, metric in enumerate(simulation.metrics):
        columns = mean_and_interval(measure(metric, each)) | {"pooled": measure(metric, together)}
        frame = pd.DataFrame({"truth": simulation.truths, "metric": metric, "rank": rank} | columns)
        frames.append(frame.assign(deprived=deprived, accepted=accepted, n=simulation.runs))
    tidy = pd.concat(frames).sort_values(["truth", "rank"], kind="stable")
    return tidy[COLUMNS]
