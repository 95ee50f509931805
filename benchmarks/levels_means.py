"""How often two means are judged wrongly where values are skewed and one group is small, by simulation.

``python benchmarks/levels_means.py [runs] [part ...]`` draws groups with equal means, and with gaps, and
judges them as an audit does, with 5 % allowed and one comparison (parts: same, unlike, edge, weights, power;
all, if none is named). Beside it is what Welch's and Hall's tests alone say. Every design has its own seed.

In the tables "fails" is: not decided otherwise, p < .05, and more than 5 % apart; "clearly": shown to be more
than 5 % apart; "holds": the interval of 95 % holds the true difference.
"""

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import FEWEST_ROWS, compare_means, judge_margin
from fairbench_cli.measures.moments import sum_powers, sum_powers_along
from fairbench_cli.measures.splits import draw_enough, needs_splits, tail_shares, two_sided_p

Draw = Callable[[np.random.Generator, int], Floats]

ALPHA = 0.05
TAIL = 0.025
ALLOWED = 0.05
FEWEST_OTHERS = 10


def lognormal(spread: float) -> Draw:
    """Return draws with the mean 1."""
    return lambda rng, n: rng.lognormal(-(spread**2) / 2, spread, n)


def normal(spread: float) -> Draw:
    """Return draws with the mean 10."""
    return lambda rng, n: rng.normal(10, spread, n)


def rare(share: float, law: Draw) -> Draw:
    """Return draws of which most are 0, with the mean 1."""
    return lambda rng, n: np.where(rng.random(n) < share, law(rng, n), 0.0) / share


def bonus(share: float) -> Draw:
    """Return lognormal draws of which a share is 20 times as large, with the mean 1."""
    base = lognormal(0.3)
    return lambda rng, n: np.where(rng.random(n) < share, 20.0, 1.0) * base(rng, n) / (1 + 19 * share)


def pareto(rng: np.random.Generator, n: int) -> Floats:
    """Return draws of Pareto's law with the tail 2.5 and the mean 1."""
    return (1 + rng.pareto(2.5, n)) * 1.5 / 2.5


LAWS: dict[str, Draw] = {
    "normal, sd 4 of 10": normal(4),
    "lognormal .5": lognormal(0.5),
    "lognormal 1": lognormal(1.0),
    "lognormal 1.5": lognormal(1.5),
    "Pareto 2.5": pareto,
    "1 % at 20 times": bonus(0.01),
    "90 % zeros": rare(0.1, lognormal(0.5)),
    "98 % zeros": rare(0.02, lognormal(0.5)),
}
SIZES = ((10, 10), (12, 40), (30, 30), (30, 300), (40, 2000), (100, 1000), (300, 3000), (300, 30))
UNLIKE: dict[str, tuple[Draw, Draw]] = {
    "normal, sd 4 v 2": (normal(4), normal(2)),
    "normal, sd 2 v 4": (normal(2), normal(4)),
    "lognormal .8 v .4": (lognormal(0.8), lognormal(0.4)),
    "lognormal 1.2 v .6": (lognormal(1.2), lognormal(0.6)),
    "lognormal .6 v 1.2": (lognormal(0.6), lognormal(1.2)),
    "90 % zeros v lognormal .5": (rare(0.1, lognormal(0.5)), lognormal(0.5)),
    "95 % v 80 % zeros": (rare(0.05, lognormal(0.5)), rare(0.2, lognormal(0.5))),
    "98 % v 90 % zeros": (rare(0.02, lognormal(0.5)), rare(0.1, lognormal(0.5))),
    "97 % at one value v normal": (
        lambda rng, n: 10 + np.where(rng.random(n) < 0.97, -0.1, 97 / 30),
        normal(2),
    ),
}
UNLIKE_SIZES = ((10, 30), (30, 30), (30, 300), (100, 1000), (300, 300))


@dataclass(frozen=True)
class Judged:
    """What is said of one pair of groups: with splits, and by Welch's and Hall's tests alone."""

    is_decided: bool
    p: float
    p_before: float
    is_beyond: bool
    is_clear: bool
    is_clear_before: bool
    passes: bool
    passes_before: bool
    holds: bool
    holds_before: bool


def is_decided(group: Floats, reference: Floats) -> bool:
    """Return whether there are rows enough, and enough that have another value than most."""
    sides = (group, reference)
    if min(map(len, sides)) < FEWEST_ROWS or any(np.ptp(side) == 0 for side in sides):
        return False
    values, counts = np.unique(np.concatenate(sides), return_counts=True)
    commonest = values[counts.argmax()]
    if 2 * counts.max() <= counts.sum():
        return True
    return all(np.count_nonzero(side != commonest) >= FEWEST_OTHERS for side in sides)


def judge_pair(
    group: Floats, reference: Floats, true_scale: float = 1.0, weights: tuple[Floats, Floats] | None = None
) -> Judged:
    """Judge two groups; their true means are `true_scale` to 1."""
    if weights is None:
        moments = [sum_powers_along(side) for side in (group, reference)]
    else:
        codes = np.repeat([0, 1], [len(group), len(reference)])
        both = sum_powers(np.concatenate([group, reference]), codes, 2, np.concatenate(weights))
        moments = [both[0], both[1]]
    comparison = compare_means(*moments)
    judgement = judge_margin(*moments, Margin(100 * ALLOWED, "percent"))
    difference = comparison.difference
    low, high = float(difference.low), float(difference.high)
    true_gap = (true_scale - 1) * float(moments[1].mean)
    if true_scale == 1:
        true_gap = 0.0
    p_before = float(difference.p)
    p = p_before
    within, outside = bool(judgement.is_within), bool(judgement.is_outside)
    passes, is_clear = within, outside
    holds_before = low <= true_gap <= high
    holds = holds_before
    if bool(needs_splits(*moments)):
        splits = draw_enough(group, reference, weights)
        p = max(p, two_sided_p(splits))
        at_low, at_high = (tail_shares(splits, 0.0, 1 + side) for side in (-ALLOWED, ALLOWED))
        passes &= at_low[1] < TAIL and at_high[0] < TAIL
        is_clear &= at_low[0] < TAIL or at_high[1] < TAIL
        holds |= min(tail_shares(splits, 0.0, true_scale)) >= TAIL
    return Judged(
        is_decided(group, reference),
        *(p, p_before, bool(judgement.is_beyond), is_clear, outside, passes, within, holds, holds_before),
    )


def judge_many(
    laws: tuple[Draw, Draw], sizes: tuple[int, int], runs: int, key: str, scale: float = 1.0
) -> list[Judged]:
    """Judge groups that are drawn by two laws with the mean of one law times `scale`."""
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    judged = []
    for _ in range(runs):
        group, reference = (law(rng, n) for law, n in zip(laws, sizes, strict=True))
        judged.append(judge_pair(scale * group, reference, scale))
    return judged


def cells_of(judged: list[Judged]) -> list[str]:
    """Return the shares that a table has: before, and now."""
    columns = {
        "rejected before": [pair.p_before < ALPHA for pair in judged],
        "fails before": [pair.p_before < ALPHA and pair.is_beyond for pair in judged],
        "rejected": [pair.is_decided and pair.p < ALPHA for pair in judged],
        "fails": [pair.is_decided and pair.p < ALPHA and pair.is_beyond for pair in judged],
        "clearly before": [pair.is_clear_before and pair.p_before < ALPHA for pair in judged],
        "clearly": [pair.is_decided and pair.is_clear and pair.p < ALPHA for pair in judged],
        "passes": [pair.is_decided and pair.passes for pair in judged],
        "holds before": [pair.holds_before for pair in judged],
        "holds": [pair.holds for pair in judged if pair.is_decided],
        "not decided": [not pair.is_decided for pair in judged],
    }
    return [f"{np.mean(hits):.3f}" if hits else "" for hits in columns.values()]


COLUMNS = [
    *("rejected: Welch and Hall", "fails", "rejected: with splits", "fails"),
    *("clearly: Welch and Hall", "with splits", "passes"),
    *("holds: Welch and Hall", "with splits", "too few"),
]


def same_rows(runs: int) -> Iterator[list[str]]:
    """Yield what is said of groups of one law."""
    for name, law in LAWS.items():
        for sizes in SIZES:
            key = f"{name}, {sizes[0]:,} and {sizes[1]:,}"
            yield [key, *cells_of(judge_many((law, law), sizes, runs, key))]


def unlike_rows(runs: int) -> Iterator[list[str]]:
    """Yield what is said of unlike groups with equal means."""
    for name, laws in UNLIKE.items():
        for sizes in UNLIKE_SIZES:
            key = f"{name}, {sizes[0]:,} and {sizes[1]:,}"
            yield [key, *cells_of(judge_many(laws, sizes, runs, key))]


def edge_rows(runs: int) -> Iterator[list[str]]:
    """Yield what is said of groups that are exactly the margin apart."""
    for name in ("normal, sd 4 of 10", "lognormal 1", "1 % at 20 times", "90 % zeros"):
        for sizes in ((30, 300), (40, 2000), (100, 2000), (300, 300)):
            for side in (-ALLOWED, ALLOWED):
                key = f"{name}, {sizes[0]:,} and {sizes[1]:,}, {100 * side:+.0f} %"
                yield [key, *cells_of(judge_many((LAWS[name],) * 2, sizes, runs, key, 1 + side))]


def power_rows(runs: int) -> Iterator[list[str]]:
    """Yield what is said of gaps."""
    designs = (
        ("normal, sd 4 of 10", normal(4), normal(4), 0.9, (40, 400)),
        ("normal, sd 4 of 10", normal(4), normal(4), 0.9, (300, 300)),
        ("lognormal .45", lognormal(0.45), lognormal(0.45), 0.85, (40, 400)),
        ("lognormal 1", lognormal(1), lognormal(1), 0.6, (60, 600)),
        ("lognormal 1", lognormal(1), lognormal(1), 0.7, (300, 3000)),
        ("half as wide: normal, sd 2 v 4", normal(2), normal(4), 0.85, (30, 300)),
        ("half as wide: lognormal .4 v .8", lognormal(0.4), lognormal(0.8), 0.75, (30, 300)),
        ("1 % at 20 times", bonus(0.01), bonus(0.01), 0.7, (300, 3000)),
        ("90 % zeros", LAWS["90 % zeros"], LAWS["90 % zeros"], 0.5, (200, 2000)),
    )
    for name, law, reference_law, scale, sizes in designs:
        key = f"{name}, {sizes[0]:,} and {sizes[1]:,}, {100 * (1 - scale):.0f} % less"
        yield [key, *cells_of(judge_many((law, reference_law), sizes, runs, key, scale))]


def weight_rows(runs: int) -> Iterator[list[str]]:
    """Yield what is said of weighted groups of one law: weights apart from values, and that go with them."""
    for name, draw_weights in (
        ("lognormal weights", lambda rng, values: rng.lognormal(0, 1, len(values))),
        ("weights 1/value", lambda _, values: 1 / values),
    ):
        for sizes in ((30, 300), (60, 600), (100, 2000)):
            key = f"lognormal 1, {name}, {sizes[0]:,} and {sizes[1]:,}"
            rng = np.random.default_rng(zlib.crc32(key.encode()))
            judged = []
            for _ in range(runs):
                sides = [LAWS["lognormal 1"](rng, n) for n in sizes]
                weights = (draw_weights(rng, sides[0]), draw_weights(rng, sides[1]))
                judged.append(judge_pair(sides[0], sides[1], 1.0, weights))
            yield [key, *cells_of(judged)]


PARTS: dict[str, tuple[str, Callable[[int], Iterator[list[str]]]]] = {
    "same": ("Groups of one law", same_rows),
    "unlike": ("Unlike groups with equal means", unlike_rows),
    "edge": ("Groups that are exactly 5 % apart", edge_rows),
    "weights": ("Weighted groups of one law", weight_rows),
    "power": ("Groups with a gap", power_rows),
}


def main(runs: int, parts: list[str]) -> None:
    """Print the tables of some parts, or of all."""
    for part in parts or PARTS:
        title, rows = PARTS[part]
        error = 100 * math.sqrt(ALPHA * (1 - ALPHA) / runs)
        print(f"\n**{title}** ({runs:,} runs; the error of a share of 5 % is ± {error:.1f} points)\n")
        print("| design | " + " | ".join(COLUMNS) + " |")
        print("|---" * (len(COLUMNS) + 1) + "|")
        for cells in rows(runs):
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else 1000, arguments[1:])
