"""The files of a simulation: each metric at the ends, and how far it is from the truth.

But for the manifest they depend on nothing but its config.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_text
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, TextTable, plain_table
from fairbench_cli.measures.registry import find
from fairbench_cli.report.figures import write_figures
from fairbench_cli.report.figures.against_truth import draw_against_truth
from fairbench_cli.report.figures.canvas import house_style
from fairbench_cli.simulate.config import Simulation

ENDS = (-1.0, 0.0, 1.0)
HEADS = ("metric", *(f"d = {end:g}".replace("-", "−") for end in ENDS))

_EXPLAINED = (
    "Ranges are of the means over the settings. A measure is compared with the truth twice: by its mean over "
    "the runs, and pooled, computed once from the rows of all runs together."
)


def summary_document(simulation: Simulation, frame: pd.DataFrame, *, brief: bool = False) -> Document:
    """Return what metrics are at the ends and, unless `brief`, how far off they are panel by panel."""
    s = simulation
    size = f"{len(s.deprived) * len(s.accepted)} settings × {len(s.truth)} degrees of discrimination d × "
    first = Section("", tables=(_summary(s, frame),), notes=() if brief else _furthest(s, frame))
    if brief:
        return Document("", sections=(first,), notes=_furthest(s, frame))
    panels = (
        Section(
            f"{metric}: furthest from the truth, mean / pooled",
            tables=(_panels(s, off_truth(frame, metric)),),
        )
        for metric in _on_truths_scale(s)
    )
    about = f"{size}{s.runs:,} runs of {s.rows:,} rows. {_EXPLAINED}"
    return Document(s.name, facts=(about,), sections=(first, *panels))


def _summary(simulation: Simulation, frame: pd.DataFrame) -> TextTable:
    """Return a row of `HEADS` per metric: the range of its means over the settings at each of `ENDS`."""
    rows = []
    for metric in simulation.metrics:
        own = frame[frame["metric"] == metric]
        rows.append([metric, *(_range(own.loc[own["truth"] == end, "mean"]) for end in ENDS)])
    return plain_table("", HEADS, rows, 1)


def _furthest(simulation: Simulation, frame: pd.DataFrame) -> tuple[str, ...]:
    """Say of every measure on the truth's scale how far from the truth it gets, and where."""
    lines = []
    for metric in _on_truths_scale(simulation):
        off = off_truth(frame, metric)
        places = [f"{off[column].max():.4f} {kind} ({_place(off, column)})" for column, kind in _KINDS]
        lines.append(f"{metric}: furthest from the truth {', '.join(places)}")
    return tuple(lines)


def off_truth(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a measure with ``mean_off`` and ``pooled_off``, the distances from the truth."""
    own = frame[frame["metric"] == metric].reset_index(drop=True)
    return own.assign(
        mean_off=(own["mean"] - own["truth"]).abs(), pooled_off=(own["pooled"] - own["truth"]).abs()
    )


_KINDS = (("mean_off", "by the mean"), ("pooled_off", "pooled"))


def _on_truths_scale(simulation: Simulation) -> list[str]:
    """Return the measures that go from −1 to 1."""
    return [name for name in simulation.metrics if (find(name).low, find(name).high) == (-1, 1)]


def _place(off: pd.DataFrame, column: str) -> str:
    """Say where a column is largest."""
    if off[column].isna().all():
        return "undefined"
    at = int(np.nanargmax(off[column].to_numpy()))
    deprived, accepted, truth = (float(off[axis].iloc[at]) for axis in ("deprived", "accepted", "truth"))
    return f"P(s=g) = {deprived:g}, P(+) = {accepted:g}, d = {truth:g}"


def _panels(simulation: Simulation, off: pd.DataFrame) -> TextTable:
    most = off.groupby(["deprived", "accepted"])[["mean_off", "pooled_off"]].max()
    texts = {place: f"{mean:.3f} / {pooled:.3f}" for place, mean, pooled in most.itertuples(name=None)}
    rows = [[f"{d:g}", *(texts[d, a] for a in simulation.accepted)] for d in simulation.deprived]
    return plain_table("", ["P(s=g)", *(f"P(+) = {accepted:g}" for accepted in simulation.accepted)], rows, 1)


def _range(means: "pd.Series[float]") -> str:
    """Return the least and the greatest of some means; one if they look the same."""
    known = means.dropna()
    if not len(known):
        return ""
    low, high = _number(float(known.min())), _number(float(known.max()))
    return low if low == high else f"{low} … {high}"


def _number(value: float) -> str:
    if np.isinf(value):
        return "−∞" if value < 0 else "∞"
    text = f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


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
    write_text(folder / "summary.md", markdown(summary_document(simulation, frame)))
    subtitle = (
        f"Means of {simulation.runs:,} runs of {simulation.rows:,} rows. P(s=g) is the share of the deprived "
        "and P(+) that of the accepted."
    )
    with house_style():
        figures = {
            f"simulation-{name}": draw_against_truth(frame, metrics, subtitle)
            for name, metrics in simulation.figures.items()
        }
        return write_figures(folder / "figures", figures, ["simulation"])
