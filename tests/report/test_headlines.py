"""The study of headlines says of numbers what they show, and no more."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import study_of

STUDY = study_of("headlines")
WORLD = "label"


def numbers(shift, spread):
    """Return the accuracy of none and equal opportunity in a world and without bias, 20 repeats."""
    rng = np.random.default_rng(7)
    cells = {}
    for dataset, (world, beta) in itertools.product(("a", "b"), ((WORLD, 0.5), ("", 0.0))):
        for repeat in range(20):
            base = rng.normal(0.8, 0.05)  # the repeats differ by more than the techniques
            cells[dataset, world, beta, "true", "none", "accuracy", repeat] = base
            other = base + shift * (world == WORLD) + rng.normal(0, spread)
            cells[dataset, world, beta, "true", "tpr-parity", "accuracy", repeat] = other
    index = pd.MultiIndex.from_tuples(cells, names=[*STUDY.CELL, "repeat"])
    return pd.Series(list(cells.values()), index).sort_index()


@pytest.mark.parametrize(
    ("claim", "shift", "spread", "holds", "against"),
    [
        ("above", 0.02, 0.005, True, False),
        ("above", -0.02, 0.005, False, True),
        ("below", -0.02, 0.005, True, False),
        ("same", 0.001, 0.005, True, False),
        ("same", 0.03, 0.005, False, True),
        ("same", 0.01, 0.1, False, False),
        ("above", 0.0, 0.1, False, False),
    ],
)
def test_what_a_headline_says(claim, shift, spread, holds, against):
    headline = STUDY.Headline(WORLD, "", STUDY.EO, claim, STUDY.NONE)
    rows = [*STUDY.tested(numbers(shift, spread), headline)]
    assert [row[:2] for row in rows] == [("a", 0.5), ("b", 0.5)]
    for *_, mean, low, high, for_it, against_it in rows:
        assert low < mean < high
        assert (for_it < 0.05, against_it < 0.05) == (holds, against)


def test_exact_ones_need_no_test():
    common = {"dataset": "a", "include_protected": "True", "features": "true", "error": 0.0, "rule": ""}
    own = {"quantity": "thresholds-lose", "labels": "true", "group": "", "value": 0.02}
    rows = [{**common, **own, "world": WORLD, "beta": 0.5}, {**common, **own, "world": "", "beta": 0.0}]
    facts = pd.DataFrame(rows)
    verdicts = {
        claim: next(STUDY.exact(facts, STUDY.Exact(WORLD, "", claim, STUDY.lost)))[5:]
        for claim in ("above", "below", "same")
    }
    assert verdicts == {"above": (0.0, 1.0), "below": (1.0, 0.0), "same": (1.0, 0.0)}


def test_the_gap_of_noisy_groups():
    share, noise, gap = 0.3, 0.1, 0.25
    recorded = share * (1 - noise) + (1 - share) * noise
    a, b = noise * (1 - share) / recorded, noise * share / (1 - recorded)
    values = {
        ("share", "deprived", "true"): share,
        ("share", "deprived", "recorded"): recorded,
        ("disparity", "", "true"): gap,
        ("disparity", "", "recorded"): (1 - a - b) * gap,
    }
    rows = pd.DataFrame(
        {"quantity": q, "group": g, "labels": labels, "rule": "", "value": v, "error": 0.0, "beta": noise}
        for (q, g, labels), v in values.items()
    )
    assert STUDY._group_noise(STUDY.Facts(rows, rows))[0] == pytest.approx(0)


def test_history_moves_a_gap_to_what_is_explained():
    (gap, part), (later, explained) = (STUDY.explained("adult", shift) for shift in (0.0, 0.75))
    assert later - gap == pytest.approx(0.0425, abs=0.0005)
    assert explained - part > later - gap  # who conditions on education sees less of a gap than before
    (gap, part), (later, explained) = (STUDY.explained("compas", shift) for shift in (0.0, 0.75))
    assert later == pytest.approx(gap)  # the score is drawn after the outcome
    assert gap - part > 0 > later - explained
