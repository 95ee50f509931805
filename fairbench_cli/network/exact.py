"""What can be said of a world without training anything, exact on its network.

Two distributions are compared. The *record*: what the included people look like in it; rules come from here,
as techniques do. The *truth*: the people of the base network; rules are judged here. The score of a rule is
p'(x) = P(Y' = + | x', included), and p(x) = P(Y = + | x) is what it should be.

Sums run over the levels of those columns alone that the outcomes depend on, given the others: their Markov
boundaries. Where these have too many levels, sums run over drawn people, each with the exact chance of either
outcome; then every number has a standard error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, exp, prod
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.data.table import Floats, Rows, Table
from fairbench_cli.measures.counts import PAIR, Counts, divide
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import (
    ROUNDING,
    Draw,
    GroupPoints,
    Held,
    convex_hull,
    frontier_of_hulls,
    group_points,
)
from fairbench_cli.network.draw import sample
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import chances, factors_of, markov_boundary, posterior
from fairbench_cli.network.world import YES, World

Labels = Literal["true", "recorded"]
How = Literal["exact", "draws"]
FactRow = tuple[str, str, str, str, float, float, How]
"""Rule, quantity, labels, group, value, standard error, how."""

MOST_CELLS = 2**23
"""Combinations of levels that are summed over; of more, people are drawn."""
DRAWS = 1_000_000
BATCHES = 20
"""Parts of the drawn people; standard errors are those of their mean."""
EQUAL = 1e-9
TIED = 1e-13
"""Scores no further apart are equal. What p orders p' must order too, so p' ties only within rounding."""

FEW_POINTS = 100
"""So many points of a curve, or fewer, are looked at one by one."""

HELD: dict[str, Held] = {"demographic-parity": "demographic-parity", "equal-opportunity": "tpr-parity"}
"""Rules that hold a rate of the record equal between the groups, and which rate."""
RULES = ("constant-accept", "constant-refuse", "bayes", "oracle-thresholds", *HELD, "truth")


@dataclass(frozen=True, eq=False)
class WorldFacts:
    """Quantities of a world, and what simple rules reach in it.

    Rules: ``constant-accept`` and ``constant-refuse``; ``bayes``, p'(x) ≥ ½; ``demographic-parity`` and
    ``equal-opportunity``, the most accurate mixtures of group thresholds on p' in the record with equal
    selection rates, or equal TPR; ``oracle-thresholds``, the best group thresholds on p' for somebody who
    knows the truth; ``truth``, the best thresholds of the true groups on p, which sees all true columns, also
    those that are recorded wrongly or not at all: with protected columns this is p(x) ≥ ½.

    Quantities: ``share`` of each group and P(+ | group), ``favourable``, by labels; ``disparity``, the latter
    of the favoured less that of the deprived; ``total-variation`` between the record and the truth over the
    recorded columns; ``auc`` of p' by group and labels; ``discordant``, of the pairs of people of a group
    whose p differ the share that p' orders the other way or not at all; ``kept``, 1 where there are none, so
    that the ranking within the group is kept; ``odds-ratio-least`` and ``odds-ratio-most`` of the odds of p'
    over those of p, and where these are the same ``prior-shift``, of a group or else, with the group
    ``COLUMN=LEVEL …``, of a row of the outcome's table; ``thresholds-lose``, the true accuracy of ``truth``
    less that of ``oracle-thresholds``, never below 0 where rules see the groups (else neither ranks people by
    group); ``unseen``, the share of people whose x the record never has: rules give them the record's rate
    of +.

    Parameters
    ----------
    how : {"exact", "draws"}
        Whether sums run over all levels, or over drawn people.
    counts : mapping of (str, str) to Counts
        By rule and labels ("true" or "recorded") the probability of group, label and decision, shape
        (batches, 2, 2, 2): one batch where exact. True: of all people of the base. Recorded: of those of them
        who are included, with their recorded groups and labels. NaN where no thresholds make the rates equal.
    values : mapping of (str, str, str) to float array, shape (batches,)
        By quantity, labels and group: "deprived", "favoured", or "" for both. Recorded: of the record, which
        rules are learned from; eq. (4) and history change the people themselves.
    """

    how: How
    counts: Mapping[tuple[str, Labels], Counts]
    values: Mapping[tuple[str, str, str], Floats]

    def value(self, quantity: str, labels: str = "", group: str = "") -> float:
        """Return a quantity; `KeyError` when there is none of that name."""
        return float(self.values[quantity, labels, group].mean())

    def measure(self, rule: str, metric: str = "accuracy", labels: Labels = "true") -> float:
        """Return the value of a metric of counts for a rule."""
        return float(measure(metric, Counts(PAIR, self.counts[rule, labels].n.mean(0))))

    def rows(self) -> list[FactRow]:
        """Return all numbers, a row each; of a rule its accuracy and what it decides: tn, fp, fn, tp."""
        found: list[FactRow] = [
            ("", quantity, labels, group, *_mean(values), "draws" if len(values) > 1 else self.how)
            for (quantity, labels, group), values in self.values.items()
        ]
        for (rule, labels), counts in self.counts.items():
            found.append((rule, "accuracy", labels, "", *_mean(measure("accuracy", counts)), self.how))
            for g, group in enumerate(PAIR):
                for i, name in enumerate(("tn", "fp", "fn", "tp")):
                    found.append((rule, name, labels, group, *_mean(counts.n[:, g, i // 2, i % 2]), self.how))
        return found


def _mean(values: Floats) -> tuple[float, float]:
    """Return the mean of batches and its standard error, 0 of a single one."""
    many = len(values)
    return float(values.mean()), float(values.std(ddof=1)) / many**0.5 if many > 1 else 0.0


@dataclass(frozen=True)
class _Sums:
    """How sums are made: over so many cells at most, else over so many draws."""

    cells: int
    draws: int
    seed: int

    def drawn(self, net: BayesNet, share: float) -> Table:
        """Return drawn people, of whom as many as are asked for are expected in a share of them."""
        if not self.draws:
            raise user_error("there are too many levels to sum over", "let people be drawn")
        return sample(net, ceil(self.draws / share), self.seed)


@dataclass(frozen=True, eq=False)
class _View:
    """What rules see of a world.

    Parameters
    ----------
    judged : BayesNet
        The world's network with the base's tables for all that is true: people, and what is recorded of them.
    given : dict
        What is known of everybody in the record.
    seen : tuple of str
        Recorded columns that p' is given.
    best : tuple of str
        True nodes that p is given.
    shown : dict
        The columns that p' and the groups' thresholds depend on, and the node that a rule is shown of each.
    """

    world: World
    judged: BayesNet
    given: dict[str, str]
    seen: tuple[str, ...]
    best: tuple[str, ...]
    shown: dict[str, str]
    fallback: Floats
    sums: _Sums


@dataclass(frozen=True, eq=False)
class _People:
    """People, as cells of a joint distribution or drawn: with their group, and the scores they get.

    Parameters
    ----------
    mass : float64 array, shape (people, 2)
        Their probability with the unfavourable outcome and with the favourable one; sum 1 over each batch.
    batch : int array, shape (people,)
        All 0 for cells.
    group, seen, own : int array, shape (people,)
        The group that they are counted in, the one that a rule sees and the true one: 0 deprived,
        1 favoured.
    score, truth : float64 array, shape (people,)
        p' and p.
    unseen : bool array, shape (people,)
        Whether the record never has such a person.
    rows : int array, shape (people,)
        The row of the outcome's table, by its `parents`.
    """

    how: How
    mass: Floats
    batch: Rows
    group: Rows
    seen: Rows
    own: Rows
    score: Floats
    truth: Floats
    unseen: NDArray[np.bool_]
    rows: Rows
    parents: tuple[str, ...]

    @property
    def weight(self) -> Floats:
        """Their probability, shape (people,)."""
        return np.asarray(self.mass.sum(1))

    def counts(self, chance: Floats) -> Counts:
        """Return the counts of a rule by batch, from the chance with which it accepts each."""
        n = np.empty((*self.labelled.shape, 2))
        for y in (0, 1):
            n[..., y, 1] = self._sum(self.mass[:, y] * chance)
        n[..., 0] = self.labelled - n[..., 1]
        return Counts(PAIR, n)

    @cached_property
    def labelled(self) -> Floats:
        """The probability of each group and label by batch, shape (batches, 2, 2)."""
        return np.stack([self._sum(self.mass[:, y]) for y in (0, 1)], axis=-1)

    def _sum(self, values: Floats) -> Floats:
        """Return sums by batch and group."""
        many = int(self.batch.max()) + 1
        found: Floats = np.bincount(self.batch * 2 + self.group, values, 2 * many).astype(np.float64)
        return found.reshape(many, 2)

    @cached_property
    def of_group(self) -> tuple[GroupPoints, ...]:
        """What thresholds on p' accept of each group."""
        return tuple(_points(self.score[own], self.mass[own]) for own in (self.group == 0, self.group == 1))

    @cached_property
    def of_seen(self) -> tuple[GroupPoints, ...]:
        """What thresholds on p' accept of each group that a rule sees."""
        same = np.array_equal(self.seen, self.group)
        if same:
            return self.of_group
        return replace(self, group=self.seen).of_group

    def batches(self, g: int) -> list[Rows]:
        """Return which people of a group are in each batch."""
        return [
            np.flatnonzero((self.batch == b) & (self.group == g)) for b in range(int(self.batch.max()) + 1)
        ]


def facts_of(
    world: World,
    *,
    include_protected: bool = True,
    hidden: Sequence[str] = (),
    features: Labels = "true",
    cells: int = MOST_CELLS,
    draws: int = DRAWS,
    seed: int = 0,
) -> WorldFacts:
    """Return the quantities of a world.

    Parameters
    ----------
    world : World
        The world.
    include_protected : bool
        Whether rules see the protected columns as features. Thresholds are a group's own in any case.
    hidden : sequence of str
        The columns that rules do not see without protected columns; by default those of the groups.
    features : {"true", "recorded"}
        What rules see of the people that they are judged on.
    cells : int
        Combinations of levels that are summed over; of more, people are drawn.
    draws : int
        How many; 0: none.
    seed : int
        Of the draws.

    Raises
    ------
    UserError
        When what is hidden needs too large a table, or no people may be drawn.
    """
    sums = _Sums(cells, draws, seed)
    unseen = () if include_protected else tuple(hidden) or tuple(world.groups)
    view = _view(world, unseen, features, sums)
    truth = _people(view, "true", view.judged)
    unbiased = world.network is world.base and not world.included and not world.omitted
    if unbiased:
        record = learned = truth
    else:
        record = learned = _people(view, "recorded", world.network)
    if any(name != node for name, node in view.shown.items()):
        learned = _people(_view(world, unseen, "recorded", sums), "recorded", world.network)
    recorded = record
    if not world.included and not world.altered:
        recorded = truth
    elif view.judged is not world.network:
        recorded = _people(view, "recorded", view.judged)
    counts: dict[tuple[str, Labels], Counts] = {}
    for name, rule in _rules(learned, truth, not unseen):
        own = counts[name, "true"] = truth.counts(rule(truth))
        counts[name, "recorded"] = own if recorded is truth else recorded.counts(rule(recorded))
    values = dict(_values(view, counts, truth, record))
    how: How = "exact" if {truth.how, record.how, learned.how} == {"exact"} else "draws"
    return WorldFacts(how, counts, values)


def _view(world: World, unseen: Sequence[str], features: Labels, sums: _Sums) -> _View:
    given = dict.fromkeys(world.included, YES)
    out = {world.label, *unseen}
    seen = tuple(name for name in world.recorded if name not in out)
    boundary = markov_boundary(world.network, world.label, seen, given)
    shown = {
        name: name if features == "recorded" else world.true_name(name)
        for name in dict.fromkeys([*world.groups, *boundary])
    }
    best = tuple(world.true_name(name) for name in world.base.names if name not in out)
    rates = world.joint([*world.groups, world.label])
    own = world.levels(world.label).index(world.favourable)
    deprived = world.of_group("deprived")
    by_group = [rates[which] for which in (deprived, ~deprived)]
    rate = [part[:, own].sum() / part.sum() for part in by_group]
    overall = rates[..., own].sum()
    fallback = np.array([overall, overall] if unseen else rate)
    return _View(world, _judged(world), given, seen, best, shown, fallback, sums)


def _judged(world: World) -> BayesNet:
    net = world.network
    base = world.base
    at = [net.index(world.true_name(name)) for name in base.names]
    parents = list(net.parents)
    cpts = list(net.cpts)
    for j, own in enumerate(at):
        parents[own], cpts[own] = tuple(at[i] for i in base.parents[j]), base.cpts[j]
    unchanged = all(np.array_equal(cpts[own], net.cpts[own]) for own in at)
    if unchanged and parents == [*net.parents]:
        return net
    return replace(net, parents=tuple(parents), cpts=tuple(cpts))


def _people(view: _View, labels: Labels, net: BayesNet) -> _People:
    """Return all people with true groups and labels, or the included with the recorded ones."""
    world = view.world
    recorded = labels == "recorded"
    given = view.given if recorded else {}
    own = world.label
    true = world.true_name(world.label)
    if recorded:
        outcome = own
    else:
        outcome = true
    groups = tuple(name if recorded else world.true_name(name) for name in world.groups)
    true_groups = tuple(world.true_name(name) for name in world.groups)
    of_truth = markov_boundary(view.judged, true, view.best)
    rows = tuple(name for name in view.judged.parents_of(true) if name in {*of_truth, *true_groups})
    nodes = tuple(dict.fromkeys([*groups, *true_groups, *view.shown.values(), *of_truth]))
    cells = _cells(view, net, nodes, outcome, given)
    codes, mass = cells or _drawn(view, net, nodes, outcome, given)
    if cells:
        batch = np.zeros(len(mass), np.intp)
    else:
        batch = _batches(len(mass))
    if not cells:
        mass = mass / np.bincount(batch)[batch, np.newaxis]
    deprived = world.of_group("deprived")
    group = (~deprived[tuple(codes[name] for name in groups)]).astype(np.intp)
    seen = (~deprived[tuple(codes[view.shown[name]] for name in world.groups)]).astype(np.intp)
    owner = (~deprived[tuple(codes[name] for name in true_groups)]).astype(np.intp)
    shown = {name: codes[node] for name, node in view.shown.items()}
    score = chances(world.network, own, world.favourable, view.seen, shown, view.given)
    never = np.isnan(score) | _never_recorded(view, shown)
    score = np.where(never, view.fallback[seen], score)
    truth = chances(view.judged, true, world.favourable, view.best, codes)
    sizes = [len(net.levels_of(name)) for name in rows]
    if rows:
        row = np.ravel_multi_index([codes[name] for name in rows], sizes)
    else:
        row = np.zeros(len(mass), int)
    how: How = "exact" if cells else "draws"
    return _People(how, mass, batch, group, seen, owner, score, truth, never, row.astype(np.intp), rows)


def _never_recorded(view: _View, shown: Mapping[str, Rows]) -> NDArray[np.bool_]:
    """Return whose levels, of the columns that p' depends on, nobody in the record has."""
    found = np.zeros(len(next(iter(shown.values()))), bool)
    names = [name for name in shown if name in view.seen]
    try:
        tables, _ = factors_of(view.world.network, names, view.given) if names else ({}, 0.0)
    except UserError:  # what is summed out needs too large a table
        return found
    for columns, table in tables.items():
        found |= table[tuple(shown[name] for name in columns)] == 0
    return found


def _cells(
    view: _View, net: BayesNet, nodes: Sequence[str], outcome: str, given: Mapping[str, str]
) -> tuple[dict[str, Rows], Floats] | None:
    """Return the cells of nodes that have mass, and it by outcome; None where there are too many cells."""
    sizes = [len(net.levels_of(name)) for name in (*nodes, outcome)]
    if prod(sizes) > view.sums.cells:
        return None
    try:
        table = posterior(net, (*nodes, outcome), given).table.reshape(-1, sizes[-1])
    except UserError:  # a larger table on the way
        return None
    own = net.levels_of(outcome).index(view.world.favourable)
    mass = np.stack([np.delete(table, own, axis=1).sum(1), table[:, own]], axis=1)
    at = np.flatnonzero(mass.sum(1) > 0)
    return dict(zip(nodes, np.unravel_index(at, sizes[:-1]), strict=True)), mass[at]


def _drawn(
    view: _View, net: BayesNet, nodes: Sequence[str], outcome: str, given: Mapping[str, str]
) -> tuple[dict[str, Rows], Floats]:
    """Return drawn people, each with the chance of either outcome given all else of them."""
    world = view.world
    rows = view.sums.drawn(net, world.share_included if given else 1.0)
    if given:
        rows = rows.take(np.logical_and.reduce([rows[name] == 1 for name in given]))
    known = {*net.names} - {*world.chain(world.label), *world.included}
    drawn = {name: rows[name] for name in known}
    plus = chances(net, outcome, world.favourable, known, drawn, given)
    return {name: drawn[name].astype(np.intp) for name in nodes}, np.stack([1 - plus, plus], axis=1)


def _batches(many: int) -> Rows:
    """Return the batch of each drawn person."""
    return np.arange(many) * BATCHES // many


Rule = Callable[[_People], Floats]
"""The chance with which each of some people is accepted."""


def _rules(learned: _People, truth: _People, all_seen: bool) -> Iterator[tuple[str, Rule]]:
    """Yield the rules that the record gives, and two for somebody who knows the truth."""
    yield "constant-accept", lambda people: np.ones(len(people.score))
    yield "constant-refuse", lambda people: np.zeros(len(people.score))
    yield "bayes", _thresholds(0.5, 0.5)
    yield "oracle-thresholds", _thresholds(*(_best(points) for points in truth.of_seen))
    corners = convex_hull(_thinned(learned.of_seen[0])), convex_hull(_thinned(learned.of_seen[1]))
    for name, held in HELD.items():
        yield name, _mixture(frontier_of_hulls(corners, held, [0.0]).draws)
    known = np.array([0.5, 0.5])
    if not all_seen:
        known = np.array([_best(points) for points in replace(truth, score=truth.truth).of_group])
    yield "truth", lambda people: (people.truth >= known[people.own] - EQUAL).astype(np.float64)


def _thresholds(*of_group: float) -> Rule:
    """Return the rule that accepts whose score is at least the threshold of the group that it sees."""
    limits = np.array(of_group) - EQUAL
    return lambda people: (people.score >= limits[people.seen]).astype(np.float64)


def _best(points: GroupPoints) -> float:
    """Return the threshold with the most correct decisions."""
    return float(points.thresholds[np.argmax(points.tp - points.fp)])


def _thinned(points: GroupPoints) -> GroupPoints:
    """Return the points without most of those below the line between two others: the same hull, sooner."""
    while len(points.fp) > FEW_POINTS:
        fp = points.fp
        tp = points.tp
        right = fp[2:] - fp[:-2]
        up = tp[2:] - tp[:-2]
        below = (fp[1:-1] - fp[:-2]) * up - (tp[1:-1] - tp[:-2]) * right
        slack = ROUNDING * (right * points.positives + up * points.negatives)
        kept = np.concatenate([[True], below <= slack, [True]])
        if kept.all():
            break
        points = points.select(kept)
    return points


def _mixture(draws: Sequence[Draw]) -> Rule:
    """Return the rule that draws one of two thresholds of each group; NaN where there are none."""

    def rule(people: _People) -> Floats:
        chance = np.full(len(people.score), np.nan)
        for g, draw in enumerate(draws):
            own = people.seen == g
            for threshold, share in ((draw.first, 1 - draw.share), (draw.second, draw.share)):
                accepted = share[0] * (people.score[own] >= threshold[0] - EQUAL)
                chance[own] = np.nan_to_num(chance[own]) + accepted
        return chance

    return rule


def _values(
    view: _View, counts: Mapping[tuple[str, Labels], Counts], truth: _People, record: _People
) -> Iterator[tuple[tuple[str, str, str], Floats]]:
    world = view.world
    of_labels: tuple[tuple[Labels, _People], ...] = (("true", truth), ("recorded", record))
    for labels, people in of_labels:
        labelled = people.labelled
        rate = divide(labelled[..., 1], labelled.sum(-1))
        for g, group in enumerate(PAIR):
            yield ("share", labels, group), labelled[:, g].sum(-1)
            yield ("favourable", labels, group), rate[:, g]
            yield ("auc", labels, group), _auc(people, g)
        yield ("disparity", labels, ""), rate[:, 1] - rate[:, 0]
    yield ("total-variation", "", ""), _total_variation(world, view.sums)
    scores = truth.truth, truth.score, truth.weight
    for g, group in enumerate(PAIR):
        parts = truth.batches(g)
        discordant = np.array([_discordant(*(own[at] for own in scores)) for at in parts])
        yield ("discordant", "", group), discordant
        yield ("kept", "", group), np.array([0.0 if discordant.any() else 1.0])
        yield from _odds(view, truth, g, group)
    accuracy = [measure("accuracy", counts[rule, "true"]) for rule in ("truth", "oracle-thresholds")]
    yield ("thresholds-lose", "true", ""), accuracy[0] - accuracy[1]
    yield ("unseen", "", ""), np.asarray(np.bincount(truth.batch, truth.weight * truth.unseen), np.float64)


def _auc(people: _People, g: int) -> Floats:
    """Return the chance that p' ranks a positive of a group above a negative, ties half; NaN without both."""
    if people.how == "exact":  # one batch
        found = [people.of_group[g]]
    else:
        found = [_points(people.score[at], people.mass[at]) for at in people.batches(g)]
    areas = [np.trapezoid(points.tp, points.fp) for points in found]
    return divide(areas, [points.negatives * points.positives for points in found])


def _points(score: Floats, mass: Floats) -> GroupPoints:
    """Return the points of thresholds on a score; scores that are equal but for rounding go together."""
    distinct, level = np.unique(score, return_inverse=True)
    first = np.diff(distinct, prepend=-np.inf) > EQUAL
    lowest = distinct[first]
    at = (np.cumsum(first) - 1)[level]
    labels = [np.bincount(at, mass[:, label], len(lowest)) for label in (0, 1)]
    return group_points(np.tile(lowest, 2), np.repeat([0, 1], len(lowest)), np.concatenate(labels))


def _discordant(truth: Floats, score: Floats, weight: Floats) -> float:
    """Return the share of the pairs of people with different p that p' orders the other way or not at all.

    Two orders are compared as in Kendall's tau: after a sort by p, the pairs that p' inverts are counted bit
    by bit of its rank.
    """
    if np.array_equal(truth, score):
        return 0.0
    p = _ranks(truth, EQUAL)
    q = _ranks(score, TIED)
    cell, at = np.unique(p * (q.max(initial=0) + 1) + q, return_inverse=True)
    w = np.bincount(at, weight)
    p = cell // (q.max(initial=0) + 1)
    q = cell % (q.max(initial=0) + 1)
    differ = w.sum() ** 2 - (np.bincount(p, w) ** 2).sum()
    found = (np.bincount(q, w) ** 2).sum() - (w**2).sum()
    for bit in reversed(range(int(q.max(initial=0)).bit_length())):
        # In the order of all higher bits, then of p: within a block of equal ones, those with this bit set
        # that come before one without it are ranked above it by p' alone.
        block = q >> (bit + 1)
        upper = (q >> bit) & 1
        first = np.diff(block, prepend=-1) != 0
        start = np.flatnonzero(first)
        line = np.cumsum(first) - 1
        ones = np.cumsum(upper)
        above = np.cumsum(w * upper)
        ones, above = (
            run - (run[start] - own[start])[line] for run, own in ((ones, upper), (above, w * upper))
        )
        found += 2 * (w * (1 - upper) * above).sum()
        place = np.arange(len(q)) - start[line]
        zeros = np.add.reduceat(1 - upper, start)[line]
        moved = np.empty_like(q)
        moved[start[line] + np.where(upper == 1, zeros + ones - 1, place - ones)] = np.arange(len(q))
        q = q[moved]
        w = w[moved]
    if differ > EQUAL * w.sum() ** 2:
        return float(found / differ)
    return 0.0


def _ranks(values: Floats, nearest: float) -> Rows:
    """Return the rank of each value; values no further apart than `nearest` have the same."""
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(values), np.intp)
    ranks[order] = np.cumsum(np.diff(values[order], prepend=values[order][:1]) > nearest)
    return ranks


def _odds(view: _View, truth: _People, g: int, group: str) -> Iterator[tuple[tuple[str, str, str], Floats]]:
    """Yield by how much the odds of p' are those of p: for a group or, if need be, by row of the outcome."""
    p = truth.truth
    q = truth.score
    ratio = divide(q * (1 - p), (1 - q) * p)
    own = (truth.group == g) & ~np.isnan(ratio)
    if not own.any():
        return
    lowest = ratio[own].min()
    highest = ratio[own].max()
    yield ("odds-ratio-least", "", group), np.array([lowest])
    yield ("odds-ratio-most", "", group), np.array([highest])
    if _alike(lowest, highest):
        yield ("prior-shift", "", group), np.array([(lowest + highest) / 2])
        return
    levels = [view.judged.levels_of(name) for name in truth.parents]
    many = prod(map(len, levels))
    least = np.full(many, np.inf)
    most = np.full(many, -np.inf)
    np.minimum.at(least, truth.rows[own], ratio[own])
    np.maximum.at(most, truth.rows[own], ratio[own])
    for row in np.flatnonzero((most >= least) & _alike(least, most)):
        codes = np.unravel_index(row, [len(of) for of in levels])
        named = zip(truth.parents, (of[code] for of, code in zip(levels, codes, strict=True)), strict=True)
        where = " ".join(f"{name}={level}" for name, level in named)
        yield ("prior-shift", "", where), np.array([(least[row] + most[row]) / 2])


def _alike(least: ArrayLike, most: ArrayLike) -> NDArray[np.bool_]:
    """Return whether a smallest and a largest ratio are the same finite one."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(most) & (np.subtract(most, least) <= np.multiply(EQUAL, most)))


def _total_variation(world: World, sums: _Sums) -> Floats:
    """Return the total variation between the record and the truth, over the recorded columns, by batch.

    Half the sum of |P' − P|: the most by which the probability of anything that can be said of the recorded
    columns differs. Where all else has the same conditional distribution in both, the sum over the columns
    of those tables that differ is enough; where these have too many levels, people are drawn.
    """
    given = dict.fromkeys(world.included, YES)
    record, size = factors_of(world.network, world.recorded, given)
    truth, other = factors_of(world.base, world.recorded)
    for columns in {*record} & {*truth}:
        if np.array_equal(record[columns], truth[columns]):
            del record[columns], truth[columns]
    differ = [name for name in world.recorded if any(name in columns for columns in (*record, *truth))]
    if not differ:
        return np.zeros(1)
    if prod(len(world.levels(name)) for name in differ) <= sums.cells:
        one = posterior(world.network, differ, given)
        another = posterior(world.base, differ)
        return np.array([np.abs(one.table - another.table).sum() / 2])
    rows = sums.drawn(world.base, 1.0)
    ratio: Floats = np.full(len(rows), exp(size - other) / world.share_included)
    for tables, power in ((record, 1), (truth, -1)):
        for columns, table in tables.items():
            ratio *= table[tuple(rows[name] for name in columns)] ** power
    batch = _batches(len(rows))
    return np.bincount(batch, (1.0 - ratio).clip(0.0)) / np.bincount(batch)
