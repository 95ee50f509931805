"""Seeds: hashes of what they are for."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from fairbench_cli.checksums import canonical, digest

_key = cache(canonical)


def digest_of(parts: Mapping[str, str]) -> str:
    """Return the `digest` of a mapping whose values are given as canonical JSON.

    >>> digest_of({"b": canonical([1, "β"]), "a": canonical({})}) == digest({"a": {}, "b": [1, "β"]})
    True
    """
    text = ",".join(f"{_key(key)}:{parts[key]}" for key in sorted(parts))
    return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()


def seed_of(*parts: Any) -> int:
    """Return a seed in [0, 2^63) that depends on nothing but its parts.

    >>> seed_of(2019, "adult", 0) == seed_of(2019, "adult", 0) != seed_of(2019, "adult", 1)
    True
    """
    return int(digest(list(parts))[:16], 16) >> 1
