"""An audit as continuous integration reads it: annotations of GitHub, a JUnit report, SARIF 2.1.0.

Each says what fails or is not decided, as severe as the gate takes it (`compare.gate.find_severity`).
"""

from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from fairbench_cli import __version__
from fairbench_cli.audit.compare.gate import Severity, find_severity
from fairbench_cli.audit.compare.report import (
    WHOLE_DECISION,
    AttributeVerdict,
    Comparison,
    NumberComparison,
    Report,
    WholeTable,
)
from fairbench_cli.audit.metrics import WHOLE_TABLE
from fairbench_cli.audit.parts.numbers import worst_first_numbers
from fairbench_cli.audit.parts.rates import bracketed_place, minor_groups, rows_of_attribute
from fairbench_cli.audit.scan.row_checks import likely_mistakes
from fairbench_cli.audit.show.document import describe_gate, source_name
from fairbench_cli.audit.show.headline import (
    describe_comparison,
    describe_direction,
    describe_whole_table,
    headline,
    rate_meaning,
    worth_telling_first,
)
from fairbench_cli.audit.show.number_headline import describe_number, judged_slices
from fairbench_cli.audit.show.tables import json_text
from fairbench_cli.base.safe_text import printable
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.rates import RATES

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
ORDER: tuple[Severity, ...] = ("error", "warning", "note")
COUNTED = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
"""What a JUnit report counts, and where it stands."""


def to_github(report: Report) -> str:
    """Return workflow commands of GitHub: one of each attribute that does not pass, then the gate's.

    Where all pass and no gate asks, it is the headline. What is not decided is one warning, of its attribute.

    Each command is a line; https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    lines = []
    told = []
    for verdict in _judged(report):
        rows = [row for row in _looked_at(verdict, report) if row.verdict != "pass"]
        if not rows:
            continue
        worst = min(rows, key=lambda row: ORDER.index(find_severity(row, report)))
        severity = find_severity(worst, report)
        if severity != "note":
            told.append(verdict.attribute)
        title = f"{verdict.attribute}{bracketed_place(verdict, report)}"
        lines.append(_command(severity, title, _describe(worst, report)))
    gate = describe_gate(report)
    if not lines and not gate:
        lines.append(_command("note", f"fairbench: {source_name(report)}", headline(report).sentence))
    for note in likely_mistakes(report.notes):
        lines.append(_command("note", f"fairbench: {source_name(report)}", note))
    if gate:
        warns = report.gate.warning or not all(name.startswith(tuple(told)) for name in report.gate.undecided)
        severity = "error" if report.gate.stops else "warning" if warns else "note"
        lines.append(_command(severity, f"fairbench: {source_name(report)}", gate))
    return "".join(f"{line}\n" for line in lines)


def _command(severity: Severity, title: str, message: str) -> str:
    """Return a workflow command.

    >>> _command("note", "sex: a, b", "50 % pass")
    '::notice title=sex%3A a%2C b::50 %25 pass'
    """
    return f"::{COMMANDS[severity]} title={_escape_property(title)}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


def to_junit(report: Report) -> str:
    """Return a JUnit report: a test case of each attribute and metric that the verdict or the gate looks at.

    What fails is a failure where the gate stops for it, or there is none; else it is skipped, with the
    sentence, as is what is not decided.
    """
    suite = ET.Element("testsuite", name=printable(f"fairbench audit {source_name(report)}"))
    for verdict in _judged(report):
        by_metric: dict[str, list[Comparison]] = {}
        for row in _looked_at(verdict, report):
            by_metric.setdefault(row.metric, []).append(row)
        for metric, rows in by_metric.items():
            place = printable(f"{verdict.attribute}{bracketed_place(verdict, report)}")
            case = ET.SubElement(suite, "testcase", classname=place, name=metric)
            remaining = [row for row in rows if row.verdict != "pass"]
            if not remaining:
                continue
            worst = min(remaining, key=lambda row: ORDER.index(find_severity(row, report)))
            sentence = printable(_describe(worst, report))
            if find_severity(worst, report) == "error":
                ET.SubElement(case, "failure", message=sentence, type=worst.verdict or "").text = sentence
            else:
                ET.SubElement(case, "skipped", message=sentence)
    if (
        report.gate.stops and suite.find("*/failure") is None
    ):  # for what is no comparison, or of another model
        case = ET.SubElement(suite, "testcase", classname=printable(source_name(report)), name="gate")
        ET.SubElement(case, "failure", message=printable(describe_gate(report)), type="gate")
    if notes := likely_mistakes(report.notes):
        ET.SubElement(suite, "system-out").text = printable(" ".join(notes))
    for name, path in COUNTED.items():
        suite.set(name, str(len(suite.findall(path))))
    ET.indent(suite)
    text = ET.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def to_sarif(report: Report) -> str:
    """Return SARIF 2.1.0: rules are rates, or measures of numbers, results the comparisons that fail.

    And those that are not decided, of which a gate warns or for which it stops.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    rows: list[Comparison] = []
    for verdict in _judged(report):
        judged = _looked_at(verdict, report)
        rows += [row for row in judged if row.verdict == "fail" or find_severity(row, report) != "note"]
    names = list(dict.fromkeys(row.metric for row in rows))
    driver = {"name": "fairbench", "version": __version__, "rules": [_rule(name) for name in names]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "results": [_sarif_result(row, names.index(row.metric), report) for row in rows],
    }
    if notes := likely_mistakes(report.notes):
        run["properties"] = {"notes": notes}
    return json_text({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str) -> dict[str, Any]:
    if name in NUMBER_MEASURES:
        label = NUMBER_MEASURES[name].label
        meaning = f"{label}: {NUMBER_MEASURES[name].formula}"
    elif name == WHOLE_TABLE:
        label = WHOLE_DECISION
        meaning = f"{label}: shares of all classes in all groups, Cohen's w"
    else:
        label = RATES[name].label
        meaning = rate_meaning(name)
    return {"id": name, "shortDescription": {"text": label}, "fullDescription": {"text": meaning}}


def _sarif_result(row: Comparison, rule_index: int, report: Report) -> dict[str, Any]:
    """Return a comparison; the file has no line of it, so the first one is named, which viewers need."""
    location = {"artifactLocation": {"uri": _file_uri(report)}, "region": {"startLine": 1}}
    key = "/".join((row.model, row.attribute, row.group, row.reference, row.metric))
    return {
        "ruleId": row.metric,
        "ruleIndex": rule_index,
        "level": find_severity(row, report),
        "message": {"text": printable(_describe(row, report))},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"comparison/v1": key},
    }


def _file_uri(report: Report) -> str:
    """Return the file as given, where that is within the folder at hand; else its name alone."""
    path = report.source.replace("\\", "/")
    is_absolute = PurePosixPath(path).is_absolute() or bool(PureWindowsPath(path).drive)
    if is_absolute or ".." in PurePosixPath(path).parts or report.source == "-":
        path = source_name(report)
    return quote(path, errors="replace")


def _judged(report: Report) -> tuple[AttributeVerdict, ...]:
    return () if report.without_verdict else report.judged


def _of_comparisons(report: Report) -> Report:
    """Return the audit that has the comparisons: of slices that have an order that of all of them."""
    if report.streams is not None:
        return report.streams.together
    return report


def _describe(row: Comparison, report: Report) -> str:
    """Return a comparison in words, of a rate or of numbers."""
    if isinstance(row, WholeTable):
        return describe_whole_table(row, report).text
    if not isinstance(row, NumberComparison):
        together = _of_comparisons(report)
        return f"{describe_comparison(row, together).text} {describe_direction(together, [row])}".rstrip()
    slices = [part for part in judged_slices(report) if part.attribute == row.attribute]
    part = next(part for part in slices if part.model in ("", row.model))
    text = describe_number(row, part)
    if report.of_strata:
        return f"{row.attribute}{bracketed_place(part, report)}: {text}"
    return text


def _looked_at(verdict: AttributeVerdict, report: Report) -> Iterator[Comparison]:
    """Yield the comparisons that the verdict on an attribute, or a gate, looks at, the worst first."""
    yield from worst_first_numbers(row for row in report.judged_numbers if row.place == verdict.place)
    table = report.whole_table_at(verdict)
    if table is not None:
        yield table
        return
    together = _of_comparisons(report)
    places = [row for row in together.verdicts if row.attribute == verdict.attribute]
    place = verdict if verdict in together.verdicts else places[0]
    rows, groups = rows_of_attribute(place, together)
    deciding = [row for row in rows if row.deciding and not row.is_reference]
    yield from worth_telling_first(deciding, minor_groups(groups), together)
