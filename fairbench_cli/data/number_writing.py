"""How a column writes its numbers: decimal signs, thousands, currencies; what is no number, and why.

One rule for cards, which ask Python, and audits, which ask DuckDB: what a column does is said in patterns
that both understand alike (of RE2, without look-around).
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from fairbench_cli.base.errors import format_value

Notation = Literal["point", "comma", "either", "second"]
"""What stands before decimals, the other sign being of thousands; or both do; or a cell has two numbers."""

# Cells that nearly always mean a missing value.
GAPS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "Null", "<NA>")
# Cells that mean one in a column that is otherwise numbers.
GAPS_AMONG_NUMBERS = ("-", "--", ".", "None", "none", "unknown", "Unknown", "missing", "Missing")
_ALL_GAPS = frozenset((*GAPS, *GAPS_AMONG_NUMBERS))
GAP_WORDS = frozenset([gap.lower() for gap in _ALL_GAPS if gap] + ["nil"])
"""The same in small letters."""
NO_VALUE = frozenset(
    [gap.lower() for gap in GAPS] + ["-nan", "inf", "-inf", "+inf"] + [f"{s}infinity" for s in ("", "-", "+")]
)
"""Cells that say that a number is unknown or could not be computed, in small letters; no value is meant."""

FEW_WORDS = 0.1  # of the different cells of a column of numbers

_SAME_CURRENCY = {"€": "EUR", "£": "GBP", "$": "USD", "US$": "USD", "¥": "JPY", "₹": "INR", "RS": "INR"}
_CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|ILS|INR|CNY|RMB|HKD|SGD|"
    "TWD|KRW|THB|IDR|MYR|PHP|VND|BRL|MXN|ARS|CLP|COP|PEN|ZAR|NGN|KES|EGP|SAR|AED|PKR|US[$]|R[$]|[AC][$]|Rs|kr|zł"
)
_MARK = f"(?:[$€£¥₹₽₩₺₫₱₪₴₦₡₸฿]|(?i:{_CODES})[.]?)"
_BLANK = "[ \u00a0\u2007\u2009\u202f]"
_SIGN = "[-+\u2212]?"
_EXPONENT = "(?:[eE][-+]?[0-9]+)?"
_BY_BLANKS = "[1-9][0-9]{0,2}(?:[ \u00a0\u2007\u2009\u202f'\u2019][0-9]{3})+"
_BY_COMMAS = "[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"  # the last as in India
_BY_POINTS = "[1-9][0-9]{0,2}(?:[.][0-9]{3})+"
_PLAIN = f"(?:[0-9]+[.]?[0-9]*|[.][0-9]+){_EXPONENT}"
_BODIES: dict[Notation, str] = {
    "point": f"{_PLAIN}|(?:{_BY_BLANKS}|{_BY_COMMAS})(?:[.][0-9]+)?",
    "comma": f"(?:[0-9]+(?:,[0-9]+)?|,[0-9]+){_EXPONENT}|(?:{_BY_BLANKS}|{_BY_POINTS})(?:,[0-9]+)?",
    "either": f"(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+){_EXPONENT}|{_BY_BLANKS}(?:[.,][0-9]+)?",
}
_PATTERNS: dict[Notation, str] = {
    notation: f"(?:{_SIGN}(?:{_MARK}{_BLANK}*)?|{_MARK}{_BLANK}*{_SIGN})(?:{body})(?:{_BLANK}*{_MARK})?"
    for notation, body in _BODIES.items()
}
_NUMBER = f"[-+]?{_PLAIN}"
_APART = rf"{_NUMBER}(?:\s+|\s*;\s*|\s*,\s+)|[-+]?[0-9]*[.][0-9]*{_EXPONENT},"  # "0,0" is one number
_PATTERNS["second"] = rf"[\[(]?\s*(?:{_APART})({_NUMBER})\s*[\])]?"
_REMOVED: dict[Notation, str] = {
    "point": f"{_MARK}|[, \u00a0\u2007\u2009\u202f'\u2019]",
    "comma": f"{_MARK}|[. \u00a0\u2007\u2009\u202f'\u2019]",
    "either": f"{_MARK}|[ \u00a0\u2007\u2009\u202f'\u2019]",
    "second": "",
}
_ALONE = re.compile(_NUMBER)
AFTER_NUMBER = "% \u00a0\u202f"  # a sign, and the blanks before it


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    """Return a pattern that is compiled when it is needed, which takes some milliseconds."""
    return re.compile(pattern)


@dataclass(frozen=True)
class NumberWriting:
    """How the numbers of a column are written.

    Parameters
    ----------
    notation : {"point", "comma", "either", "second"}
    example : str
        A cell that is not written as a plain number; empty where all are.
    is_stated : bool
        Whether it is said, and not shown by the cells.
    """

    notation: Notation = "point"
    example: str = ""
    is_stated: bool = False

    @property
    def pattern(self) -> str:
        """What a cell that is a number matches."""
        return _PATTERNS[self.notation]

    @property
    def removed(self) -> str:
        """What is taken out of such a cell; then a comma is a point."""
        return _REMOVED[self.notation]

    def to_plain(self, cell: str) -> str:
        """Return a cell that is a number as a plain one, and any other as it is.

        >>> NumberWriting("comma").to_plain("€ 63.253,88"), NumberWriting().to_plain("-$1,234.50")
        ('63253.88', '-1234.50')
        >>> NumberWriting("second").to_plain("[0.45 0.55]"), NumberWriting().to_plain("63.3k")
        ('0.55', '63.3k')
        """
        match = _compiled(self.pattern).fullmatch(cell)
        if match is None:
            return cell
        if self.notation == "second":
            return match[1]
        return _compiled(self.removed).sub("", cell).replace(",", ".").replace("\u2212", "-")

    @property
    def note(self) -> str:
        """What is said of columns that are read so."""
        if re.fullmatch("[-+0-9.,eE]*", self.example) and self.notation == "comma":
            return "Numbers with a decimal comma"
        return f"Numbers such as {format_value(self.example)} are read as {self.to_plain(self.example)}"


PLAIN = NumberWriting()


@dataclass(frozen=True)
class NumberDoubt:
    """Why nobody can say what the numbers of a column are.

    Parameters
    ----------
    cells : tuple of str
        One or two that show it.
    why : str
    ways : dict of notation to str
        What may be meant, by what would say so.
    """

    cells: tuple[str, ...]
    why: str
    ways: dict[Notation, str]

    def __str__(self) -> str:
        return f"{' and '.join(map(format_value, self.cells))}: {self.why}"

    @property
    def note(self) -> str:
        """What is said of columns that nobody needs as numbers."""
        if len(self.cells) == 1:
            return "Taken as text, as 1,234 may be a thousand or a decimal"
        return f"Taken as text, as of {' and '.join(map(format_value, self.cells))} {self.why}"


def find_writing(
    cells: Iterable[str], notation: Notation | None = None
) -> NumberWriting | NumberDoubt | None:
    """Return how the numbers among cells are written, or what is doubtful; None where too few are numbers.

    A point, or comma, before three digits may be of thousands; that it is, another cell has to show, or a
    currency, whose amounts have no three decimals. A number that begins with 0 has no thousands.

    Parameters
    ----------
    cells : iterable of str
        The different ones, trimmed; what means a missing value is passed over.
    notation : {"point", "comma", "either", "second"}, optional
        What is said of the column.

    >>> find_writing(["0,5", "12"]).notation, find_writing(["1,234.56", "0.5", "NA"]).example
    ('comma', '1,234.56')
    >>> find_writing(["a", "1"])
    >>> print(find_writing(["0.734", "1,02"]))
    "0.734" and "1,02": one has a decimal point, the other a decimal comma
    >>> print(find_writing(["2.868", "3,15"]))
    "2.868" and "3,15": where commas stand before decimals, 2.868 is 2868
    >>> find_writing(["2.868", "3,15"], "either").to_plain("3,15")
    '3.15'
    """
    values = [cell for cell in cells if cell not in _ALL_GAPS]
    if values and notation is None and all(map(_ALONE.fullmatch, values)):
        return PLAIN
    firsts: dict[str, str] = {}
    currencies: dict[str, str] = {}
    n_words = 0
    for cell in values:
        number = cell.rstrip(AFTER_NUMBER) if cell.endswith("%") else cell
        mark = _compiled(_MARK).search(number)
        shape = _shape_of(number.replace(mark[0], "", 1).strip() if mark else number)
        if shape is None:
            n_words += 1
            continue
        firsts.setdefault(shape, cell)
        if not _ALONE.fullmatch(number):
            firsts.setdefault("written", cell)
            if mark:
                text = mark[0].upper().rstrip(".")
                currencies.setdefault(_SAME_CURRENCY.get(text, text), cell)
    if len(currencies) > 1:
        return NumberDoubt(tuple(currencies.values())[:2], "amounts of two currencies", {})
    if notation is not None:
        return NumberWriting(notation, firsts.get("written", ""), is_stated=True)
    if n_words > FEW_WORDS * len(values) or not values:
        return None
    return _decide(firsts, is_money=bool(currencies))


def is_written_number(cell: str) -> bool:
    """Return whether a cell is a number, plain or with a comma, a currency, blanks.

    >>> is_written_number("63 253"), is_written_number("1.5"), is_written_number("Paris, FR")
    (True, True, False)
    """
    return any(map(str.isdigit, cell)) and (_ALONE.fullmatch(cell) or _shape_of(cell)) is not None


def has_signs(cell: str) -> bool:
    """Return whether a cell is a number that is not plain."""
    return _ALONE.fullmatch(cell) is None and is_written_number(cell)


def _shape_of(number: str) -> str | None:
    """Return which sign shows what in a number; None where it is none.

    >>> [_shape_of(number) for number in ("12", "1.5", "0.734", "1,234", "2.868", "0,5", "1.234,5")]
    ['whole', 'point', 'point', '3 after comma', '3 after point', 'comma', 'thousand points']
    """
    is_point = _compiled(_PATTERNS["point"]).fullmatch(number) is not None
    is_comma = _compiled(_PATTERNS["comma"]).fullmatch(number) is not None
    if is_point and is_comma:
        if "." in number:
            return "3 after point"
        return "3 after comma" if "," in number else "whole"
    if is_point:
        return "thousand commas" if "," in number else "point"
    if is_comma:
        return "thousand points" if "." in number else "comma"
    return None


def _decide(firsts: dict[str, str], *, is_money: bool) -> NumberWriting | NumberDoubt:
    """Return how numbers are written, given the first cell of each shape."""
    point_3 = firsts.get("3 after point", "")
    comma_3 = firsts.get("3 after comma", "")
    point = firsts.get("point") or firsts.get("thousand commas")
    comma = firsts.get("comma") or firsts.get("thousand points")
    either: dict[Notation, str] = {"either": "if both signs stand before decimals"}
    by_comma: dict[Notation, str] = {"comma": "if points are of thousands"}
    by_point: dict[Notation, str] = {"point": "if commas are of thousands"}

    one_of_two = "it may be thousands or have three decimals"

    def doubt(cell: str, next_cell: str, why: str, ways: dict[Notation, str]) -> NumberDoubt:
        in_order = dict.fromkeys(text for text in firsts.values() if text in (cell, next_cell))
        return NumberDoubt(tuple(in_order), why, ways)

    if point and comma:
        return doubt(point, comma, "one has a decimal point, the other a decimal comma", either)
    if point_3 and comma_3 and not comma:
        return doubt(point_3, comma_3, "one of them may be a thousand", either | by_comma | by_point)
    if point_3 and comma and not (is_money or "thousand points" in firsts):
        why = f"where commas stand before decimals, {point_3} is {point_3.replace('.', '')}"
        return doubt(point_3, comma, why, either | by_comma)
    if comma_3 and not (comma or is_money or "thousand commas" in firsts):
        if point:
            why = f"where points stand before decimals, {comma_3} is {comma_3.replace(',', '')}"
            return doubt(point, comma_3, why, either | by_point)
        return doubt(comma_3, "", one_of_two, by_point | {"comma": "if they are of decimals"})
    if point_3 and is_money and not (point or comma):
        return doubt(point_3, "", one_of_two, by_comma | {"point": "if they are of decimals"})
    return NumberWriting("comma" if comma else "point", firsts.get("written", ""))


SECOND = "take the second"
_AMOUNT = f"{_SIGN}(?:{_MARK})?{_BLANK}*[0-9][0-9.,]*"
_OBSTACLES = (
    (
        rf"{_AMOUNT}{_BLANK}*(?i:k|mn?|mio|million|thousand|tsd)[.]?",
        "a letter stands for thousands",
        "write the numbers in full, such as 63300 for 63.3k",
    ),
    (
        rf"\((?:{_PATTERNS['point']}|{_PATTERNS['comma']})\)",
        "brackets stand for a minus in bookkeeping",
        "write a minus in their place, such as -1234 for (1,234)",
    ),
    (_PATTERNS["second"], "two numbers in a cell, as predict_proba gives", SECOND),
    (
        r"[\w.]*[\[(].*[0-9].*[\])]+",
        "something stands around the number",
        "write the number alone, such as float(value) gives it",
    ),
    (f".*[0-9]{_BLANK}*%", "a % sign", "write shares, such as 0.45 for 45 %"),
    (
        rf"[<>~\u2264\u2265]=?{_BLANK}*{_AMOUNT}|{_AMOUNT}[+]|{_AMOUNT}{_BLANK}*(?:[-\u2013]|to){_BLANK}*{_AMOUNT}",
        "a range or a limit, not one number",
        "write one number, or audit these as groups",
    ),
    (rf"{_AMOUNT}{_BLANK}*[A-Za-z/].*", "a unit stands behind the number", "write the number alone"),
)


def find_obstacle(cell: str) -> tuple[str, str] | None:
    """Return the obstacle to reading a cell as a number, and what to do; None where it has none.

    >>> [find_obstacle(cell)[0] for cell in ("[0.45 0.55]", "63.3k")], find_obstacle("high")
    (['two numbers in a cell, as predict_proba gives', 'a letter stands for thousands'], None)
    """
    for pattern, hindrance, advice in _OBSTACLES:
        if _compiled(pattern).fullmatch(cell):
            return hindrance, advice
    return None


def spellings_of_value(text: str) -> tuple[str, ...]:
    """Return the texts that may stand for a value: a whole number as 1 and as 1.0; of exclusions, too.

    >>> spellings_of_value("1.0"), spellings_of_value("g=2"), spellings_of_value("Yes")
    (('1.0', '1'), ('g=2', 'g=2.0'), ('Yes',))
    """
    match = _compiled("((?:.*=)?[-+]?[0-9]{1,15})(?:[.]0+)?").fullmatch(text)
    forms = (match[1], f"{match[1]}.0") if match else ()
    return tuple(dict.fromkeys((text, *forms)))


def find_named_value(text: str, values: Container[str]) -> str:
    """Return the value of a column that a text names, in whatever spelling; the text where it names none.

    >>> find_named_value("1.0", {"1", "2"}), find_named_value("1", {"1.0"}), find_named_value("01", {"1"})
    ('1', '1.0', '01')
    """
    return next((spelling for spelling in spellings_of_value(text) if spelling in values), text)
