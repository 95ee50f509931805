"""What is known exactly of a run's worlds: `worlds.json` as numbers, as worlds.csv and in the table `worlds`.

The table says what each world records, and which accuracy on true labels is reached in it.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from fairbench_cli.document.model import SIDES, Document, Section, TableCell, plain_table
from fairbench_cli.experiment.worlds import FILE, NUMBER, PLACE
from fairbench_cli.measures.counts import PAIR, Counts
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import measure
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.report.ledger.bias_cost import remedies_of
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, TRUTH, names_of
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.journal_arrays import SITUATION, TECHNIQUE, is_baseline
from fairbench_cli.report.ledger.paired_differences import format_number
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.tables import caption

COLUMNS = [*PLACE, *NUMBER]

CELLS = ("tn", "fp", "fn", "tp")
"""Quantities of a rule: the probability of a group, label and decision, as in groups.csv."""

CONSTANT = ("constant-refuse", "constant-accept")

Labels = Literal["true", "recorded", ""]
"""On which labels a number is; empty for what is on neither alone."""


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
        if any(one.how == "draws" for one in self.numbers.values()):
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

    def kept(self, *groups: str) -> bool | None:
        """Return whether the record ranks the people of groups, by default of both, as the truth does.

        None where it is not known.
        """
        found = [self.value("kept", group=group) for group in groups or PAIR]
        if any(map(math.isnan, found)):
            return None
        return all(found)

    def counts(self, rule: str, labels: Labels) -> Counts | None:
        """Return the probabilities of group, label and decision of a rule; None where they are not known."""
        values = [self.value(cell, labels=labels, group=group, rule=rule) for group in PAIR for cell in CELLS]
        if np.isnan(values).any():
            return None
        return Counts(PAIR, np.array(values).reshape(2, 2, 2))

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


UNKNOWN = ExactWorld("", "", "", 0.0, include_protected=True, features="")
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
        for row in self.frame[COLUMNS].itertuples(index=False, name=None):
            *place, rule, quantity, labels, group, value, error, how = row
            world = found.setdefault(tuple(place), ExactWorld(*place))
            world.numbers[rule, quantity, labels, group] = ExactNumber(value, error, how)
        return tuple(found.values())

    def at(
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


def strength_of(source: Mapping[str, Any], world: str) -> str:
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
    """Return the name of a world on a page: without one it is β's, or that without a bias.

    >>> world_called({"worlds": []}, "label"), world_called({"worlds": [{}]}, ""), world_called({}, "")
    ('label', 'no bias', 'β')
    """
    return world or (NO_BIAS if source.get("worlds") else BETA)


@lru_cache(maxsize=1)  # the CSV, the answer, the figures and the page are of one run
def facts_of_run(run: RunResults) -> ExactWorlds:
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
        return ExactWorlds(pd.DataFrame(columns=COLUMNS))
    try:
        found = json.loads(read_text(path))
        whole = matches_checksum(found) is not False
        frame = pd.DataFrame(found["facts"], columns=COLUMNS).astype(_KINDS)
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
    known = facts_of_run(run)
    if known:
        return known.frame
    return None


DOES = {
    "world": "world",
    "beta": "β",
    "favourable_deprived": "P'(+|d)",
    "favourable_favoured": "P'(+|f)",
    "disparity": "disparity",
    "total_variation": "TV",
    "ranking": "ranking",
}
REACHED = {
    "world": "world",
    "beta": "β",
    "constant": "constant",
    "bayes": "Bayes rule",
    "oracle_thresholds": "thresholds",
    "none": "none",
    "truth": "truth",
    "highest": "highest",
    "technique": "of",
}
"""Heads of the two tables, by what CSV calls the columns."""

HEADS = 2
"""Columns of both that name a world; they stand in each part of a table that is cut."""

BESIDES_WORLD = [name for name in SITUATION if name not in ("world", "beta")]
Place = tuple[str, ...]
World = tuple[str, float]


def world_blocks(run: RunResults) -> Mapping[Place, Sequence[World]]:
    """Return the worlds of a run, each with its β, by the values of `BESIDES_WORLD`.

    In the order of the plan; those without any result are left out.
    """
    cells = [cell for data in run.datasets for cell in data.cells]
    places = group_by(cells, lambda cell: tuple(cell[name] for name in BESIDES_WORLD))
    order = list(dict.fromkeys((cell["world"], cell["beta"]) for cell in run.plan.cells))
    worlds = {place: {(cell["world"], cell["beta"]) for cell in own} for place, own in places.items()}
    return {place: sorted(own, key=order.index) for place, own in worlds.items()}


def in_the_middle(worlds: Iterable[World]) -> list[World]:
    """Return each world once, at the strength in the middle: of those above 0, of two the larger.

    >>> in_the_middle([("", 0.0), *(("label", beta) for beta in (0.0, 0.25, 0.5, 0.75)), ("group", 0.1)])
    [('', 0.0), ('label', 0.5), ('group', 0.1)]
    >>> in_the_middle([("label", 0.25), ("label", 0.5)])
    [('label', 0.5)]
    """
    found = []
    for world, own in group_by(worlds, lambda one: one[0]).items():
        betas = sorted(beta for _, beta in own if beta) or [0.0]
        found.append((world, betas[len(betas) // 2]))
    return found


def known_of(run: RunResults, place: Place, world: World) -> ExactWorld:
    """Return the exact numbers of a world. `UNKNOWN` where there are none."""
    dataset, attribute, *_ = place
    return facts_of_run(run).at(dataset, attribute, *world) or UNKNOWN


def worlds_table(name: str, run: RunResults) -> Document:
    """Lay out the worlds of each data set and classifier; empty for a run without worlds."""
    if not run.plan.has_worlds:
        return Document(name)
    names = names_of(run.plan.config)
    frame = remedies_of(run.by_own_attribute)
    shown = (frame["labels"] == "true") & (frame["metric"] == ACCURACY)
    reached = dict(iter(frame[shown].groupby([*BESIDES_WORLD, "world", "beta"])))
    sections = []
    how = set()
    seen = set()
    for place, worlds in world_blocks(run).items():
        dataset, attribute, representation, *classifier = place
        title = [names.dataset(dataset), attribute, names.classifier(*classifier)]
        if representation != "original":
            title.append(representation)
        does = []
        gets = []
        for world, beta in worlds:
            known = known_of(run, place, (world, beta))
            how.add(known.how)
            seen.add(known.include_protected)
            head = (world or NO_BIAS, f"{beta:g}")
            does.append([*head, *_done(known)])
            cells = reached.get((*place, world, beta), frame.iloc[:0])
            gets.append([*head, *_reached(known, cells, names.technique)])
        one = plain_table("What the world records", DOES.values(), does, HEADS, keys=DOES)
        marks = ["†: higher than that of none."]
        other = plain_table(
            "Accuracy on true labels", REACHED.values(), gets, HEADS, keys=REACHED, marks=marks
        )
        sections.append(Section(", ".join(title), tables=(one, other)))
    facts = [*_ABOUT]
    if False in seen:
        facts.append(_BLIND)
    if "draws" in how:
        facts.append(
            "Numbers of a world are means of draws where too many columns depend on the outcome: worlds.csv."
        )
    facts += caption(run.plan, set())
    return Document(name, facts=tuple(facts), sections=tuple(sections))


_ABOUT = (
    "P'(+|d), P'(+|f): shares of recorded favourable labels, of the deprived and of the favoured; disparity: "
    "P'(+|f) − P'(+|d); TV: the total variation between what is recorded and the truth. ranking: kept where "
    "the record ranks the people of each group as the truth does, so that thresholds can regain it.",
    "constant: the better of deciding the same for everybody; Bayes rule: p' at least 0.5 on the record; "
    "thresholds: the best for each group, known the truth. These are computed of the network.",
    "none: the classifier without a technique; truth: the same, trained without the bias. highest: of the "
    "technique with the highest mean that accepts neither nobody nor everybody in any repeat; better, worse: "
    "than none in the same world, in the population, at 5 % after Holm's adjustment.",
)
_BLIND = (
    "What is computed is of rules that do not see the protected attribute: to them label bias, too, may "
    "change the ranking within a group."
)


def _done(known: ExactWorld) -> Iterator[str]:
    """Yield what a world does, as it is written; dashes where nothing is known."""
    for group in PAIR:
        yield format_number(known.value("favourable", "recorded", group), ".3f")
    yield format_number(known.value("disparity", "recorded"))
    yield format_number(known.value("total-variation"), ".3f")
    yield {None: "-", True: "kept", False: "lost"}[known.kept()]


def _reached(known: ExactWorld, cells: pd.DataFrame, called: Callable[..., str]) -> Iterator[str | TableCell]:
    """Yield the accuracies that are reached in a world, as they are written."""
    for rules in (CONSTANT, ("bayes",), ("oracle-thresholds",)):
        yield format_number(known.accuracy(*rules), ".3f")
    techniques = cells[TECHNIQUE].itertuples(index=False, name=None)
    plain = np.array([is_baseline(*own[:2]) for own in techniques], dtype=bool)
    on_truth = (cells["intervention"] == TRUTH).to_numpy(dtype=bool)
    none: Any = next(cells[plain].itertuples(), None)
    yield "-" if none is None else format_number(none.mean, ".3f")
    biased = none is not None and none.world and none.beta
    yield "-" if none is None else format_number(none.mean - (none.lost if biased else 0.0), ".3f")
    able = cells[~plain & ~on_truth & ~cells["constant"].to_numpy(dtype=bool) & cells["mean"].notna()]
    if not len(able):
        yield from ("-", "-")
        return
    best: Any = able.loc[able["mean"].idxmax()]
    if best["kind"] in SIDES:
        word = best["kind"]
    else:
        word = ""
    yield TableCell(format_number(best["mean"], ".3f", word), against=SIDES.get(word, ""))
    yield called(*best[TECHNIQUE])
