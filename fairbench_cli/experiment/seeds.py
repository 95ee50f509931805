"""Seeds: hashes of what they are for."""

from typing import Any

from fairbench_cli.base.checksums import digest


def seed_of(*parts: Any) -> int:
    """Return a seed in [0, 2^63) that depends on nothing but its parts.

    >>> seed_of(2019, "adult", 0) == seed_of(2019, "adult", 0) != seed_of(2019, "adult", 1)
    True
    """
    return int(digest(list(parts))[:16], 16) >> 1
