"""Keys and seeds: hashes of what they are for."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, text as it is.

    >>> canonical({"b": 0.5, "a": [1, "β"]})
    '{"a":[1,"β"],"b":0.5}'
    """
    return _JSON.encode(value)


_key = cache(canonical)


def digest(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, in hexadecimal."""
    return _sha256(canonical(value))


def digest_of(parts: Mapping[str, str]) -> str:
    """Return the `digest` of a mapping whose values are given as canonical JSON.

    >>> digest_of({"b": canonical([1, "β"]), "a": canonical({})}) == digest({"a": {}, "b": [1, "β"]})
    True
    """
    text = ",".join(f"{_key(key)}:{parts[key]}" for key in sorted(parts))
    return _sha256(f"{{{text}}}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()  # names of files may be no UTF-8


def seed_of(*parts: Any) -> int:
    """Return a seed in [0, 2^63) that depends on nothing but its parts.

    >>> seed_of(2019, "adult", 0) == seed_of(2019, "adult", 0) != seed_of(2019, "adult", 1)
    True
    """
    return int(digest(list(parts))[:16], 16) >> 1
