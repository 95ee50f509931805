"""A card is read strictly, mistakes stand at their line, and a card may change another."""

import pickle
from pathlib import Path

import pytest
from cards_data import NO_FILE

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import find_card, known_cards, read_card, shipped_cards
from fairbench_cli.data.table import Roles

TEN_LINES = """name: mine
title: My own data
files: [mine.csv]
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
"""


def card(tmp_path, text=TEN_LINES, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_card(path)


def errors(tmp_path, text, name="mine.yaml"):
    with pytest.raises(UserError) as caught:
        card(tmp_path, text, name)
    assert len(str(caught.value).splitlines()) == 2 * len(caught.value.problems)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_a_short_card(tmp_path):
    mine = card(tmp_path)
    assert (mine.name, mine.files[0].name, mine.label.favourable) == ("mine", "mine.csv", "1")
    assert mine.protected["sex"].deprived == ("f",)
    assert mine.attribute(None) == "sex"


def test_codes_need_no_quotes(tmp_path):
    mine = card(tmp_path, TEN_LINES + "columns:\n  a: {levels: [1, 02, true, x], recode: {3: 1, 04: 02}}\n")
    assert mine.columns["a"].levels == ("1", "02", "true", "x")
    assert mine.columns["a"].recode == {"3": "1", "04": "02"}


def test_a_number_with_a_point_must_be_quoted_for_it_may_have_been_another_text(tmp_path):
    (error,) = errors(tmp_path, TEN_LINES + "missing: [1.50]\n")
    assert error.startswith(
        "mine.yaml:7: error: missing must be text, not 1.5\n  fix: write a word, in quotes"
    )


def test_groups_by_default_and_as_named(tmp_path):
    mine = card(tmp_path)
    roles = mine.roles("sex", {"sex": ("f", "m", "x")})
    assert roles == Roles("y", "1", "sex", ("f",), ("m", "x"))
    assert mine.bias_groups("sex", {"sex": ("f", "m", "x")}) == {"sex": (("f",), ("m", "x"))}
    named = card(tmp_path, TEN_LINES.replace("deprived: f", "deprived: f, favoured: m"))
    assert named.roles("sex", {"sex": ("f", "m", "x")}).favoured == ("m",)


def test_decisive_is_what_decides_numbers(tmp_path):
    mine = card(tmp_path)
    prose = "\n".join(f"{key}: words" for key in ("source", "licence", "citation", "note"))
    same = card(tmp_path, TEN_LINES.replace("My own", "Your").replace("name: mine", "name: other") + prose)
    assert mine.decisive() == same.decisive()
    made = ("keep_between: {a: {low: 1}}", "columns: {a: {from: b}}", "columns: {a: }")
    assert len({str(card(tmp_path, TEN_LINES + more).decisive()) for more in made}) == 3
    for more in ("missing: x", "header: false\ncolumns: {a: }", "keep: {sex: f}", "columns: {a: drop}"):
        assert card(tmp_path, TEN_LINES + more).decisive() != mine.decisive()


def test_where_it_was_read_is_no_part_of_a_card(tmp_path):
    first = card(tmp_path)
    second = card(tmp_path, "# moved down\n" + TEN_LINES, "other.yaml")
    assert first == second
    assert first.where("label") == f"{tmp_path}/mine.yaml:4"
    assert second.where("label") == f"{tmp_path}/other.yaml:5"
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301


def test_how_a_card_is_named_on_a_command_line(tmp_path):
    assert card(tmp_path).reference == f"{tmp_path}/mine.yaml"
    assert read_card(find_card("adult")).reference == "adult"


WRONG = [
    ("nam: x", '7: unknown key "nam"\n  fix: did you mean "name"?'),
    ("missing: [a, a]", '7: missing: "a" is listed twice'),
    ("missing_rows: drop", "7: missing_rows: drop needs to know which cells"),
    ("header: no", '7: header must be true or false, not "no"'),
    ("header: false", "7: a file without header needs its columns named"),
    ("separator: ', '", "7: separator must be one character"),
    ("separator: '\"'", "7: a quote or line end cannot separate cells"),
    ("comment: ''", "7: comment must not be empty"),
    ("format: arf", '7: format has the unknown value "arf"\n  fix: did you mean "arff"?'),
    ("format: arff\nheader: false", "8: header has no effect on an ARFF file"),
    ("format: arff\nseparator: ;", "8: separator has no effect on an ARFF file"),
    ("format: arff\ncomment: '#'", "8: comment has no effect on an ARFF file"),
    ("other_columns: drop\ncolumns: {sex: }", '4: column "y" is needed but dropped'),
    ("columns: {sex: drop}", '6: column "sex" is needed but dropped'),
    ("columns: {a: nominl}", '7: columns.a.kind has the unknown value "nominl"'),
    ("columns: {a: 5}", "7: columns.a must be a mapping, not 5"),
    ("columns: {a: {knd: drop}}", '7: unknown key "knd"\n  fix: did you mean "kind"?'),
    ("columns: {bins: {knd: drop}}", '7: unknown key "knd"\n  fix: did you mean "kind"?'),
    ("columns: {a: {kind: integer, cap: 5, bins: {count: 3}}}", "7: columns.a: bins and cap exclude"),
    ("columns: {a: {bins: {count: 5}}}", "7: columns.a: bins and cap are for numbers"),
    ("columns: {a: {kind: real, cap: 5}}", "7: columns.a: cap is for whole numbers"),
    ("columns: {a: {kind: integer, cap: 0}}", "7: columns.a.cap must be at least 1"),
    ("columns: {a: {kind: integer, cap: 5, levels: [1]}}", "7: columns.a: levels have no"),
    ("columns: {a: {kind: drop, recode: {1: 2}}}", "7: columns.a: recode has no effect"),
    ("columns: {a: {levels: []}}", "7: columns.a.levels must not be empty"),
    ("columns: {a: {levels: [x, x]}}", '7: columns.a.levels: "x" is listed twice'),
    ("columns: {a: {levels: [x, null]}}", "7: columns.a.levels must be text, not null"),
    ("columns: {a: {kind: real, bins: 5}}", "7: columns.a.bins must be a mapping"),
    ("columns: {a: {kind: real, bins: {count: 1}}}", "7: columns.a.bins.count must be at"),
    ("columns: {a: {kind: real, bins: {count: 2, low: 3, high: 3}}}", "7: columns.a.bins: low"),
    ("columns: {a: {kind: drop, from: b}}", "7: columns.a: from has no effect"),
    ("columns: {a: {from: b}, c: {from: a}}", '7: column "c" is made of "a", which is no'),
    (
        "columns: {a: {kind: real, bins: {count: 2, levels: [x, y]}}}",
        "7: columns.a.bins: the bins of given edges alone can be named",
    ),
    (
        "columns: {a: {kind: real, bins: {edges: [1, 2], levels: [x, y]}}}",
        "7: columns.a.bins: 2 levels are named, but the edges make 3 bins",
    ),
    ("keep_between: {a: {}}", "7: keep_between.a: there is no limit"),
    ("keep_between: {a: {low: 2, high: 1}}", "7: keep_between.a: low must not be above"),
    ("keep_between: {a: {low: x}}", '7: keep_between.a.low must be a number, not "x"'),
    ("keep: {a: []}", "7: keep.a must not be empty"),
    ("keep: [a]", "7: keep must be a mapping"),
]


@pytest.mark.parametrize(("more", "message"), WRONG)
def test_one_mistake_is_one_message_on_its_line(tmp_path, more, message):
    (error,) = errors(tmp_path, TEN_LINES + more)
    assert error.replace("mine.yaml:", "").replace(" error:", "").startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: mine", "name: m e", "1: name must be letters"),
        ("name: mine", "", '2: key "name" is missing'),
        ("[mine.csv]", "mine.csv", '3: files must be a list, not "mine.csv"'),
        ("[mine.csv]", "[5]", "3: files must be a mapping, not 5"),
        ("[mine.csv]", "[a.csv, a.csv]", "3: file a.csv is listed twice"),
        ("[mine.csv]", "[{name: a, sha256: x}]", "3: files.sha256 must be 64 hexadecimal"),
        ("[mine.csv]", "[{name: a, url: x}]", "3: files.url must be an address"),
        ("[mine.csv]", "[{name: a, url: 'file:///x'}]", "3: files.url must be an address"),
        ("[mine.csv]", "[{name: ../a, url: 'https://x'}]", "3: files: a file with a url needs"),
        ("[mine.csv]", "[{name: /a, url: 'https://x'}]", "3: files: a file with a url needs"),
        ("[mine.csv]", "[{sha: x, name: a}]", '3: unknown key "sha"\n  fix: did you mean "sha256"'),
        ("column: y, ", "", '4: key "label.column" is missing'),
        ("favourable: 1", "favourable: [1]", "4: label.favourable must be text, not [1]"),
        ("favourable: 1", "favourable: 0.5", "4: label.favourable must be text, not 0.5"),
        ("column: y", "column: sex", '6: "sex" is the label'),
        ("deprived: f", "", "6: protected.sex: deprived is missing"),
        ("deprived: f", "deprived: []", "6: protected.sex.deprived must not be empty"),
        ("deprived: f", "deprived: f, favoured: f", '6: protected.sex: "f" is both deprived'),
        ("deprived: f", "deprived: f, bias: {column: y, deprived: a}", '6: "y" is the label'),
        ("deprived: f", "deprived: f, bias: {column: z}", '6: key "protected.sex.bias.deprived"'),
    ],
)
def test_a_wrong_line(tmp_path, old, new, message):
    (error,) = errors(tmp_path, TEN_LINES.replace(old, new))
    assert error.replace("mine.yaml:", "").replace(" error:", "").startswith(message)


def test_several_mistakes_in_file_order(tmp_path):
    text = TEN_LINES + "colour: red\ncolumns:\n  a: {kind: x}\n  b:\n    cap: 0\nheader: 3\n"
    lines = [error.split(" ")[0] for error in errors(tmp_path, text.replace("name: mine", "name: m e"))]
    assert lines == [f"mine.yaml:{n}:" for n in (1, 7, 9, 11, 12)]


def test_no_mapping(tmp_path):
    assert errors(tmp_path, "- a\n")[0].startswith("mine.yaml:1: error: a card is a mapping")


def test_finding_cards(tmp_path, monkeypatch):
    assert find_card("adult") == shipped_cards() / "adult.yaml"
    (tmp_path / "x.yml").write_text(TEN_LINES)
    assert find_card("x.yml", tmp_path) == tmp_path / "x.yml"
    monkeypatch.chdir(tmp_path)
    assert find_card("x.yml", Path("/")) == Path("x.yml")
    for name, message in [
        ("adul", 'unknown dataset "adul"\n  fix: did you mean "adult"?'),
        ("", 'unknown dataset ""\n  fix: use one of: acs-employment, '),
        ("mine.csv", "a data file needs a card"),
        ("no/such.yaml", "no card at no/such.yaml"),
        (f"{'x' * 500}.yaml", "no card at"),
    ]:
        with pytest.raises(UserError, match=None) as caught:
            find_card(name)
        assert message in str(caught.value)


def test_a_card_over_another(tmp_path):
    base = (
        TEN_LINES + "columns:\n  a: {levels: [x, y]}\n  b: drop\nkeep: {sex: [f, m]}\nnote: about all rows\n"
    )
    card(tmp_path, base, "base.yaml")
    text = (
        "extends: base.yaml\nname: child\nfiles: [other.csv]\ncolumns: {b: , c: drop}\n"
        "label: {favourable: 0}\nprotected: {race: {deprived: b}}\n"
    )
    child = card(tmp_path, text, "child.yaml")
    assert (child.name, child.title, child.note) == ("child", "My own data", "")
    assert [file.name for file in child.files] == ["other.csv"]
    kinds = {name: column.kind for name, column in child.columns.items()}
    assert kinds == {"a": "nominal", "b": "nominal", "c": "drop"}
    assert child.columns["a"].levels == ("x", "y")
    assert (child.label.column, child.label.favourable) == ("y", "0")
    assert list(child.protected) == ["sex", "race"]
    assert child.keep == {"sex": ("f", "m")}
    assert child.where("columns", "a", "levels") == f"{tmp_path}/base.yaml:8"
    assert child.where("columns", "b") == f"{tmp_path}/child.yaml:4"
    assert child.where("files", 0) == f"{tmp_path}/child.yaml:3"
    assert child.where("label", "column") == f"{tmp_path}/base.yaml:4"


def test_mistakes_in_an_extended_card_stand_there(tmp_path):
    (tmp_path / "base.yaml").write_text(TEN_LINES + "columns:\n  a: {knd: drop}\n")
    (error,) = errors(tmp_path, "name: child\nextends: base.yaml\n", "child.yaml")
    assert error.startswith('base.yaml:8: error: unknown key "knd"')
    (tmp_path / "base.yaml").write_text("name: a\nname: b\n")
    (error,) = errors(tmp_path, "name: child\nextends: base.yaml\n", "child.yaml")
    assert error.startswith('base.yaml:2: error: key "name" is given twice')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nextends: adlt\n", 'x.yaml:2: error: unknown dataset "adlt"\n  fix: did you mean "adult"?'),
        ("name: x\nextends: none.yaml\n", "x.yaml:2: error: no card at none.yaml"),
        ("name: x\nextends: x.yaml\n", "x.yaml:2: error: the card extends itself"),
        ("name: x\nextends: ./x.yaml\n", "x.yaml:2: error: the card extends itself"),
        ("name: x\nextends: y.yaml\n", "y.yaml:2: error: the card extends itself"),
        ("name: x\nextends: [adult]\n", "x.yaml:2: error: `extends` must name another card"),
        ("name: x\nextends:\n", "x.yaml:2: error: `extends` must name another card"),
        ("extends: adult\n", 'x.yaml:1: error: key "name" is missing'),
        ("name: x\nextends: adult\ncolumns: 5\n", "x.yaml:3: error: columns must be a mapping, not 5"),
    ],
)
def test_extending_wrongly(tmp_path, text, message):
    (tmp_path / "y.yaml").write_text("name: y\nextends: x.yaml\n")
    assert errors(tmp_path, text, "x.yaml")[0].startswith(message)


@pytest.mark.parametrize("name", known_cards())
def test_every_shipped_card_is_whole(name):
    shipped = read_card(find_card(name))
    assert shipped.name == name
    assert shipped.title
    assert shipped.source
    assert shipped.licence
    assert shipped.citation
    assert name in NO_FILE or all(file.sha256 and file.url for file in shipped.files)
