"""Values that are likely one and the same, written in several ways."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fairbench_cli.base.errors import shown

MOST_NAMED = 5

# Cells that say that a number is unknown or could not be computed, in small letters; no value is meant.
NO_VALUE = frozenset(
    [*("", "?", "na", "n/a", "#n/a", "nan", "-nan", "null", "<na>"), *("inf", "-inf", "+inf")]
    + [f"{sign}infinity" for sign in ("", "-", "+")]
)


@dataclass(frozen=True)
class Twins:
    """Values that differ in nothing that is likely meant.

    Parameters
    ----------
    values : tuple of str
        Two or more, in the order in which they were given.
    how : str
        In what they differ; it continues "A, B …".
    """

    values: tuple[str, ...]
    how: str

    def __str__(self) -> str:
        write = shown if "look alike" not in self.how else json.dumps  # which shows what cannot be seen
        more = ", …" if len(self.values) > MOST_NAMED else ""
        return f"{', '.join(map(write, self.values[:MOST_NAMED]))}{more} {self.how}"


def twins_among(values: Iterable[str]) -> list[Twins]:
    r"""Return which values differ in capitals, in a dot at the end, or in what cannot be seen.

    >>> print(*twins_among(["Asian", "yes.", "asian", "b", "yes"]), sep="\n")
    "Asian", "asian" differ in capitals only
    "yes.", "yes" differ in a dot at the end only
    >>> print(*twins_among(["a b", "a\u00a0b"]))
    "a b", "a\u00a0b" look alike, and differ in blanks, accents or unseen characters
    """
    alike = defaultdict(list)
    for value in dict.fromkeys(values):
        same = _looks(value).casefold().rstrip(" .")
        if same:
            alike[same].append(value)
    return [Twins(tuple(each), _difference(each)) for each in alike.values() if len(each) > 1]


def _difference(values: list[str]) -> str:
    looks = [_looks(value) for value in values]
    if len(set(looks)) < len(looks):
        return "look alike, and differ in blanks, accents or unseen characters"
    if len({look.casefold() for look in looks}) == 1:
        return "differ in capitals only"
    if len({look.rstrip(" .") for look in looks}) == 1:
        return "differ in a dot at the end only"
    return "differ in capitals and a dot at the end only"


def _looks(text: str) -> str:
    """Return a text as it looks: letters in one form, none without a width, blanks alike."""
    composed = unicodedata.normalize("NFKC", text)
    visible = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return re.sub(r"\s+", " ", visible).strip()
