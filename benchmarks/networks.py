"""Structure learning and sampling beside pyAgrum, pgmpy and pomegranate: CPU, and the BIC that is reached.

usage: FAIRBENCH_DATA=… FAIRBENCH_PEERS=… python benchmarks/networks.py [structure | sampling] [--rounds 5]

Structure: hill climbing with BIC from an empty graph over all columns of a card, no limits; the BIC of each
library's arcs is computed by fairbench. Sampling: rows of the shipped network of Adult, 13 columns. Each
library runs in a process of its own, one thread, which first does the same on few rows; they take turns
round by round. CPU is that of the call, without imports; a column adds what a library takes to read an array
in memory. Rows drawn stay as the library has them: pyAgrum's in its own database (out of which a data frame
costs four times as much again), pgmpy's in a data frame.
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
from costs import cpu, head, in_turn, inside, peer, ratios, row, seconds, spread

NETWORK = Path(__file__).parents[1] / "datasets" / "adult.network.json"
CARDS = ("adult-complete", "compas", "dutch")
ROWS = (1_000, 10_000, 100_000, 1_000_000)
MOST_ROWS = {"pomegranate": 1_000}  # 1.2 ms a row
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
    from fairbench_cli.network.files import from_json
    from fairbench_cli.network.pomegranate import to_pomegranate

    return to_pomegranate(from_json(json.dumps(content))[0]).sample


LEARN = {"fairbench": learn_fairbench, "pyagrum": learn_pyagrum, "pgmpy": learn_pgmpy}
DRAW = {
    "fairbench": draw_fairbench,
    "pyagrum": draw_pyagrum,
    "pgmpy": draw_pgmpy,
    "pomegranate": draw_pomegranate,
}


def learn_one(name: str, path: str) -> dict[str, Any]:
    """Learn from the rows of each card: CPU seconds without and with reading them, and the arcs."""
    found = {}
    with np.load(path) as file:
        rows = {card: (file[f"{card} codes"], file[f"{card} levels"].tolist()) for card in CARDS}
    for card, (codes, levels) in rows.items():
        LEARN[name](codes[:500], levels)()
        start = cpu()
        learn = LEARN[name](codes, levels)
        read = cpu()
        arcs = learn()
        found[card] = {"search": cpu() - read, "all": cpu() - start, "arcs": arcs}
    return found


def draw_one(name: str) -> dict[str, float]:
    """Draw each number of rows, and return the CPU seconds."""
    draw = DRAW[name](json.loads(NETWORK.read_text(encoding="utf-8")))
    draw(100)
    rows = [n for n in ROWS if n <= MOST_ROWS.get(name, n)]
    return {str(n): seconds(partial(draw, n)) for n in rows}


def measured(part: str, libraries: dict[str, Any], rounds: int, *more: object) -> dict[str, list[Any]]:
    """Return what each library that is there found, round by round."""
    pythons = {name: sys.executable if name in OWN else peer(name) for name in libraries}
    works = {
        name: partial(inside, python, __file__, "--one", part, name, *more)
        for name, python in pythons.items()
        if python
    }
    return in_turn(works, rounds)


def structure(rounds: int) -> None:
    """Print the table of structure learning."""
    from rows import dataset_of

    from fairbench_cli.network.family_counts import compute_network_score, make_local_score

    tables = {card: dataset_of(card).table for card in CARDS}
    codes = {f"{card} codes": table.codes for card, table in tables.items()}
    levels = {f"{card} levels": table.level_counts for card, table in tables.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, **codes, **levels)  # type: ignore[arg-type]
        found = measured("structure", LEARN, rounds, path)
    costs = ("search, CPU s", "times fairbench's", "with reading, CPU s")
    head("data:", "rows × columns:", "library:", *costs, "arcs", "BIC")
    for card, table in tables.items():
        local = make_local_score(table)
        size = f"{len(table):,} × {len(table.columns)}"
        mine = [one[card]["search"] for one in found["fairbench"]]
        for name, each in found.items():
            arcs = each[0][card]["arcs"]
            parents = tuple(tuple(sorted(i for i, k in arcs if k == j)) for j in range(len(table.columns)))
            times = [one[card]["search"] for one in each]
            full = spread([one[card]["all"] for one in each], 3)
            bic = f"{compute_network_score(local, parents):,.1f}"
            row(card, size, name, spread(times, 3), spread(ratios(mine, times), 1), full, len(arcs), bic)


def sampling(rounds: int) -> None:
    """Print the table of sampling."""
    found = measured("sampling", DRAW, rounds)
    head("library:", "rows", "CPU s", "times fairbench's")
    for rows in map(str, ROWS):
        mine = [one[rows] for one in found["fairbench"]]
        for name, each in found.items():
            if rows in each[0]:
                times = [one[rows] for one in each]
                row(name, f"{int(rows):,}", spread(times, 4), spread(ratios(mine, times), 1))


def main() -> None:
    """Print the tables asked for."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps({"structure": learn_one, "sampling": draw_one}[sys.argv[2]](*sys.argv[3:])))
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
