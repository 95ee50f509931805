"""Strict YAML: text stays text, and what cannot be read is said with its line."""

import contextlib
import math

import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.strict_yaml import dump_yaml, parse_yaml, read_yaml, remove_spots
from fairbench_cli.base.yaml_document import parse_scalar


def value(text):
    return parse_yaml(f"k: {text}", "f.yaml").data["k"]


def error(text):
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "f.yaml")
    return str(caught.value)


TEXTS = """
no yes on off True FALSE NULL 10:30 1_000 0x10 0o7 007 +5 +0.5 01.5 2020-01-01 1.2.3 .inf -.inf .nan nan inf
1e e5 . - + <=50K 1e999 9999999999999999999
""".split()  # noqa: SIM905


@pytest.mark.parametrize("text", [*TEXTS, "25 - 45", "9" * 2000])
def test_text_stays_text(text):
    assert parse_scalar(text) == text
    if text != "-":
        assert value(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-3", -3),
        ("30", 30),
        ("1e-3", 0.001),
        ("1.", 1.0),
        (".5", 0.5),
        ("1E+2", 100.0),
        ("-0.5", -0.5),
    ],
)
def test_numbers_are_numbers(text, number):
    assert value(text) == number
    assert type(value(text)) is type(number)


def test_there_is_one_zero():
    assert math.copysign(1, value("-0.0")) == 1


@pytest.mark.parametrize("text", ["5", "1e-3", "true", "null", "", "~"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_quoted_is_text(text, quote):
    assert value(f"{quote}{text}{quote}") == text


def test_block_text_is_text():
    assert parse_yaml("k: >-\n  5\n", "f").data == {"k": "5"}
    assert parse_yaml("k: |\n  true\n", "f").data == {"k": "true\n"}


def test_words():
    data = parse_yaml("a: true\nb: false\nc: null\nd: ~\ne:\n", "f").data
    assert data == {"a": True, "b": False, "c": None, "d": None, "e": None}


def test_keys_are_text():
    assert parse_yaml("1: a\ntrue: b\nnull: c\n0.5: d\n'<<': e\n", "f").data == {
        "1": "a",
        "true": "b",
        "null": "c",
        "0.5": "d",
        "<<": "e",
    }


def test_every_value_knows_its_line():
    document = parse_yaml("# head\na:\n  - x\n  - {p: 1,\n     q: 2}\nb: {c:\n  [1,\n   2]}\n", "f.yaml")
    lines = {(): 2, ("a",): 2, ("a", 0): 3, ("a", 1): 4, ("a", 1, "p"): 4, ("a", 1, "q"): 5}
    lines |= {("b",): 6, ("b", "c"): 6, ("b", "c", 0): 7, ("b", "c", 1): 8}
    assert {place: document.where(place) for place in lines} == {
        place: f"f.yaml:{line}" for place, line in lines.items()
    }
    assert set(document.spots) == set(lines)


def test_what_is_not_there_stands_at_the_nearest_thing_around_it():
    document = parse_yaml("\na:\n  b: 1\n", "f.yaml")
    assert document.where(("a", "missing", "x")) == "f.yaml:2"
    assert document.where(("missing",)) == "f.yaml:2"


def test_an_alias_is_its_value_and_stands_where_that_was_written():
    document = parse_yaml("a: &x\n  - 1\nb: *x\n", "f.yaml")
    assert document.data == {"a": [1], "b": [1]}
    assert document.where(("b",)) == "f.yaml:3"
    assert document.where(("b", 0)) == "f.yaml:2"


def test_without_leaves_likenesses_alone():
    spots = {("a",): "1", ("a", "b"): "2", ("ab",): "3", (): "0"}
    assert remove_spots(spots, ("a",)) == {("ab",): "3", (): "0"}


@pytest.mark.gate
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3: error: key "a" is given twice (first on line 1)'),
        ("x:\n  a: 1\n  'a': 3\n", 'f.yaml:3: error: key "a" is given twice (first on line 2)'),
        ("a: &x [1, *x]", "f.yaml:1: error: an alias that contains itself"),
        ("a: *x", "f.yaml:1: error: not YAML: found undefined alias"),
        ("", "f.yaml:1: error: the file is empty"),
        ("# only\n# comments\n", "f.yaml:1: error: the file is empty"),
        ("---\n...\n", None),
        ("a: 1\n\tb: 2\n", "f.yaml:2: error: not YAML: a tab stands here"),
        ("a:\n\t- 2\n", "f.yaml:2: error: not YAML: a tab stands here"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: error: not YAML: a second document begins here"),
        ("b: &b {x: 1}\na:\n  <<: *b\n", "f.yaml:3: error: merge keys (<<) are not used here"),
        ("a: !!int '5'\n", "f.yaml:1: error: the tag int is not used here"),
        ("a: 1\nb: !!str 5\n", "f.yaml:2: error: the tag str is not used here"),
        ("a: !!python/object:os.system x\n", "error: the tag python/object:os.system is not used here"),
        ("a: 1\nrepeats:5\nb: 2\n", "f.yaml:2: error: not YAML: a colon is missing"),
        ("a: 1\n b: 2\n", "f.yaml:2: error: not YAML: a colon that does not belong here"),
        ("a: 1\nb: 'x\nc: 2\n", "f.yaml:2: error: not YAML: a quote is opened here"),
        ("a: 1\nb: [1,\nc: 2\n", "f.yaml:2: error: not YAML: expected ',' or ']'"),
        ("a: 1\nb: \x00\n", "f.yaml:2: error: not text: character 0x0"),
        ("? [a]\n: 1\n", "f.yaml:1: error: a key must be a word"),
        ("a: " + "[" * 200 + "]" * 200, "f.yaml: error: nested too deeply"),
        ("a: " + "[" * 5000, "f.yaml: error: nested too deeply"),
    ],
)
def test_what_is_refused(text, message):
    if message is None:
        assert parse_yaml(text, "f.yaml").data is None
    else:
        assert message in error(text)


def test_a_bomb_of_aliases_does_not_go_off():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 20)]
    assert "too many values" in error("\n".join(lines))


def test_all_mistakes_at_once_in_order():
    text = "a: 1\na: 2\nb: {<<: 1}\n? {}\n: 1\n"
    assert [line.split(": ")[0] for line in error(text).splitlines()[::2]] == [
        "f.yaml:2",
        "f.yaml:3",
        "f.yaml:4",
    ]


def test_files(tmp_path):
    def message(path):
        with pytest.raises(UserError) as caught:
            read_yaml(path)
        return str(caught.value)

    path = tmp_path / "f.yaml"
    assert f"no such file: {path}" in message(path)
    assert "Is a directory" in message(tmp_path)
    path.write_bytes("é: 1".encode("latin1"))
    assert f"{path}:1: error: byte E9 is not UTF-8" in message(path)
    path.write_bytes(bytes(range(256)))
    assert "not UTF-8" in message(path)
    path.write_bytes("a: 1".encode("utf-16"))
    assert "not UTF-8" in message(path)
    assert "cannot read" in message(path / "under")
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert "not UTF-8" in message(path)


def test_byte_order_mark_and_windows_lines(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb:\r\n- x\r\n")
    document = read_yaml(path)
    assert document.data == {"a": 1, "b": ["x"]}
    assert document.where(("b", 0)) == f"{path}:3"


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["1e3", "no", "5", "0x1", "<<", "~", "null", "true", "- a", "a: b", "#x", "", "=", "1:30", "'", '"', "!x"]
)
leaf = (
    st.none()
    | st.booleans()
    | st.integers(-(10**18) + 1, 10**18 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
plain = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=10
)


def without_minus_zero(data):
    """Return plain data with 0.0 for every -0.0."""
    if isinstance(data, dict):
        return {key: without_minus_zero(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_minus_zero(value) for value in data]
    return data + 0.0 if isinstance(data, float) else data


@given(st.dictionaries(text, plain, min_size=1, max_size=4))
def test_what_is_written_is_read_back(data):
    again = parse_yaml(dump_yaml(data), "f").data
    assert again == data
    assert str(again) == str(without_minus_zero(data))  # types too


@given(st.text(alphabet=st.sampled_from("ab:- \n[]{}&*!|>'\"%@`#,?\t0.e<~"), max_size=40))
@law(400)
def test_anything_is_data_or_a_user_error(junk):
    with contextlib.suppress(UserError):
        assert parse_yaml(junk, "f.yaml").where(()).startswith("f.yaml:")
