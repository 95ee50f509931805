"""Repeats in parallel on this machine: joblib hands out tasks, to workers that have a pipe each.

A worker has one task at a time, so that its death, or a limit that it exceeds, belongs to exactly that one,
and it gets the next when the last outcome was taken: a kill of everything loses at most one finished repeat a
worker. Workers compute; this process alone writes. It has no threads of its own.
"""

import os
import pickle
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from subprocess import Popen
from typing import Any, Protocol, Self

from joblib import Parallel, delayed, parallel_config, register_parallel_backend
from joblib.parallel import ParallelBackendBase

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import scratch_folder
from fairbench_cli.experiment.cell import Repeat, Status
from fairbench_cli.experiment.config.config import ExperimentConfig, Limits, size_in_words
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.running.inline import InlinePool
from fairbench_cli.experiment.running.processes import end_group, launch, memory_of
from fairbench_cli.experiment.running.server import FORKS, ForkServer
from fairbench_cli.experiment.running.worker import Task, Watch, overtime, run_within, work

DIED = "its worker process died: killed, out of memory, or a crash in compiled code"
DEATHS = 2
"""How often the worker of a repeat may die."""
FRUITLESS = 10
"""How often workers may die in a row without a single outcome."""
CUT_OFF: tuple[Status, ...] = ("overtime", "memory")
HALF_IMPORTED = "partially initialized module"
"""What Python says of a library whose import was cut off: the process cannot import it any more."""
GRACE = 1.5
"""Seconds after its limit that a repeat has to end by itself."""
TICK = 0.05
"""Seconds between two looks at what the workers take."""
BETWEEN_NEWS = 1.0
MOST_PRINTED = 20_000
"""Bytes of what one repeat prints that are kept."""

Say = Callable[[str], None]


class Pool(Protocol):
    """Something that runs repeats."""

    @property
    def jobs(self) -> int:
        """Return how many it runs at once."""

    def outcomes(self, tasks: Iterable[Task], watch: Watch | None = None) -> Generator[Repeat]:
        """Yield the outcome of every task as it finishes, in any order; take tasks when workers need them.

        Parameters
        ----------
        watch : callable, optional
            Called now and then with the tasks that are running, and for how many seconds they have been.
        """


@dataclass(eq=False)
class HandedOut:
    """A task of joblib's, and what joblib wants to be called with once there is an outcome."""

    task: Task
    on_outcome: Callable[[list[Repeat]], None]
    deaths: int = 0


@dataclass(eq=False)
class Worker:
    """A worker process, seen from its parent.

    Parameters
    ----------
    printed : Path
        Where it writes what is printed in it.
    process : Popen or None
        None where the fork server is its parent.
    pid : int
        0 until it is there.
    job : HandedOut or None
        What it is running, since when on the monotonic clock, and what memory it took then.
    idle : bool
        Whether it waits for an order.
    """

    pipe: "Connection[Any, Any]"
    printed: Path
    process: "Popen[bytes] | None" = None
    pid: int = 0
    job: HandedOut | None = None
    since: float = 0.0
    memory: int = 0
    idle: bool = False
    knows: set[int] = field(default_factory=set)

    def send(self, message: object) -> None:
        """Send a message; where the process has ended, its pipe says so later."""
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self.idle = False
        with suppress(OSError):
            self.pipe.send_bytes(content)

    def run(self, job: HandedOut) -> None:
        """Let it run a task, whose population it knows."""
        self.job, self.since, self.memory = job, time.monotonic(), memory_of(self.pid)
        self.send((job.task.cell, job.task.repeat, id(job.task.population)))

    def excess(self, limits: Limits) -> tuple[Status, str] | None:
        """Return the status and the reason where its task takes more than it may, else None."""
        seconds = limits.seconds
        memory = limits.memory
        if seconds is not None and time.monotonic() - self.since > seconds + GRACE:
            return "overtime", overtime(limits)
        if memory is not None and memory_of(self.pid) - self.memory > memory:
            return "memory", f"took more than {size_in_words(memory)}; raise limits.memory"
        return None

    def end(self) -> None:
        """End the process and those that it has started."""
        if self.pid:
            end_group(self.pid)
        self.pipe.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class _Pipes(ParallelBackendBase):  # type: ignore[misc]
    """The workers of a `LocalPool` as joblib's public interface wants them."""

    supports_retrieve_callback = True

    def __init__(self, pool: "LocalPool", **options: Any) -> None:
        super().__init__(**options)
        self._pool = pool

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return more than 1, with which joblib would run tasks in this process."""
        return max(n_jobs, 2)

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Take a batch of one task."""
        [(_, (task,), _)] = func.items
        self._pool.waiting.append(HandedOut(task, callback))
        return callback

    apply_async = submit  # what joblib before 1.5 calls

    def retrieve_result_callback(self, out: list[Repeat]) -> list[Repeat]:
        """Return the results of a batch."""
        return out


_NAME = "fairbench"
register_parallel_backend(_NAME, _Pipes)


class LocalPool:
    """Workers on this machine; on leaving it no process and no file is left.

    Parameters
    ----------
    config : ExperimentConfig
        Whose limits hold, and whose classifiers and techniques are loaded before the first repeat.
    jobs : int
        How many workers there are.
    say : callable, optional
        Called with what the user should know: that no worker can be started.
    log : Path or None
        Where what techniques print is kept.
    place : Path or None
        The folder for its files; None: that of the system.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        jobs: int,
        say: Say | None = None,
        *,
        log: Path | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.jobs, self.log, self.limits, self._place = jobs, log, config.limits, scratch
        self.waiting: deque[HandedOut] = deque()
        self.fault: OSError | None = None
        techniques = [technique.spec for technique in config.interventions]
        classifier_names = {spec.name for spec in config.classifiers if spec.origin is None}
        technique_names = {spec.name for spec in techniques if spec.origin is None}
        self._used = [sorted(classifier_names), sorted(technique_names)]
        self._say = say or (lambda _: None)
        self._stack = ExitStack()
        self._server: ForkServer | None = None
        self._workers: list[Worker] = []
        self._populations: dict[int, Population] = {}
        self._started = self._fruitless = 0
        self._has_outcomes = False
        self._looked = self._told = 0.0

    def __enter__(self) -> Self:
        self._scratch = self._stack.enter_context(scratch_folder(self._place))
        try:
            if FORKS:
                self._server = ForkServer(*self._used)
            else:
                self._start()
        except OSError as error:
            self.fault = error
        return self

    def __exit__(self, *error: object) -> None:
        for worker in tuple(self._workers):
            self._end(worker)
        if self._server is not None:
            self._server.end()
        self._stack.close()

    def outcomes(self, tasks: Iterable[Task], watch: Watch | None = None) -> Generator[Repeat]:
        """Yield the outcome of every task as it finishes, in any order.

        A task under which a worker dies is run again; where that ends the same way, it is `killed`. A worker
        that takes more than a repeat may is ended.

        Parameters
        ----------
        watch : callable, optional
            Called now and then with the tasks that are running, and for how many seconds they have been.

        Raises
        ------
        UserError
            When workers die before they can do anything.
        """
        if self.fault is not None:
            problem = f"no worker can be started ({self.fault})"
            self._say(f"{problem}: repeats run in this process, one after the other")
            yield from InlinePool(self.limits).outcomes(tasks, watch)
            return
        with parallel_config(backend=_NAME, pool=self):
            engine = Parallel(
                self.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=self.jobs
            )
        joblib_outcomes = engine(delayed(run_within)(task) for task in tasks)
        try:
            while self.waiting or any(worker.job for worker in self._workers):
                self._wait(watch or (lambda _: None))
                yield next(joblib_outcomes)  # it is there
            yield from joblib_outcomes
        finally:
            self.waiting.clear()
            for worker in [worker for worker in self._workers if worker.job]:
                self._end(worker)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of tasks that are not finished
                joblib_outcomes.close()

    def _wait(self, watch: Watch) -> None:
        """Hand out tasks until one has ended, and give its outcome to joblib, which brings the next one."""
        while True:
            self._hand_out()
            ready = set(wait([worker.pipe for worker in self._workers], TICK))
            now = time.monotonic()
            if now - self._told >= BETWEEN_NEWS:
                self._told = now
                watch([(worker.job.task, now - worker.since) for worker in self._workers if worker.job])
                if self._server is not None and not all(worker.pid for worker in self._workers):
                    self._server.wake()
            look = now - self._looked >= TICK
            if look:
                self._looked = now
            for worker in tuple(self._workers):
                job = worker.job
                outcome = None
                if worker.pipe in ready:
                    outcome = self._received(worker)
                elif job is not None and look and (excess := worker.excess(self.limits)):
                    self._end(worker)
                    outcome = job.task.ended(*excess)
                if job is not None and outcome is not None:
                    self._fruitless = 0
                    job.on_outcome([outcome])
                    return

    def _hand_out(self) -> None:
        """Start the workers that are wanted, and give a task to each that has none."""
        free = [worker for worker in self._workers if worker.job is None]
        try:
            for _ in range(min(len(self.waiting) - len(free), self.jobs - len(self._workers))):
                self._start()
        except OSError as error:
            problem = f"no worker can be started any more: {error.strerror}"
            raise user_error(problem, "look for a limit of processes; finished repeats are kept") from None
        for worker in free:
            if self.waiting and worker.idle:
                population = self.waiting[0].task.population
                self._populations[id(population)] = population  # so that no other gets its number
                if id(population) in worker.knows:
                    worker.run(self.waiting.popleft())
                else:
                    worker.knows.add(id(population))
                    worker.send({id(population): population})

    def _start(self) -> None:
        """Start a worker, which is there some time later."""
        self._started += 1
        printed = self._scratch / f"printed-{self._started}"
        printed.touch()
        ours, theirs = Pipe()
        worker = Worker(ours, printed)
        with theirs:
            if FORKS:
                self._fork(theirs.fileno())
            else:
                worker.process = launch(f"{work.__module__}:work", theirs.fileno())
        self._workers.append(worker)
        worker.send((list(map(str, sys.path)), os.getcwd(), printed, self.limits))

    def _fork(self, handle: int) -> None:
        """Let the fork server start a worker; a successor loads nothing where none served."""
        if self._server is not None and self._server.has_ended():
            self._server.end()
            self._server = None
        if self._server is None:
            used: Sequence[Sequence[str]] = ()
            if self._has_outcomes:  # loading ended no server: what a worker imports counts as its repeat's
                used = self._used
            self._has_outcomes = False
            self._server = ForkServer(*used)
        with suppress(OSError):  # it has died just now: so has the worker
            self._server.fork(handle)

    def _received(self, worker: Worker) -> Repeat | None:
        """Take in what a worker has sent; return the outcome of its task if that is one."""
        try:
            message = pickle.loads(worker.pipe.recv_bytes())  # noqa: S301 - from a worker of this run
        except (EOFError, OSError):
            return self._dead(worker)
        worker.idle = True
        if isinstance(message, int):
            worker.pid = message
        if worker.job is None:
            return None
        job = worker.job
        outcome: Repeat = message
        self._has_outcomes = True
        if outcome.status in CUT_OFF or HALF_IMPORTED in outcome.reason:
            # An import that was cut off leaves half a library, at which every later repeat would fail.
            self._end(worker)
            return self._outcome_elsewhere(job, outcome)
        self._keep_prints(worker, job)
        worker.job = None
        self._workers.append(self._workers.pop(self._workers.index(worker)))  # the others are looked at first
        return outcome

    def _outcome_elsewhere(self, job: HandedOut, outcome: Repeat) -> Repeat | None:
        """Let the task of a worker with half a library wait for another one; return any other outcome."""
        if outcome.status == "failed":
            job.deaths += 1
            if job.deaths < DEATHS:
                self.waiting.appendleft(job)
                return None
        return outcome

    def _dead(self, worker: Worker) -> Repeat | None:
        """Let the task of a worker that died wait again; return its outcome when it did so too often."""
        self._fruitless += 1
        if self._fruitless > FRUITLESS:
            problem = "workers die before they can do anything"
            raise user_error(problem, "look for a limit of processes or memory; finished repeats are kept")
        self._end(worker)
        job = worker.job
        if job is None:
            return None
        if self._server is None or not self._server.has_ended():  # with it all workers end
            job.deaths += 1
        if job.deaths < DEATHS:
            self.waiting.appendleft(job)
            return None
        return job.task.ended("killed", DIED)

    def _end(self, worker: Worker) -> None:
        """End a worker; what was printed in it is kept."""
        worker.end()
        self._workers.remove(worker)
        if worker.job is not None:
            self._keep_prints(worker, worker.job)
        worker.printed.unlink(missing_ok=True)

    def _keep_prints(self, worker: Worker, job: HandedOut) -> None:
        """Move what was printed during a task to the end of the log, under a title."""
        size = worker.printed.stat().st_size
        if not size:
            return
        with worker.printed.open("r+b") as file:
            text = file.read(MOST_PRINTED).decode("utf-8", "replace").rstrip("\n")
            file.truncate(0)
        if self.log is not None:
            ellipsis = ""
            if size > MOST_PRINTED:
                ellipsis = f"\n… and {size - MOST_PRINTED} more bytes"
            with self.log.open("ab") as log:
                log.write(f"== {job.task}\n{text}{ellipsis}\n".encode())
