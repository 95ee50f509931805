"""An audit as one HTML page that needs nothing from elsewhere, and as that page printed: a PDF."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

from fairbench_cli.audit.judge.report import AttributeVerdict, Disparity, GroupRow, Report
from fairbench_cli.audit.show import law, layout
from fairbench_cli.audit.show.bars import UNTESTED, Bar, ratio_panel, value_panel
from fairbench_cli.audit.show.changes import change_sections
from fairbench_cli.audit.show.format import VERDICTS, fraction, interval, number, ratio, symbols
from fairbench_cli.audit.show.layout import worst_first
from fairbench_cli.audit.show.sections import group_legend, more_sections, rate_legend, verdict_legend
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_bytes
from fairbench_cli.base.text import printable
from fairbench_cli.document.charts import Look
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.rates import RATES

HERE = Path(__file__).parent
MOST_BARS = 20  # groups in a figure; the tables have all


def to_html(report: Report, *, printed: bool = False) -> str:
    """Write the page; the same audit gives the same bytes.

    Parameters
    ----------
    report : Report
        What to show.
    printed : bool
        Whether to leave out what needs a screen.

    Raises
    ------
    UserError
        When Jinja is not installed.
    """
    try:
        import jinja2
    except ModuleNotFoundError:
        what = "an HTML page needs Jinja2, which is not installed"
        raise user_error(what, "pip install 'fairbench-cli[html]'") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((HERE / "page.html.j2").read_text(encoding="utf-8"))
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    page = template.render(**_context(report), printed=printed, style=style, script=script)
    return printable(page.rstrip("\n"), keep="\n") + "\n"


def write_pdf(report: Report, path: Path) -> None:
    """Write the page as PDF, printed by WeasyPrint; the same audit gives the same bytes.

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
    write_bytes(path, weasyprint.HTML(string=to_html(report, printed=True)).write_pdf())


def _context(report: Report) -> dict[str, Any]:
    """Return what the template shows."""
    verdicts = () if report.without_verdict else report.verdicts
    metrics = dict.fromkeys(name for row in verdicts for name in row.by_metric)
    answer = headline(report)
    sentences, still = answer.lines()
    return {
        "report": report,
        "config": report.config,
        "source": layout.source_name(report),
        "facts": layout.facts(report, name=False),
        "answer": answer,
        "sentences": sentences,
        "open": still,
        "gate": gate_words(report),
        "symbols": symbols(report.config.rule),
        "looks": {verdict: look(verdict, report) for verdict in VERDICTS},
        "verdicts": VERDICTS,
        "others": [name for name in metrics if name not in report.deciding],
        "labels": {name: RATES[name].label for name in report.deciding},
        "rates": rate_legend(report),
        "words": (*verdict_legend(report), *group_legend(report)),
        "parts": [_part(f"a{i}", row, report) for i, row in enumerate(verdicts, start=1)],
        "changes": change_sections(report),
        "overall": layout.group_table("All rows", report.overall),
        "rule": () if report.without_verdict else law.guideline_sections(report),
        "more": (*(law.impact_sections(report) if report.without_verdict else ()), *more_sections(report)),
        "isnan": math.isnan,
    }


def look(verdict: Verdict, report: Report) -> Look:
    """Return how a verdict looks in a report."""
    return UNTESTED[verdict] if report.config.rule == "point" else verdict


def _part(anchor: str, verdict: AttributeVerdict, report: Report) -> dict[str, Any]:
    """Return an attribute under one model and decision."""
    rows, groups = layout.of_attribute(verdict, report)
    compared = layout.compared(verdict, report)
    others = [row for row in rows if row.metric not in report.deciding and not row.is_reference]
    where = layout.place(verdict.model, verdict.decision, report.config.sliced_by)
    name = f"{verdict.attribute}, {where}" if report.several else verdict.attribute
    tables = [*(law.guideline_tables(verdict, report) if report.impact else ())]
    tables += [
        layout.comparison_table(f"{name}: comparisons, worst first", compared, groups),
        layout.comparison_table(f"{name}: other metrics, which do not decide", others, groups),
        layout.group_table(f"{name}: groups", groups),
    ]
    by_metric = [(name, [row for row in rows if row.metric == name]) for name in report.deciding]
    return {
        "anchor": anchor,
        "where": where,
        "verdict": verdict,
        "sentence": layout.failures(compared) if compared else "There is nothing to compare.",
        "notes": law.guideline_notes(verdict, report) if report.impact else (),
        "panels": [_panel(name, each, groups, report) for name, each in by_metric if each],
        "tables": [table for table in tables if table.rows],
    }


def _panel(metric: str, rows: list[Disparity], groups: list[GroupRow], report: Report) -> dict[str, Any]:
    """Return the two figures of one metric."""
    of_group = {row.group: row for row in groups}
    ordered = worst_first(rows)  # references come last, and are always shown
    shown = [row for i, row in enumerate(ordered) if i < MOST_BARS or row.is_reference]
    values, ratios = [], []
    for row in shown:
        own = of_group[row.group]
        name = row.group + ("*" if own.small else "")
        value = f"{number(row.value)} ({fraction(row.behind)})"
        of: Look = "reference" if row.is_reference else look(row.verdict, report)
        mark = "" if row.is_reference else symbols(report.config.rule)[row.verdict]
        values.append(Bar(name, value, own.metrics[metric], of, mark))
        ratios.append(Bar(name, _ratio_text(row), row.ratio, of, mark))
    references = {row.reference_value for row in shown if not math.isnan(row.reference_value)}
    line = references.pop() if len(references) == 1 else math.nan
    label = RATES[metric].label
    return {
        "metric": metric,
        "label": label,
        "figures": {
            "values": value_panel(f"{label} by group", values, line),
            "ratios": ratio_panel(f"{label}, ratio to the reference", ratios, rows[0].tau),
        },
        "left_out": len(rows) - len(shown),
    }


def _ratio_text(row: Disparity) -> str:
    if row.is_reference:
        return "reference"
    if math.isnan(row.ratio.value):
        return "not decided" if row.verdict == "undecided" else "both 0"
    return f"{ratio(row.ratio.value, row.tau)} {interval(row.ratio, 2)}".strip()
