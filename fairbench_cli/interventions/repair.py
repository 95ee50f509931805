"""Repair: each column is changed until its distribution is the same in all groups."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import Field

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Codes, Column, Floats, Labels, Sample, Table
from fairbench_cli.interventions.cells import require_no_weights
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign.rows import Groups
from fairbench_cli.interventions.repair_columns import (
    CategoryMap,
    GroupCodes,
    Method,
    RankMap,
    group_counts,
    nearest,
    repair_by_category,
    repair_by_rank,
)

Level = Annotated[float, Field(ge=0, le=1)]
BinRepair = Literal["number", "nominal"]
ColumnMap = RankMap | CategoryMap


@dataclass(frozen=True)
class Repair:
    """Move each column's distributions in the groups towards a common one.

    Feldman et al. (2015). Columns are repaired one by one, numbers by their rank within the group, with ties
    ranked at random (`repair_by_rank`), categories by keeping some and drawing the others anew
    (`make_plan`). Only marginal distributions become equal: columns together may still reveal the group. The
    outcome is not repaired, nor are protected columns, which the classifier sees as they are or not at all.

    Parameters
    ----------
    level : float
        λ, from 0 (nothing is repaired) to 1 (all groups have the same distribution).
    test_repair : {"train_map", "own", "none"}
        Rows to predict are repaired by what was learned on the training rows, as a set of their own, or not
        at all. The first two use each row's group.
    method : {"combinatorial", "geometric"}
        Whether numbers go a part λ of the way in steps from one value of the training rows to the next, or
        to (1−λ) x + λ t. The latter gives new numbers, which often occur in one group only and so give the
        group away; columns of bins get the nearest bin.
    bins : {"number", "nominal"}
        Whether columns of bins are repaired by rank, or as categories.
    groups : {"pair", "levels"}
        Whether the groups are the deprived and the favoured, or all values of the protected attribute. Rows
        to predict of a value without training rows stay as they are.
    """

    level: Level = 1.0
    test_repair: Literal["train_map", "own", "none"] = "train_map"
    method: Method = "combinatorial"
    bins: BinRepair = "number"
    groups: Groups = "pair"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Repair the training rows and fit the classifier.

        ``noop`` at level 0, without a column to repair, and if all rows are of one group.

        Raises
        ------
        Infeasible
            When the rows have weights, or a column cannot hold the numbers of a geometric repair.
        """
        require_no_weights(train)
        seed = int(rng.integers(2**63))
        reason = nothing_to_do(train, self.level, self.groups)
        if not reason and set(train.features.names) <= set(train.protected):
            reason = "there is no column to repair"
        if reason:
            return Fitted(classifier.fit(train), "noop", reason)
        repaired, learned = repair_features(train, self, seed)
        facts = {
            "distance_before": largest_distance(train, self),
            "distance_after": largest_distance(repaired, self),
        }
        model = classifier.fit(repaired)
        return Fitted(RepairedModel(model, self, learned, seed), facts=facts)

    def to_predict(self, sample: Sample, learned: dict[str, ColumnMap], seed: int) -> Sample:
        """Return other rows repaired as `test_repair` says.

        A set with one group only is its own common distribution.
        """
        if self.test_repair == "train_map":
            return apply_maps(sample, learned, seed, self.groups)
        if self.test_repair == "own" and not nothing_to_do(sample, self.level, self.groups):
            sample, _ = repair_features(sample, self, seed)
        return on_levels(sample, learned)


class Preparation(Protocol):
    """What a technique does to rows before its classifier predicts them."""

    def to_predict(self, sample: Sample, learned: dict[str, ColumnMap], seed: int) -> Sample:
        """Return the rows, repaired."""
        ...


@dataclass(frozen=True, eq=False)
class RepairedModel:
    """A classifier that was trained on repaired rows, and repairs the rows it is to predict.

    Its random choices come from `seed` alone: the same rows get the same predictions.
    """

    model: Model
    how: Preparation
    learned: dict[str, ColumnMap]
    seed: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that the classifier was trained on."""
        return self.model.columns

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return self.model.predict(self.repaired(sample))

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,)."""
        return self.model.predict_proba(self.repaired(sample))

    def repaired(self, sample: Sample) -> Sample:
        """Return the rows repaired."""
        return self.how.to_predict(sample, self.learned, self.seed)


def groups_of(sample: Sample, groups: Groups) -> tuple[GroupCodes, int]:
    """Return each row's group as a number, shape (rows,), and how many groups there are, with rows or not."""
    if groups == "pair":
        return sample.s, 2
    column = sample.features.columns[sample.features.index(sample.attribute)]
    return sample.features[sample.attribute], len(column.levels)


def nothing_to_do(rows: Sample, level: float, groups: Groups = "pair") -> str:
    """Return why rows need no repair; empty if they do."""
    if level == 0:
        return "level 0 repairs nothing"
    return "all rows are of one group" if len(np.unique(groups_of(rows, groups)[0])) < 2 else ""


def repair_features(sample: Sample, how: Repair, seed: int) -> tuple[Sample, dict[str, ColumnMap]]:
    """Return the sample with every column but the protected ones repaired, and what was learned by name.

    Two groups or more must have rows. Each column has a random stream of its own, named after it, so that the
    order of the columns does not matter.

    Raises
    ------
    Infeasible
        When a column cannot hold the numbers that a geometric repair gives.
    """
    learned: dict[str, ColumnMap] = {}
    s, groups = groups_of(sample, how.groups)

    def repaired(column: Column, codes: Codes) -> tuple[Column, Codes]:
        if column.name in sample.protected:
            return column, codes
        stream = stream_of(seed, column.name)
        found: ColumnMap
        if is_ranked(column, how.bins):
            found, after = repair_by_rank(column, codes, s, how.level, how.method, stream, groups)
        else:
            found, after = repair_by_category(column, codes, s, how.level, stream, groups)
        learned[column.name] = found
        return found.column, after

    return _each_column(sample, repaired), learned


def apply_maps(sample: Sample, learned: dict[str, ColumnMap], seed: int, groups: Groups = "pair") -> Sample:
    """Return other rows repaired by what was learned; columns that were not repaired stay as they are."""
    s, _ = groups_of(sample, groups)

    def repaired(column: Column, codes: Codes) -> tuple[Column, Codes]:
        found = learned.get(column.name)
        if found is None or found.source != column:  # other levels are left for the classifier to refuse
            return column, codes
        return found.column, found.apply(codes, s, stream_of(seed, column.name))

    return _each_column(sample, repaired)


def on_levels(sample: Sample, learned: dict[str, ColumnMap]) -> Sample:
    """Return the rows with numbers on the levels of the repaired training rows: each becomes the nearest."""

    def moved(column: Column, codes: Codes) -> tuple[Column, Codes]:
        after = learned[column.name].column if column.name in learned else column
        if column.kind != "number" or after == column:
            return column, codes
        return after, nearest(after, np.array(column.values)[codes])

    return _each_column(sample, moved)


def _each_column(sample: Sample, change: Callable[[Column, Codes], tuple[Column, Codes]]) -> Sample:
    columns, codes = list(sample.features.columns), sample.features.codes.copy(order="F")
    for j, column in enumerate(columns):
        columns[j], codes[:, j] = change(column, codes[:, j])
    return replace(sample, features=Table(tuple(columns), codes))


def stream_of(seed: int, name: str) -> np.random.Generator:
    """Return the random stream of a column."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def is_ranked(column: Column, bins: BinRepair) -> bool:
    """Return whether a column is repaired by rank, else by category."""
    return column.kind == "number" or (column.kind == "bins" and bins == "number")


def distance(column: Column, codes: Codes, s: GroupCodes, *, ranked: bool) -> float:
    """Return the largest distance between the distributions of two groups with rows, 0 to 1.

    It is Kolmogorov and Smirnov's if ranked, else the total variation.

    >>> codes, s = np.array([0, 0, 1, 2], dtype=np.int16), np.array([0, 0, 1, 1], dtype=np.int8)
    >>> distance(Column("job", ("a", "b", "c")), codes, s, ranked=False)
    1.0
    """
    counts = group_counts(codes, s, len(column.levels), int(s.max(initial=1)) + 1)
    counts = counts[counts.any(axis=1)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    if ranked:
        return float(np.ptp(np.cumsum(shares, axis=1), axis=0).max())
    return max(float(np.abs(shares - own).sum(axis=1).max()) / 2 for own in shares)


def largest_distance(sample: Sample, how: Repair) -> float:
    """Return the largest distance between the groups over all columns but the protected ones."""
    features, (s, _) = sample.features, groups_of(sample, how.groups)
    return max(
        distance(column, features.codes[:, j], s, ranked=is_ranked(column, how.bins))
        for j, column in enumerate(features.columns)
        if column.name not in sample.protected
    )
