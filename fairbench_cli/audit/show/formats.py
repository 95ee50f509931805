"""The outputs of an audit by name: what `--format` prints, and what a folder holds. A new one is a line here.

Each is a function of a `Report` that returns text, named here and loaded when it is used.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_files

if TYPE_CHECKING:
    from fairbench_cli.audit.judge.report import Report

# Name: the file in a folder, the function (and after a colon what it takes next to the report).
FORMATS: dict[str, tuple[str, str]] = {
    "csv": ("disparities.csv", "tables:to_csv:disparities"),
    "groups": ("groups.csv", "tables:to_csv:groups"),
    "verdicts": ("audit.csv", "tables:to_csv:verdicts"),
    "json": ("audit.json", "tables:to_json"),
    "markdown": ("audit.md", "html:to_markdown"),
    "html": ("audit.html", "html:to_html"),
}
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
    module, called, *more = FORMATS[name][1].split(":")
    if report.without_verdict and name == "verdicts":
        what = f"preset {report.config.preset} has no pass mark, so there are no verdicts"
        raise user_error(what, "print the impact ratios: --format csv", "--format")
    if report.without_verdict and name == "csv":
        more = ["impact"]
    text: str = getattr(import_module(f"fairbench_cli.audit.show.{module}"), called)(report, *more)
    return text


def file_of(table: str) -> str:
    """Return the file of a table that not every report has.

    >>> file_of("scores"), file_of("impact")
    ('scores.csv', 'impact-ratios.csv')
    """
    return IMPACT if table == "impact" else f"{table}.csv"


def write_folder(report: "Report", folder: Path) -> None:
    """Write a file of every format, and one of impact ratios, changes and each table of curves if any.

    What is in the folder under other names stays.

    Raises
    ------
    UserError
        When a file cannot be written; then none is.
    """
    from fairbench_cli.audit.show.tables import TABLES, tables_of, to_csv

    left_out = VERDICTS if report.without_verdict else ()
    texts = {file: write(report, name) for name, (file, _) in FORMATS.items() if name not in left_out}
    more = [name for name in tables_of(report) if name not in TABLES]
    texts |= {file_of(name): to_csv(report, name) for name in more}
    write_files(folder, texts)
