"""Count whose rows these are, where people have several, and the rows by all attributes at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.audit.scan.cuts import Ints, scores_of, selected
from fairbench_cli.audit.scan.refusals import refuse_if
from fairbench_cli.audit.scan.scan import (
    Scan,
    TooManyGroups,
    coded_rows,
    counted_jointly,
    group_places,
    grouped,
    models_of,
    parts_of_groups,
)
from fairbench_cli.audit.scan.source import blank
from fairbench_cli.audit.scan.tally import Clusters, Slice
from fairbench_cli.base.errors import Flag, UserError, user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS

SCAN = Flag("scan")
MOST_MEMBERS = 2_000_000  # places of combinations in subgroups: more are not searched in a minute
_SUMS = ("weight", "square")  # of the weights of rows that are alike, and of their squares


def with_clusters(scan: Scan, column: int) -> tuple[tuple[Slice, ...], str]:
    """Return the slices with their clusters, and a note that says how many people there are.

    The rows are scanned once, into a table of the sums of each person by groups, label and score, which
    DuckDB keeps on disk where it outgrows its memory. A slice holds one entry per person and group.

    Parameters
    ----------
    scan : Scan
        The rows, counted; no ties are drawn.
    column : int
        Says whose row it is.

    Raises
    ------
    UserError
        When rows do not say whose they are.
    """
    source, attributes = scan.source, list(scan.roles.attributes)
    keys = ["model", "level", "label", *(f"attribute_{i}" for i in range(len(attributes))), "person"]
    sums = ("sum(weight)", "sum(weight * weight)") if scan.weighted else ("count(*)", "count(*)")
    columns = [f"{of}::DOUBLE AS {name}" for of, name in zip(sums, _SUMS, strict=True)]
    rows = scan.keys(attributes, more=(f"trimmed_{column} AS person",))
    source.execute(f"CREATE OR REPLACE TEMP TABLE named AS {grouped(rows, keys, columns)}")
    if source.one("SELECT count(*) FROM named WHERE coalesce(person, '') = ''")[0]:
        what = "{column} is empty in {count}: these do not say whose rows they are"
        refuse_if(source, column, blank(column), what, "fill them in, with a value for each person")
    ranked = "SELECT * EXCLUDE (person), dense_rank() OVER (ORDER BY person) - 1 AS person FROM named"
    coded = coded_rows(scan, ranked, attributes, ["level", "label", "person", *_SUMS])
    source.execute(f"CREATE OR REPLACE TEMP TABLE clustered AS {coded}; DROP TABLE named")
    by = {CROSS.join(names): (names, *_sums(scan, names)) for names in scan.roles.audited}
    slices = tuple(
        replace(part, clusters=_clusters(scan, part, *by[part.attribute])) for part in scan.tally.slices
    )
    (people,) = source.one("SELECT count(DISTINCT person) FROM clustered")
    source.execute("DROP TABLE clustered")
    models = len(models_of(scan))
    of_models = f" and {models} models" if models > 1 else ""
    called = source.columns[column]
    note = f"{called}: the rows are of {people} people{of_models}; intervals and tests go by these."
    return slices, note


def _sums(scan: Scan, names: Sequence[str]) -> tuple[dict[str, Ints], list[Floats]]:
    """Return the model, level, label, person and codes of some attributes, and `_SUMS` of each."""
    attributes = list(scan.roles.attributes)
    keys = ["model", "level", "label", "person", *(f"of_{attributes.index(name)}" for name in names)]
    sums = grouped("SELECT * FROM clustered", keys, [f"sum({name}) AS {name}" for name in _SUMS])
    found = scan.source.execute(f"{sums} ORDER BY {', '.join(keys)}").fetchnumpy()
    codes = {key: np.asarray(found[key]).astype(np.int64) for key in keys}
    return codes, [np.asarray(found[name], dtype=np.float64) for name in _SUMS]


def _clusters(
    scan: Scan, part: Slice, names: Sequence[str], keys: dict[str, Ints], summed: Sequence[Floats]
) -> Clusters:
    """Sum up by person and group, under one model and cut."""
    cuts = scan.cuts_of(part.model)
    cut = next(cut for cut in cuts if cut.text == part.decision)
    at = np.flatnonzero(keys["model"] == models_of(scan).index(part.model))
    level, label, person, *codes = (keys[key][at] for key in keys if key != "model")
    group, many = group_places(scan, part, names).of(codes), len(part.counts.groups)
    ones = np.ones(len(at), np.int64)
    picked = selected(cut, scores_of(cuts), level, ones, scan.config.seed, part.model)
    entry, inverse = np.unique(person * many + group, return_inverse=True)
    cell = 4 * inverse + 2 * label + picked
    n, squares = (
        np.bincount(cell, of[at], minlength=4 * len(entry)).reshape(-1, 2, 2).astype(np.float64)
        for of in summed
    )
    return Clusters(entry // many, entry % many, n, squares)


@dataclass(frozen=True, eq=False)
class Joint:
    """The rows by the levels of all attributes, under one model and decision.

    Parameters
    ----------
    part : Slice
        Its groups are the combinations that occur.
    names : tuple of str
        The attributes.
    levels : tuple of tuples of str
        The levels of each, in the order of their codes.
    codes : int array, shape (groups, attributes)
        The level of each group.
    """

    part: Slice
    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: Ints


def read_joint(scan: Scan) -> tuple[Joint, ...]:
    """Return the rows by all attributes, under each model and decision.

    Raises
    ------
    UserError
        For too many combinations; for weighted rows, which cannot change places; and for people with rows of
        several groups.
    """
    if scan.weighted:
        what = "subgroups are searched by letting rows change places, and rows of different weight cannot"
        raise user_error(what, ("leave out the weights, or ", SCAN), SCAN)
    names = tuple(scan.roles.attributes)
    try:
        joint = counted_jointly(scan)
    except TooManyGroups as found:
        raise _too_many(found.count, names) from None
    most = max(len(part.counts.groups) for part in joint.tally.slices)
    if most * 2 ** len(names) > MOST_MEMBERS:
        raise _too_many(str(most), names)
    slices = joint.tally.slices
    if scan.roles.cluster is not None:
        slices, _ = with_clusters(joint, scan.roles.cluster)
        column = scan.source.columns[scan.roles.cluster]
        for part in slices:
            if part.clusters is not None and len(np.unique(part.clusters.person)) < len(part.clusters.person):
                what = f"some {column} have rows in several groups, and cannot change places with others"
                fix = (f"audit attributes that do not vary within one {column}, or leave out ", SCAN)
                raise user_error(what, fix, SCAN)
    return tuple(_joint(joint, part, names) for part in slices)


def _joint(scan: Scan, part: Slice, names: tuple[str, ...]) -> Joint:
    columns = list(zip(*parts_of_groups(scan, part, names), strict=True))
    levels = tuple(tuple(dict.fromkeys(sorted(column))) for column in columns)
    codes = [[known.index(level) for level in column] for known, column in zip(levels, columns, strict=True)]
    return Joint(part, names, levels, np.array(codes, dtype=np.int64).T)


def _too_many(combinations: str, names: tuple[str, ...]) -> UserError:
    what = f"{len(names)} attributes have {combinations} combinations, too many to search all subgroups of"
    return user_error(what, ("name fewer with ", Flag("attribute")), SCAN)
