"""How often paired verdicts of a run are wrong, by simulation through the report's own functions.

``python benchmarks/paired.py [runs] [part ...]``: 1,000 runs a point, unless said otherwise. Parts: equal, power,
frontier (all, if none is named). Every point has a seed of its own.

The population is 300,000 rows drawn from the shipped network of Adult. A second set of features is drawn
for each row from the rows with its sex and label, so that two naive Bayes, one on each set, differ row by
row and are equal in the population, in every measure. ``original``: test rows are drawn once a run, and
training rows, as many, anew in each repeat. ``data``: 2n rows are drawn once a run and halved at random in each
repeat. ``network``: training and test rows are drawn anew in each repeat.
"""

import sys
import zlib
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.experiment.decisions import packed
from fairbench_cli.measures.counts import PAIR, Counts, Floats, count
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes
from fairbench_cli.network.draw import sample
from fairbench_cli.network.files import load
from fairbench_cli.report.inference import RowDesign
from fairbench_cli.report.paired import paired_frame
from fairbench_cli.report.repeats import DatasetRepeats
from fairbench_cli.report.results import results_of

NETWORK = Path(__file__).parents[1] / "datasets" / "adult.network.json"
POOL = 300_000
METRICS = ("discrimination", "accuracy", "impact-ratio", "equal-opportunity", "equalised-odds")
DESIGNS = {"original": RowDesign("shared"), "data": RowDesign("split", 1.0), "network": RowDesign("drawn")}
SEX = ProtectedAttributes((ProtectedAttribute("sex", PAIR, PAIR[:1], PAIR[1:]),))
CELL = {
    "key": "k", "dataset": "adult", "attribute": "sex", "representation": "original", "beta": 0.0,
    "parameters": "{}", "include_protected": False, "classifier": "nb", "classifier_parameters": "{}",
}  # fmt: skip

Codes = NDArray[np.intp]


@cache
def population() -> tuple[Codes, Codes, Codes, Floats]:
    """Return group, label, two sets of features and a uniform number of each row of the population."""
    network, _ = load(NETWORK)
    rows = sample(network, POOL, 1)
    names = [name for name in rows.names if name not in ("sex", "income", "relationship", "native_country")]
    sex = rows.columns[rows.index("sex")].levels
    income = rows.columns[rows.index("income")].levels
    s = (rows["sex"] == sex.index("Male")).astype(np.intp)
    y = (rows["income"] == income.index(next(level for level in income if ">" in level))).astype(np.intp)
    one = np.stack([rows[name] for name in names], axis=1).astype(np.intp)
    rng = np.random.default_rng(2)
    other = one.copy()
    for group, label in product((0, 1), (0, 1)):
        at = np.flatnonzero((s == group) & (y == label))
        other[at] = one[rng.permutation(at)]
    return s, y, np.stack([one, other]), rng.random(POOL)


class NaiveBayes:
    """Naive Bayes on level codes with Laplace's correction."""

    def __init__(self, x: Codes, y: Codes) -> None:
        self.levels = population()[2].max(axis=(0, 1)) + 1
        n = np.bincount(y, minlength=2) + 1
        self.prior = np.log(n / n.sum())
        self.tables = [
            np.log(np.bincount(x[:, j] * 2 + y, minlength=2 * k).reshape(k, 2) + 1.0) - np.log(n - 1 + k)
            for j, k in enumerate(self.levels)
        ]

    def scores(self, x: Codes) -> Floats:
        """Return the log odds of the favourable outcome."""
        logs = self.prior + sum(table[x[:, j]] for j, table in enumerate(self.tables))
        return logs[:, 1] - logs[:, 0]


def seed(*of: object) -> np.random.Generator:
    """Return random numbers of a point's own."""
    return np.random.default_rng(zlib.crc32(repr(of).encode()))


def splits(design: str, n: int, repeats: int, rng: np.random.Generator) -> Iterator[tuple[Codes, Codes]]:
    """Yield training and test rows of each repeat."""
    fixed = rng.integers(0, POOL, 2 * n)
    for _ in range(repeats):
        if design == "data":
            shuffled = rng.permutation(fixed)
            yield shuffled[:n], shuffled[n:]
        else:
            train = rng.integers(0, POOL, n)
            yield train, fixed[:n] if design == "original" else rng.integers(0, POOL, n)


def run(
    design: str, n: int, repeats: int, rng: np.random.Generator, lift: float = 0.0, kept: bool = True
) -> DatasetRepeats:
    """Return repeats of two techniques that are equal in the population, but for a lift of one of them.

    Parameters
    ----------
    lift : float
        The share of the deprived who are refused, and of the favoured who are accepted, whose decision the
        second technique turns round.
    kept : bool
        Whether decisions on shared rows are kept.
    """
    s, y, x, u = population()
    counts: list[list[Floats]] = [[], []]
    decisions: list[dict[int, str]] = [{}, {}]
    order: Codes | None = None
    for repeat, (train, test) in enumerate(splits(design, n, repeats, rng)):
        if order is None or design != "original":
            order = np.lexsort((y[test], s[test]))
        for which in (0, 1):
            predicted = NaiveBayes(x[which, train], y[train]).scores(x[which, test]) > 0
            if which and lift:
                predicted ^= (u[test] < lift) & (predicted == (s[test] == 1))
            counts[which].append(count(s[test], y[test], predicted.astype(np.int8), PAIR).n)
            if kept and design == "original":
                decisions[which][repeat] = packed(predicted[order])
    cells = [CELL | {"intervention": name} for name in ("none", "technique")]
    status = np.full((2, repeats), "ok", dtype=object)
    n_all = Counts(PAIR, np.array(counts))
    none = [Counts(PAIR, np.zeros((0, 0, 2, 2, 2)))] * 2
    at = [np.zeros(0, dtype=np.intp)] * 2
    return DatasetRepeats(
        "sex", SEX, cells, status, status, n_all, none, {}, at, [{}, {}], decisions, DESIGNS[design]
    )


def shares(runs: int, point: tuple[object, ...], columns: tuple[str, ...], **more: object) -> list[float]:
    """Return how often each metric is called better or worse in `runs` runs, by column of paired.csv."""
    design, n, repeats = point[:3]
    rng = seed("paired", *point)
    called = np.zeros((len(columns), len(METRICS)))
    for _ in range(runs):
        frame = paired_frame(results_of([run(design, n, repeats, rng, **more)], METRICS))
        called += [frame[column].isin(["better", "worse"]).to_numpy() for column in columns]
    return (called / runs).ravel().tolist()


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a Markdown table."""
    for line in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(line) + " |", flush=True)
    print()


def equal(runs: int) -> None:
    """Print how often two techniques that are equal in the population are told apart."""
    print("Equal in the population, called better or worse: on these test rows, then in the population\n")
    rows = []
    for design, n, repeats, kept in [
        *product(DESIGNS, (500, 3000), (5, 30), (True,)),
        *product(("original",), (500, 3000), (5, 30), (False,)),
    ]:
        found = shares(runs, (design, n, repeats), ("verdict", "population_verdict"), kept=kept)
        texts = [f"{a:.3f}, {b:.3f}" for a, b in zip(found[:5], found[5:], strict=True)]
        rows.append([design + " (counts alone)" * (not kept), str(n), str(repeats), *texts])
    table(["test rows", "rows", "repeats", *METRICS], rows)


def main() -> None:
    """Run the parts that are named."""
    runs = int(next(iter(sys.argv[1:]), "1000"))
    parts = {"equal": equal}
    for name in sys.argv[2:] or parts:
        parts[name](runs)


if __name__ == "__main__":
    main()
