"""The ways into an audit: settings by name, a run's cell by its path, planning as a command of its own."""

import pytest
from conftest import two_lines

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
    assert planned.out == say("audit", "white=1000,black=200", "--plan", "--rate", "0.3").out
    assert "rate" not in say("audit", "--help").out.split("--ref")[0].split()


def test_a_file_with_a_hash_in_its_name_is_a_file(preds, say, tmp_path):
    (tmp_path / "a#b.csv").write_text(PREDS)
    assert say("audit", "a#b.csv").code == 0


def test_help_shows_what_most_audits_need(say):
    shown = {word for word in say("audit", "--help").out.split() if word.startswith("--")}
    assert {"--score", "--favourable-label", "--recode", "--set", "--fail-on"} <= shown
    assert shown.isdisjoint({"--draws", "--rate", "--only", "--plan"})
    assert len(shown) <= 40


def test_a_cell_is_named_by_its_path(finished, say):
    cell = "intervention=none,beta=1"
    by_option = say("audit", finished.folder, "--only", cell, "--repeat", "1", "--format", "json")
    by_path = say("audit", f"{finished.folder}#{cell},repeat=1", "--format", "json")
    assert (by_path.code, by_path.out) == (0, by_option.out)
    two_lines(say("audit", f"{finished.folder}#{cell}", "--repeat", "1"), "named twice", "leave one")
    two_lines(say("audit", f"{finished.folder}#{cell},repeat=x"), '"x" is no repeat', "write repeat=0")
    two_lines(say("audit", f"{finished.folder}#{cell},intervention=massaging"), "", "")
