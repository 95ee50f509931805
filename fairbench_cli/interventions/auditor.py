"""The repair of the original Auditor tool, labels included, as cardoso2019 ran it."""

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Codes, Column, Floats, Labels, Sample, Table
from fairbench_cli.interventions.cells import discriminations, require_no_weights
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.repair import Level, nothing_to_do, stream_of
from fairbench_cli.interventions.repair_columns import CategoryPlan, group_counts, make_plan

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)")


@dataclass(frozen=True)
class Auditor:
    """Repair training rows the way the original tool did; for reproducing cardoso2019 only.

    To repair data, use `Repair`. BlackBoxAuditing repairs every column but those that it is asked to ignore:
    class labels written as text are moved to a common distribution like any other text column, and so is the
    protected attribute itself: to its mode if it is text, to its smaller value if it is a number. Labels
    written 0 and 1 it takes for numbers, which stay as they are. Rows to predict are not repaired.

    The tool takes a value's type from how it is written. Here a column is one of numbers if every level is:
    COMPAS' deciles, all of Dutch's codes. Numbers go by the tool's own quantile rule
    (`repair_by_distinct_values`), which changes nothing where both groups have all values; bins are text.
    The tool forms groups by the values of the protected attribute; here they are the deprived and the
    favoured. The published figures come out nearest with the defaults on Adult, without `obscure` on Dutch.

    Parameters
    ----------
    level : float
        λ, from 0 (nothing is repaired) to 1.
    label : bool or None
        Whether labels are repaired; None: if the data write them as text.
    columns : {"all", "none"}
        Whether the other columns are repaired.
    obscure : bool
        Whether the protected attribute itself is.
    """

    level: Level = 1.0
    label: bool | None = None
    columns: Literal["all", "none"] = "all"
    obscure: bool = True

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Repair the training rows and fit the classifier; ``noop`` at level 0 or if a group has no rows.

        Raises
        ------
        Infeasible
            When the rows have weights.
        """
        require_no_weights(train)
        seed = int(rng.integers(2**63))
        if reason := nothing_to_do(train, self.level):
            return Fitted(classifier.fit(train), "noop", reason)
        repaired = self.repaired(train, seed)
        changed = int(np.count_nonzero(repaired.y != train.y))
        facts = {"labels_changed": changed, **discriminations(train, repaired)}
        return Fitted(classifier.fit(repaired), facts=facts)

    def repaired(self, train: Sample, seed: int) -> Sample:
        """Return the rows with their columns and labels repaired; both groups have rows."""
        features, y = train.features, train.y
        codes = features.codes.copy(order="F")
        for j, column in enumerate(features.columns):
            is_s = column.name == train.attribute
            if (is_s and not self.obscure) or (not is_s and self.columns == "none"):
                continue
            numbers = as_written(column)
            if numbers is not None:
                codes[:, j] = repair_by_distinct_values(codes[:, j], train.s, numbers, self.level)
            else:
                counts = group_counts(codes[:, j], train.s, len(column.levels))
                plan = obscuring(counts, self.level) if is_s else make_plan(counts, self.level)
                codes[:, j] = plan.carry_out(codes[:, j], train.s, stream_of(seed, column.name))
        if self.label if self.label is not None else not are_numbers(train.outcomes):
            plan = make_plan(group_counts(y, train.s, 2), self.level)
            y = plan.carry_out(y, train.s, np.random.default_rng(seed)).astype(np.int8)
        return replace(train, features=Table(features.columns, codes), y=y)


def obscuring(counts: NDArray[np.int64], level: float) -> CategoryPlan:
    """Return the plan that repairs the protected attribute; counts by group and value, shape (2, levels).

    As for any column, but who does not keep a value draws the most frequent one with weight 1, and every
    other with weight (1−λ) p_cs.

    >>> obscuring(np.array([[30, 0], [0, 70]]), 0.5).law.round(3).tolist()
    [[0.333, 0.667], [0.0, 1.0]]
    """
    law = (1 - level) * counts / counts.sum(axis=1, keepdims=True)
    law[:, np.argmax(counts.sum(axis=0))] = 1.0
    return replace(make_plan(counts, level), law=law / law.sum(axis=1, keepdims=True))


def as_written(column: Column) -> Floats | None:
    """Return a column's levels as numbers, shape (levels,), if all are written as such.

    >>> print(as_written(Column("decile", ("1", "2", "10"))), as_written(Column("age", ("17-24", "25-31"))))
    [ 1.  2. 10.] None
    """
    return np.array([float(level) for level in column.levels]) if are_numbers(column.levels) else None


def are_numbers(levels: tuple[str, ...]) -> bool:
    """Return whether all levels are written as numbers and there is at least one."""
    return bool(levels) and all(NUMBER.fullmatch(level) for level in levels)


def repair_by_distinct_values(codes: Codes, s: Labels, values: Floats, level: float) -> Codes:
    """Return the codes of a column repaired as the original tool repairs numbers; both groups have rows.

    Each group's distinct values are cut into as many runs as the group with the fewer of them has values.
    The q-th runs of both groups move towards the smaller of their lower medians, a part `level` of the way
    in steps from one occurring value to the next. How many rows have a value does not matter, so a column
    whose values all occur in both groups stays as it is.

    Parameters
    ----------
    codes : int16 array, shape (rows,)
    s : int8 array, shape (rows,)
    values : float array, shape (levels,)
        The number that each code stands for, in any order.
    level : float
        0 to 1.

    >>> codes = np.array([0, 1, 1, 1, 1, 2, 2], dtype=np.int16)
    >>> s = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int8)
    >>> repair_by_distinct_values(codes, s, np.array([10.0, 20.0, 30.0]), 1.0).tolist()
    [0, 1, 1, 1, 0, 1, 1]
    """
    place = np.argsort(np.argsort(values, kind="stable"), kind="stable")[codes]
    seen, places = np.unique(place, return_inverse=True)
    own = [np.unique(places[s == group]) for group in (0, 1)]
    runs = min(map(len, own))
    # The original adds 1/runs up; where a run ends by rounding depends on it.
    ends = np.concatenate([[0.0], np.cumsum(np.full(runs, 1 / runs))])
    cuts = [np.rint(ends * len(some)).astype(np.intp) for some in own]
    medians = [some[(cut[:-1] + cut[1:] - 1) // 2] for some, cut in zip(own, cuts, strict=True)]
    goal = np.minimum(*medians)
    moved = np.empty((2, len(seen)), dtype=np.intp)
    for group, (some, cut) in enumerate(zip(own, cuts, strict=True)):
        goals = np.repeat(goal, np.diff(cut))
        moved[group, some] = some + np.rint(level * (goals - some)).astype(np.intp)
    code_at = np.argsort(values, kind="stable")
    return code_at[seen[moved[s, places]]].astype(np.int16)
