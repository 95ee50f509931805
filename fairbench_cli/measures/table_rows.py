"""The entries of the measures within strata, among neighbours, of scores and redlining; all need rows."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairbench_cli.measures import conditional, significance_rows, situation
from fairbench_cli.measures.entry import OF_LABELS, Measure
from fairbench_cli.measures.propensity import propensity_strata
from fairbench_cli.measures.redlining import redlining_potential
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.strata import cluster_strata, counted

_conditional = partial(Measure, section="conditional", on="both", needs="rows")
_situation = partial(Measure, section="situation", on="both", needs="rows")

_SURVEY = "Žliobaitė 2017"
_KAMIRAN = "Kamiran, Žliobaitė & Calders 2013; Žliobaitė 2017"
_EMPTY = "NaN when a group is empty; a stratum with one group explains all of its difference"
_FEW = "NaN when a group has fewer than k neighbours to offer"
_NEAR = f"k = {situation.NEIGHBOURS}"
_DRAWN = "above 20,000 rows, of rows drawn at random (fixed seed)"


def unexplained_difference(rows: Rows) -> float:
    """`conditional.unexplained_difference` over the strata of the rows; `ValueError` without any."""
    return float(conditional.unexplained_difference(counted(rows)))


def explained_difference(rows: Rows) -> float:
    """`conditional.explained_difference` over the strata of the rows; `ValueError` without any."""
    return float(conditional.explained_difference(counted(rows)))


def belift(rows: Rows) -> float:
    """`conditional.belift` over the strata of the rows; `ValueError` without any."""
    return float(conditional.belift(counted(rows)))


def propensity_difference(rows: Rows) -> float:
    """`conditional.unexplained_difference` over five ranges of the propensity."""
    return unexplained_difference(replace(rows, strata=propensity_strata(rows)))


def cluster_difference(rows: Rows) -> float:
    """`conditional.unexplained_difference` over ten clusters of the features."""
    return unexplained_difference(replace(rows, strata=cluster_strata(rows)))


SURVEY_ROWS = (
    _conditional(
        "unexplained-difference",
        unexplained_difference,
        -1,
        1,
        0,
        "d − dₑ = Σᵢ (P(ŷ=+|zᵢ,ḡ) − P(ŷ=+|zᵢ,g)) (P(zᵢ|ḡ) + P(zᵢ|g)) / 2 over the strata zᵢ of an attribute",
        _KAMIRAN,
        _EMPTY,
    ),
    _conditional(
        "explained-difference",
        explained_difference,
        -1,
        1,
        None,
        "dₑ = Σᵢ P*(ŷ=+|zᵢ) (P(zᵢ|ḡ) − P(zᵢ|g)), P* the mean of both groups' rates in stratum i",
        _KAMIRAN,
        _EMPTY,
    ),
    _conditional(
        "propensity-difference",
        propensity_difference,
        -1,
        1,
        0,
        "unexplained-difference over five ranges of P(s=g|X), by logistic regression, equally large",
        "Calders et al. 2013; Žliobaitė 2017",
        _EMPTY,
    ),
    _conditional(
        "cluster-difference",
        cluster_difference,
        -1,
        1,
        0,
        "unexplained-difference over ten clusters of X, by k-means (fixed seed)",
        _SURVEY,
        _EMPTY,
    ),
    _conditional(
        "belift",
        belift,
        0,
        math.inf,
        1,
        "min over the strata zᵢ, whatever their size, of P(ŷ=+|g,zᵢ) / P(ŷ=+); the mean over g would be the "
        "elift again",
        "Mancuhan & Clifton 2014; Žliobaitė 2017",
        "NaN when there are no deprived or no prediction is favourable; 0 as soon as any stratum, however "
        "small, has deprived and no favourable prediction of them: choose strata that are large enough",
    ),
    _situation(
        "situation-testing",
        situation.situation_testing,
        0,
        1,
        0,
        f"share of the deprived whose k nearest favoured are accepted more often than their k nearest "
        f"deprived, by {situation.MARGIN} or more; {_NEAR}; {_DRAWN}",
        "Luong et al. 2011; Žliobaitė 2017",
        _FEW,
    ),
    _situation(
        "situation-testing-reverse",
        situation.situation_testing_reverse,
        0,
        1,
        0,
        f"share of the deprived whose k nearest favoured are accepted less often than their k nearest "
        f"deprived, by {situation.MARGIN} or more; {_NEAR}; {_DRAWN}",
        "Luong et al. 2011; Žliobaitė 2017",
        _FEW,
    ),
    _situation(
        "consistency",
        situation.consistency,
        0,
        1,
        1,
        f"1 − 1/(Nk) Σᵢ Σⱼ |ŷᵢ − ŷⱼ| over the k nearest j of each row i but itself; {_NEAR}; {_DRAWN}",
        "Zemel et al. 2013; Žliobaitė 2017",
        "NaN when there are no k other rows",
    ),
    Measure(
        "auc-between-groups-of-scores",
        significance_rows.auc_between_groups_of_scores,
        0,
        1,
        0.5,
        "P(a favoured scores above a deprived), ties half: U / (n(g) n(ḡ)) of mann-whitney-u-of-scores",
        _SURVEY,
        "NaN when the model gives no scores, or a group is empty",
        section="absolute",
        needs="rows",
    ),
    Measure(
        "redlining-potential",
        redlining_potential,
        0,
        1,
        0.5,
        "mean of P(ŝ≠s|s) over both groups, ŝ told from X by logistic regression in five folds (fixed seed)",
        "Feldman et al. 2015; Žliobaitė 2017",
        "NaN when a group has fewer than five rows",
        section="redlining",
        needs="rows",
        on="labels",  # of the data, whatever is predicted
    ),
)

_STRATA = {"propensity-difference": propensity_strata, "cluster-difference": cluster_strata}
_NEIGHBOURS = {
    "situation-testing": situation.against,
    "situation-testing-reverse": situation.in_favour,
    "consistency": situation.mean_agreement,
}


def measure_rows(names: Iterable[str], rows: Rows) -> dict[str, float]:
    """Compute measures of rows by name, sharing the search for neighbours and the strata.

    The values are those of `registry.measure`, a name at a time.

    Raises
    ------
    KeyError
        When there is no such measure.
    ValueError
        When one needs what the rows do not have, or cannot honour their weights.

    Examples
    --------
    >>> s = np.array([0, 0, 0, 1, 1, 1])
    >>> rows = Rows(s, s, s, features=np.array([[1.0], [2], [3], [1], [2], [3]]), nominal=(False,))
    >>> measure_rows(["cluster-difference-of-labels", "redlining-potential", "slope-t"], rows)
    {'cluster-difference-of-labels': 1.0, 'redlining-potential': nan, 'slope-t': inf}
    """
    from fairbench_cli.measures.registry import measure  # which has this table

    asked = tuple(names)
    plain = {name: name.removesuffix(OF_LABELS) for name in asked}
    values: dict[str, float] = {}
    near: dict[str, Any] = {}
    if set(plain.values()) & set(_NEIGHBOURS):
        found = situation.look_up(rows, outcomes=np.stack([rows.predicted, rows.y], 1))
        near = {name: of(found) for name, of in _NEIGHBOURS.items()}
    strata = {name: make(rows) for name, make in _STRATA.items() if name in plain.values()}
    for name in asked:
        labels = name != plain[name]
        if plain[name] in near:
            values[name] = float(near[plain[name]][int(labels)])
        elif plain[name] in strata:
            given = replace(rows.of_labels() if labels else rows, strata=strata[plain[name]])
            values[name] = unexplained_difference(given)
        else:
            values[name] = float(measure(name, rows))
    return values
