"""How often intervals of means, ranks and medians hold the truth, and tests reject it, by simulation.

``python benchmarks/levels_numbers.py [runs] [part ...]`` draws samples of outcomes that are numbers and hands
them to the kernels of `measures` (parts: coverage, alarms, power, weights, clusters, errors,
probabilities, categories, chances; all, if none is named). It prints a Markdown table of each with its own
error. Every design has its own seed. Of means with splits: levels_means.py.
"""

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.chance_gaps import chance_of_gap
from fairbench_cli.measures.clusters import ClusterSums
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.means import (
    Margin,
    MeanComparison,
    add_split_tests,
    compare_means,
    judge_margin,
    row_shortage,
)
from fairbench_cli.measures.moments import Moments, cluster_means, sum_powers, sum_powers_along
from fairbench_cli.measures.quantiles import row_quantiles, subtract_quantiles
from fairbench_cli.measures.significance import holm
from fairbench_cli.measures.splits import (
    NO_SPLITS,
    SplitTests,
    draw_enough,
    needs_splits,
    tail_shares,
    two_sided_p,
)
from fairbench_cli.measures.value_ranks import (
    PlacementSums,
    RankComparison,
    SortedValues,
    cluster_placements,
    compare_placements,
    count_values,
    pair_counts,
    row_placements,
    sorted_placements,
    table_placements,
)

Ints = NDArray[np.int64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

ALPHA = 0.05
MANY = 2_000_000  # values from which a truth is taken that has no formula
BATCH = 4_000_000  # values in memory
LIKENESS = 0.3  # the correlation of rows of a cluster
EMPLOYERS = 20_000


def half_zeros(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return zeros, and as many lognormal values."""
    return np.where(rng.random(shape) < 0.5, 0.0, rng.lognormal(0, 0.75, shape))


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return whole numbers from 0 to 10, most of them near 6."""
    return np.clip(np.rint(rng.normal(6, 2.5, shape)), 0, 10)


LAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 1, shape),
    "half zeros": half_zeros,
    "0 to 10": whole_numbers,
    "t, 3 df": lambda rng, shape: rng.standard_t(3, shape),
}
MEANS = {"normal": 0.0, "lognormal": math.exp(0.5)}  # of laws that are spread around them


@dataclass(frozen=True)
class Design:
    """How samples are drawn.

    Parameters
    ----------
    law : str
        One of `LAWS`.
    rows : tuple of int
        Of the group and of its reference.
    spread : float
        How many times as wide around its mean the group is.
    gap : float
        What the group has more, in standard deviations of the reference.
    weights : {"", "lognormal .5", "lognormal 1", "5 % weigh 20"}
    clusters : bool
        Whether rows come in clusters of 1 to 9, of one group each.
    """

    law: str
    rows: tuple[int, int]
    spread: float = 1.0
    gap: float = 0.0
    weights: str = ""
    clusters: bool = False

    @property
    def name(self) -> str:
        """What a table calls it."""
        name = f"{self.law}, {self.rows[0]:,} and {self.rows[1]:,}"
        if self.spread != 1:
            name += f", the group {self.spread:g} times as wide"
        if self.weights:
            name += f", weights {self.weights}"
        return name

    def rng(self, part: str) -> np.random.Generator:
        """Return random numbers of the design's own for a part."""
        return np.random.default_rng(zlib.crc32(f"{part} {self!r}".encode()))

    def spread_out(self, values: Floats) -> Floats:
        """Return values of the law as the group has them."""
        if self.spread == 1:
            return values
        mean = MEANS[self.law]
        return mean + self.spread * (values - mean)


SIZES = ((30, 30), (300, 300), (30, 300))
SAME = tuple(Design(law, rows) for law in LAWS for rows in SIZES)
UNEQUAL = tuple(
    Design(law, rows, 3.0) for law in MEANS for rows in ((30, 30), (30, 300), (300, 30), (300, 300))
)
LARGER = tuple(
    Design(law, rows)
    for law in ("lognormal", "half zeros")
    for rows in ((100, 100), (100, 1000), (1000, 1000), (30, 3000))
)
SMALL = tuple(
    Design(law, rows)
    for law in ("normal", "lognormal", "0 to 10")
    for rows in ((5, 7), (10, 10), (10, 30), (15, 15), (10, 40))
)
POWERFUL = tuple(Design(law, rows, gap=0.5) for law in LAWS for rows in SIZES)
WEIGHTED = tuple(
    Design(law, rows, weights=weights)
    for law in ("normal", "lognormal")
    for rows, weights in (((60, 60), "lognormal 1"), ((60, 600), "lognormal .5"), ((60, 600), "5 % weigh 20"))
)
CLUSTERED = tuple(
    Design(law, rows, clusters=True)
    for law in ("normal", "lognormal")
    for rows in ((100, 100), (100, 1000), (1000, 1000))
)


def share(hits: Floats | NDArray[np.bool_]) -> str:
    """Return how often something is true; a run without an answer does not count."""
    return f"{np.mean(hits):.3f}"


def print_table(title: str, columns: list[str], rows: Iterator[list[str]], runs: int) -> None:
    """Print a table, a row as soon as it is there."""
    error = 100 * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    print(f"\n**{title}** ({runs:,} runs; the error of a share of 5 % is ± {error:.1f} points)\n")
    print("| design | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |", flush=True)


def samples(design: Design, runs: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield samples of the group and of the reference, of some runs at a time."""
    law = LAWS[design.law]
    step = design.gap * float(law(np.random.default_rng(1), (MANY,)).std()) if design.gap else 0.0
    left = runs
    while left:
        n_runs = min(left, max(1, BATCH // sum(design.rows)))
        group = design.spread_out(law(rng, (n_runs, design.rows[0]))) + step
        yield group, law(rng, (n_runs, design.rows[1]))
        left -= n_runs


def true_rank(design: Design) -> float:
    """Return the chance that the group has more."""
    if design.spread == 1 and not design.gap:
        return 0.5
    group, reference = next(
        samples(Design(design.law, (MANY, MANY), design.spread), 1, np.random.default_rng(2))
    )
    return float(
        sorted_placements(SortedValues(np.sort(group[0])), SortedValues(np.sort(reference[0]))).p_more
    )


def true_median(design: Design) -> float:
    """Return the difference of both medians."""
    if design.spread == 1:
        return 0.0
    median = {"normal": 0.0, "lognormal": 1.0}[design.law]
    return float(design.spread_out(np.array(median))) - median


@dataclass(frozen=True)
class Compared:
    """The comparisons of all runs of a design."""

    means: list[MeanComparison]
    ranks: list[RankComparison]

    def of_means(self, name: str) -> Floats:
        """Return a number of the difference of means, of each run."""
        return np.concatenate([getattr(comparison.difference, name) for comparison in self.means])

    def of_ranks(self, name: str) -> Floats:
        """Return a number of the ranks, of each run."""
        return np.concatenate([getattr(comparison, name) for comparison in self.ranks])

    def holds(self, truth: float, kind: str = "") -> NDArray[np.bool_]:
        """Return whether the intervals of the difference of means hold a truth."""
        prefix = f"{kind}_" if kind else ""
        return (self.of_means(f"{prefix}low") <= truth) & (truth <= self.of_means(f"{prefix}high"))


def compare(design: Design, runs: int, part: str) -> Compared:
    """Return the comparisons of samples of a design."""
    means = []
    ranks = []
    for group, reference in samples(design, runs, design.rng(part)):
        means.append(compare_means(sum_powers_along(group), sum_powers_along(reference)))
        ranks.append(compare_placements(row_placements(group, reference)))
    return Compared(means, ranks)


def coverage_rows(runs: int) -> Iterator[list[str]]:
    """Yield how often each interval holds the truth."""
    for design in SAME + UNEQUAL:
        compared = compare(design, runs, "coverage")
        p_more = true_rank(design)
        holds_rank = (compared.of_ranks("low") <= p_more) & (p_more <= compared.of_ranks("high"))
        holds_rank |= np.isnan(compared.of_ranks("low"))  # separated: no interval, and not a wrong one
        yield [
            design.name,
            share(compared.holds(0.0, "welch")),
            share(compared.holds(0.0, "hall")),
            share(compared.holds(0.0)),
            share(holds_rank),
            share(holds_median(design, runs, "medians", true_median(design))),
        ]


def alarm_rows(runs: int) -> Iterator[list[str]]:
    """Yield how often equal chances to have more, and equal medians, are rejected."""
    for design in SAME + LARGER + UNEQUAL + SMALL:
        by_rank = ["", ""]
        if design.spread == 1 or design.law == "normal":
            compared = compare(design, runs, "alarms")
            by_rank = [share(compared.of_ranks(name) < ALPHA) for name in ("p", "p_t")]
        by_median = ""
        if true_median(design) == 0:
            # Where p is below 5 %: it is 1 − the confidence at which limits reach 0 (`quantiles.equal_p`).
            by_median = share(~holds_median(design, runs, "medians, alarms", 0.0))
        yield [design.name, *by_rank, by_median]


def holds_median(design: Design, runs: int, part: str, truth: float) -> NDArray[np.bool_]:
    """Return whether the interval of the difference of medians holds the truth, of each run."""
    holds = []
    for group, reference in samples(design, runs, design.rng(part)):
        sides = [row_quantiles(np.sort(side, axis=-1), [0.5]) for side in (group, reference)]
        _, low, high = subtract_quantiles(*sides)
        holds.append((low[:, 0] <= truth) & (truth <= high[:, 0]))
    return np.concatenate(holds)


def power_rows(runs: int) -> Iterator[list[str]]:
    """Yield how often a gap of half a standard deviation is found."""
    for design in POWERFUL:
        compared = compare(design, runs, "power")
        by_mean = [share(compared.of_means(name) < ALPHA) for name in ("p_welch", "p")]
        yield [design.name, *by_mean, share(compared.of_ranks("p") < ALPHA)]


def draw_weights(rng: np.random.Generator, law: str, shape: tuple[int, ...]) -> Floats:
    """Return weights of rows."""
    if law == "5 % weigh 20":
        return np.where(rng.random(shape) < 0.05, 20.0, 1.0)
    return rng.lognormal(0, float(law.split()[1]), shape)


def weight_rows(runs: int) -> Iterator[list[str]]:
    """Yield coverage where rows have weights."""
    for design in WEIGHTED:
        rng = design.rng("weights")
        comparisons = []
        ranks = []
        shortages = []
        for _ in range(runs):
            group, reference = (LAWS[design.law](rng, (n,)) for n in design.rows)
            weights = [draw_weights(rng, design.weights, (n,)) for n in design.rows]
            values = np.concatenate([group, reference])
            codes = np.repeat([0, 1], design.rows)
            table = count_values(values, codes, 2, np.concatenate(weights))
            ranks.append(compare_placements(table_placements(table, 0, 1)))
            moments = sum_powers(values, codes, 2, np.concatenate(weights))
            comparison = compare_means(moments[:1], moments[1:])
            comparisons.append(comparison)
            shortages.append(row_shortage(moments[:1], moments[1:], comparison.difference.skewness) == "")
        yield [design.name, *_coverage(comparisons, ranks), share(np.concatenate(shortages))]


def _coverage(comparisons: list[MeanComparison], ranks: list[RankComparison]) -> list[str]:
    """Return how often the intervals by Welch, of both, and of ranks hold no difference."""
    compared = Compared(comparisons, [])
    low, high = (np.array([float(getattr(rank, name)) for rank in ranks]) for name in ("low", "high"))
    return [
        share(compared.holds(0.0, "welch")),
        share(compared.holds(0.0)),
        share((low <= 0.5) & (high >= 0.5)),
    ]


def cluster_rows(runs: int) -> Iterator[list[str]]:
    """Yield coverage where rows come in clusters."""
    for design in CLUSTERED:
        rng = design.rng("clusters")
        comparisons = []
        ranks = []
        for _ in range(runs):
            values, codes, cluster = draw_clusters(rng, design)
            moments, sums, placements, rank_sums = clustered(values, codes, cluster)
            comparisons.append(compare_means(moments[:1], moments[1:], ways=[sums]))
            ranks.append(compare_placements(placements, ways=[rank_sums]))
        yield [design.name + ", clusters of 1 to 9", *_coverage(comparisons, ranks)]


def draw_clusters(rng: np.random.Generator, design: Design) -> tuple[Floats, Ints, Ints]:
    """Return values, codes of sides and of clusters of 1 to 9 rows, whose rows are alike."""
    codes = np.repeat([0, 1], design.rows)
    sizes = []
    for n in design.rows:
        left = n
        while left:
            sizes.append(min(int(rng.integers(1, 10)), left))
            left -= sizes[-1]
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    latent = math.sqrt(LIKENESS) * rng.normal(size=len(sizes))[cluster]
    latent = latent + math.sqrt(1 - LIKENESS) * rng.normal(size=len(cluster))
    if design.law == "lognormal":
        latent = np.exp(latent)
    return latent, codes, cluster


def clustered(
    values: Floats, codes: Ints, cluster: Ints
) -> tuple[Moments, ClusterSums, PlacementSums, ClusterSums]:
    """Return moments and placements of both sides, and each by cluster."""
    n_clusters = int(cluster.max()) + 1
    moments = sum_powers(values, (1 - codes) * n_clusters + cluster, 2 * n_clusters)
    by_cluster = moments.reshape(1, 2, -1)
    table = count_values(values, codes, 2)
    index = np.searchsorted(table.values, values)
    ones = np.ones(len(values))
    rank_sums = cluster_placements(pair_counts(table, 0, 1), cluster, codes == 0, index, ones, ones)
    sides = sum_powers(values, codes, 2)
    return sides, cluster_means(by_cluster), table_placements(table, 0, 1), rank_sums


# -- means that an audit judges, with splits


@dataclass(frozen=True)
class Judged:
    """A group's mean against its reference's: p, and what the margin makes of it."""

    p: float
    is_beyond: bool
    is_within: bool
    is_outside: bool

    @property
    def verdicts(self) -> tuple[bool, bool, bool]:
        """Whether it passes, fails, and fails clearly, as the only comparison."""
        fails = self.is_beyond and self.p < ALPHA
        return self.is_within and not fails, fails, fails and self.is_outside


def judge_rows(group: Floats, reference: Floats, margin: Margin, least_p: float = ALPHA) -> Judged:
    """Judge a mean as `audit.compare.number_estimates.estimate_means` does, without limits by splits."""
    moments = [sum_powers_along(side[None], shift=float(reference[0])) for side in (group, reference)]
    judgement = judge_margin(*moments, margin)
    units = float(judgement.units[0])
    edges = ((-units, 1.0), (units, 1.0))
    if margin.unit == "percent":
        edges = ((0.0, 1 - margin.value / 100), (0.0, 1 + margin.value / 100))
    tests = NO_SPLITS
    if needs_splits(*moments)[0]:
        splits = draw_enough(group, reference, least_p=least_p)
        at_edges = [tail_shares(splits, *edge) for edge in edges]
        unknown = (math.nan, math.nan)
        tests = SplitTests(two_sided_p(splits), unknown, unknown, at_edges[0], at_edges[1])
    comparison, judgement = add_split_tests(compare_means(*moments), judgement, [tests])
    words = (judgement.is_beyond, judgement.is_within, judgement.is_outside)
    return Judged(float(comparison.difference.p[0]), *(bool(word[0]) for word in words))


def verdict_cells(judged: list[Judged]) -> list[str]:
    """Return how often each verdict comes."""
    return [share(np.array(verdicts)) for verdicts in zip(*(row.verdicts for row in judged), strict=True)]


def error_rows(runs: int) -> Iterator[list[str]]:
    """Yield the verdicts on normal errors that are so many times as large in the group."""
    for rows in ((100, 400), (300, 1000)):
        for ratio in (1.0, 1.2, 1.5):
            rng = Design("normal", rows, ratio).rng("errors")
            judged = []
            for _ in range(runs):
                group, reference = (np.abs(rng.normal(size=n)) for n in rows)
                judged.append(judge_rows(ratio * group, reference, Margin(20, "percent")))
            yield [f"normal errors, {rows[0]:,} and {rows[1]:,}, {ratio:g} times", *verdict_cells(judged)]


def expit(logits: Floats) -> Floats:
    """Return probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-logits)))


# Mean and standard deviation of the log odds of the group (the reference's: -0.75 and 0.9), points that
# scores are too high, and the standard deviation of noise in their log odds.
SCORES = {
    "both calibrated, base rates .13 and .34": (-2.2, 0.9, 0.0, 0.0),
    "both calibrated, one base rate": (-0.75, 0.9, 0.0, 0.0),
    "the group's scores 5 points too high": (-0.75, 0.9, 0.05, 0.0),
    "the group's scores blurred, sd 1": (-0.75, 0.9, 0.0, 1.0),
    "the group's scores say less, calibrated": (-0.68, 0.3, 0.0, 0.0),
}


def draw_errors(rng: np.random.Generator, rows: int, law: tuple[float, float, float, float]) -> Floats:
    """Return p − y of scores by one of `SCORES`."""
    mean, spread, too_high, noise = law
    logits = rng.normal(mean, spread, rows)
    labels = rng.random(rows) < expit(logits)
    scores = expit(logits + noise * rng.standard_normal(rows)) + too_high
    return np.asarray(np.minimum(scores, 1.0) - labels)


def probability_rows(runs: int) -> Iterator[list[str]]:
    """Yield the verdicts on the mean of p − y."""
    for name, law in SCORES.items():
        rng = Design(name, (300, 1000)).rng("probabilities")
        judged = []
        for _ in range(runs):
            sides = (
                draw_errors(rng, 300, law),
                draw_errors(rng, 1000, SCORES["both calibrated, one base rate"]),
            )
            judged.append(judge_rows(*sides, Margin(0.05)))
        yield [name, *verdict_cells(judged)]


CATEGORIES = ((12, 30), (27, 40), (60, 80), (150, 140), (40, 10), (300, 260), (90, 200))
PLANTED = 1  # the category
ALLOWED = 5.0  # per cent


def draw_pay(rng: np.random.Generator, shape: tuple[int, ...], spread: float, high: float = 0.0) -> Floats:
    """Return lognormal pay with the mean 1; a share is paid three times as much."""
    pay = rng.lognormal(-(spread**2) / 2, spread, shape)
    return np.asarray(np.where(rng.random(shape) < high, 3.0, 1.0) * pay / (1 + 2 * high))


def category_rows(runs: int) -> Iterator[list[str]]:
    """Yield how often fair categories show a gap, and fail; and how often a planted one is found."""
    least_p = ALPHA / (2 * len(CATEGORIES))
    for spread, high, less in ((0.08, 0, 8.4), (0.16, 0, 0), (0.16, 0.02, 0), (0.16, 0, 8.4)):
        name = f"log sd {spread}, {100 * high:g} % at three times, {less:g} % less planted"
        rng = Design(name, (27, 40)).rng("categories")
        shown, false, found = [], [], []
        for _ in range(runs):
            pays = [tuple(draw_pay(rng, (n,), spread, high) for n in sizes) for sizes in CATEGORIES]
            factors = np.where((np.arange(len(pays)) == PLANTED) & (less > 0), 1 - less / 100, 1.0)
            pairs = [(factor * women, men) for factor, (women, men) in zip(factors, pays, strict=True)]
            judged = [judge_rows(*pair, Margin(ALLOWED, "percent"), least_p) for pair in pairs]
            beyond = np.array([row.is_beyond for row in judged])
            fails = beyond & (holm(np.array([row.p for row in judged])) < ALPHA)
            shown.append(beyond[factors == 1].any())
            false.append(fails[factors == 1].any())
            found.append(fails[PLANTED])
        yield [name, share(np.array(shown)), share(np.array(false)), share(np.array(found)) if less else ""]


def chance_rows(runs: int) -> Iterator[list[str]]:
    """Yield how often equal pay shows a gap in some category, and the chance of it that is printed."""
    for name, spreads, high in (
        ("lognormal .16", (0.16, 0.16), 0.0),
        ("lognormal .08", (0.08, 0.08), 0.0),
        ("lognormal .16, 2 % at three times", (0.16, 0.16), 0.02),
        ("women .1, men .3", (0.1, 0.3), 0.0),
        ("women .3, men .1", (0.3, 0.1), 0.0),
    ):
        rng = Design(name, (27, 40)).rng("chances")
        shows = np.zeros(EMPLOYERS, dtype=bool)
        for sizes in CATEGORIES:
            for first in range(0, EMPLOYERS, 1000):
                women, men = (
                    draw_pay(rng, (1000, n), spread, high).mean(-1)
                    for n, spread in zip(sizes, spreads, strict=True)
                )
                shows[first : first + 1000] |= np.abs(women / men - 1) >= ALLOWED / 100
        printed = []
        for _ in range(runs):
            none = 1.0
            for sizes in CATEGORIES:
                sides = [draw_pay(rng, (n,), spread, high) for n, spread in zip(sizes, spreads, strict=True)]
                none *= 1 - chance_of_gap(sides[0], sides[1], ALLOWED / 100)
            printed.append(1 - none)
        yield [name, share(shows), share(np.array(printed)), f"{np.std(printed):.3f}"]


PARTS: dict[str, tuple[str, list[str], Callable[[int], Iterator[list[str]]]]] = {
    "coverage": (
        "Intervals of 95 % hold the truth",
        ["means: Welch", "Hall", "wider of both", "more often: logit", "medians: MOVER"],
        coverage_rows,
    ),
    "alarms": (
        "What is equal is called different at 5 %",
        ["ranks: logit", "t", "medians"],
        alarm_rows,
    ),
    "power": (
        "A gap of half a standard deviation is found at 5 %",
        ["means: Welch", "wider of both", "ranks: logit"],
        power_rows,
    ),
    "weights": (
        "With weights, intervals of 95 % hold the truth",
        ["means: Welch", "wider of both", "more often: logit", "rows are enough"],
        weight_rows,
    ),
    "clusters": (
        "In clusters, intervals of 95 % hold the truth",
        ["means: Welch", "wider of both", "more often: logit"],
        cluster_rows,
    ),
    "errors": (
        "Mean absolute errors, 20 % of the reference's allowed",
        ["passes", "fails", "fails clearly"],
        error_rows,
    ),
    "probabilities": (
        "Mean errors of probabilities, 300 and 1,000 rows, 5 points allowed",
        ["passes", "fails", "fails clearly"],
        probability_rows,
    ),
    "categories": (
        "Pay by category, 5 % allowed, Holm over seven categories",
        ["some fair category shows 5 %", "some fair one fails", "planted: found"],
        category_rows,
    ),
    "chances": (
        "Employers that pay equally: 5 % or more in some of seven categories",
        ["share of 20,000 employers", "printed, mean", "± sd"],
        chance_rows,
    ),
}


def main(runs: int, parts: list[str]) -> None:
    """Print the tables of some parts, or of all."""
    for part in parts or PARTS:
        title, columns, rows = PARTS[part]
        print_table(title, columns, rows(runs), runs)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    number = int(arguments[0]) if arguments else 2000
    main(number, arguments[1:])
