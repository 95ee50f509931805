"""Which columns an explanation is about: decision, groups, strata and features, each as SQL."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.read import decisions as decide
from fairbench_cli.audit.read.cells import code_sql
from fairbench_cli.audit.read.columns import MOST_CODES, MOST_GROUPS, RESERVED, Roles
from fairbench_cli.audit.read.cuts import Bins, bin_sql, blank, find_bins, find_cuts, number, trimmed
from fairbench_cli.audit.read.formats import open_source
from fairbench_cli.audit.read.notes import of_bins
from fairbench_cli.audit.read.source import Source, quoted
from fairbench_cli.audit.read.tally import MISSING
from fairbench_cli.audit.read.tally_file import engine_in
from fairbench_cli.errors import shown, suggest, user_error
from fairbench_cli.measures.propensity import RANGES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Field:
    """A column as SQL, trimmed, its empty cells named."""

    name: str
    column: int
    sql: str


def labels_for_scores(source: str, spec: Spec) -> Spec:
    """Let the labels be audited themselves where the file has no scores and nobody named any.

    Raises
    ------
    UserError
        For standard input, which can be read only once.
    """
    if source == "-":
        raise user_error("an explanation reads the file more than once", "save it first", "--explain")
    if spec.score is not None:
        return spec
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder, engine_in(folder) as engine:
        names = open_source(engine, source, None, Path(folder)).columns
    label = spec.label or next((name for name in ("label_value", "label") if name in names), None)
    if "score" in names or label is None:
        return spec
    return spec.model_copy(update={"score": label, "label": label})


def decision_sql(engine: "DuckDBPyConnection", source: Source, roles: Roles, spec: Spec) -> str:
    """Write whether a row is selected, 0 or 1.

    Raises
    ------
    UserError
        When ties are drawn at random: no row is selected for sure then.
    """
    decisions = spec.decisions
    if decisions[0].kind == "binary":
        return code_sql(source, roles.score, 0)
    cut = next(iter(find_cuts(engine, source, roles, decisions).values()))[0]
    if isinstance(cut.tied, int):
        raise user_error("ties are drawn, not rows", "use --ties include or exclude", "--explain")
    sign = ">=" if cut.tied == "all" else ">"
    value = number(source, roles.score)
    return f"CASE WHEN {value} {sign} {decide.literal(cut.score)} THEN 1 ELSE 0 END"


def group_field(engine: "DuckDBPyConnection", source: Source, name: str, spec: Spec) -> Field:
    """Return an audited attribute, cut as it was audited."""
    column = source.columns.index(name)
    if name not in spec.bins:
        return Field(name, column, _text(column))
    return Field(
        name, column, _binned(source, column, find_bins(engine, source, name, column, spec.bins[name]))
    )


def stratum_fields(
    engine: "DuckDBPyConnection", source: Source, roles: Roles, spec: Spec
) -> tuple[dict[str, Field], list[str]]:
    """Return the columns to explain by, by name, and what was done to them.

    A column of more than 20 different numbers is cut into five ranges of equal counts, or as many as
    ``bins`` says.

    Raises
    ------
    UserError
        For a column that is not there, is no explanation, or has too many values.
    """
    fields: dict[str, Field] = {}
    notes: list[str] = []
    scored = "label" if spec.score == spec.label else "score"
    taken = {roles.label: "label", roles.weight: "weight", roles.model: "model", roles.score: scored}
    for name in dict.fromkeys(name for names in spec.explained_by for name in names):
        if name not in source.columns:
            raise user_error(f"no column {shown(name)}", suggest(name, source.columns), "--explain")
        column = source.columns.index(name)
        if column in taken:
            raise user_error(
                f"column {shown(name)} is the {taken[column]}", "explain by another", "--explain"
            )
        value = f"TRY_CAST({trimmed(column)} AS DOUBLE)"
        sql = (
            f"SELECT count(DISTINCT {trimmed(column)}), "  # noqa: S608
            f"count(*) FILTER (NOT ({blank(column)}) AND ({value} IS NULL OR NOT isfinite({value}))) "
            f"FROM {source.relation}"
        )
        different, words = engine.execute(sql).fetchone() or (0, 0)
        if different > MOST_CODES and not words:
            parts = spec.bins.get(name, RANGES)
            bins = find_bins(engine, source, name, column, parts)
            notes.append(of_bins(name, parts, bins))
            fields[name] = Field(name, column, _binned(source, column, bins))
        elif different > MOST_GROUPS:
            what = f"{shown(name)} has {different} different values, too many for strata"
            raise user_error(what, "explain by a column with fewer", "--explain")
        else:
            fields[name] = Field(name, column, _text(column))
    return fields, notes


def feature_columns(source: Source, roles: Roles) -> dict[str, int]:
    """Return the columns that may describe a person: all but score, label, weight, model and identifiers."""
    taken = {roles.score, roles.label, roles.weight, roles.model, roles.single_model}
    return {
        name: i
        for i, name in enumerate(source.columns)
        if name and i not in taken and name.lower() not in RESERVED
    }


def _text(column: int) -> str:
    return f"coalesce(nullif({trimmed(column)}, ''), '{MISSING}')"


def _binned(source: Source, column: int, bins: Bins) -> str:
    cases = "".join(f" WHEN {i} THEN {quoted(label)}" for i, label in enumerate(bins.labels))
    return f"CASE {bin_sql(source, column, bins)}{cases} ELSE '{MISSING}' END"
