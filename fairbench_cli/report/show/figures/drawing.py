"""From the results of a run to the bytes of its figures, in this process or in several."""

import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import getpid

from matplotlib.figure import Figure

from fairbench_cli.base.registry import Registry
from fairbench_cli.document.charts import Drawing
from fairbench_cli.experiment.running.processes import die_with_parent
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures.canvas import figure_bytes, house_style

FEW = 2
"""So many figures are drawn here: that is done before others have begun."""
_of_parent: list[tuple[RunResults, Registry]] = []
"""In a process that draws for another: what it draws."""


def draw_by_name(
    run: RunResults, names: Sequence[str], figures: Registry, processes: int
) -> dict[str, dict[str, bytes]]:
    """Return the files of each figure.

    Where there are more than a few, and the system can copy a process, copies of this one draw them: they
    have the results at hand, and return bytes.
    """
    processes = min(processes, len(names))
    if processes > 1 and len(names) > FEW and sys.platform == "linux":
        from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
        from multiprocessing import get_context

        work = (getpid(), run, figures)
        with suppress(BrokenProcessPool, OSError), warnings.catch_warnings():
            # Python 3.12 warns where threads run: those of this process wait, and hold no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            with ProcessPoolExecutor(processes, get_context("fork"), _start_copy, work) as pool:
                return dict(zip(names, pool.map(_draw_in_copy, names), strict=True))
    return {name: draw_files(run, name, figures) for name in names}


def draw_files(run: RunResults, name: str, figures: Registry) -> dict[str, bytes]:
    """Return the files of a figure, which are several where it has pages."""
    config = run.plan.config
    with house_style():
        pages = {f"{name}-{page}": figure for page, figure in figures[name].load()(run).items()}
        return figure_files(pages, config.figure_formats, titles=config.figure_titles)


def figure_files(
    figures: Mapping[str, Figure | Drawing], formats: Sequence[str], *, titles: bool = True
) -> dict[str, bytes]:
    """Return figures as ``NAME.FORMAT``. A `Drawing` is SVG already, and has no other format."""
    files = {}
    for name, figure in figures.items():
        if isinstance(figure, Drawing):
            files[f"{name}.svg"] = figure.svg.encode()
            continue
        for ending in formats:
            files[f"{name}.{ending}"] = figure_bytes(figure, ending, titles=titles)
    return files


def _start_copy(parent: int, run: RunResults, figures: Registry) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says what was interrupted
    _of_parent.append((run, figures))


def _draw_in_copy(name: str) -> dict[str, bytes]:
    run, figures = _of_parent[0]
    return draw_files(run, name, figures)
