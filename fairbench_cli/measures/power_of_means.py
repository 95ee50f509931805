"""How likely a verdict on two means is before there are any rows, and how many rows it takes.

A group of n rows and its reference of m rows have means whose difference is normal around the true one, with
the standard error sd √(1/n + 1/m). A verdict is that of an audit: it fails where the measured difference is
larger than the margin and equal means are rejected at (1 − confidence) / family, Holm's first step; it passes
where the interval of the difference lies within the margin. Fewer than `FEWEST_ROWS` decide nothing.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

from fairbench_cli.measures.means import FEWEST_ROWS, HALVINGS, MOST_ROWS
from fairbench_cli.measures.significance import normal_quantile

_cdf = NormalDist().cdf
FARTHEST = 40.0  # standard errors: a difference so far beyond all limits is found


@dataclass(frozen=True)
class TwoMeans:
    """Two groups of numbers that are to be compared.

    Parameters
    ----------
    rows, reference_rows : float
    sd : float
        The standard deviation within both.
    margin : float
        Differences from −margin to margin are allowed.
    family : float
        How many comparisons decide.
    confidence : float

    Examples
    --------
    >>> design = TwoMeans(200, 1000, sd=5000.0, margin=750.0)
    >>> round(design.chance_of_failure(1500), 3), round(design.chance_to_pass(0.0), 3)
    (0.972, 0.0)
    >>> round(design.least_failing(0.8)), round(design.with_total(12_000).most_passing(0.8))
    (1085, 407)
    """

    rows: float
    reference_rows: float
    sd: float
    margin: float
    family: float = 1
    confidence: float = 0.95

    @property
    def error(self) -> float:
        """The standard error of the difference."""
        return self.sd * math.sqrt(1 / self.rows + 1 / self.reference_rows)

    @property
    def _failing_from(self) -> float:
        """The measured difference from which on it fails."""
        level = 1 - (1 - self.confidence) / self.family
        return max(self.margin, normal_quantile(level) * self.error)

    @property
    def _is_few(self) -> bool:
        return min(self.rows, self.reference_rows) < FEWEST_ROWS

    def chance_of_failure(self, difference: float) -> float:
        """Return how likely a true difference fails."""
        if self._is_few:
            return 0.0
        limit = self._failing_from
        above = _cdf((difference - limit) / self.error)
        return above + _cdf((-difference - limit) / self.error)

    def chance_to_pass(self, difference: float) -> float:
        """Return how likely a true difference passes."""
        room = self.margin - normal_quantile(self.confidence) * self.error
        if self._is_few or room <= 0:
            return 0.0
        return _cdf((room - difference) / self.error) - _cdf((-room - difference) / self.error)

    def least_failing(self, power: float) -> float:
        """Return the smallest true difference, either way, that fails with this power; NaN: none does."""
        low = 0.0
        high = self._failing_from + FARTHEST * self.error
        if self.chance_of_failure(high) < power:
            return math.nan
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self.chance_of_failure(middle) >= power:
                high = middle
            else:
                low = middle
        return high

    def most_passing(self, power: float) -> float:
        """Return the largest true difference, either way, that passes with this power; NaN: none does."""
        low = 0.0
        high = self.margin
        if self.chance_to_pass(low) < power:
            return math.nan
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self.chance_to_pass(middle) >= power:
                low = middle
            else:
                high = middle
        return low

    def with_total(self, total: float) -> "TwoMeans":
        """Return the same with so many rows of both together, the groups as large to each other."""
        times = total / (self.rows + self.reference_rows)
        return replace(self, rows=self.rows * times, reference_rows=self.reference_rows * times)

    def rows_needed(self, difference: float, power: float) -> float:
        """Return how many rows of both decide with this power; NaN for a difference that is the margin.

        As `means.rows_to_decide` has them: beyond the margin until it fails, within it until it passes.

        >>> round(TwoMeans(1, 1, sd=5000.0, margin=750.0).rows_needed(1500, 0.8))
        349
        """
        size = abs(difference)
        if math.isclose(size, self.margin):
            return math.nan
        share = min(self.rows, self.reference_rows) / (self.rows + self.reference_rows)
        low = math.log(FEWEST_ROWS / share) + 1e-12
        high = math.log(MOST_ROWS)
        if self._chance_with(math.exp(low), size) >= power:
            return math.exp(low)
        if self._chance_with(MOST_ROWS, size) < power:
            return math.nan
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._chance_with(math.exp(middle), size) >= power:
                high = middle
            else:
                low = middle
        return math.exp(high)

    def _chance_with(self, total: float, size: float) -> float:
        """Return how likely so many rows of both decide as they should."""
        design = self.with_total(total)
        if size > self.margin:
            return design.chance_of_failure(size)
        return design.chance_to_pass(size)
