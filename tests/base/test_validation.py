"""Errors are two lines each, name the key and the line, and say what to do."""

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator

from fairbench_cli.base.errors import Problem, UserError, format_value, suggest, user_error
from fairbench_cli.base.strict_yaml import parse_yaml
from fairbench_cli.base.validation import NAME, StrictModel, mistake, sort_by_line, to_problems


class Inner(StrictModel):
    levels: list[str] | None = None
    kind: Literal["nominal", "integer"] = "nominal"
    source: str = Field(default="", alias="from")


class Outer(StrictModel):
    name: str = Field(default="x", pattern=NAME)
    size: int | None = Field(default=None, ge=1)
    rate: Annotated[float, Field(gt=0, lt=1)] = 0.5
    on: bool = False
    items: list[Inner] = Field(default=[])
    columns: dict[str, Inner] = Field(default={})
    inner: Inner | None = None
    words: list[str] = Field(default=["a"], min_length=1)

    @field_validator("words")
    @classmethod
    def _even(cls, words):
        if len(words) == 3:
            raise mistake("three is too many", "give two")
        return words


def errors(text):
    document = parse_yaml(text, "f.yaml")
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(document.data)
    return [str(problem) for problem in to_problems(caught.value, document)]


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("nam: x", 'unknown key "nam"', 'did you mean "name"?'),
        ("kind: nominal", 'unknown key "kind"', "write it under `inner`"),
        ("zzz: 1", 'unknown key "zzz"', "use one of: columns, inner, items, name, on, rate, size, words"),
        (
            "name: a b",
            'name must be letters, digits, dots, dashes and underscores, not "a b"',
            "write a name",
        ),
        ("name: 5", "name must be text, not 5", "write a word, in quotes"),
        ("size: 1.5", "size must be a whole number, not 1.5", "write a number"),
        ("size: '3'", 'size must be a whole number, not "3"', "write a number"),
        ("size: true", "size must be a whole number, not true", "write a number"),
        ("size: 0", "size must be at least 1, not 0", "write 1 or more"),
        ("size: [1]", "size must be a whole number, not [1]", "write a number"),
        ("rate: 1", "rate must be below 1, not 1", "write a number below 1"),
        ("rate: 0", "rate must be above 0, not 0", "write a number above 0"),
        ("rate: x", 'rate must be a number, not "x"', "write a number such as 0.5"),
        ("on: no", 'on must be true or false, not "no"', "write true or false, unquoted"),
        ("on: 1", "on must be true or false, not 1", "write true or false, unquoted"),
        ("words: a", 'words must be a list, not "a"', "write a list"),
        ("words: []", "words must not be empty", "give at least one value"),
        ("words: [a, b, c]", "words: three is too many", "give two"),
        ("words: [a, null]", "words must be text, not null", "write a word"),
        ("columns: 3", "columns must be a mapping, not 3", "write `key: value` pairs"),
        ("inner: x", 'inner must be a mapping, not "x"', "write `key: value` pairs"),
        ("inner: {kind: intger}", 'inner.kind has the unknown value "intger"', 'did you mean "integer"?'),
        ("inner: {form: x}", 'unknown key "form"', 'did you mean "from"?'),
        ("inner: {source: x}", 'unknown key "source"', "use one of: from, kind, levels"),
        ("items: [{}, {knd: x}]", 'unknown key "knd"', 'did you mean "kind"?'),
        # A column may be called like a key.
        ("columns: {levels: {knd: x}}", 'unknown key "knd"', 'did you mean "kind"?'),
        ("columns: {age: {knd: x}}", 'unknown key "knd"', 'did you mean "kind"?'),
    ],
)
def test_wording(text, what, fix):
    (error,) = errors(text)
    assert error.startswith(f"f.yaml:1: error: {what}\n  fix: {fix}")


def test_lines():
    found = errors(
        "name: x\nitems:\n  - kind: nominal\n  - kind: bad\ncolumns:\n  a:\n    levels: 3\nsize: x\n"
    )
    assert sorted(error.split(" ")[0] for error in found) == ["f.yaml:4:", "f.yaml:7:", "f.yaml:8:"]


def test_in_file_order_each_once_and_elsewhere_last():
    problems = [Problem("x", "", where) for where in ("--set a", "f:10", "f:9", "g:1", "f:9", "")]
    assert [p.where for p in sort_by_line(problems, "f")] == ["f:9", "f:10", "--set a", "g:1", ""]


@given(st.text(), st.text(), st.text())
def test_a_problem_is_two_lines_whatever_it_says(what, fix, where):
    assert len(str(Problem(what, fix, where)).splitlines()) == 2


def test_a_user_error_has_them_all():
    error = UserError(Problem("a", "b"), Problem("c", "d", "f:1"))
    assert str(error) == "error: a\n  fix: b\nf:1: error: c\n  fix: d"
    assert user_error("a", "b").problems == (Problem("a", "b"),)


def test_suggestions():
    assert suggest("c", ["C", "max_iter"]) == 'did you mean "C"?'
    assert suggest("MASSAGING", ["massaging"]) == 'did you mean "massaging"?'
    assert suggest("q", [str(i) for i in range(100)]).endswith("… (100 in all)")
    assert suggest("q", []) == "remove it"


def test_values_are_shown_as_yaml_has_them_and_short():
    assert format_value({"a": [None, True, "é"]}) == '{"a": [null, true, "é"]}'
    assert len(format_value("x" * 1000)) == 60
