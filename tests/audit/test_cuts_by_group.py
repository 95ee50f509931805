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
    assert BY_GROUP in say("audit", "loans.csv", "-a", "sex", "--config", "a.yaml").err
    start = "name: x\ndatasets: [dutch]\nsample: {from: shipped}\ntest: network\nclassifiers: [tree]\n"
    for lines in (
        "interventions: [none, group-thresholds: {thresholds: {female: 0.3}}]\n",
        "interventions: [none]\nthresholds: {female: 0.3}\n",
    ):
        (tmp_path / "x.yaml").write_text(start + lines)
        done = say("run", "x.yaml")
        assert done.code == 2
        assert "the technique group-thresholds finds one for each group" in done.err
