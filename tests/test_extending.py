"""The worked examples of docs/extending.md: written, registered and run, each in a copy of the package."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+)\n((?:.*\n)*?)(?=^## |\Z)", PAGE, re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the package; the sections build on each other, so they share it."""
    folder = tmp_path_factory.mktemp("extended")
    for name in ("fairbench_cli", "datasets", "configs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def add_lines(path: Path, block: str) -> int:
    """Add the lines marked + after the line above them; return how many there were."""
    above, *added = block.splitlines()
    text = path.read_text(encoding="utf-8")
    assert text.count(f"{above[1:]}\n") == 1, (path, above)
    lines = "".join(f"{line[1:]}\n" for line in added if line.startswith("+"))
    path.write_text(text.replace(f"{above[1:]}\n", f"{above[1:]}\n{lines}"), encoding="utf-8")
    return len(added)


def extend(folder: Path, section: str) -> None:
    """Write the files of a section, add its lines and run its commands."""
    for kind, name, body in BLOCK.findall(section):
        if kind == "diff":
            assert add_lines(folder / name, body) == 1, "an entry is one line"
        elif kind == "sh":
            for line in body.splitlines():
                command = [sys.executable, "-m", "fairbench_cli", *shlex.split(line)[1:]]
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment(FAIRBENCH_DATA="", PYTHONPATH=str(folder)),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, (line, done.stderr)
        else:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")


def test_every_worked_example_runs(copy):
    assert len(SECTIONS) >= 9
    for _title, section in SECTIONS:
        extend(copy, section)
    assert "flipping" in (copy / "results/flipping/groups.csv").read_text()
    assert (copy / "results/flipping/figures/repeats-all.svg").exists()
    assert (copy / "results/flipping/tables/failures.md").exists()
