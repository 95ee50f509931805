"""CPU of one fit of C45, of scikit-learn's entropy tree on ordinal codes and of Weka's J48, on the same rows.

usage: FAIRBENCH_DATA=… python benchmarks/c45.py [--weka /usr/share/java/weka.jar] [--rounds 5]

One thread. A round is the mean of 10 fits of each, in turn, after a first one that compiles; J48's is a new
JVM, in which 10 fits go before, and counts all of the JVM's threads. Its tree must be that of C45, line by
line.
Weka is skipped without its jar (Debian: apt-get install weka) or without `java`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from costs import head, in_turn, ratios, row, seconds, spread
from rows import sample_of
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fairbench_cli.classifiers.c45 import C45
from fairbench_cli.data.table import Codes, Labels

FITS = 10
CARDS = ("adult-complete", "dutch", "compas")
JAVA = Path(__file__).with_name("J48Cost.java")


def mean(fit: Callable[[], object]) -> float:
    """Return the CPU seconds of one fit, mean of several."""
    return seconds(lambda: [fit() for _ in range(FITS)]) / FITS


def write_arff(path: Path, levels: tuple[int, ...], codes: Codes, y: Labels) -> None:
    """Write codes as nominal values, the label last."""
    names = [f"@attribute x{j} {{{','.join(map(str, range(r)))}}}" for j, r in enumerate(levels)]
    rows = [",".join(map(str, values)) for values in np.column_stack([codes, y]).tolist()]
    path.write_text("\n".join(["@relation rows", *names, "@attribute y {0,1}", "@data", *rows, ""]))


def j48(jar: str, path: Path, tree: str) -> float:
    """Fit J48 in a JVM, and return the CPU seconds of a fit; its tree must be the given one."""
    command = ["java", "-XX:+UseSerialGC", "-cp", jar, str(JAVA), str(path), str(FITS)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    taken, _, shown = said.partition("\n")
    theirs = shown.partition("------------------\n\n")[2].partition("\n\nNumber of Leaves")[0].strip()
    if theirs != tree.strip():
        raise SystemExit(f"{path.stem}: J48's tree is another")
    return float(taken)


def weka(given: str) -> str | None:
    """Return the jar, or say why there is none and return None."""
    if Path(given).exists() and shutil.which("java"):
        return given
    print("skipped Weka: no jar or no java; on Debian: apt-get install weka", file=sys.stderr)
    return None


def main() -> None:
    """Print one line per data set and library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weka", default="/usr/share/java/weka.jar", help="Weka's jar")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    jar = weka(given.weka)
    head("data:", "rows × columns:", "fit:", "CPU, ms", "times C45's", "leaves")
    for name in CARDS:
        sample = sample_of(name)
        codes, y = np.ascontiguousarray(sample.features.codes), sample.y
        numbers, levels = codes.astype(np.float32), sample.features.level_counts
        entropy = partial(DecisionTreeClassifier, criterion="entropy", random_state=0)
        fits = {
            "C45": partial(C45(levels=levels).fit, codes, y),
            "scikit-learn": partial(entropy().fit, numbers, y),
            "scikit-learn, 20 rows a leaf": partial(entropy(min_samples_leaf=20).fit, numbers, y),
        }
        made = {who: fit() for who, fit in fits.items()}
        leaves = {who: tree.n_leaves_ if who == "C45" else tree.get_n_leaves() for who, tree in made.items()}
        works = {who: partial(mean, fit) for who, fit in fits.items()}
        with tempfile.TemporaryDirectory() as folder:
            if jar:
                path = Path(folder) / f"{name}.arff"
                write_arff(path, levels, codes, y)
                works["Weka's J48, the same tree"] = partial(j48, jar, path, made["C45"].export_text())
                leaves["Weka's J48, the same tree"] = leaves["C45"]
            found = in_turn(works, given.rounds)
        for who, taken in found.items():
            ratio = spread(ratios(found["C45"], taken))
            times = spread([1000 * each for each in taken], 1)
            row(name, f"{codes.shape[0]:,} × {codes.shape[1]}", who, times, ratio, leaves[who])


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
