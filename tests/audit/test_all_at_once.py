"""All that stops an audit of a messy file, in one message; files that are not UTF-8."""

import gzip
import json
import os
import random
import shlex
from pathlib import Path

import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError

HEADER = "Applicant ID;Gender;Ethnic Group;Years;Remark;Remark;Final Decision;Performance"
PROBLEMS = [
    'messy.csv:2: error: byte E9 in column "Remark", after "n", is not UTF-8',
    'messy.csv:1: error: no column "score"',
    'messy.csv:2: error: "Final Decision" has "',
    'error: Final Decision is "accepted" in ',
    'error: Gender: "Female", "female" differ in capitals only',
    '"Final Decision" is missing in 24 rows, first here',
    'error: Gender: "F" (',
]
AT_ONCE = (
    "fairbench audit messy.csv --encoding cp1252 --score 'Final Decision' --favourable Accepted "
    "--spellings merge --drop-missing --recode 'Gender: Female = F'"
)


def messy_rows(header: str = HEADER) -> str:
    """Return 600 applicants as somebody's spreadsheet has them."""
    rng = random.Random(3)  # noqa: S311
    lines = [header]
    for i in range(600):
        gender = rng.choice(["Female", "Female", "female ", "F", "Male", "Male"])
        group = rng.choice(["Asian", "Black", "White", " White"])
        decision = rng.choice(["Accepted", "Accepted ", "accepted", "Rejected", "Rejected", "Withdrawn"])
        if i % 25 == 7:
            decision = ""
        good = rng.choice(["Good", "good", "Bad"])
        years = f"{rng.randint(0, 12)},{rng.randint(0, 9)}"
        lines.append(f"A{i:05d};{gender};{group};{years};né;ok;{decision};{good}")
    return "\n".join(lines) + "\n"


def write(path: Path, text: str, encoding: str = "latin-1") -> None:
    path.write_bytes(text.encode(encoding))


def last_line(stderr: str) -> list[str]:
    """Return the arguments of the command line that a message ends with."""
    heading, line = stderr.splitlines()[-2:]
    assert heading == "all at once:"
    return shlex.split(line)[1:]


@pytest.mark.gate
def test_one_stop_says_everything_and_its_last_line_mends_it(say):
    write(Path("messy.csv"), messy_rows())
    said = say("audit", "messy.csv")
    assert said.code == 2
    for problem in PROBLEMS:
        assert problem in said.err
    assert said.err.count("error: ") == said.err.count("  fix: ") == len(PROBLEMS)
    assert last_line(said.err) == shlex.split(AT_ONCE)[1:]
    mended = say(*last_line(said.err), "--format", "json")
    assert mended.code == 0, mended.err
    report = json.loads(mended.out)
    assert report["rows"] == 576
    assert {row["group"] for row in report["groups"] if row["attribute"] == "Gender"} == {"Female", "Male"}
    assert "Read as cp1252." in report["notes"]


@pytest.mark.gate
def test_words_of_a_label_are_in_the_same_stop(say):
    write(Path("messy.csv"), messy_rows())
    said = say("audit", "messy.csv", "--label", "Performance")
    assert 'Performance is never "Accepted", but "' in said.err
    assert 'error: Performance is "good" in ' in said.err or 'error: Performance is "Good" in ' in said.err
    assert say(*last_line(said.err)).code == 0


@pytest.mark.gate
def test_a_column_that_comes_twice_is_gone_past(say):
    write(Path("messy.csv"), messy_rows(HEADER.replace("Remark;Remark", "Gender;Remark")))
    said = say("audit", "messy.csv")
    assert 'column "Gender" appears twice' in said.err
    assert "what options mend, at once:\n  fairbench audit messy.csv --encoding cp1252" in said.err


def test_what_cannot_be_guessed_is_left_open(say):
    text = "kind,sex\n" + "High,f\nhigh,m\nLow,F\nLow,m\n" * 10
    write(Path("messy.csv"), text)
    said = say("audit", "messy.csv")
    line = "  fairbench audit messy.csv --score COLUMN --spellings merge"
    assert said.err.endswith(f"all at once:\n{line}\n")
    said = say("audit", "messy.csv", "--score", "kind")
    assert '"kind" has "Low" in 20 rows, "High" in 10 rows, "high" in 10 rows, not 0 or 1' in said.err
    assert "--favourable VALUE: one of 'Low', 'High', 'high'" in said.err
    assert "--favourable VALUE --spellings merge" in said.err


@pytest.mark.gate
def test_python_spells_the_remedies_as_keywords(tmp_path):
    write(tmp_path / "messy.csv", messy_rows())
    with pytest.raises(UserError) as caught:
        fb.audit(tmp_path / "messy.csv", score="Final Decision")
    *_, last = str(caught.value).splitlines()
    assert last == (
        'all at once: encoding="cp1252", favourable="Accepted", spellings="merge", drop_missing=True, '
        'recode="Gender: Female = F"'
    )
    keywords = {"encoding": "cp1252", "favourable": "Accepted", "spellings": "merge", "drop_missing": True}
    result = fb.audit(
        tmp_path / "messy.csv", score="Final Decision", recode="Gender: Female = F", draws=0, **keywords
    )
    assert result.report.rows == 576


def test_a_frame_is_read_again_and_a_single_problem_stays_one():
    frame = pd.DataFrame({"score": ["yes", "no", "Yes", ""] * 10, "sex": ["f", "m", "F", "m"] * 10})
    with pytest.raises(UserError, match='all at once: favourable="Yes", spellings="merge", drop_missing'):
        fb.audit(frame)
    with pytest.raises(UserError) as caught:
        fb.audit(frame.assign(score=1, sex=["a", "b", "A", "b"] * 10))
    assert len(caught.value.problems) == 1
    assert caught.value.remedies == ()


# Encodings -------------------------------------------------------------------------------------------------

PLACES = "score,place\n" + "1,Orléans\n0,Orléans\n1,“Köln”\n0,“Köln”\n" * 10


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8-sig", "mac_roman"])
def test_a_file_of_another_encoding_has_the_numbers_of_utf8(tmp_path, encoding):
    write(tmp_path / "a.csv", PLACES, "utf-8")
    write(tmp_path / "b.csv", PLACES, encoding)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress((tmp_path / "b.csv").read_bytes()))
    groups = fb.audit(tmp_path / "a.csv", draws=0).to_pandas("groups")
    for name in ("b.csv", "c.csv.gz"):
        result = fb.audit(tmp_path / name, encoding=encoding, draws=0)
        pd.testing.assert_frame_equal(result.to_pandas("groups"), groups)


def test_lines_of_json_have_encodings_too(tmp_path):
    rows = [{"score": i % 2, "place": "Orléans" if i < 10 else "Köln"} for i in range(40)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write(tmp_path / "a.ndjson", text)
    with pytest.raises(UserError, match=r'a.ndjson:1: error: byte E9, after .*Orl", is not UTF-8') as caught:
        fb.audit(tmp_path / "a.ndjson")
    assert 'encoding="cp1252"' in str(caught.value)
    result = fb.audit(tmp_path / "a.ndjson", encoding="latin-1", draws=0)
    assert set(result.to_pandas("groups")["group"]) == {"(all)", "Orléans", "Köln"}


@pytest.mark.gate
@pytest.mark.parametrize(
    ("content", "keys", "words"),
    [
        (PLACES.encode("utf-8") + "1,Orléans\n".encode("latin-1"), {}, "letters above it are UTF-8"),
        (b"score,place\n1,a\n" * 40_000 + b"1,\xe9\n", {}, 'a.csv:80001: error: byte E9 in column "place"'),
        (b"sc\xf6re,place\n1,a\n", {}, 'a.csv:1: error: byte F6, after "sc", is not UTF-8'),
        (b"score,place\n1,a\n0,\x81\n", {"encoding": "cp1252"}, "a.csv:3: error: byte 81 is not cp1252"),
        (PLACES.encode("utf-8"), {"encoding": "utf-16"}, "is not utf-16"),
        (PLACES.encode("utf-16"), {}, 'name its encoding, encoding="utf-16"'),
        (PLACES.encode("utf-8"), {"encoding": "utf-99"}, 'no encoding is called "utf-99"'),
        (b"PAR1 and more", {"encoding": "latin-1"}, "encoding has no effect: this is a Parquet file"),
    ],
)
def test_bytes_that_are_no_text_are_named(tmp_path, content, keys, words):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(UserError) as caught:
        fb.audit(tmp_path / "a.csv", **keys)
    assert words in str(caught.value)


def test_a_frame_has_no_encoding():
    with pytest.raises(UserError, match="a data frame has no encoding"):
        fb.audit(pd.DataFrame({"score": [0, 1], "sex": ["f", "m"]}), encoding="latin-1")


def test_a_baseline_from_a_pipe_is_not_read_again(say):
    """A pipe is empty the second time, which is no mistake of the user's."""
    Path("new.csv").write_text("id,sex,score\n1,F,1\n2,female,0\n3,Female,1\n4,M,0\n")
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write("id,sex,score\n1,F,1\n2,female,0\n3,Female,1\n4,M,1\n")
    said = say("audit", "new.csv", "--id", "id", "--against", f"/dev/fd/{reading}", "--score", "score")
    os.close(reading)
    assert said.code == 2
    assert "differ in capitals only" in said.err
    assert "the file is empty" not in said.err
