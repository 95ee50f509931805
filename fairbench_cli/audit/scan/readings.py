"""Read cells as decisions, labels, scores and groups: where scores are cut, bins, percents, words for 1.

The k-th highest score of each model is found exactly: by ranges of scores, then by the values within one. One
scan of the file keeps the scores, on disk where they outgrow the memory. They are rounded to `BITS`
significant bits, which keeps their order: some 30,000 ranges of scores between 0 and 1. How many rows each
has says in which one rank k is, and of that one alone the values are counted. Counting all values would take
a table as large as the file.
"""

import math
import zlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import ABOVE_MEDIAN, AuditConfig, Decision, Edges
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.direction import ABOVE, BELOW
from fairbench_cli.audit.scan.input_errors import advise_value, refuse_no_numbers, refuse_scores
from fairbench_cli.audit.scan.roles import ColumnRoles
from fairbench_cli.audit.scan.slices import Ones
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.audit.scan.spellings import AlikeValuesError, Outcome, is_spelled_otherwise, with_spellings
from fairbench_cli.base.errors import Flag, MessageText, Problem, format_value, suggest, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.data.number_writing import AFTER_NUMBER, find_named_value
from fairbench_cli.data.recognise import find_good_value

MOST_LISTS = 2000  # of models and decisions
BITS = 12
LARGE = 1e290  # beyond, all scores are in one range: rounding would overflow
BELOW_MEDIAN = "below the median"
MOST_OUTCOMES = 100  # different values of one column
MOST_LISTED = 10
FAVOURABLE = Flag("favourable")
ZEROS = ("0", "0.0", "false", "False")
PERCENT = 100.0

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SplitTies:
    """Equal scores at the cut of a top list that do not all fit.

    Parameters
    ----------
    decision : Decision
        What was asked for.
    k : int
        How many rows that is.
    above, tied : int
        How many rows have a higher score, and how many this one.
    """

    decision: Decision
    k: int
    above: int
    tied: int

    @property
    def selected(self) -> dict[str, int]:
        """How many rows are selected by each way to treat ties."""
        return {"include": self.above + self.tied, "exclude": self.above, "random": self.k}


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
    split : SplitTies or None
        How a top list is cut among equal scores; None where all of these fit.
    below : bool
        Whether the other rows are selected: 0 is the good value.
    """

    text: str
    score: float
    tied: int | str = "all"
    outcome: int | None = None
    split: SplitTies | None = None
    below: bool = False

    def turned(self) -> "Cut":
        """Return the cut under which everybody else is selected; of a median nobody who is at it.

        >>> Cut("score >= 0.5", 0.5).turned().text, Cut("top 10", 0.5).turned().text
        ('score < 0.5', 'all but the top 10')
        """
        if ABOVE_MEDIAN in self.text:
            text = self.text.replace(ABOVE_MEDIAN, BELOW_MEDIAN)
            return replace(self, text=text, tied="all", below=True)
        text = self.text.replace(">=", "<") if ">=" in self.text else f"all but the {self.text}"
        return replace(self, text=text, below=True, split=None)


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


def drop_medians(source: Source, roles: ColumnRoles, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Return decisions without a median of scores that are decisions already: no number but 0 and 1, no %."""
    if all(decision.kind != "median" for decision in decisions):
        return decisions
    number = f"number_{roles.score} IS NOT NULL OR ends_with(trimmed_{roles.score}, '%')"
    score = f"({number}) AND {sql.code(roles.score, -1)} < 0"
    if source.row(f"SELECT 1 FROM predictions WHERE {score} LIMIT 1"):
        return decisions
    return (Decision(),)


def class_cuts(classes: tuple[str, ...]) -> CutsByModel:
    """Return the cut of each class: it is selected, and the rest is not."""
    return {None: [Cut(f"{name} against the rest", 1.0, outcome=i) for i, name in enumerate(classes)]}


def find_cuts(
    source: Source, roles: ColumnRoles, column: int, decisions: tuple[Decision, ...]
) -> CutsByModel:
    """Return the cut of each decision among the scores of a column, by model.

    Top lists cost a scan of the file, and one of its scores.

    Raises
    ------
    UserError
        For a list longer than the file, too many lists, or scores that are not finite numbers.
    """
    if all(decision.kind in ("binary", "threshold", "none") for decision in decisions):
        return {None: [_make_cut(decision) for decision in decisions]}
    models = _count_ranges(source, roles, column)
    if len(models) * len(decisions) > MOST_LISTS:
        problem = f"{len(models)} models are too many for top lists"
        raise user_error(problem, "audit fewer at a time", Flag("model-column"))
    # All ranks of all models are looked up at once.
    ranks_needed: dict[str, list[tuple[int, ...]]] = {}
    model_ranks: set[tuple[str, int]] = set()
    for model, rows in models.items():
        ranks_needed[model] = [_ranks_needed(decision, rows, model) for decision in decisions]
        model_ranks.update((model, k) for k in chain.from_iterable(ranks_needed[model]))
    rank_of = _find_ranks(source, roles, model_ranks)
    cuts: CutsByModel = {}
    for model, ranks_of_decisions in ranks_needed.items():
        cuts_of_model = []
        for decision, ranks in zip(decisions, ranks_of_decisions, strict=True):
            cuts_of_model.append(_make_cut(decision, {k: rank_of[model, k] for k in ranks}))
        cuts[model] = cuts_of_model
    return cuts


def _ranks_needed(decision: Decision, rows: int, model: str) -> tuple[int, ...]:
    """Return the ranks, from the highest score down, that a decision among `rows` rows needs."""
    if decision.kind == "median":
        return (rows + 1) // 2, rows // 2 + 1
    if decision.kind == "top-share":
        return (max(1, math.ceil(Fraction(repr(decision.value)) * rows)),)
    if decision.kind != "top-k":
        return ()
    if decision.value > rows:
        problem = f"cannot select {decision.value:g} of {rows} rows" + (f" of model {model}" if model else "")
        raise user_error(problem, f"give at most {rows}", Flag("top-k"))
    return (int(decision.value),)


def _make_cut(decision: Decision, ranks: Mapping[int, Rank] | None = None) -> Cut:
    """Return where a decision cuts, given the scores of the ranks that it needs, by rank."""
    text = str(decision)
    if not ranks:
        scores = {"binary": 1.0, "none": math.inf}
        return Cut(text, scores.get(decision.kind, decision.value + 0.0))
    k, rank = next(iter(ranks.items()))
    if decision.kind == "median":  # between the two ranks in the middle, which may be one
        middle = (rank, list(ranks.values())[-1])
        median = middle[0].score / 2 + middle[1].score / 2
        tied = next((rank_in_middle.tied for rank_in_middle in middle if rank_in_middle.score == median), 0)
        return Cut(f"{ABOVE_MEDIAN} {median:.10g} ({tied} at it)", median, "none")
    if rank.upto == k:
        return Cut(text, rank.score)
    above = rank.upto - rank.tied
    split = SplitTies(decision, k, above, rank.tied)
    if decision.ties == "include":
        return Cut(f"{text} ({rank.upto} with ties)", rank.score, split=split)
    if decision.ties == "exclude":
        return Cut(f"{text} ({above} without ties)", rank.score, "none", split=split)
    return Cut(f"{text} ({k - above} of {rank.tied} ties drawn)", rank.score, k - above, split=split)


def _count_ranges(source: Source, roles: ColumnRoles, column: int) -> dict[str, int]:
    """Count the ranges of scores into the table ``ranges``; return the models, sorted, with their rows.

    The scores themselves stay in the table ``scores``.

    Raises
    ------
    UserError
        For scores that are not finite numbers.
    """
    model = ""
    if roles.model is not None:
        model = f"{roles.model_sql} AS model, "
    model_and_score = f"SELECT {model}number_{column} AS score FROM predictions"
    source.execute(f"CREATE OR REPLACE TEMP TABLE scores AS {model_and_score}")
    # Dekker's splitting: c - (c - b) is b rounded to BITS bits, where c = (2^(53 - BITS) + 1) b.
    bounded = f"greatest(-{LARGE}::DOUBLE, least({LARGE}::DOUBLE, score)) AS b"
    factor = f"{2 ** (53 - BITS) + 1}::DOUBLE"
    scaled = f"SELECT *, b * {factor} AS c FROM (SELECT *, {bounded} FROM ({_scores_sql(roles)}))"
    counted = f"SELECT model, min(score) AS low, max(score) AS high, count(*) AS n FROM ({scaled})"
    running = "*, sum(n) OVER (PARTITION BY model ORDER BY low DESC) AS upto"
    ranges = f"SELECT {running} FROM ({counted} GROUP BY model, c - (c - b))"
    source.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {ranges}")
    if source.row(f"SELECT 1 FROM ranges WHERE {sql.not_finite('low')} OR {sql.not_finite('high')} LIMIT 1"):
        refuse_scores(source, column)
    return dict(source.rows("SELECT model, sum(n)::BIGINT FROM ranges GROUP BY model ORDER BY model"))


def _find_ranks(
    source: Source, roles: ColumnRoles, wanted_ranks: set[tuple[str, int]]
) -> dict[tuple[str, int], Rank]:
    """Return ranks by model and k (from 1); needs the tables of `_count_ranges`, and drops them."""
    listed = ", ".join(f"({sql.quoted(model)}, {k})" for model, k in sorted(wanted_ranks))
    wanted_sql = f"(VALUES {listed}) AS wanted(model, k)"
    within = "k > upto - n AND k <= upto"
    ranges = (
        f"SELECT DISTINCT model, low, high, upto - n AS above FROM ranges JOIN {wanted_sql} USING (model)"
    )
    source.execute(f"CREATE OR REPLACE TEMP TABLE inside AS {ranges} WHERE {within}")
    counted = (
        f"SELECT model, above, score, count(*) AS n FROM ({_scores_sql(roles)}) JOIN inside USING (model)"
    )
    counted += " WHERE score BETWEEN low AND high GROUP BY ALL"
    upto = "above + sum(n) OVER (PARTITION BY model, above ORDER BY score DESC)"
    running = f"SELECT model, score, n, ({upto})::BIGINT AS upto FROM ({counted})"
    ranks_found = source.rows(
        f"SELECT model, k, score, n, upto FROM ({running}) JOIN {wanted_sql} USING (model) WHERE {within}"
    )
    source.execute("DROP TABLE ranges; DROP TABLE scores; DROP TABLE inside")
    return {(model, k): Rank(score, tied, upto) for model, k, score, tied, upto in ranks_found}


def _scores_sql(roles: ColumnRoles) -> str:
    return "SELECT " + ("'' AS model" if roles.model is None else "model") + ", score FROM scores"


def scores_of(cuts: list[Cut]) -> list[float]:
    """Return the scores at which there is a cut, sorted."""
    return sorted({cut.score for cut in cuts})


def level_sql(score: str, scores: list[float]) -> str:
    """Write the position of a score among sorted cuts in SQL: 2j+1 at cut j, 2j+2 between it and the next."""
    steps = [
        f"({score} >= {sql.literal(cut)})::TINYINT + ({score} > {sql.literal(cut)})::TINYINT"
        for cut in scores
    ]
    return "(" + " + ".join(steps) + ")::INTEGER"


def count_selected(cut: Cut, scores: list[float], level: Ints, rows: Ints, seed: int, model: str) -> Ints:
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
    cut_level = 2 * scores.index(cut.score) + 1
    result = np.where(level > cut_level, rows, 0)
    tied = level == cut_level
    if cut.tied == "all":
        result[tied] = rows[tied]
    elif isinstance(cut.tied, int):
        rng = np.random.default_rng([seed, zlib.crc32(f"{model}\0{cut.text}".encode())])
        result[tied] = rng.multivariate_hypergeometric(rows[tied], cut.tied, method="marginals")
    if cut.below:
        return np.subtract(rows, result)
    return result


def find_bins(source: Source, column: int, bins: int | Edges) -> NumberBins:
    """Cut a numeric attribute at edges, or into bins of equal counts, exactly; equal values stay together.

    Raises
    ------
    UserError
        When a cell is no number, or all are empty.
    """
    name = source.columns[column]
    value = f"number_{column}"
    refuse_no_numbers(
        source,
        column,
        sql.no_number(column),
        "{column} has {value}, not a number, in {count}: it cannot be cut into bins",
        (f"write numbers or leave the cell empty, or audit {name} as it is, without ", Flag("bins")),
    )
    if isinstance(bins, Edges):
        (all_integers,) = source.row(f"SELECT bool_and({value} = floor({value})) FROM predictions")
        closed_left = bins.closed == "left"
        tops = (math.nextafter(edge, -math.inf) if closed_left else edge for edge in bins.edges)
        return NumberBins((*tops, math.inf), bins.names(integers=all_integers is not False), rising=True)
    # The top of bin i is the smallest value with i/bins of the rows at or below it, so a value belongs to the
    # bin in which the rows below it end.
    rows = f"SELECT {value} AS x FROM predictions WHERE {value} IS NOT NULL"
    values = f"SELECT x, count(*) AS n FROM ({rows}) GROUP BY ALL"
    running = f"SELECT x, n, sum(n) OVER (ORDER BY x) AS upto, sum(n) OVER () AS total FROM ({values})"
    spans = source.rows(
        f"SELECT min(x), max(x) FROM ({running}) GROUP BY ((upto - n) * {bins}) // total ORDER BY 1"
    )
    if not spans:
        raise user_error(f"{name} has no numbers to cut into bins", "name another attribute", Flag("bins"))
    return NumberBins(tuple(high for _, high in spans), tuple(_format_span(low, high) for low, high in spans))


def bin_sql(column: int, bins: NumberBins) -> str:
    """Write the bin of a row in SQL: its position, NULL when the cell is empty."""
    tops = "".join(f" WHEN number_{column} <= {sql.literal(top)} THEN {i}" for i, top in enumerate(bins.tops))
    return f"CASE WHEN number_{column} IS NULL THEN NULL{tops} END"


def describe_bins(name: str, bins_or_edges: int | Edges, bins: NumberBins) -> str:
    """Write where an attribute was cut."""
    if isinstance(bins_or_edges, Edges):
        return f"{name}: cut into {', '.join(bins.labels)}."
    fewer = ""
    if len(bins.labels) < bins_or_edges:
        fewer = f" ({bins_or_edges} were asked for; equal values stay together)"
    return f"{name}: cut into {len(bins.labels)} bins{fewer}: {', '.join(bins.labels)}."


def _format_span(low: float, high: float) -> str:
    low_text = f"{low + 0.0:.15g}"
    high_text = f"{high + 0.0:.15g}"
    if low_text == high_text:
        return low_text
    if low >= 0:
        return f"{low_text}-{high_text}"
    return f"{low_text} to {high_text}"


def with_exact_scores(source: Source, columns: Iterable[int]) -> Source:
    """Return the predictions without whole numbers as scores that would lose digits: these are refused."""
    in_sql = list(source.in_sql)
    for column in columns:
        in_sql[column] = replace(in_sql[column], number=sql.exact_number(in_sql[column]))
    return replace(source, in_sql=tuple(in_sql))


def read_percent(source: Source, columns: Iterable[int]) -> tuple[Source, tuple[str, ...]]:
    """Return the predictions with scores such as "73 %" read as 0.73, and notes of the columns with some.

    They are looked for in the first rows; where they come later alone they are no numbers, and refused.
    """
    notes = []
    in_sql = list(source.in_sql)
    for column in columns:
        signed = f"ends_with(trimmed_{column}, '%')"
        (example,) = source.row(f"SELECT max(trimmed_{column}) FROM sample WHERE {signed}")
        if example is None:
            continue
        text = in_sql[column].expression("trimmed")
        alone = f"rtrim({text}, {sql.quoted(AFTER_NUMBER)})"
        share = f"{sql.written_number(alone, in_sql[column].writing)} / {PERCENT} + 0.0"
        number = f"CASE WHEN ends_with({text}, '%') THEN {share} ELSE {in_sql[column].number} END"
        in_sql[column] = replace(in_sql[column], number=number)
        note = f"{source.columns[column]}: cells with % are read as shares, such as {format_value(example)}"
        is_number = f"number_{column} IS NOT NULL AND NOT {signed}"
        (number_example,) = source.row(f"SELECT max(trimmed_{column}) FROM sample WHERE {is_number}")
        notes.append(
            f"{note}; others as they are, such as {format_value(number_example)}."
            if number_example
            else f"{note}."
        )
    return replace(source, in_sql=tuple(in_sql)), tuple(notes)


@dataclass(frozen=True)
class Outcomes:
    """The predictions with favourable values read as 1, and the others as 0.

    Parameters
    ----------
    source : Source
        The predictions.
    uses_label : bool
        False where scores are classes and labels 0 or 1, of none of them.
    classes : tuple of str
        Of the scores and labels, where several are audited, each against the rest.
    notes : tuple of str
        What a reader should know.
    values : dict of column to tuple of str
        The values that count as 1, of columns of words, and of 0 and 1 where it is 0.
    below : bool
        Whether 0 is the good value where scores are cut: who is below the cut is selected.
    """

    source: Source
    uses_label: bool
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    values: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    below: bool = False


def read_outcomes(source: Source, roles: ColumnRoles, config: AuditConfig, *, binary: bool) -> Outcomes:
    """Return the predictions with favourable values read as 1, and the others as 0.

    Columns of 0 and 1 stay as they are, or are turned where 0 is named. Of several outcomes each is a class,
    audited against the rest: the code of a row is the position of its class, and that of all other rows one
    more than the last. A label of 0 and 1 is not used then. Where score and label have words of their own, an
    outcome of each may be given.

    Parameters
    ----------
    source, roles
        What was found out of the columns.
    config : AuditConfig
        With the favourable values, as in the file; "yes|Yes" are two values of one outcome.
    binary : bool
        Whether scores are decisions, and not cut.

    Raises
    ------
    UserError
        For a value that does not occur, several outcomes without a column of classes, and a value that is
        spelled a little otherwise than a favourable one, where it is not said what that means.
    """
    favourable = config.favourable
    label_notes: tuple[str, ...] = ()
    label_values: dict[int, tuple[str, ...]] = {}
    if config.favourable_label is not None:
        source, label_notes, label_values = _read_label(source, roles, config)
    if not favourable:
        return Outcomes(source, uses_label=True, classes=(), notes=label_notes, values=label_values)
    names = source.columns
    outcome_columns = list(roles.scores) if binary else []
    if roles.label is not None and config.favourable_label is None:
        outcome_columns.append(roles.label)
    all_counts = {column: _count_values(source, column, favourable) for column in outcome_columns}
    word_counts = {column: counts for column, counts in all_counts.items() if counts}
    codes: list[int] = []
    if roles.score not in word_counts:
        codes, favourable = _split_codes(source, favourable, set(chain.from_iterable(word_counts.values())))
    below = 0 in codes and not binary
    if 0 in codes:
        turned = [column for column in outcome_columns if column not in word_counts]
        source, turned_notes, turned_values = _turn_codes(source, turned)
        label_notes += turned_notes
        label_values |= turned_values
    if codes and not favourable:
        for column, counts in word_counts.items():
            _refuse_code_of_words(names[column], counts)
        return Outcomes(
            source, uses_label=True, classes=(), notes=label_notes, values=label_values, below=below
        )
    outcomes = _parse_outcomes(favourable, set(chain.from_iterable(word_counts.values())))
    if not word_counts:
        listed = " and ".join(names[column] for column in outcome_columns)
        problem = "scores are cut"
        fix: MessageText = ("leave it out; where the lowest scores are good: ", Flag("favourable", 0))
        if outcome_columns:
            problem = f"{listed} {'are' if len(outcome_columns) > 1 else 'is'} 0 or 1"
            fix = ("name the good one of these: ", Flag("favourable", 1), " or ", Flag("favourable", 0))
        raise user_error((FAVOURABLE, f" has no effect: {problem}"), fix, FAVOURABLE)
    keys = {column: _spelling_key(source, roles, column) for column in word_counts}
    alike = {column: config.spelling(key) != "keep" for column, key in keys.items()}
    _refuse_unknown_values(source, word_counts, tuple(chain.from_iterable(outcomes)), alike)
    own_outcomes = _outcomes_by_column(word_counts, outcomes)
    several = len(favourable) > 1 and not own_outcomes
    if several:
        _refuse_disjoint_classes(source, word_counts, tuple(chain.from_iterable(outcomes)))
    notes = list(label_notes)
    values: dict[int, tuple[Outcome, ...]] = {}
    problems: list[Problem] = []
    for column, counts in word_counts.items():
        column_outcomes = own_outcomes.get(column, outcomes)
        try:
            values[column], merged = with_spellings(
                names[column], keys[column], counts, column_outcomes, config
            )
        except AlikeValuesError as error:
            problems += error.problems
        else:
            notes += merged
            notes.append(_describe_outcomes(names[column], counts, values[column]))
    if problems:
        raise AlikeValuesError(*problems)
    if several and roles.score not in word_counts:
        problem = f"{len(favourable)} favourable values, and no classes in {names[roles.score]}"
        raise user_error(problem, ("name one value, or a column of classes with ", Flag("score")), FAVOURABLE)
    if several and len(roles.scores) > 1:
        raise user_error("several classes are audited, and one can be compared", "name one value", FAVOURABLE)
    uses_label = True
    if several and roles.label is not None and roles.label not in word_counts:
        notes.append(f"{names[roles.label]} is 0 or 1, of no class: what needs labels is not audited.")
        uses_label = False
    in_sql = list(source.in_sql)
    for column, column_outcomes in values.items():
        in_sql[column] = _code_outcomes(in_sql[column], column_outcomes)
    source = replace(source, in_sql=tuple(in_sql))
    counted = {column: tuple(chain.from_iterable(outcomes)) for column, outcomes in values.items()}
    classes = favourable if several else ()
    return Outcomes(source, uses_label, classes, tuple(notes), label_values | counted, below)


def _split_codes(
    source: Source, favourable: tuple[str, ...], values: Set[str]
) -> tuple[list[int], tuple[str, ...]]:
    """Return those of favourable values that are 0 or 1, false or true, as such, and those of words.

    `values` are those of a label that has others, too.
    """
    code_of = {text: source.row(f"SELECT {sql.zero_or_one(sql.quoted(text))}")[0] for text in favourable}
    codes = [code for code in code_of.values() if code is not None]
    if len(codes) > 1:
        fix = ("name one: ", Flag("favourable", 1), " or ", Flag("favourable", 0))
        raise user_error("of 0 and 1 one is the good value, and both are named", fix, FAVOURABLE)
    return codes, tuple(text for text, code in code_of.items() if code is None or text in values)


def _turn_codes(
    source: Source, columns: Iterable[int]
) -> tuple[Source, tuple[str, ...], dict[int, tuple[str, ...]]]:
    """Return the predictions with 0 and 1 of some columns turned around, notes, and what 0 is there."""
    in_sql = list(source.in_sql)
    notes = []
    values = {}
    for column in columns:
        query = f"SELECT trimmed_{column} AS value, count(*), min(code_{column}) FROM predictions"
        rows = source.rows(f"{query} WHERE value <> '' GROUP BY value ORDER BY 2 DESC, 1")
        values[column] = tuple(value for value, _, code in rows if code == 0) or ("0",)
        notes.append(
            _describe_outcomes(source.columns[column], {value: n for value, n, _ in rows}, (values[column],))
        )
        in_sql[column] = replace(in_sql[column], code=f"1 - ({in_sql[column].code})")
    return replace(source, in_sql=tuple(in_sql)), tuple(notes), values


def _refuse_code_of_words(name: str, counts: Mapping[str, int]) -> None:
    """Refuse to take 0 or 1 for the good value of a label of words."""
    listed = join_names([sql.quoted(value) for value in counts], MOST_LISTED)
    good = find_good_value(counts, name)
    likely = Flag("favourable-label", good or "VALUE")
    fix = ("name its good value, too: ", likely, "" if good else f": one of {listed}")
    raise user_error(f"{format_value(name)} has words, not 0 and 1: {listed}", fix, FAVOURABLE)


def _read_label(
    source: Source, roles: ColumnRoles, config: AuditConfig
) -> tuple[Source, tuple[str, ...], dict[int, tuple[str, ...]]]:
    """Return the predictions with the label's own favourable value read as 1, notes, and its values.

    Of a label of 0 and 1, or true and false, it may be the 0.
    """
    stated = str(config.favourable_label)
    label = roles.label
    flag = Flag("favourable-label")
    if label is None:
        raise user_error((flag, " has no effect: there is no label"), "name the label, or leave it out", flag)
    name = source.columns[label]
    value_rows = source.rows(
        f"SELECT trimmed_{label} AS value, count(*), min(code_{label}) FROM predictions WHERE value <> '' "
        f"GROUP BY value ORDER BY 2 DESC, 1 LIMIT {MOST_OUTCOMES + 1}"
    )
    rows = {value: n for value, n, _ in value_rows}
    codes = {value: code for value, _, code in value_rows}
    if len(rows) > MOST_OUTCOMES:
        problem = f"{name} has more than {MOST_OUTCOMES} different values and holds no outcomes"
        raise user_error(problem, "name a label of few values", flag)
    (outcome,) = _parse_outcomes((stated,), set(rows))
    if None not in codes.values():  # 0, 0.0 and false are one value
        meant = {source.row(f"SELECT {sql.zero_or_one(sql.quoted(value))}")[0] for value in outcome}
        outcome = tuple(value for value in rows if codes[value] in meant) or outcome
    for value in outcome:
        if value not in rows:
            raise user_error(f"no {name} is {format_value(value)}", suggest(value, rows), flag)
    outcomes, merged = with_spellings(name, name, rows, (outcome,), config)
    in_sql = list(source.in_sql)
    in_sql[label] = _code_outcomes(in_sql[label], outcomes)
    note = _describe_outcomes(name, rows, outcomes)
    return replace(source, in_sql=tuple(in_sql)), (*merged, note), {label: outcomes[0]}


def describe_ones(roles: ColumnRoles, names: Mapping[int, str], outcomes: Outcomes, *, binary: bool) -> Ones:
    """Return who is selected and who has label 1, by column and value.

    `names` are those of the columns of scores and of the label.
    """

    def describe(columns: Iterable[int]) -> str:
        by_values: dict[tuple[str, ...], list[str]] = {}
        for column in columns:
            by_values.setdefault(outcomes.values.get(column, ("1",)), []).append(names[column])
        clauses = []
        for values, same_names in by_values.items():
            listed = " or ".join(value if value in ("0", "1") else format_value(value) for value in values)
            clauses.append(f"{' or '.join(dict.fromkeys(same_names))} is {listed}")
        return ", ".join(clauses)

    label = ""
    if roles.label is not None:
        label = describe([roles.label])
    if outcomes.classes:
        return Ones(f"{names[roles.score]} is the class in question", label)
    if binary:
        values = [(names[column], outcomes.values.get(column, ("1",))) for column in roles.scores]
        return Ones(describe(roles.scores), label, tuple(values))
    where = BELOW if outcomes.below else ABOVE
    listed = " or ".join(dict.fromkeys(names[column] for column in roles.scores))
    return Ones(f"{listed} is {where}", label, tuple((names[column], (where,)) for column in roles.scores))


def _spelling_key(source: Source, roles: ColumnRoles, column: int) -> str:
    """Return the name under which spellings of a column are said: that of the score for a baseline's."""
    is_baseline = source.alone is not None and column == len(source.columns) - 1
    return source.columns[roles.scores[-1] if is_baseline else column]


def _parse_outcomes(favourable: tuple[str, ...], values: set[str]) -> tuple[Outcome, ...]:
    """Return the values of each outcome: a text that is no value itself may be several, "yes|Yes".

    >>> _parse_outcomes(("yes|Yes", "a|b"), {"yes", "Yes", "a|b"})
    (('yes', 'Yes'), ('a|b',))

    Raises
    ------
    UserError
        For a value that is named twice.
    """
    outcomes: list[Outcome] = []
    for text in favourable:
        if text in values:
            outcomes.append((text,))
        else:
            stripped = (value.strip(sql.BLANKS) for value in text.split("|"))
            outcomes.append(tuple(find_named_value(value, values) for value in stripped))
    all_values = list(chain.from_iterable(outcomes))
    for value in all_values:
        if all_values.count(value) > 1:
            raise user_error(f"{format_value(value)} is named twice", "name each value once", FAVOURABLE)
    return tuple(outcomes)


def _count_values(source: Source, column: int, favourable: tuple[str, ...]) -> dict[str, int]:
    """Return the rows of each value of a column; none where all are 0 and 1, or true and false unasked."""
    value_rows = source.rows(
        f"SELECT trimmed_{column} AS value, count(*), bool_and(code_{column} IS NOT NULL), "
        f"bool_and(number_{column} IS NOT NULL) FROM predictions WHERE value <> '' GROUP BY value "
        f"ORDER BY 2 DESC, 1 LIMIT {MOST_OUTCOMES + 1}"
    )
    if len(value_rows) > MOST_OUTCOMES:
        name = format_value(source.columns[column])
        problem = f"{name} has more than {MOST_OUTCOMES} different values and holds no outcomes"
        raise user_error(problem, ("leave ", FAVOURABLE, " out, or name a column of outcomes"), FAVOURABLE)
    values = {value for value, _, _, _ in value_rows}
    favourable_values = values & set(chain.from_iterable(_parse_outcomes(favourable, values)))
    only_codes = all(code and (number or not favourable_values) for _, _, code, number in value_rows)
    if only_codes:
        return {}
    return {value: count for value, count, _, _ in value_rows}


def _refuse_unknown_values(
    source: Source,
    word_counts: Mapping[int, Mapping[str, int]],
    favourable: tuple[str, ...],
    alike: Mapping[int, bool],
) -> None:
    """Refuse values that occur nowhere, and a column with none of them and with values of its own.

    A column that is `alike` may have one in another spelling, which is looked at later.
    """
    all_values = dict.fromkeys(chain.from_iterable(word_counts.values()))
    for value in favourable:
        if value not in all_values:
            names = " or ".join(source.columns[column] for column in word_counts)
            raise user_error(f"no {names} is {format_value(value)}", suggest(value, all_values), FAVOURABLE)
    for column, counts in word_counts.items():
        values_elsewhere: set[str] = set()
        for other_column, other_counts in word_counts.items():
            if other_column != column:
                values_elsewhere.update(other_counts)
        if alike[column] and is_spelled_otherwise(favourable, counts):
            continue
        if not set(favourable) & set(counts) and not set(counts) <= values_elsewhere:
            listed = join_names(
                [f"{format_value(value)} ({format_count(n, 'row')})" for value, n in counts.items()],
                MOST_LISTED,
            )
            stated = " or ".join(map(format_value, favourable))
            problem = f"{source.columns[column]} is never {stated}, but {listed}"
            _, remedy, assumed = advise_value(counts, source.columns[column])
            fix: MessageText = (
                "name one value of each column: ",
                *_flags_of_both(favourable[0], str(remedy[0].value)),
            )
            if not source.row(f"SELECT 1 FROM predictions WHERE {sql.word(column)} LIMIT 1"):
                fix = ("say how scores become decisions: ", Flag("threshold"), ", ", Flag("top-k"))
                fix = (*fix, " or ", Flag("top-share"))
                remedy = ()
                assumed = ()
            raise user_error(problem, fix, FAVOURABLE, remedy=remedy, assumed=assumed)


def _refuse_disjoint_classes(
    source: Source, word_counts: Mapping[int, Mapping[str, int]], favourable: tuple[str, ...]
) -> None:
    """Refuse several values where score and label have no word in common: they are of different classes."""
    names = source.columns
    for column, other_column in combinations(word_counts, 2):
        counts = word_counts[column]
        other_counts = word_counts[other_column]
        if counts.keys().isdisjoint(other_counts):
            listed = ", ".join(map(format_value, list(counts)[:MOST_LISTED]))
            other_listed = ", ".join(map(format_value, list(other_counts)[:MOST_LISTED]))
            problem = (
                f"{len(favourable)} favourable values are classes, each audited against the rest, and "
                f"{names[column]} ({listed}) and {names[other_column]} ({other_listed}) have none in common"
            )
            example = next(value for value in (*favourable, *counts) if value in counts)
            other_example = next(value for value in (*favourable, *other_counts) if value in other_counts)
            flags = _flags_of_both(example, other_example)
            fix = ("name one value of each column: ", *flags, "; values that count together ")
            raise user_error(problem, (*fix, "are one outcome: ", Flag("favourable", "a|b")), FAVOURABLE)


def _flags_of_both(value: str, other_value: str) -> tuple[Flag | str, ...]:
    return Flag("favourable", value), " ", Flag("favourable", other_value)


def _outcomes_by_column(
    word_counts: Mapping[int, Mapping[str, int]], outcomes: tuple[Outcome, ...]
) -> dict[int, tuple[Outcome, ...]]:
    """Return the outcome of each column where score and label have words, and one outcome, of their own."""
    by_column: dict[int, tuple[Outcome, ...]] = {}
    for column, counts in word_counts.items():
        by_column[column] = tuple(outcome for outcome in outcomes if not set(outcome).isdisjoint(counts))
    # Further scores have the words of the first.
    apart = 1 < len(outcomes) == len(set(by_column.values()))
    if apart and all(len(column_outcomes) == 1 for column_outcomes in by_column.values()):
        return by_column
    return {}


def _describe_outcomes(name: str, counts: Mapping[str, int], outcomes: tuple[Outcome, ...]) -> str:
    favourable = list(chain.from_iterable(outcomes))
    unfavourable = [(value, count) for value, count in counts.items() if value not in favourable]
    listed = ", ".join(
        f"{format_value(value)} ({format_count(count, 'row')})" for value, count in unfavourable[:MOST_LISTED]
    )
    if len(unfavourable) > MOST_LISTED:
        listed += ", …"
    if len(outcomes) > 1:
        counted = "each counts as 1 against the rest"
    elif len(favourable) == 1:
        counted = "counts as 1"
    else:
        counted = "count as 1"
    if favourable[0] in ZEROS and len(unfavourable) == 1:
        return f"{name}: {format_value(favourable[0])} counts as 1, and {listed} as 0."
    zeros = ""
    if unfavourable:
        zeros = f"; 0 {'are' if len(unfavourable) > 1 else 'is'} {listed}"
    texts = (" or ".join(map(format_value, outcome)) for outcome in outcomes)
    return f"{name}: {', '.join(texts)} {counted}{zeros}."


def _code_outcomes(column: sql.ColumnSql, outcomes: tuple[Outcome, ...]) -> sql.ColumnSql:
    """Return a column whose code is 1 and 0, or the position of its class; NULL where it is empty."""
    text = column.expression("trimmed")
    several = len(outcomes) > 1
    codes = "".join(
        f" WHEN {text} IN ({', '.join(map(sql.quoted, outcome))}) THEN {class_index if several else 1}"
        for class_index, outcome in enumerate(outcomes)
    )
    code_of_rest = 0
    if several:
        code_of_rest = len(outcomes)
    return replace(
        column, code=f"CASE WHEN coalesce({text}, '') = '' THEN NULL{codes} ELSE {code_of_rest} END"
    )
