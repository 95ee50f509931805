"""From a file that was audited to what is behind the differences between its groups."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.config import ExplainConfig as Ask
from fairbench_cli.audit.judge.explanation import Explanation
from fairbench_cli.audit.judge.features import explain_people
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.result import Audit
from fairbench_cli.audit.judge.strata import difference, of_decisions, parted
from fairbench_cli.audit.read.tally import People, Slice, Strata
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats

MOST_COMPARED = 20  # groups with their references
MOST_NAMED = 10  # small groups in a note


def explain(audit: Audit) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the audit.

    Groups of fewer rows than `AuditConfig.min_group` are named in a note; where an attribute has no others,
    its largest has an explanation without parts to carry it. Where the attributes to audit were named, the
    features of a person are all other columns; else each attribute in turn is taken for the protected one,
    and the others are features, too.

    Raises
    ------
    UserError
        When there are too many groups.
    """
    tally, ask = audit.tally, audit.spec.explain
    if ask is None or tally.people is None:
        return ()
    slices = [part for part in tally.slices if part.attribute in tally.strata]
    many = sum(len(_groups(part, audit.spec)) for part in slices)
    if many > MOST_COMPARED:
        raise user_error(
            f"{many} groups of {len(slices)} attributes are too many to explain; at most {MOST_COMPARED} are",
            "name the protected attributes with --attribute, or raise --min-group",
            "--explain",
        )
    return tuple(_explanations(slices, audit, tally.people, many, ask))


def _pairs(part: Slice, spec: Spec) -> list[tuple[int, int]]:
    """Return each group with its reference, by their places."""
    at = int(references(part, ("pprev",), spec)[0])
    return [(g, at) for g in range(len(part.rows)) if g != at]


def _groups(part: Slice, spec: Spec) -> list[tuple[int, int]]:
    """Return those that have rows enough to be explained."""
    return [pair for pair in _pairs(part, spec) if min(_rows(part, pair)) >= spec.min_group]


def _rows(part: Slice, pair: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows a group and its reference have."""
    g, at = pair
    own = int(part.rows[g])
    return own, int(part.rows.sum()) - own if at == REST else int(part.rows[at])


def _small(part: Slice, spec: Spec) -> list[str]:
    """Say which groups are not explained."""
    names, pairs = part.counts.groups, _pairs(part, spec)
    own = [names[pair[0]] for pair in pairs if _rows(part, pair)[0] < spec.min_group]
    other = [
        names[pair[0]] for pair in pairs if _rows(part, pair)[1] < spec.min_group <= _rows(part, pair)[0]
    ]
    few = f"fewer than {spec.min_group} rows, not explained."
    notes = [f"{_named(own)}: {few}"] if own else []
    return notes + ([f"{_named(other)}: the reference has {few}"] if other else [])


def _named(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _explanations(
    slices: list[Slice], audit: Audit, people: People, many: int, ask: Ask
) -> Iterator[Explanation]:
    spec, said = audit.spec, list(audit.tally.strata_notes)
    protected = {part.attribute for part in slices}
    for part in slices:
        every = audit.tally.strata[part.attribute]
        hidden = {part.attribute} if spec.attributes is None else protected
        notes = [*_small(part, spec), *said]
        pairs = _groups(part, spec)
        if not pairs:
            largest = max(_pairs(part, spec), key=lambda pair: _rows(part, pair)[0])
            yield replace(_bare(part, largest, spec), notes=tuple(notes))
        for pair in pairs:
            yield _explanation(part, pair, every, people, hidden, many, notes, spec, ask)
            notes = said


def _explanation(
    part: Slice,
    pair: tuple[int, int],
    every: tuple[tuple[str, Strata], ...],
    people: People,
    hidden: set[str],
    many: int,
    said: list[str],
    spec: Spec,
    ask: Ask,
) -> Explanation:
    g, at = pair
    bare, worth = _bare(part, pair, spec), part.rows_per_weight
    parts = []
    for by, strata in every:
        n = two(strata.n, g, at)
        some = n.sum((-2, -1)) > 0
        kept = tuple(name for name, there in zip(strata.names, some, strict=True) if there)
        parts.append(parted(by, kept, of_decisions(n[some]), worth, spec))
    reference = None if at == REST else bare.reference
    found = explain_people(people, part.attribute, bare.group, reference, hidden, many, worth, spec, ask)
    return replace(
        bare,
        parts=(*parts, *found.parts),
        measures=found.measures,
        features=found.features,
        notes=(*said, *found.notes),
    )


def _bare(part: Slice, pair: tuple[int, int], spec: Spec) -> Explanation:
    """Return the difference alone."""
    g, at = pair
    names = part.counts.groups
    overall = of_decisions(two(part.counts.predicted[None], g, at)[0])
    return Explanation(
        part.attribute,
        names[g],
        REST_NAME if at == REST else names[at],
        *_rows(part, pair),
        difference(overall, part.rows_per_weight, spec.confidence),
        (),
        {},
        (),
        (),
    )


def two(n: Floats, g: int, at: int) -> Floats:
    """Put a group and its reference, or all others, side by side: (..., groups, 2) becomes (..., 2, 2)."""
    own = n[..., g, :]
    return np.stack([own, n.sum(-2) - own if at == REST else n[..., at, :]], -2)
