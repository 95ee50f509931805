"""The findings of a run, as data: per setting the gap, how each technique changes it, and at which cost.

A setting is a data set, an attribute, the groups compared, a world, a representation, a classifier and β.
Its findings are about the config's first metric of fairness (`fairness_metric`) and accuracy. Every verdict
that allows for chance is about the population (`change_kinds.py`). `answer_text.py` writes the sentences,
and `answer_worlds.py` those about worlds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.plugins import KNOWN_PACKAGES, is_plugin
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.experiment.config.config import POINT, attribute_names, margin_of
from fairbench_cli.measures.groups import CROSS, ProtectedAttributes
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.report.ledger import cell_labels
from fairbench_cli.report.ledger.baselines import Shortfall
from fairbench_cli.report.ledger.bias_cost import Contrast
from fairbench_cli.report.ledger.change_kinds import Kind
from fairbench_cli.report.ledger.columns import (
    ACCURACY,
    FAIRNESS,
    FindingColumn,
    fairness_metric,
    run_columns,
)
from fairbench_cli.report.ledger.exact_worlds import UNKNOWN_WORLD, ExactWorld, exact_worlds_of_run
from fairbench_cli.report.ledger.journal_arrays import (
    CELL_COLUMNS,
    TECHNIQUE,
    CellKey,
    DatasetRepeats,
    cell_key,
    is_baseline,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import LEVEL, SENSITIVITY
from fairbench_cli.report.ledger.results import NO_ESTIMATE, Estimate, RunResults, compute_label_metric
from fairbench_cli.report.ledger.run_ledger import LOST, NO_RECORD, Ledger, Record, run_ledger
from fairbench_cli.report.ledger.sensitivity import Sensitivity
from fairbench_cli.report.ledger.shares import shares_frame

MOST_NAMED = 6  # levels of a group
TRIVIAL_SHARE = 0.1
"""Of the baseline's gap: one that is changed by less than this share of it is hardly narrower or wider."""
SEEN = CELL_COLUMNS.index("include_protected")
INTERVENTION = CELL_COLUMNS.index("intervention")

Outcome = Literal[
    "narrowed",
    "overshoots",
    "hardly",
    "nothing shown",
    "no gap shown",
    "untested",
    "no baseline",
    "no value",
]
"""The finding on a setting as a whole.

narrowed: a technique narrows the gap. overshoots: none narrows it without turning it round. hardly: some are
shown to narrow it, but hardly. nothing shown: none is shown to. no gap shown: the same, and the baseline has
no gap shown. untested: of one repeat, or of such a metric, nothing can be said of the population. no
baseline: there is no model without a technique. no value: it gave none.
"""


@dataclass(frozen=True)
class TechniqueFinding:
    """The finding on a technique, or on the model without one, in a setting.

    Parameters
    ----------
    technique : str
        As tables call it.
    key : tuple
        Its values of `CELL_COLUMNS`.
    is_baseline : bool
        Whether it is a model without a technique.
    n_repeats, n : int
        How many repeats were requested, and how many gave a value of the metric.
    kind : str
        A `change_kinds.Kind`; of the baseline "constant", "no value", "untested" or "".
    verdict : str
        The ``population_verdict`` of the change, whatever the kind.
    failures : tuple of (str, str, int)
        Why the other repeats gave none: status, reason and number of repeats, most frequent first.
    no_value_reason : str
        Why no repeat gave a value, in a word or two; empty where some did.
    accepts_nobody, accepts_everybody : int
        In how many repeats.
    numbers : dict of Estimate
        Its number in each of the answer's columns, by their keys.
    change_p : float
        Of the test that the signed change is 0, after Holm's adjustment over `n_tests` of its family.
    n_tests : int
    same_from_rows : float
        With how many rows, about, a change of 0 would be shown to be less than the margin; NaN where there
        are as many, or the metric has no margin.
    rows_basis : str
        What the words about the change rest on, as ``population_basis``, which says which rows are counted.
    is_smaller : bool
        Whether its gap is smaller than the baseline's, shown or not.
    is_trivial : bool
        Whether the change is shown to be less than the metric's margin, or is less than `TRIVIAL_SHARE` of
        the baseline's gap: a gap that is shown to be narrower or wider is "hardly" so.
    is_significant, is_near_ideal : bool
        Whether the value is shown to be off the metric's ideal, and whether it is shown to be less than its
        margin from it.
    is_on_front : bool
        Whether no technique is ahead of it on both means, and it is not constant.
    shortfalls : tuple of Shortfall
        What it is shown to be below; of discrimination alone.
    contrast : str
        The changes on true and on recorded labels together, a `bias_cost.Contrast`; empty where either is
        missing.
    shares : dict
        Its row of `shares_frame`: the share of people accepted and the levels of the attribute.
    sensitivity : Sensitivity
        What could have been shown of its change; of a plain model of its own gap.
    """

    technique: str
    key: CellKey
    is_baseline: bool
    n_repeats: int
    n: int
    kind: Kind | Literal[""]
    verdict: str
    failures: tuple[tuple[str, str, int], ...]
    no_value_reason: str
    accepts_nobody: int
    accepts_everybody: int
    numbers: Mapping[str, Estimate]
    change_p: float
    n_tests: int
    same_from_rows: float
    rows_basis: str
    is_smaller: bool
    is_trivial: bool
    is_significant: bool
    is_near_ideal: bool
    is_on_front: bool
    shortfalls: tuple[Shortfall, ...]
    contrast: Contrast | Literal[""]
    shares: Record
    sensitivity: Sensitivity

    def number(self, key: str) -> Estimate:
        """Return its number in a column; NaN where the run has no such column."""
        return self.numbers.get(key, NO_ESTIMATE)

    @property
    def value(self) -> Estimate:
        """Its metric of fairness."""
        return self.number("value")

    @property
    def accuracy(self) -> Estimate:
        """Its accuracy."""
        return self.number("accuracy")

    @property
    def change(self) -> Estimate:
        """Its metric of fairness less that of the plain model; NaN of the plain model itself."""
        return self.number("change")

    @property
    def cost(self) -> Estimate:
        """Its accuracy less that of the plain model; NaN of the plain model itself."""
        return self.number("cost")

    @property
    def true_change(self) -> Estimate:
        """In a world: its accuracy on true labels, less that of the plain model."""
        return self.number("true")

    @property
    def recorded_change(self) -> Estimate:
        """In a world: its accuracy on recorded labels, less that of the plain model."""
        return self.number("recorded")

    @property
    def intervention(self) -> str:
        """Its name in results."""
        return str(self.key[INTERVENTION])

    @property
    def is_own(self) -> bool:
        """Whether it is somebody's own code: no technique of fairbench, and none of a library."""
        root = self.intervention.partition(".")[0]
        return is_plugin(self.intervention) and root not in {"sklearn", *KNOWN_PACKAGES}

    @property
    def is_constant(self) -> bool:
        """Whether it decides the same for everybody in some repeat."""
        return self.accepts_nobody + self.accepts_everybody > 0

    @property
    def is_better(self) -> bool:
        """Whether it is shown to be nearer to the ideal than the plain model, and does not overshoot."""
        return self.kind == "better"

    @property
    def is_shown_alone(self) -> bool:
        """Whether a change is not shown though its interval, of one number by itself, leaves out 0."""
        leaves_out_zero = self.change.low > 0 or self.change.high < 0
        return self.kind == "not shown" and leaves_out_zero

    @property
    def narrows(self) -> bool:
        """Whether it is better by more than hardly anything."""
        return self.is_better and not self.is_trivial

    @property
    def gains_accuracy(self) -> bool:
        """Whether it is shown to be more accurate than the plain model on true labels."""
        return self.true_change.kind == "better"

    @property
    def is_artefact(self) -> bool:
        """Whether it is shown to lose accuracy on recorded labels and to gain it on true ones."""
        return self.contrast == "artefact"

    @property
    def is_trade_off(self) -> bool:
        """Whether it is shown to narrow the gap and to be less accurate, on true labels and recorded ones.

        Where the two are the same ones there is no contrast.
        """
        if self.contrast:
            loses_accuracy = self.contrast == "real"
        else:
            loses_accuracy = self.true_change.kind == "worse"
        return self.is_better and loses_accuracy


@dataclass(frozen=True)
class RunSetting:
    """The findings in a setting.

    Parameters
    ----------
    dataset, attribute, compared, world, representation, classifier, classifier_parameters, beta
        Its values of these columns, as in every file.
    dataset_label, classifier_label : str
        Their names in tables.
    deprived, favoured : str
        The groups, by their names in the card where it has any.
    selected : str
        What people with the favourable outcome are called: selected, unless the card has a word.
    label_gap : float
        The metric of the labels, mean over the repeats; NaN where labels have none.
    labels_of : str
        Which rows these are the labels of, as `labels_beside` says it.
    baseline : TechniqueFinding or None
        The model without a technique; the first, where it is there with and without the protected attribute.
    findings : tuple of TechniqueFinding
        The others, in the order of the config; those called ``none`` are other plain models.
    outcome : str
        An `Outcome`.
    leading : tuple of str
        The techniques that the outcome is about: those that narrow the gap, the one that leaves the smallest
        first, which sentences name; or those that overshoot.
    trained_on_truth : TechniqueFinding or None
        The model that was trained without the bias (`TRAINED_ON_TRUTH`), which is no technique; of two
        the one that sees as much as the plain model.
    bias_cost : Estimate
        In a world: the accuracy of the plain model on true labels, less that of the one trained without bias.
    exact : ExactWorld
        The exact numbers of the world, which need no training.
    """

    dataset: str
    attribute: str
    compared: str
    world: str
    representation: str
    classifier: str
    classifier_parameters: str
    beta: float
    dataset_label: str
    classifier_label: str
    deprived: str
    favoured: str
    selected: str
    label_gap: float
    labels_of: str
    baseline: TechniqueFinding | None
    findings: tuple[TechniqueFinding, ...]
    outcome: Outcome
    leading: tuple[str, ...]
    trained_on_truth: TechniqueFinding | None = None
    bias_cost: Estimate = NO_ESTIMATE
    exact: ExactWorld = UNKNOWN_WORLD

    @property
    def block_key(self) -> tuple[str, ...]:
        """The values that it has in common with the settings of other β."""
        return (
            self.dataset,
            self.attribute,
            self.compared,
            self.world,
            self.representation,
            self.classifier,
            self.classifier_parameters,
        )

    @property
    def all_findings(self) -> list[TechniqueFinding]:
        """The plain model, the one trained without the bias where it has a value, and the others."""
        findings = []
        if self.baseline is not None:
            findings.append(self.baseline)
        if self.trained_on_truth is not None and self.trained_on_truth.n:
            findings.append(self.trained_on_truth)
        return findings + list(self.findings)

    @property
    def has_baseline_value(self) -> bool:
        """Whether its plain model has a value, so that techniques can be compared with it."""
        return self.baseline is not None and self.baseline.n > 0

    @property
    def has_bias(self) -> bool:
        """Whether its rows are trained on in a world whose bias changes something."""
        return bool(self.world) and self.beta > 0

    def baseline_of(self, finding: TechniqueFinding) -> TechniqueFinding | None:
        """Return the plain model that a technique is compared with: one that sees as much, if any."""
        for candidate in self.all_findings:
            if candidate.is_baseline and candidate.key[SEEN] == finding.key[SEEN]:
                return candidate
        return self.baseline

    def finding(self, technique: str) -> TechniqueFinding:
        """Return the finding of a technique; `KeyError` when there is none."""
        return {finding.technique: finding for finding in self.findings}[technique]

    @property
    def techniques(self) -> list[TechniqueFinding]:
        """The findings without those of plain models."""
        return [finding for finding in self.findings if not finding.is_baseline]

    def restrict(self, metric: Metric, *, is_own: bool) -> "RunSetting":
        """Return the setting with somebody's own techniques alone or without these, and plain models."""
        findings = [finding for finding in self.findings if finding.is_baseline or finding.is_own == is_own]
        outcome, leading = _find_outcome(self.baseline, findings, metric)
        return replace(self, findings=tuple(findings), outcome=outcome, leading=leading)


@dataclass(frozen=True)
class RunAnswer:
    """The findings of a run.

    Parameters
    ----------
    metric : Metric
        Of fairness.
    settings : tuple of RunSetting
        In the order of the plan.
    labels : {"true", "recorded"}
        Of the test rows, that everything is about but `TechniqueFinding.true_change` and ``recorded_change``.
    columns : tuple of FindingColumn
        The numbers of each technique.
    margin : float or None
        Below which change of the metric it is said not to change.
    repeats : str
        How many repeats there are, where some cell lacks one; else empty.
    not_run : str
        The line on the cells that have not been run, which no setting has but where none has a result.
    n_planned : int
        How many settings there are, with those that have not been run.
    """

    metric: Metric
    settings: tuple[RunSetting, ...]
    labels: str = "true"
    columns: tuple[FindingColumn, ...] = ()
    margin: float | None = POINT
    repeats: str = ""
    not_run: str = ""
    n_planned: int = 0

    @property
    def blocks(self) -> list[list[RunSetting]]:
        """The settings, those together that differ in β alone."""
        return list(group_by(self.settings, lambda setting: setting.block_key).values())

    @property
    def own_technique(self) -> str:
        """The first technique that is somebody's own code, where there are others; else empty."""
        for setting in self.settings:
            own_findings = [finding for finding in setting.techniques if finding.is_own]
            if 0 < len(own_findings) < len(setting.techniques):
                return own_findings[0].technique
        return ""

    @property
    def has_betas(self) -> bool:
        """Whether β is above 0 in some setting; else no sentence is about it."""
        return any(setting.beta for setting in self.settings)

    @property
    def has_worlds(self) -> bool:
        """Whether some setting has a world."""
        return any(setting.world for setting in self.settings)


Chosen = Callable[[TechniqueFinding], bool]


def how_often(settings: Iterable[RunSetting], is_chosen: Chosen) -> list[tuple[str, int]]:
    """Return in how many of some settings each technique is chosen, the most often first."""
    n_settings: Counter[str] = Counter()
    for setting in settings:
        n_settings.update(finding.technique for finding in setting.findings if is_chosen(finding))
    return n_settings.most_common()


def settings_with(settings: Iterable[RunSetting], is_chosen: Chosen) -> list[RunSetting]:
    """Return the settings in which some technique is chosen."""
    return [setting for setting in settings if any(map(is_chosen, setting.findings))]


def main_setting(settings: Sequence[RunSetting]) -> RunSetting:
    """Return the setting of a block that is spoken of first: of the middle β with a baseline."""
    able = [setting for setting in settings if setting.has_baseline_value]
    ordered = sorted(able or settings, key=lambda setting: setting.beta)
    return ordered[len(ordered) // 2]


def answer_metric(run: RunResults) -> Metric:
    """Return the metric of fairness that a run's answer is about.

    It is `fairness_metric`, or discrimination where that is of rows and has no value for the groups compared.
    """
    metric = fairness_metric(run.plan.config)
    metrics_with_rows = set(run.select((metric.name, ACCURACY)).rows["metric"])
    if metrics_with_rows and metric.name not in metrics_with_rows:  # it is empty where nothing has been run
        return find_metric(FAIRNESS)
    return metric


@lru_cache(maxsize=2)  # the answer's text, its file and the page are of one run
def answer_of(run: RunResults) -> RunAnswer:
    """Return the answer to a run, from its means, its differences and its Pareto front."""
    # 1. Choose the metric of fairness, and the columns of the answer.
    metric = answer_metric(run)
    columns = run_columns(run.plan.config, metric.name, has_worlds=run.plan.has_worlds)
    metrics = {column.metric for column in columns}
    run.select(tuple(metrics))  # raises an error where one was not computed
    # 2. The tested numbers of these.
    context = _Context(
        ledger=run_ledger(run, metrics, metric.name),
        metric=metric,
        columns=columns,
        display_names=cell_labels.read_display_names(run.plan.config),
        n_repeats=run.plan.config.repeats,
        shares={(cell_key(row), row["compared"]): row for row in shares_frame(run).to_dict("records")},
    )
    # 3. Find the settings of each data set and of the groups compared there.
    data_by_dataset = {(data.dataset, data.attribute): data for data in run.datasets}
    cells_by_dataset = group_by(run.plan.cells, lambda cell: (cell["dataset"], cell["attribute"]))
    settings: list[RunSetting] = []
    for (dataset, attribute), cells in cells_by_dataset.items():
        repeats = data_by_dataset.get((dataset, attribute))
        compared_attributes: tuple[str, ...] = (attribute,)
        if repeats is not None:
            compared_attributes = repeats.compared_attributes(run.attributes)
        for compared in compared_attributes:
            settings += _find_settings(context, cells, compared, repeats)
    cells_run = set(run.cell_keys)
    with_results = []
    for setting in settings:
        findings = tuple(finding for finding in setting.findings if finding.key in cells_run)
        if findings or (setting.baseline is not None and setting.baseline.key in cells_run):
            with_results.append(replace(setting, findings=findings))
    return RunAnswer(
        metric=metric,
        settings=tuple(with_results or settings),
        labels=run.labels,
        columns=columns,
        margin=margin_of(metric, run.plan.config.margin),
        repeats=run.repeats_done("repeat") if run.lacks_repeats else "",
        not_run=_describe_unrun(run, cells_run) if with_results else "",
        n_planned=len(settings),
    )


def _describe_unrun(run: RunResults, cells_run: set[CellKey]) -> str:
    """Return in a line how many cells have not been run, and of which data sets; empty where all have."""
    unrun = [cell for cell in run.plan.cells if cell_key(cell) not in cells_run]
    if not unrun:
        return ""
    datasets = format_count(len({cell["dataset"] for cell in unrun}), "data set")
    return f"Not run yet: {len(unrun)} of {len(run.plan.cells)} cells, of {datasets}."


@dataclass(frozen=True)
class _Context:
    """What the findings of a run are made with: its tested numbers, metric of fairness, columns and names."""

    ledger: Ledger
    metric: Metric
    columns: tuple[FindingColumn, ...]
    display_names: cell_labels.DisplayNames
    n_repeats: int
    shares: Mapping[tuple[CellKey, str], Record]


_SETTING_COLUMNS = ["world", "representation", "classifier", "classifier_parameters", "beta"]
"""The columns that the cells of a setting have in common, next to data set and attribute."""


def _find_settings(
    context: _Context, cells: Sequence[dict[str, Any]], compared: str, data: DatasetRepeats | None
) -> Iterator[RunSetting]:
    """Yield the settings of a data set, an attribute and the groups compared, in the order of its cells.

    Parameters
    ----------
    cells : sequence of dict
        Those of the plan, of one data set and attribute.
    data : DatasetRepeats or None
        Their repeats; None where none has been run.
    """
    ledger = context.ledger
    run = ledger.run
    dataset = cells[0]["dataset"]
    attribute = cells[0]["attribute"]
    deprived, favoured = groups_in_words(run.plan.protected(dataset, attribute), compared)
    selected = run.plan.dataset(dataset, attribute).get("favourable_called", "selected")
    exact_worlds = exact_worlds_of_run(run)
    cells_by_setting = group_by(cells, lambda cell: tuple(cell[column] for column in _SETTING_COLUMNS))
    for setting_key, setting_cells in cells_by_setting.items():
        world, representation, classifier, parameters, beta = setting_key
        # 1. Tell the plain model, and that trained without the bias, from the techniques.
        findings = [_find_technique(context, cell, compared) for cell in setting_cells]
        baseline = next((finding for finding in findings if finding.is_baseline), None)
        trained_on_truth = _select_trained_on_truth(findings, baseline)
        techniques = []
        for finding in findings:
            if finding is not baseline and finding.intervention != cell_labels.TRAINED_ON_TRUTH:
                techniques.append(finding)
        outcome, leading = _find_outcome(baseline, techniques, context.metric)
        # 2. Compute the metric of the labels themselves.
        label_gap = np.nan
        labels_of = ""
        if data is not None:
            labels_of, label_counts = cell_labels.labels_beside(run, data, setting_cells[0])
            levels = data.levels(label_counts, compared)
            label_values = compute_label_metric(context.metric.name, levels)
            label_gap = float(mean_and_interval(label_values)["mean"])
        # 3. Look up what the bias of the world costs, and its exact numbers.
        bias_cost = NO_ESTIMATE
        if baseline is not None:
            row = ledger.row(baseline.key, compared, ACCURACY)
            bias_cost = LOST.read(ledger.remedies.get("true", {}).get(row, NO_RECORD))
        exact = None
        if world and baseline is not None:
            sees_protected = bool(baseline.key[SEEN])
            exact = exact_worlds.find(dataset, attribute, world, beta, include_protected=sees_protected)
        if world and exact is None:
            # No rule that sees as much as the plain model has exact numbers: another one may have some.
            exact = exact_worlds.find(dataset, attribute, world, beta)
        yield RunSetting(
            dataset=dataset,
            attribute=attribute,
            compared=compared,
            world=world,
            representation=representation,
            classifier=classifier,
            classifier_parameters=parameters,
            beta=beta,
            dataset_label=context.display_names.dataset(dataset),
            classifier_label=context.display_names.classifier(classifier, parameters),
            deprived=deprived,
            favoured=favoured,
            selected=selected,
            label_gap=label_gap,
            labels_of=labels_of,
            baseline=baseline,
            findings=tuple(techniques),
            outcome=outcome,
            leading=leading,
            trained_on_truth=trained_on_truth,
            bias_cost=bias_cost,
            exact=exact or UNKNOWN_WORLD,
        )


def _select_trained_on_truth(
    findings: Sequence[TechniqueFinding], baseline: TechniqueFinding | None
) -> TechniqueFinding | None:
    """Return the model trained without the bias that sees as much as the plain model, else the first."""
    candidates = [finding for finding in findings if finding.intervention == cell_labels.TRAINED_ON_TRUTH]
    if baseline is not None:
        for candidate in candidates:
            if candidate.key[SEEN] == bool(baseline.key[SEEN]):
                return candidate
    return next(iter(candidates), None)


def _find_technique(context: _Context, cell: Mapping[str, Any], compared: str) -> TechniqueFinding:
    """Return the finding on a cell and the groups compared, over the repeats that were requested."""
    # 1. Look up its numbers: those of the metric of fairness, and the contrast in accuracy.
    ledger = context.ledger
    key = cell_key(cell)
    row = ledger.row(key, compared, context.metric.name)
    technique = ledger.techniques.get(row, NO_RECORD)
    change = ledger.changes.get(row, NO_RECORD)
    front = ledger.fronts.get(row, NO_RECORD)
    contrast = ledger.contrasts.get(ledger.row(key, compared, ACCURACY), NO_RECORD)
    # 2. Count why repeats gave no value.
    statuses, reasons = ledger.run.cell_failures(key)
    n_failures: Counter[tuple[str, str]] = Counter()
    for status, reason in zip(statuses, reasons, strict=True):
        if reason:
            n_failures[status, reason] += 1
    failures = [(status, reason, n_repeats) for (status, reason), n_repeats in n_failures.most_common()]
    n = technique.get("n", 0)
    no_value_reason = ""
    if not n:
        no_value_reason = cell_labels.why_no_value([status for status in statuses if status])
    is_plain = is_baseline(cell["intervention"], cell["parameters"])
    tested = (change, technique)[is_plain]
    sensitivity = Sensitivity(**{name: tested[name] for name in SENSITIVITY if name in tested})
    return TechniqueFinding(
        technique=context.display_names.technique(*(cell[column] for column in TECHNIQUE)),
        key=key,
        is_baseline=is_plain,
        n_repeats=context.n_repeats,
        n=n,
        kind=change.get("kind") or _classify_uncompared(technique),
        verdict=change.get("population_verdict", ""),
        failures=tuple(failures),
        no_value_reason=no_value_reason,
        accepts_nobody=technique.get("accepts_nobody", 0),
        accepts_everybody=technique.get("accepts_everybody", 0),
        numbers={column.key: ledger.estimate(column, key, compared) for column in context.columns},
        change_p=change.get("population_difference_p_holm", np.nan),
        n_tests=change.get("population_tests", 0),
        same_from_rows=change.get("population_same_from_rows", np.nan),
        rows_basis=change.get("population_basis", ""),
        is_smaller=change.get("distance_difference", np.nan) < 0,
        is_trivial=is_trivial(change, technique, context.metric.ideal or 0.0),
        is_significant=technique.get("side", 0) in (1, -1),
        is_near_ideal=technique.get("p_same", np.nan) < LEVEL,
        is_on_front=bool(front.get("front", False)),
        shortfalls=ledger.shortfalls.get(row, ()),
        contrast=contrast.get("contrast", ""),
        shares=context.shares.get((key, compared), NO_RECORD),
        sensitivity=sensitivity,
    )


def is_trivial(change: Record, technique: Record, ideal: float) -> bool:
    """Return whether a change is shown to be negligible, or is a small share of the baseline's gap.

    Parameters
    ----------
    change : dict
        A row of `paired_frame`; empty where there is no baseline.
    technique : dict
        With the ``mean`` of the technique.
    """
    if not change:
        return False
    difference = change["difference"]
    baseline_gap = abs(technique["mean"] - difference - ideal)
    is_negligible = change["population_p_same"] < LEVEL
    return bool(is_negligible or abs(difference) < TRIVIAL_SHARE * baseline_gap)


def _classify_uncompared(technique: Record) -> Kind | Literal[""]:
    """Return the kind of a model that is not compared with another, such as the plain model."""
    if not technique.get("n", 0):
        return "no value"
    if technique["constant"]:
        return "constant"
    if np.isnan(technique["side"]):
        return "untested"
    return ""


def _find_outcome(
    baseline: TechniqueFinding | None, findings: Sequence[TechniqueFinding], metric: Metric
) -> tuple[Outcome, tuple[str, ...]]:
    """Return the outcome of a setting and the techniques that it is about, those with the least gap first."""
    # 1. Without a plain model there is nothing to compare with.
    if baseline is None:
        return "no baseline", ()
    if not baseline.n:
        return "no value", ()
    # 2. Where no technique narrows the gap, say why.
    narrowing = [finding for finding in findings if finding.narrows]
    if not narrowing:
        overshooting = tuple(finding.technique for finding in findings if finding.kind == "overshoots")
        if overshooting:
            return "overshoots", overshooting
        if baseline.kind == "untested":
            return "untested", ()
        if any(finding.is_better for finding in findings):
            return "hardly", ()
        if baseline.is_significant:
            return "nothing shown", ()
        return "no gap shown", ()
    # 3. Of those that do, the smallest gap left comes first.
    ideal = metric.ideal or 0.0
    narrowing.sort(key=lambda finding: abs(finding.value.mean - ideal))
    return "narrowed", tuple(finding.technique for finding in narrowing)


def groups_in_words(protected: ProtectedAttributes, compared: str) -> tuple[str, str]:
    """Return the deprived and the favoured group, by the card's names of people, else by their levels.

    Of several levels the shorter list names its group; the other is everybody else.

    >>> from fairbench_cli.measures.groups import ProtectedAttribute
    >>> sex = ProtectedAttribute("sex", ("f", "m"), ("f",), ("m",))
    >>> race = ProtectedAttribute("race", ("b", "o", "w"), ("b", "o"), ("w",))
    >>> protected = ProtectedAttributes((sex, race))
    >>> [groups_in_words(protected, compared) for compared in ("sex", "race", "sex × race")]
    [('f', 'm'), ('everybody but w', 'w'), ('everybody but m × w', 'm × w')]
    >>> race = ProtectedAttribute("race", tuple("abcdef"), ("a", "b", "c"), ("d", "e", "f"))
    >>> groups_in_words(ProtectedAttributes((race,)), "race")
    ('a, b or c', 'everybody else')
    """
    # 1. List the attributes that are compared, each once; a joint attribute stands for several.
    attributes_of_joint = {joint.name: joint.of for joint in protected.joint}
    names: dict[str, None] = {}
    for name in attribute_names(compared):
        names |= dict.fromkeys(attributes_of_joint.get(name, (name,)))
    attribute_by_name = {attribute.name: attribute for attribute in protected.attributes}
    attributes = [attribute_by_name[name] for name in names if name in attribute_by_name]
    # 2. Of an intersection the favoured are favoured by every attribute.
    if len(attributes) != 1:
        favoured = CROSS.join(_join_levels(attribute.favoured) for attribute in attributes)
        return f"everybody but {favoured}", favoured
    # 3. The card may have a name for the groups of an attribute.
    attribute = attributes[0]
    favoured = attribute.favoured_called or _join_levels(attribute.favoured)
    if attribute.deprived_called:
        return attribute.deprived_called, favoured
    if len(attribute.deprived) > 1 and len(attribute.deprived) > len(attribute.favoured):
        return f"everybody but {favoured}", favoured
    if len(attribute.favoured) > 2 and not attribute.favoured_called:
        favoured = "everybody else"
    return _join_levels(attribute.deprived), favoured


def _join_levels(levels: Sequence[str]) -> str:
    """Return some levels of an attribute in words: "a, b or c"; of more than six the last as a number."""
    level_names = list(levels)
    if len(level_names) > MOST_NAMED:
        level_names[MOST_NAMED - 1 :] = [f"{len(level_names) - MOST_NAMED + 1} others"]
    return " or ".join(
        [", ".join(level_names[:-1]), level_names[-1]] if len(level_names) > 1 else level_names
    )
