"""Find the files of a card and check that they are the right ones."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from fairbench_cli.data.card import Card, File
from fairbench_cli.errors import Problem, UserError


@dataclass(frozen=True)
class Found:
    """Where the files of a card are, in the card's order, and the sha256 of each."""

    paths: tuple[Path, ...]
    sha256: dict[str, str]


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded data."""
    return Path(platformdirs.user_cache_dir("fairbench")) / "data"


def folders(data_dir: Path | None, card_path: Path) -> list[Path]:
    """List the folders in which files are looked up, in order."""
    named = [data_dir] if data_dir else []
    if environment := os.environ.get("FAIRBENCH_DATA"):
        named.append(Path(environment))
    return [*named, card_path.parent, cache_folder()]


def locate(card: Card, places: list[Path]) -> Found:
    """Find and check every file of a card.

    Raises
    ------
    UserError
        Naming each file that is missing or whose checksum is not the card's.
    """
    problems: list[Problem] = []
    paths: list[Path] = []
    hashes: dict[str, str] = {}
    for file in card.files:
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
    return Found(tuple(paths), hashes)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _missing(card: Card, file: File, places: list[Path]) -> Problem:
    looked = ", ".join(dict.fromkeys(str(folder) for folder in places))
    fetch = f"run `{_fetch(card)}`, or " if file.url else ""
    return Problem(
        f"data file {file.name} of {card.name} not found (looked in {looked})",
        f"{fetch}give its folder with --data-dir or $FAIRBENCH_DATA",
    )


def _other(card: Card, file: File, path: Path, digest: str) -> Problem:
    fetch = f"delete it and run `{_fetch(card)}`" if file.url else "correct the sha256 on the card"
    return Problem(
        f"not the file that card {card.name} describes: sha256 {digest}, expected {file.sha256}",
        f"{fetch}, or name another --data-dir",
        str(path),
    )


def _fetch(card: Card) -> str:
    return f"fairbench data fetch {card.reference}"
