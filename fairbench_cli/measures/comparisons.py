"""What becomes of a rate when groups are compared on it: ``RATE-COMPARISON``.

One convention for all: a group g is compared with its reference r, so a difference is X(g) − X(r) and a
ratio X(g) / X(r). In a run g is the deprived group and r the favoured one. Over many groups, those without a
value are left out. Measures of scores are compared in the same way, and under the same names.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.group_scores import SCORE_MEASURES, Grouped, GroupScores, ScoreMeasure
from fairbench_cli.measures.metric import Groups, Metric
from fairbench_cli.measures.rates import RATES, Rate, numerators_and_denominators, rate_by_group
from fairbench_cli.measures.significance import two_proportions

Values = Callable[[Any, str], Floats]


@dataclass(frozen=True)
class Comparison:
    """A way to compare groups on a rate X.

    Parameters
    ----------
    function : callable
        Takes counts and the name of a rate, returns one value per leading axis. Its name is what is written
        after the rate's name, the first line of its docstring is the formula.
    low, high, ideal : float
        Range and best value; an ideal of None is that of the rate, if it is a rate itself.
    groups : {"pair", "reference", "any"}
        Whether it takes two groups, any number of them and the reference, or any number of them.
    undefined : str
        When it has no value though the rates have.
    farthest_of : str
        The comparison of two groups of which it is the one farthest from the ideal, if it has no sign.
    """

    function: Values
    low: float
    high: float
    ideal: float | None
    groups: Groups
    undefined: str = ""
    farthest_of: str = ""

    @property
    def name(self) -> str:
        """What is written after the rate's name."""
        return self.function.__name__.replace("_", "-")

    @property
    def formula(self) -> str:
        """What is computed."""
        return (self.function.__doc__ or "").partition("\n")[0].removeprefix("Return ").removesuffix(".")

    def farthest_names(self, rate: str) -> tuple[str, ...]:
        """Return the name of the comparison of a rate of which it is the farthest; none if it has a sign."""
        if not self.farthest_of:
            return ()
        return (f"{rate}-{self.farthest_of}",)

    @property
    def is_test(self) -> bool:
        """Whether it is a statistic or p-value, which shares of a whole list do not have."""
        return self.name in ("z", "p")

    @property
    def of_rate(self) -> bool:
        """Whether it is a rate itself, not a comparison of several."""
        return (self.low, self.high, self.ideal) == (0, 1, None) and not self.is_test


def values_by_group(counts: Grouped, name: str) -> Floats:
    """Return a rate, or of scores a measure, of each group, shape (..., groups)."""
    if isinstance(counts, GroupScores):
        return SCORE_MEASURES[name].compute(counts)
    return rate_by_group(counts, name)


def difference(counts: Grouped, rate: str) -> Floats:
    """Return X(g) − X(r).

    >>> some = Counts(("g", "r"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))
    >>> float(difference(some, "tpr")), float(ratio(some, "fpr"))
    (-0.25, 0.5)
    """
    return of_group(counts, rate) - of_reference(counts, rate)


def ratio(counts: Grouped, rate: str) -> Floats:
    """Return X(g) / X(r)."""
    return divide(of_group(counts, rate), of_reference(counts, rate))


def spread(counts: Grouped, rate: str) -> Floats:
    """Return max X(s) − min X(s) over the groups s.

    The largest difference of any two groups.

    >>> n = np.array([[[3.0, 1], [0, 0]], [[1, 1], [0, 0]], [[0, 3], [0, 0]]])
    >>> float(spread(Counts(("a", "b", "c"), n), "selection-rate"))
    0.75
    """
    low, high = _lowest_and_highest(counts, rate)
    return high - low


def worst_ratio(counts: Grouped, rate: str) -> Floats:
    """Return min X(s) / max X(s) over the groups s.

    The smallest ratio of any two groups.
    """
    low, high = _lowest_and_highest(counts, rate)
    return divide(low, high)


def farthest_difference(counts: Grouped, rate: str) -> Floats:
    """Return the one farthest from 0 of X(s) − X(r) over the other groups s."""
    differences = _other_rates(counts, rate) - of_reference(counts, rate)[..., None]
    return _farthest(differences, np.abs(differences))


def farthest_ratio(counts: Grouped, rate: str) -> Floats:
    """Return the one farthest from 1 on a log scale of X(s) / X(r) over the other groups s."""
    ratios = divide(_other_rates(counts, rate), of_reference(counts, rate)[..., None])
    with np.errstate(divide="ignore"):
        return _farthest(ratios, np.abs(np.log(ratios)))


def mean_difference(counts: Grouped, rate: str) -> Floats:
    """Return the mean of X(s) − X(r) over the other groups s."""
    return _mean_of_finite(_other_rates(counts, rate) - of_reference(counts, rate)[..., None])


def mean_ratio(counts: Grouped, rate: str) -> Floats:
    """Return the mean of X(s) / X(r) over the other groups s."""
    return _mean_of_finite(divide(_other_rates(counts, rate), of_reference(counts, rate)[..., None]))


def mean_of_groups(counts: Grouped, rate: str) -> Floats:
    """Return the mean of X(s) over the groups s, each counting once however large."""
    return _mean_of_finite(values_by_group(counts, rate))


def of_group(counts: Grouped, rate: str) -> Floats:
    """Return X(g)."""
    return values_by_group(counts.pair, rate)[..., 0]


def of_reference(counts: Grouped, rate: str) -> Floats:
    """Return X(r)."""
    return values_by_group(counts.pair, rate)[..., 1]


def z(counts: Counts, rate: str) -> Floats:
    """Return (X(g) − X(r)) / √(p(1−p)(1/n(g) + 1/n(r))), p the rate of both groups together."""
    return _z_and_p(counts, rate)[0]


def p(counts: Counts, rate: str) -> Floats:
    """Return the two-sided p-value of z; of Fisher's exact test where a cell expects fewer than 5."""
    return _z_and_p(counts, rate)[1]


_INFINITE = "NaN when both rates are 0, infinite when only that of the reference is"

COMPARISONS: dict[str, Comparison] = {
    comparison.name: comparison
    for comparison in (
        Comparison(difference, -1, 1, 0, "pair"),
        Comparison(ratio, 0, math.inf, 1, "pair", _INFINITE),
        Comparison(spread, 0, 1, 0, "any", farthest_of="difference"),
        Comparison(worst_ratio, 0, 1, 1, "any", "NaN when all rates are 0", farthest_of="ratio"),
        Comparison(farthest_difference, -1, 1, 0, "reference"),
        Comparison(farthest_ratio, 0, math.inf, 1, "reference", _INFINITE),
        Comparison(mean_difference, -1, 1, 0, "reference"),
        Comparison(mean_ratio, 0, math.inf, 1, "reference", _INFINITE),
        Comparison(mean_of_groups, 0, 1, None, "any"),
        Comparison(of_group, 0, 1, None, "pair"),
        Comparison(of_reference, 0, 1, None, "pair"),
        Comparison(z, -math.inf, math.inf, 0, "pair", "NaN when all or none count"),
        Comparison(p, 0, 1, None, "pair"),
    )
}


def rate_metric(rate: Rate) -> Metric:
    """Return the rate over all rows as a metric."""
    return Metric(
        name=rate.name,
        function=lambda counts: rate_by_group(counts.all_rows, rate.name)[..., 0],
        low=0,
        high=1,
        ideal=rate.ideal,
        formula=rate.overall_formula,
        source="common",
        undefined=rate.undefined(""),
        section="rate",
        groups="any",
        on=_speaks_of(rate),
        usual=rate.usual,
    )


def comparison_metric(rate: Rate, comparison: Comparison) -> Metric:
    """Return ``RATE-COMPARISON`` as a metric."""
    ideal = rate.ideal if comparison.of_rate else comparison.ideal
    return Metric(
        name=f"{rate.name}-{comparison.name}",
        function=lambda counts: comparison.function(counts, rate.name),
        low=comparison.low,
        high=comparison.high,
        ideal=ideal,
        formula=f"{comparison.formula}, X(s) = {rate.formula}",
        source="common",
        undefined=_undefined(rate.undefined, comparison),
        section="comparison",
        groups=comparison.groups,
        on=_speaks_of(rate),
        farthest_of=comparison.farthest_names(rate.name),
        equal=rate.name if comparison.name == "p" else "",
    )


def _undefined(undefined: Callable[[str], str], comparison: Comparison) -> str:
    """Return when a comparison is NaN, given when what it compares is, for a group."""
    who = "too few groups are left: one is left out when it"
    if comparison.groups == "pair":
        who = "a group"
    return "; ".join(filter(None, (undefined(who), comparison.undefined)))


def compositions() -> list[Metric]:
    """Return every rate over all rows, and every comparison of every rate that it has."""
    metrics = [rate_metric(rate) for rate in RATES.values()]
    for rate in RATES.values():
        untested = rate.of_all or bool(rate.mean_of)
        metrics += [
            comparison_metric(rate, comparison)
            for comparison in COMPARISONS.values()
            if not (comparison.is_test and untested)
        ]
    return metrics


def score_metric(measure: ScoreMeasure) -> Metric:
    """Return a measure of scores over all rows as a metric."""
    return Metric(
        name=measure.name,
        function=lambda scores: measure.compute(scores.all_rows)[..., 0],
        low=measure.low,
        high=measure.high,
        ideal=measure.ideal,
        formula=measure.overall_formula,
        source=measure.source,
        undefined=measure.undefined(""),
        section="score",
        needs="score-sums",
        groups="any",
    )


def score_comparison_metric(measure: ScoreMeasure, comparison: Comparison) -> Metric:
    """Return ``MEASURE-COMPARISON`` as a metric."""
    low = comparison.low
    high = comparison.high
    ideal = comparison.ideal
    if comparison.of_rate:
        low = measure.low
        high = measure.high
        ideal = measure.ideal
    elif comparison.ideal == 0:  # a difference, of two values that may be further apart than rates
        high = measure.high - measure.low
        if low < 0:
            low = -high
    return Metric(
        name=f"{measure.name}-{comparison.name}",
        function=lambda scores: comparison.function(scores, measure.name),
        low=low,
        high=high,
        ideal=ideal,
        formula=f"{comparison.formula}, X(s) = {measure.formula}",
        source="common",
        undefined=_undefined(measure.undefined, comparison),
        section="comparison",
        needs="score-sums",
        groups=comparison.groups,
        farthest_of=comparison.farthest_names(measure.name),
    )


def score_compositions() -> list[Metric]:
    """Return every measure of scores over all rows, and every comparison of each that it has."""
    metrics = [score_metric(measure) for measure in SCORE_MEASURES.values()]
    for measure in SCORE_MEASURES.values():
        for comparison in COMPARISONS.values():
            is_ratio = "ratio" in comparison.name
            if not comparison.is_test and not (is_ratio and measure.is_signed):
                metrics.append(score_comparison_metric(measure, comparison))
    return metrics


def _speaks_of(rate: Rate) -> Literal["predictions", "labels", "both"]:
    if not rate.needs_labels:
        return "both"
    if rate.needs_predictions:
        return "predictions"
    return "labels"


def _z_and_p(counts: Counts, rate: str) -> tuple[Floats, Floats]:
    numerator, denominator = (side[..., 0] for side in numerators_and_denominators(counts.pair.n, [rate]))
    return two_proportions(numerator[..., 0], denominator[..., 0], numerator[..., 1], denominator[..., 1])


def _other_rates(counts: Grouped, rate: str) -> Floats:
    """Return the rate of every group that is no part of the reference."""
    return values_by_group(counts, rate)[..., counts.outside]


def _lowest_and_highest(counts: Grouped, rate: str) -> tuple[Floats, Floats]:
    """Return the lowest and the highest rate; NaN when fewer than two groups have one."""
    rates = values_by_group(counts, rate)
    has_value = ~np.isnan(rates)
    enough = has_value.sum(-1) > 1
    low = np.where(has_value, rates, np.inf).min(-1)
    high = np.where(has_value, rates, -np.inf).max(-1)
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def _mean_of_finite(values: Floats) -> Floats:
    has_value = ~np.isnan(values)
    return divide(np.where(has_value, values, 0.0).sum(-1), has_value.sum(-1))


def _farthest(values: Floats, distances: Floats) -> Floats:
    """Return the value with the largest distance, the first of equals; NaN when none has one."""
    farthest_index = np.where(np.isnan(distances), -1.0, distances).argmax(-1)[..., None]
    return np.asarray(np.take_along_axis(values, farthest_index, axis=-1)[..., 0])
