"""Download the official files into the user's cache: resumable and verified."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairbench_cli.data.card import Card, File
from fairbench_cli.data.locate import cache_folder, file_sha256
from fairbench_cli.errors import Problem, UserError

TIMEOUT_SECONDS = 60


def fetch(card: Card, say: Callable[[str], None], folder: Path | None = None) -> list[Path]:
    """Download every file of a card that is not in the cache yet.

    Raises
    ------
    UserError
        For each file without an address, that cannot be reached, or with another checksum.
    """
    target = folder or cache_folder()
    problems: list[Problem] = []
    paths = []
    for file in card.files:
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


def _fetch_one(card: Card, file: File, folder: Path, say: Callable[[str], None]) -> Problem | None:
    import pooch
    import requests

    # We say what happens ourselves, in one line a file.
    pooch.get_logger().setLevel(logging.ERROR)
    by_hand = f"get it from {card.source or 'its source'} by hand and put it into {folder}"
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
    say(
        f"{folder / file.name}: verified"
        if known
        else f"{folder / file.name}: not verified, no sha256 on the card"
    )
    return None


def _reason(error: Exception) -> str:
    """Say in a few words why a download failed."""
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
