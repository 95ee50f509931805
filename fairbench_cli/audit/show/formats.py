"""The outputs of an audit: what `--format` prints, what a folder holds, what `-o FILE` writes.

A new one is a line here.

Each is a function of a `Report` that returns text, named here and loaded when it is used.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import make_folder, write_files, write_text
from fairbench_cli.base.safe_text import format_path

if TYPE_CHECKING:
    from fairbench_cli.audit.compare.report import Report

_HERE = "fairbench_cli.audit.show"
# Name: the file in a folder, None where only asked for by name, and the function.
FORMATS: dict[str, tuple[str | None, str]] = {
    "csv": ("disparities.csv", f"{_HERE}.tables:disparities_csv"),
    "groups": ("groups.csv", f"{_HERE}.tables:groups_csv"),
    "verdicts": ("audit.csv", f"{_HERE}.tables:verdicts_csv"),
    "json": ("audit.json", f"{_HERE}.tables:to_json"),
    "finished": (None, f"{_HERE}.tables:to_finished_json"),
    "ci": ("ci.json", f"{_HERE}.tables:to_ci"),
    "markdown": ("audit.md", f"{_HERE}.document:to_markdown"),
    "html": ("audit.html", f"{_HERE}.document:to_html"),
    "github": (None, f"{_HERE}.ci_formats:to_github"),
    "junit": (None, f"{_HERE}.ci_formats:to_junit"),
    "sarif": (None, f"{_HERE}.ci_formats:to_sarif"),
}
ENDINGS = {".xml": "junit", ".sarif": "sarif", ".htm": "html", ".pdf": "pdf"}
"""What a file is by its ending; the endings of a folder's files mean the first format that has one."""
FOLDER = "folder"
LONGEST_ENDING = 8  # longer ones, and those with other signs than letters, are part of a folder's name
FILES = tuple(file for file, _ in FORMATS.values() if file is not None)
IMPACT = "impact-ratios.csv"
VERDICTS = ("csv", "verdicts")  # say what passes and fails
OF_NUMBERS = {"csv": "numbers", "groups": "number_groups"}
"""The tables of an audit of numbers that these formats are by themselves; a folder has both."""


def write(report: "Report", name: str) -> str:
    """Return a report in the format called `name`; `KeyError` when there is none.

    Where nothing passes or fails, ``csv`` has the impact ratios, and there are no verdicts to return. Of an
    audit of numbers ``csv`` has the comparisons of numbers.

    Raises
    ------
    UserError
        For verdicts where there are none.
    """
    if report.without_verdict and name == "verdicts":
        problem = f"preset {report.config.preset} has no pass mark, so there are no verdicts"
        raise user_error(problem, "print the impact ratios: --format csv", "--format")
    if report.config.of_numbers and name in OF_NUMBERS:
        from fairbench_cli.audit.show.tables import to_csv

        return to_csv(report, OF_NUMBERS[name])
    return _render(report, name)


def _render(report: "Report", name: str) -> str:
    """Return a report by the function of a format."""
    text: str = resolve_name(FORMATS[name][1])(report)
    return text


def file_of(table: str) -> str:
    """Return the file of a table that not every report has.

    >>> file_of("scores"), file_of("impact")
    ('scores.csv', 'impact-ratios.csv')
    """
    if table == "impact":
        return IMPACT
    return f"{table}.csv"


def parse_output(output: str, kinds: Mapping[str, str]) -> str:
    """Return the kind of an output by its name: that of a file of such a name or ending, or a folder.

    Parameters
    ----------
    kinds : mapping
        What a file is, by its name or by its ending.

    Raises
    ------
    UserError
        For an ending that no file has.

    >>> parse_output("out/page.html", {".html": "html"}), parse_output("v1.2", {}), parse_output("a.md/", {})
    ('html', 'folder', 'folder')
    """
    path = Path(output)
    ending = path.suffix.lower()
    kind = kinds.get(path.name.lower()) or kinds.get(ending)
    if output.endswith(("/", os.sep)) or path.is_dir() or not ending:
        return FOLDER
    if kind is not None:
        return kind
    if not ending[1:].isalpha() or len(ending) > LONGEST_ENDING:
        return FOLDER
    endings = ", ".join(name for name in kinds if name.startswith("."))
    fix = f"end its name in one of {endings}; or, of a folder, in /"
    raise user_error(f"no format is known for {format_path(path)}", fix, "--output")


def list_kinds() -> dict[str, str]:
    """Return the format, or table, of a file of an audit by its name in a folder and by its ending."""
    from fairbench_cli.audit.show.tables import optional_tables

    kinds = {}
    for name, (file, _) in FORMATS.items():
        if file is not None:
            kinds[file] = name
            kinds.setdefault(Path(file).suffix, name)
    for table in optional_tables():
        kinds[file_of(table)] = table
    return kinds | ENDINGS


def write_output(report: "Report", output: str) -> list[str]:
    """Write what an output's name asks for, a folder or one file, and return the names of the files.

    Raises
    ------
    UserError
        When the report has no such table, or it cannot be written.
    """
    from fairbench_cli.audit.show.aequitas import write_compat
    from fairbench_cli.audit.show.document import write_pdf
    from fairbench_cli.audit.show.tables import tables_of, to_csv

    kind = parse_output(output, list_kinds())
    path = Path(output)
    if kind == FOLDER:
        write_files_of = write_compat if report.config.preset == "aequitas" else write_folder
        return list(write_files_of(report, path))
    make_folder(path.parent)
    if kind == "pdf":
        write_pdf(report, path)
    elif kind in FORMATS:
        write_text(path, write(report, kind))
    elif kind in tables_of(report):
        write_text(path, to_csv(report, kind))
    else:
        fix = "ask for it, or write another file"
        raise user_error(f"this audit has no table {format_path(file_of(kind))}", fix, "--output")
    return [path.name]


def write_folder(report: "Report", folder: Path) -> list[str]:
    """Write a file of every format that has one, and one of each table that not every report has.

    The names of the files are returned.

    Where this audit looked for what makes a table, and found nothing, an older file of it goes. What is in
    the folder under other names stays.

    Raises
    ------
    UserError
        When a file cannot be written; then none is.
    """
    from fairbench_cli.audit.parts import parts_of
    from fairbench_cli.audit.show.tables import TABLES, tables_of, to_csv

    texts = {}
    for name, (file, _) in FORMATS.items():
        if file is not None and not (report.without_verdict and name in VERDICTS):
            texts[file] = _render(report, name)
    extra_tables = [name for name in tables_of(report) if name not in TABLES]
    texts |= {file_of(name): to_csv(report, name) for name in extra_tables}
    write_files(folder, texts)
    for part, _ in parts_of(report):
        for name in part.tables:
            if name not in TABLES and file_of(name) not in texts:
                (folder / file_of(name)).unlink(missing_ok=True)
    return list(texts)
