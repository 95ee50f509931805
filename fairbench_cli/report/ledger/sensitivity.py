"""What a test of a run could have shown: from which size on a change is, and how often one of a size is.

By its own standard error and the rule that its verdict goes by: Holm's over the family, in which the other
tests are as they were found.
"""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.report.ledger.distributions import gammaincinv, ndtr, stdtrit
from fairbench_cli.report.ledger.inference import EQUAL
from fairbench_cli.report.ledger.paired_differences import LEVEL


@dataclass(frozen=True)
class Sensitivity:
    """What a t-test could have shown.

    Parameters
    ----------
    standard_error, freedom : float
        Of what is tested, and its degrees of freedom; NaN where nothing is tested.
    n_open : int
        By how many Holm's rule divides the level.
    """

    standard_error: float = np.nan
    freedom: float = np.nan
    n_open: int = 1

    @property
    def is_known(self) -> bool:
        """Whether there is a test, and something varies."""
        return self.standard_error > EQUAL and self.n_open > 0

    @property
    def least(self) -> float:
        """The size below which nothing that is measured is shown."""
        return float(stdtrit(self.freedom, 1 - LEVEL / (2 * self.n_open))) * self.standard_error

    def power(self, size: float) -> float:
        """Return the chance that a true one of a size is shown: as a t-test's, over a thousand errors.

        >>> round(Sensitivity(0.01, 4.0, 1).power(0.02), 3), round(Sensitivity(0.01, 4.0, 5).power(0.02), 3)
        (0.336, 0.101)
        """
        shares = (np.arange(1000) + 0.5) / 1000
        chi = np.sqrt(2 * gammaincinv(self.freedom / 2, shares) / self.freedom)
        sizes = np.array([[size], [-size]]) - self.least * chi
        return float(ndtr(sizes / self.standard_error).sum() / len(shares))

    def widening(self, n_choices: int) -> float:
        """Return how much wider a 95 % interval is that holds whichever of several is chosen (Bonferroni)."""
        one_of_many, one = stdtrit(self.freedom, 1 - LEVEL / 2 / np.array([n_choices, 1]))
        return float(one_of_many / one)
