"""Whether what was done is what was asked, by the numbers that counted rows have anyway.

Each check compares two of them: a threshold and the scale of the scores, how many were to be selected and how
many are. What can only be a mistake stops; of what may be one there is a note. That everybody is selected,
or nobody, is seen where groups are compared (`Slice.decided_alike`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from fairbench_cli.audit.config import Ties
from fairbench_cli.audit.scan.readings import PERCENT, Cut, SplitTies
from fairbench_cli.audit.scan.scan import CountedRows
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, MessageText, user_error

ASKED = "Asked for"  # how the notes begin that say that another number was selected
MOST_NAMED = 3  # models in a note
TWO = 2.0  # shares that overshoot 1 do not come as far
THOUSAND = 1000.0  # a scale of shares without their point
NEARLY = 0.95  # of the scores
FEWEST_SHARES = 10  # scores between 0 and 1


def check_rows(rows: CountedRows) -> list[str]:
    """Return the notes of counted rows that are not what was asked.

    Raises
    ------
    UserError
        Where that can only be a mistake.
    """
    notes: list[str] = []
    if not rows.binary:
        for column in rows.roles.scores:
            notes += check_thresholds(rows.source, column, rows.config.threshold)
    notes += _describe_split_ties(rows)
    return notes


def _describe_split_ties(rows: CountedRows) -> Iterator[str]:
    """Yield a note on each top list that equal scores at its cut make longer or shorter, or that is drawn."""
    by_decision: dict[str, list[tuple[str, Cut, SplitTies]]] = {}
    for column, by_model in zip(rows.roles.scores, rows.cuts, strict=True):
        for model, cuts in by_model.items():
            name = model or (rows.source.columns[column] if len(rows.cuts) > 1 else "")
            for cut in cuts:
                if cut.split is not None:
                    by_decision.setdefault(str(cut.split.decision), []).append((name, cut, cut.split))
    options = [Flag("ties", way).spell() for way in get_args(Ties)]
    options[-1] += f" {Flag('seed', rows.config.seed).spell()}"
    if rows.config.compares or rows.config.cluster or rows.config.explained_by:
        options.pop()  # these are refused where rows are drawn
    for asked, lists in by_decision.items():
        clauses = [_describe_list(*one_list) for one_list in lists[:MOST_NAMED]]
        if len(lists) > MOST_NAMED:
            clauses.append(f"and so for {len(lists) - MOST_NAMED:,} more")
        choose, ways = "Choose by", options
        if len(lists) == 1:
            numbers = lists[0][2].selected.values()
            choose = "Selected are"
            ways = [f"{n:,} by {way}" for n, way in zip(numbers, options, strict=False)]
        yield f"{ASKED} {asked}: {'; '.join(clauses)}. {choose} {', '.join(ways[:-1])} or {ways[-1]}."


def _describe_list(name: str, cut: Cut, split: SplitTies) -> str:
    """Return how many rows a top list has, and why.

    >>> split = SplitTies(Decision("top-k", 50), k=50, above=24, tied=57)
    >>> _describe_list("", Cut("top 50 (81 with ties)", 3.0, split=split), split)
    '81 rows are selected, not 50, as 57 have the score at the cut, 3'
    >>> drawn = SplitTies(Decision("top-k", 50, "random"), k=50, above=24, tied=57)
    >>> _describe_list("lr", Cut("", 3.0, 26, split=drawn), drawn)
    'of lr 26 of the 57 rows that have the score at the cut, 3, are drawn'
    """
    of_model = f"of {name} " if name else ""
    score = f"the score at the cut, {cut.score:.10g}"
    if split.decision.ties == "random":
        return f"{of_model}{split.k - split.above:,} of the {split.tied:,} rows that have {score}, are drawn"
    n = split.selected[split.decision.ties]
    return f"{of_model}{n:,} rows are selected, not {split.k:,}, as {split.tied:,} have {score}"


@dataclass(frozen=True)
class _Scale:
    """How the scores of a column lie to 0, 1 and 2: rows, the lowest and highest, and how many are where."""

    rows: int
    low: float
    high: float
    inside: int  # above 0 and below 1
    shares: int  # from 0 to 1
    from_one: int  # 1 and above
    between: int  # above 1 and below 2

    @property
    def mixed(self) -> bool:
        """Whether some scores are likely shares and others percents.

        Of a smooth scale up to 100 that has `FEWEST_SHARES` scores between 0 and 1, some are between 1 and 2.
        """
        wide = self.low >= 0 and TWO <= self.high <= PERCENT
        return wide and self.inside >= FEWEST_SHARES and self.between == 0


def check_thresholds(source: Source, column: int, thresholds: tuple[float, ...]) -> list[str]:
    """Refuse a threshold of another scale than nearly all scores; return notes of scores of two scales.

    A threshold between 0 and 1 is of another scale where nearly all scores are 1 and more, or all of them are
    above it; one from 1 to 100 where nearly all are from 0 to 1 and the others look like percents, or
    none is as high. What the first rows do not hint at is not looked for in all of them.
    """
    name = source.columns[column]
    scale = _measure_scale(source, column, "sample" if source.alone is None else "predictions")
    if scale.mixed or any(_whom_it_selects(scale, threshold) for threshold in thresholds):
        scale = _measure_scale(source, column, "predictions")
    for threshold in thresholds:
        who = _whom_it_selects(scale, threshold)
        if not who:
            continue
        span = f"{name} goes from {scale.low:.6g} to {scale.high:.6g}"
        if threshold < 1:
            meant = threshold * (PERCENT if scale.high <= PERCENT else THOUSAND)
        else:
            meant = threshold / PERCENT
        fix: MessageText = "name a threshold between these"
        if scale.mixed:
            fix = "write all scores on one scale: some look like shares, others like percents"
        elif scale.low < meant <= scale.high:
            fix = ("did you mean ", Flag("threshold", f"{meant:.6g}"), "?")
        raise user_error(f"{span}: a threshold of {threshold:.6g} selects {who}", fix, Flag("threshold"))
    if not scale.mixed:
        return []
    counts = f"{scale.inside} are between 0 and 1, none between 1 and 2, and others up to {scale.high:.6g}"
    return [f"{name}: {counts}; if some are shares and some percents, write all on one scale."]


def _whom_it_selects(scale: _Scale, threshold: float) -> str:
    """Return whom a threshold of another scale selects; empty where it may well be of this one."""
    nearly = NEARLY * scale.rows
    share = 0 < threshold < 1 and scale.high >= TWO
    percent = 1 < threshold <= PERCENT and scale.low >= 0
    cases = {
        "everybody": share and threshold <= scale.low,
        "nearly everybody": share and scale.low >= 0 and scale.from_one >= nearly,
        "nobody": percent and scale.high <= 1,
        "nearly nobody": percent and scale.mixed and scale.shares >= nearly,
    }
    return next((who for who, holds in cases.items() if holds), "")


def _measure_scale(source: Source, column: int, table: str) -> _Scale:
    """Return where the scores of a table lie."""
    score = f"number_{column}"
    conditions = (
        f"{score} > 0 AND {score} < 1",
        f"{score} BETWEEN 0 AND 1",
        f"{score} >= 1",
        f"{score} > 1 AND {score} < 2",
    )
    counts = (f"count(*) FILTER ({condition})" for condition in conditions)
    ends = f"coalesce(min({score}), -1), coalesce(max({score}), -1)"
    return _Scale(*source.row(f"SELECT count({score}), {ends}, {', '.join(counts)} FROM {table}"))
