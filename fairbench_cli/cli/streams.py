"""Standard output and error that never raise: a reader that leaves, a full disk, an encoding without τ."""

import codecs
import errno
import io
import os
import shutil
import sys
from typing import Any, TextIO

from fairbench_cli.base.safe_text import substitute

SUBSTITUTE = "fairbench"  # the error handler's name
LEFT = (errno.EPIPE, errno.EINVAL)  # the reader has gone; the second is Windows'
NARROWEST = 20  # columns; a narrower terminal folds the lines once more

codecs.register_error(SUBSTITUTE, substitute)


class Sink(io.FileIO):
    """A file that throws away what is written after the first failure, and keeps what that was.

    A command can then finish its work and give its own exit code: `fairbench audit --fail … | head -1`.
    """

    failure: OSError | None = None

    def write(self, content: Any, /) -> int:
        """Write to the file, or nowhere once that has failed."""
        try:
            return super().write(content)
        except OSError as error:
            self.failure = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(content)


def open_streams() -> Sink | None:
    """Replace the standard streams of this process; return where standard output goes, unless a terminal.

    A stream that is closed becomes the null device first, so that no file opened later takes its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)  # workers have standard streams too
            file = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, file)
    sys.stderr, _ = _safe(sys.stderr, 2)
    sys.stdout, sink = _safe(sys.stdout, 1)
    return sink


def close_streams(sink: Sink | None, code: int) -> int:
    """Write what is left, and return the exit code: 2 where the output could not be written."""
    sys.stdout.flush()
    if sink is not None and sink.failure is not None and sink.failure.errno not in LEFT:
        from fairbench_cli.base.errors import Problem

        problem = f"cannot write the output: {sink.failure.strerror}"
        sys.stderr.write(f"{Problem(problem, 'send it elsewhere')}\n")
        code = 2
    sys.stderr.flush()
    return code


def _safe(stream: TextIO, number: int) -> tuple[TextIO, Sink | None]:
    """Return a stream that does not raise; a terminal (on Windows no ordinary file) stays as it is."""
    if stream.isatty():
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SUBSTITUTE)
        return stream, None
    sink = Sink(number, "w", closefd=False)
    encoding = stream.encoding
    lines = number == 2
    return io.TextIOWrapper(io.BufferedWriter(sink), encoding, SUBSTITUTE, line_buffering=lines), sink


def has_unicode() -> bool:
    """Say whether standard output can hold every character."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")


def in_its_encoding(text: str) -> str:
    """Return a text with what standard output cannot hold replaced; before columns are measured."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, SUBSTITUTE).decode(encoding)


def widen() -> None:
    """Let no table be drawn narrower than `NARROWEST` columns; 0 is a terminal that does not say."""
    if os.environ.get("COLUMNS", "").strip("0 ") == "":
        os.environ.pop("COLUMNS", None)
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)
