"""What an audit prints where not everything is asked for: one screen, and an answer to each option."""

import re

import numpy as np
import pandas as pd
import pytest
from audit_counts import random_audits
from audit_sample import sample_audit

from fairbench_cli.audit.show.document import audit_page, to_html, to_markdown
from fairbench_cli.audit.show.headline import headline, without_choice
from fairbench_cli.audit.show.short_answer import short_document
from fairbench_cli.cli.console import print_document
from fairbench_cli.document.model import Statement

SCREEN = 26  # lines
MOST_WORDS = 25  # of a message


@pytest.fixture
def people(tmp_path):
    """5,000 people with two scores, a label, two attributes, a month and a job."""
    rng = np.random.default_rng(3)
    n = 5000
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    label = rng.integers(0, 2, n)
    old = np.clip(0.5 + 0.3 * (label - 0.5) - 0.12 * (race == "b") + rng.normal(0, 0.2, n), 0, 1)
    new = np.clip(old + 0.09 * (race == "b"), 0, 1)
    month = rng.choice(["2025-01", "2025-02", "2025-03"], n)
    frame = {"old": old, "new": new, "label": label, "race": race, "sex": rng.choice(["f", "m"], n)}
    frame |= {"month": month, "job": rng.choice(["x", "y"], n)}
    path = tmp_path / "people.csv"
    pd.DataFrame(frame).round(3).to_csv(path, index=False)
    return path


def test_compas_takes_one_screen(compas_rows, say):
    for flags in ((), ("--ref", "race=Caucasian"), ("--decision", "punitive"), ("--fail", "--rule", "point")):
        said = say("audit", compas_rows, "-a", "race", "-a", "sex", "-a", "age_cat", *flags)
        lines = said.out.splitlines()
        assert len(lines) <= SCREEN, said.out
        assert max(map(len, lines)) <= 80
        assert lines[-1] == "All comparisons: --all. A page and files: -o FOLDER."
        for attribute in ("race", "sex", "age_cat"):
            assert sum(line.startswith(f"{attribute} ") for line in lines) == 1


def test_the_numbers_of_the_table_are_those_of_the_worst_comparisons(compas_rows, say):
    out = say("audit", compas_rows, "-a", "race", "-a", "sex", "--ref", "race=Caucasian").out
    rows = re.findall(r"^(race|sex) +(.+?)  +([\d.]+ %) +([\d.]+ %) +([\d.]+)  (.+)$", out, re.MULTILINE)
    assert rows == [
        ("race", "African-American", "57.6 %", "33.1 %", "1.74", "✗ fails clearly"),
        ("sex", "Female", "48.3 %", "34.6 %", "1.40", "✗ fails"),
    ]
    assert "selection-rate            Caucasian  [1.63, 1.86]  6 of 25" in out
    open_text = " ".join(out.split())
    assert "Not decided: race: Asian (31 rows; about " in open_text
    assert "to 1,400 would decide), Hispanic (509; about 2,100 to 13,000) and 3 more groups." in open_text


@pytest.mark.gate
@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        (("--score", "old", "--score", "new"), r"From model old to model new, ratios"),
        (("--score", "new", "--slice", "month"), r"After each month: (.*\n){3}race +[✓✗?] [✓✗?] [✓✗?]\n"),
        (("--score", "new", "--explain", "job"), r"what job explains, and what is left"),
        (("--score", "new", "--explain", "job", "--explain", "month"), r"what job and month explain"),
        (("--score", "new", "--curves"), r"What the scores are worth: AUC"),
        (("--score", "new", "--scan"), r"Of\s+\d+\s+subgroups,\s|No\s+subgroup\s+stands"),
        (("--score", "new", "--intersect", "race,sex"), r"race × sex"),
        (("--score", "new", "-m", "equalised-odds", "-m", "fpr"), r"race +equalised-odds +b "),
        (("--score", "old", "--fail"), r"Gate: stops, exit code 1: race fails\."),
        (("--score", "new", "--preset", "eeoc"), r"Four fifths and\s+significance"),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_an_option_that_was_given_is_answered(people, say, flags, pattern):
    attributes = ("-a", "race", "-a", "sex", "--label", "label", "--threshold", "0.5")
    if "eeoc" in flags or "-a" in flags:
        attributes = ("-a", "race", "-a", "sex", "--threshold", "0.5")
    said = say("audit", people, *attributes, *flags)
    assert re.search(pattern, said.out), said.out
    assert len(said.out.splitlines()) < len(
        say("audit", people, *attributes, *flags, "--all").out.splitlines()
    )


def test_what_an_option_asked_for_has_the_numbers_of_all_tables(people, say):
    flags = ("audit", people, "-a", "race", "--label", "label", "--threshold", "0.5")
    short, everything = (
        say(*flags, "--score", "old", "--score", "new", *more).out for more in ((), ("--all",))
    )
    row = re.search(r"b +selection-rate +([\d.]+) +([\d.]+) +([\d.]+) \[.*\] +✓ better", short)
    whole = re.search(r"b +selection-rate +([\d.]+) +([\d.]+) +([\d.]+) ", everything)
    assert [float(value) for value in row.groups()] == [float(value) for value in whole.groups()]


def test_notes_on_what_was_read_come_first_and_the_others_are_counted(tmp_path, say):
    rng = np.random.default_rng(0)
    columns = {"score": rng.choice(["yes", "no"], 400), "sex": rng.choice(["f", "m"], 400)}
    columns |= {"age": rng.uniform(18, 90, 400), "when": "2025-01-02", "case_id": range(400)}
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    out = say("audit", tmp_path / "a.csv", "--favourable", "yes").out
    notes = re.findall(r"^\* (.*)", out.partition("Brackets")[2], re.MULTILINE)
    assert len(notes) == 2
    assert not any(note.startswith("Not audited, as") for note in notes)
    assert re.search(r"^\d+ more notes?, all comparisons: --all\.", out, re.MULTILINE)
    assert "Not audited: age, which is a number: --bins age=4 cuts it." in " ".join(out.split())


@pytest.mark.gate
def test_the_message_is_short_and_begins_the_sentence():
    reports = [*random_audits(), sample_audit(), sample_audit(models=("a", "b"))]
    for report in reports:
        answer = headline(report)
        assert len(answer.message.split()) <= MOST_WORDS, answer.message
        assert answer.sentence.startswith(answer.message)
        assert answer.message.count(". ") == 0
        statement = audit_page(report).answer.headline
        assert statement == Statement(answer.message, report.verdict, detail=statement.detail)
        assert statement.detail.startswith(without_choice(answer.detail, report))  # readers choose no option
        assert "--ref" not in statement.detail


def test_the_message_alone_is_loud_and_names_the_file_after_it():
    report = sample_audit()
    message = headline(report).message
    page = to_html(report)
    assert f"<strong>{message}</strong> " in page
    lead = re.search(r'<p class="lead detailed fail">(.*)</p>', page)[1]
    assert lead.endswith("Audited: compas.csv, 6,150 rows.") or "Audited: compas.csv, " in lead
    assert f"**✗ {message}** " in to_markdown(report)


def test_a_page_says_rarely_that_something_fails(compas_rows, say, tmp_path):
    say("audit", compas_rows, "--ref", "race=Caucasian", "-o", tmp_path / "out")
    for name in ("audit.html", "audit.md"):
        text = (tmp_path / "out" / name).read_text()
        assert text.count("fails") <= 16, name
        assert "shown outside" not in text
        assert "limit open" not in text


def test_charts_of_two_models_have_titles_of_their_own():
    titles = [
        statement.chart.title for statement in audit_page(sample_audit(models=("a", "b"))).answer.statements
    ]
    assert len(set(titles)) == len(titles) == 4
    assert "race (model a, binary): selected, of all" in titles


@pytest.mark.gate
def test_a_verdict_without_chance_has_no_degrees(capsys):
    for report in random_audits():
        print_document(short_document(report))
        out = capsys.readouterr().out
        clearly = any(row.deciding and row.shown_outside for row in report.disparities)
        assert ("fails clearly" in out.lower()) == (clearly and report.verdict == "fail")
