"""Checksums of what numba has compiled and kept, for which it has none.

A file that a power cut or a full disk has cut short would fail every fit, in every run, and one flipped bit
of it can end the process: what is not as it was written is removed, and compiled anew.
"""

import hashlib
import json
import sys
from contextlib import suppress
from pathlib import Path

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.files import write_text


def drop_damaged(folder: Path, module: str) -> None:
    """Remove the kept files of a module that are not as `note_sums` found them.

    Parameters
    ----------
    folder : Path
        Where numba keeps them, as a compiled function's `stats` say.
    module : str
        The last part of its name.
    """
    known, found = _noted(folder / f"{module}.sums"), _sums(folder, module)
    # One without a sum is of another process, which notes it soon; all are from before there were sums.
    damaged = [name for name, own in found.items() if known.get(name, own) != own] if known else list(found)
    for name in damaged:
        with suppress(OSError):
            (folder / name).unlink()
    if known and damaged:
        what = f"{folder / damaged[0]} is damaged: it is compiled anew, which takes some seconds"
        sys.stderr.write(f"{what}\n")


def note_sums(folder: Path, module: str) -> None:
    """Write down the checksums of the kept files of a module; where that is not possible, leave it."""
    path, sums = folder / f"{module}.sums", _sums(folder, module)
    if sums != _noted(path):
        with suppress(UserError):
            write_text(path, json.dumps(sums, indent=1) + "\n")


def _sums(folder: Path, module: str) -> dict[str, str]:
    """Return the sha256 of each kept file by its name."""
    found = {}
    for path in sorted(folder.glob(f"{module}.*.nb[ci]")):
        with suppress(OSError):  # another process has just removed it
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _noted(path: Path) -> dict[str, str]:
    """Return what was written down; nothing where that is gone or damaged itself."""
    try:
        noted = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
