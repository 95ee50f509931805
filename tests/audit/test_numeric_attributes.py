"""A numeric attribute as it is, beside its groups: against scipy and statsmodels, through the whole audit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score
from statsmodels.api import OLS, WLS, add_constant
from statsmodels.stats.proportion import proportion_confint

from fairbench_cli.audit.api import audit
from fairbench_cli.measures.rows import bin_numbers


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


@pytest.mark.gate
def test_missing_ages_are_left_out() -> None:
    rows = people()
    gaps = rows.astype({"age": object})
    gaps.loc[:49, "age"] = None
    row = examined(gaps)
    assert row["rows"] == 550
    assert row["slope"] == pytest.approx(examined(rows[50:])["slope"], rel=1e-9)


@pytest.mark.gate
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


@pytest.mark.gate
def test_several_models_and_presets_have_none() -> None:
    rows = people()
    models = audit(
        rows.assign(model=np.resize(["a", "b"], 600)),
        score="pay",
        bins={"age": "30,50"},
        model_column="model",
        attribute=["sex"],
    )
    assert "numeric_attributes" not in models.report.found
    hired = rows.assign(hired=(rows["pay"] > 2000).astype(int))
    by_rule = audit(hired, score="hired", bins={"age": "30,50"}, preset="eeoc", attribute=["sex"])
    assert "numeric_attributes" not in by_rule.report.found


def decided(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    rows = pd.DataFrame({"age": rng.integers(18, 70, n), "sex": rng.choice(["f", "m"], n)})
    rows["fit"] = (rng.random(n) < 0.5).astype(int)
    rows["hired"] = (rng.random(n) < 0.2 + 0.3 * rows["fit"] + (rows["age"] < 40) * 0.2).astype(int)
    return rows.assign(weight=rng.uniform(0.5, 2, n), person=np.arange(n) // 3)


def rates_of(rows: pd.DataFrame, **options: object) -> pd.DataFrame:
    keys = {"score": "hired", "label": "fit", "bins": {"age": "30,50"}, "attribute": ["sex"]}
    table = audit(rows, **{**keys, **options}).to_pandas("numeric_attributes")
    return table.set_index("metric")


EVENTS = {
    "selection-rate": lambda rows: (rows.index >= 0, rows["hired"]),
    "fpr": lambda rows: (rows["fit"] == 0, rows["hired"]),
    "fnr": lambda rows: (rows["fit"] == 1, 1 - rows["hired"]),
    "fdr": lambda rows: (rows["hired"] == 1, 1 - rows["fit"]),
    "for": lambda rows: (rows["hired"] == 0, rows["fit"]),
}


@pytest.mark.gate
def test_rates_are_those_of_statsmodels_scipy_and_sklearn() -> None:
    rows = decided()
    table = rates_of(rows)
    assert list(table.index) == ["selection-rate", "fpr", "fnr", "fdr", "for"]
    for metric, event in EVENTS.items():
        counted, outcome = event(rows)
        x, y = rows.loc[counted, "age"].astype(float), outcome[counted].astype(float)
        row = table.loc[metric]
        fit = OLS(y, add_constant(x)).fit(cov_type="HC3", use_t=True)
        assert row["rows"] == len(y)
        assert row["slope"] == pytest.approx(10 * fit.params["age"], rel=1e-9)
        low, high = 10 * fit.conf_int().loc["age"]
        # The wider of these and of limits that count skewness, as of means.
        assert low - 0.03 * (high - low) < row["slope_low"] < low + 1e-9
        assert high - 1e-9 < row["slope_high"] < high + 0.03 * (high - low)
        assert row["slope_p"] == pytest.approx(fit.pvalues["age"], abs=0.01)
        point_biserial = stats.pointbiserialr(y, x).statistic
        assert row["correlation"] == pytest.approx(point_biserial, rel=1e-9)
        assert row["correlation_low"] < point_biserial < row["correlation_high"]
        assert row["rank_correlation"] == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-9)
        bins = bin_numbers(x, 10)
        assert row["information"] == pytest.approx(mutual_info_score(bins, y) / np.log(2), rel=1e-9)
        assert row["overall"] == pytest.approx(y.mean())


def test_the_curve_has_wilsons_intervals() -> None:
    rows = decided()
    result = audit(rows, score="hired", bins={"age": "30,50"}, attribute=["sex"])
    (attribute,) = result.report.found["numeric_attributes"]
    for step in attribute.curve:
        inside = rows["hired"][(rows["age"] >= step.low) & (rows["age"] < step.high)]
        if step is attribute.curve[-1]:
            inside = rows["hired"][rows["age"] >= step.low]
        assert (step.n_rows, step.mean) == (len(inside), pytest.approx(inside.mean()))
        limits = proportion_confint(inside.sum(), len(inside), method="wilson")
        assert (step.mean_low, step.mean_high) == pytest.approx(limits)
    assert "selection rate by age" in result.to_html()


@pytest.mark.gate
def test_a_weight_and_a_person_count_as_statsmodels_has_them() -> None:
    rows = decided()
    x = add_constant(rows["age"].astype(float))
    weighted = WLS(rows["hired"], x, weights=rows["weight"]).fit(cov_type="HC3", use_t=True)
    row = rates_of(rows, weight="weight").loc["selection-rate"]
    assert row["slope"] == pytest.approx(10 * weighted.params["age"], rel=1e-9)
    assert row["slope_p"] == pytest.approx(weighted.pvalues["age"], rel=0.1)
    grouped = OLS(rows["hired"], x).fit(cov_type="cluster", cov_kwds={"groups": rows["person"]})
    row = rates_of(rows, cluster="person").loc["selection-rate"]
    assert row["slope"] == pytest.approx(10 * grouped.params["age"], rel=1e-9)
    assert (row["slope_high"] - row["slope_low"]) / 2 == pytest.approx(
        10 * 1.97 * grouped.bse["age"], rel=0.02
    )


@pytest.mark.gate
def test_decisions_thresholds_and_classes_each_have_theirs() -> None:
    rows = decided()
    rows["points"] = np.random.default_rng(2).random(len(rows)) + rows["age"] / 100
    keys = {"score": "points", "label": None, "threshold": [0.5, 0.9]}
    table = rates_of(rows, **keys)
    for (_, row), threshold in zip(table.iterrows(), (0.5, 0.9), strict=True):
        alone = rates_of(rows.assign(hired=(rows["points"] >= threshold).astype(int)), label=None)
        assert row["slope"] == pytest.approx(alone.iloc[0]["slope"])
    rows["grade"] = pd.cut(rows["points"], 3, labels=["low", "middle", "high"]).astype(str)
    table = rates_of(rows, score="grade", label=None, outcome="class")
    assert list(table["decision"]) == [f"{name} against the rest" for name in ("high", "low", "middle")]
    alone = rates_of(rows, score="grade", label=None, favourable=["high"])
    assert table.iloc[0]["slope"] == pytest.approx(alone.iloc[0]["slope"])
    drawn = rates_of(rows.round(1), score="points", label=None, top_k=[100], ties="include")
    assert len(drawn) == 1


def test_shares_of_a_list_and_constants_have_none() -> None:
    rows = decided()
    keys = {"score": "hired", "bins": {"age": "30,50"}, "attribute": ["sex"]}
    shares = audit(rows, **keys, metric=["selected-share"])
    assert shares.report.found["numeric_attributes"] == ()
    all_hired = audit(rows.assign(hired=1), **keys)
    assert all_hired.report.found["numeric_attributes"] == ()


def test_of_many_rows_some_are_drawn_at_random(monkeypatch) -> None:
    rows = decided().sort_values("age")
    monkeypatch.setattr("fairbench_cli.audit.parts.numeric_attributes.MOST_ROWS", 400)
    result = audit(rows, score="hired", bins={"age": "30,50"}, attribute=["sex"])
    (attribute,) = result.report.found["numeric_attributes"]
    assert (attribute.rows, attribute.drawn) == (400, "400 of 900 rows, drawn at random")
    assert (attribute.low_point, attribute.high_point) == pytest.approx((22, 64), abs=3)
    assert "Of 400 of 900 rows, drawn at random." in result.to_html()
    again = audit(rows, score="hired", bins={"age": "30,50"}, attribute=["sex"])
    assert again.report.found["numeric_attributes"][0].slope == attribute.slope
