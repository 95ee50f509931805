"""Make text safe to show: on a terminal, in a spreadsheet, in an encoding that lacks some characters."""

import math
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePath

SPELLINGS = {
    "favorable": "favourable",
    "favorable-label": "favourable-label",
    "favorable_label": "favourable_label",
    "metrics": "metric",
}
"""Names of options and keys that may be spelled otherwise, too."""

# What a terminal obeys, what turns the direction of writing, what is not seen; half of a character.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # a part of the spelling in Persian and Hindi, and of emoji
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")
MOST_LETTERS = 200  # of a name or value in a list
LARGE = 1e16  # beyond it digits are none
_PLAIN = {
    **dict.fromkeys("–—−‐‑", "-"),
    **dict.fromkeys("“”„″", '"'),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("─━═╌╴╶╸╺", "-"),
    **dict.fromkeys("│┃║", "|"),
    "✓": "ok",
    "✗": "x",
    "×": "x",
    "·": "*",
    "…": "...",
    "±": "+-",
    "∞": "inf",
    "�": "?",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "√": "sqrt",
    "‖": "||",
    "→": "->",
    "←": "<-",
    "↑": "^",
    "\u00a0": " ",
}


def shorten(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text of a reasonable length: a cell may hold pages.

    >>> shorten("x" * 10_000, 5), shorten("Asian-Pac-Islander")
    ('xxxx…', 'Asian-Pac-Islander')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def join_names(names: Sequence[str], most: int = 10) -> str:
    """Join names with commas; the last ones are counted where there are more than `most`.

    >>> join_names(["a", "b", "c"], 2), join_names(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    n_more = len(names) - most
    return ", ".join(map(shorten, names[:most])) + (f" and {n_more:,} more" if n_more > 0 else "")


def format_count(count: int, noun: str) -> str:
    """Write how many there are of something.

    >>> format_count(1, "pair"), format_count(3000, "pair")
    ('1 pair', '3,000 pairs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_percent(share: float) -> str:
    """Write a share as a sentence has it; what is not 0 or 100 % does not look so.

    >>> [format_percent(share) for share in (0.42338, 0.0004, 1 - 1e-15, 0.99996, 1.25, float("nan"))]
    ['42.3 %', '0.04 %', '100 %', '99.996 %', '125.0 %', '–']
    """
    if math.isnan(share):
        return "–"
    share = round(share, 12) + 0.0
    if share in (0, 1):
        return f"{100 * share:g} %"
    digits = max(1, -math.floor(math.log10(100 * min(share, abs(1 - share)))))
    return f"{100 * share:.{digits}f} %"


def format_amount(value: float, digits: int = 0) -> str:
    """Write a number of units with commas, a fixed number of decimals and a true minus sign.

    >>> format_amount(-14088.4), format_amount(13.8896, 2), format_amount(-0.001, 2), format_amount(math.nan)
    ('−14,088', '13.89', '0.00', '–')
    >>> format_amount(math.inf), format_amount(-3.2e17)
    ('∞', '−3.2e17')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        text = "∞"
    elif abs(value) >= LARGE:
        text = f"{abs(value):.6g}".replace("e+", "e")
    else:
        text = f"{abs(value):,.{digits}f}"
    if value < 0 and text.strip("0.,"):
        return f"−{text}"
    return text


def printable(text: str, keep: str = "") -> str:
    r"""Return a text in which every character that could not be seen is replaced, apart from those to keep.

    >>> printable("a\x1b[31m\nb \u202ec"), printable("a\nb\r", keep="\n")
    ('a�[31m�b �c', 'a\nb�')
    """
    if text.isprintable():
        return text
    if "\n" in keep and "\n" in text:  # most lines are printable as they are
        return "\n".join(printable(line, keep) for line in text.split("\n"))
    return "".join(
        letter if _is_visible(letter) or letter in keep or _is_joiner(text, i) else "�"
        for i, letter in enumerate(text)
    )


def _is_visible(letter: str) -> bool:
    return unicodedata.category(letter) not in _UNSEEN


def _is_joiner(text: str, i: int) -> bool:
    """Say whether a joiner stands between two letters that it can join: none of Latin, Greek or Cyrillic."""
    around = text[max(i - 1, 0) : i] + text[i + 1 : i + 2]
    return text[i] in _JOINERS and len(around) == 2 and all(letter >= "\u0590" for letter in around)


def escape_unseen(json: str) -> str:
    r"""Return JSON in which what could not be seen is written as an escape: the same value.

    >>> escape_unseen('{"a": "\u202eb\x7f"}')
    '{"a": "\\u202eb\\u007f"}'
    """
    return re.sub(r"[^\n -~]", lambda match: match[0] if _is_visible(match[0]) else _escape(match[0]), json)


def ascii_json(json: str) -> str:
    r"""Return JSON in ASCII: the same value.

    >>> ascii_json('"é😀"')
    '"\\u00e9\\ud83d\\ude00"'
    """
    return re.sub(r"[^\x00-\x7f]", lambda match: _escape(match[0]), json)


def _escape(letter: str) -> str:
    pairs = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pairs[start : start + 4]}" for start in range(0, len(pairs), 4))


def disarm_formula(cell: str) -> str:
    """Return the text of a CSV cell so that no spreadsheet takes it for a formula.

    One that begins as a formula and is no number gets an apostrophe in front (OWASP, CSV injection).

    >>> [disarm_formula(cell) for cell in ("=1+1", "@me", "-1.5", "-", "a-b")]
    ["'=1+1", "'@me", '-1.5', '-', 'a-b']
    """
    runs = cell.startswith(_FORMULA) and len(cell) > 1 and not _NUMBER.fullmatch(cell)
    if runs:
        return f"'{cell}"
    return cell


def format_path(path: str | PurePath) -> str:
    r"""Return a path as text: its bytes as UTF-8 whatever the locale, and a � for what is not.

    >>> format_path("a\udce9.csv"), format_path("é.csv")
    ('a�.csv', 'é.csv')
    """
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("utf-8", "replace")
    return text


def substitute(error: UnicodeError) -> tuple[str, int]:
    r"""Return the text for characters that an encoding does not have; an error handler for `codecs`.

    >>> import codecs
    >>> codecs.register_error("fairbench", substitute)
    >>> "τ ≥ 0.8 – ✗ Zoë".encode("ascii", "fairbench").decode()
    'tau >= 0.8 - x Zo\\u00eb'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    stands = (_substitute(letter, error.encoding) for letter in error.object[error.start : error.end])
    return "".join(stands), error.end


def _substitute(letter: str, encoding: str) -> str:
    if unicodedata.category(letter) == "Cs":
        if encoding.lower().startswith("utf"):
            return "\ufffd"
        return "?"
    if letter in _PLAIN:
        return _PLAIN[letter]
    if "\u2500" <= letter <= "\u257f":  # corners and crossings of boxes
        return "+"
    kind, _, letter_name = unicodedata.name(letter, "").rpartition(" LETTER ")
    if kind in ("GREEK SMALL", "GREEK CAPITAL") and letter_name.isalpha():
        if kind == "GREEK SMALL":
            return letter_name.lower()
        return letter_name.capitalize()
    small, _, base = unicodedata.decomposition(letter).rpartition(" ")
    if small in ("<sub>", "<super>") and int(base, 16) < 128:
        return chr(int(base, 16))
    return _escape(letter)


def make_slugs(names: Iterable[Sequence[str]]) -> list[str]:
    """Make file names, all different, of names.

    >>> make_slugs([("adult", "sex"), ("a/b", "s x"), ("a b", "s x")])
    ['adult-sex', 'a-b-s-x', 'a-b-s-x-2']
    """
    file_names: list[str] = []
    for words in names:
        slug = base = re.sub(r"[^\w.+-]+", "-", "-".join(words)).strip("-.") or "unnamed"
        k = 1
        while slug.casefold() in {file_name.casefold() for file_name in file_names}:
            k += 1
            slug = f"{base}-{k}"
        file_names.append(slug)
    return file_names
