"""What techniques of a repeat share: the same bits in any order, and nothing that one of them can spoil."""

from pathlib import Path

import numpy as np
import pytest
from conftest import write_config

from fairbench_cli.classifiers.encode import fit_encoder
from fairbench_cli.data.table import Sample, copy_shell, make_read_only
from fairbench_cli.experiment import cell as page
from fairbench_cli.experiment.cell import draw
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.running.worker import Task, run_task
from fairbench_cli.interventions import preprocessing

TECHNIQUES = ["none", "massaging", "reweighing", "uniform-sampling", "preferential-sampling"]

VANDAL = """
from fairbench_cli import Fitted


class Vandal:
    def __init__(self, part="y", when="predict", unlocks=False):
        self.part, self.when, self.unlocks = part, when, unlocks

    def spoil(self, rows):
        array = rows.features.codes if self.part == "codes" else getattr(rows, self.part)
        if self.unlocks:
            while array is not None:
                array.flags.writeable = True
                array = array.base
        array[:] = 0

    def fit(self, train, classifier, rng):
        if self.when == "fit":
            self.spoil(train)
        self.model = classifier.fit(train)
        return Fitted(self)

    def predict(self, rows):
        if self.when == "predict":
            self.spoil(rows)
        return self.model.predict(rows)
"""


SETTER = """
import numpy as np
from fairbench_cli import Fitted


class Setter:
    def __init__(self, part="y", when="fit"):
        self.part, self.when = part, when

    def spoil(self, rows):
        features = rows.features
        column = features.columns[0]
        parts = {
            "y": (rows, 1 - rows.y),
            "s": (rows, 1 - rows.s),
            "weights": (rows, np.arange(len(rows), dtype=float)),
            "protected": (rows, features.names[:2]),
            "features": (rows, features.take(np.arange(len(rows))[::-1])),
            "codes": (features, features.codes[::-1]),
            "columns": (features, features.columns[::-1]),
            "levels": (column, column.levels[::-1]),
        }
        thing, value = parts[self.part]
        object.__setattr__(thing, self.part, value)

    def fit(self, train, classifier, rng):
        self.model = classifier.fit(train)
        if self.when == "fit":
            self.spoil(train)
        return Fitted(self)

    def predict(self, rows):
        decisions = self.model.predict(rows)
        if self.when == "predict":
            self.spoil(rows)
        return decisions
"""
PARTS = ["y", "s", "weights", "protected", "features", "codes", "columns", "levels"]


def tasks_of(folder: Path, **changes) -> list[Task]:
    given = {"sample": {"from": "shipped", "beta": [0, 0.5], "size": 400}, "test": "network", "repeats": 2}
    config = write_config(folder / "run.yaml", **given | {"interventions": TECHNIQUES} | changes)
    prepared = prepare(config, folder=folder / "out")
    populations = {one.name: populate(one, prepared.config, folder) for one in prepared.datasets}
    return [Task(cell, repeat, populations[cell.source]) for cell, repeat in prepared.todo()]


def forget() -> None:
    for shared in (page._drawn, page._test, page._divided, page.represented, preprocessing._scores_of_shared):
        shared.cache_clear()


def alone(task: Task):
    forget()
    return counts(task)


def counts(task: Task):
    record = run_task(task)
    assert record.status in ("ok", "noop", "degraded"), record.reason
    assert record.counts is not None
    return record.key, record.repeat, record.counts.n.tobytes(), record.facts


def test_any_order_and_every_task_alone_give_the_same_bits(tmp_path):
    tasks = tasks_of(tmp_path)
    forget()
    in_turn = [counts(task) for task in tasks]
    assert page._drawn.cache_info().hits == len(tasks) - 4  # two repeats, two β
    assert preprocessing._scores_of_shared.cache_info().hits > 0
    order = np.random.default_rng(0).permutation(len(tasks))
    shuffled = {i: counts(tasks[i]) for i in order}
    assert [shuffled[i] for i in range(len(tasks))] == in_turn
    assert [alone(task) for task in tasks] == in_turn


def test_cells_that_train_on_the_same_rows_follow_each_other(tmp_path):
    tasks = tasks_of(tmp_path)
    seen = [(task.repeat, *task.cell.source, task.cell.beta) for task in tasks]
    assert len(list(dict.fromkeys(seen))) == sum(a != b for a, b in zip([None, *seen], seen, strict=False))


@pytest.mark.parametrize("when", ["fit", "predict"])
@pytest.mark.parametrize("part", ["y", "s", "codes"])
def test_a_technique_that_writes_rows_fails_and_harms_no_other(tmp_path, part, when):
    (tmp_path / "vandal.py").write_text(VANDAL)
    vandal = {"./vandal.py:Vandal": {"part": part, "when": when}}
    tasks = tasks_of(tmp_path, interventions=[vandal, "none"], repeats=1, sample=SMALL)
    forget()
    first, second = (run_task(task) for task in tasks)
    assert (first.status, first.reason) == ("failed", "ValueError: assignment destination is read-only")
    assert counts(tasks[1]) == alone(tasks[1])
    assert second.status == "ok"


@pytest.mark.parametrize("classifier", ["c45", "logistic-regression"])
@pytest.mark.parametrize("part", ["y", "codes"])
def test_a_technique_cannot_unlock_rows(tmp_path, part, classifier):
    (tmp_path / "vandal.py").write_text(VANDAL)
    vandals = [{"./vandal.py:Vandal": {"part": part, "when": [*("fit", "predict")], "unlocks": True}}]
    more = {"repeats": 1, "sample": SMALL, "classifiers": [classifier]}
    tasks = tasks_of(tmp_path, interventions=[*vandals, "none", "massaging"], **more)
    forget()
    *vandal, none, massaging = tasks
    assert {run_task(task).reason for task in vandal} == {
        "ValueError: cannot set WRITEABLE flag to True of this array"
    }
    assert [counts(none), counts(massaging)] == [alone(none), alone(massaging)]


@pytest.mark.parametrize("classifier", ["c45", "logistic-regression"])
@pytest.mark.parametrize("when", ["fit", "predict"])
def test_what_a_technique_sets_on_rows_is_set_for_no_other(tmp_path, when, classifier):
    """`object.__setattr__` gets past frozen dataclasses: the next one once trained on flipped labels."""
    (tmp_path / "setter.py").write_text(SETTER)
    setter = {"./setter.py:Setter": {"part": PARTS, "when": when}}
    more = {"repeats": 1, "sample": SMALL, "classifiers": [classifier]}
    tasks = tasks_of(tmp_path, interventions=[setter, "none", "massaging", "reweighing"], **more)
    forget()
    *setters, none, massaging, reweighing = tasks
    spoilt = [run_task(task) for task in setters]
    after = [counts(none), counts(massaging), counts(reweighing)]
    assert after == [alone(none), alone(massaging), alone(reweighing)]
    # What it sets itself does not reach the labels that its decisions are counted by.
    counted = {record.counts.n.tobytes() for record in spoilt if record.counts is not None}
    assert counted == {after[0][2]}


def test_shells_of_shared_rows_are_one_key(tmp_path):
    task = tasks_of(tmp_path, sample=SMALL, interventions=["none"])[0]
    train, _ = draw(task.cell, task.population, 0)
    shell = copy_shell(train)
    forget()
    assert preprocessing.scores(train, "naive-bayes") is preprocessing.scores(shell, "naive-bayes")
    assert shared_codes(train) is shared_codes(shell)
    flipped = 1 - train.y
    object.__setattr__(shell, "y", flipped)
    assert preprocessing.scores(shell, "naive-bayes") is not preprocessing.scores(train, "naive-bayes")


def test_what_is_shared_of_rows_cannot_be_unlocked_either(tmp_path):
    task = tasks_of(tmp_path, sample=SMALL, interventions=["none"])[0]
    train, _ = draw(task.cell, task.population, 0)
    for shared in (preprocessing.scores(train, "naive-bayes"), shared_codes(train)):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            shared.flags.writeable = True


def shared_codes(train: Sample):
    return fit_encoder(train, "levels", include_protected=True).transform(train.features)


SMALL = {"from": "shipped", "beta": [0.5], "size": 200}


@pytest.mark.gate
@pytest.mark.parametrize("source", ["shipped", "original"])
def test_nobody_can_write_rows(tmp_path, source, request):
    changes = {"sample": SMALL, "interventions": ["none"]}
    if source == "original":
        request.getfixturevalue("data_folder")
        changes["test"] = "original"
    task = tasks_of(tmp_path, **changes)[0]
    for rows in draw(task.cell, task.population, 0):
        assert not any(array.flags.writeable for array in (rows.y, rows.s, rows.features.codes))
        again = make_read_only(Sample(rows.features, rows.attribute, rows.y, rows.s, np.ones(len(rows))))
        assert again.weights is not None
        assert not again.weights.flags.writeable
