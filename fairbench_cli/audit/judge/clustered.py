"""How many independent rows the rows of people who have several are worth.

The variance of a rate between people, as of a ratio of their sums (Taylor linearisation; Särndal, Swensson &
Wretman 1992, 8.2). It is unsteady with few people, so that then the rows are worth no more than the people.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.judge.references import REST, Ints
from fairbench_cli.audit.scan.tally import Clusters
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import RATES, parts

FEW_PEOPLE = 100  # in a group and rate; below, its rows are worth no more than its people


@dataclass(frozen=True, eq=False)
class _Entries:
    """What each person in a group counts above the bar of each rate, and in all: (entries, rates)."""

    above: Floats
    all: Floats


def rows_of_people(clusters: Clusters, names: Sequence[str], rows: Floats, *, rest: bool) -> Floats:
    """Return what the rows behind each rate are worth, of each group or of everybody else.

    Parameters
    ----------
    clusters : Clusters
        The weights of each person and group.
    names : sequence of str
        Rates.
    rows : array, shape (groups, rates)
        How many there are.
    rest : bool
        Whether of all other groups together, in which a person may be several times.

    Returns
    -------
    array, shape (groups, rates)
        Independent rows, no more than there are; NaN without rows.
    """
    groups = len(rows)
    entries = _entries(clusters, names)
    above, total = (_by_group(of, clusters.group, groups) for of in (entries.above, entries.all))
    moments = _moments(entries, clusters.group, groups)
    if rest:
        above, total = above.sum(0) - above, total.sum(0) - total
        moments = _moments_of_rest(entries, clusters, groups)
    first, mixed, second, people = moments
    rate = divide(above, total)
    capped = divide(total**2, second)
    spread = np.maximum(first - 2 * rate * mixed + rate**2 * second, 0.0)
    with np.errstate(invalid="ignore"):
        variance = divide(people, people - 1) * divide(spread, total**2)
    worth = np.where(people > 1, divide(rate * (1 - rate), variance), np.nan)  # one person is one row
    count = np.array([RATES[name].of_all for name in names])  # of which the rate is 1, and says nothing
    bad = ~np.isfinite(worth) | (people < FEW_PEOPLE)
    found = np.where(count, capped, np.where(bad, np.fmin(worth, capped), worth))
    return np.where(capped >= rows * (1 - 1e-9), rows, np.fmin(found, rows))  # or one row of each


def factor_together(clusters: Clusters, names: Sequence[str], at: Ints, shape: tuple[int, int]) -> Floats:
    """Return what is left of the rows where people are in a group and in its reference, from 0 to 1.

    Where the same people do well in both, the comparison is safer than of separate groups, which is not used;
    where one does well at the expense of the other (one is chosen of each household), it is less safe.

    Returns
    -------
    array, shape (groups, rates)
        The variance of the logarithm of the ratio if groups were separate, over that it has; at most 1.
    """
    if len(np.unique(clusters.person)) == len(clusters.person):
        return np.ones(shape)
    entries, group = _entries(clusters, names), clusters.group
    above, total = (_by_group(of, group, shape[0]) for of in (entries.above, entries.all))
    ref_above, ref_total = above.sum(0) - above, total.sum(0) - total
    rest = bool((at == REST).all())
    if not rest:
        columns = np.arange(len(names))
        ref_above, ref_total = (np.broadcast_to(of[at, columns], shape) for of in (above, total))
    partner = _Entries(*(_of_partner(of, clusters, at, rest=rest) for of in (entries.above, entries.all)))

    def influence(of: _Entries, hits: Floats, weight: Floats) -> Floats:
        found = divide(of.above - divide(hits, weight)[group] * of.all, hits[group])
        return np.where(np.isfinite(found), found, 0.0)

    own, other = influence(entries, above, total), influence(partner, ref_above, ref_total)
    separate = _by_group(own**2, group, shape[0])
    whole = _spread_of_reference(entries, clusters, at, shape, rest=rest)
    separate = separate + whole
    joint = separate - 2 * _by_group(own * other, group, shape[0])
    factor = np.where(joint > separate, divide(separate, joint), 1.0)
    itself = np.arange(shape[0])[:, None] == at
    return np.where(itself | np.isnan(factor), 1.0, factor)


def _entries(clusters: Clusters, names: Sequence[str]) -> _Entries:
    above, below = parts(clusters.n, names)
    of_all = np.array([RATES[name].of_all for name in names])
    return _Entries(above, np.where(of_all, above, below))


def _by_group(values: Floats, group: Ints, groups: int) -> Floats:
    """Sum the rows of a matrix by group."""
    columns = [np.bincount(group, column, minlength=groups) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((groups, 0))


Moments = tuple[Floats, Floats, Floats, Floats]  # Σ above², Σ above·all, Σ all², people with rows


def _squares(of: _Entries) -> Moments:
    return of.above**2, of.above * of.all, of.all**2, (of.all > 0).astype(np.float64)


def _moments(of: _Entries, group: Ints, groups: int) -> Moments:
    first, mixed, second, people = (_by_group(each, group, groups) for each in _squares(of))
    return first, mixed, second, people


def _moments_of_rest(entries: _Entries, clusters: Clusters, groups: int) -> Moments:
    """Of all other groups together: of everybody, with the people of the group as they are without it."""
    whole = _Entries(*(_by_person(of, clusters) for of in (entries.above, entries.all)))
    mine = _Entries(*(of[clusters.person] for of in (whole.above, whole.all)))
    without = _Entries(mine.above - entries.above, mine.all - entries.all)
    every = [each.sum(0) for each in _squares(whole)]
    before, after = (_moments(of, clusters.group, groups) for of in (mine, without))
    first, mixed, second, people = (a - b + c for a, b, c in zip(every, before, after, strict=True))
    return first, mixed, second, people


def _by_person(values: Floats, clusters: Clusters) -> Floats:
    return _by_group(values, clusters.person, int(clusters.person.max(initial=-1)) + 1)


def _of_partner(values: Floats, clusters: Clusters, at: Ints, *, rest: bool) -> Floats:
    """Return what the person of each entry counts in the reference; 0 for the reference itself."""
    if rest:
        return _by_person(values, clusters)[clusters.person] - values
    inside = clusters.group[:, None] == at
    return np.where(inside, 0.0, _by_person(np.where(inside, values, 0.0), clusters)[clusters.person])


def _spread_of_reference(
    entries: _Entries, clusters: Clusters, at: Ints, shape: tuple[int, int], *, rest: bool
) -> Floats:
    """Return the sum of the squared influences of people on the logarithm of the reference's rate."""
    above, total = (_by_group(of, clusters.group, shape[0]) for of in (entries.above, entries.all))
    if rest:
        found = _moments_of_rest(entries, clusters, shape[0])
        above, total = above.sum(0) - above, total.sum(0) - total
    else:
        found = _moments(entries, clusters.group, shape[0])
    rate = divide(above, total)
    spread = divide(np.maximum(found[0] - 2 * rate * found[1] + rate**2 * found[2], 0.0), above**2)
    spread = np.where(np.isfinite(spread), spread, 0.0)
    return spread if rest else np.broadcast_to(spread[at, np.arange(shape[1])], shape)
