"""The answer of a run: known truths are answered rightly, and every number can be computed again."""

import itertools
import re
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from answer_again import Answer
from report.answer_run import PLAIN, REFUSED, counts, run_of

from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.components import ComponentSpec, TechniqueSpec
from fairbench_cli.experiment.plan import write_plan
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.report.ledger.answer import RunSetting, answer_of
from fairbench_cli.report.ledger.columns import fairness_metric
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.show.answer_text import CHOICE, MOST_LINES, MOST_WORDS, WIDTH, answer_document
from fairbench_cli.report.show.answer_worlds import result_of
from fairbench_cli.report.show.metric_wording import wording_of
from fairbench_cli.report.write import write_report


def answered(techniques: dict, **more) -> tuple[RunSetting, str, str]:
    """Return the only setting of a run, its headline, and everything that is said."""
    plan, records = run_of({"bank": techniques}, **more)
    metrics = tuple(dict.fromkeys([*plan.config.at_hand, "discrimination", "accuracy"]))
    run = run_results(Path(), plan, records, metrics)
    document, short = answer_document(run), answer_document(run, brief=True)
    (table,) = short.sections[0].tables
    console = [short.answer.headline.text, *dict.fromkeys(row[0].text for row in table.rows), *short.notes]
    # Heads and a rule, two blank lines, and where the files are.
    assert sum(len(textwrap.wrap(one, WIDTH)) for one in console) + len(table.rows) + 5 <= MOST_LINES
    assert len(document.answer.headline.text.split()) <= MOST_WORDS
    assert "β" not in document.answer.headline.text
    if not more.get("betas"):
        assert "β" not in " ".join([*console, markdown(document)])
    (setting,) = answer_of(run).settings
    return setting, document.answer.headline.text, markdown(document)


WORLDS = {
    "nothing": {"none": PLAIN, "massaging": PLAIN, "reweighing": PLAIN},
    "refusals": {"none": PLAIN, "massaging": (REFUSED, 0.7), "reweighing": (REFUSED, 0.7)},
    "winner": {"none": PLAIN, "massaging": ((0.30, 0.33), 0.78), "reweighing": PLAIN},
    "overshoot": {"none": PLAIN, "massaging": ((0.36, 0.30), 0.78), "reweighing": PLAIN},
    "labels": {"none": ((0.32, 0.32), 0.80), "massaging": ((0.32, 0.32), 0.80)},
}


def test_where_nothing_works_none_is_better():
    setting, headline, text = answered(WORLDS["nothing"])
    assert setting.outcome == "nothing shown"
    assert {one.kind for one in setting.findings} <= {"same", "not shown"}
    assert headline == "On bank nothing is shown to narrow the gap between women and men."
    assert f"**{headline}** On bank a measured narrowing below 1 to 1.2 points could not be shown." in text
    assert re.search(
        r"Women are selected 1[45]\.\d points less often than men "
        r"\(in the test rows: 15\.0 points less often\)",
        text,
    )


def test_a_technique_that_refuses_everybody_is_never_better_and_never_on_the_front():
    setting, headline, text = answered(WORLDS["refusals"])
    assert {one.kind for one in setting.findings} == {"constant"}
    assert not any(one.is_on_front or one.is_better for one in setting.findings)
    assert headline == "On bank every technique decides the same for everybody."
    assert "Refuses everybody (6 of 6 repeats): massaging, reweighing." in text
    # Not even where it does so once, and is the nearest to no gap.
    plan, records = run_of({"bank": WORLDS["winner"]})
    records["bank-massaging-0.0", 3] = records["bank-massaging-0.0", 3].__class__(
        "bank-massaging-0.0", 3, "ok", "", counts(REFUSED, 0.7, np.random.default_rng(1))
    )
    run = run_results(Path(), plan, records, plan.config.at_hand)
    (setting,) = answer_of(run).settings
    assert (setting.finding("massaging").kind, setting.outcome) == ("constant", "nothing shown")
    text = markdown(answer_document(run))
    assert "Refuses everybody (1 of 6 repeats): massaging." in text
    assert "refuses everybody (1 of 6 repeats) |" in text
    assert "On bank nothing is shown to narrow the gap between women and men." in text
    assert "massaging selects nobody or everybody in a repeat or more of 1 of 1 settings: " in text


def test_with_none_alone_no_technique_is_said_to_fail():
    assert answered({"none": PLAIN})[1] == "On bank no technique was run."
    assert answered({"none": PLAIN, "massaging": "failed"})[1] == "On bank no technique gave a value."


def test_the_best_of_few_repeats_is_said_to_be_of_few():
    plan, records = run_of({"bank": WORLDS["winner"]})
    for repeat in range(3, 6):
        key = "bank-massaging-0.0"
        records[key, repeat] = Repeat(key, repeat, "infeasible", "why not", None)
    text = markdown(answer_document(run_results(Path(), plan, records, plan.config.at_hand)))
    assert "Narrows the gap, not beaten on both gap and accuracy (3 of 6 repeats): massaging." in text


def test_a_change_that_alone_leaves_out_0_has_its_p_in_the_cell():
    setting, _, _ = answered(WORLDS["nothing"])
    finding = setting.finding("massaging")
    change = replace(finding.change, low=0.01, high=0.03)
    numbers = {**finding.numbers, "change": change}
    alone = replace(finding, kind="not shown", change_p=0.2041, n_tests=10, numbers=numbers)
    assert result_of(alone) == "no change shown (p .21 among 10)"
    assert (
        result_of(replace(alone, n=2)) == f"no change shown (p .21 among 10) (2 of {alone.n_repeats} repeats)"
    )
    assert result_of(replace(alone, kind="same")) == "leaves the gap the same"


def test_a_gap_that_wavers_less_is_no_narrower_gap():
    rng = np.random.default_rng(2)
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": PLAIN}}, repeats=12)
    for repeat in range(12):
        for name, gap in (("none", 0.08 * (-1) ** repeat), ("massaging", 0.01)):
            made = counts((0.32, 0.32 + gap), 0.8, rng)
            records[f"bank-{name}-0.0", repeat] = Repeat(f"bank-{name}-0.0", repeat, "ok", "", made)
    (setting,) = answer_of(run_results(Path(), plan, records, plan.config.at_hand)).settings
    one = setting.finding("massaging")
    assert abs(one.value.mean) > abs(setting.baseline.value.mean)
    assert (one.verdict, one.kind, setting.outcome) == ("better", "not shown", "no gap shown")


def test_each_technique_is_next_to_the_plain_model_that_sees_as_much():
    plan, records = run_of({"bank": WORLDS["winner"]})
    seen = [cell | {"include_protected": True, "key": f"{cell['key']}+s"} for cell in plan.cells]
    rng, rates = np.random.default_rng(4), {"none": (0.18, 0.42), "massaging": (0.36, 0.37)}
    for cell, repeat in itertools.product(seen, range(6)):
        made = counts(rates.get(cell["intervention"], (0.18, 0.42)), 0.8, rng)
        records[cell["key"], repeat] = Repeat(cell["key"], repeat, "ok", "", made)
    plan = replace(plan, cells=plan.cells + seen)
    document = answer_document(run_results(Path(), plan, records, plan.config.at_hand))
    assert re.search(r"Massaging( \+ s)? cuts the gap .* from 2[34](\.\d)? ", document.answer.headline.text)


def test_techniques_and_data_sets_have_the_names_that_a_config_gives():
    two = {"none": PLAIN, "massaging": ((0.30, 0.33), 0.82), "reweighing": ((0.28, 0.37), 0.80)}
    plan, records = run_of({"bank": two})
    spec = TechniqueSpec(ComponentSpec("massaging", alias="M"), include_protected=False)
    more = {"interventions": (*plan.config.interventions, spec)}
    datasets = (plan.config.datasets[0].model_copy(update={"title": "A bank"}),)
    plan = replace(plan, config=plan.config.model_copy(update=more | {"datasets": datasets}))
    text = markdown(answer_document(run_results(Path(), plan, records, plan.config.at_hand)))
    assert re.search(
        r"\*\*M cuts the gap between women and men on A bank from 15 to [23](\.\d)? points", text
    )
    assert re.search(r"\nA bank: women against men \(in the test rows: 15\.0 points less often\):", text)
    assert "massaging" not in text


def test_the_only_one_that_is_better_is_the_best():
    setting, headline, text = answered(WORLDS["winner"])
    assert (setting.outcome, setting.leading) == ("narrowed", ("massaging",))
    assert setting.finding("reweighing").kind in ("same", "not shown")
    assert re.fullmatch(
        r"Massaging cuts the gap between women and men on bank from 15 to 3 points and costs [12]\.\d points "
        r"of accuracy\.",
        headline,
    )
    assert re.search(r"\| massaging +\| +[23]\.\d \| .* \| +−[12]\.\d \| narrows +\|", text)


def test_of_several_that_are_better_the_smallest_gap_is_named_and_none_is_called_the_best():
    two = {"none": PLAIN, "massaging": ((0.30, 0.33), 0.76), "reweighing": ((0.28, 0.37), 0.80)}
    setting, headline, text = answered(two)
    assert (setting.outcome, setting.leading) == ("narrowed", ("massaging", "reweighing"))
    assert headline.startswith(
        "Massaging cuts the gap between women and men on bank from 15 to 3 points and costs "
    )
    assert CHOICE in text
    assert "Narrows the gap, not beaten on both gap and accuracy: massaging, reweighing." in text
    setting, _, text = answered(two | {"massaging": ((0.30, 0.33), 0.82)})
    assert not setting.finding("reweighing").is_on_front
    assert "Narrows the gap: reweighing." in text


def test_a_gap_that_is_turned_round_is_no_smaller_gap():
    setting, headline, text = answered(WORLDS["overshoot"])
    assert (setting.outcome, setting.leading) == ("overshoots", ("massaging",))
    assert setting.finding("massaging").verdict == "better"  # by its distance
    assert headline == "On bank massaging turns the gap between women and men round."
    assert re.search(r"\| massaging +\| −[56]\.\d \| .* \| turns round +\|", text)
    assert "Turns the gap round: massaging." in text
    assert "Narrows the gap" not in text


def test_a_change_by_less_than_a_tenth_of_the_gap_is_hardly_one():
    rng = np.random.default_rng(8)
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": PLAIN}}, repeats=20)
    for repeat in range(20):
        gap = 0.150 + rng.normal(0, 0.004)
        for name, change in (("none", 0.0), ("massaging", 0.012 + rng.normal(0, 0.0005))):
            key = f"bank-{name}-0.0"
            made = Counts(
                PAIR, 25 * counts((0.25, 0.25 + gap - change), 0.8, np.random.default_rng(repeat)).n
            )
            records[key, repeat] = Repeat(key, repeat, "ok", "", made)
    (setting,) = answer_of(run_results(Path(), plan, records, plan.config.at_hand)).settings
    finding = setting.finding("massaging")
    assert (finding.kind, finding.is_trivial, finding.narrows) == ("better", True, False)
    assert (setting.outcome, setting.leading) == ("hardly", ())
    text = markdown(answer_document(run_results(Path(), plan, records, plan.config.at_hand)))
    assert "On bank techniques hardly narrow the gap between women and men." in text
    assert "Hardly narrows the gap: massaging." in text


def test_where_even_a_gap_that_is_gone_would_not_be_shown_no_size_is_said():
    plan, records = run_of({"bank": {"none": PLAIN, "massaging": PLAIN}}, repeats=3)
    for repeat, gap in enumerate((0.02, 0.16, 0.30)):
        made = counts((0.30, 0.30 + gap), 0.8, np.random.default_rng(repeat))
        records["bank-massaging-0.0", repeat] = Repeat("bank-massaging-0.0", repeat, "ok", "", made)
    text = markdown(answer_document(run_results(Path(), plan, records, plan.config.at_hand)))
    assert "On bank not even the largest possible narrowing could be shown." in text


def test_a_gap_of_the_labels_alone_is_not_one_of_the_model():
    setting, headline, text = answered(WORLDS["labels"], repeats=30)
    assert setting.outcome == "no gap shown"
    assert setting.label_gap == pytest.approx(0.15)
    assert (setting.baseline.is_significant, setting.baseline.is_near_ideal) == (False, True)
    assert headline == "On bank no gap is shown without a technique."
    assert "On bank a measured gap below 0.2 points could not be shown." in text
    assert "No gap, shown to be less than 1 point: " in text
    assert "(in the test rows: 15.0 points less often)" in text


@pytest.mark.parametrize("how", ["infeasible", "failed", None])
def test_what_gave_no_value_is_named_with_its_reason(how):
    _, headline, text = answered({"none": PLAIN, "massaging": how})
    why = {
        "infeasible": "Not possible in 6 of 6 repeats, why not: massaging.",
        "failed": "Failed in 6 of 6 repeats, why not: massaging.",
    }
    assert why.get(how, "Not run yet: 1 of 2 cells, of 1 data set.") in text
    setting, headline, _ = answered({"none": how, "massaging": PLAIN})
    assert setting.outcome == "no value"
    assert headline


def test_without_a_plain_model_values_are_said():
    setting, headline, text = answered({"massaging": PLAIN})
    assert setting.outcome == "no baseline"
    assert headline == "On bank there is no model without a technique to compare with."
    assert re.search(r"\| massaging +\| 1[45]\.\d \| –[^|]*\| +\d\d\.\d \|", text)


def test_one_repeat_shows_nothing():
    setting, headline, text = answered(WORLDS["winner"], repeats=1)
    assert {one.kind for one in setting.findings} == {"untested"}
    assert setting.outcome == "untested"
    assert headline == "On bank nothing can be tested."
    assert "no gap" not in text.partition("## ")[0]
    assert "Not tested: massaging, reweighing." in text
    assert "nothing can be said of chance" in text


def test_what_is_so_of_one_attribute_is_not_said_of_the_data_set():
    plan, records = run_of({"bank": {"none": PLAIN}}, betas=(0.0, 0.5))
    source = plan.datasets[0]
    plan = replace(plan, datasets=[source, source | {"attribute": "race", "arc_to_outcome": False}])
    plan = replace(
        plan,
        config=plan.config.model_copy(
            update={"sample": plan.config.sample.model_copy(update={"beta": (0.0, 0.5)})}
        ),
    )
    brief = answer_document(run_results(Path(), plan, records, plan.config.at_hand), brief=True)
    assert "It changes nothing on bank (race)." in brief.notes[-1]


def test_a_ratio_is_said_as_times_as_often_and_other_metrics_as_numbers():
    _, headline, text = answered(WORLDS["winner"], metrics=("impact-ratio", "accuracy"))
    assert re.search(
        r"Women are selected 0\.6\d times as often as men \(in the test rows: 0\.6[23] times\)", text
    )
    assert re.search(
        r"Massaging narrows the gap between women and men on bank from 0\.6\d to 0\.9\d times", headline
    )
    assert (
        "Hardly narrows or widens: shown, but by less than a tenth of the gap. Not" in text
    )  # a ratio has no margin
    _, _, text = answered(WORLDS["winner"], metrics=("likelihood-ratio", "accuracy"))
    assert re.search(r"\| massaging +\| 0\.9\d [^|]*\| – +\|", text)  # not the change of its inverse
    assert wording_of(find_metric("likelihood-ratio")).told_number(-0.1) == np.inf  # an end of an interval
    _, _, text = answered(WORLDS["winner"], metrics=("accuracy", "mutual-information"))
    assert re.search(r"Of women against men, mutual-information is 0\.\d\d\d", text)
    assert fairness_metric(run_of({"a": WORLDS["winner"]}, metrics=("accuracy", "tpr"))[0].config).name == (
        "discrimination"
    )


@pytest.mark.parametrize(
    ("metric", "sentence"),
    {
        "cv": "women are selected 10.0 points less often than men",
        "overestimation": "women are wrongly selected 10.0 points more often than men",
        "underestimation": "women are missed 10.0 points less often than men",
        "ppv-difference": "women who are selected should be 10.0 points less often than men",
        "base-rate-difference": "the base rate of women is 10.0 points lower than that of men",
        "likelihood-ratio": "women are selected 10.00 times as often as men",
        "tpr-ratio": "women are rightly selected 0.10 times as often as men",
        "demographic-parity-ratio": "the lower selection rate of women and men is 0.10 times the higher one",
    }.items(),
)
def test_metrics_are_said_with_the_right_sign(metric, sentence):
    value = {"cv": 0.9, "likelihood-ratio": 0.1, "tpr-ratio": 0.1, "demographic-parity-ratio": 0.1}
    assert wording_of(find_metric(metric)).describe_gap(value.get(metric, -0.1), "women", "men") == sentence


def test_every_number_of_a_run_can_be_computed_again(finished, tmp_path):
    few = Answer(finished.folder).check()
    assert few.numbers > 40
    assert not few.wrong
    many = WORLDS | {"without": {"massaging": PLAIN}}  # so many that they are counted
    plan, records = run_of(many, betas=(0.0, 0.5))
    write_plan(tmp_path, plan)
    assert write_report(tmp_path, plan, records).files[:2] == ("report.html", "answer.md")
    counted = Answer(tmp_path).check()
    assert counted.numbers > 150
    assert not counted.wrong
    # The second script sees what is wrong: any digit of a sentence or table that is another one.
    text = (tmp_path / "answer.md").read_text(encoding="utf-8")
    places = [
        match.start() for match in re.finditer(r"\d(?=[^\n]*\n)", text.partition("\n* bank:")[0][:2500])
    ]
    rng = np.random.default_rng(3)
    for place in rng.choice(places, 3, replace=False):
        digit = str((int(text[place]) + 3) % 10)
        (tmp_path / "answer.md").write_text(text[:place] + digit + text[place + 1 :], encoding="utf-8")
        try:
            assert Answer(tmp_path).check().wrong, text[place - 40 : place + 20]
        except (ValueError, KeyError, AssertionError, TypeError, AttributeError) as error:
            assert not isinstance(error, AssertionError) or str(error), error  # noqa: PT017
