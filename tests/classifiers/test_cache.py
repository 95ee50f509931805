"""What numba has kept of C4.5: damaged files are compiled anew, once, and change no number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

from fairbench_cli.base.compiled_files import drop_damaged, note_sums

ENDS = """
import numpy as np
from fairbench_cli.classifiers.c45 import fast
codes = np.array([[0, 1], [2, 0], [1, 1]], dtype=np.int32)
print(fast.ends(np.array([0, -1, 1, -1, -1, -1]), np.array([1, 4, 4, 6, 6, 6]), codes).tolist())
print(sum(fast._ends.stats.cache_misses.values()))
"""


def ends_with(cache: Path) -> tuple[str, str, str]:
    """Return where rows end in a tree, how often the loop had to be compiled, and what was said."""
    done = subprocess.run(
        [sys.executable, "-c", ENDS],
        env=environment(NUMBA_CACHE_DIR=str(cache)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends, compiled = done.stdout.splitlines()
    return ends, compiled, done.stderr


def damage(path: Path, how: str) -> None:
    text = bytearray(path.read_bytes())
    if how == "flipped":
        text[len(text) // 2] ^= 4
    path.write_bytes(text if how == "flipped" else text[: len(text) // 2] if how == "cut" else b"")


@pytest.mark.nightly
def test_damaged_files_are_compiled_anew_once(tmp_path):
    good = "[1, 3, 5]"
    assert ends_with(tmp_path) == (good, "1", "")
    for ending, how in (("nbi", "empty"), ("1.nbc", "flipped"), ("nbi", "cut")):
        (path,) = tmp_path.glob(f"*/fast._ends-*.{ending}")
        damage(path, how)
        said = f"{path} is damaged: it is compiled anew, which takes some seconds\n"
        assert ends_with(tmp_path) == (good, "1", said), (ending, how)
    assert ends_with(tmp_path) == (good, "0", "")


def test_sums_are_of_the_files_of_one_module(tmp_path):
    names = "m.f-1.py3.nbi", "m.f-1.py3.1.nbc", "other.f-1.py3.nbi", "m.py"
    kept = {name: tmp_path / name for name in names}
    for path in kept.values():
        path.write_bytes(os.urandom(20))
    note_sums(tmp_path, "m")
    noted = (tmp_path / "m.sums").stat().st_mtime_ns
    note_sums(tmp_path, "m")
    assert (tmp_path / "m.sums").stat().st_mtime_ns == noted
    for path in kept.values():
        path.write_bytes(b"")
    drop_damaged(tmp_path, "m")
    assert [name for name, path in kept.items() if path.exists()] == ["other.f-1.py3.nbi", "m.py"]
    new = tmp_path / "m.g-2.py3.nbi"
    new.write_bytes(b"another process has just compiled it")
    drop_damaged(tmp_path, "m")
    assert new.exists()


@pytest.mark.parametrize("text", [None, "", "[]", "{"])
def test_without_whole_sums_nothing_is_trusted(tmp_path, text, capsys):
    path = tmp_path / "m.f-1.py3.nbi"
    path.write_bytes(b"x")
    if text is not None:
        (tmp_path / "m.sums").write_text(text)
    drop_damaged(tmp_path, "m")
    assert not path.exists()
    assert capsys.readouterr().err == ""
