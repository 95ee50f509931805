"""The networks that ship: what they are of, that β works on them, and how good draws are said to be."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import find_card, known_cards, read_card, shipped_cards
from fairbench_cli.network.bias import shift
from fairbench_cli.network.files import decisive_text, from_json, load, open_network, to_json
from fairbench_cli.network.fit_quality import describe_distortion
from fairbench_cli.network.query import compute_posterior

SHIPPED = sorted(path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json"))
PAGES = Path(__file__).parents[2] / "docs"

# As in the papers: β acts on one attribute of them.
OF_ONE = {"adult": "sex", "compas": "race", "dutch": "sex"}

# Variants of rows and columns that a network is there of, and data that nobody can fetch.
WITHOUT = {"acs-employment", "acs-income-state", "baf", "propublica-recidivism"}


def test_every_data_set_has_a_network():
    variants = {
        name for name in known_cards() if "extends:" in (shipped_cards() / f"{name}.yaml").read_text()
    } - {*SHIPPED}
    assert {*SHIPPED} == {*known_cards()} - variants - WITHOUT


@pytest.mark.parametrize("name", SHIPPED)
def test_a_network_is_of_the_card_s_rows_and_beta_acts_on_every_attribute(name):
    card, (net, meta) = read_card(find_card(name)), open_network(name)
    assert (meta.source["dataset"], meta.source["sha256"]) == (
        name,
        {file.name: file.sha256 for file in card.files},
    )
    assert (meta.source["rows"], len(net.columns)) == (card.expected.rows, card.expected.columns)
    levels = {column.name: column.levels for column in net.columns}
    attributes = [one for one, protected in card.protected.items() if protected.of is None]
    assert meta.stand_in.attribute == attributes[0]
    for attribute in [OF_ONE[name]] if name in OF_ONE else attributes:
        groups, label = card.bias_groups(attribute, levels), card.label
        ((column, (deprived, _)),) = groups.items()
        # The arc is there, so at β = 1 nobody who is deprived is left with the favourable outcome.
        biased = shift(net, label.column, label.favourable, groups, 1.0)
        joint = compute_posterior(biased, [column, label.column]).table
        at = levels[label.column].index(label.favourable)
        assert all(joint[levels[column].index(level), at] == 0 for level in deprived)
        # Base rates of the card's rows, which the arc keeps up to what the other parents leave out.
        rates = meta.stand_in.base_rates[attribute]
        exact = compute_posterior(net, [attribute, label.column]).table
        own = [
            [level in who for level in levels[attribute]] for who in card.groups(attribute, levels)[attribute]
        ]
        expected = [exact[rows, at].sum() / exact[rows].sum() for rows in own]
        np.testing.assert_allclose(rates.network, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["ricci", "heart", "student-mat"])
def test_learned_again_a_network_is_the_same(name, data_folder):
    shipped, meta = open_network(name)
    again = fb.learn(name, data_dir=data_folder, require_arcs=meta.source["settings"]["whitelist"]).net
    assert (again.columns, again.parents) == (shipped.columns, shipped.parents)
    for one, other in zip(again.cpts, shipped.cpts, strict=True):
        assert np.array_equal(one, other)


def test_the_table_of_the_page_says_what_the_files_say():
    page = (PAGES / "standins.md").read_text(encoding="utf-8")
    every = pd.read_csv(PAGES / "reference/standins.csv", dtype=str).set_index("data set")
    assert list(every.index) == SHIPPED
    for name, row in every.iterrows():
        stand_in = open_network(name)[1].stand_in
        shown = stand_in.classifiers["logistic-regression"]["draws, tested on data"]
        numbers = f"{shown.accuracy[0]:z.3f}", f"{shown.gap[0]:z.3f}", f"{stand_in.information_kept:.2f}"
        assert tuple(row[["accuracy of draws", "gap of draws", "information kept"]]) == numbers
        lines = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith(f"| {name} ")]
        for cells in lines:
            told = [cell.strip() for cell in cells]
            assert told[0] == name
            assert told[1:] == [*row.iloc[:2], *row.iloc[7:-1]]


def test_a_network_that_misleads_says_so():
    """The names are those of the page."""
    said = {name: describe_distortion(name, open_network(name)[1].stand_in) for name in SHIPPED}
    assert [name for name, line in said.items() if line] == [
        *("acs-travel-time", "bank", "compas-all", "hmda-boston", "oulad", "south-german"),
    ]
    assert said["compas-all"] == (
        "compas-all is not like its data: rows drawn from its network keep 16 % of what columns say about "
        "the outcome (lost most: decile_score, priors_count, score_text) and give logistic regression a gap "
        "of −12.0 points by race in the place of −19.6"
    )
    before = open_network("compas-all")[1].stand_in.model_copy(update={"information": {}})  # not measured
    assert describe_distortion("compas-all", before).startswith("compas-all is not like its data: rows drawn")


MISLED = """
name: misled
repeats: 1
datasets: [dutch, compas-all]
sample: {from: shipped, size: 200, beta: [0]}
test: network
interventions: [none]
classifiers: [naive-bayes]
tables: []
"""


def test_a_run_and_its_plan_warn_in_one_line_for_a_network(tmp_path, say):
    (tmp_path / "c.yaml").write_text(MISLED)
    for done in (say("plan", "c.yaml"), say("run", "c.yaml", "-o", "out", "-j", "1")):
        assert done.code == 0
        printed = " ".join((done.out + done.err).split())
        assert printed.count("warning: compas-all is not like its data: rows drawn") == 1
        assert printed.count("is not like") == 1
    quiet = say("run", "c.yaml", "-o", "quiet", "-j", "1", "--quiet")
    assert "is not like" not in quiet.out + quiet.err


def test_what_was_measured_is_kept_and_decides_nothing(tmp_path):
    net, meta = open_network("compas")
    again, read = from_json(to_json(net, meta))
    assert read == meta
    bare = json.loads(to_json(net, replace(meta, stand_in=None)))
    path = shipped_cards() / "compas.network.json"
    assert json.loads(decisive_text(path)) == {key: bare[key] for key in bare if key != "sha256"}
    other = tmp_path / "n.json"
    other.write_text(to_json(again, replace(meta, stand_in=meta.stand_in.model_copy(update={"train": 7}))))
    assert decisive_text(other) == decisive_text(path)
    assert load(other)[1].stand_in.train == 7
    assert fb.load_network("compas").tilt(0.5).meta.stand_in is None  # it is of the data no more


def test_a_file_with_a_broken_stand_in_is_refused(tmp_path):
    content = json.loads((shipped_cards() / "ricci.network.json").read_text())
    content["stand_in"]["worst"]["distance"] = 2
    path = tmp_path / "n.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"stand_in\.worst\.distance"):
        load(path)


NUMBERS = """
name: toy
files: [toy.csv]
columns: {x: {kind: integer, network_bins: {edges: [10, 20]}}, z: {kind: real, network_bins: {quantiles: 2}}}
label: {column: y, favourable: 1}
protected: {s: {deprived: f}}
"""


def test_numbers_are_cut_in_a_network_alone(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        f"{'fm'[s]},{x},{x / 4},{int(x > 12)}"
        for s, x in zip(*rng.integers(0, (2, 30), (200, 2)).T, strict=True)
    ]
    (tmp_path / "toy.csv").write_text("\n".join(["s,x,z,y", *rows]))
    never = re.sub("columns: .*", "columns: {x: integer, z: real}", NUMBERS)
    texts = {"own": NUMBERS, "cut": NUMBERS.replace("network_bins", "bins"), "never": never}
    cards = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
        cards[name] = read_card(tmp_path / f"{name}.yaml")
    assert cards["own"].decisive() == cards["never"].decisive()  # real rows: the key is as without
    assert cards["own"].for_network().decisive() == cards["cut"].decisive()
    assert cards["cut"].for_network() is cards["cut"]
    own = fb.load(str(tmp_path / "own.yaml"))
    assert [column.kind for column in own.table.columns] == ["nominal", "number", "number", "nominal"]
    found = [fb.learn(one).net for one in (own, str(tmp_path / "own.yaml"), str(tmp_path / "cut.yaml"))]
    assert found[0].columns[1].levels == ("<=10", "11-20", ">20")
    for net in found[1:]:
        assert (net.columns, net.parents) == (found[0].columns, found[0].parents)
    with pytest.raises(UserError, match="network_bins"):
        fb.learn(str(tmp_path / "never.yaml"))


@pytest.mark.parametrize(
    "column", ["{network_bins: {edges: 1}}", "{kind: integer, cap: 3, network_bins: {edges: 1}}"]
)
def test_bins_for_a_network_are_of_a_number_that_is_not_cut(column, tmp_path):
    (tmp_path / "a.yaml").write_text(
        NUMBERS.replace("{kind: integer, network_bins: {edges: [10, 20]}}", column)
    )
    with pytest.raises(UserError, match=r"a\.yaml:4.* (numbers|number)"):
        read_card(tmp_path / "a.yaml")
