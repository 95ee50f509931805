"""The repair of the original Auditor tool, labels included, as cardoso2019 and friedler2019 ran it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Codes, Column, Floats, Sample, Table
from fairbench_cli.interventions.cells import discriminations, require_no_weights
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.foreign.rows import Groups
from fairbench_cli.interventions.repair import (
    CategoryPlan,
    ColumnMap,
    GroupCodes,
    Level,
    RepairedModel,
    group_counts,
    groups_of,
    lower_median,
    make_plan,
    nothing_to_do,
    stream_of,
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
    COMPAS' deciles, all of Dutch's codes. Numbers go by the tool's own quantile rule
    (`repair_by_distinct_values`), which changes nothing where both groups have all values; bins are text.
    The tool forms groups by the values of the protected attribute. Figures of cardoso2019 come out nearest
    with the defaults on Adult, without `obscure` on Dutch.

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

    level: Level = 1.0
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
        model = fitted if self.test_repair == "none" else RepairedModel(fitted, self, {}, seed)
        if changed and len(set(repaired.y.tolist())) == 1:
            return Fitted(model, "degraded", "the repaired labels are all the same", facts)
        return Fitted(model, facts=facts)

    def to_predict(self, sample: Sample, learned: Mapping[str, ColumnMap], seed: int) -> Sample:  # noqa: ARG002
        """Return other rows repaired as a set of their own; nothing is `learned` for them."""
        if nothing_to_do(sample, self.level, self.groups):
            return sample
        return replace(self.repaired(sample, seed), y=sample.y)

    def repaired(self, train: Sample, seed: int) -> Sample:
        """Return the rows with their columns and labels repaired; two groups or more have rows."""
        features, y, (s, groups) = train.features, train.y, groups_of(train, self.groups)
        codes = features.codes.copy(order="F")
        for j, column in enumerate(features.columns):
            is_s = column.name == train.attribute
            if (is_s and not self.obscure) or (not is_s and self.columns == "none"):
                continue
            numbers = as_written(column)
            if numbers is not None:
                codes[:, j] = repair_by_distinct_values(codes[:, j], s, numbers, self.level)
            else:
                counts = group_counts(codes[:, j], s, len(column.levels), groups)
                plan = obscuring(counts, self.level) if is_s else make_plan(counts, self.level)
                codes[:, j] = plan.carry_out(codes[:, j], s, stream_of(seed, column.name))
        numbers = label_values(train)
        if self.label or (self.label is None and numbers is None):
            plan = make_plan(group_counts(y, s, 2, groups), self.level)
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
    return np.array([float(level) for level in column.levels]) if are_numbers(column.levels) else None


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
    own = {group: np.flatnonzero(some[seen]) for group, some in enumerate(counts) if some.any()}
    runs = min(map(len, own.values()))
    # The original adds 1/runs up; where a run ends by rounding depends on it.
    ends = np.concatenate([[0.0], np.cumsum(np.full(runs, 1 / runs))])
    cuts = {group: np.rint(ends * len(some)).astype(np.intp) for group, some in own.items()}
    goal = lower_median([some[(cuts[group][:-1] + cuts[group][1:] - 1) // 2] for group, some in own.items()])
    moved = np.zeros((len(counts), len(values)), dtype=np.int16)
    for group, some in own.items():
        goals = np.repeat(goal, np.diff(cuts[group]))
        after = some + np.rint(level * (goals - some)).astype(np.intp)
        moved[group, code_at[seen[some]]] = code_at[seen[after]]
    return np.asarray(moved[s, codes])
