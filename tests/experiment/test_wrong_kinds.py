"""Every key of a config and of a card with a value of another kind: an answer in good order, no traceback."""

import copy
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml, parse_yaml
from fairbench_cli.data.card import read_card
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.simulate.config import read_simulation

CARD = """name: mine
title: t
files: [{name: mine.csv}]
separator: ","
decimal: "."
missing: ["?"]
missing_rows: drop
columns:
  age: {kind: integer, bins: {count: 5, low: 0, high: 9}, if_missing: median}
  cut: {kind: real, bins: {edges: [1, 2], closed: left, levels: [a, b, c]}, from: age}
  y: {levels: ["0", "1"], recode: {yes: "1"}}
  old: drop
other_columns: nominal
keep: {sex: [f, m]}
keep_between: {age: {low: 1, high: 5}}
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f, favoured: [m], bias: {column: age, deprived: ["1"], favoured: ["2"]}}
  race: {deprived: b}
  both: {of: [sex, race]}
"""
CONFIG = """name: x
seed: 1
repeats: 2
datasets:
  - ./card.yaml: {attribute: [sex, race], as: y, size: 5, interventions: [none], classifiers: [tree]}
  - ./card.yaml
sample: {from: network, learner: tabu, score: aic, max_parents: 3, beta: [0, 1], missing_arc: leave, size: 9}
test: original
include_protected: false
protected_columns: all
representation: [original, numerical]
interventions:
  - none
  - repair: {level: [0, 0.5], include_protected: [true, false], representation: numerical}
  - massaging:
      tune:
        over: {ranker: [logistic], classifier.min_leaf: [1, 2]}
        for: accuracy
        on: validation
        fraction: 1/3
classifiers: [c45, tree: {min_leaf: [2, 3]}]
metrics: [accuracy, discrimination, unexplained-difference]
attributes: [sex, sex×race]
strata: [age]
sweep: acceptance-rate
tables: [discrimination-accuracy]
figures: [discrimination-accuracy]
limits: {seconds: 5, memory: 4GB}
"""
EVERY = int(os.environ.get("EVERY", "29"))  # of the values is tried; a prime that takes all kinds in turn
SHIPPED = """name: x
datasets: [compas]
sample: {from: shipped, beta: 0.5}
interventions: [none]
"""


def places(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value within some data."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from places(value, (*above, key))


def others(value: Any) -> list[Any]:
    """Return values of other kinds, some of which hold the right one."""
    nested = [[value], [[value]], {"a": value}, {"a": {"b": [value]}}]
    return [*nested, [], {}, None, True, -1, 1e308, "", "a b", [None]]


def changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return data


def refusals(text: str, path: Path, read: Any) -> Iterator[tuple[str, UserError]]:
    """Write the text with every value replaced in turn; yield what is refused: the rest is read."""
    data, turn = parse_yaml(text, "x").data, 0
    for place in places(data):
        inner = data
        for key in place:
            inner = inner[key]
        for value in others(inner):
            turn += 1
            if turn % EVERY:
                continue
            path.write_text(dump_yaml(changed(data, place, value)), encoding="utf-8")
            try:
                read(path)
            except UserError as error:
                yield f"{place} = {value!r}", error


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["config", "shipped", "card", "simulation"])
def test_values_of_another_kind(tmp_path, kind):
    (tmp_path / "card.yaml").write_text(CARD, encoding="utf-8")
    read_card(tmp_path / "card.yaml")
    simulation = (Path(__file__).parents[2] / "configs/zliobaite2017.yaml").read_text(encoding="utf-8")
    text, read = {
        "config": (CONFIG, read_config),
        "shipped": (SHIPPED, read_config),
        "card": (CARD, read_card),
        "simulation": (simulation, read_simulation),
    }[kind]
    path = tmp_path / f"{kind}.yaml"
    path.write_text(text, encoding="utf-8")
    read(path)
    number = 0
    for what, error in refusals(text, path, read):
        number += 1
        for problem in error.problems:
            assert re.fullmatch(rf"{re.escape(str(tmp_path))}/[a-z]+\.yaml:\d+", problem.where), (
                what,
                problem,
            )
            assert problem.fix, what
            assert "Input should" not in problem.what, (what, problem)
    assert number >= {"shipped": 2, "simulation": 10}.get(kind, 20)
