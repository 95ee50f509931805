"""Notice scores in percent, and thresholds of another scale than the scores."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.read.cells import CountedCells, CountingPlan
from fairbench_cli.audit.read.cuts import scores_of
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.errors import shown, user_error

PERCENT = 100.0


def read_percent(source: Predictions, column: int) -> tuple[Predictions, tuple[str, ...]]:
    """Return the predictions with scores such as "73 %" read as 0.73, and a note when there are some.

    They are looked for in the first rows; where they come later alone they are no numbers, and refused.
    """
    found = source.one(f"SELECT max(t{column}) FROM sample WHERE ends_with(t{column}, '%')")
    if found[0] is None:
        return source, ()
    sql = source.sql[column]
    share = f"TRY_CAST(rtrim(rtrim({sql.of('t')}, '%'), ' \u00a0\u202f') AS DOUBLE) / {PERCENT}"
    number = f"CASE WHEN ends_with({sql.of('t')}, '%') THEN {share} + 0.0 ELSE {sql.number} END"
    changed = (*source.sql[:column], replace(sql, number=number), *source.sql[column + 1 :])
    example = float(found[0].rstrip("% \u00a0\u202f")) / PERCENT if _is_number(found[0]) else None
    such = "" if example is None else f", such as {shown(found[0])} as {example:.6g}"
    note = f"{source.columns[column]}: cells with % are read as shares{such}."
    return replace(source, sql=changed), (note,)


def check_thresholds(
    source: Predictions, plan: CountingPlan, cells: CountedCells, thresholds: Iterable[float]
) -> None:
    """Refuse a threshold that selects everybody or nobody because it is of another scale than the scores."""
    if plan.roles.others:  # levels are of several scores
        return
    for threshold in thresholds:
        selected = _selected(plan, cells, threshold)
        if selected.any() and not selected.all():
            continue
        column, everybody = plan.roles.score, bool(selected.all())
        low, high = source.one(f"SELECT min(n{column}), max(n{column}) FROM predictions")
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


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("% \u00a0\u202f"))
    except ValueError:
        return False
    return True
