"""Words, percent and numbers as outcomes of an audited file."""

import numpy as np
import pandas as pd
import pytest
from audit_counts import read, read_tally, refused
from conftest import write_parquet

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.base.errors import UserError

ROWS = "yes,yes,a\nno,no,a\nyes,no,b\n no,yes,b\nmaybe,yes,b\n"
WORDS = f"score,label,race\n{ROWS}"


def counts(tally):
    return {part.decision: part.counts.n.tolist() for part in tally.slices}


def test_words_are_read_as_codes():
    tally = read(WORDS, favourable=("yes",))
    codes = WORDS.replace("yes", "1").replace("no", "0").replace("maybe", "0")
    assert counts(tally) == counts(read(codes))
    assert tally.notes == (
        'score: "yes" counts as 1; 0 are "no" (2 rows), "maybe" (1 row).',
        'label: "yes" counts as 1; 0 is "no" (2 rows).',
    )


def test_a_column_of_codes_stays_as_it_is():
    tally = read("score,label,race\n1,good,a\n0,bad,a\n1,bad,b\n", favourable=("good",))
    assert counts(tally) == counts(read("score,label,race\n1,1,a\n0,0,a\n1,0,b\n"))
    assert len(tally.notes) == 1
    coded = read("score,label,race\n1,1,a\n2,0,a\n1,0,b\n", favourable=("1",))
    assert counts(coded) == counts(tally)
    falses = read("score,label,race\nFalse,1,a\nTrue,0,a\nFalse,0,b\n", favourable=("False",))
    assert counts(falses) == counts(tally)


def test_scores_are_cut_and_labels_are_words():
    text = "score,label,race\n0.7,good,a\n0.1,bad,a\n0.6,bad,b\n"
    assert counts(read(text, favourable=("good",), threshold=(0.5,))) == {
        "score >= 0.5": [[[1, 0], [0, 1]], [[0, 1], [0, 0]]]
    }


def test_words_of_their_own_in_each_column():
    text = "score,label,race\nyes,good,a\nno,bad,a\nyes,bad,b\n"
    own = read(text, favourable=("good", "yes"))
    assert counts(own) == {"binary": [[[1, 0], [0, 1]], [[0, 1], [0, 0]]]}
    message = refused(text, favourable=("yes",))
    assert 'label is never "yes", but "bad" (2 rows), "good" (1 row)' in message
    assert "--favourable yes --favourable good" in message


def test_each_class_against_the_rest():
    tally = read(WORDS, favourable=("yes", "maybe"))
    single = {name: read(WORDS, favourable=(name,)) for name in ("yes", "maybe")}
    of_classes = counts(tally)
    of_classes.pop("all classes")
    assert of_classes == {f"{name} against the rest": counts(each)["binary"] for name, each in single.items()}
    assert 'score: "yes", "maybe" each counts as 1 against the rest; 0 is "no" (2 rows).' in tally.notes


def test_classes_beside_labels_of_codes():
    tally = read("score,label,race\nA,1,x\nB,0,x\nC,1,y\n", favourable=("A", "B"))
    assert not any(part.labelled for part in tally.slices)
    assert any("of no class" in note for note in tally.notes)
    assert [part.counts.predicted[:, 1].tolist() for part in tally.slices] == [[1, 0], [1, 0]]


@pytest.mark.gate
def test_words_of_two_files_and_two_scores(tmp_path):
    codes = {"yes": "1", "no": "0", "maybe": "0"}
    old = "score,b,label,race\n" + "".join(
        f"{a},{b},{y},{race}\n"
        for a, b, y, race in zip(
            ["yes", "no", "maybe"] * 4, ["no", "yes", "yes"] * 4, ["yes", "no"] * 6, "aabb" * 3, strict=True
        )
    )
    new = old.replace("maybe", "yes")
    found = []
    for coded in (False, True):
        for name, text in (("old", old), ("new", new)):
            for word in codes if coded else ():
                text = text.replace(word, codes[word])
            (tmp_path / f"{name}.csv").write_text(text)
        given = {} if coded else {"favourable": ("yes",)}
        files = {"against": str(tmp_path / "new.csv"), "attributes": ("race",)}
        both = read_tally(str(tmp_path / "old.csv"), AuditConfig(**given, **files))
        columns = AuditConfig(**given, scores=("score", "b"), attributes=("race",))
        found.append([both, read_tally(str(tmp_path / "old.csv"), columns)])
    for words, plain in zip(*found, strict=True):
        assert [part.counts.n.tolist() for part in words.slices] == [
            part.counts.n.tolist() for part in plain.slices
        ]
        assert len(words.slices) == 2


def test_labels_themselves_in_words():
    tally = read(
        "income,sex\n>50K,f\n<=50K,m\n>50K,m\n", favourable=(">50K",), score="income", label="income"
    )
    assert counts(tally)["binary"] == [[[0, 1], [0, 0]], [[1, 1], [0, 0]]]


def test_words_of_a_frame():
    frame = pd.DataFrame(
        {"score": pd.Categorical(["yes", "no", "no"]), "label": [2, 1, 2], "sex": list("ffm")}
    )
    with pytest.raises(UserError, match="name the good one, --favourable-label VALUE: one of 1, 2"):
        read_tally(frame.assign(score=1), AuditConfig())
    both = read_tally(frame, AuditConfig(favourable=("yes", "2")))
    assert counts(both)["binary"] == [[[1, 0], [0, 1]], [[0, 0], [1, 0]]]
    result = audit([1, 0, 0], ["yes", "no", "no"], ["f", "f", "m"], favourable="yes")
    assert result.report.groups[0].rows == 2
    with pytest.raises(UserError, match='favourable="yes"'):
        audit([1, 0, 0], ["yes", "no", "no"], ["f", "f", "m"])


@pytest.mark.parametrize(
    ("text", "keys", "words"),
    [
        (WORDS, {"favourable": ("Yes",)}, ['no score or label is "Yes"', 'did you mean "yes"']),
        (WORDS, {"favourable": ("yes", "ja")}, ['is "ja"', "maybe, no, yes"]),
        (WORDS, {}, ['"no" in 2 rows, "yes" in 2 rows, "maybe" in 1 row', "likely --favourable yes"]),
        (
            "score,race\n1,a\n0,b\n",
            {"favourable": ("yes",)},
            ["no effect", "--favourable 1 or"],
        ),
        ("score,race\n1,a\n0,b\n", {"favourable": ("1", "0")}, ["both are named", "--favourable 1 or"]),
        ("score,race\n.1,a\n.2,b\n", {"favourable": ("a",), "top_k": (1,)}, ["no effect", "scores are cut"]),
        ("score,label,race\n1,no,a\n0,yes,b\n", {"favourable": ("0",)}, ["--favourable-label yes"]),
        (
            "score,label,race\n1,x,a\n0,y,b\n",
            {"favourable": ("x", "y")},
            ["2 favourable", "no classes in score"],
        ),
        (
            "score,label,race\nhigh,yes,a\nlow,no,b\nmedium >,no,b\n",
            {"favourable": ("medium >", "high", "yes")},
            ["none in common", "--favourable 'medium >' --favourable yes"],
        ),
        ("score,label,race\n7,yes,a\n3,no,b\n", {"favourable": ("yes",)}, ["score is never", "--threshold"]),
        ("score,race\nyes,a\n,b\nno,b\n", {"favourable": ("yes",)}, ["-:3", '"score" is missing in 1 row']),
        (f"{WORDS}yes,,a\n", {"favourable": ("yes", "no")}, ["-:7", '"label" is missing in 1 row']),
        (
            "score,race\n" + "".join(f"v{i},a\n" for i in range(101)),
            {"favourable": ("v1",)},
            ["more than 100 different values"],
        ),
    ],
)
def test_refused(text, keys, words):
    message = refused(text, **keys)
    for word in words:
        assert word in message


def test_key_of_a_config(tmp_path):
    (tmp_path / "a.yaml").write_text("favourable: [yes, 1, true, yes]\n")
    assert read_config({}, tmp_path / "a.yaml").favourable == ("yes", "1", "true")
    assert read_config({"favourable": "yes"}).resolved()["favourable"] == ["yes"]
    with pytest.raises(UserError, match="one can be explained at a time"):
        read_config({"favourable": ["a", "b"], "explain": ["x"]})


def test_flag(say, tmp_path):
    (tmp_path / "p.csv").write_text(WORDS)
    done = say("audit", "p.csv", "--favourable", "yes", "--format", "json")
    assert done.code == 0, done.err
    assert '"yes\\" counts as 1' in done.out


# -- percent, scales, regression ---------------------------------------------------------------------


def test_percent():
    text = "score,race\n73 %,a\n5%,b\n0.5,a\n12\u00a0%,b\n100 %,b\n"
    tally = read(text, threshold=(0.12, 0.5))
    plain = read("score,race\n.73,a\n.05,b\n.5,a\n.12,b\n1,b\n", threshold=(0.12, 0.5))
    assert counts(tally) == counts(plain)
    assert 'score: cells with % are read as shares, such as "73 %"; others as they are, such as "0.5".' in (
        tally.notes
    )
    top = read(text, top_share=(0.4,))
    assert top.slices[0].counts.predicted[:, 1].tolist() == [1, 1]
    assert "x %" in refused(f"{text}x %,b\n", threshold=(0.5,))
    assert "--threshold 0.5" in refused(text)


@pytest.mark.parametrize(
    ("scores", "threshold", "words"),
    [
        ("3 97 50", 0.5, ["goes from 3 to 97", "selects everybody", "--threshold 50?"]),
        ("0.03 0.97 0.5", 50.0, ["goes from 0.03 to 0.97", "selects nobody", "--threshold 0.5?"]),
        ("1 10 5", 0.5, ["goes from 1 to 10", "name a threshold between these"]),
    ],
)
def test_thresholds_of_another_scale(scores, threshold, words):
    text = "score,race\n" + "".join(f"{score},a\n" for score in scores.split())
    message = refused(text, threshold=(threshold,))
    for word in words:
        assert word in message
    assert read(text, threshold=(5.0 if threshold < 1 else 0.5,)).rows == 3


def test_thresholds_that_select_everybody_on_the_same_scale():
    assert read("score,race\n0.6,a\n0.7,b\n", threshold=(0.5, 0.9)).rows == 2


@pytest.mark.parametrize("what", ["label", "score"])
def test_regression_is_refused(what):
    values = np.random.default_rng(0).random(30).round(3) * 1000
    rows = "".join(f"{value},1,a\n" for value in values)
    head = "label,score,race\n" if what == "label" else "score,label,race\n"
    message = refused(head + rows)
    assert f'"{what}" has' in message
    if what == "label":
        assert "looks like regression" in message
        assert "make a column of 0 and 1" in message
    else:
        assert "--threshold" in message


@pytest.mark.parametrize("options", [{"against": "s2"}, {"score": ["level", "later"]}])
def test_changes_of_levels_are_refused(options):
    rows = pd.DataFrame({"level": list("abc") * 40, "later": list("bca") * 40, "sex": list("fm") * 60})
    keys = {"score": "level", "outcome": "ordinal", "order": ["a", "b", "c"]} | options
    if "against" in keys:
        keys["against"] = rows
    with pytest.raises(UserError, match="levels in an order have none"):
        audit(rows, **keys)


def test_a_page_calls_measures_by_their_titles():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"pay": rng.normal(100, 9, 200).round(2), "sex": list("fm") * 100})
    assert "decided by mean; " in audit(rows, score="pay").to_html()
    rows["guess"] = rows["pay"] + 1 + rng.normal(0, 1, 200)
    page = audit(rows, score="guess", label="pay").to_html()
    assert "decided by mean, mean error, mean absolute error; " in page


@pytest.mark.parametrize("ending", ["csv", "parquet", "frame"])
def test_whole_numbers_that_are_stored_as_real_ones_are_written_whole(ending, tmp_path):
    rows = pd.DataFrame(
        {"score": [0, 1] * 100, "grp": [1.0, 1.0, 2.0, np.nan] * 50, "mark": [1.0, 1.3] * 100}
    )
    source = rows
    if ending == "csv":
        rows.to_csv(tmp_path / "rows.csv", index=False)
        source = tmp_path / "rows.csv"
    elif ending == "parquet":
        write_parquet(rows, tmp_path / "rows.parquet")
        source = tmp_path / "rows.parquet"
    report = audit(source, attributes=["grp", "mark"], ref={"grp": "1"}).report
    groups = {part.attribute: part.counts.groups for part in report.slices}
    assert groups == {"grp": ("1", "2", "(missing)"), "mark": ("1.0", "1.3")}
