"""Tables by maximum likelihood; test_pomegranate.py has the comparison."""

import numpy as np
import pytest
from network_data import unseen

from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.family_counts import fit_network

PARENTS = ((), (0,), (1, 0), ())


def table(rows: int = 500, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    columns = tuple(
        Column(name, tuple(map(str, range(r)))) for name, r in zip("abcd", (3, 2, 4, 5), strict=True)
    )
    # The last level of every column never occurs, and b follows a.
    a = rng.integers(0, 2, rows)
    codes = np.stack([a, a * 0, rng.integers(0, 3, rows), rng.integers(0, 4, rows)], axis=1)
    return Table(columns, np.asfortranarray(codes.astype(np.int16)))


def counted(data: Table, family: tuple[int, ...]) -> np.ndarray:
    cells = np.zeros([data.level_counts[i] for i in family])
    np.add.at(cells, tuple(data.codes[:, i] for i in family), 1)
    totals = np.broadcast_to(cells.sum(axis=-1, keepdims=True), cells.shape)
    return np.divide(cells, totals, out=np.full_like(cells, 1 / cells.shape[-1]), where=totals > 0)


def test_tables_have_declared_levels_and_are_exact():
    data = table()
    net = fit_network(data, PARENTS)
    assert net.cpts[2].shape == (2, 3, 4)
    for j, own in enumerate(PARENTS):
        assert np.array_equal(net.cpts[j], counted(data, (*own, j)))


def test_configurations_never_seen_are_uniform_and_counted():
    data = table()
    net = fit_network(data, PARENTS)
    assert unseen(data, PARENTS) == (0, 1, 4, 0)
    assert net.cpts[2][1, 2].tolist() == [0.25] * 4


def test_parents_are_axes_in_the_order_given():
    data = table()
    forth, back = fit_network(data, PARENTS), fit_network(data, ((), (0,), (0, 1), ()))
    assert np.array_equal(forth.cpts[2], back.cpts[2].swapaxes(0, 1))


def test_equal_level_counts_do_not_swap_parents():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    data = Table(
        tuple(Column(name, ("0", "1")) for name in "abc"),
        np.asfortranarray(np.stack([a, b, a], axis=1).astype(np.int16)),
    )
    net = fit_network(data, ((), (), (1, 0)))
    assert np.array_equal(net.cpts[2], np.array([[[1.0, 0], [0, 1]], [[1, 0], [0, 1]]]))


def test_nothing_to_fit_and_cycles_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        fit_network(table(rows=0), PARENTS)
    with pytest.raises(ValueError, match="cycle"):
        fit_network(table(), ((1,), (0,), (), ()))
