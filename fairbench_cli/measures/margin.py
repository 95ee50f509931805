"""How much two means, or two rates, may differ."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairbench_cli.measures.counts import Floats

if TYPE_CHECKING:
    from fairbench_cli.measures.moments import Moments

MarginUnit = Literal["units", "percent", "sd"]


@dataclass(frozen=True)
class Margin:
    """The largest difference that is allowed, either way.

    Parameters
    ----------
    value : float
        Above 0; of percent below 100.
    unit : {"units", "percent", "sd"}
        Of the values themselves (of rates: a difference of rates); of the reference's mean; of its standard
        deviation.

    Examples
    --------
    >>> print(Margin(1500), Margin(5, "percent"), Margin(0.2, "sd"), sep=", or ")
    1,500, or 5 %, or 0.2 sd
    """

    value: float
    unit: MarginUnit = "units"

    def __str__(self) -> str:
        value_text = f"{self.value:,.15g}"
        return {"units": value_text, "percent": f"{value_text} %", "sd": f"{value_text} sd"}[self.unit]

    def in_units(self, reference: "Moments") -> Floats:
        """Return the margin in units of the outcome; NaN for per cent of a mean that is 0.

        >>> from fairbench_cli.measures.moments import sum_powers_along
        >>> Margin(5, "percent").in_units(sum_powers_along([10.0, 30.0])).tolist()
        1.0
        """
        if self.unit == "percent":
            size = np.abs(reference.mean)
            return np.asarray(np.where(size > 0, self.value / 100 * size, np.nan))
        if self.unit == "sd":
            return np.asarray(self.value * reference.deviation)
        return np.full(np.shape(reference.rows), self.value)
