"""How scores become decisions: the cut of each decision, and who is above it."""

import math
import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import Decision
from fairbench_cli.errors import user_error

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
    """

    text: str
    score: float
    tied: int | str = "all"


def names(decisions: tuple[Decision, ...]) -> list[str]:
    """Name the decisions, apart where they differ in ties alone."""
    texts = [str(decision) for decision in decisions]
    return [
        f"{text}, ties {decision.ties}" if texts.count(text) > 1 else text
        for text, decision in zip(texts, decisions, strict=True)
    ]


def wanted(decision: Decision, rows: int, model: str) -> int:
    """Return how many rows a top list of `rows` rows is to have."""
    if decision.kind == "top-share":
        return max(1, math.ceil(Fraction(repr(decision.value)) * rows))
    if decision.value > rows:
        of = f" of model {model}" if model else ""
        raise user_error(
            f"cannot select {decision.value:g} of {rows} rows{of}", f"give at most {rows}", "--top-k"
        )
    return int(decision.value)


def top_cut(decision: Decision, text: str, k: int, score: float, above: int, tied: int) -> Cut:
    """Cut a top list of `k` rows at `score`: `above` rows have more, `tied` rows have exactly this."""
    if above + tied == k:
        return Cut(text, score)
    if decision.ties == "include":
        return Cut(f"{text} ({above + tied} with ties)", score)
    if decision.ties == "exclude":
        return Cut(f"{text} ({above} without ties)", score, "none")
    return Cut(f"{text} ({k - above} of {tied} ties drawn)", score, k - above)


def level_sql(score: str, cuts: list[float]) -> str:
    """Write the position of a score among sorted cuts: 2j+1 at cut j, 2j+2 between cut j and the next."""
    if not cuts:
        return "0"
    parts = [f"({score} >= {literal(cut)})::TINYINT + ({score} > {literal(cut)})::TINYINT" for cut in cuts]
    return "(" + " + ".join(parts) + ")::INTEGER"


def literal(value: float) -> str:
    """Write a number in SQL, exactly."""
    return f"'{value!r}'::DOUBLE"


def chosen(cut: Cut, cuts: list[float], level: Ints, rows: Ints, seed: int, model: str) -> Ints:
    """Return how many rows of each cell are selected.

    Ties are drawn as counts: rows of one cell are alike, so a draw from all tied rows without replacement is
    a multivariate hypergeometric draw over the cells. It depends on the seed and the cells alone, never on
    the order of the rows.
    """
    at = 2 * cuts.index(cut.score) + 1
    result = np.where(level > at, rows, 0)
    tied = level == at
    if cut.tied == "all":
        result[tied] = rows[tied]
    elif isinstance(cut.tied, int):
        rng = np.random.default_rng([seed, zlib.crc32(f"{model}\0{cut.text}".encode())])
        result[tied] = rng.multivariate_hypergeometric(rows[tied], cut.tied, method="marginals")
    return result
