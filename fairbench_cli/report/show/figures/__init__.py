"""Draw the figures of a run; each is a file here and a line of a part in `report/parts/`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.base.files import make_folder, write_bytes
from fairbench_cli.base.registry import Registry
from fairbench_cli.document.charts import Drawing
from fairbench_cli.report.ledger.results import RunResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("svg", "png", "pdf")


def draw_figures(run: RunResults, names: Sequence[str], figures: Registry) -> list[Path]:
    """Write figures of a run to ``figures/`` in its folder, as SVG, PNG and PDF.

    Equal input gives equal bytes. Figures that an earlier report wrote and that are not drawn now go away.

    Parameters
    ----------
    names : sequence of str
        Which to draw.
    figures : Registry
        The functions that draw a figure each, by name.

    Returns
    -------
    list of Path
        The files, in the order of `names`.

    Raises
    ------
    UserError
        When a file cannot be written, or the network of the run is not there.
    """
    if not names:
        return write_figures(run.folder / "figures", {}, figures)
    from fairbench_cli.report.show.figures.canvas import house_style  # loads matplotlib

    with house_style():
        drawn = {}
        for name in names:
            for slug, figure in figures[name].load()(run).items():
                drawn[f"{name}-{slug}"] = figure
        titles = run.plan.config.figure_titles
        return write_figures(run.folder / "figures", drawn, figures, titles=titles)


def write_figures(
    folder: Path, figures: "Mapping[str, Figure | Drawing]", kinds: Iterable[str], *, titles: bool = True
) -> list[Path]:
    """Write figures as ``NAME.svg``, ``.png`` and ``.pdf``; remove others whose names start with a kind.

    A `Drawing` is SVG already, and has no other format.
    """
    written: list[Path] = []
    for name, figure in figures.items():
        make_folder(folder)
        if isinstance(figure, Drawing):
            path = folder / f"{name}.svg"
            figure.save(path)
            written.append(path)
            continue
        from fairbench_cli.report.show.figures.canvas import figure_bytes

        for ending in ENDINGS:
            path = folder / f"{name}.{ending}"
            write_bytes(path, figure_bytes(figure, ending, titles=titles))
            written.append(path)
    for kind in kinds:
        for ending in ENDINGS:
            for path in set(folder.glob(f"{kind}-*.{ending}")).difference(written):
                path.unlink(missing_ok=True)
    return written
