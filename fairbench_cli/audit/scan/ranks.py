"""Find the k-th highest score of each model exactly: by ranges of scores, then by the values within one.

One scan of the file keeps the scores, on disk where they outgrow the memory. They are rounded to `BITS`
significant bits, which keeps their order: some 30,000 ranges of scores between 0 and 1. How many rows each
has says in which one rank k is, and of that one alone the values are counted. Counting all values would take
a table as large as the file.
"""

from dataclasses import dataclass

from fairbench_cli.audit.read.columns import ColumnRoles
from fairbench_cli.audit.read.mistakes import refuse_scores
from fairbench_cli.audit.read.predictions import Predictions, not_finite, quoted
from fairbench_cli.audit.read.tally import MISSING

BITS = 12
LARGE = 1e290  # beyond, all scores are in one range: rounding would overflow


@dataclass(frozen=True)
class Rank:
    """The score of a rank, how many rows have exactly this one, and how many this one or a higher one."""

    score: float
    tied: int
    upto: int


def model_sql(roles: ColumnRoles) -> str:
    """Write the model of a row in SQL."""
    return "''" if roles.model is None else text_sql(roles.model)


def text_sql(column: int) -> str:
    """Write a cell as the name of a group in SQL: trimmed, `MISSING` when it is empty."""
    return f"coalesce(nullif(t{column}, ''), '{MISSING}')"


def coarse_ranks(source: Predictions, roles: ColumnRoles) -> dict[str, int]:
    """Count the ranges of scores into the table ``ranges``; return the models, sorted, with their rows.

    The scores themselves stay in the table ``scores``.

    Raises
    ------
    UserError
        For scores that are not finite numbers.
    """
    model = "" if roles.model is None else f"{model_sql(roles)} AS m, "
    kept = f"SELECT {model}n{roles.score} AS s FROM predictions"
    source.execute(f"CREATE OR REPLACE TEMP TABLE scores AS {kept}")
    # Dekker's splitting: c - (c - b) is b rounded to BITS bits, where c = (2^(53 - BITS) + 1) b.
    factor = 2 ** (53 - BITS) + 1
    scores = _scores(roles)
    bounded = f"SELECT m, s, greatest(-{LARGE}::DOUBLE, least({LARGE}::DOUBLE, s)) AS b FROM ({scores})"
    scaled = f"SELECT m, s, b, b * {factor}::DOUBLE AS c FROM ({bounded})"
    ranges = f"SELECT m, min(s) AS low, max(s) AS high, count(*) AS n FROM ({scaled}) GROUP BY m, c - (c - b)"
    running = f"SELECT *, sum(n) OVER (PARTITION BY m ORDER BY low DESC) AS upto FROM ({ranges})"
    source.engine.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {running}")
    bad = f"{not_finite('low')} OR {not_finite('high')}"
    if source.one(f"SELECT 1 FROM ranges WHERE {bad} LIMIT 1"):
        refuse_scores(source, roles.score)
    return dict(source.all("SELECT m, sum(n)::BIGINT FROM ranges GROUP BY m ORDER BY m"))


def exact_ranks(
    source: Predictions, roles: ColumnRoles, wanted: set[tuple[str, int]]
) -> dict[tuple[str, int], Rank]:
    """Return the ranks wanted, as (model, k from 1); needs the tables of `coarse_ranks`, and drops them."""
    found: dict[tuple[str, int], Rank] = {}
    inside: dict[tuple[str, float, float, int], list[int]] = {}
    for model, k in sorted(wanted):
        low, high, n, upto = source.one(
            "SELECT low, high, n, upto::BIGINT FROM ranges WHERE m = ? AND upto >= ? ORDER BY upto LIMIT 1",
            [model, k],
        )
        if low == high:
            found[model, k] = Rank(low, n, upto)
        else:
            inside.setdefault((model, low, high, upto - n), []).append(k)
    if inside:
        _count_inside(source, roles, list(inside))
    source.engine.execute("DROP TABLE ranges; DROP TABLE scores")
    for (model, low, high, above), ranks in inside.items():
        for k in ranks:
            where = "m = ? AND s BETWEEN ? AND ? AND upto >= ? ORDER BY upto LIMIT 1"
            score, n, upto = source.one(
                f"SELECT s, n, upto::BIGINT FROM heights WHERE {where}", [model, low, high, k - above]
            )
            found[model, k] = Rank(score, n, above + upto)
    return found


def _count_inside(
    source: Predictions, roles: ColumnRoles, ranges: list[tuple[str, float, float, int]]
) -> None:
    """Count the scores within some ranges, with the rows from the top of each, into the table ``heights``."""
    scores = _scores(roles)
    if len(ranges) == 1:
        ((model, low, high, _),) = ranges
        where = f"WHERE m = {quoted(model)} AND s BETWEEN '{low!r}'::DOUBLE AND '{high!r}'::DOUBLE"
        within = f"SELECT m, s, '{low!r}'::DOUBLE AS low FROM ({scores}) {where}"
    else:
        rows = (f"({quoted(model)}, '{low!r}'::DOUBLE, '{high!r}'::DOUBLE)" for model, low, high, _ in ranges)
        known = f"(VALUES {', '.join(rows)}) known(model, low, high)"
        within = f"SELECT m, s, low FROM ({scores}) JOIN {known} ON m = model AND s BETWEEN low AND high"
    counted = f"SELECT m, low, s, count(*) AS n FROM ({within}) GROUP BY ALL"
    running = f"SELECT m, s, n, sum(n) OVER (PARTITION BY m, low ORDER BY s DESC) AS upto FROM ({counted})"
    source.engine.execute(f"CREATE OR REPLACE TEMP TABLE heights AS {running}")


def _scores(roles: ColumnRoles) -> str:
    return "SELECT '' AS m, s FROM scores" if roles.model is None else "SELECT m, s FROM scores"
