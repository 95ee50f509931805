"""How numbers, counts and verdicts of an audit are written, the same in every output."""

import math

from fairbench_cli.audit.judge.report import Interval, Reason, Verdict

DASH = "–"
VERDICTS: dict[Verdict, str] = {"pass": "passes", "fail": "fails", "undecided": "not decided"}
REASONS: dict[Reason, str] = {
    "no rows": "nobody to compute it from",
    "chance": "could be chance",
    "few": "too few rows",
    "wide": "too few rows to tell",
    "": "",
}
SYMBOLS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "undecided": "?"}


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed decimals; a dash where there is none.

    >>> number(0.44847), number(float("inf")), number(float("nan"))
    ('0.448', '∞', '–')
    """
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.{digits}f}"


def ratio(value: float, tau: float) -> str:
    """Write a ratio with as many decimals as it takes to see on which side of a limit it is.

    >>> ratio(0.79996, 0.8), ratio(0.8, 0.8), ratio(1.91209, 0.8)
    ('0.79996', '0.800', '1.912')
    """
    for digits in range(3, 9):
        text = number(value, digits)
        if not math.isfinite(value) or all(
            (value < limit) == (float(text) < limit) and (value > limit) == (float(text) > limit)
            for limit in (tau, 1 / tau)
        ):
            return text
    return number(value, 3)


def interval(of: Interval, digits: int = 3) -> str:
    """Write the interval alone; empty where there is none."""
    if math.isnan(of.low) or math.isnan(of.high):
        return ""
    return f"[{number(of.low, digits)}, {number(of.high, digits)}]"


def with_interval(of: Interval) -> str:
    """Write a value with its interval, if it has one.

    >>> with_interval(Interval(0.5, 0.25, 0.75)), with_interval(Interval(0.5, math.nan, math.nan))
    ('0.500 [0.250, 0.750]', '0.500')
    """
    return f"{number(of.value)} {interval(of)}".rstrip()


def count(value: float) -> str:
    """Write a count; a sum of weights below 100 has a decimal, where it has one to show.

    >>> count(805.0), count(805.25), count(8.25)
    ('805', '805', '8.2')
    """
    return f"{value:.0f}" if float(value).is_integer() or value >= 100 else f"{value:.1f}"


def fraction(behind: tuple[float, float]) -> str:
    """Write the counts behind a rate.

    >>> fraction((805.0, 1795.0))
    '805/1795'
    """
    above, below = behind
    return f"{count(above)}/{count(below)}"


def p_value(value: float) -> str:
    """Write a p-value.

    >>> p_value(2.1e-37), p_value(0.0504), p_value(float("nan"))
    ('2e-37', '0.050', '–')
    """
    if math.isnan(value):
        return DASH
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def percent(share: float) -> str:
    """Write a share in percent."""
    return DASH if math.isnan(share) else f"{100 * share:.3g} %"
