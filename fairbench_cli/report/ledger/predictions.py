"""``predictions/*.parquet``: the test rows of each cell with their decisions, as journals keep them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import make_folder, scratch_folder, write_bytes
from fairbench_cli.base.safe_text import make_slugs, printable
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.decisions import RowsPlace, read_rows
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.report.ledger.cell_labels import classifier_label, technique_label
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROOM = "predictions"
ENDING = ".parquet"
OWN = "repeat", "row", "label", "decision", "score"
MARK = "fairbench"  # the key, in a file's metadata, of the repeats that it was made of
FORMAT = 1


def write_predictions(folder: Path, plan: RunPlan, records: Records) -> list[Path]:
    """Write a file for each cell whose repeats have kept their rows; equal input gives equal bytes.

    Cells that share a key share a model, and a file: that of the first. A file that was made of the same
    repeats stays as it is; one of an earlier report that is of no cell now goes away.

    Returns
    -------
    list of Path
        The files, in the order of the plan.

    Raises
    ------
    UserError
        When the rows of a repeat are damaged, or a file cannot be written.
    """
    # 1. Write the files of the cells, one per model.
    predictions_folder = folder / ROOM
    written = []
    models_done = set()
    names = make_slugs(map(_name_parts, plan.cells))
    for cell, name in zip(plan.cells, names, strict=True):
        if cell["key"] in models_done:
            continue
        models_done.add(cell["key"])
        repeats = _repeats_with_rows(cell["key"], plan, records)
        if repeats:
            path = predictions_folder / f"{name}{ENDING}"
            make_folder(predictions_folder)
            _write(path, plan.protected(cell["dataset"], cell["attribute"]), repeats, folder / "journal")
            written.append(path)
    # 2. Remove those of earlier reports; files without a mark are somebody's own.
    old_files = set(predictions_folder.glob(f"*{ENDING}")).difference(written)
    if old_files:
        import duckdb

        with duckdb.connect() as database:
            for path in old_files:
                if _read_mark(database, path):
                    path.unlink(missing_ok=True)
    return written


def _name_parts(cell: dict[str, Any]) -> Sequence[str]:
    """Return the parts of the name of a cell's file."""
    name_parts = [cell["dataset"], cell["attribute"]]
    if cell["representation"] != "original":
        name_parts.append(cell["representation"])
    if cell["world"]:
        name_parts.append(cell["world"])
    technique = technique_label(*(cell[column] for column in TECHNIQUE))
    name_parts.append(technique.replace(" + s", "-s"))
    name_parts.append(classifier_label(cell["classifier"], cell["classifier_parameters"]))
    name_parts.append(f"beta-{cell['beta']:g}")
    return name_parts


def _repeats_with_rows(key: str, plan: RunPlan, records: Records) -> list[tuple[Repeat, RowsPlace]]:
    """Return the repeats of a cell that have kept their rows, with the place of these."""
    repeats = []
    for repeat in range(plan.config.repeats):
        record = records.get((key, repeat))
        if record is not None and isinstance(record.predictions, RowsPlace):
            repeats.append((record, record.predictions))
    return repeats


def _write(
    path: Path, protected: ProtectedAttributes, repeats: list[tuple[Repeat, RowsPlace]], journals: Path
) -> None:
    """Write the rows of a cell's repeats, unless the file has them already."""
    import duckdb

    # 1. The mark of these repeats; a file that bears it is up to date.
    checksums = [[record.repeat, rows_place.crc] for record, rows_place in repeats]
    mark = canonical_json({"format": FORMAT, "groups": protected.groups, "repeats": checksums})
    with duckdb.connect(config={"threads": 1}) as database:
        if _read_mark(database, path) == mark:
            return
        # 2. Collect the rows in a table, one repeat at a time: a single frame is in memory.
        frames = (_read_frame(record, rows_place, protected, journals) for record, rows_place in repeats)
        database.register("rows", next(frames))
        database.execute("CREATE TABLE kept AS SELECT * FROM rows")
        for frame in frames:
            database.register("rows", frame)
            database.execute("INSERT INTO kept SELECT * FROM rows")
        # 3. Write the table to a temporary file first, so that a failure leaves the old file whole.
        with scratch_folder() as scratch:
            target = scratch / "rows.parquet"
            options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{MARK}: {_quoted(mark)}}}"
            try:
                database.execute(f"COPY kept TO {_quoted(str(target))} ({options})")
            except duckdb.Error as error:
                problem = f"cannot write {path}: {printable(str(error).splitlines()[0])}"
                fix = "make room for temporary files ($TMPDIR), and report again"
                raise user_error(problem, fix) from None
            write_bytes(path, target.read_bytes())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _read_mark(database: "DuckDBPyConnection", path: Path) -> str:
    """Return the mark of the repeats that a file was made of. Empty where there is none that can be read."""
    import duckdb

    if not path.is_file():
        return ""
    query = "SELECT value FROM parquet_kv_metadata(?) WHERE key = ?"
    try:
        marks = database.execute(query, [str(path), MARK]).fetchall()
    except duckdb.Error:
        return ""
    if marks:
        return bytes(marks[0][0]).decode("utf-8", "replace")
    return ""


def _read_frame(
    record: Repeat, rows_place: RowsPlace, protected: ProtectedAttributes, journals: Path
) -> pd.DataFrame:
    """Return the rows of a repeat."""
    assert record.counts is not None  # noqa: S101 - no rows without counts
    # 1. Read the rows from the journal.
    try:
        rows = read_rows(journals, rows_place, round(float(record.counts.n.sum())))
        levels = level_columns(protected, rows.group)
    except (OSError, ValueError):
        path = journals / rows_place.file
        problem = f"the rows of repeat {record.repeat} in {path} were changed or damaged"
        fix = "put the file back, or delete it and run again, which computes its rows again"
        raise user_error(problem, fix) from None
    # 2. Name the columns; scores are missing where the classifier gives none.
    n_rows = len(rows.row)
    if rows.score is None:
        score = pd.Series([None] * n_rows, dtype="float64")
    else:
        score = pd.Series(rows.score, dtype="float64")
    columns = {
        "repeat": pd.Series(record.repeat, index=range(n_rows), dtype="int32"),
        "row": rows.row.astype("int32"),
    }
    columns |= levels
    columns |= {"label": rows.label.astype("int8"), "decision": rows.decision.astype("int8"), "score": score}
    return pd.DataFrame(columns)


def level_columns(protected: ProtectedAttributes, group: NDArray[Any]) -> dict[str, Any]:
    """Return a column of levels per protected attribute, given joint levels; no name is one of `OWN`."""
    codes = protected.split(group)
    columns = {}
    for attribute in protected.attributes:
        name = attribute.name
        if name.lower() in OWN:
            name = f"{name}_"
        columns[name] = pd.Categorical.from_codes(codes[attribute.name], pd.Index(attribute.levels))
    return columns
