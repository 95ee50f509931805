"""Reject option, equalised odds and group thresholds, on small samples and published counts."""

import csv
import pickle
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import law, scaled, write_config
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from techniques_data import reads, rows_of_cells

from fairbench_cli.classifiers.builders import LogisticRegression, NaiveBayes
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.interventions.cells import divide_rows
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.post_processing import (
    EqualisedOdds,
    GroupThresholds,
    RejectOption,
    as_scorer,
    choose,
    decide,
)
from fairbench_cli.measures.counts import PAIR, count, expected_count
from fairbench_cli.measures.registry import measure

REFERENCE = Path(__file__).parent.parent / "reference/thresholds"
TECHNIQUES = {
    "reject-option": RejectOption(),
    "labels": EqualisedOdds(based_on="labels"),
    "scores": EqualisedOdds(),
    "parity": GroupThresholds(tolerance=0.05),
    "unprocessed": GroupThresholds(constraint="none"),
}
every = pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=TECHNIQUES)
RANDOMISED = [EqualisedOdds(based_on="labels"), EqualisedOdds(), GroupThresholds()]
CLASSIFIER = Classifier(NaiveBayes(), include_protected=False, seed=0)


def sample(cells=(120, 60, 80, 140), seed=0, weighted=False):
    return rows_of_cells(cells, seed, weighted)


@dataclass(frozen=True)
class Silent:
    """Decides without scores."""

    columns = ()

    def predict(self, rows):
        return (rows.features["wage"] > 5).astype(np.int8)


@dataclass(frozen=True)
class Margin(Silent):
    """Scores that are no probabilities."""

    def scores(self, rows):
        return rows.features["wage"] - 5.5


@dataclass(frozen=True)
class ByGroup(Silent):
    """Sure that the favoured have the favourable outcome and the deprived do not."""

    def predict_proba(self, rows):
        return rows.s.astype(float)


@dataclass(frozen=True)
class Fixed:
    """A classifier that is a given model."""

    model: object

    def fit(self, rows):  # noqa: ARG002
        return self.model


def fit(technique, train, classifier=CLASSIFIER, seed=0):
    return technique.fit(train, classifier, np.random.default_rng(seed))


def held_out(technique, train):
    return divide_rows(train, technique.validation)[1]


def expected_counts(fitted, rows):
    chance = fitted.decision_probability(rows)
    return expected_count(rows.s, rows.y, chance, PAIR)


@pytest.mark.parametrize("dataset", ["adult", "compas"])
def test_reject_option_as_published(dataset):
    with (REFERENCE / "counts.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == dataset]
    with (REFERENCE / "reject_option.csv").open(newline="") as file:
        expected = [row for row in csv.DictReader(file) if row["dataset"] == dataset]
    swapped = dataset == "compas"  # "reoffends" is the unfavourable outcome
    score = np.array([int(row["score_milli"]) for row in rows])
    n = np.array([[int(row["neg"]), int(row["pos"])] for row in rows])
    p, n = ((1000 - score) / 1000, n[:, ::-1]) if swapped else (score / 1000, n)
    s = np.array([row["group"] == expected[0]["privileged"] for row in rows]).astype(np.int8)
    for row in expected:
        value = float(row["theta_or_threshold"])
        if row["rule"] == "paper":
            decided = decide(p, s, value)
        else:  # the library's rule is a threshold of each group
            margin = float(row["margin"])
            decided = np.where(s == 1, p > value + margin, p > value - margin)
        y = np.tile([0, 1], len(s))
        counts = count(np.repeat(s, 2), y, np.repeat(decided, 2), PAIR, n.ravel())
        names = {"accuracy": "accuracy", "sp": "selection-rate-difference", "eo": "tpr-difference"}
        for name, metric in names.items():
            assert float(measure(metric, counts)) == pytest.approx(float(row[name]), abs=1e-9)


@law(30)
@given(
    cells=st.tuples(*[st.integers(1, 12)] * 4),
    seed=st.integers(0, 99),
    weighted=st.booleans(),
    target=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_the_theta_chosen_is_the_best_of_all(cells, seed, weighted, target):
    rows = sample(cells, seed, weighted)
    p = np.random.default_rng(seed).integers(0, 11, len(rows)) / 10
    theta, accuracy, d = choose(rows, p, target)
    of_theta = {}
    for candidate in [0.5, *(np.arange(51, 100) / 100), theta]:
        counts = count(rows.s, rows.y, decide(p, rows.s, candidate), PAIR, rows.weights)
        of_theta[candidate] = (float(measure("accuracy", counts)), float(measure("discrimination", counts)))
    assert of_theta[theta] == pytest.approx((accuracy, d), abs=1e-12)
    within = [a for a, d in of_theta.values() if abs(d) <= target + 1e-12]
    if within:
        assert abs(d) <= target + 1e-12
        assert accuracy >= max(within) - 1e-12
    else:
        assert abs(d) <= min(abs(d) for _, d in of_theta.values()) + 1e-12


def test_probabilities_that_differ_by_rounding_are_one_level():
    rows = sample((1, 1, 1, 1))
    p = np.where(rows.s == 0, 0.42, 0.58)  # 1 − 0.42 > 0.58
    theta, _, d = choose(rows, p, 0.0)
    assert (theta, d) == (0.5, 1.0)


def test_a_theta_given_is_taken_and_all_rows_train():
    train, test = sample(), sample(seed=1)
    fitted = fit(RejectOption(theta=0.7), train)
    p = CLASSIFIER.fit(train).predict_proba(test)
    assert (fitted.predict(test) == decide(p, test.s, 0.7)).all()
    assert fitted.facts == {"theta": 0.7}
    nothing = fit(RejectOption(theta=0.5), train)
    assert nothing.status == "noop"
    assert (nothing.predict(test) == (p > 0.5)).all()


def test_a_target_out_of_reach_degrades_reject_option():
    train = sample()
    fitted = fit(RejectOption(target=0.5), train, Fixed(ByGroup()))  # p is 0 or 1: no row is ever critical
    assert (fitted.status, fitted.facts["discrimination_validation"]) == ("degraded", 1)
    assert fitted.reason == "no theta leaves a difference of at most 0.5 on the validation rows"
    assert fit(RejectOption(), train, Fixed(ByGroup())).status == "noop"


@every
def test_unequal_rows_of_the_validation_part_are_made_equal(technique):
    train = sample()
    fitted = fit(technique, train)
    rows = held_out(technique, train)
    facts = fitted.facts
    chance = fitted.decision_probability(rows)
    if chance is None:
        counts = count(rows.s, rows.y, fitted.predict(rows), PAIR)
        assert float(measure("discrimination", counts)) == pytest.approx(facts["discrimination_validation"])
        assert abs(facts["discrimination_validation"]) < 0.1
    else:
        counts = expected_count(rows.s, rows.y, chance, PAIR)
        gaps = {
            name: abs(float(measure(f"{name}-difference", counts)))
            for name in ("tpr", "fpr", "selection-rate")
        }
        if isinstance(technique, EqualisedOdds):
            assert max(gaps["tpr"], gaps["fpr"]) < 1e-8
        elif technique.constraint != "none":
            assert gaps["selection-rate"] == pytest.approx(facts["gap_validation"], abs=1e-8)
            assert facts["gap_validation"] <= 0.05 + 1e-12
    assert float(measure("accuracy", counts)) == pytest.approx(facts["accuracy_validation"], abs=1e-8)


def test_scores_reach_more_than_labels_and_tolerance_more_than_equality():
    train = sample()
    accuracy = [
        fit(technique, train).facts["accuracy_validation"]
        for technique in (
            EqualisedOdds(based_on="labels"),
            EqualisedOdds(),
            GroupThresholds(constraint="equalised-odds", tolerance=0.05, norm="sum"),
            GroupThresholds(constraint="equalised-odds", tolerance=0.05),
            GroupThresholds(constraint="none"),
        )
    ]
    assert (np.diff(accuracy) >= -1e-12).all()
    assert accuracy[0] < accuracy[-1]
    equal = fit(GroupThresholds(constraint="equalised-odds"), train)
    assert equal.facts["accuracy_validation"] == pytest.approx(accuracy[1], abs=1e-12)


@pytest.mark.parametrize("technique", RANDOMISED)
def test_draws_agree_with_the_expectation(technique):
    train, test = sample(), sample((400, 300, 300, 400), seed=5)
    expected = fit(technique, train).decision_probability(test)
    assert ((expected > 0) & (expected < 1)).any()
    drawn = np.mean([fit(technique, train, seed=0).predict(test) for _ in range(2)], axis=0)
    assert set(drawn.tolist()) <= {0, 1}  # the same rows, the same draws
    fitted = fit(technique, train)
    draws = np.array([replace(fitted.model, seed=seed).predict(test) for seed in range(scaled(200))])
    error = np.sqrt(expected * (1 - expected) / len(draws))
    assert (np.abs(draws.mean(0) - expected) <= 5 * error + 1e-12).all()
    assert abs(draws.mean() - expected.mean()) < 0.05 / len(draws) ** 0.5


@every
def test_the_classifier_is_fitted_to_the_other_rows_alone(technique):
    train = sample()
    seen = []

    class Spy(Classifier):
        def fit(self, rows):
            seen.append(rows)
            return CLASSIFIER.fit(rows)

    fit(technique, train, Spy(NaiveBayes(), include_protected=False, seed=0))
    rows, validation = divide_rows(train, 0.3)
    assert (seen[0].features.codes == rows.features.codes).all()
    assert len(rows) + len(validation) == len(train)


@every
def test_the_group_decides_even_if_the_classifier_does_not_see_it(technique):
    train, test = sample(), sample((50, 50, 50, 50), seed=2)
    fitted = fit(technique, train)
    assert not reads(fitted.model, test, "sex")

    def decisions(rows):
        chance = fitted.decision_probability(rows)
        return fitted.predict(rows) if chance is None else chance

    assert (decisions(test) != decisions(replace(test, s=1 - test.s))).any()


@every
def test_weights_are_honoured(technique):
    train = sample(weighted=True)
    fitted = fit(technique, train)
    rows = held_out(technique, train)
    chance = fitted.decision_probability(rows)
    chance = fitted.predict(rows) if chance is None else chance
    accuracy = np.average(np.where(rows.y == 1, chance, 1 - chance), weights=rows.weights)
    assert accuracy == pytest.approx(fitted.facts["accuracy_validation"], abs=1e-9)
    ones = replace(train, weights=np.ones(len(train)))
    alike = [fit(technique, some).facts for some in (ones, replace(train, weights=None))]
    assert alike[0] == pytest.approx(alike[1], abs=1e-9)


@every
@pytest.mark.parametrize("cell", range(4))
def test_an_empty_cell_is_infeasible(technique, cell):
    cells = [40, 40, 40, 40]
    cells[cell] = 1  # none of one row is drawn
    with pytest.raises(Infeasible, match=r"^empty cell .* among the validation rows$"):
        fit(technique, sample(tuple(cells)))


def test_nothing_left_to_fit_to_is_infeasible():
    with pytest.raises(Infeasible, match="none is left"):
        fit(GroupThresholds(validation=0.9), sample((1, 1, 1, 1)))


def test_what_each_technique_needs_of_the_classifier():
    train = sample()
    for technique in (EqualisedOdds(), GroupThresholds(), RejectOption(), RejectOption(theta=0.6)):
        with pytest.raises(Infeasible, match="gives no scores"):
            fit(technique, train, Fixed(Silent()))
    for technique in (RejectOption(), RejectOption(theta=0.6)):
        with pytest.raises(Infeasible, match="not probabilities"):
            fit(technique, train, Fixed(Margin()))
    assert fit(EqualisedOdds(based_on="labels"), train, Fixed(Silent())).status == "ok"
    assert fit(GroupThresholds(), train, Fixed(Margin())).status == "ok"


def test_decisions_worse_than_chance_may_be_reversed():
    train = sample()
    wrong = replace(train, y=np.where(train.s == 0, 1 - train.y, train.y))
    assert as_scorer(Silent(), wrong).reversed == (True, False)
    fitted = fit(EqualisedOdds("labels", "youden"), wrong, Fixed(Silent()))
    assert fitted.facts["q0_deprived"] > fitted.facts["q1_deprived"]
    assert fitted.facts["q0_favoured"] < fitted.facts["q1_favoured"]
    rows = held_out(EqualisedOdds(), wrong)
    chance = np.array([[fitted.facts[f"q{label}_{group}"] for label in (0, 1)] for group in PAIR])[
        rows.s, Silent().predict(rows)
    ]
    assert fitted.decision_probability(rows) == pytest.approx(chance, abs=1e-15)
    counts = expected_counts(fitted, rows)
    assert abs(float(measure("tpr-difference", counts))) < 1e-8
    assert abs(float(measure("fpr-difference", counts))) < 1e-8


@every
def test_models_are_pickled(technique):
    test = sample(seed=3)
    fitted = fit(technique, sample())
    assert (pickle.loads(pickle.dumps(fitted)).predict(test) == fitted.predict(test)).all()  # noqa: S301


@pytest.mark.parametrize("technique", RANDOMISED[1:])
def test_decisions_without_regard_to_the_score_are_degraded(technique):
    """Where the scores of both groups are worse than chance, equal rates are those of a coin."""

    class Reversed(Silent):
        def predict_proba(self, rows):
            return 1.0 - rows.y

    fitted = fit(technique, sample(), Fixed(Reversed()))
    assert (fitted.status, fitted.reason) == ("degraded", "the decisions do not depend on the score")
    assert fit(technique, sample()).status == "ok"


def test_costs_move_the_thresholds():
    train = sample()
    dear = fit(GroupThresholds(constraint="none", cost_fn=3.0), train)
    even = fit(GroupThresholds(constraint="none"), train)
    for group in PAIR:
        assert dear.facts[f"threshold_{group}_1"] <= even.facts[f"threshold_{group}_1"]
    assert dear.facts["accuracy_validation"] <= even.facts["accuracy_validation"]


@pytest.mark.parametrize(
    ("thing", "bad"),
    [
        (RejectOption, {"theta": 0.4}),
        (RejectOption, {"theta": 1.0}),
        (RejectOption, {"theta": 0.6, "target": 0.1}),
        (RejectOption, {"theta": 0.6, "validation": 0.5}),
        (EqualisedOdds, {"validation": 0.0}),
        (EqualisedOdds, {"based_on": "rows"}),
        (GroupThresholds, {"tolerance": -0.1}),
        (GroupThresholds, {"tolerance": float("nan")}),
        (GroupThresholds, {"cost_fp": 0.0, "cost_fn": 0.0}),
        (GroupThresholds, {"norm": "sum"}),
        (GroupThresholds, {"constraint": "none", "tolerance": 0.1}),
        (GroupThresholds, {"constraint": "equal"}),
    ],
)
def test_parameters_are_checked(thing, bad):
    with pytest.raises(ValidationError):
        TypeAdapter(thing).validate_python(bad)


def test_logistic_regression_with_the_group_among_its_features():
    classifier = Classifier(LogisticRegression(), include_protected=True, seed=0)
    fitted = fit(GroupThresholds(constraint="tpr-parity"), sample(), classifier)
    assert reads(fitted.model, sample(), "sex")
    assert fitted.facts["gap_validation"] <= 1e-11


def test_the_config_of_the_docs_runs(tmp_path, say):
    page = (Path(__file__).parents[2] / "docs/techniques.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(re.findall(r"```yaml\n(interventions:.*?)```", page, re.DOTALL)[0])
    sample = {"from": "shipped", "beta": [0.3], "size": 300}
    metrics = ["accuracy", "discrimination"]
    config = write_config(tmp_path / "c.yaml", **shown, sample=sample, repeats=1, metrics=metrics)
    done = say("run", config, "-o", tmp_path / "out", "--jobs", "1")
    assert done.code == 0, done.err
    groups = pd.read_csv(tmp_path / "out/groups.csv")
    assert len(groups.groupby(["intervention", "parameters"])) == 1 + 2 + 2 + 6 + 1
    assert set(groups.status) <= {"ok", "noop", "degraded"}
    drawn = groups[groups.intervention == "equalised-odds"]
    assert (drawn.tp % 1 != 0).any()  # counted in expectation
