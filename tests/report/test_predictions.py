"""Kept predictions: they are the rows that the counts count, whatever happens to the run that keeps them."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from conftest import bare_data, derived, edit_lines, journal_lines, law, plain_cell, two_lines
from hypothesis import given
from hypothesis import strategies as st

import fairbench_cli as fb
from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.experiment.decisions import PredictedRows, crc_of_rows, pack_rows, unpack_rows
from fairbench_cli.experiment.journal.journal import read_journals
from fairbench_cli.experiment.running.verify import verify
from fairbench_cli.report.ledger import predictions
from fairbench_cli.report.ledger.journal_arrays import COUNT_COLUMNS

GIVEN: dict[str, Any] = {
    "name": "kept",
    "repeats": 2,
    "interventions": ["none", "massaging"],
    "classifiers": ["naive-bayes"],
    "metrics": ["accuracy", "discrimination"],
    "predictions": True,
}
DRAWN = {"beta": [0.5], "size": 150}
WAYS: dict[str, dict[str, Any]] = {
    "original": {"sample": DRAWN},
    "network": {"sample": DRAWN, "test": "network"},
    "holdout": {"sample": {"from": "data"}},
    "balanced": {"sample": {"from": "data", "balanced": 40}},
}


def read(path: Path) -> pd.DataFrame:
    return duckdb.connect().read_parquet(str(path)).df()


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_data(tmp_path_factory.mktemp("toy"), "toy")


def given_for(toy: Path, way: str, **more: Any) -> dict[str, Any]:
    options = {} if "from" in WAYS[way]["sample"] else {"require_arc": True}
    return GIVEN | {"datasets": [{str(toy): options}]} | WAYS[way] | more


@pytest.fixture(scope="module")
def kept(toy: Path, tmp_path_factory: pytest.TempPathFactory, warm_server: None) -> Path:
    """A folder with a run for each way to get test rows."""
    base = tmp_path_factory.mktemp("kept")
    for way in WAYS:
        fb.run(given_for(toy, way), folder=base / way)
    return base


@pytest.mark.parametrize("way", WAYS)
def test_the_rows_are_those_that_were_counted(kept: Path, toy: Path, way: str):
    counted = pd.read_csv(kept / way / "groups.csv")
    files = sorted((kept / way / "predictions").iterdir())
    beta = "0.5" if "from" not in WAYS[way]["sample"] else "0"
    assert [one.name for one in files] == [
        f"toy-s-{name}-naive-bayes-beta-{beta}.parquet" for name in ("massaging", "none")
    ]
    data = pd.read_csv(toy.with_suffix(".csv"))
    for file, name in zip(files, ("massaging", "none"), strict=True):
        rows = read(file)
        assert list(rows) == ["repeat", "row", "s", "label", "decision", "score"]
        assert rows["score"].between(0, 1).all()
        own = counted[counted["intervention"] == name].set_index(["repeat", "group"])[COUNT_COLUMNS]
        for (repeat, group), part in rows.groupby(["repeat", "s"], observed=True):
            n = np.bincount(2 * part["label"] + part["decision"], minlength=4)
            assert n.tolist() == own.loc[(repeat, group)].tolist()
        if way == "network":
            assert (rows.groupby("repeat")["row"].apply(list).map(len) == 150).all()
            continue
        same = data.loc[rows["row"]]
        assert same["s"].tolist() == rows["s"].tolist()
        assert same["y"].tolist() == rows["label"].tolist()
        if way == "holdout":
            first, second = (set(part["row"]) for _, part in rows.groupby("repeat"))
            assert len(first) == len(second) == 150
            assert first != second
        if way == "original":
            assert rows.groupby("repeat")["row"].apply(list).map(lambda own: own == [*range(300)]).all()


def test_keys_and_numbers_are_those_of_a_run_that_keeps_nothing(kept: Path, toy: Path, tmp_path: Path):
    """Whoever asks for them later gets them by computing the repeats again, and the same numbers."""
    given = given_for(toy, "original", predictions=False)
    fb.run(given, folder=tmp_path / "out")
    assert not (tmp_path / "out/predictions").exists()
    assert not [*tmp_path.glob("out/journal/*.rows")]
    before = derived(tmp_path / "out")
    fb.run(given | {"predictions": True}, folder=tmp_path / "out")
    assert len(journal_lines(tmp_path / "out")) == 8
    after = derived(tmp_path / "out")
    assert {name: after[name] for name in before} == before
    assert after == derived(kept / "original")
    fb.run(given | {"predictions": True}, folder=tmp_path / "out")
    assert len(journal_lines(tmp_path / "out")) == 8
    fb.run(given | {"predictions": True, "repeats": 3}, folder=tmp_path / "out")
    assert len(journal_lines(tmp_path / "out")) == 10
    assert set(read(next((tmp_path / "out/predictions").iterdir()))["repeat"]) == {0, 1, 2}


def rows_of_a_copy(kept: Path, folder: Path) -> Path:
    """The file of packed rows of a copy of a run."""
    shutil.copytree(kept / "original", folder, dirs_exist_ok=True)
    (rows,) = folder.glob("journal/*.rows")
    return rows


@pytest.mark.parametrize("left", [0, -7, None])
def test_rows_that_are_torn_or_gone_are_computed_again(kept: Path, toy: Path, tmp_path: Path, left):
    rows = rows_of_a_copy(kept, tmp_path)
    if left is None:
        rows.unlink()
    else:
        rows.write_bytes(rows.read_bytes()[:left])
    fb.run(given_for(toy, "original"), folder=tmp_path)
    assert len(journal_lines(tmp_path)) == 4 + (1 if left == -7 else 4)
    assert derived(tmp_path) == derived(kept / "original")


def test_what_has_no_line_is_not_read_and_what_was_changed_is_refused(kept, tmp_path, say):
    rows = rows_of_a_copy(kept, tmp_path)
    whole = rows.read_bytes()
    rows.write_bytes(whole + b"begun and killed")
    for file in (tmp_path / "predictions").iterdir():
        file.unlink()
    assert say("report", tmp_path).code == 0
    assert derived(tmp_path) == derived(kept / "original")
    rows.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    next((tmp_path / "predictions").glob("*none*")).write_bytes(b"")  # so that it is made again
    two_lines(say("report", tmp_path), ".rows", "changed or damaged", "run again")


def test_verify_reads_the_rows_and_a_report_says_that_they_are_gone(kept, tmp_path, say):
    rows = rows_of_a_copy(kept, tmp_path)
    whole = rows.read_bytes()
    own = tmp_path / "predictions/mine.parquet"
    duckdb.sql("SELECT 1 AS a").write_parquet(str(own))
    assert verify(tmp_path, cells=1).good
    rows.write_bytes(bytes(byte ^ 1 for byte in whole))
    (found,) = verify(tmp_path, cells=1).different
    assert found.differences[0].startswith("predictions: damaged → ")
    rows.unlink()
    done = say("report", tmp_path)
    assert "the test rows of 4 repeats are in no journal/*.rows" in " ".join(done.err.split())
    assert [path.name for path in (tmp_path / "predictions").iterdir()] == ["mine.parquet"]


def test_a_line_names_no_file_elsewhere(kept, tmp_path):
    rows_of_a_copy(kept, tmp_path)
    edit_lines(tmp_path, lambda row: row["predictions"].update(file="../../secret.rows"))
    reading = read_journals(tmp_path / "journal")
    assert len(reading.damages) == 4


def test_a_file_is_audited_one_repeat_at_a_time(kept: Path, say):
    file = kept / "original/predictions/toy-s-massaging-naive-bayes-beta-0.5.parquet"
    of_cell, of_file = (
        json.loads(fb.audit(kept / "original", only="intervention=massaging", repeat=1).to_json()),
        json.loads(fb.audit(file, repeat=1).to_json()),
    )
    for report in (of_cell, of_file):
        del report["source"], report["notes"]
    assert of_cell == of_file
    assert fb.audit(file).report.rows == 300
    curves = fb.audit(file, score="score", threshold=0.5, curves=True)
    assert len(curves.to_pandas("scores"))
    two_lines(say("audit", file, "--repeat", "5"), "no repeat 5", "0, 1")


@law(50)
@given(st.integers(0, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_rows_come_back_as_they_were(n, scored, seed):
    rng = np.random.default_rng(seed)
    score = rng.random(n) if scored else None
    rows = PredictedRows(*rng.integers(0, 10**6, (2, n)), *rng.integers(0, 2, (2, n)), score)
    packed = pack_rows(rows)
    again = unpack_rows(packed, n)
    for name, values in vars(rows).items():
        found = getattr(again, name)
        assert (None if found is None or not n else found.tolist()) == (
            None if values is None or not n else values.tolist()
        )
    assert len(crc_of_rows(packed)) == 8
    with pytest.raises(ValueError, match="no"):
        unpack_rows(packed, n + 1)
    with pytest.raises(ValueError, match="no rows"):
        unpack_rows(b"nothing", n)


def test_a_file_is_named_after_its_world():
    cell = plain_cell(dataset="toy", classifier="none", beta=0.5)
    names = ["", "label", "label given job=1|2"]
    assert make_slugs(predictions._name_parts(cell | {"world": name}) for name in names) == [
        "toy-s-none-none-beta-0.5",
        "toy-s-label-none-none-beta-0.5",
        "toy-s-label-given-job-1-2-none-none-beta-0.5",
    ]
