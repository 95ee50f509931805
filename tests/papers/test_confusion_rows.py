"""Printed rows that no confusion matrix has: laws, another solver, and the rows of cardoso2019."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from cards_data import shipped_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.registry import COUNT_METRICS
from fairbench_cli.papers.compare import ROUNDING, axes_of
from fairbench_cli.papers.confusion_rows import MEASURES, find_printed_rows, least_error
from fairbench_cli.papers.registry import PAPERS, read_published

CARDOSO = PAPERS["cardoso2019"]
SEEDS = st.integers(0, 2**32 - 1)


def draw_models(rng: np.random.Generator, n_models: int) -> Counts:
    """Draw the decisions of some models on the same labels of the same test rows."""
    labelled = rng.integers(100, 10_000, (2, 2))
    accepted = rng.integers(0, labelled + 1, (n_models, 2, 2))
    return Counts(PAIR, np.stack([labelled - accepted, accepted], axis=-1).astype(float))


def measure(counts: Counts) -> np.ndarray:
    """Return the mean of each of the four measures over models, by the product's own measures."""
    return np.array([np.mean(COUNT_METRICS[name].function(counts)) for name in MEASURES])


def solver_free_error(printed: np.ndarray, labelled: np.ndarray, n: int) -> float:
    """Return the least error of the rates on a grid of n points each, by the product's own measures."""
    ticks = np.linspace(0, 1, n)
    rates = np.array(list(product(ticks, repeat=4))).reshape(-1, 2, 2)
    counts = Counts(PAIR, np.stack([labelled * (1 - rates), labelled * rates], axis=-1))
    numbers = np.stack([COUNT_METRICS[name].function(counts) for name in MEASURES], axis=-1)
    return float(np.abs(numbers - printed).max(axis=1).min())


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 30))
def test_means_of_models_on_the_same_rows_are_possible_and_stay_so_when_rounded(seed, n_models):
    counts = draw_models(np.random.default_rng(seed), n_models)
    numbers, labelled = measure(counts), counts.labelled[0]
    assert least_error(numbers, labelled) < 1e-7
    assert least_error(numbers.round(3), labelled) <= ROUNDING + 1e-7


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(range(4)), st.floats(0.02, 0.2))
def test_a_perfect_model_has_no_other_numbers(seed, place, gap):
    """Accuracy 1 leaves no choice of rates: where a number is changed, some are off by a part of the gap."""
    counts = draw_models(np.random.default_rng(seed), 1).of_labels()
    changed = measure(counts)
    changed[place] += gap
    labelled = counts.labelled[0]
    # Where accuracy is off by e, a rate is off by e times all rows over its own at most, a measure by two.
    most = 1 + 2 * labelled.sum() / labelled.min()
    assert gap / most - 1e-7 <= least_error(changed, labelled) <= gap + 1e-7


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(3))
def test_the_least_error_is_that_of_the_nearest_rates_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    labelled = draw_models(rng, 1).labelled[0]
    n = 21
    for printed in rng.uniform(-0.5, 1, (5, 4)):
        on_grid = solver_free_error(printed, labelled, n)
        # Half a step in every rate moves no measure by more than a step.
        assert on_grid - 1 / (n - 1) <= least_error(printed, labelled) <= on_grid + 1e-7


def test_a_row_without_its_four_numbers_or_its_labels_is_no_row():
    published = read_published(CARDOSO)
    labelled = np.array([[9592.0, 1179], [15128, 6662]])
    axes = axes_of(published)
    dashed = published[published["value"].isna()]
    unknown = [np.zeros((2, 2))] * len(published)
    assert find_printed_rows(published, axes, unknown, ROUNDING).n == 0
    rows = find_printed_rows(published, axes, [labelled] * len(published), ROUNDING)
    tables = published[published["table"].isin(["2", "3", "4"])]
    names = set(tables[axes].itertuples(index=False, name=None))
    assert rows.n == len(names - set(dashed[axes].itertuples(index=False, name=None))) == 118
    assert set(rows.impossible) <= names
    one_table = read_published(CARDOSO, ("2",))
    assert find_printed_rows(one_table, axes, [labelled] * len(one_table), ROUNDING).n == 0


@pytest.mark.gate
def test_rows_of_cardoso2019():
    labelled = {}
    for dataset, card in {"adult": "adult-train", "compas": "compas", "dutch": "dutch"}.items():
        labelled[dataset] = label_counts_of(card)
    published = read_published(CARDOSO)
    axes = axes_of(published)
    rows = find_printed_rows(published, axes, [labelled[name] for name in published["dataset"]], ROUNDING)
    by_dataset = pd.DataFrame(list(rows.impossible), columns=axes).groupby("dataset").size()
    assert (rows.n, by_dataset.to_dict()) == (118, {"adult": 3, "compas": 6, "dutch": 4})
    assert next(iter(rows.impossible)) == ("adult", "0.5", "repair@0.50")
    for labels, indices in rows.impossible.items():
        row = published.loc[indices]
        assert set(row["metric"]) == set(MEASURES)
        assert (row[axes] == list(labels)).all().all()
        # Straight from the equations: what the numbers give for the rates, to all roundings, is no rate.
        numbers = row.set_index("metric")["value"][list(MEASURES)].to_numpy()
        assert not has_rates(numbers, labelled[labels[0]])


def label_counts_of(card: str) -> np.ndarray:
    """Count the labels of a card's rows by the group of its first attribute."""
    dataset = shipped_dataset(card)
    frame = dataset.table.to_frame()
    label, (attribute, levels) = dataset.card.label, next(iter(dataset.card.protected.items()))
    is_favourable = frame[label.column].astype(str) == str(label.favourable)
    is_deprived = frame[attribute].astype(str).isin(np.atleast_1d(levels.deprived).astype(str))
    sides = [is_favourable[is_deprived], is_favourable[~is_deprived]]
    return np.array([[(~side).sum(), side.sum()] for side in sides], dtype=float)


def has_rates(numbers: np.ndarray, labelled: np.ndarray) -> bool:
    """Return whether some of the roundings of a row, solved for the rates, gives rates in [0, 1]."""
    (c, b), p = labelled[:, 1] / labelled.sum(axis=1), labelled[1].sum() / labelled.sum()
    favourable = p * b + (1 - p) * c
    ticks = np.linspace(-ROUNDING, ROUNDING, 9)
    disc, acc, over, under = (numbers + np.array(list(product(ticks, repeat=4)))).T
    gap = (disc - b * under - (1 - b) * over) / (b - c)  # t - f
    right = acc - (1 - favourable) - p * b * under + p * (1 - b) * over  # favourable t - (1 - favourable) f
    f = (right - favourable * gap) / (2 * favourable - 1)
    rates = np.array([f, f + gap, f + over, f + gap + under])
    return bool(((rates >= 0) & (rates <= 1)).all(axis=0).any())
