"""What a card says of a column: its kind, its levels, how numbers are cut, which rows are kept by it."""

from itertools import pairwise
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fairbench_cli.base.validation import StrictModel, mistake


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, and anything else as it is."""
    if isinstance(value, list):
        return tuple(value)
    return value


def _one_or_more(value: Any) -> Any:
    if isinstance(value, str | int | float | bool):
        return (value,)
    return as_tuple(value)


def _as_text(value: Any) -> Any:
    """Return a code without quotes as text: a level called 1 is "1"."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return value


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise mistake(f'"{value}" is listed twice', "keep one")
    return values


_Code = str | int | bool  # what may stand for a level in a file
Text = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=_Code)]
AnyLevels = Annotated[
    tuple[Text, ...],
    BeforeValidator(_one_or_more, json_schema_input_type=_Code | list[_Code]),
    AfterValidator(_distinct),
]
Levels = Annotated[AnyLevels, Field(min_length=1)]


class BinsCard(StrictModel):
    """How a number is cut into bins: by `count`, by `quantiles` or by `edges`.

    Bins are closed on the right, as R's ``cut`` makes them. `low` and `high` are of `count` and default to
    the data's own range; values beyond them fall into the end bins. With `edges` the end bins are open,
    ``closed: left`` makes bins that begin at an edge, and `levels` names the bins. Bins of codes, such as
    those of occupations, are categories: ``ordered: false``.
    """

    count: int | None = Field(default=None, ge=2, le=1000, description="bins of equal width")
    low: float | None = None
    high: float | None = None
    quantiles: int | None = Field(default=None, ge=2, le=1000, description="bins of about as many rows each")
    edges: Annotated[tuple[float, ...], BeforeValidator(_one_or_more), Field(min_length=1)] | None = Field(
        default=None, description="where one bin ends and the next begins"
    )
    closed: Literal["right", "left"] = "right"
    levels: Levels | None = Field(default=None, description="what the bins are called, the lowest first")
    ordered: bool = Field(
        default=True, description="false: named bins are categories, such as ranges of occupation codes"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "BinsCard":
        ways = [way for way in ("count", "quantiles", "edges") if getattr(self, way) is not None]
        if not ways:
            raise mistake("the number of bins is missing", "write count: 5, quantiles: 5 or edges: [18, 65]")
        if len(ways) > 1:
            raise mistake(f"{ways[0]} and {ways[1]} exclude each other", "keep one")
        for key in ("low", "high") if self.count is None else ():
            if getattr(self, key) is not None:
                raise mistake(f"{key} is for bins of equal width", "remove it, or write count")
        if self.closed == "left" and self.edges is None:
            raise mistake("closed: left is for edges", "remove it, or write edges")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise mistake("low must be below high", "correct one of the two")
        edges = self.edges or ()
        if any(not isfinite(edge) for edge in edges) or any(a >= b for a, b in pairwise(edges)):
            raise mistake("edges must rise", "write them in order, each once: [18, 65]")
        if self.levels is not None and self.edges is None:
            raise mistake("the bins of given edges alone can be named", "remove levels, or write edges")
        if self.levels is None and not self.ordered:
            raise mistake("bins that are categories need names", "write levels, or leave out ordered")
        if self.levels is not None and len(self.levels) != len(edges) + 1:
            problem = f"{len(self.levels)} levels are named, but the edges make {len(edges) + 1} bins"
            raise mistake(problem, "name every bin once, the lowest first")
        return self


class Between(StrictModel):
    """The numbers from `low` to `high`, both included."""

    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Between":
        if self.low is None and self.high is None:
            raise mistake("there is no limit", "write low: NUMBER, high: NUMBER or both")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise mistake("low must not be above high", "correct one of the two")
        return self


IfMissing = Literal["level", "median", "mode"]


class ColumnCard(StrictModel):
    """What a column is and how its values become levels.

    A number without bins or cap stays a number; `network_bins` are how it is cut where a network is learned.
    """

    kind: Literal["nominal", "integer", "real", "drop"] = "nominal"
    source: str | None = Field(
        default=None, alias="from", description="the file's column that this one is made of"
    )
    levels: Levels | None = Field(default=None, description="declared order; default: by byte value")
    codes: dict[str, Text] = Field(
        default_factory=dict, description="what the code book says of each value in the file; decides nothing"
    )
    recode: dict[str, Text] = Field(default_factory=dict, description="value in the file: value used")
    bins: BinsCard | None = None
    cap: int | None = Field(
        default=None, ge=1, le=1000, description="whole numbers from here on are one level"
    )
    network_bins: BinsCard | None = Field(
        default=None, description="bins of a number that is one but in a network, which takes levels alone"
    )
    if_missing: IfMissing | None = Field(
        default=None, description="what becomes of this column's missing cells; default: as missing_rows says"
    )

    @property
    def is_number(self) -> bool:
        """Whether its cells are numbers."""
        return self.kind in ("integer", "real")

    @property
    def is_cut(self) -> bool:
        """Whether its numbers become levels."""
        return self.bins is not None or self.cap is not None

    @model_validator(mode="after")
    def _consistent(self) -> "ColumnCard":
        number = self.is_number
        if not number and (self.is_cut or self.network_bins):
            raise mistake("bins and cap are for numbers", "add kind: integer or kind: real")
        if self.network_bins and self.is_cut:
            raise mistake("network_bins are for a column that else stays a number", "remove them")
        if self.bins is not None and self.cap is not None:
            raise mistake("bins and cap exclude each other", "keep one")
        if self.kind == "real" and self.cap is not None:
            raise mistake("cap is for whole numbers", "write kind: integer, or use bins")
        if self.kind != "nominal" and self.levels is not None:
            raise mistake(f"levels have no effect with kind: {self.kind}", "remove one of the two")
        for key, value in (("from", self.source), ("recode", self.recode), ("if_missing", self.if_missing)):
            if self.kind == "drop" and value:
                raise mistake(f"{key} has no effect on a dropped column", "remove one of the two")
        if self.if_missing == "median" and not number:
            raise mistake("categories have no median", "write if_missing: mode, or if_missing: level")
        if self.if_missing == "level" and number and not self.is_cut:
            problem = "a column that stays a number has no level for missing cells"
            raise mistake(problem, "write if_missing: median, or cut it: bins: {quantiles: 5}")
        return self
