"""Belift off a network: against posterior probabilities, person by person."""

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from network_data import random_net

from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import belief, compute_posterior, network_belift


def some_people(seed: int, rows: int = 6) -> tuple[BayesNet, Table]:
    rng = np.random.default_rng(seed)
    net = random_net(rng, 5)
    codes = np.column_stack(
        [rng.integers(0, levels, rows) for levels in (len(c.levels) for c in net.columns)]
    )
    return net, Table(net.columns, codes.astype(np.int16))


def by_query(net: BayesNet, people: Table, outcome: str, hidden: tuple[str, ...]) -> list[float]:
    """P(outcome = a | what is known), one query a person."""
    found = []
    for row in people.codes:
        known = {
            column.name: column.levels[code]
            for column, code in zip(net.columns, row, strict=True)
            if column.name not in (outcome, *hidden)
        }
        found.append(float(compute_posterior(net, [outcome], known).table[0]))
    return found


@law(25)
@given(
    seed=st.integers(0, 9999),
    hidden=st.sampled_from([(), ("c0",), ("c4",), ("c0", "c3"), ("c3", "c1", "c0")]),
)
def test_a_belief_is_the_posterior_of_what_is_not_hidden(seed, hidden):
    net, people = some_people(seed)
    assert np.allclose(belief(net, people, "c2", "a", hidden), by_query(net, people, "c2", hidden), rtol=1e-9)


@pytest.mark.gate
@law(15)
@given(seed=st.integers(0, 9999))
def test_belift_is_the_ratio_of_two_beliefs_and_does_not_look_at_the_outcome(seed):
    net, people = some_people(seed)
    found = network_belift(net, people, "c2", "a", "c0", ["c1", "c0"])
    assert np.allclose(
        found, belief(net, people, "c2", "a") / by_query(net, people, "c2", ("c0", "c1")), rtol=1e-9
    )
    other = people.codes.copy()
    other[:, 2] = 0
    again = network_belift(net, Table(net.columns, other), "c2", "a", "c0", ["c1"])
    assert np.array_equal(again, found)


def test_a_group_that_says_nothing_has_a_belift_of_one():
    columns = (Column("s", ("f", "m")), Column("y", ("no", "yes")))
    net = BayesNet(columns, ((), ()), (np.array([0.5, 0.5]), np.array([0.25, 0.75])))
    people = Table(columns, np.array([[0, 0], [1, 1]], dtype=np.int16))
    assert network_belift(net, people, "y", "yes", "s").tolist() == [1.0, 1.0]


def test_whom_the_network_rules_out_has_none():
    columns = (Column("s", ("f", "m")), Column("y", ("no", "yes")), Column("x", ("a", "b")))
    never = np.array([[1.0, 0.0], [1.0, 0.0]])
    net = BayesNet(columns, ((), (0,), (1,)), (np.array([0.5, 0.5]), np.full((2, 2), 0.5), never))
    people = Table(columns, np.array([[0, 0, 0], [0, 0, 1]], dtype=np.int16))
    assert np.array_equal(network_belift(net, people, "y", "yes", "s"), [1.0, np.nan], equal_nan=True)


def test_what_is_refused():
    net, people = some_people(1)
    with pytest.raises(ValueError, match="not those of the network"):
        network_belift(net, Table(people.columns[::-1], people.codes), "c2", "a", "c0")
    with pytest.raises(ValueError, match="cannot be what gives the group away"):
        network_belift(net, people, "c2", "a", "c0", ["c2"])
    with pytest.raises(KeyError):
        network_belift(net, people, "c2", "a", "nobody")
    with pytest.raises(ValueError, match="not in tuple"):
        network_belift(net, people, "c2", "nothing", "c0")
    many = tuple(Column(f"c{j}", ("a", "b")) for j in range(15))
    wide = BayesNet(many, ((),) * 15, (np.array([0.5, 0.5]),) * 15)
    nobody = Table(many, np.zeros((1, 15), dtype=np.int16))
    hidden = [column.name for column in many[1:]]
    with pytest.raises(ValueError, match="16384 combinations; at most 10000"):
        belief(wide, nobody, "c0", "a", hidden)
