"""Which group the others are compared with, for each measure."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan.tally import Clusters, Slice, Tally
from fairbench_cli.base.errors import Flag, Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import numerators_and_denominators

REST = -1  # instead of a group: everybody else
REST_NAME = "(rest)"

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]


def references(part: Slice, names: Sequence[str], config: AuditConfig) -> Ints:
    """Index of the reference group for each measure, or `REST`.

    A reference given for the attribute (for an intersection: for each of its attributes) comes first; then
    the configuration's `ref_method`, where ``given`` falls back to the majority. A group with a `MISSING`
    part, or of fewer rows than `min_group` or than `min_share`, is not chosen where there is another. Ties go
    to the first group in sorted order; undefined values are skipped.

    Raises
    ------
    UserError
        When the reference given is not a group of the attribute.
    """
    groups = part.counts.groups
    given = _given(part, config)
    if given is not None or config.ref_method == "rest":
        return np.full(len(names), REST if given is None else groups.index(given), dtype=np.intp)
    known = np.array([MISSING not in group.split(CROSS) for group in groups])
    large = part.rows >= config.min_group
    share = comparable(part, config)
    may = next(some for some in (known & large & share, known & share, share, share | True) if some.any())
    if config.ref_method in ("minimum", "maximum"):
        rates = divide(*numerators_and_denominators(part.counts.n, names))
        if config.ref_method == "minimum":
            down = rates
        else:
            down = -rates
        undefined = np.where(may, 1e300, np.inf)[:, None]  # the first that may be is taken when all are
        return np.asarray(np.argmin(np.where(may[:, None] & ~np.isnan(down), down, undefined), axis=0))
    return np.full(len(names), np.argmax(np.where(may, part.counts.group_total, -1.0)), dtype=np.intp)


def common_references(slices: Sequence[Slice], config: AuditConfig) -> AuditConfig:
    """Return the config with the largest group of all slices together as reference, where none is given.

    Parts of the rows that are compared with each other then have one reference: a group of every part, with
    `min_group` rows in all if there is one. References chosen by rate stay each slice's own.
    """
    if config.ref_method not in ("given", "majority"):
        return config
    found = {}
    for attribute, parts_of in group_by(slices, lambda part: part.attribute).items():
        everywhere = sorted(set.intersection(*(set(part.counts.groups) for part in parts_of)))
        known = [group for group in everywhere if MISSING not in group.split(CROSS)]
        places = {group: [(part, part.counts.groups.index(group)) for part in parts_of] for group in known}
        rows = {group: sum(int(part.rows[g]) for part, g in at) for group, at in places.items()}
        weight = {group: sum(part.counts.group_total[g] for part, g in at) for group, at in places.items()}
        large = [group for group in known if rows[group] >= config.min_group]
        if known and all(_given(part, config) is None for part in parts_of):
            found[attribute] = max(large or known, key=weight.__getitem__)
    return config.model_copy(update={"references": {**config.references, **found}})


def usual_reference(part: Slice, config: AuditConfig) -> int:
    """Return the reference of a slice's selection rate, or `REST`; of scores and plans, too."""
    return int(references(part, ("selection-rate",), config)[0])


def chosen_by_rate(part: Slice, config: AuditConfig) -> bool:
    """Return whether the reference is the group with the highest or lowest rate: one that the data chose."""
    return config.ref_method in ("minimum", "maximum") and _given(part, config) is None


def excluded(part: Slice, config: AuditConfig) -> Bools:
    """Return which groups are left out: they, or a part of them, are among `exclude`."""
    out = set(config.exclude)
    return np.array([bool(out & _levels(part, group)) for group in part.counts.groups], dtype=bool)


def comparable(part: Slice, config: AuditConfig) -> Bools:
    """Return which groups are compared: not left out, and with `min_share` of the rows that are not.

    A reference that was named is compared with, whatever its share.
    """
    inside = ~excluded(part, config)
    given = _given(part, config)
    least = Fraction(str(config.min_share)) * int(part.rows[inside].sum())
    enough = [
        group == given or (rows >= least and (rows > 0 or least == 0))
        for group, rows in zip(part.counts.groups, part.rows.tolist(), strict=True)
    ]
    return np.asarray(inside & np.array(enough, dtype=bool))


def kept(part: Slice, config: AuditConfig) -> Slice:
    """Return a slice without the groups that are left out."""
    return without(part, excluded(part, config))


def without(part: Slice, out: Bools) -> Slice:
    """Return a slice without some of its groups."""
    if not out.any():
        return part
    stays = ~out
    clusters = part.clusters
    if clusters is not None:
        own = stays[clusters.group]
        place = (np.cumsum(stays) - 1)[clusters.group[own]]
        clusters = Clusters(clusters.person[own], place, clusters.n[own], clusters.squares[own])
    groups = tuple(compress(part.counts.groups, stays))
    return part.with_cells(part.cells[:, stays], groups, clusters=clusters)


def both_parts(n: Floats, names: Sequence[str], at: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the numerators and denominators of each group's rates, then of its reference's.

    Each has the shape (..., groups, rates).
    """
    above, below = numerators_and_denominators(n, names)
    if (at == REST).all():
        everybody = n.sum(-3)
        all_others = everybody * float(n.shape[-3] > 1)  # the rest of one group is nobody, and has no share
        return above, below, *numerators_and_denominators(everybody[..., None, :, :] - n, names, all_others)
    columns = np.arange(len(names))
    ref_above, ref_below = (
        np.broadcast_to(side[..., at, columns][..., None, :], side.shape) for side in (above, below)
    )
    return above, below, ref_above, ref_below


def check_references(tally: Tally, config: AuditConfig) -> None:
    """Check the references that were given: each attribute is audited, and has that group.

    Raises
    ------
    UserError
        Naming all that are wrong.
    """
    attributes = {part.attribute for part in tally.slices}
    known = attributes | {name for attribute in attributes for name in attribute.split(CROSS)}
    problems = [
        Problem(f"no attribute called {format_value(name)}", suggest(name, attributes), Flag("ref"))
        for name in config.references
        if name not in known
    ]
    levels = {
        level for part in tally.slices for group in part.counts.groups for level in _levels(part, group)
    }
    problems += [
        Problem(f"no group called {format_value(text)}", suggest(text, levels), Flag("exclude"))
        for text in config.exclude
        if text not in levels and text.rpartition("=")[2] != MISSING  # nobody may be missing
    ]
    if problems:
        raise UserError(*problems)
    for part in tally.slices:
        given = _given(part, config)
        out = excluded(part, config)
        if out.all():
            if part.model:
                of_model = f" in {config.sliced_by or 'model'} {format_value(part.model)}"
            else:
                of_model = ""
            what = f"all groups of {format_value(part.attribute)}{of_model} are left out"
            raise user_error(what, "leave out fewer groups, or audit other attributes", Flag("exclude"))
        if given is not None and out[part.counts.groups.index(given)]:
            left_out = (f"the reference {format_value(given)} is left out by ", Flag("exclude"))
            raise user_error(left_out, "name another reference, or keep it", Flag("ref"))


def _levels(part: Slice, group: str) -> set[str]:
    """Return the names that `exclude` may call a group by: its own, its parts, these with their attribute."""
    names = part.attribute.split(CROSS)
    each = [(part.attribute, group), *zip(names, group.split(CROSS), strict=False)]
    return {text for name, value in each for text in (value, f"{name}={value}")}


def _given(part: Slice, config: AuditConfig) -> str | None:
    """Find the reference given for this attribute, or for each attribute of an intersection."""
    groups = part.counts.groups
    name = config.references.get(part.attribute)
    if name is None:
        attributes = part.attribute.split(CROSS)
        name = CROSS.join(config.references.get(attribute, "") for attribute in attributes)
        if part.intersection and name in groups:
            return name
        return None
    if name not in groups:
        what = f"attribute {format_value(part.attribute)} has no group {format_value(name)}"
        if part.model:
            of_model = f" in model {format_value(part.model)}"
        else:
            of_model = ""
        raise user_error(what + of_model, suggest(name, groups), Flag("ref"))
    return name
