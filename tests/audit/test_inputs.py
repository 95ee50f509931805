"""What an audit can be given: edges and sides of numbers, SQLite files, spellings; what it says to CI."""

import json
import os
import sqlite3

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.scan import sqlite
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import Label

FAST = {"draws": 0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    ages = rng.integers(18, 80, 600)
    sure = (ages < 40) & (rng.random(600) < 0.9)
    columns = {"score": (~sure).astype(int), "label": rng.integers(0, 2, 600), "age": ages}
    return pd.DataFrame(columns | {"sex": rng.choice(["f", "m"], 600)})


def sizes(result, attribute="age"):
    """Return the groups of an attribute in the order of the report, with their rows."""
    groups = result.to_pandas("groups")
    own = groups[(groups.attribute == attribute) & (groups.metric == "selection-rate")]
    return dict(zip(own.group, own.rows.astype(int), strict=True))


def cut(ages, edges, labels, *, right=False):
    """Return what pandas counts between edges."""
    bins = [-np.inf, *edges, np.inf]
    return dict(pd.cut(ages, bins, right=right, labels=labels).value_counts().reindex(labels))


@pytest.mark.gate
def test_edges_are_groups_by_the_words_of_people(people):
    names = ["under 25", "25 to 44", "45 to 64", "65 and over"]
    expected = cut(people.age, [25, 45, 65], names)
    for given in ({"age": [25, 45, 65]}, "age=25,45,65", {"age": {"edges": [25, 45, 65]}}):
        found = sizes(audit(people, bins=given, attribute="age", **FAST))
        assert list(found.items()) == list(expected.items())  # from low to high
    names = ["25 and under", "26 to 45", "over 45"]
    right = audit(people, bins={"age": {"edges": [25, 45], "closed": "right"}}, **FAST)
    assert sizes(right) == cut(people.age, [25, 45], names, right=True)
    halves = people.assign(age=people.age + 0.5)
    names = ["under 25.5", "25.5 to under 45", "45 and over"]
    assert sizes(audit(halves, bins="age=25.5,45", **FAST)) == cut(halves.age, [25.5, 45], names)
    assert any(
        note.startswith("age: cut into under 25.5,")
        for note in audit(halves, bins="age=25.5,45", **FAST).report.notes
    )


@pytest.mark.gate
def test_a_side_is_an_attribute_of_two_groups_and_a_reference(people):
    two = cut(people.age, [40], ["under 40", "40 and over"])
    for given in ({"attribute": "age<40"}, {"attribute": "age >= 40"}, {"ref": "age<40"}, {"ref": "age>=40"}):
        result = audit(people, **given, **FAST)
        assert sizes(result) == two
        named = {"age<40": "under 40", "age>=40": "40 and over"}.get(given.get("ref"), "40 and over")
        assert {row.reference for row in result.report.disparities if row.attribute == "age"} == {named}
    crossed = audit(people, attribute="sex", intersect=["sex,age>40"], **FAST)
    assert {row.attribute for row in crossed.report.verdicts} == {"sex", "age", "sex × age"}
    oldest = audit(people, bins="age=25,65", ref="age>=65", **FAST)
    assert {row.reference for row in oldest.report.disparities if row.attribute == "age"} == {"65 and over"}
    again = audit(
        people,
        **{key: value for key, value in oldest.report.config.resolved().items() if key in ("bins", "ref")},
        **FAST,
    )
    assert again.to_json() == oldest.to_json()  # what audit.json says of it can be given


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"bins": "age=45,25"}, "edges rise", "age=25,45,65"),
        ({"bins": "age=x,y"}, "a number of bins or edges", "age=4, or age=25,45,65"),
        ({"bins": {"age": [True, 40]}}, "a number of bins or edges", "age=4, or age=25,45,65"),
        ({"bins": {"age": [10**400]}}, "a number of bins or edges", "age=4, or age=25,45,65"),
        ({"bins": {"age": {"edges": [1], "closed": "both"}}}, "a number of bins or edges", ""),
        ({"attribute": ["age<25", "age<40"]}, "age<40 cuts age, which is cut otherwise", "--bins age=25,40"),
        ({"bins": "age=4", "ref": "age<40"}, "age<40 cuts age, which is cut otherwise", "--bins age=40"),
        (
            {"bins": "age=25,45", "ref": "age<30"},
            "age<30 is no group of age, which has under 25",
            "age=under 25",
        ),
    ],
)
def test_edges_that_cannot_be(given, what, fix):
    with pytest.raises(UserError) as caught:
        read_config(given)
    assert what in str(caught.value)
    assert fix in str(caught.value)


def test_a_group_may_be_called_like_a_side():
    """As in what `fairbench data export` writes of a column with edges."""
    frame = pd.DataFrame({"score": [1, 0] * 40, "age": ["<25", ">=25"] * 40})
    result = audit(frame, ref="age=>=25", **FAST)
    assert {row.reference for row in result.report.disparities} == {">=25"}


def database(path, frame, *tables):
    with sqlite3.connect(path) as file:
        for table in tables:
            frame.to_sql(table, file, index=False)
    file.close()


def test_a_table_of_a_sqlite_file_is_read_as_its_csv(people, tmp_path, monkeypatch, say):
    exact = people.assign(score=np.random.default_rng(1).random(600), region=[None, "a", ""] * 200)
    database(tmp_path / "one.db", exact, "preds")
    exact.to_csv(tmp_path / "one.csv", index=False)
    monkeypatch.setattr(sqlite, "CELLS", 500)  # in several parts
    how = {"top_k": 100, "attribute": ["sex", "region"]} | FAST
    of_csv, *of_file = (
        audit(f"{before}{tmp_path}/one.{end}", **how)
        for before, end in (("", "csv"), ("", "db"), ("sqlite:///", "db"))
    )
    for found in of_file:
        pd.testing.assert_frame_equal(found.to_pandas("groups"), of_csv.to_pandas("groups"))
        assert found.report.rows == 600
    said = say("audit", f"sqlite:///{tmp_path}/one.db", "--table", "pred")
    two_lines(said, 'no table "pred"', 'did you mean "preds"?')


def test_which_table_is_meant(people, tmp_path, say):
    path = tmp_path / "two.db"
    database(path, people, "preds", "old preds")
    with sqlite3.connect(path) as file:
        file.execute("CREATE VIEW seen AS SELECT * FROM preds")
    file.close()
    two_lines(say("audit", str(path)), "there are 2 tables in it: preds, old preds\n", "--table preds")
    result = audit(path, table="old preds", **FAST)
    assert (result.report.rows, result.report.config.resolved()["table"]) == (600, "old preds")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE preds SET score = 'many' WHERE rowid = 7")
    file.close()
    with pytest.raises(UserError, match=r'two.db:row 7: error: "score" has "many", not 0 or 1, in 1 row'):
        audit(path, table="preds")
    with pytest.raises(UserError, match="it is no SQLite file"):
        audit(__file__, table="preds")
    with pytest.raises(
        UserError, match='it is no SQLite file and no workbook\n  fix: leave out "sqlite:///"'
    ):
        audit(f"sqlite:///{__file__}")
    with pytest.raises(UserError, match="a data frame has no tables"):
        audit(people, table="preds")
    with pytest.raises(UserError, match="databases other than SQLite files are not read"):
        audit("postgresql://me@host/base")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_with_a_log_in_a_folder_that_cannot_be_written_to(people, tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    with sqlite3.connect(folder / "wal.db") as file:
        file.execute("PRAGMA journal_mode=wal")
        people.to_sql("preds", file, index=False)
    file.close()
    folder.chmod(0o555)
    try:
        assert audit(folder / "wal.db", **FAST).report.rows == 600
    finally:
        folder.chmod(0o755)


def test_what_pandas_cuts_is_read(people):
    cut = people.assign(age=pd.cut(people.age, [0, 40, 200]))
    named = people.assign(age=cut.age.astype(str).replace("nan", ""))
    wanted = audit(named, attribute="age", **FAST).to_json()
    assert audit(cut, attribute="age", **FAST).to_json() == wanted


@pytest.mark.gate
def test_other_spellings(people, tmp_path, say):
    words = people.assign(score=people.score.map({1: "yes", 0: "no"}))
    words.to_csv(tmp_path / "words.csv", index=False)
    usual = audit(words, favourable="yes", attribute="sex", **FAST).to_json()
    assert audit(words, favorable="yes", attribute="sex", **FAST).to_json() == usual
    (tmp_path / "options.yaml").write_text("favorable: 'yes'\nattribute: sex\n")
    by_flag = say("audit", f"{tmp_path}/words.csv", "--favorable", "yes", "-a", "sex", "-f", "json").out
    by_file = say("audit", f"{tmp_path}/words.csv", "-c", f"{tmp_path}/options.yaml", "-f", "json").out
    assert by_flag == by_file
    assert Label.model_validate({"column": "score", "favorable": "yes"}).favourable == "yes"  # of a card
    by_metric = [
        audit(people, attribute="sex", **{key: "fpr"}, **FAST).to_json() for key in ("metric", "metrics")
    ]
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "metrics.yaml").write_text("metrics: fpr\n")
    for flags in (["--metrics", "fpr"], ["--set", "metrics=fpr"], ["-c", f"{tmp_path}/metrics.yaml"]):
        said = json.loads(say("audit", f"{tmp_path}/people.csv", *flags, "-a", "sex", "-f", "json").out)
        assert said["disparities"] == json.loads(by_metric[0])["disparities"]
    assert by_metric[0] == by_metric[1]
    assert say("plan", "quickstart", "--set", "metric=[accuracy]").code == 0
    (tmp_path / "options.yaml").write_text("favorable: 'yes'\nfavourable: 'yes'\n")
    two_lines(
        say("audit", f"{tmp_path}/words.csv", "-c", f"{tmp_path}/options.yaml"), 'unknown key "favorable"'
    )


CI = {
    "format": int,
    "verdict": str,
    "headline": str,
    "title": (str, type(None)),
    "source": str,
    "rows": int,
    "gate": dict,
    "exit_code": int,
    "comparisons": dict,
    "attributes": list,
    "failing": list,
}


def test_the_file_for_ci_agrees_with_the_whole(people, tmp_path, say):
    people.to_csv(tmp_path / "preds.csv", index=False)
    flags = ("--bins", "age=40", "-a", "sex", "-a", "age<40", "--draws", "0", "--title", "Hiring, 2026")
    done = say("audit", f"{tmp_path}/preds.csv", *flags[2:], "--fail", "-f", "ci", "-o", f"{tmp_path}/out")
    assert done.code == 1
    small = json.loads(done.out)
    assert small == json.loads((tmp_path / "out/ci.json").read_text())
    whole = json.loads((tmp_path / "out/audit.json").read_text())
    assert {key: isinstance(small[key], kind) for key, kind in CI.items()} == dict.fromkeys(small, True)
    deciding = [row for row in whole["disparities"] if row["deciding"]]
    for verdict, count in small["comparisons"].items():
        assert count == sum(row["verdict"] == verdict for row in deciding)
    failing = [row for row in deciding if row["verdict"] == "fail"]
    assert len(failing) == len(small["failing"]) > 0
    for row, short in zip(failing, small["failing"], strict=True):
        own = dict(row)
        for name in ("ratio", "difference"):
            own |= {name: row[name]["value"]} | {f"{name}_{end}": row[name][end] for end in ("low", "high")}
        assert short == {key: own[key] for key in short}
    for one in small["attributes"]:  # of what decides, as everything here
        own = {row["metric"] for row in small["failing"] if row["attribute"] == one["attribute"]}
        assert set(one["failing"]) == own
    assert (small["verdict"], small["exit_code"], small["gate"]) == ("fail", 1, whole["gate"])
    assert small["headline"] == whole["headline"]["sentence"]
    assert [row["verdict"] for row in small["attributes"]] == [row["verdict"] for row in whole["verdicts"]]
    assert "<title>Hiring, 2026: fails</title>" in (tmp_path / "out/audit.html").read_text()
    assert "ci.json" in done.err  # files that are written are named
    assert f"{tmp_path}/out/: disparities.csv, groups.csv, audit.csv, audit.json, ci.json" in done.err


def test_keys_that_nobody_gives_change_no_file():
    assert {"table", "title"}.isdisjoint(AuditConfig().resolved())
