"""The data sets of a config: each with its card, its protected attribute and its bias settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairbench_cli.data.card import Card, find_card, known_cards, read_card
from fairbench_cli.errors import Problem, UserError, shown
from fairbench_cli.experiment.checks import in_list
from fairbench_cli.experiment.choices import named
from fairbench_cli.experiment.keys import Bias, DatasetOptions, SampleConfig
from fairbench_cli.strict_yaml import Document, Place
from fairbench_cli.validation import problems_of


@dataclass(frozen=True)
class DatasetChoice:
    """A data set of the experiment with its own bias settings.

    `name` is what the results call it; `interventions` and `classifiers` are the only ones to run on it, None
    means all.
    """

    card: Card
    card_path: Path
    attribute: str
    bias: Bias
    name: str
    interventions: tuple[str, ...] | None = None
    classifiers: tuple[str, ...] | None = None

    def takes(self, intervention: str, classifier: str) -> bool:
        """Tell whether the two are to run on it."""
        return intervention in (self.interventions or (intervention,)) and classifier in (
            self.classifiers or (classifier,)
        )


def read_datasets(
    document: Document, sample: SampleConfig, base: Path, problems: list[Problem]
) -> tuple[DatasetChoice, ...]:
    """Read the list of data sets; what is wrong with it is added to `problems`."""
    found: list[DatasetChoice] = []
    value = document.data.get("datasets")
    for i, item in enumerate(value if isinstance(value, list) else []):
        place: Place = ("datasets", i)
        name, options = named(item)
        if name is None:
            what = f"a dataset must be a name or `name: {{option: value}}`, not {shown(item)}"
            fix = f"use any of: {', '.join(known_cards())}"
            problems.append(Problem(what, fix, document.where(place)))
            continue
        try:
            choice = _dataset(document, (*place, name), options, sample, base)
        except UserError as error:
            problems += error.problems
            continue
        if any((other.name, other.attribute) == (choice.name, choice.attribute) for other in found):
            what = f"{choice.name} with {choice.attribute} is listed twice"
            fix = f"keep one, or give one another name with `as: {choice.name}-2`"
            problems.append(Problem(what, fix, document.where(place)))
        found.append(choice)
    return tuple(found)


def _dataset(
    document: Document, place: Place, options: Any, sample: SampleConfig, base: Path
) -> DatasetChoice:
    """Read one data set; `place` ends with its name."""
    problems: list[Problem] = []
    given, card, attribute = DatasetOptions(), None, ""
    try:
        given = DatasetOptions.model_validate(options)
    except ValidationError as error:
        problems += problems_of(error, DatasetOptions, document, place)
    try:
        path = find_card(str(place[-1]), base)
        card = read_card(path)
        asked = options.get("attribute") if isinstance(options, dict) else None
        attribute = card.attribute(asked if isinstance(asked, str) else None)
    except UserError as error:
        where = document.where((*place, "attribute") if card else place)
        problems += [Problem(p.what, p.fix, p.where or where) for p in error.problems]
    for axis in ("interventions", "classifiers"):
        listed = document.data.get(axis, ["c45"] if axis == "classifiers" else [])
        asked_for = tuple(str(named(item)[0]) for item in listed) if isinstance(listed, list) else ()
        problems += in_list(document, (*place, axis), axis[:-1], asked_for, f"the config's {axis}")
    own = {key: getattr(given, key) for key in given.model_fields_set & set(Bias.model_fields)}
    bias = Bias.model_validate({key: getattr(sample, key) for key in Bias.model_fields} | own)
    if card and attribute and bias.shift == "both":
        target = card.protected[attribute].bias
        if target and not target.favoured:
            what = f"shift: both needs to know whom β favours, and {card.name} does not say"
            fix = f"add `favoured` to the bias of {attribute} in the card, or write shift: deprived"
            problems.append(Problem(what, fix, document.where((*place, "shift"))))
    if problems or card is None:
        raise UserError(*problems)
    name = given.alias or card.name
    return DatasetChoice(card, path.resolve(), attribute, bias, name, given.interventions, given.classifiers)
