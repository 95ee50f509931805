"""What the features of people say of the difference between two groups."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.report import Explanation, Interval
from fairbench_cli.audit.judge.strata import stratified
from fairbench_cli.audit.read.tally import People
from fairbench_cli.measures.propensity import RANGES, propensity
from fairbench_cli.measures.redlining import balanced_error, balanced_error_interval, predicted_groups
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.situation import MOST_PAIRS, against, in_favour, look_up, mean_agreement
from fairbench_cli.measures.strata import DECIMALS, cluster_strata, counted, ranges

FEWEST_PAIRS = MOST_PAIRS // 4  # for one of several comparisons
FEWEST_ROWS = 2  # of a group


def add_people(
    found: Explanation,
    people: People,
    rest: bool,
    hidden: set[str],
    many: int,
    worth: float,
    config: AuditConfig,
) -> Explanation:
    """Return an explanation with what the rows of the group and of its reference add to it.

    Parameters
    ----------
    found : Explanation
        The groups, and what is known already.
    people : People
        Rows of all groups.
    rest : bool
        Whether the reference is all other groups.
    hidden : set of str
        Columns that are no features.
    many : int
        How many comparisons share the time there is for neighbours.
    worth : float
        Rows that a unit of weight is worth.
    config : AuditConfig
        How to audit, and what to explain by.
    """
    of = people.groups[found.attribute]
    deprived = of == found.group
    favoured = ~deprived if rest else of == found.reference
    rows = _rows(people, deprived, favoured, [name not in hidden for name in people.names])
    features = tuple(dict.fromkeys(name for name in people.names if name not in hidden))
    notes = [*found.notes, *people.notes]
    if min(deprived.sum(), favoured.sum()) < FEWEST_ROWS or not features:
        why = "too few of the rows that were read" if features else "no column is left to describe a person"
        notes.append(f"No propensity, neighbours or redlining: {why}.")
        return replace(found, features=features, notes=tuple(notes))
    chances = propensity(rows).round(DECIMALS)
    codes, tops = ranges(chances, RANGES, rows.weights)
    names = tuple(_span(chances[codes == i]) for i in range(len(tops)))
    clusters = cluster_strata(rows)
    numbers = tuple(f"cluster {i + 1}" for i in range(int(clusters.max()) + 1))
    parts = (
        stratified("propensity", names, counted(rows, codes), worth, config),
        stratified("clusters", numbers, counted(rows, clusters), worth, config),
    )
    metrics = {"redlining-potential": _redlining(rows, worth, config)}
    if rows.weights is not None:
        notes.append("No situation testing or consistency: neighbours know no weights.")
    else:
        among_alike, more = _neighbours(rows, many, config)
        metrics = among_alike | metrics
        notes += more
    return replace(
        found, parts=(*found.parts, *parts), metrics=metrics, features=features, notes=tuple(notes)
    )


def _rows(
    people: People, deprived: NDArray[np.bool_], favoured: NDArray[np.bool_], shown: list[bool]
) -> Rows:
    both = deprived | favoured
    decision = people.decision[both]
    return Rows(
        favoured[both].astype(np.int64),
        decision,
        decision,
        features=people.features[both][:, shown],
        nominal=tuple(of for of, there in zip(people.nominal, shown, strict=True) if there),
        weights=None if people.weights is None else people.weights[both],
    )


def _redlining(rows: Rows, worth: float, config: AuditConfig) -> Interval:
    counts = predicted_groups(rows)
    low, high = balanced_error_interval(replace(counts, n=counts.n * worth), config.confidence)
    return Interval(balanced_error(counts), low, high)


def _neighbours(rows: Rows, many: int, config: AuditConfig) -> tuple[dict[str, Interval], list[str]]:
    """Compare people alike, without intervals: rows share neighbours, so they are not independent."""
    most = max(MOST_PAIRS // many, FEWEST_PAIRS)
    near = look_up(rows, config.neighbours, most=most)
    found = {
        "situation-testing": against(near, config.margin),
        "situation-testing-reverse": in_favour(near, config.margin),
        "consistency": mean_agreement(near),
    }
    metrics = {name: Interval(float(value[0]), np.nan, np.nan) for name, value in found.items()}
    notes = ["Situation testing and consistency have no intervals: rows share neighbours."]
    if len(near.asked) < len(rows.s):
        notes.append(
            f"Neighbours were looked up of {len(near.asked)} of {len(rows.s)} rows, drawn at random "
            f"({len(near.excess)} of the group); they are looked for among all."
        )
    if any(np.isnan(metric.value) for metric in metrics.values()):
        notes.append(f"A group has too few rows for {config.neighbours} neighbours.")
    return metrics, notes


def _span(chances: NDArray[np.float64]) -> str:
    """Write a range of propensities."""
    low, high = float(chances.min()), float(chances.max())
    return f"{low:.3f}–{high:.3f}"
