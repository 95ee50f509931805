"""How cost grows with rows, repeats and workers: CPU seconds and, of the last lines, the slope in logarithms.

usage: python benchmarks/growth.py [rows | repeats | workers] [--most 3000000] [--rounds 3]

Rows are drawn from the shipped network of Adult. Structure learning (hill climbing, BIC), sampling, C4.5 and
massaging with naive Bayes, and the audit of a CSV file, are calls in one process, after a first one. A slope
of 1 is a straight line: ten times the rows, ten times the cost.
Repeats and workers: runs of one cell of 500 rows; CPU and peak memory of the parent, CPU of its workers.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from costs import cpu, head, inside, row, seconds, whole
from predictions import made, write

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
REPEATS = (10, 100, 1000)
NETWORK = Path(__file__).parents[1] / "datasets" / "adult.network.json"
CONFIG = """
name: growth
seed: 1
repeats: {repeats}
datasets: [compas]
sample: {{from: shipped, beta: 0, size: 500}}
test: network
interventions: [none]
classifiers: [naive-bayes]
"""
PARENT = """
import json, resource, sys
from fairbench_cli.cli.app import run
if run(sys.argv[1:]):
    sys.exit("the run failed")
used, workers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
times = used.ru_utime + used.ru_stime, workers.ru_utime + workers.ru_stime
print(json.dumps([*times, used.ru_maxrss / 1024]))
"""


def calls(n: int, folder: Path) -> dict[str, Callable[[], object]]:
    """Return what is timed for a number of rows."""
    import fairbench_cli as fb
    from fairbench_cli.classifiers.builders import NaiveBayes
    from fairbench_cli.classifiers.c45 import C45
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.data.card import find_card, read_card
    from fairbench_cli.data.table import to_sample
    from fairbench_cli.interventions.preprocessing import Massaging
    from fairbench_cli.network.draw import sample
    from fairbench_cli.network.files import load
    from fairbench_cli.network.structure import LearnSettings, learn_structure

    net = load(NETWORK)[0]
    table = sample(net, n, 1)
    roles = read_card(find_card("adult")).roles("sex", {own.name: own.levels for own in net.columns})
    train = to_sample(table, roles)
    codes = np.ascontiguousarray(train.features.codes)
    classifier = Classifier(NaiveBayes(), include_protected=False, seed=0)
    predictions = folder / f"{n}.csv"
    write(predictions, made(n))
    return {
        "structure learning": lambda: learn_structure(table, LearnSettings()),
        "sampling": lambda: sample(net, n, 2),
        "C4.5": lambda: C45(levels=train.features.level_counts).fit(codes, train.y),
        "massaging": lambda: Massaging().fit(train, classifier, np.random.default_rng(0)),
        "audit": lambda: fb.audit(predictions),
    }


def slopes(sizes: list[int], costs: list[float]) -> str:
    """Write by which power of the size the cost grows from one size to the next."""
    pairs = zip(zip(sizes, costs, strict=True), zip(sizes[1:], costs[1:], strict=True), strict=False)
    found = [math.log(more / less) / math.log(large / small) for (small, less), (large, more) in pairs]
    return ", ".join(f"{each:.2f}" for each in found)


def by_rows(most: int, rounds: int) -> None:
    """Print the cost of each work by rows."""
    sizes = [n for n in ROWS if n <= most]
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for work in calls(1_000, Path(place)).values():
            work()
        for n in sizes:
            for name, work in calls(n, Path(place)).items():
                found.setdefault(name, []).append(median(seconds(work) for _ in range(rounds)))
    head("CPU s:", *(f"{n:,}" for n in sizes), "slopes:")
    for name, costs in found.items():
        row(name, *(f"{each:.3f}" for each in costs), slopes(sizes, costs))


def ran(folder: Path, repeats: int, jobs: int) -> dict[str, float]:
    """Run so many repeats of one cell, report on them and read their journal."""
    config, results = folder / "growth.yaml", folder / "results"
    config.write_text(CONFIG.format(repeats=repeats))
    start = time.perf_counter()
    arguments = ["run", str(config), "-o", str(results), "--jobs", str(jobs), "--quiet"]
    parent, workers, peak = inside(sys.executable, "-c", PARENT, *arguments)
    wall = time.perf_counter() - start
    report = whole([sys.executable, "-m", "fairbench_cli", "report", str(results)])
    reading = inside(sys.executable, __file__, "--read", results)
    return {
        "parent": parent,
        "workers": workers,
        "peak": peak,
        "wall": wall,
        "report": report.cpu,
        "report peak": report.peak,
        "reading": reading,
    }


def runs(cases: list[tuple[int, int]], rounds: int) -> None:
    """Print the cost of runs of so many repeats on so many workers, medians."""
    titles = {
        "wall s": ("wall", 2),
        "parent, CPU s": ("parent", 2),
        "workers, CPU s": ("workers", 2),
        "parent, peak MB": ("peak", 0),
        "report, CPU s": ("report", 2),
        "report, peak MB": ("report peak", 0),
        "reading the journal, CPU s": ("reading", 4),
    }
    head("repeats", "workers", *titles)
    for repeats, jobs in cases:
        found: list[dict[str, float]] = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                found.append(ran(Path(folder), repeats, jobs))
        row(repeats, jobs, *(f"{median(one[key] for one in found):.{d}f}" for key, d in titles.values()))


def read(results: str) -> float:
    """Return the CPU seconds of reading a folder's journals."""
    from fairbench_cli.experiment.journal.journal import read_journals

    start = cpu()
    read_journals(Path(results) / "journal")
    return cpu() - start


def main() -> None:
    """Print the tables asked for."""
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(read(sys.argv[2])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["rows", "repeats", "workers"])
    parser.add_argument("--most", type=int, default=ROWS[-1], help="rows")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.part in (None, "rows"):
        by_rows(given.most, given.rounds)
    if given.part in (None, "repeats"):
        runs([(repeats, 1) for repeats in REPEATS], given.rounds)
    if given.part in (None, "workers"):
        runs([(REPEATS[-1], jobs) for jobs in (1, 2)], given.rounds)


if __name__ == "__main__":
    main()
