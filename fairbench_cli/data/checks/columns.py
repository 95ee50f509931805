"""Columns and values that are likely a mistake: constant, near-unique, duplicate, written in two ways."""

import re
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.base.spelling_variants import find_spelling_variants
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import UNKNOWN
from fairbench_cli.data.checks.rows import Finding, RawRows, drop
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.columns import is_number, kind_of
from fairbench_cli.data.recognise import COUNTS, named_like_identifiers, named_like_weights
from fairbench_cli.data.roles import counted, recoding

MOSTLY = 0.5  # of the cells
SOME = 0.1  # of the rows; New York's four models are no people
LEVELS = 50  # of a nominal column; adult's native_country has 42
CODES = 100  # that are cut into bins which have a name,
GROUPS = 6  # so many of them: codes of occupations, not ages
OPPOSITES = ({"male", "female"}, {"man", "woman"}, {"men", "women"}, {"black", "white"})


def column_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the constant, near-unique and duplicate columns.

    Near-unique is a nominal column with more values than half of the rows, or whole numbers of which
    every row has one of its own. Duplicates are columns whose values map one to one, and, where no value
    comes twice, those with equal cells. Columns that the card leaves out are looked at after those it uses.
    """
    first: dict[bytes, str] = {}
    protected = set(rows.card.protected)
    names = sorted(rows.codes, key=lambda name: (rows.card.drops(name), name not in protected))
    for name in names:
        cells = rows.cells[name][rows.complete]
        codes, distinct = pd.factorize(cells)
        values = list(distinct)
        if len(values) == 1:
            what = f'has one value in all {len(cells):,} rows: "{values[0]}"'
            yield rows.finding("constant", name, what, drop(name))
            continue
        kind = kind_of(filter(None, values)) if rows.card.drops(name) else rows.card.column(name).kind
        if kind == "nominal":
            most = len(cells) / 2
        else:
            most = len(cells) - 1
        if name not in protected and kind in ("nominal", "integer") and len(values) > most:
            what = f"has {len(values):,} different values in {len(cells):,} rows"
            if kind == "nominal":
                other = "merge values with recode"
            else:
                other = "cut it into bins"
            fix = f"{drop(name)} if it only names the row; otherwise {other}"
            yield rows.finding("identifier", name, what, fix)
        # Codes are numbered as values appear, so one-to-one columns have the same codes.
        if len(values) < len(cells):
            key = codes.tobytes()
        else:
            key = repr(_plain(values)).encode()
        like = first.setdefault(key, name)
        if like != name and rows.card.made.get(like) != name:
            what = f"is one to one with {like}"
            fix = f"drop one of the two: {drop(name)}"
            if like in protected:
                what = f"is one to one with the protected {like}"
                fix = f"{drop(name)}: a classifier that must not see {like} sees it here"
            yield rows.finding("duplicate", name, what, fix)


def file_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield what is wrong with the files' columns before a card recodes or leaves out anything.

    * ``mostly-missing``: more than half of the cells are empty.
    * ``weight``: called like a weight, or like a number of people (``Freq``).
    * ``repeated-people``: called like an identifier, with more values than a tenth of the rows, some of which
      come more than once.
    * ``many-levels``: more than 50 values of a nominal column, or 100 that are cut into six named bins.
    * ``duplicate``: two columns of one name.
    * ``header``: half of the columns or more are called like values, so the first row is probably one.
    """
    card = rows.card
    file = rows.file
    unlisted = {*rows.features} - {*card.columns} - {own.source for own in card.columns.values()}
    for name in (name for name in file.columns if name not in card.made):
        meant = card.column(name).recode
        gap = file[name].isin([cell for cell in rows.gaps if cell not in meant]).to_numpy(dtype=bool)
        if gap.mean() > MOSTLY:
            yield rows.finding(
                "mostly-missing", name, f"is missing in {format_percent(gap.mean())} of the rows", drop(name)
            )
        if named_like_weights(name) or name.casefold() in COUNTS:
            what = "is called like a weight of rows"
            fix = f"{drop(name)} if it says for how many people a row stands: it is nothing of the person"
            used = not card.drops(name) and name != card.counts
            yield rows.finding("weight", name, what, fix, used=used)
        values = file[name][~gap].nunique()
        again = int((~gap).sum()) - values
        if named_like_identifiers(name) and values > SOME * len(gap) and again:
            what = f"names {values:,} in {values + again:,} rows: some come more than once"
            fix = "rows are not independent: keep one of each, or give `audit` the column as `--cluster`"
            yield rows.finding("repeated-people", name, what, fix, used=True)
            continue
        if name in unlisted:
            columns = {**card.columns, name: ColumnCard()}
        else:
            columns = card.columns
        for one, own in columns.items() if 2 * values < len(gap) else ():
            groups = own.bins.levels or () if own.bins else ()
            levels = own.kind == "nominal" and values > LEVELS
            if name == (own.source or one) and (levels or (len(groups) >= GROUPS and values > CODES)):
                fix = "merge them with `recode`, or cut codes at `bins: {edges: …}` into named groups"
                many = levels and rows.cells[one].nunique() > LEVELS
                what = f"has {values:,} different values"
                yield rows.finding("many-levels", name, what, fix, used=many)
    for name in (name for name, times in Counter(rows.header).items() if times > 1):
        what = "is the name of more than one column; the first is read"
        yield rows.finding("duplicate", name, what, "give every column a name of its own", used=False)
    yield from _header(rows)


def _header(rows: RawRows) -> Iterator[Finding]:
    names = [str(name) for name in rows.file.columns if name not in rows.card.made]
    given = not rows.card.header and rows.card.format == "csv"  # the card's own names
    numbers = [name for name in names if is_number(name)]
    if numbers and numbers[0].isdecimal():
        first = int(numbers[0])
    else:
        first = 0
    if given or (numbers and numbers == [str(first + i) for i in range(len(numbers))]):
        return  # they are counted, as features without a name are, or years
    values = [name for name in names if name in numbers or (rows.file[name] == name).any()]
    if 2 * len(values) > len(names):
        some = ", ".join(f'"{value}"' for value in values[:4])
        what = f"has columns that are called like values ({some}, …): its first row was taken for the names"
        fix = "take the file as it was first published: a row is lost"
        if rows.card.format == "csv":
            fix = "write `header: false` and name the columns in the card"
        yield rows.finding("header", "", what, fix, "files")


def code_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the values that the code book does not have, and groups that are not what they are called.

    * ``undocumented``: the card gives the column's `codes`, and the file has other values; or the levels of a
      protected attribute are bare numbers, and the card has no word for them.
    * ``contradiction``: a value is said to be of opposite groups, such as "female: non-single or male:
      single"; or the card recodes a value of a protected attribute that no row has, so that file and code
      book may not belong together; or a column of 0 and 1 is called like a level, and marks other rows.
    """
    card = rows.card
    for name, own in card.columns.items():
        cells = rows.file[own.source or name]
        if own.codes:
            there = {str(value) for value in cells.unique()}
        else:
            there = set()
        if unsaid := sorted(there - {*own.codes, *rows.gaps}):
            counts = {str(value): int(n) for value, n in cells.value_counts().items() if n}
            what = f"has values that its code book does not: {counted(unsaid, counts)}"
            fix = "find out what they are, or `recode` them to a level that says that nobody knows"
            yield rows.finding("undocumented", name, what, fix, "columns", name, "codes")
    for name in rows.file.columns:
        own = card.column(name)
        values = rows.file[name].unique() if own.kind == "nominal" and not card.drops(name) else ()
        for said in [own.codes.get(value, value) for value in values]:
            if any(pair <= set(re.findall(r"[^\W\d_]+", said.casefold())) for pair in OPPOSITES):
                what = f'has one value for opposite groups: "{said}"'
                fix = "no group can be told by it"
                yield rows.finding("contradiction", name, what, fix)
    yield from _indicators(rows)
    for name, protected in card.protected.items():
        if protected.of:
            continue
        own = card.column(name)
        levels = set(rows.cells[name][rows.complete]) - set(rows.gaps)
        if not (own.codes or protected.called) and levels and all(map(is_number, levels)):
            what = f"has levels that are bare numbers: {', '.join(sorted(levels)[:8])}"
            fix = f'say what they are: `{yaml_word(name)}: {{recode: {{"1": WORD, …}}}}` under `columns`'
            yield rows.finding("undocumented", name, what, fix, "protected", name)
        if own.kind == "nominal":
            there = {str(value) for value in rows.file[name].unique()}
        else:
            there = set()
        for value in [value for value in own.recode if there and value not in there]:
            if any(value in twins.values for twins in find_spelling_variants([value, *there])):
                continue  # written otherwise, or in another file
            what = f'recodes "{value}" to "{own.recode[value]}", and no row has it'
            fix = "look whether the code book is that of this file: other codes may mean other groups, too"
            yield rows.finding("contradiction", name, what, fix, "columns", name, "recode")


def _indicators(rows: RawRows) -> Iterator[Finding]:
    """Yield the columns of 0 and 1 that mark other rows than the level says, where others like them do."""
    distinct = {str(name): set(rows.file[name].unique()) for name in rows.file.columns}
    distinct = {name: values for name, values in distinct.items() if len(values) <= LEVELS}
    ones = [name for name, values in distinct.items() if {*map(str, _plain([*values]))} == {"0.0", "1.0"}]
    for name, values in distinct.items():
        called = {value.casefold(): value for value in values}
        marks = {
            one: (rows.file[one].isin(("1", "1.0")) == (rows.file[name] == called[one.casefold()])).mean()
            for one in ones
            if one.casefold() in called
        }
        for one in [one for one, same in marks.items() if same < 1 == max(marks.values())]:
            what = f'is called like "{called[one.casefold()]}" of {name}, and marks other rows'
            fix = f"use {name}, or find out whom it marks"
            yield rows.finding("contradiction", one, what, fix)


def value_findings(rows: RawRows) -> Iterator[Finding]:
    """Yield the nominal columns with values that are likely one, and a label of more than two values."""
    label = rows.card.label
    for name in [label.column, *rows.features]:
        if rows.card.column(name).kind != "nominal":
            continue
        found = rows.cells[name][rows.complete].value_counts()
        counts = {str(value): int(n) for value, n in found.items() if n}
        for twins in find_spelling_variants(counts):
            kept, *others = twins.values
            what = f"has {counted(twins.values, counts)}, which {twins.how}"
            yield rows.finding("twins", name, what, recoding(name, others, kept), "columns", name)
        if label.unknown:
            known = {label.favourable, UNKNOWN}
        else:
            known = {label.favourable}
        rest = [value for value in counts if value not in known]
        if name == label.column and len(rest) > 1:
            what = f"has more than two values; as unfavourable count {counted(rest, counts)}"
            fix = "leave rows out with `keep` in the card where a value is no outcome"
            yield rows.finding("many-outcomes", name, what, fix, "label", "favourable")


def _plain(cells: list[str]) -> list[str | float]:
    """Return numbers as numbers, so that 1 and 1.0 are equal."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return list(cells)
