"""Random numbers of an audit, each place with its own."""

import hashlib

import numpy as np


def stream(seed: int, *stream_key: str) -> "np.random.Generator":
    """Return random numbers of a place's own: one more attribute changes no other's intervals."""
    key = "\x1f".join([str(seed), *stream_key])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))
