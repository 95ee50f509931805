"""Measures that need rows, by name in a run: computed in the cell, kept next to the counts."""

import numpy as np
import pandas as pd
import pytest
from conftest import write_config

from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.experiment.config.metrics import RequestedRowMetrics, rows_of
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
    requested = RequestedRowMetrics(tuple(ROW_METRICS), ("job",))
    values = requested.measure(sample, y, rng.random(n))
    assert values.keys() == requested.records
    assert RequestedRowMetrics().measure(sample, y, None) == {}
