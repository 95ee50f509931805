"""What the columns of a table look like, and which may hold what was decided, or what came true."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from fairbench_cli.audit.scan.roles import LABELS, MOST_CODES, RESERVED, ColumnRoles
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.spelling_variants import find_abbreviations, find_spelling_variants, has_plain_letters
from fairbench_cli.data import recognise

MOST_SHOWN = 12  # values of a column
MOST_SPELLED = 100  # values of a column that are looked at for spellings
MOST_SEEN = 200  # columns
TWO = 2

Kind = Literal["0/1", "number", "whole numbers", "date", "words", "constant", "identifier-like", "empty"]
What = Literal["decision", "score", "number", "classes"]
NUMERIC: tuple[Kind, ...] = ("number", "whole numbers")
SOME_NUMBERS = "numbers"
SOME_VALUES = "few values"
UNLIKELY_REASONS = (SOME_NUMBERS, SOME_VALUES)
NO_OUTCOME: tuple[Kind, ...] = ("date", "constant", "identifier-like", "empty")


CountedValue = tuple[Any, ...]
"""A value of a column, its number if it is one, whether it is 0 or 1, and how many rows have it."""


@dataclass(frozen=True)
class ValueCount:
    """A value, and how many of the rows that were looked at have it."""

    value: str
    rows: int


@dataclass(frozen=True)
class ColumnSeen:
    """What a column holds in the rows that were looked at.

    Parameters
    ----------
    name : str
    kind : {"0/1", "number", "whole numbers", "date", "words", "constant", "identifier-like", "empty"}
    values : tuple of ValueCount
        The commonest first, `MOST_SHOWN` at most.
    distinct, missing : int
        How many different values there are, and how many empty cells.
    smallest, largest : float, str or None
        Of numbers and dates.
    counts : dict of str to int
        The rows of every value, the commonest first.
    middle, above_middle : float or None
        Of numbers the median, and the lowest above it.
    """

    name: str
    kind: Kind
    values: tuple[ValueCount, ...]
    distinct: int
    missing: int
    smallest: float | str | None
    largest: float | str | None
    counts: dict[str, int]
    middle: float | None = None
    above_middle: float | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers other than 0 and 1."""
        return self.kind in NUMERIC

    @property
    def is_share(self) -> bool:
        """Whether its numbers are from 0 to 1."""
        low = self.smallest
        high = self.largest
        return isinstance(low, float) and isinstance(high, float) and 0 <= low <= high <= 1

    @property
    def has_two_values(self) -> bool:
        """Whether it holds two values, which may be 0 and 1; several spellings of one value count once."""
        return self.distinct - sum(map(len, self.same_values.values())) == TWO

    @property
    def same_values(self) -> dict[str, list[str]]:
        """The values that are likely another one, in another spelling or short for it, by that one."""
        if self.kind != "words" or self.distinct > MOST_SPELLED:
            return {}
        return find_same_values(self.counts)


@dataclass(frozen=True)
class Candidate:
    """A column that may hold what was decided of people, or what came true.

    Parameters
    ----------
    column : str
    what : {"decision", "score", "number", "classes"}
        Two values; numbers that are cut; numbers that are compared as they are; more than two words.
    values : tuple of str
        The commonest first, `MOST_SHOWN` at most.
    favourable : str or None
        The value that says that something good is so, as far as words say it.
    why : str
        Why it is one.
    is_likely : bool
        Whether it is taken where nobody names a column.
    """

    column: str
    what: What
    values: tuple[str, ...]
    favourable: str | None
    why: str
    is_likely: bool = True


def find_same_values(counts: dict[str, int]) -> dict[str, list[str]]:
    """Return the values that are likely another one, by that other value.

    >>> find_same_values({"Female": 9, "F": 8, "f": 2, "male": 7, "M": 5, "x": 1})
    {'Female': ['F', 'f'], 'male': ['M']}
    """
    spelling_of: dict[str, str] = {}
    for variants in find_spelling_variants(counts):  # the commonest first
        spelling = next(filter(has_plain_letters, variants.values), variants.values[0])
        spelling_of |= {value: spelling for value in variants.values if value != spelling}
    distinct_values = [value for value in counts if value not in spelling_of]
    long_form = dict(find_abbreviations(distinct_values))
    long_form |= _translate_yes_and_no([value for value in distinct_values if value not in long_form])
    same_values: dict[str, list[str]] = {}
    for value in counts:
        spelling = spelling_of.get(value, value)
        spelling = long_form.get(spelling, spelling)
        if spelling != value:
            same_values.setdefault(spelling, []).append(value)
    return same_values


def _translate_yes_and_no(values: Sequence[str]) -> dict[str, str]:
    """Return the first word for yes, and for no, by each other one, of values that say nothing else.

    >>> _translate_yes_and_no(["Yes", "nee", "ja", "no"]), _translate_yes_and_no(["Yes", "nee", "maybe"])
    ({'ja': 'Yes', 'no': 'nee'}, {})
    """
    yes = [value for value in values if value.strip().casefold() in recognise.YES]
    no = [value for value in values if value.strip().casefold() in recognise.NO]
    if not yes or not no or len(yes) + len(no) < len(values):
        return {}
    return dict.fromkeys(yes[1:], yes[0]) | dict.fromkeys(no[1:], no[0])


def see_columns(source: Source) -> list[ColumnSeen]:
    """Look at each column that has a name, in the rows of a source.

    Of a very wide table these are `MOST_SEEN`: those whose names say something, and the first ones.
    """
    names = list(source.column_index)
    if len(names) > MOST_SEEN:
        by_name = [name for name in names if _says_something(name)]
        chosen = set(list(dict.fromkeys((*by_name, *names)))[:MOST_SEEN])
        names = [name for name in names if name in chosen]
    column_of = source.column_index
    counted = "any_value({number}), bool_and({code} IS NOT NULL), count(*)"
    cells_by_column: dict[int, list[CountedValue]] = {}
    texts = source.texts_of([column_of[name] for name in names])
    if texts:
        cells_by_column = {i: [] for i in texts}
        cells = source.cells_of(texts, "predictions")
        counts = counted.format(number="number", code="code")
        query = f"SELECT place, coalesce(trimmed, '') AS value, {counts} FROM {cells} GROUP BY place, value"
        for i, *cell in source.rows(f"{query} ORDER BY 5 DESC, 2"):
            cells_by_column[i].append(tuple(cell))
    for name in names:
        i = column_of[name]
        if i not in cells_by_column:
            counts = counted.format(number=f"number_{i}", code=f"code_{i}")
            query = f"SELECT coalesce(trimmed_{i}, '') AS value, {counts} FROM predictions GROUP BY value"
            cells_by_column[i] = source.rows(f"{query} ORDER BY 4 DESC, 1")
    return [_see_column(name, cells_by_column[column_of[name]]) for name in names]


def _says_something(name: str) -> bool:
    """Return whether a name is that of a score, a label or a protected attribute."""
    tests = (
        recognise.named_like_protected,
        recognise.named_like_decisions,
        recognise.named_like_labels,
        recognise.named_like_truths,
    )
    return name in ("score", *LABELS) or any(test(name) for test in tests)


def _see_column(name: str, cells: Sequence[CountedValue]) -> ColumnSeen:
    """Return the description of a column, given its values, the commonest first."""
    filled = [cell for cell in cells if cell[0] != ""]
    counts = {value: rows for value, _, _, rows in filled}
    numbers = [number for _, number, _, _ in filled if number is not None]
    all_codes = all(is_code for _, _, is_code, _ in filled)
    kind = _tell_kind(name, list(counts), numbers if len(numbers) == len(filled) else [], all_codes=all_codes)
    if len(counts) == sum(counts.values()) and _are_numbered(list(counts), kind):
        kind = "identifier-like"
    smallest: float | str | None = None
    largest: float | str | None = None
    middle = None
    above_middle = None
    if kind == "date":
        smallest = min(counts)
        largest = max(counts)
    elif numbers and len(numbers) == len(filled):
        smallest = min(numbers)
        largest = max(numbers)
        middle = _median([(number, rows) for _, number, _, rows in filled])
        above_middle = min((number for number in numbers if number > middle), default=None)
    return ColumnSeen(
        name=name,
        kind=kind,
        values=tuple(ValueCount(value, rows) for value, rows in list(counts.items())[:MOST_SHOWN]),
        distinct=len(counts),
        missing=sum(rows for value, _, _, rows in cells if value == ""),
        smallest=smallest,
        largest=largest,
        counts=counts,
        middle=middle,
        above_middle=above_middle,
    )


def _tell_kind(name: str, values: list[str], numbers: list[float], *, all_codes: bool) -> Kind:
    """Return the kind of values; `numbers` are those of all of them, or none."""
    if not values:
        return "empty"
    if len(values) == 1:
        return "constant"
    if all_codes:
        return "0/1"
    if len(values) > MOST_CODES and recognise.named_like_identifiers(name):
        return "identifier-like"
    if all(map(recognise.is_date, values)):
        return "date"
    if not numbers:
        return "words"
    if all(number == int(number) for number in numbers if abs(number) < float("inf")):
        return "whole numbers"
    return "number"


def _are_numbered(values: Sequence[str], kind: Kind) -> bool:
    """Return whether values that no two rows share name the rows: many texts, or numbers such as 007."""
    if len(values) <= MOST_CODES:
        return False
    return kind == "words" or any(
        value.startswith("0") and value.isdigit() and len(value) > 1 for value in values
    )


def _median(rows_by_number: Sequence[tuple[float, int]]) -> float:
    """Return the lower median of numbers with the rows of each."""
    n_rows = sum(rows for _, rows in rows_by_number)
    n_below = 0
    ordered = sorted(rows_by_number)
    for number, rows in ordered:
        n_below += rows
        if 2 * n_below >= n_rows:
            return float(number)
    return float(ordered[-1][0])


def find_decisions(columns: Sequence[ColumnSeen]) -> list[Candidate]:
    """Return the columns that may hold what was decided of people, or their scores, the likeliest first."""
    ranked: list[tuple[int, int, Candidate]] = []
    for position, column in enumerate(columns):
        if not _may_be_outcome(column):
            continue
        is_last = position == len(columns) - 1
        for rank, (outcome_kind, why, holds) in enumerate(_reasons_of_decisions(column, is_last=is_last)):
            if holds:
                is_likely = why not in UNLIKELY_REASONS
                candidate = _make_candidate(column, outcome_kind, why, is_likely=is_likely)
                pay_rank = 0
                if outcome_kind == "number":
                    pay_rank = recognise.rank_pay(column.name)
                ranked.append((rank, pay_rank, candidate))
                break
    return [candidate for *_, candidate in sorted(ranked, key=lambda entry: entry[:2])]


def _may_be_outcome(column: ColumnSeen) -> bool:
    """Return whether a column may hold a decision or an outcome of people."""
    name = column.name
    if column.kind in NO_OUTCOME or (name.lower() in RESERVED and name.lower() not in ("score", *LABELS)):
        return False
    return not recognise.named_like_protected(name) and not recognise.named_like_weights(name)


def _reasons_of_decisions(column: ColumnSeen, *, is_last: bool) -> Iterator[tuple[What, str, bool]]:
    """Yield what a column may be of a decision, why, and whether that holds; the strongest reason first."""
    name = column.name
    two = column.has_two_values
    decision = recognise.named_like_decisions(name)
    few_words = column.kind == "words" and column.distinct <= MOST_CODES
    has_many = column.distinct > MOST_CODES
    outcome_kind: What = "decision"
    if not two:
        outcome_kind = "score" if column.is_numeric else "classes"
    yield outcome_kind, "the column is called score", name == "score"
    yield "decision", "two values, and it is called like a decision", two and decision
    yield "score", "numbers, and it is called like a score", column.is_numeric and decision and not two
    yield "classes", "words, and it is called like a decision", few_words and decision
    outcome = two and recognise.named_like_labels(name) and name not in LABELS
    yield "decision", "two values, and it is called like an outcome", outcome
    yield "decision", "two values, and it is the last column", two and is_last and name not in LABELS
    amounts = column.is_numeric and has_many and recognise.may_be_amounts(name)
    yield "number", "numbers, and it is called like an amount", amounts
    yield "decision", "two values", two and name not in LABELS
    yield "decision", "the labels themselves, as nothing else says what was decided", two
    yield "score", "numbers from 0 to 1", column.kind == "number" and column.is_share and has_many
    yield "number", SOME_NUMBERS, column.is_numeric and has_many
    yield outcome_kind, SOME_VALUES, few_words or column.is_numeric


def _make_candidate(column: ColumnSeen, outcome_kind: What, why: str, *, is_likely: bool = True) -> Candidate:
    favourable = None
    if outcome_kind in ("decision", "classes") and column.kind != "0/1":
        # Of several spellings the one that stands for all.
        written_otherwise = set(chain.from_iterable(column.same_values.values()))
        values = [value for value in column.counts if value not in written_otherwise]
        favourable = recognise.guess_good_value(values, column.name)
    values_shown = tuple(count.value for count in column.values)
    return Candidate(column.name, outcome_kind, values_shown, favourable, why, is_likely)


def find_labels(columns: Sequence[ColumnSeen], score: ColumnSeen, *, as_numbers: bool) -> list[Candidate]:
    """Return the columns that may say who was right, of a score that is known, the likeliest first."""
    ranked: list[tuple[int, bool, Candidate]] = []
    for position, column in enumerate(columns):
        if column.name == score.name or not _may_be_outcome(column):
            continue
        is_last = position == len(columns) - 1
        reasons = _reasons_of_labels(column, score, as_numbers=as_numbers)
        for rank, (why, is_likely, holds) in enumerate(reasons):
            if holds:
                outcome_kind: What = "decision"
                if as_numbers:
                    outcome_kind = "number"
                elif not column.has_two_values:
                    outcome_kind = "classes"
                candidate = _make_candidate(column, outcome_kind, why, is_likely=is_likely)
                ranked.append((rank, not is_last, candidate))
                break
    return [candidate for *_, candidate in sorted(ranked, key=lambda entry: entry[:2])]


def _reasons_of_labels(
    column: ColumnSeen, score: ColumnSeen, *, as_numbers: bool
) -> Iterator[tuple[str, bool, bool]]:
    """Yield why a column may be the label, whether that makes it likely, and whether it holds."""
    name = column.name
    if as_numbers:
        numbers = column.is_numeric and column.distinct > MOST_CODES
        yield f"the column is called {name}", True, numbers and name in LABELS
        truths = numbers and recognise.named_like_truths(name)
        yield "numbers, and it is called like what came true", True, truths
        yield "numbers", False, numbers
        return
    same_words = column.kind == "words" and set(column.counts) <= set(score.counts)
    fits = column.has_two_values or same_words
    decision = recognise.named_like_decisions(name)
    yield f"the column is called {name}", True, fits and name in LABELS
    yield "it is called like what came true", True, fits and recognise.named_like_truths(name)
    outcome = recognise.named_like_labels(name) and not decision
    yield "two values, and it is called like an outcome", True, fits and outcome
    yield "two values", False, fits


@dataclass(frozen=True)
class Selection:
    """Whom a decision selects.

    Parameters
    ----------
    share : float or None
        Of all rows; None where nothing is decided.
    runs_against : bool
        Whether fewer are selected of those with label 1 than of the others.
    """

    share: float | None
    runs_against: bool


NO_SELECTION = Selection(None, runs_against=False)


def count_selection(source: Source, roles: ColumnRoles, is_selected: str) -> Selection:
    """Return whom `is_selected`, in SQL, selects."""
    rate = f"avg(({is_selected})::INTEGER)"
    (share,) = source.row(f"SELECT {rate} FROM predictions")
    if roles.label is None:
        return Selection(share, runs_against=False)
    label = f"code_{roles.label}"
    rate_of_1, rate_of_0 = source.row(
        f"SELECT {rate} FILTER ({label} = 1), {rate} FILTER ({label} = 0) FROM predictions"
    )
    has_both = rate_of_1 is not None and rate_of_0 is not None
    return Selection(share, runs_against=has_both and rate_of_1 < rate_of_0)
