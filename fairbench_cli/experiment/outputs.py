"""The tables, table formats and figures of a run by name. A new one is a file and an entry here.

Nothing is imported before it is written: a config is checked against the names alone.
"""

from dataclasses import dataclass
from typing import Any, Literal

from fairbench_cli.classifiers.registry import Entry


@dataclass(frozen=True)
class Output:
    """A table or a figure of a report.

    Parameters
    ----------
    target : str
        ``module:function``. A table's function takes its name and the `RunResults` and returns a
        `PaperTable`, a figure's takes the `RunResults` and returns figures by file name.
    metrics : tuple of str
        The metrics that it shows. They are computed whether or not the config lists them.
    needs : {"sweep", "network", "oracle"}, optional
        What the config must ask for besides, as in `NEEDS`.
    always : bool
        Whether every report writes it, asked for or not.
    """

    target: str
    metrics: tuple[str, ...] = ()
    needs: Literal["sweep", "network", "oracle"] | None = None
    always: bool = False

    def load(self) -> Any:
        """Import the function."""
        return Entry(self.target).load()


_BOTH, _ERRORS = ("discrimination", "accuracy"), ("overestimation", "underestimation")
_REPORT = "fairbench_cli.report"

TABLES: dict[str, Output] = {
    "discrimination-accuracy": Output(f"{_REPORT}.tables:paper_table", _BOTH),
    "over-underestimation": Output(f"{_REPORT}.tables:paper_table", _ERRORS),
    "group-rates": Output(f"{_REPORT}.group_rates:group_rates_table"),
    "difference-to-none": Output(f"{_REPORT}.paired:paired_table", (*_BOTH, *_ERRORS), always=True),
    "pareto": Output(f"{_REPORT}.pareto:pareto_table", _BOTH, always=True),
}
DEFAULT_TABLES = ("discrimination-accuracy", "over-underestimation")

FORMATS: dict[str, str] = {
    "md": f"{_REPORT}.formats:markdown",
    "tex": f"{_REPORT}.formats:latex",
    "csv": f"{_REPORT}.formats:comma_separated",
}
"""By the ending of the file: functions of a `PaperTable` that return text."""

FIGURES: dict[str, Output] = {
    "discrimination-accuracy": Output(f"{_REPORT}.figures.discrimination_accuracy:draw", _BOTH),
    "network": Output(f"{_REPORT}.figures.network:draw", needs="network"),
    "curves": Output(f"{_REPORT}.figures.curves:draw", (*_BOTH, *_ERRORS)),
    "pareto": Output(f"{_REPORT}.figures.pareto:draw", _BOTH),
    "sweep": Output(f"{_REPORT}.figures.sweep:draw", needs="sweep"),
    "oracle": Output(f"{_REPORT}.figures.oracle:draw", needs="oracle"),
}

NEEDS: dict[str, tuple[str, str]] = {
    "sweep": ("needs a sweep", "write `sweep: acceptance-rate`"),
    "network": ("has none to draw with `from: data`", "remove it"),
    "oracle": ("needs the oracle", "add oracle to `interventions`"),
}
"""What to say of a config that does not ask for what a figure needs: what is missing, and how to mend it."""
