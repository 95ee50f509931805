"""Chances of people in a network: against posterior probabilities, person by person."""

import numpy as np
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from network_data import random_net

from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_chances, compute_posterior


def some_people(seed: int, rows: int = 6) -> tuple[BayesNet, Table]:
    rng = np.random.default_rng(seed)
    net = random_net(rng, 5)
    codes = np.column_stack(
        [rng.integers(0, levels, rows) for levels in (len(c.levels) for c in net.columns)]
    )
    return net, Table(net.columns, codes.astype(np.int16))


def belief(net: BayesNet, people: Table, outcome: str, favourable: str, hidden: tuple[str, ...] = ()):
    rows = {name: people[name] for name in net.names}
    return compute_chances(net, outcome, favourable, rows.keys() - {outcome, *hidden}, rows)


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


def test_whom_the_network_rules_out_has_none():
    columns = (Column("s", ("f", "m")), Column("y", ("no", "yes")), Column("x", ("a", "b")))
    never = np.array([[1.0, 0.0], [1.0, 0.0]])
    net = BayesNet(columns, ((), (0,), (1,)), (np.array([0.5, 0.5]), np.full((2, 2), 0.5), never))
    people = Table(columns, np.array([[0, 0, 0], [0, 0, 1]], dtype=np.int16))
    assert np.array_equal(belief(net, people, "y", "yes", ("s",)), [0.5, np.nan], equal_nan=True)
