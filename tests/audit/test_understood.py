"""What `fb.look` understands of tables, as a person would say it; an audit runs with what it proposes."""

import csv
import json
import os
import random
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import write_parquet
from messy_tables import MESSY, hiring, people

import fairbench_cli as fb
from fairbench_cli.audit.scan.columns_seen import find_same_values
from fairbench_cli.base.spelling_variants import find_abbreviations

DATA = os.environ.get("FAIRBENCH_DATA", "")
needs_files = pytest.mark.skipif(not DATA, reason="needs the official files: set FAIRBENCH_DATA")


def write(frame, folder, name="table.csv", **options):
    path = folder / name
    frame.to_csv(path, index=False, **options)
    return path


def roles(understood):
    return {column.name: column.role for column in understood.columns}


@pytest.mark.gate
@pytest.mark.parametrize("name", MESSY)
def test_an_audit_runs_with_what_is_proposed(name, tmp_path):
    path = write(MESSY[name], tmp_path)
    understood = fb.look(path)
    assert fb.audit(path, **understood.options(), draws=0).headline
    json.dumps(understood.to_plain())
    # Of a frame the same is understood.
    assert fb.look(MESSY[name]).options() == understood.options()


@pytest.mark.gate
@pytest.mark.parametrize("name", MESSY)
def test_what_stops_an_audit_has_a_remark_with_the_remedy(name, tmp_path):
    path = write(MESSY[name], tmp_path)
    understood = fb.look(path)
    try:
        fb.audit(path, draws=0)
    except fb.UserError:
        stops = [remark for remark in understood.remarks if remark.stops]
        assert stops
        assert all(any(remedy.proposed for remedy in remark.remedies) for remark in stops)
    else:
        assert not any(remark.stops for remark in understood.remarks)


@pytest.mark.gate
@pytest.mark.parametrize("name", MESSY)
def test_looking_again_with_what_is_proposed_leaves_nothing_that_stops(name):
    options = fb.look(MESSY[name]).options()
    again = fb.look(MESSY[name], **options)
    assert not [remark for remark in again.remarks if remark.stops]
    assert again.options() == options


@pytest.mark.gate
def test_the_columns_of_a_messy_file_are_what_a_person_says():
    understood = fb.look(hiring())
    assert roles(understood) == {
        "staff no": "unused",
        "gender": "attribute",
        "age": "attribute",
        "degree": "left out",
        "ethnic group": "attribute",
        "salary": "left out",
        "hired": "score",
    }
    why = {column.name: column.why for column in understood.columns}
    assert why["gender"] == "named like a protected attribute, 2 groups"
    assert why["hired"] == "two values, and it is called like a decision"
    assert why["degree"] == "it is not called like a protected attribute"
    kinds = {column.name: column.kind for column in understood.columns}
    assert kinds["staff no"] == "identifier-like"
    assert kinds["age"] == "whole numbers"
    (gender,) = (column for column in understood.columns if column.name == "gender")
    assert (gender.distinct, gender.missing, sum(value.rows for value in gender.values)) == (6, 0, 800)
    options = understood.options()
    assert {name: set(others) for name, others in options["recode"]["gender"].items()} in (
        {"Female": {"F", "f"}, "Male": {"M", "male"}},
        {"Female": {"F", "f"}, "male": {"M", "Male"}},
    )
    assert options["bins"] == {"age": [25, 45, 65]}
    assert options["drop_missing"] is True
    assert {remark.kind for remark in understood.remarks} == {
        *("score", "spellings", "favourable", "missing", "bins")
    }


def test_a_label_that_runs_against_the_score_is_a_remark():
    approved = [1, 1, 1, 0, 0, 0] * 50
    default = [0, 0, 0, 1, 1, 0] * 50
    table = pd.DataFrame({"sex": ["f", "m"] * 150, "approved": approved, "default": default})
    understood = fb.look(table)
    assert roles(understood) == {"sex": "attribute", "approved": "score", "default": "label"}
    (turned,) = (remark for remark in understood.remarks if remark.kind == "turned")
    (remedy,) = turned.remedies
    assert remedy.options == {"favourable_label": "0"}
    again = fb.look(table, **fb.merge_options(understood.options(), remedy.options))
    assert "turned" not in {remark.kind for remark in again.remarks}


def test_two_columns_of_one_name_are_left_out_with_a_remark(tmp_path):
    path = tmp_path / "doubled.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sex", "sex", "race", "score"])
        writer.writerows(["f", "m", race, score] for race in "ab" for score in (0, 1) for _ in range(50))
    understood = fb.look(path)
    assert understood.options() == {"attribute": ["race"]}
    assert fb.audit(path, **understood.options(), draws=0).verdict


def test_a_text_that_is_not_utf_8_is_read_in_its_likely_encoding(tmp_path):
    table = people(300, Geschlecht=["männlich", "weiblich"], Entscheidung=["ja", "nein"])
    path = write(table, tmp_path, encoding="cp1252")
    understood = fb.look(path)
    assert understood.options() == {"score": "Entscheidung", "favourable": "ja", "encoding": "cp1252"}
    assert understood.columns[0].values[0].value in ("männlich", "weiblich")


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(fb.UserError, match="no such file"):
        fb.look(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(fb.UserError, match="empty"):
        fb.look(tmp_path / "empty.csv")


def test_a_table_without_decisions_has_a_remark_and_no_proposal():
    table = pd.DataFrame({"a": range(100), "b": [i * 2.5 for i in range(100)]})
    understood = fb.look(table)
    (remark,) = (remark for remark in understood.remarks if remark.kind == "score")
    assert remark.stops
    assert [remedy.options for remedy in remark.remedies] == [{"score": "a"}, {"score": "b"}]
    assert not any(remedy.proposed for remedy in remark.remedies)


def test_several_models_in_one_column_are_audited_apart():
    table = pd.DataFrame(
        {"model_id": ["a", "b"] * 50, "sex": ["f", "f", "m", "m"] * 25, "score": [0, 1] * 50}
    )
    understood = fb.look(table)
    assert understood.options() == {"model_column": "model_id"}
    assert roles(understood)["model_id"] == "model"
    assert fb.audit(table, **understood.options(), draws=0).verdict


@pytest.mark.gate
def test_fewer_rows_of_a_wide_table_are_looked_at(tmp_path):
    columns = {f"c{i}": np.arange(500) % 7 for i in range(400)}
    path = write(pd.DataFrame({**columns, "sex": ["f", "m"] * 250, "score": [0, 1] * 250}), tmp_path)
    understood = fb.look(path)
    assert (understood.table.columns, len(understood.columns)) == (402, 200)
    assert understood.columns_with_role("attribute") == ["sex"]
    assert understood.columns_with_role("score") == ["score"]


@pytest.mark.gate
def test_choices_of_a_person_come_before_guesses():
    understood = fb.look(hiring(), score="salary", attribute=["degree"])
    assert roles(understood)["salary"] == "score"
    assert roles(understood)["degree"] == "attribute"
    assert roles(understood)["gender"] == "unused"
    assert understood.as_numbers
    kept = fb.look(hiring(), spellings={"gender": "keep"})
    assert "gender" not in kept.options()["recode"]


def test_options_are_laid_over_options():
    options = {"recode": {"sex": {"f": ["F"]}}, "exclude": "a", "score": "x"}
    more = {"recode": {"race": {"b": ["B"]}}, "exclude": ["b"], "score": None}
    assert fb.merge_options(options, more) == {
        "recode": {"sex": {"f": ["F"]}, "race": {"b": ["B"]}},
        "exclude": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["F", "Female", "Male"], [("F", "Female")]),
        (["Fem", "Female", "m", "Male"], [("Fem", "Female"), ("m", "Male")]),
        (["w", "weiblich", "m", "männlich"], [("w", "weiblich"), ("m", "männlich")]),
        (["M", "Male", "Married"], []),
        (["no", "not sure", "yes"], []),
        (["low", "lower", "lowest"], []),
        (["1", "10", "100"], []),
        (["Black", "Black or mixed"], []),
        (["Afr", "African", "a1", "b1", "c1", "d1", "e1"], []),
    ],
)
def test_short_forms(values, expected):
    assert find_abbreviations(values) == expected


def test_spellings_and_short_forms_of_one_value_are_counted_together():
    assert find_same_values({"y": 3, "Yes": 9, "yes": 8, "n": 2, "No": 7}) == {
        "yes": ["y", "Yes"],
        "No": ["n"],
    } or find_same_values({"y": 3, "Yes": 9, "yes": 8, "n": 2, "No": 7}) == {
        "Yes": ["y", "yes"],
        "No": ["n"],
    }


def test_yes_and_no_in_several_languages_are_two_values():
    values = {"Yes": 60, "no": 50, "ja": 9, "nee": 8, "No": 7}
    assert find_same_values(values) == {"Yes": ["ja"], "no": ["nee", "No"]}
    assert find_same_values({"oui": 9, "non": 8}) == {}
    assert find_same_values({"yes": 9, "ja": 8, "no": 7, "later": 1}) == {}


def test_what_was_decided_goes_before_a_score():
    """A file of applicants has a test result, and whether they were invited, in two languages."""
    rows = 300
    table = pd.DataFrame(
        {
            "gender": ["f", "m"] * (rows // 2),
            "test result": [40 + i % 37 for i in range(rows)],
            "invited?": [["Yes", "no", "ja", "nee", "No", "yes"][i % 7 % 6] for i in range(rows)],
            "remarks": [["", "", "called"][i % 3] for i in range(rows)],
        }
    )
    understood = fb.look(table)
    assert understood.columns_with_role("score") == ["invited?"]
    assert fb.audit(table, **understood.options(), draws=0).verdict


def test_a_good_value_that_is_named_stands_for_its_spellings():
    table = pd.DataFrame({"sex": ["f", "m"] * 120, "hired": ["Yes", "yes", "ja", "No", "no", "No"] * 40})
    unnamed = fb.look(table)
    named = fb.look(table, favourable=unnamed.options()["favourable"])
    assert named.options() == unnamed.options()
    other_spelling = fb.look(table, favourable="ja").options()
    assert "hired" not in other_spelling.get("recode", {})


@pytest.mark.gate
def test_remarks_that_are_shown_with_buttons_name_no_option(tmp_path):
    tables = [*MESSY.values(), pd.DataFrame({"A1 6 f": ["A2 7 m", "A1 5 f"] * 20})]
    for number, table in enumerate(tables):
        for remark in fb.look(write(table, tmp_path, f"{number}.csv")).to_plain()["remarks"]:
            assert not re.search(r"--\w|as_of|is called score", " ".join(remark["asked"].values())), remark
    assert remark["asked"]["what"] == "the whole table is one column"


def test_words_for_no_value_are_a_group_that_can_be_left_out():
    table = pd.DataFrame({"race": ["a", "b", "N/A", ""] * 60, "score": [0, 1, 1, 0, 1, 0] * 40})
    remarks = [remark for remark in fb.look(table).remarks if remark.kind == "missing"]
    assert [remark.remedies[1].options for remark in remarks] == [
        {"exclude": ["race=(missing)"]},
        {"exclude": ["race=N/A"]},
    ]
    options: dict[str, object] = {}
    for remark in remarks:
        options = fb.merge_options(options, remark.remedies[1].options)
    assert not [remark for remark in fb.look(table, **options).remarks if remark.kind == "missing"]
    assert {row.group for row in fb.audit(table, **options, draws=0).report.groups} == {"a", "b"}


@pytest.mark.gate
def test_a_large_file_is_not_read(tmp_path):
    path = tmp_path / "large.csv"
    block = "".join(f"{18 + i % 61},{'fm'[i % 2]},{i % 3 % 2}\n" for i in range(100_000))
    with path.open("w") as file:
        file.write("age,sex,score\n")
        for _ in range(20):
            file.write(block)
        file.write("bad,row\n")  # which an audit refuses
    before = time.process_time()
    understood = fb.look(path)
    assert time.process_time() - before < 3
    assert (understood.table.rows, understood.table.rows_looked_at) == (None, 10_000)
    assert not understood.table.whole
    assert "of the first 10,000 rows" in understood.table.said


def test_the_rows_of_a_parquet_file_are_known(tmp_path):
    path = tmp_path / "table.parquet"
    write_parquet(pd.DataFrame({"sex": ["f", "m"] * 10_000, "score": [0, 1] * 10_000}), path)
    understood = fb.look(path, name="people.parquet")
    assert (understood.table.name, understood.table.rows) == ("people.parquet", 20_000)
    assert not understood.options()


@needs_files
def test_compas():
    understood = fb.look(Path(DATA) / "compas-scores-two-years.csv")
    assert understood.columns_with_role("attribute") == ["sex", "age_cat", "race"]
    assert understood.columns_with_role("label") == ["two_year_recid"]
    assert understood.columns_with_role("score") == ["decile_score"]
    assert [candidate.column for candidate in understood.decisions[:2]] == ["decile_score", "v_decile_score"]
    assert 'Read once, as the columns of that name hold the same: "decile_score", "priors_count".' in (
        understood.table.notes
    )
    assert "dob" in understood.columns_with_role("date")


@needs_files
@pytest.mark.parametrize(
    ("name", "attributes", "score", "favourable"),
    [
        ("german", ["sex", "age", "foreign_worker"], "credit", "1"),
        ("adult", ["age", "marital_status", "race", "sex", "native_country"], "income", None),
    ],
)
def test_german_and_adult(name, attributes, score, favourable, tmp_path):
    path = write(fb.load(name).to_pandas(), tmp_path)
    understood = fb.look(path)
    assert understood.columns_with_role("score") == [score]
    assert set(attributes) <= set(understood.columns_with_role("attribute"))
    assert understood.columns_with_role("label") == []
    if favourable:
        assert understood.options()["favourable"] == favourable
    assert fb.audit(path, **understood.options(), draws=0).verdict


@pytest.mark.nightly
def test_a_column_of_a_wide_table_is_seen_as_in_a_narrow_one(tmp_path):
    rng = random.Random(3)  # noqa: S311 - a table, not secrets
    kinds = (
        lambda: str(rng.randint(0, 1)),
        lambda: rng.choice(["f", "m ", " m", "", "F"]),
        lambda: f"{rng.randint(0, 99)},{rng.randint(0, 9)}",
        lambda: rng.choice(["1,234", "2,500"]),
        lambda: f"2026-01-{rng.randint(1, 28):02}",
        lambda: repr(rng.random()),
        lambda: rng.choice(["3", "x", "\u00a07"]),
        lambda: f"{rng.randint(0, 9)} %",
        lambda: "",
    )
    names = [f"v{i}" for i in range(150)]
    rows = [[kinds[i % len(kinds)]() for i in range(150)] for _ in range(80)]

    def look_at_columns(numbers):
        path = tmp_path / f"{len(numbers)}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([names[i] for i in numbers])
            writer.writerows([row[i] for i in numbers] for row in rows)
        return fb.look(path).to_plain()["columns"]

    wide = look_at_columns(range(150))
    narrow = [column for start in (0, 50, 100) for column in look_at_columns(range(start, start + 50))]
    for column, alone in zip(wide, narrow, strict=True):
        for key in ("name", "kind", "values", "distinct", "missing", "smallest", "largest"):
            assert column[key] == alone[key], (column["name"], key)


def test_a_table_that_is_too_wide_is_refused(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(30)) + "\n")
    assert len(fb.look(path, most_columns=30).columns) == 30
    with pytest.raises(fb.UserError, match="30 columns\n  fix: keep those that matter, at most 29"):
        fb.look(path, most_columns=29)


def test_numbers_that_may_be_two_are_asked_for():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 80), "hired": rng.choice(["yes", "no"], 80)})
    frame["gpa"] = [f"{grade:.3f}" for grade in rng.normal(3, 0.2, 79)] + ["3,15"]
    for options, stops in (({}, False), ({"score": "gpa", "threshold": 3}, True)):
        (remark,) = [remark for remark in fb.look(frame, **options).remarks if remark.kind == "numbers"]
        assert (remark.column, remark.stops) == ("gpa", stops)
        assert [remedy.options for remedy in remark.remedies] == [
            {"notation": {"gpa": "either"}},
            {"notation": {"gpa": "comma"}},
        ]
    mended = fb.look(frame, score="gpa", threshold=3, notation={"gpa": "either"})
    assert not [remark for remark in mended.remarks if remark.kind == "numbers"]
    assert next(column.kind for column in mended.columns if column.name == "gpa") == "number"
