"""Keys and seeds: hashes of what they are for."""

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, text as it is.

    >>> canonical({"b": 0.5, "a": [1, "β"]})
    '{"a":[1,"β"],"b":0.5}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def seed_of(*parts: Any) -> int:
    """Return a seed in [0, 2^63) that depends on nothing but its parts.

    >>> seed_of(2019, "adult", 0) == seed_of(2019, "adult", 0) != seed_of(2019, "adult", 1)
    True
    """
    return int(digest(list(parts))[:16], 16) >> 1
