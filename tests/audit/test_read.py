"""Reading an audited file into counts."""

import csv
import gzip
import io
import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from audit_counts import read_tally
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli.audit.scan
from fairbench_cli.audit.api import ArrayColumn, audit, frame_of_arrays
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan import scan as counting
from fairbench_cli.audit.scan.open import open_scan
from fairbench_cli.audit.scan.scores import read_scores
from fairbench_cli.audit.scan.source import open_frame, start_database
from fairbench_cli.audit.scan.strata import read_strata
from fairbench_cli.base.errors import UserError

QUICK = law(20)  # an audit each
TEXT = "score,label,race,sex\n"


def read_arrays(scores, groups, config, labels=None, weights=None):
    more = [] if weights is None else [ArrayColumn("weight", "weight", weights)]
    return read_tally(*frame_of_arrays(labels, scores, groups, more, config))


def read(text, spec=None):
    return read_tally("-", spec or AuditConfig(), stdin=io.BytesIO(text.encode()))


def by_attribute(tally):
    return {
        (part.model, part.decision, part.attribute, group): n.tolist()
        for part in tally.slices
        for group, n in zip(part.counts.groups, part.counts.n, strict=True)
    }


def only(tally):
    (part,) = tally.slices
    return part


def same(one, other):
    assert by_attribute(one) == by_attribute(other)
    assert [part.rows.tolist() for part in one.slices] == [part.rows.tolist() for part in other.slices]


@pytest.fixture
def compas(data_folder):
    path = data_folder / "../reference/aequitas/compas_for_aequitas.csv"
    if not path.exists():
        pytest.skip(f"no {path}")
    return path.resolve()


def test_compas(compas):
    tally = read_tally(str(compas), AuditConfig(intersect=("race", "sex")))
    assert tally.rows == 7214
    assert tally.notes == ()
    assert [part.attribute for part in tally.slices] == ["race", "sex", "age_cat", "race × sex"]
    found = by_attribute(tally)
    assert found["", "binary", "race", "African-American"] == [[990, 805], [532, 1369]]
    assert found["", "binary", "race", "Caucasian"] == [[1139, 349], [461, 505]]
    assert found["", "binary", "race × sex", "Asian × Female"] == [[1, 0], [1, 0]]
    assert {part.counts.total.item() for part in tally.slices} == {7214}
    assert tally.slices[0].rows.dtype == np.int64


def test_formats_agree(compas, tmp_path):
    expected = read_tally(str(compas), AuditConfig())
    content = compas.read_bytes()
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(content))
    (tmp_path / "p.tsv").write_bytes(content.replace(b",", b"\t"))
    (tmp_path / "p [1]*.csv").write_bytes(content)
    with duckdb.connect() as engine:
        table = engine.read_csv(str(compas))
        table.write_parquet(str(tmp_path / "p.parquet"))
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress((tmp_path / "p.ndjson").read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        tally = read_tally(str(path), AuditConfig())
        assert tally.source == str(path)
        same(tally, expected)
        with path.open("rb") as stdin:
            same(read_tally("-", AuditConfig(), stdin=stdin), expected)


def test_a_frame_is_a_file(compas):
    config = AuditConfig(intersect=("race", "sex"))
    expected = read_tally(str(compas), config)
    frame = pd.read_csv(compas)
    for each in (frame, frame.astype({"race": "category", "score": bool}).set_index("entity_id", drop=False)):
        tally = read_tally(each, config)
        assert tally.source == "data frame"
        assert tally.notes == expected.notes
        same(tally, expected)
    columns = {name: frame[name].to_numpy() for name in ("race", "sex", "age_cat")}
    arrays = read_arrays(frame["score"], columns, config, labels=frame["label_value"].tolist())
    same(arrays, expected)


def test_odd_frames():
    frame = pd.DataFrame(
        {
            "score": [1, 0, 1.0, 0],
            3: ["a", None, " a", np.nan],
            "Race": pd.Categorical(["x", "y", None, "y"]),
            "race": [1, "b", 2.5, True],
            "": range(4),
        },
        index=[5, 5, 6, 6],
    )
    tally = read_tally(frame, AuditConfig(attributes=("3", "Race", "race")))
    assert [(part.attribute, part.counts.groups) for part in tally.slices] == [
        ("3", ("a", "(missing)")),
        ("Race", ("x", "y", "(missing)")),
        ("race", ("1", "2.5", "True", "b")),
    ]
    assert "Columns without a name are left out: 5." in tally.notes
    scores = pd.DataFrame({"score": [0.25, 0.5, None], "race": list("abc")})
    with pytest.raises(UserError, match='data frame:row 3: error: "score" is missing in 1 row'):
        read_tally(scores, AuditConfig(threshold=0.3))
    top = read_tally(scores.dropna(), AuditConfig(top_k=1))
    assert selected(top) == {"top 1": [0, 1]}
    with pytest.raises(UserError, match='column "race" appears twice'):
        read_tally(pd.DataFrame([[1, "a", "b"]], columns=["score", "race", " race"]), AuditConfig())
    with pytest.raises(UserError, match="no rows"):
        read_tally(scores[:0], AuditConfig())
    with pytest.raises(UserError, match="no columns"):
        read_tally(pd.DataFrame(), AuditConfig())


def test_arrays():
    groups = {"age": np.arange(30), "sex": ["f", "m"] * 15}
    tally = read_arrays(np.linspace(0, 1, 30), groups, AuditConfig(top_share=0.1), weights=np.full(30, 2.0))
    assert [part.attribute for part in tally.slices] == ["age", "sex"]
    assert tally.weighted
    assert not tally.slices[0].labelled
    assert tally.slices[1].counts.predicted.tolist() == [[28, 2], [26, 4]]
    binned = read_arrays([1, 0] * 15, groups, AuditConfig(bins={"age": 2}), labels=[1] * 30)
    assert binned.slices[0].counts.groups == ("0-14", "15-29")
    with pytest.raises(UserError, match="the lengths differ"):
        read_arrays([1, 0], groups, AuditConfig())
    with pytest.raises(UserError, match='an attribute is called "label"'):
        read_arrays([1, 0], {"label": ["a", "b"]}, AuditConfig())


def test_pipe(compas):
    with subprocess.Popen(["cat", str(compas)], stdout=subprocess.PIPE) as process:
        tally = read_tally(f"/dev/fd/{process.stdout.fileno()}", AuditConfig())
    assert tally.rows == 7214


# -- attributes ------------------------------------------------------------------------------------


def test_codes_are_groups():
    rows = "".join(f"1,0,{i % 2},{i % 3 + 1},{i % 2 == 0}\n" for i in range(60))
    tally = read("score,label,sex,race,age\n" + rows)
    assert [part.counts.groups for part in tally.slices] == [("0", "1"), ("1", "2", "3"), ("False", "True")]


def test_named_numbers_are_groups():
    rows = "".join(f"1,{i}\n" for i in range(30))
    tally = read(f"score,age\n{rows}", AuditConfig(attribute=("age",)))
    assert len(only(tally).counts.groups) == 30


def test_missing_is_last_and_said():
    part = only(tally := read("score,race\n1,\n1,z\n0, \n0,A\n"))
    assert part.counts.groups == ("A", "z", "(missing)")
    assert part.rows.tolist() == [1, 1, 2]
    assert "race: 2 rows without a value; group (missing)." in tally.notes
    assert not part.labelled


def test_nan_of_a_parquet_number_is_missing(tmp_path):
    path = str(tmp_path / "p.parquet")
    with duckdb.connect() as engine:
        engine.sql("SELECT 1 AS score, unnest([0.0, 1.0, 'nan'::DOUBLE, NULL]) AS flag").write_parquet(path)
    assert only(read_tally(path, AuditConfig())).counts.groups == ("0", "1", "(missing)")


def test_quantity_that_is_text_far_below():
    rows = "".join(f"1,a,{i % 30}\n" for i in range(25_000))
    tally = read(f"score,race,code\n{rows}0,b,other\n")
    assert [part.attribute for part in tally.slices] == ["race", "code"]
    assert len(tally.slices[1].counts.groups) == 31
    assert not any("numeric" in note for note in tally.notes)


def test_intersection_of_a_column_not_audited():
    tally = read(f"{TEXT}1,0,a,m\n0,1,,f\n", AuditConfig(attribute=("race",), intersect=("sex", "race")))
    assert [(part.attribute, part.intersection) for part in tally.slices] == [
        ("race", False),
        ("sex × race", True),
    ]
    assert tally.slices[1].counts.groups == ("f × (missing)", "m × a")


@pytest.mark.parametrize("weighted", [False, True])
def test_counted_apart_as_together(monkeypatch, weighted):
    rng = random.Random(1)  # noqa: S311
    rows = "".join(
        f"{rng.randint(0, 1)},{rng.randint(0, 1)},{rng.choice('abc ')},{rng.choice(['', 'f', 'm'])},{i % 7}\n"
        for i in range(300)
    )
    spec = AuditConfig(weight="w" if weighted else None, attribute=("race", "sex"), intersect=("race", "sex"))
    text = f"score,label,race,sex,w\n{rows}"
    together = read(text, spec)
    monkeypatch.setattr(counting, "MOST_CELLS", 3)
    apart = read(text, spec)
    same(together, apart)
    assert together.notes == apart.notes
    assert together.weighted == weighted


# -- bins ------------------------------------------------------------------------------------------


def test_bins():
    rows = "".join(f"1,{age}\n" for age in [18, 20, 25, 26, 30, 31, 40, 90]) + "0,\n"
    tally = read(f"score,age\n{rows}", AuditConfig(bins={"age": 4}))
    part = only(tally)
    assert part.counts.groups == ("18-20", "25-26", "30-31", "40-90", "(missing)")
    assert part.rows.tolist() == [2, 2, 2, 2, 1]
    assert "age: cut into 4 bins: 18-20, 25-26, 30-31, 40-90." in tally.notes


def test_bins_keep_equal_values_together():
    tally = read("score,age\n" + "1,5\n" * 9 + "0,-1.5\n0,7\n", AuditConfig(bins={"age": 3}))
    assert only(tally).counts.groups == ("-1.5 to 5", "7")
    tally = read("score,age\n" + "1,5\n" * 9, AuditConfig(bins={"age": 3}))
    assert only(tally).counts.groups == ("5",)
    assert any("(3 were asked for" in note for note in tally.notes)


@QUICK
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=80), st.integers(2, 6))
def test_bins_hold_every_row_once(ages, bins):
    tally = read("score,age\n" + "".join(f"1,{age}\n" for age in ages), AuditConfig(bins={"age": bins}))
    part = only(tally)
    assert part.rows.sum() == len(ages)
    assert len(part.counts.groups) <= bins
    if len(set(ages)) == len(ages) >= bins:
        assert max(part.rows) - min(part.rows) <= 1


# -- decisions -------------------------------------------------------------------------------------

SCORES = "score,race\n0.9,a\n0.8,b\n0.8,a\n0.8,b\n0.1,a\n"


def selected(tally):
    return {part.decision: part.counts.predicted[:, 1].tolist() for part in tally.slices}


def test_decisions():
    tally = read(
        SCORES,
        AuditConfig(threshold=(0.8, 0.8), top_k=(2, 1), top_share=(1.0,)),
    )
    assert selected(tally) == {
        "score >= 0.8": [2, 2],
        "top 2 (4 with ties)": [2, 2],
        "top 1": [1, 0],
        "top 100 %": [3, 2],
    }
    assert selected(read(SCORES, AuditConfig(top_share=0.4, ties="exclude"))) == {
        "top 40 % (1 without ties)": [1, 0]
    }


@pytest.mark.gate
def test_draw_among_ties():
    spec = AuditConfig(top_k=3, ties="random", seed=3)
    tally = read(SCORES, spec)
    ((text, counts),) = selected(tally).items()
    assert text == "top 3 (2 of 3 ties drawn)"
    assert sum(counts) == 3
    head, *rows = SCORES.split()
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))  # noqa: S311
        assert selected(read("\n".join([head, *shuffled]), spec)) == {text: counts}
    several = {
        tuple(selected(read(SCORES, spec.model_copy(update={"seed": seed})))[text]) for seed in range(30)
    }
    assert several == {(2, 1), (1, 2)}


@pytest.mark.gate
def test_draw_with_weights():
    text = "score,race,w\n1,a,1\n1,a,10\n1,b,100\n0,b,5\n"
    spec = AuditConfig(weight="w", top_k=2, ties="random")
    sums = {
        tuple(only(read(text, spec.model_copy(update={"seed": seed}))).counts.predicted[:, 1])
        for seed in range(30)
    }
    assert sums == {(11, 0), (1, 100), (10, 100)}


def test_share_is_exact():
    rows = "".join(f"{i},a\n" for i in range(30))
    tally = read(f"score,race\n{rows}", AuditConfig(top_share=0.1))
    assert selected(tally) == {"top 10 %": [3]}  # 0.1 * 30 is 3.0000000000000004


# -- models ----------------------------------------------------------------------------------------


def test_models_are_cut_apart():
    rows = "m1,0.1,a\nm1,0.2,b\nm 2,5,a\nm 2,7,b\nm'3,0,a\n"
    spec = AuditConfig(model_column="m", top_k=1)
    tally = read(f"m,score,race\n{rows}", spec)
    assert [
        (part.model, part.counts.groups, part.counts.predicted[:, 1].tolist()) for part in tally.slices
    ] == [
        ("m 2", ("a", "b"), [0, 1]),
        ("m'3", ("a",), [1]),
        ("m1", ("a", "b"), [0, 1]),
    ]


def test_one_model_id_is_ignored():
    assert only(read("model_id,score,race\n7,1,a\n7,0,b\n")).attribute == "race"


# -- laws ------------------------------------------------------------------------------------------

ROW = st.tuples(
    st.sampled_from(["0", "1", "1.0", " 0", "True"]),
    st.sampled_from(["0", "1", "false"]),
    st.sampled_from(["a", "b", " a", "", "x,y", 'q"', "é", "NA", "l\nm"]),
    st.sampled_from(["f", "m"]),
)


def written(rows):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("score", "label", "race", "sex"), *rows])
    return file.getvalue()


@pytest.mark.gate
@QUICK
@given(st.lists(ROW, min_size=1, max_size=40), st.randoms())
def test_counts_are_those_of_a_plain_loop(rows, rng):
    truth = {"0": 0, "1": 1, "1.0": 1, "true": 1, "false": 0}
    expected = Counter(
        (
            attribute,
            row[place].strip() or "(missing)",
            truth[row[1].strip().lower()],
            truth[row[0].strip().lower()],
        )
        for row in csv.reader(io.StringIO(written(rows)))
        if row[0] != "score"
        for attribute, place in (("race", 2), ("sex", 3))
    )
    tally = read(written(rows))
    found = {
        (attribute, group, y, p): n[y][p]
        for (_, _, attribute, group), n in by_attribute(tally).items()
        for y in (0, 1)
        for p in (0, 1)
        if n[y][p]
    }
    assert found == expected
    same(tally, read(written(rng.sample(rows, len(rows)))))


@pytest.mark.gate
@QUICK
@given(st.lists(ROW, min_size=1, max_size=20), st.lists(ROW, min_size=1, max_size=20))
def test_counts_add_up(one, other):
    parts = [by_attribute(read(written(rows))) for rows in (one, other)]
    for key, n in by_attribute(read(written(one + other))).items():
        assert n == sum(np.array(part.get(key, np.zeros((2, 2)))) for part in parts).tolist()


@pytest.mark.gate
@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), min_size=3, max_size=30),
    st.integers(1, 3),
    st.sampled_from(["include", "exclude", "random"]),
    st.randoms(),
)
def test_top_lists(rows, k, ties, rng):
    spec = AuditConfig(top_k=k, ties=ties)
    part, again = (
        only(read("score,race\n" + "".join(f"{s / 4},{g}\n" for s, g in order), spec))
        for order in (rows, rng.sample(rows, len(rows)))
    )
    assert part.counts.n.tolist() == again.counts.n.tolist()
    assert part.decision == again.decision
    cut = sorted((s for s, _ in rows), reverse=True)[k - 1]
    above, upto = sum(s > cut for s, _ in rows), sum(s >= cut for s, _ in rows)
    full = {"include": upto, "exclude": above if upto > k else k, "random": k}[ties]
    assert part.counts.predicted[:, 1].sum() == full


def test_weights_and_their_squares_are_summed(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("score,label,race,w\n1,1,a,1\n0,0,a,3\n1,0,b,2\n0,1,b,2\n")
    (part,) = read_tally(str(path), AuditConfig(weight="w", attribute=("race",))).slices
    assert part.counts.n.tolist() == [[[3, 0], [0, 1]], [[0, 2], [2, 0]]]
    assert part.squares.tolist() == [[[9, 0], [0, 1]], [[0, 4], [4, 0]]]
    assert part.cell_rows.tolist() == [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    (part,) = read_tally(str(path), AuditConfig(attribute=("race",))).slices
    assert (part.squares == part.cell_rows).all()


def test_rows_of_weight_0_change_nothing_but_a_note(tmp_path):
    head, rows = "score,label_value,race,w\n", "1,1,a,1\n0,0,a,3\n1,0,b,2\n0,1,b,2\n" * 20
    found = []
    for more in ("", "1,1,a,0\n0,1,b,0.0\n"):
        path = tmp_path / "w.csv"
        path.write_text(head + rows + more)
        found.append(audit(path, weight="w", attributes=["race"]).report)
    without, having = found
    assert repr(having.disparities) == repr(without.disparities)  # NaN is not itself
    assert repr(having.groups) == repr(without.groups)
    assert "2 rows of weight 0 left out." in having.notes


# -- the engine ------------------------------------------------------------------------------------


def engine_settings(source):
    names = ("preserve_insertion_order", "threads", "memory_limit")
    return [source.row(f"SELECT current_setting('{name}')") for name in names]


def test_the_engine_s_settings_are_set_back(tmp_path):
    source = open_frame(start_database(tmp_path), pd.DataFrame({"score": [1, 0], "race": ["a", "b"]}))
    before = engine_settings(source)
    with source.engine(ordered=False, threads=1, memory=64):
        assert engine_settings(source) == [(False,), (1,), ("64.0 MiB",)]
    assert engine_settings(source) == before
    with pytest.raises(duckdb.CatalogException), source.engine(threads=1):
        source.execute("SELECT * FROM nothing")
    assert engine_settings(source) == before


def test_readers_leave_each_other_alone():
    rng = np.random.default_rng(0)
    columns = {"score": rng.random(300), "hours": rng.integers(0, 90, 300), "weight": rng.random(300)}
    frame = pd.DataFrame({**columns, "race": rng.choice(["a", "b"], 300), "sex": rng.choice(["f", "m"], 300)})
    config = AuditConfig(threshold=(0.5,), attributes=("race",), weight="weight", explained_by=(("sex",),))
    with open_scan(frame, config) as scan:
        before = engine_settings(scan.source)
        strata = read_strata(scan)
        scores = read_scores(scan, lambda _: 0)
        assert engine_settings(scan.source) == before
    with open_scan(frame, config) as scan:
        again = read_scores(scan, lambda _: 0)
        assert [each.sums.wins.tolist() for each in again] == [each.sums.wins.tolist() for each in scores]
        (race,) = read_strata(scan).by_attribute["race"]
        assert race.n.tolist() == strata.by_attribute["race"][0].n.tolist()


def test_the_source_alone_changes_the_settings():
    folder = Path(fairbench_cli.audit.scan.__file__).parent
    files = [path.name for path in folder.glob("*.py") if re.search(r'"SET ', path.read_text())]
    assert files == ["source.py"]


def test_a_scan_ends_with_its_block():
    with open_scan(pd.DataFrame({"score": [1, 0], "race": ["a", "b"]}), AuditConfig()) as scan:
        assert scan.source.row("SELECT 1") == (1,)
    with pytest.raises(duckdb.ConnectionException):
        scan.source.row("SELECT 1")
