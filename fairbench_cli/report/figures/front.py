"""The line between what the techniques on a Pareto front dominate and what they don't."""

from collections.abc import Sequence


def staircase(
    x: Sequence[float], y: Sequence[float], right: float, bottom: float
) -> tuple[list[float], list[float]]:
    """Return the corners of the line through the points of a front, low x and high y being good.

    It comes up from `bottom` at the point of lowest x and leaves to the `right` at the point of highest y.

    >>> staircase([0.3, 0.1], [0.8, 0.6], right=1.0, bottom=0.0)
    ([0.1, 0.1, 0.3, 0.3, 1.0], [0.0, 0.6, 0.6, 0.8, 0.8])
    """
    xs, ys = [], [bottom]
    for a, b in sorted(set(zip(x, y, strict=True))):
        xs += [a, a]
        ys += [b, b]
    return [*xs, right], ys
