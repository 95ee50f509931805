"""A lock per folder of results, so that two processes never write to one folder unaware of each other.

`flock` on files that stay: the system frees it when its holder ends, however that ends. The text in a file
says who holds it and is for people alone. No program that is started meanwhile inherits the file: it would
keep the folder locked after the death of its parent.
"""

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import NO_LINK
from fairbench_cli.experiment.journal.journal import host_name

NAME = ".lock"
NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
REMEDY = "wait until it has ended, or stop it; `--shard 0/2` and `--shard 1/2` divide one folder's work"


@contextmanager
def locked(folder: Path, shard: str | None = None, warn: Callable[[str], None] = print) -> Iterator[None]:
    """Hold the lock of a folder of results, which exists.

    Parameters
    ----------
    shard : str or None
        Such as ``1/4``: shares the folder with other shards, and refuses the same one twice.
    warn : callable
        Gets a line where the file system has no locks; the work goes on without one.

    Raises
    ------
    UserError
        When another process holds it: which, on which machine and since when.
    """
    with ExitStack() as held:
        try:
            _hold(held, folder, NAME, shared=shard is not None)
            if shard is not None:
                _hold(held, folder, f"{NAME}-shard-{shard.replace('/', '-of-')}", shared=False)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                what = f"cannot lock {folder}: {error.strerror}"
                raise user_error(what, "check the folder and its permissions") from None
            warn(f"{folder} is on a file system without locks: see that no other process writes to it")
        yield


def _hold(held: ExitStack, folder: Path, name: str, *, shared: bool) -> None:
    """Take one lock until `held` is closed."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        raise OSError(errno.ENOSYS, "no flock") from None
    try:
        file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | NO_LINK, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _foreign(folder / name) from None
    held.callback(os.close, file)
    if not stat.S_ISREG(os.fstat(file).st_mode) or (_text(file) and not _holder(file)):
        raise _foreign(folder / name)
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise user_error(f"{folder} is in use{_holder(file)}", REMEDY) from None
    me = {"pid": os.getpid(), "host": host_name(), "since": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())}
    os.ftruncate(file, 0)
    os.pwrite(file, (json.dumps(me) + "\n").encode(), 0)


def _foreign(path: Path) -> Exception:
    what = f"{path} is not the lock of a run, and stays as it is"
    return user_error(what, "see what it is, and move it away")


def _text(file: int) -> bytes:
    return os.pread(file, 1000, 0).strip(b"\0\n")  # a power cut may leave zeros


def _holder(file: int) -> str:
    """Return who holds a lock, in words; nothing where its text cannot be read."""
    try:
        one = json.loads(_text(file))
        return f" by process {one['pid']:d} on {one['host']:s} since {one['since']:s} UTC"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


@contextmanager
def locked_if_results(folder: Path, warn: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a folder if it has a plan; what is no folder of results is left as it is."""
    with locked(folder, warn=warn) if (folder / "plan.json").is_file() else nullcontext():
        yield
