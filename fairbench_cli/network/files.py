"""Networks as JSON that a person can read and diff; floats survive the round trip bit for bit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, ValidationError, field_validator

from fairbench_cli.base.checksums import FIELD, add_checksum, matches_checksum
from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.files import read_text, write_text
from fairbench_cli.base.validation import StrictModel
from fairbench_cli.data.card import Card, find_card, known_cards, read_card, shipped_cards, shipped_network
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.fit_quality import FitQuality
from fairbench_cli.network.model import BayesNet, named_arcs

FORMAT = "fairbench-network/2"


@dataclass(frozen=True)
class Meta:
    """Where a network comes from.

    Parameters
    ----------
    learner, score_name : str
        How the structure was learned.
    score, bic : float
        The learned structure's score under `score_name`, and its BIC.
    source : dict
        The data (name, sha256, rows) and settings; anything that JSON can hold.
    stand_in : StandIn or None
        How good rows of the network are in the place of the data, where that was measured.
    """

    learner: str
    score_name: str
    score: float
    bic: float
    source: Mapping[str, Any] = field(default_factory=dict)
    stand_in: FitQuality | None = None


def save(net: BayesNet, path: str | Path, meta: Meta) -> None:
    """Write the network; the file appears whole or not at all, and equal input gives equal bytes.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    write_text(Path(path), to_json(net, meta))


def load(path: str | Path) -> tuple[BayesNet, Meta]:
    """Return a network that `save` wrote, and where it comes from.

    Raises
    ------
    UserError
        No such file, not JSON, not a network file, or one that contradicts itself (a row that does not sum
        to 1, a table of the wrong shape, arcs that are not those of the tables, another sha256 than its own).
    """
    return from_json(read_text(Path(path)), path)


def open_network(name: str) -> tuple[BayesNet, Meta]:
    """Return a network file read, the shipped network of a data set, or the only network of a run's results.

    Raises
    ------
    UserError
        When there is none, and as `load`.
    """
    if name in known_cards():
        path = shipped_network(find_card(name))
        if not path.is_file():
            fix = f"learn it: fairbench network learn {name} -o {name}.network.json"
            raise user_error(f"no fitted network ships with {name}", fix)
        return load(path)
    if not Path(name).suffix and not Path(name).exists():
        shipped = [path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json")]
        raise user_error(f'no network "{name}"', suggest(name, shipped))
    fitted = sorted(Path(name, "networks").glob("*.json"))
    if len(fitted) > 1:
        problem = f"{name} has {len(fitted)} networks"
        raise user_error(problem, f"name one of: {', '.join(map(str, fitted))}")
    if fitted:
        return load(fitted[0])
    return load(Path(name))


def find_network_card(meta: Meta) -> Card | None:
    """Return the card of the network's data set if it is a shipped one."""
    name = str(meta.source.get("dataset", ""))
    if name in known_cards():
        return read_card(find_card(name))
    return None


def to_json(net: BayesNet, meta: Meta) -> str:
    """Return the network as JSON text; innermost lists (a CPT row, an arc, levels) take one line each.

    Its last field is the sha256 of the others, as `checksums.digest` has it.
    """
    content: dict[str, Any] = {"format": FORMAT, **vars(meta)}
    del content["stand_in"]
    if meta.stand_in is not None:
        content["stand_in"] = meta.stand_in.model_dump(mode="json")
    content["columns"] = [_column_entry(column) for column in net.columns]
    content["arcs"] = [list(arc) for arc in net.arcs]
    cpts = {}
    for name, cpt in zip(net.names, net.cpts, strict=True):
        cpts[name] = {"parents": list(net.parents_of(name)), "rows": cpt.tolist()}
    content["cpts"] = cpts
    return _format_json(add_checksum(content), "") + "\n"


def decisive_text(path: str | Path) -> str:
    """Return the part of a network's file that decides numbers: all but what was measured of it later."""
    text = read_text(Path(path))
    content = json.loads(text)
    if "stand_in" not in content:
        return text
    decisive = {key: value for key, value in content.items() if key not in ("stand_in", FIELD)}
    return _format_json(decisive, "") + "\n"


def from_json(text: str, path: str | Path = "") -> tuple[BayesNet, Meta]:
    """Return the network of a JSON text; `path` is named in errors, which are those of `load`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = path
        if isinstance(error, json.JSONDecodeError):
            where = f"{path}:{error.lineno}"
        _refuse_file(where, "the file is not JSON")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        _refuse_file(path, f'this is no network file: it has no "format": "{FORMAT}"')
    try:
        file = _NetworkFile.model_validate(content)
        network = _to_network(file)
    except ValidationError as error:
        first_error = error.errors()[0]
        _refuse_file(path, f"{'.'.join(map(str, first_error['loc']))}: {first_error['msg']}")
    except ValueError as error:
        _refuse_file(path, str(error))
    if matches_checksum(content) is False:
        problem = "the network was changed or damaged since it was written: its sha256 is another"
        fix = "take an undamaged copy; if the change was meant, remove `sha256` at its end"
        raise user_error(problem, fix, str(path))
    return network, Meta(file.learner, file.score_name, file.score, file.bic, file.source, file.stand_in)


def _column_entry(column: Column) -> dict[str, Any]:
    """Return a column as the file has it; a nominal one has its levels alone."""
    entry: dict[str, Any] = {"name": column.name, "levels": list(column.levels)}
    if column.kind != "nominal":
        entry["kind"] = column.kind
        entry["values"] = list(column.values)
    return entry


class _ColumnEntry(StrictModel):
    name: str
    levels: list[str]
    kind: Literal["nominal", "bins"] = "nominal"
    values: list[FiniteFloat] = Field(default_factory=list)


class _CptEntry(StrictModel):
    parents: list[str]
    rows: list[Any]


class _Roles(BaseModel):
    label: str
    favourable: str
    attribute: str
    deprived: list[str]
    favoured: list[str]


class _Tilt(BaseModel):
    beta: float
    attribute: str
    both: bool


class _Source(BaseModel):
    """What else than facts `source` may hold."""

    roles: _Roles | None = None
    tilts: list[_Tilt] = []


class _NetworkFile(StrictModel):
    format: Literal["fairbench-network/2"]
    learner: str
    score_name: str
    score: FiniteFloat
    bic: FiniteFloat
    source: dict[str, Any]
    stand_in: FitQuality | None = None
    columns: list[_ColumnEntry]
    arcs: list[list[str]]
    cpts: dict[str, _CptEntry]
    sha256: str | None = None

    @field_validator("source")
    @classmethod
    def _usable(cls, source: dict[str, Any]) -> dict[str, Any]:
        _Source.model_validate(source)
        return source


def _to_network(file: _NetworkFile) -> BayesNet:
    columns = []
    for entry in file.columns:
        columns.append(Column(entry.name, tuple(entry.levels), entry.kind, tuple(entry.values)))
    names = [column.name for column in columns]
    if set(names) != set(file.cpts):
        raise ValueError("the columns of `columns` and of `cpts` differ")
    parents = []
    for name in names:
        for parent in file.cpts[name].parents:
            if parent not in names:
                raise ValueError(f'"{name}" has the parent "{parent}", which is not a column')
        parents.append(tuple(names.index(parent) for parent in file.cpts[name].parents))
    if sorted(map(list, named_arcs(names, parents))) != sorted(file.arcs):
        raise ValueError("`arcs` and the parents in `cpts` differ")
    tables = tuple(_to_array(name, file.cpts[name].rows) for name in names)
    return BayesNet(tuple(columns), tuple(parents), tables)


def _to_array(name: str, rows: list[Any]) -> Floats:
    try:
        table = np.array(rows)
    except ValueError:
        raise ValueError(f'the rows of "{name}" have different lengths') from None
    if table.dtype.kind not in "if":
        raise ValueError(f'the table of "{name}" has something that is not a number')
    return table.astype(np.float64)


def _format_json(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        fields = []
        for key, inner_value in value.items():
            fields.append(f"{inner}{json.dumps(key, ensure_ascii=False)}: {_format_json(inner_value, inner)}")
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and any(isinstance(x, (list, tuple, Mapping)) for x in value):
        lines = ",\n".join(inner + _format_json(element, inner) for element in value)
        return f"[\n{lines}\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _refuse_file(where: str | Path, problem: str) -> NoReturn:
    fix = "give a file written by fairbench, or learn the network again"
    raise user_error(problem, fix, str(where)) from None
