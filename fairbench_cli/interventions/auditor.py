"""The repair of the original Auditor tool, labels included, as cardoso2019 ran it."""

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Floats, Sample, Table
from fairbench_cli.interventions.cells import label_discrimination, require_no_weights
from fairbench_cli.interventions.fitted import Fitted, defined
from fairbench_cli.interventions.repair import Level
from fairbench_cli.interventions.repairing.categorical import Plan, make_plan
from fairbench_cli.interventions.repairing.distinct import repair_by_distinct_values
from fairbench_cli.interventions.repairing.features import stream_of
from fairbench_cli.interventions.repairing.ordering import cells_of, counts_of

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)")


@dataclass(frozen=True)
class Auditor:
    """Repair training rows the way the original tool did; for reproducing cardoso2019 only.

    To repair data, use `Repair`. BlackBoxAuditing repairs every column that it is not told to leave out:
    class labels written as text are moved to a common distribution like any other text column, and so is the
    protected attribute itself: to its mode if it is text, to its smaller value if it is a number. Labels
    written 0 and 1 it takes for numbers, which stay as they are. Rows to predict are not repaired.

    The tool tells types by how values are written. Here a column is one of numbers if every level is: COMPAS'
    deciles, all of Dutch's codes. Numbers go by the tool's own quantile rule
    (`repair_by_distinct_values`), which changes nothing where both groups have all values; bins are text.
    The tool tells groups by the values of the protected attribute; here they are the deprived and the
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
        if self.level == 0 or len(np.unique(train.s)) < 2:
            reason = "level 0 repairs nothing" if self.level == 0 else "all rows are of one group"
            return Fitted(classifier.fit(train), "noop", reason)
        repaired = self.repaired(train, seed)
        facts = {
            "labels_changed": int(np.count_nonzero(repaired.y != train.y)),
            "discrimination_before": label_discrimination(train),
            "discrimination_after": label_discrimination(repaired),
        }
        return Fitted(classifier.fit(repaired), facts=defined(facts))

    def repaired(self, train: Sample, seed: int) -> Sample:
        """Return the rows with their columns and labels repaired; both groups have rows."""
        features, y = train.features, train.y
        codes = features.codes.copy(order="F")
        for j, column in enumerate(features.columns):
            numbers = as_written(column)
            stream = stream_of(seed, column.name)
            is_s = column.name == train.attribute
            if (is_s and not self.obscure) or (not is_s and self.columns == "none"):
                continue
            if is_s and numbers is None:
                plan = obscuring(_counts(codes[:, j], train.s, len(column.levels)), self.level)
                codes[:, j] = plan.carry_out(codes[:, j], train.s, stream)
            elif numbers is not None:
                codes[:, j] = repair_by_distinct_values(codes[:, j], train.s, numbers, self.level)
            else:
                plan = make_plan(_counts(codes[:, j], train.s, len(column.levels)), self.level)
                codes[:, j] = plan.carry_out(codes[:, j], train.s, stream)
        if self.label if self.label is not None else not are_numbers(train.outcomes):
            plan = make_plan(_counts(y, train.s, 2), self.level)
            y = plan.carry_out(y, train.s, np.random.default_rng(seed)).astype(np.int8)
        return replace(train, features=Table(features.columns, codes), y=y)


def obscuring(counts: NDArray[np.int64], level: float) -> Plan:
    """Plan the repair of the protected attribute itself; counts by group and value, shape (2, levels).

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
    """Tell whether all levels are written as numbers, of which there is one at least."""
    return bool(levels) and all(NUMBER.fullmatch(level) for level in levels)


def _counts(
    codes: NDArray[np.int16] | NDArray[np.int8], s: NDArray[np.int8], levels: int
) -> NDArray[np.int64]:
    return counts_of(cells_of(codes, s, levels), levels)
