"""Values that are likely one and the same, written in several ways."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from fairbench_cli.base.errors import format_value

MOST_NAMED = 5
FEW = 6  # values, of which first letters may be a short form
MOST_LETTERS = 4  # of a short form
FEWEST_LEFT = 2  # letters that it leaves out
WORDS = frozenset(("yes", "no", "not", "non", "old", "man"))  # which are short for nothing
ENDINGS = frozenset(("er", "est", "ly", "ing", "en"))
TOTALS = frozenset(
    "total totals grand totale totaal subtotal all alle everybody everyone overall both combined sum summe "  # noqa: SIM905
    "gesamt gesamtsumme insgesamt zwischensumme ensemble tous toutes todos todas tutti suma razem".split()
)
"""Words of which one is in the name of what is the sum of the other groups; none is written short."""
OTHERS = frozenset(
    ("other", "others", "rest", "andere", "anderen", "übrigen", "autres", "otros", "otras", "altri")
)
"""Words of the name of one more group: "All other races"."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
# The letters of Unicode's confusables (UTS 39) that names are likely to be typed with.
_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορ",
    "ABESIJKMHOPCTYXaeopcyxijsdhqwABEZHIKMNOPTYXaivop",
)


@dataclass(frozen=True)
class SpellingVariants:
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
        write = (
            format_value if "look alike" not in self.how else json.dumps
        )  # which shows what cannot be seen
        ellipsis = ""
        if len(self.values) > MOST_NAMED:
            ellipsis = ", …"
        return f"{', '.join(map(write, self.values[:MOST_NAMED]))}{ellipsis} {self.how}"


def find_spelling_variants(values: Iterable[str]) -> list[SpellingVariants]:
    r"""Return which values differ in nothing that is seen or meant: capitals, a number's zeros, scripts.

    >>> print(*find_spelling_variants(["Asian", "yes.", "asian", "b", "yes"]), sep="\n")
    "Asian", "asian" differ in capitals only
    "yes.", "yes" differ in a dot at the end only
    >>> print(*find_spelling_variants(["a b", "a\u00a0b"]))
    "a b", "a\u00a0b" look alike, and differ in blanks, accents or unseen characters
    >>> print(*find_spelling_variants(["01", "1", "C\u0430t", "Cat", "1.0"]), sep="\n")
    "01", "1", "1.0" differ in how the number is written only
    "C\u0430t", "Cat" look alike, and differ in a letter of another script
    """
    alike: dict[str | Decimal, list[str]] = defaultdict(list)
    for value in dict.fromkeys(values):
        meaning = _as_latin(_visible_form(value)).casefold().rstrip(" .")
        if meaning:
            alike[Decimal(meaning) if _NUMBER.fullmatch(meaning) else meaning].append(value)
    return [
        SpellingVariants(tuple(variants), _difference(variants))
        for variants in alike.values()
        if len(variants) > 1
    ]


def has_plain_letters(value: str) -> bool:
    r"""Return whether a value is written with what people see and type: no unseen or foreign letters.

    >>> has_plain_letters("Male"), has_plain_letters("Male\u200b"), has_plain_letters("C\u0430t")
    (True, False, False)
    """
    return _as_latin(_visible_form(value)) == value


def find_abbreviations(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return each value that may be short for the one other value that begins with it, and that value.

    It is a single letter, or of few values (`FEW`) the first letters of a longer word.

    >>> find_abbreviations(["F", "Female", "M", "Male", "Married"])
    [('F', 'Female')]
    >>> find_abbreviations(["fem", "Female", "m", "Male"])
    [('fem', 'Female'), ('m', 'Male')]
    >>> find_abbreviations(["no", "not sure", "low", "lowest", "a", "All groups"])
    []
    """
    all_values = list(values)
    abbreviations = []
    for short in all_values:
        same = [value for value in all_values if value.casefold() == short.casefold()]
        longer = [value for value in all_values if _may_be_short_for(short, value)]
        is_letter = len(short) == 1
        if len(longer) == 1 and len(same) == 1 and (is_letter or len(all_values) <= FEW):
            abbreviations.append((short, longer[0]))
    return abbreviations


def _may_be_short_for(short: str, value: str) -> bool:
    """Return whether a value begins with a letter, or with few letters that are no word of their own."""
    long = value.casefold()
    is_total = not TOTALS.isdisjoint(long.split())
    if not short.isalpha() or not long.startswith(short.casefold()) or is_total:
        return False
    if len(short) == 1:
        return len(value) > 1
    rest = long[len(short) :]
    is_word = short.casefold() in WORDS or rest in ENDINGS
    return len(short) <= MOST_LETTERS and rest[:1].isalpha() and len(rest) >= FEWEST_LEFT and not is_word


def _difference(values: list[str]) -> str:
    looks = [_visible_form(value) for value in values]
    if len(set(looks)) < len(looks):
        return "look alike, and differ in blanks, accents or unseen characters"
    looks = [_as_latin(look) for look in looks]
    if len(set(looks)) < len(looks):
        return "look alike, and differ in a letter of another script"
    if len({look.casefold() for look in looks}) == 1:
        return "differ in capitals only"
    if len({look.rstrip(" .") for look in looks}) == 1:
        return "differ in a dot at the end only"
    if _NUMBER.fullmatch(looks[0].rstrip(" .")):
        return "differ in how the number is written only"
    return "differ in capitals and a dot at the end only"


def _visible_form(text: str) -> str:
    """Return a text as it looks: letters in one form, none without a width, blanks alike."""
    composed = unicodedata.normalize("NFKC", text)
    visible = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return re.sub(r"\s+", " ", visible).strip()


def _as_latin(text: str) -> str:
    """Return a text with Latin letters for those of Cyrillic and Greek that look the same."""
    if text.isascii():
        return text
    return text.translate(_LATIN)
