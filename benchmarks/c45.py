"""CPU of one fit: C45 against scikit-learn's entropy tree on ordinal codes, on the same rows.

usage: FAIRBENCH_DATA=… python benchmarks/c45.py

One thread, medians of 20 fits in one process; the two are timed in turn. Times are of this machine and this
minute: compare the ratios.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fairbench_cli.classifiers.c45 import C45
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Codes, Labels, to_sample

Numbers = NDArray[np.float32]

FITS = 20


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def fitters(codes: Codes, numbers: Numbers, levels: tuple[int, ...], y: Labels) -> list[Callable[[], object]]:
    """Return the three fits to compare."""
    return [
        lambda: C45(levels=levels).fit(codes, y),
        lambda: DecisionTreeClassifier(criterion="entropy", random_state=0).fit(numbers, y),
        lambda: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=20, random_state=0).fit(
            numbers, y
        ),
    ]


def main() -> None:
    """Print one line per data set."""
    print("| data | rows × columns | C45, ms | tree, ms | ratio | tree, 20 rows a leaf, ms | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in ("adult-complete", "dutch", "compas"):
        path = find_card(name)
        card = read_card(path)
        dataset = load(card, locate(card, folders(None, path)))
        sample = to_sample(dataset.table, dataset.roles(card.attribute(None)))
        codes, y = np.ascontiguousarray(sample.features.codes), sample.y
        numbers, levels = codes.astype(np.float32), sample.features.level_counts
        fits = fitters(codes, numbers, levels, y)
        for fit in fits:
            fit()  # compile, warm the caches
        times = [[cpu(fit) for fit in fits] for _ in range(FITS)]
        ours, full, tuned = (1000 * statistics.median(column) for column in zip(*times, strict=True))
        print(
            f"| {name} | {codes.shape[0]} × {codes.shape[1]} | {ours:.1f} | {full:.1f} | {ours / full:.2f} "
            f"| {tuned:.1f} | {ours / tuned:.2f} |"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
