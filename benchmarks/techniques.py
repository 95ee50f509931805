"""CPU and peak memory of every registered technique, and of every classifier alone, on Adult.

usage: FAIRBENCH_DATA=… OMP_NUM_THREADS=1 python benchmarks/techniques.py [NAME…]

30,000 of the complete rows to train on, 15,222 to predict, numbers in ten bins. Each in a process of its own,
which first fits 300 rows, so that neither imports nor compilation count. Peak is the largest resident size
while fitting and predicting, and "more" is by how much it exceeds the size before (Linux). Times are of this
machine and this minute.
"""

import json
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from costs import forget_peak, inside, resident
from rows import ADULT_TRAIN, adult_split

from fairbench_cli.classifiers.fit import Classifier, Infeasible
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import count, expected_count
from fairbench_cli.measures.registry import measure

CLASSIFIER = {"leaf-relabelling": "c45"}  # the others train logistic regression, if they train any
MORE = (
    ("leaf-relabelling", "c45", {"solver": "optimal"}),
    ("prejudice-remover", "logistic-regression", {"eta": 30.0}),
    ("zafar-dm", "logistic-regression", {"average": "label"}),
)
FEWER_ROWS = {"svm": 5_000}  # its time grows with their square


def cases(names: list[str]) -> list[tuple[str, str, dict[str, object], int]]:
    """Return technique, classifier, parameters and training rows of each line."""
    default = "logistic-regression"
    all_of_them = [
        *((name, CLASSIFIER.get(name, default), {}, ADULT_TRAIN) for name in INTERVENTIONS),
        *((*case, ADULT_TRAIN) for case in MORE),
        *(("none", name, {}, FEWER_ROWS.get(name, ADULT_TRAIN)) for name in CLASSIFIERS if name != default),
    ]
    return [case for case in all_of_them if not names or case[0] in names or case[1] in names]


def one(path: str, technique: str, classifier: str, parameters: dict[str, object], rows: int) -> None:
    """Fit and predict in this process and print what it took as JSON."""
    train, test = pickle.loads(Path(path).read_bytes())  # noqa: S301 - written by `main`
    train = train.take(np.arange(rows))
    spec = Classifier(CLASSIFIERS[classifier].load()(), include_protected=False, seed=0)
    own = INTERVENTIONS[technique].load()(**parameters)
    small = train.take(np.arange(300))
    own.fit(small, spec, np.random.default_rng(0)).predict(small)
    forget_peak()
    before, start = resident("VmRSS"), time.process_time()
    fitted = own.fit(train, spec, np.random.default_rng(0))
    middle = time.process_time()
    predicted, chance = fitted.predict(test), fitted.decision_probability(test)
    end, peak = time.process_time(), resident("VmHWM")
    groups = ("deprived", "favoured")
    if chance is None:
        counts = count(test.s, test.y, predicted, groups)
    else:
        counts = expected_count(test.s, test.y, chance, groups)
    found = {
        "fit": middle - start,
        "predict": end - middle,
        "peak": peak,
        "more": peak - before,
        "accuracy": float(measure("accuracy", counts)),
        "discrimination": float(measure("discrimination", counts)),
        "status": fitted.status,
    }
    print(json.dumps(found))


def main() -> None:
    """Print the table, or fit and predict where this is the process of one line."""
    if sys.argv[1:2] == ["--one"]:
        try:
            one(*json.loads(sys.argv[2]))
        except Infeasible as reason:
            sys.exit(f"infeasible: {reason}")
        return
    names = sys.argv[1:]
    titles = ("fit, CPU s", "predict, CPU s", "peak MB", "more MB", "accuracy", "discrimination")
    print(f"| technique, classifier | {' | '.join(titles)} |")
    print("|---" + "|---:" * len(titles) + "|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(pickle.dumps(adult_split()))
        for technique, classifier, parameters, rows in cases(names):
            call = json.dumps([str(path), technique, classifier, parameters, rows])
            said = ", ".join(f"{key} {value}" for key, value in parameters.items())
            line = f"| {technique}{f' ({said})' if said else ''}, {classifier}"
            line += f", {rows} rows" if rows != ADULT_TRAIN else ""
            try:
                found = inside(sys.executable, __file__, "--one", call)
            except SystemExit as failed:
                print(f"{line} | {str(failed).splitlines()[-1]} |", flush=True)
                continue
            digits = {"fit": 2, "predict": 2, "peak": 0, "more": 0, "accuracy": 4, "discrimination": 4}
            cells = " | ".join(f"{found[key]:.{places}f}" for key, places in digits.items())
            status = "" if found["status"] == "ok" else f" ({found['status']})"
            print(f"{line}{status} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
