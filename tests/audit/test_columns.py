"""Which columns an audit takes, and what it says of the others."""

import json
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pytest
from audit_counts import read, read_tally

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.scan import open as opening
from fairbench_cli.audit.scan import roles, scan, source
from fairbench_cli.base.errors import UserError


def audited(tally):
    return [part.attribute for part in tally.slices]


def table(rows, **columns):
    """Write a CSV of scores, races and further columns, each a function of the row's number."""
    head = ",".join(["score", "race", *columns])
    lines = (
        ",".join([str(i % 2), "ab"[i % 3 == 0], *(of(i) for of in columns.values())]) for i in range(rows)
    )
    return head + "\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "of", "note"),
    [
        ("day", lambda i: f"2024-01-0{1 + i % 4}", "it holds dates"),
        ("day", lambda i: f"0{1 + i % 4}/01/2024", "it holds dates"),
        ("day", lambda i: f"2024-01-0{1 + i % 4}T10:00:00Z", "it holds dates"),
        ("day", lambda i: f"{1 + i % 4} Jan 2024" if i else "", "it holds dates"),
        ("day", lambda i: f"{9 + i % 4}:30", "it holds dates"),
        ("case_id", lambda i: f"{i % 25}", "it looks like an identifier"),
        ("CASE_ID", lambda i: f"x{i % 25}", "it looks like an identifier"),
        ("uuid", lambda i: f"x{i % 25}", "it looks like an identifier"),
        ("town", lambda i: f"t{i % 101}", "it has many different values"),
        ("who", lambda i: f"t{i}", "it has a value of its own in most rows"),
        ("score_b", lambda i: str(i % 3 % 2), "it is called like a score"),
    ],
)
def test_left_out_unless_named(name, of, note):
    text = table(210, **{name: of})
    tally = read(text)
    assert audited(tally) == ["race"]
    assert f"Not audited, as {note}: {name} (unless named: --attribute {name})." in tally.notes
    assert audited(read(text, attributes=(name,))) == [name]


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("age", lambda i: ["18-25", "26-45", "46+"][i % 3]),
        ("years", lambda i: ["1990-1995", "1996-2000"][i % 2]),
        ("race_id", lambda i: str(i % 4)),
        ("flag", lambda i: str(i % 2)),
        ("mixed", lambda i: ["2024-01-05", "never"][i % 2]),
    ],
)
def test_audited_all_the_same(name, of):
    assert audited(read(table(30, **{name: of}))) == ["race", name]


def test_of_a_raw_table_the_likely_ones():
    columns = dict.fromkeys(("education", "sex", "job", "Âge"), lambda i: "ab"[i % 2])
    tally = read(table(30, **columns))
    assert audited(tally) == ["race", "sex", "Âge"]
    assert tally.notes[-2:] == (
        "Audited of 5 columns of groups: race, sex, Âge.",
        "Not audited, as they are not called like protected attributes: education, job (unless named: "
        "--attribute education).",
    )
    assert audited(read(table(30, **columns), references={"job": "a"})) == ["race", "sex", "job", "Âge"]
    assert audited(read(table(30, **columns), preset="aequitas")) == ["race", *columns]
    assert audited(read(table(30, education=columns["sex"]))) == ["race", "education"]  # made for an audit
    raw = pd.DataFrame({"score": [1, 0] * 20, "age": range(40), "a": "x", "b": "y", "c": "z"})
    with pytest.raises(UserError) as caught:
        read_tally(raw, AuditConfig())
    assert str(caught.value) == (
        "data frame: error: none of 3 columns of groups is called like a protected attribute\n"
        "  fix: name those to audit, --attribute a; there are a, b, c, or cut a number: --bins age=25,45,65"
    )


def test_one_note_for_all_of_a_kind():
    days = {f"day{i}": (lambda _: "2024-01-05") for i in range(12)}
    (note,) = (note for note in read(table(30, **days)).notes if "dates" in note)
    listed = ", ".join(list(days)[:10])
    assert note == f"Not audited, as they hold dates: {listed} and 2 more (unless named: --attribute day0)."


def test_too_many_values_below_the_first_rows_are_left_out(monkeypatch):
    monkeypatch.setattr(source, "SAMPLE_CELLS", 0)
    text = table(4000, town=lambda i: f"t{i}" if i > 1500 else "t")
    tally = read(text)
    assert audited(tally) == ["race"]
    assert any("different values: town" in note for note in tally.notes)
    with pytest.raises(UserError, match=r"town has .* different values"):
        read(text, attributes=("town",))


def test_words_below_the_first_rows_in_many_numeric_columns(monkeypatch):
    monkeypatch.setattr(source, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(roles, "MOST_CHECKED", 0)
    monkeypatch.setattr(opening, "MOST_CHECKED", 0)
    monkeypatch.setattr(scan, "MOST_CHECKED", 0)
    tally = read(table(1500, code=lambda i: "other" if i > 1400 else str(i % 30), age=lambda i: str(i % 50)))
    assert audited(tally) == ["race", "code"]


def test_bytes_that_are_no_text(tmp_path):
    path = str(tmp_path / "p.parquet")
    with duckdb.connect() as engine:
        engine.sql(
            r"SELECT i % 2 AS score, ['f', 'm'][1 + i % 2]::BLOB AS sex, "
            r"['\xFF\x00'::BLOB, '\x80'::BLOB][1 + i % 2] AS photo FROM range(20) t(i)"
        ).write_parquet(path)
    tally = read_tally(path, AuditConfig())
    assert audited(tally) == ["sex"]
    assert tally.slices[0].counts.groups == ("f", "m")
    assert any("as it holds bytes that are no text: photo" in note for note in tally.notes)
    named = read_tally(path, AuditConfig(attributes=("photo",)))
    assert named.slices[0].counts.groups == (r"\x80", r"\xFF\x00")


def test_keys_of_late_lines(tmp_path):
    path = tmp_path / "p.ndjson"
    early = json.dumps({"score": 1, "race": "a"}) + "\n"
    late = json.dumps({"score": 0, "race": "b", "sex": "f"}) + "\n"
    path.write_text(early * source.SAMPLE + late)
    tally = read_tally(str(path), AuditConfig())
    assert audited(tally) == ["race", "sex"]
    assert tally.slices[1].rows.tolist() == [1, source.SAMPLE]


def test_an_intersection_in_another_order_counts_once():
    config = read_config({"intersect": [["race", "sex"], ["sex", "race"], ["age", "race"]]})
    assert config.intersections == (("race", "sex"), ("age", "race"))


def test_columns_of_one_name_stop_only_who_names_them():
    """ProPublica's COMPAS file has decile_score and priors_count twice."""
    text = "points,score,race,points\n3,1,a,4\n2,0,b,1\n1,1,a,1\n1,0,b,7\n"
    tally = read(text)
    assert audited(tally) == ["race"]
    assert 'Left out, as several columns have one name: "points".' in tally.notes
    alone = read("score,race\n1,a\n0,b\n1,a\n0,b\n")
    assert tally.slices[0].counts.n.tolist() == alone.slices[0].counts.n.tolist()
    with pytest.raises(UserError, match='column "points" appears twice'):
        read(text, attributes=("points",))


@pytest.mark.parametrize(("columns", "likely"), [("approved", True), ("approved,decision", False)])
def test_the_one_likely_column_of_scores_is_named(columns, likely):
    with pytest.raises(UserError) as caught:
        read(f"{columns},race\n" + "1,0,a\n"[2 * likely :] * 3)
    assert ("likely --score approved" in str(caught.value)) == likely


@pytest.mark.parametrize("names", ["weekly_hours,bonus,base_pay", "days,total", "bonus,salary"])
def test_pay_is_named_before_a_bonus_or_hours(names):
    with pytest.raises(UserError) as caught:
        read(f"{names},race\n" + "40,3,9,a\n"[-len(names.split(",")) * 2 - 2 :] * 3)
    assert f"likely --score {names.split(',')[-1]};" in str(caught.value)


def test_columns_of_one_name_that_hold_the_same_are_read_once(tmp_path):
    """ProPublica's COMPAS file has decile_score and priors_count twice, each with the same numbers."""
    text = "group,score,race,group,n,n\n3,1,a,3,1,2\n2,0,b, 2 ,1,1\n,1,a,,1,1\n1,0,b,1,1,1\n"
    tally = read(text, attributes=("group",))
    assert audited(tally) == ["group"]
    assert 'Read once, as the columns of that name hold the same: "group".' in tally.notes
    assert 'Left out, as several columns have one name: "n".' in tally.notes
    once = read("group,score,race\n3,1,a\n2,0,b\n,1,a\n1,0,b\n", attributes=("group",))
    assert tally.slices[0].counts.n.tolist() == once.slices[0].counts.n.tolist()
    with pytest.raises(UserError, match='column "group" appears twice'):
        read(text.replace("3,1,a,3", "3,1,a,4"), attributes=("group",))
    thrice = "group,score,group,race,group\n" + "1,0,1,a,1\n0,1,0,b,0\n" * 3
    assert audited(read(thrice, attributes=("group",))) == ["group"]
    with pytest.raises(UserError, match="appears twice"):
        read(f"{thrice}1,0,1,a,0\n", attributes=("group",))


def test_rows_of_one_person(monkeypatch):
    text = "id,m,score,race\n1,x,1,a\n1,y,0,a\n2,x,1,b\n2,y,1,b\n"
    said = "Rows whose id an earlier row has: 2; all are counted; if they are of one person, give "
    said += "--cluster id; if of several models, --model-column."
    assert said in read(text, attributes=("race",)).notes
    assert not any("Rows whose" in note for note in read(text, model_column="m").notes)
    monkeypatch.setattr(opening, "MOST_IDENTIFIERS", 2)
    first = "Among the first 4 rows those whose id an earlier row has: 2"
    assert any(note.startswith(first) for note in read(text, attributes=("race",)).notes)
    frame = pd.DataFrame({"id": [1, 1, 2, 2], "score": [1, 0, 1, 1], "race": list("aabb")})
    assert any("some 2;" in note for note in read_tally(frame, AuditConfig()).notes)
    assert not any("earlier" in note for note in read_tally(frame.assign(id=range(4)), AuditConfig()).notes)


# -- what explains -----------------------------------------------------------------------------------


# -- many columns ------------------------------------------------------------------------------------


def test_many_attributes_are_counted_as_few(monkeypatch):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"race{i}": rng.choice(list("abcdefgh"[: 2 + i % 7]), 500) for i in range(12)})
    frame = frame.assign(score=rng.integers(0, 2, 500), label=rng.integers(0, 2, 500))
    crossed = (("race1", "race11"), ("race3", "race4", "race5"))
    monkeypatch.setattr(source, "TABLES", 4)  # several scans
    tally = read_tally(frame, AuditConfig(intersections=crossed))
    assert len(tally.slices) == 14
    for part in tally.slices:
        names = part.attribute.split(" × ")
        keys = frame[names].agg(" × ".join, axis=1)
        sizes = Counter(zip(keys, frame.label, frame.score, strict=True))
        for group, n in zip(part.counts.groups, part.counts.n, strict=True):
            assert n.tolist() == [[sizes[group, y, d] for d in (0, 1)] for y in (0, 1)]
    monkeypatch.setattr(scan, "MOST_FOUND", 200)  # the sets turn out too large: each attribute alone
    again = read_tally(frame[["race0", "race1", "race2", "score", "label"]], AuditConfig())
    for part, other in zip(again.slices, tally.slices, strict=False):
        assert part.counts.n.tolist() == other.counts.n.tolist()


def wide(columns, rows):
    """Write a CSV of groups race0, race1, …"""
    head = ",".join(["score", *(f"race{i}" for i in range(columns))])
    lines = (f"{i % 2}," + ",".join(str(i % (2 + j % 5)) for j in range(columns)) for i in range(rows))
    return head + "\n" + "\n".join(lines) + "\n"


def test_more_columns_than_a_few():
    assert len(read(wide(110, 60)).slices) == 110


@pytest.mark.nightly
def test_two_thousand_columns():
    assert len(read(wide(2000, 5000)).slices) == 2000


@pytest.mark.parametrize(
    ("most", "keys", "said"),
    [
        (10, {"attributes": ("a",), "intersections": (("a", "b"),)}, "a × b has about"),
        (1000, {"attributes": ("a",), "model_column": "b"}, "models, decisions and groups make over 100"),
    ],
)
def test_more_cells_than_are_fetched_are_refused(monkeypatch, most, keys, said):
    """Once an error of Python, where no attribute alone had too many groups."""
    monkeypatch.setattr(scan, "MOST_FOUND", 100)
    monkeypatch.setattr(scan, "MOST_GROUPS", most)
    text = "score,a,b\n" + "".join(f"{i % 2},a{i % 12},b{i % 13}\n" for i in range(400))
    with pytest.raises(UserError, match=said):
        read(text, **keys)
