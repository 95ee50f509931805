"""A folder for files that nobody needs later; the next one removes what a killed process left."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "fairbench-"
HELD = "held"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps semaphores; nothing is written there
WORKERS = "workers"
LEFT = ("sem.loky-{pid}-*", "joblib_memmapping_folder_{pid}_*")


@contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """Make a folder in `place`, by default the system's one for temporary files, and remove it at the end.

    A lock on a file in it, which the system takes back however the process ends, says that it is in use. The
    folders of ended processes are removed first, with what their workers left in shared memory.
    """
    place = Path(tempfile.gettempdir()) if place is None else place
    sweep(place)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
    held = os.open(folder / "new", os.O_RDWR | os.O_CREAT, 0o600)
    _try_lock(held)
    (folder / "new").rename(folder / HELD)  # from here on others look at it, and find it locked
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(held)


def sweep(place: Path) -> None:
    """Remove the folders of processes that have ended without doing so, and their semaphores."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            if hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
                continue  # what it says of processes may be wrong
            held = os.open(folder / HELD, os.O_RDWR)
        except OSError:  # being made or removed, or somebody else's
            continue
        if _try_lock(held):
            _remove(folder)
        os.close(held)


def _remove(folder: Path) -> None:
    """Remove a folder, and what the processes that it names left in shared memory."""
    owner = folder.name.removeprefix(PREFIX).partition("-")[0]
    with suppress(OSError):
        named = {owner, *(path.stem for path in (folder / WORKERS).iterdir())}
        for pid in named - {str(os.getpid())}:  # its own are in use, and go away with it
            for pattern in LEFT:
                for path in SHARED_MEMORY.glob(pattern.format(pid=pid)):
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _try_lock(descriptor: int) -> bool:
    """Take the lock on an open file if nobody has it; where there are no such locks nothing is swept."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
