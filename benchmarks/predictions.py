"""Files of predictions for benchmarks of the audit."""

import multiprocessing
from pathlib import Path

GROUPS = {
    "race": ["African-American", "Caucasian", "Hispanic", "Other"],
    "sex": ["Female", "Male"],
    "age_cat": ["25 - 45", "Greater than 45", "Less than 25"],
}
LABEL = "(random() < 0.4)::INT AS label_value"
DECIDED = "(random() < 0.5)::INT AS score"
COUNT = "SELECT score, label_value, race, sex, age_cat, count(*) FROM read_csv('{path}') GROUP BY ALL"
"""What DuckDB is asked for beside an audit: all counts of the file."""


def picked(values: list[str]) -> str:
    """Return SQL that picks one of some texts at random."""
    return f"{values!r}[1 + (random() * {len(values)})::INT % {len(values)}]"


ATTRIBUTES = ", ".join(f"{picked(values)} AS {name}" for name, values in GROUPS.items())


def write(path: Path, select: str) -> None:
    """Write the rows of a query as CSV, or Parquet by the name, in a process of its own.

    A command that is measured starts with the peak memory of the process that starts it: keep that small.
    """
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(str(path), select))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit(f"{path} was not written")


def made(rows: int, columns: str = f"{DECIDED}, {LABEL}, {ATTRIBUTES}") -> str:
    """Return a query for random rows with an id; `columns` is SQL."""
    return f"SELECT i AS entity_id, {columns} FROM range({rows}) t(i)"  # noqa: S608


def compas(path: Path) -> str:
    """Return a query for ProPublica's 7,214 rows as an audit takes them; the path is that of their file."""
    score = "(score_text <> 'Low')::INT AS score, two_year_recid AS label_value"
    return f"SELECT id AS entity_id, {score}, race, sex, age_cat FROM read_csv('{path}')"  # noqa: S608


def _write(path: str, select: str) -> None:
    import duckdb

    with duckdb.connect(config={"threads": "1"}) as engine:
        engine.execute("SELECT setseed(0.4)").fetchall()
        if path.endswith(".parquet"):
            engine.sql(select).write_parquet(path)
        else:
            engine.sql(select).write_csv(path)
