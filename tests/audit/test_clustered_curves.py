"""Curves of scores whose rows share a person: what each row adds, summed by person."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import fairbench_cli as fb
from fairbench_cli.audit.api import AuditResult
from fairbench_cli.audit.parts.curves import ScoreRow
from fairbench_cli.measures.clusters import ClusterSums, linear_variance

KEYS = {"attribute": ["sex"], "ref": {"sex": "b"}, "label": "label", "threshold": [0.5], "curves": True}
BETWEEN = ("auc", "brier", "calibration-slope", "calibration-intercept")


def people(seed: int, *, n: int = 1500, n_people: int = 50) -> pd.DataFrame:
    """Return rows of people who differ in how likely they are, with scores of some use."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, n_people, n)
    chance = np.clip(rng.beta(3, 4, n_people)[person] + rng.normal(0, 0.1, n), 0.02, 0.98)
    score = np.clip(chance + rng.normal(0, 0.15, n), 0.01, 0.99).round(3)
    return pd.DataFrame(
        {
            "score": score,
            "label": rng.binomial(1, chance),
            "sex": np.where(rng.random(n) < rng.beta(1, 1, n_people)[person], "a", "b"),
            "person": person,
            "prompt": rng.integers(0, 40, n),
        }
    )


def curves(result: AuditResult) -> dict[str, ScoreRow]:
    (found,) = result.report.found["curves"]
    return {row.group: row for row in found.groups}


def width(row: ScoreRow, measure: str, *, apart: bool = False) -> float:
    interval = (row.differences if apart else row.values)[measure]
    return interval.high - interval.low


def test_one_row_a_person_says_what_no_clusters_say() -> None:
    rows = people(1)
    alone = fb.audit(rows.assign(person=range(len(rows))), cluster="person", **KEYS)
    plain = fb.audit(rows, **KEYS)
    assert str(alone.report.found["curves"]) == str(plain.report.found["curves"])


def auc_influences(rows: pd.DataFrame) -> np.ndarray:
    """Return the share of the other label on the right side of each row, ties half, less the mean."""
    score = rows["score"].to_numpy()
    positive = (rows["label"] == 1).to_numpy()
    above = (score[:, None] > score).astype(float) + (score[:, None] == score) / 2
    right = np.where(positive, above[:, ~positive].mean(1), 1 - above[:, positive].mean(1))
    return right - right[positive].mean()


def test_the_auc_has_the_variance_of_its_influences_by_person() -> None:
    rows = people(2)
    sides = []
    for group in ("a", "b"):
        of_group = rows[rows["sex"] == group]
        influence = auc_influences(of_group)
        for label in (0, 1):
            counted = (of_group["label"] == label).to_numpy()
            terms = [counted, counted, influence * counted, influence**2 * counted]
            sides.append([np.bincount(of_group["person"], term, 50) for term in terms])
    sums = ClusterSums(*np.stack(sides, axis=1).astype(float))
    variance, degrees = linear_variance([sums], np.array([1.0, 1, -1, -1]))
    row = curves(fb.audit(rows, cluster="person", **KEYS))["a"]
    difference = row.differences["auc"]
    # Wilson's form and the degrees of each group are close to the symmetrical interval.
    expected = 2 * stdtrit(float(degrees), 0.975) * np.sqrt(float(variance))
    assert difference.high - difference.low == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("options", [{}, {"ref_method": "rest", "ref": {}}])
def test_rows_ten_times_have_the_intervals_of_the_rows_once(options: dict) -> None:
    once = people(3, n=700).assign(person=range(700))
    often = once.loc[once.index.repeat(10)]
    keys = {**KEYS, **options}
    expected = curves(fb.audit(once, **keys))
    found = curves(fb.audit(often, cluster="person", **keys))
    bold = curves(fb.audit(often, **keys))
    for group, row in found.items():
        for measure in (*BETWEEN, "ks-of-labels", "base-rate"):
            wide = width(expected[group], measure)
            assert width(row, measure) == pytest.approx(wide, rel=0.05), measure
            assert width(bold[group], measure) < 0.5 * wide, measure
        for measure in row.differences:
            if measure in BETWEEN:
                wide = width(expected[group], measure, apart=True)
                assert width(row, measure, apart=True) == pytest.approx(wide, rel=0.05), measure
        rates = zip(row.bins, expected[group].bins, strict=True)
        for bin_often, bin_once in rates:
            assert bin_often.rows == 10 * bin_once.rows
            once_wide = bin_once.rate.high - bin_once.rate.low
            assert bin_often.rate.high - bin_often.rate.low == pytest.approx(once_wide, rel=0.1)


def test_people_with_rows_of_both_groups_make_a_difference_safer() -> None:
    """The two groups have the same people: what is between these cancels out of a difference."""
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(60), 20)
    level = rng.normal(0, 2, 60)[person]
    score = 1 / (1 + np.exp(-(level + rng.normal(0, 1, 1200))))
    rows = pd.DataFrame({"score": score, "label": rng.integers(0, 2, 1200), "person": person})
    rows["sex"] = np.where(np.arange(1200) % 2 == 0, "a", "b")
    both = curves(fb.audit(rows, cluster="person", **KEYS))["a"]
    rows["person"] = rows["person"].astype(str) + rows["sex"]
    apart = curves(fb.audit(rows, cluster="person", **KEYS))["a"]
    assert width(both, "brier", apart=True) < 0.9 * width(apart, "brier", apart=True)
    assert width(both, "brier") == pytest.approx(width(apart, "brier"), rel=0.05)


def test_two_columns_a_slice_and_too_few_people() -> None:
    rows = people(5)
    row = curves(fb.audit(rows, cluster=["person", "prompt"], **KEYS))["a"]
    assert np.isfinite([width(row, measure) for measure in BETWEEN]).all()
    of_one = rows.assign(person=np.where(rows["sex"] == "a", 3, rows["person"] + 10))
    row = curves(fb.audit(of_one, cluster="person", **KEYS))["a"]
    assert np.isnan([width(row, measure) for measure in BETWEEN]).all()
    half = np.where(np.arange(len(rows)) % 2 == 0, "2024-1", "2024-2")
    sliced = fb.audit(rows.assign(half=half), slice="half", cluster="person", **KEYS)
    assert len(sliced.report.found["curves"]) == 2
