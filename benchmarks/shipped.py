"""Learn the networks that ship with fairbench, and measure them as stand-ins for their data.

``python benchmarks/shipped.py [--data-dir FOLDER] [NAME …]`` writes ``datasets/NAME.network.json``, the same
bytes again from the same files, and prints what it took. Without names it writes again those that are there.
Either way ``docs/reference/standins.csv``, ``standins-columns.csv`` and the table of ``docs/standins.md`` are
then made of the files.
"""

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.base.checksums import derive_seed
from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import Card, find_card, read_card, shipped_cards
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import find_files
from fairbench_cli.data.table import Column, Floats, Roles, Sample, Table, to_sample
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.measures.counts import PAIR, count
from fairbench_cli.measures.functions import discrimination
from fairbench_cli.network.bias import bias_kind
from fairbench_cli.network.draw import sample
from fairbench_cli.network.family_counts import fit_network
from fairbench_cli.network.files import Meta, open_network, save
from fairbench_cli.network.fit_quality import (
    SHOWN,
    BaseRates,
    FitQuality,
    LabelInformation,
    Outcome,
    Trained,
    WorstPair,
)
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior
from fairbench_cli.network.structure import LearnSettings, describe_source, learn_structure

CLASSIFIED_BY = ("c45", "logistic-regression")
MOST_ROWS = 10_000
"""To train on, and to test on."""

PAGE = Path(__file__).parents[1] / "docs" / "standins.md"
MADE = "<!-- Made by benchmarks/shipped.py. -->\n"
ALL = PAGE.parent / "reference" / "standins.csv"
FEATURES = PAGE.parent / "reference" / "standins-columns.csv"
OF_THE_PAGE = (
    *("acs-income", "acs-travel-time", "adult", "bank", "compas", "compas-all", "dutch", "german"),
    *("hmda-boston", "law-school", "oulad"),
)
"""The data sets of the page's table; the others are in the CSV file alone."""

# As they were learned for the papers, where β acts on one attribute. All others have an arc from every column
# that β edits.
SETTINGS = {
    "adult": LearnSettings(),
    "compas": LearnSettings(whitelist=(("race", "two_year_recid"),)),
    "dutch": LearnSettings(whitelist=(("sex", "occupation"),)),
}


def main() -> None:
    """Write the networks that are named, or all of them, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    print("| data set | rows | columns | read | learn | draw | measure |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in given.names or [*names()]:
        print(made(name, shipped_cards(), given.data_dir), flush=True)
    write_tables()


def names() -> list[str]:
    """Return the data sets with a network."""
    return sorted(path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json"))


def made(name: str, folder: Path, data_dir: Path | None = None) -> str:
    """Write the network of a data set into a folder; return the seconds of processor time that it took."""
    ticks = [time.process_time()]
    card, found = find_files(name, data_dir)
    dataset = load(card.for_network(), found)
    ticks.append(time.process_time())
    settings = SETTINGS.get(name) or LearnSettings(whitelist=tuple(arcs(card, dataset.table.columns)))
    structure = learn_structure(dataset.table, settings)
    net = fit_network(dataset.table, structure.parents)
    ticks.append(time.process_time())
    sample(net, len(dataset), 0)
    ticks.append(time.process_time())
    facts = describe_source(name, dataset.sha256, len(dataset), settings)
    stand_in = measured_stand_in(dataset, net)
    ticks.append(time.process_time())
    meta = Meta(settings.learner, settings.score, structure.score, structure.bic, facts, stand_in)
    save(net, folder / f"{name}.network.json", meta)
    seconds = [f"{end - start:.2f}" for start, end in pairwise(ticks)]
    return f"| {' | '.join([name, f'{len(dataset):,}', str(len(net.columns)), *seconds])} |"


def measured_stand_in(dataset: Dataset, net: BayesNet, repeats: int = 30) -> FitQuality:
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
        seed = derive_seed("stand-in", card.name, repeat)
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
    return FitQuality(
        attribute=roles.attribute,
        train=train,
        test=test,
        repeats=repeats,
        classifiers={name: {at: _outcome(one) for at, one in own.items()} for name, own in found.items()},
        base_rates={name: _base_rates(dataset.roles(name), table, net) for name in single},
        worst=_worst(table, net, [derive_seed("stand-in", card.name, repeat) for repeat in range(repeats)]),
        information=label_information(table, net, card.label.column),
    )


def label_information(table: Table, net: BayesNet, label: str) -> dict[str, LabelInformation]:
    """Return what each column says about the outcome, in the data and, exactly, in the network."""
    label_index = table.index(label)
    information = {}
    for name in table.names:
        if name == label:
            continue
        in_data = _shares(table, table.index(name), label_index)
        in_network = compute_posterior(net, [name, label]).table
        # The bias of mutual information, by Miller (1955): degrees of freedom over 2 n, in bits.
        levels = np.count_nonzero(in_data.sum(axis=1)) - 1
        labels = np.count_nonzero(in_data.sum(axis=0)) - 1
        by_chance = levels * labels / (2 * len(table) * np.log(2))
        information[name] = LabelInformation(
            data=_bits(in_data), network=_bits(in_network), by_chance=_rounded(by_chance)
        )
    return information


def _bits(joint: Floats) -> float:
    """Return the mutual information of the two columns of a joint table, in bits."""
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    possible = joint > 0
    bits = np.sum(joint[possible] * np.log2(joint[possible] / independent[possible]))
    return max(0.0, _rounded(bits))


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
    exact = compute_posterior(net, [roles.attribute, roles.label]).table
    return BaseRates(data=rates(_shares(table, *at)), network=rates(exact))


def _worst(table: Table, net: BayesNet, seeds: list[int]) -> WorstPair:
    """Return the two columns whose joint table is farthest from the network's, and how far draws are."""
    pairs = list(combinations(range(len(net.columns)), 2))
    exact = [compute_posterior(net, [net.names[i], net.names[j]]).table for i, j in pairs]

    def distances(rows: Table) -> Iterator[float]:
        for (i, j), expected in zip(pairs, exact, strict=True):
            yield float(np.abs(_shares(rows, i, j) - expected).sum() / 2)

    own = list(distances(table))
    farthest = int(np.argmax(own))
    chance = [max(distances(sample(net, len(table), seed))) for seed in seeds]
    first, second = (net.names[i] for i in pairs[farthest])
    return WorstPair(columns=(first, second), distance=_rounded(own[farthest]), by_chance=_spread(chance))


def _shares(rows: Table, i: int, j: int) -> Floats:
    """Return the joint table of two columns, as shares of the rows."""
    shape = len(rows.columns[i].levels), len(rows.columns[j].levels)
    flat = rows.codes[:, i].astype(np.intp) * shape[1] + rows.codes[:, j]
    found: Floats = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape) / len(rows)
    return found


def arcs(card: Card, columns: tuple[Column, ...]) -> list[tuple[str, str]]:
    """Return an arc to the outcome from every column that β acts on."""
    levels = {column.name: column.levels for column in columns}
    single = [name for name, protected in card.protected.items() if protected.of is None]
    edited = dict.fromkeys(column for name in single for column in card.bias_groups(name, levels))
    return [(column, card.label.column) for column in edited]


def write_tables() -> None:
    """Write the CSV file of all stand-ins and the table of the page, made of the files of the networks."""
    heads = ["data set", "β acts on", "β is", "rows", "columns", "arcs", "parameters", "kB"]
    heads += ["label gap", "label gap of network", "accuracy", "accuracy of draws", "gap", "gap of draws"]
    heads += ["worst pair", "by chance", "information kept", "lost most"]
    rows = list(_rows())
    with ALL.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *rows])
    with FEATURES.open("w", newline="", encoding="utf-8") as file:
        feature_heads = ["data set", "column", "bits in data", "bits in network", "by chance"]
        csv.writer(file, lineterminator="\n").writerows([feature_heads, *_feature_rows()])
    shown = [[*row[:3], *row[8:-1]] for row in rows if row[0] in OF_THE_PAGE]
    table = plain_table("", [*heads[:3], *heads[8:-1]], shown, 3)
    document = Document("", sections=(Section("The table", tables=(table,)),))
    head = PAGE.read_text(encoding="utf-8").partition(MADE)[0]
    PAGE.write_text(f"{head}{MADE}\n{markdown(document)}", encoding="utf-8")


def _rows() -> Iterator[list[str]]:
    for name in names():
        card, (net, meta) = read_card(find_card(name)), open_network(name)
        stand_in = meta.stand_in
        if stand_in is None:
            continue
        size = (shipped_cards() / f"{name}.network.json").stat().st_size
        # Trained on the data or on draws; tested on the same rows of the data.
        outcomes = stand_in.classifiers[SHOWN]
        of_data, of_draws = outcomes["data"], outcomes["draws, tested on data"]
        rates = stand_in.base_rates[stand_in.attribute]
        row = [name, *_bias(card, net), str(meta.source["rows"])]
        row += [str(n) for n in (len(net.columns), len(net.arcs), net.parameters, round(size / 1000))]
        row += [f"{deprived - favoured:z.3f}" for deprived, favoured in (rates.data, rates.network)]
        row += [f"{mean:z.3f}" for mean, _ in (of_data.accuracy, of_draws.accuracy)]
        row += [f"{mean:z.3f}" for mean, _ in (of_data.gap, of_draws.gap)]
        row += [f"{stand_in.worst.distance:.3f}", f"{stand_in.worst.by_chance[0]:.3f}"]
        yield [*row, f"{stand_in.information_kept:.2f}", ", ".join(stand_in.largest_losses)]


def _feature_rows() -> Iterator[list[str]]:
    for name in names():
        _, meta = open_network(name)
        if meta.stand_in is None:
            continue
        for column, bits in meta.stand_in.information.items():
            yield [name, column, *(f"{bit:.4f}" for bit in (bits.data, bits.network, bits.by_chance))]


def _bias(card: Card, net: BayesNet) -> tuple[str, str]:
    """Return the attributes that β can act on, and what it does to people by the first."""
    levels = {column.name: column.levels for column in net.columns}
    single = [name for name, protected in card.protected.items() if protected.of is None]
    parents = {*net.parents_of(card.label.column)}
    able = [name for name in single if parents.issuperset(card.bias_groups(name, levels))]
    edited = card.bias_groups(able[0], levels)
    return ", ".join(able), bias_kind(net.names, net.parents, card.label.column, edited)


if __name__ == "__main__":
    main()
