"""A label that runs against the score is the first thing said."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, worlds
from statsmodels.stats.proportion import confint_proportions_2indep

import fairbench_cli as fb
from fairbench_cli.audit.compare.report import GroupRow
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.audit.show.label_direction import HALF, decision_auc, label_warning


def people(n: int = 1000, agree: float = 0.3, selected: float = 0.4, seed: int = 0) -> pd.DataFrame:
    """People of two equal groups of whom a share has the label that they are selected by."""
    rng = np.random.default_rng(seed)
    score = (rng.random(n) < selected).astype(int)
    label = np.where(rng.random(n) < agree, score, 1 - score)
    points = np.where(score == 1, 0.6, 0.2) + rng.random(n) / 5
    return pd.DataFrame({"score": score, "points": points, "label": label, "sex": rng.choice(["f", "m"], n)})


def sentence(rows: pd.DataFrame, **options: object) -> str:
    return headline(fb.audit(rows, draws=0, **options).report).sentence


def test_it_is_said_first() -> None:
    rows = people()
    shares = [rows.loc[rows["score"] == value, "label"].mean() for value in (1, 0)]
    words = (
        "The label runs against the score: of those selected {:.1%} should be, of those not selected {:.1%}."
    )
    words = words.format(*shares).replace("%", " %")
    result = fb.audit(rows, draws=0)
    assert sentence(rows).startswith(f"{words} Check which value of each is the favourable one; ")
    assert json.loads(result.to_json())["headline"]["sentence"].startswith(words)
    assert words in result.to_html()
    assert words in repr(result)
    turned = sentence(rows.assign(label=1 - rows["label"]))
    assert "against" not in turned


@pytest.mark.parametrize(("n", "agree"), [(20, 0.4), (1000, 0.49), (1000, 0.51), (1000, 0.7)])
def test_it_is_said_only_where_it_is_shown(n: int, agree: float) -> None:
    assert label_warning(fb.audit(people(n, agree), draws=0).report) == ""


def test_a_fair_coin_is_said_to_run_against_the_score_in_few_audits() -> None:
    said = [label_warning(fb.audit(people(200, 0.5, seed=seed), draws=0).report) for seed in worlds(300)]
    assert sum(map(bool, said)) <= most_by_chance(len(said), 0.03)


def test_most_decisions_disagree() -> None:
    """Selecting nearly nobody of many who should be: more often right than wrong, and mostly wrong."""
    rows = people(2000, selected=0.05)
    rows["label"] = (np.random.default_rng(1).random(2000) < np.where(rows["score"] == 1, 0.75, 0.75)).astype(
        int
    )
    agree = f"{(rows['label'] == rows['score']).mean():.1%}".replace("%", " %")
    assert sentence(rows).startswith(f"Most decisions disagree with the label: {agree} agree. ")
    listed = rows.assign(score=rows["points"])
    assert label_warning(fb.audit(listed, top_k=100, draws=0).report) == ""
    better = rows.assign(label=np.where(rows["score"] == 1, 1, rows["label"]))
    assert label_warning(fb.audit(better, draws=0).report) == ""


def test_scores_below_one_half_are_seen_where_decisions_show_nothing() -> None:
    """The score is against the label, and at the threshold hardly anybody is selected."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 800)
    rows = pd.DataFrame({"score": rng.random(800) - 0.4 * label, "label": label, "sex": ["f", "m"] * 400})
    at = float(np.sort(rows["score"])[-3])
    assert label_warning(fb.audit(rows, threshold=at, draws=0).report) == ""
    warning = label_warning(fb.audit(rows, threshold=at, curves=True, draws=0).report)
    assert warning.startswith("The label runs against the score: the AUC is at most 0.")


@pytest.mark.gate
def test_which_model_and_decision_is_named() -> None:
    rows = people()
    rows["better"] = rows["label"]
    said = sentence(rows, score=["better", "score"])
    assert said.startswith("The label runs against the score (model score): of those selected ")
    said = sentence(rows.assign(score=1 - rows["points"]), threshold=[0.1, 0.5])
    assert "against" not in said.partition(" Check")[0]
    months = rows.assign(month=np.arange(len(rows)) // 250)
    assert sentence(months, slice="month").startswith("The label runs against the score: of those")


def test_the_interval_is_newcombes() -> None:
    for cells in ((30, 40, 60, 20), (3, 50, 40, 30), (5, 5, 4, 6)):
        tp, fp, fn, tn = cells
        label = [1] * (tp + fn) + [0] * (fp + tn)
        score = [1] * tp + [0] * fn + [1] * fp + [0] * tn
        row: GroupRow = fb.audit(label, score, np.resize(["a", "b"], len(label)), draws=0).report.overall[0]
        low, high = confint_proportions_2indep(tp, tp + fn, fp, fp + tn, method="newcomb", compare="diff")
        auc = decision_auc(row)
        assert auc.value == pytest.approx((1 + tp / (tp + fn) - fp / (fp + tn)) / 2)
        assert (auc.low, auc.high) == pytest.approx(((1 + low) / 2, (1 + high) / 2), abs=1e-9)
    assert HALF == 0.5


def test_unlabelled_audits_say_nothing() -> None:
    assert label_warning(fb.audit(people().drop(columns="label"), draws=0).report) == ""
    alike = people().assign(label=1)
    assert label_warning(fb.audit(alike, draws=0).report).startswith("Most decisions disagree")
