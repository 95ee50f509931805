"""What other programs and papers call the things that a config, a card or a command names."""

from collections.abc import Collection
from pathlib import Path


def _normalise(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum()).removesuffix("s")


def _read_table() -> dict[str, list[str]]:
    """Return the known names by each word of `synonyms.txt`: a line has names, and what they are called."""
    table = Path(__file__).with_name("synonyms.txt").read_text(encoding="utf-8")
    names: dict[str, list[str]] = {}
    for line in table.replace("\n    ", " ").strip().splitlines():
        called, _, words = line.rpartition(": ")
        for name in called.split():
            for word in [name, *words.split()]:
                names.setdefault(_normalise(word), []).append(name)
    return names


_NAMES = _read_table()


def find_synonyms(word: str, choices: Collection[str]) -> list[str]:
    """Return the known names that others call by a word; among classifiers that may be other packages' code.

    >>> find_synonyms("Random_State", ["seed", "name"]), find_synonyms("nmae", ["name"])
    (['seed'], [])
    >>> find_synonyms("knn", ["random-forest"])
    ['sklearn.neighbors:KNeighborsClassifier']
    """
    names = _NAMES.get(_normalise(word), [])
    return [name for name in names if name in choices or (":" in name and "random-forest" in choices)]
