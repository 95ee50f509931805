"""Random numbers of an audit, for what is drawn: by its seed and by what they are for."""

import hashlib

import numpy as np


def stream(seed: int, *place: str) -> np.random.Generator:
    """Return random numbers of a place's own: one more attribute changes no other's intervals."""
    key = "\x1f".join([str(seed), *place])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))
