"""Values that differ in capitals, blanks, accents or dots only: a stop, one outcome or group, or several."""

import json
import random

import pytest
from audit_counts import cells, read, refused
from conftest import two_lines

import fairbench_cli as fb
from fairbench_cli.audit.options import read_config
from fairbench_cli.base.spelling_variants import has_plain_letters

HIRED = "hired,sex\n" + "Accepted,f\nRejected,f\naccepted,f\nAccepted,m\nRejected,m\nRejected ,m\n" * 5


HIRING = {"scores": ("hired",), "favourable": ("Accepted",)}


def test_a_value_spelled_nearly_as_the_favourable_one_stops_the_audit(tmp_path, say):
    """It counted as refused, and the audit ended with exit code 0."""
    (tmp_path / "hiring.csv").write_text(HIRED)
    two_lines(
        say("audit", "hiring.csv", "--score", "hired", "--favourable", "Accepted"),
        'hired is "accepted" in 5 rows, which would not count as "Accepted": "Accepted", "accepted" differ '
        "in capitals only",
        "--favourable 'Accepted|accepted'; or keep them apart: --spellings hired=keep",
    )


def test_several_values_of_one_outcome():
    clean = cells(read(HIRED.replace("accepted", "Accepted"), **HIRING))
    assert cells(read(HIRED, **HIRING | {"favourable": ("Accepted|accepted",)})) == clean
    tally = read(HIRED, **HIRING, spellings={"default": "merge"})
    assert cells(tally) == clean
    assert 'hired: "Accepted" counts "accepted" (5 rows), too.' in tally.notes
    assert 'hired: "Accepted" or "accepted" count as 1; 0 is "Rejected" (15 rows).' in tally.notes
    apart = cells(read(HIRED, **HIRING, spellings={"hired": "keep"}))
    assert apart == cells(read(HIRED.replace("accepted", "Rejected"), **HIRING))


def test_outcomes_of_several_values_are_classes_like_others():
    text = "hired,sex\nyes,f\nYes,m\nno,f\nmaybe,m\nperhaps,f\n"
    tally = read(text, scores=("hired",), favourable=("yes|Yes", "maybe|perhaps"))
    assert [part.decision for part in tally.slices] == [
        "yes|Yes against the rest",
        "maybe|perhaps against the rest",
    ]
    assert [part.counts.predicted.tolist() for part in tally.slices] == [
        [[2.0, 1.0], [1.0, 1.0]],
        [[2.0, 1.0], [1.0, 1.0]],
    ]


def test_a_bar_may_belong_to_the_value():
    text = "hired,sex\na|b,f\na,m\nb,f\nb,m\n"
    tally = read(text, scores=("hired",), favourable=("a|b",))
    assert tally.slices[0].counts.predicted.tolist() == [[1.0, 1.0], [2.0, 0.0]]


def test_score_and_label_with_spellings_of_their_own():
    text = "hired,good,sex\nyes,Good,f\nYes,bad,m\nno,good,f\nno,bad,m\n"
    keys = {"scores": ("hired",), "label": "good", "favourable": ("yes|Yes", "Good|good")}
    codes = "hired,good,sex\n1,1,f\n1,0,m\n0,1,f\n0,0,m\n"
    assert cells(read(text, **keys)) == cells(read(codes, scores=("hired",), label="good"))


@pytest.mark.parametrize(
    ("favourable", "keys", "words"),
    [
        (("Accepted|acceptd",), {}, 'no hired is "acceptd"'),
        (("Accepted|Accepted",), {}, '"Accepted" is named twice'),
        (("Accepted", "accepted"), {"default": "merge"}, '"Accepted" is named, and is merged with another'),
        (("Accepted", "accepted"), {}, "count them as one outcome: --favourable 'Accepted|accepted'"),
        (("Accepted|accepted",), {"age": "merge"}, '"age" is neither audited nor the score or label'),
    ],
)
def test_what_does_not_fit(favourable, keys, words):
    assert words in refused(HIRED, scores=("hired",), favourable=favourable, spellings=keys)


ALIKE = [
    ("caf\u00e9", "cafe\u0301"),
    ("Asian", "As\u200bian"),
    ("a b", "a\u00a0b"),
    ("a b", "a  b"),
    ("asian", "Asian"),
    ("Asian.", "asian"),
    ("Caucasian", "C\u0430ucasian"),
    ("1", "1.0"),
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_groups_that_are_likely_one_stop_the_audit(first, second):
    text = f"score,race\n1,{first}\n0,{second}\n0,{second}\n1,other\n"
    message = refused(text)
    assert "and would be 2 groups (" in message
    assert "count them as one group: --spellings race=merge; or apart: --spellings race=keep" in message
    kept = read(text, spellings={"race": "keep"})
    assert len(kept.slices[0].counts.groups) == 3
    assert any(first in note or json.dumps(first) in note for note in kept.notes)
    merged = read(text, spellings={"default": "merge"})
    spelling = next(filter(has_plain_letters, (second, first)))  # the commonest that one can type
    clean = text.replace(f",{first}\n", f",{spelling}\n").replace(f",{second}\n", f",{spelling}\n")
    assert cells(merged) == cells(read(clean))


def test_groups_that_are_left_out_or_cut_are_no_groups():
    text = "score,race,age\n1,a,1\n0,A,1.0\n1,b,2\n0,b,3\n"
    keys = {"bins": read_config({"bins": "age=2"}).bins}
    assert "race: " in refused(text, attributes=("race",))
    assert cells(read(text, exclude=("race=A",), attributes=("race",)))
    assert "age: " not in refused(text, attributes=("race",), **keys)


def test_everything_that_is_spelled_in_two_ways_is_said_at_once():
    text = HIRED.replace("Accepted,f", "Accepted,F") + "Rejected,fem.\nRejected,fem\n"
    message = refused(text, **HIRING)
    assert message.count("error: ") == 3


def test_a_short_form_is_remarked_on():
    tally = read("score,sex\n1,F\n0,Female\n1,M\n")
    short = 'sex: "F" may be short for "Female"; to count them as one: --recode \'sex: Female = F\'.'
    assert short in tally.notes


def test_messy_spellings_give_the_clean_answer():
    """A third of the cells in other capitals, with blanks or a dot: merged, the counts are the clean ones."""
    rng = random.Random(5)  # noqa: S311
    clean, messy = ["decision,group"], ["decision,group"]
    for _row in range(600):
        cells_of_row = rng.choice(["Hired", "Declined"]), rng.choice(["Women", "Men", "Others"])
        clean.append(",".join(cells_of_row))
        changes = (str, str.upper, lambda cell: f" {cell} ", lambda cell: f"{cell}.")
        messy.append(",".join(rng.choice(changes)(cell) for cell in cells_of_row))
    keys = {"scores": ("decision",), "favourable": ("Hired",), "spellings": {"default": "merge"}}
    expected, found = (read("\n".join(lines) + "\n", **keys) for lines in (clean, messy))
    rows = [sorted(part.counts.n.tolist()) for tally in (expected, found) for part in tally.slices]
    assert rows[0] == rows[1]
    assert "differ in" in refused("\n".join(messy) + "\n", scores=("decision",), favourable=("Hired",))


def test_the_label_may_spell_the_favourable_value_otherwise():
    text = "score,label,sex\nYes,yes,f\nNo,no,f\nYes,no,m\nNo,yes,m\n"
    message = refused(text, favourable=("Yes",))
    assert 'label is "yes" in 2 rows, which would not count as "Yes"' in message
    codes = "score,label,sex\n1,1,f\n0,0,f\n1,0,m\n0,1,m\n"
    assert cells(read(text, favourable=("Yes|yes",))) == cells(read(codes))
    assert cells(read(text, favourable=("Yes",), spellings={"default": "merge"})) == cells(read(codes))


@pytest.mark.gate
def test_spellings_of_the_score_hold_for_the_baseline_too(tmp_path, say):
    new = "id,score,sex\n" + "".join(f"{i},{'Yes' if i % 3 else 'no'},{'fF'[i % 2]}\n" for i in range(60))
    (tmp_path / "new.csv").write_text(new)
    (tmp_path / "old.csv").write_text(new.replace("1,Yes", "1,yes").replace(",F", ",f"))
    given = ["audit", "new.csv", "--against", "old.csv", "--favourable", "Yes", "-a", "sex"]
    given += ["--spellings", "sex=merge"]
    done = say(*given)
    assert done.code == 2
    assert "--spellings score=keep" in done.err
    assert say(*given, "--spellings", "score=merge").code == 0


def test_columns_of_one_name_in_parquet_stop_as_in_csv(tmp_path, say, pa):
    from pyarrow import parquet

    table = pa.table([[1, 0, 1], [0, 1, 0], ["a", "b", "a"]], names=["score", "score", "race"])
    parquet.write_table(table, tmp_path / "p.parquet")
    two_lines(say("audit", "p.parquet"), 'column "score" appears twice')


# One whole number, written as 1 and as 1.0 ------------------------------------------------------------------

NAMED = {
    "ref": lambda value: {"ref": f"g={value}"},
    "recode": lambda value: {"recode": f"g: Z = {value}"},
    "favourable": lambda value: {"favourable": value},
    "favourable-label": lambda value: {"favourable_label": value},
    "exclude": lambda value: {"exclude": value},
    "exclude by name": lambda value: {"exclude": f"g={value}"},
    "two at once": lambda value: {"favourable": f"{value}|3.5"},
}


@pytest.mark.parametrize("of_file", ["1", "1.0"])
@pytest.mark.parametrize("option", NAMED)
def test_a_whole_number_is_named_as_1_or_as_1_0(option, of_file, tmp_path):
    rows = ["1,1,1", "2.0,3.5,1", "3.5,1,3.5", "1,2.0,2.0", "2.0,1,3.5"] * 20
    text = "".join(f"{row}\n".replace("1", of_file) for row in rows)
    (tmp_path / "g.csv").write_text(f"g,score,label\n{text}")
    results = []
    for value in ("1", "1.0"):
        options = {"attribute": "g", "favourable": of_file, **NAMED[option](value)}
        results.append(fb.audit(tmp_path / "g.csv", draws=0, **options).to_pandas().to_csv())
    assert results[0] == results[1]
