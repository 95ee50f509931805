"""Two naive Bayes against the traces of the authors' release, and its laws."""

import numpy as np
import pytest
from techniques_data import adult, doubled, golden, of_levels, reordered

from fairbench_cli.classifiers.builders import NaiveBayes
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.two_naive_bayes import TwoNaiveBayes, log_ratios, moves, sum_of_ratios
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

CLASSIFIER = Classifier(NaiveBayes(), include_protected=False, seed=0)
LEVELS = {"A": {"x1": 2, "x2": 3, "x3": 4}, "B": {"x1": 2, "x2": 2, "x3": 3}}


def table(name):
    frame = golden("nb2_data").query("table == @name")
    return frame, of_levels(frame, LEVELS[name])


def fit(train, technique=None):
    return (technique or TwoNaiveBayes()).fit(train, CLASSIFIER, np.random.default_rng(0))


@pytest.mark.parametrize("name", LEVELS)
def test_the_authors_trace(name):
    frame, train = table(name)
    features = train.features.without("s")
    tables = log_ratios(train, 1.0)[:-1]
    ratio = sum_of_ratios(tables, features.codes, train.s)
    np.testing.assert_allclose(ratio, frame["llr"], rtol=1e-9, atol=1e-12)
    states = list(moves(train, ratio, 0.01, 1.0))
    trace = golden("nb2_trace").query("table == @name")
    assert len(states) == len(trace)
    ours = [
        (
            *(state.n[s][y] for s in (0, 1) for y in (0, 1)),
            *state.accepted_by_group,
            state.discrimination,
            state.amount,
        )
        for state in states
    ]
    columns = ["N00", "N10", "N01", "N11", "n_pos_s0", "n_pos_s1", "disc", "amount"]
    np.testing.assert_allclose(ours, trace[columns].astype(float), rtol=1e-9, atol=1e-12)
    assert [state.move for state in states] == trace["next_move"].tolist()
    fitted = fit(train)
    assert fitted.predict(train).tolist() == frame["prediction_after"].tolist()
    assert fitted.facts["steps"] == len(trace) - 1
    assert fitted.facts["predicted_discrimination_after"] == pytest.approx(trace["disc"].iloc[-1], abs=1e-9)


@pytest.mark.parametrize("name", LEVELS)
def test_neither_order_nor_doubling_matters(name):
    _, train = table(name)
    model = fit(train).model
    assert (model.decisions(train) == fit(reordered(train)).model.decisions(train)).all()
    twice, heavy = (fit(some).model.decisions(train) for some in doubled(train))
    assert (twice == heavy).all()


def test_the_score_and_the_decision_agree():
    _, train = table("A")
    model = fit(train).model
    assert ((model.predict_proba(train) > 0.5) == model.predict(train)).all()


def test_nothing_to_do_where_the_deprived_are_accepted_more_often():
    frame, _ = table("A")
    fitted = fit(of_levels(frame.assign(s=1 - frame["s"]), LEVELS["A"]))
    assert (fitted.status, fitted.facts["steps"]) == ("noop", 0)


def test_a_group_without_rows_is_infeasible():
    _, train = table("A")
    with pytest.raises(Infeasible, match="the favoured group has no training rows"):
        fit(train.take(np.flatnonzero(train.s == 0)))


def test_a_used_up_count_stops_where_the_original_never_ends():
    # No favoured row is refused, so that a promotion moves nothing.
    _, train = table("A")
    fitted = fit(train.take(np.flatnonzero((train.s == 0) | (train.y == 1))))
    assert fitted.status == "degraded"
    assert "used up" in fitted.reason


def test_adult(tmp_path):
    numbers = {
        name: {"kind": "integer"} for name in ("age", "capital_gain", "capital_loss", "hours_per_week")
    }
    train = adult(tmp_path, education_num="nominal", **numbers)
    fitted = fit(train)
    counts = count(train.s, train.y, fitted.predict(train), ("deprived", "favoured"))
    assert fitted.facts["steps"] == 334
    assert float(measure("accuracy", counts)) == pytest.approx(0.8375, abs=5e-5)
    assert float(measure("discrimination", counts)) == pytest.approx(-0.0005, abs=5e-5)
    assert fitted.facts["predicted_discrimination_before"] == pytest.approx(0.1924, abs=5e-5)
    assert counts.predicted[:, 1].sum() / len(train) == pytest.approx(0.2467, abs=5e-5)
