"""The edge rules of Friedler et al.'s program, each on a case computed by hand, and our values."""

import math
import re

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import METRICS, measure

LEGACY = [name for name, metric in METRICS.items() if metric.section == "legacy"]


def two(deprived, favoured):
    """Counts of two groups, each ((tn, fp), (fn, tp))."""
    return Counts(("g", "r"), np.array([deprived, favoured], dtype=float))


def three(one, other, reference):
    """Counts of two groups and their reference."""
    return Counts(("a", "b", "r"), np.array([one, other, reference], dtype=float), ("r",))


NOBODY = ((0, 0), (0, 0))
HALF = ((2, 2), (1, 3))  # half are selected less one: P(ŷ=+) = 5/8, TPR 3/4, TNR 1/2, PPV 3/5, FOR 1/3
REFUSED = ((3, 0), (5, 0))  # P(ŷ=+) = 0, TPR 0, TNR 1, PPV 0/0, FOR 5/8
ACCEPTED = ((0, 2), (0, 6))  # P(ŷ=+) = 1, TPR 1, TNR 0, PPV 3/4, FOR 0/0
NO_POSITIVES = ((3, 1), (0, 0))  # TPR 0/0, TNR 3/4
NO_NEGATIVES = ((0, 0), (1, 3))  # TPR 3/4, TNR 0/0
RIGHT, WRONG = ((4, 0), (0, 4)), ((0, 4), (4, 0))


@pytest.mark.parametrize(
    ("name", "counts", "legacy", "ours"),
    [
        # Nobody is selected in either group: equal. In the reference alone: infinite is written as 0.
        ("dibinary", two(REFUSED, REFUSED), 1, math.nan),
        ("dibinary", two(HALF, REFUSED), 0, math.inf),
        ("dibinary", two(REFUSED, HALF), 0, 0),
        ("dibinary", two(NOBODY, HALF), 0, math.nan),
        ("dibinary", two(HALF, NOBODY), 0, math.nan),
        ("dibinary", two(HALF, ACCEPTED), 5 / 8, 5 / 8),
        # A mean of 0 is 1: the most unfair is perfect.
        ("diavgall", three(REFUSED, REFUSED, HALF), 1, 0),
        ("diavgall", three(HALF, REFUSED, HALF), 0.5, 0.5),
        ("diavgall", three(HALF, NOBODY, HALF), 1, 1),
        ("diavgall", three(HALF, NOBODY, REFUSED), 1, math.inf),
        ("diavgall", three(REFUSED, HALF, REFUSED), 0.5, math.inf),
        ("diavgall", three(HALF, HALF, NOBODY), math.nan, math.nan),
        ("diavgall-binary", two(REFUSED, HALF), 1, 0),
        ("diavgall-binary", two(HALF, REFUSED), 1, math.inf),
        # No positives: TPR 0. No negatives: TNR 1.
        ("tpr", two(NO_POSITIVES, NO_POSITIVES), 0, math.nan),
        ("tnr", two(NO_NEGATIVES, NO_NEGATIVES), 1, math.nan),
        ("bcr", two(NO_POSITIVES, NO_POSITIVES), 3 / 8, math.nan),
        ("bcr", two(NO_NEGATIVES, NO_NEGATIVES), 7 / 8, math.nan),
        ("tpr", two(NO_POSITIVES, HALF), 3 / 4, 3 / 4),
        # Averages: an absent group is in the divisor, 0/0 is a constant, a mean of 0 is 1.
        ("sensitive-accuracy", three(HALF, NOBODY, RIGHT), (5 / 8 + 1) / 3, (5 / 8 + 1) / 2),
        ("sensitive-accuracy-binary", two(HALF, NOBODY), 5 / 16, math.nan),
        ("sensitive-accuracy", three(WRONG, WRONG, WRONG), 1, 0),
        ("sensitive-tpr", three(REFUSED, REFUSED, REFUSED), 1, 0),
        ("sensitive-tpr-binary", two(NO_POSITIVES, HALF), 3 / 8, math.nan),
        ("sensitive-tpr", three(NO_POSITIVES, HALF, HALF), 1 / 2, 3 / 4),
        ("sensitive-tnr", three(NO_NEGATIVES, HALF, HALF), 2 / 3, 1 / 2),
        ("sensitive-tnr-binary", two(ACCEPTED, ACCEPTED), 1, 0),
        ("sensitive-calibration+", three(REFUSED, HALF, ACCEPTED), 47 / 60, 27 / 40),
        ("sensitive-calibration-negative-stored", three(ACCEPTED, HALF, REFUSED), 47 / 72, 23 / 48),
        ("sensitive-calibration-negative-stored-binary", two(ACCEPTED, RIGHT), 1 / 2, math.nan),
        # Comparisons: the same average.
        ("comparative-sensitive-tpr", three(REFUSED, REFUSED, ACCEPTED), 1, 0),
        ("comparative-sensitive-tpr-binary", two(REFUSED, ACCEPTED), 1, 0),
        ("comparative-sensitive-tpr", three(HALF, NOBODY, ACCEPTED), 3 / 8, 3 / 4),
        ("comparative-sensitive-tnr-binary", two(NO_NEGATIVES, HALF), 3 / 2, math.nan),
        ("comparative-sensitive-accuracy", three(HALF, HALF, NOBODY), 1, math.nan),
        ("comparative-sensitive-tpr-ratio", three(HALF, REFUSED, REFUSED), 1 / 2, math.inf),
        ("comparative-sensitive-tpr-ratio-binary", two(REFUSED, HALF), 1, 0),
    ],
)  # fmt: skip
def test_each_rule_by_hand(name, counts, legacy, ours):
    suffixed = name.replace("+", "-positive") + "-legacy"
    assert measure(suffixed, counts) == pytest.approx(legacy, nan_ok=True)
    assert measure(name, counts) == pytest.approx(ours, nan_ok=True)


@law(40)
@given(arrays(np.float64, (3, 2, 2), elements=st.integers(1, 9)))
def test_where_nothing_is_missing_the_rules_change_nothing(n):
    counts = Counts(("a", "b", "r"), n, ("r",))
    for name in LEGACY:
        assert measure(name, counts) == pytest.approx(measure(name.removesuffix("-legacy"), counts)), name


def test_they_are_listed_apart_and_say_what_they_do(say):
    listed = say("list", "metrics", "--all").out.partition("metrics: legacy")
    assert "-legacy" not in listed[0]
    assert re.findall(r"^(\S+-legacy)", listed[2], re.MULTILINE) == LEGACY
    page = say("list", "metrics", "DIbinary-legacy").out.splitlines()
    assert page[1] == "  is dibinary; an absent group has rate 0; 0/0 is 1, x/0 is 0"
    assert "for comparison with its published" in page[-2] + page[-1]
