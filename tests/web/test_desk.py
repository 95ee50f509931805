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
        choices = desk.change(choices, {"remedy": rng.choice(buttons)["value"]})
    options = answer_at_random(desk, choices, rng)
    desk.audit(options, options)
    assert json.loads(desk.write(options, "json")) == json.loads(fb.audit(path, **options).to_json())
    switched = desk.switch(options, options, {"ref:sex": "f"})
    desk.audit(switched, options)
    assert json.loads(desk.write(switched, "json")) == json.loads(fb.audit(path, **switched).to_json())
    assert desk.page(switched, "", "").startswith("<!DOCTYPE html>")


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
