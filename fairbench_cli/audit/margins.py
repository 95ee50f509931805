"""How much a group may differ from its reference: a margin in units, in percent or in standard deviations.

Of rates it is a difference of rates: 0.05 is five points. Of numbers it is in their units, in percent of the
reference's mean, or in its standard deviations.
"""

import math
import re
from typing import Any

from fairbench_cli.base.errors import format_value
from fairbench_cli.base.validation import mistake
from fairbench_cli.measures.margin import Margin, MarginUnit

SIGNS: dict[str, MarginUnit] = {"": "units", "%": "percent", "percent": "percent", "sd": "sd"}
POINTS = ("points", "point")  # of a rate: hundredths
WRITE = "write 0.05 of rates; of numbers 1500, 5% of the reference's mean, or 0.2sd"
WRITE_RATE = "write 0.05, which is 5 points"

_MARGIN = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%|[A-Za-z]*)\s*")


def read_margin(value: Any) -> Margin:
    """Return the margin that a number or a text says.

    >>> read_margin(0.05), read_margin("5 %"), read_margin("0.2sd")
    (Margin(value=0.05, unit='units'), Margin(value=5.0, unit='percent'), Margin(value=0.2, unit='sd'))

    Raises
    ------
    PydanticCustomError
        Where it is none: no number, not above 0, of a unit that is not known, 100 % or more.
    """
    if isinstance(value, Margin):
        number = value.value
        unit = value.unit
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        unit = "units"
    else:
        number, unit = _read_text(value)
    if not math.isfinite(number):
        raise mistake(f"a number, not {format_value(value)}", WRITE)
    if number <= 0:
        raise mistake(f"a number above 0, not {format_value(value)}", WRITE)
    if unit == "percent" and number >= 100:
        problem = f"{number:.15g} % of the mean allows anything, even 0"
        raise mistake(problem, "write less than 100%")
    return Margin(number, unit)


def _read_text(value: Any) -> tuple[float, MarginUnit]:
    """Return the number of a text, and its unit."""
    match = None
    if isinstance(value, str):
        match = _MARGIN.fullmatch(value)
    if match is None:
        raise mistake(f"a number, not {format_value(value)}", WRITE)
    sign = match[2].lower()
    if sign in POINTS:
        raise mistake(f"{format_value(value)} may be of a rate or of a scale of numbers", WRITE)
    if sign not in SIGNS:
        raise mistake(f"{format_value(match[2])} is no unit of a margin", WRITE)
    return float(match[1]), SIGNS[sign]


def read_rate_margin(value: Any) -> Margin:
    """Return the margin of a rate: a difference of rates, 0.05 or "5 points".

    >>> read_rate_margin("5 points"), read_rate_margin(0.05)
    (Margin(value=0.05, unit='units'), Margin(value=0.05, unit='units'))

    Raises
    ------
    PydanticCustomError
        As `read_margin`; and for percent, standard deviations, and 1 or more.
    """
    match = None
    if isinstance(value, str):
        match = _MARGIN.fullmatch(value)
    if match and match[2].lower() in POINTS:
        margin = read_margin(float(match[1]) / 100)
    else:
        margin = read_margin(value)
    problem = rate_mistake(margin)
    if problem:
        raise mistake(problem, WRITE_RATE)
    return margin


def rate_mistake(margin: Margin) -> str:
    """Return why a margin is none of a difference of rates; empty where it is one.

    >>> rate_mistake(Margin(5, "percent"))
    '5 % of a rate may be 5 points, or a share of the rate'
    """
    if margin.unit == "percent":
        return f"{margin} of a rate may be {margin.value:.15g} points, or a share of the rate"
    if margin.unit == "sd":
        return "a rate has no standard deviations to go by"
    if margin.value >= 1:
        return f"rates differ by less than 1, and the margin is {margin}"
    return ""


def write_margin(margin: Margin) -> int | float | str:
    """Return a margin as a file has it.

    >>> [write_margin(margin) for margin in (Margin(1500, "units"), Margin(5, "percent"), Margin(0.2, "sd"))]
    [1500, '5%', '0.2sd']
    """
    if margin.unit == "units":
        if margin.value == int(margin.value):
            return int(margin.value)
        return margin.value
    return f"{margin.value:.15g}{'%' if margin.unit == 'percent' else 'sd'}"
