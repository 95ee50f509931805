"""Cells mended before they are counted: recodes, decimal commas, rows left out, labels."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from audit_counts import cells, read_tally
from conftest import study_of, two_lines

import fairbench_cli as fb
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.show.document import rate_legend
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.base.errors import UserError

SEXES = "score,sex\n" + "1,F\n0,Female\n1,female\n0,Male\n1,M\n" * 4
YEARS = "score;sex;years\n" + "1;f;3,5\n0;f;12\n1;m;4,25\n0;m;1.200,5\n" * 10


def read(text, **keys):
    return read_tally("-", read_config(keys), stdin=io.BytesIO(text.encode()))


def refused(text, **keys):
    with pytest.raises(UserError) as caught:
        read(text, **keys)
    return str(caught.value)


# Recoding --------------------------------------------------------------------------------------------------


def test_recoded_values_count_as_the_value_that_is_named():
    clean = SEXES.replace("Female", "F").replace("female", "F").replace("Male", "M")
    tally = read(SEXES, recode=["sex: F = Female, female; M = Male"])
    assert cells(tally) == cells(read(clean))
    assert 'sex: "F" counts "Female" (4 rows), "female" (4 rows), too.' in tally.notes
    as_mapping = read(SEXES, recode={"sex": {"F": ["Female", "female"], "M": ["Male"]}})
    assert cells(as_mapping) == cells(tally)


def test_recoded_scores_and_labels_are_numbers_if_they_look_like_some():
    words = "score,label,sex\n" + "hired,yes,f\nrejected,no,f\nhired,no,m\nrejected,yes,m\n" * 5
    numbers = words.replace("hired", "1").replace("rejected", "0").replace("yes", "1").replace("no", "0")
    tally = read(words, recode=["score: 1 = hired; 0 = rejected", "label: 1 = yes; 0 = no"])
    assert cells(tally) == cells(read(numbers))


@pytest.mark.parametrize(
    ("recode", "words"),
    [
        ("sexx: F = Female", 'no column "sexx"'),
        ("sex: F = Femal", 'no sex is "Femal"'),
        ("sex", "recodes nothing"),
        ("sex: F =", '"F" stands for no value of sex'),
        ("sex: F = Female; G = Female", '"Female" of sex is recoded twice'),
        ({"sex": "F"}, "recodes nothing"),
    ],
)
def test_what_cannot_be_recoded_is_refused(recode, words):
    assert words in refused(SEXES, recode=recode)


def test_two_letters_for_one_group_come_with_the_line_that_merges_them():
    text = "score,sex\n" + "1,F\n0,Female\n1,Male\n" * 5
    (note,) = [note for note in read(text).notes if "short for" in note]
    assert note == ('sex: "F" may be short for "Female"; to count them as one: --recode \'sex: Female = F\'.')
    assert not [note for note in read(text, recode="sex: Female = F").notes if "short for" in note]


# Decimal commas --------------------------------------------------------------------------------------------


def test_numbers_with_a_decimal_comma_are_numbers():
    comma = read(YEARS, bins={"years": 2}, attribute=["sex"])
    dots = YEARS.replace("1.200,5", "1200.5").replace(",", ".")
    point = read(dots, bins={"years": 2}, attribute=["sex"])
    assert cells(comma) == cells(point)
    assert "Numbers with a decimal comma: years." in comma.notes


def test_scores_with_a_decimal_comma_are_cut():
    text = "score;sex\n" + "0,25;f\n0,5;f\n0,75;m\n1,0;m\n" * 5
    assert cells(read(text, threshold=0.5)) == cells(read(text.replace(",", "."), threshold=0.5))
    codes = "score;sex\n" + "0,0;f\n1,0;f\n1,0;m\n" * 5
    assert cells(read(codes)) == cells(read(codes.replace(",", ".")))


def test_a_thousand_with_a_comma_is_never_taken_for_a_decimal():
    text = "score;sex;pay\n" + "1;f;1,234\n0;m;12,500\n" * 10
    tally = read(text)
    assert "Taken as text, as 1,234 may be a thousand or a decimal: pay." in tally.notes
    assert 'pay" has "1,234": it may be thousands or have three decimals' in refused(text, bins={"pay": 2})
    thousands = read(text, bins={"pay": 2}, notation={"pay": "point"})
    assert "pay: cut into 2 bins: 1234, 12500." in thousands.notes


def test_a_point_below_the_first_rows_is_refused_and_not_read_as_a_thousand():
    rows = "0,25;f\n0,75;m\n" * 5_500
    text = f"score;sex\n{rows}0.5;f\n"
    both = '-:2 and -:11002: error: "score" has "0,25" and "0.5": one has a decimal point, the other'
    assert both in refused(text, threshold=0.5)
    assert read(text, threshold=0.5, notation="score=either").rows == 11_001


def test_numbers_that_only_rows_below_the_first_show_are_read():
    amounts = [f"{100 + i / 100:.2f}" for i in range(10_000)] + ['"1,234.56"', '"$2,345.60"'] * 500
    text = "pay,sex\n" + "\n".join(f"{pay},{'fm'[i % 2]}" for i, pay in enumerate(amounts))
    tally = read(text, score="pay", threshold=1000)
    assert 'Numbers such as "1,234.56" are read as 1234.56: pay.' in tally.notes
    assert cells(tally) == cells(
        read(text.replace('"', "").replace("1,2", "12").replace("$2,3", "23"), score="pay", threshold=1000)
    )


# Rows without a decision -----------------------------------------------------------------------------------


def test_rows_without_a_decision_are_left_out_and_counted_by_group():
    text = "score,label,sex\n" + "1,1,f\n,0,f\n0,,f\n0,0,m\n1,1,m\n ,1,m\n" * 5
    complete = "score,label,sex\n" + "1,1,f\n0,0,m\n1,1,m\n" * 5
    tally = read(text, drop_missing=True)
    assert cells(tally) == cells(read(complete))
    assert tally.rows == 15
    assert "Left out: 15 rows without score or label; who they are may matter." in tally.notes
    assert "sex, left out: f 10 of 15 (66.7 %), m 5 of 15 (33.3 %)." in tally.notes
    assert 'score" is missing in 10 rows' in refused(text)


def test_rows_left_out_of_a_frame_are_the_same_and_its_ages_are_counted_by_bin():
    ages = [20, 30, 40, 50] * 10
    frame = pd.DataFrame({"score": [1, None, 0, 1] * 10, "age": ages})
    report = fb.audit(frame, attribute="age", bins={"age": [35]}, drop_missing=True).report
    assert [row.rows for row in report.groups] == [10, 20]
    assert "age, left out: under 35 10 of 20 (50.0 %)." in report.notes


def test_positions_of_rows_are_those_of_the_file():
    text = "score,sex\n,f\n1,f\nmaybe,m\n"
    assert refused(text, drop_missing=True).startswith('-:4: error: "score" has "maybe", not 0 or 1')


def test_a_file_without_any_decision_is_refused():
    assert "score is missing in every row" in refused("score,sex\n,f\n,m\n", drop_missing=True)


def test_rows_of_two_files_are_not_dropped(tmp_path, say):
    (tmp_path / "preds.csv").write_text(SEXES)
    two_lines(
        say("audit", "preds.csv", "--against", "preds.csv", "--drop-missing"),
        "drop-missing leaves rows out of one file",
        "leave one of the two out",
    )


# The label's own good value --------------------------------------------------------------------------------

LABELLED = "risk,recid,sex\n" + "Low,0,f\nHigh,1,f\nLow,1,m\nHigh,1,m\nLow,0,m\n" * 6


def test_the_label_has_a_good_value_of_its_own():
    turned = LABELLED.replace(",0,", ",x,").replace(",1,", ",0,").replace(",x,", ",1,")
    keys = {"score": ["risk"], "favourable": "Low", "label": "recid"}
    tally = read(LABELLED, **keys, favourable_label="0")
    assert cells(tally) == cells(read(turned, **keys))
    assert 'recid: "0" counts as 1, and "1" (18 rows) as 0.' in tally.notes
    assert cells(read(LABELLED, **keys, favourable_label="1")) == cells(read(LABELLED, **keys))


def test_the_good_value_of_a_label_may_be_written_otherwise():
    text = "score;label;sex\n" + "1;0,0;f\n0;1,0;f\n1;0,0;m\n0;1,0;m\n" * 6
    turned = text.replace("0,0", "?").replace("1,0", "0").replace("?", "1")
    assert cells(read(text, favourable_label="0")) == cells(read(turned))


def test_a_label_in_words_next_to_a_score_of_numbers():
    text = "score,label,sex\n" + "1,Paid,f\n0,paid,f\n1,Default,m\n0,Default,m\n" * 5
    keys = {"favourable_label": "Paid"}
    assert 'label is "paid" in 5 rows, which would not count as "Paid"' in refused(text, **keys)
    tally = read(text, favourable_label="Paid|paid")
    numbers = text.replace("Paid", "1").replace("paid", "1").replace("Default", "0")
    assert cells(tally) == cells(read(numbers))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"favourable_label": "2"}, 'no label is "2"'),
        ({"favourable_label": "0", "favourable": ["a", "b"]}, "names one value, and several classes"),
    ],
)
def test_a_value_that_no_label_has_is_refused(keys, words):
    assert words in refused("score,label,sex\n" + "1,0,f\n0,1,m\n" * 5, **keys)


def test_without_a_label_it_has_no_effect(tmp_path, say):
    (tmp_path / "preds.csv").write_text(SEXES)
    two_lines(
        say("audit", "preds.csv", "--favorable-label", "0"),
        "has no effect: there is no label",
        "name the label",
    )


# The headline ----------------------------------------------------------------------------------------------

AGES = {"under 25": (160, 40), "25 to 59": (120, 80), "60 and over": (60, 140)}
"""Of those who should be selected, how many of each group are missed and selected."""


def sentence(frame, **keys):
    return headline(fb.audit(frame, **keys).report).sentence


def ages():
    rows = [("1", group, score) for group, n in AGES.items() for score in (0, 1) for _ in range(n[score])]
    rows += [("0", group, 0) for group in AGES for _ in range(50)]
    return pd.DataFrame(rows, columns=["label", "age_group", "score"])


def test_who_is_harmed_most_comes_first():
    """The reference is harmed next to the old, who are missed least; the young are missed most."""
    keys = {"ref": {"age_group": "25 to 59"}, "metric": ["fnr"]}
    known = headline(fb.audit(ages(), decision="assistive", **keys).report)
    assert known.sentences[0].group == known.sentences[0].harmed == "under 25"
    unknown = headline(fb.audit(ages(), **keys).report)
    assert unknown.sentences[0].group == "60 and over"


def test_a_decision_that_helps_is_judged_by_its_rate_where_there_is_no_label():
    frame = ages().drop(columns="label")
    for decision, harmed in (("assistive", "under 25"), ("punitive", "60 and over")):
        report = fb.audit(frame, decision=decision, ref={"age_group": "25 to 59"})
        assert report.report.deciding == ("selection-rate",)
        assert headline(report.report).sentences[0].harmed == harmed


def test_the_largest_group_is_named_where_nobody_chose_a_reference():
    frame = pd.DataFrame({"score": [0, 1, 1] * 40, "race": ["a", "b", "b"] * 40})
    text = sentence(frame)
    assert text.endswith("Compared with the largest group, b; --ref race=GROUP chooses another.")
    assert "largest group" not in sentence(frame, ref={"race": "a"})
    # Readers of a page choose no option.
    page = fb.audit(frame).to_html()
    assert "Compared with the largest group, b. Audited" in page
    assert "chooses another" not in page


def test_an_age_in_numbers_is_said_not_to_be_audited():
    frame = pd.DataFrame({"score": [0, 1] * 50, "sex": ["f", "m"] * 50, "age": range(100)})
    text = sentence(frame)
    assert text.endswith("Not audited: age, which is a number: --bins age=4 cuts it.")
    page = fb.audit(frame).to_html()  # whose readers choose no option
    assert "Not audited: age, which is a number. " in page
    assert "cuts it" not in page
    assert "Not audited" not in sentence(frame, bins={"age": 4})
    assert "Not audited" not in sentence(frame.assign(age_cat="x"))


def test_what_is_not_asked_for_leaves_no_trace(tmp_path):
    frame = pd.DataFrame({"score": [0, 1] * 50, "sex": ["f", "m"] * 50})
    options = json.loads(fb.audit(frame).to("json"))["config"]
    assert options.keys().isdisjoint({"recode", "drop-missing", "favourable-label"})
    assert AuditConfig().resolved().keys().isdisjoint({"recode", "drop-missing", "favourable-label"})


# Months of dates -------------------------------------------------------------------------------------------

DATES = ["2025-01-31", "31.1.2025", "2025-02-01 10:30", "2025-12-30", "2026-04-01T00:00:00"]


@pytest.mark.parametrize(
    ("period", "slices"),
    [
        ("week", ["2025-W05", "2026-W01", "2026-W14"]),
        ("month", ["2025-01", "2025-02", "2025-12", "2026-04"]),
        ("quarter", ["2025-Q1", "2025-Q4", "2026-Q2"]),
        ("year", ["2025", "2026"]),
    ],
)
def test_slices_are_periods_of_dates(period, slices):
    rows = [(score, sex, date) for score in (0, 1) for sex in "fm" for date in DATES] * 5
    text = "score,sex,date\n" + "".join(f"{score},{sex},{date}\n" for score, sex, date in rows)
    tally = read(text, slice=f"date:{period}", attribute=["sex"])
    assert sorted({part.model for part in tally.slices}) == slices
    frame = pd.DataFrame(rows, columns=["score", "sex", "date"])
    report = fb.audit(frame, attribute="sex", slice=f"date:{period}").report
    assert sorted({part.model for part in report.slices}) == slices


def test_what_is_no_date_is_refused():
    text = "score,sex,date\n1,f,2025-01-01\n0,m,2025-13-01\n"
    assert refused(text, slice="date:month").startswith('-:3: error: "date" has "2025-13-01", not a date')
    assert '"day" is no period' in refused(text, slice="date:day")
    assert 'no column "when"' in refused(text, slice="when:month")


def test_messy_files_give_the_clean_answer_or_say_what_does(tmp_path):
    study = study_of("messy")
    for number in range(8):
        rng = np.random.default_rng([1, number])
        clean = study.make_clean(rng)
        outcome, why = study.judge(clean, study.make_messy(clean, rng), tmp_path)
        assert outcome != "SILENT", why


def test_numbers_with_commas_explain_what_the_same_numbers_with_points_do():
    rng = np.random.default_rng(4)
    years = rng.uniform(0, 30, 400).round(1)
    sex = rng.choice(["f", "m"], 400)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "team": rng.choice(["a", "b"], 400),
            "years": years.astype(str),
            "score": (years + 5 * (sex == "m") + rng.normal(0, 4, 400) > 18).astype(int),
        }
    )
    written = frame.assign(years=frame["years"].str.replace(".", ",", regex=False))
    texts = []
    for people in (frame, written):
        content = json.loads(fb.audit(people, attributes=["sex"], explain=["team"]).to_json())
        texts.append(json.dumps(content["explanations"]))
    assert texts[0] == texts[1]


# Birth dates -----------------------------------------------------------------------------------------------

BORN = ["1990-06-15", "15.06.1990", "1970-01-01", ""]


def people_with_birth_dates(n=120):
    """Return people who were seen on a day of 2024, with their birth dates in two ways of writing."""
    rng = np.random.default_rng(6)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), "D")
    frame = pd.DataFrame({"score": rng.integers(0, 2, n), "sex": rng.choice(["f", "m"], n)})
    frame["seen"] = days.strftime("%Y-%m-%d")
    frame["Date of Birth"] = rng.choice(BORN, n)
    return frame


def ages_of(frame, **keys):
    result = fb.audit(frame, draws=0, **keys)
    groups = result.to_pandas("groups")
    groups = groups[(groups["attribute"] == "Date of Birth") & (groups["metric"] == "selection-rate")]
    sizes = groups.set_index("group")["rows"].drop("(all)", errors="ignore")
    return sizes.to_dict(), result.report.notes


@pytest.mark.gate
def test_birth_dates_are_cut_into_ages_on_a_day():
    frame = people_with_birth_dates()
    keys = {"bins": {"Date of Birth": [34, 45]}}
    born_1990 = frame["Date of Birth"].isin(BORN[:2]).sum()
    others = {"45 and over": (frame["Date of Birth"] == BORN[2]).sum()}
    others["(missing)"] = (frame["Date of Birth"] == "").sum()
    sizes, notes = ages_of(frame, as_of="2024-06-14", **keys)
    assert sizes == {"under 34": born_1990} | others
    assert "Ages in full years on 2024-06-14: Date of Birth." in notes
    sizes, _ = ages_of(frame, as_of="2024-06-15", **keys)
    assert sizes == {"34 to 44": born_1990} | others
    sizes, notes = ages_of(frame, as_of="seen", **keys)
    is_34 = frame["Date of Birth"].isin(BORN[:2]) & (frame["seen"] >= "2024-06-15")
    assert sizes == {"under 34": born_1990 - is_34.sum(), "34 to 44": is_34.sum()} | others
    assert "Ages in full years on seen: Date of Birth." in notes


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "holds dates, and ages are counted on a day"),
        ({"as_of": "soon"}, '"soon" is no day and no column'),
        ({"as_of": "sex"}, '"sex" has "'),
        ({"as_of": "1960-01-01"}, "not the birth date of somebody alive on the day of ages"),
        ({"as_of": "2024-01-01", "bins": {}}, "as-of has no effect: no column that is cut holds dates"),
    ],
)
def test_ages_need_a_day(keys, words):
    with pytest.raises(UserError) as caught:
        fb.audit(people_with_birth_dates(), **{"bins": {"Date of Birth": [34, 45]}, **keys})
    assert words in str(caught.value)


BIRTHS = pd.DatetimeIndex(["1990-06-05", "1980-03-04", "1975-12-31", "2001-01-02"] * 10)
WRITTEN = {
    "%Y-%m-%d": "",
    "%d/%m/%Y": 'Dates are read day-first, as "31/12/1975" shows: dob.',
    "%d-%m-%Y %H:%M": 'Dates are read day-first, as "31-12-1975 00:00" shows: dob.',
    "%m/%d/%Y": 'Dates are read month-first, as "12/31/1975" shows: dob.',
    "%d %b %Y": "",
    "%Y%m%d": "",
}


def born(dates, as_of="30/06/2024", **keys):
    table = pd.DataFrame({"score": [0, 1] * (len(dates) // 2), "dob": dates}).to_csv(index=False)
    tally = read(table, bins={"dob": [34, 45]}, as_of=as_of, attribute=["dob"], **keys)
    return cells(tally), tally.notes


@pytest.mark.parametrize("writing", WRITTEN)
def test_dates_are_read_as_all_rows_show(writing):
    ages, notes = born(BIRTHS.strftime(writing))
    assert ages == born(BIRTHS.strftime("%Y-%m-%d"))[0]
    assert [text for text in notes if text.startswith("Dates")] == [WRITTEN[writing]] * bool(WRITTEN[writing])


def test_numbers_of_days_are_dates():
    days = (BIRTHS - pd.Timestamp("1899-12-30")).days
    ages, notes = born(days + 0.25)
    assert ages == born(days)[0] == born(BIRTHS.strftime("%Y-%m-%d"))[0]
    assert "Excel's numbers of days are read as dates: dob." in notes


def test_dates_that_may_be_two_days_are_asked_for():
    days = BIRTHS[[0, 1, 3, 0] * 10]
    texts = days.strftime("%d/%m/%Y")
    with pytest.raises(UserError, match="say which: --notation dob=day-first or ") as caught:
        born(texts)
    assert '"05/06/1990", and in 40 rows day or month may stand first' in str(caught.value)
    assert born(texts, notation="dob=day-first")[0] == born(days.strftime("%Y-%m-%d"))[0]
    with pytest.raises(UserError, match="day and month are not in the order of other rows"):
        born([*BIRTHS[1:].strftime("%d/%m/%Y"), "05/26/1975"])
    with pytest.raises(UserError, match='"05/06/2024" may be two days'):
        born(texts, as_of="05/06/2024")


def test_slices_by_month_read_dates_and_amounts_are_none():
    text = "score,sex,date\n" + "1,f,01/31/2025\n0,m,02/01/2025\n0,f,02/28/2025\n1,m,01/02/2025\n" * 20
    models = {part.model for part in read(text, slice="date:month", attribute=["sex"]).slices}
    assert {"2025-01", "2025-02"} <= models
    frame = pd.DataFrame({"score": [0, 1] * 20, "pay": [27000, 45000, 52000, 31000] * 10})
    notes = fb.audit(frame, bins={"pay": [30, 50]}, draws=0).report.notes
    assert "pay: cut into under 30, 30 to 49, 50 and over." in notes


def test_an_audit_of_dates_names_ages():
    days = pd.date_range("1980-01-01", periods=40).strftime("%d/%m/%Y")
    frame = pd.DataFrame({"score": [0, 1] * 20, "dob": days})
    offer = "dob: each date is a group; as ages on a day: --bins dob=25,45,65 --as-of 2024-12-31."
    assert offer in fb.audit(frame, attributes=["dob"], draws=0).report.notes


def test_birth_dates_are_offered_as_ages():
    report = fb.audit(people_with_birth_dates(), draws=0).report
    offer = "--bins 'Date of Birth=25,45,65' --as-of 2024-12-31"
    assert f"Not audited: age, which Date of Birth says: {offer} cuts it." in headline(report).sentence
    assert any(
        note.startswith("Not audited, as they hold dates: ") and offer in note for note in report.notes
    )
    with_age = people_with_birth_dates().assign(age=["young", "old"] * 60)
    assert offer not in headline(fb.audit(with_age, draws=0).report).sentence


# What counts as 1 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "legend"),
    [
        (
            {"score": "text", "label": "again", "favourable": "Low", "favourable_label": "0"},
            'selected: text is "Low"; who should be selected: again is 0.',
        ),
        (
            {"score": "text", "label": "again", "favourable": "High|Medium"},
            'selected: text is "High" or "Medium"; who should be selected: again is 1.',
        ),
        ({"score": "number", "threshold": 5}, "selected: number is above the cut."),
        ({"score": ["text", "other"], "favourable": "Low"}, 'selected: text or other is "Low".'),
    ],
)
def test_the_legend_says_which_values_of_which_columns_count(keys, legend):
    rng = np.random.default_rng(7)
    texts = rng.choice(["Low", "Medium", "High"], (2, 200))
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "text": texts[0], "other": texts[1]})
    frame["again"] = rng.integers(0, 2, 200)
    frame["number"] = rng.integers(0, 10, 200)
    report = fb.audit(frame, attribute="sex", draws=0, **keys).report
    assert rate_legend(report)[-1] == legend
