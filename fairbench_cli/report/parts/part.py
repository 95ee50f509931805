"""What the report of a run is made of: parts, of which each makes its files, tables, figures and sections."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from fairbench_cli.base.registry import Registry
from fairbench_cli.document.model import Document, Section
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.page_slots import MakeSections, PagePanels

MakeFrame = Callable[[RunResults], pd.DataFrame | None]
"""Returns the rows of a CSV file; None where the run has nothing to say there, and no file is written."""
MakeTable = Callable[[str, RunResults], Document]
"""Returns a table, given its name."""


def always(_plan: RunPlan) -> bool:
    """Return True: every run has the part."""
    return True


def no_sections(_run: RunResults, _page_panels: PagePanels) -> tuple[Section, ...]:
    """Return no sections: the page has nothing of the part."""
    return ()


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
    sections : callable
        Returns the part's sections of the page, given the run and the panels of the page.
    """

    key: str
    applies: Callable[[RunPlan], bool] = always
    metrics: tuple[str, ...] = ()
    frames: Mapping[str, MakeFrame] = field(default_factory=dict)
    tables: Mapping[str, MakeTable] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)
    sections: MakeSections = no_sections


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


def make_sections(parts: Iterable[RunPart], run: RunResults, page_panels: PagePanels) -> list[Section]:
    """Return the sections of a run's page, without those that have nothing to show."""
    sections: list[Section] = []
    for part in parts:
        if part.applies(run.plan):
            sections += part.sections(run, page_panels)
    return [section for section in sections if section.sections or section.tables or section.charts]
