"""What travels to another machine: a value as bytes, and the source files of the user's code in it.

The value keeps everything but the paths of those files. Where it arrives they are written to a folder that is
named by their sha256. Keys and seeds stay as they are: they are made of names and sha256, not of paths.
"""

import io
import os
import pickle
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.plugins import CodeOrigin
from fairbench_cli.base.sources import digest_of, read_sources

Sources = Mapping[str, Mapping[str, bytes]]
"""The files of each version of somebody's code, by ``sha256:…`` and by their names."""

_SHA256 = "sha256:"


@dataclass(frozen=True)
class Parcel:
    """A value as bytes.

    Parameters
    ----------
    data : bytes
        In which no path of a file of code is left.
    files : frozenset of CodeOrigin
        The code in files that the value names.
    """

    data: bytes
    files: frozenset[CodeOrigin]


class _Packer(pickle.Pickler):
    """Writes where code is without the folder of its file."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.files: set[CodeOrigin] = set()

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        """Return what stands for a file of code; None for everything else."""
        if not isinstance(value, CodeOrigin) or value.path is None:
            return None
        self.files.add(value)
        return f"{value.path.name}:{value.target.rpartition(':')[2]}", value.version


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, folder: Path) -> None:
        super().__init__(stream)
        self._folder = folder

    def persistent_load(self, mark: tuple[str, str]) -> CodeOrigin:
        """Return where the code is here."""
        target, version = mark
        return CodeOrigin(f"{_place(self._folder, version)}/{target}", version)


def pack(value: Any) -> Parcel:
    """Return a value as bytes."""
    stream = io.BytesIO()
    packer = _Packer(stream)
    packer.dump(value)
    return Parcel(stream.getvalue(), frozenset(packer.files))


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
