"""What a run keeps of its worlds, as numbers and as worlds.csv."""

import math

import pytest
from report.worlds_data import TRUTH, WEIGHT, write_facts

from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.report.ledger.exact_worlds import FILE, WORLDS_COLUMNS, read_worlds

PLACES = [("bank", "sex", "", 0.0), ("bank", "sex", "label", 0.5), ("shop", "sex", "label", 0.5)]


def test_numbers_and_metrics_of_a_world_are_those_of_its_file(tmp_path):
    write_facts(tmp_path, PLACES)
    known = read_worlds(tmp_path, [("bank", "sex")])
    assert [one.world for one in known.worlds] == ["", "label"]
    assert [*known.frame] == WORLDS_COLUMNS
    world = known.find("bank", "sex", "label", 0.5)
    assert known.find("bank", "sex", "label", 0.5, include_protected=True) is None
    assert known.find("shop", "sex", "label", 0.5) is None
    assert world.method == "exact"
    assert world.keeps_ranking("deprived") is True
    assert world.keeps_ranking("nobody") is None
    right = sum(WEIGHT[place] * max(p, 1 - p) for place, p in TRUTH.items())
    assert world.metric("oracle-thresholds", find_metric("accuracy"), "true") == pytest.approx(right)
    # Half of the deprived who should be accepted are not, in the record: 0.8 becomes 0.4, and is refused.
    lost = WEIGHT["deprived", 1] * (2 * TRUTH["deprived", 1] - 1)
    assert world.metric("bayes", find_metric("accuracy"), "true") == pytest.approx(right - lost)
    assert world.metric("bayes", find_metric("discrimination"), "true") == pytest.approx(0.4 / 0.6)
    base = sum(WEIGHT[place] * p for place, p in TRUTH.items())
    assert world.metric("constant-accept", find_metric("accuracy"), "true") == pytest.approx(base)
    assert math.isnan(world.metric("constant-accept", find_metric("accuracy-spread"), "true"))
    assert math.isnan(world.metric("unheard-of", find_metric("accuracy"), "true"))
    disparity = world.value("disparity", labels="recorded") - world.value("disparity", labels="true")
    assert disparity == pytest.approx(0.5 * (0.3 * 0.2 + 0.1 * 0.8) / 0.4)


def test_what_was_drawn_says_so_and_an_old_run_has_nothing(tmp_path):
    assert not read_worlds(tmp_path)
    write_facts(tmp_path, PLACES[:1], "draws")
    (world,) = read_worlds(tmp_path).worlds
    assert world.method == "draws"
    assert world.number("auc", labels="true", group="deprived").error == 0.001


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda text: text.replace("0.8", "0.9"), lambda _: "[]"]
)
def test_a_damaged_file_is_refused(tmp_path, damage):
    write_facts(tmp_path, PLACES[:1])
    path = tmp_path / FILE
    path.write_text(str(damage(path.read_text())))
    with pytest.raises(UserError, match="changed or damaged"):
        read_worlds(tmp_path)
