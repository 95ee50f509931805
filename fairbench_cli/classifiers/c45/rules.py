"""The settings of a tree."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What decides the tree besides the data; see `C45` for the meanings.

    `rows` is the number of training rows as given, before equal rows are put together; `z` the normal
    quantile of `confidence`.
    """

    confidence: float
    z: float
    min_leaf: float
    prune: bool
    raise_subtrees: bool
    collapse: bool
    rows: int
