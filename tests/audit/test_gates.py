"""Gates: what stops, what is warned of, what a baseline accepts, and how CI is told."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import yaml
from audit_sample import sample_audit
from conftest import study_of, two_lines

import fairbench_cli as fb
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.show.formats import write
from fairbench_cli.base.errors import ArgumentError, UserError
from fairbench_cli.cli.audit import PANELS

ROOT = Path(__file__).parents[2]
SELECTED = {"a": 400, "b": 200, "c": 395}  # of 1,000 each: b fails against a, c does not


def decisions(selected: dict[str, int], n: int = 1000, column: str = "score") -> pd.DataFrame:
    rows = [(group, int(i < k)) for group, k in selected.items() for i in range(n)]
    frame = pd.DataFrame(rows, columns=["race", column])
    return frame.assign(sex=np.where(frame.index % 2, "f", "m"))


@pytest.fixture
def preds(tmp_path):
    decisions(SELECTED).to_csv(tmp_path / "preds.csv", index=False)
    return ("audit", "preds.csv", "-a", "race", "-a", "sex", "--ref", "race=a")


def releases() -> pd.DataFrame:
    """200,000 rows: Black from 0.81 to 0.99 times, Hispanic from 0.87 to 0.86 times as often selected."""
    rng = np.random.default_rng(0)
    ethnicity = rng.choice(["White", "Black", "Hispanic"], 200_000, p=[0.7, 0.15, 0.15])
    u = rng.random(200_000)
    old = u < pd.Series(ethnicity).map({"White": 0.60, "Black": 0.486, "Hispanic": 0.522})
    new = u < pd.Series(ethnicity).map({"White": 0.60, "Black": 0.594, "Hispanic": 0.514})
    return pd.DataFrame({"ethnicity": ethnicity, "old": old.astype(int), "new": new.astype(int)})


@pytest.mark.gate
def test_a_clearly_better_release_is_not_stopped_by_a_hundredth(tmp_path, say):
    releases().to_csv(tmp_path / "a.csv", index=False)
    flags = ("audit", "a.csv", "--score", "old", "--score", "new", "-a", "ethnicity", "--fail-on", "worse")
    said = say(*flags)
    text = re.sub(r"\s+", " ", said.out)
    assert said.code == 0, text
    assert "From model old to model new: 1 better, 1 hardly changed." in text
    everything = re.sub(r"\s+", " ", say(*flags, "--all").out)
    assert "distance of the two rates by less than 0.02 (--least-change)" in everything
    strict = say(*flags, "--least-change", "selection-rate=0")
    assert strict.code == 1
    text = re.sub(r"\s+", " ", strict.out)
    assert "worse than old: better in 1, worse in 1: ethnicity:selection-rate of Hispanic" in text


def test_a_least_change_is_read_by_name():
    config = read_config({"score": ["a", "b"], "least-change": ["0.05", "pprev=0.01"]})
    assert (config.least_change("selection-rate"), config.least_change("fpr")) == (0.01, 0.05)
    for wrong in ({"least-change": 0.1}, {"score": ["a", "b"], "least-change": {"phi": 0.1}}):
        with pytest.raises(UserError, match="least-change"):
            read_config(wrong)


@pytest.mark.parametrize(
    ("flags", "code", "line"),
    [
        (("--fail-on", "race"), 1, "Gate: stops, exit code 1: race fails."),
        (("--warn-on", "race"), 0, "Gate: warns: race fails."),
        (("--warn-on", "sex"), 0, "Gate: does not warn."),
        (("--fail-on", "sex", "--warn-on", "race"), 0, "Gate: warns: race fails."),
        (("--fail-on", "race", "--warn-on", "race:selection-rate"), 1, "warns: race:selection-rate fails."),
    ],
)
def test_gates_stop_or_warn_for_an_attribute_or_a_metric(preds, say, flags, code, line):
    said = say(*preds, *flags)
    assert said.code == code
    assert line in re.sub(r"\s+", " ", said.out)


def test_what_is_neither_metric_nor_attribute_is_refused_at_once(preds, say):
    two_lines(say(*preds, "--fail-on", "rac"), 'did you mean "race"')
    two_lines(say(*preds, "--warn-on", "rac"), "--warn-on")
    two_lines(say("audit", "none.csv", "-a", "race", "--fail-on", "rac"), "neither a metric nor")
    two_lines(say("audit", "preds.csv", "--fail-on", "xyzzy"), "neither a metric nor an audited attribute")
    two_lines(say(*preds, "--fail-on", "race:undecided"), "name both: race, undecided")
    result = fb.audit(decisions(SELECTED).assign(new=0), score=["score", "new"], attributes=["race"])
    with pytest.raises(ArgumentError, match='"undecided:worse" is neither'):
        result.gate(fail_on="undecided:worse")


def test_an_open_attribute_is_named_by_a_gate_that_does_not_stop(tmp_path, say):
    frame = decisions({"a": 400, "b": 330})
    frame.to_csv(tmp_path / "open.csv", index=False)
    said = say("audit", "open.csv", "-a", "race", "-a", "sex", "--fail")
    text = re.sub(r"\s+", " ", said.out)
    assert said.code == 0
    assert "Gate: does not stop (race is not decided; --fail-on undecided would stop)." in text
    assert say("audit", "open.csv", "-a", "race", "-a", "sex", "--fail", "--fail-on", "undecided").code == 1
    assert say("audit", "open.csv", "-a", "race", "--fail", "-f", "github").out.count("::warning") == 1


@pytest.mark.gate
def test_a_baseline_accepts_what_failed_and_did_not_grow(preds, tmp_path, say):
    (tmp_path / "old.json").write_text(say(*preds, "-f", "ci").out)
    gate = ("--fail", "--baseline", "old.json")
    said = say(*preds, *gate)
    assert said.code == 0
    assert "1 failing comparison is accepted by old.json" in re.sub(r"\s+", " ", said.out)
    # A gap that grew by 3 points of 1,000 people may be chance; one of 8 points, or a new one, is none.
    for selected, code in (({"b": 190}, 0), ({"b": 170}, 0), ({"b": 120}, 1), ({"c": 200}, 1)):
        decisions(SELECTED | selected).to_csv(tmp_path / "preds.csv", index=False)
        said = say(*preds, *gate, "-f", "ci")
        assert said.code == code, selected
        assert json.loads(said.out)["gate"]["baseline"] == "old.json"
    decisions(SELECTED | {"b": 120}).to_csv(tmp_path / "preds.csv", index=False)
    assert say(*preds, *gate, "--least-change", "0.1").code == 0
    # A file of an earlier version has no intervals, and one may be null: then the least change alone counts.
    old = json.loads((tmp_path / "old.json").read_text()) | {"format": 1}
    for comparison in old["failing"]:
        del comparison["difference_low"]
        comparison["difference_high"] = None
    (tmp_path / "old.json").write_text(json.dumps(old))
    decisions(SELECTED | {"b": 170}).to_csv(tmp_path / "preds.csv", index=False)
    assert say(*preds, *gate).code == 1
    (tmp_path / "new.json").write_text('{"format": 3, "failing": []}')
    two_lines(say(*preds, "--fail", "--baseline", "new.json"), "ci.json of format 3", "--format ci")
    for text in ("", "[]", '{"format": 3}', '{"format": 1, "failing": [1]}'):
        (tmp_path / "no.json").write_text(text)
        two_lines(say(*preds, "--fail", "--baseline", "no.json"), "no ci.json of an audit")
    two_lines(say(*preds, "--fail", "--baseline", "none.json"), "no such file")
    two_lines(say(*preds, "--baseline", "old.json"), "baseline has no effect")


def test_a_gate_over_several_models_stops_if_any_fails():
    bad, good = decisions(SELECTED), decisions(dict.fromkeys("abc", 400))
    for first, second in ((bad, good), (good, bad)):
        both = pd.concat([first.assign(model="1"), second.assign(model="2")])
        result = fb.audit(both, attributes=["race"], ref={"race": "a"}, model_column="model", fail=True)
        assert result.report.gate.stops


def test_verdicts_say_what_decides():
    table = fb.audit(decisions(SELECTED), attributes=["race"]).to_pandas("verdicts")
    assert list(table)[-1] == "deciding"
    assert set(table.metric[table.deciding]) == {"selection-rate", "(all)"}
    assert "selected-share" in set(table.metric[~table.deciding])


def test_github_commands_are_escaped_and_as_severe_as_the_gate():
    frame = decisions(SELECTED).rename(columns={"race": "race, or: what"})
    options = {"attributes": ["race, or: what"], "ref": {"race, or: what": "a"}}
    for gate, command in (({}, "error"), ({"warn_on": ["undecided"]}, "warning"), ({"fail": True}, "error")):
        text = fb.audit(frame, **options, **gate).to("github")
        (line, *_) = text.splitlines()
        assert line.startswith(
            f"::{command} title=race%2C or%3A what::race, or: what: b are selected in 20.0 %25"
        )
        assert all(line.startswith("::") for line in text.splitlines())


def test_junit_counts_its_cases():
    report = sample_audit()
    suite = ET.fromstring(write(report, "junit"))  # noqa: S314 - ours
    cases = suite.findall("testcase")
    assert suite.tag == "testsuite"
    assert (
        len(cases)
        == int(suite.get("tests"))
        == len({(one.get("classname"), one.get("name")) for one in cases})
    )
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures")) > 0
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped"))
    odd = decisions(SELECTED).assign(race=lambda frame: frame.race + "\x01<&>")
    suite = ET.fromstring(fb.audit(odd, attributes=["race"]).to("junit"))  # noqa: S314 - ours
    assert suite.findall("testcase/failure")


def test_sarif_has_a_result_of_each_failing_comparison():
    report = sample_audit("data/my preds.csv")
    log = json.loads(write(report, "sarif"))
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "fairbench")
    failing = [row for row in report.disparities if row.deciding and row.verdict == "fail"]
    assert len(run["results"]) == len(failing) > 0
    for one in run["results"]:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["level"] in ("error", "warning", "note")
        assert one["message"]["text"]
        assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "data/my%20preds.csv"


def test_the_action_and_the_hook_name_real_options():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    keys = {f"--{key}" for keys in PANELS.values() for key in keys.split()} | {"--format"}
    command = action["runs"]["steps"][-1]["run"].splitlines()[-1]
    for text in (command, hook["entry"]):
        assert shlex.split(text)[:2] == ["fairbench", "audit"]
        assert {word for word in shlex.split(text) if word.startswith("--")} <= keys
    assert set(action["inputs"]) == {"file", "options", "fail"}


def test_a_test_of_python_asks_for_the_gate(tmp_path):
    result = fb.audit(decisions(SELECTED), attributes=["race", "sex"], ref={"race": "a"})
    assert result.headline == json.loads(result.to_json())["headline"]["sentence"]
    assert result.gate().reason == "race fails"
    assert not result.gate(fail_on="sex").stops
    with pytest.raises(
        fb.AuditFailed, match=r"(?s)^Fails clearly in race: .*race:selection-rate fails"
    ) as caught:
        result.raise_if_failed(fail_on="race:selection-rate")
    assert isinstance(caught.value, AssertionError)
    with pytest.warns(UserWarning, match="race fails"):
        result.raise_if_failed(fail_on="sex", warn_on=["race"])
    for wrong in ("rac", "race:fprr", "race:fpr", "worse", "phi"):
        with pytest.raises(ArgumentError):
            result.gate(fail_on=wrong)
    names = result.save(tmp_path / "out")
    assert sorted(names) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "ci.json" in names
    assert result.save(tmp_path / "new/page.html") == ["page.html"]
    assert (tmp_path / "new/page.html").read_bytes() == (tmp_path / "out/audit.html").read_bytes()


@pytest.mark.gate
@pytest.mark.parametrize(
    ("world", "arguments", "least", "most"),
    [
        ("fair", {"n": 200, "labelled": True}, 0, 3),
        ("fair", {"n": 600, "labelled": False}, 0, 3),
        ("planted", {"n": 132, "rate": 0.4, "ratio": 0.6}, 12, 20),  # `power` says 16
        ("changed", {"n": 6000, "kind": "shrinks"}, 0, 0),
        ("changed", {"n": 6000, "kind": "stays"}, 0, 3),
        ("changed", {"n": 6000, "kind": "grows"}, 20, 20),
    ],
)
def test_a_gate_is_quiet_when_the_model_is_fair(world, arguments, least, most):
    study = study_of("gates")
    draw = getattr(study, world)(**arguments)
    rng = np.random.default_rng(3)
    gates = [study.judge_world(draw(rng)).gate for _ in range(20)]
    assert least <= sum(gate.stops for gate in gates) <= most
    assert all(gate.stops or gate.undecided for gate in gates) or world != "planted"
