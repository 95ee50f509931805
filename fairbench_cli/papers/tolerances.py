"""The tables of a comparison with a paper that prints standard deviations and whose values have flags.

Whatever is flagged stands apart, with the reason, and counts nowhere else.
"""

import re
import textwrap

import numpy as np
import pandas as pd

from fairbench_cli.papers.compare import OFF, Reproduction, agreed
from fairbench_cli.papers.formats import FLAG_MARK, OFF_MARK, Listing, own_columns, printed
from fairbench_cli.papers.registry import Paper

BRIEF = 20  # values that are listed on a console
_IN_RUNS = re.compile(r" in \d+/\d+$")


def listings(comparison: Reproduction, *, brief: bool) -> list[Listing]:
    """Return the shares by measure and data set, what is off one by one, and what is flagged.

    `brief`: data sets are numbered, `BRIEF` values are listed, words are folded, and flagged values are
    counted by reason.
    """
    scored = comparison.scored
    further = comparison.unflagged.drop(scored.index)
    off = _off_rows(comparison, 28 if brief else None)
    few = off[:BRIEF] if brief else off
    title = "Off, the farthest of their tolerance first"
    if len(few) < len(off):
        title += f" ({len(few)} of {len(off)}, all in the files)"
    found = [
        _by_measure(comparison, scored, "Within the tolerance", brief=brief, total=True),
        _by_measure(comparison, further, "Further measures, outside the share", brief=brief),
        Listing(title, ["value", "ours", "theirs", "difference", "allowed"], few, 1),
        _by_reason(comparison) if brief else _by_series(comparison),
    ]
    return [one for one in found if one.rows or not brief]


def legend(paper: Paper) -> tuple[str, str]:
    """Say what is counted."""
    floors = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{floor:g}" + (f" {metric}" if metric else " any other") for metric, floor in own.items()
        )
        for name, own in paper.floors.items()
    )
    return (
        "Ours are means over the repeats. A value agrees if ours is within two published standard deviations "
        f"or, where these are small, within a floor ({floors}). "
        f"The share counts {', '.join(paper.scored) or 'all measures'} of all series without a flag.",
        f'"-": infeasible. (a/b): only a of b repeats have a value. "…": not run. {OFF_MARK}: off. '
        f"{FLAG_MARK}: flagged, with the reason below; counted nowhere.",
    )


def numbered(comparison: Reproduction) -> list[str]:
    """Return the labels of the first column of blocks that the run covers, each with its number."""
    return [f"({i}) {name}" for i, name in enumerate(_names(comparison), start=1)]


def _names(comparison: Reproduction) -> list[str]:
    return list(dict.fromkeys(map(str, comparison.covered[comparison.paper.blocks[0]])))


def _by_measure(
    comparison: Reproduction, values: pd.DataFrame, title: str, *, brief: bool, total: bool = False
) -> Listing:
    """Return how many of how many values agree, measures down and data sets across."""
    column, names = values[comparison.paper.blocks[0]], _names(comparison)

    def row(label: str, part: pd.DataFrame) -> list[str]:
        own = [part[column.loc[part.index] == name] for name in names]
        counts = [agreed(comparison.paper, one, np.nan) for one in (*own, part)]
        return [label, *(f"{k}/{n}" if n else "-" for k, n in counts)]

    rows = [row(str(metric), part) for metric, part in values.groupby("metric", sort=False)]
    if total:
        rows.append(row("all", values))
    heads = [f"({i})" for i in range(1, len(names) + 1)] if brief else names
    return Listing(title, ["measure", *heads, "all"], rows, 1)


def _off_rows(comparison: Reproduction, width: int | None) -> list[list[str]]:
    """Return the values that are off of those that the run is judged by, the farthest first."""
    values = comparison.scored
    off = values[values["verdict"] == OFF]
    far = (
        (off["difference"].abs() / off["tolerance"])
        .fillna(np.inf)
        .sort_values(ascending=False, kind="stable")
    )
    return [
        [
            _folded(", ".join(str(row[name]) for name in own_columns(comparison)), width),
            str(row["shown"]),
            printed(row["theirs"]),
            "" if pd.isna(row["difference"]) else f"{row['difference']:+.3f}",
            printed(row["tolerance"]),
        ]
        for row in off.loc[far.index].to_dict("records")
    ]


def _folded(text: str, width: int | None) -> str:
    return text if width is None else "\n".join(textwrap.wrap(text, width, break_on_hyphens=False))


def _by_reason(comparison: Reproduction) -> Listing:
    """Return how many flagged values there are for each reason, and how many agree all the same.

    A value with several reasons is counted under each; "in 3/10" is left out of them.
    """
    flagged = comparison.flagged
    reasons = flagged["flags"].map(lambda text: [_IN_RUNS.sub("", one) for one in text.split("; ")])
    each = flagged.assign(flags=reasons).explode("flags")
    rows = []
    for reason, part in each.groupby("flags", sort=False):
        k, n = agreed(comparison.paper, part, np.nan)
        rows.append([_folded(str(reason), 60), f"{k}/{n}"])
    return Listing("Flagged, outside the share", ["reason (a value may have several)", "within"], rows, 1)


def _by_series(comparison: Reproduction) -> Listing:
    """Return the flagged series of values, each with its reason and how many of its values agree."""
    series = [name for name in own_columns(comparison) if name != "metric"]
    rows = []
    for labels, part in comparison.flagged.groupby([*series, "flags"], sort=False):
        k, n = agreed(comparison.paper, part, np.nan)
        rows.append([*map(str, labels), f"{k}/{n}"])
    return Listing("Flagged, outside the share", [*series, "reason", "within"], rows, len(series) + 1)
