"""The panels of a run as its page's script draws them: whole numbers by panel, metric, technique and β."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench_cli.document.charts import round_step
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.report.ledger.cell_labels import TRAINED_ON_TRUTH, why_no_value
from fairbench_cli.report.ledger.columns import metric_unit
from fairbench_cli.report.show.page_panels import SELECTION_RATE, GroupRates, PagePanel

FIXED_POINT_ONE = 100_000  # what 1 is as a fixed-point number of a page
MAX_NUMBER = 1e6  # in absolute value: a page has none above
REFUSES = "refuses everybody"
ACCEPTS = "accepts everybody"
NOT_RUN = "not run yet"
NO_COUNTS = "not counted on recorded labels"
FixedPoint = int | None
"""A number times `FIXED_POINT_ONE`, rounded; None for one that is NaN, infinite or too large."""
Json = dict[str, Any]
"""A part of the page's data, as its script reads it."""


@dataclass(frozen=True)
class Scale:
    """How a metric is written and drawn.

    Parameters
    ----------
    name : str
        The metric.
    unit : {"points", "%", ""}
        Of differences of rates, of rates, of anything else.
    digits : int
        Behind the point.
    ideal : int or None
        The best value, as a fixed-point number.
    is_gap : bool
        Whether it is a distance between groups, of which less is better.
    axis : tuple of int
        The ends of its axis and the step between ticks, as fixed-point numbers.
    """

    name: str
    unit: str
    digits: int
    ideal: FixedPoint
    is_gap: bool
    axis: tuple[int, int, int]

    @property
    def unit_factor(self) -> int:
        """How many of its unit are 1."""
        if self.unit:
            return 100
        return 1

    @property
    def last_digit(self) -> int:
        """The value of 1 in the last digit that is written, as a fixed-point number."""
        return int(FIXED_POINT_ONE // self.unit_factor // 10**self.digits)

    @property
    def json(self) -> Json:
        """The scale as the page's script reads it."""
        return vars(self) | {"last_digit": self.last_digit}


SHARE_SCALE = Scale(SELECTION_RATE, "%", 1, None, False, (0, FIXED_POINT_ONE, FIXED_POINT_ONE))


def fixed_point(values: Any, scale: Scale | None = None) -> list[FixedPoint]:
    """Return numbers as fixed-point numbers; None for NaN and for what is infinite or too large.

    Parameters
    ----------
    values : array-like
    scale : Scale, optional
        How they are written: the page's script rounds a number half way between two last digits up. One that
        is written with the lower digit everywhere else is 1 less, so that the page has that digit, too.

    >>> fixed_point([0.15849, float("nan"), float("inf")])
    [15849, None, None]
    >>> points = Scale("discrimination", "points", 1, 0, True, (0, 1, 1))
    >>> fixed_point([0.1586, 0.158499], points)
    [15860, 15849]
    """
    numbers = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(invalid="ignore"):
        is_shown = np.abs(numbers) < MAX_NUMBER
    rounded = np.rint(np.where(is_shown, numbers, 0.0) * FIXED_POINT_ONE).astype(np.int64)
    if scale is not None:
        is_half_way = is_shown & (2 * abs(rounded) % (2 * scale.last_digit) == scale.last_digit)
        for i in np.flatnonzero(is_half_way):
            written_elsewhere = float(f"{abs(numbers[i]) * scale.unit_factor:.{scale.digits}f}")
            if written_elsewhere * FIXED_POINT_ONE / scale.unit_factor < abs(rounded[i]):
                rounded[i] -= np.sign(rounded[i])
    whole_numbers: list[FixedPoint] = rounded.tolist()
    for i in np.flatnonzero(~is_shown):
        whole_numbers[i] = None
    return whole_numbers


def explain_missing_values(panel: PagePanel) -> dict[str, str]:
    """Return why techniques have no value at a β, by their position as JSON has it."""
    repeats = panel.dataset_repeats
    has_recorded_labels = repeats.recorded is not None
    reasons = dict.fromkeys(range(len(panel.techniques) * len(panel.betas)), NOT_RUN)
    for i, position in panel.cell_positions.items():
        statuses = [status for status in repeats.status[i] if status]
        is_on_truth = has_recorded_labels and repeats.cells[i]["intervention"] == TRAINED_ON_TRUTH
        if repeats.has_counts[i].any():
            reasons[position] = ""
        elif is_on_truth and "ok" in statuses:
            reasons[position] = NO_COUNTS
        else:
            reasons[position] = why_no_value(statuses)
            detail = next((text for text in repeats.reason[i] if text), "")
            if detail:
                reasons[position] += f": {detail}"
    return {str(position): reason for position, reason in reasons.items() if reason}


def describe_constant_decisions(panel: PagePanel) -> dict[str, str]:
    """Return the decisions that are the same for everybody, by technique and β as JSON has it."""
    repeats = panel.dataset_repeats
    descriptions = {}
    for i, position in panel.cell_positions.items():
        n_done = int(repeats.has_counts[i].sum())
        for n_constant, decision in zip(repeats.n_constant[i].tolist(), (REFUSES, ACCEPTS), strict=True):
            if n_constant == n_done and n_constant:
                descriptions[str(position)] = decision
            elif n_constant:
                descriptions[str(position)] = f"{decision} in {n_constant} of {n_done} repeats"
    return descriptions


def choose_scale(metric: Metric, panels: Sequence[PagePanel], m: int) -> Scale:
    """Return how a metric, the m-th of each panel, is written and drawn, on one axis in all panels."""
    unit = metric_unit(metric)
    ideal = metric.ideal
    if ideal is not None and not np.isfinite(ideal):
        ideal = None
    # 1. What is on the axis: all means, without the outermost ratios, and the ideal. That of an accuracy, 1,
    # is far from all others; so is the rule that decides the same for everybody.
    arrays = [np.zeros(0)]
    for panel in panels:
        arrays += [panel.mean[m].ravel(), panel.label_values[m], panel.reference_values[m, 1:].ravel()]
    means = np.concatenate(arrays)
    means = means[np.abs(means) < MAX_NUMBER]
    if metric.ratio and len(means):
        means = np.quantile(means, [0.02, 0.98])
    on_axis = means.tolist()
    is_accuracy = metric.direction in ("higher", "lower") and unit == "%"
    if ideal is not None and not is_accuracy:
        on_axis.append(ideal)
    # 2. Its ends, with some room, and the step between its ticks.
    low = min(on_axis, default=0.0)
    high = max(on_axis, default=1.0)
    room = 0.06 * (high - low) or 0.05
    low = low - room
    high = high + room
    step = round_step((high - low) / 4)
    axis = (
        math.floor(low * FIXED_POINT_ONE),
        math.ceil(high * FIXED_POINT_ONE),
        max(1, round(step * FIXED_POINT_ONE)),
    )
    # 3. How it is written.
    if unit:
        digits = 1
    elif metric.ratio or metric.is_test:
        digits = 2
    else:
        digits = 3
    fixed_ideal: FixedPoint = None
    if ideal is not None:
        fixed_ideal = round(ideal * FIXED_POINT_ONE)
    is_gap = unit == "points" and ideal == 0
    return Scale(metric.name, unit, digits, fixed_ideal, is_gap, axis)


def panel_json(panel: PagePanel, scales: Sequence[Scale], captions: list[list[str]]) -> Json:
    """Return a panel as a page's script reads it: of each metric a list over techniques and, within, β.

    Parameters
    ----------
    captions : list of [str, str]
        What is said of it at each β, in short, and all else.
    """
    switch_values = dict(panel.switch_values)
    if panel.labels:
        switch_values["world"] = panel.world_name
    comparisons = {}
    for label, comparison in panel.comparisons.items():
        comparisons[label] = {
            "baseline_indices": comparison.baseline_indices,
            "difference": metric_lists(comparison.difference, scales),
            "low": metric_lists(comparison.low, scales),
            "high": metric_lists(comparison.high, scales),
            "letters": ["".join(letters.ravel()) for letters in comparison.letters],
        }
    label_values = [
        _collapse_equal(fixed_point(values, scale))
        for values, scale in zip(panel.label_values, scales, strict=True)
    ]
    return {
        "title": panel.title,
        "world_label": panel.world_label,
        "strength_name": panel.strength_name,
        "switch_values": switch_values,
        "technique_names": panel.technique_names,
        "truth_indices": panel.truth_indices,
        "betas": panel.betas,
        "beta_texts": [f"{beta:g}" for beta in panel.betas],
        "mean": metric_lists(panel.mean, scales),
        "low": metric_lists(panel.low, scales),
        "high": metric_lists(panel.high, scales),
        "n_values": [_collapse_equal(n_values.ravel().tolist()) for n_values in panel.n_values],
        "n_repeats": panel.dataset_repeats.status.shape[1],
        "missing_reasons": explain_missing_values(panel),
        "constant_decisions": describe_constant_decisions(panel),
        "label_values": label_values,
        "reference_values": metric_lists(panel.reference_values, scales),
        "groups": group_rates_json(panel.group_rates),
        "comparisons": comparisons,
        "technique_groups": panel.technique_groups,
        "captions": captions,
    }


def metric_lists(arrays: Floats, scales: Sequence[Scale]) -> list[list[FixedPoint]]:
    """Return an array per metric as fixed-point numbers; no numbers of a metric without a finite one."""
    lists = []
    for numbers, scale in zip(arrays, scales, strict=True):
        if np.isfinite(numbers).any():
            lists.append(fixed_point(numbers, scale))
        else:
            lists.append([])
    return lists


def _collapse_equal(values: list[Any]) -> Any:
    """Return the value that all are; else all.

    >>> _collapse_equal([1, 1]), _collapse_equal([1, None])
    (1, [1, None])
    """
    if all(value == values[0] for value in values):
        return values[0]
    return values


def group_rates_json(groups: GroupRates) -> Json:
    """Return the rates of groups as the page's script reads them; by β where they differ."""
    rates_by_position = groups.selection_rates.reshape(-1, len(groups.group_names))
    return {
        "n_rows": _first_if_equal([fixed_point(n_rows / FIXED_POINT_ONE) for n_rows in groups.n_rows]),
        "label_rates": _first_if_equal([fixed_point(rates, SHARE_SCALE) for rates in groups.label_rates]),
        "selection_rates": [fixed_point(rates, SHARE_SCALE) for rates in rates_by_position],
    }


def _first_if_equal(by_beta: list[list[FixedPoint]]) -> list[list[FixedPoint]]:
    """Return lists by β; the first one alone where all are the same."""
    if all(numbers == by_beta[0] for numbers in by_beta):
        return by_beta[:1]
    return by_beta
