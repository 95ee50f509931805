"""CPU cost of `repair` without the classifier, and how far it brings the groups together.

``python benchmarks/repair.py`` needs adult.data and adult.test in $FAIRBENCH_DATA. It repairs the 45,222
complete rows of Adult with numbers as they are (fnlwgt and education_num included), and the 32,561 rows of
adult-train as its card says, with numbers in bins.
"""

import statistics
from collections.abc import Callable

import numpy as np
from costs import seconds
from rows import adult_raw, sample_of

from fairbench_cli.interventions.repair import (
    Auditor,
    Repair,
    apply_maps,
    distance,
    is_ranked,
    repair_features,
)

REPEATS = 7


def median(work: Callable[[], object]) -> float:
    """Return the median CPU seconds of a call."""
    return statistics.median(seconds(work) for _ in range(REPEATS))


def main() -> None:
    """Measure and print two tables."""
    raw, binned = adult_raw(), sample_of("adult-train", "sex")
    full = Repair(level=1.0)
    print("| rows | columns | repair | of training rows, CPU s | of as many rows to predict, CPU s |")
    print("|---|---|---|---|---|")
    for name, sample in (("Adult, numbers as they are", raw), ("adult-train, bins", binned)):
        for how in (
            full,
            Repair(level=0.5, bins="nominal"),
            Repair(level=0.5, method="geometric"),
        ):
            if how.method == "geometric" and sample is raw:
                continue  # fnlwgt would have more different numbers than a column can hold
            _, learned = repair_features(sample, how, 0)
            train = median(lambda sample=sample, how=how: repair_features(sample, how, 0))
            test = median(lambda sample=sample, learned=learned: apply_maps(sample, learned, 0))
            what = f"{how.method}, level {how.level:g}, bins {how.bins}"
            print(f"| {name}, {len(sample):,} | {len(learned)} | {what} | {train:.3f} | {test:.3f} |")
        tool = median(lambda sample=sample: Auditor(level=0.5).repaired(sample, 0))
        print(f"| {name}, {len(sample):,} | {len(learned)} and label | auditor, level 0.5 | {tool:.3f} | |")
    repaired, _ = repair_features(raw, full, 0)
    print("\n| column | distance | before | after |\n|---|---|---|---|")
    for j, column in enumerate(raw.features.columns):
        if column.name != raw.attribute:
            ranked = is_ranked(column, "number")
            before, after = (
                distance(column, sample.features.codes[:, j], sample.s, ranked=ranked)
                for sample in (raw, repaired)
            )
            kind = "Kolmogorov–Smirnov" if ranked else "total variation"
            print(f"| {column.name} | {kind} | {before:.4f} | {after:.4f} |")
    labels = Auditor(columns="none").repaired(raw, 0)
    rates = [float(np.mean(labels.y[labels.s == group])) for group in (0, 1)]
    changed = float(np.mean(labels.y != raw.y))
    print(
        f"\nlabels repaired at level 1: P(+|g) {rates[0]:.3f}, P(+|ḡ) {rates[1]:.3f}, changed {changed:.1%}"
    )


if __name__ == "__main__":
    main()
