"""What an audit says in sentences: whole ones, in an order that is right, with all that was asked."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
from audit_counts import one, random_audits, slice_of, tally_of
from audit_sample import SCRIPT, sample_audit

from fairbench_cli.audit import audit
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED, DEFAULT, HARMED
from fairbench_cli.audit.parts.findings import _holds_equal_rates, beyond, differs
from fairbench_cli.audit.parts.formatting import LIMIT_OPEN, p_value
from fairbench_cli.audit.parts.rates import deciding_rows, describe_reason, summarise_failures, worst_first
from fairbench_cli.audit.scan.readings import describe_ones
from fairbench_cli.audit.show.document import (
    audit_document,
    describe_gate,
    rate_legend,
    to_html,
    to_markdown,
    to_notebook,
    verdict_legend,
)
from fairbench_cli.audit.show.headline import describe_comparison, headline
from fairbench_cli.cli.console import print_document
from fairbench_cli.measures.rates import EVENTS

FINDING = (
    "race: African-American are wrongly selected in 42.3 % of cases, Caucasian in 22.0 % (false positive "
    "rate: of those who should not be selected): 1.92 times as often (1.71 to 2.17), more than chance "
    "would do, and more than the 1.25 allowed: fails clearly"
)


def legend(report):
    return (*rate_legend(report), *verdict_legend(report))


def of(groups, **config):
    """Audit groups of (selected, not selected), or of (tp, fp, fn, tn)."""
    labelled = all(len(cells) == 4 for cells in groups.values())
    cells = {name: found if labelled else (0, found[0], 0, found[1]) for name, found in groups.items()}
    return judge(one(cells, attribute="g", labelled=labelled), AuditConfig(**config))


@pytest.mark.parametrize("attributes", [["race"], ["race", "sex", "age_cat"]])
def test_the_first_sentence_on_compas_is_propublicas_finding(compas_rows, attributes):
    keys = {"attributes": attributes, "ref": {"race": "Caucasian"}, "metric": list(DEFAULT)}
    found = headline(audit(compas_rows, **keys).report)
    first = found.sentences[0]
    assert first.text == f"{FINDING}. 5 more comparisons fail."
    assert (first.metric, first.group, first.reference) == ("fpr", "African-American", "Caucasian")
    assert (first.verdict, first.shown_outside, first.harmed) == ("fail", True, "")
    (still,) = (one for one in found.open if one.attribute == "race")
    asian = next(one for one in still.groups if one.group == "Asian")
    assert (asian.rows, len(asian.metrics), asian.compared) == (31, 5, 5)
    assert "Asian on 5 of 5 rates (31 rows; about 1" in still.text


def test_who_is_harmed_is_said_when_a_decision_is_said_to_help_or_to_hurt(compas_rows):
    for effect, metric, harmed in (
        ("punitive", "fpr", "African-American"),
        ("assistive", "fnr", "Other"),
    ):
        report = audit(compas_rows, attributes=["race"], ref={"race": "Caucasian"}, decision=effect).report
        first = headline(report).sentences[0]
        assert (first.metric, first.harmed) == (metric, harmed)
        assert f", to the disadvantage of {harmed}." in first.text


# b is selected more, rightly and wrongly; of those selected and of those not fewer are so rightly.
ROWS = {"a": (3000, 1000, 2000, 4000), "b": (4000, 3000, 1000, 1500)}
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
        (said,) = headline(found).sentences
        assert said.harmed == HURT[effect].get(metric, "")


def test_every_rate_has_words_of_its_own():
    assert set(EVENTS) == set(COMPARED)
    assert len({*EVENTS.values()}) == len(EVENTS)
    for word in ("missed", "wrongly selected", "rightly selected", "rightly not selected"):
        assert sum(event == word for event, _ in EVENTS.values()) == 1
    for name in COMPARED:
        (found,) = headline(of(ROWS, metric=(name,))).sentences
        assert found.text.endswith(("fails.", "fails clearly.", "passes.", "not decided."))
        assert "nan" not in found.text


def test_sentences_of_rates_that_are_zero_or_undefined():
    text = headline(of({"a": (50, 0), "b": (0, 50)}, ref={"g": "b"}, ref_method="given"))
    assert text.sentences[0].text.startswith(
        "g: a are selected in 100 % of cases, b in 0 % (selection rate): at least "
    )
    text = headline(of({"a": (0, 50), "b": (0, 500)}))
    assert (
        "b in 0 % (selection rate): equally often; whether it is less than 0.8 or more than the 1.25 "
        "allowed is "
        "open: not decided." in text.sentences[0].text
    )
    text = headline(of({"a": (0, 0, 9, 9), "b": (50, 9, 9, 50)}, metric=("fdr",)))
    assert (
        text.sentences[0].text
        == "g, all groups of fewer than 30 rows: a against b by false discovery rate; nobody to compute it "
        "from: not decided."
    )
    assert headline(of({"a": (5, 0, 0, 5)})).sentence == "Not decided: there is nothing to compare."


def test_what_passes_and_what_is_open():
    even = {"a": (3000, 1000, 1000, 3000), "b": (3000, 1000, 1000, 3000)}
    found = headline(of(even))
    assert found.message == "Passes: in g no gap is larger than allowed."
    assert found.open == ()
    few = headline(of({name: tuple(cell // 100 for cell in cells) for name, cells in even.items()}))
    assert few.sentence == (
        "Not decided: no difference is shown, and a gap larger than allowed is not ruled out. 5 of 5 "
        "comparisons are open. Allowed: 0.8 to 1.25 times the reference's rate. Compared with the largest "
        "group, a; --ref g=GROUP chooses another."
    )
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
    could = ", which could be chance (p 0.074); whether it is less than the 0.8 allowed is open: not decided."
    assert could in headline(tested).sentences[0].text
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
    wanted = f", which could be chance: of 7 comparisons some look so (p {adjusted}; alone {alone})"
    assert f"{wanted}; whether it is less than the 0.8 allowed is open" in text
    assert "? could be chance among 7" in to_html(report)
    assert any(line.startswith("could be chance among 7: ") for line in legend(report))
    exact = headline(of({"a": (7, 3), "b": (55, 5)}, ref={"g": "b"}, ref_method="given")).sentences[0].text
    surer = "by Fisher's exact test, which few rows mislead less than the interval); whether"
    assert f", which could be chance (p 0.081 {surer}" in exact
    beyond = headline(of({"a": (0, 500), "b": (1, 40)})).sentences[0].text
    assert (
        "at least 3.17 times as often, which could be chance (p 0.076 by Fisher's exact test, which few"
        in beyond
    )


def test_what_fails_and_what_fails_clearly_are_told_apart():
    def said(groups):
        row = next(row for row in of(groups).disparities if row.group == "b" and row.deciding)
        return row, headline(of(groups)).sentences[0].text

    row, text = said({"a": (400, 700), "b": (230, 670)})
    assert (row.verdict, row.shown_outside) == ("fail", False)
    assert text.endswith(", more than chance would do, and less than the 0.8 allowed: fails.")
    row, text = said({"a": (900, 200), "b": (100, 800)})
    assert row.shown_outside
    assert text.endswith(", more than chance would do, and less than the 0.8 allowed: fails clearly.")
    report = of(dict.fromkeys("abcdef", (40, 60)) | {"z": (400, 600), "y": (22, 78)})
    row = next(row for row in report.disparities if row.group == "y")
    assert (row.verdict, row.shown_outside, row.ratio.high < 0.8) == ("fail", False, True)
    assert ", and less than the 0.8 allowed: fails." in headline(report).sentences[0].text


@pytest.mark.gate
def test_both_questions_are_answered_by_the_numbers():
    """Nine pairs of answers at most: those that can be come up, and say what p, interval and τ say."""
    seen = set()
    for report in random_audits():
        rows = [row for verdict in report.verdicts for row in deciding_rows(verdict, report)]
        for row in rows:
            text = describe_comparison(row, report).text
            tested = not (math.isnan(row.p) or row.reason == "few")
            shown = tested and row.p_holm < 0.05
            low, high = row.ratio.low >= 0.8, row.ratio.high <= 1.25
            answers = differs(row, 0.95), beyond(row)
            seen.add(answers)
            assert answers[0] == ("untested" if not tested else "shown" if shown else "open")
            assert (answers[1] == "within") == (low and high)
            if answers[1] == "shown":  # beyond chance over the family is beyond it alone
                assert shown
                assert row.ratio.high < 0.8 or row.ratio.low > 1.25
            assert (", more than chance would do" in text) == shown
            assert ("; alone " in text) == (tested and row.p < 0.05 <= row.p_holm)
            assert ("whether it is " in text) == (row.verdict == "undecided" and row.reason != "no rows")
            if "whether it is less" in text:
                assert row.ratio.low < 0.8 or row.ratio.value < 0.8 or math.isnan(row.ratio.value)
            assert ("within the 0.8 to 1.25 allowed" in text) == (row.verdict == "pass") == (low and high)
            assert ("fails clearly" in text) == (answers[1] == "shown")
            words = describe_reason(row, report)
            assert not (shown and ("too few rows" in words or "could be chance" in words))
            assert (words == LIMIT_OPEN) == (shown and row.verdict == "undecided")
    possible = {("shown", "shown"), ("shown", "within"), ("shown", "open")}
    assert seen == possible | {("open", "within"), ("open", "open"), ("untested", "open")}


DIFFERS = {
    "shown": ({"p": 0.001, "p_holm": 0.01}, ", more than chance would do"),
    "open": ({"p": 0.2, "p_holm": 0.6}, ", which could be chance (p 0.200)"),
    "untested": ({"p": math.nan, "p_holm": math.nan}, ", from rows that are worth too few to test"),
}
BEYOND = {
    "shown": (
        "fail",
        {"point": "fail", "shown_outside": True},
        ", and less than the 0.8 allowed: fails clearly",
    ),
    "within": ("pass", {"point": "pass"}, ", and within the 0.8 to 1.25 allowed: passes"),
    "open": ("undecided", {"point": "fail", "reason": "chance"}, "; whether it is less than the 0.8"),
}


@pytest.mark.parametrize(("first", "second"), list(product(DIFFERS, BEYOND)))
def test_all_nine_pairs_of_answers_have_words(first, second):
    report = of({"a": (400, 600), "b": (280, 720)})
    row = next(row for row in report.disparities if row.deciding)
    (numbers, said), (verdict, limit, words) = DIFFERS[first], BEYOND[second]
    row = replace(row, shown_outside=False, reason="")
    row = replace(row, verdict=verdict, **numbers, **limit)
    assert (differs(row, 0.95), beyond(row)) == (first, second)
    assert f"{said}{words}" in describe_comparison(row, report).text


@pytest.mark.gate
def test_the_headline_answers_both_questions():
    for report in random_audits():
        rows = [row for verdict in report.verdicts for row in deciding_rows(verdict, report)]
        shown = [row for row in rows if differs(row, 0.95) == "shown"]
        text = headline(report).sentence
        differ = "rates differ by more than chance" in text or report.verdict == "fail"
        assert differ == bool(shown)
        assert ("o difference is shown" in text) == (not shown)
        if report.verdict == "fail":
            outside = any(row.shown_outside for row in rows)
            assert text.startswith("Fails clearly in g: " if outside else "Fails in g: ")
        if report.verdict == "undecided":
            limit = any(row.verdict == "undecided" for row in shown)
            assert ("whether by more than is allowed is open" in text) == limit
            assert ("within what is allowed" in text) == (bool(shown) and not limit)


def test_small_groups_and_missing_values_lead_nothing():
    """They come last in sentences, lines on what is open and tables, behind a count; the verdict knows "
    "them."""
    groups = {"a": (400, 600), "b": (380, 620), "(missing)": (2, 198), "c": (0, 20)}
    report = of(groups)
    (first,) = headline(report).sentences
    assert (first.group, first.verdict, report.verdict) == ("b", "fail", "fail")
    assert first.text.startswith("g: b are selected in 38.0 %")
    assert first.text.endswith(
        " Of 2 groups of fewer than 30 rows or without a value ((missing), c) 2 comparisons fail."
    )
    order = [row.group for row in worst_first(deciding_rows(report.verdicts[0], report), {"(missing)", "c"})]
    assert order[0] == "b"
    text = of({"a": (400, 600), "b": (38, 62), "(missing)": (20, 30), "c": (5, 9)})
    assert (
        headline(text)
        .open[0]
        .text.endswith("would decide); 2 groups of fewer than 30 rows or without a value (c, (missing)).")
    )
    small_alone = headline(of({"a": (400, 600), "b": (390, 610), "c": (0, 20)}))
    assert small_alone.message == "Fails clearly in g: 1 group of fewer than 30 rows (c) alone."
    (alone,) = headline(of({"a": (400, 600), "c": (0, 20)})).sentences
    assert alone.text.startswith("g, all groups of fewer than 30 rows: c are selected in 0 %")
    assert 'class="muted"' in to_html(report)


def test_limits_of_their_own_are_said():
    groups = {"a": (300, 100, 100, 300), "b": (300, 100, 100, 300)}
    found = headline(of(groups, metric=("fpr", "tpr"), tau={"default": 0.8, "fpr": 0.5}))
    assert "Allowed: 0.8 to 1.25 times the reference's rate, false positive rate 0.5 to 2." in found.sentence


def test_models_are_counted_by_attribute():
    found = headline(sample_audit(models=("a", "b")))
    assert found.message.startswith("Fails clearly in race (both audits): African-American are selected")
    assert " Fails in sex (both audits), the measured gap alone." in found.detail
    assert found.sentences[0].text.startswith("race (model a, binary): African-American are selected in")


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
    for one_of in headline(report).sentences:
        assert not {"fpr", "fnr", "fdr", "for:"} & set(one_of.text.split())
    assert SCRIPT not in to_html(report)


def test_a_single_comparison_is_not_counted():
    assert summarise_failures([]) == "0 of 0 comparisons fail."
    report = of({"a": (400, 600), "b": (150, 850)})
    row = next(row for row in report.disparities if row.group == "b")
    assert "1 comparisons" not in to_markdown(report)
    assert summarise_failures([row]) == "The only comparison fails."


def test_what_clearly_means_is_explained_where_chance_was_looked_at():
    groups = {"a": (900, 100), "b": (100, 900)}
    assert headline(of(groups)).detail.startswith("Clearly: the true gap, too, is shown to be too large.")
    assert headline(of({"a": (400, 600), "b": (60, 140)})).detail.startswith("Fails: the measured gap is ")
    bare = of(groups, rule="point")
    assert not any("clearly" in line for line in legend(bare))
    assert "clearly" not in headline(bare).sentence + to_markdown(bare)


def test_the_gate_in_words():
    groups = {"a": (400, 600), "b": (150, 850)}
    assert describe_gate(of(groups)) == ""
    assert describe_gate(of(groups, fail=True)) == "Gate: stops, exit code 1: g fails."
    assert describe_gate(of(groups, fail=True, tau={"default": 0.2})) == "Gate: does not stop."


def test_an_interval_holds_equal_rates_where_its_ends_are_on_both_sides():
    ratios = {(0.8, 1.2): True, (1.0, 1.2): True, (1.1, 1.2): False, (0.5, 0.9): False}
    for (low, high), holds in ratios.items():
        row = SimpleNamespace(margin=None, ratio=Interval(1.0, low, high))
        assert _holds_equal_rates(row) is holds


def test_who_is_selected_is_said_by_value_or_as_above_the_cut():
    roles = SimpleNamespace(label=2, scores=[1], score=1)
    outcomes = SimpleNamespace(values={1: ("yes", "1")}, classes=(), below=False)
    names = {1: "hired", 2: "label"}
    said = [describe_ones(roles, names, outcomes, binary=binary).selected for binary in (True, False)]
    assert said == ['hired is "yes" or 1', "hired is above the cut"]
