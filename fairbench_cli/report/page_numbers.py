"""The numbers of a run as its page draws them: whole numbers by panel, metric, technique and β.

A page's script draws charts again from the same numbers, and so both write the same digits.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.document.charts import LINES, Form, round_step
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.report.kinds import Kind
from fairbench_cli.report.paired import Baseline
from fairbench_cli.report.reading import signed
from fairbench_cli.report.repeats import TECHNIQUE, DatasetRepeats, mean_and_interval
from fairbench_cli.report.results import Results, RunResults, labels_measured
from fairbench_cli.report.tables import BLOCK, NO_BIAS, TRUTH, Names, names_of, why_nothing
from fairbench_cli.report.worlds import BETA, facts_of_run, strength_of

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
REFUSES, ACCEPTS = "refuses everybody", "accepts everybody"
NOT_RUN = "not run yet"

Whole = int | None
"""A number in grains; None for one that is none."""
Data = dict[str, Any]
"""A panel as the page's script reads it."""
Place = tuple[Any, ...]
Key = tuple[Place, Place, float, str]  # place, technique, β, metric
Cells = dict[Place, tuple[dict[Place, int], dict[float, int]]]  # by place: techniques, and β, by number


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
        return 100 if self.unit else 1

    @property
    def named(self) -> str:
        """The metric and its unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    @property
    def step(self) -> int:
        """How many grains the last digit is."""
        return int(GRAIN // self.times // 10**self.digits)

    def written(self, grains: int, sign: str = "") -> str:
        """Write a number; `sign` is what stands before those above 0.

        >>> Scale("discrimination", "points", 1, 0, True, (0, 1, 1)).written(-15_849)
        '−15.8'
        """
        last = (2 * abs(grains) + self.step) // (2 * self.step)
        whole, rest = divmod(last, 10**self.digits)
        before = "" if last == 0 else "−" if grains < 0 else sign
        return f"{before}{whole}.{rest:0{self.digits}d}"

    def with_unit(self, grains: int) -> str:
        """Write a number with its unit."""
        return f"{self.written(grains)}{f' {self.unit}' if self.unit else ''}"

    def value(self, grains: int) -> float:
        """Return a number in its unit."""
        return grains / (GRAIN / self.times)

    def place(self, grains: int) -> float:
        """Return where a number stands on the axis, in per cent."""
        low, high, _ = self.axis
        return round(100 * (max(low, min(high, grains)) - low) / (high - low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Return the places of round numbers, and how they are written."""
        low, high, step = self.axis
        inside = range(-(-low // step), high // step + 1)
        return [(self.place(k * step), self.written(k * step).rstrip("0").rstrip(".")) for k in inside]


def unit_of(metric: Metric) -> str:
    """Return in what a metric is told: points for differences of rates, % for rates, else nothing.

    >>> from fairbench_cli.measures.registry import find
    >>> [unit_of(find(name)) for name in ("discrimination", "accuracy", "acceptance-rate", "impact-ratio")]
    ['points', '%', '%', '']
    """
    if metric.is_test or metric.high != 1 or metric.low not in (0, -1):
        return ""
    base = metric.alias_of or metric.name
    if "difference" in base or "spread" in base:
        return "points"
    return "%" if metric.section == "rate" or base == "selection-rate" else ""


def grains(values: Any, scale: Scale | None = None) -> list[Whole]:
    """Return numbers in grains; None for those that are none.

    Parameters
    ----------
    values : array-like
    scale : Scale, optional
        How they are written. Grains are written as the numbers themselves would be: one that lies half way
        between two last digits is a grain less where the number is rounded down.

    >>> grains([0.15849, float("nan"), float("inf")])
    [15849, None, None]
    >>> points = Scale("discrimination", "points", 1, 0, True, (0, 1, 1))
    >>> points.written(15850), grains([0.158499], points)
    ('15.9', [15849])
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(invalid="ignore"):
        known = np.abs(flat) < MOST
    whole = np.rint(np.where(known, flat, 0.0) * GRAIN).astype(np.int64)
    if scale is not None:
        for i in np.flatnonzero(known & (2 * abs(whole) % (2 * scale.step) == scale.step)):
            if scale.written(int(whole[i])) != signed(flat[i] * scale.times, scale.digits, ""):
                whole[i] -= np.sign(whole[i])
    return [number if there else None for number, there in zip(whole.tolist(), known.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class Against:
    """Differences of a panel's techniques to one of them; arrays of shape (metrics, techniques, β).

    Parameters
    ----------
    base : list of (int or None)
        For each technique, the place of the one that it is compared with.
    letter : array of str
        Keys of `FORM_OF`.
    """

    base: list[int | None]
    difference: Floats
    low: Floats
    high: Floats
    letter: Any


@dataclass(frozen=True, eq=False)
class PanelNumbers:
    """What is compared with each other: a data set, an attribute, groups, a representation, a classifier.

    Parameters
    ----------
    place : tuple
        The values of `BLOCK`.
    data : DatasetRepeats
        Where it is from.
    techniques : list of tuple
        The values of `TECHNIQUE`.
    betas : list of float
    mean, low, high, n : array, shape (metrics, techniques, β)
        Of the repeats.
    why : array of str, shape (techniques, β)
        Why there is no value; empty where there is one.
    same : array of str, shape (techniques, β)
        What is decided for everybody in some repeat; empty where nothing is.
    against : dict
        By the label of the baseline.
    labels : array, shape (metrics, β)
        Of the labels of the test rows; NaN where they have none.
    known : array, shape (metrics, rules, β)
        Of `RULES`, exactly; NaN where nothing is known.
    on : {"true", "recorded"}
        Which labels of the test rows all numbers are about.
    strength : str
        What β is called: "β", or the parameter of a mechanism, such as "flip"; empty where it has none.
    kind : str
        Which bias β is, "label bias" or "prior shift"; empty where that is not known.
    called : Names
        What the config calls data sets, techniques and classifiers.
    """

    place: Place
    data: DatasetRepeats
    techniques: list[Place]
    betas: list[float]
    mean: Floats
    low: Floats
    high: Floats
    n: Any
    why: Any
    same: Any
    against: dict[str, Against]
    labels: Floats
    known: Floats
    on: str
    strength: str
    kind: str
    called: Names

    @property
    def of(self) -> dict[str, str]:
        """Its place by the names of `BLOCK`."""
        return dict(zip(BLOCK, map(str, self.place), strict=True))

    def beside(self, *names: str) -> Place:
        """Return its place without some of its parts: the same for panels that differ in these alone."""
        return tuple(value for name, value in self.of.items() if name not in names)

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a cell of its data set is one of its own."""
        return tuple(str(cell[name]) for name in BLOCK if name != "compared") == self.beside("compared")

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
        return f"{self.world} · {self.on} labels" if self.on else ""

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
    order = {name: i for i, name in enumerate(metrics_of(results))}
    cells: Cells = {}
    listed: dict[Place, dict[Place, int]] = {}  # worlds of the same panel have the same techniques
    keys = list(_keys(results.rows))
    for place, technique, beta, _ in keys:
        apart = tuple(value for name, value in zip(BLOCK, place, strict=True) if name != "world")
        techniques, betas = cells.setdefault(place, (listed.setdefault(apart, {}), {}))
        techniques.setdefault(technique, len(techniques))
        betas.setdefault(beta, len(betas))
    for place, (techniques, betas) in cells.items():
        cells[place] = techniques, {beta: i for i, beta in enumerate(sorted(betas))}
    found = mean_and_interval(results.values)
    numbers = np.stack([found[name] for name in ("mean", "low", "high", "n_ok")], axis=1)
    arrays = _laid_out(keys, numbers, cells, order, np.nan)
    called = names_of(run.plan.config)
    against = {
        called.technique(base.intervention, base.parameters, bool(base.seen)): _against(
            base, frame, kinds, cells, order
        )
        for base, frame, kinds in frames
    }
    by_data = {(data.dataset, data.attribute): data for data in run.datasets}
    panels = []
    for place, (techniques, betas) in cells.items():
        of = dict(zip(BLOCK, place, strict=True))
        data = by_data[of["dataset"], of["attribute"]]
        source = run.plan.dataset(data.dataset, data.attribute)
        mean, low, high, n = arrays[place]
        why, same = _of_cells(data, place, techniques, betas, run.plan.config.repeats)
        panels.append(
            PanelNumbers(
                place=place,
                data=data,
                techniques=list(techniques),
                betas=list(betas),
                mean=mean,
                low=low,
                high=high,
                n=np.nan_to_num(n).astype(int),
                why=why,
                same=same,
                against={label: one[place] for label, one in against.items() if place in one},
                labels=_labels(data, of, list(betas), list(order)),
                known=_known(run, of, list(techniques), list(betas), [*map(results.metric, order)]),
                on=run.labels if run.plan.has_worlds else "",
                strength=strength_of(source, of["world"]),
                kind=source.get("bias_kind", ""),
                called=called,
            )
        )
    return panels


def _labels(
    data: DatasetRepeats, of: Mapping[str, Any], betas: Iterable[float], metrics: list[str]
) -> Floats:
    """Return metrics of the labels of the test rows, means over the repeats: shape (metrics, β)."""
    means = []
    for beta in betas:
        levels = data.levels(data.labels_at(of["world"], beta), of["compared"])
        values = [labels_measured(name, levels) for name in metrics]
        means.append([mean_and_interval(np.where(np.isfinite(own), own, np.nan))["mean"] for own in values])
    return np.array(means, dtype=np.float64).T


RULES = ("constant", "bayes", "oracle-thresholds")
"""Whose decisions are known without training: the same for everybody, the better one; whom the record says
to accept; the best threshold of each group, the truth known."""


def _known(
    run: RunResults,
    of: Mapping[str, Any],
    techniques: Iterable[Place],
    betas: Sequence[float],
    metrics: Sequence[Metric],
) -> Floats:
    """Return metrics of `RULES`: shape (metrics, rules, β)."""
    found = np.full((len(metrics), len(RULES), len(betas)), np.nan)
    known, config = facts_of_run(run), run.plan.config
    seen = all(technique[TECHNIQUE.index("include_protected")] for technique in techniques)
    place = of["dataset"], of["attribute"], of["world"]
    for k, beta in enumerate(betas):
        world = known.at(*place, beta, include_protected=seen, features=config.test_features)
        world = world or known.at(*place, beta)
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


def _keys(frame: pd.DataFrame) -> Iterable[Key]:
    """Yield place, technique, β and metric of rows."""
    columns = [[*frame[name]] for name in (*BLOCK, *TECHNIQUE, "beta", "metric")]
    a, b = len(BLOCK), len(BLOCK) + len(TECHNIQUE)
    return (
        (row[:a], (*row[a : b - 1], bool(row[b - 1])), float(row[b]), row[b + 1])
        for row in zip(*columns, strict=True)
    )


def _against(
    base: Baseline, frame: pd.DataFrame, kinds: Sequence[str], cells: Cells, order: dict[str, int]
) -> dict[Place, Against]:
    """Return the differences of a frame by place."""
    numbers = frame[["difference", "population_low", "population_high"]].to_numpy(dtype=float)
    letters = np.array([[_LETTER[kind]] for kind in kinds], dtype=object).reshape(-1, 1)
    keys = list(_keys(frame))
    differences = _laid_out(keys, numbers, cells, order, np.nan)
    words = _laid_out(keys, letters, cells, order, "-")
    bases: dict[Place, list[int | None]] = {place: [None] * len(cells[place][0]) for place in differences}
    for (place, technique, _, _), seen in zip(keys, frame["baseline_include_protected"], strict=True):
        techniques, _ = cells[place]
        bases[place][techniques[technique]] = techniques[base.intervention, base.parameters, bool(seen)]
    return {
        place: Against(bases[place], own[0], own[1], own[2], words[place][0])
        for place, own in differences.items()
    }


def _laid_out(
    keys: Iterable[Key], values: Any, cells: Cells, order: Mapping[str, int], empty: Any
) -> dict[Place, Any]:
    """Return values of rows, shape (rows, n), by place: arrays of shape (n, metrics, techniques, β)."""
    found: dict[Place, Any] = {}
    for (place, technique, beta, metric), own in zip(keys, values, strict=True):
        techniques, betas = cells[place]
        if place not in found:
            shape = values.shape[1], len(order), len(techniques), len(betas)
            found[place] = np.full(shape, empty, dtype=values.dtype)
        found[place][:, order[metric], techniques[technique], betas[beta]] = own
    return found


def _of_cells(
    data: DatasetRepeats, place: Place, techniques: dict[Place, int], betas: dict[float, int], repeats: int
) -> tuple[Any, Any]:
    """Return of each technique and β why it has no value, and what it decides for everybody."""
    why, same = (np.full((len(techniques), len(betas)), word, dtype=object) for word in (NOT_RUN, ""))
    of, constant = dict(zip(BLOCK, place, strict=True)), data.constant.tolist()
    for i, cell in enumerate(data.cells):
        if any(cell[name] != of[name] for name in BLOCK if name != "compared"):
            continue
        at = techniques[tuple(cell[name] for name in TECHNIQUE)], betas[cell["beta"]]
        statuses = [text for text in data.status[i] if text]
        done = int(data.done[i].sum())
        why[at] = ""
        if not done:
            reason = next((text for text in data.reason[i] if text), "")
            why[at] = why_nothing(statuses, repeats) + (f": {reason}" if reason else "")
            if cell["intervention"] == TRUTH and data.recorded is not None and "ok" in statuses:
                why[at] = "not counted on recorded labels"
        for times, word in zip(constant[i], (REFUSES, ACCEPTS), strict=True):
            if times:
                same[at] = word if times == done else f"{word} in {times} of {done} repeats"
    return why, same


def scale_of(metric: Metric, panels: Sequence[PanelNumbers], m: int) -> Scale:
    """Return how a metric is written and drawn, on one axis in all panels."""
    unit = unit_of(metric)
    own = [(panel.mean[m].ravel(), panel.labels[m], panel.known[m, 1:].ravel()) for panel in panels]
    means = np.concatenate([np.zeros(0), *chain(*own)])
    means = means[np.abs(means) < MOST]
    ends = [metric.ideal] if metric.ideal is not None and np.isfinite(metric.ideal) else []
    if metric.direction in ("higher", "lower") and unit == "%":
        ends = []  # an accuracy of 1 is far from all others
    most = np.quantile(means, [0.02, 0.98]) if metric.ratio and len(means) else means
    low, high = min([*ends, *most], default=0.0), max([*ends, *most], default=1.0)
    room = 0.06 * (high - low) or 0.05
    low, high = low - room, high + room
    step = round_step((high - low) / 4)
    ideal = None if metric.ideal is None or not np.isfinite(metric.ideal) else round(metric.ideal * GRAIN)
    axis = math.floor(low * GRAIN), math.ceil(high * GRAIN), max(1, round(step * GRAIN))
    digits = 1 if unit else 2 if metric.ratio or metric.is_test else 3
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

    def short_of(texts: Any) -> dict[str, str]:
        return {str(i): text for i, text in enumerate(texts.ravel()) if text}

    upper = [t for t, (intervention, *_) in enumerate(panel.techniques) if intervention == TRUTH]
    return {
        "name": ", ".join(filter(None, (panel.dataset, panel.of["compared"], panel.which))),
        "which": panel.which,
        "strength": panel.strength,
        "about": dict(panel.about) | ({"world": panel.world} if panel.on else {}),
        "techniques": panel.names,
        "upper": upper,
        "betas": panel.betas,
        "at": [f"{beta:g}" for beta in panel.betas],
        "mean": listed(panel.mean),
        "low": listed(panel.low),
        "high": listed(panel.high),
        "n": [int(own.flat[0]) if (own == own.flat[0]).all() else own.ravel().tolist() for own in panel.n],
        "repeats": panel.data.status.shape[1],
        "why": short_of(panel.why),
        "same": short_of(panel.same),
        "labels": [_once(grains(own, scale)) for own, scale in zip(panel.labels, scales, strict=True)],
        "known": listed(panel.known),
        "groups": _groups(panel),
        "against": {
            label: {
                "base": one.base,
                "difference": listed(one.difference),
                "low": listed(one.low),
                "high": listed(one.high),
                "kind": ["".join(own.ravel()) for own in one.letter],
            }
            for label, one in panel.against.items()
        },
        "parts": list(parts_of(len(panel.techniques), upper)),
        "told": told,
    }


def parts_of(count: int, upper: Sequence[int]) -> Iterator[list[int]]:
    """Yield the techniques of a panel in groups that fit into one picture, the first of all in each.

    Those that know the truth (`upper`) are in none: they are lines to hold the others against.

    >>> list(parts_of(8, upper=[3]))
    [[0, 1, 2, 4], [0, 5, 6, 7]]
    """
    own = [t for t in range(count) if t not in upper or t == 0]
    n, most = len(own), len(LINES)
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
    return values[0] if all(value == values[0] for value in values) else values


SHARE = Scale(FAVOURABLE, "%", 1, None, False, (0, GRAIN, GRAIN))


def _means(values: Floats) -> Floats:
    """Return means over the repeats, the last axis but one."""
    means: Floats = mean_and_interval(np.moveaxis(values, -2, -1))["mean"]
    return means


def _groups(panel: PanelNumbers) -> Data:
    """Return rows, labels and the rate of favourable decisions by group: of each attribute and of all."""
    data = panel.data
    names: list[tuple[str, ...]] = [(name,) for name in data.protected.names]
    levels = [data.levels(data.counts, CROSS.join(name)) for name in names]
    if len(names) > 1:
        levels.append(data.levels(data.counts, CROSS.join(data.protected.names)))
        names.append(data.protected.names)

    def rates(levels: Sequence[Counts]) -> Floats:
        """Return rates of groups, means over the repeats: shape (..., groups)."""
        return np.concatenate([_means(rate_by_group(one, FAVOURABLE)) for one in levels], axis=-1)

    means, count = rates(levels), len(panel.betas)
    found: list[list[Whole]] = [[] for _ in range(len(panel.techniques) * count)]
    for i, cell in enumerate(data.cells):
        if panel.holds(cell):
            t = panel.techniques.index(tuple(cell[name] for name in TECHNIQUE))
            found[t * count + panel.betas.index(cell["beta"])] = grains(means[i], SHARE)
    rows, shares = [], []
    for beta in panel.betas:
        labels = [data.levels(data.labels_at(panel.of["world"], beta), CROSS.join(name)) for name in names]
        rows.append(grains(np.concatenate([_means(one.group_total) for one in labels]) / GRAIN))
        shares.append(grains(rates(labels), SHARE))
    return {
        "of": [CROSS.join(name) for name, one in zip(names, levels, strict=True) for _ in one.groups],
        "names": [str(group) for one in levels for group in one.groups],
        "rows": _each(rows),
        "labels": _each(shares),
        "rates": found,
    }


def _each(of_betas: list[list[Whole]]) -> list[list[Whole]]:
    """Return lists by β; one list alone where all are the same."""
    return of_betas[:1] if all(one == of_betas[0] for one in of_betas) else of_betas
