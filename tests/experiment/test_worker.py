"""What a worker does with an order, in this process: workers of runs end before they can be measured."""

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import write_config

from fairbench_cli.base.scratch import WORKERS
from fairbench_cli.experiment.config.config import Limits
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running import worker
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.running.task import Task, run_task
from fairbench_cli.experiment.running.worker import (
    MOST_PRINTED,
    Order,
    WorkerState,
    keep_prints,
    memory_of,
    read_state,
    received,
    serve,
)

SLOW = "import time\n\n\nclass Slow:\n    def fit(self, train, classifier, rng):\n        time.sleep(20)\n"


@pytest.fixture
def scratch(tmp_path) -> Iterator[Path]:
    (tmp_path / WORKERS).mkdir()
    before = signal.getsignal(signal.SIGALRM)
    yield tmp_path
    for file in worker._files(tmp_path):
        os.close(file)
    worker._files.cache_clear()
    worker._population.cache_clear()
    signal.signal(signal.SIGALRM, before)


def order_of(folder: Path, limits: Limits, technique: str = "none", **changes) -> tuple[Task, Order]:
    sample = {"from": "shipped", "beta": [0.5], "size": 300}
    config = write_config(folder / "run.yaml", repeats=1, sample=sample, interventions=[technique], **changes)
    prepared = prepare(config, folder=folder / "out")
    ((cell, repeat),) = prepared.todo
    population = populate(prepared.datasets[0], prepared.config, folder)
    place = folder / "population"
    place.write_bytes(pickle.dumps(population))
    return Task(cell, repeat, population), Order(7, cell, repeat, place, limits, folder, folder / "log.txt")


@pytest.mark.parametrize("longest", [10**9, 10])
def test_an_order_brings_what_its_task_does_also_through_a_file(scratch, monkeypatch, longest):
    monkeypatch.setattr(worker, "MOST_SENT", longest)
    task, order = order_of(scratch, Limits(memory=None))
    answer, wanted = received(serve(order)), run_task(task)
    assert answer.status == wanted.status == "ok"
    assert (answer.counts.n == wanted.counts.n).all()
    assert not list(scratch.glob("result-*"))
    assert read_state(scratch / WORKERS / str(os.getpid())) == WorkerState(0, 0, 0)


def test_what_sleeps_is_overtime_and_named(scratch):
    (scratch / "slow.py").write_text(SLOW)
    _, order = order_of(scratch, Limits(seconds=0.3, memory=None), "./slow.py:Slow")
    answer = received(serve(order))
    assert (answer.status, answer.key, answer.repeat) == ("overtime", order.cell.key, 0)
    assert "ran for longer than 0.3 s" in answer.reason


def test_prints_are_moved_to_the_log_under_a_title_and_cut(scratch):
    _, printed = worker._files(scratch)
    log = scratch / "log.txt"
    keep_prints(printed, "nothing", log)
    assert not log.exists()
    os.write(printed, "één\n".encode() + b"\xff")
    keep_prints(printed, "first", log)
    os.write(printed, b"x" * (MOST_PRINTED + 5))
    keep_prints(printed, "second", log)
    text = log.read_text()
    assert text.startswith("== first\néén\n�\n== second\nxxx")
    assert text.endswith("x\n… and 5 more bytes\n")
    os.write(printed, b"lost")
    keep_prints(printed, "nowhere", None)
    assert log.read_text() == text
    assert os.fstat(printed).st_size == 0


def test_what_is_not_known_of_a_process_is_zero(scratch):
    half = scratch / "half"
    half.write_bytes(b"123")
    assert read_state(half) == WorkerState(0, 0, 0)
    assert memory_of(2**22 + 1) == 0
    assert memory_of(os.getpid()) > 10**6
