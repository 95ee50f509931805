"""What the report of a run is made of: parts, of which each makes its files, tables and figures."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from fairbench_cli.base.registry import Registry
from fairbench_cli.document.model import Document
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.ledger.results import RunResults

MakeFrame = Callable[[RunResults], pd.DataFrame | None]
"""Returns the rows of a CSV file; None where the run has nothing to say there, and no file is written."""
MakeTable = Callable[[str, RunResults], Document]
"""Returns a table, given its name."""


def always(_plan: RunPlan) -> bool:
    """Return True: every run has the part."""
    return True


@dataclass(frozen=True)
class RunPart:
    """One thing that a report can say of a run; `parts.PARTS` has a line for each.

    Parameters
    ----------
    key : str
        Its name.
    applies : callable
        Whether a run has it. A file of a part that does not apply goes away, if an earlier report wrote one.
    metrics : tuple of str
        The metrics that its files are made of. They are computed whether or not the config lists them.
    frames : dict of str to callable
        CSV files by name, without ``.csv``.
    tables : dict of str to callable
        By the names that a config asks for them; `experiment/config/outputs.py` knows these too.
    figures : dict of str to str
        ``module:function`` below the package by the names that a config asks for them. The function returns
        figures of a `RunResults` by file name; its module, and matplotlib, are loaded when they are drawn.
    """

    key: str
    applies: Callable[[RunPlan], bool] = always
    metrics: tuple[str, ...] = ()
    frames: Mapping[str, MakeFrame] = field(default_factory=dict)
    tables: Mapping[str, MakeTable] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


def make_frames(parts: Iterable[RunPart], run: RunResults) -> dict[str, pd.DataFrame | None]:
    """Return the CSV files of a run by name; None of those that it does not have."""
    frames: dict[str, pd.DataFrame | None] = {}
    for part in parts:
        applies = part.applies(run.plan)
        for name, make_frame in part.frames.items():
            frames[name] = make_frame(run) if applies else None
    return frames


def table_makers(parts: Iterable[RunPart]) -> dict[str, MakeTable]:
    """Return the functions that make tables, by name."""
    tables: dict[str, MakeTable] = {}
    for part in parts:
        tables |= part.tables
    return tables


def figure_registry(parts: Iterable[RunPart]) -> Registry:
    """Return the functions that draw figures, by name."""
    targets: dict[str, str] = {}
    for part in parts:
        targets |= part.figures
    return Registry("figure", "fairbench_cli", targets)
