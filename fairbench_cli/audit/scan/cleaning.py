"""What is made of cells before anything looks at them: recoded values, decimal commas, months, rows left out.

Each is an expression in the place of a column or of the table, so that rows still stream by. A cell that
cannot be read with certainty is left as it is, and refused where it is needed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from fairbench_cli.audit.config import MISSING, AuditConfig, Edges, side_of
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.input_errors import refuse_if, refuse_unclear_numbers
from fairbench_cli.audit.scan.readings import NumberBins, bin_sql
from fairbench_cli.audit.scan.roles import find_column, find_usual_label
from fairbench_cli.audit.scan.source import FEW_COLUMNS, Source, in_batches
from fairbench_cli.audit.scan.spellings import count_rows_of_values, describe_merge, merge_values
from fairbench_cli.base.errors import Flag, MessageText, Problem, format_value, refuse, suggest, user_error
from fairbench_cli.base.safe_text import format_count, format_percent, join_names
from fairbench_cli.data import number_writing
from fairbench_cli.data.recognise import DAY_NUMBER, are_dates, is_date

WITHOUT = "without "  # how the reason begins why rows that lack something are left out
MOST_GROUPS_LISTED = 6
MOST_KEPT = 12  # values that a line lists
_ENDS = re.compile(r"([0-9]+(?:[.][0-9]+)?) ?(?:-|\.\.|–|to) ?([0-9]+(?:[.][0-9]+)?)")
FEW_ROWS = 20  # in which signs of numbers are looked for
OLDEST = 130  # years of age
PERIODS = {
    "week": "strftime({date}, '%G-W%V')",
    "month": "strftime({date}, '%Y-%m')",
    "quarter": "strftime({date}, '%Y') || '-Q' || quarter({date})",
    "year": "strftime({date}, '%Y')",
}
"""Of a date in SQL, by what follows the column's name: ``date:month``."""
DATE_FORMATS = [
    "%d.%m.%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%b %d %Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%Y%m%d",
]
ORDERED_FORMATS = {"day-first": ("%d/%m/%Y", "%d-%m-%Y"), "month-first": ("%m/%d/%Y", "%m-%d-%Y")}
"""Of dates whose day and month may stand in either order."""
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
SHORT_YEAR = "^[0-9]{1,2}[^0-9]+[0-9]{1,2}[^0-9]+[0-9]{1,3}([^0-9]|$)"
WHOLE_AS_REAL = r"([-+]?[0-9]{1,15})[.]0+"


def clean_rows(
    source: Source, config: AuditConfig, *, is_baseline: bool = False, is_whole: bool = True
) -> Source:
    """Return the rows with their first ones kept, cells mended as is asked for or can be seen in these.

    Parameters
    ----------
    source : Source
        As it was opened.
    config : AuditConfig
        With values to recode, and whether rows without a decision or a label are left out.
    is_baseline : bool
        Whether it is the file that another is compared with, which may lack columns.
    is_whole : bool
        Whether these are all rows; else values to keep may stand below.

    Raises
    ------
    UserError
        For values to be recoded that are not there, or when no row has a decision.
    """
    source = _recode(source, config, is_baseline=is_baseline)
    if config.keep:
        source = _keep_rows(source, config, is_baseline=is_baseline, is_whole=is_whole)
    if config.drop_missing:
        source = _drop_missing(source, config)
    if config.sliced_by is not None:
        source = _add_period(source, config.sliced_by, config)
    if not is_baseline:
        for name in config.notation:
            find_column(source, name, "notation")
    with_numbers = _read_whole_numbers(_read_written_numbers(source.with_first_rows(), config))
    return _read_ages(with_numbers, config, is_baseline=is_baseline)


def _recode(source: Source, config: AuditConfig, *, is_baseline: bool) -> Source:
    """Return the rows with values written as the config says, and a note for each."""
    in_sql = list(source.in_sql)
    notes: list[str] = []
    problems: list[Problem] = []
    for name, old_values in config.recode.items():
        if is_baseline and name not in source.column_index:
            continue
        column = find_column(source, name, "recode")
        spellings = map(number_writing.spellings_of_value, chain.from_iterable(old_values.values()))
        texts = ", ".join(map(sql.quoted, chain.from_iterable(spellings)))
        counted = f"SELECT trimmed_{column} AS value, count(*) FROM predictions WHERE value IN ({texts})"
        counts = dict(source.rows(f"{counted} GROUP BY value"))
        own_values = {
            new_value: tuple(number_writing.find_named_value(value, counts) for value in listed)
            for new_value, listed in old_values.items()
        }
        for value in chain.from_iterable(own_values.values()):
            if value not in counts and not is_baseline:
                problem = f"no {name} is {format_value(value)}"
                fix = suggest(value, count_rows_of_values(source, column))
                problems.append(Problem(problem, fix, Flag("recode")))
        in_sql[column] = sql.text_column(merge_values(in_sql[column], own_values).text)
        for new_value, listed in own_values.items():
            present = [value for value in listed if value in counts]
            if present:
                notes.append(f"{name}: {describe_merge(new_value, present, counts)}.")
    refuse(problems)
    return replace(source, in_sql=tuple(in_sql), notes=source.notes + tuple(notes))


def _keep_rows(source: Source, config: AuditConfig, *, is_baseline: bool, is_whole: bool) -> Source:
    """Return the rows with the values that the config keeps; a missing one is no number in a range.

    Raises
    ------
    UserError
        For values that no row has, or where no row is kept.
    """
    source_with_numbers = _with_numbers_read(source, config)
    all_rows = source
    problems: list[Problem] = []
    conditions: list[str] = []
    for name, values in config.keep.items():
        side = side_of(name)
        column_name = name if side is None else side.name
        if is_baseline and column_name not in source.column_index:
            continue
        if column_name.endswith("!") and column_name not in source.column_index:
            name = column_name[:-1].rstrip()
            problem = "rows are kept by the values that they have, not by others"
            raise user_error(problem, keep_all_but(source, name, values), Flag("keep"))
        column = find_column(source, column_name, "keep")
        if side is not None:
            if source_with_numbers.row(f"SELECT 1 FROM predictions WHERE {sql.word(column)} LIMIT 1"):
                refuse_unclear_numbers(source_with_numbers, column)
            condition = f"coalesce(number_{column} {side.sign} {side.edge!r}, false)"
            reason = f"of which {name} is not true"
        else:
            condition = "false"
            for value in values:
                of_value = _condition_of_value(source_with_numbers, column, value)
                condition += f" OR {of_value or 'false'}"
                if not of_value and is_whole and not is_baseline:
                    problem = f"no {column_name} is {format_value(value)}"
                    fix = _advise_kept(value, column_name, count_rows_of_values(source, column))
                    problems.append(Problem(problem, fix, Flag("keep")))
            reason = f"whose {column_name} is not {' or '.join(values)}"
        conditions.append(f"({condition})")
        in_columns = condition
        for kind in ("trimmed", "number"):
            expression = source_with_numbers.in_sql[column].expression(kind)
            in_columns = in_columns.replace(f"{kind}_{column} ", f"({expression}) ")
        source = _leave_out(source, in_columns, reason)
    refuse(problems)
    if not source.row("SELECT 1 FROM predictions LIMIT 1"):
        if not is_whole:
            return all_rows
        raise user_error("no row is kept", "keep other values, or fewer conditions", Flag("keep"))
    return replace(source, kept=" AND ".join(conditions) or "true")


def keep_all_but(source: Source, name: str, values: Sequence[str]) -> MessageText:
    """Return the line that keeps the rows with all other values of a column, where these are few."""
    column = find_column(source, name, "keep")
    remaining = sorted(set(count_rows_of_values(source, column)).difference(values))
    if MISSING not in values and source.rows(f"SELECT 1 FROM predictions WHERE {sql.blank(column)} LIMIT 1"):
        remaining.append(MISSING)
    if 0 < len(remaining) <= MOST_KEPT and not any("," in value for value in remaining):
        return ("name those that stay: ", Flag("keep", f"{name}={','.join(remaining)}"))
    return ("name those that stay with ", Flag("keep"))


def _advise_kept(value: str, name: str, rows: Mapping[str, int]) -> MessageText:
    """Return how to keep rows whose value no row has: of two numbers, those between them."""
    ends = _ENDS.fullmatch(value)
    if ends:
        low, high = Flag("keep", f"{name}>={ends[1]}"), Flag("keep", f"{name}<={ends[2]}")
        return ("those between: ", low, " ", high)
    return suggest(value, rows)


def _condition_of_value(source: Source, column: int, value: str) -> str:
    """Write in SQL that a cell has a value, as text or else as a number; empty where none has it."""
    conditions = [f"coalesce(trimmed_{column} = {sql.quoted(value)}, false)"]
    if value == MISSING:
        conditions.append(f"coalesce(trimmed_{column} , '') = ''")  # as `_keep_rows` replaces it
    writing = number_writing.find_writing([value])
    if isinstance(writing, number_writing.NumberWriting):
        conditions.append(f"coalesce(number_{column} = {float(writing.to_plain(value))!r}, false)")
    for condition in conditions:
        if source.row(f"SELECT 1 FROM predictions WHERE {condition} LIMIT 1"):
            return condition
    return ""


def _with_numbers_read(source: Source, config: AuditConfig) -> Source:
    """Return all rows with numbers as their columns write them, by the first rows."""
    with_numbers = _read_whole_numbers(_read_written_numbers(source.with_first_rows(), config))
    if source.format != "frame":
        source.database.execute(f"DROP TABLE {source.first_table}")
    return replace(source, in_sql=with_numbers.in_sql)


def _leave_out(source: Source, condition: str, reason: str) -> Source:
    """Return the rows that meet a condition in SQL; `reason` says of the others why they are left out."""
    remaining = replace(
        source,
        table=f"(SELECT * FROM {source.table} WHERE {condition})",
        once=source.once or source.table,
        dropped=(*source.dropped, (reason, f"(SELECT * FROM {source.table} WHERE NOT ({condition}))")),
    )
    if source.format == "frame":
        return replace(remaining, first_table=f"(SELECT * FROM {source.first_table} WHERE {condition})")
    return remaining


def _drop_missing(source: Source, config: AuditConfig) -> Source:
    """Return the rows that have a decision and, where there is a label, a label."""
    names = list(config.scores or ("score",))
    label = config.label or find_usual_label(source)
    if label is not None and label not in names:
        names.append(label)
    columns = [find_column(source, name, "label" if name == label else "score") for name in names]
    has_value = [f"coalesce({source.in_sql[column].expression('trimmed')}, '') <> ''" for column in columns]
    missing = " or ".join(names)
    complete = _leave_out(source, " AND ".join(has_value), f"{WITHOUT}{missing}; who they are may matter")
    if not complete.row("SELECT 1 FROM predictions LIMIT 1"):
        raise user_error(f"{missing} is missing in every row", "name another column", Flag("drop-missing"))
    return complete


def _add_period(source: Source, name: str, config: AuditConfig) -> Source:
    """Return the rows with the week, month, quarter or year of a date, if ``date:month`` asks for it.

    Dates are written as 2025-01-31, perhaps with a time, or as 31.1.2025; an empty one has no period.

    Raises
    ------
    UserError
        For a cell that is no such date.
    """
    date_name, _, period = name.rpartition(":")
    if not date_name or name in source.column_index:
        return source
    if period not in PERIODS:
        if date_name not in source.column_index:
            return source
        fix = f"write one of: {', '.join(f'{date_name}:{known}' for known in PERIODS)}"
        raise user_error(f"{format_value(period)} is no period", fix, Flag("slice"))
    column = find_column(source, date_name, "slice")
    date, notes = _read_dates(source, column, config)
    period_column = sql.text_column(PERIODS[period].format(date=date))
    return replace(
        source,
        columns=source.columns + (name,),
        in_sql=source.in_sql + (period_column,),
        notes=source.notes + notes,
    )


def _date_sql(text: str, formats: Sequence[str] = ()) -> str:
    """Write a text as a date in SQL; NULL where it is none, or has no four digits of a year."""
    listed = ", ".join(sql.quoted(date + time) for date in chain(DATE_FORMATS, formats) for time in TIMES)
    date = f"coalesce(TRY_CAST({text} AS TIMESTAMP), try_strptime({text}, [{listed}]))"
    return f"CASE WHEN NOT regexp_matches({text}, {sql.quoted(SHORT_YEAR)}) THEN {date} END"


def _serial_date_sql(text: str) -> str:
    """Write a text that is Excel's number of a day as a date in SQL; NULL where it is none."""
    is_day = f"regexp_full_match({text}, {sql.quoted(DAY_NUMBER)})"
    days = f"CAST(floor(TRY_CAST({text} AS DOUBLE)) AS INTEGER)"
    return f"CASE WHEN {is_day} THEN TIMESTAMP '1899-12-30' + to_days({days}) END"


def _read_dates(source: Source, column: int, config: AuditConfig) -> tuple[str, tuple[str, ...]]:
    """Return the dates of a column in SQL, and a note where all rows, or Excel's day numbers, show how.

    Raises
    ------
    UserError
        For a cell that is no date; where day and month may be either, or are not in one order.
    """
    name = source.columns[column]
    cell = f"trimmed_{column}"
    filled = f"{cell} <> ''"
    in_orders = {order: _date_sql(cell, formats) for order, formats in ORDERED_FORMATS.items()}
    date = in_orders.get(config.notation.get(name, "")) or _date_sql(cell)
    notes: tuple[str, ...] = ()
    no_date = f"SELECT 1 FROM predictions WHERE {filled} AND {date} IS NULL LIMIT 1"
    if config.notation.get(name) not in in_orders and source.row(no_date):
        serial = _serial_date_sql(cell)
        fails = [f"count(*) FILTER ({way} IS NULL)" for way in chain((date, serial), in_orders.values())]
        examples = [f"max({cell}) FILTER ({way} IS NULL)" for way in in_orders.values()]
        counted = source.row(f"SELECT {', '.join(fails + examples)} FROM predictions WHERE {filled}")
        n_failing, n_no_serial, n_day, n_month, month_example, day_example = counted
        if n_no_serial < n_failing:
            date = serial
            notes = (f"Excel's numbers of days are read as dates: {name}.",)
        elif min(n_day, n_month) < n_failing:
            order, example = (
                ("day-first", day_example) if n_day <= n_month else ("month-first", month_example)
            )
            date = in_orders[order]
            notes = (f"Dates are read {order}, as {format_value(example)} shows: {name}.",)
            _refuse_unclear_order(source, column, date, in_orders)
    refuse_if(
        source,
        column,
        f"{filled} AND {date} IS NULL",
        "{column} has {value}, not a date, in {count}",
        "write dates as 2025-01-31, or leave the cell empty",
    )
    return date.replace(cell, source.in_sql[column].expression("trimmed")), notes


def _refuse_unclear_order(source: Source, column: int, date: str, in_orders: Mapping[str, str]) -> None:
    """Refuse days and months in two orders, or in either; `date` is in SQL what most cells are."""
    day_first, month_first = in_orders.values()
    refuse_if(
        source,
        column,
        f"{date} IS NULL AND coalesce({day_first}, {month_first}) IS NOT NULL",
        "{column} has {value}, in {count}: its day and month are not in the order of other rows",
        "write dates as 2025-01-31",
    )
    one_order = f"({day_first} IS NULL) <> ({month_first} IS NULL)"
    if not source.row(f"SELECT 1 FROM predictions WHERE {one_order} LIMIT 1"):
        flags = [Flag("notation", (source.columns[column], order)) for order in in_orders]
        refuse_if(
            source,
            column,
            f"{day_first} <> {month_first}",
            "{column} has {value}, and in {count} day or month may stand first",
            ("say which: ", flags[0], " or ", flags[1]),
        )


def _read_ages(source: Source, config: AuditConfig, *, is_baseline: bool) -> Source:
    """Return the rows with birth dates that are cut into bins as ages, in full years on a day.

    Raises
    ------
    UserError
        Where no day is given, or one that has no effect; for a cell that is no date, or of nobody's age.
    """
    names = [
        name for name in config.bins if name in source.column_index and _holds_dates(source, config, name)
    ]
    if not names:
        if config.as_of is not None and not is_baseline:
            problem = "as-of has no effect: no column that is cut holds dates"
            raise user_error(problem, ("name one, ", Flag("bins", ("birth_date", "25,45,65"))), Flag("as-of"))
        return source
    if config.as_of is None:
        problem = f"{format_value(names[0])} holds dates, and ages are counted on a day"
        fix = ("name the day, or a column of days: ", Flag("as-of", "2024-12-31"))
        raise user_error(problem, fix, Flag("bins"))
    day, notes = _day_sql(source, config, config.as_of)
    in_sql = list(source.in_sql)
    for name in names:
        column = source.column_index[name]
        birth, date_notes = _read_dates(source, column, config)
        notes += date_notes
        age = f"CAST(date_sub('year', {birth}, {day}) AS DOUBLE)"
        in_sql[column] = replace(in_sql[column], number=age)
    aged = replace(source, in_sql=tuple(in_sql))
    for name in names:
        column = source.column_index[name]
        refuse_if(
            aged,
            column,
            f"NOT ({sql.blank(column)}) AND coalesce(number_{column} NOT BETWEEN 0 AND {OLDEST}, true)",
            "{column} has {value}, not the birth date of somebody alive on the day of ages, in {count}",
            ("mend it or leave the cell empty, or name another day: ", Flag("as-of")),
        )
    note = f"Ages in full years on {config.as_of}: {join_names(names)}."
    return replace(aged, notes=aged.notes + notes + (note,))


def _holds_dates(source: Source, config: AuditConfig, name: str) -> bool:
    """Return whether a column that is cut holds dates, by its last cell in the order of texts.

    Numbers of days are dates where the column is called so and it is cut at ages, or on a day.
    """
    column = source.column_index[name]
    cell = f"trimmed_{column}"
    cells = source.row(f"SELECT max({cell}), min({cell}) FROM sample WHERE {cell} <> ''")
    if None in cells:
        return False
    cut = config.bins[name]
    by_age = config.as_of is not None or (isinstance(cut, Edges) and cut.edges[-1] <= OLDEST)
    return any(map(is_date, cells)) or (by_age and are_dates(name, cells))


def _day_sql(source: Source, config: AuditConfig, as_of: str) -> tuple[str, tuple[str, ...]]:
    """Write the day of ages in SQL: that of each row, where it names a column, and notes of its dates."""
    if as_of in source.column_index:
        return _read_dates(source, source.column_index[as_of], config)
    formats = chain.from_iterable(ORDERED_FORMATS.values())
    dates = [_date_sql(sql.quoted(as_of), (date_format,)) for date_format in formats]
    (days,) = source.row(f"SELECT list_distinct([{', '.join(dates)}])")
    if len(days) != 1:
        problem = f"{format_value(as_of)} {'may be two days' if days else 'is no day and no column'}"
        fix = ("write a day, ", Flag("as-of", "2024-12-31"), ", or a column of days")
        raise user_error(problem, fix, Flag("as-of"))
    return f"{sql.quoted(days[0].isoformat())}::TIMESTAMP", ()


def describe_dropped(
    source: Source,
    attributes: Mapping[str, int],
    bins: Mapping[str, NumberBins],
    sizes: Mapping[str, Mapping[str, int]],
) -> list[str]:
    """Return the notes on the rows that were left out, with their share of each group.

    Parameters
    ----------
    source : Source
    attributes : dict of name to column
        Those that are audited.
    bins : dict of name to NumberBins
        Of the attributes that are cut.
    sizes : dict of name to dict of group to int
        The rows that stayed.
    """
    notes = []
    tables = []
    for reason, table in source.dropped:
        (n_rows,) = replace(source, table=table).row("SELECT count(*) FROM predictions")
        if n_rows:
            notes.append(f"Left out: {format_count(n_rows, 'row')} {reason}.")
            tables.append(f"SELECT * FROM {table}")
        elif reason.startswith(WITHOUT):
            lacking = reason.removeprefix(WITHOUT).partition(";")[0]
            notes.append(f"No row was left out: none lacks {lacking}.")
        else:
            notes.append(f"No row was left out: there is none {reason}.")
    if not tables:
        return notes
    dropped = replace(source, table=f"({' UNION ALL '.join(tables)})")
    for name, column in attributes.items():
        if name in bins:
            key = bin_sql(column, bins[name])
        else:
            key = sql.text(column)
        counted = dropped.rows(
            f"SELECT {key} AS level, count(*) FROM predictions GROUP BY level ORDER BY 2 DESC, 1"
        )
        texts = []
        for level, n in counted[:MOST_GROUPS_LISTED]:
            if name not in bins:
                group = level
            elif level is None:
                group = MISSING
            else:
                group = bins[name].labels[level]
            n_all = n + sizes[name].get(group, 0)
            texts.append(f"{group} {n:,} of {n_all:,} ({format_percent(n / n_all)})")
        if len(counted) > MOST_GROUPS_LISTED:
            texts.append("…")
        notes.append(f"{name}, left out: {', '.join(texts)}.")
    return notes


def _read_written_numbers(source: Source, config: AuditConfig) -> Source:
    """Return the rows with numbers such as "23,3" or "$1,234" read, where the first rows leave no doubt.

    Cells below that are written otherwise are no numbers; what needs them looks at all rows then.
    """
    texts = [
        column for column, name in enumerate(source.columns) if name and source.in_sql[column].form == "text"
    ]
    in_sql = list(source.in_sql)
    read: dict[str, list[str]] = {}
    unclear: dict[str, list[str]] = {}
    for column in _columns_with_signs(source, texts, config):
        name = source.columns[column]
        cells = source.rows(
            f"SELECT DISTINCT trimmed_{column} AS cell FROM sample WHERE cell <> '' ORDER BY 1"
        )
        writing = number_writing.find_writing((cell for (cell,) in cells), config.number_notation(name))
        if isinstance(writing, number_writing.NumberDoubt):
            unclear.setdefault(writing.note, []).append(name)
        elif writing is not None and writing != number_writing.PLAIN:
            in_sql[column] = sql.with_writing(in_sql[column], writing)
            if writing.example and not writing.example.endswith("%"):
                read.setdefault(writing.note, []).append(name)
    notes = [f"{note}: {join_names(names)}." for note, names in chain(read.items(), unclear.items())]
    return replace(source, in_sql=tuple(in_sql), notes=source.notes + tuple(notes))


def _columns_with_signs(source: Source, texts: Sequence[int], config: AuditConfig) -> list[int]:
    """Return the columns of texts that may write numbers with signs: a comma, a currency, blanks.

    Other signs than commas are looked for in very few cells; where they are needed all cells are looked at.
    """
    signed = set(columns_with(source, texts, "contains({cell}, ',') AND regexp_matches({cell}, ',[0-9]')"))
    without_commas = [column for column in texts if column not in signed]
    for some_columns in in_batches(without_commas, FEW_COLUMNS):
        cells = ", ".join(f"text_{column}" for column in some_columns)
        for row in source.rows(f"SELECT {cells} FROM sample LIMIT {FEW_ROWS}"):
            signed.update(
                column
                for column, cell in zip(some_columns, row, strict=True)
                if cell and number_writing.has_signs(cell.strip(sql.BLANKS))
            )
    return [column for column in texts if column in signed or source.columns[column] in config.notation]


def _read_whole_numbers(source: Source) -> Source:
    """Return the rows with "1.0" written as 1 in the columns that have nothing but such numbers.

    So are whole numbers written that are stored as real ones, as pandas does where some are missing.
    """
    columns = [
        column for column, name in enumerate(source.columns) if name and source.in_sql[column].form != "whole"
    ]
    in_sql = list(source.in_sql)
    candidates = columns_with(source, columns, "ends_with({cell}, '.0')")
    for some_columns in source.in_batches(candidates):
        expressions = []
        for column in some_columns:
            cell = f"trimmed_{column}"
            expressions.append(f"bool_and({cell} = '' OR regexp_full_match({cell}, '{WHOLE_AS_REAL}'))")
        answers = source.row(f"SELECT {', '.join(expressions)} FROM sample")
        for column, all_whole in zip(some_columns, answers, strict=True):
            if all_whole:
                text = f"regexp_replace({in_sql[column].text}, '^\\s*{WHOLE_AS_REAL}\\s*$', '\\1')"
                in_sql[column] = replace(in_sql[column], text=text, group=text)
    return replace(source, in_sql=tuple(in_sql))


def columns_with(source: Source, columns: Sequence[int], condition: str) -> list[int]:
    """Return the columns of which a cell among the first rows meets a condition on ``{cell}``."""
    meeting: set[int] = set()
    texts = source.texts_of(columns)
    if texts:
        cells = source.cells_of(texts, "sample")
        query = f"SELECT DISTINCT place FROM {cells} WHERE {condition.format(cell='text')}"
        meeting.update(place for (place,) in source.rows(query))
    seen_together = set(texts)
    other_columns = [column for column in columns if column not in seen_together]
    for some_columns in source.in_batches(other_columns):
        counts = [f"bool_or({condition.format(cell=f'text_{column}')})" for column in some_columns]
        answers = source.row(f"SELECT {', '.join(counts)} FROM sample")
        meeting.update(column for column, answer in zip(some_columns, answers, strict=True) if answer)
    return [column for column in columns if column in meeting]
