"""Joint attributes: what a card says of them, their column, and their counts."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.checks.groups import check_groups
from fairbench_cli.data.checks.rows import read_raw_rows
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import locate_files
from fairbench_cli.data.table import Roles, Table, to_sample
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.plan import RunPlan, make_cells
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import JointAttribute, ProtectedAttribute, ProtectedAttributes
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats

CARD = """\
name: mine
files: [mine.csv]
columns: {a: nominal}
label: {column: y, favourable: 1}
protected:
  race: {deprived: [b, o]}
  sex: {deprived: f}
  race-sex: {of: [race, sex]}
"""
ROWS = "race,sex,a,y\nw,m,p,1\nw,f,q,0\nb,m,p,0\nb,f,q,1\no,m,p,0\nw,m,q,0\n"


def dataset(tmp_path, card=CARD, rows=ROWS):
    (tmp_path / "mine.yaml").write_text(card, encoding="utf-8")
    (tmp_path / "mine.csv").write_text(rows, encoding="utf-8")
    read = read_card(tmp_path / "mine.yaml")
    return load(read, locate_files(read, [tmp_path]))


def test_a_joint_attribute_favours_whom_all_parts_favour(tmp_path):
    data = dataset(tmp_path)
    roles = data.roles("race-sex")
    assert roles == Roles(
        "y", "1", "race-sex", ("b-f", "b-m", "o-m", "w-f"), ("w-m",), ("race", "sex")
    )  # nobody is o-f
    sample = data.sample("race-sex")
    assert sample.features.names == ("race", "sex", "a", "race-sex")
    assert sample.features.columns[-1].levels == ("b-f", "b-m", "o-m", "w-f", "w-m")
    assert sample.s.tolist() == [1, 0, 0, 0, 0, 1]
    assert sample.protected == ("race-sex", "race", "sex")
    assert data.base_rates("race-sex")["w-m"] == 0.5
    assert "by race-sex: b-f (deprived) 1.000" in repr(data)


def test_a_single_attribute_hides_itself_alone(tmp_path):
    data = dataset(tmp_path)
    sample = data.sample("sex")
    assert sample.protected == ("sex",)
    assert sample.features.names == ("race", "sex", "a")
    assert replace(sample, protected=("sex", "race")).take(np.array([1, 0])).protected == ("sex", "race")


def test_a_row_of_another_joint_level_is_refused(tmp_path):
    data = dataset(tmp_path)
    roles = replace(data.roles("race-sex"), deprived=("b-f",))
    with pytest.raises(ValueError, match='"b-m" is no level of race-sex'):
        to_sample(data.table, roles)


OF = "of: [race, sex]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (OF, "of: [race, age]", '8: "age" is no protected attribute'),
        (OF, "of: [race, race-sex]", '8: "race-sex" is a joint attribute'),
        (OF, "of: [race]", "8: protected.race-sex: a joint attribute"),
        (OF, "of: [sex, sex]", '8: protected.race-sex.of: "sex" is listed'),
        (OF, "of: [race, sex], deprived: f", "8: protected.race-sex: deprived"),
        (OF, "of: [race, sex], favoured: f", "8: protected.race-sex: favoured"),
        (OF, "of: [race, sex], bias: {column: a, deprived: p}", "8: protected.race-sex: bias"),
        ("a: nominal", "race-sex: nominal", '8: "race-sex" is a column'),
        ("deprived: f", "deprived: x", '7: value "x" of column "sex" is not in the data'),
    ],
)
def test_a_wrong_joint_attribute(tmp_path, old, new, message):
    with pytest.raises(UserError) as error:
        dataset(tmp_path, CARD.replace(old, new)).roles("race-sex")
    assert str(error.value).startswith(f"{tmp_path}/mine.yaml:{message.replace(': ', ': error: ', 1)}")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS.replace("w,m", "w,f"), "nobody is favoured by all of race, sex"),
        (ROWS.replace("sex,a,y", "sex,race-sex,y"), '"race-sex" is a column of the data'),
    ],
)
def test_data_that_a_joint_attribute_does_not_fit(tmp_path, rows, message):
    with pytest.raises(UserError, match=message):
        dataset(tmp_path, CARD.replace("columns: {a: nominal}\n", ""), rows).roles("race-sex")


def test_levels_that_are_spelt_alike_are_refused(tmp_path):
    rows = "race,sex,a,y\nw,m,p,1\nw-x,f,q,0\nw,x-f,p,0\n"
    card = CARD.replace("[b, o]", "w-x").replace("deprived: f", "deprived: [f, x-f]")
    with pytest.raises(UserError, match="two joint levels of race-sex are spelt alike"):
        dataset(tmp_path, card, rows).roles("race-sex")


def test_data_check_counts_the_joint_groups(tmp_path):
    data = dataset(tmp_path)
    findings = list(check_groups(read_raw_rows(data.card, locate_files(data.card, [tmp_path]))))
    assert [f.what for f in findings if f.column == "race-sex"] == [
        "has 1 deprived row with favourable y",
        "has 3 deprived rows with unfavourable y",
        "has 1 favoured row with favourable y",
        "has 1 favoured row with unfavourable y",
    ]


def test_counts_know_the_joint_name():
    sex = ProtectedAttribute("sex", ("f", "m"), ("f",), ("m",))
    race = ProtectedAttribute("race", ("b", "w"), ("b",), ("w",))
    protected = ProtectedAttributes((sex, race), (JointAttribute("race-sex", ("race", "sex")),))
    counts = Counts(protected.groups, np.arange(16.0).reshape(4, 2, 2))
    for names in (("race-sex",), ("race-sex", "sex")):
        named, spelt = protected.levels(counts, names), protected.levels(counts, ("race", "sex"))
        assert named.groups == spelt.groups
        assert (named.n == spelt.n).all()
    assert protected.all_names == ("sex", "race", "race-sex")
    plain = {"cells": [], "row_values": {}, "records": []}
    repeats = DatasetRepeats("race-sex", protected, status=None, reason=None, counts=counts, **plain)
    assert repeats.compared_attributes([]) == ("race-sex",)
    assert repeats.compared_attributes(["race-sex", "sex × race", "age"]) == ("race-sex", "sex × race")
    assert repeats.pair(counts, "race-sex").group_total.tolist() == [66, 54]


def test_a_plan_keeps_the_joint_names():
    own = {
        "dataset": "d",
        "attribute": "s",
        "protected": [{"name": "s", "levels": ["a", "b"], "deprived": ["a"], "favoured": ["b"]}],
    }
    joint = {"joint": [{"name": "s-t", "of": ["s", "t"]}]}
    assert RunPlan(None, [own], []).protected("d", "s").joint == ()
    assert RunPlan(None, [own | joint], []).protected("d", "s").joint == (JointAttribute("s-t", ("s", "t")),)


def mine(tmp_path, **sample):
    rows = "race,sex,a,y\n" + "w,m,p,1\nw,f,q,0\nb,m,p,0\nb,f,q,1\n" * 30 + "o,m,p,0\n" * 9
    dataset(tmp_path, rows=rows)
    options = {"attribute": "race-sex"} | ({"require_arc": True} if sample.pop("arc", False) else {})
    changes = {"datasets": [{"mine.yaml": options}], "interventions": ["none"], "classifiers": ["tree"]}
    return write_config(tmp_path / "run.yaml", sample=sample, test="network", **changes)


def test_beta_on_a_joint_attribute_edits_whoever_is_deprived_by_a_part(tmp_path):
    config = read_config(mine(tmp_path, **{"from": "network"}, beta=[0, 0.5], arc=True))
    (prepared,) = prepare_datasets(config, tmp_path)
    assert prepared.describe()["edited_column"] == ["race", "sex"]
    assert not prepared.without_arc
    population = populate(prepared, config, tmp_path / "networks")
    (before, after) = (biased(population, beta).cpt("y") for beta in (0, 0.5))
    assert before.shape == after.shape == (3, 2, 2)  # race b, o, w; sex f, m
    expected = before[..., 1] * [[0.5, 0.5], [0.5, 0.5], [0.5, 1]]
    assert after[..., 1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("beta_on", "left"),
    [
        (["race", "sex"], [[0.25, 0.5], [0.25, 0.5], [0.5, 1]]),
        ({"race": 1, "sex": 0.5}, [[0.375, 0.5], [0.375, 0.5], [0.75, 1]]),
        ({"race-sex": 0.5}, [[0.75, 0.75], [0.75, 0.75], [0.75, 1]]),
    ],
)
def test_beta_on_several_attributes_acts_by_one_after_another(tmp_path, beta_on, left):
    config = read_config(mine(tmp_path, **{"from": "network"}, beta=[0.5], beta_on=beta_on, arc=True))
    (prepared,) = prepare_datasets(config, tmp_path)
    population = populate(prepared, config, tmp_path / "networks")
    before, after = (biased(population, beta).cpt("y")[..., 1] for beta in (0, 0.5))
    assert after == pytest.approx(before * left)


def test_beta_on_the_attribute_itself_has_the_key_of_before(tmp_path):
    keys = {}
    for name, more in {"plain": {}, "same": {"beta_on": "race-sex"}, "other": {"beta_on": ["sex"]}}.items():
        config = read_config(mine(tmp_path, **{"from": "network"}, beta=[0.5], arc=True, **more))
        # The arcs that are required are part of a key too.
        keys[name] = [cell.key for cell in make_cells(config, prepare_datasets(config, tmp_path))]
    assert keys["plain"] == keys["same"] != keys["other"]


@pytest.mark.parametrize("sample", [{"beta": [0, 0.5]}, {"beta": [0.5], "beta_on": ["sex", "race"]}])
def test_beta_names_the_parts_without_an_arc(tmp_path, sample):
    config = read_config(mine(tmp_path, **{"from": "network"}, **sample))
    with pytest.raises(UserError, match=r"sex is no parent of the outcome y .*so β has nothing to edit"):
        prepare_datasets(config, tmp_path)


@pytest.mark.parametrize(
    ("beta_on", "message"),
    [
        (["age"], 'beta_on: mine has no protected attribute "age"'),
        (["sex", "sex"], "names an attribute twice"),
        ({"sex": 2}, "beta_on"),
        ({"sex": 0}, "must be more than 0|above 0|greater than 0"),
        ([], "names no attribute"),
    ],
)
def test_what_beta_acts_on_is_checked(tmp_path, beta_on, message):
    with pytest.raises(UserError, match=message):
        read_config(mine(tmp_path, **{"from": "network"}, beta=[0.5], beta_on=beta_on))


def biased(population, beta):
    """Return the network that a cell draws from."""
    roles = population.roles
    return population.beta_bias.tilt(population.network, roles.label, roles.favourable, beta)


def test_a_network_may_draw_joint_levels_that_the_data_do_not_have(tmp_path):
    config = read_config(mine(tmp_path, **{"from": "network"}, beta=[0]))
    (prepared,) = prepare_datasets(config, tmp_path)
    drawn = Table(prepared.columns, np.array([[1, 0, 0, 0], [2, 1, 0, 1]], dtype=np.int16))
    sample = to_sample(drawn, prepared.roles)
    assert sample.features.columns[-1].levels == ("b-f", "b-m", "o-f", "o-m", "w-f", "w-m")
    assert sample.features["race-sex"].tolist() == [2, 5]
    assert sample.s.tolist() == [0, 1]
    assert prepared.without_arc == ["sex"]
