"""Write files so that a reader sees the old text or the new one, never half of it."""

import json
import os
from pathlib import Path
from typing import Any

from fairbench_cli.errors import user_error


def make_folder(path: Path) -> None:
    """Make a folder and those above it; one that is there stays.

    Raises
    ------
    UserError
        When it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise user_error(
            f"cannot write to {path}: {error.strerror}", "name another folder, or check its permissions"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Replace a file's text in one step; raises as `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file in one step.

    Raises
    ------
    UserError
        When it cannot be written; what was there before stays.
    """
    if path.is_dir():
        raise user_error(f"cannot write {path}: it is a folder", "name a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise user_error(
            f"cannot write {path}: {error.strerror}", "check the folder, its permissions and the free space"
        ) from None


def write_json(path: Path, value: Any) -> None:
    """Replace a file by a value's JSON; raises as `write_text`."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def open_folder(folder: Path) -> None:
    """Make the folder of results and check that it can be written, before any work.

    Raises
    ------
    UserError
        When it cannot be written.
    """
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise user_error(
            f"cannot write to {folder}: {error.strerror}", "name another folder with -o", "-o"
        ) from None
