"""One repeat of one cell, from the network to the counts. This page is the whole experiment."""

import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.represent import Representation, represent
from fairbench_cli.data.split import divided_rows
from fairbench_cli.data.table import Labels, Sample, in_other_group, read_only, to_sample
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.decisions import PredictedRows, RowsPlace, order_of_rows, pack_rows, packed
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.tuning import Attempt, Curve, tune
from fairbench_cli.interventions.cells import balanced_rows
from fairbench_cli.interventions.fitted import Fitted, Infeasible
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts, count, expected_count
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.measures.sweep import swept_counts
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import sample

Status = Literal["ok", "noop", "degraded", "infeasible", "failed", "killed", "overtime", "memory"]


@dataclass(frozen=True)
class Repeat:
    """What came out of one repeat: its counts and how it went.

    Parameters
    ----------
    counts : Counts or None
        Test rows by joint level of all protected attributes, label and prediction, shape (groups, 2, 2); None
        without a result.
    values : dict
        Metrics that need more than counts, by the name under which they are kept.
    recorded : Counts or None
        The same decisions counted on what a world records of the test rows: labels and groups, of those that
        it includes. None where it changes none of these.
    swept : Counts or None
        The counts at every acceptance rate, shape (rates, groups, 2, 2): no rates where the model has no
        scores, None where nobody asked for them.
    tuning : Curve or None
        What parameters were chosen from, where some are tuned.
    decisions : str or None
        Where all repeats share their test rows: what was decided on each of them (`packed`).
    predictions : bytes, RowsPlace or None
        With `predictions: true` the test rows (`pack_rows`), or where a journal keeps them.
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
    tuning: Curve | None = None
    decisions: str | None = None
    predictions: bytes | RowsPlace | None = None
    recorded: Counts | None = None

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise ValueError(f"unknown status {self.status!r}")


def run_repeat(cell: Cell, population: Population, repeat: int) -> Repeat:
    """Draw a biased training set, apply the technique, test it and count."""
    start = time.process_time()

    protected, curve = population.protected, None
    how = cell.technique.representation, population.favoured

    def attempts(rows: Sample, others: Sample) -> Attempt:
        seen, shown, group = represent(rows, *how), represent(others, *how), groups_of(others, protected)
        return lambda candidate: decide(fit(candidate, seen, repeat), shown, group, protected)[1]

    try:
        # 1. The rows: a training set with bias β against the deprived group, and test rows.
        train, test = draw(cell, population, repeat)

        # 2. Parameters that are tuned are chosen within the training rows: from here on the cell is the
        # untuned one with the chosen values.
        cell, curve = tune(cell, protected, train, test, attempts)

        # 3. The technique gets the features in its representation, trains the classifier in its own way, and
        # its model decides on the test rows, which are counted by the levels of all protected attributes; or
        # it says that it cannot on such rows.
        shown, group = represented(test, how[0], population), groups_of(test, protected)
        model = fit(cell, represented(train, how[0], population), repeat)
        predicted, counts, chance = decide(model, shown, group, protected)
    except Infeasible as reason:
        seconds = time.process_time() - start
        return Repeat(cell.key, repeat, "infeasible", str(reason), None, seconds=seconds, tuning=curve)

    # 4. What counts of decisions do not suffice for, if asked for: metrics of rows, every acceptance rate.
    wanted = population.sweep or population.row_metrics.names or population.predictions
    scores = model.scores(shown) if wanted else None
    twins = in_other_group(test, population.roles.of) if population.row_metrics.of_twins else None
    changed = None if twins is None else decide(model, represent(twins, *how), group, protected)[2]
    stays = None if changed is None else 1.0 - np.abs(chance - changed)
    values = population.row_metrics.measure(test, predicted, scores, stays)
    swept = None
    if population.sweep:
        none = Counts(counts.groups, np.zeros((0, *counts.n.shape)))
        swept = none if scores is None else swept_counts(group, test.y, scores, counts.groups)

    # 5. Decisions on rows that are the same in every repeat: would a difference be there on others?
    rows = packed(chance[row_order(test, population)]) if population.shares_test_rows else None

    # 6. The rows themselves, if asked for.
    kept = None
    if population.predictions:
        known = rows_tested(cell, population, repeat, len(test)), group, test.y
        kept = pack_rows(PredictedRows(*known, predicted, scores))

    facts, how_it_went = dict(model.facts), (model.status, model.reason)
    seconds = time.process_time() - start
    return Repeat(cell.key, repeat, *how_it_went, counts, facts, seconds, values, swept, curve, rows, kept)


def fit(cell: Cell, train: Sample, repeat: int) -> Fitted:
    """Return what the cell's technique makes of training rows, with the random choices of a repeat."""
    technique = cell.technique.spec.build(INTERVENTIONS)
    seen, seed = cell.technique.include_protected, cell.classifier_seed(repeat)
    classifier = Classifier(cell.classifier.build(CLASSIFIERS), seen, seed)
    fitted: Fitted = technique.fit(train, classifier, np.random.default_rng(cell.technique_seed(repeat)))
    return fitted


def decide(
    model: Fitted, rows: Sample, group: NDArray[np.intp], protected: ProtectedAttributes
) -> tuple[Labels, Counts, NDArray[Any]]:
    """Return a model's decisions on rows, their counts, and the chance with which each row is accepted.

    The counts of a model that draws its decisions are those in expectation.
    """
    predicted, chance = model.predict(rows), model.decision_probability(rows)
    if chance is None:
        return predicted, count(group, rows.y, predicted, protected.groups), predicted
    return predicted, expected_count(group, rows.y, chance, protected.groups), chance


def groups_of(rows: Sample, protected: ProtectedAttributes) -> NDArray[np.intp]:
    """Return the joint level of all protected attributes of each row."""
    return protected.codes([rows.features[name] for name in protected.names])


def draw(cell: Cell, population: Population, repeat: int) -> tuple[Sample, Sample]:
    """Return the training and the test rows of a repeat.

    Training rows are sampled from the network, its bias against the deprived group raised by β, and test rows
    are the original ones, or sampled from the network as it is (β = 0). Without a network the original rows
    are divided at random: `size` of them to train on, the rest to test; and, if asked for, each part drawn
    again with as many rows of each group and outcome. Test rows may also be those of a file.

    All techniques of a repeat get the same rows, which are drawn once, and which nobody can write.

    Raises
    ------
    Infeasible
        When there is nothing to draw from.
    """
    if population.network is None:
        return _divided(population, cell.sample_seed(repeat))
    beta = cell.beta if population.edits else 0.0
    drawn = population.rows is None and population.apart is None
    seed = cell.test_seed(repeat) if drawn else 0
    return _drawn(population, beta, cell.sample_seed(repeat)), _test(population, seed)


@lru_cache(maxsize=2)
def _drawn(population: Population, beta: float, seed: int) -> Sample:
    """Return training rows of the network at β."""
    network, roles = population.network, population.roles
    assert network is not None  # noqa: S101 - real rows are divided
    for groups, share in population.edits:
        network = shift(network, roles.label, roles.favourable, groups, beta * share, both=population.both)
    return _shared(to_sample(sample(network, population.size, seed), roles), population)


@lru_cache(maxsize=2)
def _test(population: Population, seed: int) -> Sample:
    """Return the test rows where training rows are drawn: real ones, or others drawn at β = 0."""
    rows, network = population.apart or population.rows, population.network
    if rows is None:
        assert network is not None  # noqa: S101 - `populate` leaves out one of the two at most
        rows = to_sample(sample(network, population.size, seed), population.roles)
    return _shared(rows, population)


def rows_tested(cell: Cell, population: Population, repeat: int, n: int) -> NDArray[np.intp]:
    """Return which of the data set's rows the n test rows of a repeat are; of drawn ones plain numbers."""
    if population.network is None and population.apart is None:
        return _parts(population, cell.sample_seed(repeat))[1]
    return np.arange(n)


@lru_cache(maxsize=2)
def _divided(population: Population, seed: int) -> tuple[Sample, Sample]:
    """Return original rows divided into those to train on and to test on, or those of a file to test on."""
    rows = population.rows
    assert rows is not None  # noqa: S101 - `populate` leaves out one of the two at most
    train, rest = _parts(population, seed)
    tested = rows.take(rest) if population.apart is None else population.apart
    return _shared(rows.take(train), population), _shared(tested, population)


@lru_cache(maxsize=2)
def _parts(population: Population, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of the original rows are trained on, and which are tested on."""
    rows = population.rows
    assert rows is not None  # noqa: S101 - `populate` leaves out one of the two at most
    rng = np.random.default_rng(seed)
    train, rest = divided_rows(len(rows), population.size, rng)
    if population.balanced is not None:
        train, rest = (
            balanced_rows(rows, part, n, rng)
            for part, n in zip((train, rest), population.balanced, strict=True)
        )
    return train, rest


def _shared(rows: Sample, population: Population) -> Sample:
    hidden = population.hidden
    return read_only(replace(rows, protected=hidden) if hidden else rows)


@lru_cache(maxsize=4)
def represented(rows: Sample, how: Representation, population: Population) -> Sample:
    """Return rows in a representation; the same object for all techniques that share them."""
    return read_only(represent(rows, how, population.favoured))


@lru_cache(maxsize=2)
def row_order(test: Sample, population: Population) -> NDArray[np.intp]:
    """Return the order in which decisions on shared test rows are kept."""
    return order_of_rows(groups_of(test, population.protected), test.y, test.features)
