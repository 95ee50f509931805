"""From an experiment to its cells, their keys and seeds. Pure: nothing is read or written."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from fairbench_cli.errors import suggest, user_error
from fairbench_cli.experiment.choices import Choice
from fairbench_cli.experiment.config import Experiment, Technique
from fairbench_cli.experiment.seeds import canonical, digest, seed_of
from fairbench_cli.experiment.source import Source

CELL_VERSION = 2  # raise it whenever the same key would give other numbers


@dataclass(frozen=True)
class Cell:
    """One cell of the job matrix: everything that decides its numbers, and the key made from it."""

    dataset: str
    attribute: str
    beta: float
    technique: Technique
    classifier: Choice
    seed: int
    key: str

    @property
    def source(self) -> tuple[str, str]:
        """Return the data set and attribute that the cell draws from."""
        return self.dataset, self.attribute

    def describe(self) -> dict[str, Any]:
        """Return the cell's columns in every result file."""
        return {
            "dataset": self.dataset,
            "attribute": self.attribute,
            "beta": self.beta,
            "intervention": self.technique.choice.name,
            "parameters": canonical(dict(self.technique.choice.parameters)),
            "include_protected": self.technique.include_protected,
            "classifier": self.classifier.name,
            "classifier_parameters": canonical(dict(self.classifier.parameters)),
        }

    def sample_seed(self, repeat: int) -> int:
        """Seed of the training set: the same for every technique and classifier, so repeats are paired.

        β is no part of it either: across β only the outcome and its descendants change.
        """
        return seed_of(self.seed, self.dataset, self.attribute, repeat, "train")

    def test_seed(self, repeat: int) -> int:
        """Seed of the test rows, where they are drawn from the network."""
        return seed_of(self.seed, self.dataset, self.attribute, repeat, "test")

    def technique_seed(self, repeat: int) -> int:
        """Seed of the intervention's own random choices: the same at every β, as the training set's."""
        choice = self.technique.choice
        return seed_of(self.sample_seed(repeat), choice.name, list(choice.parameters))

    def classifier_seed(self, repeat: int) -> int:
        """Seed of the classifier's own random choices, in 32 bits; the same for every technique."""
        choice = self.classifier
        return seed_of(self.sample_seed(repeat), choice.name, list(choice.parameters)) % 2**32


def make_cells(experiment: Experiment, sources: list[Source]) -> list[Cell]:
    """Multiply the axes out, in the order of the config.

    Raises
    ------
    UserError
        When two cells are the same: a β or a technique is listed twice.
    """
    cells = list(_cells(experiment, sources))
    seen: set[str] = set()
    for cell in cells:
        if cell.key in seen:
            raise user_error(
                f"listed twice: {cell.technique.choice} with {cell.classifier} at β = {cell.beta:g}",
                "keep one of the two",
                experiment.name,
            )
        seen.add(cell.key)
    return cells


def _cells(experiment: Experiment, sources: list[Source]) -> Iterator[Cell]:
    axes = product(sources, experiment.classifiers, experiment.techniques, experiment.sample.beta)
    for source, classifier, technique, given in axes:
        name, attribute = source.name
        if not source.choice.takes(technique.choice.name, classifier.name):
            continue
        beta = float(given) + 0.0  # -0.0 is 0.0
        decisive = {
            "cell_version": CELL_VERSION,
            "dataset": name,
            "source": source.decisive,
            "roles": [source.roles.label, attribute],
            "size": source.size,
            "shift": source.choice.bias.shift,
            "beta": beta,
            "test": experiment.test,
            "intervention": [technique.choice.name, dict(technique.choice.parameters)],
            "include_protected": technique.include_protected,
            "classifier": [classifier.name, dict(classifier.parameters)],
            "seed": experiment.seed,
        }
        yield Cell(name, attribute, beta, technique, classifier, experiment.seed, digest(decisive))


ONLY_KEYS = ("dataset", "attribute", "beta", "intervention", "include_protected", "classifier")


def only(cells: list[Cell], filters: tuple[str, ...]) -> list[Cell]:
    """Keep the cells that match every filter ``key=value``; a key given twice means either value.

    Raises
    ------
    UserError
        For an unknown key, a filter without "=", or a value that no cell has.
    """
    wanted: dict[str, set[str]] = {}
    for item in (part for text in filters for part in text.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            fix = "write KEY=VALUE, such as dataset=adult"
            raise user_error(f'cannot read the filter "{item}"', fix, "--only")
        if key not in ONLY_KEYS:
            raise user_error(f'unknown key "{key}"', suggest(key, ONLY_KEYS), "--only")
        known = {_shown(cell, key) for cell in cells}
        value = _number(value) if key == "beta" else value
        if value not in known:
            raise user_error(f'no cell has {key} "{value}"', suggest(value, known), "--only")
        wanted.setdefault(key, set()).add(value)
    kept = [cell for cell in cells if all(_shown(cell, key) in values for key, values in wanted.items())]
    if not kept:
        raise user_error("no cell matches all filters", "drop one of them", "--only")
    return kept


def _shown(cell: Cell, key: str) -> str:
    value = cell.describe()[key]
    return f"{value:.12g}" if key == "beta" else str(value).lower() if isinstance(value, bool) else str(value)


def _number(text: str) -> str:
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return text
