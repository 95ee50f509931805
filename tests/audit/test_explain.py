"""``fairbench audit --explain``: what is behind a difference between groups."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pytest
from conftest import most_by_chance, two_lines, worlds

import fairbench_cli as fb
from fairbench_cli.audit import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.parts.explanations import standard_errors, stratify, to_counts
from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.strata import read_strata
from fairbench_cli.audit.show.document import audit_page
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.table import Column
from fairbench_cli.measures.conditional import explained_difference, unexplained_difference
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.rows import Rows, count_by_stratum
from fairbench_cli.network.draw import sample
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import network_belift

# department, sex, admitted, how many: both departments admit both alike
ADMISSION = [
    *[("law", "f", 1, 80), ("law", "f", 0, 720), ("law", "m", 1, 20), ("law", "m", 0, 180)],
    *[("maths", "f", 1, 160), ("maths", "f", 0, 40), ("maths", "m", 1, 660), ("maths", "m", 0, 165)],
]

KEY = "explanations"


@pytest.fixture
def admission(tmp_path):
    lines = [f"{name},{sex},{y}" for name, sex, y, n in ADMISSION for _ in range(n)]
    (tmp_path / "admission.csv").write_text("\n".join(["department,sex,admitted", *lines]) + "\n")
    return tmp_path / "admission.csv"


def explained(source, by: str, **more):
    """Return what is explained of each pair of groups."""
    return audit(source, **{"label": "y", "attribute": ["sex"], "explain": by} | more).report.found[KEY]


def people(size: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size, p=[0.4, 0.6])
    job = rng.choice(["a", "b", "c"], size)
    age = rng.integers(18, 70, size)
    y = (rng.random(size) < 0.2 + 0.2 * (sex == "m") + 0.2 * (job == "a")).astype(int)
    score = (rng.random(size) * 0.5 + 0.3 * y).round(3)
    return pd.DataFrame({"id": range(size), "score": score, "y": y, "sex": sex, "job": job, "age": age})


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame.drop(columns="score").to_csv(tmp_path / "people.csv", index=False)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    return frame


def rows_of(frame: pd.DataFrame, outcome: np.ndarray, by: str) -> Rows:
    features = np.column_stack([frame["age"], pd.factorize(frame["job"], sort=True)[0]]).astype(float)
    s = (frame["sex"] == "m").to_numpy().astype(int)
    strata = pd.factorize(frame[by])[0]
    return Rows(s, outcome, outcome, features=features, nominal=(False, True), strata=strata)


def test_admissions_that_departments_explain_leave_nothing(admission, say):
    found = audit(admission, label="admitted", attribute=["sex"], explain="department")
    (sex,) = found.report.found[KEY]
    (department,) = sex.parts
    assert (sex.group, sex.reference, sex.rows, sex.reference_rows) == ("f", "m", 1000, 1025)
    assert sex.difference.value == pytest.approx(240 / 1000 - 680 / 1025)
    assert department.unexplained.value == pytest.approx(0, abs=1e-12)
    assert department.explained.value == pytest.approx(sex.difference.value)
    assert department.unexplained.low < 0 < department.unexplained.high
    assert department.cmh == pytest.approx(0, abs=1e-9)
    assert [(one.name, one.rows, one.rate, one.reference_rate) for one in department.strata] == [
        ("law", 800, 0.1, 0.1),
        ("maths", 200, 0.8, 0.8),
    ]
    short = say("audit", admission, "--label", "admitted", "-a", "sex", "--explain", "department").out
    assert "what department explains, and what is left" in short
    assert re.search(r"sex +f +-0\.42 +-0\.42 \[.*\] +0\.00 \[", short)
    said = say("audit", admission, "--label", "admitted", "-a", "sex", "--explain", "department", "--all")
    assert said.code == 0
    assert "f is selected less often than m: the difference is -0.423 [" in said.out
    assert 'The labels "admitted" themselves are audited' in " ".join(said.out.split())
    assert max(map(len, said.out.splitlines())) <= 80


def test_the_page_says_in_its_first_lines_what_is_explained(admission):
    result = audit(admission, label="admitted", attribute=["sex"], explain="department")
    answer = audit_page(result.report).answer
    line = answer.statements[-1]
    assert line.verdict is None
    assert re.fullmatch(
        r"Of the gap in selection between f and m of 42\.3 points, department explains 42\.3 \([\d.]+ to "
        r"[\d.]+\), and 0\.0 \(-[\d.]+ to [\d.]+\) are left\.",
        line.text,
    )
    assert line.text in result.to_html().split("<section")[0]
    assert line.text not in result.to_markdown()
    without = audit(admission, label="admitted", score="admitted", attribute=["sex"])
    assert not any("gap in selection" in text.text for text in audit_page(without.report).answer.statements)


def test_every_number_is_that_of_the_measure(table):
    (sex,) = explained("people.csv", "job")
    rows = rows_of(table, table["y"].to_numpy(), "job")
    (job,) = sex.parts
    assert job.unexplained.value == pytest.approx(-float(measure("unexplained-difference", rows)))
    assert job.explained.value + job.unexplained.value == pytest.approx(sex.difference.value)
    assert job.unexplained.low < job.unexplained.value < job.unexplained.high
    assert min(one.belift for one in job.strata) >= 0


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_order_of_rows_and_columns_changes_nothing(table, weight):
    frame = table.drop(columns="score").assign(w=1.0 + table["age"] % 3)
    options = {"label": "y", "attributes": ["sex"], "explain": ["job"], "weight": weight}
    mixed = frame.sample(frac=1, random_state=1)[["w", "age", "y", "sex", "job"]]
    assert fb.audit(frame, **options).to_json() == fb.audit(mixed, **options).to_json()


def test_the_cmh_test_is_statsmodels(table):
    from statsmodels.stats.contingency_tables import StratifiedTable

    (sex,) = explained("people.csv", "job,age")
    crossed = sex.parts[0]
    ages = pd.qcut(table["age"], 5, labels=False)
    tables = [
        pd.crosstab(part["sex"], part["y"]).reindex(index=["f", "m"], columns=[0, 1], fill_value=0)
        for _, part in table.groupby([table["job"], ages])
    ]
    expected = StratifiedTable([one.to_numpy().astype(float) for one in tables]).test_null_odds()
    assert crossed.by == "job × age"
    assert len(crossed.strata) == 15
    assert crossed.cmh == pytest.approx(expected.statistic)
    assert crossed.cmh_p == pytest.approx(expected.pvalue)
    assert any(note.startswith("age: cut into 5 bins") for note in sex.notes)


def test_intervals_cover_what_they_should():
    # Samples of a known truth: departments differ, the unexplained difference is 0.2.
    hits, samples = 0, worlds(2000)
    for seed in samples:
        rng = np.random.default_rng(seed)
        f = rng.random(400) < 0.5
        z = (rng.random(400) < 0.3 + 0.4 * f).astype(int)
        y = (rng.random(400) < 0.2 + 0.3 * z + 0.2 * ~f).astype(int)
        counts = count_by_stratum(Rows(1 - f, y, y, strata=z))
        found = stratify("z", ("0", "1"), counts, 1.0, AuditConfig()).unexplained
        hits += found.low <= -0.2 <= found.high
    assert len(samples) - hits <= most_by_chance(len(samples), 0.05)


def small_strata(rng: np.random.Generator, rows: int, many: int) -> np.ndarray:
    """Counts by stratum, group and decision; groups, rates and strata go together, 0.3 is left in each."""
    z = rng.integers(0, many, rows)
    s = (rng.random(rows) < 0.3 + 0.4 * z / many).astype(int)
    y = (rng.random(rows) < 0.1 + 0.5 * z / many + 0.3 * s).astype(int)
    cells = np.zeros((many, 2, 2))
    np.add.at(cells, (z, s, y), 1)
    return cells[cells.sum((1, 2)) > 0]


@pytest.mark.parametrize(("many", "least"), [(5, 0.93), (50, 0.93), (100, 0.92), (150, 0.8), (300, 0)])
def test_intervals_of_small_strata_hold_their_estimate_and_cover_the_truth(many, least):
    truth = among_compared = 0
    samples = worlds(2000)
    for seed in samples:
        cells = small_strata(np.random.default_rng(seed), 600, many)
        found = stratify("z", ("",) * len(cells), to_counts(cells), 1.0, AuditConfig())
        for part in (found.explained, found.unexplained):
            assert part.low < part.value < part.high
        left = found.unexplained
        shares = cells.sum(-1) / cells.sum((0, 2))
        estimated = -0.3 * shares[(shares > 0).all(-1)].sum() / 2
        truth += left.low <= -0.3 <= left.high
        among_compared += left.low <= estimated <= left.high
    assert len(samples) - truth <= most_by_chance(len(samples), 1 - least)
    assert len(samples) - among_compared <= most_by_chance(len(samples), 0.05)


def test_standard_errors_are_those_of_leaving_out_every_row_in_turn():
    cells = small_strata(np.random.default_rng(1), 60, 15)
    explained, unexplained = [], []
    for place in zip(*np.nonzero(cells), strict=True):
        fewer = cells.copy()
        fewer[place] -= 1
        explained += [float(explained_difference(to_counts(fewer)))] * int(cells[place])
        unexplained += [float(unexplained_difference(to_counts(fewer)))] * int(cells[place])
    assert len(explained) == 60
    expected = [np.sqrt(59 / 60 * np.sum((np.array(v) - np.mean(v)) ** 2)) for v in (explained, unexplained)]
    assert standard_errors(cells) == pytest.approx(expected)
    # One row less and a group is empty.
    assert np.isnan(standard_errors(np.array([[[0.0, 1], [3, 4]]]))).all()


@pytest.mark.gate
def test_strata_too_small_to_be_compared_are_said_at_once(tmp_path, say):
    rng = np.random.default_rng(0)
    sex, job = rng.integers(0, 2, 600), rng.integers(0, 200, 600)
    hired = (rng.random(600) < 0.2 + 0.5 * sex).astype(int)
    pd.DataFrame({"sex": np.where(sex, "m", "f"), "job": [f"j{i:03d}" for i in job], "hired": hired}).to_csv(
        tmp_path / "jobs.csv", index=False
    )
    (found,) = audit(tmp_path / "jobs.csv", label="hired", attribute=["sex"], explain="job").report.found[KEY]
    assert found.parts[0].compared < 0.9
    assert found.parts[0].least_belift is None  # no stratum has 30 rows
    flags = ("audit", tmp_path / "jobs.csv", "--label", "hired", "--explain", "job")
    assert "f: Not all can be compared" in say(*flags).out
    said = " ".join(say(*flags, "--all").out.split())
    alone = f"{100 * (1 - found.parts[0].compared):.3g} % (job) of all"
    assert said.index("Not all can be compared: rows in strata of one group") < said.index(alone)
    assert said.index(alone) < said.index("What is explained, and what is left")


@pytest.mark.gate
def test_the_least_belift_is_that_of_a_stratum_with_rows_enough(admission, say):
    with admission.open("a") as file:
        file.write("physics,f,0\nphysics,m,1\n")  # nobody of one woman
    (sex,) = audit(admission, label="admitted", attribute=["sex"], explain="department").report.found[KEY]
    part = sex.parts[0]
    assert [one.belift for one in part.strata if one.name == "physics"] == [0]
    least = part.strata[part.least_belift]
    assert (least.name, least.rows) == ("law", 800)
    assert least.belift == pytest.approx(0.1 / (921 / 2027))
    out = say("audit", admission, "--label", "admitted", "--explain", "department", "--all").out
    assert "strata with fewer than 30 left out" in " ".join(out.split())
    assert "department law 800 0.220" in " ".join(out.split())


def groups_csv(path: Path, of: dict[str, tuple[int, int]]) -> Path:
    """Rows and accepted of every group, half of each in either job."""
    lines = [f"{g},{'ab'[i % 2]},{int(i < y)}" for g, (n, y) in of.items() for i in range(n)]
    path.write_text("\n".join(["group,job,y", *lines]) + "\n")
    return path


@pytest.mark.gate
def test_groups_too_small_to_be_explained_are_said(tmp_path, say):
    few = groups_csv(tmp_path / "few.csv", {"a": (20, 10), "b": (24, 18)})
    (found,) = audit(few, label="y", explain="job").report.found[KEY]
    assert (found.group, found.reference, found.parts) == ("a", "b", ())
    assert found.notes == ("a: fewer than 30 rows, not explained.",)
    assert found.difference.value == pytest.approx(-0.25)
    for form in ("console", "json", "markdown", "html"):
        said = say("audit", few, "--label", "y", "-a", "group", "--explain", "job", "-f", form)
        assert said.code == 0
        assert "a: fewer than 30 rows, not explained." in said.out
    some = groups_csv(tmp_path / "some.csv", {"a": (20, 10), "b": (100, 60), "c": (60, 30), "d": (9, 0)})
    (found,) = explained(some, "job", attribute=["group"])
    assert found.group == "c"
    assert "a, d: fewer than 30 rows, not explained." in found.notes
    (found,) = explained(some, "job", attribute=["group"], ref={"group": "d"})
    assert found.group == "b"
    assert found.notes == (
        "a: fewer than 30 rows, not explained.",
        "b, c: the reference has fewer than 30 rows, not explained.",
    )


def test_groups_accepted_alike_are_said_to_be(tmp_path, say):
    # 0.1 + 0.2 and the like leave dust.
    alike = groups_csv(tmp_path / "alike.csv", {"a": (70, 49), "b": (100, 70)})
    (found,) = explained(alike, "job", attribute=["group"])
    assert found.difference.value == 0
    out = say("audit", alike, "--label", "y", "-a", "group", "--explain", "job", "--all").out
    assert "a is selected as often as b: the difference is 0.000 [" in out
    assert "is selected more often" not in out
    assert "-0.000 [" not in out


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"threshold": 0.5}, lambda score: score >= 0.5),
        ({"top_k": 100}, lambda score: score >= score.nlargest(100).min()),
        ({"top_k": 100, "ties": "exclude"}, None),
        ({"top_share": 0.25}, lambda score: score >= score.nlargest(100).min()),
    ],
)
def test_decisions_are_explained_where_there_are_scores(table, options, selected):
    found = audit("scores.csv", label="y", attribute=["sex"], explain="job", **options)
    if selected is None:
        kept = table["score"].nlargest(101)
        cut = kept.iloc[100] if kept.iloc[99] == kept.iloc[100] else kept.iloc[99] - 1e-9
        outcome = (table["score"] > cut).to_numpy().astype(int)
    else:
        outcome = selected(table["score"]).to_numpy().astype(int)
    (sex,) = found.report.found[KEY]
    rows = rows_of(table, outcome, "job")
    sign = -1 if sex.reference == "m" else 1
    assert sex.parts[0].unexplained.value == pytest.approx(
        sign * float(measure("unexplained-difference", rows))
    )
    (row,) = (row for row in found.report.groups if row.group == "m")
    assert row.counts["pp"] == outcome[rows.s == 1].sum()


def test_a_run_without_it_is_the_same_but_for_what_is_added(table):
    plain = audit("scores.csv", label="y", threshold=0.5, attribute=["sex"])
    more = audit("scores.csv", label="y", threshold=0.5, attribute=["sex"], explain="job")
    document, expected = json.loads(more.to_json()), json.loads(plain.to_json())
    (sex,) = document.pop("explanations")
    assert "explain" not in expected["config"]
    del document["config"]["explain"]
    assert document == expected
    assert sex["parts"][0]["by"] == "job"
    assert (
        more.to_json()
        == audit("scores.csv", label="y", threshold=0.5, attribute=["sex"], explain="job").to_json()
    )
    markdown = more.to_markdown()
    before, after = plain.to_markdown().split("## How to read it")
    assert markdown.startswith(before)
    assert markdown.endswith("## How to read it" + after)
    assert "## sex: what is behind" in markdown
    page = more.to_html()
    assert "Strata of job" in page
    assert "Strata of job" not in plain.to_html()


def test_the_order_of_the_rows_does_not_matter(table, tmp_path):
    table.drop(columns="score").sample(frac=1, random_state=1).to_csv(tmp_path / "mixed.csv", index=False)
    one, other = (explained(name, "job")[0] for name in ("people.csv", "mixed.csv"))
    assert one == other


def test_a_config_file_can_ask(table, say, tmp_path):
    (tmp_path / "audit.yaml").write_text("label: y\nattribute: sex\nexplain: [job, [job, age]]\ndraws: 0\n")
    said = say("audit", "people.csv", "-c", "audit.yaml", "-f", "json")
    (sex,) = json.loads(said.out)["explanations"]
    assert [part["by"] for part in sex["parts"]] == ["job", "job × age"]
    assert sex["parts"][0]["unexplained"]["low"] < sex["parts"][0]["unexplained"]["value"]  # needs no draws
    assert sex["parts"][0]["strata"][0]["difference"]["low"] is not None


def test_many_groups_small_ones_and_the_rest(tmp_path):
    frame = people(600)
    frame["race"] = np.random.default_rng(1).choice(["a", "b", "c"], 600)
    frame.loc[:9, "race"] = "rare"
    frame.drop(columns="score").to_csv(tmp_path / "some.csv", index=False)
    options = {"label": "y", "attribute": ["sex", "race"], "explain": "job", "draws": 50}
    found = audit(tmp_path / "some.csv", ref={"race": "b"}, **options).report.found[KEY]
    assert [(each.group, each.reference) for each in found[1:]] == [("a", "b"), ("c", "b")]
    rest = audit(tmp_path / "some.csv", ref_method="rest", **options).report.found[KEY]
    assert [(each.group, each.reference) for each in rest[:2]] == [("f", "(rest)"), ("m", "(rest)")]
    assert rest[0].difference.value == pytest.approx(-rest[1].difference.value)
    assert {each.rows + each.reference_rows for each in rest} == {600}
    without = audit(tmp_path / "some.csv", label="y", explain="job", draws=50).report.found[KEY]
    assert [each.attribute for each in without] == ["sex", "race", "race"]


def test_empty_cells_are_strata_and_levels_of_their_own(table, tmp_path):
    frame = table.drop(columns="score").astype({"age": object})
    frame.loc[:19, "job"] = None
    frame.loc[20:39, "age"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    (sex,) = explained(tmp_path / "holes.csv", "job")
    assert [one.name for one in sex.parts[0].strata] == ["a", "b", "c", "(missing)"]
    assert sum(one.rows + one.reference_rows for one in sex.parts[0].strata) == len(frame)
    (age,) = explained(tmp_path / "holes.csv", "age")
    assert age.parts[0].strata[-1].name == "(missing)"


def test_weights_are_honoured_or_said(table, tmp_path):
    frame = table.drop(columns="score").assign(w=1 + table["y"] * 2)
    frame.to_csv(tmp_path / "weights.csv", index=False)
    many = frame.loc[frame.index.repeat(frame["w"])].drop(columns="w")
    many.to_csv(tmp_path / "many.csv", index=False)
    (one,) = explained(tmp_path / "weights.csv", "job", weight="w")
    (other,) = explained(tmp_path / "many.csv", "job")
    assert one.difference.value == pytest.approx(other.difference.value)
    assert one.parts[0].unexplained.value == pytest.approx(other.parts[0].unexplained.value)
    wide = one.parts[0].unexplained.high - one.parts[0].unexplained.low
    assert wide > other.parts[0].unexplained.high - other.parts[0].unexplained.low


def test_an_attribute_may_be_cut_and_a_file_be_parquet(table, tmp_path):
    frame = table.drop(columns="score")
    duckdb.from_df(frame).write_parquet(str(tmp_path / "people.parquet"))
    options = {"label": "y", "attribute": ["sex"], "bins": {"age": 2}, "explain": "job"}
    one = audit(tmp_path / "people.parquet", **options).report.found[KEY]
    assert [each.attribute for each in one] == ["sex", "age"]
    assert one[1].rows + one[1].reference_rows == len(frame)
    below, above = (frame[frame["age"] <= frame["age"].median()], frame[frame["age"] > frame["age"].median()])
    rates = {below["age"].min(): below["y"].mean(), above["age"].min(): above["y"].mean()}
    own, other = (rates[int(name.split("-")[0])] for name in (one[1].group, one[1].reference))
    assert one[1].difference.value == pytest.approx(own - other)
    other = audit(tmp_path / "people.csv", **options).report.found[KEY]
    assert one == other


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--explain", "jbo"), 'no column "jbo"\n  fix: did you mean "job"'),
        (("--explain", "y"), 'column "y" is the label'),
        (("--explain", "score", "--threshold", "0.5"), 'no column "score"'),
        (("--explain", "job,job"), "does not name different columns"),
        (("--explain", "sex"), "no attribute is left to explain"),
        (("--explain", "id"), "too many for strata"),
        (("--explain", "job", "--threshold", "0.5", "--threshold", "0.7"), "one can be explained at a time"),
        (("--explain", "job", "-a", "age"), "too many to explain"),
    ],
)
def test_mistakes_are_two_lines(table, say, flags, message):
    table["id"] = [f"p{i}" for i in range(400)]
    wide = pd.concat([table] * 4).sample(frac=1, random_state=1).assign(id=[f"p{i}" for i in range(1600)])
    wide.drop(columns="score").to_csv("people.csv", index=False)
    attribute = () if "-a" in flags else ("-a", "sex")
    said = say("audit", "people.csv", "--label", "y", *attribute, "--min-group", "5", *flags)
    assert said.code == 2
    assert message in said.err
    assert len(said.err.splitlines()) == 2


def test_neighbours_are_refused_with_the_way_to_a_run(table, say, tmp_path):
    (tmp_path / "audit.yaml").write_text("explain: job\nneighbours: 5\n")
    flags = ("audit", "people.csv", "--label", "y", "-a", "sex")
    for more in (("--neighbours", "5"), ("--set", "neighbours=5"), ("-c", "audit.yaml")):
        two_lines(
            say(*flags, *more), "no neighbours any more", "name situation-testing in the metrics of a run"
        )
    with pytest.raises(UserError, match="no neighbours any more"):
        audit("people.csv", label="y", neighbours=5)


def test_standard_input_and_a_frame_are_explained_as_a_file_is(table, monkeypatch):
    config = read_config({"label": "y", "attribute": "sex", "explain": ["job", "job,age"]})

    def behind(source):
        with open_scan(source, config) as scan:
            return read_strata(scan)

    expected = behind("people.csv")
    with Path("people.csv").open("rb") as stdin:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
        piped = behind("-")
    for found in (piped, behind(table.drop(columns="score"))):
        assert found.notes == expected.notes
        assert [strata.by for strata in found.by_attribute["sex"]] == ["job", "job × age"]
        for one, other in zip(found.by_attribute["sex"], expected.by_attribute["sex"], strict=True):
            assert one.names == other.names
            assert one.n.tolist() == other.n.tolist()


def test_random_ties_are_refused(table):
    table.assign(score=1).to_csv("ties.csv", index=False)
    with pytest.raises(UserError, match="ties are drawn"):
        audit("ties.csv", label="y", attribute=["sex"], explain="job", top_k=10, ties="random")


def test_compatible_files_stay_the_same(table, tmp_path, say):
    for folder, more in (("plain", ()), ("more", ("--explain", "job"))):
        flags = ("--label", "y", "--threshold", "0.5", "-a", "sex", "--preset", "aequitas", "-o", folder)
        done = say("audit", "scores.csv", *flags, *more)
        assert done.code == 0, done.err
    written = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert written
    assert written == sorted(path.name for path in (tmp_path / "more").iterdir())
    for name in written:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "more" / name).read_bytes()


def small_network() -> BayesNet:
    """sex → job → hired ← school ← sex"""
    rng = np.random.default_rng(0)
    sizes = {"sex": 2, "job": 3, "school": 2, "hired": 2}
    parents = ((), (0,), (0,), (1, 2))
    names = list(sizes)
    shapes = [tuple(sizes[names[p]] for p in (*of, j)) for j, of in enumerate(parents)]
    cpts = tuple(rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for shape in shapes)
    columns = tuple(Column(name, tuple(f"{name}{i}" for i in range(size))) for name, size in sizes.items())
    return BayesNet(columns, parents, cpts)


def test_belift_of_a_network_is_that_of_the_whole_joint_distribution():
    network = small_network()
    joint = np.einsum("s,sj,sc,jcy->sjcy", *network.cpts)
    people = sample(network, 50, 1)
    found = network_belift(network, people, "hired", "hired1", "sex", ("job",))
    for row, value in zip(people.codes, found, strict=True):
        given_all = joint[row[0], row[1], row[2]]
        given_school = joint[:, :, row[2]].sum((0, 1))
        expected = (given_all[1] / given_all.sum()) / (given_school[1] / given_school.sum())
        assert value == pytest.approx(expected)
    # Given job and school, sex tells nothing more.
    assert network_belift(network, people, "hired", "hired1", "sex") == pytest.approx(np.ones(50))
    with pytest.raises(ValueError, match="cannot be what gives the group away"):
        network_belift(network, people, "hired", "hired1", "sex", ("hired",))
    with pytest.raises(KeyError):
        network_belift(network, people, "hired", "hired1", "race")


COLUMNS = {0: "age", 3: "education", 6: "occupation", 9: "sex", 12: "hours_per_week", 14: "income"}


@pytest.mark.nightly
def test_adult_by_education(data_folder: Path, tmp_path):
    files = [
        pd.read_csv(
            data_folder / f"adult.{end}", header=None, skipinitialspace=True, comment="|", na_values="?"
        )
        for end in ("data", "test")
    ]
    frame = pd.concat(files).dropna().rename(columns=COLUMNS)
    frame["y"] = frame["income"].str.startswith(">50K").astype(int)
    frame[["education", "sex", "y"]].to_csv(tmp_path / "adult.csv", index=False)
    (sex,) = explained(tmp_path / "adult.csv", "education")
    assert (sex.group, sex.reference) == ("Female", "Male")
    assert sex.difference.value == pytest.approx(-0.199, abs=0.02)
    (education,) = sex.parts
    assert education.unexplained.value == pytest.approx(-0.190, abs=0.02)
    assert education.cmh_p < 1e-50
