"""What an audit is made of: one contract, whatever the options; and combinations that were tracebacks."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_counts import one
from conftest import two_lines

from fairbench_cli.audit import audit
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import PARTS, parts_of
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.show.document import audit_document, to_markdown
from fairbench_cli.audit.show.formats import FORMATS, write
from fairbench_cli.audit.show.tables import optional_tables, tables_of


def people(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"score": rng.integers(0, 2, rows), "label": rng.integers(0, 2, rows)})
    frame["other"] = rng.integers(0, 2, rows)
    frame["sex"] = np.where(np.arange(rows) % 2, "m", "f")
    frame["month"] = (np.arange(rows) * 4 // rows + 1).astype(str)
    return frame.assign(hours=rng.integers(0, 3, rows).astype(str))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people()


ASKING = {  # what asks for a part, by its key
    "impact": {"preset": "eeoc"},
    "slices": {"slice": "month"},
    "changes": {"score": ["score", "other"]},
    "rates": {},
    "requested": {"metric": ["fpr", "phi"]},
    "subgroups": {"scan": True},
    "curves": {"curves": True, "threshold": 0.5},
    "moved_thresholds": {"mitigate": True, "threshold": 0.5, "tau": 0.99},
    "explanations": {"explain": "hours"},
    "classes": {"score": "grade", "favourable": ["a", "b", "c"]},
}
ASKING_OF_NUMBERS = {  # the same of outcomes that are numbers
    "number_slices": {"slice": "month"},
    "number_changes": {"score": ["score", "other"]},
    "numbers": {},
    "numeric_attributes": {"bins": {"hour": 3}},
    "number_explanations": {"explain": "hours"},
}
OF_SCORES = ("curves", "moved_thresholds")
ALL_KEYS = [
    *("impact", "slices", "changes", "number_slices", "number_changes", "numbers"),
    *("classes", "rates", "numeric_attributes"),
    *("requested", "subgroups", "curves", "moved_thresholds", "explanations", "number_explanations"),
]


def audited(frame: pd.DataFrame, key: str):
    scores = frame.assign(score=np.linspace(0, 1, len(frame))) if key in OF_SCORES else frame
    if key in ASKING_OF_NUMBERS:
        numbers = frame.assign(
            score=np.linspace(0, 90, len(frame)),
            other=np.linspace(0, 99, len(frame)) ** 0.9,
            hour=np.arange(len(frame)) % 24,
        )
        asked = {"outcome": "number", **ASKING_OF_NUMBERS[key]}
        return audit(numbers, label="label", **{"attributes": ["sex"], **asked}).report
    if key == "classes":
        scores = frame.assign(grade=np.resize(["a", "b", "c", "a"], len(frame)))
        return audit(scores, **{"attributes": ["sex"], **ASKING[key]}).report
    return audit(scores, label="label", **{"attributes": ["sex"], **ASKING[key]}).report


@pytest.mark.gate
def test_every_part_is_there_where_it_is_asked_for_and_nowhere_else(frame):
    assert list(PARTS) == [part.load().key for part in PARTS.values()] == ALL_KEYS
    for key in ASKING_OF_NUMBERS:
        report = audited(frame, key)
        assert {part.key for part, _ in parts_of(report)} == {key, "numbers", "rates"}
    for key in ASKING:
        report = audited(frame, key)
        more = {"changes"} if key == "slices" else set()  # from each slice to the next
        assert {part.key for part, _ in parts_of(report)} == {key, "rates"} | more
        document = json.loads(write(report, "json"))
        assert document.keys() & ASKING.keys() == {key} - {"rates"} | more


@pytest.mark.gate
def test_all_that_a_part_shows_is_in_the_outputs(frame):
    for key in ALL_KEYS:
        report = audited(frame, key)
        part = PARTS[key].load()
        found = report.found[key]
        titles = [section.title for section in audit_document(report).sections]
        for section in part.sections(found, report, View()):
            assert section.title in titles
        tables = tables_of(report)
        optional = {*part.tables} | ({"changes"} if key == "slices" else set())
        if key in ASKING_OF_NUMBERS:
            optional |= {"numbers", "number_groups"}
        assert tables.keys() & {*optional_tables()} == (
            optional & {*optional_tables()} if key != "rates" else set()
        )
        for name in part.tables:
            assert list(tables[name]()) == list(part.tables[name](found, report))


# Combinations that ended in a traceback.


def test_an_audit_without_a_single_comparison_has_tables(say, tmp_path, frame):
    frame.to_csv("p.csv", index=False)
    asked = ["audit", "p.csv", "--label", "label", "-a", "sex", "--ref-method", "rest", "--min-share", ".9"]
    done = say(*asked, "--format", "csv")
    assert (done.code, done.err) == (0, "")
    head = done.out.splitlines()
    assert head == ["model,decision,attribute,group,reference,metric,value,reference_value,ratio,ratio_low,"
        "ratio_high,difference,difference_low,difference_high,p,p_holm,test,tau,point,verdict,shown_outside,"
        "reason,rows_needed,is_reference,deciding"]  # fmt: skip
    assert head[0] == say(*asked[:-2], "--format", "csv").out.splitlines()[0]
    assert say(*asked, "-o", "out", "--to-db", "sqlite:///a.db").code == 0
    assert (tmp_path / "out" / "disparities.csv").read_text().splitlines() == head
    result = audit("p.csv", label="label", attributes=["sex"], ref_method="rest", min_share=0.9)
    assert result.to_pandas().empty
    for name in FORMATS:
        assert write(result.report, name)
    assert "400 rows; nobody to compare; decided by" in write(result.report, "markdown")


@pytest.mark.parametrize("how", [(), ("--ref-method", "rest"), ("--slice", "month")])
def test_leaving_out_all_groups_is_refused(say, frame, how):
    frame.assign(grade="1").to_csv("p.csv", index=False)
    asked = ["audit", "p.csv", "--label", "label", "-a", "sex"]
    where = ' in month "1"' if "--slice" in how else ""
    done = say(*asked, "--exclude", "f", "--exclude", "m", *how)
    two_lines(done, f'--exclude: error: all groups of "sex"{where} are left out')
    done = say(*asked, "-a", "grade", "--exclude", "grade=1", *how)
    two_lines(done, f'--exclude: error: all groups of "grade"{where} are left out')


def test_a_metric_of_the_gate_alone_has_changes(frame):
    report = audit(
        frame, label="label", attributes=["sex"], slice="month", fail_on=["worse", "tnr"], metric=["fpr"]
    ).report
    assert "tnr" in {row.metric for row in report.found["changes"].changes if row.deciding}
    assert "true negative rate, ratio before and after" in write(report, "html")


def test_nobody_to_compare_is_nothing_to_explain(frame):
    how = {"label": "label", "attributes": ["sex"], "explain": "hours", "min_share": 0.9}
    assert audit(frame, ref_method="rest", **how).report.found["explanations"] == ()


CLOSED = ("fpr-ratio", "accuracy-ratio", "tpr-difference")


@pytest.mark.parametrize("draws", [0, 100])
def test_bootstrapped_is_said_of_what_was_bootstrapped_alone(draws):
    many, few = {"a": (60, 20, 30, 90), "b": (40, 40, 30, 40)}, {"a": (60, 20, 30, 90), "b": (3, 2, 1, 4)}
    asked = [CLOSED, ("phi",), (*CLOSED, "phi"), ("chi-squared-p",)]
    for groups, metrics in product((many, few), asked):
        report = judge(one(groups), AuditConfig(metric=metrics, draws=draws, min_group=1))
        drawn = draws > 0 and groups is many and "phi" in metrics
        text = to_markdown(report)
        assert report.found["requested"].drawn == drawn
        assert ("bootstrap" in text) == drawn, (metrics, draws)
        assert ("closed form" in text) == (CLOSED[0] in metrics), (metrics, draws)
