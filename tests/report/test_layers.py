"""Small networks are laid out without scipy.optimize, as with it."""

import numpy as np
import pytest

from fairbench_cli.report.show import graph_layout as layers


@pytest.mark.parametrize("seed", range(20))
def test_small_networks_stand_where_highs_puts_them(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 12))
    parents = [[i for i in range(j) if rng.random() < 0.3] for j in range(n_nodes)]
    widths = rng.uniform(0.5, 2.0, n_nodes).round(2).tolist()
    layout = layers.lay_out(parents, widths, 0.15)
    monkeypatch.setattr(layers, "SMALL", -1)
    by_highs = layers.lay_out(parents, widths, 0.15)
    assert layout.layers == by_highs.layers
    assert layout.x == pytest.approx(by_highs.x, abs=2e-6)


def test_one_box_and_no_limits():
    assert layers.lay_out([()], [1.0], 0.15).x == (0.5,)
    assert layers.dual_simplex(np.ones(2), np.zeros((0, 2)), np.zeros(0)).tolist() == [0.0, 0.0]


def test_what_goes_in_circles_is_given_up(monkeypatch):
    monkeypatch.setattr(layers, "PIVOTS", 0)
    assert layers.dual_simplex(np.ones(1), np.array([[-1.0]]), np.array([-1.0])) is None
