"""The measures of outcomes that are numbers: one definition each, by name.

A measure of a group is compared by its difference from the reference's; one of both groups is a comparison
already. `means`, `value_ranks`, `quantiles` and `regression` compute them.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

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


def _read_measures() -> dict[str, NumberMeasure]:
    """Read ``number_measures.csv``, a measure in a row."""
    measures = {}
    text = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        measures[row["name"]] = NumberMeasure(
            name=row["name"],
            label=row["label"],
            formula=row["formula"],
            source=row["source"],
            unit=cast("Unit", row["unit"]),
            needs_truth=row["needs_truth"] == "yes",
            has_margin=row["has_margin"] == "yes",
        )
    return measures


SHARE_ABOVE = "share-above"
NUMBER_MEASURES = _read_measures()
"""By name."""
