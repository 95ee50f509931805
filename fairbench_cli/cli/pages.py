"""What there is to know of a technique, a classifier or a metric, as documents."""

import inspect
import math
import re
from collections.abc import Iterator
from typing import Any, get_args

from fairbench_cli.base.errors import find_nearest, format_value, user_error
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.base.plugins import suggest_name
from fairbench_cli.document.model import Document, Section, plain_table
from fairbench_cli.experiment.config.components import word
from fairbench_cli.experiment.config.metrics import suggest_metric
from fairbench_cli.measures.comparisons import COMPARISONS
from fairbench_cli.measures.literature_names import SOURCE
from fairbench_cli.measures.metric import OF_LABELS, Metric
from fairbench_cli.measures.metric import Section as Kind
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, NumberMeasure
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.registry import DEFAULT_METRICS, METRICS, find_metric

_FIELD = re.compile(r"^([A-Za-z_][\w, ]*?) : ")
INCLUDE = "Whether the classifier sees the protected attribute."

HEAD = (
    "A metric is a rate (over all rows), RATE-COMPARISON such as tpr-difference, one of the functions below, "
    "or an alias of these. A config's `metrics` takes any of them; without it a run computes the "
    f"{len(DEFAULT_METRICS)} marked *. Those that need strata take them from `strata:`, which names "
    "attributes. `fairbench audit --metric` and simulations take those that need counts. A metric "
    "defined on predictions and labels speaks of predictions under its name, and of the labels under its "
    f"name followed by {OF_LABELS}.",
    "g is the group compared, the deprived one in a run; r or ḡ its reference, the favoured one; s any "
    "group; y the label, ŷ the prediction, + the favourable outcome. A difference is X(g) − X(r), a ratio "
    "X(g) / X(r). π = P(ŷ=+), π₀ = P(y=+), α = P(ḡ), d = P(ŷ=+|ḡ) − P(ŷ=+|g), n(s) the rows of a group.",
)

UNITS = {"outcome": "in units of the outcome", "share": "a share from 0 to 1", "none": "without a unit"}

DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "nearer": "nearer to it is better",
    "none": "no value is better than another",
}


def component_page(name: str, thing: Any, *, technique: bool, foreign: Any = None) -> Document:
    """Return the page of a component, with type, range or choices, default and meaning of each parameter.

    `foreign` is the adapter of one that is not registered: it gives parameters, and has some of its own.
    """
    from pydantic import TypeAdapter

    summary, paragraphs, meanings = docstring(thing)
    parameters = described(thing)
    if foreign is not None:
        parameters |= dict.fromkeys(foreign.filled(thing) & set(parameters), "given, if the config does not")
        parameters |= {
            key: f"{in_words(TypeAdapter(type_).json_schema())}; default {word(default)}"
            for key, (type_, default) in foreign.options_of(thing).items()
        }
    if technique:
        parameters["include_protected"] = f"{in_words({'type': 'boolean'})}; default: the config's"
        meanings = {**meanings, "include_protected": INCLUDE}
    lines = tuple(f"{key}: {kind}. {meanings.get(key, '')}".rstrip() for key, kind in parameters.items())
    parameter_section = Section("parameters" if lines else "no parameters", lines)
    sentences = tuple(text for text in [summary] + paragraphs if text)
    return _page(Section(name, sentences, sections=(parameter_section,)))


def _page(section: Section) -> Document:
    """Return a document of one section, whose text is below its title."""
    return Document("", sections=(Section("", sections=(section,)),))


def described(thing: Any) -> dict[str, str]:
    """Return type, range or choices, and default of every parameter of a class or function, by name.

    >>> from fairbench_cli.classifiers.builders import Tree
    >>> described(Tree)["max_depth"], described(Tree)["pruning"]
    ('whole number of 1 or more, or null; default null', 'number of 0 or more; default 0.0')
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    types = inspect_parameters(thing).types
    descriptions = {}
    for key, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        try:
            kind = in_words(TypeAdapter(types[key]).json_schema())
        except (KeyError, PydanticSchemaGenerationError, PydanticUserError):
            kind = "any value"
        usual = f"default {word(parameter.default)}"
        if parameter.default is parameter.empty:  # the strength of a mechanism may be left to β
            usual = "must be given"
            if key == getattr(thing, "strength", None):
                usual = "default each β"
        descriptions[key] = f"{kind}; {usual}"
    return descriptions


def in_words(schema: dict[str, Any]) -> str:
    """Return the values that a JSON Schema allows, in words.

    >>> in_words({"enum": ["a", "b"]}), in_words({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5})
    ('a or b', 'number above 0 and at most 0.5')
    >>> in_words({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'whole number of 1 or more, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(in_words(alternative) for alternative in schema["anyOf"])
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        *first_choices, last_choice = map(str, schema["enum"])
        if first_choices:
            return f"{', '.join(first_choices)} or {last_choice}"
        return last_choice
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {in_words(schema.get('items', {}))}"
    type_words = {"number": "number", "integer": "whole number", "boolean": "true or false", "null": "null"}
    type_words["object"] = "mapping"
    return f"{type_words.get(str(kind), 'text' if kind == 'string' else 'any value')}{_range(schema)}"


def _range(schema: dict[str, Any]) -> str:
    low = schema.get("minimum")
    high = schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    below = schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None and below is None:
        return f" of {low:g} or more"
    limits = [
        f"{word} {bound:g}"
        for word, bound in (("at least", low), ("above", above), ("at most", high), ("below", below))
        if bound is not None
    ]
    if limits:
        return f" {' and '.join(limits)}"
    return ""


def docstring(thing: Any) -> tuple[str, list[str], dict[str, str]]:
    """Return the summary, further paragraphs, and the meaning of each parameter of a numpy docstring.

    >>> from fairbench_cli.classifiers.builders import Tree
    >>> docstring(Tree)[2]["min_leaf"]
    'Fewest rows (not weights) in a leaf.'
    """
    text = inspect.cleandoc(thing.__doc__ or "")
    head, *sections = re.split(r"\n(?=\w[^\n]*\n---+\n)", text)
    paragraphs = [" ".join(paragraph.split()) for paragraph in head.split("\n\n") if paragraph.strip()]
    meanings: dict[str, str] = {}
    for section in sections:
        title, _, *lines = section.splitlines()
        names: list[str] = []
        for line in lines if title == "Parameters" else ():
            if match := _FIELD.match(line):
                names = [name.strip() for name in match[1].split(",")]
            elif line.startswith(" "):
                for name in names:
                    meanings[name] = f"{meanings.get(name, '')} {line.strip()}".strip()
    code_quoted = [paragraph.replace("``", "`") for paragraph in paragraphs]
    return (code_quoted or [""])[0], code_quoted[1:], meanings


def by_section() -> dict[Kind, list[Metric]]:
    """Return the listed metrics, by section: no comparisons of rates, no metrics of labels with a twin."""
    metrics_listed = [
        m for m in METRICS.values() if m.section != "comparison" and not m.name.endswith(OF_LABELS)
    ]
    sections: dict[Kind, list[Metric]] = {}
    for section in get_args(Kind):
        metrics = [m for m in metrics_listed if m.section == section]
        if metrics:
            sections[section] = metrics
    return sections


def metric_tables() -> Document:
    """Return a short table of rates, of comparisons, of the functions of each section, and of aliases."""
    sections = by_section()
    rates = [[m.name, RATES[m.name].label, RATES[m.name].formula] for m in sections.pop("rate")]
    comparisons = [[f"RATE-{comparison.name}", comparison.formula] for comparison in COMPARISONS.values()]
    aliases = [[m.name, f"{m.alias_of} ({m.source})"] for m in sections.pop("alias")]
    legacy = [[m.name, m.alias_of.partition("; ")[2]] for m in sections.pop("legacy")]
    listed_sections = [
        _listed("rate", ["name", "of a group s", "formula"], rates),
        _listed("comparison of a rate X", ["name", "formula"], comparisons),
    ]
    for section, metrics in sections.items():
        rows = list(map(_function, metrics))
        listed_sections.append(_listed(section, ["name", "range", "ideal", "formula"], rows))
    numbers = [[measure.name, measure.label, measure.formula] for measure in NUMBER_MEASURES.values()]
    listed_sections.append(_listed("numbers, of an audit", ["name", "of a group g", "formula"], numbers))
    listed_sections.append(_listed("alias", ["name", "is"], aliases))
    listed_sections.append(_listed(f"legacy, {SOURCE}", ["name", "rules"], legacy))
    return Document("", sections=tuple(listed_sections))


def _listed(title: str, heads: list[str], rows: list[list[str]]) -> Section:
    return Section(f"metrics: {title}", tables=(plain_table("", heads, rows),))


def _function(metric: Metric) -> list[str]:
    ideal = ""
    if metric.ideal is not None:
        ideal = number(metric.ideal)
    return [metric.name, f"{number(metric.low)} to {number(metric.high)}", ideal, metric.formula]


def metric_page(name: str) -> Document:
    """Return the page of one metric, alias or not.

    Raises
    ------
    UserError
        When there is no such metric.
    """
    if name in NUMBER_MEASURES and name not in METRICS:
        return _page(_number_measure(NUMBER_MEASURES[name]))
    try:
        metric = find_metric(name)
    except KeyError:
        fix = suggest_metric(name)
        if find_nearest(name, METRICS) is None and find_nearest(name, NUMBER_MEASURES) is not None:
            fix = suggest_name(name, NUMBER_MEASURES)
        raise user_error(f"no metric is called {format_value(name)}", fix) from None
    return _page(_metric(metric))


def metric_pages() -> Document:
    """Return the page of every metric."""
    listed_sections: list[Section] = []
    for section, metrics in by_section().items():
        listed_sections.append(Section(section.upper(), sections=tuple(map(_metric, metrics))))
        if section == "rate":
            listed_sections.append(Section("COMPARISON OF A RATE X", sections=tuple(_comparisons())))
    measures = tuple(map(_number_measure, NUMBER_MEASURES.values()))
    listed_sections.append(Section("NUMBERS, OF AN AUDIT", sections=measures))
    return Document("", facts=HEAD, sections=tuple(listed_sections))


def _number_measure(measure: NumberMeasure) -> Section:
    """Return the page of a measure of numbers."""
    needs = "needs labels; " if measure.needs_truth else ""
    decides = "is shown, and cannot decide"
    if measure.has_margin:
        decides = "decides where it has a margin"
    lines = [
        f"{measure.label}: {measure.formula}",
        f"{needs}{UNITS[measure.unit]}",
        f"of fairbench audit --outcome number, where it {decides}; a run has no such outcomes",
    ]
    if measure.source:
        lines.append(f"source: {measure.source}")
    return Section(measure.name, tuple(lines))


def _comparisons() -> Iterator[Section]:
    for comparison in COMPARISONS.values():
        low = number(comparison.low)
        high = number(comparison.high)
        ideal = comparison.ideal
        if comparison.of_rate:
            best = "that of the rate"
        elif ideal is None:
            best = "none"
        else:
            best = number(ideal)
        lines = (comparison.formula, f"range {low} to {high}, ideal {best}", comparison.undefined)
        yield Section(f"RATE-{comparison.name}", tuple(filter(None, lines)))


def number(value: float) -> str:
    """Return a number of a range as text.

    >>> number(-math.inf), number(0.5)
    ('−∞', '0.5')
    """
    if math.isinf(value):
        text = "∞"
    else:
        text = f"{abs(value):g}"
    if value < 0:
        return f"−{text}"
    return text


def _gate(metric: Metric) -> Iterator[str]:
    """Yield what an audit tests where its gate is the metric, if that is not whether it is at best."""
    from fairbench_cli.audit.metrics import can_decide, canonical, kind

    problem = {
        "parts": f"{' and '.join(metric.farthest_of)}, and fails where one of these does",
        "rate": f"whether the groups have the same {metric.equal}",
        "limit": "whether it is worse than its limit",
    }
    if metric.tested in problem and kind(metric.name) == "counts" and can_decide(canonical(metric.name)):
        yield f"a gate of an audit tests {problem[metric.tested]}"


def _metric(metric: Metric) -> Section:
    ideal = ""
    if metric.ideal is not None:
        ideal = f", ideal {number(metric.ideal)}"
    if metric.on == "both":
        inputs = "predictions and labels"
    else:
        inputs = metric.on
    if metric.needs == "rows":
        needs = "the rows"
    elif metric.needs == "score-sums":
        needs = "scores"
    else:
        needs = metric.needs
    lines = []
    if metric.alias_of:
        lines.append(f"is {metric.alias_of}")
    lines += [
        metric.formula,
        f"range {number(metric.low)} to {number(metric.high)}{ideal}; {DIRECTIONS[metric.direction]}",
        f"needs {needs}; defined on {inputs}",
        metric.undefined,
    ]
    lines += _gate(metric)
    lines.append(f"source: {metric.source}")
    default_mark = " *" if metric.name in DEFAULT_METRICS else ""
    return Section(f"{metric.name}{default_mark}", tuple(lines))
