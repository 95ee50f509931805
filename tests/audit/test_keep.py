"""Rows that are kept by a value: as if the file had no others, with a note on whom that leaves out."""

import json
import random
import shlex
from itertools import pairwise

import pandas as pd
import pytest
import yaml

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.cli.app import run


def applications(n=300):
    rng = random.Random(7)  # noqa: S311 - people, not secrets
    rows = []
    for _ in range(n):
        sex = rng.choice(["f", "m"])
        status = rng.choice(["hired", "refused", "withdrawn"])
        rows.append(
            [status, sex, rng.randint(15, 70), "" if status == "withdrawn" else int(status == "hired")]
        )
    return pd.DataFrame(rows, columns=["status", "sex", "age", "score"])


FRAME = applications()
DECIDED = FRAME[FRAME.status != "withdrawn"]


def counted(result):
    document = json.loads(result.to_json())
    return document["rows"], document["groups"], document["disparities"]


def test_rows_are_kept_by_values_and_by_ranges(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, index=False)
    expected = DECIDED[DECIDED.age >= 18]
    result = fb.audit(path, attribute="sex", keep={"status": ["hired", "refused"], "age": {"low": 18}})
    assert counted(result) == counted(fb.audit(expected, attribute="sex"))
    n_young = len(DECIDED) - len(expected)
    notes = " ".join(result.report.notes)
    assert f"Left out: {len(FRAME) - len(DECIDED)} rows whose status is not hired or refused." in notes
    assert f"Left out: {n_young} rows of which age>=18 is not true." in notes
    n_women = sum(FRAME.sex == "f")
    assert f"f {n_women - sum(expected.sex == 'f')} of {n_women}" in notes
    again = fb.audit(FRAME, attribute="sex", keep={"status": "hired,refused", "age": ">=18"})
    assert counted(again) == counted(result)


def test_a_file_of_options_and_the_command_line_keep_the_same(tmp_path, capsys):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, index=False)
    config = tmp_path / "audit.yaml"
    config.write_text(yaml.safe_dump({"attribute": "sex", "keep": {"status": ["hired", "refused"]}}))
    documents = []
    for options in (["--config", str(config)], ["-a", "sex", "--keep", "status=hired,refused"]):
        assert run(["audit", str(path), *options, "--format", "json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert documents[0]["rows"] == len(DECIDED)


def test_what_stops_an_audit_is_looked_for_among_the_rows_that_are_kept(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.assign(score=["?", *FRAME.score[1:]], status=["withdrawn", *FRAME.status[1:]]).to_csv(
        path, index=False
    )
    fb.audit(path, attribute="sex", keep="status=hired,refused")
    n_lines = len(FRAME) + 2
    with path.open("a") as file:
        file.write("hired,f,30,\n")
    with pytest.raises(UserError, match=rf"a[.]csv:{n_lines}: .* missing in 1 row"):
        fb.audit(path, attribute="sex", keep="status=hired,refused")


def test_a_number_is_kept_however_it_is_written(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.assign(round=[f"{1 + i % 3}.0" for i in range(len(FRAME))], score=1 - (FRAME.age > 40)).to_csv(
        path, index=False
    )
    assert fb.audit(path, attribute="sex", keep="round=1,2").report.rows == 200


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ("status=hird", 'no status is "hird"'),
        ("statu=hired", 'no column "statu"'),
        ("age>=99", "no row is kept"),
        ("status", "not NAME=VALUE"),
        ({"status": []}, "names no values"),
    ],
)
def test_what_cannot_be_kept_is_said(keep, words):
    with pytest.raises(UserError, match=words):
        fb.audit(FRAME, attribute="sex", keep=keep)


def test_looking_at_a_file_counts_the_rows_that_are_kept():
    looked = fb.look(FRAME, keep={"status": ["hired", "refused"]})
    assert not [remark for remark in looked.remarks if remark.kind == "missing"]
    assert "keep" in looked.options()


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("status=(missing)", lambda frame: frame.status == ""),
        ("status=hired,(missing)", lambda frame: frame.status.isin(["hired", ""])),
    ],
)
def test_rows_without_a_value_are_kept_by_that_name(keep, kept):
    frame = FRAME.assign(score=1 - (FRAME.age > 40), status=FRAME.status.where(FRAME.age % 3 > 0, ""))
    assert counted(fb.audit(frame, attribute="sex", keep=keep)) == counted(
        fb.audit(frame[kept(frame)], attribute="sex")
    )


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"keep": "age=20-60"}, lambda frame: frame.age.between(20, 60)),
        ({"keep": "status!=withdrawn"}, lambda frame: frame.status != "withdrawn"),
        ({"exclude": "status=withdrawn"}, lambda frame: frame.status != "withdrawn"),
        ({"score": "grade", "threshold": 2}, lambda frame: frame.status != "withdrawn"),
    ],
)
def test_the_line_that_keeps_other_rows_works_when_it_is_pasted(tmp_path, capsys, options, kept):
    path = tmp_path / "a.csv"
    grade = (FRAME.age % 4).astype(str).where(FRAME.status != "withdrawn", "not graded")
    frame = FRAME.assign(score=1 - (FRAME.age > 40), grade=grade)
    frame.to_csv(path, index=False)
    typed = [text for key, value in options.items() for text in (f"--{key}", str(value))]
    assert run(["audit", str(path), "-a", "sex", *typed]) == 2
    words = shlex.split(capsys.readouterr().err.partition("fix: ")[2])
    flags = [value for flag, value in pairwise(words) if flag == "--keep"]
    remaining = {key: value for key, value in options.items() if key not in ("keep", "exclude")}
    audited = fb.audit(path, attribute="sex", keep=flags, **remaining)
    expected = frame[kept(frame)].assign(grade=lambda rows: pd.to_numeric(rows.grade, errors="coerce"))
    assert counted(audited) == counted(fb.audit(expected, attribute="sex", **remaining))
