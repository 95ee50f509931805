"""How many rows weighted, or clustered, rows are worth: for each group and rate.

Weights: the linearised variance of a ratio of weighted sums (Särndal, Swensson & Wretman 1992, 5.7) and
Kish's effective sample size (1965). Each alone is too bold somewhere: the linearised variance misses the
heavy rows that a small group did not happen to have, Kish's number does not see weights that go with the
outcome. The smaller of both is taken, with a variance that also looks at the spread of weights over all
groups. Simulated in docs/verdicts.md.

Several rows of one person: the least of two. The variance of a rate between people, as of a ratio of their
sums (Taylor linearisation; Särndal, Swensson & Wretman 1992, 8.2), sees everything but is unsteady where few
people have most of the rows. So the variance is also computed from how many rows each person has, which is
known, and how alike the rows of a person are, one number of all groups together (Donner 1989): the mean over
people of the product of two of their rows (Karlin, Cameron & Williams 1981; Ridout, Demétrio & Firth 1999,
with a weight of 1 for each person), or that of the group itself where it is larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.scan.tally import Clusters, Slice
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import RATES, parts

ALIKE = 2  # people who are added when it is estimated how alike the rows of a person are: all theirs are
MANY = 1e12  # a share of a list is a count without a limit: a rate of very many rows
EQUAL = 1e-9  # weights of which Kish's number is the rows within this are equal
OF_EVERYBODY = ("selection-rate", "base-rate", "accuracy")  # rates of all rows of a group
BY_LABEL = ("tpr", "tnr")  # rates of those with one label


@dataclass(frozen=True, eq=False)
class RateRows:
    """The numerators and denominators of rates in rows, each of shape (groups, rates).

    Parameters
    ----------
    above, below : arrays
        What is over and under the bar, in rows that weighted or clustered rows are worth.
    scaled : bool array
        Whether these are fewer than the rows; then they are no whole numbers, and no exact test is.
    plain_above, plain_below : arrays
        The rows themselves.
    """

    above: Floats
    below: Floats
    scaled: Bools
    plain_above: Floats
    plain_below: Floats

    def take(self, groups: Ints) -> "RateRows":
        """Return the rows of other groups: one for each place, or for each place and rate."""
        columns = np.arange(self.above.shape[1])
        at = groups if groups.ndim == 2 else groups[:, None]
        return RateRows(*(side[at, columns] for side in vars(self).values()))

    def scale(self, by: Floats) -> "RateRows":
        """Return them worth `by` of it; the limitless total of a share stays."""
        below = np.where(self.below >= MANY, self.below, self.below * by)
        return RateRows(self.above * by, below, self.scaled | (by != 1), self.plain_above, self.plain_below)


def of_all(names: Sequence[str]) -> Bools:
    """Return which rates are shares: what a group has of the sum of all groups."""
    return np.array([RATES[name].of_all for name in names], dtype=bool)


def own_rows(part: Slice, names: Sequence[str]) -> RateRows:
    """Return the rows behind the rates of each group."""
    return _worth(part, names, rest=False)


def rate_rows(
    part: Slice, names: Sequence[str], at: Ints, *, matched: bool = False
) -> tuple[RateRows, RateRows]:
    """Return the rows behind the rates of each group, and of its reference.

    Parameters
    ----------
    part : Slice
        Of G groups.
    names : sequence of str
        Rates.
    at : array of int, shape (rates,)
        Reference groups, see `judge.references`.
    matched : bool
        Whether rows may be worth more where people who do well in a group do so in its reference, too. They
        are worth it in a comparison with the reference alone.
    """
    own, rest = own_rows(part, names), bool((at == REST).all())
    ref = _worth(part, names, rest=True) if rest else own.take(np.broadcast_to(at, own.above.shape))
    if part.clusters is None:
        return own, ref
    factor = factor_together(part.clusters, names, at, own.above.shape)
    factor = factor if matched else np.minimum(factor, 1.0)
    return own.scale(factor), ref.scale(factor)


def rows_per_weight(part: Slice, groups: Sequence[int] | None = None) -> Floats:
    """Return what a unit of weight is worth in rows: of each group, or of all in `groups` together.

    For what is counted and is no rate of one group; those have `rate_rows`. It is the least that a unit is
    worth in a rate of all rows of a group; where people have several, of those with one label, too.
    """
    known = OF_EVERYBODY if part.clusters is None else (*OF_EVERYBODY, *BY_LABEL)
    names = [name for name in known if part.labelled or not RATES[name].needs_labels]
    worth, everybody = own_rows(part, names).below, part.counts.group_total[:, None]
    weight = np.where(np.isin(names, BY_LABEL), parts(part.counts.n, names)[1], everybody)
    if groups is not None:
        worth, weight = worth[list(groups)].sum(0), weight[list(groups)].sum(0)
    found: Floats = np.where(weight > 0, divide(worth, weight), 1.0).min(-1)
    return found


@dataclass(frozen=True, eq=False)
class _Sides:
    """Sums above the bar of rates, and of what is below it and not above; shape (sets of groups, rates)."""

    above: Floats
    other: Floats

    @property
    def both(self) -> Floats:
        return self.above + self.other


def _sides(part: Slice, names: Sequence[str], *, rest: bool) -> tuple[_Sides, _Sides, _Sides]:
    """Sum weights, their squares and rows of each group, or of all other groups, by side of the bar."""

    def summed(cells: NDArray[np.generic]) -> _Sides:
        values = cells.astype(np.float64)
        others = 1 - np.eye(len(values))
        above, below = parts(np.tensordot(others, values, 1) if rest else values, names)
        return _Sides(above, np.where(of_all(names), 0.0, below - above))

    return summed(part.counts.n), summed(part.squares), summed(part.cell_rows)


def _worth(part: Slice, names: Sequence[str], *, rest: bool) -> RateRows:
    """Return effective and plain rows above and below the bar, of each group or of everybody else."""
    of_each = _sides(part, names, rest=False)
    weights, squares, rows = _sides(part, names, rest=True) if rest else of_each
    rate = divide(weights.above, weights.both)
    kish = divide(weights.both**2, squares.both)
    linear = divide((1 - rate) ** 2 * squares.above + rate**2 * squares.other, weights.both**2)
    variance = np.fmax(linear, _pooled_variance(*of_each, weights, rows))
    inside = (rate > 0) & (rate < 1) & (variance > 0)
    worth = np.where(inside, np.fmin(kish, divide(rate * (1 - rate), variance)), kish)
    # A group that shows no spread of weights while others do may have missed its heavy rows by chance.
    each_weight, each_square, each_rows = (side.both for side in of_each)
    uneven = divide(each_weight**2, each_square) < each_rows * (1 - EQUAL)
    equal = ~(kish < rows.both * (1 - EQUAL)) & ~uneven.any(0)
    worth = np.where(equal, rows.both, np.fmin(worth, rows.both))
    if part.clusters is not None:
        people = rows_of_people(part.clusters, names, rows.both, rest=rest)
        equal &= ~(people < rows.both * (1 - EQUAL))
        worth = np.fmin(worth, people)
    above = np.where(equal, rows.above, rate * worth)
    # Of a share of all selected: what the selected rows are worth, of a number without limit.
    shares = of_all(names)
    limitless = np.full_like(worth, 0.0 if rest and len(worth) == 1 else MANY)
    return RateRows(
        np.where(shares, worth, above),
        np.where(shares, limitless, worth),
        ~equal & (rows.both > 0),
        rows.above,
        np.where(shares, limitless, rows.both),
    )


def _pooled_variance(
    each_weight: _Sides, each_square: _Sides, each_rows: _Sides, weights: _Sides, rows: _Sides
) -> Floats:
    """Return the variance of each rate with the spread of weights that all groups together show.

    On each side of the bar: what Kish's number would lose, n Σw² / (Σw)², over all groups, with the weights
    of each scaled to a mean of 1.
    """
    scale = np.where(each_weight.both > 0, divide(each_rows.both, each_weight.both), 0.0)
    rate = divide(weights.above, weights.both)

    def term(share: Floats, side: str) -> Floats:
        of_weight, of_square, of_rows = (
            getattr(sides, side) for sides in (each_weight, each_square, each_rows)
        )
        total = (scale * of_weight).sum(0)
        loss = divide((scale**2 * of_square).sum(0) * of_rows.sum(0), total**2)
        here = getattr(rows, side)
        found: Floats = np.where(here > 0, share * loss * divide(getattr(weights, side) ** 2, here), 0.0)
        return found

    return divide(term((1 - rate) ** 2, "above") + term(rate**2, "other"), weights.both**2)


@dataclass(frozen=True, eq=False)
class _Entries:
    """What each person in a group counts above the bar of each rate, and in all: (entries, rates)."""

    above: Floats
    all: Floats


def _entries(n: Floats, names: Sequence[str]) -> _Entries:
    above, below = parts(n, names)
    return _Entries(above, np.where(of_all(names), above, below))


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
    entries, squares = (_entries(of, names) for of in (clusters.n, clusters.squares))
    above, total = (_by_group(side, clusters.group, groups) for side in (entries.above, entries.all))
    square = _by_group(squares.all, clusters.group, groups)
    moments = _moments(entries, clusters.group, groups)
    alike = _likeness(entries, squares, divide(above, total), clusters.group, rest=rest)
    if rest:
        above, total, square = (side.sum(0) - side for side in (above, total, square))
        moments = _moments_of_rest(entries, clusters, groups)
    first, mixed, second, people = moments
    rate = divide(above, total)
    spread = np.maximum(first - 2 * rate * mixed + rate**2 * second, 0.0)
    with np.errstate(invalid="ignore"):
        variance = divide(people, people - 1) * divide(spread, total**2)
    between = np.where(people > 1, divide(rate * (1 - rate), variance), np.nan)  # one person is one row
    known = divide(total**2, square + np.where(of_all(names), 1.0, alike) * (second - square))
    found = np.fmin(np.where(np.isfinite(between), between, known), known)
    single = divide(total**2, second) >= rows * (1 - EQUAL)  # one row of each
    return np.where(single, rows, np.fmin(found, rows))


def _likeness(entries: _Entries, squares: _Entries, rate: Floats, group: Ints, *, rest: bool) -> Floats:
    """Return how alike the rows of a person are, from 0 to 1: of each group, or of everybody else.

    The correlation of two rows of one person, as the mean over people with several rows. It is that of all
    groups, or of the own one where that is larger; and 1 where nothing is known of it. `ALIKE` people whose
    rows are all alike are added each time, so that few people do not look independent by chance.
    """
    away = (entries.above - rate[group] * entries.all) ** 2
    itself = (1 - rate[group]) ** 2 * squares.above + rate[group] ** 2 * (squares.all - squares.above)
    room = entries.all**2 - squares.all  # Σ over pairs of different rows of the products of their weights
    several = room > EQUAL * entries.all**2
    products = np.where(several, divide(away - itself, room), 0.0)
    found, people = (_by_group(of.astype(np.float64), group, len(rate)) for of in (products, several))
    most = np.where(people > 0, people * rate * (1 - rate), 0.0)
    free = np.maximum(people - 1, 0)

    def with_added(found: Floats, most: Floats, free: Floats) -> Floats:
        alike = np.where(most > 0, np.clip(divide(found, most), 0.0, 1.0), 1.0)
        return (free * alike + ALIKE) / (free + ALIKE)

    of_all_groups = with_added(found.sum(0), most.sum(0), free.sum(0))
    if rest:
        found, most, free = (side.sum(0) - side for side in (found, most, free))
    return np.maximum(of_all_groups, with_added(found, most, free))


def factor_together(clusters: Clusters, names: Sequence[str], at: Ints, shape: tuple[int, int]) -> Floats:
    """Return how many times the rows are worth where people are in a group and in its reference.

    Where the same people do well in both (one employer has two applications of each group), the comparison is
    safer than of separate groups; where one does well at the expense of the other (one is chosen of each
    household), it is less safe.

    Returns
    -------
    array, shape (groups, rates)
        The variance of the logarithm of the ratio if groups were separate, over that it has. Above 1 with
        `ALIKE` people added of whom one does well in the group alone and one in the reference alone, so that
        people who never differ do not make a comparison certain.
    """
    if len(np.unique(clusters.person)) == len(clusters.person):
        return np.ones(shape)
    entries, group = _entries(clusters.n, names), clusters.group
    above, total = (_by_group(side, group, shape[0]) for side in (entries.above, entries.all))
    ref_above, ref_total = above.sum(0) - above, total.sum(0) - total
    rest = bool((at == REST).all())
    if not rest:
        columns = np.arange(len(names))
        ref_above, ref_total = (np.broadcast_to(side[at, columns], shape) for side in (above, total))
    partner = _Entries(*(_of_partner(side, clusters, at, rest=rest) for side in (entries.above, entries.all)))

    def influence(counted: _Entries, hits: Floats, weight: Floats) -> Floats:
        found = divide(counted.above - divide(hits, weight)[group] * counted.all, hits[group])
        return np.where(np.isfinite(found), found, 0.0)

    own, other = influence(entries, above, total), influence(partner, ref_above, ref_total)
    separate = _by_group(own**2, group, shape[0])
    whole = _spread_of_reference(entries, clusters, at, shape, rest=rest)
    separate = separate + whole
    joint = separate - 2 * _by_group(own * other, group, shape[0])
    size = divide(entries.all.sum(0), (entries.all > 0).sum(0))
    apart = joint + ALIKE * size**2 * (divide(1.0, above**2) + divide(1.0, ref_above**2)) / 2
    factor = divide(separate, np.where(joint > separate, joint, np.fmin(apart, separate)))
    itself = np.arange(shape[0])[:, None] == at
    return np.where(itself | np.isnan(factor), 1.0, factor)


def _by_group(values: Floats, group: Ints, groups: int) -> Floats:
    """Sum the rows of a matrix by group."""
    columns = [np.bincount(group, column, minlength=groups) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((groups, 0))


Moments = tuple[Floats, Floats, Floats, Floats]  # Σ above², Σ above·all, Σ all², people with rows


def _squares(entries: _Entries) -> Moments:
    return entries.above**2, entries.above * entries.all, entries.all**2, (entries.all > 0).astype(np.float64)


def _moments(entries: _Entries, group: Ints, groups: int) -> Moments:
    first, mixed, second, people = (_by_group(each, group, groups) for each in _squares(entries))
    return first, mixed, second, people


def _moments_of_rest(entries: _Entries, clusters: Clusters, groups: int) -> Moments:
    """Of all other groups together: of everybody, with the people of the group as they are without it."""
    whole = _Entries(*(_by_person(side, clusters) for side in (entries.above, entries.all)))
    mine = _Entries(*(side[clusters.person] for side in (whole.above, whole.all)))
    without = _Entries(mine.above - entries.above, mine.all - entries.all)
    every = [each.sum(0) for each in _squares(whole)]
    before, after = (_moments(side, clusters.group, groups) for side in (mine, without))
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
    above, total = (_by_group(side, clusters.group, shape[0]) for side in (entries.above, entries.all))
    if rest:
        found = _moments_of_rest(entries, clusters, shape[0])
        above, total = above.sum(0) - above, total.sum(0) - total
    else:
        found = _moments(entries, clusters.group, shape[0])
    rate = divide(above, total)
    spread = divide(np.maximum(found[0] - 2 * rate * found[1] + rate**2 * found[2], 0.0), above**2)
    spread = np.where(np.isfinite(spread), spread, 0.0)
    return spread if rest else np.broadcast_to(spread[at, np.arange(shape[1])], shape)
