"""A config is read strictly: every mistake at once, each with its line and what to do."""

import json
import re
from pathlib import Path

import pytest
from conftest import study_of

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import known_cards
from fairbench_cli.experiment.config.components import ComponentSpec
from fairbench_cli.experiment.config.outputs import DEFAULT_TABLES, FIGURES
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.measures.registry import DEFAULT_METRICS

GOOD = {"name": "x", "datasets": "[adult]", "interventions": "[none]"}

CARD = """name: mine
files: [mine.csv]
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f, bias: {column: job, deprived: maid}}
  race: {deprived: b}
"""


def read(tmp_path, text, *overrides):
    path = tmp_path / "f.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config(path, overrides)


def given(tmp_path, *overrides, **keys):
    text = "".join(f"{key}: {value}\n" for key, value in (GOOD | keys).items() if value is not None)
    return read(tmp_path, text, *overrides)


def errors(tmp_path, text, *overrides):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, *overrides)
    assert len(str(caught.value).splitlines()) == 2 * len(caught.value.problems)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_the_shortest_config_has_every_default(tmp_path):
    experiment = given(tmp_path)
    assert (experiment.seed, experiment.repeats, experiment.test) == (0, 30, "original")
    assert experiment.sample.beta == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert experiment.sample.source == "network"
    (dataset,) = experiment.datasets
    assert (dataset.card, dataset.name, dataset.works_on) == ("adult", "adult", "sex")
    assert (dataset.bias_direction, dataset.size, dataset.missing_arc) == ("deprived", None, "error")
    (technique,) = experiment.interventions
    assert (technique.spec, technique.include_protected) == (ComponentSpec("none"), False)
    assert [spec.name for spec in experiment.classifiers] == ["c45"]
    assert experiment.at_hand == tuple(DEFAULT_METRICS)
    assert experiment.tables.show == DEFAULT_TABLES


def test_a_single_beta_needs_no_brackets(tmp_path):
    assert given(tmp_path, sample="{beta: 0.5}").sample.beta == (0.5,)


def test_a_data_set_overrides_the_general_settings_key_by_key(tmp_path):
    text = "[adult: {bias_direction: both, size: 9}, compas: {attribute: sex}, compas:]"
    sample = "{bias_direction: deprived, require_arc: true, size: 100}"
    datasets = given(tmp_path, datasets=text, sample=sample).datasets
    assert [(d.works_on, d.bias_direction, d.require_arc, d.size) for d in datasets] == [
        ("sex", "both", True, 9),
        ("sex", "deprived", True, 100),
        ("race", "deprived", True, 100),
    ]


def test_a_data_set_may_be_listed_twice_under_two_names(tmp_path):
    text = "[adult, adult: {as: adult-both, bias_direction: both, interventions: [massaging]}]"
    first, second = given(tmp_path, datasets=text, interventions="[none, massaging]").datasets
    assert (first.name, first.interventions) == ("adult", None)
    assert (second.name, second.interventions, second.card) == ("adult-both", ("massaging",), "adult")


def test_what_no_data_set_takes(tmp_path):
    text = "[adult: {interventions: [none]}, dutch: {interventions: [none]}]"
    (error,) = errors(tmp_path, f"name: x\ndatasets: {text}\ninterventions: [none, massaging]\n")
    assert error.startswith("f.yaml:3: error: no data set takes massaging")


def test_a_sweep_and_a_network_must_have_something_to_show(tmp_path):
    rest = "name: x\ndatasets: [adult]\ninterventions: [none]\n"
    (error,) = errors(tmp_path, f"{rest}sweep: acceptance-rate\nmetrics: [consistency]\n")
    assert error.startswith("f.yaml:4: error: a sweep has counts alone, and consistency needs more")
    (error,) = errors(tmp_path, f"{rest}sample: {{from: data}}\nfigures: [network]\n")
    assert error.startswith("f.yaml:5: error: the figure network has none to draw")


def test_real_rows_are_split_and_not_biased(tmp_path):
    experiment = given(tmp_path, sample="{from: data, train_fraction: 0.7}")
    assert (experiment.test, experiment.sample.beta) == ("holdout", (0.0,))
    assert experiment.sample.train_fraction == 0.7


def test_include_protected_in_general_and_by_intervention(tmp_path):
    text = "[none, massaging: {include_protected: false}, reweighing: {include_protected: [false, true]}]"
    for general in ("true", "false"):
        found = given(tmp_path, include_protected=general, interventions=text).interventions
        assert [t.include_protected for t in found] == [general == "true", False, False, True]


def test_parameters_multiply_into_the_matrix(tmp_path):
    interventions = "[massaging: {ranker: [naive-bayes, logistic], include_protected: [false, true]}]"
    experiment = given(
        tmp_path, interventions=interventions, classifiers="[tree: {min_leaf: [1, 5], max_depth: [null, 3]}]"
    )
    assert len(set(experiment.interventions)) == 4
    assert len(set(experiment.classifiers)) == 4


def test_a_card_by_path_is_found_beside_the_config_first(tmp_path, monkeypatch):
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "mine.yaml").write_text(CARD)
    monkeypatch.chdir(tmp_path)
    (Path("mine.yaml")).write_text(CARD.replace("name: mine", "name: other"))
    (dataset,) = given(folder, datasets="[mine.yaml]").datasets
    assert (dataset.name, dataset.card) == ("mine", str((folder / "mine.yaml").resolve()))
    (folder / "mine.yaml").unlink()
    assert given(folder, datasets="[mine.yaml]").datasets[0].name == "other"


WRONG = [
    ("name", "a b", "name must be letters"),
    ("name", "../x", "name must be letters"),
    ("name", "5", "name must be text, not 5"),
    ("name", "[a]", 'name must be text, not ["a"]'),
    ("seed", "-1", "seed must be at least 0"),
    ("seed", "1.0", "seed must be a whole number"),
    ("seed", "9" * 30, "seed must be a whole number"),
    ("repeats", "0", "repeats must be at least 1"),
    ("repeats", "1_000", 'repeats must be a whole number, not "1_000"'),
    ("repeats", "100001", "repeats must be at most 100000"),
    ("datasets", "[]", "datasets must not be empty"),
    ("datasets", "adult", 'datasets must be a list, not "adult"'),
    ("datasets", "[adlt]", 'unknown dataset "adlt"\n  fix: did you mean "adult"?'),
    ("datasets", "[x/none.yaml]", "no card at x/none.yaml"),
    ("datasets", f"[{'x' * 300}.yaml]", "no card at"),
    ("datasets", "['a\\0.yaml']", "no card at"),
    ("datasets", "[mine.csv]", 'unknown dataset "mine.csv"\n  fix: a data file needs a card'),
    ("datasets", "[5]", "a dataset must be a name or `name: {option: value}`, not 5"),
    ("datasets", "[adult: 0]", "datasets.adult must be a mapping, not 0"),
    ("datasets", "[adult: {beta: 1}]", 'unknown key "beta"'),
    ("datasets", "[adult: {atribute: sex}]", 'unknown key "atribute"\n  fix: did you mean "attribute"?'),
    ("datasets", "[adult: {attribute: age}]", 'data set "adult" has no protected attribute "age"'),
    ("datasets", "[adult: {attribute: [sex, sex]}]", "adult with sex is listed twice"),
    ("datasets", "[adult: {size: 0}]", "datasets.adult.size must be at least 1"),
    ("datasets", "[adult: {bias_direction: x}]", 'datasets.adult.bias_direction has the unknown value "x"'),
    ("datasets", "[adult, adult]", "adult with sex is listed twice"),
    ("datasets", "[adult, adult: {attribute: sex, size: 5}]", "adult with sex is listed twice"),
    ("sample", "network", 'sample must be a mapping, not "network"'),
    (
        "sample",
        "{from: x}",
        'sample.from has the unknown value "x"\n  fix: use one of: data, network, shipped',
    ),
    ("sample", "{source: network}", 'unknown key "source"'),
    ("sample", "{learner: tabo}", 'sample.learner has the unknown value "tabo"\n  fix: did you mean "tabu"?'),
    ("sample", "{score: [bic, aic]}", "sample.score has the unknown value"),
    ("sample", "{max_parents: 0}", "sample.max_parents must be at least 1"),
    ("sample", "{size: 0}", "sample.size must be at least 1"),
    ("sample", "{size: all}", "sample.size must be a whole number"),
    ("sample", "{bias_direction: favoured}", "sample.bias_direction has the unknown value"),
    ("sample", "{require_arc: yes}", "sample.require_arc must be true or false"),
    ("sample", "{missing_arc: ignore}", "sample.missing_arc has the unknown value"),
    ("sample", "{beta: []}", "sample.beta must not be empty"),
    ("sample", "{beta: 1.2}", "sample.beta must be at most 1, not 1.2"),
    ("sample", "{beta: [0, -0.1]}", "sample.beta must be at least 0, not -0.1"),
    ("sample", "{beta: .nan}", 'sample.beta must be a number, not ".nan"'),
    ("sample", "{beta: nan}", 'sample.beta must be a number, not "nan"'),
    ("sample", "{beta: [[0]]}", "sample.beta must be a number, not [0]"),
    ("sample", "{beta: [0, 0.5, 0.0]}", "β 0.0 is listed twice"),
    ("sample", "{beta: [0, 0.5, 5e-1]}", "β 0.5 is listed twice"),
    ("sample", "{beta: [-0.0, 0]}", "β 0 is listed twice"),
    ("test", "hold-out", 'test has the unknown value "hold-out"\n  fix: did you mean "holdout"?'),
    ("test", "holdout", "test: holdout needs rows that are not trained on"),
    ("sample", "{train_fraction: 0.5}", "train_fraction has no effect without real rows"),
    ("sample", "{from: data, train_fraction: 0}", "sample.train_fraction must be above 0"),
    ("sample", "{from: data, train_fraction: 1}", "sample.train_fraction must be below 1"),
    ("sample", "{from: data, beta: 0}", "beta has no effect on real rows"),
    ("sample", "{from: data, learner: tabu}", "learner has no effect on real rows"),
    ("metrics", "[unexplained-difference]", "unexplained-difference compares groups within strata"),
    ("metrics", "[accuracy, belift-of-labels]", "belift-of-labels compares"),
    ("strata", "[education]", "strata has no effect on these metrics"),
    ("strata", "education", "strata must be a list"),
    ("attributes", "[sex, colour]", 'no data set has the protected attribute "colour"'),
    (
        "attributes",
        "[sex x rase]",
        'no data set has the protected attribute "rase"\n  fix: did you mean "race"',
    ),
    ("attributes", "[sex×race, race * sex]", 'attribute "race×sex" is listed twice'),
    ("attributes", "[sex×sex]", '"sex×sex" names an attribute twice'),
    ("attributes", "sex", "attributes must be a list"),
    ("figures", "[sweep]", "the figure sweep needs a sweep"),
    (
        "figures",
        "[remedies]",
        "figures: the figure remedies is drawn no more\n  fix: remove it: report.html shows",
    ),
    ("figures", "[curve]", 'unknown figure "curve"'),
    ("figure_formats", "[svg, pgn]", 'unknown format of figures "pgn"\n  fix: did you mean "png"'),
    ("figure_formats", "[pdf, pdf]", 'format "pdf" is listed twice'),
    ("figure_formats", "[]", "figure_formats must not be empty"),
    ("figure_formats", "pdf", "figure_formats must be a list"),
    ("datasets", "[adult: {as: a b}]", "datasets.adult.as must be letters"),
    ("datasets", "[adult: {as: x}, dutch: {as: x, attribute: sex}]", "x with sex is listed twice"),
    ("datasets", "[adult: {interventions: [nne]}]", '"nne" is not among the config\'s interventions'),
    ("datasets", "[adult: {interventions: [none, none]}]", 'intervention "none" is listed twice'),
    ("datasets", "[adult: {classifiers: [tree]}]", '"tree" is not among the config\'s classifiers'),
    ("datasets", "[adult: {interventions: []}]", "datasets.adult.interventions must not be empty"),
    ("include_protected", "no", 'include_protected must be true or false, not "no"'),
    ("interventions", "[]", "interventions must not be empty"),
    ("interventions", "none", 'interventions must be a list, not "none"'),
    ("interventions", "[massagin]", 'unknown intervention "massagin"\n  fix: did you mean "massaging"?'),
    ("interventions", "[none, none]", "intervention none is listed twice"),
    ("interventions", "[none, none: {include_protected: false}]", "intervention none is listed twice"),
    ("interventions", "[massaging: {rankr: x}]", 'massaging has no parameter "rankr"'),
    ("interventions", "[massaging: {ranker: []}]", "massaging: ranker must not be empty"),
    ("interventions", "[none: {include_protected: 1}]", "none: include_protected must be true or false"),
    ("classifiers", "[]", "classifiers must not be empty"),
    ("classifiers", "tree", "classifiers must be a list"),
    ("classifiers", "[tre]", 'unknown classifier "tre"\n  fix: did you mean "tree"?'),
    ("classifiers", "[tree, tree: {min_leaf: 20}]", "classifier tree("),
    ("classifiers", "[tree: {min_leaf: 0}]", "tree: min_leaf must be at least 1"),
    ("classifiers", "[tree: {include_protected: true}]", 'tree has no parameter "include_protected"'),
    ("metrics", "[]", "metrics must not be empty"),
    ("metrics", "accuracy", "metrics must be a list"),
    ("metrics", "[acuracy]", 'unknown metric "acuracy"\n  fix: did you mean "accuracy"?'),
    ("metrics", "[accuracy, accuracy]", 'metric "accuracy" is listed twice'),
    ("metrics", "[5]", "metrics must be text, not 5"),
    ("tables", "[discrimination-acuracy]", 'unknown table "discrimination-acuracy"\n  fix: did you mean'),
    ("tables", "discrimination-accuracy", "tables must be a list"),
    ("nam", "x", 'unknown key "nam"\n  fix: did you mean "name"?'),
    ("beta", "[0, 1]", 'unknown key "beta"\n  fix: write it under `sample`'),
    ("from", "shipped", 'unknown key "from"\n  fix: write it under `sample`'),
    ("intervention", "[none]", 'unknown key "intervention"\n  fix: did you mean "interventions"?'),
]


@pytest.mark.parametrize(("key", "value", "message"), WRONG)
def test_one_mistake_is_one_message_on_its_line(tmp_path, key, value, message):
    rest = [f"{name}: {text}" for name, text in GOOD.items() if name != key]
    found = errors(tmp_path, "\n".join(["# a comment", *rest, f"{key}: {value}"]))
    assert [error.startswith(f"f.yaml:{len(rest) + 2}: error: {message}") for error in found] == [True], found


@pytest.mark.parametrize("key", GOOD)
def test_a_missing_key(tmp_path, key):
    text = "".join(f"{name}: {value}\n" for name, value in GOOD.items() if name != key)
    assert errors(tmp_path, text) == [f'f.yaml:1: error: key "{key}" is missing\n  fix: add it']


@pytest.mark.parametrize("key", GOOD)
def test_a_misspelt_key_is_one_mistake(tmp_path, key):
    """It is not said to be missing, too; what is read of the others does without it."""
    text = "".join(f"{name + 'z' * (name == key)}: {value}\n" for name, value in GOOD.items())
    (error,) = errors(tmp_path, text)
    assert error.endswith(f'error: unknown key "{key}z"\n  fix: did you mean "{key}"?')


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_data_sets_that_are_wrong(tmp_path, figure):
    text = "name: x\ndatasets: [adlt]\ninterventions: [none]\n"
    (alone,) = errors(tmp_path, text)
    assert alone in errors(tmp_path, f"{text}figures: [{figure}]\n")


def test_tables_may_be_none(tmp_path):
    assert given(tmp_path, tables="[]").tables.show == ()


@pytest.mark.parametrize("text", ["[a, b]", "hello", "~", "5"])
def test_a_config_is_a_mapping(tmp_path, text):
    assert errors(tmp_path, text)[0].startswith("f.yaml:1: error: a config is a mapping of keys to values")


def test_a_key_given_twice(tmp_path):
    assert 'key "name" is given twice (first on line 1)' in errors(tmp_path, "name: a\nseed: 1\nname: b\n")[0]


def test_a_simulation_is_sent_to_its_command(tmp_path):
    (error,) = errors(tmp_path, "name: x\ntruth: [0]\n")
    assert error.startswith("f.yaml:2: error: this is a simulation")
    assert "fairbench run f.yaml" in error


EVERYTHING = """\
name: a b
seed: -1
repeats: many
datasets:
  - adult: {atribute: sex}
  - adlt
  - dutch: {attribute: race, bias_direction: x}
sample:
  beta:
    - 0
    - 1.2
    - 0.0
interventions:
  - massaging:
      ranker: [x, logistic]
      extra: 1
classifiers: [c99]
metrics:
  - accuracy
  - acuracy
tables: 5
test: orginal
colour: red
"""


def test_every_mistake_in_file_order_with_its_line(tmp_path):
    found = [int(error.split(":")[1]) for error in errors(tmp_path, EVERYTHING)]
    assert found == [1, 2, 3, 5, 6, 7, 7, 11, 12, 15, 16, 17, 20, 21, 22, 23]


def test_mistakes_in_a_card_stand_in_the_card(tmp_path):
    (tmp_path / "mine.yaml").write_text(CARD.replace("label:", "lable:"))
    # One mistake, one message: that `label` is missing only follows from it.
    (only,) = errors(tmp_path, "name: x\ndatasets: [mine.yaml]\ninterventions: [none]\n")
    assert only.startswith('mine.yaml:3: error: unknown key "lable"')
    assert only.endswith('did you mean "label"?')


def test_two_cards_of_one_name_would_share_their_results(tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CARD)
    text = "name: x\ndatasets:\n- a.yaml\n- b.yaml\ninterventions: [none]\n"
    assert errors(tmp_path, text)[0].startswith("f.yaml:4: error: mine with sex is listed twice")


def test_shift_both_needs_somebody_to_favour(tmp_path):
    (tmp_path / "mine.yaml").write_text(CARD)
    head = "name: x\ninterventions: [none]\n"
    (error,) = errors(tmp_path, head + "sample: {bias_direction: both}\ndatasets:\n- mine.yaml\n")
    assert error.startswith("f.yaml:5: error: bias_direction: both needs to know which group β favours")
    (error,) = errors(tmp_path, head + "datasets:\n- mine.yaml:\n    bias_direction: both\n")
    assert error.startswith("f.yaml:5: error: bias_direction: both needs to know")
    assert read(tmp_path, head + "datasets: [mine.yaml: {bias_direction: both, attribute: race}]\n")


@pytest.mark.parametrize("value", ["learner: tabu", "score: bic", "max_parents: 2", "max_parents: null"])
def test_a_shipped_network_takes_no_settings_of_the_learner(tmp_path, value):
    head = "name: x\ndatasets: [adult]\ninterventions: [none]\nsample:\n  from: shipped\n"
    (error,) = errors(tmp_path, head + f"  {value}\n")
    assert error.startswith(f"f.yaml:6: error: {value.split(':')[0]} has no effect on a shipped network")
    assert read(tmp_path, head.replace("shipped", "network") + f"  {value}\n")


@pytest.mark.parametrize("value", ["require_arc: true", "outcome_sink: false"])
def test_nor_do_its_data_sets(tmp_path, value):
    tail = "interventions: [none]\nsample: {from: shipped}\n"
    (error,) = errors(tmp_path, f"name: x\ndatasets:\n- adult:\n    {value}\n{tail}")
    assert error.startswith(f"f.yaml:4: error: {value.split(':')[0]} has no effect on a shipped network")
    (error,) = errors(tmp_path, f"name: x\ndatasets: [adult]\n{tail[:-2]}, {value}}}\n")
    assert error.startswith("f.yaml:4: error")


def test_what_a_shipped_network_does_take(tmp_path):
    options = "{bias_direction: both, size: 10, missing_arc: leave}"
    assert given(
        tmp_path, sample="{from: shipped, bias_direction: both, size: 5}", datasets=f"[adult: {options}]"
    )


@pytest.mark.gate
def test_every_shipped_card_can_be_named(tmp_path):
    names = known_cards()
    assert [dataset.name for dataset in given(tmp_path, datasets=str(names)).datasets] == names


def test_settings_beat_the_file(tmp_path):
    experiment = given(
        tmp_path,
        "sample.beta=[0,1]",
        "sample.bias_direction=both",
        "datasets=[dutch]",
        "interventions=[massaging: {ranker: [logistic, naive-bayes]}]",
        "repeats=6",
        "sample.size=",
        "name=y=z".replace("=z", "z"),
        repeats=7,
        sample="{size: 5}",
    )
    assert (experiment.repeats, experiment.name, experiment.sample.size) == (6, "yz", None)
    assert (experiment.sample.beta, experiment.sample.bias_direction) == ((0.0, 1.0), "both")
    assert [dataset.name for dataset in experiment.datasets] == ["dutch"]
    assert len(experiment.interventions) == 2


def test_a_setting_may_be_all_that_makes_a_file_whole(tmp_path):
    assert given(tmp_path, "interventions=[none]", interventions=None).interventions


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("repeats", "--set: error: cannot read the setting 'repeats'"),
        ("=5", "--set: error: cannot read the setting '=5'"),
        ("a..b=5", "--set: error: cannot read the setting 'a..b=5'"),
        ("sample.beta=[0", "--set sample.beta: error: not YAML"),
        ("sample.beta=[0,3]", "--set sample.beta: error: sample.beta must be at most 1, not 3"),
        ("sample.beta=[0,0]", "--set sample.beta: error: β 0 is listed twice"),
        ("sample.beta=x", '--set sample.beta: error: sample.beta must be a number, not "x"'),
        ("sample.bta=1", '--set sample.bta: error: unknown key "bta"'),
        ("foo.bar=1", '--set foo.bar: error: unknown key "foo"'),
        ("repeats=no", '--set repeats: error: repeats must be a whole number, not "no"'),
        ("test=[no]", '--set test: error: test has the unknown value ["no"]'),
        ("datasets=[adlt]", '--set datasets: error: unknown dataset "adlt"'),
        ("datasets=adult", '--set datasets: error: datasets must be a list, not "adult"'),
        ("datasets.0=adult", "--set datasets.0: error: a single item of a list cannot be set"),
        ("datasets.adult.size=5", "--set datasets.adult.size: error: a single item of a list"),
        ("metrics=[accuracy, acc]", '--set metrics: error: unknown metric "acc"'),
        ("interventions=[massaging: {ranker: x}]", "--set interventions: error: massaging: ranker has the"),
        ("sample={from: shipped, learner: tabu}", "--set sample: error: learner has no effect"),
    ],
)
def test_a_wrong_setting_is_said_to_be_one(tmp_path, setting, message):
    (error,) = errors(tmp_path, "name: x\ndatasets: [adult]\ninterventions: [none]\n", setting)
    assert error.startswith(message)


def test_tables_are_a_list_or_have_a_layout(tmp_path):
    layout = given(tmp_path, tables="{layout: paper}")
    assert (layout.tables.show, layout.tables.layout) == (DEFAULT_TABLES, "paper")
    assert layout.to_config()["tables"] == {"layout": "paper", "show": list(DEFAULT_TABLES)}
    listed = given(tmp_path, tables="[overview, group-rates]")
    assert listed.to_config()["tables"] == ["overview", "group-rates"]
    assert given(tmp_path, tables=f"{{show: {listed.to_config()['tables']}}}").tables == listed.tables
    for written, message in (
        ("{layout: papers}", 'f.yaml:4: error: tables.layout has the unknown value "papers"'),
        ("{layout: paper, show: [overvew]}", 'f.yaml:4: error: unknown table "overvew"'),
        ("{layout: paper, show: [overview]}", "f.yaml:4: error: layout: paper is of discrimination-accuracy"),
        ("{show: [tuning]}", "f.yaml:4: error: the table tuning needs an intervention that is tuned"),
        ("{shown: []}", 'f.yaml:4: error: unknown key "shown"'),
        ("overview", "f.yaml:4: error: tables must be a list"),
    ):
        (error,) = errors(tmp_path, f"name: x\ndatasets: [adult]\ninterventions: [none]\ntables: {written}\n")
        assert error.startswith(message), error


def test_a_setting_heals_a_mistake_and_leaves_the_others_lines_alone(tmp_path):
    found = errors(tmp_path, EVERYTHING, "sample.beta=[0, 2]", "repeats=3", "tables=[]")
    lines = [error.split(" ")[0] for error in found]
    assert lines == [*(f"f.yaml:{n}:" for n in (1, 2, 5, 6, 7, 7, 15, 16, 17, 20, 22, 23)), "--set"]


def test_a_value_of_a_classifier_that_is_tuned_is_said_before_its_number(tmp_path):
    head = "name: x\ndatasets: [adult]\nclassifiers: [tree]\ninterventions:\n- repair:\n    tune:\n"
    (error,) = errors(tmp_path, f"{head}      for: accuracy\n      over:\n        classifier.min_leaf: x\n")
    assert error.startswith('f.yaml:9: error: tree: min_leaf must be a whole number, not "x"')
    (error,) = errors(tmp_path, f"{head}      for: accuracy\n      over:\n        classifier.min_leaf: 3\n")
    assert error.startswith("f.yaml:8: error: tune: over holds one candidate")


def test_every_reference_of_the_schema_leads_somewhere():
    schema = study_of("keys", Path(__file__).parents[2] / "docs").config_schema()
    text = json.dumps(schema)
    assert set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', text)) == set(schema["$defs"])
