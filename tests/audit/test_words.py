"""What an audit says in sentences: whole ones, in an order that is right, with all that was asked."""

import csv
from dataclasses import replace
from itertools import product

import pytest
from audit_counts import one, slice_of, tally_of
from audit_sample import SCRIPT, sample_audit

from fairbench_cli.audit import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge import judge
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.parts.rates import failures
from fairbench_cli.audit.parts.writing import p_value
from fairbench_cli.audit.show.document import (
    audit_document,
    gate_words,
    rate_legend,
    to_html,
    to_markdown,
    to_notebook,
    verdict_legend,
)
from fairbench_cli.audit.show.headline import HARMED, headline
from fairbench_cli.cli.console import print_document
from fairbench_cli.measures.rates import EVENTS

FINDING = (
    "race: African-American are wrongly selected in 42.3 % of cases, Caucasian in 22.0 % (false positive "
    "rate: of those who should not be selected): 1.92 times as often (1.71 to 2.17); the rates differ and "
    "the ratio is outside the limits, both beyond chance: fails, shown outside"
)


def legend(report):
    return (*rate_legend(report), *verdict_legend(report))


def of(groups, **config):
    """Audit groups of (selected, not selected), or of (tp, fp, fn, tn)."""
    labelled = all(len(cells) == 4 for cells in groups.values())
    cells = {name: found if labelled else (0, found[0], 0, found[1]) for name, found in groups.items()}
    return judge(one(cells, attribute="g", labelled=labelled), AuditConfig(**config))


@pytest.fixture(scope="module")
def compas_rows(data_folder, tmp_path_factory):
    """ProPublica's 6,172 rows."""
    path = tmp_path_factory.mktemp("compas") / "compas.csv"
    with (data_folder / "compas-scores-two-years.csv").open(newline="") as file:
        kept = [
            row
            for row in csv.DictReader(file)
            if row["days_b_screening_arrest"]
            and abs(float(row["days_b_screening_arrest"])) <= 30
            and row["is_recid"] != "-1"
            and row["c_charge_degree"] != "O"
            and row["score_text"] != "N/A"
        ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "label_value", "race", "sex", "age_cat"])
        for row in kept:
            high = int(int(row["decile_score"]) >= 5)
            writer.writerow([high, row["two_year_recid"], row["race"], row["sex"], row["age_cat"]])
    assert len(kept) == 6172
    return path


@pytest.mark.parametrize("attributes", [["race"], ["race", "sex", "age_cat"]])
def test_the_first_sentence_on_compas_is_propublicas_finding(compas_rows, attributes):
    found = headline(audit(compas_rows, attributes=attributes, ref={"race": "Caucasian"}).report)
    first = found.sentences[0]
    assert first.text == f"{FINDING}. 5 more comparisons fail."
    assert (first.metric, first.group, first.reference) == ("fpr", "African-American", "Caucasian")
    assert (first.verdict, first.shown_outside, first.harmed) == ("fail", True, "")
    (still,) = (one for one in found.open if one.attribute == "race")
    asian = next(one for one in still.groups if one.group == "Asian")
    assert (asian.rows, len(asian.metrics), asian.compared) == (31, 5, 5)
    assert "Asian on 5 of 5 (31 rows; about 1" in still.text


def test_who_is_harmed_is_said_when_a_decision_is_said_to_help_or_to_hurt(compas_rows):
    for effect, metric, harmed in (
        ("punitive", "fpr", "African-American"),
        ("assistive", "fnr", "Caucasian"),
    ):
        report = audit(compas_rows, attributes=["race"], ref={"race": "Caucasian"}, decision=effect).report
        first = headline(report).sentences[0]
        assert (first.metric, first.harmed) == (metric, harmed)
        assert f", to the disadvantage of {harmed}." in first.text


# b is selected more, rightly and wrongly; of those selected and of those not fewer are so rightly.
ROWS = {"a": (300, 100, 200, 400), "b": (400, 300, 100, 150)}
HURT = {
    "punitive": dict.fromkeys(
        ("selection-rate", "selected-share", "fpr", "tpr", "fnr", "tnr", "fdr", "ppv"), "b"
    ),
    "assistive": dict.fromkeys(("selection-rate", "selected-share", "fpr", "tpr", "fnr", "tnr"), "a")
    | {"for": "b", "npv": "b"},
}


@pytest.mark.parametrize(("effect", "metric"), list(product(HARMED, COMPARED)))
def test_the_harmed_group_is_the_same_from_either_side(effect, metric):
    for reference in ROWS:
        found = of(ROWS, metric=(metric,), effect=effect, ref={"g": reference}, ref_method="given")
        (sentence,) = headline(found).sentences
        assert sentence.harmed == HURT[effect].get(metric, "")


def test_every_rate_has_words():
    assert set(EVENTS) == set(COMPARED)
    for name in COMPARED:
        (sentence,) = headline(of(ROWS, metric=(name,))).sentences
        assert sentence.text.endswith(("fails.", "shown outside.", "passes.", "not decided."))
        assert "nan" not in sentence.text


def test_sentences_of_rates_that_are_zero_or_undefined():
    text = headline(of({"a": (50, 0), "b": (0, 50)}, ref={"g": "b"}, ref_method="given"))
    assert text.sentences[0].text.startswith(
        "g: a are selected in 100 % of cases, b in 0 % (selection rate): at least "
    )
    text = headline(of({"a": (0, 50), "b": (0, 500)}))
    assert (
        "b in 0 % (selection rate): equally often; too few rows to tell: not decided."
        in text.sentences[0].text
    )
    text = headline(of({"a": (0, 0, 9, 9), "b": (50, 9, 9, 50)}, metric=("fdr",)))
    assert (
        text.sentences[0].text
        == "g: a against b by false discovery rate; nobody to compute it from: not decided."
    )
    assert headline(of({"a": (5, 0, 0, 5)})).sentence == "Not decided: there is nothing to compare."


def test_what_passes_and_what_is_open():
    even = {"a": (3000, 1000, 1000, 3000), "b": (3000, 1000, 1000, 3000)}
    found = headline(of(even))
    assert found.sentence.startswith("Passes: in g no gap is larger than allowed, for every value that fits")
    assert found.open == ()
    few = headline(of({name: tuple(cell // 100 for cell in cells) for name, cells in even.items()}))
    assert few.sentence.startswith("Not decided: the rows at hand decide none of 5 comparisons")
    (group,) = few.open[0].groups
    assert (group.group, group.rows, len(group.metrics)) == ("b", 80, 5)
    assert 80 < group.least_needed <= group.most_needed
    assert (
        f"(80 rows; about {group.least_needed:,.0f} to {group.most_needed:,.0f} would decide)"
        in few.open[0].text
    )


def test_the_attribute_whose_gap_concerns_most_people_comes_first():
    large = slice_of({"a": (0, 5000, 0, 5000), "b": (0, 3000, 0, 7000)}, labelled=False)
    small = slice_of({"c": (0, 9900, 0, 9900), "d": (0, 10, 0, 190)}, labelled=False)
    slices = [replace(small, attribute="small"), replace(large, attribute="large")]
    tally = replace(tally_of(slices[0]), slices=tuple(slices))
    found = headline(judge(tally, AuditConfig()))
    assert [one.attribute for one in found.sentences] == ["large", "small"]
    assert [one.verdict for one in found.sentences] == ["fail", "fail"]


def test_a_bare_rule_says_so_and_looks_otherwise(capsys):
    groups = {"a": (40, 60), "b": (28, 72)}
    tested, bare = of(groups), of(groups, rule="point")
    assert (tested.verdict, bare.verdict) == ("undecided", "fail")
    answer = headline(bare)
    assert answer.sentence.endswith("Chance was not looked at.")
    assert answer.sentences[0].text.endswith(", more than is allowed: fails, chance not looked at.")
    assert "; could be chance (p 0.074): not decided." in headline(tested).sentences[0].text
    for write in (to_markdown, to_html, to_notebook):
        assert "(✗)" in write(bare)
        assert "✗" not in write(tested).replace("✗ fails;", "")  # but in the legend
    for report, mark in ((tested, "?"), (bare, "(✗)")):
        print_document(audit_document(report, everything=False, brief=True))
        assert capsys.readouterr().out.startswith(f"{mark} ")
    assert 'class="badge"' in to_html(bare)
    assert 'class="badge undecided"' in to_html(tested)


def test_an_interval_that_leaves_out_1_beside_an_open_verdict_is_explained():
    groups = dict.fromkeys("abcdef", (40, 60)) | {"z": (400, 600), "y": (29, 71)}
    report = of(groups)
    row = next(row for row in report.disparities if row.group == "y")
    assert row.ratio.high < 1
    assert (row.p < 0.05 < row.p_holm, row.verdict, row.reason) == (True, "undecided", "chance")
    text = headline(report).sentences[0].text
    alone, adjusted = p_value(row.p), p_value(row.p_holm)
    assert f"the rates differ taken alone (p {alone}), not among 7 comparisons (p {adjusted})" in text
    assert "not decided: could be chance among 7" in to_html(report)
    assert any(line.startswith("could be chance among 7: ") for line in legend(report))
    exact = headline(of({"a": (7, 3), "b": (55, 5)}, ref={"g": "b"}, ref_method="given")).sentences[0].text
    assert exact.endswith("could be chance (p 0.081 by Fisher's exact test): not decided.")


def test_what_fails_and_what_is_shown_outside_are_told_apart():
    def said(groups):
        row = next(row for row in of(groups).disparities if row.group == "b" and row.deciding)
        return row, headline(of(groups)).sentences[0].text

    row, text = said({"a": (400, 700), "b": (230, 670)})
    assert (row.verdict, row.shown_outside) == ("fail", False)
    assert text.endswith(
        "the rates differ beyond chance, and the true ratio may still be within the limits: fails."
    )
    row, text = said({"a": (900, 200), "b": (100, 800)})
    assert row.shown_outside
    assert text.endswith("the ratio is outside the limits, both beyond chance: fails, shown outside.")
    report = of(dict.fromkeys("abcdef", (40, 60)) | {"z": (400, 600), "y": (22, 78)})
    row = next(row for row in report.disparities if row.group == "y")
    assert (row.verdict, row.shown_outside, row.ratio.high < 0.8) == ("fail", False, True)
    assert (
        "outside the limits taken alone (not among 7 comparisons): fails"
        in headline(report).sentences[0].text
    )


def test_limits_of_their_own_are_said():
    groups = {"a": (300, 100, 100, 300), "b": (300, 100, 100, 300)}
    found = headline(of(groups, metric=("fpr", "tpr"), tau={"default": 0.8, "fpr": 0.5}))
    assert "(allowed: 0.8 to 1.25 times the reference's rate, false positive rate 0.5 to 2)" in found.sentence


def test_models_are_counted_by_attribute():
    found = headline(sample_audit(models=("a", "b")))
    assert found.sentence.startswith("Fails: in race (both audits) and sex (both audits) rates differ")
    assert found.sentences[0].text.startswith("race (model a, binary): African-American are wrongly selected")


def test_long_lists_are_cut_and_counted():
    report = sample_audit(models=tuple("abcd"))
    short, whole = headline(report).lines(), headline(report).lines(everything=True)
    assert (len(short[0]), len(whole[0])) == (7, 8)
    assert short[0][-1][1] == "and 2 more, below."


def test_no_abbreviation_is_unexplained():
    report = sample_audit()
    text = legend(report)
    assert "fpr, false positive rate: wrongly selected, of those who should not be selected." in text
    assert all(any(line.startswith(name) for line in text) for name in report.deciding)
    for name in ("tp, fp", *report.groups[0].metrics):
        assert f"\n* {name}" in to_markdown(report), name
    for sentence in headline(report).sentences:
        assert not {"fpr", "fnr", "fdr", "for:"} & set(sentence.text.split())
    assert SCRIPT not in to_html(report)


def test_a_single_comparison_is_not_counted():
    assert failures([]) == "0 of 0 comparisons fail."
    row = next(row for row in of({"a": (400, 600), "b": (150, 850)}).disparities if row.group == "b")
    assert failures([row]) == "The only comparison fails."


def test_shown_outside_is_explained_where_chance_does_not_decide():
    assert any(line.startswith("shown outside: ") for line in legend(of({"a": (900, 100), "b": (100, 900)})))
    bare = legend(of({"a": (900, 100), "b": (100, 900)}, rule="point"))
    assert [line.partition(":")[0] for line in bare[-2:]] == [
        "A verdict is of the measured ratio alone",
        "shown outside",
    ]


def test_the_gate_in_words():
    groups = {"a": (400, 600), "b": (150, 850)}
    assert gate_words(of(groups)) == ""
    assert gate_words(of(groups, fail=True)) == "Gate: stops, exit code 1: g fails."
    assert gate_words(of(groups, fail=True, tau={"default": 0.2})) == "Gate: does not stop."
