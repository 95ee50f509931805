"""The networks of configs/baumann2023 are the generator's: against rows drawn by its formulas."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import study_of

from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.biases import LabelBias, MeasurementError
from fairbench_cli.network.query import compute_posterior
from fairbench_cli.network.world import make_world

STUDY = study_of("baumann2023")
ROWS = 200_000
EVERYTHING = STUDY.Generator(1.0, 0.5, 2.0, 1.0, 3.0, 0.2, 0.1)


@pytest.mark.parametrize("name", STUDY.NETWORKS)
def test_the_files_are_those_of_the_formulas(name):
    shipped, meta = load(STUDY.FOLDER / f"{name}.network.json")
    made = STUDY.network_of(STUDY.NETWORKS[name])
    assert (shipped.columns, shipped.parents) == (made.columns, made.parents)
    for own, cpt in zip(made.cpts, shipped.cpts, strict=True):
        np.testing.assert_allclose(cpt, own, atol=1e-12)
    assert meta.source["rows"] == STUDY.ROWS


@pytest.mark.parametrize("given", [*STUDY.NETWORKS.values(), replace(EVERYTHING, history_r=0.0), EVERYTHING])
def test_tables_against_rows_drawn_by_the_formulas(given):
    network, rows = STUDY.network_of(given), drawn(given, np.random.default_rng(2023))
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
    history, measured = (STUDY.network_of(STUDY.NETWORKS[name]) for name in ("history-y", "measured-y"))
    worlds = make_world(history, "Y", "1", groups, []), make_world(measured, "Y", "1", groups, [flips])
    record, other = (world.joint(["A", "R", "Q", "Y"]) for world in worlds)
    np.testing.assert_allclose(record, other, atol=1e-12)
    assert not np.allclose(*(world.joint([world.true_name("Y")]) for world in worlds), atol=0.05)


def test_a_shifted_measurement_is_that_of_the_generator():
    """P = R - lambda A + Normal(0, 2): the mechanism takes the middles of fine bins, the tables integrals."""
    groups = {"A": (("1",), ("0",))}
    noisy = [
        MeasurementError("R", 1.0, of="deprived", towards="shifted", shift=1.0, spread=2.0),
        MeasurementError("R", 1.0, of="favoured", towards="shifted", spread=2.0),
    ]
    for edges in (STUDY.EDGES, STUDY.even_edges(0.25)):
        world = make_world(STUDY.network_of(STUDY.NETWORKS["no-bias"], edges), "Y", "1", groups, noisy)
        network = STUDY.network_of(STUDY.NETWORKS["measured-r"], edges)
        theirs = compute_posterior(network, ["A", "P", "Q", "Y"]).table
        assert np.abs(world.joint(["A", "R", "Q", "Y"]) - theirs).sum() / 2 < 0.03
    # Without the noise it is far off.
    world = make_world(STUDY.network_of(STUDY.NETWORKS["no-bias"], edges), "Y", "1", groups, [])
    assert np.abs(world.joint(["A", "R", "Q", "Y"]) - theirs).sum() / 2 > 0.1


def test_finely_cut_seeing_the_group_makes_up_for_what_is_measured_too_low():
    """Y depends on A through R and Q alone, so a rule that knows P and A has no gap, and history on R one."""
    measured, history = STUDY.NETWORKS["measured-r"], STUDY.NETWORKS["history-r"]
    fine = STUDY.even_edges(0.5)
    seen = STUDY.best_rule(measured, fine, sees_group=True)
    assert abs(seen.discrimination) < 0.001
    assert STUDY.best_rule(measured, fine, sees_group=False).discrimination > 0.07
    quarter = STUDY.even_edges(0.25)
    rules = [STUDY.best_rule(history, quarter, sees_group=sees_group) for sees_group in (False, True)]
    assert rules[0].discrimination == pytest.approx(rules[1].discrimination, abs=0.001)
    # The ten bins of the config leave some people at one half, and other gaps.
    coarse = STUDY.best_rule(measured, STUDY.EDGES, sees_group=True)
    assert coarse.near_half > 0.02
    assert coarse.discrimination < -0.02


def test_the_best_rule_is_that_of_rows_drawn_by_the_formulas():
    given = STUDY.NETWORKS["history-y"]
    rule = STUDY.best_rule(given, STUDY.EDGES, sees_group=True)
    rows = drawn(given, np.random.default_rng(7))
    cell = np.ravel_multi_index([rows["A"], rows["R"], rows["Q"]], (2, len(STUDY.EDGES) + 1, 4))
    share = np.bincount(cell, rows["Y"]) / np.maximum(np.bincount(cell), 1)
    accepted = share[cell] >= 0.5
    assert np.mean(accepted == rows["Y"]) == pytest.approx(rule.accuracy, abs=0.005)
    rates = [accepted[rows["A"] == a].mean() for a in (0, 1)]
    assert rates[0] - rates[1] == pytest.approx(rule.discrimination, abs=0.03)


def drawn(given, rng):
    """Return rows of the generator, cut into the bins of its network."""
    a = rng.integers(0, 2, ROWS)
    r = rng.gamma(2, 3, ROWS) - given.history_r * a
    q = rng.binomial(3, 1 / (1 + np.exp(given.r_to_q * r - given.history_q * a)))
    score = r - given.q_weight * q - given.history_y * a + given.interaction * r * a
    score += rng.normal(0, given.sigma, ROWS)
    cut = (score - given.measured_y * a).mean()
    rows = {"A": a, "R": np.searchsorted(STUDY.EDGES, r, side="right"), "Q": q, "Y": score > cut}
    if given.measured_r is not None:
        proxy = r - given.measured_r * a + rng.normal(0, 2, ROWS)
        rows["P"] = np.searchsorted(STUDY.EDGES, proxy, side="right")
    rows["near"] = rows["Y"] & (score <= cut + given.measured_y)
    return {name: np.asarray(codes, np.intp) for name, codes in rows.items()}
