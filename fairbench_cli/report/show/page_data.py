"""The numbers of a run as its page's script draws them: whole numbers by panel, metric, technique and β."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import LINES, Form, round_step
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.report.ledger.cell_labels import (
    BLOCK,
    NO_BIAS,
    TRAINED_ON_TRUTH,
    DisplayNames,
    read_display_names,
    why_no_value,
)
from fairbench_cli.report.ledger.change_kinds import Kind
from fairbench_cli.report.ledger.columns import unit_of
from fairbench_cli.report.ledger.exact_worlds import BETA, facts_of_run, strength_of
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, DatasetRepeats, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import Baseline
from fairbench_cli.report.ledger.results import Results, RunResults, labels_measured


class Mark(NamedTuple):
    """What became of a metric, and the form of the mark that says so."""

    kind: Kind | str
    form: Form


MARKS = {
    "B": Mark("baseline", "base"),
    "L": Mark("labels", "labels"),
    "b": Mark("better", "better"),
    "o": Mark("overshoots", "over"),
    "w": Mark("worse", "worse"),
    "u": Mark("higher", "up"),
    "d": Mark("lower", "down"),
    "s": Mark("same", "same"),
    "c": Mark("constant", "constant"),
    ".": Mark("not shown", "open"),
    "?": Mark("untested", "open"),
    "-": Mark("no value", "open"),
    "k": Mark("known", "known"),
}
"""By the letter that stands for it in the page's data."""
LETTERS = {mark.kind: letter for letter, mark in MARKS.items()}

FIXED_POINT_ONE = 100_000  # what 1 is as a fixed-point number of a page
MAX_NUMBER = 1e6  # in absolute value: a page has none above
SELECTION_RATE = "selection-rate"
REFUSES = "refuses everybody"
ACCEPTS = "accepts everybody"
NOT_RUN = "not run yet"
NO_COUNTS = "not counted on recorded labels"
REFERENCE_RULES = ("constant", "bayes", "oracle-thresholds")
"""Whose decisions are known without training: the same for everybody, the better one; whom the record says
to accept; the best threshold of each group, the truth known."""

FixedPoint = int | None
"""A number times `FIXED_POINT_ONE`, rounded; None for one that is NaN, infinite or too large."""
Json = dict[str, Any]
"""A part of the page's data, as its script reads it."""
TechniqueKey = tuple[Any, ...]
"""A technique, by its values of `TECHNIQUE`."""


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


@dataclass(frozen=True, eq=False)
class GroupRates:
    """How many of each group get the favourable decision, of each attribute and of all.

    Parameters
    ----------
    attributes, group_names : list of str
        Of each group; all numbers are means over the repeats.
    n_rows : array, shape (β, groups)
        How many test rows it has.
    label_rates : array, shape (β, groups)
        The share of favourable labels.
    selection_rates : array, shape (techniques, β, groups)
        The share of favourable decisions; NaN where there is none.
    """

    attributes: list[str]
    group_names: list[str]
    n_rows: Floats
    label_rates: Floats
    selection_rates: Floats


@dataclass(frozen=True)
class PanelAxes:
    """The metrics, techniques and β of a panel's arrays."""

    metrics: list[str]
    techniques: list[TechniqueKey]
    betas: list[float]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the arrays."""
        return len(self.metrics), len(self.techniques), len(self.betas)

    def indices(self, rows: pd.DataFrame) -> tuple[list[int], list[int], list[int]]:
        """Return where rows with a metric, a technique and a β stand in the arrays."""
        metric_indices = [self.metrics.index(metric) for metric in rows["metric"]]
        technique_indices = [self.techniques.index(technique) for technique in technique_keys(rows)]
        beta_indices = [self.betas.index(beta) for beta in rows["beta"]]
        return metric_indices, technique_indices, beta_indices


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of a panel's techniques to one of them.

    Parameters
    ----------
    baseline_indices : list of (int or None)
        By technique, which one it is compared with: the baseline sees the protected attribute or does not.
        None where a technique is not compared.
    difference, low, high : array, shape (metrics, techniques, β)
        With the interval in the population; NaN where nothing is known.
    letters : array of str, shape (metrics, techniques, β)
        What each is called, by the keys of `MARKS`.
    """

    baseline_indices: list[int | None]
    difference: Floats
    low: Floats
    high: Floats
    letters: Any


@dataclass(frozen=True, eq=False)
class Panel:
    """What is compared with each other: a data set, an attribute, groups, a representation, a classifier.

    Parameters
    ----------
    block : dict of str
        What it is about, by the names of `BLOCK`.
    dataset_repeats : DatasetRepeats
        Where it is from.
    techniques : list of tuple
        The values of `TECHNIQUE`.
    betas : list of float
    mean, low, high, n_values : array, shape (metrics, techniques, β)
        Over the repeats with a value, and how many these are.
    comparisons : dict of Comparison
        By the label of the baseline.
    label_values : array, shape (metrics, β)
        Metrics of the labels of the test rows; NaN where they have none.
    reference_values : array, shape (metrics, rules, β)
        Metrics of `REFERENCE_RULES`, exactly; NaN where nothing is known.
    labels : {"true", "recorded"}
        Which labels of the test rows all numbers are about; empty in a run without worlds.
    strength_name : str
        What β is called: "β", or the parameter of a mechanism, such as "flip"; empty where it has none.
    bias_kind : str
        Which bias β is, "label bias" or "prior shift"; empty where that is not known.
    names : Names
        What the config calls data sets, techniques and classifiers.
    """

    block: dict[str, str]
    dataset_repeats: DatasetRepeats
    techniques: list[TechniqueKey]
    betas: list[float]
    mean: Floats
    low: Floats
    high: Floats
    n_values: Any
    comparisons: dict[str, Comparison]
    label_values: Floats
    reference_values: Floats
    labels: str
    strength_name: str
    bias_kind: str
    names: Names

    def key_without(self, *left_out: str) -> tuple[str, ...]:
        """Return the values of all names of `BLOCK` but some: the same for panels that differ in these alone."""
        return tuple(value for name, value in self.block.items() if name not in left_out)

    @cached_property
    def cell_positions(self) -> dict[int, int]:
        """By the index of a cell in the data set, its position in arrays over techniques and, within, β."""
        positions = {}
        for i, cell in enumerate(self.dataset_repeats.cells):
            if any(cell[name] != value for name, value in self.block.items() if name != "compared"):
                continue
            technique_index = self.techniques.index(tuple(cell[name] for name in TECHNIQUE))
            positions[i] = technique_index * len(self.betas) + self.betas.index(cell["beta"])
        return positions

    @cached_property
    def group_rates(self) -> GroupRates:
        """How many of each group get the favourable decision."""
        return compute_group_rates(self)

    @property
    def technique_names(self) -> list[str]:
        """What the techniques are called."""
        return [self.names.technique(*technique) for technique in self.techniques]

    @property
    def truth_indices(self) -> list[int]:
        """The indices of the techniques that know the truth."""
        return [t for t, (intervention, *_) in enumerate(self.techniques) if intervention == TRUTH]

    @property
    def technique_groups(self) -> list[list[int]]:
        """The indices of the techniques, in groups that fit into one picture."""
        return group_techniques(len(self.techniques), self.truth_indices)

    @property
    def switch_values(self) -> tuple[tuple[str, str], ...]:
        """Its values of the page's switches, whatever world it is of."""
        return (
            ("dataset", self.dataset_name),
            ("compared", self.block["compared"]),
            ("classifier", self.classifier_name),
        )

    @property
    def world_name(self) -> str:
        """What its world is called."""
        return self.block["world"] or (BETA if self.strength_name == BETA else NO_BIAS)

    @property
    def world_label(self) -> str:
        """Which world and which labels its numbers are of; empty in a run without worlds."""
        if self.labels:
            return f"{self.world_name} · {self.labels} labels"
        return ""

    def world_label_at(self, beta_index: int) -> str:
        """Return its world, the strength of it at a β, and its labels."""
        clauses = []
        if not self.strength_name or self.world_name != self.strength_name:
            clauses.append(self.world_name)
        if self.strength_name:
            clauses.append(f"{self.strength_name} = {self.betas[beta_index]:g}")
        clauses.append(f"{self.labels} labels")
        return " · ".join(clauses)

    @property
    def title(self) -> str:
        """Its data set, the groups compared, and its world."""
        return ", ".join(filter(None, (self.dataset_name, self.block["compared"], self.world_label)))

    @property
    def dataset_name(self) -> str:
        """What the data set is called."""
        return self.names.dataset(self.block["dataset"])

    @property
    def classifier_name(self) -> str:
        """What the classifier is called."""
        return self.names.classifier(self.block["classifier"], self.block["classifier_parameters"])


class BaselineDifferences(NamedTuple):
    """What the others are compared with, the frame of `paired_frame` that does so, and the kind of each row."""

    baseline: Baseline
    frame: pd.DataFrame
    kinds: Sequence[str]


def compute_panels(
    run: RunResults, results: Results, differences: Sequence[BaselineDifferences]
) -> list[Panel]:
    """Return the panels of a run on the metrics of `results`, in the order of these."""
    names = names_of(run.plan.config)
    metrics = metric_names(results)
    rows = results.rows.assign(**mean_and_interval(results.values))
    # 1. The techniques of each panel, of all its worlds: these stand in one place of the page.
    besides_world = [name for name in BLOCK if name != "world"]
    techniques_of = {}
    for key, panel_rows in rows.groupby(besides_world):
        techniques_of[key] = list(dict.fromkeys(technique_keys(panel_rows)))
    # 2. The differences to each baseline, by panel.
    differences_by_block = []
    for baseline, frame, kinds in differences:
        lettered = frame.assign(letter=[LETTERS[kind] for kind in kinds])
        differences_by_block.append((baseline, dict(iter(lettered.groupby(BLOCK)))))
    # 3. A panel for each block.
    repeats_by_dataset = {(repeats.dataset, repeats.attribute): repeats for repeats in run.datasets}
    panels = []
    for block_key, panel_rows in rows.groupby(BLOCK, sort=False):
        block = dict(zip(BLOCK, map(str, block_key), strict=True))
        repeats = repeats_by_dataset[block["dataset"], block["attribute"]]
        source = run.plan.dataset(repeats.dataset, repeats.attribute)
        techniques = techniques_of[tuple(block[name] for name in besides_world)]
        axes = PanelAxes(metrics, techniques, sorted(set(panel_rows["beta"])))
        mean, low, high, n_values = lay_out(panel_rows, ["mean", "low", "high", "n_ok"], axes)
        comparisons = {}
        for baseline, rows_by_block in differences_by_block:
            if block_key in rows_by_block:
                label = names.technique(baseline.intervention, baseline.parameters, bool(baseline.seen))
                comparisons[label] = compare_with(baseline, rows_by_block[block_key], axes)
        panels.append(
            Panel(
                block=block,
                dataset_repeats=repeats,
                techniques=techniques,
                betas=axes.betas,
                mean=mean,
                low=low,
                high=high,
                n_values=np.nan_to_num(n_values).astype(int),
                comparisons=comparisons,
                label_values=measure_labels(repeats, block, axes),
                reference_values=measure_reference_rules(run, results, block, axes),
                labels=run.labels if run.plan.has_worlds else "",
                strength_name=strength_of(source, block["world"]),
                bias_kind=source.get("bias_kind", ""),
                names=names,
            )
        )
    return panels


def technique_keys(rows: pd.DataFrame) -> list[TechniqueKey]:
    """Return the technique of each row."""
    return list(zip(*(rows[name].tolist() for name in TECHNIQUE), strict=True))


def lay_out(rows: pd.DataFrame, columns: list[str], axes: PanelAxes) -> Floats:
    """Return columns of a panel's rows: shape (columns, metrics, techniques, β); NaN where no row is."""
    arrays = np.full((len(columns), *axes.shape), np.nan)
    metric_indices, technique_indices, beta_indices = axes.indices(rows)
    arrays[:, metric_indices, technique_indices, beta_indices] = rows[columns].to_numpy().T
    return arrays


def compare_with(baseline: Baseline, rows: pd.DataFrame, axes: PanelAxes) -> Comparison:
    """Return the differences to a baseline, given the rows of a panel with these."""
    difference, low, high = lay_out(rows, ["difference", "population_low", "population_high"], axes)
    letters = np.full(axes.shape, "-", dtype=object)
    letters[axes.indices(rows)] = rows["letter"].to_numpy()
    # The baseline of a technique that sees the protected attribute may be another than that of one that does not.
    baseline_indices: list[int | None] = [None] * len(axes.techniques)
    sees_protected = dict(zip(technique_keys(rows), rows["baseline_include_protected"], strict=True))
    for technique, baseline_sees in sees_protected.items():
        key = (baseline.intervention, baseline.parameters, bool(baseline_sees))
        baseline_indices[axes.techniques.index(technique)] = axes.techniques.index(key)
    return Comparison(baseline_indices, difference, low, high, letters)


def measure_labels(repeats: DatasetRepeats, block: Mapping[str, Any], axes: PanelAxes) -> Floats:
    """Return metrics of the labels of the test rows, means over the repeats: shape (metrics, β)."""
    means = np.full((len(axes.metrics), len(axes.betas)), np.nan)
    for k, beta in enumerate(axes.betas):
        levels = repeats.levels(repeats.labels_at(block["world"], beta), block["compared"])
        for m, metric in enumerate(axes.metrics):
            values = labels_measured(metric, levels)
            means[m, k] = mean_and_interval(np.where(np.isfinite(values), values, np.nan))["mean"]
    return means


def measure_reference_rules(
    run: RunResults, results: Results, block: Mapping[str, Any], axes: PanelAxes
) -> Floats:
    """Return metrics of `REFERENCE_RULES`: shape (metrics, rules, β); NaN where nothing is known."""
    values = np.full((len(axes.metrics), len(REFERENCE_RULES), len(axes.betas)), np.nan)
    exact = facts_of_run(run)
    features = run.plan.config.test_features
    place_of_protected = TECHNIQUE.index("include_protected")
    all_see_protected = all(technique[place_of_protected] for technique in axes.techniques)
    world_key = block["dataset"], block["attribute"], block["world"]
    for k, beta in enumerate(axes.betas):
        world = exact.at(*world_key, beta, include_protected=all_see_protected, features=features)
        world = world or exact.at(*world_key, beta)
        if world is None:
            continue
        rules = (world.constant(run.labels), *REFERENCE_RULES[1:])
        for m, metric in enumerate(map(results.metric, axes.metrics)):
            # Of other groups than those of its own attribute a world knows what is of no groups alone.
            if block["compared"] == block["attribute"] or metric.groups == "any":
                values[m, :, k] = [world.metric(rule, metric, run.labels) for rule in rules]
    return values


def metric_names(results: Results) -> list[str]:
    """Return the metrics of some results, each once, in their order."""
    return list(dict.fromkeys(results.rows["metric"]))


def explain_missing_values(panel: Panel) -> dict[str, str]:
    """Return why a technique has no value at a β, by its position as JSON has it; nothing where it has one."""
    repeats = panel.dataset_repeats
    n_repeats = repeats.status.shape[1]
    reasons = dict.fromkeys(range(len(panel.techniques) * len(panel.betas)), NOT_RUN)
    for i, position in panel.cell_positions.items():
        statuses = [status for status in repeats.status[i] if status]
        if repeats.done[i].any():
            reasons[position] = ""
        elif repeats.cells[i]["intervention"] == TRUTH and repeats.recorded is not None and "ok" in statuses:
            reasons[position] = NO_COUNTS
        else:
            reasons[position] = why_nothing(statuses, n_repeats)
            detail = next((text for text in repeats.reason[i] if text), "")
            if detail:
                reasons[position] += f": {detail}"
    return {str(position): reason for position, reason in reasons.items() if reason}


def describe_constant_decisions(panel: Panel) -> dict[str, str]:
    """Return what a technique decides for everybody at a β, by its position as JSON has it."""
    repeats = panel.dataset_repeats
    descriptions = {}
    for i, position in panel.cell_positions.items():
        n_done = int(repeats.done[i].sum())
        for n_constant, decision in zip(repeats.constant[i].tolist(), (REFUSES, ACCEPTS), strict=True):
            if n_constant == n_done and n_constant:
                descriptions[str(position)] = decision
            elif n_constant:
                descriptions[str(position)] = f"{decision} in {n_constant} of {n_done} repeats"
    return descriptions


def choose_scale(metric: Metric, panels: Sequence[Panel], m: int) -> Scale:
    """Return how a metric, the m-th of each panel, is written and drawn, on one axis in all panels."""
    unit = unit_of(metric)
    ideal = metric.ideal
    if ideal is not None and not np.isfinite(ideal):
        ideal = None
    # 1. What is on the axis: all means, without the outermost ratios, and the ideal. That of an accuracy, 1, is
    # far from all others; so is the rule that decides the same for everybody.
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


def panel_json(panel: Panel, scales: Sequence[Scale], captions: list[list[str]]) -> Json:
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


def group_techniques(n_techniques: int, truth_indices: Sequence[int]) -> list[list[int]]:
    """Return the techniques of a panel in groups that fit into one picture, the first of all in each.

    Those that know the truth are in none: they are lines to hold the others against.

    >>> group_techniques(8, truth_indices=[3])
    [[0, 1, 2, 4], [0, 5, 6, 7]]
    """
    drawn = [t for t in range(n_techniques) if t not in truth_indices or t == 0]
    if len(drawn) <= len(LINES):
        return [drawn]
    first, *others = drawn
    n_groups = math.ceil(len(others) / (len(LINES) - 1))
    size = math.ceil(len(others) / n_groups)
    return [[first] + others[start : start + size] for start in range(0, len(others), size)]


def _collapse_equal(values: list[Any]) -> Any:
    """Return the value that all are; else all.

    >>> _collapse_equal([1, 1]), _collapse_equal([1, None])
    (1, [1, None])
    """
    if all(value == values[0] for value in values):
        return values[0]
    return values


def _mean_over_repeats(values: Floats) -> Floats:
    """Return means over the repeats, the last axis but one."""
    means: Floats = mean_and_interval(np.moveaxis(values, -2, -1))["mean"]
    return means


def _mean_selection_rates(counts_by_attribute: Sequence[Counts]) -> Floats:
    """Return the selection rates of all groups, means over the repeats: shape (..., groups)."""
    rates = []
    for counts in counts_by_attribute:
        rates.append(_mean_over_repeats(rate_by_group(counts, SELECTION_RATE)))
    return np.concatenate(rates, axis=-1)


def compute_group_rates(panel: Panel) -> GroupRates:
    """Return the test rows, labels and decisions of a panel by group."""
    repeats = panel.dataset_repeats
    attributes = list(repeats.protected.names)
    intersection = CROSS.join(attributes)
    if intersection not in attributes:
        attributes.append(intersection)
    # 1. The groups, attribute by attribute.
    counts_by_attribute = [repeats.levels(repeats.counts, attribute) for attribute in attributes]
    attribute_of_group = []
    group_names = []
    for attribute, counts in zip(attributes, counts_by_attribute, strict=True):
        for group in counts.groups:
            attribute_of_group.append(attribute)
            group_names.append(str(group))
    # 2. What is decided: of each cell, laid out by technique and β.
    rates_of_cells = _mean_selection_rates(counts_by_attribute)
    selection_rates = np.full((len(panel.techniques) * len(panel.betas), len(group_names)), np.nan)
    for i, position in panel.cell_positions.items():
        selection_rates[position] = rates_of_cells[i]
    # 3. The test rows and their labels at each β.
    n_rows = []
    label_rates = []
    for beta in panel.betas:
        label_counts = repeats.labels_at(panel.block["world"], beta)
        labels_by_attribute = [repeats.levels(label_counts, attribute) for attribute in attributes]
        n_rows.append(np.concatenate([_mean_over_repeats(counts.group_total) for counts in labels_by_attribute]))
        label_rates.append(_mean_selection_rates(labels_by_attribute))
    return GroupRates(
        attributes=attribute_of_group,
        group_names=group_names,
        n_rows=np.array(n_rows),
        label_rates=np.array(label_rates),
        selection_rates=selection_rates.reshape(len(panel.techniques), len(panel.betas), len(group_names)),
    )


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
