"""What one repeat may take: seconds and memory."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from fairbench_cli.base.validation import StrictModel, mistake

SIZE = r"^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]?)i?B?$"
_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(value: Any) -> Any:
    """Return a size such as ``4GB`` in bytes; a number as it is.

    >>> bytes_of("4GB"), bytes_of("1.5 G"), bytes_of("500MB")
    (4000000000, 1500000000, 500000000)
    """
    parts = re.fullmatch(SIZE, value) if isinstance(value, str) else None
    if isinstance(value, str) and parts is None:
        raise mistake("must be a size", "write a size such as 4GB or 500MB")
    return value if parts is None else round(float(parts[1]) * _UNITS[parts[2]])


def size_in_words(size: int) -> str:
    """Return a size in bytes as it is written in a config.

    >>> size_in_words(4_000_000_000), size_in_words(1_500_000_000), size_in_words(1_234_567)
    ('4GB', '1500MB', '1234567B')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


Size = Annotated[
    int,
    BeforeValidator(bytes_of),
    Field(ge=10**8),
    PlainSerializer(size_in_words, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 10**8}, {"type": "string", "pattern": SIZE}]}),
]
"""A number of bytes, which may be written with a unit."""


class Limits(StrictModel):
    """What one repeat may take; nothing of it decides numbers."""

    seconds: float | None = Field(
        default=600.0,
        gt=0,
        description="Seconds that a repeat may run; then it is a row `overtime`. `null`: no limit.",
    )
    memory: Size | None = Field(
        default=4 * 10**9,
        description="Memory that a repeat may take on top of its worker's, such as `4GB`; then it is "
        "a row `memory`. `null`: no limit.",
    )

    def __str__(self) -> str:
        """Return them in words.

        >>> str(Limits()), str(Limits(seconds=None, memory="500MB"))
        ('600 s, 4GB', 'no limit of time, 500MB')
        """
        seconds = "no limit of time" if self.seconds is None else f"{self.seconds:g} s"
        return f"{seconds}, {'no limit of memory' if self.memory is None else size_in_words(self.memory)}"
