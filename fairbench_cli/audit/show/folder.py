"""Write an audit into a folder."""

from collections.abc import Callable
from pathlib import Path

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.document import to_json
from fairbench_cli.audit.show.html import to_html
from fairbench_cli.audit.show.markdown import to_markdown
from fairbench_cli.audit.show.tables import disparities_csv, groups_csv, verdicts_csv
from fairbench_cli.files import make_folder, write_text

FILES: dict[str, Callable[[Report], str]] = {
    "audit.csv": verdicts_csv,
    "groups.csv": groups_csv,
    "disparities.csv": disparities_csv,
    "audit.json": to_json,
    "audit.md": to_markdown,
    "audit.html": to_html,
}


def write_folder(report: Report, folder: Path) -> None:
    """Write every file of an audit; what is in the folder under other names stays.

    Raises
    ------
    UserError
        When a file cannot be written.
    """
    texts = {name: write(report) for name, write in FILES.items()}
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
