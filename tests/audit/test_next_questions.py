"""What to ask next: at most five lines, each of what is known of this audit, with options that work."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.show.next_questions import ask_next

OPTIONS = re.compile(r"--(?:decision|explain) (?:'[^']*'|[\w-]+)")
FOUR_FIFTHS = "four-fifths rule"


def people(n=600, *, labels=False, groups="ab", more=False, seed=1):
    """Return decisions in which the last group is hired half as often as the others."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(groups), n)
    hired = (rng.random(n) < np.where(group == groups[-1], 0.25, 0.5)).astype(int)
    frame = {"sex": group, "hired": hired}
    if labels:
        frame["able"] = (rng.random(n) < 0.2 + 0.5 * hired).astype(int)
    if more:
        frame |= {"dept": rng.choice(["it", "law"], n), "shift": rng.choice(["x", "y"], n)}
        frame |= {"hours": rng.integers(10, 60, n), "staff_id": range(1000, 1000 + n)}
    return pd.DataFrame(frame)


FILES = {
    "hires": (people(), {}),
    "labels": (people(labels=True), {"label": "able"}),
    "columns": (people(more=True), {}),
    "small groups": (people(110, groups="abcdefg"), {"min_group": 20}),
    "fair": (people(3000, groups="aa"), {}),
}
ASKED = {
    "as usual": {},
    "tau": {"tau": 0.9},
    "margin": {"margin": 0.05},
    "of another rate": {"metric": ["selected-share"]},
    "chance left out": {"rule": "point"},
    "preset": {"preset": "eeoc"},
}


def asked_of(file, options):
    frame, keys = FILES[file]
    if "preset" in options:
        keys = {key: value for key, value in keys.items() if key != "min_group"}
    return audit(frame, score="hired", **keys, **options)


@pytest.mark.parametrize("how", [{}, {"slice": "job"}, {"score": "grade"}])
def test_categories_of_workers_are_offered_where_pay_is_audited(how):
    rng = np.random.default_rng(2)
    pay = rng.lognormal(10, 0.2, 200).round()
    rows = {"pay": pay, "grade": pay / 9, "sex": ["f", "m"] * 100, "job": rng.choice(["cook", "clerk"], 200)}
    lines = ask_next(audit(pd.DataFrame(rows), **({"score": "pay", "attributes": ["sex"]} | how)).report)
    offered = [line for line in lines if line.startswith("Categories: --slice job judges each job by itself")]
    assert len(offered) == (not how)


@pytest.mark.parametrize("options", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("file", FILES)
def test_five_lines_at_most_and_a_rule_only_where_it_is_one(file, options):
    result = asked_of(file, options)
    lines = ask_next(result.report)
    assert len(lines) <= 5
    assert len({line.split()[0] for line in lines}) == len(lines)
    named = any(FOUR_FIFTHS in line for line in lines)
    compares = any(row.deciding for row in result.report.disparities)
    assert named == (compares and options in ({}, ASKED["chance left out"]))
    page, markdown = result.to_html(), result.to_markdown()
    for line in lines:
        assert line.split(" --")[0].replace("*", r"\*") in markdown
    assert ("What to ask next" in page) == ("What to ask next" in markdown) == bool(lines)


@pytest.mark.parametrize("file", FILES)
def test_options_work_when_they_are_pasted(file, say, tmp_path):
    frame, keys = FILES[file]
    frame.to_csv(tmp_path / "people.csv", index=False)
    command = ["audit", "people.csv", "--score", "hired"]
    for key, value in keys.items():
        command += (
            [f"--{key.replace('_', '-')}", value] if key == "label" else ["--set", f"min-group={value}"]
        )
    said = say(*command, "--all")
    assert said.code == 0, said.err
    pasted = OPTIONS.findall(" ".join(ask_next(asked_of(file, {}).report)))
    for option in pasted:
        after = say(*command, "--all", *shlex.split(option))
        assert (after.code, after.err) == (0, "")
        assert after.out != said.out
    assert bool(pasted) == (file in {"labels", "columns"})


def test_each_line_says_what_is_known_of_the_audit():
    lines = ask_next(asked_of("hires", {}).report)
    assert lines[0].startswith("Labels: no column says who should be selected.")
    assert ask_next(asked_of("labels", {}).report)[0].startswith(
        "Mistakes: --decision assistive goes by the missed"
    )
    assert ask_next(asked_of("columns", {}).report)[-1].startswith("Reasons: --explain dept shows")
    few = ask_next(
        audit(people(120, groups="aab", seed=2).assign(hired=[0, 1, 1] * 40), score="hired").report
    )
    (rows,) = (line for line in few if line.startswith("Rows: "))
    assert re.fullmatch(r"Rows: b \(sex\) has \d\d; about [\d,]+ would decide\.", rows)
    assert "Reasons" not in " ".join(few)  # no gap is shown


def test_a_console_has_one_of_them_at_most(say, tmp_path):
    for file in FILES:
        frame, keys = FILES[file]
        frame.to_csv(tmp_path / "people.csv", index=False)
        label = ["--label", keys["label"]] if "label" in keys else []
        out = " ".join(say("audit", "people.csv", "--score", "hired", *label).out.split())
        assert sum(f"* {start}: " in out for start in ("Labels", "Reasons", "Mistakes", "Limit", "Rows")) <= 1
        assert "What to ask next" not in out
