"""Checksums of JSON values, seeds made of them, and files of JSON that say their own."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

FIELD = "sha256"

_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, text as it is.

    >>> canonical_json({"b": 0.5, "a": [1, "β"]})
    '{"a":[1,"β"],"b":0.5}'
    """
    return _JSON.encode(value)


_key = cache(canonical_json)


def digest(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, in hexadecimal."""
    return _sha256(canonical_json(value))


def digest_of_parts(json_by_key: Mapping[str, str]) -> str:
    """Return the `digest` of a mapping whose values are given as canonical JSON.

    >>> parts = {"b": canonical_json([1, "β"]), "a": canonical_json({})}
    >>> digest_of_parts(parts) == digest({"a": {}, "b": [1, "β"]})
    True
    """
    text = ",".join(f"{_key(key)}:{json_by_key[key]}" for key in sorted(json_by_key))
    return _sha256(f"{{{text}}}")


def derive_seed(*components: Any) -> int:
    """Return a seed in [0, 2^63) that depends on nothing but its parts.

    >>> derive_seed(2019, "adult", 0) == derive_seed(2019, "adult", 0) != derive_seed(2019, "adult", 1)
    True
    """
    return int(digest(list(components))[:16], 16) >> 1


def add_checksum(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with its sha256 as the last field."""
    return {**content, FIELD: digest(content)}


def matches_checksum(content: Mapping[str, Any]) -> bool | None:
    """Return whether the sha256 that a file's content gives is its own; None where it gives none.

    >>> content = add_checksum({"a": 1})
    >>> matches_checksum(content), matches_checksum(content | {"a": 2}), matches_checksum({"a": 1})
    (True, False, None)
    """
    if FIELD not in content:
        return None
    try:
        computed = digest({key: value for key, value in content.items() if key != FIELD})
    except (ValueError, RecursionError):  # NaN, half a surrogate pair
        return False
    return bool(content[FIELD] == computed)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()  # names of files may be no UTF-8
