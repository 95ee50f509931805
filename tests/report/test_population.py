"""Verdicts about the population: the variance between test rows, and what chance calls better or worse."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import edit_lines, fairbench, law, scaled, write_config
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench_cli.experiment.config.config import SampleConfig
from fairbench_cli.experiment.decisions import packed, unpacked
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger.inference import (
    ModelDecisions,
    RowVariance,
    compute_slopes,
    paired_test,
    row_design,
    row_variance,
    unpack_decisions,
)
from fairbench_cli.report.ledger.population_tests import FROM_COUNTS, ROW_BY_ROW, TEST_STATISTIC

METRICS = ("accuracy", "discrimination", "impact-ratio", "tpr-difference", "mcc")
REPEATS = 4


def world(seed: int, rows: int = 400, noise: float = 0.3):
    """Rows by stratum, and what two models decide on them in each repeat, alike in part."""
    rng = np.random.default_rng(seed)
    s, y = (np.sort(rng.integers(0, 2, rows)), rng.integers(0, 2, rows))
    order = np.lexsort((y, s))
    s, y = s[order], y[order]
    tendency = rng.random(rows) < 0.25 + 0.4 * y + 0.1 * s
    flip = rng.random((2, REPEATS, rows)) < noise
    flip |= rng.random((2, 1, rows)) < 0.1  # a model's own, in every repeat
    return s, y, (tendency ^ flip).astype(float)


def counted(s, y, taken) -> np.ndarray:
    return np.array([count(s, y, one.astype(int), PAIR).n for one in taken])


def variance_of(s, y, taken, kept=True, names=METRICS):
    """The variance of mean differences of metrics."""
    n = [counted(s, y, own) for own in taken]
    models = [
        unpack_decisions(each, [packed(one) if kept else None for one in own])
        for each, own in zip(n, taken, strict=True)
    ]
    found = [
        np.array([compute_slopes(name, Counts(PAIR, each)).reshape(REPEATS, 4, 2) for name in names])
        / REPEATS
        for each in n
    ]
    return row_variance(*models, *found)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_variance_is_that_of_a_bootstrap_over_the_rows(seed):
    s, y, taken = world(seed, 300)
    mine = variance_of(s, y, taken)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(scaled(600)):
        at = rng.integers(0, len(s), len(s))
        n = [Counts(PAIR, counted(s[at], y[at], own[:, at])) for own in taken]
        drawn.append([np.mean(measure(name, n[0]) - measure(name, n[1])) for name in METRICS])
    assert np.sqrt(mine.variance) == pytest.approx(np.std(drawn, axis=0), rel=4 / np.sqrt(2 * len(drawn)))


@law(15)
@given(st.integers(0, 2**32 - 1))
def test_counts_alone_give_an_upper_bound(seed):
    s, y, taken = world(seed, 60)
    known, allowed = variance_of(s, y, taken), variance_of(s, y, taken, kept=False)
    assert (known.variance <= allowed.variance * (1 + 1e-9) + 1e-15).all()


def on_record(rng, s, y, taken) -> list[np.ndarray]:
    """Counts of both models on labels that each repeat records anew, of the rows that it includes."""
    labels = y & ((s == 1) | (rng.random((REPEATS, len(s))) < 0.5))
    there = (s == 1) | (labels == 0) | (rng.random((REPEATS, len(s))) < 0.7)
    return [
        np.array(
            [
                count(s[at], label[at], decided[at].astype(int), PAIR).n
                for at, label, decided in zip(there, labels, own, strict=True)
            ]
        )
        for own in taken
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_on_the_record_give_an_upper_bound(seed):
    """Of the variance over test rows and over what is recorded of them; strata differ by repeat."""
    s, y, taken = world(seed, 300)
    rng = np.random.default_rng(seed)
    bounds = []
    for _ in range(5):
        n = on_record(rng, s, y, taken)
        slope = [
            np.array([compute_slopes(name, Counts(PAIR, each)).reshape(REPEATS, 4, 2) for name in METRICS])
            / REPEATS
            for each in n
        ]
        nothing = [None] * REPEATS
        bounds.append(row_variance(*(unpack_decisions(each, nothing) for each in n), *slope).variance)
    drawn = []
    for _ in range(scaled(300)):
        at = rng.integers(0, len(s), len(s))
        n = [Counts(PAIR, own) for own in on_record(rng, s[at], y[at], taken[:, :, at])]
        drawn.append([np.mean(measure(name, n[0]) - measure(name, n[1])) for name in METRICS])
    assert (np.sqrt(np.mean(bounds, axis=0)) >= np.std(drawn, axis=0)).all()


def test_models_that_decide_alike_have_no_variance():
    s, y, taken = world(3)
    found = variance_of(s, y, np.stack([taken[0], taken[0]]))
    assert found.variance == pytest.approx(0, abs=1e-18)
    assert paired_test(np.zeros((len(METRICS), 3)), rows=found).p.tolist() == [1.0] * len(METRICS)


def test_what_is_shown_of_other_rows_is_shown_of_these():
    rng = np.random.default_rng(5)
    differences = rng.normal(0.3, 1, (500, 5))
    here = paired_test(differences)
    some = rng.random(500) * 0.1
    there = paired_test(differences, rows=RowVariance(some, np.full(500, 100.0)))
    assert (there.p >= here.p).all()
    assert (there.high >= here.high).all()
    splits = paired_test(differences, ratio=0.5)
    t = here.mean / np.sqrt(differences.var(axis=1, ddof=1) * (1 / 5 + 0.5))
    assert splits.p == pytest.approx(2 * stats.t.sf(np.abs(t), 4))


@law(60)
@given(st.lists(st.booleans(), max_size=70), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_decisions_come_back(bits, chances):
    assert unpacked(packed(bits), len(bits)).tolist() == bits
    assert np.abs(unpacked(packed(chances), len(chances)) - chances).max() <= 0.5 / 255 + 1e-6


@pytest.mark.parametrize(
    "text", ["", "x", "AAAA", packed([1, 0])[:-4], packed([0] * 9), packed([0.5] * 9**6)]
)
def test_what_is_no_decisions_is_refused(text):
    with pytest.raises(ValueError, match="no decisions"):
        unpacked(text, 2)


def test_decisions_that_contradict_the_counts_are_not_used():
    s, y, taken = world(6)
    n = counted(s, y, taken[0])
    texts = [packed(one) for one in taken[0]]
    assert isinstance(unpack_decisions(n, texts).rows, np.ndarray)
    turned, short = packed(1 - taken[0][0]), packed(taken[0][0][1:])
    for wrong in ([first, *texts[1:]] for first in (turned, short, None)):
        found = unpack_decisions(n, wrong)
        assert isinstance(found, ModelDecisions)
        assert found.rows is None


@pytest.fixture(scope="module")
def shared(data_folder, tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("shared")
    config = write_config(
        base / "small.yaml",
        sample={"from": "shipped", "beta": [0]},
        test="original",
        interventions=["none", "massaging", "threshold-optimizer"],
        classifiers=["naive-bayes"],
        metrics=["accuracy", "discrimination", "selection-rate-z", "consistency"],
    )
    done = fairbench("run", config, "-o", base / "out", "--jobs", "1", "--data-dir", data_folder)
    assert done.returncode == 0, done.stderr
    return base / "out"


def test_a_run_on_shared_rows_keeps_decisions_and_old_journals_get_a_bound(shared, tmp_path, say):
    frame = pd.read_csv(shared / "paired.csv").set_index(["intervention", "metric"])
    assert set(frame["population_basis"]) == {ROW_BY_ROW, TEST_STATISTIC, "none: not from counts"}
    assert frame.loc[("massaging", "selection-rate-z"), "population_basis"] == TEST_STATISTIC
    assert pd.isna(frame.loc[("massaging", "selection-rate-z"), "population_p"])
    records = read_journals(shared / "journal").records
    for one in records.values():
        rows = unpacked(one.decisions, round(one.counts.n.sum()))
        assert rows.sum() == pytest.approx(one.counts.n[..., 1].sum(), abs=len(rows) / 500)
    old = tmp_path / "old"
    shutil.copytree(shared, old)
    edit_lines(old, lambda row: row.pop("decisions"))
    assert say("report", old).code == 0
    then = pd.read_csv(old / "paired.csv").set_index(["intervention", "metric"])
    known = frame["population_basis"] == ROW_BY_ROW
    assert set(then.loc[known, "population_basis"]) == {FROM_COUNTS}
    same = [name for name in frame if not name.startswith("population_")]
    pd.testing.assert_frame_equal(frame[same], then[same])
    assert (then.loc[known, "population_p"] >= frame.loc[known, "population_p"] - 1e-12).all()
    assert say("verify", old, "--cells", "2").code == 0


def test_an_edited_decision_is_found(shared, tmp_path, say):
    copy = tmp_path / "copy"
    shutil.copytree(shared, copy)

    def turn_one(row):
        rows = unpacked(row["decisions"], round(np.sum(row["counts"])))
        row["decisions"] = packed(np.where(np.arange(len(rows)) == 7, 1 - rows, rows))

    edit_lines(copy, turn_one)
    done = say("verify", copy, "--cells", "1")
    assert done.code == 1
    assert "decisions: " in done.out


def test_how_test_rows_hang_together(finished):
    config = read_plan(finished.folder).config
    assert row_design(config).kind == "drawn"
    assert row_design(config.model_copy(update={"test": "original"})).kind == "shared"
    sample = SampleConfig.model_validate({"from": "data", "train_fraction": "2/3"})
    halved = config.model_copy(update={"sample": sample, "test": "holdout"})
    assert row_design(halved).kind == "split"
    assert row_design(halved).ratio == pytest.approx(0.5)
    tested = row_design(halved.model_copy(update={"test": "./mine.csv"}))
    assert (tested.kind, tested.ratio) == ("shared", pytest.approx(0.5))
