"""Correlations of metrics as a heat map in the order of their clusters (Friedler et al. 2019)."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.correlations import ALL, LEAST, Correlations, Observations, correlate, every_part
from fairbench_cli.report.figures.canvas import GREY, INK, SMALL, Grid, panel_page, text_width
from fairbench_cli.report.results import RunResults

COLOURS = "RdBu"
"""From red over white to blue (ColorBrewer), which colour-blind readers tell apart."""
UNKNOWN = "#d0d0d0"
MOST_NUMBERS = 26
"""Values are printed for so many metrics at most; with more their squares are too small."""
TREE = 1.0
"""Width of the tree in inches."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure of all cells and, where there are several, one of each representation.

    There is none where no two metrics have a correlation.
    """
    parts = {name: (correlate(seen.values), seen) for name, seen in every_part(run).items()}
    return {name: _figure(found, seen, name) for name, (found, seen) in parts.items() if found.clustered}


def _figure(found: Correlations, seen: Observations, name: str = ALL) -> Figure:
    names = list(found.matrix.index)
    title = "Correlations of metrics" + ("" if name == ALL else f": {name}")
    n = len(names)
    numbers = n <= MOST_NUMBERS
    side = n * (0.31 if numbers else 0.2) if n > 8 else n * 0.45
    label = max(text_width(name, SMALL) for name in names) + 0.1
    notes = [
        "Tree: average linkage; two clusters join at the mean r between them. Frames: clusters that join at "
        f"{LEAST:g} (dotted) or more."
    ]
    if found.matrix.isna().any(axis=None):
        notes.append("Grey: a metric is constant or undefined, or fewer than three results have both.")
    grid = Grid(1, 1, side + 0.1 + TREE, side, max(label, 1.6), max(label, 0.65), 0.15)
    figure, (ax,) = panel_page(title, _about(seen), [], notes, grid)
    box = ax.get_position()
    width, height = figure.get_size_inches()
    ax.set_position((box.x0, box.y0, side / width, side / height))
    _squares(ax, found, numbers)
    _tree(figure.add_axes((box.x0 + (side + 0.1) / width, box.y0, TREE / width, side / height)), found, n)
    _key(figure, (box.x0 - 1.45 / width, box.y0 - 0.35 / height, 1.2 / width, 0.11 / height))
    return figure


def _about(seen: Observations) -> str:
    """Say what is correlated and what is left out."""
    left_out = []
    if seen.constant:
        left_out.append(f"{seen.constant} repeats that accept everybody or nobody")
    if seen.joint:
        left_out.append(f"groups of joint attributes ({', '.join(seen.joint)})")
    text = (
        f"Pearson's r over {len(seen.values)} results: every repeat of {seen.cells} cells, for the groups of "
        "the attribute that each works on. Cells that always decide the same count once; undefined and "
        "infinite values are left out pair by pair."
    )
    return text + (f" Left out: {'; '.join(left_out)}." if left_out else "")


def _squares(ax: Axes, found: Correlations, numbers: bool) -> None:
    matrix: Floats = found.matrix.to_numpy(dtype=float)
    n = len(matrix)
    colours = colormaps[COLOURS](Normalize(-1, 1)(np.nan_to_num(matrix)))
    colours[np.isnan(matrix)] = (*[int(UNKNOWN[i : i + 2], 16) / 255 for i in (1, 3, 5)], 1)
    ax.imshow(colours, extent=(0, n, n, 0), aspect="auto", interpolation="nearest", gid="squares")
    ax.grid(visible=False)
    names = list(found.matrix.index)
    ax.set_xticks(np.arange(n) + 0.5, names, rotation=90)
    ax.set_yticks(np.arange(n) + 0.5, names)
    ax.tick_params(length=0, pad=3)
    ax.spines[:].set_visible(False)
    if numbers:
        for i, j in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            look: dict[str, Any] = {"color": "white" if abs(matrix[i, j]) > 0.65 else INK, "fontsize": 6}
            ax.text(j + 0.5, i + 0.5, _short(matrix[i, j]), ha="center", va="center", **look)
    clusters = found.clusters()
    for k in range(1, clusters.max(initial=0) + 1):
        own = np.flatnonzero(clusters == k)
        frame: dict[str, Any] = {"fill": False, "ec": INK, "lw": 1.4, "clip_on": False, "gid": f"cluster-{k}"}
        ax.add_patch(Rectangle((own[0], own[0]), len(own), len(own), **frame))


def _short(r: float) -> str:
    """Write a correlation in two digits.

    >>> [_short(r) for r in (0.123, -0.999, 0.004, 1.0)]
    ['.12', '-1', '0', '1']
    """
    text = f"{r:.2f}".replace("0.", ".")
    return {".00": "0", "-.00": "0", "1.00": "1", "-1.00": "-1"}.get(text, text)


def _tree(ax: Axes, found: Correlations, n: int) -> None:
    """Draw the tree with its leaves at the rows of the squares."""
    ax.set(xlim=(0, max(1.0, *found.tree[:, 2], 1 - LEAST) * 1.02), ylim=(n, 0))
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xticks([0, 0.5, 1], ["1", "0.5", "0"])
    ax.set_xlabel("r", labelpad=1)
    ax.tick_params(length=2)
    places = [(i + 0.5, 0.0) for i in range(found.clustered)]
    for left, right, distance, _ in found.tree:
        (one, near), (other, far) = places[int(left)], places[int(right)]
        ax.plot([near, distance, distance, far], [one, one, other, other], color=GREY, lw=0.9)
        places.append(((one + other) / 2, distance))
    ax.axvline(1 - LEAST, color=GREY, lw=0.8, ls=":", ymin=1 - found.clustered / n)


def _key(figure: Figure, box: tuple[float, float, float, float]) -> None:
    """Draw what the colours mean."""
    ax = figure.add_axes(box)
    ax.imshow(np.linspace(-1, 1, 101)[None], cmap=COLOURS, aspect="auto", extent=(-1, 1, 0, 1))
    ax.grid(visible=False)
    ax.set_yticks([])
    ax.set_xticks([-1, 0, 1], ["-1", "0", "1"])
    ax.tick_params(length=2)
    ax.set_title("r", fontsize=SMALL, pad=2)
