"""The shipped cards over the official files have the numbers that the literature and our own counts give."""

import numpy as np
import pytest
from cards_data import network_differences
from cards_data import shipped_dataset as dataset

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import find_files, folders, locate
from fairbench_cli.data.table import to_sample

# By (group, label): (0,0), (0,1), (1,0), (1,1); group 0 is deprived, label 1 favourable.
CELLS = {
    ("adult", "sex"): (14423, 1769, 22732, 9918),
    ("adult-complete", "sex"): (13026, 1669, 20988, 9539),
    ("adult-train", "sex"): (9592, 1179, 15128, 6662),
    ("adult-numbers", "sex"): (13026, 1669, 20988, 9539),
    ("dutch-codes", "sex"): (20370, 9903, 11287, 18860),
    ("dutch", "sex"): (20370, 9903, 11287, 18860),
    ("dutch-swapped", "sex"): (11287, 18860, 20370, 9903),
    # The two-race file: 3,696 + 2,454 rows. Favourable is no new offence, hence the order.
    ("compas", "race"): (1901, 1795, 966, 1488),
}


def test_the_division_of_adult_is_its_two_files():
    whole = dataset("adult").table.to_pandas()
    path = find_card("adult-split")
    card, places = read_card(path), folders(None, path)
    found = load(card, locate(card, places), locate(card, places, card.test_files))
    for rows, of_adult in ((found.table, whole[:32561]), (found.test, whole[32561:])):
        own, theirs = rows.to_pandas(), of_adult.reset_index(drop=True)
        assert len(own) == len(theirs)
        # Bins of capital losses that only adult.test has are the nearest that adult.data has.
        same = [name for name in own if name != "capital_loss"]
        assert own[same].astype(str).equals(theirs[same].astype(str))


@pytest.mark.parametrize(("name", "attribute"), CELLS)
def test_cells(name, attribute):
    data = dataset(name)
    sample = to_sample(data.table, data.roles(attribute))
    assert tuple(np.bincount(2 * sample.s + sample.y, minlength=4)) == CELLS[name, attribute]


def test_adult_columns_are_those_of_the_published_networks():
    table = dataset("adult").table
    assert "fnlwgt" not in table.names
    assert "education_num" not in table.names
    assert table.columns[0].levels[:2] == ("17-24", "25-31")
    assert table.columns[-1].levels == ("<=50K", ">50K")
    assert "?" in table.columns[table.index("workclass")].levels
    assert "?" not in [level for column in dataset("adult-complete").table.columns for level in column.levels]


@pytest.mark.parametrize("name", ["adult", "compas", "dutch", "german", "ricci"])
def test_a_fitted_network_has_the_columns_and_tables_of_the_data(name):
    table = dataset(name).table
    if any(column.kind == "number" for column in table.columns):
        card, found = find_files(name)
        table = load(card.for_network(), found).table
    assert not network_differences(name, table)
