"""From a file that was audited to what is behind the differences between its groups."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench_cli.audit.columns import Roles, assign
from fairbench_cli.audit.explain.compare import difference, of_decisions, parted
from fairbench_cli.audit.explain.features import explain_people
from fairbench_cli.audit.explain.open import (
    decision_sql,
    feature_columns,
    group_field,
    stratum_fields,
)
from fairbench_cli.audit.explain.read import CROSSED, People, Strata, count_strata, read_people
from fairbench_cli.audit.explain.result import Ask, Explanation
from fairbench_cli.audit.read import engine_in
from fairbench_cli.audit.read_formats import open_source
from fairbench_cli.audit.read_source import SAMPLE, Source
from fairbench_cli.audit.references import REST, REST_NAME, references
from fairbench_cli.audit.result import Audit
from fairbench_cli.audit.spec import Spec
from fairbench_cli.audit.tally import Slice
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_COMPARED = 20  # groups with their references


def explain(source: str, audit: Audit, ask: Ask) -> tuple[Explanation, ...]:
    """Explain the difference between every group and its reference, in the order of the audit.

    Attributes to explain by are not explained themselves, nor are intersections and groups of fewer rows than
    `Spec.min_group`. Where the attributes to audit were named, the features of a person are all other
    columns; else each attribute in turn is taken for the protected one, and the others are features, too.

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
    columns = replace(spec.columns, attributes=names)
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder, engine_in(folder) as engine:
        file = open_source(engine, source, None, Path(folder))
        engine.execute(f"CREATE TEMP TABLE sample AS SELECT * FROM {file.relation} LIMIT {SAMPLE}")  # noqa: S608
        roles = assign(engine, file, replace(spec, columns=columns, intersections=(), bins={}))
        return tuple(_explanations(engine, file, roles, slices, audit, ask))


def _slices(audit: Audit, ask: Ask) -> list[Slice]:
    """Return the attributes to explain; refuse what cannot be."""
    if len({(part.model, part.decision) for part in audit.tally.slices}) > 1:
        what = "several models or decisions are audited, and one can be explained at a time"
        raise user_error(what, "leave one model in the file, and give one decision", "--explain")
    used = {name for names in ask.by for name in names}
    slices = [part for part in audit.tally.slices if not part.intersection and part.attribute not in used]
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


def _groups(part: Slice, spec: Spec) -> list[tuple[int, int]]:
    """Return each group to explain with its reference, by their places."""
    at = int(references(part, ("pprev",), spec)[0])
    total = int(part.rows.sum())
    return [
        (g, at)
        for g, rows in enumerate(part.rows)
        if g != at and min(rows, total - rows if at == REST else part.rows[at]) >= spec.min_group
    ]


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
        hidden = {part.attribute} if spec.columns.attributes is None else protected
        for g, at in _groups(part, spec):
            yield _explanation(part, (g, at), every, people, hidden, many, said, spec, ask)


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
    names = part.counts.groups
    group, reference = names[g], REST_NAME if at == REST else names[at]
    rows = int(part.rows[g])
    reference_rows = int(part.rows.sum()) - rows if at == REST else int(part.rows[at])
    place, worth = f"{part.attribute}\x1f{group}", part.rows_per_weight
    parts = []
    for by, strata in every:
        n = two(strata.n, g, at)
        some = n.sum((-2, -1)) > 0
        kept = tuple(name for name, there in zip(strata.names, some, strict=True) if there)
        parts.append(parted(by, kept, of_decisions(n[some]), worth, spec, place))
    overall = of_decisions(two(part.counts.predicted[None], g, at)[0])
    found = explain_people(
        people, part.attribute, group, None if at == REST else reference, hidden, many, worth, spec, ask
    )
    return Explanation(
        part.attribute,
        group,
        reference,
        rows,
        reference_rows,
        difference(overall, worth, spec.confidence),
        (*parts, *found.parts),
        found.measures,
        found.features,
        (*said, *found.notes),
    )


def two(n: Floats, g: int, at: int) -> Floats:
    """Put a group and its reference, or all others, side by side: (..., groups, 2) becomes (..., 2, 2)."""
    own = n[..., g, :]
    return np.stack([own, n.sum(-2) - own if at == REST else n[..., at, :]], -2)
