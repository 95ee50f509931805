"""Pages on data sets: their numbers are those of pandas, statsmodels and the audit; every card has one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import two_lines
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import fairbench_cli as fb
from fairbench_cli.api.datasheet import Datasheet, GroupRate, datasheet
from fairbench_cli.api.datasheet_page import FORMATS, datasheet_document
from fairbench_cli.cli.console import print_document
from fairbench_cli.data.card import find_card, known_cards, read_card, shipped_cards

ROWS = 400
EVIL = '<script>alert("x")</script>'
CARD: dict[str, Any] = {
    "name": "invented",
    "title": f"Invented rows {EVIL}",
    "licence": "none",
    "about": {"who": "nobody", "when": "never", "purpose": f"tests {EVIL}"},
    "left_out": {"noise": "nobody"},
    "traps": [{"kind": "leak", "column": "copy", "note": f"it is the outcome {EVIL}"}],
    "files": ["invented.csv"],
    "missing": ["?"],
    "columns": {
        "sex": {"levels": ["f", "m"]},
        "race": "nominal",
        "job": {"if_missing": "level"},
        "pay": "integer",
        "copy": "drop",
        "got": {"levels": ["no", "yes"]},
    },
    "label": {"column": "got", "favourable": "yes", "why": "It is good."},
    "protected": {
        "sex": {"deprived": "f", "called": {"deprived": "women", "favoured": "men"}, "why": "They get less."},
        "race": {"deprived": ["b", "<i>c"], "favoured": "a"},
        "sex-race": {"of": ["sex", "race"]},
    },
}


def invented(folder: Path, **changes: Any) -> tuple[str, pd.DataFrame]:
    """Write a card and its rows; return the card's path, and the rows as pandas reads them."""
    rng = np.random.default_rng(3)
    sex, race = (
        rng.choice(["f", "m"], ROWS, p=[0.4, 0.6]),
        rng.choice(["a", "b", "<i>c"], ROWS, p=[0.6, 0.3, 0.1]),
    )
    job = np.where(rng.random(ROWS) < np.where(sex == "f", 0.3, 0.1), "?", rng.choice(["x", "y"], ROWS))
    pay = rng.integers(1, 90, ROWS)
    got = np.where(rng.random(ROWS) < 0.2 + 0.2 * (sex == "m") + 0.3 * (pay > 50), "yes", "no")
    columns = {"sex": sex, "race": race, "job": job, "pay": pay, "copy": got, "got": got}
    frame = pd.DataFrame(columns)
    frame.to_csv(folder / "invented.csv", index=False)
    path = folder / "invented.yaml"
    path.write_text(yaml.safe_dump(CARD | changes, sort_keys=False), encoding="utf-8")
    return str(path), frame


def same_rate(found: GroupRate, rows: "pd.Series[bool]") -> None:
    """Check a rate against rows: their mean, and Wilson's interval by statsmodels."""
    limits = proportion_confint(rows.sum(), len(rows), method="wilson")
    assert found.rows == len(rows)
    expected = (rows.mean(), *limits)
    assert (found.rate.value, found.rate.low, found.rate.high) == pytest.approx(expected, abs=1e-12)


def test_rates_gaps_and_missing_cells_are_those_of_the_rows(tmp_path):
    path, frame = invented(tmp_path)
    found = datasheet(path)
    yes = frame["got"] == "yes"
    assert (found.origin, found.rows) == ("files", ROWS)
    assert found.everybody is not None
    same_rate(found.everybody, yes)
    sides = {
        "sex": frame["sex"] == "f",
        "race": frame["race"] != "a",
        "sex-race": ~((frame["sex"] == "m") & (frame["race"] == "a")),
    }
    assert [one.attribute for one in found.attributes] == list(sides)
    for one in found.attributes:
        deprived = sides[one.attribute]
        same_rate(one.deprived, yes[deprived])
        same_rate(one.favoured, yes[~deprived])
        assert one.gap.value == pytest.approx(yes[deprived].mean() - yes[~deprived].mean())
        counts = [int(of) for rows in (yes[deprived], yes[~deprived]) for of in (rows.sum(), len(rows))]
        limits = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
        assert (one.gap.low, one.gap.high) == pytest.approx(limits, abs=1e-9)
        for level in one.levels:
            same_rate(level, yes[frame[one.attribute] == level.group])
            assert level.side == (
                "deprived" if deprived[frame[one.attribute] == level.group].all() else "favoured"
            )
    assert len(found.intersections) == 6
    for one in found.intersections:
        sex, race = one.group.split(" × ")
        same_rate(one, yes[(frame["sex"] == sex) & (frame["race"] == race)])
    (missing,) = found.checked.missing
    shares = (frame["job"] == "?").groupby(frame["sex"]).mean()
    assert (missing.column, missing.cells) == ("job", (frame["job"] == "?").sum())
    assert missing.groups["sex"] == pytest.approx({"deprived": shares["f"], "favoured": shares["m"]})


def test_many_attributes_cross_to_the_groups_that_occur(tmp_path):
    _, frame = invented(tmp_path)
    names = [f"of{i}" for i in range(40)]
    wide = pd.DataFrame(np.random.default_rng(1).choice(["a", "b"], (ROWS, 40)), columns=names)
    frame.assign(**wide).to_csv(tmp_path / "invented.csv", index=False)
    more = {name: {"deprived": "a"} for name in names}
    path = str(tmp_path / "wide.yaml")
    Path(path).write_text(yaml.safe_dump(CARD | {"protected": CARD["protected"] | more}))
    sheet = datasheet(path)
    assert len(sheet.intersections) == ROWS  # each is alone with its 42 levels
    assert sum(one.rows for one in sheet.intersections) == ROWS
    rows = {one.attribute: {level.group: level.rows for level in one.levels} for one in sheet.attributes}
    assert all(rows[name] == wide[name].value_counts().to_dict() for name in names)


@pytest.mark.gate
def test_every_format_says_the_same_and_lets_nothing_through(tmp_path, say):
    path, _ = invented(tmp_path)
    sheet = datasheet(path)
    for name in ("html", "markdown", "json"):
        text = FORMATS[name](sheet)
        assert text == FORMATS[name](datasheet(path))
        for word in ("nobody", "It is good.", "They get less.", "it is the outcome", "women"):
            assert word in text, (name, word)
        assert name == "json" or not any(part in text for part in (EVIL, "<i>"))
        assert str(tmp_path) not in text
        done = say("data", "show", path, "-f", name)
        assert (done.code, done.out) == (0, text)
    complete, _ = invented(tmp_path, source="https://example.org", citation="We (2020). Ours.")
    exported = json.loads(say("data", "show", complete, "-f", "croissant").out)
    names = [field["name"] for field in exported["recordSet"][0]["field"]]
    assert names == [name for name in CARD["columns"] if name != "copy"]
    page = FORMATS["html"](sheet)
    assert page.count("<figure") == 2  # by sex and by race; a joint attribute has no levels of its own
    assert "http" not in page.split("<main")[1]
    found = json.loads(FORMATS["json"](sheet))
    assert found["attributes"][0]["gap"]["value"] == sheet.attributes[0].gap.value
    assert found["known"][0]["trap"]["column"] == "copy"
    assert found["known"][0]["found"]
    for ending in ("md", "html", "json"):
        assert say("data", "show", path, "-o", tmp_path / f"new/page.{ending}").code == 0
        assert (tmp_path / f"new/page.{ending}").stat().st_size > 1000
    assert say("data", "show", path, "-f", "json", "-o", tmp_path / "any").code == 0
    shown = say("data", "show", path)
    assert (shown.code, "women" in shown.out) == (0, True)
    first = shown.out.split("What it is")[0]  # the gap, traps and licence come before all else
    assert all(word in first for word in ("points", "Known traps: leak (copy).", "Licence: none"))
    assert max(map(len, shown.out.splitlines())) <= 80


def test_unknown_outcomes_are_shown_under_each_reading(tmp_path):
    path, frame = invented(
        tmp_path, label={"column": "job", "favourable": "x", "unknown": "?"}, columns={"pay": "integer"}
    )
    sheet = datasheet(path)
    assert [one.attribute for one in sheet.unknown] == ["sex", "race", "sex-race"]
    text = FORMATS["markdown"](sheet)
    known, women = frame[frame["job"] != "?"], frame["sex"] == "f"
    for rows in (known, frame):
        share = (rows["job"] == "x")[women.loc[rows.index]].mean()
        assert f"{share:.3f}" in text
    for reading in ("left out with their rows; this card", "favourable for the favoured alone"):
        assert reading in text


def test_mistakes(tmp_path, say):
    path, _ = invented(tmp_path)
    two_lines(say("data", "show", path, "-f", "htm"), 'no format is called "htm"', "html")
    two_lines(say("data", "show", path, "-o", "page.pdf"), "page.pdf", ".md, .html, .json")
    two_lines(say("data", "show", path, "-o", "page.html", "-f", "console"), "no file")
    done = say("data", "show", path, "-f", "croissant")
    assert (done.code, done.out, done.err.count("write ")) == (2, "", 2)  # no source, no citation
    (tmp_path / "invented.csv").unlink()
    damaged, _ = invented(tmp_path, files=[{"name": "invented.csv", "sha256": "0" * 64}])
    two_lines(say("data", "show", damaged), "sha256")


@pytest.fixture
def without_files(tmp_path, monkeypatch):
    """No data file anywhere."""
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.gate
def test_every_shipped_card_has_a_page_without_its_files(without_files, capsys):
    with_network = {path.name.split(".")[0] for path in shipped_cards().glob("*.network.json")}
    for name in known_cards():
        sheet = datasheet(name)
        card = sheet.card
        assert sheet.origin == ("network" if name in with_network else "card")
        print_document(datasheet_document(sheet))
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80, name
        words = " ".join(text.split())
        for said in (card.label.why, *([card.about.who] if card.about else [])):
            assert " ".join(said.split()) in words, (name, said)
        assert card.licence.split()[0] in words
        assert len(json.loads(FORMATS["json"](sheet))["traps"]) == len(card.traps)
        if sheet.origin == "network":
            adds_up(sheet)
            one_sign(sheet)
            edits_what_it_says(name, sheet)


def one_sign(sheet: Datasheet) -> None:
    """Check that gaps of the stand-in are the deprived less the favoured, too, where they are clear."""
    assert sheet.network is not None
    measured = sheet.network.stand_in
    assert measured is not None
    (gap,) = (one.gap.value for one in sheet.attributes if one.attribute == measured.attribute)
    draws = (found["draws"].gap for found in measured.classifiers.values())
    assert all(mean * gap > 0 for mean, spread in draws if abs(mean) > 2 * spread and abs(gap) > 0.01)


def edits_what_it_says(name: str, sheet: Datasheet) -> None:
    """Check that β of ½ changes the tables that are named, and where none is named is refused."""
    network = fb.load_network(name)
    for attribute, tables in sheet.beta_tables.items():
        if not tables:
            with pytest.raises(fb.UserError, match="β has nothing to edit"):
                network.tilt(0.5, attribute, edit="as-learned")
            continue
        tilted = network.tilt(0.5, attribute, edit="as-learned").net
        pairs = zip(network.net.names, network.net.cpts, tilted.cpts, strict=True)
        assert {node for node, before, after in pairs if not np.array_equal(before, after)} == set(
            tables.values()
        )


def adds_up(sheet: Datasheet) -> None:
    """Check that groups of a network are parts of everybody, and that nothing is called measured."""
    everybody = sheet.everybody
    assert everybody is not None
    total = everybody.rows * everybody.rate.value
    for one in sheet.attributes:
        for groups in (one.levels, (one.deprived, one.favoured)):
            if groups:
                assert sum(group.rows for group in groups) == pytest.approx(everybody.rows)
                summed = sum(group.rows * group.rate.value for group in groups if group.rows)
                assert summed == pytest.approx(total)
            assert all(np.isnan(group.rate.low) for group in groups)
        assert np.isnan(one.gap.low)


def test_a_page_of_a_network_says_what_the_network_says(without_files):
    sheet = datasheet("compas")
    rates = {level.group: level.rate.value for one in sheet.attributes for level in one.levels}
    drawn = fb.load_network("compas").sample(200_000, seed=1).to_pandas()
    free = drawn["two_year_recid"].astype(str) == "0"
    for column in ("race", "sex", "age_cat"):
        for level, share in free.groupby(drawn[column].astype(str)).mean().items():
            assert rates[level] == pytest.approx(share, abs=0.01)
    text = FORMATS["markdown"](sheet)
    assert "compas-scores-two-years.csv is not here" in text
    assert "shipped network" in text
    expected = sheet.card.expected
    assert expected is not None
    for rates_of in expected.groups.values():  # what is known of the rows stands beside
        assert all(f"{rate:.3f}" in text for rate in rates_of.values())
    assert read_card(find_card("compas")).citation.split()[0] in text


def test_admissions_of_all_are_on_the_page(say, data_folder):
    """Bickel, Hammel & O'Connell (1975): fewer women of all."""
    shown = " ".join(say("data", "show", "ucb-admissions").out.split())
    assert "30.4 % of women, 14.2 points [11.3, 17.0] less than of men (44.5 %)" in shown
