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

from fairbench_cli.audit.compare.references import REST, Bools, Ints
from fairbench_cli.audit.metrics import defined
from fairbench_cli.audit.scan.slices import Clusters, Slice
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import RATES, numerators_and_denominators

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
    numerator, denominator : arrays
        Numerators and denominators of the rates, in the rows that weighted or clustered rows are worth.
    scaled : bool array
        Whether these are fewer than the rows; then they are no whole numbers, and no exact test is.
    plain_numerator, plain_denominator : arrays
        The rows themselves.
    """

    numerator: Floats
    denominator: Floats
    scaled: Bools
    plain_numerator: Floats
    plain_denominator: Floats

    def take(self, groups: Ints) -> "RateRows":
        """Return the rows of other groups: one for each place, or for each place and rate."""
        columns = np.arange(self.numerator.shape[1])
        indices = groups
        if groups.ndim != 2:
            indices = groups[:, None]
        return RateRows(
            numerator=self.numerator[indices, columns],
            denominator=self.denominator[indices, columns],
            scaled=self.scaled[indices, columns],
            plain_numerator=self.plain_numerator[indices, columns],
            plain_denominator=self.plain_denominator[indices, columns],
        )

    def scale(self, factor: Floats) -> "RateRows":
        """Return them worth `by` of it; the limitless total of a share stays."""
        denominator = np.where(self.denominator >= MANY, self.denominator, self.denominator * factor)
        return RateRows(
            self.numerator * factor,
            denominator,
            self.scaled | (factor != 1),
            self.plain_numerator,
            self.plain_denominator,
        )


def is_share(names: Sequence[str]) -> Bools:
    """Return which rates are shares: what a group has of the sum of all groups."""
    return np.array([RATES[name].of_all for name in names], dtype=bool)


def group_rate_rows(group_counts: Slice, names: Sequence[str]) -> RateRows:
    """Return the rows behind the rates of each group."""
    return _effective_rows(group_counts, names, of_rest=False)


def rate_rows(
    group_counts: Slice, names: Sequence[str], reference_indices: Ints, *, matched: bool = False
) -> tuple[RateRows, RateRows]:
    """Return the rows behind the rates of each group, and of its reference.

    Parameters
    ----------
    group_counts : Slice
        Of G groups.
    names : sequence of str
        Rates.
    reference_indices : array of int, shape (rates,)
        Reference groups, see `references.find_references`.
    matched : bool
        Whether rows may be worth more where people who do well in a group do so in its reference, too. They
        are worth it in a comparison with the reference alone.
    """
    group_rows = group_rate_rows(group_counts, names)
    against_rest = bool((reference_indices == REST).all())
    if against_rest:
        ref = _effective_rows(group_counts, names, of_rest=True)
    else:
        ref = group_rows.take(np.broadcast_to(reference_indices, group_rows.numerator.shape))
    if group_counts.clusters is None:
        return group_rows, ref
    factors = [
        factor_together(clusters, names, reference_indices, group_rows.numerator.shape)
        for clusters in group_counts.cluster_ways[:2]
    ]
    factor = np.min(factors, axis=0)
    if not matched:
        factor = np.minimum(factor, 1.0)
    return group_rows.scale(factor), ref.scale(factor)


def rows_per_weight(group_counts: Slice, groups: Sequence[int] | None = None) -> Floats:
    """Return the rows that a unit of weight is worth: of each group, or of all in `groups` together.

    For what is counted and is no rate of one group; those have `rate_rows`. It is the least that a unit is
    worth in a rate of all rows of a group; where people have several, of those with one label, too.
    """
    if group_counts.clusters is None:
        names = defined(OF_EVERYBODY, group_counts.labelled)
    else:
        names = defined(OF_EVERYBODY + BY_LABEL, group_counts.labelled)
    effective_rows = group_rate_rows(group_counts, names).denominator
    everybody = group_counts.counts.group_total[:, None]
    weight = np.where(
        np.isin(names, BY_LABEL), numerators_and_denominators(group_counts.counts.n, names)[1], everybody
    )
    if groups is not None:
        effective_rows = effective_rows[list(groups)].sum(0)
        weight = weight[list(groups)].sum(0)
    least: Floats = np.where(weight > 0, divide(effective_rows, weight), 1.0).min(-1)
    return least


def _sides(group_counts: Slice, names: Sequence[str], *, of_rest: bool) -> Floats:
    """Return sums of each group, or of all other groups: (3, 2, groups, rates).

    The first axis has weights, rows and squared weights; the second what is above the bar of a rate, and
    what is below it and not above.
    """
    cells = group_counts.cells
    if of_rest:
        is_other = 1 - np.eye(cells.shape[1])
        cells = np.stack([np.tensordot(is_other, group_cells, 1) for group_cells in cells])
    numerator, denominator = numerators_and_denominators(cells, names)
    return np.stack([numerator, np.where(is_share(names), 0.0, denominator - numerator)], axis=1)


def _effective_rows(group_counts: Slice, names: Sequence[str], *, of_rest: bool) -> RateRows:
    """Return effective and plain rows above and below the bar, of each group or of everybody else."""
    of_each = _sides(group_counts, names, of_rest=False)
    if of_rest:
        weights, rows, squares = _sides(group_counts, names, of_rest=True)
    else:
        weights, rows, squares = of_each
    weight = weights.sum(0)
    square = squares.sum(0)
    n_rows = rows.sum(0)
    rate = divide(weights[0], weight)
    kish = divide(weight**2, square)
    linear = divide((1 - rate) ** 2 * squares[0] + rate**2 * squares[1], weight**2)
    variance = np.fmax(linear, _pooled_variance(of_each, weights, rows))
    inside = (rate > 0) & (rate < 1) & (variance > 0)
    effective_rows = np.where(inside, np.fmin(kish, divide(rate * (1 - rate), variance)), kish)
    # A group that shows no spread of weights while others do may have missed its heavy rows by chance.
    each_weight, each_many, each_square = of_each.sum(1)
    uneven = divide(each_weight**2, each_square) < each_many * (1 - EQUAL)
    equal = ~(kish < n_rows * (1 - EQUAL)) & ~uneven.any(0)
    effective_rows = np.where(equal, n_rows, np.fmin(effective_rows, n_rows))
    for clusters in group_counts.cluster_ways[:2]:
        people = rows_of_people(clusters, names, n_rows, of_rest=of_rest)
        equal &= ~(people < n_rows * (1 - EQUAL))
        effective_rows = np.fmin(effective_rows, people)
    numerator = np.where(equal, rows[0], rate * effective_rows)
    # Of a share of all selected: what the selected rows are worth, of a number without limit.
    shares = is_share(names)
    limitless = np.full_like(effective_rows, 0.0 if of_rest and len(effective_rows) == 1 else MANY)
    return RateRows(
        np.where(shares, effective_rows, numerator),
        np.where(shares, limitless, effective_rows),
        ~equal & (n_rows > 0),
        rows[0],
        np.where(shares, limitless, n_rows),
    )


def _pooled_variance(of_each: Floats, weights: Floats, rows: Floats) -> Floats:
    """Return the variance of each rate with the spread of weights that all groups together show.

    On each side of the bar: what Kish's number would lose, n Σw² / (Σw)², over all groups, with the weights
    of each scaled to a mean of 1.
    """
    each_weights, each_rows, each_squares = of_each
    each_weight = each_weights.sum(0)
    weight = weights.sum(0)
    scale = np.where(each_weight > 0, divide(each_rows.sum(0), each_weight), 0.0)
    total = (scale * each_weights).sum(1)
    loss = divide((scale**2 * each_squares).sum(1) * each_rows.sum(1), total**2)
    rate = divide(weights[0], weight)
    lost = np.stack([(1 - rate) ** 2, rate**2]) * loss[:, None]
    terms = np.where(rows > 0, lost * divide(weights**2, rows), 0.0)
    return divide(terms.sum(0), weight**2)


def _entries(n: Floats, names: Sequence[str]) -> Floats:
    """Return the weight of each person and group in each numerator, and in all: (2, entries, rates)."""
    numerator, denominator = numerators_and_denominators(n, names)
    return np.stack([numerator, np.where(is_share(names), numerator, denominator)])


def rows_of_people(clusters: Clusters, names: Sequence[str], rows: Floats, *, of_rest: bool) -> Floats:
    """Return the number of independent rows behind each rate, of each group or of everybody else.

    Parameters
    ----------
    clusters : Clusters
        The weights of each person and group.
    names : sequence of str
        Rates.
    rows : array, shape (groups, rates)
        How many there are.
    of_rest : bool
        Whether of all other groups together, in which a person may be several times.

    Returns
    -------
    array, shape (groups, rates)
        Independent rows, no more than there are; NaN without rows.
    """
    groups = len(rows)
    entries, squares = (_entries(cells, names) for cells in (clusters.n, clusters.squares))
    sums = np.concatenate(
        [
            _by_group(entries, clusters.group, groups),
            _by_group(squares[1], clusters.group, groups)[None],
        ]
    )
    alike = _estimate_likeness(entries, squares, divide(sums[0], sums[1]), clusters.group, of_rest=of_rest)
    if of_rest:
        numerator, total, square = sums.sum(1, keepdims=True) - sums
    else:
        numerator, total, square = sums
    moments = _moments(entries, clusters, groups, of_rest=of_rest)
    rate = divide(numerator, total)
    _, _, second, people = moments
    with np.errstate(invalid="ignore"):
        variance = divide(people, people - 1) * divide(_spread(moments, rate), total**2)
    between = np.where(people > 1, divide(rate * (1 - rate), variance), np.nan)  # one person is one row
    from_sizes = divide(total**2, square + np.where(is_share(names), 1.0, alike) * (second - square))
    n_independent = np.fmin(np.where(np.isfinite(between), between, from_sizes), from_sizes)
    single = divide(total**2, second) >= rows * (1 - EQUAL)  # one row of each
    return np.where(single, rows, np.fmin(n_independent, rows))


def _estimate_likeness(
    entries: Floats, squares: Floats, rate: Floats, group: Ints, *, of_rest: bool
) -> Floats:
    """Return how alike the rows of a person are, from 0 to 1: of each group, or of everybody else.

    The correlation of two rows of one person, as the mean over people with several rows. It is that of all
    groups, or of the own one where that is larger; and 1 where nothing is known of it. `ALIKE` people whose
    rows are all alike are added each time, so that few people do not look independent by chance.
    """
    numerator, total = entries
    square_above, square = squares
    away = (numerator - rate[group] * total) ** 2
    itself = (1 - rate[group]) ** 2 * square_above + rate[group] ** 2 * (square - square_above)
    room = total**2 - square  # Σ over pairs of different rows of the products of their weights
    several = room > EQUAL * total**2
    products = np.where(several, divide(away - itself, room), 0.0)
    likeness, people = (_by_group(values, group, len(rate)) for values in (products, several))
    most = np.where(people > 0, people * rate * (1 - rate), 0.0)
    sums = np.stack([likeness, most, np.maximum(people - 1, 0)])

    def with_added(sums: Floats) -> Floats:
        """Return the likeness with `ALIKE` people added; sums of shape (3, …)."""
        likeness, most, free = sums
        alike = np.where(most > 0, np.clip(divide(likeness, most), 0.0, 1.0), 1.0)
        added: Floats = (free * alike + ALIKE) / (free + ALIKE)
        return added

    everybody = sums.sum(1)
    if of_rest:
        sums = everybody[:, None] - sums
    return np.maximum(with_added(everybody), with_added(sums))


def factor_together(
    clusters: Clusters, names: Sequence[str], reference_indices: Ints, shape: tuple[int, int]
) -> Floats:
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
    person = clusters.person
    group = clusters.group
    against_rest = bool((reference_indices == REST).all())
    if len(np.unique(person)) == len(person):
        return np.ones(shape)
    entries = _entries(clusters.n, names)
    sums = _by_group(entries, group, shape[0])
    moments = _moments(entries, clusters, shape[0], of_rest=against_rest)
    if against_rest:
        reference = sums.sum(1, keepdims=True) - sums
        partner = [_by_person(side, clusters)[person] - side for side in entries]
    else:
        columns = np.arange(len(names))
        inside = group[:, None] == reference_indices
        reference, moments = (side[:, reference_indices, columns][:, None] for side in (sums, moments))
        of_partner = (_by_person(np.where(inside, side, 0.0), clusters)[person] for side in entries)
        partner = [np.where(inside, 0.0, side) for side in of_partner]  # the reference itself has none
    ref_numerator, ref_total = (np.broadcast_to(side, shape) for side in reference)

    def influence(counted: Sequence[Floats] | Floats, hits: Floats, weight: Floats) -> Floats:
        influences = divide(counted[0] - divide(hits, weight)[group] * counted[1], hits[group])
        return np.where(np.isfinite(influences), influences, 0.0)

    own_influence = influence(entries, sums[0], sums[1])
    reference_influence = influence(partner, ref_numerator, ref_total)
    of_reference = divide(_spread(moments, divide(ref_numerator, ref_total)), ref_numerator**2)
    separate = _by_group(own_influence**2, group, shape[0]) + np.where(
        np.isfinite(of_reference), of_reference, 0.0
    )
    joint = separate - 2 * _by_group(own_influence * reference_influence, group, shape[0])
    size = divide(entries[1].sum(0), (entries[1] > 0).sum(0))
    apart = joint + ALIKE * size**2 * (divide(1.0, sums[0] ** 2) + divide(1.0, ref_numerator**2)) / 2
    factor = divide(separate, np.where(joint > separate, joint, np.fmin(apart, separate)))
    itself = np.arange(shape[0])[:, None] == reference_indices
    return np.where(itself | np.isnan(factor), 1.0, factor)


def _by_group(values: Floats, group: Ints, groups: int) -> Floats:
    """Sum values by group: (..., entries, rates) becomes (..., groups, rates)."""
    sums = np.zeros((*values.shape[:-2], groups, values.shape[-1]))
    for index in np.ndindex(values.shape[:-2]):
        for m, column in enumerate(values[index].T):
            sums[index][:, m] = np.bincount(group, column, minlength=groups)
    return sums


def _by_person(values: Floats, clusters: Clusters) -> Floats:
    return _by_group(values, clusters.person, int(clusters.person.max(initial=-1)) + 1)


def _moments(entries: Floats, clusters: Clusters, groups: int, *, of_rest: bool) -> Floats:
    """Return Σ above², Σ above·all, Σ all² and how many people have rows: (4, groups, rates).

    Of all other groups together: of everybody, with the people of the group as they are without it.
    """

    def squares(counted: Floats) -> tuple[Floats, ...]:
        numerator, total = counted
        return numerator**2, numerator * total, total**2, total > 0

    def summed(counted: Floats) -> Floats:
        return np.stack([_by_group(product, clusters.group, groups) for product in squares(counted)])

    if not of_rest:
        return summed(entries)
    by_person = _by_person(entries, clusters)
    mine = by_person[:, clusters.person]
    everybody = np.stack([product.sum(0, keepdims=True) for product in squares(by_person)])
    return everybody - summed(mine) + summed(mine - entries)


def _spread(moments: Floats, rate: Floats) -> Floats:
    """Return the sum of the squared distances of people from a rate."""
    squared_hits, mixed, squared_weights, _ = moments
    spread: Floats = np.maximum(squared_hits - 2 * rate * mixed + rate**2 * squared_weights, 0.0)
    return spread
