"""What numba has compiled and kept on disk: whole, or compiled anew.

numba keeps what it compiles, and has no checksums of it. A file that a power cut or a full disk has cut short
would fail every use, in every run, and one flipped bit of it can end the process: what is not as it was
written is removed, and compiled anew.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.files import write_text


def compiled(function: Any) -> Any:
    """Return a function as numba compiles it, kept on disk; where no folder can be written, for this process.

    A decorator.
    """
    import numba

    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # neither beside the package nor in the cache of the user
        return numba.njit(function)


@contextmanager
def kept_whole(*functions: Any) -> Iterator[None]:
    """Let a block use what numba has kept as far as it is whole, and note what the block compiles.

    Parameters
    ----------
    functions : `compiled` functions
        Those of one module that the block calls, or that these call.
    """
    folder = _whole_folder(functions[0])
    if folder is None:
        yield
        return
    before = _count_compiled(functions)
    yield
    if _count_compiled(functions) > before:
        note_sums(folder, _module_name(functions[0]))


@cache  # what is loaded once stays loaded
def _whole_folder(function: Any) -> Path | None:
    """Return the folder in which numba keeps a module's code, less what is damaged there; None: nowhere."""
    # None of what is not kept; and with NUMBA_DISABLE_JIT a function is itself.
    path = function.stats.cache_path if hasattr(function, "stats") else None
    if path is None:
        return None
    folder = Path(path)
    drop_damaged(folder, _module_name(function))
    return folder


def _module_name(function: Any) -> str:
    return str(function.__module__.rpartition(".")[2])


def _count_compiled(functions: tuple[Any, ...]) -> int:
    """Return for how many types of arguments there is compiled code in this process."""
    # `signatures` would make a list of them, and hash each type that is in it.
    return sum(len(function.overloads) for function in functions)


def drop_damaged(folder: Path, module: str) -> None:
    """Remove the kept files of a module that are not as `note_sums` found them.

    Parameters
    ----------
    folder : Path
        Where numba keeps them, as a compiled function's `stats` say.
    module : str
        The last part of its name.
    """
    noted_sums = _noted(folder / f"{module}.sums")
    sums = _sums(folder, module)
    # One without a sum is of another process, which notes it soon; all are from before there were sums.
    if noted_sums:
        damaged = [name for name, checksum in sums.items() if noted_sums.get(name, checksum) != checksum]
    else:
        damaged = list(sums)
    for name in damaged:
        with suppress(OSError):
            (folder / name).unlink()
    if noted_sums and damaged:
        warning = f"{folder / damaged[0]} is damaged: it is compiled anew, which takes some seconds"
        sys.stderr.write(f"{warning}\n")


def note_sums(folder: Path, module: str) -> None:
    """Write down the checksums of the kept files of a module; where that is not possible, leave it."""
    path = folder / f"{module}.sums"
    sums = _sums(folder, module)
    if sums != _noted(path):
        with suppress(UserError):
            write_text(path, json.dumps(sums, indent=1) + "\n")


def _sums(folder: Path, module: str) -> dict[str, str]:
    """Return the sha256 of each kept file by its name."""
    sums = {}
    for path in sorted(folder.glob(f"{module}.*.nb[ci]")):
        with suppress(OSError):  # another process has just removed it
            sums[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return sums


def _noted(path: Path) -> dict[str, str]:
    """Return the checksums that were written down; empty where the file is gone or damaged itself."""
    try:
        noted = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if isinstance(noted, dict):
        return noted
    return {}
