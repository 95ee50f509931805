"""What was asked is what was done, and rows are what they are taken for: stops, notes and verdicts."""

import itertools
import json
import re
import shlex
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError


def people(n: int = 400, **columns: Any) -> pd.DataFrame:
    """Return people of two sexes, in turn, with what else is said of them."""
    return pd.DataFrame({"sex": ["f", "m"] * (n // 2), **columns})


EVERYBODY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "decisions": ({"hired": 1}, {"score": "hired"}),
    "a threshold below all": ({"points": [60, 70, 80, 90] * 100}, {"score": "points", "threshold": 50}),
    "one word": ({"result": "Hired", "good": [1, 1, 0, 1] * 100}, {"score": "result", "favourable": "Hired"}),
    "by a margin": ({"hired": 1}, {"score": "hired", "margin": 0.05}),
    "chance not looked at": ({"hired": 1}, {"score": "hired", "rule": "point"}),
    "metrics by name": ({"hired": 1}, {"score": "hired", "metrics": "selection-rate-difference"}),
    "nobody, by a margin": ({"hired": 0}, {"score": "hired", "margin": 0.05}),
    "slices": ({"hired": 1, "office": ["a"] * 200 + ["b"] * 200}, {"score": "hired", "slice": "office"}),
}


@pytest.mark.parametrize("case", EVERYBODY)
def test_where_everybody_is_decided_on_alike_nothing_passes(case: str) -> None:
    columns, options = EVERYBODY[case]
    audit = fb.audit(people(**columns), attributes="sex", fail=True, **options)
    same = "(everybody has the same value)"
    assert audit.verdict == "undecided"
    places = ["sex in office a", "sex in office b"] if "office" in columns else ["sex"]
    names = ", ".join(f"{place} {same}" for place in places)
    assert audit.report.gate.reason == f"nothing to compare in {names}"
    assert sum("there is nothing to compare" in note for note in audit.report.notes) == (
        2 if "office" in columns else 1
    )


def test_a_file_of_those_selected_is_called_so() -> None:
    (note,) = (note for note in fb.audit(people(hired=1), score="hired").report.notes if "Everybody" in note)
    assert note.endswith("a file of those selected cannot show who was not.")


def test_where_one_is_not_selected_there_is_something_to_compare() -> None:
    audit = fb.audit(people(hired=[0] + [1] * 399), score="hired")
    assert audit.verdict == "pass"
    assert not any("nothing to compare" in note for note in audit.report.notes)


def test_decisions_without_a_mistake_are_open_by_a_ratio_and_pass_by_a_margin() -> None:
    right = people(score=[1, 1, 0, 0] * 100, label=[1, 1, 0, 0] * 100)
    by_ratio = fb.audit(right)
    assert by_ratio.verdict == "undecided"
    (note,) = (note for note in by_ratio.report.notes if "wrongly decided" in note)
    assert note.endswith("with --margin 0.05.")
    errors = {"metrics": ["fpr", "fnr"], "margin": 0.05}
    assert fb.audit(right, **errors).verdict == "pass"


RATED = people(200, rating=[5, 4, 3, 3, 3, 2, 2, 2, 1, 1] * 20, judge=["x", "y"] * 100)
TIES: dict[str, tuple[dict[str, Any], str]] = {
    "included": (
        {"top_k": 50},
        "top 50: 100 rows are selected, not 50, as 60 have the score at the cut, 3. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 0.",
    ),
    "a share, excluded": (
        {"top_share": 0.25, "ties": "exclude"},
        "top 25 %: 40 rows are selected, not 50, as 60 have the score at the cut, 3. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 0.",
    ),
    "drawn": (
        {"top_k": 50, "ties": "random", "seed": 3},
        "top 50: 10 of the 60 rows that have the score at the cut, 3, are drawn. Selected are 100 by "
        "--ties include, 40 by --ties exclude or 50 by --ties random --seed 3.",
    ),
    "by model": (
        {"top_k": 25, "model_column": "judge"},
        "top 25: of x 60 rows are selected, not 25, as 40 have the score at the cut, 3; of y 40 rows are "
        "selected, not 25, as 20 have the score at the cut, 3. Choose by --ties include, --ties exclude or "
        "--ties random --seed 0.",
    ),
}


@pytest.mark.parametrize("case", TIES)
def test_equal_scores_at_a_cut_are_said_with_the_choices_that_there_are(case: str) -> None:
    options, expected = TIES[case]
    audit = fb.audit(RATED, score="rating", attributes="sex", **options)
    (note,) = (note for note in audit.report.notes if note.startswith("Asked for "))
    assert note == f"Asked for {expected}"
    assert note in audit.to_json()


@pytest.mark.parametrize("options", [{"top_k": 40}, {"top_share": 0.2}, {"threshold": 3}])
def test_as_many_as_were_asked_for_need_no_note(options: dict[str, Any]) -> None:
    notes = fb.audit(RATED, score="rating", attributes="sex", **options).report.notes
    assert not any(note.startswith("Asked for ") for note in notes)


@pytest.mark.gate
def test_formats_of_integration_say_it(say: Any) -> None:
    RATED.to_csv("rated.csv", index=False)
    call = ("audit", "rated.csv", "--score", "rating", "-a", "sex")
    for name in ("github", "junit", "sarif", "ci"):
        assert "not 50, as 60 have the score at the cut" in say(*call, "--top-k", "50", "-f", name).out
        assert "notes" not in say(*call, "--top-k", "40", "-f", name).out


def test_the_choices_can_be_pasted(say: Any) -> None:
    RATED.to_csv("rated.csv", index=False)
    base = ("audit", "rated.csv", "--score", "rating", "-a", "sex", "--top-k", "50")
    for choice in (("--ties", "exclude"), ("--ties", "random", "--seed", "0")):
        assert say(*base, *choice, "-f", "json").code == 0


def counts(**groups: tuple[int, int]) -> pd.DataFrame:
    """Return a table of how many of each group are hired, and are not."""
    cells = [
        (group, word, n)
        for group, both in groups.items()
        for word, n in zip(("yes", "no"), both, strict=True)
    ]
    return pd.DataFrame(cells, columns=["group", "hired", "n"])


OF_COUNTS = {"score": "hired", "favourable": "yes", "counts": "n"}
HIRED = {"Women": (118, 302), "Men": (171, 229)}
TOTALS = {
    "named": counts(**HIRED, Total=(289, 531)),
    "in another language": counts(**HIRED, Insgesamt=(289, 531)),
    "in words": counts(**HIRED, **{"All applicants": (289, 531)}),
    "with a subtotal": counts(**HIRED, Other=(10, 20), Subtotal=(289, 531), **{"Grand total": (299, 551)}),
    "without a name": counts(**HIRED, **{"": (289, 531)}),
    "by its numbers alone": counts(**HIRED, Staff=(289, 531)),
    "not told by outcome": counts(**HIRED, Total=(0, 820)),
    "not told apart from a group called so": counts(**HIRED, **{"All others": (5, 7), "Total": (294, 538)}),
}


@pytest.mark.parametrize("case", TOTALS)
def test_a_total_of_the_other_groups_stops_and_can_be_left_out(case: str) -> None:
    with pytest.raises(UserError, match="as many rows as all other groups together") as stop:
        fb.audit(TOTALS[case], **OF_COUNTS)
    (problem,) = stop.value.problems
    left_out = [str(flag.value) for flag in problem.remedy]
    audit = fb.audit(TOTALS[case], exclude=left_out, **OF_COUNTS)
    gaps = {row.group: row.ratio.value for row in audit.report.disparities if row.metric == "selection-rate"}
    assert gaps["Men"] == pytest.approx(0.4275 / (118 / 420))


def test_rows_of_everybody_among_those_of_people_are_a_total() -> None:
    rows = people(hired=[1, 0, 0, 1, 0, 0, 0, 1] * 50)
    with_total = pd.concat([rows, rows.assign(sex="All")])
    with pytest.raises(UserError, match=r"sex: .*as a total has"):
        fb.audit(with_total, score="hired")
    one_row = pd.concat([rows, pd.DataFrame({"sex": ["All"], "hired": [1]})])
    assert any("called like a total" in note for note in fb.audit(one_row, score="hired").report.notes)


def cube(*, joint: bool) -> pd.DataFrame:
    """Return hired people by sex and race, with the totals of both; or these alone, where not `joint`."""
    rng = np.random.default_rng(3)
    cells = pd.DataFrame([(sex, race) for sex in "fm" for race in "ABW"], columns=["sex", "race"])
    cells = pd.concat([cells.assign(hired="yes"), cells.assign(hired="no")])
    cells["n"] = rng.integers(20, 90, len(cells))
    of_sexes = cells.groupby(["race", "hired"], as_index=False).n.sum().assign(sex="All")
    of_races = cells.groupby(["sex", "hired"], as_index=False).n.sum().assign(race="All")
    if not joint:
        return pd.concat([of_sexes, of_races])
    of_all = cells.groupby("hired", as_index=False).n.sum().assign(sex="All", race="All")
    return pd.concat([cells, of_sexes, of_races, of_all])


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("attributes", [("sex", "race"), ("race",)])
def test_rows_of_totals_count_for_no_attribute(attributes: tuple[str, ...], say: Any, *, joint: bool) -> None:
    table = cube(joint=joint)
    table.to_csv("cube.csv", index=False)
    call = ["audit", "cube.csv", "--score", "hired", "--favourable", "yes", "--set", "counts=n", "-f", "json"]
    for name in attributes:
        call += ["-a", name]
    said = say(*call)
    assert said.code == 2
    options = re.findall(r"fix: leave it out: (.*)", said.err)
    assert {option.split()[0] for option in options} == {"--keep" if joint else "--exclude"}
    mended = say(*call, *shlex.split(" ".join(options)))
    sizes = {
        row["group"]: row["rows"] for row in json.loads(mended.out)["groups"] if row["attribute"] == "race"
    }
    people_of = table[(table.sex == "All") & (table.race != "All")].groupby("race").n.sum()
    assert {name: sizes[name] for name in "ABW"} == people_of.to_dict()


ORDINARY = {
    "two groups": counts(All=(118, 302), Women=(118, 302)),
    "as many, with other outcomes": counts(**HIRED, Staff=(288, 532)),
    "few": counts(a=(2, 3), b=(1, 3), c=(3, 6)),
    "by design": counts(a=(60, 40), b=(60, 40), c=(120, 80)),
    "called like a total by part of its name": counts(**HIRED, **{"All others": (40, 30)}),
    "without a name": counts(**HIRED, **{"": (40, 30)}),
    "the others, half by design": counts(a=(60, 40), b=(30, 20), **{"All other races": (100, 50)}),
}


@pytest.mark.parametrize("case", ORDINARY)
def test_groups_that_are_no_totals_do_not_stop(case: str) -> None:
    notes = fb.audit(ORDINARY[case], **OF_COUNTS).report.notes
    assert sum("total" in note for note in notes) == (1 if case == "two groups" else 0)


def test_half_of_the_people_by_design_are_a_note_alone() -> None:
    """In 6 of 100 files of 100, 60 and 40 people as many of the 100 are selected as of the others."""
    hired = [1] * 50 + [0] * 50 + [1] * 35 + [0] * 25 + [1] * 15 + [0] * 25
    rows = pd.DataFrame({"race": ["a"] * 100 + ["b"] * 60 + ["c"] * 40, "hired": hired})
    (note,) = (note for note in fb.audit(rows, score="hired").report.notes if "if it is a total" in note)
    assert note.endswith("--exclude race=a.")


def test_who_chooses_a_reference_says_that_an_unnamed_sum_is_a_group() -> None:
    audit = fb.audit(TOTALS["by its numbers alone"], ref={"group": "Women"}, **OF_COUNTS)
    assert {row.reference for row in audit.report.disparities} == {"Women"}


DRAWN = np.random.default_rng(4).integers(0, 2, (200, 3))
ONCE = pd.DataFrame({"sex": np.where(DRAWN[:, 0], "f", "m"), "label": DRAWN[:, 1], "score": DRAWN[:, 2]})


def results(name: str, times: int = 4, **columns: Any) -> pd.DataFrame:
    """Return the decisions of several models on the same people, below each other."""
    rng = np.random.default_rng(5)
    parts = [ONCE.assign(score=rng.integers(0, 2, len(ONCE)), **{name: k}, **columns) for k in range(times)]
    return pd.concat(parts)


SAME_PEOPLE: dict[str, tuple[pd.DataFrame, str, str]] = {
    "models": (results("classifier"), "classifier", ""),
    "seeds, person by person": (results("Random Seed").sort_index(kind="stable"), "Random Seed", ""),
    "folds in any order, with identifiers": (
        results("repeat", applicant_id=range(200)).sample(frac=1, random_state=1),
        "repeat",
        "applicant_id",
    ),
    "models, person by person": (results("llm").sort_index(kind="stable"), "llm", ""),
    "in any order, with identifiers": (
        results("version", pid=range(200)).sample(frac=1, random_state=1),
        "version",
        "pid",
    ),
    "a name that says nothing": (results("variety"), "variety", ""),
    "no column": (results("variety").drop(columns="variety"), "", ""),
    "no column, with identifiers": (
        results("variant", person=range(200)).drop(columns="variant"),
        "",
        "person",
    ),
}


@pytest.mark.parametrize("case", SAME_PEOPLE)
def test_results_on_the_same_people_stop_with_lines_that_work(case: str, say: Any) -> None:
    frame, column, identifier = SAME_PEOPLE[case]
    frame.to_csv("all of them.csv", index=False)
    call = ("audit", "all of them.csv", "-a", "sex", "-f", "json")
    said = say(*call)
    assert said.code == 2
    assert "the same people" in said.err
    assert f"{200:,} rows each" in said.err
    options = []
    if column:
        options += [f"--model-column {shlex.quote(column)}", f"--keep {shlex.quote(f'{column}=0')}"]
    if identifier:
        options.append(f"--cluster {identifier}")
    for option in options or ["head -n 201 'all of them.csv' > once.csv"]:
        assert option in said.err
    for option in options:
        assert say(*call, *shlex.split(option)).code == 0


PROFILES = pd.DataFrame(
    list(itertools.product(range(2), range(8), range(3), range(2))), columns=["sex", "age", "job", "place"]
)
PEOPLE_OF_THEIR_OWN: dict[str, pd.DataFrame] = {
    "years": pd.concat(
        [ONCE.sample(frac=1, random_state=year).assign(year=year) for year in (2024, 2025, 2026)]
    ),
    "train and test": ONCE.assign(split=["train"] * 100 + ["test"] * 100),
    "runs of a process": ONCE.assign(run=np.arange(200) // 50),
    "folds": ONCE.assign(fold=np.arange(200) % 5),
    "in turn": people(label=[1, 0, 0, 1] * 100, score=[1, 1, 0, 0] * 100, run=[1] * 200 + [2] * 200),
    "sorted and balanced": pd.DataFrame(
        {
            "seed": np.repeat([1, 2], 100),
            "sex": ["f"] * 60 + ["m"] * 40 + ["f"] * 60 + ["m"] * 40,
            "score": [0, 1] * 100,
        }
    ),
    "every profile for each employer": pd.concat([PROFILES] * 6).assign(
        score=np.random.default_rng(6).integers(0, 2, 576)
    ),
    "batches that are numbered anew": ONCE.assign(run=np.arange(200) // 100, row=np.arange(200) % 100),
    "few": pd.concat([ONCE[:15].assign(model=k) for k in "ab"]),
}


@pytest.mark.parametrize("case", PEOPLE_OF_THEIR_OWN)
def test_people_of_their_own_do_not_stop(case: str) -> None:
    frame = PEOPLE_OF_THEIR_OWN[case]
    assert fb.audit(frame, attributes=[name for name in ("sex", "age") if name in frame]).report.rows


RACE = np.random.default_rng(7).integers(0, 3, 300)
ONE_HOT = pd.DataFrame({f"race_{name}": (k == RACE).astype(int) for k, name in enumerate(("A B", "C", "D"))})


def test_columns_of_which_one_is_1_are_one_attribute(say: Any) -> None:
    ONE_HOT.assign(score=DRAWN[:, 0].tolist() + [0, 1] * 50).to_csv("one.csv", index=False)
    said = say("audit", "one.csv", "-f", "json")
    (note,) = (note for note in json.loads(said.out)["notes"] if "one attribute" in note)
    option = note.partition("groups: ")[2].partition(" (")[0]
    assert option == "--intersect 'race_A B,race_C,race_D'"
    crossed = json.loads(say("audit", "one.csv", "-f", "json", *shlex.split(option)).out)
    assert "one attribute" not in str(crossed["notes"])
    sizes = {row["group"]: row["rows"] for row in crossed["groups"] if " × " in row["attribute"]}
    assert sizes == dict(
        zip(["1 × 0 × 0", "0 × 1 × 0", "0 × 0 × 1"], np.bincount(RACE).tolist(), strict=True)
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"race_C": (RACE == 1) + 0, "race_D": (RACE == 2) + 0, "race_E": np.arange(300) % 2},
        {"A": (RACE == 0) + 0, "B": (RACE == 1) + 0, "C": (RACE == 2) + 0},
        {
            "is_old": np.arange(300) % 2,
            "is_new": np.arange(300) // 2 % 2,
            "is_foreign": np.arange(300) // 4 % 2,
        },
    ],
)
def test_other_columns_of_0_and_1_need_no_note(columns: dict[str, Any]) -> None:
    frame = pd.DataFrame({**columns, "score": (RACE > 0).astype(int)})
    notes = fb.audit(frame, attributes=list(columns)).report.notes
    assert not any("one attribute" in note for note in notes)


SCALES = {
    "credit": (np.arange(300, 700), 0.5, "selects everybody", "500"),
    "shares without their point": (np.arange(1, 1001, 2.5), 0.62, "selects everybody", "620"),
    "percents": (np.linspace(1, 100, 400), 0.5, "selects everybody", "50"),
}


@pytest.mark.parametrize("case", SCALES)
def test_a_threshold_of_another_scale_than_the_scores_stops(case: str) -> None:
    scores, threshold, problem, meant = SCALES[case]
    frame = people(400, score=np.random.default_rng(8).permutation(scores))
    with pytest.raises(UserError, match=problem) as stop:
        fb.audit(frame, threshold=threshold)
    assert f'did you mean threshold="{meant}"' in str(stop.value)
    assert fb.audit(frame, threshold=float(meant)).report.rows == 400


@pytest.mark.parametrize(
    "scores",
    [
        np.arange(400) % 7,
        np.arange(-200, 200),
        np.arange(400) / 400,
        np.arange(0, 2000, 5),
        np.full(400, 0.5),
    ],
)
def test_a_threshold_within_the_scores_does_not(scores: Any) -> None:
    assert fb.audit(people(400, score=scores), threshold=0.5).report.rows == 400


@pytest.mark.parametrize("name", ["Count", "n", "Anzahl", "people"])
def test_a_table_of_counts_is_no_file_of_people(tmp_path, name):
    path = tmp_path / "p.csv"
    path.write_text(f"sex,score,{name}\nf,1,20\nf,0,40\nm,1,50\nm,0,45\n")
    with pytest.raises(fb.UserError, match="no two rows are alike") as stop:
        fb.audit(path)
    (counts,) = stop.value.problems[0].remedy
    assert fb.audit(path, counts=counts.value).report.rows == 155
    one_each = fb.audit(path, attribute="sex").report
    assert one_each.rows == 4
    assert any(f"--counts {name}" in note for note in one_each.notes)
    proposed = [r.options for remark in fb.look(path).remarks for r in remark.remedies if r.proposed]
    assert {"counts": name} in proposed


@pytest.mark.parametrize("column", ["car_count", "n"])
def test_people_with_a_number_of_something_are_people(tmp_path, column):
    path = tmp_path / "p.csv"
    rows = [f"{'fm'[i % 2]},{i % 3 % 2},{i % 5}" for i in range(60)]
    path.write_text("\n".join([f"sex,score,{column}", *rows]))
    assert fb.audit(path).report.rows == 60
    path.write_text("\n".join(["sex,score,n", *(f"{'fm'[i % 2]},{1000 + 7 * i},{i % 5}" for i in range(60))]))
    assert fb.audit(path).report.rows == 60


def test_a_few_high_scores_are_no_percents() -> None:
    few = np.r_[np.geomspace(0.001, 0.9, 196), 2.5, 4, 6, 11]
    audit = fb.audit(people(200, score=np.random.default_rng(9).permutation(few)), threshold=5)
    assert not any("one scale" in note for note in audit.report.notes)


def test_where_nearly_everybody_is_selected_the_line_says_how_to_mean_it() -> None:
    errors = people(400, score=np.r_[[0] * 10, np.arange(390) % 6 + 1])
    with pytest.raises(UserError, match="selects nearly everybody") as stop:
        fb.audit(errors, threshold=0.5)
    assert str(stop.value).endswith("as threshold=1")
    assert fb.audit(errors, threshold=1).report.rows == 400
