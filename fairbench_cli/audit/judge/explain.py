"""From a file that was audited to what is behind the differences between its groups."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.config import ExplainConfig as Ask
from fairbench_cli.audit.judge.explanation import Explanation
from fairbench_cli.audit.judge.features import explain_people
from fairbench_cli.audit.judge.references import REST, REST_NAME, references
from fairbench_cli.audit.judge.result import Audit
from fairbench_cli.audit.judge.strata import difference, of_decisions, parted
from fairbench_cli.audit.read.columns import Roles, assign
from fairbench_cli.audit.read.formats import open_source
from fairbench_cli.audit.read.people import CROSSED, People, Strata, count_strata, read_people
from fairbench_cli.audit.read.source import SAMPLE, Source
from fairbench_cli.audit.read.strata_columns import (
    decision_sql,
    feature_columns,
    group_field,
    stratum_fields,
)
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.audit.read.tally_file import engine_in
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_COMPARED = 20  # groups with their references
MOST_NAMED = 10  # small groups in a note


def explain(source: str, audit: Audit, ask: Ask) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the audit.

    Attributes to explain by are not explained themselves, nor are intersections and attributes of one group.
    Groups of fewer rows than `Spec.min_group` are named in a note; where an attribute has no others, its
    largest has an explanation without parts to carry it. Where the attributes to audit were named, the
    features of a person are all other columns; else each attribute in turn is taken for the protected one,
    and the others are features, too.

    Parameters
    ----------
    source : str
        The file that was audited.
    audit : Audit
        What was found.
    ask : Ask
        What to explain by.

    Raises
    ------
    UserError
        When there are several models or decisions, too many groups, nothing to explain, or a column to
        explain by that is not fit for it.
    """
    slices = _slices(audit, ask)
    spec = audit.spec
    names = tuple(part.attribute for part in slices)
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder, engine_in(folder) as engine:
        file = open_source(engine, source, None, Path(folder))
        engine.execute(f"CREATE TEMP TABLE sample AS SELECT * FROM {file.relation} LIMIT {SAMPLE}")  # noqa: S608
        roles = assign(
            engine, file, spec.model_copy(update={"attributes": names, "intersections": (), "bins": {}})
        )
        return tuple(_explanations(engine, file, roles, slices, audit, ask))


def _slices(audit: Audit, ask: Ask) -> list[Slice]:
    """Return the attributes to explain; refuse what cannot be."""
    if len({(part.model, part.decision) for part in audit.tally.slices}) > 1:
        what = "several models or decisions are audited, and one can be explained at a time"
        raise user_error(what, "leave one model in the file, and give one decision", "--explain")
    used = {name for names in ask.by for name in names}
    slices = [
        part
        for part in audit.tally.slices
        if not part.intersection and part.attribute not in used and len(part.rows) > 1
    ]
    if not slices:
        what = "no attribute is left to explain"
        raise user_error(what, "name the protected one with --attribute", "--explain")
    many = sum(len(_groups(part, audit.spec)) for part in slices)
    if many > MOST_COMPARED:
        raise user_error(
            f"{many} groups of {len(slices)} attributes are too many to explain; at most {MOST_COMPARED} are",
            "name the protected attributes with --attribute, or raise --min-group",
            "--explain",
        )
    return slices


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
    engine: "DuckDBPyConnection",
    file: Source,
    roles: Roles,
    slices: list[Slice],
    audit: Audit,
    ask: Ask,
) -> Iterator[Explanation]:
    spec = audit.spec
    decision = decision_sql(engine, file, roles, spec)
    fields, said = stratum_fields(engine, file, roles, spec, ask)
    groups = tuple(group_field(engine, file, part.attribute, spec) for part in slices)
    many = sum(len(_groups(part, spec)) for part in slices)
    features = feature_columns(file, roles)
    people = read_people(engine, file, groups, decision, roles.weight, features, audit.tally.rows, spec.seed)
    protected = {part.attribute for part in slices}
    for part, group in zip(slices, groups, strict=True):
        every = [
            (
                CROSSED.join(names),
                count_strata(
                    engine,
                    file,
                    group,
                    tuple(fields[name] for name in names),
                    decision,
                    roles.weight,
                    part.counts.groups,
                ),
            )
            for names in ask.by
        ]
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
    every: list[tuple[str, Strata]],
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
