"""The questions before an audit: the tree of Aequitas, what else is asked; every path ends in an audit."""

import pandas as pd
import pytest
from conftest import some_of
from messy_tables import MESSY, people

import fairbench_cli as fb
from fairbench_cli.audit.questions import EXAMPLES, QUESTIONS, RULES

DECISIONS = people(400, sex=["f", "m"], hired=["yes", "no", "no"], repaid=[0, 1])
SALARIES = people(
    400, sex=["f", "m"], salary=list(range(20_000, 90_000, 7)), salary_true=list(range(20_000, 90_000, 11))
)


def test_the_tree_of_aequitas():
    """The table of the paper, §3.2, and of its web tool, in the words of fairbench."""
    understood = fb.look(DECISIONS)
    tree = {
        ("selected", "number", "help", "both"): ["selected-share"],
        ("selected", "share", "help", "both"): ["selection-rate"],
        ("selected", "share", "harm", "both"): ["selection-rate"],
        ("mistakes", "share", "harm", "yes"): ["fdr"],
        ("mistakes", "share", "harm", "no"): ["fpr"],
        ("mistakes", "share", "help", "yes"): ["for"],
        ("mistakes", "share", "help", "no"): ["fnr"],
        ("mistakes", "share", "harm", "both"): ["fdr", "fpr"],
        ("mistakes", "share", "help", "both"): ["for", "fnr"],
    }
    for (fair_in, share, harm, few), metric in tree.items():
        answers = {"outcome": "all", "fair-in": fair_in, "share": share, "harm": harm, "few": few}
        choice = fb.choose(answers, understood)
        assert choice.options["metric"] == metric
        assert choice.options["decision"] == {"help": "assistive", "harm": "punitive"}[harm]


def paths(understood, answers=None):
    """Yield the answers of every way through the questions that are asked of a table."""
    answers = answers or {}
    for question in fb.questions(understood, answers):
        if question.id in answers or question.id in ("score", "favourable", "label"):
            continue
        for answer in question.answers:
            given = f"{answer.id}:{EXAMPLES[answer.takes]}" if answer.takes else answer.id
            if answer.takes == "groups":
                given = "given:sex=m"
            yield from paths(understood, {**answers, question.id: given})
        return
    yield answers


@pytest.mark.gate
@pytest.mark.parametrize("table", [DECISIONS, SALARIES, DECISIONS.drop(columns="repaid")])
def test_every_path_ends_in_an_audit(table):
    understood = fb.look(table)
    ways = list(paths(understood))
    assert len(ways) == len({tuple(sorted(way.items())) for way in ways})
    chosen = {}
    for way in ways:
        choice = fb.choose(way, understood)
        assert choice.reasons
        assert set(way.items()) <= set(choice.answers.items())
        chosen[repr(sorted(choice.options.items()))] = choice.options
    assert len(chosen) > 5
    for options in some_of(list(chosen.values()), 40):
        assert fb.audit(table, **options, draws=0).headline


def test_every_rule_and_every_answer_is_reached():
    reached = set()
    for table in (DECISIONS, SALARIES):
        understood = fb.look(table)
        for way in paths(understood):
            reached |= set(fb.choose(way, understood).reasons)
    reasons = {rule.reason for rule in RULES if "{value}" not in rule.reason}
    assert reasons <= reached


@pytest.mark.gate
@pytest.mark.parametrize("name", MESSY)
def test_without_an_answer_the_defaults_hold_and_an_audit_runs(name):
    understood = fb.look(MESSY[name])
    choice = fb.choose({}, understood)
    assert fb.audit(MESSY[name], **choice.options, draws=0).headline
    for question in fb.questions(understood):
        assert choice.answers[question.id] == question.default
        assert question.default in {answer.id for answer in question.answers}
        assert question.to_plain()["answers"]


def test_columns_and_values_are_asked_of_the_table():
    understood = fb.look(DECISIONS)
    by_id = {question.id: question for question in fb.questions(understood)}
    assert [answer.id for answer in by_id["score"].answers] == ["hired", "repaid"]
    assert by_id["favourable"].default == "yes"
    assert (by_id["outcome"].default, by_id["label"].default) == ("all", "repaid")
    answers = {"favourable": "no", "harm": "harm"}
    again = fb.look(DECISIONS, **fb.table_options(answers))
    assert fb.choose(answers, again).options["favourable"] == "no"


def test_whether_only_few_are_selected_is_counted():
    hired = ["yes"] * 3 + ["no"] * 97
    table = pd.DataFrame({"sex": ["f", "m"] * 100, "hired": hired * 2, "repaid": [0, 1, 1, 0] * 50})
    asked = {question.id: question for question in fb.questions(fb.look(table))}
    assert asked["few"].why == "Very few are 5% or less. Here 3.0 % are selected, which is very few."


def test_an_outcome_of_those_selected_alone_is_judged_by_these():
    understood = fb.look(DECISIONS)
    asked = [question.id for question in fb.questions(understood, {"outcome": "selected"})]
    assert "fair-in" not in asked
    assert "few" not in asked
    choice = fb.choose({"outcome": "selected"}, understood)
    assert choice.options["metric"] == ["ppv", "ppv-difference"]


def test_without_an_outcome_a_guessed_label_is_not_used():
    choice = fb.choose({"outcome": "none"}, fb.look(DECISIONS))
    assert "label" not in choice.options
    assert choice.options["metric"] == ["selection-rate"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"how": "x"}, 'there is no question "how"'),
        ({"harm": "perhaps"}, '"perhaps" is no answer'),
        ({"allowed": "share"}, "needs a value"),
        ({"allowed": "share:much"}, '"much" is no number'),
        ({"score": "sex"}, '"sex" is no answer'),
    ],
)
def test_wrong_answers_are_refused(answers, message):
    with pytest.raises(fb.UserError, match=message):
        fb.choose(answers, fb.look(DECISIONS))


@pytest.mark.gate
def test_the_choice_as_yaml_gives_the_same_audit_with_the_reasons_as_comments(tmp_path):
    choice = fb.choose({"allowed": "points:10", "compared": "given:sex=m"}, fb.look(DECISIONS))
    path = tmp_path / "audit.yaml"
    path.write_text(choice.yaml(), encoding="utf-8")
    comments = [line[2:] for line in choice.yaml().splitlines() if line.startswith("# ")]
    assert comments == list(choice.reasons)
    frame = DECISIONS
    with_file = fb.audit(frame, config=path, draws=0)
    assert with_file.to_json() == fb.audit(frame, **choice.options, draws=0).to_json()


def test_no_answer_has_the_name_of_a_measure_that_the_literature_uses_for_another():
    texts = [answer.text + answer.means for question in QUESTIONS for answer in question.answers]
    assert not [text for text in texts if "parity" in text.lower() or "fpr" in text.lower()]


@pytest.mark.gate
def test_example_people_are_invented_and_can_be_audited(tmp_path):
    example = fb.example_people(1000, seed=1)
    assert set(example.frame["people"]) == {"invented"}
    assert "invented" in example.name
    assert "invented" in example.note
    pd.testing.assert_frame_equal(example.frame, fb.example_people(1000, seed=1).frame)
    path = tmp_path / example.name
    example.to_csv(path)
    assert fb.audit(path, **example.options, draws=0).verdict
    understood = fb.look(path)
    assert understood.columns_with_role("score") == ["decile_score"]
    assert understood.columns_with_role("label") == ["two_year_recid"]
    by_id = {question.id: question for question in fb.questions(understood)}
    assert by_id["harm"].default == "harm"
    assert fb.audit(path, **fb.choose({}, understood).options, draws=0).verdict
