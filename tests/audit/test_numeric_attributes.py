"""A numeric attribute as it is, beside its groups: against scipy and statsmodels, through the whole audit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.api import OLS, add_constant

from fairbench_cli.audit.api import audit


def people(n: int = 600, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, n)
    pay = 1000 + 20 * age + rng.normal(0, 200, n)
    return pd.DataFrame({"pay": pay.round(2), "age": age, "sex": rng.choice(["f", "m"], n)})


def examined(rows: pd.DataFrame, **options: object) -> pd.Series:
    keys = {"score": "pay", "bins": {"age": "30,50"}, "attribute": ["sex"], "draws": 0}
    return audit(rows, **{**keys, **options}).to_pandas("numeric_attributes").iloc[0]


def test_slope_and_ranks_are_those_of_statsmodels_and_scipy() -> None:
    rows = people()
    row = examined(rows)
    fit = OLS(rows["pay"], add_constant(rows["age"].astype(float))).fit(cov_type="HC3", use_t=True)
    assert row["slope"] == pytest.approx(10 * fit.params["age"], rel=1e-9)
    low, high = (10 * limit for limit in fit.conf_int().loc["age"])
    assert row["slope_low"] == pytest.approx(low, rel=0.01)
    assert row["slope_high"] == pytest.approx(high, rel=0.01)
    rank = stats.spearmanr(rows["age"], rows["pay"]).statistic
    assert row["rank_correlation"] == pytest.approx(rank, rel=1e-9)
    span = row["high_point"] - row["low_point"]
    assert row["effect"] == pytest.approx(row["slope"] / 10 * span, rel=1e-9)
    assert row["information_p"] < 0.01
    assert row["means_p"] < 1e-6


def test_missing_ages_are_left_out() -> None:
    rows = people()
    gaps = rows.astype({"age": object})
    gaps.loc[:49, "age"] = None
    row = examined(gaps)
    assert row["rows"] == 550
    assert row["slope"] == pytest.approx(examined(rows[50:])["slope"], rel=1e-9)


def test_equal_weights_and_persons_of_a_row_change_no_slope() -> None:
    rows = people().assign(w=2, person=range(600))
    plain = examined(rows)
    for options in ({"weight": "w"}, {"cluster": "person"}):
        assert examined(rows, **options)["slope"] == pytest.approx(plain["slope"], rel=1e-9)


def test_a_bent_curve_is_told_from_a_line() -> None:
    rows = people()
    rows["pay"] = 2000 - (rows["age"] - rows["age"].mean()) ** 2 + np.random.default_rng(1).normal(0, 50, 600)
    result = audit(rows, score="pay", outcome="number", bins={"age": "30,50"}, attribute=["sex"], draws=0)
    row = result.to_pandas("numeric_attributes").iloc[0]
    assert row["slope_p"] > 0.05
    assert row["means_p"] < 1e-6
    assert "the curve is bent" in result.headline
    assert "pay by age" in result.to_html()


def test_decisions_and_models_have_none() -> None:
    rows = people()
    models = audit(
        rows.assign(model=np.resize(["a", "b"], 600)),
        score="pay",
        bins={"age": "30,50"},
        model_column="model",
        attribute=["sex"],
    )
    assert "numeric_attributes" not in models.report.found
