"""What is behind the differences between groups, from strata and rows that were read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.report import Explanation, Interval
from fairbench_cli.audit.judge.strata import difference, of_decisions, stratified
from fairbench_cli.audit.read.tally import People, Slice, Tally
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.propensity import RANGES, propensity
from fairbench_cli.measures.redlining import balanced_error, balanced_error_interval, predicted_groups
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.situation import MOST_PAIRS, against, in_favour, look_up, mean_agreement
from fairbench_cli.measures.strata import DECIMALS, cluster_strata, counted, ranges

Pairs = dict[tuple[int, int], tuple[int, int]]

MOST_COMPARED = 20  # groups with their references
MOST_NAMED = 10  # groups in a note
FEWEST_PAIRS = MOST_PAIRS // 4  # for one of several comparisons
FEWEST_ROWS = 2  # of a group


def explain(tally: Tally, config: AuditConfig) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the tally.

    Groups of fewer rows than `min_group` are named in a note; where an attribute has no others, its largest
    has an explanation without parts to carry it. Where the attributes to audit were named, the features of a
    person are all other columns; else each attribute in turn is taken for the protected one, and the others
    are features, too.

    Raises
    ------
    UserError
        When there are too many groups.
    """
    if tally.people is None:
        return ()
    slices = [(part, _pairs(part, config)) for part in tally.slices if part.attribute in tally.strata]
    many = sum(min(rows) >= config.min_group for _, pairs in slices for rows in pairs.values())
    if many > MOST_COMPARED:
        raise user_error(
            f"{many} groups of {len(slices)} attributes are too many to explain; at most {MOST_COMPARED} are",
            "name the protected attributes with --attribute, or raise --min-group",
            "--explain",
        )
    return tuple(
        found
        for part, pairs in slices
        for found in _explanations(part, pairs, tally, tally.people, many, config)
    )


def _pairs(part: Slice, config: AuditConfig) -> Pairs:
    """Return each group with its reference, by their places, and how many rows both have."""
    at, own = int(references(part, ("selection-rate",), config)[0]), part.rows.tolist()
    return {
        (g, at): (own[g], sum(own) - own[g] if at == REST else own[at]) for g in range(len(own)) if g != at
    }


def _small(part: Slice, pairs: Pairs, least: int) -> list[str]:
    """Return notes that name the groups that are not explained."""
    names = part.counts.groups
    few = f"fewer than {least} rows, not explained."
    own = [names[g] for (g, _), (mine, _) in pairs.items() if mine < least]
    other = [names[g] for (g, _), (mine, theirs) in pairs.items() if theirs < least <= mine]
    notes = [f"{named(own)}: {few}"] if own else []
    return notes + ([f"{named(other)}: the reference has {few}"] if other else [])


def named(names: Sequence[str]) -> str:
    """Return names in a note, the first of many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _explanations(
    part: Slice, pairs: Pairs, tally: Tally, people: People, many: int, config: AuditConfig
) -> Iterator[Explanation]:
    """Yield an explanation of each group with rows enough; the first carries the notes on the attribute."""
    notes, worth = (*_small(part, pairs, config.min_group), *tally.strata_notes), part.rows_per_weight
    enough = [pair for pair, rows in pairs.items() if min(rows) >= config.min_group]
    if not enough:
        largest = max(pairs, key=lambda pair: pairs[pair][0])
        yield _bare(part, largest, pairs[largest], config, notes)
    hidden = {part.attribute} if config.attributes is None else set(tally.strata)
    for pair in enough:
        parts = []
        for by, strata in tally.strata[part.attribute]:
            n = two(strata.n, *pair)
            some = n.sum((-2, -1)) > 0
            kept = tuple(name for name, there in zip(strata.names, some, strict=True) if there)
            parts.append(stratified(by, kept, of_decisions(n[some]), worth, config))
        bare = replace(_bare(part, pair, pairs[pair], config, notes), parts=tuple(parts))
        yield add_people(bare, people, pair[1] == REST, hidden, many, worth, config)
        notes = tally.strata_notes


def _bare(
    part: Slice, pair: tuple[int, int], rows: tuple[int, int], config: AuditConfig, notes: tuple[str, ...]
) -> Explanation:
    """Return the difference alone."""
    g, at = pair
    names = part.counts.groups
    overall = of_decisions(two(part.counts.predicted[None], g, at)[0])
    return Explanation(
        part.attribute,
        names[g],
        REST_NAME if at == REST else names[at],
        *rows,
        difference(overall, part.rows_per_weight, config.confidence),
        notes=notes,
    )


def two(n: Floats, g: int, at: int) -> Floats:
    """Return counts of a group and its reference, or of all others: (..., groups, 2) becomes (..., 2, 2)."""
    own = n[..., g, :]
    return np.stack([own, n.sum(-2) - own if at == REST else n[..., at, :]], -2)


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
