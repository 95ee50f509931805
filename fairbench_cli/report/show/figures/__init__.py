"""Draw the figures of a run; each is a file here and a line of a part in `report/parts/`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairbench_cli.base.files import make_folder, write_bytes, write_json
from fairbench_cli.base.registry import Registry
from fairbench_cli.experiment.config.outputs import FIGURE_FORMATS
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import drawn


def draw_figures(
    run: RunResults, names: Sequence[str], figures: Registry, *, processes: int = 1
) -> list[Path]:
    """Write figures of a run to ``figures/`` in its folder, in the formats that its config asks for.

    Equal input gives equal bytes, with any number of processes. What was drawn of the same numbers stays as
    it is. Figures that an earlier report wrote and that are not asked for now go away.

    Parameters
    ----------
    names : sequence of str
        Which to draw.
    figures : Registry
        The functions that draw a figure each, by name.
    processes : int
        How many may draw; this one alone writes.

    Returns
    -------
    list of Path
        The files, in the order of `names`.

    Raises
    ------
    UserError
        When a file cannot be written, or the network of the run is not there.
    """
    folder = run.folder / "figures"
    index = {}
    if names:
        # 1. Those that are there already.
        key = drawn.figure_key(run)
        before = drawn.read_index(run.folder)
        index = {name: before[name] for name in names if drawn.is_drawn(folder, before.get(name), key)}
        # 2. Draw the others, and say which files they are.
        missing = [name for name in names if name not in index]
        if missing:
            from fairbench_cli.report.show.figures.drawing import draw_by_name  # loads matplotlib

            for name, files in draw_by_name(run, missing, figures, processes).items():
                write_figures(folder, files)
                index[name] = drawn.describe_files(key, files)
    written = [folder / file for name in names for file in index[name]["files"]]
    remove_figures(folder, figures, written)
    if not written:
        (run.folder / drawn.INDEX).unlink(missing_ok=True)
    elif list(index.items()) != list(before.items()):
        write_json(run.folder / drawn.INDEX, {name: index[name] for name in names})
    return written


def write_figures(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files of figures, by name."""
    written = []
    for name, content in files.items():
        make_folder(folder)
        write_bytes(folder / name, content)
        written.append(folder / name)
    return written


def remove_figures(folder: Path, kinds: Iterable[str], kept: Sequence[Path]) -> None:
    """Remove the figures whose names start with a kind, but for some."""
    for kind in kinds:
        for ending in FIGURE_FORMATS:
            for path in set(folder.glob(f"{kind}-*.{ending}")).difference(kept):
                path.unlink(missing_ok=True)
