"""What travels to another machine: a value as bytes, the source files of the user's code in it, and versions.

The value keeps everything but the paths of those files. Where it arrives they are written to a folder that is
named by their sha256. Keys and seeds stay as they are: they are made of names and sha256, not of paths.
"""

import hashlib
import io
import os
import pickle
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.plugins import CodeOrigin, version_of
from fairbench_cli.base.sources import digest_of, read_sources
from fairbench_cli.experiment.versions import PYTHON, versions_of, versions_of_numbers

if TYPE_CHECKING:
    from fairbench_cli.experiment.config.config import ExperimentConfig

Sources = Mapping[str, Mapping[str, bytes]]
"""The files of each version of somebody's code, by ``sha256:…`` and by their names."""

_SHA256 = "sha256:"


class _Packer(pickle.Pickler):
    """Writes where code is without the folder of its file."""

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        """Return what stands for a file of code; None for everything else."""
        if not isinstance(value, CodeOrigin) or value.path is None:
            return None
        return f"{value.path.name}:{value.target.rpartition(':')[2]}", value.version


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, folder: Path) -> None:
        super().__init__(stream)
        self._folder = folder

    def persistent_load(self, mark: tuple[str, str]) -> CodeOrigin:
        """Return where the code is here."""
        target, version = mark
        return CodeOrigin(f"{_place(self._folder, version)}/{target}", version)


def pack(value: Any) -> bytes:
    """Return a value as bytes, in which no path of a file of code is left."""
    stream = io.BytesIO()
    _Packer(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def unpack(data: bytes, folder: Path) -> Any:
    """Return the value that was packed; the files of its code are those below `folder`."""
    return _Unpacker(io.BytesIO(data), folder).load()


def read_code(origin: CodeOrigin) -> dict[str, bytes]:
    """Return a file of code and the modules next to it that it imports, by name.

    Raises
    ------
    UserError
        When it is no longer the one that the run was planned with, or cannot be read.
    """
    path = origin.path
    assert path is not None  # noqa: S101 - only files are packed
    try:
        files = read_sources(path, path.parent)
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    if _SHA256 + digest_of(files) != origin.version:
        raise user_error(f"{path} has changed since the run began", "run it again")
    return files


def write_sources(sources: Sources, folder: Path) -> None:
    """Write code files to a folder of their own each, by their sha256; those that are there stay.

    Raises
    ------
    ValueError
        When the name of a file leads out of its folder.
    """
    for version, files in sources.items():
        place = _place(folder, version)
        if place.is_dir():
            continue
        part = place.with_name(f".{place.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        for name, text in files.items():
            path = (part / name).resolve()
            if not path.is_relative_to(part.resolve()):
                raise ValueError(f"{name!r} is outside the folder of the code")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        try:
            part.rename(place)
        except OSError:  # another worker was quicker
            shutil.rmtree(part, ignore_errors=True)


def _place(folder: Path, version: str) -> Path:
    return folder / version.removeprefix(_SHA256)


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
