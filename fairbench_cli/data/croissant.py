"""A card as Croissant 1.1 with the responsible AI vocabulary 1.0: metadata that other tools read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairbench_cli.base.errors import Problem, UserError
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


def croissant(
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
    known = dict(sha256 or {}) | {file.name: file.sha256 for file in card.every_file if file.sha256}
    problems = list(_lacking(card, known))
    if problems:
        raise UserError(*problems)
    files = card.every_file
    ids = make_slugs([file.name] for file in files)
    authors, year = _published(card.citation)
    found: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [*CONFORMS_TO],
        "name": card.name,
        "description": " ".join(filter(None, (f"{card.title}.", card.note))),
        "url": card.source,
        "license": _licence(card.licence),
        "citeAs": card.citation,
        "creator": authors,
        "datePublished": year,
        "version": "1.0.0",
        "keywords": ["fairness", "tabular", *card.protected],
        "distribution": [
            _file(card, file, known[file.name], at) for file, at in zip(files, ids, strict=True)
        ],
        "recordSet": [_records(card, at, columns or named_columns(card)) for at in ids],
        **{f"rai:{key}": text for key, text in _responsible(card).items()},
    }
    return {key: value for key, value in found.items() if value}


def _lacking(card: Card, sha256: Mapping[str, str]) -> Iterator[Problem]:
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
            what = f"Croissant needs the sha256 of {file.name}"
            yield Problem(what, "get the file, or write its sha256 in the card", card.where("files"))


def _published(citation: str) -> tuple[list[dict[str, str]], str]:
    """Return who made the data and in which year, by a citation "Surname, I. and Surname, I. (1996). Title".

    >>> authors, year = _published("Angwin, J., van Larson, J. K. and Kirchner, L. (2016). Machine bias.")
    >>> [author["name"] for author in authors], year
    (['Angwin, J.', 'van Larson, J. K.', 'Kirchner, L.'], '2016')
    >>> _published("US Census Bureau (2018). PUMS.")[0]
    [{'@type': 'sc:Organization', 'name': 'US Census Bureau'}]
    """
    match = re.match(r"(.+?) \((\d{4})\)", citation)
    if match is None:
        return [], ""
    names = re.split(r"(?<=\.),? (?:and )?(?=[^\W\d][^.,]*,)", match[1])
    kinds = ("sc:Person" if re.search(r", \w\.", name) else "sc:Organization" for name in names)
    return [{"@type": kind, "name": name} for kind, name in zip(kinds, names, strict=True)], match[2]


def _licence(text: str) -> str | dict[str, str]:
    """Return the address of a licence of Creative Commons, or any other as it is called.

    >>> _licence("CC BY-SA 3.0")
    'https://creativecommons.org/licenses/by-sa/3.0/'
    """
    if match := re.match(r"CC (BY[-A-Z]*) (\d\.\d)", text):
        return f"https://creativecommons.org/licenses/{match[1].lower()}/{match[2]}/"
    if text.startswith("CC0"):
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    return {"@type": "sc:CreativeWork", "name": text}


def _file(card: Card, file: DataFile, sha256: str, at: str) -> dict[str, Any]:
    said = []
    if card.format == "csv":
        said += [] if card.header else ["No header: the columns are those of the card, in its order"]
        said += [] if card.separator == "," else [f'Cells are separated by "{card.separator}"']
        said += [] if card.decimal == "." else ["Decimals follow a comma"]
        said += [f'What follows "{card.comment}" is a comment'] if card.comment else []
    said += [f"Missing values are written {', '.join(map(repr, card.missing))}"] if card.missing else []
    found = {"@type": "cr:FileObject", "@id": at, "name": file.name, "description": ". ".join(said)}
    found |= {"contentUrl": file.url or file.name, "encodingFormat": MEDIA[card.format], "sha256": sha256}
    return {key: value for key, value in found.items() if value}


def named_columns(card: Card) -> tuple[Column, ...]:
    """Return the columns that a card names and uses, without their levels."""
    names = dict.fromkeys([*card.columns, *(name for name, _ in card.needed())])
    return tuple(Column(name, ()) for name in names if not card.drops(name))


def _records(card: Card, file: str, columns: Sequence[Column]) -> dict[str, Any]:
    """Return the columns of a file, which has the id `file`."""
    fields = []
    if card.counts:
        columns = (*columns, Column(card.counts, ()))
    else:
        columns = columns
    for column, at in zip(columns, make_slugs([column.name] for column in columns), strict=True):
        own = card.column(column.name)
        if column.name == card.counts:
            kind = "sc:Integer"
        else:
            kind = TYPES.get(own.kind, "sc:Text")
        found: dict[str, Any] = {"@type": "cr:Field", "@id": f"{file}/rows/{at}", "name": column.name}
        place = {"fileObject": {"@id": file}, "extract": {"column": own.source or column.name}}
        found |= {
            "description": _described(card, column, own),
            "dataType": [kind, "cr:Label"] if column.name == card.label.column else kind,
            "source": place,
        }
        fields.append(found)
    return {"@type": "cr:RecordSet", "@id": f"{file}/rows", "name": f"{file}: rows", "field": fields}


def _described(card: Card, column: Column, own: ColumnCard) -> str:
    """Return the description of a column: its role, and what its cells mean."""
    said = ["How many rows a row stands for"] if column.name == card.counts else []
    if column.name == card.label.column:
        said.append(f'The outcome; "{card.label.favourable}" is called favourable')
    if column.name in card.protected:
        said.append(f"A protected attribute; deprived: {', '.join(card.protected[column.name].deprived)}")
    if own.recode:
        said.append(f"Meanings: {', '.join(f'{cell} is {level}' for cell, level in own.recode.items())}")
    elif column.kind == "nominal" and own.kind == "nominal" and 0 < len(column.levels) <= MOST_LEVELS:
        said.append(f"Values: {', '.join(level or 'empty' for level in column.levels)}")
    if said:
        return f"{'. '.join(said)}."
    return f"{column.name}."


def _responsible(card: Card) -> dict[str, str | list[str]]:
    """Return the responsible AI properties, those that the card has something to say of."""
    about = card.about
    expected = card.expected
    single = [name for name, own in card.protected.items() if own.of is None]
    rates = [
        f"Share of {card.outcome} by {name}: "
        + ", ".join(f"{level} {rate:.3g}" for level, rate in groups.items())
        for name, groups in (expected.groups.items() if expected else ())
    ]
    known = [
        (trap.kind in BIASED, f"{trap.column}: {trap.note}" if trap.column else trap.note)
        for trap in card.traps
    ]
    gone = [f"Left out: {what}. {whom_it_matters}" for what, whom_it_matters in card.left_out.items()]
    use = f"Studies of fairness: predicting {card.label.column}, and comparing groups by {', '.join(single)}"
    return {
        "dataCollection": f"{about.who} Recorded: {about.when}" if about else "",
        "dataUseCases": [*([f"Recorded for: {about.purpose}"] if about else []), use],
        "dataBiases": [*rates, *card.group_words, *(note for biased, note in known if biased)],
        "dataLimitations": [*(note for biased, note in known if not biased), *gone],
        "dataPreprocessingProtocol": gone,
        "dataCollectionMissingData": f"Cells that mean a missing value: {', '.join(map(repr, card.missing))}"
        if card.missing
        else "",
        "dataSocialImpact": card.outcome_words,
        "personalSensitiveInformation": single,
    }
