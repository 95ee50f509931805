"""The outputs of an audit by name: what `--format` prints, and what a folder holds. A new one is a line here.

Each is a function of a `Report` that returns text, named here and loaded when it is used.
"""

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_files

if TYPE_CHECKING:
    from fairbench_cli.audit.compare.report import Report

_HERE = "fairbench_cli.audit.show"
# Name: the file in a folder, None where only asked for by name, and the function.
FORMATS: dict[str, tuple[str | None, str]] = {
    "csv": ("disparities.csv", f"{_HERE}.tables:disparities_csv"),
    "groups": ("groups.csv", f"{_HERE}.tables:groups_csv"),
    "verdicts": ("audit.csv", f"{_HERE}.tables:verdicts_csv"),
    "json": ("audit.json", f"{_HERE}.tables:to_json"),
    "ci": ("ci.json", f"{_HERE}.tables:to_ci"),
    "markdown": ("audit.md", f"{_HERE}.document:to_markdown"),
    "html": ("audit.html", f"{_HERE}.document:to_html"),
    "github": (None, f"{_HERE}.ci_formats:to_github"),
    "junit": (None, f"{_HERE}.ci_formats:to_junit"),
    "sarif": (None, f"{_HERE}.ci_formats:to_sarif"),
}
FILES = tuple(file for file, _ in FORMATS.values() if file is not None)
IMPACT = "impact-ratios.csv"
VERDICTS = ("csv", "verdicts")  # say what passes and fails


def write(report: "Report", name: str) -> str:
    """Return a report in the format called `name`; `KeyError` when there is none.

    Where nothing passes or fails, ``csv`` has the impact ratios, and there are no verdicts to return.

    Raises
    ------
    UserError
        For verdicts where there are none.
    """
    if report.without_verdict and name == "verdicts":
        problem = f"preset {report.config.preset} has no pass mark, so there are no verdicts"
        raise user_error(problem, "print the impact ratios: --format csv", "--format")
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
            texts[file] = write(report, name)
    extra_tables = [name for name in tables_of(report) if name not in TABLES]
    texts |= {file_of(name): to_csv(report, name) for name in extra_tables}
    write_files(folder, texts)
    for part, _ in parts_of(report):
        for name in part.tables:
            if name not in TABLES and file_of(name) not in texts:
                (folder / file_of(name)).unlink(missing_ok=True)
    return list(texts)
