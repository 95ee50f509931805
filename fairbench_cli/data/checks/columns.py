"""Columns and values that are likely a mistake: constant, near-unique, duplicate, written in two ways."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pandas as pd

from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.base.spelling_variants import find_spelling_variants
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import UNKNOWN
from fairbench_cli.data.checks.copies import find_repeated_people
from fairbench_cli.data.checks.rows import Finding, Mask, RawRows, format_drop
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.columns import find_kind, is_number
from fairbench_cli.data.recognise import (
    named_like_amounts,
    named_like_counts,
    named_like_row_numbers,
    named_like_weights,
)
from fairbench_cli.data.roles import format_counts, format_recode

MOSTLY = 0.5  # of the cells
LEVELS = 50  # of a nominal column; adult's native_country has 42
CODES = 100  # that are cut into bins which have a name,
GROUPS = 6  # so many of them: codes of occupations, not ages
OPPOSITES = ({"male", "female"}, {"man", "woman"}, {"men", "women"}, {"black", "white"})


WEIGHTS = "is called like a weight of rows"


def fix_for_weights(name: str, cells: "pd.Series[str]", otherwise: str) -> str:
    """Return the use of weights of rows to a card: people to count, if all are whole, or `otherwise`.

    >>> fix_for_weights("PWGTP", pd.Series(["12", "0"]), "drop it")
    'if a row stands for so many people, write `counts: PWGTP` in place of its line; else drop it'
    >>> fix_for_weights("wt", pd.Series(["1.5"]), "drop it")
    'drop it; a run counts whole people: `counts: wt` needs the weights rounded to such in the file'
    """
    counts = f"`counts: {yaml_word(name)}`"
    if all(is_number(cell, whole=True) and float(cell) >= 0 for cell in cells.unique()):
        return f"if a row stands for so many people, write {counts} in place of its line; else {otherwise}"
    return f"{otherwise}; a run counts whole people: {counts} needs the weights rounded to such in the file"


def check_columns(rows: RawRows) -> Iterator[Finding]:
    """Yield the constant, near-unique and duplicate columns.

    Near-unique is a nominal column with more values than half of the rows, or whole numbers that number the
    rows (`number_rows`). Duplicates are columns whose values map one to one, and, where no value
    comes twice, those with equal cells. Columns that the card leaves out are looked at after those it uses.
    """
    first_with: dict[bytes, str] = {}
    protected = set(rows.card.protected)
    names = sorted(rows.codes, key=lambda name: (rows.card.drops(name), name not in protected))
    for name in names:
        cells = rows.cells[name][rows.complete]
        codes, distinct = pd.factorize(cells)
        values = list(distinct)
        if len(values) == 1:
            problem = f'has one value in all {len(cells):,} rows: "{values[0]}"'
            yield rows.finding("constant", name, problem, format_drop(name))
            continue
        kind = find_kind(filter(None, values)) if rows.card.drops(name) else rows.card.column(name).kind
        if kind == "nominal":
            is_identifier = len(values) > len(cells) / 2
        else:
            is_identifier = kind == "integer" and number_rows(name, cells)
        if name not in protected and is_identifier:
            problem = f"has {len(values):,} different values in {len(cells):,} rows"
            otherwise = "cut it into bins"
            if kind == "nominal":
                otherwise = "merge values with recode"
            fix = f"{format_drop(name)} if it only names the row; otherwise {otherwise}"
            yield rows.finding("identifier", name, problem, fix)
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        if len(values) < len(cells):
            key = codes.tobytes()
        else:
            key = repr(_to_numbers(values)).encode()
        twin = first_with.setdefault(key, name)
        if twin != name and rows.card.sources.get(twin) != name:
            problem = f"is one to one with {twin}"
            fix = f"drop one of the two: {format_drop(name)}"
            if twin in protected:
                problem = f"is one to one with the protected {twin}"
                fix = f"{format_drop(name)}: a classifier that must not see {twin} sees it here"
            yield rows.finding("duplicate", name, problem, fix)


def number_rows(name: str, cells: "pd.Series[str]") -> bool:
    """Return whether whole numbers name rows: all differ, and they are called so, in order, or without gaps.

    Amounts may be in order, too, in a file that is sorted by them.

    >>> amounts, numbers = pd.Series(["120", "4500", "4501", "90000"]), pd.Series(["7", "9", "8", "10"])
    >>> [number_rows(name, amounts) for name in ("case_id", "x", "income")], number_rows("income", numbers)
    ([True, True, False], True)
    """
    if not cells.is_unique or not all(is_number(cell, whole=True) for cell in cells):
        return False
    numbers = cells.astype(float)
    in_order = numbers.is_monotonic_increasing or numbers.is_monotonic_decreasing
    has_no_gaps = bool(numbers.max() - numbers.min() < len(numbers))
    return has_no_gaps or named_like_row_numbers(name) or (in_order and not named_like_amounts(name))


def check_files(rows: RawRows) -> Iterator[Finding]:
    """Yield what is wrong with the files' columns before a card recodes or leaves out anything.

    * ``mostly-missing``: more than half of the cells are empty.
    * ``weight``: called like a weight, or like a number of people (``Freq``).
    * ``repeated-people``: `find_repeated_people`.
    * ``many-levels``: more than 50 values of a nominal column, or 100 that are cut into six named bins.
    * ``duplicate``: two columns of one name.
    * ``header``: half of the columns or more are called like values, so the first row is probably one.
    """
    card = rows.card
    file = rows.file
    unlisted = set(rows.features) - set(card.columns) - {entry.source for entry in card.columns.values()}
    repeated = {people.column: people for people in find_repeated_people(file, rows.gaps)}
    for name in (name for name in file.columns if name not in card.sources):
        meant = card.column(name).recode
        gap = file[name].isin([cell for cell in rows.gaps if cell not in meant]).to_numpy(dtype=bool)
        if gap.mean() > MOSTLY:
            yield rows.finding(
                "mostly-missing",
                name,
                f"is missing in {format_percent(gap.mean())} of the rows",
                format_drop(name),
            )
        are_counts = named_like_counts(name, in_full=True) and find_kind(file[name][~gap]) != "nominal"
        if named_like_weights(name) or are_counts:
            is_used = not card.drops(name) and name != card.counts
            fix = fix_for_weights(name, file[name][~gap], f"{format_drop(name)}: it is nothing of the person")
            yield rows.finding("weight", name, WEIGHTS, fix, used=is_used)
        if name in repeated:
            people = repeated[name]
            problem = f"names {people.people:,} in {people.rows:,} rows: some come more than once"
            fix = f"rows are not independent: keep one of each, or write `split_by: {yaml_word(name)}` under "
            fix += "`sample` in the config, and give `audit` the column as `--cluster`"
            yield rows.finding("repeated-people", name, problem, fix, used=True)
            continue
        values = file[name][~gap].nunique()
        if name in unlisted:
            columns = {**card.columns, name: ColumnCard()}
        else:
            columns = card.columns
        for column_name, entry in columns.items() if 2 * values < len(gap) else ():
            groups = entry.bins.levels or () if entry.bins else ()
            levels = entry.kind == "nominal" and values > LEVELS
            if name == (entry.source or column_name) and (
                levels or (len(groups) >= GROUPS and values > CODES)
            ):
                fix = "merge them with `recode`, or cut codes at `bins: {edges: …}` into named groups"
                many = levels and rows.cells[column_name].nunique() > LEVELS
                problem = f"has {values:,} different values"
                yield rows.finding("many-levels", name, problem, fix, used=many)
    for name in (name for name, times in Counter(rows.header).items() if times > 1):
        problem = "is the name of more than one column; the first is read"
        yield rows.finding("duplicate", name, problem, "give every column a name of its own", used=False)
    yield from _check_header(rows)


def check_copies(rows: RawRows, again: Mask) -> Iterator[Finding]:
    """Yield that some rows, those that come `again`, are copies of others."""
    if not again.any():
        return
    problem = f"has {again.sum():,} of {len(again):,} rows again, more than people are alike by chance"
    fix = "write `copies: drop` in the card; else models are tested on rows that they were trained on"
    if rows.card.counts:
        problem = f"is {(~again).sum():,} rows, each of which is counted as many people"
        fix = "a run would test models on rows that they were trained on: there drop `counts` from the card"
    yield rows.finding("copies", "", problem, fix, "counts" if rows.card.counts else "files")


def _check_header(rows: RawRows) -> Iterator[Finding]:
    names = [str(name) for name in rows.file.columns if name not in rows.card.sources]
    are_given = not rows.card.header and rows.card.format == "csv"  # the card's own names
    numbers = [name for name in names if is_number(name)]
    first_number = 0
    if numbers and numbers[0].isdecimal():
        first_number = int(numbers[0])
    if are_given or (numbers and numbers == [str(first_number + i) for i in range(len(numbers))]):
        return  # they are counted, as features without a name are, or years
    values = [name for name in names if name in numbers or (rows.file[name] == name).any()]
    if 2 * len(values) > len(names):
        examples = ", ".join(f'"{value}"' for value in values[:4])
        problem = (
            f"has columns that are called like values ({examples}, …): its first row was taken for the names"
        )
        fix = "take the file as it was first published: a row is lost"
        if rows.card.format == "csv":
            fix = "write `header: false` and name the columns in the card"
        yield rows.finding("header", "", problem, fix, "files")


def check_code_book(rows: RawRows) -> Iterator[Finding]:
    """Yield the values that the code book does not have, and groups that are not what they are called.

    * ``undocumented``: the card gives the column's `codes`, and the file has other values; or the levels of a
      protected attribute are bare numbers, and the card has no word for them.
    * ``contradiction``: a value is said to be of opposite groups, such as "female: non-single or male:
      single"; or the card recodes a value of a protected attribute that no row has, so that file and code
      book may not belong together; or a column of 0 and 1 is called like a level, and marks other rows.
    """
    card = rows.card
    for name, entry in card.columns.items():
        cells = rows.file[entry.source or name]
        if entry.codes:
            file_values = {str(value) for value in cells.unique()}
        else:
            file_values = set()
        if unsaid := sorted(file_values - set(entry.codes) - set(rows.gaps)):
            counts = {str(value): int(n) for value, n in cells.value_counts().items() if n}
            problem = f"has values that its code book does not: {format_counts(unsaid, counts)}"
            fix = "find out what they are, or `recode` them to a level that says that nobody knows"
            yield rows.finding("undocumented", name, problem, fix, "columns", name, "codes")
    for name in rows.file.columns:
        entry = card.column(name)
        values = rows.file[name].unique() if entry.kind == "nominal" and not card.drops(name) else ()
        for meaning in [entry.codes.get(value, value) for value in values]:
            if any(pair <= set(re.findall(r"[^\W\d_]+", meaning.casefold())) for pair in OPPOSITES):
                problem = f'has one value for opposite groups: "{meaning}"'
                fix = "no group can be told by it"
                yield rows.finding("contradiction", name, problem, fix)
    yield from _check_indicators(rows)
    for name, protected in card.protected.items():
        if protected.of:
            continue
        entry = card.column(name)
        levels = set(rows.cells[name][rows.complete]) - set(rows.gaps)
        if not (entry.codes or protected.called) and levels and all(map(is_number, levels)):
            problem = f"has levels that are bare numbers: {', '.join(sorted(levels)[:8])}"
            fix = f'say what they are: `{yaml_word(name)}: {{recode: {{"1": WORD, …}}}}` under `columns`'
            yield rows.finding("undocumented", name, problem, fix, "protected", name)
        if entry.kind == "nominal":
            file_values = {str(value) for value in rows.file[name].unique()}
        else:
            file_values = set()
        for value in [value for value in entry.recode if file_values and value not in file_values]:
            if any(value in twins.values for twins in find_spelling_variants(chain([value], file_values))):
                continue  # written otherwise, or in another file
            problem = f'recodes "{value}" to "{entry.recode[value]}", and no row has it'
            fix = "look whether the code book is that of this file: other codes may mean other groups, too"
            yield rows.finding("contradiction", name, problem, fix, "columns", name, "recode")


def _check_indicators(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns of 0 and 1 that mark other rows than the level says, where others like them do."""
    distinct = {str(name): set(rows.file[name].unique()) for name in rows.file.columns}
    distinct = {name: values for name, values in distinct.items() if len(values) <= LEVELS}
    ones = [
        name
        for name, values in distinct.items()
        if set(map(str, _to_numbers(list(values)))) == {"0.0", "1.0"}
    ]
    for name, values in distinct.items():
        called = {value.casefold(): value for value in values}
        marks = {
            indicator: (
                rows.file[indicator].isin(("1", "1.0")) == (rows.file[name] == called[indicator.casefold()])
            ).mean()
            for indicator in ones
            if indicator.casefold() in called
        }
        for indicator in [indicator for indicator, same in marks.items() if same < 1 == max(marks.values())]:
            problem = f'is called like "{called[indicator.casefold()]}" of {name}, and marks other rows'
            fix = f"use {name}, or find out whom it marks"
            yield rows.finding("contradiction", indicator, problem, fix)


def check_values(rows: RawRows) -> Iterator[Finding]:
    """Yield the nominal columns with values that are likely one, and a label of more than two values."""
    label = rows.card.label
    for name in chain([label.column], rows.features):
        if rows.card.column(name).kind != "nominal":
            continue
        level_counts = rows.cells[name][rows.complete].value_counts()
        counts = {str(value): int(n) for value, n in level_counts.items() if n}
        for twins in find_spelling_variants(counts):
            first_value, *other_values = twins.values
            problem = f"has {format_counts(twins.values, counts)}, which {twins.how}"
            yield rows.finding(
                "twins", name, problem, format_recode(name, other_values, first_value), "columns", name
            )
        if label.unknown:
            meant = {label.favourable, UNKNOWN}
        else:
            meant = {label.favourable}
        unfavourable = [value for value in counts if value not in meant]
        if name == label.column and len(unfavourable) > 1:
            problem = f"has more than two values; as unfavourable count {format_counts(unfavourable, counts)}"
            fix = "leave rows out with `keep` in the card where a value is no outcome"
            yield rows.finding("many-outcomes", name, problem, fix, "label", "favourable")


def _to_numbers(cells: list[str]) -> list[str | float]:
    """Return numbers as numbers, so that 1 and 1.0 are equal."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return list(cells)
