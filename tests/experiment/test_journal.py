"""The journal: whatever happens to it, what can be read is right and the rest is counted."""

import json
import shutil

import numpy as np
import pytest

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal import Journal, read_journals
from fairbench_cli.measures.counts import Counts

GROUPS = ("0", "1")


def repeat(number: int = 0, status="ok", key="k", **more) -> Repeat:
    n = np.arange(8, dtype=float).reshape(2, 2, 2) + number
    counts = None if status in ("failed", "killed", "infeasible") else Counts(GROUPS, n)
    return Repeat(key, number, status, "why" if counts is None else "", counts, **more)


def written(folder, *repeats: Repeat):
    with Journal(folder) as journal:
        for one in repeats:
            journal.append(one)
    return journal.path


def test_what_is_written_is_read(tmp_path):
    given = [
        repeat(0, facts={"M": np.int64(3), "d": 0.1 + 0.2}, seconds=1.25),
        repeat(1, "infeasible"),
        repeat(2, "noop"),
    ]
    written(tmp_path, *given)
    reading = read_journals(tmp_path)
    assert reading.damaged == 0
    assert list(reading.records) == [("k", 0), ("k", 1), ("k", 2)]
    first = reading.records["k", 0]
    assert first.facts == {"M": 3, "d": 0.1 + 0.2}
    assert first.seconds == 1.25
    assert first.counts is not None
    assert np.array_equal(first.counts.n, given[0].counts.n)
    assert reading.records["k", 1].counts is None
    assert reading.records["k", 1].reason == "why"


def test_every_line_is_there_before_the_journal_is_closed(tmp_path):
    journal = Journal(tmp_path)
    journal.append(repeat(0))
    journal.append(repeat(1))
    assert len(read_journals(tmp_path).records) == 2
    journal.__exit__(None, None, None)


def test_a_folder_without_journals_has_no_records(tmp_path):
    assert read_journals(tmp_path / "nowhere").records == {}
    written(tmp_path)  # nothing appended: no file either
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_torn_last_line_is_dropped_and_counted(tmp_path, cut):
    path = written(tmp_path, repeat(0), repeat(1))
    path.write_bytes(path.read_bytes()[:-cut] if cut > 1 else path.read_bytes()[:-2])
    reading = read_journals(tmp_path)
    assert list(reading.records) == [("k", 0)]
    assert reading.damaged == 1


def line(**changes) -> bytes:
    row = {
        "key": "k", "repeat": 9, "status": "ok", "reason": "", "counts": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        "facts": {}, "seconds": 0.5,
    }  # fmt: skip
    return json.dumps(row | changes).encode()


GARBAGE = [
    b"garbage",
    b"\xff\xfe\x00\x01",
    b"\x00" * 50,
    b"[]",
    b'"text"',
    b"{}",
    b"[" * 100_000,
    line(key=[]),
    line(key=None),
    line(repeat=-1),
    line(repeat=1.5),
    line(repeat=True),
    line(status="splendid"),
    line(counts=[[1, 2], [3, 4]]),
    line(counts=[[[1, 2], [3, 4]]]),
    line(counts=[[[1, 2], [3, 4]], [[5, 6], [7, -8]]]),
    line(counts=[[[1, 2], [3, 4]], [[5, 6], [7, float("nan")]]]),
    line(counts=[[[1, 2], [3, 4]], [[5, 6], [7, float("inf")]]]),
    line(facts={"d": float("nan")}),
    line(facts={"d": "text"}),
    line(seconds=float("inf")),
    line(seconds="1"),
    line(reason=None),
]


def test_the_pattern_of_the_garbage_is_itself_a_record(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line())
    assert list(read_journals(tmp_path).records) == [("k", 9)]


@pytest.mark.parametrize("junk", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_the_middle_costs_its_own_line_only(tmp_path, junk):
    path = written(tmp_path, repeat(0), repeat(1))
    head, first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([head, first, junk, b"", second, b""]))
    reading = read_journals(tmp_path)
    assert list(reading.records) == [("k", 0), ("k", 1)]
    assert reading.damaged == 1


def test_a_result_beats_a_failure_and_the_first_result_stays(tmp_path):
    written(tmp_path, repeat(0, "failed"), repeat(0, seconds=1), repeat(0, "killed"), repeat(0, seconds=2))
    record = read_journals(tmp_path).records["k", 0]
    assert (record.status, record.seconds) == ("ok", 1)


def test_the_later_failure_beats_the_earlier(tmp_path):
    written(tmp_path, repeat(0, "failed"), repeat(0, "killed"))
    assert read_journals(tmp_path).records["k", 0].status == "killed"


def test_infeasible_is_a_result(tmp_path):
    written(tmp_path, repeat(0, "infeasible"), repeat(0, "failed"))
    assert read_journals(tmp_path).records["k", 0].status == "infeasible"


def test_merging_is_copying_the_files_of_two_folders(tmp_path):
    one = written(tmp_path / "one", repeat(0), repeat(1, "failed"))
    two = written(tmp_path / "two", repeat(1), repeat(2))
    (tmp_path / "both").mkdir()
    shutil.copy(one, tmp_path / "both")
    shutil.copy(two, tmp_path / "both")
    records = read_journals(tmp_path / "both").records
    assert {key: record.status for key, record in records.items()} == {("k", i): "ok" for i in range(3)}


def test_lines_are_strict_json(tmp_path):
    path = written(tmp_path, repeat(0, facts={"a": np.float32(0.5), "b": np.int32(2)}))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    header, row = (json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines())
    assert header["journal"] == 1
    assert row["facts"] == {"a": 0.5, "b": 2}
    with pytest.raises(ValueError, match="JSON"):
        written(tmp_path, repeat(0, facts={"a": float("nan")}))


def test_no_status_but_the_known_ones():
    with pytest.raises(ValueError, match="status"):
        repeat(0, "splendid")


def test_measures_of_rows_come_back_as_they_were(tmp_path):
    values = {"slope-t": np.inf, "belift": -np.inf, "rank-p": np.nan, "consistency": 0.1 + 0.2}
    written(tmp_path, repeat(0, values=values))
    back = read_journals(tmp_path).records["k", 0].values
    assert back.keys() == values.keys()
    assert all(np.array_equal(back[name], values[name], equal_nan=True) for name in values)


def test_what_is_measured_later_joins_the_first_result_and_a_failure_takes_nothing_away(tmp_path):
    swept = Counts(GROUPS, np.ones((3, 2, 2, 2)))
    written(tmp_path / "1", repeat(0, values={"belift": 0.5}))
    written(tmp_path / "2", repeat(0, "failed"))
    written(tmp_path / "3", repeat(0, values={"belift": 0.7, "rank-p": 0.1}, swept=swept))
    for path in tmp_path.glob("?/*.jsonl"):
        shutil.copy(path, tmp_path / f"{path.parent.name}.jsonl")
    record = read_journals(tmp_path).records["k", 0]
    assert record.status == "ok"
    assert record.values == {"belift": 0.5, "rank-p": 0.1}
    assert record.swept is not None
    assert np.array_equal(record.swept.n, swept.n)
