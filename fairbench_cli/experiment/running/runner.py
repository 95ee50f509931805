"""Run repeats in parallel. Workers compute, the parent alone writes; a dead worker costs one repeat."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from threadpoolctl import threadpool_limits

from fairbench_cli.base.errors import user_error
from fairbench_cli.experiment.cell import Repeat, Status
from fairbench_cli.experiment.running.task import Task
from fairbench_cli.experiment.running.worker import received, run_within
from fairbench_cli.experiment.running.workers import HandedOut, NoWorkersError, Workers, is_lost

DIED = "its worker process died: killed, out of memory, or a crash in compiled code"
TICK = 0.05
"""Seconds between two looks at what the workers take."""
BETWEEN_NEWS = 1.0
DEATHS = 2
"""How often the worker of a repeat that runs alone may die."""
FRUITLESS = 10
"""How often workers may die in a row without a single outcome."""

Watch = Callable[[list[tuple[Task, float]]], None]
Say = Callable[[str], None]


def run_tasks(
    tasks: Iterable[Task], workers: Workers, watch: Watch | None = None, say: Say | None = None
) -> Generator[Repeat]:
    """Yield the outcome of every task as it finishes, in any order.

    A worker has one task at a time, and tasks are taken from the iterable as workers need them. A task under
    which a worker dies is run again, alone; where that ends the same way twice, it is `killed`. A worker that
    takes more than a repeat may is ended, and the tasks of the others are run again.

    Parameters
    ----------
    watch : callable, optional
        Called now and then with the tasks that are running, and for how many seconds they have been.
    say : callable, optional
        Called with what the user should know: that no worker can be started.

    Raises
    ------
    UserError
        When workers die before they can do anything.
    """
    run = _Run(iter(tasks), workers, watch or (lambda _: None), say or (lambda _: None))
    try:
        yield from run.outcomes()
    finally:
        workers.end()


class _Run:
    """Tasks that wait, are out, or have to be run again, while a pool of workers lives or breaks."""

    def __init__(self, tasks: Iterator[Task], workers: Workers, watch: Watch, say: Say) -> None:
        self.tasks, self.workers, self.watch, self.say = tasks, workers, watch, say
        self.again: deque[Task] = deque()
        self.suspects: deque[Task] = deque()
        self.deaths: Counter[tuple[str, int]] = Counter()
        self.out: dict[Future[bytes], HandedOut] = {}
        self.fruitless = 0
        self.looked = self.told = time.monotonic()

    def outcomes(self) -> Iterator[Repeat]:
        """Yield outcomes until no task is left."""
        while True:
            try:
                self.hand_out()
            except BrokenProcessPool:
                yield from self.broken({})
                continue
            except NoWorkersError as error:
                self.say(
                    f"no worker can be started ({error}): repeats run in this process, one after the other"
                )
                yield from map(self.here, self.rest())
                return
            if not self.out:
                return
            done, _ = wait(self.out, TICK, FIRST_COMPLETED)
            if any(map(is_lost, done)):
                yield from self.broken({})
                continue
            for future in done:
                yield self.outcome(self.out.pop(future), future)
            if time.monotonic() - self.looked >= TICK:
                excess = self.excess()
                if excess:
                    yield from self.broken(excess)

    def rest(self) -> Iterator[Task]:
        """Yield the tasks that nobody has."""
        while self.again:
            yield self.again.popleft()
        yield from self.tasks

    def hand_out(self) -> None:
        """Give every idle worker a task; to one that may have killed a worker, all of them."""
        if self.suspects:
            if not self.out:
                self.submit(self.suspects, alone=True)
            return
        while len(self.out) < self.workers.jobs:
            if not self.again:
                self.again.extend(task for task in [next(self.tasks, None)] if task is not None)
            if not self.again:
                return
            self.submit(self.again, alone=False)

    def submit(self, waiting: deque[Task], *, alone: bool) -> None:
        """Submit the first of some tasks, which stays among them if it cannot be."""
        given, future = self.workers.submit(waiting[0], alone=alone)
        waiting.popleft()
        self.out[future] = given

    def outcome(self, given: HandedOut, future: Future[bytes]) -> Repeat:
        """Return what a future brought; a task or a result that cannot be sent is a failure."""
        self.fruitless = 0
        error = future.exception()
        if error is None:
            return received(future.result())
        return given.task.ended("failed", f"{type(error).__name__}: {error}")

    def excess(self) -> dict[int, tuple[Status, str]]:
        """Return by ticket what took more than it may; and tell of what is running."""
        self.looked, busy = time.monotonic(), self.workers.busy()
        if self.looked - self.told >= BETWEEN_NEWS:
            self.told = self.looked
            tasks = {given.ticket: given.task for given in self.out.values()}
            self.watch([(tasks[one.state.ticket], one.seconds) for one in busy if one.state.ticket in tasks])
        found = {}
        for one in busy:
            fault = one.excess(self.workers.limits)
            if fault is not None:
                found[one.state.ticket] = fault
                self.workers.kill(one.pid)
        return found

    def broken(self, ended: dict[int, tuple[Status, str]]) -> Iterator[Repeat]:
        """Start again after a worker died, or was `ended` for taking more than it may (by ticket)."""
        running = {one.state.ticket for one in self.workers.busy()}
        self.workers.end()
        out, self.out = self.out, {}
        self.fruitless += 1
        if self.fruitless > FRUITLESS:
            what = "workers die before they can do anything"
            raise user_error(what, "look for a limit of processes or memory; finished repeats are kept")
        for future, given in out.items():
            if not is_lost(future):
                yield self.outcome(given, future)
            elif given.ticket in ended:
                self.fruitless = 0
                yield given.task.ended(*ended[given.ticket])
            elif ended or given.ticket not in running:
                self.again.append(given.task)
            else:
                yield from self.accuse(given)

    def accuse(self, given: HandedOut) -> Iterator[Repeat]:
        """Note that a worker died while it ran a task; yield its record when it is proven."""
        place = given.task.cell.key, given.task.repeat
        self.deaths[place] += given.alone
        if self.deaths[place] < DEATHS:
            self.suspects.append(given.task)
            return
        self.fruitless = 0
        yield given.task.ended("killed", DIED)

    def here(self, task: Task) -> Repeat:
        """Run a task in this process, where no worker can be started."""
        with threadpool_limits(1):
            return run_within(task, self.workers.limits)


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
