"""Keys and seeds: what decides a cell's numbers decides its key, and nothing else does."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import LEARNED, SMALL, bare_data, own_card, write_config

from fairbench_cli.base.checksums import canonical_json, derive_seed, digest
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.cell import draw
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.plan import Cell, make_cells
from fairbench_cli.experiment.running.run import prepare

ONE = {"interventions": ["massaging"], "classifiers": ["tree"], "sample": SMALL["sample"] | {"beta": [0.5]}}


def cells_of(path: Path) -> list[Cell]:
    config = read_config(path)
    return make_cells(config, prepare_datasets(config, None))


def keys(path: Path) -> set[str]:
    return {cell.key for cell in cells_of(path)}


def key(tmp_path: Path, **changes) -> str:
    (cell,) = cells_of(write_config(tmp_path / "one.yaml", **ONE | changes))
    return cell.key


def sample(**changes) -> dict:
    return {"sample": ONE["sample"] | changes}


DECIDING = {
    "beta": sample(beta=[0.25]),
    "intervention": {"interventions": ["reweighing"]},
    "its parameter": {"interventions": [{"massaging": {"ranker": "logistic"}}]},
    "include_protected of all": {"include_protected": True},
    "include_protected of one": {"interventions": [{"massaging": {"include_protected": True}}]},
    "classifier": {"classifiers": ["naive-bayes"]},
    "a classifier's parameter": {"classifiers": [{"tree": {"max_depth": 3}}]},
    "seed": {"seed": 8},
    "size": sample(size=501),
    "direction of the bias": sample(bias_direction="both"),
    "data set": {"datasets": ["dutch"]},
    "attribute": {"datasets": [{"compas": {"attribute": "sex", "missing_arc": "leave"}}]},
}

NOT_DECIDING = {
    "repeats": {"repeats": 31},
    "metrics": {"metrics": ["accuracy"]},
    "tables": {"tables": ["discrimination-accuracy"]},
    "attributes": {"attributes": ["sex", "race×age_cat"]},
    "name": {"name": "another"},
    "a default spelled out": {"interventions": [{"massaging": {"ranker": "naive-bayes"}}]},
    "what to do without an arc, where there is one": sample(missing_arc="leave"),
    "order of the keys": dict(reversed(list((SMALL | ONE).items()))),
}


@pytest.mark.parametrize("change", DECIDING.values(), ids=DECIDING)
def test_what_decides_numbers_changes_the_key(tmp_path, change):
    assert key(tmp_path, **change) != key(tmp_path)


@pytest.mark.parametrize("change", NOT_DECIDING.values(), ids=NOT_DECIDING)
def test_nothing_else_changes_the_key(tmp_path, change):
    assert key(tmp_path, **change) == key(tmp_path)


def test_of_the_card_what_decides_numbers_changes_the_key(tmp_path):
    card = yaml.safe_load((shipped_cards() / "compas.yaml").read_text())
    plain = key(tmp_path, datasets=[str(own_card(tmp_path))])
    prose = own_card(tmp_path, "prose.yaml", title="Another", citation="Nobody (2000)", licence="none")
    assert key(tmp_path, datasets=[str(prose)]) == plain
    race = card["protected"]["race"]
    swapped = {"race": {"deprived": race["favoured"], "favoured": race["deprived"]}}
    other = own_card(tmp_path, "other.yaml", protected=card["protected"] | swapped)
    assert key(tmp_path, datasets=[str(other)]) != plain


def test_the_shipped_network_decides(tmp_path):
    card = own_card(tmp_path)
    before = key(tmp_path, datasets=[str(card)])
    path = tmp_path / "card.network.json"
    network = json.loads(path.read_text())
    del network["sha256"]
    network["stand_in"]["repeats"] += 1  # what was measured decides nothing
    path.write_text(json.dumps(network))
    assert key(tmp_path, datasets=[str(card)]) == before
    root = next(cpt for cpt in network["cpts"].values() if not cpt["parents"])
    root["rows"] = root["rows"][::-1]
    path.write_text(json.dumps(network))
    assert key(tmp_path, datasets=[str(card)]) != before


def test_data_and_network_settings_decide(tmp_path):
    def of(card: Path, test: str = "original", **settings) -> str:
        return key(tmp_path, datasets=[str(card)], sample=LEARNED | settings, test=test)

    card = bare_data(tmp_path, "a")
    shutil.copytree(tmp_path, tmp_path / "flip")
    shutil.copytree(tmp_path, tmp_path / "swap")
    shutil.copytree(tmp_path, tmp_path / "same")
    different = {
        "plain": of(card),
        "data": of(bare_data(tmp_path / "flip", "a", flip=True)),
        "column order": of(bare_data(tmp_path / "swap", "a", swap=True)),
        "test rows": of(card, test="network"),
        "learner": of(card, learner="tabu"),
        "score": of(card, score="aic"),
        "most parents": of(card, max_parents=2),
        "an arc required": of(card, require_arc=True),
        "the outcome a sink": of(card, outcome_sink=True),
    }
    assert len(set(different.values())) == len(different)
    assert of(bare_data(tmp_path / "same", "a")) == different["plain"]


def test_no_two_cells_share_a_key_and_order_does_not_matter(tmp_path):
    wide = {
        "datasets": ["compas", "dutch"],
        "sample": SMALL["sample"] | {"beta": [0, 0.5, 1]},
        "interventions": ["none", {"massaging": {"ranker": ["naive-bayes", "logistic"]}}, "reweighing"],
        "classifiers": ["tree", {"tree": {"max_depth": [2, 3]}}],
    }
    config = write_config(tmp_path / "a.yaml", **wide)
    found = [cell.key for cell in cells_of(config)]
    assert len(set(found)) == len(found) == 2 * 3 * 4 * 3
    turned = {k: v[::-1] if isinstance(v, list) else v | {"beta": [1, 0.5, 0]} for k, v in wide.items()}
    assert keys(write_config(tmp_path / "b.yaml", **turned)) == set(found)


@pytest.mark.parametrize(
    "change",
    [
        sample(beta=[0.5, 0.5]),
        sample(beta=[0, -0.0]),
        {"interventions": ["none", "none"]},
        {"interventions": ["none", {"none": {"include_protected": False}}]},
    ],
)
def test_a_cell_listed_twice_is_a_mistake(tmp_path, change):
    with pytest.raises(UserError, match="twice"):
        cells_of(write_config(tmp_path / "twice.yaml", **ONE | change))


def test_training_rows_depend_on_neither_technique_nor_classifier(tmp_path):
    config = write_config(
        tmp_path / "a.yaml",
        interventions=["none", "massaging", {"none": {"include_protected": True}}],
        classifiers=["tree", "naive-bayes"],
    )
    given = read_config(config)
    (dataset,) = prepare_datasets(given, None)
    population = populate(dataset, given, tmp_path)
    cells = make_cells(given, [dataset])
    for beta, repeat in itertools.product((0.0, 1.0), range(2)):
        same = [cell for cell in cells if cell.beta == beta]
        assert len(same) == 6
        draws = [draw(cell, population, repeat)[0] for cell in same]
        for other in draws[1:]:
            assert np.array_equal(draws[0].features.codes, other.features.codes)
            assert np.array_equal(draws[0].y, other.y)
        tests = [draw(cell, population, repeat)[1] for cell in same]
        assert all(np.array_equal(tests[0].features.codes, test.features.codes) for test in tests)
        assert not np.array_equal(tests[0].features.codes, draws[0].features.codes)
    first, second = (draw(cells[0], population, repeat)[0] for repeat in range(2))
    assert not np.array_equal(first.features.codes, second.features.codes)


MINE = """name: mine
files: [mine.csv]
columns: {x: {kind: integer}}
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
"""


def test_real_rows_are_dealt_out_anew_in_every_repeat(tmp_path):
    (tmp_path / "mine.yaml").write_text(MINE)
    rows = "".join(f"{i},{'fm'[i % 2]},{i // 3 % 2}\n" for i in range(30))
    (tmp_path / "mine.csv").write_text("x,sex,y\n" + rows)
    config = tmp_path / "a.yaml"
    write_config(
        config, datasets=["mine.yaml"], sample={"from": "data", "train_fraction": 0.7}, test="holdout"
    )
    given = read_config(config)
    (dataset,) = prepare_datasets(given, tmp_path)
    population = populate(dataset, given, tmp_path)
    cells = make_cells(given, [dataset])
    seen = set()
    for repeat in range(3):
        deals = [draw(cell, population, repeat) for cell in cells]
        (train, test), *others = [tuple(part.features["x"].tolist() for part in deal) for deal in deals]
        assert all(other == (train, test) for other in others)
        assert (len(train), sorted(train + test)) == (21, list(range(30)))
        seen.add(tuple(train))
    assert len(seen) == 3


def test_a_data_set_takes_only_the_interventions_it_asks_for(tmp_path):
    twice = ["compas", {"compas": {"as": "again", "interventions": ["massaging"], "size": 10}}]
    cells = cells_of(write_config(tmp_path / "a.yaml", datasets=twice, interventions=["none", "massaging"]))
    assert {(c.dataset, c.technique.spec.name) for c in cells} == {
        ("compas", "none"),
        ("compas", "massaging"),
        ("again", "massaging"),
    }
    twice[1]["compas"]["classifiers"] = ["tree"]
    both = ["tree", "naive-bayes"]
    cells = cells_of(write_config(tmp_path / "a.yaml", datasets=twice, classifiers=both))
    assert {c.classifier.name for c in cells if c.dataset == "again"} == {"tree"}
    assert {c.classifier.name for c in cells if c.dataset == "compas"} == set(both)


def test_across_beta_only_the_outcome_and_its_descendants_change(tmp_path):
    given = read_config(write_config(tmp_path / "a.yaml", datasets=["dutch"], interventions=["none"]))
    (dataset,) = prepare_datasets(given, None)
    population = populate(dataset, given, tmp_path)
    none, most = (draw(cell, population, 0)[0] for cell in make_cells(given, [dataset]))
    network = population.network
    below = {dataset.roles.label}
    for j in network.order:
        if below & set(network.parents_of(network.names[j])):
            below.add(network.names[j])
    for name in none.features.names:
        if name not in below:
            assert np.array_equal(none.features[name], most.features[name]), name
    changed = none.y != most.y
    assert changed.any()
    assert (none.s[changed] == 0).all()
    assert most.y[most.s == 0].sum() == 0


def test_seeds_of_techniques_and_classifiers(tmp_path):
    cells = cells_of(write_config(tmp_path / "a.yaml", classifiers=["tree", "random-forest"]))
    technique = {cell.technique_seed(0) for cell in cells}
    assert len(technique) == 3  # techniques; neither β, so that repeats are paired, nor the classifier
    classifier = {cell.classifier_seed(0) for cell in cells}
    assert len(classifier) == 2  # classifiers; neither β nor the technique
    assert all(0 <= seed < 2**32 for seed in classifier)
    assert len({cells[0].sample_seed(repeat) for repeat in range(100)}) == 100
    assert cells[0].sample_seed(0) != cells[0].test_seed(0)


def test_canonical_text_is_one_text_and_strict():
    assert canonical_json({"b": 1, "a": "é"}) == canonical_json({"a": "é", "b": 1}) == '{"a":"é","b":1}'
    with pytest.raises(ValueError, match="JSON"):
        digest(float("nan"))
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    assert 0 <= derive_seed("x") < 2**63


def test_only_keeps_the_cells_that_match(tmp_path):
    config = write_config(tmp_path / "a.yaml", datasets=["compas", "dutch"])

    def only(*filters: str) -> list[Cell]:
        return prepare(config, folder=tmp_path, filters=filters).selected

    assert {cell.dataset for cell in only("dataset=dutch")} == {"dutch"}
    assert {cell.beta for cell in only("beta=1.0", "intervention=none")} == {1.0}
    assert {cell.beta for cell in only("beta=1,beta=0")} == {0.0, 1.0}
    assert {cell.technique.spec.name for cell in only("intervention!=none,intervention!=massaging")} == {
        "uniform-sampling"
    }
    assert len(only("include_protected=false")) == len(cells_of(config))
    for bad in ("dataset", "colour=red", "beta=0.3", "intervention=masaging", "dataset=dutch,", ""):
        with pytest.raises(UserError) as caught:
            only(bad)
        assert str(caught.value).startswith("--only: error: ")
    with pytest.raises(UserError, match='did you mean "massaging"'):
        only("intervention=masaging")
