"""How often runs call twins different, which differ by chance alone, and show what was planted.

usage: python benchmarks/controls.py RESULTS [RESULTS ...]
       python benchmarks/controls.py --run OUT CONFIG [KEY=VALUE ...] [--seeds 1-10]

The first adds up the controls of folders of results that were run with `controls: true`: by kind of control
and of test rows, the comparisons, those that were called different with the interval that allows for
comparisons that hang together, and of planted changes the share that is shown next to the share that is
expected. Expected is that of a Poisson number of rows that are moved (`expected_share`).

The second makes such folders, OUT/SEED each: of a config's data sets, classifiers and worlds the plain model
alone, on which controls hang, with bootstrap twins of every data set instead of a tenth of the fits.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from fairbench_cli.experiment import plan as planning
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.read import find_config, read_config
from fairbench_cli.experiment.controls import PLANTED
from fairbench_cli.experiment.journal.folder import read_results
from fairbench_cli.experiment.running.run import compute, prepare, working_in
from fairbench_cli.experiment.running.worker import Task, Watch, run_task
from fairbench_cli.report.ledger.controls import (
    BOOTSTRAP_TWINS,
    COMPARED,
    NOISE_TWINS,
    PLANTED_EFFECT,
    SHOWN,
    collect_controls,
    compute_rates,
    controls_frame,
)
from fairbench_cli.report.ledger.inference import RowDesign
from fairbench_cli.report.ledger.population_tests import FRESH, SPLITS

PLAIN_ALONE = ("interventions=[none]", "controls=true", "figures=[]", "tables=[]")
ALL_FITS = 1000  # per cent of the fits: of every data set
ROWS_IN_WORDS = {FRESH: "fresh", SPLITS: "splits"}
LEVEL = 0.05
DRAWS = 4000


def main() -> None:
    """Run experiments, or add the controls of some up, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--run", nargs="+", metavar=("OUT", "CONFIG"))
    parser.add_argument("--seeds", default="1-10")
    options = parser.parse_args()
    folders = options.folders
    if options.run:
        out, config, *overrides = options.run
        low, _, high = options.seeds.partition("-")
        seeds = range(int(low), int(high or low) + 1)
        folders = [run_plain(Path(out) / str(seed), config, seed, overrides) for seed in seeds]
    print_sums(list(map(read_controls, folders)))


def run_plain(folder: Path, config: str, seed: int, overrides: Sequence[str]) -> Path:
    """Run the plain model of a config with its controls, in this process; return the folder of results."""
    planning.MOST_BOOTSTRAP = ALL_FITS
    experiment = read_config(find_config(config), (*PLAIN_ALONE, f"seed={seed}", *overrides))
    prepared = prepare(experiment, folder=folder)
    with working_in(prepared) as working:
        compute(working, _run_here, lambda _: None)
    return folder


def _run_here(tasks: Iterable[Task], _watch: Watch) -> Iterator[Repeat]:
    for task in tasks:
        yield run_task(task)


def read_controls(folder: Path) -> pd.DataFrame:
    """Return controls.csv of a folder of results, with the share of planted changes that is expected."""
    plan, reading = read_results(folder)
    frame = controls_frame(plan, reading.records)
    controls = collect_controls(plan.counted_by("true"), reading.records)
    expected = []
    for pair in controls.pairs:
        if pair.kind == PLANTED_EFFECT:
            data = controls.datasets[pair.dataset]
            counts = data.pair(data.counts, data.attribute).n[pair.theirs]
            n_deprived = counts[:, 0].sum(axis=(1, 2))
            n_deprived = n_deprived[np.isfinite(n_deprived)]
            expected.append(expected_share(n_deprived.mean(), len(n_deprived), data.design))
    is_planted = (frame["control"] == PLANTED_EFFECT).to_numpy()
    frame.loc[is_planted, "expected"] = expected
    return frame


def expected_share(n_deprived: float, repeats: int, design: RowDesign) -> float:
    """Return how often a planted change is shown at 5 %, by the number of deprived test rows of a repeat.

    How many of them are moved is a Poisson number. Where repeats share their rows it is one number k, whose
    standard error is its root; elsewhere each repeat has one, and the test of their mean is a t-test, on
    splits with the variance of Nadeau and Bengio. Differences that are all equal show nothing.

    >>> [round(expected_share(300, 5, RowDesign(kind)), 1) for kind in ("drawn", "shared")]
    [1.0, 0.8]
    """
    mean = PLANTED * n_deprived
    if design.kind == "shared":
        return float(stats.poisson.sf(np.floor(stats.norm.isf(LEVEL / 2) ** 2), mean))
    if repeats < 2:
        return np.nan
    n_moved = np.random.default_rng(0).poisson(mean, (DRAWS, repeats))
    error = np.sqrt(n_moved.var(axis=1, ddof=1) * (1 / repeats + design.ratio))
    quantile = stats.t.isf(LEVEL / 2, repeats - 1)
    return float(((error > 0) & (n_moved.mean(axis=1) > quantile * error)).mean())


def print_sums(frames: Sequence[pd.DataFrame]) -> None:
    """Print the sums by kind of control, kind of test rows and metric."""
    joined = pd.concat([frame.assign(run=i) for i, frame in enumerate(frames)], ignore_index=True)
    joined["rows"] = joined["basis"].map(ROWS_IN_WORDS).fillna("shared")
    print("control,rows,metric,compared,different,share,low,high,same")
    for control in (NOISE_TWINS, BOOTSTRAP_TWINS):
        of_control = joined[joined["control"] == control]
        for rows in (*dict.fromkeys(of_control["rows"]), "all"):
            of_rows = of_control[(of_control["rows"] == rows) | (rows == "all")]
            for metric in (*dict.fromkeys(of_rows["metric"]), "all"):
                selected = of_rows[(of_rows["metric"] == metric) | (metric == "all")]
                print(",".join([control, rows, metric, *_sum_up(selected)]))
    selected = joined[joined["control"].isin([NOISE_TWINS, BOOTSTRAP_TWINS])]
    print(",".join(["both", "all", "all", *_sum_up(selected)]))
    planted = joined[(joined["control"] == PLANTED_EFFECT) & joined["p"].notna()]
    print("\nplanted,rows,tested,shown,share,expected,standard error")
    for rows in (*dict.fromkeys(planted["rows"]), "all"):
        selected = planted[(planted["rows"] == rows) | (rows == "all")]
        shown = (selected["word"] == SHOWN).to_numpy()
        expected = selected["expected"].to_numpy(dtype=float)
        error = np.sqrt((expected * (1 - expected)).sum()) / max(len(selected), 1)
        numbers = f"{len(selected)},{shown.sum()},{shown.mean():.3f},{expected.mean():.3f},{error:.3f}"
        print(f"planted,{rows},{numbers}")


def _sum_up(frame: pd.DataFrame) -> list[str]:
    """Return how many comparisons there are, how many are called different, the share with its interval."""
    by_run = [frame[frame["run"] == run].drop(columns=["run", "rows"]) for run in frame["run"].unique()]
    rates = compute_rates(by_run)
    if not rates.n_compared:
        return ["0"]
    words = frame["word"][frame["word"].isin(COMPARED)]
    shares = [f"{number:.4f}" for number in (rates.share, rates.low, rates.high, (words == "same").mean())]
    return [str(rates.n_compared), str(rates.n_different), *shares]


if __name__ == "__main__":
    sys.exit(main())
