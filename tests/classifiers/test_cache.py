"""What numba has kept of C4.5: damaged files are compiled anew, once, and change no tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import environment

from fairbench_cli.classifiers.c45 import C45, fast
from fairbench_cli.classifiers.c45.cache import drop_damaged, note_sums

TREE = """
import hashlib
import numpy as np
from fairbench_cli.classifiers.c45 import C45, fast
rng = np.random.default_rng(3)
X = rng.integers(0, [2, 3, 4], (200, 3))
tree = C45(levels=[2, 3, 4]).fit(X, (X.sum(axis=1) + rng.integers(0, 4, 200)) % 2)
print(hashlib.sha256(tree.predict_proba(X).tobytes()).hexdigest())
print(sum(fast.collapse.stats.cache_misses.values()), sum(fast.grow.stats.cache_misses.values()))
"""


def tree_with(cache: Path) -> tuple[str, str, str]:
    """Return a digest of a tree's predictions, how often two loops had to be compiled, and what was said."""
    done = subprocess.run(
        [sys.executable, "-c", TREE],
        env=environment(NUMBA_CACHE_DIR=str(cache)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tree, compiled = done.stdout.splitlines()
    return tree, compiled, done.stderr


@pytest.fixture
def cache(tmp_path) -> Path:
    """A cache of numba's that has what this one has, and where it is."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, [2, 3, 4], (200, 3))
    C45(levels=[2, 3, 4]).fit(X, X[:, 0]).predict(X)  # so that it is there
    code = "from fairbench_cli.classifiers.c45 import fast; print(fast.grow.stats.cache_path)"
    env = environment(NUMBA_CACHE_DIR=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return Path(shutil.copytree(fast.grow.stats.cache_path, done.stdout.strip(), dirs_exist_ok=True))


def damage(path: Path, how: str) -> None:
    text = bytearray(path.read_bytes())
    if how == "flipped":
        text[len(text) // 2] ^= 4
    path.write_bytes(text if how == "flipped" else text[: len(text) // 2] if how == "cut" else b"")


def test_damaged_files_are_compiled_anew_once(cache, tmp_path):
    good, compiled, _ = tree_with(tmp_path)
    assert compiled == "0 0"
    for ending, how in (("nbi", "empty"), ("1.nbc", "flipped"), ("nbi", "cut")):
        paths = sorted(cache.glob(f"fast.collapse-*.{ending}"))  # one, and others of earlier sources
        for path in paths:
            damage(path, how)
        tree, compiled, said = tree_with(tmp_path)
        assert (tree, compiled) == (good, "1 0"), (ending, how)
        assert said == f"{paths[0]} is damaged: it is compiled anew, which takes some seconds\n"
    assert tree_with(tmp_path) == (good, "0 0", "")


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
