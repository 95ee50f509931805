"""A comparison as tables, Markdown and CSV."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from fairbench_cli.papers import tolerances
from fairbench_cli.papers.compare import NOT_RUN, OFF, Reproduction, agreed
from fairbench_cli.papers.formats import (
    FLAG_MARK,
    OFF_MARK,
    Listing,
    coverage,
    limit_name,
    own_columns,
    printed,
    share,
    side_by_side,
    summary,
    worst_rows,
)
from fairbench_cli.papers.match import say_label
from fairbench_cli.report.formats import grid


def listings(comparison: Reproduction, tolerance: float, *, brief: bool) -> list[Listing]:
    """Return the summary and what is off; `brief` as it fits on a console."""
    if comparison.paper.floors:
        return tolerances.listings(comparison, brief=brief)
    heads, rows = summary(comparison, tolerance)
    return [
        Listing("" if brief else "Summary", heads, rows, len(comparison.paper.blocks)),
        Listing("Furthest off", *worst_rows(comparison), 1),
    ]


def markdown(comparison: Reproduction, tolerance: float) -> str:
    """Return the whole comparison: the summary, the worst values, then every block side by side."""
    paper = comparison.paper
    k, n = agreed(paper, comparison.scored, tolerance)
    parts = [
        f"# {paper.name} against {comparison.run}",
        paper.source,
        f"{coverage(comparison)}; {comparison.protocol}. "
        f"{limit_name(paper, tolerance).capitalize()}: {k} of {n} = {share(k, n)}.",
        *(tolerances.legend(paper) if paper.floors else legend()),
    ]
    for one in listings(comparison, tolerance, brief=False):
        parts += [f"## {one.title}", grid(one.heads, one.rows, one.left) if one.rows else "None."]
    parts += _blocks(comparison)
    return "\n\n".join(parts) + "\n"


def markdown_side_by_side(comparisons: Sequence[Reproduction], tolerance: float) -> str:
    """Return the shares of several runs, one column each."""
    paper = comparisons[0].paper
    heads, rows = side_by_side(comparisons, tolerance)
    parts = [
        f"# {paper.name}: {len(comparisons)} runs",
        paper.source,
        f"Of the published values that a run covers, the share {limit_name(paper, tolerance)} of its mean.",
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
    down = [name for name in own_columns(comparison) if name not in (*paper.blocks, paper.across)]
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
    flag = f" {FLAG_MARK}" if row.get("flags") else ""
    return f"{row['shown']} / {printed(row['theirs'])}{flag or mark}"


def comma_separated(comparison: Reproduction) -> str:
    """Return every published value as one row of CSV."""
    text: str = comparison.values.drop(columns="shown").to_csv(index=False, lineterminator="\n")
    return text
