"""What the features of people tell of the difference between two groups."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.config import ExplainConfig as Ask
from fairbench_cli.audit.judge.explanation import Stratified
from fairbench_cli.audit.judge.result import Interval
from fairbench_cli.audit.judge.strata import parted
from fairbench_cli.audit.read.tally import People
from fairbench_cli.measures.propensity import RANGES, propensity
from fairbench_cli.measures.redlining import balanced_error, balanced_error_interval, told
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.situation import MOST_PAIRS, against, in_favour, look_up, mean_agreement
from fairbench_cli.measures.strata import DECIMALS, cluster_strata, counted, ranges

FEWEST_PAIRS = MOST_PAIRS // 4  # for one of several comparisons
FEWEST_ROWS = 2  # of a group


@dataclass(frozen=True)
class Found:
    """What came out; nothing where there is nothing to go by."""

    parts: tuple[Stratified, ...]
    measures: dict[str, Interval]
    features: tuple[str, ...]
    notes: tuple[str, ...]


def explain_people(
    people: People,
    attribute: str,
    group: str,
    reference: str | None,
    hidden: set[str],
    many: int,
    worth: float,
    spec: Spec,
    ask: Ask,
) -> Found:
    """Compare the rows of a group with those of its reference (None: all others).

    Parameters
    ----------
    people : People
        Rows of all groups.
    attribute, group, reference : str
        What is compared.
    hidden : set of str
        Columns that are no features.
    many : int
        How many comparisons share the time there is for neighbours.
    worth : float
        Rows that a unit of weight is worth.
    spec, ask
        How to audit, and what was asked.
    """
    of = people.groups[attribute]
    deprived = of == group
    favoured = ~deprived if reference is None else of == reference
    rows = _rows(people, deprived, favoured, [name not in hidden for name in people.names])
    features = tuple(dict.fromkeys(name for name in people.names if name not in hidden))
    notes = list(people.notes)
    if min(deprived.sum(), favoured.sum()) < FEWEST_ROWS or not features:
        why = (
            "no column is left to describe a person" if not features else "too few of the rows that were read"
        )
        return Found((), {}, features, (*notes, f"No propensity, neighbours or redlining: {why}."))
    chances = propensity(rows).round(DECIMALS)
    codes, tops = ranges(chances, RANGES, rows.weights)
    names = tuple(_span(chances[codes == i]) for i in range(len(tops)))
    clusters = cluster_strata(rows)
    numbers = tuple(f"cluster {i + 1}" for i in range(int(clusters.max()) + 1))
    parts = (
        parted("propensity", names, counted(rows, codes), worth, spec),
        parted("clusters", numbers, counted(rows, clusters), worth, spec),
    )
    measures = {"redlining-potential": _redlining(rows, worth, spec)}
    if rows.weights is not None:
        notes.append("No situation testing or consistency: neighbours know no weights.")
    else:
        found, note = _neighbours(rows, many, ask)
        measures = found | measures
        notes += note
    return Found(parts, measures, features, tuple(notes))


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


def _redlining(rows: Rows, worth: float, spec: Spec) -> Interval:
    counts = told(rows)
    low, high = balanced_error_interval(replace(counts, n=counts.n * worth), spec.confidence)
    return Interval(balanced_error(counts), low, high)


def _neighbours(rows: Rows, many: int, ask: Ask) -> tuple[dict[str, Interval], list[str]]:
    """Compare people alike, without intervals: rows share neighbours, so they are not independent."""
    most = max(MOST_PAIRS // many, FEWEST_PAIRS)
    near = look_up(rows, ask.neighbours, most=most)
    found = {
        "situation-testing": against(near, ask.margin),
        "situation-testing-reverse": in_favour(near, ask.margin),
        "consistency": mean_agreement(near),
    }
    measures = {name: Interval(float(value[0]), np.nan, np.nan) for name, value in found.items()}
    notes = ["Situation testing and consistency have no intervals: rows share neighbours."]
    if len(near.asked) < len(rows.s):
        notes.append(
            f"Neighbours were looked up of {len(near.asked)} of {len(rows.s)} rows, drawn at random "
            f"({len(near.excess)} of the group); they are looked for among all."
        )
    if any(np.isnan(measure.value) for measure in measures.values()):
        notes.append(f"A group has too few rows for {ask.neighbours} neighbours.")
    return measures, notes


def _span(chances: NDArray[np.float64]) -> str:
    """Write a range of propensities."""
    low, high = float(chances.min()), float(chances.max())
    return f"{low:.3f}–{high:.3f}"
