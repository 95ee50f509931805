"""Tens of thousands of parameters and tens of millions of repeats: planned in seconds, never listed."""

import itertools
import random
import re
import time
import tracemalloc
from dataclasses import replace

import pytest
from conftest import write_config

from fairbench_cli.cli import progress
from fairbench_cli.cli.progress import RunProgress, estimate_of, kinds_of, to_do
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.running.run import TRIED_LAST, PreparedRun, prepare
from fairbench_cli.experiment.running.worker import Task

LEVELS = [i / 100 for i in range(100)]


@pytest.fixture
def small(tmp_path):
    """Prepare a small run, of which nothing is done."""
    return prepare(write_config(tmp_path / "c.yaml", repeats=4), folder=tmp_path / "out")


def record(
    run: PreparedRun, cell: int, repeat: int, status: str = "infeasible", seconds: float = 1.0
) -> None:
    key = run.distinct[cell].key
    run.records[key, repeat] = Repeat(key, repeat, status, "", None, seconds=seconds)


# -- plans


def test_plan_of_25_million_repeats(tmp_path, say):
    config = write_config(
        tmp_path / "c.yaml",
        repeats=100_000,
        sample={"from": "shipped", "beta": [0, 0.25, 0.5, 0.75, 1]},
        interventions=[{"repair": {"level": LEVELS[::2]}}],
    )
    start = time.process_time()
    said = say("plan", config)
    assert time.process_time() - start < 5
    assert (said.code, said.err) == (0, "")
    assert "250 cells × 100000 repeats = 25000000: 0 done, 25000000 to do" in said.out
    assert "a repeat is stopped after 600 s or beyond 4GB of memory" in said.out
    assert (
        "a repeat is stopped after 5 s\n"
        in say("plan", config, "--set", "limits={seconds: 5, memory: null}").out
    )
    run = prepare(config, folder=tmp_path / "out")
    tracemalloc.start()
    assert [repeat for _, repeat in itertools.islice(run.todo(), 249, 252)] == [0, 1, 1]
    shown = RunProgress(run, 2)
    record(run, 3, 99_999)
    record(run, 3, 100_000)  # of a longer run
    assert run.n_left == 24_999_999
    shown.note(run.records[run.distinct[3].key, 99_999])
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


@pytest.mark.gate
def test_the_time_of_a_plan_grows_as_its_cells_do(tmp_path, say):
    """Of 3,000 cells and of 10,000; squares would be eleven times as many seconds."""

    def seconds(levels: int) -> float:
        parameters = {"delta": [x + 0.01 for x in LEVELS], "alpha": list(range(1, levels + 1))}
        technique = {"two-naive-bayes": parameters}
        config = write_config(tmp_path / "c.yaml", interventions=[technique], repeats=1)
        start = time.process_time()
        said = say("plan", config)
        assert f"two-naive-bayes ({levels * 100}" in said.out
        assert f"{levels * 200} cells × 1 repeats = {levels * 200}: 0 done" in said.out
        return time.process_time() - start

    some, more = seconds(15), seconds(50)
    assert more < 6 * some + 1


def test_what_stands_twice_among_many_parameters(tmp_path, say):
    for twice, words in {
        "[{repair: {level: [0, 1]}}, {repair: {level: [0.5, 1.0]}}]": "intervention repair(bins=number, "
        "groups=pair, level=1.0, method=combinatorial, test_repair=train_map) is listed twice",
        "[{repair: {tune: {for: accuracy, over: {level: [0, 1]}}}}, "
        "{repair: {tune: {for: accuracy, over: {level: [0, 0.5]}}}}]": "level tuned for accuracy is listed "
        "twice, over other values",
    }.items():
        said = say("plan", write_config(tmp_path / "c.yaml"), "--set", f"interventions={twice}")
        assert (said.code, said.err.count("error")) == (2, 1)
        assert words in said.err


def test_rows_of_many_parameters_are_one(tmp_path, say):
    config = write_config(
        tmp_path / "c.yaml",
        interventions=["none", {"repair": {"level": LEVELS}}],
        classifiers=[{"tree": {"min_leaf": [1, 2, 3]}}],
    )
    lines = say("plan", config).out.splitlines()
    rows = [line.split() for line in lines if line.lstrip().startswith("compas ")]
    assert [row[2] for row in rows] == ["none", "repair"]
    assert [row[-1] for row in rows] == ["12", "1200"]


# -- what is to do


def test_what_took_too_much_is_tried_last(small):
    record(small, 0, 0)
    record(small, 1, 0, "overtime")
    record(small, 2, 0, "failed")
    record(small, 0, 1, "memory")
    record(small, 5, 3, "killed")
    order = [(small.distinct.index(cell), repeat) for cell, repeat in small.todo()]
    turn = [small.distinct.index(cell) for cell in small.in_turn]
    assert order[:4] == [(i, 0) for i in turn if i not in (0, 1)]
    assert order[-2:] == [(1, 0), (0, 1)]
    assert order[-3] == (turn[-1], 3)
    assert len(order) == small.n_left == 23


def test_a_list_of_what_is_to_do_and_its_length_agree(small):
    rng = random.Random(5)  # noqa: S311 - no secrets
    for _ in range(30):
        small.records.clear()
        for cell, repeat in itertools.product(range(6), range(6)):
            if rng.random() < 0.6:
                record(small, cell, repeat, rng.choice(["infeasible", "failed", "overtime", "killed"]))
        todo = list(small.todo())
        missing = {
            (cell.key, repeat)
            for cell in small.distinct
            for repeat in range(4)
            if (found := small.records.get((cell.key, repeat))) is None or found.status != "infeasible"
        }
        assert len(todo) == small.n_left == len(missing)
        assert {(cell.key, repeat) for cell, repeat in todo} == missing
        late = [small.records.get((cell.key, n)) for cell, n in todo]
        late = [one is not None and one.status in TRIED_LAST for one in late]
        assert late == sorted(late)


def test_what_fails_in_this_run_is_not_tried_again_in_it(small):
    seen = []
    for cell, repeat in small.todo():
        seen.append((cell.key, repeat))
        record(small, small.distinct.index(cell), repeat, "overtime")
    assert len(seen) == len(set(seen)) == 24
    assert small.n_left == 24


# -- progress


def test_the_time_left_is_by_the_repeats_of_a_kind(small):
    for repeat in range(4):
        record(small, 0, repeat, seconds=2.0)
    kinds = kinds_of(small.distinct)
    assert len(set(kinds.values())) == 3
    estimate, left = estimate_of(small, kinds, 2), to_do(small, kinds)
    assert estimate.left(left) == pytest.approx(20, rel=0.01)
    for _ in range(5):
        estimate.note(kinds[small.distinct[0].key], 4.0)
    assert estimate.left(left) == pytest.approx(40, rel=0.01)


def test_the_time_left_is_said_once_a_twentieth_is_done(small, capfd, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    for repeat in range(2):
        record(small, 0, repeat, seconds=2.0)
    outcomes = list(small.records.values())
    with RunProgress(small, 2) as shown:
        for outcome in outcomes:
            shown.note(outcome)
    first, second, last = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"1/22 repeats, [\d.]+/s", first)  # 4.5 %
    assert re.fullmatch(r"2/22 repeats, [\d.]+/s, .* left", second)
    assert last.startswith("2/22 repeats")


def test_the_repeat_that_runs_for_long_is_named(small, capfd, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    odd = replace(small.distinct[1], dataset="[c45]")
    tasks = [(Task(small.distinct[0], 1, None), 3.0), (Task(odd, 2, None), 11.0), (Task(odd, 3, None), 125.0)]
    with RunProgress(small, 2) as shown:
        shown.watch(tasks[:1])
        shown.watch(tasks)
        shown.watch([])
    longest = "longest: [c45], race, β 1, none, tree, repeat 3: 2 min 5 s of 10 min 0 s"
    lines = capfd.readouterr().err.splitlines()
    assert lines == [f"0/24 repeats, {longest}"]  # none as long as nothing is known
    monkeypatch.setenv("FORCE_COLOR", "1")
    with RunProgress(small, 2) as shown:
        shown.watch(tasks)
        shown._bar.refresh()
    assert longest in capfd.readouterr().err
