"""The numbers of a run as its page's script draws them: whole numbers by panel, metric, technique and β."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

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
from fairbench_cli.report.ledger.columns import metric_unit
from fairbench_cli.report.ledger.exact_worlds import BETA, exact_worlds_of_run, strength_name
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, DatasetRepeats, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import Baseline
from fairbench_cli.report.ledger.results import Results, RunResults, compute_label_metric

FORM_OF: dict[str, tuple[Kind | str, Form]] = {
    "B": ("baseline", "base"),
    "L": ("labels", "labels"),
    "b": ("better", "better"),
    "o": ("overshoots", "over"),
    "w": ("worse", "worse"),
    "u": ("higher", "up"),
    "d": ("lower", "down"),
    "s": ("same", "same"),
    "c": ("constant", "constant"),
    ".": ("not shown", "open"),
    "?": ("untested", "open"),
    "-": ("no value", "open"),
    "k": ("known", "known"),
}
"""By the letter that a page's data have for it: what became of a metric, and the form of its mark."""

_LETTER = {kind: letter for letter, (kind, _) in FORM_OF.items()}

GRAIN = 100_000  # of a number, in a page
MOST = 1e6  # in absolute value: other numbers are none to a page
FAVOURABLE = "selection-rate"
REFUSES = "refuses everybody"
ACCEPTS = "accepts everybody"
NOT_RUN = "not run yet"

Whole = int | None
"""A number in grains; None for one that is none."""
Data = dict[str, Any]
"""A panel as the page's script reads it."""
Place = tuple[Any, ...]
Axes = tuple[list[str], list[Place], list[float]]
"""The metrics, techniques and β of a panel's arrays."""


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
        The best value, in grains.
    gap : bool
        Whether it is a distance between groups, of which less is better.
    axis : tuple of int
        The ends of its axis and the step between ticks, in grains.
    """

    name: str
    unit: str
    digits: int
    ideal: int | None
    gap: bool
    axis: tuple[int, int, int]

    @property
    def times(self) -> int:
        """How many of its unit are 1."""
        if self.unit:
            return 100
        return 1

    @property
    def step(self) -> int:
        """How many grains the last digit is."""
        return int(GRAIN // self.times // 10**self.digits)


def grains(values: Any, scale: Scale | None = None) -> list[Whole]:
    """Return numbers in grains; None for those that are none.

    Parameters
    ----------
    values : array-like
    scale : Scale, optional
        How they are written: the page's script rounds a number half way between two last digits up. One that
        is written with the lower digit everywhere else is a grain less, so that the page has that digit, too.

    >>> grains([0.15849, float("nan"), float("inf")])
    [15849, None, None]
    >>> points = Scale("discrimination", "points", 1, 0, True, (0, 1, 1))
    >>> grains([0.1586, 0.158499], points)
    [15860, 15849]
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(invalid="ignore"):
        known = np.abs(flat) < MOST
    whole = np.rint(np.where(known, flat, 0.0) * GRAIN).astype(np.int64)
    if scale is not None:
        is_half_way = known & (2 * abs(whole) % (2 * scale.step) == scale.step)
        for i in np.flatnonzero(is_half_way):
            rounded = float(f"{abs(flat[i]) * scale.times:.{scale.digits}f}")
            if rounded * GRAIN / scale.times < abs(whole[i]):
                whole[i] -= np.sign(whole[i])
    return [number if there else None for number, there in zip(whole.tolist(), known.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class GroupRates:
    """How many of each group get the favourable decision, of each attribute and of all.

    Parameters
    ----------
    attributes, names : list of str
        Of each group; all numbers are means over the repeats.
    rows : array, shape (β, groups)
        How many test rows it has.
    labels : array, shape (β, groups)
        The share of favourable labels.
    rates : array, shape (techniques, β, groups)
        The share of favourable decisions; NaN where there is none.
    """

    attributes: list[str]
    names: list[str]
    rows: Floats
    labels: Floats
    rates: Floats


@dataclass(frozen=True, eq=False)
class PanelNumbers:
    """What is compared with each other: a data set, an attribute, groups, a representation, a classifier.

    Parameters
    ----------
    of : dict of str
        What it is about, by the names of `BLOCK`.
    data : DatasetRepeats
        Where it is from.
    techniques : list of tuple
        The values of `TECHNIQUE`.
    betas : list of float
    mean, low, high, n : array, shape (metrics, techniques, β)
        Of the repeats.
    against : dict of dict
        By the label of a baseline: for each technique its place (``base``; None where a technique is not
        compared), and arrays of shape (metrics, techniques, β), ``difference``, ``low``, ``high``, and
        ``kind``, keys of `FORM_OF`.
    labels : array, shape (metrics, β)
        Of the labels of the test rows; NaN where they have none.
    known : array, shape (metrics, rules, β)
        Of `RULES`, exactly; NaN where nothing is known.
    on : {"true", "recorded"}
        Which labels of the test rows all numbers are about; empty in a run without worlds.
    strength : str
        What β is called: "β", or the parameter of a mechanism, such as "flip"; empty where it has none.
    kind : str
        Which bias β is, "label bias" or "prior shift"; empty where that is not known.
    called : Names
        What the config calls data sets, techniques and classifiers.
    """

    of: dict[str, str]
    data: DatasetRepeats
    techniques: list[Place]
    betas: list[float]
    mean: Floats
    low: Floats
    high: Floats
    n: Any
    against: dict[str, dict[str, Any]]
    labels: Floats
    known: Floats
    on: str
    strength: str
    kind: str
    called: DisplayNames

    def beside(self, *names: str) -> Place:
        """Return the values of all names but some: the same for panels that differ in these alone."""
        return tuple(value for name, value in self.of.items() if name not in names)

    @cached_property
    def cells(self) -> dict[int, int]:
        """The place of each of its cells among techniques and, within, β, by its place in the data set."""
        own = {name: value for name, value in self.of.items() if name != "compared"}
        return {
            i: self.techniques.index(tuple(cell[name] for name in TECHNIQUE)) * len(self.betas)
            + self.betas.index(cell["beta"])
            for i, cell in enumerate(self.data.cells)
            if all(cell[name] == value for name, value in own.items())
        }

    @cached_property
    def group_rates(self) -> GroupRates:
        """How many of each group get the favourable decision."""
        return group_rates_of(self)

    @property
    def names(self) -> list[str]:
        """What the techniques are called."""
        return [self.called.technique(*one) for one in self.techniques]

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """Its values of the page's switches, whatever world it is of."""
        return (("dataset", self.dataset), ("compared", self.of["compared"]), ("classifier", self.classifier))

    @property
    def world(self) -> str:
        """What its world is called."""
        return self.of["world"] or (BETA if self.strength == BETA else NO_BIAS)

    @property
    def which(self) -> str:
        """Which world and which labels its numbers are of; empty in a run without worlds."""
        if self.on:
            return f"{self.world} · {self.on} labels"
        return ""

    def which_at(self, beta: int) -> str:
        """Return its world, its strength at the place of a β, and its labels."""
        if self.strength:
            strength = f"{self.strength} = {self.betas[beta]:g}"
        else:
            strength = ""
        if strength and self.world == self.strength:
            world = ""
        else:
            world = self.world
        return " · ".join(filter(None, (world, strength, f"{self.on} labels")))

    @property
    def name(self) -> str:
        """Its data set, the groups compared, and its world."""
        return ", ".join(filter(None, (self.dataset, self.of["compared"], self.which)))

    @property
    def dataset(self) -> str:
        """What the data set is called."""
        return self.called.dataset(self.of["dataset"])

    @property
    def classifier(self) -> str:
        """What the classifier is called."""
        return self.called.classifier(self.of["classifier"], self.of["classifier_parameters"])


def panels_of(
    run: RunResults, results: Results, frames: Sequence[tuple[Baseline, pd.DataFrame, Sequence[str]]]
) -> list[PanelNumbers]:
    """Return the panels of a run, in the order of its results.

    Parameters
    ----------
    results : Results
        Of the metrics that are shown.
    frames : sequence of (Baseline, DataFrame, sequence of str)
        What the others are compared with, the frame of `paired_frame` that does so, and the kind of each row.
    """
    metrics = metrics_of(results)
    called = read_display_names(run.plan.config)
    rows = results.rows.assign(**mean_and_interval(results.values))
    others = [name for name in BLOCK if name != "world"]  # worlds of the same panel have the same techniques
    listed = {place: [*dict.fromkeys(_techniques(part))] for place, part in rows.groupby(others)}
    differences = [
        (base, dict(iter(frame.assign(letter=[_LETTER[kind] for kind in kinds]).groupby(BLOCK))))
        for base, frame, kinds in frames
    ]
    by_data = {(data.dataset, data.attribute): data for data in run.datasets}
    panels = []
    for place, own in rows.groupby(BLOCK, sort=False):
        of = dict(zip(BLOCK, map(str, place), strict=True))
        data = by_data[of["dataset"], of["attribute"]]
        source = run.plan.dataset(data.dataset, data.attribute)
        axes = metrics, listed[tuple(of[name] for name in others)], sorted(set(own["beta"]))
        mean, low, high, n = _laid_out(own, ["mean", "low", "high", "n_ok"], axes)
        against = {
            called.technique(base.intervention, base.parameters, bool(base.include_protected)): _against(
                base, part, axes
            )
            for base, parts in differences
            if (part := parts.get(place)) is not None
        }
        panels.append(
            PanelNumbers(
                of=of,
                data=data,
                techniques=axes[1],
                betas=axes[2],
                mean=mean,
                low=low,
                high=high,
                n=np.nan_to_num(n).astype(int),
                against=against,
                labels=_labels(data, of, axes),
                known=_known(run, of, axes, [*map(results.metric, metrics)]),
                on=run.labels if run.plan.has_worlds else "",
                strength=strength_name(source, of["world"]),
                kind=source.get("bias_kind", ""),
                called=called,
            )
        )
    return panels


def _techniques(rows: pd.DataFrame) -> list[Place]:
    """Return the technique of each row, by its values of `TECHNIQUE`."""
    return [*zip(*(rows[name].tolist() for name in TECHNIQUE), strict=True)]


def _laid_out(rows: pd.DataFrame, columns: list[str], axes: Axes, empty: Any = np.nan) -> Any:
    """Return columns of a panel's rows, shape (columns, metrics, techniques, β)."""
    metrics, techniques, betas = axes
    shape = len(columns), len(metrics), len(techniques), len(betas)
    found = np.full(shape, empty, dtype=object if isinstance(empty, str) else float)
    m = map(metrics.index, rows["metric"])
    t = map(techniques.index, _techniques(rows))
    found[:, [*m], [*t], [*map(betas.index, rows["beta"])]] = rows[columns].to_numpy().T
    return found


def _against(base: Baseline, rows: pd.DataFrame, axes: Axes) -> dict[str, Any]:
    """Return the differences to a baseline, as `PanelNumbers.against` has them."""
    names = {"difference": "difference", "low": "population_low", "high": "population_high"}
    numbers = dict(zip(names, _laid_out(rows, [*names.values()], axes), strict=True))
    seen = dict(zip(_techniques(rows), rows["baseline_include_protected"], strict=True))
    bases = {one: axes[1].index((base.intervention, base.parameters, bool(s))) for one, s in seen.items()}
    (letters,) = _laid_out(rows, ["letter"], axes, "-")
    return {"base": [*map(bases.get, axes[1])], **numbers, "kind": letters}


def _labels(data: DatasetRepeats, of: Mapping[str, Any], axes: Axes) -> Floats:
    """Return metrics of the labels of the test rows, means over the repeats: shape (metrics, β)."""
    metrics, _, betas = axes
    means = []
    for beta in betas:
        levels = data.levels(data.label_counts_in_world(of["world"], beta), of["compared"])
        values = [compute_label_metric(name, levels) for name in metrics]
        means.append([mean_and_interval(np.where(np.isfinite(own), own, np.nan))["mean"] for own in values])
    return np.array(means, dtype=np.float64).T


RULES = ("constant", "bayes", "oracle-thresholds")
"""Whose decisions are known without training: the same for everybody, the better one; whom the record says
to accept; the best threshold of each group, the truth known."""


def _known(run: RunResults, of: Mapping[str, Any], axes: Axes, metrics: Sequence[Metric]) -> Floats:
    """Return metrics of `RULES`: shape (metrics, rules, β)."""
    _, techniques, betas = axes
    found = np.full((len(metrics), len(RULES), len(betas)), np.nan)
    known = exact_worlds_of_run(run)
    config = run.plan.config
    seen = all(technique[TECHNIQUE.index("include_protected")] for technique in techniques)
    place = of["dataset"], of["attribute"], of["world"]
    for k, beta in enumerate(betas):
        world = known.find(*place, beta, include_protected=seen, features=config.test_features)
        world = world or known.find(*place, beta)
        if world is None:
            continue
        names = world.constant(run.labels), *RULES[1:]
        for m, metric in enumerate(metrics):
            if of["compared"] == of["attribute"] or metric.groups == "any":
                found[m, :, k] = [world.metric(rule, metric, run.labels) for rule in names]
    return found


def metrics_of(results: Results) -> list[str]:
    """Return the metrics of some results, each once, in their order."""
    return list(dict.fromkeys(results.rows["metric"]))


def _of_cells(panel: PanelNumbers) -> tuple[dict[str, str], dict[str, str]]:
    """Return why a technique and β have no value, and what is decided for everybody, by their number."""
    data = panel.data
    why = dict.fromkeys(range(len(panel.techniques) * len(panel.betas)), NOT_RUN)
    same = dict.fromkeys(why, "")
    for i, at in panel.cells.items():
        done = int(data.has_counts[i].sum())
        statuses = [text for text in data.status[i] if text]
        why[at] = ""
        if not done:
            reason = next((text for text in data.reason[i] if text), "")
            why[at] = why_no_value(statuses, data.status.shape[1]) + (f": {reason}" if reason else "")
            if (
                data.cells[i]["intervention"] == TRAINED_ON_TRUTH
                and data.recorded is not None
                and "ok" in statuses
            ):
                why[at] = "not counted on recorded labels"
        for times, word in zip(data.n_constant[i].tolist(), (REFUSES, ACCEPTS), strict=True):
            if times:
                same[at] = word if times == done else f"{word} in {times} of {done} repeats"
    first, second = ({str(at): text for at, text in own.items() if text} for own in (why, same))
    return first, second


def scale_of(metric: Metric, panels: Sequence[PanelNumbers], m: int) -> Scale:
    """Return how a metric is written and drawn, on one axis in all panels."""
    unit = metric_unit(metric)
    own = [(panel.mean[m].ravel(), panel.labels[m], panel.known[m, 1:].ravel()) for panel in panels]
    means = np.concatenate([np.zeros(0), *chain(*own)])
    means = means[np.abs(means) < MOST]
    ends = [metric.ideal] if metric.ideal is not None and np.isfinite(metric.ideal) else []
    if metric.direction in ("higher", "lower") and unit == "%":
        ends = []  # an accuracy of 1 is far from all others
    if metric.ratio and len(means):
        most = np.quantile(means, [0.02, 0.98])
    else:
        most = means
    low = min([*ends, *most], default=0.0)
    high = max([*ends, *most], default=1.0)
    room = 0.06 * (high - low) or 0.05
    low = low - room
    high = high + room
    step = round_step((high - low) / 4)
    if metric.ideal is None or not np.isfinite(metric.ideal):
        ideal = None
    else:
        ideal = round(metric.ideal * GRAIN)
    axis = math.floor(low * GRAIN), math.ceil(high * GRAIN), max(1, round(step * GRAIN))
    if unit:
        digits = 1
    elif metric.ratio or metric.is_test:
        digits = 2
    else:
        digits = 3
    gap = unit == "points" and metric.ideal == 0
    return Scale(metric.name, unit, digits, ideal, gap, axis)


def panel_data(panel: PanelNumbers, scales: Sequence[Scale], told: list[list[str]]) -> Data:
    """Return a panel as a page's script reads it: of each metric a list over techniques and, within, β.

    Parameters
    ----------
    told : list of [str, str]
        What is said of it at each β, in short, and all else.
    """

    def listed(numbers: Floats) -> list[list[Whole]]:
        return [
            grains(own, scale) if np.isfinite(own).any() else []
            for own, scale in zip(numbers, scales, strict=True)
        ]

    why, same = _of_cells(panel)
    return {
        "name": panel.name,
        "which": panel.which,
        "strength": panel.strength,
        "about": dict(panel.about) | ({"world": panel.world} if panel.on else {}),
        "techniques": panel.names,
        "upper": upper_of(panel),
        "betas": panel.betas,
        "at": [f"{beta:g}" for beta in panel.betas],
        "mean": listed(panel.mean),
        "low": listed(panel.low),
        "high": listed(panel.high),
        "n": [int(own.flat[0]) if (own == own.flat[0]).all() else own.ravel().tolist() for own in panel.n],
        "repeats": panel.data.status.shape[1],
        "why": why,
        "same": same,
        "labels": [_once(grains(own, scale)) for own, scale in zip(panel.labels, scales, strict=True)],
        "known": listed(panel.known),
        "groups": _groups(panel),
        "against": {
            label: {
                "base": one["base"],
                **{name: listed(one[name]) for name in ("difference", "low", "high")},
                "kind": ["".join(own.ravel()) for own in one["kind"]],
            }
            for label, one in panel.against.items()
        },
        "parts": technique_groups(panel),
        "told": told,
    }


def technique_groups(panel: PanelNumbers) -> list[list[int]]:
    """Return the techniques of a panel in groups that fit into one picture."""
    return list(parts_of(len(panel.techniques), upper_of(panel)))


def upper_of(panel: PanelNumbers) -> list[int]:
    """Return the places of the techniques that know the truth."""
    return [t for t, (intervention, *_) in enumerate(panel.techniques) if intervention == TRAINED_ON_TRUTH]


def parts_of(count: int, upper: Sequence[int]) -> Iterator[list[int]]:
    """Yield the techniques of a panel in groups that fit into one picture, the first of all in each.

    Those that know the truth (`upper`) are in none: they are lines to hold the others against.

    >>> list(parts_of(8, upper=[3]))
    [[0, 1, 2, 4], [0, 5, 6, 7]]
    """
    own = [t for t in range(count) if t not in upper or t == 0]
    n = len(own)
    most = len(LINES)
    if n <= most:
        yield own
        return
    groups = -(-(n - 1) // (most - 1))
    size = -(-(n - 1) // groups)
    for start in range(1, n, size):
        yield [own[0], *own[start : start + size]]


def _once(values: list[Any]) -> Any:
    """Return the value that all are; else all.

    >>> _once([1, 1]), _once([1, None])
    (1, [1, None])
    """
    if all(value == values[0] for value in values):
        return values[0]
    return values


SHARE = Scale(FAVOURABLE, "%", 1, None, False, (0, GRAIN, GRAIN))


def _means(values: Floats) -> Floats:
    """Return means over the repeats, the last axis but one."""
    means: Floats = mean_and_interval(np.moveaxis(values, -2, -1))["mean"]
    return means


def group_rates_of(panel: PanelNumbers) -> GroupRates:
    """Return the test rows, labels and decisions of a panel by group."""
    data = panel.data
    world = panel.of["world"]
    attributes = [*dict.fromkeys([*data.protected.names, CROSS.join(data.protected.names)])]

    def rates(levels: Sequence[Counts]) -> Floats:
        """Return rates of groups, means over the repeats: shape (..., groups)."""
        return np.concatenate([_means(rate_by_group(counts, FAVOURABLE)) for counts in levels], axis=-1)

    levels = [data.levels(data.counts, attribute) for attribute in attributes]
    rates_of_cells = rates(levels)
    n_groups = rates_of_cells.shape[-1]
    by_technique = np.full((len(panel.techniques) * len(panel.betas), n_groups), np.nan)
    for i, at in panel.cells.items():
        by_technique[at] = rates_of_cells[i]
    rows = []
    shares = []
    for beta in panel.betas:
        labels = [data.levels(data.label_counts_in_world(world, beta), attribute) for attribute in attributes]
        rows.append(np.concatenate([_means(counts.group_total) for counts in labels]))
        shares.append(rates(labels))
    return GroupRates(
        attributes=[name for name, counts in zip(attributes, levels, strict=True) for _ in counts.groups],
        names=[str(group) for counts in levels for group in counts.groups],
        rows=np.array(rows),
        labels=np.array(shares),
        rates=by_technique.reshape(len(panel.techniques), len(panel.betas), n_groups),
    )


def _groups(panel: PanelNumbers) -> Data:
    """Return the rates of groups as the page's script reads them; by β where they differ."""
    groups = panel.group_rates
    by_technique = groups.rates.reshape(-1, len(groups.names))
    return {
        "rows": _each([grains(rows / GRAIN) for rows in groups.rows]),
        "labels": _each([grains(labels, SHARE) for labels in groups.labels]),
        "rates": [grains(rates, SHARE) for rates in by_technique],
    }


def _each(of_betas: list[list[Whole]]) -> list[list[Whole]]:
    """Return lists by β; one list alone where all are the same."""
    if all(one == of_betas[0] for one in of_betas):
        return of_betas[:1]
    return of_betas
