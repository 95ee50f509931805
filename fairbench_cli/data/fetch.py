"""Download the official files into the user's cache: resumable and verified."""

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

    by_hand = f"get it from {card.source or 'its source'} by hand and put it into {folder}"
    if file.url is None:
        return Problem(f"card {card.name} has no address for {file.name}", by_hand)
    say(f"{file.name}: from {file.url}")
    known = f"sha256:{file.sha256}" if file.sha256 else None
    part = folder / f"{file.name}.part"
    try:
        pooch.retrieve(file.url, known, fname=file.name, path=folder, downloader=_resuming(part))
    except ValueError as error:  # pooch's word for a wrong checksum
        part.unlink(missing_ok=True)
        first = str(error).splitlines()[0]
        return Problem(f"{file.name} is not the file that card {card.name} describes: {first}", by_hand)
    except (OSError, requests.RequestException) as error:
        kept = f"; {part.stat().st_size} bytes are kept" if part.is_file() else ""
        return Problem(f"cannot download {file.url} ({type(error).__name__}){kept}", f"try again, or {by_hand}")
    say(f"{folder / file.name}: verified" if known else f"{folder / file.name}")
    return None


def _resuming(part: Path) -> Callable[[str, Any, Any], None]:
    """Return a downloader for pooch that goes on with what an earlier try left in `part`."""

    def download(url: str, output_file: Any, _pooch: Any) -> None:
        import requests

        have = part.stat().st_size if part.is_file() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                have = 0  # the part is whole, or of another file: start again
                part.unlink()
                return download(url, output_file, _pooch)
            answer.raise_for_status()
            resumed = answer.status_code == requests.codes.partial_content
            with part.open("ab" if resumed else "wb") as stream:
                for chunk in answer.iter_content(1 << 16):
                    stream.write(chunk)
        part.replace(output_file)
        return None

    return download
