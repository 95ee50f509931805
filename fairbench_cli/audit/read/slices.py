"""Turn counted cells into the slices of a tally."""

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.read import decisions as decide
from fairbench_cli.audit.read.cells import Cells, Plan, scores_of
from fairbench_cli.audit.read.source import BLANKS
from fairbench_cli.audit.read.tally import MISSING, Slice
from fairbench_cli.measures.counts import Counts

SEVERAL_ATTRIBUTES = " × "


def group_name(value: str | None) -> str:
    """Return the group of a cell's text.

    >>> group_name(" Asian"), group_name(" "), group_name(None)
    ('Asian', '(missing)', '(missing)')
    """
    return (value or "").strip(BLANKS) or MISSING


def slices(cells: dict[tuple[str, ...], Cells], plan: Plan, seed: int) -> tuple[Slice, ...]:
    """Turn cells into slices: by model, decision, attribute, intersection."""
    roles = plan.roles
    shapes = [(name,) for name in roles.attributes] + [tuple(names) for names in roles.intersections]
    by_shape = {
        names: next(found for keys, found in cells.items() if keys == names or len(cells) == 1)
        for names in shapes
    }
    models = sorted({model for found in cells.values() for model in found.models}, key=_missing_last)
    result = []
    for model in models:
        cuts = plan.cuts[model if model in plan.cuts else None]
        for cut in cuts:
            for names in shapes:
                found = by_shape[names]
                here = np.array([name == model for name in found.models])
                result.append(_slice(found, here, model, cut, scores_of(cuts), names, plan, seed))
    return tuple(result)


def _missing_last(name: str) -> tuple[bool, str]:
    return name == MISSING, name


def _slice(
    cells: Cells,
    here: NDArray[np.bool_],
    model: str,
    cut: decide.Cut,
    scores: list[float],
    names: tuple[str, ...],
    plan: Plan,
    seed: int,
) -> Slice:
    at = np.flatnonzero(here)
    parts = [[group_name(cells.values[name][i]) for i in at] for name in names]
    keys = list(zip(*parts, strict=True))
    groups = sorted(set(keys), key=lambda key: [_missing_last(part) for part in key])
    index = {key: i for i, key in enumerate(groups)}
    code = 2 * np.array([index[key] for key in keys], dtype=np.int64) + cells.label[at]
    rows, weight = cells.rows[at], cells.weight[at]
    picked = decide.chosen(cut, scores, cells.level[at], rows, seed, model)
    positive = np.where(picked == rows, weight, weight * picked / rows)
    n = np.empty((2 * len(groups), 2))
    n[:, 1] = np.bincount(code, positive, minlength=2 * len(groups))
    n[:, 0] = np.bincount(code, np.where(picked == rows, 0.0, weight - positive), minlength=2 * len(groups))
    return Slice(
        model=model,
        decision=cut.text,
        attribute=SEVERAL_ATTRIBUTES.join(names),
        counts=Counts(tuple(SEVERAL_ATTRIBUTES.join(key) for key in groups), n.reshape(-1, 2, 2)),
        rows=np.bincount(code // 2, rows, minlength=len(groups)).astype(np.int64),
        labelled=plan.roles.label is not None,
        intersection=len(names) > 1,
        rows_per_weight=_rows_per_weight(float(weight.sum()), float(cells.square[at].sum())),
    )


def _rows_per_weight(total: float, squares: float) -> float:
    return total / squares if squares > 0 else 1.0
