"""The subgroup that stands out most, of all combinations of levels; what chance finds as often is said so."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.references import Bools, excluded, without
from fairbench_cli.audit.compare.report import Interval, Intervals, Place, Report, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import defined
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.part import Part, Row, View, stream
from fairbench_cli.audit.parts.rates import in_brackets, where
from fairbench_cli.audit.scan.scan import Scan, TooManyGroups, counted_jointly, parts_of_groups, with_clusters
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.base.errors import Flag, UserError, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.document.model import Section, TableCell, TextTable, table_of
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import RATES, numerators_and_denominators
from fairbench_cli.measures.score_test import difference_interval, ratio_interval
from fairbench_cli.measures.significance import normal_p
from fairbench_cli.measures.subgroups import (
    ANY,
    Ints,
    Subgroups,
    deal_people,
    deal_rows,
    enumerate_subgroups,
    find_extremes,
)

Side = Literal["lower", "higher"]
SIDES: tuple[Side, Side] = ("lower", "higher")
SCAN = Flag("scan")
MOST_MEMBERS = 2_000_000  # places of combinations in subgroups: more are not searched in a minute
FARTHEST = 6.0  # standard errors to which a limit goes; farther ones are those of so many fewer rows


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


@dataclass(frozen=True)
class Subgroup(Place):
    """The subgroup whose rate is most clearly below, or above, that of all other rows.

    The attribute of its place is the intersection of all that were searched.

    Parameters
    ----------
    metric : str
        The rate.
    side : {"lower", "higher"}
    subgroup : str
        Its levels in words: "race = a, sex = f".
    levels : dict of str to str
        The same by attribute; those that do not matter are not there.
    rows : int
        All of its rows, whether the rate counts them or not.
    value, others_value : float
        Its rate, and that of all other rows.
    ratio, difference : Interval
        value / others_value, value − others_value; the intervals hold for all subgroups and rates that were
        searched at once.
    likelihood_ratio : float
        How clearly the two rates differ, on a logarithm.
    p : float
        How often chance finds a subgroup, of all that were searched, whose rate is as clearly different.
    p_adjusted : float
        The same, of any rate under any decision: p times how many of these there are (Bonferroni).
    stands_out : bool
        Whether that is less than 1 − confidence.
    searched : int
        How many subgroups.
    behind, others_behind : tuple of two floats
        Over and under the bar of the rates.
    """

    metric: str
    side: Side
    subgroup: str
    levels: dict[str, str]
    rows: int
    value: float
    others_value: float
    ratio: Interval
    difference: Interval
    likelihood_ratio: float
    p: float
    p_adjusted: float
    stands_out: bool
    searched: int
    behind: tuple[float, float]
    others_behind: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that a rate counts, and the subgroups that are searched in them.

    They are of a place's combinations that have some; `below` is under the bar.
    """

    joint: Joint
    metric: str
    cells: NDArray[np.intp]
    above: Floats
    below: Floats
    some: Subgroups

    def deals(self, draws: int, seed: int) -> Iterator[Floats]:
        """Yield deals of the outcomes, of rows or of people."""
        part = self.joint.part
        clusters = self.joint.part.clusters
        rng = stream(seed, "subgroups", *part.place, self.metric)
        if clusters is None:
            return deal_rows(self.above, self.below, draws, rng)
        above, below = (side[:, 0] for side in numerators_and_denominators(clusters.n, (self.metric,)))
        place = np.searchsorted(self.cells, clusters.group)
        some = below > 0
        return deal_people(place[some], above[some], below[some], len(self.cells), draws, rng)


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
    levels = tuple(tuple(sorted(set(column))) for column in columns)
    codes = [[known.index(level) for level in column] for known, column in zip(levels, columns, strict=True)]
    return Joint(part, names, levels, np.array(codes, dtype=np.int64).T)


def _too_many(combinations: str, names: tuple[str, ...]) -> UserError:
    what = f"{len(names)} attributes have {combinations} combinations, too many to search all subgroups of"
    return user_error(what, ("name fewer with ", Flag("attribute")), SCAN)


def find_subgroups(read: Sequence[Joint], names: Sequence[str], config: AuditConfig) -> tuple[Subgroup, ...]:
    """Return the two subgroups of each rate, under each model and decision: one below all others, one above.

    A subgroup and all other rows have at least `min_group` rows, and `min_share` of them, that the rate
    counts. A share of all selected is no rate of a subgroup, and not searched; nor is a rate of 0 or 1, or
    one without such subgroups: these do not count among the searches that p-values are adjusted for.
    """
    found = []
    names = [name for name in names if not RATES[name].of_all]
    for joint in (_kept(each, excluded(each.part, config)) for each in read):
        for name in defined(names, joint.part.labelled):
            above, below = (side[:, 0] for side in numerators_and_denominators(joint.part.counts.n, (name,)))
            cells = np.flatnonzero(below > 0)
            if len(cells) > 1 and 0 < above.sum() < below.sum():
                some = _large_enough(joint.codes[cells], below[cells], config)
                if len(some.levels):
                    found.append(_Rows(joint, name, cells, above[cells], below[cells], some))
    return tuple(one for rows in found for one in _searched(rows, config, len(found)))


def _kept(joint: Joint, out: Bools) -> Joint:
    return Joint(without(joint.part, out), joint.names, joint.levels, joint.codes[~out])


def _large_enough(codes: Ints, below: Floats, config: AuditConfig) -> Subgroups:
    some = enumerate_subgroups(codes)
    whole = float(below.sum())
    inside = some.member @ below
    least = max(config.min_group, config.min_share * whole)
    return some.select((inside >= least) & (whole - inside >= least))


def _searched(rows: _Rows, config: AuditConfig, family: int) -> Iterator[Subgroup]:
    some = rows.some
    whole = float(rows.below.sum())
    found = find_extremes(some, rows.above, rows.below, rows.deals(config.draws, config.seed))
    sides = [side for side, at in enumerate(found.best) if at is not None]
    member = some.member[[at for at in found.best if at is not None]]
    within = member @ rows.above, member @ rows.below
    counted = np.stack([*within, rows.above.sum() - within[0], whole - within[1]])
    alpha = config.alpha
    effects = _effects(counted, found.limit(alpha / family))
    for side, behind, ratio, difference in zip(sides, counted.T.tolist(), *effects, strict=True):
        p = found.p(side)
        p_adjusted = min(1.0, family * p)
        levels, own = _levels(rows.joint, some.levels[found.best[side]])
        yield Subgroup(
            *rows.joint.part.place,
            metric=rows.metric,
            side=SIDES[side],
            subgroup=", ".join(f"{name} = {level}" for name, level in levels.items()),
            levels=levels,
            rows=int(rows.joint.part.rows[own].sum()),
            value=behind[0] / behind[1],
            others_value=behind[2] / behind[3],
            ratio=ratio,
            difference=difference,
            likelihood_ratio=found.ratios[side],
            p=p,
            p_adjusted=p_adjusted,
            stands_out=p_adjusted < alpha,
            searched=len(some.levels),
            behind=(behind[0], behind[1]),
            others_behind=(behind[2], behind[3]),
        )


def _levels(joint: Joint, codes: Ints) -> tuple[dict[str, str], Bools]:
    """Return the levels of a subgroup by attribute, and which combinations it has."""
    levels = {
        name: known[code]
        for name, known, code in zip(joint.names, joint.levels, codes.tolist(), strict=True)
        if code != ANY
    }
    own: Bools = ((joint.codes == codes) | (codes == ANY)).all(1)
    return levels, own


def _effects(counted: Floats, limit: float) -> tuple[Intervals, Intervals]:
    """Return ratios and differences, with intervals as wide as likelihood ratios up to `limit` make them.

    Likelihood ratios are counted in rows: half of the rows have half of the ratio.
    """
    z = math.sqrt(2 * limit)
    fewer = max(1.0, (z / FARTHEST) ** 2)
    confidence = 1 - float(normal_p(min(z, FARTHEST)))
    rate = divide(counted[0], counted[1])
    others = divide(counted[2], counted[3])
    above, below, ref_above, ref_below = counted / fewer
    scaled = (above, below, ref_above, ref_below, confidence)
    ratio = ratio_interval(*scaled)
    difference = difference_interval(*scaled)
    return intervals(divide(rate, others), *ratio), intervals(rate - others, *difference)


def in_short(found: Sequence[Subgroup], report: Report) -> str:
    """Return which subgroup stands out most, if one does."""
    standing = [one for one in found if one.stands_out]
    if not standing:
        if found:
            return "No subgroup stands out by more than chance."
        return ""
    first = min(standing, key=lambda one: (one.p_adjusted, -one.likelihood_ratio))
    if first.side == "higher":
        often = "more"
    else:
        often = "less"
    return (
        f"Of {writing.thousands(first.searched)} subgroups, {writing.named(first.subgroup)} stands out most"
        f"{in_brackets(first, report)}: {RATES[first.metric].label} {format_percent(first.value)}, "
        f"of all others {format_percent(first.others_value)}: {often} than chance would do "
        f"(p {writing.p_value(first.p_adjusted)} over all that were searched)."
    )


def subgroup_rows(found: Sequence[Subgroup], _: Report) -> Iterable[Row]:
    """Return a row a subgroup; an interval takes three columns."""
    return map(writing.flat, found)


def subgroup_sections(found: Sequence[Subgroup], report: Report, view: View) -> tuple[Section, ...]:
    """Return a section with a table for each model and decision."""
    config = report.config
    title = "Subgroups that stand out"
    least = f"{config.min_group} rows" + (f" and {100 * config.min_share:g} %" if config.min_share else "")
    if not found:
        return (Section(title, (f"No subgroup of {least}, with as many other rows, has another rate.",)),)
    names = found[0].attribute
    many = max(one.searched for one in found)
    tests = len({(one.model, one.decision, one.metric) for one in found})
    if config.cluster:
        who = f"people, among those of as many rows, by {config.cluster}"
    else:
        who = "rows"
    if CROSS in names:
        whom = "All combinations"
    else:
        whom = "All groups"
    sentences = (
        f"{whom} of {names} were searched, up to {writing.thousands(many)} subgroups of at least "
        f"{least}, for the one whose rate is most clearly below, or above, that of all other rows.",
    )
    level = f"{100 * config.confidence:g} %"
    notes = (
        f"p: how often a search as wide finds as much where there is nothing: outcomes were dealt out "
        f"{config.draws} times among {who}. It is over all subgroups, {_over(tests)}below and above.",
        f"Brackets are {level} intervals that hold for all of these at once, as the subgroup was chosen for "
        "its rate. These lines decide nothing.",
        *_few_draws(tests, report),
    )
    places = group_by(found, lambda one: (one.model, one.decision))
    tables = tuple(_table(rows, report, view) for rows in places.values())
    return (Section(title, sentences, tables, notes),)


def _over(tests: int) -> str:
    if tests > 1:
        return f"all {tests} searches of a rate, "
    return ""


def _few_draws(tests: int, report: Report) -> Iterator[str]:
    draws = report.config.draws
    alpha = report.config.alpha
    if tests / (1 + draws) >= alpha:
        yield (
            f"{draws} deals cannot show anything here: give --draws {math.ceil(2 * tests / alpha)} or more."
        )


def _table(rows: Sequence[Subgroup], report: Report, view: View) -> TextTable:
    def subgroup(one: Subgroup) -> TableCell:
        return TableCell(one.subgroup, f"{one.side}, {'stands out' if one.stands_out else 'could be chance'}")

    columns: dict[str, Callable[[Subgroup], TableCell]] = {
        "subgroup": subgroup,
        "metric": lambda one: TableCell(one.metric),
        "value": lambda one: writing.number_cell(one.value, writing.fraction(one.behind)),
        "all others": lambda one: writing.number_cell(one.others_value, writing.fraction(one.others_behind)),
        "ratio": lambda one: writing.fine_cell(one.ratio, 2),
    }
    if not view.brief:
        columns["difference"] = lambda one: writing.fine_cell(one.difference)
    columns["p"] = lambda one: writing.p_cell(one.p_adjusted)
    if report.several:
        title = where(rows[0], report)
    else:
        title = ""
    return table_of(title, columns, *view.cut(rows))


SUBGROUPS = Part[Sequence[Joint], tuple[Subgroup, ...]](
    "subgroups",
    wanted=lambda config: config.scan,
    read=read_joint,
    judge=lambda read, base: find_subgroups(read, base.deciding, base.config),
    tables={"subgroups": subgroup_rows},
    sections=subgroup_sections,
    data=lambda found: {"subgroups": found},
    summary=in_short,
)
