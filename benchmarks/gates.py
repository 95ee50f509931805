"""How often a gate of ``fairbench audit`` stops: on fair files, planted failures, better and worse models.

``python benchmarks/gates.py [runs] [seed] [command]`` prints a line of each kind of world, with Wilson's
interval; of the first so many worlds of a line the command itself is run, too, and has to do the same.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.report import Gate, Report
from fairbench_cli.audit.config import AuditConfig, PlanConfig
from fairbench_cli.audit.planning import make_plan
from fairbench_cli.audit.scan.slices import BeforeAfter, Slice, Tally
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.paired_change import TwoSides
from fairbench_cli.measures.score_test import wilson_interval

GROUPS = "abcdef"
SIZES = (200, 600, 1500, 6000)
STICKY = 0.8  # of the rows a second model decides by the same number as the first


@dataclass(frozen=True)
class World:
    """Rows by group, label, decision before and decision after; where one model decides, both are alike."""

    rows: np.ndarray
    labelled: bool = True
    command: tuple[str, ...] = ("--fail",)


def judge_world(world: World) -> Report:
    """Audit a world by its counts."""
    groups = tuple(GROUPS[: len(world.rows)])
    names = [name for flag, name in zip(world.command, world.command[1:], strict=False) if flag == "-m"]
    config = AuditConfig(references={"g": "a"}, draws=0).model_copy(update={"metrics": tuple(names)})

    def side(model: str, rows: np.ndarray) -> Slice:
        counts = Counts(groups, rows.astype(float))
        return Slice(model, "binary", "g", counts, rows, rows.astype(float), world.labelled)

    if "--fail" in world.command:
        config = config.model_copy(update={"fail": True})
        return judge(Tally("rows", int(world.rows.sum()), (side("", world.rows.sum(2)),)), config)
    config = config.model_copy(update={"scores": ("old", "new"), "failing_metrics": ("worse",)})
    cells = world.rows.reshape(len(groups), 8).astype(float)
    sides = TwoSides(cells, cells, cells, paired=True)
    pair = BeforeAfter("old", "new", "g", groups, sides, world.labelled, intersection=False)
    tally = Tally("rows", int(cells.sum()), (side("new", world.rows.sum(2)),), last="new")
    return judge(tally, config, {"changes": (pair,)})


def run_command(world: World) -> bool:
    """Return whether the command stops on the world's rows."""
    group, label, before, after = (
        index.repeat(world.rows.ravel()) for index in np.indices(world.rows.shape).reshape(4, -1)
    )
    frame = pd.DataFrame({"g": np.array(list(GROUPS))[group], "old": before, "new": after})
    models = ["--score", "new"] if "--fail" in world.command else ["--score", "old", "--score", "new"]
    if world.labelled:
        frame, models = frame.assign(y=label), [*models, "--label", "y"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.to_csv(path, index=False)
        words = ["fairbench", "audit", str(path), "-a", "g", "--ref", "g=a", *models, *world.command]
        code = subprocess.run(words, capture_output=True, check=False).returncode
    if code not in (0, 1):
        raise RuntimeError(f"exit code {code}: {' '.join(words)}")
    return bool(code)


def draw(
    rng: np.random.Generator, n: int, base: list[float], before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """Return rows of groups with these shares of label 1 and chances of selection by group and label."""
    shares = 0.4 / len(base) + 0.6 * rng.dirichlet(np.full(len(base), 3.0))
    sizes = rng.multinomial(n, np.sort(shares)[::-1])
    rows = np.zeros((len(base), 2, 2, 2), dtype=np.int64)
    for i, size in enumerate(sizes):
        for y, n_label in enumerate(rng.multinomial(size, [1 - base[i], base[i]])):
            p, q = before[i, y], after[i, y]
            both = STICKY * min(p, q) + (1 - STICKY) * p * q
            rows[i, y] = rng.multinomial(n_label, [1 - p - q + both, q - both, p - both, both]).reshape(2, 2)
    return rows


def fair(n: int, *, labelled: bool) -> Callable[[np.random.Generator], World]:
    """Return worlds of 2 to 6 groups that are alike."""

    def world(rng: np.random.Generator) -> World:
        k = int(rng.integers(2, 7))
        chances = np.tile(np.sort(rng.uniform(0.1, 0.9, 2)), (k, 1))
        rows = draw(rng, n, [rng.uniform(0.2, 0.8)] * k, chances, chances)
        if not labelled:
            rows = np.stack([rows.sum(1), 0 * rows.sum(1)], axis=1)
        return World(rows, labelled)

    return world


def planted(n: int, rate: float, ratio: float) -> Callable[[np.random.Generator], World]:
    """Return worlds without labels of two groups of `n`, the second selected at so many times the rate."""

    def world(rng: np.random.Generator) -> World:
        selected = rng.binomial(n, [rate, rate * ratio])
        rows = np.zeros((2, 2, 2, 2), dtype=np.int64)
        rows[:, 0, 0, 0], rows[:, 0, 1, 1] = n - selected, selected
        return World(rows, labelled=False)

    return world


def changed(n: int, kind: str, *names: str) -> Callable[[np.random.Generator], World]:
    """Return worlds of two models: every gap of selection, FPR and FNR "shrinks", stays or, of one, "grows".

    Groups have fewer people with label 1 than the reference, as in most files: what closes these gaps opens
    that of the false omission rate.
    """

    def world(rng: np.random.Generator) -> World:
        k = int(rng.integers(2, 5))
        fpr, tpr = rng.uniform(0.2, 0.4), rng.uniform(0.7, 0.9)
        base = [0.6, *rng.uniform(0.3, 0.6, k - 1)]
        level = np.concatenate([[1.0], rng.uniform(0.55, 0.9, k - 1)])
        before, after = level.copy(), level.copy()
        if kind == "shrinks":
            after = level + (1 - level) * np.concatenate([[0.0], rng.uniform(0.1, 1.0, k - 1)])
        elif kind == "grows":
            after[-1] -= 0.2
        chances = np.array([fpr, tpr])
        rows = draw(rng, n, base, np.outer(before, chances), np.outer(after, chances))
        return World(rows, command=("--fail-on", "worse", *(word for name in names for word in ("-m", name))))

    return world


def share_text(n: int, runs: int) -> str:
    """Return a share with its interval."""
    low, high = (float(limit) for limit in wilson_interval(n, runs))
    return f"{n / runs:.3f} ({low:.3f} to {high:.3f})"


def simulate(
    draw_world: Callable[[np.random.Generator], World], seed: list[int], runs: int, command: int
) -> str:
    """Return how often the gate stops, what does not stop is not decided, and any rate became worse."""
    rng = np.random.default_rng(seed)
    gates: list[Gate] = []
    n_any = 0
    for run in range(runs):
        world = draw_world(rng)
        report = judge_world(world)
        gates.append(report.gate)
        found = report.found.get("changes")
        n_any += found is not None and any(row.deciding and row.word == "worse" for row in found.changes)
        if run < command and run_command(world) != report.gate.stops:
            raise RuntimeError(f"the command does another thing than the gate: {world}")
    stops = share_text(sum(gate.stops for gate in gates), runs)
    undecided = sum(bool(gate.undecided) and not gate.stops for gate in gates) / runs
    return f"{stops} | {undecided:.3f} | {n_any / runs:.3f} |"


def one_model(runs: int, seed: int, command: int) -> Iterator[str]:
    """Yield the lines of fair files and of planted failures."""
    for n in SIZES:
        for labelled in (True, False):
            name = f"fair, 2 to 6 groups, {'labels' if labelled else 'no labels'}"
            stops = simulate(fair(n, labelled=labelled), [seed, n, labelled], runs, command)
            yield f"| {name} | {n} | {stops}"
    config = PlanConfig(rate=(0.4,), ratio=(0.5, 0.6, 0.7, 1.6))
    for row in make_plan("a=300,b=300", config).needed:
        if row.verdict == "fail":
            name = f"{row.ratio} times the rate of .4; `power` says {row.chance:.3f}"
            worlds = planted(round(row.rows), row.rate, row.ratio)
            yield f"| {name} | {round(row.all_rows)} | {simulate(worlds, [seed, 1], runs, command)}"


def two_models(runs: int, seed: int, command: int) -> Iterator[str]:
    """Yield the lines of better, equal and worse models."""
    for kind in ("shrinks", "stays", "grows"):
        for names in ((), ("fpr", "fnr")):
            for n in (SIZES[1], SIZES[-1]):
                name = f"two models, a gap {kind}, by {' and '.join(names) or 'the selection rate'}"
                yield f"| {name} | {n} | {simulate(changed(n, kind, *names), [seed, n], runs, command)}"


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    numbers += (1000, 53, 0)[len(numbers) :]
    print("| world | rows | stops | else not decided | a rate that decides is worse |\n|---|---|---|---|---|")
    for table in (one_model, two_models):
        for line in table(*numbers):
            print(line, flush=True)
