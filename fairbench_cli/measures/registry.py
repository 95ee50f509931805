"""The measures by name. A new one is a function of `Counts` and an entry here."""

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats


@dataclass(frozen=True)
class Measure:
    """What there is to know about a measure.

    Parameters
    ----------
    name : str
        As written in a config.
    function : str
        ``module:attribute`` of the function from `Counts` to an array.
    low, high : float
        Range.
    ideal : float or None
        The best value; None when no value is better than another.
    formula, source : str
        What is computed, and who says so.
    zero_denominator : str
        When the value is NaN (or infinite).
    needs : {"counts"}
        What the function takes.
    """

    name: str
    function: str
    low: float
    high: float
    ideal: float | None
    formula: str
    source: str
    zero_denominator: str
    needs: Literal["counts"] = "counts"

    @property
    def direction(self) -> Literal["higher", "lower", "nearer", "none"]:
        """Which values are better: higher ones, lower ones, those nearer to the ideal, or none."""
        if self.ideal is None:
            return "none"
        if self.ideal == self.high:
            return "higher"
        return "lower" if self.ideal == self.low else "nearer"


_ABSOLUTE = "fairbench_cli.measures.absolute"
_ASSOCIATION = "fairbench_cli.measures.association"
_ACCURACY = "fairbench_cli.measures.accuracy"
_ERROR_RATES = "fairbench_cli.measures.error_rates"

MEASURES: dict[str, Measure] = {
    entry.name: entry
    for entry in (
        Measure(
            "accuracy", f"{_ACCURACY}:accuracy", 0, 1, 1, "P(ŷ=y)", "common", "NaN when there are no rows"
        ),
        Measure(
            "tpr", f"{_ACCURACY}:tpr", 0, 1, 1, "P(ŷ=+|y=+)", "common", "NaN when no label is favourable"
        ),
        Measure(
            "tnr", f"{_ACCURACY}:tnr", 0, 1, 1, "P(ŷ=−|y=−)", "common", "NaN when no label is unfavourable"
        ),
        Measure(
            "bcr",
            f"{_ACCURACY}:bcr",
            0,
            1,
            1,
            "(TPR + TNR) / 2",
            "Friedler et al. 2019",
            "NaN when all labels are the same",
        ),
        Measure(
            "kappa",
            f"{_ACCURACY}:kappa",
            -1,
            1,
            1,
            "(A − R) / (1 − R), R = π₀π + (1−π₀)(1−π)",
            "Cohen 1960; normalised accuracy in Žliobaitė 2015",
            "NaN when all labels and predictions are the same",
        ),
        Measure(
            "acceptance-rate",
            f"{_ABSOLUTE}:acceptance_rate",
            0,
            1,
            None,
            "π = P(ŷ=+)",
            "Žliobaitė 2015",
            "NaN when there are no rows",
        ),
        Measure(
            "discrimination",
            f"{_ABSOLUTE}:discrimination",
            -1,
            1,
            0,
            "d = P(ŷ=+|ḡ) − P(ŷ=+|g)",
            "Cardoso et al. 2019, eq. 1",
            "NaN when a group is empty",
        ),
        Measure(
            "normalised-discrimination",
            f"{_ABSOLUTE}:normalised_discrimination",
            -1,
            1,
            0,
            "δ = d / d_max, d_max = min(π/α, (1−π)/(1−α)); for d < 0 with the groups swapped",
            "Žliobaitė 2015",
            "NaN when a group is empty or all predictions are the same",
        ),
        Measure(
            "impact-ratio",
            f"{_ABSOLUTE}:impact_ratio",
            0,
            math.inf,
            1,
            "P(ŷ=+|g) / P(ŷ=+|ḡ)",
            "Žliobaitė 2017",
            "NaN when a group is empty or nobody is accepted; infinite when only the deprived are",
        ),
        Measure(
            "likelihood-ratio",
            f"{_ASSOCIATION}:likelihood_ratio",
            0,
            math.inf,
            1,
            "P(ŷ=+|ḡ) / P(ŷ=+|g)",
            "Žliobaitė 2017",
            "NaN when a group is empty or nobody is accepted; infinite when only the favoured are",
        ),
        Measure(
            "elift",
            f"{_ASSOCIATION}:elift",
            0,
            math.inf,
            1,
            "P(ŷ=+|g) / P(ŷ=+)",
            "Žliobaitė 2017",
            "NaN when the deprived group is empty or nobody is accepted",
        ),
        Measure(
            "elift-as-printed",
            f"{_ASSOCIATION}:elift_as_printed",
            0,
            math.inf,
            1,
            "P(ŷ=+|ḡ) / P(ŷ=+)",
            "Žliobaitė 2017",
            "NaN when the favoured group is empty or nobody is accepted",
        ),
        Measure(
            "odds-ratio",
            f"{_ASSOCIATION}:odds_ratio",
            0,
            math.inf,
            1,
            "odds(ŷ=+|g) / odds(ŷ=+|ḡ)",
            "Žliobaitė 2017",
            "NaN when both products of the cross ratio are 0; infinite when only the lower one is",
        ),
        Measure(
            "mutual-information",
            f"{_ASSOCIATION}:mutual_information",
            0,
            1,
            0,
            "I(ŷ,s) / √(H(ŷ) H(s)), in bits",
            "Žliobaitė 2017",
            "NaN when a group is empty or all predictions are the same",
        ),
        Measure(
            "phi",
            f"{_ASSOCIATION}:phi",
            -1,
            1,
            0,
            "correlation of ŷ=+ with s=ḡ",
            "Žliobaitė 2017",
            "NaN when a group is empty or all predictions are the same",
        ),
        Measure(
            "auc-between-groups",
            f"{_ASSOCIATION}:auc_between_groups",
            0,
            1,
            0.5,
            "(d + 1) / 2",
            "Žliobaitė 2017",
            "NaN when a group is empty",
        ),
        Measure(
            "overestimation",
            f"{_ERROR_RATES}:overestimation",
            -1,
            1,
            0,
            "P(ŷ=+|ḡ,y=−) − P(ŷ=+|g,y=−)",
            "Cardoso et al. 2019, eq. 2",
            "NaN when a group has no unfavourable label",
        ),
        Measure(
            "underestimation",
            f"{_ERROR_RATES}:underestimation",
            -1,
            1,
            0,
            "P(ŷ=−|g,y=+) − P(ŷ=−|ḡ,y=+)",
            "Cardoso et al. 2019, eq. 3",
            "NaN when a group has no favourable label",
        ),
    )
}


def measure(name: str, counts: Counts) -> Floats:
    """Compute the measure called `name`, shape (...) for counts of shape (..., groups, 2, 2).

    Raises
    ------
    KeyError
        When there is no such measure.
    ValueError
        When it compares two groups and there are more or fewer.

    Examples
    --------
    >>> float(measure("accuracy", Counts(("all",), np.array([[[3.0, 1], [2, 4]]]))))
    0.7
    """
    module, _, attribute = MEASURES[name].function.partition(":")
    return np.asarray(getattr(import_module(module), attribute)(counts), dtype=np.float64)
