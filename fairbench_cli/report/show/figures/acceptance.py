"""Measures at every acceptance rate, and what an oracle pays, against closed forms: Žliobaitė (2015)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.registry import COUNT_METRICS, measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.cell_labels import read_display_names
from fairbench_cli.report.ledger.journal_arrays import CellKey, cell_key, mean_and_interval
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.pages import COLOURS, Page, TechniqueLook


@dataclass(frozen=True)
class LabelShares:
    """What the formulas know of test rows, all in [0, 1] but d in [-1, 1].

    Parameters
    ----------
    alpha : float
        Share of the favoured, α = P(s=ḡ).
    base : float
        Share of favourable labels, π₀ = P(y=+).
    d : float
        Discrimination of the labels, d₀.
    """

    alpha: float
    base: float
    d: float


def label_shares(counts: Counts) -> LabelShares:
    """Return the means over the repeats of counts of shape (repeats, groups, 2, 2), the deprived first."""
    labelled = counts.labelled
    rows = counts.total
    positive = labelled[..., 1]
    deprived, favoured = np.moveaxis(divide(positive, counts.group_total), -1, 0)
    return LabelShares(
        alpha=float(np.mean(divide(counts.group_total[..., 1], rows))),
        base=float(np.mean(divide(positive.sum(-1), rows))),
        d=float(np.mean(favoured - deprived)),
    )


def random_counts(counts: Counts, rates: Floats) -> Counts:
    """Return the expected counts of the random classifier at acceptance rates of shape (points,).

    It accepts each row with the probability π, whatever its group and label: its accuracy is
    R = π₀π + (1−π₀)(1−π), its discrimination 0.

    >>> random = random_counts(Counts(("g", "f"), np.ones((2, 2, 2))), np.array([0.25]))
    >>> random.n[0, 0].tolist()
    [[1.5, 0.5], [1.5, 0.5]]
    """
    share = np.stack([1 - rates, rates], axis=-1)  # refused, accepted
    # To (points, 1, …, 1, 2): a point in front of all axes of the labels, the decision behind them.
    share = share.reshape((len(rates),) + (1,) * counts.labelled.ndim + (2,))
    return Counts(counts.groups, counts.labelled[..., np.newaxis] * share)


def most_accuracy(rates: Floats, labels: LabelShares) -> Floats:
    """Return 1 − |π − π₀|: those with favourable labels are accepted before all others."""
    return 1 - np.abs(rates - labels.base)


def most_kappa(rates: Floats, labels: LabelShares) -> Floats:
    """Return κ of the most accuracy."""
    return kappa_from_accuracy(most_accuracy(rates, labels), rates, labels)


def most_discrimination(rates: Floats, labels: LabelShares) -> Floats:
    """Return d_max = min(π/α, (1−π)/(1−α)): the favoured are accepted before all others."""
    most: Floats = np.minimum(divide(rates, labels.alpha), divide(1 - rates, 1 - labels.alpha))
    return most


MOST: dict[str, Callable[[Floats, LabelShares], Floats]] = {
    "accuracy": most_accuracy,
    "kappa": most_kappa,
    "discrimination": most_discrimination,
}
"""The most a measure can be at an acceptance rate; δ has the same most, 1, at every rate."""


def kappa_from_accuracy(accuracy: Floats, rates: Floats, labels: LabelShares) -> Floats:
    """Return (A − R) / (1 − R), R = π₀π + (1−π₀)(1−π)."""
    chance = labels.base * rates + (1 - labels.base) * (1 - rates)
    return divide(accuracy - chance, 1 - chance)


def oracle_cost(strategy: str, alpha: float) -> float:
    """Accuracy that the oracle pays for discrimination, (A₀ − A) / (d₀ − d), per strategy.

    Rejecting a share x of the favoured lowers d by x and accuracy by αx; accepting a share z of the deprived
    lowers d by z and accuracy by (1−α)z. Both at a fixed acceptance rate means αx = (1−α)z. No strategy is
    cheaper than min(α, 1−α).

    >>> strategies = ("decrease-favoured", "increase-deprived", "both")
    >>> [round(oracle_cost(strategy, 0.7), 2) for strategy in strategies]
    [0.7, 0.3, 0.42]
    """
    costs = {"decrease-favoured": alpha, "increase-deprived": 1 - alpha, "both": 2 * alpha * (1 - alpha)}
    return costs[strategy]


def oracle_path(strategy: str, remove: Floats, labels: LabelShares) -> dict[str, Floats]:
    """Return by metric where the oracle is when it has removed shares of the labels' discrimination.

    With ``both`` it moves on the line κ₀ − κ = min(α/π₀, (1−α)/(1−π₀)) (δ₀ − δ). The other strategies move
    the acceptance rate, so that κ and δ follow from A, d and π instead.

    Parameters
    ----------
    remove : array of float in [0, 1]
        Shares removed.
    """
    removed = remove * labels.d
    accuracy = 1 - oracle_cost(strategy, labels.alpha) * removed
    moved = {"decrease-favoured": -labels.alpha, "increase-deprived": 1 - labels.alpha, "both": 0.0}
    rates = labels.base + moved[strategy] * removed
    d = labels.d - removed
    return {
        "discrimination": d,
        "accuracy": accuracy,
        "normalised-discrimination": divide(d, most_discrimination(rates, labels)),
        "kappa": kappa_from_accuracy(accuracy, rates, labels),
    }


def fixed_rate_kappa(normalised: Floats, labels: LabelShares) -> Floats:
    """Return 1 − min(α/π₀, (1−α)/(1−π₀)) (δ₀ − δ), the oracle's κ at the labels' own acceptance rate."""
    start = divide(labels.d, most_discrimination(np.array(labels.base), labels))
    line: Floats = 1 - fixed_rate_cost(labels) * (start - normalised)
    return line


def fixed_rate_cost(labels: LabelShares) -> float:
    """Return (κ₀ − κ) / (δ₀ − δ) = min(α/π₀, (1−α)/(1−π₀)) of the oracle at a fixed acceptance rate."""
    alpha = labels.alpha
    base = labels.base
    return float(np.minimum(divide(alpha, base), divide(1 - alpha, 1 - base)))


SWEPT_METRICS = ("accuracy", "discrimination", "kappa", "normalised-discrimination")
"""Shown where the config lists some of them; otherwise all metrics of counts."""

BASELINES = frozenset({"oracle", "random"})
"""Interventions that ignore the classifier: the oracle has no scores, the random classifier its own line."""

RANDOM: canvas.Look = {"color": canvas.GREY, "ls": (0, (5, 3)), "lw": 1.0, "zorder": 2}
BOUND: canvas.Look = {"color": "#a6a6a6", "ls": ":", "lw": 1.3, "zorder": 2}
BASE: canvas.Look = {"color": "#c4c4c4", "lw": 0.8, "zorder": 1.5}
LABELS: canvas.Look = {"marker": "*", "ms": 8, "mfc": canvas.GREY, "mec": "white", "mew": 0.5}


FORM: canvas.Look = {"color": "#bdbdbd", "lw": 3.6, "solid_capstyle": "butt", "zorder": 2}
STRATEGIES = {
    "increase-deprived": canvas.dot_look(COLOURS[3], "^", 5),
    "both": canvas.dot_look(COLOURS[0], "o", 5),
    "decrease-favoured": canvas.dot_look(COLOURS[2], "v", 5),
}
"""How the strategies of the oracle are drawn, the cheapest first."""
AXES = {
    "as they are": {"discrimination": "discrimination d", "accuracy": "accuracy A"},
    "normalised": {"normalised-discrimination": "normalised discrimination δ", "kappa": "kappa κ"},
}
STEPS = np.linspace(0, 1, 101)


def draw_sweep(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, world and β: rows are metrics, columns classifiers.

    Lines are means of sweep.csv, dots where the classifiers themselves decide. A data set on which only the
    oracle or the random classifier ran gets no figure, and neither does a run without a sweep.
    """
    if not run.plan.config.sweep:
        return {}
    pages_of_beta: dict[tuple[Any, ...], list[Page]] = {}
    for page in pages.split_into_pages(run.plan).values():
        techniques = tuple(look for look in page.techniques if look.technique[0] not in BASELINES)
        if not techniques:
            continue
        for beta in page.betas:
            situation = page.dataset, page.attribute, page.world, beta
            page_of_beta = replace(page, techniques=techniques, betas=(beta,))
            pages_of_beta.setdefault(situation, []).append(page_of_beta)
    return pages.plot_pages(run, ("dataset", "attribute", "world", "beta"), pages_of_beta, _sweep)


def _sweep(run: RunResults, title: str, classifier_pages: Sequence[Page]) -> Figure:
    """Draw pages of one β, which differ in the classifier."""
    count_metrics = [name for name in run.plan.config.at_hand if name in COUNT_METRICS]
    metrics = [name for name in SWEPT_METRICS if name in count_metrics] or count_metrics
    columns = len(classifier_pages)
    classifier_name = read_display_names(run.plan.config).classifier
    techniques: dict[TechniqueLook, None] = {}
    lacking = []
    for page in classifier_pages:
        (beta,) = page.betas
        techniques |= dict.fromkeys(page.techniques)
        for technique in page.techniques:
            why = _describe_lack(run, page.key(technique, beta), metrics[0])
            lacking.append((technique.label, classifier_name(*page.classifier), why))
    legend: list[tuple[Any, str]] = [(look.dot(5.5) | look.line(1.4), look.label) for look in techniques]
    legend += [(RANDOM, "random classifier")]
    if MOST.keys() & set(metrics):
        legend.append((BOUND, "the most that π allows"))
    legend += [(BASE | LABELS, "the labels themselves, at π₀")]

    def panel(metric: str, page: Page) -> canvas.Panel:
        name = classifier_name(*page.classifier) if metric == metrics[0] else ""
        y_label = metric.replace("normalised-", "normalised\n")
        return canvas.Panel(partial(_rates, page, run, metric), name, "acceptance rate π", y_label)

    figure = canvas.facet(
        f"At every acceptance rate: {title}",
        f"{pages.describe_means(run)} The share π with the highest scores is accepted; dots are "
        "where the classifiers themselves decide.",
        canvas.lay_out_panels(metrics, classifier_pages, columns, panel),
        columns,
        ({1: 5.4, 2: 3.2, 3: 2.35}.get(columns, 1.9), 1.5),
        legend,
        pages.describe_missing(lacking, " (with {})"),
        share_axes=True,
    )
    for i in range(len(metrics)):
        _share_limits(figure.axes[i * columns : (i + 1) * columns])
    return figure


def _rates(page: Page, run: RunResults, metric: str, ax: Axes) -> None:
    """Draw a metric of a page of one β over the acceptance rate."""
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "0.2", "0.4", "0.6", "0.8", "1"])
    ax.locator_params(axis="y", nbins=5)
    (beta,) = page.betas
    cells = [run.cell_counts(page.key(technique, beta)) for technique in page.techniques]
    for i, cell in enumerate(cells):
        technique = page.techniques[i]
        extra = 1 - (i + 1) / len(cells)  # earlier ones are larger, to be seen below later ones
        if len(cell.swept.n):
            numbers = mean_and_interval(measure(metric, cell.swept).T)
            canvas.plot_band(ax, RATES, numbers, f"sweep-{i}", technique.line(1.1 + 1.4 * extra))
        if len(cell.counts.n):
            x = mean_and_interval(measure("acceptance-rate", cell.counts))["mean"]
            y = mean_and_interval(measure(metric, cell.counts))["mean"]
            look = technique.dot(5 + 3 * extra) | {"ls": "", "gid": f"dot-{i}", "zorder": 4, "clip_on": False}
            ax.plot([x], [y], **look)
    if not any(len(cell.swept.n) for cell in cells):
        look = {
            "ha": "center",
            "fontsize": canvas.SMALL,
            "style": "italic",
            "color": canvas.GREY,
            "gid": "no-scores",
        }
        ax.text(0.5, 0.5, "no scores", transform=ax.transAxes, **look)
    # Labels and groups are the same for all techniques: those of the one with the most repeats.
    most = max((cell.counts for cell in cells), key=lambda counts: len(counts.n))
    if len(most.n):
        _references(ax, most, metric)


def _references(ax: Axes, counts: Counts, metric: str) -> None:
    """Draw the random classifier, what no classifier can exceed, and where π = π₀."""
    guess = mean_and_interval(measure(metric, random_counts(counts, RATES)))["mean"]
    ax.plot(RATES, guess, gid="random", **RANDOM)
    labels = label_shares(counts)
    ax.axvline(labels.base, gid="base", **BASE)
    value_of_labels = mean_and_interval(measure(metric, counts.of_labels()))["mean"]
    ax.plot([labels.base], [value_of_labels], gid="labels", ls="", zorder=3.5, **LABELS)
    if metric in MOST:
        corners = [labels.base, labels.alpha]
        rates: Floats = np.unique(np.append(RATES, corners))
        # Without a say in the limits: near π = ½ the most discrimination is far above all lines.
        ax.plot(rates, MOST[metric](rates, labels), gid="most", **BOUND, scaley=False)


def _share_limits(panels: Sequence[Axes]) -> None:
    """Give a row of panels the same limits, around everything but the bounds; d = 0 stays in view."""
    kinds = ("sweep-", "dot-", "random", "labels")
    heights = []
    for ax in panels:
        lines = [line for line in ax.lines if str(line.get_gid()).startswith(kinds)]
        heights += [np.asarray(line.get_ydata(), dtype=float) for line in lines]
    limits = canvas.axis_limits(np.concatenate(heights) if heights else np.zeros(0), 0.06)
    for ax in panels:
        ax.set_ylim(limits)


def _describe_lack(run: RunResults, key: CellKey, metric: str) -> str:
    """Say why a technique has no line, or not of every repeat; nothing where it has."""
    cell = run.cell_counts(key)
    if len(cell.counts.n) and not len(cell.swept.n):
        return "the model has no scores, so there is its dot alone"
    is_defined = ~np.isnan(measure(metric, cell.swept))
    return pages.describe_shortfall(run, key, int(is_defined.sum(0).max(initial=0)))


Points = Mapping[tuple[str, float], Counts]  # of the test rows, by strategy and share removed


def draw_oracle(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and protected attribute on which the oracle ran.

    It has one classifier, world and β (true test rows and the oracle depend on none of them), the first that
    have counts.
    """
    points_by_source: dict[tuple[str, str], dict[tuple[str, float], Counts]] = {}
    for cell in run.plan.cells:
        repeats = run.cell_counts(cell_key(cell))
        if cell["intervention"] != "oracle" or not len(repeats.counts.n):
            continue
        parameters = {"strategy": "both", "remove": 1.0} | json.loads(cell["parameters"])
        points = points_by_source.setdefault((cell["dataset"], cell["attribute"]), {})
        points.setdefault((parameters["strategy"], float(parameters["remove"])), repeats.counts)
    return pages.plot_pages(run, ("dataset", "attribute"), points_by_source, _oracle)


def _oracle(run: RunResults, title: str, points: Points) -> Figure:
    # The labels are those of the test rows, and the same at all points.
    labels = label_shares(next(iter(points.values())))
    formula = {"increase-deprived": "1 − α", "both": "2α(1 − α)", "decrease-favoured": "α"}
    legend: list[tuple[Any, str]] = []
    for strategy in STRATEGIES:
        if any(point_strategy == strategy for point_strategy, _ in points):
            falls = f"{formula[strategy]} = {oracle_cost(strategy, labels.alpha):.3f}"
            legend.append((STRATEGIES[strategy] | {"lw": 0.9}, f"{strategy}: A falls by {falls} per d"))
    bound = (
        f"left: the paper's bound min(α, 1 − α) = {min(labels.alpha, 1 - labels.alpha):.3f} per d; "
        f"right: its line at a fixed π, {fixed_rate_cost(labels):.3f} per δ"
    )
    legend.append((FORM, bound))
    panels = []
    for name, axes in AXES.items():
        x_label, y_label = axes.values()
        panels.append(canvas.Panel(partial(_costs, points, labels, axes), name, x_label, y_label))
    return canvas.facet(
        f"The oracle that removes discrimination: {title}",
        f"Markers: means of {run.repeats_done()} repeats with 95 % intervals, from the labels themselves "
        "(top right) to none of their discrimination. Thin lines: closed forms, with "
        f"α = {labels.alpha:.3f} favoured and π₀ = {labels.base:.3f} favourable labels.",
        panels,
        2,
        (3.15, 2.6),
        legend,
    )


def _costs(points: Points, labels: LabelShares, axes: Mapping[str, str], ax: Axes) -> None:
    """Draw what the run found, in order of what is removed, and the closed forms from the labels to d = 0."""
    if labels.d > 0:  # the oracle leaves other labels as they are
        ax.axvline(0, **canvas.IDEAL)
        x_metric, y_metric = axes
        d = oracle_path("both", STEPS, labels)[x_metric]
        if y_metric == "accuracy":
            bound = 1 - min(labels.alpha, 1 - labels.alpha) * (labels.d - d)
        else:
            bound = fixed_rate_kappa(d, labels)
        ax.plot(d, bound, gid="bound", **FORM)
    for strategy, look in STRATEGIES.items():
        counts_by_share = [points[point] for point in sorted(points) if point[0] == strategy]
        if not counts_by_share:
            continue
        if labels.d > 0:
            path = oracle_path(strategy, STEPS, labels)
            d, height = (path[axis] for axis in axes)
            ax.plot(d, height, color=look["color"], lw=0.9, zorder=3, gid=f"form-{strategy}")
        x, y = (_means_with_ends(axis, counts_by_share) for axis in axes)
        canvas.plot_dots(ax, x, y, f"oracle-{strategy}", look)
    ax.locator_params(nbins=6)


def _means_with_ends(metric: str, counts_by_share: Sequence[Counts]) -> dict[str, list[float]]:
    """Return the means of a metric, and the ends of their intervals, of some counts over the repeats."""
    means = [mean_and_interval(measure(metric, counts)) for counts in counts_by_share]
    return {
        "mean": [float(mean["mean"]) for mean in means],
        "low": [float(mean["low"]) for mean in means],
        "high": [float(mean["high"]) for mean in means],
    }
