"""The subgroup that stands out most, of all combinations of levels; what chance finds as often is said so."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.references import Bools, excluded, without_groups
from fairbench_cli.audit.compare.report import Interval, Intervals, Place, Report, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import defined
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import Part, View
from fairbench_cli.audit.parts.rates import bracketed_place, place_name
from fairbench_cli.audit.scan.scan import Scan, TooManyGroups, counted_jointly, parts_of_groups, with_clusters
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.errors import Flag, UserError, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.document.model import Section, TableCell, TextTable
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
    group_counts : Slice
        Its groups are the combinations that occur.
    names : tuple of str
        The attributes.
    levels : tuple of tuples of str
        The levels of each, in the order of their codes.
    codes : int array, shape (groups, attributes)
        The level of each group.
    """

    group_counts: Slice
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
        Of the rates.
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

    The cells are a place's combinations that have rows in the denominator.
    """

    joint: Joint
    metric: str
    cells: NDArray[np.intp]
    numerator: Floats
    denominator: Floats
    candidates: Subgroups

    def deals(self, draws: int, seed: int) -> Iterator[Floats]:
        """Yield deals of the outcomes, of rows or of people."""
        group_counts = self.joint.group_counts
        clusters = self.joint.group_counts.clusters
        model, decision, attribute = group_counts.place
        rng = stream(seed, "subgroups", model, decision, attribute, self.metric)
        if clusters is None:
            return deal_rows(self.numerator, self.denominator, draws, rng)
        numerator, denominator = (
            side[:, 0] for side in numerators_and_denominators(clusters.n, (self.metric,))
        )
        cell_of_person = np.searchsorted(self.cells, clusters.group)
        has_weight = denominator > 0
        return deal_people(
            cell_of_person[has_weight],
            numerator[has_weight],
            denominator[has_weight],
            len(self.cells),
            draws,
            rng,
        )


def read_joint(scan: Scan) -> tuple[Joint, ...]:
    """Return the rows by all attributes, under each model and decision.

    Raises
    ------
    UserError
        For too many combinations; for weighted rows, which cannot change places; and for people with rows of
        several groups.
    """
    if scan.weighted:
        problem = "subgroups are searched by letting rows change places, and rows of different weight cannot"
        raise user_error(problem, ("leave out ", SCAN, ", or the weights"), SCAN)
    names = tuple(scan.roles.attributes)
    try:
        joint = counted_jointly(scan)
    except TooManyGroups as error:
        raise _too_many_error(error.count, names) from None
    most = max(len(group_counts.counts.groups) for group_counts in joint.tally.slices)
    if most * 2 ** len(names) > MOST_MEMBERS:
        raise _too_many_error(str(most), names)
    slices = joint.tally.slices
    if scan.roles.clusters:
        slices, _ = with_clusters(joint)
        column = scan.source.columns[scan.roles.clusters[0]]
        for group_counts in slices:
            if group_counts.clusters is not None and len(np.unique(group_counts.clusters.person)) < len(
                group_counts.clusters.person
            ):
                problem = f"some {column} have rows in several groups, and cannot change places with others"
                fix = (f"audit attributes that do not vary within one {column}, or leave out ", SCAN)
                raise user_error(problem, fix, SCAN)
    return tuple(_to_joint(joint, group_counts, names) for group_counts in slices)


def _to_joint(scan: Scan, group_counts: Slice, names: tuple[str, ...]) -> Joint:
    columns = list(zip(*parts_of_groups(scan, group_counts, names), strict=True))
    levels = tuple(tuple(sorted(set(column))) for column in columns)
    codes = []
    for attribute_levels, column in zip(levels, columns, strict=True):
        codes.append([attribute_levels.index(level) for level in column])
    return Joint(group_counts, names, levels, np.array(codes, dtype=np.int64).T)


def _too_many_error(combinations: str, names: tuple[str, ...]) -> UserError:
    problem = f"{len(names)} attributes have {combinations} combinations, too many to search all subgroups of"
    return user_error(problem, ("name fewer with ", Flag("attribute")), SCAN)


def find_subgroups(read: Sequence[Joint], names: Sequence[str], config: AuditConfig) -> tuple[Subgroup, ...]:
    """Return the two subgroups of each rate, under each model and decision: one below all others, one above.

    A subgroup and all other rows have at least `min_group` rows, and `min_share` of them, that the rate
    counts. A share of all selected is no rate of a subgroup, and not searched; nor is a rate of 0 or 1, or
    one without such subgroups: these do not count among the searches that p-values are adjusted for.
    """
    rate_rows = []
    names = [name for name in names if not RATES[name].of_all]
    for joint in (_without_groups(joint, excluded(joint.group_counts, config)) for joint in read):
        for name in defined(names, joint.group_counts.labelled):
            numerator, denominator = (
                side[:, 0] for side in numerators_and_denominators(joint.group_counts.counts.n, (name,))
            )
            cells = np.flatnonzero(denominator > 0)
            if len(cells) > 1 and 0 < numerator.sum() < denominator.sum():
                large_subgroups = _select_large(joint.codes[cells], denominator[cells], config)
                if len(large_subgroups.levels):
                    rate_rows.append(
                        _Rows(joint, name, cells, numerator[cells], denominator[cells], large_subgroups)
                    )
    found_subgroups: list[Subgroup] = []
    for rows in rate_rows:
        found_subgroups += _search_rows(rows, config, len(rate_rows))
    return tuple(found_subgroups)


def _without_groups(joint: Joint, out: Bools) -> Joint:
    return Joint(without_groups(joint.group_counts, out), joint.names, joint.levels, joint.codes[~out])


def _select_large(codes: Ints, denominator: Floats, config: AuditConfig) -> Subgroups:
    candidates = enumerate_subgroups(codes)
    total = float(denominator.sum())
    inside = candidates.member @ denominator
    least = max(config.min_group, config.min_share * total)
    return candidates.select((inside >= least) & (total - inside >= least))


def _search_rows(rows: _Rows, config: AuditConfig, family: int) -> Iterator[Subgroup]:
    candidates = rows.candidates
    total = float(rows.denominator.sum())
    searched = find_extremes(
        candidates, rows.numerator, rows.denominator, rows.deals(config.draws, config.seed)
    )
    sides = [side for side, best_index in enumerate(searched.best) if best_index is not None]
    member = candidates.member[[best_index for best_index in searched.best if best_index is not None]]
    numerator = member @ rows.numerator
    denominator = member @ rows.denominator
    counted = np.stack([numerator, denominator, rows.numerator.sum() - numerator, total - denominator])
    alpha = config.alpha
    ratios, differences = _estimate_effects(counted, searched.limit(alpha / family))
    for side, behind, ratio, difference in zip(sides, counted.T.tolist(), ratios, differences, strict=True):
        p = searched.p(side)
        p_adjusted = min(1.0, family * p)
        levels, is_inside = _levels(rows.joint, candidates.levels[searched.best[side]])
        yield Subgroup(
            *rows.joint.group_counts.place,
            metric=rows.metric,
            side=SIDES[side],
            subgroup=", ".join(f"{name} = {level}" for name, level in levels.items()),
            levels=levels,
            rows=int(rows.joint.group_counts.rows[is_inside].sum()),
            value=behind[0] / behind[1],
            others_value=behind[2] / behind[3],
            ratio=ratio,
            difference=difference,
            likelihood_ratio=searched.ratios[side],
            p=p,
            p_adjusted=p_adjusted,
            stands_out=p_adjusted < alpha,
            searched=len(candidates.levels),
            behind=(behind[0], behind[1]),
            others_behind=(behind[2], behind[3]),
        )


def _levels(joint: Joint, codes: Ints) -> tuple[dict[str, str], Bools]:
    """Return the levels of a subgroup by attribute, and which combinations it has."""
    levels = {
        name: attribute_levels[code]
        for name, attribute_levels, code in zip(joint.names, joint.levels, codes.tolist(), strict=True)
        if code != ANY
    }
    is_inside: Bools = ((joint.codes == codes) | (codes == ANY)).all(1)
    return levels, is_inside


def _estimate_effects(counted: Floats, limit: float) -> tuple[Intervals, Intervals]:
    """Return ratios and differences, with intervals as wide as likelihood ratios up to `limit` make them.

    Likelihood ratios are counted in rows: half of the rows have half of the ratio.
    """
    z = math.sqrt(2 * limit)
    fewer = max(1.0, (z / FARTHEST) ** 2)
    confidence = 1 - float(normal_p(min(z, FARTHEST)))
    rate = divide(counted[0], counted[1])
    others_rate = divide(counted[2], counted[3])
    numerator, denominator, ref_numerator, ref_denominator = counted / fewer
    ratio_low, ratio_high = ratio_interval(numerator, denominator, ref_numerator, ref_denominator, confidence)
    low, high = difference_interval(numerator, denominator, ref_numerator, ref_denominator, confidence)
    ratios = intervals(divide(rate, others_rate), ratio_low, ratio_high)
    return ratios, intervals(rate - others_rate, low, high)


def summarise_subgroups(subgroups: Sequence[Subgroup], report: Report) -> str:
    """Return which subgroup stands out most, if one does."""
    standing = [subgroup for subgroup in subgroups if subgroup.stands_out]
    if not standing:
        if subgroups:
            return "No subgroup stands out by more than chance."
        return ""
    clearest = min(standing, key=lambda subgroup: (subgroup.p_adjusted, -subgroup.likelihood_ratio))
    often = "less"
    if clearest.side == "higher":
        often = "more"
    n_searched = formatting.thousands(clearest.searched)
    subgroup = f"{formatting.format_group(clearest.subgroup)} stands out most"
    return (
        f"Of {n_searched} subgroups, {subgroup}{bracketed_place(clearest, report)}: "
        f"{RATES[clearest.metric].label} {format_percent(clearest.value)}, of all others "
        f"{format_percent(clearest.others_value)}: {often} than chance would do "
        f"(p {formatting.p_value(clearest.p_adjusted)} over all that were searched)."
    )


def subgroup_sections(subgroups: Sequence[Subgroup], report: Report, view: View) -> tuple[Section, ...]:
    """Return a section with a table for each model and decision."""
    config = report.config
    title = "Subgroups that stand out"
    least = _least_text(report)
    if not subgroups:
        return (Section(title, (_describe_none(report),)),)
    names = subgroups[0].attribute
    n_searched = max(subgroup.searched for subgroup in subgroups)
    tests = len({(subgroup.model, subgroup.decision, subgroup.metric) for subgroup in subgroups})
    who = "rows"
    if config.cluster:
        who = f"people, among those of as many rows, by {config.cluster[0]}"
    whom = "All groups"
    if CROSS in names:
        whom = "All combinations"
    sentences = (
        f"{whom} of {names} were searched, up to {formatting.thousands(n_searched)} subgroups of at least "
        f"{least}, for the one whose rate is most clearly below, or above, that of all other rows.",
    )
    level = f"{100 * config.confidence:g} %"
    searches = ""
    if tests > 1:
        searches = f"all {tests} searches of a rate, "
    notes = (
        f"p: how often a search as wide finds as much where there is nothing: outcomes were dealt out "
        f"{config.draws} times among {who}. It is over all subgroups, {searches}below and "
        "above.",
        f"Brackets are {level} intervals that hold for all of these at once, as the subgroup was chosen for "
        "its rate. These lines decide nothing.",
        *_few_draws(tests, report),
    )
    by_decision = group_by(subgroups, lambda subgroup: (subgroup.model, subgroup.decision))
    tables = tuple(_table(rows, report, view) for rows in by_decision.values())
    return (Section(title, sentences, tables, notes),)


def short_subgroups(subgroups: Sequence[Subgroup], report: Report) -> Sequence[Section]:
    """Return that no subgroup has another rate; else the summary names the one that stands out most."""
    if subgroups:
        return ()
    return (Section("", (_describe_none(report),)),)


def _least_text(report: Report) -> str:
    config = report.config
    return f"{config.min_group} rows" + (f" and {100 * config.min_share:g} %" if config.min_share else "")


def _describe_none(report: Report) -> str:
    return f"No subgroup of {_least_text(report)}, with as many other rows, has another rate."


def _few_draws(tests: int, report: Report) -> Iterator[str]:
    draws = report.config.draws
    alpha = report.config.alpha
    if tests / (1 + draws) >= alpha:
        yield (
            f"{draws} deals cannot show anything here: give --draws {math.ceil(2 * tests / alpha)} or more."
        )


def _table(rows: Sequence[Subgroup], report: Report, view: View) -> TextTable:
    def subgroup(row: Subgroup) -> TableCell:
        return TableCell(row.subgroup, f"{row.side}, {'stands out' if row.stands_out else 'could be chance'}")

    columns: dict[str, Callable[[Subgroup], TableCell]] = {
        "subgroup": subgroup,
        "metric": lambda row: TableCell(row.metric),
        "value": lambda row: formatting.number_cell(row.value, formatting.fraction(row.behind)),
        "all others": lambda row: formatting.number_cell(
            row.others_value, formatting.fraction(row.others_behind)
        ),
        "ratio": lambda row: formatting.fine_cell(row.ratio, 2),
    }
    if not view.brief:
        columns["difference"] = lambda row: formatting.fine_cell(row.difference)
    columns["p"] = lambda row: formatting.p_cell(row.p_adjusted)
    title = ""
    if report.several:
        title = place_name(rows[0], report)
    return view.table(title, columns, rows)


SUBGROUPS = Part[Sequence[Joint], tuple[Subgroup, ...]](
    "subgroups",
    read=read_joint,
    judge=lambda read, base: find_subgroups(read, base.deciding, base.config),
    found_type=tuple[Subgroup, ...],
    tables={"subgroups": lambda subgroups, _: map(formatting.flatten, subgroups)},
    sections=subgroup_sections,
    short=short_subgroups,
    data=lambda subgroups: {"subgroups": subgroups},
    summary=summarise_subgroups,
)
