"""Accuracy of several classes: the share of rows of the right class, through the whole audit."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.api import AuditResult
from fairbench_cli.audit.show.formats import FORMATS
from fairbench_cli.base.errors import UserError

CLASSES = {
    "score": "found",
    "label": "true",
    "outcome": "class",
    "attributes": "group",
    "ref": {"group": "a"},
}


def diagnoses(rows: int = 3_000) -> pd.DataFrame:
    """Return diagnoses of five diseases, right less often in one group."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], rows), "true": rng.choice(list("vwxyz"), rows)})
    is_right = rng.random(rows) < np.where(frame.group == "a", 0.85, 0.6)
    frame["found"] = np.where(is_right, frame.true, rng.choice(list("vwxyz"), rows))
    return frame.assign(weight=rng.integers(1, 4, rows), ward=np.arange(rows) // 4, model=np.arange(rows) % 2)


def line_of(audit: AuditResult, model: str = "") -> Any:
    """Return the comparison of the accuracy of group b."""
    (row,) = (
        row
        for row in audit.report.disparities
        if (row.model, row.metric, row.group) == (model, "accuracy", "b")
    )
    return row


@pytest.mark.gate
def test_accuracy_is_the_share_right_over_all_classes() -> None:
    frame = diagnoses()
    expected = (frame.true == frame.found).groupby(frame.group).mean()
    audit = fb.audit(frame, **CLASSES, metrics="accuracy", fail=True)
    row = line_of(audit)
    assert (row.decision, row.deciding) == ("all classes", True)
    assert (row.value, row.reference_value) == pytest.approx((expected.b, expected.a))
    assert (row.verdict, audit.verdict, audit.report.family) == ("fail", "fail", 1)
    assert audit.report.gate.reason == "group fails"
    decided = (frame.true == frame.found).astype(int)
    as_decision = fb.audit(frame.assign(right=decided), score="right", attributes="group", ref={"group": "a"})
    (same,) = (other for other in as_decision.report.disparities if other.deciding)
    assert (row.p, row.ratio) == (pytest.approx(same.p), same.ratio)


@pytest.mark.gate
def test_weights_clusters_and_models_have_it_too() -> None:
    frame = diagnoses()
    right = frame.true == frame.found
    weighted = line_of(fb.audit(frame, **CLASSES, weight="weight"))
    of_b = frame.group == "b"
    assert weighted.value == pytest.approx(np.average(right[of_b], weights=frame.weight[of_b]))
    clustered = line_of(fb.audit(frame, **CLASSES, cluster="ward"))
    assert (clustered.value, clustered.test) == (pytest.approx(right[of_b].mean()), "clusters")
    by_model = fb.audit(frame, **CLASSES, model_column="model", metrics="accuracy")
    assert line_of(by_model, "1").value == pytest.approx(right[of_b & (frame.model == 1)].mean())
    assert by_model.report.family == 2


def test_where_it_is_not_named_it_is_a_line_that_does_not_decide() -> None:
    audit = fb.audit(diagnoses(), **CLASSES)
    assert not line_of(audit).deciding
    assert "all classes" not in {row.decision for row in audit.report.judged}
    assert audit.report.family == 5 * 5 + 1
    assert "fails" in audit.to_html().partition("all classes")[2]


@pytest.mark.parametrize("gate", ["accuracy", "group:accuracy", "accuracy-difference", "fpr"])
def test_gates_look_at_the_line_that_they_name(gate: str) -> None:
    frame = diagnoses()
    frame.loc[frame.group == "b", "found"] = frame.true  # only the other group has mistakes
    options = {**CLASSES, "metrics": "accuracy", "tau": 0.7, "fail_on": gate}
    audit = fb.audit(frame, **options)
    assert line_of(audit).verdict == "pass"
    assert audit.report.gate.stops == (gate == "fpr")
    assert fb.audit(diagnoses(), **{**options, "tau": 0.95}).report.gate.stops


def test_metrics_by_name_are_of_what_they_are_about() -> None:
    audit = fb.audit(diagnoses(), **CLASSES, metrics=["accuracy-ratio", "tpr-ratio"])
    places = [
        (row.decision == "all classes", tuple(row.values)) for row in audit.report.found["requested"].rows
    ]
    assert sorted(places) == [(False, ("tpr-ratio",))] * 5 + [(True, ("accuracy-ratio",))]


def test_without_a_mistake_it_passes() -> None:
    frame = diagnoses()
    assert line_of(fb.audit(frame.assign(found=frame.true), **CLASSES)).verdict == "pass"


@pytest.mark.gate
def test_every_format_has_it(say: Any) -> None:
    diagnoses(800).to_csv("diagnoses.csv", index=False)
    call = (
        "audit",
        "diagnoses.csv",
        "--score",
        "found",
        "--label",
        "true",
        "--outcome",
        "class",
        "-a",
        "group",
    )
    for name in FORMATS:
        if name != "finished":
            said = say(*call, "--metric", "accuracy", "-f", name)
            assert said.code == 0, name
            assert "accuracy" in said.out, name
    places = {row["decision"] for row in json.loads(say(*call, "-f", "json").out)["disparities"]}
    assert "all classes" in places


def test_what_is_taken_together_is_said() -> None:
    frame = diagnoses(800)
    two = {"score": "found", "label": "true", "attributes": "group", "favourable": ["v", "w"]}
    notes = fb.audit(frame, **two, metrics="bcr-difference").report.notes
    assert any(note.endswith("values that are none of these count as one more class.") for note in notes)
    assert any(note.startswith("bcr-difference: of each class against the rest") for note in notes)
    alone = {**two, "favourable": "v"}
    audit = fb.audit(frame, **alone, metrics="accuracy").report
    assert {row.decision for row in audit.disparities} == {"binary"}
    assert not any("class" in note for note in audit.notes)


@pytest.mark.parametrize("spellings", ["merge", {"found": "merge"}, {"found": "keep"}])
def test_a_class_in_two_spellings_is_one_or_two(spellings: Any) -> None:
    frame = diagnoses()
    frame.loc[:9, "found"] = frame.found[:10].str.upper()
    with pytest.raises(UserError, match="differ in capitals only") as stopped:
        fb.audit(frame, **CLASSES, metrics="accuracy")
    assert "favourable" not in str(stopped.value)
    found = frame.found if spellings == {"found": "keep"} else frame.found.str.lower()
    row = line_of(fb.audit(frame, **CLASSES, metrics="accuracy", spellings=spellings))
    assert row.value == pytest.approx((found == frame.true)[frame.group == "b"].mean())
