"""The exact numbers of a run's worlds: those of `worlds.json`, and worlds.csv."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.base.checksums import matches_checksum
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.experiment.worlds import FILE, NUMBER, PLACE
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.journal_arrays import SITUATION
from fairbench_cli.report.ledger.results import RunResults

WORLDS_COLUMNS = list(PLACE + NUMBER)

CONFUSION_CELLS = ("tn", "fp", "fn", "tp")
"""Quantities of a rule: the probability of a group, label and decision, as in groups.csv."""

CONSTANT_RULES = ("constant-refuse", "constant-accept")

Labels = Literal["true", "recorded", ""]
"""The labels that a number is computed on; empty for a number on neither alone."""


@dataclass(frozen=True)
class ExactNumber:
    """A number that is known of a world.

    Parameters
    ----------
    error : float
        Its standard error: 0 where it is exact.
    method : {"exact", "draws"}
    """

    value: float
    error: float = 0.0
    method: str = "exact"


@dataclass(frozen=True)
class ExactWorld:
    """The exact numbers of the world of a data set, an attribute and β: nothing is trained for them.

    Parameters
    ----------
    numbers : dict
        By rule (empty for a number of no rule), quantity, labels and group.
    """

    dataset: str
    attribute: str
    world: str
    beta: float
    include_protected: bool
    features: str
    numbers: dict[tuple[str, str, str, str], ExactNumber] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """``draws`` where some number is the mean of draws, else ``exact``."""
        if any(number.method == "draws" for number in self.numbers.values()):
            return "draws"
        return "exact"

    def number(
        self, quantity: str, labels: Labels = "", group: str = "", rule: str = ""
    ) -> ExactNumber | None:
        """Return a number; None where it is not known."""
        number = self.numbers.get((rule, quantity, labels, group))
        if number is None or math.isnan(number.value):
            return None
        return number

    def value(self, quantity: str, labels: Labels = "", group: str = "", rule: str = "") -> float:
        """Return the value of a number; NaN where it is not known."""
        number = self.number(quantity, labels, group, rule)
        if number is None:
            return math.nan
        return number.value

    def accuracy(self, *rules: str) -> float:
        """Return the highest accuracy on true labels of some rules; NaN where it is not known."""
        return max(self.value(ACCURACY, "true", rule=rule) for rule in rules)

    def keeps_ranking(self, *groups: str) -> bool | None:
        """Return whether the record ranks the people of groups, by default of both, as the truth does.

        None where it is not known.
        """
        ranking_kept = [self.value("kept", group=group) for group in groups or PAIR]  # 1 or 0 each
        if any(map(math.isnan, ranking_kept)):
            return None
        return all(ranking_kept)

    def counts(self, rule: str, labels: Labels) -> Counts | None:
        """Return the probabilities of group, label and decision of a rule; None where they are not known."""
        probabilities = []
        for group in PAIR:
            for cell in CONFUSION_CELLS:
                probabilities.append(self.value(cell, labels=labels, group=group, rule=rule))
        if np.isnan(probabilities).any():
            return None
        return Counts(PAIR, np.array(probabilities).reshape(2, 2, 2))  # by group, label and decision

    def constant(self, labels: Labels) -> str:
        """Return the rule that decides the same for everybody and is the more accurate one."""
        refuse_rule, accept_rule = CONSTANT_RULES
        refuse_accuracy = self.value(ACCURACY, labels, rule=refuse_rule)
        accept_accuracy = self.value(ACCURACY, labels, rule=accept_rule)
        if accept_accuracy > refuse_accuracy:
            return accept_rule
        return refuse_rule

    def metric(self, rule: str, metric: Metric, labels: Labels) -> float:
        """Return a metric of the decisions of a rule; NaN where it is not known.

        Known are metrics of counts of everybody or of the two groups that are no statistic of a test.
        """
        has_its_groups = metric.groups == "pair" or metric.section in ("rate", "accuracy")
        if metric.needs != "counts" or metric.is_test or not has_its_groups:
            return math.nan
        counts = self.counts(rule, labels)
        if counts is None:
            return math.nan
        return float(measure(metric, counts))


UNKNOWN_WORLD = ExactWorld("", "", "", 0.0, include_protected=True, features="")
"""Stands for a world without any exact number."""


@dataclass(frozen=True, eq=False)
class ExactWorlds:
    """The exact numbers of the worlds of a run; most runs without worlds have none.

    Parameters
    ----------
    frame : DataFrame
        worlds.csv: a number a row.
    """

    frame: pd.DataFrame

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return len(self.frame) > 0

    @cached_property
    def worlds(self) -> tuple[ExactWorld, ...]:
        """The numbers by world, in the order of the rows."""
        worlds: dict[tuple[Any, ...], ExactWorld] = {}
        for row in self.frame[WORLDS_COLUMNS].itertuples(index=False, name=None):
            world_key = row[: len(PLACE)]
            rule, quantity, labels, group, value, error, method = row[len(PLACE) :]
            if world_key not in worlds:
                worlds[world_key] = ExactWorld(*world_key)
            numbers = worlds[world_key].numbers
            numbers[rule, quantity, labels, group] = ExactNumber(value, error, method)
        return tuple(worlds.values())

    def find(
        self,
        dataset: str,
        attribute: str,
        world: str,
        beta: float,
        *,
        include_protected: bool | None = None,
        features: str | None = None,
    ) -> ExactWorld | None:
        """Return the exact numbers of a world; None where there are none.

        Parameters
        ----------
        include_protected, features : optional
            Whether rules see the protected attribute, and which features of test rows; None: the first that
            the run knows of.
        """
        for exact in self.worlds:
            if (exact.dataset, exact.attribute, exact.world, exact.beta) != (dataset, attribute, world, beta):
                continue
            if include_protected not in (None, exact.include_protected):
                continue
            if features in (None, exact.features):
                return exact
        return None


BETA = "β"


def strength_name(source: Mapping[str, Any], world: str) -> str:
    """Return the name of the strength of a world: the parameter of its first mechanism.

    Parameters
    ----------
    source : dict
        The plan's entry of a data set.
    world : str
        As results call it.

    Returns
    -------
    str
        "β" without worlds, where eq. (4) is at work; empty without a bias, and where the mechanism has no
        strength, such as omission.

    >>> flips = {"world": "label", "beta": 0.5, "mechanisms": [{"label": {"flip": 0.5}}]}
    >>> none = {"world": "", "beta": 0.0, "mechanisms": []}
    >>> [strength_name({"worlds": [flips, none]}, name) for name in ("label", "")], strength_name({}, "")
    (['flip', ''], 'β')
    """
    if not source.get("worlds"):
        return BETA
    # 1. The mechanisms of the first world of that name.
    mechanisms: list[Any] = []
    for source_world in source["worlds"]:
        if source_world["world"] == world:
            mechanisms = source_world["mechanisms"]
            break
    # 2. The first of them that has a strength.
    for mechanism in mechanisms:
        if isinstance(mechanism, str):
            name = mechanism
        else:
            name = next(iter(mechanism))  # the only key; its value has the options
        strength: str | None = MECHANISMS[name].load().strength
        if strength:
            return strength
    return ""


def world_label(source: Mapping[str, Any], world: str) -> str:
    """Return the name of a world on a page.

    A world without a name is "no bias", or "β" in a run without worlds.

    >>> world_label({"worlds": []}, "label"), world_label({"worlds": [{}]}, ""), world_label({}, "")
    ('label', 'no bias', 'β')
    """
    if world:
        return world
    if source.get("worlds"):
        return NO_BIAS
    return BETA


@lru_cache(maxsize=1)  # the CSV, the answer, the figures and the page are of one run
def exact_worlds_of_run(run: RunResults) -> ExactWorlds:
    """Return the exact numbers that a run keeps of its worlds, of the data sets with results.

    Raises
    ------
    UserError
        When its file is damaged.
    """
    return read_worlds(run.folder, {(data.dataset, data.attribute) for data in run.datasets})


def read_worlds(folder: Path, sources: Iterable[tuple[str, str]] | None = None) -> ExactWorlds:
    """Return the exact numbers that a folder of results keeps of its worlds; empty without a file of them.

    Parameters
    ----------
    sources : iterable of (str, str), optional
        The data sets and attributes that are requested; None: all.

    Raises
    ------
    UserError
        When its file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return ExactWorlds(pd.DataFrame(columns=WORLDS_COLUMNS))
    # 1. Read the file; without a checksum it is taken as it is.
    try:
        document = json.loads(read_text(path))
        is_intact = matches_checksum(document) is not False
        frame = pd.DataFrame(document["facts"], columns=WORLDS_COLUMNS).astype(_COLUMN_TYPES)
    except (ValueError, TypeError, KeyError):
        is_intact = False
    if not is_intact:
        fix = "run the experiment again (finished repeats are kept), or delete the file"
        raise user_error("what the run kept of its worlds was changed or damaged", fix, str(path))
    # 2. Select the rows of the data sets.
    if sources is not None:
        row_sources = pd.MultiIndex.from_frame(frame[["dataset", "attribute"]])
        frame = frame[row_sources.isin(list(sources))]
    return ExactWorlds(frame.reset_index(drop=True))


_COLUMN_TYPES = {"beta": float, "include_protected": bool, "value": float, "error": float}
"""Of the columns with numbers; a value that is not known is NaN."""


def worlds_frame(run: RunResults) -> pd.DataFrame | None:
    """Return worlds.csv; None where nothing is known."""
    exact = exact_worlds_of_run(run)
    if exact:
        return exact.frame
    return None


PANEL_COLUMNS = [name for name in SITUATION if name not in ("world", "beta")]
PanelKey = tuple[str, ...]
WorldKey = tuple[str, float]


def worlds_by_panel(run: RunResults) -> Mapping[PanelKey, Sequence[WorldKey]]:
    """Return the worlds of a run, each with its β, by the values of `PANEL_COLUMNS`.

    In the order of the plan; those without any result are left out.
    """
    # 1. The worlds of each panel that have a result.
    worlds_of_panel: dict[PanelKey, set[WorldKey]] = {}
    for dataset_repeats in run.datasets:
        for cell in dataset_repeats.cells:
            panel_key = tuple(cell[name] for name in PANEL_COLUMNS)
            worlds_of_panel.setdefault(panel_key, set()).add((cell["world"], cell["beta"]))
    # 2. Sort them as the plan has them.
    planned = list(dict.fromkeys((cell["world"], cell["beta"]) for cell in run.plan.cells))
    return {panel_key: sorted(worlds, key=planned.index) for panel_key, worlds in worlds_of_panel.items()}


def exact_world(run: RunResults, panel_key: PanelKey, world_key: WorldKey) -> ExactWorld:
    """Return the exact numbers of a world. `UNKNOWN_WORLD` where there are none."""
    dataset, attribute = panel_key[:2]
    world, beta = world_key
    return exact_worlds_of_run(run).find(dataset, attribute, world, beta) or UNKNOWN_WORLD
