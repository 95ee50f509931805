"""The classifiers by name: a new one is its dataclass and a line here; tests and schema follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """Where a dataclass of parameters lives.

    Parameters
    ----------
    target : str
        ``module:Class``.
    """

    target: str

    def load(self) -> Any:
        """Return the class, imported without loading any learner's library."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)

    @property
    def summary(self) -> str:
        """First line of the class's docstring."""
        return str(self.load().__doc__).splitlines()[0]


@dataclass(frozen=True)
class Kind:
    """What a config lists under a key: the registered ones, and how anybody's class becomes one.

    Parameters
    ----------
    name : str
        What one is called; the config's key is its plural.
    registry : mapping
        The entries by name.
    group : str
        Of the entry points of installed packages.
    adapter : str
        The module whose `options_of`, `filled`, `fault` and `make` know what to do with a class or function
        that is not registered; see `classifiers/foreign.py`.
    """

    name: str
    registry: Mapping[str, Entry]
    group: str
    adapter: str

    @property
    def foreign(self) -> Any:
        """The adapter, imported."""
        return import_module(self.adapter)


_BUILDERS = "fairbench_cli.classifiers.builders"

CLASSIFIERS: dict[str, Entry] = {
    "c45": Entry(f"{_BUILDERS}:C45Settings"),
    "tree": Entry(f"{_BUILDERS}:Tree"),
    "logistic-regression": Entry(f"{_BUILDERS}:LogisticRegression"),
    "naive-bayes": Entry(f"{_BUILDERS}:NaiveBayes"),
    "random-forest": Entry(f"{_BUILDERS}:RandomForest"),
    "hist-gradient-boosting": Entry(f"{_BUILDERS}:HistGradientBoosting"),
    "svm": Entry(f"{_BUILDERS}:Svm"),
}

CLASSIFIER = Kind("classifier", CLASSIFIERS, "fairbench.classifiers", "fairbench_cli.classifiers.foreign")
