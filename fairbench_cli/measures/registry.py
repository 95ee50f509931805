"""Every metric by name: compositions, functions, rows and aliases. A new one is a function and a line here.

A metric that is defined on predictions and on labels stands here twice: under its name, of the predictions,
and under its name with ``-of-labels``.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from inspect import cleandoc
from typing import Any, Literal

import numpy as np

from fairbench_cli.measures import conditional, functions, significance, significance_rows, situation
from fairbench_cli.measures.aliases import ALIASES, defined
from fairbench_cli.measures.comparisons import INVERTED, MIRRORED, SAME, compositions
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.legacy import legacy_metrics
from fairbench_cli.measures.metric import OF_LABELS, Metric, Needs, Section, Swap
from fairbench_cli.measures.propensity import propensity_strata
from fairbench_cli.measures.redlining import redlining_potential
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.strata import cluster_strata, counted

On = Literal["predictions", "labels", "both"]


def _metric(
    function: Callable[..., Any],
    low: float,
    high: float,
    ideal: float | None,
    section: Section,
    groups: Swap | None = None,
    outcomes: Swap | None = None,
    *,
    on: On = "both",
    any_groups: bool = False,
    needs: Needs = "counts",
) -> Metric:
    """Return the entry of a function; formula, source and undefined cases are paragraphs of its docstring."""
    paragraphs = [" ".join(part.split()) for part in cleandoc(function.__doc__ or "").split("\n\n")]
    source = next((part for part in paragraphs if part.startswith("Source: ")), "")
    undefined = next((part for part in paragraphs if part.startswith("NaN when")), "")
    return Metric(
        name=function.__name__.replace("_", "-"),
        function=partial(_within_strata, function) if needs == "strata" else function,
        low=low,
        high=high,
        ideal=ideal,
        formula=paragraphs[0].removesuffix("."),
        source=source.removeprefix("Source: ").removesuffix("."),
        undefined=undefined.removesuffix("."),
        section=section,
        needs=needs,
        groups="any" if any_groups else "pair",
        on=on,
        swap_groups=groups,
        swap_outcomes=outcomes,
    )


def _within_strata(function: Callable[[Counts], Floats], rows: Rows) -> Floats:
    return function(counted(rows))


_INF = math.inf
_rows = partial(_metric, needs="rows")
_strata = partial(_metric, needs="strata")
_scores = partial(_metric, needs="scores", on="predictions")

FUNCTIONS: tuple[Metric, ...] = (
    _metric(functions.kappa, -1, 1, 1, "accuracy", SAME, SAME, on="predictions", any_groups=True),
    _metric(functions.mcc, -1, 1, 1, "accuracy", SAME, SAME, on="predictions", any_groups=True),
    _metric(functions.f1, 0, 1, 1, "accuracy", SAME, None, on="predictions", any_groups=True),
    _metric(functions.normalised_discrimination, -1, 1, 0, "absolute", MIRRORED, MIRRORED),
    _metric(functions.elift, 0, _INF, 1, "absolute", Swap("elift-as-printed")),
    _metric(functions.elift_as_printed, 0, _INF, 1, "absolute", Swap("elift")),
    _metric(functions.odds_ratio, 0, _INF, 1, "absolute", INVERTED, INVERTED),
    _metric(functions.mutual_information, 0, 1, 0, "absolute", SAME, SAME),
    _metric(functions.phi, -1, 1, 0, "absolute", MIRRORED, MIRRORED),
    _metric(functions.auc_between_groups, 0, 1, 0.5, "absolute", MIRRORED, MIRRORED),
    _metric(functions.one_class_accuracy, 0.5, 1, None, "absolute", SAME, SAME, any_groups=True),
    _metric(functions.eta_neutrality, 0, _INF, 0, "absolute", SAME, SAME, any_groups=True),
    _metric(functions.balanced_residuals, -2, 2, 0, "absolute", MIRRORED, MIRRORED, on="predictions"),
    _metric(significance.difference_of_means_t, -_INF, _INF, 0, "test", MIRRORED, MIRRORED),
    _metric(significance.difference_of_means_p, 0, 1, None, "test", SAME, SAME),
    _metric(significance.chi_squared, 0, _INF, 0, "test", SAME, SAME, any_groups=True),
    _metric(significance.chi_squared_p, 0, 1, None, "test", SAME, SAME, any_groups=True),
    _metric(significance.mann_whitney_u, 0, _INF, None, "test"),
    _metric(significance.mann_whitney_p, 0, 1, None, "test", SAME, SAME),
    _strata(conditional.unexplained_difference, -1, 1, 0, "conditional"),
    _strata(conditional.explained_difference, -1, 1, None, "conditional"),
    _rows(conditional.propensity_difference, -1, 1, 0, "conditional"),
    _rows(conditional.cluster_difference, -1, 1, 0, "conditional"),
    _strata(conditional.belift, 0, _INF, 1, "conditional"),
    _rows(situation.situation_testing, 0, 1, 0, "situation"),
    _rows(situation.situation_testing_reverse, 0, 1, 0, "situation"),
    _rows(situation.consistency, 0, 1, 1, "situation"),
    _scores(significance_rows.auc_between_groups_of_scores, 0, 1, 0.5, "absolute"),
    _rows(redlining_potential, 0, 1, 0.5, "redlining", on="labels"),  # of the data, whatever is predicted
    _rows(significance_rows.slope_t, -_INF, _INF, 0, "test"),
    _rows(significance_rows.slope_p, 0, 1, None, "test"),
    _scores(significance_rows.slope_t_of_scores, -_INF, _INF, 0, "test"),
    _scores(significance_rows.slope_p_of_scores, 0, 1, None, "test"),
    _scores(significance_rows.mann_whitney_u_of_scores, 0, _INF, None, "test"),
    _scores(significance_rows.mann_whitney_p_of_scores, 0, 1, None, "test"),
    _strata(significance.cochran_mantel_haenszel, 0, _INF, 0, "test"),
    _strata(significance.cochran_mantel_haenszel_p, 0, 1, None, "test"),
)


def _all() -> dict[str, Metric]:
    found = {metric.name: metric for metric in (*compositions(), *FUNCTIONS)}
    found |= {alias.name: defined(alias, found) for alias in ALIASES}
    found |= legacy_metrics(found)
    return found | {
        metric.name: metric
        for metric in (one.of_labels() for one in found.values() if one.on == "both")
        if metric.section not in ("rate", "comparison")
    }


METRICS: dict[str, Metric] = _all()
COUNT_METRICS = {name: metric for name, metric in METRICS.items() if metric.needs == "counts"}
ROW_METRICS = {name: metric for name, metric in METRICS.items() if metric.needs != "counts"}

# What a run computes when its config does not say.
DEFAULT_METRICS = (
    *("accuracy", "tpr", "tnr", "bcr", "kappa", "acceptance-rate", "discrimination"),
    *("normalised-discrimination", "impact-ratio", "likelihood-ratio", "elift", "elift-as-printed"),
    *("odds-ratio", "mutual-information", "phi", "auc-between-groups", "overestimation", "underestimation"),
)


def spelled(name: str) -> str:
    """Return a name as it stands here: fairlearn's underscores, Friedler's capitals and signs are understood.

    >>> spelled("demographic_parity_difference"), spelled("DIbinary")
    ('demographic-parity-difference', 'dibinary')
    >>> spelled("sensitive-calibration+"), spelled("s-TPR")
    ('sensitive-calibration-positive', 'sensitive-tpr')
    """
    text = name.lower().replace("_", "-")
    if text.startswith("s-"):
        text = f"sensitive-{text[2:]}"
    if text.endswith(("calibration+", "calibration-")):
        return f"{text[:-1]}-{'positive' if text.endswith('+') else 'negative'}"
    return text


def find(name: str) -> Metric:
    """Return the entry of a metric, however it is spelled; `KeyError` when there is none."""
    return METRICS[spelled(name)]


def measure(name: str | Metric, data: Counts | Rows) -> Floats:
    """Return a metric (or its name): shape (...) for counts of shape (..., groups, 2, 2), () for rows.

    Counts of more than two groups say which of them are the reference; metrics of two groups then compare all
    others together with it.

    Raises
    ------
    KeyError
        When there is no such metric.
    ValueError
        When it compares two groups and the reference is unknown, or it needs rows and is given counts.

    Examples
    --------
    >>> some = Counts(("g", "f"), np.array([[[3.0, 1], [2, 4]], [[1, 0], [1, 4]]]))
    >>> float(measure("accuracy", some)), float(measure("discrimination-of-labels", some))
    (0.75, 0.2333333333333334)
    """
    metric = find(name) if isinstance(name, str) else name
    given: Counts | Rows = data.counts() if metric.needs == "counts" and isinstance(data, Rows) else data
    if metric.needs != "counts" and isinstance(given, Counts):
        raise ValueError(f"{metric.name} needs rows, not counts")
    if isinstance(given, Counts) and metric.groups == "pair":
        given = given.pair
    if metric.name.endswith(OF_LABELS):
        given = given.of_labels()
    return np.asarray(metric.function(given), dtype=np.float64)


def measure_rows(names: Iterable[str], rows: Rows) -> dict[str, float]:
    """Return metrics of rows by name, sharing the search for neighbours and the strata.

    The values are those of `measure`, a name at a time.

    Raises
    ------
    KeyError
        When there is no such metric.
    ValueError
        When one needs what the rows do not have, or cannot honour their weights.

    Examples
    --------
    >>> s = np.array([0, 0, 0, 1, 1, 1])
    >>> rows = Rows(s, s, s, features=np.array([[1.0], [2], [3], [1], [2], [3]]), nominal=(False,))
    >>> measure_rows(["cluster-difference-of-labels", "redlining-potential", "slope-t"], rows)
    {'cluster-difference-of-labels': 1.0, 'redlining-potential': nan, 'slope-t': inf}
    """
    requested = {name: name.removesuffix(OF_LABELS) for name in names}
    values = {"": rows, OF_LABELS: rows.of_labels()}
    strata = {name: make(rows) for name, make in _OWN_STRATA.items() if name in requested.values()}
    near: dict[str, Any] = {}
    if any(find(name).section == "situation" for name in requested):
        found = situation.look_up(rows, outcomes=np.stack([rows.predicted, rows.y], 1))
        near = {name: of(found) for name, of in _NEIGHBOURS.items()}
    shared: dict[str, float] = {}
    for name, base in requested.items():
        if base in near:
            shared[name] = float(near[base][int(name != base)])
        elif base in strata:
            of = counted(values[name.removeprefix(base)], strata[base])
            shared[name] = float(conditional.unexplained_difference(of))
        else:
            shared[name] = float(measure(name, rows))
    return shared


_OWN_STRATA = {"propensity-difference": propensity_strata, "cluster-difference": cluster_strata}
_NEIGHBOURS = {
    "situation-testing": situation.against,
    "situation-testing-reverse": situation.in_favour,
    "consistency": situation.mean_agreement,
}
