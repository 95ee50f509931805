"""The figures of a run by name. A new one is a file and an entry here."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.files import make_folder, write_bytes
from fairbench_cli.report.figures.canvas import figure_bytes, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Draw = Callable[[Path, Study, pd.DataFrame, pd.DataFrame], dict[str, Figure]]

FIGURES: dict[str, str] = {
    "discrimination-accuracy": "fairbench_cli.report.figures.discrimination_accuracy:draw",
    "network": "fairbench_cli.report.figures.network:draw",
    "curves": "fairbench_cli.report.figures.curves:draw",
    "pareto": "fairbench_cli.report.figures.pareto:draw",
    "sweep": "fairbench_cli.report.figures.sweep:draw",
    "oracle": "fairbench_cli.report.figures.oracle:draw",
}
"""Functions of (results folder, study, results, summary) that return figures by file name."""

NEEDED = ("discrimination", "accuracy", "overestimation", "underestimation")
"""Measures that the frames must have; the config need not list them among its metrics."""

ENDINGS = ("svg", "png")


def draw_figures(
    folder: Path, study: Study, results: pd.DataFrame, summary: pd.DataFrame, names: Sequence[str]
) -> list[Path]:
    """Write the figures of a run to ``folder/figures``, as SVG and PNG; equal input gives equal bytes.

    Figures that an earlier report wrote and that are not drawn now are removed.

    Parameters
    ----------
    folder : Path
        The results of the run.
    results, summary : DataFrame
        As `results_frame` and `summary_frame` make them, with the measures of `NEEDED`.
    names : sequence of str
        Which of `FIGURES`.

    Returns
    -------
    list of Path
        The files, in the order of `names`.

    Raises
    ------
    UserError
        When a file cannot be written, or the network of the run is not there.
    """
    target = folder / "figures"
    written: list[Path] = []
    with house_style() if names else nullcontext():
        for name in names:
            module, _, function = FIGURES[name].partition(":")
            draw: Draw = getattr(import_module(module), function)
            for slug, figure in draw(folder, study, results, summary).items():
                make_folder(target)
                for ending in ENDINGS:
                    path = target / f"{name}-{slug}.{ending}"
                    write_bytes(path, figure_bytes(figure, ending))
                    written.append(path)
    stale = {path for name in FIGURES for end in ENDINGS for path in target.glob(f"{name}-*.{end}")}
    for path in stale.difference(written):
        path.unlink(missing_ok=True)
    return written
