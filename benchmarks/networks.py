"""Structure learning and sampling beside pyAgrum, pgmpy and pomegranate: CPU, and the BIC that is reached.

usage: FAIRBENCH_DATA=… FAIRBENCH_PEERS=… python benchmarks/networks.py [structure | sampling] [--rounds 5]

Structure: hill climbing with BIC from an empty graph over all columns of a card, no limits; the BIC of each
library's arcs is computed by fairbench. Sampling: rows of the shipped network of Adult, 13 columns. Each
library runs in a process of its own, one thread, which first does the same on few rows; they take turns round
by round. CPU is that of the call, without imports; a column adds what a library takes to read an array in
memory. Rows drawn stay as the library has them: pyAgrum's in its own database (out of which a data frame costs
four times as much again), pgmpy's in a data frame.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from costs import cpu, head, in_turn, inside, peer, ratios, row, spread

NETWORK = Path(__file__).parents[1] / "datasets" / "adult.network.json"
CARDS = ("adult-complete", "compas", "dutch")
ROWS = (10_000, 100_000, 1_000_000)
MOST_ROWS = {"pomegranate": 10_000}  # 1.3 ms a row
OWN = ("fairbench", "pomegranate")  # pomegranate is one of fairbench's dependencies


def learn_fairbench(codes: Any, levels: Any) -> Callable[[], list[tuple[int, int]]]:
    """Return what learns a structure with fairbench."""
    from fairbench_cli.data.table import Column, Table
    from fairbench_cli.network.structure import LearnSettings, learn_structure

    columns = [Column(f"c{j}", tuple(map(str, range(r)))) for j, r in enumerate(levels)]
    table = Table(tuple(columns), np.asfortranarray(codes))

    def learn() -> list[tuple[int, int]]:
        parents = learn_structure(table, LearnSettings()).parents
        return [(i, j) for j, own in enumerate(parents) for i in own]

    return learn


def learn_pyagrum(codes: Any, levels: Any) -> Callable[[], list[tuple[int, int]]]:  # noqa: ARG001
    """Return what learns a structure with pyAgrum, from a data frame that it has read."""
    import pandas as pd
    import pyagrum

    learner = pyagrum.BNLearner(pd.DataFrame(codes, columns=[f"c{j}" for j in range(codes.shape[1])]))
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    learner.useNoPrior()
    return lambda: [tuple(arc) for arc in learner.learnDAG().arcs()]


def learn_pgmpy(codes: Any, levels: Any) -> Callable[[], list[tuple[int, int]]]:
    """Return what learns a structure with pgmpy."""
    import pandas as pd
    from pgmpy.causal_discovery import HillClimbSearch

    frame = pd.DataFrame({j: pd.Categorical(codes[:, j], categories=range(r)) for j, r in enumerate(levels)})
    search = HillClimbSearch(scoring_method="bic-d", return_type="dag", epsilon=1e-8, show_progress=False)
    return lambda: [(int(i), int(j)) for i, j in search.fit(frame).causal_graph_.edges()]


def draw_fairbench(content: dict[str, Any]) -> Callable[[int], Any]:
    """Return what draws rows with fairbench."""
    from fairbench_cli.network.draw import sample
    from fairbench_cli.network.files import from_json

    return partial(sample, from_json(json.dumps(content))[0], seed=1)


def draw_pyagrum(content: dict[str, Any]) -> Callable[[int], Any]:
    """Return what draws rows with pyAgrum; they stay in its own database."""
    import pyagrum

    net = pyagrum.BayesNet()
    for column in content["columns"]:
        net.add(pyagrum.LabelizedVariable(column["name"], "", column["levels"]))
    for arc in content["arcs"]:
        net.addArc(*arc)
    for name, table in content["cpts"].items():
        axes = [*table["parents"], name]
        order = [axes.index(axis) for axis in reversed(net.cpt(name).names)]  # the first name runs fastest
        net.cpt(name).fillWith(np.transpose(table["rows"], order).ravel().tolist())
    generator = pyagrum.BNDatabaseGenerator(net)
    return lambda n: (net, generator.drawSamples(n))  # the generator does not keep the network alive


def draw_pgmpy(content: dict[str, Any]) -> Callable[[int], Any]:
    """Return what draws rows with pgmpy."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.sampling import BayesianModelSampling

    levels = {column["name"]: column["levels"] for column in content["columns"]}
    net = DiscreteBayesianNetwork([tuple(arc) for arc in content["arcs"]])
    for name, table in content["cpts"].items():
        rows, parents = np.array(table["rows"]), table["parents"]
        states = {axis: levels[axis] for axis in (name, *parents)}
        net.add_cpds(
            TabularCPD(
                name,
                len(levels[name]),
                rows.reshape(-1, len(levels[name])).T,
                parents or None,
                [len(levels[parent]) for parent in parents] or None,
                state_names=states,
            )
        )
    return lambda n: BayesianModelSampling(net).forward_sample(size=n, seed=1, show_progress=False)


def draw_pomegranate(content: dict[str, Any]) -> Callable[[int], Any]:
    """Return what draws rows with pomegranate."""
    from fairbench_cli.network.convert import to_pomegranate
    from fairbench_cli.network.files import from_json

    return to_pomegranate(from_json(json.dumps(content))[0]).sample


LEARN = {"fairbench": learn_fairbench, "pyagrum": learn_pyagrum, "pgmpy": learn_pgmpy}
DRAW = {
    "fairbench": draw_fairbench,
    "pyagrum": draw_pyagrum,
    "pgmpy": draw_pgmpy,
    "pomegranate": draw_pomegranate,
}


def learn_one(name: str, path: str) -> dict[str, Any]:
    """Learn from the rows of a file, and return CPU seconds without and with reading them, and the arcs."""
    with np.load(path) as file:
        codes, levels = file["codes"], file["levels"].tolist()
    LEARN[name](codes[:500], levels)()
    start = cpu()
    learn = LEARN[name](codes, levels)
    read = cpu()
    arcs = learn()
    return {"search": cpu() - read, "all": cpu() - start, "arcs": arcs}


def draw_one(name: str, rows: int) -> float:
    """Draw rows, and return the CPU seconds."""
    draw = DRAW[name](json.loads(NETWORK.read_text(encoding="utf-8")))
    draw(100)
    start = cpu()
    draw(rows)
    return cpu() - start


def pythons(names: dict[str, Any]) -> dict[str, str]:
    """Return the Python of each library that is there."""
    found = {name: sys.executable if name in OWN else peer(name) for name in names}
    return {name: python for name, python in found.items() if python}


def structure(rounds: int) -> None:
    """Print the table of structure learning."""
    from rows import dataset_of

    from fairbench_cli.network.scores import local_scores, network_score

    known = pythons(LEARN)
    head(
        "data:",
        "rows × columns:",
        "library:",
        "search, CPU s",
        "times fairbench's",
        "with reading, CPU s",
        "arcs",
        "BIC",
    )
    for card in CARDS:
        table = dataset_of(card).table
        local = local_scores(table)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            np.savez(path, codes=table.codes, levels=table.level_counts)
            works = {
                name: partial(inside, python, __file__, "--one", "structure", name, path)
                for name, python in known.items()
            }
            found = in_turn(works, rounds)
        mine = [one["search"] for one in found["fairbench"]]
        for name, all_of in found.items():
            arcs = all_of[0]["arcs"]
            parents = tuple(tuple(sorted(i for i, k in arcs if k == j)) for j in range(len(table.columns)))
            bic = network_score(local, parents)
            times = [one["search"] for one in all_of]
            size = f"{len(table):,} × {len(table.columns)}"
            ratio = spread(ratios(mine, times), 1)
            full = spread([one["all"] for one in all_of], 3)
            row(card, size, name, spread(times, 3), ratio, full, len(arcs), f"{bic:,.1f}")


def sampling(rounds: int) -> None:
    """Print the table of sampling."""
    known = pythons(DRAW)
    head("library:", "rows", "CPU s", "times fairbench's")
    for rows in ROWS:
        works = {
            name: partial(inside, python, __file__, "--one", "sampling", name, rows)
            for name, python in known.items()
            if rows <= MOST_ROWS.get(name, rows)
        }
        found = in_turn(works, rounds)
        for name, times in found.items():
            row(name, f"{rows:,}", spread(times, 3), spread(ratios(found["fairbench"], times), 1))


def main() -> None:
    """Print the tables asked for."""
    if sys.argv[1:2] == ["--one"]:
        what, name, of = sys.argv[2:]
        print(json.dumps(learn_one(name, of) if what == "structure" else draw_one(name, int(of))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["structure", "sampling"])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for part, table in (("structure", structure), ("sampling", sampling)):
        if given.part in (None, part):
            table(given.rounds)
            print()


if __name__ == "__main__":
    main()
