"""The rules of others, next to plain pandas and scipy, and what contradicts them."""

import math
import re
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audit_counts import AEQUITAS, compas
from conftest import plain, two_lines
from scipy import stats

from fairbench_cli.audit import audit
from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.show.aequitas import write_compat
from fairbench_cli.base.errors import UserError

ROWS = 50_000
SEX, RACE = "sex", "race"
LAW = ("--preset", "ll144", "-a", SEX, "-a", RACE)


@pytest.fixture(scope="module")
def applications() -> pd.DataFrame:
    """Applications with unknown categories, two words for them, and categories under 2 %."""
    rng = np.random.default_rng(144)
    sex = rng.choice(["Female", "Male", "", "Unknown"], ROWS, p=[0.45, 0.52, 0.02, 0.01])
    races = ["White", "Black", "Hispanic", "Asian", "Pacific", "Native", "Two or more", ""]
    race = rng.choice(races, ROWS, p=[0.5, 0.19, 0.15, 0.1, 0.008, 0.002, 0.025, 0.025])
    rate = 0.2 + 0.06 * (sex == "Male") - 0.05 * (race == "Black") + 0.3 * (race == "Native")
    hired = (rng.random(ROWS) < rate).astype(int)
    score = np.round(rng.normal(60 + 3 * (sex == "Male"), 12, ROWS))
    return pd.DataFrame({SEX: sex, RACE: race, "hired": hired, "score": score})


def by_pandas(frame: pd.DataFrame, by: list[str], selected: pd.Series) -> tuple[pd.DataFrame, int]:
    """Compute a table of the law with pandas alone, and how many rows are not in it."""
    known = ~frame[by].isin(["", "Unknown"]).any(axis=1)
    rows = frame[known].assign(selected=selected[known])
    table = rows.groupby(by)["selected"].agg(["size", "sum"])
    table.index = [" × ".join(key) if isinstance(key, tuple) else key for key in table.index]
    table["rate"] = table["sum"] / table["size"]
    table["left out"] = table["size"] < 0.02 * known.sum()
    table["ratio"] = (table["rate"] / table["rate"][~table["left out"]].max()).where(~table["left out"])
    return table, int((~known).sum())


def rows_of(result) -> pd.DataFrame:
    return result.to_pandas("impact")


@pytest.mark.parametrize("score", ["hired", "score"])
def test_the_law_s_tables_are_those_of_pandas(applications, score):
    selected = (
        applications["score"] > applications["score"].median() if score == "score" else applications["hired"]
    )
    started = time.process_time()
    result = audit(applications, preset="ll144", attributes=[SEX, RACE], score=score, exclude=["Unknown"])
    assert time.process_time() - started < 2
    found = rows_of(result)
    assert list(found["attribute"].unique()) == [SEX, RACE, f"{SEX} × {RACE}"]
    for by in ([SEX], [RACE], [SEX, RACE]):
        expected, unknown = by_pandas(applications, by, selected.astype(int))
        mine = found[found["attribute"] == " × ".join(by)].set_index("category")
        assert mine.index.tolist() == expected.index.tolist()
        for column, theirs in {
            "rows": "size",
            "selected": "sum",
            "rate": "rate",
            "left_out": "left out",
        }.items():
            assert mine[column].tolist() == expected[theirs].tolist()
        np.testing.assert_array_equal(mine["impact_ratio"], expected["ratio"])
        assert set(mine["unknown"]) == {unknown}
        assert mine.index[mine["highest"]].tolist() == [expected["ratio"].idxmax()]
        assert expected["left out"].sum() == {SEX: 0, RACE: 2, f"{SEX} × {RACE}": 6}[" × ".join(by)]
    if score == "score":
        middle = applications["score"].median()
        decision = f"above the median {middle:g} ({(applications['score'] == middle).sum()} at it)"
        assert set(found["decision"]) == {decision}


def p_value(one: pd.Series, other: pd.Series) -> float:
    """Compute a p-value with scipy: chi-squared times (N − 1)/N, or Fisher's where few are expected."""
    table = np.array([[row["sum"], row["size"] - row["sum"]] for row in (one, other)])
    chi, _, _, expected = stats.chi2_contingency(table, correction=False)
    if expected.min() < 5:
        return stats.fisher_exact(table).pvalue
    return stats.chi2.sf(chi * (table.sum() - 1) / table.sum(), 1)


def test_the_guidelines_table_is_that_of_pandas(applications):
    result = audit(applications, preset="eeoc", attributes=[SEX, RACE], score="hired", exclude=["Unknown"])
    found = rows_of(result)
    tables, p = {}, {}
    for name in (SEX, RACE):
        tables[name], _ = by_pandas(applications, [name], applications["hired"])
        compared = tables[name][~tables[name]["left out"]]
        p |= {
            (name, a, b): p_value(compared.loc[a], compared.loc[b])
            for a, b in combinations(compared.index, 2)
        }
    ordered = sorted(p, key=p.__getitem__)
    steps = np.maximum.accumulate([p[key] * (len(p) - i) for i, key in enumerate(ordered)])
    adjusted = dict(zip(ordered, np.minimum(steps, 1), strict=True))
    assert len(found) == sum(map(len, tables.values()))
    assert len(p) == 1 + math.comb(5, 2)
    for _, mine in found.iterrows():
        table = tables[mine["attribute"]]
        own, top = table.loc[mine["category"]], table.loc[table["ratio"].idxmax()]
        assert (mine["rows"], mine["selected"], mine["rate"]) == (own["size"], own["sum"], own["rate"])
        np.testing.assert_array_equal(mine["impact_ratio"], own["ratio"])
        if own["left out"] or mine["highest"]:
            assert mine[["z", "p", "below", "to_reach", "one_person", "shortfall"]].isna().all()
            continue
        n, k, n_top, k_top = (int(value) for value in (own["size"], own["sum"], top["size"], top["sum"]))
        pair = (mine["attribute"], *sorted((own.name, top.name), key=table.index.get_loc))
        together = (k + k_top) / (n + n_top)
        z = (k / n - k_top / n_top) / math.sqrt(together * (1 - together) * (1 / n + 1 / n_top))
        assert mine["p"] == pytest.approx(p[pair], rel=1e-9)
        assert mine["p_holm"] == pytest.approx(adjusted[pair], rel=1e-9)
        assert mine["z"] == pytest.approx(z, rel=1e-12)
        assert mine["below"] == (5 * k * n_top < 4 * k_top * n)
        assert mine["to_reach"] == max(0, -(-4 * k_top * n // (5 * n_top)) - k)
        assert mine["one_person"] == ((k + 1) / n > (k_top - 1) / n_top)
        assert mine["shortfall"] == pytest.approx(n * together - k, rel=1e-12)


def test_the_reference_of_the_comparisons_is_the_highest_of_the_table(applications):
    report = audit(
        applications, preset="eeoc", attributes=[SEX, RACE], score="hired", exclude=["Unknown"]
    ).report
    of_table = {table.attribute: table for table in report.found["impact"]}
    compared = [row for row in report.disparities if row.metric == "selection-rate"]
    assert {(row.attribute, row.reference) for row in compared} == {
        (name, table.highest) for name, table in of_table.items()
    }
    assert report.family == report.found["impact"][0].family
    for row in compared:
        (mine,) = (one for one in of_table[row.attribute].rows if one.group == row.group)
        if mine.chance:
            assert (row.p_holm, row.ratio.low) == (mine.chance.p_holm, mine.chance.ratio.low)


# The example in the rule itself (6 RCNY § 5-301), of a tool that scores: applicants, and of them above the
# median; rates and impact ratios as printed there. Two small categories, 36 people together, are not in ours.
PRINTED = {
    "Male": (92, 50, 54.3, 1.00),
    "Female": (76, 34, 44.7, 0.82),
    "Hispanic or Latino": (28, 18, 64.2, 1.00),
    "White": (40, 15, 37.5, 0.58),
    "Black or African American": (32, 16, 50.0, 0.78),
    "Native Hawaiian or Pacific Islander": (8, 5, 62.5, 0.97),
    "Asian": (24, 10, 41.7, 0.65),
    "others": (36, 20, None, None),
}


@pytest.mark.gate
def test_the_rule_s_own_example(tmp_path, say):
    def column(names):
        above = [name for name in names for _ in range(PRINTED[name][1])]
        return above + [name for name in names for _ in range(PRINTED[name][0] - PRINTED[name][1])]

    sexes, *races = list(PRINTED)[:2], *list(PRINTED)[2:]
    scores = np.concatenate([np.full(84, 80), np.full(84, 20)])
    frame = pd.DataFrame({SEX: column(sexes), RACE: column(races), "score": scores})
    found = rows_of(audit(frame, preset="ll144", attributes=[SEX, RACE])).set_index("category")
    for name, (n, _, rate, ratio) in PRINTED.items():
        assert found.loc[name, "rows"] == n
        if rate is not None:
            assert 100 * found.loc[name, "rate"] == pytest.approx(rate, abs=0.1)
            assert found.loc[name, "impact_ratio"] == pytest.approx(ratio, abs=0.006)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    short = say("audit", "scores.csv", *LAW).out
    assert re.search(r"sex +Female +44\.7 % +Male +54\.3 % +0\.823", short, re.IGNORECASE)
    said = say("audit", "scores.csv", *LAW, "--all")
    plain(said.out)
    assert re.search(r"Female +76 +34 +44\.7 % +0\.823", said.out)
    assert "above the median 50 (0 at it)" in said.out
    assert "Not included, because the category is not known: 0 of 168." in said.out


@pytest.fixture
def few(tmp_path) -> Path:
    """A file of 400 decisions."""
    rng = np.random.default_rng(3)
    sex, race = rng.choice(["f", "m", ""], 400, p=[0.5, 0.45, 0.05]), rng.choice(["a", "b", "c"], 400)
    hired = (rng.random(400) < np.where(sex == "m", 0.6, 0.3)).astype(int)
    more = {"label": rng.integers(0, 2, 400), "w": 1, "id": range(400), "model": rng.choice(["x", "y"], 400)}
    pd.DataFrame({SEX: sex, RACE: race, "score": hired, **more}).to_csv(tmp_path / "few.csv", index=False)
    return tmp_path / "few.csv"


BOTH = {"attribute": [SEX, RACE]}


@pytest.mark.parametrize(
    ("preset", "given", "words"),
    [
        ("ll144", {"attribute": [SEX]}, "attribute: .*needs two attributes"),
        ("ll144", {}, "needs two attributes"),
        ("ll144", BOTH | {"metric": "fpr"}, "metric: .*goes by the selection rate, not by fpr"),
        ("ll144", BOTH | {"fail": True}, "no pass mark.*\n.*use preset eeoc"),
        ("ll144", BOTH | {"fail-on": "undecided"}, "no pass mark"),
        ("ll144", BOTH | {"tau": 0.9}, "no pass mark, so tau has no effect"),
        ("ll144", BOTH | {"rule": "point"}, "no pass mark, so rule has no effect"),
        ("ll144", BOTH | {"min-share": 0.05}, "under 0.02 of the data.*\n.*give at most 0.02"),
        ("ll144", BOTH | {"intersect": "sex,age"}, "crosses sex and race, and nothing else"),
        ("ll144", BOTH | {"weight": "w"}, "counts people"),
        ("eeoc", {"ref": "race=a"}, "ref: .*compares with the group that is selected most"),
        ("eeoc", {"ref-method": "majority"}, "ref-method: .*selected most"),
        ("eeoc", {"tau": 0.9}, "four fifths, so tau is 0.8"),
        ("eeoc", {"decision": "punitive"}, "takes being selected for what helps"),
        ("eeoc", {"cluster": "id"}, "takes every row for a person"),
        ("eeoc", {"min-group": 5}, "groups of any number of rows"),
        ("aequitas", {"ref-method": "rest"}, "Aequitas has no reference method rest"),
        ("aequitas", {"rule": "evidence"}, "Aequitas does not look at chance"),
        ("aequitas", {"exclude": "f"}, "Aequitas compares all groups"),
        ("aequitas", {"weight": "w"}, "counts people"),
    ],
)
def test_what_contradicts_a_preset_is_refused(preset, given, words):
    with pytest.raises(UserError, match=words) as caught:
        read_config({"preset": preset, **given})
    assert len(caught.value.problems) == 1


def test_a_contradiction_is_said_in_two_lines(few, say):
    two_lines(
        say("audit", "few.csv", *LAW, "--metric", "fpr"), "--metric: ", "not by fpr", "leave metric out"
    )


@pytest.mark.parametrize("preset", ["aequitas", "eeoc", "ll144"])
def test_what_is_resolved_is_the_same_preset(preset):
    config = read_config(
        {"preset": preset, "attribute": [SEX, RACE], **({} if preset == "aequitas" else {"exclude": "x"})}
    )
    assert read_config(config.resolved()) == config


def test_no_format_says_what_passes_under_the_law(few, say):
    said = say("audit", "few.csv", *LAW, "--format", "csv")
    assert said.out.startswith("model,decision,attribute,category,rows,selected,rate,impact_ratio,")
    assert not {"pass", "fail", "undecided"} & set(said.out.replace("\n", ",").split(","))
    two_lines(say("audit", "few.csv", *LAW, "-f", "verdicts"), "--format: ", "no verdicts", "--format csv")


def test_nothing_in_the_law_s_report_passes_or_fails(few, say):
    said = say("audit", "few.csv", *LAW, "-o", "out")
    assert said.code == 0
    plain(said.out)
    folder = few.parent / "out"
    names = {"audit.html", "audit.json", "audit.md", "ci.json", "groups.csv", "impact-ratios.csv"}
    assert {path.name for path in folder.iterdir()} == names
    for text in (said.out, *((folder / name).read_text() for name in names)):
        text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert not re.search(
            r"\b(pass(es|ed)?|fail(s|ed)?|complian(t|ce)|not decided|undecided)\b", text, re.IGNORECASE
        )


@pytest.mark.gate
def test_a_category_that_is_left_out_of_the_ratios_is_to_be_justified(few, say):
    frame = pd.read_csv(few)
    pd.concat([frame, frame[:2].assign(race="native")]).to_csv(few, index=False)
    blank = "have no impact ratio (native, f × native); the rule wants a justification for each: ____"
    assert blank in " ".join(say("audit", "few.csv", *LAW, "--all").out.split())
    assert "justification" not in say("audit", "few.csv", *LAW, "--min-share", "0", "--all").out


def test_four_fifths_and_significance_are_two_answers(few, say):
    said = say("audit", "few.csv", "--preset", "eeoc", "-a", SEX, "-a", RACE, "-o", "out", "--fail", "--all")
    assert said.code == 1
    plain(said.out)
    assert re.search(r"f +\d+ +\d+ +[\d.]+ % +0\.\d+ +yes +yes +yes\n", said.out)
    assert re.search(
        r"pair tested alone as practice has it: below and significant: f \(p ", " ".join(said.out.split())
    )
    assert "selection-rate  " not in said.out  # the comparisons are in the tables of the rule
    assert "sex: fails clearly, against m" in said.out
    assert {"impact-ratios.csv", "disparities.csv"} <= {path.name for path in (few.parent / "out").iterdir()}


def test_each_outcome_and_model_has_its_tables(applications):
    report = audit(
        applications,
        preset="ll144",
        attributes=[SEX, RACE],
        score="score",
        threshold=[60, 70],
        exclude=["Unknown"],
    ).report
    assert [(table.decision, table.attribute) for table in report.found["impact"]] == [
        (f"score >= {at}", name) for at in (60, 70) for name in (SEX, RACE, f"{SEX} × {RACE}")
    ]


def test_each_class_has_its_tables_and_percents_are_scores():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({SEX: rng.choice(["f", "m"], 90), RACE: rng.choice(["a", "b"], 90)})
    frame["score"] = rng.choice(["hire", "interview", "reject"], 90)
    how = {"preset": "ll144", "attributes": [SEX, RACE]}
    found = rows_of(audit(frame, favourable=["hire", "interview"], **how))
    for outcome in ("hire", "interview"):
        mine = found[(found["decision"] == f"{outcome} against the rest") & (found["attribute"] == SEX)]
        assert mine["selected"].tolist() == (frame["score"] == outcome).groupby(frame[SEX]).sum().tolist()
    score = rng.integers(0, 100, 90)
    frame["score"] = [f"{value} %" for value in score]
    found = rows_of(audit(frame, **how))
    assert found["selected"][:2].sum() == (score > np.median(score)).sum()


def test_ties_at_the_median_are_not_above_it():
    frame = pd.DataFrame({SEX: ["f", "m"] * 4, RACE: ["a"] * 8, "score": [1, 2, 2, 2, 2, 2, 3, 9]})
    found = rows_of(audit(frame, preset="ll144", attributes=[SEX, RACE]))
    assert found["selected"].tolist() == [1, 1, 2, 1, 1]
    assert set(found["decision"]) == {"above the median 2 (5 at it)"}


def test_a_group_too_small_for_the_ratio_is_not_the_highest():
    frame = pd.DataFrame({"g": ["a"] * 99 + ["b"] * 99 + ["c"] * 2, "score": [1, 0, 0] * 66 + [1, 1]})
    (table,) = audit(frame, preset="eeoc").report.found["impact"]
    assert [(row.group, row.left_out, row.highest) for row in table.rows] == [
        ("a", False, True),
        ("b", False, False),
        ("c", True, False),
    ]
    assert math.isnan(table.rows[2].ratio)
    assert table.rows[2].rate == 1
    (table,) = audit(frame, preset="eeoc", min_share=0.0).report.found["impact"]
    assert table.highest == "c"
    assert table.rows[0].ratio == pytest.approx(1 / 3)


def test_nobody_selected_has_no_ratio():
    frame = pd.DataFrame({"g": ["a", "b"] * 50, "score": 0})
    (table,) = audit(frame, preset="eeoc").report.found["impact"]
    assert all(math.isnan(row.ratio) for row in table.rows)
    assert not table.rows[1].four_fifths.below
    assert table.rows[1].four_fifths.to_reach == 0


GIVEN = {"race": "Caucasian", "sex": "Male", "age_cat": "25 - 45"}
METHODS = {"majority": {}, "predefined": {"ref": GIVEN}, "minimum": {"ref-method": "minimum"}}


@pytest.mark.parametrize("method", METHODS)
def test_the_preset_writes_aequitas_files_byte_for_byte(tmp_path, method):
    write_compat(judge(compas(), read_config({"preset": "aequitas", **METHODS[method]})), tmp_path)
    theirs = sorted(AEQUITAS.glob(f"compas_{method}_*"))
    assert len(theirs) == 6
    for path in theirs:
        name = path.name.removeprefix(f"compas_{method}_")
        assert (tmp_path / name).read_bytes() == path.read_bytes(), name


def test_aequitas_from_the_command_line(tmp_path, say):
    part, *_ = compas().slices
    cells = [
        (group, label, score, int(part.counts.n[g, label, score]))
        for g, group in enumerate(part.counts.groups)
        for label in (0, 1)
        for score in (0, 1)
    ]
    lines = [f"{score},{label},{group}" for group, label, score, n in cells for _ in range(n)]
    (tmp_path / "compas.csv").write_text("\n".join([f"score,label_value,{part.attribute}", *lines]) + "\n")
    said = say("audit", "compas.csv", "--preset", "aequitas", "-o", "out")
    assert said.code == 0
    mine = (tmp_path / "out" / "full.csv").read_text().splitlines()
    theirs = (AEQUITAS / "compas_majority_full.csv").read_text().splitlines()
    assert mine == [theirs[0], *(line for line in theirs if f",{part.attribute}," in line)]


def test_who_is_not_below_four_fifths_is_not_said_to_be():
    rows = [("a", i < 9000) for i in range(10000)] + [("b", i < 8000) for i in range(10000)]
    frame = pd.DataFrame(rows, columns=["race", "score"])
    said = audit(frame.assign(score=frame.score.astype(int)), preset="eeoc").to("markdown")
    assert "as practice has it: not below, but significant: b (p " in said
