"""What a config's keys say about each other, beyond each being right on its own."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from fairbench_cli.data.card import Card
from fairbench_cli.errors import Problem, suggest
from fairbench_cli.experiment.components import named
from fairbench_cli.experiment.config import WITHOUT_EFFECT, DatasetSpec, ExperimentConfig, attribute_names
from fairbench_cli.experiment.row_metrics import over_strata
from fairbench_cli.measures.registry import ROW_MEASURES
from fairbench_cli.strict_yaml import Document, Place

Finding = tuple[Place, str, str]  # where, what is wrong, what to do


def cross_checks(
    config: ExperimentConfig, document: Document, wrong: Collection[str], cards: Sequence[Card]
) -> list[Problem]:
    """Check the keys that are right against each other.

    Parameters
    ----------
    config : ExperimentConfig
        As written: nothing has been filled in.
    document : Document
        Its file, for the positions.
    wrong : collection of str
        Keys with mistakes of their own, which nothing is checked against.
    cards : sequence of Card
        Of the data sets, in their order, if these are right.
    """
    findings: list[Finding] = []
    for keys, check in _CHECKS.items():
        if not set(keys) & set(wrong):
            findings += check(config)
    if not {"datasets", "interventions", "classifiers"} & set(wrong):
        findings += _left_out(config, document)
    if "datasets" not in wrong:
        findings += _listed_twice(config, cards)
        if "attributes" not in wrong:
            findings += _attributes(config, cards)
        if "sample" not in wrong:
            findings += _nobody_favoured(config, cards)
    return [Problem(what, fix, document.where(place)) for place, what, fix in findings]


def _without_effect(config: ExperimentConfig) -> Iterator[Finding]:
    """Find settings that mean nothing for the kind of source that the config names."""
    settings, where_not, fix = WITHOUT_EFFECT[config.sample.source]
    parts = [(("sample",), config.sample), *_places(config)]
    for place, part in parts:
        for key in sorted(settings & part.model_fields_set):
            yield (*place, key), f"{key} has no effect {where_not}", f"remove it, or {fix}"


def _test_rows(config: ExperimentConfig) -> Iterator[Finding]:
    """Find test rows that do not go with where the training rows come from."""
    real = config.sample.source == "data"
    if real and config.test in ("original", "network"):
        what = f"test: {config.test} does not go with `from: data`, which trains on real rows"
        yield ("test",), what, "write test: holdout, or leave it out"
    if not real and config.test == "holdout":
        fix = "write `sample: {from: data}`, or test: original"
        yield ("test",), "test: holdout needs rows that are not trained on", fix


def _strata(config: ExperimentConfig) -> Iterator[Finding]:
    """Find measures within strata where the config names none, and strata that nothing is measured in."""
    needing = [i for i, name in enumerate(config.metrics) if over_strata(name)]
    if needing and not config.strata:
        what = f"{config.metrics[needing[0]]} compares groups within strata"
        yield ("metrics", needing[0]), what, "write `strata: [ATTRIBUTE]`"
    if config.strata and not needing:
        fix = "add a metric such as unexplained-difference, or remove it"
        yield ("strata",), "strata has no effect on these metrics", fix


def _sweep(config: ExperimentConfig) -> Iterator[Finding]:
    """Find a sweep whose measures all need rows: it has counts alone."""
    if config.sweep and all(name in ROW_MEASURES for name in config.metrics):
        what = f"a sweep has counts alone, and {config.metrics[0]} needs rows"
        yield ("sweep",), what, "add a metric such as accuracy"


def _figures(config: ExperimentConfig) -> Iterator[Finding]:
    """Find figures of what the config does not ask for."""
    for i, figure in enumerate(config.figures):
        if figure == "sweep" and config.sweep is None:
            yield ("figures", i), "the figure sweep needs a sweep", "write `sweep: acceptance-rate`"
        if figure == "network" and config.sample.source == "data":
            yield ("figures", i), "the figure network has none to draw with `from: data`", "remove it"
        if figure == "oracle" and "oracle" not in [t.spec.name for t in config.interventions]:
            yield ("figures", i), "the figure oracle needs the oracle", "add oracle to `interventions`"


_CHECKS: dict[tuple[str, ...], Callable[[ExperimentConfig], Iterator[Finding]]] = {
    ("sample", "datasets"): _without_effect,
    ("sample", "test"): _test_rows,
    ("metrics", "strata"): _strata,
    ("metrics", "sweep"): _sweep,
    ("figures", "sweep", "sample", "interventions"): _figures,
}


def _left_out(config: ExperimentConfig, document: Document) -> Iterator[Finding]:
    """Find what every data set leaves out."""
    chosen = {
        "interventions": [technique.spec.name for technique in config.interventions],
        "classifiers": [spec.name for spec in config.classifiers],
    }
    for axis, names in chosen.items():
        places = [named(item)[0] for item in document.data.get(axis, [])]
        limits = [getattr(spec, axis) for spec in config.datasets]
        for name in dict.fromkeys(names):
            if all(limit is not None and name not in limit for limit in limits):
                place: Place = (axis, places.index(name)) if name in places else ()
                fix = f"remove it, or name it under a data set's {axis}"
                yield place, f"no data set takes {name}", fix


def _listed_twice(config: ExperimentConfig, cards: Sequence[Card]) -> Iterator[Finding]:
    seen = set()
    for (place, spec), card in zip(_places(config), cards, strict=True):
        name, attribute = spec.name or card.name, card.attribute(spec.attribute or None)
        if (name, attribute) in seen:
            fix = f"keep one, or give one another name with `as: {name}-2`"
            yield place, f"{name} with {attribute} is listed twice", fix
        seen.add((name, attribute))


def _nobody_favoured(config: ExperimentConfig, cards: Sequence[Card]) -> Iterator[Finding]:
    """Find a bias in both directions where the card does not say whom it favours."""
    for (place, spec), card in zip(_places(config), cards, strict=True):
        own = "bias_direction" in spec.model_fields_set
        attribute = card.attribute(spec.attribute or None)
        target = card.protected[attribute].bias
        if (spec if own else config.sample).bias_direction == "both" and target and not target.favoured:
            what = f"bias_direction: both needs to know whom β favours, and {card.name} does not say"
            fix = f"add `favoured` to the bias of {attribute} in the card, or write bias_direction: deprived"
            yield (*place, "bias_direction"), what, fix


def _attributes(config: ExperimentConfig, cards: Sequence[Card]) -> Iterator[Finding]:
    known = {card.name: tuple(card.protected) for card in cards}
    for i, what, fix in unknown_attributes(config.attributes, known):
        yield ("attributes", i), what, fix


def unknown_attributes(
    attributes: Sequence[str], known: Mapping[str, Collection[str]]
) -> Iterator[tuple[int, str, str]]:
    """Find attributes and intersections that a data set does not have, or that are listed twice.

    Parameters
    ----------
    attributes : sequence of str
        In their canonical spelling, such as ``sex×race``.
    known : mapping
        The protected attributes of each data set, by its name.

    Yields
    ------
    index, what is wrong, what to do
    """
    for i, text in enumerate(attributes):
        names = attribute_names(text)
        if len(set(names)) < len(names):
            yield i, f'"{text}" names an attribute twice', "keep one"
        if set(names) in [set(attribute_names(other)) for other in attributes[:i]]:
            yield i, f'attribute "{text}" is listed twice', "keep one"
        for name in dict.fromkeys(names):
            for dataset, own in known.items():
                if name not in own:
                    yield i, f'data set "{dataset}" has no protected attribute "{name}"', suggest(name, own)


def _places(config: ExperimentConfig) -> list[tuple[Place, DatasetSpec]]:
    return [(("datasets", i, spec.card), spec) for i, spec in enumerate(config.datasets)]
