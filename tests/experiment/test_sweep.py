"""Counts at every acceptance rate."""

import numpy as np
import pandas as pd
import pytest
from conftest import write_config
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import RATES, swept_counts

GROUPS = ("g", "f")

rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    min_size=1,
    max_size=30,
)


def brute(s, y, score, rate):
    """Accept row by row from the top; equal scores together, each by the share that is left for them."""
    n, left = np.zeros((2, 2, 2)), rate * len(s)
    for value in sorted(set(score), reverse=True):
        tied = [i for i in range(len(s)) if score[i] == value]
        share = min(1.0, left / len(tied))
        left -= share * len(tied)
        for i in tied:
            n[s[i], y[i], 1] += share
            n[s[i], y[i], 0] += 1 - share
    return n


@given(rows, st.floats(0, 1))
def test_every_rate_by_brute_force(rows, rate):
    s, y, score = zip(*rows, strict=True)
    swept = swept_counts(s, y, score, GROUPS, np.array([0.0, rate, 1.0]))
    for i, at in enumerate((0.0, rate, 1.0)):
        assert np.allclose(swept.n[i], brute(s, y, score, at), atol=1e-6)
    assert np.allclose(swept.predicted[..., 1].sum(-1) / len(s), [0, rate, 1], atol=1e-6)


@given(rows)
def test_a_threshold_is_a_point_of_the_sweep(rows):
    s, y, score = (np.array(part) for part in zip(*rows, strict=True))
    predicted = (score >= 0.5).astype(int)
    swept = swept_counts(s, y, score, GROUPS, np.array([predicted.mean()]))
    assert np.allclose(swept.n[0], count(s, y, predicted, GROUPS).n)


@given(rows)
def test_a_constant_score_is_the_random_classifier(rows):
    s, y, _ = (np.array(part) for part in zip(*rows, strict=True))
    swept = swept_counts(s, y, np.zeros(len(s)), GROUPS)
    base = y.mean()
    assert np.allclose(measure("accuracy", swept), base * RATES + (1 - base) * (1 - RATES))
    if 0 < s.mean() < 1:
        assert np.allclose(measure("discrimination", swept), 0)


def test_a_score_must_be_a_number():
    with pytest.raises(ValueError, match="a score is not a number"):
        swept_counts([0], [1], [np.nan], GROUPS)


def test_a_run_with_a_sweep_and_one_that_gets_it_later(tmp_path, say):
    keys = {"interventions": ["none"], "classifiers": ["logistic-regression"], "repeats": 2}
    keys["metrics"] = ["acceptance-rate", "accuracy"]
    config = write_config(tmp_path / "a.yaml", **keys)
    assert say("run", config, "-o", "a", "--jobs", "1").code == 0
    before = (tmp_path / "a" / "results.csv").read_bytes()
    assert not (tmp_path / "a" / "sweep.csv").exists()
    write_config(config, **keys, sweep="acceptance-rate")
    again = say("run", config, "-o", "a", "--jobs", "1")
    assert again.code == 0
    assert "0 done" in again.err
    assert (tmp_path / "a" / "results.csv").read_bytes() == before
    assert "0 to do" in say("run", config, "-o", "a", "--jobs", "1").err
    assert say("run", config, "-o", "b", "--jobs", "1").code == 0
    text = (tmp_path / "a" / "sweep.csv").read_bytes()
    assert text == (tmp_path / "b" / "sweep.csv").read_bytes()
    sweep = pd.read_csv(tmp_path / "a" / "sweep.csv")
    accepted = sweep[sweep["metric"] == "acceptance-rate"]
    assert np.allclose(accepted["mean"], accepted["rate"])
    results = pd.read_csv(tmp_path / "a" / "results.csv")
    assert len(accepted) == len(RATES) * results["beta"].nunique()


SCORED = """
import numpy as np
from fairbench_cli.interventions.fitted import Fitted


class Model:
    def __init__(self, model, shape):
        self.model, self.shape = model, shape

    def predict(self, sample):
        return self.model.predict(sample)

    def scores(self, sample):
        p = self.model.predict_proba(sample)
        shapes = {"rows": p, "pairs": np.column_stack([1 - p, p]), "column": p[:, None], "short": p[1:]}
        shapes["infinite"] = np.where(p > 0.5, np.inf, p)
        shapes["text"] = p.astype(str)
        return shapes[self.shape]


class Scored:
    def __init__(self, shape="rows"):
        self.shape = shape

    def fit(self, train, classifier, rng):
        return Fitted(Model(classifier.fit(train), self.shape))
"""


def test_scores_of_another_shape_are_failures_and_spoil_no_other_technique(tmp_path, say):
    """A column or a pair of scores a row was once broadcast: curves with negative accuracies, status ok."""
    (tmp_path / "scored.py").write_text(SCORED)
    scored = {"./scored.py:Scored": {"shape": ["pairs", "column", "short", "infinite", "text", "rows"]}}
    keys = {"interventions": ["none", scored], "classifiers": ["logistic-regression"]}
    keys |= {"sweep": "acceptance-rate", "predictions": True, "sample": {"from": "shipped", "size": 200}}
    done = say("run", write_config(tmp_path / "a.yaml", **keys), "-o", "a", "--jobs", "1")
    assert done.code == 1
    assert "scores returns shape (200, 2) for 200 rows; return (200,)" in done.err
    groups = pd.read_csv(tmp_path / "a" / "groups.csv")
    status = groups.groupby("parameters")["status"].agg(set).to_dict()
    assert status.pop("{}") == status.pop('{"shape":"rows"}') == {"ok"}
    assert len(status) == 5
    assert set.union(*status.values()) == {"failed"}
    sweep = pd.read_csv(tmp_path / "a" / "sweep.csv")
    curves = [part["mean"].to_numpy() for _, part in sweep.groupby("intervention")]
    assert len(curves) == 2
    assert np.array_equal(curves[0], curves[1], equal_nan=True)
    assert len(list((tmp_path / "a" / "predictions").glob("*"))) > 0


def test_a_model_without_scores_has_no_points():
    swept = Counts(GROUPS, np.zeros((0, 2, 2, 2)))
    assert measure("discrimination", swept).shape == (0,)
