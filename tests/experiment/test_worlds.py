"""Worlds in a config: how they are read, multiplied, named and told from each other, and what is refused."""

from itertools import pairwise

import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import prepare_datasets
from fairbench_cli.experiment.plan import make_cells, make_plan, read_plan, write_plan
from fairbench_cli.network.mechanisms.biases import LabelBias

HEAD = "name: w\nrepeats: 1\ntest: network\ninterventions: [none]\n"
SHIPPED = HEAD + "datasets: [dutch]\nsample:\n  from: shipped\n"


def planned(tmp_path, text):
    path = tmp_path / "w.yaml"
    path.write_text(text)
    config = read_config(path)
    datasets = prepare_datasets(config, None)
    return make_plan(config, datasets, make_cells(config, datasets))


def worlds(plan):
    return [(cell["world"], cell["beta"]) for cell in plan.cells]


def errors(tmp_path, text):
    with pytest.raises(UserError) as caught:
        planned(tmp_path, text)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        ("[label: {flip: 0.5}]", [("label", 0.5)]),
        ("{label: {flip: 0.5}}", [("label", 0.5)]),
        ("[label]\n  beta: [0, 0.5]", [("label", 0.0), ("label", 0.5)]),
        ("[label: {flip: [0.25, 0.5]}]", [("label", 0.25), ("label", 0.5)]),
        (
            "[[label: {flip: 0.5}], [label: {flip: 0.5, of: everybody}], []]",
            [("label", 0.5), ("label of everybody", 0.5), ("", 0.0)],
        ),
        (
            "[label: {flip: [0.25, 0.5]}, label: {flip: [0, 0.1], to: favourable}]",
            [
                ("label + label to favourable 0", 0.25),
                ("label + label to favourable 0.1", 0.25),
                ("label + label to favourable 0", 0.5),
                ("label + label to favourable 0.1", 0.5),
            ],
        ),
        ("[omission: {column: age}]", [("omission age", 1.0)]),
        ("[omission: {column: age}, group]\n  beta: 0.1", [("omission age + group", 0.1)]),
        (
            "[omission: {column: age}, label: {flip: 0.1, given: {age: 6}}]",
            [("omission age + label given age=6", 0.1)],
        ),
        (
            "[label: {as: policy}, label: {to: favourable}]\n  beta: 0.5",
            [("policy + label to favourable", 0.5)],
        ),
        (
            "[label: {flip: 0.5, given: [{edu_level: [4, 5]}, {edu_level: 3, age: 6}]}]",
            [("label given edu_level=4|5", 0.5), ("label given edu_level=3 & age=6", 0.5)],
        ),
    ],
)
def test_worlds_multiply_and_have_names(tmp_path, bias, expected):
    assert worlds(planned(tmp_path, f"{SHIPPED}  bias: {bias}\n")) == expected


def test_a_cell_has_its_mechanisms_with_every_number(tmp_path):
    plan = planned(tmp_path, f"{SHIPPED}  bias: [label: {{given: {{edu_level: 5}}}}]\n  beta: [0.5]\n")
    (world,) = plan.datasets[0]["worlds"]
    given = {"flip": 0.5, "to": "unfavourable", "of": None, "given": {"edu_level": ["5"]}}
    assert world.pop("words") == LabelBias(0.5, given={"edu_level": ("5",)}).words
    assert world == {"world": "label given edu_level=5", "beta": 0.5, "mechanisms": [{"label": given}]}
    assert plan.datasets[0]["arc_to_outcome"]
    assert "bias_kind" not in plan.datasets[0]


def test_worlds_of_the_sample_and_of_data_sets(tmp_path):
    plan = planned(
        tmp_path,
        HEAD + "datasets: [dutch, compas: {bias: [[], [label]]}, adult: {bias: null}]\n"
        "sample: {from: shipped, beta: [0, 0.5], bias: [label: {flip: 0.3}]}\n",
    )
    assert [(cell["dataset"], cell["world"], cell["beta"]) for cell in plan.cells] == [
        ("dutch", "label", 0.3),
        ("compas", "", 0.0),
        ("compas", "label", 0.0),
        ("compas", "label", 0.5),
        ("adult", "", 0.0),
        ("adult", "", 0.5),
    ]
    assert [one.get("bias_kind") for one in plan.datasets] == [None, None, "mixture"]
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "w.yaml"
    again.write_text(plan.config.as_yaml())
    assert read_config(again) == plan.config
    assert planned(again.parent, plan.config.as_yaml()).cells == plan.cells
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path).config.to_config() == plan.config.to_config()


def test_keys_tell_worlds_apart_and_strength_0_is_no_world(tmp_path):
    def keys(sample, more=""):
        return [cell["key"] for cell in planned(tmp_path, f"{SHIPPED}  {sample}\n{more}").cells]

    plain = keys("beta: [0, 0.5]")
    none, half, twice, other = keys(
        "bias: [[label: {flip: 0}], [label: {flip: 0.5}], [label: {flip: 0}, label: {flip: 0.5, as: x}], "
        "[label: {flip: 0.5, of: everybody}]]"
    )
    assert none == plain[0]
    assert half == twice  # what changes nothing is no part of it, and what it is called neither
    assert len({*plain, half, other}) == 4
    assert keys("bias: [[], [label]]\n  beta: [0]") == [plain[0]] * 2
    assert keys("bias: [label: {flip: 0.5}]", "test_labels: recorded\n") == [half]


def test_a_run_without_worlds_does_not_mention_them(tmp_path):
    plan = planned(tmp_path, f"{SHIPPED}  beta: [0, 0.5]\n")
    assert {cell["world"] for cell in plan.cells} == {""}
    assert "worlds" not in plan.datasets[0]
    assert plan.datasets[0]["bias_kind"] == "prior shift"
    text = plan.config.as_yaml()
    assert not any(key in text for key in ("bias:", "test_labels", "test_features"))


MISTAKES = """name: w
test: network
interventions: [none]
datasets:
  - compas: {bias: [[lable: {flip: 0.25}], [label: {flip: 1.5, og: deprived}]]}
  - dutch:
      bias:
        - label: {to: up, flip: [0.1, x]}
        - 3
sample:
  from: shipped
  bias: [[label], label]
test_features: maybe
"""


def test_every_mistake_is_told_at_once_with_its_line(tmp_path):
    found = errors(tmp_path, MISTAKES)
    assert [error.partition("\n")[0] for error in found] == [
        'w.yaml:5: error: unknown mechanism "lable"',
        "w.yaml:5: error: label: flip must be at most 1, not 1.5",
        'w.yaml:5: error: label has no parameter "og"',
        'w.yaml:8: error: label: flip must be a number, not "x"',
        'w.yaml:8: error: label: to has the unknown value "up"',
        "w.yaml:9: error: mechanism must be a name or `name: {parameter: value}`, not 3",
        "w.yaml:12: error: bias has a mechanism next to a list of mechanisms",
        'w.yaml:13: error: test_features has the unknown value "maybe"',
    ]
    assert 'did you mean "label"?' in found[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("  bias: [label: {flip: 0.5}]\n  beta: [0.5]", "9: beta has no effect"),
        ("  bias: [label]\n  beta_on: sex", "9: beta_on says how β changes"),
        ("  bias: [label]\n  missing_arc: leave", "9: missing_arc says how"),
        ("  bias: [label]\n  bias_direction: both", "9: bias_direction says"),
        ("  bias: [[label], [label: {flip: 0.5}]]", "8: the world label of strength 0.5 is li"),
        (
            "  bias: [selection: {drop: 1, label: any}]",
            "8: dutch: selection label any of strength 1: in this world nobody",
        ),
        (
            "  bias: [omission: {column: age}, measurement: {column: age, noise: 0.5}]",
            '8: dutch: omission age + measurement age of strength 0.5: "age" is omitted before',
        ),
        ("  bias: [representation]\n  beta: [0, 0.5]", "8: representation: the strength is left"),
        ("  bias: [omission: {column: occupation}]", "8: dutch: omission: column: "),
        (
            "  bias: [omission: {column: age}]\nstrata: [age]\nmetrics: [unexplained-difference]",
            "8: dutch: omission: strata",
        ),
        ("  bias: [[], []]", "8: no bias is listed twice"),
        ("  beta: [0]\ntest_labels: recorded", "9: test_labels has no effect without a bias"),
        ("  bias: [label]\ntest_features: recorded", "9: test_features: recorded has no"),
        ("  bias: [label: {given: {job: a}}]", '8: dutch: label: given: there is no column "job"'),
        ("  bias: [label: {given: {sex: 9}}]", '8: dutch: label: given: column "sex" has no lev'),
    ],
)
def test_what_has_no_effect_or_does_not_fit_is_refused(tmp_path, lines, expected):
    found = errors(tmp_path, f"{SHIPPED}{lines}\n")
    assert len(found) == 1
    assert found[0].startswith(f"w.yaml:{expected.replace(': ', ': error: ', 1)}")
    assert found[0].count("\n") == 1


@pytest.mark.parametrize(
    ("item", "fix"),
    [
        ("label: 0.5", "name its parameters: label: {flip: VALUE}"),
        ("omission: age", "name its parameters: omission: {column: VALUE}"),
        (
            "{label: {flip: 0.5}, selection: {drop: 0.5}}",
            "make each an item of its own: [label: …, selection: …]",
        ),
    ],
)
def test_what_is_no_mechanism_is_shown_as_one(tmp_path, item, fix):
    (found,) = errors(tmp_path, f"{SHIPPED}  bias: [{item}]\n")
    assert found.startswith("w.yaml:8: error: mechanism must be a name or")
    assert found.partition("fix: ")[2] == fix


def test_a_bias_needs_a_network(tmp_path):
    (found,) = errors(
        tmp_path,
        HEAD.replace("test: network\n", "") + "datasets: [dutch]\nsample: {from: data, bias: [label]}\n",
    )
    assert "bias has no effect on real rows" in found


def test_settings_of_the_network_stay_with_a_bias(tmp_path):
    config = tmp_path / "w.yaml"
    config.write_text(
        HEAD + "datasets: [dutch: {outcome_sink: true}]\nsample: {bias: [label], require_arc: true}\n"
    )
    assert read_config(config).datasets[0].outcome_sink


def test_filters_take_worlds(tmp_path):
    from fairbench_cli.experiment.plan import select

    cells = planned(tmp_path, f"{SHIPPED}  bias: [[label], []]\n  beta: [0.5, 1]\n").cells
    assert select(cells, ("world=label",)) == [True, True, False]
    assert all(a["key"] != b["key"] for a, b in pairwise(cells))


def test_a_table_of_worlds_goes_with_the_bias_of_all_data_sets(tmp_path):
    plan = planned(tmp_path, f"{SHIPPED}  bias: [label: {{flip: 0.5}}]\ntables: [worlds]\n")
    assert plan.config.has_worlds
