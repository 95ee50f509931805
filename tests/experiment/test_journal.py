"""The journal: whatever happens to it, what can be read is right and the rest is counted."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from conftest import run_plan

from fairbench_cli.base.errors import UserError
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.folder import checked
from fairbench_cli.experiment.journal.journal import Journal, list_journals, new_header, read_journals, sealed
from fairbench_cli.experiment.versions import versions_of_numbers
from fairbench_cli.measures.counts import Counts

GROUPS = ("0", "1")


def repeat(number: int = 0, status="ok", key="k", **more) -> Repeat:
    n = np.arange(8, dtype=float).reshape(2, 2, 2) + number
    counts = None if status in ("failed", "killed", "infeasible") else Counts(GROUPS, n)
    return Repeat(key, number, status, "why" if counts is None else "", counts, **more)


def written(folder, *repeats: Repeat):
    with Journal(folder, new_header(versions_of_numbers())) as journal:
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
    assert len(reading.damages) == 0
    assert list(reading.records) == [("k", 0), ("k", 1), ("k", 2)]
    first = reading.records["k", 0]
    assert first.facts == {"M": 3, "d": 0.1 + 0.2}
    assert first.seconds == 1.25
    assert first.counts is not None
    assert np.array_equal(first.counts.n, given[0].counts.n)
    assert reading.records["k", 1].counts is None
    assert reading.records["k", 1].reason == "why"


def test_every_line_is_there_before_the_journal_is_closed(tmp_path):
    journal = Journal(tmp_path, new_header(versions_of_numbers()))
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
    assert len(reading.damages) == 1


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
    assert len(reading.damages) == 1


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


def test_every_flipped_bit_leaves_the_records_or_names_a_line(tmp_path):
    path = written(tmp_path, *(repeat(i, facts={"M": i}, seconds=0.5) for i in range(3)), repeat(3, "failed"))
    whole, text = shown(read_journals(tmp_path)), path.read_bytes()
    bits = np.random.default_rng(1).choice(len(text) * 8, 300, replace=False)
    named = 0
    for bit in bits:
        changed = bytearray(text)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        reading = read_journals(tmp_path)
        records = shown(reading)
        assert records.items() <= whole.items(), bit
        assert records == whole or reading.damages, bit
        named += bool(reading.damages)
    assert named == len(bits)


def shown(reading) -> dict:
    """Return all that records hold, as text."""
    return {
        place: repr((one, None if one.counts is None else one.counts.n.tolist()))
        for place, one in reading.records.items()
    }


def test_the_case_of_a_checksum_counts(tmp_path):
    path = written(tmp_path, *(repeat(i) for i in range(30)))
    *rest, last = path.read_bytes().splitlines()
    at = next(i for i in range(len(last) - 10, len(last)) if chr(last[i]) in "abcdef")
    path.write_bytes(b"\n".join([*rest, last[:at] + last[at : at + 1].upper() + last[at + 1 :]]))
    assert [damage.where for damage in read_journals(tmp_path).damages] == [f"{tmp_path.name}/{path.name}:31"]


def test_a_header_says_who_wrote_and_with_which_versions(tmp_path):
    header = new_header(versions_of_numbers(), "2/4")
    with Journal(tmp_path, header) as journal:
        journal.append(repeat(0))
    (file,) = read_journals(tmp_path).files
    assert (file.header, file.lines) == (header, 1)
    assert {"python", "numpy", "scipy", "scikit-learn", "numba"} == set(header.versions)
    assert journal.path.name.endswith("-shard-2-of-4.jsonl")
    assert header.host in journal.path.name


def test_a_journal_of_a_later_format_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(sealed('{"journal": 2}') + b"\n")
    with pytest.raises(UserError, match="update fairbench"):
        read_journals(tmp_path)


def test_old_lines_are_read_but_in_a_new_journal_a_checksum_is_not_missing(tmp_path):
    path = written(tmp_path, repeat(0))
    (tmp_path / "0.jsonl").write_bytes(line())
    assert set(read_journals(tmp_path).records) == {("k", 0), ("k", 9)}
    path.write_bytes(path.read_bytes() + line(repeat=5))
    reading = read_journals(tmp_path)
    assert ("k", 5) not in reading.records
    assert [damage.what for damage in reading.damages] == ["it has no checksum"]
    path.write_bytes(path.read_bytes().splitlines()[1])
    (damage,) = read_journals(tmp_path).damages
    assert damage.what == "the header before it is missing"


def test_journals_copied_into_one_file_keep_their_headers(tmp_path):
    one = written(tmp_path / "one", repeat(0))
    two = written(tmp_path / "two", repeat(1), repeat(2))
    (tmp_path / "all").mkdir()
    (tmp_path / "all/x.jsonl").write_bytes(one.read_bytes() + two.read_bytes())
    reading = read_journals(tmp_path / "all")
    assert [file.lines for file in reading.files] == [1, 2]
    assert reading.files == tuple(list_journals(tmp_path / "all"))
    assert reading.file_number(("k", 2)) == 1


def test_of_two_results_that_contradict_each_other_none_is_used_and_a_third_decides(tmp_path):
    written(tmp_path / "1", repeat(0), repeat(1))
    other = repeat(7)
    written(tmp_path / "2", replace(other, repeat=0), repeat(1, seconds=9))
    reading = read_all(tmp_path)
    assert list(reading.records) == [("k", 1)]
    assert len(reading.damages) == 2
    assert all("other counts" in damage.what for damage in reading.damages)
    written(tmp_path / "3", repeat(0))
    reading = read_all(tmp_path)
    assert set(reading.records) == {("k", 0), ("k", 1)}
    assert np.array_equal(reading.records["k", 0].counts.n, repeat(0).counts.n)
    assert [damage.where for damage in reading.damages] == [f"{tmp_path.name}/2.jsonl:2"]


def read_all(folder):
    """Read the journals of several folders as if they were copied together."""
    for path in folder.glob("?/*.jsonl"):
        shutil.copy(path, folder / f"{path.parent.name}.jsonl")
    return read_journals(folder)


def test_counts_that_are_not_those_of_the_test_rows_are_named(tmp_path):
    cell = {"key": "k", "dataset": "d", "attribute": "s"}
    plan = run_plan([cell], [{"dataset": "d", "edited_column": "s", "test_rows": 28}])
    wrong = Repeat("k", 2, "ok", "", Counts(("0", "1", "2"), np.ones((3, 2, 2))))
    written(tmp_path, repeat(0), repeat(1), wrong, repeat(5, key="of another plan"))
    reading = checked(read_journals(tmp_path), plan)
    assert set(reading.records) == {("k", 0), ("of another plan", 5)}
    assert [damage.where.rpartition(":")[2] for damage in reading.damages] == ["3", "4"]
    assert "sum to 36 rows, not 28" in reading.damages[0].what
    assert "3 groups, not 2" in reading.damages[1].what
