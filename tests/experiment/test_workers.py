"""Workers that are ended while tasks wait for them."""

import threading

import pytest
from conftest import write_config

from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.running.task import Task
from fairbench_cli.experiment.running.workers import Workers


@pytest.mark.usefixtures("warm_server")
def test_tasks_that_wait_while_workers_are_ended_leave_no_traceback(tmp_path, monkeypatch):
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda what: raised.append(what.exc_value))
    sample = {"from": "shipped", "beta": [0.5], "size": 300}
    config = write_config(tmp_path / "run.yaml", repeats=5, sample=sample, interventions=["none"])
    prepared = prepare(config, folder=tmp_path / "out")
    population = populate(prepared.datasets[0], prepared.config, tmp_path)
    first, *others = (Task(cell, repeat, population) for cell, repeat in prepared.todo)
    with Workers(prepared.config, 1) as workers:
        for _ in range(3):
            workers.submit(first, alone=False)[1].result()
            for task in others:
                workers.submit(task, alone=False)
            workers.end()
    assert raised == []
