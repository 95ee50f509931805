"""The first sentence of a run: one technique is named by one rule; power is that of its own comparisons."""

import math
import re
from pathlib import Path

import pytest
from conftest import study_of
from report.answer_run import PLAIN, run_of

from fairbench_cli.report.ledger.answer import answer_of, main_setting
from fairbench_cli.report.ledger.paired_differences import run_paired_frame
from fairbench_cli.report.ledger.results import RunResults, run_results
from fairbench_cli.report.parts.differences import compare_with_techniques
from fairbench_cli.report.show.answer_text import CHOICE, answer_document, each_setting

MINE = "mine.py:Mine"
CUT = ((0.30, 0.33), 0.78)
CUT_MORE = ((0.31, 0.33), 0.76)
RUNS = {
    "two": {"bank": {"none": PLAIN, "massaging": CUT, "reweighing": CUT_MORE}},
    "some": {"bank": {"none": PLAIN, "massaging": CUT}, "shop": {"none": PLAIN, "massaging": PLAIN}},
    "own": {"bank": {"none": PLAIN, "massaging": CUT, "reweighing": PLAIN, MINE: CUT_MORE}},
    "own fails": {"bank": {"none": PLAIN, "massaging": CUT, MINE: PLAIN}},
    "own of two": {
        "bank": {"none": PLAIN, "massaging": CUT, MINE: CUT_MORE},
        "shop": {"none": PLAIN, "massaging": CUT_MORE, MINE: PLAIN},
    },
    "own alone": {"bank": {"none": PLAIN, MINE: CUT}},
    "nothing": {"bank": {"none": PLAIN, "massaging": PLAIN, "reweighing": PLAIN}},
    "many": {name: {"none": PLAIN, "massaging": CUT, MINE: PLAIN} for name in "abcdef"},
}


def results_of(worlds: dict, **more: object) -> RunResults:
    plan, records = run_of(worlds, **more)
    return run_results(Path(), plan, records, (*plan.config.at_hand,))


@pytest.mark.parametrize("betas", [(0.0,), (0.0, 0.5, 1.0)])
@pytest.mark.parametrize("name", RUNS)
def test_a_headline_names_data_sets_beta_and_the_technique_that_the_card_names(name, betas):
    run = results_of(RUNS[name], repeats=4, betas=betas)
    answer = answer_of(run)
    statement = answer_document(run).answer.headline
    text = statement.text
    datasets = [settings[0].dataset_label for settings in answer.blocks]
    assert all(re.search(rf"\b{dataset}\b", text) for dataset in datasets[:3])
    assert ("At β = 0.5 " in text) == (len(betas) > 1 and len(datasets) < 5)
    cards = {(setting.dataset, setting.beta): short for setting, short, _ in each_setting(run)}
    n_named = 0
    for setting in map(main_setting, answer.blocks):
        card = cards[setting.dataset, setting.beta]
        able = [finding for finding in setting.techniques if finding.narrows]
        assert ("cuts the gap" in card) == bool(able)  # by the tests of the tables
        for is_own in (True, False):
            some = [finding for finding in able if finding.is_own == is_own]
            if some and len(datasets) < 5:
                best = min(some, key=lambda finding: abs(finding.value.mean)).technique
                n_named += 1
                assert best in text or best.capitalize() in text
                assert best in card
    assert ("cuts the gap" in text or "narrows the gap" in text) == (n_named > 0 or name == "many")
    assert (CHOICE in statement.detail) == (name in ("two", "own"))


@pytest.mark.gate
def test_ones_own_technique_comes_first_and_the_others_after_it():
    own, _, two, alone = (
        answer_document(results_of(RUNS[name])).answer.headline.text
        for name in ("own", "own fails", "own of two", "own alone")
    )
    assert re.match(
        r"mine.py:Mine cuts the gap between women and men on bank from 15 to .*; of the usual", own
    )
    assert re.search(r"of the usual ones massaging on bank from 15 to", own)
    assert two == (
        "mine.py:Mine narrows the gap between women and men on bank; on shop mine.py:Mine leaves the gap the "
        "same; of the usual ones massaging narrows the gap on bank and shop."
    )
    assert "usual" not in alone
    run = results_of(RUNS["own"])
    assert answer_of(run).own_technique == MINE
    assert compare_with_techniques(run, [answer_of(run).own_technique])
    assert answer_of(results_of(RUNS["own alone"])).own_technique == ""


def test_what_was_not_run_is_one_line_and_counts_say_of_how_many():
    plan, records = run_of(RUNS["many"] | {name: {"none": PLAIN, "massaging": None} for name in "gh"})
    for (key, repeat), record in list(records.items()):
        if key.startswith(("g-", "h-")):
            del records[record.key, repeat]
    run = run_results(Path(), plan, records, plan.config.at_hand)
    document = answer_document(run, brief=True)
    assert document.answer.headline.text == (
        "In 6 of 6 settings run (of 8) on a, b, c, d and 2 more a technique narrows the gap beyond chance, "
        "most often massaging (6); mine.py:Mine in 0."
    )
    assert "Not run yet: 4 of 22 cells, of 2 data sets." in document.notes
    assert not any("not run yet" in row[-1].text for row in document.sections[0].tables[0].rows)


@pytest.mark.parametrize("name", RUNS)
def test_a_change_is_shown_where_it_is_as_large_as_the_least_that_could_be(name):
    run = results_of(RUNS[name], betas=(0.0, 0.5))
    changes = run_paired_frame(run)["distance_difference"].droplevel(1)
    for setting in answer_of(run).settings:
        for finding in setting.techniques:
            if finding.sensitivity.is_known and not finding.is_constant:
                size = changes[run.row_number(finding.key, setting.compared, "discrimination")]
                assert (abs(size) >= finding.sensitivity.least) == (finding.verdict in ("better", "worse"))
                assert finding.sensitivity.power(0) <= 0.05 / finding.sensitivity.n_open + 1e-3
                assert finding.sensitivity.widening(1) == 1 < finding.sensitivity.widening(3)


@pytest.mark.gate
def test_the_power_that_is_said_is_that_of_draws():
    run = results_of(RUNS["nothing"] | {"shop": RUNS["two"]["bank"]}, betas=(0.0, 0.5))
    (sentence,) = (text for text in answer_document(run).sections[-1].sentences if "would be shown" in text)
    for name, said, drawn in study_of("levels_checks").powers(run, draws=400, size=0.02):
        assert abs(said - drawn) < 4 * math.sqrt(0.25 / 400 / 4)
        assert re.search(rf"\b{100 * said:.0f} % (of the comparisons )?on {name}", sentence)


def test_a_gap_that_is_left_on_the_other_side_is_said_to_be_there():
    (plan, records), (_, others) = (
        run_of({"bank": {"none": ((0.30, 0.60), 0.8), "massaging": ((0.40, favoured), 0.8)}})
        for favoured in (0.20, 0.45)
    )
    records = {place: (records, others)[place[1] % 2][place] for place in records}
    run = run_results(Path(), plan, records, (*plan.config.at_hand,))
    finding = answer_of(run).settings[0].finding("massaging")
    assert (finding.kind, finding.is_significant) == ("better", False)
    assert "from 30 to 8 points the other way at the same" in answer_document(run).answer.headline.text
