"""The key `edit`: which table β changes, in a config, its plan, its cells and its answer.

In the shipped network of COMPAS race is a parent of the outcome, and sex is a child of it without children.
"""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import SMALL, own_card, two_lines, write_config

import fairbench_cli as fb
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.cell import draw
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate, prepare_datasets
from fairbench_cli.experiment.plan import RunPlan, arc_in_words, bias_in_words, make_cells, make_plan
from fairbench_cli.papers import __file__ as papers

SAMPLE = SMALL["sample"]
MEN = "the share of men whose two_year_recid is 0 who are recorded as women"
SEX = {"attribute": "sex"}


def planned(tmp_path: Path, options: dict, **sample) -> RunPlan:
    """Return the plan of a config that trains on COMPAS."""
    path = write_config(tmp_path / "c.yaml", datasets=[{"compas": options}], sample=SAMPLE | sample)
    config = read_config(path)
    datasets = prepare_datasets(config, None)
    return make_plan(config, datasets, make_cells(config, datasets))


def keys(plan: RunPlan, *, biased: bool = True) -> list[str]:
    return [cell["key"] for cell in plan.cells if cell["beta"] or not biased]


@pytest.mark.gate
def test_keys_tell_edits_apart_that_differ(tmp_path):
    idle, group, learned, both = (
        planned(tmp_path, SEX | options)
        for options in (
            {"missing_arc": "leave"},
            {"edit": "group"},
            {"edit": "as-learned"},
            {"edit": "group", "bias_direction": "both"},
        )
    )
    assert not set(keys(idle)) & set(keys(group))
    assert keys(group) == keys(learned)  # the same table: the same numbers
    assert not set(keys(group)) & set(keys(both))
    race = planned(tmp_path, {})
    assert keys(planned(tmp_path, {"edit": "as-learned"}), biased=False) == keys(race, biased=False)
    assert not set(keys(planned(tmp_path, {}, beta_on=["race", "sex"], edit="as-learned"))) & set(keys(race))


def test_a_config_without_it_does_not_mention_it(tmp_path):
    plan = planned(tmp_path, {})
    assert "edit:" not in plan.config.as_yaml()
    assert not {"edit", "regrouped"} & set(plan.datasets[0])
    edited = planned(tmp_path, SEX, edit="group").config
    again = tmp_path / "again.yaml"
    again.write_text(edited.as_yaml())
    assert read_config(again) == edited
    (tmp_path / "two.yaml").write_text(
        planned(tmp_path, SEX | {"edit": "outcome", "missing_arc": "leave"}, edit="group").config.as_yaml()
    )
    assert read_config(tmp_path / "two.yaml").datasets[0].edit == "outcome"


def test_it_is_said_whose_group_is_recorded_wrongly(tmp_path):
    source = planned(tmp_path, SEX, edit="as-learned").datasets[0]
    assert (source["bias_kind"], source["regrouped"]) == ("wrong group", {"sex": MEN})
    assert bias_in_words([source]) == MEN
    assert arc_in_words(source) == "sex is a child of the outcome"
    two = planned(tmp_path, {}, beta_on={"race": 1, "sex": 0.5}, edit="as-learned").datasets[0]
    assert two["bias_kind"] == "mixture"
    assert arc_in_words(two) == "race and sex are parents or children of the outcome"
    race = "the share of favourable outcomes that the deprived by race lose"
    assert bias_in_words([two]) == f"{race} and {MEN} (0.5 β of them)"
    plain = planned(tmp_path, {}, edit="as-learned").datasets[0]
    text = bias_in_words([source | {"dataset": "a"}, plain | {"dataset": "b"}])
    assert text == f"prior shift on b, {MEN} on a"
    idle = planned(tmp_path, {"attribute": "age_cat", "missing_arc": "leave"}, edit="as-learned").datasets[0]
    assert arc_in_words(idle) == "age_cat is no parent or child of the outcome"
    assert bias_in_words([idle]) == ""


def test_groups_without_names_are_told_by_their_levels(tmp_path):
    card = yaml.safe_load((shipped_cards() / "compas.yaml").read_text())
    sex = {key: value for key, value in card["protected"]["sex"].items() if key != "called"}
    own = own_card(tmp_path, protected={"sex": sex})
    sample = SAMPLE | {"edit": "group", "bias_direction": "both"}
    config = read_config(write_config(tmp_path / "c.yaml", datasets=[str(own)], sample=sample))
    (prepared,) = prepare_datasets(config, None)
    assert prepared.describe()["regrouped"]["sex"] == (
        "the share of people whose sex is Male and two_year_recid is 0 who are recorded with another sex, "
        "and of the favoured with another outcome the other way round"
    )


@pytest.mark.parametrize("direction", ["deprived", "both"])
def test_training_rows_have_the_other_group_and_nothing_else_changes(tmp_path, direction):
    config = read_config(
        write_config(
            tmp_path / "c.yaml",
            datasets=[{"compas": SEX}],
            sample=SAMPLE | {"edit": "group", "bias_direction": direction, "beta": [0, 1]},
            interventions=["none"],
        )
    )
    (prepared,) = prepare_datasets(config, None)
    population = populate(prepared, config, tmp_path)
    plain, biased = (draw(cell, population, 0)[0] for cell in make_cells(config, [prepared]))
    assert [
        name for name in plain.features.names if (plain.features[name] != biased.features[name]).any()
    ] == ["sex"]
    assert (plain.y == biased.y).all()
    favoured = biased.s == 1
    assert favoured[biased.y == 1].all()
    kept = plain.s[biased.y == 0] == biased.s[biased.y == 0]
    assert kept.all() == (direction == "deprived")
    if direction == "both":
        assert not favoured[biased.y == 0].any()


REFUSED = [
    ({"edit": "group"}, "race is no child of the outcome two_year_recid in the network"),
    ({"attribute": "age_cat", "edit": "group"}, "age_cat is no child of the outcome"),
    ({"attribute": "age_cat", "edit": "as-learned"}, "age_cat is no parent or child of the outcome"),
    ({"attribute": "sex"}, "sex is no parent of the outcome"),
    ({"beta_on": ["race", "sex"], "edit": "group"}, "race is no child of the outcome"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_a_missing_arc_is_refused_with_an_entry_to_paste(tmp_path, say, options, words):
    config = write_config(tmp_path / "c.yaml", datasets=[{"compas": options}], sample=SAMPLE)
    refused = say("plan", config)
    two_lines(refused, words, "so β has nothing to edit", "missing_arc: leave")
    entries = re.findall("`({compas.*?})`", refused.err)
    learnt = [entry for entry in entries if "edit: as-learned" in entry]
    assert bool(learnt) == ("age_cat" not in words)
    for entry in learnt:
        assert say("plan", config, "--set", f"datasets=[{entry}]").code == 0
    left = say("plan", config, "--set", "sample.missing_arc=leave")
    assert left.code == 0, left.err
    assert "of the outcome" in " ".join(left.out.split())


@pytest.mark.gate
def test_an_entry_with_the_arc_required_may_be_pasted(tmp_path, say, data_folder):
    for edit in ("group", "as-learned"):
        entry = {"compas": {"attribute": "age_cat"}}
        config = write_config(tmp_path / "c.yaml", datasets=[entry], sample=SAMPLE | {"edit": edit})
        pasted = re.findall("`({compas.*?})`", say("plan", config).err)[0]
        done = say("plan", config, "--set", f"datasets=[{pasted}]", "--data-dir", data_folder)
        assert "age_cat is a parent of the outcome" in " ".join(done.out.split()), done.err


@pytest.mark.parametrize("key", ["require_arc", "outcome_sink"])
def test_an_arc_that_is_ruled_out_is_refused(tmp_path, say, key):
    sample = {"from": "network", "edit": "group", key: True}
    config = write_config(tmp_path / "c.yaml", datasets=["compas", "adult"], sample=sample)
    two_lines(say("plan", config), f"edit: group needs an arc from the outcome, and {key}: true leaves none")
    world = {"from": "shipped", "edit": "group", "bias": [{"label": {"flip": 0.5}}]}
    config = write_config(tmp_path / "c.yaml", sample=world)
    two_lines(say("plan", config), "edit says how β changes", "`bias` takes its place")
    real = {"from": "data", "edit": "group"}
    config = write_config(tmp_path / "c.yaml", sample=real, test="holdout")
    two_lines(say("plan", config), "edit has no effect on real rows")


@pytest.mark.gate
def test_a_run_says_it_everywhere_and_knows_it_exactly(tmp_path, say):
    config = write_config(
        tmp_path / "c.yaml",
        datasets=[{"compas": SEX | {"edit": "as-learned"}}],
        sample=SAMPLE | {"beta": [0, 0.5]},
        interventions=["none"],
    )
    assert f"β is {MEN}" in " ".join(say("plan", config).out.split())
    done = say("run", config, "-o", "out", "--jobs", "1")
    assert done.code == 0, done.err
    assert f"β: {MEN}." in " ".join(done.out.split())
    assert f"β: {MEN}." in (tmp_path / "out/answer.md").read_text()
    assert f"β: {MEN}." in (tmp_path / "out/tables/discrimination-accuracy.md").read_text()
    page = (tmp_path / "out/report.html").read_text()
    assert f"β: {MEN}." in page
    assert "<title>two_year_recid → sex: the probabilities that β edits</title>" in page
    assert json.loads((tmp_path / "out/plan.json").read_text())["datasets"][0]["regrouped"] == {"sex": MEN}
    # What is known without training: as many favourable men fewer as β says.
    facts = pd.read_csv(tmp_path / "out/worlds.csv")
    share = facts[(facts.quantity == "share") & (facts.labels == "recorded") & (facts.group == "deprived")]
    rate = facts[(facts.quantity == "favourable") & (facts.labels == "true") & (facts.group == "deprived")]
    men = share.groupby("beta").value.first()
    assert men[0.5] == pytest.approx(men[0] * (1 - 0.5 * rate.value.iloc[0]), abs=1e-6)


def test_the_network_of_the_command_line_and_of_python(say):
    ask = ("network", "query", "compas", "--of", "sex", "--given", "two_year_recid=0", "--beta", "0.5")
    plain = fb.load_network("compas")
    before = plain.query("sex", {"two_year_recid": "0"})
    for edit in ("group", "as-learned"):
        tilted = plain.tilt(0.5, "sex", edit=edit)
        assert tilted.query("sex", {"two_year_recid": "0"})["Male"] == pytest.approx(before["Male"] / 2)
        assert tilted.meta.source["tilts"][0]["edit"] == edit
        assert f"{before['Male'] / 2:.6f}" in say(*ask, "--attribute", "sex", "--edit", edit).out
    two_lines(say(*ask, "--attribute", "sex"), "sex is no parent of the outcome", "--edit as-learned")
    two_lines(say(*ask, "--attribute", "race", "--edit", "group"), "race is no child", "--edit as-learned")
    two_lines(say(*ask, "--attribute", "age_cat", "--edit", "group"), "age_cat is no child", "--require-arc")
    two_lines(say(*ask[:-2], "--edit", "group"), "--edit say what --beta edits")
    two_lines(say(*ask[:-2], "--bias", "[]", "--edit", "group"), "--beta, --shift and --edit")
    rows = say(
        "network",
        "sample",
        "compas",
        "-n",
        "9",
        "-o",
        "-",
        "--beta",
        "1",
        "--attribute",
        "sex",
        "--edit",
        "group",
    )
    assert not any(row.startswith("Male") and row.endswith(",0") for row in rows.out.splitlines())


@pytest.mark.gate
def test_the_tree_on_dutch_decides_as_was_printed(tmp_path, data_folder):
    """Tables 2 and 5 of cardoso2019: none, with the arc from occupation to sex that is learned."""
    metrics = ["discrimination", "accuracy", "overestimation", "underestimation"]
    config = write_config(
        tmp_path / "c.yaml",
        datasets=["dutch"],
        sample={"from": "network", "edit": "as-learned"},
        interventions=[{"none": {"include_protected": True}}],
        classifiers=["c45"],
        metrics=metrics,
        repeats=1,
        test="original",
    )
    run = fb.run(config, folder=tmp_path / "out", jobs=1, data_dir=data_folder)
    (source,) = json.loads((tmp_path / "out/plan.json").read_text())["datasets"]
    assert source["bias_kind"] == "mixture"
    assert source["regrouped"]["sex"] == (
        "the share of women whose occupation is 2_1 who are recorded as men "
        "(household_position follows from the recorded sex)"
    )
    found = run.summary.set_index(["metric", "beta"])["mean"]
    printed = pd.read_csv(Path(papers).with_name("cardoso2019.csv"))
    none = printed[
        printed.table.isin([2, 5]) & (printed.dataset == "dutch") & (printed.intervention == "none")
    ]
    assert len(none) == 20
    for row in none.itertuples():
        assert found[row.metric, row.beta] == pytest.approx(row.value, abs=0.05), (row.metric, row.beta)


@pytest.mark.gate
def test_an_answer_says_of_which_data_sets_beta_is_which(tmp_path, say):
    plain = {"compas": {"as": "plain"}}
    edited = {"compas": SEX | {"as": "edited", "edit": "group"}}
    half = {"compas": SEX | {"as": "half", "edit": "group", "beta_on": {"sex": 0.5}}}
    lost = "β: the share of favourable outcomes that the deprived group loses in training"
    for datasets, regrouped in (
        ([plain, edited], f"on edited {MEN}"),
        ([plain, edited, half], f"{MEN} on edited, {MEN} (0.5 β of them) on half"),
    ):
        sample = SAMPLE | {"beta": [0, 0.5]}
        config = write_config(tmp_path / "c.yaml", datasets=datasets, sample=sample, interventions=["none"])
        assert say("run", config, "-o", f"out{len(datasets)}", "--jobs", "1").code == 0
        answer = (tmp_path / f"out{len(datasets)}/answer.md").read_text()
        assert f"{lost}; {regrouped}. Elsewhere it is prior shift." in answer
