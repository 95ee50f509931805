"""What a card may say: where the file is from, what its columns mean, who is the deprived group."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)

from fairbench_cli.data.table import Roles
from fairbench_cli.errors import suggest, user_error
from fairbench_cli.strict_yaml import Document, Place
from fairbench_cli.validation import NAME, SHA256, URL, mistake


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str | int | float | bool) else _as_tuple(value)


def _as_text(value: Any) -> Any:
    """Let codes be written without quotes: a level called 1 is the text "1"."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise mistake(f'"{value}" is listed twice', "keep one")
    return values


Text = Annotated[str, BeforeValidator(_as_text)]
AnyLevels = Annotated[tuple[Text, ...], BeforeValidator(_one_or_more), AfterValidator(_distinct)]
Levels = Annotated[AnyLevels, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class File(_Part):
    """A data file and, for the official ones, its checksum and address."""

    name: str = Field(min_length=1)
    sha256: str | None = Field(default=None, pattern=SHA256)
    url: str | None = Field(default=None, pattern=URL)

    @model_validator(mode="after")
    def _plain_name(self) -> "File":
        if self.url and (set(self.name) & {"/", "\\"} or self.name.startswith(".")):
            raise mistake(
                "a file with a url needs a plain name, for it is put into the cache", "leave out folders"
            )
        return self


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
            raise mistake("low must be below high", "correct one of the two")
        return self


class ColumnCard(_Part):
    """What a column is and how its values become levels.

    A number without bins or cap stays a number, which a network cannot be learned from.
    """

    kind: Literal["nominal", "integer", "real", "drop"] = "nominal"
    levels: Levels | None = Field(default=None, description="declared order; default: by byte value")
    recode: dict[str, Text] = Field(default_factory=dict, description="value in the file: value used")
    bins: Bins | None = None
    cap: int | None = Field(
        default=None, ge=1, le=1000, description="whole numbers from here on are one level"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "ColumnCard":
        number = self.kind in ("integer", "real")
        if not number and (self.bins or self.cap is not None):
            raise mistake("bins and cap are for numbers", "add kind: integer or kind: real")
        if self.bins is not None and self.cap is not None:
            raise mistake("bins and cap exclude each other", "keep one")
        if self.kind == "real" and self.cap is not None:
            raise mistake("cap is for whole numbers", "write kind: integer, or use bins")
        if self.kind != "nominal" and self.levels is not None:
            raise mistake(f"levels have no effect with kind: {self.kind}", "remove one of the two")
        if self.kind == "drop" and self.recode:
            raise mistake("recode has no effect on a dropped column", "remove one of the two")
        return self


class Label(_Part):
    """The outcome's column and its favourable value."""

    column: str
    favourable: Text


class _Groups(_Part):
    deprived: Levels

    @model_validator(mode="after")
    def _apart(self) -> "_Groups":
        both = set(self.deprived) & set(getattr(self, "favoured", None) or ())
        if both:
            raise mistake(f'"{min(both)}" is both deprived and favoured', "name it once")
        return self


class BiasTarget(_Groups):
    """The column whose values β acts on: the protected attribute itself or a proxy of it."""

    column: str
    favoured: AnyLevels = ()


class Protected(_Groups):
    """A protected attribute: its deprived values, its favoured ones (default: all others)."""

    favoured: Levels | None = None
    bias: BiasTarget | None = None


@dataclass(frozen=True)
class Origin:
    """Where a card was read. It is no part of what the card says: any two are equal.

    Parameters
    ----------
    document : Document
        The card's file.
    reference : str
        What names the card on a command line: its name if it is a shipped one, else its path.
    """

    document: Document = field(compare=False, repr=False)
    reference: str = field(compare=False)


class Card(_Part):
    """A data set's card (``datasets/*.yaml``)."""

    name: str = Field(pattern=NAME)
    title: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    files: Annotated[tuple[File, ...], BeforeValidator(_as_tuple)] = Field(min_length=1)
    format: Literal["csv", "arff"] = "csv"
    header: bool = Field(default=True, description="Whether the first row names the columns.")
    separator: str = Field(default=",", min_length=1, max_length=1)
    comment: str | None = Field(default=None, min_length=1, max_length=1)
    missing: AnyLevels = Field(default=(), description="Cells that mean a missing value.")
    missing_rows: Literal["keep", "drop"] = "keep"
    columns: dict[str, ColumnCard] = Field(default_factory=dict)
    other_columns: Literal["nominal", "drop"] = "nominal"
    keep: dict[str, Levels] = Field(default_factory=dict, description="Rows to keep: values by column.")
    label: Label
    protected: dict[str, Protected] = Field(min_length=1)

    _origin: Origin | None = PrivateAttr(default=None)

    def where(self, *place: str | int) -> str:
        """Return ``file:line`` of a part of the card, for an error message."""
        return f"card {self.name}" if self._origin is None else self._origin.document.where(place)

    @property
    def reference(self) -> str:
        """What names the card on a command line."""
        return self.name if self._origin is None else self._origin.reference

    def decisive(self) -> dict[str, Any]:
        """Return the part of the card that decides numbers: no titles, addresses or citations."""
        prose = {"name", "title", "source", "licence", "citation", "note", "files"}
        return self.model_dump(mode="json", exclude=prose, exclude_defaults=True)

    def attribute(self, name: str | None) -> str:
        """Return the protected attribute called `name`, or the card's first one.

        Raises
        ------
        UserError
            When the card has no such attribute.
        """
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

    def mentions(self) -> Iterator[tuple[str, Place]]:
        """Yield every column that the card names, and the place where."""
        yield from ((name, ("columns", name)) for name in self.columns)
        yield from ((name, ("keep", name)) for name in self.keep)
        yield from self.needed()

    def needed(self) -> Iterator[tuple[str, Place]]:
        """Yield the columns that must not be dropped, and the place that names each."""
        yield self.label.column, ("label", "column")
        for name, protected in self.protected.items():
            yield name, ("protected", name)
            if protected.bias:
                yield protected.bias.column, ("protected", name, "bias", "column")

    def drops(self, name: str) -> bool:
        """Tell whether a column is left out of the table."""
        column = self.columns.get(name)
        return self.other_columns == "drop" if column is None else column.kind == "drop"
