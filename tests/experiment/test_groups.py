"""A repeat counts its test rows by the joint levels of all protected attributes of the card."""

import csv
import json

import numpy as np
import pytest
import yaml
from conftest import LEARNED, bare_data, journal_lines, own_card, two_lines, write_config

from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.cell import draw, run_repeat
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.plan import make_cells, make_plan, read_plan, write_plan
from fairbench_cli.measures.counts import PAIR, count
from fairbench_cli.measures.thresholds import RATES, swept_counts


@pytest.fixture(scope="module")
def compas(tmp_path_factory):
    """One repeat of one cell on compas, with a sweep, and all that it came from."""
    folder = tmp_path_factory.mktemp("compas")
    path = write_config(
        folder / "a.yaml", interventions=["none"], classifiers=["naive-bayes"], sweep="acceptance-rate"
    )
    config = read_config(path)
    datasets = prepare_datasets(config, None)
    cells = make_cells(config, datasets)
    population = populate(datasets[0], config, folder)
    return config, datasets, cells, population, run_repeat(cells[-1], population, 0)


def test_groups_are_the_joint_levels_in_the_order_of_the_card(compas):
    config, datasets, cells, _, repeat = compas
    protected = make_plan(config, datasets, cells).protected("compas", "race")
    assert protected.names == ("race", "sex", "age_cat")
    assert protected == datasets[0].protected
    age = protected.attributes[2]
    assert (age.deprived, age.favoured) == (("Less than 25",), ("25 - 45", "Greater than 45"))
    assert repeat.counts.groups == protected.groups
    assert len(protected.groups) == 2 * 2 * 3
    assert repeat.counts.total == 500


def test_the_two_groups_of_the_run_are_a_sum(compas):
    _, datasets, cells, population, repeat = compas
    _, test = draw(cells[-1], population, 0)
    pair = datasets[0].protected.pair(repeat.counts, ("race",))
    assert np.array_equal(pair.labelled, count(test.s, test.y, test.y, PAIR).labelled)
    for attribute in ("sex", "age_cat"):
        levels = datasets[0].protected.levels(repeat.counts, (attribute,))
        assert np.array_equal(levels.group_total, np.bincount(test.features[attribute]))


def test_sweeps_sum_up_too(compas):
    _, datasets, _, population, repeat = compas
    assert repeat.swept.n.shape == (len(RATES), 12, 2, 2)
    rng = np.random.default_rng(0)
    joint, y, score = rng.integers(0, 12, 999), rng.integers(0, 2, 999), rng.integers(0, 7, 999) / 7
    many = swept_counts(joint, y, score, population.protected.groups)
    two = swept_counts(joint // 6, y, score, PAIR)  # race changes slowest
    assert np.allclose(datasets[0].protected.pair(many, ("race",)).n, two.n, rtol=0, atol=1e-6)


def test_the_plan_comes_back_without_the_cards(compas, tmp_path):
    card = own_card(tmp_path)
    config = read_config(write_config(tmp_path / "a.yaml", datasets=[str(card)], attributes=["sex × race"]))
    datasets = prepare_datasets(config, None)
    plan = make_plan(config, datasets, make_cells(config, datasets))
    write_plan(tmp_path, plan)
    card.unlink()
    again = read_plan(tmp_path)
    assert (again.datasets, again.cells) == (plan.datasets, plan.cells)
    assert again.config.to_config() == plan.config.to_config()
    assert again.config.attributes == ("sex×race",)


def test_the_journal_has_the_counts_of_every_group(tmp_path, say):
    config = write_config(tmp_path / "a.yaml", repeats=1, interventions=["none"])
    assert say("run", config, "-o", tmp_path / "out", "--jobs", "1").code == 0
    plan = read_plan(tmp_path / "out")
    for record in read_journals(tmp_path / "out" / "journal").records.values():
        assert plan.protected("compas", "race").levels(record.counts, ("sex",)).total == 500
    assert {np.shape(json.loads(line)["counts"]) for line in journal_lines(tmp_path / "out")} == {(12, 2, 2)}


def test_other_attributes_of_finished_results_train_nothing(tmp_path, say):
    config = write_config(tmp_path / "a.yaml", repeats=1, interventions=["none"])
    assert say("run", config, "-o", tmp_path / "out", "--jobs", "1").code == 0
    lines = journal_lines(tmp_path / "out")
    asked = "attributes=[sex, race, sex*race, race x age_cat]"
    done = say("run", config, "-o", tmp_path / "out", "--set", asked)
    assert done.code == 0, done.err
    assert "0 to do" in done.err
    assert journal_lines(tmp_path / "out") == lines
    assert read_plan(tmp_path / "out").config.attributes == ("sex", "race", "sex×race", "race×age_cat")
    compared = _compared(tmp_path / "out")
    assert compared == {"sex", "race", "sex × race", "race × age_cat"}
    assert say("report", tmp_path / "out", "-a", "age_cat", "-a", "sex x race").code == 0
    assert _compared(tmp_path / "out") == {"age_cat", "sex × race"}


def _compared(folder) -> set[str]:
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return {row["compared"] for row in csv.DictReader(file)}


@pytest.mark.gate
def test_an_attribute_that_does_not_fit_the_data_is_left_out(tmp_path, say):
    protected = yaml.safe_load((shipped_cards() / "compas.yaml").read_text())["protected"]
    for odd in (
        {"age_cat": {"deprived": "Less than 25", "favoured": "25 - 45"}},  # a level in neither group
        {"age_cat": {"deprived": ["Less than 25", "25 - 45", "Greater than 45"]}},  # nobody is favoured
        {"juv_fel_count": {"deprived": "many"}},  # no such level
    ):
        card = own_card(tmp_path, protected=protected | odd)
        config = write_config(tmp_path / "a.yaml", datasets=[str(card)])
        (dataset,) = prepare_datasets(read_config(config), None)
        (name,) = odd
        assert set(dataset.protected.names) == {"race", "sex", "age_cat"} - {name}
        done = say("plan", config, "--set", f"attributes=[{name}]")
        two_lines(done, f'no data set has the protected attribute "{name}" with groups that fit the data')
    config = write_config(tmp_path / "a.yaml", datasets=[{str(card): {"attribute": "juv_fel_count"}}])
    two_lines(say("plan", config), '"many"')


def test_an_attribute_of_one_data_set_is_enough(tmp_path):
    config = write_config(tmp_path / "a.yaml", datasets=["compas", "dutch"], attributes=["sex", "sex×race"])
    assert read_config(config).attributes == ("sex", "sex×race")


def test_a_selection_writes_what_it_has(tmp_path, say):
    for name in ("a", "b"):
        bare_data(tmp_path, name)
    datasets = [{"a.yaml": {"as": "one"}}, {"b.yaml": {"as": "two"}}]
    keys = {"datasets": datasets, "sample": LEARNED | {"require_arc": True}, "test": "original"}
    config = write_config(tmp_path / "c.yaml", **keys, figures=["network"], interventions=["none"])
    done = say("run", config, "-o", tmp_path / "out", "--only", "dataset=one", "--jobs", "1")
    assert done.code == 0, done.err
    drawn = {path.name.split(".")[0] for path in (tmp_path / "out" / "figures").iterdir()}
    assert len(drawn) == 1
    assert "one" in drawn.pop()
    assert say("report", tmp_path / "out").code == 0
