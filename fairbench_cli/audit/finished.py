"""A finished audit that was written as JSON, opened again: its page, tables and gate, without its rows."""

import json
import re
from dataclasses import replace
from pathlib import Path

from fairbench_cli.audit.api import FRAME, AuditResult
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.safe_text import format_path

WRITE_AGAIN = "audit the people again: `fairbench audit FILE --format finished`"
KEYS = frozenset(("format", "verdict", "headline", "gate", "source", "rows", "config"))
"""Keys that every version's JSON of an audit has."""
START = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"verdict"\s*:\s*("\w*"|null)\s*,\s*"headline"\s*:')
FIRST = 1000  # bytes of a file, in which that stands


def read_audit(path: str | Path) -> AuditResult:
    """Read a finished audit from the JSON that ``--format finished`` writes, without its rows.

    It shows, writes and judges as the audit itself did: pages, tables, JSON and gates are the same bytes. Its
    command and its file of options give the same audit of the same rows, and name also what the audit found
    by itself; of a run's cell the command is the one that shows the JSON.

    Parameters
    ----------
    path : path
        Of the JSON.

    Raises
    ------
    UserError
        When there is no such file, or it is no audit's JSON, of another version, or damaged.

    Examples
    --------
    >>> import tempfile
    >>> import fairbench_cli as fb
    >>> people = fb.audit([1, 0, 0, 1], [1, 0, 0, 1], ["f", "f", "m", "m"], draws=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "audit.json"
    ...     _ = path.write_text(people.to("finished"), encoding="utf-8")
    ...     read_audit(path).to_html() == people.to_html()
    True
    """
    return parse_audit(read_text(Path(path)), format_path(path))


def parse_audit(text: str, name: str) -> AuditResult:
    """Return the audit of the text of a JSON document; `name` is what messages call it.

    Raises
    ------
    UserError
        When it is no audit's JSON, of another version, or damaged.
    """
    from fairbench_cli.audit.build_report import find_judged_numbers, judge_gate
    from fairbench_cli.audit.command import NO_FILE, WrittenCall
    from fairbench_cli.audit.show.tables import FORMAT
    from fairbench_cli.audit.show.whole_report import KEY, report_of

    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        problem = "it is no JSON, or only the beginning of one"
        raise user_error(
            problem, "give it whole, or write it again: `fairbench audit FILE --format finished`", name
        ) from None
    if not isinstance(content, dict) or not content.keys() >= KEYS:
        problem = "it is not the JSON of an audit"
        raise user_error(problem, "give what `fairbench audit --format finished` wrote", name)
    if content["format"] == FORMAT and KEY not in content:
        problem = "it has the numbers of an audit alone, not all that a page needs"
        raise user_error(problem, WRITE_AGAIN, name)
    if content["format"] != FORMAT:
        raise user_error("it was written by another version of fairbench", WRITE_AGAIN, name)
    try:
        report = report_of(content)
        report = replace(report, judged_numbers=find_judged_numbers(report))
        report = replace(report, gate=judge_gate(report))  # as this version does, whichever wrote it
    except (ValueError, TypeError, KeyError):
        problem = "it is damaged, was changed by hand, or is of another version of fairbench"
        raise user_error(problem, WRITE_AGAIN, name) from None
    if report.is_of_run:
        call = WrittenCall(AuditConfig(), name)
    else:
        found = report.found.get("numbers", ())
        chosen = {numbers.attribute for numbers in found if numbers.chosen_by == "better"}
        given = {name: group for name, group in report.config.references.items() if name not in chosen}
        config = report.config.model_copy(update={"references": given})
        call = WrittenCall(config, NO_FILE if report.source == FRAME else report.source)
    return AuditResult(report, call)


def is_audit(path: str | Path) -> bool:
    """Return whether a file begins as an audit's JSON does, rather than with rows of people."""
    try:
        with Path(path).open("rb") as file:
            return START.match(file.read(FIRST)) is not None
    except (OSError, ValueError):
        return False
