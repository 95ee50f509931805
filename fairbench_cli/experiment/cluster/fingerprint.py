"""Whether another computer would compute the same numbers: versions, and fairbench's own code."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.base.plugins import version_of
from fairbench_cli.experiment.versions import PYTHON, versions_of, versions_of_numbers

if TYPE_CHECKING:
    from fairbench_cli.experiment.config.config import ExperimentConfig


LIKE_THERE = ("distributed",)
"""What decides no number, but does not understand other versions of itself."""


@dataclass(frozen=True)
class Fingerprint:
    """What decides numbers on one computer.

    Parameters
    ----------
    packages : mapping
        Versions by package, and Python's.
    modules : mapping
        The sha256 of the user's modules that are in no installed package. Code in files travels.
    code : str
        The sha256 of fairbench's own code.
    """

    packages: Mapping[str, str]
    modules: Mapping[str, str]
    code: str

    def differences(self) -> tuple[str, ...]:
        """Return in words what is different in this process."""
        own = versions_of(name for name in self.packages if name != PYTHON)
        differs = [
            f"{name} {own[name]} instead of {given}"
            for name, given in self.packages.items()
            if own[name] != given
        ]
        for module, given in self.modules.items():
            try:
                here = version_of(module)
            except (ImportError, ValueError, OSError):
                here = "none"
            if here != given:
                differs.append(f"{module} {here[:20]} instead of {given[:20]}")
        if code_of_fairbench() != self.code:
            differs.append("another state of fairbench's own code")
        return tuple(differs)


def fingerprint_of(config: "ExperimentConfig") -> Fingerprint:
    """Return what decides the numbers of an experiment in this process."""
    packages = {**versions_of_numbers(config).packages, **versions_of(LIKE_THERE)}
    modules = {}
    for origin in (origin for _, origin in config.plugins if origin.path is None):
        if origin.version.startswith("sha256:"):
            modules[origin.target.rpartition(":")[0]] = origin.version
        else:
            named = (one.rpartition(" ") for one in origin.version.split(", "))
            packages |= {name: version for name, _, version in named if name != PYTHON}
    return Fingerprint(packages, modules, code_of_fairbench())


@cache
def code_of_fairbench() -> str:
    """Return the sha256 of the Python files of the package, by their names."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(text)}\n".encode())
        found.update(text)
    return found.hexdigest()
