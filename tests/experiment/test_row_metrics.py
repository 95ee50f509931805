"""Measures that need rows, by name in a run: computed in the cell, kept next to the counts."""

import numpy as np
import pandas as pd
import pytest
from conftest import write_config

from fairbench_cli.data.table import Column, Sample, Table, move_to_other_group
from fairbench_cli.experiment.config.metrics import MetricSpec, RequestedRowMetrics, rows_of
from fairbench_cli.measures.registry import ROW_METRICS

METRICS = ["accuracy", "consistency", "unexplained-difference", "explained-difference", "discrimination"]


def config(tmp_path, **changes):
    keys = {
        "interventions": ["none"],
        "classifiers": ["naive-bayes"],
        "repeats": 2,
        "datasets": ["compas"],
        "sample": {"from": "shipped", "size": 400, "beta": [0]},
        "test": "network",
    }
    return write_config(tmp_path / "a.yaml", **keys | changes)


def test_values_come_with_the_run_and_stay(tmp_path, say):
    path = config(tmp_path, metrics=METRICS, strata=["c_charge_degree"])
    assert say("run", path, "-o", "a", "--jobs", "1").code == 0
    results = pd.read_csv(tmp_path / "a" / "results.csv")
    wide = results.pivot(index="repeat", columns="metric", values="value")
    assert list(results["metric"][: len(METRICS)]) == METRICS
    assert np.allclose(wide["unexplained-difference"] + wide["explained-difference"], wide["discrimination"])
    assert wide["consistency"].between(0, 1).all()
    assert "0 to do" in say("run", path, "-o", "a", "--jobs", "1").err
    before = (tmp_path / "a" / "results.csv").read_bytes()
    assert say("report", "a").code == 0
    assert (tmp_path / "a" / "results.csv").read_bytes() == before


def test_other_strata_are_measured_anew_and_the_first_are_kept(tmp_path, say):
    values = {}
    for attribute, todo in (("c_charge_degree", 2), ("age_cat", 2), ("c_charge_degree", 0), ("age_cat", 0)):
        path = config(tmp_path, metrics=["unexplained-difference"], strata=[attribute])
        done = say("run", path, "-o", "a", "--jobs", "1")
        assert f"{todo} to do" in done.err
        results = (tmp_path / "a" / "results.csv").read_bytes()
        assert values.setdefault(attribute, results) == results
    assert values["c_charge_degree"] != values["age_cat"]


@pytest.mark.parametrize(
    ("column", "message"),
    [("age_catt", "compas has no column"), ("race", "is the outcome or the protected attribute")],
)
def test_strata_must_be_columns(tmp_path, column, message, say):
    path = config(tmp_path, metrics=["belift"], strata=[column])
    done = say("run", path, "-o", "a", "--jobs", "1")
    assert (done.code, len(done.err.splitlines())) == (2, 2)
    assert message in done.err
    assert not (tmp_path / "a").exists()


def test_rows_for_the_measures_leave_the_protected_attribute_out():
    columns = (
        Column("job", ("a", "b")),
        Column("sex", ("f", "m")),
        Column("hours", ("20", "40"), "number", (20.0, 40.0)),
    )
    codes = np.array([[0, 0, 1], [1, 1, 0], [1, 0, 1]], dtype=np.int16)
    sample = Sample(Table(columns, codes), "sex", np.array([0, 1, 1], np.int8), np.array([0, 1, 0], np.int8))
    rows = rows_of(sample, sample.y, None, ("job", "hours"))
    assert rows.features.tolist() == [[0, 40], [1, 20], [1, 40]]
    assert rows.nominal == (True, False)
    assert len(set(rows.strata.tolist())) == 3
    assert rows_of(sample, sample.y, None, ()).strata is None


def test_every_measure_of_rows_can_be_asked_for():
    rng = np.random.default_rng(0)
    n = 200
    columns = (Column("job", ("a", "b", "c")), Column("sex", ("f", "m")), Column("age", ("0", "1", "2")))
    codes = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)], axis=1)
    y = (codes[:, 0] + codes[:, 1] + rng.integers(0, 2, n) > 2).astype(np.int8)
    table = Table(columns, codes.astype(np.int16))
    sample = Sample(table, "sex", y, codes[:, 1].astype(np.int8))
    requested = RequestedRowMetrics(tuple(map(MetricSpec, ROW_METRICS)), ("job",))
    values = requested.measure(sample, y, rng.random(n))
    assert values.keys() == {*requested.recorded_as.values()}
    assert RequestedRowMetrics().measure(sample, y, None) == {}


BY_GROUP = """
from dataclasses import dataclass
import numpy as np
from fairbench_cli.interventions.fitted import Fitted

class Model:
    def __init__(self, chances):
        self.chances = np.array(chances)

    def predict(self, sample):
        return (self.decision_probability(sample) >= 0.5).astype(np.int8)

    def decision_probability(self, sample):
        assert (sample.s == (sample.features["race"] == 1)).all()  # Caucasian is favoured
        return self.chances[sample.s]

@dataclass(frozen=True)
class Drawn:
    deprived: float = 0.25
    favoured: float = 0.75

    def fit(self, train, classifier, rng):
        return Fitted(Model([self.deprived, self.favoured]))
"""


def test_the_twin_test_of_techniques_whose_answer_is_known(tmp_path, say):
    (tmp_path / "mine.py").write_text(BY_GROUP)
    chances = [{"deprived": [0.0], "favoured": [1.0]}, {}, {"deprived": [0.5], "favoured": [0.5]}]
    techniques = [{"./mine.py:Drawn": one} for one in chances]
    shipped = ["none", {"none": {"include_protected": True}}, "group-thresholds"]
    path = config(tmp_path, metrics=["twin-test"], interventions=[*techniques, *shipped])
    done = say("run", path, "-o", "a", "--jobs", "1")
    assert done.code == 0, done.err
    frame = pd.read_csv(tmp_path / "a" / "results.csv").set_index(["intervention", "parameters"])["value"]
    found = [values.tolist() for _, values in frame.groupby(level=[0, 1], sort=False)]
    assert found[:3] == [[0, 0], [0.5, 0.5], [1, 1]]
    (blind, seeing), thresholds = (found[3][:2], found[3][2:]), found[4]
    assert blind == [1, 1]
    assert 0 < min(seeing + thresholds) <= max(seeing + thresholds) < 1


def test_twins_have_the_commonest_level_of_the_other_group_and_the_parts_of_a_joint_attribute():
    columns = (
        Column("race", ("b", "o", "w")),
        Column("sex", ("f", "m")),
        Column("job", ("a", "b")),
        Column("race-sex", ("b-f", "b-m", "o-m", "w-f", "w-m")),
    )
    codes = np.array([[2, 1, 0, 4], [0, 0, 1, 0], [1, 1, 0, 2], [1, 1, 1, 2], [2, 1, 1, 4]], dtype=np.int16)
    s = np.array([1, 0, 0, 0, 1], dtype=np.int8)
    twins = move_to_other_group(Sample(Table(columns, codes), "race-sex", s, s), ("race", "sex"))
    wm, om = [2, 1], [1, 1]
    assert twins.features.codes[:, :2].tolist() == [om, wm, wm, wm, om]
    assert twins.features["race-sex"].tolist() == [2, 4, 4, 4, 2]
    assert twins.features["job"].tolist() == [0, 1, 0, 1, 1]
    assert twins.s.tolist() == [0, 1, 1, 1, 0]
    one = Sample(Table(columns, codes[1:4]), "race-sex", s[1:4], s[1:4])
    assert move_to_other_group(one, ("race", "sex")) is None
