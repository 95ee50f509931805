"""Laws of configs: written out and read again they are the same, and junk is refused in good order."""

import os
from pathlib import Path

import pytest
from conftest import law
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fairbench_cli.base.errors import MOST_PROBLEMS, UserError
from fairbench_cli.base.strict_yaml import dump_yaml, parse_yaml
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import prepare_datasets
from fairbench_cli.experiment.plan import make_cells

# A file with `truth` is a simulation.
CONFIGS = [
    path
    for path in sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
    if "\ntruth:" not in path.read_text(encoding="utf-8")
]

CARD = """name: mine
files: [mine.csv]
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
  race: {deprived: b}
"""


def again(experiment, folder):
    path = folder / "resolved.yaml"
    path.write_text(experiment.as_yaml(), encoding="utf-8")
    return read_config(path)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "setting",
    [
        (),
        (
            "sample={from: shipped}",
            "test=network",
            "datasets=[{adult: {attribute: [sex, race], bias: [group: {noise: 0.1}]}}, compas]",
        ),
        ("name=1.e3",),
    ],
)
def test_a_resolved_config_is_the_same_experiment(path, setting, tmp_path):
    experiment = read_config(path, setting if setting != ("name=1.e3",) else ("name='1e3'",))
    assert again(experiment, tmp_path) == experiment
    assert again(experiment, tmp_path).as_yaml() == experiment.as_yaml()


@pytest.mark.gate
def test_a_resolved_config_leaves_nothing_to_defaults(tmp_path):
    for path in CONFIGS:
        spelled = read_config(path).to_config()
        of_worlds = set() if read_config(path).has_worlds else {"test_labels", "test_features"}
        without_controls = set() if read_config(path).controls else {"controls"}
        asked = {"figure_formats"}  # of files, not of numbers: said where it is not the default
        assert set(spelled) | asked == set(ExperimentConfig.model_fields) - of_worlds - without_controls


def test_a_card_by_path_and_every_option(tmp_path, monkeypatch):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "mine.yaml").write_text(CARD)
    config = tmp_path / "x.yaml"
    config.write_text(
        "name: '007'\nseed: 3\nrepeats: 2\ntest: network\ninclude_protected: true\n"
        "datasets: [cards/mine.yaml: {attribute: race, size: 7, bias_direction: both}, adult, "
        "adult-train: {require_arc: true, outcome_sink: true, missing_arc: leave, attribute: race}]\n"
        "sample: {learner: tabu, score: k2, max_parents: 3, beta: [1e-7, 0.1, 1], size: 50}\n"
        "interventions: [none, "
        "massaging: {ranker: [logistic, naive-bayes], include_protected: [false, true]}]\n"
        "classifiers: [tree: {max_depth: [null, 3], pruning: 1e-5}, naive-bayes]\n"
        "metrics: [accuracy]\ntables: []\n"
    )
    monkeypatch.chdir(tmp_path)
    experiment = read_config(Path("x.yaml"))
    elsewhere = tmp_path / "results"
    elsewhere.mkdir()
    monkeypatch.chdir("/")
    assert again(experiment, elsewhere) == experiment
    other = experiment.model_copy(update={"seed": 4})
    assert again(other, elsewhere) != experiment


def test_keys_of_a_resolved_config_are_the_same(tmp_path):
    data = os.environ.get("FAIRBENCH_DATA")
    if not data:
        pytest.skip("needs the real data: set FAIRBENCH_DATA to the folder of compas-scores-two-years.csv")
    experiment = read_config(
        CONFIGS[0].parent / "quickstart.yaml",
        (
            "datasets=[compas: {require_arc: true, size: 100}]",
            "sample={from: network, beta: [0, 0.5]}",
            "test=original",
        ),
    )
    keys = [
        [cell.key for cell in make_cells(one, prepare_datasets(one, None))]
        for one in (experiment, again(experiment, tmp_path))
    ]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0]) == 2 * len(experiment.interventions)


WORDS = (
    "adult dutch compas none massaging tree naive-bayes accuracy x network shipped original both ranker "
    "logistic include_protected min_leaf bias_direction require_arc beta from attribute sex learner tabu "
    "size x.yaml ../.. 1e3 <<"
)
word = st.sampled_from([*WORDS.split(), "", "a\nb"])
leaf = (
    st.none()
    | st.booleans()
    | st.integers(-2, 40)
    | st.floats(-0.5, 1.5, allow_nan=False)
    | word
    | st.text(max_size=4)
)
junk = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3), max_leaves=8
)
good = {
    "name": st.just("x"),
    "seed": st.integers(0, 5),
    "repeats": st.integers(1, 5),
    "datasets": st.lists(st.sampled_from(["adult", "dutch", {"compas": {"attribute": "sex"}}]), min_size=1),
    "sample": st.fixed_dictionaries(
        {}, optional={"beta": st.lists(st.floats(0, 1)), "from": word, "size": leaf}
    ),
    "test": st.sampled_from(["original", "network"]),
    "include_protected": st.booleans(),
    "interventions": st.lists(
        st.sampled_from(["none", "reweighing", {"massaging": {"ranker": ["logistic"]}}])
    ),
    "classifiers": st.lists(
        st.sampled_from(["tree", "naive-bayes", {"tree": {"min_leaf": [1, 2]}}]), min_size=1
    ),
    "metrics": st.lists(st.sampled_from(["accuracy", "tpr"]), min_size=1),
    "tables": st.just([]),
}
surely = ("name", "datasets", "interventions")
config = st.fixed_dictionaries(
    {key: st.one_of(good[key], good[key], good[key], junk) for key in surely},
    optional={key: st.one_of(value, junk) for key, value in good.items() if key not in surely}
    | {"other": junk},
)


def check_form(error, path):
    """Two lines a mistake, of the first twenty, each with its place, those of the file in its order."""
    lines = str(error).splitlines()
    if len(error.problems) > MOST_PROBLEMS:
        assert lines.pop().startswith(f"… and {len(error.problems) - MOST_PROBLEMS} more error")
    assert len(lines) == 2 * min(len(error.problems), MOST_PROBLEMS) > 0
    assert all("error: " in line for line in lines[::2])
    assert all(line.startswith("  fix: ") for line in lines[1::2])
    where = [problem.where for problem in error.problems]
    assert all(where)
    numbers = [int(spot.rpartition(":")[2]) for spot in where if spot.startswith(f"{path}:")]
    assert numbers == sorted(numbers)


@pytest.mark.gate
@given(
    config,
    st.lists(st.sampled_from(["a.b=1", "seed=3", "sample.beta=[0]", "x", "datasets=[adult]", "name="])),
)
@law(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_anything_is_an_experiment_or_a_user_error(tmp_path, data, overrides):
    path = tmp_path / "f.yaml"
    path.write_text(dump_yaml(data), encoding="utf-8", errors="replace")
    try:
        experiment = read_config(path, tuple(overrides))
    except UserError as error:
        check_form(error, path)
    else:
        assert isinstance(experiment, ExperimentConfig)
        assert again(experiment, tmp_path) == experiment


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_say_nothing_twice(path):
    document = parse_yaml(path.read_text(encoding="utf-8"), str(path))
    assert document.data["name"] == path.stem
