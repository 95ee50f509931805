"""Where results come from: the versions of what decides numbers, the commit, the machine and the command."""

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.plugins import imported_roots, installed_packages

if TYPE_CHECKING:
    from fairbench_cli.base.plugins import CodeOrigin
    from fairbench_cli.experiment.config.config import ExperimentConfig

CELL_VERSION = 3  # raise it whenever the same key would give other numbers

PACKAGES = "numpy", "scipy", "scikit-learn", "numba"
"""What every run computes with; data come as text, so that pandas decides no number."""

NAMED = PACKAGES + ("duckdb", "fairbench-cli", "joblib", "pandas", "pomegranate", "pydantic")
"""What a manifest names, where it is installed."""

PYTHON = "python"
NONE = "none"

_KNOWN = {"numpy", "scipy", "sklearn", "numba", "pandas"}  # modules of which nothing has to be looked up


@dataclass(frozen=True)
class Versions:
    """What numbers were computed with.

    Parameters
    ----------
    packages : mapping
        Versions by package, Python's minor version among them. They are no part of a cell's key.
    code : mapping
        ``cells``, which is `CELL_VERSION`, and each plug-in's version by its name. They are part of the keys
        of the cells that they decide.
    """

    packages: Mapping[str, str]
    code: Mapping[str, str]

    def differences(self, other_versions: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return the packages that both name in other versions: theirs and ours.

        >>> Versions({"numpy": "2.3", "numba": "0.63"}, {}).differences({"numpy": "2.2", "xgboost": "3"})
        {'numpy': ('2.2', '2.3')}
        """
        ours = self.packages.items()
        differences = {}
        for name, installed in ours:
            if other_versions.get(name, installed) != installed:
                differences[name] = (other_versions[name], installed)
        return differences


def versions_of_numbers(config: "ExperimentConfig | None" = None) -> Versions:
    """Return the versions of what decides the numbers of an experiment, as they are in this process.

    With a config also those of its plug-ins, of the packages that files of plug-ins import, and of the
    libraries that its techniques are from.
    """
    plugins = [] if config is None else config.plugins
    names = list(PACKAGES)
    names += _required_packages(config)
    names += _imported(origin for _, origin in plugins)
    code = {name: origin.version for name, origin in plugins}
    return Versions(versions_of(dict.fromkeys(names)), {"cells": str(CELL_VERSION), **code})


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return Python's minor version and those of packages; one that is not installed is ``none``.

    >>> versions_of(["no-such-package"])["no-such-package"]
    'none'
    """
    return {PYTHON: ".".join(platform.python_version_tuple()[:2]), **{name: _version(name) for name in names}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return NONE


def _required_packages(config: "ExperimentConfig | None") -> list[str]:
    """Return the libraries that techniques of a config come from."""
    if config is None:
        return []
    from fairbench_cli.interventions.registry import INTERVENTIONS

    registered = [technique.spec.name for technique in config.interventions if technique.spec.origin is None]
    requires = [getattr(INTERVENTIONS[name].load(), "requires", None) for name in registered]
    return sorted({library for library, _ in filter(None, requires)})


def _imported(origins: Iterable["CodeOrigin"]) -> list[str]:
    """Return the installed packages that files of plug-ins import."""
    paths = [origin.path for origin in origins if origin.path is not None]
    roots = set[str]().union(*map(imported_roots, paths))
    roots -= sys.stdlib_module_names
    roots -= set(_KNOWN)
    roots.discard(__name__.partition(".")[0])
    return sorted(set[str]().union(*map(installed_packages, roots)))


def provenance() -> dict[str, Any]:
    """Return a description of this process: what runs, on which machine, from which commit."""
    return {
        "command": shlex.join(sys.argv),
        "python": platform.python_version(),
        "packages": {name: number for name in NAMED if (number := _version(name)) != NONE},
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
    command = ["git"] + list(arguments)
    process = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)  # noqa: S603
    return process.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
