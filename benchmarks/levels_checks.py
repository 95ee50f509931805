"""How often an audit's first sentence names a group wrongly, and what a run could show, by simulation.

``python benchmarks/levels_checks.py RESULTS`` draws the comparisons of a run 1,000 times, each about what was
found with its own error, and one after the other about a change of two points: how often that is shown after
Holm, beside the power that the answer says.

``python benchmarks/levels_checks.py [runs] [ratio ...]`` draws worlds where the last group is selected at so
many times the rate of the others (1: nobody is worse off) and prints a line of each, with Wilson's interval.
``python benchmarks/levels_checks.py shares [runs]`` draws runs of three techniques that accept as many people
as ``none``, and prints how often one is said to accept another share.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
from scipy.special import stdtr

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.slices import Ones, Slice, Tally
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.decisions import packed
from fairbench_cli.experiment.journal.folder import read_repeats
from fairbench_cli.experiment.plan import RunPlan, read_plan
from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.measures.significance import holm
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS
from fairbench_cli.report.ledger.paired_differences import LEVEL, SENSITIVITY, run_paired_frame
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.ledger.sensitivity import Sensitivity
from fairbench_cli.report.ledger.shares import shares_frame
from fairbench_cli.report.write import results_of_folder

SHARES = ((0.5, 0.5), (0.85, 0.15), (0.34, 0.33, 0.33), (0.7, 0.2, 0.1))
HIRED = Ones(values=(("hired", ("1",)),))
NAMED = re.compile(r"(?:so|disadvantage of) (\w+)(?= are worse off|\.)")


def share_text(n: int, runs: int) -> str:
    """Return a share with its interval."""
    low, high = (float(limit) for limit in wilson_interval(n, runs))
    return f"{n / runs:.3f} ({low:.3f}-{high:.3f})"


def named(
    rng: np.random.Generator, n: int, shares: Sequence[float], ratio: float, *, labels: bool
) -> set[str]:
    """Return whom the answer calls worse off, where the last group is selected `ratio` times as often.

    With labels, people who should be selected are so twice as often as others, in all groups.
    """
    rows = np.zeros((len(shares), 2, 2), dtype=np.int64)
    for i, size in enumerate(rng.multinomial(n, shares)):
        rate = 0.4 * (ratio if i == len(shares) - 1 else 1)
        low, high = (rate * 2 / 3, rate * 4 / 3) if labels else (rate, 1.0)
        own = (
            np.array([[1 - low, low], [1 - high, high]]) / 2 if labels else np.array([[1 - low, low], [0, 0]])
        )
        rows[i] = rng.multinomial(size, own.ravel()).reshape(2, 2)
    counts = Counts(tuple("ghi"[: len(shares)]), rows.astype(float))
    part = Slice("", "binary", "a", counts, rows, rows.astype(float), labels)
    answer = headline(judge(Tally("rows", n, (part,), ones=HIRED), AuditConfig(min_group=1)))
    texts = [answer.message, *(sentence.text for sentence in answer.sentences)]
    return {group for text in texts for group in NAMED.findall(text)}


def powers(run: RunResults, draws: int = 1000, size: float = 0.02) -> Iterator[tuple[str, float, float]]:
    """Yield each data set, the mean power of its comparisons as the answer says it, and as it is drawn."""
    frame = run_paired_frame(run).dropna(subset="population_p")
    rng = np.random.default_rng(1)
    for name, rows in frame[frame["metric"] == "discrimination"].groupby("dataset"):
        error, freedom, n_open = (rows[name].to_numpy() for name in SENSITIVITY)
        said = [Sensitivity(*row).power(size) for row in zip(error, freedom, n_open, strict=True)]
        drawn = []
        for i in range(len(rows)):
            true = rows["distance_difference"].to_numpy(copy=True)
            true[i] = size
            spread = np.sqrt(rng.chisquare(freedom, (draws, len(rows))) / freedom)
            t = rng.normal(true, error, (draws, len(rows))) / (error * spread)
            drawn.append(np.mean([holm(p)[i] < LEVEL for p in 2 * stdtr(freedom, -np.abs(t))]))
        yield str(name), float(np.mean(said)), float(np.mean(drawn))


def name_rates(runs: int, ratios: Sequence[float]) -> Iterator[str]:
    """Yield lines: how often a group is named, in unfair worlds the wrong one."""
    for ratio in ratios:
        for labels in (False, True):
            for shares in SHARES:
                for n in (40, 120, 400):
                    rng = np.random.default_rng(
                        [n, len(shares), int(100 * shares[0]), labels, int(10 * ratio)]
                    )
                    told = [named(rng, n, shares, ratio, labels=labels) for _ in range(runs)]
                    right = {"ghi"[len(shares) - 1]}
                    wrong = sum(bool(names - right if ratio < 1 else names) for names in told)
                    world = f"| {ratio} | {'labels' if labels else '–'} | {shares} | {n} |"
                    line = f"{world} {share_text(wrong, runs)} |"
                    yield line + (f" {sum(bool(names) for names in told) / runs:.3f} |" if ratio < 1 else "")


DESIGNS = {
    "drawn": {"sample": {"from": "shipped"}, "test": "network"},
    "shared": {"sample": {"from": "shipped"}, "test": "original"},
    "splits": {"sample": {"from": "data", "train_fraction": 0.5}, "test": "holdout"},
}
"""How the test rows of the repeats hang together, by the config."""
TECHNIQUES = ("none", "a", "b", "c")


def share_run(rng: np.random.Generator, design: str, repeats: int, n: int, worlds: int) -> RunResults:
    """Return a run whose techniques accept 30 % of each group, give or take what training does.

    Each world is a data set. A technique decides on a row as ``none`` does, but for a part of its own.
    """
    config = ExperimentConfig.model_validate(
        {"name": "x", "datasets": ["adult"], "interventions": list(TECHNIQUES), "classifiers": ["c45"]}
        | {"metrics": ["discrimination", "accuracy"], "repeats": repeats}
        | DESIGNS[design]
    )
    cell = dict.fromkeys(CELL_COLUMNS, "") | {"attribute": "s", "parameters": "{}", "beta": 0.0}
    cell["include_protected"] = False
    levels = {"name": "s", "levels": PAIR, "deprived": PAIR[:1], "favoured": PAIR[1:]}
    cells = []
    sources = []
    records = {}
    pool = 2 * n if design == "splits" else n
    for world in map(str, range(worlds)):
        sources.append({"dataset": world, "attribute": "s", "edited_column": "s", "protected": [levels]})
        for name in TECHNIQUES:
            cells.append(cell | {"dataset": world, "intervention": name, "key": f"{world} {name}"})
        for repeat in range(repeats):
            if not repeat or design == "drawn":
                strata = np.sort(rng.integers(0, 4, pool))  # rows by group, then label
                common = rng.normal(size=pool)
            tested = np.sort(rng.choice(pool, n, replace=False)) if design == "splits" else np.arange(n)
            for name in TECHNIQUES:
                score = common if name == "none" else 0.8 * common + 0.6 * rng.normal(size=pool)
                cut = NormalDist().inv_cdf(1 - float(np.clip(rng.normal(0.3, 0.03), 0.05, 0.95)))
                decided = (score > cut).astype(int)[tested]
                counts = count(strata[tested] // 2, strata[tested] % 2, decided, PAIR)
                kept = packed(decided, 0) if design == "shared" else None
                key = f"{world} {name}"
                records[key, repeat] = Repeat(key, repeat, "ok", "", counts, decisions=kept)
    return run_results(Path(), RunPlan(config, sources, cells), records, ("discrimination", "accuracy"))


def share_rates(runs: int, repeats: Sequence[int] = (3, 5, 10)) -> Iterator[str]:
    """Yield lines: how often some technique is said to accept another share, which none does."""
    for design, n_repeats, n in product(DESIGNS, repeats, (100, 300, 1000)):
        rng = np.random.default_rng([n, n_repeats, len(design)])
        told = 0
        for worlds in [100] * (runs // 100) + [runs % 100] * (runs % 100 > 0):
            frame = shares_frame(share_run(rng, design, n_repeats, n, worlds))
            told += int(frame.groupby("dataset")["differs"].any().sum())
        yield f"| {design} | {n_repeats} | {n} | {share_text(told, runs)} |"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] and Path(sys.argv[1]).is_dir() else None
    if folder:
        plan = read_plan(folder)
        for line in powers(results_of_folder(folder, plan, read_repeats(folder, plan).records)):
            print("{}: said {:.3f}, drawn {:.3f}".format(*line))
        sys.exit()
    if sys.argv[1:2] == ["shares"]:
        for row in share_rates(int((sys.argv[2:] or ["1000"])[0])):
            print(row, flush=True)
        raise SystemExit
    given = [float(text) for text in sys.argv[1:]] or [1000.0]
    for row in name_rates(int(given[0]), given[1:] or (1.0, 0.8)):
        print(row)
