"""Outcomes that are numbers, through the whole audit: against reference numbers, and laws."""

import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tiers import uses

from fairbench_cli.audit.api import AuditResult, audit
from fairbench_cli.audit.compare.number_estimates import _bin_shares
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.value_ranks import SortedValues

GOLDEN = Path(__file__).parents[1] / "reference" / "numbers"
TABLES = pd.read_csv(GOLDEN / "tables.csv")
EXPECTED = pd.read_csv(GOLDEN / "expected.csv").set_index("table")
EQUAL = {"rel": 1e-9, "abs": 1e-12}
COMPARED = {
    # metric: (value, low, high) as the reference file calls them
    "mean": ("difference", "low", "high"),
    "more": ("p_more", "logit_low", "logit_high"),
    "hedges-g": ("hedges_g", "", ""),
    "distance": ("ks", "", ""),
}


ALL = ("value", "prediction", "weight")


@pytest.fixture(scope="module", params=ALL)
@uses("a dear fixture")
def tables(request: pytest.FixtureRequest) -> tuple[str, AuditResult]:
    """The audit of all tables at once, each a model: of values, of predictions, of weighted values."""
    options: dict[str, object] = {"score": "value"}
    if request.param == "prediction":
        options = {"score": "prediction", "label": "value"}
    if request.param == "weight":
        options["weight"] = "weight"
    keys = {"attribute": ["group"], "ref": {"group": "r"}, "model_column": "table", "draws": 0}
    return request.param, audit(TABLES, outcome="number", **keys, **options)


def test_weighted_shares_of_bins_are_numpys() -> None:
    values, weights = np.array([1.0, 2, 2, 3, 5, 8]), np.array([1.0, 2, 0, 4, 1, 2])
    edges = [1.0, 2.0, 4.0, 8.0]
    for own in (weights, None):
        counted, _ = np.histogram(values, edges, weights=own)
        found = _bin_shares(SortedValues(values, own), edges)
        assert found == pytest.approx(counted / (6 if own is None else own.sum()))


def compared(result: AuditResult) -> pd.DataFrame:
    return result.to_pandas("numbers").set_index("metric")


def of_groups(result: AuditResult) -> pd.DataFrame:
    return result.to_pandas("number_groups").set_index(["group", "metric"])


@pytest.mark.gate
def test_comparisons_are_those_of_scipy_and_the_formulas(tables: tuple[str, AuditResult]) -> None:
    kind, result = tables
    if kind != "value":
        return
    rows = result.to_pandas("numbers")
    assert rows["model"].nunique() == len(EXPECTED) == 40
    for model, of_model in rows.groupby("model"):
        known = EXPECTED.loc[int(str(model))]
        ours = of_model.set_index("metric")
        for metric, (value, low, high) in COMPARED.items():
            row = ours.loc[metric]
            assert row["difference"] == pytest.approx(known[value], **EQUAL), metric
            if metric == "mean":  # splits of the rows may widen it; `measures/test_splits` has their answers
                assert row["difference_low"] <= known[low] + 1e-9
                assert row["difference_high"] >= known[high] - 1e-9
            elif low:
                limits = row[["difference_low", "difference_high"]].tolist()
                assert limits == pytest.approx(known[[low, high]].tolist(), **EQUAL), metric
        if not math.isnan(ours.loc["mean", "ratio"]):
            assert ours.loc["mean", "ratio"] == pytest.approx(known["ratio"], **EQUAL)
        assert ours.loc["mean", "p"] >= known["p_welch"] * (1 - 1e-9)


def test_groups_have_the_numbers_of_numpy_scikit_learn_and_statsmodels(
    tables: tuple[str, AuditResult],
) -> None:
    kind, result = tables
    names = {
        "value": {"median": "q0.5", "p10": "q0.1", "p90": "q0.9", "mean": "mean"},
        "weight": {"mean": "wmean"},
        "prediction": {
            "mean-residual": "residual",
            "mae": "mae",
            "rmse": "rmse",
            "r2": "r2",
            "calibration-slope": "slope",
            "calibration-intercept": "intercept",
        },
    }[kind]
    rows = result.to_pandas("number_groups").set_index(["model", "group", "metric"])
    for table, known in EXPECTED.iterrows():
        for group in "gr":
            for metric, name in names.items():
                row = rows.loc[(str(table), group, metric)]
                assert row["value"] == pytest.approx(known[f"{name}_{group}"], **EQUAL), (table, metric)
                if metric in ("median", "p10", "p90") and group == "r":
                    wanted = known[[f"{name}_r_low", f"{name}_r_high"]].tolist()
                    assert row[["low", "high"]].tolist() == pytest.approx(wanted, nan_ok=True, **EQUAL)


def people(rng: np.random.Generator, n: int = 400) -> pd.DataFrame:
    """Pay of two groups, and of three offices."""
    sex = rng.choice(["f", "m"], n)
    pay = 1000 * rng.lognormal(1.0 - 0.1 * (sex == "f"), 0.5)
    return pd.DataFrame({"pay": pay.round(2), "sex": sex, "office": rng.choice(list("abc"), n)})


def test_pay_is_told_by_its_column_and_judged_by_five_percent() -> None:
    rng = np.random.default_rng(3)
    result = audit(people(rng, 4000), score="pay", attribute=["sex"], ref={"sex": "m"})
    config = result.report.config
    assert config.outcome == "number"
    part = result.report.found["numbers"][0]
    assert (part.margin.stated.value, part.margin.stated.unit) == (5, "percent")
    assert result.verdict == "fail"
    assert "5 %" in result.headline


@pytest.mark.gate
def test_the_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    rows = people(rng)
    mixed = rows.sample(frac=1, random_state=1)
    for table in ("numbers", "number_groups"):
        left = audit(rows, score="pay", attribute=["sex", "office"]).to_pandas(table)
        right = audit(mixed, score="pay", attribute=["sex", "office"]).to_pandas(table)
        pd.testing.assert_frame_equal(left, right, rtol=1e-9)


def test_other_units_change_units_alone() -> None:
    rng = np.random.default_rng(6)
    rows = people(rng)
    cents = rows.assign(pay=rows["pay"] * 100)
    left = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}))
    right = compared(audit(cents, score="pay", attribute=["sex"], ref={"sex": "m"}))
    for metric in ("more", "hedges-g", "distance"):
        assert right.loc[metric, "difference"] == pytest.approx(left.loc[metric, "difference"])
    for metric in ("mean", "median", "p90"):
        assert right.loc[metric, "difference"] == pytest.approx(100 * left.loc[metric, "difference"])
    assert right["verdict"].tolist() == left["verdict"].tolist()


def test_a_row_of_weight_two_has_the_mean_of_two_rows() -> None:
    rng = np.random.default_rng(7)
    rows = people(rng).assign(w=1)
    rows.loc[:50, "w"] = 2
    twice = pd.concat([rows, rows.loc[:50]])
    left = of_groups(audit(rows, score="pay", attribute=["sex"], weight="w"))
    right = of_groups(audit(twice, score="pay", attribute=["sex"]))
    for group in "fm":
        assert left.loc[(group, "mean"), "value"] == pytest.approx(right.loc[(group, "mean"), "value"])
        assert left.loc[(group, "median"), "value"] == pytest.approx(
            right.loc[(group, "median"), "value"], rel=0.02
        )


def test_persons_of_one_row_each_are_rows() -> None:
    rng = np.random.default_rng(8)
    rows = people(rng).assign(person=range(400))
    left = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}))
    right = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}, cluster="person"))
    assert right.loc["mean", "p"] == pytest.approx(left.loc["mean", "p"], rel=0.05)
    assert right.loc["more", "p"] == pytest.approx(left.loc["more", "p"], rel=0.02)


def test_households_of_both_groups_share_what_they_have() -> None:
    rng = np.random.default_rng(9)
    shared = rng.normal(0, 10, 300)
    rows = pd.DataFrame(
        {
            "pay": np.concatenate([shared, shared - 1]) + rng.normal(0, 1, 600) + 100,
            "sex": ["m"] * 300 + ["f"] * 300,
            "household": [*range(300), *range(300)],
        }
    )
    apart = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}))
    together = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}, cluster="household"))
    assert apart.loc["mean", "p"] > 0.1
    assert together.loc["mean", "p"] < 1e-6


def test_rows_of_weight_0_are_no_rows() -> None:
    rng = np.random.default_rng(17)
    rows = pd.DataFrame({"grade": rng.integers(0, 21, 600), "sex": rng.choice(["f", "m"], 600)})
    rows["w"] = rng.choice([0, 1, 2], 600)  # grades of one group and weight 0 stand beside others
    keys = {"score": "grade", "outcome": "number", "attribute": ["sex"], "ref": {"sex": "m"}, "weight": "w"}
    # The words of the cut say how many rows are tied there, whatever they weigh.
    left = audit(rows, **keys).to_pandas("numbers").drop(columns="decision")
    right = audit(rows[rows["w"] > 0], **keys).to_pandas("numbers").drop(columns="decision")
    pd.testing.assert_frame_equal(left, right, rtol=1e-9)


def test_the_rows_that_would_decide_know_that_rows_are_alike() -> None:
    rng = np.random.default_rng(18)
    rows = people(rng, 200).assign(person=range(200), pay=rng.normal(1000, 300, 200))
    thrice = pd.concat([rows] * 3)
    keys = {"score": "pay", "attribute": ["sex"], "ref": {"sex": "m"}, "margin": 100}
    alone = compared(audit(rows, **keys)).loc["mean"]
    together = compared(audit(thrice, cluster="person", **keys)).loc["mean"]
    assert alone["verdict"] == together["verdict"] == "undecided"
    assert together["rows_needed"] == pytest.approx(3 * alone["rows_needed"], rel=0.05)


@pytest.mark.gate
def test_a_wider_margin_never_turns_passing_into_failing() -> None:
    rng = np.random.default_rng(10)
    rows = people(rng)
    order = {"fail": 0, "undecided": 1, "pass": 2}
    verdicts = []
    for margin in (1, 50, 200, 400, 800, 3000):
        row = compared(audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}, margin=margin)).loc[
            "mean"
        ]
        verdicts.append(order[row["verdict"]])
    assert verdicts == sorted(verdicts)
    assert verdicts[0] < verdicts[-1]


def test_groups_against_everybody_else_are_two_groups() -> None:
    rng = np.random.default_rng(11)
    rows = people(rng)
    two = rows.assign(office=np.where(rows["office"] == "a", "a", "rest"))
    left = audit(rows, score="pay", attribute=["office"], ref_method="rest").to_pandas("numbers")
    right = audit(two, score="pay", attribute=["office"], ref={"office": "rest"}).to_pandas("numbers")
    left = left[left["group"] == "a"].set_index("metric")["difference"]
    right = right.set_index("metric")["difference"]
    pd.testing.assert_series_equal(left, right, rtol=1e-9)


@pytest.mark.gate
def test_intersections_and_models_have_numbers_of_their_own() -> None:
    rng = np.random.default_rng(12)
    rows = people(rng).assign(model=np.tile(["x", "y"], 200))
    result = audit(rows, score="pay", attribute=["sex"], intersect=["sex,office"], model_column="model")
    groups = result.to_pandas("number_groups")
    one = groups[(groups["model"] == "x") & (groups["group"] == "f × a") & (groups["metric"] == "mean")]
    mine = rows[(rows["model"] == "x") & (rows["sex"] == "f") & (rows["office"] == "a")]
    assert one["value"].item() == pytest.approx(mine["pay"].mean())


def predictions(rng: np.random.Generator, n: int = 2000) -> pd.DataFrame:
    """Predictions of prices whose errors are larger for f than for m, and that are right on average."""
    sex = np.repeat(["f", "m"], n // 2)
    price = 400 + 150 * rng.standard_normal(n)
    predicted = price + np.where(sex == "f", 20, 12) * rng.standard_normal(n)
    return pd.DataFrame({"predicted": predicted, "price": price, "sex": sex})


@pytest.mark.gate
def test_margins_of_errors_are_of_errors_whatever_is_stated_for_the_outcome() -> None:
    rows = predictions(np.random.default_rng(21))
    of_m = rows[rows["sex"] == "m"]
    errors = (of_m["predicted"] - of_m["price"]).abs().mean()
    keys = {"score": "predicted", "label": "price", "attribute": ["sex"], "ref": {"sex": "m"}}
    for margin, of_errors in ((None, 0.2), ("50", 0.2), ({"mae": "10%"}, 0.1)):
        result = audit(rows, **keys, **({} if margin is None else {"margin": margin}))
        row = compared(result).loc["mae"]
        assert row["margin"] == pytest.approx(of_errors * errors)
        assert (row["verdict"], row["shown_outside"]) == ("fail", True)
        assert "predicted is off by" in result.headline  # which the table calls the worst, too
        assert "mean absolute" in str(result)
    assert compared(audit(rows, **keys)).loc["mean-residual", "margin"] == pytest.approx(
        0.05 * of_m["price"].mean()
    )


def risks(rng: np.random.Generator, shift: float, n: int = 2000) -> pd.DataFrame:
    """Chances of relapse, right but for a shift of those of b, whose people relapse more often."""
    race = np.repeat(["b", "w"], n // 2)
    risk = rng.uniform(0.1, 0.5, n) + 0.2 * (race == "b")
    relapse = (rng.random(n) < risk).astype(int)
    return pd.DataFrame({"risk": risk + shift * (race == "b"), "relapse": relapse, "race": race})


@pytest.mark.gate
def test_a_probability_is_judged_by_its_mean_error_in_points() -> None:
    rng = np.random.default_rng(22)
    keys = {"score": "risk", "label": "relapse", "attribute": ["race"], "ref": {"race": "w"}}
    right = audit(risks(rng, 0.0, 20_000), outcome="number", **keys)
    assert (right.verdict, right.report.config.outcome) == ("pass", "probability")
    rows = risks(rng, 0.15)
    result = audit(rows, outcome="probability", **keys)
    assert result.verdict == "fail"
    assert "points too high for b" in result.headline
    table = compared(result)
    assert table.index[table["deciding"]].tolist() == ["mean-residual"]
    assert table.index[table["verdict"] != ""].tolist() == ["mean-residual"]
    of_b = rows[rows["race"] == "b"]
    square = (of_b["risk"] - of_b["relapse"]) ** 2
    assert table.loc["brier", "value"] == pytest.approx(square.mean())
    assert table.loc["excess", "value"] == pytest.approx((square - of_b["risk"] * (1 - of_b["risk"])).mean())
    groups = result.to_pandas("number_groups").set_index(["group", "metric"])
    skill = groups.loc[("b", "skill")]
    # Leaving out each row in turn: an error of its own.
    n = len(square)
    rate = (of_b["relapse"].sum() - of_b["relapse"]) / (n - 1)
    without = 1 - (square.sum() - square) / (n - 1) / (rate * (1 - rate))
    error = math.sqrt((n - 1) * without.var(ddof=0))
    assert skill["value"] == pytest.approx(1 - square.mean() / of_b["relapse"].var(ddof=0))
    assert skill["high"] - skill["low"] == pytest.approx(2 * 1.962 * error, rel=0.01)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"metric": ["mae"]}, "mae of a probability is least"),
        ({"margin": {"mae": 0.1}}, "mae of a probability is least"),
        ({"margin": "5%"}, "may be 5 points"),
        ({"outcome": "probability", "label": "more"}, "go from 0 to 1"),
    ],
)
def test_what_probabilities_have_not_is_refused(change: dict[str, object], wrong: str) -> None:
    rows = risks(np.random.default_rng(23), 0.0, 200).assign(more=range(200))
    keys: dict[str, object] = {"score": "risk", "label": "relapse", "outcome": "number"}
    with pytest.raises(UserError, match=wrong):
        audit(rows, attribute=["race"], **{**keys, **change})


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"margin": "x"}, "margin: a number"),
        ({"margin": 1e9}, "larger than everything in"),
        ({"metric": ["fpr"]}, "fpr is of decisions"),
        ({"metric": ["median"]}, "cannot decide"),
        ({"preset": "eeoc"}, "is of decisions"),
        ({"order": ["low", "high"]}, "levels have an order"),
    ],
)
def test_options_of_another_kind_are_refused(change: dict[str, object], wrong: str) -> None:
    rows = people(np.random.default_rng(13))
    with pytest.raises(UserError, match=wrong):
        audit(rows, score="pay", attribute=["sex"], outcome="number", **change)


def with_pay(*values: object) -> pd.DataFrame:
    rows = people(np.random.default_rng(14)).astype({"pay": object})
    rows.loc[: len(values) - 1, "pay"] = values
    return rows


@pytest.mark.parametrize(
    ("rows", "change", "wrong"),
    [
        (with_pay("twelve"), {}, 'has "twelve", not a finite number'),
        (with_pay("inf", "1e400"), {}, 'has "inf", not a finite number'),
        (with_pay(None, ""), {}, "is missing in 2 rows"),
        (with_pay(-1e6, -9e5, 4e5), {"margin": "5%"}, "is near 0, so that 5 % of it says nothing"),
    ],
)
def test_what_is_no_number_is_refused_by_its_row(
    rows: pd.DataFrame, change: dict[str, object], wrong: str
) -> None:
    with pytest.raises(UserError, match=wrong):
        audit(rows, score="pay", attribute=["sex"], **change)


@pytest.mark.parametrize(("values", "reason"), [((3, 3), "constant"), ((3, 4), "one value"), ((), "few")])
def test_what_cannot_be_tested_is_not_decided(values: tuple[int, ...], reason: str) -> None:
    rows = people(np.random.default_rng(15))
    if values:
        rows["pay"] = np.where(rows["sex"] == "f", *values)
    else:
        rows = pd.concat([rows[rows["sex"] == "m"], rows[rows["sex"] == "f"][:1]])
    result = audit(rows, score="pay", attribute=["sex"], ref={"sex": "m"}, outcome="number")
    row = compared(result).loc["mean"]
    assert (row["verdict"], row["reason"]) == ("undecided", reason)
    assert result.to_json()
    assert result.to_html()


def test_levels_are_compared_by_their_ranks_in_the_order_that_is_said() -> None:
    rng = np.random.default_rng(16)
    rows = pd.DataFrame(
        {
            "risk": rng.choice(["low", "medium", "high"], 2000, p=[0.5, 0.3, 0.2]),
            "sex": rng.choice(["f", "m"], 2000),
        }
    )
    rows.loc[rows["sex"] == "m", "risk"] = rng.choice(
        ["low", "medium", "high"], (rows["sex"] == "m").sum(), p=[0.2, 0.3, 0.5]
    )
    keys = {"score": "risk", "attribute": ["sex"], "ref": {"sex": "f"}}
    up = compared(audit(rows, order=["low", "medium", "high"], **keys)).loc["more"]
    down = compared(audit(rows, order=["high", "medium", "low"], **keys)).loc["more"]
    assert up["difference"] == pytest.approx(1 - down["difference"])
    assert up["verdict"] == down["verdict"] == "fail"
    with pytest.raises(UserError, match="the order leaves out"):
        audit(rows, order=["low", "medium"], **keys)
    with pytest.raises(UserError, match="the order of the levels"):
        audit(rows, outcome="ordinal", **keys)


@pytest.mark.gate
def test_the_page_of_numbers_shows_what_is_printed_and_every_measure(
    tmp_path: Path, say: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = GOLDEN.parents[2] / "docs"
    page = (docs / "numbers.md").read_text(encoding="utf-8")
    command = page.partition("\n$ fairbench ")[2].partition("\n")[0]
    shown = page.partition("```text\n")[2].partition("```")[0]
    code = "\n".join(line[4:] for line in page.splitlines() if line.startswith((">>>", "...")))
    monkeypatch.chdir(tmp_path)
    Path("pay.py").write_text(code, encoding="utf-8")
    runpy.run_path("pay.py")["pay"].to_csv("pay.csv", index=False)
    assert say(*command.split()).out.startswith(shown)
    page = (docs / "measures.md").read_text(encoding="utf-8")
    for measure in NUMBER_MEASURES.values():
        formula = measure.formula.replace("|", "\\|")
        has_margin = "yes" if measure.has_margin else "no"
        row = f"| `{measure.name}` | {measure.label} | {formula} | {measure.source or '–'} | {has_margin} |"
        assert row in page


def test_amounts_that_are_cut_are_remarked_on() -> None:
    rows = people(np.random.default_rng(17))
    rows["pay"] = np.minimum(rows["pay"], rows["pay"].quantile(0.95))
    result = audit(rows, score="pay", attribute=["sex"], outcome="number")
    assert "% of rows have the largest pay" in result.headline
    rows["pay"] = people(np.random.default_rng(17))["pay"]
    assert "the largest" not in audit(rows, score="pay", attribute=["sex"], outcome="number").headline


@pytest.mark.parametrize(
    ("name", "options", "first"),
    [
        ("wait_days", {}, "f are worse off: the mean of wait_days is"),
        ("salary", {}, "m are worse off: the mean of salary is"),
        ("salary", {"better": "lower"}, "f are worse off"),
        ("zorg", {}, "The mean of zorg is"),
        ("zorg", {"better": "higher", "ref": {"sex": "f"}}, "m are worse off"),
    ],
)
def test_who_is_worse_off_comes_first(name: str, options: dict[str, Any], first: str) -> None:
    """f has more; a reference that nobody names is who is better off, as both are alike in size."""
    rng = np.random.default_rng(31)
    sex = np.repeat(["f", "m"], [310, 300])
    rows = pd.DataFrame({name: rng.normal(500, 100, 610) + 60 * (sex == "f"), "sex": sex})
    result = audit(rows, score=name, attribute=["sex"], **options)
    assert result.headline.startswith(first)
    (part,) = result.report.found["numbers"]
    better_off = "mf"[first[0] == "m"]
    assert part.reference == options.get("ref", {}).get("sex", "f" if name == "zorg" else better_off)
    row = compared(result).loc["mean"]
    turned = compared(audit(rows, score=name, attribute=["sex"], ref={"sex": "fm"[part.reference == "f"]}))
    assert row["difference"] == pytest.approx(-turned.loc["mean", "difference"])
    assert row["p"] == pytest.approx(turned.loc["mean", "p"])


@pytest.mark.gate
def test_the_largest_group_is_the_reference_where_it_is_larger_beyond_chance() -> None:
    rng = np.random.default_rng(32)
    for n_women, chosen_by in ((620, "size"), (560, "better"), (559, "better")):
        sex = np.repeat(["f", "m"], [n_women, 500])
        rows = pd.DataFrame({"pay": rng.normal(500, 100, len(sex)) - 60 * (sex == "f"), "sex": sex})
        (part,) = audit(rows, score="pay", attribute=["sex"]).report.found["numbers"]
        assert (part.chosen_by, part.reference) == (chosen_by, {"size": "f", "better": "m"}[chosen_by])
