"""Read a file of predictions into counts, in one streaming pass.

DuckDB does the scan: on 10 million CSV rows it needs less memory than Polars (131 MB here, with a limit set;
Polars 371 MB), and spills to disk what outgrows it, so memory does not depend on the rows. Polars needs a
quarter less CPU for a bare scan, but has neither GROUPING SETS nor an exact top-k that spills.

Policies:

* Everything is read as text; no type is guessed. Blanks around names and values are trimmed.
* An empty cell, or NULL, of an attribute is the group ``(missing)``; words such as NA or None stay groups of
  that name, with a note.
* A missing score, label or weight is refused: no row is dropped.
* A row is named as ``file:line``; for Parquet as ``file:row N``, counted from 1.
* A random draw among ties depends on the seed and on the counts, never on the order of the rows.
"""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.config import Decision
from fairbench_cli.audit.read import notes as read_notes
from fairbench_cli.audit.read.cells import Cells, Plan, code_sql, count_cells
from fairbench_cli.audit.read.columns import MOST_GROUPS, Roles, assign, too_many_groups
from fairbench_cli.audit.read.cuts import (
    blank,
    find_bins,
    find_cuts,
    not_finite,
    number,
    refuse_missing,
    refuse_scores,
)
from fairbench_cli.audit.read.formats import open_source
from fairbench_cli.audit.read.mistakes import binary_advice, broken, examples, refuse_if
from fairbench_cli.audit.read.slices import slices
from fairbench_cli.audit.read.source import SAMPLE, Source
from fairbench_cli.audit.read.tally import MISSING, Tally
from fairbench_cli.errors import shown, user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "200MB"
MOST_THREADS = 4  # each has buffers of its own


def read_tally(source: str, spec: Spec, *, stdin: BinaryIO | None = None) -> Tally:
    """Count the rows of a file by model, decision, group, label and prediction.

    Parameters
    ----------
    source : str
        A CSV, TSV, NDJSON (each perhaps gzip) or Parquet file; "-" for standard input.
    spec : Spec
        Columns, decisions, attributes.
    stdin : binary file, optional
        What "-" stands for; by default the standard input of the process.

    Returns
    -------
    Tally

    Raises
    ------
    UserError
        When the file or the spec is not fit to be audited, naming file, row and column.
    """
    import duckdb

    decisions = spec.decisions
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder, engine_in(folder) as engine:
        file = open_source(engine, source, stdin, Path(folder))
        try:
            return _tally(engine, file, spec, decisions)
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
            raise  # a fault of ours, not of the file
        except duckdb.Error as error:
            raise broken(file, error) from None


def engine_in(folder: str) -> "DuckDBPyConnection":
    """Start DuckDB: bounded memory, no downloads, no progress bar."""
    import duckdb

    engine = duckdb.connect(
        config={
            "memory_limit": MEMORY,
            "threads": str(min(MOST_THREADS, os.cpu_count() or 1)),
            "temp_directory": str(Path(folder) / "spill"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    engine.execute("SET enable_progress_bar=false")
    return engine


def _tally(engine: "DuckDBPyConnection", file: Source, spec: Spec, decisions: tuple[Decision, ...]) -> Tally:
    engine.execute(f"CREATE TEMP TABLE sample AS SELECT * FROM {file.relation} LIMIT {SAMPLE}")  # noqa: S608
    roles = assign(engine, file, spec)
    if engine.execute("SELECT 1 FROM sample LIMIT 1").fetchone() is None:
        raise user_error("the file has a header but no rows", "add one row per person", file.name)
    engine.execute("SET preserve_insertion_order=false")
    if roles.weight is not None:
        engine.execute("SET threads=1")  # one order of summing, hence the same last digit each time
    plan, cells = _count(engine, file, spec, decisions, roles)
    known_words = frozenset(
        column for column, words in zip(_texts(file, roles), _words(cells), strict=True) if words
    )
    if known_words:  # the first rows misled: these columns do hold words
        roles = assign(engine, file, spec, known_words)
        plan, cells = _count(engine, file, spec, decisions, roles)
    rows = int(next(iter(cells.values())).rows.sum())
    found = slices(cells, plan, spec.seed)
    for part in found:
        if len(part.counts.groups) > MOST_GROUPS:
            count = str(len(part.counts.groups))
            raise too_many_groups(file, part.attribute, count, intersection=part.intersection)
    notes = [*file.notes, *roles.notes]
    notes += [read_notes.of_bins(name, spec.bins[name], bins) for name, bins in plan.bins.items()]
    notes += read_notes.of_cells(cells, roles)
    notes += read_notes.twice(engine, file, roles, rows)
    return Tally(file.name, rows, found, tuple(notes), roles.weight is not None)


def _count(
    engine: "DuckDBPyConnection", file: Source, spec: Spec, decisions: tuple[Decision, ...], roles: Roles
) -> tuple[Plan, dict[tuple[str, ...], Cells]]:
    bins = {
        name: find_bins(engine, file, name, roles.all_attributes[name], count)
        for name, count in spec.bins.items()
    }
    engine.execute("SET preserve_insertion_order=false")
    binary = any(decision.kind == "binary" for decision in decisions)
    only = all(decision.kind == "binary" for decision in decisions)
    plan = Plan(roles, find_cuts(engine, file, roles, decisions), only, binary, bins)
    cells = count_cells(engine, file, plan)
    for found in cells.values():
        if (found.level < 0).any():
            _refuse_score(engine, file, roles.score, binary)
        if roles.label is not None and (found.label > 1).any():
            _refuse_codes(engine, file, roles.label, "label")
        if roles.weight is not None and found.bad_weights:
            _refuse_weight(engine, file, roles.weight)
        if len(found.single) > 1:
            ids = ", ".join(shown(name) for name in sorted(name or MISSING for name in found.single)[:3])
            raise user_error(
                f"model_id has several values ({ids})",
                "audit each model apart with --model-column model_id",
                file.name,
            )
    return plan, cells


def _texts(file: Source, roles: Roles) -> list[int]:
    return [column for column in roles.quantities if column not in file.numbers]


def _words(cells: dict[tuple[str, ...], Cells]) -> tuple[int, ...]:
    return next(iter(cells.values())).words


def _refuse_score(engine: "DuckDBPyConnection", file: Source, column: int, binary: bool) -> None:
    if binary:
        _refuse_codes(engine, file, column, "score")
    refuse_scores(engine, file, column)


def _refuse_codes(engine: "DuckDBPyConnection", file: Source, column: int, flag: str) -> None:
    """Refuse scores or labels that are not 0 or 1."""
    advice = binary_advice(flag, examples(engine, file, column))
    bad = f"({code_sql(file, column, 2)}) = 2"
    refuse_if(
        engine,
        file,
        column,
        f"NOT ({blank(column)}) AND {bad}",
        "{column} has {value}, not 0 or 1, in {count}",
        advice,
    )
    refuse_missing(engine, file, column)


def _refuse_weight(engine: "DuckDBPyConnection", file: Source, column: int) -> None:
    value = number(file, column)
    refuse_if(
        engine,
        file,
        column,
        f"{not_finite(value)} OR {value} < 0",
        "{column} has {value}, not a weight, in {count}",
        "weights must be numbers from 0",
    )
