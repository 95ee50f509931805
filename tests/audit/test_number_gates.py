"""Audits of numbers for continuous integration: what fails is counted and named, in each format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit.api import AuditResult, audit
from fairbench_cli.audit.compare.baseline import gap_size
from fairbench_cli.audit.compare.gate import find_severity
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.show.ci_formats import to_github, to_junit, to_sarif
from fairbench_cli.audit.show.tables import to_ci
from fairbench_cli.base.errors import UserError

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


@pytest.mark.gate
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


@pytest.mark.parametrize("options", [{}, {"weight": "age_in_years"}, {"cluster": "person"}])
def test_an_audit_of_numbers_makes_no_decision(options: dict[str, str], tmp_path: Path) -> None:
    frame = wages(0.6).assign(age_in_years=30.0, person=np.arange(2 * N_ROWS) // 2)
    result = audit(frame, score="wage", outcome="number", attribute=["sex"], **options)  # type: ignore[arg-type]
    report = result.report
    assert (report.overall, report.groups, report.disparities, report.family) == ((), (), (), 1)
    assert not [note for note in report.notes if "selected" in note]
    assert set(result.to_pandas("verdicts")["metric"]) == {"mean", "(all)"}
    assert result.to_pandas().equals(result.to_pandas("numbers"))
    for name in ("selection-rate", "selected", "top 10"):
        assert name not in result.to("json") + result.to_html() + result.to("github") + result.to("sarif")
    result.save(tmp_path / "audit")
    decisions = audit(frame, score="wage", threshold=0, attribute=["sex"])
    for file, table in (("disparities.csv", "disparities"), ("groups.csv", "groups")):
        heads = (tmp_path / "audit" / file).read_text()
        assert heads == ",".join(decisions.to_pandas(table).columns) + "\n"
        assert list(result.to_pandas(table).columns) == list(decisions.to_pandas(table).columns)


@pytest.mark.parametrize("option", [{"threshold": 1}, {"top_k": 10}, {"top_share": 0.1}])
def test_what_cuts_scores_is_refused_with_numbers(option: dict[str, float]) -> None:
    with pytest.raises(UserError, match="is of decisions, and numbers are audited"):
        audit_wages(0.6, **option)


@pytest.mark.gate
def test_a_reference_chosen_by_its_mean_is_one_of_all_pairs() -> None:
    frame = wages(0.6).assign(sex=np.repeat(list("abcd"), N_ROWS // 2))
    highest, named = (
        audit(frame, score="wage", outcome="number", attribute=["sex"], **options).to_pandas()  # type: ignore[arg-type]
        for options in ({"ref_method": "maximum"}, {"ref": {"sex": "c"}})
    )
    means = frame.groupby("sex")["wage"].mean()
    assert set(highest["reference"]) == {means.idxmax()}
    rows = highest[highest["metric"] == "mean"].sort_values("p")
    assert rows["p_holm"].iloc[0] == pytest.approx(rows["p"].iloc[0] * 6)  # pairs of four groups
    rows = named[named["metric"] == "mean"].sort_values("p")
    assert rows["p_holm"].iloc[0] == pytest.approx(rows["p"].iloc[0] * 3)


@pytest.mark.parametrize(
    "options", [{}, {"weight": "w"}, {"cluster": "p"}, {"weight": "w", "cluster": ["p", "q"]}]
)
def test_the_share_above_a_value_is_compared_as_the_rate_of_a_decision(options: dict[str, Any]) -> None:
    frame = wages(0.4).iloc[::3].assign(w=lambda rows: 1 + np.arange(len(rows)) % 3)
    frame = frame.assign(p=np.arange(len(frame)) // 2, q=np.arange(len(frame)) % 40)
    frame.iloc[5, frame.columns.get_loc("wage")] = 0.5  # not above itself
    common: dict[str, Any]
    ref = {"sex": "f", "age": "young"}
    common = {"attribute": ["sex", "age"], "ref": ref, "margin": {"selection-rate": 0.05}, **options}
    rates = audit(frame, score="wage", threshold=np.nextafter(0.5, 1), **common)
    common |= {"margin": {"share-above": 0.05}, "metric": "share-above"}
    numbers = audit(frame, score="wage", above=0.5, **common)
    shares = numbers.to_pandas().query("metric == 'share-above'").reset_index()
    known = rates.to_pandas().query("metric == 'selection-rate' and not is_reference").reset_index()
    columns = ["group", "value", "difference", "difference_low", "difference_high", "ratio", "ratio_low"]
    columns += ["ratio_high", "p", "p_holm", "margin", "verdict", "shown_outside", "reason", "deciding"]
    pd.testing.assert_frame_equal(shares[columns], known[columns])
    of_groups = rates.to_pandas("groups").query("metric == 'selection-rate' and group != '(all)'")
    described = numbers.to_pandas("number_groups").query("metric == 'share-above'")
    limits = ["value", "low", "high"]
    assert described[limits].to_numpy() == pytest.approx(of_groups[limits].to_numpy())


@pytest.mark.gate
def test_the_share_above_a_value_is_described_unless_it_has_a_margin() -> None:
    described = audit_wages(0.6, above=1, fail_on="sex:mean")
    rows = described.to_pandas().query("metric == 'share-above'")
    assert list(rows["verdict"]) == ["", ""]
    assert not rows["deciding"].any()
    assert "share above 1" in described.to_html()
    assert "have more than 1 in wage" in described.headline
    assert "share-above" not in audit_wages(0.6).to("json")
    decides = audit_wages(0.6, above=1, metric="share-above", margin={"share-above": 0.02}, fail=True)
    assert decides.report.gate.reason == "sex fails"
    assert "(allowed: 2.0 points)" in decides.headline


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metric": "share-above"}, "its above is not said"),
        ({"metric": "share-above", "above": 1}, "its margin is not said"),
        ({"margin": {"share-above": 0.1}}, "margin of share-above has no effect"),
        ({"margin": {"share-above": "5%"}, "above": 1}, "of a rate may be 5 points"),
        ({"above": 1, "outcome": "decision", "threshold": 1}, "above is of numbers"),
        ({"above": 1, "outcome": "ordinal"}, "above is of numbers"),
    ],
)
def test_a_share_above_that_cannot_be_had_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        audit_wages(0.6, **{"margin": {}, **options})


@pytest.mark.parametrize("outcome", ["number", "ordinal"])
def test_columns_of_the_same_sizes_are_copies_only_with_the_same_numbers(outcome: str) -> None:
    frame = wages(0.6).assign(gender=lambda rows: rows["sex"].map({"f": "x", "m": "y"}))
    frame["wage"] = frame["wage"].round()
    keys = {"attribute": ["sex", "age", "gender"], "ref": {"sex": "m", "age": "old", "gender": "y"}}
    rows = audit(frame, score="wage", outcome=outcome, **keys).to_pandas().query("deciding")  # type: ignore[arg-type]
    sex, age, gender = (rows[rows["attribute"] == name].iloc[0] for name in keys["attribute"])
    assert sex["p_holm"] == pytest.approx(2 * sex["p"]) == gender["p_holm"]
    assert age["p_holm"] == pytest.approx(age["p"])
