"""Group rows by what they have in common."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def group_by(rows: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return rows by what they have in common, in the order in which they come.

    >>> group_by(["ab", "c", "de"], len)
    {2: ['ab', 'de'], 1: ['c']}
    """
    rows_by_key: dict[Key, list[Item]] = {}
    for row in rows:
        rows_by_key.setdefault(key(row), []).append(row)
    return rows_by_key


def keep_together(rows: Iterable[Item], key: Callable[[Item], Key]) -> list[Item]:
    """Return rows with those next to each other that have something in common, where the first of them was.

    >>> keep_together(["ab", "c", "de"], len)
    ['ab', 'de', 'c']
    """
    together: list[Item] = []
    for alike in group_by(rows, key).values():
        together += alike
    return together
