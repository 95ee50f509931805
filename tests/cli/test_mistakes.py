"""Each mistake of a user: two lines on stderr, exit code 2, nothing written, never a traceback."""

import re
import shutil
from pathlib import Path

import pytest
import typer
import yaml
from conftest import LEARNED, SMALL, bare_data, fairbench, own_card, two_lines, write_config

from fairbench_cli.cli.app import app
from fairbench_cli.cli.command import Command

SAMPLE = SMALL["sample"]


IN_THE_CONFIG = {
    "unknown data set": ({"datasets": ["compass"]}, 'did you mean "compas"'),
    "unknown key": ({"repeat": 3}, 'did you mean "repeats"'),
    "unknown attribute": ({"datasets": [{"compas": {"attribute": "rase"}}]}, 'did you mean "race"'),
    "a cell listed twice": ({"sample": SAMPLE | {"beta": [0.5, 0.5]}}, "twice"),
}


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(("change", "word"), IN_THE_CONFIG.values(), ids=IN_THE_CONFIG)
def test_mistakes_in_a_config(say, tmp_path, command, change, word):
    config = write_config(tmp_path / "bad.yaml", **change)
    two_lines(say(command, config), word)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


TEXTS = {
    "a key given twice": (yaml.safe_dump(SMALL) + "seed: 3\n", "twice"),
    "not YAML": ("name: [a\nrepeats: 3\n", "error"),
    "empty": ("", "empty"),
    "only a comment": ("# nothing\n", "empty"),
    "a list": ("- a\n- b\n", "mapping"),
    "not text": (b"\xff\xfe\x00", "UTF-8"),
}


@pytest.mark.parametrize(("text", "word"), TEXTS.values(), ids=TEXTS)
def test_files_that_are_no_config(say, tmp_path, text, word):
    (tmp_path / "bad.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    two_lines(say("run", "bad.yaml"), "bad.yaml", word)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


def test_config_that_is_missing_or_a_folder(say, tmp_path):
    two_lines(say("run", "none.yaml"), "none.yaml")
    two_lines(say("run", tmp_path), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_several_mistakes_are_told_at_once(say, tmp_path):
    config = write_config(tmp_path / "bad.yaml", repeats=0, interventions=["non"], datasets=["adlut"])
    done = say("run", config)
    assert done.code == 2
    assert done.err.count("error: ") == done.err.count("  fix: ") == 3
    assert done.err.count("\n") == 6


@pytest.mark.parametrize("what", ["dataset", "colour=red", "dataset=adult", "beta=0.3", "intervention=non"])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_filters(say, tmp_path, command, what):
    config = write_config(tmp_path / "good.yaml")
    two_lines(say(command, config, "--only", what), "--only")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("what", ["repeats", "=3", "repeats=many", "sample.beta=[0", "sample.beta=2", "x=1"])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_settings(say, tmp_path, command, what):
    config = write_config(tmp_path / "good.yaml")
    two_lines(say(command, config, "--set", what))
    assert not (tmp_path / "results").exists()


def learned(tmp_path: Path, card: Path, **more) -> Path:
    return write_config(tmp_path / "own.yaml", datasets=[str(card)], sample=LEARNED | more, test="original")


def changed(card: Path, **changes) -> Path:
    card.write_text(yaml.safe_dump(yaml.safe_load(card.read_text()) | changes, sort_keys=False))
    return card


def test_a_protected_value_that_the_data_do_not_have(say, tmp_path):
    card = changed(bare_data(tmp_path, "a"), protected={"s": {"deprived": "women"}})
    two_lines(say("run", learned(tmp_path, card)), '"women"', '"s"')
    assert not (tmp_path / "results").exists()


def test_a_protected_value_that_the_network_does_not_have(say, tmp_path):
    for protected in ({"race": {"deprived": "Martian"}}, {"colour": {"deprived": "red"}}):
        card = own_card(tmp_path, protected=protected, other_columns="nominal")
        config = write_config(tmp_path / "own.yaml", datasets=[str(card)])
        two_lines(say("run", config), "card.yaml:", "network")
    card = own_card(tmp_path, label={"column": "two_year_recid", "favourable": "maybe"})
    two_lines(say("run", write_config(tmp_path / "own.yaml", datasets=[str(card)])), '"maybe"')
    assert not (tmp_path / "results").exists()


def test_a_missing_data_file(say, tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    card = bare_data(tmp_path, "a")
    (tmp_path / "a.csv").unlink()
    two_lines(say("run", learned(tmp_path, card)), "a.csv", "--data-dir")
    assert not (tmp_path / "results").exists()


def test_a_data_file_that_is_another_one(say, tmp_path):
    card = changed(bare_data(tmp_path, "a"), files=[{"name": "a.csv", "sha256": "0" * 64}])
    import hashlib

    actual = hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    two_lines(say("run", learned(tmp_path, card)), actual, "0" * 64)
    assert not (tmp_path / "results").exists()


def test_a_network_that_does_not_fit_the_data(say, tmp_path):
    card = bare_data(tmp_path, "a")
    assert say("network", "learn", "a.csv", "-o", "a.network.json").code == 0
    (tmp_path / "a.csv").write_text("s,x,y\nf,1,0\nm,9,1\n")
    config = write_config(tmp_path / "own.yaml", datasets=[str(card)], test="original")
    two_lines(say("run", config), "network")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("place", ["file/out", "file", "/proc/none/out"])
def test_an_output_that_cannot_be_written(say, tmp_path, place):
    (tmp_path / "file").touch()
    config = write_config(tmp_path / "good.yaml")
    two_lines(say("run", config, "-o", place, "--jobs", "1"), place, "-o")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "good.yaml"]


def test_an_attribute_that_is_no_parent_of_the_outcome(say, tmp_path):
    config = write_config(tmp_path / "good.yaml", datasets=[{"compas": {"attribute": "sex"}}])
    done = say("run", config)
    if done.code == 0:
        pytest.skip("the shipped network has that arc")
    two_lines(done, "no parent of the outcome", "require_arc")
    card = bare_data(tmp_path, "a")
    rows = [f"{'fm'[i % 2]},{i % 3},{i // 2 % 2}" for i in range(120)]  # y depends on nothing
    (tmp_path / "a.csv").write_text("\n".join(["s,x,y", *rows, ""]))
    config = learned(tmp_path, card, missing_arc="error")
    refused = say("run", config)
    two_lines(refused, "s is no parent of the outcome y", "require_arc", "outcome_sink")
    entry = re.search("under `datasets` write `(.+?)`", refused.err)[1]
    assert entry == "{a.yaml: {require_arc: true}}"
    assert "s is a parent of the outcome" in say("plan", config, "--set", f"datasets=[{entry}]").out
    assert not (tmp_path / "results").exists()


USAGE = [
    ["nope"],
    ["--nope"],
    ["run"],
    ["run", "a.yaml", "--nope"],
    ["run", "a.yaml", "b.yaml"],
    ["run", "a.yaml", "--jobs", "0"],
    ["run", "a.yaml", "--jobs", "many"],
    ["plan"],
    ["report"],
    ["list", "colours"],
    ["network", "nope"],
    ["network", "learn"],
    ["network", "learn", "a.csv"],
    ["network", "learn", "a.csv", "-o", "x", "--learner", "magic"],
    ["network", "sample", "adult", "-o", "x"],
    ["network", "sample", "adult", "-n", "0", "-o", "x"],
    ["network", "sample", "adult", "-n", "5", "-o", "x", "--beta", "1.5"],
    ["data", "show"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(say, tmp_path, arguments):
    done = say(*arguments)
    two_lines(done)
    group = [word for word in arguments[:2] if word in ("network", "learn", "sample", "data", "show")]
    commands = ("run", "plan", "report", "list")
    command = " ".join(group or [arg for arg in arguments[:1] if arg in commands])
    assert f"see `{' '.join(['fairbench', command]).strip()} --help`" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_bias_without_quotes_is_told_to_have_some(say):
    done = say("network", "sample", "adult", "-n", "5", "-o", "x", "--bias", "[label:", "{flip:", "0.5}]")
    two_lines(done)
    assert "fix: put quotes around a value with spaces" in done.err


@pytest.mark.parametrize("arguments", [[], ["network"], ["data"]], ids=["fairbench", "network", "data"])
def test_no_command_shows_help_and_no_error(arguments):
    done = fairbench(*arguments)
    assert done.returncode == 2
    assert "Usage: " in done.stdout + done.stderr
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_look_the_same_from_outside(tmp_path):
    config = write_config(tmp_path / "bad.yaml", interventions=["masaging"])
    done = fairbench("run", config, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r".*bad.yaml:\d+: error: .*\n  fix: .*\n", done.stderr)


def test_a_journal_that_cannot_be_written_is_two_lines(finished, tmp_path, say):
    shutil.copytree(finished.folder, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "journal")
    (tmp_path / "out" / "journal").touch()  # a file where the folder of journals should be
    done = say("run", finished.config, "-o", tmp_path / "out", "--jobs", "1")
    assert done.code == 2
    assert re.search(r"error: cannot write .*\n  fix: .*\n$", done.err), done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["run", "quickstart", "--seed", "5"], "write --set seed=5"),
        (["plan", "quickstart", "--repeat=3"], "write --set repeats=3"),
        (["run", "quickstart", "--include-protected", "true"], "write --set include_protected=true"),
        (["run", "quickstart", "--seed"], "write --set seed=VALUE"),
        (["plan", "quickstart", "--outptu", "x"], "see `fairbench plan --help`"),
        (["audit", "p.csv", "--repeats", "5"], "see `fairbench audit --help`"),
    ],
)
def test_an_option_that_is_a_key_of_a_config_is_written_as_a_setting(say, arguments, fix):
    two_lines(say(*arguments), f"fix: {fix}\n")


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["list", "metric"], "metrics"),
        (["network", "learn", "a.csv", "-o", "x", "--learner", "tabbu"], "tabu"),
        (["run", "quickstart", "--backend", "dsk"], "dask"),
    ],
)
def test_a_choice_that_is_nearly_right_is_named(say, arguments, nearest):
    two_lines(say(*arguments), "is not one of", f'fix: did you mean "{nearest}"?')


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["list", "interventions", "sklearn.svm.SVC"], "write sklearn.svm:SVC"),
        (["check", "./mine.py.Thing"], "write ./mine.py:Thing"),
        (["run", "quickstart", "--set", "interventions=[mine.Thing]"], "write mine:Thing"),
        (["run", "quickstart", "--set", "classifiers=[sklearn.tree.Tree]"], "write sklearn.tree:Tree"),
        (["run", "quickstart", "--set", "metrics=[mine.gap]"], "write mine:gap"),
    ],
)
def test_a_class_with_a_dot_is_written_with_a_colon(say, arguments, fix):
    two_lines(say(*arguments), f"fix: {fix}\n")


def test_a_metric_like_no_other_is_offered_the_usual_ones(say):
    done = say("run", "quickstart", "--set", "metrics=[zzz]")
    two_lines(done, "fix: use one of: accuracy, average-odds-difference")
    assert "-of-labels" not in done.err


@pytest.mark.parametrize(
    ("title", "words"),
    [("x" * 61, "title must be a text of at most 60 letters, and has 61"), (3, "title must be text")],
)
def test_a_title_that_is_none(say, tmp_path, title, words):
    path = write_config(tmp_path / "a.yaml", datasets=[{"compas": {"title": title}}])
    two_lines(say("plan", path), words)


def test_a_separator_is_one_character(say, tmp_path):
    text = "name: mine\nlabel: {column: y, favourable: 1}\nprotected: {sex: {deprived: f}}\nfiles: [a.csv]\n"
    (tmp_path / "mine.yaml").write_text(text + "columns: {y: nominal, sex: nominal}\nseparator: ab\n")
    two_lines(say("data", "check", "./mine.yaml"), 'separator must be one character, not "ab"')


@pytest.mark.gate
def test_of_very_many_mistakes_the_first_are_said(say, tmp_path):
    path = write_config(tmp_path / "a.yaml", interventions=[f"nosuch{i}" for i in range(60)])
    done = say("plan", path)
    assert done.code == 2
    lines = [line for line in done.err.splitlines() if not line.startswith("reading")]
    assert len(lines) == 41
    assert lines[-1] == "… and 40 more errors"
    assert lines[-3].endswith('unknown intervention "nosuch19"')


# -- options given twice


def test_a_setting_given_twice(say):
    done = say("plan", "quickstart", "--set", "seed=5", "--set", "seed=6")
    two_lines(done, "--set seed: error: given 2 times")


def every_command():
    """Yield each command of the tree."""
    group = typer.main.get_command(app)
    found = [group]
    while found:
        command = found.pop()
        if hasattr(command, "commands"):
            found += command.commands.values()
        else:
            yield command


def test_every_command_refuses_an_option_of_one_value_that_is_given_twice():
    commands = list(every_command())
    assert len(commands) > 20
    assert all(isinstance(command, Command) for command in commands)


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        (["audit", "p.csv", "--weight", "a", "--weight", "b"], ["--weight"]),
        (["audit", "p.csv", "--weight", "a", "--weight=a"], ["--weight"]),
        (
            [
                "audit",
                "p.csv",
                "--top-k",
                "1",
                "--to-db",
                "a",
                "--to-db",
                "b",
                "--label",
                "x",
                "--label",
                "y",
            ],
            ["--label", "--to-db"],
        ),
        (["run", "quickstart", "-j", "1", "--jobs", "2"], ["--jobs"]),
        (["network", "show", "adult", "--card", "a", "--card", "b"], ["--card"]),
        (["data", "show", "adult", "--format", "json", "-f", "html"], ["--format"]),
    ],
)
def test_an_option_of_one_value_given_twice(say, arguments, flags):
    done = say(*arguments)
    assert done.code == 2
    lines = [
        f"{flag}: error: given 2 times\n  fix: it takes one value: leave the others out\n" for flag in flags
    ]
    assert sorted(done.err.splitlines()) == sorted("".join(lines).splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit", "p.csv", "--ref", "race=a", "--ref", "race=b"], "a value for race is given twice"),
        (["audit", "p.csv", "--tau", "0.8", "--tau", "0.9"], "a value without a name is given twice"),
        (["audit", "p.csv", "--bins", "age=4", "--bins", "age=25,45"], "a value for age is given twice"),
    ],
)
def test_a_name_given_two_values(say, arguments, words):
    two_lines(say(*arguments), words, "leave one of the two out")


def test_what_may_be_repeated_and_flags_are_as_before(say, tmp_path):
    (tmp_path / "p.csv").write_text("score,race,sex\n1,a,f\n0,b,m\n")
    given = ["audit", "p.csv", "-a", "race", "-a", "sex", "--ref", "race=a", "--ref", "sex=f", "--fail"]
    done, again = say(*given), say(*given, "--fail")
    assert "Gate: does not stop" in done.out
    assert (done.code, done.out) == (again.code, again.out)


LONG = "a" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", f"{LONG}.csv"],
        ["audit", "p.csv", "-o", LONG],
        pytest.param(["audit", "p.csv", "-o", f"{LONG}.pdf"], marks=pytest.mark.gate),  # needs WeasyPrint
        ["run", f"{LONG}.yaml"],
        ["report", LONG],
        ["compare", LONG, "--paper", "cardoso2019"],
        ["init", f"{LONG}.csv"],
        ["network", "show", LONG],
        ["network", "sample", "adult", "-n", "10", "-o", f"{LONG}.csv"],
        ["data", "list", "--data-dir", LONG],
        ["verify", LONG],
    ],
)
def test_names_that_are_too_long(say, tmp_path, arguments):
    (tmp_path / "p.csv").write_text("score,race\n1,a\n0,b\n")
    two_lines(say(*arguments), '"aaaaa', "is too long", "names of at most 255 bytes")


@pytest.mark.parametrize("confidence", ["0.9999999999999999", "0.99999999995"])
def test_a_confidence_without_a_quantile(say, tmp_path, confidence):
    (tmp_path / "p.csv").write_text("score,race\n1,a\n0,b\n")
    two_lines(
        say("audit", "p.csv", "--confidence", confidence), f"{confidence} is too near 1 for an interval"
    )
    assert say("audit", "p.csv", "--confidence", "0.999999999").code == 0
