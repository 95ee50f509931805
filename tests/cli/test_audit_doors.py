"""The ways into an audit: settings by name, a run's cell by its path, planning as a command of its own."""

import json
import warnings
from contextlib import nullcontext

import pytest
import yaml
from conftest import two_lines

import fairbench_cli as fb

PREDS = "score,sex\n" + "1,f\n0,f\n1,m\n1,m\n" * 60


@pytest.fixture
def preds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "preds.csv").write_text(PREDS)


def test_a_setting_is_the_flag_of_its_name(preds, say):
    by_flag = say("audit", "preds.csv", "--min-group", "200", "--exclude", "sex=f", "--format", "json")
    settings = ("--set", "min-group=200", "--set", "exclude=sex=f")
    by_setting = say("audit", "preds.csv", *settings, "--format", "json")
    assert (by_setting.code, by_setting.out) == (0, by_flag.out)


@pytest.mark.parametrize(
    ("settings", "problem", "fix"),
    [
        (["mingroup=5"], 'unknown key "mingroup"', 'did you mean "min-group"?'),
        (["min-group"], "is not KEY=VALUE", "write min-group=50"),
        (["min-group=5", "min-group=6"], "min-group is given 2 times", "leave one of the two out"),
        (["min-group=five"], "must be a whole number", "write a number such as 30"),
    ],
)
def test_a_wrong_setting_is_said(preds, say, settings, problem, fix):
    options = [word for setting in settings for word in ("--set", setting)]
    two_lines(say("audit", "preds.csv", *options), problem, fix)


def test_planning_is_a_command(preds, say):
    planned = say("power", "white=1000,black=200", "--rate", "0.3")
    assert planned.code == 0
    assert "rate" not in say("audit", "--help").out.split("--ref")[0].split()


def test_a_file_with_a_hash_in_its_name_is_a_file(preds, say, tmp_path):
    (tmp_path / "a#b.csv").write_text(PREDS)
    assert say("audit", "a#b.csv").code == 0


def test_help_shows_what_most_audits_need(say):
    shown = {word for word in say("audit", "--help").out.split() if word.startswith("--")}
    assert {"--score", "--favourable-label", "--recode", "--set", "--fail-on"} <= shown
    assert shown.isdisjoint({"--draws", "--rate", "--only"})
    assert len(shown) <= 40


def test_a_cell_is_named_by_its_path(finished, say):
    cell = "intervention=none,beta=1"
    by_option = say("audit", finished.folder, "--only", cell, "--repeat", "1", "--format", "json")
    by_path = say("audit", f"{finished.folder}#{cell},repeat=1", "--format", "json")
    assert (by_path.code, by_path.out) == (0, by_option.out)
    two_lines(say("audit", f"{finished.folder}#{cell}", "--repeat", "1"), "named twice", "leave one")
    two_lines(say("audit", f"{finished.folder}#{cell},repeat=x"), '"x" is no repeat', "write repeat=0")
    two_lines(say("audit", f"{finished.folder}#{cell},intervention=massaging"), "", "")


def table(rows, names="g,score,n"):
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


def two_models():
    """Return counts of two models: the gap of b in selection, FPR and FNR shrinks, that in FOR opens."""
    rows = []
    for group, base, old, new in (("a", 0.6, 1.0, 1.0), ("b", 0.4, 0.7, 0.95)):
        for label, chance in ((0, 0.3), (1, 0.8)):
            people = 4000 * (base if label else 1 - base)
            shares = {(1, 1): old, (0, 1): new - old}
            for (before, after), share in shares.items():
                rows.append((group, label, before, after, round(people * chance * share)))
            rows.append((group, label, 0, 0, round(people * (1 - chance * new))))
    return table([row for row in rows if row[-1]], "g,y,old,new,n")


FAIR = table([("a", 1, 105), ("a", 0, 195), ("b", 1, 100), ("b", 0, 200)])
FAILING = table([("a", 1, 150), ("a", 0, 150), ("b", 1, 75), ("b", 0, 225)])
MODELS = {"score": ["old", "new"], "label": "y"}
GATES = {
    "a fair file": (FAIR, {"fail": True}, "", ["g"]),
    "a fair file, by name": (FAIR, {"fail-on": ["g:selection-rate"]}, "", ["g:selection-rate"]),
    "a fair file, undecided": (FAIR, {"fail-on": ["undecided"]}, "g is not decided", ["g"]),
    "a failure": (FAILING, {"fail": True}, "g fails", []),
    "one group": (table([("a", 1, 50), ("a", 0, 50)]), {"fail": True}, "in g (no two groups)", ["g"]),
    "all selected": (
        table([("a", 1, 50), ("b", 1, 50)]),
        {"fail": True},
        "in g (everybody has the same value)",
        ["g"],
    ),
    "a better model": (two_models(), {**MODELS, "fail-on": ["worse"]}, "", []),
    "by its direction": (two_models(), {**MODELS, "fail-on": ["worse"], "decision": "assistive"}, "", []),
    "a rate that grows": (
        two_models(),
        {**MODELS, "fail-on": ["g:fnr:worse", "for:worse"]},
        "worse than old: better in 1, worse in 1: g:for of b",
        [],
    ),
    "a worse model": (
        two_models(),
        {**MODELS, "score": ["new", "old"], "fail": True, "fail-on": ["worse"]},
        "g fails; worse than new: g:selection-rate of b",
        [],
    ),
}


@pytest.mark.gate
@pytest.mark.parametrize("name", GATES)
def test_a_gate_is_the_same_through_all_doors(say, tmp_path, name):
    text, keys, reason, undecided = GATES[name]
    keys = {"attribute": ["g"], "counts": "n", "ref": {"g": "a"}, **keys}
    (tmp_path / "p.csv").write_text(text)
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(keys))
    flags = ["--ref", "g=a"]
    for key, value in keys.items():
        for part in value if isinstance(value, list) else [value]:
            if key != "ref":
                flags += [f"--{key}"] + [part] * (part is not True)
    by_flags = say("audit", "p.csv", *flags, "-f", "ci")
    by_file = say("audit", "p.csv", "--config", "audit.yaml", "-o", "out")
    result = fb.audit("p.csv", **{key.replace("-", "_"): value for key, value in keys.items()})
    (tmp_path / "finished.json").write_text(result.to("finished"))
    again = say("audit", "finished.json", "-f", "ci")
    texts = {by_flags.out, (tmp_path / "out/ci.json").read_text(), result.to("ci"), again.out}
    content = json.loads(texts.pop())
    assert not texts
    gate = content["gate"]
    assert {by_flags.code, by_file.code, again.code, content["exit_code"]} == {int(bool(reason))}
    assert (content["format"], gate["stops"], gate["undecided"]) == (2, bool(reason), undecided)
    assert gate["reason"].endswith(reason)
    assert result.gate() == result.report.gate
    annotations = result.to("github").splitlines()
    assert annotations[-1].startswith(f"::{'error' if reason else 'notice'} title=fairbench")
    assert ('failures="0"' in result.to("junit")) is not bool(reason)
    levels = {row["level"] for row in json.loads(result.to("sarif"))["runs"][0]["results"]}
    if undecided and not reason:
        assert levels == {"warning"}
        assert sum(line.startswith("::warning") for line in annotations) == 1  # once, with its numbers
    assert f"Gate: {'stops' if reason else 'does not stop'}" in " ".join(by_file.out.split())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(fb.AuditFailed) if reason else nullcontext():
            result.raise_if_failed()
    assert bool(warned) is (bool(undecided) and not reason)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("g:fnr:wors", 'did you mean "worse"?'),
        ("g:undecided", "name both: g, undecided"),
        ("gg:worse", 'did you mean "g"'),
        ("fnrr:worse", 'did you mean "fnr"?'),
        ("phi:worse", "name a rate: fpr:worse"),
        ("g:zzz", "use one of: accuracy, equalised-odds-parity, fdr"),
    ],
)
def test_a_wrong_name_of_a_gate_gets_a_near_one(say, tmp_path, name, meant):
    (tmp_path / "p.csv").write_text(two_models())
    models = ("--score", "old", "--score", "new", "--label", "y", "--counts", "n", "-a", "g")
    two_lines(say("audit", "p.csv", *models, "--fail-on", name), f"fix: {meant}")
