"""Thresholds by group: the best by brute force, and what is said of other rows holds on them."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.audit.parts.moved_thresholds import KEY
from fairbench_cli.measures.moved_thresholds import (
    RateLimit,
    choose_thresholds,
    decided_counts,
    try_thresholds,
)
from fairbench_cli.measures.score_test import ratio_interval

NAN = float("nan")
LIMITS = [
    RateLimit("fpr", 0.8, NAN),
    RateLimit("selection-rate", 0.8, NAN),
    RateLimit("ppv", 0.9, NAN),
    RateLimit("fnr", NAN, 0.1),
]


def best_by_trying(n: np.ndarray, reference: int, limit: RateLimit) -> float | None:
    """Return the most correct decisions of all combinations of thresholds that keep to a limit."""
    counts = decided_counts(n)
    best = None
    for places in itertools.product(range(counts.shape[1]), repeat=len(n)):
        decided = counts[np.arange(len(n)), list(places)]
        rates = limit.of_counts(decided)
        if np.isnan(rates).any():
            continue
        others = np.delete(rates, reference)
        if limit.allows(others, np.full(len(others), rates[reference])).all():
            correct = float(decided[:, 0, 0].sum() + decided[:, 1, 1].sum())
            best = correct if best is None else max(best, correct)
    return best


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.rate)
def test_the_best_thresholds_are_those_of_brute_force(limit: RateLimit):
    rng = np.random.default_rng(3)
    for _ in range(30):
        n = rng.integers(0, 12, size=(3, 2, 4)).astype(float)
        chosen = choose_thresholds(n, 1, limit, 2)
        best = best_by_trying(n, 1, limit)
        if best is None:
            assert chosen is None
            continue
        assert chosen is not None
        decided = decided_counts(n)[np.arange(3), chosen]
        rates = limit.of_counts(decided)
        assert limit.allows(np.delete(rates, 1), np.full(2, rates[1])).all()
        assert decided[:, 0, 0].sum() + decided[:, 1, 1].sum() == best


def test_rows_that_are_better_and_worse_are_those_between_the_thresholds():
    rng = np.random.default_rng(5)
    n = rng.integers(5, 60, size=(2, 2, 5)).astype(float)
    tried = try_thresholds(n, 0, RateLimit("fpr", 0.8, NAN), 2, rng)
    assert tried is not None
    before = decided_counts(n)[:, 2]
    assert tried.n.sum(axis=2).tolist() == before.sum(axis=2).tolist()
    correct = tried.n[:, 0, 0] + tried.n[:, 1, 1] - before[:, 0, 0] - before[:, 1, 1]
    assert correct.sum() == tried.better - tried.worse


def drawn(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of a sample by score of 1 to 10, and the shares of the population."""
    score = np.arange(10)
    shares = []
    for base_rate, shift in ((0.45, 1.2), (0.35, 0.0)):
        by_label = []
        for label, share in ((0, 1 - base_rate), (1, base_rate)):
            density = np.exp(-(((score - 4 - shift - 1.5 * label) / 2.5) ** 2))
            by_label.append(0.5 * share * density / density.sum())
        shares.append(by_label)
    population = np.array(shares)
    return rng.multinomial(rows, population.ravel()).reshape(population.shape).astype(float), population


@pytest.mark.gate
def test_intervals_hold_what_the_thresholds_do_to_everybody():
    rng = np.random.default_rng(11)
    limit = RateLimit("fpr", 0.8, NAN)
    n_drawn = 300
    ratio_holds = 0
    change_holds = 0
    for _ in range(n_drawn):
        n, population = drawn(rng, 3000)
        tried = try_thresholds(n, 1, limit, 5, rng)
        assert tried is not None
        decided = decided_counts(population)
        after = decided[[0, 1], tried.chosen]
        rates = limit.of_counts(after)
        above = tried.n[:, 0, 1]
        negatives = tried.n[:, 0].sum(axis=1)
        low, high = ratio_interval(above[0], negatives[0], above[1], negatives[1])
        ratio_holds += bool(low <= rates[0] / rates[1] <= high)
        before = decided[:, 5]
        true_change = (after[:, 0, 0] + after[:, 1, 1] - before[:, 0, 0] - before[:, 1, 1]).sum()
        _, low_change, high_change = tried.accuracy_change(0.95)
        change_holds += bool(low_change <= true_change <= high_change)
    assert ratio_holds / n_drawn > 0.92
    assert change_holds / n_drawn > 0.92


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    n, _ = drawn(np.random.default_rng(1), 4000)
    group, label, score = (codes.ravel() for codes in np.indices(n.shape))
    times = n.ravel().astype(int)
    return pd.DataFrame(
        {
            "score": np.repeat(score + 1, times),
            "label_value": np.repeat(label, times),
            "race": np.repeat(np.array(["black", "white"])[group], times),
        }
    )


OPTIONS = {"threshold": 6, "metric": "fpr", "ref": {"race": "white"}, "mitigate": True}


def test_an_audit_says_what_moved_thresholds_would_do(people: pd.DataFrame):
    result = fb.audit(people, **OPTIONS)
    rows = result.to_pandas(KEY).set_index("group")
    black = rows.loc["black"]
    fpr = result.to_pandas().query("metric == 'fpr' and group == 'black'").iloc[0]
    assert black["value"] == fpr["value"]
    assert black["ratio"] == fpr["ratio"]
    assert black["moved_threshold"] > black["threshold"] == 6
    assert black["moved_ratio_low"] < black["moved_ratio"] < black["moved_ratio_high"]
    assert json.loads(result.to_json())[KEY][0]["metric"] == "fpr"
    page = result.to_html()
    for words in ("What moved thresholds would do", "instead of 6", "in many places law forbids it"):
        assert words in page


def test_the_order_of_rows_does_not_matter(people: pd.DataFrame):
    shuffled = people.sample(frac=1, random_state=3)
    assert fb.audit(people, **OPTIONS).to_json() == fb.audit(shuffled, **OPTIONS).to_json()


@pytest.mark.gate
def test_another_reference_is_judged_without_reading(people: pd.DataFrame):
    with fb.opened(people, **OPTIONS) as opened:
        opened.audit()
        for options in ({"ref": {"race": "black"}}, {"tau": 0.9}, {"margin": 0.05}, {"metric": "fnr"}):
            assert not opened.reads_again(**options)
            assert opened.audit(**options).to_json() == fb.audit(people, **{**OPTIONS, **options}).to_json()


def test_nothing_has_to_move_where_rates_are_alike(people: pd.DataFrame):
    result = fb.audit(people, **{**OPTIONS, "tau": 0.3})
    assert "No threshold has to move" in result.to_markdown()
    assert KEY not in json.loads(result.to_json())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": None}, "mitigate moves one threshold"),
        ({"threshold": [5, 6]}, "mitigate moves one threshold"),
        ({"weight": "score"}, "weight cannot be combined with mitigate"),
        ({"ref": None, "ref_method": "rest"}, "ref-method cannot be combined"),
    ],
)
def test_what_cannot_be_moved_is_refused(people: pd.DataFrame, options: dict, words: str):
    with pytest.raises(fb.UserError, match=words):
        fb.audit(people, **{**OPTIONS, **options})


def test_without_labels_it_is_refused(people: pd.DataFrame, tmp_path: Path):
    path = tmp_path / "people.csv"
    people.drop(columns="label_value").to_csv(path, index=False)
    with pytest.raises(fb.UserError, match="without labels"):
        fb.audit(path, threshold=6, attributes=["race"], mitigate=True)
