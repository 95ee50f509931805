"""What an audit of so many rows can show, before there are decisions: ratios, and rows.

The rule is that of the audit, with Holm's first step over all comparisons (`measures.power`).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairbench_cli.audit import written_plan
from fairbench_cli.audit.compare import references
from fairbench_cli.audit.config import DEFAULT, PlanConfig
from fairbench_cli.audit.number_planning import ALIKE, NumberPlan
from fairbench_cli.audit.options import read_config
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import format_margin
from fairbench_cli.audit.parts.part import View
from fairbench_cli.audit.scan.open import count_groups
from fairbench_cli.audit.scan.slices import Slice, Tally
from fairbench_cli.base.errors import Flag, UserError, format_value, user_error
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.document.model import (
    Answer,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    Verdict,
    table_of,
)
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.power import MOST_ROWS, Criterion, TwoGroups, rows_needed

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.source import Frame

DIGITS = 12  # of a difference: more are rounding
MOST_STATEMENTS = 6  # comparisons in the answer
MOST_RATIOS = 2  # comparisons of which a short answer has all ratios
SHORT = View(8, brief=True)  # of the table of a short answer
MORE = "All rates and ratios: --all. A page and files: -o FOLDER."
SIZE = re.compile(r"\s*(.+?)\s*=\s*(\d+)\s*")
SIZES = "group sizes"  # in messages, instead of a file


@dataclass(frozen=True)
class ShownRatios(written_plan.PlannedPair):
    """What the rows at hand can show.

    Parameters
    ----------
    rate : float
        Of the reference.
    fails_below, fails_above : float
        The largest ratio below 1 and the smallest above that fail with the power asked for; NaN: none does.
    passes_from, passes_to : float
        Between which ratios it passes with that power; NaN: nowhere. With a margin all four are differences.
    equal_passes, equal_fails : float
        How likely it passes, and fails, where the rates are equal.
    """

    rate: float
    fails_below: float
    fails_above: float
    passes_from: float
    passes_to: float
    equal_passes: float
    equal_fails: float


@dataclass(frozen=True)
class NeededRows(written_plan.PlannedPair):
    """How many rows a verdict takes, the groups as large to each other as at hand.

    Parameters
    ----------
    rate, ratio : float
        Of the reference, and of the group's rate to it.
    difference : float or None
        Of the group's rate from it; None without a margin.
    verdict : {"fail", "pass"}
        What is to be found: fail where the ratio is outside the limits.
    all_rows : float
        Rows of everybody, those among them that the rate does not count.
    chance : float
        How likely the verdict is with these.
    """

    rate: float
    ratio: float
    difference: float | None
    verdict: Verdict
    all_rows: float
    chance: float


@dataclass(frozen=True, repr=False)
class AuditPlan(written_plan.WrittenPlan):
    """A plan of an audit of rates; `source` is the file, or `SIZES`."""

    kinds: ClassVar[Mapping[str, type]] = {"shown": ShownRatios, "needed": NeededRows}
    first_table: ClassVar[str] = "shown"

    @property
    def criterion(self) -> Criterion:
        """What the audit will go by."""
        return Criterion(self.config.tau, self.family, self.config.confidence, self.margin)

    @property
    def margin(self) -> float | None:
        """The margin of differences; None where ratios are planned."""
        if self.config.margin:
            return self.config.margin[DEFAULT].value
        return None

    def true_ratios(self, rate: float) -> list[float]:
        """Return the ratios that are planned for a rate of the reference; with a margin, by differences."""
        if self.margin is None:
            return list(self.config.ratio)
        differences = self.config.difference or (-2 * self.margin, 0.0, 2 * self.margin)
        return [(rate + difference) / rate for difference in differences]

    @property
    def designs(self) -> Iterator[tuple[written_plan.PlannedPair, float, float]]:
        """Every comparison, with the rates of its reference and the ratios to it."""
        for pair, rate in product(self.compared, self.config.rate):
            for ratio in self.true_ratios(rate):
                yield pair, rate, ratio

    @cached_property
    def shown(self) -> tuple[ShownRatios, ...]:
        """What the rows at hand can show."""
        return tuple(
            _detectable_ratios(pair, rate, self) for pair, rate in product(self.compared, self.config.rate)
        )

    @cached_property
    def needed(self) -> tuple[NeededRows, ...]:
        """How many rows the ratios asked for take; ratios that no rows decide are left out."""
        rows = (_rows_for_ratio(pair, rate, ratio, self) for pair, rate, ratio in self.designs)
        return tuple(row for row in rows if row is not None)

    def describe(self, *, everything: bool = True) -> Document:
        """Return it as a page: what the rows show, and the rows it takes.

        Without `everything` it has the answer and the rows it takes for the rate that the answer is of.
        """
        return _describe_plan(self, everything=everything)


def plan(
    source: "str | Path | Mapping[str, Any] | Frame" = "",
    *,
    config: str | Path | None = None,
    **options: Any,
) -> AuditPlan | NumberPlan:
    """Plan an audit: the ratios that groups of given sizes can show, and the rows that a ratio takes.

    Parameters
    ----------
    source : mapping, str, Path or frame
        Rows by group, ``{"white": 1000, "black": 200}`` or ``"white=1000,black=200"``; by attribute and group
        where there are several, ``{"race": {…}, "sex": {…}}``; or a file or frame with a row per person, of
        which the groups alone are read. With ``sd`` it may be left out: two groups of the same size.
    config : str or Path, optional
        A YAML file of options.
    **options
        As on the command line, with underscores: ``rate=0.3``, ``ratio=[0.6, 0.7]``, ``power=0.8``,
        ``comparisons=5``, ``counted=0.6``, ``ref={"race": "white"}``,
        ``tau=0.8``, ``attributes=["race"]``; ``margin=0.05``, ``difference=[-0.1, 0]`` for differences;
        ``sd=5000`` for differences of means of numbers.

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
        keys = {PLURALS.get(name, name): value for name, value in options.items()}
        path = None
        if config is not None:
            path = Path(config)
        return make_plan(source, read_config(keys, path, kind=PlanConfig))
    except UserError as error:
        raise UserError(*(problem.spell("python") for problem in error.problems)) from None


def make_plan(source: "str | Path | Mapping[str, Any] | Frame", config: PlanConfig) -> AuditPlan | NumberPlan:
    """Count the rows of groups, and plan.

    Raises
    ------
    UserError
        Where there are no groups, and rates are planned.
    """
    if isinstance(source, str) and not source:
        if config.sd is None:
            problem = "nothing says how many rows each group has"
            fix = "write white=1000,black=200, or name a file; of numbers give their standard deviation: "
            raise user_error(problem, (fix, Flag("sd", 5000)))
        alike = written_plan.PlannedPair("group", "group", "reference", 1, 1)
        return NumberPlan(config, ALIKE, 0, (alike,), config.comparisons or 1)
    tally = _count_rows(source, config)
    references.check_references(tally, config)
    compared: list[written_plan.PlannedPair] = []
    family = 0
    # Nobody is selected yet: a reference that will be chosen by its rate is, for now, the largest group.
    chosen = config.model_copy(update={"ref_method": "majority"})
    for group_counts in (
        references.without_excluded_groups(group_counts, config) for group_counts in tally.slices
    ):
        by_rate = references.is_chosen_by_rate(group_counts, config)
        pairs = list(_pair_groups(group_counts, chosen if by_rate else config))
        compared += pairs
        groups = int(references.comparable(group_counts, config).sum())
        if by_rate:
            family += groups * (groups - 1) // 2
        else:
            family += len(pairs)
    if not compared:
        raise user_error("there is nothing to compare", "give two groups or more", tally.source)
    if config.sd is not None:
        return NumberPlan(config, tally.source, tally.rows, tuple(compared), config.comparisons or family)
    return AuditPlan(config, tally.source, tally.rows, tuple(compared), config.comparisons or family)


def _count_rows(source: "str | Path | Mapping[str, Any] | Frame", config: PlanConfig) -> Tally:
    """Return the rows of each group."""
    if isinstance(source, str) and "=" in source and not Path(source).exists():
        source = _parse_sizes(source)
    if not isinstance(source, Mapping):
        return count_groups(source, config)
    nested = any(isinstance(value, Mapping) for value in source.values())
    if nested:
        sizes = source
    else:
        # Sizes of one attribute without its name are of the first that is named anywhere.
        attribute_names = list(config.attributes or ()) + list(config.references)
        sizes = {next(iter(attribute_names), "group"): source}
    unknown = set(config.attributes or ()) - set(sizes)
    for key, is_given in {
        "bins": config.bins,
        "intersect": config.intersections,
        "attribute": unknown,
    }.items():
        if is_given:
            problem = f"sizes of {', '.join(map(str, sizes))} say nothing of other columns"
            raise user_error(
                problem, ("give a file with a row per person, or leave out ", Flag(key)), Flag(key)
            )
    slices = tuple(_make_slice(name, sizes[name]) for name in config.attributes or sizes)
    total = max((int(group_counts.rows.sum()) for group_counts in slices), default=0)
    return Tally(SIZES, total, slices)


def _parse_sizes(text: str) -> dict[str, int]:
    """Read "white=1000,black=200"."""
    matches = [SIZE.fullmatch(size) for size in text.split(",")]
    sizes = {match[1]: int(match[2]) for match in matches if match}
    if len(sizes) < len(matches):
        problem = f"{format_value(text)} is no file, and no list of group sizes"
        raise user_error(problem, "name a file, or write white=1000,black=200")
    return sizes


def _make_slice(attribute: str, sizes: Any) -> Slice:
    """Return groups of given sizes."""
    if not isinstance(sizes, Mapping) or not all(
        isinstance(rows, int | np.integer) and 0 < rows <= MOST_ROWS for rows in sizes.values()
    ):
        problem = f"the sizes of {format_value(attribute)} are not whole numbers from 1 to 1e12, by group"
        raise user_error(problem, 'write {"white": 1000, "black": 200}')
    rows_of_group = {
        str(name): int(rows) for name, rows in sorted(sizes.items(), key=lambda item: str(item[0]))
    }
    n = np.zeros((len(rows_of_group), 2, 2))
    n[:, 0, 1] = list(rows_of_group.values())
    return Slice("", "", attribute, Counts(tuple(rows_of_group), n), n.astype(np.int64), n, labelled=False)


def _pair_groups(group_counts: Slice, config: PlanConfig) -> Iterator[written_plan.PlannedPair]:
    """Yield each group with its reference."""
    reference_index = references.usual_reference(group_counts, config)
    rows = group_counts.rows.tolist()
    for g in np.flatnonzero(references.comparable(group_counts, config)).tolist():
        if g != reference_index:
            if reference_index == references.REST:
                reference_rows = sum(rows) - rows[g]
            else:
                reference_rows = rows[reference_index]
            counted = [
                max(1, round(config.counted * rows_of_group)) for rows_of_group in (rows[g], reference_rows)
            ]
            if reference_index == references.REST:
                reference = references.REST_NAME
            else:
                reference = group_counts.counts.groups[reference_index]
            yield written_plan.PlannedPair(
                group_counts.attribute, group_counts.counts.groups[g], reference, *counted
            )


def _detectable_ratios(pair: written_plan.PlannedPair, rate: float, plan: AuditPlan) -> ShownRatios:
    design = TwoGroups(pair.rows, pair.reference_rows, rate, plan.criterion)
    power = plan.config.power
    equal = design.chances(1.0)
    limits = [*design.detectable_ratios(power), *design.passing_ratios(power)]
    if plan.margin is not None:
        limits = [rate * ratio - rate for ratio in limits]
    return ShownRatios(
        *(pair.attribute, pair.group, pair.reference, pair.rows, pair.reference_rows, rate),
        *(*limits, float(equal.passes), float(equal.fails)),
    )


def _rows_for_ratio(
    pair: written_plan.PlannedPair, rate: float, ratio: float, plan: AuditPlan
) -> NeededRows | None:
    both_rows = pair.rows + pair.reference_rows
    total = float(rows_needed(rate, ratio, pair.rows / both_rows, plan.criterion, plan.config.power))
    if math.isnan(total):
        return None
    n, m = (math.ceil(total * rows / both_rows - 1e-9) for rows in (pair.rows, pair.reference_rows))
    chances = TwoGroups(n, m, rate, plan.criterion).chances(ratio)
    difference = None
    outside = ratio < plan.criterion.tau or ratio > 1 / plan.criterion.tau
    if plan.margin is not None:
        difference = round(rate * ratio - rate, DIGITS)
        outside = abs(difference) > plan.margin
    everybody = math.ceil(plan.total * total / both_rows - 1e-9)
    chance = float(chances.fails if outside else chances.passes)
    verdict: Verdict = "fail" if outside else "pass"
    return NeededRows(
        *(pair.attribute, pair.group, pair.reference, n, m, rate, ratio, difference),
        *(verdict, everybody, chance),
    )


def _describe_plan(plan: AuditPlan, *, everything: bool) -> Document:
    config = plan.config
    rule = plan.criterion
    allowed = f"{rule.tau:g} to {1 / rule.tau:.3g} times the reference's rate"
    if plan.margin is not None:
        allowed = f"a margin of {format_margin(plan.margin)} around the reference's rate"
    family = format_count(plan.family, "comparison")
    counted = ""
    if config.counted < 1:
        counted = f"; the rate counts {formatting.percent(config.counted)} of the rows"
    facts = (
        f"{plan.source}: {formatting.thousands(plan.total)} rows; allowed: {allowed}; "
        f"tests at {100 * (1 - rule.confidence):.3g} % after Holm over {family}; "
        f"power {formatting.percent(config.power)}{counted}.",
    )
    if not everything:
        rate = _middle_rate(plan)
        rows = [row for row in plan.needed if row.rate == rate]
        ratios = plan.true_ratios(rate)
        if len(rows) > MOST_RATIOS * len(ratios):
            # Of many comparisons the ratio that is nearest to the limit says most.
            lowest, _ = rule.allowed_rates(np.array(rate))
            nearest = min(ratios, key=lambda ratio: abs(ratio - float(lowest) / rate))
            rows = [row for row in rows if row.ratio == nearest]
        table = _table_of_needed(rows, plan, SHORT)
        needed = Section(
            f"Rows that it takes, where that rate is {formatting.percent(rate)}", tables=(table,)
        )
        return Document("", _make_answer(plan), facts, (needed,), (MORE,))
    sections = (
        Section("What these rows can show", tables=(_table_of_shown(plan),), notes=_table_notes(plan)),
        Section(
            "Rows that it takes",
            tables=(_table_of_needed(plan.needed, plan, View()),),
            notes=_notes_on_rows(plan),
        ),
    )
    title = "Plan of an audit" + ("" if plan.source == SIZES else f" of {plan.source}")
    return Document(title, _make_answer(plan), facts, sections)


def _make_answer(plan: AuditPlan) -> Answer:
    rate = _middle_rate(plan)
    rows = [row for row in plan.shown if row.rate == rate]
    describe = _describe_ratios if plan.margin is None else _describe_differences
    statements = [Statement(describe(row)) for row in rows[:MOST_STATEMENTS]]
    if len(rows) > MOST_STATEMENTS:
        statements += [Statement(f"and {len(rows) - MOST_STATEMENTS} more, below.")]
    text = (
        f"With a probability of {formatting.percent(plan.config.power)}, where the rate of the reference is "
        f"{formatting.percent(rate)}, an audit of these rows would find:"
    )
    return Answer(Statement(text), tuple(statements))


def _middle_rate(plan: AuditPlan) -> float:
    """Return the rate of the reference that the answer is of."""
    return plan.config.rate[len(plan.config.rate) // 2]


def _describe_ratios(row: ShownRatios) -> str:
    """Return the sentence on the rows of a group: "race: black against white: fails at 0.68 and less"."""
    ends = [f"of {_format_ratio(row.fails_below)} and less"] if not math.isnan(row.fails_below) else []
    if not math.isnan(row.fails_above):
        ends += [f"of {_format_ratio(row.fails_above, up=True)} and more"]
    fails = "no ratio fails"
    if ends:
        fails = f"a true ratio {' or '.join(ends)} fails"
    passes = "none passes"
    if not math.isnan(row.passes_from):
        passes = (
            f"one from {_format_ratio(row.passes_from, up=True)} to {_format_ratio(row.passes_to)} passes"
        )
    return f"{row} ({row.rows_text}): {fails}; {passes}."


def _describe_differences(row: ShownRatios) -> str:
    """Return the sentence on the rows of a group, in points from the reference's rate."""
    ends = []
    if not math.isnan(row.fails_below):
        ends.append(f"{_format_points(row.fails_below)} points and below")
    if not math.isnan(row.fails_above):
        ends.append(f"{_format_points(row.fails_above, up=True)} points and above")
    fails = "no difference fails"
    if ends:
        fails = f"a true difference of {' or of '.join(ends)} fails"
    passes = "none passes"
    if not math.isnan(row.passes_from):
        low = _format_points(row.passes_from, up=True)
        passes = f"one from {low} to {_format_points(row.passes_to)} points passes"
    return f"{row} ({row.rows_text}): {fails}; {passes}."


def _format_ratio(value: float, *, up: bool = False) -> str:
    """Write a ratio rounded down: at most what was found; or up."""
    return written_plan.format_rounded(value, 2, up=up)


def _format_points(value: float, *, up: bool = False) -> str:
    """Write a difference in points, rounded likewise."""
    return written_plan.format_rounded(value, 1, up=up, scale=100, sign="+")


def _gap_cell(value: float, plan: AuditPlan, *, up: bool = False) -> TableCell:
    """Return a ratio, or a difference in points, rounded down or up."""
    text = _format_ratio(value, up=up) if plan.margin is None else _format_points(value, up=up)
    return TableCell(text, "", value)


def _table_of_shown(plan: AuditPlan) -> TextTable:
    columns: written_plan.Columns = {
        "comparison": lambda row: TableCell(str(row), row.rows_text),
        "rate": lambda row: TableCell(f"{row.rate:g}", "", row.rate),
        "fails up to": lambda row: _gap_cell(row.fails_below, plan),
        "fails from": lambda row: _gap_cell(row.fails_above, plan, up=True),
        "passes from": lambda row: _gap_cell(row.passes_from, plan, up=True),
        "to": lambda row: _gap_cell(row.passes_to, plan),
        "passes if equal": lambda row: written_plan.chance_cell(row.equal_passes),
    }
    return table_of("", columns, plan.shown)


def _table_notes(plan: AuditPlan) -> tuple[str, ...]:
    chosen = "All pairs of groups count, as the data will choose the reference; here it is the largest group."
    holm = f"The level of a test is divided by {plan.family}: Holm's first step, as if nothing else failed."
    gaps = "ratios" if plan.margin is None else "differences, in points,"
    return (
        f"rate: of the reference. fails up to, from: true {gaps} that fail with the power asked for; passes "
        f"from, to: true {gaps} that pass with it. A dash: none does with these rows.",
        "passes if equal: how likely a group passes whose rate is that of the reference.",
        *((holm,) if plan.family > 1 else ()),
        *((chosen,) if plan.config.ref_method in ("minimum", "maximum") else ()),
    )


def _table_of_needed(rows: Sequence[NeededRows], plan: AuditPlan, view: View) -> TextTable:
    rate: written_plan.Columns = {"rate": lambda row: TableCell(f"{row.rate:g}", "", row.rate)}
    return view.table("", written_plan.columns_of_needed(rate | _column_of_gaps(plan)), rows)


def _column_of_gaps(plan: AuditPlan) -> written_plan.Columns:
    """Return the column of true ratios, or of true differences."""

    def points(row: NeededRows) -> TableCell:
        difference = round(row.rate * row.ratio - row.rate, DIGITS)
        return TableCell(f"{100 * difference:+.4g}" if difference else "0", "", difference)

    if plan.margin is not None:
        return {"points": points}
    return {"ratio": lambda row: TableCell(f"{row.ratio:g}", "", row.ratio)}


def _notes_on_rows(plan: AuditPlan) -> tuple[str, ...]:
    counted = ""
    if plan.config.counted < 1:
        counted = "that the rate counts "
    n_asked = len(list(plan.designs))
    left_out = "Left out: ratios that are a limit, and those with which the rate would be above 1."
    if plan.margin is not None:
        left_out = "Left out: differences that are the margin, and those beyond a rate of 0 or 1."
    return (
        f"Rows {counted}of the group and of its reference, and all rows that there would be then, the groups "
        "as large to each other as here. chance: how likely the verdict is with these.",
        *((left_out,) if len(plan.needed) < n_asked else ()),
    )
