"""The tables, table formats and figures of a run by name. A new one is a file and an entry here.

Nothing is imported before it is written: a config is checked against the names alone.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairbench_cli.classifiers.registry import Entry


@dataclass(frozen=True)
class ReportOutput:
    """A table or a figure of a report.

    Parameters
    ----------
    target : str
        ``module:function``. A table's function takes its name and the `RunResults` and returns a
        `PaperTable`, a figure's takes the `RunResults` and returns figures by file name.
    metrics : tuple of str
        The metrics that it shows. They are computed whether or not the config lists them.
    needs : tuple of str
        Names in `NEEDS`: what the config must ask for.
    always : bool
        Whether every report writes it, asked for or not; left out where it would be empty.
    """

    target: str
    metrics: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    always: bool = False

    def load(self) -> Any:
        """Import the function."""
        return Entry(self.target).load()


_BOTH, _ERRORS = ("discrimination", "accuracy"), ("overestimation", "underestimation")
_REPORT = "fairbench_cli.report"

TABLES: dict[str, ReportOutput] = {
    "discrimination-accuracy": ReportOutput(f"{_REPORT}.tables:paper_table", _BOTH),
    "over-underestimation": ReportOutput(f"{_REPORT}.tables:paper_table", _ERRORS),
    "group-rates": ReportOutput(f"{_REPORT}.tables:group_rates_table"),
    "combined-attributes": ReportOutput(f"{_REPORT}.combined:combined_table", _BOTH, needs=("attributes",)),
    "difference-to-none": ReportOutput(f"{_REPORT}.paired:paired_table", (*_BOTH, *_ERRORS), always=True),
    "pareto": ReportOutput(f"{_REPORT}.pareto:pareto_table", _BOTH, always=True),
    "frontier": ReportOutput(f"{_REPORT}.frontier:frontier_table", needs=("sweep",), always=True),
    "tuning": ReportOutput(f"{_REPORT}.tuning:tuning_table", needs=("tune",), always=True),
}
DEFAULT_TABLES = ("discrimination-accuracy", "over-underestimation")

FORMATS: dict[str, str] = {
    "md": f"{_REPORT}.formats:markdown",
    "tex": f"{_REPORT}.formats:latex",
    "csv": f"{_REPORT}.formats:comma_separated",
}
"""By the ending of the file: functions of a `PaperTable` that return text."""

FIGURES: dict[str, ReportOutput] = {
    "discrimination-accuracy": ReportOutput(f"{_REPORT}.figures.discrimination_accuracy:draw", _BOTH),
    "network": ReportOutput(f"{_REPORT}.figures.network:draw", needs=("network",)),
    "curves": ReportOutput(f"{_REPORT}.figures.curves:draw", (*_BOTH, *_ERRORS)),
    "pareto": ReportOutput(f"{_REPORT}.figures.pareto:draw", _BOTH),
    "sweep": ReportOutput(f"{_REPORT}.figures.sweep:draw", needs=("sweep",)),
    "frontier": ReportOutput(f"{_REPORT}.figures.frontier:draw", needs=("sweep",)),
    "oracle": ReportOutput(f"{_REPORT}.figures.oracle:draw", needs=("oracle",)),
    "tuning": ReportOutput(f"{_REPORT}.figures.tuning:draw", needs=("tune",)),
    "correlations": ReportOutput(f"{_REPORT}.figures.correlations:draw"),
    "stability": ReportOutput(f"{_REPORT}.figures.stability:draw", _BOTH),
    "representations": ReportOutput(
        f"{_REPORT}.figures.representations:draw", _BOTH, needs=("representations",)
    ),
    "combined-attributes": ReportOutput(f"{_REPORT}.figures.combined:draw", _BOTH, needs=("attributes",)),
}

FRAMES: dict[str, dict[str, str]] = {
    "correlations": {
        "correlations": f"{_REPORT}.correlations:correlations_frame",
        "correlation_pairs": f"{_REPORT}.correlations:pairs_frame",
        "correlation_clusters": f"{_REPORT}.correlations:clusters_frame",
    },
    "stability": {"stability": f"{_REPORT}.stability:stability_frame"},
    "representations": {"representations": f"{_REPORT}.representations:representations_frame"},
}
"""The CSV files, by name, that a table or a figure brings with it: functions of the `RunResults`."""


def _attributes(config: Any) -> Counter[tuple[str, str]]:
    """Count the protected attributes that each data set works on."""
    found: Counter[tuple[str, str]] = Counter()
    for spec in config.datasets:
        found[spec.card, spec.name] += max(len(spec.attribute), 1)
    return found


NEEDS: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "sweep": (lambda config: config.sweep is not None, "needs a sweep", "write `sweep: acceptance-rate`"),
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
    "representations": (
        lambda config: len({technique.representation for technique in config.interventions}) > 1,
        "compares representations",
        "write `representation: [numerical, numerical-binary]`",
    ),
}
"""What an output needs of an `ExperimentConfig`: whether it asks for it; else what is wrong, and the fix."""
