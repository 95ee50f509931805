"""Which groups are compared: excluded ones, small ones, and the reference."""

import numpy as np
import pandas as pd
import pytest
from audit_counts import Cells, one, slice_of, tally_of

import fairbench_cli as fb
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.references import comparable, find_references, without_excluded_groups
from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.base.errors import UserError

FAIR: Cells = (200, 100, 100, 200)
RACE: dict[str, Cells] = {"a": FAIR, "b": FAIR, "Other": (1, 30, 30, 1), MISSING: (2, 40, 40, 2)}
BOTH: dict[str, Cells] = {
    "a × f": FAIR,
    "a × m": FAIR,
    "Other × f": (2, 9, 9, 2),
    f"{MISSING} × m": (0, 1, 0, 0),
}


def compared(report: Report) -> set[str]:
    return {row.group for row in report.disparities}


def test_an_excluded_group_is_nowhere() -> None:
    tally = one(RACE)
    plain = judge(tally, AuditConfig(draws=0))
    report = judge(tally, AuditConfig(draws=0, exclude=("race=Other", MISSING)))
    assert compared(plain) == set(RACE)
    assert compared(report) == {"a", "b"}
    assert {row.group for row in report.groups} == {"a", "b"}
    assert report.family == 5
    assert "Left out: Other (race), 62 rows, (missing) (race), 84 rows." in report.notes
    assert report.overall == plain.overall
    rest = judge(tally, AuditConfig(draws=0, ref_method="rest", exclude=("Other", MISSING)))
    assert {row.reference_behind[1] for row in rest.disparities if row.metric == "selection-rate"} == {600}
    share = {row.group: row for row in report.disparities if row.metric == "selected-share"}
    assert share["a"].value == 0.5


def test_a_part_of_an_intersection_is_excluded() -> None:
    part = slice_of(BOTH, attribute="race × sex", intersection=True)
    tally = tally_of(slice_of({"a": FAIR, "Other": FAIR}), part)
    for text in ("Other", "race=Other"):
        report = judge(tally, AuditConfig(draws=0, exclude=(text,)))
        assert not any("Other" in group for group in compared(report))
    only = judge(tally, AuditConfig(draws=0, exclude=("race × sex=Other × f",)))
    assert {"Other", "a × f"} <= compared(only)
    assert "Other × f" not in compared(only)


def test_who_is_excluded_is_known() -> None:
    with pytest.raises(UserError, match='no group called "Othr"') as caught:
        judge(one(RACE), AuditConfig(exclude=("Othr",)))
    assert caught.value.problems[0].fix == 'did you mean "Other"?'
    with pytest.raises(UserError, match='the reference "a" is left out'):
        judge(one(RACE), AuditConfig(exclude=("a",), references={"race": "a"}))
    nobody_missing = {"a": FAIR, "b": FAIR}
    assert judge(one(nobody_missing), AuditConfig(exclude=(MISSING,))).verdict == "undecided"


def test_a_group_under_the_share_is_shown_and_not_compared() -> None:
    tally = one(RACE)
    report = judge(tally, AuditConfig(draws=0, min_share=0.06))
    assert compared(report) == {"a", "b", MISSING}
    assert {row.group for row in report.groups} == set(RACE)
    assert "Under 6 % of the rows, shown and not compared: Other (race)." in report.notes
    assert report.family == 2 * 5
    part = tally.slices[0]
    highest = AuditConfig(ref_method="maximum", min_share=0.06, min_group=1)
    assert judge(tally, highest).family == 3 * 5
    assert find_references(part, ("fnr",), highest).tolist() == [0]
    # Of those left: "Other" has 62 of 1,262 rows.
    assert comparable(part, AuditConfig(min_share=62 / 1262, exclude=(MISSING,))).tolist() == [
        True,
        True,
        True,
        False,
    ]
    named = judge(tally, AuditConfig(draws=0, min_share=0.06, references={"race": "Other"}))
    assert compared(named) == set(RACE)


def test_one_row_of_nobody_known_is_no_reference() -> None:
    part = slice_of(BOTH, attribute="race × sex", intersection=True)
    for method in ("majority", "maximum", "minimum"):
        at = find_references(part, ("selection-rate", "fpr"), AuditConfig(ref_method=method))  # type: ignore[arg-type]
        assert {part.counts.groups[g] for g in at} <= {"a × f", "a × m"}
    named = AuditConfig(draws=0, references={"race × sex": f"{MISSING} × m"})
    report = judge(tally_of(part), named)
    assert {row.reference for row in report.disparities} == {f"{MISSING} × m"}
    assert "The reference has fewer than 30 rows: (missing) × m (race × sex)." in report.notes


def test_what_is_kept_is_the_same_slice_without_the_group() -> None:
    part = slice_of(RACE)
    assert without_excluded_groups(part, AuditConfig()) is part
    without = without_excluded_groups(part, AuditConfig(exclude=("Other",)))
    assert without.counts.groups == ("a", "b", MISSING)
    assert without.rows.tolist() == [600, 600, 84]


def test_groups_that_are_numbers_are_named_by_numbers() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"group": rng.integers(0, 3, 300).astype(float), "score": rng.integers(0, 2, 300)})
    audit = fb.audit(frame, attribute="group", ref={"group": 1}, exclude=[2])
    assert {(row.group, row.reference) for row in audit.report.disparities} == {("0", "1"), ("1", "1")}
