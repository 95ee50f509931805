"""A threshold for each group, or several in one text: what to do is named, and works."""

import pytest

import fairbench_cli as fb

FILES = {
    "loans.csv": ("sex", "f", "m"),
    "einstellung.csv": ("geschlecht", "weiblich", "männlich"),
}
BY_GROUP = "make a column of 0 and 1, by the cut of each row's group, and audit that: --score COLUMN"


def rows_of(name: str) -> list[str]:
    group, first, second = FILES[name]
    lines = [f"{group},score,decided,label"]
    for i in range(200):
        score = (i * 37) % 100 / 100
        own, cut = (first, 0.4) if i % 2 else (second, 0.5)
        lines.append(f"{own},{score},{int(score >= cut)},{int(i % 3 == 0)}")
    return lines


@pytest.mark.parametrize("name", FILES)
def test_cuts_by_group_and_several_cuts_name_the_way_out(say, tmp_path, name):
    group, first, second = FILES[name]
    (tmp_path / name).write_text("\n".join(rows_of(name)), encoding="utf-8")
    asked = "audit", name, "-a", group
    for option, value in (
        ("--threshold", f"{first}=0.4,{second}=0.5"),
        ("--threshold", f"{{{first}: 0.4, {second}: 0.5}}"),
        ("--top-k", f"{group}={first}:10"),
    ):
        done = say(*asked, option, value)
        assert done.code == 2
        assert BY_GROUP in done.err
    assert say(*asked, "--score", "decided").code == 0
    done = say(*asked, "--threshold", "0.4,0.5")
    assert "fix: write --threshold 0.4 --threshold 0.5\n" in done.err
    assert say(*asked, "--threshold", "0.4", "--threshold", "0.5").code == 0
    assert "fix: write --threshold 0.4\n" in say(*asked, "--threshold", "0,4").err
    assert "see `fairbench audit --help`" in say(*asked, "--threshold", "high").err


def test_other_doors_name_it_too(say, tmp_path):
    (tmp_path / "loans.csv").write_text("\n".join(rows_of("loans.csv")), encoding="utf-8")
    with pytest.raises(fb.UserError, match="by the cut of each row's group"):
        fb.audit("loans.csv", threshold={"f": 0.4, "m": 0.5}, attributes=["sex"])
    (tmp_path / "a.yaml").write_text("threshold: {f: 0.4, m: 0.5}\n")
    by_group = BY_GROUP.replace("--score COLUMN", "score: COLUMN in the place of threshold\n")
    assert by_group in say("audit", "loans.csv", "-a", "sex", "--config", "a.yaml").err
    # Several numbers are written as each door has them.
    with pytest.raises(fb.UserError, match=r"write threshold=\[0\.4, 0\.5\]"):
        fb.audit("loans.csv", threshold="0.4,0.5", attributes=["sex"])
    fb.audit("loans.csv", threshold=[0.4, 0.5], attributes=["sex"])
    (tmp_path / "a.yaml").write_text("threshold: 0.4,0.5\n")
    said = say("audit", "loans.csv", "-a", "sex", "--config", "a.yaml").err
    assert said.endswith("fix: write threshold: [0.4, 0.5]\n")
    (tmp_path / "a.yaml").write_text("threshold: [0.4, 0.5]\n")
    assert say("audit", "loans.csv", "-a", "sex", "--config", "a.yaml").code == 0
    start = "name: x\ndatasets: [dutch]\nsample: {from: shipped}\ntest: network\nclassifiers: [tree]\n"
    for lines in (
        "interventions: [none, group-thresholds: {thresholds: {female: 0.3}}]\n",
        "interventions: [none]\nthresholds: {female: 0.3}\n",
    ):
        (tmp_path / "x.yaml").write_text(start + lines)
        done = say("run", "x.yaml")
        assert done.code == 2
        assert "the technique group-thresholds finds one for each group" in done.err


@pytest.mark.gate
def test_three_words_may_be_classes_and_many_numbers_ranges(say, tmp_path):
    lines = [
        "age,y_pred,decided",
        *(f"{20 + i % 24},{('hire', 'maybe', 'no')[i % 3]},{i % 2}" for i in range(300)),
    ]
    (tmp_path / "words.csv").write_text("\n".join(lines), encoding="utf-8")
    asked = "audit", "words.csv", "-a", "age"
    done = say(*asked, "--score", "y_pred")
    assert done.err.endswith("--favourable hire; or compare each with the others, --outcome class\n")
    assert say(*asked, "--score", "y_pred", "--outcome", "class").code == 0
    ranges = "* age: each of 24 numbers is a group; in ranges: --bins age=4."
    done = say(*asked, "--score", "decided")
    assert ranges in done.out
    assert ranges not in say(*asked, "--score", "decided", "--bins", "age=4").out
