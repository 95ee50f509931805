"""``fairbench list metrics``: rates, comparisons, functions, aliases; one metric; all at length."""

import math
import textwrap
from typing import get_args

from fairbench_cli.base.errors import shown, suggest, user_error
from fairbench_cli.cli.console import out, print_rows, say
from fairbench_cli.measures.aliases import SOURCE
from fairbench_cli.measures.comparisons import COMPARISONS
from fairbench_cli.measures.metric import OF_LABELS, Metric, Section
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import DEFAULT_METRICS, METRICS, find

WIDEST = 80  # columns that read well

HEAD = (
    "A metric is a rate (over all rows), RATE-COMPARISON such as tpr-difference, one of the functions below, "
    "or an alias of these. A config's `metrics` takes any of them; without it a run computes the "
    f"{len(DEFAULT_METRICS)} marked *. Those that need strata take them from `strata:`, which names "
    "attributes. `fairbench audit --metric` and `fairbench simulate` take those that need counts. A metric "
    "defined on predictions and labels speaks of predictions under its name, and of the labels under its "
    f"name followed by {OF_LABELS}.",
    "g is the group compared, the deprived one in a run; r or ḡ its reference, the favoured one; s any "
    "group; y the label, ŷ the prediction, + the favourable outcome. A difference is X(g) − X(r), a ratio "
    "X(g) / X(r). π = P(ŷ=+), π₀ = P(y=+), α = P(ḡ), d = P(ŷ=+|ḡ) − P(ŷ=+|g), n(s) the rows of a group.",
)

DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "nearer": "nearer to it is better",
    "none": "no value is better than another",
}


def by_section() -> dict[Section, list[Metric]]:
    """Return what is listed, by section: all but comparisons of rates and metrics of labels with a twin."""
    kept = [m for m in METRICS.values() if m.section != "comparison" and not m.name.endswith(OF_LABELS)]
    sections: dict[Section, list[Metric]] = {
        section: [m for m in kept if m.section == section] for section in get_args(Section)
    }
    return {section: found for section, found in sections.items() if found}


def print_metric_tables() -> None:
    """Print a short table of rates, of comparisons, of the functions of each section, and of aliases."""
    sections = by_section()
    rates = [[m.name, RATES[m.name].label, RATES[m.name].formula] for m in sections.pop("rate")]
    print_rows(["name", "of a group s", "formula"], rates, title="metrics: rate")
    comparisons = [[f"RATE-{one.name}", one.formula] for one in COMPARISONS.values()]
    print_rows(["name", "formula"], comparisons, title="metrics: comparison of a rate X")
    aliases = [[m.name, f"{m.alias_of} ({m.source})"] for m in sections.pop("alias")]
    legacy = [[m.name, m.alias_of.partition("; ")[2]] for m in sections.pop("legacy")]
    for section, entries in sections.items():
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
    print_rows(["name", "is"], aliases, title="metrics: alias")
    print_rows(["name", "rules"], legacy, title=f"metrics: legacy, {SOURCE}")


def print_metric(name: str) -> None:
    """Print what there is to know about one metric, alias or not.

    Raises
    ------
    UserError
        When there is no such metric.
    """
    try:
        metric = find(name)
    except KeyError:
        raise user_error(f"no metric is called {shown(name)}", suggest(name, METRICS)) from None
    _print_page(metric, min(WIDEST, out().width))


def print_metrics() -> None:
    """Print what there is to know about every metric."""
    width = min(WIDEST, out().width)
    for paragraph in HEAD:
        say(textwrap.fill(paragraph, width, break_on_hyphens=False))
    for section, entries in by_section().items():
        say(f"\n{section.upper()}", "bold")
        for metric in entries:
            say("")
            _print_page(metric, width)
        if section == "rate":
            say("\nCOMPARISON OF A RATE X", "bold")
            for one in COMPARISONS.values():
                say(f"\nRATE-{one.name}", "bold")
                low, high, ideal = number(one.low), number(one.high), one.ideal
                best = "that of the rate" if one.of_rate else "none" if ideal is None else number(ideal)
                for line in (one.formula, f"range {low} to {high}, ideal {best}", one.undefined):
                    if line:
                        say(_indented(line, width))


def number(value: float) -> str:
    """Return a number of a range as text.

    >>> number(-math.inf), number(0.5)
    ('−∞', '0.5')
    """
    text = "∞" if math.isinf(value) else f"{abs(value):g}"
    return f"−{text}" if value < 0 else text


def _print_page(metric: Metric, width: int) -> None:
    say(f"{metric.name}{' *' if metric.name in DEFAULT_METRICS else ''}", "bold")
    for line in _lines(metric):
        say(_indented(line, width))


def _indented(line: str, width: int) -> str:
    """Return a line folded below a name; names in it stay whole."""
    return textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _lines(metric: Metric) -> list[str]:
    ideal = "" if metric.ideal is None else f", ideal {number(metric.ideal)}"
    on = "predictions and labels" if metric.on == "both" else metric.on
    needs = "the rows" if metric.needs == "rows" else metric.needs
    return [
        *([f"is {metric.alias_of}"] if metric.alias_of else []),
        metric.formula,
        f"range {number(metric.low)} to {number(metric.high)}{ideal}; {DIRECTIONS[metric.direction]}",
        f"needs {needs}; defined on {on}",
        metric.undefined,
        f"source: {metric.source}",
    ]
