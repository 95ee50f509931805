"""Worlds: what is recorded of true people, by formula, by enumeration and by draws."""

import numpy as np

from fairbench_cli.data.card import shipped_cards
from fairbench_cli.network.draw import sample
from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.label import LabelBias
from fairbench_cli.network.world import draw, record, world_of

SEX = {"sex": (["female"], ["male"])}


def test_label_flips_of_dutch_halve_the_positives_of_the_deprived_and_change_nobody_else():
    net, _ = load(shipped_cards() / "dutch.network.json")
    world = world_of(net, "occupation", "5_4_9", SEX, [LabelBias(flip=0.5)])
    true, rows = sample(net, 2000, 3), draw(world, 2000, 3)
    assert np.array_equal(rows.true.codes, true.codes)
    assert np.array_equal(record(world, true, 3).recorded.codes, rows.recorded.codes)
    changed = rows.recorded["occupation"] != true["occupation"]
    assert {*true["sex"][changed], *true["occupation"][changed]} == {0}
    truth, recorded = world.joint(["sex", "occupation.true"]), world.joint(["sex", "occupation"])
    assert np.allclose(recorded, [[truth[0, 0] / 2, truth[0, 1] + truth[0, 0] / 2], truth[1]])
    none = world_of(net, "occupation", "5_4_9", SEX, [LabelBias(flip=0)])
    assert draw(none, 2000, 3).recorded.codes.tobytes() == true.codes.tobytes()
