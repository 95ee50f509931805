"""Comparisons of an audit whose rows share a person, a school, a prompt: from a file to the words."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairbench_cli as fb
from fairbench_cli.audit.api import AuditResult
from fairbench_cli.audit.compare import clustered_rates
from fairbench_cli.audit.compare.report import ClusteredDisparity, Disparity
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.parts.findings import describe_finding
from fairbench_cli.audit.show.tables import disparities_csv, to_document, to_json
from fairbench_cli.base.errors import UserError
from fairbench_cli.cli.app import app
from fairbench_cli.measures.clusters import RateSums, compare_rates
from fairbench_cli.measures.significance import holm

CONDITIONS = {
    "selection-rate": lambda rows: (rows["score"] == 1, rows["score"] >= 0),
    "fpr": lambda rows: ((rows["score"] == 1) & (rows["label"] == 0), rows["label"] == 0),
    "fdr": lambda rows: ((rows["score"] == 1) & (rows["label"] == 0), rows["score"] == 1),
}


def schools(seed: int, *, n: int = 900, n_schools: int = 25) -> pd.DataFrame:
    """Return rows of schools that differ in size, in how they select and in whom they have."""
    rng = np.random.default_rng(seed)
    school = rng.choice(n_schools, n, p=rng.dirichlet(np.full(n_schools, 2.0)))
    share = rng.dirichlet(np.ones(3), n_schools)[school]
    group = (rng.random(n)[:, None] > share.cumsum(1)).sum(1).clip(max=2)
    rate = rng.beta(3, 5, n_schools)[school]
    return pd.DataFrame(
        {
            "score": rng.binomial(1, rate),
            "label": rng.binomial(1, 0.4, n),
            "sex": np.array(["a", "b", "c"])[group],
            "school": school,
            "pupil": rng.integers(0, 200, n),
            "w": rng.lognormal(0, 0.7, n),
        }
    )


def sums_by_hand(rows: pd.DataFrame, keys: list[str], metric: str, group: str, reference: str) -> RateSums:
    """Return the sums of each cluster; the reference "" is everybody else."""
    above, below = CONDITIONS[metric](rows)
    cluster = rows.groupby(keys).ngroup()
    sums = np.zeros((4, 2, cluster.max() + 1))
    inside = [rows["sex"] == reference if reference else rows["sex"] != group, rows["sex"] == group]
    for side, mask in enumerate(inside):
        for i, (power, counted) in enumerate([(1, below), (2, below), (1, above), (2, above)]):
            np.add.at(sums[i, side], cluster[mask & counted], rows["w"][mask & counted] ** power)
    return RateSums(*sums)


def disparities(result: AuditResult) -> dict[tuple[str, str], Disparity]:
    return {(row.group, row.metric): row for row in result.report.disparities if not row.is_reference}


@pytest.mark.gate
def test_pairs_that_are_compared_at_once_are_each_alone(monkeypatch) -> None:
    rows = schools(3)
    rows["class"] = rows["pupil"] % 9

    def compared() -> str:
        return to_json(fb.audit(rows, attribute="class", cluster=["school"], ref_method="maximum").report)

    at_once = compared()
    monkeypatch.setattr(clustered_rates, "NUMBERS_AT_ONCE", 1)
    assert compared() == at_once


@pytest.mark.gate
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reference", ["b", ""])
@pytest.mark.parametrize("columns", [("school",), ("school", "pupil")])
def test_each_number_is_that_of_the_sums_by_hand(columns, reference: str, weighted: bool) -> None:
    rows = schools(1)
    if not weighted:
        rows["w"] = 1.0
    options = {"ref": {"sex": "b"}} if reference else {"ref_method": "rest"}
    if weighted:
        options["weight"] = "w"
    found = disparities(fb.audit(rows, attribute=["sex"], cluster=columns, label="label", **options))
    ways = [["school"], ["pupil"], ["school", "pupil"]] if len(columns) > 1 else [["school"]]
    groups = ("a", "c") if reference else ("a", "b", "c")
    for group, metric in itertools.product(groups, CONDITIONS):
        sums = [sums_by_hand(rows, keys, metric, group, reference) for keys in ways]
        expected = compare_rates(sums, 0.8)
        row = found[group, metric]
        numbers = [row.p, row.degrees, row.ratio.low, row.ratio.high, row.difference.low, row.difference.high]
        by_hand = [expected.p, expected.degrees, expected.ratio_low, expected.ratio_high]
        by_hand += [expected.difference_low, expected.difference_high]
        np.testing.assert_allclose(numbers, [float(number) for number in by_hand], rtol=1e-8)
        assert row.test == "clusters"


def test_all_pairs_are_tested_where_the_reference_has_the_highest_rate() -> None:
    rows = schools(2).assign(w=1.0)
    rows.loc[rows["sex"] == "a", "score"] *= np.arange((rows["sex"] == "a").sum()) % 3 > 0
    result = fb.audit(
        rows, attribute=["sex"], cluster="school", metric=["selection-rate"], ref_method="maximum"
    )
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    p_values = {}
    for group, reference in pairs:
        sums = sums_by_hand(rows, ["school"], "selection-rate", group, reference)
        p_values[group, reference] = float(compare_rates([sums], 0.8).p)
    adjusted = dict(zip(pairs, holm(list(p_values.values())), strict=True))
    assert result.report.family == 3
    for (group, _), row in disparities(result).items():
        if row.metric == "selection-rate":
            pair = tuple(sorted((group, row.reference)))
            assert row.p == pytest.approx(p_values[pair])
            assert row.p_holm == pytest.approx(adjusted[pair])


def test_the_resumes(data_folder: Path) -> None:
    """Bertrand & Mullainathan (2004) by first name, by advertisement, and by both."""
    rows = pd.read_csv(data_folder / "labor_market_discrimination.csv")
    rows = rows[["call", "race", "first_name", "ad_id"]]
    expected = json.loads(
        (Path(__file__).parents[1] / "reference" / "clusters" / "clusters.json").read_text()
    )
    for columns, case in {
        ("first_name",): "resumes by first name",
        ("ad_id",): "resumes by ad",
        ("ad_id", "first_name"): "resumes by first name and ad",
        ("first_name", "ad_id"): "resumes by first name and ad",
    }.items():
        result = fb.audit(rows, score="call", attribute=["race"], ref={"race": "w"}, cluster=columns)
        row = disparities(result)["b", "selection-rate"]
        numbers = expected[case]
        assert row.p == pytest.approx(numbers["p"], rel=6e-6)
        assert row.degrees == pytest.approx(numbers["df"], rel=6e-6)
        assert row.verdict == "fail"
        assert row.shown_outside == (case == "resumes by ad")
        if "ratio_low" in numbers:
            assert row.ratio.low == pytest.approx(numbers["ratio_low"], rel=6e-6)
            assert row.ratio.high == pytest.approx(numbers["ratio_high"], rel=6e-6)


def test_one_row_a_cluster_says_what_no_clusters_say() -> None:
    rows = schools(3).assign(person=range(900))
    result, plain = (fb.audit(rows, attribute=["sex"], **keys) for keys in ({"cluster": "person"}, {}))
    document, plain_document = (to_document(found.report) for found in (result, plain))
    for key in ("groups", "disparities", "verdicts", "overall", "family"):
        assert document[key] == plain_document[key]
    assert disparities_csv(result.report) == disparities_csv(plain.report)
    assert "degrees" not in to_json(plain.report)


def two_clusters() -> pd.DataFrame:
    """Return schools of which only one has pupils of group b."""
    rows = schools(4)
    rows["sex"] = np.where(rows["school"] == 3, "b", "a")
    return rows


def test_a_group_of_one_cluster_is_not_decided() -> None:
    result = fb.audit(two_clusters(), attribute=["sex"], cluster="school", metric=["selection-rate"])
    row = disparities(result)["b", "selection-rate"]
    assert (row.verdict, row.reason, row.test) == ("undecided", "clusters", "")
    assert np.isnan(row.p)
    assert "too few clusters" in result.to("html")
    assert "fewer than two values of school" in result.to("html")


def test_without_width_nothing_fails_and_the_interval_stays() -> None:
    """Of two schools' girls one school selects all that are selected."""
    rows = schools(5)
    girls = rows["sex"] == "a"
    rows.loc[girls, "score"] = ((rows["school"] == 2) & (np.arange(900) % 5 == 0)).astype(int)[girls]
    result = fb.audit(rows, attribute=["sex"], cluster="school", metric=["selection-rate"], ref={"sex": "c"})
    row = disparities(result)["a", "selection-rate"]
    assert (row.point, row.verdict, row.reason) == ("fail", "undecided", "clusters")
    assert np.isfinite([row.ratio.low, row.ratio.high, row.difference.low]).all()
    assert ", from too few values of school to test;" in describe_finding(row, result.report)
    assert "too few clusters" in result.to("html")


def test_few_clusters_are_said() -> None:
    rows = schools(6, n_schools=6)
    result = fb.audit(rows, attribute=["sex"], cluster="school", metric=["selection-rate"], ref={"sex": "b"})
    row = disparities(result)["a", "selection-rate"]
    assert isinstance(row, ClusteredDisparity)
    assert row.degrees < 10
    note = next(note for note in result.report.notes if note.startswith("Tests as if of fewer than 10"))
    assert f"independent values of school: selection-rate of a ({row.degrees:.0f})" in note
    assert f"as if of {row.degrees:.0f}" in result.to("html")
    (cells,) = [
        cells
        for cells in to_document(result.report)["disparities"]
        if (cells["group"], cells["metric"]) == ("a", "selection-rate")
    ]
    assert cells["degrees"] == row.degrees
    assert disparities_csv(result.report).splitlines()[0].endswith(",degrees")


@pytest.mark.gate
def test_clusters_that_do_not_differ_are_worth_their_rows() -> None:
    """The rows needed are about those of an audit without clusters."""
    keys = {"attribute": ["sex"], "metric": ["selection-rate"], "ref": {"sex": "c"}}
    ratios = []
    for seed in range(12):
        rows = schools(seed, n=400)
        rng = np.random.default_rng(seed)
        rows["score"] = rng.binomial(1, np.where(rows["sex"] == "a", 0.3, 0.4))
        plain, clustered = (
            disparities(fb.audit(rows, **keys, **options))["a", "selection-rate"].rows_needed
            for options in ({}, {"cluster": "school"})
        )
        ratios.append(clustered / plain)
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    assert len(known) >= 4
    assert 0.7 < np.median(known) < 1.4


def test_three_columns_are_refused_and_one_twice() -> None:
    with pytest.raises(UserError, match="3 columns of clusters are too many"):
        read_config({"cluster": ["a", "b", "c"]})
    with pytest.raises(UserError, match="named twice"):
        read_config({"cluster": ["a", "a"]})
    assert read_config({"cluster": "a"}).cluster == ("a",)
    assert read_config({"cluster": ["a", "b"]}).cluster == ("a", "b")


def test_the_command_takes_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    schools(8).to_csv(path, index=False)
    arguments = ["audit", str(path), "-a", "sex", "--cluster", "school", "--cluster", "pupil"]
    result = CliRunner().invoke(app, [*arguments, "--format", "json"])
    document = json.loads(result.stdout)
    assert document["config"]["cluster"] == ["school", "pupil"]
    assert any(note.startswith("school, pupil: the rows have 25 and ") for note in document["notes"])
    rows = fb.audit(str(path), attribute=["sex"], cluster=["school", "pupil"]).report
    assert json.loads(to_json(rows))["disparities"] == document["disparities"]


def compared_tests(result: AuditResult) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Return p and the interval of each test of a metric asked for by name."""
    tests = result.report.found["requested"].tests
    return {(test.group, test.tested): (test.p, test.value.low, test.value.high) for test in tests}


@pytest.mark.gate
def test_metrics_asked_for_by_name_go_by_clusters() -> None:
    rows = schools(1)
    names = ["selection-rate-difference", "average-odds-difference", "phi", "odds-ratio", "accuracy-of-group"]
    keys = {"attribute": ["sex"], "ref": {"sex": "b"}, "label": "label", "metric": names}
    plain = compared_tests(fb.audit(rows, **keys))
    clustered = compared_tests(fb.audit(rows, cluster="school", **keys))
    alone = compared_tests(fb.audit(rows.assign(row=range(len(rows))), cluster="row", **keys))
    assert alone == plain
    assert set(clustered) == set(plain)
    for key, (p, low, high) in clustered.items():
        if key[1] in ("selection-rate-difference", "phi", "odds-ratio"):
            assert high - low > 1.1 * (plain[key][2] - plain[key][1])
        assert np.isfinite([p, low, high]).all(), key
    # No draws are needed, and what is linear has the test of the rates.
    assert compared_tests(fb.audit(rows, cluster="school", draws=0, **keys)) == clustered
    both = fb.audit(rows, cluster=["school", "pupil"], **keys)
    assert np.isfinite(compared_tests(both)["a", "phi"]).all()


def test_clusters_of_alike_rows_have_the_interval_of_their_number() -> None:
    """Each row ten times: by clusters as wide as of the rows once, without as of ten times as many."""
    rng = np.random.default_rng(5)
    once = pd.DataFrame({"score": rng.integers(0, 2, 400), "label": rng.integers(0, 2, 400)})
    once = once.assign(sex=rng.choice(["a", "b"], 400), person=range(400))
    often = once.loc[once.index.repeat(10)]
    keys = {"attribute": ["sex"], "ref": {"sex": "b"}, "label": "label"}
    keys |= {"metric": ["average-odds-difference", "phi", "kappa"], "draws": 4000}
    expected = compared_tests(fb.audit(once, **keys))
    for key, (p, low, high) in compared_tests(fb.audit(often, cluster="person", **keys)).items():
        assert high - low == pytest.approx(expected[key][2] - expected[key][1], rel=0.08), key
        assert p == pytest.approx(expected[key][0], abs=0.03), key
