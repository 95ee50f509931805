"""Every shipped card says whose data it is and what is wrong with it, and its files say the same."""

from string import hexdigits
from typing import NamedTuple

import pytest
from cards_data import shipped_dataset

from fairbench_cli.data.card import find_card, known_cards, read_card


class Facts(NamedTuple):
    """What was counted on the files before there was a card: rows, rate, rates by attribute and level."""

    rows: int
    rate: float
    groups: dict[str, dict[str, float]]


FACTS = {
    "communities": Facts(1994, 0.502, {"racepctblack": {"fewer": 0.721, "more": 0.271}}),
    "oulad": Facts(
        21562, 0.680, {"gender": {"F": 0.693, "M": 0.668}, "disability": {"yes": 0.626, "no": 0.685}}
    ),
    "student-mat": Facts(395, 0.671, {"sex": {"F": 0.639, "M": 0.706}}),
    "student-por": Facts(649, 0.846, {"sex": {"F": 0.869, "M": 0.812}}),
}

# Cards that are tested in test_shipped.py.
ROWS = {
    *("adult", "adult-complete", "adult-friedler", "adult-numbers", "adult-split", "adult-train"),
    *("adult-train-white-black", "compas", "compas-leaky", "dutch", "dutch-codes", "dutch-swapped", "german"),
    *("propublica-recidivism", "propublica-violent-recidivism", "ricci"),
}
NO_FILE = {"acs-income-state", "baf"}  # tested on invented rows, as their files are not to be had everywhere


def near(rate, other):
    """Whether two rates are the same to three digits."""
    return abs(rate - other) <= 0.0005 + 1e-9


def differences(name, facts):
    """Return what a card expects, or was counted before, and its rows are not like."""
    dataset = shipped_dataset(name)
    expected = dataset.card.expected
    rates = {attribute: dataset.base_rates(attribute).to_dict() for attribute in dataset.card.protected}
    label = dataset.table[dataset.card.label.column]
    levels = dataset.table.columns[dataset.table.index(dataset.card.label.column)].levels
    favourable = float((label == levels.index(dataset.card.label.favourable)).mean())
    if not expected.rows == facts.rows == len(dataset):
        yield f"rows {expected.rows}, {facts.rows}, {len(dataset)}"
    if expected.columns != len(dataset.table.columns):
        yield f"columns {expected.columns}, {len(dataset.table.columns)}"
    if not (near(expected.favourable, favourable) and near(facts.rate, favourable)):
        yield f"rate {expected.favourable}, {facts.rate}, {favourable:.4f}"
    single = {attribute for attribute, protected in dataset.card.protected.items() if not protected.of}
    if not single <= set(expected.groups) <= set(rates):
        yield f"groups of {sorted(expected.groups)}, not {sorted(single)}"
    for attribute, groups in expected.groups.items():
        if set(groups) != set(rates[attribute]):
            yield f"levels of {attribute}: {sorted(groups)}, not {sorted(rates[attribute])}"
    for attribute, groups in [*expected.groups.items(), *facts.groups.items()]:
        for level, rate in groups.items():
            if not near(rate, rates[attribute].get(level, -1)):
                yield f"{attribute} {level}: {rate}, {rates[attribute].get(level)}"


def test_rows_and_rates_are_those_of_the_cards_and_of_an_earlier_count():
    wrong = {name: list(differences(name, facts)) for name, facts in FACTS.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("name", sorted({*FACTS, *NO_FILE} & set(known_cards())))
def test_a_card_tells_the_truth_of_its_data(name):
    card = read_card(find_card(name))
    assert all((card.about, card.licence, card.citation, card.left_out, card.traps, card.label.why))
    assert all(protected.why for protected in card.protected.values() if not protected.of)
    pinned = [file.url.split("/")[5] for file in card.files if file.url and "githubusercontent" in file.url]
    assert all(set(commit) <= set(hexdigits) and len(commit) >= 12 for commit in pinned)


def test_no_shipped_card_goes_untested():
    assert {*FACTS, *ROWS, *NO_FILE} >= set(known_cards())
