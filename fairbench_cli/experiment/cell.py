"""One repeat of one cell, from the network to the counts. This page is the whole experiment."""

import time
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import (
    Floats,
    Labels,
    Representation,
    Rows,
    Sample,
    Table,
    copy_shell,
    make_read_only,
    move_to_other_group,
    represent,
    split_rows,
    to_sample,
)
from fairbench_cli.experiment.config.components import classifier_parameters, own_parameters
from fairbench_cli.experiment.config.metrics import on_record
from fairbench_cli.experiment.controls import ControlCounts, control_seed, count_controls, make_training_rows
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.decisions import PredictedRows, RowsPlace, order_of_rows, pack_rows, packed
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.interventions.cells import balanced_rows, divide_rows
from fairbench_cli.interventions.fitted import Fitted, Infeasible, check_fitted
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts, count, expected_count
from fairbench_cli.measures.group_scores import GroupScores, sum_scores
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.measures.registry import distance, measure
from fairbench_cli.measures.thresholds import swept_counts
from fairbench_cli.network.draw import sample
from fairbench_cli.network.world import draw_people as draw_rows
from fairbench_cli.network.world import record_people

Status = Literal["ok", "noop", "degraded", "infeasible", "failed", "killed", "overtime", "memory"]


@dataclass(frozen=True, eq=False)
class Curve:
    """What each candidate reached on the rows that the best one was chosen on.

    Parameters
    ----------
    chosen : int
        The place of the best candidate.
    values : tuple of float
        The metric that was tuned for, by candidate; NaN where it is undefined, or the candidate infeasible.
    counts : Counts
        By joint level of all protected attributes, shape (candidates, groups, 2, 2); NaN where infeasible.
    """

    chosen: int
    values: tuple[float, ...]
    counts: Counts


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
    controls : ControlCounts or None
        Of the plain model, where controls are asked for: its decisions with a known difference.
    swept : Counts or None
        The counts at every acceptance rate, shape (rates, groups, 2, 2): no rates where the model has no
        scores, None where nobody asked for them.
    scores, recorded_scores : GroupScores or None
        Sums of the model's scores by joint level, NaN where it has none; and the same with the labels and
        groups of `recorded`. None where nobody asked for them.
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
    scores: GroupScores | None = None
    recorded_scores: GroupScores | None = None
    tuning: Curve | None = None
    decisions: str | None = None
    predictions: bytes | RowsPlace | None = None
    recorded: Counts | None = None
    controls: ControlCounts | None = None

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise ValueError(f"unknown status {self.status!r}")


def run_repeat(cell: Cell, population: Population, repeat: int) -> Repeat:
    """Draw a biased training set, apply the technique, test it and count."""
    start = time.process_time()

    cell = cell.computed
    protected = population.protected
    curve = None
    how = cell.technique.representation, population.favoured
    try:
        # 1. The rows: a training set with a known bias, and test rows without it, with what the world of the
        # training set records of these.
        train, test = draw(cell, population, repeat)
        record = record_of(cell, population, repeat, test)
        if cell.control:
            train = make_training_rows(train, cell.control, population.roles.of, cell.sample_seed(repeat))

        # 2. Parameters that are tuned are chosen within the training rows: from here on the cell is the
        # untuned one with the chosen values.
        cell, curve = tune(cell, population, repeat, train, record.known_rows)

        # 3. The technique gets the features in its representation, trains the classifier in its own way, and
        # its model decides on the test rows; or it says that it cannot on such rows.
        visible = represented(record.visible, how[0], population)
        model = fit(cell, represented(train, how[0], population), repeat)
        predicted, chance = decide(model, visible)

        # 4. Decisions are counted by the true label and the true levels of all protected attributes, and by
        # the recorded ones where they are others.
        counts = counted(predicted, chance, test, protected)
        recorded = None
        included = record.included
        if record.rows is not None:
            decisions, chances = _select_rows(included, predicted, chance)
            recorded = counted(decisions, chances, record.rows, protected)
    except Infeasible as reason:
        seconds = time.process_time() - start
        return Repeat(cell.key, repeat, "infeasible", str(reason), None, seconds=seconds, tuning=curve)

    # 5. Decisions on rows that are the same in every repeat: would a difference be there on others? Of
    # controls this is all.
    accepted = _accepted(predicted, chance)
    order = None
    rows = None
    if population.shares_test_rows:
        order = row_order(test, population)
        rows = packed(accepted[order])
    outcome = Repeat(
        cell.key,
        repeat,
        model.status,
        model.reason,
        counts,
        dict(model.facts),
        tuning=curve,
        decisions=rows,
        recorded=recorded,
    )
    if cell.control:
        return replace(outcome, seconds=time.process_time() - start)
    group = groups_of(test, protected)
    controls = None
    if population.controls and cell.is_plain:
        controls = count_controls(
            accepted,
            group,
            test,
            protected,
            attributes_to_plant(cell, population),
            seed=control_seed(cell.key, test),
            order=order,
        )

    # 6. What counts of decisions do not suffice for, if asked for: metrics of rows, sums of scores, every
    # acceptance rate.
    needs_scores = population.keeps_scores or population.sweep or population.row_metrics.metrics
    scores = None
    if needs_scores or population.predictions:
        scores = model.scores(copy_shell(visible))
    stays = None
    if population.row_metrics.of_twins:
        twins = move_to_other_group(record.visible, population.roles.of)
        if twins is not None:
            changed = _accepted(*decide(model, represent(twins, *how)))
            stays = 1.0 - np.abs(accepted - changed)
    values = population.row_metrics.measure(test, predicted, scores, stays)
    if len(included):
        outputs = _select_rows(included, predicted, scores, stays)
        recorded_values = population.row_metrics.measure(record.known_rows, *outputs)
        values |= {on_record(name): value for name, value in recorded_values.items()}
    score_sums = None
    recorded_sums = None
    if population.keeps_scores:
        score_sums = sum_scores(group, test.y, scores, protected.groups)
        if record.rows is not None:
            recorded_group = groups_of(record.rows, protected)
            (included_scores,) = _select_rows(included, scores)
            recorded_sums = sum_scores(recorded_group, record.rows.y, included_scores, protected.groups)
    swept = None
    if population.sweep:
        none = Counts(counts.groups, np.zeros((0, *counts.n.shape)))
        if scores is None:
            swept = none
        else:
            swept = swept_counts(group, test.y, scores, counts.groups)

    # 7. The rows themselves, if asked for.
    stored_rows = None
    if population.predictions:
        row_numbers = rows_tested(cell, population, repeat, len(test))
        stored_rows = pack_rows(PredictedRows(row_numbers, group, test.y, predicted, scores))

    return replace(
        outcome,
        seconds=time.process_time() - start,
        values=values,
        swept=swept,
        scores=score_sums,
        recorded_scores=recorded_sums,
        predictions=stored_rows,
        controls=controls,
    )


def attributes_to_plant(cell: Cell, population: Population) -> tuple[str, ...]:
    """Return the protected attributes for which an effect is planted.

    On real rows that is all of them: cells of several attributes may share a key, and then their numbers.
    """
    if population.network is None:
        return population.protected.all_names
    return (cell.attribute,)


def candidates_of(cell: Cell) -> list[Cell]:
    """Return the untuned cells that a tuned one chooses from, under its own key.

    Their seeds are those of the cells that a config would list with these parameters.
    """
    technique = cell.technique
    tuning = cell.technique.tune
    parameters: list[dict[str, Any]] = [{}]
    if tuning:
        parameters = tuning.candidates
    candidates = []
    for values in parameters:
        spec = technique.spec.having(own_parameters(values), INTERVENTIONS)
        classifier = cell.classifier.having(classifier_parameters(values), CLASSIFIERS)
        untuned = replace(technique, spec=spec, tune=None)
        candidates.append(replace(cell, technique=untuned, classifier=classifier))
    return candidates


def tune(
    cell: Cell, population: Population, repeat: int, train: Sample, test: Sample
) -> tuple[Cell, Curve | None]:
    """Return the cell with the best of its candidates' parameters, and what each of them reached.

    The candidates are fitted to a part of the training rows and measured on the others; or, where the config
    says ``on: test``, fitted to all of them and measured on the test rows, as Friedler et al. (2019) did. The
    best is nearest to the ideal of the metric, ratios on a log scale; of equal ones the first.

    Raises
    ------
    Infeasible
        When no candidate has a value.
    """
    tuning = cell.technique.tune
    protected = population.protected
    if tuning is None:
        return cell, None
    if tuning.fraction is None:
        fit_to = train
        choose_on = test
    else:
        fit_to, choose_on = divide_rows(train, tuning.fraction)
    if not (len(fit_to) and len(choose_on)):
        purpose = "to choose on"
        if len(choose_on):
            purpose = "to fit to"
        raise Infeasible(f"{tuning}: of {len(train)} training rows none are left {purpose}")
    representation = cell.technique.representation
    seen = represent(fit_to, representation, population.favoured)
    visible = represent(choose_on, representation, population.favoured)
    candidates = candidates_of(cell)
    reasons = []
    n = np.full((len(candidates), len(protected.groups), 2, 2), np.nan)
    values = np.full(len(candidates), np.nan)
    for i, candidate in enumerate(candidates):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of models that are not kept
                counts = counted(*decide(fit(candidate, seen, repeat), visible), choose_on, protected)
        except Infeasible as reason:
            reasons.append(str(reason))
            continue
        n[i] = counts.n
        values[i] = measure(tuning.metric.entry, protected.levels(counts, (cell.attribute,)))
        if np.isnan(values[i]):
            reasons.append(f"{tuning.metric.name} is undefined")
    if np.isnan(values).all():
        raise Infeasible(f"{tuning}: no candidate has a value ({reasons[0]})")
    chosen = int(np.nanargmin(distance(tuning.metric.entry, values)))
    return candidates[chosen], Curve(chosen, tuple(values.tolist()), Counts(protected.groups, n))


def fit(cell: Cell, train: Sample, repeat: int) -> Fitted:
    """Return the result of fitting the cell's technique to training rows, with a repeat's random choices.

    Rows are shared with other techniques: each gets objects of its own around the arrays.
    """
    technique = cell.technique.spec.build(INTERVENTIONS)
    seen = cell.technique.include_protected
    seed = cell.classifier_seed(repeat)
    classifier = Classifier(cell.classifier.build(CLASSIFIERS), seen, seed)
    rng = np.random.default_rng(cell.technique_seed(repeat))
    return check_fitted(technique.fit(copy_shell(train), classifier, rng))


def decide(model: Fitted, rows: Sample) -> tuple[Labels, Floats | None]:
    """Return a model's decisions on rows and, where these are drawn, each row's chance of being accepted."""
    decisions = model.predict(copy_shell(rows))
    return decisions, model.decision_probability(copy_shell(rows))


def counted(predicted: Labels, chance: Floats | None, rows: Sample, protected: ProtectedAttributes) -> Counts:
    """Count decisions on rows by joint group, label and decision; in expectation where they are drawn."""
    group = groups_of(rows, protected)
    if chance is None:
        return count(group, rows.y, predicted, protected.groups)
    return expected_count(group, rows.y, chance, protected.groups)


def _accepted(predicted: Labels, chance: Floats | None) -> NDArray[Any]:
    """Return the chance with which each row is accepted: 0 or 1 where decisions are not drawn."""
    if chance is None:
        return predicted
    return chance


def _select_rows(selected: Rows, *of_rows: NDArray[Any] | None) -> list[Any]:
    """Return the values of some rows; None for what there is not."""
    return [None if values is None else np.asarray(values)[selected] for values in of_rows]


@lru_cache(maxsize=4)
def groups_of(rows: Sample, protected: ProtectedAttributes) -> NDArray[np.intp]:
    """Return the joint level of all protected attributes of each row; of shared rows once."""
    return protected.codes([rows.features[name] for name in protected.names])


def draw(cell: Cell, population: Population, repeat: int) -> tuple[Sample, Sample]:
    """Return the training and the test rows of a repeat.

    Training rows are what the cell's world records: rows of the network, some of it wrongly or not at all; or
    they are sampled from the network with its bias against the deprived group raised by β. Test rows are the
    original ones, or sampled from the network as it is: the truth. Without a network the original rows are
    divided at random: `size` of them to train on (a little fewer where some stay together), the rest to test;
    and, if asked for, each part drawn again with as many rows of each group and outcome. Test rows may also
    be those of a file.

    All techniques of a repeat get the same rows, which are drawn once, and which nobody can write.

    Raises
    ------
    Infeasible
        When there is nothing to draw from.
    """
    if population.network is None:
        return _divided(population, cell.sample_seed(repeat))
    train = cell.sample_seed(repeat)
    test = cell.test_seed(repeat)
    tested = _test(population, 0 if population.shares_test_rows else test)
    if cell.in_world:
        return _in_world(population, cell.in_world, train), tested
    return _drawn(population, cell.beta if population.beta_bias.edits else 0.0, train), tested


@lru_cache(maxsize=2)
def _in_world(population: Population, world: str, seed: int) -> Sample:
    """Return training rows as a world records them."""
    rows = draw_rows(population.worlds[world], population.size, seed).recorded
    return _shared(to_sample(rows, population.roles), population)


@lru_cache(maxsize=2)
def _drawn(population: Population, beta: float, seed: int) -> Sample:
    """Return training rows of the network at β."""
    network = population.network
    roles = population.roles
    assert network is not None  # noqa: S101 - real rows are divided
    network = population.beta_bias.tilt(network, roles.label, roles.favourable, beta)
    return _shared(to_sample(sample(network, population.size, seed), roles), population)


@lru_cache(maxsize=2)
def _test(population: Population, seed: int) -> Sample:
    """Return the test rows where training rows are drawn: real ones, or others drawn without bias."""
    rows = population.apart or population.rows
    if rows is None:
        rows = to_sample(_people(population, seed), population.roles)
    return _shared(rows, population)


@lru_cache(maxsize=2)
def _people(population: Population, seed: int) -> Table:
    """Return the test rows where training rows are drawn, as a table of all columns."""
    people = population.people
    network = population.network
    assert network is not None  # noqa: S101 - real rows are divided
    if people is None:
        return sample(network, population.size, seed)
    return people


@dataclass(frozen=True, eq=False)
class RowsOnRecord:
    """What the world of a cell records of the test rows.

    Parameters
    ----------
    shown : Sample
        All test rows with the features that models see, true or recorded ones, and with true labels.
    rows : Sample or None
        The test rows that the world includes, all as it records them; None where labels, groups and rows are
        the true ones.
    included : int array
        Which of the test rows these are.
    """

    visible: Sample
    rows: Sample | None = None
    included: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @property
    def known_rows(self) -> Sample:
        """What somebody in the world knows of the test rows."""
        if self.rows is None:
            return self.visible
        return self.rows


def record_of(cell: Cell, population: Population, repeat: int, test: Sample) -> RowsOnRecord:
    """Return the record of the test rows in a cell's world: drawn anew in each repeat, for all techniques."""
    if not cell.in_world:
        return RowsOnRecord(test)
    return _record(population, cell.in_world, cell.test_seed(repeat), test)


@lru_cache(maxsize=2)
def _record(population: Population, name: str, seed: int, test: Sample) -> RowsOnRecord:
    world = population.worlds[name]
    roles = population.roles
    true = _people(population, 0 if population.shares_test_rows else seed)
    counted_by = {roles.label}.union(roles.of, population.protected.names)
    true_counts = not world.included and counted_by.isdisjoint(world.altered)
    if world.omitted:
        visible = _shared(to_sample(true.without(*world.omitted), roles), population)
    else:
        visible = test
    if true_counts and not population.shows_record:
        return RowsOnRecord(visible)
    world_record = record_people(world, true, seed)
    recorded = _shared(to_sample(world_record.recorded, roles), population)
    if population.shows_record:
        visible = replace(recorded, y=test.y)
    if true_counts:
        return RowsOnRecord(visible)
    included = np.flatnonzero(world_record.included)
    if len(included) == len(test):
        rows = recorded
    else:
        rows = _shared(recorded.take(included), population)
    return RowsOnRecord(visible, rows, included)


def rows_tested(cell: Cell, population: Population, repeat: int, n: int) -> NDArray[np.intp]:
    """Return which of the data set's rows the n test rows of a repeat are; of drawn ones plain numbers."""
    if population.network is None and population.apart is None:
        return _split_rows(population, cell.sample_seed(repeat))[1]
    return np.arange(n)


@lru_cache(maxsize=2)
def _divided(population: Population, seed: int) -> tuple[Sample, Sample]:
    """Return original rows divided into those to train on and to test on, or those of a file to test on."""
    rows = population.rows
    assert rows is not None  # noqa: S101 - `populate` leaves out one of the two at most
    train, test_rows = _split_rows(population, seed)
    if population.apart is None:
        tested = rows.take(test_rows)
    else:
        tested = population.apart
    return _shared(rows.take(train), population), _shared(tested, population)


@lru_cache(maxsize=2)
def _split_rows(population: Population, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of the original rows are trained on, and which are tested on."""
    rows = population.rows
    assert rows is not None  # noqa: S101 - `populate` leaves out one of the two at most
    rng = np.random.default_rng(seed)
    train, test_rows = split_rows(len(rows), population.size, rng, population.together)
    if population.balanced is not None:
        parts_and_counts = zip((train, test_rows), population.balanced, strict=True)
        train, test_rows = (balanced_rows(rows, part_rows, n, rng) for part_rows, n in parts_and_counts)
    return train, test_rows


def _shared(rows: Sample, population: Population) -> Sample:
    hidden = population.hidden
    return make_read_only(replace(rows, protected=hidden) if hidden else rows)


@lru_cache(maxsize=4)
def represented(rows: Sample, how: Representation, population: Population) -> Sample:
    """Return rows in a representation; the same object for all techniques that share them."""
    return make_read_only(represent(rows, how, population.favoured))


@lru_cache(maxsize=2)
def row_order(test: Sample, population: Population) -> NDArray[np.intp]:
    """Return the order in which decisions on shared test rows are kept."""
    return order_of_rows(groups_of(test, population.protected), test.y, test.features)
