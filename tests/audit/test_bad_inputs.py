"""Inputs that are wrong or odd: each is refused, saying where and what to do, or read by a visible policy."""

import gzip
import io
import os
import warnings

import duckdb
import pandas as pd
import pytest
from audit_counts import read_tally
from conftest import law
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from fairbench_cli.audit import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.slices import Tally
from fairbench_cli.base.errors import UserError

GOOD = "score,label_value,race\n1,0,a\n0,1,b\n1,1,a\n0,0,b\n"
HEAD = "score,label_value,race\n"


def refusal(tmp_path, content, spec=None, name="preds.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError) as caught:
        read_tally(str(path), spec or AuditConfig())
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].fix
    return str(caught.value).replace(str(tmp_path) + os.sep, "")


def tally_of(tmp_path, content, spec=None, name="preds.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_tally(str(path), spec or AuditConfig())


WEIGHED = AuditConfig(weight="w")
TOP = AuditConfig(top_k=2)
HALF = AuditConfig(threshold=0.5)

# what: (content, words that the message must have, spec)
REFUSED = {
    "no score": ("label,race\n1,a\n0,b\n", ['no column "score"', "preds.csv:1", "--score"]),
    "score in capitals": ("Score,label,race\n1,1,a\n", ['did you mean "Score"']),
    "misspelt score": (GOOD, ['no column "scor"', 'did you mean "score"'], AuditConfig(score="scor")),
    "misspelt label": (GOOD, ['no column "label"', '"label_value"'], AuditConfig(label="label")),
    "label in capitals": ("score,LABEL,race\n1,1,a\n", ['did you mean "LABEL"', "--label"]),
    "misspelt attribute": (
        GOOD,
        ['no column "rase"', 'did you mean "race"'],
        AuditConfig(attribute=("rase",)),
    ),
    "attribute in capitals": (GOOD, ['did you mean "race"'], AuditConfig(attribute=("RACE",))),
    "misspelt weight": (GOOD, ['no column "w"', "--weight"], WEIGHED),
    "misspelt model": (GOOD, ['no column "m"', "--model-column"], AuditConfig(model_column="m")),
    "misspelt intersection": (
        GOOD,
        ['no column "sexx"', "--intersect"],
        AuditConfig(intersect=(("race", "sexx"),)),
    ),
    "misspelt bins": (GOOD, ['no column "agee"', "--bins"], AuditConfig(bins={"agee": 4})),
    "bins of text": (GOOD, ["preds.csv:2", '"race"', '"a"', "4 rows"], AuditConfig(bins={"race": 2})),
    "bins of nothing": (f"{HEAD}1,0,\n0,1,\n", ["no numbers"], AuditConfig(bins={"race": 2})),
    "score is label": (GOOD, ["both score and label"], AuditConfig(score="label_value")),
    "score as attribute": (GOOD, ['"score" is the score'], AuditConfig(attribute=("score",))),
    "label as weight": (GOOD, ["both label and weight"], AuditConfig(weight="label_value")),
    "empty": (b"", ["preds.csv", "empty"]),
    "blank lines only": ("\n \n", ["empty"]),
    "byte order mark only": (b"\xef\xbb\xbf", ["empty"]),
    "header only": (HEAD, ["no rows"]),
    "header without line end": (HEAD.strip(), ["no rows"]),
    "blank first line of one column": ("\nscore\n1\n", ["preds.csv:1", "blank"]),
    "no attribute": ("entity_id,score,label\n1,1,0\n2,0,1\n", ["no attribute"]),
    "latin-1": ((HEAD + "1,0,\xe9\n0,1,b\n").encode("latin-1"), ["UTF-8", "--encoding cp1252"]),
    "latin-1 far below": (
        (HEAD + "1,0,a\n" * 20_000 + "0,1,\xe9\n").encode("latin-1"),
        ["UTF-8", "preds.csv:"],
    ),
    "latin-1 header": ("score,label,ra\xe7e\n1,0,a\n".encode("latin-1"), ["UTF-8"]),
    "utf-16": (GOOD.encode("utf-16"), ["UTF-16"]),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), ["UTF-16"]),
    "zip": (b"PK\x03\x04rest", ["zip archive", "unpack it"]),
    "zstd": (b"\x28\xb5\x2f\xfdrest", ["zstd"]),
    "bzip2": (b"BZh9rest", ["packed data are damaged"]),
    "damaged gzip": (gzip.compress(GOOD.encode())[:-12], ["gzip"]),
    "damaged parquet": (b"PAR1 and nothing", ["Parquet", "damaged"]),
    "json array of arrays": ("[[1, 0]]", ["JSON array", "object per person"]),
    "json array of nothing": ('[{"score": 1}, 2]', ["JSON"]),
    "header twice": ("score,label,race,race\n1,0,a,b\n", ['"race" appears twice', "preds.csv:1"]),
    "score twice": ("score,race,score\n1,a,0\n", ['column "score" appears twice', "preds.csv:1"]),
    "label twice": ("score,label,label,race\n1,0,1,b\n", ['column "label" appears twice']),
    "model twice": ("model_id,score,model_id,race\n1,0,2,b\n", ['"model_id" appears twice']),
    "a named column twice": (
        "score,race,job,job\n1,a,1,y\n",
        ['column "job" appears twice', "preds.csv:1", "rename or remove one of them"],
        AuditConfig(label="job"),
    ),
    "a reference's column twice": (
        "score,race,job,job\n1,a,x,y\n",
        ['column "job" appears twice'],
        AuditConfig(references={"job": "x"}, ref_method="given"),
    ),
    "header twice by blanks": ("score,label,race, race\n1,0,a,b\n", ['"race" appears twice']),
    "short row": (f"{HEAD}1,0,a\n0,1\n", ["preds.csv:3", "2 cells, the header 3"]),
    "long row": (f"{HEAD}1,0,a\n0,1,b,c\n", ["preds.csv:3", "4 cells"]),
    "long row after a quoted line end": (f'{HEAD}1,0,"a\nb"\n0,1,b,c\n', ["preds.csv:4"]),
    "unclosed quote": (f'{HEAD}1,0,a\n0,1,"b\n1,1,a\n', ["preds.csv:3", "quote"]),
    "text after a quote": (f'{HEAD}1,0,"a"b\n', ["preds.csv:2", "quote"]),
    "unclosed quote in header": ('score,"label,race\n1,0,a\n', ["quote"]),
    "continuous score": (f"{HEAD}1,0,a\n0.3,1,b\n", ['"score"', "0.3", "preds.csv:3", "--threshold 0.5"]),
    "two other scores": (
        f"{HEAD}0.2,0,a\n0.9,1,b\n",
        ["preds.csv:2", '"0.2" in 1 row, "0.9" in 1 row, not 0 or 1', "--threshold"],
    ),
    "scores 1 and 2": (f"{HEAD}1,0,a\n2,1,b\n", ["preds.csv:3", "--favourable VALUE (one of 1, 2)"]),
    "scores -1 and 1": (f"{HEAD}1,0,a\n-1,1,b\n", ["preds.csv:3", "likely --favourable 1"]),
    "scores in words": (f"{HEAD}low,0,a\nhigh,1,b\n", ["VALUE: one of 'high', 'low'"]),
    "decimal commas and points": ("score;label;race\n0,5;1;a\n0.7;0;b\n", ["0,5", "decimal point"], HALF),
    "labels 1 and 2": (
        f"{HEAD}1,1,a\n0,2,b\n",
        ['"label_value"', "preds.csv:3", "--favourable-label VALUE: one of 1, 2"],
    ),
    "labels -1 and 1": (f"{HEAD}1,-1,a\n0,1,b\n", ["preds.csv:2", "likely --favourable-label 1"]),
    "labels 0.2 and 0.7": (f"{HEAD}1,0.2,a\n0,0.7,b\n", ["0.2", "labels must be 0 or 1"]),
    "labels in words": (
        f"{HEAD}1,Yes,a\n0,No,b\n",
        ['"No" in 1 row, "Yes" in 1 row', "likely --favourable Yes"],
    ),
    "label of three values": (f"{HEAD}1,0,a\n0,2,b\n0,1,b\n", ["preds.csv:3", "0 or 1"]),
    "missing label": (f"{HEAD}1,0,a\n0,,b\n1,,b\n", ["preds.csv:3", "missing in 2 rows"]),
    "label NA": (f"{HEAD}1,0,a\n0,NA,b\n", ['"NA"', "preds.csv:3"]),
    "missing score": (f"{HEAD}1,0,a\n ,1,b\n", ["preds.csv:3", "missing in 1 row"]),
    "missing score with threshold": (f"{HEAD}1,0,a\n,1,b\n", ["preds.csv:3", "missing in 1 row"], HALF),
    "missing score with top-k": (f"{HEAD}1,0,a\n,1,b\n0,1,b\n", ["preds.csv:3", "missing in 1 row"], TOP),
    "infinite score": (f"{HEAD}inf,0,a\n0,1,b\n", ["preds.csv:2", "not a finite number"], HALF),
    "score too large": (f"{HEAD}0,0,a\n-1e308,1,b\n", ["preds.csv:3", "-1e308", "up to 1e100"], HALF),
    "score nan": (f"{HEAD}0,0,a\nnan,1,b\n", ["preds.csv:3", "not a finite number"], HALF),
    "score nan, top-k": (f"{HEAD}0,0,a\nNaN,1,b\n", ["preds.csv:3"], TOP),
    "score beyond doubles": (f"{HEAD}0,0,a\n1e999,1,b\n", ["preds.csv:3"], HALF),
    "score is text with threshold": (f"{HEAD}0,0,a\nx,1,b\n", ["preds.csv:3", '"x"'], HALF),
    "top 5 of 4": (GOOD, ["5 of 4 rows", "--top-k"], AuditConfig(top_k=5)),
    "negative weight": ("score,race,w\n1,a,1\n0,b,-2\n", ["preds.csv:3", "-2", '"w"'], WEIGHED),
    "missing weight": ("score,race,w\n1,a,1\n0,b,\n", ["preds.csv:3", '"w"'], WEIGHED),
    "weight in words": ("score,race,w\n1,a,one\n0,b,1\n", ["preds.csv:2", '"one"'], WEIGHED),
    "infinite weight": ("score,race,w\n1,a,inf\n0,b,1\n", ["preds.csv:2"], WEIGHED),
    "separated by blanks": ("score race\n1 a\n", ['only "score race"', "commas"]),
    "some without a model": ("score,race,model_id\n1,a,\n0,b,2\n", ['"(missing)", "2"']),
    "several models": ("score,race,model_id\n1,a,1\n0,b,2\n", ["several values", "--model-column model_id"]),
    "too many groups": (
        HEAD + "".join(f"1,0,g{i % 1500}\n" for i in range(6000)),
        ["no attribute", "it has many different values: race", "--attribute"],
    ),
    "too many groups by name": (
        HEAD + "".join(f"1,0,g{i}\n" for i in range(1001)),
        ["1001 different", "--bins race=4"],
        AuditConfig(attribute=("race",)),
    ),
    "too many groups below the first rows": (
        HEAD + "1,0,a\n" * 20_000 + "".join(f"1,0,g{i % 3000}\n" for i in range(30_000)),
        ["race", "--attribute"],
    ),
    "too many intersections": (
        "score,a,b\n" + "".join(f"1,x{i % 40},y{i % 41}\n" for i in range(1640)),
        ["a × b", "1640", "intersect fewer"],
        AuditConfig(intersect=(("a", "b"),)),
    ),
    "endless first line": (b"a" * 300_000, ["first line"]),
    "only quantities": ("score,age\n" + "".join(f"1,{i}\n" for i in range(30)), ["--bins age=4"]),
    "only names": ("score,who\n" + "".join(f"1,x{i}\n" for i in range(30)), ["no attribute"]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, tmp_path):
    content, words, *spec = REFUSED[what]
    message = refusal(tmp_path, content, *spec)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ('{"score": 1, "race": "a"}\n{"score": 2\n', "preds.ndjson:2"),
        ('{"score": 1, "race": "a"}\n[1]\n', "preds.ndjson:2"),
        ("{}\n{}\n", "no columns"),
        ('{"score": 1, "race": "a"}\n\n{"score": 2, "race": "b"}\n', "preds.ndjson:3"),
        ('{"score": 1, "Score": 0, "race": "a"}\n', "capitals"),
        ('{"score": 1, "race": "a"}\n' * 30_000 + "{oops\n", "preds.ndjson"),
    ],
)
def test_ndjson_refused(lines, word, tmp_path):
    assert word in refusal(tmp_path, lines, name="preds.ndjson")


def test_row_of_parquet(tmp_path):
    path = tmp_path / "preds.parquet"
    with duckdb.connect() as engine:
        engine.sql("SELECT * FROM (VALUES (1, 'a'), (0, 'b'), (7, 'c')) t(score, race)").write_parquet(
            str(path)
        )
    with pytest.raises(UserError, match=r"preds\.parquet:row 3"):
        read_tally(str(path), AuditConfig())


def test_no_parquet_in_spite_of_its_name(tmp_path):
    assert "not a Parquet file" in refusal(tmp_path, GOOD, name="preds.parquet")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_tally(str(tmp_path / "none.csv"), AuditConfig())
    with pytest.raises(UserError, match="folder"):
        read_tally(str(tmp_path), AuditConfig())
    with pytest.raises(UserError, match="no such file"):
        read_tally("a\0b", AuditConfig())


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path):
    path = tmp_path / "preds.csv"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(UserError, match="Permission denied"):
        read_tally(str(path), AuditConfig())


# Odd, yet read: the same four rows.
READ = {
    "gzip by another name": gzip.compress(GOOD.encode()),
    "byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "CRLF": GOOD.replace("\n", "\r\n").encode(),
    "CR": GOOD.replace("\n", "\r").encode(),
    "reserved columns": b"as_of_date,rank_abs,ID,score,label_value,race\nx,1,1,1,0,a\n"
    b"x,2,2,0,1,b\ny,3,3,1,1,a\nz,4,4,0,0,b\n",
    "semicolons": GOOD.replace(",", ";").encode(),
    "tabs": GOOD.replace(",", "\t").encode(),
    "bars": GOOD.replace(",", "|").encode(),
    "quotes": b'"score","label_value","race"\n"1","0","a"\n"0","1","b"\n"1","1","a"\n"0","0","b"\n',
    "blanks": GOOD.replace(",", " , ").replace("b\n", "b \n").encode(),
    "blank lines": GOOD.replace("\n", "\n\n").encode(),
    "no last line end": GOOD.strip().encode(),
    "floats": GOOD.replace("0", "0.0").replace("1", "1.0").encode(),
    "booleans": GOOD.replace("1", "True").replace("0", "false").encode(),
    "column without a name": b",score,label_value,race\n0,1,0,a\n1,0,1,b\n2,1,1,a\n3,0,0,b\n",
    "ndjson by content": b'{"score":1,"label_value":0,"race":"a"}\n{"score":0,"label_value":1,"race":"b"}\n'
    b'{"score":true,"label_value":"1","race":"a"}\n{"score":0.0,"label_value":false,"race":"b"}\n',
}


@pytest.mark.parametrize("what", READ)
def test_read(what, tmp_path):
    tally = tally_of(tmp_path, READ[what])
    (found,) = tally.slices
    assert found.counts.groups == ("a", "b")
    assert found.counts.n.tolist() == [[[0, 1], [0, 1]], [[1, 0], [1, 0]]]
    said = {"semicolons", "tabs", "bars", "blanks", "column without a name"}
    assert bool(tally.notes) == (what in said)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (f"{HEAD}1,0,\n0,1,b\n", "race: 1 row without a value; group (missing)"),
        (f"{HEAD}1,0,Asian \n0,1,Asian\n1,1,b\n", 'merged "Asian"'),
        (f"{HEAD}1,0,NA\n0,1,b\n", '"NA" (1 row) is a group of its own'),
        (f"{HEAD}1,0,None\n0,1,null\n", '"null" (1 row)'),
        (f"{HEAD}1,0,?\n0,1,b\n", '"?" (1 row)'),
        ("score,race\n1,a\n0,b\n", "No label column"),
        ("id,score,race\n1,1,a\n1,0,b\n", "Rows whose id an earlier row has: 1;"),
        ("entity_id,score,race\n1,1,a\n1,0,b\n 1,0,b\n", "Rows whose entity_id an earlier row has: 2;"),
        (
            "score,race,age\n" + "".join(f"1,a,{i}\n" for i in range(21)),
            "age, or cut it: --bins age=4).",
        ),
        (
            "score,race,who\n" + "".join(f"1,a,x{i}\n" for i in range(21)),
            "in most rows: who",
        ),
    ],
)
def test_notes(content, note, tmp_path):
    assert note in "\n".join(tally_of(tmp_path, content).notes)


CELLS = st.sampled_from(
    ["0", "1", "0.5", "", " ", "a", "b", "NA", "nan", "é", '"', '""', "x\ny", ";", "\t", "\0", "-1"]
)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=6)
SPECS = st.sampled_from(
    [AuditConfig(), HALF, TOP, AuditConfig(bins={"race": 2}), AuditConfig(weight="label_value", label="race")]
)
QUICK = law(60, suppress_health_check=list(HealthCheck))


@QUICK
@given(ROWS, st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), SPECS)
@example([["1", "0", "a"], ["0", "1", "x\ny"]], ",", "\n", True, AuditConfig())
def test_fuzz_cells(rows, separator, end, header, spec):
    table = [["score", "label_value", "race"], *rows] if header else rows
    survives(end.join(separator.join(row) for row in table).encode(), spec)


@QUICK
@given(st.binary(max_size=200), st.booleans(), SPECS)
def test_fuzz_bytes(content, header, spec):
    survives(HEAD.encode() * header + content, spec)


@pytest.mark.gate
@QUICK
@given(st.text(max_size=100), st.booleans(), SPECS)
def test_fuzz_text(content, header, spec):
    survives((HEAD * header + content).encode("utf-8", "replace"), spec)


def survives(content, spec):
    try:
        assert isinstance(read_tally("-", spec, stdin=io.BytesIO(content)), Tally)
    except UserError as error:
        assert all(problem.what and problem.fix for problem in error.problems)  # noqa: PT017


@pytest.mark.parametrize("weight", ["1e-200", "1e-320", "1e101"])
def test_weights_whose_squares_are_lost_are_refused(say, tmp_path, weight):
    """Once warnings of numpy, and the weights not heeded: their squares were 0."""
    path = tmp_path / "w.csv"
    path.write_text("score,sex,weight\n" + f"1,f,{weight}\n0,m,1\n0,f,0\n" * 30)
    said = say("audit", path, "--weight", "weight")
    assert said.code == 2
    assert f'"weight" has "{weight}", not a weight, in 30 rows' in said.err
    assert "from 1e-100 to 1e100" in said.err


def test_weights_are_worth_their_proportions(tmp_path):
    """Whatever their unit, down to the lightest."""
    found = []
    for unit in (1.0, 1e-99, 1e97):
        path = tmp_path / "w.csv"
        rows = [f"{i % 3 % 2},{'fm'[i % 5 % 2]},{(1 + i % 4) * unit!r}" for i in range(200)]
        path.write_text("score,sex,weight\n" + "\n".join(rows) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = audit(path, weight="weight").report
        row = next(row for row in report.disparities if row.metric == "selection-rate" and row.deciding)
        found.append((row.ratio.low, row.ratio.high, row.p, row.verdict))
    for other in found[1:]:
        assert other == pytest.approx(found[0])


PAGE = "x" * 6000
LONG = [
    ({"score": [PAGE, *"1" * 40]}, {}),
    ({"score": [f"no{PAGE}", *["yes"] * 40]}, {}),
    ({"label": [f"bad{PAGE}", *[f"good{PAGE}"] * 40]}, {}),
    ({"sex": [PAGE, *"f" * 40]}, {"ref": {"sex": "g" + PAGE}}),
    ({"sex": [PAGE, PAGE.upper(), *"f" * 39]}, {}),
    ({"sex": [PAGE, *"f" * 40]}, {"exclude": "y"}),
    ({"sex": [PAGE, *"f" * 40]}, {"keep": {"sex": [PAGE[:-1]]}}),
    ({"sex": [PAGE, *"f" * 40]}, {"recode": {"sex": {"m": [PAGE[:-1]]}}}),
    ({PAGE: [0] * 41}, {"score": "y"}),
    ({PAGE: ["a"] * 41}, {"bins": {PAGE: 2}}),
]


@pytest.mark.parametrize("case", range(len(LONG)))
def test_a_cell_of_pages_is_no_message_of_pages(case, tmp_path):
    columns, options = LONG[case]
    frame = pd.DataFrame({"score": [0, 1] * 20 + [1], "sex": ["f"] * 20 + ["m"] * 21, **columns})
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError) as caught:
        audit(tmp_path / "a.csv", **{"attribute": "sex", **options})
    assert max(map(len, str(caught.value).splitlines())) < 2500
