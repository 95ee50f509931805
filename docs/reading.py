"""The table of what is read in docs/audit.md, made by auditing a small file for each of its lines.

usage: python docs/reading.py

A line says what stands in the file, and what an audit makes of it: that it is read; what is said of it; or
why it stops, with the way on. Nothing of that is written here: these are the words of the audit itself.
"""

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from fairbench_cli.base.stored_files import KINDS
from fairbench_cli.cli.app import run

PAGE = Path(__file__).with_name("audit.md")
START, END = "| in the file | what an audit does |\n|---|---|\n", "\n\n"
PEOPLE = 60
USUAL = ("No label column", "The reference has", "Marked *", "Compared with", "score:")


def table(n=PEOPLE, **columns):
    """Return rows as text: the values of each column come again and again."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([values[i % len(values)] for values in columns.values()] for i in range(n))
    return text.getvalue()


SEX = ["f", "f", "m", "f", "m"]
SCORE = ["1", "0", "0", "1", "1", "0", "1"]
PLAIN = table(score=SCORE, sex=SEX)


def numbers(*cells):
    """Return a file of these numbers, and the options of an audit that cuts them."""
    return table(score=SCORE, sex=SEX, pay=list(cells)), "-a pay --bins pay=2"


def dates(*cells):
    """Return a file of these dates of birth, and the options of an audit of ages."""
    return table(score=SCORE, sex=SEX, born=list(cells)), "-a born --bins born=30,45 --as-of 2025-06-30"


def decisions(*cells, options=""):
    """Return a file of these decisions, and the options that it is audited with."""
    return table(score=list(cells), sex=SEX), f"-a sex {options}"


def groups(*cells, options=""):
    """Return a file of these groups, and the options that it is audited with."""
    return table(score=SCORE, sex=list(cells)), f"-a sex {options}"


LINES = {
    "**tables**": None,
    "semicolons, tabs or bars between cells": (PLAIN.replace(",", ";"), "-a sex"),
    "a title above the table": (f"Hiring report 2025\n\n{PLAIN}", "-a sex"),
    "`# a remark` above it, `sep=,`": (f"# a remark\nsep=,\n{PLAIN}", "-a sex"),
    "a remark below it": (f"{PLAIN}\nSource: the office of staff\n", "-a sex"),
    "two columns of one name": (
        table(score=SCORE, sex=SEX, note=["x"], note2=["y"]).replace("note2", "note"),
        "-a sex",
    ),
    "a letter that is not UTF-8": (PLAIN.replace("f", "Löwin").encode("cp1252"), "-a sex"),
    "**numbers**": None,
    "`23.3`, `-4`, `1e3`": numbers("23.3", "-4", "1e3"),
    "`23,3`, `1.200,5`": numbers("23,3", "1.200,5", "7"),
    "`1,234.56`": numbers("1,234.56", "63,253.88"),
    "`$63,254`, `£ 1,200`": numbers("$63,254", "$1,200"),
    "`63 253,88 EUR`": numbers("63 253,88 EUR", "1 200,5 EUR"),
    "`2.868` and `3,15`": numbers("2.868", "3,15", "2.5"),
    "`0.734` and `1,02`": numbers("0.734", "1,02", "0.5"),
    "nothing but `1,234`, `5,678`": numbers("1,234", "5,678"),
    "`$5` and `€ 6`": numbers("$5", "€ 6"),
    "`63.3k`": numbers("63.3k", "20.1k"),
    "`(1,234)`": numbers("(1,234)", "500.25", "7"),
    "`[0.45 0.55]`": numbers("[0.45 0.55]", "[0.9 0.1]"),
    "**dates**, of ages and of `--slice date:month`": None,
    "`2001-01-31`, `31.1.1974`, `31 Jan 1988`": dates("2001-01-31", "31.1.1974", "31 Jan 1988"),
    "`24/07/1974` and `05/06/2001`": dates("24/07/1974", "05/06/2001"),
    "`07/24/1974` and `05/06/2001`": dates("07/24/1974", "05/06/2001"),
    "`05/06/2001` alone": dates("05/06/2001", "04/03/1974"),
    "`27234`, a spreadsheet's number of a day": dates("27234", "36526"),
    "**decisions and labels**": None,
    "0 and 1, `true` and `false`, `1.0`": decisions("1", "0", "true", "false", "1.0"),
    "`yes` and `no`": decisions("yes", "no", "yes"),
    "`--favourable hired` of three words": decisions(
        "hired", "refused", "withdrawn", options="--favourable hired"
    ),
    "`--favourable 0` of a column `score`": decisions("1", "0", "0", options="--favourable 0"),
    "1 and 2": decisions("1", "2", "2"),
    "codes 1 to 6": decisions(*"123456"),
    "`0.2`, `0.73`": decisions("0.2", "0.73", "0.41"),
    "`73 %`, cut at 0.5": decisions("73 %", "20 %", options="--threshold 0.5"),
    "a threshold of 50 for shares": decisions("0.73", "0.2", options="--threshold 50"),
    "`--top-k 10` where scores are equal": decisions("1", "2", "3", "4", "5", options="--top-k 10"),
    "an empty decision": decisions("1", "0", "", "1"),
    "everybody is selected": decisions("1"),
    "**groups**": None,
    "an empty cell": groups("f", "m", "", "f"),
    "`NA`, `None`, `unknown`": groups("f", "m", "NA"),
    "`1.0` in the file, `--ref sex=1`": groups("1.0", "2.0", "1.0", options="--ref sex=1"),
    "blanks around values": groups("f", " f", "m"),
    "`Female` and `female`, accents, dots, look-alikes": groups("Female", "female", "Male"),
    "`F` beside `Female`": groups("Female", "F", "Male"),
    "a group `Total`": groups("f", "m", "Total", "Total"),
    "**rows**": None,
    "`--keep sex=f,m`": groups("f", "m", "f", "other", options="--keep sex=f,m"),
    "an `id` that comes again": (table(score=SCORE, sex=SEX, id=[f"p{i}" for i in range(50)]), "-a sex"),
    "several values of `model_id`": (table(score=SCORE, sex=SEX, model_id=["1", "2"]), "-a sex"),
}
"""What stands in the file, and a file of it with the options that it is audited with; None heads a part."""


def outcome(content: str | bytes, options: str) -> str:
    """Return what an audit of a file does, in its own words."""
    Path("preds.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        code = run(["audit", "preds.csv", *options.split(), "--format", "json"])
    if code == 2:
        wrong, fix = re.findall(r"error: (.*)\n  fix: (.*)", said.getvalue())[0]
        return f"stops: {wrong}; {fix}"
    notes = [text.rstrip(".") for text in json.loads(printed.getvalue())["notes"]]
    return ". ".join(["is read", *(text for text in notes if not text.startswith(USUAL))])


def lines() -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| **files**, known by their first bytes | |"
    read = [kind.called for kind in KINDS if kind.is_read]
    yield f"| text, JSON, Parquet, SQLite, workbooks, ARFF; {', '.join(read)} | is read |"
    yield "| any of these in gzip, xz, bzip2, or alone in a zip archive | is read |"
    stopping = [kind.called for kind in KINDS if not kind.is_read]
    yield f"| {', '.join(stopping)} | stops, with what makes a CSV of it |"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for title, audited in LINES.items():
            text = "" if audited is None else outcome(*audited)
            yield f"| {title} | {text} |".replace("| |", "|").replace("  ", " ")


def table_of_reading() -> str:
    """Return the lines of the table below its head."""
    return "\n".join(lines())


def main() -> None:
    """Write the table into the page."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(f"{head}{START}{table_of_reading()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
