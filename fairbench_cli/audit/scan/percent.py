"""Notice scores in percent, and thresholds of another scale than the scores."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.read.cells import CountedCells, CountingPlan
from fairbench_cli.audit.read.cuts import scores_of
from fairbench_cli.audit.read.predictions import Source, quoted
from fairbench_cli.base.errors import shown, user_error

PERCENT = 100.0
AFTER_NUMBER = "% \u00a0\u202f"  # a sign, and the blanks before it


def read_percent(source: Source, columns: Iterable[int]) -> tuple[Source, tuple[str, ...]]:
    """Return the predictions with scores such as "73 %" read as 0.73, and notes of the columns with some.

    They are looked for in the first rows; where they come later alone they are no numbers, and refused.
    """
    notes, sql = [], list(source.sql)
    for column in columns:
        example = source.one(
            f"SELECT max(trimmed_{column}) FROM sample WHERE ends_with(trimmed_{column}, '%')"
        )[0]
        if example is None:
            continue
        text = sql[column].of("t")
        share = f"TRY_CAST(rtrim({text}, {quoted(AFTER_NUMBER)}) AS DOUBLE) / {PERCENT} + 0.0"
        number = f"CASE WHEN ends_with({text}, '%') THEN {share} ELSE {sql[column].number} END"
        sql[column] = replace(sql[column], number=number)
        notes.append(f"{source.columns[column]}: cells with % are read as shares, such as {shown(example)}.")
    return replace(source, sql=tuple(sql)), tuple(notes)


def check_thresholds(
    source: Source, plan: CountingPlan, cells: CountedCells, thresholds: Iterable[float]
) -> None:
    """Refuse a threshold that selects everybody or nobody because it is of another scale than the scores."""
    for threshold in thresholds:
        selected = _selected(plan, cells, threshold)
        if selected.any() and not selected.all():
            continue
        column, everybody = plan.roles.score, bool(selected.all())
        low, high = source.one(f"SELECT min(number_{column}), max(number_{column}) FROM predictions")
        if everybody and 0 < threshold < 1 < high <= PERCENT:
            meant = threshold * PERCENT
        elif not everybody and 1 < threshold <= PERCENT and 0 <= low <= high <= 1:
            meant = threshold / PERCENT
        else:
            continue
        what = f"{source.columns[column]} goes from {low:.6g} to {high:.6g}: a threshold of {threshold:.6g}"
        what += f" selects {'everybody' if everybody else 'nobody'}"
        near = low < meant <= high
        fix = f"did you mean --threshold {meant:.6g}?" if near else "name a threshold between these"
        raise user_error(what, fix, "--threshold")


def _selected(plan: CountingPlan, cells: CountedCells, threshold: float) -> NDArray[np.bool_]:
    """Return for each cell whether its score reaches a threshold."""
    selected = np.zeros(len(cells.level), dtype=bool)
    models = np.array(cells.models)
    for model, cuts in plan.cuts.items():
        at = 2 * scores_of(cuts).index(threshold + 0.0) + 1
        selected |= (cells.level >= at) & (True if model is None else models == model)
    return selected
