"""An audit written: a page, Markdown, a part of a notebook."""

from pathlib import Path

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.document import audit_document, audit_page
from fairbench_cli.document import html, markdown, notebook


def to_html(report: Report, *, printed: bool = False) -> str:
    """Return the page; the same audit gives the same bytes."""
    return html.html(audit_page(report), printed=printed)


def write_pdf(report: Report, path: Path) -> None:
    """Write the page as PDF."""
    html.write_pdf(audit_page(report), path)


def to_markdown(report: Report) -> str:
    """Return Markdown; the same audit gives the same bytes."""
    return markdown.markdown(audit_document(report))


def to_notebook(report: Report) -> str:
    """Return the answer in words and the worst comparisons of every attribute; `to_html` has everything."""
    return notebook.notebook(audit_document(report, everything=False, brief=True))
