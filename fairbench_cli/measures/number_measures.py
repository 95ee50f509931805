"""The measures of outcomes that are numbers: one definition each, by name.

A measure of a group is compared by its difference from the reference's; one of both groups is a comparison
already. `means`, `value_ranks`, `quantiles` and `regression` compute them.
"""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["outcome", "share", "none"]


@dataclass(frozen=True)
class NumberMeasure:
    """What there is to know about a measure of numbers.

    Parameters
    ----------
    name, label : str
        As it is written, and in words.
    formula, source : str
        What is computed, of x in the group g and the reference r, with labels y; and who defined it.
    unit : {"outcome", "share", "none"}
        What it is in: the outcome's own units, a share from 0 to 1, neither.
    needs_truth : bool
        Whether it needs labels.
    has_margin : bool
        Whether a margin says how large a difference may be, so that it can decide.
    """

    name: str
    label: str
    formula: str
    source: str = ""
    unit: Unit = "outcome"
    needs_truth: bool = False
    has_margin: bool = False


SHARE_ABOVE = "share-above"
_BM = "Brunner & Munzel 2000"

NUMBER_MEASURES: dict[str, NumberMeasure] = {
    measure.name: measure
    for measure in (
        NumberMeasure("mean", "mean", "mean(x|g)", "Žliobaitė 2017", has_margin=True),
        NumberMeasure("median", "median", "quantile .5 of x|g"),
        NumberMeasure("p10", "10th percentile", "quantile .1 of x|g"),
        NumberMeasure("p90", "90th percentile", "quantile .9 of x|g"),
        NumberMeasure("sd", "standard deviation", "√Var(x|g)"),
        NumberMeasure(SHARE_ABOVE, "share above", "P(x > above|g)", unit="share", has_margin=True),
        NumberMeasure(
            "more",
            "chance of more",
            "P(x_g > x_r) + P(x_g = x_r)/2",
            _BM,
            "share",
            has_margin=True,
        ),
        NumberMeasure(
            "hedges-g",
            "standardised difference",
            "J (mean_g − mean_r)/s",
            "Hedges 1981",
            "none",
        ),
        NumberMeasure("distance", "largest distance", "max |F_g − F_r|", "Kolmogorov 1933", "share"),
        NumberMeasure(
            "mean-residual",
            "mean error",
            "mean(x − y|g)",
            "Calders et al. 2013",
            needs_truth=True,
            has_margin=True,
        ),
        NumberMeasure("mae", "mean absolute error", "mean(|x − y||g)", needs_truth=True, has_margin=True),
        NumberMeasure("brier", "Brier score", "mean((x − y)²|g)", "Brier 1950", "share", needs_truth=True),
        NumberMeasure(
            "skill", "Brier skill", "1 − Brier/(ȳ(1 − ȳ)) of g", "Murphy 1973", "share", needs_truth=True
        ),
        NumberMeasure("excess", "excess error", "mean((x − y)² − x(1 − x)|g)", "", "share", needs_truth=True),
        NumberMeasure("rmse", "root mean squared error", "√mean((x − y)²|g)", needs_truth=True),
        NumberMeasure("r2", "R²", "1 − mean((x − y)²|g)/Var(y|g)", unit="none", needs_truth=True),
        NumberMeasure(
            "calibration-slope", "calibration slope", "b of y = a + b x in g", unit="none", needs_truth=True
        ),
        NumberMeasure(
            "calibration-intercept", "calibration intercept", "a of y = a + b x in g", needs_truth=True
        ),
    )
}
"""By name."""
