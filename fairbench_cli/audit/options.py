"""From options, and a file of them, to a config that is checked, with the defaults of its preset."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from fairbench_cli.audit.config import (
    DEFAULT,
    EXCLUDING,
    FOUR_FIFTHS,
    MISSING,
    MOST_CLUSTERS,
    MOST_SCORES,
    READERS,
    TAU,
    UNDECIDED,
    USED_BY_PLANS,
    WORSE,
    AuditConfig,
    Edges,
    PlanConfig,
    side_of,
    split_worse,
)
from fairbench_cli.audit.margins import WRITE_RATE, rate_mistake
from fairbench_cli.audit.metrics import COMPARED, HARMED, ROLL_UPS, canonical, has_margin, has_tau, kind
from fairbench_cli.base.errors import Flag, MessageText, Problem, find_nearest, format_value, refuse, suggest
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.base.validation import sort_by_line, to_problems, usual_key
from fairbench_cli.base.yaml_document import KeyPath, YamlDocument
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE

SMALL = 0.02  # of the data: smaller categories may be left out, in both American rules
OUT = "leave one of the two out"
MOST_NAMED = 6  # attributes in a message

# What a preset lays under what the user gives. Fewer rows than `min-group` rule out no reference: what rules
# one out in the two American ones is its share of the data.
_HIGHEST: dict[str, Any] = {
    "ref-method": "maximum",
    "metric": ["selection-rate"],
    "min-share": SMALL,
    "min-group": 1,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "aequitas": {"rule": "point", "metric": ["unsupervised-parity", "supervised-parity"], "min-group": 1},
    "eeoc": _HIGHEST,
    "ll144": _HIGHEST,
}

Config = TypeVar("Config", bound=AuditConfig)
Check = tuple[str, object, str, MessageText]  # key, whether it is wrong, what is wrong with it, what to do


def changed_options(config: AuditConfig) -> dict[str, Any]:
    """Return the keys and values, as in a file of options, that differ from the usual ones.

    >>> changed_options(AuditConfig(title="Parole"))
    {'title': 'Parole'}
    """
    usual = AuditConfig()
    changed = {name for name in AuditConfig.model_fields if getattr(config, name) != getattr(usual, name)}
    return config.model_dump(mode="json", by_alias=True, include=changed)


def read_config(
    options: Mapping[str, Any],
    path: Path | None = None,
    before: str = "",
    kind: type[Config] = AuditConfig,  # type: ignore[assignment]
) -> Config:
    """Check options, those given laid over those of a file.

    Parameters
    ----------
    given : mapping
        Values by key (with dashes or underscores), such as ``{"ref": {"race": "Caucasian"}, "tau": 0.8}``.
        None is left out.
    path : Path, optional
        A YAML file with the same keys.
    before : str
        What messages write before a key that was given: "--" on the command line.
    kind : type
        The keys that there are.

    Raises
    ------
    UserError
        Listing every mistake.

    Examples
    --------
    >>> config = read_config({"tau": {"fpr": 0.9}, "top_k": [10, 20]})
    >>> config.tau, config.taus, [str(decision) for decision in config.decisions]
    (0.8, {'fpr': 0.9}, ['top 10', 'top 20'])
    """
    keys = {key.replace("_", "-"): value for key, value in options.items() if value is not None}
    keys = {usual_key(key): value for key, value in keys.items()}
    spots: dict[KeyPath, str] = {(key,): before + key for key in keys}
    if path:
        from fairbench_cli.base.strict_yaml import read_mapping

        file = _use_usual_keys(read_mapping(path, "a config", "write `tau: 0.8`"))
    else:
        file = YamlDocument({}, {}, "")
    document = _lay_over_file(keys, file, spots)
    try:
        config, checks = _cut_at_sides(kind.model_validate(document.data, by_name=False))
        if config.sliced_by and config.cluster == (config.sliced_by,) and config.months is None:
            # Rows of a month share it, and nothing else.
            config = config.model_copy(update={"cluster": None, "months": "differ"})
        checks += _check_options(config)
        problems = [
            Problem(problem, fix, document.where((key,))) for key, wrong, problem, fix in checks if wrong
        ]
    except ValidationError as error:
        problems = list(to_problems(error, document))
    refuse(sort_by_line(problems, document.name))
    return config


def _use_usual_keys(document: YamlDocument) -> YamlDocument:
    """Return a file of options with its keys under their usual names; where both are given, both stay."""
    names = {key: usual_key(key) if usual_key(key) not in document.data else key for key in document.data}
    data = {names[key]: value for key, value in document.data.items()}
    spots = {
        (names.get(key_path[0], key_path[0]), *key_path[1:]) if key_path else key_path: spot
        for key_path, spot in document.spots.items()
    }
    return YamlDocument(data, spots, document.name)


def _cut_at_sides(config: Config) -> tuple[Config, list[Check]]:
    """Return a config in which sides such as ``age<40`` are groups of a cut attribute; and what is wrong."""
    bins = dict(config.bins)
    checks = list[Check]()

    def cut(key: str, text: str) -> str:
        side = side_of(text)
        if side is None:
            return text
        cuts = bins.setdefault(side.name, side.edges)
        if isinstance(cuts, int) or (key != "ref" and cuts != side.edges):
            if isinstance(cuts, Edges):
                edges = set(cuts.edges) | {side.edge}
            else:
                edges = {side.edge}
            listed = ",".join(f"{edge:.15g}" for edge in sorted(edges))
            fix = ("name all edges at once: ", Flag("bins", (side.name, listed)))
            checks.append((key, True, f"{text} cuts {side.name}, which is cut otherwise, too", fix))
        return side.name

    names = [cut("attribute", text) for text in config.attributes or ()]
    crossed: list[tuple[str, ...]] = []
    for attributes_crossed in config.intersections:
        crossed.append(tuple(cut("intersect", text) for text in attributes_crossed))
    references: dict[str, str] = {}
    for text, group in config.references.items():
        if group:
            side = None
        else:
            side = side_of(text)
        name = text
        if side:
            name = cut("ref", text)
        edges = bins.get(name)
        references[name] = group
        if side and isinstance(edges, Edges):
            groups = edges.names(integers=True)
            references[name] = side.group_of(edges) or ""
            wrong = f"{text} is no group of {name}, which has {', '.join(groups)}"
            checks.append(("ref", not references[name], wrong, f"name one of them: {name}={groups[0]}"))
    sides = {
        "attributes": tuple(dict.fromkeys(names)) or None,
        "bins": bins,
        "references": references,
        "intersections": tuple(crossed),
    }
    changed = {key: value for key, value in sides.items() if value != getattr(config, key)}
    return (config.model_copy(update=changed) if changed else config), checks


def _lay_over_file(
    options: Mapping[str, Any], document: YamlDocument, spots: dict[KeyPath, str]
) -> YamlDocument:
    data = dict(document.data)
    if "ref" in options and "ref-method" not in options:
        data.pop("ref-method", None)
    if options.get("ref-method", "given") != "given" and "ref" not in options:
        data.pop("ref", None)
    for key, value in options.items():
        data[key] = _merge_values(data[key], value, READERS[key]) if key in data and key in READERS else value
    if data.get("ref"):
        data.setdefault("ref-method", "given")
    return YamlDocument(with_preset_defaults(data), {**document.spots, **spots}, document.name)


def _merge_values(base: Any, upper: Any, read: Callable[[Any], Any]) -> Any:
    """Lay one mapping over another; what cannot be read is left to be refused with everything else."""
    try:
        low = read(base)
        high = read(upper)
    except PydanticCustomError:
        return upper
    if isinstance(low, dict) and isinstance(high, dict):
        return {**low, **high}
    return upper


def with_preset_defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a config with those of its preset, if it has one, laid under them.

    >>> with_preset_defaults({"preset": "ll144", "attribute": ["sex", "race"]})["intersect"]
    [['sex', 'race']]
    """
    preset = data.get("preset")
    if not isinstance(preset, str) or preset not in DEFAULTS:
        return dict(data)
    with_defaults = {**DEFAULTS[preset], **data}
    excluded = data.get("exclude", [])
    if isinstance(excluded, str):
        excluded = [excluded]
    if preset in EXCLUDING and isinstance(excluded, list | tuple):
        with_defaults["exclude"] = list(dict.fromkeys((MISSING, *excluded)))
    pair = data.get("attribute")
    if preset == "ll144" and "intersect" not in data and isinstance(pair, list | tuple) and len(pair) == 2:
        with_defaults["intersect"] = [list(pair)]
    return with_defaults


def _check_options(config: AuditConfig) -> Iterator[Check]:
    """Yield what may contradict itself in a config, or have no effect."""
    keys_set = config.model_fields_set
    problem = f"ref-method {config.ref_method} and reference groups contradict each other"
    yield "ref-method", config.references and config.ref_method != "given", problem, OUT
    if isinstance(config, PlanConfig):
        yield from _check_plan(config)
        return
    for key, wrong, problem, fix in _check_preset(config):
        yield key, wrong, problem, fix or f"leave {key} out, or the preset"
    computed = set(COMPARED)
    computed.update(canonical(name) for name in config.requested)
    computed.update(canonical(name) for _, name in config.watched_metrics)
    for name in config.taus:
        fix = f"name it as a metric: {name}"
        yield "tau", canonical(name) not in computed, f"tau of {name} has no effect", fix
    problem = f"decision {config.effect} has no effect: metric says what decides"
    yield "decision", _is_idle_effect(config), problem, "leave one of the two out"
    no_list = "ties" in keys_set and not (config.top_k or config.top_share)
    yield "ties", no_list, "ties has no effect", "give top-k or top-share, or leave it out"
    yield from _check_comparison(config)
    yield from _check_gate(config)
    if config.mitigate:
        yield from _check_mitigation(config)
    if config.cluster is not None:
        yield from _check_clusters(config)
    several = len(config.decisions) > 1 or len(config.favourable) > 1
    cuts = {"threshold": config.threshold, "top-k": config.top_k, "top-share": config.top_share}
    for key, is_given in cuts.items():
        problem = f"{key} cuts scores, and classes are compared as they are"
        fix_of_classes: MessageText = ("leave it out, or ", Flag("outcome", "class"))
        yield key, bool(is_given) and config.outcome == "class", problem, fix_of_classes
    problem = "several decisions are audited, and one can be explained at a time"
    yield "explain", config.explained_by and several, problem, "give one decision"
    problem = "a scan deals out the outcomes as often as draws says, which is never"
    yield "draws", config.scan and config.draws == 0, problem, "give draws: 1000"
    both_files = "leaves rows out of one file, and these are paired with another's"
    yield "drop-missing", config.drop_missing and config.against, f"drop-missing {both_files}", OUT
    classes = config.favourable_label is not None and len(config.favourable) > 1
    problem = "favourable-label names one value, and several classes are audited"
    yield "favourable-label", classes, problem, OUT
    yield from _check_margins(config, computed)


def _check_mitigation(config: AuditConfig) -> Iterator[Check]:
    """Yield what moved thresholds cannot be estimated with."""
    problem = "mitigate moves one threshold, and which is not said"
    fix = ("give one: ", Flag("threshold", 0.5), "; decisions have none: audit their scores")
    yield "mitigate", len(config.decisions) != 1 or not config.threshold, problem, fix
    not_combined = {
        "weight": config.weight,
        "counts": config.counts,
        "cluster": config.cluster,
        "model-column": config.model_column,
        "against": config.against,
        "slice": config.sliced_by,
        "score": len(config.scores or ()) > 1,
        "ref-method": config.ref_method == "rest",
        "preset": config.preset == "ll144",
    }
    for key, is_given in not_combined.items():
        yield key, is_given, f"{key} cannot be combined with mitigate", OUT


def _check_margins(config: AuditConfig, computed: Set[str]) -> Iterator[Check]:
    """Yield what may contradict margins; `computed` are the metrics of the audit."""
    names = [name for name in config.margin if name != DEFAULT]
    for name in names:
        fix: MessageText = f"name it as a metric: {name}"
        is_idle = name not in NUMBER_MEASURES and canonical(name) not in computed
        if name == SHARE_ABOVE and config.above is None:
            is_idle, fix = True, ("say above which value: ", Flag("above", 50000))
        yield "margin", is_idle, f"margin of {name} has no effect", fix
        has_both = canonical(name) in map(canonical, config.taus)
        yield "margin", has_both, f"{name} passes by its tau or by its margin, and both are given", OUT
    # With a margin for every rate tau is left to metrics that are no differences.
    without_margin = [name for name in config.requested if has_tau(name) and not has_margin(name)]
    is_idle = DEFAULT in config.margin and config.tau != TAU and not without_margin
    yield "tau", is_idle, "tau has no effect: every rate passes by its margin", OUT


def _is_idle_effect(config: AuditConfig) -> bool:
    """Return whether it changes nothing that selection helps or harms: gaps on the metrics harm no group."""
    if config.effect is None or not any(kind(name) != "counts" for name in config.metrics):
        return False
    rates: list[str] = []
    for name in (*config.metrics, *(name for _, name in config.watched_metrics)):
        rates += ROLL_UPS.get(canonical(name), (canonical(name),))
    return HARMED[config.effect].keys().isdisjoint(rates)


def _check_plan(config: PlanConfig) -> Iterator[Check]:
    """Yield what a plan does not use."""
    for name in PlanConfig.model_fields:
        key = PlanConfig.model_fields[name].alias or name
        unused = name in config.model_fields_set and key not in USED_BY_PLANS
        yield key, unused, f"{key} has no effect on a plan", "leave it out: there are no decisions yet"
    yield "tau", config.taus, "a plan has one tau", "give it alone: 0.8"
    names = [name for name in config.margin if name != DEFAULT]
    yield "margin", names, "a plan has one margin", "give it alone: 0.05"
    if config.sd is not None:
        yield from _check_number_plan(config)
        return
    problem = "" if names or not config.margin else rate_mistake(config.margin[DEFAULT])
    yield "margin", problem, problem, WRITE_RATE
    too_large = [difference for difference in config.difference if abs(difference) >= 1]
    problem = "rates differ by less than 1"
    yield "difference", too_large, problem, "write 0.05; of numbers give their standard deviation: sd"
    for key, name in (("tau", "tau_by_metric"), ("ratio", "ratio")):
        problem = f"{key} has no effect: with a margin differences are planned"
        yield key, config.margin and name in config.model_fields_set, problem, OUT
    problem = "difference has no effect: without a margin ratios are planned"
    yield "difference", config.difference and not config.margin, problem, "give margin, or leave it out"


def _check_number_plan(config: PlanConfig) -> Iterator[Check]:
    """Yield what a plan of numbers does not use, or cannot."""
    for key, name in (("tau", "tau_by_metric"), ("rate", "rate"), ("ratio", "ratio")):
        problem = f"{key} has no effect: with sd differences of means are planned"
        yield key, name in config.model_fields_set, problem, OUT
    yield "counted", config.counted < 1, "counted has no effect: means are of all rows", OUT
    stated = config.margin.get(DEFAULT)
    in_percent = stated is not None and stated.unit == "percent"
    problem = "the margin is in percent of a mean, which is not known yet"
    yield "margin", in_percent, problem, "write it in units, 1500, or in standard deviations, 0.2sd"


def _check_comparison(config: AuditConfig) -> Iterator[Check]:
    """Yield what may contradict a comparison of models or slices."""
    scores = config.scores or ()
    ways = {"against": config.against, "score": len(scores) > 1, "slice": config.sliced_by}
    ways_named = [key for key, is_given in ways.items() if is_given]
    for second_way in ways_named[1:2]:
        fix = "compare one thing at a time: one score where there is another way"
        yield second_way, True, f"{ways_named[0]} and {second_way} both say what to compare", fix
    twice = len(set(scores)) < len(scores)
    yield "score", twice, "a column of scores is named twice", "name each once"
    problem = f"{len(scores)} columns of scores are too many to compare"
    yield "score", len(scores) > MOST_SCORES, problem, f"name at most {MOST_SCORES}"
    problem = f"{format_value(str(config.label))} is the label, and one of several scores"
    yield "label", len(scores) > 1 and config.label in scores, problem, "audit the labels on their own"
    problem = "rows that stand for several people are not paired with those of another file"
    yield "counts", config.counts and config.against, problem, "write a row per person"
    pairs = config.identifier and not config.against
    yield "id", pairs, "id has no effect", "give against, or leave it out"
    fix = "give against, slice or a second score"
    fix_worse = f"{fix}; with a baseline --fail stops for what is worse than there"
    for key, texts in (("fail-on", config.failing_metrics), ("warn-on", config.warning_metrics)):
        problem = "nothing is compared that could be worse"
        yield key, split_worse(texts) and not ways_named, problem, fix_worse
    yield (
        "months",
        config.months and not config.sliced_by,
        "months has no effect",
        "give slice, or leave it out",
    )
    without_chance = config.months and config.rule == "point"
    yield "months", without_chance, "months has no effect by the rule of points", OUT
    problem = "rows that share clusters are judged as if months were alike"
    yield "months", config.months and config.cluster, f"months has no effect: {problem}", OUT
    unused = "least_change_by_metric" in config.model_fields_set and not (ways_named or config.baseline)
    yield "least-change", unused, "least-change has no effect", f"{fix}; or baseline"
    if not ways_named:
        return
    problem = "several decisions are audited, and one can be compared at a time"
    yield ways_named[0], len(config.decisions) > 1, problem, "give one decision"
    drawn = config.ties == "random" and "slice" not in ways_named
    problem = "ties drawn at random would be another change than the one of the scores"
    yield "ties", drawn, problem, "use ties include or exclude"
    not_combined = {
        "model-column": config.model_column,
        "scan": config.scan,
        "explain": config.explained_by,
        "preset": config.preset == "ll144",
        "curves": config.curves and "slice" not in ways_named,
    }
    for key, is_given in not_combined.items():
        yield key, is_given, f"{key} cannot be combined with {ways_named[0]}", OUT


def _check_gate(config: AuditConfig) -> Iterator[Check]:
    """Yield what a gate names that is not there, as far as options say which attributes there are."""
    if config.attributes is not None:
        attributes = set(config.attributes)
        for crossed in config.intersections:
            attributes.update(crossed, (CROSS.join(crossed), CROSS.join(reversed(crossed))))
        for key, pairs in (("fail-on", config.fail_on), ("warn-on", config.warn_on)):
            for attribute, metric in pairs:
                problem, fix = unknown_attribute(attribute, metric, attributes)
                yield key, attribute and attribute not in attributes, problem, fix
    if config.baseline is None:
        return
    has_gate = config.has_gate or config.warning_metrics
    yield "baseline", not has_gate, "baseline has no effect", "give fail, fail-on or warn-on"
    for _, name in config.watched_metrics:
        problem = f"a baseline has no comparisons of {name}"
        yield "baseline", kind(name) == "counts", problem, "name a rate, or leave baseline out"


def unknown_attribute(attribute: str, metric: str, attributes: Iterable[str]) -> tuple[str, str]:
    """Return that a gate names an attribute that is not audited, or nothing that there is, and what to do.

    >>> unknown_attribute("agee", "", ["age"])
    ('"agee" is neither a metric nor an audited attribute', 'did you mean "age"?')
    """
    if metric:
        problem = f"no attribute called {format_value(attribute)} was audited"
        return problem, suggest(attribute, attributes)
    from fairbench_cli.measures.registry import COUNT_METRICS

    names = sorted(attributes)
    problem = f"{format_value(attribute)} is neither a metric nor an audited attribute"
    metrics = find_nearest(attribute, (*COMPARED, *ROLL_UPS)) or find_nearest(attribute, COUNT_METRICS)
    near = (find_nearest(attribute, names), metrics, find_nearest(attribute, (UNDECIDED, WORSE)))
    meant = [f'"{name}"' for name in dict.fromkeys(near) if name]
    if meant:
        return problem, f"did you mean {' or '.join(meant)}?"
    named = f"an attribute ({join_names(names, MOST_NAMED)}), " if names else ""
    return problem, f"name {named}a metric such as fpr, {UNDECIDED} or {WORSE}"


TAKES_ROWS = "takes each row for a person"  # of decisions; numbers are explained by clusters, too


def _check_clusters(config: AuditConfig) -> Iterator[Check]:
    """Yield what would take each row for a person of its own, where people have several."""
    names = config.cluster or ()
    twice = len(set(names)) < len(names)
    yield "cluster", twice, "a column of clusters is named twice", "name each once"
    problem = f"{len(names)} columns of clusters are too many: variances are known for two at most"
    yield "cluster", len(names) > MOST_CLUSTERS, problem, "name the two that matter most"
    searched = config.scan and len(names) > 1
    problem = "scan deals outcomes among people, which two columns of clusters do not make"
    yield "scan", searched, problem, "leave out scan, or name one column of clusters"
    draws = config.ties == "random" and (config.top_k or config.top_share)
    for key, is_given, problem in (
        ("ties", draws, "draws rows, not people"),
        ("explain", config.explained_by and config.outcome in ("decision", "class"), TAKES_ROWS),
        ("curves", config.curves, TAKES_ROWS),
    ):
        yield key, is_given, f"{key} {problem}", f"leave out {key}, or cluster"


def _check_preset(config: AuditConfig) -> Iterator[Check]:
    """Yield what may contradict the preset; where no fix is said, one of the two is left out."""
    preset = config.preset
    if preset is None:
        return
    people = f"preset {preset} counts people, and weights make something else of them"
    yield "weight", config.weight is not None, people, ""
    yield "min-group", config.min_group != 1, f"preset {preset} compares groups of any number of rows", ""
    if preset == "aequitas":
        problem = f"Aequitas has no reference method {config.ref_method}"
        fix = "use majority or minimum, or name groups with ref"
        yield "ref-method", config.ref_method in ("maximum", "rest"), problem, fix
        yield "rule", config.rule != "point", "Aequitas does not look at chance", ""
        yield "min-share", config.min_share > 0, "Aequitas compares all groups", ""
        yield "exclude", config.exclude, "Aequitas compares all groups", ""
        yield "cluster", config.cluster is not None, "Aequitas takes every row for a person", ""
        yield "margin", config.margin, "Aequitas judges by ratios", ""
        return
    metrics = [name for name in config.metrics if canonical(name) != "selection-rate"]
    yield "metric", metrics, f"preset {preset} goes by the selection rate, not by {', '.join(metrics)}", ""
    has_reference = config.references or config.ref_method != "maximum"
    problem = f"preset {preset} compares with the group that is selected most"
    yield ("ref" if config.references else "ref-method"), has_reference, problem, ""
    harms = config.effect == "punitive"
    yield "decision", harms, f"preset {preset} takes being selected for what helps", ""
    yield "cluster", config.cluster is not None, f"preset {preset} takes every row for a person", ""
    own_tau = config.tau_by_metric != {"default": FOUR_FIFTHS}
    if preset == "eeoc":
        yield "tau", own_tau, "preset eeoc is the rule of four fifths, so tau is 0.8", ""
        yield "margin", config.margin, "preset eeoc is the rule of four fifths, which is of ratios", ""
        return
    names = config.attributes or ()
    name_both = ("name both columns with ", Flag("attribute"))
    problem = "preset ll144 needs two attributes, sex and race or ethnicity"
    yield "attribute", len(names) != 2, problem, name_both
    crossed = len(names) == 2 and any(set(names) != set(crossing) for crossing in config.intersections)
    yield "intersect", crossed, f"preset ll144 crosses {' and '.join(names)}, and nothing else", ""
    problem = f"preset ll144 leaves out categories under {SMALL:g} of the data, not {config.min_share:g}"
    yield "min-share", config.min_share > SMALL, problem, f"give at most {SMALL:g}"
    gates = {"fail": config.fail, "fail-on": config.failing_metrics, "warn-on": config.warning_metrics}
    for key, asks in gates.items():
        fix = f"leave {key} out, or use preset eeoc"
        yield key, asks, "preset ll144 has no pass mark, so nothing can fail", fix
    limits_given = {"rule": config.rule != "evidence", "tau": own_tau, "margin": config.margin}
    for key, limits in limits_given.items():
        problem = f"preset ll144 has no pass mark, so {key} has no effect"
        yield key, limits, problem, f"leave {key} out"
