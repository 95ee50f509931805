"""What columns explain of the differences of numbers."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, worlds
from for_each import for_each
from numbers_tables import ANSWERS, TABLES

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.means import compare_means
from fairbench_cli.measures.moments import sum_powers
from fairbench_cli.measures.stratified_means import stratify_means

KEYS = {"attribute": ["sex"], "ref": {"sex": "m"}, "outcome": "number", "score": "pay"}


def staff(seed: int, n: int = 1500) -> pd.DataFrame:
    """Return pay by rank, years and place; women have lower ranks, and 3 less at the same."""
    rng = np.random.default_rng(seed)
    is_woman = rng.random(n) < 0.4
    rank = rng.binomial(2, np.where(is_woman, 0.3, 0.6))
    years = rng.gamma(2, 5, n)
    pay = 40 + 10 * rank + 0.5 * years - 3 * is_woman + rng.normal(0, 5, n)
    return pd.DataFrame(
        {
            "pay": pay,
            "sex": np.where(is_woman, "f", "m"),
            "rank": np.array(["low", "mid", "top"])[rank],
            "years": years.round(2),
            "w": rng.lognormal(0, 0.5, n),
            "row": range(n),
        }
    )


def explained(rows: pd.DataFrame, *columns: str, **more):
    (explanation,) = fb.audit(rows, explain=list(columns), **KEYS, **more).report.found["number_explanations"]
    return explanation


@for_each("number", [*TABLES][::20])
def test_parts_of_columns_are_those_of_statsmodels(number, tmp_path):
    """Through the whole audit, of tables with known answers; theirs are of the reference less the group."""
    table = TABLES[number]
    rows = pd.DataFrame(
        {"pay": table["value"], "sex": np.where(table["is_group"], "f", "m"), "x": table["column"]}
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    keys = KEYS | {"min_group": 1}
    report = fb.audit(str(tmp_path / "rows.csv"), explain=["x"], **keys).report
    (explanation,) = report.found["number_explanations"]
    answer = ANSWERS[number]
    for value, name in (
        (explanation.difference.value, "oaxaca_gap"),
        (explanation.explained.value, "oaxaca_explained_by_reference"),
        (explanation.unexplained.value, "oaxaca_unexplained_by_reference"),
    ):
        assert value == pytest.approx(-float(answer[name]), rel=1e-9, abs=1e-9)


@pytest.mark.gate
@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"cluster": "row"}])
def test_parts_add_up_to_the_difference(more):
    explanation = explained(staff(1), "rank", "years", **more)
    assert explanation.explained.value + explanation.unexplained.value == pytest.approx(
        explanation.difference.value, rel=1e-9
    )
    for stratified in explanation.strata:
        assert stratified.explained.value + stratified.unexplained.value == pytest.approx(
            explanation.difference.value, rel=1e-9
        )
    of_columns = sum(part.explained.value for part in explanation.contributions)
    assert of_columns == pytest.approx(explanation.explained.value, rel=1e-9)
    left = sum(part.unexplained for part in explanation.contributions) + explanation.constant
    assert left == pytest.approx(explanation.unexplained.value, rel=1e-9)
    assert [part.column for part in explanation.contributions] == ["rank", "years"]


def test_strata_of_a_column_of_words_are_its_part():
    """With a level for each stratum least squares are the means of strata."""
    explanation = explained(staff(2), "rank")
    (stratified,) = explanation.strata
    assert stratified.unexplained.value == pytest.approx(explanation.unexplained.value, rel=1e-9)
    assert stratified.unexplained.low == pytest.approx(explanation.unexplained.low, rel=0.05)
    assert stratified.explained.low == pytest.approx(explanation.explained.low, rel=0.05)
    rows = sum(stratum.rows * stratum.difference for stratum in stratified.strata)
    assert rows / sum(stratum.rows for stratum in stratified.strata) == pytest.approx(
        stratified.unexplained.value
    )


def test_what_is_planted_is_left():
    explanation = explained(staff(3, 6000), "rank", "years")
    assert explanation.difference.value < -6
    for left in (explanation.unexplained, explanation.adjusted):
        assert left.low < -3 < left.high
        assert left.value == pytest.approx(-3, abs=0.5)


def test_the_difference_is_that_of_the_audit():
    rows = staff(4, 300)
    rows["pay"] = np.exp(rows["pay"] / 10)
    report = fb.audit(rows, explain=["rank"], **KEYS).report
    (explanation,) = report.found["number_explanations"]
    row = next(row for row in report.found["numbers"][0].comparisons if row.metric == "mean")
    for name in ("value", "low", "high"):
        assert getattr(explanation.difference, name) == pytest.approx(getattr(row.difference, name), rel=1e-9)


@pytest.mark.gate
def test_clusters_of_a_row_each_say_about_what_rows_say():
    rows = staff(5)
    of_rows = explained(rows, "rank")
    of_clusters = explained(rows, "rank", cluster="row")
    assert of_clusters.strata[0].unexplained.low == pytest.approx(of_rows.strata[0].unexplained.low, rel=0.02)
    assert of_clusters.adjusted.low == pytest.approx(of_rows.adjusted.low, rel=0.02)


@pytest.mark.gate
def test_strata_of_one_group_are_not_compared():
    rows = staff(6)
    rows = rows[(rows["sex"] == "f") | (rows["rank"] != "low")]
    explanation = explained(rows, "rank")
    (stratified,) = explanation.strata
    is_woman = rows["sex"] == "f"
    assert stratified.compared == pytest.approx((rows.loc[is_woman, "rank"] != "low").mean())
    page = str(fb.audit(rows, explain=["rank"], **KEYS).to_markdown())
    assert "without anybody of m" in page


def test_missing_numbers_are_their_mean_and_marked():
    rows = staff(7)
    rows.loc[::7, "years"] = np.nan
    names = [part.column for part in explained(rows, "years").contributions]
    assert names == ["years", "years (missing)"]


def test_professors_salaries():
    """14,088 less for women; 4,783 with rank, discipline and years held."""
    file = Path(__file__).parents[1] / "reference" / "numbers" / "salaries.csv"
    columns = ["rank", "discipline", "yrs.since.phd", "yrs.service"]
    result = fb.audit(str(file), score="salary", explain=columns)
    (explanation,) = result.report.found["number_explanations"]
    assert explanation.difference.value == pytest.approx(-14088.008738003162, rel=1e-9)
    assert explanation.adjusted.value == pytest.approx(-4783.49283668668, rel=1e-9)


def test_one_stratum_leaves_everything():
    rng = np.random.default_rng(0)
    pay = rng.lognormal(0, 1, 120)
    is_group = rng.random(120) < 0.4
    weights = rng.lognormal(0, 0.5, 120)
    parts = stratify_means(pay, is_group, np.zeros(120, int), 1, weights)
    moments = sum_powers(pay, is_group.astype(int), 2, weights, shift=1.6)
    difference = compare_means(moments[1], moments[0]).difference
    assert float(parts.explained.value) == pytest.approx(0, abs=1e-12)
    assert float(parts.unexplained.value) == pytest.approx(float(difference.value), rel=1e-12)
    for name in ("error", "degrees", "low", "high", "p"):
        expected = float(getattr(difference, name))
        assert float(getattr(parts.difference, name)) == pytest.approx(expected, rel=1e-9)


def test_intervals_of_what_is_left_hold_the_truth():
    rng = np.random.default_rng(1)
    held, runs = 0, worlds(2000)
    for _ in runs:
        n = 150
        is_group = rng.random(n) < 0.4
        stratum = rng.binomial(3, np.where(is_group, 0.3, 0.6))
        pay = rng.lognormal(0, 0.8, n) + stratum + 0.5 * is_group
        left = stratify_means(pay, is_group, stratum, 4).unexplained
        held += float(left.low) <= 0.5 <= float(left.high)
    assert len(runs) - held <= most_by_chance(len(runs), 0.05)


def test_outputs_have_explanations(tmp_path):
    result = fb.audit(staff(8), explain=["rank", "years"], **KEYS)
    result.save(tmp_path / "audit")
    data = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))
    (explanation,) = data["number_explanations"]
    assert explanation["group"] == "f"
    table = pd.read_csv(tmp_path / "audit" / "number_explanations.csv")
    assert math.isclose(table["adjusted"][0], explanation["adjusted"]["value"])
    assert "Explained is not justified" in (tmp_path / "audit" / "audit.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"explain": ["rank"], "outcome": "ordinal"}, "levels in an order have none"),
        ({"explain": ["pay"]}, "is the score"),
        ({"explain": ["rank"], "score": ["pay", "years"]}, "cannot be combined with score"),
    ],
)
def test_what_cannot_be_explained_is_refused(more, says):
    with pytest.raises(UserError, match=says):
        fb.audit(staff(9), **(KEYS | more))
