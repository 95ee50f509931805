"""Measure how good rows drawn from a network are in the place of the data that it was learned from."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.base.checksums import seed_of
from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Floats, Roles, Sample, Table, to_sample
from fairbench_cli.measures.counts import PAIR, count
from fairbench_cli.measures.functions import discrimination
from fairbench_cli.network.draw import sample
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import posterior
from fairbench_cli.network.standin import BaseRates, Outcome, StandIn, Trained, Worst

if TYPE_CHECKING:  # pandas comes with it
    from fairbench_cli.data.load import Dataset

CLASSIFIED_BY = ("c45", "logistic-regression")

MOST_ROWS = 10_000
"""To train on, and to test on."""


def measured_stand_in(dataset: "Dataset", net: BayesNet, repeats: int = 30) -> StandIn:
    """Return how far classifiers, base rates and pairs of columns of a network are from those of its data.

    In every repeat the data are divided at random, and as many rows drawn from the network. Classifiers see
    all features, the protected attribute too. Base rates and pairs of the network are exact.

    Parameters
    ----------
    dataset : Dataset
        The data, in the columns and levels of the network.
    repeats : int
        At least 2.

    Raises
    ------
    ValueError
        When the data have other columns than the network.
    UserError
        When the card's groups do not fit the data.
    """
    card, table = dataset.card, dataset.table
    if table.columns != net.columns:
        raise ValueError(f"the columns of {card.name} are not those of its network")
    roles = dataset.roles(card.attribute(None))
    train, test = min(len(table) // 2, MOST_ROWS), min(len(table) - len(table) // 2, MOST_ROWS)
    found: dict[str, dict[Trained, list[tuple[float, float]]]] = {name: {} for name in CLASSIFIED_BY}
    for repeat in range(repeats):
        seed = seed_of("stand-in", card.name, repeat)
        rows = np.random.default_rng(seed).permutation(len(table))
        data = [to_sample(table.take(part), roles) for part in (rows[:train], rows[-test:])]
        drawn, numbers = sample(net, train + test, seed), np.arange(train + test)
        draws = [to_sample(drawn.take(part), roles) for part in (numbers[:train], numbers[train:])]
        for name in CLASSIFIED_BY:
            classifier = Classifier(CLASSIFIERS[name].load()(), include_protected=True, seed=0)
            of_data, of_draws = classifier.fit(data[0]), classifier.fit(draws[0])
            tested: dict[Trained, tuple[Model, Sample]] = {
                "data": (of_data, data[1]),
                "draws": (of_draws, draws[1]),
                "draws, tested on data": (of_draws, data[1]),
            }
            for where, (model, others) in tested.items():
                found[name].setdefault(where, []).append(_reached(others, model.predict(others)))
    single = [name for name, protected in card.protected.items() if protected.of is None]
    return StandIn(
        attribute=roles.attribute,
        train=train,
        test=test,
        repeats=repeats,
        classifiers={name: {at: _outcome(one) for at, one in own.items()} for name, own in found.items()},
        base_rates={name: _base_rates(dataset.roles(name), table, net) for name in single},
        worst=_worst(table, net, [seed_of("stand-in", card.name, repeat) for repeat in range(repeats)]),
    )


def _reached(rows: Sample, predicted: ArrayLike) -> tuple[float, float]:
    """Return accuracy and gap of decisions on some rows."""
    counts = count(rows.s, rows.y, predicted, PAIR)
    return float(np.mean(rows.y == predicted)), -float(discrimination(counts))


def _outcome(values: list[tuple[float, float]]) -> Outcome:
    accuracy, gap = zip(*values, strict=True)
    return Outcome(accuracy=_spread(accuracy), gap=_spread(gap))


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return _rounded(np.mean(values)), _rounded(np.std(values, ddof=1))


def _rounded(value: float | np.floating) -> float:
    """Return a number with as many digits as are shown, and some more: files stay small; 0 has no sign."""
    return round(float(value), 6) + 0.0


def _base_rates(roles: Roles, table: Table, net: BayesNet) -> BaseRates:
    """Return the base rates of the two groups of an attribute in the data and in the network."""
    groups, outcome = table.column(roles.attribute), table.column(roles.label)
    favourable = outcome.levels.index(roles.favourable)

    def rates(joint: Floats) -> tuple[float, float]:
        both = (roles.deprived, roles.favoured)
        of_group = [joint[[level in named for level in groups.levels]] for named in both]
        deprived, favoured = (_rounded(rows[:, favourable].sum() / rows.sum()) for rows in of_group)
        return deprived, favoured

    at = table.index(roles.attribute), table.index(roles.label)
    exact = posterior(net, [roles.attribute, roles.label]).table
    return BaseRates(data=rates(_shares(table, *at)), network=rates(exact))


def _worst(table: Table, net: BayesNet, seeds: list[int]) -> Worst:
    """Return the two columns whose joint table is farthest from the network's, and how far draws are."""
    pairs = list(combinations(range(len(net.columns)), 2))
    exact = [posterior(net, [net.names[i], net.names[j]]).table for i, j in pairs]

    def distances(rows: Table) -> Iterator[float]:
        for (i, j), expected in zip(pairs, exact, strict=True):
            yield float(np.abs(_shares(rows, i, j) - expected).sum() / 2)

    own = list(distances(table))
    farthest = int(np.argmax(own))
    chance = [max(distances(sample(net, len(table), seed))) for seed in seeds]
    first, second = (net.names[i] for i in pairs[farthest])
    return Worst(columns=(first, second), distance=_rounded(own[farthest]), by_chance=_spread(chance))


def _shares(rows: Table, i: int, j: int) -> Floats:
    """Return the joint table of two columns, as shares of the rows."""
    shape = len(rows.columns[i].levels), len(rows.columns[j].levels)
    flat = rows.codes[:, i].astype(np.intp) * shape[1] + rows.codes[:, j]
    found: Floats = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape) / len(rows)
    return found
