"""One repeat of one cell, from the network to the counts. This page is the whole experiment."""

import time
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Floats, Sample, to_sample
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.population import Population
from fairbench_cli.experiment.row_measures import measure_test
from fairbench_cli.interventions.fitted import Infeasible, defined
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.measures.sweep import swept_counts
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import sample
from fairbench_cli.network.model import BayesNet

GROUPS = ("deprived", "favoured")

Status = Literal["ok", "noop", "degraded", "infeasible", "failed", "killed"]


@dataclass(frozen=True)
class Repeat:
    """What came out of one repeat: counts[group][label][prediction] and how it went.

    `values` are the measures that need more than counts, by name. `swept` are the counts at every acceptance
    rate, none at all where the model has no scores; None where nobody asked for them.
    """

    key: str
    repeat: int
    status: Status
    reason: str
    counts: Counts | None
    facts: dict[str, float | int] = field(default_factory=dict)
    seconds: float = 0.0
    values: dict[str, float] = field(default_factory=dict)
    swept: Counts | None = None

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise ValueError(f"unknown status {self.status!r}")


def run_repeat(cell: Cell, population: Population, repeat: int) -> Repeat:
    """Draw a biased training set, apply the technique, test it and count."""
    start = time.process_time()
    train, test = draw(cell, population, repeat)
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
    predicted = model.predict(test)
    counts = count(test.s, test.y, predicted, GROUPS)
    scores = model.scores(test) if population.sweep or population.wishes.names else None
    values = measure_test(population.wishes, test, predicted, scores)
    swept = sweep(test, scores) if population.sweep else None
    seconds = time.process_time() - start
    facts = defined(model.facts)
    return Repeat(cell.key, repeat, model.status, model.reason, counts, facts, seconds, values, swept)


def sweep(test: Sample, scores: Floats | None) -> Counts:
    """Count at every acceptance rate; no counts at all where the model has no scores."""
    if scores is None:
        return Counts(GROUPS, np.zeros((0, len(GROUPS), 2, 2)))
    return swept_counts(test.s, test.y, scores, GROUPS)


def draw(cell: Cell, population: Population, repeat: int) -> tuple[Sample, Sample]:
    """Return the training and the test rows of a repeat.

    Training rows are sampled from the network, its bias against the deprived group raised by β, and test rows
    are the original ones, or sampled from the network as it is (β = 0). Without a network the original rows
    are dealt out at random: `size` of them to train on, the rest to test.
    """
    network, rows, roles = population.network, population.rows, population.roles
    if network is None:
        assert rows is not None  # noqa: S101 - `populate` leaves out one of the two at most
        shuffled = np.random.default_rng(cell.sample_seed(repeat)).permutation(len(rows))
        train, rest = shuffled[: population.size], shuffled[population.size :]
        return rows.take(np.sort(train)), rows.take(np.sort(rest))
    train_rows = sample(biased(network, population, cell.beta), population.size, cell.sample_seed(repeat))
    if rows is None:
        rows = to_sample(sample(network, population.size, cell.test_seed(repeat)), roles)
    return to_sample(train_rows, roles), rows


def biased(network: BayesNet, population: Population, beta: float) -> BayesNet:
    """Raise the network's bias by β, where it has a table to edit."""
    roles, target = population.roles, population.target
    if not population.biased:
        return network
    groups = target.deprived, target.favoured
    return shift(network, roles.label, roles.favourable, target.column, *groups, beta, both=population.both)
