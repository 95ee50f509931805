"""Pay by category: each is judged in one family, the whole is told, and how often equal pay shows a gap."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.show.document import audit_document
from fairbench_cli.measures.chance_gaps import chance_of_gap
from fairbench_cli.measures.significance import holm

SIZES = {"A": (40, 35), "B": (60, 80), "C": (6, 90), "D": (150, 140)}
KEYS = {"score": "base_pay", "attribute": ["sex"], "ref": {"sex": "man"}, "slice": "category"}


def employer(less: float = 0.0, sizes: dict[str, tuple[int, int]] = SIZES, seed: int = 1) -> pd.DataFrame:
    """Return pay by category, the higher the more men there are; in B women have so much less than men."""
    rng = np.random.default_rng(seed)
    frames = []
    for i, (category, (n_women, n_men)) in enumerate(sizes.items()):
        pay = 30_000 * 1.3**i * rng.lognormal(0, 0.16, n_women + n_men)
        if category == "B":
            pay[:n_women] *= 1 - less
        sex = ["woman"] * n_women + ["man"] * n_men
        frames.append(pd.DataFrame({"base_pay": pay.round(), "sex": sex, "category": category}))
    return pd.concat(frames)


@pytest.fixture(scope="module")
def planted():
    rows = employer(0.2)
    return rows, fb.audit(rows, fail=True, **KEYS)


def means_of(result):
    """Return the comparison of means of each category."""
    return {
        numbers.model: row
        for numbers in result.report.found["numbers"]
        for row in numbers.comparisons
        if row.metric == "mean"
    }


def test_the_category_that_fails_comes_first_and_stops_the_gate(planted):
    _, result = planted
    assert result.verdict == "fail"
    assert result.headline.startswith("sex (category B): woman are worse off: the mean of base_pay is ")
    assert re.search(r"fails( clearly)? \(allowed: 5 %\)\. Of 3 other slices by category ", result.headline)
    assert not any(word in result.headline for word in ("rend", "The last", "look"))
    assert result.report.gate.reason == "sex in category B fails"
    assert "title=sex (category B)::" in result.to("github")
    assert 'classname="sex (category B)"' in result.to("junit")
    found = json.loads(result.to("sarif"))["runs"][0]["results"]
    (error,) = (entry["message"]["text"] for entry in found if entry["level"] == "error")
    assert error.startswith("sex (category B): woman are worse off: the mean of base_pay is ")
    assert [row["model"] for row in json.loads(result.to("ci"))["failing"]] == ["B"]


def test_categories_are_one_family_without_those_that_are_too_small(planted):
    _, result = planted
    rows = means_of(result)
    tested = [category for category in SIZES if category != "C"]
    assert (rows["C"].reason, math.isnan(rows["C"].p_holm)) == ("few", True)
    adjusted = holm(np.array([rows[category].p for category in tested]))
    assert [rows[category].p_holm for category in tested] == pytest.approx(adjusted)
    margins = [numbers.margin.percent for numbers in result.report.found["numbers"]]
    assert margins == pytest.approx([5.0] * 4)  # though .2 standard deviations would be 3.2 %


def test_the_whole_gap_is_told_and_not_judged(planted):
    rows, result = planted
    women, men = (rows.base_pay[rows.sex == sex].mean() for sex in ("woman", "man"))
    gap = f"{100 * abs(women / men - 1):.1f} % {'less' if women < men else 'more'} for woman than for man"
    assert f"Over all slices by category the mean of base_pay is {gap}; that is not judged" in result.headline
    (together,) = result.report.found["number_slices"].together
    assert {row.verdict for row in together.comparisons} == {None}
    assert set(result.to_pandas("numbers_together")["verdict"]) == {""}


def test_the_chance_of_equal_pay_is_of_the_rows_of_each_category(planted):
    rows, result = planted
    chances = {}
    for category in ("A", "B", "D"):
        of_category = rows[rows.category == category]
        women, men = (of_category.base_pay[of_category.sex == sex] for sex in ("woman", "man"))
        chances[category] = chance_of_gap(women.to_numpy(), men.to_numpy(), 0.05)
    found = {numbers.model: numbers.chances for numbers in result.report.found["numbers"]}
    assert found == {"C": {}} | {category: {"woman": chance} for category, chance in chances.items()}
    n_employers = f"{100 * (1 - math.prod(1 - chance for chance in chances.values())):.0f}"
    expected = f"{sum(chances.values()):.1f} is to be expected"
    assert f"Of 100 such employers that pay equally {n_employers} would show 5 % or more" in result.headline
    assert f"in at least one category of these 3; here 1 does, {expected}." in result.headline


def test_the_table_has_what_is_measured_and_what_is_more_than_chance_apart(planted):
    document = audit_document(planted[1].report, brief=True)
    (each,) = (section for section in document.sections if section.title == "Each category")
    (table,) = each.tables
    assert table.heads == ("category", "rows", "per cent", "shows 5 %", "more than chance", "verdict")
    lines = {row[0].text: [cell.text for cell in row] for row in table.rows}
    order = [row[-1].text for row in table.rows]
    assert order == sorted(order, key=["fails clearly", "fails", "not decided", "passes"].index)
    assert lines["B"][1] == "60 v 80"
    assert lines["B"][3:5] == ["yes", "yes"]
    assert lines["C"][4] == "–"


@pytest.mark.gate
def test_equal_pay_passes_or_is_open_whatever_the_whole_gap_is():
    rows = employer(sizes={"A": (900, 300), "B": (60, 80), "D": (300, 900)})
    assert fb.audit(rows.drop(columns="category"), **(KEYS | {"slice": None})).verdict == "fail"
    result = fb.audit(rows, **KEYS)
    assert result.verdict == "undecided"
    assert re.match(r"(Of|All) 3 slices by category .*\. sex \(category", result.headline)


def test_medians_have_a_p_and_a_ratio_and_decide_nothing(planted):
    rows, result = planted
    (numbers,) = (part for part in result.report.found["numbers"] if part.model == "B")
    (row,) = (row for row in numbers.comparisons if row.metric == "median")
    of_category = rows[rows.category == "B"].groupby("sex")["base_pay"].median()
    assert row.ratio.value == pytest.approx(of_category["woman"] / of_category["man"])
    assert row.ratio.low < row.ratio.value < row.ratio.high < 1
    assert row.p < 0.001
    assert (row.verdict, row.deciding) == (None, False)


@pytest.mark.parametrize("more", [{"weight": "w"}, {"cluster": "person"}])
def test_weighted_and_clustered_rows_have_no_chance_by_rows(more):
    rows = employer(0.2).assign(w=1.5, person=lambda rows: range(len(rows)))
    result = fb.audit(rows, **KEYS, **more)
    assert "employers" not in result.headline
    assert "Over all slices by category" in result.headline
