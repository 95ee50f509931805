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
from itertools import chain
from math import ceil, exp, prod
from typing import Any, Literal

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
from fairbench_cli.network.query import compute_chances, compute_factors, compute_posterior, markov_boundary
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
        rules are learned from; β and history change the people themselves.
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
        rows: list[FactRow] = []
        for (quantity, labels, group), values in self.values.items():
            # A world that is exact may have one quantity by draws, the total variation.
            how: How = "draws" if len(values) > 1 else self.how
            rows.append(_fact_row("", quantity, labels, group, values, how))
        for (rule, labels), counts in self.counts.items():
            rows.append(_fact_row(rule, "accuracy", labels, "", measure("accuracy", counts), self.how))
            for g, group in enumerate(PAIR):
                for i, name in enumerate(("tn", "fp", "fn", "tp")):
                    n = counts.n[:, g, i // 2, i % 2]
                    rows.append(_fact_row(rule, name, labels, group, n, self.how))
        return rows


def _fact_row(rule: str, quantity: str, labels: str, group: str, values: Floats, how: How) -> FactRow:
    """Return the row of a number: the mean of batches and its standard error, 0 of a single one."""
    error = 0.0
    if len(values) > 1:
        error = float(values.std(ddof=1)) / len(values) ** 0.5
    return rule, quantity, labels, group, float(values.mean()), error, how


@dataclass(frozen=True)
class _Sums:
    """How sums are made: over so many cells at most, else over so many draws."""

    cells: int
    draws: int
    seed: int

    def draw_people(self, net: BayesNet, share: float) -> Table:
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
    evidence : dict
        What is known of everybody in the record.
    recorded_seen : tuple of str
        Recorded columns that p' is given.
    true_seen : tuple of str
        True nodes that p is given.
    seen_nodes : dict
        The columns that p' and the groups' thresholds depend on, and the node that a rule sees of each.
    fallback : float64 array, shape (2,)
        The score of people whom the record never has, by the group that a rule sees.
    """

    world: World
    judged: BayesNet
    evidence: dict[str, str]
    recorded_seen: tuple[str, ...]
    true_seen: tuple[str, ...]
    seen_nodes: dict[str, str]
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
    group, seen_group, true_group : int array, shape (people,)
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
    seen_group: Rows
    true_group: Rows
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
        n_batches = int(self.batch.max()) + 1
        sums: Floats = np.bincount(self.batch * 2 + self.group, values, 2 * n_batches).astype(np.float64)
        return sums.reshape(n_batches, 2)

    @cached_property
    def points_by_group(self) -> tuple[GroupPoints, ...]:
        """What thresholds on p' accept of each group."""
        points = []
        for g in (0, 1):
            in_group = self.group == g
            points.append(_points(self.score[in_group], self.mass[in_group]))
        return tuple(points)

    @cached_property
    def points_by_seen_group(self) -> tuple[GroupPoints, ...]:
        """What thresholds on p' accept of each group that a rule sees."""
        if np.array_equal(self.seen_group, self.group):
            return self.points_by_group
        return replace(self, group=self.seen_group).points_by_group

    def batches(self, g: int) -> list[Rows]:
        """Return which people of a group are in each batch."""
        n_batches = int(self.batch.max()) + 1
        return [np.flatnonzero((self.batch == b) & (self.group == g)) for b in range(n_batches)]


def compute_facts(
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
    unseen: tuple[str, ...] = ()
    if not include_protected:
        unseen = tuple(hidden) or tuple(world.groups)
    # 1. The people whom rules are judged on, and those of the record, whom rules are learned from.
    view = _make_view(world, unseen, features, sums)
    truth = _make_people(view, "true", view.judged)
    unbiased = world.network is world.base and not world.included and not world.omitted
    if unbiased:
        record = learned = truth
    else:
        record = learned = _make_people(view, "recorded", world.network)
    if any(name != node for name, node in view.seen_nodes.items()):
        # Rules that are shown true features are still learned from recorded ones.
        learned = _make_people(_make_view(world, unseen, "recorded", sums), "recorded", world.network)
    # 2. The people of the record by the tables of the truth: β and history have changed the record's own.
    recorded = record
    if not world.included and not world.altered:
        recorded = truth
    elif view.judged is not world.network:
        recorded = _make_people(view, "recorded", view.judged)
    counts: dict[tuple[str, Labels], Counts] = {}
    for name, rule in _make_rules(learned, truth, not unseen):
        counts[name, "true"] = truth.counts(rule(truth))
        if recorded is truth:
            counts[name, "recorded"] = counts[name, "true"]
        else:
            counts[name, "recorded"] = recorded.counts(rule(recorded))
    values = dict(_compute_quantities(view, counts, truth, record))
    how: How = "exact" if {truth.how, record.how, learned.how} == {"exact"} else "draws"
    return WorldFacts(how, counts, values)


def _make_view(world: World, unseen: Sequence[str], features: Labels, sums: _Sums) -> _View:
    """Return the view that rules have of a world when some columns are hidden from them."""
    evidence = dict.fromkeys(world.included, YES)
    excluded = {world.label} | set(unseen)
    recorded_seen = tuple(name for name in world.recorded if name not in excluded)
    true_seen = tuple(world.true_name(name) for name in world.base.names if name not in excluded)
    boundary = markov_boundary(world.network, world.label, recorded_seen, evidence)
    seen_nodes = {}
    for name in chain(world.groups, boundary):
        seen_nodes[name] = name
        if features == "true":
            seen_nodes[name] = world.true_name(name)
    # Whom the record never has, rules give its rate of +: their group's, or everybody's if groups are hidden.
    joint = world.joint([*world.groups, world.label])
    favourable_index = world.levels(world.label).index(world.favourable)
    deprived = world.of_group("deprived")
    rates = []
    for mask in (deprived, ~deprived):
        if unseen:
            rates.append(joint[..., favourable_index].sum())
        else:
            rates.append(joint[mask][:, favourable_index].sum() / joint[mask].sum())
    fallback = np.array(rates)
    judged = _judged_network(world)
    return _View(world, judged, evidence, recorded_seen, true_seen, seen_nodes, fallback, sums)


def _judged_network(world: World) -> BayesNet:
    """Return the world's network with the base's tables for all that is true."""
    net = world.network
    base = world.base
    nodes = [net.index(world.true_name(name)) for name in base.names]
    parents = list(net.parents)
    cpts = list(net.cpts)
    for j, node in enumerate(nodes):
        parents[node] = tuple(nodes[i] for i in base.parents[j])
        cpts[node] = base.cpts[j]
    unchanged = all(np.array_equal(cpts[node], net.cpts[node]) for node in nodes)
    if unchanged and parents == list(net.parents):
        return net
    return replace(net, parents=tuple(parents), cpts=tuple(cpts))


def _make_people(view: _View, labels: Labels, net: BayesNet) -> _People:
    """Return all people with true groups and labels, or the included with the recorded ones."""
    world = view.world
    label = world.label
    true_label = world.true_name(label)
    true_groups = [world.true_name(name) for name in world.groups]
    if labels == "recorded":
        evidence = view.evidence
        outcome = label
        groups = list(world.groups)
    else:
        evidence = {}
        outcome = true_label
        groups = true_groups
    # 1. The nodes that scores and groups depend on, and people as cells of their joint distribution or drawn.
    true_boundary = markov_boundary(view.judged, true_label, view.true_seen)
    nodes = tuple(dict.fromkeys(chain(groups, true_groups, view.seen_nodes.values(), true_boundary)))
    cells = _compute_cells(view, net, nodes, outcome, evidence)
    how: How
    if cells:
        how = "exact"
        codes, mass = cells
        batch = np.zeros(len(mass), np.intp)
    else:
        how = "draws"
        codes, mass = _draw_cells(view, net, nodes, outcome, evidence)
        batch = _batches(len(mass))
        mass = mass / np.bincount(batch)[batch, np.newaxis]
    # 2. Their groups: the one that they are counted in, the one that a rule sees, the true one.
    deprived = world.of_group("deprived")
    seen_codes = {name: codes[node] for name, node in view.seen_nodes.items()}
    group = (~deprived[tuple(codes[name] for name in groups)]).astype(np.intp)
    seen_group = (~deprived[tuple(seen_codes[name] for name in world.groups)]).astype(np.intp)
    true_group = (~deprived[tuple(codes[name] for name in true_groups)]).astype(np.intp)
    # 3. Their scores: p' by what a rule sees, and p by all that is true.
    score = compute_chances(
        world.network, label, world.favourable, view.recorded_seen, seen_codes, view.evidence
    )
    never = np.isnan(score) | _never_recorded(view, seen_codes)
    score = np.where(never, view.fallback[seen_group], score)
    truth = compute_chances(view.judged, true_label, world.favourable, view.true_seen, codes)
    # 4. The row of the outcome's table, by those of its parents that p or the groups depend on.
    decisive = set(true_boundary) | set(true_groups)
    parents = tuple(name for name in view.judged.parents_of(true_label) if name in decisive)
    row = np.zeros(len(mass), np.intp)
    if parents:
        sizes = [len(net.levels_of(name)) for name in parents]
        row = np.ravel_multi_index([codes[name] for name in parents], sizes).astype(np.intp)
    return _People(
        how=how,
        mass=mass,
        batch=batch,
        group=group,
        seen_group=seen_group,
        true_group=true_group,
        score=score,
        truth=truth,
        unseen=never,
        rows=row,
        parents=parents,
    )


def _never_recorded(view: _View, seen_codes: Mapping[str, Rows]) -> NDArray[np.bool_]:
    """Return whose levels, of the columns that p' depends on, nobody in the record has."""
    never = np.zeros(len(next(iter(seen_codes.values()))), bool)
    names = [name for name in seen_codes if name in view.recorded_seen]
    if not names:
        return never
    try:
        tables, _ = compute_factors(view.world.network, names, view.evidence)
    except UserError:  # what is summed out needs too large a table
        return never
    for columns, table in tables.items():
        never |= table[tuple(seen_codes[name] for name in columns)] == 0
    return never


def _compute_cells(
    view: _View, net: BayesNet, nodes: Sequence[str], outcome: str, evidence: Mapping[str, str]
) -> tuple[dict[str, Rows], Floats] | None:
    """Return the cells of nodes that have mass, and it by outcome; None where there are too many cells."""
    sizes = [len(net.levels_of(name)) for name in (*nodes, outcome)]
    if prod(sizes) > view.sums.cells:
        return None
    try:
        table = compute_posterior(net, (*nodes, outcome), evidence).table.reshape(-1, sizes[-1])
    except UserError:  # a larger table on the way
        return None
    favourable_index = net.levels_of(outcome).index(view.world.favourable)
    mass = np.stack([np.delete(table, favourable_index, axis=1).sum(1), table[:, favourable_index]], axis=1)
    occurring = np.flatnonzero(mass.sum(1) > 0)
    return dict(zip(nodes, np.unravel_index(occurring, sizes[:-1]), strict=True)), mass[occurring]


def _draw_cells(
    view: _View, net: BayesNet, nodes: Sequence[str], outcome: str, evidence: Mapping[str, str]
) -> tuple[dict[str, Rows], Floats]:
    """Return drawn people, each with the chance of either outcome given all else of them."""
    world = view.world
    rows = view.sums.draw_people(net, world.share_included if evidence else 1.0)
    if evidence:
        rows = rows.take(np.logical_and.reduce([rows[name] == 1 for name in evidence]))
    known_nodes = set(net.names) - set(world.chain(world.label)) - set(world.included)
    drawn = {name: rows[name] for name in known_nodes}
    plus = compute_chances(net, outcome, world.favourable, known_nodes, drawn, evidence)
    return {name: drawn[name].astype(np.intp) for name in nodes}, np.stack([1 - plus, plus], axis=1)


def _batches(n_people: int) -> Rows:
    """Return the batch of each drawn person."""
    return np.arange(n_people) * BATCHES // n_people


Rule = Callable[[_People], Floats]
"""The chance with which each of some people is accepted."""


def _make_rules(learned: _People, truth: _People, all_seen: bool) -> Iterator[tuple[str, Rule]]:
    """Yield the rules that the record gives, and two for somebody who knows the truth."""
    yield "constant-accept", lambda people: np.ones(len(people.score))
    yield "constant-refuse", lambda people: np.zeros(len(people.score))
    yield "bayes", lambda people: (people.score >= 0.5 - EQUAL).astype(np.float64)
    yield "oracle-thresholds", _make_threshold_rule(truth.points_by_seen_group)
    deprived, favoured = learned.points_by_seen_group
    corners = convex_hull(_drop_inner_points(deprived)), convex_hull(_drop_inner_points(favoured))
    for name, constrained_rate in HELD.items():
        yield name, _make_mixture(frontier_of_hulls(corners, constrained_rate, [0.0]).draws)
    best_thresholds = np.array([0.5, 0.5])
    if not all_seen:
        by_truth = replace(truth, score=truth.truth).points_by_group
        best_thresholds = np.array([_best_threshold(points) for points in by_truth])
    yield (
        "truth",
        lambda people: (people.truth >= best_thresholds[people.true_group] - EQUAL).astype(np.float64),
    )


def _make_threshold_rule(points_by_group: Sequence[GroupPoints]) -> Rule:
    """Return the rule that accepts whose score is at least the best threshold of the group that it sees."""
    limits = np.array([_best_threshold(points) for points in points_by_group]) - EQUAL
    return lambda people: (people.score >= limits[people.seen_group]).astype(np.float64)


def _best_threshold(points: GroupPoints) -> float:
    """Return the threshold with the most correct decisions."""
    return float(points.thresholds[np.argmax(points.tp - points.fp)])


def _drop_inner_points(points: GroupPoints) -> GroupPoints:
    """Return the points without most of those below the line between two others: the same hull, sooner."""
    while len(points.fp) > FEW_POINTS:
        fp = points.fp
        tp = points.tp
        # Of each point but the ends, how far it is below the line between its neighbours.
        fp_step = fp[2:] - fp[:-2]
        tp_step = tp[2:] - tp[:-2]
        below = (fp[1:-1] - fp[:-2]) * tp_step - (tp[1:-1] - tp[:-2]) * fp_step
        slack = ROUNDING * (fp_step * points.positives + tp_step * points.negatives)
        keep = np.concatenate([[True], below <= slack, [True]])
        if keep.all():
            break
        points = points.select(keep)
    return points


def _make_mixture(draws: Sequence[Draw]) -> Rule:
    """Return the rule that draws one of two thresholds of each group; NaN where there are none."""

    def rule(people: _People) -> Floats:
        chance = np.full(len(people.score), np.nan)
        for g, draw in enumerate(draws):
            in_group = people.seen_group == g
            for threshold, share in ((draw.first, 1 - draw.share), (draw.second, draw.share)):
                accepted = share[0] * (people.score[in_group] >= threshold[0] - EQUAL)
                chance[in_group] = np.nan_to_num(chance[in_group]) + accepted
        return chance

    return rule


def _compute_quantities(
    view: _View, counts: Mapping[tuple[str, Labels], Counts], truth: _People, record: _People
) -> Iterator[tuple[tuple[str, str, str], Floats]]:
    """Yield the quantities of a world, by quantity, labels and group."""
    people_by_labels: dict[Labels, _People] = {"true": truth, "recorded": record}
    for labels, people in people_by_labels.items():
        labelled = people.labelled
        rate = divide(labelled[..., 1], labelled.sum(-1))
        for g, group in enumerate(PAIR):
            yield ("share", labels, group), labelled[:, g].sum(-1)
            yield ("favourable", labels, group), rate[:, g]
            yield ("auc", labels, group), _compute_auc(people, g)
        yield ("disparity", labels, ""), rate[:, 1] - rate[:, 0]
    yield ("total-variation", "", ""), _compute_total_variation(view.world, view.sums)
    weight = truth.weight
    for g, group in enumerate(PAIR):
        shares = [
            _compute_discordance(truth.truth[rows], truth.score[rows], weight[rows])
            for rows in truth.batches(g)
        ]
        discordant = np.array(shares)
        yield ("discordant", "", group), discordant
        yield ("kept", "", group), np.array([0.0 if discordant.any() else 1.0])
        yield from _compare_odds(view, truth, g, group)
    best_accuracy = measure("accuracy", counts["truth", "true"])
    yield (
        ("thresholds-lose", "true", ""),
        best_accuracy - measure("accuracy", counts["oracle-thresholds", "true"]),
    )
    yield ("unseen", "", ""), np.asarray(np.bincount(truth.batch, truth.weight * truth.unseen), np.float64)


def _compute_auc(people: _People, g: int) -> Floats:
    """Return the chance that p' ranks a positive of a group above a negative, ties half; NaN without both."""
    if people.how == "exact":  # one batch
        curves = [people.points_by_group[g]]
    else:
        curves = [_points(people.score[rows], people.mass[rows]) for rows in people.batches(g)]
    areas = [np.trapezoid(points.tp, points.fp) for points in curves]
    return divide(areas, [points.negatives * points.positives for points in curves])


def _points(score: Floats, mass: Floats) -> GroupPoints:
    """Return the points of thresholds on a score; scores that are equal but for rounding go together."""
    distinct, level = np.unique(score, return_inverse=True)
    is_first = np.diff(distinct, prepend=-np.inf) > EQUAL
    lowest = distinct[is_first]
    distinct_index = (np.cumsum(is_first) - 1)[level]
    masses = [np.bincount(distinct_index, mass[:, label], len(lowest)) for label in (0, 1)]
    # All scores with label 0, then all with label 1.
    return group_points(np.tile(lowest, 2), np.repeat([0, 1], len(lowest)), np.concatenate(masses))


def _compute_discordance(truth: Floats, score: Floats, weight: Floats) -> float:
    """Return the share of the pairs of people with different p that p' orders the other way or not at all.

    Two orders are compared as in Kendall's tau: after a sort by p, the pairs that p' inverts are counted bit
    by bit of its rank.
    """
    if np.array_equal(truth, score):
        return 0.0
    p = _rank(truth, EQUAL)
    q = _rank(score, TIED)
    cell, pair_index = np.unique(p * (q.max(initial=0) + 1) + q, return_inverse=True)
    w = np.bincount(pair_index, weight)
    p = cell // (q.max(initial=0) + 1)
    q = cell % (q.max(initial=0) + 1)
    differ = w.sum() ** 2 - (np.bincount(p, w) ** 2).sum()
    inverted = (np.bincount(q, w) ** 2).sum() - (w**2).sum()
    for bit in reversed(range(int(q.max(initial=0)).bit_length())):
        # In the order of all higher bits, then of p: within a block of equal ones, those with this bit set
        # that come before one without it are ranked above it by p' alone.
        block = q >> (bit + 1)
        upper = (q >> bit) & 1
        is_block_start = np.diff(block, prepend=-1) != 0
        start = np.flatnonzero(is_block_start)
        line = np.cumsum(is_block_start) - 1
        ones = _sum_within_blocks(upper, start, line)
        above = _sum_within_blocks(w * upper, start, line)
        inverted += 2 * (w * (1 - upper) * above).sum()
        position = np.arange(len(q)) - start[line]
        zeros = np.add.reduceat(1 - upper, start)[line]
        moved = np.empty_like(q)
        moved[start[line] + np.where(upper == 1, zeros + ones - 1, position - ones)] = np.arange(len(q))
        q = q[moved]
        w = w[moved]
    if differ > EQUAL * w.sum() ** 2:
        return float(inverted / differ)
    return 0.0


def _sum_within_blocks(values: NDArray[Any], start: Rows, block: Rows) -> NDArray[Any]:
    """Return cumulated sums that begin anew where a block starts; `block` is that of each value."""
    run = np.cumsum(values)
    return np.asarray(run - (run[start] - values[start])[block])


def _rank(values: Floats, nearest: float) -> Rows:
    """Return the rank of each value; values no further apart than `nearest` have the same."""
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(values), np.intp)
    ranks[order] = np.cumsum(np.diff(values[order], prepend=values[order][:1]) > nearest)
    return ranks


def _compare_odds(
    view: _View, truth: _People, g: int, group: str
) -> Iterator[tuple[tuple[str, str, str], Floats]]:
    """Yield by how much the odds of p' are those of p: for a group or, if need be, by row of the outcome."""
    p = truth.truth
    q = truth.score
    ratio = divide(q * (1 - p), (1 - q) * p)
    in_group = (truth.group == g) & ~np.isnan(ratio)
    if not in_group.any():
        return
    lowest = ratio[in_group].min()
    highest = ratio[in_group].max()
    yield ("odds-ratio-least", "", group), np.array([lowest])
    yield ("odds-ratio-most", "", group), np.array([highest])
    if _alike(lowest, highest):
        yield ("prior-shift", "", group), np.array([(lowest + highest) / 2])
        return
    # The row of the outcome's table decides: the smallest and the largest ratio of each.
    levels = [view.judged.levels_of(name) for name in truth.parents]
    sizes = [len(parent_levels) for parent_levels in levels]
    n_rows = prod(sizes)
    least = np.full(n_rows, np.inf)
    most = np.full(n_rows, -np.inf)
    np.minimum.at(least, truth.rows[in_group], ratio[in_group])
    np.maximum.at(most, truth.rows[in_group], ratio[in_group])
    for row in np.flatnonzero((most >= least) & _alike(least, most)):
        codes = np.unravel_index(row, sizes)
        clauses = []
        for name, parent_levels, code in zip(truth.parents, levels, codes, strict=True):
            clauses.append(f"{name}={parent_levels[code]}")
        yield ("prior-shift", "", " ".join(clauses)), np.array([(least[row] + most[row]) / 2])


def _alike(least: ArrayLike, most: ArrayLike) -> NDArray[np.bool_]:
    """Return whether a smallest and a largest ratio are the same finite one."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(most) & (np.subtract(most, least) <= np.multiply(EQUAL, most)))


def _compute_total_variation(world: World, sums: _Sums) -> Floats:
    """Return the total variation between the record and the truth, over the recorded columns, by batch.

    Half the sum of |P' − P|: the most by which the probability of anything that can be said of the recorded
    columns differs. Where all else has the same conditional distribution in both, the sum over the columns
    of those tables that differ is enough; where these have too many levels, people are drawn.
    """
    evidence = dict.fromkeys(world.included, YES)
    record, record_exponent = compute_factors(world.network, world.recorded, evidence)
    truth, truth_exponent = compute_factors(world.base, world.recorded)
    for columns in record.keys() & truth.keys():
        if np.array_equal(record[columns], truth[columns]):
            del record[columns], truth[columns]
    in_differing_tables = set(chain.from_iterable(chain(record, truth)))
    differ = [name for name in world.recorded if name in in_differing_tables]
    if not differ:
        return np.zeros(1)
    if prod(len(world.levels(name)) for name in differ) <= sums.cells:
        recorded_joint = compute_posterior(world.network, differ, evidence)
        true_joint = compute_posterior(world.base, differ)
        return np.array([np.abs(recorded_joint.table - true_joint.table).sum() / 2])
    rows = sums.draw_people(world.base, 1.0)
    ratio: Floats = np.full(len(rows), exp(record_exponent - truth_exponent) / world.share_included)
    for tables, power in ((record, 1), (truth, -1)):
        for columns, table in tables.items():
            ratio *= table[tuple(rows[name] for name in columns)] ** power
    batch = _batches(len(rows))
    return np.bincount(batch, (1.0 - ratio).clip(0.0)) / np.bincount(batch)
