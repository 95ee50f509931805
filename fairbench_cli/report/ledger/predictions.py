"""``predictions/*.parquet``: the test rows of each cell with what was decided, as journals keep them."""

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
MARK = "fairbench"  # what of a file's metadata says which repeats it was made of
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
    room = folder / ROOM
    written = []
    done = set()
    for cell, name in zip(plan.cells, make_slugs(map(_names, plan.cells)), strict=True):
        repeats = [] if cell["key"] in done else _kept(cell["key"], plan, records)
        done.add(cell["key"])
        if repeats:
            path = room / f"{name}{ENDING}"
            make_folder(room)
            _write(path, plan.protected(cell["dataset"], cell["attribute"]), repeats, folder / "journal")
            written.append(path)
    old = set(room.glob(f"*{ENDING}")).difference(written)
    if old:
        import duckdb

        with duckdb.connect() as database:
            for path in old:
                if _mark(database, path):  # others are somebody's own
                    path.unlink(missing_ok=True)
    return written


def _names(cell: dict[str, Any]) -> Sequence[str]:
    """Return the parts of the name of a cell's file."""
    representation = [cell["representation"]] if cell["representation"] != "original" else []
    technique = technique_label(*(cell[name] for name in TECHNIQUE))
    classifier = classifier_label(cell["classifier"], cell["classifier_parameters"])
    world = [cell["world"]] if cell["world"] else []
    places = [cell["dataset"], cell["attribute"], *representation, *world]
    return [*places, technique.replace(" + s", "-s"), classifier, f"beta-{cell['beta']:g}"]


def _kept(key: str, plan: RunPlan, records: Records) -> list[tuple[Repeat, RowsPlace]]:
    """Return the repeats of a cell that have kept their rows, with the place of these."""
    found = (records.get((key, repeat)) for repeat in range(plan.config.repeats))
    return [
        (record, record.predictions)
        for record in found
        if record is not None and isinstance(record.predictions, RowsPlace)
    ]


def _write(
    path: Path, protected: ProtectedAttributes, repeats: list[tuple[Repeat, RowsPlace]], journals: Path
) -> None:
    """Write the rows of a cell's repeats, unless the file has them already."""
    import duckdb

    made_of = [[record.repeat, place.crc] for record, place in repeats]
    mark = canonical_json({"format": FORMAT, "groups": protected.groups, "repeats": made_of})
    with duckdb.connect(config={"threads": 1}) as database:
        if _mark(database, path) == mark:
            return
        frames = (_frame(record, place, protected, journals) for record, place in repeats)
        first = next(frames)
        database.register("rows", first)
        database.execute("CREATE TABLE kept AS SELECT * FROM rows")
        for frame in frames:
            database.register("rows", frame)
            database.execute("INSERT INTO kept SELECT * FROM rows")
        with scratch_folder() as scratch:
            target = scratch / "rows.parquet"
            how = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{MARK}: {_quoted(mark)}}}"
            try:
                database.execute(f"COPY kept TO {_quoted(str(target))} ({how})")
            except duckdb.Error as error:
                what = f"cannot write {path}: {printable(str(error).splitlines()[0])}"
                raise user_error(what, "make room for temporary files ($TMPDIR), and report again") from None
            write_bytes(path, target.read_bytes())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _mark(database: "DuckDBPyConnection", path: Path) -> str:
    """Return the mark of what a file was made of. Empty where there is none, or none that can be read."""
    import duckdb

    query = "SELECT value FROM parquet_kv_metadata(?) WHERE key = ?"
    try:
        found = database.execute(query, [str(path), MARK]).fetchall() if path.is_file() else []
    except duckdb.Error:
        return ""
    if found:
        return bytes(found[0][0]).decode("utf-8", "replace")
    return ""


def _frame(record: Repeat, place: RowsPlace, protected: ProtectedAttributes, journals: Path) -> pd.DataFrame:
    """Return the rows of a repeat."""
    assert record.counts is not None  # noqa: S101 - no rows without counts
    try:
        rows = read_rows(journals, place, round(float(record.counts.n.sum())))
        levels = level_columns(protected, rows.group)
    except (OSError, ValueError):
        what = f"the rows of repeat {record.repeat} in {journals / place.file} were changed or damaged"
        fix = "put the file back, or delete it and run again, which computes its rows again"
        raise user_error(what, fix) from None
    score = pd.Series(rows.score if rows.score is not None else [None] * len(rows.row), dtype="float64")
    return pd.DataFrame(
        {
            "repeat": pd.Series(record.repeat, index=range(len(rows.row)), dtype="int32"),
            "row": rows.row.astype("int32"),
            **levels,
            "label": rows.label.astype("int8"),
            "decision": rows.decision.astype("int8"),
            "score": score,
        }
    )


def level_columns(protected: ProtectedAttributes, group: NDArray[Any]) -> dict[str, Any]:
    """Return a column of levels per protected attribute, given joint levels; no name is one of `OWN`."""
    codes = protected.split(group)
    return {
        f"{one.name}_" if one.name.lower() in OWN else one.name: pd.Categorical.from_codes(
            codes[one.name], pd.Index(one.levels)
        )
        for one in protected.attributes
    }
