"""Every shipped card says whose data it is and what is wrong with it, and its files say the same."""

from pathlib import Path
from string import hexdigits
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cards_data import NO_FILE, shipped_dataset

import fairbench_cli as fb
from fairbench_cli.data.card import find_card, known_cards, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import locate


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
    if sorted(expected.groups) != sorted(single):
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
    found, tested = locate(card, [tmp_path]), locate(card, [tmp_path], card.tested_files)
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
