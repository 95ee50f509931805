"""What a run keeps of its worlds: computed once for each world, whatever else changes."""

import json
from pathlib import Path

import pytest
from conftest import write_config

from fairbench_cli.experiment import worlds
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.worlds import FILE, NUMBER, PLACE, write_worlds

BIAS = [[], [{"label": {"flip": 0.5}}], [{"measurement": {"column": "decile_score", "noise": 0.5}}]]


def written(tmp_path: Path, **changes: object) -> list[dict]:
    sample = {"from": "shipped", "size": 500, **changes.pop("sample", {"bias": BIAS})}
    config = write_config(tmp_path / "config.yaml", sample=sample, **changes)
    prepared = prepare(config, folder=tmp_path)
    write_worlds(tmp_path, prepared.config, prepared.datasets)
    if not (tmp_path / FILE).is_file():
        return []
    rows = json.loads((tmp_path / FILE).read_text())["facts"]
    return [dict(zip((*PLACE, *NUMBER), row, strict=True)) for row in rows]


def accuracy(rows: list[dict], world: str, rule: str, **more: object) -> float:
    wanted = {"world": world, "rule": rule, "quantity": "accuracy", "labels": "true"} | more
    (found,) = [row["value"] for row in rows if wanted.items() <= row.items()]
    return found


def test_every_world_has_its_numbers_and_that_without_bias_the_first(tmp_path):
    rows = written(tmp_path)
    places = list(dict.fromkeys(tuple(row[name] for name in PLACE) for row in rows))
    assert [place[:4] for place in places] == [
        ("compas", "race", "", 0.0),
        ("compas", "race", "label", 0.5),
        ("compas", "race", "measurement decile_score", 0.5),
    ]
    assert {row["how"] for row in rows} == {"exact"}
    best = accuracy(rows, "", "truth")
    assert accuracy(rows, "label", "truth") == best > accuracy(rows, "label", "bayes") + 0.05
    assert {row["features"] for row in rows} == {"true"}
    shown = written(tmp_path, test_features="recorded")
    assert {row["features"] for row in shown} == {"recorded"}
    for world, alike in (("label", True), ("measurement decile_score", False)):
        assert (accuracy(shown, world, "bayes") == accuracy(rows, world, "bayes")) == alike


def test_numbers_of_worlds_that_are_there_are_not_computed_again(tmp_path, monkeypatch):
    first = written(tmp_path, sample={"bias": BIAS[:2]})
    text = (tmp_path / FILE).read_text()
    computed = []
    facts_of = worlds.compute_facts
    monkeypatch.setattr(worlds, "compute_facts", lambda *a, **k: computed.append(a) or facts_of(*a, **k))
    assert written(tmp_path, sample={"bias": BIAS[:2]}, repeats=5, classifiers=["naive-bayes"]) == first
    assert (tmp_path / FILE).read_text() == text
    assert not computed
    assert len(written(tmp_path)) > len(first)
    assert len(computed) == 1
    named = [[], [{"label": {"flip": 0.5, "as": "flips"}}]]
    assert {row["world"] for row in written(tmp_path, sample={"bias": named})} == {"", "flips"}
    assert len(computed) == 1
    (tmp_path / FILE).write_text(text.replace("0.", "1.", 1))  # damaged
    assert written(tmp_path, sample={"bias": BIAS[:2]}) == first
    assert (tmp_path / FILE).read_text() == text


def test_worlds_that_are_the_same_keep_their_numbers_once(tmp_path):
    bias = [[], [{"label": {"flip": 0}}]]  # both are no bias
    written(tmp_path, sample={"bias": bias})
    rows = written(tmp_path, sample={"bias": [*bias, BIAS[1]]})
    places = [tuple(row[name] for name in (*PLACE, *NUMBER[:4])) for row in rows]
    assert len({*places}) == len(places)


def test_equation_4_is_a_world_where_test_rows_come_from_the_network(tmp_path):
    rows = written(tmp_path, sample={"beta": [0, 0.5]})
    assert {(row["world"], row["beta"]) for row in rows} == {("", 0.0), ("", 0.5)}
    assert accuracy(rows, "", "bayes", beta=0.5) < accuracy(rows, "", "bayes", beta=0.0)


@pytest.mark.parametrize("few", [1, 2**17])
def test_too_many_levels_of_a_run_without_bias_are_left_out(tmp_path, monkeypatch, few):
    monkeypatch.setattr(worlds, "FEW_CELLS", few)
    assert bool(written(tmp_path, sample={"beta": [0.5]})) == (few > 1)
