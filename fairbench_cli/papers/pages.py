"""A comparison with a paper as a document and as CSV.

Where a paper prints standard deviations and its values have flags, whatever is flagged stands apart, with the
reason, and counts nowhere else.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import UserError
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.papers.compare import (
    NOT_RUN,
    OFF,
    ROUNDING,
    VERDICTS,
    WITHIN,
    Reproduction,
    agreed,
    agreement,
    compare,
    is_within,
    say_label,
    worst,
)
from fairbench_cli.papers.registry import PAPERS, Paper, read_published

WORST = 10
CLOSE_TO = 0.05  # how far off a value may be, where nobody says otherwise
LIMITS = (0.02, 0.05)
OFF_MARK = "✗"
FLAG_MARK = "†"
BRIEF = 20  # values off that are listed on a console
_IN_RUNS = re.compile(r" in \d+/\d+$")

VALUE = ("value", "ours", "theirs", "difference")
FLAGGED = "Flagged, outside the share"

Row = dict[Hashable, Any]


def comparison_document(comparison: Reproduction, tolerance: float, *, brief: bool = False) -> Document:
    """Return the document of coverage, summary, what is off and, unless `brief`, every block side by side."""
    paper = comparison.paper
    title = f"{paper.name} against {comparison.run}"
    if brief:
        names = [f"({i}) {name}" for i, name in enumerate(_first_blocks(comparison), start=1)]
        facts = (coverage(comparison), comparison.protocol, *([", ".join(names)] if paper.floors else []))
        counts = comparison.scored["verdict"].value_counts()
        verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
        found = [one for one in _summaries(comparison, tolerance, brief=True) if one.tables[0].rows]
        return Document(title, facts=facts, sections=tuple(found), notes=(verdicts,))
    k, n = agreed(paper, comparison.scored, tolerance)
    share_of_all = f"{limit_name(paper, tolerance).capitalize()}: {k} of {n} = {share(k, n)}."
    return Document(
        title,
        facts=(
            paper.source,
            f"{coverage(comparison)}; {comparison.protocol}. {share_of_all}",
            *(_legend_of_floors(paper) if paper.floors else LEGEND),
        ),
        sections=(*_summaries(comparison, tolerance, brief=False), *_blocks(comparison)),
    )


def with_paper(plan: RunPlan, records: Records) -> Section | None:
    """Return a run next to the paper that its name begins with; None where none does or no value fits."""
    paper = next((one for name, one in PAPERS.items() if plan.config.name.split("-")[0] == name), None)
    if paper is None:
        return None
    try:
        found = compare(paper, read_published(paper), plan, records, run=plan.config.name)
    except UserError:  # several cells fit one value
        return None
    if found.covered.empty:
        return None
    said = comparison_document(found, CLOSE_TO, brief=True)
    sentences = (paper.source, *said.facts, *said.notes, share_line(found, CLOSE_TO)[0] + ".")
    tables = tuple(table for section in said.sections for table in section.tables)
    return Section(f"Against {paper.name}", sentences, tables, anchor="paper")


def side_by_side(comparisons: Sequence[Reproduction], tolerance: float) -> Document:
    """Return several runs' shares within the tolerance, "of n" values each."""
    paper = comparisons[0].paper
    parts = [_parts(one) for one in comparisons]
    total = list(parts[0])[-1]
    blocks = dict.fromkeys(block for one in parts for block in one if block != total)
    pairs = list(zip(comparisons, parts, strict=True))
    rows = [
        [*block, *(_share_of(one, part.get(block), tolerance) for one, part in pairs)]
        for block in (*blocks, total)
    ]
    within = f"share {limit_name(paper, tolerance)}"
    heads = [*paper.blocks, *(one.run for one in comparisons)]
    return Document(
        f"{paper.name}: {within} of the published values",
        facts=(paper.source, f"Of the published values that a run covers, the {within} of its mean."),
        sections=(_table("", heads, rows, len(paper.blocks)),),
        notes=tuple(f"{one.run}: {coverage(one)}; {one.protocol}." for one in comparisons),
    )


def share_line(comparison: Reproduction, tolerance: float) -> tuple[str, float]:
    """Return in words how many values agree, and their share; NaN of none."""
    k, n = agreed(comparison.paper, comparison.scored, tolerance)
    scored = ", ".join(comparison.paper.scored)
    if scored:
        values = f"unflagged values of {scored}"
    else:
        values = "values"
    within = limit_name(comparison.paper, tolerance)
    return f"{comparison.run}, {within}: {k} of {n} {values} = {share(k, n)}", k / n if n else np.nan


def limit_name(paper: Paper, tolerance: float) -> str:
    """Say within what a value of a paper is taken to agree."""
    if paper.floors:
        return "within two published sd or the floor"
    return f"within {tolerance:g}"


def share(part: int, whole: int) -> str:
    """Write a share, or "-" of nothing.

    >>> share(3, 4), share(0, 0)
    ('0.750', '-')
    """
    if whole:
        return f"{part / whole:.3f}"
    return "-"


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


def comma_separated(comparison: Reproduction) -> str:
    """Return every published value as one row of CSV."""
    text: str = comparison.values.drop(columns="shown").to_csv(index=False, lineterminator="\n")
    return text


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> Section:
    return Section(title, tables=(plain_table(title, heads, rows, words),))


def _summaries(comparison: Reproduction, tolerance: float, *, brief: bool) -> Iterator[Section]:
    """Yield the summary, what is off and what is flagged; `brief` as it fits on a console."""
    scored = comparison.scored
    if not comparison.paper.floors:
        yield _agreement(comparison, tolerance, "" if brief else "Summary")
        rows = [_value(comparison, row) for row in worst(comparison.values, WORST).to_dict("records")]
        yield _table("Furthest off", VALUE, rows, 1)
        return
    yield _by_measure(comparison, scored, "Within the tolerance", brief=brief, total=True)
    yield _by_rule(comparison, scored)
    further = comparison.unflagged.drop(scored.index)
    yield _by_measure(comparison, further, "Further measures, outside the share", brief=brief)
    yield _off(comparison, brief=brief)
    yield _by_reason(comparison) if brief else _by_series(comparison)


def _agreement(comparison: Reproduction, tolerance: float, title: str) -> Section:
    """Return n, shares and how many are off, by block that is covered and of all."""
    limits = sorted({*LIMITS, tolerance})
    rows = []
    for labels, part in _parts(comparison).items():
        found = agreement(part, limits)
        shares = [share(k, found.n) for k in (found.inside, *found.within)]
        rows.append([*labels, str(found.n), *shares, str(found.off)])
    blocks = comparison.paper.blocks
    within = [f"within {limit:g}" for limit in limits]
    return _table(title, [*blocks, "n", "inside", *within, "off"], rows, len(blocks))


def _parts(comparison: Reproduction) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the values that the run is judged by, by block and all of them."""
    by = list(comparison.paper.blocks)
    values = comparison.scored
    parts = {tuple(map(str, labels)): part for labels, part in values.groupby(by, sort=False)}
    return parts | {("all", *[""] * (len(by) - 1)): values}


def _share_of(comparison: Reproduction, values: pd.DataFrame | None, tolerance: float) -> str:
    if values is None:
        return NOT_RUN
    k, n = agreed(comparison.paper, values, tolerance)
    return f"{share(k, n)} of {n}"


def _first_blocks(comparison: Reproduction) -> list[str]:
    """Return the labels of the first column of blocks that the run covers."""
    return list(dict.fromkeys(map(str, comparison.covered[comparison.paper.blocks[0]])))


def _by_measure(
    comparison: Reproduction, values: pd.DataFrame, title: str, *, brief: bool, total: bool = False
) -> Section:
    """Return how many of how many values agree, measures down and data sets across."""
    column = values[comparison.paper.blocks[0]]
    names = _first_blocks(comparison)

    def row(label: str, part: pd.DataFrame) -> list[str]:
        own = [part[column.loc[part.index] == name] for name in names]
        counts = [agreed(comparison.paper, one, np.nan) for one in (*own, part)]
        return [label, *(f"{k}/{n}" if n else "-" for k, n in counts)]

    rows = [row(str(metric), part) for metric, part in values.groupby("metric", sort=False)]
    if total:
        rows.append(row("all", values))
    if brief:
        heads = [f"({i})" for i in range(1, len(names) + 1)]
    else:
        heads = names
    return _table(title, ["measure", *heads, "all"], rows, 1)


def _by_rule(comparison: Reproduction, values: pd.DataFrame) -> Section:
    """Return how many values agree by the tolerance, and by stricter rules."""
    column = comparison.paper.blocks[0]
    gap = values["difference"].abs()
    z = values["z"].abs()
    near = gap.combine(values["floor"], lambda far, floor: is_within(far, floor - ROUNDING))
    rules = {"within the tolerance": values["verdict"] == WITHIN, "within the floor alone": near}
    kept = pd.DataFrame(rules | {f"|z| ≤ {most}": z <= most for most in (2, 3)})
    parts = [(str(label), part.index) for label, part in values.groupby(column, sort=False)]
    rows = [
        [label, str(len(at)), *(str(int(n)) for n in kept.loc[at].sum())]
        for label, at in [*parts, ("all", values.index)]
    ]
    return _table("By stricter rules", [column, "values", *kept], rows, 1)


def _off(comparison: Reproduction, *, brief: bool) -> Section:
    """Return the values that are off of those that the run is judged by, the farthest first."""
    values = comparison.scored
    off = values[values["verdict"] == OFF]
    far = (off["difference"].abs() / off["tolerance"]).fillna(np.inf)
    order = far.sort_values(ascending=False, kind="stable").index[: BRIEF if brief else None]
    title = "Off, the farthest of their tolerance first"
    if len(order) < len(off):
        title += f" ({len(order)} of {len(off)}, all in the files)"
    rows = [
        [*_value(comparison, row), _printed(row["tolerance"])] for row in off.loc[order].to_dict("records")
    ]
    return _table(title, [*VALUE, "allowed"], rows, 1)


def _value(comparison: Reproduction, row: Row) -> list[str]:
    """Return which value it is, ours, theirs and the difference."""
    named = ", ".join(say_label(name, str(row[name])) for name in _own_columns(comparison))
    gap: str = "" if pd.isna(row["difference"]) else f"{row['difference']:+.3f}"
    return [named, str(row["shown"]), _printed(row["theirs"]), gap]


def _by_reason(comparison: Reproduction) -> Section:
    """Return how many flagged values there are for each reason, and how many agree all the same.

    A value with several reasons is counted under each; "in 3/10" is left out of them.
    """
    flagged = comparison.flagged
    reasons = flagged["flags"].map(lambda text: [_IN_RUNS.sub("", one) for one in text.split("; ")])
    each = flagged.assign(flags=reasons).explode("flags")
    rows = [[str(reason), _within(comparison, part)] for reason, part in each.groupby("flags", sort=False)]
    return _table(FLAGGED, ["reason (a value may have several)", "within"], rows, 1)


def _by_series(comparison: Reproduction) -> Section:
    """Return the flagged series of values, each with its reason and how many of its values agree."""
    series = [name for name in _own_columns(comparison) if name != "metric"]
    rows = [
        [*map(str, labels), _within(comparison, part)]
        for labels, part in comparison.flagged.groupby([*series, "flags"], sort=False)
    ]
    return _table(FLAGGED, [*series, "reason", "within"], rows, len(series) + 1)


def _within(comparison: Reproduction, part: pd.DataFrame) -> str:
    k, n = agreed(comparison.paper, part, np.nan)
    return f"{k}/{n}"


def _blocks(comparison: Reproduction) -> Iterator[Section]:
    """Yield ours next to theirs, block by block."""
    paper = comparison.paper
    values = comparison.values
    down = [name for name in _own_columns(comparison) if name not in (*paper.blocks, paper.across)]
    for labels, part in values.groupby(list(paper.blocks), sort=False):
        names = map(say_label, paper.blocks, map(str, labels))
        title = f"{', '.join(names)}: ours / theirs"
        if (part["verdict"] == NOT_RUN).all():
            yield Section(title, ("Not in the run.",))
            continue
        across = list(dict.fromkeys(part[paper.across]))
        rows = []
        for of, row in part.groupby(down, sort=False):
            cells = {one[paper.across]: _both(one) for one in row.to_dict("records")}
            rows.append([*map(str, of), *(cells.get(label, "") for label in across)])
        yield _table(title, [*down, *(say_label(paper.across, label) for label in across)], rows, len(down))


def _both(row: Row) -> str:
    if row["verdict"] == OFF:
        mark = f" {OFF_MARK}"
    else:
        mark = ""
    if row.get("flags"):
        flag = f" {FLAG_MARK}"
    else:
        flag = ""
    return f"{row['shown']} / {_printed(row['theirs'])}{flag or mark}"


def _own_columns(comparison: Reproduction) -> list[str]:
    """Return the columns of the paper's CSV that distinguish the values."""
    names = list(comparison.values.columns)
    own = names[: names.index("theirs")]
    return [name for name in own if name != "table" or "table" in comparison.paper.blocks]


def _printed(value: float) -> str:
    """Write a published value as a table does."""
    if pd.isna(value):
        return "-"
    return f"{value:.3f}"


LEGEND = (
    "Ours are means over the repeats. Inside: the published value lies in our 95 % interval and within "
    "0.05. Within: shares of the n values; half a unit of the last printed digit is allowed. Off: how "
    "many are more than 0.05 away, or have a number on one side only.",
    '"-": infeasible; against a printed "-" it agrees. (a/b): only a of b repeats have a value. *: in '
    "some repeats the technique could do its work in part only. "
    f'"…": not run. {OFF_MARK}: off.',
)


def _legend_of_floors(paper: Paper) -> tuple[str, str]:
    """Say what is counted where values have tolerances of their own."""
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
        f"{FLAG_MARK}: flagged, with the reason below; counted nowhere. z: the difference over its standard "
        "error, as if all splits were independent; of values that agree in truth 95 % are within 2.",
    )
