"""TextCells are text as the file has them; what is broken is said with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.files import read_cells


def write(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path, kind="csv", **options):
    cells = read_cells(path, kind, **options)
    return [list(cells.frame.columns), *cells.frame.to_numpy().tolist()]


def error(path, kind="csv", **options):
    with pytest.raises(UserError) as caught:
        read_cells(path, kind, **options)
    assert len(str(caught.value).splitlines()) == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,b\n1,x\n2,y\n", {}, [["a", "b"], ["1", "x"], ["2", "y"]]),
        ("a,b\r\n1,x\r\n", {}, [["a", "b"], ["1", "x"]]),
        ("a,b\n1,x", {}, [["a", "b"], ["1", "x"]]),
        ("\ufeffa,b\n1,x\n", {}, [["a", "b"], ["1", "x"]]),
        ("\n\na,b\n\n1,x\n  \n\n", {}, [["a", "b"], ["1", "x"]]),
        ("a , b\n 1 ,x  \n", {}, [["a", "b"], ["1", "x"]]),
        ('a,b\n"1, 2","say ""x"""\n', {}, [["a", "b"], ["1, 2", 'say "x"']]),
        ('a,b\n"1\n2",x\n', {}, [["a", "b"], ["1\n2", "x"]]),
        ("a;b\n1,5;x\n", {"separator": ";"}, [["a", "b"], ["1,5", "x"]]),
        ("a\tb\n1\tx\n", {"separator": "\t"}, [["a", "b"], ["1", "x"]]),
        ("1 x\n2 y\n", {"separator": " ", "header": False}, [["0", "1"], ["1", "x"], ["2", "y"]]),
        ("|head\n1,x\n|y\n2,y\n", {"comment": "|", "header": False}, [["0", "1"], ["1", "x"], ["2", "y"]]),
        (",\n1,\n,2\n", {"header": False}, [["0", "1"], ["", ""], ["1", ""], ["", "2"]]),
        ("a,a\n1,2\n", {}, [["a", "a"], ["1", "2"]]),
        ("a,b\nNA,\nnan,None\n01,1.0\n", {}, [["a", "b"], ["NA", ""], ["nan", "None"], ["01", "1.0"]]),
        ("a\nx\n\ny\n", {}, [["a"], ["x"], [""], ["y"]]),
    ],
)
def test_csv(tmp_path, content, options, expected):
    assert rows(write(tmp_path, content), **options) == expected


def test_every_row_knows_its_line(tmp_path):
    path = write(tmp_path, 'a,b\n1,x\n\n"2\n3",y\n|c\n4,z\n')
    assert read_cells(path, comment="|").lines == [2, 5, 7]
    assert read_cells(write(tmp_path, "|c\n\n1,x\n2,y\n"), comment="|", header=False).lines == [3, 4]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "t.csv:1: error: the file is empty"),
        ("\n\n", {}, "t.csv:1: error: the file is empty"),
        ("a,b\n", {}, "t.csv: error: the file has column names but no rows"),
        ("a,b\n1,2\n\n1\n", {}, "t.csv:4: error: the row has 1 cells, the header 2"),
        ("a,b\n1,2,3\n", {}, "t.csv:2: error: the row has 3 cells, the header 2"),
        ("1,2\n1,2,3\n", {"header": False}, "t.csv:2: error: the row has 3 cells, the first row 2"),
        ("a;b\n1,5;x\n", {}, 'the row has 2 cells, the header 1\n  fix: write separator: ";"'),
        ("full name\nx, y\n", {}, "the row has 2 cells, the header 1\n  fix: give every row"),
        ('a,b\n1,"x\n2,y\n', {}, "error: not a CSV row"),
        ('a,b\n1,"x"y\n', {}, "t.csv:2: error: not a CSV row"),
        ("a,b\n1," + "x" * 200_000 + "\n", {}, "t.csv:2: error: not a CSV row: field larger"),
        (b"a,b\n1,\xe9\n", {}, "t.csv:2: error: byte E9 is not UTF-8"),
        ("a,b\n1,2".encode("utf-16"), {}, "t.csv:1: error: byte FF is not UTF-8"),
    ],
)
def test_broken_csv(tmp_path, content, options, message):
    assert message in error(write(tmp_path, content), **options)


def test_no_file(tmp_path):
    assert "no such file" in error(tmp_path / "none.csv")
    assert "cannot read" in error(tmp_path)


ARFF = """% a comment
@RELATION people

@attribute sex {f, m}
@ATTRIBUTE 'age group' {'Less than 25', "25 - 45", 'it\\'s, old'}
@attribute income numeric
@attribute "y" { 0,1 }
@DATA
% another
f,'Less than 25',3.5,0

m, "25 - 45" ,?,1
m,'it\\'s, old',2,1
"""


def test_arff(tmp_path):
    path = write(tmp_path, ARFF)
    assert rows(path, "arff") == [
        ["sex", "age group", "income", "y"],
        ["f", "Less than 25", "3.5", "0"],
        ["m", "25 - 45", "?", "1"],
        ["m", "it's, old", "2", "1"],
    ]
    cells = read_cells(path, "arff")
    assert cells.lines == [10, 12, 13]
    assert cells.declared["sex"] == ("f", "m")
    assert cells.declared["y"] == ("0", "1")
    assert set(cells.declared) == {"sex", "age group", "y"}


def test_levels_of_an_arff_in_either_quotes(tmp_path):
    path = write(tmp_path, "@attribute a {'x y', 'z, w'}\n@attribute b {\"x y\", z}\n@data\n'x y',z\n")
    assert read_cells(path, "arff").declared == {"a": ("x y", "z, w"), "b": ("x y", "z")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", 't.csv:1: error: not a line of an ARFF header: "a,b"'),
        ("", "error: no @data line"),
        ("@relation x\n@data\n1\n", "t.csv:2: error: not a line of an ARFF header"),
        ("@attribute a {x}\n@attribute b\n@data\nx\n", "t.csv:2: error: not a line of an ARFF header"),
        ("@attribute a {x}\n@attribute b {y}\n@data\nx,y\nx\n", "t.csv:5: error: the row has 1 cells"),
        ("@attribute a {x}\n@attribute b {y}\n@data\n{0 x}\n", "t.csv:4: error: sparse ARFF"),
        ("@attribute a {x}\n@data\n", "error: the file has column names but no rows"),
    ],
)
def test_broken_arff(tmp_path, content, message):
    assert message in error(write(tmp_path, content), "arff")


cell = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=5).map(
    str.strip
)


@given(st.lists(st.tuples(cell, cell, cell), min_size=2, max_size=8).filter(lambda rows: any(rows[0])))
def test_what_pandas_writes_is_read(tmp_path_factory, table):
    import csv

    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(table)
    assert rows(path) == [list(row) for row in table]


def test_columns_that_are_not_wanted_change_nothing_else(tmp_path):
    """One, some or none of the columns of any kind of file: the cells, lines and levels of all."""
    import duckdb

    texts = {
        "csv": 'a, b ,c\n1, x , \n\n2,"y\nz",q\n2,x,q\n1,x,q\n',
        "arff": "@attribute a numeric\n@attribute b {x,'y z'}\n@attribute c string\n@data\n"
        "1,x,''\n%\n2,'y z',q\n",
    }
    paths = {kind: write(tmp_path, text).rename(tmp_path / f"some.{kind}") for kind, text in texts.items()}
    paths["parquet"] = tmp_path / "some.parquet"
    query = (
        "SELECT * FROM (VALUES (1.5, ' x', NULL), (2, 'y\0', 'q'), (2, 'y', 'q'), (2, 'y', 'q'), "
        "(3, 'y', NULL), (3, 'y', NULL)) "
        "AS t(a, b, c)"
    )
    duckdb.sql(query).write_parquet(str(paths["parquet"]))
    for kind, path in paths.items():
        whole = read_cells(path, kind)
        for names in (["a"], ["c"], ["a", "c"], ["c", "b"], [], ["nothing"], ["a", "b", "c"]):
            part = read_cells(path, kind, is_wanted=names.__contains__)
            there = [name for name in "abc" if name in names] or [*"abc"]
            assert part.frame.to_dict("list") == whole.frame[there].to_dict("list")
            assert (list(part.lines), part.declared, part.names) == (
                list(whole.lines),
                whole.declared,
                (*"abc",),
            )
    assert read_cells(paths["parquet"], "parquet").frame["b"].tolist() == ["x", "y\0", "y", "y", "y", "y"]
    assert read_cells(paths["csv"]).lines == [2, 5, 6, 7]
