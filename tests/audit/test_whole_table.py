"""The whole table of groups and classes, through the whole audit, against scipy."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests

import fairbench_cli as fb
from fairbench_cli.audit.api import audit
from fairbench_cli.audit.show.ci_formats import to_github, to_junit, to_sarif
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.audit.show.tables import to_ci, to_document, verdicts_csv
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.classes import clustered_rows


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


def test_the_table_and_its_classes_are_one_family():
    result = audit(applicants(), score="grade", outcome="class", attributes=["race", "sex"])
    report = result.report
    rows = [row for row in report.disparities if row.deciding]
    tests = [*rows, *report.whole_tables]
    assert report.family == len(tests) == 3 * (2 + 1) + 2
    expected = multipletests([row.p for row in tests], method="holm")[1]
    assert [row.p_holm for row in tests] == pytest.approx(expected.tolist())
    counted = to_document(report)
    assert len(counted["verdicts"]) == 3 * 2 + 2
    assert json.loads(to_ci(report))["comparisons"] == {"fail": 7, "pass": 4, "undecided": 0}


def shifted(rows: int = 12_000) -> pd.DataFrame:
    """Return two groups of whom no class is much more common, and all shares differ."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": np.repeat(["f", "m"], rows // 2), "person": np.arange(rows) // 2})
    drawn = rng.random(rows)
    frame["grade"] = np.where(drawn < np.where(frame.sex == "f", 0.56, 0.44), "high", "low")
    frame.loc[rng.random(rows) < 0.1, "grade"] = "none"
    return frame


def test_a_table_fails_what_its_classes_pass():
    report = audit(shifted(), score="grade", outcome="class", tau=0.7, fail_on=["sex"]).report
    assert {row.verdict for row in report.disparities if row.deciding} == {"pass"}
    (table,) = report.whole_tables
    assert (table.verdict, report.verdict) == ("fail", "fail")
    by_place = {row.decision: row for row in report.verdicts}
    assert by_place["the whole table"].by_metric == {"whole-table": "fail"}
    assert [row.verdict for row in report.verdicts] == ["pass", "pass", "pass", "fail"]
    answer = headline(report)
    assert answer.message.startswith("Fails clearly in sex (the whole table): shares of 3 classes differ")
    assert answer.sentences[0].text.startswith("sex (the whole table): shares of high, low, none differ")
    assert report.gate.stops
    assert report.gate.reason == "sex fails"
    for write in (to_github, to_junit, to_sarif, to_ci):
        assert "whole" in write(report)
    assert list(csv.DictReader(io.StringIO(verdicts_csv(report))))[-2] == {
        "model": "",
        "decision": "the whole table",
        "attribute": "sex",
        "metric": "whole-table",
        "verdict": "fail",
        "deciding": "true",
    }


@pytest.mark.gate
def test_gates_name_the_table(tmp_path):
    frame = shifted()
    keys = {"score": "grade", "outcome": "class", "tau": 0.7}
    for names in (["whole-table"], ["sex:whole-table"]):
        report = audit(frame, **keys, fail_on=names).report
        assert report.gate.reason == "sex:whole-table fails"
        assert report.n_named == 1
    assert not audit(frame, **keys, fail_on=["selection-rate"]).report.gate.stops
    alone = audit(frame, **keys, metrics=["selection-rate"]).report
    assert alone.verdict == "pass"
    assert not alone.whole_tables[0].deciding
    assert alone.family == 3
    gated = audit(frame, **keys, metrics=["selection-rate"], fail_on=["whole-table"]).report
    assert (gated.verdict, gated.gate.stops) == ("pass", True)
    table_alone = audit(frame, **keys, metrics=["whole-table"]).report
    assert (table_alone.family, table_alone.verdict) == (1, "fail")
    (tmp_path / "ci.json").write_text(to_ci(table_alone))
    accepted = audit(frame, **keys, fail=True, baseline=str(tmp_path / "ci.json")).report
    assert (accepted.gate.stops, accepted.gate.accepted) == (False, 1)


def test_a_result_is_asked_for_the_table_and_its_classes():
    result = audit(shifted(), score="grade", outcome="class", tau=0.7)
    assert result.gate(fail_on="sex:whole-table").stops
    assert not result.gate(fail_on="sex:selection-rate").stops
    result.raise_if_failed(fail_on="selection-rate")
    with pytest.raises(fb.AuditFailed, match="sex:whole-table fails"):
        result.raise_if_failed(fail_on="whole-table")


def test_copies_of_a_column_are_one_test():
    frame = applicants()
    frame["again"] = frame.race.map({"a": "x", "b": "y", "c": "z"})
    once = audit(frame, score="grade", outcome="class", attributes=["race"]).report
    twice = audit(frame, score="grade", outcome="class", attributes=["race", "again"]).report
    assert twice.family == once.family == 7
    assert [table.p_holm for table in twice.whole_tables] == pytest.approx([once.whole_tables[0].p_holm] * 2)


@pytest.mark.gate
@pytest.mark.parametrize("classes", [{"outcome": "class"}, {"favourable": ["high", "low"]}])
def test_clusters_are_counted_as_rows_are(classes):
    frame = applicants()
    person = np.arange(len(frame)) // 3
    frame = frame.iloc[3 * person].reset_index(drop=True)  # all of a person are alike
    frame["person"] = person
    frame["copy"] = person
    coded = [pd.factorize(frame[name], sort=True)[0] for name in ("person", "race", "grade")]
    effective = clustered_rows(*coded)
    table = tables_of(frame, cluster="person", **classes)["race"]
    assert effective.rows == pytest.approx(1_000, rel=0.1)
    assert table.statistic == pytest.approx(effective.rows * table.w.value**2)
    again = tables_of(frame, cluster=["person", "copy"], **classes)["race"]
    assert (again.statistic, again.p) == pytest.approx((table.statistic, table.p))
    sites = frame.assign(site=np.arange(len(frame)) % 40)
    crossed = tables_of(sites, cluster=["person", "site"], **classes)["race"]
    assert crossed.statistic == pytest.approx(table.statistic, rel=0.2)


@pytest.mark.gate
def test_a_class_with_clusters_is_a_decision_with_clusters():
    rng = np.random.default_rng(3)
    frame = applicants()
    frame["person"] = np.arange(len(frame)) // 3
    frame["truth"] = np.where(rng.random(len(frame)) < 0.7, frame.grade, "low")
    keys = {"score": "grade", "label": "truth", "cluster": "person", "attributes": ["race"]}
    classes = audit(frame, outcome="class", **keys).report.disparities
    for name in ("high", "low", "middle"):
        alone = audit(frame, favourable=[name], **keys).report.disparities
        alone = [row for row in alone if row.metric != "accuracy"]  # which is of all classes together
        rows = [row for row in classes if row.decision == f"{name} against the rest"]
        assert [row.ratio.low for row in rows] == pytest.approx([row.ratio.low for row in alone], nan_ok=True)
        assert [row.p for row in rows] == pytest.approx([row.p for row in alone], nan_ok=True)


def test_what_is_allowed_alone_is_by_the_point():
    report = audit(shifted(), score="grade", outcome="class", rule="point").report
    assert report.whole_tables[0].verdict == "fail"
    narrow = audit(shifted(240), score="grade", outcome="class", tau=0.5).report
    (table,) = narrow.whole_tables
    assert (table.verdict, table.reason) == ("undecided", "wide")
    assert table.rows_needed > 240
    assert any(row.decision == "the whole table" for row in headline(narrow).open)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"slice": "month"}, "one outcome can be compared at a time"),
        ({"explain": "sex"}, "several classes are audited, and one can be explained at a time"),
        ({"threshold": [0.5]}, "threshold cuts scores, and classes are compared as they are"),
        ({"outcome": None, "favourable": ["high"], "metrics": ["whole-table"]}, "none are audited"),
    ],
)
def test_what_classes_do_not_have_is_refused(options, problem):
    frame = applicants().assign(month="2024-01")
    keys = {"score": "grade", "outcome": "class", "attributes": ["race"]} | options
    with pytest.raises(UserError, match=problem):
        audit(frame, **keys)


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
