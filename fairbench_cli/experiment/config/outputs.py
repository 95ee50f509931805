"""The tables and figures of a run by name, and what a config must ask for to get them.

The functions that make them are in `report/parts/` and, of those of papers, in `papers/`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

TestLabels = Literal["true", "recorded"]
"""Which labels and groups of the test rows numbers are about: the true ones, or those of the record."""


@dataclass(frozen=True)
class ReportOutput:
    """What a config has to do with a table or a figure of a report.

    Parameters
    ----------
    metrics : tuple of str
        The metrics that it shows. They are computed whether or not the config lists them.
    needs : tuple of str
        Names in `NEEDS`: what the config must ask for.
    always : bool
        Whether every report writes it, asked for or not; left out where it would be empty.
    """

    metrics: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    always: bool = False


_BOTH = ("discrimination", "accuracy")
_ERRORS = ("overestimation", "underestimation")

TABLES: dict[str, ReportOutput] = {
    "discrimination-accuracy": ReportOutput(_BOTH),
    "over-underestimation": ReportOutput(_ERRORS),
    "group-rates": ReportOutput(),
    "combined-attributes": ReportOutput(_BOTH, needs=("attributes",)),
    "overview": ReportOutput(_BOTH),
    "difference-to-none": ReportOutput(_BOTH + _ERRORS, always=True),
    "pareto": ReportOutput(_BOTH, always=True),
    "ranks": ReportOutput(needs=("datasets",), always=True),
    "frontier": ReportOutput(needs=("sweep",), always=True),
    "tuning": ReportOutput(needs=("tune",), always=True),
    "worlds": ReportOutput(("accuracy",), needs=("worlds",), always=True),
}
MIN_CASES = 3
"""Of how many data sets and attributes a run ranks techniques, at least."""
DEFAULT_TABLES = ("discrimination-accuracy", "over-underestimation")
FIGURE_FORMATS = ("svg", "pdf", "png")
DEFAULT_FIGURE_FORMATS = FIGURE_FORMATS[:1]

FIGURES: dict[str, ReportOutput] = {
    "discrimination-accuracy": ReportOutput(_BOTH),
    "network": ReportOutput(needs=("network",)),
    "curves": ReportOutput(_BOTH + _ERRORS),
    "pareto": ReportOutput(_BOTH),
    "ranks": ReportOutput(needs=("datasets",)),
    "sweep": ReportOutput(needs=("sweep",)),
    "frontier": ReportOutput(needs=("sweep",)),
    "calibration": ReportOutput(needs=("scores",)),
    "oracle": ReportOutput(needs=("oracle",)),
    "tuning": ReportOutput(needs=("tune",)),
    "correlations": ReportOutput(),
    "stability": ReportOutput(_BOTH),
    "representations": ReportOutput(_BOTH, needs=("representations",)),
    "combined-attributes": ReportOutput(_BOTH, needs=("attributes",)),
    "overview": ReportOutput(_BOTH),
    "metric-pairs": ReportOutput(),
}
FIGURES_OF_WORLDS = ("remedies", "recorded-true", "strength")
"""Names of figures that are drawn no more: the page has what they showed."""


def _attributes(config: Any) -> Counter[tuple[str, str]]:
    """Count the protected attributes that each data set works on."""
    counts: Counter[tuple[str, str]] = Counter()
    for spec in config.datasets:
        counts[spec.card, spec.name] += max(len(spec.attribute), 1)
    return counts


NEEDS: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "sweep": (lambda config: config.sweep is not None, "needs a sweep", "write `sweep: acceptance-rate`"),
    "scores": (
        lambda config: config.keeps_scores,
        "needs a metric of scores",
        "add one such as calibration-gap to `metrics`",
    ),
    "network": (
        lambda config: config.sample.source != "data",
        "has none to draw with `from: data`",
        "remove it",
    ),
    "oracle": (
        lambda config: any(technique.spec.name == "oracle" for technique in config.interventions),
        "needs the oracle",
        "add oracle to `interventions`",
    ),
    "tune": (
        lambda config: bool(config.tuned_for),
        "needs an intervention that is tuned",
        "write `tune: {for: accuracy, over: {PARAMETER: [VALUES]}}` in its entry",
    ),
    "attributes": (
        lambda config: any(n > 1 for n in _attributes(config).values()),
        "needs a data set with several protected attributes",
        "list them, such as `adult: {attribute: [race, sex]}`",
    ),
    "datasets": (
        lambda config: _attributes(config).total() >= MIN_CASES,
        f"ranks techniques over {MIN_CASES} data sets or attributes",
        "add data sets",
    ),
    "representations": (
        lambda config: len({technique.representation for technique in config.interventions}) > 1,
        "compares representations",
        "write `representation: [numerical, numerical-binary]`",
    ),
    "worlds": (
        lambda config: config.has_worlds,
        "compares worlds",
        "write a `bias` under `sample`, such as `bias: [label: {flip: 0.5}]`",
    ),
}
"""What an output needs of an `ExperimentConfig`: whether it asks for it; else what is wrong, and the fix."""
