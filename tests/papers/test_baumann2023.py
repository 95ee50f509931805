"""The networks of configs/baumann2023 are the generator's: against rows drawn by its formulas.

J. Baumann, A. Castelnovo, R. Crupi, N. Inverardi, D. Regoli, "Bias on demand: a modelling framework that
generates synthetic data with bias", FAccT 2023. Each file has the parameters it was made with.
"""

from pathlib import Path

import numpy as np
import pytest

from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.biases import LabelBias
from fairbench_cli.network.world import make_world

FOLDER = Path(__file__).parents[2] / "configs" / "baumann2023"
EDGES = (0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 12.0, 15.0)  # of the bins of R and P
ROWS = 200_000


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.network.json")), ids=lambda path: path.name)
def test_tables_against_rows_drawn_by_the_formulas(path):
    network, meta = load(path)
    rows = drawn(meta.source["generator"], np.random.default_rng(2023))
    worst, tested = 0.0, 0
    for name, cpt in zip(network.names, network.cpts, strict=True):
        family = (*network.parents_of(name), name)
        cells = np.ravel_multi_index([rows[column] for column in family], cpt.shape)
        counts = np.bincount(cells, minlength=cpt.size).reshape(cpt.shape)
        totals = np.broadcast_to(counts.sum(axis=-1, keepdims=True), cpt.shape)
        assert not counts[cpt == 0].any()
        large = (totals * cpt > 20) & (totals * (1 - cpt) > 20)
        z = (counts - totals * cpt)[large] / np.sqrt(totals * cpt * (1 - cpt))[large]
        worst, tested = max(worst, float(np.abs(z).max())), tested + int(large.sum())
    assert tested > 100
    # The mean of S is that of these rows: it moves P(Y) by less than a standard error of a table's row.
    assert worst < 4.5


def test_a_measured_outcome_and_a_historical_one_leave_the_same_record():
    groups = {"A": (("1",), ("0",))}
    flips = LabelBias(1.0, given={"near": ["yes"]})
    history, measured = (load(FOLDER / f"{name}.network.json")[0] for name in ("history-y", "measured-y"))
    worlds = make_world(history, "Y", "1", groups, []), make_world(measured, "Y", "1", groups, [flips])
    record, other = (world.joint(["A", "R", "Q", "Y"]) for world in worlds)
    np.testing.assert_allclose(record, other, atol=1e-12)
    assert not np.allclose(*(world.joint([world.true_name("Y")]) for world in worlds), atol=0.05)


def drawn(given, rng):
    """Return rows of the generator, cut into the bins of its network."""
    a = rng.integers(0, 2, ROWS)
    r = rng.gamma(2, 3, ROWS) - given["history_r"] * a
    q = rng.binomial(3, 1 / (1 + np.exp(given["r_to_q"] * r - given["history_q"] * a)))
    score = r - given["q_weight"] * q - given["history_y"] * a + given["interaction"] * r * a
    score += rng.normal(0, given["sigma"], ROWS)
    cut = (score - given["measured_y"] * a).mean()
    rows = {"A": a, "R": np.searchsorted(EDGES, r, side="right"), "Q": q, "Y": score > cut}
    if given["measured_r"] is not None:
        proxy = r - given["measured_r"] * a + rng.normal(0, 2, ROWS)
        rows["P"] = np.searchsorted(EDGES, proxy, side="right")
    rows["near"] = rows["Y"] & (score <= cut + given["measured_y"])
    return {name: np.asarray(codes, np.intp) for name, codes in rows.items()}
