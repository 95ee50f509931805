"""CPU, loss and optimality of one fit of Zafar et al.'s disparate mistreatment.

usage: FAIRBENCH_DATA=… python benchmarks/zafar_dm.py

One thread, median of 5 fits (one of the slow ccp). First Adult's complete rows with its numbers as numbers,
without race and with one country against all others, 58 columns; then the shipped cards, in bins. Times are
of this machine and this minute.
"""

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Column, Sample, Table, to_sample
from fairbench_cli.interventions.zafar_dm import ZafarDM

FITS = 5
NUMBERS = """extends: adult-complete
name: adult-numbers
columns:
  age: {kind: integer}
  education_num: {kind: integer}
  capital_gain: {kind: integer}
  capital_loss: {kind: integer}
  hours_per_week: {kind: integer}
"""


def sample(path: Path) -> Sample:
    """Return all rows of a card."""
    card = read_card(path)
    dataset = load(card, locate(card, folders(None, path)))
    return to_sample(dataset.table, dataset.roles(next(iter(card.protected))))


def adult58(train: Sample) -> Sample:
    """Drop race, and tell only the United States from the other countries."""
    table = train.features.without("race")
    place = table.index("native_country")
    home = table.columns[place].levels.index("United-States")
    codes = table.codes.copy()
    codes[:, place] = codes[:, place] == home
    columns = list(table.columns)
    columns[place] = Column("native_country", ("elsewhere", "United-States"))
    return replace(train, features=Table(tuple(columns), codes))


def main() -> None:
    """Print one line per data set, constraint and solver."""
    classifier = Classifier(Tree(), include_protected=False, seed=0)
    print("| data | rows | constraint | solver | CPU, s | L/n | largest F | kkt | steps | status |")
    print("|---|---:|---|---|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        numbers = Path(folder) / "adult-numbers.yaml"
        numbers.write_text(NUMBERS, encoding="utf-8")
        shipped = [find_card(name) for name in ("adult-train", "dutch", "compas")]
        for path in (numbers, *shipped):
            train = adult58(sample(path)) if path == numbers else sample(path)
            for solver in ("slsqp", "ccp"):
                for constraint in ("fpr", "fnr", "both"):
                    spec = ZafarDM(constraint=constraint, solver=solver)  # type: ignore[arg-type]
                    times = []
                    for _ in range(FITS if solver == "slsqp" else 1):
                        start = time.process_time()
                        fitted = spec.fit(train, classifier, np.random.default_rng(0))
                        times.append(time.process_time() - start)
                    facts = fitted.facts
                    largest = max(abs(facts[f]) for f in ("F_fpr", "F_fnr") if f in facts)
                    print(
                        f"| {path.stem} | {len(train)} | {constraint} | {solver} "
                        f"| {statistics.median(times):.2f} | {facts['loss'] / len(train):.6f} "
                        f"| {largest:.0e} | {facts['kkt']:.0e} "
                        f"| {facts['steps']}+{facts['polishing_steps']} | {fitted.status} |",
                        flush=True,
                    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
