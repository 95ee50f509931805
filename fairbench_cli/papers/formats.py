"""A comparison as Markdown and CSV."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fairbench_cli.papers.compare import NOT_RUN, OFF, VERDICTS, Reproduction, agreement, worst
from fairbench_cli.papers.match import say_label
from fairbench_cli.report.formats import grid

WORST = 10
LIMITS = (0.02, 0.05)
OFF_MARK = "✗"


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
    rows = [[*block, *(_share_of(one.get(block), tolerance) for one in parts)] for block in (*blocks, total)]
    return [*comparisons[0].paper.blocks, *(one.run for one in comparisons)], rows


def _parts(comparison: Reproduction) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the values that the run covers by block, and all of them."""
    by = list(comparison.paper.blocks)
    parts = {tuple(map(str, labels)): part for labels, part in comparison.covered.groupby(by, sort=False)}
    return parts | {("all", *[""] * (len(by) - 1)): comparison.covered}


def _share_of(values: pd.DataFrame | None, tolerance: float) -> str:
    if values is None:
        return NOT_RUN
    found = agreement(values, (tolerance,))
    return f"{share(found.within[0], found.n)} of {found.n}"


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
    """Count the verdicts, those that were not run apart."""
    found = comparison.covered["verdict"].value_counts()
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found)


def worst_rows(comparison: Reproduction, most: int = WORST) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the values furthest off: which one, ours, theirs and the difference."""
    columns = _own_columns(comparison)
    rows = []
    for row in worst(comparison.values, most).to_dict("records"):
        value = ", ".join(say_label(name, str(row[name])) for name in columns)
        gap = "" if pd.isna(row["difference"]) else f"{row['difference']:+.3f}"
        rows.append([value, str(row["shown"]), _printed(row["theirs"]), gap])
    return ["value", "ours", "theirs", "difference"], rows


def _own_columns(comparison: Reproduction) -> list[str]:
    """Return the columns of the paper's CSV that distinguish the values."""
    names = list(comparison.values.columns)
    own = names[: names.index("theirs")]
    return [name for name in own if name != "table" or "table" in comparison.paper.blocks]


def _printed(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.3f}"


def markdown(comparison: Reproduction, tolerance: float) -> str:
    """Return the whole comparison: the summary, the worst values, then every block side by side."""
    total = agreement(comparison.values, (tolerance,))
    parts = [
        f"# {comparison.paper.name} against {comparison.run}",
        comparison.paper.source,
        f"{coverage(comparison)}; {comparison.protocol}. "
        f"Within {tolerance:g}: {total.within[0]} of {total.n} = "
        f"{share(total.within[0], total.n)}.",
        *legend(),
        "## Summary",
        grid(*summary(comparison, tolerance), len(comparison.paper.blocks)),
        "## Furthest off",
        grid(*worst_rows(comparison), 1),
        *_blocks(comparison),
    ]
    return "\n\n".join(parts) + "\n"


def markdown_side_by_side(comparisons: Sequence[Reproduction], tolerance: float) -> str:
    """Return the shares of several runs, one column each."""
    paper = comparisons[0].paper
    heads, rows = side_by_side(comparisons, tolerance)
    parts = [
        f"# {paper.name}: {len(comparisons)} runs",
        paper.source,
        f"Of the published values that a run covers, the share within {tolerance:g} of its mean.",
        grid(heads, rows, len(paper.blocks)),
        *(f"* {one.run}: {coverage(one)}; {one.protocol}." for one in comparisons),
    ]
    return "\n\n".join(parts) + "\n"


def legend() -> tuple[str, str]:
    """Say what is counted."""
    return (
        "Ours are means over the repeats. Inside: the published value lies in our 95 % interval and within "
        "0.05. Within: shares of the n values; half a unit of the last printed digit is allowed. Off: how "
        "many are more than 0.05 away, or have a number on one side only.",
        '"-": infeasible; against a printed "-" it agrees. (a/b): only a of b repeats have a value. *: in '
        "some repeats the technique could do its work in part only. "
        f'"…": not run. {OFF_MARK}: off.',
    )


def _blocks(comparison: Reproduction) -> Iterator[str]:
    paper, values = comparison.paper, comparison.values
    down = [name for name in _own_columns(comparison) if name not in (*paper.blocks, paper.across)]
    for labels, part in values.groupby(list(paper.blocks), sort=False):
        title = ", ".join(
            say_label(name, str(label)) for name, label in zip(paper.blocks, labels, strict=True)
        )
        yield f"## {title}: ours / theirs"
        if (part["verdict"] == NOT_RUN).all():
            yield "Not in the run."
            continue
        across = list(dict.fromkeys(part[paper.across]))
        rows = []
        for names, row in part.groupby(down, sort=False):
            cells = {one[paper.across]: _cell(one) for one in row.to_dict("records")}
            rows.append([*map(str, names), *(cells.get(label, "") for label in across)])
        yield grid([*down, *(say_label(paper.across, label) for label in across)], rows, len(down))


def _cell(row: Mapping[Hashable, Any]) -> str:
    mark = f" {OFF_MARK}" if row["verdict"] == OFF else ""
    return f"{row['shown']} / {_printed(row['theirs'])}{mark}"


def comma_separated(comparison: Reproduction) -> str:
    """Return every published value as one row of CSV."""
    text: str = comparison.values.drop(columns="shown").to_csv(index=False, lineterminator="\n")
    return text
