"""A protected attribute that is a number, such as age, beside the groups that it is cut into.

How an outcome, or a rate of decisions, goes with it as it is: the slope, the effect from its 10 % to its 90 %
point, the rank correlation, what both share, and a curve of means, which shows a bend that a slope hides. It
decides nothing: the groups do.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from fairbench_cli.audit.compare.numbers import find_decimals
from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.references import Bools
from fairbench_cli.audit.compare.report import Interval, Report
from fairbench_cli.audit.compare.verdict import deciding_names
from fairbench_cli.audit.metrics import COMPARED, ROLL_UPS
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.numbers import column_name
from fairbench_cli.audit.parts.part import SHORT, Part, View
from fairbench_cli.audit.scan.attribute_rows import AttributeRows, list_events, read_attribute_rows
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount
from fairbench_cli.document.binned_curve import BinnedCurve, CurveRange, StraightLine, plot_curve
from fairbench_cli.document.model import Chart, Section, TableCell, table_of
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.numeric_attribute import AttributeDependence, MeanCurve, examine_attribute
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.regression import EstimateWithLimits

KEY = "numeric_attributes"
MEAN = "mean"
FEWEST_ROWS = 30  # with a number in both columns
MOST_ROWS = 1_000_000  # of more these are drawn at random


@dataclass(frozen=True)
class NumericAttribute:
    """How an outcome, or a rate, goes with a numeric attribute.

    Parameters
    ----------
    decision, attribute : str
        The decision is empty of numbers.
    metric : str
        "mean" of numbers, else a rate: the mean of 0 and 1 over the rows that it is of.
    column : str
        What is looked at: the column of numbers, or the label of the rate.
    rows : int
        With a number in both, among those that the rate is of.
    drawn : str
        Of how many they were drawn at random, in words; empty where all are looked at.
    digits : int
        Decimals of the outcome.
    step : float
        Of the attribute, for the slope.
    slope, effect : Interval
        The change of the mean over a step, and from `low_point` to `high_point`, on the line.
    slope_p : float
        Of "the slope is 0".
    low_point, high_point : float
        The 10 % and the 90 % point of the attribute.
    correlation : Interval
        Pearson's, of a rate the point-biserial one: the slope in standard deviations, with its limits.
    rank_correlation : Interval
        Spearman's.
    information, information_p : float
        Of both, cut into ten bins each, in bits; and p of "they are independent", by permutations.
    means_p : float
        Of "the means of all ranges are equal".
    overall : float
        The mean of all rows.
    curve : tuple of CurveRange
    """

    decision: str
    attribute: str
    metric: str
    column: str
    rows: int
    drawn: str
    digits: int
    step: float
    slope: Interval
    effect: Interval
    slope_p: float
    low_point: float
    high_point: float
    correlation: Interval
    rank_correlation: Interval
    information: float
    information_p: float
    means_p: float
    overall: float
    curve: tuple[CurveRange, ...]

    @property
    def is_rate(self) -> bool:
        """Whether it is of decisions."""
        return self.metric != MEAN


def read_attributes(scan: Scan) -> tuple[NumericAttribute, ...]:
    """Return how the outcome, or each rate that decides, goes with each attribute that is cut."""
    attributes: list[NumericAttribute] = []
    if scan.roles.model is not None:
        return ()
    for name in scan.bins:
        if name in scan.roles.attributes:
            attributes += _read_attribute(scan, name)
    return tuple(attributes)


def _read_attribute(scan: Scan, name: str) -> Iterator[NumericAttribute]:
    """Yield how outcomes go with an attribute; nothing of too few rows, or where one is constant."""
    rows = read_attribute_rows(scan, name, MOST_ROWS)
    if rows.outcome is not None:
        everybody = np.ones(len(rows.x), dtype=bool)
        yield from _examine(scan, name, rows, rows.outcome, everybody, "", MEAN)
        return
    names = deciding_names(scan.tally, scan.config)
    deciding = set(chain.from_iterable(ROLL_UPS.get(metric, (metric,)) for metric in names))
    rates = [metric for metric in COMPARED if metric in deciding and not RATES[metric].of_all]
    for events in list_events(scan, rows, rates):
        yield from _examine(scan, name, rows, events.event, events.is_counted, events.decision, events.metric)


def _examine(
    scan: Scan,
    name: str,
    rows: AttributeRows,
    outcome: Floats,
    is_counted: Bools,
    decision: str,
    metric: str,
) -> Iterator[NumericAttribute]:
    """Yield how an outcome goes with an attribute, if it can be said."""
    x = rows.x[is_counted]
    y = outcome[is_counted]
    if len(x) < FEWEST_ROWS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    clusters = None if rows.clusters is None else rows.clusters[is_counted]
    weights = None if rows.weights is None else rows.weights[is_counted]
    rng = stream(scan.config.seed, KEY, *filter(None, (name, decision, metric)))
    dependence = examine_attribute(x, y, rng, weights, clusters, confidence=scan.config.confidence)
    overall = float(np.average(y, weights=weights))
    spread_x, spread_y = (
        math.sqrt(float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)))
        for values in (x, y)
    )
    yield NumericAttribute(
        decision=decision,
        attribute=name,
        metric=metric,
        column=column_name(scan) if metric == MEAN else RATES[metric].label,
        rows=len(y),
        drawn=rows.drawn,
        digits=find_decimals(float(np.std(y))),
        **_describe(dependence, spread_x / spread_y),
        overall=overall,
        curve=_curve_ranges(dependence.curve),
    )


def _describe(dependence: AttributeDependence, spread: float) -> dict[str, Any]:
    """Return the fields of a dependence; `spread` is the standard deviation of x over that of y."""
    line = dependence.line
    slope = _interval(line.per_step)
    unit = spread / line.step
    return {
        "step": line.step,
        "slope": slope,
        "effect": _interval(line.effect),
        "slope_p": line.per_step.p,
        "low_point": line.low_point,
        "high_point": line.high_point,
        "correlation": Interval(unit * slope.value, unit * slope.low, unit * slope.high),
        "rank_correlation": _interval(dependence.rank_correlation),
        "information": dependence.information.bits,
        "information_p": dependence.information.p,
        "means_p": dependence.curve.p,
    }


def _interval(estimate: EstimateWithLimits) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def _curve_ranges(curve: MeanCurve) -> tuple[CurveRange, ...]:
    """Return the ranges of a curve as they are drawn: each ends where the next one begins."""
    ends = np.append(curve.first[1:], curve.last[-1])
    ranges = []
    for i in range(len(curve.x)):
        numbers = (curve.first, ends, curve.x, curve.mean, curve.low, curve.high)
        low, high, middle, mean, mean_low, mean_high = (float(column[i]) for column in numbers)
        ranges.append(CurveRange(low, high, middle, mean, mean_low, mean_high, round(float(curve.rows[i]))))
    return tuple(ranges)


def describe_attribute(attribute: NumericAttribute) -> str:
    """Return a sentence on the effect of an attribute."""
    effect = attribute.effect
    size = _format(attribute, abs(effect.value))
    if attribute.is_rate:
        side = "points lower" if effect.value < 0 else "points higher"
        measured = f"the {attribute.column}"
    else:
        side = "less" if effect.value < 0 else "more"
        measured = f"the mean of {attribute.column}"
    limits = ""
    if not math.isnan(effect.low):
        limits = f" ({_format(attribute, effect.low)} to {_format(attribute, effect.high)})"
    points = f"{attribute.low_point:.6g} to {attribute.high_point:.6g}"
    text = f"{attribute.attribute} as it is: from {points} {measured} is {size} {side}{limits}"
    if attribute.slope_p >= BENT and attribute.means_p < BENT:
        values = "rates" if attribute.is_rate else "means"
        text += f", on a line; the curve is bent, and its {values} differ"
    return f"{text}."


BENT = 0.05  # a slope that may be 0, and means that are not equal


def _format(attribute: NumericAttribute, value: float) -> str:
    """Write a difference of means in units, or one of rates in points."""
    if attribute.is_rate:
        return format_amount(100 * value, 1)
    return format_amount(value, attribute.digits)


def attribute_sections(attributes: Sequence[NumericAttribute], _: Report, view: View) -> Iterator[Section]:
    """Yield each attribute with its numbers and its curves, under each decision."""
    several = len({attribute.decision for attribute in attributes}) > 1
    for (decision, name), rows in group_by(attributes, lambda row: (row.decision, row.attribute)).items():
        first_row = rows[0]
        charts = () if view.brief else tuple(map(_plot_attribute, rows))
        notes = [
            "Beside the groups, which decide. mutual information: what both share when each is cut into ten, "
            "which is above 0 by chance, too; its p is by permutations."
        ]
        if first_row.is_rate:
            notes.append(
                "Slopes are those of least squares on 0 and 1, in points, with errors that need no equal "
                "spread; bands are Wilson's intervals."
            )
        if first_row.drawn:
            notes.append(f"Of {first_row.drawn}.")
        title = f"{name}: {'rates' if first_row.is_rate else first_row.column} by the number itself"
        if several and decision:
            title += f" ({decision})"
        columns = RATE_TABLE if first_row.is_rate else TABLE
        sentences = tuple(map(describe_attribute, rows))
        yield Section(title, sentences, (table_of("", columns, rows),), tuple(notes), charts=charts)


def short_sections(attributes: Sequence[NumericAttribute], _: Report) -> Iterator[Section]:
    """Yield how rates go with each attribute; of numbers the answer says it."""
    rates = [attribute for attribute in attributes if attribute.is_rate]
    if not rates:
        return
    several = len({attribute.decision for attribute in rates}) > 1
    columns: dict[str, Callable[[NumericAttribute], TableCell]] = {
        "attribute": lambda attribute: TableCell(attribute.attribute, attribute.decision if several else ""),
        "rate": lambda attribute: TableCell(attribute.metric),
        "from … to": lambda attribute: TableCell(f"{attribute.low_point:.6g} to {attribute.high_point:.6g}"),
        "points": lambda attribute: _amount_cell(attribute, attribute.effect),
        "p": lambda attribute: formatting.p_cell(attribute.slope_p),
        "p, curve": lambda attribute: formatting.p_cell(attribute.means_p),
    }
    note = (
        "Beside the groups, which decide: least squares, from the 10 % to the 90 % point of the number. "
        "p, curve: of the same rate in all ranges, also where it goes up and down again."
    )
    yield Section("Numbers as they are", tables=(SHORT.table("", columns, rates),), notes=(note,))


def _amount_cell(attribute: NumericAttribute, estimate: Interval) -> TableCell:
    fine = ""
    if not math.isnan(estimate.low):
        fine = f"[{_format(attribute, estimate.low)}, {_format(attribute, estimate.high)}]"
    return TableCell(_format(attribute, estimate.value), fine, estimate.value)


NUMBERS_OF_ATTRIBUTE: dict[str, Callable[[NumericAttribute], TableCell]] = {
    "rows": lambda attribute: formatting.count_cell(attribute.rows),
    "slope per 10": lambda attribute: _amount_cell(attribute, attribute.slope),
    "10 % to 90 % point": lambda attribute: _amount_cell(attribute, attribute.effect),
}
SHARED: dict[str, Callable[[NumericAttribute], TableCell]] = {
    "rank correlation": lambda attribute: formatting.fine_cell(attribute.rank_correlation),
    "mutual information, bits": lambda attribute: formatting.number_cell(
        attribute.information, f"p {formatting.p_value(attribute.information_p)}"
    ),
}
TABLE = {
    **NUMBERS_OF_ATTRIBUTE,
    **SHARED,
    "p, equal means": lambda attribute: formatting.p_cell(attribute.means_p),
}
RATE_TABLE = {
    "rate": lambda attribute: TableCell(attribute.metric),
    **NUMBERS_OF_ATTRIBUTE,
    "point-biserial correlation": lambda attribute: formatting.fine_cell(attribute.correlation),
    **SHARED,
    "p, equal rates": lambda attribute: formatting.p_cell(attribute.means_p),
}


def _plot_attribute(attribute: NumericAttribute) -> Chart:
    """Return the curve of means with its band, and the line of least squares."""
    # A line of least squares goes through both means.
    middles = [step.middle for step in attribute.curve]
    mean_x = float(np.average(middles, weights=[step.n_rows for step in attribute.curve]))
    rise = attribute.slope.value / attribute.step
    ends = (attribute.curve[0].low, attribute.curve[-1].high)
    heights = [attribute.overall + rise * (x - mean_x) for x in ends]
    unit = " points" if attribute.is_rate else ""
    label = f"{_format(attribute, attribute.slope.value)}{unit} for {attribute.step:g} more"
    line = StraightLine(ends[0], heights[0], ends[1], heights[1], label)
    title = f"{attribute.column} by {attribute.attribute}"
    measured = attribute.column if attribute.is_rate else f"mean of {attribute.column}"
    curve = BinnedCurve(
        attribute.curve, attribute.attribute, measured, attribute.overall, line, percent=attribute.is_rate
    )
    return Chart(title, plot_curve(title, curve))


NUMERIC_ATTRIBUTES = Part(
    KEY,
    read=read_attributes,
    read_by=("confidence", "metrics", "effect"),
    judge=lambda attributes, _: attributes,
    found_type=tuple[NumericAttribute, ...],
    tables={"numeric_attributes": lambda attributes, _: map(formatting.flatten, attributes)},
    sections=lambda attributes, report, view: tuple(attribute_sections(attributes, report, view)),
    short=lambda attributes, report: tuple(short_sections(attributes, report)),
    # Of rates there are too many sentences.
    summary=lambda attributes, _: " ".join(describe_attribute(row) for row in attributes if not row.is_rate),
)
