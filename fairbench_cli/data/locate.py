"""Find the files of a card, or download them into the user's cache, and check their sha256."""

import hashlib
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from fairbench_cli.base.errors import Problem, UserError, refuse, user_error
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.data.card import Card, DataFile, find_card, read_card, shipped_network

TIMEOUT_SECONDS = 60
NO_CONNECTION = "no connection"
PAGE_ANSWERED = "a proxy or a page to log in may have answered"
LARGEST_DOWNLOAD = 10**10
"""Bytes of a file; a server that sends without end would fill the disk."""
WEB_PAGE = b"<!doctype html", b"<html"


class _EndlessFile(Exception):  # noqa: N818 - becomes the text of a problem
    """A server sends more than `LARGEST_DOWNLOAD`."""


@dataclass(frozen=True)
class LocatedFiles:
    """Where the files of a card are, in the card's order, and the sha256 of each."""

    paths: tuple[Path, ...]
    sha256: dict[str, str]

    def select(self, files: Sequence[DataFile]) -> "LocatedFiles":
        """Return some of them, which have different names."""
        path_of = dict(zip(self.sha256, self.paths, strict=True))
        paths = tuple(path_of[file.name] for file in files)
        return LocatedFiles(paths, {file.name: self.sha256[file.name] for file in files})


class MissingFilesError(UserError):
    """Files of a card are in none of the folders; what else is wrong with its files follows."""

    def __init__(
        self, card: Card, files: Sequence[DataFile], folders: Sequence[Path], *problems: Problem
    ) -> None:
        self.card = card
        self.files = files
        self.folders = folders
        super().__init__(describe_missing([self]), *problems)


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded data."""
    return Path(platformdirs.user_cache_dir("fairbench")) / "data"


def data_folders(data_dir: Path | None, card_path: Path) -> list[Path]:
    """Return the folders in which files are looked up, in order."""
    folders = [data_dir] if data_dir else []
    if environment := os.environ.get("FAIRBENCH_DATA"):
        folders.append(Path(environment))
    return folders + [card_path.parent, cache_folder()]


def locate_files(
    card: Card, folders: Sequence[Path], files: Sequence[DataFile] | None = None
) -> LocatedFiles:
    """Return every file of a card, or some of them, found and checked.

    Raises
    ------
    MissingFilesError
        When files are missing.
    UserError
        Naming each file whose checksum is not the card's; or when the card has no files.
    """
    if not card.files:
        fix = "run it with `from: shipped` and `test: network`, or name files of rows"
        raise user_error(f"{card.name} has no data files: it is a network alone", fix, card.where("files"))
    problems: list[Problem] = []
    missing: list[DataFile] = []
    paths: list[Path] = []
    hashes: dict[str, str] = {}
    for file in card.files if files is None else files:
        try:
            path = find_file(file, folders)
            digest = ""
            if path is not None:
                digest = file_sha256(path)
        except OSError as error:
            fix = "check its name and permissions"
            problems.append(Problem(f"cannot read data file {file.name}: {error.strerror}", fix))
            continue
        if path is None:
            missing.append(file)
            continue
        if file.sha256 is not None and digest != file.sha256:
            problems.append(_describe_wrong_file(card, file, path, digest))
        paths.append(path)
        hashes[file.name] = digest
    if missing:
        raise MissingFilesError(card, missing, folders, *problems)
    refuse(problems)
    return LocatedFiles(tuple(paths), hashes)


def find_file(file: DataFile, folders: Sequence[Path]) -> Path | None:
    """Return where a file is, unless it is in none of the folders."""
    return next((folder / file.name for folder in folders if (folder / file.name).is_file()), None)


def find_card_and_folders(name: str, data_dir: Path | None = None) -> tuple[Card, list[Path]]:
    """Return the card called `name` (or at that path), and where its files may be; raises as `read_card`."""
    path = find_card(name)
    return read_card(path), data_folders(data_dir, path)


def find_files(name: str, data_dir: Path | None = None) -> tuple[Card, LocatedFiles]:
    """Return the card called `name` (or at that path) and its files.

    Raises as `read_card` and `locate_files`.
    """
    card, folders = find_card_and_folders(name, data_dir)
    return card, locate_files(card, folders)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def describe_missing(errors: Sequence[MissingFilesError], otherwise: str = "") -> Problem:
    """Return that files are missing, each named once, and the command that fetches those with an address.

    `otherwise` says what else one can do.
    """
    clauses = []
    references = []
    file_of: dict[tuple[str, str], DataFile] = {}
    looked: dict[str, None] = {}
    for error in errors:
        own_files = {(file.name, file.sha256 or error.card.reference): file for file in error.files}
        new_files = {key: file for key, file in own_files.items() if key not in file_of}
        file_of |= new_files
        looked |= dict.fromkeys(map(str, error.folders))
        if new_files:
            clauses.append(f"{join_names([name for name, _ in new_files])} of {error.card.name}")
        if any(file.url for file in new_files.values()):
            references.append(error.card.reference)
    noun = "data file"
    folder = "its folder"
    if len(file_of) > 1:
        noun = "data files"
        folder = "their folder"
    fetch = ""
    if references:
        fetch = f"run `{shlex.join(['fairbench', 'data', 'fetch', *references])}`, or "
    by_hand = [file.name for file in file_of.values() if not file.url]
    if references and by_hand:
        fetch = f"{fetch.removesuffix('or ')}and "
        folder = f"the folder of {join_names(by_hand)}"
    problem = f"{noun} {'; '.join(clauses)} not found (looked in {', '.join(looked)})"
    return Problem(problem, f"{fetch}give {folder} with --data-dir or $FAIRBENCH_DATA{otherwise}")


def has_network(card: Card) -> bool:
    """Return whether a fitted network ships with a card."""
    return card.reference == card.name and shipped_network(find_card(card.name)).is_file()


def _describe_wrong_file(card: Card, file: DataFile, path: Path, digest: str) -> Problem:
    again = f"delete it and run `fairbench data fetch {card.reference}`"
    fix = "correct the sha256 on the card"
    if file.url:
        fix = again
    problem = f"not the file that card {card.name} describes: sha256 {digest}, expected {file.sha256}"
    return Problem(problem, f"{fix}, or name another --data-dir", str(path))


def fetch_files(card: Card, say: Callable[[str], None], folder: Path | None = None) -> list[Path]:
    """Return the paths of a card's files in the cache, downloading those that are not there yet.

    Raises
    ------
    UserError
        For each file without an address, that cannot be reached, or with another checksum.
    """
    target = folder or cache_folder()
    problems: list[Problem] = []
    paths = []
    for file in card.every_file:
        path = target / file.name
        if path.is_file() and file.sha256 in (None, file_sha256(path)):
            say(f"{path}: there already")
        else:
            problem = _fetch_one(card, file, target, say)
            if problem:
                problems += [problem]
        paths.append(path)
    refuse(problems)
    return paths


def _fetch_one(card: Card, file: DataFile, folder: Path, say: Callable[[str], None]) -> Problem | None:
    import requests

    path = folder / file.name
    partial_file = folder / f"{file.name}.part"
    if file.url is None:
        by_hand = f"get it from {card.source or 'its source'} by hand and save it as {path}"
        return Problem(f"card {card.name} has no address for {file.name}", by_hand)
    say(f"{file.name}: from {file.url}")
    otherwise = f"save that address as {path} by other means, such as a browser"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.sha256 is None:
            partial_file.unlink(missing_ok=True)  # nobody would notice that it is of another version
        _download(file.url, partial_file)
        digest = file_sha256(partial_file)
        if file.sha256 not in (None, digest):
            return _discard_wrong_file(card, file, partial_file, digest, otherwise)
        if file.sha256 is None and _is_web_page(partial_file):
            return _discard_web_page(file, partial_file, otherwise)
        partial_file.replace(path)
    except _EndlessFile:
        partial_file.unlink(missing_ok=True)
        problem = f"{file.url} gives more than {LARGEST_DOWNLOAD / 1e9:g} GB"
        return Problem(problem, f"look whether it is the file of card {card.name}; if so, {otherwise}")
    except (requests.RequestException, ValueError) as error:  # an address may be no address at all
        kept_note = ""
        if partial_file.is_file():
            kept_note = f"; {partial_file.stat().st_size:,} bytes are kept"
        again = "try again"
        if _describe_failure(error) == NO_CONNECTION:
            again = "try again when there is a network"
        return Problem(
            f"cannot download {file.url}: {_describe_failure(error)}{kept_note}", f"{again}, or {otherwise}"
        )
    except OSError as error:
        fix = "make room there, or save it elsewhere by hand and name its folder with --data-dir"
        return Problem(f"cannot write {file.name} into {folder}: {error.strerror or error}", fix)
    say(f"{path}: {'verified' if file.sha256 else 'not verified, no sha256 on the card'}")
    return None


def _discard_wrong_file(
    card: Card, file: DataFile, partial_file: Path, digest: str, otherwise: str
) -> Problem:
    """Remove what was downloaded and is another file than the card's; return what to do."""
    page = _is_web_page(partial_file)
    size = f"{partial_file.stat().st_size:,} bytes{' of a web page' if page else ''}"
    problem = f"{file.url} is not the file that card {card.name} describes: {size}, sha256 {digest}"
    fix = "try again: what was kept of an earlier try may have been of another file"
    if page:
        fix = f"{PAGE_ANSWERED}: {otherwise}"
    partial_file.unlink()
    return Problem(f"{problem}, expected {file.sha256}", fix)


def _discard_web_page(file: DataFile, partial_file: Path, otherwise: str) -> Problem:
    """Remove a web page that came in the place of a file without a checksum; return what to do."""
    n_bytes = partial_file.stat().st_size
    partial_file.unlink()
    return Problem(f"{file.url} is no data: {n_bytes:,} bytes of a web page", f"{PAGE_ANSWERED}: {otherwise}")


def _is_web_page(path: Path) -> bool:
    """Return whether a file begins as a web page does."""
    with path.open("rb") as stream:
        start = stream.read(200).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return start.startswith(WEB_PAGE)


def _describe_failure(error: Exception) -> str:
    """Return in a few words why a download failed."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    for kind, reason in {
        requests.Timeout: "no answer in time",
        requests.exceptions.ChunkedEncodingError: "the connection broke",
        requests.exceptions.SSLError: "no safe connection (its certificate, or a proxy's, is not trusted)",
        requests.exceptions.ProxyError: "the proxy does not answer",
        requests.ConnectionError: NO_CONNECTION,
    }.items():
        if isinstance(error, kind):
            return reason
    return str(error)


def _download(url: str, partial_file: Path) -> None:
    """Write what an address gives into `partial_file`, going on with what an earlier try left there."""
    import requests

    have = 0
    if partial_file.is_file():
        have = partial_file.stat().st_size
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as answer:
        if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
            partial_file.unlink()  # it is whole, or of another file: start again
            return _download(url, partial_file)
        answer.raise_for_status()
        resumed = answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        with partial_file.open("ab" if have and resumed else "wb") as stream:
            for chunk in answer.iter_content(1 << 12):
                stream.write(chunk)
                if stream.tell() > LARGEST_DOWNLOAD:
                    raise _EndlessFile
    return None
