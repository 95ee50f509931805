"""Plans: from sizes, files and frames; from the command line; what an audit of such rows then says."""

import json
from math import isnan

import numpy as np
import pandas as pd
import pytest
from audit_counts import one
from conftest import worlds, write_parquet

import fairbench_cli as fb
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.planning import plan
from fairbench_cli.base.errors import UserError

SIZES = {"white": 1000, "black": 200, "asian": 90}


@pytest.fixture
def people():
    """A row per person, with groups and nothing else."""
    race = [group for group, rows in SIZES.items() for _ in range(rows)]
    return pd.DataFrame({"race": race, "sex": ["f", "m", "m"] * 430})


@pytest.mark.gate
def test_sizes_texts_files_and_frames_give_the_same_plan(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    scored = people.assign(score=0.3, Label="reoffended")  # neither is looked at
    write_parquet(scored, tmp_path / "scored.parquet")
    how = {"rate": 0.3, "attributes": ["race"]}
    text = ",".join(f"{group}={rows}" for group, rows in SIZES.items())
    tables = [
        plan(source, **how).to_pandas()
        for source in (
            *(SIZES, {"race": SIZES}, text, people),
            *(tmp_path / "people.csv", str(tmp_path / "scored.parquet")),
        )
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    assert fb.plan(SIZES, rate=0.3).family == 2
    both = plan(people, rate=0.3)
    assert {(one.attribute, one.group, one.reference) for one in both.compared} == {
        ("race", "asian", "white"),
        ("race", "black", "white"),
        ("sex", "f", "m"),
    }
    assert (both.family, plan(people, comparisons=7).family) == (3, 7)


def test_all_pairs_count_where_the_data_will_choose_the_reference_and_the_rest_is_everybody_else():
    assert plan({**SIZES, "other": 50}, ref_method="maximum").family == 6
    (asian, *_) = plan(SIZES, ref_method="rest").compared
    assert (asian.rows, asian.reference_rows) == (90, 1200)
    assert {row.reference for row in plan(SIZES, ref={"group": "black"}).compared} == {"black"}
    counted = plan(SIZES, counted=0.5, rate=0.3, ratio=0.6)
    assert (counted.compared[1].rows, counted.compared[1].reference_rows) == (100, 500)
    (asian, black) = counted.needed
    assert black.all_rows == pytest.approx(2 * black.rows * 1290 / 200, rel=0.02)


def test_an_audit_of_the_rows_planned_finds_the_ratio_as_often_as_planned():
    """By the audit's own judge: of three comparisons one is unfair, so Holm's first step decides."""
    rng = np.random.default_rng(3)
    found = plan({"a": 4000, "b": 1000, "c": 3000, "d": 3000}, rate=0.4, ratio=0.7)
    row = next(row for row in found.needed if row.group == "b")
    assert (row.verdict, row.chance) == ("fail", pytest.approx(0.8, abs=0.01))
    sizes = {"a": row.reference_rows, "b": row.rows, "c": 3 * row.rows, "d": 3 * row.rows}
    rates = dict.fromkeys(sizes, 0.4) | {"b": 0.28}
    failed, audits = 0, worlds(2000)
    for _ in audits:
        selected = {group: int(rng.binomial(rows, rates[group])) for group, rows in sizes.items()}
        cells = {group: (0, selected[group], 0, rows - selected[group]) for group, rows in sizes.items()}
        report = judge(one(cells, labelled=False), AuditConfig(draws=0))
        (mine,) = (each for each in report.disparities if each.group == "b" and each.deciding)
        failed += mine.verdict == "fail"
    assert failed / len(audits) == pytest.approx(0.8, abs=3 * (0.16 / len(audits)) ** 0.5)


def test_an_audit_says_the_rows_that_a_plan_with_its_rates_says():
    cells = {"a": (0, 120, 0, 280), "b": (0, 25, 0, 75)}
    (row,) = (
        each
        for each in judge(one(cells, labelled=False), AuditConfig()).disparities
        if each.group == "b" and each.deciding
    )
    assert row.reason == "wide"
    planned = plan({"a": 400, "b": 100}, rate=0.3, ratio=row.ratio.value).needed[0]
    assert planned.rows + planned.reference_rows == pytest.approx(row.rows_needed, abs=2)


@pytest.mark.gate
def test_the_command_prints_and_writes_plans(people, say, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    said = say("power", "people.csv", "-a", "race", "--rate", "0.3", "-o", "out")
    text = " ".join(said.out.split())
    assert said.code == 0
    assert text.startswith("With a probability of 80 %, where the rate of the reference is 30 %, an audit")
    assert "race: black against white (200 and 1,000 rows): a true ratio of 0.6" in text
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("plan-shown.csv", "plan-needed.csv", "plan.json", "plan.md", "plan.html"),
    }
    data = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert [row["group"] for row in data["shown"]] == ["asian", "black"]
    assert data["family"] == 2
    for name in ("json", "csv", "markdown", "html"):
        assert say("power", "people.csv", "--format", name).code == 0
    same = say("power", "white=1000,black=200,asian=90", "--rate", "0.3", "-f", "csv").out
    assert (
        same.replace("group,asian", "race,asian").splitlines()[1]
        == ((tmp_path / "out" / "plan-shown.csv").read_text().splitlines()[1])
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["white=1000,black="], "no list of group sizes"),
        (["white=1000,white=3"], "no list of group sizes"),
        (["white=1000"], "there is nothing to compare"),
        (["white=1000,black=0"], "not whole numbers from 1 to 1e12"),
        (["white=99999999999999999999,black=2"], "not whole numbers from 1 to 1e12"),
        (["white=1000,black=2", "--bins", "age=4"], "say nothing of other columns"),
        (["white=1000,black=2", "--intersect", "a,b"], "say nothing of other columns"),
        (["white=1000,black=2", "-a", "race", "-a", "sex"], "say nothing of other columns"),
        (["white=1000,black=2", "-c", "audit.yaml"], "weight has no effect on a plan"),
        (["white=1000,black=2", "--threshold", "0.5"], "threshold has no effect on a plan"),
        (["white=1000,black=2", "--rate", "1"], "rate"),
        (["white=1000,black=2", "--ref", "group=green"], "green"),
        (["white=1000,black=2", "--format", "groups"], "no format of a plan"),
        (["none.csv"], "no such file"),
    ],
)
def test_mistakes_take_two_lines(arguments, words, people, say, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.yaml").write_text("weight: w\n")
    said = say("power", *arguments)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert len(said.err.splitlines()) == 2


@pytest.mark.gate
def test_all_tables_are_asked_for(say):
    flags = ("power", "white=1000,black=200,asian=90,other=50")
    short = say(*flags).out
    assert "Rows that it takes, where that rate is 30 %" in short
    assert short.count("  0.3    0.7 ") == 3
    assert "What these rows can show" not in short
    assert short.endswith("All rates and ratios: --all. A page and files: -o FOLDER.\n")
    everything = say(*flags, "--all").out
    assert "What these rows can show" in everything
    assert "--all" not in everything


def test_ratios_that_no_rows_decide_leave_a_table_without_rows_and_a_note(say):
    said = say("power", "white=1000,black=200", "--rate", "0.3", "--ratio", "5", "-o", "out", "--all")
    assert said.code == 0
    assert "Left out: ratios" in said.out
    found = pd.read_csv("out/plan-needed.csv")
    assert (len(found), list(found)[-2:]) == (0, ["all_rows", "chance"])
    assert list(plan(SIZES, rate=0.3, ratio=5).to_pandas("needed")) == list(found)


def test_attributes_choose_among_sizes():
    sizes = {"race": SIZES, "sex": {"f": 700, "m": 590}}
    assert {one.attribute for one in plan(sizes, attributes=["sex"]).compared} == {"sex"}
    with pytest.raises(UserError, match="sizes of race, sex say nothing of other columns"):
        plan(sizes, attributes=["age"])


@pytest.mark.gate
def test_a_plan_in_python_shows_itself_and_refuses():
    found = plan(SIZES, rate=[0.2, 0.4])
    assert repr(found) == "<Plan of 2 comparisons: 1,290 rows>"
    assert "<table" in found._repr_html_()
    assert set(found.to_pandas()["rate"]) == {0.2, 0.4}
    assert isnan(plan({"a": 1000, "b": 5}, rate=0.1).shown[0].fails_below)
    with pytest.raises(UserError, match="shwn"):
        found.to_pandas("shwn")
    with pytest.raises(UserError, match="powr"):
        plan(SIZES, powr=0.9)
