"""A folder of results: whether it holds what its plan says, where all of it comes from, and who holds it."""

import errno
import json
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairbench_cli.base.checksums import add_checksum, matches_checksum
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import NO_LINK, read_text, write_json
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal import journal
from fairbench_cli.experiment.plan import RunPlan, read_plan
from fairbench_cli.experiment.versions import Versions

SLACK = 1e-9  # of counts in expectation


def checked(reading: journal.Reading, plan: RunPlan) -> journal.Reading:
    """Return the reading without the records that cannot be of this plan, which are named as damaged.

    The counts of a repeat are those of the test rows, whose number the plan knows, by the joint levels of its
    protected attributes; and so are those at each acceptance rate.
    """
    sizes = {}
    for dataset in plan.datasets:
        name, attribute = dataset["dataset"], dataset["attribute"]
        sizes[name, attribute] = len(plan.protected(name, attribute).groups), dataset.get("test_rows")
    expected = {cell["key"]: sizes[cell["dataset"], cell["attribute"]] for cell in plan.all_cells}
    wrong = {
        repeat_key: fault
        for repeat_key, record in reading.records.items()
        if repeat_key[0] in expected and (fault := _fault(record, *expected[repeat_key[0]]))
    }
    if not wrong:
        return reading
    damages = [reading.damage(repeat_key, problem) for repeat_key, problem in wrong.items()]
    records = {key: record for key, record in reading.records.items() if key not in wrong}
    return replace(reading, records=records, damages=reading.damages + tuple(damages))


def read_repeats(folder: Path, plan: RunPlan) -> journal.Reading:
    """Return the repeats that the journals of a folder of results hold, checked."""
    return checked(journal.read_journals(folder / "journal"), plan)


def read_results(folder: Path) -> tuple[RunPlan, journal.Reading]:
    """Return the plan of a folder of results and the repeats that its journals hold.

    Raises
    ------
    UserError
        When the folder holds no results, a file cannot be read, or a journal that results were made from is
        gone.
    """
    plan = read_plan(folder)
    refuse_lost(folder, journal.list_journals(folder / "journal"))
    return plan, read_repeats(folder, plan)


def _fault(record: Repeat, groups: int, rows: int | None) -> str | None:
    """Return the fault in the counts of a repeat; None: no fault."""
    counts = record.counts
    if counts is None:
        return None
    if len(counts.n) != groups:
        return f"its counts are of {len(counts.n)} groups, not {groups}"
    total = float(counts.n.sum())
    if rows is not None and abs(total - rows) > SLACK * rows:
        return f"its counts sum to {total:.12g} rows, not {rows}"
    if record.recorded is not None and float(record.recorded.n.sum()) > (1 + SLACK) * total:
        return "its recorded counts sum to more rows than are tested"
    if record.swept is not None:
        sums = record.swept.n.sum(axis=(1, 2, 3))
        if (np.abs(sums - total) > SLACK * total).any():
            return "its counts at the acceptance rates sum to other numbers of rows"
    if record.scores is not None and abs(float(record.scores.rows.sum()) - total) > SLACK * total:
        return "the sums of its scores are of other numbers of rows"
    if record.controls is not None:
        tables = list(record.controls.twins.n) + [counts.n for counts in record.controls.planted.values()]
        if any(abs(float(table.sum()) - total) > SLACK * total for table in tables):
            return "the counts of its controls sum to other numbers of rows"
    return None


def mixes_versions(
    folder: Path, reading: journal.Reading, keys: Collection[str], ours: Versions, *, allowed: bool
) -> bool:
    """Return whether results of some cells in a folder are of other versions, or of ones that are not known.

    Results from before journals said their versions are taken as they are.

    Parameters
    ----------
    ours : Versions
        Those with which more results are to be computed.

    Raises
    ------
    UserError
        When they are, and that is not `allowed`.
    """
    file_numbers = set()
    for repeat_key, record in reading.records.items():
        if record.status not in journal.RETRIED and repeat_key[0] in keys:
            file_numbers.add(reading.file_number(repeat_key))
    files = [reading.files[n] for n in sorted(file_numbers)]
    other_versions: dict[tuple[str, str], set[str]] = {}
    for header in (file.header for file in files if file.header is not None):
        for name, (theirs, now) in ours.differences(header.versions).items():
            other_versions.setdefault((name, now), set()).add(theirs)
    unknown = unknown_versions(files)
    all_the_same = "name another folder (-o), or go on all the same with --mix-versions (mix_versions=True)"
    if other_versions and not allowed:
        differences = []
        for (name, now), versions in other_versions.items():
            differences.append(f"{name} {', '.join(sorted(versions))}, now {now}")
        problem = f"{folder} has results of other versions: {'; '.join(differences)}"
        raise user_error(problem, f"install those, {all_the_same}")
    if unknown and not allowed:
        lost = f"the header of {', '.join(unknown)} is damaged or gone"
        fix = f"put the whole file back or move it away, {all_the_same}"
        raise user_error(f"{folder} has results of unknown versions: {lost}", fix)
    return bool(other_versions or unknown)


def unknown_versions(files: Iterable[journal.JournalFile]) -> list[str]:
    """Return the names of files that hold results whose versions were lost with a header."""
    return list(dict.fromkeys(file.name for file in files if file.headless and file.lines))


def mixed_versions(files: Iterable[journal.JournalFile]) -> dict[str, list[str]]:
    """Return the packages of which the results in files were computed with several versions, and these."""
    versions_by_package: dict[str, set[str]] = {}
    for header in (file.header for file in files if file.header is not None and file.lines):
        for name, version in header.versions.items():
            versions_by_package.setdefault(name, set()).add(version)
    return {name: sorted(versions) for name, versions in versions_by_package.items() if len(versions) > 1}


FILE = "manifest.json"


def write_run(folder: Path, run: Mapping[str, Any], files: list[journal.JournalFile]) -> None:
    """Write the manifest: what the last run was, and every journal of the folder."""
    write_json(folder / FILE, add_checksum({**run, **_stock(files)}))


def update_manifest(folder: Path, files: list[journal.JournalFile]) -> None:
    """Write what stands in the folder now; what the last run was stays.

    Equal content leaves the file alone; a folder that has none gets none.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return
    new = add_checksum({key: value for key, value in manifest.items() if key != "sha256"} | _stock(files))
    if new != manifest:
        write_json(folder / FILE, new)


def refuse_lost(folder: Path, files: list[journal.JournalFile]) -> None:
    """Refuse to go on where journals that results were made from are gone, or hold less than they did.

    Raises
    ------
    UserError
        Naming the first of them, or the manifest where it is damaged.
    """
    fix = "put it back, or run the experiment again, which computes its repeats again"
    n_lines: Counter[str] = Counter()
    for file in files:
        n_lines[file.name] += file.lines
    manifest = read_manifest(folder) or {}
    for entry in manifest.get("journals", []):
        name = entry["file"]
        before = entry["lines"]
        if name not in n_lines:
            raise user_error(f"{folder / name} is gone, and results were made from it", fix)
        if n_lines[name] < before:
            problem = f"{folder / name} holds {n_lines[name]} lines; results were made from {before}"
            raise user_error(problem, fix)
    if not sum(n_lines.values()) and (folder / "groups.csv").exists():
        problem = f"{folder / 'journal'} holds no repeats, and there are results that were made from some"
        raise user_error(problem, "put the journals back, or run the experiment again")


def _stock(files: list[journal.JournalFile]) -> dict[str, Any]:
    """Return the manifest's entries about the journals of a folder."""
    journals = []
    for file in files:
        header_fields: dict[str, Any] = {}
        if file.header is not None:
            header_fields = file.header.written_fields
            del header_fields["journal"]
        journals.append({"file": file.name, "lines": file.lines, **header_fields})
    return {
        "journals": journals,
        "mixed_versions": mixed_versions(files),
        "unknown_versions": unknown_versions(files),
        "told_to_mix_versions": any(entry.get("mixed") for entry in journals),
    }


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder of results; None where there is none.

    Raises
    ------
    UserError
        When it is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        content = json.loads(read_text(path))
        is_whole_file = isinstance(content, dict) and matches_checksum(content) is not False
    except (ValueError, RecursionError):
        is_whole_file = False
    if not is_whole_file:
        problem = "the manifest was changed or damaged since it was written"
        raise user_error(problem, "run the experiment again; finished repeats are kept", str(path))
    versions_by_package: dict[str, Any] = content
    return versions_by_package


def mixture_in_words(folder: Path) -> list[str]:
    """Return a line that says which versions the results of a folder mix, if they do.

    Raises
    ------
    UserError
        When a journal cannot be read.
    """
    mixed = mixed_versions(journal.list_journals(folder / "journal"))
    listed = "; ".join(f"{name} {', '.join(versions)}" for name, versions in mixed.items())
    if mixed:
        return [f"these results mix versions: {listed}"]
    return []


# `flock` on files that stay: the system frees it when its holder ends, however that ends. The text in a file
# says who holds it and is for people alone. No program that is started meanwhile inherits the file: it would
# keep the folder locked after the death of its parent.
NAME = ".lock"
NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
REMEDY = "wait until it has ended, or stop it; `--shard 0/2` and `--shard 1/2` divide one folder's work"


@contextmanager
def locked(folder: Path, shard: str | None = None, warn: Callable[[str], None] = print) -> Iterator[None]:
    """Hold the lock of a folder of results, which exists, so that no two processes write to it unaware.

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
    with ExitStack() as locks:
        try:
            _hold(locks, folder, NAME, shared=shard is not None)
            if shard is not None:
                _hold(locks, folder, f"{NAME}-shard-{shard.replace('/', '-of-')}", shared=False)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                problem = f"cannot lock {folder}: {error.strerror}"
                raise user_error(problem, "check the folder and its permissions") from None
            warn(f"{folder} is on a file system without locks: see that no other process writes to it")
        yield


def _hold(locks: ExitStack, folder: Path, name: str, *, shared: bool) -> None:
    """Take one lock until `held` is closed."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        raise OSError(errno.ENOSYS, "no flock") from None
    problem = f"{folder / name} is not the lock of a run, and stays as it is"
    foreign = user_error(problem, "see what it is, and move it away")
    try:
        file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | NO_LINK, 0o666)
    except OSError as error:
        raise (foreign if error.errno == errno.ELOOP else error) from None
    locks.callback(os.close, file)
    if not stat.S_ISREG(os.fstat(file).st_mode) or (_text(file) and not _holder(file)):
        raise foreign
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise user_error(f"{folder} is in use{_holder(file)}", REMEDY) from None
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    me = {"pid": os.getpid(), "host": journal.host_name(), "since": since}
    os.ftruncate(file, 0)
    os.pwrite(file, (json.dumps(me) + "\n").encode(), 0)


def _text(file: int) -> bytes:
    return os.pread(file, 1000, 0).strip(b"\0\n")  # a power cut may leave zeros


def _holder(file: int) -> str:
    """Return who holds a lock, in words; nothing where its text cannot be read."""
    try:
        dataset = json.loads(_text(file))
        return f" by process {dataset['pid']:d} on {dataset['host']:s} since {dataset['since']:s} UTC"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


@contextmanager
def locked_if_results(folder: Path, warn: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a folder if it has a plan; what is no folder of results is left as it is."""
    with locked(folder, warn=warn) if (folder / "plan.json").is_file() else nullcontext():
        yield
