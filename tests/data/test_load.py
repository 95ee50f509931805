"""From a card and its file to a coded table; what does not fit is said with file, line and column."""

import re

import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import locate_files
from fairbench_cli.data.table import Column

CARD = """name: mine
files: [mine.csv]
label: {column: y, favourable: 1}
protected:
  sex: {deprived: f}
"""

CSV = "sex,age,job,y\nf,20,a,1\nm,30,b,0\nm,40,?,1\nf,50,a,0\n"


def data(tmp_path, card=CARD, **files) -> Dataset:
    path = tmp_path / "mine.yaml"
    path.write_text(card, encoding="utf-8")
    for name, content in (files or {"mine": CSV}).items():
        (tmp_path / f"{name}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    described = read_card(path)
    return load(described, locate_files(described, [tmp_path]))


def errors(tmp_path, card=CARD, **files):
    with pytest.raises(UserError) as caught:
        data(tmp_path, card, **files).roles("sex")
    assert len(str(caught.value).splitlines()) == 2 * len(caught.value.problems)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def shown(dataset):
    return {name: list(column) for name, column in dataset.table.to_frame().astype(str).items()}


def test_your_own_csv_with_a_card_of_a_few_lines(tmp_path):
    dataset = data(tmp_path)
    assert dataset.table.columns == (
        Column("sex", ("f", "m")),
        Column("age", ("20", "30", "40", "50")),
        Column("job", ("?", "a", "b")),
        Column("y", ("0", "1")),
    )
    assert shown(dataset)["job"] == ["a", "b", "?", "a"]
    assert (dataset.roles("sex").deprived, dataset.roles("sex").favoured) == (("f",), ("m",))
    assert list(dataset.sha256) == ["mine.csv"]


@pytest.mark.parametrize(
    "content",
    [
        CSV.replace("\n", "\r\n"),
        "\ufeff" + CSV,
        CSV.replace("\n", "\n\n"),
        CSV.rstrip("\n"),
        CSV.replace(",", " , "),
        re.sub(r"[^,\n]+", lambda cell: f'"{cell[0]}"', CSV),
    ],
    ids=["crlf", "bom", "blank lines", "no last line end", "blanks", "quotes"],
)
def test_ways_to_write_the_same_file(tmp_path, content):
    dataset = data(tmp_path, mine=content)
    assert dataset.table.columns == data(tmp_path).table.columns
    assert shown(dataset) == shown(data(tmp_path))


def test_commas_in_quotes(tmp_path):
    dataset = data(tmp_path, mine=CSV.replace(",a,", ',"a, or b",'))
    assert shown(dataset)["job"] == ["a, or b", "b", "?", "a, or b"]


def test_columns_of_every_kind(tmp_path):
    card = CARD + (
        "columns:\n  age: {kind: integer, bins: {count: 3, low: 20, high: 65}}\n  job: drop\n"
        "  y: {levels: [1, 0]}\n"
    )
    dataset = data(tmp_path, card)
    assert shown(dataset) == {
        "sex": ["f", "m", "m", "f"],
        "age": ["20-35", "20-35", "36-50", "36-50"],  # and 51-65 is empty
        "y": ["1", "0", "1", "0"],
    }
    assert dataset.table.columns[1].levels == ("20-35", "36-50")
    assert dataset.table.columns[2].levels == ("1", "0")


def test_cap_and_real_bins(tmp_path):
    card = CARD + "columns:\n  age: {kind: integer, cap: 30}\n  job: {kind: real, bins: {count: 2}}\n"
    dataset = data(
        tmp_path,
        card,
        mine=CSV.replace("a", "0.5")
        .replace("b", "1")
        .replace("?", "2.5")
        .replace("0.5ge", "age")
        .replace("jo1", "job"),
    )
    assert shown(dataset)["age"] == ["20", "30+", "30+", "30+"]
    assert dataset.table.columns[1].levels == ("20", "30+")
    assert shown(dataset)["job"] == ["[0.5, 1.5]", "[0.5, 1.5]", "(1.5, 2.5]", "[0.5, 1.5]"]


def test_the_cards_order_where_it_lists_all_columns(tmp_path):
    card = CARD + "other_columns: drop\ncolumns: {y: , sex: }\n"
    assert data(tmp_path, card).table.names == ("y", "sex")
    assert data(tmp_path, CARD + "columns: {y: , sex: }\n").table.names == ("sex", "age", "job", "y")


def test_rows_kept_by_a_column_that_is_then_dropped(tmp_path):
    card = CARD + "keep: {job: [a, b], sex: [f, m]}\ncolumns: {job: drop}\n"
    assert shown(data(tmp_path, card))["age"] == ["20", "30", "50"]
    card = CARD + "keep: {job: a}\ncolumns: {y: , sex: }\nother_columns: drop\n"
    assert shown(data(tmp_path, card, mine=CSV + "m,60,a,1\n"))["sex"] == ["f", "f", "m"]


def test_rows_kept_by_a_number(tmp_path):
    card = CARD + "keep_between: {age: {low: 30, high: 40}}\n"
    assert shown(data(tmp_path, card))["age"] == ["30", "40"]
    assert shown(data(tmp_path, card.replace("low: 30, ", "")))["age"] == ["20", "30", "40"]
    both = card + "keep: {job: b}\ncolumns: {age: drop}\n"
    assert shown(data(tmp_path, both, mine=CSV + "m,35,b,1\nf,,b,1\nf,NA,b,0\n"))["y"] == ["0", "1"]
    decimal = card.replace("30, high: 40", "2.5") + 'separator: ";"\ndecimal: ","\n'
    comma = CSV.replace(",", ";").replace("30", "2,5").replace("40", "2,4")
    assert shown(data(tmp_path, decimal, mine=comma))["age"] == ["20", "2.5", "50"]


def test_a_column_is_made_of_another_with_bins_and_levels_of_its_own(tmp_path):
    rich = "{from: age, kind: integer, bins: {edges: 30, closed: left, levels: [young, old]}}"
    card = CARD + f"columns: {{stage: {rich}, age: integer, trade: {{from: job, recode: {{a: c}}}}}}\n"
    dataset = data(tmp_path, card)
    assert dataset.table.names == ("sex", "age", "job", "y", "stage", "trade")
    assert shown(dataset)["stage"] == ["young", "old", "old", "old"]
    assert shown(dataset)["trade"] == ["c", "b", "?", "c"]
    assert shown(dataset)["job"] == ["a", "b", "?", "a"]
    assert dataset.table.columns[4] == Column("stage", ("young", "old"), "bins", (25.0, 40.0))
    listed = data(tmp_path, card.replace(", age: integer", ", sex: , y: ") + "other_columns: drop\n")
    assert listed.table.names == ("stage", "sex", "y", "trade")


def test_the_label_and_a_protected_attribute_may_be_made(tmp_path):
    made = "{from: age, kind: integer, bins: {edges: 25, levels: [young, old]}}"
    card = CARD.replace("column: y", "column: z").replace("sex: {deprived: f}", "stage: {deprived: young}")
    card += f"columns: {{z: {{from: y}}, y: drop, stage: {made}}}\n"
    sample = data(tmp_path, card).sample()
    assert (sample.s.tolist(), sample.y.tolist()) == ([0, 1, 1, 1], [1, 0, 1, 0])


def test_columns_made_of_a_file_without_a_header(tmp_path):
    card = CARD + "header: false\ncolumns: {sex: , age: , z: {from: job}, job: , y: }\n"
    assert data(tmp_path, card, mine=CSV.split("\n", 1)[1]).table.names == ("sex", "age", "job", "y", "z")


def test_columns_made_of_an_arff_file_have_its_levels(tmp_path):
    arff = "@attribute sex {m,f}\n@attribute y {0,1}\n@data\nm,0\nf,1\n"
    card = CARD.replace(".csv", ".arff") + "format: arff\ncolumns: {s: {from: sex}}\n"
    (tmp_path / "mine.arff").write_text(arff, encoding="utf-8")
    assert data(tmp_path, card).table.columns[2].levels == ("m", "f")


def test_rows_with_missing_cells(tmp_path):
    card = CARD + 'missing: "?"\nmissing_rows: drop\n'
    assert shown(data(tmp_path, card))["age"] == ["20", "30", "50"]
    assert len(data(tmp_path, card.replace("drop", "keep")).table) == 4
    assert len(data(tmp_path, card + "columns: {job: drop}\n").table) == 4


def test_recoding_comes_first(tmp_path):
    card = CARD + "columns: {job: {recode: {'?': a, a: b, b: a}}}\nkeep: {job: a}\n"
    assert shown(data(tmp_path, card))["age"] == ["30", "40"]


def test_two_files_are_one_data_set(tmp_path):
    card = CARD.replace("[mine.csv]", "[mine.csv, more.csv]")
    dataset = data(tmp_path, card, mine=CSV, more="y,job,age,sex\n1,c,60,x\n")
    assert dataset.table.names == ("sex", "age", "job", "y")
    assert shown(dataset)["job"] == ["a", "b", "?", "a", "c"]
    assert dataset.roles("sex").favoured == ("m", "x")
    (error,) = errors(tmp_path, card, mine=CSV, more="sex,age,y\nf,1,0\n")
    assert error.startswith('more.csv: error: column "job" is in one of mine.csv and more.csv only')


def test_without_header(tmp_path):
    card = CARD + "header: false\ncomment: '|'\ncolumns: {sex: , age: drop, job: , y: }\n"
    dataset = data(tmp_path, card, mine="|x\n" + CSV.partition("\n")[2])
    assert dataset.table.names == ("sex", "job", "y")
    (error,) = errors(tmp_path, card.replace("job: , ", ""))
    assert error.startswith("mine.csv: error: the file has 4 columns, but the card names 3")


def test_a_column_given_twice(tmp_path):
    twice = CSV.replace("\n", "!\n").replace("y!", "y,y").replace("1!", "1,1").replace("0!", "0,0")
    assert data(tmp_path, mine=twice).table.names == ("sex", "age", "job", "y")
    other = twice.replace("1,1", "1,0")
    (error,) = errors(tmp_path, mine=other)
    assert error.startswith('mine.csv:1: error: two different columns are called "y"')


def test_a_column_without_name(tmp_path):
    content = CSV.replace("job", "")
    (error,) = errors(tmp_path, mine=content)
    assert error.startswith("mine.csv:1: error: column 3 has no name")
    assert data(tmp_path, CARD + "other_columns: drop\ncolumns: {sex: , y: }", mine=content).table.names == (
        "sex",
        "y",
    )


ARFF = "@attribute sex {m, f, x}\n@attribute y {1, 0}\n@data\nf,0\nm,1\n"


def test_levels_of_an_arff_keep_its_order_less_those_that_never_occur(tmp_path):
    dataset = data(tmp_path, CARD + "format: arff\n", mine=ARFF)
    assert dataset.table.columns == (Column("sex", ("m", "f")), Column("y", ("1", "0")))
    recoded = CARD + "format: arff\ncolumns: {sex: {recode: {x: f}}}\n"
    assert data(tmp_path, recoded, mine=ARFF + "x,1\n").table.columns[0].levels == ("m", "f")


def test_a_cell_that_an_arff_does_not_declare(tmp_path):
    (error,) = errors(tmp_path, CARD + "format: arff\n", mine=ARFF + "?,1\n")
    assert error.startswith('mine.csv:6: error: column "sex" has "?", which is not one of its levels')


WHOLE = "should hold whole numbers but has"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("column: y", "column: z", 'yaml:3: mine.csv has no column "z"'),
        ("sex:", "sxe:", 'yaml:5: mine.csv has no column "sxe"\n  fix: did you mean "sex"?'),
        ("", "columns:\n  age: \n  race: drop\n", 'yaml:8: mine.csv has no column "race"'),
        ("", "keep: {race: b}\n", 'yaml:6: mine.csv has no column "race"'),
        ("d: f", "d: f, bias: {column: x, deprived: a}", 'yaml:5: mine.csv has no column "x"'),
        ("d: f", "d: F", 'yaml:5: value "F" of column "sex" is not in'),
        ("d: f", "d: f, favoured: [m, x]", 'yaml:5: value "x" of column "sex" is not in the data'),
        (
            "d: f",
            "d: f, bias: {column: job, deprived: A}",
            'yaml:5: value "A" of column "job" is not in the data\n  fix: did you mean "a"?',
        ),
        ("favourable: 1", "favourable: yes", 'yaml:3: value "yes" of column "y"'),
        ("d: f", "d: [f, m]", "yaml:5: nobody is left to be favoured"),
        ("", "keep: {job: [a, z]}\n", 'yaml:6: value "z" of column "job" is not in the data'),
        ("", "missing: [f, m]\nmissing_rows: drop\n", "yaml:7: no rows are left"),
        ("", "keep: {sex: f, age: 30}\n", "yaml:6: no rows are left"),
        ("", "keep_between: {age: {low: 90}}\n", "yaml:6: no rows are left"),
        ("", "keep_between: {race: {low: 9}}\n", 'yaml:6: mine.csv has no column "race"'),
        ("", "keep_between: {job: {low: 9}}\n", 'csv:2: column "job" should hold numbers but has "a"'),
        ("", "columns:\n  age: {from: y}\n", 'yaml:7: mine.csv has a column "age" itself'),
        (
            "",
            "columns:\n  age: integer\n  z: {from: agee}\n",
            'yaml:8: mine.csv has no column "agee"\n  fix: did you mean "age"?',
        ),
        ("", "columns: {z: {from: job, kind: integer}}\n", f'csv:4: column "z" {WHOLE} "?"'),
        (
            "",
            "columns: {age: , job: {levels: [a, b]}}\n",
            'csv:4: column "job" has "?", which is not one of its levels\n  fix: add it',
        ),
        ("", "columns: {job: {levels: [a, b], recode: {'?': c}}}\n", 'csv:4: column "job" has "c"'),
    ],
)
def test_what_does_not_fit(tmp_path, old, new, message):
    (error,) = errors(tmp_path, CARD.replace(old, new) if old else CARD + new)
    assert error.replace(" error:", "").startswith(f"mine.{message}")


@pytest.mark.parametrize(
    ("column", "content", "message"),
    [
        ("", CSV.replace(",0\n", ",1\n"), 'yaml:3: the label "y" has one value only'),
        ("", "", "csv:1: the file is empty"),
        ("", "sex,y\n", "csv: the file has column names but no rows"),
        ("", CSV + "f,1,1\n", "csv:6: the row has 3 cells, the header 4"),
        ("", CSV.encode() + b"\xe9,1,1,1\n", "csv:6: byte E9 is not UTF-8"),
        ("{kind: integer, cap: 5}", CSV.replace("40", "4O"), f'csv:4: column "age" {WHOLE} "4O"'),
        (
            "{kind: integer, bins: {count: 2}}",
            CSV.replace("40", "40.5"),
            f'csv:4: column "age" {WHOLE} "40.5"',
        ),
        (
            "{kind: real, bins: {count: 2}}",
            CSV.replace("30", ""),
            'csv:3: column "age" should hold numbers but has ""',
        ),
        (
            "{kind: real, bins: {count: 2}}",
            re.sub("[345]0", "20", CSV),
            'yaml:7: column "age" cannot be cut into bins',
        ),
    ],
)
def test_content_that_does_not_fit(tmp_path, column, content, message):
    (error,) = errors(tmp_path, CARD + (f"columns:\n  age: {column}\n" if column else ""), mine=content)
    assert error.replace(" error:", "").startswith(f"mine.{message}")


def test_a_group_that_is_neither(tmp_path):
    (error,) = errors(tmp_path, CARD.replace("d: f", "d: f, favoured: m"), mine=CSV + "x,60,a,1\n")
    assert error.startswith('mine.yaml:5: error: "x" of sex is in neither group')


def test_all_that_does_not_fit_at_once(tmp_path):
    card = CARD + "columns:\n  age: {kind: integer, cap: 5}\n  job: {levels: [a, b]}\n"
    assert len(errors(tmp_path, card, mine=CSV.replace("20", "x"))) == 2
    missing = CARD.replace("column: y", "column: z").replace("sex:", "gender:")
    assert len(errors(tmp_path, missing)) == 2
    absent = CARD.replace("favourable: 1", "favourable: 2").replace("deprived: f", "deprived: [g, h]")
    assert len(errors(tmp_path, absent)) == 3


def test_a_wrong_separator_is_guessed_at(tmp_path):
    first, second = errors(tmp_path, CARD + "separator: ;\n")
    assert first.startswith('mine.yaml:3: error: mine.csv has no column "y"\n  fix: check `separator`')
    assert second.startswith('mine.yaml:5: error: mine.csv has no column "sex"\n  fix: check `separator`')


def test_an_unlisted_column_of_very_many_values_is_refused(tmp_path):
    """A number that the card forgot would become a level a value, and the network would be wrong."""
    rows = "".join(f"{i % 2},{1000 + i},name{i},{'yes' if i % 3 else 'no'}\n" for i in range(200))
    (tmp_path / "a.csv").write_text("sex,savings,who,ok\n" + rows)
    head = "name: a\nfiles: [a.csv]\nlabel: {column: ok, favourable: 'yes'}\n"
    head += "protected: {sex: {deprived: 0, favoured: 1}}\n"
    with pytest.raises(UserError) as raised:
        load_card(tmp_path, head)
    first, second = raised.value.problems
    assert 'column "savings" has 200 different numbers' in first.what
    assert 'column "who" has 200 different values in 200 rows' in second.what
    table = load_card(tmp_path, head + "columns: {savings: nominal, who: drop}\n").table
    assert len(table.columns[table.index("savings")].levels) == 200


def test_rows_without_a_label_are_refused_or_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("sex,ok\n" + "0,yes\n1,no\n" * 5 + "0,\n")
    head = "name: a\nfiles: [a.csv]\nlabel: {column: ok, favourable: 'yes'}\n"
    head += "protected: {sex: {deprived: 0, favoured: 1}}\n"
    with pytest.raises(UserError, match="1 rows have no label"):
        load_card(tmp_path, head)
    assert len(load_card(tmp_path, head + "missing: ['']\nmissing_rows: drop\n").table) == 10


def load_card(folder, text):
    path = folder / "card.yaml"
    path.write_text(text)
    card = read_card(path)
    return load(card, locate_files(card, [folder]))
