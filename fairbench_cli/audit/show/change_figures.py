"""Ratios before and after: an arrow a group on a log axis, with the τ band."""

import math
from collections.abc import Sequence

from fairbench_cli.audit.judge.report import Change
from fairbench_cli.audit.show.bars import band
from fairbench_cli.audit.show.format import number
from fairbench_cli.document.charts import ChartRow, Look, arrow, dot, ratio_axis, row_chart, rule, whisker

MOST_GROUPS = 20  # in a figure; the tables have all
DROP = 5.0  # what is before lies so much above the middle of its row, what is after below
LOOKS: dict[str, tuple[Look, str]] = {
    "better": ("pass", "✓ better"),
    "worse": ("fail", "✗ worse"),
    "undecided": ("undecided", "?"),
}


def ratio_changes(rows: Sequence[Change]) -> str:
    """Draw the changes of one rate: a ring before, a mark after, an arrow between them, intervals thin."""
    rows = rows[:MOST_GROUPS]
    both = [of for row in rows for of in (row.ratio_before, row.ratio_after)]
    axis = ratio_axis(
        [of.value for of in both], [end for of in both for end in (of.low, of.high)], rows[0].tau
    )
    drawn = []
    for row in rows:
        look, word = LOOKS[row.word]
        before, after = row.ratio_before, row.ratio_after
        ratios = f"{number(before.value, 2)} → {number(after.value, 2)}"
        said = f"{row.group}: {ratios} {row.word}"
        marks = [band(axis, row.tau), rule("one", axis, 1.0, 18, "equal to the reference")]
        if not (math.isnan(before.value) or math.isnan(after.value)):
            marks += [
                arrow(axis, before.value, after.value, look, said, DROP),
                *(whisker(axis, of.low, of.high, said, y) for of, y in ((before, -DROP), (after, DROP))),
                dot(axis, before.value, "reference", f"{row.group}, before: {number(before.value)}", -DROP),
                dot(axis, after.value, look, f"{row.group}, after: {number(after.value)}", DROP),
            ]
        drawn.append(ChartRow(row.group, f"{ratios} {word}", marks))
    title = "; ".join(f"{row.name} {row.said}" for row in drawn)
    return row_chart(title, axis, drawn, "ring: before; mark: after; shaded: from τ to 1/τ")
