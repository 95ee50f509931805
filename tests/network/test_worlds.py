"""Worlds: every mechanism by its formula, on small networks cell by cell and on shipped ones by draws."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np
from conftest import law
from hypothesis import assume, given
from hypothesis import strategies as st
from network_data import random_tables

from fairbench_cli.data.table import Column
from fairbench_cli.network.mechanisms.group import GroupNoise
from fairbench_cli.network.mechanisms.history import HistoricalBias
from fairbench_cli.network.mechanisms.label import LabelBias
from fairbench_cli.network.mechanisms.measurement import MeasurementError
from fairbench_cli.network.mechanisms.omission import OmittedColumn
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.mechanisms.representation import GroupShare
from fairbench_cli.network.mechanisms.selection import SelectionBias
from fairbench_cli.network.model import BayesNet, is_ancestor
from fairbench_cli.network.world import World, world_of

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
    "measurement": st.builds(MeasurementError, st.just("x"), STRENGTH, GROUP, TOWARDS),
    "history": st.builds(HistoricalBias, st.just("x"), STRENGTH, TOWARDS | st.just("favoured")),
    "omission": st.just(OmittedColumn("x")),
    "group": st.builds(GroupNoise, STRENGTH, GROUP),
    "representation": st.builds(GroupShare, STRENGTH, st.sampled_from(["deprived", "favoured"])),
}


def possible(net: BayesNet, groups: Mapping[str, Any], mechanisms: Sequence[Any]) -> bool:
    """Return whether the list may be applied; what may not is tested further down."""
    x, above = net.index("x"), [net.index(name) for name in groups]
    for how in mechanisms:
        if isinstance(how, HistoricalBias):
            if any(is_ancestor(net.parents, x, i) for i in above):
                return False
            if how.towards == "favoured" and not set(above) & set(net.parents[x]):
                return False
    omissions = sum(isinstance(how, OmittedColumn) for how in mechanisms)
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
    world = world_of(net, "y", "+", groups, mechanisms)
    assert np.allclose(truth_and_record(world), person_by_person(net, groups, mechanisms), atol=1e-12)


def test_every_mechanism_is_among_them():
    assert list(KINDS) == list(MECHANISMS)
