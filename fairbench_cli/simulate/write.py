"""The files of a simulation; but for the manifest they depend on nothing but its config."""

from pathlib import Path

import pandas as pd

from fairbench_cli.errors import user_error
from fairbench_cli.files import make_folder, write_bytes, write_text
from fairbench_cli.report.figures import ENDINGS
from fairbench_cli.report.figures.against_truth import draw_against_truth
from fairbench_cli.report.figures.canvas import figure_bytes, house_style
from fairbench_cli.simulate.config import Simulation
from fairbench_cli.simulate.summary import markdown


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds the results of a run, whose files would be replaced.

    Raises
    ------
    UserError
        When it does.
    """
    if (folder / "plan.json").exists():
        raise user_error(f"{folder} holds the results of a run", "name another folder with -o", "-o")


def write_simulation(folder: Path, simulation: Simulation, frame: pd.DataFrame) -> list[Path]:
    """Write config.yaml, simulation.csv, summary.md and figures/; figures of an earlier time go away.

    Returns
    -------
    list of Path
        The figures.

    Raises
    ------
    UserError
        When a file cannot be written.
    """
    write_text(folder / "config.yaml", simulation.as_yaml())
    text: str = frame.to_csv(index=False, lineterminator="\n")
    write_text(folder / "simulation.csv", text)
    write_text(folder / "summary.md", markdown(simulation, frame))
    return _draw(folder / "figures", simulation, frame)


def _draw(target: Path, simulation: Simulation, frame: pd.DataFrame) -> list[Path]:
    subtitle = (
        f"Means of {simulation.runs:,} runs of {simulation.rows:,} rows. P(s=g) is the share of the deprived "
        "and P(+) that of the accepted."
    )
    written = []
    with house_style():
        for name, metrics in simulation.figures:
            make_folder(target)
            figure = draw_against_truth(frame, metrics, subtitle)
            for ending in ENDINGS:
                path = target / f"simulation-{name}.{ending}"
                write_bytes(path, figure_bytes(figure, ending))
                written.append(path)
    for stale in {path for end in ENDINGS for path in target.glob(f"simulation-*.{end}")}.difference(written):
        stale.unlink(missing_ok=True)
    return written
