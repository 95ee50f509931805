"""For libraries that draw from generators of the whole process."""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python and numpy, 0 to 2³² − 1, and set them back on leaving.

    fairbench does not use them. Some libraries do, and would not give the same numbers twice. Warnings of
    deprecated calls are dropped: they are for a library's authors.

    >>> with seeded(1): one = random.random()
    >>> with seeded(1): print(random.random() == one)
    True
    """
    before = random.getstate(), np.random.get_state()  # noqa: NPY002 - that of the library
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            for kind in (DeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", kind)
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
