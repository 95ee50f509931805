"""Changes between two models or slices whose rows share a person: what each row adds, summed by person."""

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.api import AuditResult
from fairbench_cli.audit.compare.changes import Change
from fairbench_cli.audit.parts.trends import SliceTrends
from fairbench_cli.measures.clusters import ClusterSums, linear_variance, t_quantile, t_test_p

KEYS = {"attribute": ["sex"], "ref": {"sex": "b"}, "label": "label"}
RATES = {
    "selection-rate": lambda rows, score: (rows[score] == 1, rows[score] >= 0),
    "fnr": lambda rows, score: ((rows[score] == 0) & (rows["label"] == 1), rows["label"] == 1),
    "fdr": lambda rows, score: ((rows[score] == 1) & (rows["label"] == 0), rows[score] == 1),
}


def people(seed: int, *, n: int = 1200, n_people: int = 60) -> pd.DataFrame:
    """Return rows of people with two scores, in two halves of a year, and both groups in most people."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, n_people, n)
    old = rng.beta(4, 6, n_people)[person]
    new = np.clip(old + rng.normal(0, 0.15, n_people)[person], 0, 1)
    label = rng.binomial(1, 0.4, n)
    return pd.DataFrame(
        {
            "old": rng.binomial(1, old),
            "new": rng.binomial(1, new),
            "label": label,
            "sex": np.where(rng.random(n) < rng.beta(1, 1, n_people)[person], "a", "b"),
            "person": person,
            "half": rng.choice(["2024-1", "2024-2"], n),
            "w": rng.lognormal(0, 0.5, n),
        }
    )


def changes(result: AuditResult) -> dict[tuple[str, str], Change]:
    return {(change.group, change.metric): change for change in result.report.found["changes"].changes}


def log_rate_influence(rows: pd.DataFrame, metric: str, score: str, mask: pd.Series) -> np.ndarray:
    """Return what each row adds to the logarithm of a rate of the rows of a mask."""
    above, below = RATES[metric](rows, score)
    above, below = ((side & mask) * rows["w"] for side in (above, below))
    return (above / above.sum() - below / below.sum()).to_numpy() / rows["w"].to_numpy()


def variance_by_hand(rows: pd.DataFrame, sides: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """Return the variance and degrees of freedom of a difference of sums of influences, each of some rows."""
    person = rows["person"].to_numpy()
    weight = rows["w"].to_numpy()
    columns = []
    for influence, counted in sides:
        total = weight[counted].sum()
        terms = [weight * counted, weight**2 * counted, weight * influence * total]
        terms += [(weight * influence * total) ** 2]
        columns.append([np.bincount(person, term) for term in terms])
    sums = ClusterSums(*np.stack(columns, axis=1))
    variance, degrees = linear_variance([sums], np.array([1.0, -1.0]))
    return float(variance), float(degrees)


@pytest.mark.parametrize("weighted", [False, True])
def test_changes_between_two_models_are_sums_of_both_by_person(weighted: bool) -> None:
    rows = people(1)
    if not weighted:
        rows["w"] = 1.0
    options = {"weight": "w"} if weighted else {}
    found = changes(fb.audit(rows, score=["old", "new"], cluster="person", **KEYS, **options))
    for metric in RATES:
        sides = []
        for group in ("a", "b"):
            mask = rows["sex"] == group
            before, after = (log_rate_influence(rows, metric, score, mask) for score in ("old", "new"))
            counted = RATES[metric](rows, "old")[1] | RATES[metric](rows, "new")[1]
            sides.append((after - before, (counted & mask).to_numpy()))
        variance, degrees = variance_by_hand(rows, sides)
        change = found["a", metric]
        log_change = np.log(change.ratio_change.value)
        reach = np.log(change.ratio_change.high) - log_change
        expected = np.sqrt(variance) * float(t_quantile(np.array(degrees), 0.95))
        assert reach == pytest.approx(expected, rel=1e-9), metric
        at_least = float(t_test_p(np.array(log_change / np.sqrt(variance)), np.array(degrees)))
        assert change.p >= at_least * (1 - 1e-9)


@pytest.mark.gate
def test_one_row_a_person_says_what_no_clusters_say() -> None:
    rows = people(2).assign(person=range(1200))
    for options in ({"score": ["old", "new"]}, {"score": "new", "slice": "half"}):
        alone, plain = (fb.audit(rows, **KEYS, **options, **keys) for keys in ({"cluster": "person"}, {}))
        assert str(alone.report.found["changes"]) == str(plain.report.found["changes"])


@pytest.mark.gate
def test_rows_ten_times_have_the_interval_of_the_rows_once() -> None:
    """Both between models and between slices; the people of a slice are in no other."""
    once = people(3, n=900).assign(person=range(900))
    often = once.loc[once.index.repeat(10)]
    for options in ({"score": ["old", "new"]}, {"score": "new", "slice": "half"}):
        expected = changes(fb.audit(once, **KEYS, **options))
        found = changes(fb.audit(often, cluster="person", **KEYS, **options))
        bold = changes(fb.audit(often, **KEYS, **options))
        for key, change in found.items():
            widths = []
            for row in (change, expected[key], bold[key]):
                widths.append(np.log(row.ratio_change.high / row.ratio_change.low))
            if np.isfinite(widths).all():
                assert widths[0] == pytest.approx(widths[1], rel=0.05), key
                assert widths[2] < 0.4 * widths[1]


def test_people_in_both_slices_make_a_change_safer() -> None:
    """They have rows in both halves with the same rate of their own: what is between people cancels out."""
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(80), 20)
    rows = pd.DataFrame({"person": person, "score": rng.binomial(1, rng.beta(0.5, 0.5, 80)[person])})
    rows["sex"] = np.where(person % 2 == 0, "a", "b")
    rows["half"] = np.where(np.arange(1600) % 20 < 10, "2024-1", "2024-2")
    keys = {"attribute": ["sex"], "ref": {"sex": "b"}, "slice": "half"}
    together = changes(fb.audit(rows, cluster="person", **keys))["a", "selection-rate"]
    rows["person"] = rows["person"].astype(str) + rows["half"]
    apart = changes(fb.audit(rows, cluster="person", **keys))["a", "selection-rate"]
    widths = [np.log(change.ratio_change.high / change.ratio_change.low) for change in (together, apart)]
    assert widths[0] < 0.5 * widths[1]


def test_too_few_people_say_nothing_of_a_change() -> None:
    rows = people(5)
    is_old = (rows["person"] != 7) | (rows["sex"] != "a")
    rows["new"] = rows["new"].where(~is_old, rows["old"])
    found = changes(fb.audit(rows, score=["old", "new"], cluster="person", **KEYS))["a", "selection-rate"]
    assert found.word == "undecided"
    assert found.reason in ("few", "same")


@pytest.mark.gate
def test_two_columns_and_all_slices_together() -> None:
    rows = people(6).assign(prompt=np.arange(1200) % 37)
    both = fb.audit(rows, score="new", slice="half", cluster=["person", "prompt"], **KEYS)
    assert np.isfinite(changes(both)["a", "selection-rate"].ratio_change.high)
    together = next(part.report for part in both.report.found.values() if isinstance(part, SliceTrends))
    alone = fb.audit(rows, score="new", cluster=["person", "prompt"], **KEYS).report
    expected = {(row.group, row.metric): row.p for row in alone.disparities}
    for row in together.disparities:
        assert row.p == pytest.approx(expected[row.group, row.metric], nan_ok=True)


@pytest.mark.gate
def test_people_who_come_back_every_month_are_no_new_evidence() -> None:
    """The same decisions on the same 80 people, twelve times: what one month does not show, they do not."""
    rng = np.random.default_rng(8)
    once = pd.DataFrame({"person": range(80), "sex": np.repeat(["a", "b"], 40)})
    once["score"] = (
        rng.permutation(np.repeat([1, 0], [13, 27])).tolist()
        + rng.permutation(np.repeat([1, 0], [20, 20])).tolist()
    )
    months = [once.assign(month=f"2024-{month:02}") for month in range(1, 13)]
    rows = pd.concat(months, ignore_index=True)
    keys = {"attribute": ["sex"], "ref": {"sex": "b"}, "metric": ["selection-rate"], "slice": "month"}
    assert fb.audit(rows, **keys).verdict == "fail"
    clustered = fb.audit(rows, cluster="person", **keys)
    assert clustered.verdict == "undecided"
    p = [
        look.p
        for look in clustered.report.streams.looks
        if (look.group, look.metric) == ("a", "selection-rate")
    ]
    assert len(p) == 12
    assert min(p) > 0.05
    gross = rows.assign(score=np.where(rows["sex"] == "a", rows["person"] % 10 == 0, rows["person"] % 5 > 0))
    assert fb.audit(gross.astype({"score": int}), cluster="person", **keys).verdict == "fail"
    chosen = {**keys, "ref": {}, "ref_method": "maximum"}
    assert fb.audit(rows, cluster="person", **chosen).verdict == "undecided"
