"""Every metric by name: compositions, functions, rows and aliases. A new one is a function and a line here.

A metric that is defined on predictions and on labels stands here twice: under its name, of the predictions,
and under its name with ``-of-labels``. `custom_metric` makes an entry of a user's function; `aggregate`
compares pairs of groups by a metric of two (the survey advises the maximum, Žliobaitė 2017).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from inspect import cleandoc, signature
from itertools import chain, combinations
from typing import Any, Literal, get_type_hints

import numpy as np

from fairbench_cli.measures import conditional, functions, score_gaps, significance
from fairbench_cli.measures.comparisons import compositions, score_compositions
from fairbench_cli.measures.conditional import redlining_potential
from fairbench_cli.measures.counts import PAIR, Counts, Floats, divide
from fairbench_cli.measures.group_scores import GroupScores, sum_scores
from fairbench_cli.measures.individual_fairness import (
    consistency,
    find_neighbours,
    mean_agreement,
    share_treated_better,
    share_treated_worse,
    situation_testing,
    situation_testing_reverse,
    twin_test,
)
from fairbench_cli.measures.literature_names import ALIASES, alias_metric, legacy_metrics
from fairbench_cli.measures.metric import OF_LABELS, Metric, Needs, Section
from fairbench_cli.measures.rows import GROUPS, Rows, cluster_strata, count_by_stratum, propensity_strata

On = Literal["predictions", "labels", "both"]

_SURVEY = "Žliobaitė 2017"


def _metric(
    function: Callable[..., Any],
    low: float,
    high: float,
    ideal: float | None,
    section: Section,
    undefined: str,
    *,
    defined_by: str = "",
    source: str = "",
    on: On = "both",
    any_groups: bool = False,
    needs: Needs = "counts",
    equal: str = "",
    usual: bool = False,
) -> Metric:
    """Return the entry of a function, whose formula is the first line of its docstring.

    `defined_by` is who defined what the survey lists; `source` is for what it does not list so.
    """
    return Metric(
        name=function.__name__.replace("_", "-"),
        function=partial(_within_strata, function) if needs == "strata" else function,
        low=low,
        high=high,
        ideal=ideal,
        formula=(function.__doc__ or "").partition("\n")[0].removesuffix("."),
        source=source or "; ".join(filter(None, (defined_by, _SURVEY))),
        undefined=f"NaN when {undefined}",
        section=section,
        needs=needs,
        groups="any" if any_groups else "pair",
        on=on,
        equal=equal,
        usual=usual,
    )


def _within_strata(function: Callable[[Counts], Floats], rows: Rows) -> Floats:
    return function(count_by_stratum(rows))


_INF = math.inf
_all = partial(_metric, any_groups=True)
_pure = partial(_all, on="predictions")
_of_predictions = partial(_metric, on="predictions")
_rows = partial(_metric, needs="rows")
_strata = partial(_metric, needs="strata")
_scores = partial(_metric, needs="scores", on="predictions")
_twins = partial(_metric, needs="twins", on="predictions")
_SELECTION = "selection-rate"

_KAPPA = "Cohen 1960; normalised accuracy in Žliobaitė 2015"
_STUDENT = "Student 1908; Žliobaitė 2017 (which misprints a minus)"
_KAMIRAN = "Kamiran, Žliobaitė & Calders 2013"
_MANN = "Mann & Whitney 1947"
_MANTEL = "Mantel & Haenszel 1959"

_SAME_ROWS = "all labels and predictions are the same"
_SAME_LABELS = "all labels or all predictions are the same"
_NOT_ONE = "no label and no prediction is favourable"
_NONE = "the {} group is empty or no prediction is favourable"
_CROSS = "both products of the cross ratio are 0; infinite when only the lower one is"
_EMPTY = "a group is empty"
_ALIKE = f"{_EMPTY} or all predictions are the same"
_TWO = f"{_ALIKE}, or there are two rows"
_TWO_T = f"{_TWO}; infinite when each group has one class"
_STRATUM = f"{_EMPTY}; a stratum with one group explains all of its difference"
_NO_STRATUM = "no stratum has both groups and both kinds of prediction"
_NO_DEPRIVED = (
    "there are no deprived or no prediction is favourable; 0 as soon as any stratum, however small, has "
    "deprived and no favourable prediction of them: choose strata that are large enough"
)
_LONELY = "a group has fewer than k neighbours to offer"
_FEW_ROWS = "a group has fewer than five rows"
_NO_SCORES = "the model gives no scores,"
_NO_GROUP = f"{_NO_SCORES} {_EMPTY}"
_SCORES = "all scores are the same"
_EITHER = "(also when these are all the same), or there are too few rows"
_FIXED = f"the features alone determine s, or the predictions {_EITHER}"
_FIXED_SCORES = f"{_NO_SCORES} the features alone determine s, or the scores {_EITHER}"
_EXACT = "infinite when the features and s leave no residual"

FUNCTIONS: tuple[Metric, ...] = (
    _pure(functions.kappa, -1, 1, 1, "accuracy", _SAME_ROWS, source=_KAPPA),
    _pure(functions.mcc, -1, 1, 1, "accuracy", _SAME_LABELS, source="Matthews 1975"),
    _pure(functions.f1, 0, 1, 1, "accuracy", _NOT_ONE, source="van Rijsbergen 1979", usual=True),
    _metric(functions.normalised_discrimination, -1, 1, 0, "absolute", _ALIKE, source="Žliobaitė 2015"),
    _metric(functions.elift, 0, _INF, 1, "absolute", _NONE.format("deprived")),
    _metric(functions.elift_as_printed, 0, _INF, 1, "absolute", _NONE.format("favoured")),
    _metric(functions.odds_ratio, 0, _INF, 1, "absolute", _CROSS),
    _metric(functions.mutual_information, 0, 1, 0, "absolute", _ALIKE, equal=_SELECTION, usual=True),
    _metric(functions.phi, -1, 1, 0, "absolute", _ALIKE),
    _metric(functions.auc_between_groups, 0, 1, 0.5, "absolute", _EMPTY),
    _all(functions.one_class_accuracy, 0.5, 1, None, "absolute", "there are no rows"),
    _all(functions.eta_neutrality, 0, _INF, 0, "absolute", _ALIKE, defined_by="Fukuchi et al. 2013"),
    _of_predictions(
        functions.balanced_residuals, -2, 2, 0, "absolute", _EMPTY, defined_by="Calders et al. 2013"
    ),
    _metric(significance.difference_of_means_t, -_INF, _INF, 0, "test", _TWO_T, source=_STUDENT),
    _metric(significance.difference_of_means_p, 0, 1, None, "test", _TWO, equal=_SELECTION),
    _all(significance.chi_squared, 0, _INF, 0, "test", _ALIKE, defined_by="Pearson 1900"),
    _all(significance.chi_squared_p, 0, 1, None, "test", _ALIKE, equal=_SELECTION),
    _metric(significance.mann_whitney_u, 0, _INF, None, "test", _EMPTY, defined_by=_MANN),
    _metric(significance.mann_whitney_p, 0, 1, None, "test", _ALIKE, equal=_SELECTION),
    _strata(
        conditional.unexplained_difference, -1, 1, 0, "conditional", _STRATUM, defined_by=_KAMIRAN, usual=True
    ),
    _strata(conditional.explained_difference, -1, 1, None, "conditional", _STRATUM, defined_by=_KAMIRAN),
    _rows(
        conditional.propensity_difference, -1, 1, 0, "conditional", _STRATUM, defined_by="Calders et al. 2013"
    ),
    _rows(conditional.cluster_difference, -1, 1, 0, "conditional", _STRATUM),
    _strata(
        conditional.belift, 0, _INF, 1, "conditional", _NO_DEPRIVED, defined_by="Mancuhan & Clifton 2014"
    ),
    _rows(situation_testing, 0, 1, 0, "situation", _LONELY, defined_by="Luong et al. 2011", usual=True),
    _rows(situation_testing_reverse, 0, 1, 0, "situation", _LONELY, defined_by="Luong et al. 2011"),
    _rows(
        consistency,
        0,
        1,
        1,
        "situation",
        "there are no k other rows",
        defined_by="Zemel et al. 2013",
        usual=True,
    ),
    _twins(twin_test, 0, 1, 1, "situation", "a group is empty or the model is not at hand", usual=True),
    _scores(score_gaps.discrimination_of_scores, -_INF, _INF, 0, "absolute", f"{_NO_SCORES} or {_EMPTY}"),
    _scores(score_gaps.phi_of_scores, -1, 1, 0, "absolute", f"{_NO_GROUP} or {_SCORES}"),
    _scores(score_gaps.mutual_information_of_scores, 0, 1, 0, "absolute", f"{_NO_GROUP} or {_SCORES}"),
    _scores(
        score_gaps.balanced_residuals_of_scores,
        -2,
        2,
        0,
        "absolute",
        f"{_NO_GROUP} or a score is outside of 0 to 1",
        defined_by="Calders et al. 2013",
    ),
    _scores(significance.auc_between_groups_of_scores, 0, 1, 0.5, "absolute", f"{_NO_SCORES} or {_EMPTY}"),
    # Of the data, whatever is predicted.
    _rows(
        redlining_potential, 0, 1, 0.5, "redlining", _FEW_ROWS, defined_by="Feldman et al. 2015", on="labels"
    ),
    _rows(significance.slope_t, -_INF, _INF, 0, "test", f"{_FIXED}; {_EXACT}"),
    _rows(significance.slope_p, 0, 1, None, "test", _FIXED),
    _scores(significance.slope_t_of_scores, -_INF, _INF, 0, "test", f"{_FIXED_SCORES}; {_EXACT}"),
    _scores(significance.slope_p_of_scores, 0, 1, None, "test", _FIXED_SCORES),
    _scores(significance.mann_whitney_u_of_scores, 0, _INF, None, "test", _NO_GROUP, defined_by=_MANN),
    _scores(significance.mann_whitney_p_of_scores, 0, 1, None, "test", f"{_NO_GROUP} or {_SCORES}"),
    _strata(significance.cochran_mantel_haenszel, 0, _INF, 0, "test", _NO_STRATUM, defined_by=_MANTEL),
    _strata(significance.cochran_mantel_haenszel_p, 0, 1, None, "test", _NO_STRATUM),
)


# Absolute measures of two groups (Žliobaitė 2017, §4.2) that are taken over more groups, and within strata.
_ABSOLUTE = (
    "discrimination",
    "normalised-discrimination",
    "impact-ratio",
    "elift",
    "odds-ratio",
    "mutual-information",
    "phi",
    "auc-between-groups",
)


def _weighted(metric: Metric) -> Metric:
    """Return the mean of a measure over the other groups, each against the reference, by their rows."""
    return replace(
        metric,
        name=f"{metric.name}-weighted",
        function=lambda counts: aggregate(metric.name, counts, "reference", "weighted-mean"),
        formula="The measure of the other groups s, each against r, on average by their rows n(s)",
        source=_SURVEY,
        undefined="NaN when no other group has a value",
        section="absolute",
        groups="reference",
        alias_of="",
        usual=False,
    )


def _within(metric: Metric) -> Metric:
    """Return the mean of a measure over strata."""
    return replace(
        metric,
        name=f"{metric.name}-within",
        function=partial(
            _within_strata, lambda strata: conditional.mean_within(measure(metric, strata), strata)
        ),
        formula="The measure within strata zᵢ, on average by P(zᵢ|ḡ) + P(zᵢ|g)",
        source=_SURVEY,
        undefined="NaN when a group is empty or no stratum has a value",
        section="conditional",
        needs="strata",
        alias_of="",
        usual=False,
    )


def _list_metrics() -> dict[str, Metric]:
    """Return every metric by its name."""
    # 1. Rates, measures of scores and how groups are compared in them, and functions that are no comparison.
    metrics = {metric.name: metric for metric in chain(compositions(), score_compositions(), FUNCTIONS)}
    # 2. Other names of these.
    for alias in ALIASES:
        metrics[alias.name] = alias_metric(alias, metrics)
    # 3. Measures of two groups for more of them, and within strata.
    for name in _ABSOLUTE:
        of_all_groups = _weighted(metrics[name])
        within_strata = _within(metrics[name])
        metrics[of_all_groups.name] = of_all_groups
        metrics[within_strata.name] = within_strata
    # 4. The same by the edge rules of the program of Friedler et al. (2019).
    metrics |= legacy_metrics(metrics)
    # 5. The same of labels instead of decisions, where it is not another metric already.
    for metric in list(metrics.values()):
        # A rate of labels is another rate, the base rate, and not listed twice.
        if metric.on == "both" and metric.section not in ("rate", "comparison"):
            of_labels = metric.of_labels()
            metrics[of_labels.name] = of_labels
    return metrics


METRICS: dict[str, Metric] = _list_metrics()
COUNT_METRICS = {name: metric for name, metric in METRICS.items() if metric.needs == "counts"}
ROW_METRICS = {name: metric for name, metric in METRICS.items() if metric.needs_rows}
SCORE_METRICS = {name: metric for name, metric in METRICS.items() if metric.needs == "score-sums"}

# What a run computes when its config does not say.
DEFAULT_METRICS = (
    "accuracy",
    "tpr",
    "tnr",
    "bcr",
    "kappa",
    "acceptance-rate",
    "discrimination",
    "normalised-discrimination",
    "impact-ratio",
    "likelihood-ratio",
    "elift",
    "elift-as-printed",
    "odds-ratio",
    "mutual-information",
    "phi",
    "auc-between-groups",
    "overestimation",
    "underestimation",
)


def normalise_name(name: str) -> str:
    """Return a name as it stands here: fairlearn's underscores, Friedler's capitals and signs are understood.

    >>> normalise_name("demographic_parity_difference"), normalise_name("DIbinary")
    ('demographic-parity-difference', 'dibinary')
    >>> normalise_name("sensitive-calibration+"), normalise_name("s-TPR")
    ('sensitive-calibration-positive', 'sensitive-tpr')
    """
    text = name.lower().replace("_", "-")
    if text.startswith("s-"):
        text = f"sensitive-{text[2:]}"
    if text.endswith(("calibration+", "calibration-")):
        return f"{text[:-1]}-{'positive' if text.endswith('+') else 'negative'}"
    return text


def find_metric(name: str) -> Metric:
    """Return the entry of a metric, however it is spelled; `KeyError` when there is none."""
    return METRICS[normalise_name(name)]


def measure(name: str | Metric, data: Counts | GroupScores | Rows) -> Floats:
    """Return a metric (or its name): shape (...) for counts of shape (..., groups, 2, 2), () for rows.

    Sums of scores have leading axes, too.

    Counts of more than two groups say which of them are the reference; metrics of two groups then compare all
    others together with it.

    Raises
    ------
    KeyError
        When there is no such metric.
    ValueError
        When it compares two groups and the reference is unknown, or it needs more than it is given.

    Examples
    --------
    >>> some = Counts(("g", "f"), np.array([[[3.0, 1], [2, 4]], [[1, 0], [1, 4]]]))
    >>> float(measure("accuracy", some)), float(measure("discrimination-of-labels", some))
    (0.75, 0.2333333333333334)
    """
    if isinstance(name, str):
        metric = find_metric(name)
    else:
        metric = name
    if metric.needs == "score-sums":
        return _measure_scores(metric, data)
    if isinstance(data, GroupScores):
        raise ValueError(f"{metric.name} is no measure of scores")  # noqa: TRY004 - as for counts
    if metric.needs == "counts" and isinstance(data, Rows):
        data = data.counts()
    if metric.needs != "counts" and isinstance(data, Counts):
        raise ValueError(f"{metric.name} needs rows, not counts")
    if isinstance(data, Counts) and metric.groups == "pair":
        data = data.pair
    if metric.name.endswith(OF_LABELS):
        data = data.of_labels()
    return np.asarray(metric.function(data), dtype=np.float64)


def _measure_scores(metric: Metric, data: Counts | GroupScores | Rows) -> Floats:
    """Return a metric of scores, as `measure`."""
    if isinstance(data, Counts):
        raise ValueError(f"{metric.name} needs scores, not counts")  # noqa: TRY004 - as for rows
    if isinstance(data, Rows):
        data = sum_scores(data.s, data.y, data.score, GROUPS, data.weights)
    return np.asarray(metric.function(data), dtype=np.float64)


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
    if not _NEIGHBOURS.keys().isdisjoint(requested.values()):
        neighbours = find_neighbours(rows, outcomes=np.stack([rows.predicted, rows.y], 1))
        near = {name: summarise(neighbours) for name, summarise in _NEIGHBOURS.items()}
    shared: dict[str, float] = {}
    for name, base in requested.items():
        if base in near:
            shared[name] = float(near[base][int(name != base)])
        elif base in strata:
            counts_by_stratum = count_by_stratum(values[name.removeprefix(base)], strata[base])
            shared[name] = float(conditional.unexplained_difference(counts_by_stratum))
        else:
            shared[name] = float(measure(name, rows))
    return shared


_OWN_STRATA = {"propensity-difference": propensity_strata, "cluster-difference": cluster_strata}
_NEIGHBOURS = {
    "situation-testing": share_treated_worse,
    "situation-testing-reverse": share_treated_better,
    "consistency": mean_agreement,
}


_COUNTS = Counts(PAIR, np.arange(24.0).reshape(3, 2, 2, 2) + 1)
_ROWS = Rows(
    np.array([0, 0, 0, 0, 1, 1, 1, 1]),
    np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    np.array([0, 1, 0, 1, 0, 1, 0, 1]),
    score=np.linspace(0.1, 0.9, 8),
    features=np.arange(16.0).reshape(8, 2),
    nominal=(False, True),
)


def custom_metric(name: str, function: Callable[[Any], Any]) -> Metric:
    """Return the entry of a function; tried out on a few counts or rows.

    It takes `Counts` of the deprived and the favoured group, shape (..., 2, 2, 2), and returns one value per
    leading axis; or, where its argument is annotated with `Rows`, it takes rows and returns one value. The
    first line of its docstring is the formula. Its attributes ``low``, ``high`` and ``ideal``, if it has
    them, are its range and its best value.

    Raises
    ------
    ValueError
        When it takes other arguments, fails, or returns something else.

    >>> def gap(counts: Counts) -> object: return counts.group_total[..., 1] - counts.group_total[..., 0]
    >>> custom_metric("gap", gap).needs
    'counts'
    >>> custom_metric("gap", lambda counts: 0.5)
    Traceback (most recent call last):
    ValueError: returned shape () for counts of shape (3, 2, 2, 2), not (3,)
    """
    of_rows = _takes_rows(function)
    metric = Metric(
        name=name,
        function=function,
        low=float(getattr(function, "low", -math.inf)),
        high=float(getattr(function, "high", math.inf)),
        ideal=getattr(function, "ideal", None),
        formula=cleandoc(function.__doc__ or name).splitlines()[0].removesuffix("."),
        source=name,
        undefined="",
        section="absolute",
        needs="rows" if of_rows else "counts",
    )
    example: Counts | Rows = _ROWS if of_rows else replace(_COUNTS)
    try:
        value = np.asarray(function(example), dtype=np.float64)
    except Exception as error:
        raise ValueError(f"{type(error).__name__} on a few {metric.needs}: {error}") from None
    shape = () if of_rows else (3,)
    if value.shape != shape:
        if of_rows:
            noun = "rows"
        else:
            noun = f"counts of shape {_COUNTS.n.shape}"
        raise ValueError(f"returned shape {value.shape} for {noun}, not {shape}")
    return metric


def _takes_rows(function: Callable[[Any], Any]) -> bool:
    try:
        names = list(signature(function).parameters)
        return bool(names) and get_type_hints(function).get(names[0]) is Rows
    except (NameError, TypeError, ValueError):
        return False


Against = Literal["pairs", "rest", "reference"]
How = Literal["maximum", "weighted-mean", "mean"]


def pair_groups(counts: Counts, against: Against = "pairs") -> tuple[Counts, Floats]:
    """Return the counts of pairs of groups, and what each counts in a weighted mean.

    Parameters
    ----------
    counts : Counts
        Of two or more groups.
    against : {"pairs", "rest", "reference"}
        Every two groups once, in their order; every group against all others; every other group against the
        reference of the counts.

    Returns
    -------
    Counts
        ``n`` has shape (..., pairs, 2, 2, 2), the one taken for deprived first.
    array, shape (..., pairs)
        The rows of the one taken for deprived; for ``pairs`` of both.

    Raises
    ------
    ValueError
        When there are fewer than two groups, or no reference is named.
    """
    n = counts.n
    group_indices = range(len(counts.groups))
    if len(group_indices) < 2:
        raise ValueError(f"needs two groups or more; got {counts.groups}")
    by_group = [n[..., g, :, :] for g in group_indices]
    if against == "pairs":
        chosen = [(by_group[a], by_group[b]) for a, b in combinations(group_indices, 2)]
    elif against == "rest":
        chosen = [(by_group[g], np.delete(n, g, axis=-3).sum(-3)) for g in group_indices]
    else:
        reference = counts.pair.n[..., 1, :, :]
        names = counts.reference or counts.groups[1:]
        chosen = [(by_group[g], reference) for g in group_indices if counts.groups[g] not in names]
    two = Counts(("deprived", "favoured"), np.stack([np.stack(pair, -3) for pair in chosen], -4))
    return two, two.total if against == "pairs" else two.group_total[..., 0]


def aggregate(name: str, counts: Counts, against: Against = "pairs", how: How = "maximum") -> Floats:
    """Return a metric of two groups over more: one value per leading axis.

    Parameters
    ----------
    name : str
        Of the metric.
    counts, against
        As for `pair_groups`.
    how : {"maximum", "weighted-mean", "mean"}
        The value farthest from the ideal one (ratios on a log scale; the first of equals), with its sign; the
        mean weighted by the rows of the groups; the plain mean.

    Returns
    -------
    array, shape (...)
        Pairs without a value, such as those of an empty group, are left out. NaN when none has one.

    Raises
    ------
    ValueError
        As `pair_groups`, and for the maximum of a metric that has no ideal value.

    Examples
    --------
    >>> three = Counts(("a", "b", "c"), np.array([[[3.0, 0], [0, 1]], [[2, 0], [0, 2]], [[0, 0], [0, 4]]]))
    >>> [float(aggregate("discrimination", three, how=how)) for how in ("maximum", "weighted-mean")]
    [0.75, 0.5]
    """
    pairs, rows = pair_groups(counts, against)
    values = measure(name, pairs)
    has_value = ~np.isnan(values)
    if how == "maximum":
        if find_metric(name).ideal is None:
            raise ValueError(f"{name} has no ideal value to be farthest from; take a mean")
        away = np.where(has_value, distance(find_metric(name), values), -1.0)
        return np.asarray(np.take_along_axis(values, away.argmax(-1)[..., None], axis=-1)[..., 0])
    weights = np.where(has_value, rows if how == "weighted-mean" else 1.0, 0.0)
    # Not 0 × ∞: a pair that counts nothing must not undo the mean.
    return divide((np.where(weights > 0, values, 0.0) * weights).sum(-1), weights.sum(-1))


def distance(metric: Metric, values: Floats) -> Floats:
    """Return how far values are from the ideal of a metric, ratios on a log scale; NaN without one.

    >>> distance(find_metric("impact-ratio"), np.array([0.5, 1, 2, 0, np.nan])).round(3).tolist()
    [0.693, 0.0, 0.693, inf, nan]
    >>> distance(find_metric("accuracy"), np.array([0.75, 1])).tolist()
    [0.25, 0.0]
    """
    if metric.ideal is None:
        return np.full_like(values, np.nan)
    if metric.ratio:
        with np.errstate(divide="ignore"):
            return np.abs(np.log(values))
    return np.abs(values - metric.ideal)
