"""What takes too long, too much, or its worker with it costs its own repeats and nothing else."""

import json
import subprocess
import time

import pytest
from conftest import SMALL, fairbench, journal_lines, write_config

TECHNIQUES = '''
import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from fairbench_cli import Fitted


@dataclass(frozen=True)
class Endless:
    """Never ends, in Python."""

    def fit(self, train, classifier, rng):
        while True:
            time.sleep(0.01)


@dataclass(frozen=True)
class Stubborn:
    """Never ends, and handles whatever interrupts it."""

    def fit(self, train, classifier, rng):
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass


@dataclass(frozen=True)
class Compiled:
    """Never ends, in C code that holds the interpreter's lock."""

    def fit(self, train, classifier, rng):
        ctypes.PyDLL(None).sleep(60)


@dataclass(frozen=True)
class Hungry:
    """Takes 8 GB by NumPy."""

    def fit(self, train, classifier, rng):
        parts = [np.ones(10**8, dtype=np.int8) for _ in range(80)]
        return Fitted(classifier.fit(train), facts={"parts": len(parts)})


@dataclass(frozen=True)
class Many:
    """Takes memory by Python's own objects."""

    def fit(self, train, classifier, rng):
        parts = []
        while True:
            parts.append("x" * 10**5 + str(len(parts)))


@dataclass(frozen=True)
class Uncounted:
    """Takes memory although its process has lifted its own limit."""

    def fit(self, train, classifier, rng):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        parts = []
        while len(parts) < 80:
            parts.append(np.ones(2 * 10**7, dtype=np.int8))
            time.sleep(0.01)
        time.sleep(60)


@dataclass(frozen=True)
class Slow:
    def fit(self, train, classifier, rng):
        time.sleep(1)
        return Fitted(classifier.fit(train))


@dataclass(frozen=True)
class Speaks:
    """Prints in Python, in C and from a process of its own."""

    def fit(self, train, classifier, rng):
        print("from Python")
        os.write(1, b"from C\\n")
        subprocess.run([sys.executable, "-c", "print('from a process')"], check=True)
        return Fitted(classifier.fit(train))


class Unreadable(BaseException):
    def __str__(self):
        raise RuntimeError


@dataclass(frozen=True)
class Odd:
    """Raises what is no Exception and cannot be shown."""

    def fit(self, train, classifier, rng):
        raise Unreadable


@dataclass(frozen=True)
class Interrupts:
    def fit(self, train, classifier, rng):
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Parent:
    """Never ends, and has a process of its own."""

    def fit(self, train, classifier, rng):
        subprocess.run(["sleep", "61.25"])
'''


LIBRARY = """
import pathlib
import time

import slowlib.core

seen = pathlib.Path(__file__).with_name("seen")
VALUE = slowlib.core.VALUE
if not seen.exists():
    seen.touch()
    time.sleep(60)
"""
IMPORTING = """
import sys
from dataclasses import dataclass
from pathlib import Path

from fairbench_cli import Fitted

sys.path.append(str(Path(__file__).parent))


@dataclass(frozen=True)
class Importing:
    number: int = 0

    def fit(self, train, classifier, rng):
        import slowlib

        return Fitted(classifier.fit(train), facts={"value": slowlib.VALUE})


@dataclass(frozen=True)
class Circular:
    def fit(self, train, classifier, rng):
        import circular
"""


def test_a_worker_whose_import_was_cut_off_is_not_used_again(tmp_path):
    """Half a library is left: every later import of it in that process failed, and 51 innocent repeats."""
    (tmp_path / "slowlib").mkdir()
    (tmp_path / "slowlib/core.py").write_text("VALUE = 3\n")
    (tmp_path / "slowlib/__init__.py").write_text(LIBRARY)
    (tmp_path / "circular.py").write_text("import circular\nVALUE = circular.OTHER\n")
    (tmp_path / "importing.py").write_text(IMPORTING)
    own = [{"./importing.py:Importing": {"number": [0, 1, 2]}}, "./importing.py:Circular", "none"]
    one = {"sample": SMALL["sample"] | {"beta": 0}, "metrics": ["accuracy"], "repeats": 1}
    path = write_config(tmp_path / "a.yaml", **one, interventions=own, limits={"seconds": 3})
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert "1 repeat of importing.py:Importing (number=0) overtime: ran for longer than 3 s" in done.stderr
    records = [json.loads(line) for line in journal_lines(tmp_path / "out")]
    reasons = {(row["status"], row["reason"]) for row in records if "key" in row}
    circular = "AttributeError: partially initialized module 'circular' has no attribute 'OTHER'"
    assert [status for status, _ in sorted(reasons)] == ["failed", "ok", "overtime"]
    assert min(reasons)[1].startswith(circular)
    assert [row["status"] for row in records if "key" in row].count("ok") == 3


def config(folder, *names, **limits):
    (folder / "mine.py").write_text(TECHNIQUES, encoding="utf-8")
    own = [f"./mine.py:{name}" for name in names]
    one = {"sample": SMALL["sample"] | {"beta": 0}, "metrics": ["accuracy"], "repeats": 1, "limits": limits}
    return write_config(folder / "limits.yaml", **one, interventions=["none", *own, "massaging"])


def rows(folder) -> dict[str, dict]:
    """Return the journal's rows by intervention."""
    cells = json.loads((folder / "plan.json").read_text())["cells"]
    names = {cell["key"]: cell["intervention"].rpartition(":")[2] for cell in cells}
    records = [json.loads(line) for line in journal_lines(folder)]
    found = [(names[row["key"]], row) for row in records if "key" in row]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_takes_too_long_is_a_row_and_the_others_go_on(tmp_path, jobs):
    names = ("Endless", "Stubborn", "Compiled", "Parent")
    start = time.monotonic()
    done = fairbench("run", config(tmp_path, *names, seconds=1), "-o", tmp_path / "out", "--jobs", jobs)
    assert time.monotonic() - start < 40  # each of the four would take a minute or more
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert " overtime: ran for longer than 1 s by the clock; raise it: --set limits.seconds=10" in done.stderr
    found = rows(tmp_path / "out")
    assert [found[name]["status"] for name in names] == ["overtime"] * 4
    assert found["none"]["status"] == found["massaging"]["status"] == "ok"
    running = subprocess.run(["pgrep", "-f", "sleep 61.25"], capture_output=True, check=False)
    assert not running.stdout  # nor does a process that a technique started


def test_what_takes_too_much_memory_is_a_row(tmp_path):
    names = ("Hungry", "Many", "Uncounted")
    path = config(tmp_path, *names, memory="300MB")
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    found = rows(tmp_path / "out")
    assert {found[name]["status"] for name in names} == {"memory"}, found
    assert found["none"]["status"] == found["massaging"]["status"] == "ok"


def test_what_is_no_exception_is_a_row_and_prints_are_kept(tmp_path):
    done = fairbench("run", config(tmp_path, "Speaks", "Odd", "Interrupts"), "-o", tmp_path / "out", "-j1")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "from Python" not in done.stdout + done.stderr
    found = rows(tmp_path / "out")
    assert found["Odd"]["reason"] == "Unreadable: (its message cannot be read)"
    assert found["Interrupts"]["reason"] == "KeyboardInterrupt"
    assert found["Speaks"]["status"] == "ok"
    log = (tmp_path / "out/log.txt").read_text(encoding="utf-8")
    where = "compas, race, β 0, mine.py:Speaks, tree, repeat 0"
    assert log == f"== {where}\nfrom Python\nfrom C\nfrom a process\n"


def test_what_took_too_long_is_tried_again_with_a_longer_limit(tmp_path):
    path = config(tmp_path, "Slow", seconds=0.5)
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1")
    assert rows(tmp_path / "out")["Slow"]["status"] == "overtime"
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1", "--set", "limits.seconds=null")
    assert "2 done, 1 to do" in done.stderr
    assert done.returncode == 0, done.stderr
