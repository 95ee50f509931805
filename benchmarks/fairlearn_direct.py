"""CPU and peak memory of fairlearn's techniques in a run, and of fairlearn called directly, on Adult.

usage: FAIRBENCH_DATA=… OMP_NUM_THREADS=1 python benchmarks/fairlearn_direct.py

30,000 of the complete rows to train on, one-hot columns, logistic regression, demographic parity. Each fit in
a process of its own, after one to 300 rows, so that imports do not count. Peak is the largest resident size
while fitting (Linux).
"""

import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from techniques import resident, split

from fairbench_cli.classifiers.builders import LogisticRegression
from fairbench_cli.classifiers.encode import fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.interventions.validation import divide_rows

NAMES = ("exponentiated-gradient", "grid-search", "threshold-optimizer", "correlation-remover")


def ours(name: str, train: Sample) -> None:
    """Fit a registered technique."""
    classifier = Classifier(LogisticRegression(), include_protected=False, seed=0)
    INTERVENTIONS[name].load()().fit(train, classifier, np.random.default_rng(0))


def direct(name: str, train: Sample) -> None:
    """Fit what the technique fits, by fairlearn alone."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.preprocessing import CorrelationRemover
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    learner: Any = LogisticRegression().build((), 0)
    design = fit_design(train, include_protected=False, intercept=False)
    X, y, s = design.transform(train.features), train.y.astype(int), train.s.astype(int)
    if name == "correlation-remover":
        columns = np.column_stack([X, s])
        learner.fit(CorrelationRemover(sensitive_feature_ids=[X.shape[1]]).fit_transform(columns), y)
    elif name == "threshold-optimizer":
        others, held_out = divide_rows(train, 0.3)
        learner.fit(design.transform(others.features), others.y.astype(int))
        made = ThresholdOptimizer(estimator=learner, prefit=True, predict_method="predict_proba")
        rows, labels = design.transform(held_out.features), held_out.y.astype(int)
        made.fit(rows, labels, sensitive_features=held_out.s.astype(int))
    else:
        kind = GridSearch if name == "grid-search" else ExponentiatedGradient
        kind(learner, DemographicParity()).fit(X, y, sensitive_features=s)


def one(path: str, name: str, who: str) -> None:
    """Fit in this process and print what it took as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    train = pickle.loads(Path(path).read_bytes())  # noqa: S301 - written by `main`
    fit = {"ours": ours, "direct": direct}[who]
    fit(name, train.take(np.arange(300)))
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    start = time.process_time()
    fit(name, train)
    print(json.dumps([time.process_time() - start, resident("VmHWM")]))


def main() -> None:
    """Print a row for each technique."""
    print("| technique | fit, CPU s | peak MB | fairlearn called directly, s | peak MB |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(pickle.dumps(split()[0]))
        for name in NAMES:
            cells = []
            for who in ("ours", "direct"):
                command = [sys.executable, __file__, str(path), name, who]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds, peak = json.loads(done.stdout.splitlines()[-1])
                cells += [f"{seconds:.2f}", f"{peak:.0f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
