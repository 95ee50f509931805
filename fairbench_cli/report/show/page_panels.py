"""The panels of a run's page: what is compared with each other, and all its numbers by technique and β."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import LINES, Form
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.report.ledger.cell_labels import (
    BLOCK,
    NO_BIAS,
    TRAINED_ON_TRUTH,
    DisplayNames,
    read_display_names,
)
from fairbench_cli.report.ledger.change_kinds import Kind, classify_changes, run_technique_frame
from fairbench_cli.report.ledger.exact_worlds import BETA, exact_worlds_of_run, strength_name
from fairbench_cli.report.ledger.journal_arrays import SITUATION, TECHNIQUE, DatasetRepeats, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import Baseline, paired_with_baselines, run_paired_frame
from fairbench_cli.report.ledger.results import Results, RunResults, compute_label_metric


class KindMark(NamedTuple):
    """What became of a metric, and the form of the mark that says so."""

    kind: Kind | str
    form: Form


MARKS = {
    "B": KindMark("baseline", "base"),
    "L": KindMark("labels", "labels"),
    "b": KindMark("better", "better"),
    "o": KindMark("overshoots", "over"),
    "w": KindMark("worse", "worse"),
    "u": KindMark("higher", "up"),
    "d": KindMark("lower", "down"),
    "s": KindMark("same", "same"),
    "m": KindMark("moved", "moved"),
    "c": KindMark("constant", "constant"),
    ".": KindMark("not shown", "open"),
    "?": KindMark("untested", "open"),
    "-": KindMark("no value", "open"),
    "k": KindMark("known", "known"),
}
"""By the letter that stands for it in the page's data."""
LETTERS = {mark.kind: letter for letter, mark in MARKS.items()}

SELECTION_RATE = "selection-rate"
DEFAULT_METRICS = TABLES["difference-to-none"].metrics
"""What a page shows whatever the config asks for."""
REFERENCE_RULES = ("constant", "bayes", "oracle-thresholds")
"""Whose decisions are known without training: the same for everybody, the better one; whom the record says
to accept; the best threshold of each group, the truth known."""

TechniqueKey = tuple[Any, ...]
"""A technique, by its values of `TECHNIQUE`."""


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
class BaselineComparison:
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
class PagePanel:
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
    comparisons : dict of BaselineComparison
        By the label of the baseline.
    label_values : array, shape (metrics, β)
        Metrics of the labels of the test rows; NaN where they have none.
    reference_values : array, shape (metrics, rules, β)
        Metrics of `REFERENCE_RULES`, exactly; NaN where nothing is known.
    labels : {"true", "recorded"}
        Which labels of the test rows all numbers are about; empty in a run without worlds.
    strength_name : str
        What β is called: "β", or the parameter of a mechanism, such as "flip"; empty where it has none.
    names : DisplayNames
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
    comparisons: dict[str, BaselineComparison]
    label_values: Floats
    reference_values: Floats
    labels: str
    strength_name: str
    names: DisplayNames

    def key_without(self, *left_out: str) -> tuple[str, ...]:
        """Return the values of its block but some: the same for panels that differ in these alone."""
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
        return [t for t, (intervention, *_) in enumerate(self.techniques) if intervention == TRAINED_ON_TRUTH]

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
    """A frame of `paired_frame`, what it compares the others with, and the kind of each of its rows."""

    baseline: Baseline
    frame: pd.DataFrame
    kinds: Sequence[str]


def compute_panels(
    run: RunResults, results: Results, differences: Sequence[BaselineDifferences]
) -> list[PagePanel]:
    """Return the panels of a run on the metrics of `results`, in the order of these."""
    names = read_display_names(run.plan.config)
    metrics = metric_names(results)
    rows = results.rows.assign(**mean_and_interval(results.values))
    # 1. The techniques of each panel, of all its worlds: these stand in one place of the page.
    besides_world = [name for name in BLOCK if name != "world"]
    techniques_of = {}
    for key, panel_rows in rows.groupby(besides_world):
        techniques_of[key] = list(dict.fromkeys(technique_keys(panel_rows)))
    # 2. The differences to each baseline, by panel.
    differences_by_block = []
    for baseline, frame, row_kinds in differences:
        lettered = frame.assign(letter=[LETTERS[kind] for kind in row_kinds])
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
                label = names.technique(
                    baseline.intervention, baseline.parameters, bool(baseline.include_protected)
                )
                comparisons[label] = compare_with(baseline, rows_by_block[block_key], axes)
        panels.append(
            PagePanel(
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
                strength_name=strength_name(source, block["world"]),
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


def compare_with(baseline: Baseline, rows: pd.DataFrame, axes: PanelAxes) -> BaselineComparison:
    """Return the differences to a baseline, given the rows of a panel with these."""
    difference, low, high = lay_out(rows, ["difference", "population_low", "population_high"], axes)
    letters = np.full(axes.shape, "-", dtype=object)
    letters[axes.indices(rows)] = rows["letter"].to_numpy()
    # A technique that sees the protected attribute may have another baseline than one that does not.
    baseline_indices: list[int | None] = [None] * len(axes.techniques)
    sees_protected = dict(zip(technique_keys(rows), rows["baseline_include_protected"], strict=True))
    for technique, baseline_sees in sees_protected.items():
        key = (baseline.intervention, baseline.parameters, bool(baseline_sees))
        baseline_indices[axes.techniques.index(technique)] = axes.techniques.index(key)
    return BaselineComparison(baseline_indices, difference, low, high, letters)


def measure_labels(repeats: DatasetRepeats, block: Mapping[str, Any], axes: PanelAxes) -> Floats:
    """Return metrics of the labels of the test rows, means over the repeats: shape (metrics, β)."""
    means = np.full((len(axes.metrics), len(axes.betas)), np.nan)
    for k, beta in enumerate(axes.betas):
        levels = repeats.levels(repeats.label_counts_in_world(block["world"], beta), block["compared"])
        for m, metric in enumerate(axes.metrics):
            values = compute_label_metric(metric, levels)
            means[m, k] = mean_and_interval(np.where(np.isfinite(values), values, np.nan))["mean"]
    return means


def measure_reference_rules(
    run: RunResults, results: Results, block: Mapping[str, Any], axes: PanelAxes
) -> Floats:
    """Return metrics of `REFERENCE_RULES`: shape (metrics, rules, β); NaN where nothing is known."""
    values = np.full((len(axes.metrics), len(REFERENCE_RULES), len(axes.betas)), np.nan)
    exact = exact_worlds_of_run(run)
    features = run.plan.config.test_features
    place_of_protected = TECHNIQUE.index("include_protected")
    all_see_protected = all(technique[place_of_protected] for technique in axes.techniques)
    world_key = block["dataset"], block["attribute"], block["world"]
    for k, beta in enumerate(axes.betas):
        world = exact.find(*world_key, beta, include_protected=all_see_protected, features=features)
        world = world or exact.find(*world_key, beta)
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


def group_techniques(n_techniques: int, truth_indices: Sequence[int]) -> list[list[int]]:
    """Return the techniques of a panel in groups that fit into one picture, the first of all in each.

    Those that know the truth are in none: they are lines to hold the others against.

    >>> group_techniques(8, truth_indices=[3])
    [[0, 1, 2, 4, 5, 6, 7]]
    >>> group_techniques(14, truth_indices=[])
    [[0, 1, 2, 3, 4, 5, 6, 7], [0, 8, 9, 10, 11, 12, 13]]
    """
    drawn = [t for t in range(n_techniques) if t not in truth_indices or t == 0]
    if len(drawn) <= len(LINES):
        return [drawn]
    first, *others = drawn
    n_groups = math.ceil(len(others) / (len(LINES) - 1))
    size = math.ceil(len(others) / n_groups)
    return [[first, *others[start : start + size]] for start in range(0, len(others), size)]


def _mean_over_repeats(values: Floats) -> Floats:
    """Return means over the repeats, the last axis but one."""
    means: Floats = mean_and_interval(np.moveaxis(values, -2, -1))["mean"]
    return means


def _mean_selection_rates(counts_by_attribute: Sequence[Counts]) -> Floats:
    """Return the selection rates of all groups, means over the repeats: shape (..., groups)."""
    rates = [_mean_over_repeats(rate_by_group(counts, SELECTION_RATE)) for counts in counts_by_attribute]
    return np.concatenate(rates, axis=-1)


def compute_group_rates(panel: PagePanel) -> GroupRates:
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
        label_counts = repeats.label_counts_in_world(panel.block["world"], beta)
        labels_by_attribute = [repeats.levels(label_counts, attribute) for attribute in attributes]
        totals = [_mean_over_repeats(counts.group_total) for counts in labels_by_attribute]
        n_rows.append(np.concatenate(totals))
        label_rates.append(_mean_selection_rates(labels_by_attribute))
    return GroupRates(
        attributes=attribute_of_group,
        group_names=group_names,
        n_rows=np.array(n_rows),
        label_rates=np.array(label_rates),
        selection_rates=selection_rates.reshape(len(panel.techniques), len(panel.betas), len(group_names)),
    )


def select_differences(
    run: RunResults, results: Results, metric: str, max_differences: int
) -> list[BaselineDifferences]:
    """Return the differences to `none`, which are known, and to each other technique, with their kinds.

    Those to other techniques are of `metric` and of `DEFAULT_METRICS` alone where repeats share their test
    rows, as each test looks at every row of them then, and where they would be more than `max_differences`.
    If these still are, there are none.
    """
    technique_values = run_technique_frame(run)
    differences = []
    # 1. To none.
    paired = run_paired_frame(run)
    paired = paired[paired["metric"].isin(metric_names(results))]
    if len(paired):
        differences.append(
            BaselineDifferences(Baseline(), paired, list(classify_changes(paired, technique_values)))
        )
    # 2. How many differences to others there are: each technique of a setting against each other.
    techniques = results.rows[TECHNIQUE[:2]].drop_duplicates().itertuples(index=False, name=None)
    baselines = [Baseline(*technique) for technique in techniques]
    baselines = [baseline for baseline in baselines if baseline != Baseline()]
    sizes = results.rows.groupby([*SITUATION, "compared", "metric"], sort=False).size()
    n_all = int((sizes * (sizes - 1)).sum())
    has_shared_rows = any(repeats.design.kind == "shared" for repeats in run.datasets)
    if has_shared_rows or n_all > max_differences:
        kept_results = run.select(tuple(dict.fromkeys((metric, *DEFAULT_METRICS))))
    else:
        kept_results = results
    n_kept_times_metrics = n_all * len(metric_names(kept_results))
    if not baselines or not 0 < n_kept_times_metrics <= max_differences * len(metric_names(results)):
        return differences
    # 3. To each other technique, all in one frame: Holm's adjustment is over each baseline alone.
    frame = paired_with_baselines(kept_results, baselines)
    kinds_of_rows = classify_changes(frame, technique_values)
    for baseline in baselines:
        is_to_baseline = (frame["baseline"] == baseline.label).to_numpy()
        if is_to_baseline.any():
            kinds_to_baseline = list(kinds_of_rows[is_to_baseline])
            differences.append(BaselineDifferences(baseline, frame[is_to_baseline], kinds_to_baseline))
    return differences
