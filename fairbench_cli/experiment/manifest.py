"""Where results come from: versions, commit, machine, data and command."""

import os
import platform
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fairbench_cli.experiment.run import Prepared
from fairbench_cli.files import write_json

PACKAGES = (
    "fairbench-cli",
    "joblib",
    "numpy",
    "pandas",
    "pomegranate",
    "scikit-learn",
    "scipy",
    "torch",
)


def write_manifest(prepared: Prepared, *, jobs: int, computed: int, start: float) -> None:
    """Write where these results come from; `start` is the monotonic clock at the start.

    A run that computed nothing leaves the manifest of the one that did.
    """
    path = prepared.folder / "manifest.json"
    if not computed and path.exists():
        return
    write_json(
        path,
        {
            **provenance(),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - start, 2),
            "cpu_seconds": round(sum(record.seconds for record in prepared.records.values()), 2),
            "jobs": jobs,
            "repeats_computed": computed,
            "data": {dataset.spec.name: dataset.facts["sha256"] for dataset in prepared.datasets},
            "datasets": prepared.plan.datasets,
        },
    )


def provenance() -> dict[str, Any]:
    """Describe this process: what runs, on which machine, from which commit."""
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
