"""How near a run's value is to the published one."""

import math

INSIDE = "inside interval"
NEAR = "within 0.02"
CLOSE = "within 0.05"
OFF = "off"
BOTH = 'both "-"'
NOT_RUN = "not run"

VERDICTS = (INSIDE, NEAR, CLOSE, BOTH, OFF, NOT_RUN)

ROUNDING = 5e-4  # papers print three decimals
_SLACK = 1e-9  # of binary fractions: 0.3205 - 0.3 is a little more than 0.0205


def judge(theirs: float, ours: float, low: float, high: float, shown: str) -> tuple[str, str]:
    """Return the verdict on one value and, where one of the two is no number, what stands there.

    A value more than 0.05 away is off even where the interval is so wide (few repeats) that it is inside.

    Parameters
    ----------
    theirs, ours : float
        The published value and the mean of the repeats; NaN where there is none.
    low, high : float
        The 95 % interval of our mean; NaN where there is none.
    shown : str
        Our cell as `show_cell` writes it: "-" infeasible, "failed", "n/a", "…" not run yet, or a number.

    Examples
    --------
    >>> judge(0.3, 0.31, 0.295, 0.325, "0.310")
    ('inside interval', '')
    >>> judge(0.3, 0.31, 0.305, 0.315, "0.310")
    ('within 0.02', '')
    >>> nan = math.nan
    >>> judge(nan, nan, nan, nan, "-"), judge(0.3, nan, nan, nan, "-")
    (('both "-"', ''), ('off', 'ours is "-"'))
    """
    if shown == "…":
        return NOT_RUN, ""
    if math.isnan(theirs):
        return (BOTH, "") if shown == "-" else (OFF, 'theirs is "-"')
    if math.isnan(ours):
        return OFF, f'ours is "{shown}"'
    gap = abs(ours - theirs)
    if not is_within(gap, 0.05):
        return OFF, ""
    if low - ROUNDING - _SLACK <= theirs <= high + ROUNDING + _SLACK:
        return INSIDE, ""
    return (NEAR if is_within(gap, 0.02) else CLOSE), ""


def is_within(gap: float, limit: float) -> bool:
    """Tell whether a distance is at most `limit`, half a unit of the last printed digit allowed.

    >>> is_within(0.3205 - 0.3, 0.02), is_within(0.3206 - 0.3, 0.02), is_within(math.nan, 0.02)
    (True, False, False)
    """
    return gap <= limit + ROUNDING + _SLACK
