"""Sampling: right frequencies, one stream per column, nothing impossible."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import _cdf, _invert, sample
from fairbench_cli.network.files import Meta, from_json, to_json
from fairbench_cli.network.model import BayesNet


def random_net(seed: int, nodes: int = 6, most_levels: int = 6) -> BayesNet:
    """Draw a network with up to three parents a node, and zeros in its tables."""
    rng = np.random.default_rng(seed)
    rank = rng.permutation(nodes)
    levels = rng.integers(1, most_levels + 1, nodes)
    parents, cpts = [], []
    for j in range(nodes):
        older = np.flatnonzero(rank < rank[j])
        own = tuple(int(i) for i in rng.permutation(older)[: rng.integers(0, 4)])
        weights = rng.gamma(0.7, size=(*levels[list(own)], levels[j]))
        weights *= rng.random(weights.shape) < 0.8
        weights[..., rng.integers(levels[j])] += 0.01
        parents.append(own)
        cpts.append(weights / weights.sum(axis=-1, keepdims=True))
    columns = tuple(Column(f"v{j}", tuple(map(str, range(levels[j])))) for j in range(nodes))
    return BayesNet(columns, tuple(parents), tuple(cpts))


def test_rows_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    net = random_net(3)
    whole = sample(net, 50, 1)
    monkeypatch.setattr("fairbench_cli.network.draw.BLOCK", 7)
    np.testing.assert_array_equal(sample(net, 50, 1).codes, whole.codes)


def permuted(net: BayesNet, order: list[int]) -> BayesNet:
    where = {old: new for new, old in enumerate(order)}
    return BayesNet(
        tuple(net.columns[j] for j in order),
        tuple(tuple(where[i] for i in net.parents[j]) for j in order),
        tuple(net.cpts[j] for j in order),
    )


def cells(net: BayesNet, rows: Table, j: int) -> np.ndarray:
    counts = np.zeros(net.cpts[j].shape)
    np.add.at(counts, tuple(rows.codes[:, i] for i in (*net.parents[j], j)), 1)
    return counts


@pytest.mark.parametrize("seed", range(8))
def test_frequencies_pass_a_chi_square_test(seed):
    net = random_net(seed)
    rows = sample(net, 50_000, seed=seed)
    statistic, freedom = 0.0, 0
    for j, cpt in enumerate(net.cpts):
        seen = cells(net, rows, j).reshape(-1, cpt.shape[-1])
        wanted = cpt.reshape(-1, cpt.shape[-1]) * seen.sum(axis=1, keepdims=True)
        enough = np.all((wanted >= 5) | (wanted == 0), axis=1) & (seen.sum(axis=1) > 0)
        positive = wanted[enough] > 0
        statistic += (((seen[enough] - wanted[enough]) ** 2)[positive] / wanted[enough][positive]).sum()
        freedom += int(positive.sum() - enough.sum())
    assert freedom > 5
    assert 0.001 < chi2.sf(statistic, freedom) < 0.9995


@law(60)
@given(st.integers(0, 10**6), st.integers(0, 2**80))
def test_impossible_levels_are_never_drawn(net_seed, seed):
    net = random_net(net_seed)
    rows = sample(net, 300, seed)
    for j in range(len(net.names)):
        assert not cells(net, rows, j)[net.cpts[j] == 0].any()


@law(30)
@given(st.integers(0, 10**6), st.permutations(range(6)))
def test_column_order_does_not_matter(net_seed, order):
    net = random_net(net_seed)
    rows, other = sample(net, 200, seed=3), sample(permuted(net, order), 200, seed=3)
    assert other.names == tuple(net.names[j] for j in order)
    assert all(np.array_equal(rows[name], other[name]) for name in net.names)


def test_a_column_more_leaves_the_others_alone():
    net = random_net(5)
    more = BayesNet(
        (Column("new", ("0", "1")), *net.columns),
        ((3,), *(tuple(i + 1 for i in own) for own in net.parents)),
        (np.full((len(net.columns[2].levels), 2), 0.5), *net.cpts),
    )
    rows, other = sample(net, 500, seed=3), sample(more, 500, seed=3)
    assert all(np.array_equal(rows[name], other[name]) for name in net.names)


@law(40)
@given(st.integers(0, 10**6))
def test_json_and_order_of_arcs(net_seed):
    net = random_net(net_seed)
    again, _ = from_json(to_json(net, Meta("tabu", "k2", -1.5, -2.0)))
    assert again.columns == net.columns
    assert again.parents == net.parents
    assert all(np.array_equal(a, b) for a, b in zip(net.cpts, again.cpts, strict=True))


def biased() -> BayesNet:
    """s -> y <- x, y -> z, s -> w."""
    columns = tuple(Column(name, ("0", "1")) for name in ("s", "x", "y", "z", "w"))
    half, follow = np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]])
    table = np.array([[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]]])
    return BayesNet(columns, ((), (), (0, 1), (2,), (0,)), (half, half, table, follow, follow))


def test_across_beta_only_the_outcome_and_its_descendants_change():
    grid = [
        sample(shift(biased(), "y", "1", {"s": (["0"], ["1"])}, beta), 5000, seed=9)
        for beta in (0, 0.25, 0.5, 0.75, 1)
    ]
    deprived = grid[0]["s"] == 0
    for less, more in pairwise(grid):
        assert all(np.array_equal(less[name], more[name]) for name in ("s", "x", "w"))
        assert np.array_equal(less["y"][~deprived], more["y"][~deprived])
        assert np.all(more["y"] <= less["y"])  # nobody becomes positive
        assert (more["y"] < less["y"]).any()
    assert not grid[-1]["y"][deprived].any()


def test_seeds_and_names_decide():
    columns = (Column("a", ("0", "1")), Column("b", ("0", "1")))
    net = BayesNet(columns, ((), ()), (np.full(2, 0.5), np.full(2, 0.5)))
    rows = sample(net, 1000, seed=1)
    assert np.array_equal(rows.codes, sample(net, 1000, seed=1).codes)
    assert not np.array_equal(rows["a"], sample(net, 1000, seed=2)["a"])
    assert not np.array_equal(rows["a"], sample(net, 1000, seed=1 + 2**64)["a"])
    assert abs(np.corrcoef(rows["a"], rows["b"])[0, 1]) < 0.1


def test_the_shape_of_a_sample():
    rows = sample(random_net(1), 10, seed=0)
    assert rows.codes.dtype == np.int16
    assert rows.codes.flags.f_contiguous
    assert len(sample(random_net(1), 0, seed=0)) == 0


@pytest.mark.parametrize(("n", "seed"), [(-1, 0), (1, -1)])
def test_negative_numbers_are_refused(n, seed):
    with pytest.raises(ValueError, match="0 or more"):
        sample(random_net(1), n, seed)


@pytest.mark.parametrize("never", [0, 1, 3])
def test_the_largest_number_draws_the_last_level_that_is_possible(never):
    tenths = np.array([[0.1] * 10 + [0.0] * never])  # in floating point the sum falls short of 1
    assert np.cumsum(tenths)[-1] < 1
    cdf = _cdf(tenths)
    last, before = np.nextafter(1, 0), np.nextafter(cdf[0, 8], 0)
    assert _invert(cdf, np.zeros(3, dtype=np.intp), np.array([0.0, before, last])).tolist() == [0, 8, 9]
    assert np.allclose(cdf[0, :9], np.arange(1, 10) / 10)
