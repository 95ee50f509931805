"""A run that measures scores: end to end, what is kept for later, and models that give none."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import fairbench, journal_lines, two_lines, write_config
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

MEASURES = ["auc", "brier", "calibration-gap", "log-loss"]
METRICS = ["accuracy", "discrimination", *MEASURES, "auc-difference", "brier-difference", "auc-of-group"]
KEYS = {
    "datasets": ["adult"],
    "sample": {"from": "shipped", "beta": [0.5], "size": 400},
    "interventions": ["none", "equalised-odds"],
    "classifiers": ["naive-bayes"],
    "metrics": METRICS,
}

MARGINS = """
import numpy as np
from fairbench_cli.interventions.fitted import Fitted


class Model:
    def __init__(self, model):
        self.model = model

    def predict(self, sample):
        return self.model.predict(sample)

    def scores(self, sample):
        return 4 * self.model.predict_proba(sample) - 2


class Margins:
    def fit(self, train, classifier, rng):
        return Fitted(Model(classifier.fit(train)))
"""


def table_of(folder, name="results"):
    return pd.read_csv(folder / f"{name}.csv")


def values(folder, metric, **columns):
    frame = table_of(folder)
    for name, value in ({"metric": metric} | columns).items():
        frame = frame[frame[name] == value]
    return frame["value"].to_numpy()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with metrics of scores, its test rows with their scores, and a figure of the calibration."""
    base = tmp_path_factory.mktemp("scores")
    config = write_config(base / "a.yaml", **KEYS, predictions=True, figures=["calibration"])
    done = fairbench("run", config, "-o", base / "a", "-j", "1")
    assert done.returncode == 0, done.stderr
    return base, done


def test_values_are_those_of_scikit_learn_on_the_rows_that_were_kept(run):
    base, _ = run
    (path,) = (base / "a" / "predictions").glob("*none*.parquet")
    rows = pd.read_parquet(path)
    deprived = rows["sex"] == "Female"
    for repeat, of_repeat in rows.groupby("repeat"):
        y = of_repeat["label"].to_numpy()
        score = of_repeat["score"].to_numpy()
        for metric, theirs in (("auc", roc_auc_score), ("brier", brier_score_loss), ("log-loss", log_loss)):
            ours = values(base / "a", metric, intervention="none")[repeat]
            assert ours == pytest.approx(theirs(y, score), abs=1e-12), metric
        women = deprived[of_repeat.index].to_numpy()
        expected = roc_auc_score(y[women], score[women]) - roc_auc_score(y[~women], score[~women])
        ours = values(base / "a", "auc-difference", intervention="none")[repeat]
        assert ours == pytest.approx(expected, abs=1e-12)


def test_a_technique_without_scores_says_so_and_has_no_value(run):
    base, done = run
    assert "No scores, so no value of metrics of scores: equalised-odds." in done.stdout
    for name in ("answer.md", "report.html"):
        assert "no value of metrics of scores: equalised-odds" in (base / "a" / name).read_text()
    for metric in METRICS[2:]:
        assert np.isnan(values(base / "a", metric, intervention="equalised-odds")).all()
        assert np.isfinite(values(base / "a", metric, intervention="none")).all()


def test_the_calibration_is_a_file_a_figure_and_a_section(run):
    base, _ = run
    calibration = table_of(base / "a", "calibration")
    assert set(calibration["intervention"]) == {"none"}
    assert set(calibration["group"]) == {"Female", "Male"}
    within = calibration["mean_score"].between(calibration["lowest"], calibration["highest"] + 1e-12)
    assert within.all()
    assert calibration["rows"].sum() == 2 * 400
    assert calibration["base_rate"].between(0, 1).all()
    assert 'id="calibration"' in (base / "a" / "report.html").read_text()
    names = [path.name for path in (base / "a" / "figures").iterdir()]
    assert names == ["calibration-adult-sex-naive-bayes.svg"]


def test_an_intersection_is_asked_for_afterwards_and_nothing_is_computed(run, tmp_path):
    base, _ = run
    (path,) = (base / "a" / "predictions").glob("*none*.parquet")
    rows = pd.read_parquet(path)
    before = journal_lines(base / "a")
    done = fairbench("report", base / "a", "-a", "sex×race", "-m", "log-loss-spread")
    assert done.returncode == 0, done.stderr
    assert journal_lines(base / "a") == before
    groups = table_of(base / "a", "groups")["group"].unique()
    favoured = (rows["sex"] == "Male") & (rows["race"] == "White")
    ours = values(base / "a", "auc-difference", intervention="none", compared="sex × race")
    for repeat, of_repeat in rows.groupby("repeat"):
        inside = favoured[of_repeat.index]
        sides = [of_repeat[~inside], of_repeat[inside]]
        aucs = [roc_auc_score(side["label"], side["score"]) for side in sides]
        assert ours[repeat] == pytest.approx(aucs[0] - aucs[1], abs=1e-12)
    losses = values(base / "a", "log-loss-spread", intervention="none", compared="sex × race")
    assert np.isfinite(losses).all()
    calibration = table_of(base / "a", "calibration")
    assert set(calibration["group"]) <= set(groups)
    assert fairbench("report", base / "a").returncode == 0  # as it was


def test_two_workers_give_the_same_bytes_and_a_recheck_the_same_bits(run):
    base, _ = run
    other = fairbench("run", base / "a.yaml", "-o", base / "b", "-j", "2")
    assert other.returncode == 0, other.stderr
    for name in ("results.csv", "summary.csv", "calibration.csv", "answer.md"):
        assert (base / "a" / name).read_bytes() == (base / "b" / name).read_bytes(), name

    def kept(folder):
        rows = [json.loads(line) for line in journal_lines(folder)]
        return {(row["key"], row["repeat"]): row["scores"] for row in rows}

    assert kept(base / "a") == kept(base / "b")
    again = fairbench("verify", base / "a", "--cells", "4")
    assert again.returncode == 0, again.stderr


def test_a_run_from_before_gets_its_scores_when_they_are_asked_for(tmp_path, say):
    keys = KEYS | {"metrics": ["accuracy", "discrimination"], "interventions": ["none"]}
    config = write_config(tmp_path / "a.yaml", **keys)
    assert say("run", config, "-o", "a", "-j", "1").code == 0
    assert not any("scores" in line for line in journal_lines(tmp_path / "a"))
    keyed = table_of(tmp_path / "a")
    told = say("report", "a", "-m", "auc")
    assert told.code == 0
    flat = " ".join(told.out.split())
    assert "The scores of 2 repeats were not kept: run the experiment with these metrics." in flat
    assert np.isnan(values(tmp_path / "a", "auc")).all()
    assert not (tmp_path / "a" / "calibration.csv").exists()
    write_config(config, **keys | {"metrics": ["accuracy", "discrimination", "auc"]})
    again = say("run", config, "-o", "a", "-j", "1")
    assert again.code == 0
    assert "0 done" in again.err
    assert np.isfinite(values(tmp_path / "a", "auc")).all()
    assert "0 to do" in say("run", config, "-o", "a", "-j", "1").err
    # Neither the metric nor the sums are in a key, and other numbers are the same.
    results = table_of(tmp_path / "a")
    pd.testing.assert_frame_equal(
        results[results["metric"] != "auc"].reset_index(drop=True), keyed, check_like=False
    )


def test_scores_that_are_no_probabilities_have_an_auc_alone(tmp_path, say):
    (tmp_path / "margins.py").write_text(MARGINS)
    keys = KEYS | {"interventions": ["none", "./margins.py:Margins"]}
    done = say("run", write_config(tmp_path / "a.yaml", **keys), "-o", "a", "-j", "1")
    assert done.code == 0
    flat = " ".join(done.out.split())
    assert "Scores that are not from 0 to 1, of which AUC alone is measured: margins.py:Margins." in flat
    aucs = [values(tmp_path / "a", "auc", intervention=name) for name in ("none", "margins.py:Margins")]
    np.testing.assert_allclose(*aucs, atol=1e-12)
    for metric in MEASURES[1:]:
        assert np.isnan(values(tmp_path / "a", metric, intervention="margins.py:Margins")).all()


def test_a_world_has_scores_on_true_and_on_recorded_labels(tmp_path, say):
    keys = KEYS | {"interventions": ["none"], "repeats": 2}
    keys["sample"] = {"from": "shipped", "size": 400, "bias": [{"label": {"flip": 0.5}}]}
    done = say("run", write_config(tmp_path / "a.yaml", **keys), "-o", "a", "-j", "1")
    assert done.code == 0, done.err
    results = table_of(tmp_path / "a")
    aucs = results[results["metric"] == "auc"].groupby("labels")["value"].mean()
    assert set(aucs.index) == {"true", "recorded"}
    assert aucs["true"] != aucs["recorded"]
    assert say("report", "a", "--labels", "recorded").code == 0


def test_what_does_not_go_with_metrics_of_scores_is_refused(tmp_path, say):
    without = {"metrics": ["accuracy"], "figures": ["calibration"]}
    done = say("run", write_config(tmp_path / "a.yaml", **without), "-o", "x")
    two_lines(done, "the figure calibration needs a metric of scores")
    tune = {"interventions": [{"massaging": {"tune": {"for": "auc", "over": {"ranker": ["logistic"]}}}}]}
    done = say("run", write_config(tmp_path / "b.yaml", **tune), "-o", "x")
    two_lines(done, "auc needs more than counts")
    alone = {"metrics": ["auc"], "sweep": "acceptance-rate"}
    done = say("run", write_config(tmp_path / "c.yaml", **alone), "-o", "x")
    two_lines(done, "a sweep has counts alone, and auc needs more")


def test_damaged_sums_are_computed_again(run, tmp_path):
    base, _ = run
    (path,) = (base / "b" / "journal").glob("*.jsonl")
    text = path.read_text()
    assert '"scores": "' in text
    path.write_text(text.replace('"scores": "e', '"scores": "f', 1))
    done = fairbench("run", base / "a.yaml", "-o", base / "b", "-j", "1")
    assert done.returncode == 0, done.stderr
    assert "1 damaged line" in done.stderr
    assert (base / "a" / "results.csv").read_bytes() == (base / "b" / "results.csv").read_bytes()
