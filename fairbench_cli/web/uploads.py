"""A file that a browser sends, kept in a private folder under a name of our own."""

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

ENDING = re.compile(r"(\.[a-z]{1,6})?\.[a-z0-9]{1,9}$")
MOST_BYTES = 2 * 2**30
LEFT_FREE = 2**30  # bytes of the disk
SILENCE = 10.0  # seconds without a byte
LONGEST_NAME = 120


class UploadRefused(Exception):  # noqa: N818 - it reads as a sentence after `raise`
    """A file that is not taken: the status of HTTP, what is wrong and what to do."""

    def __init__(self, status: int, what: str, fix: str) -> None:
        self.status = status
        self.what = what
        self.fix = fix
        super().__init__(what)


def shown_name(name: str) -> str:
    r"""Return the name of a file for people: no folders, no control characters, not too long.

    >>> shown_name("../../etc/evil.csv"), shown_name(r"C:\data\x.csv"), shown_name("a\x00\n.csv")
    ('evil.csv', 'x.csv', 'a.csv')
    >>> shown_name("")
    'table'
    """
    last_part = re.split(r"[/\\]", name)[-1]
    printable_text = "".join(letter for letter in last_part if letter.isprintable()).strip()
    if len(printable_text) > LONGEST_NAME:
        half = LONGEST_NAME // 2
        printable_text = f"{printable_text[:half]}…{printable_text[-half:]}"
    return printable_text or "table"


def ending_of(name: str) -> str:
    """Return the ending of a file, which is known by its first bytes where this says nothing.

    >>> ending_of("people.CSV.gz"), ending_of("staff.dta"), ending_of("x.a/b"), ending_of("data (2)")
    ('.csv.gz', '.dta', '', '')
    """
    match = ENDING.search(name.lower())
    return "" if match is None else match[0]


def check_length(length: str | None, most: int, folder: Path) -> None:
    """Refuse what says that it is too large, before a byte is read."""
    if length is None:
        return
    if not length.isdecimal():
        raise UploadRefused(400, "the length of the file is no number", "send it again")
    _check_size(int(length), most)
    if int(length) + LEFT_FREE > shutil.disk_usage(folder).free:
        raise UploadRefused(
            507, "there is too little room on the disk for the file", "make room, and send it again"
        )


def _check_size(size: int, most: int, least: int = 0) -> None:
    if size > most:
        problem = f"the file is larger than {most / 2**30:g} GB"
        raise UploadRefused(413, problem, "audit it in a terminal: fairbench audit FILE")
    if size < least:
        raise UploadRefused(400, "the file is empty", "choose another file")


async def store(
    body: AsyncIterator[bytes], folder: Path, ending: str, most: int, silence: float = SILENCE
) -> Path:
    """Write what comes into a new file, which nobody else may read, and return its path.

    Raises
    ------
    UploadRefused
        For more than `most` bytes, none at all, and where nothing came for `silence` seconds; nothing is
        left of it.
    """
    path = folder / f"{secrets.token_hex(8)}{ending}"
    stored = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            chunks = aiter(body)
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(chunks), silence)
                except StopAsyncIteration:
                    break
                except TimeoutError:
                    problem = f"nothing came for {silence:g} seconds"
                    raise UploadRefused(408, problem, "send the file again") from None
                stored += len(chunk)
                _check_size(stored, most)
                # The disk may be slow; other requests are answered meanwhile.
                await asyncio.to_thread(file.write, chunk)
        _check_size(stored, most, least=1)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
