"""Labels and groups written in two ways are refused or shown, with their rows and what to write."""

from pathlib import Path

import pytest
import yaml
from conftest import LEARNED, two_lines, write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.spelling_variants import find_abbreviations, find_spelling_variants
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import load, read_card_files
from fairbench_cli.data.locate import data_folders, locate_files
from fairbench_cli.data.roles import find_doubtful_values

ROWS = [(s, a, c, y) for s in "MF" for a in ("20", "30") for c in ("Ulm", "Bonn") for y in ("yes", "no")] * 40
CARD = {
    "name": "own",
    "files": ["own.csv"],
    "label": {"column": "y", "favourable": "yes"},
    "protected": {"sex": {"deprived": "F"}},
}


def written(folder: Path, *more: tuple[str, str, str, str], **changes) -> Path:
    """Write the rows with some more, and their card with some keys changed."""
    lines = [",".join(row) for row in [("sex", "age", "city", "y"), *ROWS, *more]]
    (folder / "own.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "own.yaml").write_text(yaml.safe_dump(CARD | changes, sort_keys=False), encoding="utf-8")
    return folder / "own.yaml"


def loaded(card: Path):
    return load(read_card(card), locate_files(read_card(card), [card.parent]))


def refused(card: Path) -> str:
    with pytest.raises(UserError) as caught:
        loaded(card)
    return str(caught.value).replace(f"{card.parent}/", "")


@pytest.mark.parametrize(
    "wrong", ["Yes", "yes.", "YES.", "yes\u200b", "y\u00a0es", "ｙｅｓ", "inf", "-Infinity", "NaN"]
)
def test_a_label_that_would_be_unfavourable(tmp_path, wrong):
    card = written(tmp_path, ("M", "20", "Ulm", wrong), ("F", "20", "Ulm", wrong))
    if wrong == "y\u00a0es":  # another word
        assert loaded(card)
        return
    said = refused(card)
    shown = {"yes\u200b": "yes\\u200b", "ｙｅｓ": "\\uff59\\uff45\\uff53"}.get(wrong, wrong)
    assert said.startswith(f'own.csv:642: error: column "y" has "{shown}" (2 rows)')
    twin = wrong.casefold() not in ("inf", "-infinity", "nan")
    assert ('next to the favourable "yes" (320 rows)' in said) == twin
    assert ("which would count as unfavourable" in said) != twin
    assert ('recode under `columns`: y: {recode: {"' in said) == twin


def test_what_to_write_helps(tmp_path):
    more = ("M", "20", "Ulm", "Yes"), ("F", "20", "Ulm", "yes."), ("M", "20", "Ulm", "inf")
    assert refused(written(tmp_path, *more)).count("error") == 2
    recoded = {"y": {"recode": {"Yes": "yes", "yes.": "yes"}}}
    card = written(tmp_path, *more, columns=recoded, missing="inf", missing_rows="drop")
    assert len(loaded(card)) == 642
    card = written(tmp_path, *more, columns={"y": {"levels": ["no", "yes", "Yes", "yes.", "inf"]}})
    assert len(loaded(card)) == 643


def test_a_group_that_would_be_everybody_else(tmp_path):
    for groups, more, words in [
        ({"deprived": "F"}, "f", '"f" (1 row) next to "F" (320 rows): they differ in capitals only'),
        ({"deprived": "F"}, "m", '"m" (1 row) next to "M" (320 rows): they differ in capitals only'),
        (
            {"deprived": "F"},
            "M.",
            '"M." (1 row) next to "M" (320 rows): they differ in a dot at the end only',
        ),
        ({"deprived": "F", "favoured": "M"}, "m", '"m" (1 row) next to "M" (320 rows)'),
    ]:
        said = refused(written(tmp_path, (more, "20", "Ulm", "yes"), protected={"sex": groups}))
        assert said.startswith(f'own.csv:642: error: column "sex" has {words}')
        assert (
            f'sex: {{recode: {{"{more}": "{more[0].upper()}"}}}}; if they are meant to differ, name' in said
        )
    groups = {"deprived": "F", "favoured": ["M", "m"]}
    card = written(tmp_path, ("m", "20", "Ulm", "yes"), protected={"sex": groups})
    assert loaded(card).roles("sex").favoured == (
        "M",
        "m",
    )
    bias = {"column": "city", "deprived": "Ulm"}
    said = refused(
        written(tmp_path, ("M", "20", "ULM", "no"), protected={"sex": {"deprived": "F", "bias": bias}})
    )
    assert 'column "city" has "ULM" (1 row) next to "Ulm" (320 rows)' in said


def test_run_plan_and_check_refuse_in_two_lines(tmp_path, say):
    written(tmp_path, ("M", "20", "Ulm", "Yes"))
    config = write_config(tmp_path / "c.yaml", datasets=["./own.yaml"], sample=LEARNED, test="original")
    for command in (["run", config], ["plan", config], ["data", "check", "./own.yaml"]):
        two_lines(
            say(*command), 'own.csv:642: error: column "y" has "Yes" (1 row) next to the favourable "yes"'
        )


def test_check_lists_twins_and_what_counts_as_unfavourable(tmp_path, say):
    card = written(
        tmp_path, ("M", "20", "ulm", "no"), ("M", "20", "Ulm.", "No"), ("M", "20", "Bonn", "perhaps")
    )
    said = say("data", "check", card)
    words = " ".join(said.out.split())
    assert 'has "Ulm" (320 rows), "ulm" (1 row) and "Ulm." (1 row), which differ in capitals and a' in words
    assert 'city: {recode: {"ulm": "Ulm", "Ulm.": "Ulm"}}' in words
    assert 'has "no" (321 rows) and "No" (1 row), which differ in capitals only' in words
    assert 'as unfavourable count "no" (321 rows), "No" (1 row) and "perhaps" (1 row)' in words


def test_numbers_with_an_infinity_are_not_levels(tmp_path):
    more = [("M", str(age), "Ulm", "yes") for age in range(100, 160)]
    said = refused(written(tmp_path, *more, ("M", "inf", "Ulm", "no")))
    assert 'column "age" has 62 different numbers and "inf", each of which would be a level' in said
    assert "if_missing: level}, with missing:" in said
    real = {"age": {"kind": "real", "bins": {"quantiles": 5}, "if_missing": "level"}}
    for cell in ("inf", "-inf", "Infinity", "nan", "1e999"):
        card = written(tmp_path, *more, ("M", cell, "Ulm", "no"), columns=real, missing="?")
        assert f'own.csv:702: error: column "age" should hold numbers but has "{cell}"' in refused(card)
        card = written(tmp_path, *more, ("M", cell, "Ulm", "no"), columns=real, missing=["?", cell])
        table = loaded(card).table
        assert table.to_pandas()["age"].iloc[-1] == "missing"


def test_the_dots_of_an_official_file_are_recoded(data_folder):
    """Labels of adult.test end in dots; the other cards are loaded elsewhere."""
    card = read_card(find_card("adult"))
    read = read_card_files(card, locate_files(card, data_folders(None, find_card("adult"))))
    raw = sorted({value for file in read.files for value in file.frame["income"]})
    assert [twins.values for twins in find_spelling_variants(raw)] == [("<=50K", "<=50K."), (">50K", ">50K.")]
    assert list(find_doubtful_values(card, read.frame)) == []


@pytest.mark.parametrize(("short", "long"), [("hisp", "hispanic"), ("hispa", "hispanic")])
def test_a_short_form_has_four_letters_at_most(short, long):
    assert bool(find_abbreviations([short, long])) == (len(short) == 4)
