"""What an audit of numbers of so many rows can show, before there are any: differences of means, and rows.

The groups, and how they are compared, are those of a plan of rates (`planning`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fairbench_cli.audit import written_plan
from fairbench_cli.audit.compare.numbers import MOST_DECIMALS, SIGNIFICANT, SPREAD_MARGIN
from fairbench_cli.audit.config import DEFAULT
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import View
from fairbench_cli.base.safe_text import format_amount, format_count
from fairbench_cli.document.model import (
    VERDICTS,
    Answer,
    Document,
    Section,
    Statement,
    TableCell,
    TextTable,
    Verdict,
    table_of,
)
from fairbench_cli.measures.power_of_means import TwoMeans

MOST_STATEMENTS = 6
ALIKE = "two groups alike"  # in the place of a file, where no sizes are given


@dataclass(frozen=True)
class ShownDifferences(written_plan.PlannedPair):
    """What the rows at hand can show.

    Parameters
    ----------
    fails_from : float
        The smallest true difference, either way, that fails with the power asked for; NaN: none does.
    passes_to : float
        The largest that passes with it; NaN: none does.
    equal_passes : float
        How likely it passes where the means are equal.
    """

    fails_from: float
    passes_to: float
    equal_passes: float


@dataclass(frozen=True)
class RowsForDifference(written_plan.PlannedPair):
    """How many rows a verdict takes, the groups as large to each other as at hand.

    Parameters
    ----------
    difference : float
        Of the true means.
    verdict : {"fail", "pass"}
        What is to be found.
    all_rows : float
        Rows of everybody.
    chance : float
        How likely the verdict is with these.
    """

    difference: float
    verdict: Verdict
    all_rows: int
    chance: float


@dataclass(frozen=True, repr=False)
class NumberPlan(written_plan.WrittenPlan):
    """A plan of an audit of numbers; of groups without sizes `total` is 0. Its configuration has the sd."""

    kinds: ClassVar[Mapping[str, type]] = {"shown": ShownDifferences, "needed": RowsForDifference}
    first_table: ClassVar[str] = "needed"
    of_what: ClassVar[str] = " of numbers"
    unused: ClassVar[Sequence[str]] = ("rate", "ratio", "tau", "counted")  # of rates

    @property
    def sd(self) -> float:
        """The standard deviation within groups."""
        return self.config.sd or math.nan

    @property
    def margin(self) -> float:
        """The margin in units: that of an audit by default, .2 standard deviations."""
        stated = self.config.margin.get(DEFAULT)
        if stated is None:
            return SPREAD_MARGIN * self.sd
        if stated.unit == "sd":
            return stated.value * self.sd
        return stated.value

    @property
    def digits(self) -> int:
        """Decimals in which differences are written."""
        return int(np.clip(SIGNIFICANT - 1 - math.floor(math.log10(self.sd)), 0, MOST_DECIMALS))

    @property
    def differences(self) -> tuple[float, ...]:
        """The true differences that are planned."""
        return self.config.difference or (0.0, 2 * self.margin)

    def design(self, pair: written_plan.PlannedPair) -> TwoMeans:
        """Return the two groups of a comparison."""
        return TwoMeans(
            pair.rows, pair.reference_rows, self.sd, self.margin, self.family, self.config.confidence
        )

    @cached_property
    def shown(self) -> tuple[ShownDifferences, ...]:
        """What the rows at hand can show; nothing of groups without sizes."""
        if not self.total:
            return ()
        rows = []
        for pair in self.compared:
            design = self.design(pair)
            power = self.config.power
            rows.append(
                ShownDifferences(
                    **vars(pair),
                    fails_from=design.least_failing(power),
                    passes_to=design.most_passing(power),
                    equal_passes=design.chance_to_pass(0.0),
                )
            )
        return tuple(rows)

    @cached_property
    def needed(self) -> tuple[RowsForDifference, ...]:
        """How many rows the differences take; those that no rows decide are left out."""
        rows = []
        for pair in self.compared:
            for difference in self.differences:
                row = self._count_rows(pair, difference)
                if row is not None:
                    rows.append(row)
        return tuple(rows)

    def _count_rows(self, pair: written_plan.PlannedPair, difference: float) -> RowsForDifference | None:
        """Return the rows that a difference takes; None where no number of rows decides."""
        design = self.design(pair)
        total = design.rows_needed(difference, self.config.power)
        if math.isnan(total):
            return None
        both_rows = pair.rows + pair.reference_rows
        rows = math.ceil(total * pair.rows / both_rows - 1e-6)
        reference_rows = math.ceil(total * pair.reference_rows / both_rows - 1e-6)
        everybody = rows + reference_rows
        if self.total:
            everybody = max(everybody, math.ceil(self.total * total / both_rows - 1e-6))
        planned = TwoMeans(rows, reference_rows, self.sd, self.margin, self.family, self.config.confidence)
        verdict: Verdict = "pass"
        chance = planned.chance_to_pass(difference)
        if abs(difference) > self.margin:
            verdict = "fail"
            chance = planned.chance_of_failure(difference)
        names = (pair.attribute, pair.group, pair.reference)
        return RowsForDifference(*names, rows, reference_rows, difference, verdict, everybody, chance)

    def describe(self, *, everything: bool = True) -> Document:
        """Return it as a page: what the rows show, and the rows it takes."""
        return _describe_plan(self, everything=everything)


def _describe_plan(plan: NumberPlan, *, everything: bool) -> Document:
    config = plan.config
    rows_text = f"{plan.source}: {formatting.thousands(plan.total)} rows" if plan.total else plan.source
    by_default = "" if config.margin else ", by default"
    facts = (
        f"{rows_text}; standard deviation {_amount(plan.sd, plan)}; margin{by_default}: "
        f"{_amount(plan.margin, plan)}; tests at {100 * (1 - config.confidence):.3g} % after Holm over "
        f"{format_count(plan.family, 'comparison')}; power {formatting.percent(config.power)}.",
    )
    needed = Section("Rows that it takes", tables=(_table_of_needed(plan),), notes=_notes_on_rows(plan))
    sections: tuple[Section, ...] = (needed,)
    if plan.shown and everything:
        shown = Section("What these rows can show", tables=(_table_of_shown(plan),))
        sections = (shown, needed)
    title = "Plan of an audit of numbers" if everything else ""
    return Document(title, _make_answer(plan), facts, sections)


def _make_answer(plan: NumberPlan) -> Answer:
    power = formatting.percent(plan.config.power)
    if plan.shown:
        text = f"With a probability of {power}, an audit of these rows would find:"
        statements = [Statement(_describe_shown(row, plan)) for row in plan.shown[:MOST_STATEMENTS]]
        if len(plan.shown) > MOST_STATEMENTS:
            statements.append(Statement(f"and {len(plan.shown) - MOST_STATEMENTS} more, below."))
        return Answer(Statement(text), tuple(statements))
    statements = []
    for row in plan.needed:
        verdict = VERDICTS[row.verdict]
        rows = f"{formatting.thousands(row.rows)} rows of each group"
        difference = f"a true difference of {_amount(row.difference, plan)}"
        statements.append(Statement(f"{difference} {verdict} with {rows} or more."))
    if not statements:
        return Answer(Statement("No number of rows decides these differences: they are the margin."))
    return Answer(Statement(f"With a probability of {power}, in an audit:"), tuple(statements))


def _describe_shown(row: ShownDifferences, plan: NumberPlan) -> str:
    """Return the sentence on the rows of a group."""
    fails = "no difference fails"
    if not math.isnan(row.fails_from):
        fails = f"a true difference of {_amount(row.fails_from, plan)} or more, either way, fails"
    passes = "none passes"
    if not math.isnan(row.passes_to):
        passes = f"one of up to {_amount(row.passes_to, plan)} passes"
    return f"{row} ({row.rows_text}): {fails}; {passes}."


def _amount(value: float, plan: NumberPlan) -> str:
    return format_amount(value, plan.digits)


def _amount_cell(value: float, plan: NumberPlan) -> TableCell:
    return TableCell(_amount(value, plan), "", value)


def _table_of_shown(plan: NumberPlan) -> TextTable:
    columns: written_plan.Columns = {
        "comparison": lambda row: TableCell(str(row)),
        "rows": lambda row: written_plan.rows_cell(row.rows),
        "of the reference": lambda row: written_plan.rows_cell(row.reference_rows),
        "fails from": lambda row: _amount_cell(row.fails_from, plan),
        "passes to": lambda row: _amount_cell(row.passes_to, plan),
        "passes if equal": lambda row: written_plan.chance_cell(row.equal_passes),
    }
    return table_of("", columns, plan.shown)


def _table_of_needed(plan: NumberPlan) -> TextTable:
    columns = written_plan.columns_of_needed({"difference": lambda row: _amount_cell(row.difference, plan)})
    return View().table("", columns, plan.needed)


def _notes_on_rows(plan: NumberPlan) -> tuple[str, ...]:
    notes = ["By the normal distribution, with one standard deviation within all groups."]
    if len(plan.needed) < len(plan.compared) * len(plan.differences):
        notes.append("Left out: differences that are the margin, which no number of rows decides.")
    return tuple(notes)
