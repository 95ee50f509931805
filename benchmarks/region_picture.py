"""Blum & Stangl's region: from which biases equal opportunity recovers the best rule, in a picture.

usage: OMP_NUM_THREADS=1 python benchmarks/region_picture.py docs/figures/blum-stangl-region.png

Half a minute. `recovery.py` has the setting and the conditions.
"""

import argparse
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from recovery import BiasSetting, recoveries

from fairbench_cli.report.show.figures.canvas import GREY, INK, Look, Panel, facet, figure_bytes, house_style

SHARES, ERRORS = (0.2, 0.5), (0.1, 0.25, 0.4)
STEPS = np.linspace(0, 0.95, 20)
"""Shares of the favourable deprived who are left out, and of the recorded ones who are flipped."""
TONES = ("#ffffff", "#bcd6ea", "#4f93c4")
"""Of settings that nothing recovers, that equal opportunity alone does, and that need no constraint."""
FINE = np.linspace(0, 0.975, 196)
CONSTRAINED: Look = {"colors": INK, "linewidths": 1.6}
PLAIN: Look = {"colors": INK, "linewidths": 1.2, "linestyles": "--"}


def region_frame() -> pd.DataFrame:
    """Return a row a setting: theory and exact optimum, with equal opportunity and without constraint."""
    places = list(product(SHARES, ERRORS, STEPS, STEPS))
    settings = [BiasSetting(r, eta, 1 - drop, 1.0, flip) for r, eta, drop, flip in places]
    found = [
        (one.predicted, one.found, one.plain_predicted, one.plain_found, one.agrees)
        for one in recoveries(settings)
    ]
    columns = ["theory", "exact", "plain_theory", "plain_exact", "agrees"]
    frame = pd.DataFrame(places, columns=["deprived", "error", "drop", "flip"])
    return frame.assign(**dict(zip(columns, zip(*found, strict=True), strict=True)))


def draw_region(frame: pd.DataFrame) -> Figure:
    """Draw a panel per share of the deprived and error of the best rule."""
    agree, border = (
        int(frame["agrees"].sum()),
        int(frame[["theory", "plain_theory"]].isna().any(axis=1).sum()),
    )
    boxes = [
        FancyBboxPatch((0, 0), 1, 1, boxstyle="square,pad=0", fc=tone, ec=GREY, lw=0.6) for tone in TONES
    ]
    said = "nothing recovers it", "equal opportunity recovers it", "so does the rule without a constraint"
    lines: list[Look] = [{"color": INK, "lw": 1.6}, {"color": INK, "lw": 1.2, "ls": "--"}]
    cases = list(product(SHARES, ERRORS))
    return facet(
        "From which biases is the best rule recovered?",
        "Blum & Stangl (2020): a share of the favourable deprived is left out of the record, a share of the "
        "recorded ones is flipped. Squares: the most accurate rule on the record, with and without equal "
        "opportunity there, by exact sums. Lines: their conditions, which hold below. r: share of the "
        "deprived; η: error of the best rule.",
        [
            Panel(
                partial(_panel, frame[(frame["deprived"] == r) & (frame["error"] == eta)], r, eta),
                f"r = {r:g}, η = {eta:g}",
                "left out",
                "flipped",
            )
            for r, eta in cases
        ],
        len(ERRORS),
        (1.9, 1.9),
        [
            *zip(boxes, said, strict=True),
            *zip(lines, ("condition, equal opportunity", "condition, no constraint"), strict=True),
        ],
        [f"Theory and exact optimum agree in {agree} of {len(frame)} squares; {border} lie on a border."],
        share_axes=True,
    )


def _panel(own: pd.DataFrame, deprived: float, error: float, ax: Axes) -> None:
    table = own.pivot_table(
        index="flip", columns="drop", values=["exact", "plain_exact", "agrees"], aggfunc="first"
    )
    tone = table["exact"].to_numpy(dtype=int) + table["plain_exact"].to_numpy(dtype=int)
    half = (STEPS[1] - STEPS[0]) / 2
    edges = np.append(STEPS - half, STEPS[-1] + half)
    ax.pcolormesh(edges, edges, tone, cmap=ListedColormap(TONES), vmin=0, vmax=2, lw=0.3, edgecolor="white")
    for constrained, look in ((True, CONSTRAINED), (False, PLAIN)):
        settings = [[BiasSetting(deprived, error, 1 - x, 1.0, y) for x in FINE] for y in FINE]
        margins = np.array([[one.margin(constrained) for one in row] for row in settings])
        if margins.min() < 0 < margins.max():
            ax.contour(FINE, FINE, margins, levels=[0.0], **look)
    flips, drops = np.nonzero(~table["agrees"].to_numpy(dtype=bool))
    ax.plot(STEPS[drops], STEPS[flips], ls="", marker="x", color="#d00000", ms=5, gid="disagree")
    ax.grid(visible=False)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(edges[0], edges[-1]))
    ax.set_xticks([0, 0.25, 0.5, 0.75])
    ax.set_yticks([0, 0.25, 0.5, 0.75])


def main() -> None:
    """Draw the picture and print how many settings agree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("picture", type=Path, help="a file that ends in .png, .svg or .pdf")
    path = parser.parse_args().picture
    found = region_frame()
    with house_style():
        path.write_bytes(figure_bytes(draw_region(found), path.suffix[1:]))
    print(f"{found['agrees'].sum()} of {len(found)} settings agree")


if __name__ == "__main__":
    main()
