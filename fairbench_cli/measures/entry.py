"""What there is to know about a measure."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from fairbench_cli.measures.counts import Floats

Section = Literal["accuracy", "absolute", "error rate", "conditional", "situation", "redlining", "test"]

OF_LABELS = "-of-labels"  # ends the name of a measure when it is of the labels


@dataclass(frozen=True)
class Measure:
    """What there is to know about a measure.

    Parameters
    ----------
    name : str
        As written in a config.
    function : callable
        Takes `Counts` (see `needs`) and returns an array of one value per leading axis, or takes `Rows` and
        returns one value.
    low, high : float
        Range.
    ideal : float or None
        The best value; None when no value is better than another.
    formula, source : str
        What is computed, and who says so.
    zero_denominator : str
        When the value is NaN (or infinite).
    section : str
        Its place in the survey's order.
    needs : {"counts", "rows"}
        What the function takes.
    on : {"predictions", "labels", "both"}
        What it speaks of. "both": of predictions under its name, of labels under the name ending in
        ``-of-labels``, which the registry adds.
    """

    name: str
    function: Callable[..., Floats | float]
    low: float
    high: float
    ideal: float | None
    formula: str
    source: str
    zero_denominator: str
    section: Section
    needs: Literal["counts", "rows"] = "counts"
    on: Literal["predictions", "labels", "both"] = "predictions"

    @property
    def direction(self) -> Literal["higher", "lower", "nearer", "none"]:
        """Which values are better: higher ones, lower ones, those nearer to the ideal, or none."""
        if self.ideal is None:
            return "none"
        if self.ideal == self.high:
            return "higher"
        return "lower" if self.ideal == self.low else "nearer"

    @property
    def ratio(self) -> bool:
        """Whether it is a ratio, for which ½ and 2 are equally far from the ideal 1."""
        return (self.low, self.high, self.ideal) == (0, math.inf, 1)

    def of_labels(self) -> "Measure":
        """Return the measure as it speaks of labels."""
        return replace(
            self,
            name=self.name + OF_LABELS,
            formula=self.formula.replace("ŷ", "y"),
            zero_denominator=self.zero_denominator.replace("prediction", "label"),
            on="labels",
        )
