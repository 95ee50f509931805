"""A technique against all others: its numbers are those of the CSV file, its sentence counts them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report.worlds_run import Rule, invented

from fairbench_cli.experiment.config.components import ComponentSpec, TechniqueSpec
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.differences import compare_with_techniques

PLACES = ("bank", "shop", "school")


def run_of(rules: dict[str, Rule], datasets=PLACES) -> RunResults:
    """A run without worlds in which techniques decide by rules, in every data set alike."""
    return invented({name: {("", 0.0): rule} for name, rule in rules.items()}, datasets, 5)


RULES = {
    "none": Rule((0.4, 0.9)),
    "massaging": Rule((0.7, 0.9)),
    "reweighing": Rule((0.5, 0.9)),
    "relabelling": Rule((0.85, 0.9)),
}


@pytest.fixture(scope="module")
def run() -> RunResults:
    return run_of(RULES)


def test_the_numbers_are_those_of_the_csv_file(run: RunResults):
    (versus,) = compare_with_techniques(run, ["massag"])
    assert versus.slug == "massaging"
    frame = versus.frame.set_index(["dataset", "intervention", "metric"])
    assert len(versus.table.sections) == len(PLACES)
    for place, section in zip(PLACES, versus.table.sections, strict=True):
        assert section.title.startswith(place)
        (table,) = section.tables
        assert [row[0].text for row in table.rows] == ["reweighing", "relabelling", "none"]
        assert table.heads[5:7] == ("tpr-difference", "p of tpr-difference")  # which the config names
        for technique, gap, gap_p, accuracy, accuracy_p, named, named_p, _ in table.rows:
            of_gap = frame.loc[place, technique.text, "discrimination"]
            of_accuracy = frame.loc[place, technique.text, "accuracy"]
            assert gap.value == pytest.approx(100 * of_gap["distance_difference"])
            low, high = (float(end) for end in gap.fine.replace("−", "-").strip("[]").split(","))
            assert low == pytest.approx(100 * of_gap["population_distance_low"], abs=0.06)
            assert high == pytest.approx(100 * of_gap["population_distance_high"], abs=0.06)
            assert accuracy.value == pytest.approx(100 * of_accuracy["difference"])
            assert gap_p.value == of_gap["population_p_holm"]
            assert accuracy_p.value == of_accuracy["population_difference_p_holm"]
            of_named = frame.loc[place, technique.text, "tpr-difference"]
            assert named.value == pytest.approx(100 * of_named["difference"])
            assert named_p.value == of_named["population_difference_p_holm"]


def test_the_sentence_counts_what_is_shown_of_techniques(run: RunResults):
    sentences = {}
    for name in RULES:
        (versus,) = compare_with_techniques(run, [name])
        sentences[name] = versus.console.answer.headline.text
        assert len(sentences[name].split()) <= 25
        assert versus.table.answer == versus.console.answer
    assert sentences == {
        "none": "None leaves a larger gap than other techniques in all 9 comparisons.",
        "massaging": "Against other techniques massaging leaves a smaller gap in 3 of 6 comparisons, "
        "a larger one in 3.",
        "reweighing": "Reweighing leaves a larger gap than other techniques in all 6 comparisons.",
        "relabelling": "Relabelling leaves a smaller gap than other techniques in all 6 comparisons.",
    }


def test_of_one_other_technique_the_sentence_names_it_and_the_places():
    run = run_of(
        {"none": RULES["none"], "mine": RULES["massaging"], "theirs": RULES["reweighing"]}, ("bank",)
    )
    (versus,) = compare_with_techniques(run, ["mine"])
    assert versus.console.answer.headline.text == "Mine leaves a smaller gap than theirs on bank."
    (versus,) = compare_with_techniques(run, ["theirs"])
    assert versus.console.answer.headline.text == "Theirs leaves a larger gap than mine on bank."


def test_what_is_the_same_is_not_told_apart():
    rule = RULES["massaging"]
    run = run_of({"none": RULES["none"], "mine": rule, "theirs": rule}, ("bank",))
    (versus,) = compare_with_techniques(run, ["mine"])
    headline = versus.console.answer.headline.text
    assert headline == "Mine is not shown to leave a smaller or larger gap than theirs."


def test_gap_and_p_of_the_answer_and_of_none_are_the_same(run: RunResults):
    """Against none the table has the changes of the answer."""
    (versus,) = compare_with_techniques(run, ["none"])
    for setting, section in zip(answer_of(run).settings, versus.table.sections, strict=True):
        for finding, row in zip(setting.findings, section.tables[0].rows, strict=True):
            # All gaps go the same way here.
            change = abs(finding.value.mean) - abs(finding.value.mean - finding.change.mean)
            assert row[1].value == pytest.approx(100 * change, abs=1e-9)
            assert row[3].value == pytest.approx(100 * finding.cost.mean)
            assert np.isfinite(row[2].value)


def test_a_console_has_room_for_it(run: RunResults, tmp_path: Path):
    (versus,) = compare_with_techniques(run, ["massaging"])
    (section,) = versus.console.sections
    assert section.tables[0].heads == ("", "technique", "its gap", "p", "its accuracy", "result")
    assert len(section.tables[0].rows) == 9


def test_two_gaps_that_go_opposite_ways_are_two_and_files_have_the_label():
    """Theirs is as far from 0 on the other side: that they are the same, or not shown to differ, is false."""
    rules = {"none": RULES["none"], "mine": Rule((0.5, 0.5)), "theirs": Rule((0.6, 0.3545))}
    run = run_of(rules, ("bank",))  # 6 points one way, 6 the other
    mine = TechniqueSpec(ComponentSpec("mine", alias="Ours"), include_protected=False)
    config = run.plan.config.model_copy(update={"interventions": (mine,)})
    run = replace(run, plan=replace(run.plan, config=config))
    (versus,) = compare_with_techniques(run, ["Ours"])
    headline = versus.console.answer.headline.text
    assert headline == "Ours leaves another gap than theirs; which is smaller is not shown."
    assert versus.slug == "Ours"
    (table,) = versus.table.sections[0].tables
    assert table.rows[0][-1].text == "another gap"
    assert table.keys[-1] == "result"
