"""What is said of worlds: known truths are told, trade-offs that are artefacts by tests on both labels."""

import itertools
import json
import re
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from answer_again import Answer
from conftest import plain_cell, run_plan
from report.worlds_data import facts, write_facts
from report.worlds_run import GOOD, NOBODY, Rule, invented

from fairbench_cli.base.checksums import add_checksum
from fairbench_cli.document.markdown import markdown
from fairbench_cli.experiment.journal.journal import Journal, new_header
from fairbench_cli.experiment.plan import write_plan
from fairbench_cli.experiment.versions import versions_of_numbers
from fairbench_cli.report.compare_runs import compare_runs
from fairbench_cli.report.ledger.answer import answer_of
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame
from fairbench_cli.report.ledger.cell_labels import TRAINED_ON_TRUTH
from fairbench_cli.report.ledger.exact_worlds import FILE
from fairbench_cli.report.ledger.paired_differences import run_pareto_frame
from fairbench_cli.report.ledger.results import run_results
from fairbench_cli.report.show.answer_text import MOST_LINES, MOST_WORDS, WIDTH, answer_document, each_setting
from fairbench_cli.report.show.paper_table import paper_table
from fairbench_cli.report.show.tables import caption
from fairbench_cli.report.write import write_report

MOST, FEW = ("label", 0.75), ("label", 0.25)
CLEAN, HIDDEN = ("", 0.0), ("measurement edu_level", 0.5)
RULES = {
    "none": {CLEAN: GOOD, FEW: Rule((0.7, 0.85)), MOST: Rule((0.35, 0.85)), HIDDEN: Rule((0.6, 0.85))},
    # Right on the truth, wrong on the record.
    "massaging": {CLEAN: GOOD, FEW: GOOD, MOST: GOOD, HIDDEN: Rule((0.6, 0.85))},
    # Pays with the favoured, on both.
    "reweighing": {CLEAN: Rule((0.85, 0.5)), FEW: Rule((0.7, 0.5)), MOST: Rule((0.35, 0.5)), HIDDEN: NOBODY},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the facts of the worlds."""
    found = tmp_path_factory.mktemp("worlds")
    write_facts(found, [("bank", "sex", *world) for world in RULES["none"]])
    return found


@pytest.fixture(scope="module")
def run(folder: Path):
    """A run with a world of labels, one of measurement, and one without bias."""
    return invented(RULES, repeats=5, folder=folder)


def console(document) -> list[str]:
    """Return the lines of a brief answer."""
    answer = document.answer
    (table,) = document.sections[0].tables
    texts = [answer.headline.text, *dict.fromkeys(row[0].text for row in table.rows), *document.notes]
    return [line for text in texts for line in textwrap.wrap(text, WIDTH)] + [
        row[1].text for row in table.rows
    ]


def test_what_a_bias_costs_and_who_gains_is_told_on_true_labels(run):
    settings = {(one.world, one.beta): one for one in answer_of(run).settings}
    most = settings[MOST]
    # 50 points of TPR of the deprived positives, who are 40 % of half of the rows.
    assert 100 * most.bias_cost.mean == pytest.approx(-10.0, abs=0.5)
    assert most.bias_cost.kind == "worse"
    assert most.finding("massaging").gains_accuracy
    assert (most.finding("massaging").contrast, most.finding("reweighing").contrast) == ("artefact", "real")
    assert most.finding("reweighing").is_trade_off
    assert settings[CLEAN].bias_cost.kind == ""
    assert settings[HIDDEN].finding("reweighing").contrast == "constant"
    assert not any(one.gains_accuracy for one in settings[HIDDEN].findings)
    # A card of the page has room for the first sentences: costs of the bias come before who else was tried.
    (told,) = (long for one, _, long in each_setting(run) if (one.world, one.beta) == HIDDEN)
    assert 0 < told.index("The bias costs accuracy: −") < told.rindex("massaging")
    text = markdown(answer_document(run))
    assert re.search(
        r"\nbank \(label\), β = 0\.75: deprived against favoured; "
        r"the bias costs accuracy: −(9|10)\.\d points \(.*\):\n\n.*\n.*\n"
        r"\| massaging +\| \+(9|10)\.\d \\\[.*\\\] \| +−.* \| (9|10)\.\d of (9|10)\.\d \| artefact +\|",
        text,
    )
    assert "the best possible on " in text


def test_the_headline_names_artefacts_and_is_short(run):
    headline = answer_document(run).answer.headline.text
    assert headline == (
        "In 2 of 3 settings a technique regains accuracy that the bias took, most often massaging (2); "
        "in 1 the recorded trade-off is an artefact."
    )
    assert len(headline.split()) <= MOST_WORDS


def test_an_answer_on_recorded_labels_says_so_first(folder):
    recorded = invented(RULES, repeats=5, folder=folder, test_labels="recorded")
    document = answer_document(recorded)
    assert document.answer.headline.text.startswith("On recorded labels, not on true ones: ")
    (most,) = (one for one in answer_of(recorded).settings if (one.world, one.beta) == MOST)
    assert most.finding("massaging").contrast == "artefact"
    assert most.label_gap == pytest.approx(0.55 - 0.1)  # what is recorded of .40
    assert "labels and groups as recorded, of the rows included" in " ".join(document.notes)


@pytest.mark.gate
def test_many_worlds_fit_on_a_console(tmp_path):
    names = ["label", "label given edu_level=5|6", "selection", "measurement edu_level", "history edu_level",
             "omission economic_status", "group", "label + selection 0.5"]  # fmt: skip
    worlds = list(itertools.product(names, (0.25, 0.5, 0.75)))
    rng = np.random.default_rng(3)
    rules = {"none": {world: Rule((0.85 - 0.6 * world[1], 0.85)) for world in worlds} | {CLEAN: GOOD}}
    for name in ("massaging", "reweighing", "preferential-sampling"):
        rules[name] = {world: Rule(tuple(rng.uniform(0.3, 0.85, 2))) for world in [*worlds, CLEAN]}
    datasets = ("adult", "compas", "dutch")
    write_facts(tmp_path, [(name, "sex", *world) for name in datasets for world in rules["none"]])
    document = answer_document(invented(rules, datasets, folder=tmp_path, repeats=3), brief=True)
    lines = console(document)
    assert len(lines) + 5 <= MOST_LINES  # heads and a rule, two blank lines, and where the files are
    assert any(line.startswith("And ") and "more settings" in line for line in lines)


@pytest.mark.gate
def test_every_number_on_worlds_can_be_computed_again(run, folder):
    write_plan(folder, run.plan)
    for labels in ("true", "recorded"):
        plan = run.plan
        if labels == "recorded":
            plan = replace(plan, config=plan.config.model_copy(update={"test_labels": labels}))
        assert "answer.md" in write_report(folder, plan, run.records).files
        found = Answer(folder, labels).check()
        assert found.numbers > 120
        assert not found.wrong
    text = (folder / "answer.md").read_text(encoding="utf-8")
    places = [match.start() for match in re.finditer(r"\d(?=\.\d points \()", text)]
    for place in places[:1]:
        digit = str((int(text[place]) + 3) % 10)
        (folder / "answer.md").write_text(text[:place] + digit + text[place + 1 :], encoding="utf-8")
        assert Answer(folder, "recorded").check().wrong


def test_the_model_without_the_bias_is_a_line_and_no_remedy():
    rules = {**RULES, TRAINED_ON_TRUTH: dict.fromkeys(RULES["none"], GOOD)}
    own = {name: {world: of[world] for world in (FEW, MOST)} for name, of in rules.items()}  # no clean world
    run = invented(own, repeats=5)
    (most,) = (one for one in answer_of(run).settings if (one.world, one.beta) == MOST)
    assert most.trained_on_truth is not None
    assert TRAINED_ON_TRUTH not in {one.technique for one in most.findings}
    assert most.bias_cost.kind == "worse"
    assert TRAINED_ON_TRUTH not in set(run_pareto_frame(run)["intervention"])
    lost = bias_cost_frame(run).query("metric == 'accuracy' and labels == 'true' and intervention == 'none'")
    assert lost["lost"].notna().all()
    # Without one, and without a world without bias, what it cost is not known, and nothing is "regained".
    alone = invented({name: {MOST: of[MOST]} for name, of in RULES.items()}, repeats=5)
    (setting,) = answer_of(alone).settings
    assert np.isnan(setting.bias_cost.mean)
    headline = answer_document(alone).answer.headline.text
    assert headline.startswith("Under label massaging gains accuracy on true labels; the recorded trade")


def test_tables_name_the_world_and_both_labels(run):
    table = paper_table("discrimination-accuracy", run)
    called = ["bank, sex, tree, no bias", "bank, sex, tree, label", "bank, sex, tree, measurement edu_level"]
    assert [one.title for one in table.sections] == called
    own = table.sections[1]
    rows = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in own.tables[0].rows}
    assert own.tables[0].heads[2:] == ("β = 0.25", "β = 0.75")
    assert rows["labels", "discrimination"] == ["0.150", "0.150"]
    assert rows["recorded labels", "discrimination"] == ["0.250", "0.450"]
    assert "with the bias that is named; β: the strength of its first mechanism" in table.facts[0]


def test_what_beta_does_has_its_name_in_captions_and_answers(tmp_path):
    kinds = {"a": "prior shift", "b": "mixture", "c": "label bias"}
    cells = [plain_cell(dataset=name, attribute="sex", beta=0.5, key=name) for name in kinds]
    plan = run_plan(cells, [{"dataset": name, "bias_kind": kind} for name, kind in kinds.items()], "shipped")
    assert ("β: prior shift on a, a mixture of prior shift and label bias on b, label bias on c.") in caption(
        run_results(tmp_path, plan, {}, ()), set()
    )


def test_compare_names_the_worlds_that_one_run_alone_has(run, tmp_path):
    some = {name: {world: of[world] for world in (CLEAN, MOST)} for name, of in RULES.items()}
    for name, one in (("a", run), ("b", invented(some, repeats=5))):
        (tmp_path / name).mkdir()
        sources = [source | {"sample_size": 1000} for source in one.plan.datasets]
        write_plan(tmp_path / name, replace(one.plan, datasets=sources))
        with Journal(tmp_path / name / "journal", new_header(versions_of_numbers())) as journal:
            for repeat in one.records.values():
                journal.append(repeat)
    found = compare_runs((tmp_path / "a", tmp_path / "b"), ("a", "b"))
    said = " ".join(found.document.facts)
    assert "Only a has the world measurement edu_level." in said
    assert set(found.frame["world"]) == {"", "label"}


def test_a_second_model_without_the_bias_is_no_remedy_either():
    rules = {"none": {MOST: RULES["none"][MOST]}, TRAINED_ON_TRUTH: {MOST: GOOD}}
    run = invented(rules, repeats=5, seen=(False, True))
    (setting,) = answer_of(run).settings
    assert setting.trained_on_truth is not None
    assert setting.baseline is not None
    assert setting.trained_on_truth.key == (
        *setting.baseline.key[:5],
        TRAINED_ON_TRUTH,
        *setting.baseline.key[6:],
    )
    assert [one.technique for one in setting.findings] == ["none + s"]


def test_a_world_of_strength_0_is_no_bias_and_lacks_nothing():
    run = invented({name: {("selection", 0.0): GOOD} for name in ("none", "massaging")})
    text = markdown(answer_document(run))
    assert "**All worlds have strength 0, so nothing can be said of a bias.**" in text
    assert "gave a value" not in text


def test_a_plain_model_that_refuses_everybody_is_not_untested():
    run = invented({"none": {CLEAN: GOOD, MOST: NOBODY}, "massaging": dict.fromkeys((CLEAN, MOST), GOOD)})
    most = "the model without a technique decides the same for everybody in some repeat, accuracy: −"
    assert most in markdown(answer_document(run))


def test_one_repeat_tests_no_cost():
    text = markdown(answer_document(invented(RULES, repeats=1)))
    assert "What the bias costs is not tested, accuracy: −" in text


@pytest.mark.gate
def test_thresholds_are_told_for_what_the_plain_model_sees(tmp_path):
    """To rules that do not see the group a record may rank people otherwise: the reason is told too."""
    kept = facts([("bank", "sex", *MOST)])
    seeing = [[*row[:4], True, *row[5:]] for row in kept]
    blind = [[*row[:10], 0.0 if row[7] == "kept" else row[10], *row[11:]] for row in kept]
    (tmp_path / FILE).write_text(json.dumps(add_checksum({"facts": [*blind, *seeing]})))
    rules = {name: {world: of[world] for world in (CLEAN, MOST)} for name, of in RULES.items()}
    ranking = {
        False: "the record's ranking is not kept among ",
        True: "the record's ranking is kept within each group.",
    }
    for sees, words in ranking.items():
        text = markdown(answer_document(invented(rules, folder=tmp_path, seen=(sees,))))
        assert words in text
        assert ("not kept among everybody" in text or " to rules that do not see sex" in text) is not sees


def test_everybody_who_overshoots_is_named_behind_the_answer():
    names = ("massaging", "reweighing", "uniform-sampling", "preferential-sampling", "reject-option")
    run = invented({"none": {CLEAN: GOOD}, **{name: {CLEAN: Rule((0.95, 0.3))} for name in names}})
    (own,) = (long for _, _, long in each_setting(run))
    clause = next(text for text in own.split(". ") if "urns the gap round" in text)
    assert all(name in clause for name in names)
