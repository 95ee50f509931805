"""A protected attribute that is a number, such as age, beside the groups that it is cut into.

How an outcome goes with it as it is: the slope, the effect from its 10 % to its 90 % point, the rank
correlation, what both share, and a curve of means, which shows a bend that a slope hides. It decides nothing:
the groups do.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench_cli.audit.compare.numbers import find_decimals
from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.report import Interval, Report
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.numbers import column_name
from fairbench_cli.audit.parts.part import Part, Row, View
from fairbench_cli.audit.scan.numbers import read_attribute_rows
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.base.safe_text import format_amount, format_count
from fairbench_cli.document.binned_curve import BinnedCurve, CurveRange, StraightLine, plot_curve
from fairbench_cli.document.model import Chart, Section, TableCell, table_of
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.numeric_attribute import AttributeDependence, MeanCurve, examine_attribute
from fairbench_cli.measures.regression import EstimateWithLimits

KEY = "numeric_attributes"
FEWEST_ROWS = 30  # with a number in both columns
MOST_ROWS = 1_000_000  # of more the first are looked at


@dataclass(frozen=True)
class NumericAttribute:
    """How an outcome goes with a numeric attribute.

    Parameters
    ----------
    attribute, column : str
    rows : int
        With a number in both.
    is_cut_short : bool
        Whether there are more, and the first ones are looked at.
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

    attribute: str
    column: str
    rows: int
    is_cut_short: bool
    digits: int
    step: float
    slope: Interval
    effect: Interval
    slope_p: float
    low_point: float
    high_point: float
    rank_correlation: Interval
    information: float
    information_p: float
    means_p: float
    overall: float
    curve: tuple[CurveRange, ...]


def is_requested(config: AuditConfig) -> bool:
    """Return whether numbers are audited by an attribute that is cut, of one model."""
    is_single = not (config.compares or config.model_column)
    return config.outcome == "number" and bool(config.bins) and is_single


def read_attributes(scan: Scan) -> tuple[NumericAttribute, ...]:
    """Return how the outcome goes with each attribute that is cut."""
    attributes = [_read_attribute(scan, name) for name in scan.bins]
    return tuple(attribute for attribute in attributes if attribute is not None)


def _read_attribute(scan: Scan, name: str) -> NumericAttribute | None:
    """Return how the outcome goes with an attribute; None of too few rows, or where one is constant."""
    fetched = read_attribute_rows(scan, name, MOST_ROWS + 1)
    columns = {key: numbers[:MOST_ROWS] for key, numbers in fetched.items()}
    x = columns["x"]
    y = columns["y"]
    if len(x) < FEWEST_ROWS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    clusters = columns["person"].astype(np.int64) if "person" in columns else None
    weights = columns.get("weight")
    rng = stream(scan.config.seed, KEY, name)
    dependence = examine_attribute(x, y, rng, weights, clusters, confidence=scan.config.confidence)
    n_all = len(fetched["x"])
    overall = float(np.average(y, weights=weights))
    return _describe(name, column_name(scan), dependence, y, overall, is_cut_short=n_all > MOST_ROWS)


def _describe(
    name: str, column: str, dependence: AttributeDependence, y: Floats, overall: float, *, is_cut_short: bool
) -> NumericAttribute:
    line = dependence.line
    return NumericAttribute(
        attribute=name,
        column=column,
        rows=len(y),
        is_cut_short=is_cut_short,
        digits=find_decimals(float(np.std(y))),
        step=line.step,
        slope=_interval(line.per_step),
        effect=_interval(line.effect),
        slope_p=line.per_step.p,
        low_point=line.low_point,
        high_point=line.high_point,
        rank_correlation=_interval(dependence.rank_correlation),
        information=dependence.information.bits,
        information_p=dependence.information.p,
        means_p=dependence.curve.p,
        overall=overall,
        curve=_curve_ranges(dependence.curve),
    )


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
    side = "less" if effect.value < 0 else "more"
    size = format_amount(abs(effect.value), attribute.digits)
    limits = ""
    if not math.isnan(effect.low):
        low = format_amount(effect.low, attribute.digits)
        limits = f" ({low} to {format_amount(effect.high, attribute.digits)})"
    points = f"{attribute.low_point:.6g} to {attribute.high_point:.6g}"
    text = f"{attribute.attribute} as it is: from {points} the mean of {attribute.column} is "
    text += f"{size} {side}{limits}"
    if attribute.slope_p >= BENT and attribute.means_p < BENT:
        text += ", on a line; the curve is bent, and its means differ"
    return f"{text}."


BENT = 0.05  # a slope that may be 0, and means that are not equal


def attribute_sections(attributes: Sequence[NumericAttribute], _: Report, view: View) -> Iterator[Section]:
    """Yield each attribute with its numbers and its curve."""
    for attribute in attributes:
        charts = () if view.brief else (_plot_attribute(attribute),)
        table = table_of("", TABLE, [attribute])
        notes = [
            "Beside the groups, which decide. mutual information: what both share when each is cut into ten, "
            "which is above 0 by chance, too; its p is by permutations."
        ]
        if attribute.is_cut_short:
            notes.append(f"Of the first {format_count(attribute.rows, 'row')}.")
        title = f"{attribute.attribute}: {attribute.column} by the number itself"
        yield Section(title, (describe_attribute(attribute),), (table,), tuple(notes), charts=charts)


def _amount_cell(attribute: NumericAttribute, estimate: Interval) -> TableCell:
    fine = ""
    if not math.isnan(estimate.low):
        low = format_amount(estimate.low, attribute.digits)
        fine = f"[{low}, {format_amount(estimate.high, attribute.digits)}]"
    return TableCell(format_amount(estimate.value, attribute.digits), fine, estimate.value)


TABLE: dict[str, Callable[[NumericAttribute], TableCell]] = {
    "rows": lambda attribute: formatting.count_cell(attribute.rows),
    "slope per 10": lambda attribute: _amount_cell(attribute, attribute.slope),
    "10 % to 90 % point": lambda attribute: _amount_cell(attribute, attribute.effect),
    "rank correlation": lambda attribute: formatting.fine_cell(attribute.rank_correlation),
    "mutual information, bits": lambda attribute: formatting.number_cell(
        attribute.information, f"p {formatting.p_value(attribute.information_p)}"
    ),
    "p, equal means": lambda attribute: formatting.p_cell(attribute.means_p),
}


def _plot_attribute(attribute: NumericAttribute) -> Chart:
    """Return the curve of means with its band, and the line of least squares."""
    # A line of least squares goes through both means.
    middles = [step.middle for step in attribute.curve]
    mean_x = float(np.average(middles, weights=[step.n_rows for step in attribute.curve]))
    rise = attribute.slope.value / attribute.step
    ends = (attribute.curve[0].low, attribute.curve[-1].high)
    heights = [attribute.overall + rise * (x - mean_x) for x in ends]
    label = f"{format_amount(attribute.slope.value, attribute.digits)} for {attribute.step:g} more"
    line = StraightLine(ends[0], heights[0], ends[1], heights[1], label)
    title = f"{attribute.column} by {attribute.attribute}"
    curve = BinnedCurve(
        attribute.curve, attribute.attribute, f"mean of {attribute.column}", attribute.overall, line
    )
    return Chart(title, plot_curve(title, curve))


def attribute_rows(attributes: Sequence[NumericAttribute], _: Report) -> Iterable[Row]:
    """Yield each attribute; an interval takes three columns."""
    return map(formatting.flatten, attributes)


NUMERIC_ATTRIBUTES = Part(
    KEY,
    is_requested=is_requested,
    read=read_attributes,
    read_by=("confidence",),
    judge=lambda attributes, _: attributes,
    tables={"numeric_attributes": attribute_rows},
    sections=lambda attributes, report, view: tuple(attribute_sections(attributes, report, view)),
    summary=lambda attributes, _: " ".join(map(describe_attribute, attributes)),
)
