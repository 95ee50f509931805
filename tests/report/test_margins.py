"""Below which change nothing is said to change: a margin by metric; and how large the family of a run is."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report.test_nothing_seen import people, repeats_of

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.config.config import POINT, margin_of
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.measures.registry import METRICS, find_metric
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.inference import RowDesign
from fairbench_cli.report.ledger.paired_differences import paired_frame
from fairbench_cli.report.ledger.results import compute_results
from fairbench_cli.report.show.metric_wording import wording_of

CONFIG = "name: x\ndatasets: [adult]\ninterventions: [none]\n"


def read(tmp_path, text):
    path = tmp_path / "f.yaml"
    path.write_text(CONFIG + text, encoding="utf-8")
    return read_config(path)


def frame_of(metrics, rows=2000, **settings):
    """The differences of a technique that changes nobody, on rows that all repeats share."""
    s, y, plain = people(np.random.default_rng(1), rows, 2 * rows, 3, fresh=False)
    results = compute_results([repeats_of(s, y, plain, plain, RowDesign("shared"))], metrics)
    results = replace(results, **settings)
    frame = paired_frame(results)
    kinds = classify_changes(frame, technique_frame(results))
    return frame.assign(kind=kinds).set_index("metric")


def test_rates_and_their_differences_have_a_margin_of_a_point():
    with_margin = (
        "accuracy|discrimination|equal-opportunity|equalised-odds|acceptance-rate|cv|bcr|tpr-spread|"
        "fpr-of-group|unexplained-difference|situation-testing|ppv"
    )
    without = (
        "impact-ratio|kappa|mcc|f1|odds-ratio|phi|mutual-information|elift|auc-|demographic-parity-ratio|"
        "two-proportions-p|two-proportions-z|normalised-|chi-squared"
    )
    for name, metric in METRICS.items():
        margin = margin_of(metric, {})
        if re.fullmatch(with_margin, name):
            assert margin == POINT, name
        if re.match(without, name) or "ratio" in name:
            assert margin is None, name
    assert margin_of(find_metric("impact-ratio"), {"impact-ratio": 0.02}) == 0.02
    assert margin_of(find_metric("accuracy"), {"accuracy": None}) is None


def test_without_a_margin_nothing_is_said_to_be_the_same():
    frame = frame_of(("discrimination", "impact-ratio"))
    assert frame["kind"].to_dict() == {"discrimination": "same", "impact-ratio": "not shown"}
    assert frame["population_p_same"].isna().to_dict() == {"discrimination": False, "impact-ratio": True}
    with_margin = frame_of(("impact-ratio",), margins={"impact-ratio": 0.05})
    assert with_margin["kind"].tolist() == ["same"]
    assert frame_of(("accuracy",), margins={"accuracy": None})["kind"].tolist() == ["not shown"]


def test_so_many_rows_are_said_as_show_that_nothing_changes():
    few = frame_of(("discrimination",), 100)
    assert few["kind"].tolist() == ["not shown"]
    rows = few["population_same_from_rows"].iloc[0]
    assert rows == pytest.approx(
        3 * -np.log(0.05) * np.hypot(1, 0.5) / POINT, rel=0.01
    )  # by the rule of three
    enough = frame_of(("discrimination",), int(np.ceil(rows / 3)))
    assert enough["kind"].tolist() == ["same"]
    assert np.isnan(enough["population_same_from_rows"].iloc[0])


def test_half_a_margin_takes_four_times_the_rows():
    rng = np.random.default_rng(2)
    s, y, plain = people(rng, 2000, 2000, 3, fresh=False)
    other = np.abs(plain - (rng.random(plain.shape[1]) < 0.1)).astype(np.int8)
    results = compute_results([repeats_of(s, y, other, plain, RowDesign("shared"))], ("accuracy",))
    rows = [
        paired_frame(replace(results, margins={"accuracy": margin}))["population_same_from_rows"].iloc[0]
        for margin in (0.01, 0.005)
    ]
    assert rows[1] == pytest.approx(4 * rows[0], rel=0.001)


def test_the_family_of_a_run_is_all_metrics():
    metrics = ("discrimination", "accuracy", "equal-opportunity")
    usual = frame_of(metrics)
    run = frame_of(metrics, family="run")
    assert usual["population_tests"].tolist() == [1, 1, 1]
    assert run["population_tests"].tolist() == [3, 3, 3]
    assert (run["population_p_holm"] >= usual["population_p_holm"]).all()
    assert (run["population_p_same"] >= usual["population_p_same"]).all()


def test_a_config_says_margins_and_the_family(tmp_path):
    config = read(tmp_path, "margin: {impact-ratio: 0.02, accuracy: null}\nfamily: run\n")
    assert config.margin == {"impact-ratio": 0.02, "accuracy": None}
    assert config.family == "run"
    assert config.to_config()["margin"] == {"impact-ratio": 0.02, "accuracy": None}
    with pytest.raises(UserError) as wrong:
        read(tmp_path, "margin: {acuracy: 0.02}\n")
    assert 'margin names the unknown metric "acuracy"' in str(wrong.value)
    assert 'did you mean "accuracy"' in str(wrong.value)
    for text, problem in (
        ("margin: 0.02", "must say of which metric"),
        ("margin: {accuracy: -1}", "must be above 0"),
        ("family: all", "family"),
    ):
        with pytest.raises(UserError) as wrong:
            read(tmp_path, text)
        assert problem in str(wrong.value)


def test_a_margin_is_said_as_the_metric_is():
    said = [wording_of(find_metric("discrimination"), margin).margin_text for margin in (0.01, 0.025, None)]
    assert said == ["1 point", "2.5 points", ""]
    assert wording_of(find_metric("impact-ratio"), 0.02).margin_text == "0.02"
