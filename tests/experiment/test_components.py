"""Names with parameters: lists multiply out, defaults are spelled out, and every value has its type."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from fairbench_cli.base.parameters import UNWRITTEN
from fairbench_cli.base.registry import Entry, Registry
from fairbench_cli.base.strict_yaml import parse_yaml
from fairbench_cli.base.validation import to_findings
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.config.components import ComponentSpec, ReadContext, read_entries
from fairbench_cli.experiment.plan import CELL_COLUMNS, facts_of, select
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.report.ledger.cell_labels import technique_label


@dataclass(frozen=True)
class Thing:
    level: float = 0.5
    count: Annotated[int, Field(ge=1)] = 3
    kind: Literal["a", "b"] = "a"
    most: Annotated[int, Field(ge=1)] | None = None


@dataclass(frozen=True)
class Needy:
    must: int


@dataclass(frozen=True)
class Changed:
    level: float = 0.5
    way: Literal["old", "new"] = field(default="new", metadata={UNWRITTEN: "old"})


def fault(_):
    return None


THINGS = Registry("thing", __name__, {})
THINGS._adapter = __name__
THINGS.entries.update(thing=Entry(f"{__name__}:Thing"), needy=Entry(f"{__name__}:Needy"))
THINGS.entries.update(changed=Entry(f"{__name__}:Changed"))


def read(text, extra=None):
    document = parse_yaml(f"things:\n{text}", "f.yaml")
    try:
        return read_entries(THINGS, document.data["things"], extra or {}, ReadContext(Path())), []
    except ValidationError as error:
        found = [(problem, document.where(("things", *place))) for place, problem in to_findings(error)]
        return [], [str(replace(problem, where=where)) for problem, where in found]


def test_a_name_alone_has_every_default_sorted_by_name():
    ((spec, extra),), problems = read("- thing")
    assert spec == ComponentSpec("thing", (("count", 3), ("kind", "a"), ("level", 0.5), ("most", None)))
    assert (extra, problems) == ({}, [])
    assert spec.build(THINGS) == Thing()
    assert str(spec) == "thing(count=3, kind=a, level=0.5, most=null)"


def test_a_default_that_changed_is_written_and_the_earlier_one_is_not():
    """So runs with the earlier default keep their keys."""
    read_specs, problems = read("- changed\n- changed: {way: old}")
    assert problems == []
    now, before = (spec for spec, _ in read_specs)
    assert now.decisive == ["changed", {"level": 0.5, "way": "new"}]
    assert before.decisive == ["changed", {"level": 0.5}]
    assert str(before) == "changed(level=0.5)"
    assert before.build(THINGS) == Changed(way="old")
    assert before.to_config() == {"changed": {"level": 0.5, "way": "old"}}
    assert before.having({"way": "new"}, THINGS).decisive == now.decisive


def test_a_filter_and_a_name_tell_both_values_of_a_default_that_changed():
    """A cell without the parameter would match any filter on it, and have the other one's name."""
    columns = dict.fromkeys(CELL_COLUMNS, "") | {"intervention": "zafar-dm", "classifier_parameters": "{}"}
    cells = [columns | {"parameters": text} for text in ('{"average":"group"}', "{}")]
    facts = [facts_of(cell) for cell in cells]
    assert select(facts, ("average=group",)) == [True, False]
    assert select(facts, ("average=label",)) == [False, True]
    assert len({technique_label("zafar-dm", cell["parameters"], False) for cell in cells}) == 2


@pytest.mark.parametrize("text", ["- thing:", "- thing: {}", "- thing: null", "- {thing: {level: 0.5}}"])
def test_ways_to_say_the_same(text):
    assert read(text) == read("- thing")


def test_lists_multiply_out_in_order():
    found, problems = read("- thing: {level: [0, 0.5, 1], kind: [b, a], most: [null, 4]}")
    assert problems == []
    assert len({spec for spec, _ in found}) == 12
    first, last = found[0][0].build(THINGS), found[-1][0].build(THINGS)
    assert (first, last) == (Thing(0.0, 3, "b", None), Thing(1.0, 3, "a", 4))


def test_a_whole_number_for_a_number_is_one():
    ((spec, _),), _ = read("- thing: {level: 1}")
    level = dict(spec.parameters)["level"]
    assert (level, type(level)) == (1.0, float)


def test_extra_parameters_multiply_too_and_have_defaults():
    seen = {"seen": (bool, [True])}
    assert [extra for _, extra in read("- thing", seen)[0]] == [{"seen": True}]
    assert [extra for _, extra in read("- thing: {seen: [false, true]}", seen)[0]] == [
        {"seen": False},
        {"seen": True},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- thing\n- thing",
        "- thing\n- thing: {level: 0.5}",
        "- thing\n- thing: {seen: true}",
        "- thing: {level: 1}\n- thing: {level: 1.0}",
        "- thing: {level: [0, 1]}\n- thing: {level: [1, 0.25]}",
    ],
)
def test_the_same_twice_is_an_error_on_the_second_line(text):
    _, (problem,) = read(text, {"seen": (bool, [True])})
    assert problem.startswith("f.yaml:3: error: thing thing(")
    assert "is listed twice" in problem


def test_the_same_twice_within_one_entry():
    _, (problem,) = read("- thing: {level: [0, 0.0]}")
    assert "listed twice" in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- thin", 'unknown thing "thin"\n  fix: did you mean "thing"?'),
        ("- Thing", 'unknown thing "Thing"\n  fix: did you mean "thing"?'),
        ("- 5", "thing must be a name or `name: {parameter: value}`, not 5"),
        ("- null", "thing must be a name or `name: {parameter: value}`, not null"),
        ("- {thing: , needy: }", "thing must be a name or"),
        ("- thing: 5", "thing must be a name or"),
        ("- thing: [level]", "thing must be a name or"),
        ("- thing: {lvl: 1}", 'thing has no parameter "lvl"\n  fix: did you mean "level"?'),
        ("- thing: {1: 2}", 'thing has no parameter "1"\n  fix: use one of: '),
        ("- thing: {level: []}", "thing: level must not be empty"),
        ("- thing: {level: x}", 'thing: level must be a number, not "x"'),
        ("- thing: {level: '1'}", 'thing: level must be a number, not "1"'),
        ("- thing: {level: null}", "thing: level must be a number, not null"),
        ("- thing: {level: [[1]]}", "thing: level must be a number, not [1]"),
        ("- thing: {count: true}", "thing: count must be a whole number, not true"),
        ("- thing: {count: 0}", "thing: count must be at least 1, not 0"),
        ("- thing: {kind: c}", 'thing: kind has the unknown value "c"\n  fix: use one of: a, b'),
        ("- thing: {seen: 1}", "thing: seen must be true or false, not 1"),
        ("- needy", 'needy needs the parameter "must"\n  fix: give it a value: needy: {must: VALUE}'),
    ],
)
def test_what_is_wrong(text, message):
    found, (problem,) = read(text, {"seen": (bool, [False])})
    assert found == []
    assert problem.startswith(f"f.yaml:2: error: {message}")


def test_each_wrong_value_has_its_own_line():
    _, problems = read("- thing:\n    level:\n    - 0\n    - x\n    - y\n    count: 0\n    what: 1\n- thin\n")
    assert [problem.split(" ")[0] for problem in problems] == [f"f.yaml:{n}:" for n in (5, 6, 7, 8, 9)]


@pytest.mark.parametrize("kind", [INTERVENTIONS, CLASSIFIERS], ids=["interventions", "classifiers"])
def test_every_shipped_name_is_read_and_built(kind):
    found = read_entries(kind, list(kind), {}, ReadContext(Path()))
    assert [spec.name for spec, _ in found] == list(kind)
    for spec, _ in found:
        assert isinstance(spec.build(kind), kind[spec.name].load())
