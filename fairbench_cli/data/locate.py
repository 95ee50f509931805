"""Find the files of a card, or download them into the user's cache, and check their sha256."""

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from fairbench_cli.base.errors import Problem, UserError, user_error
from fairbench_cli.data.card import Card, DataFile, find_card, read_card

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class LocatedFiles:
    """Where the files of a card are, in the card's order, and the sha256 of each."""

    paths: tuple[Path, ...]
    sha256: dict[str, str]


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded data."""
    return Path(platformdirs.user_cache_dir("fairbench")) / "data"


def folders(data_dir: Path | None, card_path: Path) -> list[Path]:
    """Return the folders in which files are looked up, in order."""
    named = [data_dir] if data_dir else []
    if environment := os.environ.get("FAIRBENCH_DATA"):
        named.append(Path(environment))
    return [*named, card_path.parent, cache_folder()]


def locate(card: Card, places: list[Path], files: Sequence[DataFile] | None = None) -> LocatedFiles:
    """Return every file of a card, or some of them, found and checked.

    Raises
    ------
    UserError
        Naming each file that is missing or whose checksum is not the card's; or when the card has no files.
    """
    if not card.files:
        fix = "run it with `sample: {from: shipped}` and `test: network`, or name files of rows"
        raise user_error(f"{card.name} has no data files: it is a network alone", fix, card.where("files"))
    problems: list[Problem] = []
    paths: list[Path] = []
    hashes: dict[str, str] = {}
    for file in card.files if files is None else files:
        try:
            path = next((folder / file.name for folder in places if (folder / file.name).is_file()), None)
            digest = "" if path is None else file_sha256(path)
        except OSError as error:
            fix = "check its name and permissions"
            problems.append(Problem(f"cannot read data file {file.name}: {error.strerror}", fix))
            continue
        if path is None:
            problems.append(_missing(card, file, places))
            continue
        if file.sha256 is not None and digest != file.sha256:
            problems.append(_other(card, file, path, digest))
        paths.append(path)
        hashes[file.name] = digest
    if problems:
        raise UserError(*problems)
    return LocatedFiles(tuple(paths), hashes)


def find_files(name: str, data_dir: Path | None = None) -> tuple[Card, LocatedFiles]:
    """Return the card called `name` (or at that path) and its files; raises as `read_card` and `locate`."""
    path = find_card(name)
    card = read_card(path)
    return card, locate(card, folders(data_dir, path))


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _missing(card: Card, file: DataFile, places: list[Path]) -> Problem:
    looked = ", ".join(dict.fromkeys(str(folder) for folder in places))
    fetch = f"run `{_fetch(card)}`, or " if file.url else ""
    what = f"data file {file.name} of {card.name} not found (looked in {looked})"
    return Problem(what, f"{fetch}give its folder with --data-dir or $FAIRBENCH_DATA")


def _other(card: Card, file: DataFile, path: Path, digest: str) -> Problem:
    fetch = f"delete it and run `{_fetch(card)}`" if file.url else "correct the sha256 on the card"
    what = f"not the file that card {card.name} describes: sha256 {digest}, expected {file.sha256}"
    return Problem(what, f"{fetch}, or name another --data-dir", str(path))


def _fetch(card: Card) -> str:
    return f"fairbench data fetch {card.reference}"


def fetch(card: Card, say: Callable[[str], None], folder: Path | None = None) -> list[Path]:
    """Return the paths of a card's files in the cache, downloading those that are not there yet.

    Raises
    ------
    UserError
        For each file without an address, that cannot be reached, or with another checksum.
    """
    target = folder or cache_folder()
    problems: list[Problem] = []
    paths = []
    for file in (*card.files, *card.test_files):
        path = target / file.name
        if path.is_file() and file.sha256 in (None, file_sha256(path)):
            say(f"{path}: there already")
        else:
            problem = _fetch_one(card, file, target, say)
            problems += [problem] if problem else []
        paths.append(path)
    if problems:
        raise UserError(*problems)
    return paths


def _fetch_one(card: Card, file: DataFile, folder: Path, say: Callable[[str], None]) -> Problem | None:
    import pooch
    import requests

    # We say what happens ourselves, in one line a file.
    pooch.get_logger().setLevel(logging.ERROR)
    by_hand = f"get it from {card.source or 'its source'} by hand and save it in {folder}"
    if file.url is None:
        return Problem(f"card {card.name} has no address for {file.name}", by_hand)
    say(f"{file.name}: from {file.url}")
    known = f"sha256:{file.sha256}" if file.sha256 else None
    part = folder / f"{file.name}.part"
    if known is None:
        part.unlink(missing_ok=True)  # without a checksum nobody would notice that it is of another version
    try:
        pooch.retrieve(file.url, known, fname=file.name, path=folder, downloader=_resuming(part))
    except (OSError, requests.RequestException) as error:  # before ValueError: some of them are both
        kept = f"; {part.stat().st_size} bytes are kept" if part.is_file() else ""
        return Problem(f"cannot download {file.url}: {_reason(error)}{kept}", f"try again, or {by_hand}")
    except ValueError as error:  # pooch's word for a wrong checksum
        first = str(error).splitlines()[0]
        return Problem(f"{file.name} is not the file that card {card.name} describes: {first}", by_hand)
    say(f"{folder / file.name}: {'verified' if known else 'not verified, no sha256 on the card'}")
    return None


def _reason(error: Exception) -> str:
    """Return in a few words why a download failed."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error)


def _resuming(part: Path) -> Callable[[str, Any, Any], None]:
    """Return a downloader for pooch that goes on with what an earlier try left in `part`."""

    def download(url: str, output_file: Any, _pooch: Any) -> None:
        import requests

        have = part.stat().st_size if part.is_file() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as answer:
            if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
                part.unlink()  # it is whole, or of another file: start again
                return download(url, output_file, _pooch)
            answer.raise_for_status()
            resumed = answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            with part.open("ab" if have and resumed else "wb") as stream:
                for chunk in answer.iter_content(1 << 12):
                    stream.write(chunk)
        part.replace(output_file)
        return None

    return download
