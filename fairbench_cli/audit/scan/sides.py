"""What is compared with each other: columns of scores on the same rows, slices of rows in their order."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.cells import CountedCells, CountingPlan, cells_with, group_name, make_slices
from fairbench_cli.audit.read.cuts import Cut, level_of, scores_of, selected
from fairbench_cli.audit.read.mistakes import rows_in_words
from fairbench_cli.audit.read.predictions import Predictions
from fairbench_cli.audit.read.tally import MISSING, Joint, Slice
from fairbench_cli.base.errors import shown, user_error
from fairbench_cli.measures.change import KINDS, TwoSides, apart
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS

MOST_SLICES = 60


def compared_slices(
    source: Predictions,
    cells: dict[tuple[str, ...], CountedCells],
    plan: CountingPlan,
    config: AuditConfig,
    names: Sequence[str],
) -> tuple[tuple[Slice, ...], tuple[Joint, ...]]:
    """Return all slices; and what is compared with each other, where that is asked for.

    Parameters
    ----------
    source : Predictions
    cells, plan
        What was counted and how.
    config : AuditConfig
        Whether the models are slices of the rows.
    names : sequence of str
        Of the columns of scores, the baseline first, when they come from two files; else their own are taken.
    """
    roles = plan.roles
    if roles.classes and config.compares:
        what = "several classes are favourable, and one outcome can be compared at a time"
        raise user_error(what, "name one value", "--favourable")
    if not roles.others:
        slices = make_slices(cells, plan, config.seed)
        if not config.sliced_by:
            return slices, ()
        slices = _in_order(source, slices, config.sliced_by)
        return slices, _consecutive(slices)
    called = names or [source.columns[column] for column in (roles.score, *roles.others)]
    by_side = [_of_side(cells, plan, i, name, config.seed) for i, name in enumerate(called)]
    joints = [
        _joint(cells, plan, i, before, after)
        for i, side in enumerate(by_side[1:], start=1)
        for before, after in zip(by_side[0], side, strict=True)
    ]
    return tuple(part for side in by_side for part in side), tuple(joints)


def _of_side(
    cells: dict[tuple[str, ...], CountedCells],
    plan: CountingPlan,
    i: int,
    name: str,
    seed: int,
) -> tuple[Slice, ...]:
    """Return the slices of the column of scores at place i, under a name."""
    own = {names: replace(found, level=level_of(found.level, i)) for names, found in cells.items()}
    cuts: dict[str | None, list[Cut]] = plan.cuts if i == 0 else {None: [plan.other_cuts[i - 1]]}
    slices = make_slices(own, replace(plan, cuts=cuts), seed)
    return tuple(replace(part, model=name) for part in slices)


def _joint(
    cells: dict[tuple[str, ...], CountedCells], plan: CountingPlan, i: int, before: Slice, after: Slice
) -> Joint:
    """Return the rows of an attribute under the first column of scores and the one at place i."""
    names = next(names for names in plan.roles.audited if CROSS.join(names) == before.attribute)
    found = cells_with(names, cells)
    first = next(iter(plan.cuts.values()))[0]
    picked = [
        selected(cut, scores_of([cut]), level_of(found.level, at), found.rows, 0, "") > 0
        for cut, at in ((first, 0), (plan.other_cuts[i - 1], i))
    ]
    groups = {group: g for g, group in enumerate(before.counts.groups)}
    keys = zip(*(found.values[name] for name in names), strict=True)
    group = np.array([groups[CROSS.join(map(group_name, key))] for key in keys], dtype=np.int64)
    code = KINDS * group + 4 * found.label + 2 * picked[0] + picked[1]

    def by_kind(values: Floats) -> Floats:
        sums = np.bincount(code, values, minlength=KINDS * len(groups)).astype(np.float64)
        return sums.reshape(-1, KINDS)

    sides = TwoSides(
        by_kind(found.weight), by_kind(found.weighing.astype(np.float64)), by_kind(found.square), paired=True
    )
    return _between(before, after, before.counts.groups, sides)


def _between(before: Slice, after: Slice, groups: tuple[str, ...], sides: TwoSides) -> Joint:
    return Joint(
        before=before.model,
        after=after.model,
        decisions=(before.decision, after.decision),
        attribute=before.attribute,
        groups=groups,
        sides=sides,
        labelled=before.labelled,
        intersection=before.intersection,
    )


def _in_order(source: Predictions, slices: tuple[Slice, ...], name: str) -> tuple[Slice, ...]:
    """Sort slices by the value that they have in common: as numbers where all are numbers, else as text."""
    values = list(dict.fromkeys(part.model for part in slices))
    if MISSING in values:
        rows = next(int(part.rows.sum()) for part in slices if part.model == MISSING)
        what = f"{shown(name)} is missing in {rows_in_words(rows)}"
        raise user_error(what, "fill it in, or leave those rows out of the file", source.name)
    if len(values) > MOST_SLICES:
        what = f"{shown(name)} has {len(values)} different values; at most {MOST_SLICES} slices are compared"
        raise user_error(what, "name a column of fewer, such as months instead of days", "--slice")
    if len(values) == 1:
        what = f"{shown(name)} has one value only, {shown(values[0])}: there is nothing to compare"
        raise user_error(what, "name another column", "--slice")
    try:
        place = {value: (float(value), value) for value in values}
    except ValueError:
        return slices
    return tuple(sorted(slices, key=lambda part: place[part.model]))


def _consecutive(slices: tuple[Slice, ...]) -> tuple[Joint, ...]:
    """Return each slice of the rows with the one before it."""
    by_model: dict[str, list[Slice]] = {}
    for part in slices:
        by_model.setdefault(part.model, []).append(part)
    return tuple(
        _apart(before, after)
        for earlier, later in pairwise(by_model.values())
        for before, after in zip(earlier, later, strict=True)
    )


def _apart(before: Slice, after: Slice) -> Joint:
    """Return two slices of different rows, with the groups that either has."""
    groups = tuple(dict.fromkeys((*before.counts.groups, *after.counts.groups)))

    def of(part: Slice) -> list[Floats]:
        at = [groups.index(group) for group in part.counts.groups]
        found = []
        for cells in (part.counts.n, part.cell_rows, part.squares):
            whole = np.zeros((len(groups), 2, 2))
            whole[at] = cells
            found.append(whole)
        return found

    return _between(before, after, groups, apart(of(before), of(after)))
