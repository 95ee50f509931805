"""`fairbench data check` finds by itself, in the raw files, what is known to lead their users astray."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checks_data import base, card_of, check_card, checked, shipped
from conftest import law
from hypothesis import assume, given
from hypothesis import strategies as st

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.checks.check import compare_versions
from fairbench_cli.data.checks.rows import read_raw_rows
from fairbench_cli.data.locate import data_folders, locate_files

# Cards as somebody writes them who has looked at a file's columns once, and knows nothing else of the data:
# the label, who is deprived, some columns. Then all that is found in what such a card uses, and some of what
# it leaves out.
FILES = """
== ACSIncome.test.parquet | many-levels OCCP, many-levels POBP, undocumented SEX |
label: {column: PINCP, favourable: 1}
protected: {SEX: {deprived: "2.0"}}
columns: {PINCP: , SEX: , SCHL: , MAR: , OCCP: nominal, POBP: nominal,
  AGEP: &n {kind: real, bins: {quantiles: 5}}, WKHP: *n}
== ACSMobility.test.parquet | small-gap SEX | constant ESP
label: {column: MIG, favourable: 1}
protected: {SEX: {deprived: "2.0", called: {deprived: women, favoured: men}}}
columns: {MIG: , SEX: , MAR: , ESP: drop, AGEP: &n {kind: real, bins: {quantiles: 5}}, PINCP: *n, RELP: }
== folktables_acstraveltime_small.parquet | undocumented SEX, undocumented ST, deterministic JWTR |
label: {column: JWMNP, favourable: 1}
protected: {SEX: {deprived: 1}}
columns: {JWMNP: , SEX: , JWTR: , MAR: , AGEP: {kind: integer, bins: {quantiles: 5}},
  ST: {codes: {"6": California, "26": Michigan}}}
== lawschool.csv | unknown-outcomes bar1, leak zgpa, gaps-by-group zgpa, undocumented race | leak age
missing: ["", NA]
label: {column: bar1, favourable: P, unknown: ["", NA]}
protected: {race: {deprived: 3}}
columns: {bar1: , race: {if_missing: mode}, age: drop,
  lsat: &n {kind: real, bins: {quantiles: 5}, if_missing: level}, ugpa: *n, zfygpa: *n, zgpa: *n}
== law_school_clean.csv | scores decile3 | scores zgpa
label: {column: pass_bar, favourable: "1.0"}
protected: {race: {deprived: Non-White}}
columns: {pass_bar: , race: , decile3: , decile1b: ,
  lsat: &n {kind: real, bins: {quantiles: 5}}, ugpa: *n, zfygpa: *n, zgpa: *n}
== law_school_tensorflow.parquet | scores dnn_bar_pass_prediction, duplicate dnn_bar_pass_prediction, scores decile1, contradiction hisp | scores decile3, scores zgpa, leak bar, leak bar2, identifier ID
label: {column: pass_bar, favourable: "1.0"}
protected: {race1: {deprived: black}}
columns: {pass_bar: , race1: , hisp: , decile1: , dnn_bar_pass_prediction: ,
  lsat: &n {kind: real, bins: {quantiles: 5}}, ugpa: *n}
== bank_full.parquet | leak duration, direction age |
label: {column: y, favourable: "yes"}
protected: {age: {deprived: to 24}}
columns: {y: , marital: , job: , poutcome: , month: ,
  age: {kind: integer, bins: {edges: 25, closed: left, levels: [to 24, from 25]}},
  duration: &n {kind: integer, bins: {quantiles: 5}}, balance: *n, pdays: *n, day: *n}
== creditcard.parquet | direction SEX, identifier ID, undocumented EDUCATION, undocumented MARRIAGE |
label: {column: default payment next month, favourable: 0}
protected: {SEX: {deprived: 2, called: {deprived: women, favoured: men}}}
columns: {default payment next month: , SEX: , ID: nominal, AGE: {kind: integer, bins: {quantiles: 5}},
  PAY_0: , PAY_2: ,
  EDUCATION: {codes: {"1": graduate school, "2": university, "3": high school, "4": others}},
  MARRIAGE: {codes: {"1": married, "2": single, "3": others}}}
== oulad_clean.csv | repeated-people id_student |
label: {column: final_result, favourable: Pass}
protected: {disability: {deprived: Y}}
columns: {id_student: drop}
other_columns: nominal
== student-por.csv | leak G1, leak G2, direction sex | few-rows sex
separator: ";"
label: {column: passed, favourable: "yes"}
protected: {sex: {deprived: F}}
columns: {school: , sex: , failures: , higher: , G1: &n {kind: integer, bins: {quantiles: 5}}, G2: *n,
  passed: {from: G3, kind: integer, bins: {edges: 10, closed: left, levels: ["no", "yes"]}}}
== communities.csv |  | mostly-missing LemasSwornFT, mostly-missing PctPolicWhite, mostly-missing PolicCars, mostly-missing LemasGangUnitDeploy
label: {column: crime, favourable: low}
protected: {black: {deprived: many}}
columns: {black: {from: racepctblack, kind: real, bins: {edges: .06, levels: [few, many]}},
  PctUnemployed: &n {kind: real, bins: {quantiles: 5}},
  crime: {from: ViolentCrimesPerPop, kind: real, bins: {edges: .15, levels: [low, high]}}, medIncome: *n}
== HMDA.csv | identifier rownames | few-rows afam
label: {column: deny, favourable: "no"}
protected: {afam: {deprived: "yes"}}
columns: {rownames: nominal,
  pirat: &n {kind: real, bins: {quantiles: 5}}, hirat: *n, lvrat: *n, unemp: *n}
other_columns: nominal
== labor_market_discrimination.csv | repeated-people ad_id |
label: {column: call, favourable: 1}
protected: {race: {deprived: b}}
columns: {call: , race: , sex: , honors: , education: , special_skills: }
== UCBAdmissions.csv |  | weight Freq
counts: Freq
label: {column: Admit, favourable: Admitted}
protected: {Gender: {deprived: Female}}
columns: {rownames: drop}
other_columns: nominal
== german.data | contradiction sex | few-rows sex
header: false
separator: " "
label: {column: credit, favourable: 1}
protected: {sex: {deprived: female}}
columns: {status: , b: drop, history: , d: drop, e: drop, savings: , g: drop, h: drop,
  sex: {recode: {A91: male, A92: female, A93: male, A94: male, A95: female}},
  j: drop, k: drop, l: drop, m: drop, n: drop, o: drop,
  p: drop, q: drop, r: drop, s: drop, t: drop, credit: }
other_columns: nominal
== south_german_credit.parquet | contradiction personal_status_sex | few-rows age
label: {column: credit_risk, favourable: good}
protected: {age: {deprived: to 25}}
columns: {credit_risk: , age: {kind: integer, bins: {edges: 25, levels: [to 25, older]}},
  personal_status_sex: , status: }
== heart_disease.parquet | direction num, direction sex, few-rows sex |
label: {column: num, favourable: 1}
protected: {sex: {deprived: 1, called: {deprived: men, favoured: women}}}
columns: {num: {recode: {"2": 1, "3": 1, "4": 1},
  codes: {"0": healthy, "1": disease, "2": disease, "3": disease, "4": disease}},
  sex: , cp: , thal: }
== nursery.parquet | deterministic class |
label: {column: class, favourable: priority}
protected: {finance: {deprived: inconv}}
columns: {class: {recode: {not_recom: other, spec_prior: other, very_recom: other, recommend: other}}}
other_columns: nominal
== compas-scores.csv | many-outcomes is_recid, scores decile_score | duplicate decile_score, mostly-missing num_r_cases, leak r_charge_degree, identifier id
label: {column: is_recid, favourable: 0}
protected: {race: {deprived: African-American}}
columns: {is_recid: , race: , sex: , decile_score: , age_cat: , c_charge_degree: }
"""  # noqa: E501
FILES = dict(part.split(" | ", 1) for part in FILES.split("== ")[1:])
FILES["student-mat.csv"] = FILES["student-por.csv"].replace(", direction sex", "")
EVERY = {"ACSIncome.test": 16, "ACSMobility.test": 6, "folktables_acstraveltime_small": 10, "creditcard": 3}


def kinds(findings):
    return {f"{one.kind} {one.column}" for one in findings}


def named(text):
    return set(filter(None, text.strip().split(", ")))


@pytest.mark.parametrize("file", FILES)
def test_every_trap_is_found_in_the_raw_file_and_nothing_else_in_what_is_used(tmp_path, file):
    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    found, text = FILES[file].split("\n", 1)
    used, left_out = found.split(" |")
    stem, _, ending = file.rpartition(".")
    if stem in EVERY:  # of the large ones not every row
        whole = pd.read_parquet(f"{os.environ['FAIRBENCH_DATA']}/{file}")
        whole.iloc[:: EVERY[stem]].to_parquet(tmp_path / file)
    kind = "parquet" if ending == "parquet" else "csv"
    path = tmp_path / "raw.yaml"
    drop = "" if "other_columns" in text else "other_columns: drop\n"
    path.write_text(f"name: raw\nfiles: [{file}]\nformat: {kind}\n{text}{drop}", encoding="utf-8")
    card = read_card(path)
    result = check_card(card, locate_files(card, [tmp_path, *data_folders(None, path)]))
    assert kinds(result.warnings) == named(used)
    noted = kinds(result.noted) | {f"leak {leak.column}" for leak in result.left_out_leaks}
    assert noted >= named(left_out)


def test_a_first_row_that_was_taken_for_names_is_seen(tmp_path):
    """FairGround's copy of Adult has 32,560 of 32,561 rows, and columns called 39, State-gov, …"""
    if not (folder := os.environ.get("FAIRBENCH_DATA")):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    rows = pd.read_csv(f"{folder}/adult.data", header=None, skipinitialspace=True, nrows=600, dtype=str)
    for names, found in (
        (rows.iloc[0], {"header "}),
        ([f"c{i}" for i in range(15)], set()),
        (range(15), set()),
    ):
        lost = rows.iloc[1:].set_axis(list(map(str, names)), axis=1)
        label, sex = str(list(names)[14]), str(list(names)[9])
        for kind in ("csv", "parquet") if found else ("csv",):
            getattr(lost, f"to_{kind}")(tmp_path / f"adult.{kind}", index=False)
            card = f"""
  name: adult-again
  files: [adult.{kind}]
  format: {kind}
  label: {{column: "{label}", favourable: ">50K"}}
  protected: {{"{sex}": {{deprived: Female}}}}
  columns: {{"{label}": , "{sex}": }}
  other_columns: drop"""
            (tmp_path / "again.yaml").write_text(card, encoding="utf-8")
            assert {
                one for one in kinds(checked(tmp_path / "again.yaml").warnings) if "header" in one
            } == found


def trapped(folder, rows, *traps, **changes):
    result = checked(card_of(folder, rows, traps=[{"note": "known", **trap} for trap in traps], **changes))
    return kinds(result.warnings), [(trap.kind, len(found)) for trap, found in result.found_traps.items()]


def test_a_trap_that_the_card_names_is_known_and_one_that_is_gone_is_a_warning(tmp_path):
    rows = base()
    rows["copy"] = rows["again"] = rows["good"]
    both = {"leak copy", "leak again", "duplicate again"}
    assert trapped(tmp_path, rows) == (both, [])
    leak, copy = {"kind": "leak", "column": "copy"}, {"kind": "duplicate"}
    assert trapped(tmp_path, rows, leak) == (both - {"leak copy"}, [("leak", 1)])
    assert trapped(tmp_path, rows, {"kind": "leak"}, copy) == (set(), [("leak", 2), ("duplicate", 1)])
    aged = trapped(tmp_path, rows, leak | {"column": "age"}, copy)[0]
    assert aged == both - {"duplicate again"} | {"leak age"}
    left_out = {"columns": {"copy": "drop", "again": "drop"}}
    assert trapped(tmp_path, rows, leak, **left_out) == (set(), [("leak", 1)])
    del rows["copy"], rows["again"]
    assert trapped(tmp_path, rows, leak) == ({"leak copy"}, [])
    assert trapped(tmp_path, rows, {"kind": "lost-group"}) == (set(), [])  # which two versions show


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, []),
        ({"rows": 401}, ["has rows: 400; the card expects 401"]),
        ({"columns": 5}, ["has columns: 4; the card expects 5"]),
        ({"favourable": 0.477}, []),
        ({"favourable": 0.478}, []),
        ({"favourable": 0.479}, ["has favourable: 0.4775; the card expects 0.479"]),
        ({"groups": {"sex": {"m": 0.4, "x": 0.5}}}, ["has favourable of m: ", "has favourable of x: nobody"]),
    ],
)
def test_what_the_card_expects_is_compared_to_three_digits(tmp_path, change, named):
    rows = base()
    good = pd.Series(rows["good"]) == "yes"
    rate = {key: round(float(value), 4) for key, value in good.groupby(rows["sex"]).mean().items()}
    facts = {"rows": 400, "columns": 4, "favourable": float(good.mean()), "groups": {"sex": rate}}
    found = checked(card_of(tmp_path, rows, expected=facts | change)).warnings
    assert [one.what[: len(what)] for one, what in zip(found, named, strict=True)] == named
    assert {one.kind for one in found} <= {"expected"}


@pytest.mark.parametrize(
    ("change", "words", "key"),
    [
        ({"sex": {"m": 1.5}}, "expected.groups.sex.m must be at most 1", "m: 1.5"),
        ({"sex": {"f": -0.1}}, "expected.groups.sex.f must be at least 0", "f: -0.1"),
        ({"sexx": {"m": 0.5}}, '"sexx" is no protected attribute of the card', "sexx:"),
    ],
)
def test_a_card_expects_shares_of_groups_that_it_has(tmp_path, change, words, key):
    facts = {"rows": 400, "columns": 4, "favourable": 0.5, "groups": change}
    card = card_of(tmp_path, base(), expected=facts)
    with pytest.raises(UserError) as refused:
        read_card(card)
    (problem,) = refused.value.problems
    path, line = str(problem.where).rsplit(":", 1)
    assert words in problem.what
    assert key in Path(path).read_text().splitlines()[int(line) - 1]


def test_known_traps_are_said_in_words_and_are_no_failure(say, tmp_path):
    rows = base()
    rows["copy"] = rows["good"]
    trap = {"kind": "leak", "column": "copy", "note": "written down after the decision"}
    said = say("data", "check", card_of(tmp_path, rows, traps=[trap]))
    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= 80
    text = " ".join(said.out.split())
    assert 'leak: written down after the decision [column "copy" gives good away' in text
    assert text.endswith("4 columns used, 0 left out: no warning") or "5 columns used" in text


def cleaned(rows, keep):
    return {
        name: [cell for cell, kept in zip(cells, keep, strict=True) if kept] for name, cells in rows.items()
    }


def versions(folder, first, second, **changes):
    found = []
    for name, rows in (("one", first), ("two", second)):
        (folder / name).mkdir(exist_ok=True)
        card = read_card(card_of(folder / name, rows, **changes))
        found.append(read_raw_rows(card, locate_files(card, [folder / name])))
    return compare_versions(*found)


def test_another_version_is_asked_whose_rows_it_lost(say, tmp_path):
    rows = base(900)
    rows["nr"] = list(range(900))
    columns = {"nr": "drop"}
    same = versions(tmp_path, rows, rows, columns=columns)
    assert (same.warnings, same.same.matched, same.same.changed) == ((), 900, 0)
    gone = versions(tmp_path, rows, cleaned(rows, [city != "b" for city in rows["city"]]), columns=columns)
    assert kinds(gone.warnings) == {"lost-group city"}
    assert f'"b" ({rows["city"].count("b")} rows)' in gone.warnings[0].what
    fewer = [sex == "m" or i % 3 > 0 for i, sex in enumerate(rows["sex"])]
    lost = versions(tmp_path, rows, cleaned(rows, fewer), columns=columns)
    assert kinds(lost.warnings) == {"lost-group sex"}
    assert [group.kept_share for group in lost.groups] == pytest.approx(
        [sum(fewer) / 900, cleaned(rows, fewer)["sex"].count("f") / rows["sex"].count("f"), 1]
    )
    other = card_of(tmp_path / "two", rows, protected={"city": {"deprived": "a"}}, columns=columns)
    said = say("data", "check", tmp_path / "one" / "mine.yaml", "--against", other)
    assert (said.code, said.out) == (2, "")
    assert "mine and mine have no protected attribute in common\n  fix: " in said.err
    other = {"yes": "no", "no": "yes"}[rows["good"][0]]
    turned = {**rows, "good": [other, *rows["good"][1:]]}
    changed = versions(tmp_path, rows, turned, columns=columns)
    assert (kinds(changed.warnings), changed.same.changed) == ({"contradiction good"}, 1)


def test_rows_of_other_people_and_of_other_codes_change_no_label(tmp_path):
    """Samples apart share some rows by chance; a column of codes here and of words there tells none."""
    columns = {"nr": "drop"}
    one, other = (
        {**base(900, seed), "nr": np.random.default_rng(seed).integers(400, size=900).tolist()}
        for seed in (1, 2)
    )
    telling = set(zip(one["sex"], one["age"], one["nr"], strict=True))
    assert telling & set(zip(other["sex"], other["age"], other["nr"], strict=True))
    assert versions(tmp_path, one, other, columns=columns).same is None
    one["nr"] = list(range(900))
    coded = {**one, "city": [ord(city) for city in one["city"]]}
    same = versions(tmp_path, one, coded, columns=columns).same
    assert (same.key_columns, same.matched, same.changed) == (("sex", "age", "nr"), 900, 0)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["0", "1", "2", "3", "4"], False),  # features without a name
        (["2016", "2017", "2018", "2019", "2020"], False),
        (["39", "77516", "13", "2174", "0"], True),  # the first person of Adult
        (["1", "0", "1", "0.5", "3"], True),
    ],
)
def test_columns_that_are_counted_are_no_first_row(tmp_path, names, found):
    rows = base() | {name or "x": [i % 7 for i in range(400)] for name in dict.fromkeys(names)}
    rows |= {f"{7000 + 10 * i}": ["a", "b"] * 200 for i in range(2 if found else 0)}
    assert ("header " in kinds(checked(card_of(tmp_path, rows)).warnings)) == found


@pytest.mark.parametrize(("levels", "found"), [(50, set()), (51, {"many-levels job"})])
def test_levels_are_many_whether_the_card_lists_the_column_or_not(tmp_path, levels, found):
    rows = base() | {"job": [f"job {i % levels}" for i in range(400)]}
    for columns in ({}, {"job": "nominal"}):
        assert kinds(checked(card_of(tmp_path, rows, columns=columns)).warnings) == found


def test_the_clean_versions_of_law_school_have_lost_black_students_and_changed_labels(say):
    """Counted with pandas on the files: 27,453 rows of known race, 4,371 of them without an outcome."""
    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    said = say("data", "check", "law-school", "--against", "law-school-tensorflow")
    assert (said.code, said.err) == (1, "")
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[-6:] for line in lines if line.startswith("all ")] == [
        ["27,453", "22,387", "81.5", "%", "0.886", "0.948"]
    ]
    assert "1,392 of them have another label" in " ".join(said.out.split())


def apart(n, seed=0):
    """Rows where age, job and city hang together, and nothing else with `calls` and `luck`."""
    rng = np.random.default_rng(seed)
    age, calls, luck = rng.integers(0, 4, n), rng.integers(0, 4, n), rng.integers(0, 4, n)
    job, city = ((age + (rng.random(n) < share)) % 4 for share in (0.2, 0.3))
    sex = np.where(rng.random(n) < 0.5 + 0.05 * (job - 2), "m", "f")
    columns = {"sex": sex, "age": age, "job": job, "city": city, "calls": calls, "luck": luck}
    return {name: [f"{name}{cell}" for cell in cells] for name, cells in columns.items()}, rng


@pytest.mark.parametrize(
    ("n", "say", "named"),
    [
        (3000, {"calls": 0.25}, {"leak calls"}),  # nothing else tells anything of it
        (3000, {"age": 0.25}, set()),  # job does
        (3000, {"calls": 0.1}, set()),  # it says 4 % of the entropy
        (900, {"calls": 0.25}, set()),  # in few rows others may tell something that is not seen
        (3000, {"calls": 0.17, "luck": 0.17}, set()),  # two of them, as in a designed table
    ],
)
def test_a_column_that_says_much_and_that_nothing_tells_is_probably_known_later(tmp_path, n, say, named):
    rows, rng = apart(n)
    rate = 0.5 + sum(
        share * (2 * np.isin(rows[name], [f"{name}2", f"{name}3"]) - 1) for name, share in say.items()
    )
    rows["good"] = np.where(rng.random(n) < rate, "yes", "no").tolist()
    protected = {"sex": {"deprived": "sexf"}}
    found = kinds(checked(card_of(tmp_path, rows, protected=protected)).warnings)
    assert {one for one in found if one.startswith("leak")} == named


@law(15)
@given(
    st.tuples(*[st.sampled_from([20, 150, 2500])] * 2),
    st.tuples(*[st.floats(0.02, 0.98)] * 2),
    st.sampled_from("10"),
)
def test_direction_is_a_test_of_two_rates(tmp_path_factory, sizes, shares, favourable):
    """Against arithmetic on the counts: 2 points and 1.645 unpooled standard errors."""
    good = [round(n * share) for n, share in zip(sizes, shares, strict=True)]
    assume(0 < sum(good) < sum(sizes))
    rows = {
        "sex": ["f"] * sizes[0] + ["m"] * sizes[1],
        "good": [str(int(i < k)) for n, k in zip(sizes, good, strict=True) for i in range(n)],
    }
    rates = [k / n if favourable == "1" else 1 - k / n for n, k in zip(sizes, good, strict=True)]
    error = sum(p * (1 - p) / n for p, n in zip(rates, sizes, strict=True)) ** 0.5
    gap = rates[0] - rates[1]
    card = card_of(tmp_path_factory.mktemp("d"), rows, label={"column": "good", "favourable": favourable})
    found = {one.partition(" ")[0] for one in kinds(checked(card).warnings)} & {"direction", "small-gap"}
    better = gap >= max(0.02, 1.645 * error)
    fifths = all(min(pair) >= 0.8 * max(pair) for pair in (rates, [1 - rate for rate in rates]))
    same = fifths and abs(gap) + 1.96 * error < 0.03
    assert found == ({"direction"} if better else {"small-gap"} if same else set())


QUIET = ["german", "heart", "hmda-boston", "law-school-lequy", "nursery", "oulad", "south-german"]


@pytest.mark.parametrize("name", QUIET)
def test_a_shipped_card_names_its_traps_and_all_are_there(name):
    result = shipped(name)
    assert result.warnings == ()
    assert result.found_traps
