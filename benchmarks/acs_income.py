"""ACSIncome, 665,800 rows, beside pyAgrum and scikit-learn: read, code, learn, 30 draws, one C4.5 tree.

usage: FAIRBENCH_DATA=… FAIRBENCH_PEERS=… python benchmarks/acs_income.py [--rounds 3]

Each library runs in a process of its own, one thread; they take turns. CPU is that of the step, and the
peak that of the process during it, with all that it holds from before. Fairbench reads and codes the two
official files by the card. For scikit-learn pandas reads them and `OrdinalEncoder` numbers the values of each
column as they are; its trees have no bins and no pruning. pyAgrum is given fairbench's codes, and "read" is
what it takes to make a database of them; it learns by hill climbing with BIC. Learning is structure and
tables; a draw has as many rows as the data, and pyAgrum's stay in its own database.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from costs import cpu, forget_peak, head, in_turn, inside, peer, ratios, resident, row, spread

CARD = "acs-income"
DRAWS = 30
Step = tuple[str, Callable[[], str]]


def of_fairbench(codes: str) -> Iterator[Step]:
    """Yield the steps of fairbench."""
    import fairbench_cli as fb
    from fairbench_cli.classifiers.builders import C45Settings
    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.network.draw import sample
    from fairbench_cli.network.family_counts import fit_network
    from fairbench_cli.network.structure import LearnSettings, learn_structure

    held: dict[str, Any] = {}
    tree = Classifier(C45Settings(), include_protected=True, seed=0)
    tree.fit(fb.load("compas").sample())  # what is compiled at the first use is compiled now

    def read() -> str:
        held["data"] = fb.load(CARD)
        return f"{len(held['data']):,} rows"

    def learn() -> str:
        table = held["data"].table
        held["net"] = fit_network(table, learn_structure(table, LearnSettings()).parents)
        return f"{sum(map(len, held['net'].parents))} arcs"

    def draw() -> str:
        return f"{sum(len(sample(held['net'], len(held['data']), seed)) for seed in range(DRAWS)):,} rows"

    def grow() -> str:
        return f"{tree.fit(held['data'].sample()).estimator.tree_.n_leaves:,} leaves"

    yield "read and code", read
    yield "learn", learn
    yield f"{DRAWS} draws", draw
    yield "tree", grow
    table = held["data"].table
    np.savez(codes, codes=table.codes)


def of_sklearn(_: str) -> Iterator[Step]:
    """Yield the steps of scikit-learn."""
    import pandas as pd
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    held: dict[str, Any] = {}
    files = [
        Path(os.environ["FAIRBENCH_DATA"]) / f"ACSIncome.{part}.parquet" for part in ("test", "validation")
    ]

    def read() -> str:
        frame = pd.concat([pd.read_parquet(file) for file in files])
        held["y"] = frame.pop("PINCP").to_numpy()
        held["X"] = OrdinalEncoder().fit_transform(frame)
        return f"{len(frame):,} rows"

    def grow(least: int) -> str:
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=least, random_state=0)
        return f"{tree.fit(held['X'], held['y']).get_n_leaves():,} leaves"

    yield "read and code", read
    yield "tree", partial(grow, 1)
    yield "tree, 20 rows a leaf", partial(grow, 20)


def of_pyagrum(codes: str) -> Iterator[Step]:
    """Yield the steps of pyAgrum."""
    import pandas as pd
    import pyagrum

    held: dict[str, Any] = {}
    rows = np.load(codes)["codes"]

    def read() -> str:
        frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(rows.shape[1])])
        held["learner"] = pyagrum.BNLearner(frame)
        held["learner"].useGreedyHillClimbing()
        held["learner"].useScoreBIC()
        held["learner"].useNoPrior()
        return f"{len(rows):,} rows"

    def learn() -> str:
        arcs = held["learner"].learnDAG()
        held["learner"].useSmoothingPrior(1e-6)  # without any it refuses parents that no row has
        held["net"] = held["learner"].learnParameters(arcs)
        return f"{held['net'].sizeArcs()} arcs"

    def draw() -> str:
        generator = pyagrum.BNDatabaseGenerator(held["net"])
        for _ in range(DRAWS):
            generator.drawSamples(len(rows))
        return f"{DRAWS * len(rows):,} rows"

    yield "read an array", read
    yield "learn", learn
    yield f"{DRAWS} draws", draw


LIBRARIES = {"fairbench": of_fairbench, "scikit-learn": of_sklearn, "pyagrum": of_pyagrum}


def one(name: str, codes: str) -> dict[str, tuple[float, float, str]]:
    """Do the steps of a library: CPU seconds and peak MB of each, and what came out."""
    found = {}
    for step, work in LIBRARIES[name](codes):
        forget_peak()
        start = cpu()
        result = work()
        found[step] = cpu() - start, resident("VmHWM"), result
    return found


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    pythons = {name: sys.executable if name != "pyagrum" else peer(name) for name in LIBRARIES}
    with tempfile.TemporaryDirectory() as folder:
        codes = str(Path(folder) / "codes.npz")
        works = {
            name: partial(inside, python, __file__, "--one", name, codes)
            for name, python in pythons.items()
            if python
        }
        found = in_turn(works, rounds)
    head("step:", "library:", "CPU s", "times fairbench's", "peak MB", "what came out:")
    for name, each in found.items():
        for step in each[0]:
            own = (
                step if step in found["fairbench"][0] else step.split(",")[0].replace("an array", "and code")
            )
            times, peaks = ([float(run[step][k]) for run in each] for k in (0, 1))
            times_ours = spread(ratios([run[own][0] for run in found["fairbench"]], times), 1)
            row(step, name, spread(times), times_ours, f"{max(peaks):.0f}", each[0][step][2])


if __name__ == "__main__":
    main()
