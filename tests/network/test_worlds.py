"""Worlds: every mechanism by its formula, on small networks cell by cell and on shipped ones by draws."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import law
from hypothesis import assume, example, given
from hypothesis import strategies as st
from network_data import random_tables
from scipy.stats import chi2

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import BetaBias, bias_kind, shift
from fairbench_cli.network.draw import sample
from fairbench_cli.network.exact_measures import compute_facts
from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.biases import (
    GroupNoise,
    GroupShare,
    HistoricalBias,
    LabelBias,
    MeasurementError,
    OmittedColumn,
    SelectionBias,
)
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.model import BayesNet, is_ancestor
from fairbench_cli.network.world import World, draw_people, make_beta_world, make_world, record_people

COLUMNS = (
    Column("s", ("a", "b", "c")),
    Column("y", ("-", "+")),
    Column("x", ("2", "10", "1")),
    Column("z", ("0", "1")),
)
ONE = {"s": (("a", "c"), ("b",))}
JOINT = {"s": (("a",), ("b", "c")), "z": (("0",), ("1",))}
"""Deprived by any column, favoured by all."""

Person = tuple[int, ...]  # the codes of all columns


def small_net(seed: int, columns: tuple[Column, ...] = COLUMNS) -> BayesNet:
    """Draw a network without zeros; every order of the columns may be that of its arcs."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(columns))
    parents: list[tuple[int, ...]] = [()] * len(columns)
    for at, j in enumerate(order):
        parents[j] = tuple(int(i) for i in order[:at] if rng.random() < 0.7)
    return BayesNet(columns, tuple(parents), random_tables(rng, columns, parents))


def tables_of(net: BayesNet) -> list[np.ndarray]:
    """Return P(node | parents) of every node, with an axis for each column."""
    found = []
    for j, own in enumerate(net.parents):
        family = (*own, j)
        shape = [len(net.columns[i].levels) if i in family else 1 for i in range(len(net.columns))]
        found.append(net.cpts[j].transpose(np.argsort(family)).reshape(shape))
    return found


def table_of(world: World, nodes: Sequence[str]) -> np.ndarray:
    """Return the joint distribution of some nodes among the included, by enumeration."""
    whole = reduce(np.multiply, tables_of(world.network))
    for name in world.included:
        whole = np.take(whole, [1], axis=world.network.index(name))
    at = [world.network.index(name) for name in nodes]
    rest = tuple(i for i in range(whole.ndim) if i not in at)
    left = sorted(at)
    found = whole.sum(axis=rest).transpose([left.index(i) for i in at])
    return found / found.sum()


def truth_and_record(world: World) -> np.ndarray:
    """Return P(all true columns, all recorded columns | included)."""
    names = world.base.names
    nodes = [*(world.true_name(name) for name in names), *world.altered]
    found = table_of(world, nodes)
    for i, name in enumerate(names):  # a column without errors is its own record
        if name not in world.altered:
            found = np.expand_dims(found, len(names) + i)
            same = np.eye(found.shape[i]).reshape(
                [found.shape[i] if axis in (i, len(names) + i) else 1 for axis in range(found.ndim)]
            )
            found = found * same
    return found


# --- The mechanisms once more, person by person ---------------------------------------------------------


@dataclass
class People:
    """P(true) and, for every true person, the chance of being recorded as another."""

    net: BayesNet
    groups: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    tables: list[np.ndarray]  # by node, axes of all columns: P(node | parents)
    kernel: dict[Person, dict[Person, float]]

    def masses(self) -> dict[tuple[Person, Person], float]:
        truth = reduce(np.multiply, self.tables)
        found = {(t, r): float(truth[t] * k) for t, own in self.kernel.items() for r, k in own.items()}
        total = sum(found.values())
        return {pair: mass / total for pair, mass in found.items()}

    def level(self, person: Person, name: str) -> str:
        j = self.net.index(name)
        return self.net.columns[j].levels[person[j]]

    def is_of(self, person: Person, group: str) -> bool:
        if group == "everybody":
            return True
        deprived = any(self.level(person, name) in named for name, (named, _) in self.groups.items())
        return deprived == (group == "deprived")

    def has(self, person: Person, wanted: Mapping[str, Sequence[str]] | None) -> bool:
        return all(self.level(person, name) in levels for name, levels in (wanted or {}).items())

    def recorded(self, what: Callable[[Person], Any]) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        for (_, r), mass in self.masses().items():
            found[what(r)] += mass
        return found

    def change(self, step: Callable[[Person], dict[Person, float]]) -> None:
        for true, own in self.kernel.items():
            new: dict[Person, float] = defaultdict(float)
            for r, mass in own.items():
                for other, chance in step(r).items():
                    new[other] += mass * chance
            self.kernel[true] = dict(new)


def with_level(person: Person, j: int, code: int) -> Person:
    return (*person[:j], code, *person[j + 1 :])


def lower(column: Column, code: int) -> int:
    ranked = sorted(range(len(column.levels)), key=lambda c: float(column.levels[c]))
    return ranked[max(0, ranked.index(code) - 1)]


def act(people: People, how: Any) -> None:
    """Do to every person what a mechanism says, as its formula has it."""
    net = people.net
    y = net.index("y")
    if isinstance(how, LabelBias):
        whose = how.of or ("deprived" if how.to == "unfavourable" else "favoured")
        old, new = (1, 0) if how.to == "unfavourable" else (0, 1)

        def step(r: Person) -> dict[Person, float]:
            if r[y] == old and people.is_of(r, whose) and people.has(r, how.given):
                return {r: 1 - how.flip, with_level(r, y, new): how.flip}
            return {r: 1}
    elif isinstance(how, SelectionBias):
        whose = how.of or ("everybody" if how.by else "deprived")
        outcomes = {"favourable": (1,), "unfavourable": (0,), "any": (0, 1)}[
            how.label or ("any" if how.by else "favourable")
        ]

        def step(r: Person) -> dict[Person, float]:
            out = r[y] in outcomes and people.is_of(r, whose) and people.has(r, how.given)
            out = out and not (how.by and people.has(r, how.by))
            return {r: 1 - how.drop if out else 1.0}
    elif isinstance(how, MeasurementError):
        j = net.index(how.column)
        marginal = people.recorded(lambda r: r[j])

        def step(r: Person) -> dict[Person, float]:
            if not people.is_of(r, how.of):
                return {r: 1}
            if how.towards == "marginal":
                others = dict(marginal)
            elif how.towards == "lower":
                others = {lower(net.columns[j], r[j]): 1.0}
            else:
                others = {net.columns[j].levels.index(how.towards): 1.0}
            found = {with_level(r, j, code): how.noise * chance for code, chance in others.items()}
            found[r] = found.get(r, 0) + 1 - how.noise
            return found
    elif isinstance(how, GroupNoise):
        at = [net.index(name) for name in people.groups]
        shares = people.recorded(lambda r: tuple(r[i] for i in at))

        def step(r: Person) -> dict[Person, float]:
            own = "deprived" if people.is_of(r, "deprived") else "favoured"
            if how.of not in (own, "everybody"):
                return {r: 1}
            others = {}
            for codes, share in shares.items():
                other = r
                for i, code in zip(at, codes, strict=True):
                    other = with_level(other, i, code)
                if not people.is_of(other, own):
                    others[other] = share
            total = sum(others.values())
            return {r: 1 - how.noise} | {other: how.noise * s / total for other, s in others.items()}
    elif isinstance(how, GroupShare):
        now = people.recorded(lambda r: people.is_of(r, how.of))[True]
        weight = {True: how.share / now, False: (1 - how.share) / (1 - now)}
        most = max(weight.values())

        def step(r: Person) -> dict[Person, float]:
            return {r: weight[people.is_of(r, how.of)] / most}
    elif isinstance(how, HistoricalBias):
        shift_true(people, how)
        return
    else:
        return
    people.change(step)


def shift_true(people: People, how: HistoricalBias) -> None:
    net, j = people.net, people.net.index(how.column)
    sizes = [len(column.levels) for column in net.columns]
    every = [*product(*map(range, sizes))]
    truth = reduce(np.multiply, people.tables)
    old = {t: float(truth[t]) for t in every}
    others = [i for i in net.parents[j] if net.names[i] not in people.groups]
    conditional = people.tables[j]
    marginal = [sum(mass for t, mass in old.items() if t[j] == code) for code in range(sizes[j])]

    def own(t: Person, code: int) -> float:
        t = with_level(t, j, code)
        return float(conditional[tuple(np.minimum(t, np.array(conditional.shape) - 1))])

    @cache
    def favoured(known: Person) -> list[float]:
        alike = [
            (t, mass)
            for t, mass in old.items()
            if people.is_of(t, "favoured") and tuple(t[i] for i in others) == known
        ]
        total = sum(mass for _, mass in alike)
        return [sum(mass * own(t, code) for t, mass in alike) / total for code in range(sizes[j])]

    new = np.zeros(sizes)
    for t in every:
        was = own(t, t[j])
        if how.towards == "favoured":
            goal = favoured(tuple(t[i] for i in others))[t[j]]
        elif how.towards == "marginal":
            goal = marginal[t[j]]
        elif how.towards == "lower":
            goal = sum(own(t, code) for code in range(sizes[j]) if lower(net.columns[j], code) == t[j])
        else:
            goal = float(net.columns[j].levels[t[j]] == how.towards)
        share = how.shift if people.is_of(t, how.of) else 0
        new[t] = (1 - share) * was + share * goal
    people.tables[j] = new


def person_by_person(net: BayesNet, groups: Mapping[str, Any], mechanisms: Sequence[Any]) -> np.ndarray:
    """Return P(all true columns, all recorded columns | included) without a network of the world."""
    every = [*product(*(range(len(column.levels)) for column in net.columns))]
    people = People(net, groups, tables_of(net), {t: {t: 1.0} for t in every})
    for how in mechanisms:
        act(people, how)
    found = np.zeros([len(column.levels) for column in net.columns] * 2)
    for (t, r), mass in people.masses().items():
        found[(*t, *r)] = mass
    return found


GIVEN = st.sampled_from([None, {"x": ("10",)}, {"x": ("2", "1"), "z": ("1",)}])
STRENGTH = st.sampled_from([0.1, 0.5, 0.8])
GROUP = st.sampled_from(["deprived", "favoured", "everybody"])
TOWARDS = st.sampled_from(["marginal", "lower", "10"])


def with_order(how):
    """Return a mechanism that is told that the numbers of x have an order, if it asks for a lower one."""
    return replace(how, ordered=how.towards == "lower")


KINDS = {
    "label": st.builds(
        LabelBias, STRENGTH, st.sampled_from(["favourable", "unfavourable"]), st.none() | GROUP, GIVEN
    ),
    "selection": st.builds(
        SelectionBias,
        STRENGTH,
        st.sampled_from([None, "favourable", "unfavourable"]),
        st.none() | GROUP,
        GIVEN,
        st.sampled_from([None, None, {"x": ("10",), "z": ("1",)}]),
    ),
    "measurement": st.builds(MeasurementError, st.just("x"), STRENGTH, GROUP, TOWARDS).map(with_order),
    "history": st.builds(HistoricalBias, st.just("x"), STRENGTH, TOWARDS | st.just("favoured")).map(
        with_order
    ),
    "omission": st.just(OmittedColumn("x")),
    "group": st.builds(GroupNoise, STRENGTH, GROUP),
    "representation": st.builds(GroupShare, STRENGTH, st.sampled_from(["deprived", "favoured"])),
}


def possible(net: BayesNet, groups: Mapping[str, Any], mechanisms: Sequence[Any]) -> bool:
    """Return whether the list may be applied; what may not is tested further down."""
    x, above = net.index("x"), [net.index(name) for name in groups]
    every = [*product(*(range(len(column.levels)) for column in net.columns))]
    people = People(net, groups, [], {})
    for how in mechanisms:
        if isinstance(how, SelectionBias) and how.by:  # whom it concerns, the policy may let in
            whose = [one for one in every if people.is_of(one, how.of or "everybody")]
            if all(people.has(one, how.by) for one in whose if people.has(one, how.given)):
                return False
        if isinstance(how, HistoricalBias):
            if any(is_ancestor(net.parents, x, i) for i in above):
                return False
            if how.towards == "favoured" and not set(above) & set(net.parents[x]):
                return False
            if how.towards == "marginal" and not net.parents[x]:  # it has its marginal already
                return False
    kinds = [type(how) for how in mechanisms]
    if OmittedColumn in kinds and MeasurementError in kinds[kinds.index(OmittedColumn) :]:
        return False  # it is measured no more
    omissions = kinds.count(OmittedColumn)
    return omissions < (2 if len(groups) == 1 else 1)


@law(60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([ONE, JOINT]),
    st.lists(st.one_of(*KINDS.values()), min_size=1, max_size=3),
)
def test_a_list_of_mechanisms_does_to_every_person_what_its_formulas_say(seed, groups, mechanisms):
    net = small_net(seed)
    assume(possible(net, groups, mechanisms))
    world = make_world(net, "y", "+", groups, mechanisms)
    assert np.allclose(truth_and_record(world), person_by_person(net, groups, mechanisms), atol=1e-12)


@pytest.mark.parametrize("groups", [ONE, JOINT])
def test_levels_of_the_groups_own_columns_may_be_asked_for(groups):
    mechanisms = [
        LabelBias(0.5, given={"s": ("a",), "x": ("10", "1")}),
        SelectionBias(0.5, by={"s": ("b",), "z": ("0",)}),
        SelectionBias(0.3, given={"s": ("c",), "z": ("0",)}),
    ]
    for seed in range(3):
        world = make_world(small_net(seed), "y", "+", groups, mechanisms)
        wanted = person_by_person(world.base, groups, mechanisms)
        assert np.allclose(truth_and_record(world), wanted, atol=1e-12)


def test_every_mechanism_is_among_them():
    assert list(KINDS) == list(MECHANISMS)


def test_mechanisms_say_in_words_what_they_do():
    given = {"edu_level": ("5", "6")}
    assert LabelBias(0.5, given=given).words == (
        "50 % of the deprived with the favourable outcome whose edu_level is 5 or 6 are recorded with the "
        "unfavourable one"
    )
    assert SelectionBias(0.25, by=given).words == (
        "25 % of all people are left out of the record, unless their edu_level is 5 or 6"
    )
    assert (
        MeasurementError("age", 0.1).words
        == "the age of 10 % of the deprived is recorded as a draw from everybody's"
    )
    assert (
        HistoricalBias("age", 0.1, "favoured").words
        == "the true age of 10 % of the deprived is as of the favoured"
    )
    assert GroupNoise(0.1).words == "10 % of all people are recorded as of the other group"
    assert GroupShare(0.1).words == "the deprived are 10 % of the record"
    assert OmittedColumn("age").words == "age is not recorded"


# --- What the literature says of each, as laws of small networks ----------------------------------------

Y_OF_S_X_Z = ("s", "x", "z", "y")


def likely(world: World, *, recorded: bool) -> np.ndarray:
    """Return P(+ | s, x, z) of the true outcome, or of the recorded one among the included."""
    names = Y_OF_S_X_Z if recorded else tuple(world.true_name(name) for name in Y_OF_S_X_Z)
    found = table_of(world if recorded else replace(world, included=()), names)
    return found[..., 1] / found.sum(axis=-1)


def by_true(world: World, label: str) -> np.ndarray:
    """Return P(s, x, z, label) of true groups and features."""
    return table_of(world, [*(world.true_name(name) for name in ("s", "x", "z")), label])


def auc(scores: np.ndarray, table: np.ndarray) -> float:
    """Return P(score of a positive > score of a negative), ties half, of a table with outcomes last."""
    plus, minus = (table[..., k].ravel() / table[..., k].sum() for k in (1, 0))
    more = scores.round(12).ravel()[:, None] - scores.round(12).ravel()
    return float(plus @ ((more > 0) + (more == 0) / 2) @ minus)


NETS = st.integers(0, 10**6)
D, F = [0, 2], [1]  # the codes of the deprived and favoured levels of s


@law(25)
@given(NETS, STRENGTH, GIVEN)
def test_label_flips_take_a_share_of_p_and_keep_the_ranking_unless_they_look_at_x(seed, flip, given):
    world = make_world(small_net(seed), "y", "+", ONE, [LabelBias(flip, given=given)])
    p, recorded = likely(world, recorded=False), likely(world, recorded=True)
    looked_at = world.having(["s", "x", "z"], given or {})
    assert np.allclose(recorded[D], ((1 - flip * looked_at) * p)[D])
    assert np.array_equal(recorded[F].round(12), p[F].round(12))
    other = make_world(world.base, "y", "+", ONE, [LabelBias(flip, to="favourable")])
    assert np.allclose(likely(other, recorded=True)[F], 1 - (1 - flip) * (1 - p[F]))
    assert np.allclose(likely(other, recorded=True)[D], p[D])
    if given is None:
        truth = by_true(world, "y.true")
        for level in (0, 1, 2):
            assert np.isclose(auc(recorded[level], truth[level]), auc(p[level], truth[level]))


@law(25)
@given(NETS, STRENGTH)
def test_rates_of_those_with_a_recorded_positive_are_the_true_ones_under_flips(seed, flip):
    world = make_world(small_net(seed), "y", "+", ONE, [LabelBias(flip)])
    rule = np.random.default_rng(seed).random((3, 3, 2))  # sees features and group, not the record of y
    true, own = by_true(world, "y.true"), by_true(world, "y")
    for level in (0, 1, 2):
        (fpr, tpr), (fpr_recorded, tpr_recorded) = (
            (rule[level][..., None] * table[level]).sum(axis=(0, 1)) / table[level].sum(axis=(0, 1))
            for table in (true, own)
        )
        assert np.isclose(tpr_recorded, tpr)
        minus, plus = true[level].sum(axis=(0, 1))
        flipped = flip * plus if level in D else 0
        assert np.isclose(fpr_recorded, (fpr * minus + tpr * flipped) / (minus + flipped))


@law(25)
@given(NETS, STRENGTH, st.sampled_from([0, 0.3]))
def test_selection_multiplies_the_odds_and_keeps_the_auc_within_a_group(seed, plus, minus):
    how = [SelectionBias(plus), SelectionBias(minus, "unfavourable")]
    world = make_world(small_net(seed), "y", "+", ONE, how)
    p, recorded = likely(world, recorded=False), likely(world, recorded=True)
    constant = (1 - plus) / (1 - minus)
    assert np.allclose((recorded / (1 - recorded))[D], constant * (p / (1 - p))[D])
    assert np.allclose(recorded[F], p[F])
    truth, kept = table_of(replace(world, included=()), Y_OF_S_X_Z), table_of(world, Y_OF_S_X_Z)
    for level in (0, 1, 2):
        assert np.isclose(auc(recorded[level], kept[level]), auc(p[level], truth[level]))
    base = (truth[D, ..., 1].sum() / truth[D].sum(), kept[D, ..., 1].sum() / kept[D].sum())
    odds = [share / (1 - share) for share in base]
    assert np.isclose(odds[1], constant * odds[0])
    lost = plus * truth[D, ..., 1].sum() + minus * truth[D, ..., 0].sum()
    assert np.isclose(world.share_included, 1 - lost)


@law(25)
@given(NETS, STRENGTH)
def test_an_old_policy_that_looks_at_x_keeps_p_of_x(seed, drop):
    policy = SelectionBias(drop, by={"x": ("10",), "z": ("1",)})
    world = make_world(small_net(seed), "y", "+", ONE, [policy])
    assert np.allclose(likely(world, recorded=True), likely(world, recorded=False))
    truth = table_of(replace(world, included=()), Y_OF_S_X_Z)
    out = truth.sum() - truth[:, 1, 1].sum()
    assert np.isclose(world.share_included, 1 - drop * out)


@law(25)
@given(NETS, STRENGTH, GROUP, st.sampled_from([ONE, JOINT]))
def test_group_noise_shrinks_every_gap_by_one_less_both_errors(seed, noise, of, groups):
    world = make_world(small_net(seed), "y", "+", groups, [GroupNoise(noise, of)])
    columns = [*groups]
    true, own = [world.true_name(name) for name in columns], [*columns]
    both = table_of(world, [*true, *own])
    deprived, favoured = world.of_group("deprived"), world.of_group("favoured")
    assert np.array_equal(favoured, ~deprived)
    shares = {
        (a, b): both[mask][:, other].sum()
        for a, mask in (("d", deprived), ("f", favoured))
        for b, other in (("d", deprived), ("f", favoured))
    }
    a = shares["f", "d"] / (shares["f", "d"] + shares["d", "d"])
    b = shares["d", "f"] / (shares["d", "f"] + shares["f", "f"])

    def gap(names: list[str]) -> float:
        found = table_of(world, [*names, "y"])
        rates = [found[mask][:, 1].sum() / found[mask].sum() for mask in (favoured, deprived)]
        return rates[0] - rates[1]

    assert np.isclose(gap(own), (1 - a - b) * gap(true), atol=1e-12)
    if of == "everybody":
        assert np.isclose(shares["d", "f"], noise * (shares["d", "d"] + shares["d", "f"]))


@law(25)
@given(NETS, STRENGTH, GROUP)
def test_group_noise_shrinks_gaps_in_tpr_and_fpr_by_the_errors_among_people_with_that_label(seed, noise, of):
    """Of a rule that does not look at the recorded group; the errors of all people do not correct them."""
    world = make_world(small_net(seed), "y", "+", ONE, [GroupNoise(noise, of)])
    rule = np.random.default_rng(seed).random((3, 2))  # the chance of acceptance by x and z
    both = table_of(world, [world.true_name("s"), "s", "y", "x", "z"])
    assert both.shape[3:] == rule.shape
    for label in (0, 1):
        people = both[:, :, label]  # by true group, recorded group, x and z
        accepted = (people * rule).sum(axis=(2, 3))
        people = people.sum(axis=(2, 3))
        true = (accepted[F].sum() / people[F].sum()) - (accepted[D].sum() / people[D].sum())
        recorded = (accepted[:, F].sum() / people[:, F].sum()) - (accepted[:, D].sum() / people[:, D].sum())
        a = people[F, D].sum() / people[:, D].sum()
        b = people[D, F].sum() / people[:, F].sum()
        assert np.isclose(recorded, (1 - a - b) * true, atol=1e-12)


def test_group_noise_by_the_example_of_the_page():
    """30 % deprived, base rates .2 and .6, TPR .5 and .8, FPR such that the gap in selection is .34."""
    share = np.array([0.3, 0.7])
    base = np.array([0.2, 0.6])
    noise = np.array([[0.8, 0.2], [0.2, 0.8]])
    recorded_share = share @ noise
    both = 1 - noise[1, 0] * share[1] / recorded_share[0] - noise[0, 1] * share[0] / recorded_share[1]
    assert both == pytest.approx(0.535, abs=0.0005)
    positives = share * base
    tpr = (positives * [0.5, 0.8]) @ noise / (positives @ noise)
    assert tpr[1] - tpr[0] == pytest.approx(0.099, abs=0.0005)
    among_positives = 1 - noise[1, 0] * positives[1] / (positives @ noise)[0]
    among_positives -= noise[0, 1] * positives[0] / (positives @ noise)[1]
    assert tpr[1] - tpr[0] == pytest.approx(among_positives * 0.3)
    assert among_positives == pytest.approx(0.329, abs=0.001)


@law(25)
@given(NETS, st.sampled_from([0.05, 0.3, 0.9]), st.sampled_from(["deprived", "favoured"]))
def test_representation_sets_the_share_and_keeps_everything_given_the_group(seed, share, of):
    world = make_world(small_net(seed), "y", "+", ONE, [GroupShare(share, of)])
    truth, kept = table_of(replace(world, included=()), Y_OF_S_X_Z), table_of(world, Y_OF_S_X_Z)
    assert np.isclose(kept[D if of == "deprived" else F].sum(), share)
    for own in (D, F):
        assert np.allclose(kept[own] / kept[own].sum(), truth[own] / truth[own].sum())
    assert world.altered == ()


@law(25)
@given(NETS, STRENGTH)
def test_a_mismeasured_feature_loses_the_ranking_and_accuracy(seed, noise):
    world = make_world(small_net(seed), "y", "+", ONE, [MeasurementError("x", noise)])
    assert world.altered == ("x",)
    true, own = table_of(world, ("s", "x.true", "z", "y")), table_of(world, Y_OF_S_X_Z)
    best = [table[D].max(axis=-1).sum() for table in (true, own)]  # of rules that see s, x, z
    assert best[1] <= best[0] + 1e-12
    marginal, noisy = true.sum(axis=(0, 2, 3)), table_of(world, ["s", "x.true", "x"])
    given_x = noisy[0] / noisy[0].sum(axis=-1, keepdims=True)
    assert np.allclose(given_x, (1 - noise) * np.eye(3) + noise * marginal)


@law(25)
@given(NETS, STRENGTH, st.sampled_from([-1.0, 0.0, 3.0]), st.sampled_from([0.0, 0.5, 4.0]))
def test_a_shifted_measurement_is_the_nearest_level_of_the_number_and_its_error(seed, noise, shift, spread):
    assume(shift or spread)
    how = MeasurementError("x", noise, towards="shifted", shift=shift, spread=spread, ordered=True)
    world = make_world(small_net(seed), "y", "+", ONE, [how])
    noisy = table_of(world, ["s", "x.true", "x"])
    given_x = noisy[0] / noisy[0].sum(axis=-1, keepdims=True)
    numbers = np.array([2.0, 10.0, 1.0])  # the levels of x, as they are declared
    errors = np.random.default_rng(seed).normal(0, spread, 200_000) if spread else np.zeros(1)
    for code, number in enumerate(numbers):
        distances = np.abs(number - shift + errors[:, None] - numbers)
        nearest = np.bincount(distances.argmin(axis=1), minlength=3) / len(errors)
        expected = noise * nearest + (1 - noise) * (np.arange(3) == code)
        assert np.allclose(given_x[code], expected, atol=0.006)
    assert np.allclose(table_of(world, ["s", "x"])[F], table_of(world, ["s", "x.true"])[F])  # of the deprived


@law(25)
@given(NETS, st.sampled_from([0.25, 0.5, 1]))
def test_equation_4_is_label_bias_without_children_and_prior_shift_with_them(seed, beta):
    net = small_net(seed)
    arcs = [own + ((0,) if j == 1 and 0 not in own else ()) for j, own in enumerate(net.parents)]
    assume(not is_ancestor(net.parents, 1, 0))
    net = BayesNet(net.columns, tuple(arcs), random_tables(np.random.default_rng(seed), net.columns, arcs))
    tilted = make_beta_world(net, "y", "+", ONE, BetaBias(((ONE, 1.0),)), beta)
    kind = bias_kind(net.names, net.parents, "y", ["s"])
    p, recorded = likely(replace(tilted, network=net), recorded=False), likely(tilted, recorded=True)
    flips = np.allclose(recorded[D], (1 - beta) * p[D])
    odds = (recorded / (1 - recorded) / (p / (1 - p)))[D]
    constant = all(np.allclose(own, own.flat[0]) for own in odds)
    children = any(1 in own for own in net.parents)
    if kind == "label bias":
        assert not children
        flipped = make_world(net, "y", "+", ONE, [LabelBias(beta)])
        assert np.allclose(table_of(flipped, Y_OF_S_X_Z), table_of(tilted, Y_OF_S_X_Z))
        assert flips
    elif kind == "prior shift":
        assert children
        assert constant
    else:
        assert children
        assert {*net.parents_of("y")} > {"s"}
    assert np.allclose(recorded[F], p[F])


@law(15)
@given(
    NETS, st.one_of(KINDS["measurement"], KINDS["selection"], KINDS["group"]), st.sampled_from([ONE, JOINT])
)
@example(
    867457272, SelectionBias(0.2, by={"x": ("10",), "z": ("1",)}), JOINT
)  # two x of one p', but for rounding
@example(0, SelectionBias(0.1, None, "favoured", {"x": ("10",)}, {"x": ("10",), "z": ("1",)}), JOINT)
def test_the_best_thresholds_are_no_worse_than_any_other(seed, mechanism, groups):
    mechanisms = [MeasurementError("x", 0.2, "everybody"), mechanism]
    assume(possible(small_net(seed), groups, mechanisms))
    world = make_world(small_net(seed), "y", "+", groups, mechanisms)
    found = compute_facts(world, include_protected=False)
    best = found.measure("oracle-thresholds")
    assert best >= max(map(found.measure, ("bayes", "constant-accept", "constant-refuse"))) - 1e-12


# --- Rows -----------------------------------------------------------------------------------------------

ROLES = {
    "dutch": ("occupation", "5_4_9", {"sex": (("female",), ("male",))}, "edu_level", ("4", "5")),
    "compas": (
        "two_year_recid",
        "0",
        {"race": (("African-American",), ("Caucasian",))},
        "decile_score",
        ("1", "2"),
    ),
    "adult": ("income", ">50K", {"sex": (("Female",), ("Male",))}, "hours_per_week", ("31-40",)),
}


@cache
def shipped(name: str) -> BayesNet:
    return load(shipped_cards() / f"{name}.network.json")[0]


def mechanisms_for(name: str) -> dict[str, list[Any]]:
    column, levels = ROLES[name][3:]
    ordered = {"ordered": name != "adult"}  # whose hours are bins
    return {
        "label": [LabelBias(0.5)],
        "label given": [LabelBias(0.5, given={column: levels})],
        "selection": [SelectionBias(0.5)],
        "screening": [SelectionBias(0.5, by={column: levels})],
        "measurement": [MeasurementError(column, 0.5)],
        "history": [HistoricalBias(column, 0.5, "favoured")],
        "omission": [OmittedColumn(column)],
        "group": [GroupNoise(0.1)],
        "representation": [GroupShare(0.1)],
        "all": [
            HistoricalBias(column, 0.3, "lower", **ordered),
            LabelBias(0.3),
            SelectionBias(0.4, label="any"),
            MeasurementError(column, 0.3, towards="lower", of="everybody", **ordered),
            LabelBias(0.1, "favourable"),
            GroupNoise(0.2, "deprived"),
            GroupShare(0.3),
        ],
    }


def world_on(name: str, mechanisms: Sequence[Any]) -> World:
    return make_world(shipped(name), *ROLES[name][:3], mechanisms)


@pytest.mark.parametrize("name", ROLES)
def test_frequencies_of_drawn_people_pass_chi_square_tests(name):
    label, _, groups, column, _ = ROLES[name]
    for called, mechanisms in mechanisms_for(name).items():
        world = world_on(name, mechanisms)
        rows = draw_people(world, 50_000, seed=1)
        columns = [label, *groups, column]
        table, what = [], []
        for one in columns:
            for node in dict.fromkeys((world.true_name(one), one)):
                table.append((rows.recorded if node == one and one not in world.omitted else rows.true)[one])
                what.append(node)
        wanted = world.joint(what) * len(rows.true)
        seen = np.zeros(wanted.shape)
        np.add.at(seen, tuple(table), 1)
        assert not seen[wanted == 0].any(), called
        often = wanted >= 5
        parts = [(seen[often], wanted[often])]
        if (wanted[~often]).sum() >= 5:
            parts.append((seen[~often].sum(keepdims=True), wanted[~often].sum(keepdims=True)))
        statistic = sum(((a - b) ** 2 / b).sum() for a, b in parts)
        freedom = sum(a.size for a, _ in parts) - 1
        assert 1e-5 < chi2.sf(statistic, freedom) < 1 - 1e-5, called


@pytest.mark.parametrize("name", ROLES)
def test_the_truth_of_all_worlds_is_the_same_people_before_some_are_left_out(name):
    net = shipped(name)
    people = sample(net, 6000, seed=5)
    for called, mechanisms in mechanisms_for(name).items():
        if any(isinstance(how, HistoricalBias) for how in mechanisms):
            continue
        world = world_on(name, mechanisms)
        whole, rows = record_people(world, people, seed=5), draw_people(world, 1000, seed=5)
        first = np.flatnonzero(whole.included)[:1000]
        assert np.array_equal(whole.true.take(first).codes, rows.true.codes), called
        assert np.array_equal(whole.recorded.take(first).codes, rows.recorded.codes), called
        assert rows.recorded.names == tuple(n for n in net.names if n not in world.omitted)
        assert rows.recorded.columns == tuple(c for c in net.columns if c.name not in world.omitted)
        assert rows.included.all()
        assert rows.recorded.codes.dtype == np.int16
        assert rows.recorded.codes.flags.f_contiguous


def test_fewer_people_are_the_first_of_more_however_many_are_drawn_at_a_time(monkeypatch):
    for mechanisms in mechanisms_for("dutch").values():
        world = world_on("dutch", mechanisms)
        with monkeypatch.context() as patch:
            rows = draw_people(world, 700, seed=2)
            patch.setattr("fairbench_cli.network.world.BLOCK", 64)
            again, fewer = draw_people(world, 700, seed=2), draw_people(world, 90, seed=2)
            recorded = record_people(world, rows.true, seed=4)
        for one, other in ((rows, again), (rows, fewer)):
            n = len(other.true)
            assert np.array_equal(one.recorded.codes[:n], other.recorded.codes)
            assert np.array_equal(one.true.codes[:n], other.true.codes)
        whole = record_people(world, rows.true, seed=4)
        assert np.array_equal(whole.recorded.codes, recorded.recorded.codes)
        assert np.array_equal(whole.included, recorded.included)
    assert len(draw_people(world, 0, seed=1).recorded) == 0
    assert len(record_people(world, sample(shipped("dutch"), 0, 1), seed=1).included) == 0


@pytest.mark.parametrize("name", ROLES)
def test_strength_0_is_no_bias_and_gives_the_bytes_of_the_network(name):
    net, column = shipped(name), ROLES[name][3]
    none = [
        LabelBias(0),
        SelectionBias(0),
        MeasurementError(column, 0),
        HistoricalBias(column, 0, "favoured"),
        GroupNoise(0),
    ]
    plain = sample(net, 2000, seed=3)
    for mechanisms in ([], none, *([how] for how in none)):
        world = world_on(name, mechanisms)
        assert world.network is net
        rows = draw_people(world, 2000, seed=3)
        assert rows.recorded.codes.tobytes() == rows.true.codes.tobytes() == plain.codes.tobytes()
        assert rows.recorded.columns == plain.columns


def test_a_mechanism_more_leaves_what_it_does_not_look_at_alone():
    one = draw_people(world_on("dutch", [LabelBias(0.5)]), 2000, seed=6)
    more = draw_people(world_on("dutch", [LabelBias(0.5), MeasurementError("edu_level", 0.5)]), 2000, seed=6)
    again = draw_people(world_on("dutch", [LabelBias(0.5), LabelBias(0.2, of="favoured")]), 2000, seed=6)
    assert np.array_equal(one.recorded.without("edu_level").codes, more.recorded.without("edu_level").codes)
    flipped = one.recorded["occupation"] != again.recorded["occupation"]
    assert set(one.true["sex"][flipped]) == {1}
    truths = [rows.true.codes for rows in (one, more, again)]
    assert all(np.array_equal(truths[0], codes) for codes in truths[1:])


def test_what_is_wrong_at_a_strength_stays_wrong_at_a_higher_one():
    people = sample(shipped("dutch"), 5000, seed=7)
    for make in (
        lambda strength: LabelBias(strength),
        lambda strength: MeasurementError("edu_level", strength),
        lambda strength: MeasurementError("edu_level", strength, "everybody", "lower", ordered=True),
        lambda strength: GroupNoise(strength),
        lambda strength: SelectionBias(strength),
    ):
        before = None
        for strength in (0.2, 0.5, 0.8):
            rows = record_people(world_on("dutch", [make(strength)]), people, seed=7)
            wrong = (rows.recorded.codes != people.codes).any(axis=1) | ~rows.included
            assert wrong.any()
            assert before is None or (not np.any(before & ~wrong) and np.any(wrong & ~before))
            before = wrong


def test_equation_4_as_a_world_draws_the_rows_of_the_tilted_network():
    net, (label, plus, groups, *_) = shipped("dutch"), ROLES["dutch"]
    bias = BetaBias(((groups, 0.5), (groups, 1.0)))
    world = make_beta_world(net, label, plus, groups, bias, 0.6)
    tilted = shift(shift(net, label, plus, groups, 0.3), label, plus, groups, 0.6)
    assert np.array_equal(draw_people(world, 500, 1).recorded.codes, sample(tilted, 500, 1).codes)
    assert make_beta_world(net, label, plus, groups, bias, 0).network is net
    assert world.base is net


# --- Mistakes -------------------------------------------------------------------------------------------

SMALL = small_net(3)


@pytest.mark.parametrize(
    ("mechanisms", "message"),
    [
        ([LabelBias(1.5)], "flip is 1.5"),
        ([SelectionBias(-0.5)], "drop is -0.5"),
        ([LabelBias(0.5, given={"w": ("1",)})], 'given: there is no column "w"'),
        ([LabelBias(0.5, given={"x": ("3",)})], 'given: column "x" has no level "3"'),
        ([LabelBias(0.5, given={"x": ()})], 'given: no level of "x" is named'),
        ([LabelBias(0.5, given={})], "given: no column is named"),
        ([SelectionBias(0.5, by={})], "by: no column is named"),
        ([LabelBias(0.5, given={"y": ("+",)})], 'given: "y" is the outcome'),
        ([SelectionBias(0.5, by={"y": ("+",)})], 'by: "y" is the outcome'),
        ([SelectionBias(0.5, by={"z": ("0", "1")})], "lets everybody in"),
        ([SelectionBias(0.5, "any", "everybody")], "which is no bias"),
        ([SelectionBias(0.5, given={"z": ("1",)}, by={"z": ("1",)})], "nobody to be left out"),
        ([MeasurementError("w", 0.5)], 'column: there is no column "w"'),
        ([MeasurementError("y", 0.5)], 'column: "y" is the outcome\n.*`label`'),
        ([MeasurementError("s", 0.5)], 'column: "s" is the protected attribute\n.*`group`'),
        ([MeasurementError("x", 0.5, towards="7")], 'towards: column "x" has no level "7"'),
        ([MeasurementError("x", 0.5, towards="shifted")], "shifted by nothing"),
        ([MeasurementError("x", 0.5, shift=1.0)], "no effect here\n.*towards: shifted"),
        ([HistoricalBias("x", 0.5, "everybody")], 'has no level "everybody"'),
        ([HistoricalBias("x", 0.5, "favoured", "favoured")], "as the favoured already"),
        ([OmittedColumn("y")], "is the outcome"),
        ([OmittedColumn("x"), OmittedColumn("x")], "omitted twice"),
        ([OmittedColumn("x"), OmittedColumn("z")], "no feature"),
        ([GroupShare(0.0)], "leaves one group empty"),
        ([SelectionBias(1.0, "any")], "nobody who is recorded is deprived"),
        ([GroupNoise(1.0, "deprived")], "nobody who is recorded is deprived"),
        ([SelectionBias(1.0, "any", "everybody", given={"z": ("0", "1")})], "nobody is included"),
        ([SelectionBias(0.99999, "any", "everybody", given={"z": ("0", "1")})], "1e-05 of all people"),
    ],
)
def test_mistakes_are_named(mechanisms, message):
    with pytest.raises(UserError, match=message) as caught:
        make_world(SMALL, "y", "+", ONE, mechanisms)
    assert "\n  fix: " in str(caught.value)


def test_all_mistakes_of_a_list_are_told_at_once():
    with pytest.raises(UserError) as caught:
        make_world(SMALL, "y", "+", {"s": (("a",), ())}, [LabelBias(2), GroupNoise(0.5), OmittedColumn("w")])
    texts = [problem.what for problem in caught.value.problems]
    assert texts == ["flip is 2", 'no level of "s" is favoured', 'column: there is no column "w"']


def test_a_column_without_an_order_has_no_lower_level():
    columns = tuple(Column("x", ("low", "high", "mid")) if c.name == "x" else c for c in COLUMNS)
    for how in (
        MeasurementError("x", 0.5, towards="lower"),
        MeasurementError("x", 0.5, towards="shifted", shift=1.0),
    ):
        with pytest.raises(UserError, match=r"have no order.*\n.*low, high, mid"):
            make_world(small_net(3, columns), "y", "+", ONE, [how])


@pytest.mark.parametrize("kind", [MeasurementError, HistoricalBias])
def test_codes_have_an_order_where_it_is_said(kind):
    net = small_net(3)
    with pytest.raises(UserError, match=r"may be codes, .*\n.*write ordered: true if they rise as numbers"):
        make_world(net, "y", "+", ONE, [kind("x", 0.5, towards="lower", of="everybody")])
    make_world(net, "y", "+", ONE, [kind("x", 0.5, towards="lower", of="everybody", ordered=True)])
    with pytest.raises(UserError, match="leave ordered out, or write towards: lower"):
        make_world(net, "y", "+", ONE, [kind("x", 0.5, towards="marginal", of="everybody", ordered=True)])
    assert inspect_parameters(kind).unwritten["ordered"] is False


def test_history_needs_a_way_from_the_group_to_the_column():
    columns, half = (COLUMNS[0], COLUMNS[1], COLUMNS[3]), np.array([0.5, 0.5])
    from_z = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    cause = BayesNet(columns, ((2,), (0,), ()), (from_z, np.full((3, 2), 0.5), half))
    with pytest.raises(UserError, match='the group follows from "z"'):
        make_world(cause, "y", "+", ONE, [HistoricalBias("z", 0.5, "1")])
    with pytest.raises(UserError, match="of: everybody and something else after `towards`"):
        make_world(cause, "y", "+", ONE, [HistoricalBias("z", 0.5, "favoured")])
    moved = make_world(cause, "y", "+", ONE, [HistoricalBias("z", 0.5, "1", "everybody")])
    assert moved.network.cpt("z").tolist() == [0.25, 0.75]
    alone = BayesNet(columns, ((), (0,), ()), (np.array([0.2, 0.3, 0.5]), np.full((3, 2), 0.5), half))
    with pytest.raises(UserError, match="does not depend on the group"):
        make_world(alone, "y", "+", ONE, [HistoricalBias("z", 0.5, "favoured")])
    with pytest.raises(UserError, match='"z" stays as it is'):
        make_world(alone, "y", "+", ONE, [HistoricalBias("z", 0.5, "marginal")])
    world = make_world(alone, "y", "+", ONE, [HistoricalBias("z", 0.5, "1")])
    assert world.network.parents_of("z") == ("s",)
    assert world.network.cpt("z").tolist() == [[0.25, 0.75], [0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize("name", ["y.true", "included"])
def test_a_column_that_is_called_as_a_node_of_a_world_is_told(name):
    columns = (*COLUMNS, Column(name, ("0", "1")))
    with pytest.raises(UserError, match=f'have a column "{name}"'):
        make_world(small_net(1, columns), "y", "+", ONE, [LabelBias(0.5), SelectionBias(0.5)])


def test_a_group_with_one_outcome_alone_is_a_world():
    world = make_world(SMALL, "y", "+", ONE, [LabelBias(1)])
    rows = draw_people(world, 500, 1)
    deprived = rows.true["s"] != 1
    assert not rows.recorded["y"][deprived].any()
    assert rows.recorded["y"][~deprived].any()


def test_three_outcomes_flip_in_proportion_to_what_is_recorded():
    columns = tuple(Column("y", ("-", "+", "?")) if c.name == "y" else c for c in COLUMNS)
    net = small_net(2, columns)
    world = make_world(net, "y", "+", ONE, [LabelBias(0.5)])
    shares = table_of(world, ["y.true"])[[0, 2]]
    of_plus = table_of(world, ["s", "y.true", "y"])[0, 1]
    assert np.allclose(
        of_plus / of_plus.sum(), [0.5 * shares[0] / shares.sum(), 0.5, 0.5 * shares[1] / shares.sum()]
    )
    back = make_world(net, "y", "+", ONE, [LabelBias(0.5, "favourable")])
    found = table_of(back, ["s", "y.true", "y"])[1]
    assert np.allclose(found / found.sum(axis=1, keepdims=True), [[0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5]])


def test_a_world_is_drawn_only_for_people_of_its_own_columns():
    world = make_world(SMALL, "y", "+", ONE, [LabelBias(0.5)])
    with pytest.raises(ValueError, match="columns of the people"):
        record_people(world, sample(shipped("dutch"), 3, 1), 1)
    for n, seed in ((-1, 0), (1, -1)):
        with pytest.raises(ValueError, match="0 or more"):
            draw_people(world, n, seed)
    with pytest.raises(ValueError, match="0 or more"):
        record_people(world, sample(SMALL, 3, 1), -1)
