"""Own data and packaged networks in one run, and what is said before anything is read."""

import re

import pytest
from conftest import bare_data, two_lines, write_config

from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.running.run import prepare

SAMPLE = {"beta": [0, 0.5], "size": 200}


@pytest.fixture(autouse=True)
def no_data_here(tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def keys_of(config):
    plan = prepare(config).plan
    return {(cell["dataset"], cell["beta"], cell["intervention"]): cell["key"] for cell in plan.cells}


def without_arc(tmp_path, name):
    card = bare_data(tmp_path, name)
    card.write_text(card.read_text().replace("name: toy", f"name: {name}"))
    rows = [f"{'fm'[i % 2]},{i % 3},{i // 2 % 2}" for i in range(120)]  # y depends on nothing
    (tmp_path / f"{name}.csv").write_text("\n".join(["s,x,y", *rows, ""]))


def test_a_shipped_network_beside_data_of_ones_own(tmp_path, say):
    bare_data(tmp_path, "a")
    config = write_config(
        tmp_path / "c.yaml",
        datasets=["compas", "a.yaml"],
        sample=SAMPLE | {"require_arc": True},
        test="network",
    )
    refused = say("plan", config)
    two_lines(refused, "compas-scores-two-years.csv of compas not found")
    entry = re.search("run without it: `(.+)` under `datasets`\n", refused.err)[1]
    mixed = ("--set", f"datasets=[{entry}, a.yaml]")
    planned = say("plan", config, *mixed).out
    assert re.findall("^(.+): network BIC", planned, re.MULTILINE) == ["compas", "toy"]
    read = read_config(config, mixed[1:])
    keys = keys_of(read)
    apart = {"test": "network"}
    shipped = write_config(
        tmp_path / "s.yaml", datasets=["compas"], sample=SAMPLE | {"from": "shipped"}, **apart
    )
    own = write_config(
        tmp_path / "o.yaml", datasets=["a.yaml"], sample=SAMPLE | {"require_arc": True}, **apart
    )
    expected = keys_of(shipped) | keys_of(own)
    assert keys == {cell: expected[cell] for cell in keys}
    (tmp_path / "again.yaml").write_text(read.as_yaml())
    assert keys_of(tmp_path / "again.yaml") == keys


def test_where_from_does_not_fit(tmp_path, say):
    bare_data(tmp_path, "a")
    shipped = write_config(
        tmp_path / "c.yaml", datasets=["compas", "a.yaml"], sample=SAMPLE | {"from": "shipped"}
    )
    refused = say("plan", shipped, "--set", "test=network")
    two_lines(refused, "no fitted network ships with toy")
    entry = re.search("write `(.+)` under `datasets`", refused.err)[1]
    assert say("plan", shipped, "--set", "test=network", "--set", f"datasets=[compas, {entry}]").code == 0
    two_lines(
        say("plan", shipped, "--set", "datasets=[{compas: {from: shipped, require_arc: true}}]"),
        "require_arc has no effect on a shipped network",
    )
    real = write_config(
        tmp_path / "r.yaml",
        datasets=[{"compas": {"from": "shipped"}}],
        sample={"from": "data"},
        test="holdout",
    )
    two_lines(say("plan", real), "from has no effect", "`sample: {from: shipped}`")


def test_several_attributes_of_one_data_set(tmp_path, say):
    entry = {"compas": {"attribute": ["race", "sex", "age_cat"]}}
    config = write_config(tmp_path / "c.yaml", datasets=[entry], sample={"from": "shipped", "beta": [0]})
    planned = say("plan", config, "--set", "interventions=[none]").out
    assert re.findall(r"^compas +(\S+) ", planned, re.MULTILINE) == ["race", "sex", "age_cat"]


def test_every_data_set_without_an_arc_is_named_at_once(tmp_path, say):
    for name in ("one", "two"):
        without_arc(tmp_path, name)
    bare_data(tmp_path, "a")  # with one
    config = write_config(tmp_path / "c.yaml", datasets=["one.yaml", "a.yaml", "two.yaml"], sample=SAMPLE)
    refused = say("plan", config)
    assert refused.code == 2
    entries = re.findall("under `datasets` write `(.+?)`", refused.err)
    assert entries == ["{one.yaml: {require_arc: true}}", "{two.yaml: {require_arc: true}}"]
    assert say("plan", config, "--set", f"datasets=[{', '.join(entries)}, a.yaml]").code == 0


def test_what_needs_no_data_is_said_before_they_are_read(tmp_path, say):
    without_arc(tmp_path, "one")
    (tmp_path / "gone.yaml").write_text((tmp_path / "one.yaml").read_text().replace("one", "gone"))
    config = write_config(tmp_path / "c.yaml", datasets=["one.yaml", "gone.yaml"], sample=SAMPLE)
    two_lines(
        say("plan", config, "--only", "dataset=oen"), 'no cell has dataset "oen"', 'did you mean "one"?'
    )
    missing = say("plan", config)
    two_lines(missing, "data file gone.csv of gone not found")
    assert "arc" not in missing.err
