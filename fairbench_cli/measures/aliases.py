"""The literature's names of metrics, each defined by others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from fairbench_cli.measures.comparisons import MIRRORED, SAME
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.metric import Metric, Swap

How = Literal["same", "swapped", "one plus", "largest of", "smallest of", "mean of"]


@dataclass(frozen=True)
class Alias:
    """A name from the literature.

    Parameters
    ----------
    name, source : str
        As written, and who calls it so.
    of : tuple of str
        The metrics that define it.
    how : str
        What is made of their values. ``swapped``: of the reference against the group, so that a difference is
        favoured − deprived.
    """

    name: str
    source: str
    of: tuple[str, ...]
    how: How = "same"

    @property
    def definition(self) -> str:
        """Return the definition in words."""
        listed = " and ".join(self.of)
        words = {"same": "{}", "swapped": "{} with the groups swapped", "one plus": "1 + {}"}
        return words.get(self.how, f"{self.how} {{}}").format(listed)


_CARDOSO, _SURVEY, _AEQUITAS = "Cardoso et al. 2019", "Žliobaitė 2017", "Aequitas (Saleiro et al. 2018)"
_FRIEDLER, _HARDT, _COMMON = "Friedler et al. 2019", "Hardt et al. 2016", "common"
_FAIRLEARN, _AIF360 = "fairlearn", "AIF360"
_ODDS = ("tpr-spread", "fpr-spread")

# The rates that Friedler et al. average over groups, by their names, with sources; and those they compare.
_AVERAGED = {
    **{rate: (rate, _FRIEDLER) for rate in ("accuracy", "tpr", "tnr", "bcr")},
    "calibration-positive": ("ppv", f"{_FRIEDLER}, calibration+"),
    "calibration-negative": ("npv", f"{_FRIEDLER}, calibration− as the text has it"),
    "calibration-negative-stored": ("for", f"{_FRIEDLER}, calibration− as its published files have it"),
}
_COMPARED = ("accuracy", "tpr", "tnr", "bcr", "ppv", "npv")


def _averaged(name: str, rate: str, source: str) -> tuple[Alias, ...]:
    """Return the mean of a rate over all levels, and over the pair of groups."""
    both = (f"{rate}-of-group", f"{rate}-of-reference")
    return (
        Alias(f"sensitive-{name}", source, (f"{rate}-mean-of-groups",)),
        Alias(f"sensitive-{name}-binary", source, both, "mean of"),
    )


def _compared(rate: str) -> tuple[Alias, ...]:
    """Return the comparisons of a rate: of all levels with the reference, and of the pair of groups."""
    name = f"comparative-sensitive-{rate}"
    return (
        Alias(name, _FRIEDLER, (f"{rate}-mean-difference",), "one plus"),
        Alias(f"{name}-binary", _FRIEDLER, (f"{rate}-difference",), "one plus"),
        Alias(f"{name}-ratio", _FRIEDLER, (f"{rate}-mean-ratio",)),
        Alias(f"{name}-ratio-binary", _FRIEDLER, (f"{rate}-ratio",)),
    )


ALIASES: tuple[Alias, ...] = (
    # Differences and ratios of selection rates.
    Alias("acceptance-rate", "Žliobaitė 2015", ("selection-rate",)),
    Alias(
        "discrimination",
        f"{_CARDOSO}, eq. 1; the mean difference of {_SURVEY}",
        ("selection-rate-difference",),
        "swapped",
    ),
    Alias("statistical-parity-difference", _AIF360, ("selection-rate-difference",)),
    Alias("cv", f"{_FRIEDLER}, after Calders & Verwer 2010", ("selection-rate-difference",), "one plus"),
    Alias("impact-ratio", f"{_SURVEY}; the ratio of the four-fifths rule", ("selection-rate-ratio",)),
    Alias("disparate-impact", _AIF360, ("selection-rate-ratio",)),
    Alias("dibinary", f"DIbinary of {_FRIEDLER}", ("selection-rate-ratio",)),
    Alias("diavgall", f"DIavgall of {_FRIEDLER}", ("selection-rate-mean-ratio",)),
    Alias("diavgall-binary", f"DIavgall of {_FRIEDLER}, over two groups", ("selection-rate-ratio",)),
    Alias("likelihood-ratio", _SURVEY, ("selection-rate-ratio",), "swapped"),
    Alias("demographic-parity-difference", _FAIRLEARN, ("selection-rate-spread",)),
    Alias("demographic-parity-ratio", _FAIRLEARN, ("selection-rate-worst-ratio",)),
    Alias("two-proportions-z", _SURVEY, ("selection-rate-z",), "swapped"),
    Alias("two-proportions-p", _SURVEY, ("selection-rate-p",)),
    # Error rates.
    Alias("overestimation", f"{_CARDOSO}, eq. 2", ("fpr-difference",), "swapped"),
    Alias("underestimation", f"{_CARDOSO}, eq. 3", ("fnr-difference",)),
    Alias("equal-opportunity", f"{_HARDT}; equal_opportunity_difference of {_FAIRLEARN}", ("tpr-spread",)),
    Alias("equal-opportunity-difference", f"{_AIF360} (signed)", ("tpr-difference",)),
    Alias("equal-opportunity-ratio", _FAIRLEARN, ("tpr-worst-ratio",)),
    Alias("equalised-odds", _HARDT, _ODDS, "largest of"),
    Alias("equalised-odds-difference", _FAIRLEARN, _ODDS, "largest of"),
    Alias("equalized-odds-difference", _FAIRLEARN, _ODDS, "largest of"),
    Alias("equalised-odds-ratio", _FAIRLEARN, ("tpr-worst-ratio", "fpr-worst-ratio"), "smallest of"),
    Alias("equalized-odds-ratio", _FAIRLEARN, ("tpr-worst-ratio", "fpr-worst-ratio"), "smallest of"),
    Alias("average-odds-difference", _AIF360, ("fpr-difference", "tpr-difference"), "mean of"),
    Alias("calibration-positive", f"sensitive-calibration+ of {_FRIEDLER}", ("ppv-mean-of-groups",)),
    Alias("calibration-negative", f"sensitive-calibration− of {_FRIEDLER} (text)", ("npv-mean-of-groups",)),
    *(alias for name, (rate, source) in _AVERAGED.items() for alias in _averaged(name, rate, source)),
    *(alias for rate in _COMPARED for alias in _compared(rate)),
    # Rates.
    Alias("pprev", _AEQUITAS, ("selection-rate",)),
    Alias("ppr", _AEQUITAS, ("selected-share",)),
    Alias("prev", _AEQUITAS, ("base-rate",)),
    Alias("share", _AEQUITAS, ("group-share",)),
    Alias("precision", _COMMON, ("ppv",)),
    Alias("recall", _COMMON, ("tpr",)),
    Alias("sensitivity", _COMMON, ("tpr",)),
    Alias("specificity", _COMMON, ("tnr",)),
    Alias("balanced-accuracy", _COMMON, ("bcr",)),
    Alias("true-positive-rate", _FAIRLEARN, ("tpr",)),
    Alias("false-positive-rate", _FAIRLEARN, ("fpr",)),
    Alias("true-negative-rate", _FAIRLEARN, ("tnr",)),
    Alias("false-negative-rate", _FAIRLEARN, ("fnr",)),
)

_COMBINE: dict[How, Callable[[Floats], Floats]] = {
    "same": lambda values: values[0],
    "swapped": lambda values: values[0],
    "one plus": lambda values: 1.0 + values[0],
    "largest of": lambda values: values.max(0),  # NaN when one is undefined
    "smallest of": lambda values: values.min(0),
    "mean of": lambda values: values.mean(0),
}


def defined(alias: Alias, known: Mapping[str, Metric]) -> Metric:
    """Return an alias as a metric, given those that define it."""
    parts = [known[name] for name in alias.of]
    first, shift = parts[0], alias.how == "one plus"
    return replace(
        first,
        name=alias.name,
        function=partial(_value, alias, parts),
        low=first.low + shift,
        high=first.high + shift,
        ideal=None if first.ideal is None else first.ideal + shift,
        source=alias.source,
        formula=_formula(alias, parts),
        undefined=first.undefined if len(parts) == 1 else "NaN when one of them is",
        section="alias",
        swap_groups=_under_swapped_groups(parts),
        swap_outcomes=_under_swapped_outcomes(alias, parts, known),
        alias_of=alias.definition,
    )


def _value(alias: Alias, parts: list[Metric], counts: Counts) -> Floats:
    given = counts.swapped if alias.how == "swapped" else counts
    return _COMBINE[alias.how](np.stack([part.function(given) for part in parts]))


def _formula(alias: Alias, parts: list[Metric]) -> str:
    if len(parts) > 1:
        return alias.definition
    text = parts[0].formula
    if alias.how == "swapped":
        text = text.replace("X(g)", "X(§)").replace("X(r)", "X(g)").replace("X(§)", "X(r)")
    return f"1 + {text}" if alias.how == "one plus" else text


def _under_swapped_groups(parts: list[Metric]) -> Swap | None:
    """Return what swapping the groups does, where it does one thing to all or makes each part another."""
    changes = {part.swap_groups for part in parts}
    others = {Swap(part.name) for part in parts}
    return changes.pop() if len(changes) == 1 else SAME if changes == others else None


def _under_swapped_outcomes(alias: Alias, parts: list[Metric], known: Mapping[str, Metric]) -> Swap | None:
    """Return what swapping the outcomes does, where it follows from what it does to the one definition."""
    if alias.name == "average-odds-difference":
        return MIRRORED  # TPR becomes TNR = 1 − FPR, and FPR becomes FNR = 1 − TPR
    if alias.how == "largest of":
        return SAME  # for the same reason
    swap = parts[0].swap_outcomes
    if len(parts) > 1 or swap is None or not swap.other:
        return None if len(parts) > 1 else swap
    if alias.how == "one plus":
        return None  # one plus another difference has no name
    # Of the other metric with the groups swapped, which is a change of it.
    again = known[swap.other].swap_groups
    return swap if alias.how == "same" else again and Swap(swap.other, again.change)
