"""Aequitas' tables from our counts, and each departure of the audit from them."""

import csv
import io
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from audit_counts import AEQUITAS, Cells, compas, one, slice_of, tally_of

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.report import Disparity
from fairbench_cli.audit.config import MISSING, AuditConfig, Decision
from fairbench_cli.audit.scan.slices import Tally
from fairbench_cli.audit.show.aequitas import compat_files, pair_rule, write_compat
from fairbench_cli.base.errors import UserError

GIVEN = {"race": "Caucasian", "sex": "Male", "age_cat": "25 - 45"}
SPECS = {
    "majority": AuditConfig(),
    "predefined": AuditConfig(ref_method="given", references=GIVEN),
    "minimum": AuditConfig(ref_method="minimum", min_group=1),
}
EDGE_CASES = json.loads((AEQUITAS / "edge_cases.json").read_text())
FILES = ("group", "disparity", "fairness_groups", "fairness_attributes", "full")
NAMES = (*(f"{name}.csv" for name in FILES), "overall.json")


@pytest.mark.parametrize("method", SPECS)
@pytest.mark.parametrize("name", NAMES)
def test_compas_is_aequitas_byte_for_byte(tmp_path: Path, method: str, name: str) -> None:
    write_compat(judge(compas(), SPECS[method]), tmp_path / "new")
    assert (tmp_path / "new" / name).read_bytes() == (AEQUITAS / f"compas_{method}_{name}").read_bytes()


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases_are_aequitas_byte_for_byte(case: dict[str, Any]) -> None:
    tally = tally_of(*(slice_of(groups, attribute) for attribute, groups in case["tp_fp_fn_tn"].items()))
    config = AuditConfig(ref_method=case["method"], references=case["references"], tau=case["tau"], draws=0)
    files = files_of(tally, config)
    assert files["full.csv"].splitlines() == case["full"]
    assert files["fairness_attributes.csv"].splitlines() == case["fairness_attributes"]
    assert json.loads(files["overall.json"]) == case["overall"]


def test_the_reference_counts_are_those_of_the_rows() -> None:
    folder = os.environ.get("FAIRBENCH_DATA")
    path = Path(folder).parent / "reference" / "aequitas" / "compas_for_aequitas.csv" if folder else None
    if path is None or not path.exists():
        pytest.skip("no compas_for_aequitas.csv beside $FAIRBENCH_DATA")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for part in compas().slices:
        counted = Counter(
            (row[part.attribute], int(row["label_value"]), int(float(row["score"]))) for row in rows
        )
        for g, group in enumerate(part.counts.groups):
            for label in (0, 1):
                for predicted in (0, 1):
                    assert part.counts.n[g, label, predicted] == counted.pop((group, label, predicted), 0)
        assert not counted


@pytest.mark.parametrize(
    ("attribute", "group", "measure", "ratio"),
    [
        ("race", "African-American", "fpr", 1.91),
        ("age_cat", "Less than 25", "fpr", 1.62),
        ("sex", "Female", "fdr", 1.34),
    ],
)
def test_the_papers_statements(attribute: str, group: str, measure: str, ratio: float) -> None:
    audit = judge(compas(), SPECS["predefined"])
    found = [
        disparity.ratio.value
        for disparity in audit.disparities
        if (disparity.attribute, disparity.group, disparity.metric) == (attribute, group, measure)
    ]
    assert [round(value, 2) for value in found] == [ratio]


def files_of(tally: Tally, config: AuditConfig | None = None) -> dict[str, str]:
    return compat_files(judge(tally, config or AuditConfig(draws=0)))


def table(tally: Tally, config: AuditConfig, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files_of(tally, config)[f"{name}.csv"])))


def disparity(tally: Tally, group: str, measure: str, spec: AuditConfig | None = None) -> Disparity:
    audit = judge(tally, spec or AuditConfig(draws=0))
    (found,) = (one for one in audit.disparities if (one.group, one.metric) == (group, measure))
    return found


def compat_of(groups: dict[str, Cells], group: str, column: str) -> str:
    (row,) = (row for row in table(one(groups), AuditConfig(), "full") if row["attribute_value"] == group)
    return row[column]


# The departures, each next to what Aequitas does. docs/audit-departures.md names these tests.


def test_departure_exact_boundary() -> None:
    # (1/3) / (5/12) is 4/5, and 0.7999999999999999 in binary floats.
    groups: dict[str, Cells] = {"a": (5, 0, 0, 7), "b": (1, 0, 0, 2)}
    assert compat_of(groups, "b", "Impact Parity") == "False"
    assert disparity(one(groups), "b", "selection-rate").point == "pass"


def test_departure_all_undefined_is_not_fair() -> None:
    groups: dict[str, Cells] = {"a": (0, 0, 4, 8), "b": (0, 0, 3, 5)}  # nobody is selected
    files = files_of(one(groups))
    assert json.loads(files["overall.json"])["Unsupervised Fairness"] is True
    audit = judge(one(groups), AuditConfig(draws=0, metrics=("unsupervised-parity",)))
    assert audit.verdicts[0].by_metric["selected-share"] == "undecided"
    assert audit.verdict == "undecided"
    assert "Nobody is selected" in audit.notes[0]


def test_departure_undefined_and_fair_is_undecided() -> None:
    assert pair_rule(None, True) is False
    # No negatives: FPR is 0/0, TPR equal.
    groups: dict[str, Cells] = {"a": (500, 0, 500, 0), "b": (500, 0, 500, 0)}
    assert compat_of(groups, "b", "Equalized Odds") == "False"
    verdict = judge(one(groups), AuditConfig(draws=0)).verdicts[0]
    assert (verdict.by_metric["tpr"], verdict.by_metric["equalised-odds-parity"]) == ("pass", "undecided")


def test_departure_both_rates_zero_are_equal() -> None:
    groups: dict[str, Cells] = {"a": (50, 0, 10, 40), "b": (50, 0, 10, 40)}
    assert compat_of(groups, "b", "FPR Parity") == ""
    assert disparity(one(groups), "b", "fpr").point == "pass"


def test_departure_infinite_ratio() -> None:
    groups: dict[str, Cells] = {"a": (50, 0, 10, 40), "b": (40, 5, 10, 40)}
    assert compat_of(groups, "b", "fpr_disparity") == "10.0"
    found = disparity(one(groups), "b", "fpr")
    assert (found.ratio.value, found.ratio.high, found.point) == (float("inf"), float("inf"), "fail")


def test_departure_one_group_is_not_decidable() -> None:
    groups: dict[str, Cells] = {"a": (50, 5, 10, 40)}
    assert json.loads(files_of(one(groups))["overall.json"])["Overall Fairness"] is True
    audit = judge(one(groups), AuditConfig(draws=0))
    assert audit.verdict == "undecided"
    assert audit.notes == ('Attribute "race" has one group only: nothing to compare.',)


def test_departure_missing_is_a_group() -> None:
    groups: dict[str, Cells] = {"a": (50, 5, 10, 40), "b": (40, 5, 10, 40), MISSING: (2, 30, 30, 2)}
    rows = table(one(groups), AuditConfig(), "group")
    assert [row["attribute_value"] for row in rows] == ["a", "b"]
    assert {row["k"] for row in rows} == {"132"}  # the missing are still among the selected
    assert disparity(one(groups), MISSING, "fpr").verdict == "fail"


def test_departure_default_verdict_leaves_shares_out() -> None:
    # A coin, whatever the group.
    groups: dict[str, Cells] = {"a": (4000, 4000, 4000, 4000), "b": (1000, 1000, 1000, 1000)}
    assert json.loads(files_of(one(groups))["overall.json"])["Overall Fairness"] is False
    audit = judge(one(groups), AuditConfig(draws=0))
    assert (audit.verdict, audit.verdicts[0].by_metric["selected-share"]) == ("pass", "fail")


def test_departure_coded_attributes_are_groups() -> None:
    groups: dict[str, Cells] = {"0": (50, 5, 10, 40), "1": (10, 30, 30, 2)}
    audit = judge(one(groups, attribute="code"), AuditConfig(draws=0))
    assert [row.group for row in audit.groups] == ["0", "1"]
    assert audit.verdict == "fail"


def test_departure_models_are_apart() -> None:
    fair: dict[str, Cells] = {"a": (500, 400, 100, 400), "b": (500, 400, 100, 400)}
    unfair: dict[str, Cells] = {"a": (50, 5, 10, 40), "b": (10, 30, 30, 2)}
    tally = tally_of(slice_of(fair, model="x"), slice_of(unfair, model="y"))
    assert [row["model_id"] for row in table(tally, AuditConfig(), "fairness_attributes")] == ["x", "y"]
    verdicts = judge(tally, AuditConfig(draws=0)).verdicts
    assert [(one.model, one.by_metric["fpr"]) for one in verdicts] == [("x", "pass"), ("y", "fail")]


def test_departure_the_test_is_of_the_measure_itself() -> None:
    # Aequitas gives .0504 for FPR, .00023 for FNR and .985 for Hispanic FNR: tests of FDR and FOR.
    spec = SPECS["predefined"]
    assert disparity(compas(), "African-American", "fpr", spec).p == pytest.approx(2.1e-37, rel=0.02)
    assert disparity(compas(), "African-American", "fnr", spec).p == pytest.approx(8.8e-26, rel=0.02)
    assert disparity(compas(), "Hispanic", "fnr", spec).p == pytest.approx(0.031, abs=0.0005)


def test_every_departure_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit-departures.md").read_text()
    here = {name for name in globals() if name.startswith("test_departure_")}
    assert set(re.findall(r"`(test_departure_\w+)`", page)) == here


# What compatibility cannot do.


def test_minimum_picks_a_reference_per_measure() -> None:
    groups: dict[str, Cells] = {"a": (10, 10, 5, 25), "b": (5, 20, 10, 15)}
    rows = table(one(groups), AuditConfig(ref_method="minimum"), "disparity")
    assert (rows[0]["precision_ref_group_value"], rows[0]["fpr_ref_group_value"]) == ("b", "a")


def test_aequitas_spells_thresholds_its_own_way() -> None:
    groups: dict[str, Cells] = {"a": (10, 10, 5, 25), "b": (5, 20, 10, 15)}
    decisions = (Decision("top-k", 300), Decision("top-share", 0.1), Decision("threshold", 5))
    parts = [slice_of(groups, decision=str(decision)) for decision in decisions]
    parts[0] = slice_of(groups, decision="top 300 (403 with ties)")
    rows = table(tally_of(*parts), AuditConfig(top_k=(300,), top_share=(0.1,), threshold=(5.0,)), "group")
    assert [row["score_threshold"] for row in rows[::2]] == ["300_abs", "0.1_pct", "5_val"]


def test_intersections_are_left_out() -> None:
    groups: dict[str, Cells] = {"a": (10, 10, 5, 25), "b": (5, 20, 10, 15)}
    tally = tally_of(slice_of(groups), slice_of(groups, attribute="race × sex", intersection=True))
    assert {row["attribute_name"] for row in table(tally, AuditConfig(), "group")} == {"race"}


def test_what_aequitas_does_not_have_is_refused() -> None:
    groups: dict[str, Cells] = {"a": (0, 10, 0, 25), "b": (0, 20, 0, 15)}
    with pytest.raises(UserError, match="Aequitas needs labels"):
        files_of(tally_of(slice_of(groups, labelled=False)))  # the rest is refused with the configuration
