"""Folders that runs wrote, below one that the command line named: listed and read, never started."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.safe_text import format_count

PLAN = "plan.json"
PAGE = "report.html"
ANSWER = "answer.md"
MANIFEST = "manifest.json"
DEEPEST = 3  # folders below the one that was named
MOST_LISTED = 200
LARGEST_JOURNALS = 50_000_000  # bytes; of larger ones it is not counted how far a run is


@dataclass(frozen=True)
class ListedRun:
    """A folder of results as it is listed.

    Parameters
    ----------
    name, address : str
        Its path below the folder that was named, and that as one part of an address.
    answer : str
        The first sentence of the answer; empty where there is none yet.
    state : str
        Whether it is finished, how far it is.
    has_page, is_readable : bool
        Whether it has a page, and whether it can be compared.
    """

    name: str
    address: str
    answer: str
    state: str
    has_page: bool
    is_readable: bool


def list_runs(results: Path | None) -> list[ListedRun]:
    """Return the runs under a folder, those that changed last first."""
    if results is None:
        return []
    folders = list(_find_folders(results, DEEPEST))
    folders.sort(key=_changed, reverse=True)
    return [_describe(folder, results) for folder in folders[:MOST_LISTED]]


def _find_folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders of results in a folder and below; links are not followed."""
    if (folder / PLAN).is_file():
        yield folder
        return
    if depth == 0:
        return
    with suppress(OSError):
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
                yield from _find_folders(entry, depth - 1)


def _changed(folder: Path) -> float:
    times = [(folder / PLAN).stat().st_mtime]
    with suppress(OSError):
        times += [path.stat().st_mtime for path in (folder / "journal").iterdir()]
    return max(times)


def _describe(folder: Path, results: Path) -> ListedRun:
    name = folder.relative_to(results).as_posix()
    if name == ".":
        name = folder.resolve().name
        address = "."
    else:
        address = name
    finished = _finished(folder)
    return ListedRun(
        name,
        quote(address, safe="").replace(".", "%2E") if address == "." else quote(address, safe=""),
        _first_sentence(folder),
        f"finished {finished}" if finished else _progress(folder),
        (folder / PAGE).is_file(),
        (folder / "results.csv").is_file(),
    )


def _finished(folder: Path) -> str:
    """Return when a run ended, in words; empty while it runs and where it was stopped."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return str(manifest["finished"])[:16].replace("T", " ")
    return ""


def _first_sentence(folder: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        for line in (folder / ANSWER).read_text(encoding="utf-8").splitlines():
            if line.startswith("**"):
                return line.strip("*")
    return ""


def _progress(folder: Path) -> str:
    """Return how many repeats are done of those that are planned."""
    from fairbench_cli.experiment.journal.folder import read_results

    with suppress(OSError):
        size = sum(path.stat().st_size for path in (folder / "journal").iterdir())
        if size > LARGEST_JOURNALS:
            return "not finished"
    try:
        plan, reading = read_results(folder)
    except UserError as error:
        return f"cannot be read: {error.problems[0].what}"
    planned = len(plan.cells) * plan.config.repeats
    return f"{len(reading.records)} of {format_count(planned, 'repeat')} done"


def _folder_of(results: Path | None, address: str) -> Path | None:
    """Return the folder of an address, if it is one of those that are listed."""
    if results is None:
        return None
    wanted_name = unquote(address)
    for folder in _find_folders(results, DEEPEST):
        if folder.relative_to(results).as_posix() == wanted_name:
            return folder
    return None


def page_of(results: Path | None, address: str) -> str | None:
    """Return the page of a run that is listed; None where there is none."""
    folder = _folder_of(results, address)
    if folder is None or not (folder / PAGE).is_file():
        return None
    return (folder / PAGE).read_text(encoding="utf-8")


def compare_page(results: Path | None, addresses: Sequence[str], bar: str, assets: str) -> str:
    """Return the page that compares two runs.

    Raises
    ------
    UserError
        For any number but two, a folder that is not listed, and runs that have nothing in common.
    """
    from fairbench_cli.document.html import render_served_page
    from fairbench_cli.report.compare_runs import compare_runs

    folders = [_folder_of(results, address) for address in addresses]
    listed = [folder for folder in folders if folder is not None]
    if len(listed) != 2 or len(folders) != 2:
        problem = f"{format_count(len(listed), 'run')} of the list: a comparison is of two"
        raise user_error(problem, "go back and tick two")
    first_run, second_run = listed
    names = (first_run.name, second_run.name)
    if first_run.name == second_run.name:
        names = (str(first_run), str(second_run))
    compared = compare_runs((first_run, second_run), names)
    return render_served_page(
        compared.document, bar=bar, stylesheets=[f"{assets}web.css"], scripts=[f"{assets}web.js"]
    )
