"""What an audit is asked to do: keys, defaults and mistakes."""

from pathlib import Path

import pytest
import typer
from click import Context

from fairbench_cli.audit.config import AuditConfig, Decision, PlanConfig, meanings
from fairbench_cli.audit.metrics import INTERVENTIONS, ROLL_UPS
from fairbench_cli.audit.options import read_config
from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml
from fairbench_cli.cli.app import app
from fairbench_cli.cli.audit import PANELS, POWER_PANELS
from fairbench_cli.measures.registry import COUNT_METRICS

FULL = {
    "score": "s",
    "label": "y",
    "attribute": ["race", "sex"],
    "weight": "w",
    "model-column": "m",
    "bins": {"age": 4},
    "intersect": [["race", "sex"], ["race", "age"]],
    "top-k": [10, 20],
    "ties": "exclude",
    "ref": {"race": "a"},
    "ref-method": "given",
    "rule": "evidence",
    "min-share": 0.0,
    "curves": False,
    "tau": {"default": 0.9, "fpr": 0.7},
    "metric": ["fpr", "phi", "type-i-parity"],
    "min-group": 5,
    "draws": 0,
    "seed": 3,
    "confidence": 0.9,
}


commands = typer.main.get_command(app).commands


def test_nothing_given_is_every_default():
    config = read_config({})
    assert config == AuditConfig()
    assert config.decisions == (Decision(),)
    assert (config.tau, config.taus, config.measures, config.requested) == (0.8, {}, None, ())
    assert (config.explained_by, config.fail_on) == ((), ())


def test_what_is_resolved_asks_for_the_same(tmp_path):
    for given in ({}, FULL, {"top-share": 0.1, "explain": "job"}):
        config = read_config(given)
        (tmp_path / "audit.yaml").write_text(dump_yaml(config.resolved()))
        assert read_config({}, tmp_path / "audit.yaml") == config
    assert read_config(FULL).resolved() == FULL


def test_a_key_may_be_written_in_several_ways():
    for one, other in (
        ({"ref": "race=a"}, {"ref": {"race": "a"}}),
        ({"ref": ["race=a", "sex=b = c"]}, {"ref": {"race": "a", "sex": "b = c"}}),
        ({"bins": ["age=4"]}, {"bins": {"age": 4}}),
        ({"tau": ["0.9", "fpr=0.7"]}, {"tau": [0.9, {"fpr": 0.7}]}),
        ({"tau": {"fpr": 0.7}}, {"tau": {"default": 0.8, "fpr": 0.7}}),
        ({"intersect": "race,sex"}, {"intersect": ["race", "sex"]}),
        ({"intersect": ["race,sex", "sex, age"]}, {"intersect": [["race", "sex"], ["sex", "age"]]}),
        ({"explain": ["job,age", "job"]}, {"explain": [["job", "age"], ["job"], "job"]}),
        ({"top-k": 5, "model-column": "m"}, {"top_k": [5], "model_column": "m"}),
        ({"metric": "fpr"}, {"metric": ["fpr"], "weight": None}),
    ):
        assert read_config(one) == read_config(other)


def test_what_is_derived():
    config = read_config(FULL | {"fail-on": ["fpr", "race:phi"], "top-share": 1.0})
    assert [str(decision) for decision in config.decisions] == ["top 10", "top 20", "top 100 %"]
    assert (config.tau, config.taus) == (0.9, {"fpr": 0.7})
    assert (config.measures, config.requested) == (("fpr", "type-i-parity"), ("phi",))
    assert config.fail_on == (("", "fpr"), ("race", "phi"))
    assert read_config({"threshold": [0.5, 0.5]}).decisions == (Decision("threshold", 0.5),)
    assert read_config({"decision": "punitive", "metric": "phi"}).measures == INTERVENTIONS["punitive"]
    assert read_config({"explain": "job"}).explained_by == (("job",),)


def test_every_metric_of_counts_may_be_asked_for_in_any_order():
    names = [*COUNT_METRICS, *ROLL_UPS]
    config = read_config({"metric": names[::-1], "fail-on": names})
    assert list(config.metrics) == names[::-1]
    assert {*config.measures, *config.requested} == set(names)
    assert [name for _, name in config.fail_on] == names


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"tau": 1.25}, "tau.default must be at most 1, not 1.25", "write 1 or less"),
        ({"tau": {"fpr": 0.0}}, "tau.fpr must be above 0, not 0.0", "write a number above 0"),
        ({"tau": {"fprr": 0.9}}, 'tau.fprr: no metric is called "fprr"', 'did you mean "fpr"?'),
        ({"tau": {"shares": 0.9}}, 'tau.shares: no metric is called "shares"', None),
        ({"tau": "high"}, 'tau.default must be a number, not "high"', None),
        ({"confidence": 95.0}, "confidence must be below 1, not 95.0", "write a number below 1"),
        ({"draws": -1}, "draws must be at least 0, not -1", "write 0 or more"),
        ({"bins": {"age": 1}}, "bins.age: at least 2 bins, not 1", None),
        ({"bins": "age"}, 'bins: "age" is not NAME=VALUE', "write both, such as age=4"),
        ({"intersect": "race"}, 'intersect: "race" is not two or more attributes', "write race,sex"),
        ({"intersect": ["race,race"]}, 'intersect: "race,race" is not two or more attributes', None),
        ({"explain": "job,"}, 'explain: "job," does not name different columns', "write education,hours"),
        ({"threshold": float("nan")}, "threshold must be a number, not NaN", None),
        ({"top-k": 0}, "top-k must be at least 1, not 0", None),
        ({"top-k": 1.5}, "top-k must be a whole number, not 1.5", None),
        ({"top-share": 20}, "top-share must be at most 1, not 20", None),
        ({"ref-method": "rset"}, 'ref-method has the unknown value "rset"', 'did you mean "rest"?'),
        ({"metric": []}, "metric must not be empty", "give at least one value"),
        ({"metric": "fprs"}, 'metric: no metric is called "fprs"', 'did you mean "fpr"?'),
        ({"metric": "consistency"}, 'metric: "consistency" needs the rows, and these are counted', None),
        (
            {"metric": "auc-difference"},
            'metric: "auc-difference" is of scores, and decisions are counted',
            None,
        ),
        ({"fail-on": "race:fpp"}, 'fail-on: no metric is called "fpp"', None),
        ({"threshold": [0.1, 0.2], "explain": "job"}, "several decisions are audited, and one can", None),
        ({"measure": "fpr"}, 'unknown key "measure"', None),
    ],
)
def test_mistakes(given, what, fix):
    with pytest.raises(UserError) as caught:
        read_config(given)
    (problem,) = caught.value.problems
    assert problem.what.startswith(what)
    assert problem.where in given
    assert fix in (None, problem.fix)


def test_keys_of_a_file_have_dashes(tmp_path: Path):
    (tmp_path / "audit.yaml").write_text("min_group: 5\n")
    with pytest.raises(UserError, match='unknown key "min_group"\n  fix: did you mean "min-group"'):
        read_config({}, tmp_path / "audit.yaml")


def test_a_mapping_of_a_file_is_added_to_unless_it_is_wrong(tmp_path: Path):
    (tmp_path / "audit.yaml").write_text("bins: {age: 4, size: 3}\ntau: 0.7\n")
    config = read_config({"bins": ["age=2"], "tau": ["fpr=0.9"]}, tmp_path / "audit.yaml")
    assert config.bins == {"age": 2, "size": 3}
    assert (config.tau, config.taus) == (0.7, {"fpr": 0.9})
    with pytest.raises(UserError, match="--bins: error: bins: "):
        read_config({"bins": ["age"]}, tmp_path / "audit.yaml", "--")


def test_help_says_what_the_keys_mean(say):
    said = " ".join(say("audit", "--help").out.replace("│", " ").split())
    visible = " ".join(PANELS.values()).split()
    for key, meaning in meanings().items():
        assert (f"--{key} " in said) == (key in visible)
        if key in visible:
            assert meaning.split()[0] in said
    assert "Default: 0.8." in said
    for default in ("Default: 30.", "Default: 1000.", "Default: 0.95."):
        assert any(default in meaning for meaning in meanings().values())


def test_every_metric_that_passes_by_a_tau_may_have_one_of_its_own():
    config = read_config(
        {
            "metric": "tpr-difference",
            "fail-on": "odds-ratio",
            "tau": {"tpr-difference": 0.9, "odds-ratio": 0.7, "pprev": 0.6},
        }
    )
    assert config.taus == {"tpr-difference": 0.9, "odds-ratio": 0.7, "pprev": 0.6}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"tau": {"tpr-p": 0.9}}, 'tau.tpr-p: "tpr-p" does not pass by a tau'),
        ({"tau": {"chi-squared": 0.9}}, 'tau.chi-squared: "chi-squared" does not pass by a tau'),
        ({"tau": {"type-i-parity": 0.9}}, 'tau.type-i-parity: "type-i-parity" does not pass by a tau'),
        ({"tau": {"tpr-difference": 0.9}}, "tau of tpr-difference has no effect"),
    ],
)  # fmt: skip
def test_a_tau_without_an_effect_is_refused(given, what):
    with pytest.raises(UserError) as caught:
        read_config(given)
    assert [problem.what for problem in caught.value.problems] == [what]


@pytest.mark.parametrize(
    ("given", "effect"),
    [
        ({"metric": ["for"]}, "punitive"),
        ({"metric": ["fdr", "accuracy"]}, "assistive"),
        ({"metric": ["for"], "fail-on": ["sex:for"]}, "punitive"),
    ],
)
def test_a_decision_without_an_effect_is_refused(given, effect):
    """It says which metrics decide, which is said, and whom a gap harms, which is not known of these."""
    with pytest.raises(UserError) as caught:
        read_config(given | {"decision": effect})
    expected = [f"decision {effect} has no effect: metric says what decides"]
    assert [problem.what for problem in caught.value.problems] == expected


@pytest.mark.parametrize(
    ("given", "effect"),
    [
        ({}, "punitive"),
        ({"metric": ["for"]}, "assistive"),
        ({"metric": ["pprev"]}, "punitive"),
        ({"metric": ["mcc"]}, "punitive"),
        ({"metric": ["type-ii-parity"]}, "punitive"),
        ({"metric": ["for"], "fail-on": ["fpr"]}, "punitive"),
    ],
)
def test_a_decision_with_an_effect_is_taken(given, effect):
    assert read_config(given | {"decision": effect}).effect == effect


def test_every_key_is_a_flag_and_help_shows_those_of_its_panels(say, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command, panels in (("audit", PANELS), ("power", POWER_PANELS)):
        visible = [key for keys in panels.values() for key in keys.split()]
        assert set(visible) <= set(meanings(PlanConfig))
        assert len(set(visible)) == len(visible)
        flags = {
            flag
            for option in commands[command].get_params(Context(commands[command]))
            for flag in option.opts
        }
        assert {f"--{key}" for key in meanings(PlanConfig)} <= flags
        shown = say(command, "--help").out
        for key in visible:
            assert f"--{key} " in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_one_side_of_a_number_is_a_reference_without_a_value():
    assert (
        AuditConfig(ref="age<40").references == AuditConfig(ref={"age<40": ""}).references == {"age<40": ""}
    )
