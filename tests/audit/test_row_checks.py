"""What was asked is what was done, and rows are what they are taken for: stops, notes and verdicts."""

from typing import Any

import pandas as pd
import pytest

import fairbench_cli as fb


def people(n: int = 400, **columns: Any) -> pd.DataFrame:
    """Return people of two sexes, in turn, with what else is said of them."""
    return pd.DataFrame({"sex": ["f", "m"] * (n // 2), **columns})


EVERYBODY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "decisions": ({"hired": 1}, {"score": "hired"}),
    "a threshold below all": ({"points": [60, 70, 80, 90] * 100}, {"score": "points", "threshold": 50}),
    "one word": ({"result": "Hired", "good": [1, 1, 0, 1] * 100}, {"score": "result", "favourable": "Hired"}),
    "by a margin": ({"hired": 1}, {"score": "hired", "margin": 0.05}),
    "chance not looked at": ({"hired": 1}, {"score": "hired", "rule": "point"}),
    "metrics by name": ({"hired": 1}, {"score": "hired", "metrics": "selection-rate-difference"}),
    "nobody, by a margin": ({"hired": 0}, {"score": "hired", "margin": 0.05}),
    "slices": ({"hired": 1, "office": ["a"] * 200 + ["b"] * 200}, {"score": "hired", "slice": "office"}),
}


@pytest.mark.parametrize("case", EVERYBODY)
def test_where_everybody_is_decided_on_alike_nothing_passes(case: str) -> None:
    columns, options = EVERYBODY[case]
    audit = fb.audit(people(**columns), attributes="sex", fail=True, **options)
    assert (audit.verdict, audit.report.gate.reason) == ("undecided", "nothing could be decided")
    assert sum("there is nothing to compare" in note for note in audit.report.notes) == (
        2 if "office" in columns else 1
    )


def test_a_file_of_those_selected_is_called_so() -> None:
    (note,) = (note for note in fb.audit(people(hired=1), score="hired").report.notes if "Everybody" in note)
    assert note.endswith("a file of those selected cannot show who was not.")


def test_where_one_is_not_selected_there_is_something_to_compare() -> None:
    audit = fb.audit(people(hired=[0] + [1] * 399), score="hired")
    assert audit.verdict == "pass"
    assert not any("nothing to compare" in note for note in audit.report.notes)


def test_decisions_without_a_mistake_are_open_by_a_ratio_and_pass_by_a_margin() -> None:
    right = people(score=[1, 1, 0, 0] * 100, label=[1, 1, 0, 0] * 100)
    by_ratio = fb.audit(right)
    assert by_ratio.verdict == "undecided"
    (note,) = (note for note in by_ratio.report.notes if "wrongly decided" in note)
    assert note.endswith("with --margin 0.05.")
    errors = {"metrics": ["fpr", "fnr"], "margin": 0.05}
    assert fb.audit(right, **errors).verdict == "pass"


RATED = people(200, rating=[5, 4, 3, 3, 3, 2, 2, 2, 1, 1] * 20, judge=["x", "y"] * 100)
TIES: dict[str, tuple[dict[str, Any], str]] = {
    "included": (
        {"top_k": 50},
        "top 50: 100 rows are selected, not 50, as 60 have the score at the cut, 3. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 0.",
    ),
    "a share, excluded": (
        {"top_share": 0.25, "ties": "exclude"},
        "top 25 %: 40 rows are selected, not 50, as 60 have the score at the cut, 3. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 0.",
    ),
    "drawn": (
        {"top_k": 50, "ties": "random", "seed": 3},
        "top 50: 10 of the 60 rows that have the score at the cut, 3, are drawn. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 3.",
    ),
    "by model": (
        {"top_k": 25, "model_column": "judge"},
        "top 25: of x 60 rows are selected, not 25, as 40 have the score at the cut, 3; of y 40 rows are "
        "selected, not 25, as 20 have the score at the cut, 3. Choose by --ties include, --ties exclude or "
        "--ties random --seed 0.",
    ),
}


@pytest.mark.parametrize("case", TIES)
def test_equal_scores_at_a_cut_are_said_with_the_choices_that_there_are(case: str) -> None:
    options, expected = TIES[case]
    audit = fb.audit(RATED, score="rating", attributes="sex", **options)
    (note,) = (note for note in audit.report.notes if note.startswith("Asked for "))
    assert note == f"Asked for {expected}"
    assert note in audit.to_json()


@pytest.mark.parametrize("options", [{"top_k": 40}, {"top_share": 0.2}, {"threshold": 3}])
def test_as_many_as_were_asked_for_need_no_note(options: dict[str, Any]) -> None:
    notes = fb.audit(RATED, score="rating", attributes="sex", **options).report.notes
    assert not any(note.startswith("Asked for ") for note in notes)


def test_the_choices_can_be_pasted(say: Any) -> None:
    RATED.to_csv("rated.csv", index=False)
    base = ("audit", "rated.csv", "--score", "rating", "-a", "sex", "--top-k", "50")
    for choice in (("--ties", "exclude"), ("--ties", "random", "--seed", "0")):
        assert say(*base, *choice, "-f", "json").code == 0
