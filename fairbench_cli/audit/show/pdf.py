"""An audit as PDF: the HTML page, printed by WeasyPrint."""

from importlib import import_module
from pathlib import Path

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.html import render
from fairbench_cli.errors import user_error


def write_pdf(report: Report, path: Path) -> None:
    """Write the page as PDF; the same audit gives the same bytes.

    Raises
    ------
    UserError
        When WeasyPrint or the libraries it loads (Pango) are not there, or the file cannot be written.
    """
    try:
        weasyprint = import_module("weasyprint")  # it has no types
    except (ModuleNotFoundError, OSError) as error:
        missing = "WeasyPrint" if isinstance(error, ModuleNotFoundError) else "the library Pango"
        raise user_error(
            f"--pdf needs {missing}, which is not installed",
            "pip install 'fairbench-cli[pdf]'; on Debian also: apt install libpango-1.0-0 libpangoft2-1.0-0",
            "--pdf",
        ) from None
    printed = weasyprint.HTML(string=render(report, printed=True)).write_pdf()
    try:
        path.write_bytes(printed)
    except OSError as error:
        raise user_error(
            f"cannot write {path}: {error.strerror}", "check the folder, its permissions and the free space"
        ) from None
