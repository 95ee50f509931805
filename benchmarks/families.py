"""What it costs to ask for much at once, and what naming a comparison beforehand saves, by simulation.

``python benchmarks/families.py [runs]`` prints two tables: of z statistics through the audit's own adjustment
(20 runs for each that is asked for: 40,000), and of whole audits of 1,200 people with twelve attributes
(2,000). The z of a comparison that differs is 2.80 on average, which alone is found in 80 %; all z are
correlated by 0.3. Standard errors are in brackets.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd

import fairbench_cli as fb
from fairbench_cli.audit.compare.family import adjust_family
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.significance import normal_p

ALIKE = 0.3  # correlation of the statistics
FAR = 2.80  # mean of z where a difference is found in 80 %
ALPHA = 0.05


@dataclass(frozen=True)
class World:
    """A comparison that is named, others of which some differ, and copies of the named one."""

    name: str
    others: int
    differing: int  # of the others
    named_differs: bool = True
    copies: int = 0


WORLDS = (
    World("12 comparisons, 3 of the others differ", 11, 3),
    World("12, the named one is fair, 3 others differ", 11, 3, named_differs=False),
    World("12, only the named one differs", 11, 0),
    World("41, only the named one differs", 40, 0),
    World("12, nothing differs", 11, 0, named_differs=False),
    World("12, only the named one differs, and 3 copies of it", 11, 0, copies=3),
)
RULES = ("all alike", "one named")


def p_values(world: World, rng: np.random.Generator, runs: int) -> Floats:
    """Draw p-values, shape (runs, comparisons): the named one, copies of it, then the others."""
    common = rng.standard_normal((runs, 1))
    own = rng.standard_normal((runs, 1 + world.others))
    z = sqrt(ALIKE) * common + sqrt(1 - ALIKE) * own
    z[:, 0] += FAR * world.named_differs
    z[:, 1 : 1 + world.differing] += FAR
    p = normal_p(z)
    copies = np.repeat(p[:, :1], world.copies, axis=1)
    return np.concatenate([p[:, :1], copies, p[:, 1:]], axis=1)


def format_share(share: float, runs: int) -> str:
    """Write a share with its standard error."""
    return f"{share:.3f} ({sqrt(max(share * (1 - share), 1 / runs) / runs):.3f})"


def adjust(rows: Floats, rule: str) -> Floats:
    """Return p-values adjusted as an audit does, row by row."""
    is_named = np.zeros(rows.shape[1], dtype=bool)
    is_named[0] = rule == "one named"
    return np.array([adjust_family([row], named=[is_named]).adjusted[0] for row in rows])


def statistics(runs: int) -> None:
    """Print power and false findings of normal statistics."""
    print("\n| world | rule | the named one | others that differ | any false |\n|---|---|---|---|---|")
    for world in WORLDS:
        p = p_values(world, np.random.default_rng(7), runs)
        for rule in RULES:
            found = adjust(p, rule) < ALPHA
            others = found[:, 1 + world.copies :]
            differing, fair = others[:, : world.differing], others[:, world.differing :]
            false = fair.any(axis=1)
            named = "–"
            if world.named_differs:
                named = format_share(found[:, 0].mean(), runs)
            else:
                false |= found[:, 0]
            differ = format_share(differing.mean(), runs) if world.differing else "–"
            print(f"| {world.name} | {rule} | {named} | {differ} | {format_share(false.mean(), runs)} |")
        if world.copies:
            found = adjust(np.delete(p, slice(1, 1 + world.copies), axis=1), "all alike") < ALPHA
            print(f"| {world.name} | copies are one test | {format_share(found[:, 0].mean(), runs)} | – | |")


def people(rng: np.random.Generator, gap: float, differing: int) -> pd.DataFrame:
    """Draw decisions on 1,200 people with twelve attributes of two groups, of which some differ by a gap."""
    rows = 1200
    attributes = rng.integers(0, 2, (rows, 12))
    chance = 0.4 + gap * (attributes[:, :differing] - 0.5).sum(axis=1)
    frame = pd.DataFrame(attributes, columns=[f"a{i:02d}" for i in range(12)]).astype(str)
    return frame.assign(score=(rng.random(rows) < chance).astype(int))


def audits(runs: int) -> None:
    """Print how often whole audits fail what is fair, and find what is not."""
    print(
        f"\n| 1,200 people, 12 attributes, {runs} audits each | fair attributes: any fails | a00 fails |\n"
        "|---|---|---|"
    )
    worlds: tuple[tuple[str, float, int, Callable[[], dict[str, str]]], ...] = (
        ("nothing differs", 0.0, 0, dict),
        ("nothing differs, a00 named", 0.0, 0, lambda: {"fail_on": "a00:selection-rate"}),
        ("a00 differs by 8 points", 0.08, 1, dict),
        ("a00 differs by 8 points, a00 named", 0.08, 1, lambda: {"fail_on": "a00:selection-rate"}),
    )
    for title, gap, differing, options in worlds:
        fails = []
        for run in range(runs):
            frame = people(np.random.default_rng([11, run]), gap, differing)
            result = fb.audit(
                frame, score="score", attribute=[f"a{i:02d}" for i in range(12)], tau=0.999, **options()
            )
            table = result.to_pandas()
            failing = set(table[(table["verdict"] == "fail") & table["deciding"]]["attribute"])
            fails.append((bool(failing - {"a00"} if differing else failing), "a00" in failing))
        any_false, first = np.mean(fails, axis=0)
        print(f"| {title} | {format_share(any_false, runs)} | {format_share(first, runs)} |", flush=True)


if __name__ == "__main__":
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    statistics(20 * n_runs)
    audits(n_runs)
