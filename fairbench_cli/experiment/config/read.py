"""From a name or a YAML file to an `ExperimentConfig`; every mistake is reported at once, with its line."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairbench_cli.base.errors import Problem, find_nearest, refuse, suggest, user_error
from fairbench_cli.base.files import read_text, shipped_folder, shipped_names
from fairbench_cli.base.plugins import find_clashes, short_name
from fairbench_cli.base.strict_yaml import override_values, read_mapping
from fairbench_cli.base.validation import Conflict, Findings, describe_finding, sort_by_line, to_problems
from fairbench_cli.base.yaml_document import KeyPath, YamlDocument
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import Card, card_reference
from fairbench_cli.experiment.config.components import (
    OF_CLASSIFIER,
    ONE_CANDIDATE,
    ComponentSpec,
    ReadContext,
    classifier_parameters,
    has_one_candidate,
    in_list,
    read_parameters,
    split_name,
)
from fairbench_cli.experiment.config.config import (
    OF_BETA,
    WITHOUT_EFFECT,
    BiasConfig,
    DatasetSpec,
    ExperimentConfig,
    attribute_names,
)
from fairbench_cli.experiment.config.outputs import DEFAULT_TABLES, FIGURES, NEEDS, TABLES
from fairbench_cli.experiment.config.worlds import SOME, WorldSpec, worlds_at
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import METRICS

SUFFIXES = (".yaml", ".yml")
CONFIG_ALIASES = {"cardoso2019-as-found": "cardoso2019"}
"""Shipped configs by the names that they had before."""
ABBREVIATIONS = ("al.", "eq.")
SHORT = 4  # words that do not make a title yet


def shipped_configs() -> Path:
    """Return the folder of the configs that come with fairbench."""
    return shipped_folder("configs")


def known_configs() -> list[str]:
    """Return the names of the shipped configs, sorted."""
    return shipped_names("configs")


def find_config(name: str) -> Path:
    """Return the path of a config: that of a file, or of a shipped config by its name.

    A name that looks like a path is one, and a file of that name comes before a shipped config.

    Raises
    ------
    UserError
        When there is neither.

    >>> find_config("quickstart").name, find_config("mine/own.yaml").as_posix()
    ('quickstart.yaml', 'mine/own.yaml')
    """
    path = Path(name)
    choices = known_configs()
    shipped_name = CONFIG_ALIASES.get(path.stem, path.stem)
    is_shipped = shipped_name in choices
    if path.is_file() or (path.exists() and not (is_shipped and name == path.stem)):
        return path
    if is_shipped and name == path.stem:
        return shipped_configs() / f"{shipped_name}.yaml"
    if is_shipped:
        fix = f"check the path, or write {shipped_name} alone: that config comes with fairbench"
        raise user_error(f"no such file: {name}", fix)
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        return path  # whoever reads it says what is wrong
    files = [file.name for file in Path().iterdir() if file.suffix in SUFFIXES]
    problem = f'"{name}" is neither a file nor a config that comes with fairbench'
    suggestions = list(choices)
    if not find_nearest(name, choices):
        suggestions += files
    raise user_error(problem, suggest(name, suggestions))


def read_dataset_names(path: Path) -> list[str]:
    """Return the names of the data sets of a config, as it writes them; nothing is checked.

    >>> read_dataset_names(shipped_configs() / "quickstart.yaml")
    ['adult', 'compas', 'dutch']
    """
    document = read_mapping(path, "a config", "let `fairbench init DATA` write one")
    names: list[str] = []
    for dataset in document.data.get("datasets", ()):
        names += [dataset] if isinstance(dataset, str) else dataset
    return list(dict.fromkeys(names))


def title(path: Path) -> str:
    """Return the first sentence of the comment that a config begins with; empty where there is none.

    >>> title(shipped_configs() / "quickstart.yaml")
    'A first look in a minute, offline'
    """
    title_words: list[str] = []
    for line in read_text(path).splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            title_words += line.lstrip("# ").split()
    for i, word in enumerate(title_words):
        if word not in ABBREVIATIONS and (word.endswith((".", ";")) or (word.endswith(":") and i > SHORT)):
            return " ".join(title_words[: i + 1]).rstrip(".;:")
    return " ".join(title_words)


def read_config(path: Path, overrides: tuple[str, ...] = ()) -> ExperimentConfig:
    """Read a config file, with ``key=value`` or ``key.key=value`` overrides laid over it.

    Raises
    ------
    UserError
        Listing every mistake, in the order of the file.
    """
    document = read_mapping(path, "a config", "let `fairbench init DATA` write one")
    return of_document(document, path.parent, overrides)


def of_document(document: YamlDocument, base: Path, overrides: tuple[str, ...] = ()) -> ExperimentConfig:
    """Return a config that has been read, checked as `read_config` does.

    Cards and plug-ins are looked for in `base`.
    """
    if "truth" in document.data and "datasets" not in document.data:
        problem = "this is a simulation, which has no data sets to run on"
        raise user_error(problem, f"run `fairbench run {document.name}`", document.where(("truth",)))
    if {"files", "label"} <= document.data.keys() and "datasets" not in document.data:
        card = Path(document.name)
        run_config = card.with_name(f"{card.stem}-run.yaml")
        fix = f"name it under a config's datasets: [./{card.name}]"
        if run_config.is_file():
            fix = f"run `fairbench run {run_config}`"
        raise user_error("this is a card, not a config", fix, document.where(("files",)))
    document, problems = override_values(document, overrides)
    config, context, wrong = parse(document, base)
    cards = []
    if "datasets" not in context.wrong:
        cards = [context.cards[spec.card] for spec in config.datasets]
    source = ParsedConfig(config, document, [card for _, card in cards])
    files = []
    if context.wrong.isdisjoint(("interventions", "classifiers", "metrics")):
        files = config.own_files
    problems += wrong
    problems += cross_checks(source, context.wrong)
    problems += find_clashes(files)
    refuse(sort_by_line(problems, document.name))
    return _resolved(config, cards, base).read_from(document)


def parse(document: YamlDocument, base: Path | None) -> tuple[ExperimentConfig, ReadContext, list[Problem]]:
    """Check every key by itself.

    Parameters
    ----------
    base : Path or None
        The folder that the paths of cards and plug-ins are relative to. None takes these as they stand, and
        runs nobody's code: for a config that results hold.

    Returns
    -------
    config : ExperimentConfig
        Where problems were found it has the keys that are right, and defaults for others.
    context : ReadContext
        The cards that were read, and the keys that are wrong.
    problems : list of Problem
    """
    context = ReadContext(base)
    problems = list[Problem]()
    try:
        config = ExperimentConfig.model_validate(document.data, context=context)
    except ValidationError as error:
        problems += to_problems(error, document)
        context.wrong.update(str(finding["loc"][0]) for finding in error.errors())
        config = ExperimentConfig.model_construct(**context.valid)
        context.wrong.update(ExperimentConfig.model_fields.keys() - vars(config).keys())  # misspelt ones
    return config, context, problems


def _resolved(config: ExperimentConfig, cards: list[tuple[Path, Card]], base: Path) -> ExperimentConfig:
    """Spell out what data sets have from their card and from `sample`, and what follows from the source."""
    real = config.sample.source == "data"
    datasets = []
    for i, (spec, (path, card)) in enumerate(zip(config.datasets, cards, strict=True)):
        shared = set(BiasConfig.model_fields) - spec.model_fields_set
        own_settings = {key: getattr(config.sample, key) for key in shared}
        bias = own_settings.get("bias", spec.bias)
        if bias is not None:
            key_path: KeyPath = ("sample", "bias") if "bias" in shared else ("datasets", i, spec.card, "bias")
            own_settings["bias"] = tuple(world.within(key_path) for world in bias)
            own_settings |= {key: BiasConfig.model_fields[key].default for key in OF_BETA}
        own_settings |= {"card": card_reference(path.resolve())}
        own_settings["name"] = spec.name or card.name
        works_on = _works_on(spec, card)
        for attribute in works_on:
            datasets.append(spec.model_copy(update=own_settings | {"attribute": (attribute,)}))
    test = config.test or ("holdout" if real else "original")
    if config.test and config.tested == "file":
        test = str((base / config.test).resolve())
    return config.model_copy(
        update={
            "datasets": tuple(datasets),
            # Real rows are as biased as they are: β is 0.
            "sample": config.sample.model_copy(update={"beta": (0.0,)}) if real else config.sample,
            "test": test,
        }
    )


def _works_on(spec: DatasetSpec, card: Card) -> tuple[str, ...]:
    """Return the protected attributes that an entry works on: those that it names, or the card's first."""
    return spec.attribute or tuple(card.protected)[:1]


@dataclass(frozen=True)
class ParsedConfig:
    """What there is to check.

    Parameters
    ----------
    config : ExperimentConfig
        As written: nothing has been filled in.
    document : YamlDocument
        Its file.
    cards : sequence of Card
        Of the data sets, in their order; fewer where some cannot be read.
    """

    config: ExperimentConfig
    document: YamlDocument
    cards: Sequence[Card]

    @property
    def datasets(self) -> Iterator[tuple[KeyPath, DatasetSpec, Card]]:
        """The data sets, each with its place in the file and its card."""
        for i, (spec, card) in enumerate(zip(self.config.datasets, self.cards, strict=True)):
            yield ("datasets", i, spec.card), spec, card

    def shared(self, key: str) -> Iterator[tuple[KeyPath, Any, Card]]:
        """Yield what holds for each data set of a setting that `sample` may say for all, and where it is."""
        sample = self.config.sample
        for key_path, spec, card in self.datasets:
            if key in spec.model_fields_set:
                yield key_path + (key,), getattr(spec, key), card
            else:
                yield ("sample", key), getattr(sample, key), card


def cross_checks(source: ParsedConfig, wrong: Collection[str]) -> list[Problem]:
    """Check the keys against each other, but for those that are `wrong` by themselves."""
    findings: list[Conflict] = []
    for keys, check in _CHECKS:
        if keys.isdisjoint(wrong):
            findings += check(source)
    return [Problem(problem, fix, source.document.where(key_path)) for key_path, problem, fix in findings]


def _without_effect(source: ParsedConfig) -> Iterator[Conflict]:
    """Find settings that mean nothing for the kind of source that the config names."""
    config = source.config
    models: list[tuple[KeyPath, BiasConfig, Sequence[DatasetSpec]]] = [
        (("sample",), config.sample, config.datasets)
    ]
    models += [(key_path, spec, [spec]) for key_path, spec, _ in source.datasets]
    for key_path, model, specs in models:
        _, where_not, fix = WITHOUT_EFFECT[min(map(config.source_of, specs))]
        for key in sorted(config.unused_settings(specs) & model.model_fields_set):
            yield key_path + (key,), f"{key} has no effect {where_not}", f"remove it, or {fix}"
    for key_path, spec, _ in source.datasets:
        if spec.source is not None and config.sample.source == "data":
            problem = "from has no effect: `sample: {from: data}` divides the real rows of every data set"
            yield key_path + ("from",), problem, f"remove it, or write `sample: {{from: {spec.source}}}`"


def _unknown_outcomes(source: ParsedConfig) -> Iterator[Conflict]:
    """Find uses of unknown outcomes that are not those of the network that ships with a card."""
    for key_path, spec, card in source.datasets:
        is_shipped = source.config.source_of(spec) == "shipped"
        if is_shipped and card.with_unknown_as(spec.unknown_as).label != card.label:
            problem = f"the fitted network of {card.name} is of unknown_as: {card.label.unknown_as}"
            fix = "leave out unknown_as, or write `from: network` to learn one from the data"
            yield key_path + ("unknown_as",), problem, fix


def _test_rows(source: ParsedConfig) -> Iterator[Conflict]:
    """Find test rows that do not go with where the training rows come from."""
    config = source.config
    real = config.sample.source == "data"
    without = [card.name for card in source.cards if not card.tested_files]
    if real and (config.test == "network" or (config.test == "original" and without)):
        problem = f"test: {config.test} does not go with `from: data`, which trains on real rows"
        fix = "write test: holdout, or leave it out"
        if config.test == "original":
            fix = f"{fix}; or name a file, or `test_files` or `test_rows` in the card of {without[0]}"
        yield ("test",), problem, fix
    if real and config.test not in (None, "holdout") and config.sample.balanced is not None:
        problem = "balanced draws test rows too, and these are those of a file"
        yield ("sample", "balanced"), problem, "remove it, or write test: holdout"
    if not real and config.test == "holdout":
        fix = "write `sample: {from: data}`, or test: original"
        yield ("test",), "test: holdout needs rows that are not trained on", fix


def _strata(source: ParsedConfig) -> Iterator[Conflict]:
    """Find measures within strata where the config names none, and strata that nothing is measured in."""
    config = source.config
    needing = [i for i, metric in enumerate(config.metrics) if metric.entry.needs == "strata"]
    if needing and not config.strata:
        problem = f"{config.metrics[needing[0]].name} compares groups within strata"
        yield ("metrics", needing[0]), problem, "write `strata: [ATTRIBUTE]`"
    if config.strata and not needing:
        fix = "add a metric such as unexplained-difference, or remove it"
        yield ("strata",), "strata has no effect on these metrics", fix


def _margin(source: ParsedConfig) -> Iterator[Conflict]:
    """Find margins of metrics that there are not."""
    names = {metric.name for metric in source.config.metrics} | set(METRICS)
    for name in source.config.margin:
        if name not in names:
            yield ("margin", name), f'margin names the unknown metric "{name}"', suggest(name, names)


def _sweep(source: ParsedConfig) -> Iterator[Conflict]:
    """Find a sweep whose measures all need more than counts, which it has alone."""
    config = source.config
    if config.sweep and all(config.metric(name).needs != "counts" for name in config.at_hand):
        problem = f"a sweep has counts alone, and {config.metrics[0].name} needs more"
        yield ("sweep",), problem, "add a metric such as accuracy"


def _outputs(source: ParsedConfig) -> Iterator[Conflict]:
    """Find tables and figures of what the config does not ask for."""
    config = source.config
    requested_tables = ("tables", "table", config.tables.show, TABLES)
    for key, kind, names, outputs in (requested_tables, ("figures", "figure", config.figures, FIGURES)):
        for i, name in enumerate(names):
            for is_met, problem, fix in (NEEDS[need] for need in outputs[name].needs):
                if not is_met(config):
                    yield (key, i), f"the {kind} {name} {problem}", fix
    if config.tables.layout == "paper" and set(DEFAULT_TABLES).isdisjoint(config.tables.show):
        problem = f"layout: paper is of {' and '.join(DEFAULT_TABLES)}, and neither is shown"
        yield ("tables", "layout"), problem, "add one to `show`, or remove the line"


def _controls(source: ParsedConfig) -> Iterator[Conflict]:
    """Find controls where there is no plain model that they are made of."""
    config = source.config
    if config.controls and not any(technique.is_plain for technique in config.interventions):
        problem = "controls are made of the plain model, and the config has none"
        yield ("controls",), problem, "add none to the interventions, or remove the line"


def _limits(source: ParsedConfig) -> Iterator[Conflict]:
    """Find what data sets are limited to and the config does not list, and else what they all leave out."""
    config = source.config
    techniques = [technique.spec for technique in config.interventions]
    for axis, specs in (("interventions", techniques), ("classifiers", config.classifiers)):
        names = [spec.name for spec in specs]
        limits = [getattr(spec, axis) for spec in config.datasets]
        unknown = False
        for dataset_path, spec, _ in source.datasets:
            for i, name in enumerate(getattr(spec, axis) or ()):
                if name not in names:
                    unknown = True
                    problem = f'"{name}" is not among the config\'s {axis}'
                    yield dataset_path + (axis, i), problem, suggest(name, set(names))
        listed_names = [short_name(str(split_name(item)[0])) for item in source.document.data.get(axis, [])]
        if unknown:
            continue
        for name in dict.fromkeys(names):
            if all(limit is not None and name not in limit for limit in limits):
                key_path: KeyPath = (axis, listed_names.index(name)) if name in listed_names else ()
                fix = f"remove it, or name it under a data set's {axis}"
                yield key_path, f"no data set takes {name}", fix


def _tuned_classifiers(source: ParsedConfig) -> Iterator[Conflict]:
    """Find parameters of classifiers that are tuned and that a classifier does not take."""
    for i, item in enumerate(source.document.data["interventions"]):
        name, options = split_name(item)
        tunings = options.get("tune", [])
        for j, tune in enumerate(in_list(tunings)):
            key_path: KeyPath = ("interventions", i, str(name), "tune", j, "over")
            theirs = classifier_parameters(tune["over"])
            if name in INTERVENTIONS and not ComponentSpec(str(name)).uses("classifier", INTERVENTIONS):
                for key in theirs:
                    no_effect = (
                        f"tune: {OF_CLASSIFIER}{key} has no effect on {name}, which has a model of its own"
                    )
                    yield key_path + (f"{OF_CLASSIFIER}{key}",), no_effect, "tune its own parameters"
                continue
            findings = Findings()
            for spec in source.config.classifiers:
                with findings.within():
                    read_parameters(spec.name, spec.takes(CLASSIFIERS), theirs)
            for (parameter, *inner), problem in findings.gathered:
                yield (*key_path, f"{OF_CLASSIFIER}{parameter}", *inner), problem.what, problem.fix
            if theirs and not findings and has_one_candidate(tune["over"]):
                yield key_path, ONE_CANDIDATE.what, ONE_CANDIDATE.fix


def _listed_twice(source: ParsedConfig) -> Iterator[Conflict]:
    """Find data sets whose results would have the same name."""
    seen = set()
    for key_path, spec, card in source.datasets:
        name = spec.name or card.name
        for attribute in _works_on(spec, card):
            if (name, attribute) in seen:
                fix = f"keep one, or give one another name with `as: {name}-2`"
                yield key_path, f"{name} with {attribute} is listed twice", fix
            seen.add((name, attribute))


def _nobody_favoured(source: ParsedConfig) -> Iterator[Conflict]:
    """Find a bias in both directions where the card does not say which group it favours."""
    for key_path, spec, card in source.datasets:
        settings = spec if "bias_direction" in spec.model_fields_set else source.config.sample
        for attribute in _works_on(spec, card):
            for name in _singles(card, spec.beta_on or source.config.sample.beta_on or (attribute,)):
                target = card.protected[name].bias
                if settings.bias_direction == "both" and target and not target.favoured:
                    problem = "bias_direction: both needs to know which group β favours"
                    fix = f"add `favoured` to {name}'s bias in the card, or write bias_direction: deprived"
                    yield key_path + ("bias_direction",), f"{problem}, and {card.name} does not say", fix


def _with_bias(source: ParsedConfig) -> Iterator[Conflict]:
    """Find settings of β where worlds stand in its place, and of worlds where there are none."""
    config = source.config
    worlds_of_datasets = [worlds for _, worlds, _ in source.shared("bias")]
    settings_with_paths: list[tuple[KeyPath, BiasConfig]] = []
    if None not in worlds_of_datasets:
        settings_with_paths.append((("sample",), config.sample))
    datasets = zip(source.datasets, worlds_of_datasets, strict=True)
    settings_with_paths += [
        (key_path, spec) for (key_path, spec, _), worlds in datasets if worlds is not None
    ]
    for key_path, settings in settings_with_paths:
        for key in sorted(OF_BETA & settings.model_fields_set):
            problem = f"{key} says how β changes the network, and here a `bias` takes its place"
            yield key_path + (key,), problem, "remove one of the two"
    all_worlds: list[WorldSpec] = []
    for worlds in worlds_of_datasets:
        all_worlds += worlds or ()
    takes_beta = None in worlds_of_datasets or any(world.takes_beta for world in all_worlds)
    if "beta" in config.sample.model_fields_set and not takes_beta:
        problem = "beta has no effect: every mechanism of the bias says its strength"
        yield ("sample", "beta"), problem, "remove it, or leave the strengths out"
    for key in ("test_labels", "test_features"):
        if key in config.model_fields_set and all(worlds is None for worlds in worlds_of_datasets):
            problem = f"{key} has no effect without a bias: what is recorded is true"
            yield (key,), problem, "remove it, or write `bias` under `sample`"
        elif (
            key == "test_features"
            and config.test_features == "recorded"
            and not any(world.cell_world(SOME).features for world in all_worlds)
        ):
            problem = f"{key}: recorded has no effect: no mechanism changes how features are recorded"
            yield (key,), problem, "remove it, or add `measurement` or `group` to the bias"


def _excluded_arcs(source: ParsedConfig) -> Iterator[Conflict]:
    """Find edits along the arc from the outcome where the network has none for sure."""
    for key in ("require_arc", "outcome_sink"):
        settings = zip(source.datasets, *map(source.shared, ("edit", "bias", key)), strict=True)
        for (_, spec, _), (key_path, edit, _), (_, bias, _), (_, excludes, _) in settings:
            if edit == "group" and excludes and bias is None and source.config.source_of(spec) == "network":
                problem = f"edit: group needs an arc from the outcome, and {key}: true leaves none"
                yield key_path, problem, f"remove {key}, or write edit: outcome"


def _strengths(source: ParsedConfig) -> Iterator[Conflict]:
    """Find β that are the strength of a mechanism which takes no such strength, and worlds called alike."""
    reported = set[KeyPath]()
    for bias_path, worlds, _ in source.shared("bias"):
        seen = set[tuple[str, float]]()
        if bias_path in reported:
            continue
        for world in worlds or ():
            try:
                cell_worlds = list(worlds_at([world], source.config.sample.beta))
            except ValidationError as error:
                wrong = error.errors()[0]
                reason = describe_finding(wrong)[0].replace("must", "it must")
                problem = f"{world}: the strength is left to β, and {reason}"
                yield (
                    bias_path + world.key_paths[0],
                    problem,
                    "write the strength, or other `beta` under `sample`",
                )
                continue
            for cell_world in cell_worlds:
                if (cell_world.name, cell_world.beta) in seen:
                    if world.key_paths:
                        key_path = bias_path + world.key_paths[0]
                    else:
                        key_path = bias_path
                    called = "no bias"
                    if cell_world.name:
                        called = f"the world {cell_world}"
                    fix = "keep one, or give one another name with `as: NAME` in a mechanism"
                    yield key_path, f"{called} is listed twice", fix
                seen.add((cell_world.name, cell_world.beta))
        reported.add(bias_path)


def _singles(card: Card, names: Iterable[str]) -> Iterator[str]:
    """Yield attributes of a card, of joint ones their parts; unknown ones are left out."""
    for name in names:
        role = card.protected.get(name)
        if role is not None:
            yield from role.of or (name,)


def _beta_on(source: ParsedConfig) -> Iterator[Conflict]:
    """Find attributes that β is to act on and a data set does not have."""
    for key_path, attributes, card in source.shared("beta_on"):
        for name in attributes or ():
            if name not in card.protected:
                problem = f'beta_on: {card.name} has no protected attribute "{name}"'
                yield key_path, problem, suggest(name, card.protected)


def _attributes(source: ParsedConfig) -> Iterator[Conflict]:
    """Find attributes and intersections that no data set has, or that are listed twice."""
    attributes = source.config.attributes
    for i, text in enumerate(attributes):
        names = attribute_names(text)
        if len(set(names)) < len(names):
            yield ("attributes", i), f'"{text}" names an attribute twice', "keep one"
        if set(names) in [set(attribute_names(listed)) for listed in attributes[:i]]:
            yield ("attributes", i), f'attribute "{text}" is listed twice', "keep one"
        problem = unknown_attribute(text, [card.protected for card in source.cards])
        if problem is not None:
            yield ("attributes", i), *problem


def unknown_attribute(text: str, choices: Sequence[Collection[str]]) -> tuple[str, str] | None:
    """Say what is wrong, and what to do, where no data set has an attribute or an intersection.

    Parameters
    ----------
    text : str
        Such as ``sex×race``.
    known : sequence of collections of str
        The protected attributes of each data set.
    """
    every_name = set(chain.from_iterable(choices))
    for name in attribute_names(text):
        if name not in every_name:
            return f'no data set has the protected attribute "{name}"', suggest(name, every_name)
    if not any(set(attribute_names(text)) <= set(names) for names in choices):
        return f"no data set has all attributes of {text}", "name attributes of one card"
    return None


_CHECKS: tuple[tuple[set[str], Callable[[ParsedConfig], Iterator[Conflict]]], ...] = (
    ({"datasets", "sample"}, _without_effect),
    ({"datasets", "sample"}, _unknown_outcomes),
    ({"sample", "test"}, _test_rows),
    ({"metrics", "strata"}, _strata),
    ({"metrics", "sweep"}, _sweep),
    ({"metrics", "margin"}, _margin),
    ({"datasets", "tables", "figures", "sweep", "sample", "interventions"}, _outputs),
    ({"controls", "interventions"}, _controls),
    ({"interventions", "classifiers"}, _tuned_classifiers),
    ({"datasets", "interventions", "classifiers"}, _limits),
    ({"datasets"}, _listed_twice),
    ({"datasets", "sample", "bias_direction"}, _nobody_favoured),
    ({"datasets", "sample"}, _beta_on),
    ({"datasets", "sample"}, _excluded_arcs),
    ({"datasets", "sample", "test_labels", "test_features"}, _with_bias),
    ({"datasets", "sample"}, _strengths),
    ({"datasets", "attributes"}, _attributes),
)
