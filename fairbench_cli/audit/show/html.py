"""An audit as one HTML page that needs nothing from elsewhere."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench_cli.audit.judge.report import Key, Report
from fairbench_cli.audit.judge.result import Disparity, GroupRow, Interval, Parity
from fairbench_cli.audit.judge.verdict import in_words
from fairbench_cli.audit.show import words
from fairbench_cli.audit.show.bars import Bar, ratio_panel, value_panel
from fairbench_cli.audit.show.by_name import by_name_passages
from fairbench_cli.audit.show.console import notes
from fairbench_cli.audit.show.explained import passages
from fairbench_cli.errors import user_error

HERE = Path(__file__).parent
CELLS = ("tp", "fp", "fn", "tn")
MOST_BARS = 20  # groups in a figure; the tables have all


@dataclass(frozen=True)
class Panel:
    """The two figures of one measure."""

    measure: str
    long: str
    values: str
    ratios: str
    left_out: int


@dataclass(frozen=True)
class Comparison:
    """A row of the table of comparisons: a disparity, and the counts behind its two values."""

    row: Disparity
    small: bool
    counts: str
    reference_counts: str
    interval: str
    difference_interval: str
    verdict: str


@dataclass(frozen=True)
class Section:
    """One attribute under one model and decision."""

    anchor: str
    title: str
    where: str
    parity: Parity
    said: str
    cells: dict[str, Parity]
    panels: tuple[Panel, ...]
    comparisons: tuple[Comparison, ...]
    others: tuple[Comparison, ...]
    groups: tuple[GroupRow, ...]


def to_html(report: Report, *, printed: bool = False) -> str:
    """Write the page; the same audit gives the same bytes. `printed` leaves out what needs a screen.

    Raises
    ------
    UserError
        When Jinja is not installed.
    """
    try:
        import jinja2
    except ModuleNotFoundError:
        raise user_error(
            "an HTML page needs Jinja2, which is not installed", "pip install 'fairbench-cli[html]'"
        ) from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((HERE / "page.html.j2").read_text(encoding="utf-8"))
    page = template.render(
        **context(report),
        words=words,
        printed=printed,
        isnan=math.isnan,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
    )
    return page.rstrip("\n") + "\n"


def context(report: Report) -> dict[str, Any]:
    """Return what the template shows."""
    audit = report.audit
    return {
        "report": report,
        "audit": audit,
        "source": words.source_name(report),
        "headline": words.headline(report),
        "metrics": list(dict.fromkeys(name for row in audit.groups for name in row.metrics)),
        "cells": [
            name for name in ("tp", "fp", "fn", "tn") if any(name in row.counts for row in audit.groups)
        ],
        "measures": report.deciding,
        "others": [
            name
            for name in dict.fromkeys(name for row in audit.verdicts for name in row.parity)
            if name not in report.deciding
        ],
        "sections": [_section(f"a{i}", key, report) for i, key in enumerate(report.attributes, start=1)],
        "explained": (*by_name_passages(report), *passages(report)),
        "notes": notes(report),
    }


def _section(anchor: str, key: Key, report: Report) -> Section:
    audit, groups = report.audit, words.lookup(report)
    rows = [row for row in audit.disparities if (row.model, row.decision, row.attribute) == key]
    decide = [row for row in rows if row.measure in report.deciding]
    compared = [row for row in decide if not row.is_reference]
    fails = [row for row in compared if row.parity == "fail"]
    open_ = sum(row.parity == "undecidable" for row in compared)
    beyond = sum(row.evidence == "beyond chance" for row in fails)
    said = f"{len(fails)} of {len(compared)} comparisons fail, {beyond} of them beyond chance"
    said += f"; {open_} cannot be decided." if open_ else "."
    others = [row for row in rows if row.measure not in report.deciding and not row.is_reference]
    by_measure = [(name, [row for row in decide if row.measure == name]) for name in report.deciding]
    verdicts = {(row.model, row.decision, row.attribute): row.parity for row in audit.verdicts}
    return Section(
        anchor,
        key[2],
        words.place(*key[:2]),
        report.attributes[key],
        said,
        verdicts[key],
        tuple(_panel(name, each, groups) for name, each in by_measure if each),
        tuple(_comparison(row, groups) for row in words.worst_first(compared)),
        tuple(_comparison(row, groups) for row in words.worst_first(others)),
        tuple(row for row in audit.groups if (row.model, row.decision, row.attribute) == key),
    )


def _comparison(row: Disparity, groups: words.Lookup) -> Comparison:
    own, other = groups.group(row, row.group), groups.group(row, row.reference)
    return Comparison(
        row,
        own is not None and own.small,
        groups.fraction(row.measure, own),
        groups.fraction(row.measure, other),
        words.interval(row.ratio),
        words.interval(row.difference),
        in_words(row),
    )


def _panel(measure: str, rows: list[Disparity], groups: words.Lookup) -> Panel:
    ordered = words.worst_first(rows)  # references come last, and are always shown
    shown = [row for i, row in enumerate(ordered) if i < MOST_BARS or row.is_reference]
    values, ratios = [], []
    for row in shown:
        own = groups.group(row, row.group)
        counted = groups.fraction(measure, own)
        of = own.metrics.get(measure) if own else None
        star = "*" if own and own.small else ""
        value = words.number(row.value) + (f" ({counted})" if counted else "")
        level = of or Interval(row.value, math.nan, math.nan)
        values.append(Bar(row.group + star, value, level, row.parity, row.is_reference))
        said = _ratio_said(row)
        ratios.append(Bar(row.group + star, said, row.ratio, row.parity, row.is_reference))
    references = {row.reference_value for row in shown if not math.isnan(row.reference_value)}
    line = references.pop() if len(references) == 1 else math.nan
    long = words.label(measure)
    return Panel(
        measure,
        long,
        value_panel(f"{long} by group", values, line),
        ratio_panel(f"{long}, ratio to the reference", ratios, rows[0].tau),
        len(rows) - len(shown),
    )


def _ratio_said(row: Disparity) -> str:
    if row.is_reference:
        return "reference"
    if math.isnan(row.ratio.value):
        return "not decidable" if row.parity == "undecidable" else "both 0"
    return f"{words.ratio(row.ratio.value, row.tau)} {words.interval(row.ratio, 2)}".strip()
