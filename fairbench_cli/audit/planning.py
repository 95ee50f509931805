"""What an audit of so many rows can show, before there are decisions: ratios, rows, a curve.

The rule is that of the audit, with Holm's first step over all comparisons (`measures.power`).
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.config import USED_BY_PLANS, PlanConfig
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.parts import writing
from fairbench_cli.audit.parts.part import Row
from fairbench_cli.audit.scan.open import count_groups
from fairbench_cli.audit.scan.tally import Slice, Tally
from fairbench_cli.audit.show.tables import csv_text, json_text
from fairbench_cli.base.errors import (
    ArgumentError,
    Flag,
    Problem,
    UserError,
    format_value,
    suggest,
    user_error,
)
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document import charts
from fairbench_cli.document.html import html
from fairbench_cli.document.markdown import markdown
from fairbench_cli.document.model import (
    VERDICTS,
    Answer,
    Chart,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    Verdict,
    table_of,
)
from fairbench_cli.document.notebook import notebook
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.power import MOST_ROWS, Criterion, TwoGroups, rows_needed

if TYPE_CHECKING:
    import pandas as pd

    from fairbench_cli.audit.scan.source import Frame

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # times the rows, along a curve
MOST_SAID = 6  # comparisons in the answer
SIZE = re.compile(r"\s*(.+?)\s*=\s*(\d+)\s*")
SIZES = "group sizes"  # in messages, instead of a file


@dataclass(frozen=True)
class PlannedPair:
    """A group and its reference, with their rows that the rate counts."""

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int


@dataclass(frozen=True)
class ShownRatios(PlannedPair):
    """What the rows at hand, or so many times as many, can show.

    Parameters
    ----------
    rate : float
        Of the reference.
    times : float
        How many times the rows at hand.
    fails_below, fails_above : float
        The largest ratio below 1 and the smallest above that fail with the power asked for; NaN: none does.
    passes_from, passes_to : float
        Between which ratios it passes with that power; NaN: nowhere.
    equal_passes, equal_fails : float
        How likely it passes, and fails, where the rates are equal.
    """

    rate: float
    times: float
    fails_below: float
    fails_above: float
    passes_from: float
    passes_to: float
    equal_passes: float
    equal_fails: float


@dataclass(frozen=True)
class NeededRows(PlannedPair):
    """How many rows a verdict takes, the groups as large to each other as at hand.

    Parameters
    ----------
    rate, ratio : float
        Of the reference, and of the group's rate to it.
    verdict : {"fail", "pass"}
        What is to be found: fail where the ratio is outside the limits.
    all_rows : float
        Rows of everybody, those among them that the rate does not count.
    chance : float
        How likely the verdict is with these.
    """

    rate: float
    ratio: float
    verdict: Verdict
    all_rows: float
    chance: float


@dataclass(frozen=True, eq=False, repr=False)
class AuditPlan:
    """A plan, which shows itself as tables in a notebook.

    Parameters
    ----------
    config : PlanConfig
    source : str
        The file, or `SIZES`.
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

    @property
    def criterion(self) -> Criterion:
        """What the audit will go by."""
        return Criterion(self.config.tau, self.family, self.config.confidence)

    @cached_property
    def shown(self) -> tuple[ShownRatios, ...]:
        """What the rows at hand can show."""
        return tuple(_shown(one, rate, 1.0, self) for one, rate in product(self.compared, self.config.rate))

    @cached_property
    def curve(self) -> tuple[ShownRatios, ...]:
        """What several times the rows at hand can show."""
        each = zip(product(self.compared, self.config.rate), self.shown, strict=True)
        return tuple(
            here if times == 1 else _shown(*pair, times, self) for pair, here in each for times in FACTORS
        )

    @cached_property
    def needed(self) -> tuple[NeededRows, ...]:
        """How many rows the ratios asked for take; ratios that no rows decide are left out."""
        asked = product(self.compared, self.config.rate, self.config.ratio)
        rows = (_needed(one, rate, ratio, self) for one, rate, ratio in asked)
        return tuple(row for row in rows if row is not None)

    def to_pandas(self, table: str = "shown") -> "pd.DataFrame":
        """Return "shown" (what the rows can show), "needed" (the rows it takes) or "curve" as a frame."""
        import pandas as pd

        if table not in TABLES:
            raise ArgumentError(Problem(f'there is no table called "{table}"', suggest(table, TABLES)))
        return pd.DataFrame(_rows(self, table), columns=writing.columns_of(TABLES[table]))

    def to(self, name: str) -> str:
        """Write it in a format: "csv" (what the rows show), "json", "markdown" or "html"."""
        if name not in WRITERS:
            raise ArgumentError(Problem(f'no format is called "{name}"', suggest(name, WRITERS)))
        return WRITERS[name](self)

    def to_html(self) -> str:
        """Write one HTML page that works offline."""
        return self.to("html")

    def _repr_html_(self) -> str:
        return notebook(plan_document(self))

    def __repr__(self) -> str:
        many = format_count(len(self.compared), "comparison")
        return f"<Plan of {many}: {writing.thousands(self.total)} rows>"


def plan(
    source: "str | Path | Mapping[str, Any] | Frame", *, config: str | Path | None = None, **options: Any
) -> AuditPlan:
    """Plan an audit: the ratios that groups of given sizes can show, and the rows that a ratio takes.

    Parameters
    ----------
    source : mapping, str, Path or frame
        Rows by group, ``{"white": 1000, "black": 200}`` or ``"white=1000,black=200"``; by attribute and group
        where there are several, ``{"race": {…}, "sex": {…}}``; or a file or frame with a row per person, of
        which the groups alone are read.
    config : str or Path, optional
        A YAML file of options.
    **options
        As on the command line, with underscores: ``rate=0.3``, ``ratio=[0.6, 0.7]``, ``power=0.8``,
        ``comparisons=5``, ``counted=0.6``, ``ref={"race": "white"}``, ``tau=0.8``, ``attributes=["race"]``.

    Examples
    --------
    >>> found = plan({"white": 1000, "black": 200}, rate=0.3, ratio=0.7)
    >>> found.to_pandas()[["group", "fails_below", "fails_above"]].round(2).values.tolist()
    [['black', 0.68, 1.36]]
    >>> found.to_pandas("needed")[["rows", "reference_rows", "chance"]].round(2).values.tolist()
    [[226.0, 1126.0, 0.8]]
    """
    from fairbench_cli.audit.api import PLURALS

    try:
        given = {PLURALS.get(name, name): value for name, value in options.items()}
        if config is not None:
            path = Path(config)
        else:
            path = None
        return make_plan(source, read_config(given, path, kind=PlanConfig))
    except UserError as error:
        raise UserError(*(problem.spell("python") for problem in error.problems)) from None


def make_plan(source: "str | Path | Mapping[str, Any] | Frame", config: PlanConfig) -> AuditPlan:
    """Count the rows of groups, and plan."""
    tally = _counted(source, config)
    references.check_references(tally, config)
    compared: list[PlannedPair] = []
    family = 0
    # Nobody is selected yet: a reference that will be chosen by its rate is, for now, the largest group.
    chosen = config.model_copy(update={"ref_method": "majority"})
    for part in (references.kept(part, config) for part in tally.slices):
        by_rate = references.chosen_by_rate(part, config)
        own = list(_pairs(part, chosen if by_rate else config))
        compared += own
        groups = int(references.comparable(part, config).sum())
        if by_rate:
            family += groups * (groups - 1) // 2
        else:
            family += len(own)
    if not compared:
        raise user_error("there is nothing to compare", "give two groups or more", tally.source)
    return AuditPlan(config, tally.source, tally.rows, tuple(compared), config.comparisons or family)


def _counted(source: "str | Path | Mapping[str, Any] | Frame", config: PlanConfig) -> Tally:
    """Return the rows of each group."""
    if isinstance(source, str) and "=" in source and not Path(source).exists():
        source = _sizes(source)
    if not isinstance(source, Mapping):
        return count_groups(source, config)
    nested = any(isinstance(value, Mapping) for value in source.values())
    named = (*(config.attributes or ()), *config.references, "group")
    if nested:
        sizes = source
    else:
        sizes = {named[0]: source}
    unknown = set(config.attributes or ()) - set(sizes)
    for key, given in {"bins": config.bins, "intersect": config.intersections, "attribute": unknown}.items():
        if given:
            what = f"sizes of {', '.join(map(str, sizes))} say nothing of other columns"
            raise user_error(what, ("give a file with a row per person, or leave out ", Flag(key)), Flag(key))
    slices = tuple(_slice(name, sizes[name]) for name in config.attributes or sizes)
    total = max((int(part.rows.sum()) for part in slices), default=0)
    return Tally(SIZES, total, slices)


def _sizes(text: str) -> dict[str, int]:
    """Read "white=1000,black=200"."""
    found = [SIZE.fullmatch(part) for part in text.split(",")]
    sizes = {match[1]: int(match[2]) for match in found if match}
    if len(sizes) < len(found):
        what = f"{format_value(text)} is no file, and no list of group sizes"
        raise user_error(what, "name a file, or write white=1000,black=200")
    return sizes


def _slice(attribute: str, sizes: Any) -> Slice:
    """Return groups of given sizes."""
    if not isinstance(sizes, Mapping) or not all(
        isinstance(rows, int | np.integer) and 0 < rows <= MOST_ROWS for rows in sizes.values()
    ):
        what = f"the sizes of {format_value(attribute)} are not whole numbers from 1 to 1e12, by group"
        raise user_error(what, 'write {"white": 1000, "black": 200}')
    named = {str(name): int(rows) for name, rows in sorted(sizes.items(), key=lambda item: str(item[0]))}
    n = np.zeros((len(named), 2, 2))
    n[:, 0, 1] = list(named.values())
    return Slice("", "", attribute, Counts(tuple(named), n), n.astype(np.int64), n, labelled=False)


def _pairs(part: Slice, config: PlanConfig) -> Iterator[PlannedPair]:
    """Yield each group with its reference."""
    at = references.usual_reference(part, config)
    rows = part.rows.tolist()
    for g in np.flatnonzero(references.comparable(part, config)).tolist():
        if g != at:
            if at == references.REST:
                other = sum(rows) - rows[g]
            else:
                other = rows[at]
            counted = [max(1, round(config.counted * each)) for each in (rows[g], other)]
            if at == references.REST:
                reference = references.REST_NAME
            else:
                reference = part.counts.groups[at]
            yield PlannedPair(part.attribute, part.counts.groups[g], reference, *counted)


def _shown(one: PlannedPair, rate: float, times: float, plan: AuditPlan) -> ShownRatios:
    n, m = (max(1, round(times * rows)) for rows in (one.rows, one.reference_rows))
    design = TwoGroups(n, m, rate, plan.criterion)
    power = plan.config.power
    equal = design.chances(1.0)
    return ShownRatios(
        *(one.attribute, one.group, one.reference, n, m, rate, times),
        *(
            *design.detectable_ratios(power),
            *design.passing_ratios(power),
            float(equal.passes),
            float(equal.fails),
        ),
    )


def _needed(one: PlannedPair, rate: float, ratio: float, plan: AuditPlan) -> NeededRows | None:
    both = one.rows + one.reference_rows
    total = float(rows_needed(rate, ratio, one.rows / both, plan.criterion, plan.config.power))
    if math.isnan(total):
        return None
    n, m = (math.ceil(total * rows / both - 1e-9) for rows in (one.rows, one.reference_rows))
    found = TwoGroups(n, m, rate, plan.criterion).chances(ratio)
    outside = ratio < plan.criterion.tau or ratio > 1 / plan.criterion.tau
    everybody = math.ceil(plan.total * total / both - 1e-9)
    chance = float(found.fails if outside else found.passes)
    verdict: Verdict = "fail" if outside else "pass"
    return NeededRows(one.attribute, one.group, one.reference, n, m, rate, ratio, verdict, everybody, chance)


def plan_document(plan: AuditPlan) -> Document:
    """Return a plan as a page: what the rows show, the rows it takes, a curve for each comparison."""
    config = plan.config
    rule = plan.criterion
    allowed = f"{rule.tau:g} to {1 / rule.tau:.3g}"
    family = format_count(plan.family, "comparison")
    if config.counted < 1:
        counted = f"; the rate counts {writing.percent(config.counted)} of the rows"
    else:
        counted = ""
    facts = (
        f"{plan.source}: {writing.thousands(plan.total)} rows; allowed: {allowed} times the reference's "
        f"rate; tests at {100 * (1 - rule.confidence):.3g} % after Holm over {family}; "
        f"power {writing.percent(config.power)}{counted}.",
    )
    sections = (
        Section("What these rows can show", tables=(_table_of_shown(plan),), notes=_notes(plan)),
        Section("Rows that it takes", tables=(_table_of_needed(plan),), notes=_about_rows(plan)),
        Section(
            "With fewer or more rows",
            charts=tuple(_chart(one, plan) for one in plan.compared),
            tables=(_table_of_curve(plan),),
        ),
    )
    title = "Plan of an audit" + ("" if plan.source == SIZES else f" of {plan.source}")
    return Document(title, _answer(plan), facts, sections)


def _answer(plan: AuditPlan) -> Answer:
    rate = plan.config.rate[len(plan.config.rate) // 2]
    rows = [row for row in plan.shown if row.rate == rate]
    said = [Statement(_in_words(row)) for row in rows[:MOST_SAID]]
    if len(rows) > MOST_SAID:
        said += [Statement(f"and {len(rows) - MOST_SAID} more, below.")]
    text = (
        f"With a probability of {writing.percent(plan.config.power)}, where the rate of the reference is "
        f"{writing.percent(rate)}, an audit of these rows would find:"
    )
    return Answer(Statement(text), tuple(said))


def _in_words(row: ShownRatios) -> str:
    """Return the sentence on the rows of a group: "race: black against white: fails at 0.68 and less"."""
    ends = [f"of {_down(row.fails_below)} and less"] if not math.isnan(row.fails_below) else []
    if not math.isnan(row.fails_above):
        ends += [f"of {_up(row.fails_above)} and more"]
    if ends:
        fails = f"a true ratio {' or '.join(ends)} fails"
    else:
        fails = "no ratio fails"
    passes = "none passes"
    if not math.isnan(row.passes_from):
        passes = f"one from {_up(row.passes_from)} to {_down(row.passes_to)} passes"
    return f"{_names(row)} ({_of_rows(row)}): {fails}; {passes}."


def _of_rows(row: PlannedPair) -> str:
    return f"{writing.thousands(row.rows)} and {writing.thousands(row.reference_rows)} rows"


def _down(value: float) -> str:
    """Write a ratio rounded down: at most what was found."""
    if math.isnan(value):
        return writing.DASH
    return f"{math.floor(100 * value + 1e-6) / 100:.2f}"


def _up(value: float) -> str:
    """Write a ratio rounded up."""
    if math.isnan(value):
        return writing.DASH
    return f"{math.ceil(100 * value - 1e-6) / 100:.2f}"


def _chance_cell(chance: float) -> TableCell:
    """Return a chance in whole percents."""
    return TableCell(f"{100 * chance:.0f} %", "", chance)


def _rows_cell(rows: float) -> TableCell:
    return TableCell(writing.thousands(rows), "", rows)


Columns = dict[str, Callable[[Any], TableCell]]


def _names(row: PlannedPair) -> str:
    """Return who is compared: "race: black against white"."""
    return f"{row.attribute}: {writing.named(row.group)} against {writing.named(row.reference)}"


def _table_of_shown(plan: AuditPlan) -> TextTable:
    columns: Columns = {
        "comparison": lambda row: TableCell(_names(row), _of_rows(row)),
        "rate": lambda row: TableCell(f"{row.rate:g}", "", row.rate),
        "fails up to": lambda row: TableCell(_down(row.fails_below), "", row.fails_below),
        "fails from": lambda row: TableCell(_up(row.fails_above), "", row.fails_above),
        "passes from": lambda row: TableCell(_up(row.passes_from), "", row.passes_from),
        "to": lambda row: TableCell(_down(row.passes_to), "", row.passes_to),
        "passes if equal": lambda row: _chance_cell(row.equal_passes),
    }
    return table_of("", columns, plan.shown)


def _notes(plan: AuditPlan) -> tuple[str, ...]:
    chosen = "All pairs of groups count, as the data will choose the reference; here it is the largest group."
    holm = f"The level of a test is divided by {plan.family}: Holm's first step, as if nothing else failed."
    return (
        "rate: of the reference. fails up to, from: true ratios that fail with the power asked for; passes "
        "from, to: true ratios that pass with it. A dash: none does with these rows.",
        "passes if equal: how likely a group passes whose rate is that of the reference.",
        *((holm,) if plan.family > 1 else ()),
        *((chosen,) if plan.config.ref_method in ("minimum", "maximum") else ()),
    )


def _table_of_needed(plan: AuditPlan) -> TextTable:
    columns: Columns = {
        "comparison": lambda row: TableCell(_names(row)),
        "rate": lambda row: TableCell(f"{row.rate:g}", "", row.rate),
        "ratio": lambda row: TableCell(f"{row.ratio:g}", "", row.ratio),
        "of the group": lambda row: _rows_cell(row.rows),
        "of the reference": lambda row: _rows_cell(row.reference_rows),
        "of all": lambda row: _rows_cell(row.all_rows),
        "chance": lambda row: _chance_cell(row.chance),
        "verdict": lambda row: TableCell(VERDICTS[row.verdict]),
    }
    return table_of("", columns, plan.needed)


def _about_rows(plan: AuditPlan) -> tuple[str, ...]:
    if plan.config.counted < 1:
        counted = "that the rate counts "
    else:
        counted = ""
    asked = len(plan.compared) * len(plan.config.rate) * len(plan.config.ratio)
    left_out = "Left out: ratios that are a limit, and those with which the rate would be above 1."
    return (
        f"Rows {counted}of the group and of its reference, and all rows that there would be then, the groups "
        "as large to each other as here. chance: how likely the verdict is with these.",
        *((left_out,) if len(plan.needed) < asked else ()),
    )


def _table_of_curve(plan: AuditPlan) -> TextTable:
    """Return the largest ratio below 1 that fails, by how many rows there are."""
    rates = plan.config.rate
    found = {(row.attribute, row.group, row.times, row.rate): row for row in plan.curve}
    rows = [row for row in plan.curve if row.rate == rates[0]]

    def ratio(row: ShownRatios, rate: float) -> TableCell:
        value = found[row.attribute, row.group, row.times, rate].fails_below
        return TableCell(_down(value), "", value)

    columns: Columns = {
        "comparison": lambda row: TableCell(_names(row)),
        "rows": lambda row: _rows_cell(row.rows),
        "of the reference": lambda row: _rows_cell(row.reference_rows),
    }
    columns |= {
        f"rate {rate:g}": lambda row, rate=rate: ratio(row, rate)  # type: ignore[misc]
        for rate in rates
    }
    return table_of("The largest ratio below 1 that fails, by the rate of the reference", columns, rows)


def _chart(one: PlannedPair, plan: AuditPlan) -> Chart:
    """Draw the largest ratio that fails along the rows of both groups, a line a rate."""
    both = one.rows + one.reference_rows
    x = charts.Axis(FACTORS[0] * both, FACTORS[-1] * both, charts.LEFT, log=True)
    y = charts.Axis(0.0, 1.0, charts.PLOT, 8.0)
    lines = []
    for rate in plan.config.rate:
        points = [
            (row.times * both, row.fails_below, f"{_of_rows(row)}: {_down(row.fails_below)} and less")
            for row in plan.curve
            if row.rate == rate and _names(row) == _names(one) and not math.isnan(row.fails_below)
        ]
        lines.append(charts.ChartLine(f"rate of the reference {rate:g}", points))
    at = y.position(plan.criterion.tau)
    limit = charts.stroke(
        "here", f"M{charts.format_numbers(x.start, at)}H{charts.format_numbers(x.end)}", "τ", dashes="3 2"
    )
    here = charts.stroke(
        "here",
        f"M{charts.format_numbers(x.position(both), y.start)}V{charts.format_numbers(y.end)}",
        "rows at hand",
    )
    title = f"{one.group} against {one.reference}: the largest ratio that fails"
    svg = charts.plot_lines(
        f"{title}; the numbers are in the table",
        *(x, y, lines, "rows of both groups"),
        "dashed: the limit; upright: the rows at hand",
        limit + here,
    )
    return Chart(title, svg, one.attribute)


TABLES: dict[str, type[PlannedPair]] = {"shown": ShownRatios, "needed": NeededRows, "curve": ShownRatios}


def _rows(plan: AuditPlan, table: str) -> list[Row]:
    """Return the rows of a table, as CSV files and frames have them."""
    return [writing.flat(row) for row in getattr(plan, table)]


def _csv(plan: AuditPlan, table: str = "shown") -> str:
    return csv_text(_rows(plan, table), writing.columns_of(TABLES[table]), ("false", "true"))


def _json(plan: AuditPlan) -> str:
    """Write the tables, and what they were made with."""
    used = {key: value for key, value in plan.config.resolved().items() if key in USED_BY_PLANS}
    found = {"source": plan.source, "rows": plan.total, "family": plan.family, "config": used}
    return json_text(found | {table: _rows(plan, table) for table in TABLES})


WRITERS: dict[str, Callable[[AuditPlan], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": lambda plan: markdown(plan_document(plan)),
    "html": lambda plan: html(plan_document(plan)),
}


def files_of(plan: AuditPlan) -> dict[str, str]:
    """Return the files of a folder by name."""
    files = {"json": "plan.json", "markdown": "plan.md", "html": "plan.html"}
    tables = {f"plan-{table}.csv": _csv(plan, table) for table in TABLES}
    return tables | {file: plan.to(name) for name, file in files.items()}
