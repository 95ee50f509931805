"""Read text files, write files whole or not at all, and keep temporary ones in a folder that goes away."""

import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import MessageText, user_error
from fairbench_cli.base.safe_text import format_path

PREFIX = "fairbench-"
HELD = "held"
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Of `os.open`: follow no link, and wait for nobody at the other end of a pipe."""


def shipped_folder(folder: str) -> Path:
    """Return a folder that comes with fairbench: it is in an installed package, or next to it in a checkout.

    >>> (shipped_folder("configs") / "quickstart.yaml").is_file()
    True
    """
    package = Path(__file__).parents[1]
    inside = package / folder
    if inside.is_dir():
        return inside
    return package.parent / folder


def shipped_names(folder: str) -> list[str]:
    """Return the names of the YAML files in a folder that comes with fairbench, sorted."""
    return sorted(path.stem for path in shipped_folder(folder).glob("*.yaml"))


def read_text(
    path: Path,
    encoding: str = "utf-8",
    newline: str | None = None,
    *,
    encoding_fix: MessageText | None = None,
) -> str:
    """Return the text of a file; `encoding` and `newline` as `open` takes them.

    Raises
    ------
    UserError
        When there is no such file, it cannot be read or is of another encoding, which `encoding_fix` says how
        to name.
    """
    try:
        with path.open(encoding=encoding, newline=newline) as stream:
            return stream.read()
    except FileNotFoundError:
        raise user_error(f"no such file: {path}", "check the path") from None
    except UnicodeDecodeError as error:
        fix: MessageText = f"convert it: iconv -f latin1 -t utf-8 {shlex.quote(str(path))} > NEW"
        if encoding_fix is not None:
            fix = encoding_fix
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.object[error.start]:02X} is not {encoding.removesuffix('-sig').upper()}"
        raise user_error(problem, fix, f"{path}:{line}") from None
    except UnicodeError:
        problem = f"the text is not {encoding}: it has no byte order mark"
        raise user_error(problem, encoding_fix or "save it as UTF-8", str(path)) from None
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
    write_bytes(path, _encoded(text))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; where the path is a link, the file that it leads to.

    Raises
    ------
    UserError
        When it cannot be written; what was there before stays.
    """
    if path.is_dir():
        raise user_error(f"cannot write {format_path(path)}: it is a folder", "name a file")
    try:
        _write_all({path.resolve(): content})
    except OSError as error:
        fix = "check the folder, its permissions and the free space"
        raise user_error(f"cannot write {format_path(path)}: {error.strerror}", fix) from None


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the text files of a folder by name, all or none; the folder is made where there is none.

    Raises
    ------
    UserError
        When one of them cannot be written; what was there before stays.
    """
    new = not folder.exists()
    make_folder(folder)
    try:
        _write_all({(folder / name).resolve(): _encoded(text) for name, text in texts.items()})
    except OSError as error:
        if new:
            with suppress(OSError):
                folder.rmdir()
        problem = f"cannot write to {format_path(folder)}: {error.strerror}; nothing was written"
        raise user_error(problem, "check the folder, its permissions and the free space") from None


def _encoded(text: str) -> bytes:
    r"""Return text as UTF-8; of a file's name what is none is written as JSON and YAML escape it.

    >>> _encoded("a\udce9.csv")
    b'a\\udce9.csv'
    """
    return text.encode("utf-8", "backslashreplace")


def _write_all(contents: Mapping[Path, bytes]) -> None:
    """Write files next to their places, then move all of them there."""
    devices = [path for path in contents if path.exists() and not path.is_file()]  # /dev/null, a pipe
    for folder in {path.parent for path in contents if path not in devices}:
        remove_abandoned_files(folder)
    with ExitStack() as files:
        part_files = {path: files.enter_context(_part_file(path)) for path in contents if path not in devices}
        for path, part_file in part_files.items():
            part_file.write_bytes(contents[path])
        for path in devices:
            path.write_bytes(contents[path])
        for path, part_file in part_files.items():
            part_file.replace(path)


_PART = re.compile(r"\..+\.[0-9]+-[0-9a-f]{8}\.part")


@contextmanager
def _part_file(path: Path) -> Iterator[Path]:
    """Make an empty file next to a path, and remove it at the end if it is still there.

    A lock, which the system takes back however the process ends, says that it is in use.
    """
    while True:
        # Two machines may write to one folder, from processes of one number.
        part_file = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
        file = os.open(part_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform == "win32":  # which moves no open file, and has no such locks
            os.close(file)
            break
        with suppress(ImportError, OSError):  # a file system without locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            break
        os.close(file)  # somebody has taken it for one that was left
    try:
        yield part_file
    finally:
        part_file.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(file)


def remove_abandoned_files(folder: Path) -> None:
    """Remove what processes that were killed while they wrote a file have left in a folder."""
    abandoned: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:  # it may be written, and not be listed
        abandoned += [entry.path for entry in entries if _PART.fullmatch(entry.name)]
    for part_file in abandoned:
        with suppress(OSError):  # it is somebody else's, or has just become a file
            file = os.open(part_file, os.O_WRONLY | NO_LINK)
            if _try_lock(file):
                Path(part_file).unlink()
            os.close(file)


def refuse_overwriting(inputs: Iterable[str | Path], outputs: Iterable[str | Path], where: str) -> None:
    """Refuse outputs that are one of the inputs by any name: a link, another spelling of its path.

    Parameters
    ----------
    inputs, outputs : iterable of str or Path
        What is read, "-" for standard input, and what would be written; neither need exist.
    where : str
        The flag that names the outputs.

    Raises
    ------
    UserError
        When writing would overwrite what is read.
    """
    read = {_identity(path): path for path in inputs}
    for path in outputs:
        overwritten = read.get(_identity(path))
        if overwritten is not None and _identity(path) is not None:
            problem = f"{format_path(path)} would overwrite the input {format_path(overwritten)}"
            raise user_error(problem, "write to another file or folder", where)


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, whatever its name; None where there is no ordinary file."""
    try:
        if str(path) == "-":
            status = os.fstat(0)
        else:
            status = Path(path).stat()
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(status.st_mode):
        return (status.st_dev, status.st_ino)
    return None


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file; raises as `write_text`."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def make_output_folder(folder: Path) -> None:
    """Make the folder of results and check that it can be written, before any work.

    Raises
    ------
    UserError
        When it cannot be written.
    """
    probe = folder / f".probe-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise user_error(
            f"cannot write to {folder}: {error.strerror}", "name another folder with -o", "-o"
        ) from None


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder in `parent`, by default the system's one for temporary files, and remove it at the end.

    A lock on a file in it, which the system takes back however the process ends, says that it is in use. The
    folders of ended processes are removed first.
    """
    import tempfile

    if parent is None:
        parent = Path(tempfile.gettempdir())
    remove_abandoned_folders(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    with ExitStack() as cleanup:
        if sys.platform != "win32":  # which has no such locks, and moves and removes no open file
            file = os.open(folder / "new", os.O_RDWR | os.O_CREAT, 0o600)
            cleanup.callback(os.close, file)
            _try_lock(file)
            (folder / "new").rename(folder / HELD)  # from here on others look at it, and find it locked
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            if hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
                continue  # what it says of processes may be wrong
            lock = os.open(folder / HELD, os.O_RDWR)
        except OSError:  # being made or removed, or somebody else's
            continue
        if _try_lock(lock):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _try_lock(descriptor: int) -> bool:
    """Take the lock on an open file if nobody has it; where there are no such locks nothing is swept."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
