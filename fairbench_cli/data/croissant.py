"""A card as Croissant 1.1 with the responsible AI vocabulary 1.0: metadata that other tools read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fairbench_cli.base.errors import Problem, refuse
from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.data.card import Card, DataFile, TrapKind
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.table import Column

CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
MEDIA = {
    "csv": "text/csv",
    "parquet": "application/x-parquet",
    "arff": "https://ml.cms.waikato.ac.nz/weka/arff.html",
}
TYPES = {"integer": "sc:Integer", "real": "sc:Float"}
MOST_LEVELS = 50  # of a column, named in its description
BIASED: tuple[TrapKind, ...] = ("direction", "gaps-by-group", "lost-group", "unknown-outcomes")

_OURS = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet "
    "format includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex "
    "repeated replace samplingRate separator source subField transform"
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{name: f"cr:{name}" for name in _OURS.split()},
}


def to_croissant(
    card: Card, columns: Sequence[Column] = (), sha256: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a card as Croissant metadata, ready for JSON.

    A record set for each file describes the columns that an experiment uses, as the file has them. What is
    said of people stands in the responsible AI properties: shares of favourable outcomes by group, who is
    called deprived and why, traps, what is left out, protected attributes.

    Parameters
    ----------
    card : Card
    columns : sequence of Column
        Of its rows; by default those that the card names.
    sha256 : mapping of str to str, optional
        Of files that are at hand, by name, for those whose checksum the card does not say.

    Raises
    ------
    UserError
        When the card does not say what the format asks for: a licence, a source, a citation, checksums.
    """
    checksums = dict(sha256 or {}) | {file.name: file.sha256 for file in card.every_file if file.sha256}
    problems = list(_check_metadata(card, checksums))
    refuse(problems)
    files = card.every_file
    ids = make_slugs([file.name] for file in files)
    authors, year = _parse_citation(card.citation)
    metadata: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": card.name,
        "description": " ".join(filter(None, (f"{card.title}.", card.note))),
        "url": card.source,
        "license": _format_licence(card.licence),
        "citeAs": card.citation,
        "creator": authors,
        "datePublished": year,
        "version": "1.0.0",
        "keywords": ["fairness", "tabular", *card.protected],
        "distribution": [
            _file_object(card, file, checksums[file.name], file_id)
            for file, file_id in zip(files, ids, strict=True)
        ],
        "recordSet": [_record_set(card, file_id, columns or named_columns(card)) for file_id in ids],
        **{f"rai:{key}": text for key, text in _describe_responsibly(card).items()},
    }
    return {key: value for key, value in metadata.items() if value}


def _check_metadata(card: Card, sha256: Mapping[str, str]) -> Iterator[Problem]:
    """Yield what the format asks for and the card does not say."""
    for key in ("source", "licence", "citation"):
        if not getattr(card, key):
            yield Problem(f"Croissant needs the {key} of the data", f"write {key}: …", card.where())
    if not card.files:
        yield Problem(
            f"Croissant describes files, and {card.name} has none", "name them", card.where("files")
        )
    for file in card.every_file:
        if file.name not in sha256:
            problem = f"Croissant needs the sha256 of {file.name}"
            yield Problem(problem, "get the file, or write its sha256 in the card", card.where("files"))


def _parse_citation(citation: str) -> tuple[list[dict[str, str]], str]:
    """Return who made the data and in which year, by a citation "Surname, I. and Surname, I. (1996). Title".

    >>> citation = "Angwin, J., van Larson, J. K. and Kirchner, L. (2016). Machine bias."
    >>> authors, year = _parse_citation(citation)
    >>> [author["name"] for author in authors], year
    (['Angwin, J.', 'van Larson, J. K.', 'Kirchner, L.'], '2016')
    >>> _parse_citation("US Census Bureau (2018). PUMS.")[0]
    [{'@type': 'sc:Organization', 'name': 'US Census Bureau'}]
    """
    match = re.match(r"(.+?) \((\d{4})\)", citation)
    if match is None:
        return [], ""
    names = re.split(r"(?<=\.),? (?:and )?(?=[^\W\d][^.,]*,)", match[1])
    kinds = ("sc:Person" if re.search(r", \w\.", name) else "sc:Organization" for name in names)
    return [{"@type": kind, "name": name} for kind, name in zip(kinds, names, strict=True)], match[2]


def _format_licence(text: str) -> str | dict[str, str]:
    """Return the address of a licence of Creative Commons, or any other as it is called.

    >>> _format_licence("CC BY-SA 3.0")
    'https://creativecommons.org/licenses/by-sa/3.0/'
    """
    if match := re.match(r"CC (BY[-A-Z]*) (\d\.\d)", text):
        return f"https://creativecommons.org/licenses/{match[1].lower()}/{match[2]}/"
    if text.startswith("CC0"):
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    return {"@type": "sc:CreativeWork", "name": text}


def _file_object(card: Card, file: DataFile, sha256: str, file_id: str) -> dict[str, Any]:
    """Return a file with how it is to be read."""
    sentences = []
    if card.format == "csv":
        if not card.header:
            sentences.append("No header: the columns are those of the card, in its order")
        if card.separator != ",":
            sentences.append(f'Cells are separated by "{card.separator}"')
        if card.decimal == ",":
            sentences.append("Decimals follow a comma")
        if card.comment:
            sentences.append(f'What follows "{card.comment}" is a comment')
    if card.missing:
        sentences.append(f"Missing values are written {', '.join(map(repr, card.missing))}")
    description = ". ".join(sentences)
    fields = {"@type": "cr:FileObject", "@id": file_id, "name": file.name, "description": description}
    fields |= {"contentUrl": file.url or file.name, "encodingFormat": MEDIA[card.format], "sha256": sha256}
    return {key: value for key, value in fields.items() if value}


def named_columns(card: Card) -> tuple[Column, ...]:
    """Return the columns that a card names and uses, without their levels."""
    names = dict.fromkeys(chain(card.columns, (name for name, _ in card.needed_columns())))
    return tuple(Column(name, ()) for name in names if not card.drops(name))


def _record_set(card: Card, file: str, columns: Sequence[Column]) -> dict[str, Any]:
    """Return the columns of a file, which has the id `file`."""
    fields = []
    if card.counts:
        columns = (*columns, Column(card.counts, ()))
    for column, column_id in zip(columns, make_slugs([column.name] for column in columns), strict=True):
        entry = card.column(column.name)
        if column.name == card.counts:
            kind = "sc:Integer"
        else:
            kind = TYPES.get(entry.kind, "sc:Text")
        field_entry: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{file}/rows/{column_id}",
            "name": column.name,
        }
        origin = {"fileObject": {"@id": file}, "extract": {"column": entry.source or column.name}}
        field_entry |= {
            "description": _describe_column(card, column, entry),
            "dataType": [kind, "cr:Label"] if column.name == card.label.column else kind,
            "source": origin,
        }
        fields.append(field_entry)
    return {"@type": "cr:RecordSet", "@id": f"{file}/rows", "name": f"{file}: rows", "field": fields}


def _describe_column(card: Card, column: Column, entry: ColumnCard) -> str:
    """Return the description of a column: its role, and what its cells mean."""
    sentences = ["How many rows a row stands for"] if column.name == card.counts else []
    if column.name == card.label.column:
        sentences.append(f'The outcome; "{card.label.favourable}" is called favourable')
    if column.name in card.protected:
        sentences.append(
            f"A protected attribute; deprived: {', '.join(card.protected[column.name].deprived)}"
        )
    if entry.recode:
        sentences.append(
            f"Meanings: {', '.join(f'{cell} is {level}' for cell, level in entry.recode.items())}"
        )
    elif column.kind == "nominal" and entry.kind == "nominal" and 0 < len(column.levels) <= MOST_LEVELS:
        sentences.append(f"Values: {', '.join(level or 'empty' for level in column.levels)}")
    if sentences:
        return f"{'. '.join(sentences)}."
    return f"{column.name}."


def _describe_responsibly(card: Card) -> dict[str, str | list[str]]:
    """Return the responsible AI properties, those that the card has something to say of."""
    about = card.about
    expected = card.expected
    single = [name for name, protected in card.protected.items() if protected.of is None]
    rates = []
    if expected:
        for name, groups in expected.groups.items():
            shares = ", ".join(f"{level} {rate:.3g}" for level, rate in groups.items())
            rates.append(f"Share of {card.outcome} by {name}: {shares}")
    biases = []
    limitations = []
    for trap in card.traps:
        note = trap.note
        if trap.column:
            note = f"{trap.column}: {trap.note}"
        if trap.kind in BIASED:
            biases.append(note)
        else:
            limitations.append(note)
    gone = [f"Left out: {excluded}. {whom_it_matters}" for excluded, whom_it_matters in card.left_out.items()]
    uses = [
        f"Studies of fairness: predicting {card.label.column}, and comparing groups by {', '.join(single)}"
    ]
    collection = missing = ""
    if about:
        collection = f"{about.who} Recorded: {about.when}"
        uses.insert(0, f"Recorded for: {about.purpose}")
    if card.missing:
        missing = f"Cells that mean a missing value: {', '.join(map(repr, card.missing))}"
    return {
        "dataCollection": collection,
        "dataUseCases": uses,
        "dataBiases": rates + card.group_words + biases,
        "dataLimitations": limitations + gone,
        "dataPreprocessingProtocol": gone,
        "dataCollectionMissingData": missing,
        "dataSocialImpact": card.outcome_words,
        "personalSensitiveInformation": single,
    }
