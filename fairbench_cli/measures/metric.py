"""What there is to know about a metric."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairbench_cli.measures.counts import Floats

Section = Literal[
    "rate",
    "comparison",
    "accuracy",
    "score",
    "absolute",
    "conditional",
    "situation",
    "redlining",
    "test",
    "alias",
    "legacy",
]
Needs = Literal["counts", "score-sums", "scores", "strata", "rows", "twins"]
Groups = Literal["pair", "reference", "any"]
Tested = Literal["parts", "rate", "limit", "ideal", "nothing"]

OF_LABELS = "-of-labels"  # ends the name of a metric when it is of the labels
RATES_AMONG_OTHERS = frozenset(
    {
        "balanced-residuals",
        "cluster-difference",
        "discrimination-weighted",
        "discrimination-within",
        "explained-difference",
        "one-class-accuracy",
        "propensity-difference",
        "unexplained-difference",
    }
)
"""The rates and differences of rates of sections that have other metrics, too."""


@dataclass(frozen=True)
class Metric:
    """What there is to know about a metric.

    Parameters
    ----------
    name : str
        As written in a config or on a command line.
    function : callable
        Takes `Counts` (of two groups where `groups` is "pair"), or `GroupScores`, and returns one value per
        leading axis; or takes `Rows` and returns one value.
    low, high : float
        Range.
    ideal : float or None
        The best value; None when no value is better than another.
    formula, source : str
        What is computed, and who defined it.
    undefined : str
        When the value is NaN (or infinite).
    section : str
        Where it is listed.
    needs : {"counts", "score-sums", "scores", "strata", "rows", "twins"}
        What it is computed from: counts; sums of scores by group; or rows, and of these also the scores,
        strata to compare within, or whether decisions stay the same in the other group.
    groups : {"pair", "reference", "any"}
        Whether it compares two groups, the deprived one and the reference; or any number of groups with the
        reference; or takes any number of groups.
    on : {"predictions", "labels", "both"}
        What it speaks of. "both": of predictions under its name, of labels under the name ending in
        ``-of-labels``, which the registry adds; the selection rate of labels is the base rate.
    alias_of : str
        The definition of a name from the literature; empty for other metrics.
    farthest_of : tuple of str
        Of a largest or absolute value: the differences, or ratios, of which it is the one farthest from the
        ideal, whichever way that is.
    equal : str
        Of a p-value, and of a metric that cannot fall below its ideal though it compares one rate: the rate
        that is the same in both groups where its hypothesis holds.
    usual : bool
        Whether papers and libraries report it so often that a list shows it first.
    """

    name: str
    function: Callable[[Any], Floats | float]
    low: float
    high: float
    ideal: float | None
    formula: str
    source: str
    undefined: str
    section: Section
    needs: Needs = "counts"
    groups: Groups = "pair"
    on: Literal["predictions", "labels", "both"] = "predictions"
    alias_of: str = ""
    farthest_of: tuple[str, ...] = ()
    equal: str = ""
    usual: bool = False

    @property
    def tested(self) -> Tested:
        """What is tested where an audit fails by it, as chance alone moves some metrics off their ideal.

        ``parts``: whether each of `farthest_of` is ideal; ``rate``: whether the rate `equal` is the same in
        both groups; ``limit``, of one with its ideal at an end of its range, such as an accuracy: whether it
        is as good as the limit asks for; ``ideal``: whether it is ideal; ``nothing``: it has no ideal.
        """
        if self.farthest_of:
            return "parts"
        if self.equal:
            return "rate"
        if self.direction in ("higher", "lower"):
            return "limit"
        if self.direction == "nearer":
            return "ideal"
        return "nothing"

    @property
    def direction(self) -> Literal["higher", "lower", "nearer", "none"]:
        """Which values are better: higher ones, lower ones, those nearer to the ideal, or none."""
        if self.ideal is None:
            return "none"
        if self.ideal == self.high:
            return "higher"
        if self.ideal == self.low:
            return "lower"
        return "nearer"

    @property
    def needs_rows(self) -> bool:
        """Whether it is computed where the rows are: no sums of groups suffice."""
        return self.needs not in ("counts", "score-sums")

    @property
    def is_of_rates(self) -> bool:
        """Whether it is a rate or a difference of rates, so that 0.01 is one point.

        No ratio, coefficient or p-value; and no metric of somebody's own, of which nothing is known.
        """
        if self.needs == "score-sums":
            return False
        name = self.name.removesuffix(OF_LABELS)
        if self.section in ("absolute", "conditional"):
            return name in RATES_AMONG_OTHERS
        if self.section not in ("rate", "comparison", "alias", "legacy", "situation"):
            return False
        is_bounded = self.low >= -1 and self.high <= 2  # 1 plus a difference goes to 2
        return is_bounded and "ratio" not in name and not name.endswith("-p")

    @property
    def ratio(self) -> bool:
        """Whether it is a ratio, for which ½ and 2 are equally far from the ideal 1."""
        return (self.low, self.high, self.ideal) == (0, math.inf, 1)

    @property
    def is_test(self) -> bool:
        """Whether it is a statistic or a p-value of a test."""
        return self.section == "test" or self._base.endswith(("-z", "-p"))

    @property
    def p_value(self) -> bool:
        """Whether it is the p-value of a test."""
        return self._base.endswith("-p")

    @property
    def _base(self) -> str:
        return self.name.removesuffix(OF_LABELS).removesuffix("-of-scores")

    def of_labels(self) -> "Metric":
        """Return the metric as it speaks of labels."""
        return replace(
            self,
            name=self.name + OF_LABELS,
            formula=self.formula.replace("ŷ", "y"),
            undefined=self.undefined.replace("prediction", "label"),
            on="labels",
            alias_of=f"{self.alias_of}, of labels" if self.alias_of else "",
            farthest_of=tuple(map(_base_rate, self.farthest_of)),
            equal=_base_rate(self.equal),
            usual=False,
        )


def _base_rate(name: str) -> str:
    """Return the name of what a comparison of the selection rate is of labels."""
    return name.replace("selection-rate", "base-rate")
