"""One repeat of one cell, from the network to the counts. This page is the whole experiment."""

import time
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Sample, to_sample
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.population import Population
from fairbench_cli.interventions.fitted import Infeasible, defined
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import sample

GROUPS = ("deprived", "favoured")

Status = Literal["ok", "noop", "degraded", "infeasible", "failed", "killed"]


@dataclass(frozen=True)
class Repeat:
    """What came out of one repeat: counts[group][label][prediction] and how it went."""

    key: str
    repeat: int
    status: Status
    reason: str
    counts: Counts | None
    facts: dict[str, float | int] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise ValueError(f"unknown status {self.status!r}")


def run_repeat(cell: Cell, population: Population, repeat: int) -> Repeat:
    """Draw a biased training set, apply the technique, test it and count."""
    start = time.process_time()
    train = draw_train(cell, population, repeat)
    test = draw_test(cell, population, repeat)
    technique = cell.technique.choice.build(INTERVENTIONS)
    classifier = Classifier(
        cell.classifier.build(CLASSIFIERS), cell.technique.include_protected, cell.classifier_seed(repeat)
    )
    rng = np.random.default_rng(cell.technique_seed(repeat))
    try:
        model = technique.fit(train, classifier, rng)
    except Infeasible as reason:
        seconds = time.process_time() - start
        return Repeat(cell.key, repeat, "infeasible", str(reason), None, seconds=seconds)
    counts = count(test.s, test.y, model.predict(test), GROUPS)
    seconds = time.process_time() - start
    return Repeat(cell.key, repeat, model.status, model.reason, counts, defined(model.facts), seconds)


def draw_train(cell: Cell, population: Population, repeat: int) -> Sample:
    """Sample a training set from the network, its bias against the deprived group raised by β."""
    network, target, roles = population.network, population.target, population.roles
    if population.biased:
        network = shift(
            network,
            roles.label,
            roles.favourable,
            target.column,
            target.deprived,
            target.favoured,
            cell.beta,
            both=population.both,
        )
    return to_sample(sample(network, population.size, cell.sample_seed(repeat)), roles)


def draw_test(cell: Cell, population: Population, repeat: int) -> Sample:
    """Return the original rows, or rows sampled from the network as it is (β = 0)."""
    if population.test is not None:
        return population.test
    rows = sample(population.network, population.size, cell.test_seed(repeat))
    return to_sample(rows, population.roles)
