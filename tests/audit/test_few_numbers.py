"""Small groups of numbers: what decides, what does not, and what is said of values that may be missing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit.api import AuditResult, audit
from fairbench_cli.audit.compare.report import NumberComparison


def rows_of(**values_by_group: Any) -> pd.DataFrame:
    sizes = [len(values) for values in values_by_group.values()]
    pay = np.concatenate([np.asarray(values, dtype=np.float64) for values in values_by_group.values()])
    return pd.DataFrame({"pay": pay, "sex": np.repeat(list(values_by_group), sizes)})


def mean_row(result: AuditResult) -> NumberComparison:
    (numbers,) = result.report.found["numbers"]
    return next(row for row in numbers.comparisons if row.metric == "mean")


def audited(rows: pd.DataFrame, **options: Any) -> AuditResult:
    return audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}, **options)


def lognormal(n: int, sigma: float = 0.3, seed: int = 1) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).lognormal(10, sigma, n))


def test_values_that_a_small_group_missed_by_chance_are_no_gap():
    men = lognormal(2000)
    men[:20] *= 20
    result = audited(rows_of(f=lognormal(40, seed=2), m=men))
    row = mean_row(result)
    assert (row.verdict, row.reason, row.cautions) == ("undecided", "chance", ("few rows, skewed",))
    assert row.difference.low < 0 < row.difference.high
    assert row.ratio.low < 1 < row.ratio.high
    assert row.rows_needed > 2040
    page = str(result.to_markdown())
    top = np.sort(men)[-20:].sum() / men.sum()
    assert f"The highest 1 % of m hold {100 * top:.2g} % of their sum." in page
    assert "is as high happens by chance in 67 of 100 such files" in page
    assert "What fewer than 1 in 13 of the 40 rows of f have may be missing by chance." in page


@pytest.mark.parametrize(("n", "verdict"), [(9, "undecided"), (10, "fail")])
def test_ten_rows_decide(n, verdict):
    assert mean_row(audited(rows_of(f=lognormal(n) / 2, m=lognormal(40, seed=2)))).verdict == verdict


def test_clusters_still_take_thirty_rows():
    rows = rows_of(f=lognormal(29) / 2, m=lognormal(100, seed=2)).assign(person=range(129))
    assert mean_row(audited(rows, cluster="person")).reason == "few"


def test_rows_that_have_one_value_are_not_compared():
    result = audited(rows_of(f=[0.9] * 30, m=np.linspace(1, 2, 300)), outcome="number")
    row = mean_row(result)
    assert (row.verdict, row.reason) == ("undecided", "one value")
    assert "All 30 rows of f have the value 0.9: their mean cannot be compared." in str(result.to_markdown())


@pytest.mark.parametrize(("n_others", "reason"), [(9, "few values"), (10, "chance")])
def test_where_most_rows_are_zero_ten_others_are_asked_for(n_others, reason):
    women = np.concatenate([np.zeros(60 - n_others), np.linspace(10, 900, n_others)])
    men = np.concatenate([np.zeros(550), np.linspace(1, 1000, 50)])
    result = audited(rows_of(f=women, m=men), outcome="number", margin="1%")
    assert mean_row(result).reason == reason
    said = "A value other than 0 is in 9 of 60 rows of f: from 10 on a mean is compared."
    assert (said in str(result.to_markdown())) == (n_others == 9)


def test_rows_of_people_that_repeat_decide_nothing_without_clusters():
    rows = rows_of(f=lognormal(100) / 2, m=lognormal(300, seed=2))
    rows = pd.concat([rows.assign(id=range(400))] * 3)
    row = mean_row(audited(rows))
    assert (row.verdict, row.reason) == ("undecided", "persons")
    assert np.isnan([row.p, row.difference.low, row.rows_needed]).all()
    assert mean_row(audited(rows, cluster="id")).verdict == "fail"
    few = pd.concat([rows.iloc[:400], rows.iloc[:20]])  # of which few repeat
    assert mean_row(audited(few)).verdict == "fail"


def test_equal_weights_are_no_weights_and_counted_rows_are_rows():
    rows = rows_of(f=lognormal(20).round(-3), m=lognormal(60, seed=2).round(-3))
    rows = pd.concat([rows, rows])
    plain = mean_row(audited(rows))
    weighted = mean_row(audited(rows.assign(w=np.where(rows["sex"] == "f", 3.0, 0.5)), weight="w"))
    found, expected = (
        [row.p, row.difference.low, row.difference.high, row.ratio.low, row.ratio.high]
        for row in (weighted, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_weights_that_rise_with_the_values_of_one_group_decide_nothing():
    women = lognormal(30, 0.5) * 2
    rows = rows_of(f=women, m=lognormal(300, 0.5, seed=2))
    rows["w"] = np.where(rows["sex"] == "f", rows["pay"] ** 2, np.random.default_rng(3).lognormal(size=330))
    result = audited(rows, weight="w")
    assert mean_row(result).reason == "few"
    assert "Weights rise with the values of f alone" in str(result.to_markdown())


def test_a_stated_share_of_a_mean_below_zero_is_judged_on_the_right_side():
    rng = np.random.default_rng(4)
    rows = rows_of(f=rng.normal(-10, 2, 2000), m=rng.normal(-10, 2, 2000))
    row = mean_row(audited(rows, margin="5%"))
    assert row.verdict == "pass"
    assert row.margin == pytest.approx(0.5, rel=0.05)
