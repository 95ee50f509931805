"""Stand-in: reads what an explanation needs."""

import tempfile
from dataclasses import replace
from pathlib import Path

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.columns import assign
from fairbench_cli.audit.read.formats import open_source
from fairbench_cli.audit.read.people import CROSSED, count_strata, read_people
from fairbench_cli.audit.read.source import SAMPLE
from fairbench_cli.audit.read.strata_columns import decision_sql, feature_columns, group_field, stratum_fields
from fairbench_cli.audit.read.tally import Tally
from fairbench_cli.audit.read.tally_file import engine_in


def with_strata(source: str, tally: Tally, spec: AuditConfig) -> Tally:
    used = {name for names in spec.explained_by for name in names}
    slices = [p for p in tally.slices if not p.intersection and p.attribute not in used and len(p.rows) > 1]
    if not slices or len({(p.model, p.decision) for p in slices}) > 1:
        return tally
    names = tuple(part.attribute for part in slices)
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder, engine_in(folder) as engine:
        file = open_source(engine, source, None, Path(folder))
        engine.execute(f"CREATE TEMP TABLE sample AS SELECT * FROM {file.relation} LIMIT {SAMPLE}")
        roles = assign(
            engine, file, spec.model_copy(update={"attributes": names, "intersections": (), "bins": {}})
        )
        decision = decision_sql(engine, file, roles, spec)
        fields, said = stratum_fields(engine, file, roles, spec)
        groups = tuple(group_field(engine, file, part.attribute, spec) for part in slices)
        features = feature_columns(file, roles)
        people = read_people(engine, file, groups, decision, roles.weight, features, tally.rows, spec.seed)
        strata = {
            part.attribute: tuple(
                (
                    CROSSED.join(names),
                    count_strata(
                        engine,
                        file,
                        group,
                        tuple(fields[n] for n in names),
                        decision,
                        roles.weight,
                        part.counts.groups,
                    ),
                )
                for names in spec.explained_by
            )
            for part, group in zip(slices, groups, strict=True)
        }
    return replace(tally, strata=strata, people=people, strata_notes=tuple(said))
