"""Ask the file where the cuts are: of top lists, and of numeric attributes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairbench_cli.audit.config import Decision
from fairbench_cli.audit.read import decisions as decide
from fairbench_cli.audit.read.columns import Roles
from fairbench_cli.audit.read.mistakes import refuse_if
from fairbench_cli.audit.read.source import BLANKS, Source
from fairbench_cli.audit.read.tally import MISSING
from fairbench_cli.errors import user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BLANKS = "(" + " || ".join(f"chr({ord(blank)})" for blank in BLANKS) + ")"


@dataclass(frozen=True)
class Bins:
    """The bins of a numeric attribute: the highest value and the name of each."""

    tops: tuple[float, ...]
    labels: tuple[str, ...]


def trimmed(column: int) -> str:
    """Write a cell without the blanks around it, in SQL; NULL stays NULL."""
    return f"trim(c{column}, {_BLANKS})"


def blank(column: int) -> str:
    """Write in SQL that a cell is empty."""
    return f"coalesce({trimmed(column)}, '') = ''"


def number(source: Source, column: int) -> str:
    """Write a cell as a number, in SQL; NULL when it is none."""
    return f"n{column}" if column in source.numbers else f"TRY_CAST(c{column} AS DOUBLE)"


def not_finite(value: str) -> str:
    """Write in SQL that a number is missing, not a number or infinite."""
    return f"({value} IS NULL OR NOT isfinite({value}))"


def model_name(roles: Roles) -> str:
    """Write the model of a row in SQL."""
    if roles.model is None:
        return "''"
    return f"coalesce(nullif({trimmed(roles.model)}, ''), '{MISSING}')"


def refuse_scores(engine: "DuckDBPyConnection", source: Source, column: int) -> None:
    """Refuse scores that are not finite numbers."""
    value = number(source, column)
    refuse_if(
        engine,
        source,
        column,
        f"NOT ({blank(column)}) AND {not_finite(value)}",
        "{column} has {value}, not a finite number, in {count}",
        "write scores as numbers with a decimal point, or leave those rows out",
    )
    refuse_missing(engine, source, column)


def refuse_missing(engine: "DuckDBPyConnection", source: Source, column: int) -> None:
    """Refuse empty cells."""
    refuse_if(
        engine,
        source,
        column,
        blank(column),
        "{column} is missing in {count}, first here",
        "fill it in, or leave those rows out of the file",
    )


def find_cuts(
    engine: "DuckDBPyConnection", source: Source, roles: Roles, decisions: tuple[Decision, ...]
) -> dict[str | None, list[decide.Cut]]:
    """Return the cut of each decision, by model; under None when they are the same for all models.

    A top list costs a scan of its own, of score values and how often they occur; DuckDB keeps on disk
    what does not fit into memory.
    """
    texts = decide.names(decisions)
    if all(decision.kind in ("binary", "threshold") for decision in decisions):
        scores = [1.0 if decision.kind == "binary" else float(decision.value) for decision in decisions]
        return {None: [decide.Cut(text, score + 0.0) for text, score in zip(texts, scores, strict=True)]}
    value = number(source, roles.score)
    each = f"SELECT {model_name(roles)} AS m, {value} + 0.0 AS s FROM {source.relation}"  # noqa: S608
    heights = f"SELECT m, s, count(*) AS n FROM ({each}) GROUP BY ALL"  # noqa: S608
    running = f"SELECT m, s, n, sum(n) OVER (PARTITION BY m ORDER BY s DESC) AS upto FROM ({heights})"  # noqa: S608
    engine.execute(f"CREATE OR REPLACE TEMP TABLE heights AS {running}")
    odd = f"SELECT 1 FROM heights WHERE {not_finite('s')} LIMIT 1"  # noqa: S608
    if engine.execute(odd).fetchone():
        refuse_scores(engine, source, roles.score)
    totals = engine.execute("SELECT m, sum(n)::BIGINT FROM heights GROUP BY m ORDER BY m").fetchall()
    if len(totals) * len(decisions) > 2000:
        raise user_error(
            f"{len(totals)} models are too many for top lists", "audit fewer at a time", "--model-column"
        )
    cuts: dict[str | None, list[decide.Cut]] = {}
    for model, rows in totals:
        of_model = cuts[model] = []
        for decision, text in zip(decisions, texts, strict=True):
            if decision.kind in ("binary", "threshold"):
                of_model.append(decide.Cut(text, 1.0 if decision.kind == "binary" else decision.value + 0.0))
                continue
            k = decide.wanted(decision, rows, model)
            found = engine.execute(
                "SELECT s, n, upto::BIGINT FROM heights WHERE m = ? AND upto >= ? ORDER BY upto LIMIT 1",
                [model, k],
            ).fetchone()
            score, tied, upto = found or (0.0, 0, 0)
            of_model.append(decide.top_cut(decision, text, k, score, upto - tied, tied))
    engine.execute("DROP TABLE heights")
    return cuts


def find_bins(engine: "DuckDBPyConnection", source: Source, name: str, column: int, bins: int) -> Bins:
    """Cut a numeric attribute into bins of equal counts, exactly; equal values stay together."""
    value = number(source, column)
    refuse_if(
        engine,
        source,
        column,
        f"NOT ({blank(column)}) AND {not_finite(value)}",
        "{column} has {value}, not a number, in {count}: it cannot be cut into bins",
        f"write numbers or leave the cell empty, or audit {name} as it is, without --bins",
    )
    # The top of bin i is the smallest value with i/bins of the rows at or below it, so a value belongs to the
    # bin in which the rows below it end.
    rows = f"SELECT {value} + 0.0 AS x FROM {source.relation} WHERE {value} IS NOT NULL"  # noqa: S608
    values = f"SELECT x, count(*) AS n FROM ({rows}) GROUP BY ALL"  # noqa: S608
    running = f"SELECT x, n, sum(n) OVER (ORDER BY x) AS upto, sum(n) OVER () AS total FROM ({values})"  # noqa: S608
    found = engine.execute(
        f"SELECT min(x), max(x) FROM ({running}) GROUP BY ((upto - n) * {bins}) // total ORDER BY 1"  # noqa: S608
    ).fetchall()
    if not found:
        raise user_error(f"{name} has no numbers to cut into bins", "name another attribute", "--bins")
    return Bins(tuple(high for _, high in found), tuple(_span(low, high) for low, high in found))


def bin_sql(source: Source, column: int, bins: Bins) -> str:
    """Write the bin of a row in SQL: its position, NULL when the cell is empty."""
    value = number(source, column)
    tops = "".join(f" WHEN {value} <= '{top!r}'::DOUBLE THEN {i}" for i, top in enumerate(bins.tops))
    return f"CASE WHEN {value} IS NULL THEN NULL{tops} END"


def _span(low: float, high: float) -> str:
    first, last = f"{low + 0.0:.15g}", f"{high + 0.0:.15g}"
    if first == last:
        return first
    return f"{first}-{last}" if low >= 0 else f"{first} to {last}"
