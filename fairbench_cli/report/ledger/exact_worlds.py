"""What is known exactly of a run's worlds: the numbers of `worlds.json`, and worlds.csv."""

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
from fairbench_cli.base.grouping import group_by
from fairbench_cli.experiment.worlds import FILE, NUMBER, PLACE
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.report.ledger.cell_labels import NO_BIAS
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.journal_arrays import SITUATION
from fairbench_cli.report.ledger.results import RunResults

WORLDS_COLUMNS = [*PLACE, *NUMBER]

CONFUSION_CELLS = ("tn", "fp", "fn", "tp")
"""Quantities of a rule: the probability of a group, label and decision, as in groups.csv."""

CONSTANT_RULES = ("constant-refuse", "constant-accept")

Labels = Literal["true", "recorded", ""]
"""On which labels a number is; empty for what is on neither alone."""


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
    """What is known of the world of a data set, an attribute and β, without training anything.

    Parameters
    ----------
    numbers : dict
        By rule (empty for what is of no rule), quantity, labels and group.
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
        if any(one.method == "draws" for one in self.numbers.values()):
            return "draws"
        return "exact"

    def number(
        self, quantity: str, labels: Labels = "", group: str = "", rule: str = ""
    ) -> ExactNumber | None:
        """Return a number; None where it is not known."""
        found = self.numbers.get((rule, quantity, labels, group))
        if found is None or math.isnan(found.value):
            return None
        return found

    def value(self, quantity: str, labels: Labels = "", group: str = "", rule: str = "") -> float:
        """Return the value of a number; NaN where it is not known."""
        found = self.number(quantity, labels, group, rule)
        if found is None:
            return math.nan
        return found.value

    def accuracy(self, *rules: str) -> float:
        """Return the highest accuracy on true labels of some rules; NaN where it is not known."""
        return max(self.value(ACCURACY, "true", rule=rule) for rule in rules)

    def keeps_ranking(self, *groups: str) -> bool | None:
        """Return whether the record ranks the people of groups, by default of both, as the truth does.

        None where it is not known.
        """
        found = [self.value("kept", group=group) for group in groups or PAIR]
        if any(map(math.isnan, found)):
            return None
        return all(found)

    def counts(self, rule: str, labels: Labels) -> Counts | None:
        """Return the probabilities of group, label and decision of a rule; None where they are not known."""
        values = [
            self.value(cell, labels=labels, group=group, rule=rule)
            for group in PAIR
            for cell in CONFUSION_CELLS
        ]
        if np.isnan(values).any():
            return None
        return Counts(PAIR, np.array(values).reshape(2, 2, 2))

    def constant(self, labels: Labels) -> str:
        """Return the rule that decides the same for everybody and is the more accurate one."""
        refuse, accept = (self.value("accuracy", labels, rule=rule) for rule in CONSTANT_RULES)
        return CONSTANT_RULES[accept > refuse]

    def metric(self, rule: str, metric: Metric, labels: Labels) -> float:
        """Return a metric of the decisions of a rule; NaN where it is not known.

        Known are metrics of counts of everybody or of the two groups that are no statistic of a test.
        """
        counts = self.counts(rule, labels)
        known = metric.groups == "pair" or metric.section in ("rate", "accuracy")
        if counts is None or metric.needs != "counts" or metric.is_test or not known:
            return math.nan
        return float(measure(metric, counts))


UNKNOWN_WORLD = ExactWorld("", "", "", 0.0, include_protected=True, features="")
"""What is known of a world of which nothing is known: no number."""


@dataclass(frozen=True, eq=False)
class ExactWorlds:
    """What is known of the worlds of a run; of most runs without worlds nothing.

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
        found: dict[tuple[Any, ...], ExactWorld] = {}
        for row in self.frame[WORLDS_COLUMNS].itertuples(index=False, name=None):
            *place, rule, quantity, labels, group, value, error, how = row
            world = found.setdefault(tuple(place), ExactWorld(*place))
            world.numbers[rule, quantity, labels, group] = ExactNumber(value, error, how)
        return tuple(found.values())

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
        """Return the facts on a world. None where there are none.

        Parameters
        ----------
        include_protected, features : optional
            Whether rules see the protected attribute, and which features of test rows; None: the first that
            the run knows of.
        """
        for one in self.worlds:
            named = (one.dataset, one.attribute, one.world, one.beta) == (dataset, attribute, world, beta)
            seen = include_protected in (None, one.include_protected) and features in (None, one.features)
            if named and seen:
                return one
        return None


BETA = "β"


def strength_name(source: Mapping[str, Any], world: str) -> str:
    """Return the name of the strength of a world: the parameter of its first mechanism.

    Parameters
    ----------
    source : dict
        What the plan says about a data set.
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
    listed: list[Any] = next((one["mechanisms"] for one in source["worlds"] if one["world"] == world), [])
    names = [one if isinstance(one, str) else next(iter(one)) for one in listed]
    strengths = (MECHANISMS[name].load().strength for name in names)
    return next(filter(None, strengths), "")


def world_label(source: Mapping[str, Any], world: str) -> str:
    """Return the name of a world on a page: without one it is β's, or that without a bias.

    >>> world_label({"worlds": []}, "label"), world_label({"worlds": [{}]}, ""), world_label({}, "")
    ('label', 'no bias', 'β')
    """
    return world or (NO_BIAS if source.get("worlds") else BETA)


@lru_cache(maxsize=1)  # the CSV, the answer, the figures and the page are of one run
def exact_worlds_of_run(run: RunResults) -> ExactWorlds:
    """Return the facts that a run keeps of its worlds, of the data sets with results.

    Raises
    ------
    UserError
        When its file is damaged.
    """
    return read_worlds(run.folder, {(data.dataset, data.attribute) for data in run.datasets})


def read_worlds(folder: Path, sources: Iterable[tuple[str, str]] | None = None) -> ExactWorlds:
    """Return the facts that a folder of results keeps of its worlds.

    Parameters
    ----------
    sources : iterable of (str, str), optional
        The data sets and attributes that are wanted; None: all.

    Raises
    ------
    UserError
        When its file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return ExactWorlds(pd.DataFrame(columns=WORLDS_COLUMNS))
    try:
        found = json.loads(read_text(path))
        whole = matches_checksum(found) is not False
        frame = pd.DataFrame(found["facts"], columns=WORLDS_COLUMNS).astype(_KINDS)
    except (ValueError, TypeError, KeyError):
        whole = False
    if not whole:
        again = "run the experiment again (finished repeats are kept), or delete the file"
        raise user_error("what the run kept of its worlds was changed or damaged", again, str(path))
    if sources is not None:
        frame = frame[pd.MultiIndex.from_frame(frame[["dataset", "attribute"]]).isin([*sources])]
    return ExactWorlds(frame.reset_index(drop=True))


_KINDS = {"beta": float, "include_protected": bool, "value": float, "error": float}
"""Of the columns with numbers; a value that is not known is NaN."""


def worlds_frame(run: RunResults) -> pd.DataFrame | None:
    """Return worlds.csv; None where nothing is known."""
    known = exact_worlds_of_run(run)
    if known:
        return known.frame
    return None


PANEL_COLUMNS = [name for name in SITUATION if name not in ("world", "beta")]
PanelKey = tuple[str, ...]
WorldKey = tuple[str, float]


def worlds_by_panel(run: RunResults) -> Mapping[PanelKey, Sequence[WorldKey]]:
    """Return the worlds of a run, each with its β, by the values of `PANEL_COLUMNS`.

    In the order of the plan; those without any result are left out.
    """
    cells = [cell for data in run.datasets for cell in data.cells]
    places = group_by(cells, lambda cell: tuple(cell[name] for name in PANEL_COLUMNS))
    order = list(dict.fromkeys((cell["world"], cell["beta"]) for cell in run.plan.cells))
    worlds = {place: {(cell["world"], cell["beta"]) for cell in own} for place, own in places.items()}
    return {place: sorted(own, key=order.index) for place, own in worlds.items()}


def middle_worlds(worlds: Iterable[WorldKey]) -> list[WorldKey]:
    """Return each world once, at the strength in the middle: of those above 0, of two the larger.

    >>> middle_worlds([("", 0.0), *(("label", beta) for beta in (0.0, 0.25, 0.5, 0.75)), ("group", 0.1)])
    [('', 0.0), ('label', 0.5), ('group', 0.1)]
    >>> middle_worlds([("label", 0.25), ("label", 0.5)])
    [('label', 0.5)]
    """
    found = []
    for world, own in group_by(worlds, lambda one: one[0]).items():
        betas = sorted(beta for _, beta in own if beta) or [0.0]
        found.append((world, betas[len(betas) // 2]))
    return found


def exact_world(run: RunResults, place: PanelKey, world: WorldKey) -> ExactWorld:
    """Return the exact numbers of a world. `UNKNOWN_WORLD` where there are none."""
    dataset, attribute, *_ = place
    return exact_worlds_of_run(run).find(dataset, attribute, *world) or UNKNOWN_WORLD
