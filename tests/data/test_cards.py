"""Every shipped card says whose data it is and what is wrong with it, and its files say the same."""

from pathlib import Path
from string import hexdigits
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cards_data import NO_FILE, network_differences, shipped_dataset

import fairbench_cli as fb
from fairbench_cli.data.card import find_card, known_cards, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import data_folders, locate_files
from fairbench_cli.data.table import to_sample
from fairbench_cli.data.variants import find_parent


class Facts(NamedTuple):
    """What was counted on the files before there was a card: rows, rate, rates by attribute and level."""

    rows: int
    rate: float
    groups: dict[str, dict[str, float]]


FACTS = {
    "acs-income": Facts(
        665800, 0.369, {"SEX": {"male": 0.442, "female": 0.289}, "RAC1P": {"White": 0.391, "Black": 0.2455}}
    ),
    "acs-mobility": Facts(248375, 0.7358, {"SEX": {"male": 0.736, "female": 0.736}}),
    "acs-public-coverage": Facts(
        455316, 0.298, {"SEX": {"male": 0.316, "female": 0.283}, "RAC1P": {"Black": 0.411}}
    ),
    # Counted as over 20 minutes: .470, men .502, women .434.
    "acs-travel-time": Facts(216385, 1 - 0.470, {"SEX": {"male": 1 - 0.5023, "female": 1 - 0.4337}}),
    "adult": Facts(48842, 0.239, {"sex": {"Female": 1769 / 16192, "Male": 9918 / 32650}}),
    "adult-complete": Facts(45222, 0.248, {"sex": {"Female": 1669 / 14695, "Male": 9539 / 30527}}),
    "adult-friedler": Facts(30162, 0.249, {"race": {"White": 0.264, "Black": 0.130}}),
    "adult-gains": Facts(32561, 0.241, {"sex": {"Female": 1179 / 10771, "Male": 6662 / 21790}}),
    "adult-numbers": Facts(45222, 0.248, {"sex": {"Female": 1669 / 14695, "Male": 9539 / 30527}}),
    "adult-split": Facts(32561, 0.241, {"sex": {"Female": 1179 / 10771, "Male": 6662 / 21790}}),
    "adult-train": Facts(32561, 0.241, {"sex": {"Female": 1179 / 10771, "Male": 6662 / 21790}}),
    "adult-train-white-black": Facts(30940, 0.243, {"race": {"White": 0.256, "Black": 0.124}}),
    "bank": Facts(
        45211,
        0.117,
        {"age": {"under 25": 0.256, "over 60": 0.423}, "marital": {"single": 0.1495, "married": 0.101}},
    ),
    "communities": Facts(1994, 0.502, {"racepctblack": {"fewer": 0.721, "more": 0.271}}),
    "compas": Facts(6150, 0.534, {"race": {"African-American": 1795 / 3696, "Caucasian": 1488 / 2454}}),
    "compas-all": Facts(11038, 0.665, {"race": {"African-American": 0.605, "Caucasian": 0.715}}),
    "compas-leaky": Facts(6150, 0.534, {"sex": {"Female": 0.634, "Male": 0.509}}),
    "credit": Facts(30000, 0.779, {"SEX": {"male": 0.758, "female": 0.792}}),
    "dutch": Facts(60420, 0.476, {"sex": {"female": 9903 / 30273, "male": 18860 / 30147}}),
    "dutch-swapped": Facts(60420, 0.476, {"sex": {"female": 9903 / 30273, "male": 18860 / 30147}}),
    "german": Facts(1000, 0.700, {"sex": {"female": 0.648, "male": 0.723}}),
    "heart": Facts(303, 0.541, {"sex": {"female": 0.742, "male": 0.447}}),
    "hmda-boston": Facts(2380, 0.880, {"afam": {"black": 0.717, "not black": 0.907}}),
    "law-school": Facts(
        23082, 0.886, {"race": {"White": 0.919, "Black": 0.6145}, "gender": {"female": 0.875, "male": 0.895}}
    ),
    "law-school-clean": Facts(20798, 0.890, {"race": {"White": 0.921, "Non-White": 0.723}}),
    "law-school-lequy": Facts(18692, 0.902, {"race": {"White": 0.921, "Black": 0.618}}),
    "law-school-tensorflow": Facts(22387, 0.948, {"race": {"White": 0.966, "Black": 0.778}}),
    "nursery": Facts(12960, 4044 / 12960, {"finance": {"convenient": 0.286, "inconv": 0.338}}),
    "oulad": Facts(
        21562, 0.680, {"gender": {"F": 0.693, "M": 0.668}, "disability": {"yes": 0.626, "no": 0.685}}
    ),
    "propublica-recidivism": Facts(6167, 0.4555, {"race": {"African-American": 0.5235, "Caucasian": 0.391}}),
    "propublica-violent-recidivism": Facts(4010, 0.163, {"sex": {"Female": 0.092, "Male": 0.181}}),
    "resumes": Facts(4870, 0.0805, {"race": {"white": 0.0965, "black": 0.0645}}),
    "resumes-aer": Facts(4870, 0.0805, {"ethnicity": {"cauc": 0.0965, "afam": 0.0645}}),
    "ricci": Facts(118, 56 / 118, {"Race": {"B": 9 / 27, "H": 6 / 23, "W": 41 / 68}}),
    "south-german": Facts(1000, 0.700, {"age": {"25 and under": 0.579}}),
    "student-mat": Facts(395, 0.671, {"sex": {"F": 0.639, "M": 0.706}}),
    "student-por": Facts(649, 0.846, {"sex": {"F": 0.869, "M": 0.812}}),
    "ucb-admissions": Facts(4526, 1755 / 4526, {"Gender": {"Male": 1198 / 2691, "Female": 557 / 1835}}),
}

# By (group, label): (0,0), (0,1), (1,0), (1,1); group 0 is deprived, label 1 favourable.
CELLS = {
    ("adult", "sex"): (14423, 1769, 22732, 9918),
    ("adult-complete", "sex"): (13026, 1669, 20988, 9539),
    ("adult-train", "sex"): (9592, 1179, 15128, 6662),
    ("adult-numbers", "sex"): (13026, 1669, 20988, 9539),
    ("dutch", "sex"): (20370, 9903, 11287, 18860),
    ("dutch-swapped", "sex"): (11287, 18860, 20370, 9903),
    # The two-race file: 3,696 + 2,454 rows. Favourable is no new offence, hence the order.
    ("compas", "race"): (1901, 1795, 966, 1488),
}

CLEAN = {"dutch"}  # nothing in them leads astray that is known


def near(rate, other):
    """Whether two rates are the same to three digits."""
    return abs(rate - other) <= 0.0005 + 1e-9


def of(dataset, column, label=None):
    """Return the rows by level of a column, or those with the favourable outcome alone."""
    table = dataset.table
    levels = table.columns[table.index(column)].levels
    favourable = label and table.columns[table.index(label.column)].levels.index(label.favourable)
    rows = table[column] if label is None else table[column][table[label.column] == favourable]
    return dict(zip(levels, np.bincount(rows, minlength=len(levels)).tolist(), strict=True))


def differences(name, facts):
    """Return what a card expects, or was counted before, and its rows are not like."""
    dataset = shipped_dataset(name)
    expected = dataset.card.expected
    label = dataset.card.label
    favourable = of(dataset, label.column)[label.favourable] / len(dataset)
    single = [attribute for attribute, protected in dataset.card.protected.items() if not protected.of]
    rates: dict[str, dict[str, float]] = {attribute: {} for attribute in expected.groups}
    for attribute in single:
        people, good = of(dataset, attribute), of(dataset, attribute, label)
        rates[attribute] = {level: good[level] / count for level, count in people.items()}
    if not expected.rows == facts.rows == len(dataset):
        yield f"rows {expected.rows}, {facts.rows}, {len(dataset)}"
    if expected.columns != len(dataset.table.columns):
        yield f"columns {expected.columns}, {len(dataset.table.columns)}"
    if not (near(expected.favourable, favourable) and near(facts.rate, favourable)):
        yield f"rate {expected.favourable}, {facts.rate}, {favourable:.4f}"
    for attribute in dataset.card.protected:
        sample = to_sample(dataset.table, dataset.roles(attribute))
        if not set(np.unique(sample.s)) == set(np.unique(sample.y)) == {0, 1}:
            yield f"{attribute} has not two groups with two outcomes each"
        deprived, favoured = (sample.y[sample.s == group] for group in (0, 1))
        better = deprived.mean() - favoured.mean()
        error = np.sqrt(deprived.var() / len(deprived) + favoured.var() / len(favoured))
        if better > 2 * error and not any(trap.kind == "direction" for trap in dataset.card.traps):
            yield f"{attribute}: those called deprived fare better, and no trap says so"
    for column, codes in zip(dataset.table.columns, dataset.table.codes.T, strict=True):
        if not 0 <= codes.min() <= codes.max() < len(column.levels):
            yield f"codes of {column.name}: {codes.min()} to {codes.max()}, levels: {len(column.levels)}"
    if sorted(expected.groups) != sorted(single):
        yield f"groups of {sorted(expected.groups)}, not {sorted(single)}"
    if differing := network_differences(name, dataset):
        yield f"in the network: {', '.join(differing)}"
    for attribute, groups in expected.groups.items():
        if set(groups) != set(rates[attribute]):
            yield f"levels of {attribute}: {sorted(groups)}, not {sorted(rates[attribute])}"
    for attribute, groups in [*expected.groups.items(), *facts.groups.items()]:
        for level, rate in groups.items():
            if not near(rate, rates[attribute].get(level, -1)):
                yield f"{attribute} {level}: {rate}, {rates[attribute].get(level)}"


QUICK = {"compas", "german", "heart", "ricci", "dutch", "resumes"}
"""One data set a kind of file: the others are read by night."""


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in FACTS]
)
def test_rows_and_rates_are_those_of_the_card_and_of_an_earlier_count(name):
    assert list(differences(name, FACTS[name])) == []


@pytest.mark.parametrize("name", sorted({*FACTS, *NO_FILE} & set(known_cards())))
def test_a_card_tells_the_truth_of_its_data(name):
    card = read_card(find_card(name))
    assert all((card.about, card.licence, card.citation, card.left_out, card.label.why))
    assert bool(card.traps) is (name not in CLEAN)
    assert all(protected.why for protected in card.protected.values() if not protected.of)
    pinned = [file.url.split("/")[5] for file in card.files if file.url and "githubusercontent" in file.url]
    assert all(set(commit) <= set(hexdigits) and len(commit) >= 12 for commit in pinned)


def test_no_shipped_card_goes_untested():
    assert {*FACTS, *NO_FILE} >= set(known_cards())


def test_the_division_of_adult_is_its_two_files():
    whole = shipped_dataset("adult").table.to_pandas()
    path = find_card("adult-split")
    card, places = read_card(path), data_folders(None, path)
    found = load(card, locate_files(card, places), locate_files(card, places, card.test_files))
    for rows, of_adult in ((found.table, whole[:32561]), (found.test, whole[32561:])):
        own, theirs = rows.to_pandas(), of_adult.reset_index(drop=True)
        assert len(own) == len(theirs)
        # Bins of capital losses that only adult.test has are the nearest that adult.data has.
        same = [name for name in own if name != "capital_loss"]
        assert own[same].astype(str).equals(theirs[same].astype(str))


@pytest.mark.parametrize(("name", "attribute"), CELLS)
def test_cells(name, attribute):
    data = shipped_dataset(name)
    sample = to_sample(data.table, data.roles(attribute))
    assert tuple(np.bincount(2 * sample.s + sample.y, minlength=4)) == CELLS[name, attribute]


def test_adult_columns_are_those_of_the_published_networks():
    table = shipped_dataset("adult").table
    assert "fnlwgt" not in table.names
    assert "education_num" not in table.names
    assert table.columns[0].levels[:2] == ("17-24", "25-31")
    assert table.columns[-1].levels == ("<=50K", ">50K")
    assert "?" in table.columns[table.index("workclass")].levels
    assert "?" not in [
        level for column in shipped_dataset("adult-complete").table.columns for level in column.levels
    ]


# A state's file as the Census writes it: numbers with leading zeros, and empty cells of who is not asked.
STATE = """RT,SERIALNO,ST,PWGTP,AGEP,CIT,COW,MAR,RELP,SCHL,SEX,WKHP,OCCP,PINCP,POBP,RAC1P
P,2018HU0000001,26,00010,40,1,1,1,00,21,1,40,0440,0050001,026,1
P,2018HU0000001,26,00010,39,1,4,1,01,22,2,38,2310,0050000,006,1
P,2018HU0000002,26,00022,17,1,1,5,02,15,2,10,4720,0000101,303,2
P,2018HU0000003,26,00031,70,4,7,2,00,24,1,99,9830,0090000,215,5
P,2018HU0000004,26,00001,30,5,6,3,12,16,2,35,6260,0020000,460,9
P,2018HU0000005,26,00010,16,1,1,5,02,13,1,20,4720,0008000,026,1
P,2018HU0000006,26,00010,50,1,1,1,00,16,1,40,4720,0000100,026,1
P,2018HU0000007,26,00010,50,1,1,1,00,16,2,,4720,0060000,026,1
P,2018HU0000008,26,00010,08,1,,5,02,05,2,,,,026,1
P,2018HU0000009,26,00000,50,1,1,1,00,16,2,40,4720,0060000,026,1
"""


def test_the_file_of_a_state_has_the_filters_of_the_task(tmp_path, monkeypatch):
    """Of ten people the first five are over 16, earned over 100 dollars, work and weigh at least 1."""
    monkeypatch.chdir(tmp_path)
    Path("psam_p26.csv").write_text(STATE, encoding="utf-8")
    Path("michigan.yaml").write_text("name: michigan\nextends: acs-income-state\nfiles: [psam_p26.csv]\n")
    dataset = fb.load("michigan.yaml", data_dir=tmp_path)
    rows = dataset.to_pandas()
    assert rows["PINCP"].tolist() == [">50K", "<=50K", "<=50K", ">50K", "<=50K"]
    assert rows["SEX"].tolist() == ["male", "female", "female", "male", "female"]
    assert rows["OCCP"].tolist() == ["management", "education", "sales", "military", "construction"]
    assert rows["POBP"].tolist() == ["United States", "United States", "Latin America", "Asia", "Africa"]
    assert rows["RELP"].tolist() == ["reference person", "spouse", "child", "reference person", "roommate"]
    assert rows["RAC1P"].tolist()[2:] == ["Black", "American Indian or Alaska Native", "two or more"]
    assert rows["WKHP"].tolist() == ["40", "35-39", "<20", ">=60", "35-39"]
    assert [column.kind for column in dataset.table.columns if column.name in ("AGEP", "SCHL", "OCCP")] == [
        *("bins", "bins", "nominal")
    ]
    assert dataset.table.names == tuple(read_card(find_card("acs-income")).columns)


# The same for the task of employment, which keeps everybody.
EVERYBODY = """ST,PWGTP,AGEP,CIT,MAR,RELP,SCHL,SEX,ESR,RAC1P,DIS,ESP,MIG,MIL,ANC,NATIVITY,DEAR,DEYE,DREM
06,00010,40,1,1,00,21,1,1,1,2,,1,4,1,1,2,2,2
06,00010,39,1,1,01,22,2,2,1,2,,1,4,1,1,2,2,2
06,00022,17,1,5,02,15,2,1,2,2,7,3,4,2,1,2,2,1
06,00031,70,4,2,00,24,1,6,6,1,,1,2,4,2,1,2,2
06,00001,30,5,3,12,16,2,4,9,2,,2,1,1,2,2,2,2
06,00010,00,1,5,02,,1,,1,2,1,,,3,1,2,2,
06,00000,08,1,5,02,05,2,,8,2,3,1,,8,1,2,2,2
"""


def test_employment_is_of_everybody_and_at_work_is_code_1(tmp_path):
    """As in folktables: no filter, and ESR 1; whoever is not asked is not at work."""
    (tmp_path / "psam_p06.csv").write_text(EVERYBODY, encoding="utf-8")
    dataset = fb.load("acs-employment", data_dir=tmp_path)
    rows = dataset.to_pandas()
    assert rows["ESR"].eq("at work").tolist() == [True, False, True, False, False, False, False]
    assert rows["ESP"].tolist()[2::3] == ["mother works", "both parents work"]
    assert rows["MIL"].tolist() == ["never", "never", "never", "before", "now", "under 17", "under 17"]
    assert rows["DREM"].tolist()[-2:] == ["under 5", "no"]
    assert rows["MIG"].tolist()[-3:] == ["abroad", "under 1", "same house"]
    assert rows["SCHL"].tolist()[-2:] == ["missing", "no diploma"]
    # The features of folktables in its order, and the label.
    features = "AGEP SCHL MAR RELP DIS ESP CIT MIG MIL ANC NATIVITY DEAR DEYE DREM SEX RAC1P ESR"
    assert " ".join(dataset.table.names) == features


def test_account_frauds_are_read_as_their_authors_write_them(tmp_path):
    """Rows of BAF's layout: -1 is unknown, income is in tenths that are not exact, honest is favourable."""
    card = read_card(find_card("baf"))
    names = list(card.columns)
    rng = np.random.default_rng(5)
    count = 400
    choices: dict[str, object] = {
        "fraud_bool": [0, 0, 0, 1],
        "income": [0.1, 0.2, 0.30000000000000004, 0.6000000000000001, 0.9],
        "prev_address_months_count": [-1, -1, -1, 0, 40, 380],
        "customer_age": range(10, 100, 10),
        "intended_balcon_amount": [-1.33, 20.5, 112.9],
        "bank_months_count": [-1, 1, 32],
        "session_length_in_minutes": [-1.0, 3.4, 80.0],
        "device_distinct_emails_8w": [-1, 0, 1, 2],
        "device_fraud_count": [0],
        "month": range(8),
    }
    words = ("payment_type", "employment_status", "housing_status", "source", "device_os")
    flags = ("email_is_free", "phone_home_valid", "phone_mobile_valid", "has_other_cards", "foreign_request")
    choices |= {name: ["AA", "AB", "AC"] for name in words}
    choices |= {name: [0, 1] for name in (*flags, "keep_alive_session")}
    choices |= {name: range(300) for name in names if name not in choices}
    made = pd.DataFrame({name: rng.choice(np.asarray(choices[name]), count) for name in names})
    made.to_csv(tmp_path / "Base.csv", index=False)
    found, tested = locate_files(card, [tmp_path]), locate_files(card, [tmp_path], card.tested_files)
    dataset = load(card, found, tested)
    assert set(names) - set(dataset.table.names) == {"device_fraud_count", "month"}
    assert (len(dataset), len(dataset.test)) == ((made.month < 6).sum(), (made.month >= 6).sum())
    for part, rows in ((made[made.month < 6], dataset.table), (made[made.month >= 6], dataset.test)):
        levels = rows.to_pandas()
        for name in ("prev_address_months_count", "device_distinct_emails_8w", "bank_months_count"):
            assert (levels[name] == "unknown").tolist() == (part[name] == -1).tolist()
        unknown = part["intended_balcon_amount"] < 0
        assert (levels["intended_balcon_amount"] == "unknown").tolist() == unknown.tolist()
        assert (levels["income"] == "low").tolist() == part["income"].between(0.25, 0.45).tolist()
        assert (levels["fraud_bool"] == "honest").tolist() == (part["fraud_bool"] == 0).tolist()
        assert (levels["customer_age"] == "50 or more").tolist() == (part["customer_age"] >= 50).tolist()


def test_two_lines_of_a_card_say_what_it_is_a_variant_of():
    cards = [read_card(find_card(name)) for name in known_cards()]
    assert {card.name: find_parent(card.name) for card in cards} == {
        card.name: card.variant_of for card in cards
    }
    assert [card.name for card in cards] == known_cards()
