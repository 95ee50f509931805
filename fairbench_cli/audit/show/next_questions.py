"""What to ask next: at most five lines, each of what is known of this audit and open in it."""

from fairbench_cli.audit.compare.report import ALL, Disparity, Report
from fairbench_cli.audit.config import FOUR_FIFTHS
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.allowed import format_margin, has_margin
from fairbench_cli.audit.parts.findings import differs
from fairbench_cli.audit.scan.roles import NO_LABELS
from fairbench_cli.audit.show.headline import SELECTION, headline
from fairbench_cli.base.errors import Flag
from fairbench_cli.data.recognise import named_like_pay, named_like_workers

MISTAKES = {
    "assistive": "the missed (fnr) and the refused who should not be (for)",
    "punitive": "the wrongly selected (fpr) and the selected who should not be (fdr)",
}
"""The mistakes that harm people, by what being selected does to them."""


def ask_next(report: Report) -> tuple[str, ...]:
    """Return the questions: labels or kinds of mistakes, rows, small groups, the limit, an explanation."""
    small_groups = next((note for note in report.notes if note.startswith(formatting.MARKED)), "")
    lines = [_ask_for_labels(report), _ask_for_rows(report), small_groups, _offer_categories(report)]
    if not report.config.preset:
        lines += [_name_limit(report), _offer_explanation(report)]
    return tuple(filter(None, lines))


def _ask_for_labels(report: Report) -> str:
    """Return the answers that labels would give; with labels, the options for one kind of mistake."""
    if NO_LABELS in report.notes:
        return (
            "Labels: no column says who should be selected. With one (--label) one sees who is missed, and "
            "who is selected and should not be."
        )
    config = report.config
    if config.measures or config.preset or report.whole_tables or "fnr" not in report.deciding:
        return ""
    ways = [
        f"{Flag('decision', word).spell()} goes by {who} alone"
        for word, who in MISTAKES.items()
        if report.direction.effect in (None, word)
    ]
    return f"Mistakes: {'; '.join(ways)}."


def _ask_for_rows(report: Report) -> str:
    """Return how many rows would decide the first group of which that is known."""
    for attribute in headline(report).open:
        for group in attribute.groups:
            if group.needed and group.group != ALL:
                name = f"{formatting.format_group(group.group)} ({attribute.attribute})"
                return f"Rows: {name} has {formatting.thousands(group.rows)}; {group.needed} would decide."
    return ""


def _name_limit(report: Report) -> str:
    """Return where the limit comes from: of selection 0.8 is a rule, any other is one's own."""
    rows = [row for row in report.deciding_comparisons if isinstance(row, Disparity)]
    if not rows:
        return ""
    row = next((row for row in rows if row.metric == SELECTION), rows[0])
    if row.metric == SELECTION and row.tau == FOUR_FIFTHS:
        return (
            "Limit: 0.8 is the four-fifths rule of the USA, for selection in employment (Uniform Guidelines "
            "1978); anywhere else, and for other rates, it is a limit of your own."
        )
    limit = format_margin(row.margin) if has_margin(row.margin) else f"{row.tau:g}"
    return f"Limit: {limit} is a limit of your own: say who set it, and why."


def _offer_categories(report: Report) -> str:
    """Return the option that judges each category of workers by itself, of pay where there is a column."""
    config = report.config
    names = [name for name in report.unused if named_like_workers(name)]
    is_of_pay = named_like_pay(config.score or "")
    if not (names and is_of_pay) or config.compares or config.explained_by or config.model_column:
        return ""
    judges = f"{Flag('slice', names[0]).spell()} judges each {names[0]} by itself"
    return f"Categories: {judges}; the whole gap may be of who is in which {names[0]}."


def _offer_explanation(report: Report) -> str:
    """Return the option that tells how much of a gap goes with a column, where there are both."""
    config = report.config
    rows = [row for row in report.deciding_comparisons if isinstance(row, Disparity)]
    has_gap = any(row.verdict == "fail" or differs(row, config.confidence) == "shown" for row in rows)
    has_parts = config.cluster or report.several or report.whole_tables
    if config.explained_by or has_parts or not has_gap or not report.unused:
        return ""
    name = report.unused[0]
    return f"Reasons: {Flag('explain', name).spell()} shows how much of a gap goes with {name}."
