"""How often paired verdicts of a run are wrong, by simulation through the report's own functions.

``python benchmarks/paired.py [runs] [part ...]``: 1,000 runs a point, unless said otherwise. Parts: equal,
power, frontier (all, if none is named). Every point has a seed of its own.

The population is 300,000 rows drawn from the shipped network of Adult. A second set of features is drawn
for each row from the rows with its sex and label, so that two naive Bayes, one on each set, differ row by
row and are equal in the population, in every measure. ``original``: test rows are drawn once a run, and
training rows, as many, anew in each repeat. ``data``: 2n rows are drawn once a run and halved at random in
each repeat. ``network``: training and test rows are drawn anew in each repeat.
"""

import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic_core import to_jsonable_python

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.components import ComponentSpec, TechniqueSpec
from fairbench_cli.experiment.config.config import DatasetSpec, ExperimentConfig, SampleConfig
from fairbench_cli.experiment.decisions import packed
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import PAIR, Counts, Floats, count
from fairbench_cli.measures.groups import ProtectedAttribute, ProtectedAttributes
from fairbench_cli.measures.thresholds import swept_counts
from fairbench_cli.network.draw import sample
from fairbench_cli.network.files import load
from fairbench_cli.report.ledger.frontier import frontier_distance_frame
from fairbench_cli.report.ledger.inference import RowDesign
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats
from fairbench_cli.report.ledger.paired_differences import paired_frame
from fairbench_cli.report.ledger.results import RunResults, compute_results, run_results

NETWORK = Path(__file__).parents[1] / "datasets" / "adult.network.json"
POOL = 300_000
TOGETHER = 50  # runs that are reported at once
REFUSED = 0.93  # share of the deprived whom the two models refuse, about
LIFTS = (0.01, 0.02, 0.05)
METRICS = ("discrimination", "accuracy", "impact-ratio", "equal-opportunity", "equalised-odds")
DESIGNS = {"original": RowDesign("shared"), "data": RowDesign("split", 1.0), "network": RowDesign("drawn")}
SEX = ProtectedAttributes((ProtectedAttribute("sex", PAIR, PAIR[:1], PAIR[1:]),))
CELL = {
    "key": "k", "dataset": "adult", "attribute": "sex", "representation": "original", "beta": 0.0,
    "parameters": "{}", "include_protected": False, "classifier": "nb",
    "world": "", "classifier_parameters": "{}",
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


@cache
def levels() -> list[int]:
    """Return how many levels each feature has."""
    return [int(most) + 1 for most in population()[2].max(axis=(0, 1))]


class NaiveBayes:
    """Naive Bayes on level codes with Laplace's correction."""

    def __init__(self, x: Codes, y: Codes) -> None:
        n = np.bincount(y, minlength=2) + 1
        self.prior = np.log(n / n.sum())
        self.tables = [
            np.log(np.bincount(x[:, j] * 2 + y, minlength=2 * k).reshape(k, 2) + 1.0) - np.log(n - 1 + k)
            for j, k in enumerate(levels())
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
    design: str, n: int, repeats: int, rng: np.random.Generator, apart: float = 0.0, kept: bool = True
) -> DatasetRepeats:
    """Return repeats of two techniques that are equal in the population, but for what sets them apart.

    Parameters
    ----------
    apart : float
        By how much the second technique lowers discrimination: of those whom it would refuse a share of the
        deprived, the same at every time, is accepted.
    kept : bool
        Whether decisions on shared rows are kept.
    """
    s, y, x, u = population()
    counts: list[list[Floats]] = [[], []]
    records: list[dict[int, Repeat]] = [{}, {}]
    order: Codes | None = None
    for repeat, (train, test) in enumerate(splits(design, n, repeats, rng)):
        if order is None or design != "original":
            order = np.lexsort((y[test], s[test]))
        for which in (0, 1):
            predicted = NaiveBayes(x[which, train], y[train]).scores(x[which, test]) > 0
            if which and apart:
                predicted |= (s[test] == 0) & (u[test] < apart / REFUSED)
            counts[which].append(count(s[test], y[test], predicted.astype(np.int8), PAIR).n)
            text = packed(predicted[order]) if kept and design == "original" else None
            records[which][repeat] = Repeat("", repeat, "ok", "", None, decisions=text)
    cells = [CELL | {"intervention": name} for name in ("none", "technique")]
    status = np.full((2, repeats), "ok", dtype=object)
    n_all = Counts(PAIR, np.array(counts))
    return DatasetRepeats("sex", SEX, cells, status, status, n_all, {}, records, DESIGNS[design])


def shares(runs: int, point: tuple[Any, ...], columns: tuple[str, ...], **more: Any) -> Floats:
    """Return how often each metric is called better or worse, shape (columns, metrics)."""
    design, n, repeats = point[:3]
    rng = seed("paired", *point)
    called = np.zeros((len(columns), len(METRICS)))
    for start in range(0, runs, TOGETHER):
        some = [run(design, n, repeats, rng, **more) for _ in range(start, min(start + TOGETHER, runs))]
        for i, one in enumerate(some):  # the data set of each run has a name of its own
            one.cells[:] = [cell | {"dataset": f"run {i}"} for cell in one.cells]
        frame = paired_frame(compute_results(some, METRICS))
        for i, column in enumerate(columns):
            words = frame[column].isin(["better", "worse"]).to_numpy()
            called[i] += words.reshape(-1, len(METRICS)).sum(axis=0)
    return called / runs


def line(texts: Sequence[object]) -> None:
    """Print a line of a Markdown table."""
    print("| " + " | ".join(map(str, texts)) + " |", flush=True)


def head(*texts: str) -> None:
    """Print the head of a Markdown table."""
    line(texts)
    line(["---"] * len(texts))


def equal(runs: int) -> None:
    """Print how often two techniques that are equal in the population are told apart."""
    print("\nEqual in the population, called better or worse: on these test rows, in the population\n")
    head("test rows", "rows", "repeats", *METRICS)
    points = [*product(DESIGNS, (500, 3000), (5, 30), (True,))]
    for design, n, repeats, kept in [*points, *product(("original",), (500, 3000), (5, 30), (False,))]:
        found = shares(runs, (design, n, repeats), ("verdict", "population_verdict"), kept=kept)
        texts = [f"{here:.3f}, {there:.3f}" for here, there in found.T]
        line([design + " (counts alone)" * (not kept), n, repeats, *texts])


def power(runs: int) -> None:
    """Print how often a difference that is there is shown in the population."""
    print("\nDiscrimination differs by: called better or worse, on these test rows, in the population\n")
    head("test rows", "rows", "repeats", *(f"{lift:.0%}" for lift in LIFTS))
    for design, n, repeats in product(DESIGNS, (500, 3000), (5, 30)):
        texts = []
        for lift in LIFTS:
            point = design, n, repeats, lift
            found = shares(runs, point, ("verdict", "population_verdict"), apart=lift)[:, 0]
            texts.append(f"{found[0]:.2f}, {found[1]:.2f}")
        line([design, n, repeats, *texts])


@cache
def best_decisions() -> tuple[Floats, NDArray[np.bool_]]:
    """Return a score of every row of the population, and what the best thresholds on it decide.

    The score is the share of the favourable label among rows of the same sex and about the same log odds of a
    naive Bayes, so that a threshold of ½ is the best one for both groups: no others reach its accuracy, in
    the population and whatever the gap. The model that decides so is on the frontier.
    """
    s, y, x, _ = population()
    odds = NaiveBayes(x[0], y).scores(x[0])
    score = np.empty(POOL)
    for group in (0, 1):
        at = np.flatnonzero(s == group)
        bins = np.searchsorted(np.quantile(odds[at], np.linspace(0, 1, 200)[1:-1]), odds[at])
        score[at] = (np.bincount(bins, y[at]) / np.maximum(np.bincount(bins), 1))[bins]
    return score, score > 0.5


def moved(
    design: str, n: int, repeats: int, rng: np.random.Generator, noise: float, other: str
) -> RunResults:
    """Return repeats of ``none``, which decides by its best thresholds, and of another technique.

    Parameters
    ----------
    noise : float
        Of the model of each repeat: the standard deviation of what is added to the log odds of its score.
    other : {"copy", "lift", "promote"}
        What the technique does: nothing; promote the deprived next to the threshold, as a threshold of their
        own would; or promote one in twenty of all deprived, the same at every time.
    """
    s, y, _, u = population()
    score, _ = best_decisions()
    odds = np.log(score.clip(0.001, 0.999) / (1 - score).clip(0.001, 0.999))
    records: Records = {}
    order: Codes | None = None
    for repeat, (_, test) in enumerate(splits(design, n, repeats, rng)):
        own = odds[test] + noise * rng.standard_normal(n)
        if order is None or design != "original":
            order = np.lexsort((y[test], s[test]))
        decided = {"none": own > 0}
        decided["technique"] = {
            "copy": own > 0,
            "lift": own > np.where(s[test] == 0, -0.5, 0),
            "promote": (own > 0) | ((s[test] == 0) & (u[test] < 0.05)),
        }[other]
        swept = swept_counts(s[test], y[test], own, PAIR)
        for name, taken in decided.items():
            counts = count(s[test], y[test], taken.astype(np.int8), PAIR)
            kept = packed(taken[order]) if design == "original" else None
            records[name, repeat] = Repeat(name, repeat, "ok", "", counts, swept=swept, decisions=kept)
    return run_results(Path(), plan_of(design, repeats), records, ("accuracy", "discrimination"))


def plan_of(design: str, repeats: int) -> RunPlan:
    """Return the plan of such a run."""
    source = {"from": "data" if design == "data" else "shipped"}
    config = ExperimentConfig(
        name="x",
        repeats=repeats,
        datasets=(DatasetSpec(card="adult"),),
        interventions=(TechniqueSpec(ComponentSpec("none"), include_protected=False),),
        sample=SampleConfig.model_validate(source),
        test="network" if design == "network" else "original",
        sweep="acceptance-rate",
        tables=(),
    )
    cells = [CELL | {"intervention": name, "key": name} for name in ("none", "technique")]
    facts = {"dataset": "adult", "attribute": "sex", "edited_column": "sex", "arc_to_outcome": True}
    return RunPlan(config, [facts | {"protected": to_jsonable_python(SEX.attributes)}], cells)


def frontier(runs: int) -> None:
    """Print how often a technique is called above or below moved thresholds."""
    print("\nAgainst moved thresholds, at the gap of demographic parity and of TPR: below, above\n")
    head("technique", "test rows", "rows", "repeats", "demographic-parity", "tpr-parity")
    points = [("copy", point) for point in product(DESIGNS, (500, 3000), (5, 30))]
    points += [*product(("lift", "promote"), product(DESIGNS, (3000,), (30,)))]
    for other, (design, n, repeats) in points:
        rng = seed("frontier", other, design, n, repeats)
        words = pd.concat(
            frontier_distance_frame(moved(design, n, repeats, rng, 0.5, other)).query(
                "intervention != 'none'"
            )
            for _ in range(runs)
        )
        texts = []
        for held in ("demographic-parity", "tpr-parity"):
            own = words.loc[words["constraint"] == held, "verdict"]
            texts.append(f"{(own == 'below').mean():.3f}, {(own == 'above').mean():.3f}")
        line([other, design, n, repeats, *texts])


def main() -> None:
    """Run the parts that are named."""
    runs = int(next(iter(sys.argv[1:]), "1000"))
    parts = {"equal": equal, "power": power, "frontier": frontier}
    for name in sys.argv[2:] or parts:
        parts[name](runs)


if __name__ == "__main__":
    main()
