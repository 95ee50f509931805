"""Zafar et al. against disparate impact: loss, covariance, measures and CPU of each mode, on training rows.

usage: FAIRBENCH_DATA=… OMP_NUM_THREADS=1 python benchmarks/zafar.py

CPU is the median of 5 fits, design matrix included. Times are of this machine and this minute.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from zafar_data import adult_58, compas_9, sample_of

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.disparate_impact import ZafarDI
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

FITS = 5
MEASURES = ("accuracy", "discrimination", "overestimation", "underestimation")
SETTINGS = [
    ZafarDI(l2=0.0),
    ZafarDI(c=0.1, l2=0.0),
    ZafarDI(mode="accuracy", gamma=0.05, l2=0.0),
    ZafarDI(mode="accuracy", gamma=0.1, l2=0.0),
    ZafarDI(mode="accuracy", l2=0.0),
    ZafarDI(mode="misclassification", l2=0.01),
    ZafarDI(),
    ZafarDI(mode="accuracy", gamma=0.05),
    ZafarDI(mode="accuracy", relative=True),
    ZafarDI(mode="accuracy"),
    ZafarDI(mode="misclassification"),
    ZafarDI(mode="misclassification", gamma=10.0),
]


def samples(folder: Path) -> Iterator[tuple[str, Sample]]:
    """Yield the data sets by name."""
    yield "adult-58", adult_58(folder)
    yield "adult-train", sample_of("adult-train")
    yield "compas-9", compas_9(folder)
    yield "dutch", sample_of("dutch")


def line(technique: ZafarDI, sample: Sample) -> str:
    """Fit, measure and write one row of the table."""
    classifier, rng, seconds = (
        Classifier(Tree(), include_protected=False, seed=0),
        np.random.default_rng(0),
        [],
    )
    for _ in range(FITS):
        start = time.process_time()
        fitted = technique.fit(sample, classifier, rng)
        seconds.append(time.process_time() - start)
    counts = count(sample.s, sample.y, fitted.predict(sample), ("deprived", "favoured"))
    facts = fitted.facts
    limit = f"γ={facts['gamma']:.4g}" if "gamma" in facts else f"c={facts['c']:g}"
    cells = [
        f"{technique.mode} {limit} l2={technique.l2:g}",
        f"{facts['loss_unconstrained']:.3f}",
        f"{facts['loss']:.3f}",
        f"{facts['covariance']:.5f}",
        *(f"{float(measure(name, counts)):.4f}" for name in MEASURES),
        f"{facts['largest_decision']:.1f}",
        f"{facts['kkt']:.0e}",
        f"{facts['steps']}",
        fitted.status,
        f"{statistics.median(seconds):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print a table per data set."""
    with tempfile.TemporaryDirectory() as folder:
        for name, sample in samples(Path(folder)):
            print(f"\n## {name}, {len(sample)} rows\n")
            print(
                f"| mode | L(w*) | L | covariance | {' | '.join(MEASURES)} | max d | kkt | steps | | CPU s |"
            )
            print("|---" * 13 + "|")
            for technique in SETTINGS:
                print(line(technique, sample), flush=True)


if __name__ == "__main__":
    main()
