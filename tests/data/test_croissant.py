"""Cards as Croissant: valid for mlcroissant, which reads the same cells, and true to what the card says."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fairbench_cli.base.errors import UserError
from fairbench_cli.data.card import Card, find_card, known_cards, read_card
from fairbench_cli.data.croissant import to_croissant

# The properties of the responsible AI vocabulary 1.0, as its specification lists them; those with many texts.
MANY = [
    "dataCollectionType",
    "dataCollectionTimeframe",
    "dataPreprocessingProtocol",
    "dataAnnotationPlatform",
    "dataAnnotationAnalysis",
    "dataReleaseMaintenancePlan",
    "personalSensitiveInformation",
    "dataBiases",
    "dataLimitations",
    "dataUseCases",
    "annotatorDemographics",
    "machineAnnotationTools",
]
ONE = [
    "dataCollection",
    "dataCollectionMissingData",
    "dataCollectionRawData",
    "dataImputationProtocol",
    "dataManipulationProtocol",
    "dataAnnotationProtocol",
    "dataSocialImpact",
    "annotationsPerItem",
]
REQUIRED = [
    "@context",
    "@type",
    "conformsTo",
    "description",
    "license",
    "name",
    "url",
    "creator",
    "datePublished",
    "distribution",
]


@cache
def cards() -> list[Card]:
    """Return the shipped cards that say which file is theirs: the others are of files that users bring."""
    found = [read_card(find_card(name)) for name in known_cards()]
    return [card for card in found if card.files and all(file.sha256 for file in card.files)]


def test_every_shipped_card_says_what_it_knows():
    kept = cards()
    assert {*known_cards()} - {card.name for card in kept} <= {"acs-employment", "acs-income-state", "baf"}
    for card in kept:
        found = to_croissant(card)
        assert [key for key in REQUIRED if not found.get(key)] == [], card.name
        assert [*map(str, found["conformsTo"])] == [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ]
        told = {key.removeprefix("rai:"): value for key, value in found.items() if key.startswith("rai:")}
        assert {key for key, value in told.items() if isinstance(value, list)} <= {*MANY}
        assert {key for key, value in told.items() if isinstance(value, str)} <= {*ONE}
        files = [(one["name"], one["contentUrl"], one["sha256"]) for one in found["distribution"]]
        assert files == [(file.name, file.url, file.sha256) for file in (*card.files, *card.test_files)]
        said = " ".join(map(str, told.values()))
        for text in [*(trap.note for trap in card.traps), *card.left_out.values(), card.label.why]:
            assert text in said, (card.name, text)
        single = [name for name, own in card.protected.items() if own.of is None]
        assert told["personalSensitiveInformation"] == single
        for name in card.expected.groups if card.expected else ():
            assert any(f"by {name}:" in text for text in told["dataBiases"])
        labels = [
            field["name"]
            for records in found["recordSet"]
            for field in records["field"]
            if "cr:Label" in field["dataType"]
        ]
        assert labels == [card.label.column] * len(found["recordSet"])


@pytest.mark.filterwarnings("ignore")  # mlcroissant and rdflib warn of their own ways
def test_mlcroissant_finds_every_export_valid_and_reads_the_same_cells(tmp_path, caplog):
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs mlcroissant: pip install '.[dev]'")
    for card in cards():
        path = tmp_path / f"{card.name}.json"
        path.write_text(json.dumps(to_croissant(card)), encoding="utf-8")
        read = mlcroissant.Dataset(str(path))  # raises where it is not valid
        assert not read.metadata.ctx.issues.warnings, card.name
        assert str(read.metadata.ctx.conforms_to) == "CroissantVersion.V_1_1"
        assert read.metadata.data_biases
        assert read.metadata.personal_sensitive_information
    assert "not standard" not in caplog.text
    folder = os.environ.get("FAIRBENCH_DATA")
    if not folder:
        pytest.skip("needs the official files: set FAIRBENCH_DATA to their folder")
    for name, reader in (("ricci", pd.read_csv), ("heart", pd.read_parquet)):
        exported = json.loads((tmp_path / f"{name}.json").read_text())
        (records,), (file,) = exported["recordSet"], exported["distribution"]
        place = Path(folder) / file["name"]
        read = mlcroissant.Dataset(exported, mapping={file["@id"]: str(place)})
        rows, frame = pd.DataFrame(read.records(records["@id"])), reader(place)
        for field in records["field"]:
            cells = [cell.decode() if isinstance(cell, bytes) else cell for cell in rows[field["@id"]]]
            raw = frame[field["source"]["extract"]["column"]]
            for cell, one in zip(cells, raw, strict=True):
                assert pd.isna(one) if cell is None else cell == type(cell)(one), field["name"]


def own(folder: Path, **changes: Any) -> Card:
    card: dict[str, Any] = {
        "name": "own",
        "title": "Ours",
        "source": "https://example.org",
        "licence": "CC0",
        "citation": "Us (2020). Ours.",
        "files": [{"name": "a b.csv", "sha256": "0" * 64}],
        "separator": ";",
        "columns": {"sex": {"recode": {"1": "f"}}, "y y": None, "y-y": "integer"},
        "label": {"column": "y y", "favourable": "p"},
        "protected": {"sex": {"deprived": "f"}},
    }
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(card | changes), encoding="utf-8")
    return read_card(path)


def test_own_cards(tmp_path):
    found = to_croissant(own(tmp_path))
    (file,) = found["distribution"]
    assert (file["@id"], file["contentUrl"]) == ("a-b.csv", "a b.csv")
    assert 'separated by ";"' in file["description"]
    assert found["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"
    fields = found["recordSet"][0]["field"]
    assert [field["@id"] for field in fields] == [f"a-b.csv/rows/{at}" for at in ("sex", "y-y", "y-y-2")]
    assert "1 is f" in fields[0]["description"]
    counted = to_croissant(own(tmp_path, counts="n"))["recordSet"][0]["field"][-1]
    assert (counted["name"], counted["dataType"]) == ("n", "sc:Integer")
    without = own(tmp_path, files=["a.csv"], licence="", source="")
    with pytest.raises(UserError) as refused:
        to_croissant(without)
    assert [problem.what.split(" of ")[0] for problem in refused.value.problems] == [
        "Croissant needs the source",
        "Croissant needs the licence",
        "Croissant needs the sha256",
    ]
    of_file = own(tmp_path, files=["a.csv"])
    assert to_croissant(of_file, (), {"a.csv": "1" * 64})["distribution"][0]["sha256"] == "1" * 64
    with pytest.raises(UserError, match="has none"):
        to_croissant(own(tmp_path, files=[]))
