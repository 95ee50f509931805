"""Test rows of files of their own: coded as the others, in the key by what they hold, and tested on alone."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import derived, two_lines

import fairbench_cli as fb
from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import read_card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import locate_files
from fairbench_cli.experiment.plan import read_plan
from fairbench_cli.report.ledger.population_tests import ROW_BY_ROW

CARD: dict[str, Any] = {
    "name": "toy",
    "files": ["train.csv"],
    "test_files": ["test.csv"],
    "missing": "?",
    "columns": {
        "age": {"kind": "integer", "bins": {"quantiles": 3}},
        "hours": {"kind": "integer", "bins": {"count": 4}, "if_missing": "median"},
        "job": {"kind": "nominal", "if_missing": "mode", "recode": {"Clerk.": "clerk"}},
        "n": {"kind": "integer", "cap": 3, "if_missing": "level"},
        "s": "nominal",
        "y": "nominal",
    },
    "label": {"column": "y", "favourable": "1"},
    "protected": {"s": {"deprived": "f"}},
}


def rows_of(seed: int, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    hours = rng.choice([10, 20, 45, 50], n).astype(str).astype(object)
    hours[:5] = "?"
    jobs = rng.choice(["clerk", "smith"], n).astype(object)
    jobs[3:6] = "?"
    few = rng.integers(0, 6, n).astype(str).astype(object)
    few[7] = "?"
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "hours": hours,
            "job": jobs,
            "n": few,
            "s": np.array(["f", "m"])[s],
            "y": (rng.random(n) < 0.25 + 0.4 * s).astype(int),
        }
    )


def write(folder: Path, test: pd.DataFrame | None = None, **card: Any) -> Path:
    rows_of(1).to_csv(folder / "train.csv", index=False)
    (rows_of(2, 90) if test is None else test).to_csv(folder / "test.csv", index=False)
    return write_card(folder / "toy.yaml", **card)


def write_card(path: Path, **card: Any) -> Path:
    path.write_text(yaml.safe_dump(CARD | card, sort_keys=False))
    return path


def loaded(path: Path) -> Dataset:
    card = read_card(path)
    return load(card, locate_files(card, [path.parent]), locate_files(card, [path.parent], card.test_files))


def test_the_rows_are_coded_as_the_others_are(tmp_path: Path):
    """Each test row is what it would be if it stood among the others."""
    path = write(tmp_path)
    found, alone = loaded(path), load(read_card(path), locate_files(read_card(path), [tmp_path]))
    assert found.test is not None
    assert found.table.columns == alone.table.columns == found.test.columns
    assert found.table.codes.tolist() == alone.table.codes.tolist()
    test, levels = rows_of(2, 90), found.test.to_pandas()
    edges = [int(level.split("-")[0]) for level in levels["age"].cat.categories][1:]
    assert levels["age"].cat.codes.tolist() == np.searchsorted(edges, test["age"], side="right").tolist()
    median = sorted(float(h) for h in rows_of(1)["hours"] if h != "?")
    filled = test["hours"].replace("?", str(int(median[(len(median) - 1) // 2])))
    assert (
        levels["hours"].astype(str).map(lambda r: r.split("-")[0]).astype(int) <= filled.astype(int)
    ).all()
    assert set(levels["job"]) == {"clerk", "smith"}
    assert levels["n"].astype(str).tolist() == [
        "missing" if n == "?" else "3+" if int(n) > 2 else n for n in test["n"]
    ]
    assert found.test_sha256.keys() == {"test.csv"}


def test_beyond_the_others_are_the_end_bins_and_an_empty_bin_is_the_nearest(tmp_path: Path):
    test = rows_of(2, 90)
    test.loc[0, "age"], test.loc[1, "age"] = 3, 120
    test.loc[[10, 11], "hours"] = "35", "1"  # nobody works 31 to 40 hours, the third of four bins
    found = loaded(write(tmp_path, test))
    assert found.test is not None
    ages, hours = (found.test.to_pandas()[name].cat.codes for name in ("age", "hours"))
    assert ages[0] == 0
    assert ages[1] == ages.max()
    assert list(found.test.to_pandas()["hours"].cat.categories) == ["10-20", "41-50"]
    assert hours[[10, 11]].tolist() == [1, 0]


def test_a_capped_number_that_no_other_row_has_is_the_nearest(tmp_path: Path):
    path = write(tmp_path, rows_of(2, 90).assign(n="1"))
    rows = rows_of(1)
    rows.assign(n=rows["n"].replace("1", "2")).to_csv(tmp_path / "train.csv", index=False)
    found = loaded(path)
    assert found.test is not None
    assert found.test.column("n").levels == ("0", "2", "3+", "missing")
    assert set(found.test.to_pandas()["n"]) == {"0"}


def test_test_rows_below_two_files(tmp_path: Path):
    """Two files of rows and one of test rows are read as one file of the same rows is."""
    path, rows = write(tmp_path), rows_of(1)
    one = loaded(path)
    rows[:100].to_csv(tmp_path / "train.csv", index=False)
    rows[100:].to_csv(tmp_path / "more.csv", index=False)
    two = loaded(write_card(path, files=["train.csv", "more.csv"]))
    assert one.test is not None
    assert two.test is not None
    assert (one.table.columns, one.test.columns) == (two.table.columns, two.test.columns)
    assert np.array_equal(one.table.codes, two.table.codes)
    assert np.array_equal(one.test.codes, two.test.codes)


def test_what_does_not_fit_is_named_where_it_is(tmp_path: Path):
    """A cell that both files have is shown in the first; one that test rows alone have, in theirs."""
    path, rows = write(tmp_path, rows_of(2, 90).assign(age="old", hours="long")), rows_of(1)
    rows.assign(age="old").to_csv(tmp_path / "train.csv", index=False)
    with pytest.raises(UserError) as caught:
        loaded(path)
    assert [problem.where for problem in caught.value.problems] == [
        f"{tmp_path / 'train.csv'}:2",
        f"{tmp_path / 'test.csv'}:2",
    ]


def test_declared_levels_of_numbers_and_of_categories(tmp_path: Path):
    """An ARFF file may declare what the card calls numbers; a level that nobody else has stays refused."""
    head = "@relation r\n@attribute n {1,2,7}\n@attribute s {f,m,x}\n@attribute y {0,1}\n@data\n"
    (tmp_path / "train.arff").write_text(head + "1,f,0\n2,m,1\n" * 3)
    (tmp_path / "test.arff").write_text(head + "7,f,1\n2,m,0\n")
    columns = {"n": "integer", "s": "nominal", "y": "nominal"}
    path = tmp_path / "toy.yaml"
    files = {"files": ["train.arff"], "test_files": ["test.arff"], "format": "arff"}
    path.write_text(yaml.safe_dump(CARD | files | {"columns": columns}))
    found = loaded(path)
    assert found.test is not None
    assert found.test.to_frame(typed=True)["n"].tolist() == [7.0, 2.0]
    assert found.table.column("s").levels == ("f", "m")
    (tmp_path / "test.arff").write_text(head + "7,x,1\n2,m,0\n")
    with pytest.raises(UserError, match='"s" has "x" in the test rows'):
        loaded(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"job": "baker"}, ('"job" has "baker"', "test.csv:12", "recode")),
        ({"s": "x"}, ('"s" has "x"', "f, m")),
        ({"age": "old"}, ('"age" should hold whole numbers but has "old"', "test.csv:12")),
        ({"age": "?"}, ('has "?"',)),
    ],
)
def test_a_level_that_no_other_row_has_is_refused(tmp_path: Path, change: dict[str, str], words):
    test = rows_of(2, 90).astype(object)
    for name, value in change.items():
        test.loc[10, name] = value
    with pytest.raises(UserError) as error:
        loaded(write(tmp_path, test))
    assert len(str(error.value).splitlines()) == 2
    for word in words:
        assert word in str(error.value)


def test_columns_that_are_not_there_and_numbers_that_stay(tmp_path: Path):
    with pytest.raises(UserError, match='column "n"'):
        loaded(write(tmp_path, rows_of(2, 90).drop(columns="n")))
    columns = CARD["columns"] | {"age": {"kind": "integer"}}
    found = loaded(write(tmp_path, columns=columns))
    assert found.test is not None
    age = found.test.columns[0]
    assert age.kind == "number"
    numbers = [age.values[code] for code in found.test["age"]]
    assert numbers == rows_of(2, 90)["age"].tolist()
    assert [age.values[code] for code in found.table["age"]] == rows_of(1)["age"].tolist()


GIVEN: dict[str, Any] = {
    "name": "x",
    "repeats": 3,
    "interventions": ["none", "massaging"],
    "classifiers": ["naive-bayes"],
    "metrics": ["accuracy", "discrimination"],
    "predictions": True,
}
DRAWN = {"sample": {"beta": [0.5], "size": 200, "missing_arc": "leave"}}


def run(card: Path, folder: Path, **more: Any) -> pd.DataFrame:
    return fb.run(GIVEN | {"datasets": [str(card)]} | more, folder=folder).groups


def test_a_run_is_tested_on_them_and_on_nothing_else(tmp_path: Path, warm_server):
    import duckdb

    path, expected = write(tmp_path), rows_of(2, 90)
    given = str(shutil.copy(tmp_path / "test.csv", tmp_path / "mine.csv"))
    own = path.with_name("own.yaml")
    own.write_text(yaml.safe_dump({key: value for key, value in CARD.items() if key != "test_files"}))
    size = expected.groupby(["s", "y"]).size()
    for name, source in (("network", DRAWN), ("data", {"sample": {"from": "data"}})):
        by_card = run(path, tmp_path / f"{name}-card", **source, test="original")
        by_file = run(own, tmp_path / f"{name}-file", **source, test=given)
        pd.testing.assert_frame_equal(by_card, by_file)
        done = by_card.dropna()
        assert ((done["tn"] + done["fp"]) == [size[group, 0] for group in done["group"]]).all()
        assert ((done["fn"] + done["tp"]) == [size[group, 1] for group in done["group"]]).all()
        paired = pd.read_csv(tmp_path / f"{name}-file/paired.csv")
        assert set(paired["population_basis"]) == {ROW_BY_ROW}
        kept = next((tmp_path / f"{name}-file/predictions").glob("*none*"))
        rows = duckdb.connect().read_parquet(str(kept)).df()
        for _, part in rows.groupby("repeat"):
            assert part["row"].tolist() == [*range(90)]
            assert part["label"].tolist() == expected["y"].tolist()
        text = (tmp_path / f"{name}-file/tables/discrimination-accuracy.md").read_text()
        assert "Test set: the rows of mine.csv." in text
    moved = shutil.move(given, tmp_path / "moved.csv")
    run(own, tmp_path / "moved", **DRAWN, test=str(moved))
    keys = [[cell["key"] for cell in read_plan(tmp_path / name).cells] for name in ("moved", "network-file")]
    assert keys[0] == keys[1]
    expected.iloc[1:].to_csv(moved, index=False)
    assert len(run(own, tmp_path / "fewer", **DRAWN, test=str(moved)))
    assert {cell["key"] for cell in read_plan(tmp_path / "fewer").cells}.isdisjoint(keys[0])
    assert derived(tmp_path / "moved")["groups.csv"] == derived(tmp_path / "network-file")["groups.csv"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"test": "orignal"}, ("orignal", 'did you mean "original"?')),
        ({"test": "./nothing.csv"}, ("nothing.csv", "next to the config")),
        ({"test": "original", "sample": {"from": "data"}}, ("from: data", "test_files")),
        ({"test": "./test.csv", "sample": {"from": "data", "balanced": 40}}, ("balanced",)),
        ({"test": "./train.csv", "sample": {"from": "data"}}, ("train.csv is the data of toy", "holdout")),
    ],
)
def test_what_does_not_go_is_refused(tmp_path: Path, say, changes, words):
    write(tmp_path, test_files=[])
    given = GIVEN | DRAWN | {"datasets": ["./toy.yaml"]} | changes
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(given, sort_keys=False))
    two_lines(say("plan", "x.yaml"), *words)


def test_the_path_is_looked_for_next_to_the_config(tmp_path: Path, say):
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", test_files=[])
    given = GIVEN | DRAWN | {"datasets": ["./toy.yaml"], "test": "./test.csv", "repeats": 1}
    (tmp_path / "deep/x.yaml").write_text(yaml.safe_dump(given, sort_keys=False))
    assert say("run", "deep/x.yaml", "-q", "-j", "1").code == 0
    assert say("run", "results/x/config.yaml", "-q", "-j", "1").code == 0
    assert say("verify", "results/x", "--cells", "1").code == 0


def test_rows_of_one_file_are_as_if_they_were_in_another(tmp_path: Path, say):
    """Months that are tested on: the same tables as of two files; without them nobody trains on theirs."""
    apart = loaded(write(tmp_path))
    mixed = pd.concat([rows_of(1).assign(month="train"), rows_of(2, 90).assign(month="test")])
    order = np.random.default_rng(3).permutation([*["train"] * 240, *["test"] * 90])
    parts = {"train": iter(range(240)), "test": iter(range(240, 330))}
    mixed.iloc[[next(parts[part]) for part in order]].to_csv(tmp_path / "all.csv", index=False)
    columns = CARD["columns"] | {"month": "drop"}
    card = CARD | {"files": ["all.csv"], "test_rows": {"month": "test"}, "columns": columns, "test_files": []}
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(card))
    read = read_card(tmp_path / "one.yaml")
    found = locate_files(read, [tmp_path])
    both = load(read, found, locate_files(read, [tmp_path], read.tested_files))
    assert both.test is not None
    assert apart.test is not None
    assert (both.table.columns, both.test.columns) == (apart.table.columns, apart.test.columns)
    np.testing.assert_array_equal(both.table.codes, apart.table.codes)
    np.testing.assert_array_equal(both.test.codes, apart.test.codes)
    assert len(fb.load(tmp_path / "one.yaml").raw) == 240
    results = run(tmp_path / "one.yaml", tmp_path / "run", sample={"from": "data"}, test="original")
    done = results.dropna()
    assert (done.groupby("repeat")[["tn", "fp", "fn", "tp"]].sum().sum(axis=1) % 90 == 0).all()
    assert read_plan(tmp_path / "run").test_rows == "the rows of all.csv that the card keeps for tests"
    for change, words in {
        "test_rows: {month: [train, test]}": ("no rows are left", "`test_rows`"),
        "counts: month": ('"month" counts the people of a row', "under `counts` alone"),
        "test_rows: {month: tset}": ("tset", 'did you mean "test"?'),
        "test_rows: {moth: test}": ("moth", 'did you mean "month"?'),
        "test_files: [test.csv]": ("test_files and test_rows exclude each other",),
    }.items():
        (tmp_path / "bad.yaml").write_text(f"extends: ./one.yaml\nname: bad\n{change}\n")
        two_lines(say("data", "show", "bad.yaml"), *words)
