"""Audits of files as people have them: the clean file's answer, or a stop with the line that mends it.

usage: python benchmarks/messy.py [--files 500] [--seed 0] [--keep FOLDER]

Each file is a clean one that was made messy in one to four ways: other capitals, blanks or dots in some
cells, decimal commas in all numbers of a column or in one, units and currencies, dates in three orders,
missing decisions, a column that comes twice, Latin-1, a byte order mark, other separators, quotes and line
ends, lines above and below the table, words for 0 and 1, 0 for what is good, short forms, rows of totals,
the same people under several models. The audit of it must give the numbers of the clean file's, or stop and
say options that, added as they stand, give them; or have a note with one that does. What differs in silence
is printed, and the exit code is then 1.
"""

import argparse
import csv
import io
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np

from fairbench_cli.cli.app import run as run_command

MOST_ROUNDS = 4
"""Of an audit: of the file as it is, and with what each stop said."""
BLANKS = " \t\u00a0"
GROUPS = {"Gender": ["Female", "Male"], "Ethnic Group": ["Asian", "Black", "White", "Other"]}
WORDS = ["Accepted", "Rejected", "Withdrawn"]


@dataclass
class Table:
    """A file of decisions: its header and cells, and how they are written."""

    header: list[str]
    rows: list[list[str]]
    options: list[str]
    separator: str = ","
    line_end: str = "\n"
    encoding: str = "utf-8"
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    quoting: int = csv.QUOTE_MINIMAL
    ways: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the file."""
        text = io.StringIO()
        writer = csv.writer(
            text, delimiter=self.separator, lineterminator=self.line_end, quoting=self.quoting
        )
        writer.writerows([self.header, *self.rows])
        above, below = (
            self.line_end.join([*lines, ""]) if lines else "" for lines in (self.above, self.below)
        )
        path.write_bytes(f"{above}{text.getvalue()}{below}".encode(self.encoding))

    def column(self, name: str) -> int:
        """Return where a column is."""
        return self.header.index(name)


def make_clean(rng: np.random.Generator) -> Table:
    """Return a clean file of 400 to 1,200 people, with decisions in words, 0 and 1, or scores."""
    n = int(rng.integers(400, 1200))
    gender = rng.choice(GROUPS["Gender"], n)
    race = rng.choice(GROUPS["Ethnic Group"], n, p=[0.2, 0.25, 0.45, 0.1])
    years = rng.gamma(3, 4, n)
    chance = 0.3 + 0.15 * (gender == "Male") - 0.1 * (race == "Black") + 0.01 * (years - 12)
    chosen = rng.random(n) < np.clip(chance, 0.05, 0.95)
    kind = str(rng.choice(["words", "codes", "scores"]))
    options = []
    if kind == "words":
        refused = rng.choice(WORDS[1:], n, p=[0.8, 0.2])
        decision = np.where(chosen, WORDS[0], refused).tolist()
        options = ["--score", "Decision", "--favourable", "Accepted"]
    elif kind == "codes":
        decision = chosen.astype(int).astype(str).tolist()
        options = ["--score", "Decision"]
    else:
        decision = [f"{value:.2f}" for value in np.clip(chance + rng.normal(0, 0.2, n), 0, 1)]
        options = ["--score", "Decision", "--threshold", "0.5"]
    if kind == "codes" and rng.random() < 0.5:
        return count_people(gender, race, decision)
    born = np.datetime64("1955-01-01") + rng.integers(0, 365 * 45, n)
    columns = [
        [f"A{i:05d}" for i in range(n)],
        gender.tolist(),
        race.tolist(),
        [f"{value:.1f}" for value in years],
        born.astype(str).tolist(),
        decision,
    ]
    header = ["Applicant ID", *GROUPS, "Years", "Date of birth", "Decision"]
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    cuts = ["--bins", "Years=3", "--bins", "Date of birth=30,50", "--as-of", "2025-06-30"]
    return Table(header, rows, [*options, *cuts])


def count_people(gender: np.ndarray, race: np.ndarray, decision: list[str]) -> Table:
    """Return a file of counts: a row for each combination of groups and decision."""
    counts = Counter(zip(gender.tolist(), race.tolist(), decision, strict=True))
    rows = [[*cells, str(n)] for cells, n in sorted(counts.items())]
    return Table([*GROUPS, "Decision", "People"], rows, ["--score", "Decision", "--counts", "People"])


def edit_cells(
    table: Table, rng: np.random.Generator, name: str, edit: Callable[[str], str], share: float
) -> None:
    """Change a share of a column's cells."""
    if name not in table.header:
        return
    column = table.column(name)
    for row in table.rows:
        if rng.random() < share:
            row[column] = edit(row[column])


def text_columns(table: Table) -> list[str]:
    """Return the columns of words."""
    columns = list(GROUPS)
    if "--favourable" in table.options:
        columns.append("Decision")
    return columns


def change_capitals(table: Table, rng: np.random.Generator) -> None:
    """Write some cells of a column in small letters."""
    edit_cells(table, rng, str(rng.choice(text_columns(table))), str.lower, 0.3)


def add_blanks(table: Table, rng: np.random.Generator) -> None:
    """Write blanks around some words."""
    blanks = str(rng.choice([" ", "  ", "\t", "\u00a0"]))
    for name in text_columns(table):
        edit_cells(table, rng, name, lambda cell: f"{blanks}{cell} ", 0.2)


def add_dots(table: Table, rng: np.random.Generator) -> None:
    """Write a dot behind some words of a column."""
    edit_cells(table, rng, str(rng.choice(text_columns(table))), lambda cell: f"{cell}.", 0.2)


def add_unseen(table: Table, rng: np.random.Generator) -> None:
    """Write a character of no width into some groups."""
    edit_cells(table, rng, "Ethnic Group", lambda cell: f"{cell[0]}\u200b{cell[1:]}", 0.1)


def use_decimal_commas(table: Table, rng: np.random.Generator) -> None:
    """Write numbers as a European spreadsheet does."""
    table.separator = ";"
    for name in ("Years", "Decision"):
        edit_cells(table, rng, name, lambda cell: re.sub(r"^(\d+)\.(\d+)$", r"\1,\2", cell), 1.0)


def drop_decisions(table: Table, rng: np.random.Generator) -> None:
    """Leave some decisions out."""
    edit_cells(table, rng, "Decision", lambda _cell: "", 0.04)


def double_column(table: Table, rng: np.random.Generator) -> None:
    """Add two columns of one name, with text that has separators and quotes."""
    table.header += ["Remark", "Remark"]
    remarks = rng.choice(["seen", 'again; "quoted", and more'], len(table.rows))
    for row, remark in zip(table.rows, remarks, strict=True):
        row += [str(remark), "-"]


def write_otherwise(table: Table, rng: np.random.Generator) -> None:
    """Write the file with a byte order mark, in Windows' way, with tabs, or in Latin-1."""
    way = rng.choice(["mark", "windows", "tabs", "latin"])
    if way == "mark":
        table.encoding = "utf-8-sig"
    elif way == "windows":
        table.line_end = "\r\n"
        table.quoting = csv.QUOTE_ALL
    elif way == "tabs":
        table.separator = "\t"
    else:
        table.encoding = "latin-1"
        edit_cells(table, rng, "Applicant ID", lambda cell: f"{cell}é", 1.0)
        for row in table.rows:
            row[:] = [cell.replace("\u200b", "") for cell in row]


def use_words_for_codes(table: Table, rng: np.random.Generator) -> None:
    """Write 0 and 1 as words, or with a decimal."""
    words = {"0": str(rng.choice(["false", "0.0"])), "1": str(rng.choice(["true", "1.0", "TRUE"]))}
    edit_cells(table, rng, "Decision", lambda cell: words.get(cell, cell), 0.5)


def shorten_groups(table: Table, rng: np.random.Generator) -> None:
    """Write the first letter of some groups alone."""
    edit_cells(table, rng, "Gender", lambda cell: cell.strip(BLANKS)[0], 0.2)


def change_one_decimal(table: Table, rng: np.random.Generator) -> None:
    """Write one number with a decimal comma."""
    name = str(rng.choice(["Years", "Decision"]))
    if name in table.header:
        row = table.rows[int(rng.integers(len(table.rows)))]
        column = table.column(name)
        row[column] = re.sub(r"^(\d+)\.(\d+)$", r"\1,\2", row[column])


def add_units(table: Table, rng: np.random.Generator) -> None:
    """Write numbers as people write amounts."""
    ways = ("${}", "{} €", "EUR {}", "USD {}", "£ {}", "{} CHF")
    way = str(rng.choice(ways))
    edit_cells(table, rng, "Years", way.format, 1.0)


def change_dates(table: Table, rng: np.random.Generator) -> None:
    """Write dates in another order, or as the numbers of a spreadsheet."""
    way = str(rng.choice(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "serial"]))

    def write(cell: str) -> str:
        day = date.fromisoformat(cell)
        return str((day - date(1899, 12, 30)).days) if way == "serial" else day.strftime(way)

    edit_cells(table, rng, "Date of birth", write, 1.0)


def add_lines(table: Table, rng: np.random.Generator) -> None:
    """Write lines above and below the table: a title, remarks, where it is from."""
    above = (
        ["Hiring report, 2025", ""],
        ["# written by a program", "# on a Monday"],
        ["Report", "All sites"],
    )
    table.above = list(above[int(rng.integers(len(above)))])
    if table.separator == ";" and rng.random() < 0.3:
        table.above = ["sep=;"]
    if rng.random() < 0.4:
        table.below = ["", "Source: the office of staff"]


def say_who_is_refused(table: Table, _rng: np.random.Generator) -> None:
    """Write 1 for those who are refused, in a column that is called so, and audit by a rule for hiring."""
    if {row[table.column("Decision")] for row in table.rows} <= {"0", "1"}:
        column = table.column("Decision")
        table.header[column] = "Rejected"
        for row in table.rows:
            row[column] = str(1 - int(row[column]))
        table.options = ["Rejected" if option == "Decision" else option for option in table.options]
        table.options += ["--decision", "assistive"]


def add_totals(table: Table, rng: np.random.Generator) -> None:
    """Write a row for each decision that has everybody of all groups."""
    if "People" in table.header:
        name = str(rng.choice(["Total", "All", "Everybody"]))
        column = table.column("People")
        for decision in sorted({row[2] for row in table.rows}):
            people = sum(int(row[column]) for row in table.rows if row[2] == decision)
            table.rows.append([name, name, decision, str(people)])


def stack_models(table: Table, rng: np.random.Generator) -> None:
    """Write the same people again, as a second model decides on them."""
    if "People" not in table.header:
        name = str(rng.choice(["seed", "model", "fold", "Run"]))
        table.header.append(name)
        table.rows = [[*row, str(copy)] for copy in (1, 2) for row in table.rows]


WAYS = (
    change_capitals,
    add_blanks,
    add_dots,
    add_unseen,
    use_decimal_commas,
    drop_decisions,
    double_column,
    write_otherwise,
    use_words_for_codes,
    shorten_groups,
    change_one_decimal,
    add_units,
    change_dates,
    add_lines,
    say_who_is_refused,
    add_totals,
    stack_models,
)


def make_messy(clean: Table, rng: np.random.Generator) -> Table:
    """Return a file that was made messy in one to four ways."""
    messy = replace(clean, header=list(clean.header), rows=[list(row) for row in clean.rows], ways=[])
    messy.options = list(clean.options)
    ways = rng.choice(len(WAYS), int(rng.integers(1, 5)), replace=False)
    for index in sorted(ways):
        WAYS[index](messy, rng)
        messy.ways.append(WAYS[index].__name__)
    return messy


def audit(path: Path, options: list[str]) -> tuple[int, str, str]:
    """Return the exit code of an audit as JSON, its output and what it said."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            code = run_command(["audit", str(path), "--format", "json", *options])
        except Exception as error:
            return -1, "", f"{type(error).__name__}: {error}"
    return code, output.getvalue(), errors.getvalue()


def numbers_of(text: str) -> list[tuple[object, ...]]:
    """Return the counts of every group in an audit's JSON, in any order and without spellings of names."""
    report = json.loads(text)
    rows = []
    for group in report["groups"]:
        name = str(group["group"]).casefold().strip(" .").replace("\u200b", "")
        rows.append((group["attribute"], name, json.dumps(group["counts"], sort_keys=True)))
    return sorted(set(rows))  # the same people under several models are alike


def mended_options(options: list[str], said: str) -> list[str]:
    """Return the options of the last line, or else with what the only fix says; the same where none does."""
    *_, last_line = said.splitlines() or [""]
    if "at once:" in said:
        return shlex.split(last_line)[5:]
    match = re.search(r"fix: .*?(--[^;]+)", said)
    if match is None:
        return options
    words = shlex.split(match[1].split(" or ")[0].strip())[:2]
    if words[0] == "--favourable" and words[0] in options:
        changed = list(options)
        changed[changed.index(words[0]) + 1] = words[1]
        return changed
    return options + words


def judge(clean: Table, messy: Table, folder: Path) -> tuple[str, str]:
    """Return what became of a messy file, and why.

    It is the "same", "mended" by options that were said, "mended by a note", "stopped" or "SILENT".
    """
    messy.write(folder / "messy.csv")
    keep = [row[clean.column("Decision")].strip() != "" for row in messy.rows]
    # Rows that were added come last.
    expected_rows = [row for row, is_kept in zip(clean.rows, keep, strict=False) if is_kept]
    replace(clean, rows=expected_rows).write(folder / "clean.csv")
    code, text, said = audit(folder / "clean.csv", clean.options)
    if code != 0:
        return "SILENT", f"the clean file is refused: {said}"
    expected = numbers_of(text)
    options = list(messy.options)
    for _ in range(MOST_ROUNDS):
        code, text, said = audit(folder / "messy.csv", options)
        if code == 0:
            break
        mended = mended_options(options, said)
        if mended == options:
            is_said = "fix: " in said
            return ("stopped" if is_said else "SILENT"), said
        options = mended
    else:
        return "SILENT", f"no end: {options}: {said}"
    if numbers_of(text) == expected:
        return ("same" if options == messy.options else "mended"), " ".join(options)
    while code == 0:
        notes = "\n".join(json.loads(text)["notes"])
        recodes = re.findall(r"--recode '([^']+)'", notes)
        if not recodes:
            break
        for recode in recodes:
            options += ["--recode", recode]
        code, text, said = audit(folder / "messy.csv", options)
        if code == 0 and numbers_of(text) == expected:
            return "mended by a note", " ".join(options)
    return "SILENT", f"{options}\n{said}{notes}"


def main() -> int:
    """Try files; print how many came to what, and each that differs in silence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        for number in range(arguments.files):
            rng = np.random.default_rng([arguments.seed, number])
            clean = make_clean(rng)
            messy = make_messy(clean, rng)
            outcome, why = judge(clean, messy, folder)
            outcomes[outcome] += 1
            if outcome == "SILENT":
                print(f"file {number}, {', '.join(messy.ways)}: {why}")
            elif outcome == "stopped":
                outcomes[f"stopped: {re.sub(r'[0-9]+', 'N', why.splitlines()[-1].strip())[:70]}"] += 1
    for outcome, n in outcomes.most_common():
        print(f"{n:6,} {outcome}")
    return int(outcomes["SILENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
