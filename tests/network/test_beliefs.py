"""Chances of people by a network: against posterior probabilities, person by person."""

import numpy as np
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from network_data import random_net

from fairbench_cli.data.table import Table
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_chances, compute_posterior


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
def test_a_chance_is_the_posterior_of_what_is_not_hidden(seed, hidden):
    net, people = some_people(seed)
    rows = {name: people[name] for name in net.names}
    chances = compute_chances(net, "c2", "a", rows.keys() - {"c2", *hidden}, rows)
    assert np.allclose(chances, by_query(net, people, "c2", hidden), rtol=1e-9)
