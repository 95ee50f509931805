"""Arrays beside each other: rows by position, labels that say otherwise are refused, a column is an array."""

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb

N = 40
SEX = pd.Series(["f", "m"] * (N // 2), name="sex")
DECISION = pd.Series((SEX == "m").astype(int), name="decision")
TRUTH = pd.Series([0, 0, 1, 1] * (N // 4))
SHUFFLED = np.random.default_rng(1).permutation(N)
IDS = [f"p{i}" for i in range(N)]


def audited(y, decision, groups, **options):
    result = fb.audit(y, decision, groups, draws=0, **options)
    rates = result.to_pandas("groups").query("metric == 'selection-rate'")
    return dict(zip(rates["group"], rates["value"], strict=True))["f"]


def measured(y, decision, groups):
    return fb.measure("impact-ratio", y, decision, groups, reference="m")


def fitted(y, decision, groups):
    """Return the weight of deprived people with a favourable label; 'decision' is the only feature."""
    fair = fb.technique("reweighing", estimator="naive-bayes", deprived="f", favourable=1)
    return fair.fit(pd.DataFrame({"x": decision}), y, sensitive_features=groups).facts_[
        "discrimination_before"
    ]


@pytest.mark.gate
@pytest.mark.parametrize("door", [audited, measured, fitted])
def test_rows_are_taken_by_position_and_never_against_their_labels(door):
    right = door(TRUTH.to_numpy(), DECISION.to_numpy(), SEX.to_numpy())
    twice = np.arange(N) // 2
    for index in (range(1000, 1000 + N), IDS, twice, pd.MultiIndex.from_product([[0], range(N)])):
        for y, decision, groups in (
            (TRUTH.set_axis(index), DECISION, SEX),  # of a test split, beside what counts from 0
            (TRUTH.set_axis(index), DECISION.set_axis(index), SEX.set_axis(index)),
            (list(TRUTH), DECISION.set_axis(index), SEX.to_numpy()),
        ):
            assert door(y, decision, groups) == right
    other_rows = TRUTH.set_axis(SHUFFLED + 500)
    for y, decision, groups, said in (
        (TRUTH, DECISION, SEX.iloc[SHUFFLED], "in another order"),
        (TRUTH.set_axis(IDS), DECISION.set_axis(IDS).iloc[SHUFFLED], SEX, "in another order"),
        (TRUTH.iloc[SHUFFLED], DECISION, SEX, "in another order"),
        (TRUTH.set_axis(twice), DECISION, SEX.set_axis(twice[SHUFFLED]), "bring both into one order"),
        (other_rows, DECISION.set_axis(IDS), SEX, "labels of .* differ"),
    ):
        with pytest.raises(fb.UserError, match=said) as raised:
            door(y, decision, groups)
        assert "to_numpy()" in str(raised.value)


def test_the_fixes_of_another_order_work():
    other = SEX.iloc[SHUFFLED]
    with pytest.raises(fb.UserError, match=r"fix: pair by label, groups.reindex\(y_true.index\), or"):
        measured(TRUTH, DECISION, other)
    assert measured(TRUTH, DECISION, other.reindex(TRUTH.index)) == 0
    assert measured(TRUTH, DECISION, other.to_numpy()) > 0


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.asarray,
        pd.Series,
        pd.Categorical,
        lambda values: pd.DataFrame({"a": values}),
    ],
)
def test_one_column_of_any_kind_is_an_array(kind):
    assert audited(TRUTH, DECISION, {"sex": kind(list(SEX))}) == 0
    assert measured(TRUTH, DECISION, kind(list(SEX))) == 0
    assert audited(TRUTH, [[value] for value in DECISION], [SEX, TRUTH.rename("school")]) == 0


def test_one_column_of_other_libraries_is_an_array(pl, pa):
    for values in (pl.Series(list(SEX)), pa.array(list(SEX))):
        assert audited(TRUTH, DECISION, {"sex": values}) == measured(TRUTH, DECISION, values) == 0
    one_column = DECISION.to_numpy().reshape(-1, 1)
    assert audited(TRUTH.to_frame(), one_column, pl.DataFrame({"sex": list(SEX)})) == 0


@pytest.mark.gate
def test_weights_and_clusters_are_arrays(pl, pa):
    weight = np.where(SEX == "f", 3.0, 1.0)
    household = np.arange(N) // 2
    beside = fb.audit(TRUTH, DECISION, SEX, sample_weight=weight, cluster=household, draws=0)
    frame = pd.DataFrame(
        {"decision": DECISION, "y": TRUTH, "sex": SEX, "weight": weight, "cluster": household}
    )
    columns = {"score": "decision", "label": "y", "attribute": "sex", "draws": 0}
    named = fb.audit(frame, **columns, weight="weight", cluster="cluster")
    expected = named.to_pandas().drop(columns="model").to_csv()
    assert beside.to_pandas().drop(columns="model").to_csv() == expected
    for table in (frame.iloc[:, :3], pl.from_pandas(frame.iloc[:, :3]), pa.table(frame.iloc[:, :3])):
        again = fb.audit(table, **columns, weight=weight, cluster=pd.Series(household))
        assert again.to_pandas().drop(columns="model").to_csv() == expected
    again = fb.audit(frame, score=frame["decision"], label=frame["y"], attribute=frame["sex"], draws=0)
    assert again.to_json() == fb.audit(frame, **columns).to_json()
    texts = [str(number) for number in household]
    slices = fb.audit(TRUTH, DECISION, {"sex": SEX}, cluster=texts, slice=["a", "b"] * (N // 2), draws=0)
    assert slices.command.endswith("--attribute sex --cluster cluster --draws 0")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: audited(TRUTH, DECISION[:-5], SEX), "lengths differ: y_true 40, y_pred 35, groups 40"),
        (lambda: audited(TRUTH, DECISION, SEX, cluster=[1, 2]), "groups 40, cluster 2|cluster 2, groups 40"),
        (lambda: measured(TRUTH, DECISION[:-5], SEX), "lengths differ: y_true 40, y_pred 35, groups 40"),
        (lambda: audited(TRUTH, np.ones((N, 2)), SEX), r"y_pred has 2 columns\n  fix: .* y_pred\[:, 1\]"),
        (lambda: audited(TRUTH, pd.DataFrame(np.ones((N, 2))), SEX), r"y_pred.iloc\[:, 1\]"),
        (lambda: measured(TRUTH, np.ones((N, 3)), SEX), "y_pred has 3 columns"),
        (lambda: measured(TRUTH, DECISION, pd.concat([SEX, SEX], axis=1)), "fix: join them: groups="),
        (lambda: audited(TRUTH, DECISION, np.array([SEX, SEX]).T), "name them"),
        (lambda: audited(TRUTH, DECISION, {"sex": (value for value in SEX)}), "is generator"),
        (lambda: audited(TRUTH, "decision", SEX), "y_pred is str"),
        (lambda: measured({"y": 1}, DECISION, SEX), "y_true is dict"),
        (
            lambda: audited(pd.concat([TRUTH, SEX], axis=1), DECISION, SEX),
            r'fix: .* audit\(frame, score="NAME"',
        ),
        (
            lambda: fb.audit("x.csv", weight=np.ones(3)),
            'rows are in no frame\n  fix: name the column: weight="w"',
        ),
        (lambda: fb.opened(pd.DataFrame({"a": [1]}), weight=np.ones(1)).audit(), "assign"),
    ],
)
def test_what_is_no_value_per_row_is_said(call, said):
    with pytest.raises(fb.UserError, match=said):
        call()


def test_several_sensitive_columns_are_joined():
    X = pd.DataFrame({"sex": SEX, "race": ["a", "a", "b", "b"] * (N // 4), "x": DECISION})
    with pytest.raises(fb.UserError, match=r"names 2 columns\n  fix: join them: X\['sex × race'\] = "):
        fb.technique("reweighing", estimator="naive-bayes", sensitive_features=["sex", "race"]).fit(X, TRUTH)
    X["sex × race"] = X[["sex", "race"]].astype(str).agg(" × ".join, axis=1)
    fair = fb.technique(
        "reweighing", estimator="naive-bayes", sensitive_features="sex × race", deprived="f × a"
    )
    assert fair.fit(X, TRUTH).status_ in ("ok", "degraded")
