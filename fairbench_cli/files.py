"""Read text files, and write files so that a reader sees the old text or the new one, never half of it."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

from fairbench_cli.errors import user_error


def read_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> str:
    """Return the text of a UTF-8 file; `encoding` and `newline` as `open` takes them.

    Raises
    ------
    UserError
        When there is no such file, it cannot be read or is not UTF-8.
    """
    try:
        with path.open(encoding=encoding, newline=newline) as stream:
            return stream.read()
    except FileNotFoundError:
        raise user_error(f"no such file: {path}", "check the path") from None
    except UnicodeDecodeError as error:
        fix = f"convert it: iconv -f latin1 -t utf-8 {shlex.quote(str(path))} > utf8-{shlex.quote(path.name)}"
        raise user_error(f"the file is not UTF-8 text (byte {error.start})", fix, str(path)) from None
    except OSError as error:
        fix = "check the path and its permissions"
        raise user_error(f"cannot read {path}: {error.strerror}", fix) from None


def make_folder(path: Path) -> None:
    """Write a folder and those above it; an existing one stays.

    Raises
    ------
    UserError
        When it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "name another folder, or check its permissions"
        raise user_error(f"cannot write to {path}: {error.strerror}", fix) from None


def write_text(path: Path, text: str) -> None:
    """Write a file's text in one step; raises as `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step.

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
        fix = "check the folder, its permissions and the free space"
        raise user_error(f"cannot write {path}: {error.strerror}", fix) from None


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file; raises as `write_text`."""
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
