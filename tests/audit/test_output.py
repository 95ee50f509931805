"""What an audit looks like on a console, in CSV, JSON and Markdown."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from audit_sample import MEASURES, SCRIPT, sample_audit
from fairbench_cli.audit.judge.gate import gate
from fairbench_cli.audit.show.console import SHOWN, view
from fairbench_cli.audit.show.folder import FILES, write_folder

from fairbench_cli.audit.show import words
from fairbench_cli.audit.show.document import to_json
from fairbench_cli.audit.show.html import to_html
from fairbench_cli.audit.show.markdown import to_markdown
from fairbench_cli.audit.show.tables import disparities_csv, groups_csv, verdicts_csv
from fairbench_cli.cli.audit_console import print_audit
from fairbench_cli.errors import UserError


@pytest.fixture(scope="module")
def report():
    return sample_audit()


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_headline_counts_what_fails(report):
    assert words.headline(report) == (
        "fails: 2 of 2 attributes fail at τ = 0.8 by fpr, fnr, fdr, pprev; "
        "11 of 20 comparisons fail, 4 of them beyond chance."
    )


def test_the_headline_of_a_pass_and_of_what_cannot_be_decided(report):
    easy = sample_audit(tau=0.8)
    passing = [replace(row, parity="pass") for row in easy.audit.disparities]
    verdicts = [replace(row, parity=dict.fromkeys(row.parity, "pass")) for row in easy.audit.verdicts]
    done = replace(easy.audit, disparities=tuple(passing), verdicts=tuple(verdicts), verdict="pass")
    assert words.headline(replace(easy, audit=done)).startswith("passes: 2 of 2 attributes pass at τ = 0.8")
    verdicts[0] = replace(verdicts[0], parity=dict.fromkeys(verdicts[0].parity, "undecidable"))
    done = replace(done, verdicts=tuple(verdicts), verdict="undecidable")
    assert words.headline(replace(easy, audit=done)).startswith(
        "not decidable: 1 of 2 attributes cannot be decided at τ = 0.8"
    )


def test_the_console_puts_the_worst_first_and_counts_what_it_leaves_out(report):
    race, sex = view(report).parts
    assert (race.title, sex.title) == ("race: fails, beside Caucasian", "sex: fails, beside Male")
    first = race.lines[0]
    assert (first.group, first.measure, first.value, first.value_fine) == (
        *("African-American", "fpr", "0.448"),
        "805/1795",
    )
    assert (first.reference, first.reference_fine, first.ratio) == ("0.235", "349/1488", "1.912")
    kinds = [line.parity for line in view(report, everything=True).parts[0].lines]
    assert kinds == sorted(kinds, key=["fail", "undecidable", "pass"].index)
    assert len(race.lines) == SHOWN
    assert race.more == "and 4 more (4 pass): see --all"
    assert view(report, everything=True).parts[0].more == ""


def test_the_console_names_small_groups_and_what_is_not_decidable(report):
    shown = view(report, everything=True)
    lines = {(line.group, line.measure): line for line in shown.parts[0].lines}
    assert lines[f"{SCRIPT}*", "fpr"].verdict == "fails, too few to tell"
    assert lines["(missing)*", "fdr"].verdict == "not decidable"
    assert lines["(missing)*", "fdr"].ratio == words.DASH
    assert shown.notes[-1].startswith("Marked *: fewer than 30 rows")


@pytest.mark.parametrize("width", [40, 80, 140])
def test_printed_lines_fit_the_console(report, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    print_audit(view(report))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= width
    if width == 140:
        assert "0.448 (805/1795)" in out
        assert "1.912 [1.72, 2.12]" in out


def test_csv_is_tidy_and_has_every_number(report):
    groups, disparities = rows(groups_csv(report)), rows(disparities_csv(report))
    by = {(row["attribute"], row["group"], row["measure"]): row for row in groups}
    assert float(by["race", "African-American", "fpr"]["value"]) == 805 / 1795
    assert by["race", "African-American", "tp"]["value"] == "1369.0"
    assert by["race", "(missing)", "fdr"]["value"] == ""
    assert by["race", "(missing)", "fdr"]["small"] == "true"
    assert by["(all)", "(all)", "tp"]["value"] == "2035.0"
    assert len(disparities) == len(MEASURES) * 7
    assert rows(verdicts_csv(report))[-1]["parity"] == "fail"


def test_json_has_no_nan_and_round_trips(report):
    document = json.loads(to_json(report), parse_constant=pytest.fail)
    assert document["verdict"] == "fail"
    assert document["source"] == "compas.csv"
    assert document["spec"]["ref"] == {"race": "Caucasian", "sex": "Male"}
    missing = [row for row in document["disparities"] if row["group"] == "(missing)"]
    assert {row["measure"]: row["ratio"]["value"] for row in missing}["fdr"] is None


def test_an_infinite_ratio_is_written(report):
    first = report.audit.disparities[0]
    odd = replace(first, ratio=replace(first.ratio, value=math.inf, low=1.0, high=math.inf))
    other = replace(report, audit=replace(report.audit, disparities=(odd, *report.audit.disparities[1:])))
    assert json.loads(to_json(other))["disparities"][0]["ratio"]["value"] == "inf"
    assert "∞" in to_markdown(other)
    assert "∞" in to_html(other)
    assert rows(disparities_csv(other))[0]["ratio"] == "inf"


def test_markdown_has_counts_and_is_escaped(report):
    text = to_markdown(report)
    assert "| African-American | fpr | 0.448 (805/1795) | Caucasian | 0.235 (349/1488) | 1.912 |" in text
    assert "<script>" not in text
    widths = {line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 2


def test_a_folder_has_every_file_and_the_same_bytes_again(report, tmp_path):
    for name in ("a", "b"):
        write_folder(sample_audit(f"/{name}/compas.csv"), tmp_path / name)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(FILES)
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert "/a/" not in (tmp_path / "a" / name).read_text()


def test_models_stand_apart():
    report = sample_audit(models=("a", "b"))
    assert len(view(report).parts) == 4
    assert view(report).parts[0].title.endswith("(model a, binary)")
    assert words.headline(report).startswith("fails: 4 of 4 audits of an attribute fail")
    assert "model b, binary" in to_markdown(report)
    assert "model b, binary" in to_html(report)


@pytest.mark.parametrize(
    ("fail_on", "verdict"),
    [
        ((), "fail"),
        ((("", "fpr"),), "fail"),
        ((("sex", "fpr"),), "pass"),
        ((("sex", "fpr"), ("sex", "fdr")), "fail"),
        ((("race", "type-i-parity"),), "fail"),
    ],
)
def test_the_gate_looks_at_what_was_chosen(report, fail_on, verdict):
    assert gate(report, fail_on) == verdict


def test_the_gate_knows_what_was_audited(report):
    with pytest.raises(UserError, match='did you mean "race"'):
        gate(report, (("rac", "fpr"),))
    with pytest.raises(UserError, match="npv was not computed"):
        gate(report, (("", "npv"),))


def test_a_folder_that_cannot_be_made_is_said(report, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_folder(report, Path(tmp_path / "file"))


def test_a_group_cannot_talk_to_the_terminal(report, capsys):
    groups = tuple(
        replace(row, group=row.group.replace("Hispanic", "\x1b[2Jx\ny")) for row in report.audit.groups
    )
    rows = [
        replace(row, group=row.group.replace("Hispanic", "\x1b[2Jx\ny")) for row in report.audit.disparities
    ]
    odd = replace(report, audit=replace(report.audit, groups=groups, disparities=tuple(rows)))
    print_audit(view(odd, everything=True))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "�[2Jx�y" in out
