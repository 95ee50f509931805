"""Read cells as decisions, labels and scores: words of which some count as 1, and scores in percent."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

from fairbench_cli.audit.scan.refusals import rows_in_words
from fairbench_cli.audit.scan.roles import ColumnRoles
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.source import ColumnSql, Source, quoted
from fairbench_cli.base.errors import Flag, Words, shown, suggest, user_error

MOST_OUTCOMES = 100  # different values of one column
MOST_LISTED = 10
FAVOURABLE = Flag("favourable")
PERCENT = 100.0
TWO = 2.0  # shares that overshoot 1 do not come as far
NEARLY = 0.95  # of the scores
FEWEST_SHARES = 10  # scores between 0 and 1
AFTER_NUMBER = "% \u00a0\u202f"  # a sign, and the blanks before it


def read_percent(source: Source, columns: Iterable[int]) -> tuple[Source, tuple[str, ...]]:
    """Return the predictions with scores such as "73 %" read as 0.73, and notes of the columns with some.

    They are looked for in the first rows; where they come later alone they are no numbers, and refused.
    """
    notes, sql = [], list(source.sql)
    for column in columns:
        example = source.one(
            f"SELECT max(trimmed_{column}) FROM sample WHERE ends_with(trimmed_{column}, '%')"
        )[0]
        if example is None:
            continue
        text = sql[column].of("trimmed")
        share = f"TRY_CAST(rtrim({text}, {quoted(AFTER_NUMBER)}) AS DOUBLE) / {PERCENT} + 0.0"
        number = f"CASE WHEN ends_with({text}, '%') THEN {share} ELSE {sql[column].number} END"
        sql[column] = replace(sql[column], number=number)
        note = f"{source.columns[column]}: cells with % are read as shares, such as {shown(example)}"
        (plain,) = source.one(f"SELECT max(trimmed_{column}) FROM sample WHERE {_without_percent(column)}")
        notes.append(f"{note}; others as they are, such as {shown(plain)}." if plain else f"{note}.")
    return replace(source, sql=tuple(sql)), tuple(notes)


def _without_percent(column: int) -> str:
    return f"number_{column} IS NOT NULL AND NOT ends_with(trimmed_{column}, '%')"


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


def check_thresholds(scan: Scan, thresholds: tuple[float, ...]) -> list[str]:
    """Refuse a threshold of another scale than nearly all scores; return notes of scores of two scales.

    A threshold between 0 and 1 is of another scale where nearly all scores are from 1 to 100, or all of them
    are above it; one from 1 to 100 where nearly all are from 0 to 1 and the others look like percents, or
    none is as high. What the first rows do not hint at is not looked for in all of them.
    """
    if scan.binary:
        return []
    name = scan.source.columns[scan.roles.score]
    scale = _scale(scan, "sample" if scan.source.alone is None else "predictions")
    if scale.mixed or any(_selects(scale, threshold) for threshold in thresholds):
        scale = _scale(scan, "predictions")
    for threshold in thresholds:
        who = _selects(scale, threshold)
        if not who:
            continue
        span = f"{name} goes from {scale.low:.6g} to {scale.high:.6g}"
        meant = threshold * PERCENT if threshold < 1 else threshold / PERCENT
        fix: Words = "name a threshold between these"
        if scale.mixed:
            fix = "write all scores on one scale: some look like shares, others like percents"
        elif scale.low < meant <= scale.high:
            fix = ("did you mean ", Flag("threshold", f"{meant:.6g}"), "?")
        raise user_error(f"{span}: a threshold of {threshold:.6g} selects {who}", fix, Flag("threshold"))
    if not scale.mixed:
        return []
    counts = f"{scale.inside} are between 0 and 1, none between 1 and 2, and others up to {scale.high:.6g}"
    return [f"{name}: {counts}; if some are shares and some percents, write all on one scale."]


def _selects(scale: _Scale, threshold: float) -> str:
    """Return whom a threshold of another scale selects; empty where it may well be of this one."""
    nearly = NEARLY * scale.rows
    if 0 < threshold < 1 and TWO <= scale.high <= PERCENT:
        if threshold <= scale.low:
            return "everybody"
        return "nearly everybody" if scale.low >= 0 and scale.from_one >= nearly else ""
    if 1 < threshold <= PERCENT and scale.low >= 0:
        if scale.high <= 1:
            return "nobody"
        return "nearly nobody" if scale.mixed and scale.shares >= nearly else ""
    return ""


def _scale(scan: Scan, table: str) -> _Scale:
    """Return where the scores of a table lie."""
    score = f"number_{scan.roles.score}"
    parts = (f"{score} > 0 AND {score} < 1", f"{score} BETWEEN 0 AND 1", f"{score} >= 1")
    counts = (f"count(*) FILTER ({part})" for part in (*parts, f"{score} > 1 AND {score} < 2"))
    ends = f"coalesce(min({score}), -1), coalesce(max({score}), -1)"
    return _Scale(*scan.source.one(f"SELECT count({score}), {ends}, {', '.join(counts)} FROM {table}"))


@dataclass(frozen=True)
class _Words:
    """A column with its values, each with the number of rows; `plain` when all of them are 0 or 1.

    `numeric` where all are numbers.
    """

    column: int
    name: str
    counts: dict[str, int]
    plain: bool
    numeric: bool


def read_outcomes(
    source: Source, roles: ColumnRoles, favourable: tuple[str, ...], *, binary: bool
) -> tuple[Source, ColumnRoles]:
    """Return the predictions and roles with favourable values read as 1, and the others as 0.

    Columns of 0 and 1 stay as they are. Of several values each is a class, audited against the rest: the code
    of a row is the position of its class, and that of all other rows one more than the last. A label of 0 and
    1 is not used then. Where score and label have words of their own, one value of each may be given.

    Parameters
    ----------
    source, roles
        What was found out of the columns.
    favourable : tuple of str
        Values, as in the file.
    binary : bool
        Whether scores are decisions, and not cut.

    Raises
    ------
    UserError
        For a value that does not occur, or several without a column of classes.
    """
    if not favourable:
        return source, roles
    asked = [*(roles.scores if binary else ()), *([] if roles.label is None else [roles.label])]
    columns = [_words(source, column, favourable) for column in asked]
    words = [each for each in columns if not each.plain]
    if not words:
        names = " and ".join(each.name for each in columns)
        what = f"{names} {'are' if len(columns) > 1 else 'is'} 0 or 1" if columns else "scores are cut"
        raise user_error((FAVOURABLE, f" has no effect: {what}"), "leave it out", FAVOURABLE)
    _check(words, favourable)
    own = _own_words(words, favourable)
    several, coded = len(favourable) > 1 and not own, [each.column for each in words]
    if several:
        _check_classes(words, favourable)
    values = {each.column: own.get(each.column, favourable) for each in words}
    notes = [_note(each, values[each.column]) for each in words]
    if several and roles.score not in coded:
        what = f"{len(favourable)} favourable values, and no classes in {source.columns[roles.score]}"
        raise user_error(what, ("name one value, or a column of classes with ", Flag("score")), FAVOURABLE)
    if several and len(roles.scores) > 1:
        raise user_error("several classes are audited, and one can be compared", "name one value", FAVOURABLE)
    if several and roles.label is not None and roles.label not in coded:
        name = source.columns[roles.label]
        notes.append(f"{name} is 0 or 1, of no class: what needs labels is not audited.")
        roles = replace(roles, label=None)
    sql = list(source.sql)
    for each in words:
        sql[each.column] = _coded(sql[each.column], values[each.column])
    roles = replace(roles, classes=favourable if several else (), notes=(*roles.notes, *notes))
    return replace(source, sql=tuple(sql)), roles


def _words(source: Source, column: int, favourable: tuple[str, ...]) -> _Words:
    """Return the values of a column; it is plain when all are numbers 0 and 1, or true and false unasked."""
    each = (
        f"trimmed_{column} AS value, code_{column} IS NOT NULL AS code, number_{column} IS NOT NULL AS number"
    )
    found = source.all(
        f"SELECT value, count(*), bool_and(code), bool_and(number) FROM (SELECT {each} FROM predictions) "
        f"WHERE value <> '' GROUP BY value ORDER BY 2 DESC, 1 LIMIT {MOST_OUTCOMES + 1}"
    )
    name = source.columns[column]
    if len(found) > MOST_OUTCOMES:
        what = f"{shown(name)} has more than {MOST_OUTCOMES} different values and holds no outcomes"
        raise user_error(what, ("leave ", FAVOURABLE, " out, or name a column of outcomes"), FAVOURABLE)
    asked = {value for value, *_ in found} & set(favourable)
    plain = all(code and (number or not asked) for _, _, code, number in found)
    return _Words(
        column, name, {value: count for value, count, *_ in found}, plain, all(number for *_, number in found)
    )


def _check(words: list[_Words], favourable: tuple[str, ...]) -> None:
    """Refuse values that occur nowhere, and a column with none of them and with values of its own."""
    known = dict.fromkeys(value for each in words for value in each.counts)
    for value in favourable:
        if value not in known:
            names = " or ".join(each.name for each in words)
            raise user_error(f"no {names} is {shown(value)}", suggest(value, known), FAVOURABLE)
    for each in words:
        others = {value for other in words if other is not each for value in other.counts}
        if not set(favourable) & set(each.counts) and not set(each.counts) <= others:
            values = ", ".join(shown(value) for value in list(each.counts)[:MOST_LISTED])
            what = f"{each.name} is never {' or '.join(map(shown, favourable))}, but {values}"
            fix: Words = ("name one value of each column: ", *_flags(favourable[0], next(iter(each.counts))))
            if each.numeric:
                fix = ("say how scores become decisions: ", Flag("threshold"), ", ", Flag("top-k"))
                fix = (*fix, " or ", Flag("top-share"))
            raise user_error(what, fix, FAVOURABLE)


def _check_classes(words: list[_Words], favourable: tuple[str, ...]) -> None:
    """Refuse several values where score and label have no word in common: they are of different classes."""
    for one, other in combinations(words, 2):
        if not set(one.counts) & set(other.counts):
            values = [", ".join(map(shown, list(each.counts)[:MOST_LISTED])) for each in (one, other)]
            what = (
                f"{len(favourable)} favourable values are classes, each audited against the rest, and "
                f"{one.name} ({values[0]}) and {other.name} ({values[1]}) have none in common"
            )
            asked = [
                next(value for value in (*favourable, *each.counts) if value in each.counts)
                for each in (one, other)
            ]
            fix = ("name one value of each column: ", *_flags(*asked), "; values that count together ")
            fix = (*fix, "must be one value in the file")
            raise user_error(what, fix, FAVOURABLE)


def _flags(first: str, second: str) -> tuple[Flag | str, ...]:
    return Flag("favourable", first), " ", Flag("favourable", second)


def _own_words(words: list[_Words], favourable: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
    """Return the value of each column where score and label have words, and one value, of their own."""
    found = {each.column: tuple(value for value in favourable if value in each.counts) for each in words}
    apart = 1 < len(favourable) == len(set(found.values()))  # further scores have the words of the first
    return found if apart and all(len(values) == 1 for values in found.values()) else {}


def _note(words: _Words, favourable: tuple[str, ...]) -> str:
    rest = [(value, count) for value, count in words.counts.items() if value not in favourable]
    ones = ", ".join(shown(value) for value in favourable)
    listed = ", ".join(f"{shown(value)} ({rows_in_words(count)})" for value, count in rest[:MOST_LISTED])
    more = ", …" if len(rest) > MOST_LISTED else ""
    counted = "each counts as 1 against the rest" if len(favourable) > 1 else "counts as 1"
    others = f"; 0 {'are' if len(rest) > 1 else 'is'} {listed}{more}" if rest else ""
    return f"{words.name}: {ones} {counted}{others}."


def _coded(sql: ColumnSql, favourable: tuple[str, ...]) -> ColumnSql:
    """Return a column whose code is 1 and 0, or the position of its class; NULL where it is empty."""
    text, several = sql.of("trimmed"), len(favourable) > 1
    codes = "".join(
        f" WHEN {text} = {quoted(value)} THEN {at if several else 1}" for at, value in enumerate(favourable)
    )
    rest = len(favourable) if several else 0
    return replace(sql, code=f"CASE WHEN coalesce({text}, '') = '' THEN NULL{codes} ELSE {rest} END")
