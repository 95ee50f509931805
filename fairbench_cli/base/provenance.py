"""Where results come from: versions, commit, machine, data and command."""

import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = "fairbench-cli", "joblib", "numpy", "pandas", "pomegranate", "scikit-learn", "scipy", "torch"


def provenance() -> dict[str, Any]:
    """Return a description of this process: what runs, on which machine, from which commit."""
    return {
        "command": shlex.join(sys.argv),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "git": git_state(Path(__file__).parent),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit that the code in `folder` is from and whether it was changed since.

    None outside git, and where the package only sits inside somebody else's repository (a venv in it).
    """
    try:
        _git(folder, "ls-files", "--error-unmatch", __file__)
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)  # noqa: S603
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
