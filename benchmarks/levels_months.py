"""How often an audit that is looked at every month is wrong, and how soon it finds a gap.

``python benchmarks/levels_months.py [runs]`` prints Markdown tables of 60 looks each, by the functions that
an audit by ``--slice month`` is made of, with Wilson's intervals of 95 %; every world has a seed of its own.
``python benchmarks/levels_months.py 2000 fair`` prints one of: fair, delays, limits, weights, clusters (as by
``--months alike``), scatter, late, numbers, number-delays (as by it, and by default), whole.
"""

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.clustered_streams import PairLooks, SliceSums, compare_pair
from fairbench_cli.audit.compare.compare_rates import Allowed
from fairbench_cli.audit.compare.effective_sizes import group_rate_rows
from fairbench_cli.audit.compare.streams import SliceRows, StreamTests, WeightSums, stream_tests
from fairbench_cli.audit.config import AuditConfig, Months
from fairbench_cli.audit.scan.slices import Clusters, Slice, Tally
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.moments import sum_powers_along
from fairbench_cli.measures.month_effects import (
    MIXING_OF_MEANS,
    SPREADS_OF_MEANS,
    compare_months,
    log_evidence_beyond_months,
)
from fairbench_cli.measures.number_evidence import (
    EQUAL,
    LOG_WEIGHTS,
    Hypothesis,
    _smaller,
    _standardise,
    split_log_likelihoods,
    sum_since,
    sums_log_evidence,
)
from fairbench_cli.measures.score_test import score_z, wilson_interval
from fairbench_cli.measures.sequential import exact_log_evidence, mix_starts, ratio_looks
from fairbench_cli.measures.significance import normal_p
from fairbench_cli.measures.splits import needs_splits

LOOKS = 60
AT_ONCE = 200  # runs
TAU = 0.8
ALLOWED = Allowed(np.array([TAU]), np.array([np.nan]))
LEVEL = 0.05
SELECTION = ("selection-rate",)


@dataclass(frozen=True)
class World:
    """Two groups, month after month.

    Parameters
    ----------
    name : str
    n, m : int
        Rows of the group and of its reference in a month.
    rate : float or array, shape (LOOKS,)
        Of the reference.
    ratio : float
        Of the group's rate to it, from month `start` on; until then 1.
    start : int
        From 1.
    scatter : str
        One of `EFFECTS`, by which months move the log odds of the group; none: "".
    size : float
        Of these effects.
    """

    name: str
    n: int
    m: int
    rate: float | Floats
    ratio: float = 1.0
    start: int = 1
    scatter: str = ""
    size: float = 0.0

    def draw(self, runs: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many are selected of the group and of the reference, (runs, LOOKS)."""
        rates = np.broadcast_to(self.rate, (runs, LOOKS))
        ratios = np.where(np.arange(1, LOOKS + 1) >= self.start, self.ratio, 1.0)
        group_rates = rates * ratios
        if self.scatter:
            odds = group_rates / (1 - group_rates) * np.exp(self.size * EFFECTS[self.scatter](rng, runs))
            group_rates = odds / (1 + odds)
        return rng.binomial(self.n, group_rates), rng.binomial(self.m, rates)


def season(rng: np.random.Generator, runs: int) -> Floats:
    """Return a wave of a year that begins anywhere, (runs, LOOKS)."""
    first = rng.uniform(0, 12, (runs, 1))
    return np.asarray(np.sin((first + np.arange(LOOKS)) * np.pi / 6))


def half_years(rng: np.random.Generator, runs: int, begins: int = 6) -> Floats:
    """Return half-years above and below in turn, of which the first has lost up to so many months."""
    first = rng.integers(0, begins, (runs, 1))
    sign = rng.choice([-1.0, 1.0], (runs, 1))
    return np.asarray(sign * np.where((first + np.arange(LOOKS)) // 6 % 2, -1.0, 1.0))


EFFECTS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "independent, sd": lambda rng, runs: rng.standard_normal((runs, LOOKS)),
    "the group's season,": season,
    "half-years that begin anywhere, ±": half_years,
    "half-years that begin with the file, ±": lambda rng, runs: half_years(rng, runs, 1),
}
"""What months do to the group alone, 0 on average and of the size 1."""


DRIFT = 0.3 + 0.2 * np.sin(np.arange(LOOKS) / 6)
FAIR = (
    World("150 v 350, .3", 150, 350, 0.3),
    World("60 v 140, .2", 60, 140, 0.2),
    World("30 v 70, .4", 30, 70, 0.4),
    World("30 v 270, .05", 30, 270, 0.05),
    World("400 v 600, .5", 400, 600, 0.5),
    World("10 v 20, .3", 10, 20, 0.3),
    World("15 v 15, .5", 15, 15, 0.5),
    World("150 v 350, the rate drifts from .1 to .5", 150, 350, DRIFT),
)
SIZES = ((150, 350, 0.3), (60, 140, 0.2), (30, 70, 0.4), (400, 600, 0.5))
LATE = ((150, 350, 0.3), (60, 140, 0.2), (400, 600, 0.5))


def rng_of(name: str) -> np.random.Generator:
    """Return random numbers of a world's own."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def rows_of(selected: NDArray[np.int64], total: int) -> SliceRows:
    """Return rows without weights: runs in the place of groups."""
    numerator = selected[:, None, :].astype(np.float64)
    denominator = np.full(numerator.shape, float(total))
    return SliceRows(numerator, denominator, numerator, denominator, np.zeros(numerator.shape, dtype=bool))


def looked_at(
    world: World, runs: int, months: Months | None = "alike"
) -> Iterator[tuple[StreamTests, SliceRows, SliceRows]]:
    """Yield the looks at some runs at a time, with their rows."""
    rng = rng_of(world.name)
    for first in range(0, runs, AT_ONCE):
        selected, ref_selected = world.draw(min(AT_ONCE, runs - first), rng)
        rows = rows_of(selected, world.n)
        ref = rows_of(ref_selected, world.m)
        yield stream_tests(rows, ref, ALLOWED, LEVEL, months=months), rows, ref


def fails(tests: StreamTests) -> NDArray[np.bool_]:
    """Return at which looks a comparison fails: equal rates are rejected, and the ratio since is outside."""
    outside = (tests.since.ratio < TAU) | (tests.since.ratio > 1 / TAU)
    return np.asarray((tests.evidence.p < LEVEL) & outside)


def share(hits: int, runs: int) -> str:
    """Return a share with its interval: "0.016 (0.011-0.023)"."""
    low, high = wilson_interval(np.array(float(hits)), np.array(float(runs)))
    return f"{hits / runs:.3f} ({float(low):.3f}-{float(high):.3f})"


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_fair(runs: int) -> None:
    """Print how often there is an alarm in fair worlds, by months 6, 24 and 60, and how often it fails."""
    print_row(
        "rows a month, rate", "alarm by 6", "by 24", "by 60", "fails by 60", "p of a month", "p of all rows"
    )
    print_row(*["---"] * 7)
    for world in FAIR:
        alarms = np.zeros(3, dtype=int)
        failed = 0
        naive = np.zeros(2, dtype=int)
        for tests, rows, ref in looked_at(world, runs):
            alarm = tests.evidence.p[:, 0] < LEVEL
            alarms += np.array([alarm[:, look - 1].sum() for look in (6, 24, 60)])
            failed += int(fails(tests)[:, 0].any(-1).sum())
            months = (rows.numerator, rows.denominator, ref.numerator, ref.denominator)
            so_far = [np.cumsum(side, axis=-1) for side in months]
            for i, counts in enumerate((months, so_far)):
                naive[i] += int((normal_p(score_z(*counts, 1.0))[:, 0] < LEVEL).any(-1).sum())
        cells = [share(int(hits), runs) for hits in alarms]
        print_row(world.name, *cells, share(failed, runs), *(share(int(hits), runs) for hits in naive))
    print()


def months_until(seen: NDArray[np.bool_], start: int) -> Floats:
    """Return how many months from `start` on it takes until something is seen; infinite where it never is."""
    later = seen[:, start - 1 :]
    months = np.argmax(later, axis=-1) + 1.0
    return np.where(later.any(-1), months, np.inf)


def print_delays(runs: int) -> None:
    """Print the months until the alarm and until it fails, and what start was named."""
    heads = ("alarm: median (90 %)", "fails: median (90 %)", "alarm before", "start named")
    print_row("world", *heads)
    print_row(*["---"] * 5)
    worlds = []
    for ratio in (0.7, 0.8):
        worlds += [World(f"{n} v {m}, {rate}: {ratio}", n, m, rate, ratio) for n, m, rate in SIZES]
    for ratio in (0.7, 0.8):
        for n, m, rate in LATE:
            worlds.append(World(f"from month 13, {n} v {m}, {rate}: {ratio}", n, m, rate, ratio, 13))
    for world in worlds:
        alarms: list[Floats] = []
        failures: list[Floats] = []
        starts: list[Floats] = []
        early = 0
        for tests, _, _ in looked_at(world, runs):
            alarm = tests.evidence.p[:, 0] < LEVEL
            early += int(alarm[:, : world.start - 1].any(-1).sum())
            months = months_until(alarm, world.start)
            alarms.append(months)
            failures.append(months_until(fails(tests)[:, 0], world.start))
            found = np.isfinite(months)
            looks = (months[found] + world.start - 2).astype(int)
            starts.append(tests.evidence.start[found, 0, looks] + 1.0)
        print_row(
            world.name,
            quantiles(np.concatenate(alarms)),
            quantiles(np.concatenate(failures)),
            share(early, runs),
            quantiles(np.concatenate(starts)),
        )
    print()


def quantiles(months: Floats, most: float = 0.9) -> str:
    """Return the median and another quantile; a dash beyond the last look."""
    values = np.quantile(months, [0.5, most], method="inverted_cdf")
    texts = [f"{value:.0f}" if math.isfinite(value) else "–" for value in values]
    return f"{texts[0]} ({texts[1]})"


SCATTERED = (
    *((150, 350, 0.3, "independent, sd", size) for size in (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)),
    *((400, 600, 0.5, "independent, sd", size) for size in (0.1, 0.2, 0.3, 0.5)),
    *((30, 70, 0.4, "independent, sd", size) for size in (0.1, 0.2, 0.3, 0.5, 0.8)),
    *((150, 350, 0.3, "the group's season,", size) for size in (0.3, 0.5)),
    (150, 350, 0.3, "half-years that begin anywhere, ±", 0.3),
    (150, 350, 0.3, "half-years that begin with the file, ±", 0.3),
)
SEEN = (12, 24, 60)


def shares_seen(failing: NDArray[np.bool_]) -> str:
    """Return the shares of runs, shape (runs, LOOKS), in which something is seen by each of `SEEN`."""
    shares = [f"{failing[:, :look].any(-1).mean():.3f}" for look in SEEN]
    return " / ".join(shares)


def print_scatter(runs: int) -> None:
    """Print how often months that move a fair gap are taken for one that lasts: "fails" at some look."""
    print_row("rows a month, rate", "months' effects", "--months alike, by 12 / 24 / 60", "by default")
    print_row(*["---"] * 4)
    for n, m, rate, scatter, size in SCATTERED:
        name = f"{n} v {m}, {rate}"
        world = World(f"{name}, {scatter} {size}", n, m, rate, scatter=scatter, size=size)
        cells = []
        for months in ("alike", None):
            failing = [fails(tests)[:, 0] for tests, _, _ in looked_at(world, runs, months)]
            cells.append(shares_seen(np.concatenate(failing)))
        print_row(name, f"{scatter} {size}", *cells)
    print()


def print_late(runs: int) -> None:
    """Print the months until a gap fails, from its first month on: --months alike, and by default."""
    print_row("world", "--months alike: median (80 %)", "never by 60", "by default", "never by 60")
    print_row(*["---"] * 5)
    for size in (0.0, 0.2):
        for start in (1, 13, 37):
            name = f"150 v 350, .3: .7 from month {start}, months' sd {size}"
            world = World(name, 150, 350, 0.3, 0.7, start, "independent, sd", size)
            cells = []
            for months in ("alike", None):
                failing = [fails(tests)[:, 0] for tests, _, _ in looked_at(world, runs, months)]
                cells += delay_cells(np.concatenate(failing), start)
            print_row(name, *cells)
    print()


def delay_cells(failing: NDArray[np.bool_], start: int) -> list[str]:
    """Return the median and 80 % quantile of the months until it fails, and how often it never does."""
    months = months_until(failing, start)
    return [quantiles(months, 0.8), f"{np.isinf(months).mean():.3f}"]


# -- numbers

NumberLaw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def lognormal(spread: float) -> NumberLaw:
    """Return draws with the mean 1."""
    return lambda rng, shape: rng.lognormal(-(spread**2) / 2, spread, shape)


def zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return draws of which 90 % are 0, with the mean 1."""
    return np.where(rng.random(shape) < 0.1, 10 * lognormal(0.5)(rng, shape), 0.0)


def bonus(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return lognormal draws of which 1 % are 20 times as large, with the mean 1."""
    return np.where(rng.random(shape) < 0.01, 20.0, 1.0) * lognormal(0.3)(rng, shape) / 1.19


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return draws with the mean 1."""
    return rng.normal(1, 0.4, shape)


@dataclass(frozen=True)
class NumberWorld:
    """Numbers of two groups with the mean 1, month after month, of which 5 % are allowed.

    Parameters
    ----------
    name : str
    laws : two callables
        Of the group and of its reference.
    n, m : int
        Rows of both in a month.
    scatter : float
        The standard deviation of what months add to the group.
    gap : float
        What the group has less from month `start` on.
    start : int
        From 1.
    """

    name: str
    laws: tuple[NumberLaw, NumberLaw]
    n: int
    m: int
    scatter: float = 0.0
    gap: float = 0.0
    start: int = 1

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the values of the group and of its reference, (LOOKS, rows)."""
        group, reference = (
            law(rng, (LOOKS, rows)) for law, rows in zip(self.laws, (self.n, self.m), strict=True)
        )
        shift = self.scatter * rng.standard_normal(LOOKS)
        shift -= np.where(np.arange(1, LOOKS + 1) >= self.start, self.gap, 0.0)
        return group + shift[:, None], reference


NUMBERS = (
    NumberWorld("normal, sd .4 of 1, 30 v 70", (normal, normal), 30, 70),
    NumberWorld("lognormal 1, 30 v 300", (lognormal(1),) * 2, 30, 300),
    NumberWorld("90 % zeros, 20 v 200", (zeros, zeros), 20, 200),
    NumberWorld("1 % at 20 times, 30 v 300", (bonus, bonus), 30, 300),
    NumberWorld("lognormal 1.2 v .6, 30 v 70", (lognormal(1.2), lognormal(0.6)), 30, 70),
    NumberWorld("normal, 30 v 70, months' sd .2", (normal, normal), 30, 70, 0.08),
    NumberWorld("normal, 100 v 230, months' sd .2", (normal, normal), 100, 230, 0.08),
)


def number_looks(group: Floats, reference: Floats) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return at which looks means differ, and fail: --months alike, and by default.

    As `number_evidence.look_at_means` does at the last look, which would take as long at each look.
    """
    sides = [sum_powers_along(side, shift=1.0) for side in (group, reference)]
    since = sum_since(*sides)
    pairs = list(zip(group, reference, strict=True))
    likelihoods = split_log_likelihoods(pairs, since, needs_splits(*sides), (EQUAL,))
    by_splits = mix_starts(exact_log_evidence(likelihoods[0], LOG_WEIGHTS))
    alike = _smaller(mix_starts(sums_log_evidence(since)), by_splits)
    of_months = _standardise(since.pick_months(), EQUAL)
    beyond = mix_starts(log_evidence_beyond_months(*of_months, MIXING_OF_MEANS, SPREADS_OF_MEANS))
    by_months = _smaller(beyond, alike)
    may_differ = compare_months(*of_months).may_differ
    looks = np.arange(len(group))
    found = []
    for decides in (np.zeros(len(group), dtype=bool), may_differ):
        alarm = np.where(decides, by_months.p, alike.p) < LEVEL
        start = np.where(decides, by_months.start, alike.start)
        low, high = (
            since.contrast(Hypothesis(0.0, 1 + edge))[0].value[start, looks] for edge in (-0.05, 0.05)
        )
        found.append((alarm, alarm & ((low < 0) | (high > 0))))
    return found


def looks_at_numbers(world: NumberWorld, runs: int) -> NDArray[np.bool_]:
    """Return what `number_looks` does of many runs, (rule, alarm or fails, runs, LOOKS)."""
    rng = rng_of(world.name)
    return np.moveaxis(np.array([number_looks(*world.draw(rng)) for _ in range(runs)]), 0, 2)


def print_numbers(runs: int) -> None:
    """Print how often fair means differ, and fail, at some look."""
    print_row("rows a month", "--months alike: differ by 12 / 24 / 60", "fail", "by default: differ", "fail")
    print_row(*["---"] * 5)
    for world in NUMBERS:
        alike, default = looks_at_numbers(world, runs)
        print_row(world.name, *map(shares_seen, (*alike, *default)))
    print()


def print_number_delays(runs: int) -> None:
    """Print the months until 10 % less fails, from the gap's first month on."""
    print_row("world", "--months alike: median (80 %)", "never by 60", "by default", "never by 60")
    print_row(*["---"] * 5)
    for n, m in ((30, 70), (100, 230)):
        for start in (1, 13, 37):
            name = f"normal, {n} v {m}, 10 % less from month {start}"
            world = NumberWorld(name, (normal, normal), n, m, gap=0.1, start=start)
            alike, default = looks_at_numbers(world, runs)
            print_row(name, *delay_cells(alike[1], start), *delay_cells(default[1], start))
    print()


def print_limits(runs: int) -> None:
    """Print how often the limits of a ratio miss the true one at some look, and how soon they decide."""
    print_row(
        "rows a month, rate",
        "ratio",
        "missed at some of 60",
        "ever outside .8 to 1.25",
        "months",
        "ever within",
    )
    print_row(*["---"] * 6)
    for fair in FAIR:
        for ratio in (1.0, 0.9, 0.8, 0.7):
            world = World(f"{fair.name} limits {ratio}", fair.n, fair.m, fair.rate, ratio)
            missed = 0
            outside: list[NDArray[np.bool_]] = []
            within: list[NDArray[np.bool_]] = []
            for tests, rows, ref in looked_at(world, runs):
                looks = ratio_looks(rows.numerator, rows.denominator, ref.numerator, ref.denominator)
                evidence = np.abs(looks.log_evidence(ratio, LEVEL)[:, 0])
                missed += int((evidence > math.log(1 / LEVEL)).any(-1).sum())
                outside.append(tests.outside[:, 0] < LEVEL)
                within.append(tests.within[:, 0])
            is_outside = np.concatenate(outside)
            is_within = np.concatenate(within)
            ever_outside = share(int(is_outside.any(-1).sum()), runs)
            ever_within = share(int(is_within.any(-1).sum()), runs)
            first = is_within if ratio > TAU else is_outside
            months = quantiles(months_until(first, 1))
            print_row(fair.name, ratio, share(missed, runs), ever_outside, months, ever_within)
    print()


Law = Callable[[np.random.Generator, NDArray[np.bool_]], Floats]
LAWS: dict[str, Law] = {
    "lognormal 1": lambda rng, selected: rng.lognormal(0, 1, len(selected)),
    "lognormal 1.5": lambda rng, selected: rng.lognormal(0, 1.5, len(selected)),
    "one of twenty weighs 20": lambda rng, selected: np.where(rng.random(len(selected)) < 0.05, 20.0, 1.0),
    "one of twenty selected weighs 20": lambda rng, selected: np.where(
        selected & (rng.random(len(selected)) < 0.05), 20.0, 1.0
    ),
    "1 to 3": lambda rng, selected: rng.integers(1, 4, len(selected)).astype(float),
}


LARGE = World("500 v 4,500, .1", 500, 4500, 0.1)


def slice_of(month: int, sides: list[tuple[NDArray[np.bool_], Floats]]) -> Slice:
    """Return a month of rows with weights: the reference first."""
    cells = np.zeros((3, len(sides), 2, 2))
    for g, (selected, weights) in enumerate(sides):
        for decision in (0, 1):
            of_decision = weights[selected == bool(decision)]
            cells[:, g, 0, decision] = of_decision.sum(), len(of_decision), (of_decision**2).sum()
    names = tuple("ab"[: len(sides)])
    counts = Counts(names, cells[0])
    name = f"{2020 + month // 12}-{month % 12 + 1:02}"
    return Slice(name, "", "g", counts, cells[1].astype(np.int64), cells[2], labelled=False)


def worth_of(slices: list[Slice]) -> tuple[SliceRows, SliceRows]:
    """Return the rows of the group and of its reference, (1, 1, LOOKS), as an audit reads them."""
    both = np.zeros((2, 9, 1, 1, LOOKS))
    for month, group_counts in enumerate(slices):
        worth = group_rate_rows(group_counts, SELECTION)
        for side, g in enumerate((1, 0)):
            weights, rows, squares = (cells[g].sum(0) for cells in group_counts.cells)
            worth_of_group = (worth.numerator[g], worth.denominator[g])
            sums = (weights[1], weights.sum(), worth.scaled[g])
            counts = (squares[1], squares.sum(), rows[1], rows.sum())
            cells = (*worth_of_group, *sums, *counts)
            both[side, :, 0, 0, month] = np.array([float(np.squeeze(cell)) for cell in cells])
    first, second = (
        SliceRows(*side[:4], side[4] > 0, WeightSums(*side[5:], np.zeros((1, 1, LOOKS), dtype=bool)))
        for side in both
    )
    return first, second


def print_weights(runs: int) -> None:
    """Print how often there is an alarm in fair worlds with weights, and the months until a ratio of .7."""
    print_row("weights", "rows a month, rate", "alarm by 60, fair", "limits miss 1", "ratio .7: alarm")
    print_row(*["---"] * 5)
    for law, weigh in LAWS.items():
        for world in (FAIR[0], FAIR[1], World("50 v 450, .1", 50, 450, 0.1), LARGE):
            rng = rng_of(f"{law} {world.name}")
            alarms = 0
            misses = 0
            months = []
            for ratio, n_runs in ((1.0, runs), (0.7, max(1, runs // 3))):
                for _ in range(n_runs):
                    slices = []
                    for month in range(LOOKS):
                        sides = []
                        for rows, rate in ((world.m, world.rate), (world.n, float(world.rate) * ratio)):
                            selected = rng.random(rows) < rate
                            sides.append((selected, weigh(rng, selected)))
                        slices.append(slice_of(month, sides))
                    rows_and_ref = worth_of(slices)
                    tests = stream_tests(*rows_and_ref, ALLOWED, LEVEL, months="alike")
                    alarm = tests.evidence.p[:, 0] < LEVEL
                    if ratio == 1:
                        alarms += int(alarm.any())
                        low, high = tests.limits
                        misses += int(((low > 1) | (high < 1)).any())
                    else:
                        months.append(months_until(alarm, 1))
            delay = quantiles(np.concatenate(months))
            print_row(law, world.name, share(alarms, runs), share(misses, runs), delay)
    print()


@dataclass(frozen=True)
class Crowd:
    """Clusters of rows of two groups, month after month; `comes_again`: the same in each month.

    Parameters
    ----------
    name : str
    clusters, rows : int
        In a month, and of a cluster.
    shape : float
        Of the law of how many rows of a cluster are of the group, Beta(shape, shape); 0: all or none.
    likeness : float
        The correlation of two rows of a cluster.
    comes_again : bool
    """

    name: str
    clusters: int
    rows: int
    shape: float
    likeness: float
    comes_again: bool = False
    rate: float = 0.3


CROWDS = (
    Crowd("12 schools × 25 new each month", 12, 25, 2, 0.1),
    Crowd("60 households × 3 new each month", 60, 3, 1, 0.5),
    Crowd("30 people × 5 new each month, of one group each", 30, 5, 0, 0.3),
    Crowd("25 schools × 12, the same each month", 25, 12, 2, 0.1, comes_again=True),
    Crowd("40 people × 4, the same each month, of one group each", 40, 4, 0, 0.3, comes_again=True),
)


def crowded_slices(crowd: Crowd, ratio: float, rng: np.random.Generator) -> list[Slice]:
    """Return the months of clusters, with the reference first."""
    n = crowd.clusters
    spread = math.sqrt(crowd.likeness)

    def draw_people() -> tuple[Floats, Floats]:
        share = rng.random(n).round() if crowd.shape == 0 else rng.beta(crowd.shape, crowd.shape, n)
        return share, rng.standard_normal(n)

    share, effect = draw_people()
    limits = [NormalDist().inv_cdf(crowd.rate * times) for times in (1.0, ratio)]
    slices = []
    for month in range(LOOKS):
        if month and not crowd.comes_again:
            share, effect = draw_people()
        of_group = rng.random((n, crowd.rows)) < share[:, None]
        noise = rng.standard_normal((n, crowd.rows))
        height = spread * effect[:, None] + math.sqrt(1 - crowd.likeness) * noise
        selected = height < np.where(of_group, limits[1], limits[0])
        person = np.repeat(np.arange(n) + (0 if crowd.comes_again else n * month), crowd.rows)
        codes = 4 * person + 2 * of_group.ravel() + selected.ravel()
        counted = np.bincount(codes, minlength=4 * (person.max() + 1)).reshape(-1, 2, 2).astype(np.float64)
        entries = np.argwhere(counted.sum(-1) > 0)
        cells = np.zeros((len(entries), 2, 2))
        cells[:, 0] = counted[entries[:, 0], entries[:, 1]]
        n_of_groups = np.zeros((2, 2, 2))
        np.add.at(n_of_groups, entries[:, 1], cells)
        name = f"{2020 + month // 12}-{month % 12 + 1:02}"
        counts = Counts(("a", "b"), n_of_groups)
        clusters = Clusters(entries[:, 0], entries[:, 1], cells, cells)
        rows = n_of_groups.astype(np.int64)
        slices.append(Slice(name, "", "g", counts, rows, n_of_groups, labelled=False, clusters=clusters))
    return slices


def looks_at_crowd(slices: list[Slice]) -> tuple[PairLooks, StreamTests]:
    """Return the looks at a group and its reference by clusters, and as if rows were independent."""
    both = np.stack([group_counts.counts.n[:, 0] for group_counts in slices], axis=-1)
    sides = [SliceSums(both[g, 1][None], both[g].sum(0)[None]) for g in (1, 0)]
    numbers = [(side.selected[None], side.total[None]) for side in sides]
    rows = [SliceRows(*of_side, *of_side, np.zeros(of_side[0].shape, dtype=bool)) for of_side in numbers]
    pair = compare_pair(slices, SELECTION, "b", "a", (sides[0], sides[1]))
    return pair, stream_tests(rows[0], rows[1], ALLOWED, LEVEL, months="alike")


def print_clusters(runs: int) -> None:
    """Print how often there is an alarm in fair worlds of clusters, and the months until a ratio of .7."""
    print_row("clusters", "alarm by 60, fair", "rows as independent", "limits miss 1", "ratio .7: alarm")
    print_row(*["---"] * 5)
    log_limit = math.log(1 / LEVEL)
    for crowd in CROWDS:
        rng = rng_of(crowd.name)
        hits = np.zeros(3, dtype=int)
        months = []
        for _ in range(runs):
            pair, plain = looks_at_crowd(crowded_slices(crowd, 1.0, rng))
            misses = np.abs(pair.ratios.log_evidence(1.0, LEVEL)) > log_limit
            alarm = pair.log_e > log_limit
            hits += [alarm.any(), (plain.evidence.p < LEVEL).any(), misses.any()]
        for _ in range(max(1, runs // 3)):
            pair, _ = looks_at_crowd(crowded_slices(crowd, 0.7, rng))
            months.append(months_until(pair.log_e > log_limit, 1))
        print_row(crowd.name, *(share(int(n), runs) for n in hits), quantiles(np.concatenate(months)))
    print()


def print_whole(runs: int) -> None:
    """Print how often whole audits by month say another thing than the functions above."""
    config = AuditConfig(**{"slice": "month", "ref": {"g": "a"}, "ref-method": "given", "draws": 0})
    for world in (FAIR[0], World("60 v 140, .2: .7", 60, 140, 0.2, 0.7)):
        selected, ref_selected = world.draw(runs, rng_of(world.name))
        tests = stream_tests(rows_of(selected, world.n), rows_of(ref_selected, world.m), ALLOWED, LEVEL)
        failing = fails(tests)[:, 0]
        unlike = 0
        for run in range(runs):
            slices = []
            for month in range(LOOKS):
                hits = np.array([ref_selected[run, month], selected[run, month]])
                n = np.zeros((2, 2, 2))
                n[:, 0, 1] = hits
                n[:, 0, 0] = np.array([world.m, world.n]) - hits
                name = f"{2020 + month // 12}-{month % 12 + 1:02}"
                cells = n.astype(np.int64)
                slices.append(Slice(name, "", "g", Counts(("a", "b"), n), cells, n, labelled=False))
            report = judge(Tally("months", 1, tuple(slices), last=slices[-1].model), config)
            rows = [row for row in report.disparities if row.deciding and row.group == "b"]
            unlike += [row.verdict == "fail" for row in rows] != failing[run].tolist()
        print(f"{world.name}: {unlike} of {runs} audits differ at some of {LOOKS} looks")


TABLES: dict[str, tuple[Callable[[int], None], int]] = {
    "fair": (print_fair, 1),
    "delays": (print_delays, 1),
    "limits": (print_limits, 1),
    "weights": (print_weights, 3),
    "clusters": (print_clusters, 3),
    "scatter": (print_scatter, 1),
    "late": (print_late, 1),
    "numbers": (print_numbers, 2),
    "number-delays": (print_number_delays, 5),
    "whole": (print_whole, 100),
}
"""What is printed, and how many times fewer runs it has."""


def main() -> None:
    """Print the tables that are named, or all."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for name in sys.argv[2:] or TABLES:
        print_table, fewer = TABLES[name]
        print(f"\n{name}, {max(1, runs // fewer):,} runs\n")
        print_table(max(1, runs // fewer))


if __name__ == "__main__":
    main()
