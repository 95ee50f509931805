"""Two models, two files, slices of rows: what is paired, what changed, what is refused."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from audit_counts import read_tally
from conftest import plain, scaled, two_lines

import fairbench_cli as fb
from fairbench_cli.audit import audit
from fairbench_cli.audit.compare.rate_changes import find_changes
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.margins import Margin
from fairbench_cli.audit.parts.changes import order_of
from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.pairing import read_sides
from fairbench_cli.audit.scan.slices import BeforeAfter
from fairbench_cli.base.errors import UserError
from fairbench_cli.measures.paired_change import TwoSides, apart, rate_changes, same_size_p

RATES = ["selection-rate", "fpr", "fnr", "fdr", "for", "accuracy"]


def people(rows: int = 3000, seed: int = 1) -> pd.DataFrame:
    """A label, two groups, an old decision that is unequal and a new one that is less so."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows, p=[0.45, 0.55])
    label = (rng.random(rows) < 0.4).astype(int)
    u, v = rng.random(rows), rng.random(rows)
    v = np.where(rng.random(rows) < 0.7, u, v)
    old = (u < np.where(sex == "f", 0.2, 0.5) + 0.2 * label).astype(int)
    new = (v < np.where(sex == "f", 0.42, 0.5) + 0.2 * label).astype(int)
    weight = rng.lognormal(0, 0.5, rows).round(3)
    month = np.where(np.arange(rows) < rows // 3, "2", np.where(np.arange(rows) < rows // 2, "9", "10"))
    columns = {"id": np.arange(rows), "old": old, "new": new, "label": label, "sex": sex, "w": weight}
    return pd.DataFrame({**columns, "month": month})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people()


def table(frame: pd.DataFrame, first: str, second: str) -> np.ndarray:
    """Count by group and label × first × second."""
    code = 4 * frame.label + 2 * frame[first] + frame[second]
    groups = [np.bincount(code[frame.sex == sex], minlength=8) for sex in ("f", "m")]
    return np.array(groups, dtype=float)


def changed(result, metric: str = "selection-rate"):
    return {
        (row.before, row.after): row for row in result.report.found["changes"].changes if row.metric == metric
    }


def test_two_columns_are_counted_together(frame):
    config = AuditConfig(score=("old", "new"), attributes=("sex",), weight="w")
    with open_scan(frame, config) as scan:
        (joint,) = read_sides(scan)
    assert (joint.before, joint.after, joint.groups) == ("old", "new", ("f", "m"))
    np.testing.assert_array_equal(joint.sides.rows, table(frame, "old", "new"))
    code = 4 * frame.label + 2 * frame.old + frame.new
    squares = [np.bincount(code[frame.sex == sex], frame.w[frame.sex == sex] ** 2) for sex in ("f", "m")]
    np.testing.assert_allclose(joint.sides.squares, squares)
    for name, part in zip(("old", "new"), scan.tally.slices, strict=True):  # each side as if it were alone
        (alone,) = read_tally(frame, AuditConfig(score=name, attributes=("sex",), weight="w")).slices
        assert part.model == name
        np.testing.assert_allclose(part.counts.n, alone.counts.n, rtol=1e-12)
        np.testing.assert_array_equal(part.cell_rows, alone.cell_rows)


def test_a_third_column_is_compared_with_the_first_and_cuts_are_of_each_column(frame):
    scored = frame.assign(third=1 - frame.old, extra=frame.old + 0.5, more=frame.new + 0.25)
    three = audit(scored, score=["old", "new", "third"], attributes=["sex"])
    assert list(changed(three)) == [("old", "new"), ("old", "third")]
    cut = audit(scored, score=["extra", "more"], attributes=["sex"], threshold=1)
    assert changed(cut)["extra", "more"].ratio_change == changed(three)["old", "new"].ratio_change
    top = audit(scored, score=["extra", "more"], attributes=["sex"], top_share=0.2)
    assert {row.decision for row in top.report.groups} == {
        f"top 20 % ({frame[name].sum()} with ties)" for name in ("old", "new")
    }


@pytest.mark.gate
def test_files_are_paired_by_identifier_or_in_their_order(frame, tmp_path):
    frame.rename(columns={"new": "score"}).to_csv(tmp_path / "a.csv", index=False)
    baseline = frame.rename(columns={"old": "score"})[["id", "score", "sex"]]
    baseline.sample(frac=1, random_state=3).to_csv(tmp_path / "b.csv", index=False)
    baseline.drop(columns="id").to_csv(tmp_path / "c.tsv", index=False, sep="\t")
    wanted = changed(audit(frame, score=["old", "new"], attributes=["sex"]))["old", "new"]
    for name, how in (("b.csv", 'by "id"'), ("c.tsv", "in their order")):
        result = audit(tmp_path / "a.csv", against=tmp_path / name, attributes=["sex"])
        assert f"Rows of both files are paired {how}." in result.report.notes
        found = changed(result)[name, "a.csv"]
        assert found.ratio_change == wanted.ratio_change
        assert found.p == wanted.p
    assert json.loads(result.to_json())["config"]["against"] == name
    words = {0: "no", 1: "yes"}
    text = frame.assign(score=frame.new.map(words), label=frame.label.map({0: "bad", 1: "good"}))
    baseline_words = baseline.assign(score=baseline.score.map(words))
    found = audit(text, against=baseline_words, attributes=["sex"], favourable=["yes", "good"])
    numbers = audit(frame, score=["old", "new"], attributes=["sex"])
    pair = ("baseline data frame", "data frame")
    assert changed(found, "fpr")[pair].p == changed(numbers, "fpr")["old", "new"].p
    named = audit(
        frame.rename(columns={"new": "score", "id": "who"}),
        attributes=["sex"],
        id="who",
        against=baseline.rename(columns={"id": "who"}),
    )
    assert changed(named)[pair].p == wanted.p


def write(frame: pd.DataFrame, folder, name: str, **columns) -> None:
    frame.assign(**columns).to_csv(folder / name, index=False)


@pytest.mark.parametrize(
    ("change", "flags", "words"),
    [
        ({"drop": "id", "rows": 50}, (), ["a.csv has 60 rows, b.csv 50", "same rows"]),
        ({"id": range(10, 70)}, (), ["10 of 60 rows of a.csv have no partner", "10 of 60"]),
        ({"id": 7}, (), ['"id" repeats in b.csv: 59 rows']),
        ({"sex": "m"}, (), ['"sex" differs in 30 rows, first of id "1": "f" in a.csv, "m" in b.csv']),
        ({"label": 1, "drop": "id"}, (), ['"label" differs in 40 rows, first of row 2', "0 in a.csv"]),
        ({"score": 2}, (), ["b.csv:2", '"score" has "2", not 0 or 1']),
        ({}, ("--id", "person"), ['no column "person"']),
        ({}, ("--slice", "sex"), ["against and slice both"]),
        ({}, ("--score", "score", "--score", "other"), ["against and score both"]),
        ({}, ("--model-column", "sex"), ["model-column cannot be combined with against"]),
        ({}, ("--explain", "sex"), ["explain cannot be combined"]),
        ({}, ("--threshold", "1", "--threshold", "2"), ["one can be compared at a time"]),
        ({}, ("--top-k", "3", "--ties", "random"), ["ties drawn at random"]),
    ],
)
def test_what_cannot_be_paired_is_refused(change, flags, words, say, tmp_path):
    rows = 60
    own = pd.DataFrame(
        {"id": range(rows), "score": [0, 1] * 30, "label": [1, 0, 0] * 20, "sex": ["m", "f"] * 30}
    )
    write(own, tmp_path, "a.csv")
    change = dict(change)
    baseline = own.head(change.pop("rows", rows)).drop(columns=change.pop("drop", []))
    write(baseline, tmp_path, "b.csv", **change)
    said = say("audit", "a.csv", "--against", "b.csv", "-a", "sex", *flags)
    if "label" in change:
        words = words[:1]
    two_lines(said, *words)


NEARLY = {
    "rows that the file has not": ({}, 50, ["10 rows of old.csv without a partner", "f 6 of 30"]),
    "rows that the baseline has not": ({}, 70, ["10 rows without a partner in old.csv", "f 5 of 35"]),
    "a copy of a row": ({}, [*range(60), 3], ["1 row of new.csv", "read once"]),
    "zeros in front": ({"id": [f"{i:05}" for i in range(60)]}, 60, ["zeros in front", '"00000"']),
}


@pytest.mark.parametrize("what", NEARLY)
def test_rows_that_nearly_match_are_paired_and_it_is_said_how(what, tmp_path):
    change, taken, words = NEARLY[what]
    rows = pd.DataFrame(
        {"id": range(70), "score": [0, 1] * 35, "sex": ["m", "m", "f", "f"] * 17 + ["m", "f"]}
    )
    rows.head(60).assign(score=[1, 0] * 30).to_csv(tmp_path / "old.csv", index=False)
    new = rows.iloc[range(taken) if isinstance(taken, int) else taken].assign(**change)
    new.to_csv(tmp_path / "new.csv", index=False)
    result = fb.audit(tmp_path / "new.csv", against=str(tmp_path / "old.csv"), attribute="sex")
    assert result.report.rows == min(60, new.id.nunique())
    for word in words:
        assert word in " ".join(result.report.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": [*range(59), 58]}, ['"id" repeats in new.csv: 1 row', '"58"', "leave one of those rows"]),
        ({"id": [*range(59), 58], "person": range(60)}, ['"id" repeats', 'id="person"']),
        ({"id": [f"0{i}" for i in range(59)] + ["1"]}, ["have no partner"]),
    ],
)
def test_a_line_for_rows_that_do_not_match_is_there_where_one_works(change, words, tmp_path):
    rows = pd.DataFrame(
        {"id": range(60), "person": range(60), "score": [0, 1] * 30, "sex": ["m", "m", "f", "f"] * 15}
    )
    old = rows if "person" in change else rows.drop(columns="person")
    old.to_csv(tmp_path / "old.csv", index=False)
    old.assign(**change).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(UserError) as caught:
        fb.audit(tmp_path / "new.csv", against=str(tmp_path / "old.csv"), attribute="sex")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--score", "old", "--score", "old"), ["named twice"]),
        (("--score", "old", "--score", "label"), ["is the label, and one of several scores"]),
        (("--score", "old", "--id", "id"), ["id has no effect"]),
        (("--score", "old", "--fail-on", "worse"), ["nothing is compared that could be worse"]),
        (("--score", "old", "--slice", "id"), ["300 different values; at most 60 slices"]),
        (("--score", "old", "--slice", "one"), ["one value only"]),
        (("--score", "old", "--slice", "hole"), ['"hole" is missing in 1 row']),
        (("--score", "old", "--slice", "sex"), ['"sex" is the slice']),
    ],
)
def test_what_cannot_be_compared_is_refused(flags, words, say, tmp_path):
    hole = ["x"] * 150 + ["y"] * 149 + [""]
    write(people(300), tmp_path, "a.csv", one=1, hole=hole)
    two_lines(say("audit", "a.csv", "--label", "label", "-a", "sex", *flags), *words)


def test_a_cell_that_is_wrong_is_named_with_its_line(frame, say, tmp_path):
    small = frame.head(40).rename(columns={"old": "score"})
    write(small, tmp_path, "a.csv", score=small.score.where(small.id != 30, 7))
    write(small.sample(frac=1, random_state=1), tmp_path, "b.csv")
    two_lines(say("audit", "a.csv", "--against", "b.csv", "-a", "sex"), "a.csv:32", '"score" has "7.0"'[:14])
    (tmp_path / "c.csv").write_text((tmp_path / "b.csv").read_text() + "1,0\n")
    two_lines(say("audit", "b.csv", "--against", "c.csv", "-a", "sex"), "c.csv:42", "the row has 2 cells")
    rows = "audit", "b.csv", "--against", "d.csv", "-a", "sex", "--threshold", "50"
    write(small, tmp_path, "b.csv", score=50 + small.id)
    write(small, tmp_path, "d.csv", score=small.id / 40)
    two_lines(say(*rows), "score in d.csv goes from 0 to 0.975: a threshold of 50 selects nobody")
    with pytest.raises(TypeError, match="frame with both columns"):
        audit([1, 0], [1, 0], ["a", "b"], against=[0, 1])


@pytest.mark.gate
def test_slices_are_in_order_and_each_is_compared_with_the_one_before(frame):
    result = audit(frame, score="old", attributes=["sex"], slice="month")
    pairs = changed(result)
    assert list(pairs) == [("2", "9"), ("9", "10")]  # as numbers
    row = pairs["2", "9"]
    first, second = (frame[frame.month == month] for month in ("2", "9"))
    logs = []
    for part in (first, second):
        k, n = part.groupby("sex").old.sum(), part.groupby("sex").old.count()
        logs.append((np.log(k.f / n.f * n.m / k.m), 1 / k.f - 1 / n.f + 1 / k.m - 1 / n.m))
    assert row.ratio_change.value == pytest.approx(np.exp(logs[1][0] - logs[0][0]))
    half = 1.959964 * np.sqrt(logs[0][1] + logs[1][1])
    assert row.ratio_change.high == pytest.approx(row.ratio_change.value * np.exp(half), rel=1e-6)
    gone = frame[(frame.month != "9") | (frame.sex == "m")]  # a group that a slice does not have
    words = {
        row.reason
        for row in audit(gone, score="old", attributes=["sex"], slice="month").report.found["changes"].changes
    }
    assert words == {"no rows"}


def joint(cells, paired: bool = True, groups: tuple[str, ...] = ("g", "r")) -> BeforeAfter:
    n = np.asarray(cells, dtype=float)
    return BeforeAfter("a", "b", "x", groups, TwoSides(n, n, n, paired), labelled=False, intersection=False)


def words_of(*joints: BeforeAfter, **how) -> list[tuple[str, str]]:
    from types import SimpleNamespace

    known = [
        SimpleNamespace(model=model, attribute="x", group=group, metric="selection-rate", deciding=True)
        for model in "ab"
        for group in "gr"
    ]
    base = SimpleNamespace(config=AuditConfig(**how), slices=(), disparities=known)
    return [(row.word, row.reason) for row in find_changes(joints, base).changes if row.deciding]


def cells(both: int, before: int, after: int, neither: int) -> list[int]:
    """Rows that are selected by both, before alone, after alone, by neither."""
    return [neither, after, before, both, 0, 0, 0, 0]


def test_the_word_is_about_the_distance_from_equality():
    reference = cells(480, 20, 20, 480)
    for group, word in (
        (cells(200, 5, 150, 645), ("better", "")),
        (cells(200, 150, 5, 645), ("worse", "")),
        (cells(200, 20, 25, 755), ("undecided", "chance")),
        (cells(100, 2, 2, 896), ("undecided", "chance")),
        (cells(250, 0, 750, 0), ("undecided", "turned")),  # 0.5 to 2
        (cells(0, 0, 300, 700), ("undecided", "no rows")),
    ):
        assert words_of(joint([group, reference])) == [word], group
    still = cells(500, 0, 0, 500)
    assert words_of(joint([cells(200, 0, 0, 800), still])) == [("undecided", "same")]
    assert words_of(joint([cells(200, 1, 5, 794), still])) == [("undecided", "few")]
    by_margin = {"margin": {"default": Margin(0.02, "units")}}
    assert words_of(joint([cells(200, 5, 150, 645), reference]), **by_margin) == [("better", "")]
    # Holm: the same change among twenty of chance is not decided.
    one = joint([cells(200, 20, 42, 738), cells(470, 30, 30, 470)])
    rest = joint([cells(200, 20, 25, 755), reference])
    assert words_of(one) == [("better", "")]
    assert words_of(one, *([rest] * 19))[0] == ("undecided", "chance")


def test_what_is_worse_comes_first_whatever_its_p():
    from types import SimpleNamespace

    words = {"undecided": 0.0, "hardly": 0.0, "better": 0.001, "worse": 0.04}
    rows = [SimpleNamespace(word=word, p=p, moved=False) for word, p in words.items()]
    rows[2:2] = [SimpleNamespace(word="worse", p=p, moved=False) for p in (float("nan"), 0.03)]
    ordered = [(row.word, row.p) for row in sorted(rows, key=order_of)]
    assert ordered[:2] == [("worse", 0.03), ("worse", 0.04)]
    assert [word for word, _ in ordered[2:]] == ["worse", "better", "hardly", "undecided"]


@pytest.mark.gate
def test_what_became_of_it_does_not_depend_on_the_unit_of_weight(frame):
    def first(**columns):
        result = audit(frame.assign(**columns), score=["old", "new"], attributes=["sex"], weight="w")
        return changed(result, "fpr")["old", "new"]

    bare = changed(audit(frame, score=["old", "new"], attributes=["sex"]), "fpr")["old", "new"]
    equal, thrice = first(w=1.0), first(w=3.0)
    weighted, scaled = first(), first(w=frame.w * 1000)
    for one, other in ((bare, equal), (bare, thrice), (weighted, scaled)):
        for name in ("ratio_change", "difference_change"):
            np.testing.assert_allclose(
                list(vars(getattr(one, name)).values()), list(vars(getattr(other, name)).values()), rtol=1e-9
            )
    assert weighted.ratio_change.high - weighted.ratio_change.low > (
        bare.ratio_change.high - bare.ratio_change.low
    )


@pytest.mark.parametrize("paired", [True, False])
def test_the_variance_is_that_of_a_bootstrap_of_rows(paired):
    rows = people(2000, seed=4)
    if paired:
        code = (8 * (rows.sex == "m") + 4 * rows.label + 2 * rows.old + rows.new).to_numpy()
    else:
        half = np.arange(len(rows)) % 2
        decision = np.where(half, rows.new, rows.old)
        code = (8 * (rows.sex == "m") + 4 * half + 2 * rows.label + decision).to_numpy()

    def logs(sample):
        n = np.bincount(sample, minlength=16).reshape(2, 8).astype(float)
        found = rate_changes(TwoSides(n, n, n, paired), RATES)
        change = np.log(found.after) - np.log(found.before)
        difference = found.after - found.before
        return change[0] - change[1], difference[0] - difference[1], found

    _, _, found = logs(code)
    rng = np.random.default_rng(0)
    drawn = [logs(rng.choice(code, len(code)))[:2] for _ in range(scaled(400))]
    spread, points = np.std(np.array(drawn), axis=0)
    chance = 4 / np.sqrt(2 * len(drawn))
    np.testing.assert_allclose(np.sqrt(found.change.sum(0)) / spread, 1, atol=chance)
    np.testing.assert_allclose(np.sqrt(found.points.sum(0)) / points, 1, atol=chance)


@pytest.mark.parametrize("paired", [True, False])
def test_no_change_is_rarely_found(paired):
    rng = np.random.default_rng(8)
    runs, sizes = 4000, np.array([150, 400])  # a ratio of 0.64, before and after
    chances = np.array([[0.24, 0.08, 0.08, 0.6], [0.4, 0.1, 0.1, 0.4]])
    if paired:
        both = rng.multinomial(sizes, chances, (runs, 2))
        n = np.concatenate([both[..., [3, 2, 1, 0]], np.zeros((runs, 2, 4))], -1).reshape(-1, 8)
        sides = TwoSides(n, n, n, paired=True)
    else:
        k = rng.binomial(sizes, chances[:, 0] + chances[:, 1], (2, runs, 2)).reshape(2, -1)
        n = np.stack([np.tile(sizes, runs) - k, k, 0 * k, 0 * k], -1).reshape(2, -1, 2, 2)
        sides = apart([n[0]] * 3, [n[1]] * 3)
    found = rate_changes(sides, ["selection-rate"])
    before, after = (np.log(rate).reshape(runs, 2) @ [1, -1] for rate in (found.before, found.after))
    change, total = (each.reshape(runs, 2).sum(1) for each in (found.change, found.total))
    p = same_size_p(after - before, change, after + before, total)
    assert 0.03 <= (p < 0.05).mean() <= 0.06
    assert 0.94 <= (np.abs(after - before) <= 1.96 * np.sqrt(change)).mean() <= 0.96


@pytest.mark.gate
def test_the_gate_is_about_the_last_score_and_the_audited_file(frame, say, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    rows = ("audit", "a.csv", "-a", "sex", "--metric", "selection-rate", "--label", "label", "--tau", "0.75")
    assert say(*rows, "--score", "new", "--score", "old", "--fail").code == 1
    better = say(*rows, "--score", "old", "--score", "new", "--fail")
    assert better.code == 0, better.out
    said = re.sub(r"\s+", " ", better.out)
    assert "From model old to model new: 1 better." in said.partition("Gate:")[0]
    worse = ("--fail-on", "worse")
    assert say(*rows, "--score", "old", "--score", "new", *worse).code == 0
    stopped = say(*rows, "--score", "new", "--score", "old", *worse)
    assert stopped.code == 1
    assert "worse than new: sex:selection-rate of f" in stopped.out
    for name in ("old", "new"):
        frame.rename(columns={name: "score"}).to_csv(tmp_path / f"{name}.csv", index=False)
    frame.rename(columns={"new": "score"})[["id", "score"]].to_csv(tmp_path / "bare.csv", index=False)
    rest = rows[2:]
    for flags in (("--fail",), worse, ("--fail-on", "selection-rate")):
        said = say("audit", "new.csv", "--against", "old.csv", *rest, *flags)
        assert said.code == 0, said.out
        for baseline in ("new.csv", "bare.csv"):
            assert say("audit", "old.csv", "--against", baseline, *rest, *flags).code == 1
    said = say("audit", "old.csv", "--against", "bare.csv", *rest, *worse)
    assert "From model bare.csv to model old.csv: 1 worse" in " ".join(said.out.split())
    assert "worse than bare.csv: sex:selection-rate of f" in said.out


@pytest.mark.gate
def test_every_output_shows_the_changes(frame, say, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    rows = ("audit", "a.csv", "--score", "old", "--score", "new", "-a", "sex", "--label", "label")
    short = " ".join(say(*rows).out.split())
    assert "group metric before after change disparity" in short
    assert "All rows: accuracy" in short
    said = say(*rows, "-o", "out", "--all")
    plain(said.out)
    assert "From model old to model new: " in said.out
    text = re.sub(r"\s+", " ", said.out)
    assert "From old to model new the gap in selection rate between f and m (sex) narrows: ratio 0." in text
    found = json.loads((tmp_path / "out" / "audit.json").read_text())
    first = found["changes"][0]
    assert first["word"] == "better"
    assert {row["attribute"] for row in found["rate_changes"]} == {"(all)", "sex"}
    lines = pd.read_csv(tmp_path / "out" / "changes.csv")
    assert len(lines) == len(found["changes"])
    columns = audit(tmp_path / "a.csv", score=["old", "new"], attributes=["sex"]).to_pandas("changes").columns
    assert list(columns) == list(lines.columns)
    assert lines.ratio_change_low[0] == first["ratio_change"]["low"]
    page = (tmp_path / "out" / "audit.html").read_text()
    assert "sex: selection rate, ratio before and after" in page
    assert page.count("ring: before") == 5
    assert "From model old to model new" in (tmp_path / "out" / "audit.md").read_text()
    alone = say("audit", "a.csv", "--score", "old", "-a", "sex", "--label", "label", "-o", "alone")
    assert "From model" not in alone.out
    assert not (tmp_path / "alone" / "changes.csv").exists()
    assert "changes" not in json.loads((tmp_path / "alone" / "audit.json").read_text())
    months = say("audit", "a.csv", "--score", "old", "-a", "sex", "--slice", "month", "--all").out
    assert "From month 2 to month 9: " in re.sub(r"\s+", " ", months)


def test_the_baseline_is_never_overwritten(frame, say, tmp_path):
    rows = frame.head(100).rename(columns={"old": "score"})
    for name in ("a.csv", "changes.csv"):
        rows.to_csv(tmp_path / name, index=False)
    two_lines(say("audit", "a.csv", "--against", "changes.csv", "-a", "sex", "-o", "."), "changes.csv")


def test_compas_by_two_of_its_scores(data_folder):
    rows = pd.read_csv(data_folder / "compas-scores-two-years.csv")
    result = audit(
        rows,
        score=["decile_score", "v_decile_score"],
        threshold=5,
        label="two_year_recid",
        attributes=["race"],
        ref={"race": "Caucasian"},
    )
    (row,) = (
        row
        for row in result.report.found["changes"].changes
        if (row.group, row.metric) == ("African-American", "fpr")
    )
    assert row.ratio_before.value == pytest.approx(1.912, abs=1e-3)
    negative = rows[rows.two_year_recid == 0]
    after = (negative.v_decile_score >= 5).groupby(negative.race).mean()
    assert row.ratio_after.value == pytest.approx(after["African-American"] / after["Caucasian"])
    assert row.word == "undecided"


def test_slices_have_one_reference():
    """The largest group of all rows, also in a slice where another group is larger."""
    sizes = {("1", "m"): 400, ("1", "f"): 100, ("2", "m"): 100, ("2", "f"): 300}
    rows = [(month, sex, i % 2) for (month, sex), n in sizes.items() for i in range(n)]
    table = pd.DataFrame(rows, columns=["month", "sex", "score"])
    report = audit(table, attributes=["sex"], slice="month").report
    assert {(row.model, row.reference) for row in report.disparities} == {("1", "m"), ("2", "m")}
    assert {row.reference for row in report.found["changes"].changes} == {"m"}
    alone = audit(table[table.month == "2"], attributes=["sex"]).report
    assert {row.reference for row in alone.disparities} == {"f"}


@pytest.mark.gate
@pytest.mark.parametrize("of_numbers", [False, True])
@pytest.mark.parametrize(("before", "after"), [(-1, 1), (1, -1), (0, 1), (-1, -1)])
def test_what_moves_is_never_called_chance_and_each_p_is_of_its_interval(before, after, of_numbers):
    rng = np.random.default_rng(abs(before))
    sex = rng.choice(["f", "m"], 700)
    columns = {"sex": sex, "label": rng.integers(0, 2, 700)}
    for name, gap in (("old", before), ("new", after)):
        if of_numbers:
            columns[name] = rng.normal(30, 5, 700) + 2 * gap * (sex == "f")
        else:
            columns[name] = (rng.random(700) < 0.4 + 0.1 * gap * (sex == "f")).astype(int)
    more = {"outcome": "number"} if of_numbers else {}
    result = audit(pd.DataFrame(columns), score=["old", "new"], attributes=["sex"], label="label", **more)
    (rows,) = (found.changes for found in result.report.found.values() if getattr(found, "changes", ()))
    for row in rows:
        change = row.difference_change if of_numbers else row.ratio_change
        if not math.isnan(row.change_p):
            assert (row.change_p < 0.05) == (not change.low <= 1 - of_numbers <= change.high)
            assert row.p >= row.change_p - 1e-12
            assert row.moved == (row.word == "undecided" and row.change_p_holm < 0.05)
    n_moved = sum(row.moved for row in rows if row.deciding)
    assert n_moved or before * after >= 0
    for document in (result.to_markdown(), result.to_html()):
        assert "turned around" not in document
        assert (f"{n_moved} moved" in document) == (n_moved > 0)
        of_changes = document.rpartition("From model old")[2].partition("In the tables of changes")[0]
        assert ("could be chance" in of_changes) <= any(
            row.word == "undecided" and not row.moved for row in rows
        )
