"""Words of other programs: the name that is suggested for one is right when it is pasted."""

import re

import pytest

from fairbench_cli.base import synonyms
from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.config.read import read_config

CONFIG = """
name: words
random_state: 3
n_repeats: 2
datasets: [adult]
sample: {from: shipped, betas: [0, 0.5]}
sensitive_attributes: [sex]
test: network
models: [j48, logreg, {random_forest: {n_estimators: 10, min_samples_leaf: 2}}]
mitigations: [baseline, disparate-impact-remover, {Kamiran: {ranker: nb}}, eq_odds_postprocessing]
fairness_metrics: [dp, SPD, roc_auc, AOD]
"""
CARD = """
name: words
path: [words.csv]
sep: ";"
na_values: ["?"]
features: {group: categorical, pay: {dtype: float, discretise: {qcut: 3}, imputation: median}, key: ignore}
target: {column: ok, pos_label: yes}
protected_attributes: {group: {unprivileged: b, privileged: a}}
"""


def paste(text, out):
    """Return a file with the words replaced that an answer asks about."""
    for wrong, right in re.findall(r'"([^"]+)"\n  fix: did you mean "([^"]+)"', out):
        text = re.sub(rf"(?<![\w-]){re.escape(wrong)}(?![\w-])", right, text)
    return text


@pytest.mark.parametrize(
    ("text", "name", "words"), [(CONFIG, "words-run.yaml", "plan"), (CARD, "w.yaml", "card")]
)
def test_what_is_suggested_is_right_when_it_is_pasted(say, tmp_path, text, name, words):
    (tmp_path / "words.csv").write_text(
        "group;pay;key;ok\n" + "a;1.5;k1;yes\nb;2.5;k2;no\nb;?;k3;yes\na;7;k4;no\n"
    )
    command = ["plan", name] if words == "plan" else ["data", "check", f"./{name}"]
    for _ in range(5):
        (tmp_path / name).write_text(text)
        done = say(*command)
        if done.code != 2:
            break
        pasted = paste(text, done.err)
        assert pasted != text, done.err
        text = pasted
    assert done.code != 2, done.err
    if words == "plan":
        config = read_config(tmp_path / name)
        assert [one.name for one in config.classifiers] == ["c45", "logistic-regression", "random-forest"]
        assert config.sample.beta == (0, 0.5)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("audit", "w.csv", "--protected", "sex"), "--attribute"),
        (("audit", "w.csv", "--y-true", "y"), "--label"),
        (("init", "w.csv", "--target", "y"), "--label"),
        (("run", "adult", "--n-jobs", "2"), "--jobs"),
    ],
)
def test_options_of_other_programs_are_known(say, words, flag):
    assert say(*words).err.endswith(f"fix: did you mean {flag}?\n")


def test_a_name_itself_and_a_slip_of_the_pen_come_before_what_others_mean():
    from fairbench_cli.base.errors import find_nearest

    assert find_nearest("Target", ["target", "label"]) == "target"
    assert find_nearest("lable", ["label", "target"]) == "label"
    assert find_nearest("gpa", ["grade", "sex"]) is None


def test_words_that_have_no_place_in_a_config_say_where_theirs_is(say, tmp_path):
    (tmp_path / "c.yaml").write_text(
        "name: x\ndatasets: [adult]\nn_jobs: 2\ntest_size: 0.3\ntrain_size: 0.7\n"
    )
    with pytest.raises(UserError) as error:
        read_config(tmp_path / "c.yaml")
    (tmp_path / "s.yaml").write_text("name: x\ndatasets: [adult]\nsample: {from: data, test_size: 0.3}\n")
    with pytest.raises(UserError, match="what is not trained on is tested on"):
        read_config(tmp_path / "s.yaml")
    for words in ("--jobs 4", "{from: data, train_fraction: 0.7}", "write train_fraction under `sample`"):
        assert words in str(error.value)


def test_every_name_of_the_table_is_one_that_there_is():
    from fairbench_cli.audit.config import PlanConfig
    from fairbench_cli.classifiers.registry import CLASSIFIERS
    from fairbench_cli.data.card import Card, known_cards
    from fairbench_cli.experiment.config.config import ExperimentConfig
    from fairbench_cli.interventions.registry import INTERVENTIONS
    from fairbench_cli.measures.registry import METRICS

    names = {*CLASSIFIERS, *INTERVENTIONS, *METRICS, *known_cards(), "jobs", "output", "data-dir"}
    for model in (ExperimentConfig, Card, PlanConfig):
        names |= set(re.findall(r'"([a-z][a-z_-]*)":', str(model.model_json_schema()).replace("'", '"')))
        names |= set(re.findall(r"'([a-z]+)'", str(model.model_json_schema())))
    unknown = {name for known in synonyms._NAMES.values() for name in known} - names
    parameters = {"min_leaf", "confidence", "trees", "iterations", "max_leaves", "pruning", "eta", "level"}
    parameters |= {"prototypes", "eps", "bound"}
    assert {name for name in unknown if ":" not in name} <= parameters
