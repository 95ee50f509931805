"""Count the rows by all attributes at once, for what is searched over their combinations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.scan.clusters import with_clusters
from fairbench_cli.audit.scan.scan import Scan, TooManyGroups, counted_jointly, parts_of_groups
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.base.errors import Flag, UserError, user_error

SCAN = Flag("scan")
MOST_MEMBERS = 2_000_000  # places of combinations in subgroups: more are not searched in a minute


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
    codes: NDArray[np.int64]


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
