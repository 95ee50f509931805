"""A process that has one file open: it reads, audits and writes, within limits, and ends with the server."""

import contextlib
import multiprocessing
import os
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import Problem, UserError, user_error
from fairbench_cli.experiment.running.processes import ONE_THREAD, limit_memory

SECONDS = 120.0  # for one request
MEMORY = 4 * 2**30  # bytes of address space, beyond what the libraries take
LONGEST_FOLDER = 75  # letters of the folder for temporary files, in which such a process has a socket
LOOKED = 0.05  # seconds between two looks at a process that works


@dataclass
class WorkerActivity:
    """What a worker says it is doing; it changes while it works."""

    text: str = ""
    percent: float | None = None


@dataclass(eq=False)
class FileWorker:
    """The server's end of a worker. One request at a time; several threads may ask.

    Parameters
    ----------
    seconds, memory : float, int
        For a request, and of address space.
    """

    seconds: float = SECONDS
    memory: int = MEMORY
    activity: WorkerActivity = field(default_factory=WorkerActivity)

    def __post_init__(self) -> None:
        self._turn = threading.Lock()
        self._file: tuple[str, str] | None = None
        self._stopped = threading.Event()
        self._start()

    @property
    def _gigabytes(self) -> str:
        return f"{self.memory / 2**30:.0f} GB"

    def _start(self) -> None:
        context = _warm_context()
        self._connection, theirs = context.Pipe()
        arguments = (theirs, self.memory)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def give(self, path: Path, name: str) -> None:
        """Give it the one file that it will ever read, and what that is called.

        Raises
        ------
        RuntimeError
            Where it has a file: what it knows is of that one.
        """
        if self._file is not None:
            raise RuntimeError("a process has one file as long as it lives")
        self._file = (str(path), name)

    def ask(self, verb: str, **arguments: Any) -> Any:
        """Send a request about its file, and return the answer of the process.

        Raises
        ------
        UserError
            For a mistake of the user's, when a limit was reached, and when it was stopped.
        """
        with self._turn:
            self._stopped.clear()
            self.activity = WorkerActivity("working")
            try:
                self._connection.send((verb, self._file, arguments))
                return self._answer()
            except (EOFError, OSError):
                self._start_again()
                if self._stopped.is_set():
                    raise user_error("it was stopped", "start it again") from None
                problem = "the audit ended unexpectedly; it may have needed more memory than it may use"
                fix = f"here {self._gigabytes} are allowed: use a smaller file, or fairbench audit"
                raise user_error(problem, fix) from None
            finally:
                self.activity = WorkerActivity()

    def _answer(self) -> Any:
        """Return the answer to what was sent, listening to what is being done meanwhile."""
        waited = 0.0
        while True:
            if not self._connection.poll(LOOKED):
                waited += LOOKED
                if waited > self.seconds:
                    self._start_again()
                    problem = f"it took longer than {self.seconds:.0f} seconds, and was stopped"
                    raise user_error(problem, "ask for less, or use fairbench audit in a terminal")
                continue
            kind, content = self._connection.recv()
            if kind == "activity":
                self.activity = WorkerActivity(*content)
            elif kind == "mistakes":
                raise UserError(*content)
            else:
                return content

    def _start_again(self) -> None:
        self.close()
        self._start()

    def interrupt(self) -> None:
        """Stop what it is doing; the process starts anew."""
        self._stopped.set()
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


@cache
def _warm_context() -> Any:
    """Return how processes are started: forked from one that has loaded what they need, where that can be."""
    has_room = len(tempfile.gettempdir()) <= LONGEST_FOLDER
    if "forkserver" not in multiprocessing.get_all_start_methods() or not has_room:
        return multiprocessing.get_context("spawn")
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")  # threads of a process are not in one that is forked from it
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fairbench_cli.web.warm"])
    return context


def serve(connection: Connection, memory: int) -> None:
    """Answer requests until the server closes the pipe or ends."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which ends this one
    _end_with_parent()
    from fairbench_cli.web import desk  # loads what audits need, before the first file comes

    with contextlib.suppress(OSError, ValueError):
        limit_memory(memory)
    clerk = desk.Desk(lambda *content: connection.send(("activity", content)))
    while True:
        try:
            verb, (path, name), arguments = connection.recv()
        except EOFError:
            return
        clerk.use(path, name)
        kind, content = _answer(clerk.verbs[verb], arguments)
        if kind == "mistakes":
            content = [_of_file(problem, path, name) for problem in content]
        connection.send((kind, content))


def _answer(work: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[str, Any]:
    """Do the work, and return its answer or its mistakes."""
    import fairbench_cli as fb

    try:
        return "answer", work(**arguments)
    except fb.UserError as error:
        return "mistakes", [problem.spell("file") for problem in error.problems]
    except MemoryError:
        fix = "use a smaller file, or fairbench audit in a terminal"
        return "mistakes", [Problem("it needs more memory than it may use", fix)]
    except Exception as error:  # the page says so, and the file stays open
        frame = traceback.extract_tb(error.__traceback__)[-1]
        # The kind and the place: its text may have cells of the file.
        kind = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        fix = "try fairbench audit in a terminal, and report it"
        return "mistakes", [Problem(f"fairbench made a mistake ({kind})", fix)]


def _of_file(problem: Problem, path: str, name: str) -> Problem:
    """Return a problem as plain text, with the file's own name in the place of where it is kept."""
    stem = Path(path).stem  # a long random one, of which names of files that are advised are made
    texts = (str(text).replace(path, name) for text in (problem.what, problem.fix, problem.where))
    what, fix, where = (text.replace(stem, Path(name).stem) for text in texts)
    return Problem(what, fix, where)


def _end_with_parent() -> None:
    """End when the server does, in the middle of whatever is done."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
