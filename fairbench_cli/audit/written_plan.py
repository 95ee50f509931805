"""A plan as tables and files, whatever it is a plan of: rates (`planning`) or numbers (`number_planning`)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairbench_cli.audit.config import USED_BY_PLANS, PlanConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import Row
from fairbench_cli.audit.show.tables import csv_text, json_text
from fairbench_cli.base.errors import ArgumentError, Problem, suggest
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.html import html
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import VERDICTS, Document, TableCell
from fairbench_cli.document.notebook import notebook

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, Callable[[Any], TableCell]]
SAME = 1e-6  # of a last decimal by which a number may be off for rounding alone


@dataclass(frozen=True)
class PlannedPair:
    """A group and its reference, with their rows that count."""

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int

    def __str__(self) -> str:
        """Say who is compared: "race: black against white"."""
        reference = formatting.format_group(self.reference)
        return f"{self.attribute}: {formatting.format_group(self.group)} against {reference}"

    @property
    def rows_text(self) -> str:
        """The rows of both, in words."""
        return f"{formatting.thousands(self.rows)} and {formatting.thousands(self.reference_rows)} rows"


@dataclass(frozen=True)
class WrittenPlan:
    """A plan, which shows itself as tables in a notebook.

    Parameters
    ----------
    config : PlanConfig
    source : str
        The file, or what stands in its place.
    total : int
        Rows of everybody.
    compared : tuple of PlannedPair
        Every group with its reference.
    family : int
        How many comparisons decide.
    """

    config: PlanConfig
    source: str
    total: int
    compared: tuple[PlannedPair, ...]
    family: int

    kinds: ClassVar[Mapping[str, type]] = {}  # of the rows of its tables, by name
    first_table: ClassVar[str] = ""  # what a frame and a CSV file are of, where it is not said
    of_what: ClassVar[str] = ""
    unused: ClassVar[Sequence[str]] = ()  # keys of a configuration that it does not look at

    def describe(self, *, everything: bool = True) -> Document:
        """Return it in words and tables."""
        raise NotImplementedError

    def table_rows(self, table: str) -> list[Row]:
        """Return the rows of a table, as CSV files and frames have them."""
        return [formatting.flatten(row) for row in getattr(self, table)]

    def columns_of(self, table: str) -> list[str]:
        """Return the columns of a table, also where it has no rows."""
        rows = self.table_rows(table)
        if rows:
            return list(rows[0])
        return list(formatting.flat_columns(self.kinds[table]))

    def to_pandas(self, table: str = "") -> "pd.DataFrame":
        """Return one of its tables: "shown" (what the rows can show), "needed" (the rows it takes).

        Without a name it is "shown", of numbers "needed".
        """
        import pandas as pd

        name = table or self.first_table
        if name not in self.kinds:
            raise ArgumentError(Problem(f'there is no table called "{name}"', suggest(name, self.kinds)))
        return pd.DataFrame(self.table_rows(name), columns=self.columns_of(name))

    def to(self, name: str) -> str:
        """Write it in a format: "csv" (the table of `to_pandas`), "json", "markdown" or "html"."""
        if name not in WRITERS:
            raise ArgumentError(Problem(f'no format is called "{name}"', suggest(name, WRITERS)))
        return WRITERS[name](self)

    def to_html(self) -> str:
        """Write one HTML page that works offline."""
        return self.to("html")

    def _repr_html_(self) -> str:
        return notebook(self.describe())

    def __repr__(self) -> str:
        n_comparisons = format_count(len(self.compared), "comparison")
        return f"<Plan of {n_comparisons}{self.of_what}: {formatting.thousands(self.total)} rows>"


def _to_csv(plan: WrittenPlan, table: str = "") -> str:
    name = table or plan.first_table
    return csv_text(plan.table_rows(name), plan.columns_of(name), ("false", "true"))


def _to_json(plan: WrittenPlan) -> str:
    """Write the tables, and what they were made with."""
    options = {
        key: value
        for key, value in plan.config.resolved().items()
        if key in USED_BY_PLANS and key not in plan.unused
    }
    content = {"source": plan.source, "rows": plan.total, "family": plan.family, "config": options}
    return json_text(content | {table: plan.table_rows(table) for table in plan.kinds})


WRITERS: dict[str, Callable[[WrittenPlan], str]] = {
    "csv": _to_csv,
    "json": _to_json,
    "markdown": lambda plan: markdown(plan.describe()),
    "html": lambda plan: html(plan.describe()),
}

ENDINGS = {".html": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
"""The format of a file by its ending."""


def files_of(plan: WrittenPlan) -> dict[str, str]:
    """Return the files of a folder by name."""
    files = {"json": "plan.json", "markdown": "plan.md", "html": "plan.html"}
    tables = {f"plan-{table}.csv": _to_csv(plan, table) for table in plan.kinds}
    return tables | {file: plan.to(name) for name, file in files.items()}


def format_rounded(value: float, digits: int, *, up: bool, scale: float = 1.0, sign: str = "") -> str:
    """Write a number rounded down, so that it is at most what was found, or up; a dash where there is none.

    Parameters
    ----------
    value : float
    digits : int
        Decimals.
    up : bool
    scale : float
        What it is written in: 100 of points.
    sign : str
        "+" of a difference, which is written with its sign.

    Examples
    --------
    >>> format_rounded(0.6799, 2, up=False), format_rounded(0.68, 2, up=True)
    ('0.67', '0.68')
    >>> format_rounded(-0.1234, 1, up=False, scale=100, sign="+")
    '-12.4'
    """
    if math.isnan(value):
        return formatting.DASH
    units = 10**digits
    steps = value * scale * units
    rounded = math.ceil(steps - SAME) if up else math.floor(steps + SAME)
    return f"{rounded / units:{sign}.{digits}f}"


def columns_of_needed(columns_of_gap: Columns) -> Columns:
    """Return the columns of the rows that verdicts take, those that say which gap it is after the first."""
    return {
        "comparison": lambda row: TableCell(str(row)),
        **columns_of_gap,
        "of the group": lambda row: rows_cell(row.rows),
        "of the reference": lambda row: rows_cell(row.reference_rows),
        "of all": lambda row: rows_cell(row.all_rows),
        "chance": lambda row: chance_cell(row.chance),
        "verdict": lambda row: TableCell(VERDICTS[row.verdict]),
    }


def chance_cell(chance: float) -> TableCell:
    """Return a chance in whole percents."""
    return TableCell(f"{100 * chance:.0f} %", "", chance)


def rows_cell(rows: float) -> TableCell:
    """Return a number of rows."""
    return TableCell(formatting.thousands(rows), "", rows)
