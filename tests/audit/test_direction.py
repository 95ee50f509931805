"""Which value of a decision is the good one, and who is worse off: what is said, and never a guess."""

import re
from html import unescape

import pandas as pd
import pytest
from audit_counts import cells, read
from conftest import study_of, two_lines

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.questions import choose, table_options
from fairbench_cli.audit.show.formats import write
from fairbench_cli.audit.understood import look

NOT_KNOWN = "Whether being selected helps is not known: --decision assistive, or punitive, says it."
WORSE = "so f are worse off"


def table(name, one="1", zero="0", *, label=""):
    """Return 400 rows in which 60 % of f and 30 % of m have 1; a label is each second row's."""
    head = f"{name},sex{',' + label if label else ''}\n"
    rows = []
    for group, n_ones in (("f", 120), ("m", 60)):
        for i in range(200):
            rows.append(f"{one if i < n_ones else zero},{group}{',' + str(i % 2) if label else ''}")
    return head + "\n".join(rows) + "\n"


@pytest.mark.parametrize(("one", "zero"), [("1", "0"), ("True", "False"), ("1.0", "0.0"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("favourable", [("0",), ("false",), (0,), (False,)])
def test_zero_may_be_the_good_value(one, zero, favourable):
    given = cells(read(table("denied", one, zero), scores=("denied",), favourable=favourable))
    assert given == cells(read(table("denied", "0", "1"), scores=("denied",)))


def test_zero_is_good_in_score_and_label_unless_the_label_has_its_own():
    turned = table("denied", "0", "1", label="bad")
    keys = {"scores": ("denied",), "label": "bad"}
    tally = read(table("denied", label="bad"), **keys, favourable=("0",), favourable_label="1")
    assert cells(tally) == cells(read(turned, **keys))
    both = read(table("denied", label="bad"), **keys, favourable=("0",))
    assert cells(both) == cells(read(turned, **keys, favourable_label="0"))
    assert 'bad: "0" counts as 1, and "1" (200 rows) as 0.' in both.notes


@pytest.mark.parametrize("cut", [{"threshold": (0.4,)}, {"top_k": (180,)}, {"top_share": (0.45,)}])
def test_a_score_of_denial_selects_who_is_below_the_cut(cut):
    text = table("denial_score", "0.9", "0.2")
    tally = read(text, scores=("denial_score",), favourable=("0",), **cut)
    assert cells(tally) == cells(read(table("granted", "0", "1"), scores=("granted",)))
    assert tally.ones.selected == "denial_score is below the cut"


@pytest.mark.parametrize("option", ["curves", "mitigate"])
def test_what_looks_from_the_highest_score_down_is_refused(tmp_path, say, option):
    (tmp_path / "d.csv").write_text(table("denial_score", "0.9", "0.2", label="label"))
    flags = ["--score", "denial_score", "--threshold", "0.5", "--favourable", "0", f"--{option}"]
    two_lines(say("audit", "d.csv", *flags), f"{option} takes the highest", "leave it out")


REFUSALS = ("loan_denied", "Abgelehnt", "contrato_rechazado", "is_default", "churned", "terminated")


@pytest.mark.parametrize("name", REFUSALS)
def test_a_preset_for_hiring_asks_which_value_of_a_refusal_is_good(tmp_path, say, name):
    (tmp_path / "d.csv").write_text(table(name))
    for flags in (("--preset", "eeoc"), ("--decision", "assistive")):
        said = say("audit", "d.csv", "--score", name, *flags)
        lines = two_lines(
            said, "takes being selected for what helps", "--favourable 0; where 1 is: --favourable 1"
        )
        del lines
        for value, group in (("0", "f"), ("1", "m")):
            answer = say("audit", "d.csv", "--score", name, *flags, "--favourable", value).out
            assert ("so m are worse off" if group == "m" else WORSE) in " ".join(answer.split())


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("hired", ("--preset", "eeoc")),
        ("denied", ("--decision", "punitive")),
        ("disease", ("--decision", "assistive")),  # who is told may be helped
        ("not_rejected", ("--preset", "eeoc")),
        ("denied", ()),
    ],
)
def test_no_question_where_nothing_contradicts(tmp_path, say, name, flags):
    (tmp_path / "d.csv").write_text(table(name))
    assert say("audit", "d.csv", "--score", name, *flags).code == 0


@pytest.mark.parametrize(
    ("name", "one", "keys", "worse"),
    [
        ("denied", "1", {}, "f"),
        ("entscheid_abgelehnt", "1", {}, "f"),
        ("approved", "1", {}, "m"),
        ("decision", "denied", {"favourable": "0"}, "m"),  # of words 0 is one
        ("decision", "angenommen", {"favourable": "angenommen"}, "m"),
        ("group_b", "2", {"favourable": "2"}, "m"),
        ("denied", "1", {"favourable": "0"}, "m"),
        ("score", "1", {"favourable": "0"}, "m"),
        ("score", "1", {}, ""),
        ("hired", "1", {"favourable": "0"}, ""),  # one thing says it helps, another that it harms
        ("decision", "denied", {"favourable": "denied"}, ""),
        ("risk", "High", {"favourable": "High"}, ""),
        ("churn_score", "1", {"decision": "assistive", "favourable": "1"}, "m"),
        ("disease", "1", {}, ""),
        ("hospital_admission", "1", {}, ""),
    ],
)
def test_who_is_worse_off_is_said_where_it_is_known(name, one, keys, worse):
    text = table(name, one)
    frame = pd.DataFrame([line.split(",") for line in text.splitlines()[1:]], columns=[name, "sex"])
    answer = audit(frame, score=name, attributes=["sex"], **keys).headline
    turned = {"f": "m", "m": "f"}
    if keys.get("favourable") == "0":
        worse = turned.get(worse, worse)
    assert re.findall("so (.) are worse off", answer) == ([worse] if worse else [])
    assert (NOT_KNOWN in answer) == (not worse)


LABELLED = {"hired": table("hired", label="label"), "score": table("score", label="label")}


@pytest.mark.parametrize("form", ["json", "ci", "markdown", "html", "github", "junit", "sarif", "finished"])
def test_every_format_says_that_it_is_not_known_and_leads_with_the_selection_rate(tmp_path, form):
    (tmp_path / "s.csv").write_text(LABELLED["score"])
    report = audit(tmp_path / "s.csv").report
    text = write(report, form)
    if form in ("junit", "sarif"):
        told = re.findall(r'(?:message|"text")[=:] ?"(sex: .*?)"', text)
        assert told
        assert all(NOT_KNOWN in sentence for sentence in told if "fails" in sentence)
    else:
        plain = unescape(text).replace("%25", "%").replace("\u00a0", " ").replace("\\-", "-")
        assert NOT_KNOWN in plain
        assert "m are selected in 30.0 % of cases, f in 60.0 %" in plain
    assert "worse off" not in text
    assert "disadvantage" not in text


def test_another_rate_that_fails_comes_after_the_selection_rate():
    counts = {"f": (600, 300, 400, 700), "m": (800, 100, 200, 900)}  # tp fp fn tn: as many are selected
    cells_of_rows = [(1, 1), (0, 1), (1, 0), (0, 0)]
    rows = [
        (group, label, score)
        for group, numbers in counts.items()
        for (label, score), n in zip(cells_of_rows, numbers, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["sex", "label", "score"])
    shares = "m are selected in 45.0 % of cases, f in 45.0 %; fails clearly: of those who are selected"
    told = f"{shares} 11.1 % and 33.3 % should not be"
    assert audit(frame).headline.startswith(f"Fails clearly in sex: {told}. Clearly: ")
    assert f"too large. {NOT_KNOWN}" in audit(frame).headline
    asked = audit(frame, metrics=["fpr"]).headline
    assert asked.startswith("Fails clearly in sex: m are wrongly selected in 10.0 % of cases, f in 30.0 %.")


def test_nobody_is_worse_off_where_no_gap_is_shown():
    few = pd.DataFrame({"hired": [1] * 30 + [0] * 30 + [1] * 22 + [0] * 38, "sex": ["f"] * 60 + ["m"] * 60})
    for keys in ({}, {"rule": "point"}, {"decision": "assistive"}):
        answer = audit(few, score="hired", **keys).headline
        assert "worse off" not in answer


def numbered(name, values, label=""):
    """Return 240 rows whose whole numbers are those of `values` in turn."""
    head = f"{name},sex{',label' if label else ''}\n"
    rows = [
        f"{values[i % len(values)]},{'fm'[i % 7 % 2]}{f',{label[i % 2]}' if label else ''}"
        for i in range(240)
    ]
    return head + "\n".join(rows) + "\n"


OFFERS = {  # of a name and its numbers: the first that is offered, and whether amounts are among them
    "action_taken": ("123456", "--favourable VALUE", False),
    "Statut": ("1234", "--favourable VALUE", False),
    "result": ("123", "--favourable VALUE", True),
    "rating": ("12345", "--outcome ordinal", True),
    "decile_score": (tuple(map(str, range(1, 11))), "--outcome ordinal", True),
    "n_children": ("00123", "--outcome number", True),
    "decision": ("12", "--favourable VALUE", False),
    "is_default": (("-1", "1"), "--favourable VALUE", False),
}


@pytest.mark.parametrize("name", OFFERS)
def test_few_whole_numbers_are_asked_about_and_each_offer_works(tmp_path, say, name):
    values, first, with_amounts = OFFERS[name]
    (tmp_path / "d.csv").write_text(numbered(name, values))
    said = say("audit", "d.csv", "--score", name)
    fix = said.err.splitlines()[1]
    offers = re.findall(r"--[a-z-]+ [\w-]+", fix)
    assert offers[0] == first
    assert ("--outcome number" in offers) == with_amounts
    assert not {"--top-k", "--top-share"} & {offer.split()[0] for offer in offers}
    for offer in offers:
        flags = offer.replace("VALUE", str(values[-1])).split()
        assert say("audit", "d.csv", "--score", name, *flags).code == 0, offer


def test_which_of_two_numbers_is_good_is_left_open_but_for_minus_one(tmp_path, say):
    (tmp_path / "d.csv").write_text(numbered("decision", ("-1", "1"), label="12"))
    two_lines(say("audit", "d.csv", "--score", "decision"), "", "likely --favourable 1")
    said = say("audit", "d.csv", "--score", "decision", "--threshold", "0")
    two_lines(said, '"label" has "2"', "--favourable-label VALUE: one of 1, 2")
    flags = ("--threshold", "0", "--favourable-label", "1")
    assert say("audit", "d.csv", "--score", "decision", *flags).code == 0


def test_many_codes_are_no_amounts_and_other_numbers_are(tmp_path, say):
    (tmp_path / "d.csv").write_text(numbered("job_code", range(40)))
    two_lines(say("audit", "d.csv", "--score", "job_code"), "", "name the good one, --favourable VALUE")
    (tmp_path / "d.csv").write_text(numbered("points", range(40)))
    assert "The mean of points" in say("audit", "d.csv", "--score", "points").out


@pytest.mark.parametrize(("name", "good"), [("denied", "no"), ("hired", "yes"), ("abgelehnt", "no")])
def test_yes_is_not_good_in_a_column_of_something_bad(tmp_path, say, name, good):
    (tmp_path / "d.csv").write_text(table(name, "yes", "no"))
    two_lines(say("audit", "d.csv", "--score", name), "", f"likely --favourable {good}")


def options_for(text, answers, tmp_path):
    """Return the options that the questions of a table lead to, and the answer of the audit with them."""
    (tmp_path / "d.csv").write_text(text)
    understood = look(tmp_path / "d.csv", **table_options(answers))
    options = choose(answers, understood).options
    return options, audit(tmp_path / "d.csv", **options).headline


@pytest.mark.parametrize(
    ("name", "values", "answers", "expected", "worse"),
    [
        ("denied", ("1", "0"), {}, {"decision": "punitive"}, "f"),
        ("denied", ("1", "0"), {"favourable": "0"}, {"favourable": "0", "decision": "assistive"}, "f"),
        ("denied", ("1", "0"), {"harm": "help"}, {"favourable": "1", "decision": "assistive"}, "m"),
        ("denied", ("yes", "no"), {}, {"favourable": "no", "decision": "assistive"}, "f"),
        ("hired", ("yes", "no"), {}, {"favourable": "yes", "decision": "assistive"}, "m"),
        ("decision", ("1", "0"), {}, {"decision": None}, ""),
        ("decision", ("1", "0"), {"harm": "help"}, {"decision": "assistive", "favourable": None}, "m"),
    ],
)
def test_the_questions_guess_no_direction(tmp_path, name, values, answers, expected, worse):
    options, answer = options_for(table(name, *values), answers, tmp_path)
    assert {key: options.get(key) for key in expected} == expected
    assert re.findall("so (.) are worse off", answer) == ([worse] if worse else [])


def test_codes_are_looked_at_as_values_one_of_which_is_good(tmp_path):
    (tmp_path / "d.csv").write_text(numbered("action_taken", "1123456"))
    understood = look(tmp_path / "d.csv", score="action_taken")
    (remark,) = (remark for remark in understood.remarks if remark.column == "action_taken")
    assert remark.kind == "favourable"
    assert {remedy.options["favourable"] for remedy in remark.remedies} == set("123456")
    (tmp_path / "d.csv").write_text(numbered("decision", "122"))
    (remark,) = (remark for remark in look(tmp_path / "d.csv").remarks if remark.kind == "favourable")
    assert remark.problem.fix == "say which value is the good one"


@pytest.mark.gate
def test_the_study_of_first_sentences_runs():
    lines = list(study_of("levels_checks").name_rates(1, (1.0,)))
    assert len(lines) == 24
    assert all(line.startswith("| 1.0 |") for line in lines)


@pytest.mark.gate
def test_the_study_of_shares_runs():
    lines = list(study_of("levels_checks").share_rates(1, (3,)))
    assert len(lines) == 9
    assert all(" | 3 | " in line and " (" in line for line in lines)
