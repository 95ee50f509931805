"""What is behind the differences between groups, from strata and rows that were read."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.features import add_people
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.report import Explanation
from fairbench_cli.audit.judge.strata import difference, of_decisions, stratified
from fairbench_cli.audit.read.tally import People, Slice, Tally
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats

MOST_COMPARED = 20  # groups with their references
MOST_NAMED = 10  # small groups in a note


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
    slices = [part for part in tally.slices if part.attribute in tally.strata]
    many = sum(len(_groups(part, config)) for part in slices)
    if many > MOST_COMPARED:
        raise user_error(
            f"{many} groups of {len(slices)} attributes are too many to explain; at most {MOST_COMPARED} are",
            "name the protected attributes with --attribute, or raise --min-group",
            "--explain",
        )
    return tuple(found for part in slices for found in _explanations(part, tally, tally.people, many, config))


def _pairs(part: Slice, config: AuditConfig) -> list[tuple[int, int]]:
    """Return each group with its reference, by their places."""
    at = int(references(part, ("selection-rate",), config)[0])
    return [(g, at) for g in range(len(part.rows)) if g != at]


def _groups(part: Slice, config: AuditConfig) -> list[tuple[int, int]]:
    """Return those that have rows enough to be explained."""
    return [pair for pair in _pairs(part, config) if min(_rows(part, pair)) >= config.min_group]


def _rows(part: Slice, pair: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows a group and its reference have."""
    g, at = pair
    own = int(part.rows[g])
    return own, int(part.rows.sum()) - own if at == REST else int(part.rows[at])


def _small(part: Slice, config: AuditConfig) -> list[str]:
    """Return notes that name the groups that are not explained."""
    names, least = part.counts.groups, config.min_group
    rows = {names[pair[0]]: _rows(part, pair) for pair in _pairs(part, config)}
    few = f"fewer than {least} rows, not explained."
    own = [name for name, (mine, _) in rows.items() if mine < least]
    other = [name for name, (mine, theirs) in rows.items() if theirs < least <= mine]
    notes = [f"{_named(own)}: {few}"] if own else []
    return notes + ([f"{_named(other)}: the reference has {few}"] if other else [])


def _named(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _explanations(
    part: Slice, tally: Tally, people: People, many: int, config: AuditConfig
) -> Iterator[Explanation]:
    """Yield an explanation of each group with rows enough; the first carries the notes on the attribute."""
    notes = (*_small(part, config), *tally.strata_notes)
    pairs = _groups(part, config)
    if not pairs:
        largest = max(_pairs(part, config), key=lambda pair: _rows(part, pair)[0])
        yield _bare(part, largest, config, notes)
    hidden = {part.attribute} if config.attributes is None else set(tally.strata)
    for pair in pairs:
        bare, worth = _bare(part, pair, config, notes), part.rows_per_weight
        parts = []
        for by, strata in tally.strata[part.attribute]:
            n = two(strata.n, *pair)
            some = n.sum((-2, -1)) > 0
            kept = tuple(name for name, there in zip(strata.names, some, strict=True) if there)
            parts.append(stratified(by, kept, of_decisions(n[some]), worth, config))
        bare = replace(bare, parts=tuple(parts))
        rest = pair[1] == REST
        yield add_people(bare, people, rest, hidden, many, worth, config)
        notes = tally.strata_notes


def _bare(part: Slice, pair: tuple[int, int], config: AuditConfig, notes: tuple[str, ...]) -> Explanation:
    """Return the difference alone."""
    g, at = pair
    names = part.counts.groups
    overall = of_decisions(two(part.counts.predicted[None], g, at)[0])
    return Explanation(
        part.attribute,
        names[g],
        REST_NAME if at == REST else names[at],
        *_rows(part, pair),
        difference(overall, part.rows_per_weight, config.confidence),
        notes=notes,
    )


def two(n: Floats, g: int, at: int) -> Floats:
    """Return counts of a group and its reference, or of all others: (..., groups, 2) becomes (..., 2, 2)."""
    own = n[..., g, :]
    return np.stack([own, n.sum(-2) - own if at == REST else n[..., at, :]], -2)
