"""What an audit looks like on a console, in CSV, JSON and Markdown."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from audit_counts import one
from audit_sample import DECIDING, SCRIPT, sample_audit

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts.formatting import DASH, p_value
from fairbench_cli.audit.show.document import SHOWN, audit_document, to_html, to_markdown
from fairbench_cli.audit.show.formats import FILES, FORMATS, write, write_folder
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.audit.show.tables import to_json
from fairbench_cli.base.errors import UserError
from fairbench_cli.cli.console import print_document

OTHER = "American Indian or Alaska Native"


@pytest.fixture(scope="module")
def report():
    return sample_audit()


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def brief(report, everything=False):
    sections = audit_document(report, brief=True, everything=everything).sections
    return sections[1:] if everything else sections  # the first is what to ask next


def test_the_console_shows_the_worst_first_and_counts_what_it_leaves_out(report):
    race, sex = brief(report)[:2]
    assert race.sentences == ("3 of 16 comparisons fail, 1 passes, 12 are not decided.",)
    assert (race.title, sex.title) == ("race: fails clearly, against Caucasian", "sex: fails, against Male")
    (table,) = race.tables
    group, metric, value, reference, ratio, p, _ = table.rows[0]
    (first,) = (row for row in report.disparities if (row.group, row.metric) == (group.text, metric.text))
    assert (p.value, p.fine) == (first.p, f"({p_value(first.p_holm)})")
    assert (group.text, metric.text, value.text, value.fine) == (
        *("African-American", "fpr", "0.448"),
        "805/1,795",
    )
    assert (reference.text, reference.fine, ratio.text) == ("0.235", "349/1,488", "1.912")
    (whole,) = brief(report, everything=True)[0].tables
    for last in (False, True):  # of groups without a value or of few rows
        rows = [row for row in whole.rows if row[0].muted == last]
        names = [row[0].text for row in rows]
        first = {row[0].text: row[-1].verdict for row in reversed(rows)}
        kinds = [first[name] for name in dict.fromkeys(names)]
        assert kinds == sorted(kinds, key=["fail", "undecided", "pass"].index)
        assert [name for name, _ in groupby(names)] == list(dict.fromkeys(names))  # a group's rows together
    assert [row[0].muted for row in whole.rows] == [False] * 8 + [True] * 8
    assert len(table.rows) == SHOWN
    assert table.omitted == "and 4 more (4 not decided): see --all"
    assert whole.omitted == ""


def test_the_console_names_small_groups_and_what_is_not_decidable(report):
    shown = brief(report, everything=True)
    rows = {(row[0].text, row[1].text): row for row in shown[0].tables[0].rows}
    assert rows[f"{SCRIPT}*", "fpr"][-1].text == "could be chance"
    assert rows["(missing)*", "fdr"][-1].text == "nobody to compute it from"
    assert rows["(missing)*", "fdr"][4].text == DASH
    asked, *_ = audit_document(report, brief=True).sections
    assert any(note.startswith("Marked *: fewer than 30 rows") for note in asked.notes)


def test_long_names_stand_on_lines_of_their_own_and_once(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "Native Hawaiian or Other Pacific Islander"
    cells = {
        "White": (60, 50, 90, 100),
        long: (12, 16, 28, 24),
        "American Indian or Alaska Native": (9, 9, 11, 11),
    }
    found = audit_document(judge(one(cells), AuditConfig(draws=0)), brief=True)
    print_document(replace(found, answer=None, facts=(), sections=found.sections[1:2]))
    lines = capsys.readouterr().out.splitlines()
    names = [line for line in lines if not line.startswith(" ") and line.endswith(" rows")]
    assert {*names} == {f"{long}, 80 rows", f"{OTHER}, 40 rows"}
    assert all(name != other for name, other in pairwise(names))
    start = lines.index(names[0])
    rows = [line for line in lines[start:] if line.startswith("  ")]
    assert len(rows) == 2 * len(found.sections[1].tables[0].rows)  # a value and what is behind it
    monkeypatch.setenv("COLUMNS", "200")  # where there is room each row has its name
    print_document(found)
    assert capsys.readouterr().out.count(f"{long} (80 rows)  ") == 5


def test_a_row_that_would_be_cut_within_words_has_its_name_on_a_line_above(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    cells = {"white": (1333, 0, 0, 1754), "black": (285, 0, 0, 1030), "asian": (176, 0, 0, 422)}
    found = audit_document(judge(one(cells), AuditConfig(metrics=("selection-rate",), draws=0)), brief=True)
    print_document(replace(found, answer=None, facts=(), sections=found.sections[1:2]))
    lines = capsys.readouterr().out.splitlines()
    assert {"black, 1,315 rows", "asian, 598 rows"} < {*lines}
    assert sum(line.startswith("  selection-rate  ") for line in lines) == 2


@pytest.mark.parametrize("width", [40, 80, 140])
def test_printed_lines_fit_the_console(report, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    print_document(audit_document(report, everything=False, brief=True))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= width
    if width == 140:
        assert "0.448 (805/1,795)" in out
        assert "1.912 [1.72, 2.12]" in out


def test_csv_is_tidy_and_has_every_number(report):
    groups, disparities = rows(write(report, "groups")), rows(write(report, "csv"))
    by = {(row["attribute"], row["group"], row["metric"]): row for row in groups}
    assert float(by["race", "African-American", "fpr"]["value"]) == 805 / 1795
    assert by["race", "African-American", "tp"]["value"] == "1369.0"
    assert by["race", "(missing)", "fdr"]["value"] == ""
    assert by["race", "(missing)", "fdr"]["small"] == "true"
    assert by["(all)", "(all)", "tp"]["value"] == "2035.0"
    assert len(disparities) == len(DECIDING) * 7
    assert rows(write(report, "verdicts"))[-1]["verdict"] == "fail"
    worst = next(row for row in disparities if (row["group"], row["metric"]) == ("African-American", "fpr"))
    assert (worst["verdict"], worst["point"], worst["shown_outside"]) == ("fail", "fail", "true")
    assert (worst["reason"], worst["rows_needed"], worst["test"]) == ("", "", "score")


def test_json_has_no_nan_and_round_trips(report):
    document = json.loads(to_json(report), parse_constant=pytest.fail)
    assert (document["format"], document["verdict"]) == (4, "fail")
    assert document["gate"] == {"stops": False, "reason": ""}
    answer = document["headline"]
    assert answer["sentence"].startswith("Fails clearly in race: African-American are")
    assert answer["sentence"].startswith(answer["message"])
    keys = ("attribute", "group", "reference", "metric", "verdict")
    assert [answer["sentences"][0][key] for key in keys] == [
        *("race", "African-American", "Caucasian", "selection-rate", "fail"),
    ]
    assert [one["attribute"] for one in answer["open"]] == ["race"]
    assert {one["group"]: one["rows"] for one in answer["open"][0]["groups"][-2:]} == {
        SCRIPT: 18,
        "(missing)": 10,
    }
    assert document["source"] == "compas.csv"
    assert document["config"]["ref"] == {"race": "Caucasian", "sex": "Male"}
    missing = [row for row in document["disparities"] if row["group"] == "(missing)"]
    assert {row["metric"]: row["ratio"]["value"] for row in missing}["fdr"] is None


def test_an_infinite_ratio_is_written(report):
    first = report.disparities[0]
    odd = replace(first, ratio=replace(first.ratio, value=math.inf, low=1.0, high=math.inf))
    other = replace(report, disparities=(odd, *report.disparities[1:]))
    assert json.loads(to_json(other))["disparities"][0]["ratio"]["value"] == "inf"
    assert "∞" in to_markdown(other)
    assert "∞" in to_html(other)
    assert rows(write(other, "csv"))[0]["ratio"] == "inf"


def test_markdown_has_counts_and_is_escaped(report):
    text = re.sub(" +", " ", to_markdown(report))  # columns are aligned
    row = "| African-American | fpr | 0.448 (805/1,795) | Caucasian | 0.235 (349/1,488) |"
    assert f"{row} 1.912 \\[1.721, 2.124\\] |" in text
    assert "<script>" not in text
    widths = {line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 4  # of the summary, other metrics, comparisons and groups


def test_a_folder_has_every_file_and_the_same_bytes_again(report, tmp_path):
    for name in ("a", "b"):
        write_folder(sample_audit(f"/{name}/compas.csv"), tmp_path / name)
    names = FILES
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(names)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert "/a/" not in (tmp_path / "a" / name).read_text()


def test_models_stand_apart():
    report = sample_audit(models=("a", "b"))
    attributes = [section for section in brief(report) if section.verdict]
    assert len(attributes) == 4
    assert attributes[0].title.endswith("(model a, binary)")
    answer = headline(report)
    assert answer.sentences[0].text.startswith("race (model a, binary): ")
    assert len(answer.sentences) == 4
    assert "model b, binary" in to_markdown(report)
    assert "model b, binary" in to_html(report)


def test_a_folder_that_cannot_be_made_is_said(report, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_folder(report, Path(tmp_path / "file"))


def test_a_group_cannot_talk_to_the_terminal(report, capsys):
    groups = tuple(replace(row, group=row.group.replace("Hispanic", "\x1b[2Jx\ny")) for row in report.groups)
    rows = [replace(row, group=row.group.replace("Hispanic", "\x1b[2Jx\ny")) for row in report.disparities]
    odd = replace(report, groups=groups, disparities=tuple(rows))
    print_document(audit_document(odd, brief=True))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "�[2Jx�y" in out


def test_every_format_is_registered_once_and_is_a_function_of_the_report(report):
    begins = dict.fromkeys(("csv", "groups", "verdicts"), "model,decision,attribute,")
    begins |= {"json": '{\n  "format"', "markdown": "# Audit of ", "html": "<!DOCTYPE html>"}
    for name in FORMATS:
        assert write(report, name).startswith(begins.get(name, ""))
    assert begins.keys() <= FORMATS.keys()
    assert len(set(FILES)) == len(FILES)
