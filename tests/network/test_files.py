"""Networks on disk: readable, exact, and refused when broken. CSV files as tables."""

import json

import numpy as np
import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.load import table_from_csv
from fairbench_cli.data.table import Column
from fairbench_cli.network.files import Meta, from_json, load, save, to_json
from fairbench_cli.network.model import BayesNet

META = Meta(
    "hill-climbing", "bic", -12.25, -12.25, {"name": "toy", "sha256": "ab", "settings": {}, "rows": 3}
)


def net() -> BayesNet:
    columns = (Column("s", ("?", "é")), Column("x", ("0", "1", "2")), Column("y", ("<=50K", ">50K")))
    third = np.array([[1 / 3, 1 / 3, 1 - 2 / 3], [0.1, 0.2, 0.7]])
    table = np.array([[[0.1, 0.9]] * 3, [[0.25, 0.75]] * 3])
    return BayesNet(columns, ((), (0,), (0, 1)), (np.array([0.5, 0.5]), third, table))


def broken(change) -> str:
    content = json.loads(to_json(net(), META))
    change(content)
    return json.dumps(content)


def test_round_trip_is_exact_and_bytes_repeat(tmp_path):
    path = tmp_path / "net.json"
    save(net(), path, META)
    first = path.read_bytes()
    again, meta = load(path)
    assert meta == META
    assert again.columns == net().columns
    assert again.parents == net().parents
    assert all(np.array_equal(a, b) for a, b in zip(net().cpts, again.cpts, strict=True))
    save(again, path, meta)
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["net.json"]


def test_what_the_file_looks_like():
    text = to_json(net(), META)
    content = json.loads(text)
    assert content["format"] == "fairbench-network/2"
    assert content["arcs"] == [["s", "x"], ["s", "y"], ["x", "y"]]
    assert content["score"] == content["bic"] == -12.25
    assert (content["learner"], content["score_name"]) == ("hill-climbing", "bic")
    assert content["source"]["rows"] == 3
    lines = [line.strip() for line in text.splitlines()]
    assert '["s", "x"],' in lines
    assert "[0.1, 0.2, 0.7]" in lines
    assert '"levels": ["?", "é"]' in lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "mine.json:1: error: the file is not JSON"),
        ("[]", "no network file"),
        ('{"format": "fairbench-network/1"}', "no network file"),
        (broken(lambda c: c["cpts"]["s"].update(rows=[0.5, 0.6])), 'table of "s" sums to 1.1'),
        (broken(lambda c: c["cpts"]["s"].update(rows=[0.5, 0.25, 0.25])), "has shape"),
        (broken(lambda c: c["cpts"]["s"].update(rows=["0.5", "0.5"])), "not a number"),
        (broken(lambda c: c["cpts"]["x"].update(rows=[[0.5], [0.5, 0.5]])), "different lengths"),
        (broken(lambda c: c["cpts"]["x"].update(parents=["q"])), "not a column"),
        (broken(lambda c: c["cpts"].pop("x")), "`columns` and of `cpts` differ"),
        (broken(lambda c: c["arcs"].pop()), "`arcs` and the parents"),
        (broken(lambda c: c.pop("bic")), "bic: Field required"),
        (broken(lambda c: c.update(score="high")), "score: Input should be a valid number"),
        (broken(lambda c: c.update(score=float("nan"))), "score: "),
        (broken(lambda c: c.update(extra=1)), "extra: "),
        (
            broken(lambda c: c["source"].update(roles={"label": "y"})),
            "source.roles.favourable: Field required",
        ),
        (broken(lambda c: c["source"].update(tilts=[3])), "source.tilts.0: "),
    ],
)
def test_broken_files_are_refused(text, message):
    with pytest.raises(UserError, match=message):
        from_json(text, "mine.json")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        load(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        load(tmp_path / "bytes.json")
    with pytest.raises(UserError, match="cannot write"):
        save(net(), tmp_path / "no" / "net.json", META)


def write(tmp_path, content: bytes):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    return path


def test_a_csv_is_all_nominal_and_levels_go_by_bytes(tmp_path):
    text = "b,a\n10,é\n9,z\nNA,\n?,Z\n10,é\n"
    table = table_from_csv(write(tmp_path, text.encode()))
    assert table.columns == (Column("b", ("10", "9", "?", "NA")), Column("a", ("Z", "missing", "z", "é")))
    assert table["b"].tolist() == [0, 1, 3, 2, 0]
    assert table["a"].tolist() == [3, 2, 1, 0, 3]


def test_byte_order_mark_quotes_crlf_and_blank_lines(tmp_path):
    table = table_from_csv(write(tmp_path, b'\xef\xbb\xbfa,b\r\n"x, y",1\r\n\r\nz,1\r\n'))
    assert table.columns == (Column("a", ("x, y", "z")), Column("b", ("1",)))


def test_a_single_column_may_have_empty_cells(tmp_path):
    assert table_from_csv(write(tmp_path, b"a\nx\n\ny\n")).columns[0].levels == ("missing", "x", "y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv:1: error: the file is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n1\n", "t.csv:3: error: the row has 1 cells, the header 2"),
        (b"a,b\n1,2,3\n", "t.csv:2: error: the row has 3 cells"),
        (b"a,a\n1,2\n", 't.csv:1: error: two columns are called "a"'),
        (b"a,\n1,2\n", "column 2 has no name"),
        (b"a\n\xff\n", "not UTF-8"),
        (b'a\n"x\n', "not a CSV row"),
        (b"a\n" + b"\n".join(b"x%d" % k for k in range(32769)) + b"\n", "32769 levels"),
    ],
)
def test_broken_csv_files_are_refused(content, message, tmp_path):
    with pytest.raises(UserError, match=message):
        table_from_csv(write(tmp_path, content))


def test_no_csv(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        table_from_csv(tmp_path / "none.csv")
    with pytest.raises(UserError, match="cannot read"):
        table_from_csv(tmp_path)
