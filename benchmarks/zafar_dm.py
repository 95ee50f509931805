"""CPU, loss and optimality of one fit of Zafar et al.'s disparate mistreatment.

usage: FAIRBENCH_DATA=… python benchmarks/zafar_dm.py

One thread, median of 5 fits (one of the slow ccp, and one where the sample is biased). First Adult's complete
rows with its numbers as numbers, without race and with one country against all others, 58 columns; then the
shipped cards, in bins; then samples of Adult's network with β moved both ways, where the solver has most to
do. Times are of this machine and this minute.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from zafar_data import adult_58, sample_of

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.table import Sample, to_sample
from fairbench_cli.interventions.disparate_mistreatment import ZafarDM
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import sample as draw
from fairbench_cli.network.files import load as network_file

FITS = 5


def biased(beta: float) -> Sample:
    """Draw as many rows as adult.data has from Adult's network, both groups' outcomes shifted by β."""
    path = find_card("adult")
    card = read_card(path)
    network = network_file(str(path.with_name("adult.network.json")))[0]
    levels = {column.name: column.levels for column in network.columns}
    roles = card.roles("sex", levels)
    shifted = shift(
        network, roles.label, roles.favourable, card.bias_groups("sex", levels), beta, tilt_favoured=True
    )
    return to_sample(draw(shifted, 32_561, 1), roles)


def print_lines(name: str, train: Sample, solvers: tuple[str, ...], fits: int) -> None:
    """Print one line per constraint and solver."""
    classifier = Classifier(Tree(), include_protected=False, seed=0)
    for solver in solvers:
        for constraint in ("fpr", "fnr", "both"):
            spec = ZafarDM(constraint=constraint, solver=solver)  # type: ignore[arg-type]
            times = []
            for _ in range(fits if solver == "direct" else 1):
                start = time.process_time()
                fitted = spec.fit(train, classifier, np.random.default_rng(0))
                times.append(time.process_time() - start)
            facts = fitted.facts
            largest = max(abs(facts[f]) for f in ("F_fpr", "F_fnr") if f in facts)
            print(
                f"| {name} | {len(train)} | {constraint} | {solver} "
                f"| {statistics.median(times):.2f} | {facts['loss'] / len(train):.6f} "
                f"| {largest:.0e} | {facts['kkt']:.0e} "
                f"| {facts['steps']}+{facts['polishing_steps']} | {fitted.status} |",
                flush=True,
            )


def main() -> None:
    """Print the table."""
    print("| data | rows | constraint | solver | CPU, s | L/n | largest F | kkt | steps | status |")
    print("|---|---:|---|---|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        print_lines("adult-58", adult_58(Path(folder)), ("direct", "ccp"), FITS)
    for name, attribute in (("adult-train", "sex"), ("dutch", "sex"), ("compas", "race")):
        print_lines(name, sample_of(name, attribute), ("direct", "ccp"), FITS)
    for beta in (0.5, 1.0):
        print_lines(f"adult β={beta:g}", biased(beta), ("direct",), 1)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
