"""Text that is not UTF-8: where its first wrong byte is, and how a file of another encoding is read."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

CHUNK = 1 << 20  # bytes that are read at once
MOST_KEPT = 100_000  # characters of a line that are kept to say what stands before a byte
WINDOWS = "cp1252"
"""What Western text that is not UTF-8 likely is; it reads Latin-1, too, but for control characters."""
ADVICE = "latin-1, cp1252 (of Windows), utf-16, or another that Python knows, such as cp1250"


class UndecodableError(ValueError):
    """A byte that is no text in the encoding that a file is read in.

    Parameters
    ----------
    line : int
        Its line, from 1.
    before : str
        What stands before it in its line.
    byte : int
    has_wide_letters : bool
        Whether letters that are not ASCII stand before it in the file: then the encoding is likely right.
    """

    def __init__(self, line: int, before: str, byte: int, *, has_wide_letters: bool) -> None:
        super().__init__(f"byte {byte:#x} in line {line}")
        self.line = line
        self.before = before
        self.byte = byte
        self.has_wide_letters = has_wide_letters


@dataclass
class _Position:
    """How far a text was read: its line, what stands before in it, and whether a letter was not ASCII."""

    line: int = 1
    before: str = ""
    has_wide_letters: bool = False

    def move(self, text: str) -> None:
        """Go on behind some text."""
        *full_lines, last_line = text.split("\n")
        self.line += len(full_lines)
        if full_lines:
            self.before = last_line[:MOST_KEPT]
        else:
            self.before = (self.before + last_line)[:MOST_KEPT]
        self.has_wide_letters = self.has_wide_letters or not text.isascii()


def is_text_encoding(name: str) -> bool:
    """Return whether Python reads text in an encoding of this name.

    >>> is_text_encoding("latin-1"), is_text_encoding("ansi2"), is_text_encoding("zlib")
    (True, False, False)
    """
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        return False
    return True


def is_utf8(name: str) -> bool:
    """Return whether an encoding is UTF-8, with a byte order mark or without.

    >>> is_utf8("UTF8"), is_utf8("utf-8-sig"), is_utf8("latin-1")
    (True, True, False)
    """
    return codecs.lookup(name).name in ("utf-8", "utf-8-sig")


def decode_chunks(stream: BinaryIO, encoding: str) -> Iterator[str]:
    r"""Yield the text of a stream, a part at a time.

    Raises
    ------
    UndecodableError
        For the first byte that is no text.

    >>> import io
    >>> "".join(decode_chunks(io.BytesIO(b"caf\xe9"), "latin-1"))
    'café'
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    position = _Position()
    is_last = False
    while not is_last:
        chunk = stream.read(CHUNK)
        is_last = not chunk
        try:
            text = decoder.decode(chunk, final=is_last)
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError):
                position.move(error.object[: error.start].decode(encoding, "ignore"))
                byte = error.object[error.start]
            else:  # UTF-16 without a byte order mark
                byte = chunk[0]
            wide = position.has_wide_letters
            raise UndecodableError(position.line, position.before, byte, has_wide_letters=wide) from None
        position.move(text)
        yield text


def find_undecodable(stream: BinaryIO) -> UndecodableError | None:
    r"""Return the error for the first byte of a stream that is no text; None where there is none.

    >>> import io
    >>> error = find_undecodable(io.BytesIO(b"sex,place\nf,Orl\xe9ans\n"))
    >>> error.line, error.before
    (2, 'f,Orl')
    """
    try:
        for _ in decode_chunks(stream, "utf-8"):
            pass
    except UndecodableError as error:
        return error
    return None


def recode(source: BinaryIO, target: BinaryIO, encoding: str) -> None:
    """Write a text in UTF-8, without a byte order mark.

    Raises
    ------
    UndecodableError
        For the first byte that is no text in the encoding.
    """
    is_start = True
    for text in decode_chunks(source, encoding):
        if is_start:
            text = text.removeprefix("\ufeff")
        is_start = is_start and not text
        target.write(text.encode("utf-8", "surrogatepass"))


def likely_encoding(head: bytes, error: UndecodableError) -> str | None:
    r"""Return the likely encoding of a text that is not UTF-8, by its first bytes; None where unclear.

    It is unclear where letters that are UTF-8 come before: some lines were likely added to the file.

    >>> error = UndecodableError(1, "", 0xE9, has_wide_letters=False)
    >>> likely_encoding(b"caf\xe9", error), likely_encoding(b"\xff\xfea\x00", error)
    ('cp1252', 'utf-16')
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if error.has_wide_letters or b"\x00" in head:
        return None
    try:
        head.decode(WINDOWS)
    except UnicodeDecodeError:
        return "latin-1"
    return WINDOWS
