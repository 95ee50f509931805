"""Plans of audits beside statsmodels' power, and what the audit's own verdict makes of the rows planned.

``python benchmarks/planning.py [runs]`` prints Markdown tables, with 4,000 runs of each point unless said
otherwise. Every point has a seed of its own.
"""

import math
import sys
import zlib
from itertools import product

import numpy as np
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import power_proportions_2indep, proportion_effectsize

from fairbench_cli.audit.compare.compare_rates import adjust_tests, compare_slice, decide_by_evidence
from fairbench_cli.audit.compare.verdict import decide
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.power import Criterion, TwoGroups, rows_needed

CONFIG = AuditConfig(draws=0)
ONE = ("selection-rate",)


def verdicts(sizes: list[int], rates: list[float], runs: int, seed: str) -> tuple[float, float]:
    """Return how often the second group fails, and passes, in audits; the first is the reference."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    names = tuple(f"g{i}" for i in range(len(sizes)))
    fails = passes = 0
    for _ in range(runs):
        hits = rng.binomial(sizes, rates)
        n = np.zeros((len(sizes), 2, 2))
        n[:, 0, 1], n[:, 0, 0] = hits, np.array(sizes) - hits
        part = Slice("", "", "g", Counts(names, n), n.astype(np.int64), n, labelled=False)
        config = CONFIG.model_copy(update={"references": {"g": "g0"}, "ref_method": "given"})
        tests = compare_slice(part, ONE, config).tests
        (evidence,) = adjust_tests([tests], [ONE], config)
        point = decide(hits[1], sizes[1], hits[0], sizes[0], 0.8)
        verdict, _ = decide_by_evidence(point, tests, evidence, 1, 0, config)
        fails += verdict == "fail"
        passes += verdict == "pass"
    return fails / runs, passes / runs


def beside_statsmodels(runs: int) -> None:
    """Print the rows of both groups for 80 %: ours, statsmodels', and how often it fails with ours."""
    print("| rate | ratio | share | ours | arcsine | power of its test with ours | fails, simulated |")
    print("|---|---|---|---|---|---|---|")
    for rate, ratio, share in product((0.1, 0.3, 0.5, 0.8), (0.5, 0.7, 0.75), (0.5, 0.1)):
        total = float(rows_needed(rate, ratio, share, Criterion()))
        n, m = math.ceil(total * share), math.ceil(total * (1 - share))
        h = proportion_effectsize(rate, rate * ratio)
        of_group = NormalIndPower().solve_power(h, power=0.8, alpha=0.05, ratio=(1 - share) / share)
        arcsine = of_group / share
        away, of_reference = rate * (ratio - 1), (1 - share) / share
        theirs = power_proportions_2indep(away, rate, n, ratio=of_reference, return_results=False)
        failed, _ = verdicts([m, n], [rate, rate * ratio], runs, f"{rate} {ratio} {share}")
        row = [f"{rate:g}", f"{ratio:g}", f"{share:g}", f"{n + m:,}", f"{arcsine:,.0f}"]
        print("| " + " | ".join([*row, f"{theirs:.3f}", f"{failed:.3f}"]) + " |")
    print()


def reached(runs: int) -> None:
    """Print how often verdicts come with the rows planned, after Holm over several, and for passes."""
    print("| rate | ratio | share | comparisons | rows of both | planned | simulated |")
    print("|---|---|---|---|---|---|---|")
    for rate, ratio, share, family in product((0.05, 0.3, 0.6), (0.6, 0.7, 1.0, 1.4), (0.5, 0.1), (1, 10)):
        if rate * ratio >= 1:
            continue
        rule = Criterion(0.8, family)
        total = float(rows_needed(rate, ratio, share, rule))
        n, m = math.ceil(total * share), math.ceil(total * (1 - share))
        found = TwoGroups(n, m, rate, rule).chances(ratio)
        planned = float(found.passes if ratio == 1 else found.fails)
        rates = [rate, rate * ratio, *[rate] * (family - 1)]
        both = verdicts([m, n, *[n] * (family - 1)], rates, runs, f"{rate} {ratio} {share} {family}")
        said = both[ratio == 1]
        row = [
            f"{rate:g}",
            f"{ratio:g}",
            f"{share:g}",
            str(family),
            f"{n + m:,}",
            f"{planned:.3f}",
            f"{said:.3f}",
        ]
        print("| " + " | ".join(row) + " |")
    print()


def smallest(runs: int) -> None:
    """Print the ratio that rows show, and how often it fails, also where Fisher's test decides."""
    print("| rows | reference | rate | fails up to | planned | simulated | fails if equal | simulated |")
    print("|---|---|---|---|---|---|---|---|")
    for n, m in ((20, 60), (50, 500), (200, 1000), (1000, 1000), (100, 5000)):
        for rate in (0.1, 0.3, 0.6):
            design = TwoGroups(n, m, rate, Criterion())
            low, _ = design.detectable_ratios()
            if math.isnan(low):
                continue
            planned = design.chances([low, 1.0]).fails
            said = [
                verdicts([m, n], [rate, rate * r], runs, f"{n} {m} {rate} {r:.3f}")[0] for r in (low, 1.0)
            ]
            cells = [f"{n:,}", f"{m:,}", f"{rate:g}", f"{low:.3f}"]
            cells += [f"{value:.3f}" for value in (planned[0], said[0], planned[1], said[1])]
            print("| " + " | ".join(cells) + " |")
    print()


def main() -> None:
    """Print the three tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    beside_statsmodels(runs)
    reached(runs)
    smallest(runs)


if __name__ == "__main__":
    main()
