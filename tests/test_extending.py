"""The worked examples of docs/extending.md: written, registered and run, each in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from tiers import uses

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+)\n((?:.*\n)*?)(?=^## |\Z)", PAGE, re.MULTILINE)
RUN = """
import shlex, sys
from fairbench_cli.cli.app import run
from fairbench_cli.experiment.running import pool, server
if server.FORKS:  # one server for all runs: each would load the libraries again
    shared = server.ForkServer(["c45", "tree"])
    end, shared.end = shared.end, lambda: None
    pool.ForkServer = lambda *_: shared
for line in sys.argv[1].splitlines():
    arguments = shlex.split(line, comments=True)[1:]
    one_worker = ["--jobs", "1"] if arguments[0] == "run" else []  # workers take seconds to start
    expected = int(line.partition("# exit code ")[2] or 0)
    if run([*arguments, *one_worker]) != expected:
        sys.exit(line)
if server.FORKS:
    end()
"""
WITHOUT_A_FILE = {"A key of a config", "A trap", "A sentence of the answer"}
"""Changes that add lines to files that are there; others are a new file and entries of one line."""
MOST_FILES, MOST_LINES = 2, 25
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the package; the sections build on each other, so they share it."""
    folder = tmp_path_factory.mktemp("extended")
    for name in ("fairbench_cli", "datasets", "configs"):
        shutil.copytree(ROOT / name, folder / name)  # with what numba has compiled
    return folder


def add_lines(path: Path, block: str) -> int:
    """Add the lines marked + after the line above them, or before that below; return how many there were."""
    lines = block.splitlines()
    added = [line[1:] for line in lines if line.startswith("+")]
    (shown,) = [line[1:] for line in lines if not line.startswith("+")]
    replaced = [*added, shown] if lines[0].startswith("+") else [shown, *added]
    text = path.read_text(encoding="utf-8")
    assert text.count(f"{shown}\n") == 1, (path, shown)
    new = "".join(f"{line}\n" for line in replaced)
    path.write_text(text.replace(f"{shown}\n", new), encoding="utf-8")
    return len(added)


def extend(folder: Path, title: str, section: str) -> str:
    """Write the files of a section and add its lines; return its commands."""
    commands = ""
    added: dict[str, list[int]] = {}
    for kind, name, body in BLOCK.findall(section):
        if kind == "diff":
            added.setdefault(name, []).append(add_lines(folder / name, body))
        elif kind == "sh":
            commands += body
        elif name:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
    if title in WITHOUT_A_FILE:
        assert len(added) <= MOST_FILES, title
        assert sum(sum(counts) for counts in added.values()) <= MOST_LINES, title
    else:
        assert {n for counts in added.values() for n in counts} <= {1}, f"{title}: an entry is one line"
    return commands


@pytest.mark.parametrize("page", [ROOT / "docs/extending.md"], ids=["extending.md"])
def test_every_worked_example_runs(page, copy):
    follow_all(copy)


@uses("a page of docs")
def follow_all(copy: Path) -> None:
    """Write, register and run the examples, in one copy of the package."""
    assert len(SECTIONS) >= 10
    commands = "".join([extend(copy, title, section) for title, section in SECTIONS])
    assert commands.count("\n") >= 13
    done = subprocess.run(  # one process for all: most of the time of each would be its imports
        [sys.executable, "-c", RUN, commands],
        cwd=copy,
        env=environment(FAIRBENCH_DATA="", PYTHONPATH=str(copy)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "5 models are more than 2" in done.stderr
    assert 'column "income" ends in 0 or 5 in 4 of 4 rows' in " ".join(done.stdout.split())
    assert "mine.py:Promoting" in (copy / "results/own/groups.csv").read_text()
    assert "measures.py:promoted" in (copy / "results/own/results.csv").read_text()
    assert "flipping" in (copy / "results/flipping/groups.csv").read_text()
    assert (copy / "results/flipping/figures/repeats-all.svg").exists()
    assert (copy / "results/flipping/tables/failures.md").exists()
    assert "results lack a value in some repeat." in (copy / "results/sentences/answer.md").read_text()
    assert ",recall,tpr,value," in (copy / "results/flipping/findings.csv").read_text()
    assert (copy / "results/flipping/constants.csv").read_text().count(",2,0\n") > 1
    assert (copy / "results/gaps/gaps.csv").read_text().endswith("\n,binary,race,b,a,-1.0\n")
    assert "## Largest gaps" in (copy / "results/gaps/audit.md").read_text()
    assert "compas" in (copy / "results/flipping/tables/failures.txt").read_text()
