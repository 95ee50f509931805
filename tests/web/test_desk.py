"""What the process of a file does, without a server: the numbers of `fb.audit`, whatever was answered."""

import csv
import json
import random

import pytest

import fairbench_cli as fb
from fairbench_cli.web.desk import Desk


def write_people(path, rng):
    """Write a random table: decisions or scores, labels or none, groups, ages or none."""
    n = rng.randint(60, 900)
    kind = rng.choice(["0/1", "words", "scores", "amounts"])
    names = {"0/1": "score", "words": "hired", "scores": "risk_score", "amounts": "salary"}
    columns = {"sex": [rng.choice(["f", "m", "m"]) for _ in range(n)]}
    if rng.random() < 0.7:
        columns["race"] = [rng.choice("aaabbc") for _ in range(n)]
    if rng.random() < 0.4:
        columns["age"] = [rng.randint(18, 80) for _ in range(n)]
    chances = [0.3 if sex == "f" else 0.5 for sex in columns["sex"]]
    decisions = {
        "0/1": [int(rng.random() < chance) for chance in chances],
        "words": [rng.choices(["yes", "no"], [chance, 1 - chance])[0] for chance in chances],
        "scores": [round(rng.random() * (1 + chance) / 2, 3) for chance in chances],
        "amounts": [round(1000 * rng.lognormvariate(3, 0.4) * (1 + chance), 2) for chance in chances],
    }
    columns[names[kind]] = decisions[kind]
    if kind != "amounts" and rng.random() < 0.6:
        columns["label"] = [rng.randint(0, 1) for _ in range(n)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def answer_at_random(desk, choices, rng):
    """Return the options that follow from random answers to the questions."""
    answers = {}
    for question in desk.questions(choices, answers)["questions"]:
        if question["id"] in ("score", "favourable", "label", "outcome"):
            continue
        answers[question["id"]] = rng.choice(question["answers"])["id"]
    laid_out = desk.questions(choices, answers)
    for question in laid_out["questions"]:  # the fields of what was chosen
        for answer in question["answers"]:
            for field in answer["fields"]:
                answers[field["name"]] = field["value"]
    return desk.questions(choices, answers)["options"]


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(10))
def test_a_desk_audits_as_fb_does(tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311 - a table, not secrets
    path = tmp_path / "people.csv"
    write_people(path, rng)
    desk = Desk(lambda *_: None)
    desk.use(str(path), "people.csv")
    choices = {}
    for _ in range(6):
        remarks = [remark for remark in desk.look(choices)["remarks"] if remark["stops"]]
        if not remarks:
            break
        buttons = [button for button in remarks[0]["buttons"] if "label" not in button["words"]]
        if not buttons or (remarks[0]["chosen"] and rng.random() < 0.5):
            break
        choices = desk.change(choices, {"remedy": rng.choice(buttons)["value"]})
    options = answer_at_random(desk, choices, rng)
    switches = desk.audit(options, options)["switches"]
    unchanged = desk.switch(options, options, {switch["name"]: switch["value"] for switch in switches})
    assert unchanged == options  # a page sends all switches with the one that was turned
    assert json.loads(desk.write(options, "json")) == json.loads(fb.audit(path, **options).to_json())
    switched = desk.switch(options, options, {"ref:sex": "f"})
    desk.audit(switched, options)
    assert json.loads(desk.write(switched, "json")) == json.loads(fb.audit(path, **switched).to_json())
    assert desk.page(switched, "", "").startswith("<!DOCTYPE html>")


def test_a_desk_has_one_file_as_long_as_it_lives():
    desk = Desk(lambda *_: None)
    desk.use("a.csv", "people.csv")
    desk.use("a.csv", "people.csv")
    with pytest.raises(RuntimeError, match="one file"):
        desk.use("b.csv", "people.csv")


@pytest.fixture
def applicants(tmp_path):
    """Write applicants with scores, an outcome, a date of birth, and a decision in several spellings."""
    rng = random.Random(3)  # noqa: S311 - a table, not secrets
    rows = ["gender,age,tests,points,repaid,invited,born"]
    for number in range(600):
        invited = rng.choice(["Yes", "No", "no", "ja", "nee"])
        cells = [rng.choice("fm"), *(rng.randint(*ends) for ends in ((19, 66), (0, 3), (1, 10), (0, 1)))]
        rows.append(",".join(map(str, (*cells, invited, f"19{50 + number % 50}-02-03"))))
    path = tmp_path / "applicants.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.gate
def test_answering_again_changes_nothing_that_was_not_answered(applicants):
    """A page sends all answers with each one, the good value among them."""
    desk = Desk(lambda *_: None)
    desk.use(str(applicants), "applicants.csv")
    first = desk.questions({"score": "invited"}, {})
    answers = {question["id"]: question["chosen"] for question in first["questions"]}
    again = desk.questions({"score": "invited"}, answers)
    assert again["options"] == first["options"]
    assert again["questions"] == first["questions"]
    (good,) = (question for question in first["questions"] if question["id"] == "favourable")
    assert sorted(answer["id"].lower() for answer in good["answers"]) in (["ja", "no"], ["no", "yes"])


def test_questions_say_why_and_who_is_selected(applicants):
    desk = Desk(lambda *_: None)
    desk.use(str(applicants), "applicants.csv")
    choices = {"score": "points", "threshold": [6.0], "label": "repaid"}
    questions = {question["id"]: question for question in desk.questions(choices, {})["questions"]}
    assert questions["harm"]["why"].startswith("Selected are those with 6 or more in points. ")
    assert " are selected, which is not very few." in questions["few"]["why"]


@pytest.mark.gate
def test_where_scores_are_cut_and_what_explains_are_switches(applicants):
    desk = Desk(lambda *_: None)
    desk.use(str(applicants), "applicants.csv")
    choices = {"score": "points", "threshold": [6.0], "label": "repaid", "attribute": ["gender"]}
    options = desk.questions(choices, {})["options"]
    switches = {switch["name"]: switch for switch in desk.audit(options, options)["switches"]}
    assert switches["threshold"]["value"] == "6"
    assert ("tests", "tests") in switches["explain"]["choices"]
    assert ("fpr", "wrongly selected (fpr)") in switches["metric"]["choices"]
    higher = desk.switch(options, options, {"threshold": "8"})
    assert higher["threshold"] == [8.0]
    assert desk.switch(higher, options, {"threshold": ""}) == options
    explained = desk.switch(options, options, {"explain": "tests"})
    desk.audit(explained, options)
    assert "explain" in desk.page(explained, "", "")
    every = desk.switch(options, options, {"metric": "all"})
    assert set(every["metric"]) == {"selection-rate", "fpr", "fnr", "fdr", "for"}
    switches = {switch["name"]: switch for switch in desk.audit(every, options)["switches"]}
    assert switches["metric"]["value"] == "all"
    with pytest.raises(fb.UserError, match="no number"):
        desk.switch(options, options, {"threshold": "high"})
    # Without labels no mistake is counted, and none is offered.
    unlabelled = desk.questions({"score": "invited"}, {"outcome": "none"})["options"]
    switches = {switch["name"]: switch for switch in desk.audit(unlabelled, unlabelled)["switches"]}
    assert {name for name, _ in switches["metric"]["choices"]} <= {
        "",
        "selection-rate",
        "selected-share",
    }


@pytest.mark.gate
def test_another_reference_leaves_numbers_cut_as_they_are(applicants):
    desk = Desk(lambda *_: None)
    desk.use(str(applicants), "applicants.csv")
    for bins in (4, [30.0, 50.0]):
        options = desk.questions({"score": "invited", "bins": {"age": bins}}, {})["options"]
        switches = desk.audit(options, options)["switches"]
        form = {switch["name"]: switch["value"] for switch in switches}
        (groups,) = (switch["choices"] for switch in switches if switch["name"] == "ref:age")
        last_group, _ = groups[-1]
        switched = desk.switch(options, options, {**form, "ref:age": last_group})
        assert switched["bins"] == {"age": bins}
        assert desk.audit(switched, options)["headline"]
    for text, bins in (("20, 40", [20.0, 40.0]), ("45", [45.0]), ("3 groups", 3)):
        assert desk.switch(options, options, {"bins:age": text})["bins"] == {"age": bins}


@pytest.mark.gate
def test_many_columns_are_folded_away(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"choice_{i}" for i in range(20)]
    rows = [",".join(str(i * j % 7 % 2) for j in range(1, 21)) + f",{'fm'[i % 2]}" for i in range(200)]
    path.write_text("\n".join([",".join([*names, "sex"]), *rows]) + "\n")
    desk = Desk(lambda *_: None)
    desk.use(str(path), "wide.csv")
    (score, *_) = desk.questions({}, {})["questions"]
    assert (len(score["answers"]), len(score["folded"])) == (6, 6)
    last = score["folded"][-1]["id"]
    (score, *_) = desk.questions({}, {"score": last})["questions"]
    assert score["chosen"] == last
    assert any(answer["chosen"] for answer in score["answers"])


def test_a_page_may_not_name_files(tmp_path):
    path = tmp_path / "people.csv"
    write_people(path, random.Random(1))  # noqa: S311 - a table, not secrets
    desk = Desk(lambda *_: None)
    desk.use(str(path), "people.csv")
    for option in ("against", "config", "baseline", "to_db", "output", "id"):
        with pytest.raises(fb.UserError, match="a page may not set"):
            desk.change({}, {"remedy": json.dumps({option: "/etc/passwd"})})
        with pytest.raises(fb.UserError, match="a page may not set"):
            desk.audit({option: "/etc/passwd"}, {})
    with pytest.raises(fb.UserError, match="no such switch"):
        desk.switch({}, {}, {"against": "/etc/passwd"})
