"""The networks that ship: what they are of, that β works on them, and how good draws are said to be."""

import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from conftest import study_of

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import Card, find_card, known_cards, read_card, shipped_cards
from fairbench_cli.data.load import Dataset
from fairbench_cli.data.table import Column, Table
from fairbench_cli.network.bias import shift
from fairbench_cli.network.draw import sample
from fairbench_cli.network.family_counts import fit_network
from fairbench_cli.network.files import decisive_text, from_json, load, open_network, to_json
from fairbench_cli.network.fit_quality import describe_distortion
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import compute_posterior

STUDY = study_of("shipped")
SHIPPED = STUDY.names()

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


def test_the_page_and_the_csv_file_say_what_the_files_say(tmp_path, monkeypatch):
    originals = (STUDY.PAGE, STUDY.ALL, STUDY.FEATURES)
    for name, original in zip(("PAGE", "ALL", "FEATURES"), originals, strict=True):
        copy = tmp_path / original.name
        copy.write_bytes(original.read_bytes())
        monkeypatch.setattr(STUDY, name, copy)
    STUDY.write_tables()
    for original in originals:
        assert (tmp_path / original.name).read_bytes() == original.read_bytes()


@pytest.mark.parametrize("name", ["ricci", "heart", "student-mat"])
def test_learned_and_measured_again_a_network_has_the_same_bytes(name, data_folder, tmp_path):
    STUDY.made(name, tmp_path, data_folder)
    file = f"{name}.network.json"
    assert (tmp_path / file).read_bytes() == (shipped_cards() / file).read_bytes()


CARD = Card.model_validate(
    {
        "name": "toy",
        "files": [{"name": "toy.csv"}],
        "label": {"column": "y", "favourable": "1"},
        "protected": {"s": {"deprived": ["a", "b"]}},
    }
)
COLUMNS = (
    Column("s", ("a", "b", "c")),
    Column("x", ("0", "1")),
    Column("z", ("p", "q")),
    Column("y", ("0", "1")),
)


def chain(rng, arcs=((), (0,), (1,), (0, 1))) -> BayesNet:
    sizes = [len(column.levels) for column in COLUMNS]
    cpts = [rng.dirichlet(np.ones(sizes[j]), [sizes[i] for i in own]) for j, own in enumerate(arcs)]
    return BayesNet(COLUMNS, tuple(arcs), tuple(cpts))


def joint_by_hand(net: BayesNet):
    """Return the joint table of all columns, one product of probabilities after another."""
    joint = np.zeros([len(column.levels) for column in net.columns])
    for at in product(*map(range, joint.shape)):
        joint[at] = np.prod(
            [
                cpt[*(at[i] for i in own), at[j]]
                for j, (own, cpt) in enumerate(zip(net.parents, net.cpts, strict=True))
            ]
        )
    return joint


def test_rates_and_the_worst_pair_are_those_of_the_joint_tables():
    rng = np.random.default_rng(1)
    net, other = chain(rng), chain(rng)
    rows = sample(other, 3000, 5)
    found = STUDY.measured_stand_in(Dataset(CARD, rows, {}), net, repeats=2)
    counts = np.zeros((3, 2, 2, 2))
    np.add.at(counts, tuple(rows.codes.T), 1 / len(rows))
    exact, far = joint_by_hand(net), {}
    for i in range(4):
        for j in range(i + 1, 4):
            others = tuple({0, 1, 2, 3} - {i, j})
            far["sxzy"[i], "sxzy"[j]] = abs(exact.sum(others) - counts.sum(others)).sum() / 2
    worst = max(far, key=far.get)
    assert (found.worst.columns, found.worst.distance) == (worst, pytest.approx(far[worst], abs=1e-6))
    for rates, joint in ((found.base_rates["s"].network, exact), (found.base_rates["s"].data, counts)):
        by_group = joint.sum((1, 2))
        expected = by_group[:2, 1].sum() / by_group[:2].sum(), by_group[2, 1] / by_group[2].sum()
        assert rates == pytest.approx(expected, abs=1e-6)


def test_what_columns_say_about_the_outcome_is_their_mutual_information():
    rng = np.random.default_rng(3)
    net = chain(rng)
    rows = sample(chain(rng), 3000, 5)
    found = STUDY.label_information(rows, net, "y")
    counts = np.zeros((3, 2, 2, 2))
    np.add.at(counts, tuple(rows.codes.T), 1 / len(rows))
    for source, joint in (("data", counts), ("network", joint_by_hand(net))):
        for i, name in enumerate("sxz"):
            pair = joint.sum(tuple({0, 1, 2} - {i}))
            entropies = [-(p * np.log2(p)).sum() for p in (pair.sum(0), pair.sum(1), pair)]
            bits = entropies[0] + entropies[1] - entropies[2]
            assert getattr(found[name], source) == pytest.approx(bits, abs=1e-6)
    assert {*found} == {*"sxz"}


def test_a_column_that_says_nothing_has_the_bits_of_chance():
    rng = np.random.default_rng(8)
    net = fit_network(Table(COLUMNS, np.zeros((8, 4), np.int16)), ((), (), (), ()))
    bits = []
    for _ in range(300):
        codes = np.stack([rng.integers(0, len(column.levels), 500) for column in COLUMNS], axis=1)
        bits.append(STUDY.label_information(Table(COLUMNS, codes.astype(np.int16)), net, "y")["s"])
    assert np.mean([one.data for one in bits]) == pytest.approx(bits[0].by_chance, rel=0.15)


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


def test_of_rows_of_the_network_itself_draws_are_as_good_as_the_rows():
    net = chain(np.random.default_rng(4))  # nobody's chance is near a half, where decisions would flip
    found = STUDY.measured_stand_in(Dataset(CARD, sample(net, 4000, 11), {}), net, repeats=12)
    chance, spread = found.worst.by_chance
    assert abs(found.worst.distance - chance) < 4 * spread
    for own in found.classifiers.values():
        for what in ("accuracy", "gap"):
            (mean, spread), *others = (getattr(one, what) for one in own.values())
            assert all(abs(mean - other) < 2 * (spread + more) for other, more in others)


def test_a_network_without_the_arc_loses_the_gap_and_says_so():
    rng = np.random.default_rng(7)
    y = np.array([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    net = chain(rng, ((), (0,), (), (0,)))
    net = replace(net, cpts=(*net.cpts[:3], y))
    rows = sample(net, 4000, 3)
    apart = fit_network(rows, ((), (), (), ()))
    kept, lost = (STUDY.measured_stand_in(Dataset(CARD, rows, {}), one, repeats=5) for one in (net, apart))
    for name in kept.classifiers:
        assert kept.classifiers[name]["draws"].gap[0] < -0.9
        assert lost.classifiers[name]["draws, tested on data"].gap[0] > -0.1
        assert lost.classifiers[name]["data"] == kept.classifiers[name]["data"]  # the same rows
    assert lost.base_rates["s"].network[0] == pytest.approx(lost.base_rates["s"].network[1])
    assert lost.worst.columns == ("s", "y")
    assert lost.worst.distance > 8 * kept.worst.distance


def test_data_in_other_columns_are_refused():
    net = chain(np.random.default_rng(0))
    with pytest.raises(ValueError, match="columns"):
        STUDY.measured_stand_in(Dataset(CARD, Table(COLUMNS[::-1], np.zeros((8, 4), np.int16)), {}), net)


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
