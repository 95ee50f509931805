"""What is known exactly of a run's worlds: its `worlds.json` as numbers and as worlds.csv."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.base.checksums import is_whole
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.experiment.worlds import FILE, NUMBER, PLACE
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS

COLUMNS = [*PLACE, *NUMBER]

CELLS = ("tn", "fp", "fn", "tp")
"""Quantities of a rule: the probability of a group, label and decision, as in groups.csv."""

CONSTANT = ("constant-refuse", "constant-accept")

Labels = Literal["true", "recorded"]


@dataclass(frozen=True)
class ExactNumber:
    """A number that is known of a world.

    Parameters
    ----------
    error : float
        Its standard error: 0 where it is exact.
    how : {"exact", "draws"}
    """

    value: float
    error: float = 0.0
    how: str = "exact"


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
    def how(self) -> str:
        """``draws`` where some number is the mean of draws, else ``exact``."""
        return "draws" if any(one.how == "draws" for one in self.numbers.values()) else "exact"

    def number(
        self, quantity: str, labels: Labels | Literal[""] = "", group: str = "", rule: str = ""
    ) -> ExactNumber | None:
        """Return a number; None where it is not known."""
        found = self.numbers.get((rule, quantity, labels, group))
        return None if found is None or math.isnan(found.value) else found

    def value(
        self, quantity: str, labels: Labels | Literal[""] = "", group: str = "", rule: str = ""
    ) -> float:
        """Return the value of a number; NaN where it is not known."""
        found = self.number(quantity, labels, group, rule)
        return math.nan if found is None else found.value

    def kept(self, *groups: str) -> bool | None:
        """Return whether the record ranks the people of groups, by default of both, as the truth does.

        None where it is not known.
        """
        found = [self.value("kept", group=group) for group in groups or PAIR]
        return None if any(map(math.isnan, found)) else all(found)

    def counts(self, rule: str, labels: Labels) -> Counts | None:
        """Return the probabilities of group, label and decision of a rule; None where they are not known."""
        values = [self.value(cell, labels=labels, group=group, rule=rule) for group in PAIR for cell in CELLS]
        return None if np.isnan(values).any() else Counts(PAIR, np.array(values).reshape(2, 2, 2))

    def constant(self, labels: Labels) -> str:
        """Return the rule that decides the same for everybody and is the more accurate one."""
        refuse, accept = (self.value("accuracy", labels, rule=rule) for rule in CONSTANT)
        return CONSTANT[accept > refuse]

    def metric(self, rule: str, metric: Metric, labels: Labels) -> float:
        """Return a metric of the decisions of a rule; NaN where it is not known.

        Known are metrics of counts of everybody or of the two groups that are no statistic of a test.
        """
        counts = self.counts(rule, labels)
        known = metric.groups == "pair" or metric.section in ("rate", "accuracy")
        if counts is None or metric.needs != "counts" or metric.is_test or not known:
            return math.nan
        return float(measure(metric, counts))


@dataclass(frozen=True, eq=False)
class ExactWorlds:
    """What is known of the worlds of a run; of most runs without worlds nothing.

    Parameters
    ----------
    frame : DataFrame
        worlds.csv: a number a row.
    worlds : tuple of ExactWorld
        The same by world.
    """

    frame: pd.DataFrame
    worlds: tuple[ExactWorld, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.worlds)

    def at(
        self,
        dataset: str,
        attribute: str,
        world: str,
        beta: float,
        include_protected: bool | None = None,
        features: str | None = None,
    ) -> ExactWorld | None:
        """Return what is known of a world; None where nothing is.

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


NOTHING = ExactWorlds(pd.DataFrame(columns=COLUMNS))


BETA = "β"


def strength_of(source: Mapping[str, Any], world: str) -> str:
    """Return what the strength of a world is called: the parameter of its first mechanism.

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
    >>> [strength_of({"worlds": [flips, none]}, name) for name in ("label", "")], strength_of({}, "")
    (['flip', ''], 'β')
    """
    if not source.get("worlds"):
        return BETA
    listed: list[Any] = next((one["mechanisms"] for one in source["worlds"] if one["world"] == world), [])
    names = [one if isinstance(one, str) else next(iter(one)) for one in listed]
    strengths = (MECHANISMS[name].load().strength for name in names)
    return next(filter(None, strengths), "")


def world_called(source: Mapping[str, Any], world: str) -> str:
    """Return what a page calls a world: without a name it is β's, or that without a bias.

    >>> world_called({"worlds": []}, "label"), world_called({"worlds": [{}]}, ""), world_called({}, "")
    ('label', 'no bias', 'β')
    """
    return world or (NO_BIAS if source.get("worlds") else BETA)


@lru_cache(maxsize=1)  # the CSV, the answer, the figures and the page are of one run
def facts_of_run(run: RunResults) -> ExactWorlds:
    """Return what a run keeps of its worlds, of the data sets with results.

    Raises
    ------
    UserError
        When its file is damaged.
    """
    return read_worlds(run.folder, {(data.dataset, data.attribute) for data in run.datasets})


def read_worlds(folder: Path, sources: Iterable[tuple[str, str]] | None = None) -> ExactWorlds:
    """Return what a folder of results knows of its worlds.

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
        return NOTHING
    again = "run the experiment again (finished repeats are kept), or delete the file"
    try:
        found = json.loads(read_text(path))
        rows = [_row(row) for row in found["facts"]] if is_whole(found) is not False else None
    except (ValueError, TypeError, KeyError):
        rows = None
    if rows is None:
        raise user_error("what the run kept of its worlds was changed or damaged", again, str(path))
    wanted = None if sources is None else set(sources)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    if wanted is not None:
        frame = frame[[pair in wanted for pair in zip(frame["dataset"], frame["attribute"], strict=True)]]
    return worlds_of(frame.reset_index(drop=True))


def _row(row: list[Any]) -> list[Any]:
    """Return a row of the file with its numbers as numbers; a value that is none is NaN."""
    named = dict(zip(COLUMNS, row, strict=True))
    for name, kind in (("beta", float), ("include_protected", bool), ("error", float)):
        named[name] = kind(named[name])
    named["value"] = math.nan if named["value"] is None else float(named["value"])
    return [*named.values()]


def worlds_of(frame: pd.DataFrame) -> ExactWorlds:
    """Return the worlds of the rows of worlds.csv, in their order."""
    found: dict[tuple[Any, ...], ExactWorld] = {}
    for row in frame[COLUMNS].itertuples(index=False, name=None):
        *place, rule, quantity, labels, group, value, error, how = row
        world = found.setdefault(tuple(place), ExactWorld(*place))
        world.numbers[rule, quantity, labels, group] = ExactNumber(value, error, how)
    return ExactWorlds(frame, tuple(found.values()))


def worlds_frame(run: RunResults) -> pd.DataFrame | None:
    """Return worlds.csv; None where nothing is known."""
    known = facts_of_run(run)
    return known.frame if known else None
