"""Numbers by slices of the rows: all together, trends, and how often one may look."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, worlds
from scipy import stats

import fairbench_cli as fb
from fairbench_cli.measures import number_evidence
from fairbench_cli.measures.means import combine_means, compare_means
from fairbench_cli.measures.moments import sum_powers

REFERENCE = Path(__file__).parents[1] / "reference" / "months"
KEYS = {"attribute": ["sex"], "ref": {"sex": "m"}, "outcome": "number"}


def months(
    seed: int, *, n: int = 3000, n_months: int = 6, slope: float = 0.0, gap: float = 0.0
) -> pd.DataFrame:
    """Return pay by month, of which that of women goes up by `slope` from the first month to the last."""
    rng = np.random.default_rng(seed)
    month = rng.integers(0, n_months, n)
    is_woman = rng.random(n) < 0.4
    season = 5 * np.sin(month)
    pay = rng.lognormal(4, 0.3, n) + season + is_woman * (gap + slope * month / (n_months - 1))
    return pd.DataFrame(
        {
            "score": pay,
            "sex": np.where(is_woman, "f", "m"),
            "month": [f"2024-{m + 1:02d}" for m in month],
            "w": rng.lognormal(0, 0.5, n),
            "person": rng.integers(0, n // 4, n),
            "row": range(n),
        }
    )


def slices_of(rows: pd.DataFrame, **more):
    return fb.audit(rows, slice="month", **KEYS, **more).report.found["number_slices"]


@pytest.mark.gate
def test_rows_that_share_clusters_are_judged_as_one_table_at_the_level_of_the_look():
    rows = months(1)
    slices = slices_of(rows, cluster="person")
    assert slices.is_stream
    assert 1 - slices.confidence == pytest.approx(0.05 / (6 * 7))
    more = {"cluster": "person", "confidence": slices.confidence}
    whole = fb.audit(rows.drop(columns="month"), **more, **KEYS)
    (expected,) = whole.report.found["numbers"]
    (together,) = slices.together
    for row, other in zip(together.comparisons, expected.comparisons, strict=True):
        assert row.metric == other.metric
        assert row.difference.value == pytest.approx(other.difference.value, rel=1e-9, abs=1e-9)
        assert row.difference.low == pytest.approx(other.difference.low, rel=1e-9, abs=1e-9, nan_ok=True)
        assert row.verdict == other.verdict


def stream_of(golden) -> pd.DataFrame:
    """Return the months of a reference stream as rows."""
    columns: dict[str, list] = {"score": [], "sex": [], "month": []}
    for i, month in enumerate(golden["months"]):
        for sex, side in (("f", "group"), ("m", "reference")):
            columns["score"] += month[side]
            columns["sex"] += [sex] * len(month[side])
            columns["month"] += [f"2024-{i + 1:02d}"] * len(month[side])
    return pd.DataFrame(columns)


@pytest.mark.gate
@pytest.mark.parametrize("name", ["number_months", "number_months_draws"])
def test_a_stream_that_is_read_has_the_p_of_another_implementation(name, tmp_path, monkeypatch):
    golden = json.loads((REFERENCE / f"{name}.json").read_text())
    monkeypatch.setattr(number_evidence, "LEAST_ROWS", golden["least_rows"])
    path = tmp_path / "stream.csv"
    stream_of(golden).sample(frac=1, random_state=0).to_csv(path, index=False)
    slices = fb.audit(path, slice="month", months="alike", **KEYS).report.found["number_slices"]
    row = slices.together[0].comparisons[0]
    assert row.p == pytest.approx(golden["p"][-1], rel=1e-9)
    assert math.log(row.look.evidence) == pytest.approx(golden["log_e"][-1], rel=1e-9)
    assert slices.names.index(row.look.since) + 1 == golden["start"][-1]
    gap = row.look.difference_since / row.look.reference_value_since
    assert gap == pytest.approx(golden["gap_since_start"][-1], rel=1e-9)
    assert row.verdict == "fail"


@pytest.mark.gate
@pytest.mark.parametrize("more", [{"months": "differ"}, {"cluster": "month"}])
def test_months_as_clusters_are_months_that_differ(more):
    golden = json.loads((REFERENCE / "number_months_draws.json").read_text())
    (together,) = slices_of(stream_of(golden), **more).together
    row = together.comparisons[0]
    beyond = golden["beyond_months"]["log_e_months"][-1]
    assert math.log(row.look.months_evidence) == pytest.approx(beyond, rel=1e-9)
    assert row.look.by_months
    assert math.log(row.look.evidence) == pytest.approx(golden["log_e"][-1], rel=1e-9)
    assert row.verdict == "undecided"


@pytest.mark.gate
def test_weights_of_one_leave_the_sums_alone():
    rows = months(8, gap=-8.0)
    (of_rows,) = slices_of(rows).together
    (weighted,) = slices_of(rows.assign(w=3.0), weight="w").together
    limits, expected = (whole.comparisons[0].difference for whole in (weighted, of_rows))
    assert (limits.low, limits.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert weighted.comparisons[0].look.evidence >= of_rows.comparisons[0].look.evidence


@pytest.mark.gate
def test_a_late_gap_is_said_with_its_first_month():
    rng = np.random.default_rng(4)
    pieces = []
    for t in range(24):
        score = np.concatenate([rng.normal(10, 4, 100) - 1.5 * (t >= 11), rng.normal(10, 4, 230)])
        sex = np.repeat(["f", "m"], [100, 230])
        pieces.append(
            pd.DataFrame({"score": score, "sex": sex, "month": f"{2020 + t // 12}-{t % 12 + 1:02d}"})
        )
    result = fb.audit(pd.concat(pieces), slice="month", **KEYS, fail=True)
    assert result.headline.startswith("Since 2020-12 the mean of score is 8.52 for f, 10.19 for m: 1.67 less")
    assert "fails" in result.headline
    assert "Trend, of this look alone and not covered by the 5 %: " in result.headline
    assert "Months differ by more than chance (p " in result.headline
    assert result.report.gate.stops


@pytest.mark.gate
def test_the_verdict_and_a_gate_go_by_all_slices_so_far():
    rows = months(3, gap=-8.0)
    result = fb.audit(rows, slice="month", **KEYS, fail=True)
    (whole,) = result.report.found["number_slices"].together
    decided = {row.metric: row.verdict for row in whole.comparisons}
    assert decided["mean"] == "fail"
    assert result.verdict == "fail"
    assert result.report.gate.stops
    assert "As if looked at after each month: at most 5 % false alarms" in result.headline


@pytest.mark.gate
def test_slices_without_an_order_have_no_trend_and_any_decides():
    rows = months(4).assign(month=lambda rows: "site " + rows["month"].str[-1])
    rows.loc[rows["month"].eq("site 2") & rows["sex"].eq("f"), "score"] *= 0.5
    result = fb.audit(rows, slice="month", **KEYS)
    slices = result.report.found["number_slices"]
    assert (slices.is_stream, slices.trends, slices.confidence) == (False, (), 0.95)
    assert result.verdict == "fail"
    assert result.headline.startswith("sex (month site 2): ")
    assert "rend" not in result.headline


def trend_by_hand(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the change of the difference from the first month to the last, and its standard error."""
    times, differences, variances, weights = [], [], [], []
    for i, (_, of_month) in enumerate(rows.groupby("month")):
        women = of_month.loc[of_month["sex"] == "f", "score"]
        men = of_month.loc[of_month["sex"] == "m", "score"]
        times.append(i)
        differences.append(women.mean() - men.mean())
        variances.append(women.var() / len(women) + men.var() / len(men))
        weights.append(len(women) * len(men) / (len(women) + len(men)))
    time = np.array(times) / times[-1]
    weight = np.array(weights)
    slope = weight * (time - np.average(time, weights=weight))
    slope /= slope @ time
    return float(slope @ differences), float(np.sqrt(slope**2 @ variances))


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(3))
def test_a_trend_is_the_weighted_line_through_the_differences(seed):
    rows = months(seed, slope=10.0)
    (trend,) = slices_of(rows).trends
    change, error = trend_by_hand(rows)
    assert trend.change.value == pytest.approx(change, rel=1e-9)
    by_t = stats.norm.ppf(0.975) * error
    assert trend.change.high - change == pytest.approx(by_t, rel=0.05)
    assert trend.word == "rises"
    assert trend.difference_last - trend.difference_first == pytest.approx(change, rel=1e-9)


@pytest.mark.gate
def test_a_trend_of_the_other_group_as_reference_is_the_negative():
    rows = months(5, slope=10.0)
    (there,) = slices_of(rows).trends
    back = fb.audit(rows, slice="month", **(KEYS | {"ref": {"sex": "f"}})).report.found["number_slices"]
    assert back.trends[0].change.low == pytest.approx(-there.change.high, rel=1e-9)
    assert back.trends[0].word == "falls"


@pytest.mark.gate
def test_clusters_of_a_row_each_hardly_change_a_trend():
    rows = months(6, slope=5.0)
    (of_rows,) = slices_of(rows).trends
    (of_clusters,) = slices_of(rows, cluster="row").trends
    assert of_clusters.change.value == pytest.approx(of_rows.change.value, rel=1e-9)
    assert of_clusters.change.low == pytest.approx(of_rows.change.low, rel=0.02, abs=0.02)


def test_few_rows_have_no_trend():
    (trend,) = slices_of(months(7, n=60)).trends
    assert (trend.word, trend.reason) == ("undecided", "few")


def test_equal_groups_seldom_have_a_trend():
    n = len(worlds(300))
    rejected = [slices_of(months(seed, n=600)).trends[0].p < 0.05 for seed in range(100, 100 + n)]
    assert sum(rejected) <= most_by_chance(n, 0.05)


def test_a_sum_of_two_means_is_their_comparison():
    rng = np.random.default_rng(0)
    moments = sum_powers(
        rng.lognormal(0, 1, 200), rng.integers(0, 2, 200), 2, rng.lognormal(0, 0.5, 200), shift=1.6
    )
    one = combine_means(moments, [-1.0, 1.0])
    other = compare_means(moments[1], moments[0]).difference
    for name in ("value", "error", "degrees", "low", "high", "p"):
        assert float(getattr(one, name)) == pytest.approx(float(getattr(other, name)), rel=1e-12)
