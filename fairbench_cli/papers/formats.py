"""Parts of a comparison as text: shares, what is covered, what is off."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fairbench_cli.papers.compare import NOT_RUN, VERDICTS, Reproduction, agreed, agreement, worst
from fairbench_cli.papers.match import say_label
from fairbench_cli.papers.registry import Paper

WORST = 10
LIMITS = (0.02, 0.05)
OFF_MARK, FLAG_MARK = "✗", "†"


@dataclass(frozen=True)
class Listing:
    """A table of text; its first `left` columns are words."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    left: int


def limit_name(paper: Paper, tolerance: float) -> str:
    """Say within what a value of a paper is taken to agree."""
    return "within two published sd or the floor" if paper.floors else f"within {tolerance:g}"


def limits(tolerance: float) -> tuple[float, ...]:
    """Return the distances that a summary counts: 0.02, 0.05 and the tolerance asked for."""
    return tuple(sorted({*LIMITS, tolerance}))


def share(part: int, whole: int) -> str:
    """Write a share, or "-" of nothing.

    >>> share(3, 4), share(0, 0)
    ('0.750', '-')
    """
    return f"{part / whole:.3f}" if whole else "-"


def summary(comparison: Reproduction, tolerance: float) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows, one per block that is covered and one for all: n, shares, how many are off."""
    rows = []
    for labels, part in _parts(comparison).items():
        found = agreement(part, limits(tolerance))
        shares = [share(k, found.n) for k in (found.inside, *found.within)]
        rows.append([*labels, str(found.n), *shares, str(found.off)])
    within = [f"within {limit:g}" for limit in limits(tolerance)]
    return [*comparison.paper.blocks, "n", "inside", *within, "off"], rows


def side_by_side(comparisons: Sequence[Reproduction], tolerance: float) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of several runs' shares within the tolerance, "of n" values each."""
    parts = [_parts(one) for one in comparisons]
    total = list(parts[0])[-1]
    blocks = dict.fromkeys(block for one in parts for block in one if block != total)
    pairs = list(zip(comparisons, parts, strict=True))
    rows = [
        [*block, *(_share_of(one, part.get(block), tolerance) for one, part in pairs)]
        for block in (*blocks, total)
    ]
    return [*comparisons[0].paper.blocks, *(one.run for one in comparisons)], rows


def _parts(comparison: Reproduction) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the values that the run is judged by, by block and all of them."""
    by, values = list(comparison.paper.blocks), comparison.scored
    parts = {tuple(map(str, labels)): part for labels, part in values.groupby(by, sort=False)}
    return parts | {("all", *[""] * (len(by) - 1)): values}


def _share_of(comparison: Reproduction, values: pd.DataFrame | None, tolerance: float) -> str:
    if values is None:
        return NOT_RUN
    k, n = agreed(comparison.paper, values, tolerance)
    return f"{share(k, n)} of {n}"


def coverage(comparison: Reproduction) -> str:
    """Say how many of the published values the run covers, and where the others stand."""
    values = comparison.values
    missing = values[values["verdict"] == NOT_RUN]
    head = f"{len(values) - len(missing)} of {len(values)} published values covered"
    if missing.empty:
        return head
    column = comparison.paper.blocks[0]
    groups = missing.groupby(column, sort=False)
    where = ", ".join(f"{say_label(column, str(label))} ({len(part)})" for label, part in groups)
    return f"{head}; not run: {where}"


def verdict_counts(comparison: Reproduction) -> str:
    """Count the verdicts on what the run is judged by."""
    found = comparison.scored["verdict"].value_counts()
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found)


def worst_rows(comparison: Reproduction, most: int = WORST) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the values furthest off: which one, ours, theirs and the difference."""
    columns = own_columns(comparison)
    rows = []
    for row in worst(comparison.values, most).to_dict("records"):
        value = ", ".join(say_label(name, str(row[name])) for name in columns)
        gap = "" if pd.isna(row["difference"]) else f"{row['difference']:+.3f}"
        rows.append([value, str(row["shown"]), printed(row["theirs"]), gap])
    return ["value", "ours", "theirs", "difference"], rows


def own_columns(comparison: Reproduction) -> list[str]:
    """Return the columns of the paper's CSV that distinguish the values."""
    names = list(comparison.values.columns)
    own = names[: names.index("theirs")]
    return [name for name in own if name != "table" or "table" in comparison.paper.blocks]


def printed(value: float) -> str:
    """Write a published value as a table does."""
    return "-" if pd.isna(value) else f"{value:.3f}"
