"""How often a comparison of clustered rows is wrong, by simulation through the audit's own comparison.

``python benchmarks/levels_clusters.py [runs] [part ...]`` simulates audits with ``--cluster``: fair worlds,
worlds with a true ratio below 1, rows that share a prompt or a name, and more than comparisons (parts:
fair, heavy, power, crossed, others, command; all, if none is named). It prints a Markdown table of each, with
Wilson's interval of every share; ``command`` writes a few of the worlds to files and looks whether the
command says the same. Every world has its own seed.

Rates within clusters are beta distributed with a correlation between rows; the share of the group in a
cluster is, too. Rows with two columns have normal effects of prompts and names on a latent scale.
"""

import csv
import json
import math
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.compare_rates import adjust_tests, compare_slice, decide_by_evidence
from fairbench_cli.audit.compare.verdict import decide
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.slices import BeforeAfter, Clusters, Slice, Tally
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.paired_change import KINDS, TwoSides
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.measures.significance import normal_quantile

Ints = NDArray[np.int64]
SELECTION = ("selection-rate",)
TAU = 0.8
RATE = 0.3
ALPHA = 0.05
CONFIG = AuditConfig(references={"a": "r"}, ref_method="given")
GROUPS = ("g", "r")  # the group, and its reference
N_FILES = 3  # of each world of `command`

SIZES: dict[str, Callable[[np.random.Generator, int, int], Ints]] = {
    "equal": lambda _, mean, n: np.full(n, mean),
    "geometric": lambda rng, mean, n: rng.geometric(1 / mean, n),
    "lognormal": lambda rng, mean, n: (
        np.rint(rng.lognormal(np.log(mean) - 0.72, 1.2, n)).clip(1).astype(np.int64)
    ),
    "heavy": lambda rng, mean, n: np.where(rng.random(n) < 0.05, 10 * mean, max(mean // 2, 1)),
    "pareto": lambda rng, mean, n: np.rint((1 + rng.pareto(1.5, n)) * mean / 3).clip(1).astype(np.int64),
}


@dataclass(frozen=True)
class World:
    """Clusters with rows of a group and its reference.

    Parameters
    ----------
    name : str
    clusters : tuple of int
        How many; of nested worlds of the reference, and of the group.
    mean : int
        Rows of a cluster.
    icc : float
        The correlation of two rows of a cluster.
    law : str
        Of the sizes.
    composition : tuple of two floats
        The beta distribution of the group's share in a cluster; empty: nested.
    rate, ratio : float
        The reference's rate, and the group's over it.
    weights : float
        σ of lognormal weights; 0 for none.
    pairs : bool
        Whether each cluster has one row of both.
    """

    name: str
    clusters: tuple[int, ...]
    mean: int
    icc: float
    law: str = "equal"
    composition: tuple[float, ...] = ()
    rate: float = RATE
    ratio: float = 1.0
    weights: float = 0.0
    pairs: bool = False


FAIR = (
    World("5 × 100, Beta(2, 2), ICC .05", (5,), 100, 0.05, composition=(2, 2)),
    World("8 × 60, Beta(1, 1), .1", (8,), 60, 0.1, composition=(1, 1)),
    World("10 × 100, Beta(1, 1), .05, rate .05", (10,), 100, 0.05, composition=(1, 1), rate=0.05),
    World("12 × 60, Beta(.5, .5), .2", (12,), 60, 0.2, composition=(0.5, 0.5)),
    World("20 lognormal × 50, Beta(.5, .5), .1", (20,), 50, 0.1, "lognormal", (0.5, 0.5)),
    World("40 × 25, Beta(1, 1), .1", (40,), 25, 0.1, composition=(1, 1)),
    World("40 × 25, Beta(.2, .2), .2", (40,), 25, 0.2, composition=(0.2, 0.2)),
    World("80 Pareto × 10, Beta(.3, .3), .3", (80,), 10, 0.3, "pareto", (0.3, 0.3)),
    World("300 geometric × 3, Beta(1, 1), .6", (300,), 3, 0.6, "geometric", (1, 1)),
    World("30 × 30, Beta(1, 1), .1, lognormal weights", (30,), 30, 0.1, composition=(1, 1), weights=1.0),
    World("100 pairs 1 + 1, .6", (100,), 2, 0.6, pairs=True),
    World("one group each: 10 + 10 × 20, .2", (10, 10), 20, 0.2),
    World("one group each: 18 + 18 geometric × 50, .05", (18, 18), 50, 0.05, "geometric"),
    World("one group each: 40 + 5 lognormal × 20, .2", (40, 5), 20, 0.2, "lognormal"),
    World("one group each: 1,000 + 100 lognormal × 5, .5", (1000, 100), 5, 0.5, "lognormal"),
    World("one group each: 600 + 60 Pareto × 6, .8", (600, 60), 6, 0.8, "pareto"),
)
HEAVY = (
    World("one group each: 100 + 1,000, 5 % heavy × 5, .5, rate .2", (100, 1000), 5, 0.5, "heavy", rate=0.2),
    World("one group each: 8 + 8, 5 % heavy × 10, .5, rate .5", (8, 8), 10, 0.5, "heavy", rate=0.5),
    World("one group each: 100 + 1,000, 5 % heavy × 5, .99", (100, 1000), 5, 0.99, "heavy"),
)
POWER = (
    World("10 × 25, Beta(1, 1), .1, ratio .5", (10,), 25, 0.1, composition=(1, 1), ratio=0.5),
    World("20 × 25, Beta(1, 1), .1, ratio .6", (20,), 25, 0.1, composition=(1, 1), ratio=0.6),
    World("40 × 25, Beta(1, 1), .1, ratio .7", (40,), 25, 0.1, composition=(1, 1), ratio=0.7),
    World("100 × 25, Beta(1, 1), .1, ratio .8", (100,), 25, 0.1, composition=(1, 1), ratio=0.8),
    World(
        "12 lognormal × 50, Beta(.5, .5), .1, ratio .6", (12,), 50, 0.1, "lognormal", (0.5, 0.5), ratio=0.6
    ),
    World("one group each: 10 + 10 × 20, .1, ratio .5", (10, 10), 20, 0.1, ratio=0.5),
    World(
        "one group each: 18 + 18 geometric × 50, .05, ratio .6", (18, 18), 50, 0.05, "geometric", ratio=0.6
    ),
)


@dataclass(frozen=True)
class Crossed:
    """Prompts × names, a name has one group; effects are standard deviations on the scale of the noise's."""

    name: str
    prompt: float = 0.0
    name_effect: float = 0.0
    prompt_and_group: float = 0.0
    prompts: int = 30
    names: int = 36
    share: float = 1.0  # of the cells that are answered
    ratio: float = 1.0


ALL_THREE = {"prompt": 0.6, "name_effect": 0.3, "prompt_and_group": 0.3}
CROSSED = (
    Crossed("no effect"),
    Crossed("prompt .6", 0.6),
    Crossed("name .3", 0.0, 0.3),
    Crossed("prompt .6, name .3", 0.6, 0.3),
    Crossed("prompt .6, prompt × group .3", 0.6, 0.0, 0.3),
    Crossed("all three", **ALL_THREE),
    Crossed("all three, half of the cells", **ALL_THREE, share=0.5),
    Crossed("all three, 10 × 12", **ALL_THREE, prompts=10, names=12),
    Crossed("all three, 8 × 36", **ALL_THREE, prompts=8),
)
CROSSED_POWER = (
    Crossed("two columns: all three, ratio .7", **ALL_THREE, ratio=0.7),
    Crossed("two columns: prompt .6, ratio .7", 0.6, ratio=0.7),
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows: their clusters by each column, group (0 or 1, the reference), decision and weight."""

    clusters: tuple[Ints, ...]
    group: Ints
    selected: Ints
    weight: Floats


def draw(rng: np.random.Generator, world: World) -> Rows:
    """Draw the rows of a world."""
    n = sum(world.clusters)
    size = SIZES[world.law](rng, world.mean, n)
    cluster = np.repeat(np.arange(n), size)
    if world.pairs:
        group = np.arange(len(cluster)) % 2
    elif world.composition:
        share = rng.beta(*world.composition, n)
        group = (rng.random(len(cluster)) >= share[cluster]).astype(np.int64)
    else:
        group = (cluster < world.clusters[0]).astype(np.int64)
    others = (1 - world.icc) / world.icc
    rate = rng.beta(world.rate * others, (1 - world.rate) * others, n)[cluster]
    rate = np.where(group == 0, world.ratio * rate, rate)
    if not world.composition and not world.pairs:  # a group of its own has the correlation, too
        mean = np.where(np.arange(n) < world.clusters[0], world.rate, world.ratio * world.rate)
        rate = rng.beta(mean * others, (1 - mean) * others)[cluster]
    weight = np.ones(len(cluster))
    if world.weights:
        weight = rng.lognormal(0, world.weights, len(cluster))
    return Rows((cluster,), group, rng.binomial(1, rate), weight)


def draw_crossed(rng: np.random.Generator, world: Crossed) -> Rows:
    """Draw the answers to prompts with names."""
    prompt, name = (codes.ravel() for codes in np.indices((world.prompts, world.names)))
    answered = rng.random(len(prompt)) < world.share
    prompt = prompt[answered]
    name = name[answered]
    group = name % 2
    latent = world.prompt * rng.standard_normal(world.prompts)[prompt]
    latent = latent + world.name_effect * rng.standard_normal(world.names)[name]
    latent = latent + world.prompt_and_group * rng.standard_normal((world.prompts, 2))[prompt, group]
    latent = latent + rng.standard_normal(len(prompt))
    spread = math.sqrt(1 + world.prompt**2 + world.name_effect**2 + world.prompt_and_group**2)
    rate = np.where(group == 0, world.ratio * RATE, RATE)
    bars = np.array([normal_quantile(1 - 2 * share) for share in (world.ratio * RATE, RATE)])
    selected = latent > spread * bars[group]
    return Rows((prompt, name), group, selected.astype(np.int64), np.ones_like(rate))


def slice_of(rows: Rows) -> Slice:
    """Return the counts of an audit of the rows."""
    cell = 2 * rows.group + rows.selected

    def by_cell(values: Floats) -> Floats:
        sums = np.zeros((2, 2, 2))
        sums[:, 0] = np.bincount(cell, values, 4).reshape(2, 2)
        return sums

    ways = list(rows.clusters)
    if len(ways) == 2:
        ways.append(ways[0] * (ways[1].max() + 1) + ways[1])
    squares = rows.weight**2
    counts = Counts(GROUPS, by_cell(rows.weight))
    n_rows = by_cell(np.ones_like(rows.weight)).astype(np.int64)
    plain = Slice("", "binary", "a", counts, n_rows, by_cell(squares), labelled=False)
    return plain.with_clusters([_clusters(rows, way, squares) for way in ways])


def _clusters(rows: Rows, cluster: Ints, squares: Floats) -> Clusters:
    entries, entry = np.unique(2 * cluster + rows.group, return_inverse=True)
    sums = np.zeros((2, len(entries), 2, 2))
    for i, values in enumerate((rows.weight, squares)):
        sums[i, :, 0] = np.bincount(2 * entry + rows.selected, values, 2 * len(entries)).reshape(-1, 2)
    return Clusters(entries // 2, entries % 2, *sums)


@dataclass(frozen=True)
class Outcome:
    """What one audit says: p of equal rates, whether it fails, and whether its interval holds the ratio."""

    p: float
    fails: bool
    passes: bool
    holds: bool


def audit(rows: Rows, ratio: float) -> Outcome:
    """Compare the group with its reference as an audit does."""
    table = compare_slice(slice_of(rows), SELECTION, CONFIG)
    (evidence,) = adjust_tests([table.tests], [frozenset(SELECTION)], CONFIG)
    sides = (float(side[0, 0]) for side in table.numerators_and_denominators)
    verdict, _ = decide_by_evidence(decide(*sides, TAU), table.tests, evidence, 0, 0, CONFIG)
    interval = table.ratio[0, 0]
    holds = interval.low <= ratio <= interval.high
    return Outcome(float(table.tests.p[0, 0]), verdict == "fail", verdict == "pass", holds)


def simulate(world: World | Crossed, runs: int) -> list[Outcome]:
    """Return the outcomes of audits of a world."""
    rng = np.random.default_rng(zlib.crc32(repr(world).encode()))
    outcomes = []
    for _ in range(runs):
        rows = draw(rng, world) if isinstance(world, World) else draw_crossed(rng, world)
        outcomes.append(audit(rows, world.ratio))
    return outcomes


def with_interval(count: int, runs: int) -> str:
    """Return a share with Wilson's interval."""
    low, high = (float(limit) for limit in wilson_interval(count, runs))
    return f"{count / runs:.3f} ({low:.3f}–{high:.3f})"


def print_table(worlds: Sequence[World | Crossed], runs: int) -> None:
    """Print how often equal rates are rejected, audits fail and pass, and intervals hold the ratio."""
    print(
        "\n| world | p < .05 | fails | passes | interval holds the ratio | runs |", "|---" * 6 + "|", sep="\n"
    )
    for world in worlds:
        outcomes = simulate(world, runs)
        counts = [
            sum(outcome.p < ALPHA for outcome in outcomes),
            sum(outcome.fails for outcome in outcomes),
            sum(outcome.passes for outcome in outcomes),
            sum(outcome.holds for outcome in outcomes),
        ]
        cells = " | ".join(with_interval(count, runs) for count in counts)
        print(f"| {world.name} | {cells} | {runs:,} |", flush=True)


OTHERS = (
    World("40 × 25, Beta(1, 1), .1", (40,), 25, 0.1, composition=(1, 1)),
    World("20 lognormal × 50, Beta(.5, .5), .1", (20,), 50, 0.1, "lognormal", (0.5, 0.5)),
    World("one group each: 18 + 18 geometric × 50, .05", (18, 18), 50, 0.05, "geometric"),
)
COMPARED = AuditConfig(
    scores=("old", "new"), references={"a": "r"}, ref_method="given", metric=("selection-rate",)
)
NAMED = AuditConfig(references={"a": "r"}, ref_method="given", metric=("average-odds-difference", "phi"))


def print_others(runs: int) -> None:
    """Print how often what is fair is called different: changes, and metrics by name.

    Of changes the group's rate is lower than the reference's, as much before as after: the two models select
    by the same chances, and so do both slices, which have the same clusters.
    """
    titles = ("two models: p < .05", "two slices: p < .05", "average odds: p < .05", "phi: p < .05")
    print("", f"| world | {' | '.join(titles)} | runs |", sep="\n")
    print("|---" * 6 + "|")
    for world in OTHERS:
        rng = np.random.default_rng(zlib.crc32(f"others {world}".encode()))
        counts = np.zeros(4, dtype=np.int64)
        for _ in range(runs):
            changed = [_change_p(rng, world, paired=paired) for paired in (True, False)]
            by_name = _named_p(rng, world)
            counts += np.array([p < ALPHA for p in (*changed, *by_name)], dtype=np.int64)
        cells = " | ".join(with_interval(int(count), runs) for count in counts)
        print(f"| {world.name} | {cells} | {runs:,} |", flush=True)


def _change_p(rng: np.random.Generator, world: World, *, paired: bool) -> float:
    """Return p of a change of the ratio where there is none."""
    rows = draw(rng, replace(world, ratio=0.6))
    (cluster,) = rows.clusters
    n = cluster.max() + 1
    rate = np.bincount(cluster, rows.selected, n) / np.bincount(cluster, minlength=n)  # of each cluster
    group_rate = np.array([0.6, 1.0])[rows.group] * RATE
    chance = np.clip(0.5 * rate[cluster] + 0.5 * group_rate, 0, 1)
    old, new = rng.binomial(1, chance), rng.binomial(1, chance)
    if paired:
        kind = 2 * old + new
    else:
        kind = np.where(rng.random(len(old)) < 0.5, old, 4 + old)
    entries, entry = np.unique(2 * cluster + rows.group, return_inverse=True)
    by_entry = np.zeros((len(entries), KINDS))
    np.add.at(by_entry, (entry, kind), 1.0)
    sums = np.zeros((2, KINDS))
    np.add.at(sums, (rows.group, kind), 1.0)
    kinds = Clusters(entries // 2, entries % 2, by_entry, by_entry)
    sides = TwoSides(sums, sums, sums, paired=paired)
    joint = BeforeAfter("old", "new", "a", GROUPS, sides, False, False, (kinds,))
    slices = []
    for name, after in (("old", False), ("new", True)):
        cells = sides.halves(sums)[int(after)]
        counts = Counts(GROUPS, cells)
        plain = Slice(name, "binary", "a", counts, cells.astype(np.int64), cells, labelled=False)
        slices.append(plain.with_clusters([kinds.side(after=after, paired=paired)]))
    tally = Tally("rows", len(old), tuple(slices), last="new")
    report = judge(tally, COMPARED, {"changes": (joint,)})
    (change,) = (row for row in report.found["changes"].changes if row.metric == "selection-rate")
    return 1.0 if math.isnan(change.p) else change.p


def _named_p(rng: np.random.Generator, world: World) -> list[float]:
    """Return p of two metrics by name that are ideal."""
    rows = draw(rng, world)
    label = rng.binomial(1, np.where(rows.selected == 1, 0.6, 0.3))
    (cluster,) = rows.clusters
    entries, entry = np.unique(2 * cluster + rows.group, return_inverse=True)
    by_entry = np.zeros((len(entries), 2, 2))
    np.add.at(by_entry, (entry, label, rows.selected), 1.0)
    cells = np.zeros((2, 2, 2))
    np.add.at(cells, (rows.group, label, rows.selected), 1.0)
    counts = Counts(GROUPS, cells)
    clusters = Clusters(entries // 2, entries % 2, by_entry, by_entry)
    part = Slice("", "binary", "a", counts, cells.astype(np.int64), cells, labelled=True, clusters=clusters)
    report = judge(Tally("rows", len(label), (part,)), NAMED)
    tests = report.found["requested"].tests
    return [1.0 if math.isnan(test.p) else test.p for test in tests]


FILES: tuple[World | Crossed, ...] = (FAIR[1], FAIR[6], FAIR[9], FAIR[13], POWER[2], CROSSED[5], CROSSED[7])


def check_command(_: int) -> None:
    """Write some worlds to files, audit them by the command, and print the largest difference of p."""
    largest = 0.0
    n_files = 0
    with tempfile.TemporaryDirectory() as folder:
        for world in FILES:
            rng = np.random.default_rng(zlib.crc32(f"command {world}".encode()))
            for _ in range(N_FILES):
                rows = draw(rng, world) if isinstance(world, World) else draw_crossed(rng, world)
                outcome = audit(rows, world.ratio)
                p, verdict = _audit_file(Path(folder) / "rows.csv", rows)
                same = (p is None and math.isnan(outcome.p)) or math.isclose(
                    p or 0.0, outcome.p, rel_tol=1e-9
                )
                if not same or (verdict == "fail") != outcome.fails or (verdict == "pass") != outcome.passes:
                    raise SystemExit(f"{world.name}: the command says {p}, {verdict}; here {outcome}")
                largest = max(largest, abs((p or 0.0) - (outcome.p if p is not None else 0.0)))
                n_files += 1
    print(
        f"\n{n_files} files of {len(FILES)} worlds: the command says the same; "
        f"the largest difference of p is {largest:.1e}"
    )


def _audit_file(path: Path, rows: Rows) -> tuple[float | None, str]:
    """Return p and the verdict of the command on rows in a file."""
    columns = [f"cluster_{i}" for i in range(len(rows.clusters))]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "a", "w", *columns])
        groups = [GROUPS[g] for g in rows.group]
        writer.writerows(zip(rows.selected, groups, rows.weight.tolist(), *rows.clusters, strict=True))
    command = [sys.executable, "-m", "fairbench_cli", "audit", str(path), "-a", "a", "--ref", "a=r"]
    for column in columns:
        command += ["--cluster", column]
    if (rows.weight != 1).any():
        command += ["--weight", "w"]
    command += ["--metric", "selection-rate", "--format", "json"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    (row,) = (
        row for row in found["disparities"] if row["metric"] == "selection-rate" and not row["is_reference"]
    )
    return row["p"], row["verdict"]


PARTS: dict[str, Callable[[int], None]] = {
    "fair": lambda runs: print_table(FAIR, runs),
    "heavy": lambda runs: print_table(HEAVY, runs),
    "power": lambda runs: print_table((*POWER, *CROSSED_POWER), runs),
    "crossed": lambda runs: print_table(CROSSED, runs),
    "others": print_others,
    "command": check_command,
}


if __name__ == "__main__":
    wanted = sys.argv[2:] or list(PARTS)
    for part in wanted:
        print(f"\n## {part}")
        PARTS[part](int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
