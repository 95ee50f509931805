"""The card of a data set: where the file is from, what its columns mean, who is the deprived group."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fairbench_cli.data.table import Roles
from fairbench_cli.errors import UserError, suggest, user_error
from fairbench_cli.strict_yaml import Document, read_yaml
from fairbench_cli.validation import problems_of


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float | bool) else value


def _as_text(value: Any) -> Any:
    """Let codes be written without quotes: a level called 1 is the text "1"."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Levels = Annotated[tuple[Text, ...], BeforeValidator(_as_list)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Part):
    """A data file and, for the official ones, its checksum and address."""

    name: str
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    url: str | None = None


class Bins(_Part):
    """Equal-width bins of a number, closed on the right, as R's ``cut(x, count)`` makes them.

    `low` and `high` default to the data's own range; values beyond them fall into the end bins.
    """

    count: int = Field(ge=2, le=1000)
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _ordered(self) -> "Bins":
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be below high")
        return self


class ColumnCard(_Part):
    """What a column is and how its values become levels."""

    kind: Literal["nominal", "integer", "real", "drop"] = "nominal"
    levels: Levels | None = Field(default=None, description="declared order; default: by byte value")
    recode: dict[str, Text] = Field(default_factory=dict)
    bins: Bins | None = None
    cap: int | None = Field(default=None, ge=1, description="whole numbers from here on are one level")

    @model_validator(mode="after")
    def _consistent(self) -> "ColumnCard":
        if self.kind in ("nominal", "drop") and (self.bins or self.cap is not None):
            raise ValueError("bins and cap need kind: integer or kind: real")
        if self.kind in ("integer", "real") and (self.bins is None) == (self.cap is None):
            raise ValueError("a number needs either bins or cap")
        if self.kind == "real" and self.cap is not None:
            raise ValueError("cap needs kind: integer")
        if self.bins is not None and self.levels is not None:
            raise ValueError("levels and bins exclude each other")
        return self


class Label(_Part):
    """The outcome's column and its favourable value."""

    column: str
    favourable: Text


class BiasTarget(_Part):
    """The column whose values β acts on: the protected attribute itself or a proxy of it."""

    column: str
    deprived: Levels
    favoured: Levels = ()


class Protected(_Part):
    """A protected attribute: its deprived values, its favoured ones (default: all others)."""

    deprived: Levels
    favoured: Levels | None = None
    bias: BiasTarget | None = None


class Card(_Part):
    """A data set's card (``datasets/*.yaml``)."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    title: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    files: tuple[File, ...] = Field(min_length=1)
    format: Literal["csv", "arff"] = "csv"
    header: bool = True
    separator: str = Field(default=",", min_length=1, max_length=1)
    comment: str | None = Field(default=None, min_length=1, max_length=1)
    missing: Levels = ()
    missing_rows: Literal["keep", "drop"] = "keep"
    columns: dict[str, ColumnCard] = Field(default_factory=dict)
    other_columns: Literal["nominal", "drop"] = "nominal"
    keep: dict[str, Levels] = Field(default_factory=dict)
    label: Label
    protected: dict[str, Protected] = Field(min_length=1)

    @model_validator(mode="after")
    def _drops_need_tokens(self) -> "Card":
        if self.missing_rows == "drop" and not self.missing:
            raise ValueError("missing_rows: drop needs `missing`, the cells that mean a missing value")
        return self

    def decisive(self) -> dict[str, Any]:
        """Return the part of the card that decides numbers: no titles, addresses or citations."""
        prose = {"name", "title", "source", "licence", "citation", "note", "files"}
        return self.model_dump(mode="json", exclude=prose, exclude_defaults=True)

    def attribute(self, name: str | None) -> str:
        """Return the protected attribute called `name`, or the card's first one."""
        if name is None:
            return next(iter(self.protected))
        if name not in self.protected:
            raise user_error(
                f'data set "{self.name}" has no protected attribute "{name}"', suggest(name, self.protected)
            )
        return name

    def roles(self, attribute: str, levels: tuple[str, ...]) -> Roles:
        """Tell the groups of an attribute, given the levels that the data have."""
        protected = self.protected[attribute]
        favoured = protected.favoured
        if favoured is None:
            favoured = tuple(level for level in levels if level not in protected.deprived)
        return Roles(self.label.column, self.label.favourable, attribute, protected.deprived, favoured)

    def bias_target(self, roles: Roles) -> BiasTarget:
        """Tell which column and values β acts on."""
        return self.protected[roles.attribute].bias or BiasTarget(
            column=roles.attribute, deprived=roles.deprived, favoured=roles.favoured
        )


def shipped_cards() -> Path:
    """Return the folder of the cards that come with fairbench."""
    inside = Path(__file__).parents[1] / "datasets"  # in an installed wheel
    return inside if inside.is_dir() else Path(__file__).parents[2] / "datasets"


def known_cards() -> list[str]:
    """Return the names of the shipped cards, sorted."""
    return sorted(path.stem for path in shipped_cards().glob("*.yaml"))


def find_card(name: str, base: Path = Path()) -> Path:
    """Find a card by its name, or by a path ending in .yaml (relative to `base` or the working folder).

    Raises
    ------
    UserError
        When there is no such card.
    """
    if name.endswith((".yaml", ".yml")):
        for path in (base / name, Path(name)):
            if path.is_file():
                return path
        raise user_error(f"no card at {name}", "give the path of a card, or the name of a shipped data set")
    path = shipped_cards() / f"{name}.yaml"
    if name not in known_cards():
        raise user_error(f'unknown dataset "{name}"', suggest(name, known_cards()))
    return path


def read_card(path: Path) -> Card:
    """Read a card and, where it says ``extends: NAME``, the card that it changes.

    Raises
    ------
    UserError
        Listing every mistake with its line.
    """
    document = _merged(read_yaml(path), path, ())
    try:
        return Card.model_validate(document.data)
    except ValidationError as error:
        raise UserError(*problems_of(error, Card, document)) from None


def _merged(document: Document, path: Path, above: tuple[str, ...]) -> Document:
    """Lay the card over the one that it extends; mappings are merged one level deep."""
    data = document.data
    if not isinstance(data, dict):
        raise user_error("a card is a mapping of keys to values", "see datasets/adult.yaml", document.where(()))
    files = data.get("files")
    if isinstance(files, list):
        data = data | {"files": [{"name": file} if isinstance(file, str) else file for file in files]}
    columns = data.get("columns")
    if isinstance(columns, dict):
        kinds = {key: {"kind": value} if isinstance(value, str) else value for key, value in columns.items()}
        data = data | {"columns": {key: {} if value is None else value for key, value in kinds.items()}}
    base_name = data.get("extends")
    if base_name is None:
        return Document(data, document.lines, document.name)
    if not isinstance(base_name, str) or base_name in above or base_name == data.get("name"):
        raise user_error("`extends` must name another card", "give its name", document.where(("extends",)))
    base_path = find_card(base_name, path.parent)
    base = _merged(read_yaml(base_path), base_path, (*above, base_name)).data
    merged = dict(base)
    for key, value in data.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = base[key] | value if both else value
    merged.pop("extends")
    return Document(merged, document.lines, document.name)
