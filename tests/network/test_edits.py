"""β on the table of the group's column, against sums over every combination of levels of all columns.

The second implementation knows no arrays of tables: a network is a function from a column's level and its
parents' levels to a probability, which β changes person by person.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import BetaBias, bias_kind, edited_tables, shift
from fairbench_cli.network.exact_measures import compute_facts
from fairbench_cli.network.model import BayesNet, cpt_shape
from fairbench_cli.network.query import compute_posterior
from fairbench_cli.network.world import make_beta_world, make_world

Person = Mapping[str, str]
Chance = Callable[[Person, str], float]
SEX = {"s": (("f",), ("m",))}
RACE = {"r": (("b",), ("w",))}
LEVELS = {"a": "012", "r": "bw", "y": "-+", "s": "fmo", "x": "01", "d": "012"}
CHILDLESS = {"r": ("a",), "y": ("r", "a"), "s": ("a", "y"), "x": ("y", "a")}
"""The outcome has a child that is a group and one that is none; r is its parent."""
ARCS = CHILDLESS | {"d": ("s", "x")}
BETAS = st.sampled_from([0.25, 0.5, 1.0])
DIRECTIONS = pytest.mark.parametrize("both", [False, True])
SEEDS = st.integers(0, 10**6)


def random_people(seed: int, arcs: Mapping[str, tuple[str, ...]] = ARCS) -> BayesNet:
    """Return a network of five or six columns, with a zero here and there."""
    rng = np.random.default_rng(seed)
    names = tuple(name for name in LEVELS if name == "a" or name in arcs)
    columns = tuple(Column(name, tuple(LEVELS[name])) for name in names)
    parents = tuple(tuple(names.index(parent) for parent in arcs.get(name, ())) for name in names)
    tables = []
    for j, own in enumerate(parents):
        table = rng.dirichlet(np.ones(len(columns[j].levels)), cpt_shape(columns, own, j)[:-1])
        table[..., 0] *= rng.random(table.shape[:-1]) > 0.2
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return BayesNet(columns, parents, tuple(tables))


def chance_of(net: BayesNet) -> Chance:
    """Return P(the person's level of a column | the person's levels of its parents)."""

    def chance(person: Person, name: str) -> float:
        nodes = [*net.parents_of(name), name]
        return float(net.cpt(name)[tuple(net.levels_of(node).index(person[node]) for node in nodes)])

    return chance


def regrouped(chance: Chance, net: BayesNet, column: str, outcome: str, taken: str, beta: float) -> Chance:
    """Return the chances where a share β of those of a level with an outcome has another level instead."""

    def changed(person: Person, name: str) -> float:
        p = chance(person, name)
        if name != column or person["y"] != outcome:
            return p
        stays = chance({**person, column: taken}, column)
        if person[column] == taken:
            return (1 - beta) * p
        if stays == 1:
            return beta / (len(net.levels_of(column)) - 1)
        return p + beta * stays * p / (1 - stays)

    return changed


def everybody(net: BayesNet) -> Iterator[Person]:
    for levels in product(*(column.levels for column in net.columns)):
        yield dict(zip(net.names, levels, strict=True))


def joint(net: BayesNet, chance: Chance) -> dict[tuple[str, ...], float]:
    """Return the probability of every person by the levels of all columns."""
    return {
        tuple(person.values()): float(np.prod([chance(person, name) for name in net.names]))
        for person in everybody(net)
    }


def joint_of(net: BayesNet) -> dict[tuple[str, ...], float]:
    return joint(net, chance_of(net))


def total(people: Mapping[tuple[str, ...], float], names: tuple[str, ...], **levels: str) -> float:
    """Return the probability of who has some levels."""
    return sum(
        p
        for person, p in people.items()
        if all(person[names.index(name)] == level for name, level in levels.items())
    )


def close(ours: Mapping[Any, float], theirs: Mapping[Any, float]) -> None:
    assert ours.keys() == theirs.keys()
    assert np.allclose(list(ours.values()), [theirs[key] for key in ours], atol=1e-14)


@DIRECTIONS
@law(24)
@given(seed=SEEDS, beta=BETAS)
def test_the_groups_table_given_the_favourable_outcome_is_edited(seed, beta, both):
    net = random_people(seed)
    tilted = shift(net, "y", "+", SEX, beta, both, "group")
    expected = regrouped(chance_of(net), net, "s", "+", "f", beta)
    if both:
        expected = regrouped(expected, net, "s", "-", "m", beta)
    close(joint_of(tilted), joint(net, expected))
    assert [name for name in net.names if not np.array_equal(net.cpt(name), tilted.cpt(name))] in ([], ["s"])


@law(24)
@given(SEEDS, BETAS)
def test_people_stay_who_they_are_but_for_the_group_where_it_has_no_children(seed, beta):
    net = random_people(seed, CHILDLESS)
    tilted = shift(net, "y", "+", SEX, beta, edit="group")
    before, after = joint_of(net), joint_of(tilted)
    at = net.names.index("s")
    for person in everybody(net):
        levels = tuple(person.values())
        of_all_groups = [levels[:at] + (group,) + levels[at + 1 :] for group in "fmo"]
        assert sum(before[own] for own in of_all_groups) == pytest.approx(
            sum(after[own] for own in of_all_groups)
        )
        if person["s"] == "f":
            kept = 1 - beta if person["y"] == "+" else 1
            assert after[levels] == pytest.approx(kept * before[levels])
    assert bias_kind(net.names, net.parents, "y", ["s"], "group") == "wrong group"


@law(24)
@given(SEEDS, BETAS)
def test_the_groups_children_are_drawn_by_the_recorded_group(seed, beta):
    net = random_people(seed)
    tilted = shift(net, "y", "+", SEX, beta, edit="group")
    names, after = net.names, joint_of(tilted)
    for s, x, d in product("fmo", "01", "012"):
        of_parents = total(after, names, s=s, x=x)
        if of_parents > 0:
            recorded = total(after, names, s=s, x=x, d=d) / of_parents
            assert recorded == pytest.approx(chance_of(net)({"s": s, "x": x, "d": d}, "d"))
    assert bias_kind(names, net.parents, "y", ["s"], "group") == "mixture"


@law(20)
@given(SEEDS, BETAS)
def test_as_learned_takes_the_arc_that_there_is(seed, beta):
    net = random_people(seed)
    for groups, edit in ((RACE, "outcome"), (SEX, "group")):
        learned = shift(net, "y", "+", groups, beta, True, "as-learned")
        close(joint_of(learned), joint_of(shift(net, "y", "+", groups, beta, True, edit)))
    for groups, edit in ((RACE, "group"), (SEX, "outcome"), ({"d": (("0",), ("1",))}, "as-learned")):
        with pytest.raises(UserError, match="beta has nothing to change"):
            shift(net, "y", "+", groups, beta, edit=edit)


@DIRECTIONS
@law(20)
@given(seed=SEEDS, beta=BETAS)
def test_attributes_of_different_arcs_are_edited_each_by_its_own(seed, beta, both):
    """Of a joint attribute, too: the two edits change different tables."""
    net = random_people(seed)
    in_turn = BetaBias(((RACE, 1.0), (SEX, 0.5)), both, "as-learned").tilt(net, "y", "+", beta)
    by_race = shift(net, "y", "+", RACE, beta, both)
    close(joint_of(in_turn), joint_of(shift(by_race, "y", "+", SEX, beta / 2, both, "group")))
    together = shift(net, "y", "+", RACE | SEX, beta, both, "as-learned")
    close(joint_of(together), joint_of(shift(by_race, "y", "+", SEX, beta, both, "group")))
    assert edited_tables(net.names, net.parents, "y", ["r", "s"], "as-learned") == {"r": "y", "s": "s"}
    assert bias_kind(net.names, net.parents, "y", ["r", "s"], "as-learned") == "mixture"


@DIRECTIONS
@law(20)
@given(seed=SEEDS, beta=BETAS)
def test_what_is_said_of_such_a_world_are_sums_over_everybody(seed, beta, both):
    groups = {"s": (("f",), ("m", "o"))}
    net = random_people(seed)
    bias = BetaBias(((groups, 1.0),), both, "group")
    world = make_beta_world(net, "y", "+", groups, bias, beta)
    facts = compute_facts(world)
    taken = regrouped(chance_of(net), net, "s", "+", "f", beta)
    if both:  # all but f are favoured
        tilted = taken

        def taken(person: Person, name: str) -> float:
            if name != "s" or person["y"] == "+":
                return tilted(person, name)
            others = sum(tilted({**person, "s": level}, "s") for level in "mo")
            if person["s"] == "f":
                return tilted(person, name) + beta * others
            return (1 - beta) * tilted(person, name)

    truth, record = joint_of(net), joint(net, taken)
    names = net.names
    for labels, people in (("true", truth), ("recorded", record)):
        women = total(people, names, s="f")
        favourable = total(people, names, y="+", s="f")
        of_others = total(people, names, y="+") - favourable
        assert facts.value("share", labels, "deprived") == pytest.approx(women)
        if women > 0:
            assert facts.value("favourable", labels, "deprived") == pytest.approx(favourable / women)
        assert facts.value("favourable", labels, "favoured") == pytest.approx(of_others / (1 - women))
    # The rule of the record, p'(x) ≥ ½, judged on the truth; people like nobody in it get their group's rate.
    right = 0.0
    at = names.index("y")
    distance = sum(abs(record[person] - truth[person]) for person in truth) / 2
    for person in truth:
        if person[at] == "+":
            other = person[:at] + ("-",) + person[at + 1 :]
            seen = record[person] + record[other]
            p = record[person] / seen if seen > 0 else _rate(record, names, person)
            right += truth[person] if p >= 0.5 - 1e-12 else truth[other]
    assert facts.value("total-variation") == pytest.approx(distance)
    assert facts.measure("bayes") == pytest.approx(right)


def _rate(record: Mapping[tuple[str, ...], float], names: tuple[str, ...], person: tuple[str, ...]) -> float:
    """Return the favourable share of the person's group in the record, or of nobody, of all."""
    at = names.index("s")
    own = [p for other, p in record.items() if (other[at] == "f") == (person[at] == "f")]
    plus = [
        p
        for other, p in record.items()
        if (other[at] == "f") == (person[at] == "f") and other[names.index("y")] == "+"
    ]
    return sum(plus) / sum(own) if sum(own) > 0 else 0.0


def test_a_group_that_is_everybody_has_nobody_to_give_to():
    net = random_people(1)
    with pytest.raises(UserError, match='every level of "s" is named as deprived'):
        shift(net, "y", "+", {"s": (("f", "m", "o"), ())}, 0.5, edit="group")


@pytest.mark.gate
def test_the_network_that_is_learned_of_dutch_records_women_as_men(data_folder):
    """The arc is occupation → sex: equation (4) along the other one has nothing to edit."""
    net = fb.learn(fb.load("dutch", data_dir=data_folder))
    assert ("occupation", "sex") in net.arcs
    with pytest.raises(UserError, match="sex is no parent of the outcome occupation"):
        net.tilt(0.5)
    before = joint_share(net.net)
    for beta in (0.25, 0.5, 0.75, 1):
        tilted = net.tilt(beta, edit="as-learned").net
        after = joint_share(tilted)
        assert np.allclose(after[0, 1], (1 - beta) * before[0, 1])  # women with the favourable occupation
        assert np.allclose(after.sum(0), before.sum(0))  # occupations
        assert np.allclose(after[:, 0], before[:, 0])  # and who has the other one
        rest = [name for name in net.net.parents_of("sex") if name != "occupation"]
        for plus, kept in (("2_1", 1 - beta), ("5_4_9", 1)):
            table, edited = (
                np.take(
                    own.cpt("sex"),
                    own.levels_of("occupation").index(plus),
                    list(own.parents_of("sex")).index("occupation"),
                )[..., own.levels_of("sex").index("female")]
                for own in (net.net, tilted)
            )
            assert table.ndim == len(rest)
            assert np.allclose(edited, kept * table)


def joint_share(net: BayesNet) -> np.ndarray:
    """Return P(sex, occupation) with women and the unfavourable occupation first."""
    table = compute_posterior(net, ["sex", "occupation"], {}).table
    women = net.levels_of("sex").index("female")
    low = net.levels_of("occupation").index("5_4_9")
    return table[[women, 1 - women]][:, [low, 1 - low]]


def test_nobody_is_edited_at_0():
    net = random_people(2)
    groups = {"s": (("f",), ("m", "o"))}
    bias = BetaBias(((groups, 1.0),), tilt_favoured=True, edit="group")
    assert bias.tilt(net, "y", "+", 0) is net
    world = make_beta_world(net, "y", "+", groups, bias, 0)
    assert compute_facts(world).rows() == compute_facts(make_world(net, "y", "+", groups)).rows()


def test_an_edit_is_one_of_three_and_is_said_of_the_network(tmp_path):
    net = fb.load_network("compas")
    with pytest.raises(UserError, match="edit is 'Group'\n  fix: did you mean \"group\""):
        net.tilt(0.5, "race", edit="Group")
    path = tmp_path / "tilted.json"
    net.tilt(0.5, "sex", edit="group").tilt(0.25, "race").save(path)
    assert "; β = 0.5 by sex (edit: group); β = 0.25 by race>" in repr(fb.load_network(path))
