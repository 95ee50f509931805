"""The classifiers by name: a new one is its dataclass and a line here; tests and schema follow."""

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
