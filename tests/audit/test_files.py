"""Files as other programs write them: read as the same table, or known, with a line that makes CSV of it."""

import bz2
import gzip
import json
import lzma
import pickle
import random
import shlex
import subprocess
import sys
import zipfile

import pandas as pd
import pytest
from conftest import write_parquet

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError

NAMES = ["score", "sex", "age"]


def people(n=200):
    rng = random.Random(5)  # noqa: S311 - people, not secrets
    for _ in range(n):
        sex = rng.choice(["Female", "Male"])
        yield [str(int(rng.random() < (0.3 if sex == "Female" else 0.6))), sex, str(rng.randint(18, 70))]


ROWS = list(people())
FRAME = pd.DataFrame(ROWS, columns=NAMES).astype({"score": int, "age": int})


def written(rows=ROWS, mark=",", names=NAMES):
    return "".join(mark.join(row) + "\n" for row in [names, *rows])


def plain(source, **options):
    """Return the JSON of an audit without the name of its file, and its notes on reading."""
    result = fb.audit(source, attribute="sex", **options)
    document = json.loads(result.to_json())
    for key in ("source", "notes", "title", "version"):
        document.pop(key, None)
    return document, [note for note in result.report.notes if "No label" not in note]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "people.csv"
    path.write_text(written())
    document, notes = plain(path)
    assert notes == []
    return document


SURROUNDED = {
    "titles": (f"Quarterly report\nExported 2026-03-01\n\n{written()}", ["in line 4", "(Quarterly report)"]),
    "a title with no mark": (f"Staff 2024\n{written(mark=';')}", ["semicolons", "in line 2", "(Staff 2024)"]),
    "titles of a sheet": (
        f"Bericht 2026;;\n;;\n{written(mark=';')}",
        ["semicolons", "in line 3", "(Bericht 2026)"],
    ),
    "facts, then a blank line": (
        f"Report,Hiring\nUnit,HR,x\n\n{written()}",
        ["in line 4", "(Report,Hiring)"],
    ),
    "comments with commas": (f"# by x, on y\n# z\n{written()}", ["in line 3", "(# by x, on y)"]),
    "the line of Excel": (f"sep=;\n{written(mark=';')}", ["semicolons", "(sep=;)"]),
    "blank lines": (f"\n\n{written()}", ["in line 3"]),
    "units": (written([["0/1", "", "years"], *ROWS]), ["units", "(0/1, years)"]),
    "units in brackets, below a title": (
        f"T\n{written([['[0-1]', 'text', '(Jahre)'], *ROWS])}",
        ["line 2", "units"],
    ),
    "a source": (f"{written()}\nSource: HR, 2026\n", ["below", "(Source: HR, 2026)"]),
    "a remark of a database": (f"{written()}(200 rows affected)\n", ["below", "(200 rows affected)"]),
    "a date, filled up": (f"{written(mark=';')}Generated on 2026-03-01;;\n;;\n", ["Generated on"]),
    "a sum": (f"{written()}Total,,8000\n", ["below", "(Total)"]),
}


@pytest.mark.parametrize("where", SURROUNDED)
def test_what_stands_around_a_table_is_left_out_and_said(tmp_path, expected, where):
    text, words = SURROUNDED[where]
    path = tmp_path / "report.csv"
    path.write_text(text)
    document, notes = plain(path)
    assert document == expected
    for word in words:
        assert word in " ".join(notes)


ORDINARY = {
    "a column without a name": written(
        [[str(i), *row[:2]] for i, row in enumerate(ROWS)], names=["", "score", "sex"]
    ),
    "empty columns": written([[*row[:2], "", ""] for row in ROWS], names=["score", "sex", "", ""]),
    "a last person called Total": written([*ROWS[:-1], ["1", "Total", "30"]]),
    "a first person like a unit": written([["1", "m", "30"], ["0", "m", "40"], *ROWS]),
    "a last person of whom little is known": written([*ROWS, ["1", "total", ""], ["1", "Female", ""]]),
    "a last person below a blank one": written(
        [["1", "f", "3"], ["0", "m", "4"], ["1", "m", "4"], ["1", "same", ""]]
    ),
    "names with a #": written(names=["score", "sex", "#"]),
}


@pytest.mark.parametrize("what", ORDINARY)
def test_an_ordinary_table_has_no_note_of_what_stands_around_it(tmp_path, what):
    path = tmp_path / "people.csv"
    path.write_text(ORDINARY[what])
    _, notes = plain(path)
    assert not [note for note in notes if "stands" in note or "units" in note]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"Report\n{written()}1,Male\n", ["x.csv:203", "2 cells"]),
        (f"{written()}Fema", ["x.csv:202", "1 cell"]),  # the copy was cut off
        (f"Report\n\n{written()}5,Male,30\n", ["x.csv:204", '"5"']),
        ("Report of 2024\n\n1,f,3\n0,m,4\n1,f,5\n", ["x.csv:1", "Report of 2024", "not certain"]),
    ],
)
def test_lines_are_counted_as_in_the_file(tmp_path, text, words):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        fb.audit(path)
    for word in words:
        assert word in str(caught.value)


def write_others(folder):
    text = written().encode()
    (folder / "a.csv.xz").write_bytes(lzma.compress(text))
    (folder / "a.csv.bz2").write_bytes(bz2.compress(text))
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("export/a.csv", text)
        archive.writestr("__MACOSX/._a.csv", b"x")
    FRAME.to_stata(folder / "a.dta", write_index=False)
    FRAME.assign(sex=FRAME.sex.astype("category")).to_stata(
        folder / "labels.dta", write_index=False, version=118
    )
    FRAME.to_feather(folder / "a.feather")
    write_parquet(FRAME, folder / "a.parquet")
    (folder / "a.parquet.gz").write_bytes(gzip.compress((folder / "a.parquet").read_bytes()))
    FRAME.to_json(folder / "a.json", orient="records", indent=2)
    header = (
        "% x\n@relation p\n@attribute score {0,1}\n@attribute sex string\n@attribute age numeric\n@data\n"
    )
    (folder / "a.arff").write_text(header + written().split("\n", 1)[1])
    (folder / "no ending").write_bytes((folder / "a.dta").read_bytes())


@pytest.mark.gate
def test_files_of_other_programs_are_read_as_the_same_table(tmp_path, expected):
    write_others(tmp_path)
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 11
    for path in paths:
        assert plain(path) == (expected, []), path


KNOWN = {
    "a.rds": gzip.compress(b"X\n\0\0\0\3" + b"x" * 99),
    "a.RData": gzip.compress(b"RDX3\nX\n\0\0\0\3"),
    "a.h5": b"\x89HDF\r\n\x1a\n" + bytes(99),
    "a.pdf": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n",
    "a.csv.zst": b"\x28\xb5\x2f\xfd\0\0",
    "a.npy": b"\x93NUMPY\1\0",
    "a.bin": b"H" + bytes(range(256)),
}


@pytest.mark.parametrize("encoding", [None, "utf-16"])
def test_other_files_are_known_by_their_first_bytes(tmp_path, encoding):
    for name, content in KNOWN.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            fb.audit(path, encoding=encoding)
        (problem,) = caught.value.problems
        assert "UTF-16" not in problem.what
        if encoding is None:
            assert "encoding" not in str(problem)


@pytest.mark.gate
@pytest.mark.parametrize("orient", ["columns", "index", "split", "table", "pickle"])
def test_a_line_that_makes_csv_of_a_file_works(tmp_path, expected, orient):
    path = tmp_path / "it's a.json"
    if orient == "pickle":
        path.write_bytes(pickle.dumps(FRAME))
    else:
        FRAME.to_json(path, orient=orient)
    with pytest.raises(UserError) as caught:
        fb.audit(path)
    command = shlex.split(caught.value.problems[0].fix.partition("CSV: ")[2])
    subprocess.run([sys.executable, *command[1:]], check=True, cwd=tmp_path)
    assert plain(tmp_path / "it's a.csv")[0] == expected


def test_several_files_in_an_archive_are_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", written())
        archive.writestr("b.csv", written())
    with pytest.raises(UserError, match=r'"a[.]csv", "b[.]csv"'):
        fb.audit(tmp_path / "a.zip")


NESTED = [
    {"out": {"score": int(score)}, "doc": {"sex": sex, "more": {"age": int(age)}}, "race": ["a", "b"]}
    for score, sex, age in ROWS
]


@pytest.mark.parametrize("ending", ["ndjson", "json", "parquet"])
def test_fields_of_a_cell_have_dotted_names(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        write_parquet(pd.DataFrame(NESTED), path)
    elif ending == "json":
        path.write_text(json.dumps(NESTED))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in NESTED))
    options = {"score": "out.score", "bins": {"doc.more.age": 2}}
    result = fb.audit(path, attribute=["doc.sex", "doc.more.age"], ref={"doc.sex": "Male"}, **options)
    assert {row.attribute for row in result.report.groups} == {"doc.sex", "doc.more.age"}
    assert any("a cell holds a list" in note and '"race"' in note for note in result.report.notes)
    for name, word in (("doc", 'name one of its fields: attribute="doc.sex"'), ("race", "holds lists")):
        with pytest.raises(UserError) as caught:
            fb.audit(path, score="out.score", attribute=name)
        assert word in str(caught.value)


def test_a_cell_of_very_many_fields_is_one_column(tmp_path):
    path = tmp_path / "a.ndjson"
    vector = dict.fromkeys(map(str, range(900)), 0.5)
    path.write_text(
        "".join(json.dumps({"score": i % 2, "sex": "fm"[i // 2 % 2], "v": vector}) + "\n" for i in range(20))
    )
    assert plain(path)[0]["rows"] == 20
