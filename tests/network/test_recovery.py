"""From which biases equal opportunity recovers the best rule: a condition against the exact optimum."""

import numpy as np
import pytest
from conftest import study_of

from fairbench_cli.network.mechanisms.biases import LabelBias, SelectionBias
from fairbench_cli.network.world import make_world

STUDY = study_of("recovery")
BiasSetting, grid, recoveries = STUDY.BiasSetting, STUDY.grid, STUDY.recoveries


def test_condition_and_exact_optimum_agree_cell_by_cell():
    settings = grid([0.3, 0.8], [0.1, 0.35], [0.05, 0.45, 0.9], [0.1, 0.95], [0.0, 0.3, 0.8])
    found = list(recoveries(settings))
    assert all(one.agrees for one in found)
    assert {one.found for one in found} == {one.plain_found for one in found} == {True, False}
    assert all(one.found for one in found if one.plain_predicted)
    assert sum(None in (one.predicted, one.plain_predicted) for one in found) < 4  # on the border
    for one in found:
        best = 1 - one.setting.error
        assert one.accuracy == pytest.approx(best) if one.found else one.accuracy < best


def test_no_condition_depends_on_how_many_the_best_rule_accepts():
    for accepted in (0.1, 0.9):
        (one,) = recoveries([BiasSetting(0.7, 0.3, 0.2, 0.9, 0.4, accepted)])
        (other,) = recoveries([BiasSetting(0.7, 0.3, 0.2, 0.9, 0.4)])
        assert (one.found, one.plain_found, one.margin) == (other.found, other.plain_found, other.margin)


def test_the_margin_of_a_setting():
    setting = BiasSetting(0.5, 0.25, 0.5, 1.0, 0.5)
    assert (setting.margin(), setting.margin(constrained=False)) == (0.125, -0.25)


def test_the_setting_is_a_world_of_mechanisms():
    setting = BiasSetting(0.4, 0.2, 0.5, 0.75, 0.25)
    own = setting.world()
    mechanisms = (
        SelectionBias(drop=0.5, label="favourable"),
        SelectionBias(drop=0.25, label="unfavourable"),
        LabelBias(flip=0.25),
    )
    other = make_world(own.base, own.label, own.favourable, own.groups, mechanisms)
    columns = ["group", "best", "outcome.true", "outcome"]
    assert own.joint(columns) == pytest.approx(other.joint(columns), abs=1e-12)
    assert own.share_included == pytest.approx(other.share_included)
    positives = own.joint(["group", "best", "outcome"])[:, :, 1]
    tpr = positives[:, 1] / positives.sum(1)  # of the best rule, on the record
    assert np.ptp(tpr) == pytest.approx(0, abs=1e-12)
