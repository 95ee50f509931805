"""Find where scores are cut into decisions and numeric attributes into bins, and who is above a cut.

The k-th highest score of each model is found exactly: by ranges of scores, then by the values within one. One
scan of the file keeps the scores, on disk where they outgrow the memory. They are rounded to `BITS`
significant bits, which keeps their order: some 30,000 ranges of scores between 0 and 1. How many rows each
has says in which one rank k is, and of that one alone the values are counted. Counting all values would take
a table as large as the file.
"""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import ABOVE_MEDIAN, Decision, Edges
from fairbench_cli.audit.scan.refusals import refuse_if, refuse_scores
from fairbench_cli.audit.scan.roles import ColumnRoles
from fairbench_cli.audit.scan.source import Source, blank, code_sql, literal, not_finite, quoted
from fairbench_cli.base.errors import Flag, user_error

LEVELS = 3  # of a score with one cut: below, at and above it
MOST_LISTS = 2000  # of models and decisions
BITS = 12
LARGE = 1e290  # beyond, all scores are in one range: rounding would overflow

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """A decision for one model, as a comparison with a score.

    Parameters
    ----------
    text : str
        The decision in words, with what ties did to it.
    score : float
        Rows above are selected.
    tied : {"all", "none"} or int
        How many of the rows with exactly this score are selected, too.
    outcome : int, or None
        The position of the class that is selected, where scores are classes.
    """

    text: str
    score: float
    tied: int | str = "all"
    outcome: int | None = None


CutsByModel = dict[str | None, list[Cut]]
"""The cuts of each decision, by model; under None when they are the same for all models."""


@dataclass(frozen=True)
class Rank:
    """The score of a rank, how many rows have exactly this one, and how many this one or a higher one."""

    score: float
    tied: int
    upto: int


@dataclass(frozen=True)
class NumberBins:
    """The bins of a numeric attribute: the highest value and the name of each.

    Parameters
    ----------
    tops, labels : tuples of float and str
    rising : bool
        Whether groups are listed in this order; else by their names.
    """

    tops: tuple[float, ...]
    labels: tuple[str, ...]
    rising: bool = False


def is_binary(decisions: tuple[Decision, ...]) -> bool:
    """Return whether scores are decisions already."""
    return all(decision.kind == "binary" for decision in decisions)


def settled(source: Source, roles: ColumnRoles, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Return decisions without a median of scores that are decisions already: no number but 0 and 1, no %."""
    if all(decision.kind != "median" for decision in decisions):
        return decisions
    number = f"number_{roles.score} IS NOT NULL OR ends_with(trimmed_{roles.score}, '%')"
    score = f"({number}) AND {code_sql(roles.score, -1)} < 0"
    return decisions if source.one(f"SELECT 1 FROM predictions WHERE {score} LIMIT 1") else (Decision(),)


def find_cuts(source: Source, roles: ColumnRoles, decisions: tuple[Decision, ...]) -> CutsByModel:
    """Return the cut of each decision, by model; of several classes each is a decision.

    Top lists cost a scan of the scores, or two.

    Raises
    ------
    UserError
        For a list longer than the file, too many lists, or scores that are not finite numbers.
    """
    if roles.classes:
        texts = (f"{name} against the rest" for name in roles.classes)
        return {None: [Cut(text, 1.0, outcome=at) for at, text in enumerate(texts)]}
    if all(decision.kind in ("binary", "threshold") for decision in decisions):
        return {None: [_cut(decision) for decision in decisions]}
    models = _coarse_ranks(source, roles)
    if len(models) * len(decisions) > MOST_LISTS:
        what = f"{len(models)} models are too many for top lists"
        raise user_error(what, "audit fewer at a time", Flag("model-column"))
    at = {
        (model, decision): _ranks_of(decision, rows, model)
        for model, rows in models.items()
        for decision in decisions
    }
    found = _exact_ranks(source, roles, {(model, k) for (model, _), ks in at.items() for k in ks})
    return {
        model: [_cut(decision, {k: found[model, k] for k in at[model, decision]}) for decision in decisions]
        for model in models
    }


def _ranks_of(decision: Decision, rows: int, model: str) -> tuple[int, ...]:
    """Return the ranks, from the highest score down, that a decision among `rows` rows needs."""
    if decision.kind == "median":
        return (rows + 1) // 2, rows // 2 + 1
    if decision.kind == "top-share":
        return (max(1, math.ceil(Fraction(repr(decision.value)) * rows)),)
    if decision.kind != "top-k":
        return ()
    if decision.value > rows:
        what = f"cannot select {decision.value:g} of {rows} rows" + (f" of model {model}" if model else "")
        raise user_error(what, f"give at most {rows}", Flag("top-k"))
    return (int(decision.value),)


def _cut(decision: Decision, ranks: Mapping[int, Rank] | None = None) -> Cut:
    """Return where a decision cuts, given the scores of the ranks that it needs, by rank."""
    text = str(decision)
    if not ranks:
        return Cut(text, 1.0 if decision.kind == "binary" else decision.value + 0.0)
    (k, rank), *_ = ranks.items()
    if decision.kind == "median":  # between the two ranks in the middle, which may be one
        both = (rank, list(ranks.values())[-1])
        median = both[0].score / 2 + both[1].score / 2
        tied = next((each.tied for each in both if each.score == median), 0)
        return Cut(f"{ABOVE_MEDIAN} {median:.10g} ({tied} at it)", median, "none")
    if rank.upto == k:
        return Cut(text, rank.score)
    if decision.ties == "include":
        return Cut(f"{text} ({rank.upto} with ties)", rank.score)
    above = rank.upto - rank.tied
    if decision.ties == "exclude":
        return Cut(f"{text} ({above} without ties)", rank.score, "none")
    return Cut(f"{text} ({k - above} of {rank.tied} ties drawn)", rank.score, k - above)


def _coarse_ranks(source: Source, roles: ColumnRoles) -> dict[str, int]:
    """Count the ranges of scores into the table ``ranges``; return the models, sorted, with their rows.

    The scores themselves stay in the table ``scores``.

    Raises
    ------
    UserError
        For scores that are not finite numbers.
    """
    model = "" if roles.model is None else f"{roles.model_sql} AS model, "
    kept = f"SELECT {model}number_{roles.score} AS score FROM predictions"
    source.execute(f"CREATE OR REPLACE TEMP TABLE scores AS {kept}")
    # Dekker's splitting: c - (c - b) is b rounded to BITS bits, where c = (2^(53 - BITS) + 1) b.
    bounded = f"greatest(-{LARGE}::DOUBLE, least({LARGE}::DOUBLE, score)) AS b"
    factor = f"{2 ** (53 - BITS) + 1}::DOUBLE"
    scaled = f"SELECT *, b * {factor} AS c FROM (SELECT *, {bounded} FROM ({_scores(roles)}))"
    counted = f"SELECT model, min(score) AS low, max(score) AS high, count(*) AS n FROM ({scaled})"
    running = "*, sum(n) OVER (PARTITION BY model ORDER BY low DESC) AS upto"
    ranges = f"SELECT {running} FROM ({counted} GROUP BY model, c - (c - b))"
    source.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {ranges}")
    if source.one(f"SELECT 1 FROM ranges WHERE {not_finite('low')} OR {not_finite('high')} LIMIT 1"):
        refuse_scores(source, roles.score)
    return dict(source.all("SELECT model, sum(n)::BIGINT FROM ranges GROUP BY model ORDER BY model"))


def _exact_ranks(
    source: Source, roles: ColumnRoles, wanted: set[tuple[str, int]]
) -> dict[tuple[str, int], Rank]:
    """Return the ranks wanted, as (model, k from 1); needs the tables of `_coarse_ranks`, and drops them."""
    found: dict[tuple[str, int], Rank] = {}
    inside: dict[tuple[str, float, float, int], list[int]] = {}
    first = "upto >= ? ORDER BY upto LIMIT 1"
    for model, k in sorted(wanted):
        within = f"SELECT low, high, n, upto::BIGINT FROM ranges WHERE model = ? AND {first}"
        low, high, n, upto = source.one(within, [model, k])
        if low == high:
            found[model, k] = Rank(low, n, upto)
        else:
            inside.setdefault((model, low, high, upto - n), []).append(k)
    if inside:
        _count_inside(source, roles, list(inside))
    source.execute("DROP TABLE ranges; DROP TABLE scores")
    for (model, low, high, above), ranks in inside.items():
        for k in ranks:
            where = f"model = ? AND score BETWEEN ? AND ? AND {first}"
            at = f"SELECT score, n, upto::BIGINT FROM heights WHERE {where}"
            score, n, upto = source.one(at, [model, low, high, k - above])
            found[model, k] = Rank(score, n, above + upto)
    return found


def _count_inside(source: Source, roles: ColumnRoles, ranges: list[tuple[str, float, float, int]]) -> None:
    """Count the scores within some ranges, with the rows from the top of each, into the table ``heights``."""
    rows = [(quoted(model), literal(low), literal(high)) for model, low, high, _ in ranges]
    if len(rows) == 1:
        ((model, low, high),) = rows
        where = f"model = {model} AND score BETWEEN {low} AND {high}"
        within = f"SELECT model, score, {low} AS low FROM ({_scores(roles)}) WHERE {where}"
    else:
        known = f"(VALUES ({'), ('.join(map(', '.join, rows))})) known(name, low, high)"
        on = "model = name AND score BETWEEN low AND high"
        within = f"SELECT model, score, low FROM ({_scores(roles)}) JOIN {known} ON {on}"
    counted = f"SELECT model, low, score, count(*) AS n FROM ({within}) GROUP BY ALL"
    upto = "sum(n) OVER (PARTITION BY model, low ORDER BY score DESC) AS upto"
    heights = f"SELECT model, score, n, {upto} FROM ({counted})"
    source.execute(f"CREATE OR REPLACE TEMP TABLE heights AS {heights}")


def _scores(roles: ColumnRoles) -> str:
    return "SELECT " + ("'' AS model" if roles.model is None else "model") + ", score FROM scores"


def scores_of(cuts: list[Cut]) -> list[float]:
    """Return the scores at which there is a cut, sorted."""
    return sorted({cut.score for cut in cuts})


def level_sql(score: str, scores: list[float]) -> str:
    """Write the position of a score among sorted cuts in SQL: 2j+1 at cut j, 2j+2 between it and the next."""
    parts = [f"({score} >= {literal(cut)})::TINYINT + ({score} > {literal(cut)})::TINYINT" for cut in scores]
    return "(" + " + ".join(parts) + ")::INTEGER"


def joint_level_sql(levels: list[str]) -> str:
    """Write the levels of several scores as one number in SQL, see `level_of`; -1 when one of them is."""
    if len(levels) == 1:
        return levels[0]
    total = " + ".join(f"{LEVELS**i} * {level}" for i, level in enumerate(levels))
    return f"CASE WHEN least({', '.join(levels)}) < 0 THEN -1 ELSE {total} END"


def level_of(joint: Ints, i: int) -> Ints:
    """Return the level of the score at place i.

    >>> level_of(np.array([2 + 3 * 1]), 0).tolist(), level_of(np.array([2 + 3 * 1]), 1).tolist()
    ([2], [1])
    """
    level: Ints = joint // LEVELS**i % LEVELS
    return level


def selected(cut: Cut, scores: list[float], level: Ints, rows: Ints, seed: int, model: str) -> Ints:
    """Return how many rows of each cell are selected.

    Ties are drawn as counts: rows of one cell are alike, so a draw from all tied rows without replacement is
    a multivariate hypergeometric draw over the cells. It depends on the seed and the cells alone, never on
    the order of the rows.

    Parameters
    ----------
    cut : Cut
        Of this model.
    scores : list of float
        Those of all its cuts, sorted.
    level, rows : int arrays, shape (cells,)
        Where each cell is among these, as in `level_sql`, and how many rows it has.
    seed, model : int, str
        What a draw depends on.
    """
    at = 2 * scores.index(cut.score) + 1
    result = np.where(level > at, rows, 0)
    tied = level == at
    if cut.tied == "all":
        result[tied] = rows[tied]
    elif isinstance(cut.tied, int):
        rng = np.random.default_rng([seed, zlib.crc32(f"{model}\0{cut.text}".encode())])
        result[tied] = rng.multivariate_hypergeometric(rows[tied], cut.tied, method="marginals")
    return result


def find_bins(source: Source, column: int, bins: int | Edges) -> NumberBins:
    """Cut a numeric attribute at edges, or into bins of equal counts, exactly; equal values stay together.

    Raises
    ------
    UserError
        When a cell is no number, or all are empty.
    """
    name, value = source.columns[column], f"number_{column}"
    refuse_if(
        source,
        column,
        f"NOT ({blank(column)}) AND {not_finite(value)}",
        "{column} has {value}, not a number, in {count}: it cannot be cut into bins",
        (f"write numbers or leave the cell empty, or audit {name} as it is, without ", Flag("bins")),
    )
    if isinstance(bins, Edges):
        (whole,) = source.one(f"SELECT bool_and({value} = floor({value})) FROM predictions")
        left = bins.closed == "left"
        tops = (math.nextafter(edge, -math.inf) if left else edge for edge in bins.edges)
        return NumberBins((*tops, math.inf), bins.names(whole=whole is not False), rising=True)
    # The top of bin i is the smallest value with i/bins of the rows at or below it, so a value belongs to the
    # bin in which the rows below it end.
    rows = f"SELECT {value} AS x FROM predictions WHERE {value} IS NOT NULL"
    values = f"SELECT x, count(*) AS n FROM ({rows}) GROUP BY ALL"
    running = f"SELECT x, n, sum(n) OVER (ORDER BY x) AS upto, sum(n) OVER () AS total FROM ({values})"
    found = source.all(
        f"SELECT min(x), max(x) FROM ({running}) GROUP BY ((upto - n) * {bins}) // total ORDER BY 1"
    )
    if not found:
        raise user_error(f"{name} has no numbers to cut into bins", "name another attribute", Flag("bins"))
    return NumberBins(tuple(high for _, high in found), tuple(_span(low, high) for low, high in found))


def bin_sql(column: int, bins: NumberBins) -> str:
    """Write the bin of a row in SQL: its position, NULL when the cell is empty."""
    tops = "".join(f" WHEN number_{column} <= {literal(top)} THEN {i}" for i, top in enumerate(bins.tops))
    return f"CASE WHEN number_{column} IS NULL THEN NULL{tops} END"


def bins_note(name: str, asked: int | Edges, bins: NumberBins) -> str:
    """Write where an attribute was cut."""
    if isinstance(asked, Edges):
        return f"{name}: cut into {', '.join(bins.labels)}."
    fewer = f" ({asked} were asked for; equal values stay together)" if len(bins.labels) < asked else ""
    return f"{name}: cut into {len(bins.labels)} bins{fewer}: {', '.join(bins.labels)}."


def _span(low: float, high: float) -> str:
    first, last = f"{low + 0.0:.15g}", f"{high + 0.0:.15g}"
    if first == last:
        return first
    return f"{first}-{last}" if low >= 0 else f"{first} to {last}"
