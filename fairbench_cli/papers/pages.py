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
from fairbench_cli.document.model import Document, Section, TextTable, plain_table
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.papers.compare import (
    NOT_RUN,
    OFF,
    ROUNDING,
    VERDICTS,
    WITHIN,
    Reproduction,
    axes_of,
    compare,
    count_agreeing,
    count_agreement,
    format_label,
    is_within,
    select_worst,
)
from fairbench_cli.papers.registry import PAPERS, Paper, read_published

WORST = 10
CLOSE_TO = 0.05  # how far off a value may be, where nobody says otherwise
LIMITS = (0.02, 0.05)
OFF_MARK = "✗"
FLAG_MARK = "†"
IMPOSSIBLE_ROWS = 3  # that are named on a console
BRIEF = 20  # values off that are listed on a console
_IN_RUNS = re.compile(r" in \d+/\d+$")

VALUE = ["value", "ours", "theirs", "difference"]
FLAGGED = "Flagged, outside the share"

Row = dict[Hashable, Any]
"""A published value with ours, by the columns of `Reproduction.values`."""
Block = tuple[str, ...]
"""The labels of a block of values, in the order of `Paper.blocks`."""


def comparison_document(comparison: Reproduction, tolerance: float, *, brief: bool = False) -> Document:
    """Return the document of coverage, summary, what is off and, unless `brief`, every block side by side."""
    paper = comparison.paper
    title = f"{paper.name} against {comparison.run}"
    if brief:
        facts = [describe_coverage(comparison), comparison.protocol]
        if paper.floors:
            # The tables' heads are these numbers alone.
            names = [f"({i}) {name}" for i, name in enumerate(_first_blocks(comparison), start=1)]
            facts.append(", ".join(names))
        facts += describe_impossible_rows(comparison, IMPOSSIBLE_ROWS)
        counts = comparison.scored["verdict"].value_counts()
        verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
        summaries = _summary_sections(comparison, tolerance, brief=True)
        sections = [section for section in summaries if section.tables[0].rows]
        return Document(title, facts=tuple(facts), sections=tuple(sections), notes=(verdicts,))
    k, n = count_agreeing(paper, comparison.scored, tolerance)
    total_share = f"{describe_tolerance(paper, tolerance).capitalize()}: {k} of {n} = {format_share(k, n)}."
    facts = [paper.source, f"{describe_coverage(comparison)}; {comparison.protocol}. {total_share}"]
    facts += describe_impossible_rows(comparison, comparison.printed_rows.n)
    facts += _floors_legend(paper) if paper.floors else LEGEND
    sections = list(_summary_sections(comparison, tolerance, brief=False))
    sections += _block_sections(comparison)
    return Document(title, facts=tuple(facts), sections=tuple(sections))


def paper_section(plan: RunPlan, records: Records) -> Section | None:
    """Return a run next to the paper that its name begins with; None where none does or no value fits."""
    paper = PAPERS.get(plan.config.name.split("-")[0])
    if paper is None:
        return None
    try:
        comparison = compare(paper, read_published(paper), plan, records, run=plan.config.name)
    except UserError:  # several cells fit one value
        return None
    if comparison.covered.empty:
        return None
    document = comparison_document(comparison, CLOSE_TO, brief=True)
    agreement_text, *_ = share_line(comparison, CLOSE_TO)
    sentences = (paper.source, *document.facts, *document.notes, f"{agreement_text}.")
    tables: list[TextTable] = []
    for section in document.sections:
        tables += section.tables
    return Section(f"Against {paper.name}", sentences, tuple(tables), anchor="paper")


def side_by_side_document(comparisons: Sequence[Reproduction], tolerance: float) -> Document:
    """Return several runs' shares within the tolerance, "of n" values each."""
    paper = comparisons[0].paper
    values_by_run = [_values_by_block(comparison) for comparison in comparisons]
    # The blocks of all runs in their order, and below them the row of all values.
    total = _total_block(paper)
    blocks: dict[Block, None] = {}
    for values_by_block in values_by_run:
        blocks |= dict.fromkeys(values_by_block)
    del blocks[total]
    rows = []
    for block in list(blocks) + [total]:
        row = list(block)
        for values_by_block in values_by_run:
            row.append(_share_of(paper, values_by_block.get(block), tolerance))
        rows.append(row)
    within = f"share {describe_tolerance(paper, tolerance)}"
    heads = list(paper.blocks) + [comparison.run for comparison in comparisons]
    notes = [f"{run.run}: {describe_coverage(run)}; {run.protocol}." for run in comparisons]
    return Document(
        f"{paper.name}: {within} of the published values",
        facts=(paper.source, f"Of the published values that a run covers, the {within} of its mean."),
        sections=(_table("", heads, rows, len(paper.blocks)),),
        notes=tuple(notes),
    )


def share_line(comparison: Reproduction, tolerance: float) -> tuple[str, int, float]:
    """Return in words how many values agree, their number, and their share; NaN of none."""
    k, n = count_agreeing(comparison.paper, comparison.scored, tolerance)
    noun = "values"
    if comparison.paper.scored:
        noun = f"unflagged values of {', '.join(comparison.paper.scored)}"
    within = describe_tolerance(comparison.paper, tolerance)
    share = k / n if n else np.nan
    return f"{comparison.run}, {within}: {k} of {n} {noun} = {format_share(k, n)}", k, share


def describe_tolerance(paper: Paper, tolerance: float) -> str:
    """Say within what a value of a paper is taken to agree."""
    if paper.floors:
        return "within two published sd or the floor"
    return f"within {tolerance:g}"


def format_share(count: int, total: int) -> str:
    """Write a share, or "-" of nothing.

    >>> format_share(3, 4), format_share(0, 0)
    ('0.750', '-')
    """
    if total:
        return f"{count / total:.3f}"
    return "-"


def describe_coverage(comparison: Reproduction) -> str:
    """Say how many of the published values the run covers, and where the others stand."""
    values = comparison.values
    missing = values[values["verdict"] == NOT_RUN]
    head = f"{len(values) - len(missing)} of {len(values)} published values covered"
    if missing.empty:
        return head
    column = comparison.paper.blocks[0]
    blocks = missing.groupby(column, sort=False)
    counts = [f"{format_label(column, str(label))} ({len(values)})" for label, values in blocks]
    return f"{head}; not run: {', '.join(counts)}"


def describe_impossible_rows(comparison: Reproduction, most: int) -> list[str]:
    """Say which printed rows cannot be one confusion matrix, the farthest off first; nothing if all can."""
    rows = comparison.printed_rows
    if not rows.impossible:
        return []
    axes = axes_of(comparison.values)
    names = [", ".join(map(format_label, axes, map(str, labels))) for labels in list(rows.impossible)[:most]]
    if len(names) < len(rows.impossible):
        names.append("… (all in the files)")
    head = f"{len(rows.impossible)} of {rows.n} printed rows cannot be one confusion matrix of the test rows"
    return [f"{head}, the farthest off first: {'; '.join(names)}"]


def comma_separated(comparison: Reproduction) -> str:
    """Return every published value as one row of CSV."""
    text: str = comparison.values.drop(columns="shown").to_csv(index=False, lineterminator="\n")
    return text


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], n_labels: int) -> Section:
    """Return a section of one table, whose first `n_labels` columns are text."""
    return Section(title, tables=(plain_table(title, heads, rows, n_labels),))


def _summary_sections(comparison: Reproduction, tolerance: float, *, brief: bool) -> Iterator[Section]:
    """Yield the summary, what is off and what is flagged; `brief` as it fits on a console."""
    scored = comparison.scored
    if not comparison.paper.floors:
        yield _agreement_section(comparison, tolerance, "" if brief else "Summary")
        worst = select_worst(comparison.values, WORST).to_dict("records")
        yield _table("Furthest off", VALUE, [_value_row(comparison, value) for value in worst], 1)
        return
    yield _measures_section(comparison, scored, "Within the tolerance", brief=brief, has_total=True)
    yield _rules_section(comparison, scored)
    unscored = comparison.unflagged.drop(scored.index)
    yield _measures_section(comparison, unscored, "Further measures, outside the share", brief=brief)
    yield _off_section(comparison, brief=brief)
    yield _reasons_section(comparison) if brief else _series_section(comparison)


def _agreement_section(comparison: Reproduction, tolerance: float, title: str) -> Section:
    """Return n, shares and how many are off, by block that is covered and of all."""
    limits = sorted({*LIMITS, tolerance})
    rows = []
    for block, values in _values_by_block(comparison).items():
        agreement = count_agreement(values, limits)
        row = list(block) + [str(agreement.n), format_share(agreement.inside, agreement.n)]
        row += [format_share(n_within, agreement.n) for n_within in agreement.within]
        row.append(str(agreement.off))
        rows.append(row)
    blocks = comparison.paper.blocks
    heads = list(blocks) + ["n", "inside"] + [f"within {limit:g}" for limit in limits] + ["off"]
    return _table(title, heads, rows, len(blocks))


def _values_by_block(comparison: Reproduction) -> dict[Block, pd.DataFrame]:
    """Return the values that the run is judged by, by block; last all of them."""
    scored = comparison.scored
    values_by_block: dict[Block, pd.DataFrame] = {}
    for labels, values in scored.groupby(list(comparison.paper.blocks), sort=False):
        values_by_block[tuple(map(str, labels))] = values
    values_by_block[_total_block(comparison.paper)] = scored
    return values_by_block


def _total_block(paper: Paper) -> Block:
    """Return the labels of the row in which all values are counted."""
    return ("all", *[""] * (len(paper.blocks) - 1))


def _share_of(paper: Paper, values: pd.DataFrame | None, tolerance: float) -> str:
    """Return the share of values that agree and of how many; None: the run has none of them."""
    if values is None:
        return NOT_RUN
    k, n = count_agreeing(paper, values, tolerance)
    return f"{format_share(k, n)} of {n}"


def _first_blocks(comparison: Reproduction) -> list[str]:
    """Return the labels of the first column of blocks that the run covers."""
    return list(dict.fromkeys(map(str, comparison.covered[comparison.paper.blocks[0]])))


def _measures_section(
    comparison: Reproduction, values: pd.DataFrame, title: str, *, brief: bool, has_total: bool = False
) -> Section:
    """Return how many of how many values agree, measures down and data sets across."""
    column = values[comparison.paper.blocks[0]]
    names = _first_blocks(comparison)

    def measure_row(label: str, of_measure: pd.DataFrame) -> list[str]:
        row = [label]
        for name in names:
            row.append(_agreeing_of(comparison, of_measure[column.loc[of_measure.index] == name]))
        row.append(_agreeing_of(comparison, of_measure))
        return row

    rows = [measure_row(str(metric), of_metric) for metric, of_metric in values.groupby("metric", sort=False)]
    if has_total:
        rows.append(measure_row("all", values))
    heads = [f"({i})" for i in range(1, len(names) + 1)] if brief else names
    return _table(title, ["measure"] + heads + ["all"], rows, 1)


def _rules_section(comparison: Reproduction, values: pd.DataFrame) -> Section:
    """Return how many values agree by the tolerance, and by stricter rules."""
    column = comparison.paper.blocks[0]
    gap = values["difference"].abs()
    z = values["z"].abs()
    agrees = pd.DataFrame(
        {
            "within the tolerance": values["verdict"] == WITHIN,
            "within the floor alone": gap.combine(
                values["floor"], lambda distance, floor: is_within(distance, floor - ROUNDING)
            ),
            "|z| ≤ 2": z <= 2,
            "|z| ≤ 3": z <= 3,
        }
    )
    index_of_label = {str(label): block.index for label, block in values.groupby(column, sort=False)}
    index_of_label["all"] = values.index
    rows = []
    for label, index in index_of_label.items():
        n_agreeing = [str(int(n)) for n in agrees.loc[index].sum()]
        rows.append([label, str(len(index))] + n_agreeing)
    return _table("By stricter rules", [column, "values"] + [str(rule) for rule in agrees], rows, 1)


def _off_section(comparison: Reproduction, *, brief: bool) -> Section:
    """Return the values that are off of those that the run is judged by, the farthest first."""
    values = comparison.scored
    off = values[values["verdict"] == OFF]
    tolerances_off = (off["difference"].abs() / off["tolerance"]).fillna(np.inf)
    order = tolerances_off.sort_values(ascending=False, kind="stable").index
    if brief:
        order = order[:BRIEF]
    title = "Off, the farthest of their tolerance first"
    if len(order) < len(off):
        title += f" ({len(order)} of {len(off)}, all in the files)"
    rows = []
    for value in off.loc[order].to_dict("records"):
        rows.append(_value_row(comparison, value) + [_format_value(value["tolerance"])])
    return _table(title, VALUE + ["allowed"], rows, 1)


def _value_row(comparison: Reproduction, value: Row) -> list[str]:
    """Return which value it is, ours, theirs and the difference; this is empty where one has none."""
    labels = [format_label(name, str(value[name])) for name in _label_columns(comparison)]
    difference: str = "" if pd.isna(value["difference"]) else f"{value['difference']:+.3f}"
    return [", ".join(labels), str(value["shown"]), _format_value(value["theirs"]), difference]


def _reasons_section(comparison: Reproduction) -> Section:
    """Return how many flagged values there are for each reason, and how many agree all the same.

    A value with several reasons is counted under each; "in 3/10" is left out of them.
    """
    flagged = comparison.flagged
    reasons = flagged["flags"].map(lambda text: [_IN_RUNS.sub("", reason) for reason in text.split("; ")])
    by_reason = flagged.assign(flags=reasons).explode("flags").groupby("flags", sort=False)
    rows = [[str(reason), _agreeing_of(comparison, values)] for reason, values in by_reason]
    return _table(FLAGGED, ["reason (a value may have several)", "within"], rows, 1)


def _series_section(comparison: Reproduction) -> Section:
    """Return the flagged series of values, each with its reason and how many of its values agree."""
    series = [name for name in _label_columns(comparison) if name != "metric"]
    columns = series + ["flags"]
    rows = []
    for labels, values in comparison.flagged.groupby(columns, sort=False):
        rows.append(list(map(str, labels)) + [_agreeing_of(comparison, values)])
    return _table(FLAGGED, series + ["reason", "within"], rows, len(columns))


def _agreeing_of(comparison: Reproduction, values: pd.DataFrame) -> str:
    """Return how many of how many values agree within their own tolerances; "-" where there are none."""
    k, n = count_agreeing(comparison.paper, values, np.nan)
    if n == 0:
        return "-"
    return f"{k}/{n}"


def _block_sections(comparison: Reproduction) -> Iterator[Section]:
    """Yield ours next to theirs, block by block."""
    paper = comparison.paper
    values = comparison.values
    not_down = paper.blocks + (paper.across,)
    down = [name for name in _label_columns(comparison) if name not in not_down]
    for labels, block in values.groupby(list(paper.blocks), sort=False):
        names = map(format_label, paper.blocks, map(str, labels))
        title = f"{', '.join(names)}: ours / theirs"
        if (block["verdict"] == NOT_RUN).all():
            yield Section(title, ("Not in the run.",))
            continue
        across = list(dict.fromkeys(block[paper.across]))
        rows = []
        for row_labels, row_values in block.groupby(down, sort=False):
            texts = {value[paper.across]: _ours_and_theirs(value) for value in row_values.to_dict("records")}
            rows.append(list(map(str, row_labels)) + [texts.get(label, "") for label in across])
        heads = down + [format_label(paper.across, label) for label in across]
        yield _table(title, heads, rows, len(down))


def _ours_and_theirs(value: Row) -> str:
    """Return both values as text, marked where the published one is flagged or else ours is off."""
    text = f"{value['shown']} / {_format_value(value['theirs'])}"
    if value.get("flags"):
        return f"{text} {FLAG_MARK}"
    if value["verdict"] == OFF:
        return f"{text} {OFF_MARK}"
    return text


def _label_columns(comparison: Reproduction) -> list[str]:
    """Return the columns of the paper's CSV that distinguish the values."""
    names = list(comparison.values.columns)
    labels = names[: names.index("theirs")]
    return [name for name in labels if name != "table" or "table" in comparison.paper.blocks]


def _format_value(value: float) -> str:
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


def _floors_legend(paper: Paper) -> tuple[str, str]:
    """Return the legend of values with tolerances of their own: what is counted, what the marks mean."""
    floor_clauses = []
    for name, floors in paper.floors.items():
        texts = [f"{floor:g} {metric or 'any other'}" for metric, floor in floors.items()]
        floor_clauses.append(f"{name}: {', '.join(texts)}")
    return (
        "Ours are means over the repeats. A value agrees if ours is within two published standard deviations "
        f"or, where these are small, within a floor ({'; '.join(floor_clauses)}). "
        f"The share counts {', '.join(paper.scored) or 'all measures'} of all series without a flag.",
        f'"-": infeasible. (a/b): only a of b repeats have a value. "…": not run. {OFF_MARK}: off. '
        f"{FLAG_MARK}: flagged, with the reason below; counted nowhere. z: the difference over its standard "
        "error, as if all splits were independent; of values that agree in truth 95 % are within 2.",
    )
