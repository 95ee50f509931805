"""What a run found, as data: per setting the gap, what each technique makes of it, and what that costs.

A setting is a data set, an attribute, the groups compared, a world, a representation, a classifier and β.
What is said of it is about the config's first metric of fairness (`fairness_metric`) and accuracy. Every word
that has chance to reckon with is about the population (`change_kinds.py`). `answer_text.py` writes it out,
and `answer_worlds.py` what is said of worlds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.base.grouping import group_by
from fairbench_cli.experiment.config.config import attribute_names
from fairbench_cli.measures.groups import CROSS, ProtectedAttributes
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.report.ledger.baselines import describe_shortfalls
from fairbench_cli.report.ledger.bias_cost import Contrast, bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.cell_labels import (
    TRAINED_ON_TRUTH,
    DisplayNames,
    read_display_names,
    why_no_value,
)
from fairbench_cli.report.ledger.change_kinds import Kind, classify_changes, run_technique_frame
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
    Texts,
    cell_key,
    is_baseline,
    mean_and_interval,
)
from fairbench_cli.report.ledger.paired_differences import (
    APART,
    LEVEL,
    pareto_frame,
    run_paired_frame,
    run_pareto_frame,
)
from fairbench_cli.report.ledger.results import RunResults, compute_label_metric

NOT_RUN = "not run yet"
TRIVIAL_SHARE = 0.1
"""Of the baseline's gap: a change by less than this share of it hardly changes it."""
SEEN = CELL_COLUMNS.index("include_protected")

Outcome = Literal[
    "best",
    "front",
    "several",
    "overshoots",
    "hardly",
    "nothing shown",
    "no gap shown",
    "untested",
    "no baseline",
    "no value",
]
"""What is said of a setting as a whole.

best: a technique narrows the gap, and is shown to be ahead of any other that does. front: several narrow
it; which one is best is a matter of what accuracy is worth. several: several narrow it; one has both means
ahead of theirs, but is not shown to be ahead. overshoots: none narrows it without turning it round. hardly:
some are shown to narrow it, but hardly. nothing shown: none is shown to. no gap shown: the same, and the
baseline has no gap shown. untested: of one repeat, or of such a metric, nothing can be said of the
population. no baseline: there is no model without a technique. no value: it gave none.
"""


@dataclass(frozen=True)
class Estimate:
    """A mean over the repeats with its 95 % interval in the population; NaN where there is none.

    Parameters
    ----------
    kind : str
        Of a difference its `change_kinds.Kind`; empty where there is none.
    n : int
        How many repeats have a value.
    """

    mean: float = np.nan
    low: float = np.nan
    high: float = np.nan
    kind: Kind | Literal[""] = ""
    n: int = 0


@dataclass(frozen=True)
class TechniqueFinding:
    """What became of a setting with a technique, or with none.

    Parameters
    ----------
    technique : str
        As tables call it.
    key : tuple
        Its values of `CELL_COLUMNS`.
    is_baseline : bool
        Whether it is a model without a technique.
    n_repeats, n : int
        How many repeats were asked for, and how many gave a value of the metric.
    kind : str
        A `kinds.Kind`; of the baseline "constant", "no value", "untested" or "".
    verdict : str
        The ``population_verdict`` of the change, whatever the kind.
    failures : tuple of (str, str, int)
        Why others gave none: status, reason and number of repeats, most frequent first.
    no_value_reason : str
        Why no repeat gave a value, in a word or two; empty where some did.
    accepts_nobody, accepts_everybody : int
        In how many repeats.
    numbers : dict of Estimate
        Its number in each of the answer's columns, by their keys.
    is_trivial : bool
        Whether the change is shown to be less than `SAME`, or is less than `TRIVIAL_SHARE` of the baseline's
        gap: then words about it say "hardly".
    is_significant, is_near_ideal : bool
        Whether the value is shown to be off the metric's ideal, and whether it is shown to be less than 0.01
        from it.
    dominated_by : tuple of str
        The techniques, constant ones aside, that are shown to be better on both metrics.
    is_on_front : bool
        Whether no technique is ahead of it on both means, and it is not constant.
    beaten_by : tuple of str
        What does better without a technique, shown, in a clause each; of discrimination alone.
    contrast : str
        What `true` and `recorded` are together, a `remedies.Contrast`; empty where there are not both.
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
    is_trivial: bool
    is_significant: bool
    is_near_ideal: bool
    dominated_by: tuple[str, ...]
    is_on_front: bool
    beaten_by: tuple[str, ...]
    contrast: Contrast | Literal[""]

    def number(self, key: str) -> Estimate:
        """Return its number in a column; NaN where the run has no such column."""
        return self.numbers.get(key, Estimate())

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
        return str(self.key[CELL_COLUMNS.index("intervention")])

    @property
    def is_constant(self) -> bool:
        """Whether it decides the same for everybody in some repeat."""
        return self.accepts_nobody + self.accepts_everybody > 0

    @property
    def is_better(self) -> bool:
        """Whether it is shown to be nearer to the ideal than the plain model, and does not overshoot."""
        return self.kind == "better"

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
        return self.is_better and (
            self.contrast == "real" or (not self.contrast and self.true_change.kind == "worse")
        )


@dataclass(frozen=True)
class RunSetting:
    """What was found in a setting.

    Parameters
    ----------
    dataset, attribute, compared, world, representation, classifier, classifier_parameters, beta
        What names it, as in every file.
    dataset_label, classifier_label : str
        What tables call them.
    deprived, favoured : str
        The groups, as people call them where the card says so.
    label_gap : float
        The metric of the labels of the test rows, mean over the repeats; NaN where labels have none.
    baseline : TechniqueFinding or None
        The model without a technique; the first, where it is there with and without the protected attribute.
    findings : tuple of TechniqueFinding
        The others, in the order of the config; those called ``none`` are other plain models.
    outcome : str
        An `Outcome`.
    leading : tuple of str
        The techniques that it speaks of: the best, those on the front, those that are ahead, by the gap left;
        or those that overshoot.
    trained_on_truth : TechniqueFinding or None
        The model that was trained without the bias (`TRAINED_ON_TRUTH`), which is no technique; of two
        the one that sees as much as the plain model.
    bias_cost : Estimate
        In a world: the accuracy of the plain model on true labels, less that of the one trained without bias.
    exact : ExactWorld
        What is known of the world without training.
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
    label_gap: float
    baseline: TechniqueFinding | None
    findings: tuple[TechniqueFinding, ...]
    outcome: Outcome
    leading: tuple[str, ...]
    trained_on_truth: TechniqueFinding | None = None
    bias_cost: Estimate = Estimate()
    exact: ExactWorld = UNKNOWN_WORLD

    @property
    def block_key(self) -> tuple[str, ...]:
        """What names it but β."""
        own = (self.dataset, self.attribute, self.compared, self.world, self.representation, self.classifier)
        return (*own, self.classifier_parameters)

    @property
    def all_findings(self) -> list[TechniqueFinding]:
        """The plain model, the one trained without the bias where it has a value, and the others."""
        first = [] if self.baseline is None else [self.baseline]
        if self.trained_on_truth is not None and self.trained_on_truth.n:
            first.append(self.trained_on_truth)
        return [*first, *self.findings]

    @property
    def has_baseline_value(self) -> bool:
        """Whether its plain model has a value, so that something can be said of techniques."""
        return self.baseline is not None and self.baseline.n > 0

    @property
    def has_bias(self) -> bool:
        """Whether its rows are trained on in a world whose bias changes something."""
        return bool(self.world) and self.beta > 0

    def baseline_of(self, finding: TechniqueFinding) -> TechniqueFinding | None:
        """Return the plain model that a technique is compared with: one that sees as much, if any."""
        plains = [one for one in (self.baseline, *self.findings) if one is not None and one.is_baseline]
        return next((one for one in plains if one.key[SEEN] == finding.key[SEEN]), self.baseline)

    def finding(self, technique: str) -> TechniqueFinding:
        """Return the finding of a technique; `KeyError` when there is none."""
        return {one.technique: one for one in self.findings}[technique]


@dataclass(frozen=True)
class RunAnswer:
    """What a run found.

    Parameters
    ----------
    metric : Metric
        Of fairness.
    settings : tuple of RunSetting
        In the order of the plan.
    labels : {"true", "recorded"}
        Of the test rows, that everything is about but `TechniqueFinding.true` and ``recorded``.
    columns : tuple of FindingColumn
        The numbers of each technique.
    """

    metric: Metric
    settings: tuple[RunSetting, ...]
    labels: str = "true"
    columns: tuple[FindingColumn, ...] = ()

    @property
    def blocks(self) -> list[list[RunSetting]]:
        """The settings, those together that differ in β alone."""
        return list(group_by(self.settings, lambda one: one.block_key).values())

    @property
    def has_betas(self) -> bool:
        """Whether β takes something away in some setting; else nothing is said of it."""
        return any(setting.beta for setting in self.settings)

    @property
    def has_worlds(self) -> bool:
        """Whether some setting has a world."""
        return any(one.world for one in self.settings)


Chosen = Callable[[TechniqueFinding], bool]


def how_often(settings: Iterable[RunSetting], chosen: Chosen) -> list[tuple[str, int]]:
    """Return in how many of some settings each technique is chosen, the most often first."""
    found = (one.technique for setting in settings for one in setting.findings if chosen(one))
    return Counter(found).most_common()


def settings_with(settings: Iterable[RunSetting], chosen: Chosen) -> list[RunSetting]:
    """Return the settings in which some technique is chosen."""
    return [setting for setting in settings if any(map(chosen, setting.findings))]


@lru_cache(maxsize=2)  # the answer's text, its file and the page are of one run
def answer_of(run: RunResults) -> RunAnswer:
    """Return the answer to a run, from its means, its differences and its Pareto front; it has both metrics.

    The metric is `fairness_metric`, or discrimination where that is of rows and known of no group asked for.
    """
    metric = fairness_metric(run.plan.config)
    results = run.select((metric.name, ACCURACY))
    known = set(results.rows["metric"])  # empty where nothing has been run yet
    if known and metric.name not in known:  # of rows, and none of its groups is asked for
        metric = find_metric(FAIRNESS)
        results = run.select((metric.name, ACCURACY))
    columns = run_columns(run.plan.config, metric.name, has_worlds=run.plan.has_worlds)
    metrics = {column.metric for column in columns}
    run.select(tuple(metrics))  # says so where one was not computed
    own, paired = (
        frame[frame["metric"].isin(metrics)] for frame in (run_technique_frame(run), run_paired_frame(run))
    )
    paired = paired.assign(kind=classify_changes(paired, own))
    if metric.name == FAIRNESS:
        pareto = run_pareto_frame(run)
    else:
        pareto = pareto_frame(results, (metric.name, ACCURACY))
    found = CellRows(
        _by_cell(own, "metric"),
        _by_cell(paired, "metric"),
        _by_cell(pareto),
        describe_shortfalls(run) if metric.name == FAIRNESS else {},
        _by_cell(bias_cost_frame(run), "metric", "labels") if run.plan.has_worlds else {},
        _by_cell(contrast_frame(run), "metric") if run.plan.has_worlds else {},
        {
            cell_key(cell): (statuses, reasons)
            for data in run.datasets
            for cell, statuses, reasons in zip(data.cells, data.status, data.reason, strict=True)
        },
    )
    held = {(data.dataset, data.attribute): data for data in run.datasets}
    settings: list[RunSetting] = []
    for place, cells in group_by(run.plan.cells, lambda cell: (cell["dataset"], cell["attribute"])).items():
        data = held.get(place)
        for compared in (place[1],) if data is None else data.compared_attributes(run.attributes):
            settings += _settings(run, metric, columns, cells, compared, data, found)
    return RunAnswer(metric, tuple(settings), run.labels, columns)


Rows = Mapping[tuple[Any, ...], Mapping[Any, Any]]
"""The rows of a frame by cell, groups compared and, of some, metric and labels."""


@dataclass(frozen=True)
class CellRows:
    """What was found of each cell: rows of the frames that are made by the functions of like names.

    Parameters
    ----------
    below : dict
        The clauses of `describe_shortfalls`, by the values of `COMPARED`.
    repeats : dict
        The statuses and reasons of the repeats that were run, by cell.
    """

    own: Rows
    paired: Rows
    pareto: Rows
    below: Mapping[CellKey, tuple[str, ...]]
    remedies: Rows
    contrasts: Rows
    repeats: Mapping[CellKey, tuple[Texts, Texts]]


def _by_cell(frame: pd.DataFrame, *more: str) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """Return the rows of a frame by their cell, groups compared and further columns."""
    keys = frame[[*CELL_COLUMNS, "compared", *more]].itertuples(index=False, name=None)
    return dict(zip(keys, frame.to_dict("records"), strict=True))


def _settings(
    run: RunResults,
    metric: Metric,
    columns: Sequence[FindingColumn],
    cells: Sequence[dict[str, Any]],
    compared: str,
    data: DatasetRepeats | None,
    found: CellRows,
) -> Iterator[RunSetting]:
    """Yield the settings of a data set, an attribute and the groups compared, in the order of its cells."""
    place = cells[0]["dataset"], cells[0]["attribute"]
    groups = groups_in_words(run.plan.protected(*place), compared)
    called = read_display_names(run.plan.config)
    facts = exact_worlds_of_run(run)
    within = group_by(cells, lambda cell: tuple(cell[column] for column in _WITHIN))
    for (world, representation, classifier, parameters, beta), own in within.items():
        repeats = run.plan.config.repeats
        findings = [_finding(cell, compared, metric, columns, repeats, found, called) for cell in own]
        plain = next((one for one in findings if one.is_baseline), None)
        if plain is None:
            seen = None
        else:
            seen = bool(plain.key[SEEN])
        truths = [one for one in findings if one.intervention == TRAINED_ON_TRUTH]
        truth = next((one for one in truths if one.key[SEEN] == seen), next(iter(truths), None))
        constant = {one.technique for one in findings if one.is_constant}
        others = tuple(
            replace(one, dominated_by=tuple(name for name in one.dominated_by if name not in constant))
            for one in findings
            if one is not plain and one.intervention != TRAINED_ON_TRUTH
        )
        labels = np.nan
        if data is not None:
            if run.labels == "true":
                counts = data.label_counts
            else:
                counts = data.label_counts_in_world(world, beta)
            of_labels = compute_label_metric(metric.name, data.levels(counts, compared))
            labels = float(mean_and_interval(of_labels)["mean"])
        of_plain = () if plain is None else (*plain.key, compared, ACCURACY, "true")
        lost = _estimate(found.remedies.get(of_plain, _NO_ROW), _LOST)
        # What is known to rules that see as much as the plain model, else to others.
        at = *place, world, beta
        if world:
            exact = facts.find(*at, include_protected=seen) or facts.find(*at)
        else:
            exact = None
        outcome, best = _outcome(plain, others, metric)
        named = (*place, compared, world, representation, classifier, parameters, beta)
        shown = called.dataset(place[0]), called.classifier(classifier, parameters), *groups
        yield RunSetting(
            *named, *shown, labels, plain, others, outcome, best, truth, lost, exact or UNKNOWN_WORLD
        )


_WITHIN = ["world", "representation", "classifier", "classifier_parameters", "beta"]


def _finding(
    cell: Mapping[str, Any],
    compared: str,
    metric: Metric,
    columns: Sequence[FindingColumn],
    repeats: int,
    found: CellRows,
    called: DisplayNames,
) -> TechniqueFinding:
    """Return the finding on a cell and the groups compared, over the repeats that were asked for."""
    key = cell_key(cell)
    place = (*key, compared)
    own = found.own.get((*place, metric.name), _NO_ROW)
    change = found.paired.get((*place, metric.name), _NO_ROW)
    front = found.pareto.get(place, _NO_ROW)
    statuses, why = found.repeats.get(key, ((), ()))
    reasons = Counter((status, reason) for status, reason in zip(statuses, why, strict=True) if reason)
    ahead = filter(None, front.get("population_clearly_dominated_by", "").split(APART))
    n = own.get("n", 0)
    return TechniqueFinding(
        technique=called.technique(*(cell[column] for column in TECHNIQUE)),
        key=key,
        is_baseline=is_baseline(cell["intervention"], cell["parameters"]),
        n_repeats=repeats,
        n=n,
        kind=change.get("kind") or _kind_alone(own),
        verdict=change.get("population_verdict", ""),
        failures=tuple((*each, times) for each, times in reasons.most_common()),
        no_value_reason="" if n else why_no_value([*filter(None, statuses)], repeats),
        accepts_nobody=own.get("accepts_nobody", 0),
        accepts_everybody=own.get("accepts_everybody", 0),
        numbers={column.key: _number(column, place, found) for column in columns},
        is_trivial=_is_trivial(change, own, metric.ideal or 0.0),
        is_significant=own.get("side", 0) in (1, -1),
        is_near_ideal=own.get("p_same", np.nan) < LEVEL,
        dominated_by=tuple(called.techniques.get(name, name) for name in ahead),
        is_on_front=bool(front.get("front", False)),
        beaten_by=found.below.get((*key[:2], compared, *key[2:]), ()),
        contrast=found.contrasts.get((*place, ACCURACY), _NO_ROW).get("contrast", ""),
    )


def _is_trivial(change: Mapping[Any, Any], own: Mapping[Any, Any], ideal: float) -> bool:
    """Return whether a change is shown to be less than `SAME`, or is a small share of the baseline's gap."""
    if not change:
        return False
    baseline_gap = abs(own["mean"] - change["difference"] - ideal)
    return bool(
        change["population_p_same"] < LEVEL or abs(change["difference"]) < TRIVIAL_SHARE * baseline_gap
    )


def _number(column: FindingColumn, place: CellKey, found: CellRows) -> Estimate:
    """Return the number of a cell and the groups compared in a column."""
    if column.labels:
        row = found.remedies.get((*place, column.metric, column.labels), _NO_ROW)
        return _estimate(row, _CHANGE if column.quantity == "change" else _VALUE)
    if column.quantity == "change":
        return _estimate(found.paired.get((*place, column.metric), _NO_ROW), _DIFFERENCE)
    return _estimate(found.own.get((*place, column.metric), _NO_ROW), _VALUE)


def _kind_alone(own: Mapping[Any, Any]) -> Kind | Literal[""]:
    """Return the kind of what is not compared with anything, such as a plain model."""
    if not own.get("n", 0):
        return "no value"
    if own["constant"]:
        return "constant"
    if np.isnan(own["side"]):
        return "untested"
    return ""


_NO_ROW: Mapping[Any, Any] = {}


_VALUE = ("mean", "low", "high", "")
_DIFFERENCE = ("difference", "population_low", "population_high", "kind")
_CHANGE = ("change", "change_low", "change_high", "kind")
_LOST = ("lost", "lost_low", "lost_high", "lost_kind")


def _estimate(row: Mapping[Any, Any], columns: Sequence[str]) -> Estimate:
    """Return the estimate in some columns of a row: a mean, the ends of its interval and maybe a kind."""
    mean, low, high = (float(row.get(name, np.nan)) for name in columns[:3])
    return Estimate(mean, low, high, row.get(columns[3], ""), row.get("n", 0))


def _outcome(
    plain: TechniqueFinding | None, findings: Sequence[TechniqueFinding], metric: Metric
) -> tuple[Outcome, tuple[str, ...]]:
    """Return the outcome of a setting and the techniques that it is of, those with the least gap first."""
    if plain is None or not plain.n:
        return "no baseline" if plain is None else "no value", ()
    better = [one for one in findings if one.narrows]
    if not better:
        over = tuple(one.technique for one in findings if one.kind == "overshoots")
        if over or plain.kind != "untested":
            if over:
                return ("overshoots", over)
            if any(one.is_better for one in findings):
                return "hardly", ()
            return ("nothing shown" if plain.is_significant else "no gap shown", ())
        return "untested", ()
    better.sort(key=lambda one: abs(one.value.mean - (metric.ideal or 0.0)))
    ahead = [one for one in better if not one.dominated_by] or better
    front = [one for one in ahead if one.is_on_front]
    if len(ahead) == 1:
        return "best", (ahead[0].technique,)
    if len(front) > 1:
        return "front", tuple(one.technique for one in front)
    return "several", tuple(one.technique for one in ahead)


def groups_in_words(protected: ProtectedAttributes, compared: str) -> tuple[str, str]:
    """Return the deprived and the favoured group, as the card calls people, else by their levels.

    >>> from fairbench_cli.measures.groups import ProtectedAttribute
    >>> sex = ProtectedAttribute("sex", ("f", "m"), ("f",), ("m",))
    >>> race = ProtectedAttribute("race", ("b", "o", "w"), ("b", "o"), ("w",))
    >>> both = ProtectedAttributes((sex, race))
    >>> groups_in_words(both, "sex"), groups_in_words(both, "race"), groups_in_words(both, "sex × race")
    (('f', 'm'), ('everybody but w', 'w'), ('everybody but m × w', 'm × w'))
    """
    names = attribute_names(compared)
    of = {joint.name: joint.of for joint in protected.joint}
    parts = dict.fromkeys(part for name in names for part in of.get(name, (name,)))
    own = [one for part in parts for one in protected.attributes if one.name == part]
    if len(own) == 1:
        one = own[0]
        favoured = one.favoured_called or " or ".join(one.favoured)
        if len(one.deprived) == 1:
            alone = one.deprived[0]
        else:
            alone = f"everybody but {favoured}"
        return one.deprived_called or alone, favoured
    favoured = CROSS.join(" or ".join(one.favoured) for one in own)
    return f"everybody but {favoured}", favoured
