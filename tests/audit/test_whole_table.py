"""The whole table of groups and classes, through the whole audit, against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from fairbench_cli.audit.api import audit


def applicants(rows: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"race": rng.choice(["a", "b", "c"], rows), "sex": rng.choice(["f", "m"], rows)})
    frame["grade"] = rng.choice(["high", "low", "middle"], rows)
    moved = (frame.race == "c") & (rng.random(rows) < 0.5)
    frame.loc[moved, "grade"] = "low"
    return frame


def tables_of(frame: pd.DataFrame, **asked):
    report = audit(frame, score="grade", attributes=["race", "sex"], **asked).report
    return {table.attribute: table for table in report.found["classes"]}


def test_the_whole_table_is_that_of_scipy():
    frame = applicants()
    tables = tables_of(frame, outcome="class")
    for name, table in tables.items():
        counts = pd.crosstab(frame[name], frame.grade)
        expected = chi2_contingency(counts, correction=False)
        assert table.counts == pytest.approx(counts.to_numpy())
        assert (table.classes, table.groups) == (("high", "low", "middle"), tuple(counts.index))
        assert (table.statistic, table.p) == pytest.approx((expected.statistic, expected.pvalue))
        assert table.w.value == pytest.approx(np.sqrt(expected.statistic / len(frame)))
    assert tables["race"].verdict == "fail"
    assert tables["sex"].verdict == "pass"
    assert tables["sex"].p_holm == pytest.approx(tables["sex"].p)  # the larger of two
    assert tables["race"].p_holm == pytest.approx(2 * tables["race"].p)


def test_what_is_of_no_named_class_is_a_class_of_its_own():
    frame = applicants()
    table = tables_of(frame, favourable=["high", "middle"])["race"]
    assert table.classes == ("high", "middle", "(others)")
    assert table.counts.sum() == len(frame)


def test_equal_weights_change_nothing_but_counts():
    frame = applicants()
    plain = tables_of(frame, outcome="class")["race"]
    weighted = tables_of(frame.assign(w=2.0), outcome="class", weight="w")["race"]
    assert weighted.counts == pytest.approx(2 * plain.counts)
    assert (weighted.statistic, weighted.w.value) == pytest.approx((plain.statistic, plain.w.value))
    # Limits are of degrees of freedom that are fitted to the weights in the cells, a little fewer than 4.
    assert (weighted.w.low, weighted.w.high) == pytest.approx((plain.w.low, plain.w.high), rel=5e-3)


def test_a_group_that_is_left_out_is_not_in_the_table():
    assert tables_of(applicants(), outcome="class", exclude=["race=b"])["race"].groups == ("a", "c")


def test_decisions_have_no_whole_table():
    frame = applicants()
    report = audit(frame, score="grade", favourable="high", attributes=["race"]).report
    assert "classes" not in report.found
