"""From a YAML file to an `ExperimentConfig`; every mistake in it is reported at once, with its line."""

from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from fairbench_cli.base.errors import Problem, UserError, shown, suggest, user_error
from fairbench_cli.base.plugins import clashes, is_plugin, short
from fairbench_cli.base.strict_yaml import Place, YamlDocument, laid_over, read_mapping
from fairbench_cli.base.validation import in_file_order, in_list, problems_of
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import Card, find_card, known_cards, read_card, shipped_cards
from fairbench_cli.data.represent import Representation
from fairbench_cli.experiment.config.checks import Given, cross_checks
from fairbench_cli.experiment.config.components import ComponentSpec, TechniqueSpec, named
from fairbench_cli.experiment.config.config import (
    BiasConfig,
    DatasetOptions,
    DatasetSpec,
    ExperimentConfig,
)
from fairbench_cli.experiment.config.grid import ParameterGrid
from fairbench_cli.experiment.config.outputs import FIGURES, TABLES
from fairbench_cli.experiment.config.own_metrics import OwnMetric, find_metric, known_names
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import METRICS

REPRESENTATIONS = get_args(Representation)

# Lists whose values must differ and, where they are names, be known.
_LISTS: tuple[tuple[Place, str, tuple[str, ...]], ...] = (
    (("tables",), "table", tuple(TABLES)),
    (("figures",), "figure", tuple(FIGURES)),
    (("strata",), "attribute", ()),
    (("representation",), "representation", REPRESENTATIONS),
    (("sample", "beta"), "β", ()),
)

# What replaces a required key that is missing or wrong, so that the other keys can still be checked.
_STAND_INS: dict[str, Any] = {
    "name": "x",
    "datasets": (DatasetSpec(card="x"),),
    "interventions": (TechniqueSpec(ComponentSpec("none"), include_protected=False),),
}


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
        what = "this is a simulation, which has no data sets to run on"
        raise user_error(what, f"run `fairbench simulate {document.name}`", document.where(("truth",)))
    if {"files", "label"} <= document.data.keys() and "datasets" not in document.data:
        card = Path(document.name)
        own = card.with_name(f"{card.stem}-run.yaml")
        fix = (
            f"run `fairbench run {own}`"
            if own.is_file()
            else f"name it under a config's datasets: [./{card.name}]"
        )
        raise user_error("this is a card, not a config", fix, document.where(("files",)))
    document, problems = laid_over(document, overrides)
    config, wrong, more = parse(document, base)
    cards, missing = _find_cards(document, base)
    wrong |= {"datasets"} if missing else set()
    given = Given(config, document, [card for _, card in cards])
    problems += [*more, *missing, *cross_checks(given, wrong), *clashes(config.own_files)]
    if problems:
        raise UserError(*in_file_order(problems, document.name))
    return _resolved(config, cards).read_from(document)


def parse(document: YamlDocument, base: Path | None) -> tuple[ExperimentConfig, set[str], list[Problem]]:
    """Check every key by itself.

    Parameters
    ----------
    base : Path or None
        The folder that the paths of plug-ins are relative to. None takes these as they stand, and runs
        nobody's code: for a config that results hold.

    Returns
    -------
    config : ExperimentConfig
        With defaults, or stand-ins, for the keys that are wrong.
    wrong : set of str
        Those keys.
    problems : list of Problem
    """
    data, problems, wrong = dict(document.data), list[Problem](), set[str]()
    data.setdefault("classifiers", [s.name for s in ExperimentConfig.model_fields["classifiers"].default])
    asked = data.get("representation")
    each = asked if isinstance(asked, list) else [asked]
    shown_as = list(dict.fromkeys(one for one in each if one in REPRESENTATIONS))
    seen = {
        "include_protected": (bool, [data.get("include_protected") is True]),
        "representation": (Representation, shown_as or REPRESENTATIONS[:1]),
    }
    classifiers = ParameterGrid(document, CLASSIFIERS, {}, base)

    def read_interventions(items: list[Any], found: list[Problem]) -> list[TechniqueSpec]:
        listed = data["classifiers"]
        right = isinstance(listed, tuple) and "classifiers" not in wrong
        grid = ParameterGrid(document, INTERVENTIONS, seen, base, listed if right else ())
        return [TechniqueSpec(spec, **more) for spec, more in grid.read(items, found)]

    for key, read in (
        ("datasets", lambda *given: _read_datasets(document, *given)),
        ("classifiers", lambda *given: [spec for spec, _ in classifiers.read(*given)]),
        ("interventions", read_interventions),
    ):
        if isinstance(data.get(key), list):
            found: list[Problem] = []
            data[key] = tuple(read(data[key], found))
            if found:
                problems += found
                wrong.add(key)
                data[key] = _STAND_INS.get(key, ExperimentConfig.model_fields[key].default)
    listed, own, found = _read_metrics(document, base)
    if isinstance(data.get("metrics"), list):
        data["metrics"] = listed
    if found:
        problems += found
        wrong.add("metrics")
        data.pop("metrics")
    for place, kind, known in _LISTS:
        listed = list(in_list(document, place, kind, known))
        problems += listed
        wrong |= {str(place[0])} if listed else set()
    try:
        return ExperimentConfig.model_validate(data).with_own(own), wrong, problems
    except ValidationError as error:
        problems += problems_of(error, ExperimentConfig, document)
        wrong |= {str(finding["loc"][0]) for finding in error.errors()}
    right = {key: value for key, value in data.items() if key not in wrong}
    return ExperimentConfig.model_validate(_STAND_INS | right).with_own(own), wrong, problems


def _read_metrics(
    document: YamlDocument, base: Path | None
) -> tuple[list[Any], list[OwnMetric], list[Problem]]:
    """Read the list of metrics: what results call each, those that are not registered, and what is wrong."""
    items = document.data.get("metrics")
    called: list[Any] = []
    own: list[OwnMetric] = []
    problems: list[Problem] = []
    for i, item in enumerate(items if isinstance(items, list) else []):
        where = document.where(("metrics", i))
        called.append(short(item) if isinstance(item, str) else item)
        if not isinstance(item, str) or item in METRICS:
            pass
        elif base is not None:
            try:
                own.append(find_metric(item, base))
            except UserError as error:
                problems += [Problem(one.what, one.fix, where) for one in error.problems]
        elif not is_plugin(item) and item not in known_names():
            problems.append(Problem(f'unknown metric "{item}"', suggest(item, known_names()), where))
    twice = YamlDocument(dict(document.data) | {"metrics": called}, document.spots, document.name)
    return called, own, [*problems, *in_list(twice, ("metrics",), "metric")]


def _read_datasets(document: YamlDocument, items: list[Any], problems: list[Problem]) -> list[DatasetSpec]:
    """Read the list of data sets; what is wrong with it is added to `problems`."""
    specs: list[DatasetSpec] = []
    for i, item in enumerate(items):
        name, options = named(item)
        if name is None:
            what = f"a dataset must be a name or `name: {{option: value}}`, not {shown(item)}"
            fix = f"use any of: {', '.join(known_cards())}"
            problems.append(Problem(what, fix, document.where(("datasets", i))))
            continue
        place: Place = ("datasets", i, name)
        for axis in ("interventions", "classifiers"):
            listed = document.data.get(axis, ["c45"] if axis == "classifiers" else [])
            known = [str(named(one)[0]) for one in listed] if isinstance(listed, list) else []
            known += [short(one) for one in known]
            problems += in_list(document, (*place, axis), axis[:-1], tuple(known), f"the config's {axis}")
        try:
            given = DatasetOptions.model_validate(options)
        except ValidationError as error:
            problems += problems_of(error, DatasetOptions, document, place)
        else:
            limits = {axis: getattr(given, axis) for axis in ("interventions", "classifiers")}
            called = {axis: names and tuple(map(short, names)) for axis, names in limits.items()}
            specs.append(
                DatasetSpec.model_construct(given.model_fields_set, card=name, **dict(given) | called)
            )
    return specs


def _find_cards(document: YamlDocument, base: Path) -> tuple[list[tuple[Path, Card]], list[Problem]]:
    """Find and read the card of every data set, and check that it has the attribute that is asked for."""
    cards: list[tuple[Path, Card]] = []
    problems: list[Problem] = []
    items = document.data.get("datasets")
    for i, item in enumerate(items if isinstance(items, list) else []):
        name, options = named(item)
        if name is None:
            continue
        place: Place = ("datasets", i, name)
        asked = options.get("attribute") if isinstance(options, dict) else None
        listed = asked if isinstance(asked, list) else [asked]
        try:
            path = find_card(name, base)
            card = read_card(path)
            cards.append((path, card))
            place = (*place, "attribute")
            for attribute in listed:
                card.attribute(attribute if isinstance(attribute, str) else None)
        except UserError as error:
            problems += [Problem(p.what, p.fix, p.where or document.where(place)) for p in error.problems]
    return cards, problems


def _resolved(config: ExperimentConfig, cards: list[tuple[Path, Card]]) -> ExperimentConfig:
    """Spell out what data sets have from their card and from `sample`, and what follows from the source."""
    real = config.sample.source == "data"
    datasets = []
    for spec, (path, card) in zip(config.datasets, cards, strict=True):
        shipped = path.resolve().parent == shipped_cards().resolve()
        shared = set(BiasConfig.model_fields) - spec.model_fields_set
        own = {key: getattr(config.sample, key) for key in shared}
        own |= {"card": path.stem if shipped else str(path.resolve())}
        own["name"] = spec.name or card.name
        attributes = spec.attribute or (card.attribute(None),)
        datasets += [spec.model_copy(update=own | {"attribute": (one,)}) for one in attributes]
    return config.model_copy(
        update={
            "datasets": tuple(datasets),
            # Real rows are as biased as they are: β is 0.
            "sample": config.sample.model_copy(update={"beta": (0.0,)}) if real else config.sample,
            "test": config.test or ("holdout" if real else "original"),
        }
    )
