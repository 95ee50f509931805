"""How often a verdict is wrong, by simulation through the audit's own functions.

``python benchmarks/verdicts.py [runs] [part ...]`` simulates audits of worlds whose truth is known: 2,000 per
point, unless said otherwise. Parts: fair, gap, weights, heavy, references, clusters, sizes, matched, odds,
gates, scan (all, if none is named). It prints a Markdown table of each, the points next to those of
``tests/reference/verdicts`` where the design is the same, and the largest differences from these. Every point
has a seed of its own.
"""

import csv
import itertools
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.compare_rates import (
    Allowed,
    Tests,
    adjust_tests,
    compare_slice,
    compute_tests,
    decide_by_evidence,
)
from fairbench_cli.audit.compare.effective_sizes import RateRows, group_rate_rows
from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.compare.verdict import combine_verdicts, decide, decide_metric, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import can_decide, canonical, kind
from fairbench_cli.audit.parts.requested_metrics import (
    Requested,
    RequestedTest,
    compute_requested,
    parts_to_test,
)
from fairbench_cli.audit.parts.subgroups import Joint, Subgroup, find_subgroups
from fairbench_cli.audit.parts.trends import FEW_OVER
from fairbench_cli.audit.scan.slices import Clusters, Slice
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.rates import numerators_and_denominators
from fairbench_cli.measures.registry import COUNT_METRICS, find_metric, measure
from fairbench_cli.measures.significance import holm
from fairbench_cli.measures.trend import ratio_trend

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "verdicts"
TAU = 0.8
SHARES = {
    (2, "eq"): (1, 1),
    (3, "eq"): (1, 1, 1),
    (4, "eq"): (1, 1, 1, 1),
    (6, "eq"): (1,) * 6,
    (2, "sk"): (0.9, 0.1),
    (3, "sk"): (0.7, 0.2, 0.1),
    (4, "sk"): (0.7, 0.15, 0.1, 0.05),
    (6, "sk"): (0.6, 0.15, 0.1, 0.08, 0.05, 0.02),
}
ONE, FIVE = ("selection-rate",), ("selection-rate", "fpr", "fnr", "fdr", "for")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to weigh: whether each is selected, and of the last group."""

    rng: np.random.Generator
    selected: NDArray[np.bool_]
    minority: NDArray[np.bool_]

    def lognormal(self, sigma: float) -> Floats:
        """Draw a weight for each."""
        return self.rng.lognormal(0, sigma, len(self.selected))


Law = Callable[[Rows], Floats]

LAWS: dict[str, Law | None] = {
    "none": None,
    "ln1": lambda rows: rows.lognormal(1),
    "ln1.5": lambda rows: rows.lognormal(1.5),
    "survey": lambda rows: np.clip(rows.lognormal(0.6), 0.4, 3),
    "five20": lambda rows: np.where(rows.rng.random(len(rows.selected)) < 0.05, 20.0, 1.0),
    "pos8": lambda rows: np.where(rows.selected, 8.0, 1.0),
    "minority": lambda rows: np.where(rows.minority, rows.lognormal(1.2), 1.0),
    "selected20": lambda rows: np.where(
        rows.selected & (rows.rng.random(len(rows.selected)) < 0.05), 20.0, 1.0
    ),
}


@dataclass(frozen=True)
class World:
    """What is audited: attributes of the same groups; the last group of the first has the rate × ratio."""

    rows: int
    rate: float
    groups: int = 2
    shares: str = "eq"
    attributes: int = 1
    measures: tuple[str, ...] = ONE
    ratio: float = 1.0
    law: str = "none"


@dataclass(frozen=True)
class Found:
    """How often a simulated audit fails, by the bare rule too, is shown outside, or passes."""

    fails: float
    point: float
    outside: float
    passes: float


def simulate(world: World, runs: int) -> Found:
    """Return how often audits of a world end in each verdict."""
    rng = np.random.default_rng(zlib.crc32(repr(world).encode()))
    counts = [_counts(rng, world, runs, i) for i in range(world.attributes)]
    law, found = LAWS[world.law], []
    for n in counts:
        if law is None:
            numerator, denominator = (
                side.reshape(-1, len(world.measures))
                for side in numerators_and_denominators(n, world.measures)
            )
            rows = RateRows(
                numerator, denominator, np.zeros(numerator.shape, dtype=bool), numerator, denominator
            )
            found.append(_together(rows, n.sum((2, 3)), world.measures))
        else:
            found.append(_of_slices([_weighted(rng, each, law) for each in n]))
    return _found(zip(*found, strict=True))


def _counts(rng: np.random.Generator, world: World, runs: int, attribute: int) -> Floats:
    """Draw counts, shape (runs, groups, 2, 2)."""
    shares = np.array(SHARES[world.groups, world.shares], dtype=np.float64)
    sizes = rng.multinomial(world.rows, shares / shares.sum(), size=runs)
    rates = np.full(world.groups, world.rate)
    if attribute == 0:
        rates[-1] *= world.ratio
    if world.law == "pos8":  # the rates are those of weighted rows
        rates = rates / (8 - 7 * rates)
    n = np.zeros((runs, world.groups, 2, 2))
    if len(world.measures) == 1:
        n[..., 0, 1] = rng.binomial(sizes, rates)
        n[..., 0, 0] = sizes - n[..., 0, 1]
        return n
    # Scores that are somewhat right: three of four selected are positive, as the rate of selection allows.
    selected = rng.binomial(sizes, rates)
    n[..., 1, 1] = rng.binomial(selected, 0.75)
    n[..., 0, 1] = selected - n[..., 1, 1]
    n[..., 1, 0] = rng.binomial(sizes - selected, 0.25)
    n[..., 0, 0] = sizes - selected - n[..., 1, 0]
    return n


def _of_slices(slices: Sequence[Slice]) -> Iterator[Tests]:
    """Yield the tests of the selection rate of many slices with as many groups."""
    rows = [group_rate_rows(part, ONE) for part in slices]
    joined = RateRows(*(np.concatenate([vars(each)[key] for each in rows]) for key in vars(rows[0])))
    return _together(joined, np.stack([part.counts.group_total for part in slices]), ONE)


def _together(rows: RateRows, totals: Floats, names: tuple[str, ...]) -> Iterator[Tests]:
    """Yield the tests of each run, all computed at once: rows (runs × groups, rates), totals (runs, groups).

    The largest group is the reference.
    """
    runs, groups = totals.shape
    at = totals.argmax(1)
    ref = rows.take(np.repeat(np.arange(runs) * groups + at, groups))
    compare_slice = np.repeat((np.arange(groups) != at[:, None]).ravel()[:, None], len(names), axis=1)
    zeros = np.zeros(len(names), dtype=np.intp)
    allowed = Allowed(np.full(len(names), TAU), np.full(len(names), np.nan))
    every = compute_tests(names, zeros, rows, ref, compare_slice, allowed, 0.95)
    for run in range(runs):
        of = slice(run * groups, (run + 1) * groups)
        some = {
            key: value[of]
            for key, value in vars(every).items()
            if isinstance(value, np.ndarray) and key not in ("reference_indices", "pairs", "pairs_outside")
        }
        own, other = (RateRows(*(part[of] for part in vars(side).values())) for side in (rows, ref))
        yield replace(every, reference_indices=np.full(len(names), at[run]), rows=own, ref=other, **some)


def _weighted(rng: np.random.Generator, n: Floats, law: Law) -> Slice:
    """Draw a weight for each row of unlabelled counts (groups, 2, 2), and sum them."""
    groups = len(n)
    sizes = n[:, 0, ::-1].astype(np.int64).ravel()  # selected, refused of each group
    cell = np.repeat(np.arange(2 * groups), sizes)
    weight = law(Rows(rng, cell % 2 == 0, cell >= 2 * (groups - 1)))
    sums, squares = (np.bincount(cell, of, minlength=2 * groups) for of in (weight, weight**2))
    return slice_of(*(side.reshape(-1, 2)[:, ::-1] for side in (sums, squares, sizes)))


def slice_of(selected: Floats, squares: Floats, rows: Floats, clusters: Clusters | None = None) -> Slice:
    """Return an unlabelled slice of refused and selected, each of shape (groups, 2)."""
    none = np.zeros((len(rows), 1, 2))
    n, q, k = (np.concatenate([of[:, None, :], none], axis=1) for of in (selected, squares, rows))
    names = tuple(map(str, range(len(rows))))
    return Slice("", "binary", "a", Counts(names, n), k.astype(np.int64), q, False, clusters=clusters)


def _test(part: Slice, config: AuditConfig) -> Tests:
    return compare_slice(part, ONE, config).tests


def _found(runs: Iterable[Sequence[Tests]]) -> Found:
    """Return how often audits end in each verdict, given the tests of their attributes."""
    config, seen = AuditConfig(), []
    for tests in runs:
        evidence = adjust_tests(tests, [frozenset(one.names) for one in tests], config)
        verdicts, points, outside = [], [], False
        for one, known in zip(tests, evidence, strict=True):
            for g, m in zip(*np.nonzero(one.compared), strict=True):
                sides = (
                    one.rows.plain_numerator,
                    one.rows.denominator,
                    one.ref.plain_numerator,
                    one.ref.denominator,
                )
                if one.rows.scaled.any():
                    sides = (one.rows.numerator, one.rows.denominator, one.ref.numerator, one.ref.denominator)
                points.append(decide(*(float(side[g, m]) for side in sides), TAU))
                verdicts.append(decide_by_evidence(points[-1], one, known, g, m, config)[0])
                outside |= verdicts[-1] == "fail" and bool(known.outside[g, m])
        verdict = combine_verdicts(verdicts)
        seen.append((verdict == "fail", combine_verdicts(points) == "fail", outside, verdict == "pass"))
    return Found(*map(float, np.mean(seen, axis=0)))


def _head(*titles: str) -> None:
    print("", "", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", sep="\n")


# The parts.


def fair(runs: int) -> None:
    """Print fair worlds: what fails is a false alarm."""
    _head("rows", "points", "fails: mean", "largest", "point rule: mean", "passes: mean")
    for rows in (100, 300, 1000, 3000, 10_000, 50_000):
        found = [
            simulate(World(rows, rate, groups, shares, attributes, measures), runs)
            for rate, (groups, shares), (attributes, measures) in product(
                (0.1, 0.4),
                ((2, "sk"), (4, "sk"), (6, "eq")),
                ((1, ONE), (3, ONE), (1, FIVE)) if rows < 50_000 else ((1, ONE), (3, ONE)),
            )
        ]
        fails = [one.fails for one in found]
        print(
            f"| {rows:,} | {len(found)} | {np.mean(fails):.3f} | {max(fails):.3f} "
            f"| {np.mean([one.point for one in found]):.2f} | {np.mean([one.passes for one in found]):.2f} |"
        )


def gap(runs: int) -> None:
    """Print worlds with one rate too low: power, the bare rule's, and false passes."""
    _head("ratio", "rate", "rows", "fails", "point rule fails", "fails clearly", "passes")
    for ratio, rate, rows in product(
        (0.6, 0.7, 0.79, 0.9), (0.1, 0.3), (100, 300, 1000, 3000, 10_000, 50_000)
    ):
        one = simulate(World(rows, rate, ratio=ratio), runs)
        print(
            f"| {ratio} | {rate} | {rows:,} | {one.fails:.3f} | {one.point:.3f} "
            f"| {one.outside:.3f} | {one.passes:.3f} |"
        )


def weights(runs: int) -> None:
    """Print the rule under weights, next to final_rule.csv where the law is the same."""
    with (REFERENCE / "final_rule.csv").open(newline="") as file:
        known = {
            tuple(row[key] for key in ("weights", "rate", "rows", "attrs", "groups", "shares", "R")): row
            for row in csv.DictReader(file)
        }
    far: list[tuple[float, str]] = []
    _head(
        "weights",
        "fair: fails, largest",
        "mean",
        "R = .8: passes, largest",
        "R = .7: fails at 300",
        "1,000",
        "3,000",
        "fair: passes at 3,000",
    )
    for law in LAWS:
        if law == "selected20":  # the rates are not those of weighted rows
            continue
        found = {}
        worlds = [
            World(rows, rate, ratio=ratio, law=law)
            for rows in (300, 3000)
            for rate in (0.1, 0.4)
            for ratio in (1.0, 0.8)
        ]
        worlds += [World(rows, 0.4, ratio=0.7, law=law) for rows in (300, 1000, 3000)]
        worlds += [World(rows, 0.1, 4, "sk", law=law) for rows in (300, 3000)]
        for world in worlds:
            found[world] = simulate(world, runs)
            of = (
                world.law,
                world.rate,
                world.rows,
                world.attributes,
                world.groups,
                world.shares,
                world.ratio,
            )
            key = tuple(map(str, of))
            if key in known:
                far += [
                    (abs(value - float(known[key][name])), f"{name} {key}: {value:.4f}, {known[key][name]}")
                    for name, value in (("fails", found[world].fails), ("passes", found[world].passes))
                ]
        alarms = [one.fails for world, one in found.items() if world.ratio == 1]
        passes = [one.passes for world, one in found.items() if world.ratio == 0.8]
        power = [one.fails for world, one in found.items() if world.ratio == 0.7]
        settled = found[World(3000, 0.4, law=law)].passes
        print(
            f"| {law} | {max(alarms):.3f} | {np.mean(alarms):.3f} | {max(passes):.3f} | "
            f"{' | '.join(f'{value:.2f}' for value in power)} | {settled:.2f} |"
        )
    print(f"\n{len(far)} numbers of final_rule.csv; the largest differences:")
    for _, text in sorted(far, reverse=True)[:5]:
        print(f"* {text}")


def heavy(runs: int) -> None:
    """Print the law that is over 5 %: few heavy weights, all of them of selected rows."""
    _head("rows", "weights", "fair: fails")
    for rows in (1_000, 5_000, 20_000):
        found = simulate(World(rows, 0.1, 2, "sk", law="selected20"), runs)
        print(f"| {rows:,}, a tenth in one group | selected20 | {found.fails:.3f} |", flush=True)


def reference(runs: int) -> None:
    """Print false alarms and passes where the reference is the group with the highest rate."""
    _head("groups", "fails, largest", "mean", "reference CSV, largest", "point rule", "R = .79: passes")
    with (REFERENCE / "references.csv").open(newline="") as file:
        known = {int(row["groups"]): row for row in csv.DictReader(file) if row["ref"] == "highest"}
    config = AuditConfig(ref_method="maximum", min_group=1)
    for groups in (3, 6, 10):
        found, false = [], []
        for rate, rows, geometric in product((0.3,), (300, 3000), (False, True)):
            rng = np.random.default_rng([groups, rows, round(10 * rate), geometric])
            shares = 0.6 ** np.arange(groups) if geometric else np.ones(groups)
            sizes = np.maximum(1, np.rint(rows * shares / shares.sum())).astype(np.int64)
            for ratio, into in ((1.0, found), (0.79, false)):
                rates = rate * np.where(np.arange(groups) == groups - 1, ratio, 1)
                selected = rng.binomial(sizes, rates, size=(runs, groups))
                tests = (_of_selected(row, sizes, config) for row in selected)
                into.append(_found([one] for one in tests))
        fails = [one.fails for one in found]
        print(
            f"| {groups} | {max(fails):.3f} | {np.mean(fails):.3f} | {known[groups]['hyb5_holm_pairs_max']} "
            f"| {np.mean([one.point for one in found]):.2f} | {max(one.passes for one in false):.3f} |"
        )


def _of_selected(selected: NDArray[np.int64], sizes: NDArray[np.int64], config: AuditConfig) -> Tests:
    n = np.stack([sizes - selected, selected], axis=1).astype(np.float64)
    return _test(slice_of(n, n, n), config)


def clusters(runs: int) -> None:
    """Print two fair groups of people with several rows each, as many for all: with --cluster and without."""
    titles = ("rows each", "correlation", "people in a group", "fails", "reference CSV")
    _head(*titles, "without --cluster", "R = .8: passes", "R = .6: fails")
    with (REFERENCE / "clusters.csv").open(newline="") as file:
        known = {
            (int(row["m"]), float(row["icc"]), int(row["clusters_per_group"])): row
            for row in csv.DictReader(file)
            if row["R"] == "1.0" and row["method"] == "rule"
        }
    for many, icc, people in product((2, 5, 10), (0.1, 0.5, 1.0), (20, 100, 400)):
        if people == 400 and icc != 0.5:
            continue
        drawn, at_limit, unequal = (
            crowds(Crowd("equal", many, icc, (people, people), 0.3, ratio), runs) for ratio in (1, 0.8, 0.6)
        )
        plain = [replace(part, clusters=None) for part in drawn]
        own, without, low, unfair = map(_of_crowds, (drawn, plain, at_limit, unequal))
        row = known.get((many, icc, people))
        print(
            f"| {many} | {icc} | {people} | {own.fails:.3f} | {row['fails_A_max'] if row else '–'} "
            f"| {without.fails:.3f} | {low.passes:.3f} | {unfair.fails:.2f} |"
        )


def sizes(runs: int) -> None:
    """Print people with as many rows as chance has it: fair groups, and the power that is left."""
    _head(
        "rows each", "people", "mean rows", "rate", "correlation", "fails", "R = .6: fails", "R = .8: passes"
    )
    for design in designs():
        fair, unfair, low = (
            _of_crowds(crowds(replace(design, ratio=ratio), runs)) for ratio in (1.0, 0.6, 0.8)
        )
        like = " and ".join(dict.fromkeys(f"{icc:g}" for icc in design.likeness))
        print(
            f"| {design.law} | {' and '.join(f'{n:,}' for n in design.people)} | {design.mean} "
            f"| {design.rate} | {like} | {fair.fails:.3f} | {unfair.fails:.2f} | {low.passes:.3f} |"
        )


def matched(runs: int) -> None:
    """Print people with rows in both groups, as employers to whom applications of each are sent."""
    titles = ("rows in each group", "people", "rate", "correlation", "fails", "R = .8: passes")
    _head(*titles, "R = .6: fails", "R = 1: 95 % interval holds it")
    config = AuditConfig(references={"a": "1"}, ref_method="given")
    for law, mean, icc, people, rate in MATCHED:
        fair, low, unfair = (
            crowds(Crowd(law, mean, icc, (people, people), rate, ratio, both=True), runs)
            for ratio in (1.0, 0.8, 0.6)
        )
        each, passed, found = (_found([_test(one, config)] for one in drawn) for drawn in (fair, low, unfair))
        limits = [compare_slice(one, ONE, config).ratio_limits for one in fair]
        holds = np.mean([low[0, 0] <= 1 <= high[0, 0] for low, high in limits])
        print(
            f"| {mean}{'' if law == 'equal' else f' ({law})'} | {people:,} | {rate} | {icc} "
            f"| {each.fails:.3f} | {passed.passes:.3f} "
            f"| {found.fails:.2f} | {holds:.3f} |",
            flush=True,
        )


MATCHED = [
    *(("equal", 1, icc, people, 0.3) for icc in (0.3, 0.6, 0.95) for people in (20, 100, 400)),
    *(("equal", 2, icc, people, 0.1) for icc in (0.3, 0.6) for people in (50, 400, 1300)),
    *(("lognormal", 5, icc, people, 0.3) for icc in (0.2, 0.6) for people in (20, 100, 400)),
    *(("few heavy", 5, 0.3, people, 0.3) for people in (50, 200)),
]


@dataclass(frozen=True)
class Crowd:
    """Two groups of people with rows: how many of both there are, and how alike the rows of a person are.

    The first group has the rate × ratio. A correlation may be of both groups, or one for each. `both`: the
    people of the two groups are the same, with rows in each, and as likely to be selected in both but for the
    ratio.
    """

    law: str
    mean: int
    icc: float | tuple[float, float]
    people: tuple[int, int]
    rate: float = 0.3
    ratio: float = 1.0
    both: bool = False

    @property
    def likeness(self) -> tuple[float, float]:
        """The correlations of both groups."""
        return self.icc if isinstance(self.icc, tuple) else (self.icc, self.icc)


SIZES: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "equal": lambda _, mean, people: np.full(people, float(mean)),
    "lognormal": lambda rng, mean, people: np.rint(rng.lognormal(np.log(mean) - 0.72, 1.2, people)).clip(1),
    "geometric": lambda rng, mean, people: rng.geometric(1 / mean, people).astype(np.float64),
    "few heavy": lambda rng, mean, people: np.where(rng.random(people) < 0.05, 10.0 * mean, mean // 2).clip(
        1
    ),
}


def designs() -> Iterator[Crowd]:
    """Yield the worlds of people that `sizes` looks at."""
    pairs = ((50, 50), (99, 99), (100, 100), (100, 1000), (1000, 1000))
    for law, icc, people in product(("lognormal", "geometric"), (0.2, 0.5, 1.0), pairs):
        yield Crowd(law, 5, icc, people)
    for law, icc in product(("lognormal", "geometric"), (0.2, 0.5, 1.0)):
        yield Crowd(law, 10, icc, (100, 5000))
    for law in ("lognormal", "geometric", "few heavy"):
        yield Crowd(law, 5, 0.5, (100, 1000), 0.2)
        yield Crowd(law, 5, (1.0, 0.0), (100, 1000))
        yield Crowd(law, 5, (0.0, 1.0), (100, 1000))
        yield Crowd(law, 10, 0.5, (8, 8), 0.5)
        yield Crowd(law, 20, 0.05, (10, 10))
        yield Crowd(law, 5, 0.5, (5000, 5000), 0.1)


def crowds(crowd: Crowd, runs: int) -> list[Slice]:
    """Draw slices of a world of people."""
    rng = np.random.default_rng(zlib.crc32(repr(crowd).encode()))
    return [_people(rng, crowd) for _ in range(runs)]


def _people(rng: np.random.Generator, crowd: Crowd) -> Slice:
    group = np.repeat([0, 1], crowd.people)
    many = np.concatenate([SIZES[crowd.law](rng, crowd.mean, people) for people in crowd.people])
    rates = np.array([crowd.rate * crowd.ratio, crowd.rate])[group]
    icc = np.array(crowd.likeness)[group]
    like = np.clip((1 - icc) / np.maximum(icc, 1e-9), 1e-9, None)
    own = np.where(icc > 0, rng.beta(rates * like, (1 - rates) * like), rates)
    person = np.arange(len(group))
    if crowd.both:
        person = person % crowd.people[1]
        own = np.where(group == 0, crowd.ratio, 1.0) * own[crowd.people[0] :][person]
    rates = own if crowd.both else rates
    hits = np.where(icc < 1, rng.binomial(many.astype(np.int64), own), many * rng.binomial(1, rates))
    n = np.zeros((len(group), 2, 2))
    n[:, 0, 1], n[:, 0, 0] = hits, many - hits
    sums = np.stack([n[group == g, 0].sum(0) for g in (0, 1)])
    return slice_of(sums, sums, sums, Clusters(person, group, n, n))


def _of_crowds(drawn: Sequence[Slice]) -> Found:
    config = AuditConfig(min_group=1)
    return _found([_test(each, config)] for each in drawn)


# Gates by metrics that an audit computes when they are named.


@dataclass(frozen=True)
class Labelled:
    """Two groups with labels: shares of tn, fp, fn, tp of the reference, and of the other group.

    The group has `share` of the rows, or draws them. Rows have weights by a law, and people `each` rows that
    are alike.
    """

    rows: int
    cells: tuple[float, ...]
    others: tuple[float, ...] = ()
    share: float = 0.5
    law: str = "none"
    each: int = 1
    random: bool = False


def labelled(rng: np.random.Generator, world: Labelled) -> Slice:
    """Draw a slice of a world."""
    many = world.rows // world.each
    first = rng.binomial(many, world.share) if world.random else round(many * world.share)
    drawn = [rng.multinomial(first, world.others or world.cells), rng.multinomial(many - first, world.cells)]
    cell = np.repeat(np.arange(8), np.concatenate(drawn))
    rows = np.stack(drawn).reshape(2, 2, 2) * world.each
    sums = squares = rows.astype(np.float64)
    law, clusters = LAWS[world.law], None
    if law is not None:
        weight = law(Rows(rng, cell % 2 == 1, cell < 4))
        sums, squares = (np.bincount(cell, of, minlength=8).reshape(2, 2, 2) for of in (weight, weight**2))
    if world.each > 1:
        own = world.each * (cell[:, None] % 4 == np.arange(4)).astype(np.float64).reshape(-1, 2, 2)
        clusters = Clusters(np.arange(len(cell)), cell // 4, own, own)
    counts = Counts(("g", "r"), sums)
    return Slice("", "binary", "a", counts, rows, squares, labelled=True, clusters=clusters)


def by_name(part: Slice, config: AuditConfig) -> Requested:
    """Return what an audit finds of the metrics that it is asked for by name."""
    empty = Report(config, "", 0, False, (part,), (), (), (), (), 0)
    return compute_requested((), empty)


COIN = (0.25, 0.25, 0.25, 0.25)


def odds(runs: int) -> None:
    """Print how often a largest value stops: coins, and a group with a lower true positive rate."""
    _head(
        "metric",
        "rows",
        "tau",
        "weights",
        "rows each",
        "fair: fails",
        "passes",
        "TPR .5, .1: fails",
        "passes",
    )
    for name, (rows, tau), (law, each) in product(
        ("equalised-odds", "equalised-odds-ratio"),
        ((160, 0.8), (300, 0.85), (600, 0.9), (3000, 0.9)),
        (("none", 1), ("ln1", 1), ("none", 5)),
    ):
        found = []
        for others in (COIN, (0.25, 0.25, 0.45, 0.05)):
            world = Labelled(rows, COIN, others, law=law, each=each)
            rng = np.random.default_rng(zlib.crc32(repr((name, tau, world)).encode()))
            config = AuditConfig(metric=(name,), tau=tau, ref={"a": "r"})
            seen = [by_name(labelled(rng, world), config).rows[0].verdicts[name] for _ in range(runs)]
            found += [np.mean([one == what for one in seen]) for what in ("fail", "pass")]
        text = f"{found[0]:.3f} | {found[1]:.2f} | {found[2]:.2f} | {found[3]:.3f}"
        print(f"| {name} | {rows:,} | {tau} | {law} | {each} | {text} |", flush=True)


DECIDING = tuple(
    name for name in COUNT_METRICS if kind(name) == "counts" and canonical(name) == name and can_decide(name)
)
TESTED = ("parts", "rate", "limit", "ideal")


def once(names: Sequence[str]) -> tuple[str, ...]:
    """Return metrics without those that have the values and tests of one before them by another name."""
    some = Counts(("g", "r"), np.random.default_rng(0).integers(1, 50, (9, 2, 2, 2)).astype(np.float64))
    found = {
        (parts_to_test(find_metric(n))[1:], measure(n, some).round(9).tobytes()): n for n in reversed(names)
    }
    return tuple(name for name in names if name in found.values())


def levels(world: Labelled, runs: int, names: Sequence[str] = DECIDING, draws: int = 200) -> dict[str, float]:
    """Return how often each metric would fail alone in a fair world, whatever tau: it is 0.999.

    Of a metric which is best at an end of its range, the limit is its true value.
    """
    shares = np.array([world.share, 1 - world.share])[:, None, None]
    truth = Counts(("g", "r"), 1e9 * shares * np.array(world.cells).reshape(2, 2))
    taus: dict[str, float] = {"default": 0.999}
    for name in names:
        entry = find_metric(name)
        if entry.tested == "limit" and entry.ideal is not None:
            reach = max(entry.high - entry.ideal, entry.ideal - entry.low)
            taus[name] = float(np.clip(1 - abs(measure(name, truth) - entry.ideal) / reach, 0.001, 1))
    config = AuditConfig(metric=names, tau=taus, ref={"a": "r"}, draws=draws)
    rng, fails = np.random.default_rng(zlib.crc32(repr(world).encode())), dict.fromkeys(names, 0)
    for _ in range(runs):
        found = by_name(labelled(rng, world), config)
        for name in names:
            fails[name] += _fails_alone([test for test in found.tests if test.metric == name], found, config)
    return {name: count / runs for name, count in fails.items()}


def _fails_alone(tests: Sequence[RequestedTest], found: Requested, config: AuditConfig) -> bool:
    """Return whether a metric would fail if no other was asked for."""
    adjusted = holm([1.0 if np.isnan(test.p) else test.p for test in tests])
    for test, p in zip(tests, adjusted, strict=True):
        entry, known = find_metric(test.metric), found.rows[0].values[test.metric]
        if entry.tested == "parts":
            entry, known = find_metric(test.tested), test.value
        if decide_metric(entry, known, tau_of(test.metric, config), config, float(p)) == "fail":
            return True
    return False


def gates(runs: int) -> None:
    """Print the level of every metric that a gate may name, each alone, by what is tested.

    A metric is looked at once, whatever its names.
    """
    _head("rows", "share", "weights", "rows each", *(f"{of}: mean | largest" for of in TESTED))
    seen: dict[str, list[float]] = {}
    every = once(DECIDING)
    somewhat_right, as_chance = (0.55, 0.1, 0.1, 0.25), (0.35, 0.35, 0.15, 0.15)
    for rows, (share, cells), (law, each) in product(
        (100, 300, 1000, 5000),
        ((0.5, somewhat_right), (0.1, as_chance)),
        (("none", 1), ("ln1", 1), ("none", 5)),
    ):
        world = Labelled(rows, cells, share=share, law=law, each=each, random=share == 0.5)
        names = [name for name in every if share == 0.5 or "-share-" not in name]  # equal sizes are fair
        found = levels(world, runs, names)
        for name, level in found.items():
            seen.setdefault(name, []).append(level)
        by = [[level for name, level in found.items() if find_metric(name).tested == of] for of in TESTED]
        texts = " | ".join(f"{np.mean(of):.3f} | {max(of):.3f}" for of in by)
        print(f"| {rows:,} | {share} | {law} | {each} | {texts} |", flush=True)
    far = sorted(seen, key=lambda name: -np.mean(seen[name]))
    print("\nThe largest means over all points:", ", ".join(f"{n} {np.mean(seen[n]):.3f}" for n in far[:12]))


@dataclass(frozen=True)
class Searched:
    """Rows of three attributes of 5, 2 and 3 levels of unequal shares, in which subgroups are searched.

    `planted` is the ratio of the rate of one subgroup, p = b and r = y (6 % of the rows), to that of the
    others. Each person has `people` rows on average (geometric), if that is not 0, with outcomes correlated
    by `icc`.
    """

    rows: int
    rate: float
    planted: float = 1.0
    people: float = 0.0
    icc: float = 0.5
    names: tuple[str, ...] = ONE

    def draw(self, rng: np.random.Generator) -> tuple[Joint, Floats]:
        """Return the rows as they are counted, and how many of each combination would be selected."""
        levels = (("a", "b", "c", "d", "e"), ("f", "m"), ("x", "y", "z"))
        shares = ((0.5, 0.3, 0.12, 0.06, 0.02), (0.6, 0.4), (0.3, 0.2, 0.5))
        many = round(self.rows / self.people) if self.people else self.rows
        codes = np.stack([rng.choice(len(of), many, p=of) for of in shares], axis=1)
        planted = (codes[:, 0] == 1) & (codes[:, 2] == 1)
        rates = own = np.where(planted, self.rate * self.planted, self.rate)
        size = np.ones(many, dtype=np.int64)
        if self.people:
            size = rng.geometric(1 / self.people, many)
            own = rng.beta(rates * (1 - self.icc) / self.icc, (1 - rates) * (1 - self.icc) / self.icc)
        n = np.zeros((many, 2, 2))
        selected = rng.binomial(size, own)
        n[:, 1, 1], n[:, 1, 0] = rng.binomial(selected, 0.75), rng.binomial(size - selected, 0.25)
        n[:, 0, 1], n[:, 0, 0] = selected - n[:, 1, 1], size - selected - n[:, 1, 0]
        known, place = np.unique(codes, axis=0, return_inverse=True)
        counted = np.zeros((len(known), 2, 2))
        np.add.at(counted, place.ravel(), n)
        names = tuple("".join(levels[i][code] for i, code in enumerate(row)) for row in known.tolist())
        clusters = Clusters(np.arange(many), place.ravel(), n, n) if self.people else None
        counts = Counts(names, counted)
        part = Slice("", "binary", "p × q × r", counts, counted.astype(np.int64), counted, labelled=True)
        expected = np.bincount(place.ravel(), size * rates)
        return Joint(replace(part, clusters=clusters), ("p", "q", "r"), levels, known), expected


def _holds(one: Subgroup, joint: Joint, expected: Floats) -> bool:
    """Return whether the intervals of a subgroup hold the ratio and the difference of the true rates."""
    inside = np.ones(len(expected), dtype=bool)
    for name, level in one.levels.items():
        at = joint.names.index(name)
        inside &= joint.codes[:, at] == joint.levels[at].index(level)
    rows = joint.group_counts.counts.group_total
    rate, others = (expected[some].sum() / rows[some].sum() for some in (inside, ~inside))
    ratio, difference = one.ratio, one.difference
    return ratio.low <= rate / others <= ratio.high and difference.low <= rate - others <= difference.high


def scan(runs: int) -> None:
    """Print how often a scan says that a subgroup stands out, fairly and where one does.

    "all hold" is how often the intervals of both subgroups hold their true ratios and differences.
    """
    _head(
        *("rows", "rate", "rates", "planted", "rows a person", "ICC", "says so", "that very one"),
        *("all hold", "without multiplicity"),
    )
    fair = [*product((300, 1000, 5000), (0.1, 0.4), (ONE,)), (300, 0.1, FIVE), (3000, 0.4, FIVE)]
    worlds = [Searched(rows, rate, names=names) for rows, rate, names in fair]
    worlds += itertools.starmap(Searched, product((1000, 5000, 20_000), (0.1, 0.4), (0.6, 1.5)))
    worlds += [
        Searched(rows, 0.3, 1.0, *people) for rows, *people in product((1000, 5000), (2.0, 5.0), (0.2, 0.8))
    ]
    worlds += [Searched(20_000, 0.3, 1.5, 5.0, 0.5)]
    for world in worlds:
        seen = []
        for run in range(runs):
            joint, expected = world.draw(np.random.default_rng([zlib.crc32(repr(world).encode()), run]))
            found = find_subgroups([joint], world.names, AuditConfig(draws=200, seed=run))
            standing = [one for one in found if one.stands_out]
            seen.append(
                (
                    bool(standing),
                    any(one.levels == {"p": "b", "r": "y"} for one in standing),
                    world.names != ONE or all(_holds(one, joint, expected) for one in found),
                    any(one.likelihood_ratio > 1.92 for one in found),  # as if it were the only one
                )
            )
        says, that, holds, plain = np.mean(seen, axis=0)
        print(
            f"| {world.rows:,} | {world.rate} | {len(world.names)} | {world.planted:g} "
            f"| {world.people or 1:g} | {world.icc if world.people else '–'} | {says:.3f} "
            f"| {'–' if world.planted == 1 else f'{that:.2f}'} "
            f"| {f'{holds:.3f}' if world.names == ONE else '–'} | {plain:.2f} |",
            flush=True,
        )


def trends(runs: int) -> None:
    """Print how often a trend over slices is found where there is none, and where a ratio changes."""
    _head(
        "slices", "rows", "fair: trend, mean", "largest", "interval holds 1.5 times", "1.5 times: trend, mean"
    )
    rng = np.random.default_rng(10)
    for many, rows in product((3, 8, 24), (100, 400, 2000)):
        time = np.linspace(0, 1, many)
        found = []
        for rate, ratio, share in product((0.05, 0.3, 0.6), (1.0, 0.6), (0.5, 0.1)):
            n, q = round(rows * share), rate * np.linspace(0.8, 1.2, many)
            seen = []
            for change in (1.0, 1.5):
                p = np.minimum(q * ratio * change ** (time - 0.5), 0.99)
                x, y = rng.binomial(n, p, (runs, many)), rng.binomial(rows - n, q, (runs, many))
                enough = np.minimum(x.sum(-1), y.sum(-1)) >= FEW_OVER
                fit = ratio_trend(x, n, y, rows - n, time)
                seen += [
                    ((fit.p < 0.05) & enough).mean(),
                    ((fit.low <= change) & (change <= fit.high)).mean(),
                ]
            found.append(seen)
        fair_worlds, _, power, holds = np.transpose(found)
        print(
            f"| {many} | {rows:,} | {fair_worlds.mean():.3f} | {fair_worlds.max():.3f} "
            f"| {holds.mean():.3f} | {power.mean():.2f} |",
            flush=True,
        )


def margins(runs: int) -> None:
    """Print audits by a margin of 5 points: equal rates, a gap that is the margin, and one twice as large."""
    margin = 0.05
    _head(
        "rows",
        "share of the group",
        "rate of the reference",
        "equal: fails",
        "passes",
        "5 points: passes",
        "fails",
        "fails clearly",
        "10 points: fails",
        "fails clearly",
    )
    rng = np.random.default_rng(12)
    for rows, share, rate in product((100, 300, 1000, 3000, 10_000), (0.5, 0.1), (0.12, 0.3, 0.5)):
        cells = []
        for gap_of_world in (0.0, margin, 2 * margin):
            tests, selected, ref_selected = _draw_with_margin(
                rng, rows, share, (rate - gap_of_world, rate), runs
            )
            distance = np.abs(selected - ref_selected)
            fails = (tests.p[:, 0] < 0.05) & (distance > margin)
            clearly = fails & (tests.outside[:, 0] < 0.05)
            cells.append((fails.mean(), tests.within.mean(), clearly.mean()))
        equal, at_margin, twice = cells
        numbers = (*equal[:2], at_margin[1], at_margin[0], at_margin[2], twice[0], twice[2])
        print(
            f"| {rows:,} | {share:g} | {rate:g} | {' | '.join(f'{number:.3f}' for number in numbers)} |",
            flush=True,
        )


def _draw_with_margin(
    rng: np.random.Generator, rows: int, share: float, rates: tuple[float, float], runs: int
) -> tuple[Tests, Floats, Floats]:
    """Draw groups with a reference each, and return their tests by a margin of 5 points and their rates."""
    sides = []
    for n, rate in zip((round(rows * share), rows - round(rows * share)), rates, strict=True):
        selected = rng.binomial(n, rate, runs).astype(np.float64)[:, None]
        total = np.full((runs, 1), float(n))
        sides.append(RateRows(selected, total, np.zeros((runs, 1), dtype=bool), selected, total))
    allowed = Allowed(np.array([np.nan]), np.array([0.05]))
    compared = np.ones((runs, 1), dtype=bool)
    tests = compute_tests(ONE, np.zeros(1, dtype=np.intp), sides[0], sides[1], compared, allowed, 0.95)
    group_rates, ref_rates = ((side.numerator / side.denominator)[:, 0] for side in sides)
    return tests, group_rates, ref_rates


PARTS = {
    "fair": fair,
    "gap": gap,
    "weights": weights,
    "heavy": heavy,
    "references": reference,
    "clusters": clusters,
    "sizes": sizes,
    "matched": matched,
    "odds": odds,
    "gates": gates,
    "scan": scan,
    "trends": trends,
    "margins": margins,
}


if __name__ == "__main__":
    wanted = sys.argv[2:] or list(PARTS)
    for part in wanted:
        print(f"\n## {part}")
        PARTS[part](int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
        sys.stdout.flush()
