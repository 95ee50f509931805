"""Repair: each column is changed until its distribution is the same in all groups; and as Auditor does it."""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.columns import keep_numbers
from fairbench_cli.data.table import Codes, Column, Floats, Labels, Rows, Sample, Table
from fairbench_cli.interventions.cells import (
    Groups,
    Proportion,
    discriminations,
    groups_of,
    require_no_weights,
)
from fairbench_cli.interventions.fitted import Fitted, Predictor, settled

Counts = NDArray[np.int64]
GroupCodes = NDArray[np.int8] | NDArray[np.int16]
Method = Literal["combinatorial", "geometric"]
Number = TypeVar("Number", np.int16, np.intp, np.float64)
# A desired count is floored, and one that is whole must not be missed by a rounding error.
ROUNDING = 1e-9


def _cells(codes: Codes | Labels, s: GroupCodes, shape: tuple[int, int]) -> NDArray[np.unsignedinteger]:
    """Return the number of each row's cell of (groups, levels), ``s * levels + code``, shape (rows,).

    In as few bits as suffice: up to 16 of them numpy sorts by radix.
    """
    bits = np.min_scalar_type(shape[0] * shape[1])
    return np.asarray(s.astype(bits) * bits.type(shape[1]) + codes.astype(bits))


def group_counts(codes: Codes | Labels, s: GroupCodes, levels: int, groups: int = 2) -> Counts:
    """Return the number of rows of each group at each level, shape (groups, levels)."""
    cells = _cells(codes, s, (groups, levels))
    return np.bincount(cells, minlength=groups * levels).reshape(groups, levels).astype(np.int64)


def _shuffled_order(cells: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Rows:
    """Return the rows ordered by their cell, those of one cell at random."""
    shuffled = rng.permutation(len(cells))
    return shuffled[np.argsort(cells[shuffled], kind="stable")]


class ColumnMap(NamedTuple):
    """How a column of other rows is repaired, as learned from the training rows.

    Parameters
    ----------
    source, column : Column
        The column before and after.
    apply : callable
        Takes codes of `source`, the groups and a random stream, and returns codes of `column`.
    """

    source: Column
    column: Column
    apply: Callable[[Codes, GroupCodes, np.random.Generator], Codes]


def repair_by_rank(
    column: Column,
    codes: Codes,
    s: GroupCodes,
    level: float,
    method: Method,
    rng: np.random.Generator,
    groups: int = 2,
) -> tuple[ColumnMap, Codes]:
    """Return the map learned from a numeric column, and its repaired codes.

    Equal values of a group are ranked at random. A row of rank r = 0, 1, … of its group's n_s stands at
    u = (r + ½) / n_s, and its goal is the lower median over the groups of their quantiles at u; of two
    groups that is the smaller one.
    """
    order = _shuffled_order(_cells(codes, s, (groups, len(column.levels))), rng)
    rows_of = np.split(order, np.cumsum(np.bincount(s, minlength=groups))[:-1])
    ordered = tuple(codes[rows] for rows in rows_of)
    goals = np.empty_like(codes)
    for group, rows in enumerate(rows_of):
        goals[rows] = _goals(ordered, group, 2 * np.arange(len(rows)) + 1)
    repaired = column
    after = codes
    if method == "combinatorial":
        after = _stepped(codes, goals, np.unique(codes), level)
    elif column.kind == "bins":
        after = nearest(column, _between(column, codes, goals, level))
    else:
        repaired, after = keep_numbers(column.name, _between(column, codes, goals, level))
    apply = partial(_by_learned_ranks, column, repaired, ordered, level, method)
    return ColumnMap(column, repaired, apply), after


def _by_learned_ranks(
    source: Column,
    column: Column,
    ordered: tuple[Codes, ...],
    level: float,
    method: Method,
    codes: Codes,
    s: GroupCodes,
    rng: np.random.Generator,
) -> Codes:
    """Return a column of other rows, repaired by rank among the training rows of their group.

    Of the ranks that share a row's value one is drawn. A value that no training row has counts as the next
    lower one that a row has, or as the lowest. `ordered` are each group's training rows, in rising order.
    """
    seen = np.unique(np.concatenate(ordered))
    codes = seen[np.maximum(np.searchsorted(seen, codes, side="right") - 1, 0)]
    goals = codes.copy()
    for group, group_codes in enumerate(ordered):
        if not len(group_codes):
            continue
        rows = np.flatnonzero(s == group)
        first_rank = np.searchsorted(group_codes, codes[rows], side="left")
        ties = np.searchsorted(group_codes, codes[rows], side="right") - first_rank
        rank = first_rank + (rng.random(len(rows)) * ties).astype(np.intp)
        twice = np.where(ties > 0, 2 * rank + 1, np.clip(2 * first_rank, 1, 2 * len(group_codes) - 1))
        goals[rows] = _goals(ordered, group, twice)
    if method == "combinatorial":
        return _stepped(codes, goals, seen, level)
    return nearest(column, _between(source, codes, goals, level))


def nearest(column: Column, numbers: Floats) -> Codes:
    """Return the codes of the levels nearest to some numbers; half-way the lower one.

    >>> nearest(Column("age", ("20", "30"), "number", (20.0, 30.0)), np.array([1.0, 25, 26])).tolist()
    [0, 0, 1]
    """
    values = np.array(column.values)
    return np.searchsorted((values[:-1] + values[1:]) / 2, numbers, side="left").astype(np.int16)


def _goals(ordered: tuple[Codes, ...], group: int, twice: NDArray[np.intp]) -> Codes:
    """Return the lower median of all groups' quantiles at u = twice / (2 n_s), for one group; exact."""
    size = len(ordered[group])
    return lower_median(
        [
            group_codes[(twice * len(group_codes) - 1) // (2 * size)]
            for group_codes in ordered
            if len(group_codes)
        ]
    )


def lower_median(values: Sequence[NDArray[Number]]) -> NDArray[Number]:
    """Return the lower median of arrays of one shape, entry by entry.

    >>> lower_median([np.array([1, 5]), np.array([2, 4]), np.array([7, 3]), np.array([9, 9])]).tolist()
    [2, 4]
    """
    if len(values) == 2:
        return np.minimum(*values)
    return np.asarray(np.sort(np.stack(values), axis=0)[(len(values) - 1) // 2])


def _stepped(codes: Codes, goals: Codes, seen: Codes, level: float) -> Codes:
    indices = np.searchsorted(seen, codes)
    goal_indices = np.searchsorted(seen, goals)
    return np.asarray(seen[indices + np.rint(level * (goal_indices - indices)).astype(np.intp)])


def _between(column: Column, codes: Codes, goals: Codes, level: float) -> Floats:
    values = np.array(column.values)
    # A value that is its own goal must not become another one by a rounding error.
    return np.where(codes == goals, values[codes], (1 - level) * values[codes] + level * values[goals])


@dataclass(frozen=True, eq=False)
class CategoryPlan:
    """Which rows keep a category, and what the others draw.

    Parameters
    ----------
    counts : int array, shape (groups, levels)
        n_cs, rows of each group in each category.
    keep : int array, shape (groups, levels)
        How many of them keep it, at most n_cs.
    unseen : float
        Probability with which a row keeps a category that its group did not have.
    law : float array, shape (groups, levels)
        Probabilities of the categories that the other rows of each group draw from.
    """

    counts: Counts
    keep: Counts
    unseen: float
    law: Floats

    def carry_out(self, codes: Codes | Labels, s: GroupCodes, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the rows that the plan was made for, repaired: exactly `keep`, at random, keep theirs."""
        cells = _cells(codes, s, (self.counts.shape[0], self.counts.shape[1]))
        order = _shuffled_order(cells, rng)
        sizes = self.counts.ravel()
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        moving = np.zeros(len(order), dtype=np.bool_)
        moving[order] = rank >= np.repeat(self.keep.ravel(), sizes)
        return self._redrawn(codes, s, moving, rng)

    def follow(self, codes: Codes, s: GroupCodes, rng: np.random.Generator) -> Codes:
        """Return other rows, repaired: each keeps its category with probability keep / n_cs."""
        share = np.full(self.counts.shape, self.unseen)
        share[~self.counts.any(axis=1)] = 1.0
        np.divide(self.keep, self.counts, out=share, where=self.counts > 0)
        return self._redrawn(codes, s, rng.random(len(codes)) >= share[s, codes], rng).astype(np.int16)

    def _redrawn(
        self, codes: Codes | Labels, s: GroupCodes, moving: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        repaired = codes.astype(np.intp)
        for group in range(len(self.counts)):
            rows = np.flatnonzero(moving & (s == group))
            if not len(rows):
                continue
            ends = np.cumsum(self.law[group])
            drawn = np.searchsorted(ends, rng.random(len(rows)) * ends[-1], side="right")
            repaired[rows] = np.minimum(drawn, np.flatnonzero(self.law[group])[-1])
        return repaired


def make_plan(counts: Counts, level: float) -> CategoryPlan:
    """Return the plan that repairs a column with counts of each group, shape (groups, levels).

    With shares p_cs, their lower median over the groups with rows m_c and repair level λ, d_cs =
    (1−λ) n_cs + λ m_c n_s rows of a group should have category c. ⌊d_cs⌋ rows keep it, and all others draw
    from d_cs, normalised. If that is 0 everywhere (λ = 1, and no category in enough groups), they draw from
    all categories with the same probability. Of more than two groups one may have fewer rows than d_cs: its
    other rows draw what is missing. The d_cs of a group may also sum to more than n_s: they are lowered.

    >>> plan = make_plan(np.array([[90, 10], [30, 30]]), 1.0)
    >>> plan.keep.tolist(), plan.law[0].round(3).tolist()
    ([[50, 10], [30, 6]], [0.833, 0.167])
    """
    sizes = counts.sum(axis=1)
    filled = np.flatnonzero(sizes)
    common = lower_median([counts[k] * sizes[:, None] / sizes[k] for k in filled])  # m_c n_s
    desired = counts - level * (counts - common)
    if len(filled) > 2:
        desired /= np.maximum(desired.sum(axis=1) / np.maximum(sizes, 1), 1)[:, None]
    keep = np.floor(np.minimum(desired, counts) + ROUNDING).astype(np.int64)
    law = (1 - level) * counts + level * common
    if not law.any():
        law = np.tile(counts.any(axis=0).astype(np.float64), (len(counts), 1))
    law = law / np.maximum(law.sum(axis=1, keepdims=True), 1e-300)
    lacking = (desired > counts + ROUNDING).any(axis=1)
    if lacking.any():
        missing = np.maximum(law * sizes[:, None] - keep, 0)[lacking]
        law[lacking] = missing / missing.sum(axis=1, keepdims=True)
    return CategoryPlan(counts, keep, 1 - level, law)


BinRepair = Literal["number", "nominal"]


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

    level: Proportion = 1.0
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
        repair = partial(self.to_predict, learned=learned, seed=seed)
        return Fitted(RepairedModel(model, repair), facts=facts)

    def to_predict(self, sample: Sample, learned: dict[str, ColumnMap], seed: int) -> Sample:
        """Return other rows repaired as `test_repair` says.

        A set with one group only is its own common distribution.
        """
        if self.test_repair == "train_map":
            return apply_maps(sample, learned, seed, self.groups)
        if self.test_repair == "own" and not nothing_to_do(sample, self.level, self.groups):
            sample, _ = repair_features(sample, self, seed)
        return on_levels(sample, learned)


@dataclass(frozen=True, eq=False)
class RepairedModel:
    """A classifier that was trained on repaired rows, and repairs the rows it is to predict.

    Parameters
    ----------
    model : Model
        The classifier.
    repaired : callable
        Returns rows repaired. Its random choices come from a seed alone: the same rows get the same
        predictions.
    """

    model: Model
    repaired: Callable[[Sample], Sample]

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return self.model.predict(self.repaired(sample))

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's probability of the favourable outcome, shape (rows,)."""
        return self.model.predict_proba(self.repaired(sample))


def nothing_to_do(rows: Sample, level: float, groups: Groups = "pair") -> str:
    """Return why rows need no repair; empty if they do."""
    if level == 0:
        return "level 0 repairs nothing"
    if len(np.unique(groups_of(rows, groups)[0])) < 2:
        return "all rows are of one group"
    return ""


def repair_features(sample: Sample, how: Repair, seed: int) -> tuple[Sample, dict[str, ColumnMap]]:
    """Return the sample with every column but the protected ones repaired, and what was learned by name.

    Two groups or more must have rows. Each column has a random stream of its own, named after it, so that the
    order of the columns does not matter.
    """
    learned: dict[str, ColumnMap] = {}
    s, names = groups_of(sample, how.groups)

    def repaired(column: Column, codes: Codes) -> tuple[Column, Codes]:
        if column.name in sample.protected:
            return column, codes
        stream = stream_of(seed, column.name)
        if is_ranked(column, how.bins):
            column_map, after = repair_by_rank(column, codes, s, how.level, how.method, stream, len(names))
        else:
            plan = make_plan(group_counts(codes, s, len(column.levels), len(names)), how.level)
            after = plan.carry_out(codes, s, stream).astype(np.int16)
            column_map = ColumnMap(column, column, plan.follow)
        learned[column.name] = column_map
        return column_map.column, after

    return _each_column(sample, repaired), learned


def apply_maps(sample: Sample, learned: dict[str, ColumnMap], seed: int, groups: Groups = "pair") -> Sample:
    """Return other rows repaired by what was learned; columns that were not repaired stay as they are."""
    s, _ = groups_of(sample, groups)

    def repaired(column: Column, codes: Codes) -> tuple[Column, Codes]:
        column_map = learned.get(column.name)
        if column_map is None:
            return column, codes
        if column_map.source != column:
            raise ValueError(f'column "{column.name}" has other levels than in training')
        return column_map.column, column_map.apply(codes, s, stream_of(seed, column.name))

    return _each_column(sample, repaired)


def on_levels(sample: Sample, learned: dict[str, ColumnMap]) -> Sample:
    """Return the rows with numbers on the levels of the repaired training rows: each becomes the nearest."""

    def moved(column: Column, codes: Codes) -> tuple[Column, Codes]:
        if column.name in learned:
            after = learned[column.name].column
        else:
            after = column
        if column.kind != "number" or after == column:
            return column, codes
        return after, nearest(after, np.array(column.values)[codes])

    return _each_column(sample, moved)


def _each_column(sample: Sample, change: Callable[[Column, Codes], tuple[Column, Codes]]) -> Sample:
    columns = list(sample.features.columns)
    codes = sample.features.codes.copy(order="F")
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
    return max(float(np.abs(shares - group_shares).sum(axis=1).max()) / 2 for group_shares in shares)


def largest_distance(sample: Sample, how: Repair) -> float:
    """Return the largest distance between the groups over all columns but the protected ones."""
    features = sample.features
    s, _ = groups_of(sample, how.groups)
    return max(
        distance(column, features.codes[:, j], s, ranked=is_ranked(column, how.bins))
        for j, column in enumerate(features.columns)
        if column.name not in sample.protected
    )


NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)")


@dataclass(frozen=True)
class Auditor:
    """Repair the way the original tool did; for reproducing cardoso2019 and friedler2019 only.

    To repair data, use `Repair`. BlackBoxAuditing repairs every column but those that it is asked to ignore:
    class labels written as text are moved to a common distribution like any other text column, and so is the
    protected attribute itself: to its mode if it is text, to its smaller value if it is a number. Labels
    written 0 and 1 it takes for numbers, which stay as they are if each group has both, and otherwise become
    one. friedler2019 repaired the rows to predict as a set of their own; cardoso2019 did not repair them.

    The tool takes a value's type from how it is written. Here a column is one of numbers if every level is:
    COMPAS' deciles, Dutch's codes. Numbers go by the tool's own quantile rule (`repair_by_distinct_values`),
    which changes nothing where both groups have all values; bins are text. The tool forms groups by the
    values of the protected attribute. Figures of cardoso2019 come out nearest with the defaults.

    Parameters
    ----------
    level : float
        λ, from 0 (nothing is repaired) to 1.
    label : bool or None
        Whether labels are repaired as text, or not at all; None: as the data write them, text or numbers.
    columns : {"all", "none"}
        Whether the other columns are repaired.
    obscure : bool
        Whether the protected attribute itself is.
    test_repair : {"none", "own"}
        Whether rows to predict are repaired, as a set of their own.
    groups : {"pair", "levels"}
        Whether the groups are the deprived and the favoured, or all values of the protected attribute.
    """

    level: Proportion = 1.0
    label: bool | None = None
    columns: Literal["all", "none"] = "all"
    obscure: bool = True
    test_repair: Literal["none", "own"] = "none"
    groups: Groups = "pair"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Repair the training rows and fit the classifier.

        ``noop`` at level 0 or if all rows are of one group. ``degraded`` when all labels become the same.

        Raises
        ------
        Infeasible
            When the rows have weights.
        """
        require_no_weights(train)
        seed = int(rng.integers(2**63))
        if reason := nothing_to_do(train, self.level, self.groups):
            return Fitted(classifier.fit(train), "noop", reason)
        repaired = self.repaired(train, seed)
        changed = int(np.count_nonzero(repaired.y != train.y))
        facts = {"labels_changed": changed, **discriminations(train, repaired)}
        fitted = classifier.fit(repaired)
        repaired_model = RepairedModel(fitted, partial(self.to_predict, seed=seed))
        model: Predictor = repaired_model if self.test_repair == "own" else fitted
        trouble = ""
        if changed and np.ptp(repaired.y) == 0:
            trouble = "the repaired labels are all the same"
        return settled(model, facts, degraded=trouble)

    def to_predict(self, sample: Sample, seed: int) -> Sample:
        """Return other rows repaired as a set of their own."""
        if nothing_to_do(sample, self.level, self.groups):
            return sample
        return replace(self.repaired(sample, seed), y=sample.y)

    def repaired(self, train: Sample, seed: int) -> Sample:
        """Return the rows with their columns and labels repaired; two groups or more have rows."""
        features = train.features
        y = train.y
        s, names = groups_of(train, self.groups)
        codes = features.codes.copy(order="F")
        for j, column in enumerate(features.columns):
            is_s = column.name == train.attribute
            if (is_s and not self.obscure) or (not is_s and self.columns == "none"):
                continue
            numbers = as_written(column)
            if numbers is not None:
                codes[:, j] = repair_by_distinct_values(codes[:, j], s, numbers, self.level)
            else:
                counts = group_counts(codes[:, j], s, len(column.levels), len(names))
                if is_s:
                    plan = obscuring(counts, self.level)
                else:
                    plan = make_plan(counts, self.level)
                codes[:, j] = plan.carry_out(codes[:, j], s, stream_of(seed, column.name))
        numbers = label_values(train)
        if self.label or (self.label is None and numbers is None):
            plan = make_plan(group_counts(y, s, 2, len(names)), self.level)
            y = plan.carry_out(y, s, np.random.default_rng(seed)).astype(np.int8)
        elif self.label is None and numbers is not None:
            y = repair_by_distinct_values(y.astype(np.int16), s, numbers, self.level).astype(np.int8)
        return replace(train, features=Table(features.columns, codes), y=y)


def obscuring(counts: NDArray[np.int64], level: float) -> CategoryPlan:
    """Return the plan that repairs the protected attribute; counts by group and value.

    As for any column, but who does not keep a value draws the most frequent one with weight 1, and every
    other with weight (1−λ) p_cs.

    >>> obscuring(np.array([[30, 0], [0, 70]]), 0.5).law.round(3).tolist()
    [[0.333, 0.667], [0.0, 1.0]]
    """
    law = (1 - level) * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    law[:, np.argmax(counts.sum(axis=0))] = 1.0
    return replace(make_plan(counts, level), law=law / law.sum(axis=1, keepdims=True))


def as_written(column: Column) -> Floats | None:
    """Return a column's levels as numbers, shape (levels,), if it is one or all are written as such.

    >>> print(as_written(Column("decile", ("1", "2", "10"))), as_written(Column("age", ("17-24", "25-31"))))
    [ 1.  2. 10.] None
    """
    if column.kind == "number":
        return np.array(column.values)
    if are_numbers(column.levels):
        return np.array([float(level) for level in column.levels])
    return None


def label_values(train: Sample) -> Floats | None:
    """Return the numbers that the data write for outcomes 0 and 1; None where they write text."""
    if len(train.outcomes) != 2 or not are_numbers(train.outcomes):
        return None
    values = [float(outcome) for outcome in train.outcomes]
    return np.array(values[::-1] if train.favourable_first else values)


def are_numbers(levels: tuple[str, ...]) -> bool:
    """Return whether all levels are written as numbers and there is at least one."""
    return bool(levels) and all(NUMBER.fullmatch(level) for level in levels)


def repair_by_distinct_values(codes: Codes, s: GroupCodes, values: Floats, level: float) -> Codes:
    """Return the codes of a column repaired as the original tool repairs numbers.

    Each group's distinct values are cut into as many runs as the group with the fewest of them has values.
    The q-th runs of all groups move towards the lower median of their lower medians, a part `level` of the
    way in steps from one occurring value to the next. How many rows have a value does not matter, so a column
    whose values all occur in all groups stays as it is.

    Parameters
    ----------
    codes : int16 array, shape (rows,)
    s : int array, shape (rows,)
        Each row's group, numbered from 0; any of them may be without rows.
    values : float array, shape (levels,)
        The number that each code stands for, in any order.
    level : float
        0 to 1.

    >>> codes = np.array([0, 1, 1, 1, 1, 2, 2], dtype=np.int16)
    >>> s = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int8)
    >>> repair_by_distinct_values(codes, s, np.array([10.0, 20.0, 30.0]), 1.0).tolist()
    [0, 1, 1, 1, 0, 1, 1]
    """
    code_at = np.argsort(values, kind="stable")
    counts = group_counts(codes, s, len(values), int(s.max()) + 1)[:, code_at]
    seen = np.flatnonzero(counts.any(axis=0))
    present = {group: np.flatnonzero(row[seen]) for group, row in enumerate(counts) if row.any()}
    runs = min(map(len, present.values()))
    # The original adds 1/runs up; where a run ends by rounding depends on it.
    ends = np.concatenate([[0.0], np.cumsum(np.full(runs, 1 / runs))])
    cuts = {
        group: np.rint(ends * len(codes_of_group)).astype(np.intp)
        for group, codes_of_group in present.items()
    }
    goal = lower_median(
        [
            codes_of_group[(cuts[group][:-1] + cuts[group][1:] - 1) // 2]
            for group, codes_of_group in present.items()
        ]
    )
    moved = np.zeros((len(counts), len(values)), dtype=np.int16)
    for group, codes_of_group in present.items():
        goals = np.repeat(goal, np.diff(cuts[group]))
        after = codes_of_group + np.rint(level * (goals - codes_of_group)).astype(np.intp)
        moved[group, code_at[seen[codes_of_group]]] = code_at[seen[after]]
    return np.asarray(moved[s, codes])
