"""Numbers of the same people by two models: what became of the differences of groups."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairbench_cli as fb
from fairbench_cli.audit.compare.changes import Change
from fairbench_cli.base.errors import UserError

KEYS = {"attribute": ["sex"], "ref": {"sex": "m"}, "label": "truth", "outcome": "number"}


def predictions(seed: int, *, n: int = 800, worse: float = 0.0) -> pd.DataFrame:
    """Return two models' predictions of a truth; the second is off by `worse` for women."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.4, "f", "m")
    truth = rng.lognormal(3, 0.4, n)
    old = truth + rng.normal(0, 3, n)
    new = old + rng.normal(0, 1, n) - worse * (sex == "f")
    return pd.DataFrame(
        {"old": old, "new": new, "truth": truth, "sex": sex, "w": rng.lognormal(0, 0.5, n), "row": range(n)}
    )


def changes_of(rows: pd.DataFrame, scores=("old", "new"), **more) -> dict[str, Change]:
    result = fb.audit(rows, score=list(scores), **KEYS, **more)
    return {row.metric: row for row in result.report.found["number_changes"].changes}


@pytest.mark.parametrize("seed", range(4))
def test_changes_are_those_of_paired_rows(seed):
    rows = predictions(seed, worse=0.3)
    is_group = (rows["sex"] == "f").to_numpy()
    changes = changes_of(rows)
    for metric, before, after in (
        ("mean", rows["old"], rows["new"]),
        ("mean-residual", rows["old"] - rows["truth"], rows["new"] - rows["truth"]),
        ("mae", abs(rows["old"] - rows["truth"]), abs(rows["new"] - rows["truth"])),
    ):
        change = (after - before).to_numpy()
        row = changes[metric]
        welch = stats.ttest_ind(change[is_group], change[~is_group], equal_var=False)
        of_group = stats.ttest_1samp(change[is_group], 0).confidence_interval()
        assert row.difference_change.value == pytest.approx(
            change[is_group].mean() - change[~is_group].mean(), abs=1e-9
        )
        assert row.difference_before.value == pytest.approx(
            before[is_group].mean() - before[~is_group].mean(), rel=1e-9
        )
        limits = welch.confidence_interval()
        # The wider of Welch's and Hall's limits, to each side.
        assert row.difference_change.low <= limits.low + 1e-9
        assert row.difference_change.high >= limits.high - 1e-9
        assert row.value_change.low <= of_group.low + 1e-9
        assert row.value_change.value == pytest.approx(change[is_group].mean(), abs=1e-9)
        total = (after + before).to_numpy()
        turned = stats.ttest_ind(total[is_group], total[~is_group], equal_var=False)
        assert row.p >= max(welch.pvalue, turned.pvalue) - 1e-12


@pytest.mark.gate
@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"cluster": "row"}, {"rule": "evidence"}])
def test_swapped_models_mirror_their_changes(more):
    rows = predictions(1, worse=2.5)
    there = changes_of(rows, ("old", "new"), **more)
    back = changes_of(rows, ("new", "old"), **more)
    opposite = {"better": "worse", "worse": "better"}
    assert any(row.word == "worse" for row in there.values())
    for metric, row in there.items():
        mirrored = back[metric]
        assert mirrored.difference_change.value == pytest.approx(-row.difference_change.value, abs=1e-9)
        assert mirrored.difference_change.low == pytest.approx(-row.difference_change.high, abs=1e-9)
        assert mirrored.p == pytest.approx(row.p, rel=1e-6)
        assert mirrored.word == opposite.get(row.word, row.word)


def test_what_all_rows_have_alike_cancels_out():
    rows = predictions(2)
    rows["new"] = rows["old"] + 5
    change = changes_of(rows)["mean"]
    assert change.difference_change.value == pytest.approx(0, abs=1e-9)
    assert change.value_change.value == pytest.approx(5)
    assert change.word == "undecided"


def test_the_same_model_twice_changes_nothing():
    rows = predictions(3)
    rows["new"] = rows["old"]
    result = fb.audit(rows, score=["old", "new"], **KEYS)
    changes = result.report.found["number_changes"].changes
    assert {row.reason for row in changes} == {"same"}
    assert "nothing decided" in result.headline
    assert not math.isfinite(changes[0].p)


@pytest.mark.gate
def test_clusters_of_a_row_each_say_what_rows_say():
    rows = predictions(4, worse=0.5)
    of_rows = changes_of(rows)
    of_clusters = changes_of(rows, cluster="row")
    for metric, row in of_rows.items():
        clustered = of_clusters[metric].difference_change
        assert clustered.low == pytest.approx(row.difference_change.low, rel=0.02, abs=0.01)


@pytest.mark.gate
def test_rows_that_count_twice_are_not_twice_as_many():
    """Rows given twice, with their person as cluster, say what they say once."""
    rows = predictions(5, worse=0.5)
    twice = pd.concat([rows, rows])
    once = changes_of(rows, cluster="row")["mae"]
    doubled = changes_of(twice, cluster="row")["mae"]
    assert doubled.difference_change.low == pytest.approx(once.difference_change.low, rel=1e-3)
    assert doubled.p == pytest.approx(once.p, rel=0.05)


@pytest.mark.gate
def test_a_gap_that_grew_stops_a_gate():
    rows = predictions(6, worse=2.0)
    result = fb.audit(rows, score=["old", "new"], **KEYS, fail_on=["worse"])
    assert result.report.gate.stops
    assert result.report.gate.reason == "worse than old: sex:mean-residual of f"
    back = fb.audit(rows, score=["new", "old"], **KEYS, fail_on=["worse"])
    assert not back.report.gate.stops


@pytest.mark.gate
def test_a_change_of_less_than_a_tenth_of_the_margin_is_hardly_one():
    rows = predictions(7, n=4000)
    rows["old"] = rows["old"] - 1.0 * (rows["sex"] == "f")
    rows["new"] = rows["old"] + np.random.default_rng(0).normal(0, 0.2, 4000) - 0.1 * (rows["sex"] == "f")
    change = changes_of(rows)["mean"]
    assert change.word == "hardly"
    assert change.least_change == pytest.approx(0.1 * change.margin)
    assert changes_of(rows, margin="0.3")["mean"].word == "worse"


@pytest.mark.gate
def test_two_files_say_what_two_columns_say(tmp_path):
    rows = predictions(8, worse=1.0)
    new = rows[["row", "sex", "truth"]].assign(score=rows["new"]).rename(columns={"row": "id"})
    old = rows[["row", "sex", "truth"]].assign(score=rows["old"]).rename(columns={"row": "id"})
    new.to_csv(tmp_path / "new.csv", index=False)
    old.sample(frac=1, random_state=0).to_csv(tmp_path / "old.csv", index=False)
    result = fb.audit(
        str(tmp_path / "new.csv"), against=str(tmp_path / "old.csv"), **(KEYS | {"outcome": None})
    )
    assert result.report.config.of_numbers  # told by the column, as without a baseline
    changes = {row.metric: row for row in result.report.found["number_changes"].changes}
    for metric, row in changes_of(rows).items():
        assert changes[metric].difference_change.low == pytest.approx(row.difference_change.low, rel=1e-9)
    old["truth"] += 1
    old.to_csv(tmp_path / "old.csv", index=False)
    with pytest.raises(UserError, match='"truth" differs in 800 rows'):
        fb.audit(str(tmp_path / "new.csv"), against=str(tmp_path / "old.csv"), **KEYS)


def test_groups_of_few_rows_decide_nothing():
    rows = predictions(9, worse=3.0)
    few = pd.concat([rows[rows["sex"] == "m"], rows[rows["sex"] == "f"].head(20)])
    assert {row.reason for row in changes_of(few).values()} == {"few"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"outcome": "ordinal", "fail_on": ["worse"]}, "levels in an order have none"),
        ({"slice": "half", "score": "new", "fail_on": ["worse"]}, "compared by a trend"),
        ({"least_change": 0.1}, "a tenth of the margin"),
    ],
)
def test_what_cannot_be_combined_is_refused(more, says):
    rows = predictions(10).assign(half=["a", "b"] * 400)
    with pytest.raises(UserError, match=says):
        fb.audit(rows, **({"score": ["old", "new"]} | KEYS | more))
