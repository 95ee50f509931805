"""An audit as one HTML page that needs nothing from elsewhere, and as that page printed: a PDF.

Bars are inline SVG: the value of each group, and its ratio to the reference on a log axis with the τ band.
Colours are given as attributes, for printers, and as classes, which the page's style may lay over them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from fairbench_cli.audit.judge.report import AttributeVerdict, Disparity, GroupRow, Interval, Report, Verdict
from fairbench_cli.audit.show import law, layout
from fairbench_cli.audit.show.changes import change_sections
from fairbench_cli.audit.show.format import VERDICTS, fraction, interval, number, ratio, symbols
from fairbench_cli.audit.show.layout import worst_first
from fairbench_cli.audit.show.sections import more_sections, rate_legend, verdict_legend
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.errors import user_error
from fairbench_cli.files import write_bytes
from fairbench_cli.measures.rates import RATES
from fairbench_cli.text import printable

HERE = Path(__file__).parent
MOST_BARS = 20  # groups in a figure; the tables have all
WIDTH, STEP, TOP, SIDE = 360, 38, 4, 8
INNER = WIDTH - 2 * SIDE
MOST = 16.0  # ratios beyond it, or below its inverse, are drawn at the edge
MOST_NAME = 34  # characters of a group's name
# How a group looks: by its verdict; outside or inside of τ, where chance was not looked at; the reference.
Look = Literal["pass", "fail", "undecided", "outside", "inside", "reference"]
UNTESTED: dict[Verdict, Look] = {"pass": "inside", "fail": "outside", "undecided": "undecided"}
COLOURS: dict[Look, str] = {
    "pass": "#0072b2",
    "fail": "#c44e00",
    **dict.fromkeys(("undecided", "outside", "inside", "reference"), "#767676"),
}
HOLLOW = ("outside", "inside", "reference")
TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)


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
        "words": verdict_legend(report),
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


@dataclass(frozen=True)
class Bar:
    """One group in a panel.

    Parameters
    ----------
    name, said : str
        The group; and what is written at its right end.
    of : Interval
        Value and interval.
    look : {"pass", "fail", "undecided", "outside", "inside", "reference"}
        Picks colour and mark; the reference, and what chance was not looked at for, is hollow.
    symbol : str
        Before the name.
    """

    name: str
    said: str
    of: Interval
    look: Look
    symbol: str = ""


def value_panel(title: str, bars: Sequence[Bar], reference: float) -> str:
    """Draw values from 0 on, with a dashed line at the reference's."""
    ends = [x for bar in bars for x in (bar.of.value, bar.of.high) if math.isfinite(x)]
    top = _round_up(max([*ends, 0.0 if math.isnan(reference) else reference]))
    parts = [_axis([(_place(x, top), f"{x:g}") for x in (0.0, top / 2, top)], len(bars))]
    for i, bar in enumerate(bars):
        y = _y(i)
        parts.append(_label(bar, i))
        parts.append(_rect("track", SIDE, y - 4, INNER, 8, "#ececec"))
        if math.isfinite(bar.of.value):
            x = _place(bar.of.value, top)
            parts.append(_rect(f"bar {bar.look}", SIDE, y - 4, x - SIDE, 8, COLOURS[bar.look]))
            parts.append(_whisker(bar.of, y, lambda value: _place(value, top)))
        if math.isfinite(reference):
            parts.append(_vertical("ref", _place(reference, top), y, "#222222", dashed=True))
    return _svg(title, bars, parts)


def ratio_panel(title: str, bars: Sequence[Bar], tau: float) -> str:
    """Draw ratios from 1 on, on a log axis with the band [τ, 1/τ]."""
    ratios = [x for bar in bars for x in (bar.of.value, bar.of.low, bar.of.high)]
    reach = max([1 / tau * 1.25, 2.0, *(max(x, 1 / x) for x in ratios if math.isfinite(x) and x > 0)])
    unbounded = any(bar.of.value == 0 or math.isinf(bar.of.value) for bar in bars)
    edge = math.log(MOST if unbounded else min(MOST, reach * 1.05))

    def at(value: float) -> float:
        log = -edge if value <= 0 else edge if math.isinf(value) else math.log(value)
        return SIDE + INNER * (max(-edge, min(edge, log)) + edge) / (2 * edge)

    ticks = [(at(x), number(x, 2).rstrip("0").rstrip(".")) for x in TICKS if abs(math.log(x)) <= edge]
    parts = [_axis(_spaced(ticks), len(bars))]
    for i, bar in enumerate(bars):
        y = _y(i)
        parts.append(_label(bar, i))
        parts.append(_rect("band", at(tau), y - 8, max(1.0, at(1 / tau) - at(tau)), 16, "#cfe3f1"))
        parts.append(_vertical("one", at(1.0), y, "#222222"))
        if not math.isnan(bar.of.value):
            x, one = at(bar.of.value), at(1.0)
            parts.append(_rect(f"bar {bar.look}", min(x, one), y - 4, abs(x - one), 8, COLOURS[bar.look]))
            parts.append(_whisker(bar.of, y, at))
            parts.append(_mark(bar, x, y))
    return _svg(title, bars, parts)


def _spaced(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave ticks out that would run into another, from the middle outwards."""
    middle = WIDTH / 2
    kept: list[tuple[float, str]] = []
    for x, text in sorted(ticks, key=lambda tick: (abs(tick[0] - middle), tick[0])):
        if all(abs(x - other) >= 40 for other, _ in kept):
            kept.append((x, text))
    return sorted(kept)


def _round_up(value: float) -> float:
    """Round up to 1, 2 or 5 tenths of a power of ten.

    >>> _round_up(0.31), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))
    return float(f"{step * power:g}")


def _place(value: float, top: float) -> float:
    return SIDE + INNER * max(0.0, min(1.0, value / top))


def _y(i: int) -> float:
    return TOP + STEP * i + 26


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _rect(kind: str, x: float, y: float, width: float, height: float, fill: str) -> str:
    at = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<rect class="{kind}" {at} fill="{fill}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="11" '
        f'font-weight="{weight}" font-family="system-ui, sans-serif" fill="#222222">{escape(text)}</text>'
    )


def _label(bar: Bar, i: int) -> str:
    name = bar.name if len(bar.name) <= MOST_NAME else f"{bar.name[: MOST_NAME - 1]}…"
    y = TOP + STEP * i + 13
    return _text("name", SIDE, y, f"{bar.symbol} {name}".strip(), "start", "bold") + _text(
        "said", WIDTH - SIDE, y, bar.said, "end"
    )


def _vertical(kind: str, x: float, y: float, colour: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="3 2"' if dashed else ""
    return (
        f'<line class="{kind}" x1="{_n(x)}" x2="{_n(x)}" y1="{_n(y - 8)}" y2="{_n(y + 8)}" '
        f'stroke="{colour}" stroke-width="1.2"{dash}/>'
    )


def _whisker(of: Interval, y: float, at: Callable[[float], float]) -> str:
    if math.isnan(of.low) or math.isnan(of.high):
        return ""
    low, high = _n(at(of.low)), _n(at(of.high))
    path = f"M{low} {_n(y)}H{high}M{low} {_n(y - 4)}v8M{high} {_n(y - 4)}v8"
    return f'<path class="whisker" d="{path}" stroke="#222222" stroke-width="1.4" fill="none"/>'


def _mark(bar: Bar, x: float, y: float) -> str:
    if bar.look in ("fail", "outside"):
        shape = f'<path class="mark" d="M{_n(x)} {_n(y - 6)}l6 6l-6 6l-6 -6z"'
    else:
        shape = f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="4.5"'
    fill, kind = ("#ffffff", "ring") if bar.look in HOLLOW else (COLOURS[bar.look], bar.look)
    return f'{shape.replace("mark", f"mark {kind}", 1)} fill="{fill}" stroke="#222222" stroke-width="1.2"/>'


def _axis(ticks: Sequence[tuple[float, str]], n: int) -> str:
    bottom = TOP + STEP * n
    line = (
        f'<path class="axis" d="M{SIDE} {bottom}H{WIDTH - SIDE}'
        + "".join(f"M{_n(x)} {bottom}v4" for x, _ in ticks)
        + '" stroke="#767676" fill="none"/>'
    )
    return line + "".join(_text("tick", x, bottom + 15, text, _anchor(x)) for x, text in ticks)


def _anchor(x: float) -> str:
    return "start" if x < SIDE + 10 else "end" if x > WIDTH - SIDE - 10 else "middle"


def _svg(title: str, bars: Sequence[Bar], parts: Sequence[str]) -> str:
    height = TOP + STEP * len(bars) + 20
    each = "; ".join(f"{bar.name} {bar.said}" for bar in bars)
    return (
        f'<svg role="img" aria-label="{escape(f"{title}: {each}")}" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
