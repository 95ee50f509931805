"""Find where scores are cut into decisions and numeric attributes into bins, and who is above a cut."""

import math
import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import ABOVE_MEDIAN, Decision
from fairbench_cli.audit.read.columns import ColumnRoles
from fairbench_cli.audit.read.mistakes import refuse_if
from fairbench_cli.audit.read.predictions import Predictions, blank, code_sql, not_finite
from fairbench_cli.audit.read.ranks import Rank, coarse_ranks, exact_ranks
from fairbench_cli.base.errors import user_error

LEVELS = 3  # of a score with one cut: below, at and above it
MOST_LISTS = 2000  # of models and decisions

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


@dataclass(frozen=True)
class NumberBins:
    """The bins of a numeric attribute: the highest value and the name of each."""

    tops: tuple[float, ...]
    labels: tuple[str, ...]


def is_binary(decisions: tuple[Decision, ...]) -> bool:
    """Return whether scores are decisions already."""
    return all(decision.kind == "binary" for decision in decisions)


def settled(source: Predictions, roles: ColumnRoles, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Return decisions without a median of scores that are decisions already: no number but 0 and 1, no %."""
    if all(decision.kind != "median" for decision in decisions):
        return decisions
    number = f"n{roles.score} IS NOT NULL OR ends_with(t{roles.score}, '%')"
    score = f"({number}) AND {code_sql(roles.score, -1)} < 0"
    return decisions if source.one(f"SELECT 1 FROM predictions WHERE {score} LIMIT 1") else (Decision(),)


def find_cuts(
    source: Predictions, roles: ColumnRoles, decisions: tuple[Decision, ...]
) -> dict[str | None, list[Cut]]:
    """Return the cut of each decision, by model; under None when they are the same for all models.

    Of several classes each is a decision.

    Top lists cost a scan of the scores, or two; see `ranks`.

    Raises
    ------
    UserError
        For a list longer than the file, too many lists, or scores that are not finite numbers.
    """
    if roles.classes:
        texts = (f"{name} against the rest" for name in roles.classes)
        return {None: [Cut(text, 1.0, outcome=at) for at, text in enumerate(texts)]}
    if all(decision.kind in ("binary", "threshold") for decision in decisions):
        return {None: [_fixed_cut(decision) for decision in decisions]}
    models = coarse_ranks(source, roles)
    if len(models) * len(decisions) > MOST_LISTS:
        what = f"{len(models)} models are too many for top lists"
        raise user_error(what, "audit fewer at a time", "--model-column")
    at = {
        (model, decision): _ranks_of(decision, rows, model)
        for model, rows in models.items()
        for decision in decisions
    }
    found = exact_ranks(source, roles, {(model, k) for (model, _), ks in at.items() for k in ks})
    return {
        model: [
            _cut(decision, [found[model, k] for k in at[model, decision]], at[model, decision][:1])
            for decision in decisions
        ]
        for model in models
    }


def _fixed_cut(decision: Decision) -> Cut:
    return Cut(str(decision), 1.0 if decision.kind == "binary" else decision.value + 0.0)


def _ranks_of(decision: Decision, rows: int, model: str) -> tuple[int, ...]:
    """Return the ranks, from the highest score down, that a decision among `rows` rows needs."""
    if decision.kind == "median":
        return (rows + 1) // 2, rows // 2 + 1
    return (_wanted(decision, rows, model),) if decision.kind in ("top-k", "top-share") else ()


def _cut(decision: Decision, ranks: list[Rank], k: tuple[int, ...]) -> Cut:
    if decision.kind == "median":
        return _median_cut(*ranks)
    return _top_cut(decision, k[0], ranks[0]) if ranks else _fixed_cut(decision)


def _median_cut(upper: Rank, lower: Rank) -> Cut:
    """Cut above the median of scores, between the two ranks in the middle."""
    median = upper.score / 2 + lower.score / 2
    tied = next((rank.tied for rank in (upper, lower) if rank.score == median), 0)
    return Cut(f"{ABOVE_MEDIAN} {median:.10g} ({tied} at it)", median, "none")


def _top_cut(decision: Decision, k: int, rank: Rank) -> Cut:
    """Cut a top list of `k` rows at the score of this rank."""
    text = str(decision)
    if rank.upto == k:
        return Cut(text, rank.score)
    if decision.ties == "include":
        return Cut(f"{text} ({rank.upto} with ties)", rank.score)
    above = rank.upto - rank.tied
    if decision.ties == "exclude":
        return Cut(f"{text} ({above} without ties)", rank.score, "none")
    return Cut(f"{text} ({k - above} of {rank.tied} ties drawn)", rank.score, k - above)


def _wanted(decision: Decision, rows: int, model: str) -> int:
    """Return how many rows a top list of `rows` rows is to have."""
    if decision.kind == "top-share":
        return max(1, math.ceil(Fraction(repr(decision.value)) * rows))
    if decision.value > rows:
        what = f"cannot select {decision.value:g} of {rows} rows" + (f" of model {model}" if model else "")
        raise user_error(what, f"give at most {rows}", "--top-k")
    return int(decision.value)


def literal(value: float) -> str:
    """Write a number in SQL, exactly."""
    return f"'{value!r}'::DOUBLE"


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


def find_bins(source: Predictions, column: int, bins: int) -> NumberBins:
    """Cut a numeric attribute into bins of equal counts, exactly; equal values stay together.

    Raises
    ------
    UserError
        When a cell is no number, or all are empty.
    """
    name, value = source.columns[column], f"n{column}"
    refuse_if(
        source,
        column,
        f"NOT ({blank(column)}) AND {not_finite(value)}",
        "{column} has {value}, not a number, in {count}: it cannot be cut into bins",
        f"write numbers or leave the cell empty, or audit {name} as it is, without --bins",
    )
    # The top of bin i is the smallest value with i/bins of the rows at or below it, so a value belongs to the
    # bin in which the rows below it end.
    rows = f"SELECT {value} AS x FROM predictions WHERE {value} IS NOT NULL"
    values = f"SELECT x, count(*) AS n FROM ({rows}) GROUP BY ALL"
    running = f"SELECT x, n, sum(n) OVER (ORDER BY x) AS upto, sum(n) OVER () AS total FROM ({values})"
    found = source.all(
        f"SELECT min(x), max(x) FROM ({running}) GROUP BY ((upto - n) * {bins}) // total ORDER BY 1"
    )
    if not found:
        raise user_error(f"{name} has no numbers to cut into bins", "name another attribute", "--bins")
    return NumberBins(tuple(high for _, high in found), tuple(_span(low, high) for low, high in found))


def bin_sql(column: int, bins: NumberBins) -> str:
    """Write the bin of a row in SQL: its position, NULL when the cell is empty."""
    tops = "".join(f" WHEN n{column} <= {literal(top)} THEN {i}" for i, top in enumerate(bins.tops))
    return f"CASE WHEN n{column} IS NULL THEN NULL{tops} END"


def bins_note(name: str, asked: int, bins: NumberBins) -> str:
    """Write where an attribute was cut."""
    fewer = f" ({asked} were asked for; equal values stay together)" if len(bins.labels) < asked else ""
    return f"{name}: cut into {len(bins.labels)} bins{fewer}: {', '.join(bins.labels)}."


def _span(low: float, high: float) -> str:
    first, last = f"{low + 0.0:.15g}", f"{high + 0.0:.15g}"
    if first == last:
        return first
    return f"{first}-{last}" if low >= 0 else f"{first} to {last}"
