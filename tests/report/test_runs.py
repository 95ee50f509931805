"""Two runs against each other: pairs, independent series, equal cells, and what changed between the runs."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Finished, bare_data, edit_lines, law, plain, two_lines
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fairbench_cli as fb
from fairbench_cli.experiment.journal.folder import read_results
from fairbench_cli.experiment.plan import read_plan, write_plan
from fairbench_cli.measures.registry import COUNT_METRICS
from fairbench_cli.report.compare_runs import PAIRED, SAME_KEY, UNPAIRED, compare_runs
from fairbench_cli.report.ledger.inference import RowVariance, welch_test
from fairbench_cli.report.ledger.paired_differences import paired_frame
from fairbench_cli.report.ledger.population_tests import OTHER_ROWS, ROW_BY_ROW
from fairbench_cli.report.ledger.results import run_results

METRICS = ["accuracy", "discrimination", "tpr", "acceptance-rate"]


@law(60)
@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(-1, 1))
def test_welchs_test_is_scipys(n, m, seed, shift):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(shift, 1, n), rng.normal(0, 3, m)
    mine = welch_test(np.append(ours, [np.nan, np.inf]), theirs)
    known = stats.ttest_ind(ours, theirs, equal_var=False)
    low, high = known.confidence_interval(0.95)
    assert mine.n == min(n, m)
    assert [float(mine.mean), float(mine.low), float(mine.high), float(mine.p)] == pytest.approx(
        [ours.mean() - theirs.mean(), low, high, known.pvalue]
    )
    wider = welch_test(ours, theirs, rows=RowVariance(np.array(0.5), np.array(100.0)))
    assert wider.high - wider.low >= mine.high - mine.low - 1e-9
    assert wider.p >= mine.p - 1e-9
    assert welch_test(ours, theirs, ratio=0.5).p >= mine.p - 1e-9


def test_equal_and_too_few_repeats_of_two_runs():
    test = welch_test(np.array([[1.0, 1], [1, 1], [1, np.nan]]), np.array([[1.0, 1], [0, 0], [1, 2]]))
    assert test.p[:2].tolist() == [1, 2 * 0.5**2]
    assert np.isnan(test.p[2])
    assert test.n.tolist() == [2, 2, 1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, warm_server: None) -> Path:
    """Runs on one small table: a, one with other β and size, one with other seed and number of repeats."""
    base = tmp_path_factory.mktemp("runs")
    config = {
        "name": "a",
        "repeats": 4,
        "datasets": [{str(bare_data(base, "toy")): {"require_arc": True}}],
        "sample": {"beta": [0, 0.5], "size": 200},
        "interventions": ["none", "massaging"],
        "classifiers": ["naive-bayes"],
        "metrics": METRICS,
    }
    other = {"sample": {"beta": [0.5, 1], "size": 150}}
    for name, changes in {
        "a": {},
        "b": other,
        "c": {"seed": 5, "repeats": 6},
        "n": {"test": "network"},
    }.items():
        fb.run(config | {"name": name} | changes, folder=base / name)
    return base


def frame_of(base: Path, first: str, second: str) -> pd.DataFrame:
    return compare_runs((base / first, base / second), (first, second)).frame


def values_of(folder: Path) -> pd.DataFrame:
    frame = pd.read_csv(folder / "results.csv")
    return frame.pivot(index=["intervention", "beta", "metric"], columns="repeat", values="value")


def test_equal_seeds_are_paired_and_others_are_not(runs: Path):
    """The rows of the frame are scipy's tests of the two results.csv."""
    for name, pairing in (("b", PAIRED), ("c", UNPAIRED)):
        frame, ours, theirs = frame_of(runs, "a", name), values_of(runs / name), values_of(runs / "a")
        assert set(frame["pairing"]) == {pairing}
        assert set(frame["beta"]) == ({0.5} if name == "b" else {0, 0.5})
        assert set(frame["population_basis"]) == {ROW_BY_ROW}
        for row in frame.itertuples():
            place = row.intervention, row.beta, row.metric
            one, other = (values.loc[place].to_numpy() for values in (ours, theirs))
            assert (row.n_first, row.n_second) == (len(other), len(one))
            assert [row.first, row.second] == pytest.approx([other.mean(), one.mean()])
            if np.ptp(one) == 0:
                continue
            known = (
                stats.ttest_rel(one, other)
                if pairing == PAIRED
                else stats.ttest_ind(one, other, equal_var=False)
            )
            low, high = known.confidence_interval(0.95)
            assert [row.difference, row.low, row.high] == pytest.approx(
                [one.mean() - other.mean(), low, high]
            )
            assert row.population_low <= row.low + 1e-12
            if COUNT_METRICS[row.metric].ideal is None:
                assert row.p == pytest.approx(known.pvalue)


def test_two_runs_that_are_two_techniques_of_one_are_its_paired_frame(runs: Path, tmp_path: Path):
    """What the one calls massaging the other calls none: the difference between the runs is massaging's."""
    plan, reading = read_results(runs / "a")
    for name, technique in (("one", "none"), ("other", "massaging")):
        shutil.copytree(runs / "a", tmp_path / name)
        as_none = {"intervention": "none", "parameters": "{}"}
        cells = [cell | as_none for cell in plan.cells if cell["intervention"] == technique]
        write_plan(tmp_path / name, replace(plan, cells=cells))
    found = frame_of(tmp_path, "one", "other")
    run = run_results(runs / "a", plan, reading.records, METRICS)
    expected = paired_frame(run.results)
    numbers = [
        name for name in expected if name.startswith(("difference", "low", "p", "population", "tests"))
    ]
    numbers = [name for name in numbers if name != "parameters"]
    assert set(found["population_basis"]) == {ROW_BY_ROW}
    pd.testing.assert_frame_equal(found[numbers], expected[numbers])


def test_the_same_cells_are_the_same_and_not_tested(runs: Path, tmp_path: Path):
    frame = frame_of(runs, "a", "a")
    assert set(frame["pairing"]) == {SAME_KEY}
    assert set(frame["population_verdict"]) == set(frame["verdict"]) == {"same"}
    assert frame["p"].isna().all()
    assert (frame["tests"] == 0).all()
    shutil.copytree(runs / "a", tmp_path / "edited")

    def another(row):  # one more error, one less: as accurate as before
        if row["repeat"] == 0 and row["counts"][0][0][0] > 1 and row["counts"][0][1][0] > 1:
            for label in (0, 1):
                row["counts"][0][label][0] -= 1
                row["counts"][0][label][1] += 1

    edit_lines(tmp_path / "edited", another)
    found = compare_runs((runs / "a", tmp_path / "edited"), ("a", "edited"))
    assert any("the same key and other numbers" in fact for fact in found.document.facts)
    assert (found.frame.groupby(["beta", "intervention"])["pairing"].nunique() == 1).all()
    assert PAIRED in set(found.frame["pairing"])


def test_a_plan_from_before_it_told_its_inputs_is_compared(runs: Path, tmp_path: Path):
    for name in ("a", "old"):
        shutil.copytree(runs / "a", tmp_path / name)
    plan = read_plan(runs / "a")
    old = [{name: value for name, value in one.items() if name != "inputs"} for one in plan.datasets]
    write_plan(tmp_path / "old", replace(plan, datasets=old))
    for names in (("a", "old"), ("old", "a")):
        folders = tmp_path / names[0], tmp_path / names[1]
        found = compare_runs(folders, names, ("ranker=naive-bayes", "beta=0.5"))
        assert set(found.frame["beta"]) == {0.5}
        assert found.document.sections[0].sentences == ("Nothing in config, code, versions and data.",)


def test_other_test_rows_have_no_answer_for_the_population(runs: Path):
    frame = frame_of(runs, "a", "n")
    assert set(frame["population_basis"]) == {OTHER_ROWS}
    assert frame["population_p"].isna().all()
    assert set(frame["population_verdict"]) == {""}
    assert frame["p"].notna().any()


def test_the_command_says_what_changed_and_writes_files(runs: Path, finished: Finished, say, tmp_path: Path):
    done = say("compare", runs / "a", runs / "b", "-o", "out")
    assert done.code == 0
    plain(done.out)
    assert "b against a" in done.out
    assert "config  datasets." in done.out.replace("\n", " ")
    assert "sample.size 200 → 150" in " ".join(done.out.split())
    assert "2 cells are in both runs, which have 4 and 4." in done.out
    assert sorted(path.name for path in Path("out").iterdir()) == ["runs.csv", "runs.html", "runs.md"]
    found = pd.read_csv("out/runs.csv")
    assert len(found) == 2 * len(METRICS)
    assert say("compare", runs / "a", runs / "b", "--only", "intervention=none").out.count("massaging") == 0
    same = say("compare", runs / "a", shutil.copytree(runs / "a", "again"))
    assert (same.code, "in config, code, versions and data" in same.out) == (0, True)
    two_lines(say("compare", runs / "a"), "two folders")
    two_lines(say("compare", runs / "a", finished.folder), "no cell in common")
    two_lines(say("compare", runs / "a", runs / "b", "--tolerance", "0.1"), "--paper")


def test_a_plan_that_was_read_is_the_one_that_is_written(runs: Path, tmp_path: Path):
    write_plan(tmp_path, read_plan(runs / "a"))
    assert (tmp_path / "plan.json").read_bytes() == (runs / "a/plan.json").read_bytes()
