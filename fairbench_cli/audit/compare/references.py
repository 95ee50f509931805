"""Which group the others are compared with, for each measure."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan.slices import Slice, Tally
from fairbench_cli.base.errors import Flag, Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.number_writing import find_named_value
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import numerators_and_denominators

REST = -1  # instead of a group: everybody else
REST_NAME = "(rest)"
SIZE_ALPHA = 0.05  # of the test that one group is larger than the next
ROUNDING = 1e-9

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]


def name_reference(reference: int, groups: Sequence[str]) -> str:
    """Return the name of whom groups are compared with: one of them, or all others."""
    if reference == REST:
        return REST_NAME
    return groups[reference]


def find_references(
    group_counts: Slice, names: Sequence[str], config: AuditConfig, values: Floats | None = None
) -> Ints:
    """Index of the reference group for each measure, or `REST`.

    A reference given for the attribute (for an intersection: for each of its attributes) comes first; then
    the configuration's `ref_method`, where ``given`` falls back to the majority. A group with a `MISSING`
    part, or of fewer rows than `min_group` or than `min_share`, is not chosen where there is another. Ties go
    to the first group in sorted order; undefined values are skipped. Measures are rates, unless `values` of
    shape (groups, measures) are given.

    Raises
    ------
    UserError
        When the reference given is not a group of the attribute.
    """
    groups = group_counts.counts.groups
    given_reference = _find_named_reference(group_counts, config)
    if given_reference is not None or config.ref_method == "rest":
        return np.full(
            len(names), REST if given_reference is None else groups.index(given_reference), dtype=np.intp
        )
    may_be_chosen = _may_be_chosen(group_counts, config)
    if config.ref_method in ("minimum", "maximum"):
        rank_values = values
        if rank_values is None:
            rank_values = divide(*numerators_and_denominators(group_counts.counts.n, names))
        if config.ref_method != "minimum":
            rank_values = -rank_values
        undefined = np.where(may_be_chosen, 1e300, np.inf)[
            :, None
        ]  # the first that may be is taken when all are
        return np.asarray(
            np.argmin(
                np.where(may_be_chosen[:, None] & ~np.isnan(rank_values), rank_values, undefined), axis=0
            )
        )
    return np.full(
        len(names), np.argmax(np.where(may_be_chosen, group_counts.counts.group_total, -1.0)), dtype=np.intp
    )


def _may_be_chosen(group_counts: Slice, config: AuditConfig) -> Bools:
    """Return which groups may be the reference that nobody named."""
    is_known = np.array([MISSING not in group.split(CROSS) for group in group_counts.counts.groups])
    is_large = group_counts.rows >= config.min_group
    is_comparable = comparable(group_counts, config)
    return next(
        candidates
        for candidates in (
            is_known & is_large & is_comparable,
            is_known & is_comparable,
            is_comparable,
            is_comparable | True,
        )
        if candidates.any()
    )


def find_alike(group_counts: Slice, effective_share: float, config: AuditConfig) -> tuple[int, ...]:
    """Return the two largest groups that may be the reference, where chance explains which is the larger.

    That is by a two-sided binomial test at 5 %; `effective_share` says how many rows one row is worth. Empty
    where they differ, somebody chose, or there are no two.
    """
    from scipy.special import bdtr

    if (
        config.ref_method not in ("given", "majority")
        or _find_named_reference(group_counts, config) is not None
    ):
        return ()
    sizes = np.where(_may_be_chosen(group_counts, config), group_counts.counts.group_total, 0.0)
    if (sizes > 0).sum() < 2:
        return ()
    first, second = np.argsort(-sizes, kind="stable")[:2].tolist()
    total = sizes[first] + sizes[second]
    n_rows = effective_share * float(group_counts.rows[[first, second]].sum())
    fewer = np.floor(n_rows * sizes[second] / total + ROUNDING)
    if 2 * bdtr(fewer, round(n_rows), 0.5) < SIZE_ALPHA:
        return ()
    return (first, second)


def common_references(slices: Sequence[Slice], config: AuditConfig) -> AuditConfig:
    """Return the config with the largest group of all slices together as reference, where none is given.

    Parts of the rows that are compared with each other then have one reference: a group of every part, with
    `min_group` rows in all if there is one. References chosen by rate stay each slice's own.
    """
    if config.ref_method not in ("given", "majority"):
        return config
    chosen = {}
    for attribute, attribute_slices in group_by(slices, lambda group_counts: group_counts.attribute).items():
        groups_of_slices = [set(group_counts.counts.groups) for group_counts in attribute_slices]
        everywhere = sorted(set.intersection(*groups_of_slices))
        known_groups = [group for group in everywhere if MISSING not in group.split(CROSS)]
        rows: dict[str, int] = dict.fromkeys(known_groups, 0)
        weight: dict[str, float] = dict.fromkeys(known_groups, 0)
        for group in known_groups:
            for group_counts in attribute_slices:
                g = group_counts.counts.groups.index(group)
                rows[group] += int(group_counts.rows[g])
                weight[group] += group_counts.counts.group_total[g]
        large = [group for group in known_groups if rows[group] >= config.min_group]
        if known_groups and all(
            _find_named_reference(group_counts, config) is None for group_counts in attribute_slices
        ):
            chosen[attribute] = max(large or known_groups, key=weight.__getitem__)
    return config.model_copy(update={"references": {**config.references, **chosen}})


def with_chosen(estimates: Sequence[Any], tally: Tally, config: AuditConfig) -> AuditConfig:
    """Return the config with the references of numbers that are better off, which all parts then go by."""
    chosen = {}
    attributes = [part.attribute for part in tally.slices]
    for of_slice in estimates:
        if of_slice.chosen_by == "better" and attributes.count(of_slice.part.attribute) == 1:
            chosen[of_slice.part.attribute] = of_slice.part.counts.groups[of_slice.reference]
    if not chosen:
        return config
    return config.model_copy(update={"references": {**chosen, **config.references}})


def usual_reference(group_counts: Slice, config: AuditConfig) -> int:
    """Return the reference of a slice's selection rate, or `REST`; of scores and plans, too."""
    return int(find_references(group_counts, ("selection-rate",), config)[0])


def is_chosen_by_rate(group_counts: Slice, config: AuditConfig) -> bool:
    """Return whether the reference is the group with the highest or lowest rate: one that the data chose."""
    return config.ref_method in ("minimum", "maximum") and _find_named_reference(group_counts, config) is None


def excluded(group_counts: Slice, config: AuditConfig) -> Bools:
    """Return which groups are left out: they, or a part of them, are among `exclude`."""
    out = set(config.exclude)
    return np.array(
        [bool(out & _levels(group_counts, group)) for group in group_counts.counts.groups], dtype=bool
    )


def comparable(group_counts: Slice, config: AuditConfig) -> Bools:
    """Return which groups are compared: not left out, and with `min_share` of the rows that are not.

    A reference that was named is compared with, whatever its share.
    """
    inside = ~excluded(group_counts, config)
    given_reference = _find_named_reference(group_counts, config)
    least = Fraction(str(config.min_share)) * int(group_counts.rows[inside].sum())
    enough = [
        group == given_reference or (rows >= least and (rows > 0 or least == 0))
        for group, rows in zip(group_counts.counts.groups, group_counts.rows.tolist(), strict=True)
    ]
    return np.asarray(inside & np.array(enough, dtype=bool))


def are_compared(group_counts: Slice, reference: int, config: AuditConfig) -> Bools:
    """Return which groups are compared with a reference: those that may be, but for itself."""
    is_compared = comparable(group_counts, config)
    if reference != REST:
        is_compared[reference] = False
    return is_compared


def without_excluded_groups(group_counts: Slice, config: AuditConfig) -> Slice:
    """Return a slice without the groups that are left out."""
    return without_groups(group_counts, excluded(group_counts, config))


def without_groups(group_counts: Slice, out: Bools) -> Slice:
    """Return a slice without some of its groups."""
    if not out.any():
        return group_counts
    stays = ~out
    groups = tuple(compress(group_counts.counts.groups, stays))
    remaining = group_counts.with_cells(group_counts.cells[:, stays], groups)
    return remaining.with_clusters([clusters.select_groups(stays) for clusters in group_counts.cluster_ways])


def rates_and_references(
    n: Floats, names: Sequence[str], reference_indices: Ints
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the numerators and denominators of each group's rates, then of its reference's.

    Each has the shape (..., groups, rates).
    """
    numerator, denominator = numerators_and_denominators(n, names)
    if (reference_indices == REST).all():
        everybody = n.sum(-3)
        all_others = everybody * float(n.shape[-3] > 1)  # the rest of one group is nobody, and has no share
        return (
            numerator,
            denominator,
            *numerators_and_denominators(everybody[..., None, :, :] - n, names, all_others),
        )
    columns = np.arange(len(names))
    ref_numerator, ref_denominator = (
        np.broadcast_to(side[..., reference_indices, columns][..., None, :], side.shape)
        for side in (numerator, denominator)
    )
    return numerator, denominator, ref_numerator, ref_denominator


def name_groups(tally: Tally, config: AuditConfig) -> AuditConfig:
    """Return the config with references and groups that are left out called as the rows have them."""
    groups: dict[str, set[str]] = {}
    levels: set[str] = set()
    for group_counts in tally.slices:
        names = group_counts.attribute.split(CROSS)
        for group in group_counts.counts.groups:
            levels |= _levels(group_counts, group)
            for name, value in zip(names, group.split(CROSS), strict=False):
                groups.setdefault(name, set()).add(value)
    own_groups = {
        name: find_named_value(group, groups.get(name, ())) for name, group in config.references.items()
    }
    out = tuple(find_named_value(text, levels) for text in config.exclude)
    if own_groups == config.references and out == config.exclude:
        return config
    return config.model_copy(update={"references": own_groups, "exclude": out})


def check_references(tally: Tally, config: AuditConfig) -> None:
    """Check the references that were given: each attribute is audited, and has that group.

    Raises
    ------
    UserError
        Naming all that are wrong.
    """
    attributes = {group_counts.attribute for group_counts in tally.slices}
    names = set(attributes)
    for attribute in attributes:
        names.update(attribute.split(CROSS))
    problems = [
        Problem(f"no attribute called {format_value(name)}", suggest(name, attributes), Flag("ref"))
        for name in config.references
        if name not in names
    ]
    levels: set[str] = set()
    for group_counts in tally.slices:
        for group in group_counts.counts.groups:
            levels |= _levels(group_counts, group)
    problems += [
        Problem(f"no group called {format_value(text)}", suggest(text, levels), Flag("exclude"))
        for text in config.exclude
        if text not in levels and text.rpartition("=")[2] != MISSING  # nobody may be missing
    ]
    if problems:
        raise UserError(*problems)
    for group_counts in tally.slices:
        given_reference = _find_named_reference(group_counts, config)
        out = excluded(group_counts, config)
        if out.all():
            of_model = ""
            if group_counts.model:
                of_model = f" in {config.slice_name or 'model'} {format_value(group_counts.model)}"
            problem = f"all groups of {format_value(group_counts.attribute)}{of_model} are left out"
            raise user_error(problem, "leave out fewer groups, or audit other attributes", Flag("exclude"))
        if given_reference is not None and out[group_counts.counts.groups.index(given_reference)]:
            left_out = (f"the reference {format_value(given_reference)} is left out by ", Flag("exclude"))
            raise user_error(left_out, "name another reference, or keep it", Flag("ref"))


def _levels(group_counts: Slice, group: str) -> set[str]:
    """Return the names that `exclude` may call a group by: its own, its parts, these with their attribute."""
    names = group_counts.attribute.split(CROSS)
    names_and_values = [(group_counts.attribute, group)]
    names_and_values += zip(names, group.split(CROSS), strict=False)
    levels = set()
    for name, value in names_and_values:
        levels |= {value, f"{name}={value}"}
    return levels


def _find_named_reference(group_counts: Slice, config: AuditConfig) -> str | None:
    """Find the reference given for this attribute, or for each attribute of an intersection."""
    groups = group_counts.counts.groups
    name = config.references.get(group_counts.attribute)
    if name is None:
        attributes = group_counts.attribute.split(CROSS)
        name = CROSS.join(config.references.get(attribute, "") for attribute in attributes)
        if group_counts.intersection and name in groups:
            return name
        return None
    if name not in groups:
        problem = f"attribute {format_value(group_counts.attribute)} has no group {format_value(name)}"
        of_model = ""
        if group_counts.model:
            of_model = f" in model {format_value(group_counts.model)}"
        raise user_error(problem + of_model, suggest(name, groups), Flag("ref"))
    return name
