"""The gate: whether an audit lets a pipeline go on."""

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import Parity
from fairbench_cli.errors import Problem, UserError, shown, suggest

FLAG = "--fail-on"


def gate(report: Report, fail_on: tuple[tuple[str, str], ...] = ()) -> Parity:
    """Return the verdict over what was chosen: pairs of attribute (or "" for all) and measure.

    Parameters
    ----------
    report : Report
        What was found.
    fail_on : tuple of (attribute, measure)
        Empty: the audit's own verdict.

    Raises
    ------
    UserError
        When an attribute was not audited, or a measure needs labels and there are none.
    """
    if not fail_on:
        return report.verdict
    verdicts = report.audit.verdicts
    attributes = {row.attribute for row in verdicts}
    problems = [
        Problem(f"no attribute called {shown(name)} was audited", suggest(name, attributes), FLAG)
        for name, _ in fail_on
        if name and name not in attributes
    ]
    measures = {measure for row in verdicts for measure in row.parity}
    problems += [
        Problem(f"{measure} was not computed", "it needs a label column, or choose another measure", FLAG)
        for _, measure in fail_on
        if measure not in measures
    ]
    if problems:
        raise UserError(*problems)
    found: list[Parity] = [
        row.parity[measure]
        for name, measure in fail_on
        for row in verdicts
        if name in ("", row.attribute) and measure in row.parity
    ]
    return "fail" if "fail" in found else "undecidable" if "undecidable" in found else "pass"
