"""``fairbench list metrics``: the measures as short tables, and with ``--long`` as a small encyclopaedia."""

import math
import textwrap
from typing import get_args

from fairbench_cli.cli.console import out, print_rows, say
from fairbench_cli.measures.entry import OF_LABELS, Measure, Section
from fairbench_cli.measures.registry import DEFAULT_METRICS, MEASURES, ROW_MEASURES

WIDEST = 80  # columns that read well

HEAD = (
    f"A config's `metrics` takes any of these names; without it a run computes the {len(DEFAULT_METRICS)} "
    "marked *. Those that compare groups within strata need `strata:` as well, which names attributes. "
    "`fairbench simulate` takes those that need counts and are defined on predictions and labels, "
    "`fairbench audit --measure` those that need counts. A measure defined on both speaks of predictions "
    f"under its name, and of the labels themselves under its name followed by {OF_LABELS}.",
    "g is the deprived group, ḡ the favoured, s either; y the label, ŷ the prediction, + the favourable "
    "outcome. π = P(ŷ=+), π₀ = P(y=+), α = P(ḡ), d = P(ŷ=+|ḡ) − P(ŷ=+|g), n(s) the rows of a group.",
)

DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "nearer": "nearer to it is better",
    "none": "no value is better than another",
}


def by_section() -> dict[Section, list[Measure]]:
    """Return the measures in the order of their sections, those of labels under the name of predictions."""
    entries = [m for m in (MEASURES | ROW_MEASURES).values() if m.on != "labels" or not _twin(m)]
    sections = {section: [m for m in entries if m.section == section] for section in get_args(Section)}
    return {section: found for section, found in sections.items() if found}


def print_metric_tables() -> None:
    """Print a short table of every section."""
    for section, entries in by_section().items():
        rows = [
            [
                m.name,
                f"{number(m.low)} to {number(m.high)}",
                "" if m.ideal is None else number(m.ideal),
                m.formula,
            ]
            for m in entries
        ]
        print_rows(["name", "range", "ideal", "formula"], rows, title=f"metrics: {section}")


def print_metrics() -> None:
    """Print what there is to know about every measure."""
    width = min(WIDEST, out().width)
    for paragraph in HEAD:
        say(textwrap.fill(paragraph, width, break_on_hyphens=False))
    for section, entries in by_section().items():
        say(f"\n{section.upper()}", "bold")
        for entry in entries:
            mark = " *" if entry.name in DEFAULT_METRICS else ""
            say(f"\n{entry.name}{mark}", "bold")
            for line in _lines(entry):
                say(_indented(line, width))


def number(value: float) -> str:
    """Write a number of a range.

    >>> number(-math.inf), number(0.5)
    ('−∞', '0.5')
    """
    text = "∞" if math.isinf(value) else f"{abs(value):g}"
    return f"−{text}" if value < 0 else text


def _indented(line: str, width: int) -> str:
    """Fold a line below a name; names in it stay whole."""
    return textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _lines(entry: Measure) -> list[str]:
    """Write the page of a measure."""
    ideal = "" if entry.ideal is None else f", ideal {number(entry.ideal)}"
    on = "predictions and labels" if entry.on == "both" else entry.on
    return [
        entry.formula,
        f"range {number(entry.low)} to {number(entry.high)}{ideal}; {DIRECTIONS[entry.direction]}",
        f"needs {entry.needs}; defined on {on}",
        entry.zero_denominator,
        f"source: {entry.source}",
    ]


def _twin(entry: Measure) -> bool:
    """Whether a measure of labels has one of predictions beside it."""
    return entry.name.removesuffix(OF_LABELS) != entry.name
