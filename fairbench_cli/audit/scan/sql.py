"""Cells in SQL: as text, a number, 0 or 1, the name of a group; and what is none of these."""

from dataclasses import dataclass, replace
from typing import Literal

from fairbench_cli.audit.config import MISSING
from fairbench_cli.data.number_writing import NumberWriting

BLANKS = " \t\r\n\v\f\u00a0\ufeff"
LARGEST = "1e100"  # of numbers in cells: the squares of larger ones soon are infinite
WHOLE = 2**53  # whole numbers from here on may lose their last digit as a DOUBLE
LIGHTEST = "1e-100"  # of weights above 0: the squares of lighter ones soon are 0


def identifier(name: str) -> str:
    """Write the name of a table or column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def blank(column: int) -> str:
    """Write in SQL that a cell is empty."""
    return f"coalesce(trimmed_{column}, '') = ''"


def text(column: int) -> str:
    """Write a cell as the name of a group in SQL: trimmed, `MISSING` when it is empty."""
    return f"coalesce(nullif(trimmed_{column}, ''), '{MISSING}')"


def literal(value: float) -> str:
    """Write a number in SQL, exactly."""
    return f"'{value!r}'::DOUBLE"


def word(column: int) -> str:
    """Write in SQL that a cell holds text that is no number."""
    return f"(trimmed_{column} <> '' AND number_{column} IS NULL)"


def not_finite(value: str) -> str:
    """Write in SQL that a number is missing, not a number, infinite or larger than `LARGEST`."""
    return f"({value} IS NULL OR NOT abs({value}) <= {LARGEST})"


def no_number(column: int) -> str:
    """Write in SQL that a cell holds something, and no finite number up to `LARGEST`."""
    return f"NOT ({blank(column)}) AND {not_finite(f'number_{column}')}"


def not_weight(value: str) -> str:
    """Write in SQL that a number is no weight: 0, or from `LIGHTEST` to `LARGEST`."""
    return f"({not_finite(value)} OR {value} < 0 OR ({value} > 0 AND {value} < {LIGHTEST}))"


def code(column: int, bad: int) -> str:
    """Write a 0/1 cell in SQL: 0, 1, or `bad`."""
    return f"coalesce(code_{column}, {bad})"


def zero_or_one(cell: str) -> str:
    """Write a text as 0, 1 or NULL in SQL; only odd cells are trimmed, for ``trimmed_3`` would be of all."""
    without_blanks = trimmed(cell)
    value = f"TRY_CAST({without_blanks} AS DOUBLE)"
    return (
        f"CASE WHEN {cell} = '0' OR {cell} = '0.0' THEN 0 WHEN {cell} = '1' OR {cell} = '1.0' THEN 1 "
        f"WHEN lower({without_blanks}) IN ('true', '1,0') THEN 1 "
        f"WHEN lower({without_blanks}) IN ('false', '0,0') THEN 0 "
        f"WHEN {value} = 1 THEN 1 WHEN {value} = 0 THEN 0 END"
    )


def trimmed(text: str) -> str:
    """Write a text without the blanks around it in SQL."""
    return f"trim({text}, {' || '.join(f'chr({ord(blank)})' for blank in BLANKS)})"


def exact_number(column: "ColumnSql") -> str:
    """Write the number of a cell in SQL; NULL where it is a whole one that a DOUBLE may not hold."""
    if column.form == "real":
        return column.number
    small = f"abs({column.number}) < {WHOLE}"
    digits = f"regexp_full_match({column.text}, '\\s*[+-]?[0-9]+([.]0*)?\\s*')"
    if column.form == "text":  # most are short, which costs less to see
        small = f"strlen({column.text}) < {len(str(WHOLE))} THEN {column.number} WHEN {small}"
    return f"CASE WHEN {small} THEN {column.number} WHEN {digits} THEN NULL ELSE {column.number} END"


@dataclass(frozen=True)
class ColumnSql:
    """A column in SQL: its text, a number, 0 or 1, what rows of one text share, whether it holds bytes.

    `form` says what it holds: text, whole numbers, or real ones; `writing` how numbers are written in text,
    where these are not plain.
    """

    text: str
    number: str
    code: str
    group: str
    binary: bool = False
    form: Literal["text", "whole", "real"] = "text"
    writing: NumberWriting | None = None

    def expression(self, kind: str) -> str:
        """Write what queries call text, trimmed, number, code or group."""
        if kind == "trimmed":
            return trimmed(self.text)
        return str(getattr(self, kind))


def text_column(text: str) -> ColumnSql:
    """Return a column of texts in SQL.

    The sum keeps DuckDB 2.0 from reading the column as numbers, which fails where one is none. It also makes
    -0.0 to 0.0.
    """
    return ColumnSql(text, f"TRY_CAST({text} AS DOUBLE) + 0.0", zero_or_one(text), text)


def written_number(text: str, writing: NumberWriting | None) -> str:
    """Write a trimmed text as a number in SQL, by how its column writes them; NULL where it is none."""
    if writing is None:
        return f"TRY_CAST({text} AS DOUBLE)"
    pattern = quoted(writing.pattern)
    if writing.notation == "second":
        digits = f"regexp_extract({text}, {pattern}, 1)"
    else:
        digits = f"regexp_replace({text}, {quoted(writing.removed)}, '', 'g')"
    digits = f"replace(replace({digits}, ',', '.'), '\u2212', '-')"
    return f"CASE WHEN regexp_full_match({text}, {pattern}) THEN TRY_CAST({digits} AS DOUBLE) + 0.0 END"


def with_writing(column: ColumnSql, writing: NumberWriting) -> ColumnSql:
    """Return a column of texts whose numbers are written in a way."""
    number = written_number(column.expression("trimmed"), writing)
    code = f"WHEN ({number}) = 1 THEN 1 WHEN ({number}) = 0 THEN 0 WHEN ({number}) IS NULL THEN {column.code}"
    return replace(column, number=number, code=f"CASE {code} END", writing=writing)


def typed_column(value: str, kind: str) -> ColumnSql:
    """Return a column of any type in SQL; NaN is NULL."""
    if kind in ("DOUBLE", "FLOAT"):
        value = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
    text = f"CAST({value} AS VARCHAR)"
    if kind == "BLOB":  # many Parquet writers call texts that; what is no UTF-8 is shown as \\xC3
        return replace(text_column(f"coalesce(TRY(decode({value})), {text})"), binary=True)
    column = text_column(text)
    if kind == "DOUBLE" or kind.endswith(("INT", "INTEGER")):
        code = f"CASE WHEN {value} = 1 THEN 1 WHEN {value} = 0 THEN 0 END"
        form: Literal["whole", "real"] = "real" if kind == "DOUBLE" else "whole"
        return replace(column, number=f"CAST({value} AS DOUBLE) + 0.0", code=code, form=form)
    if kind.startswith("ENUM"):
        return replace(column, group=value)
    return column
