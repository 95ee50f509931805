"""The time left is right within 30 % once a tenth of a run is over, in simulated runs with a known truth."""

import heapq
from collections import Counter

import numpy as np
import pytest

from fairbench_cli.experiment.running.time_left import RunClock

DATA = {"tiny": 300.0, "small": 6_000.0, "large": 50_000.0}
TECHNIQUES = {"none": 1.0, "weigh": 0.6, "swap": 2.0, "search": 5.0, "refused": 0.0}
CLASSIFIERS = {"tree": 1.0, "forest": 4.0}


def cost(kind, rng):
    """Seconds of a repeat: effects of its parts, an interaction of one pair, noise."""
    data, technique, classifier = kind
    seconds = DATA[data] / 2e5 * TECHNIQUES[technique] * CLASSIFIERS[classifier]
    seconds *= 1.5 if (data, technique) == ("large", "search") else 1.0
    return seconds * rng.lognormal(0, 0.2)


def run(tasks, jobs, load, estimate, warm=0.3):
    """Simulate workers that take tasks in turn; return what was said to be left when, and the end.

    `load(t)` is how many seconds a second of work takes at time t. The clock is looked at once a second.
    """
    rng = np.random.default_rng(5)
    waiting, running, said = list(tasks)[::-1], [], []
    todo = Counter(tasks)
    now, number = 0.0, 0
    next_look = 1.0

    def take():
        nonlocal number
        if waiting:
            kind = waiting.pop()
            work = cost(kind, rng) + (warm if number < jobs else 0.0)
            heapq.heappush(running, (now + (work + 0.002) * load(now), number, kind, now, work))
            number += 1

    for _ in range(jobs):
        take()
    while running:
        ends, _, kind, _, work = running[0]
        while next_look < ends:
            under_way = [(other, next_look - since) for _, _, other, since, _ in running]
            estimate.look(next_look, under_way)
            said.append((next_look, estimate.left(todo, under_way)))
            next_look += 1.0
        heapq.heappop(running)
        now = ends
        estimate.note(kind, work)
        todo[kind] -= 1
        take()
    return said, now


def errors(said, end):
    """Return the relative errors at a tenth, a quarter and a half of the run."""
    found = []
    for part in (0.1, 0.25, 0.5):
        at, left = next((at, left) for at, left in said if at >= part * end)
        found.append(left / (end - at) - 1)
    return found


KINDS = [
    (data, technique, classifier) for data in DATA for classifier in CLASSIFIERS for technique in TECHNIQUES
]


ORDERS = pytest.mark.parametrize("dear_first", [False, True], ids=["cheap first", "dear first"])


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("slow", [1.0, 2.5])
@ORDERS
def test_within_30_per_cent_after_a_tenth(jobs, slow, dear_first):
    kinds = sorted(KINDS, key=lambda kind: DATA[kind[0]], reverse=dear_first)
    said, end = run(kinds * 30, jobs, lambda _: slow, RunClock(jobs, DATA))
    assert max(map(abs, errors(said, end))) < 0.3


@pytest.mark.parametrize("slow", [(1.0, 2.0), (2.0, 1.0)], ids=["others come", "others go"])
@ORDERS
def test_a_load_that_changes_is_followed(slow, dear_first):
    """Within a twentieth of the run: at a quarter and at a half the time left is that of the new load."""
    kinds = sorted(KINDS, key=lambda kind: DATA[kind[0]], reverse=dear_first)
    said, end = run(kinds * 30, 2, lambda at: slow[at >= 12], RunClock(2, DATA))
    assert max(map(abs, errors(said, end)[1:])) < 0.3


@ORDERS
def test_a_run_of_five_repeats_of_which_a_tenth_is_half_of_the_first(dear_first):
    kinds = sorted(KINDS, key=lambda kind: DATA[kind[0]], reverse=dear_first)
    said, end = run(kinds * 5, 2, lambda _: 2.0, RunClock(2, DATA))
    assert abs(errors(said, end)[0]) < 0.3


def test_the_seconds_of_processors_are_not_those_of_the_clock():
    """The repeats' own seconds do not count waiting for a processor; people wait by the clock."""
    estimate = RunClock(2)
    for at in range(1, 11):
        estimate.note(("a",), 1.0)
        estimate.note(("a",), 1.0)
        estimate.look(3.0 * at)
    assert estimate.left({("a",): 20}) == pytest.approx(30, rel=0.01)
    assert RunClock(2).left({("a",): 20}) is None
