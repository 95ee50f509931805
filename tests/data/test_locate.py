"""Files are looked up in a fixed order, and must be the ones that the card describes."""

import hashlib

import pytest

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.locate import (
    MissingFilesError,
    cache_folder,
    data_folders,
    describe_missing,
    file_sha256,
    locate_files,
)

CARD = """name: mine
files:
  - name: a.csv
    sha256: SHA
    url: https://example.org/a.csv
  - b.csv
label: {column: y, favourable: 1}
protected: {sex: {deprived: f}}
"""

SHA = hashlib.sha256(b"right").hexdigest()


@pytest.fixture
def card(tmp_path):
    folder = tmp_path / "card"
    folder.mkdir()
    (folder / "mine.yaml").write_text(CARD.replace("SHA", SHA))
    return read_card(folder / "mine.yaml")


def test_the_order(tmp_path, card, monkeypatch):
    named, environment = tmp_path / "named", tmp_path / "environment"
    monkeypatch.setenv("FAIRBENCH_DATA", str(environment))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    card_path = tmp_path / "card" / "mine.yaml"
    places = data_folders(named, card_path)
    assert places == [named, environment, tmp_path / "card", cache_folder()]
    (tmp_path / "card" / "b.csv").write_text("b")
    for folder in reversed(places):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.csv").write_text("right")
        found = locate_files(card, places)
        assert found.paths == (folder / "a.csv", tmp_path / "card" / "b.csv")
        assert found.sha256 == {"a.csv": SHA, "b.csv": file_sha256(tmp_path / "card" / "b.csv")}
    monkeypatch.delenv("FAIRBENCH_DATA")
    assert data_folders(None, card_path) == [tmp_path / "card", cache_folder()]
    monkeypatch.setenv("FAIRBENCH_DATA", "")
    assert data_folders(None, card_path) == [tmp_path / "card", cache_folder()]


def test_what_is_missing_says_where_it_was_looked_for_and_how_to_get_it(tmp_path, card):
    with pytest.raises(UserError) as caught:
        locate_files(card, [tmp_path / "x", tmp_path / "y", tmp_path / "x"])
    (problem,) = map(str, caught.value.problems)
    assert f"data files a.csv, b.csv of mine not found (looked in {tmp_path}/x, {tmp_path}/y)" in problem
    fetch = f"fix: run `fairbench data fetch {tmp_path}/card/mine.yaml`"
    assert f"{fetch}, and give the folder of b.csv with --data-dir or $FAIRBENCH_DATA" in problem
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.csv").write_text("right")
    with pytest.raises(UserError, match=r"data file b\.csv of mine not found.*\n  fix: give its folder with"):
        locate_files(card, [tmp_path / "x"])


def test_files_of_one_name_are_two_where_they_are_not_the_same(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.yaml").write_text(
            CARD.replace("SHA", SHA).replace("name: mine", f"name: {name}")
        )
    missing = []
    for name in ("one", "two"):
        with pytest.raises(MissingFilesError) as caught:
            locate_files(read_card(tmp_path / name / "mine.yaml"), [tmp_path])
        missing.append(caught.value)
    assert "data files a.csv, b.csv of one; b.csv of two not found" in describe_missing(missing).what


def test_a_card_without_files_is_a_network_alone(tmp_path):
    start, end = CARD.index("files"), CARD.index("label")
    (tmp_path / "mine.yaml").write_text(f"{CARD[:start]}files: []\n{CARD[end:]}")
    with pytest.raises(
        UserError, match=r"mine\.yaml:2: error: mine has no data files: it is a network alone"
    ):
        locate_files(read_card(tmp_path / "mine.yaml"), [tmp_path])


def test_a_shipped_card_is_fetched_by_its_name(tmp_path):
    with pytest.raises(UserError, match="run `fairbench data fetch dutch`"):
        locate_files(read_card(find_card("dutch")), [tmp_path])


def test_another_file_of_the_same_name_is_refused_with_both_hashes(tmp_path, card):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("wrong")
    with pytest.raises(UserError) as caught:
        locate_files(card, [tmp_path])
    (problem,) = caught.value.problems
    assert problem.where == f"{tmp_path}/a.csv"
    assert hashlib.sha256(b"wrong").hexdigest() in problem.what
    assert SHA in problem.what
    assert len(str(problem).splitlines()) == 2


def test_a_folder_is_no_file_and_a_name_too_long_is_no_crash(tmp_path, card):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(UserError, match="of mine not found"):
        locate_files(card, [tmp_path])
    (tmp_path / "long.yaml").write_text(CARD.replace("SHA", SHA).replace("b.csv", "/".join(["b" * 200] * 30)))
    with pytest.raises(UserError, match="cannot read data file b"):
        locate_files(read_card(tmp_path / "long.yaml"), [tmp_path])
