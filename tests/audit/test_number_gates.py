"""Audits of numbers for continuous integration: what fails is counted and named, in each format."""

import json

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit.api import AuditResult, audit
from fairbench_cli.audit.compare.baseline import gap_size
from fairbench_cli.audit.compare.gate import find_severity
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.show.ci_formats import to_github, to_junit, to_sarif
from fairbench_cli.audit.show.tables import to_ci

N_ROWS = 400


def wages(gap: float, seed: int = 1) -> pd.DataFrame:
    """Return wages of two sexes, so far apart on average, and of two ages that earn the same."""
    generator = np.random.default_rng(seed)
    sex = np.repeat(["f", "m"], N_ROWS)
    age = np.tile(["young", "old"], N_ROWS)
    wage = generator.normal(0, 1, 2 * N_ROWS).round(6) - gap * (sex == "f")
    return pd.DataFrame({"sex": sex, "age": age, "wage": wage})


def audit_wages(gap: float, **options: object) -> AuditResult:
    keys = {"attribute": ["sex", "age"], "ref": {"sex": "m"}, "margin": "0.3", "draws": 0}
    keys |= {"score": "wage", "outcome": "number"}
    return audit(wages(gap), **{**keys, **options})  # type: ignore[arg-type]


def test_ci_lists_the_failing_comparisons_of_numbers() -> None:
    content = json.loads(to_ci(audit_wages(0.6).report))
    assert content["comparisons"] == {"fail": 1, "pass": 1, "undecided": 0}
    assert [row["failing"] for row in content["attributes"]] == [["mean"], []]
    failing = content["failing"]
    assert [(row["attribute"], row["group"], row["metric"]) for row in failing] == [("sex", "f", "mean")]
    table = audit_wages(0.6).to_pandas("numbers")
    known = table[(table["attribute"] == "sex") & (table["metric"] == "mean")].iloc[0]
    for name in ("difference", "difference_low", "difference_high", "margin", "p_holm"):
        assert failing[0][name] == pytest.approx(known[name])


def test_formats_of_ci_name_the_failing_comparison() -> None:
    report = audit_wages(0.6, fail_on=["sex:mean"]).report
    assert report.gate.stops
    assert report.gate.reason == "sex:mean fails"
    run = json.loads(to_sarif(report))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["mean"]
    assert [row["level"] for row in run["results"]] == ["error"]
    assert "(allowed: 0.30)" in run["results"][0]["message"]["text"]
    assert 'tests="2" failures="1" errors="0" skipped="0"' in to_junit(report)
    assert to_github(report).startswith("::error title=sex::")


def test_a_gate_names_the_numbers_that_are_not_decided() -> None:
    undecided = audit_wages(0.22, attribute=["sex"], fail=True).report
    assert undecided.verdict == "undecided"
    assert (undecided.gate.stops, undecided.gate.undecided) == (False, ("sex",))
    decided = audit_wages(0.22, fail=True).report  # age passes
    assert decided.verdict == "undecided"
    assert not decided.gate.stops


def test_a_baseline_accepts_a_difference_that_has_not_grown(tmp_path: object) -> None:
    path = f"{tmp_path}/ci.json"
    with open(path, "w") as file:
        file.write(to_ci(audit_wages(0.6).report))
    same = audit_wages(0.6, fail=True, baseline=path).report
    assert not same.gate.stops
    assert same.gate.accepted == 1
    failing = next(row for row in same.deciding_comparisons if row.verdict == "fail")
    assert find_severity(failing, same) == "note"
    larger = audit_wages(1.5, fail=True, baseline=path).report
    assert larger.gate.stops
    assert "sex:mean of f fails, and worse than in ci.json" in larger.gate.reason


def test_the_chance_of_more_is_as_far_off_as_it_is_from_one_half() -> None:
    assert gap_size("more", Interval(0.5, 0.4, 0.6)) == 0


def test_the_share_above_the_cut_is_shown_beside_and_decides_nothing() -> None:
    result = audit_wages(0.6, threshold=1, attribute=["sex"])
    table = result.to_pandas("number_groups").set_index(["group", "metric"])
    frame = wages(0.6)
    for sex, of_sex in frame.groupby("sex"):
        row = table.loc[(sex, "share-above")]
        assert row["value"] == pytest.approx((of_sex["wage"] >= 1).mean())
        assert row["low"] < row["value"] < row["high"]
    assert "share from 1 up" in result.to_html()
    assert "in the highest 10 %" in audit_wages(0.6).to_html()
    assert "share-above" not in set(result.to_pandas("numbers")["metric"])
